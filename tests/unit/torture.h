/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Allocation-failure torture, a part of unit.h: `make check-torture` runs every unit program with
 * DRAGOMAN_FAIL_ALLOC=all.
 *
 * Each test then runs again and again in a process of its own, while the nth allocation through the
 * functions of base/memory/mem.h that may fail (its "second door") fails, n = 1, 2, 3, ... up to
 * the last one. Failing assertions of the test are expected and ignored. What counts is that
 * nothing crashes, hangs or leaks:
 *
 *  - a signal, a sanitizer's report and an early exit are what Check calls an error;
 *  - at the first assertion that fails, LeakSanitizer looks for memory that nothing points to. What
 * the test itself holds is still reachable from its stack; what the code under test dropped is not.
 *
 * Counts decide which n are tried, not times, so that slow and fast machines try the same: first
 * every n, then steps that grow with n, n / density on average. The sizes of the steps are random,
 * seeded with the test's name, so that tests that begin alike share the work of trying their
 * beginning. A test with N allocations therefore runs density * ln(1 + N / density) times. The
 * density is DG_TORTURE_DENSE, or DG_TORTURE_SPARSE where each run takes long (DG_UNIT_SLOW).
 *
 * An n is left out when its allocation has the same callers, up to the test function, as
 * DG_TORTURE_ALIKE others that have failed in this program. A first run, in which nothing fails,
 * finds the callers: clang's AddressSanitizer passes each allocation to a hook. In other builds no
 * n is left out.
 *
 * Two things still differ from run to run: which thread makes the nth allocation when a test has
 * several threads, and how far a test gets that takes seconds each time. After DG_TORTURE_LONG_S
 * each further n is twice the one before; after three times that the torture of this test ends, and
 * says so.
 *
 * People can try the n that are left out now and then, and when a test is new:
 *
 *     DRAGOMAN_FAIL_ALLOC=deep PROGRAM              the same, then for each test 500 random n
 *     DRAGOMAN_FAIL_ALLOC=deep:2000 PROGRAM         2000 of them
 *     DRAGOMAN_FAIL_ALLOC=deep:2000:SEED PROGRAM    the same ones again; every run prints its seed
 *     DRAGOMAN_FAIL_ALLOC=17 DRAGOMAN_TEST=name PROGRAM     one failure, to see it again
 *
 * A sanitizer build (`make check-torture` leaves one in asan/) finds the most; `make check
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
#if defined(__clang__)
#define DG_TORTURE_CALLERS 1
#include <sanitizer/allocator_interface.h>
#include <unwind.h>
#endif
/* An optimiser does not keep a pointer that a failed assertion makes useless, and LeakSanitizer
 * would report what it pointed to as lost. So the tests, but not the code that they test, are
 * compiled without optimisation. */
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
    DG_TORTURE_ALIKE = 4,
    DG_TORTURE_RECORDED = 1 << 14, /* allocations of a test whose callers are recorded */
    DG_TORTURE_STACKS = 1 << 14,   /* a power of two; in one program */
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

/* One run of one test in which the nth allocation fails (0: none); false for a crash, a hang or a
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

/* The callers of the allocations in one run, as a hash for each; shared with the test's process. */
struct dg_torture_callers {
    uint64_t before; /* allocations before the test */
    void (*test)(int);
    uint64_t hash[DG_TORTURE_RECORDED + 1]; /* by n; 0: unknown */
};

static struct dg_torture_callers *dg_torture_callers; /* NULL: the callers are not known */
static bool dg_torture_records;

#ifdef DG_TORTURE_CALLERS
static inline _Unwind_Reason_Code dg_torture_caller(struct _Unwind_Context *frame, void *hash)
{
    if (_Unwind_GetRegionStart(frame) == (uintptr_t)dg_torture_callers->test)
        return _URC_END_OF_STACK;
    *(uint64_t *)hash = (*(uint64_t *)hash ^ _Unwind_GetIP(frame)) * 0x9e3779b97f4a7c15;
    *(uint64_t *)hash ^= *(uint64_t *)hash >> 32;
    return _URC_NO_REASON;
}

/* AddressSanitizer calls this for each malloc; the first one after dg_try_* has counted belongs to
 * dg_try_*. */
static inline void dg_torture_on_malloc(const volatile void *ptr, size_t size)
{
    (void)ptr, (void)size;
    if (!dg_torture_records)
        return;
    uint64_t n = dg_mem_tries() - dg_torture_callers->before, hash = 1;
    if (n == 0 || n > DG_TORTURE_RECORDED || dg_torture_callers->hash[n])
        return;
    dg_torture_callers->hash[n] = 1;
    _Unwind_Backtrace(dg_torture_caller, &hash);
    dg_torture_callers->hash[n] = hash;
}

static inline void dg_torture_on_free(const volatile void *ptr)
{
    (void)ptr;
}

#endif

/* One run in which nothing fails: counts the allocations, and records who calls them. */
static inline bool dg_torture_record(const char *name, const TTest *test, uint64_t *n_all)
{
#ifdef DG_TORTURE_CALLERS
    if (!dg_torture_callers) {
        void *shared = mmap(NULL, sizeof *dg_torture_callers, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED ||
            !__sanitizer_install_malloc_and_free_hooks(dg_torture_on_malloc, dg_torture_on_free))
            return false;
        dg_torture_callers = shared;
    }
    *dg_torture_callers = (struct dg_torture_callers){.before = dg_mem_tries(), .test = test->fn};
#endif
    dg_torture_records = dg_torture_callers != NULL;
    bool ok = dg_torture_once(name, test, 0, n_all);
    dg_torture_records = false;
    return ok;
}

/* Notes that allocation n of the test fails; false when enough similar ones have failed. */
static inline bool dg_torture_is_new(uint64_t n)
{
    static struct {
        uint64_t hash, times;
    } seen[DG_TORTURE_STACKS];
    uint64_t hash =
        dg_torture_callers && n <= DG_TORTURE_RECORDED ? dg_torture_callers->hash[n] : 0;
    if (!hash)
        return true;
    for (uint64_t i = hash, end = hash + DG_TORTURE_STACKS; i != end; i++) {
        uint64_t at = i % DG_TORTURE_STACKS;
        if (seen[at].times == 0)
            seen[at].hash = hash;
        if (seen[at].hash == hash)
            return seen[at].times++ < DG_TORTURE_ALIKE;
    }
    return true;
}

/* Tries the n that every run tries, for one test. */
static inline bool dg_torture_usual(const char *name, const TTest *test,
                                    const struct dg_torture *how)
{
    const struct dg_clock clock = DG_CLOCK_REAL;
    const uint64_t start = dg_clock_now(&clock), budget = DG_TORTURE_LONG_S * DG_CLOCK_S;
    struct dg_rng rng;
    uint64_t seed = 0, n = 1, n_failed = 0, n_alike = 0, n_all, n_tried, spent = 0;
    for (const char *c = test->name; *c; c++)
        seed = seed * 31 + (unsigned char)*c;
    dg_rng_init(&rng, seed, 0);
    if (!dg_torture_record(name, test, &n_all))
        return false;
    while (n <= n_all && spent <= 3 * budget) {
        if (!dg_torture_is_new(n))
            n_alike++;
        else if (!dg_torture_once(name, test, n, &n_tried))
            return false;
        else if (n_tried < n)
            break;
        else
            n_failed++;
        spent = dg_clock_now(&clock) - start;
        n += spent > budget ? n : 1 + dg_rng_next(&rng) % (1 + 2 * n / how->density);
    }
    printf("torture: %s: %s%ju of %ju allocations failed; %ju had the callers of others\n",
           test->name, spent > budget ? "takes long: " : "", (uintmax_t)n_failed, (uintmax_t)n_all,
           (uintmax_t)n_alike);
    fflush(stdout);
    return true;
}

/* Tries random n for one test, or all n if there are no more. */
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
