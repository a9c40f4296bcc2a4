/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Edits a row of logits, in this order: suppression, minimum length, repetition penalty, n-gram
 * ban. */
#include "decode/rules.h"

#include <math.h>
#include <string.h>

long dg_columns_find(const struct dg_columns *columns, int32_t id)
{
    if (id < 0)
        return -1;
    if (!columns->ids)
        return (size_t)id < columns->n ? id : -1;
    size_t low = 0, high = columns->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (columns->ids[mid] < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < columns->n && columns->ids[low] == id ? (long)low : -1;
}

/* Returns the logit of a word; NULL if the row does not hold it. */
static float *logit_of(const struct dg_rules *rules, float *logits, int32_t id)
{
    const long column = dg_columns_find(&rules->columns, id);
    if (column < 0 || (size_t)column < rules->first || (rules->end && (size_t)column >= rules->end))
        return NULL;
    return logits + ((size_t)column - rules->first);
}

static void forbid(const struct dg_rules *rules, float *logits, int32_t id)
{
    float *logit = logit_of(rules, logits, id);
    if (logit)
        *logit = -INFINITY;
}

/* Divides the positive and multiplies the negative scores of every earlier word, once each (Keskar
 * et al., 2019). A word that occurred before in `said` was handled already. */
static void penalise(const struct dg_rules *rules, const int32_t *said, size_t n_said,
                     float *logits)
{
    for (size_t i = 0; i < n_said; i++) {
        bool was_seen = false;
        for (size_t k = 0; k < i && !was_seen; k++)
            was_seen = said[k] == said[i];
        float *logit = was_seen ? NULL : logit_of(rules, logits, said[i]);
        if (logit)
            *logit = *logit > 0 ? *logit / rules->opts->repetition_penalty
                                : *logit * rules->opts->repetition_penalty;
    }
}

/* Forbids every word that would repeat a sequence of n words. */
static void ban_ngrams(const struct dg_rules *rules, const int32_t *said, size_t n_said,
                       float *logits)
{
    size_t n = (size_t)rules->no_repeat_ngram;
    if (n_said < n)
        return;
    const int32_t *recent = said + n_said - (n - 1);
    for (size_t i = 0; i + n <= n_said; i++)
        if (memcmp(said + i, recent, (n - 1) * sizeof *said) == 0)
            forbid(rules, logits, said[i + n - 1]);
}

void dg_rules_apply(const struct dg_rules *rules, const int32_t *said, size_t n_said, float *logits)
{
    const struct dg_search_opts *opts = rules->opts;
    for (size_t i = 0; i < rules->n_never; i++)
        forbid(rules, logits, rules->never[i]);
    if (opts->suppress_unk)
        forbid(rules, logits, rules->unk_id);
    for (size_t i = 0; i < opts->n_suppress; i++)
        forbid(rules, logits, opts->suppress[i]);
    if (rules->forbid_end || n_said < (size_t)opts->min_len)
        forbid(rules, logits, rules->eos_id);
    if (opts->repetition_penalty > 1.0f)
        penalise(rules, said, n_said, logits);
    if (rules->no_repeat_ngram > 0)
        ban_ngrams(rules, said, n_said, logits);
}
