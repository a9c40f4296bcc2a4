/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: one generation on its way.
 *     waiting (for its model) -> begun (a ticket) -> over -> reported and freed
 */
#ifndef DG_ENGINE_GENERATE_GENERATION_H
#define DG_ENGINE_GENERATE_GENERATION_H

#include "base/memory/arena.h"
#include "base/memory/list.h"
#include "engine/generate/generate.h"
#include "engine/request/background.h"
#include "engine/route/served_model.h"
#include "tokenize/hf/subword.h"
#include "tokenize/tokenizer.h"

struct dg_prompt_reading;
struct dg_request_tools;

struct dg_generation {
    struct dg_list link; /* in the engine's list */
    uint64_t id;
    struct dg_arena arena;
    struct dg_generate asked; /* texts are in the arena */
    const struct dg_generate_events *events;
    void *ctx;
    struct dg_served_model *model; /* a reference; while it waits, the stand-in that it waits for */
    struct dg_flow flow;
    struct dg_prompt_reading *reading; /* owned; for a long prompt, which the background
                                          thread tokenises; or NULL */
    struct dg_ticket *ticket;          /* owned; NULL before it has begun */
    struct dg_tokenizer_stream stream;
    bool has_stream;
    struct dg_buf text; /* the answer so far */
    size_t n_told;      /* bytes of `text` that were shown */
    size_t n_fed;       /* tokens of the ticket detokenised */
    bool is_ended;      /* by a stop text or token: later output is ignored */
    bool was_stopped;   /* by a stop text */
    bool is_open;       /* the scheduler has its ticket */
    bool is_over;
    enum dg_err err;
    struct dg_error error;
    uint64_t began_ns, deadline_ns;
};

enum dg_err dg_generation_new(struct dg_generation **generation, const struct dg_generate *ask,
                              struct dg_served_model *model, uint64_t now_ns,
                              struct dg_error *error) DG_MUST_CHECK;
void dg_generation_free(struct dg_generation *generation); /* not while it is open or its prompt
                                                               is being read; NULL is fine */

/* Gives the generation to the scheduler; its model must be loaded. DG_ERR_BUSY: no room;
 * DG_ERR_NOT_YET: its prompt is being read. */
enum dg_err dg_generation_begin(struct dg_generation *generation, struct dg_request_tools *tools,
                                struct dg_error *error, uint64_t *retry_ms) DG_MUST_CHECK;

/* True while its prompt is being read; until then it neither begins nor ends. */
bool dg_generation_is_being_read(const struct dg_generation *generation);

/* Takes news of its ticket. */
void dg_generation_take(struct dg_generation *generation, struct dg_sched *sched, bool is_over);

void dg_generation_stop(struct dg_generation *generation, struct dg_sched *sched, enum dg_err err);

/* Reports the end. */
void dg_generation_finish(struct dg_generation *generation, uint64_t now_ns);

#endif
