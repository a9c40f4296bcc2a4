/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "decode/term_placement.h"
#include "unit.h"

#include <string.h>

enum { V = 16, N_SRC = 4, CAP = 20 };

static const int32_t dog_ids[] = {5}, hound_ids[] = {6, 7};
static const struct dg_phrase dog[] = {{dog_ids, 1}, {hound_ids, 2}}, other[] = {{hound_ids, 2}};
static const struct dg_constraint both[] = {
    {.forms = dog, .n_forms = 2, .is_placed = true, .src_from = 1, .src_to = 2},
    {.forms = other, .n_forms = 1, .is_placed = true, .src_from = 2, .src_to = 3},
};
static const struct dg_columns columns = {NULL, V};
static struct dg_term_placement place;
static struct dg_term_placement_note notes[CAP * 2 * 2];
static int32_t rest[CAP];
static struct dg_search_opts opts;
static const int16_t rows[CAP];

static void start(size_t n)
{
    opts = (struct dg_search_opts)DG_SEARCH_OPTS_DEFAULT;
    opts.constraints = both;
    opts.n_constraints = n;
    dg_term_placement_start(&place, &opts, 2);
    place.notes = notes;
    place.rest = rest;
    ck_assert_uint_le(dg_term_placement_size(&place, CAP, 2), sizeof notes + sizeof rest);
    for (size_t t = 0; t < CAP; t++)
        dg_term_placement_forget(&place, t, 0);
}

/* Step `t`: the network attends to `source`, and gives `likely` a high probability. */
static void step(size_t t, size_t source, int32_t likely)
{
    float attention[N_SRC] = {0.05f, 0.05f, 0.05f, 0.05f}, logits[V] = {0};
    attention[source] += 0.8f;
    logits[likely] = 5;
    dg_term_placement_note(&place, &opts, t, 0, attention, N_SRC, &columns, logits, 6);
}

START_TEST(a_phrase_goes_where_its_source_is_looked_at)
{
    const int32_t ids[] = {1, 2, 3, 4, 0};
    const struct dg_phrase *phrase;
    size_t at;
    start(1);
    step(0, 0, 1);
    step(1, 1, 6);
    step(2, 2, 3);
    ck_assert(dg_term_placement_is_open(&place));
    ck_assert(dg_term_placement_find(&place, &opts, ids, rows, 5, 0, CAP, &at, &phrase));
    ck_assert_uint_eq(at, 1);
    ck_assert_ptr_eq(phrase, &dog[1]); /* the likelier of its forms */
    ck_assert(!dg_term_placement_is_open(&place));
}
END_TEST

START_TEST(what_was_said_there_already_is_left_alone)
{
    const int32_t ids[] = {1, 5, 3, 5, 0};
    const struct dg_phrase *phrase;
    size_t at;
    start(1);
    step(1, 1, 5);
    step(3, 3, 5);
    ck_assert(!dg_term_placement_find(&place, &opts, ids, rows, 5, 0, CAP, &at, &phrase));
    ck_assert(!dg_term_placement_is_open(&place));
    start(1); /* the phrase occurs, but as the translation of another word */
    step(1, 0, 5);
    step(2, 1, 5);
    step(3, 3, 5);
    ck_assert(dg_term_placement_find(&place, &opts, ids, rows, 5, 0, CAP, &at, &phrase));
    ck_assert_uint_eq(at, 2);
}
END_TEST

START_TEST(a_word_that_goes_on_is_another_word)
{
    uint8_t joining[V] = {[8] = 1};
    const int32_t ids[] = {1, 5, 8, 3, 0};
    const struct dg_phrase *phrase;
    size_t at;
    start(1);
    opts.joining = joining;
    step(1, 1, 5);
    step(2, 1, 6);
    ck_assert(dg_term_placement_find(&place, &opts, ids, rows, 5, 0, CAP, &at, &phrase));
    ck_assert_uint_eq(at, 1); /* not inside the word */
}
END_TEST

START_TEST(the_earlier_place_comes_first_and_what_is_said_before_it_stays)
{
    const int32_t ids[] = {5, 2, 3, 4, 0};
    const struct dg_phrase *phrase;
    size_t at;
    start(2);
    step(0, 1, 5);
    step(2, 2, 6);
    ck_assert(dg_term_placement_find(&place, &opts, ids, rows, 5, 0, CAP, &at, &phrase));
    ck_assert_uint_eq(at, 2);
    ck_assert_ptr_eq(phrase, &other[0]);
    ck_assert(dg_term_placement_is_open(&place));
    ck_assert(
        /* the first occurrence is in the forced beginning */
        !dg_term_placement_find(&place, &opts, ids, rows, 5, 4, CAP, &at, &phrase));
    start(2);
    step(3, 1, 5);
    step(1, 2, 6);
    ck_assert(dg_term_placement_find(&place, &opts, ids, rows, 5, 1, CAP, &at, &phrase));
    ck_assert_uint_eq(at, 1);
    ck_assert(dg_term_placement_is_open(&place));
    ck_assert(dg_term_placement_find(&place, &opts, ids, rows, 5, 3, CAP, &at, &phrase));
    ck_assert_uint_eq(at, 3);
}
END_TEST

START_TEST(the_answer_goes_on_as_it_did_behind_what_is_replaced)
{
    uint8_t joining[V] = {[8] = 1};
    const int32_t ids[] = {1, 2, 8, 9, 3, 4}, eos = 15;
    const int32_t same[] = {1, 5, 3, 4}, parted[] = {1, 5, 3, 11}, back[] = {1, 5, 11, 3},
                  else_where[] = {1, 5, 11};
    const struct dg_phrase *phrase;
    size_t at;
    start(1);
    opts.joining = joining;
    ck_assert_int_eq(dg_term_placement_next(&place, same, 2, eos), -1); /* nothing was placed yet */
    step(1, 1, 5);
    step(3, 1, 9); /* a second word with the same meaning, which is replaced, too */
    ck_assert(dg_term_placement_find(&place, &opts, ids, rows, 6, 0, CAP, &at, &phrase));
    ck_assert_uint_eq(at, 1);
    ck_assert_int_eq(dg_term_placement_next(&place, same, 2, eos), 3);
    ck_assert_int_eq(dg_term_placement_next(&place, same, 3, eos), 4);
    ck_assert_int_eq(dg_term_placement_next(&place, same, 4, eos), eos);
    ck_assert_int_eq(dg_term_placement_next(&place, parted, 4, eos), -1);
    ck_assert_int_eq(dg_term_placement_next(&place, else_where, 3, eos), -1);
    ck_assert_int_eq(dg_term_placement_next(&place, back, 4, eos), 4);
}
END_TEST

START_TEST(a_capital_stands_first_and_nowhere_else)
{
    static const struct dg_phrase ways[] = {{dog_ids, 1, DG_PHRASE_FIRST},
                                            {hound_ids, 2, DG_PHRASE_INSIDE}};
    const struct dg_constraint one = {
        .forms = ways, .n_forms = 2, .is_placed = true, .src_from = 1, .src_to = 2};
    const int32_t ids[] = {1, 2, 3}, said[] = {5, 2, 3}, inside[] = {1, 5, 3};
    const struct dg_phrase *phrase;
    size_t at;
    for (size_t t = 0; t < 2; t++) { /* the other phrase is likelier at either place */
        start(1);
        opts.constraints = &one;
        step(t, 1, t ? 5 : 6);
        ck_assert(dg_term_placement_find(&place, &opts, ids, rows, 3, 0, CAP, &at, &phrase));
        ck_assert_uint_eq(at, t);
        ck_assert_ptr_eq(phrase, &ways[t]);
    }
    start(1);
    opts.constraints = &one;
    step(0, 1, 5);
    ck_assert(!dg_term_placement_find(&place, &opts, said, rows, 3, 0, CAP, &at, &phrase));
    start(1);
    opts.constraints = &one;
    step(1, 1, 5);
    ck_assert(dg_term_placement_find(&place, &opts, inside, rows, 3, 0, CAP, &at, &phrase));
}
END_TEST

START_TEST(there_is_an_end_without_a_place)
{
    const int32_t ids[] = {1, 2, 0};
    const struct dg_phrase *phrase;
    size_t at;
    start(2);
    step(1, 1, 5);
    /* no room */
    ck_assert(!dg_term_placement_find(&place, &opts, ids, rows, 3, 0, 2, &at, &phrase));
    ck_assert(!dg_term_placement_is_open(&place));
}
END_TEST

DG_UNIT(a_phrase_goes_where_its_source_is_looked_at, what_was_said_there_already_is_left_alone,
        a_word_that_goes_on_is_another_word,
        the_earlier_place_comes_first_and_what_is_said_before_it_stays,
        the_answer_goes_on_as_it_did_behind_what_is_replaced,
        a_capital_stands_first_and_nowhere_else, there_is_an_end_without_a_place)
