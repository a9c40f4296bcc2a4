/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "access/shared_keys.h"
#include "access/calendar.h"
#include "unit.h"

#include <stdio.h>

enum { NOW = 2000000000 }; /* seconds */

static const char secret[] = "a secret of at least thirty-two bytes";

/* The content of a key file: names with a limit each, created at that second. */
struct said {
    const char *name;
    int limit;
    uint64_t created_s;
};

static bool take(struct dg_shared_keys *keys, const struct said *said, size_t n, uint64_t now_s)
{
    struct dg_key_file file = {.is_none = n == 0};
    struct dg_error error = DG_ERROR_NONE;
    bool is_good = true;
    for (size_t i = 0; i < n && is_good; i++) {
        struct dg_key key;
        is_good = dg_key_init(&key) == DG_OK;
        if (!is_good)
            break;
        snprintf(key.name, sizeof key.name, "%s", said[i].name);
        memset(&key.hash, said[i].name[0] + said[i].limit % 7, sizeof key.hash);
        key.created_s = said[i].created_s;
        key.requests_per_minute = said[i].limit;
        if (dg_key_file_add(&file, &key, &error) != DG_OK) {
            dg_key_deinit(&key);
            is_good = false;
        }
    }
    is_good = is_good && dg_shared_keys_take_file(keys, &file, now_s * 1000, &error) == DG_OK;
    dg_key_file_deinit(&file);
    return is_good;
}

/* Passes what `from` publishes about a key to `to`; returns the verdict of `to`. */
static enum dg_shared_keys_verdict tell(const struct dg_shared_keys *from,
                                        struct dg_shared_keys *to, const char *name)
{
    struct dg_buf row;
    dg_buf_init(&row, 1 << 20);
    enum dg_shared_keys_verdict verdict = DG_SHARED_KEYS_FALSE;
    if (dg_shared_keys_print_row(from, dg_span_cstr(name), &row) == DG_OK)
        verdict = dg_shared_keys_take_row(to, dg_span_cstr(name), dg_buf_span(&row));
    dg_buf_deinit(&row);
    return verdict;
}

/* The limit of a valid key; -1 when the key is not valid. */
static int limit_of(const struct dg_shared_keys *keys, const char *name)
{
    struct dg_key_file file = {.n = 0};
    int limit = -1;
    if (dg_shared_keys_make(keys, &file) == DG_OK) {
        const struct dg_key *key = dg_key_file_find(&file, dg_span_cstr(name));
        limit = key ? (int)key->requests_per_minute : -1;
    }
    dg_key_file_deinit(&file);
    return limit;
}

static struct dg_shared_keys *make(void)
{
    return dg_shared_keys_new(dg_span_cstr(secret));
}

START_TEST(what_one_file_says_counts_at_all)
{
    struct dg_shared_keys *one = make(), *two = make();
    ck_assert(take(one, (struct said[]){{"alice", 1, 1000}}, 1, NOW));
    ck_assert_int_eq(tell(one, two, "alice"), DG_SHARED_KEYS_NEWER);
    ck_assert_int_eq(tell(one, two, "alice"), DG_SHARED_KEYS_SAME);
    ck_assert_int_eq(tell(two, one, "alice"), DG_SHARED_KEYS_SAME);
    ck_assert_int_eq(limit_of(two, "alice"), 1);
    ck_assert(take(one, (struct said[]){{"alice", 2, 1000}}, 1, NOW)); /* limited */
    ck_assert_int_eq(tell(two, one, "alice"), DG_SHARED_KEYS_OLDER);
    ck_assert_int_eq(tell(one, two, "alice"), DG_SHARED_KEYS_NEWER);
    ck_assert_int_eq(limit_of(two, "alice"), 2);
    ck_assert(take(one, NULL, 0, NOW)); /* revoked */
    ck_assert_int_eq(tell(one, two, "alice"), DG_SHARED_KEYS_NEWER);
    ck_assert_int_eq(limit_of(one, "alice"), -1);
    ck_assert_int_eq(limit_of(two, "alice"), -1);
    dg_shared_keys_free(one);
    dg_shared_keys_free(two);
}
END_TEST

START_TEST(a_revoked_key_does_not_come_back)
{
    struct dg_shared_keys *one = make(), *two = make(), *fresh = make();
    const struct said alice[] = {{"alice", 1, 1000}};
    ck_assert(take(one, alice, 1, NOW));
    ck_assert(take(two, alice, 1, NOW));
    ck_assert(take(one, NULL, 0, NOW));
    ck_assert_int_eq(tell(one, two, "alice"), DG_SHARED_KEYS_NEWER);
    ck_assert(take(two, alice, 1, NOW + 10)); /* its own file still has it */
    ck_assert_int_eq(limit_of(two, "alice"), -1);
    ck_assert(take(fresh, alice, 1, NOW + 20)); /* an old copy of the file, on a new server */
    ck_assert_int_eq(tell(fresh, two, "alice"), DG_SHARED_KEYS_OLDER);
    ck_assert_int_eq(tell(two, fresh, "alice"), DG_SHARED_KEYS_NEWER);
    ck_assert_int_eq(limit_of(fresh, "alice"), -1);
    ck_assert(take(one, (struct said[]){{"alice", 3, NOW + 30}}, 1, NOW + 30)); /* a new one */
    ck_assert_int_eq(tell(one, two, "alice"), DG_SHARED_KEYS_NEWER);
    ck_assert_int_eq(limit_of(two, "alice"), 3);
    dg_shared_keys_free(one);
    dg_shared_keys_free(two);
    dg_shared_keys_free(fresh);
}
END_TEST

START_TEST(a_change_is_later_than_what_was_known_whatever_the_clock_says)
{
    struct dg_shared_keys *one = make(), *two = make();
    ck_assert(take(one, (struct said[]){{"alice", 1, 1000}}, 1, NOW));
    ck_assert(take(one, (struct said[]){{"alice", 2, 1000}}, 1, NOW + 100000)); /* a wrong clock */
    ck_assert(take(two, (struct said[]){{"alice", 1, 1000}}, 1, NOW));
    ck_assert_int_eq(tell(one, two, "alice"), DG_SHARED_KEYS_NEWER);
    ck_assert(take(two, NULL, 0, NOW));
    ck_assert_int_eq(tell(two, one, "alice"), DG_SHARED_KEYS_NEWER);
    ck_assert_int_eq(limit_of(one, "alice"), -1);
    dg_shared_keys_free(one);
    dg_shared_keys_free(two);
}
END_TEST

START_TEST(rows_that_others_make_are_not_believed)
{
    struct dg_shared_keys *one = make(), *two = make(),
                          *stranger =
                              dg_shared_keys_new(DG_SPAN("another secret of the same length."));
    struct dg_buf row;
    dg_buf_init(&row, 1 << 20);
    ck_assert(take(stranger, (struct said[]){{"mallory", 1, 1000}}, 1, NOW));
    ck_assert_int_eq(tell(stranger, two, "mallory"), DG_SHARED_KEYS_FALSE);
    ck_assert(take(one, (struct said[]){{"alice", 1, 1000}}, 1, NOW));
    ck_assert_int_eq(dg_shared_keys_print_row(one, DG_SPAN("alice"), &row), DG_OK);
    /* for another name, cut short, changed anywhere */
    ck_assert_int_eq(dg_shared_keys_take_row(two, DG_SPAN("bob"), dg_buf_span(&row)),
                     DG_SHARED_KEYS_FALSE);
    for (size_t len = 0; len < row.len; len++)
        ck_assert_int_eq(dg_shared_keys_take_row(two, DG_SPAN("alice"), dg_span_make(row.ptr, len)),
                         DG_SHARED_KEYS_FALSE);
    for (size_t i = 0; i < row.len; i++) {
        row.ptr[i] ^= 1;
        ck_assert_int_eq(dg_shared_keys_take_row(two, DG_SPAN("alice"), dg_buf_span(&row)),
                         DG_SHARED_KEYS_FALSE);
        row.ptr[i] ^= 1;
    }
    ck_assert_int_eq(limit_of(two, "alice"), -1);
    ck_assert_int_eq(dg_shared_keys_take_row(two, DG_SPAN("alice"), dg_buf_span(&row)),
                     DG_SHARED_KEYS_NEWER);
    dg_buf_deinit(&row);
    dg_shared_keys_free(one);
    dg_shared_keys_free(two);
    dg_shared_keys_free(stranger);
}
END_TEST

START_TEST(what_is_saved_is_there_again)
{
    struct dg_shared_keys *one = make(), *two = make();
    struct dg_error error = DG_ERROR_NONE;
    struct dg_buf text;
    dg_buf_init(&text, 1 << 20);
    const struct said both[] = {{"alice", 1, 1000}, {"bob", 2, 1000}};
    ck_assert(take(one, both, 2, NOW));
    ck_assert(take(one, both + 1, 1, NOW)); /* alice is revoked */
    ck_assert_int_eq(dg_shared_keys_save(one, &text), DG_OK);
    ck_assert_int_eq(dg_shared_keys_load(two, dg_buf_span(&text), &error), DG_OK);
    ck_assert_int_eq(limit_of(two, "alice"), -1);
    ck_assert_int_eq(limit_of(two, "bob"), 2);
    ck_assert(take(two, both, 2, NOW + 1)); /* a backup of the file, with the old date */
    ck_assert_int_eq(limit_of(two, "alice"), -1);
    ck_assert(take(two, both, 1, NOW + 2)); /* bob was there before, so this revokes him */
    ck_assert_int_eq(limit_of(two, "bob"), -1);
    for (size_t len = 1; len < text.len; len += 7) {
        struct dg_shared_keys *cut = make();
        (void)!dg_shared_keys_load(cut, dg_span_make(text.ptr, len), &error);
        dg_shared_keys_free(cut);
    }
    dg_buf_deinit(&text);
    dg_shared_keys_free(one);
    dg_shared_keys_free(two);
}
END_TEST

START_TEST(an_emptied_file_revokes_nothing)
{
    struct dg_shared_keys *keys = make();
    struct dg_error error = DG_ERROR_NONE;
    ck_assert(take(keys, (struct said[]){{"alice", 1, 1000}}, 1, NOW));
    ck_assert_int_eq(
        dg_shared_keys_take_file(keys, &(struct dg_key_file){.n = 0}, NOW * 1000ull, &error),
        DG_ERR_INVALID);
    ck_assert_int_eq(limit_of(keys, "alice"), 1);
    dg_shared_keys_free(keys);
}
END_TEST

DG_UNIT(what_one_file_says_counts_at_all, a_revoked_key_does_not_come_back,
        a_change_is_later_than_what_was_known_whatever_the_clock_says,
        rows_that_others_make_are_not_believed, what_is_saved_is_there_again,
        an_emptied_file_revokes_nothing)
