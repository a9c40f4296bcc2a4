/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Finds all strings in a list that a text begins with, and no others. */
#include "base/memory/mem.h"
#include "tokenize/spm/prefixes.h"
#include "unit.h"

static const char *const words[] = {"a",   "ab",       "abc", "b",   "",
                                    "abd", "\xC3\xA9", "ac",  "zzz", "ab"};
enum { N = sizeof words / sizeof *words };

static void make(struct dg_prefixes *list, struct dg_span *texts, size_t n)
{
    uint32_t *order = dg_xcalloc(n + 1, sizeof *order);
    for (uint32_t i = 0; i < n; i++) {
        texts[i] = dg_span_cstr(words[i]);
        order[i] = i;
    }
    ck_assert_int_eq(dg_prefixes_init(list, texts, order, n), DG_OK);
}

static size_t found(const struct dg_prefixes *list, const char *text, uint32_t *last)
{
    struct dg_prefixes_walk walk = dg_prefixes_start(list);
    size_t n = dg_prefixes_here(list, &walk, last);
    for (; *text && dg_prefixes_step(list, &walk, (uint8_t)*text); text++)
        n += dg_prefixes_here(list, &walk, last);
    return n;
}

START_TEST(strings_that_begin_a_text_are_found_shortest_first)
{
    struct dg_prefixes list;
    struct dg_span texts[N];
    uint32_t last = 0;
    make(&list, texts, N);
    ck_assert_uint_eq(found(&list, "abcd", &last), 4); /* "", a, ab, abc */
    ck_assert_uint_eq(last, 2);
    ck_assert_uint_eq(found(&list, "\xC3\xA9x", &last), 2);
    ck_assert_uint_eq(last, 6);
    ck_assert_uint_eq(found(&list, "zz", &last), 1);
    ck_assert_uint_eq(last, 4);
    ck_assert_uint_eq(found(&list, "\xFF", &last), 1);
    dg_prefixes_deinit(&list);
}
END_TEST

START_TEST(a_walk_that_is_over_stays_so)
{
    struct dg_prefixes list;
    struct dg_span texts[N];
    uint32_t which;
    make(&list, texts, N);
    struct dg_prefixes_walk walk = dg_prefixes_start(&list);
    ck_assert(!dg_prefixes_step(&list, &walk, 'q'));
    ck_assert(!dg_prefixes_here(&list, &walk, &which));
    ck_assert(!dg_prefixes_step(&list, &walk, 'a'));
    dg_prefixes_deinit(&list);
    make(&list, texts, 0);
    walk = dg_prefixes_start(&list);
    ck_assert(!dg_prefixes_here(&list, &walk, &which));
    ck_assert(!dg_prefixes_step(&list, &walk, 'a'));
    dg_prefixes_deinit(&list);
}
END_TEST

DG_UNIT(strings_that_begin_a_text_are_found_shortest_first, a_walk_that_is_over_stays_so)
