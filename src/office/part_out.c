/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Copies the part with its edits. A block whose text changed is written from its translation:
 * text goes into runs of its format, and marks are kept. The contents of a mark, and the
 * properties of runs, are copied with the edits that lie in them. */
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "markup/entity.h"
#include "markup/markup.h"
#include "office/part.h"
#include "office/part_int.h"
#include "office/sheets.h"

#include <string.h>

struct writer {
    const struct dg_office_part *part;
    struct dg_span *slices; /* owned; [n_blocks] the translation; empty: the text is unchanged */
    struct dg_buf *out;
    struct dg_error *error;
    enum dg_err err;
};

/* A block while it is written. */
struct rendering {
    struct writer *w;
    const struct dg_block *block;
    const struct dg_atom *atoms;
    const struct dg_node *nodes;
    unsigned char *used; /* owned; [n_nodes] */
    size_t *open;        /* owned; [n_nodes] nodes that are open */
    size_t n_open;
    size_t edit;     /* the edit of the block itself */
    uint32_t format; /* the format of the open run; NONE: no run is open */
    bool in_text;    /* a text element of that run is open */
};

#define NONE UINT32_MAX

static void render(struct writer *w, size_t edit);

static void put(struct writer *w, struct dg_span bytes)
{
    if (!w->err)
        w->err = dg_buf_append_span(w->out, bytes);
}

static void refuse(struct writer *w, const char *what)
{
    if (!w->err)
        w->err =
            dg_error_set(w->error, DG_ERR_FORMAT, "%s: the translation %s", w->part->name, what);
}

/* ---- Stretches of the part ------------------------------------------------------------------- */

/* The first edit that begins at `at` or after. */
static size_t first_edit(const struct writer *w, size_t at)
{
    const struct dg_edit *edits = w->part->edits.items;
    size_t lo = 0, hi = w->part->edits.n;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (edits[mid].at < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Copies bytes with the edits that lie in them, except those before `edit`. */
static void copy(struct writer *w, size_t from, size_t to, size_t edit)
{
    const struct dg_edit *edits = w->part->edits.items;
    const size_t found = first_edit(w, from);
    for (size_t i = found > edit ? found : edit; i < w->part->edits.n && !w->err; i++) {
        if (edits[i].at >= to)
            break;
        if (edits[i].at < from || edits[i].at + edits[i].len > to)
            continue;
        put(w, dg_span_sub(w->part->bytes, from, edits[i].at - from));
        from = edits[i].at + edits[i].len;
        if (edits[i].block == SIZE_MAX)
            put(w, edits[i].text);
        else
            render(w, i);
    }
    put(w, dg_span_sub(w->part->bytes, from, to - from));
}

/* ---- Text ------------------------------------------------------------------------------------ */

/* Whether a reference of HTML is also one of XML. */
static bool is_reference(struct dg_span text)
{
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;", NULL};
    uint32_t cp;
    const size_t len = dg_entity_match(text, 0, DG_ENTITY_XML, &cp);
    for (size_t i = 0; names[i]; i++)
        if (dg_span_starts(text, dg_span_cstr(names[i])))
            return true;
    return len > 2 && text.ptr[1] == '#' && text.ptr[len - 1] == ';' &&
           (cp >= 0x20 || cp == '\t' || cp == '\n' || cp == '\r');
}

static bool is_allowed(uint32_t cp)
{
    return (cp >= 0x20 && cp != 0xFFFE && cp != 0xFFFF) || cp == '\t' || cp == '\n' || cp == '\r';
}

/* Text of our HTML as text of XML, without the characters that XML forbids. */
static void put_text(struct writer *w, struct dg_span text, bool is_attribute)
{
    size_t from = 0, len;
    uint32_t cp = 0;
    for (size_t i = 0; i < text.len && !w->err; i += len) {
        struct dg_span instead = {NULL, 0};
        len = dg_utf8_decode(text, i, &cp);
        if (len == 0 || !is_allowed(cp))
            instead = DG_SPAN("");
        else if (cp == '&' && !is_reference(dg_span_sub(text, i, text.len)))
            instead = DG_SPAN("&amp;");
        else if (cp == '<')
            instead = DG_SPAN("&lt;");
        else if (is_attribute && cp == '"')
            instead = DG_SPAN("&quot;");
        else if (is_attribute && cp == '\'')
            instead = DG_SPAN("&apos;");
        len = len ? len : 1;
        if (!instead.ptr)
            continue;
        put(w, dg_span_sub(text, from, i - from));
        put(w, instead);
        from = i + len;
    }
    put(w, dg_span_sub(text, from, text.len));
}

/* Writes the text of a sheet's margin: doubles each ampersand, because a single one begins a code,
 * and separates figures from a code for the letter size. */
static void put_margin(struct writer *w, struct dg_span text)
{
    size_t from = 0;
    const char *last = w->out->len ? w->out->ptr + w->out->len - 1 : "";
    if (text.len && text.ptr[0] >= '0' && text.ptr[0] <= '9' && *last >= '0' && *last <= '9')
        put(w, DG_SPAN(" "));
    for (size_t i = 0; i < text.len; i++) {
        const struct dg_span rest = dg_span_sub(text, i, text.len);
        if (text.ptr[i] != '&' || (is_reference(rest) && !dg_span_starts(rest, DG_SPAN("&amp;"))))
            continue;
        put_text(w, dg_span_sub(text, from, i - from), false);
        put(w, DG_SPAN("&amp;&amp;"));
        from = i + (dg_span_starts(rest, DG_SPAN("&amp;")) ? 5 : 1);
    }
    put_text(w, dg_span_sub(text, from, text.len), false);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static void put_tag(struct writer *w, const char *before, struct dg_span name, const char *behind)
{
    put(w, dg_span_cstr(before));
    put(w, name);
    put(w, dg_span_cstr(behind));
}

static void end_text(struct rendering *r)
{
    if (r->in_text)
        put_tag(r->w, "</", r->block->text, ">");
    r->in_text = false;
}

static void end_run(struct rendering *r)
{
    end_text(r);
    if (r->format != NONE && r->format != 0)
        put_tag(r->w, "</", r->block->run, ">");
    r->format = NONE;
}

static void begin_run(struct rendering *r, uint32_t format)
{
    const struct dg_format *formats = r->w->part->formats.items;
    if (r->format == format)
        return;
    end_run(r);
    if (format != 0)
        copy(r->w, formats[format].at, formats[format].at + formats[format].len, 0);
    r->format = format;
}

static void say(struct rendering *r, uint32_t format, struct dg_span text)
{
    if (r->block->kind == DG_BLOCK_RUNS) {
        begin_run(r, format);
        if (!r->in_text)
            put_tag(r->w, "<", r->block->text,
                    r->block->keeps_space ? " xml:space=\"preserve\">" : ">");
        r->in_text = true;
    }
    if (r->block->kind == DG_BLOCK_MARGIN)
        put_margin(r->w, text);
    else
        put_text(r->w, text,
                 r->block->kind == DG_BLOCK_ATTRIBUTE || r->block->kind == DG_BLOCK_NAME);
}

static void put_atoms(struct rendering *r, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const struct dg_atom *atom = &r->atoms[i];
        if (atom->kind == DG_ATOM_TEXT || atom->is_line) {
            say(r, atom->format, dg_span_sub(r->w->part->bytes, atom->at, atom->len));
            continue;
        }
        if (atom->in_run)
            begin_run(r, atom->format);
        else
            end_run(r);
        end_text(r);
        copy(r->w, atom->at, atom->at + atom->len, r->edit + 1);
    }
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* The node of a tag, which must not have had one before; SIZE_MAX after a refusal. */
static size_t node_of(struct rendering *r, struct dg_span tag)
{
    struct dg_span id;
    size_t node = 0;
    bool is_number = dg_markup_attribute(tag, "id", &id) && id.len > 0 && id.len < 10;
    for (size_t i = 0; is_number && i < id.len; i++) {
        is_number = id.ptr[i] >= '0' && id.ptr[i] <= '9';
        node = node * 10 + (size_t)(id.ptr[i] - '0');
    }
    if (!is_number || node >= r->block->n_nodes || r->used[node]) {
        refuse(r->w, "has a mark that the text does not have, or has it twice");
        return SIZE_MAX;
    }
    r->used[node] = 1;
    return node;
}

static uint32_t format_now(const struct rendering *r)
{
    return r->n_open ? r->nodes[r->open[r->n_open - 1]].format : r->block->format;
}

static void open_node(struct rendering *r, struct dg_span tag)
{
    const size_t node = node_of(r, tag);
    if (node == SIZE_MAX)
        return;
    if (r->nodes[node].kind == DG_NODE_POINT) {
        refuse(r->w, "has an element where the text has a mark");
        return;
    }
    r->open[r->n_open++] = node;
    if (r->nodes[node].kind == DG_NODE_PAIR)
        put_atoms(r, r->nodes[node].open, r->nodes[node].open_end);
    else
        say(r, r->nodes[node].format, DG_SPAN("")); /* its run is written, even if it is empty */
}

static void close_node(struct rendering *r)
{
    if (r->n_open == 0) {
        refuse(r->w, "has an end without a beginning");
        return;
    }
    const struct dg_node *node = &r->nodes[r->open[--r->n_open]];
    if (node->kind == DG_NODE_PAIR)
        put_atoms(r, node->close, node->close_end);
}

static void render_token(struct rendering *r, struct dg_span html,
                         const struct dg_markup_token *token)
{
    const struct dg_span bytes = dg_span_sub(html, token->at, token->len);
    if (token->type == DG_MARKUP_TEXT) {
        say(r, format_now(r), bytes);
    } else if (token->type == DG_MARKUP_START) {
        open_node(r, bytes);
    } else if (token->type == DG_MARKUP_END) {
        close_node(r);
    } else if (token->type == DG_MARKUP_EMPTY) {
        const size_t node = node_of(r, bytes);
        if (node != SIZE_MAX && r->nodes[node].kind == DG_NODE_POINT)
            put_atoms(r, r->nodes[node].open, r->nodes[node].open_end);
        else
            refuse(r->w, "has a mark where the text has an element");
    } else {
        refuse(r->w, "has markup of another kind");
    }
}

static void render_changed(struct rendering *r, struct dg_span html)
{
    struct dg_markup markup = {.text = html, .kind = DG_MARKUP_HTML};
    struct dg_markup_token token;
    r->used = dg_try_calloc(r->block->n_nodes + 1, 1);
    r->open = dg_try_calloc(r->block->n_nodes + 1, sizeof *r->open);
    if (!r->used || !r->open)
        r->w->err = DG_ERR_NOMEM;
    while (!r->w->err && dg_markup_next(&markup, &token))
        render_token(r, html, &token);
    for (size_t i = 0; i < r->block->n_nodes && !r->w->err; i++)
        if (!r->used[i])
            refuse(r->w, "lacks a mark of the text");
    if (r->n_open)
        refuse(r->w, "lacks an end");
    end_run(r);
    dg_free(r->used);
    dg_free(r->open);
}

/* Keeps the old name if the new one cannot be given. What has been written of the new one begins at
 * `before`. */
static void check_name(struct writer *w, struct dg_span name, size_t before)
{
    const struct dg_span given = dg_span_sub(dg_buf_span(w->out), before, w->out->len);
    const enum dg_err err = dg_sheets_rename(w->part->opts.sheets, name, given);
    if (err == DG_ERR_NOMEM) {
        w->err = err;
    } else if (err) {
        dg_buf_truncate(w->out, before);
        put(w, name);
    }
}

static void render(struct writer *w, size_t i)
{
    const struct dg_edit *edit = (const struct dg_edit *)w->part->edits.items + i;
    const struct dg_block *block = (const struct dg_block *)w->part->blocks.items + edit->block;
    struct rendering r = {.w = w,
                          .block = block,
                          .atoms = (const struct dg_atom *)w->part->atoms.items + block->atom,
                          .nodes = (const struct dg_node *)w->part->nodes.items + block->node,
                          .edit = i,
                          .format = NONE};
    const size_t before = w->out->len;
    if (w->slices[edit->block].ptr)
        render_changed(&r, w->slices[edit->block]);
    else
        copy(w, edit->at, edit->at + edit->len, i + 1);
    if (block->kind == DG_BLOCK_NAME && !w->err)
        check_name(w, dg_span_sub(w->part->bytes, edit->at, edit->len), before);
}

/* ---- All of it ------------------------------------------------------------------------------- */

enum dg_err dg_office_part_text(const struct dg_office_part *part, struct dg_buf *html)
{
    const struct dg_edit *edits = part->edits.items;
    const struct dg_block *blocks = part->blocks.items;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < part->edits.n && !err; i++)
        if (edits[i].block != SIZE_MAX)
            err = dg_buf_append_span(html, dg_span_sub(dg_buf_span(&part->texts),
                                                       blocks[edits[i].block].text_at,
                                                       blocks[edits[i].block].text_len));
    return err;
}

/* Takes one paragraph off the front; false when there is none. */
static bool take_paragraph(struct dg_span *text, struct dg_span *inside)
{
    const struct dg_span begin = DG_SPAN("<p>"), end = DG_SPAN("</p>");
    size_t at = 0;
    while (at < text->len && strchr(" \n", text->ptr[at]))
        at++;
    struct dg_span rest = dg_span_sub(*text, at, text->len);
    if (!dg_span_starts(rest, begin))
        return false;
    rest = dg_span_sub(rest, begin.len, rest.len);
    for (size_t i = 0; i < rest.len; i++) {
        const char *found = memchr(rest.ptr + i, '<', rest.len - i);
        if (!found)
            return false;
        i = (size_t)(found - rest.ptr);
        if (dg_span_starts(dg_span_sub(rest, i, end.len), end)) {
            *inside = dg_span_sub(rest, 0, i);
            *text = dg_span_sub(rest, i + end.len, rest.len);
            return true;
        }
    }
    return false;
}

static void take_slices(struct writer *w, struct dg_span *source, struct dg_span *target)
{
    const struct dg_edit *edits = w->part->edits.items;
    struct dg_span old, new;
    for (size_t i = 0; i < w->part->edits.n && !w->err; i++) {
        if (edits[i].block == SIZE_MAX)
            continue;
        if (!take_paragraph(source, &old) || !take_paragraph(target, &new))
            refuse(w, "lacks a paragraph");
        else if (!dg_span_eq(old, new))
            w->slices[edits[i].block] = new;
    }
}

enum dg_err dg_office_part_write(const struct dg_office_part *part, struct dg_span *source,
                                 struct dg_span *target, struct dg_buf *out, struct dg_error *error)
{
    struct writer w = {.part = part, .out = out, .error = error};
    w.slices = dg_try_calloc(part->blocks.n + 1, sizeof *w.slices);
    if (!w.slices)
        return DG_ERR_NOMEM;
    take_slices(&w, source, target);
    copy(&w, 0, part->bytes.len, 0);
    dg_free(w.slices);
    return w.err;
}
