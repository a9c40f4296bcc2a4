/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The least that word processors accept as a document: paragraphs, two levels of headings, and the
 * language, which also gives the direction of writing. */
#include "filter/rendition.h"
#include "archive/zip_new.h"
#include "filter/block.h"
#include "markup/markup.h"
#include "text/language/langtag.h"

#include <stdio.h>
#include <string.h>

const char *const dg_rendition_words[] = {"docx", "odt", "html", "txt", NULL};

bool dg_rendition_of(struct dg_span word, enum dg_rendition *rendition)
{
    *rendition = DG_RENDITION_DOCX;
    for (int i = 0; dg_rendition_words[i] && word.len; i++) {
        if (!dg_markup_is(DG_MARKUP_HTML, word, dg_span_cstr(dg_rendition_words[i])))
            continue;
        *rendition = (enum dg_rendition)i;
        return true;
    }
    return word.len == 0;
}

/* What surrounds a heading of each level, and a paragraph. */
struct shape {
    const char *before[3], *after;
};

static const struct shape docx = {
    {"<w:p><w:r><w:t xml:space=\"preserve\">",
     "<w:p><w:pPr><w:pStyle w:val=\"Heading1\"/></w:pPr><w:r><w:t xml:space=\"preserve\">",
     "<w:p><w:pPr><w:pStyle w:val=\"Heading2\"/></w:pPr><w:r><w:t xml:space=\"preserve\">"},
    "</w:t></w:r></w:p>\n"};
static const struct shape docx_from_the_right = {
    {"<w:p><w:pPr><w:bidi/></w:pPr><w:r><w:rPr><w:rtl/></w:rPr><w:t xml:space=\"preserve\">",
     "<w:p><w:pPr><w:pStyle w:val=\"Heading1\"/><w:bidi/></w:pPr><w:r><w:rPr><w:rtl/></w:rPr><w:t "
     "xml:space=\"preserve\">",
     "<w:p><w:pPr><w:pStyle w:val=\"Heading2\"/><w:bidi/></w:pPr><w:r><w:rPr><w:rtl/></w:rPr><w:t "
     "xml:space=\"preserve\">"},
    "</w:t></w:r></w:p>\n"};
static const struct shape odt = {{"<text:p text:style-name=\"Text\">",
                                  "<text:h text:style-name=\"Head1\" text:outline-level=\"1\">",
                                  "<text:h text:style-name=\"Head2\" text:outline-level=\"2\">"},
                                 NULL};

static bool is_one_of(struct dg_span name, int *level)
{
    static const char *const names[] = {"p", "h1", "h2"};
    for (*level = 0; *level < 3; ++*level)
        if (dg_span_eq(name, dg_span_cstr(names[*level])))
            return true;
    return false;
}

static enum dg_err put_text(struct dg_span text, bool is_xml, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < text.len && !err; i++) {
        const char c = text.ptr[i];
        if (is_xml && (unsigned char)c < 0x20)
            err = dg_buf_append_byte(out, ' '); /* XML allows no other control characters */
        else if (is_xml && (c == '&' || c == '<' || c == '>'))
            err = dg_buf_append_cstr(out, c == '&' ? "&amp;" : c == '<' ? "&lt;" : "&gt;");
        else
            err = dg_buf_append_byte(out, c);
    }
    return err;
}

/* All paragraphs in a shape; NULL: plain text. */
static enum dg_err put_body(struct dg_span html, const struct shape *shape, struct dg_buf *out,
                            struct dg_error *error)
{
    struct dg_markup markup = {.text = html, .kind = DG_MARKUP_HTML};
    struct dg_markup_token token;
    struct dg_buf text;
    enum dg_err err = DG_OK;
    bool is_open = false, is_first = true;
    int level = 0;
    dg_buf_init(&text, out->max);
    while (!err && dg_markup_next(&markup, &token)) {
        const struct dg_span bytes = dg_span_sub(html, token.at, token.len);
        if (token.type == DG_MARKUP_TEXT) {
            dg_buf_clear(&text);
            if (is_open)
                err = dg_block_unescape(bytes, &text);
            if (!err)
                err = put_text(dg_buf_span(&text), shape != NULL, out);
        } else if (token.type == DG_MARKUP_START && !is_open && is_one_of(token.name, &level)) {
            err = dg_buf_append_cstr(out, shape ? shape->before[level] : is_first ? "" : "\n");
            is_open = true;
            is_first = false;
        } else if (token.type == DG_MARKUP_END && is_open && is_one_of(token.name, &level)) {
            err = dg_buf_append_cstr(out, !shape         ? "\n"
                                          : shape->after ? shape->after
                                          : level        ? "</text:h>\n"
                                                         : "</text:p>\n");
            is_open = false;
        } else {
            err = dg_error_set(
                error, DG_ERR_FORMAT,
                "the translation does not belong to this file: it has markup of its own");
        }
    }
    dg_buf_deinit(&text);
    return err;
}

#define XML "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"

static enum dg_err write_docx(struct dg_span html, const char *language, bool is_from_the_right,
                              struct dg_buf *out, struct dg_error *error)
{
    static const char types[] =
        XML "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\">"
            "<Default Extension=\"rels\" "
            "ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>"
            "<Default Extension=\"xml\" ContentType=\"application/xml\"/>"
            "<Override PartName=\"/word/document.xml\" "
            "ContentType=\"application/vnd.openxmlformats-officedocument.wordprocessingml.document"
            ".main+xml\"/><Override PartName=\"/word/styles.xml\" "
            "ContentType=\"application/vnd.openxmlformats-officedocument.wordprocessingml.styles"
            "+xml\"/></Types>";
    static const char package[] = XML
        "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">"
        "<Relationship Id=\"rId1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/"
        "relationships/officeDocument\" Target=\"word/document.xml\"/></Relationships>";
    static const char relations[] = XML
        "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">"
        "<Relationship Id=\"rId1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/"
        "relationships/styles\" Target=\"styles.xml\"/></Relationships>";
    static const char styles[] =
        XML "<w:styles xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\">"
            "<w:docDefaults><w:rPrDefault><w:rPr><w:sz w:val=\"22\"/>%s</w:rPr></w:rPrDefault>"
            "<w:pPrDefault><w:pPr><w:spacing w:after=\"120\"/></w:pPr></w:pPrDefault>"
            "</w:docDefaults><w:style w:type=\"paragraph\" w:default=\"1\" w:styleId=\"Normal\">"
            "<w:name w:val=\"Normal\"/></w:style><w:style w:type=\"paragraph\" "
            "w:styleId=\"Heading1\"><w:name w:val=\"heading 1\"/><w:basedOn w:val=\"Normal\"/>"
            "<w:next w:val=\"Normal\"/><w:pPr><w:keepNext/><w:spacing w:before=\"360\"/>"
            "<w:outlineLvl w:val=\"0\"/></w:pPr><w:rPr><w:b/><w:sz w:val=\"36\"/></w:rPr></w:style>"
            "<w:style w:type=\"paragraph\" w:styleId=\"Heading2\"><w:name w:val=\"heading 2\"/>"
            "<w:basedOn w:val=\"Normal\"/><w:next w:val=\"Normal\"/><w:pPr><w:keepNext/><w:spacing "
            "w:before=\"240\"/><w:outlineLvl w:val=\"1\"/></w:pPr><w:rPr><w:b/><w:sz "
            "w:val=\"28\"/></w:rPr></w:style></w:styles>";
    struct dg_buf body, looks;
    struct dg_zip_new zip;
    char lang[100] = "";
    if (*language)
        snprintf(lang, sizeof lang, "<w:lang w:val=\"%s\"/>", language);
    dg_buf_init(&body, out->max);
    dg_buf_init(&looks, sizeof styles + sizeof lang);
    enum dg_err err = dg_buf_append_cstr(
        &body, XML "<w:document xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/"
                   "main\"><w:body>\n");
    if (!err)
        err = put_body(html, is_from_the_right ? &docx_from_the_right : &docx, &body, error);
    if (!err)
        err = dg_buf_append_cstr(&body, "<w:sectPr/></w:body></w:document>");
    if (!err)
        err = dg_buf_printf(&looks, styles, lang);
    dg_zip_new_init(&zip, out);
    dg_zip_new_add(&zip, "[Content_Types].xml", dg_span_cstr(types));
    dg_zip_new_add(&zip, "_rels/.rels", dg_span_cstr(package));
    dg_zip_new_add(&zip, "word/document.xml", dg_buf_span(&body));
    dg_zip_new_add(&zip, "word/styles.xml", dg_buf_span(&looks));
    dg_zip_new_add(&zip, "word/_rels/document.xml.rels", dg_span_cstr(relations));
    if (!err)
        err = dg_zip_new_end(&zip);
    dg_buf_deinit(&body);
    dg_buf_deinit(&looks);
    return err;
}

static enum dg_err write_odt(struct dg_span html, const char *language, bool is_from_the_right,
                             struct dg_buf *out, struct dg_error *error)
{
    static const char manifest[] =
        XML "<manifest:manifest "
            "xmlns:manifest=\"urn:oasis:names:tc:opendocument:xmlns:manifest:1.0\" "
            "manifest:version=\"1.2\"><manifest:file-entry manifest:full-path=\"/\" "
            "manifest:media-type=\"application/vnd.oasis.opendocument.text\"/>"
            "<manifest:file-entry manifest:full-path=\"content.xml\" "
            "manifest:media-type=\"text/xml\"/></manifest:manifest>";
    struct dg_buf body;
    struct dg_zip_new zip;
    char country[2 * DG_LANGTAG_TEXT + 32] = "", tag[2 * DG_LANGTAG_TEXT];
    snprintf(tag, sizeof tag, "%s", language);
    char *dash = strchr(tag, '-');
    if (dash) {
        *dash = '\0';
        snprintf(country, sizeof country, " fo:country=\"%s\"", dash + 1);
    }
    dg_buf_init(&body, out->max);
    enum dg_err err = dg_buf_append_cstr(
        &body, XML "<office:document-content "
                   "xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" "
                   "xmlns:style=\"urn:oasis:names:tc:opendocument:xmlns:style:1.0\" "
                   "xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\" "
                   "xmlns:fo=\"urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0\" "
                   "office:version=\"1.2\"><office:automatic-styles>");
    for (int i = 0; i < 3 && !err; i++) {
        static const char *const names[] = {"Text", "Head1", "Head2"};
        static const char *const sizes[] = {"11pt", "18pt", "14pt"};
        err = dg_buf_printf(
            &body,
            "<style:style style:name=\"%s\" style:family=\"paragraph\"><style:paragraph-"
            "properties fo:margin-bottom=\"0.2cm\"%s/><style:text-properties "
            "fo:font-size=\"%s\"%s",
            names[i], is_from_the_right ? " style:writing-mode=\"rl-tb\"" : "", sizes[i],
            i ? " fo:font-weight=\"bold\"" : "");
        if (!err && *tag)
            err = dg_buf_printf(&body, " fo:language=\"%s\"%s", tag, country);
        if (!err)
            err = dg_buf_append_cstr(&body, "/></style:style>");
    }
    if (!err)
        err = dg_buf_append_cstr(&body, "</office:automatic-styles><office:body><office:text>\n");
    if (!err)
        err = put_body(html, &odt, &body, error);
    if (!err)
        err = dg_buf_append_cstr(&body, "</office:text></office:body></office:document-content>");
    dg_zip_new_init(&zip, out);
    dg_zip_new_add(&zip, "mimetype", DG_SPAN("application/vnd.oasis.opendocument.text"));
    dg_zip_new_add(&zip, "META-INF/manifest.xml", dg_span_cstr(manifest));
    dg_zip_new_add(&zip, "content.xml", dg_buf_span(&body));
    if (!err)
        err = dg_zip_new_end(&zip);
    dg_buf_deinit(&body);
    return err;
}

static enum dg_err write_html(struct dg_span html, const char *language, bool is_from_the_right,
                              struct dg_buf *out)
{
    enum dg_err err = dg_buf_append_cstr(out, "<!DOCTYPE html>\n<html");
    if (!err && *language)
        err = dg_buf_printf(out, " lang=\"%s\"", language);
    if (!err)
        err = dg_buf_printf(out, "%s>\n<meta charset=\"utf-8\">\n<title></title>\n",
                            is_from_the_right ? " dir=\"rtl\"" : "");
    return err ? err : dg_buf_append_span(out, html);
}

enum dg_err dg_rendition_write(enum dg_rendition rendition, struct dg_span html,
                               struct dg_span language, struct dg_buf *out, struct dg_error *error)
{
    static const char *const right_to_left[] = {"Arab", "Hebr", "Thaa", "Syrc",
                                                "Nkoo", "Adlm", "Rohg", NULL};
    struct dg_langtag tag;
    char name[2 * DG_LANGTAG_TEXT] = "";
    bool is_from_the_right = false;
    if (language.len && dg_langtag_parse(language, &tag, NULL) == DG_OK) {
        const char *region = *tag.region ? tag.region : tag.likely_region;
        snprintf(name, sizeof name, "%s%s%s", tag.language, *region ? "-" : "", region);
        for (size_t i = 0; right_to_left[i]; i++)
            is_from_the_right |= strcmp(tag.likely_script, right_to_left[i]) == 0;
    }
    switch (rendition) {
    case DG_RENDITION_DOCX:
        return write_docx(html, name, is_from_the_right, out, error);
    case DG_RENDITION_ODT:
        return write_odt(html, name, is_from_the_right, out, error);
    case DG_RENDITION_HTML:
        return write_html(html, name, is_from_the_right, out);
    default:
        return put_body(html, NULL, out, error);
    }
}
