/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "text/sentence/abbrev.h"
#include "unit.h"

static const char *const languages[] = {"de", "en", "es", "fr", "it", "ja",
                                        "ko", "pt", "ru", "zh", "cs", ""};

static void check_list(const char *const *list)
{
    for (size_t i = 0; list && list[i]; i++) {
        if (i > 0)
            ck_assert_msg(strcmp(list[i - 1], list[i]) < 0, "%s stands before %s", list[i - 1],
                          list[i]);
        ck_assert(dg_abbrev_has(list, dg_span_cstr(list[i])));
        for (const char *c = list[i]; *c; c++)
            ck_assert_msg(*c < 'A' || *c > 'Z', "%s is not lower case", list[i]);
    }
}

START_TEST(has_sorted_lists_of_small_words_in_which_each_is_found)
{
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++) {
        const struct dg_abbrev *abbrev = dg_abbrev_for(languages[i]);
        check_list(abbrev->never);
        check_list(abbrev->number);
        check_list(abbrev->perhaps);
        check_list(abbrev->unit);
        check_list(abbrev->starters);
        check_list(abbrev->ordinal);
    }
}
END_TEST

START_TEST(does_not_find_parts_and_longer_words)
{
    const struct dg_abbrev *en = dg_abbrev_for("en");
    ck_assert(dg_abbrev_has(en->never, DG_SPAN("dr")));
    ck_assert(!dg_abbrev_has(en->never, DG_SPAN("d")));
    ck_assert(!dg_abbrev_has(en->never, DG_SPAN("drx")));
    ck_assert(!dg_abbrev_has(en->never, DG_SPAN("")));
    ck_assert(!dg_abbrev_has(NULL, DG_SPAN("dr")));
}
END_TEST

START_TEST(has_a_table_for_each_of_ten_languages_and_a_general_one)
{
    for (size_t i = 0; i < 10; i++)
        ck_assert_str_eq(dg_abbrev_for(languages[i])->language, languages[i]);
    ck_assert_str_eq(dg_abbrev_for("xx")->language, "");
    ck_assert(dg_abbrev_for("cs")->ordinals && dg_abbrev_for("de")->ordinals);
    ck_assert(!dg_abbrev_for("fr")->ordinals);
}
END_TEST

START_TEST(tells_ordinals_from_numbers_of_items)
{
    const struct dg_abbrev *de = dg_abbrev_for("de"), *en = dg_abbrev_for("en");
    ck_assert(dg_abbrev_is_ordinal(de, DG_SPAN("Oktober 2020")));
    ck_assert(dg_abbrev_is_ordinal(dg_abbrev_for("cs"), DG_SPAN("ledna")));
    ck_assert(!dg_abbrev_is_ordinal(de, DG_SPAN("Einleitung")));
    ck_assert(!dg_abbrev_is_ordinal(en, DG_SPAN("october")));
    ck_assert(!dg_abbrev_is_ordinal(de, DG_SPAN("")));
}
END_TEST

DG_UNIT(has_sorted_lists_of_small_words_in_which_each_is_found,
        does_not_find_parts_and_longer_words,
        has_a_table_for_each_of_ten_languages_and_a_general_one,
        tells_ordinals_from_numbers_of_items)
