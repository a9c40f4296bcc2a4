/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Every part is done exactly once, with any number of helpers and cores; the leader sees all
 * results when a round ends; helpers leave when `calls` changes. Which thread does a part is
 * chance, so no test depends on it. */
#include "base/thread/cpu.h"
#include "base/thread/helpers.h"
#include "unit.h"

#include <pthread.h>

enum { MEMBERS = 4, ROUNDS = 300, CELLS = 200 };

struct team {
    struct dg_helpers helpers;
    atomic_uint_fast64_t is_over;
    pthread_t threads[MEMBERS];
    size_t n;
};

static void *help(void *arg)
{
    struct team *team = arg;
    while (!atomic_load(&team->is_over))
        dg_helpers_help(&team->helpers, &team->is_over, 0);
    return NULL;
}

static void start(struct team *team, size_t n_helpers, size_t most)
{
    dg_helpers_init(&team->helpers, most);
    atomic_init(&team->is_over, 0);
    for (team->n = 0; team->n < n_helpers; team->n++)
        ck_assert_int_eq(pthread_create(&team->threads[team->n], NULL, help, team), 0);
}

static void stop(struct team *team)
{
    atomic_store(&team->is_over, 1);
    while (team->n > 0)
        pthread_join(team->threads[--team->n], NULL);
    ck_assert_uint_eq(dg_helpers_count(&team->helpers), 0);
}

/* Plain numbers, on purpose: ThreadSanitizer then checks that rounds are ordered as the header
 * says. */
struct sums {
    uint64_t in, out[CELLS];
};

static void add(void *ctx, size_t part)
{
    struct sums *sums = ctx;
    sums->out[part] += sums->in + part;
}

static void run_rounds(struct team *team)
{
    struct sums sums = {0};
    uint64_t expected[CELLS] = {0}, n_parts = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        const size_t n = (size_t)(round * 7 % CELLS) + 1;
        sums.in = round;
        dg_helpers_run(&team->helpers, add, &sums, n);
        n_parts += n;
        for (size_t i = 0; i < n; i++)
            expected[i] += round + i;
        ck_assert_mem_eq(sums.out, expected, sizeof expected);
    }
    ck_assert_uint_eq(team->helpers.n_parts, n_parts);
    ck_assert_uint_le(team->helpers.n_helped, n_parts);
    if (team->n == 0)
        ck_assert_uint_eq(team->helpers.n_helped, 0);
}

START_TEST(every_part_is_done_once)
{
    struct team team;
    for (size_t n = 0; n < MEMBERS; n++) {
        start(&team, n, n);
        run_rounds(&team);
        stop(&team);
    }
}
END_TEST

static void *on_one_core(void *arg)
{
    (void)arg;
    /* helpers stay on that core, too; if the kernel refuses, they run on any core */
    (void)dg_cpu_pin(0);
    struct team team;
    for (size_t n = 0; n < MEMBERS; n++) {
        start(&team, n, n);
        run_rounds(&team);
        stop(&team);
    }
    return NULL;
}

START_TEST(one_core_is_enough)
{
    pthread_t thread; /* in its own thread, so that the next test has all cores again */
    ck_assert_int_eq(pthread_create(&thread, NULL, on_one_core, NULL), 0);
    pthread_join(thread, NULL);
}
END_TEST

START_TEST(more_helpers_than_are_wanted_do_no_harm)
{
    struct team team;
    start(&team, MEMBERS, 1);
    run_rounds(&team);
    stop(&team);
}
END_TEST

START_TEST(nobody_stays_who_is_called_or_has_nothing_to_do)
{
    struct dg_helpers helpers;
    atomic_uint_fast64_t calls;
    dg_helpers_init(&helpers, 1);
    atomic_init(&calls, 1);
    dg_helpers_help(&helpers, &calls, 0);
    dg_helpers_help(&helpers, &calls, 1);
    ck_assert_uint_eq(dg_helpers_count(&helpers), 0);
    ck_assert_uint_eq(helpers.n_parts, 0);
}
END_TEST

static void count(void *ctx, size_t part)
{
    (void)part;
    atomic_fetch_add((atomic_size_t *)ctx, 1);
}

START_TEST(a_round_may_have_the_most_parts)
{
    atomic_size_t n_done;
    struct team team;
    atomic_init(&n_done, 0);
    start(&team, 1, 1);
    for (size_t round = 1; round <= 3; round++) {
        dg_helpers_run(&team.helpers, count, &n_done, DG_HELPERS_PARTS_MAX);
        ck_assert_uint_eq(atomic_load(&n_done), round * DG_HELPERS_PARTS_MAX);
    }
    stop(&team);
}
END_TEST

DG_UNIT(every_part_is_done_once, one_core_is_enough, more_helpers_than_are_wanted_do_no_harm,
        nobody_stays_who_is_called_or_has_nothing_to_do, a_round_may_have_the_most_parts)
