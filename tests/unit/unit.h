/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The frame of every unit test: Check with one suite per program.
 *
 *     #include "base/memory/buf.h"
 *     #include "unit.h"
 *
 *     START_TEST(refuses_to_grow_past_its_maximum) { ... } END_TEST
 *
 *     DG_UNIT(refuses_to_grow_past_its_maximum, appends_in_order)
 *
 * Tests are named by behaviour. DG_UNIT registers them and defines main(). A test that
 * repeats itself many times over random input takes its count from dg_unit_rounds. The environment:
 *
 *     DRAGOMAN_TEST=appends_in_order   runs this test only
 *     DRAGOMAN_FAIL_ALLOC=3            makes the third allocation of each test fail
 *     DRAGOMAN_FAIL_ALLOC=all          one allocation after the other: make check-torture
 *     DRAGOMAN_FAIL_ALLOC=deep         the same, and many more
 *
 * Only allocations through the "second door" of base/memory/mem.h fail; torture.h says more. */
#ifndef DG_UNIT_H
#define DG_UNIT_H

#include "torture.h"

#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Of each assertion that passes, Check notes the place, so that it can name the last one before a
 * crash. A note costs a system call, and reading all of them back costs more than most tests do,
 * above all under sanitizers and valgrind. So an assertion makes a note only the first time. */
#undef ck_assert_msg
#define ck_assert_msg(expr, ...)                                                                   \
    do {                                                                                           \
        static atomic_bool dg_unit_noted_;                                                         \
        if (!(expr)) {                                                                             \
            _ck_assert_failed(__FILE__, __LINE__, "Assertion '" #expr "' failed", ##__VA_ARGS__);  \
        } else if (!atomic_load_explicit(&dg_unit_noted_, memory_order_relaxed)) {                 \
            atomic_store_explicit(&dg_unit_noted_, true, memory_order_relaxed);                    \
            _mark_point(__FILE__, __LINE__);                                                       \
        }                                                                                          \
    } while (0)

/* How often to repeat: `rounds`, or a twentieth of it where everything runs slowly (`make
 * check-valgrind` and `check-torture` set DRAGOMAN_SLOW). */
static inline int dg_unit_rounds(int rounds)
{
    return getenv("DRAGOMAN_SLOW") ? (rounds + 19) / 20 : rounds;
}

static inline int dg_unit_run(const char *name, const TTest *const *tests, size_t n_tests,
                              uint64_t density)
{
    const char *only = getenv("DRAGOMAN_TEST");
    const char *fail_alloc = getenv("DRAGOMAN_FAIL_ALLOC");
    struct dg_torture how = {.density = density};
    if (dg_torture_asked(fail_alloc, &how))
        return dg_torture_run(name, tests, n_tests, only, &how);
    if (fail_alloc && dg_torture_begin())
        dg_mem_fail_after(strtoull(fail_alloc, NULL, 10));
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, 120);
    for (size_t i = 0; i < n_tests; i++)
        if (!only || strcmp(only, tests[i]->name) == 0)
            tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The program's tests: DG_UNIT(first, second, ...). */
#define DG_UNIT(...) DG_UNIT_MAIN(DG_TORTURE_DENSE, __VA_ARGS__)

/* The same for tests that take a tenth of a second and more each: tortured less often. */
#define DG_UNIT_SLOW(...) DG_UNIT_MAIN(DG_TORTURE_SPARSE, __VA_ARGS__)

#define DG_UNIT_MAIN(density, ...)                                                                 \
    int main(void)                                                                                 \
    {                                                                                              \
        const TTest *const tests[] = {__VA_ARGS__};                                                \
        return dg_unit_run(__FILE__, tests, sizeof tests / sizeof *tests, density);                \
    }

#endif
