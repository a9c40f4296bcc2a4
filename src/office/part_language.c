/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What a part says about its language and its direction: attributes and elements that are made to
 * state those of the translation. */
#include "base/memory/chars.h"
#include "office/part_reader.h"

#include <string.h>

/* "w:" of "w:lang". */
static struct dg_span prefix_of(struct dg_span name)
{
    const char *colon = name.len ? memchr(name.ptr, ':', name.len) : NULL;
    return dg_span_sub(name, 0, colon ? (size_t)(colon - name.ptr) + 1 : 0);
}

static void set_attribute(struct dg_part_reader *r, const struct dg_markup_token *tag,
                          const char *name, struct dg_span prefix, const char *value)
{
    struct dg_span old;
    const struct dg_span new = dg_span_cstr(value);
    if (dg_dialect_attribute(dg_part_bytes_of(r, tag), name, &old)) {
        if (!dg_span_eq(old, new))
            dg_part_replace(r, dg_part_offset_of(r, old), old.len, &new, 1);
        return;
    }
    const struct dg_span pieces[] = {DG_SPAN(" "),   prefix, dg_span_cstr(name),
                                     DG_SPAN("=\""), new,    DG_SPAN("\"")};
    dg_part_replace(r, dg_part_offset_of(r, tag->name) + tag->name.len, 0, pieces, 6);
}

static void change_attribute(struct dg_part_reader *r, const struct dg_markup_token *tag,
                             const char *name, struct dg_span value)
{
    struct dg_span old;
    if (dg_dialect_attribute(dg_part_bytes_of(r, tag), name, &old) && !dg_span_eq(old, value))
        dg_part_replace(r, dg_part_offset_of(r, old), old.len, &value, 1);
}

/* <style:text-properties fo:language="en" fo:country="US" style:language-asian="zh" .../> */
static void set_style_language(struct dg_part_reader *r, const struct dg_markup_token *tag)
{
    const struct dg_office_opts *opts = &r->part->opts;
    const struct dg_span whole = dg_span_cstr(opts->language);
    const char *dash = strchr(opts->language, '-');
    const size_t n = dash ? (size_t)(dash - opts->language) : whole.len;
    const struct dg_span language = dg_span_sub(whole, 0, n),
                         region = dash ? dg_span_sub(whole, n + 1, whole.len) : DG_SPAN("none");
    struct dg_span old;
    const char *const names[3][2] = {{"language", "country"},
                                     {"language-asian", "country-asian"},
                                     {"language-complex", "country-complex"}};
    const size_t script = opts->is_right_to_left ? 2 : opts->is_east_asian ? 1 : 0;
    if (!dg_dialect_attribute(dg_part_bytes_of(r, tag), names[script][0], &old) ||
        dg_span_eq(old, DG_SPAN("zxx")))
        return; /* the text is in no language, so nothing is changed */
    change_attribute(r, tag, names[script][0], language);
    change_attribute(r, tag, names[script][1], region);
}

/* <w:lang w:val="en-US" w:eastAsia="ja-JP" w:bidi="ar-SA"/>, <a:rPr lang="en-US"/> */
void dg_part_set_language(struct dg_part_reader *r, const struct dg_markup_token *tag,
                          enum dg_office_ns ns)
{
    const struct dg_office_opts *opts = &r->part->opts;
    if (!opts->language)
        return;
    if (ns == DG_NS_STYLE)
        set_style_language(r, tag);
    else if (ns == DG_NS_DRAWING)
        change_attribute(r, tag, "lang", dg_span_cstr(opts->language));
    else
        set_attribute(r, tag,
                      opts->is_right_to_left ? "bidi"
                      : opts->is_east_asian  ? "eastAsia"
                                             : "val",
                      prefix_of(tag->name), opts->language);
}

/* <style:paragraph-properties style:writing-mode="lr-tb"/> */
void dg_part_set_writing(struct dg_part_reader *r, const struct dg_markup_token *tag)
{
    struct dg_span old;
    const bool has = dg_dialect_attribute(dg_part_bytes_of(r, tag), "writing-mode", &old);
    if (!r->part->opts.language)
        return;
    if (r->part->opts.is_right_to_left)
        set_attribute(r, tag, "writing-mode", prefix_of(tag->name), "rl-tb");
    else if (has && dg_span_eq(old, DG_SPAN("rl-tb")))
        change_attribute(r, tag, "writing-mode", DG_SPAN("lr-tb"));
}

/* <dc:language>en</dc:language> */
void dg_part_read_language(struct dg_part_reader *r, const struct dg_markup_token *start)
{
    const char *language = r->part->opts.language;
    const size_t at = start->at + start->len;
    dg_part_skip(r, start);
    const struct dg_span inside = dg_span_sub(r->part->bytes, at, r->markup.at - at);
    const char *end = inside.len ? memchr(inside.ptr, '<', inside.len) : NULL;
    const struct dg_span tag = dg_span_make(language, language ? strcspn(language, "-") : 0);
    if (start->type == DG_MARKUP_START && language && end && !r->err)
        dg_part_replace(r, at, (size_t)(end - inside.ptr), &tag, 1);
}

/* <html xml:lang="en" lang="en" dir="ltr"> */
void dg_part_set_page(struct dg_part_reader *r, const struct dg_markup_token *tag)
{
    const char *language = r->part->opts.language;
    const struct dg_span code = dg_span_make(language, language ? strcspn(language, "-") : 0);
    struct dg_span name, value;
    if (!language)
        return;
    for (size_t at = 0; dg_markup_next_attribute(dg_part_bytes_of(r, tag), &at, &name, &value);)
        if ((dg_span_eq(name, DG_SPAN("lang")) || dg_span_eq(name, DG_SPAN("xml:lang"))) &&
            value.ptr)
            dg_part_replace(r, dg_part_offset_of(r, value), value.len, &code, 1);
    if (r->part->opts.is_right_to_left)
        set_attribute(r, tag, "dir", DG_SPAN(""), "rtl");
    else
        change_attribute(r, tag, "dir", DG_SPAN("ltr"));
}

/* The properties of a paragraph or a run in DrawingML, whose attributes state both language and
 * direction. */
static void read_drawing_properties(struct dg_part_reader *r, const struct dg_markup_token *start,
                                    enum dg_office_role role)
{
    const bool is_right_to_left = r->part->opts.is_right_to_left;
    if (role == DG_ROLE_RUN_PROPS)
        dg_part_set_language(r, start, DG_NS_DRAWING);
    else if (r->part->opts.language && is_right_to_left)
        set_attribute(r, start, "rtl", DG_SPAN(""), "1");
    else if (r->part->opts.language)
        change_attribute(r, start, "rtl", DG_SPAN("0"));
    dg_part_look_into(r, start);
}

/* The elements that must precede the mark of direction in the properties of a paragraph and of a
 * run. */
static const char *const before_bidi[] = {"pStyle",
                                          "keepNext",
                                          "keepLines",
                                          "pageBreakBefore",
                                          "framePr",
                                          "widowControl",
                                          "numPr",
                                          "suppressLineNumbers",
                                          "pBdr",
                                          "shd",
                                          "tabs",
                                          "kinsoku",
                                          "suppressAutoHyphens",
                                          "wordWrap",
                                          "overflowPunct",
                                          "topLinePunct",
                                          "autoSpaceDE",
                                          "autoSpaceDN",
                                          NULL};
static const char *const behind_rtl[] = {"cs",         "em",    "lang",      "eastAsianLayout",
                                         "specVanish", "oMath", "rPrChange", NULL};

/* Whether the mark of direction comes before this child. */
static bool is_behind_mark(enum dg_office_role role, struct dg_span local)
{
    return role == DG_ROLE_PARA_PROPS ? !dg_chars_is_one_of(local, before_bidi)
                                      : dg_chars_is_one_of(local, behind_rtl);
}

static const char *mark_of(enum dg_office_role role)
{
    return role == DG_ROLE_PARA_PROPS ? "bidi/>" : "rtl/>";
}

/* Reads the properties of a paragraph or a run in WordprocessingML, and makes them state the
 * direction of the language. */
static void read_word_properties(struct dg_part_reader *r, const struct dg_markup_token *start,
                                 enum dg_office_role role)
{
    const bool is_marked = r->part->opts.language && r->part->opts.is_right_to_left;
    const struct dg_span prefix = prefix_of(start->name);
    const struct dg_span mark[] = {DG_SPAN("<"), prefix, dg_span_cstr(mark_of(role))};
    struct dg_markup_token token = *start;
    size_t mark_at = 0;
    if (start->type == DG_MARKUP_EMPTY) {
        const struct dg_span whole[] = {DG_SPAN("<"),  start->name, DG_SPAN(">"),
                                        DG_SPAN("<"),  prefix,      mark[2],
                                        DG_SPAN("</"), start->name, DG_SPAN(">")};
        if (is_marked)
            dg_part_replace(r, start->at, start->len, whole, 9);
        return;
    }
    dg_part_descend(r, start);
    while (dg_part_next_child(r, start, &token)) {
        struct dg_span local;
        if (token.type != DG_MARKUP_START && token.type != DG_MARKUP_EMPTY)
            continue;
        const enum dg_office_ns ns = dg_dialect_ns(&r->dialect, token.name, &local);
        const enum dg_office_role child = dg_dialect_role(ns, local);
        if (!mark_at && child != DG_ROLE_BIDI && is_behind_mark(role, local))
            mark_at = token.at;
        if (child == DG_ROLE_BIDI && r->part->opts.language)
            dg_part_replace(r, token.at, token.len, NULL, 0);
        if (child == DG_ROLE_LANGUAGE)
            dg_part_set_language(r, &token, ns);
        if (child == DG_ROLE_RUN_PROPS)
            read_word_properties(r, &token, child);
        else
            dg_part_look_into(r, &token);
    }
    r->depth--;
    if (is_marked && !r->err)
        dg_part_replace(r, mark_at ? mark_at : r->end_at, 0, mark, 3);
}

void dg_part_read_properties(struct dg_part_reader *r, const struct dg_markup_token *start,
                             enum dg_office_role role)
{
    struct dg_span local;
    const enum dg_office_ns ns = dg_dialect_ns(&r->dialect, start->name, &local);
    if (ns == DG_NS_WORD)
        read_word_properties(r, start, role);
    else if (ns == DG_NS_DRAWING)
        read_drawing_properties(r, start, role);
    else
        dg_part_look_into(r, start);
}

/* Adds properties to a paragraph or a run without any. The tag's last byte is replaced, so that the
 * edit is a part of the tag. */
void dg_part_add_properties(struct dg_part_reader *r, const struct dg_markup_token *start,
                            const char *name, enum dg_office_role role)
{
    struct dg_span local;
    const enum dg_office_ns ns = dg_dialect_ns(&r->dialect, start->name, &local);
    const struct dg_span prefix = prefix_of(start->name);
    const struct dg_span word[] = {DG_SPAN("><"), prefix, dg_span_cstr(name),
                                   DG_SPAN("><"), prefix, dg_span_cstr(mark_of(role)),
                                   DG_SPAN("</"), prefix, dg_span_cstr(name),
                                   DG_SPAN(">")};
    const struct dg_span drawing[] = {DG_SPAN("><"), prefix, dg_span_cstr(name),
                                      DG_SPAN(" rtl=\"1\"/>")};
    if (!r->part->opts.language || !r->part->opts.is_right_to_left)
        return;
    if (ns == DG_NS_WORD)
        dg_part_replace(r, start->at + start->len - 1, 1, word, 10);
    else if (ns == DG_NS_DRAWING && role == DG_ROLE_PARA_PROPS)
        dg_part_replace(r, start->at + start->len - 1, 1, drawing, 4);
}
