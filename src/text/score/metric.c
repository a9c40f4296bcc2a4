/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* BLEU and chrF. An n-gram is counted as a 64-bit hash of its tokens; the clipped matches of two
 * texts are the intersection of their sorted hashes. (A chance collision among the few thousand
 * n-grams of a sentence pair has odds of about one in 10^12.) */
#include "text/score/metric.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 24 }; /* bytes of one sentence that a metric takes */

struct hashes {
    uint64_t *values; /* owned */
    size_t n, cap;
};

struct dg_metric {
    struct dg_buf lowered, split;
    struct hashes hyp, ref; /* hashes of n-grams */
    struct hashes hyp_units, ref_units;
};

struct dg_metric *dg_metric_new(void)
{
    struct dg_metric *metric = dg_try_calloc(1, sizeof *metric);
    if (!metric)
        return NULL;
    dg_buf_init(&metric->lowered, TEXT_MAX);
    dg_buf_init(&metric->split, TEXT_MAX);
    return metric;
}

void dg_metric_free(struct dg_metric *metric)
{
    if (!metric)
        return;
    dg_buf_deinit(&metric->lowered);
    dg_buf_deinit(&metric->split);
    dg_free(metric->hyp.values);
    dg_free(metric->ref.values);
    dg_free(metric->hyp_units.values);
    dg_free(metric->ref_units.values);
    dg_free(metric);
}

/* ---- N-grams --------------------------------------------------------------------------------- */

static enum dg_err push(struct hashes *list, uint64_t value)
{
    if (DG_GROW(list->values, list->n, list->cap, 256))
        return DG_ERR_NOMEM;
    list->values[list->n++] = value;
    return DG_OK;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9FB21C651E98DF25u;
    h ^= h >> 29;
    h *= 0xD6E8FEB86659FD93u;
    return h ^ h >> 32;
}

static uint64_t hash_bytes(struct dg_span bytes)
{
    uint64_t h = bytes.len + 1;
    for (size_t i = 0; i < bytes.len; i++)
        h = mix(h, (unsigned char)bytes.ptr[i] + 1u);
    return h;
}

/* All n-grams of `units`, sorted. */
static enum dg_err make_ngrams(const struct hashes *units, size_t n, struct hashes *out)
{
    out->n = 0;
    for (size_t i = 0; i + n <= units->n; i++) {
        uint64_t h = n;
        for (size_t k = 0; k < n; k++)
            h = mix(h, units->values[i + k]);
        enum dg_err err = push(out, h);
        if (err)
            return err;
    }
    return DG_OK;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void sort(struct hashes *list)
{
    if (list->n > 1)
        qsort(list->values, list->n, sizeof *list->values, compare);
}

/* Size of the intersection, each n-gram counted as often as both have it. */
static size_t count_common(const struct hashes *a, const struct hashes *b)
{
    size_t n = 0;
    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        if (a->values[i] == b->values[k])
            n++, i++, k++;
        else if (a->values[i] < b->values[k])
            i++;
        else
            k++;
    }
    return n;
}

/* N-grams of both texts, and how many they share. */
static enum dg_err match(struct dg_metric *metric, size_t n, uint64_t *n_hyp, uint64_t *n_ref,
                         uint64_t *n_match)
{
    enum dg_err err = make_ngrams(&metric->hyp_units, n, &metric->hyp);
    if (!err)
        err = make_ngrams(&metric->ref_units, n, &metric->ref);
    if (err)
        return err;
    sort(&metric->hyp);
    sort(&metric->ref);
    *n_hyp = metric->hyp.n;
    *n_ref = metric->ref.n;
    *n_match = count_common(&metric->hyp, &metric->ref);
    return DG_OK;
}

/* ---- BLEU ------------------------------------------------------------------------------------ */

static enum dg_err cut_words(struct dg_metric *metric, const struct dg_bleu_opts *opts,
                             struct dg_span text, struct hashes *units)
{
    enum dg_err err = DG_OK;
    if (opts->lowercase) {
        err = dg_metric_lower(text, &metric->lowered);
        text = dg_buf_span(&metric->lowered);
    }
    if (!err)
        err = dg_metric_split(opts->split, text, &metric->split);
    units->n = 0;
    struct dg_span word;
    for (size_t at = 0; !err && dg_metric_next_word(dg_buf_span(&metric->split), &at, &word);)
        err = push(units, hash_bytes(word));
    return err;
}

enum dg_err dg_bleu_count(struct dg_metric *metric, const struct dg_bleu_opts *opts,
                          struct dg_span hypothesis, struct dg_span reference,
                          struct dg_bleu_stats *stats)
{
    struct dg_bleu_stats made = {0};
    enum dg_err err = cut_words(metric, opts, hypothesis, &metric->hyp_units);
    if (!err)
        err = cut_words(metric, opts, reference, &metric->ref_units);
    made.hyp_len = metric->hyp_units.n;
    made.ref_len = metric->ref_units.n;
    for (size_t n = 1; !err && n <= DG_BLEU_ORDER; n++) {
        uint64_t n_ref;
        err = match(metric, n, &made.total[n - 1], &n_ref, &made.correct[n - 1]);
    }
    if (!err)
        *stats = made;
    return err;
}

void dg_bleu_add(struct dg_bleu_stats *sum, const struct dg_bleu_stats *one)
{
    for (int i = 0; i < DG_BLEU_ORDER; i++) {
        sum->correct[i] += one->correct[i];
        sum->total[i] += one->total[i];
    }
    sum->hyp_len += one->hyp_len;
    sum->ref_len += one->ref_len;
}

static double smooth_value(const struct dg_bleu_opts *opts)
{
    if (opts->smooth_value >= 0)
        return opts->smooth_value;
    return opts->smooth == DG_SMOOTH_FLOOR ? 0.1 : 1.0;
}

struct dg_bleu dg_bleu_score(const struct dg_bleu_stats *stats, const struct dg_bleu_opts *opts,
                             bool effective_order)
{
    struct dg_bleu bleu = {.brevity_penalty = 1};
    if (stats->hyp_len < stats->ref_len)
        bleu.brevity_penalty =
            stats->hyp_len ? exp(1.0 - (double)stats->ref_len / (double)stats->hyp_len) : 0;
    uint64_t n_correct = 0;
    for (int i = 0; i < DG_BLEU_ORDER; i++)
        n_correct += stats->correct[i];
    if (n_correct == 0)
        return bleu;
    double share = 1, log_sum = 0;
    int order = DG_BLEU_ORDER;
    for (int i = 0; i < DG_BLEU_ORDER; i++) {
        double correct = (double)stats->correct[i], total = (double)stats->total[i];
        if (opts->smooth == DG_SMOOTH_ADD_K && i > 0) {
            correct += smooth_value(opts);
            total += smooth_value(opts);
        }
        if (total == 0)
            break;
        if (effective_order)
            order = i + 1;
        if (correct > 0)
            bleu.precisions[i] = 100 * correct / total;
        else if (opts->smooth == DG_SMOOTH_EXP)
            bleu.precisions[i] = 100 / ((share *= 2) * total);
        else if (opts->smooth == DG_SMOOTH_FLOOR)
            bleu.precisions[i] = 100 * smooth_value(opts) / total;
    }
    for (int i = 0; i < order; i++) {
        if (bleu.precisions[i] <= 0)
            return bleu;
        log_sum += log(bleu.precisions[i]);
    }
    bleu.score = bleu.brevity_penalty * exp(log_sum / order);
    return bleu;
}

enum dg_err dg_bleu_signature(const struct dg_bleu_opts *opts, bool effective_order,
                              struct dg_buf *out)
{
    static const char *const names[] = {"exp", "floor", "add-k", "none"};
    enum dg_err err = dg_buf_printf(
        out, "nrefs:1|case:%s|eff:%s|tok:%s|smooth:%s", opts->lowercase ? "lc" : "mixed",
        effective_order ? "yes" : "no", dg_split_name(opts->split), names[opts->smooth]);
    if (!err && (opts->smooth == DG_SMOOTH_FLOOR || opts->smooth == DG_SMOOTH_ADD_K))
        err = dg_buf_printf(out, "[%.2f]", smooth_value(opts));
    return err ? err : dg_buf_append_cstr(out, "|version:2.6.0");
}

/* ---- chrF ------------------------------------------------------------------------------------ */

static enum dg_err cut_characters(struct dg_span text, struct hashes *units)
{
    units->n = 0;
    uint32_t cp;
    size_t len;
    for (size_t at = 0; (len = dg_metric_char(text, at, &cp)); at += len) {
        enum dg_err err = dg_metric_is_space(cp) ? DG_OK : push(units, (uint64_t)cp + 1);
        if (err)
            return err;
    }
    return DG_OK;
}

static bool is_ascii_punctuation(char c)
{
    return c && strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c) != NULL;
}

/* Cuts text into words, and sets one punctuation mark at their end, or else at their beginning,
 * apart. */
static enum dg_err cut_chrf_words(struct dg_span text, struct hashes *units)
{
    units->n = 0;
    struct dg_span word;
    enum dg_err err = DG_OK;
    for (size_t at = 0; !err && dg_metric_next_word(text, &at, &word);) {
        uint32_t cp;
        size_t cut = 0;
        if (dg_metric_char(word, 0, &cp) < word.len) {
            if (is_ascii_punctuation(word.ptr[word.len - 1]))
                cut = word.len - 1;
            else if (is_ascii_punctuation(word.ptr[0]))
                cut = 1;
        }
        if (cut)
            err = push(units, hash_bytes(dg_span_sub(word, 0, cut)));
        if (!err)
            err = push(units, hash_bytes(dg_span_sub(word, cut, word.len)));
    }
    return err;
}

enum dg_err dg_chrf_count(struct dg_metric *metric, int word_order, struct dg_span hypothesis,
                          struct dg_span reference, struct dg_chrf_stats *stats)
{
    struct dg_chrf_stats made = {0};
    enum dg_err err = DG_OK;
    for (int i = 0; !err && i < DG_CHRF_CHARS + word_order; i++) {
        if (i == 0 || i == DG_CHRF_CHARS) {
            enum dg_err (*cut)(struct dg_span, struct hashes *) =
                i == 0 ? cut_characters : cut_chrf_words;
            err = cut(hypothesis, &metric->hyp_units);
            if (!err)
                err = cut(reference, &metric->ref_units);
        }
        size_t n = (size_t)(i < DG_CHRF_CHARS ? i + 1 : i - DG_CHRF_CHARS + 1);
        if (!err)
            err = match(metric, n, &made.hyp[i], &made.ref[i], &made.match[i]);
        if (made.ref[i] == 0)
            made.hyp[i] = 0; /* an order for which the reference is too short does not count */
    }
    if (!err)
        *stats = made;
    return err;
}

void dg_chrf_add(struct dg_chrf_stats *sum, const struct dg_chrf_stats *one)
{
    for (int i = 0; i < DG_CHRF_CHARS + DG_CHRF_WORDS_MAX; i++) {
        sum->hyp[i] += one->hyp[i];
        sum->ref[i] += one->ref[i];
        sum->match[i] += one->match[i];
    }
}

double dg_chrf_score(const struct dg_chrf_stats *stats, int word_order)
{
    const double beta2 = 4;
    double precision = 0, recall = 0;
    int n_orders = 0;
    for (int i = 0; i < DG_CHRF_CHARS + word_order; i++) {
        if (stats->hyp[i] == 0 || stats->ref[i] == 0)
            continue;
        precision += (double)stats->match[i] / (double)stats->hyp[i];
        recall += (double)stats->match[i] / (double)stats->ref[i];
        n_orders++;
    }
    if (n_orders == 0 || precision + recall == 0)
        return 0;
    precision /= n_orders;
    recall /= n_orders;
    return 100 * (1 + beta2) * precision * recall / (beta2 * precision + recall);
}

enum dg_err dg_chrf_signature(int word_order, struct dg_buf *out)
{
    return dg_buf_printf(out, "nrefs:1|case:mixed|eff:yes|nc:6|nw:%d|space:no|version:2.6.0",
                         word_order);
}
