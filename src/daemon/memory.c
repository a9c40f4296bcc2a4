/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Divides the memory. The factors come from these figures: a waiting sentence takes about 60 bytes
 * for each source token (the ticket with its copy of the ids and room for what will be shown, the
 * sentence with its offsets, the key of the cache); a request takes up to 16 times its text, at
 * worst (body, JSON values, the copy, segments, the result, the answer as JSON and on its way
 * out). */
#include "daemon/memory.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

enum {
    MIB = 1 << 20,
    MARGIN = 12 * MIB, /* for what is loaded or grows after the start: tables of ICU, stacks, the
                          allocator's own data */
    QUEUE_BYTES_PER_TOKEN = 64,
    REQUEST_BYTES_PER_TEXT_BYTE = 16,
    BUFFERS_LEAST = 4 * MIB, /* two bodies of the default max-body, one from each of two clients */
};

void dg_memory_tune(void)
{
#ifdef __GLIBC__
    /* By default these thresholds grow with use: once a large block was freed, later ones of
     * that size are kept for ever. */
    mallopt(M_MMAP_THRESHOLD, MIB);
    mallopt(M_TRIM_THRESHOLD, 4 * MIB);
    mallopt(M_ARENA_MAX, 2);
#endif
}

size_t dg_memory_resident(void)
{
    unsigned long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return 0;
    if (fscanf(file, "%lu %lu", &total, &resident) != 2)
        resident = 0;
    fclose(file);
    return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

static double mib(size_t bytes)
{
    return (double)bytes / MIB;
}

enum dg_err dg_memory_plan(size_t limit, size_t resident, size_t cache_wanted,
                           struct dg_error *error, struct dg_memory_plan *out)
{
    struct dg_memory_plan plan = {.cache = cache_wanted};
    if (limit == 0) {
        *out = plan;
        return DG_OK;
    }
    plan.process = resident + MARGIN;
    plan.cache = cache_wanted < limit / 8 ? cache_wanted : limit / 8;
    plan.texts_bytes = limit / 8 / REQUEST_BYTES_PER_TEXT_BYTE;
    plan.queue_tokens = limit / 16 / QUEUE_BYTES_PER_TOKEN;
    plan.buffers = limit / 16 > BUFFERS_LEAST ? limit / 16 : BUFFERS_LEAST;
    const size_t requests = limit / 8 + limit / 16 + plan.buffers;
    size_t taken = plan.process + plan.cache + requests;
    if (taken >= limit)
        return dg_error_set(error, DG_ERR_LIMIT,
                            "memory-limit: read %.1f MiB, of which the process takes %.1f, the "
                            "cache of sentences %.1f and "
                            "requests, queue and buffers %.1f; nothing is left for models",
                            mib(limit), mib(plan.process), mib(plan.cache), mib(requests));
    plan.models = limit - taken;
    *out = plan;
    return DG_OK;
}
