/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Two tables: namespaces by their names, roles by namespace and name. */
#include "office/dialect.h"
#include "markup/markup.h"

#include <string.h>

static const struct {
    const char *uri;
    enum dg_office_ns ns;
} namespaces[] = {
    {"http://schemas.openxmlformats.org/wordprocessingml/2006/main", DG_NS_WORD},
    {"http://purl.oclc.org/ooxml/wordprocessingml/main", DG_NS_WORD},
    {"http://schemas.openxmlformats.org/drawingml/2006/main", DG_NS_DRAWING},
    {"http://purl.oclc.org/ooxml/drawingml/main", DG_NS_DRAWING},
    {"http://schemas.openxmlformats.org/spreadsheetml/2006/main", DG_NS_SHEET},
    {"http://purl.oclc.org/ooxml/spreadsheetml/main", DG_NS_SHEET},
    {"urn:oasis:names:tc:opendocument:xmlns:text:1.0", DG_NS_TEXT},
    {"urn:oasis:names:tc:opendocument:xmlns:office:1.0", DG_NS_OFFICE},
    {"urn:oasis:names:tc:opendocument:xmlns:table:1.0", DG_NS_TABLE},
    {"urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0", DG_NS_SVG},
    {"urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0", DG_NS_FO},
    {"urn:oasis:names:tc:opendocument:xmlns:style:1.0", DG_NS_STYLE},
    {"http://purl.org/dc/elements/1.1/", DG_NS_DC},
    {"http://schemas.openxmlformats.org/presentationml/2006/main", DG_NS_SLIDE},
    {"http://www.w3.org/1999/xhtml", DG_NS_HTML},
    {"http://www.daisy.org/z3986/2005/ncx/", DG_NS_NCX},
    {"http://purl.oclc.org/ooxml/presentationml/main", DG_NS_SLIDE},
    {"http://schemas.openxmlformats.org/drawingml/2006/chart", DG_NS_CHART},
    {"http://purl.oclc.org/ooxml/drawingml/chart", DG_NS_CHART},
};

static const struct {
    enum dg_office_ns ns;
    enum dg_office_role role;
    const char *name;
} roles[] = {
    {DG_NS_WORD, DG_ROLE_PARAGRAPH, "p"},
    {DG_NS_WORD, DG_ROLE_PARA_PROPS, "pPr"},
    {DG_NS_WORD, DG_ROLE_RUN, "r"},
    {DG_NS_WORD, DG_ROLE_RUN_PROPS, "rPr"},
    {DG_NS_WORD, DG_ROLE_TEXT, "t"},
    {DG_NS_WORD, DG_ROLE_BREAK, "br"},
    {DG_NS_WORD, DG_ROLE_BREAK, "cr"},
    {DG_NS_WORD, DG_ROLE_BREAK, "tab"},
    {DG_NS_WORD, DG_ROLE_BREAK, "ptab"},
    {DG_NS_WORD, DG_ROLE_DROP, "proofErr"},
    {DG_NS_WORD, DG_ROLE_DROP, "lastRenderedPageBreak"},
    {DG_NS_WORD, DG_ROLE_CONTAINER, "hyperlink"},
    {DG_NS_WORD, DG_ROLE_CONTAINER, "ins"},
    {DG_NS_WORD, DG_ROLE_CONTAINER, "moveTo"},
    {DG_NS_WORD, DG_ROLE_CONTAINER, "smartTag"},
    {DG_NS_WORD, DG_ROLE_CONTAINER, "customXml"},
    {DG_NS_WORD, DG_ROLE_CONTAINER, "dir"},
    {DG_NS_WORD, DG_ROLE_CONTAINER, "bdo"},
    {DG_NS_WORD, DG_ROLE_CONTAINER, "sdt"},
    {DG_NS_WORD, DG_ROLE_HEAD, "sdtPr"},
    {DG_NS_WORD, DG_ROLE_HEAD, "sdtEndPr"},
    {DG_NS_WORD, DG_ROLE_HEAD, "smartTagPr"},
    {DG_NS_WORD, DG_ROLE_HEAD, "customXmlPr"},
    {DG_NS_WORD, DG_ROLE_CONTENT, "sdtContent"},
    {DG_NS_WORD, DG_ROLE_OPAQUE, "del"},
    {DG_NS_WORD, DG_ROLE_OPAQUE, "moveFrom"},
    {DG_NS_WORD, DG_ROLE_SIMPLE_FIELD, "fldSimple"},
    {DG_NS_WORD, DG_ROLE_FIELD_MARK, "fldChar"},
    {DG_NS_WORD, DG_ROLE_FIELD_CODE, "instrText"},
    {DG_NS_WORD, DG_ROLE_FIELD_CODE, "delInstrText"},
    {DG_NS_WORD, DG_ROLE_RANGE_START, "bookmarkStart"},
    {DG_NS_WORD, DG_ROLE_RANGE_END, "bookmarkEnd"},
    {DG_NS_WORD, DG_ROLE_RANGE_START, "commentRangeStart"},
    {DG_NS_WORD, DG_ROLE_RANGE_END, "commentRangeEnd"},
    {DG_NS_WORD, DG_ROLE_RANGE_START, "permStart"},
    {DG_NS_WORD, DG_ROLE_RANGE_END, "permEnd"},
    {DG_NS_WORD, DG_ROLE_RANGE_START, "moveToRangeStart"},
    {DG_NS_WORD, DG_ROLE_RANGE_END, "moveToRangeEnd"},
    {DG_NS_WORD, DG_ROLE_LANGUAGE, "lang"},
    {DG_NS_WORD, DG_ROLE_LANGUAGE, "themeFontLang"},
    {DG_NS_WORD, DG_ROLE_BIDI, "bidi"},
    {DG_NS_WORD, DG_ROLE_BIDI, "rtl"},
    {DG_NS_DRAWING, DG_ROLE_PARAGRAPH, "p"},
    {DG_NS_DRAWING, DG_ROLE_PARA_PROPS, "pPr"},
    {DG_NS_DRAWING, DG_ROLE_RUN, "r"},
    {DG_NS_DRAWING, DG_ROLE_RUN_PROPS, "rPr"},
    {DG_NS_DRAWING, DG_ROLE_TEXT, "t"},
    {DG_NS_DRAWING, DG_ROLE_BREAK, "br"},
    {DG_NS_DRAWING, DG_ROLE_TAIL, "endParaRPr"},
    {DG_NS_DRAWING, DG_ROLE_LANGUAGE, "defRPr"},
    {DG_NS_DRAWING, DG_ROLE_OPAQUE, "fld"},
    {DG_NS_SLIDE, DG_ROLE_PLAIN, "text"},
    {DG_NS_CHART, DG_ROLE_PLAIN, "v"}, /* what a chart remembers of the cells */
    {DG_NS_CHART, DG_ROLE_OPAQUE, "numCache"},
    {DG_NS_CHART, DG_ROLE_OPAQUE, "numLit"},
    {DG_NS_SHEET, DG_ROLE_PARAGRAPH, "si"},
    {DG_NS_SHEET, DG_ROLE_PARAGRAPH, "is"},
    {DG_NS_SHEET, DG_ROLE_PARAGRAPH, "text"},
    {DG_NS_SHEET, DG_ROLE_MARGIN, "oddHeader"},
    {DG_NS_SHEET, DG_ROLE_MARGIN, "oddFooter"},
    {DG_NS_SHEET, DG_ROLE_MARGIN, "evenHeader"},
    {DG_NS_SHEET, DG_ROLE_MARGIN, "evenFooter"},
    {DG_NS_SHEET, DG_ROLE_MARGIN, "firstHeader"},
    {DG_NS_SHEET, DG_ROLE_MARGIN, "firstFooter"},
    {DG_NS_SHEET, DG_ROLE_RUN, "r"},
    {DG_NS_SHEET, DG_ROLE_RUN_PROPS, "rPr"},
    {DG_NS_SHEET, DG_ROLE_TEXT, "t"},
    {DG_NS_SHEET, DG_ROLE_TAIL, "rPh"},
    {DG_NS_SHEET, DG_ROLE_TAIL, "phoneticPr"},
    {DG_NS_TEXT, DG_ROLE_MIXED, "p"},
    {DG_NS_TEXT, DG_ROLE_MIXED, "h"},
    {DG_NS_TEXT, DG_ROLE_CONTAINER, "span"},
    {DG_NS_TEXT, DG_ROLE_CONTAINER, "a"},
    {DG_NS_TEXT, DG_ROLE_CONTAINER, "meta"},
    {DG_NS_TEXT, DG_ROLE_SPACE, "s"},
    {DG_NS_TEXT, DG_ROLE_BREAK, "tab"},
    {DG_NS_TEXT, DG_ROLE_BREAK, "line-break"},
    {DG_NS_TEXT, DG_ROLE_DROP, "soft-page-break"},
    {DG_NS_TEXT, DG_ROLE_RANGE_START, "bookmark-start"},
    {DG_NS_TEXT, DG_ROLE_RANGE_END, "bookmark-end"},
    {DG_NS_TEXT, DG_ROLE_RANGE_START, "reference-mark-start"},
    {DG_NS_TEXT, DG_ROLE_RANGE_END, "reference-mark-end"},
    {DG_NS_TEXT, DG_ROLE_RANGE_START, "change-start"},
    {DG_NS_TEXT, DG_ROLE_RANGE_END, "change-end"},
    {DG_NS_TEXT, DG_ROLE_OPAQUE, "tracked-changes"},
    {DG_NS_TABLE, DG_ROLE_OPAQUE, "tracked-changes"},
    {DG_NS_TABLE, DG_ROLE_CELL, "table-cell"},
    {DG_NS_TABLE, DG_ROLE_CELL, "covered-table-cell"},
    {DG_NS_SVG, DG_ROLE_PLAIN, "title"},
    {DG_NS_SVG, DG_ROLE_PLAIN, "desc"},
    {DG_NS_STYLE, DG_ROLE_LANGUAGE, "text-properties"},
    {DG_NS_STYLE, DG_ROLE_WRITING, "paragraph-properties"},
    {DG_NS_DC, DG_ROLE_PLAIN, "title"},
    {DG_NS_HTML, DG_ROLE_MIXED, "p"},
    {DG_NS_HTML, DG_ROLE_MIXED, "h1"},
    {DG_NS_HTML, DG_ROLE_MIXED, "h2"},
    {DG_NS_HTML, DG_ROLE_MIXED, "h3"},
    {DG_NS_HTML, DG_ROLE_MIXED, "h4"},
    {DG_NS_HTML, DG_ROLE_MIXED, "h5"},
    {DG_NS_HTML, DG_ROLE_MIXED, "h6"},
    {DG_NS_HTML, DG_ROLE_MIXED, "li"},
    {DG_NS_HTML, DG_ROLE_MIXED, "dt"},
    {DG_NS_HTML, DG_ROLE_MIXED, "dd"},
    {DG_NS_HTML, DG_ROLE_MIXED, "td"},
    {DG_NS_HTML, DG_ROLE_MIXED, "th"},
    {DG_NS_HTML, DG_ROLE_MIXED, "caption"},
    {DG_NS_HTML, DG_ROLE_MIXED, "figcaption"},
    {DG_NS_HTML, DG_ROLE_MIXED, "title"},
    {DG_NS_HTML, DG_ROLE_MIXED, "div"},
    {DG_NS_HTML, DG_ROLE_MIXED, "section"},
    {DG_NS_HTML, DG_ROLE_MIXED, "article"},
    {DG_NS_HTML, DG_ROLE_MIXED, "aside"},
    {DG_NS_HTML, DG_ROLE_MIXED, "header"},
    {DG_NS_HTML, DG_ROLE_MIXED, "footer"},
    {DG_NS_HTML, DG_ROLE_MIXED, "main"},
    {DG_NS_HTML, DG_ROLE_MIXED, "nav"},
    {DG_NS_HTML, DG_ROLE_MIXED, "blockquote"},
    {DG_NS_HTML, DG_ROLE_MIXED, "body"},
    {DG_NS_HTML, DG_ROLE_MIXED, "figure"},
    {DG_NS_HTML, DG_ROLE_MIXED, "address"},
    {DG_NS_HTML, DG_ROLE_MIXED, "legend"},
    {DG_NS_HTML, DG_ROLE_MIXED, "summary"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "a"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "abbr"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "b"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "bdi"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "bdo"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "big"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "cite"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "del"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "dfn"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "em"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "font"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "i"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "ins"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "label"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "mark"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "q"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "rb"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "ruby"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "s"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "small"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "span"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "strike"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "strong"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "sub"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "sup"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "tt"},
    {DG_NS_HTML, DG_ROLE_CONTAINER, "u"},
    {DG_NS_HTML, DG_ROLE_OPAQUE, "code"},
    {DG_NS_HTML, DG_ROLE_OPAQUE, "kbd"},
    {DG_NS_HTML, DG_ROLE_OPAQUE, "samp"},
    {DG_NS_HTML, DG_ROLE_OPAQUE, "var"},
    {DG_NS_HTML, DG_ROLE_OPAQUE, "script"},
    {DG_NS_HTML, DG_ROLE_OPAQUE, "style"},
    {DG_NS_HTML, DG_ROLE_OPAQUE, "pre"},
    {DG_NS_HTML, DG_ROLE_OPAQUE, "rp"},
    {DG_NS_HTML, DG_ROLE_OPAQUE, "rt"},
    {DG_NS_HTML, DG_ROLE_OPAQUE, "rtc"},
    {DG_NS_HTML, DG_ROLE_PAGE, "html"},
    {DG_NS_NCX, DG_ROLE_PLAIN, "text"},
    {DG_NS_DC, DG_ROLE_PLAIN, "description"},
    {DG_NS_DC, DG_ROLE_SAYS, "language"},
};

enum dg_office_ns dg_dialect_ns(const struct dg_office_dialect *dialect, struct dg_span name,
                                struct dg_span *local)
{
    const char *colon = name.len ? memchr(name.ptr, ':', name.len) : NULL;
    const size_t n = colon ? (size_t)(colon - name.ptr) : 0;
    const struct dg_span prefix = dg_span_sub(name, 0, n);
    *local = colon ? dg_span_sub(name, n + 1, name.len) : name;
    for (size_t i = 0; i < dialect->n; i++)
        if (dg_span_eq(dialect->prefixes[i].text, prefix))
            return dialect->prefixes[i].ns;
    return DG_NS_OTHER;
}

static enum dg_office_ns ns_of(struct dg_span uri)
{
    for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++)
        if (dg_span_eq(uri, dg_span_cstr(namespaces[i].uri)))
            return namespaces[i].ns;
    return DG_NS_OTHER;
}

static void declare(struct dg_office_dialect *dialect, struct dg_span prefix, enum dg_office_ns ns)
{
    size_t i = 0;
    while (i < dialect->n && !dg_span_eq(dialect->prefixes[i].text, prefix))
        i++;
    if (i == dialect->n && (ns == DG_NS_OTHER || i == DG_DIALECT_PREFIXES))
        return;
    dialect->prefixes[i] = (struct dg_dialect_prefix){.text = prefix, .ns = ns};
    dialect->n += i == dialect->n;
}

void dg_dialect_note(struct dg_office_dialect *dialect, struct dg_span tag)
{
    struct dg_span name, value;
    size_t at = 0;
    while (dg_markup_next_attribute(tag, &at, &name, &value)) {
        if (dg_span_eq(name, DG_SPAN("xmlns")))
            declare(dialect, dg_span_sub(name, 0, 0), ns_of(value));
        else if (dg_span_starts(name, DG_SPAN("xmlns:")))
            declare(dialect, dg_span_sub(name, 6, name.len), ns_of(value));
    }
}

enum dg_office_role dg_dialect_role(enum dg_office_ns ns, struct dg_span local)
{
    for (size_t i = 0; ns != DG_NS_OTHER && i < sizeof roles / sizeof *roles; i++)
        if (roles[i].ns == ns && dg_span_eq(local, dg_span_cstr(roles[i].name)))
            return roles[i].role;
    return DG_ROLE_POINT;
}

bool dg_dialect_attribute(struct dg_span tag, const char *local, struct dg_span *value)
{
    struct dg_span name;
    size_t at = 0;
    while (dg_markup_next_attribute(tag, &at, &name, value)) {
        const char *colon = memchr(name.ptr, ':', name.len);
        const size_t from = colon ? (size_t)(colon - name.ptr) + 1 : 0;
        if (dg_span_eq(dg_span_sub(name, from, name.len), dg_span_cstr(local)))
            return true;
    }
    return false;
}
