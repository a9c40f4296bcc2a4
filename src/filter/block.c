/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A block's <p> is a border in HTML, so that it comes back whatever is done to the text inside. */
#include "filter/block.h"
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
    blocks->items = NULL;
    blocks->n = blocks->cap = 0;
}

void dg_blocks_clear(struct dg_blocks *blocks)
{
    dg_buf_clear(&blocks->html);
    blocks->n = 0;
}

/* ---- Making ---------------------------------------------------------------------------------- */

void dg_block_begin(struct dg_blocks *blocks)
{
    blocks->begin = blocks->html.len;
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

void dg_block_mark(struct dg_blocks *blocks, const char *tag)
{
    if (!blocks->err)
        blocks->err = dg_buf_append_cstr(&blocks->html, tag);
}

static void keep(struct dg_blocks *blocks, const struct dg_block *block)
{
    if (!blocks->err && blocks->n == blocks->cap) {
        const size_t cap = blocks->cap ? blocks->cap * 2 : 64;
        struct dg_block *grown = dg_try_realloc(blocks->items, cap * sizeof *grown);
        if (!grown) {
            blocks->err = DG_ERR_NOMEM;
            return;
        }
        blocks->items = grown;
        blocks->cap = cap;
    }
    if (!blocks->err)
        blocks->items[blocks->n++] = *block;
}

void dg_block_end(struct dg_blocks *blocks, size_t at, size_t len, uint64_t info)
{
    if (blocks->err)
        return;
    if (!blocks->has_letters) {
        dg_buf_truncate(&blocks->html, blocks->begin);
        return;
    }
    blocks->err = dg_buf_append_span(&blocks->html, closing(blocks));
    keep(blocks, &(struct dg_block){.at = at,
                                    .len = len,
                                    .html_at = blocks->begin,
                                    .html_len = blocks->html.len - blocks->begin,
                                    .info = info});
}

void dg_block_silent(struct dg_blocks *blocks, size_t at, size_t len, uint64_t info)
{
    keep(blocks, &(struct dg_block){.at = at, .len = len, .info = info});
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
    dg_block_end(blocks, at, len, info);
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

/* The bytes of one block of the file, given what is left of the translation. */
static enum dg_err write_block(const struct dg_blocks *blocks, size_t i, struct dg_span bytes,
                               struct dg_span *target, dg_block_put_fn put, void *ctx,
                               struct dg_buf *out, struct dg_error *error)
{
    const struct dg_block *block = &blocks->items[i];
    struct dg_span own = dg_span_sub(dg_buf_span(&blocks->html), block->html_at, block->html_len);
    struct dg_span before, after;
    if (own.len == 0)
        return put(ctx, block, own, out, error);
    if (!take(blocks, &own, &before) || !take(blocks, target, &after))
        return dg_error_set(error, DG_ERR_FORMAT,
                            "the translation is not one of this file: block %zu of %zu is missing",
                            i + 1, blocks->n);
    if (dg_span_eq(before, after))
        return dg_buf_append_span(out, dg_span_sub(bytes, block->at, block->len));
    return put(ctx, block, after, out, error);
}

enum dg_err dg_blocks_write(const struct dg_blocks *blocks, struct dg_span bytes,
                            struct dg_span target, dg_block_put_fn put, void *ctx,
                            struct dg_buf *out, struct dg_error *error)
{
    const bool has_rest = blocks->rest != SIZE_MAX;
    const size_t end = has_rest ? blocks->rest : bytes.len;
    enum dg_err err = DG_OK;
    size_t at = 0;
    for (size_t i = 0; i < blocks->n && !err; i++) {
        const struct dg_block *block = &blocks->items[i];
        err = dg_buf_append_span(out, dg_span_sub(bytes, at, block->at - at));
        if (!err)
            err = write_block(blocks, i, bytes, &target, put, ctx, out, error);
        at = block->at + block->len;
    }
    if (!err && target.len > 0 && !has_rest)
        return dg_error_set(
            error, DG_ERR_FORMAT,
            "the translation is not one of this file: there is text behind its end");
    if (!err)
        err = dg_buf_append_span(out, dg_span_sub(bytes, at, end - at));
    return err || !has_rest ? err : dg_buf_append_span(out, target);
}

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
            err = dg_error_set(error, DG_ERR_FORMAT,
                               "the translation is not one of this file: it has markup of its own");
    }
    return err;
}

/* ---- Words ----------------------------------------------------------------------------------- */

static bool is_one_of(struct dg_span text, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        if (text.len == strlen(words[i]) && strncasecmp(text.ptr, words[i], text.len) == 0)
            return true;
    return false;
}

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
    return has_sign || is_capitals || is_one_of(text, constants);
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
