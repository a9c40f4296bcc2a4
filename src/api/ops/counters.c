/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A field is read by its size: all are unsigned integers, or booleans of one byte. */
#include "api/ops/counters.h"
#include "api/http/api_int.h"

#include <stddef.h>
#include <string.h>

static const struct dg_counter_info table[DG_N_COUNTERS] = {
#define DG_COUNTER_ROW(id, group_, whom_, field, name_, help_)                                     \
    [DG_COUNTER_##id] = {.group = DG_COUNTERS_OF_##group_,                                         \
                         .whom = DG_COUNTER_FOR_##whom_,                                           \
                         .offset = offsetof(struct dg_counters, field),                            \
                         .size = sizeof(((struct dg_counters *)NULL)->field),                      \
                         .name = name_,                                                            \
                         .help = help_},
    DG_COUNTERS(DG_COUNTER_ROW)
#undef DG_COUNTER_ROW
};

const struct dg_counter_info *dg_counter_info(enum dg_counter counter)
{
    return &table[counter];
}

const char *dg_counter_kind(enum dg_counter counter)
{
    const char *name = table[counter].name, *end = strrchr(name, '_');
    return end && strcmp(end, "_total") == 0 ? "counter" : "gauge";
}

uint64_t dg_counter_value(const struct dg_counters *counters, enum dg_counter counter)
{
    const void *at = (const char *)counters + table[counter].offset;
    switch (table[counter].size) {
    case sizeof(bool):
        return *(const bool *)at;
    case sizeof(uint32_t):
        return *(const uint32_t *)at;
    default:
        return *(const uint64_t *)at;
    }
}

void dg_counters_read(struct dg_counters *counters, const struct dg_api *api)
{
    *counters = (struct dg_counters){.n_bodies_refused = api->n_bodies_refused};
    if (api->opts.buffers) {
        counters->buffers = api->opts.buffers->used;
        counters->buffers_max = api->opts.buffers->max;
    }
    if (api->server)
        dg_server_stats(api->server, &counters->server);
    if (api->engine) {
        dg_engine_read_stats(api->engine, &counters->sched);
        dg_engine_read_memory(api->engine, &counters->memory);
        dg_engine_read_cache_stats(api->engine, &counters->cache);
        dg_engine_read_remote_stats(api->engine, &counters->shared);
        counters->n_models = dg_engine_n_models(api->engine);
    }
    if (api->bulk)
        dg_bulk_read_stats(api->bulk, &counters->jobs);
}

void dg_counters_read_model(struct dg_counters *counters, struct dg_engine *engine, size_t index)
{
    *counters = (struct dg_counters){.n_models = 0};
    dg_engine_read_model_stats(engine, index, &counters->sched);
    dg_engine_read_model_cache_stats(engine, index, &counters->cache);
}

void dg_counters_put_json(struct dg_json_out *out, const struct dg_counters *counters,
                          const struct dg_counter_key *keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dg_json_out_put_uint(out, keys[i].key, dg_counter_value(counters, keys[i].counter));
}
