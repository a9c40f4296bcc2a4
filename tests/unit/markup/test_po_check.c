/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "markup/po_check.h"
#include "unit.h"

#include <stdio.h>

enum { TEXT_MAX = 1 << 20 };

/* Expects that an entry with this id and this translation becomes `wanted`. */
static void expect(const char *flags, const char *id, const char *str, const char *wanted_flags,
                   const char *wanted, size_t n_wanted)
{
    char before[512], after[512], expected[512];
    struct dg_buf out;
    size_t n_bad = 99;
    dg_buf_init(&out, TEXT_MAX);
    snprintf(before, sizeof before, "%smsgid \"%s\"\nmsgstr \"\"\n", flags, id);
    snprintf(after, sizeof after, "%smsgid \"%s\"\nmsgstr \"%s\"\n", flags, id, str);
    snprintf(expected, sizeof expected, "%smsgid \"%s\"\nmsgstr \"%s\"\n", wanted_flags, id,
             wanted);
    ck_assert_int_eq(
        dg_po_check(dg_span_cstr(before), dg_span_cstr(after), false, &out, &n_bad, NULL), DG_OK);
    ck_assert_str_eq(out.ptr, expected);
    ck_assert_uint_eq(n_bad, n_wanted);
    dg_buf_deinit(&out);
}

START_TEST(directives_are_those_of_the_original)
{
    static const struct {
        const char *id, *str;
        bool is_good;
    } cases[] = {
        {"a %s", "un %s", true},
        {"a %s", "un", false},
        {"a", "un %s", false},
        {"a %s", "un %s %s", false},
        {"%1$s of %2$d", "%2$d de %1$s", true},
        {"%1$s of %2$d", "%2$s de %1$s", false},
        {"%s of %d", "%2$d de %1$s", true},
        {"%s of %d", "%1$d de %2$s", false},
        {"%(name)s is {0}", "{0} est %(name)s", true},
        {"%(name)s is {0}", "{0} est %(nom)s", false},
        {"{user.name} {}", "{user.name}", false},
        {"100%% of %.2f", "%.2f de 100%%", true},
        {"100% sure, 50 % of it", "100 % s\xC3\xBBr, la moiti\xC3\xA9", true},
        {"a {b c} %", "un {d e}", true},
        {"%-5ld %*d %p", "%-5ld %*d %p", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect("", cases[i].id, cases[i].str, cases[i].is_good ? "" : "#, fuzzy\n", cases[i].str,
               !cases[i].is_good);
    expect("#, fuzzy, c-format\n", "a %s", "b", "#, fuzzy, c-format\n", "b", 1);
    expect("#, c-format\n", "a %s", "b", "#, fuzzy, c-format\n", "b", 1);
}
END_TEST

START_TEST(directives_in_another_order_are_numbered)
{
    expect("#, c-format\n", "%s has %d files", "%d fichiers sont \xC3\xA0 %s", "#, c-format\n",
           "%2$d fichiers sont \xC3\xA0 %1$s", 0);
    expect("#, c-format\n", "%s, %s", "%s, %s", "#, c-format\n", "%s, %s", 0);
    /* Directives without numbers must keep their order. */
    expect("#, python-format\n", "%s has %d files", "%d de %s", "#, fuzzy, python-format\n",
           "%d de %s", 1);
}
END_TEST

START_TEST(only_what_was_translated_now_is_looked_at)
{
    static const char
        before[] = "msgid \"\"\nmsgstr \"Language: fr\\n\"\n\nmsgid \"a %s\"\nmsgstr \"x\"\n\n"
                   "msgid \"%d file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"\"\nmsgstr[1] \"\"\n",
        after[] = "msgid \"\"\nmsgstr \"Language: fr\\n\"\n\nmsgid \"a %s\"\nmsgstr \"x\"\n\n"
                  "msgid \"%d file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"%d fichier\"\n"
                  "msgstr[1] \"fichiers\"\n",
        wanted[] =
            "msgid \"\"\nmsgstr \"Language: fr\\n\"\n\nmsgid \"a %s\"\nmsgstr \"x\"\n\n"
            "#, fuzzy\nmsgid \"%d file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"%d fichier\"\n"
            "msgstr[1] \"fichiers\"\n";
    struct dg_buf out;
    struct dg_error error = DG_ERROR_NONE;
    size_t n_bad;
    dg_buf_init(&out, TEXT_MAX);
    ck_assert_int_eq(
        dg_po_check(dg_span_cstr(before), dg_span_cstr(after), false, &out, &n_bad, &error), DG_OK);
    ck_assert_str_eq(out.ptr, wanted);
    ck_assert_uint_eq(n_bad, 1);
    dg_buf_clear(&out);
    ck_assert_int_eq(
        dg_po_check(dg_span_cstr(before), dg_span_cstr(after), true, &out, &n_bad, &error), DG_OK);
    ck_assert_uint_eq(n_bad, 2);
    ck_assert_int_eq(
        dg_po_check(dg_span_cstr(before), DG_SPAN("msgid x"), false, &out, &n_bad, &error),
        DG_ERR_INVALID);
    dg_buf_deinit(&out);
}
END_TEST

DG_UNIT(directives_are_those_of_the_original, directives_in_another_order_are_numbered,
        only_what_was_translated_now_is_looked_at)
