/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#define _GNU_SOURCE 1 /* cpu_set_t */
#include "base/thread/nodes.h"
#include "base/thread/cpu.h"
#include "fake_machine.h"
#include "unit.h"

#include <pthread.h>
#include <sched.h>

#define NODE "/sys/devices/system/node/"

static char root[DG_TMPDIR_CAP];

static void begin(size_t n, const char *const *cpus)
{
    dg_tmpdir_make(root);
    fake_machine_nodes(root, n, cpus);
}

static void end(void)
{
    dg_tmpdir_remove(root);
}

/* Returns whether `n_workers` workers are placed as `expected` says, a digit for each worker. NULL:
 * as on one node. */
static bool are_placed(size_t n_workers, const char *expected)
{
    struct dg_nodes *nodes = dg_nodes_new(root, n_workers);
    bool is_right = !nodes == !expected;
    if (!dg_cpu_may_pin())
        is_right = !nodes; /* then nothing is distributed */
    for (size_t w = 0; nodes && is_right && w < n_workers; w++) {
        is_right = dg_nodes_of(nodes, w) == (size_t)(expected[w] - '0');
        if (!is_right)
            printf("worker %zu is on node %zu\n", w, dg_nodes_of(nodes, w));
    }
    dg_nodes_free(nodes);
    return is_right;
}

START_TEST(one_node_needs_nothing)
{
    begin(1, (const char *[]){"0-63"});
    ck_assert(are_placed(4, NULL));
    end();
    ck_assert(are_placed(4, NULL)); /* no files at all */
    ck_assert_uint_eq(dg_nodes_count(NULL), 1);
    ck_assert_uint_eq(dg_nodes_of(NULL, 7), 0);
    ck_assert_uint_eq(dg_nodes_bind(NULL, 7), 7);
    dg_nodes_free(NULL);
}
END_TEST

START_TEST(equal_nodes_get_workers_in_turn)
{
    begin(2, (const char *[]){"0-3,8-11", "4-7,12-15"});
    ck_assert(are_placed(1, NULL));
    ck_assert(are_placed(2, "01"));
    ck_assert(are_placed(5, "01010"));
    end();
    begin(4, (const char *[]){"0-1", "2-3", "4-5", "6-7"});
    ck_assert(are_placed(3, "012"));
    ck_assert(are_placed(8, "01230123"));
    end();
}
END_TEST

START_TEST(a_larger_node_gets_more)
{
    begin(2, (const char *[]){"0", "1-3"});
    ck_assert(are_placed(1, NULL));
    ck_assert(are_placed(4, "1101"));
    ck_assert(are_placed(8, "11011101"));
    end();
}
END_TEST

/* Nodes may have numbers with gaps, and CPUs that are offline are in no list. */
START_TEST(numbers_have_gaps)
{
    begin(1, (const char *[]){"0,2,4"});
    fake_machine_put(root, NODE "online", "0,3,7\n");
    fake_machine_put(root, NODE "has_memory", "0,3,7\n");
    fake_machine_put(root, NODE "node3/cpulist", "\n");
    fake_machine_put(root, NODE "node7/cpulist", "1,3-5\n");
    ck_assert(are_placed(7, "1010101"));
    end();
}
END_TEST

START_TEST(only_cpus_count_that_the_process_may_use)
{
    begin(3, (const char *[]){"0-3", "4-7", "8-11"});
    fake_machine_put(root, "/proc/self/status",
                     "Cpus_allowed_list:\t4-7\nMems_allowed_list:\t0-2\n");
    ck_assert(are_placed(8, NULL));
    fake_machine_put(root, "/proc/self/status",
                     "Cpus_allowed_list:\t3-4,10\nMems_allowed_list:\t0-2\n");
    ck_assert(are_placed(6, "012012"));
    fake_machine_put(root, "/proc/self/status", "Cpus_allowed_list:\t0-11\n");
    ck_assert(are_placed(8, NULL));
    end();
}
END_TEST

/* The workers of nodes without memory count for the nearest node that has some. */
START_TEST(nodes_without_memory_belong_to_others)
{
    begin(4, (const char *[]){"0-1", "2-3", "4", "5"});
    fake_machine_put(root, NODE "has_memory", "0,2\n");
    ck_assert(are_placed(4, NULL)); /* the distances are missing */
    fake_machine_put(root, NODE "node1/distance", "30 10 20 30\n");
    fake_machine_put(root, NODE "node3/distance", "20 30 30 10\n");
    ck_assert(are_placed(6, "010101"));
    fake_machine_put(root, NODE "node1/distance", "20 10 30 30\n");
    ck_assert(are_placed(6, "000001"));
    fake_machine_put(root, NODE "node1/distance", "20 10\n");
    ck_assert(are_placed(6, NULL));
    fake_machine_put(root, NODE "has_memory", "\n");
    ck_assert(are_placed(6, NULL));
    end();
    /* the process may use the CPUs of both nodes, but the memory of only one */
    begin(2, (const char *[]){"0-1", "2-3"});
    fake_machine_put(root, NODE "node0/distance", "10 20\n");
    fake_machine_put(root, "/proc/self/status", "Cpus_allowed_list:\t0-3\nMems_allowed_list:\t1\n");
    ck_assert(are_placed(4, NULL));
    end();
}
END_TEST

START_TEST(nonsense_counts_as_one_node)
{
    static const char *const lists[] = {"x",
                                        "0-",
                                        "-1",
                                        "0--1",
                                        "1-0",
                                        "0,",
                                        ",0",
                                        "0,,1",
                                        "0 1",
                                        "0x",
                                        "+0",
                                        "8192",
                                        "0-8192",
                                        "0-3:2/4",
                                        "99999999999999999999",
                                        "0-18446744073709551615"};
    static char many[20000];
    begin(2, (const char *[]){"0", "1"});
    ck_assert(are_placed(2, "01"));
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        fake_machine_put(root, NODE "node1/cpulist", lists[i]);
        ck_assert_msg(are_placed(2, NULL), "%s", lists[i]);
    }
    for (size_t i = 0; i + 1 < sizeof many; i += 2)
        memcpy(many + i, "1,", 2);
    many[sizeof many - 2] = '\0';
    fake_machine_put(root, NODE "node1/cpulist", many);
    ck_assert(are_placed(2, NULL)); /* longer than any line of the kernel's */
    fake_machine_put(root, NODE "node1/cpulist", " 1");
    ck_assert(are_placed(2, "01"));
    ck_assert(are_placed(DG_NODES_WORKERS_MAX + 1, NULL));
    fake_machine_put(root, NODE "online", "0-8191\n"); /* most of these have no folder */
    ck_assert(are_placed(2, NULL));
    end();
}
END_TEST

START_TEST(more_nodes_than_we_know_count_as_one)
{
    static char cpus[DG_NODES_MAX + 1][8];
    const char *lists[DG_NODES_MAX + 1];
    for (size_t i = 0; i <= DG_NODES_MAX; i++) {
        snprintf(cpus[i], sizeof cpus[i], "%zu", i);
        lists[i] = cpus[i];
    }
    for (size_t extra = 0; extra <= 1; extra++) {
        begin(DG_NODES_MAX + extra, lists);
        struct dg_nodes *nodes = dg_nodes_new(root, DG_NODES_WORKERS_MAX);
        ck_assert_uint_eq(dg_nodes_count(nodes),
                          extra || !dg_cpu_may_pin() ? 1 : (size_t)DG_NODES_MAX);
        dg_nodes_free(nodes);
        end();
    }
}
END_TEST

/* ---- Threads --------------------------------------------------------------------------------- */

/* Where a thread may run, and the number of the thread. */
struct place {
    const struct dg_nodes *nodes;
    size_t worker;
    unsigned rank;
    cpu_set_t set;
    pthread_t thread;
};

static void look(void *arg)
{
    struct place *place = arg;
    place->thread = pthread_self();
    ck_assert_int_eq(sched_getaffinity(0, sizeof place->set, &place->set), 0);
}

static void *bind_and_look(void *arg)
{
    struct place *place = arg;
    place->rank = dg_nodes_bind(place->nodes, place->worker);
    look(arg);
    return NULL;
}

/* Writes the first CPU that this process may use to `first`, and the others to `rest`, as lists. */
static size_t split_cpus(char first[8], char rest[4096], cpu_set_t *set)
{
    size_t n = 0, len = 0;
    ck_assert_int_eq(sched_getaffinity(0, sizeof *set, set), 0);
    rest[0] = '\0';
    for (size_t cpu = 0; cpu < CPU_SETSIZE && len < 4000; cpu++) {
        if (!CPU_ISSET(cpu, set))
            continue;
        if (n++ == 0)
            snprintf(first, 8, "%zu", cpu);
        else
            len += (size_t)snprintf(rest + len, 4096 - len, "%s%zu", len ? "," : "", cpu);
    }
    return n;
}

START_TEST(threads_run_on_their_node)
{
    char first[8], rest[4096];
    cpu_set_t all;
    const size_t n = split_cpus(first, rest, &all);
    if (!dg_cpu_may_pin() || n < 2) {
        printf("this system has one core, or does not let a thread choose: not tested\n");
        return;
    }
    begin(1, (const char *[]){first});
    fake_machine_put(root, NODE "online", "0-1");
    fake_machine_put(root, NODE "has_memory", "0-1");
    fake_machine_put(root, NODE "node1/cpulist", rest);
    struct dg_nodes *nodes = dg_nodes_new(root, 2 * n);
    ck_assert_uint_eq(dg_nodes_count(nodes), 2);
    size_t n_on[2] = {0};
    for (size_t w = 0; w < 2 * n; w++) {
        struct place place = {.nodes = nodes, .worker = w};
        pthread_t thread;
        const size_t node = dg_nodes_of(nodes, w);
        ck_assert_int_eq(pthread_create(&thread, NULL, bind_and_look, &place), 0);
        pthread_join(thread, NULL);
        ck_assert_uint_eq(place.rank, n_on[node]++);
        ck_assert_int_eq(CPU_COUNT(&place.set), node == 0 ? 1 : (int)n - 1);
        ck_assert_int_eq(CPU_ISSET(strtoul(first, NULL, 10), &place.set), node == 0);
    }
    for (size_t node = 0; node < 2; node++) {
        struct place place = {.worker = 0};
        dg_nodes_run(nodes, node, look, &place);
        ck_assert_int_eq(CPU_COUNT(&place.set), node == 0 ? 1 : (int)n - 1);
        ck_assert(!pthread_equal(place.thread, pthread_self()));
        dg_nodes_run(NULL, node, look, &place);
        ck_assert(CPU_EQUAL(&place.set, &all)); /* this thread stayed where it was */
        ck_assert(pthread_equal(place.thread, pthread_self()));
    }
    dg_nodes_free(nodes);
    end();
}
END_TEST

/* A node whose CPUs do not exist: the system refuses, and the thread runs where it was. */
START_TEST(a_refusal_changes_nothing)
{
    begin(2, (const char *[]){"8000", "8001"});
    struct dg_nodes *nodes = dg_nodes_new(root, 2);
    cpu_set_t all;
    ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
    for (size_t w = 0; w < dg_nodes_count(nodes); w++) {
        struct place place = {.nodes = nodes, .worker = w};
        bind_and_look(&place);
        ck_assert(CPU_EQUAL(&place.set, &all));
        dg_nodes_run(nodes, w, look, &place);
        ck_assert(CPU_EQUAL(&place.set, &all));
    }
    dg_nodes_free(nodes);
    end();
}
END_TEST

DG_UNIT(one_node_needs_nothing, equal_nodes_get_workers_in_turn, a_larger_node_gets_more,
        numbers_have_gaps, only_cpus_count_that_the_process_may_use,
        nodes_without_memory_belong_to_others, nonsense_counts_as_one_node,
        more_nodes_than_we_know_count_as_one, threads_run_on_their_node, a_refusal_changes_nothing)
