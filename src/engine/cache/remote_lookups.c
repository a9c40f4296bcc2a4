/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* All lookups wait equally long, so the list `asked` is in the order of their deadlines. */
#include "engine/cache/remote_lookups.h"
#include "base/memory/clock.h"
#include "base/memory/mem.h"

#include <string.h>

enum { LATE_MAX = 8, REST_S = 5 };

void dg_remote_lookups_init(struct dg_remote_lookups *lookups)
{
    *lookups = (struct dg_remote_lookups){.last_id = 0};
    dg_list_init(&lookups->asked);
    dg_list_init(&lookups->answered);
}

void dg_remote_lookup_free(struct dg_remote_lookup *asking)
{
    if (!asking)
        return;
    dg_list_unlink(&asking->link);
    dg_free(asking->value);
    dg_free(asking);
}

static void count_late(struct dg_remote_lookups *lookups, uint64_t now_ns)
{
    lookups->stats.n_late++;
    if (++lookups->n_late_in_row < LATE_MAX)
        return;
    lookups->n_late_in_row = 0;
    lookups->rest_until_ns = now_ns + REST_S * DG_CLOCK_S;
    lookups->stats.is_resting = true;
}

bool dg_remote_lookups_begin(struct dg_remote_lookups *lookups, uint64_t now_ns,
                             struct dg_flight *flight, const char *key)
{
    if (now_ns < lookups->rest_until_ns || lookups->stats.n_asking >= DG_REMOTE_LOOKUPS_MAX)
        return false;
    lookups->stats.is_resting = false;
    struct dg_remote_lookup *asking = dg_try_calloc(1, sizeof *asking);
    if (!asking)
        return false;
    asking->flight = flight;
    asking->id = ++lookups->last_id;
    asking->until_ns = now_ns + lookups->remote.wait_ms * DG_CLOCK_MS;
    memcpy(asking->key, key, strlen(key) + 1);
    dg_list_init(&asking->link);
    dg_list_link_last(&lookups->asked, &asking->link);
    flight->asking = asking;
    lookups->stats.n_asking++;
    if (lookups->remote.get(lookups->remote.arg, asking->id, dg_span_cstr(asking->key)))
        return true;
    count_late(lookups, now_ns);
    dg_list_unlink(&asking->link);
    lookups->stats.n_asking--;
    return false; /* the flight keeps its key, under which its own answer may be put */
}

void dg_remote_lookups_answer(struct dg_remote_lookups *lookups, uint64_t id, struct dg_span value)
{
    for (struct dg_list *at = lookups->asked.next; at != &lookups->asked; at = at->next) {
        struct dg_remote_lookup *asking = DG_LIST_ITEM(at, struct dg_remote_lookup, link);
        if (asking->id != id)
            continue;
        lookups->n_late_in_row = 0;
        if (value.ptr && value.len <= DG_REMOTE_VALUE_MAX &&
            (asking->value = dg_try_malloc(value.len ? value.len : 1))) {
            memcpy(asking->value, value.ptr, value.len);
            asking->len = value.len;
        }
        dg_list_unlink(&asking->link);
        dg_list_link_last(&lookups->answered, &asking->link);
        return;
    }
}

void dg_remote_lookups_drop(struct dg_remote_lookups *lookups, struct dg_flight *flight)
{
    struct dg_remote_lookup *asking = flight->asking;
    asking->is_dropped = true;
    dg_list_unlink(&asking->link);
    dg_list_link_last(&lookups->answered, &asking->link);
}

struct dg_flight *dg_remote_lookups_next(struct dg_remote_lookups *lookups, uint64_t now_ns,
                                         struct dg_span *value)
{
    struct dg_list *at = dg_list_pop_first(&lookups->answered);
    if (!at && !dg_list_is_empty(&lookups->asked) &&
        DG_LIST_ITEM(lookups->asked.next, struct dg_remote_lookup, link)->until_ns <= now_ns) {
        at = dg_list_pop_first(&lookups->asked);
        count_late(lookups, now_ns);
    }
    if (!at)
        return NULL;
    struct dg_remote_lookup *asking = DG_LIST_ITEM(at, struct dg_remote_lookup, link);
    lookups->stats.n_asking--;
    *value = dg_span_make(asking->value, asking->len);
    return asking->flight;
}
