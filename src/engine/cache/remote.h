/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A cache that several servers share, behind this interface: the engine knows no sockets, whoever
 * owns an event loop implements it (get, put) and gives it to the engine before models are loaded:
 *
 *     static const struct dg_remote remote = {.get = get, .put = put, .arg = client, .wait_ms =
 * 20}; err = dg_engine_set_remote(engine, &remote, &error);
 *
 *     bool get(void *arg, uint64_t id, struct dg_span key)         a sentence that is in no memory
 * here
 *     ... later, or from inside of get:
 *     dg_engine_remote_answer(engine, id, value);                  ptr NULL: not there
 *
 * The sentence waits at most `wait_ms` for the answer; then it is translated here. The engine sees
 * that the time is over at its next poll, so the implementation keeps a timer of its own and
 * answers in time even when it knows nothing. A cache that often fails to answer is left alone for
 * a while. What is translated here is put. Keys are short printable text that names all that
 * decides the answer: the model's files, this program's version, every option of the search, the
 * sentence. Values are bytes that are checked when they return; what does not check is as if it
 * were not there.
 *
 * One thread: the engine's consumer, in both directions. */
#ifndef DG_ENGINE_CACHE_REMOTE_H
#define DG_ENGINE_CACHE_REMOTE_H

#include "base/memory/err.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    DG_REMOTE_KEY_MAX = 80,          /* bytes of a key */
    DG_REMOTE_VALUE_MAX = 64 * 1024, /* bytes of a value; longer ones are neither put nor taken */
    DG_REMOTE_WAIT_MS = 20,
};

struct dg_remote {
    /* Begins to look for `key` (borrowed until it returns). False: cannot now, there will be no
     * answer. */
    bool (*get)(void *arg, uint64_t id, struct dg_span key);
    /* Keeps a value if it can; both are borrowed until it returns. */
    void (*put)(void *arg, struct dg_span key, struct dg_span value);
    void *arg;
    uint64_t wait_ms; /* 0: DG_REMOTE_WAIT_MS */
};

struct dg_engine;

/* Copied; NULL: none any more. Models that are loaded afterwards take part (their files are hashed
 * as they are opened). */
enum dg_err dg_engine_set_remote(struct dg_engine *engine, const struct dg_remote *remote,
                                 struct dg_error *error) DG_MUST_CHECK;

/* The answer to get `id`; `value` is borrowed. An id that nobody waits for any more is ignored. */
void dg_engine_remote_answer(struct dg_engine *engine, uint64_t id, struct dg_span value);

struct dg_engine_remote_stats {
    uint64_t n_hits, n_misses, n_late, n_bad, n_puts; /* bad: what came back did not check */
    size_t n_asking;
    bool is_resting; /* it failed too often and is left alone for now */
};
void dg_engine_read_remote_stats(const struct dg_engine *engine,
                                 struct dg_engine_remote_stats *stats);

#endif
