/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* There is one mutex, one condition to begin and one to end. A call takes milliseconds, so the cost
 * of waking threads does not matter. */
#include "train/pass/team.h"
#include "base/memory/mem.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

struct member {
    struct dg_team *team;
    pthread_t thread;
    size_t number;
};

struct dg_team {
    pthread_mutex_t lock;
    pthread_cond_t begin, end;
    size_t n;
    size_t n_started; /* threads besides member 0 */
    size_t n_busy;
    unsigned round; /* increases with every call */
    int is_over;
    dg_team_fn fn;
    void *ctx;
    struct member members[];
};

static void *work(void *arg)
{
    const struct member *me = arg;
    struct dg_team *team = me->team;
    unsigned round = 0;
    pthread_mutex_lock(&team->lock);
    for (;;) {
        while (team->round == round && !team->is_over)
            pthread_cond_wait(&team->begin, &team->lock);
        if (team->is_over)
            break;
        round = team->round;
        pthread_mutex_unlock(&team->lock);
        team->fn(team->ctx, me->number);
        pthread_mutex_lock(&team->lock);
        if (--team->n_busy == 0)
            pthread_cond_signal(&team->end);
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

/* The team's threads block signals: these are for the thread that can stop the work in good order.
 * SIGBUS is the exception, because its handler protects the thread's own reads of mapped files
 * (base/file/map_file.h). */
static int start(struct member *member)
{
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(&member->thread, NULL, work, member);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

enum dg_err dg_team_new(struct dg_team **team, size_t n, struct dg_error *error)
{
    if (n < 1 || n > DG_TEAM_MAX)
        return dg_error_set(error, DG_ERR_RANGE, "%zu threads, expected 1 to %d", n,
                            (int)DG_TEAM_MAX);
    struct dg_team *made = dg_try_calloc(1, sizeof *made + n * sizeof *made->members);
    if (!made)
        return DG_ERR_NOMEM;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->begin, NULL);
    pthread_cond_init(&made->end, NULL);
    made->n = n;
    for (size_t i = 1; i < n; i++) {
        made->members[i] = (struct member){.team = made, .number = i};
        const int code = start(&made->members[i]);
        if (code) {
            dg_team_free(made);
            return dg_error_set(error, dg_err_from_errno(code), "cannot start a thread: %s",
                                strerror(code));
        }
        made->n_started++;
    }
    *team = made;
    return DG_OK;
}

void dg_team_free(struct dg_team *team)
{
    if (!team)
        return;
    pthread_mutex_lock(&team->lock);
    team->is_over = 1;
    pthread_cond_broadcast(&team->begin);
    pthread_mutex_unlock(&team->lock);
    for (size_t i = 1; i <= team->n_started; i++)
        pthread_join(team->members[i].thread, NULL);
    pthread_cond_destroy(&team->begin);
    pthread_cond_destroy(&team->end);
    pthread_mutex_destroy(&team->lock);
    dg_free(team);
}

size_t dg_team_size(const struct dg_team *team)
{
    return team->n;
}

void dg_team_run(struct dg_team *team, dg_team_fn fn, void *ctx)
{
    if (team->n > 1) {
        pthread_mutex_lock(&team->lock);
        team->fn = fn;
        team->ctx = ctx;
        team->n_busy = team->n - 1;
        team->round++;
        pthread_cond_broadcast(&team->begin);
        pthread_mutex_unlock(&team->lock);
    }
    fn(ctx, 0);
    if (team->n > 1) {
        pthread_mutex_lock(&team->lock);
        while (team->n_busy > 0)
            pthread_cond_wait(&team->end, &team->lock);
        pthread_mutex_unlock(&team->lock);
    }
}
