/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Checks what every part must keep to (elements that end, no document type, limits of depth and of
 * atoms), so that the readers of elements need not. A block's atoms are appended to the part's when
 * the block ends: the atoms of a block inside it come first. */
#include "office/part_reader.h"
#include "base/memory/chars.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "office/sheets.h"

#include <string.h>
#include <strings.h>

enum {
    DEPTH_MAX = 256,
    ATOM_BYTES = 24, /* even parts with many runs and marks have at least this many bytes for each
                        atom */
    ATOMS_MORE = 10000,
};

void *dg_rows_add(struct dg_rows *rows, size_t size)
{
    if (dg_reserve(&rows->items, rows->n + 1, &rows->cap, size, 16))
        return NULL;
    void *row = (char *)rows->items + rows->n++ * size;
    memset(row, 0, size);
    return row;
}

void dg_part_refuse(struct dg_part_reader *r, enum dg_err err, size_t at, const char *what)
{
    if (!r->err)
        r->err = dg_error_set(r->error, err, "%s: byte %zu: %s", r->part->name, at, what);
}

struct dg_span dg_part_bytes_of(const struct dg_part_reader *r, const struct dg_markup_token *token)
{
    return dg_span_sub(r->part->bytes, token->at, token->len);
}

size_t dg_part_offset_of(const struct dg_part_reader *r, struct dg_span inside)
{
    return (size_t)(inside.ptr - r->part->bytes.ptr);
}

/* ---- Tokens ---------------------------------------------------------------------------------- */

bool dg_part_next(struct dg_part_reader *r, struct dg_markup_token *token)
{
    if (r->err || !dg_markup_next(&r->markup, token))
        return false;
    const struct dg_span bytes = dg_part_bytes_of(r, token);
    if (token->type == DG_MARKUP_OTHER && dg_span_starts(bytes, DG_SPAN("<!DOCTYPE")) &&
        (!r->part->opts.is_html || memchr(bytes.ptr, '[', bytes.len)))
        dg_part_refuse(r, DG_ERR_DENIED, token->at, "document type declarations are not accepted");
    else if (token->type == DG_MARKUP_OTHER && bytes.ptr[bytes.len - 1] != '>')
        dg_part_refuse(r, DG_ERR_TRUNCATED, token->at, "markup that does not end");
    if (token->type == DG_MARKUP_START || token->type == DG_MARKUP_EMPTY)
        dg_dialect_note(&r->dialect, bytes);
    return !r->err;
}

bool dg_part_next_child(struct dg_part_reader *r, const struct dg_markup_token *start,
                        struct dg_markup_token *token)
{
    if (!dg_part_next(r, token)) {
        dg_part_refuse(r, DG_ERR_TRUNCATED, start->at, "an element that does not end");
        return false;
    }
    if (token->type != DG_MARKUP_END)
        return true;
    r->end_at = token->at;
    if (!dg_span_eq(token->name, start->name))
        dg_part_refuse(r, DG_ERR_FORMAT, token->at, "an end tag of another element");
    return false;
}

void dg_part_descend(struct dg_part_reader *r, const struct dg_markup_token *start)
{
    if (++r->depth > DEPTH_MAX)
        dg_part_refuse(r, DG_ERR_LIMIT, start->at, "elements nested deeper than 256");
}

void dg_part_skip(struct dg_part_reader *r, const struct dg_markup_token *start)
{
    struct dg_markup_token token = *start;
    size_t depth = start->type == DG_MARKUP_START;
    while (depth > 0) {
        if (!dg_part_next(r, &token)) {
            dg_part_refuse(r, DG_ERR_TRUNCATED, start->at, "an element that does not end");
            return;
        }
        depth += token.type == DG_MARKUP_START;
        depth -= token.type == DG_MARKUP_END;
    }
}

/* ---- Edits ----------------------------------------------------------------------------------- */

static struct dg_edit *add_edit(struct dg_part_reader *r, size_t at, size_t len)
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

void dg_part_replace(struct dg_part_reader *r, size_t at, size_t len, const struct dg_span *pieces,
                     size_t n)
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

/* ---- Atoms ----------------------------------------------------------------------------------- */

struct dg_atom *dg_part_add_atom(struct dg_part_reader *r, const struct dg_part_place *place,
                                 enum dg_atom_kind kind, size_t at, size_t len)
{
    struct dg_atom *atom = NULL;
    if (r->n_atoms++ >= r->part->bytes.len / ATOM_BYTES + ATOMS_MORE)
        dg_part_refuse(r, DG_ERR_LIMIT, at, "more runs and marks than a document of this size has");
    else if (!(atom = dg_rows_add(&place->paragraph->atoms, sizeof *atom)))
        r->err = r->err ? r->err : DG_ERR_NOMEM;
    if (!atom)
        return NULL;
    *atom = (struct dg_atom){
        .at = at, .len = len, .format = place->format, .kind = kind, .in_run = place->in_run};
    return atom;
}

/* How the line ends of cells are written. */
static size_t line_end_at(struct dg_span text)
{
    static const char *const words[] = {"_x000d_\n", "_x000d__x000a_", "_x000a_", "&#10;", "&#xa;"};
    if (text.ptr[0] == '\n')
        return 1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t len = strlen(words[i]);
        if (text.len >= len && strncasecmp(text.ptr, words[i], len) == 0)
            return len;
    }
    return 0;
}

static bool is_limit_near(const struct dg_part_reader *r)
{
    return r->n_atoms > (r->part->bytes.len / ATOM_BYTES + ATOMS_MORE) / 2;
}

/* Text with its line ends as breaks, or without them; where there are very many of these, they are
 * white space. */
static void add_lines(struct dg_part_reader *r, const struct dg_part_place *place, size_t from,
                      size_t to, bool is_cdata, bool has_breaks)
{
    size_t len;
    for (size_t at = from; at <= to && !r->err; at += len ? len : 1) {
        len = at < to && !is_limit_near(r) ? line_end_at(dg_span_sub(r->part->bytes, at, to - at))
                                           : 0;
        if (len == 0 && at < to)
            continue;
        struct dg_atom *atom =
            at > from ? dg_part_add_atom(r, place, DG_ATOM_TEXT, from, at - from) : NULL;
        if (atom)
            atom->is_cdata = is_cdata;
        atom = len && has_breaks ? dg_part_add_atom(r, place, DG_ATOM_BREAK, at, len) : NULL;
        if (atom)
            atom->is_line = true;
        from = at + len;
    }
}

void dg_part_add_text(struct dg_part_reader *r, const struct dg_part_place *place,
                      const struct dg_markup_token *token, bool trims, bool cells)
{
    static const struct dg_span cdata = {"<![CDATA[", 9}, cdata_end = {"]]>", 3};
    const struct dg_span bytes = dg_part_bytes_of(r, token);
    size_t from = token->at, to = token->at + token->len;
    const bool is_cdata = token->type == DG_MARKUP_OTHER;
    if (is_cdata) {
        if (!dg_span_starts(bytes, cdata))
            return;
        if (!dg_span_ends(bytes, cdata_end) || bytes.len < cdata.len + cdata_end.len) {
            dg_part_refuse(r, DG_ERR_TRUNCATED, token->at, "a CDATA section does not end");
            return;
        }
        from += cdata.len;
        to -= cdata_end.len;
    }
    while (trims && from < to && dg_chars_is_space(r->part->bytes.ptr[from]))
        from++;
    while (trims && from < to && dg_chars_is_space(r->part->bytes.ptr[to - 1]))
        to--;
    if (cells) {
        add_lines(r, place, from, to, is_cdata, true);
        return;
    }
    struct dg_atom *atom =
        from < to ? dg_part_add_atom(r, place, DG_ATOM_TEXT, from, to - from) : NULL;
    if (atom)
        atom->is_cdata = is_cdata;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

void dg_part_begin_block(struct dg_part_reader *r, struct dg_part_paragraph *paragraph,
                         enum dg_block_kind kind, size_t at)
{
    *paragraph = (struct dg_part_paragraph){.block = {.kind = kind}, .at = at};
    paragraph->edit = r->part->edits.n;
    add_edit(r, at, 0);
}

/* Whether the words of the block that was arranged last are to be kept, whatever marks it
 * contains. */
static bool is_kept(struct dg_part_reader *r, const struct dg_block *block)
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

void dg_part_end_block(struct dg_part_reader *r, struct dg_part_paragraph *paragraph, size_t end)
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

static void read_value(struct dg_part_reader *r, struct dg_span value, enum dg_block_kind kind)
{
    struct dg_part_paragraph paragraph;
    const struct dg_part_place place = {.paragraph = &paragraph};
    const size_t at = dg_part_offset_of(r, value);
    dg_part_begin_block(r, &paragraph, kind, at);
    if (r->part->opts.is_table) /* compared with texts of cells without their marks */
        add_lines(r, &place, at, at + value.len, false, false);
    else
        dg_part_add_atom(r, &place, DG_ATOM_TEXT, at, value.len);
    dg_part_end_block(r, &paragraph, at + value.len);
}

void dg_part_read_attribute(struct dg_part_reader *r, struct dg_span tag, const char *name)
{
    struct dg_span value;
    if (r->part->opts.has_text && dg_markup_attribute(tag, name, &value) && value.len > 0)
        read_value(r, value, DG_BLOCK_ATTRIBUTE);
}

/* <sheet name="Prices" sheetId="1"/>, <table:table table:name="Prices"> */
void dg_part_read_sheet_name(struct dg_part_reader *r, struct dg_span tag)
{
    struct dg_span value;
    if (r->part->opts.sheets && dg_dialect_attribute(tag, "name", &value) && value.len > 0 &&
        dg_sheets_may_change(r->part->opts.sheets, value))
        read_value(r, value, DG_BLOCK_NAME);
}
