/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/option/opt_ini.h"
#include "unit.h"

#include <stdio.h>

/* Reads all of `text` into "name=value;" and "[kind name];", or the message of the refusal. */
static const char *read_all(struct dg_span text)
{
    static char out[4096];
    static struct dg_opt_ini ini;
    struct dg_opt_ini_item item;
    struct dg_error error = DG_ERROR_NONE;
    size_t len = 0;
    out[0] = '\0';
    dg_opt_ini_init(&ini, "f", text);
    enum dg_err err;
    while (!(err = dg_opt_ini_next(&ini, &item, &error)) && item.kind != DG_OPT_INI_END)
        len += (size_t)snprintf(out + len, sizeof out - len,
                                item.kind == DG_OPT_INI_PAIR ? "%.*s=%.*s;" : "[%.*s %.*s];",
                                DG_SPAN_FMT(item.name), DG_SPAN_FMT(item.value));
    if (err)
        snprintf(out, sizeof out, "%s", error.text);
    return out;
}

static void check_reads(const char *text, const char *expected)
{
    ck_assert_str_eq(read_all(dg_span_cstr(text)), expected);
}

static void check_refuses(struct dg_span text, const char *place, const char *was_read)
{
    const char *sentence = read_all(text);
    ck_assert_msg(strncmp(sentence, place, strlen(place)) == 0, "%s", sentence);
    ck_assert_msg(strstr(sentence, was_read) != NULL, "%s", sentence);
    ck_assert_msg(strstr(sentence, "expected ") != NULL, "%s", sentence);
}

START_TEST(reads_pairs_sections_and_comments)
{
    check_reads("", "");
    check_reads("a=1\nb-2 = x y  \n", "a=1;b-2=x y;");
    check_reads("# c\n ; c\n\n\ta\t=\t1\t# c\r\n", "a=1;");
    check_reads("a = \n[model fr-en]\npath = /x", "a=;[model fr-en];path=/x;");
    check_reads("[ model  b_1.C ] # c\n", "[model b_1.C];");
    check_reads("\xef\xbb\xbf"
                "a=1",
                "a=1;");
    check_reads("a = x#y=z\n", "a=x#y=z;");
    check_reads("a = caf\xc3\xa9\n", "a=caf\xc3\xa9;");
}
END_TEST

START_TEST(quotes_keep_what_the_grammar_would_take)
{
    check_reads("a = \" x # y \" # c", "a= x # y ;");
    check_reads("a = \"q\\\"b\\\\\"", "a=q\"b\\;");
    check_reads("a = \"\"", "a=;");
    check_refuses(DG_SPAN("a = \"x"), "f:1:", "opening quote");
    check_refuses(DG_SPAN("a = \"x\\"), "f:1:", "\\");
    check_refuses(DG_SPAN("a = \"x\\n\""), "f:1:", "\\");
    check_refuses(DG_SPAN("a = \"x\" y"), "f:1:", "y");
}
END_TEST

START_TEST(refuses_with_the_right_line)
{
    check_refuses(DG_SPAN("a=1\n\nnonsense\n"), "f:3:", "nonsense");
    check_refuses(DG_SPAN("A = 1"), "f:1:", "A = 1");
    check_refuses(DG_SPAN("= 1"), "f:1:", "= 1");
    check_refuses(DG_SPAN("a b = 1"), "f:1:", "a b");
    check_refuses(DG_SPAN("[model]"), "f:1:", "[model]");
    check_refuses(DG_SPAN("[model x"), "f:1:", "[model x");
    check_refuses(DG_SPAN("[model x] y"), "f:1:", "y");
    check_refuses(DG_SPAN("[model x y]"), "f:1:", "x y");
    check_refuses(DG_SPAN("[model ../x]"), "f:1:", "../x");
    check_refuses(DG_SPAN("a = 1\nb = x\0y\n"), "f:2:", "NUL byte");
    check_refuses(DG_SPAN("a = \x1b[1m\n"), "f:1:", "0x1b");
    check_refuses(DG_SPAN("a = 1\nb = \xff\n"), "f:2:", "0xff");
    check_refuses(DG_SPAN("a = \xc3"), "f:1:", "UTF-8");
}
END_TEST

START_TEST(refuses_a_line_of_a_megabyte)
{
    size_t len = 1 << 20;
    char *text = malloc(len);
    memset(text, 'x', len);
    memcpy(text, "a=1\nb=", 6);
    check_refuses(dg_span_make(text, len), "f:2:", "1048572 bytes");
    text[4 + DG_OPT_INI_LINE_MAX] = '\n';
    check_refuses(dg_span_make(text, len), "f:3:", "bytes");
    free(text);
}
END_TEST

DG_UNIT(reads_pairs_sections_and_comments, quotes_keep_what_the_grammar_would_take,
        refuses_with_the_right_line, refuses_a_line_of_a_megabyte)
