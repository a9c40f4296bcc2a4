/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Allocation-failure torture, a part of unit.h: `make check-torture` runs every unit program with
 * DRAGOMAN_FAIL_ALLOC=all.
 *
 * Each test then runs again and again in a process of its own, the nth allocation through the
 * second door (base/memory/mem.h) failing, n = 1, 2, 3, ... until the test makes fewer allocations
 * than n. That the test's assertions fail is expected and ignored. What counts is that nothing
 * crashes, hangs or leaks:
 *
 *  - a signal, a sanitizer's report and an early exit are what Check calls an error;
 *  - at the first assertion that fails, LeakSanitizer looks for memory that nothing points to. What
 * the test itself holds is still reachable from its stack; what the code under test dropped is not.
 *
 * Which n are tried is decided by counts, so that a slow machine, a quick one and yours try the
 * same: first each, then steps that grow with n, n / density on average. Their sizes are random
 * with the test's name as the seed: tests that begin alike share the work of trying their
 * beginning. A test with N allocations is so run density * ln(1 + N / density) times; the density
 * is DG_TORTURE_DENSE, and DG_TORTURE_SPARSE where each run takes long (DG_UNIT_SLOW). What still
 * differs from run to run is whose allocation is the nth when a test has several threads, and how
 * far a test comes that takes seconds each time: after DG_TORTURE_LONG_S its n double, after three
 * times that it ends, and says so.
 *
 * The n that are left out are for people, now and then and for a test that is new:
 *
 *     DRAGOMAN_FAIL_ALLOC=deep PROGRAM              the same, then for each test 500 random n
 *     DRAGOMAN_FAIL_ALLOC=deep:2000 PROGRAM         2000 of them
 *     DRAGOMAN_FAIL_ALLOC=deep:2000:SEED PROGRAM    the same ones again; every run prints its seed
 *     DRAGOMAN_FAIL_ALLOC=17 DRAGOMAN_TEST=name PROGRAM     one failure, to see it again
 *
 * A sanitizer build (`make check-torture` leaves one in asan/) sees most; `make check
 * TESTS=PROGRAM` there sets the rest of the environment. */
#ifndef DG_UNIT_TORTURE_H
#define DG_UNIT_TORTURE_H

#include "base/memory/clock.h"
#include "base/memory/mem.h"
#include "base/memory/rng.h"

#include <check.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define DG_TORTURE_LSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DG_TORTURE_LSAN 1
#endif
#endif
#ifdef DG_TORTURE_LSAN
#include <sanitizer/lsan_interface.h>
/* An optimiser keeps no pointer that a failed assertion makes useless, and LeakSanitizer would take
 * what it pointed to for lost: tests, not what they test, are compiled as written. */
#if defined(__clang__)
#pragma clang optimize off
#else
#pragma GCC optimize("O0")
#endif
#endif

enum {
    DG_TORTURE_DENSE = 64,
    DG_TORTURE_SPARSE = 10,
    DG_TORTURE_DEEP = 500,
    DG_TORTURE_LONG_S = 3,
    DG_TORTURE_TIMEOUT_S = 60, /* five times that under make; a run takes seconds at most, this is a
                                  hang */
};

/* Decides which n are tried. */
struct dg_torture {
    uint64_t density;        /* of the usual ones */
    uint64_t n_random, seed; /* DRAGOMAN_FAIL_ALLOC=deep: that many more */
};

/* Allocations tried by the test; shared between the test's process and ours. NULL: no torture. */
static _Atomic uint64_t *dg_torture_tries;

static inline void dg_torture_report(void)
{
    if (dg_torture_tries)
        atomic_store(dg_torture_tries, dg_mem_tries());
}

/* Runs just before an assertion ends the test's process. */
static inline void dg_torture_look(void)
{
    if (!dg_torture_tries)
        return;
    dg_torture_report();
#ifdef DG_TORTURE_LSAN
    if (__lsan_do_recoverable_leak_check())
        _exit(23);
#endif
}

/* Check's assertions end in this function; the macro makes them look first. */
#define _ck_assert_failed(...) (dg_torture_look(), (_ck_assert_failed)(__VA_ARGS__))

/* One run of one test with the nth allocation failing, 0: none; false for a crash, a hang or a
 * leak. */
static inline bool dg_torture_once(const char *name, const TTest *test, uint64_t n,
                                   uint64_t *n_tried)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, DG_TORTURE_TIMEOUT_S);
    tcase_add_test(tcase, test);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_FORK);
    uint64_t before = dg_mem_tries();
    atomic_store(dg_torture_tries, before);
    dg_mem_fail_after(n);
    srunner_run_all(runner, CK_SILENT);
    dg_mem_fail_after(0);
    *n_tried = atomic_load(dg_torture_tries) - before;
    TestResult **results = srunner_failures(runner);
    bool ok = srunner_ntests_failed(runner) == 0 || tr_rtype(results[0]) != CK_ERROR;
    if (!ok)
        printf("torture: %s: %s when allocation %ju fails; again: DRAGOMAN_FAIL_ALLOC=%ju "
               "DRAGOMAN_TEST=%s\n",
               test->name, tr_msg(results[0]), (uintmax_t)n, (uintmax_t)n, test->name);
    free(results);
    srunner_free(runner);
    return ok;
}

/* The n that everybody tries, for one test. */
static inline bool dg_torture_usual(const char *name, const TTest *test,
                                    const struct dg_torture *how)
{
    const struct dg_clock clock = DG_CLOCK_REAL;
    const uint64_t start = dg_clock_now(&clock), budget = DG_TORTURE_LONG_S * DG_CLOCK_S;
    struct dg_rng rng;
    uint64_t seed = 0, n = 1, n_gapless = 0, n_runs = 1, n_tried, spent = 0;
    for (const char *c = test->name; *c; c++)
        seed = seed * 31 + (unsigned char)*c;
    dg_rng_init(&rng, seed, 0);
    for (;; n_runs++) {
        if (!dg_torture_once(name, test, n, &n_tried))
            return false;
        if (n_tried < n)
            break;
        if (n_gapless == n - 1)
            n_gapless = n;
        spent = dg_clock_now(&clock) - start;
        if (spent > 3 * budget)
            break;
        n += spent > budget ? n : 1 + dg_rng_next(&rng) % (1 + 2 * n / how->density);
    }
    if (spent > budget)
        printf("torture: %s: takes long: %ju runs, each of the first %ju allocations failed, then "
               "some up "
               "to the %juth\n",
               test->name, (uintmax_t)n_runs, (uintmax_t)n_gapless, (uintmax_t)n);
    else if (n_gapless == n_tried)
        printf("torture: %s: each of %ju allocations failed\n", test->name, (uintmax_t)n_tried);
    else
        printf(
            "torture: %s: %ju runs; each of the first %ju allocations failed, then some of %ju\n",
            test->name, (uintmax_t)n_runs, (uintmax_t)n_gapless, (uintmax_t)n_tried);
    fflush(stdout);
    return true;
}

/* Random n for one test, or all n if there are no more. */
static inline bool dg_torture_random(const char *name, const TTest *test,
                                     const struct dg_torture *how)
{
    struct dg_rng rng;
    uint64_t n_all, n_tried;
    dg_rng_init(&rng, how->seed, 0);
    if (!dg_torture_once(name, test, 0, &n_all))
        return false;
    const bool every = n_all <= how->n_random;
    for (uint64_t i = 0; i < (every ? n_all : how->n_random); i++) {
        uint64_t n = every ? i + 1 : 1 + dg_rng_next(&rng) % n_all;
        if (!dg_torture_once(name, test, n, &n_tried))
            return false;
    }
    if (every)
        printf("torture: %s: each of %ju allocations failed\n", test->name, (uintmax_t)n_all);
    else
        printf("torture: %s: %ju random ones of %ju allocations failed, seed %ju\n", test->name,
               (uintmax_t)how->n_random, (uintmax_t)n_all, (uintmax_t)how->seed);
    fflush(stdout);
    return true;
}

/* From here on a failed assertion looks for leaks. */
static inline bool dg_torture_begin(void)
{
    void *shared = mmap(NULL, sizeof *dg_torture_tries, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || atexit(dg_torture_report) != 0)
        return false;
    dg_torture_tries = shared;
    return true;
}

/* True for "all" and "deep[:RUNS[:SEED]]", which torture a whole program. */
static inline bool dg_torture_asked(const char *text, struct dg_torture *how)
{
    how->n_random = 0;
    if (!text || strcmp(text, "all") == 0)
        return text != NULL;
    if (strncmp(text, "deep", 4) != 0)
        return false;
    const char *runs = strchr(text, ':'), *seed = runs ? strchr(runs + 1, ':') : NULL;
    how->n_random = runs ? strtoull(runs + 1, NULL, 10) : DG_TORTURE_DEEP;
    how->seed = seed ? strtoull(seed + 1, NULL, 10) : (uint64_t)getpid();
    return true;
}

static inline int dg_torture_run(const char *name, const TTest *const *tests, size_t n_tests,
                                 const char *only, const struct dg_torture *how)
{
    if (!dg_torture_begin())
        return EXIT_FAILURE;
    size_t n_bad = 0;
    for (size_t i = 0; i < n_tests; i++)
        if (!only || strcmp(only, tests[i]->name) == 0)
            n_bad += !dg_torture_usual(name, tests[i], how) ||
                     (how->n_random && !dg_torture_random(name, tests[i], how));
    return n_bad ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
