/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The interface to a cache that several servers share. The engine knows no sockets: the owner of an
 * event loop implements get and put and gives them to the engine before models are loaded:
 *
 *     struct dg_remote remote = {.get = get, .put = put, .arg = client, .wait_ms = 20};
 *     err = dg_engine_set_remote(engine, &remote, &error);
 *
 *     bool get(void *arg, uint64_t id, struct dg_span key)     for a sentence not cached here
 *     ... later, or from inside get:
 *     dg_engine_remote_answer(engine, id, value);              ptr NULL: not there
 *
 * The sentence waits at most `wait_ms` for the answer; after that, this server translates it. The
 * engine notices that the time is over only at its next poll, so the implementation keeps a timer
 * of its own and answers in time even when it found nothing. If a cache often fails to answer, the
 * engine does not ask it for a while. The engine puts the sentences that it translates itself into
 * the cache. Keys are short printable text that identifies everything that decides the answer: the
 * model's files, this program's version, every option of the search, the sentence. Values are bytes
 * that the engine verifies when they return; an invalid value counts as absent.
 *
 * One thread: the engine's consumer, in both directions. */
#ifndef DG_ENGINE_CACHE_REMOTE_H
#define DG_ENGINE_CACHE_REMOTE_H

#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    DG_REMOTE_KEY_MAX = 80,          /* the most bytes of a key */
    DG_REMOTE_VALUE_MAX = 64 * 1024, /* the most bytes of a value; longer ones are neither put nor
                                        accepted */
    DG_REMOTE_WAIT_MS = 20,
};

struct dg_remote {
    /* Begins to look for `key`, which is borrowed until the call returns. False: this is not
     * possible at present, and no answer will come. */
    bool (*get)(void *arg, uint64_t id, struct dg_span key);
    /* Keeps a value if possible; key and value are borrowed until the call returns. */
    void (*put)(void *arg, struct dg_span key, struct dg_span value);
    void *arg;
    uint64_t wait_ms; /* 0: DG_REMOTE_WAIT_MS */
};

struct dg_engine;

/* Sets the remote cache, which is copied; NULL removes it. Only models loaded afterwards use it
 * (their files are hashed as they are opened). */
enum dg_err dg_engine_set_remote(struct dg_engine *engine, const struct dg_remote *remote,
                                 struct dg_error *error) DG_MUST_CHECK;

/* Gives the engine the answer to the get with this `id`; `value` is borrowed. An id that nobody
 * waits for any more is ignored. */
void dg_engine_remote_answer(struct dg_engine *engine, uint64_t id, struct dg_span value);

struct dg_engine_remote_stats {
    uint64_t n_hits, n_misses, n_late, n_bad, n_puts; /* bad: the value was invalid */
    size_t n_asking;
    bool is_resting; /* the cache has failed too often and is not asked for now */
};
void dg_engine_read_remote_stats(const struct dg_engine *engine,
                                 struct dg_engine_remote_stats *stats);

#endif
