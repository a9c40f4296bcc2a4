/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

#include "api/v1/translate_options.h"
#include "unit.h"

START_TEST(a_file_of_the_server_says_come_again_only_for_what_passes)
{
    static const struct {
        enum dg_err err;
        int status;
        const char *code;
        unsigned retry_after_s;
    } cases[] = {
        {DG_ERR_NO_FILES, 503, "overloaded", 1}, {DG_ERR_NOMEM, 503, "overloaded", 1},
        {DG_ERR_BUSY, 503, "overloaded", 1},     {DG_ERR_NO_SPACE, 507, "no_space", 0},
        {DG_ERR_LIMIT, 500, "internal", 0},      {DG_ERR_FORMAT, 500, "internal", 0},
        {DG_ERR_IO, 500, "internal", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct dg_failure failure = dg_translate_options_file_failure(cases[i].err);
        ck_assert_int_eq(failure.status, cases[i].status);
        ck_assert_str_eq(failure.code, cases[i].code);
        ck_assert_uint_eq(failure.retry_after_s, cases[i].retry_after_s);
    }
}
END_TEST

START_TEST(a_limit_of_a_request_is_the_clients_and_lack_of_files_the_servers)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_arena arena;
    dg_arena_init(&arena, 1 << 16);
    dg_error_set(&error, DG_ERR_LIMIT, "read 3 /secret, expected 2");
    struct dg_failure failure = dg_translate_options_failure(&arena, DG_ERR_LIMIT, &error, "text");
    ck_assert_int_eq(failure.status, 400);
    ck_assert_str_eq(failure.code, "limit_reached");
    ck_assert_str_eq(failure.message, "read 3 /secret, expected 2");
    failure = dg_translate_options_failure(&arena, DG_ERR_NO_FILES, &error, NULL);
    ck_assert_int_eq(failure.status, 503);
    ck_assert_str_eq(failure.message, "too many files are open at the moment");
    dg_arena_deinit(&arena);
}
END_TEST

/* Reads options; returns whether their texts count as valid UTF-8. */
static bool is_utf8(const char *text, const struct dg_translate_options_limits *limits)
{
    struct dg_translate_options options;
    struct dg_failure failure;
    struct dg_arena arena;
    struct dg_json *json;
    dg_arena_init(&arena, 1 << 16);
    ck_assert_int_eq(dg_translate_options_parse(dg_span_cstr(text), 100, &arena, &failure, &json),
                     DG_OK);
    ck_assert_int_eq(dg_translate_options_read(json, &arena, limits, &failure, &options), DG_OK);
    const bool is_valid = options.request.is_utf8;
    dg_json_free(json);
    dg_arena_deinit(&arena);
    return is_valid;
}

START_TEST(only_texts_that_came_as_json_count_as_valid_utf8)
{
    const struct dg_translate_options_limits texts = {.texts = 2}, none = {.no_text = true};
    ck_assert(is_utf8("{\"text\":[\"\\u00e9\",\"b\"],\"target\":\"en\"}", &texts));
    ck_assert(!is_utf8("{\"target\":\"en\"}", &none));
}
END_TEST

DG_UNIT(only_texts_that_came_as_json_count_as_valid_utf8,
        a_file_of_the_server_says_come_again_only_for_what_passes,
        a_limit_of_a_request_is_the_clients_and_lack_of_files_the_servers)
