/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Detects loops. Neural models sometimes repeat a phrase until they are stopped; these functions
 * distinguish such a tail from repetition that a person would write.
 *
 *     struct dg_repetition tail = dg_repetition_tail(ids, n_ids);
 *                                                          "a b c b c b c": period 2, run 6
 *     if (dg_repetition_is_hopeless(&tail, allowance)) ...
 *
 * Pure functions over ids, a few hundred comparisons each. */
#ifndef DG_DECODE_REPETITION_H
#define DG_DECODE_REPETITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DG_REPETITION_PERIOD_MAX = 16, /* longest phrase whose repetition is recognised */
    DG_REPETITION_WINDOW = 256,    /* tokens at the end that are examined */
};

struct dg_repetition {
    int period; /* tokens of the phrase that repeats; 0: the tail does not repeat */
    int run;    /* tokens at the end that consist of this phrase, including its first occurrence */
};

/* Returns the longest repetition that the sequence ends with (at least two whole copies). */
struct dg_repetition dg_repetition_tail(const int32_t *ids, size_t n_ids);

/* Returns the repetition that a source justifies: the longest run within it. The translation of "ha
 * ha ha ha ha" may repeat itself as well. */
int dg_repetition_allowance(const int32_t *ids, size_t n_ids);

/* Returns true when the tail repeats itself far more than the source allows. */
bool dg_repetition_is_hopeless(const struct dg_repetition *tail, int allowance);

/* Returns how many tokens at the end must not be shown yet: everything after the second copy of a
 * phrase. Streaming holds them back until the loop is broken, because a repair would have to take
 * them back. */
size_t dg_repetition_held_back(const int32_t *ids, size_t n_ids);

#endif
