/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The search for one sentence's translation: a state machine that takes logits and returns the rows
 * that live on.
 *
 * The search does not depend on the network. Its driver (decoder.h) runs one step of the network
 * for the live rows, passes in the logits, and carries out the moves: new row i continues old row
 * `from` with `token`.
 *
 *     start -> RUNNING --advance--> RUNNING ... -> DONE
 *                  ^                   |
 *                  '---- RESTART <-----'      all live rows loop: begin again once, after the
 *                                             shown tokens, with repeated n-grams forbidden
 *
 * While the search runs, `dg_search_shown` returns the tokens that are final: the beginning shared
 * by every live hypothesis and the finished one that could still win. Shown tokens are never taken
 * back. */
#ifndef DG_DECODE_SEARCH_H
#define DG_DECODE_SEARCH_H

#include "base/memory/error.h"
#include "decode/search_opts.h"
#include "decode/sampling.h"
#include "decode/rules.h"

enum dg_search_state {
    DG_SEARCH_RUNNING, /* pass in the logits of the live rows */
    DG_SEARCH_RESTART, /* drop all rows, then begin again with one row at position 0 */
    DG_SEARCH_DONE,    /* read the results */
};

enum dg_finish {
    DG_FINISH_EOS,       /* the model ended it */
    DG_FINISH_LENGTH,    /* stopped at the largest permitted length */
    DG_FINISH_LOOP,      /* looped again after the repair; cut where the loop began */
    DG_FINISH_CANCELLED, /* the client cancelled or went away */
    DG_FINISH_FAILED,    /* the model gave no finite score */
};

/* Returns "eos", "length", "loop", "cancelled" or "failed". Users of the API see these names, so
 * they do not change. */
const char *dg_finish_name(enum dg_finish finish);

/* What the search needs to know about the model. */
struct dg_search_words {
    size_t n_vocab;
    int32_t eos_id;
    int32_t unk_id;       /* -1: the model has none */
    const int32_t *never; /* borrowed; padding and other ids that are never generated */
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
    bool repaired;         /* the loop guard restarted the search once */
    const int16_t *row_of; /* [n_ids] the live row that produced each token in its step */
};

struct dg_search_move {
    int from;      /* the index of its parent among the rows that were live */
    int32_t token; /* its next token */
};

/* Working memory of a step, shared by all searches of a thread. NULL: no memory. */
struct dg_search_scratch;
struct dg_search_scratch *dg_search_scratch_new(const struct dg_kernels *kernels, size_t n_vocab);
void dg_search_scratch_free(struct dg_search_scratch *scratch);

struct dg_search;

/* One search object serves one sentence after another and keeps its memory. NULL: no memory. */
struct dg_search *dg_search_new(void);
void dg_search_free(struct dg_search *search);

/* Begins a sentence. `opts` must have been checked and must live until the search is over.
 * `columns` says what a row of logits holds; the end token and all forced ids must have a column.
 * `target_cap` is the driver's own bound on the length. The search may be DONE at once (length 0).
 * Fails with DG_ERR_NOMEM only. */
enum dg_err dg_search_start(struct dg_search *search, const struct dg_search_opts *opts,
                            const struct dg_search_words *words, struct dg_columns columns,
                            const int32_t *src, size_t n_src, size_t target_cap) DG_MUST_CHECK;

enum dg_search_state dg_search_state(const struct dg_search *search);

/* Return the number of live rows, and the most that there can ever be, which the driver
 * reserves. */
int dg_search_n_live(const struct dg_search *search);
int dg_search_width(const struct dg_search_opts *opts);

/* Returns true if the next step can do without whole rows of logits. The columns of each row may
 * then come in parts, from left to right (dg_search_take, by live hypothesis; the caller owns
 * `parts` [live rows]), before dg_search_advance gets `parts` in place of `logits`. The answers are
 * the same to the bit. */
bool dg_search_takes_parts(const struct dg_search *search);
void dg_search_take(const struct dg_search *search, const struct dg_search_scratch *scratch,
                    struct dg_sampling_parts *parts, int i, float *logits, size_t first, size_t n);

/* Takes one step. `logits[i]` is the row of live hypothesis i and is overwritten; `attention[i]` is
 * its attention over the source [n_src], or NULL where no option needs it. Writes the moves (up to
 * the width) and returns how many rows live on; 0 unless the search is still RUNNING. */
int dg_search_advance(struct dg_search *search, struct dg_search_scratch *scratch,
                      float *const *logits, const struct dg_sampling_parts *parts,
                      const float *const *attention, struct dg_search_move *moves);

/* Tells the search that the driver has carried out a RESTART. */
void dg_search_restarted(struct dg_search *search);

/* Ends the search now. The best hypothesis so far becomes the answer, with this finish (CANCELLED
 * or FAILED). */
void dg_search_stop(struct dg_search *search, enum dg_finish finish);

/* Returns the beginning of the answer that is final so far. It only grows. */
size_t dg_search_shown(const struct dg_search *search, const int32_t **ids, const float **logprobs);

/* When DONE: return the number of answers (at least one), and the answer at `index`, the best being
 * 0. */
size_t dg_search_n_answers(const struct dg_search *search);
struct dg_answer dg_search_answer(const struct dg_search *search, size_t index);

#endif
