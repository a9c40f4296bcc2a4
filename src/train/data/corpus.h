/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Stores pairs as ids in one file. Training maps the file read-only: the system may keep or drop
 * its pages, and a resumed run reads exactly what the first one read.
 *
 *     err = dg_corpus_write(path, tokenizer, NULL, pairs, n, len_max, &stats, &error);
 *     err = dg_corpus_open(&corpus, path, &bp, &error);
 *     struct dg_example example = dg_corpus_get(&corpus, i);        0 <= i < corpus.n
 *     dg_corpus_close(&corpus);
 *
 *     layout   8 bytes "dgpairs1" | u64 n | u64 n_ids | u64 offsets[2 n + 1] | i32 ids[n_ids]
 * in the machine's byte order: it is a working file of this machine, not to be copied to others.
 * Source i is ids[offsets[2i] .. offsets[2i + 1]), and target i follows it; for an encoder-only
 * model example.h says what the target is. Everything is checked when the file is opened. */
#ifndef DG_TRAIN_DATA_CORPUS_H
#define DG_TRAIN_DATA_CORPUS_H

#include "base/file/map_file.h"
#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "model/blueprint.h"
#include "model/labels.h"
#include "tokenize/tokenizer.h"
#include "train/data/example.h"
#include "train/data/pairs.h"

#include <stdbool.h>

struct dg_corpus {
    struct dg_map_file file;
    const uint64_t *offsets;
    const int32_t *ids;
    size_t n;
    uint64_t n_source_tokens, n_target_tokens;
    struct dg_map_file links_file; /* empty: there are no links */
    const uint64_t *link_offsets;  /* [n + 1] */
    const struct dg_link *links;
};

struct dg_corpus_stats {
    size_t n_written, n_long; /* numbers of pairs; long pairs are left out, but long held-out texts
                                 of a language model are cut */
    uint64_t n_source_tokens, n_target_tokens, n_unknown;
};

/* A corpus file being written, for callers that make the ids themselves:
 *
 *     dg_corpus_out_init(&out);
 *     err = dg_corpus_out_put(&out, source, n_source, target, n_target);     any number of times
 *     err = dg_corpus_out_save(&out, path, &error);
 *     dg_corpus_out_deinit(&out); */
struct dg_corpus_out {
    struct dg_buf ids, offsets;
    struct dg_corpus_stats stats; /* counts what is put; the caller counts n_long and n_unknown */
};

void dg_corpus_out_init(struct dg_corpus_out *out);
void dg_corpus_out_deinit(struct dg_corpus_out *out);
enum dg_err dg_corpus_out_put(struct dg_corpus_out *out, const int32_t *source, size_t n_source,
                              const int32_t *target, size_t n_target) DG_MUST_CHECK;
enum dg_err dg_corpus_out_save(const struct dg_corpus_out *out, const char *path,
                               struct dg_error *error) DG_MUST_CHECK;

struct dg_labels;

/* Writes the pairs, each as often as its `repeat` says. `len_max` is the most tokens of a side with
 * its end token. `labels` are those of a classifier, whose targets are the numbers of labels; else
 * NULL. DG_ERR_NOT_FOUND: an unknown label. */
enum dg_err dg_corpus_write(const char *path, const struct dg_tokenizer *tokenizer,
                            const struct dg_labels *labels, const struct dg_pair *pairs, size_t n,
                            size_t len_max, struct dg_corpus_stats *stats,
                            struct dg_error *error) DG_MUST_CHECK;

enum dg_err dg_corpus_open(struct dg_corpus *corpus, const char *path,
                           const struct dg_blueprint *bp, struct dg_error *error) DG_MUST_CHECK;
void dg_corpus_close(struct dg_corpus *corpus);

/* The word links of each pair, in a file of their own:
 *
 *     layout   8 bytes "dglinks1" | u64 n | u64 n_links | u64 offsets[n + 1]
 *              | (u16 source, u16 target)[n_links]
 *
 * `make` uses an aligner to fill `links` for one pair. Opening checks that the links fit the
 * pairs. */
typedef enum dg_err (*dg_corpus_links_fn)(void *ctx, const struct dg_example *example,
                                          struct dg_word_links *links);

enum dg_err dg_corpus_write_links(const char *path, const struct dg_corpus *corpus,
                                  dg_corpus_links_fn make, void *ctx,
                                  struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_corpus_open_links(struct dg_corpus *corpus, const char *path,
                                 struct dg_error *error) DG_MUST_CHECK;

static inline struct dg_example dg_corpus_get(const struct dg_corpus *corpus, size_t i)
{
    const uint64_t *at = corpus->offsets + 2 * i;
    struct dg_example example = {
        .source = corpus->ids + at[0],
        .target = corpus->ids + at[1],
        .n_source = (uint32_t)(at[1] - at[0]),
        .n_target = (uint32_t)(at[2] - at[1]),
    };
    if (corpus->links) {
        example.links = corpus->links + corpus->link_offsets[i];
        example.n_links = (uint32_t)(corpus->link_offsets[i + 1] - corpus->link_offsets[i]);
    }
    return example;
}

/* ---- The order of an epoch ------------------------------------------------------------------- */

/* A permutation of 0 .. n - 1 drawn by seed and epoch, cut into batches of at most `tokens` target
 * or source tokens (at least one pair each). Sentences lie end to end in memory, without
 * padding, so they need no buckets by length, and a batch is a fair sample. */
struct dg_order {
    uint32_t *at; /* [n] owned */
    size_t n;
    uint64_t epoch;
};

enum dg_err dg_order_init(struct dg_order *order, size_t n) DG_MUST_CHECK;
void dg_order_deinit(struct dg_order *order);
void dg_order_shuffle(struct dg_order *order, uint64_t seed, uint64_t epoch);

/* Returns how many pairs, from position `first` on, make the next batch. */
size_t dg_order_batch(const struct dg_order *order, const struct dg_corpus *corpus, size_t first,
                      size_t tokens);

#endif
