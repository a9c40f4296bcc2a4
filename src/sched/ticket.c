/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Tickets: one block of memory holds the ticket, its source and the tokens that will be shown; the
 * answers are added at the end. */
#include "sched/ticket.h"
#include "base/memory/mem.h"

#include <string.h>

struct dg_ticket *dg_ticket_new(struct dg_sched_model *model, const int32_t *src, size_t n_src,
                                const struct dg_search_opts *opts, size_t target_cap)
{
    size_t n_ids, bytes;
    if (!dg_add(n_src, target_cap, &n_ids) || !dg_mul(n_ids, 2 * sizeof(int32_t), &bytes) ||
        !dg_add(bytes, sizeof(struct dg_ticket), &bytes))
        return NULL;
    struct dg_ticket *ticket = dg_try_aligned(bytes);
    if (!ticket)
        return NULL;
    *ticket = (struct dg_ticket){.model = model, .opts = *opts, .n_src = n_src};
    ticket->src = (int32_t *)(void *)(ticket + 1);
    ticket->shown_ids = ticket->src + n_src;
    ticket->shown_logprobs = (float *)(void *)(ticket->shown_ids + target_cap);
    ticket->shown_cap = target_cap;
    if (n_src)
        memcpy(ticket->src, src, n_src * sizeof *src);
    dg_list_init(&ticket->link);
    return ticket;
}

/* Assumes that a translation is as long as its source, unless min_len demands more, and that a
 * generation uses its full length. */
uint64_t dg_ticket_work(const struct dg_ticket *ticket)
{
    const struct dg_search_opts *opts = &ticket->opts;
    size_t target = ticket->kind == DG_TICKET_GENERATION ? ticket->shown_cap : ticket->n_src;
    if (opts->min_len > 0 && target < (size_t)opts->min_len)
        target = (size_t)opts->min_len;
    if (target > ticket->shown_cap)
        target = ticket->shown_cap;
    const int width = opts->sample ? opts->n_best : opts->beam;
    return 1 + ticket->n_src + (uint64_t)target * (uint64_t)(width > 1 ? width : 1);
}

void dg_ticket_free(struct dg_ticket *ticket)
{
    if (!ticket)
        return;
    for (size_t i = 0; i < ticket->n_answers; i++) {
        dg_free(ticket->answers[i].ids);
        dg_free(ticket->answers[i].alignment);
    }
    dg_free(ticket->answers);
    dg_free(ticket);
}
