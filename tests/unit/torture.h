/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Allocation-failure torture, a part of unit.h: `make check-torture` runs every unit program with
 * DRAGOMAN_FAIL_ALLOC=all.
 *
 * Each test then runs again and again in a process of its own, the nth allocation through the second
 * door (base/mem.h) failing, n = 1, 2, 3, ... until the test makes fewer allocations than n. That the
 * test's assertions fail is expected and ignored. What counts is that nothing crashes, hangs or leaks:
 *
 *  - a signal, a sanitizer's report and an early exit are what Check calls an error;
 *  - at the first assertion that fails, LeakSanitizer looks for memory that nothing points to. What the
 *    test itself holds is still reachable from its stack; what the code under test dropped is not.
 *
 * Tests with very many allocations are given a few seconds for every n, then the steps grow; the output
 * says so. To see one failure again: DRAGOMAN_FAIL_ALLOC=17 DRAGOMAN_TEST=name PROGRAM. */
#ifndef DG_UNIT_TORTURE_H
#define DG_UNIT_TORTURE_H

#include "base/clock.h"
#include "base/mem.h"

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
/* An optimiser keeps no pointer that a failed assertion makes useless, and LeakSanitizer would take what
 * it pointed to for lost: tests, not what they test, are compiled as written. */
#if defined(__clang__)
#pragma clang optimize off
#else
#pragma GCC optimize("O0")
#endif
#endif

enum { DG_TORTURE_SECONDS = 2, DG_TORTURE_TIMEOUT_S = 60 };

/* Allocations tried by the test; shared between the test's process and ours. NULL: no torture. */
static _Atomic uint64_t *dg_torture_tries;

static inline void dg_torture_report(void)
{
    if (dg_torture_tries)
        atomic_store(dg_torture_tries, dg_mem_tries());
}

/* What happens just before an assertion ends the test's process. */
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

/* One run of one test with the nth allocation failing; false for a crash, a hang or a leak. */
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

/* All n for one test. */
static inline bool dg_torture_test(const char *name, const TTest *test)
{
    const struct dg_clock clock = DG_CLOCK_REAL;
    const uint64_t start = dg_clock_now(&clock), budget = DG_TORTURE_SECONDS * DG_CLOCK_S;
    uint64_t n = 1, last_gapless = 0, n_runs = 0, n_tried;
    for (;; n_runs++) {
        if (!dg_torture_once(name, test, n, &n_tried))
            return false;
        if (n_tried < n)
            break;
        uint64_t spent = dg_clock_now(&clock) - start;
        if (spent < budget && last_gapless == n - 1)
            last_gapless = n;
        if (spent > 3 * budget)
            break;
        n += spent < budget ? 1 : 1 + n / 4;
    }
    if (n_tried < n && last_gapless == n_tried)
        printf("torture: %s: each of %ju allocations failed\n", test->name, (uintmax_t)n_tried);
    else
        printf("torture: %s: %ju runs; each of the first %ju allocations failed, then some up to "
               "%ju\n",
               test->name, (uintmax_t)n_runs, (uintmax_t)last_gapless, (uintmax_t)n);
    fflush(stdout);
    return true;
}

/* From here on assertions look for leaks. */
static inline bool dg_torture_begin(void)
{
    void *shared = mmap(NULL, sizeof *dg_torture_tries, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || atexit(dg_torture_report) != 0)
        return false;
    dg_torture_tries = shared;
    return true;
}

static inline int dg_torture_run(const char *name, const TTest *const *tests, size_t n_tests,
                                 const char *only)
{
    if (!dg_torture_begin())
        return EXIT_FAILURE;
    size_t n_bad = 0;
    for (size_t i = 0; i < n_tests; i++)
        if (!only || strcmp(only, tests[i]->name) == 0)
            n_bad += !dg_torture_test(name, tests[i]);
    return n_bad ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
