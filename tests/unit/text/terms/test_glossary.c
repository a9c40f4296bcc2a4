/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "text/terms/glossary.h"
#include "unit.h"

#include <string.h>

static struct dg_glossary *glossary;
static struct dg_glossary_scan scan;
static struct dg_error error;

/* Opens a glossary of one dictionary, read as TSV. */
static void open_tsv(const char *text)
{
    glossary = dg_glossary_new(NULL);
    ck_assert_ptr_nonnull(glossary);
    ck_assert_int_eq(dg_glossary_begin(glossary, "fr", "en", &error), DG_OK);
    ck_assert_msg(dg_glossary_read(glossary, DG_GLOSSARY_TSV, DG_GLOSSARY_FORMS + 1,
                                   dg_span_cstr(text), &error) == DG_OK,
                  "%s", error.text);
    ck_assert_int_eq(dg_glossary_seal(glossary, &error), DG_OK);
    dg_glossary_scan_init(&scan);
}

static void close_it(void)
{
    dg_glossary_scan_deinit(&scan);
    dg_glossary_unref(glossary);
}

/* Checks the matches, written as "at:target at:target". */
static void check(const char *text, const struct dg_glossary_gap *gaps, size_t n_gaps,
                  const char *expected)
{
    size_t n, len = 0;
    char found[500] = "";
    const struct dg_dictionary *dictionary = dg_glossary_dictionaries(glossary, &n);
    ck_assert_int_eq(
        dg_glossary_find(&dictionary, 1, dg_span_cstr(text), gaps, n_gaps, false, &scan), DG_OK);
    for (size_t i = 0; i < scan.n_matches; i++)
        len += (size_t)snprintf(found + len, sizeof found - len, "%s%zu:%.*s", i ? " " : "",
                                scan.matches[i].at, DG_SPAN_FMT(scan.matches[i].term->targets[0]));
    ck_assert_msg(strcmp(found, expected) == 0, "%s: found \"%s\", expected \"%s\"", text, found,
                  expected);
}

START_TEST(terms_stand_at_word_borders_and_the_longest_wins)
{
    open_tsv("chat\tcat\nchat noir\tblack cat\nchat noir et blanc\tmagpie cat\nl'eau\twater\npomme "
             " de terre\tpotato\n");
    check("Le chat dort.", NULL, 0, "3:cat");
    check("chats, achat, chat-", NULL, 0, "14:cat");
    check("un chat noir et un chat noir et blanc", NULL, 0, "3:black cat 19:magpie cat");
    check("chat noirs", NULL, 0, "0:cat");
    check("de l\u2019eau", NULL, 0, "3:water");
    check("une pomme de\n terre", NULL, 0, "4:potato");
    check("", NULL, 0, "");
    const struct dg_glossary_gap gap = {3, 4};
    check("le chat et le chat", &gap, 1, "14:cat");
    close_it();
}
END_TEST

START_TEST(case_is_minded)
{
    open_tsv("chat\tcat\nApple\tApple Inc.\nSSH\tSSH\npomme d'api\tapi apple\n");
    check("Chat. CHAT. cHat. chat", NULL, 0, "0:cat 6:cat 18:cat");
    check("apple Apple APPLE", NULL, 0, "6:Apple Inc. 12:Apple Inc.");
    check("ssh SSH Ssh", NULL, 0, "4:SSH");
    check("Pomme d'api, Pomme D'Api, POMME D'API, pomme D'API", NULL, 0,
          "0:api apple 13:api apple 26:api apple");
    size_t n;
    const struct dg_dictionary *dictionary = dg_glossary_dictionaries(glossary, &n);
    ck_assert_int_eq(
        dg_glossary_find(&dictionary, 1, DG_SPAN("Le CHAT, Chat"), NULL, 0, false, &scan), DG_OK);
    ck_assert_int_eq(scan.matches[0].shape, DG_GLOSSARY_UPPER);
    ck_assert_int_eq(scan.matches[1].shape, DG_GLOSSARY_CAPITAL);
    ck_assert_int_eq(dg_glossary_find(&dictionary, 1, DG_SPAN("ssh"), NULL, 0, true, &scan), DG_OK);
    ck_assert_uint_eq(scan.n_matches, 1);
    close_it();
}
END_TEST

START_TEST(an_exact_term_is_found_as_it_is_only)
{
    const struct dg_span target = DG_SPAN("bar");
    glossary = dg_glossary_new(NULL);
    dg_glossary_scan_init(&scan);
    ck_assert_ptr_nonnull(glossary);
    ck_assert_int_eq(dg_glossary_begin(glossary, "", "", &error), DG_OK);
    ck_assert_int_eq(dg_glossary_add(glossary, DG_SPAN("foo"), &target, 1, true, &error), DG_OK);
    ck_assert_int_eq(dg_glossary_seal(glossary, &error), DG_OK);
    check("Foo FOO foo", NULL, 0, "8:bar");
    close_it();
}
END_TEST

START_TEST(scripts_without_spaces_have_no_borders)
{
    open_tsv("\u732b\tcat\n\uace0\uc591\uc774\tcat\n\u00e9t\u00e9\tsummer\n");
    check("\u9ed2\u3044\u732b\u304c", NULL, 0, "6:cat");
    check("\uace0\uc591\uc774\uac00 \ub4e4\uace0\uc591\uc774", NULL, 0, "0:cat"); /* a particle may
                                                                                     follow */
    check("\u00c9T\u00c9 et \u00e9t\u00e9s", NULL, 0, "0:summer");
    close_it();
}
END_TEST

START_TEST(many_terms_are_found_as_few)
{
    struct dg_buf text;
    dg_buf_init(&text, 1 << 20);
    for (int i = 0; i < 5000; i++)
        ck_assert_int_eq(dg_buf_printf(&text, "a b%d\tt%d\n", i, i), DG_OK);
    ck_assert_int_eq(dg_buf_append_cstr(&text, "a\tz\n"), DG_OK);
    open_tsv(text.ptr);
    check("a b4999 a b17 a b a b50000", NULL, 0, "0:t4999 8:t17 14:z 18:z");
    ck_assert_uint_eq(dg_glossary_n_terms(glossary), 5001);
    dg_buf_deinit(&text);
    close_it();
}
END_TEST

static void refuse(enum dg_glossary_format format, const char *text, const char *sentence)
{
    glossary = dg_glossary_new(NULL);
    ck_assert_ptr_nonnull(glossary);
    ck_assert_int_eq(dg_glossary_begin(glossary, "fr", "en", &error), DG_OK);
    error = (struct dg_error)DG_ERROR_NONE;
    enum dg_err err = dg_glossary_read(glossary, format, 2, dg_span_cstr(text), &error);
    if (!err)
        err = dg_glossary_seal(glossary, &error);
    ck_assert_int_ne(err, DG_OK);
    ck_assert_msg(strstr(error.text, sentence), "%s", error.text);
    dg_glossary_unref(glossary);
}

START_TEST(tables_are_read_and_refused_with_the_place)
{
    refuse(DG_GLOSSARY_TSV, "a\tb\na\tc\n",
           "Key with the index 1 (starting at position 4) duplicates key with the index 0 "
           "(starting at position 0)");
    refuse(DG_GLOSSARY_TSV, "\u00e9\tb\nc\n",
           "Key with the index 1 (starting at position 4) misses tab separator");
    refuse(DG_GLOSSARY_TSV, "a\tb\tc\n", "has 3 columns, expected 2");
    refuse(DG_GLOSSARY_TSV, "a\t \n", "a target term is empty");
    refuse(DG_GLOSSARY_TSV, "a\tb\001\n", "control character");
    refuse(DG_GLOSSARY_TSV, "a\t\xff\n", "UTF-8");
    refuse(DG_GLOSSARY_CSV, "a\n", "misses comma separator");
    refuse(DG_GLOSSARY_CSV, "\"a,b\n", "quote");
    refuse(DG_GLOSSARY_CSV, "\"a\"x,b\n", "quote");
    refuse(DG_GLOSSARY_TSV, "a\t1\t2\t3\t4\t5\t6\t7\t8\t9\t10\t11\n", "columns");
}
END_TEST

START_TEST(csv_has_quotes_and_may_name_languages)
{
    struct dg_buf out;
    size_t n;
    glossary = dg_glossary_new(NULL);
    ck_assert_ptr_nonnull(glossary);
    ck_assert_int_eq(dg_glossary_begin(glossary, "fr", "en", &error), DG_OK);
    ck_assert_int_eq(dg_glossary_read(glossary, DG_GLOSSARY_CSV, 2,
                                      DG_SPAN("\"a, \"\"b\"\"\",c,fr,en\r\n\r\nd,\"e\"\r\nf,g"),
                                      &error),
                     DG_OK);
    const struct dg_dictionary *dictionary = dg_glossary_dictionaries(glossary, &n);
    ck_assert_uint_eq(dictionary->n, 3);
    dg_buf_init(&out, 1000);
    ck_assert_int_eq(dg_glossary_write(dictionary, DG_GLOSSARY_CSV, 2, &out), DG_OK);
    ck_assert_str_eq(out.ptr, "\"a, \"\"b\"\"\",c\nd,e\nf,g\n");
    dg_buf_clear(&out);
    ck_assert_int_eq(dg_glossary_write(dictionary, DG_GLOSSARY_TSV, 2, &out), DG_OK);
    ck_assert_str_eq(out.ptr, "a, \"b\"\tc\nd\te\nf\tg\n");
    dg_buf_deinit(&out);
    dg_glossary_unref(glossary);
}
END_TEST

static bool fits(const char *source, const char *target)
{
    struct dg_langtag from, to;
    ck_assert_int_eq(dg_langtag_parse(dg_span_cstr(source), &from, NULL), DG_OK);
    ck_assert_int_eq(dg_langtag_parse(dg_span_cstr(target), &to, NULL), DG_OK);
    return dg_glossary_for(glossary, &from, &to) != NULL;
}

START_TEST(a_dictionary_is_for_a_pair_of_languages)
{
    open_tsv("a\tb\n");
    ck_assert(fits("fr", "en"));
    ck_assert(fits("fr-CA", "en-GB"));
    ck_assert(!fits("en", "fr"));
    ck_assert(!fits("fr", "de"));
    ck_assert_int_eq(dg_glossary_begin(glossary, "fr", "en", &error), DG_ERR_EXISTS);
    ck_assert_int_eq(dg_glossary_begin(glossary, "x y", "en", &error), DG_ERR_INVALID);
    close_it();
}
END_TEST

START_TEST(a_phrase_is_looked_for_and_shaped)
{
    size_t at;
    struct dg_buf out;
    struct dg_glossary_phrase phrase;
    dg_glossary_scan_init(&scan);
    ck_assert_int_eq(dg_glossary_scan_text(&scan, DG_SPAN("The Cats  and the cat.")), DG_OK);
    ck_assert_int_eq(dg_glossary_phrase_init(&phrase, DG_SPAN("CAT")), DG_OK);
    ck_assert(dg_glossary_stands(&scan, &phrase, 0, &at));
    ck_assert_uint_eq(at, 17); /* two blanks count as one */
    ck_assert_uint_eq(scan.at[at], 18);
    ck_assert(!dg_glossary_stands(&scan, &phrase, at + 1, &at));
    dg_glossary_phrase_deinit(&phrase);
    ck_assert_int_eq(dg_glossary_phrase_init(&phrase, dg_span_make("", 0)), DG_OK);
    ck_assert(!dg_glossary_stands(&scan, &phrase, 0, &at));
    dg_glossary_phrase_deinit(&phrase);
    dg_buf_init(&out, 100);
    ck_assert_int_eq(
        dg_glossary_shape(DG_SPAN("\u00e9t\u00e9 indien"), DG_GLOSSARY_CAPITAL, "fr", &out), DG_OK);
    ck_assert_str_eq(out.ptr, "\u00c9t\u00e9 indien");
    dg_buf_clear(&out);
    ck_assert_int_eq(dg_glossary_shape(DG_SPAN("\u00e9t\u00e9"), DG_GLOSSARY_UPPER, "fr", &out),
                     DG_OK);
    ck_assert_str_eq(out.ptr, "\u00c9T\u00c9");
    dg_buf_deinit(&out);
    dg_glossary_scan_deinit(&scan);
}
END_TEST

/* Each of the terms would have to be tried wherever one occurs. */
START_TEST(few_terms_may_differ_in_case_alone)
{
    char source[] = "abcdefgh";
    const struct dg_span target = DG_SPAN("x");
    glossary = dg_glossary_new(NULL);
    ck_assert_ptr_nonnull(glossary);
    ck_assert_int_eq(dg_glossary_begin(glossary, "fr", "en", &error), DG_OK);
    for (unsigned i = 0; i <= DG_GLOSSARY_CASES; i++) {
        for (unsigned bit = 0; bit < 8; bit++)
            source[bit] = (char)(i >> bit & 1 ? 'A' + (int)bit : 'a' + (int)bit);
        ck_assert_int_eq(dg_glossary_add(glossary, dg_span_cstr(source), &target, 1, false, &error),
                         DG_OK);
    }
    ck_assert_int_eq(dg_glossary_seal(glossary, &error), DG_ERR_LIMIT);
    ck_assert_ptr_nonnull(strstr(error.text, "only in their case"));
    dg_glossary_unref(glossary);
}
END_TEST

DG_UNIT(terms_stand_at_word_borders_and_the_longest_wins, case_is_minded,
        an_exact_term_is_found_as_it_is_only, scripts_without_spaces_have_no_borders,
        many_terms_are_found_as_few, few_terms_may_differ_in_case_alone,
        tables_are_read_and_refused_with_the_place, csv_has_quotes_and_may_name_languages,
        a_dictionary_is_for_a_pair_of_languages, a_phrase_is_looked_for_and_shaped)
