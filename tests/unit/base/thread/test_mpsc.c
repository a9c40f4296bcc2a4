/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/mem.h"
#include "base/thread/mpsc.h"
#include "unit.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>

struct item {
    uint32_t producer;
    uint32_t number;
    uint64_t check; /* depends on both, so that a torn copy shows */
};

static struct item made(uint32_t producer, uint32_t number)
{
    return (struct item){producer, number, ((uint64_t)producer << 32 | number) * 7919};
}

START_TEST(is_a_bounded_queue_for_one_thread)
{
    struct dg_mpsc *queue;
    ck_assert_int_eq(dg_mpsc_new(3, sizeof(struct item), NULL, NULL, &queue), DG_OK);
    struct item item;
    ck_assert(!dg_mpsc_pop(queue, &item));
    uint32_t pushed = 0, popped = 0;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 5; i++) {
            item = made(0, pushed);
            enum dg_err err = dg_mpsc_push(queue, &item);
            ck_assert_int_eq(err, pushed - popped < 4 ? DG_OK : DG_ERR_LIMIT);
            pushed += err == DG_OK;
        }
        ck_assert_uint_eq(pushed - popped, 4);
        for (int i = 0; i < 1 + round % 4; i++) {
            ck_assert(dg_mpsc_pop(queue, &item));
            ck_assert_uint_eq(item.number, popped++);
        }
    }
    dg_mpsc_free(queue);
    dg_mpsc_free(NULL);
}
END_TEST

static void count_wake(void *arg)
{
    ++*(int *)arg;
}

START_TEST(wakes_once_for_many_pushes)
{
    int n_wakes = 0;
    struct dg_mpsc *queue;
    struct item item = made(1, 1);
    ck_assert_int_eq(dg_mpsc_new(100, sizeof item, count_wake, &n_wakes, &queue), DG_OK);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(dg_mpsc_push(queue, &item), DG_OK);
    ck_assert_int_eq(n_wakes, 1);
    dg_mpsc_listen(queue);
    while (dg_mpsc_pop(queue, &item))
        continue;
    ck_assert_int_eq(n_wakes, 1);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(dg_mpsc_push(queue, &item), DG_OK);
    ck_assert_int_eq(n_wakes, 2);
    dg_mpsc_free(queue);
}
END_TEST

enum { N_PRODUCERS = 4, N_ITEMS = 20000 };

struct producer {
    struct dg_mpsc *queue;
    uint32_t id;
};

static void *produce(void *arg)
{
    struct producer *me = arg;
    for (uint32_t i = 0; i < N_ITEMS;) {
        struct item item = made(me->id, i);
        if (dg_mpsc_push(me->queue, &item) == DG_OK)
            i++;
        else
            sched_yield();
    }
    return NULL;
}

static void post(void *arg)
{
    sem_post(arg);
}

/* The consumer sleeps whenever nothing is ready: a lost wake-up would hang this test. */
START_TEST(loses_nothing_and_no_wake_up_between_threads)
{
    sem_t woken;
    sem_init(&woken, 0, 0);
    struct dg_mpsc *queue;
    ck_assert_int_eq(dg_mpsc_new(64, sizeof(struct item), post, &woken, &queue), DG_OK);
    pthread_t threads[N_PRODUCERS];
    struct producer producers[N_PRODUCERS];
    for (uint32_t i = 0; i < N_PRODUCERS; i++) {
        producers[i] = (struct producer){queue, i};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    }
    uint32_t next[N_PRODUCERS] = {0};
    for (uint32_t n = 0; n < N_PRODUCERS * N_ITEMS;) {
        while (sem_wait(&woken) != 0)
            continue;
        dg_mpsc_listen(queue);
        for (struct item item; dg_mpsc_pop(queue, &item); n++) {
            ck_assert_uint_lt(item.producer, N_PRODUCERS);
            ck_assert_uint_eq(item.number, next[item.producer]);
            next[item.producer]++;
            ck_assert_uint_eq(item.check, made(item.producer, item.number).check);
        }
    }
    for (int i = 0; i < N_PRODUCERS; i++)
        pthread_join(threads[i], NULL);
    struct item item;
    ck_assert(!dg_mpsc_pop(queue, &item));
    dg_mpsc_free(queue);
    sem_destroy(&woken);
}
END_TEST

START_TEST(reports_memory_that_is_gone)
{
    struct dg_mpsc *queue = NULL;
    for (uint64_t n = 1; n <= 2; n++) {
        dg_mem_fail_after(n);
        ck_assert_int_eq(dg_mpsc_new(4, 8, NULL, NULL, &queue), DG_ERR_NOMEM);
        ck_assert(dg_mem_failed());
    }
    dg_mem_fail_after(0);
    ck_assert_int_eq(dg_mpsc_new(SIZE_MAX, 8, NULL, NULL, &queue), DG_ERR_NOMEM);
    ck_assert_int_eq(dg_mpsc_new(SIZE_MAX / 4, 8, NULL, NULL, &queue), DG_ERR_NOMEM);
    ck_assert_ptr_null(queue);
}
END_TEST

DG_UNIT(is_a_bounded_queue_for_one_thread, wakes_once_for_many_pushes,
        loses_nothing_and_no_wake_up_between_threads, reports_memory_that_is_gone)
