/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A map to find entries and a list in order of use; at the maximum the oldest entry is reused. */
#include "access/rates.h"
#include "base/memory/mem.h"

void dg_rates_init(struct dg_rates *rates, size_t max)
{
    dg_map_init(&rates->by_id, max);
    dg_list_init(&rates->recent);
}

void dg_rates_deinit(struct dg_rates *rates)
{
    while (!dg_list_is_empty(&rates->recent))
        dg_free(DG_LIST_ITEM(dg_list_pop_first(&rates->recent), struct dg_rate, link));
    dg_map_deinit(&rates->by_id);
}

/* Ids hold no NUL: key names and addresses as text. */
static struct dg_span id_of(const struct dg_rate *rate)
{
    return dg_span_cstr(rate->id.text);
}

/* Returns an entry that is in neither map nor list: a new one, or the oldest. */
static struct dg_rate *take_entry(struct dg_rates *rates)
{
    if (rates->by_id.len < rates->by_id.max)
        return dg_try_malloc(sizeof(struct dg_rate));
    struct dg_rate *oldest = DG_LIST_ITEM(dg_list_pop_first(&rates->recent), struct dg_rate, link);
    dg_map_remove(&rates->by_id, id_of(oldest), NULL);
    return oldest;
}

struct dg_rate *dg_rates_get(struct dg_rates *rates, struct dg_span id)
{
    struct dg_span text = dg_span_sub(id, 0, DG_QUOTA_ID_MAX);
    struct dg_rate *rate = dg_map_get_ptr(&rates->by_id, text);
    if (rate) {
        dg_list_unlink(&rate->link);
        dg_list_link_last(&rates->recent, &rate->link);
        return rate;
    }
    rate = take_entry(rates);
    if (!rate)
        return NULL;
    *rate = (struct dg_rate){.id = {""}};
    if (text.len)
        memcpy(rate->id.text, text.ptr, text.len);
    if (dg_map_put_ptr(&rates->by_id, id_of(rate), rate) != DG_OK) {
        dg_free(rate);
        return NULL;
    }
    dg_list_link_last(&rates->recent, &rate->link);
    return rate;
}
