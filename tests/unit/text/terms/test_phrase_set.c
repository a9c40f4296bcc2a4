/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/rng.h"
#include "text/terms/phrase_set.h"
#include "unit.h"

static const struct dg_span nothing = {NULL, 0};

START_TEST(the_longest_phrase_at_a_place_is_found)
{
    static const struct dg_span phrases[] = {{"chat", 4}, {"chat noir", 9}, {"", 0},   {"c", 1},
                                             {"chat", 4}, {"noir", 4},      {"\0a", 2}};
    struct dg_phrase_set set;
    struct dg_span text = DG_SPAN("un chat noir, chatte, chien");
    ck_assert_int_eq(dg_phrase_set_init(&set, phrases, sizeof phrases / sizeof *phrases), DG_OK);
    ck_assert_uint_eq(set.n, 5);
    ck_assert_uint_eq(dg_phrase_set_longest(&set, text, 3), 9);
    ck_assert_uint_eq(dg_phrase_set_longest(&set, text, 8), 4);
    ck_assert_uint_eq(dg_phrase_set_longest(&set, text, 14), 4);
    ck_assert_uint_eq(dg_phrase_set_longest(&set, text, 22), 1);
    ck_assert_uint_eq(dg_phrase_set_longest(&set, text, 0), 0);
    ck_assert_uint_eq(dg_phrase_set_longest(&set, text, text.len), 0);
    ck_assert_uint_eq(dg_phrase_set_longest(&set, dg_span_make("x\0ab", 4), 1), 2);
    ck_assert(dg_phrase_set_has(&set, DG_SPAN("noir")));
    ck_assert(!dg_phrase_set_has(&set, DG_SPAN("noi")) && !dg_phrase_set_has(&set, nothing));
    dg_phrase_set_deinit(&set);
    ck_assert_uint_eq(dg_phrase_set_longest(&set, text, 3), 0);
}
END_TEST

START_TEST(a_list_has_commas_or_blanks_between_its_words)
{
    struct dg_phrase_set set;
    ck_assert_int_eq(dg_phrase_set_init_list(&set, DG_SPAN(" par,title\t\n, x ,,par")), DG_OK);
    ck_assert_uint_eq(set.n, 3);
    ck_assert(dg_phrase_set_has(&set, DG_SPAN("par")) &&
              dg_phrase_set_has(&set, DG_SPAN("title")) && dg_phrase_set_has(&set, DG_SPAN("x")));
    dg_phrase_set_deinit(&set);
    ck_assert_int_eq(dg_phrase_set_init_list(&set, nothing), DG_OK);
    ck_assert(!dg_phrase_set_has(&set, DG_SPAN("x")));
    dg_phrase_set_deinit(&set);
}
END_TEST

/* Few different letters, so that phrases are beginnings of each other; compared with trying each
 * phrase. */
START_TEST(random_phrases_are_found_as_one_by_one)
{
    enum { PHRASES = 30, TEXT = 60 };
    char bytes[PHRASES][8], text[TEXT];
    struct dg_span phrases[PHRASES];
    struct dg_phrase_set set;
    struct dg_rng rng;
    dg_rng_init(&rng, 1, 0);
    for (int round = 0; round < dg_unit_rounds(500); round++) {
        for (size_t i = 0; i < PHRASES; i++) {
            for (size_t k = 0; k < sizeof bytes[i]; k++)
                bytes[i][k] = (char)('a' + dg_rng_next(&rng) % 2);
            phrases[i] = dg_span_make(bytes[i], dg_rng_next(&rng) % (sizeof bytes[i] + 1));
        }
        for (size_t i = 0; i < TEXT; i++)
            text[i] = (char)('a' + dg_rng_next(&rng) % 2);
        ck_assert_int_eq(dg_phrase_set_init(&set, phrases, dg_rng_next(&rng) % (PHRASES + 1)),
                         DG_OK);
        for (size_t at = 0; at < TEXT; at++) {
            struct dg_span rest = dg_span_make(text + at, TEXT - at);
            size_t longest = 0;
            for (size_t i = 0; i < set.n; i++)
                if (dg_span_starts(rest, set.items[i]) && set.items[i].len > longest)
                    longest = set.items[i].len;
            ck_assert_uint_eq(dg_phrase_set_longest(&set, dg_span_make(text, TEXT), at), longest);
        }
        dg_phrase_set_deinit(&set);
    }
}
END_TEST

DG_UNIT(the_longest_phrase_at_a_place_is_found, a_list_has_commas_or_blanks_between_its_words,
        random_phrases_are_found_as_one_by_one)
