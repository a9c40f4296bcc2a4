/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/json/json_file.h"
#include "tmpdir.h"
#include "unit.h"

static char dir[DG_TMPDIR_CAP], path[DG_TMPDIR_CAP + 16];

static void put(const char *text)
{
    dg_tmpdir_make(dir);
    snprintf(path, sizeof path, "%s/a.json", dir);
    FILE *file = fopen(path, "w");
    ck_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void expect_refused(const char *text, enum dg_err expected, const char *said)
{
    static const struct dg_json_limits limits = {.max_bytes = 20, .max_depth = 2, .max_values = 10};
    struct dg_error error = DG_ERROR_NONE;
    struct dg_json *json = NULL;
    put(text ? text : "");
    if (!text)
        ck_assert_int_eq(remove(path), 0);
    ck_assert_int_eq(dg_json_file_read(path, &limits, &error, &json), expected);
    ck_assert_ptr_null(json);
    ck_assert_msg(strstr(error.text, path) && strstr(error.text, said), "the sentence is: %s",
                  error.text);
    dg_tmpdir_remove(dir);
}

START_TEST(reads_a_file_that_may_be_gone_afterwards)
{
    static const struct dg_json_limits limits = DG_JSON_LIMITS_DEFAULT;
    struct dg_json *json = NULL;
    struct dg_span word = {NULL, 0};
    put("{\"word\": \"eau\"}\n");
    ck_assert_int_eq(dg_json_file_read(path, &limits, NULL, &json), DG_OK);
    dg_tmpdir_remove(dir);
    ck_assert_int_eq(dg_json_get_string(json, "word", DG_JSON_REQUIRED, NULL, &word), DG_OK);
    ck_assert(dg_span_eq(word, DG_SPAN("eau")));
    dg_json_free(json);
}
END_TEST

START_TEST(says_the_path_of_what_it_refuses)
{
    expect_refused(NULL, DG_ERR_NOT_FOUND, "No such file");
    expect_refused("{\"a\": 1", DG_ERR_FORMAT, "line 1");
    expect_refused("[1, 2, 3, 4, 5, 6, 7, 8]", DG_ERR_LIMIT, "20");
    expect_refused("[[[1]]]", DG_ERR_LIMIT, "2");
}
END_TEST

DG_UNIT(reads_a_file_that_may_be_gone_afterwards, says_the_path_of_what_it_refuses)
