/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "engine/words/placeholders.h"
#include "files.h"
#include "unit.h"

#include <string.h>

static struct dg_tokenizer *tokenizer;
static struct dg_placeholders_words words;
static struct dg_placeholders placeholders;
static struct dg_protect_list list;

static void set_up(void)
{
    char path[DG_TEST_PATH];
    struct dg_error error = DG_ERROR_NONE;
    dg_test_source(path, "models/fr-en");
    ck_assert_msg(dg_tokenizer_open(path, &error, &tokenizer) == DG_OK, "%s", error.text);
    ck_assert_int_eq(dg_placeholders_words_init(&words, tokenizer), DG_OK);
    dg_placeholders_init(&placeholders);
    dg_protect_list_init(&list);
}

static void tear_down(void)
{
    dg_placeholders_deinit(&placeholders);
    dg_protect_list_deinit(&list);
    dg_tokenizer_close(tokenizer);
}

/* Finds the spans, replaces them, and restores them in slices of `slice` bytes. */
static void check_round_trip(const char *text, const char *dressed_as, size_t slice)
{
    struct dg_buf dressed, back;
    struct dg_placeholders_out out = {.n_read = 0};
    dg_placeholders_deinit(&placeholders);
    dg_buf_init(&dressed, 10000);
    dg_buf_init(&back, 10000);
    ck_assert_int_eq(dg_placeholders_find(&placeholders, dg_span_cstr(text), NULL, 0, &list),
                     DG_OK);
    ck_assert_int_eq(
        dg_placeholders_dress(&placeholders, dg_buf_span(&placeholders.marked), &words, &dressed),
        DG_OK);
    ck_assert_str_eq(dressed.ptr, dressed_as);
    ck_assert_int_eq(dg_buf_append_span(&back, placeholders.before), DG_OK);
    for (size_t n = slice;; n += slice) {
        bool is_over = n >= dressed.len;
        size_t before = back.len;
        ck_assert_int_eq(dg_placeholders_undress(&placeholders, &out,
                                                 dg_span_sub(dg_buf_span(&dressed), 0, n), is_over,
                                                 &back),
                         DG_OK);
        ck_assert_uint_ge(back.len, before); /* text that was shown stays */
        ck_assert_ptr_null(strstr(back.ptr ? back.ptr : "", words.items[0].text));
        if (is_over)
            break;
    }
    ck_assert_int_eq(dg_buf_append_span(&back, placeholders.after), DG_OK);
    ck_assert_str_eq(back.ptr, text);
    for (size_t i = 0; i < placeholders.n; i++)
        ck_assert(placeholders.items[i].is_said);
    dg_buf_deinit(&dressed);
    dg_buf_deinit(&back);
}

START_TEST(spans_travel_as_words_and_come_back)
{
    set_up();
    char text[200];
    const char *a = words.items[0].text, *b = words.items[1].text;
    ck_assert_uint_ge(words.n, 8);
    for (size_t slice = 1; slice < 9; slice++) {
        snprintf(text, sizeof text, "Ouvrez %s dans %s.", a, b);
        check_round_trip("Ouvrez https://a.org/?q=1 dans {0}.", text, slice);
        snprintf(text, sizeof text, "Ouvrez %s.", a);
        check_round_trip("Ouvrez <x id=\"7\"></x>.", text, slice); /* adjacent spans become one */
        check_round_trip("\U0001F600 Ouvrez %s. \U0001F600", text, slice); /* emoji are left out */
        snprintf(text, sizeof text, "pr\u00e9 %s fixe", a);
        check_round_trip("pr\u00e9{0}fixe", text, slice);
        snprintf(text, sizeof text, "%s's", a);
        check_round_trip("$Name's", text, slice);
    }
    tear_down();
}
END_TEST

START_TEST(offsets_are_followed_from_one_model_to_the_next)
{
    /* The output of one model for "{0}a $Name b", with marks, gets placeholder words again for
     * the next model. */
    struct dg_placeholders_out out = {.keeps_marks = true};
    struct dg_buf dressed, via, again;
    char text[100];
    set_up();
    ck_assert_int_eq(dg_placeholders_find(&placeholders, DG_SPAN("x {0}a $Name b"), NULL, 0, &list),
                     DG_OK);
    dg_buf_init(&dressed, 1000);
    dg_buf_init(&via, 1000);
    dg_buf_init(&again, 1000);
    ck_assert_int_eq(
        dg_placeholders_dress(&placeholders, dg_buf_span(&placeholders.marked), &words, &dressed),
        DG_OK);
    const char *a = words.items[0].text, *b = words.items[1].text;
    snprintf(text, sizeof text, "%s and %s c", b, a); /* in another order */
    const size_t n_a = strlen(a), n_b = strlen(b);
    ck_assert_int_eq(dg_placeholders_undress(&placeholders, &out, dg_span_cstr(text), true, &via),
                     DG_OK);
    const size_t mark = 3;                           /* bytes of a mark */
    ck_assert_uint_eq(via.len, mark + 5 + mark + 1); /* no space was between {0} and a */
    ck_assert_uint_eq(dg_placeholders_told(&placeholders, n_b, 0, via.len), mark);
    ck_assert_uint_eq(dg_placeholders_told(&placeholders, n_b + 4, 0, via.len), mark + 4);
    ck_assert_uint_eq(dg_placeholders_told(&placeholders, n_b + 5 + n_a, 0, via.len),
                      mark + 5 + mark);
    ck_assert_int_eq(dg_placeholders_dress(&placeholders, dg_buf_span(&via), &words, &again),
                     DG_OK);
    const size_t n_first = strlen(words.items[placeholders.items[1].word].text),
                 n_second = strlen(words.items[placeholders.items[0].word].text);
    ck_assert_uint_eq(dg_placeholders_dressed(&placeholders, mark), n_first);
    ck_assert_uint_eq(dg_placeholders_dressed(&placeholders, mark + 5), n_first + 5);
    /* A space keeps the text next to the span from being read as part of its word. */
    ck_assert_uint_eq(dg_placeholders_dressed(&placeholders, mark + 5 + mark),
                      n_first + 5 + n_second + 1);
    ck_assert_uint_eq(dg_placeholders_dressed(&placeholders, via.len), again.len);
    dg_buf_deinit(&dressed);
    dg_buf_deinit(&via);
    dg_buf_deinit(&again);
    tear_down();
}
END_TEST

START_TEST(what_is_given_up_goes_through_as_it_is_and_is_seen_when_lost)
{
    struct dg_phrase phrases[DG_PLACEHOLDERS_MAX];
    struct dg_constraint constraints[DG_PLACEHOLDERS_MAX];
    struct dg_placeholders_out out = {.n_read = 0};
    struct dg_buf dressed, back;
    set_up();
    ck_assert_int_eq(
        dg_placeholders_find(&placeholders, DG_SPAN("\U0001F600 le {0} et {1}"), NULL, 0, &list),
        DG_OK);
    dg_buf_init(&dressed, 1000);
    dg_buf_init(&back, 1000);
    ck_assert_int_eq(
        dg_placeholders_dress(&placeholders, dg_buf_span(&placeholders.marked), &words, &dressed),
        DG_OK);
    dg_placeholders_give_up(&placeholders);
    ck_assert_uint_eq(dg_placeholders_constrain(&placeholders, NULL, 0, phrases, constraints), 0);
    ck_assert_uint_eq(placeholders.before.len, 0);
    ck_assert_uint_eq(dg_placeholders_origin(&placeholders, 7, false), 7);
    ck_assert_int_eq(dg_placeholders_undress(&placeholders, &out, DG_SPAN("Tom, {1}"), true, &back),
                     DG_OK);
    ck_assert(dg_span_eq(dg_buf_span(&back), DG_SPAN("Tom, {1}")));
    dg_placeholders_check(&placeholders, dg_buf_span(&back));
    ck_assert(!placeholders.items[0].is_said);
    ck_assert(placeholders.items[1].is_said);
    dg_buf_deinit(&dressed);
    dg_buf_deinit(&back);
    tear_down();
}
END_TEST

START_TEST(words_that_the_sentence_has_are_not_taken)
{
    struct dg_buf dressed;
    char text[100];
    set_up();
    snprintf(text, sizeof text, "%s a vu {0} et %sy.", words.items[0].text, words.items[1].text);
    dg_buf_init(&dressed, 1000);
    ck_assert_int_eq(dg_placeholders_find(&placeholders, dg_span_cstr(text), NULL, 0, &list),
                     DG_OK);
    ck_assert_int_eq(
        dg_placeholders_dress(&placeholders, dg_buf_span(&placeholders.marked), &words, &dressed),
        DG_OK);
    ck_assert_int_eq(placeholders.items[0].word, 2);
    dg_buf_deinit(&dressed);
    tear_down();
}
END_TEST

START_TEST(what_the_request_names_is_carried_too)
{
    static const struct dg_span named[] = {{"chat", 4}, {"chat noir", 9}};
    struct dg_phrase_set extra;
    set_up();
    ck_assert_int_eq(dg_phrase_set_init(&extra, named, 2), DG_OK);
    enum dg_err err = dg_placeholders_find(
        &placeholders, DG_SPAN("Le chat noir et le chat de a@b.org."), &extra, 1, &list);
    dg_phrase_set_deinit(&extra);
    ck_assert_int_eq(err, DG_OK);
    ck_assert_uint_eq(placeholders.n, 3);
    ck_assert(dg_span_eq(dg_placeholders_bytes(&placeholders, 0), DG_SPAN("chat noir")));
    ck_assert(dg_span_eq(dg_placeholders_bytes(&placeholders, 1), DG_SPAN("chat")));
    ck_assert(dg_span_eq(dg_placeholders_bytes(&placeholders, 2), DG_SPAN("a@b.org")));
    tear_down();
}
END_TEST

START_TEST(what_is_carried_keeps_its_blanks_at_the_ends)
{
    static const struct dg_span named[] = {{" un", 3}, {"chat ", 5}};
    struct dg_phrase_set extra;
    set_up();
    ck_assert_int_eq(dg_phrase_set_init(&extra, named, 2), DG_OK);
    enum dg_err err =
        dg_placeholders_find(&placeholders, DG_SPAN("  un beau chat  "), &extra, 1, &list);
    dg_phrase_set_deinit(&extra);
    ck_assert_int_eq(err, DG_OK);
    ck_assert_uint_eq(placeholders.n, 2);
    ck_assert(dg_span_eq(dg_placeholders_bytes(&placeholders, 0), DG_SPAN(" un")));
    ck_assert(dg_span_eq(dg_placeholders_bytes(&placeholders, 1), DG_SPAN("chat ")));
    ck_assert(dg_span_eq(placeholders.before, DG_SPAN(" ")) &&
              dg_span_eq(placeholders.after, DG_SPAN(" ")));
    tear_down();
}
END_TEST

START_TEST(text_without_spans_is_left_alone)
{
    set_up();
    ck_assert_int_eq(dg_placeholders_find(&placeholders, DG_SPAN("Il pleut."), NULL, 0, &list),
                     DG_OK);
    ck_assert_ptr_null(placeholders.text);
    ck_assert_uint_eq(placeholders.n, 0);
    tear_down();
}
END_TEST

START_TEST(many_spans_are_carried_up_to_a_bound_and_the_rest_is_told)
{
    struct dg_buf text, dressed;
    set_up();
    dg_buf_init(&text, 10000);
    dg_buf_init(&dressed, 10000);
    for (int i = 0; i < 2 * DG_PLACEHOLDERS_MAX; i++)
        ck_assert_int_eq(dg_buf_printf(&text, "mot {%d} ", i), DG_OK);
    ck_assert_int_eq(dg_placeholders_find(&placeholders, dg_buf_span(&text), NULL, 0, &list),
                     DG_OK);
    ck_assert_uint_eq(placeholders.n, DG_PLACEHOLDERS_MAX);
    ck_assert_uint_eq(placeholders.n_left, DG_PLACEHOLDERS_MAX);
    ck_assert_int_eq(
        dg_placeholders_dress(&placeholders, dg_buf_span(&placeholders.marked), &words, &dressed),
        DG_OK);
    dg_buf_deinit(&text);
    dg_buf_deinit(&dressed);
    tear_down();
}
END_TEST

DG_UNIT_SLOW(spans_travel_as_words_and_come_back, offsets_are_followed_from_one_model_to_the_next,
             what_is_given_up_goes_through_as_it_is_and_is_seen_when_lost,
             words_that_the_sentence_has_are_not_taken, what_the_request_names_is_carried_too,
             text_without_spans_is_left_alone, what_is_carried_keeps_its_blanks_at_the_ends,
             many_spans_are_carried_up_to_a_bound_and_the_rest_is_told)
