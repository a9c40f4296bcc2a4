/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A table of one direction is a hash from (given word, other word) to a probability and a count,
 * with open addressing. It is filled with the pairs of words that occur together in sentence pairs.
 * Each iteration then computes expected counts from the last probabilities, and new probabilities
 * from the counts, with the digamma function for the prior (variational Bayes). The empty word, for
 * words that translate nothing, has the number n_given. */
#include "train/data/aligner.h"
#include "base/memory/mem.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { TENSION_STEPS = 8, SLOTS_MIN = 1 << 12 };
static const double tension_min = 0.1, tension_max = 14.0, unseen = 1e-9;

struct slot {
    uint64_t key; /* 0: the slot is empty; otherwise the two words plus one */
    float probability, count;
};

struct table {
    struct slot *slots; /* [n_slots] a power of two */
    size_t n_slots, n_slots_max;
    size_t n_used, n_forgotten;
    double *totals;     /* [n_given + 1] */
    uint32_t *n_others; /* [n_given + 1] entries of a given word */
    size_t n_given;     /* number of words; the next number stands for the empty word */
    size_t n_other;
    double tension, perplexity;
    bool is_fresh; /* before the first iteration all translations are equally likely */
};

struct dg_aligner {
    struct dg_aligner_pairs pairs;
    struct dg_aligner_opts opts;
    struct table tables[2]; /* target given source, and source given target */
    uint32_t *sizes; /* [LEN_MAX + 1][LEN_MAX + 1] pairs of this many source and target words */
    int32_t best[2][DG_ALIGNER_LEN_MAX];
};

/* ---- The table ------------------------------------------------------------------------------- */

static uint64_t key_of(size_t given, size_t other)
{
    return ((uint64_t)given << 32 | (uint64_t)other) + 1;
}

static size_t place_of(const struct table *table, uint64_t key)
{
    uint64_t x = key;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (size_t)(x ^ (x >> 31)) & (table->n_slots - 1);
}

/* Returns the slot of a key, or the empty slot in which it would be put. */
static struct slot *find(const struct table *table, uint64_t key)
{
    size_t at = place_of(table, key);
    while (table->slots[at].key && table->slots[at].key != key)
        at = (at + 1) & (table->n_slots - 1);
    return &table->slots[at];
}

/* Moves the entries that have more than `least` counts into `n_slots` new slots. */
static enum dg_err rebuild(struct table *table, size_t n_slots, float least)
{
    struct slot *old = table->slots;
    const size_t n_old = table->n_slots, n_used = table->n_used;
    struct slot *slots = dg_try_calloc(n_slots, sizeof *slots);
    if (!slots)
        return DG_ERR_NOMEM;
    table->slots = slots;
    table->n_slots = n_slots;
    table->n_used = 0;
    for (size_t i = 0; i < n_old; i++)
        if (old[i].key && old[i].count > least) {
            *find(table, old[i].key) = old[i];
            table->n_used++;
        }
    table->n_forgotten += n_used - table->n_used;
    dg_free(old);
    return DG_OK;
}

/* Makes room for one more entry: doubles the table or, when it may not grow any further, forgets
 * the rarest entries until half of it is free. */
static enum dg_err make_room(struct table *table)
{
    if (table->n_used * 10 < table->n_slots * 7)
        return DG_OK;
    if (table->n_slots * 2 <= table->n_slots_max)
        return rebuild(table, table->n_slots * 2, 0.0f);
    float least = 1.0f;
    enum dg_err err = rebuild(table, table->n_slots, least);
    while (!err && table->n_used * 2 > table->n_slots)
        err = rebuild(table, table->n_slots, least *= 2.0f);
    return err;
}

static enum dg_err see(struct table *table, size_t given, size_t other)
{
    enum dg_err err = make_room(table);
    if (err)
        return err;
    struct slot *slot = find(table, key_of(given, other));
    if (!slot->key) {
        slot->key = key_of(given, other);
        table->n_used++;
    }
    slot->count += 1.0f;
    return DG_OK;
}

static double probability(const struct table *table, size_t given, size_t other)
{
    const struct slot *slot = find(table, key_of(given, other));
    return !slot->key        ? 0.0
           : table->is_fresh ? 1.0 / (double)table->n_other
                             : (double)slot->probability;
}

/* ---- Learning -------------------------------------------------------------------------------- */

/* psi(x), x > 0: raises x with the recurrence, then uses the asymptotic series. */
static double digamma(double x)
{
    double result = 0.0;
    for (; x < 7.0; x += 1.0)
        result -= 1.0 / x;
    const double y = 1.0 / (x * x);
    return result + log(x) - 0.5 / x -
           y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y / 240.0)));
}

/* Returns how far apart two words are in their relative positions in their sentences. */
static double distance(size_t i, size_t n_i, size_t j, size_t n_j)
{
    return fabs(((double)i + 1.0) / (double)n_i - ((double)j + 1.0) / (double)n_j);
}

/* weights[j] becomes the prior probability that word i of the other sentence translates given word
 * j; the weights add up to 1 - p0. */
static void prior(const struct dg_aligner *a, const struct table *table, size_t i, size_t n_other,
                  size_t n_given, double *weights)
{
    double sum = 0.0;
    for (size_t j = 0; j < n_given; j++)
        sum += weights[j] = exp(-table->tension * distance(i, n_other, j, n_given));
    for (size_t j = 0; j < n_given; j++)
        weights[j] *= (1.0 - a->opts.p0) / sum;
}

struct sides {
    const int32_t *given, *other;
    size_t n_given, n_other;
};

static bool sides_of(const struct dg_aligner *a, unsigned direction, const struct dg_example *e,
                     struct sides *sides)
{
    (void)a;
    if (e->n_source < 1 || e->n_target < 1 || e->n_source > DG_ALIGNER_LEN_MAX ||
        e->n_target > DG_ALIGNER_LEN_MAX)
        return false;
    *sides = direction == 0 ? (struct sides){e->source, e->target, e->n_source, e->n_target}
                            : (struct sides){e->target, e->source, e->n_target, e->n_source};
    return true;
}

static bool is_stopped(const struct dg_aligner *a)
{
    return a->opts.stop && *a->opts.stop;
}

/* Adds all pairs of words that occur together. */
static enum dg_err fill(struct dg_aligner *a, unsigned direction)
{
    struct table *table = &a->tables[direction];
    enum dg_err err = DG_OK;
    for (size_t n = 0; n < a->pairs.n && !err; n++) {
        const struct dg_example example = a->pairs.get(a->pairs.ctx, n);
        struct sides s;
        if (is_stopped(a))
            return DG_ERR_CANCELLED;
        if (!sides_of(a, direction, &example, &s))
            continue;
        for (size_t i = 0; i < s.n_other && !err; i++) {
            err = see(table, table->n_given, (size_t)s.other[i]);
            for (size_t j = 0; j < s.n_given && !err; j++)
                err = see(table, (size_t)s.given[j], (size_t)s.other[i]);
        }
    }
    for (size_t i = 0; i < table->n_slots; i++)
        table->slots[i].count = 0.0f;
    return err;
}

struct expected {
    double log_likelihood, distance;
    uint64_t n; /* occurrences of the other word */
};

/* Computes the expected counts of a word; those of its pairs of words are added to the table. */
static void count_word(struct dg_aligner *a, struct table *table, const struct sides *s, size_t i,
                       struct expected *sum)
{
    double weights[DG_ALIGNER_LEN_MAX];
    struct slot *slots[DG_ALIGNER_LEN_MAX + 1];
    const size_t other = (size_t)s->other[i], n = s->n_given;
    const double even = 1.0 / (double)table->n_other;
    prior(a, table, i, s->n_other, n, weights);
    double total = 0.0;
    for (size_t j = 0; j < n; j++) {
        slots[j] = find(table, key_of((size_t)s->given[j], other));
        weights[j] *= !slots[j]->key    ? unseen
                      : table->is_fresh ? even
                                        : (double)slots[j]->probability;
        total += weights[j];
    }
    slots[n] = find(table, key_of(table->n_given, other));
    const double none = a->opts.p0 * (!slots[n]->key    ? unseen
                                      : table->is_fresh ? even
                                                        : (double)slots[n]->probability);
    total += none;
    if (!(total > 0.0))
        return;
    for (size_t j = 0; j < n; j++) {
        const double share = weights[j] / total;
        if (slots[j]->key)
            slots[j]->count += (float)share;
        sum->distance += share * distance(i, s->n_other, j, n);
    }
    if (slots[n]->key)
        slots[n]->count += (float)(none / total);
    sum->log_likelihood += log(total);
    sum->n++;
}

static enum dg_err expect(struct dg_aligner *a, unsigned direction, struct expected *sum)
{
    struct table *table = &a->tables[direction];
    *sum = (struct expected){.n = 0};
    for (size_t n = 0; n < a->pairs.n; n++) {
        const struct dg_example example = a->pairs.get(a->pairs.ctx, n);
        struct sides s;
        if (is_stopped(a))
            return DG_ERR_CANCELLED;
        if (!sides_of(a, direction, &example, &s))
            continue;
        for (size_t i = 0; i < s.n_other; i++)
            count_word(a, table, &s, i, sum);
    }
    return DG_OK;
}

static void maximise(const struct dg_aligner *a, struct table *table)
{
    memset(table->totals, 0, (table->n_given + 1) * sizeof *table->totals);
    memset(table->n_others, 0, (table->n_given + 1) * sizeof *table->n_others);
    for (size_t i = 0; i < table->n_slots; i++) {
        const struct slot *slot = &table->slots[i];
        if (!slot->key)
            continue;
        const size_t given = (size_t)((slot->key - 1) >> 32);
        table->totals[given] += (double)slot->count;
        table->n_others[given]++;
    }
    for (size_t given = 0; given <= table->n_given; given++)
        if (table->n_others[given])
            table->totals[given] =
                digamma(table->totals[given] + a->opts.alpha * table->n_others[given]);
    for (size_t i = 0; i < table->n_slots; i++) {
        struct slot *slot = &table->slots[i];
        if (!slot->key)
            continue;
        slot->probability = (float)exp(digamma((double)slot->count + a->opts.alpha) -
                                       table->totals[(size_t)((slot->key - 1) >> 32)]);
        slot->count = 0.0f;
    }
    table->is_fresh = false;
}

/* Returns the mean distance that the prior expects without the translation table. */
static double expected_distance(const struct dg_aligner *a, const struct table *table,
                                unsigned direction, uint64_t n)
{
    double all = 0.0;
    for (size_t S = 1; S <= DG_ALIGNER_LEN_MAX; S++)
        for (size_t T = 1; T <= DG_ALIGNER_LEN_MAX; T++) {
            const uint32_t times = a->sizes[S * (DG_ALIGNER_LEN_MAX + 1) + T];
            const size_t n_given = direction == 0 ? S : T, n_other = direction == 0 ? T : S;
            double here = 0.0;
            for (size_t i = 0; times && i < n_other; i++) {
                double sum = 0.0, weighted = 0.0;
                for (size_t j = 0; j < n_given; j++) {
                    const double d = distance(i, n_other, j, n_given), w = exp(-table->tension * d);
                    sum += w;
                    weighted += w * d;
                }
                here += weighted / sum;
            }
            all += here * times;
        }
    return all / (double)n;
}

/* Moves the tension towards the value at which the prior expects the mean distance that was
 * counted, by a few steps along the gradient. */
static void adjust_tension(const struct dg_aligner *a, struct table *table, unsigned direction,
                           const struct expected *sum)
{
    const double counted = sum->distance / (double)sum->n;
    for (int step = 0; step < TENSION_STEPS; step++) {
        table->tension += 20.0 * (expected_distance(a, table, direction, sum->n) - counted);
        table->tension = fmin(fmax(table->tension, tension_min), tension_max);
    }
}

struct direction {
    struct dg_aligner *aligner;
    unsigned number;
    enum dg_err err;
};

static enum dg_err learn(struct dg_aligner *a, unsigned direction)
{
    struct table *table = &a->tables[direction];
    enum dg_err err = fill(a, direction);
    for (unsigned i = 0; i < a->opts.iterations && !err; i++) {
        struct expected sum;
        err = expect(a, direction, &sum);
        if (err || sum.n == 0)
            break;
        table->perplexity = exp(-sum.log_likelihood / (double)sum.n);
        if (i > 0 && !a->opts.fixed_tension && a->opts.tension > 0.0)
            adjust_tension(a, table, direction, &sum);
        maximise(a, table);
        if (direction == 0 && a->opts.progress)
            a->opts.progress(a->opts.progress_ctx, i + 1, table->perplexity);
    }
    return err;
}

static void *learn_thread(void *arg)
{
    struct direction *direction = arg;
    direction->err = learn(direction->aligner, direction->number);
    return NULL;
}

/* ---- Making and freeing ---------------------------------------------------------------------- */

static enum dg_err table_init(struct table *table, size_t n_given, size_t n_other,
                              const struct dg_aligner_opts *opts)
{
    size_t most = SLOTS_MIN;
    /* the table takes half as much again while it grows */
    while (most * 2 * sizeof(struct slot) * 3 / 2 <= opts->memory / 2)
        most *= 2;
    *table = (struct table){.n_slots = SLOTS_MIN,
                            .n_slots_max = most,
                            .n_given = n_given,
                            .n_other = n_other,
                            .tension = opts->tension,
                            .is_fresh = true};
    table->slots = dg_try_calloc(table->n_slots, sizeof *table->slots);
    table->totals = dg_try_calloc(n_given + 1, sizeof *table->totals);
    table->n_others = dg_try_calloc(n_given + 1, sizeof *table->n_others);
    return table->slots && table->totals && table->n_others ? DG_OK : DG_ERR_NOMEM;
}

static void count_sizes(struct dg_aligner *a)
{
    for (size_t n = 0; n < a->pairs.n; n++) {
        const struct dg_example e = a->pairs.get(a->pairs.ctx, n);
        struct sides s;
        if (sides_of(a, 0, &e, &s))
            a->sizes[s.n_given * (DG_ALIGNER_LEN_MAX + 1) + s.n_other]++;
    }
}

static enum dg_err learn_both(struct dg_aligner *a)
{
    struct direction directions[2] = {{a, 0, DG_OK}, {a, 1, DG_OK}};
    pthread_t thread;
    const bool is_alone = pthread_create(&thread, NULL, learn_thread, &directions[1]) != 0;
    (void)learn_thread(&directions[0]);
    if (is_alone)
        (void)learn_thread(&directions[1]);
    else
        pthread_join(thread, NULL);
    return directions[0].err ? directions[0].err : directions[1].err;
}

enum dg_err dg_aligner_new(struct dg_aligner **aligner, const struct dg_aligner_pairs *pairs,
                           const struct dg_aligner_opts *opts, struct dg_error *error)
{
    if (pairs->n_source >= UINT32_MAX || pairs->n_target >= UINT32_MAX || pairs->n_source < 1 ||
        pairs->n_target < 1)
        return dg_error_set(error, DG_ERR_RANGE,
                            "vocabularies of %zu and %zu words cannot be aligned", pairs->n_source,
                            pairs->n_target);
    struct dg_aligner *a = dg_try_calloc(1, sizeof *a);
    if (!a)
        return DG_ERR_NOMEM;
    a->pairs = *pairs;
    a->opts = *opts;
    a->sizes = dg_try_calloc((DG_ALIGNER_LEN_MAX + 1) * (DG_ALIGNER_LEN_MAX + 1), sizeof *a->sizes);
    enum dg_err err = a->sizes ? DG_OK : DG_ERR_NOMEM;
    if (!err)
        err = table_init(&a->tables[0], pairs->n_source, pairs->n_target, opts);
    if (!err)
        err = table_init(&a->tables[1], pairs->n_target, pairs->n_source, opts);
    if (!err) {
        count_sizes(a);
        err = learn_both(a);
    }
    if (err) {
        dg_aligner_free(a);
        return err == DG_ERR_NOMEM
                   ? dg_error_set(error, err,
                                  "not enough memory to align; allow less with --memory")
                   : err;
    }
    *aligner = a;
    return DG_OK;
}

void dg_aligner_free(struct dg_aligner *a)
{
    if (!a)
        return;
    for (unsigned i = 0; i < 2; i++) {
        dg_free(a->tables[i].slots);
        dg_free(a->tables[i].totals);
        dg_free(a->tables[i].n_others);
    }
    dg_free(a->sizes);
    dg_free(a);
}

/* ---- Results --------------------------------------------------------------------------------- */

/* Finds, for each word of the other sentence, the given word that it most probably translates; -1:
 * none. Of two words that are equally probable otherwise, the one nearer to the diagonal has the
 * greater prior; of two that are equally near, the first is taken. */
static void best_of(const struct dg_aligner *a, unsigned direction, const struct sides *s,
                    int32_t *best)
{
    const struct table *table = &a->tables[direction];
    double weights[DG_ALIGNER_LEN_MAX];
    for (size_t i = 0; i < s->n_other; i++) {
        const size_t other = (size_t)s->other[i];
        prior(a, table, i, s->n_other, s->n_given, weights);
        double most = a->opts.p0 * probability(table, table->n_given, other);
        best[i] = -1;
        for (size_t j = 0; j < s->n_given; j++) {
            const double p = weights[j] * probability(table, (size_t)s->given[j], other);
            if (p > most) {
                most = p;
                best[i] = (int32_t)j;
            }
        }
    }
}

enum dg_err dg_aligner_links(struct dg_aligner *a, const struct dg_example *example,
                             enum dg_symmetrise how, struct dg_word_links *links)
{
    struct sides forward, backward;
    links->n = 0;
    if (!sides_of(a, 0, example, &forward) || !sides_of(a, 1, example, &backward))
        return DG_OK;
    best_of(a, 0, &forward, a->best[0]);
    best_of(a, 1, &backward, a->best[1]);
    return dg_word_links_symmetrise(links, a->best[0], example->n_target, a->best[1],
                                    example->n_source, how);
}

double dg_aligner_probability(const struct dg_aligner *a, int32_t source, int32_t target)
{
    return probability(&a->tables[0], (size_t)source, (size_t)target);
}

void dg_aligner_visit(const struct dg_aligner *a,
                      void (*fn)(void *ctx, uint32_t source, uint32_t target, double p), void *ctx)
{
    const struct table *table = &a->tables[0];
    for (size_t i = 0; i < table->n_slots; i++) {
        const uint64_t key = table->slots[i].key - 1;
        if (table->slots[i].key && key >> 32 < table->n_given)
            fn(ctx, (uint32_t)(key >> 32), (uint32_t)key, (double)table->slots[i].probability);
    }
}

struct dg_aligner_report dg_aligner_report(const struct dg_aligner *a, unsigned direction)
{
    const struct table *table = &a->tables[direction];
    return (struct dg_aligner_report){table->tension, table->perplexity, table->n_used,
                                      table->n_forgotten};
}
