/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Everybody waits equally long, so the list of those asked is in the order of their ends. */
#include "engine/asks.h"
#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

enum { LATE_MAX = 8, REST_S = 5 };

void dg_asks_init(struct dg_asks *asks)
{
    *asks = (struct dg_asks){.last_id = 0};
    dg_list_init(&asks->asked);
    dg_list_init(&asks->answered);
}

void dg_asking_free(struct dg_asking *asking)
{
    if (!asking)
        return;
    dg_list_unlink(&asking->link);
    dg_free(asking->value);
    dg_free(asking);
}

static void count_late(struct dg_asks *asks, uint64_t now_ns)
{
    asks->stats.n_late++;
    if (++asks->n_late_in_row < LATE_MAX)
        return;
    asks->n_late_in_row = 0;
    asks->rest_until_ns = now_ns + REST_S * DG_CLOCK_S;
    asks->stats.is_resting = true;
}

bool dg_asks_begin(struct dg_asks *asks, uint64_t now_ns, struct dg_flight *flight, const char *key)
{
    if (now_ns < asks->rest_until_ns || asks->stats.n_asking >= DG_ASKS_MAX)
        return false;
    asks->stats.is_resting = false;
    struct dg_asking *asking = dg_try_calloc(1, sizeof *asking);
    if (!asking)
        return false;
    asking->flight = flight;
    asking->id = ++asks->last_id;
    asking->until_ns = now_ns + asks->remote.wait_ms * DG_CLOCK_MS;
    memcpy(asking->key, key, strlen(key) + 1);
    dg_list_init(&asking->link);
    dg_list_link_last(&asks->asked, &asking->link);
    flight->asking = asking;
    asks->stats.n_asking++;
    if (asks->remote.get(asks->remote.arg, asking->id, dg_span_cstr(asking->key)))
        return true;
    count_late(asks, now_ns);
    dg_list_unlink(&asking->link);
    asks->stats.n_asking--;
    return false; /* its key stays with the flight: the answer may be put */
}

void dg_asks_answer(struct dg_asks *asks, uint64_t id, struct dg_span value)
{
    for (struct dg_list *at = asks->asked.next; at != &asks->asked; at = at->next) {
        struct dg_asking *asking = DG_LIST_ITEM(at, struct dg_asking, link);
        if (asking->id != id)
            continue;
        asks->n_late_in_row = 0;
        if (value.ptr && value.len <= DG_REMOTE_VALUE_MAX &&
            (asking->value = dg_try_malloc(value.len ? value.len : 1))) {
            memcpy(asking->value, value.ptr, value.len);
            asking->len = value.len;
        }
        dg_list_unlink(&asking->link);
        dg_list_link_last(&asks->answered, &asking->link);
        return;
    }
}

void dg_asks_drop(struct dg_asks *asks, struct dg_flight *flight)
{
    struct dg_asking *asking = flight->asking;
    asking->is_dropped = true;
    dg_list_unlink(&asking->link);
    dg_list_link_last(&asks->answered, &asking->link);
}

struct dg_flight *dg_asks_next(struct dg_asks *asks, uint64_t now_ns, struct dg_span *value)
{
    struct dg_list *at = dg_list_pop_first(&asks->answered);
    if (!at && !dg_list_is_empty(&asks->asked) &&
        DG_LIST_ITEM(asks->asked.next, struct dg_asking, link)->until_ns <= now_ns) {
        at = dg_list_pop_first(&asks->asked);
        count_late(asks, now_ns);
    }
    if (!at)
        return NULL;
    struct dg_asking *asking = DG_LIST_ITEM(at, struct dg_asking, link);
    asks->stats.n_asking--;
    *value = dg_span_make(asking->value, asking->len);
    return asking->flight;
}
