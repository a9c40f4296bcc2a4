/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: the requests for readings that are under way.
 *
 *     waiting (for its model) -> going (items become windows, windows become tickets)
 *                             -> over -> reported and freed
 *
 * Items are tokenised in stretches, so that no turn of the consumer's thread takes long; a few
 * dozen tickets are open at a time. The output of a ticket is reduced at once to the result that
 * will be reported (reading_result.h), and the ticket is freed. */
#ifndef DG_ENGINE_READ_READING_H
#define DG_ENGINE_READ_READING_H

#include "base/memory/arena.h"
#include "base/memory/list.h"
#include "engine/read/read.h"
#include "engine/request/request.h"
#include "engine/route/registry.h"
#include "engine/route/served_model.h"
#include "tokenize/hf/subword.h"
#include "tokenize/tokenizer.h"

struct dg_reading;

struct dg_readings {
    struct dg_list all;           /* of struct dg_reading */
    struct dg_registry *registry; /* set before the first is added */
    struct dg_request_tools *tools;
    struct dg_subword_work *work; /* owned */
};

void dg_readings_init(struct dg_readings *readings, struct dg_request_tools *tools);
void dg_readings_deinit(struct dg_readings *readings); /* none may be left */

/* Adds a request under `id`. DG_ERR_BUSY: no room at present. `may_wait`: it may wait for its
 * model. *more: there is more to do at once. */
enum dg_err dg_readings_add(struct dg_readings *readings, const struct dg_engine_read *ask,
                            const struct dg_engine_read_events *events, void *ctx, uint64_t id,
                            bool may_wait, struct dg_error *error, uint64_t *retry_ms,
                            bool *more) DG_MUST_CHECK;

bool dg_readings_cancel(struct dg_readings *readings, uint64_t id);

/* Takes the end of a ticket that belongs to a reading (kind DG_TICKET_READING). */
void dg_readings_take(struct dg_ticket *ticket);

/* Continues all readings in turn until `until_ns`, at least one of them, and reports the ends.
 * Returns how many ended, with their bytes of text in *bytes; *more: there is more to do at once.
 */
size_t dg_readings_move(struct dg_readings *readings, uint64_t until_ns, size_t *bytes, bool *more);

/* Cancels all readings without reporting their ends; then call dg_readings_sweep until it says that
 * none is left, delivering news in between. */
void dg_readings_close(struct dg_readings *readings);
bool dg_readings_sweep(struct dg_readings *readings);

/* Bytes of a request's texts. */
size_t dg_readings_bytes(const struct dg_engine_read *ask);

/* Whether a model can do the task. */
bool dg_reading_fits(const struct dg_blueprint *bp, enum dg_read_task task);

#endif
