/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: one sentence that was begun. It becomes a ticket, or finds its answer in the
 * cache, or waits for another request's ticket for the same sentence. Answers are detokenised as
 * they arrive. If two models are needed in a row, the sentence goes through all this twice:
 *
 *     new -> [ ready -> launched -> news ... end ] -> over
 *              ^                             |
 *              '---- the next hop or piece --'
 *
 * A sentence that waited for another request's ticket becomes ready again if that ticket is
 * cancelled.
 *
 * The output of the first hop is cut like any other text: a later hop has one or more pieces, which
 * are translated in turn and joined. The answer's scores are sums over all pieces, and its finish
 * is the worst of them.
 *
 * A ready sentence is one that is not over and has no flight; the request launches it when it can.
 */
#ifndef DG_ENGINE_REQUEST_SENTENCE_H
#define DG_ENGINE_REQUEST_SENTENCE_H

#include "base/memory/buf.h"
#include "base/memory/list.h"
#include "engine/cache/cache.h"
#include "engine/cache/remote_lookups.h"
#include "engine/interface/engine_request.h"
#include "engine/words/placeholders.h"
#include "engine/words/terms.h"
#include "markup/doc.h"
#include "text/sentence/segment.h"
#include "text/terms/casing.h"
#include "tokenize/tokenizer.h"

struct dg_request;
struct dg_request_tools;

enum { DG_SENTENCE_MAX = 1 << 22 }; /* bytes of one translated sentence */

struct dg_sentence {
    struct dg_request *request;
    size_t part;
    struct dg_flight *flight; /* one reference; NULL while the sentence is ready to be launched */
    struct dg_list link;      /* linked in the flight while the sentence waits for news */
    struct dg_token *tokens;  /* owned; [n_tokens], offsets into the request's text */
    size_t n_tokens;
    size_t n_lost; /* protected spans that the translation lacks */
    int32_t *ids;  /* owned; [n_ids], the input of the present hop's model */
    size_t n_ids;
    size_t hop;
    struct dg_buf via;         /* the output of the previous hop */
    struct dg_segment *pieces; /* owned; [n_pieces] of `via` */
    size_t n_pieces, n_pieces_begun;
    struct dg_tokenizer_stream stream;
    struct dg_placeholders *placeholders; /* owned; NULL: the sentence has none */
    struct dg_placeholders_out out;       /* how far the placeholders in `raw` were replaced */
    size_t heard_from, heard_upto;        /* for a language model: the part of `raw` that is the
                                             translation */
    struct dg_constraint *constraints;    /* owned; [DG_CONSTRAINTS_MAX] for the present ticket */
    /* owned; [n_carried] for the placeholders of the present piece */
    struct dg_constraint *carried;
    struct dg_phrase *phrases; /* owned; [DG_PLACEHOLDERS_MAX] */
    size_t n_carried;
    struct dg_terms terms; /* terms of glossaries */
    struct dg_buf raw;     /* the model's output for the present ticket */
    struct dg_buf text;    /* the output of this hop */
    size_t n_told;         /* bytes of `text` that were reported */
    size_t n_fed;          /* tokens of the flight that were detokenised */
    bool in_place;   /* each token has offsets of its own rather than those of the whole sentence */
    bool has_lead;   /* in a text with markup: what precedes the sentence was shown */
    size_t shown_at; /* where that begins in the result */
    enum dg_casing casing; /* the case to restore; unless it is plain, nothing is shown before the
                              end */
    struct dg_engine_answer sum; /* sums over the tickets that are over: scores, finish, repaired */
    size_t n_tickets;            /* tickets that are over */
    size_t n_said;               /* tokens of these tickets, to which sum.logprob belongs */
    enum dg_err err;
    bool is_over;
    size_t n_numbers;     /* plain numbers that the model is to translate by itself */
    bool carries_numbers; /* the model failed to, so they are protected like other spans */
    bool is_first;        /* it is the first sentence of its request */
    bool is_cached;       /* it was answered from the cache without waiting for a ticket */
};

/* Makes the sentence of part `part`, in the state "ready". */
enum dg_err dg_sentence_new(struct dg_request *request, struct dg_request_tools *tools, size_t part,
                            struct dg_error *error, struct dg_sentence **sentence) DG_MUST_CHECK;
void dg_sentence_free(struct dg_sentence *sentence); /* only while it waits for no ticket; NULL is
                                                        fine */

/* Launches a ready sentence, repeatedly, until it waits for something or is over. On failure
 * (DG_ERR_BUSY: the scheduler is full) it is still ready. */
enum dg_err dg_sentence_launch(struct dg_sentence *sentence, struct dg_request_tools *tools,
                               struct dg_error *error, uint64_t *retry_ms) DG_MUST_CHECK;

/* Takes news of the ticket that it waits for. `is_leader`: the ticket is its own. Afterwards the
 * sentence waits, is ready or is over. */
enum dg_err dg_sentence_take(struct dg_sentence *sentence, struct dg_request_tools *tools,
                             bool is_over, bool is_leader) DG_MUST_CHECK;

/* Stops waiting. A ticket of the sentence's own is cancelled and ends as usual, and other sentences
 * that wait for it begin again. A sentence that waits for another request's ticket leaves that
 * ticket and is over at once. */
void dg_sentence_stop(struct dg_sentence *sentence, struct dg_request_tools *tools);

static inline bool dg_sentence_is_ready(const struct dg_sentence *sentence)
{
    return !sentence->flight && !sentence->is_over;
}

/* Returns true while the last hop, whose output is the answer, is under way. */
bool dg_sentence_is_showable(const struct dg_sentence *sentence);

/* Lists the answers of a sentence that is over, *n of them; those after the first live in `texts`.
 */
enum dg_err dg_sentence_answers(const struct dg_sentence *sentence, struct dg_buf *texts,
                                struct dg_engine_answer *answers, size_t *n) DG_MUST_CHECK;

/* Finds where the tokens of the best answer end in the sentence's text. The caller frees *ends
 * [n_ids of that answer]. NULL: the answer has no alignment, or only one between whole
 * sentences. */
enum dg_err dg_sentence_ends(const struct dg_sentence *sentence, size_t **ends) DG_MUST_CHECK;

/* Appends a finished sentence with its markup in place, after the markup that precedes it. */
enum dg_err dg_sentence_weave(const struct dg_sentence *sentence, const struct dg_doc *doc,
                              const struct dg_doc_part *part, struct dg_buf *out) DG_MUST_CHECK;

/* Turns the tokens' offsets into offsets of the original document. */
void dg_sentence_move_tokens(struct dg_sentence *sentence, const struct dg_doc *doc);

/* Ranks finishes: of several, the one with the largest rank becomes their common finish. */
int dg_finish_badness(enum dg_finish finish);

#endif
