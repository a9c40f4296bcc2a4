/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The memory of models: a ledger that never promises more than there is, and the limits with which
 * a model's workers fit into it.
 *
 *     err = dg_budget_fit(net, &wanted, n_workers, n_beams, bytes, &error, &limits, &per_worker);
 *     if (dg_ledger_take(&ledger, bytes)) ... dg_ledger_give(&ledger, bytes);
 *
 * Everything is counted at its largest size, whether or not the memory is ever touched. Any thread
 * may use the ledger. */
#ifndef DG_ENGINE_MODELS_BUDGET_H
#define DG_ENGINE_MODELS_BUDGET_H

#include "base/memory/error.h"
#include "decode/decoder.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct dg_ledger {
    size_t max;            /* 0: no limit */
    atomic_size_t used;    /* bytes promised to models that serve, are being loaded or are being
                              unloaded */
    atomic_size_t leaving; /* the part of `used` that models being unloaded will return */
};

/* Takes `bytes`. Returns false, and takes nothing, when the sum would exceed `max`. */
bool dg_ledger_take(struct dg_ledger *ledger, size_t bytes);
void dg_ledger_give(struct dg_ledger *ledger, size_t bytes); /* mirror of take */

/* Returns true when `bytes` can be taken now, or once `leaving` has been returned. */
bool dg_ledger_will_fit(const struct dg_ledger *ledger, size_t bytes);

/* Finds the largest limits, up to `wanted`, with which the decoders of `n_workers` fit into `bytes`
 * (0: no limit). Slots, rows and cached positions shrink together, down to one sentence at a time
 * with a beam of `n_beams`; the longest source and target do not change. If even that does not fit,
 * returns DG_ERR_LIMIT without a sentence, and *per_worker is the memory that it would take. `net`
 * may be hollow. */
enum dg_err dg_budget_fit(const struct dg_net *net, const struct dg_decoder_limits *wanted,
                          size_t n_workers, size_t n_beams, size_t bytes, struct dg_error *error,
                          struct dg_decoder_limits *limits, size_t *per_worker) DG_MUST_CHECK;

#endif
