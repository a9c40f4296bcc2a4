/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: one translation on its way, a kind of task (task.h). Its text is cut into
 * parts; the sentences among them become tickets, a window of them at a time; answers take their
 * places and are shown in order.
 *
 *     begun ->  1 2 3 4 5 6 | 7 8 ...      parts; 1-6 have tickets, 7 waits for the window
 *     shown ->  1 2 3_                     3 streams, 4-6 collect after it */
#ifndef DG_ENGINE_REQUEST_REQUEST_H
#define DG_ENGINE_REQUEST_REQUEST_H

#include "base/memory/buf.h"
#include "base/memory/list.h"
#include "engine/cache/cache.h"
#include "engine/interface/engine_request.h"
#include "engine/read/quality_estimate.h"
#include "engine/task/task.h"
#include "engine/words/forced_tokens.h"
#include "engine/request/sentence.h"
#include "engine/request/model_wait.h"
#include "engine/route/routing.h"
#include "engine/models/served_model.h"
#include "text/sentence/segment.h"
#include "text/terms/protect.h"

struct dg_request_markup;

struct dg_request {
    /* n_open counts sentences that wait for a ticket (their own or another request's), and a text
     * whose markup is being read */
    struct dg_task task;
    struct dg_engine_request asked; /* once set up, `text` is our own copy, and the strings are not
                                       kept */
    struct dg_model_wait *waiting;  /* owned; what is kept until the models are loaded; or NULL */
    bool is_open;                   /* the request has begun */
    const struct dg_engine_events *events;
    void *ctx;
    struct dg_served_model *hops[DG_ROUTING_HOPS_MAX]; /* [n_hops] a reference each */
    /* [n_hops] their languages; borrowed from them */
    struct dg_lang_pair pairs[DG_ROUTING_HOPS_MAX];
    size_t n_hops;              /* 0 until the request is set up */
    char name[DG_ROUTING_NAME]; /* the names of the models */
    const char *detected;       /* the detected language, borrowed from the engine; NULL: it was not
                                   detected */
    float confidence;
    bool is_copy, is_foreign;         /* as in struct dg_routing */
    struct dg_langtag source, target; /* the languages of a text that is returned unchanged */
    struct dg_flow flows[DG_ROUTING_HOPS_MAX]; /* one flow for each model, because a flow stands in
                                                  one queue */
    struct dg_forced_tokens forced;
    /* what the request wants protected; the phrases belong to `asked` */
    struct dg_phrase_set protect;
    bool has_begun; /* a sentence was launched or found */
    char *text;     /* owned; [text_len] as it came */
    size_t text_len;
    struct dg_request_markup *markup; /* owned; the reading of a text with much markup; or NULL */
    bool is_reading;                  /* `markup` is being read, which counts as open */
    struct dg_doc *doc; /* owned; `asked.text` is then the document's plain text; NULL: the text has
                           no markup */
    struct dg_doc_part *doc_parts;  /* owned; [n_parts] */
    struct dg_doc_cursor doc_end;   /* what follows the last part */
    bool has_doc_end;               /* `doc_end` was shown */
    struct dg_segment *parts;       /* owned; [n_parts], those that are cut so far */
    struct dg_sentence **sentences; /* owned; [n_parts]; NULL for separators and for parts that have
                                       not begun */
    size_t parts_cap;
    size_t cut_at; /* bytes of the text before this are cut */
    bool is_cut;   /* all of the text is cut */
    size_t n_parts, n_sentences, n_cuts;
    size_t n_begun; /* parts before this are begun */
    size_t n_shown; /* parts before this are shown whole */
    size_t n_told;  /* sentences that were reported */
    /* begun sentences that wait to be launched, whether for the first time or again */
    size_t n_ready;
    size_t n_cached;
    struct dg_span *lost; /* owned; [n_lost], owned copies */
    size_t n_lost;
    const struct dg_dictionary *dictionaries[DG_ENGINE_GLOSSARIES]; /* [n_dictionaries] borrowed;
                                                                       for the languages */
    size_t n_dictionaries;
    struct dg_engine_term *terms; /* owned; [n_terms], the terms of the sentences that were shown */
    size_t n_terms, terms_cap;
    struct dg_quality_estimate *estimate; /* owned; NULL: no quality was asked for */
    struct dg_buf result;
    enum dg_finish finish;
    bool repaired;
    size_t n_tokens_in, n_tokens_out;
    uint64_t first_ns, queue_ns;
};

/* What all requests share; used on the consumer thread. */
struct dg_request_tools {
    struct dg_tasks *tasks;
    struct dg_segmenter *segmenter;
    struct dg_protect_list protected;
    struct dg_glossary_scan scan;
    struct dg_cache *cache;           /* NULL: there is no cache */
    bool cache_per_client;            /* each client has answers of its own */
    struct dg_remote_lookups lookups; /* questions to the remote cache, if there is one */
};

/* Makes a request that is not set up yet: what `asked` points to still belongs to the caller. `ops`
 * are the operations of its task. NULL: no memory. */
struct dg_request *dg_request_new(struct dg_tasks *tasks, const struct dg_task_ops *ops,
                                  const struct dg_engine_request *asked,
                                  const struct dg_engine_events *events, void *ctx);
void dg_request_free(struct dg_request *request); /* nothing may be open */

static inline struct dg_request *dg_request_of(struct dg_task *task)
{
    return DG_LIST_ITEM(task, struct dg_request, task);
}

/* Sets the request up for the routing's models, and takes references to them. Copies the text and
 * cuts its beginning or, if the text has much markup, begins to read that. */
enum dg_err dg_request_set_up(struct dg_request *request, struct dg_request_tools *tools,
                              const struct dg_routing *routing,
                              struct dg_error *error) DG_MUST_CHECK;

/* Cuts the next stretch of the text when it is needed and begins sentences up to the window, but no
 * more than one turn may take (dg_request_wants_turn says whether more are left). DG_ERR_BUSY when
 * the scheduler is full (try again after news); any other error is recorded in the request, which
 * then only waits for its open tickets. */
enum dg_err dg_request_pump(struct dg_request *request, struct dg_request_tools *tools,
                            struct dg_error *error, uint64_t *retry_ms) DG_MUST_CHECK;

bool dg_request_wants_turn(const struct dg_request *request);

/* Passes news of a ticket to every sentence that waits for it. */
void dg_request_take(struct dg_request_tools *tools, struct dg_ticket *ticket, bool is_over);

/* Takes the remote cache's answer for a flight; without an answer the flight goes to the scheduler.
 */
void dg_request_take_remote(struct dg_request_tools *tools, struct dg_flight *flight,
                            struct dg_span value);

/* Notes that the translation lacks a protected span. */
enum dg_err dg_request_note_lost(struct dg_request *request, struct dg_span bytes) DG_MUST_CHECK;

/* Shows the parts that are ready, in order; needed for a text that has no sentence or ends with a
 * separator. */
void dg_request_show(struct dg_request *request, struct dg_request_tools *tools);

/* Stops the request: begins nothing more and cancels its open tickets. */
void dg_request_stop(struct dg_request *request, struct dg_request_tools *tools, enum dg_err err);

/* Returns true when the request is late and the worker that has its ticket hangs, so that no news
 * comes. The end is then reported at once, but the request itself is kept until the ticket comes
 * back. */
bool dg_request_is_stuck(const struct dg_request *request);

/* Returns true when nothing is left to do except the quality estimate. */
bool dg_request_is_over(const struct dg_request *request);

/* Calls on_done. */
void dg_request_tell_end(struct dg_request *request);

#endif
