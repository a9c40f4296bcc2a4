/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/buf.h"
#include "model/file/safetensors.h"
#include "model/file/safetensors_out.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A file made of a length, a header, and `data_len` bytes counting up. */
struct made {
    struct dg_buf bytes;
};

static void make(struct made *m, uint64_t n, const char *header, size_t data_len)
{
    dg_buf_init(&m->bytes, 1 << 20);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(dg_buf_append_byte(&m->bytes, (char)(n >> (8 * i))), DG_OK);
    ck_assert_int_eq(dg_buf_append_cstr(&m->bytes, header), DG_OK);
    for (size_t i = 0; i < data_len; i++)
        ck_assert_int_eq(dg_buf_append_byte(&m->bytes, (char)i), DG_OK);
}

static enum dg_err parse(const struct made *m, struct dg_safetensors *file, struct dg_error *error)
{
    return dg_safetensors_parse(file, (const uint8_t *)m->bytes.ptr, m->bytes.len, "m.safetensors",
                                error);
}

/* Checks that the file is refused with `err` and a message that contains `says`. */
static void refuses(const char *header, size_t data_len, enum dg_err err, const char *says)
{
    struct made m;
    struct dg_safetensors file = {0};
    struct dg_error error = DG_ERROR_NONE;
    make(&m, strlen(header), header, data_len);
    enum dg_err got = parse(&m, &file, &error);
    ck_assert_msg(got == err, "%s: %s, expected %s: %s", header, dg_err_name(got), dg_err_name(err),
                  error.text);
    ck_assert_msg(strstr(error.text, says) != NULL, "'%s' does not say '%s'", error.text, says);
    ck_assert_msg(strstr(error.text, "m.safetensors: offset ") == error.text, "%s", error.text);
    dg_buf_deinit(&m.bytes);
}

static const char two[] = "{\"b\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"
                          "\"a\":{\"dtype\":\"I8\",\"shape\":[3],\"data_offsets\":[8,11]},\"__"
                          "metadata__\":{\"format\":\"pt\"}}";

START_TEST(reads_tensors_in_place)
{
    struct made m;
    struct dg_safetensors file;
    make(&m, sizeof two - 1, two, 11);
    ck_assert_int_eq(parse(&m, &file, NULL), DG_OK);
    ck_assert_uint_eq(file.n_entries, 2);
    const struct dg_safetensors_entry *b = dg_safetensors_find(&file, "b");
    const struct dg_safetensors_entry *a = dg_safetensors_find(&file, "a");
    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_nonnull(b);
    ck_assert_ptr_null(dg_safetensors_find(&file, "c"));
    ck_assert_int_eq(b->dtype, DG_DTYPE_F32);
    ck_assert_uint_eq(b->rank, 2);
    ck_assert_uint_eq(b->shape[0], 2);
    ck_assert_uint_eq(b->shape[1], 1);
    ck_assert_uint_eq(b->len, 8);
    ck_assert_ptr_eq(b->bytes, m.bytes.ptr + 8 + sizeof two - 1);
    ck_assert_int_eq(a->bytes[0], 8);
    ck_assert_uint_eq(a->offset, 8 + sizeof two - 1 + 8);
    dg_safetensors_close(&file);
    dg_buf_deinit(&m.bytes);
}
END_TEST

START_TEST(reads_the_smallest_file_scalars_and_empty_tensors)
{
    static const char *const headers[] = {
        "{}      ", "{\"s\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}",
        "{\"e\":{\"dtype\":\"F32\",\"shape\":[0,5],\"data_offsets\":[0,0]}}"};
    static const size_t data[] = {0, 4, 0};
    for (size_t i = 0; i < 3; i++) {
        struct made m;
        struct dg_safetensors file;
        struct dg_error error = DG_ERROR_NONE;
        make(&m, strlen(headers[i]), headers[i], data[i]);
        ck_assert_msg(parse(&m, &file, &error) == DG_OK, "%s", error.text);
        ck_assert_uint_eq(file.n_entries, i ? 1 : 0);
        dg_safetensors_close(&file);
        dg_buf_deinit(&m.bytes);
    }
}
END_TEST

#define ONE(dtype, shape, offsets)                                                                 \
    "{\"x\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

START_TEST(names_the_field_that_is_wrong)
{
    refuses(ONE("F31", "[1]", "[0,4]"), 4, DG_ERR_UNSUPPORTED, "field 'dtype': read 'F31'");
    refuses(ONE("F32", "[2]", "[0,4]"), 4, DG_ERR_FORMAT, "range has 4 bytes, expected 8");
    refuses(ONE("F32", "[1]", "[4,0]"), 4, DG_ERR_FORMAT, "lies before the start");
    refuses(ONE("F32", "[1]", "[0,4]"), 3, DG_ERR_TRUNCATED, "lies past the file's 3 bytes");
    refuses(ONE("F32", "[1]", "[0,4]"), 5, DG_ERR_FORMAT, "1 bytes lie after the last tensor");
    refuses(ONE("F32", "[1]", "[1,5]"), 5, DG_ERR_FORMAT, "a hole");
    refuses(ONE("F32", "[1]", "[0]"), 4, DG_ERR_FORMAT, "read 1 numbers, expected 2");
    refuses(ONE("F32", "[-1]", "[0,4]"), 4, DG_ERR_RANGE, "shape");
    refuses(ONE("F32", "[1.5]", "[0,4]"), 4, DG_ERR_INVALID, "shape");
    refuses(ONE("F32", "[4611686018427387904]", "[0,4]"), 4, DG_ERR_RANGE, "does not fit 64 bits");
    refuses(ONE("F32", "[9223372036854775807,3]", "[0,4]"), 4, DG_ERR_RANGE, "does not fit");
    refuses(ONE("F32", "[1,1,1,1,1]", "[0,4]"), 4, DG_ERR_UNSUPPORTED, "5 dimensions");
    refuses("{\"x\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, DG_ERR_NOT_FOUND, "data_offsets");
    refuses("{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"y\":1}}", 4,
            DG_ERR_INVALID, "y");
    refuses("{\"x\":3}", 0, DG_ERR_INVALID, "tensor 'x'");
    refuses("{\"__metadata__\":3}", 0, DG_ERR_FORMAT, "__metadata__");
    refuses("{\"\":{}}", 0, DG_ERR_FORMAT, "name has 0 bytes");
    refuses("[1,2,3] ", 0, DG_ERR_FORMAT, "does not begin with '{'");
    refuses("{\"x\":}", 0, DG_ERR_FORMAT, "the header");
    refuses("{} x", 0, DG_ERR_FORMAT, "the header");
}
END_TEST

START_TEST(refuses_overlaps_and_names_used_twice)
{
    refuses("{\"x\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
            "\"y\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[3,6]}}",
            6, DG_ERR_FORMAT, "tensor 'y': field 'data_offsets': begins at file offset");
    refuses("{\"x\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
            "\"x\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
            2, DG_ERR_FORMAT, "the header");
}
END_TEST

START_TEST(names_the_offset_of_the_tensor_in_the_header)
{
    struct made m;
    struct dg_safetensors file = {0};
    struct dg_error error = DG_ERROR_NONE;
    make(&m, sizeof two - 1, two, 10);
    ck_assert_int_eq(parse(&m, &file, &error), DG_ERR_TRUNCATED);
    char expected[64];
    snprintf(expected, sizeof expected, "offset %zu: tensor 'a'",
             8 + (size_t)(strstr(two, "\"a\"") - two));
    ck_assert_msg(strstr(error.text, expected) != NULL, "%s", error.text);
    dg_buf_deinit(&m.bytes);
}
END_TEST

START_TEST(every_truncation_is_refused)
{
    struct made m;
    make(&m, sizeof two - 1, two, 11);
    for (size_t len = 0; len < m.bytes.len; len++) {
        struct dg_safetensors file = {0};
        struct dg_error error = DG_ERROR_NONE;
        enum dg_err err =
            dg_safetensors_parse(&file, (const uint8_t *)m.bytes.ptr, len, "m.safetensors", &error);
        ck_assert_msg(err != DG_OK, "accepted when cut to %zu bytes", len);
        ck_assert_msg(strstr(error.text, "m.safetensors: offset ") == error.text, "%s", error.text);
    }
    dg_buf_deinit(&m.bytes);
}
END_TEST

START_TEST(every_header_length_but_the_true_one_is_refused)
{
    static const uint64_t lengths[] = {
        0,          1,         2,        7,          UINT64_MAX,     UINT64_MAX - 1, INT64_MAX,
        UINT32_MAX, 100000001, 16 << 20, sizeof two, sizeof two - 2, UINT64_MAX - 7};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct made m;
        struct dg_safetensors file = {0};
        struct dg_error error = DG_ERROR_NONE;
        make(&m, lengths[i], two, 11);
        ck_assert_msg(parse(&m, &file, &error) != DG_OK, "length %zu", (size_t)lengths[i]);
        ck_assert_msg(strstr(error.text, "m.safetensors: offset ") == error.text, "%s", error.text);
        dg_buf_deinit(&m.bytes);
    }
}
END_TEST

/* Replaces the numbers of shapes and ranges; only the original number is accepted. */
START_TEST(every_number_of_the_header_but_the_true_one_is_refused)
{
    static const char *const numbers[] = {"0", "1", "4294967295", "18446744073709551615",
                                          "18446744073709551614"};
    size_t n_refused = 0;
    for (size_t at = 0; at < sizeof two - 1; at++) {
        const size_t len = strspn(two + at, "0123456789");
        if (len == 0 || !strchr("[,", two[at - 1]))
            continue;
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            char header[sizeof two + 24];
            const bool is_true =
                strlen(numbers[i]) == len && strncmp(numbers[i], two + at, len) == 0;
            snprintf(header, sizeof header, "%.*s%s%s", (int)at, two, numbers[i], two + at + len);
            struct made m;
            struct dg_safetensors file = {0};
            struct dg_error error = DG_ERROR_NONE;
            make(&m, strlen(header), header, 11);
            enum dg_err err = parse(&m, &file, &error);
            if (err) {
                ck_assert_msg(strstr(error.text, "m.safetensors: offset ") == error.text, "%s: %s",
                              header, error.text);
                ck_assert_msg(strstr(error.text, "shape") || strstr(error.text, "data_offsets") ||
                                  strstr(error.text, "too big integer near"),
                              "%s: %s", header, error.text);
                n_refused++;
            } else {
                ck_assert_msg(is_true, "accepted: %s", header);
                dg_safetensors_close(&file);
            }
            dg_buf_deinit(&m.bytes);
        }
    }
    ck_assert_uint_eq(n_refused, 7 * 5 - 2);
}
END_TEST

START_TEST(tells_a_git_lfs_pointer_from_a_damaged_file)
{
    static const char pointer[] =
        "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
    struct dg_safetensors file;
    struct dg_error error = DG_ERROR_NONE;
    enum dg_err err = dg_safetensors_parse(&file, (const uint8_t *)pointer, sizeof pointer - 1,
                                           "m.safetensors", &error);
    ck_assert_int_eq(err, DG_ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "git lfs pull"));
}
END_TEST

/* ---- Writing --------------------------------------------------------------------------------- */

static const struct dg_safetensors_plan plan[] = {{"z", DG_DTYPE_I8, 1, {3}},
                                                  {"half", DG_DTYPE_F16, 2, {2, 3}},
                                                  {"b", DG_DTYPE_F32, 2, {1, 2}},
                                                  {"a", DG_DTYPE_F32, 0, {0}},
                                                  {"nothing", DG_DTYPE_F32, 1, {0}}};
enum { N_PLAN = sizeof plan / sizeof *plan };
static const size_t plan_len[N_PLAN] = {3, 12, 8, 4, 0};

static enum dg_err fill(void *ctx, size_t i, struct dg_safetensors_out *out, struct dg_error *error)
{
    const size_t *wrong = ctx;
    size_t len = plan_len[i] + (wrong ? *wrong : 0);
    enum dg_err err = DG_OK;
    for (size_t at = 0; at < len && !err; at++) {
        uint8_t byte = (uint8_t)(16 * i + at);
        err = dg_safetensors_out_write(out, &byte, 1, error);
    }
    return err;
}

START_TEST(what_was_written_is_read_back_aligned)
{
    char path[] = "/tmp/dg-safetensors-XXXXXX";
    close(mkstemp(path));
    struct dg_safetensors file;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_safetensors_save(path, plan, N_PLAN, fill, NULL, &error), DG_OK);
    ck_assert_msg(dg_safetensors_open(&file, path, &error) == DG_OK, "%s", error.text);
    ck_assert_uint_eq(file.n_entries, N_PLAN);
    for (size_t i = 0; i < N_PLAN; i++) {
        const struct dg_safetensors_entry *entry = dg_safetensors_find(&file, plan[i].name);
        ck_assert_ptr_nonnull(entry);
        ck_assert_int_eq(entry->dtype, plan[i].dtype);
        ck_assert_uint_eq(entry->rank, plan[i].rank);
        ck_assert_uint_eq(entry->len, plan_len[i]);
        ck_assert_uint_eq(entry->offset % dg_dtype_size(entry->dtype), 0);
        for (size_t at = 0; at < entry->len; at++)
            ck_assert_uint_eq(entry->bytes[at], (uint8_t)(16 * i + at));
    }
    dg_safetensors_close(&file);
    unlink(path);
}
END_TEST

START_TEST(a_failed_writing_leaves_nothing)
{
    char dir[] = "/tmp/dg-safetensors-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(dir));
    char path[64];
    snprintf(path, sizeof path, "%s/m", dir);
    size_t wrong = 1;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_safetensors_save(path, plan, N_PLAN, fill, &wrong, &error),
                     DG_ERR_INTERNAL);
    wrong = (size_t)-1;
    ck_assert_int_eq(dg_safetensors_save(path, plan, 1, fill, &wrong, &error), DG_ERR_INTERNAL);
    ck_assert_int_eq(rmdir(dir), 0); /* it is empty */
}
END_TEST

DG_UNIT(reads_tensors_in_place, reads_the_smallest_file_scalars_and_empty_tensors,
        names_the_field_that_is_wrong, refuses_overlaps_and_names_used_twice,
        names_the_offset_of_the_tensor_in_the_header, every_truncation_is_refused,
        every_header_length_but_the_true_one_is_refused,
        every_number_of_the_header_but_the_true_one_is_refused,
        tells_a_git_lfs_pointer_from_a_damaged_file, what_was_written_is_read_back_aligned,
        a_failed_writing_leaves_nothing)
