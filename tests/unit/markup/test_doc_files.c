/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Files of texts: WebVTT, JSON, PO, XLIFF. dg_doc_original is compared with the expected file whose
 * translations are the texts themselves, and the lines of the plain text with the texts to
 * translate. */
#include "base/memory/buf.h"
#include "base/memory/utf8.h"
#include "markup/doc.h"
#include "unit.h"

#include <string.h>

/* The lines of plain text that contain letters, with '|' between them. */
static void put_lines(const struct dg_doc *doc, char *out, size_t cap)
{
    struct dg_span plain = dg_doc_plain(doc);
    size_t n = 0;
    for (size_t at = 0; at < plain.len;) {
        const char *newline = memchr(plain.ptr + at, '\n', plain.len - at);
        size_t len = newline ? (size_t)(newline - plain.ptr) - at : plain.len - at;
        if (len > 0 && n + len + 2 < cap) {
            if (n > 0)
                out[n++] = '|';
            memcpy(out + n, plain.ptr + at, len);
            n += len;
        }
        at += len + 1;
    }
    out[n] = '\0';
}

static void expect(const char *original, enum dg_doc_format format, const struct dg_doc_opts *opts,
                   const char *filled, const char *lines)
{
    struct dg_doc *doc = NULL;
    struct dg_error error = DG_ERROR_NONE;
    char found[4096];
    enum dg_err err = dg_doc_new(dg_span_cstr(original), format, opts, &doc, &error);
    ck_assert_msg(err == DG_OK, "%s", error.text);
    struct dg_span has = dg_doc_original(doc);
    ck_assert_msg(dg_span_eq(has, dg_span_cstr(filled)), "%.*s", DG_SPAN_FMT(has));
    put_lines(doc, found, sizeof found);
    ck_assert_str_eq(found, lines);
    dg_doc_free(doc);
}

static void expect_same(const char *original, enum dg_doc_format format, const char *lines)
{
    expect(original, format, NULL, original, lines);
}

static void expect_refusal(const char *original, enum dg_doc_format format, const char *word)
{
    struct dg_doc *doc = NULL;
    struct dg_error error = DG_ERROR_NONE;
    enum dg_err err = dg_doc_new(dg_span_cstr(original), format, NULL, &doc, &error);
    ck_assert_msg(err == DG_ERR_INVALID || err == DG_ERR_UNSUPPORTED, "%s: %s", original,
                  dg_err_name(err));
    ck_assert_msg(strstr(error.text, word) != NULL, "%s", error.text);
}

START_TEST(webvtt)
{
    expect_same("WEBVTT\n\n1\n00:01.000 --> 00:02.000 align:start\n<v Ann>A &amp; b\n\nNOTE "
                "x\ny\n\n00:03.000 --> 00:04.000\n"
                "- One.\n- Two <00:03.500>c\n",
                DG_DOC_WEBVTT, "A & b|One.|Two c");
    expect_same("WEBVTT\nKind: captions\n\nSTYLE\n::cue {}\n\nname\n00:03.000 --> 00:04.000\nNOTE "
                "is text\n",
                DG_DOC_WEBVTT, "NOTE is text");
    expect_same("\xEF\xBB\xBFWEBVTT\r\n\r\n00:03.000 --> 00:04.000\r\na\r\nb\r\n\r\n",
                DG_DOC_WEBVTT, "a b");
    expect_same("", DG_DOC_WEBVTT, "");
}
END_TEST

START_TEST(json)
{
    expect_same(
        "{\"k\": \"a \\\"b\\\" \\u00e9\\ud83d\\ude00\", \"n\": [1, \"c\\nd\", null], \"e\": \"\"}",
        DG_DOC_JSON, "a \"b\" \xC3\xA9\xF0\x9F\x98\x80|c|d");
    expect_same("{\"@a\": {\"x\": \"note\", \"y\": [\"z\"]}, \"a\": \"b\", \"@@l\": \"en\"}",
                DG_DOC_JSON, "b");
    expect_same("{\"a\": \"{n, plural, one {x} other {y}}\", \"b\": \"{n}, please\"}", DG_DOC_JSON,
                "x|y|{n}, please");
    expect_same(
        "{\"a\": \"You have {n, plural, =0 {nothing} one {# file of {u}} other {# \\\"files\\\"}}"
        ", it''s so.\"}",
        DG_DOC_JSON, "You have |nothing|1 file of {u}|5 \"files\"|, it's so.");
    expect_refusal("{\"a\": \"b\"", DG_DOC_JSON, "ends before");
    expect_refusal("{\n\"a\": \"b\n\"}", DG_DOC_JSON, "line 2");
    expect_refusal("[1}", DG_DOC_JSON, "closing bracket");
    expect_refusal("{\"a\": \"\\x\"}", DG_DOC_JSON, "not closed");
}
END_TEST

START_TEST(messages_in_json_get_the_plurals_of_the_target)
{
    const struct dg_doc_opts polish = {.target = DG_SPAN("pl")}, none = {.unmarked = false};
    const char *message = "{\"a\": \"b\", \"c\": \"{n, plural, one {x} other {# y}}\"}";
    expect(message, DG_DOC_JSON, &polish,
           "{\"a\": \"b\", \"c\": \"{n, plural, one {x} other {# y} few {# y} many {# y}}\"}",
           "b|x|5 y|3 y|11 y");
    expect(message, DG_DOC_JSON, &none, message, "b|x|5 y");
    expect("{\"@@locale\": \"en_GB\", \"a\": \"b\"}", DG_DOC_JSON, &polish,
           "{\"@@locale\": \"pl\", \"a\": \"b\"}", "b");
    expect("{\"a\": \"b\", \"@@locale\": \"en\"}", DG_DOC_JSON, &none,
           "{\"a\": \"b\", \"@@locale\": \"en\"}", "b");
    expect("{\"@@locale\": [], \"a\": \"b\"}", DG_DOC_JSON, &polish,
           "{\"@@locale\": [], \"a\": \"b\"}", "b");
    expect("[\"{n, plural, one {x}\"]", DG_DOC_JSON, &polish, "[\"{n, plural, one {x}\"]",
           "{n, plural, one {x}");
    expect("[\"See {n, plural, one {x} other {# y}} here\"]", DG_DOC_JSON, &polish,
           "[\"{n, plural, one {See x here} other {See # y here} few {See # y here} many {See # y "
           "here}}\"]",
           "See x here|See 5 y here|See 3 y here|See 11 y here");
    static const struct {
        const char *original, *text, *wanted;
    } cases[] = {
        {"[\"{n, plural, other {x}}\"]", "d'a '{", "d'a \xE2\x80\x99{"},
        {"[\"{n, plural, other {x}}\"]", "l'", "l\xE2\x80\x99"},
        {"[\"{n, plural, other {\\u00e9}}\"]", "l'", "l\\u2019"},
        {"[\"{n, plural, other {x''y}}\"]", "l'a", "l''a"},
        {"[\"{n}\"]", "l'", "l'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dg_doc *doc = NULL;
        struct dg_buf out;
        dg_buf_init(&out, 1000);
        ck_assert_int_eq(dg_doc_new(dg_span_cstr(cases[i].original), DG_DOC_JSON, NULL, &doc, NULL),
                         DG_OK);
        const enum dg_err err = dg_doc_escape(doc, dg_span_cstr(cases[i].text), &out);
        dg_doc_free(doc);
        ck_assert_int_eq(err, DG_OK);
        ck_assert_str_eq(out.ptr, cases[i].wanted);
        dg_buf_deinit(&out);
    }
}
END_TEST

START_TEST(json_is_written_as_it_was)
{
    struct dg_doc *doc = NULL;
    struct dg_buf out;
    dg_buf_init(&out, 1000);
    ck_assert_int_eq(dg_doc_new(DG_SPAN("[\"\\u00e9\"]"), DG_DOC_JSON, NULL, &doc, NULL), DG_OK);
    enum dg_err err = dg_doc_escape(doc, DG_SPAN("\xC3\xA9\"\n\x01\xF0\x9F\x98\x80"), &out);
    dg_doc_free(doc);
    ck_assert_int_eq(err, DG_OK);
    ck_assert(dg_span_eq(dg_buf_span(&out), DG_SPAN("\\u00e9\\\"\\n\\u0001\\ud83d\\ude00")));
    dg_buf_deinit(&out);
}
END_TEST

START_TEST(po)
{
    const struct dg_doc_opts again = {.retranslate = true, .unmarked = true};
    expect("msgid \"a\"\nmsgstr \"\"\n", DG_DOC_PO, NULL, "#, fuzzy\nmsgid \"a\"\nmsgstr \"a\"\n",
           "a");
    expect("#, c-format\nmsgctxt \"c\"\nmsgid \"a %d\\n\"\nmsgstr \"\"", DG_DOC_PO, NULL,
           "#, fuzzy, c-format\nmsgctxt \"c\"\nmsgid \"a %d\\n\"\nmsgstr \"a %d\\n\"\n", "a %d");
    expect("msgid \"a\"\nmsgstr \"b\"\n\n#~ msgid \"x\"\n#~ msgstr \"\"\n", DG_DOC_PO, NULL,
           "msgid \"a\"\nmsgstr \"b\"\n\n#~ msgid \"x\"\n#~ msgstr \"\"\n", "");
    expect("msgid \"a\"\nmsgstr \"b\"\n", DG_DOC_PO, &again, "msgid \"a\"\nmsgstr \"a\"\n", "a");
    expect("msgid \"\"\n\"a \"\n\"b\"\nmsgstr \"\"\nmsgid \"c\\nd\"\nmsgstr \"\"\n", DG_DOC_PO,
           &again,
           "msgid \"\"\n\"a \"\n\"b\"\nmsgstr \"a b\"\nmsgid \"c\\nd\"\nmsgstr "
           "\"\"\n\"c\\n\"\n\"d\"\n",
           "a b|c|d");
    expect("msgid \"%d a\"\r\nmsgid_plural \"%d as\"\r\nmsgstr[0] \"\"\r\nmsgstr[1] \"\"\r\n",
           DG_DOC_PO, NULL,
           "#, fuzzy\r\nmsgid \"%d a\"\r\nmsgid_plural \"%d as\"\r\nmsgstr[0] \"%d "
           "a\"\r\nmsgstr[1] \"%d as\"\r\n",
           "%d a|%d as");
    expect("msgid \"a \\\"b\\\"\\t\\\\c\"\nmsgstr \"\"\n", DG_DOC_PO, &again,
           "msgid \"a \\\"b\\\"\\t\\\\c\"\nmsgstr \"a \\\"b\\\"\\t\\\\c\"\n", "a \"b\"\t\\c");
    expect_refusal("msgid \"a\"\nmsgstr b\n", DG_DOC_PO, "line 2");
    expect_refusal("msgid \"a\nmsgstr \"\"\n", DG_DOC_PO, "line 1");
    expect_refusal("hello\n", DG_DOC_PO, "line 1");
    expect_refusal("msgid \"a\" b\nmsgstr \"\"\n", DG_DOC_PO, "line 1");
    expect_refusal("msgid \"a\"\n\"b\" \"\nmsgstr \"\"\n", DG_DOC_PO, "line 2");
    expect_refusal("msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=KOI8-R\\n\"\n",
                   DG_DOC_PO, "msgconv");
}
END_TEST

START_TEST(po_headers_say_the_language)
{
    const struct dg_doc_opts polish = {.target = DG_SPAN("pl"), .unmarked = true};
    expect("msgid \"\"\nmsgstr \"\"\n\"Language: xx\\n\"\n\"Content-Type: text/plain; "
           "charset=CHARSET\\n\"\n"
           "\"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n\"\n\nmsgid \"a\"\nmsgid_plural "
           "\"b\"\nmsgstr[0] \"\"\n",
           DG_DOC_PO, &polish,
           "msgid \"\"\nmsgstr \"\"\n\"Language: pl\\n\"\n\"Content-Type: text/plain; "
           "charset=UTF-8\\n\"\n"
           "\"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || "
           "n%100>=20) ? 1 : 2);\\n\"\n\n"
           "msgid \"a\"\nmsgid_plural \"b\"\nmsgstr[0] \"a\"\nmsgstr[1] \"b\"\nmsgstr[2] \"b\"\n",
           "a|b|b");
}
END_TEST

#define HEAD "<xliff version=\"1.2\"><file>"

START_TEST(xliff)
{
    const struct dg_doc_opts plain = {.unmarked = true, .target = DG_SPAN("en")};
    expect(HEAD "<trans-unit id=\"1\">\n <source>a <g id=\"1\">b</g><ph "
                "id=\"2\">code</ph></source>\n</trans-unit>",
           DG_DOC_XLIFF, NULL,
           HEAD "<trans-unit id=\"1\">\n <source>a <g id=\"1\">b</g><ph "
                "id=\"2\">code</ph></source>\n <target "
                "state=\"needs-review-translation\" state-qualifier=\"leveraged-mt\">a <g "
                "id=\"1\">b</g><ph "
                "id=\"2\">code</ph></target>\n</trans-unit>",
           "a b");
    expect(
        "<x:xliff version=\"1.2\"><x:file><x:trans-unit><x:source>a &lt;</x:source></x:trans-unit>",
        DG_DOC_XLIFF, &plain,
        "<x:xliff version=\"1.2\"><x:file target-language=\"en\"><x:trans-unit><x:source>a "
        "&lt;</x:source><x:target>a "
        "&lt;</x:target></x:trans-unit>",
        "a <");
    expect("<xliff version=\"2.0\"><segment><source>a</source><target/></segment><segment "
           "state='final'><source>b</source>"
           "<target>c</target></segment>",
           DG_DOC_XLIFF, NULL,
           "<xliff version=\"2.0\"><segment "
           "state=\"translated\"><source>a</source><target>a</target></segment><segment "
           "state='final'><source>b</source><target>c</target></segment>",
           "a");
    expect(HEAD "<trans-unit translate=\"no\"><source>a</source></trans-unit><trans-unit><source> "
                "</source></trans-unit>",
           DG_DOC_XLIFF, NULL,
           HEAD "<trans-unit translate=\"no\"><source>a</source></trans-unit><trans-unit><source> "
                "</source></trans-unit>",
           "");
    /* Targets that exporters leave empty, and what they write as CDATA. */
    expect(HEAD "<trans-unit><source>a. b.</source><seg-source><mrk mid=\"1\">a.</mrk> <mrk "
                "mid=\"2\">b.</mrk></seg-source><target><mrk mid=\"1\"/> <mrk "
                "mid=\"2\"></mrk></target></trans-unit>",
           DG_DOC_XLIFF, &plain,
           "<xliff version=\"1.2\"><file target-language=\"en\"><trans-unit><source>a. "
           "b.</source><seg-source><mrk mid=\"1\">a.</mrk> <mrk "
           "mid=\"2\">b.</mrk></seg-source><target><mrk mid=\"1\">a.</mrk> <mrk "
           "mid=\"2\">b.</mrk></target></trans-unit>",
           "a. b.");
    expect(HEAD "<trans-unit><source><![CDATA[a <b>&amp;</b>]]></source><target "
                "state=\"needs-review-translation\"><![CDATA[]]></target></trans-unit>",
           DG_DOC_XLIFF, NULL,
           HEAD "<trans-unit><source><![CDATA[a <b>&amp;</b>]]></source><target "
                "state=\"needs-review-translation\">a "
                "&lt;b&gt;&amp;amp;&lt;/b&gt;</target></trans-unit>",
           "a &amp;");
    expect(HEAD "<trans-unit><source>a</source><target><![CDATA[b]]></target></trans-unit>"
                "<trans-unit><source><x/></source><target><x/></target></trans-unit>",
           DG_DOC_XLIFF, NULL,
           HEAD "<trans-unit><source>a</source><target><![CDATA[b]]></target></trans-unit>"
                "<trans-unit><source><x/></source><target><x/></target></trans-unit>",
           "");
    expect(HEAD "<trans-unit><source>a", DG_DOC_XLIFF, NULL, HEAD "<trans-unit><source>a", "");
    expect_refusal("<a/>", DG_DOC_XLIFF, "not XLIFF");
    expect_refusal("", DG_DOC_XLIFF, "not XLIFF");
}
END_TEST

/* Files that would take minutes if every closing tag, quote or header cost as much as all that
 * came before it. */
START_TEST(hostile_files_take_linear_time)
{
    static const struct {
        enum dg_doc_format format;
        const char *head, *open, *rest, *end;
        bool is_refused;
    } cases[] = {
        {DG_DOC_HTML, "", "<b>", "x</i>", "", false},
        {DG_DOC_HTML, "", "<bNAME>", "x</i>", "", false},
        {DG_DOC_HTML, "", "<b>", "<a>x</a>", "", false},
        {DG_DOC_XML, "", "x<NAME>", "x</i>", "", false},
        {DG_DOC_XLIFF, "<xliff version=\"1.2\"><file><trans-unit><source>", "x<NAME:g>", "x</i>",
         "</source></trans-unit></file></xliff>", false},
        {DG_DOC_WEBVTT, "WEBVTT\n\n00:01.000 --> 00:02.000\n", "<NAME>", "x</i>", "", false},
        {DG_DOC_MARKDOWN, "", "<NAME>", "x</i>", "", false},
        {DG_DOC_PO, "msgid \"a\" \"", "", "\\\"", "\nmsgstr \"\"\n", true},
        {DG_DOC_PO, "", "",
         "msgid \"\"\nmsgstr \"Plural-Forms: nplurals=6; plural=(n%10==1 && n%100!=11 ? 0 : n != 0 "
         "? 1 : 2);\"\n\n",
         "", false},
    };
    char name[512];
    memset(name, 'n', sizeof name);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dg_buf text;
        struct dg_doc *doc = NULL;
        struct dg_error error = DG_ERROR_NONE;
        dg_buf_init(&text, 1 << 20);
        enum dg_err err = dg_buf_append_cstr(&text, cases[i].head);
        for (int k = 0; k < 256 && *cases[i].open && !err; k++) {
            const char *at = strstr(cases[i].open, "NAME");
            struct dg_span open = dg_span_cstr(cases[i].open);
            size_t before = at ? (size_t)(at - open.ptr) : open.len;
            err = dg_buf_append_span(&text, dg_span_sub(open, 0, before));
            if (!err && at)
                err = dg_buf_append(&text, name, sizeof name);
            if (!err && at)
                err = dg_buf_append_cstr(&text, at + 4);
        }
        for (int k = 0; k < dg_unit_rounds(40000) && text.len < (1 << 19) && !err; k++)
            err = dg_buf_append_cstr(&text, cases[i].rest);
        if (!err)
            err = dg_buf_append_cstr(&text, cases[i].end);
        ck_assert_int_eq(err, DG_OK);
        err = dg_doc_new(dg_buf_span(&text), cases[i].format, NULL, &doc, &error);
        ck_assert_msg(err == (cases[i].is_refused ? DG_ERR_INVALID : DG_OK), "case %zu: %s", i,
                      error.text);
        dg_doc_free(err ? NULL : doc);
        dg_buf_deinit(&text);
    }
}
END_TEST

START_TEST(kinds_are_seen_from_name_or_content)
{
    static const struct {
        const char *text;
        enum dg_doc_format format;
    } cases[] = {
        {"WEBVTT\n", DG_DOC_WEBVTT},
        {"\xEF\xBB\xBFWEBVTT", DG_DOC_WEBVTT},
        {"{\"a\":1}", DG_DOC_JSON},
        {"# c\nmsgid \"\"\nmsgstr \"\"\n", DG_DOC_PO},
        {"<?xml version='1.0'?><xliff>", DG_DOC_XLIFF},
        {"<?xml version='1.0'?><a>", DG_DOC_XML},
        {"<!DOCTYPE html><p>", DG_DOC_HTML},
        {"<p>a", DG_DOC_HTML},
        {"1\n00:00:01,000 --> 00:00:02,000\na\n", DG_DOC_SUBRIP},
        {"[Script Info]\n", DG_DOC_ASS},
        {"<?xml version='1.0'?><tt xmlns='http://www.w3.org/ns/ttml'>", DG_DOC_TTML},
        {"0:00:01.000,0:00:02.000\na\n", DG_DOC_SBV},
        {"Hello.", DG_DOC_TEXT},
        {"", DG_DOC_TEXT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_int_eq(dg_doc_format_guess(dg_span_cstr(cases[i].text)), cases[i].format);
    enum dg_doc_format format = DG_DOC_TEXT;
    ck_assert(dg_doc_format_of(DG_SPAN("a/b.XLIFF"), &format) && format == DG_DOC_XLIFF);
    ck_assert(dg_doc_format_of(DG_SPAN("de.po"), &format) && format == DG_DOC_PO);
    ck_assert(dg_doc_format_of(DG_SPAN("a.ssa"), &format) && format == DG_DOC_ASS);
    ck_assert(!dg_doc_format_of(DG_SPAN("a.ss"), &format));
    ck_assert(!dg_doc_format_of(DG_SPAN("a."), &format));
    ck_assert(dg_span_eq(dg_doc_ending(DG_DOC_HTML), DG_SPAN("html")));
    ck_assert_str_eq(dg_doc_media_type(DG_DOC_WEBVTT), "text/vtt; charset=utf-8");
    ck_assert(dg_doc_format_of(DG_SPAN("a.vtt"), &format) && format == DG_DOC_WEBVTT);
}
END_TEST

DG_UNIT(webvtt, json, messages_in_json_get_the_plurals_of_the_target, json_is_written_as_it_was, po,
        po_headers_say_the_language, xliff, hostile_files_take_linear_time,
        kinds_are_seen_from_name_or_content)
