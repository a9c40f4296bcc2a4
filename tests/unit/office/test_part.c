/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/rng.h"
#include "markup/doc.h"
#include "markup/markup.h"
#include "markup/tag_placement.h"
#include "office/part.h"
#include "office/sheets.h"
#include "unit.h"

#include <stdio.h>

#define WORD "http://schemas.openxmlformats.org/wordprocessingml/2006/main"

enum { TEXT_MAX = 1 << 22, TOKENS_MAX = 512 };

static const struct dg_office_opts plain_opts = {.has_text = true};

/* ---- A translation --------------------------------------------------------------------------- */

/* Translates each line of the text into the same words in another order, and has the tags placed as
 * the engine does. Without `rng` the order stays. */
static void say_line(const struct dg_doc *doc, const struct dg_doc_part *part, struct dg_rng *rng,
                     struct dg_buf *out)
{
    const struct dg_span line = dg_span_sub(dg_doc_plain(doc), part->at, part->len);
    struct dg_token tokens[TOKENS_MAX];
    size_t ends[TOKENS_MAX], order[TOKENS_MAX], n = 0;
    struct dg_buf said;
    dg_buf_init(&said, TEXT_MAX);
    for (size_t i = 0; i < line.len && n < TOKENS_MAX; i++) {
        const size_t from = i;
        while (i < line.len && line.ptr[i] != ' ')
            i++;
        if (i > from)
            tokens[n++] = (struct dg_token){.begin = (uint32_t)(part->at + from),
                                            .end = (uint32_t)(part->at + i)};
    }
    float *alignment = calloc(n * n + 1, sizeof *alignment);
    ck_assert_ptr_nonnull(alignment);
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; rng && i > 1; i--) {
        const size_t k = (size_t)(dg_rng_next(rng) % i), kept = order[i - 1];
        order[i - 1] = order[k];
        order[k] = kept;
    }
    for (size_t t = 0; t < n; t++) {
        const struct dg_token *token = &tokens[order[t]];
        if (t > 0)
            ck_assert_int_eq(dg_buf_append_byte(&said, ' '), DG_OK);
        ck_assert_int_eq(dg_buf_append_span(&said, dg_span_sub(dg_doc_plain(doc), token->begin,
                                                               token->end - token->begin)),
                         DG_OK);
        ends[t] = said.len;
        alignment[t * n + order[t]] = 1;
    }
    const struct dg_tag_placement_source source = {.tokens = tokens, .n = n};
    const struct dg_tag_placement_target target = {
        .text = dg_buf_span(&said), .ends = ends, .n = n, .alignment = alignment};
    ck_assert_int_eq(dg_tag_placement(doc, part, &source, &target, out), DG_OK);
    free(alignment);
    dg_buf_deinit(&said);
}

static void translate(struct dg_span html, struct dg_rng *rng, struct dg_buf *out)
{
    struct dg_doc *doc = NULL;
    struct dg_doc_cursor cursor = {0};
    ck_assert_int_eq(dg_doc_new(html, DG_DOC_HTML, NULL, &doc, NULL), DG_OK);
    const struct dg_span plain = dg_doc_plain(doc);
    for (size_t at = 0, end; at < plain.len; at = end) {
        const bool is_text = plain.ptr[at] != '\n' && plain.ptr[at] != ' ';
        for (end = at + 1; end < plain.len && is_text && plain.ptr[end] != '\n'; end++)
            ;
        while (is_text && plain.ptr[end - 1] == ' ')
            end--;
        struct dg_doc_part part = dg_doc_next(doc, &cursor, at, end - at, is_text);
        if (is_text)
            say_line(doc, &part, rng, out);
        else
            ck_assert_int_eq(dg_doc_copy(doc, &part, false, out), DG_OK);
    }
    ck_assert_int_eq(dg_doc_rest(doc, &cursor, out), DG_OK);
    dg_doc_free(doc);
}

/* ---- A part ---------------------------------------------------------------------------------- */

static struct dg_office_part *open_part(const char *xml, const struct dg_office_opts *opts)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_office_part *part = NULL;
    const enum dg_err err = dg_office_part_new(dg_span_cstr(xml), opts, "it", &part, &error);
    ck_assert_msg(err == DG_OK, "%s: %s", error.text, xml);
    return part;
}

/* The body of a document in WordprocessingML. */
static const char *document(const char *body)
{
    static char xml[1 << 16];
    snprintf(xml, sizeof xml,
             "<?xml version=\"1.0\"?>\n<w:document xmlns:w=\"" WORD "\"><w:body>%s</w:body>"
             "</w:document>",
             body);
    return xml;
}

static void check_text(const char *body, const char *html)
{
    struct dg_office_part *part = open_part(document(body), &plain_opts);
    struct dg_buf text;
    dg_buf_init(&text, TEXT_MAX);
    ck_assert_int_eq(dg_office_part_text(part, &text), DG_OK);
    ck_assert_int_eq(dg_buf_append_byte(&text, '\0'), DG_OK);
    ck_assert_str_eq(text.ptr, html);
    dg_buf_deinit(&text);
    dg_office_part_free(part);
}

static enum dg_err write_as(const char *xml, const char *html, const struct dg_office_opts *opts,
                            struct dg_buf *out, struct dg_error *error)
{
    struct dg_office_part *part = open_part(xml, opts);
    struct dg_buf text;
    dg_buf_init(&text, TEXT_MAX);
    ck_assert_int_eq(dg_office_part_text(part, &text), DG_OK);
    struct dg_span source = dg_buf_span(&text), target = dg_span_cstr(html);
    const enum dg_err err = dg_office_part_write(part, &source, &target, out, error);
    dg_buf_deinit(&text);
    dg_office_part_free(part);
    return err;
}

/* Compares only the contents of the body. */
static void check_written(const char *body, const char *html, const struct dg_office_opts *opts,
                          const char *expected)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_buf out;
    dg_buf_init(&out, TEXT_MAX);
    const enum dg_err err = write_as(document(body), html, opts, &out, &error);
    ck_assert_msg(err == DG_OK, "%s", error.text);
    ck_assert_int_eq(dg_buf_append_byte(&out, '\0'), DG_OK);
    ck_assert_str_eq(out.ptr, document(expected));
    dg_buf_deinit(&out);
}

/* ---- Text ------------------------------------------------------------------------------------ */

#define RUN(props, text) "<w:r>" props "<w:t xml:space=\"preserve\">" text "</w:t></w:r>"
#define BOLD             "<w:rPr><w:b/></w:rPr>"
#define ITALIC           "<w:rPr><w:i/></w:rPr>"

START_TEST(most_text_of_a_paragraph_has_no_marks)
{
    check_text("<w:p>" RUN("", "A ") RUN(BOLD, "big") RUN("", " cat.") "</w:p>",
               "<p>A <b id=0>big</b> cat.</p>\n");
    check_text("<w:p>" RUN(BOLD, "All of it ") RUN(BOLD, "is bold.") "</w:p>",
               "<p>All of it is bold.</p>\n");
    check_text("<w:p>" RUN("", "a ") RUN(BOLD, "bold words ") RUN(ITALIC, "b") "</w:p>",
               "<p><b id=0>a </b>bold words <b id=1>b</b></p>\n");
    /* Languages and spelling errors do not count as formatting. */
    check_text("<w:p>" RUN("<w:rPr><w:lang w:val=\"en-US\"/></w:rPr>",
                           "Wor") "<w:proofErr w:type=\"x\"/>" RUN("", "ds.") "</w:p>",
               "<p>Words.</p>\n");
    check_text("<w:p>" RUN("", "12,5 &amp; 7") "</w:p><w:p/>", "");
    check_text("<w:p>" RUN("", "&#233;&quot;  &lt;&amp;\n x") "</w:p>",
               "<p>\xC3\xA9\" &lt;&amp; x</p>\n");
    check_text("<w:p><w:r><w:t> trimmed </w:t><w:t><![CDATA[<&amp;]]></w:t></w:r></w:p>",
               "<p>trimmed&lt;&amp;amp;</p>\n");
}
END_TEST

START_TEST(marks_and_containers_have_places)
{
    check_text("<w:p>" RUN("", "See") "<w:r><w:footnoteReference w:id=\"2\"/></w:r>" RUN(
                   "", " the ") "<w:hyperlink r:id=\"x\">" RUN(BOLD, "page") "</w:hyperlink></w:p>",
               "<p>See<img id=0> the <b id=1>page</b></p>\n");
    check_text("<w:p>" RUN("", "Name:") "<w:r><w:tab/><w:t>Anne</w:t><w:br/></w:r></w:p>",
               "<p>Name:<br id=0>Anne<br id=1></p>\n");
    check_text("<w:p><w:ins w:id=\"1\">" RUN("", "new") "</w:ins><w:del w:id=\"2\"><w:r><w:delText>"
                                                        "old</w:delText></w:r></w:del></w:p>",
               "<p><b id=0>new</b><img id=1></p>\n");
    check_text("<w:p><w:sdt><w:sdtPr><w:id w:val=\"1\"/></w:sdtPr><w:sdtContent>" RUN(
                   "", "in it") "</w:sdtContent></w:sdt>" RUN("", " out of it") "</w:p>",
               "<p><b id=0>in it</b> out of it</p>\n");
}
END_TEST

#define FIELD(code, shown)                                                                         \
    "<w:r><w:fldChar w:fldCharType=\"begin\"/></w:r><w:r><w:instrText>" code                       \
    "</w:instrText></w:r><w:r><w:fldChar w:fldCharType=\"separate\"/></w:r>" shown                 \
    "<w:r><w:fldChar w:fldCharType=\"end\"/></w:r>"

START_TEST(fields_are_marks_and_links_have_text)
{
    check_text("<w:p>" RUN("", "Page ") FIELD("PAGE", RUN("", "three")) "</w:p>",
               "<p>Page <img id=0></p>\n");
    check_text("<w:p>" RUN("", "To ") FIELD("HYPERLINK x", RUN("", "Rome")) "</w:p>",
               "<p>To <b id=0>Rome</b></p>\n");
    check_text("<w:p><w:fldSimple w:instr=\"DATE\">" RUN("", "May") "</w:fldSimple>" RUN(
                   "", "is now") "</w:p>",
               "<p><img id=0>is now</p>\n");
    /* A field that continues in another paragraph stays where it is. */
    check_text(
        "<w:p><w:r><w:fldChar w:fldCharType=\"begin\"/></w:r>" RUN("", "one") "</w:p><w:p>" RUN(
            "", "two") "<w:r><w:fldChar w:fldCharType=\"end\"/></w:r></w:p>",
        "<p><br id=0>one</p>\n<p>two<br id=0></p>\n");
}
END_TEST

#define MARK(name, id) "<w:" name " w:id=\"" id "\"/>"

START_TEST(ranges_are_pairs_unless_they_overlap)
{
    check_text("<w:p>" MARK("bookmarkStart", "1") RUN("", "a ") MARK("commentRangeStart", "1")
                   RUN("", "b") MARK("commentRangeEnd", "1") MARK("bookmarkEnd", "1") "</w:p>",
               "<p><b id=0>a <b id=1>b</b></b></p>\n");
    check_text("<w:p>" MARK("bookmarkStart", "1") RUN("", "a") MARK("bookmarkStart", "2")
                   RUN("", "b") MARK("bookmarkEnd", "1") RUN("", "c")
                       MARK("bookmarkEnd", "2") "</w:p>",
               "<p><b id=0>a<br id=1>b</b>c<br id=2></p>\n");
    check_text("<w:p>" MARK("bookmarkEnd", "7") RUN("", "a") MARK("bookmarkStart", "8") "</w:p>",
               "<p><img id=0>a<img id=1></p>\n");
    check_text("<w:p>" MARK("bookmarkStart", "1") "<w:ins>" RUN("", "a") MARK("bookmarkEnd", "1")
                   RUN("", "b") "</w:ins></w:p>",
               "<p><br id=0><b id=1>a<br id=2>b</b></p>\n");
}
END_TEST

START_TEST(paragraphs_in_marks_are_paragraphs)
{
    check_text("<w:p>" RUN("", "outer") "<w:r><w:drawing><wp:docPr descr=\"a &quot;cat&quot;\"/>"
                                        "<w:txbxContent><w:p>" RUN(
                                            "", "inner") "</w:p></w:txbxContent></w:drawing></w:r>"
                                                         "</w:p>",
               "<p>outer<img id=0></p>\n<p>a \"cat\"</p>\n<p>inner</p>\n");
    check_written(
        "<w:p>" RUN("", "outer") "<w:r><w:drawing><wp:docPr descr=\"a &quot;cat&quot;\"/>"
                                 "<w:txbxContent><w:p>" RUN(
                                     "", "inner") "</w:p></w:txbxContent></w:drawing></w:r>"
                                                  "</w:p>",
        "<p><img id=0>dehors</p><p>un \"chat\"</p><p>dedans &amp; &gt;</p>", &plain_opts,
        "<w:p><w:r><w:drawing><wp:docPr descr=\"un &quot;chat&quot;\"/><w:txbxContent>"
        "<w:p>" RUN("",
                    "dedans &amp; &gt;") "</w:p></w:txbxContent></w:drawing>"
                                         "<w:t xml:space=\"preserve\">dehors</w:t></w:r></w:p>");
}
END_TEST

/* ---- Writing --------------------------------------------------------------------------------- */

START_TEST(runs_go_where_the_words_went)
{
    const char *body = "<w:p><w:pPr><w:jc w:val=\"both\"/></w:pPr>" RUN("", "A ") RUN(BOLD, "big")
        RUN("", " cat") "<w:r><w:footnoteReference w:id=\"2\"/></w:r></w:p>";
    check_text(body, "<p>A <b id=1>big</b> cat<img id=0></p>\n");
    check_written(
        body, "<p>Un chat<img id=0> <b id=1>grand</b></p>", &plain_opts,
        "<w:p><w:pPr><w:jc w:val=\"both\"/></w:pPr><w:r><w:t xml:space=\"preserve\">Un chat"
        "</w:t><w:footnoteReference w:id=\"2\"/><w:t xml:space=\"preserve\"> </w:t></w:r>" RUN(
            BOLD, "grand") "</w:p>");
    check_written(body, "<p>Un chat<b id=1></b><img id=0></p>", &plain_opts,
                  "<w:p><w:pPr><w:jc w:val=\"both\"/></w:pPr>" RUN("", "Un chat")
                      RUN(BOLD, "") "<w:r><w:footnoteReference w:id=\"2\"/></w:r></w:p>");
}
END_TEST

START_TEST(what_did_not_change_keeps_its_bytes)
{
    const char *same = "<w:p  >\n " RUN(BOLD, "a") " <!-- c --> " RUN("", "bc  d") "</w:p >";
    char body[1024], expected[1024];
    snprintf(body, sizeof body, "%s<w:p>" RUN("", "old") "</w:p>", same);
    snprintf(expected, sizeof expected, "%s<w:p>" RUN("", "new") "</w:p>", same);
    check_written(body, "<p><b id=0>a</b>bc d</p><p>new</p>", &plain_opts, expected);
}
END_TEST

START_TEST(languages_are_named)
{
    const struct dg_office_opts german = {.language = "de-DE", .has_text = true};
    const struct dg_office_opts arabic = {
        .language = "ar-EG", .is_right_to_left = true, .has_text = true};
    const struct dg_office_opts chinese = {
        .language = "zh-CN", .is_east_asian = true, .has_text = true};
    const char *body =
        "<w:p>" RUN("<w:rPr><w:lang w:val=\"en-US\" w:eastAsia=\"ja-JP\"/></w:rPr>", "a") "</w:p>";
    check_written(
        body, "<p>b</p>", &german,
        "<w:p>" RUN("<w:rPr><w:lang w:val=\"de-DE\" w:eastAsia=\"ja-JP\"/></w:rPr>", "b") "</w:p>");
    check_written(
        body, "<p>b</p>", &chinese,
        "<w:p>" RUN("<w:rPr><w:lang w:val=\"en-US\" w:eastAsia=\"zh-CN\"/></w:rPr>", "b") "</w:p>");
    check_written(body, "<p>b</p>", &arabic,
                  "<w:p><w:pPr><w:bidi/></w:pPr>" RUN(
                      "<w:rPr><w:rtl/><w:lang w:bidi=\"ar-EG\" w:val=\"en-US\" "
                      "w:eastAsia=\"ja-JP\"/></w:rPr>",
                      "b") "</w:p>");
    check_written("<w:p><w:pPr><w:keepNext/><w:jc w:val=\"left\"/></w:pPr>" RUN("", "a") "</w:p>",
                  "<p>b</p>", &arabic,
                  "<w:p><w:pPr><w:keepNext/><w:bidi/><w:jc w:val=\"left\"/></w:pPr>" RUN(
                      "<w:rPr><w:rtl/></w:rPr>", "b") "</w:p>");
    check_written(
        "<w:p><w:pPr><w:bidi/></w:pPr>" RUN("<w:rPr><w:b/><w:rtl/></w:rPr>", "a") "</w:p>",
        "<p>b</p>", &german, "<w:p><w:pPr></w:pPr>" RUN("<w:rPr><w:b/></w:rPr>", "b") "</w:p>");
}
END_TEST

START_TEST(a_translation_must_have_the_same_marks)
{
    const char *body =
        "<w:p>" RUN("", "A ") RUN(BOLD, "big") RUN("", " cat") "<w:r><w:sym/></w:r></w:p>";
    static const char *const bad[] = {
        "",
        "<p>x</p>",
        "<p>x<b id=1>y</b></p>",
        "<p>x<b id=1>y</b><img id=0><img id=0></p>",
        "<p>x<b id=1>y</b><img id=1></p>",
        "<p>x<b id=0>y</b><img id=1></p>",
        "<p>x<b id=1>y<img id=0></p>",
        "<p>x</b><b id=1>y<img id=0></p>",
        "<p>x<b id=7>y</b><img id=0></p>",
        "<p>x<b>y</b><img id=0></p>",
        "<p>x<b id=1>y</b><img id=0><!-- c --></p>",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct dg_error error = DG_ERROR_NONE;
        struct dg_buf out;
        dg_buf_init(&out, TEXT_MAX);
        ck_assert_int_eq(write_as(document(body), bad[i], &plain_opts, &out, &error),
                         DG_ERR_FORMAT);
        ck_assert_ptr_nonnull(strstr(error.text, "the translation "));
        dg_buf_deinit(&out);
    }
}
END_TEST

/* ---- Other families -------------------------------------------------------------------------- */

#define DRAWING "<d xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\">%s</d>"
#define OPEN_TEXT                                                                                  \
    "<d xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\" "                            \
    "xmlns:style=\"urn:oasis:names:tc:opendocument:xmlns:style:1.0\">%s</d>"

/* The part, written with this translation; in static memory. */
static const char *written(const char *frame, const char *body, const char *html,
                           const struct dg_office_opts *opts)
{
    static char xml[1 << 14], result[1 << 14];
    struct dg_error error = DG_ERROR_NONE;
    struct dg_buf out;
    const char *end = strstr(frame, "%s");
    dg_buf_init(&out, TEXT_MAX);
    snprintf(xml, sizeof xml, "%.*s%s</d>", (int)(end - frame), frame, body);
    const enum dg_err err = write_as(xml, html, opts, &out, &error);
    ck_assert_msg(err == DG_OK, "%s", error.text);
    const size_t begin = (size_t)(end - frame);
    snprintf(result, sizeof result, "%.*s", (int)(out.len - begin - strlen("</d>")),
             out.ptr + begin);
    dg_buf_deinit(&out);
    return result;
}

START_TEST(slides_have_runs_too)
{
    const struct dg_office_opts hebrew = {
        .language = "he-IL", .is_right_to_left = true, .has_text = true};
    const struct dg_office_opts german = {.language = "de-DE", .has_text = true};
    const char *body =
        "<a:p><a:r><a:rPr lang=\"en-US\" dirty=\"0\"/><a:t>one </a:t></a:r><a:r><a:rPr "
        "lang=\"en-US\"/><a:t>two</a:t></a:r><a:br/><a:endParaRPr lang=\"en-US\"/></a:p>";
    ck_assert_str_eq(
        written(DRAWING, body, "<p>eins zwei<br id=0></p>", &german),
        "<a:p><a:r><a:rPr lang=\"de-DE\" dirty=\"0\"/><a:t>eins zwei</a:t></a:r><a:br/>"
        "<a:endParaRPr lang=\"de-DE\"/></a:p>");
    ck_assert_str_eq(
        written(DRAWING, body, "<p>x<br id=0></p>", &hebrew),
        "<a:p><a:pPr rtl=\"1\"/><a:r><a:rPr lang=\"he-IL\" dirty=\"0\"/><a:t>x</a:t></a:r>"
        "<a:br/><a:endParaRPr lang=\"he-IL\"/></a:p>");
    ck_assert_str_eq(written(DRAWING, "<a:p><a:pPr lvl=\"1\"/><a:r><a:t>x</a:t></a:r></a:p>",
                             "<p>y</p>", &hebrew),
                     "<a:p><a:pPr rtl=\"1\" lvl=\"1\"/><a:r><a:t>y</a:t></a:r></a:p>");
    ck_assert_str_eq(written(DRAWING, "<a:p><a:pPr rtl=\"1\"/><a:r><a:t>x</a:t></a:r></a:p>",
                             "<p>y</p>", &german),
                     "<a:p><a:pPr rtl=\"0\"/><a:r><a:t>y</a:t></a:r></a:p>");
}
END_TEST

#define CHART(body)                                                                                \
    "<c:chart xmlns:c=\"http://schemas.openxmlformats.org/drawingml/2006/chart\" "                 \
    "xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\">" body "</c:chart>"
#define LAYOUT(body)                                                                               \
    "<p:sldLayout xmlns:p=\"http://schemas.openxmlformats.org/presentationml/2006/main\" "         \
    "xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\">" body "</p:sldLayout>"
#define SHAPE(place, text)                                                                         \
    "<p:sp><p:nvSpPr><p:nvPr>" place "</p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>" text          \
    "</a:t></a:r></a:p></p:txBody></p:sp>"

static void check_shown(const char *xml, const struct dg_office_opts *opts, const char *expected)
{
    struct dg_buf html;
    struct dg_office_part *part = open_part(xml, opts);
    dg_buf_init(&html, 1 << 16);
    ck_assert_int_eq(dg_office_part_text(part, &html), DG_OK);
    ck_assert_int_eq(dg_buf_append_byte(&html, '\0'), DG_OK);
    ck_assert_str_eq(html.ptr, expected);
    dg_buf_deinit(&html);
    dg_office_part_free(part);
}

START_TEST(charts_remember_texts_and_numbers)
{
    check_shown((CHART("<c:title><a:p><a:r><a:t>Big cats</a:t></a:r></a:p></c:title>"
                       "<c:tx><c:strRef><c:f>Sheet1!B1</c:f><c:strCache><c:pt idx=\"0\">"
                       "<c:v>A cat</c:v></c:pt></c:strCache></c:strRef></c:tx>"
                       "<c:val><c:numCache><c:formatCode>General</c:formatCode><c:pt>"
                       "<c:v>1.5E-3</c:v></c:pt></c:numCache></c:val>")),
                &plain_opts, "<p>Big cats</p>\n<p>A cat</p>\n");
}
END_TEST

START_TEST(placeholders_of_a_layout_are_not_shown)
{
    struct dg_office_opts opts = plain_opts;
    const char *xml =
        LAYOUT(SHAPE("<p:ph type=\"title\"/>", "Click to edit") SHAPE("", "A company"));
    check_shown(xml, &opts, "<p>Click to edit</p>\n<p>A company</p>\n");
    opts.is_layout = true;
    check_shown(xml, &opts, "<p>A company</p>\n");
}
END_TEST

#define SHEET(body)                                                                                \
    "<worksheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\">" body         \
    "</worksheet>"

/* Checks the part with a translation in place of its text. */
static void check_rewritten(const char *xml, const struct dg_office_opts *opts, const char *html,
                            const char *expected)
{
    struct dg_error error;
    struct dg_buf text, out;
    struct dg_office_part *part = open_part(xml, opts);
    dg_buf_init(&text, 1 << 16);
    dg_buf_init(&out, 1 << 16);
    ck_assert_int_eq(dg_office_part_text(part, &text), DG_OK);
    struct dg_span source = dg_buf_span(&text), target = dg_span_cstr(html);
    ck_assert_int_eq(dg_office_part_write(part, &source, &target, &out, &error), DG_OK);
    ck_assert_int_eq(dg_buf_append_byte(&out, '\0'), DG_OK);
    ck_assert_str_eq(out.ptr, expected);
    dg_buf_deinit(&out);
    dg_buf_deinit(&text);
    dg_office_part_free(part);
}

START_TEST(margins_of_sheets_have_codes)
{
    const char *xml = SHEET("<oddHeader>&amp;LOur prices&amp;C&amp;\"Arial,Bold\"&amp;12Big "
                            "cats&amp;K01+000red&amp;RPage &amp;P+1 of &amp;N</oddHeader>"
                            "<oddFooter>&amp;P</oddFooter>");
    check_shown(xml, &plain_opts,
                "<p><br id=0>Our prices<br id=1><img id=2><img id=3>Big cats<img id=4>red"
                "<br id=5>Page <img id=6> of <img id=7></p>\n");
    check_rewritten(xml, &plain_opts,
                    "<p><br id=0>R&amp;D & more<br id=1><img id=2><img id=3>12 cats<img "
                    "id=4>rot<br id=5>Seite <img id=6> von <img id=7></p>\n",
                    SHEET("<oddHeader>&amp;LR&amp;&amp;D &amp;&amp; more&amp;C&amp;\"Arial,Bold\""
                          "&amp;12 12 cats&amp;K01+000rot&amp;RSeite &amp;P+1 von &amp;N"
                          "</oddHeader><oddFooter>&amp;P</oddFooter>"));
    check_shown(SHEET("<oddHeader>A&amp;</oddHeader><oddFooter>A cat &amp;\"Arial</oddFooter>"
                      "<evenHeader>A cat &amp;K1</evenHeader>"),
                &plain_opts,
                "<p>A<img id=0></p>\n<p>A cat <img id=0></p>\n<p>A cat <img id=0></p>\n");
}
END_TEST

START_TEST(cells_have_lines)
{
    const struct dg_office_opts table = {.has_text = true, .is_table = true};
    const char *xml = SHEET("<si><t>A cat\nA dog&#10;_x000D_\n1_x000a_</t></si>"
                            "<si><r><t>A </t></r><r><rPr><b/></rPr><t>cat\nA dog</t></r></si>");
    check_shown(xml, &plain_opts,
                "<p>A cat<br id=0>A dog<br id=1><br id=2>1<br id=3></p>\n"
                "<p><b id=1>A</b>cat<br id=0>A dog</p>\n");
    check_rewritten(xml, &plain_opts,
                    "<p>Un chat<br id=0>Un chien<br id=1><br id=2>1<br id=3></p>\n"
                    "<p><b id=1>Un</b> chat<br id=0>Un chien</p>\n",
                    SHEET("<si><t xml:space=\"preserve\">Un chat\nUn chien&#10;_x000D_\n1_x000a_"
                          "</t></si><si><r><t xml:space=\"preserve\">Un</t></r><r><rPr><b/></rPr>"
                          "<t xml:space=\"preserve\"> chat\nUn chien</t></r></si>"));
    check_shown(SHEET("<tableColumn name=\"A_x000a_cat\"/><tableColumn name=\"A&#10;dog\"/>"),
                &table, "<p>Acat</p>\n<p>Adog</p>\n");
}
END_TEST

START_TEST(sheets_are_called_what_they_may_be)
{
    struct dg_office_opts opts = plain_opts;
    struct dg_sheets sheets;
    const char *xml = SHEET("<sheet name=\"Big\"/><sheet name=\"Small\"/><sheet name=\"Red\"/>");
    dg_sheets_init(&sheets, '!');
    ck_assert_int_eq(dg_sheets_add(&sheets, DG_SPAN("Big")), DG_OK);
    ck_assert_int_eq(dg_sheets_add(&sheets, DG_SPAN("Small")), DG_OK);
    ck_assert_int_eq(dg_sheets_add(&sheets, DG_SPAN("Red")), DG_OK);
    dg_sheets_look(&sheets, DG_SPAN("Red!A1"));
    check_shown(xml, &opts, "");
    opts.sheets = &sheets;
    check_shown(xml, &opts, "<p>Big</p>\n<p>Small</p>\n");
    check_rewritten(xml, &opts, "<p>Gros & gras</p><p>red</p>",
                    SHEET("<sheet name=\"Gros &amp; gras\"/><sheet name=\"Small\"/><sheet "
                          "name=\"Red\"/>"));
    dg_sheets_deinit(&sheets);
}
END_TEST

START_TEST(opendocument_has_text_in_paragraphs)
{
    const struct dg_office_opts arabic = {
        .language = "ar-EG", .is_right_to_left = true, .has_text = true};
    const char *body = "<text:p>a<text:s/>b <text:span>c</text:span><text:s text:c=\"3\"/>"
                       "<text:bookmark-start text:name=\"x\"/>d<text:bookmark-end text:name=\"x\"/>"
                       "<text:note><text:p>e</text:p></text:note></text:p>";
    ck_assert_str_eq(
        written(OPEN_TEXT, body,
                "<p>A B <b id=0>C</b><br id=1><b id=2>D</b><img id=3></p><p>E &quot; &lt;</p>",
                &plain_opts),
        "<text:p>A B <text:span>C</text:span><text:s text:c=\"3\"/><text:bookmark-start "
        "text:name=\"x\"/>D<text:bookmark-end text:name=\"x\"/><text:note><text:p>E &quot; &lt;"
        "</text:p></text:note></text:p>");
    ck_assert_str_eq(written(OPEN_TEXT,
                             "<style:paragraph-properties style:writing-mode=\"lr-tb\"/>"
                             "<style:paragraph-properties/>",
                             "", &arabic),
                     "<style:paragraph-properties style:writing-mode=\"rl-tb\"/>"
                     "<style:paragraph-properties style:writing-mode=\"rl-tb\"/>");
}
END_TEST

START_TEST(pages_have_blocks_in_blocks)
{
    const struct dg_office_opts book = {.language = "de-DE", .is_html = true, .has_text = true};
    const char *frame = "<!DOCTYPE html><d xmlns=\"http://www.w3.org/1999/xhtml\">%s</d>";
    ck_assert_str_eq(
        written(frame,
                "<div>a<p>b&nbsp;<em>c</em></p> d <pre>e</pre><p>1</p></div><script>f</script>",
                "<p>A<br id=0> D <br id=1><br id=2></p><p>B <b id=0>C</b></p>", &book),
        "<div>A<p>B <em>C</em></p> D <pre>e</pre><p>1</p></div><script>f</script>");
    ck_assert_str_eq(written(frame, "<html lang=\"fr\" xml:lang=\"fr\" dir=\"rtl\"/>", "", &book),
                     "<html lang=\"de\" xml:lang=\"de\" dir=\"ltr\"/>");
    struct dg_error error = DG_ERROR_NONE;
    struct dg_office_part *part = NULL;
    ck_assert_int_eq(dg_office_part_new(DG_SPAN("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"), &book,
                                        "it", &part, &error),
                     DG_ERR_DENIED);
}
END_TEST

/* ---- Any paragraph --------------------------------------------------------------------------- */

static void put_run(struct dg_rng *rng, struct dg_buf *xml, int *n_words, int *n_marks)
{
    static const char *const looks[] = {
        "", "", "", BOLD, ITALIC, "<w:rPr><w:vertAlign w:val=\"superscript\"/></w:rPr>"};
    enum dg_err err = dg_buf_printf(xml, "<w:r>%s", looks[dg_rng_next(rng) % 6]);
    for (size_t i = 1 + dg_rng_next(rng) % 3; i > 0 && !err; i--)
        err = dg_buf_printf(xml, "<w:t xml:space=\"preserve\"> w%dw </w:t>", (*n_words)++);
    if (!err && dg_rng_next(rng) % 4 == 0)
        err = dg_buf_printf(xml, "<w:%s m=\"m%dm\"/>",
                            dg_rng_next(rng) % 3 ? "footnoteReference" : "br", (*n_marks)++);
    ck_assert_int_eq(err, DG_OK);
    ck_assert_int_eq(dg_buf_append_cstr(xml, "</w:r>"), DG_OK);
}

static void put_paragraph(struct dg_rng *rng, struct dg_buf *xml, int *n_words, int *n_marks)
{
    static const char *const containers[] = {"hyperlink", "ins", "smartTag"};
    const char *open[16];
    size_t depth = 0;
    enum dg_err err = DG_OK;
    for (size_t i = 1 + dg_rng_next(rng) % 12; i > 0 && !err; i--) {
        const uint64_t what = dg_rng_next(rng) % 8;
        if (what == 0 && depth < 16) {
            open[depth] = containers[dg_rng_next(rng) % 3];
            err = dg_buf_printf(xml, "<w:%s m=\"m%dm\">", open[depth++], (*n_marks)++);
        } else if (what == 1 && depth > 0) {
            err = dg_buf_printf(xml, "</w:%s>", open[--depth]);
        } else if (what == 2) {
            err = dg_buf_printf(xml, "<w:bookmark%s w:id=\"%d\" m=\"m%dm\"/>",
                                dg_rng_next(rng) % 2 ? "Start" : "End", (int)(dg_rng_next(rng) % 3),
                                *n_marks);
            ++*n_marks;
        }
        put_run(rng, xml, n_words, n_marks);
    }
    while (depth > 0 && !err)
        err = dg_buf_printf(xml, "</w:%s>", open[--depth]);
    ck_assert_int_eq(err, DG_OK);
}

static void check_once(const char *xml, const char *what, int n, char end)
{
    for (int i = 0; i < n; i++) {
        char word[32];
        snprintf(word, sizeof word, "%s%d%c", what, i, end);
        const char *found = strstr(xml, word);
        ck_assert_msg(found && !strstr(found + 1, word), "%s in %s", word, xml);
    }
}

/* The text of all runs, without white space at its ends. */
static void put_words(const char *xml, struct dg_buf *out)
{
    struct dg_markup markup = {.text = dg_span_cstr(xml), .kind = DG_MARKUP_XML};
    struct dg_markup_token token;
    while (dg_markup_next(&markup, &token))
        if (token.type == DG_MARKUP_TEXT)
            for (size_t i = 0; i < token.len; i++)
                if (xml[token.at + i] != ' ' && xml[token.at + i] != '\n')
                    ck_assert_int_eq(dg_buf_append_byte(out, xml[token.at + i]), DG_OK);
    ck_assert_int_eq(dg_buf_append_byte(out, '\0'), DG_OK);
}

START_TEST(every_run_and_mark_is_there_once)
{
    struct dg_rng rng;
    dg_rng_init(&rng, 24, 1);
    for (int round = 0; round < dg_unit_rounds(1000); round++) {
        struct dg_buf xml, html, said, out, words[2];
        int n_words = 0, n_marks = 0;
        struct dg_buf *const all[] = {&xml, &html, &said, &out, &words[0], &words[1]};
        for (size_t i = 0; i < 6; i++)
            dg_buf_init(all[i], TEXT_MAX);
        put_paragraph(&rng, &xml, &n_words, &n_marks);
        ck_assert_int_eq(dg_buf_append_byte(&xml, '\0'), DG_OK);
        char body[1 << 14];
        snprintf(body, sizeof body, "<w:p>%s</w:p>", xml.ptr);
        struct dg_office_part *part = open_part(document(body), &plain_opts);
        ck_assert_int_eq(dg_office_part_text(part, &html), DG_OK);
        translate(dg_buf_span(&html), round % 4 ? &rng : NULL, &said);
        struct dg_span source = dg_buf_span(&html), target = dg_buf_span(&said);
        struct dg_error error = DG_ERROR_NONE;
        const enum dg_err err = dg_office_part_write(part, &source, &target, &out, &error);
        ck_assert_msg(err == DG_OK, "%s: %.*s", error.text, DG_SPAN_FMT(dg_buf_span(&said)));
        ck_assert_int_eq(dg_buf_append_byte(&out, '\0'), DG_OK);
        ck_assert_int_eq(dg_buf_append_byte(&said, '\0'), DG_OK);
        check_once(out.ptr, "w", n_words, 'w');
        check_once(out.ptr, "m", n_marks, 'm');
        put_words(out.ptr, &words[0]);
        put_words(said.ptr, &words[1]);
        ck_assert_str_eq(words[0].ptr, words[1].ptr);
        dg_office_part_free(part);
        dg_office_part_free(open_part(out.ptr, &plain_opts)); /* it is well formed */
        for (size_t i = 0; i < 6; i++)
            dg_buf_deinit(all[i]);
    }
}
END_TEST

/* ---- What is refused ------------------------------------------------------------------------- */

static void refuse(struct dg_span xml, enum dg_err expected, const char *why)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_office_part *part = NULL;
    ck_assert_int_eq(dg_office_part_new(xml, &plain_opts, "it", &part, &error), expected);
    ck_assert_msg(strstr(error.text, why), "%s", error.text);
}

START_TEST(what_is_not_well_formed_is_refused)
{
    refuse(DG_SPAN("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"), DG_ERR_DENIED, "declarations");
    refuse(DG_SPAN("<a><b></a></b>"), DG_ERR_FORMAT, "another element");
    refuse(DG_SPAN("<a><b>"), DG_ERR_TRUNCATED, "does not end");
    refuse(DG_SPAN("</a>"), DG_ERR_FORMAT, "without an element");
    refuse(DG_SPAN("<a>\xFF</a>"), DG_ERR_UTF8, "not UTF-8");
    refuse(DG_SPAN("<a><b"), DG_ERR_TRUNCATED, "does not end");
    enum { DEEP = 1 << 18 };
    char *deep = malloc(4 * DEEP);
    ck_assert_ptr_nonnull(deep);
    for (size_t i = 0; i < DEEP; i++)
        memcpy(deep + 4 * i, "<a> ", 4);
    refuse(dg_span_make(deep, (size_t)4 * DEEP), DG_ERR_LIMIT, "deeper than 256");
    free(deep);
}
END_TEST

DG_UNIT(most_text_of_a_paragraph_has_no_marks, marks_and_containers_have_places,
        fields_are_marks_and_links_have_text, ranges_are_pairs_unless_they_overlap,
        paragraphs_in_marks_are_paragraphs, runs_go_where_the_words_went,
        what_did_not_change_keeps_its_bytes, languages_are_named,
        a_translation_must_have_the_same_marks, slides_have_runs_too,
        charts_remember_texts_and_numbers, placeholders_of_a_layout_are_not_shown,
        margins_of_sheets_have_codes, cells_have_lines, sheets_are_called_what_they_may_be,
        opendocument_has_text_in_paragraphs, pages_have_blocks_in_blocks,
        every_run_and_mark_is_there_once, what_is_not_well_formed_is_refused)
