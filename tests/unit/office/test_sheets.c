/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "office/sheets.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

/* Lists which of these sheets may be renamed after this part was examined. */
static void check(char mark, const char *part, const char *expected)
{
    static const char *const names[] = {"Prix",  "Un mois", "\xC3\x89t\xC3\xA9",
                                        "Nov.3", "A&amp;B", "Fin"};
    char may[128] = "";
    struct dg_sheets sheets;
    dg_sheets_init(&sheets, mark);
    for (size_t i = 0; i < 6; i++)
        ck_assert_int_eq(dg_sheets_add(&sheets, dg_span_cstr(names[i])), DG_OK);
    dg_sheets_look(&sheets, dg_span_cstr(part));
    for (size_t i = 0; i < 6; i++)
        if (dg_sheets_may_change(&sheets, dg_span_cstr(names[i])))
            snprintf(may + strlen(may), sizeof may - strlen(may), "%s%s", *may ? "," : "",
                     names[i]);
    ck_assert_str_eq(may, expected);
    ck_assert(!dg_sheets_may_change(&sheets, DG_SPAN("Autre")));
    dg_sheets_deinit(&sheets);
}

#define ALL      "Prix,Un mois,\xC3\x89t\xC3\xA9,Nov.3,A&amp;B,Fin"
#define NOT_PRIX "Un mois,\xC3\x89t\xC3\xA9,Nov.3,A&amp;B,Fin"

START_TEST(names_that_are_referred_to_stay)
{
    check('!', "<f>A1+B2</f><t>Prix</t>", ALL);
    check('!', "<f>Prix!A1</f>", NOT_PRIX);
    check('!', "<f>SUM(prix!$A$1:C3,2)</f>", NOT_PRIX);
    check('!', "<f>A1&amp;Prix!A1</f>", NOT_PRIX);
    check('!', "<f>'Un mois'!A1</f>", "Prix,\xC3\x89t\xC3\xA9,Nov.3,A&amp;B,Fin");
    check('!', "<f>[1]Prix!A1+'C:\\[a.xlsx]Fin'!B1</f>", "Un mois,\xC3\x89t\xC3\xA9,Nov.3,A&amp;B");
    check('!', "<f>Nov.3!A1+\xC3\xA9t\xC3\xA9!A1</f>", "Prix,Un mois,A&amp;B,Fin");
    check('!', "<f>SUM(Prix:Fin!A1)</f>", "Un mois,\xC3\x89t\xC3\xA9,Nov.3,A&amp;B");
    check('!', "<f>SUM('Prix:Un mois'!A1)</f>", "\xC3\x89t\xC3\xA9,Nov.3,A&amp;B,Fin");
    check('!', "<f>&apos;A&amp;B&apos;!A1</f>", "Prix,Un mois,\xC3\x89t\xC3\xA9,Nov.3,Fin");
    check('!', "<f>'&#201;t&#xE9;'!A1</f>", "Prix,Un mois,Nov.3,A&amp;B,Fin");
    check('!', "<f>&#xE9;t&#233;!A1+&#39;Un mois&#39;!B1</f>", "Prix,Nov.3,A&amp;B,Fin");
    check('!', "<hyperlink location=\"Prix!A1\"/>", NOT_PRIX);
    check('!', "<worksheetSource ref=\"A1:B2\" sheet=\"Prix\"/>", NOT_PRIX);
}
END_TEST

START_TEST(names_in_opendocument_stay_likewise)
{
    check('.', "<a table:formula=\"of:=[.A1]+1.5\">Prix.</a>", ALL);
    check('.', "<a table:formula=\"of:=[$Prix.A1]\"/>", NOT_PRIX);
    check('.', "<a b=\"Prix.A1:Prix.B2\"/>", NOT_PRIX);
    check('.', "<a b=\"&apos;Un mois&apos;.A1\"/>", "Prix,\xC3\x89t\xC3\xA9,Nov.3,A&amp;B,Fin");
    check('.', "<a b=\"$'Nov.3'.A1\"/>", "Prix,Un mois,\xC3\x89t\xC3\xA9,A&amp;B,Fin");
    check('.', "<a xlink:href=\"#Prix.A1\"/>", NOT_PRIX);
}
END_TEST

START_TEST(when_in_doubt_all_names_stay)
{
    check('!', "<f>INDIRECT(A1)</f>", "");
    check('!', "<f>'L''an'!A1</f>", "");
    check('!', "'!", "");
    check('!', "<Relationship Target=\"#Un%20mois!A1\"/><a b=\"#\"/>", "");
    check('!', "<Relationship Target=\"http://a/b%20c\"/>", ALL);
    check('!', "!", ALL);
    check('!', ":!:::!", ALL);
    struct dg_sheets sheets;
    dg_sheets_init(&sheets, '!');
    ck_assert_int_eq(dg_sheets_add(&sheets, DG_SPAN("Prix")), DG_OK);
    dg_sheets_keep(&sheets);
    ck_assert(!dg_sheets_may_change(&sheets, DG_SPAN("Prix")));
    dg_sheets_deinit(&sheets);
}
END_TEST

START_TEST(names_are_given_once_and_as_programs_take_them)
{
    struct dg_sheets sheets;
    const struct dg_span a = DG_SPAN("Prix"), b = DG_SPAN("Tarif"),
                         c = DG_SPAN("\xC3\x89t\xC3\xA9");
    dg_sheets_init(&sheets, '!');
    ck_assert_int_eq(dg_sheets_add(&sheets, a), DG_OK);
    ck_assert_int_eq(dg_sheets_add(&sheets, b), DG_OK);
    ck_assert_int_eq(dg_sheets_add(&sheets, c), DG_OK);
    for (int i = 0; i < 2; i++) { /* each time that the document is written */
        ck_assert_int_eq(dg_sheets_rename(&sheets, a, DG_SPAN("Prices")), DG_OK);
        ck_assert_int_eq(dg_sheets_rename(&sheets, b, DG_SPAN("prices")), DG_ERR_EXISTS);
        ck_assert_int_eq(dg_sheets_rename(&sheets, b, b), DG_OK);
    }
    ck_assert_int_eq(dg_sheets_rename(&sheets, b, DG_SPAN("prix")), DG_ERR_EXISTS);
    ck_assert_int_eq(dg_sheets_rename(&sheets, b, DG_SPAN("\xC3\xA9t\xC3\xA9")), DG_ERR_EXISTS);
    for (const char *const *at = (const char *const[]){"", "a/b", "a:b", "[a]", "a?", "a*b", "a\\b",
                                                       "'a", "a'", "a&apos;", "History", "a\tb",
                                                       "abcdefghijklmnopqrstuvwxyz123456", NULL};
         *at; at++)
        ck_assert_int_eq(dg_sheets_rename(&sheets, b, dg_span_cstr(*at)), DG_ERR_INVALID);
    ck_assert_int_eq(dg_sheets_rename(&sheets, b, DG_SPAN("abcdefghijklmnopqrstuvwxyz12345")),
                     DG_OK);
    dg_sheets_deinit(&sheets);
}
END_TEST

DG_UNIT(names_that_are_referred_to_stay, names_in_opendocument_stay_likewise,
        when_in_doubt_all_names_stay, names_are_given_once_and_as_programs_take_them)
