/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "archive/zip_in.h"
#include "filter/rendition.h"
#include "filtered.h"

static const char html[] =
    "<h1>Big &amp; bold</h1>\n<p>One &lt;b&gt;.</p>\n<h2>Next</h2>\n<p>Two.</p>\n";

static void write_as(enum dg_rendition rendition, const char *language, struct dg_buf *out)
{
    dg_buf_init(out, FILTERED_MAX);
    ck_assert_int_eq(
        dg_rendition_write(rendition, dg_span_cstr(html), dg_span_cstr(language), out, NULL),
        DG_OK);
}

static void check_written_as(enum dg_rendition rendition, const char *language,
                             const char *expected)
{
    struct dg_buf out;
    write_as(rendition, language, &out);
    ck_assert_msg(dg_span_eq(dg_buf_span(&out), dg_span_cstr(expected)), "%.*s",
                  DG_SPAN_FMT(dg_buf_span(&out)));
    dg_buf_deinit(&out);
}

START_TEST(text_and_html)
{
    check_written_as(DG_RENDITION_TXT, "de", "Big & bold\n\nOne <b>.\n\nNext\n\nTwo.\n");
    check_written_as(
        DG_RENDITION_HTML, "ar",
        "<!DOCTYPE html>\n<html lang=\"ar-EG\" dir=\"rtl\">\n<meta charset=\"utf-8\">\n"
        "<title></title>\n<h1>Big &amp; bold</h1>\n<p>One &lt;b&gt;.</p>\n"
        "<h2>Next</h2>\n<p>Two.</p>\n");
}
END_TEST

/* The code that reads documents of other programs reads them, too. */
START_TEST(documents_can_be_read_again)
{
    struct dg_buf out;
    write_as(DG_RENDITION_DOCX, "de", &out);
    check_text("a.docx", dg_buf_span(&out), "",
               "<p>Big &amp; bold</p>\n<p>One &lt;b&gt;.</p>\n<p>Next</p>\n<p>Two.</p>\n");
    dg_buf_deinit(&out);
    write_as(DG_RENDITION_ODT, "pt-BR", &out);
    check_text("a.odt", dg_buf_span(&out), "",
               "<p>Big &amp; bold</p>\n<p>One &lt;b&gt;.</p>\n<p>Next</p>\n<p>Two.</p>\n");
    dg_buf_deinit(&out);
    write_as(DG_RENDITION_DOCX, "", &out);
    dg_buf_deinit(&out);
}
END_TEST

START_TEST(other_texts_are_refused)
{
    struct dg_buf out;
    enum dg_rendition rendition;
    dg_buf_init(&out, FILTERED_MAX);
    ck_assert_int_eq(
        dg_rendition_write(DG_RENDITION_TXT, DG_SPAN("<p>a<b>c</b></p>"), DG_SPAN(""), &out, NULL),
        DG_ERR_FORMAT);
    ck_assert(dg_rendition_of(DG_SPAN("ODT"), &rendition));
    ck_assert_int_eq(rendition, DG_RENDITION_ODT);
    ck_assert(dg_rendition_of(DG_SPAN(""), &rendition));
    ck_assert_int_eq(rendition, DG_RENDITION_DOCX);
    ck_assert(!dg_rendition_of(DG_SPAN("pdf"), &rendition));
    dg_buf_deinit(&out);
}
END_TEST

START_TEST(a_pdf_becomes_another_document)
{
    const char *ending;
    ck_assert(dg_filter_output(DG_SPAN("a.pdf"), DG_SPAN(""), &ending));
    ck_assert_str_eq(ending, "docx");
    ck_assert(dg_filter_output(DG_SPAN("a.PDF"), DG_SPAN("txt"), &ending));
    ck_assert_str_eq(ending, "txt");
    ck_assert(!dg_filter_output(DG_SPAN("a.pdf"), DG_SPAN("pdf"), &ending));
    ck_assert(dg_filter_output(DG_SPAN("a.docx"), DG_SPAN("docx"), &ending));
    ck_assert_ptr_null(ending);
    ck_assert(!dg_filter_output(DG_SPAN("a.docx"), DG_SPAN("odt"), &ending));
    check_refusal("a.pdf", DG_SPAN("Text"), "", DG_ERR_FORMAT, "not a PDF");
}
END_TEST

DG_UNIT(text_and_html, documents_can_be_read_again, other_texts_are_refused,
        a_pdf_becomes_another_document)
