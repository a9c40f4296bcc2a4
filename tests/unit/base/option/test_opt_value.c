/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/mem.h"
#include "base/option/opt_value.h"
#include "unit.h"

struct values {
    bool yes;
    int64_t n, ms;
    double x;
    uint64_t bytes;
    int word;
    const char *text;
    struct dg_opt_list words, addresses;
};

static const char *const colours[] = {"red", "green", NULL};
static const struct dg_opt_row r_bool = {DG_OPT_BOOL(struct values, yes), "yes", .help = "h"};
static const struct dg_opt_row r_int = {DG_OPT_INT(struct values, n), "n", .help = "h"};
static const struct dg_opt_row r_small = {DG_OPT_INT(struct values, n), "n", .min = -5,
                                          .max = 64000, .help = "h"};
static const struct dg_opt_row r_real = {DG_OPT_REAL(struct values, x), "x", .real_max = 2,
                                         .help = "h"};
static const struct dg_opt_row r_size = {DG_OPT_SIZE(struct values, bytes), "b", .min = 1,
                                         .max = INT64_MAX, .help = "h"};
static const struct dg_opt_row r_time = {DG_OPT_DURATION(struct values, ms), "t", .help = "h"};
static const struct dg_opt_row r_enum = {DG_OPT_ENUM(struct values, word), "w", .words = colours,
                                         .help = "h"};
static const struct dg_opt_row r_text = {DG_OPT_STRING(struct values, text), "s", .min = 2,
                                         .max = 4, .help = "h"};
static const struct dg_opt_row r_list = {DG_OPT_STRINGS(struct values, words), "l", .max = 3,
                                         .help = "h"};
static const struct dg_opt_row r_addr = {DG_OPT_ADDRESSES(struct values, addresses), "a",
                                         .help = "h"};

/* Parses and formats `in`, and expects `out`. */
static void check_ok(const struct dg_opt_row *row, const char *in, const char *out)
{
    struct values v = {0};
    struct dg_buf buf;
    dg_buf_init(&buf, 10000);
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_msg(!dg_opt_value_parse(row, dg_span_cstr(in), &v, false, &error), "%s: %s", in,
                  error.text);
    ck_assert_int_eq(dg_opt_value_format(row, &v, &buf), DG_OK);
    ck_assert_str_eq(buf.ptr ? buf.ptr : "", out);
    dg_opt_value_release(row, &v);
    struct values zero = {0};
    ck_assert_int_eq(memcmp(&v, &zero, sizeof v), 0);
    dg_buf_deinit(&buf);
}

static void check_bad(const struct dg_opt_row *row, const char *in, enum dg_err expected)
{
    struct values v = {0}, before = {0};
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_msg(dg_opt_value_parse(row, dg_span_cstr(in), &v, false, &error) == expected,
                  "\"%s\"", in);
    ck_assert_ptr_nonnull(strstr(error.text, "read \""));
    ck_assert_ptr_nonnull(strstr(error.text, "expected "));
    ck_assert_int_eq(memcmp(&v, &before, sizeof v), 0);
}

START_TEST(booleans_have_six_words)
{
    check_ok(&r_bool, "yes", "yes");
    check_ok(&r_bool, "true", "yes");
    check_ok(&r_bool, "on", "yes");
    check_ok(&r_bool, "no", "no");
    check_ok(&r_bool, "false", "no");
    check_ok(&r_bool, "off", "no");
    check_bad(&r_bool, "1", DG_ERR_INVALID);
    check_bad(&r_bool, "Yes", DG_ERR_INVALID);
    check_bad(&r_bool, "", DG_ERR_INVALID);
}
END_TEST

START_TEST(whole_numbers_take_suffixes_and_do_not_wrap)
{
    check_ok(&r_small, "12", "12");
    check_ok(&r_small, "-5", "-5");
    check_ok(&r_small, "64k", "64000");
    check_bad(&r_small, "65k", DG_ERR_RANGE);
    check_bad(&r_small, "-6", DG_ERR_RANGE);
    check_ok(&r_int, "9223372036854775807", "9223372036854775807");
    check_ok(&r_int, "-9223372036854775808", "-9223372036854775808");
    check_bad(&r_int, "9223372036854775808", DG_ERR_RANGE);
    check_bad(&r_int, "99999999999999999999999999999", DG_ERR_RANGE);
    check_bad(&r_int, "9223372036854775807k", DG_ERR_RANGE);
    check_bad(&r_int, "", DG_ERR_INVALID);
    check_bad(&r_int, "-", DG_ERR_INVALID);
    check_bad(&r_int, "+1", DG_ERR_INVALID);
    check_bad(&r_int, "0x10", DG_ERR_INVALID);
    check_bad(&r_int, "1.5", DG_ERR_INVALID);
    check_bad(&r_int, "12 ", DG_ERR_INVALID);
    check_bad(&r_int, "auto", DG_ERR_INVALID);
}
END_TEST

START_TEST(a_whole_number_may_have_a_word_for_zero)
{
    static const char *const words[] = {"auto", NULL};
    const struct dg_opt_row row = {DG_OPT_INT(struct values, n), "n", .max = 8, .words = words,
                                   .help = "h"};
    check_ok(&row, "auto", "auto");
    check_ok(&row, "0", "auto");
    check_ok(&row, "8", "8");
    check_bad(&row, "9", DG_ERR_RANGE);
    check_bad(&row, "none", DG_ERR_INVALID);
}
END_TEST

START_TEST(sizes_settle_on_the_largest_unit)
{
    check_ok(&r_size, "1024", "1KiB");
    check_ok(&r_size, "1025", "1025B");
    check_ok(&r_size, "1024KiB", "1MiB");
    check_ok(&r_size, "3GiB", "3GiB");
    check_bad(&r_size, "0", DG_ERR_RANGE);
    check_bad(&r_size, "-1", DG_ERR_RANGE);
    check_bad(&r_size, "1MB", DG_ERR_INVALID);
    check_bad(&r_size, "1 MiB", DG_ERR_INVALID);
    check_bad(&r_size, "9000000TiB", DG_ERR_RANGE);
}
END_TEST

START_TEST(durations_need_a_unit)
{
    check_ok(&r_time, "0", "0");
    check_ok(&r_time, "0s", "0");
    check_ok(&r_time, "1500ms", "1500ms");
    check_ok(&r_time, "90s", "90s");
    check_ok(&r_time, "120s", "2min");
    check_ok(&r_time, "24h", "1d");
    check_bad(&r_time, "30", DG_ERR_INVALID);
    check_bad(&r_time, "-1s", DG_ERR_RANGE);
    check_bad(&r_time, "5m", DG_ERR_INVALID);
}
END_TEST

START_TEST(real_numbers_read_back_the_same)
{
    check_ok(&r_real, "0.1", "0.1");
    check_ok(&r_real, "1e-3", "0.001");
    check_ok(&r_real, "0.30000000000000004", "0.30000000000000004");
    check_bad(&r_real, "2.1", DG_ERR_RANGE);
    check_bad(&r_real, "nan", DG_ERR_INVALID);
    check_bad(&r_real, "inf", DG_ERR_INVALID);
    check_bad(&r_real, "0x1", DG_ERR_INVALID);
    check_bad(&r_real, "1e", DG_ERR_INVALID);
    check_bad(&r_real, "", DG_ERR_INVALID);
}
END_TEST

START_TEST(words_and_texts_have_their_limits)
{
    check_ok(&r_enum, "green", "green");
    check_bad(&r_enum, "blue", DG_ERR_INVALID);
    check_ok(&r_text, "abcd", "abcd");
    check_bad(&r_text, "a", DG_ERR_RANGE);
    check_bad(&r_text, "abcde", DG_ERR_RANGE);
    check_bad(&r_text, "a\nb", DG_ERR_INVALID);
}
END_TEST

START_TEST(lists_split_at_commas)
{
    check_ok(&r_list, "a,b , c d", "a, b, c d");
    check_ok(&r_list, "", "");
    check_bad(&r_list, "a,,b", DG_ERR_INVALID);
    check_bad(&r_list, "a,", DG_ERR_INVALID);
    check_bad(&r_list, "a,b,c,d", DG_ERR_RANGE);
    check_ok(&r_addr, "127.0.0.1:1, unix:/x", "127.0.0.1:1, unix:/x");
    check_bad(&r_addr, "127.0.0.1", DG_ERR_INVALID);
}
END_TEST

START_TEST(a_failed_append_leaves_the_list_as_it_was)
{
    struct values v = {0};
    ck_assert_int_eq(dg_opt_value_parse(&r_list, DG_SPAN("a,b"), &v, false, NULL), DG_OK);
    ck_assert_int_eq(dg_opt_value_parse(&r_list, DG_SPAN("c,d"), &v, true, NULL), DG_ERR_RANGE);
    ck_assert_uint_eq(v.words.n, 2);
    ck_assert_int_eq(dg_opt_value_parse(&r_list, DG_SPAN("c"), &v, true, NULL), DG_OK);
    ck_assert_uint_eq(v.words.n, 3);
    ck_assert_str_eq(v.words.items[2], "c");
    for (uint64_t nth = 1; nth <= 4; nth++) {
        dg_mem_fail_after(nth);
        enum dg_err err = dg_opt_value_parse(&r_list, DG_SPAN("x,y,z"), &v, false, NULL);
        ck_assert(err == DG_ERR_NOMEM && dg_mem_failed());
    }
    dg_mem_fail_after(0);
    ck_assert_uint_eq(v.words.n, 3);
    dg_opt_value_release(&r_list, &v);
}
END_TEST

START_TEST(long_values_are_quoted_in_part_and_lists_fit_a_line)
{
    struct values v = {0};
    struct dg_error error = DG_ERROR_NONE;
    char text[4001];
    memset(text, 'x', 4000);
    text[4000] = '\0';
    ck_assert_int_eq(dg_opt_value_parse(&r_text, dg_span_cstr(text), &v, false, &error),
                     DG_ERR_RANGE);
    ck_assert_uint_lt(strlen(error.text), 200);
    ck_assert_ptr_nonnull(strstr(error.text, "..."));
    ck_assert_int_eq(dg_opt_value_parse(&r_list, dg_span_cstr(text), &v, false, &error),
                     DG_ERR_INVALID);
    text[2000] = ',';
    ck_assert_int_eq(dg_opt_value_parse(&r_list, dg_span_cstr(text), &v, false, &error),
                     DG_ERR_RANGE);
}
END_TEST

DG_UNIT(booleans_have_six_words, whole_numbers_take_suffixes_and_do_not_wrap,
        a_whole_number_may_have_a_word_for_zero, sizes_settle_on_the_largest_unit,
        durations_need_a_unit, real_numbers_read_back_the_same, words_and_texts_have_their_limits,
        lists_split_at_commas, a_failed_append_leaves_the_list_as_it_was,
        long_values_are_quoted_in_part_and_lists_fit_a_line)
