/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The search of one sentence: a state machine that is fed logits and says which rows live on.
 *
 * It knows no network. Whoever drives it (decoder.h) runs one step of the network for its live
 * rows, hands over the logits, and carries out the moves: new row i continues old row `from` with
 * `token`.
 *
 *     start -> RUNNING --advance--> RUNNING ... -> DONE
 *                  ^                   |
 *                  '---- RESTART <-----'      all live rows went in circles: once, from what was
 *                                             already shown, with repeated n-grams forbidden
 *
 * While it runs, `dg_search_shown` tells which tokens are final: the beginning shared by every live
 * hypothesis and the finished one that could still win. What was shown is never taken back. */
#ifndef DG_DECODE_SEARCH_H
#define DG_DECODE_SEARCH_H

#include "base/memory/err.h"
#include "base/memory/error.h"
#include "decode/opts.h"
#include "decode/pick.h"
#include "decode/rules.h"

enum dg_search_state {
    DG_SEARCH_RUNNING, /* give it logits of its live rows */
    DG_SEARCH_RESTART, /* drop all rows, begin again with one row at position 0 */
    DG_SEARCH_DONE,    /* read the results */
};

enum dg_finish {
    DG_FINISH_EOS,       /* ended by itself */
    DG_FINISH_LENGTH,    /* stopped at the longest permitted target */
    DG_FINISH_LOOP,      /* went in circles, also after the repair: cut where they began */
    DG_FINISH_CANCELLED, /* the one who asked went away */
    DG_FINISH_FAILED,    /* the model gave no finite score */
};

/* "eos", "length", "loop", "cancelled", "failed": stable, as seen by API users. */
const char *dg_finish_name(enum dg_finish finish);

/* What the search needs to know of the model. */
struct dg_search_words {
    size_t n_vocab;
    int32_t eos_id;
    int32_t unk_id;       /* -1: none */
    const int32_t *never; /* borrowed; padding and other ids that are never said */
    size_t n_never;
};

/* One answer. Arrays are borrowed from the search until it starts again or is freed. */
struct dg_answer {
    const int32_t *ids;    /* [n_ids], the end token included when finish is EOS */
    const float *logprobs; /* [n_ids] */
    size_t n_ids;
    double logprob; /* sum of logprobs */
    double score;   /* logprob / n_ids^length_penalty + coverage */
    enum dg_finish finish;
    bool repaired;         /* the loop guard began again once */
    const int16_t *row_of; /* [n_ids] which live row of its step produced each token */
};

struct dg_search_move {
    int from;      /* index among the rows that were live */
    int32_t token; /* what it says next */
};

/* Working memory of a step, shared by all searches of a thread. NULL: no memory. */
struct dg_search_scratch;
struct dg_search_scratch *dg_search_scratch_new(const struct dg_kernels *kernels, size_t n_vocab);
void dg_search_scratch_free(struct dg_search_scratch *scratch);

struct dg_search;

/* One search object serves one sentence after the other; memory is kept. NULL: no memory. */
struct dg_search *dg_search_new(void);
void dg_search_free(struct dg_search *search);

/* Begins a sentence. `opts` were checked and stay with the caller until the search is over;
 * `columns` says what a row of logits holds (the end token and all forced ids must have a column);
 * `target_cap` is the driver's own bound. DG_ERR_NOMEM; may be DONE at once (length 0). */
enum dg_err dg_search_start(struct dg_search *search, const struct dg_search_opts *opts,
                            const struct dg_search_words *words, struct dg_columns columns,
                            const int32_t *src, size_t n_src, size_t target_cap) DG_MUST_CHECK;

enum dg_search_state dg_search_state(const struct dg_search *search);

/* Live rows, and the most there can ever be (the driver reserves that many). */
int dg_search_n_live(const struct dg_search *search);
int dg_search_width(const struct dg_search_opts *opts);

/* One step. `logits[i]` is the row of live hypothesis i and is overwritten; `attention[i]` its
 * attention over the source [n_src] or NULL (needed only for a coverage penalty). Writes the moves
 * (up to the width) and returns how many rows live on; 0 unless still RUNNING. */
int dg_search_advance(struct dg_search *search, struct dg_search_scratch *scratch,
                      float *const *logits, const float *const *attention,
                      struct dg_search_move *moves);

/* After RESTART was carried out. */
void dg_search_restarted(struct dg_search *search);

/* Ends it now; the best of what there is becomes the answer, with this finish (CANCELLED, FAILED).
 */
void dg_search_stop(struct dg_search *search, enum dg_finish finish);

/* The final beginning of the answer so far; grows, never changes. */
size_t dg_search_shown(const struct dg_search *search, const int32_t **ids, const float **logprobs);

/* When DONE: the answers, best first, and one of them. There is always at least one. */
size_t dg_search_n_answers(const struct dg_search *search);
struct dg_answer dg_search_answer(const struct dg_search *search, size_t index);

#endif
