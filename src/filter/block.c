/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A block's <p> is a border in HTML, so that it comes back whatever happens to the text inside. */
#include "filter/block.h"
#include "base/memory/chars.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "markup/entity.h"
#include "text/terms/protect.h"

#include <string.h>
#include <strings.h>

static struct dg_span opening(const struct dg_blocks *blocks)
{
    return blocks->is_plain ? DG_SPAN("") : DG_SPAN("<p>");
}

static struct dg_span closing(const struct dg_blocks *blocks)
{
    return blocks->is_plain ? DG_SPAN("\n\n") : DG_SPAN("</p>\n");
}

void dg_blocks_init(struct dg_blocks *blocks, size_t text_max)
{
    memset(blocks, 0, sizeof *blocks);
    blocks->rest = SIZE_MAX;
    dg_buf_init(&blocks->html, text_max);
}

void dg_blocks_deinit(struct dg_blocks *blocks)
{
    dg_buf_deinit(&blocks->html);
    dg_free(blocks->items);
    dg_free(blocks->nodes);
    blocks->nodes = NULL;
    blocks->n_nodes = blocks->nodes_cap = 0;
    blocks->items = NULL;
    blocks->n = blocks->cap = 0;
}

void dg_blocks_clear(struct dg_blocks *blocks)
{
    dg_buf_clear(&blocks->html);
    blocks->n = blocks->n_nodes = 0;
}

/* ---- Making ---------------------------------------------------------------------------------- */

void dg_block_begin(struct dg_blocks *blocks)
{
    blocks->begin = blocks->html.len;
    blocks->node = blocks->n_nodes;
    blocks->has_letters = false;
    if (!blocks->err)
        blocks->err = dg_buf_append_span(&blocks->html, opening(blocks));
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

void dg_block_say(struct dg_blocks *blocks, struct dg_span text)
{
    size_t from = 0;
    for (size_t i = 0; i < text.len && !blocks->err; i++) {
        const char c = text.ptr[i];
        const char *reference = c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : NULL;
        blocks->has_letters |= is_letter(c);
        if (!reference || blocks->is_plain)
            continue;
        blocks->err = dg_buf_append_span(&blocks->html, dg_span_sub(text, from, i - from));
        if (!blocks->err)
            blocks->err = dg_buf_append_cstr(&blocks->html, reference);
        from = i + 1;
    }
    if (!blocks->err)
        blocks->err = dg_buf_append_span(&blocks->html, dg_span_sub(text, from, text.len - from));
}

/* Adds a mark and returns its number in its block. */
static size_t add_node(struct dg_blocks *blocks, size_t at, size_t len)
{
    if (!blocks->err)
        blocks->err = DG_GROW(blocks->nodes, blocks->n_nodes, blocks->nodes_cap, 64);
    if (blocks->err)
        return 0;
    blocks->nodes[blocks->n_nodes] = (struct dg_block_node){.at = at, .len = len};
    return blocks->n_nodes++ - blocks->node;
}

void dg_block_open(struct dg_blocks *blocks, size_t at, size_t len)
{
    const size_t node = add_node(blocks, at, len);
    if (!blocks->err)
        blocks->err = dg_buf_printf(&blocks->html, "<b id=%zu>", node);
}

/* An end tag with an attribute: readers ignore it, dg_block_render finds the bytes by it. */
void dg_block_close(struct dg_blocks *blocks, size_t at, size_t len)
{
    const size_t node = add_node(blocks, at, len);
    if (!blocks->err)
        blocks->err = dg_buf_printf(&blocks->html, "</b id=%zu>", node);
}

void dg_block_point(struct dg_blocks *blocks, size_t at, size_t len)
{
    const size_t node = add_node(blocks, at, len);
    if (!blocks->err)
        blocks->err = dg_buf_printf(&blocks->html, "<img id=%zu>", node);
}

void dg_block_frozen(struct dg_blocks *blocks, size_t at, size_t len, struct dg_span visible)
{
    const size_t node = add_node(blocks, at, len);
    const bool has_letters = blocks->has_letters;
    if (!blocks->err)
        blocks->err = dg_buf_printf(&blocks->html, "<code id=%zu translate=no>", node);
    dg_block_say(blocks, visible);
    blocks->has_letters = has_letters; /* texts without letters are not translated */
    dg_block_mark(blocks, "</code>");
}

void dg_block_mark(struct dg_blocks *blocks, const char *tag)
{
    if (!blocks->err)
        blocks->err = dg_buf_append_cstr(&blocks->html, tag);
}

static void keep(struct dg_blocks *blocks, const struct dg_filter_block *block)
{
    if (!blocks->err && DG_GROW(blocks->items, blocks->n, blocks->cap, 64)) {
        blocks->err = DG_ERR_NOMEM;
        return;
    }
    if (!blocks->err)
        blocks->items[blocks->n++] = *block;
}

bool dg_block_end(struct dg_blocks *blocks, size_t at, size_t len, uint64_t info)
{
    if (!blocks->err && !blocks->has_letters) {
        dg_buf_truncate(&blocks->html, blocks->begin);
        blocks->n_nodes = blocks->node;
        return false;
    }
    if (!blocks->err)
        blocks->err = dg_buf_append_span(&blocks->html, closing(blocks));
    keep(blocks, &(struct dg_filter_block){.at = at,
                                           .len = len,
                                           .html_at = blocks->begin,
                                           .html_len = blocks->html.len - blocks->begin,
                                           .node = blocks->node,
                                           .n_nodes = (uint32_t)(blocks->n_nodes - blocks->node),
                                           .info = info});
    return !blocks->err;
}

void dg_block_silent(struct dg_blocks *blocks, size_t at, size_t len, uint64_t info)
{
    keep(blocks, &(struct dg_filter_block){.at = at, .len = len, .info = info});
}

void dg_block_add(struct dg_blocks *blocks, struct dg_span text, size_t at, size_t len,
                  uint64_t info)
{
    size_t from = 0;
    dg_block_begin(blocks);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '\n')
            continue;
        const bool has_return = i > from && text.ptr[i - 1] == '\r';
        dg_block_say(blocks, dg_span_sub(text, from, i - from - has_return));
        dg_block_mark(blocks, "<br>");
        from = i + 1;
    }
    dg_block_say(blocks, dg_span_sub(text, from, text.len - from));
    (void)dg_block_end(blocks, at, len, info);
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Takes one block off the front of a text; false when there is none. */
static bool take(const struct dg_blocks *blocks, struct dg_span *text, struct dg_span *inside)
{
    const struct dg_span open = opening(blocks), close = closing(blocks);
    if (!dg_span_starts(*text, open))
        return false;
    for (size_t at = open.len; at < text->len; at++) {
        const char *mark = memchr(text->ptr + at, close.ptr[0], text->len - at);
        if (!mark)
            return false;
        at = (size_t)(mark - text->ptr);
        if (!dg_span_starts(dg_span_sub(*text, at, text->len - at), close))
            continue;
        *inside = dg_span_sub(*text, open.len, at - open.len);
        *text = dg_span_sub(*text, at + close.len, text->len);
        return true;
    }
    return false;
}

enum dg_err dg_blocks_text(const struct dg_blocks *blocks, struct dg_span bytes,
                           struct dg_buf *text)
{
    const enum dg_err err = dg_buf_append_span(text, dg_buf_span(&blocks->html));
    return err || blocks->rest == SIZE_MAX
               ? err
               : dg_buf_append_span(text, dg_span_sub(bytes, blocks->rest, bytes.len));
}

static enum dg_err missing(const struct dg_blocks *blocks, size_t i, struct dg_error *error)
{
    return dg_error_set(error, DG_ERR_FORMAT,
                        "the translation does not belong to this file: block %zu of %zu is missing",
                        i + 1, blocks->n);
}

enum dg_err dg_blocks_take(const struct dg_blocks *blocks, struct dg_span *target,
                           struct dg_span *own, struct dg_error *error)
{
    const struct dg_span whole = *target;
    struct dg_span inside;
    for (size_t i = 0; i < blocks->n; i++)
        if (blocks->items[i].html_len && !take(blocks, target, &inside))
            return missing(blocks, i, error);
    *own = dg_span_sub(whole, 0, whole.len - target->len);
    return DG_OK;
}

struct writer {
    const struct dg_blocks *blocks;
    struct dg_span bytes, target; /* the bytes of the file, and the rest of the translation */
    dg_block_put_fn put;
    void *ctx;
    struct dg_buf side;     /* receives the bytes of nested blocks */
    struct dg_span *nested; /* owned; [cap] */
    size_t cap;
    struct dg_error *error;
};

/* Takes a block's translation; true if it differs from the original. */
static enum dg_err take_block(struct writer *w, size_t i, struct dg_span *after, bool *is_changed)
{
    const struct dg_filter_block *block = &w->blocks->items[i];
    struct dg_span own =
        dg_span_sub(dg_buf_span(&w->blocks->html), block->html_at, block->html_len);
    struct dg_span before = own;
    *after = own;
    *is_changed = own.len == 0;
    if (own.len == 0)
        return DG_OK;
    if (!take(w->blocks, &own, &before) || !take(w->blocks, &w->target, after))
        return missing(w->blocks, i, w->error);
    *is_changed = !dg_span_eq(before, *after);
    return DG_OK;
}

/* Copies bytes of the file with what is written for the nested blocks in them. */
static enum dg_err copy(const struct dg_block_source *source, size_t at, size_t len,
                        struct dg_buf *out)
{
    const size_t end = at + len;
    size_t low = 0, high = source->n_nested;
    enum dg_err err = DG_OK;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (source->first[middle].at >= at)
            high = middle;
        else
            low = middle + 1;
    }
    for (; low < source->n_nested && source->first[low].at < end && !err; low++) {
        err = dg_buf_append_span(out, dg_span_sub(source->bytes, at, source->first[low].at - at));
        if (!err)
            err = dg_buf_append_span(out, source->nested[low]);
        at = source->first[low].at + source->first[low].len;
    }
    return err ? err : dg_buf_append_span(out, dg_span_sub(source->bytes, at, end - at));
}

static enum dg_err reserve_nested(struct writer *w, size_t n)
{
    return DG_RESERVE(w->nested, n, w->cap, 16);
}

/* Writes the nested blocks from `i` on; *n is how many these are. */
static enum dg_err write_nested(struct writer *w, size_t i, size_t *n)
{
    const struct dg_block_source source = {.blocks = w->blocks, .bytes = w->bytes};
    enum dg_err err = DG_OK;
    dg_buf_clear(&w->side);
    for (*n = 0; !err && i + *n < w->blocks->n && w->blocks->items[i + *n].is_nested; ++*n) {
        const struct dg_filter_block *block = &w->blocks->items[i + *n];
        const size_t from = w->side.len;
        struct dg_span after;
        bool is_changed;
        err = take_block(w, i + *n, &after, &is_changed);
        if (!err)
            err = reserve_nested(w, *n + 1);
        if (!err)
            err = is_changed ? w->put(w->ctx, &source, block, after, &w->side, w->error)
                             : copy(&source, block->at, block->len, &w->side);
        if (!err)
            w->nested[*n] = dg_span_make(NULL, w->side.len - from);
    }
    for (size_t k = 0, at = 0; k < *n && !err; at += w->nested[k++].len)
        w->nested[k].ptr = w->side.ptr + at;
    return err;
}

enum dg_err dg_blocks_write(const struct dg_blocks *blocks, struct dg_span bytes,
                            struct dg_span target, dg_block_put_fn put, void *ctx,
                            struct dg_buf *out, struct dg_error *error)
{
    const bool has_rest = blocks->rest != SIZE_MAX;
    const size_t end = has_rest ? blocks->rest : bytes.len;
    struct writer w = {
        .blocks = blocks, .bytes = bytes, .target = target, .put = put, .ctx = ctx, .error = error};
    enum dg_err err = DG_OK;
    dg_buf_init(&w.side, out->max);
    for (size_t i = 0, at = 0, n_nested = 0; i <= blocks->n && !err; i += 1 + n_nested) {
        const struct dg_filter_block *block = i < blocks->n ? &blocks->items[i] : NULL;
        struct dg_span after;
        bool is_changed;
        const size_t until = block ? block->at : end;
        err = dg_buf_append_span(out, dg_span_sub(bytes, at, until - at));
        if (err || !block)
            break;
        at = block->at + block->len;
        err = take_block(&w, i, &after, &is_changed);
        if (!err)
            err = write_nested(&w, i + 1, &n_nested);
        const struct dg_block_source source = {.blocks = blocks,
                                               .bytes = bytes,
                                               .first = block + 1,
                                               .nested = w.nested,
                                               .n_nested = n_nested};
        if (!err)
            err = is_changed ? put(ctx, &source, block, after, out, error)
                             : copy(&source, block->at, block->len, out);
    }
    dg_buf_deinit(&w.side);
    dg_free(w.nested);
    if (!err && w.target.len > 0 && !has_rest)
        return dg_error_set(
            error, DG_ERR_FORMAT,
            "the translation does not belong to this file: there is text after its end");
    return err || !has_rest ? err : dg_buf_append_span(out, w.target);
}

/* ---- Marks ----------------------------------------------------------------------------------- */

static enum dg_err misfit(struct dg_error *error, const char *how)
{
    return dg_error_set(error, DG_ERR_FORMAT, "the translation does not belong to this file: it %s",
                        how);
}

/* The node of a tag; SIZE_MAX when it has none, or was used already. */
static size_t node_of(const struct dg_filter_block *block, struct dg_span tag, unsigned char *used)
{
    struct dg_span id;
    size_t node = 0;
    if (!dg_markup_attribute(tag, "id", &id) || id.len == 0 || id.len > 9)
        return SIZE_MAX;
    for (size_t i = 0; i < id.len; i++) {
        if (id.ptr[i] < '0' || id.ptr[i] > '9')
            return SIZE_MAX;
        node = node * 10 + (size_t)(id.ptr[i] - '0');
    }
    if (node >= block->n_nodes || used[node])
        return SIZE_MAX;
    used[node] = 1;
    return node;
}

/* The position after the </code> of a frozen mark. */
static void skip_frozen(struct dg_markup *markup)
{
    struct dg_markup_token token;
    while (dg_markup_next(markup, &token))
        if (token.type == DG_MARKUP_END && dg_span_eq(token.name, DG_SPAN("code")))
            return;
}

enum dg_err dg_block_render(const struct dg_block_source *source,
                            const struct dg_filter_block *block, struct dg_span html,
                            enum dg_err (*escape)(struct dg_span text, struct dg_buf *out),
                            struct dg_buf *out, struct dg_error *error)
{
    struct dg_markup markup = {.text = html, .kind = DG_MARKUP_HTML};
    struct dg_markup_token token;
    struct dg_buf text;
    unsigned char *used = dg_try_calloc(block->n_nodes + 1, 1);
    enum dg_err err = used ? DG_OK : DG_ERR_NOMEM;
    dg_buf_init(&text, out->max);
    while (!err && dg_markup_next(&markup, &token)) {
        const struct dg_span bytes = dg_span_sub(html, token.at, token.len);
        if (token.type == DG_MARKUP_TEXT) {
            dg_buf_clear(&text);
            err = dg_block_unescape(bytes, &text);
            if (!err)
                err = escape(dg_buf_span(&text), out);
            continue;
        }
        const size_t node = node_of(block, bytes, used);
        if (node == SIZE_MAX) {
            err = misfit(error, "has a mark that the file does not have, or has it twice");
            break;
        }
        const struct dg_block_node *own = &source->blocks->nodes[block->node + node];
        err = copy(source, own->at, own->len, out);
        if (dg_span_eq(token.name, DG_SPAN("code")))
            skip_frozen(&markup);
    }
    for (size_t i = 0; i < block->n_nodes && !err; i++)
        if (!used[i])
            err = misfit(error, "lacks a mark of the file");
    dg_buf_deinit(&text);
    dg_free(used);
    return err;
}

/* ---- Text ------------------------------------------------------------------------------------ */

enum dg_err dg_block_unescape(struct dg_span html, struct dg_buf *text)
{
    enum dg_err err = DG_OK;
    size_t from = 0;
    for (size_t at = 0; at < html.len && !err;) {
        uint32_t cp = 0;
        char bytes[DG_UTF8_MAX_LEN];
        const size_t len = html.ptr[at] == '&' ? dg_entity_match(html, at, DG_ENTITY_HTML, &cp) : 0;
        if (len == 0 || cp == 0) {
            at += len ? len : 1;
            continue;
        }
        err = dg_buf_append_span(text, dg_span_sub(html, from, at - from));
        if (!err)
            err = dg_buf_append(text, bytes, dg_utf8_encode(cp, bytes));
        from = at += len;
    }
    return err ? err : dg_buf_append_span(text, dg_span_sub(html, from, html.len - from));
}

enum dg_err dg_block_text(struct dg_span html, struct dg_buf *text, struct dg_error *error)
{
    struct dg_markup markup = {.text = html, .kind = DG_MARKUP_HTML};
    struct dg_markup_token token;
    enum dg_err err = DG_OK;
    while (!err && dg_markup_next(&markup, &token)) {
        if (token.type == DG_MARKUP_TEXT)
            err = dg_block_unescape(dg_span_sub(html, token.at, token.len), text);
        else if (token.type == DG_MARKUP_EMPTY && dg_span_eq(token.name, DG_SPAN("br")))
            err = dg_buf_append_byte(text, '\n');
        else
            err = dg_error_set(
                error, DG_ERR_FORMAT,
                "the translation does not belong to this file: it has markup of its own");
    }
    return err;
}

/* ---- Words ----------------------------------------------------------------------------------- */

/* One word that is made for machines: with a digit or '_' in it, or of at most three capitals. */
static bool is_code(struct dg_span text)
{
    static const char *const constants[] = {"true", "false", "null", "nil", "none", "nan", NULL};
    bool has_sign = false, is_capitals = text.len <= 3;
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.ptr[i];
        if (c == ' ' || c == '\t' || c == '\n')
            return false;
        has_sign |= (c >= '0' && c <= '9') || c == '_';
        is_capitals &= c >= 'A' && c <= 'Z';
    }
    return has_sign || is_capitals || dg_chars_is_one_of_any_case(text, constants);
}

enum dg_err dg_block_has_words(struct dg_span text, bool *has_words)
{
    struct dg_protect_list spans;
    bool has_letters = false;
    for (size_t i = 0; i < text.len && !has_letters; i++)
        has_letters = is_letter(text.ptr[i]);
    *has_words = has_letters && !is_code(text);
    if (!*has_words)
        return DG_OK;
    dg_protect_list_init(&spans);
    const enum dg_err err = dg_protect_find(text, DG_PROTECT_ALL, &spans);
    if (!err)
        *has_words = !dg_protect_leaves_nothing(text, &spans);
    dg_protect_list_deinit(&spans);
    return err;
}
