/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "filtered.h"

#define HEAD "sku,title,price,text\r\n"

START_TEST(columns_of_words_are_found)
{
    static const char csv[] = HEAD "A-1,Red chair,12.50,\"A chair, \"\"red\"\".\"\r\n"
                                   "A-2,Blue chair,9,https://a.org/x\r\n"
                                   "A-3,EUR,7,A table.\r\n";
    check_text("a.csv", dg_span_cstr(csv), "",
               "<p>Red chair</p>\n<p>A chair, \"red\".</p>\n<p>Blue chair</p>\n<p>A table.</p>\n");
    check_note(
        "a.csv", dg_span_cstr(csv), "",
        "translated are the columns 2 (title), 4 (text); the first row is a header and stays");
}
END_TEST

START_TEST(columns_are_named_or_counted)
{
    static const char csv[] = HEAD "one,two,three,four\n";
    check_text("a.csv", dg_span_cstr(csv), "4, SKU", "<p>one</p>\n<p>four</p>\n");
    check_text("a.csv", dg_span_cstr(csv), "2", "<p>two</p>\n");
    check_refusal("a.csv", dg_span_cstr(csv), "name", DG_ERR_INVALID,
                  "the file has no column \"name\": expected a name of its first row or a number "
                  "from 1 to 4");
    check_refusal("a.csv", dg_span_cstr(csv), "2,,3", DG_ERR_INVALID, "no column \"\"");
    check_refusal("a.csv", dg_span_cstr(csv), "5", DG_ERR_INVALID, "no column \"5\"");
    check_refusal("a.csv", dg_span_cstr(csv), "0", DG_ERR_INVALID, "no column \"0\"");
    check_refusal("a.csv", DG_SPAN("1,Hello you.\n2,And you.\n"), "name", DG_ERR_INVALID,
                  "expected a number from 1 to 2");
}
END_TEST

START_TEST(a_first_row_of_texts_is_no_header)
{
    check_text("a.csv", DG_SPAN("1,Hello you.\n2,And you.\n"), "",
               "<p>Hello you.</p>\n<p>And you.</p>\n");
    check_text("a.csv", DG_SPAN("hello\n"), "", "<p>hello</p>\n");
    check_note("a.csv", DG_SPAN("1,2\n3,4\n"), "",
               "no column consists mostly of words: nothing is translated");
}
END_TEST

START_TEST(separators_are_detected)
{
    check_text("a.csv", DG_SPAN("id;text;price\n1;Yes, sir;1,50\n2;No, sir;2,50\n"), "",
               "<p>Yes, sir</p>\n<p>No, sir</p>\n");
    check_text("a.csv", DG_SPAN("id\ttext\n1\tYes, sir; no\n"), "", "<p>Yes, sir; no</p>\n");
    check_text("a.csv", DG_SPAN("sep=|\r\nid|text\r\n1|Yes\r\n"), "", "<p>Yes</p>\n");
    check_text("a.csv", DG_SPAN("\xEF\xBB\xBFid;text\n1;Yes\n"), "text", "<p>Yes</p>\n");
    check_text("a.tsv", DG_SPAN("text\nYes, sir\n"), "", "<p>Yes, sir</p>\n");
}
END_TEST

START_TEST(cells_keep_their_quotes)
{
    static const char csv[] = "id,text\r\n1, Yes \r\n2,\" a\r\n\"\"b\"\" \"\r\n3,Maybe\r\n4,\"Oh\"";
    check_text("a.csv", dg_span_cstr(csv), "2",
               "<p>Yes</p>\n<p>a<br>\"b\"</p>\n<p>Maybe</p>\n<p>Oh</p>\n");
    check_written("a.csv", dg_span_cstr(csv), "2",
                  "<p>Oui</p>\n<p>&lt;a&gt;<br>\"c\"</p>\n<p>Bon, non</p>\n<p>Ah</p>\n", "fr",
                  DG_SPAN("id,text\r\n1, Oui \r\n2,\" <a>\r\n\"\"c\"\" \"\r\n3,\"Bon, non\"\r\n4,"
                          "\"Ah\""));
    check_written("a.csv", DG_SPAN("id,text\n1,Yes\n2,no\n"), "",
                  "<p>so \"called\"</p>\n<p>no</p>\n", "en",
                  DG_SPAN("id,text\n1,\"so \"\"called\"\"\"\n2,no\n"));
    check_written("a.tsv", DG_SPAN("id\ttext\n1\tYes\n2\tso\n"), "",
                  "<p>so \"called\", it</p>\n<p>\"so\"</p>\n", "en",
                  DG_SPAN("id\ttext\n1\tso \"called\", it\n2\t\"\"\"so\"\"\"\n"));
}
END_TEST

START_TEST(what_is_no_text_stays)
{
    check_text(
        "a.csv",
        DG_SPAN("text,id\n=\"a\"&B1,1\ntrue,2\nhttps://a.org,3\nAB_c,4\n\"a\"b,5\n,6\nWord,7\n\n"
                "12.5,8\n\"\",9\n"),
        "text", "<p>Word</p>\n");
}
END_TEST

START_TEST(errors_are_said)
{
    check_refusal("a.csv", DG_SPAN("id,text\n1,x\n2,\"a\nb"), "", DG_ERR_FORMAT,
                  "line 3: a cell begins with a quote that is never closed");
    check_refusal("a.csv", DG_SPAN("id,text\n1,\xFFx\0\n"), "", DG_ERR_UTF8,
                  "not UTF-8 (at byte 10)");
    check_misfit("a.csv", DG_SPAN("id,text\n1,Yes\n2,No way\n"), "<p>Oui</p>\n");
    check_misfit("a.csv", DG_SPAN("id,text\n1,Yes\n2,No way\n"),
                 "<p>Oui</p>\n<p>Non</p>\n<p>Non</p>\n");
    check_misfit("a.csv", DG_SPAN("id,text\n1,Yes\n2,No way\n"), "<p>Oui</p>\n<p><b>Non</b></p>\n");
    check_text("a.csv", DG_SPAN(""), "", "");
    check_text("a.csv", DG_SPAN("\n"), "", "");
}
END_TEST

DG_UNIT(columns_of_words_are_found, columns_are_named_or_counted, a_first_row_of_texts_is_no_header,
        separators_are_detected, cells_keep_their_quotes, what_is_no_text_stays, errors_are_said)
