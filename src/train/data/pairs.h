/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads, cleans and splits sentence pairs from files of `source<TAB>target` lines or of JSON
 * (pairs_json.h), plain or gzip.
 *
 *     struct dg_pairs pairs;
 *     dg_pairs_init(&pairs, &opts);
 *     err = dg_pairs_read(&pairs, "pairs.tsv.gz", &error);            any number of files
 *     err = dg_pairs_hold_out(&pairs, 1000, seed, &n_held);         the first n_held of the list
 *     ... pairs.list[i].source ...                                  borrowed until deinit
 *     dg_pairs_deinit(&pairs);
 *
 * Dropped pairs are counted by reason in pairs.dropped. One thread. */
#ifndef DG_TRAIN_DATA_PAIRS_H
#define DG_TRAIN_DATA_PAIRS_H

#include "base/file/text_in.h"
#include "base/memory/error.h"
#include "base/memory/map.h"
#include "base/memory/span.h"
#include "text/language/script.h"
#include "train/data/drop_reasons.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_pairs_opts {
    size_t len_max; /* the most characters of a side */
    /* the largest (longer side + 10) / (shorter side + 10), in characters; 0: any */
    double ratio_max;
    bool swap;       /* lines have the form target<TAB>source */
    bool duplicates; /* duplicates are kept */
    bool labels;     /* the target is a label for a classifier: any text, and many pairs share it */
    /* the files contain texts rather than pairs: each line becomes a target, and sources are
     * empty */
    bool lines;
    /* values of dg_script_find: most letters of the side must belong to this script; DG_SCRIPT_ANY:
     * any script */
    int source_script, target_script;
};

#define DG_PAIRS_OPTS_DEFAULT                                                                      \
    {                                                                                              \
        .len_max = 500, .ratio_max = 2.5, .source_script = DG_SCRIPT_ANY,                          \
        .target_script = DG_SCRIPT_ANY                                                             \
    }

struct dg_pair {
    struct dg_span source, target; /* without blanks at the ends */
    uint32_t repeat;               /* how often the pair occurs in an epoch */
};

enum { DG_PAIRS_FILES_MAX = 64 };

struct dg_pairs {
    struct dg_pairs_opts opts;
    struct dg_pair *list; /* [n] owned; the texts are borrowed from `files` */
    size_t n, cap;
    uint32_t repeat; /* given to the pairs that are read from now on; 1 at first */
    uint64_t n_lines;
    uint64_t dropped[DG_N_DROPS];
    struct dg_text_in files[DG_PAIRS_FILES_MAX];
    size_t n_files;
    struct dg_map seen; /* whole lines, to find duplicates */
};

void dg_pairs_init(struct dg_pairs *pairs, const struct dg_pairs_opts *opts);
void dg_pairs_deinit(struct dg_pairs *pairs);

enum dg_err dg_pairs_read(struct dg_pairs *pairs, const char *path,
                          struct dg_error *error) DG_MUST_CHECK;

/* Reads two files with equal numbers of lines: line i of one is the translation of line i of the
 * other. They are joined in memory; tabs become spaces. `swap` is ignored. DG_ERR_FORMAT when one
 * has more lines. */
enum dg_err dg_pairs_read_two(struct dg_pairs *pairs, const char *source_path,
                              const char *target_path, struct dg_error *error) DG_MUST_CHECK;

/* Keeps `n` of the pairs, drawn by `seed`. If there are fewer than `n`, keeps all of them, and some
 * twice. For mixing old pairs in. */
enum dg_err dg_pairs_sample(struct dg_pairs *pairs, size_t n, uint64_t seed) DG_MUST_CHECK;

/* Moves `n` pairs, drawn by `seed`, to the front, and drops every other pair that shares a
 * source or a target with one of them. *n_held becomes n, or a tenth of all pairs when there are
 * too few. */
enum dg_err dg_pairs_hold_out(struct dg_pairs *pairs, size_t n, uint64_t seed,
                              size_t *n_held) DG_MUST_CHECK;

/* Does the same for held-out pairs from another file: drops the pairs that share a side with one of
 * them. */
enum dg_err dg_pairs_forbid(struct dg_pairs *pairs, const struct dg_pair *others,
                            size_t n) DG_MUST_CHECK;

#endif
