/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/map.h"
#include "base/memory/mem.h"
#include "unit.h"

#include <stdio.h>

enum { N = 3000 };
static char names[N][8];

static struct dg_span name(int i)
{
    snprintf(names[i], sizeof names[i], "k%d", i);
    return dg_span_cstr(names[i]);
}

/* Random puts, gets and removes agree with a plain array. */
START_TEST(behaves_like_an_array_of_present_values)
{
    static uint64_t values[N];
    static bool present[N];
    struct dg_map map;
    dg_map_init(&map, N);
    size_t n_present = 0;
    uint64_t rng = 42;
    for (int step = 0; step < 200000; step++) {
        rng = rng * 6364136223846793005u + 1442695040888963407u;
        int i = (int)(rng >> 33) % N;
        uint64_t value = 0;
        switch (rng >> 62) {
        case 0:
        case 1:
            ck_assert_int_eq(dg_map_put(&map, name(i), (uint64_t)step), DG_OK);
            n_present += !present[i];
            present[i] = true;
            values[i] = (uint64_t)step;
            break;
        case 2:
            ck_assert(dg_map_get(&map, name(i), &value) == present[i]);
            if (present[i])
                ck_assert_uint_eq(value, values[i]);
            break;
        default:
            ck_assert(dg_map_remove(&map, name(i), &value) == present[i]);
            if (present[i])
                ck_assert_uint_eq(value, values[i]);
            n_present -= present[i];
            present[i] = false;
            break;
        }
        ck_assert_uint_eq(map.len, n_present);
    }
    size_t n_seen = 0;
    struct dg_span key;
    uint64_t value;
    for (size_t at = 0; dg_map_next(&map, &at, &key, &value); n_seen++) {
        long i = strtol(key.ptr + 1, NULL, 10);
        ck_assert(present[i] && values[i] == value);
    }
    ck_assert_uint_eq(n_seen, n_present);
    dg_map_deinit(&map);
}
END_TEST

START_TEST(takes_any_bytes_as_a_key)
{
    struct dg_map map;
    dg_map_init(&map, 10);
    ck_assert(!dg_map_get(&map, DG_SPAN(""), NULL));
    ck_assert_int_eq(dg_map_put(&map, DG_SPAN(""), 1), DG_OK);
    ck_assert_int_eq(dg_map_put(&map, DG_SPAN("\0"), 2), DG_OK);
    ck_assert_int_eq(dg_map_put(&map, DG_SPAN("\0\0"), 3), DG_OK);
    uint64_t value = 0;
    ck_assert(dg_map_get(&map, dg_span_make(NULL, 0), &value));
    ck_assert_uint_eq(value, 1);
    ck_assert(dg_map_get(&map, DG_SPAN("\0\0"), &value));
    ck_assert_uint_eq(value, 3);
    ck_assert_ptr_null(dg_map_get_ptr(&map, DG_SPAN("x")));
    ck_assert_int_eq(dg_map_put_ptr(&map, DG_SPAN("x"), &map), DG_OK);
    ck_assert_ptr_eq(dg_map_get_ptr(&map, DG_SPAN("x")), &map);
    dg_map_deinit(&map);
}
END_TEST

START_TEST(stops_at_its_maximum)
{
    struct dg_map map;
    dg_map_init(&map, 3);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(dg_map_put(&map, name(i), 0), DG_OK);
    ck_assert_int_eq(dg_map_put(&map, name(3), 0), DG_ERR_LIMIT);
    ck_assert_int_eq(dg_map_put(&map, name(2), 7), DG_OK);
    ck_assert_int_eq(dg_map_reserve(&map, 4), DG_ERR_LIMIT);
    ck_assert(dg_map_remove(&map, name(0), NULL));
    ck_assert_int_eq(dg_map_put(&map, name(3), 0), DG_OK);
    dg_map_deinit(&map);
}
END_TEST

START_TEST(stays_as_it_was_when_memory_is_gone)
{
    struct dg_map map;
    dg_map_init(&map, 1000);
    dg_mem_fail_after(1);
    ck_assert_int_eq(dg_map_put(&map, name(0), 0), DG_ERR_NOMEM);
    int n = 0;
    for (; n < 12; n++)
        ck_assert_int_eq(dg_map_put(&map, name(n), (uint64_t)n), DG_OK);
    dg_mem_fail_after(1);
    ck_assert_int_eq(dg_map_put(&map, name(n), 0), DG_ERR_NOMEM);
    ck_assert_uint_eq(map.len, 12);
    for (int i = 0; i < n; i++)
        ck_assert(dg_map_get(&map, name(i), NULL));
    ck_assert(!dg_map_get(&map, name(n), NULL));
    dg_mem_fail_after(0);
    dg_map_deinit(&map);
}
END_TEST

START_TEST(does_not_allocate_after_reserve)
{
    struct dg_map map;
    dg_map_init(&map, N);
    ck_assert_int_eq(dg_map_reserve(&map, N), DG_OK);
    uint64_t before = dg_mem_count();
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(dg_map_put(&map, name(i), 0), DG_OK);
    ck_assert_uint_eq(dg_mem_count(), before);
    dg_map_deinit(&map);
}
END_TEST

DG_UNIT(behaves_like_an_array_of_present_values, takes_any_bytes_as_a_key, stops_at_its_maximum,
        stays_as_it_was_when_memory_is_gone, does_not_allocate_after_reserve)
