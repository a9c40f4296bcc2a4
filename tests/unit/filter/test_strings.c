/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "filtered.h"

START_TEST(strings_of_apple)
{
    static const char file[] =
        "\xEF\xBB\xBF/* The title. */\n\"title\" = \"Say \\\"hi\\\" to %@\";\n"
        "// one\r\nshort = \"Two\\nlines\\U00e9\";  \"Same\";\n\"n\"=\"%d\";\n";
    check_text("a.strings", dg_span_cstr(file), "",
               "<p>Say \"hi\" to %@</p>\n<p>Two</p>\n<p>lines\xC3\xA9</p>\n");
    check_written("Localizable.strings", dg_span_cstr(file), "",
                  "<p>Sag \"ja\" zu %@</p>\n<p>Zwei \\</p>\n<p>Zeilen</p>\n", "de",
                  DG_SPAN("\xEF\xBB\xBF/* The title. */\n\"title\" = \"Sag \\\"ja\\\" zu %@\";\n"
                          "// one\r\nshort = \"Zwei \\\\\\nZeilen\";  \"Same\";\n\"n\"=\"%d\";\n"));
    check_text("a.strings", DG_SPAN(""), "", "");
    check_refusal("a.strings", DG_SPAN("\"a\" = \"b\";\n\"c\" = \"d\"\n"), "", DG_ERR_INVALID,
                  "line 2: expected an entry such as");
    check_refusal("a.strings", DG_SPAN("\n\"a = b;\n"), "", DG_ERR_INVALID, "line 2: expected");
    check_refusal("a.strings", DG_SPAN("\"a\" \"b\";"), "", DG_ERR_INVALID, "line 1: expected");
    check_refusal("a.strings", DG_SPAN("\"a\" = \"b\";\n/* x"), "", DG_ERR_INVALID,
                  "line 2: a comment is not closed");
    check_text("a.strings", DG_SPAN("\xFF\xFE\"\0a\0\"\0=\0\"\0W\0o\0r\0d\0\"\0;\0"), "",
               "<p>Word</p>\n");
    check_refusal("a.strings", DG_SPAN("\"a\" = \"b\xFF\0\";"), "", DG_ERR_UTF8, "not UTF-8");
}
END_TEST

START_TEST(properties_of_java)
{
    static const char file[] = "# a comment = x\n! another\nhi = Hello, \\\n     world\n"
                               "a\\:b:\\u00e9t\\u00e9 fini\n\nkey only\nempty=\nn = It''s {0}.\r\n"
                               "two\tone line\\ntwo lines\\\\x\n";
    check_text("a.properties", dg_span_cstr(file), "",
               "<p>Hello, world</p>\n<p>\xC3\xA9t\xC3\xA9 fini</p>\n<p>only</p>\n<p>It's {0}.</p>\n"
               "<p>one line</p>\n<p>two lines\\x</p>\n");
    /* A file in ASCII stays in ASCII. */
    check_written(
        "a.properties", dg_span_cstr(file), "",
        "<p>Na\xC3\xAFve \xF0\x9F\x98\x80</p>\n<p> summer: over</p>\n<p>x</p>\n<p>C'est {0}.</p>\n"
        "<p>one line</p>\n<p>deux lignes</p>\n",
        "fr",
        DG_SPAN("# a comment = x\n! another\nhi = Na\\u00efve \\ud83d\\ude00\n"
                "a\\:b:\\ summer: over\n\nkey x\nempty=\nn = C''est {0}.\r\n"
                "two\tone line\\ndeux lignes\n"));
    check_written("a.properties", DG_SPAN("a=\xC3\xA9t\xC3\xA9 fini"), "",
                  "<p>\xC3\xA9t\xC3\xA9</p>\n", "fr", DG_SPAN("a=\xC3\xA9t\xC3\xA9"));
    /* Latin-1. */
    check_text("a.properties", DG_SPAN("a=\xE9t\xE9 fini\nb=\xE9"), "",
               "<p>\xC3\xA9t\xC3\xA9 fini</p>\n<p>\xC3\xA9</p>\n");
    check_written("a.properties", DG_SPAN("a=\xE9t\xE9 fini\nb=\xE9"), "",
                  "<p>\xC3\xA9 \xE2\x82\xAC</p>\n<p>\xC3\xA9</p>\n", "fr",
                  DG_SPAN("a=\\u00e9 \\u20ac\nb=\xE9"));
}
END_TEST

START_TEST(branches_of_messages_are_blocks)
{
    static const char file[] =
        "a=You have {n, plural, one {# file} other {# files of {who}}}, it''s '{so}'.\n";
    /* Each branch of the choice contains the sentence around it. */
    check_text("a.properties", dg_span_cstr(file), "",
               "<p>You have <code id=0 translate=no>1</code> file, it's {so}.</p>\n"
               "<p>You have <code id=0 translate=no>5</code> files of <code id=1 "
               "translate=no>{who}</code>, it's {so}.</p>\n");
    check_written("a.properties", dg_span_cstr(file), "",
                  "<p>Vous avez <code id=0 translate=no>1</code> fichier, c'est {\xC3\xA7}a.</p>\n"
                  "<p>Vous avez <code id=0 translate=no>5</code> fichiers d'<code id=1 "
                  "translate=no>{who}</code>.</p>\n",
                  "fr",
                  DG_SPAN("a={n, plural, one {Vous avez # fichier, c''est '{'\\u00e7'}'a.} other "
                          "{Vous avez # fichiers d''{who}.}}\n"));
    check_written("a.strings", DG_SPAN("\"a\" = \"{n, plural, one {# file} other {# files}}\";"),
                  "",
                  "<p><code id=0 translate=no>1</code> plik</p>\n"
                  "<p><code id=0 translate=no>5</code> plik\xC3\xB3w</p>\n",
                  "pl",
                  DG_SPAN("\"a\" = \"{n, plural, one {# plik} other {# plik\xC3\xB3w} few {# "
                          "plik\xC3\xB3w} many {# plik\xC3\xB3w}}\";"));
    check_text("a.properties", DG_SPAN("a={0, choice, 0#no files|1#one file|1<{0} files}"), "",
               "<p>no files</p>\n<p>one file</p>\n<p><code id=0 translate=no>{0}</code> "
               "files</p>\n");
    check_text("a.strings", DG_SPAN("\"a\" = \"{g, select, m {He\\nis} other {They}}\";"), "",
               "<p>He<img id=0>is</p>\n<p>They</p>\n");
    check_text("a.properties", DG_SPAN("a={n, plural, one {x}"), "",
               "<p>{n, plural, one {x}</p>\n");
}
END_TEST

/* What a translation has of a message's own marks is quoted once, and in a single quotation. */
START_TEST(marks_in_translations_of_messages_are_quoted)
{
    check_written(
        "a.properties",
        DG_SPAN("a={n, plural, one {No. '#'1 of #} other {# files}}\nb={g, select, m {He} other "
                "{They}}\n"),
        "",
        "<p>N# 1 {{x}} de <code id=0 translate=no>1</code></p>\n<p><code id=0 "
        "translate=no>5</code> {'{ #' #'a</p>\n"
        "<p># {{il}}</p>\n<p>'{'</p>\n",
        "",
        DG_SPAN("a={n, plural, one {N'#' 1 '{{'x'}}' de #} other {# '{''{' '#''' '#'''a}}\n"
                "b={g, select, m {# '{{'il'}}'} other {'''{'''}}\n"));
}
END_TEST

DG_UNIT(strings_of_apple, properties_of_java, branches_of_messages_are_blocks,
        marks_in_translations_of_messages_are_quoted)
