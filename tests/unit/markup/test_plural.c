/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "markup/plural.h"
#include "unit.h"

START_TEST(expressions_are_those_of_c)
{
    static const struct {
        const char *rule;
        unsigned long n;
        int form;
    } cases[] = {
        {"nplurals=2; plural=(n != 1);", 1, 0},
        {"nplurals=2; plural=(n != 1);", 0, 1},
        {" nplurals = 2 ; plural = n>1", 1, 0},
        {"nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || "
         "n%100>=20) ? 1 : 2);",
         21, 0},
        {"nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || "
         "n%100>=20) ? 1 : 2);",
         12, 2},
        {"nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || "
         "n%100>=20) ? 1 : 2);",
         104, 1},
        {"nplurals=8; plural=(2+2*2-1)%8;", 5, 5},
        {"nplurals=2; plural=!n;", 0, 1},
        {"nplurals=2; plural=n==0||n==1;", 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dg_plural plural;
        ck_assert_msg(dg_plural_parse(dg_span_cstr(cases[i].rule), &plural), "%s", cases[i].rule);
        ck_assert_msg(dg_plural_form(&plural, cases[i].n) == cases[i].form, "%s of %lu",
                      cases[i].rule, cases[i].n);
    }
}
END_TEST

START_TEST(what_is_no_rule_is_refused)
{
    static const char *const cases[] = {
        "",
        "nplurals=INTEGER; plural=EXPRESSION;",
        "nplurals=2; plural=n;",
        "nplurals=0; plural=0;",
        "nplurals=9; plural=0;",
        "nplurals=2; plural=(n",
        "nplurals=2; plural=n n;",
        "nplurals=2; plural=1/n;",
        "nplurals=2; plural=1%0;",
        "nplurals=2; plural=n?1;",
        "nplurals=2; plural=;",
        "nplurals=2; plural=-1;",
        "plural=0;",
        "nplurals=2",
        ("nplurals=2; "
         "plural=((((((((((((((((((((((((((((((((((((((((0))))))))))))))))))))))))))))))))))))))))"
         ";"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dg_plural plural;
        ck_assert_msg(!dg_plural_parse(dg_span_cstr(cases[i]), &plural), "%s", cases[i]);
    }
}
END_TEST

START_TEST(usual_rules_are_rules)
{
    static const char *const languages[] = {"en", "fr", "ko", "pl", "ru", "cs",   "ar",
                                            "ga", "sl", "ro", "lv", "lt", "pt-BR"};
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++) {
        struct dg_plural plural;
        const char *rule = dg_plural_of(dg_span_cstr(languages[i]));
        ck_assert_ptr_nonnull(rule);
        ck_assert_msg(dg_plural_parse(dg_span_cstr(rule), &plural), "%s", rule);
    }
    struct dg_plural english, russian;
    ck_assert(dg_plural_parse(dg_span_cstr(dg_plural_of(DG_SPAN("en"))), &english));
    ck_assert(dg_plural_parse(dg_span_cstr(dg_plural_of(DG_SPAN("ru"))), &russian));
    ck_assert(dg_plural_is_one_alone(&english, 0));
    ck_assert(!dg_plural_is_one_alone(&english, 1));
    ck_assert(!dg_plural_is_one_alone(&russian, 0));
    ck_assert_ptr_null(dg_plural_of(DG_SPAN("x")));
    ck_assert_ptr_null(dg_plural_of(DG_SPAN("qqq")));
    ck_assert_ptr_null(dg_plural_of(DG_SPAN("")));
}
END_TEST

DG_UNIT(expressions_are_those_of_c, what_is_no_rule_is_refused, usual_rules_are_rules)
