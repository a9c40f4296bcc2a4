/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: one sentence that was begun. It becomes a ticket, or finds its answer in the
 * cache, or waits along with somebody who asked for the same; what comes back is detokenised as it
 * comes. Where two models are needed one after the other, it goes through that twice:
 *
 *     new -> [ ready -> launched -> news ... end ] -> over
 *              ^                             |
 *              '---- the next hop or piece --'       ready again, too, when what it waited for was
 *                                                    another's and that was cancelled
 *
 * What the first hop says is cut as any text: a hop behind the first has one or more pieces, which
 * are translated in turn and joined. The answer's scores are sums over all of them, its finish the
 * worst.
 *
 * A ready sentence is one without a flight that is not over; the request launches it when it can.
 */
#ifndef DG_ENGINE_REQUEST_SENTENCE_H
#define DG_ENGINE_REQUEST_SENTENCE_H

#include "base/memory/buf.h"
#include "base/memory/list.h"
#include "engine/cache/cache.h"
#include "engine/cache/remote_lookups.h"
#include "engine/engine.h"
#include "engine/request/placeholders.h"
#include "engine/request/terms.h"
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
    struct dg_flight *flight; /* a reference; NULL while it is ready to be launched */
    struct dg_list link;      /* in the flight, while it waits for news */
    struct dg_token *tokens;  /* owned; [n_tokens], offsets into the request's text */
    size_t n_tokens;
    size_t n_lost; /* spans that were to come back and did not */
    int32_t *ids;  /* owned; [n_ids] what the present hop's model gets */
    size_t n_ids;
    size_t hop;
    struct dg_buf via;         /* what the hop before said, */
    struct dg_segment *pieces; /* owned; [n_pieces] cut, */
    size_t n_pieces, n_pieces_begun;
    struct dg_tokenizer_stream stream;
    struct dg_placeholders *placeholders; /* owned; NULL: nothing is carried */
    struct dg_placeholders_out out;       /* how far `raw` was undressed */
    size_t heard_from, heard_upto;     /* of a language model: what of `raw` is its translation */
    struct dg_constraint *constraints; /* owned; [DG_CONSTRAINTS_MAX] of the present ticket */
    struct dg_constraint *carried; /* owned; [n_carried] what is carried, in the present piece, */
    struct dg_phrase *phrases;     /* owned; [DG_PLACEHOLDERS_MAX] */
    size_t n_carried;
    struct dg_terms terms;       /* of glossaries */
    struct dg_buf raw;           /* what the present ticket says, as the model says it */
    struct dg_buf text;          /* what this hop has said, */
    size_t n_told;               /* of which this much was shown */
    size_t n_fed;                /* tokens of the flight detokenised */
    bool in_place;               /* offsets of tokens are those of each, not of the whole */
    bool has_lead;               /* of a text with markup: what stands before it was shown, */
    size_t shown_at;             /* from here on in the result */
    enum dg_casing casing;       /* to restore; not plain: nothing is shown before the end */
    struct dg_engine_answer sum; /* of the tickets that are over: scores, finish, repaired */
    size_t n_tickets;            /* those */
    size_t n_said;               /* tokens of all of them, of which sum.logprob is */
    enum dg_err err;
    bool is_over;
    bool is_first;  /* of its request */
    bool is_cached; /* no ticket of it had to be waited for */
};

/* The sentence of part `part`, ready. */
enum dg_err dg_sentence_new(struct dg_request *request, struct dg_request_tools *tools, size_t part,
                            struct dg_error *error, struct dg_sentence **sentence) DG_MUST_CHECK;
void dg_sentence_free(struct dg_sentence *sentence); /* waits for no ticket; NULL is fine */

/* Launches a ready sentence, again and again until it waits for something or is over. On failure
 * (DG_ERR_BUSY: the scheduler is full) it is still ready. */
enum dg_err dg_sentence_launch(struct dg_sentence *sentence, struct dg_request_tools *tools,
                               struct dg_error *error, uint64_t *retry_ms) DG_MUST_CHECK;

/* News of what it waits for. `is_leader`: its own ticket. Afterwards it waits, is ready or is over.
 */
enum dg_err dg_sentence_take(struct dg_sentence *sentence, struct dg_request_tools *tools,
                             bool is_over, bool is_leader) DG_MUST_CHECK;

/* Stops waiting: its own ticket is cancelled and its end comes as always (others who wait for that
 * begin again); another's is left, and the sentence is over at once. */
void dg_sentence_stop(struct dg_sentence *sentence, struct dg_request_tools *tools);

static inline bool dg_sentence_is_ready(const struct dg_sentence *sentence)
{
    return !sentence->flight && !sentence->is_over;
}

/* True while the answer, and not a hop before it, is being said. */
bool dg_sentence_is_showable(const struct dg_sentence *sentence);

/* Lists the answers of a sentence that is over; those behind the first live in `texts`. Returns how
 * many. */
enum dg_err dg_sentence_answers(const struct dg_sentence *sentence, struct dg_buf *texts,
                                struct dg_engine_answer *answers, size_t *n) DG_MUST_CHECK;

/* Appends a sentence that is over, its markup placed, with what stands before it. */
enum dg_err dg_sentence_weave(const struct dg_sentence *sentence, const struct dg_doc *doc,
                              const struct dg_doc_part *part, struct dg_buf *out) DG_MUST_CHECK;

/* Makes the tokens' offsets those of the document's original. */
void dg_sentence_move_tokens(struct dg_sentence *sentence, const struct dg_doc *doc);

/* How bad an end is, for the one finish reason of several. */
int dg_finish_badness(enum dg_finish finish);

#endif
