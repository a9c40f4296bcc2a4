/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Prompt templates: invalid ones are refused, placeholders are filled, and prompts become ids with
 * the right beginning (tests/unit/engine/models/test_translation_prompt.c tests the rest through
 * the engine). */
#include "base/memory/mem.h"
#include "tokenize/prompt_template.h"
#include "unit.h"

#include <string.h>

START_TEST(places_are_filled_and_escapes_undone)
{
    const struct dg_prompt_template_names names = {DG_SPAN("French"), DG_SPAN("English"),
                                                   DG_SPAN("fr"), DG_SPAN("en")};
    const struct dg_span form =
        DG_SPAN("\\{{source-code}\\|{target-code}} {source}:\\t{text}\\n{target}\\\\");
    struct dg_buf out;
    size_t at = 0;
    dg_buf_init(&out, 1000);
    ck_assert_int_eq(dg_prompt_template_check(form, NULL), DG_OK);
    ck_assert_int_eq(dg_buf_append_cstr(&out, "before "), DG_OK);
    ck_assert_int_eq(dg_prompt_template_fill(form, &names, DG_SPAN("a {source} \\n"), &out, &at),
                     DG_OK);
    ck_assert_str_eq(out.ptr, "before {fr|en} French:\ta {source} \\n\nEnglish\\");
    ck_assert_uint_eq(at, strlen("{fr|en} French:\t"));
    dg_buf_deinit(&out);
}
END_TEST

/* A span need not end with a zero byte: messages must not read beyond it. */
START_TEST(what_is_wrong_is_said_and_nothing_is_read_behind_the_end)
{
    static const char *const forms[] = {"",   "{text}{text}", "{text",     "{",
                                        "\\", "{text}\\",     "\\x{text}", "{tongue} {text}"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const size_t len = strlen(forms[i]);
        char *exact = dg_try_malloc(len ? len : 1);
        struct dg_error error = DG_ERROR_NONE;
        ck_assert_ptr_nonnull(exact);
        memcpy(exact, forms[i], len);
        const enum dg_err err = dg_prompt_template_check(dg_span_make(exact, len), &error);
        dg_free(exact);
        ck_assert_int_eq(err, DG_ERR_INVALID);
        ck_assert_msg(strncmp(error.text, "template: ", 10) == 0, "%s", error.text);
    }
    char *large = dg_try_calloc(DG_PROMPT_TEMPLATE_MAX + 1, 1);
    ck_assert_ptr_nonnull(large);
    memset(large, 'a', DG_PROMPT_TEMPLATE_MAX + 1);
    ck_assert_int_eq(
        dg_prompt_template_check(dg_span_make(large, DG_PROMPT_TEMPLATE_MAX + 1), NULL),
        DG_ERR_LIMIT);
    dg_free(large);
}
END_TEST

START_TEST(bytes_come_one_by_one)
{
    struct dg_span text = DG_SPAN("a\\n\\|\\q");
    static const char meant[] = {'a', '\n', '|'};
    char byte = 0;
    for (size_t i = 0; i < sizeof meant; i++) {
        ck_assert_int_eq(dg_prompt_template_next_byte(&text, &byte, NULL), DG_OK);
        ck_assert_int_eq(byte, meant[i]);
    }
    ck_assert_int_eq(dg_prompt_template_next_byte(&text, &byte, NULL), DG_ERR_INVALID);
    ck_assert_uint_eq(text.len, 2);
}
END_TEST

DG_UNIT(places_are_filled_and_escapes_undone,
        what_is_wrong_is_said_and_nothing_is_read_behind_the_end, bytes_come_one_by_one)
