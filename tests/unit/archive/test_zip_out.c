/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "archive/zip_out.h"
#include "zip_maker.h"

enum { OUT_MAX = 1 << 20 };

/* The member that is replaced, and its new bytes. */
struct rewrite {
    const char *name, *bytes;
    struct dg_buf out;
};

static enum dg_err replace(void *ctx, const struct dg_zip_member *member, struct dg_span *bytes,
                           bool *is_new, struct dg_error *error)
{
    const struct rewrite *rewrite = ctx;
    (void)error;
    *is_new = rewrite->name && strcmp(member->name, rewrite->name) == 0;
    *bytes = dg_span_cstr(rewrite->bytes);
    return DG_OK;
}

static enum dg_err append(void *ctx, struct dg_span bytes, struct dg_error *error)
{
    struct rewrite *rewrite = ctx;
    (void)error;
    return dg_buf_append_span(&rewrite->out, bytes);
}

static void make(struct dg_zip_maker *maker)
{
    dg_zip_maker_init(maker);
    dg_zip_maker_add(maker, "mimetype", DG_SPAN("stored"), DG_ZIP_MADE_STORED);
    dg_zip_maker_add(maker, "z.xml", DG_SPAN("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
                     DG_ZIP_MADE_DEFLATED | DG_ZIP_MADE_DESCRIBED);
    dg_zip_maker_add(maker, "a.xml", DG_SPAN("bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"),
                     DG_ZIP_MADE_DEFLATED);
}

static enum dg_err rewritten(const struct dg_zip_maker *maker, struct rewrite *rewrite)
{
    const struct dg_zip_out out = {.replace = replace, .write = append, .ctx = rewrite};
    const struct dg_span bytes = dg_buf_span(&maker->bytes);
    struct dg_zip zip;
    dg_buf_init(&rewrite->out, OUT_MAX);
    enum dg_err err = dg_zip_parse(&zip, (const uint8_t *)bytes.ptr, bytes.len, "it", NULL);
    if (err)
        return err;
    err = dg_zip_out_copy(&zip, &out, NULL);
    dg_zip_close(&zip);
    return err;
}

static void check_member(const struct dg_zip *zip, const char *name, const char *expected)
{
    const struct dg_zip_member *member = dg_zip_find(zip, name);
    struct dg_zip_data data;
    ck_assert_ptr_nonnull(member);
    ck_assert_int_eq(dg_zip_data(zip, member, OUT_MAX, &data, NULL), DG_OK);
    ck_assert_uint_eq(data.len, strlen(expected));
    ck_assert_mem_eq(data.bytes, expected, data.len);
    dg_zip_data_free(&data);
}

START_TEST(with_nothing_replaced_it_is_the_same)
{
    struct dg_zip_maker maker;
    struct rewrite rewrite = {.name = NULL};
    make(&maker);
    const struct dg_span made = dg_zip_maker_end(&maker);
    ck_assert_int_eq(rewritten(&maker, &rewrite), DG_OK);
    ck_assert_uint_eq(rewrite.out.len, made.len);
    ck_assert_mem_eq(rewrite.out.ptr, made.ptr, made.len);
    dg_buf_deinit(&rewrite.out);
    dg_zip_maker_deinit(&maker);
}
END_TEST

START_TEST(each_member_can_be_replaced)
{
    static const char *const names[] = {"mimetype", "z.xml", "a.xml"};
    static const char *const old[] = {"stored", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                      "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"};
    for (int i = 0; i < 3; i++) {
        struct dg_zip_maker maker;
        struct rewrite rewrite = {.name = names[i], .bytes = "something longer than it was before"};
        struct dg_zip zip;
        make(&maker);
        dg_zip_maker_end(&maker);
        ck_assert_int_eq(rewritten(&maker, &rewrite), DG_OK);
        ck_assert_int_eq(
            dg_zip_parse(&zip, (const uint8_t *)rewrite.out.ptr, rewrite.out.len, "it", NULL),
            DG_OK);
        size_t headers[3];
        for (int k = 0; k < 3; k++) {
            check_member(&zip, names[k], k == i ? rewrite.bytes : old[k]);
            headers[k] = dg_zip_find(&zip, names[k])->header;
            ck_assert(k == 0 || headers[k] > headers[k - 1]);
        }
        /* Time and extra field stay; a data descriptor is removed. */
        const uint8_t *header = zip.file.bytes + headers[i];
        ck_assert_mem_eq(header + 10, "\x79\x5D\x2B\x6A", 4);
        ck_assert_int_eq(header[6] & 8, 0);
        ck_assert_int_eq(header[28], 6);
        ck_assert_mem_eq(rewrite.out.ptr + rewrite.out.len - 5, "notes", 5);
        dg_zip_close(&zip);
        dg_buf_deinit(&rewrite.out);
        dg_zip_maker_deinit(&maker);
    }
}
END_TEST

static enum dg_err write_nowhere(void *ctx, struct dg_span bytes, struct dg_error *error)
{
    (void)ctx;
    (void)bytes;
    return dg_error_set(error, DG_ERR_NO_SPACE, "the disk is full");
}

START_TEST(what_writing_returns_is_returned)
{
    struct dg_zip_maker maker;
    struct rewrite rewrite = {.name = NULL};
    const struct dg_zip_out out = {.replace = replace, .write = write_nowhere, .ctx = &rewrite};
    struct dg_error error = DG_ERROR_NONE;
    struct dg_zip zip;
    make(&maker);
    const struct dg_span made = dg_zip_maker_end(&maker);
    ck_assert_int_eq(dg_zip_parse(&zip, (const uint8_t *)made.ptr, made.len, "it", NULL), DG_OK);
    ck_assert_int_eq(dg_zip_out_copy(&zip, &out, &error), DG_ERR_NO_SPACE);
    ck_assert_str_eq(error.text, "the disk is full");
    dg_zip_close(&zip);
    dg_zip_maker_deinit(&maker);
}
END_TEST

START_TEST(cut_or_changed_archives_are_refused_or_copied)
{
    struct dg_zip_maker maker;
    make(&maker);
    const struct dg_span made = dg_zip_maker_end(&maker);
    for (size_t i = 0; i < made.len; i++) {
        struct rewrite rewrite = {.name = "z.xml", .bytes = "new"};
        struct dg_zip_maker changed = maker;
        changed.bytes.ptr = malloc(made.len);
        ck_assert_ptr_nonnull(changed.bytes.ptr);
        memcpy(changed.bytes.ptr, made.ptr, made.len);
        changed.bytes.ptr[i] ^= 0x55;
        (void)!rewritten(&changed, &rewrite);
        dg_buf_deinit(&rewrite.out);
        changed.bytes.ptr[i] ^= 0x55;
        changed.bytes.len = i;
        ck_assert_int_ne(rewritten(&changed, &rewrite), DG_OK);
        dg_buf_deinit(&rewrite.out);
        free(changed.bytes.ptr);
    }
    dg_zip_maker_deinit(&maker);
}
END_TEST

DG_UNIT(with_nothing_replaced_it_is_the_same, each_member_can_be_replaced,
        what_writing_returns_is_returned, cut_or_changed_archives_are_refused_or_copied)
