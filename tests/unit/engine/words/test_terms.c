/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "engine/words/terms.h"
#include "files.h"
#include "unit.h"

#include <string.h>

static struct dg_tokenizer *tokenizer;
static struct dg_tokenizer_work *work;
static struct dg_glossary *glossary;
static struct dg_glossary_scan scan;
static struct dg_terms terms;

static void set_up_with(const char *model, const char *table)
{
    char path[DG_TEST_PATH];
    struct dg_error error = DG_ERROR_NONE;
    dg_test_source(path, model);
    ck_assert_msg(dg_tokenizer_open(path, &error, &tokenizer) == DG_OK, "%s", error.text);
    dg_glossary_scan_init(&scan);
    work = dg_tokenizer_work_new();
    glossary = dg_glossary_new(NULL);
    ck_assert(work && glossary);
    ck_assert_int_eq(dg_glossary_begin(glossary, "", "", &error), DG_OK);
    ck_assert_int_eq(dg_glossary_read(glossary, DG_GLOSSARY_TSV, DG_GLOSSARY_FORMS + 1,
                                      dg_span_cstr(table), &error),
                     DG_OK);
    ck_assert_int_eq(dg_glossary_seal(glossary, &error), DG_OK);
}

static void set_up(const char *table)
{
    set_up_with("models/fr-en", table);
}

static void tear_down(void)
{
    dg_terms_deinit(&terms);
    dg_glossary_scan_deinit(&scan);
    dg_glossary_unref(glossary);
    dg_tokenizer_work_free(work);
    dg_tokenizer_close(tokenizer);
}

static void find(const char *text, bool is_demanded)
{
    const struct dg_tokenizer_opts opts = DG_TOKENIZER_OPTS_DEFAULT;
    size_t n;
    const struct dg_dictionary *dictionary = dg_glossary_dictionaries(glossary, &n);
    struct dg_terms_how how = {.dictionaries = &dictionary,
                               .n_dictionaries = 1,
                               .text = dg_span_cstr(text),
                               .tokenizer = is_demanded ? tokenizer : NULL,
                               .language = "en",
                               .is_only_model = true,
                               .scan = &scan};
    dg_terms_deinit(&terms);
    ck_assert_int_eq(
        dg_tokenizer_encode(tokenizer, work, how.text, &opts, NULL, &how.tokens, &how.n_tokens),
        DG_OK);
    ck_assert_int_eq(dg_terms_find(&terms, &how), DG_OK);
}

START_TEST(terms_become_constraints_on_their_tokens)
{
    struct dg_constraint constraints[4];
    set_up("chien\tdog\thound\nmaison\thouse\n");
    find("Le chien est dans la maison.", true);
    ck_assert_uint_eq(terms.n, 2);
    ck_assert_uint_eq(dg_terms_constrain(&terms, constraints, 4), 2);
    ck_assert_uint_eq(dg_terms_constrain(&terms, constraints, 1), 1);
    ck_assert_uint_eq(constraints[0].src_from, 1);
    ck_assert_uint_eq(constraints[0].src_to, 2);
    ck_assert(constraints[0].is_placed);
    ck_assert_uint_eq(constraints[0].n_forms, 4); /* dog, Dog, hound, Hound */
    find("Le chien est dans la maison.", false);
    ck_assert_uint_eq(terms.n, 2);
    ck_assert_uint_eq(dg_terms_constrain(&terms, constraints, 4), 0);
    find("Il pleut.", true);
    ck_assert_uint_eq(terms.n, 0);
    tear_down();
}
END_TEST

START_TEST(a_text_that_is_a_term_has_room_for_it_and_its_marks)
{
    struct dg_constraint constraint;
    set_up("chien\tdog\thound\n");
    find("chien !", true);
    ck_assert(terms.is_alone);
    ck_assert_uint_eq(dg_terms_constrain(&terms, &constraint, 1), 1);
    ck_assert(!constraint.is_placed);
    size_t longest = 0;
    for (size_t i = 0; i < constraint.n_forms; i++)
        if (constraint.forms[i].n_ids > longest)
            longest = constraint.forms[i].n_ids;
    const size_t n_term = terms.items[0].to - terms.items[0].from;
    ck_assert_uint_eq(dg_terms_longest(&terms, n_term + 3), longest + 3);
    find("chien", false); /* nothing makes the model write it */
    ck_assert_uint_eq(dg_terms_longest(&terms, 2), 0);
    find("le chien", true);
    ck_assert(!terms.is_alone);
    ck_assert_uint_eq(dg_terms_longest(&terms, 3), 0);
    tear_down();
}
END_TEST

/* Checks the ways to write the first term of a text, and their places. */
static void check_ways(const char *text, const char *expected)
{
    static const char *const where[] = {"", "first ", "inside "};
    struct dg_buf said, all;
    find(text, true);
    ck_assert_uint_ge(terms.n, 1);
    dg_buf_init(&said, 1000);
    dg_buf_init(&all, 1000);
    for (size_t f = 0; f < terms.items[0].demand.n_forms; f++) {
        const struct dg_phrase *phrase = &terms.items[0].demand.forms[f];
        dg_buf_clear(&said);
        ck_assert_int_eq(dg_tokenizer_decode(tokenizer, phrase->ids, phrase->n_ids, &said), DG_OK);
        ck_assert_int_eq(dg_buf_printf(&all, "%s%s%.*s", f ? ", " : "", where[phrase->where],
                                       DG_SPAN_FMT(dg_buf_span(&said))),
                         DG_OK);
    }
    ck_assert_msg(dg_span_eq(dg_buf_span(&all), dg_span_cstr(expected)), "%s: %.*s", text,
                  DG_SPAN_FMT(dg_buf_span(&all)));
    dg_buf_deinit(&all);
    dg_buf_deinit(&said);
}

START_TEST(case_follows_the_source_only_at_the_beginning_of_a_sentence)
{
    set_up("chien\tdog\nEquipe\tTeam\n");
    check_ways("le chien dort", "dog");
    check_ways("Le chien dort.", "first Dog, inside dog");
    check_ways("Chien de garde.", "first Dog, inside dog");
    check_ways("Voici le Chien.", "first Dog, inside dog");
    check_ways("\xC2\xAB Chien !", "Dog"); /* nothing else is written */
    check_ways("Il dort. Chien de garde.", "Dog, dog");
    check_ways("CHIEN", "DOG");
    check_ways("CHIEN DE GARDE", "DOG, first Dog, inside dog");
    check_ways("Notre Equipe.", "Team");
    tear_down();
}
END_TEST

/* The first model wrote "Le chien est dans la maison." in four tokens as "a dog house .", and the
 * second model reads that as ten characters of one token each, or as two pieces of five. */
START_TEST(terms_are_followed_through_the_first_of_two_models)
{
    static const int32_t ids[] = {0, 1, 2, 3};
    static const size_t ends[] = {1, 3, 5, 10};
    static const uint8_t joining[] = {0, 0, 1, 0};
    struct dg_token tokens[10];
    float alignment[4 * 12] = {0};
    struct dg_constraint constraints[2];
    struct dg_terms_said said = {.ids = ids, .ends = ends, .alignment = alignment, .n = 4};
    struct dg_terms_piece piece = {.len = 10, .is_first = true, .tokens = tokens, .n_tokens = 10};
    for (uint32_t i = 0; i < 10; i++)
        tokens[i] = (struct dg_token){.begin = i, .end = i + 1};
    set_up("chien\tdog\nmaison\thouse\n");
    find("Le chien est dans la maison.", true);
    ck_assert(dg_terms_are_demanded(&terms));
    said.n_source = terms.items[1].to + 2;
    ck_assert_uint_le(4 * said.n_source, sizeof alignment / sizeof *alignment);
    alignment[1 * said.n_source + terms.items[0].from] = 0.5f;
    alignment[3 * said.n_source + terms.items[1].from] = 0.9f;
    alignment[2 * said.n_source + terms.items[1].from] = 0.2f;
    dg_terms_follow(&terms, &said);
    dg_terms_tie(&terms, &piece);
    ck_assert_uint_eq(dg_terms_constrain(&terms, constraints, 2), 2);
    ck_assert_uint_eq(constraints[0].src_from, 1);
    ck_assert_uint_eq(constraints[0].src_to, 3);
    ck_assert_uint_eq(constraints[1].src_from, 5);
    ck_assert_uint_eq(constraints[1].src_to, 10);
    /* whole words, and a neighbour that attends to the source half as much */
    said.joining = joining;
    alignment[2 * said.n_source + terms.items[1].from] = 0.45f;
    dg_terms_follow(&terms, &said);
    dg_terms_tie(&terms, &piece);
    ck_assert_uint_eq(dg_terms_constrain(&terms, constraints, 2), 2);
    ck_assert_uint_eq(constraints[0].src_from, 1);
    ck_assert_uint_eq(constraints[0].src_to, 5);
    ck_assert_uint_eq(constraints[1].src_from, 1);
    ck_assert_uint_eq(constraints[1].src_to, 10);
    piece = (struct dg_terms_piece){.len = 5, .is_first = true, .tokens = tokens, .n_tokens = 5};
    dg_terms_tie(&terms, &piece);
    ck_assert_uint_eq(dg_terms_constrain(&terms, constraints, 2), 1);
    ck_assert_uint_eq(constraints[0].src_to, 5);
    piece = (struct dg_terms_piece){.at = 5, .len = 5, .tokens = tokens, .n_tokens = 5};
    dg_terms_tie(&terms, &piece);
    ck_assert_uint_eq(dg_terms_constrain(&terms, constraints, 2), 1);
    ck_assert_uint_eq(constraints[0].src_from, 0);
    ck_assert_uint_eq(constraints[0].src_to, 5);
    /* Terms without any alignment belong to the first piece. */
    find("Le chien est dans la maison.", true);
    dg_terms_tie(&terms, &piece);
    ck_assert_uint_eq(dg_terms_constrain(&terms, constraints, 2), 0);
    piece.is_first = true;
    dg_terms_tie(&terms, &piece);
    ck_assert_uint_eq(dg_terms_constrain(&terms, constraints, 2), 2);
    ck_assert_uint_eq(constraints[0].src_to, 0);
    find("Il pleut.", true);
    ck_assert(!dg_terms_are_demanded(&terms));
    tear_down();
}
END_TEST

START_TEST(what_the_model_cannot_say_is_not_demanded)
{
    struct dg_constraint constraint;
    set_up_with("tests/models/transformer", "chat\t\u732b\u732b\n"); /* without bytes */
    find("Le chat dort.", true);
    ck_assert_uint_eq(terms.n, 1);
    ck_assert_uint_eq(dg_terms_constrain(&terms, &constraint, 1), 0);
    tear_down();
}
END_TEST

START_TEST(each_place_counts_for_one_term)
{
    set_up("chat\tcat\tfeline\n");
    find("Un chat et un chat.", true);
    ck_assert_int_eq(dg_terms_check(&terms, DG_SPAN("A cat and a dog."), &scan), DG_OK);
    ck_assert(terms.items[0].is_used && !terms.items[1].is_used);
    ck_assert_uint_eq(terms.items[0].said_at, 2);
    find("Un chat et un chat.", true);
    ck_assert_int_eq(dg_terms_check(&terms, DG_SPAN("A Cat and a feline."), &scan), DG_OK);
    ck_assert(terms.items[0].is_used && terms.items[1].is_used);
    ck_assert_uint_eq(terms.items[1].said_at, 12);
    find("Un chat.", true);
    ck_assert_int_eq(dg_terms_check(&terms, DG_SPAN("Some cats."), &scan), DG_OK);
    ck_assert(!terms.items[0].is_used);
    tear_down();
}
END_TEST

START_TEST(articles_are_joined_to_terms_as_french_is_written)
{
    static const char *const pairs[][2] = {
        {"L artisan a reçu le artisan.", "L'artisan a reçu l'artisan."},
        {"Du artisan, que artisan", "De l'artisan, qu'artisan"},
        {"avec l Équipe et d équipe", "avec l'Équipe et d'équipe"},
        {"l chien, d chien, le chien, de chien", "le chien, de chien, le chien, de chien"},
        {"de héros, l héros", "de héros, l'héros"},
        {"5 l d eau de artichaut", "5 l d eau de artichaut"}, /* no terms */
        {"artisan l", "artisan l"},
        {"le artisa", "le artisa"},
        {"", ""},
        {"Au artisan, au chien", "À l'artisan, au chien"},
        {"sa équipe, ma équipe, ta équipe, sa chien",
         "son équipe, mon équipe, ton équipe, sa chien"},
        {"Ce artisan, le nouveau artisan, un beau artisan",
         "Cet artisan, le nouvel artisan, un bel artisan"},
    };
    set_up("artist\tartisan\nteam\téquipe\ndog\tchien\nhero\théros\n");
    find("artist team dog hero", false);
    ck_assert_uint_eq(terms.n, 4);
    ck_assert(dg_terms_may_elide(&terms, "fr") && !dg_terms_may_elide(&terms, "en"));
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct dg_buf text;
        dg_buf_init(&text, 100);
        ck_assert_int_eq(dg_buf_append_cstr(&text, pairs[i][0]), DG_OK);
        ck_assert_int_eq(dg_terms_elide(&terms, &text, 0), DG_OK);
        ck_assert_msg(dg_span_eq(dg_buf_span(&text), dg_span_cstr(pairs[i][1])), "%.*s",
                      DG_SPAN_FMT(dg_buf_span(&text)));
        dg_buf_deinit(&text);
    }
    struct dg_buf texts; /* text before it in the buffer is left alone */
    dg_buf_init(&texts, 100);
    ck_assert_int_eq(dg_buf_append_cstr(&texts, "le artisan le artisan"), DG_OK);
    ck_assert_int_eq(dg_terms_elide(&terms, &texts, strlen("le artisan ")), DG_OK);
    ck_assert(dg_span_eq(dg_buf_span(&texts), DG_SPAN("le artisan l'artisan")));
    dg_buf_deinit(&texts);
    tear_down();
}
END_TEST

DG_UNIT_SLOW(articles_are_joined_to_terms_as_french_is_written,
             terms_become_constraints_on_their_tokens,
             a_text_that_is_a_term_has_room_for_it_and_its_marks,
             terms_are_followed_through_the_first_of_two_models,
             case_follows_the_source_only_at_the_beginning_of_a_sentence,
             what_the_model_cannot_say_is_not_demanded, each_place_counts_for_one_term)
