/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What the server counts: one table says where each counter is, what it is called and what it
 * means. GET /metrics, its part for each model, GET /v1/admin/status and GET /v1/admin/live all
 * write from it.
 *
 *     struct dg_counters counters;
 *     dg_counters_read(&counters, api);
 *     for (enum dg_counter c = 0; c < DG_N_COUNTERS; c++)
 *         show(dg_counter_info(c)->name, dg_counter_value(&counters, c));
 *
 * To add a counter: a row here. One thread: the loop's. */
#ifndef DG_API_OPS_COUNTERS_H
#define DG_API_OPS_COUNTERS_H

#include "api/jobs/bulk.h"
#include "base/json/json_out.h"
#include "engine/cache/remote.h"
#include "engine/engine.h"
#include "net/loop/server.h"

#include <stdbool.h>
#include <stdint.h>

struct dg_api;

/* All counters at one moment. Those of a part that the server does not have are 0. */
struct dg_counters {
    struct dg_server_stats server;
    struct dg_sched_stats sched;
    struct dg_engine_memory memory;
    struct dg_engine_cache_stats cache;
    struct dg_engine_remote_stats shared;
    struct dg_bulk_stats jobs;
    size_t n_models;
    size_t buffers, buffers_max; /* from dg_api_opts.buffers */
    uint64_t n_bodies_refused;
};

void dg_counters_read(struct dg_counters *counters, const struct dg_api *api);

/* Reads the counters that each model has for itself; all others are 0. */
void dg_counters_read_model(struct dg_counters *counters, struct dg_engine *engine, size_t index);

enum dg_counter_group {
    DG_COUNTERS_OF_SERVER,
    DG_COUNTERS_OF_ENGINE, /* models, workers and sentences */
    DG_COUNTERS_OF_CACHE,
    DG_COUNTERS_OF_WORK, /* tokens and times */
    DG_COUNTERS_OF_JOBS,
};

/* Where /metrics has the counter: once, for each model, or both. */
enum {
    DG_COUNTER_FOR_NONE = 0,
    DG_COUNTER_FOR_ALL = 1,
    DG_COUNTER_FOR_MODELS = 2,
    DG_COUNTER_FOR_BOTH = 3,
};

/* In the order of /metrics. A name that ends in _total is a counter's, any other one a gauge's;
 * a name with "seconds" in it has a field in nanoseconds.
 *
 *    X(id, group, for whom, field of struct dg_counters, name, what it means) */
#define DG_COUNTERS(X)                                                                             \
    X(CONNECTIONS, SERVER, ALL, server.connections, "connections", "Connections open now.")        \
    X(WEBSOCKETS, SERVER, ALL, server.websockets, "websockets", "WebSockets open now.")            \
    X(CONNECTIONS_ACCEPTED, SERVER, ALL, server.accepted, "connections_accepted_total",            \
      "Connections accepted.")                                                                     \
    X(CONNECTIONS_REFUSED, SERVER, ALL, server.refused, "connections_refused_total",               \
      "Connections turned away by a limit, or for want of descriptors.")                           \
    X(CONNECTIONS_EXPIRED, SERVER, ALL, server.expired, "connections_expired_total",               \
      "Connections cut off by a timeout.")                                                         \
    X(CONNECTIONS_STALLED, SERVER, ALL, server.stalled, "connections_stalled_total",               \
      "Connections cut off because they did not read.")                                            \
    X(BYTES_IN, SERVER, ALL, server.bytes_in, "received_bytes_total", "Bytes received.")           \
    X(BYTES_OUT, SERVER, ALL, server.bytes_out, "sent_bytes_total", "Bytes sent.")                 \
    X(BUFFERS, SERVER, ALL, buffers, "buffers_bytes",                                              \
      "Memory of connections' input and output, of bulk jobs' lines and of scores.")               \
    X(BUFFERS_MAX, SERVER, ALL, buffers_max, "buffers_bytes_max",                                  \
      "Memory that these may take; 0: no limit.")                                                  \
    X(BODIES, SERVER, ALL, server.body_bytes, "bodies_bytes",                                      \
      "Of these, bodies of requests and messages of WebSockets.")                                  \
    X(BODIES_REFUSED, SERVER, ALL, n_bodies_refused, "bodies_refused_total",                       \
      "Requests refused because that memory was used up.")                                         \
    X(TURNS, SERVER, ALL, server.turns, "loop_turns_total", "Turns of the event loop.")            \
    X(TURNS_SLOW, SERVER, ALL, server.turns_slow, "loop_slow_turns_total",                         \
      "Turns of the event loop that took more than 5 ms.")                                         \
    X(BUSY, SERVER, ALL, server.busy_ns, "loop_busy_seconds_total",                                \
      "Time that the event loop was not asleep.")                                                  \
    X(TURN_MAX, SERVER, ALL, server.turn_max_ns, "loop_turn_max_seconds",                          \
      "The longest turn of the event loop.")                                                       \
    X(MODELS, ENGINE, ALL, n_models, "models", "Models offered.")                                  \
    X(MODEL_BYTES, ENGINE, ALL, memory.models, "models_bytes",                                     \
      "Memory promised to models, those that are leaving included.")                               \
    X(MODEL_BYTES_MAX, ENGINE, ALL, memory.models_max, "models_bytes_max",                         \
      "Memory for models; 0: no limit.")                                                           \
    X(WAITING_FOR_MODEL, ENGINE, ALL, memory.n_waiting, "requests_waiting_for_model",              \
      "Requests that are waiting for a model to be loaded.")                                       \
    X(TEXT_BYTES, ENGINE, ALL, memory.texts, "text_bytes", "Texts of requests under way.")         \
    X(WORKERS, ENGINE, ALL, sched.n_workers, "workers", "Workers.")                                \
    X(NODES, ENGINE, ALL, sched.n_nodes, "memory_nodes",                                           \
      "Memory nodes that the workers are bound to; 1: they are not bound.")                        \
    X(WORKERS_STALLED, ENGINE, ALL, sched.n_stalled, "workers_stalled",                            \
      "Workers that hang at one step.")                                                            \
    X(STALLED, ENGINE, ALL, sched.stalled_ns, "worker_stalled_seconds",                            \
      "Longest time that a worker has been at its present step.")                                  \
    X(WAITING, ENGINE, BOTH, sched.n_waiting, "sentences_waiting", "Sentences in the queue.")      \
    X(RUNNING, ENGINE, ALL, sched.n_running, "sentences_running", "Sentences being translated.")   \
    X(RUNNING_IN_SLOTS, ENGINE, MODELS, sched.n_running, "sentences_running",                      \
      "Sentences being translated, each in a slot.")                                               \
    X(TOKENS_WAITING, ENGINE, MODELS, sched.n_tokens_waiting, "tokens_waiting",                    \
      "Source tokens in the queue.")                                                               \
    X(ACCEPTED, ENGINE, BOTH, sched.n_accepted, "sentences_accepted_total",                        \
      "Sentences taken into the queue.")                                                           \
    X(REFUSED, ENGINE, BOTH, sched.n_refused, "sentences_refused_total",                           \
      "Sentences refused by a full queue.")                                                        \
    X(DONE, ENGINE, BOTH, sched.n_done, "sentences_done_total", "Sentences translated.")           \
    X(CANCELLED, ENGINE, BOTH, sched.n_cancelled, "sentences_cancelled_total",                     \
      "Sentences cancelled.")                                                                      \
    X(TIMED_OUT, ENGINE, BOTH, sched.n_timed_out, "sentences_timed_out_total",                     \
      "Sentences whose time ran out.")                                                             \
    X(FAILED, ENGINE, BOTH, sched.n_failed, "sentences_failed_total", "Sentences that failed.")    \
    X(CACHE_HITS, CACHE, BOTH, cache.n_hits, "cache_hits_total",                                   \
      "Sentences answered from the cache.")                                                        \
    X(CACHE_JOINED, CACHE, BOTH, cache.n_joined, "cache_joined_total",                             \
      "Sentences that waited for an equal one under way.")                                         \
    X(CACHE_MISSES, CACHE, BOTH, cache.n_misses, "cache_misses_total",                             \
      "Sentences that the cache did not have.")                                                    \
    X(CACHE_EVICTED, CACHE, ALL, cache.n_evicted, "cache_evicted_total",                           \
      "Answers dropped to make room for others.")                                                  \
    X(CACHE_ENTRIES, CACHE, ALL, cache.n_entries, "cache_entries", "Answers in the cache.")        \
    X(CACHE_BYTES, CACHE, ALL, cache.bytes, "cache_bytes", "Memory of the cache.")                 \
    X(CACHE_BYTES_MAX, CACHE, NONE, cache.bytes_max, "cache_bytes_max", "Memory for the cache.")   \
    X(SHARED_HITS, CACHE, ALL, shared.n_hits, "shared_cache_hits_total",                           \
      "Sentences answered from the cache that servers share.")                                     \
    X(SHARED_MISSES, CACHE, ALL, shared.n_misses, "shared_cache_misses_total",                     \
      "Sentences that the shared cache did not have.")                                             \
    X(SHARED_LATE, CACHE, ALL, shared.n_late, "shared_cache_late_total",                           \
      "Sentences that stopped waiting for the shared cache.")                                      \
    X(SHARED_BAD, CACHE, ALL, shared.n_bad, "shared_cache_bad_total",                              \
      "Answers of the shared cache that failed their check.")                                      \
    X(SHARED_PUTS, CACHE, ALL, shared.n_puts, "shared_cache_puts_total",                           \
      "Answers written to the shared cache.")                                                      \
    X(SHARED_RESTING, CACHE, ALL, shared.is_resting, "shared_cache_resting",                       \
      "1 while the shared cache is not asked because it failed to answer.")                        \
    X(TOKENS_IN, WORK, BOTH, sched.n_tokens_in, "input_tokens_total", "Tokens read.")              \
    X(TOKENS_OUT, WORK, BOTH, sched.n_tokens_out, "output_tokens_total", "Tokens written.")        \
    X(ENCODES, WORK, MODELS, sched.n_encodes, "encoded_batches_total", "Encoder batches.")         \
    X(STEPS, WORK, BOTH, sched.n_steps, "decoder_steps_total", "Decoder steps.")                   \
    X(SHARED_STEPS, WORK, ALL, sched.n_shared_steps, "decoder_steps_shared_total",                 \
      "Decoder steps whose products idle workers might share.")                                    \
    X(ROWS, WORK, BOTH, sched.n_rows, "decoder_rows_total", "Rows of all decoder steps.")          \
    X(QUEUE, WORK, ALL, sched.wait_ns, "queue_seconds_total", "Time that sentences waited.")       \
    X(FIRST_TOKEN, WORK, ALL, sched.first_ns, "first_token_seconds_total",                         \
      "Time to the first token, summed over sentences.")                                           \
    X(TRANSLATION, WORK, ALL, sched.total_ns, "translation_seconds_total",                         \
      "Time from queue to end, summed over sentences.")                                            \
    X(JOBS_WAITING, JOBS, ALL, jobs.n_waiting, "jobs_waiting",                                     \
      "Bulk jobs that wait for their turn.")                                                       \
    X(JOBS_RUNNING, JOBS, ALL, jobs.n_running, "jobs_running", "Bulk jobs under way.")             \
    X(JOBS_OVER, JOBS, ALL, jobs.n_over, "jobs_over", "Bulk jobs that are over and kept.")         \
    X(JOBS_BYTES, JOBS, ALL, jobs.bytes, "jobs_bytes", "Files of all bulk jobs.")                  \
    X(JOBS_LINES, JOBS, ALL, jobs.n_lines, "jobs_lines_total", "Lines of bulk jobs done.")         \
    X(JOBS_LINES_FAILED, JOBS, ALL, jobs.n_failed, "jobs_lines_failed_total",                      \
      "Of these, lines that failed.")

enum dg_counter {
#define DG_COUNTER_ID(id, group, whom, field, name, help) DG_COUNTER_##id,
    DG_COUNTERS(DG_COUNTER_ID)
#undef DG_COUNTER_ID
        DG_N_COUNTERS
};

struct dg_counter_info {
    enum dg_counter_group group;
    int whom;            /* a value of DG_COUNTER_FOR_... */
    size_t offset, size; /* where the member lies */
    const char *name, *help;
};
const struct dg_counter_info *dg_counter_info(enum dg_counter counter);
/* Returns "counter" or "gauge". */
const char *dg_counter_kind(enum dg_counter counter);

uint64_t dg_counter_value(const struct dg_counters *counters, enum dg_counter counter);

/* Counters as fields of a JSON object. */
struct dg_counter_key {
    enum dg_counter counter;
    const char *key;
};
void dg_counters_put_json(struct dg_json_out *out, const struct dg_counters *counters,
                          const struct dg_counter_key *keys, size_t n);
#define DG_COUNTERS_PUT_JSON(out, counters, keys)                                                  \
    dg_counters_put_json(out, counters, keys, sizeof(keys) / sizeof *(keys))

#endif
