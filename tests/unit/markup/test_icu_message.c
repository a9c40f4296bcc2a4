/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "markup/icu_message.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 1 << 20 };

struct found {
    char text[4096];
    size_t n, at;
    const char *message;
};

static void on_piece(void *ctx, const struct dg_icu_piece *piece)
{
    static const char signs[] = {
        [DG_ICU_SYNTAX] = ' ',     [DG_ICU_TEXT] = 't',     [DG_ICU_QUOTE] = 'q',
        [DG_ICU_APOSTROPHE] = 'a', [DG_ICU_ARGUMENT] = 'n', [DG_ICU_NUMBER] = '#'};
    struct found *found = ctx;
    ck_assert_uint_eq(piece->at, found->at);
    ck_assert(piece->len > 0);
    found->at += piece->len;
    if (piece->kind == DG_ICU_SYNTAX)
        return;
    found->n +=
        (size_t)snprintf(found->text + found->n, sizeof found->text - found->n, "%c[%.*s%s]",
                         signs[piece->kind], (int)piece->len, found->message + piece->at,
                         piece->kind == DG_ICU_NUMBER ? piece->example : "");
}

static void expect(const char *message, const char *pieces)
{
    struct found found = {.message = message};
    ck_assert_msg(dg_icu_parse(dg_span_cstr(message), on_piece, &found), "%s", message);
    ck_assert_uint_eq(found.at, strlen(message));
    ck_assert_str_eq(found.text, pieces);
}

START_TEST(only_the_words_of_branches_are_text)
{
    expect("{n, plural, one {# file of {name}} other {# files of {name}}}",
           "#[#1]t[ file of ]n[{name}]#[#5]t[ files of ]n[{name}]");
    expect("You have {n,plural,offset:1 =0{none}=1{one} few{#} other{#}} left.",
           "t[You have ]t[none]t[one]#[#3]#[#5]t[ left.]");
    expect("{who, select, male {He sent {n, plural, one {a card} other {# cards}}.} other {They # "
           "x.}}",
           "t[He sent ]t[a card]#[#5]t[ cards]t[.]t[They # x.]");
    expect("{n, selectordinal, one {#st} two {#nd} other {#th}}", "#[#1]t[st]#[#2]t[nd]#[#5]t[th]");
    expect("{n, plural,\\n  other {it''s '{x}' {d, date, short}}\\n}",
           "t[it]a['']t[s ]q[']t[{x}]q[']t[ ]n[{d, date, short}]");
    expect("it's {n, plural, other {'#' o'clock}}", "t[it's ]q[']t[#]q[']t[ o'clock]");
    expect(
        "{0,choice,-1#less|0#none|1<{0,number} '{x}'|2\xE2\x89\xA4 {g, select, other {a|b}}} c|d",
        "t[less]t[none]n[{0,number}]t[ ]q[']t[{x}]q[']t[ ]t[a|b]t[ c|d]");
    expect("", "");
}
END_TEST

START_TEST(what_is_no_message_is_seen)
{
    static const char *const bad[] = {"{n, plural, one {a}",
                                      "{n, plural, one {a}}",
                                      "{n, plural, other a}",
                                      "{n, plural, other {a}",
                                      "{n",
                                      "{}",
                                      "{n, plural, {a} other {b}}",
                                      "a}{n, plural, other {a",
                                      "{0, choice, #a}",
                                      "{0, choice, 1#a|b}",
                                      "{0, choice, 1#a"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!dg_icu_parse(dg_span_cstr(bad[i]), NULL, NULL), "%s", bad[i]);
    ck_assert(dg_icu_has_choice(DG_SPAN("{n , select , a {b} other {c}}")));
    ck_assert(!dg_icu_has_choice(DG_SPAN("{name}, plural forms")));
    ck_assert(!dg_icu_has_choice(DG_SPAN("first, select, then {x}"
                                         "")) ||
              !dg_icu_parse(DG_SPAN("first, select, then {x"), NULL, NULL));
    ck_assert(!dg_icu_has_choice(DG_SPAN("a, plural, b")));
    /* Too deep. */
    struct dg_buf text;
    dg_buf_init(&text, TEXT_MAX);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(dg_buf_append_cstr(&text, "{n, plural, other {"), DG_OK);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(dg_buf_append_cstr(&text, "}}"), DG_OK);
    ck_assert(!dg_icu_parse(dg_buf_span(&text), NULL, NULL));
    dg_buf_deinit(&text);
}
END_TEST

START_TEST(a_plural_gets_the_categories_of_the_target)
{
    static const struct {
        const char *language, *message, *wanted;
    } cases[] = {
        {"pl", "{n, plural, one {a} other {# b}}",
         "{n, plural, one {a} other {# b} few {# b} many {# b}}"},
        {"en", "{n, plural, one {a} other {b}}", "{n, plural, one {a} other {b}}"},
        {"en", "{n, plural, other {b}}", "{n, plural, other {b} one {b}}"},
        {"ja", "{n, plural, one {a} other {b}}", "{n, plural, one {a} other {b}}"},
        {"", "{n, plural, one {a} other {b}}", "{n, plural, one {a} other {b}}"},
        {"ru-RU", "x {g, select, m {{n, plural, =0 {z} one {a} many {c} other {b}}} other {c}} y",
         "x {g, select, m {{n, plural, =0 {z} one {a} many {c} other {b} few {b}}} other {c}} y"},
        {"pl", "{n, selectordinal, one {a} other {b}}", "{n, selectordinal, one {a} other {b}}"},
        {"pl", "{n, plural, one {a", "{n, plural, one {a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dg_buf out;
        dg_buf_init(&out, TEXT_MAX);
        ck_assert_int_eq(
            dg_icu_adapt(dg_span_cstr(cases[i].message), dg_span_cstr(cases[i].language), &out),
            DG_OK);
        ck_assert_str_eq(out.ptr, cases[i].wanted);
        dg_buf_deinit(&out);
    }
    /* A message that would become too large is left unchanged. */
    struct dg_buf small;
    dg_buf_init(&small, 40);
    ck_assert_int_eq(
        dg_icu_adapt(DG_SPAN("{n, plural, one {a} other {# b}}"), DG_SPAN("pl"), &small), DG_OK);
    ck_assert_str_eq(small.ptr, "{n, plural, one {a} other {# b}}");
    dg_buf_deinit(&small);
}
END_TEST

START_TEST(the_sentence_around_a_choice_moves_into_its_branches)
{
    static const struct {
        const char *message, *wanted;
    } cases[] = {
        {"Hi! You have {n, plural, one {# file} other {# files}} left. Bye.",
         "Hi! {n, plural, one {You have # file left.} other {You have # files left.}} Bye."},
        {"One\\n{who, select, a {He} other {They}} said #.\\nTwo",
         "One\\n{who, select, a {He said #.} other {They said #.}}\\nTwo"},
        {"There {0, choice, 0#are no files|1#is a file} in {1}",
         "{0, choice, 0#There are no files in {1}|1#There is a file in {1}}"},
        {"It''s {n, plural, offset:1 =0 {none} other {'{x}' #}} more",
         "{n, plural, offset:1 =0 {It''s none more} other {It''s '{x}' # more}}"},
        /* Messages that are left unchanged: those with several choices, with a sign that would
         * count, with an apostrophe that would quote, or with nothing around their choice. */
        {"a {n, plural, other {{m, plural, other {b}}}} c", NULL},
        {"a {n, plural, other {b}} c {m, plural, other {d}}", NULL},
        {"No. #1 has {n, plural, other {b}}", "No. #1 has {n, plural, other {b}}"},
        {"a|b {n, choice, 0#c}", NULL},
        {"{n, plural, other {b}} c l'", NULL},
        {"a {n, plural, other {l'}} c", NULL},
        {"({n, plural, other {b}})", NULL},
        {"A. {n, plural, other {b}} C. D", "A. {n, plural, other {b C.}} D"},
        {"a {n, plural, other {b}", NULL},
        {"a {b} c", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dg_buf out;
        dg_buf_init(&out, TEXT_MAX);
        ck_assert_int_eq(dg_icu_widen(dg_span_cstr(cases[i].message), &out), DG_OK);
        ck_assert_str_eq(out.len ? out.ptr : "",
                         cases[i].wanted ? cases[i].wanted : cases[i].message);
        dg_buf_deinit(&out);
    }
    /* Many branches would multiply a long text around them, so the message is left unchanged. */
    struct dg_buf text, out;
    dg_buf_init(&text, TEXT_MAX);
    dg_buf_init(&out, TEXT_MAX);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(dg_buf_append_cstr(&text, "word "), DG_OK);
    ck_assert_int_eq(dg_buf_append_cstr(&text, "{n, select, "), DG_OK);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(dg_buf_append_cstr(&text, "a {b} "), DG_OK);
    ck_assert_int_eq(dg_buf_append_cstr(&text, "other {b}}"), DG_OK);
    ck_assert_int_eq(dg_icu_widen(dg_buf_span(&text), &out), DG_OK);
    ck_assert_uint_eq(out.len, text.len);
    dg_buf_deinit(&text);
    dg_buf_deinit(&out);
}
END_TEST

DG_UNIT(only_the_words_of_branches_are_text, what_is_no_message_is_seen,
        a_plural_gets_the_categories_of_the_target,
        the_sentence_around_a_choice_moves_into_its_branches)
