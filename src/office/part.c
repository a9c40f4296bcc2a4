/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads a part in one pass, element by element. Nested elements are nested calls, so their depth is
 * limited. A paragraph may be inside a mark of another one (a text box, a footnote): its atoms are
 * kept apart until it ends. */
#include "office/part.h"
#include "base/memory/chars.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "markup/markup.h"
#include "office/dialect.h"
#include "office/part_int.h"
#include "office/sheets.h"

#include <stdlib.h>
#include <string.h>

enum {
    DEPTH_MAX = 256,
    ATOM_BYTES = 24, /* even parts with many runs and marks have at least this many bytes for each
                        atom */
    ATOMS_MORE = 10000,
    ARENA_MAX = 256 << 20,
};

/* A paragraph while it is read. */
struct paragraph {
    struct dg_rows atoms; /* owned */
    struct dg_block block;
    size_t edit; /* the index of the block's edit */
    size_t at;   /* where its text begins */
    size_t end;  /* where its text ends; 0 until that is known */
};

struct reader {
    struct dg_office_part *part;
    struct dg_markup markup;
    struct dg_office_dialect dialect;
    struct dg_error *error;
    size_t depth, n_atoms;
    size_t end_at; /* where the last end tag began */
    enum dg_err err;
};

/* The place of an element in the part. */
struct place {
    struct paragraph *paragraph; /* NULL: outside of paragraphs */
    uint32_t format;
    bool in_run;
};

static void read_children(struct reader *r, const struct dg_markup_token *start,
                          const struct place *place);

void *dg_rows_add(struct dg_rows *rows, size_t size)
{
    if (dg_reserve(&rows->items, rows->n + 1, &rows->cap, size, 16))
        return NULL;
    void *row = (char *)rows->items + rows->n++ * size;
    memset(row, 0, size);
    return row;
}

static void refuse(struct reader *r, enum dg_err err, size_t at, const char *what)
{
    if (!r->err)
        r->err = dg_error_set(r->error, err, "%s: byte %zu: %s", r->part->name, at, what);
}

static struct dg_span bytes_of(const struct reader *r, const struct dg_markup_token *token)
{
    return dg_span_sub(r->part->bytes, token->at, token->len);
}

/* ---- Edits ----------------------------------------------------------------------------------- */

static struct dg_edit *add_edit(struct reader *r, size_t at, size_t len)
{
    struct dg_edit *edit = dg_rows_add(&r->part->edits, sizeof *edit);
    if (!edit) {
        r->err = r->err ? r->err : DG_ERR_NOMEM;
        return NULL;
    }
    *edit = (struct dg_edit){.at = at, .len = len, .block = SIZE_MAX};
    edit->order = r->part->edits.n - 1;
    return edit;
}

static void replace(struct reader *r, size_t at, size_t len, const struct dg_span *pieces, size_t n)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += pieces[i].len;
    char *text = dg_arena_alloc(&r->part->arena, total + 1);
    struct dg_edit *edit = text ? add_edit(r, at, len) : NULL;
    if (!edit) {
        r->err = r->err ? r->err : DG_ERR_NOMEM;
        return;
    }
    edit->text = dg_span_make(text, total);
    for (size_t i = 0; i < n; i++) {
        if (pieces[i].len)
            memcpy(text, pieces[i].ptr, pieces[i].len);
        text += pieces[i].len;
    }
}

static size_t offset_of(const struct reader *r, struct dg_span inside)
{
    return (size_t)(inside.ptr - r->part->bytes.ptr);
}

/* "w:" of "w:lang". */
static struct dg_span prefix_of(struct dg_span name)
{
    const char *colon = name.len ? memchr(name.ptr, ':', name.len) : NULL;
    return dg_span_sub(name, 0, colon ? (size_t)(colon - name.ptr) + 1 : 0);
}

/* ---- Atoms ----------------------------------------------------------------------------------- */

static struct dg_atom *add_atom(struct reader *r, const struct place *place, enum dg_atom_kind kind,
                                size_t at, size_t len)
{
    struct dg_atom *atom = NULL;
    if (r->n_atoms++ >= r->part->bytes.len / ATOM_BYTES + ATOMS_MORE)
        refuse(r, DG_ERR_LIMIT, at, "more runs and marks than a document of this size has");
    else if (!(atom = dg_rows_add(&place->paragraph->atoms, sizeof *atom)))
        r->err = r->err ? r->err : DG_ERR_NOMEM;
    if (!atom)
        return NULL;
    *atom = (struct dg_atom){
        .at = at, .len = len, .format = place->format, .kind = kind, .in_run = place->in_run};
    return atom;
}

static void add_text(struct reader *r, const struct place *place,
                     const struct dg_markup_token *token, bool trims)
{
    static const struct dg_span cdata = {"<![CDATA[", 9}, cdata_end = {"]]>", 3};
    const struct dg_span bytes = bytes_of(r, token);
    size_t from = token->at, to = token->at + token->len;
    const bool is_cdata = token->type == DG_MARKUP_OTHER;
    if (is_cdata) {
        if (!dg_span_starts(bytes, cdata))
            return;
        if (!dg_span_ends(bytes, cdata_end) || bytes.len < cdata.len + cdata_end.len) {
            refuse(r, DG_ERR_TRUNCATED, token->at, "a CDATA section does not end");
            return;
        }
        from += cdata.len;
        to -= cdata_end.len;
    }
    while (trims && from < to && dg_chars_is_space(r->part->bytes.ptr[from]))
        from++;
    while (trims && from < to && dg_chars_is_space(r->part->bytes.ptr[to - 1]))
        to--;
    struct dg_atom *atom = from < to ? add_atom(r, place, DG_ATOM_TEXT, from, to - from) : NULL;
    if (atom)
        atom->is_cdata = is_cdata;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static void begin_block(struct reader *r, struct paragraph *paragraph, enum dg_block_kind kind,
                        size_t at)
{
    *paragraph = (struct paragraph){.block = {.kind = kind}, .at = at};
    paragraph->edit = r->part->edits.n;
    add_edit(r, at, 0);
}

/* Whether the words of the block that was arranged last are to be kept, whatever marks it
 * contains. */
static bool is_kept(struct reader *r, const struct dg_block *block)
{
    const struct dg_span text =
        dg_span_sub(dg_buf_span(&r->part->texts), block->text_at, block->text_len);
    struct dg_buf plain;
    bool in_tag = false, is_kept = false;
    if (!r->part->opts.kept)
        return false;
    dg_buf_init(&plain, text.len + 1);
    enum dg_err err = dg_buf_reserve(&plain, text.len);
    for (size_t i = 0; !err && i < text.len; i++) {
        in_tag |= text.ptr[i] == '<';
        if (!in_tag && text.ptr[i] != '\n')
            err = dg_buf_append_byte(&plain, text.ptr[i]);
        in_tag = in_tag && text.ptr[i] != '>';
    }
    if (err)
        r->err = err;
    else
        is_kept = dg_map_get(r->part->opts.kept, dg_buf_span(&plain), NULL);
    dg_buf_deinit(&plain);
    return is_kept;
}

static void end_block(struct reader *r, struct paragraph *paragraph, size_t end)
{
    struct dg_office_part *part = r->part;
    struct dg_block *block = NULL;
    const size_t first = part->atoms.n;
    bool has_words = false;
    end = paragraph->end ? paragraph->end : end;
    for (size_t i = 0; i < paragraph->atoms.n && !r->err; i++) {
        struct dg_atom *atom = dg_rows_add(&part->atoms, sizeof *atom);
        if (atom)
            *atom = ((struct dg_atom *)paragraph->atoms.items)[i];
        else
            r->err = DG_ERR_NOMEM;
    }
    dg_free(paragraph->atoms.items);
    paragraph->block.atom = first;
    paragraph->block.n_atoms = paragraph->atoms.n;
    if (!r->err)
        r->err = dg_office_arrange(part, &paragraph->block, &has_words);
    if (!r->err && has_words)
        has_words = !is_kept(r, &paragraph->block);
    if (!r->err && has_words && !(block = dg_rows_add(&part->blocks, sizeof *block)))
        r->err = DG_ERR_NOMEM;
    if (r->err)
        return;
    struct dg_edit *edit = (struct dg_edit *)part->edits.items + paragraph->edit;
    edit->at = paragraph->at;
    edit->len = end > paragraph->at ? end - paragraph->at : 0;
    edit->is_void = !has_words;
    if (block)
        *block = paragraph->block;
    edit->block = block ? part->blocks.n - 1 : SIZE_MAX;
    if (!has_words) {
        part->atoms.n = first;
        r->n_atoms -= paragraph->block.n_atoms;
    }
}

static void read_value(struct reader *r, struct dg_span value, enum dg_block_kind kind)
{
    struct paragraph paragraph;
    const struct place place = {.paragraph = &paragraph};
    const size_t at = offset_of(r, value);
    begin_block(r, &paragraph, kind, at);
    add_atom(r, &place, DG_ATOM_TEXT, at, value.len);
    end_block(r, &paragraph, at + value.len);
}

/* The value of an attribute as a block. */
static void read_attribute(struct reader *r, struct dg_span tag, const char *name)
{
    struct dg_span value;
    if (r->part->opts.has_text && dg_markup_attribute(tag, name, &value) && value.len > 0)
        read_value(r, value, DG_BLOCK_ATTRIBUTE);
}

/* <sheet name="Prices" sheetId="1"/>, <table:table table:name="Prices"> */
static void read_sheet_name(struct reader *r, struct dg_span tag)
{
    struct dg_span value;
    if (r->part->opts.sheets && dg_dialect_attribute(tag, "name", &value) && value.len > 0 &&
        dg_sheets_may_change(r->part->opts.sheets, value))
        read_value(r, value, DG_BLOCK_NAME);
}

/* ---- Tokens ---------------------------------------------------------------------------------- */

/* False at the end of the part, and after a failure. */
static bool next(struct reader *r, struct dg_markup_token *token)
{
    if (r->err || !dg_markup_next(&r->markup, token))
        return false;
    const struct dg_span bytes = bytes_of(r, token);
    if (token->type == DG_MARKUP_OTHER && dg_span_starts(bytes, DG_SPAN("<!DOCTYPE")) &&
        (!r->part->opts.is_html || memchr(bytes.ptr, '[', bytes.len)))
        refuse(r, DG_ERR_DENIED, token->at, "document type declarations are not accepted");
    else if (token->type == DG_MARKUP_OTHER && bytes.ptr[bytes.len - 1] != '>')
        refuse(r, DG_ERR_TRUNCATED, token->at, "markup that does not end");
    if (token->type == DG_MARKUP_START || token->type == DG_MARKUP_EMPTY)
        dg_dialect_note(&r->dialect, bytes);
    return !r->err;
}

/* The next token inside an element; false after a failure or at the element's end, which *end then
 * is. */
static bool next_child(struct reader *r, const struct dg_markup_token *start,
                       struct dg_markup_token *token)
{
    if (!next(r, token)) {
        refuse(r, DG_ERR_TRUNCATED, start->at, "an element that does not end");
        return false;
    }
    if (token->type != DG_MARKUP_END)
        return true;
    r->end_at = token->at;
    if (!dg_span_eq(token->name, start->name))
        refuse(r, DG_ERR_FORMAT, token->at, "an end tag of another element");
    return false;
}

/* Continues after an element without reading its contents. */
static void skip(struct reader *r, const struct dg_markup_token *start)
{
    struct dg_markup_token token = *start;
    size_t depth = start->type == DG_MARKUP_START;
    while (depth > 0) {
        if (!next(r, &token)) {
            refuse(r, DG_ERR_TRUNCATED, start->at, "an element that does not end");
            return;
        }
        depth += token.type == DG_MARKUP_START;
        depth -= token.type == DG_MARKUP_END;
    }
}

/* Reads the contents of an element; they are not part of a paragraph that may contain the
 * element. */
static void look_into(struct reader *r, const struct dg_markup_token *start)
{
    const struct place place = {.paragraph = NULL};
    if (start->type == DG_MARKUP_START)
        read_children(r, start, &place);
}

/* ---- Languages and directions ---------------------------------------------------------------- */

static void set_attribute(struct reader *r, const struct dg_markup_token *tag, const char *name,
                          struct dg_span prefix, const char *value)
{
    struct dg_span old;
    const struct dg_span new = dg_span_cstr(value);
    if (dg_dialect_attribute(bytes_of(r, tag), name, &old)) {
        if (!dg_span_eq(old, new))
            replace(r, offset_of(r, old), old.len, &new, 1);
        return;
    }
    const struct dg_span pieces[] = {DG_SPAN(" "),   prefix, dg_span_cstr(name),
                                     DG_SPAN("=\""), new,    DG_SPAN("\"")};
    replace(r, offset_of(r, tag->name) + tag->name.len, 0, pieces, 6);
}

static void change_attribute(struct reader *r, const struct dg_markup_token *tag, const char *name,
                             struct dg_span value)
{
    struct dg_span old;
    if (dg_dialect_attribute(bytes_of(r, tag), name, &old) && !dg_span_eq(old, value))
        replace(r, offset_of(r, old), old.len, &value, 1);
}

/* <style:text-properties fo:language="en" fo:country="US" style:language-asian="zh" .../> */
static void set_style_language(struct reader *r, const struct dg_markup_token *tag)
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
    if (!dg_dialect_attribute(bytes_of(r, tag), names[script][0], &old) ||
        dg_span_eq(old, DG_SPAN("zxx")))
        return; /* the text is in no language, so nothing is changed */
    change_attribute(r, tag, names[script][0], language);
    change_attribute(r, tag, names[script][1], region);
}

/* <w:lang w:val="en-US" w:eastAsia="ja-JP" w:bidi="ar-SA"/>, <a:rPr lang="en-US"/> */
static void set_language(struct reader *r, const struct dg_markup_token *tag, enum dg_office_ns ns)
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
static void set_writing(struct reader *r, const struct dg_markup_token *tag)
{
    struct dg_span old;
    const bool has = dg_dialect_attribute(bytes_of(r, tag), "writing-mode", &old);
    if (!r->part->opts.language)
        return;
    if (r->part->opts.is_right_to_left)
        set_attribute(r, tag, "writing-mode", prefix_of(tag->name), "rl-tb");
    else if (has && dg_span_eq(old, DG_SPAN("rl-tb")))
        change_attribute(r, tag, "writing-mode", DG_SPAN("lr-tb"));
}

/* <dc:language>en</dc:language> */
static void read_language(struct reader *r, const struct dg_markup_token *start)
{
    const char *language = r->part->opts.language;
    const size_t at = start->at + start->len;
    skip(r, start);
    const struct dg_span inside = dg_span_sub(r->part->bytes, at, r->markup.at - at);
    const char *end = inside.len ? memchr(inside.ptr, '<', inside.len) : NULL;
    const struct dg_span tag = dg_span_make(language, language ? strcspn(language, "-") : 0);
    if (start->type == DG_MARKUP_START && language && end && !r->err)
        replace(r, at, (size_t)(end - inside.ptr), &tag, 1);
}

/* <html xml:lang="en" lang="en" dir="ltr"> */
static void set_page(struct reader *r, const struct dg_markup_token *tag)
{
    const char *language = r->part->opts.language;
    const struct dg_span code = dg_span_make(language, language ? strcspn(language, "-") : 0);
    struct dg_span name, value;
    if (!language)
        return;
    for (size_t at = 0; dg_markup_next_attribute(bytes_of(r, tag), &at, &name, &value);)
        if ((dg_span_eq(name, DG_SPAN("lang")) || dg_span_eq(name, DG_SPAN("xml:lang"))) &&
            value.ptr)
            replace(r, offset_of(r, value), value.len, &code, 1);
    if (r->part->opts.is_right_to_left)
        set_attribute(r, tag, "dir", DG_SPAN(""), "rtl");
    else
        change_attribute(r, tag, "dir", DG_SPAN("ltr"));
}

/* The properties of a paragraph or a run in DrawingML, whose attributes state both language and
 * direction. */
static void read_drawing_properties(struct reader *r, const struct dg_markup_token *start,
                                    enum dg_office_role role)
{
    const bool is_right_to_left = r->part->opts.is_right_to_left;
    if (role == DG_ROLE_RUN_PROPS)
        set_language(r, start, DG_NS_DRAWING);
    else if (r->part->opts.language && is_right_to_left)
        set_attribute(r, start, "rtl", DG_SPAN(""), "1");
    else if (r->part->opts.language)
        change_attribute(r, start, "rtl", DG_SPAN("0"));
    look_into(r, start);
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
static void read_word_properties(struct reader *r, const struct dg_markup_token *start,
                                 enum dg_office_role role)
{
    const struct place place = {.paragraph = NULL};
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
            replace(r, start->at, start->len, whole, 9);
        return;
    }
    if (++r->depth > DEPTH_MAX)
        refuse(r, DG_ERR_LIMIT, start->at, "elements nested deeper than 256");
    while (next_child(r, start, &token)) {
        struct dg_span local;
        if (token.type != DG_MARKUP_START && token.type != DG_MARKUP_EMPTY)
            continue;
        const enum dg_office_ns ns = dg_dialect_ns(&r->dialect, token.name, &local);
        const enum dg_office_role child = dg_dialect_role(ns, local);
        if (!mark_at && child != DG_ROLE_BIDI && is_behind_mark(role, local))
            mark_at = token.at;
        if (child == DG_ROLE_BIDI && r->part->opts.language)
            replace(r, token.at, token.len, NULL, 0);
        if (child == DG_ROLE_LANGUAGE)
            set_language(r, &token, ns);
        if (child == DG_ROLE_RUN_PROPS)
            read_word_properties(r, &token, child);
        else if (token.type == DG_MARKUP_START)
            read_children(r, &token, &place);
    }
    r->depth--;
    if (is_marked && !r->err)
        replace(r, mark_at ? mark_at : r->end_at, 0, mark, 3);
}

static void read_properties(struct reader *r, const struct dg_markup_token *start,
                            enum dg_office_role role)
{
    struct dg_span local;
    const enum dg_office_ns ns = dg_dialect_ns(&r->dialect, start->name, &local);
    if (ns == DG_NS_WORD)
        read_word_properties(r, start, role);
    else if (ns == DG_NS_DRAWING)
        read_drawing_properties(r, start, role);
    else
        look_into(r, start);
}

/* Adds properties to a paragraph or a run without any. The tag's last byte is replaced, so that the
 * edit is a part of the tag. */
static void add_properties(struct reader *r, const struct dg_markup_token *start, const char *name,
                           enum dg_office_role role)
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
        replace(r, start->at + start->len - 1, 1, word, 10);
    else if (ns == DG_NS_DRAWING && role == DG_ROLE_PARA_PROPS)
        replace(r, start->at + start->len - 1, 1, drawing, 4);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* What determines how a run looks: its properties, without languages and the marks of a spelling
 * checker. */
static enum dg_err put_looks(struct reader *r, struct dg_span properties, struct dg_buf *out)
{
    static const char *const idle_elements[] = {"lang", "noProof", NULL};
    static const char *const idle_attributes[] = {"lang",     "altLang", "dirty", "err",
                                                  "smtClean", "noProof", NULL};
    struct dg_markup markup = {.text = properties, .kind = DG_MARKUP_XML};
    struct dg_markup_token token;
    struct dg_span local, name, value;
    enum dg_err err = DG_OK;
    while (!err && dg_markup_next(&markup, &token)) {
        if (token.type != DG_MARKUP_START && token.type != DG_MARKUP_EMPTY &&
            token.type != DG_MARKUP_END)
            continue;
        const struct dg_span tag = dg_span_sub(properties, token.at, token.len);
        const bool is_word = dg_dialect_ns(&r->dialect, token.name, &local) == DG_NS_WORD;
        const bool is_top = token.at == 0 || token.at + token.len == properties.len;
        size_t at = 0;
        if (is_word && dg_chars_is_one_of(local, idle_elements))
            continue;
        if (!is_top) {
            err = dg_buf_append_byte(out, token.type == DG_MARKUP_END ? '/' : '<');
            if (!err)
                err = dg_buf_append_span(out, token.name);
        }
        while (!err && token.type != DG_MARKUP_END &&
               dg_markup_next_attribute(tag, &at, &name, &value)) {
            if (dg_chars_is_one_of(name, idle_attributes))
                continue;
            err = dg_buf_append_byte(out, ' ');
            if (!err)
                err = dg_buf_append_span(out, name);
            if (!err)
                err = dg_buf_append_byte(out, '=');
            if (!err)
                err = dg_buf_append_span(out, value);
        }
    }
    return err;
}

/* The format of a run with this beginning: an existing one if it looks the same. */
static uint32_t format_of(struct reader *r, size_t at, size_t len, struct dg_span properties)
{
    struct dg_office_part *part = r->part;
    struct dg_format *format = NULL;
    struct dg_buf looks;
    uint64_t known = 0;
    dg_buf_init(&looks, properties.len + 64);
    enum dg_err err = put_looks(r, properties, &looks);
    if (!err && !dg_map_get(&part->known, dg_buf_span(&looks), &known)) {
        struct dg_span key = dg_arena_copy(&part->arena, dg_buf_span(&looks));
        known = part->formats.n;
        err = key.ptr ? dg_map_put(&part->known, key, known) : DG_ERR_NOMEM;
        format = err ? NULL : dg_rows_add(&part->formats, sizeof *format);
        if (format)
            *format = (struct dg_format){.at = at, .len = len};
        else
            err = err ? err : DG_ERR_NOMEM;
    }
    dg_buf_deinit(&looks);
    r->err = r->err ? r->err : err;
    return (uint32_t)known;
}

/* Reads the text of a run: the bytes between the tags of its text element. */
static void read_text(struct reader *r, const struct dg_markup_token *start,
                      const struct place *place, enum dg_office_ns ns)
{
    struct dg_markup_token token;
    struct dg_span value;
    struct dg_block *block = &place->paragraph->block;
    const bool keeps =
        ns == DG_NS_DRAWING || (dg_markup_attribute(bytes_of(r, start), "xml:space", &value) &&
                                dg_span_eq(value, DG_SPAN("preserve")));
    if (!block->text.len) {
        block->text = start->name;
        block->keeps_space = ns != DG_NS_DRAWING;
    }
    while (start->type == DG_MARKUP_START && next_child(r, start, &token)) {
        if (token.type == DG_MARKUP_TEXT || token.type == DG_MARKUP_OTHER)
            add_text(r, place, &token, !keeps);
        else
            skip(r, &token);
    }
}

static void read_element(struct reader *r, const struct dg_markup_token *token,
                         const struct place *place);

static void read_run(struct reader *r, const struct dg_markup_token *start,
                     const struct place *outer)
{
    struct place place = *outer;
    struct dg_markup_token token;
    struct dg_span properties = {NULL, 0}, local;
    size_t end = start->at + start->len;
    bool is_known = false;
    if (!place.paragraph->block.run.len)
        place.paragraph->block.run = start->name;
    place.in_run = true;
    if (start->type == DG_MARKUP_EMPTY)
        return;
    if (++r->depth > DEPTH_MAX)
        refuse(r, DG_ERR_LIMIT, start->at, "elements nested deeper than 256");
    while (next_child(r, start, &token)) {
        if (token.type != DG_MARKUP_START && token.type != DG_MARKUP_EMPTY)
            continue;
        const enum dg_office_ns ns = dg_dialect_ns(&r->dialect, token.name, &local);
        const bool is_props = dg_dialect_role(ns, local) == DG_ROLE_RUN_PROPS;
        if (is_props && !is_known) {
            read_properties(r, &token, DG_ROLE_RUN_PROPS);
            end = r->markup.at;
            properties = dg_span_sub(r->part->bytes, token.at, end - token.at);
        } else if (!is_known) {
            add_properties(r, start, "rPr", DG_ROLE_RUN_PROPS);
        }
        if (!is_known)
            place.format = format_of(r, start->at, end - start->at, properties);
        is_known = true;
        if (!is_props)
            read_element(r, &token, &place);
    }
    r->depth--;
}

/* ---- Paragraphs ------------------------------------------------------------------------------ */

/* Whether the paragraph that has begun begins with its properties. */
static bool has_properties(const struct reader *r)
{
    struct dg_markup ahead = r->markup;
    struct dg_markup_token token;
    struct dg_span local;
    do
        if (!dg_markup_next(&ahead, &token))
            return false;
    while (token.type == DG_MARKUP_TEXT || token.type == DG_MARKUP_OTHER);
    const enum dg_office_ns ns = dg_dialect_ns(&r->dialect, token.name, &local);
    return dg_dialect_role(ns, local) == DG_ROLE_PARA_PROPS;
}

static void read_paragraph(struct reader *r, const struct dg_markup_token *start, bool is_mixed)
{
    struct paragraph paragraph;
    const struct place place = {.paragraph = &paragraph};
    if (start->type == DG_MARKUP_EMPTY)
        return;
    begin_block(r, &paragraph, is_mixed ? DG_BLOCK_MIXED : DG_BLOCK_RUNS, start->at + start->len);
    if (!is_mixed && !has_properties(r))
        add_properties(r, start, "pPr", DG_ROLE_PARA_PROPS);
    read_children(r, start, &place);
    end_block(r, &paragraph, r->end_at);
}

/* An element that holds only text. */
static void read_plain(struct reader *r, const struct dg_markup_token *start)
{
    struct paragraph paragraph;
    const struct place place = {.paragraph = &paragraph};
    struct dg_markup_token token = *start;
    if (start->type == DG_MARKUP_EMPTY)
        return;
    begin_block(r, &paragraph, DG_BLOCK_PLAIN, start->at + start->len);
    while (next_child(r, start, &token)) {
        if (token.type == DG_MARKUP_TEXT || token.type == DG_MARKUP_OTHER)
            add_text(r, &place, &token, false);
        else
            skip(r, &token);
    }
    end_block(r, &paragraph, r->end_at);
}

/* The bytes of a code after its "&amp;": &L, &P+1, &"Arial,Bold", &12, &KFF0000, &&. */
static size_t code_len(struct dg_span text)
{
    static const struct dg_span quote = {"&quot;", 6}, amp = {"&amp;", 5};
    size_t n = 0, cp_len;
    uint32_t cp;
    if (dg_span_starts(text, amp))
        return amp.len;
    if (dg_span_starts(text, quote) || dg_span_starts(text, DG_SPAN("\""))) {
        const struct dg_span end = dg_span_sub(text, 0, text.ptr[0] == '"' ? 1 : quote.len);
        for (n = end.len; n < text.len; n++)
            if (dg_span_starts(dg_span_sub(text, n, text.len), end))
                return n + end.len;
        return text.len;
    }
    while (n < text.len && text.ptr[n] >= '0' && text.ptr[n] <= '9')
        n++;
    if (n > 0 || text.len == 0)
        return n;
    cp_len = dg_utf8_decode(text, 0, &cp);
    if (text.ptr[0] == 'K') /* a colour: six figures, or 01+000 */
        return text.len < 7 ? text.len : 7;
    n = cp_len ? cp_len : 1;
    if (text.ptr[0] == 'P' && text.len > 2 && strchr("+-", text.ptr[1]))
        for (n = 2; n < text.len && text.ptr[n] >= '0' && text.ptr[n] <= '9';)
            n++;
    return n;
}

/* Adds the text between codes; the codes are marks, and those for left, centre and right divide the
 * text. */
static void cut_margin(struct reader *r, const struct place *place,
                       const struct dg_markup_token *token)
{
    static const struct dg_span amp = {"&amp;", 5};
    const size_t end = token->at + token->len;
    size_t from = token->at;
    for (size_t at = from; at < end && !r->err;) {
        const struct dg_span rest = dg_span_sub(r->part->bytes, at, end - at);
        if (!dg_span_starts(rest, amp)) {
            at++;
            continue;
        }
        if (at > from)
            add_atom(r, place, DG_ATOM_TEXT, from, at - from);
        const struct dg_span code = dg_span_sub(rest, amp.len, rest.len);
        const bool divides = code.len > 0 && strchr("LCR", code.ptr[0]);
        const size_t len = amp.len + code_len(code);
        add_atom(r, place, divides ? DG_ATOM_BREAK : DG_ATOM_POINT, at, len);
        from = at += len;
    }
    if (from < end)
        add_atom(r, place, DG_ATOM_TEXT, from, end - from);
}

/* <oddHeader>&amp;LPrices&amp;CPage &amp;P of &amp;N</oddHeader> */
static void read_margin(struct reader *r, const struct dg_markup_token *start)
{
    struct paragraph paragraph;
    const struct place place = {.paragraph = &paragraph};
    struct dg_markup_token token = *start;
    if (start->type == DG_MARKUP_EMPTY)
        return;
    begin_block(r, &paragraph, DG_BLOCK_MARGIN, start->at + start->len);
    while (next_child(r, start, &token)) {
        if (token.type == DG_MARKUP_TEXT)
            cut_margin(r, &place, &token);
        else if (token.type == DG_MARKUP_OTHER)
            add_atom(r, &place, DG_ATOM_POINT, token.at, token.len);
        else
            skip(r, &token);
    }
    end_block(r, &paragraph, r->end_at);
}

/* Keeps an element whole; paragraphs inside it are paragraphs of their own. */
static void read_mark(struct reader *r, const struct dg_markup_token *start,
                      const struct place *place, enum dg_atom_kind kind)
{
    struct dg_span local;
    const enum dg_office_ns ns = dg_dialect_ns(&r->dialect, start->name, &local);
    const enum dg_office_role role = dg_dialect_role(ns, local);
    if (role == DG_ROLE_MIXED)
        read_paragraph(r, start, true);
    else if (role == DG_ROLE_PLAIN)
        read_plain(r, start);
    else
        look_into(r, start);
    if (!r->err)
        add_atom(r, place, kind, start->at, r->markup.at - start->at);
}

static void read_container(struct reader *r, const struct dg_markup_token *start,
                           const struct place *outer)
{
    struct place place = *outer;
    if (start->type == DG_MARKUP_EMPTY) {
        add_atom(r, outer, DG_ATOM_POINT, start->at, start->len);
        return;
    }
    add_atom(r, outer, DG_ATOM_OPEN, start->at, start->len);
    read_children(r, start, &place);
    if (r->err)
        return;
    /* The elements with which a container closes may have begun at the end of its content. */
    const struct paragraph *paragraph = outer->paragraph;
    struct dg_atom *last = (struct dg_atom *)paragraph->atoms.items + paragraph->atoms.n - 1;
    if (last->kind == DG_ATOM_CLOSE && last->is_content) {
        last->len = r->markup.at - last->at;
        last->is_content = false;
    } else {
        add_atom(r, outer, DG_ATOM_CLOSE, r->end_at, r->markup.at - r->end_at);
    }
}

/* The properties of a container, and the tag of its content, are a part of its beginning. */
static void extend_open(struct reader *r, const struct dg_markup_token *start,
                        const struct place *place)
{
    struct paragraph *paragraph = place->paragraph;
    struct dg_atom *atoms = paragraph->atoms.items, *last = NULL;
    if (paragraph->atoms.n)
        last = &atoms[paragraph->atoms.n - 1];
    if (last && last->kind == DG_ATOM_OPEN && !r->err)
        last->len = r->markup.at - last->at;
    else
        refuse(r, DG_ERR_FORMAT, start->at, "the properties of a container after its text");
}

static void read_content(struct reader *r, const struct dg_markup_token *start,
                         const struct place *place)
{
    extend_open(r, start, place);
    if (start->type == DG_MARKUP_EMPTY || r->err)
        return;
    read_children(r, start, place);
    struct dg_atom *close =
        r->err ? NULL : add_atom(r, place, DG_ATOM_CLOSE, r->end_at, r->markup.at - r->end_at);
    if (close)
        close->is_content = true;
}

/* Keeps an element whole, without reading its contents. */
static struct dg_atom *read_whole(struct reader *r, const struct dg_markup_token *start,
                                  const struct place *place, enum dg_atom_kind kind)
{
    skip(r, start);
    return r->err ? NULL : add_atom(r, place, kind, start->at, r->markup.at - start->at);
}

static void read_range(struct reader *r, const struct dg_markup_token *start,
                       const struct place *place, enum dg_atom_kind kind)
{
    struct dg_span id = {NULL, 0};
    if (!dg_dialect_attribute(bytes_of(r, start), "id", &id))
        (void)!dg_dialect_attribute(bytes_of(r, start), "name", &id);
    struct dg_atom *atom = read_whole(r, start, place, kind);
    if (atom)
        atom->id = id;
}

/* Whether a field shows text of the document: a link, the entries of a table of contents. */
static bool is_link(struct dg_span code)
{
    static const struct dg_span names[] = {{"HYPERLINK", 9}, {"TOC ", 4}};
    for (size_t i = 0; i < code.len; i++)
        for (size_t k = 0; k < 2; k++)
            if (dg_span_starts(dg_span_sub(code, i, code.len), names[k]))
                return true;
    return false;
}

static void read_field(struct reader *r, const struct dg_markup_token *start,
                       const struct place *place, enum dg_office_role role)
{
    struct dg_span type = {NULL, 0};
    enum dg_atom_kind kind = DG_ATOM_FIELD_CODE;
    (void)!dg_dialect_attribute(bytes_of(r, start), "fldCharType", &type);
    if (role == DG_ROLE_FIELD_MARK)
        kind = dg_span_eq(type, DG_SPAN("begin"))      ? DG_ATOM_FIELD_BEGIN
               : dg_span_eq(type, DG_SPAN("separate")) ? DG_ATOM_FIELD_SEPARATE
               : dg_span_eq(type, DG_SPAN("end"))      ? DG_ATOM_FIELD_END
                                                       : DG_ATOM_POINT;
    struct dg_atom *atom = read_whole(r, start, place, kind);
    if (atom && kind == DG_ATOM_FIELD_CODE)
        atom->is_link = is_link(dg_span_sub(r->part->bytes, atom->at, atom->len));
}

/* <text:s/> is a space that would merge with white space before it if it were written as a
 * character. If no white space precedes it, or it stands for several spaces, it is there for the
 * layout. */
static void read_space(struct reader *r, const struct dg_markup_token *start,
                       const struct place *place)
{
    const struct paragraph *paragraph = place->paragraph;
    const struct dg_atom *atoms = paragraph->atoms.items;
    struct dg_span count;
    const bool is_one =
        !dg_dialect_attribute(bytes_of(r, start), "c", &count) || dg_span_eq(count, DG_SPAN("1"));
    const bool is_behind_text =
        paragraph->atoms.n > 0 && atoms[paragraph->atoms.n - 1].kind == DG_ATOM_TEXT;
    (void)read_whole(r, start, place, is_one && is_behind_text ? DG_ATOM_SPACE : DG_ATOM_BREAK);
}

/* Elements of pages that are not looked into and stand by themselves. */
static bool is_block(enum dg_office_ns ns, struct dg_span name)
{
    static const char *const names[] = {"pre", "script", "style", NULL};
    return ns == DG_NS_HTML && dg_chars_is_one_of(name, names);
}

/* An element in a paragraph. */
static void read_inline(struct reader *r, const struct dg_markup_token *token,
                        const struct place *place, enum dg_office_ns ns, enum dg_office_role role)
{
    struct paragraph *paragraph = place->paragraph;
    struct dg_span value;
    switch (role) {
    case DG_ROLE_PARA_PROPS:
        read_properties(r, token, role);
        if (paragraph->atoms.n == 0)
            paragraph->at = r->markup.at;
        break;
    case DG_ROLE_RUN:
        read_run(r, token, place);
        break;
    case DG_ROLE_TEXT:
        read_text(r, token, place, ns);
        break;
    case DG_ROLE_TAIL:
        if (ns == DG_NS_DRAWING)
            set_language(r, token, ns);
        paragraph->end = paragraph->end ? paragraph->end : token->at;
        look_into(r, token);
        break;
    case DG_ROLE_BREAK:
        read_mark(r, token, place, DG_ATOM_BREAK);
        break;
    case DG_ROLE_SPACE:
        read_space(r, token, place);
        break;
    case DG_ROLE_DROP:
        skip(r, token);
        break;
    case DG_ROLE_CONTAINER:
        read_container(r, token, place);
        break;
    case DG_ROLE_SIMPLE_FIELD:
        if (dg_dialect_attribute(bytes_of(r, token), "instr", &value) && is_link(value))
            read_container(r, token, place);
        else
            (void)read_whole(r, token, place, DG_ATOM_POINT);
        break;
    case DG_ROLE_HEAD:
        look_into(r, token);
        extend_open(r, token, place);
        break;
    case DG_ROLE_CONTENT:
        read_content(r, token, place);
        break;
    case DG_ROLE_OPAQUE:
        (void)read_whole(r, token, place,
                         is_block(ns, token->name) ? DG_ATOM_BREAK : DG_ATOM_POINT);
        break;
    case DG_ROLE_RANGE_START:
        read_range(r, token, place, DG_ATOM_START);
        break;
    case DG_ROLE_RANGE_END:
        read_range(r, token, place, DG_ATOM_END);
        break;
    case DG_ROLE_FIELD_MARK:
    case DG_ROLE_FIELD_CODE:
        read_field(r, token, place, role);
        break;
    default: /* in a page, all other elements except pictures are blocks */
        read_mark(r, token, place,
                  ns == DG_NS_HTML && !dg_span_eq(token->name, DG_SPAN("img")) ? DG_ATOM_BREAK
                                                                               : DG_ATOM_POINT);
        break;
    }
}

/* Whether a cell shows a number, a date or the result of a formula. */
static bool has_value(const struct reader *r, const struct dg_markup_token *token)
{
    struct dg_span value;
    const struct dg_span tag = bytes_of(r, token);
    return dg_dialect_attribute(tag, "formula", &value) ||
           (dg_dialect_attribute(tag, "value-type", &value) &&
            !dg_span_eq(value, DG_SPAN("string")));
}

/* Whether the shape that starts here is a placeholder, which says so before its text. */
static bool is_placeholder(const struct reader *r, const struct dg_markup_token *start)
{
    struct dg_markup markup = r->markup;
    struct dg_markup_token token;
    struct dg_span local;
    while (start->type == DG_MARKUP_START && dg_markup_next(&markup, &token)) {
        (void)dg_dialect_ns(&r->dialect, token.name, &local);
        if (dg_span_eq(local, DG_SPAN("ph")))
            return true;
        if (dg_span_eq(local, DG_SPAN("txBody")) || dg_span_eq(local, DG_SPAN("sp")))
            break;
    }
    return false;
}

static void read_element(struct reader *r, const struct dg_markup_token *token,
                         const struct place *place)
{
    struct dg_span local;
    const enum dg_office_ns ns = dg_dialect_ns(&r->dialect, token->name, &local);
    const enum dg_office_role role = dg_dialect_role(ns, local);
    const bool has_text = r->part->opts.has_text;
    if (dg_span_eq(local, DG_SPAN("docPr")) || dg_span_eq(local, DG_SPAN("cNvPr"))) {
        read_attribute(r, bytes_of(r, token), "descr");
        read_attribute(r, bytes_of(r, token), "title");
    }
    if (r->part->opts.is_table && ns == DG_NS_SHEET && dg_span_eq(local, DG_SPAN("tableColumn")))
        read_attribute(r, bytes_of(r, token), "name");
    if ((ns == DG_NS_SHEET && dg_span_eq(local, DG_SPAN("sheet"))) ||
        (ns == DG_NS_TABLE && dg_span_eq(local, DG_SPAN("table"))))
        read_sheet_name(r, bytes_of(r, token));
    if (ns == DG_NS_HTML && dg_span_eq(local, DG_SPAN("img")))
        read_attribute(r, bytes_of(r, token), "alt");
    if (role == DG_ROLE_LANGUAGE)
        set_language(r, token, ns);
    if (role == DG_ROLE_PAGE)
        set_page(r, token);
    if (role == DG_ROLE_WRITING)
        set_writing(r, token);
    if (place->paragraph)
        read_inline(r, token, place, ns, role);
    else if (has_text && (role == DG_ROLE_PARAGRAPH || role == DG_ROLE_MIXED))
        read_paragraph(r, token, role == DG_ROLE_MIXED);
    else if (has_text && role == DG_ROLE_PLAIN)
        read_plain(r, token);
    else if (has_text && role == DG_ROLE_MARGIN)
        read_margin(r, token);
    else if (role == DG_ROLE_SAYS)
        read_language(r, token);
    else if (role == DG_ROLE_OPAQUE || (role == DG_ROLE_CELL && has_value(r, token)) ||
             (r->part->opts.is_layout && ns == DG_NS_SLIDE && dg_span_eq(local, DG_SPAN("sp")) &&
              is_placeholder(r, token)))
        skip(r, token);
    else
        look_into(r, token);
}

static void read_children(struct reader *r, const struct dg_markup_token *start,
                          const struct place *place)
{
    struct dg_markup_token token;
    if (++r->depth > DEPTH_MAX)
        refuse(r, DG_ERR_LIMIT, start->at, "elements nested deeper than 256");
    while (next_child(r, start, &token)) {
        if (token.type == DG_MARKUP_START || token.type == DG_MARKUP_EMPTY)
            read_element(r, &token, place);
        else if (place->paragraph && place->paragraph->block.kind == DG_BLOCK_MIXED)
            add_text(r, place, &token, false);
    }
    r->depth--;
}

/* ---- All of it ------------------------------------------------------------------------------- */

/* Sorts edits that begin at the same byte: insertions first, then outer ones. */
static int by_place(const void *a, const void *b)
{
    const struct dg_edit *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if ((x->len == 0) != (y->len == 0))
        return x->len == 0 ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void settle_edits(struct dg_office_part *part)
{
    struct dg_edit *edits = part->edits.items;
    size_t n = 0;
    for (size_t i = 0; i < part->edits.n; i++)
        if (!edits[i].is_void)
            edits[n++] = edits[i];
    part->edits.n = n;
    if (n)
        qsort(edits, n, sizeof *edits, by_place);
}

static void read_part(struct reader *r)
{
    const struct place place = {.paragraph = NULL};
    struct dg_markup_token token;
    while (next(r, &token)) {
        if (token.type == DG_MARKUP_START || token.type == DG_MARKUP_EMPTY)
            read_element(r, &token, &place);
        else if (token.type == DG_MARKUP_END)
            refuse(r, DG_ERR_FORMAT, token.at, "an end tag without an element");
    }
}

/* Adds the format of text without a run, and has every table allocate memory, so that none is
 * NULL. */
static void reserve_rows(struct reader *r)
{
    struct dg_office_part *part = r->part;
    if (!dg_rows_add(&part->formats, sizeof(struct dg_format)) ||
        !dg_rows_add(&part->atoms, sizeof(struct dg_atom)) ||
        !dg_rows_add(&part->nodes, sizeof(struct dg_node)) ||
        !dg_rows_add(&part->blocks, sizeof(struct dg_block)) ||
        !dg_rows_add(&part->edits, sizeof(struct dg_edit)))
        r->err = DG_ERR_NOMEM;
    part->atoms.n = part->nodes.n = part->blocks.n = part->edits.n = 0;
}

enum dg_err dg_office_part_new(struct dg_span bytes, const struct dg_office_opts *opts,
                               const char *name, struct dg_office_part **out,
                               struct dg_error *error)
{
    size_t bad_at = 0;
    if (!dg_utf8_valid(bytes, &bad_at))
        return dg_error_set(error, DG_ERR_UTF8, "%s: not UTF-8 at byte %zu", name, bad_at);
    struct dg_office_part *part = dg_try_calloc(1, sizeof *part);
    struct reader *r = part ? dg_try_calloc(1, sizeof *r) : NULL;
    if (!r) {
        dg_free(part);
        return DG_ERR_NOMEM;
    }
    part->bytes = bytes;
    part->opts = *opts;
    part->name = name;
    dg_arena_init(&part->arena, ARENA_MAX);
    dg_map_init(&part->known, UINT32_MAX / 2);
    dg_buf_init(&part->texts, SIZE_MAX / 4);
    *r = (struct reader){
        .part = part, .markup = {.text = bytes, .kind = DG_MARKUP_XML}, .error = error};
    reserve_rows(r);
    read_part(r);
    const enum dg_err err = r->err;
    dg_free(r);
    if (err) {
        dg_office_part_free(part);
        return err;
    }
    settle_edits(part);
    *out = part;
    return DG_OK;
}

void dg_office_part_free(struct dg_office_part *part)
{
    if (!part)
        return;
    dg_free(part->atoms.items);
    dg_free(part->nodes.items);
    dg_free(part->blocks.items);
    dg_free(part->formats.items);
    dg_free(part->edits.items);
    dg_map_deinit(&part->known);
    dg_buf_deinit(&part->texts);
    dg_arena_deinit(&part->arena);
    dg_free(part);
}
