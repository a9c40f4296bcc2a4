/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The phrases are sorted by their bytes. To find those that a text begins with, take the last
 * phrase that does not sort after the text: only it and its parents (the phrases that it begins
 * with) can match, and the length that it shares with the text decides which of them do. */
#include "text/terms/phrase_set.h"
#include "base/memory/mem.h"

#include <stdlib.h>
#include <string.h>

enum { PHRASES_MAX = 0x7FFFFFFF };

static int compare(struct dg_span a, struct dg_span b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_items(const void *a, const void *b)
{
    return compare(*(const struct dg_span *)a, *(const struct dg_span *)b);
}

/* Sorts what was put into `items`, drops duplicates and finds parents. */
static void settle(struct dg_phrase_set *set)
{
    size_t to = 0;
    if (set->n)
        qsort(set->items, set->n, sizeof *set->items, compare_items);
    for (size_t i = 0; i < set->n; i++) {
        if (to && dg_span_eq(set->items[to - 1], set->items[i]))
            continue;
        uint32_t parent = (uint32_t)to; /* 1 + the index of the phrase before it */
        set->items[to] = set->items[i];
        while (parent && !dg_span_starts(set->items[to], set->items[parent - 1]))
            parent = set->parents[parent - 1];
        set->parents[to++] = parent;
    }
    set->n = to;
}

static enum dg_err make_room(struct dg_phrase_set *set, size_t n)
{
    *set = (struct dg_phrase_set){.n = 0};
    if (n > PHRASES_MAX)
        return DG_ERR_LIMIT;
    set->items = dg_try_calloc(n + 1, sizeof *set->items);
    set->parents = dg_try_calloc(n + 1, sizeof *set->parents);
    if (set->items && set->parents)
        return DG_OK;
    dg_phrase_set_deinit(set);
    return DG_ERR_NOMEM;
}

enum dg_err dg_phrase_set_init(struct dg_phrase_set *set, const struct dg_span *phrases, size_t n)
{
    enum dg_err err = make_room(set, n);
    if (err)
        return err;
    for (size_t i = 0; i < n; i++)
        if (phrases[i].len)
            set->items[set->n++] = phrases[i];
    settle(set);
    return DG_OK;
}

static bool is_separator(char c)
{
    return c == ' ' || c == ',' || c == '\t' || c == '\n' || c == '\r';
}

/* The next word of a list at or after *at; empty at its end. */
static struct dg_span next_word(struct dg_span list, size_t *at)
{
    while (*at < list.len && is_separator(list.ptr[*at]))
        ++*at;
    size_t from = *at;
    while (*at < list.len && !is_separator(list.ptr[*at]))
        ++*at;
    return dg_span_sub(list, from, *at - from);
}

enum dg_err dg_phrase_set_init_list(struct dg_phrase_set *set, struct dg_span list)
{
    size_t n = 0, at = 0;
    while (next_word(list, &at).len)
        n++;
    enum dg_err err = make_room(set, n);
    if (err)
        return err;
    for (at = 0; set->n < n; set->n++)
        set->items[set->n] = next_word(list, &at);
    settle(set);
    return DG_OK;
}

void dg_phrase_set_deinit(struct dg_phrase_set *set)
{
    dg_free(set->items);
    dg_free(set->parents);
    *set = (struct dg_phrase_set){.n = 0};
}

/* How many phrases do not sort after the text; a longer phrase that begins with the text does. */
static size_t place_of(const struct dg_phrase_set *set, struct dg_span text)
{
    size_t low = 0, high = set->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct dg_span phrase = set->items[middle];
        if (compare(phrase, dg_span_sub(text, 0, phrase.len)) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t dg_phrase_set_longest(const struct dg_phrase_set *set, struct dg_span text, size_t at)
{
    struct dg_span rest = dg_span_sub(text, at, text.len);
    size_t place = set->n ? place_of(set, rest) : 0, shared = 0;
    if (place == 0)
        return 0;
    struct dg_span phrase = set->items[place - 1];
    while (shared < phrase.len && shared < rest.len && phrase.ptr[shared] == rest.ptr[shared])
        shared++;
    while (place && set->items[place - 1].len > shared)
        place = set->parents[place - 1];
    return place ? set->items[place - 1].len : 0;
}

bool dg_phrase_set_has(const struct dg_phrase_set *set, struct dg_span phrase)
{
    size_t place = phrase.len && set->n ? place_of(set, phrase) : 0;
    return place > 0 && dg_span_eq(set->items[place - 1], phrase);
}
