/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Sizes by halving: 32 slots, 16, ... 1. The smallest size has room for one sentence of the
 * greatest length with the model's usual beam; there the decoder refuses requests with wider beams
 * and gives the reason. */
#include "engine/models/budget.h"
#include "base/memory/bounds.h"

/* ---- The ledger ------------------------------------------------------------------------------ */

bool dg_ledger_take(struct dg_ledger *ledger, size_t bytes)
{
    size_t used = atomic_load(&ledger->used);
    do {
        if (ledger->max && (bytes > ledger->max || used > ledger->max - bytes))
            return false;
    } while (!atomic_compare_exchange_weak(&ledger->used, &used, used + bytes));
    return true;
}

void dg_ledger_give(struct dg_ledger *ledger, size_t bytes)
{
    atomic_fetch_sub(&ledger->used, bytes);
}

bool dg_ledger_will_fit(const struct dg_ledger *ledger, size_t bytes)
{
    size_t leaving = atomic_load(&ledger->leaving), used = atomic_load(&ledger->used);
    size_t staying = used > leaving ? used - leaving : 0;
    return ledger->max == 0 || (bytes <= ledger->max && staying <= ledger->max - bytes);
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

/* Returns `wanted`, divided by 2^halvings. */
static struct dg_decoder_limits shrink(const struct dg_decoder_limits *wanted, int halvings,
                                       size_t n_beams)
{
    struct dg_decoder_limits limits = *wanted;
    size_t one_sentence = n_beams * wanted->target_max + wanted->source_max;
    limits.sentences = dg_most(wanted->sentences >> halvings, 1);
    limits.rows = dg_most(wanted->rows >> halvings, n_beams);
    limits.kv_tokens = dg_most(wanted->kv_tokens >> halvings, one_sentence);
    limits.batch_tokens = dg_most(wanted->batch_tokens >> halvings, wanted->source_max);
    return limits;
}

enum dg_err dg_budget_fit(const struct dg_net *net, const struct dg_decoder_limits *wanted,
                          size_t n_workers, size_t n_beams, size_t bytes, struct dg_error *error,
                          struct dg_decoder_limits *out, size_t *per_worker)
{
    enum { HALVINGS = 20 };
    size_t needed = 0;
    for (int halvings = 0; halvings <= HALVINGS; halvings++) {
        struct dg_decoder_limits limits =
            halvings ? shrink(wanted, halvings, dg_most(n_beams, 1)) : *wanted;
        enum dg_err err = dg_decoder_size(net, &limits, &needed, error);
        if (err)
            return err;
        if (bytes == 0 || needed <= bytes / n_workers) {
            *out = limits;
            *per_worker = needed;
            return DG_OK;
        }
    }
    *per_worker = needed;
    return DG_ERR_LIMIT;
}
