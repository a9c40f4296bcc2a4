/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A bell: one thread waits until other threads ring. A tool that polls its engine itself gives the
 * engine a bell to ring.
 *
 *     struct bell bell = BELL;
 *     opts.wake = bell_ring;
 *     opts.wake_arg = &bell;
 *     while (!is_over) {
 *         bell_wait(&bell);
 *         dg_engine_poll(engine);
 *     }
 * A ring is kept until the next wait; several count as one. Any thread may ring, one waits. */
#ifndef DG_TOOLS_BELL_H
#define DG_TOOLS_BELL_H

#include <pthread.h>
#include <stdbool.h>

struct bell {
    pthread_mutex_t lock;
    pthread_cond_t rung;
    bool has_rung; /* guarded by the lock */
};

#define BELL                                                                                       \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .rung = PTHREAD_COND_INITIALIZER                        \
    }

static inline void bell_ring(void *bell)
{
    struct bell *rung = bell;
    pthread_mutex_lock(&rung->lock);
    rung->has_rung = true;
    pthread_cond_signal(&rung->rung);
    pthread_mutex_unlock(&rung->lock);
}

static inline void bell_wait(struct bell *bell)
{
    pthread_mutex_lock(&bell->lock);
    while (!bell->has_rung)
        pthread_cond_wait(&bell->rung, &bell->lock);
    bell->has_rung = false;
    pthread_mutex_unlock(&bell->lock);
}

#endif
