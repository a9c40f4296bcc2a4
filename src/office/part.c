/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads a part in one pass, element by element. Nested elements are nested calls, so their depth is
 * limited. A paragraph may be inside a mark of another one (a text box, a footnote): its atoms are
 * kept apart until it ends. */
#include "office/part.h"
#include "base/memory/chars.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "office/part_reader.h"

#include <stdlib.h>
#include <string.h>

enum { ARENA_MAX = 256 << 20 };

static void read_element(struct dg_part_reader *r, const struct dg_markup_token *token,
                         const struct dg_part_place *place);
static void read_children(struct dg_part_reader *r, const struct dg_markup_token *start,
                          const struct dg_part_place *place);

void dg_part_look_into(struct dg_part_reader *r, const struct dg_markup_token *start)
{
    const struct dg_part_place place = {.paragraph = NULL};
    if (start->type == DG_MARKUP_START)
        read_children(r, start, &place);
}
/* ---- Runs ------------------------------------------------------------------------------------ */

/* What determines how a run looks: its properties, without languages and the marks of a spelling
 * checker. */
static enum dg_err put_looks(struct dg_part_reader *r, struct dg_span properties,
                             struct dg_buf *out)
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
static uint32_t format_of(struct dg_part_reader *r, size_t at, size_t len,
                          struct dg_span properties)
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
static void read_text(struct dg_part_reader *r, const struct dg_markup_token *start,
                      const struct dg_part_place *place, enum dg_office_ns ns)
{
    struct dg_markup_token token;
    struct dg_span value;
    struct dg_block *block = &place->paragraph->block;
    const bool keeps = ns == DG_NS_DRAWING ||
                       (dg_markup_attribute(dg_part_bytes_of(r, start), "xml:space", &value) &&
                        dg_span_eq(value, DG_SPAN("preserve")));
    if (!block->text.len) {
        block->text = start->name;
        block->keeps_space = ns != DG_NS_DRAWING;
    }
    while (start->type == DG_MARKUP_START && dg_part_next_child(r, start, &token)) {
        if (token.type == DG_MARKUP_TEXT || token.type == DG_MARKUP_OTHER)
            dg_part_add_text(r, place, &token, !keeps, ns == DG_NS_SHEET);
        else
            dg_part_skip(r, &token);
    }
}

static void read_run(struct dg_part_reader *r, const struct dg_markup_token *start,
                     const struct dg_part_place *outer)
{
    struct dg_part_place place = *outer;
    struct dg_markup_token token;
    struct dg_span properties = {NULL, 0}, local;
    size_t end = start->at + start->len;
    bool is_known = false;
    if (!place.paragraph->block.run.len)
        place.paragraph->block.run = start->name;
    place.in_run = true;
    if (start->type == DG_MARKUP_EMPTY)
        return;
    dg_part_descend(r, start);
    while (dg_part_next_child(r, start, &token)) {
        if (token.type != DG_MARKUP_START && token.type != DG_MARKUP_EMPTY)
            continue;
        const enum dg_office_ns ns = dg_dialect_ns(&r->dialect, token.name, &local);
        const bool is_props = dg_dialect_role(ns, local) == DG_ROLE_RUN_PROPS;
        if (is_props && !is_known) {
            dg_part_read_properties(r, &token, DG_ROLE_RUN_PROPS);
            end = r->markup.at;
            properties = dg_span_sub(r->part->bytes, token.at, end - token.at);
        } else if (!is_known) {
            dg_part_add_properties(r, start, "rPr", DG_ROLE_RUN_PROPS);
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
static bool has_properties(const struct dg_part_reader *r)
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

static void read_paragraph(struct dg_part_reader *r, const struct dg_markup_token *start,
                           bool is_mixed)
{
    struct dg_part_paragraph paragraph;
    const struct dg_part_place place = {.paragraph = &paragraph};
    if (start->type == DG_MARKUP_EMPTY)
        return;
    dg_part_begin_block(r, &paragraph, is_mixed ? DG_BLOCK_MIXED : DG_BLOCK_RUNS,
                        start->at + start->len);
    if (!is_mixed && !has_properties(r))
        dg_part_add_properties(r, start, "pPr", DG_ROLE_PARA_PROPS);
    read_children(r, start, &place);
    dg_part_end_block(r, &paragraph, r->end_at);
}

/* An element that holds only text. */
static void read_plain(struct dg_part_reader *r, const struct dg_markup_token *start)
{
    struct dg_part_paragraph paragraph;
    const struct dg_part_place place = {.paragraph = &paragraph};
    struct dg_markup_token token = *start;
    if (start->type == DG_MARKUP_EMPTY)
        return;
    dg_part_begin_block(r, &paragraph, DG_BLOCK_PLAIN, start->at + start->len);
    while (dg_part_next_child(r, start, &token)) {
        if (token.type == DG_MARKUP_TEXT || token.type == DG_MARKUP_OTHER)
            dg_part_add_text(r, &place, &token, false, false);
        else
            dg_part_skip(r, &token);
    }
    dg_part_end_block(r, &paragraph, r->end_at);
}

/* Keeps an element whole; paragraphs inside it are paragraphs of their own. */
static void read_mark(struct dg_part_reader *r, const struct dg_markup_token *start,
                      const struct dg_part_place *place, enum dg_atom_kind kind)
{
    struct dg_span local;
    const enum dg_office_ns ns = dg_dialect_ns(&r->dialect, start->name, &local);
    const enum dg_office_role role = dg_dialect_role(ns, local);
    if (role == DG_ROLE_MIXED)
        read_paragraph(r, start, true);
    else if (role == DG_ROLE_PLAIN)
        read_plain(r, start);
    else
        dg_part_look_into(r, start);
    if (!r->err)
        dg_part_add_atom(r, place, kind, start->at, r->markup.at - start->at);
}

static void read_container(struct dg_part_reader *r, const struct dg_markup_token *start,
                           const struct dg_part_place *outer)
{
    struct dg_part_place place = *outer;
    if (start->type == DG_MARKUP_EMPTY) {
        dg_part_add_atom(r, outer, DG_ATOM_POINT, start->at, start->len);
        return;
    }
    dg_part_add_atom(r, outer, DG_ATOM_OPEN, start->at, start->len);
    read_children(r, start, &place);
    if (r->err)
        return;
    /* The elements with which a container closes may have begun at the end of its content. */
    const struct dg_part_paragraph *paragraph = outer->paragraph;
    struct dg_atom *last = (struct dg_atom *)paragraph->atoms.items + paragraph->atoms.n - 1;
    if (last->kind == DG_ATOM_CLOSE && last->is_content) {
        last->len = r->markup.at - last->at;
        last->is_content = false;
    } else {
        dg_part_add_atom(r, outer, DG_ATOM_CLOSE, r->end_at, r->markup.at - r->end_at);
    }
}

/* The properties of a container, and the tag of its content, are a part of its beginning. */
static void extend_open(struct dg_part_reader *r, const struct dg_markup_token *start,
                        const struct dg_part_place *place)
{
    struct dg_part_paragraph *paragraph = place->paragraph;
    struct dg_atom *atoms = paragraph->atoms.items, *last = NULL;
    if (paragraph->atoms.n)
        last = &atoms[paragraph->atoms.n - 1];
    if (last && last->kind == DG_ATOM_OPEN && !r->err)
        last->len = r->markup.at - last->at;
    else
        dg_part_refuse(r, DG_ERR_FORMAT, start->at, "the properties of a container after its text");
}

static void read_content(struct dg_part_reader *r, const struct dg_markup_token *start,
                         const struct dg_part_place *place)
{
    extend_open(r, start, place);
    if (start->type == DG_MARKUP_EMPTY || r->err)
        return;
    read_children(r, start, place);
    struct dg_atom *close =
        r->err ? NULL
               : dg_part_add_atom(r, place, DG_ATOM_CLOSE, r->end_at, r->markup.at - r->end_at);
    if (close)
        close->is_content = true;
}

/* Keeps an element whole, without reading its contents. */
static struct dg_atom *read_whole(struct dg_part_reader *r, const struct dg_markup_token *start,
                                  const struct dg_part_place *place, enum dg_atom_kind kind)
{
    dg_part_skip(r, start);
    return r->err ? NULL : dg_part_add_atom(r, place, kind, start->at, r->markup.at - start->at);
}

static void read_range(struct dg_part_reader *r, const struct dg_markup_token *start,
                       const struct dg_part_place *place, enum dg_atom_kind kind)
{
    struct dg_span id = {NULL, 0};
    if (!dg_dialect_attribute(dg_part_bytes_of(r, start), "id", &id))
        (void)!dg_dialect_attribute(dg_part_bytes_of(r, start), "name", &id);
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

static void read_field(struct dg_part_reader *r, const struct dg_markup_token *start,
                       const struct dg_part_place *place, enum dg_office_role role)
{
    struct dg_span type = {NULL, 0};
    enum dg_atom_kind kind = DG_ATOM_FIELD_CODE;
    (void)!dg_dialect_attribute(dg_part_bytes_of(r, start), "fldCharType", &type);
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
static void read_space(struct dg_part_reader *r, const struct dg_markup_token *start,
                       const struct dg_part_place *place)
{
    const struct dg_part_paragraph *paragraph = place->paragraph;
    const struct dg_atom *atoms = paragraph->atoms.items;
    struct dg_span count;
    const bool is_one = !dg_dialect_attribute(dg_part_bytes_of(r, start), "c", &count) ||
                        dg_span_eq(count, DG_SPAN("1"));
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
static void read_inline(struct dg_part_reader *r, const struct dg_markup_token *token,
                        const struct dg_part_place *place, enum dg_office_ns ns,
                        enum dg_office_role role)
{
    struct dg_part_paragraph *paragraph = place->paragraph;
    struct dg_span value;
    switch (role) {
    case DG_ROLE_PARA_PROPS:
        dg_part_read_properties(r, token, role);
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
            dg_part_set_language(r, token, ns);
        paragraph->end = paragraph->end ? paragraph->end : token->at;
        dg_part_look_into(r, token);
        break;
    case DG_ROLE_BREAK:
        read_mark(r, token, place, DG_ATOM_BREAK);
        break;
    case DG_ROLE_SPACE:
        read_space(r, token, place);
        break;
    case DG_ROLE_DROP:
        dg_part_skip(r, token);
        break;
    case DG_ROLE_CONTAINER:
        read_container(r, token, place);
        break;
    case DG_ROLE_SIMPLE_FIELD:
        if (dg_dialect_attribute(dg_part_bytes_of(r, token), "instr", &value) && is_link(value))
            read_container(r, token, place);
        else
            (void)read_whole(r, token, place, DG_ATOM_POINT);
        break;
    case DG_ROLE_HEAD:
        dg_part_look_into(r, token);
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
static bool has_value(const struct dg_part_reader *r, const struct dg_markup_token *token)
{
    struct dg_span value;
    const struct dg_span tag = dg_part_bytes_of(r, token);
    return dg_dialect_attribute(tag, "formula", &value) ||
           (dg_dialect_attribute(tag, "value-type", &value) &&
            !dg_span_eq(value, DG_SPAN("string")));
}

/* Whether the shape that starts here is a placeholder, which says so before its text. */
static bool is_placeholder(const struct dg_part_reader *r, const struct dg_markup_token *start)
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

static void read_element(struct dg_part_reader *r, const struct dg_markup_token *token,
                         const struct dg_part_place *place)
{
    struct dg_span local;
    const enum dg_office_ns ns = dg_dialect_ns(&r->dialect, token->name, &local);
    const enum dg_office_role role = dg_dialect_role(ns, local);
    const bool has_text = r->part->opts.has_text;
    if (dg_span_eq(local, DG_SPAN("docPr")) || dg_span_eq(local, DG_SPAN("cNvPr"))) {
        dg_part_read_attribute(r, dg_part_bytes_of(r, token), "descr");
        dg_part_read_attribute(r, dg_part_bytes_of(r, token), "title");
    }
    if (r->part->opts.is_table && ns == DG_NS_SHEET && dg_span_eq(local, DG_SPAN("tableColumn")))
        dg_part_read_attribute(r, dg_part_bytes_of(r, token), "name");
    if ((ns == DG_NS_SHEET && dg_span_eq(local, DG_SPAN("sheet"))) ||
        (ns == DG_NS_TABLE && dg_span_eq(local, DG_SPAN("table"))))
        dg_part_read_sheet_name(r, dg_part_bytes_of(r, token));
    if (ns == DG_NS_HTML && dg_span_eq(local, DG_SPAN("img")))
        dg_part_read_attribute(r, dg_part_bytes_of(r, token), "alt");
    if (role == DG_ROLE_LANGUAGE)
        dg_part_set_language(r, token, ns);
    if (role == DG_ROLE_PAGE)
        dg_part_set_page(r, token);
    if (role == DG_ROLE_WRITING)
        dg_part_set_writing(r, token);
    if (place->paragraph)
        read_inline(r, token, place, ns, role);
    else if (has_text && (role == DG_ROLE_PARAGRAPH || role == DG_ROLE_MIXED))
        read_paragraph(r, token, role == DG_ROLE_MIXED);
    else if (has_text && role == DG_ROLE_PLAIN)
        read_plain(r, token);
    else if (has_text && role == DG_ROLE_MARGIN)
        dg_part_read_margin(r, token);
    else if (role == DG_ROLE_SAYS)
        dg_part_read_language(r, token);
    else if (role == DG_ROLE_OPAQUE || (role == DG_ROLE_CELL && has_value(r, token)) ||
             (r->part->opts.is_layout && ns == DG_NS_SLIDE && dg_span_eq(local, DG_SPAN("sp")) &&
              is_placeholder(r, token)))
        dg_part_skip(r, token);
    else
        dg_part_look_into(r, token);
}

static void read_children(struct dg_part_reader *r, const struct dg_markup_token *start,
                          const struct dg_part_place *place)
{
    struct dg_markup_token token;
    dg_part_descend(r, start);
    while (dg_part_next_child(r, start, &token)) {
        if (token.type == DG_MARKUP_START || token.type == DG_MARKUP_EMPTY)
            read_element(r, &token, place);
        else if (place->paragraph && place->paragraph->block.kind == DG_BLOCK_MIXED)
            dg_part_add_text(r, place, &token, false, false);
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

static void read_part(struct dg_part_reader *r)
{
    const struct dg_part_place place = {.paragraph = NULL};
    struct dg_markup_token token;
    while (dg_part_next(r, &token)) {
        if (token.type == DG_MARKUP_START || token.type == DG_MARKUP_EMPTY)
            read_element(r, &token, &place);
        else if (token.type == DG_MARKUP_END)
            dg_part_refuse(r, DG_ERR_FORMAT, token.at, "an end tag without an element");
    }
}

/* Adds the format of text without a run, and has every table allocate memory, so that none is
 * NULL. */
static void reserve_rows(struct dg_part_reader *r)
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
    struct dg_part_reader *r = part ? dg_try_calloc(1, sizeof *r) : NULL;
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
    *r = (struct dg_part_reader){
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
