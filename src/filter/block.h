/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The text of a file as blocks: stretches of its bytes whose text is HTML, <p>...</p>\n. The code
 * for each kind of file adds the blocks in the order of the file; the bytes between them are
 * copied, and so is a block whose text did not change.
 *
 *     dg_block_begin(blocks);
 *     dg_block_say(blocks, "Bread & ");              escaped
 *     dg_block_open(blocks, at, len);                <b id=0> for these bytes of the file
 *     dg_block_end(blocks, at, len, info);           of the file's bytes
 *
 * The first failure is kept in blocks->err, and later calls do nothing. A block without letters of
 * its own leaves no trace: dg_block_end forgets it. */
#ifndef DG_FILTER_BLOCK_H
#define DG_FILTER_BLOCK_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"
#include "markup/markup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_filter_block {
    size_t at, len;           /* where the block lies in the file */
    size_t html_at, html_len; /* where it lies in the text, with its <p> and line end */
    size_t node;              /* the index of its first mark */
    uint32_t n_nodes;
    bool is_nested; /* it hangs on a mark of the last block before it that is not nested */
    uint64_t info;  /* its meaning depends on the kind of file */
};

/* Bytes of the file that a mark in a block stands for. */
struct dg_block_node {
    size_t at, len;
};

struct dg_blocks {
    struct dg_buf html;
    struct dg_filter_block *items; /* owned; [n] */
    size_t n, cap;
    struct dg_block_node *nodes; /* owned; [n_nodes] */
    size_t n_nodes, nodes_cap;
    size_t begin;     /* where the block that is being made begins in `html` */
    size_t node;      /* the index of its first mark */
    bool has_letters; /* it has had letters */
    bool is_plain;    /* the text is not HTML: a block is a line, followed by an empty one */
    size_t rest;      /* where the bytes that the text gets as a copy begin; SIZE_MAX: nowhere */
    enum dg_err err;
};

void dg_blocks_init(struct dg_blocks *blocks, size_t text_max);
void dg_blocks_deinit(struct dg_blocks *blocks);
void dg_blocks_clear(struct dg_blocks *blocks);

void dg_block_begin(struct dg_blocks *blocks);
void dg_block_say(struct dg_blocks *blocks, struct dg_span text);
void dg_block_mark(struct dg_blocks *blocks, const char *tag);

/* Adds marks: a pair of tags around text, a point without text, and kept bytes, in whose place the
 * model sees `visible`. A translation must contain each of them once. */
void dg_block_open(struct dg_blocks *blocks, size_t at, size_t len);
void dg_block_close(struct dg_blocks *blocks, size_t at, size_t len);
void dg_block_point(struct dg_blocks *blocks, size_t at, size_t len);
void dg_block_frozen(struct dg_blocks *blocks, size_t at, size_t len, struct dg_span visible);

/* False when the block had no letters and is forgotten. */
bool dg_block_end(struct dg_blocks *blocks, size_t at, size_t len, uint64_t info);

/* Adds a block of plain text whose line ends become <br>. */
void dg_block_add(struct dg_blocks *blocks, struct dg_span text, size_t at, size_t len,
                  uint64_t info);

/* A block without text, which is written whenever something changed. */
void dg_block_silent(struct dg_blocks *blocks, size_t at, size_t len, uint64_t info);

/* The context of a block that is written. */
struct dg_block_source {
    const struct dg_blocks *blocks;
    struct dg_span bytes;                /* the block's bytes in the file */
    const struct dg_filter_block *first; /* [n_nested] the blocks nested in it */
    const struct dg_span *nested;        /* [n_nested] what is written for them */
    size_t n_nested;
};

/* Writes a changed block in the syntax of its kind of file; `html` is the text between its <p> and
 * </p>. */
typedef enum dg_err (*dg_block_put_fn)(void *ctx, const struct dg_block_source *source,
                                       const struct dg_filter_block *block, struct dg_span html,
                                       struct dg_buf *out, struct dg_error *error);

/* Writes the HTML of a block with marks: their bytes, and text as `escape` writes it. */
enum dg_err dg_block_render(const struct dg_block_source *source,
                            const struct dg_filter_block *block, struct dg_span html,
                            enum dg_err (*escape)(struct dg_span text, struct dg_buf *out),
                            struct dg_buf *out, struct dg_error *error) DG_MUST_CHECK;

/* Appends the text: of all blocks, and of the rest. */
enum dg_err dg_blocks_text(const struct dg_blocks *blocks, struct dg_span bytes,
                           struct dg_buf *text) DG_MUST_CHECK;

/* Cuts the translation of these blocks, *own, off the front of *target, in which the translations
 * of several texts follow each other. */
enum dg_err dg_blocks_take(const struct dg_blocks *blocks, struct dg_span *target,
                           struct dg_span *own, struct dg_error *error) DG_MUST_CHECK;

/* Appends the bytes, with the words of `target`, a translation of their text, in place of the
 * original words. */
enum dg_err dg_blocks_write(const struct dg_blocks *blocks, struct dg_span bytes,
                            struct dg_span target, dg_block_put_fn put, void *ctx,
                            struct dg_buf *out, struct dg_error *error) DG_MUST_CHECK;

/* Appends the text of a block's HTML: references are characters again, and each <br> is a line end.
 * Other tags are refused with DG_ERR_FORMAT. */
enum dg_err dg_block_text(struct dg_span html, struct dg_buf *text,
                          struct dg_error *error) DG_MUST_CHECK;

/* Appends the characters of a text token. */
enum dg_err dg_block_unescape(struct dg_span html, struct dg_buf *text) DG_MUST_CHECK;

/* Whether a text contains words: a letter outside addresses, placeholders, numbers and the like, in
 * text that is not code ("SKU-12", "EUR", "true", "some_name"). */
enum dg_err dg_block_has_words(struct dg_span text, bool *has_words) DG_MUST_CHECK;

#endif
