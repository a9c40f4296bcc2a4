/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/json/json.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "unit.h"

static const struct dg_json_limits limits = DG_JSON_LIMITS_DEFAULT;

static struct dg_json *parsed(const char *text)
{
    struct dg_json *json = NULL;
    struct dg_error error = DG_ERROR_NONE;
    enum dg_err err = dg_json_parse(dg_span_cstr(text), &limits, &error, &json);
    ck_assert_msg(err == DG_OK, "%s", error.text);
    return json;
}

static void expect_refused(struct dg_span text, const struct dg_json_limits *with,
                           enum dg_err expected, const char *part)
{
    struct dg_json *json = NULL;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_json_parse(text, with, &error, &json), expected);
    ck_assert_ptr_null(json);
    ck_assert_msg(strstr(error.text, part) != NULL, "'%s' is not in: %s", part, error.text);
}

START_TEST(reads_each_type)
{
    struct dg_json *json = parsed("{\"b\": true, \"i\": -3, \"r\": 0.5, \"s\": \"h\\u00e9\", "
                                  "\"a\": [1, \"x\"], \"o\": {}, \"n\": null}");
    bool b = false;
    int64_t i = 0;
    double r = 0;
    struct dg_span s = {0};
    const struct dg_json *a = NULL, *o = NULL;
    ck_assert_int_eq(dg_json_get_bool(json, "b", DG_JSON_REQUIRED, NULL, &b), DG_OK);
    ck_assert_int_eq(dg_json_get_int(json, "i", DG_JSON_REQUIRED, -5, 5, NULL, &i), DG_OK);
    ck_assert_int_eq(dg_json_get_real(json, "r", DG_JSON_REQUIRED, 0, 1, NULL, &r), DG_OK);
    ck_assert_int_eq(dg_json_get_string(json, "s", DG_JSON_REQUIRED, NULL, &s), DG_OK);
    ck_assert_int_eq(dg_json_get_array(json, "a", DG_JSON_REQUIRED, NULL, &a), DG_OK);
    ck_assert_int_eq(dg_json_get_object(json, "o", DG_JSON_REQUIRED, NULL, &o), DG_OK);
    ck_assert(b && i == -3 && r > 0.4 && r < 0.6);
    ck_assert(dg_span_eq(s, DG_SPAN("h\xC3\xA9")));
    ck_assert_uint_eq(dg_json_len(a), 2);
    ck_assert_uint_eq(dg_json_len(o), 0);
    ck_assert_int_eq(dg_json_type(dg_json_get(json, "n")), DG_JSON_NULL);
    ck_assert_int_eq(dg_json_at_int(a, "a", 0, 0, 9, NULL, &i), DG_OK);
    ck_assert_int_eq(dg_json_at_string(a, "a", 1, NULL, &s), DG_OK);
    ck_assert(i == 1 && dg_span_eq(s, DG_SPAN("x")));
    ck_assert_int_eq(dg_json_get_real(json, "i", DG_JSON_REQUIRED, -9, 9, NULL, &r), DG_OK);
    ck_assert(r < -2.9);
    dg_json_free(json);
}
END_TEST

START_TEST(keeps_nul_in_strings)
{
    struct dg_json *json = parsed("[\"a\\u0000b\"]");
    struct dg_span s = {0};
    ck_assert_int_eq(dg_json_at_string(json, "x", 0, NULL, &s), DG_OK);
    ck_assert(dg_span_eq(s, DG_SPAN("a\0b")));
    dg_json_free(json);
}
END_TEST

START_TEST(refuses_what_is_not_strict_json)
{
    static const char *const wrong[] = {"",
                                        " ",
                                        "{",
                                        "[1,]",
                                        "{\"a\":1,}",
                                        "[1] x",
                                        "{} {}",
                                        "{\"a\":1,\"a\":2}",
                                        "{a:1}",
                                        "'a'",
                                        "NaN",
                                        "[Infinity]",
                                        "[01]",
                                        "[+1]",
                                        "[.5]",
                                        "[1.]",
                                        "\"a\nb\"",
                                        "\"\\x41\"",
                                        "\"\\ud800\"",
                                        "\"\\udc00\"",
                                        "// c\n1",
                                        "[1 2]",
                                        "]",
                                        "\"",
                                        "\"\\",
                                        "[9223372036854775808]",
                                        "[1e999]",
                                        "{\"\\u0000\":1}",
                                        "tru",
                                        "{\"a\"}",
                                        "{1:2}",
                                        "\xEF\xBB\xBF{}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_refused(dg_span_cstr(wrong[i]), &limits, DG_ERR_FORMAT, "not JSON at line 1");
    expect_refused(DG_SPAN("[1,\n2\n3]"), &limits, DG_ERR_FORMAT, "line 3");
    expect_refused(DG_SPAN("[1]\0"), &limits, DG_ERR_FORMAT, "not JSON");
}
END_TEST

START_TEST(names_the_byte_of_invalid_utf8)
{
    expect_refused(DG_SPAN("{\"a\":\"\xC3(\"}"), &limits, DG_ERR_UTF8,
                   "invalid UTF-8 at byte 6 (0xc3)");
}
END_TEST

START_TEST(holds_its_limits_exactly)
{
    const struct dg_json_limits few = {.max_bytes = 40, .max_depth = 3, .max_values = 5};
    struct dg_json *json = NULL;
    static const char *const fine[] = {"[[[]]]", "[1,2,3,4]", "{\"a\":1,\"b\":{\"c\":[ ]}}",
                                       "[\"[[[[,,,,,\\\"[[[[\"]", "[ { } , [ ] , 3 , 4 ]"};
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        ck_assert_int_eq(dg_json_parse(dg_span_cstr(fine[i]), &few, NULL, &json), DG_OK);
        dg_json_free(json);
    }
    expect_refused(DG_SPAN("[[[[]]]]"), &few, DG_ERR_LIMIT, "nested deeper than 3 at byte 3");
    expect_refused(DG_SPAN("[1,2,3,4,5]"), &few, DG_ERR_LIMIT, "more than 5 values at byte 8");
    expect_refused(DG_SPAN("[[],[],[],[[]]]"), &few, DG_ERR_LIMIT, "more than 5 values");
    expect_refused(DG_SPAN("\"0123456789012345678901234567890123456789\""), &few, DG_ERR_LIMIT,
                   "JSON of 42 bytes, expected at most 40");
}
END_TEST

START_TEST(survives_a_hundred_thousand_brackets)
{
    const struct dg_json_limits wide = {1 << 20, 1 << 20, 1 << 20};
    static char deep[100000];
    memset(deep, '[', sizeof deep);
    expect_refused(dg_span_make(deep, sizeof deep), &wide, DG_ERR_LIMIT, "nested deeper than 512");
    memset(deep, ']', sizeof deep);
    expect_refused(dg_span_make(deep, sizeof deep), &wide, DG_ERR_FORMAT, "not JSON");
}
END_TEST

static void expect_sentence(enum dg_err err, enum dg_err expected, const struct dg_error *error,
                            const char *sentence)
{
    ck_assert_int_eq(err, expected);
    ck_assert_str_eq(error->text, sentence);
}

START_TEST(says_what_was_read_and_what_was_expected)
{
    struct dg_json *json = parsed("{\"beam\": \"4\", \"n\": 17, \"t\": [1, null], \"x\": 2.5}");
    struct dg_error error = DG_ERROR_NONE;
    int64_t i = 77;
    double r = 77;
    struct dg_span s = {0};
    bool b = false;
    const struct dg_json *child = NULL;
    expect_sentence(dg_json_get_int(json, "beam", DG_JSON_OPTIONAL, 1, 16, &error, &i),
                    DG_ERR_INVALID, &error,
                    "field 'beam': read a string, expected an integer 1 to 16");
    expect_sentence(dg_json_get_int(json, "n", DG_JSON_OPTIONAL, 1, 16, &error, &i), DG_ERR_RANGE,
                    &error, "field 'n': read 17, expected an integer 1 to 16");
    expect_sentence(dg_json_get_int(json, "x", DG_JSON_OPTIONAL, 1, 16, &error, &i), DG_ERR_INVALID,
                    &error,
                    "field 'x': read a number with a fraction or exponent, expected an integer 1 "
                    "to 16");
    expect_sentence(dg_json_get_real(json, "x", DG_JSON_OPTIONAL, 0, 1, &error, &r), DG_ERR_RANGE,
                    &error, "field 'x': read 2.5, expected a number 0 to 1");
    expect_sentence(dg_json_get_string(json, "q", DG_JSON_REQUIRED, &error, &s), DG_ERR_NOT_FOUND,
                    &error, "field 'q' is missing, expected a string");
    expect_sentence(dg_json_get_bool(json, "t", DG_JSON_OPTIONAL, &error, &b), DG_ERR_INVALID,
                    &error, "field 't': read an array, expected true or false");
    expect_sentence(dg_json_get_object(json, "t", DG_JSON_OPTIONAL, &error, &child), DG_ERR_INVALID,
                    &error, "field 't': read an array, expected an object");
    const struct dg_json *array = dg_json_get(json, "t");
    expect_sentence(dg_json_at_string(array, "t", 1, &error, &s), DG_ERR_INVALID, &error,
                    "field 't[1]': read null, expected a string");
    expect_sentence(dg_json_at_string(array, "t", 2, &error, &s), DG_ERR_NOT_FOUND, &error,
                    "field 't[2]' is missing, there are 2 elements");
    expect_sentence(dg_json_get_int(array, "t", DG_JSON_OPTIONAL, 1, 2, &error, &i), DG_ERR_INVALID,
                    &error, "read an array, expected an object");
    ck_assert(i == 77 && r > 76 && s.ptr == NULL && !child);
    dg_json_free(json);
}
END_TEST

START_TEST(leaves_defaults_where_optional_fields_are_absent_or_null)
{
    struct dg_json *json = parsed("{\"n\": null}");
    int64_t i = 4;
    struct dg_span s = DG_SPAN("default");
    ck_assert_int_eq(dg_json_get_int(json, "n", DG_JSON_OPTIONAL, 1, 2, NULL, &i), DG_OK);
    ck_assert_int_eq(dg_json_get_string(json, "m", DG_JSON_OPTIONAL, NULL, &s), DG_OK);
    ck_assert(i == 4 && dg_span_eq(s, DG_SPAN("default")));
    ck_assert_int_eq(dg_json_get_int(json, "n", DG_JSON_REQUIRED, 1, 2, NULL, &i), DG_ERR_INVALID);
    dg_json_free(json);
}
END_TEST

START_TEST(chooses_from_a_list)
{
    static const char *const choices[] = {"text", "html", NULL};
    struct dg_json *json = parsed("{\"f\": \"html\", \"g\": \"xml\\u0000\", \"h\": 1}");
    struct dg_error error = DG_ERROR_NONE;
    int chosen = 0;
    ck_assert_int_eq(dg_json_get_choice(json, "f", DG_JSON_REQUIRED, choices, &error, &chosen),
                     DG_OK);
    ck_assert_int_eq(chosen, 1);
    ck_assert_int_eq(dg_json_get_choice(json, "g", DG_JSON_REQUIRED, choices, &error, &chosen),
                     DG_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "field 'g': read \"xml"));
    expect_sentence(dg_json_get_choice(json, "h", DG_JSON_REQUIRED, choices, &error, &chosen),
                    DG_ERR_INVALID, &error,
                    "field 'h': read an integer, expected one of \"text\", \"html\"");
    dg_json_free(json);
}
END_TEST

START_TEST(names_an_unknown_field)
{
    static const char *const known[] = {"text", "beam", NULL};
    struct dg_json *json = parsed("{\"text\": 1, \"baem\": 2}");
    struct dg_error error = DG_ERROR_NONE;
    const char *unknown = NULL;
    expect_sentence(dg_json_check_fields(json, known, &error, &unknown), DG_ERR_INVALID, &error,
                    "unknown field 'baem'; did you mean \"beam\"?");
    ck_assert_str_eq(unknown, "baem");
    dg_json_free(json);
    json = parsed("{\"glossary\": 1}");
    error = (struct dg_error)DG_ERROR_NONE;
    expect_sentence(dg_json_check_fields(json, known, &error, NULL), DG_ERR_INVALID, &error,
                    "unknown field 'glossary', expected only \"text\", \"beam\"");
    dg_json_free(json);
    json = parsed("{\"beam\": 1}");
    ck_assert_int_eq(dg_json_check_fields(json, known, NULL, NULL), DG_OK);
    dg_json_free(json);
    json = parsed("[]");
    ck_assert_int_eq(dg_json_check_fields(json, known, NULL, NULL), DG_ERR_INVALID);
    dg_json_free(json);
}
END_TEST

START_TEST(cuts_long_lists_of_names_in_sentences)
{
    static const char *known[101];
    for (int i = 0; i < 100; i++)
        known[i] = "a_rather_long_name_of_a_field";
    struct dg_json *json = parsed("{\"x\": 1}");
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_json_check_fields(json, known, &error, NULL), DG_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "field\", ..."));
    dg_json_free(json);
}
END_TEST

START_TEST(iterates_a_vocabulary_in_order)
{
    enum { N_PIECES = 60000 };
    struct dg_buf text;
    dg_buf_init(&text, 8 << 20);
    ck_assert_int_eq(dg_buf_append_cstr(&text, "{"), DG_OK);
    for (int i = 0; i < N_PIECES; i++)
        ck_assert_int_eq(dg_buf_printf(&text, "%s\"\xE2\x96\x81piece%d\": %d", i ? ", " : "", i, i),
                         DG_OK);
    ck_assert_int_eq(dg_buf_append_cstr(&text, "}"), DG_OK);
    const struct dg_json_limits wide = {8 << 20, 1, 100000};
    struct dg_json *json = NULL;
    ck_assert_int_eq(dg_json_parse(dg_buf_span(&text), &wide, NULL, &json), DG_OK);
    struct dg_json_iter iter = dg_json_iter(json);
    struct dg_span key;
    const struct dg_json *value;
    int64_t expected = 0;
    for (; dg_json_next(&iter, &key, &value); expected++) {
        int64_t id = -1;
        ck_assert_int_eq(dg_json_int(value, key, 0, N_PIECES - 1, NULL, &id), DG_OK);
        if (id != expected || strtol(key.ptr + 8, NULL, 10) != id)
            ck_abort_msg("piece %d", (int)id);
    }
    ck_assert_int_eq(expected, N_PIECES);
    dg_json_free(json);
    dg_buf_deinit(&text);
}
END_TEST

START_TEST(iterates_over_nothing_where_there_is_no_object)
{
    struct dg_json *json = parsed("[1]");
    struct dg_span key;
    const struct dg_json *value;
    struct dg_json_iter iter = dg_json_iter(json);
    ck_assert(!dg_json_next(&iter, &key, &value));
    iter = dg_json_iter(NULL);
    ck_assert(!dg_json_next(&iter, &key, &value));
    ck_assert_ptr_null(dg_json_at(json, 1));
    ck_assert_ptr_null(dg_json_get(json, "a"));
    dg_json_free(json);
    dg_json_free(NULL);
}
END_TEST

/* Parses with each allocation failing in turn; returns how many allocations there are. */
static uint64_t parse_without_memory(struct dg_span text)
{
    for (uint64_t n = 1;; n++) {
        struct dg_json *json = NULL;
        dg_mem_fail_after(n);
        struct dg_error error = DG_ERROR_NONE;
        enum dg_err err = dg_json_parse(text, &limits, &error, &json);
        bool failed = dg_mem_failed();
        dg_mem_fail_after(0);
        if (!failed) {
            ck_assert_msg(err == DG_OK, "%s", error.text);
            dg_json_free(json);
            return n - 1;
        }
        ck_assert_msg(err == DG_ERR_NOMEM, "allocation %d: %s", (int)n, error.text);
    }
}

/* The padding shifts the places where memory is allocated through the whole text. */
START_TEST(reports_memory_that_is_gone_wherever_it_happens)
{
    struct dg_buf text;
    dg_buf_init(&text, 10000);
    for (size_t pad = 0; pad < 400; pad++) {
        dg_buf_clear(&text);
        ck_assert_int_eq(dg_buf_append_cstr(&text, "[\""), DG_OK);
        for (size_t i = 0; i < pad; i++)
            ck_assert_int_eq(dg_buf_append_byte(&text, 'p'), DG_OK);
        for (int i = 0; i < 40; i++)
            ck_assert_int_eq(dg_buf_printf(&text,
                                           "\", [1, 2.5, {\"key %d\": null}], \"a longer string %d",
                                           i, i),
                             DG_OK);
        ck_assert_int_eq(dg_buf_append_cstr(&text, "\"]"), DG_OK);
        ck_assert_uint_ge(parse_without_memory(dg_buf_span(&text)), 3);
    }
    dg_buf_deinit(&text);
}
END_TEST

START_TEST(reads_literals_at_the_top)
{
    static const char *const texts[] = {"null", "true", "0", "\"\"", "[]", "{}"};
    static const enum dg_json_type types[] = {DG_JSON_NULL,   DG_JSON_BOOL,  DG_JSON_INT,
                                              DG_JSON_STRING, DG_JSON_ARRAY, DG_JSON_OBJECT};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct dg_json *json = parsed(texts[i]);
        ck_assert_int_eq(dg_json_type(json), types[i]);
        ck_assert_uint_eq(dg_json_len(json), 0);
        dg_json_free(json);
    }
}
END_TEST

DG_UNIT(reads_each_type, keeps_nul_in_strings, refuses_what_is_not_strict_json,
        names_the_byte_of_invalid_utf8, holds_its_limits_exactly,
        survives_a_hundred_thousand_brackets, says_what_was_read_and_what_was_expected,
        leaves_defaults_where_optional_fields_are_absent_or_null, chooses_from_a_list,
        names_an_unknown_field, cuts_long_lists_of_names_in_sentences,
        iterates_a_vocabulary_in_order, iterates_over_nothing_where_there_is_no_object,
        reports_memory_that_is_gone_wherever_it_happens, reads_literals_at_the_top)
