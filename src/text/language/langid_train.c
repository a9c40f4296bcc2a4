/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Training of the language identifier, in five steps:
 *
 *  1. Read the lines; find out which scripts each language writes (a script counts when it has a
 *     sixth of the language's letters). Each script is one group with its own classifier.
 *  2. For each group of two or more languages: number the hashed n-grams that occur in at least two
 *     lines.
 *  3. Fit a softmax over them by stochastic gradient descent (Adagrad, one rate per n-gram). Every
 *     visit to a line sees another part of it (the whole, a piece, a word or two), and a tenth of
 *     its n-grams is dropped. This makes short texts work.
 *  4. Keep the n-grams with the most weight (norm of the row times the root of the line frequency),
 *     as many as fit into the group's share of the file; fit again with only those. Add to each
 *     weight a share of how often the language's lines have the n-gram, as a logarithm: counts are
 *     more stable than weights that descent learns from a few lines. Round to bytes.
 *  5. Calibrate: with weights that never saw the held-out lines, fit one sharpness for each power
 *     of two of n-grams found, so that probabilities are right on short and on long text. Then
 *     repeat 3 and 4 with all lines, and write the result with this sharpness (unless
 *     keep_held_out). */
#include "text/language/langid_train.h"

#include "base/memory/mem.h"
#include "text/language/langid_model.h"
#include "text/language/langid_words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_FREQUENCY_MIN = 2,
    SCRIPTS = 256,
    IDS_MAX = DG_LANGID_LETTERS_MAX * (DG_LANGID_GRAM_MAX + 2),
    SPARE_LANES = DG_LANGID_LANES,
};

static const float COUNTS_SHARE = 0.6f;    /* of naive Bayes in a weight */
static const float COUNT_OF_UNSEEN = 0.5f; /* lines that count for an n-gram that no line has */

struct line {
    struct dg_span text;
    unsigned lang;
    bool held_out;
};

/* N-gram hash -> number, open addressing. */
struct vocab {
    uint32_t *hash; /* [cap]; meaningful where id >= 0 */
    int32_t *id;    /* [cap]; -1 where empty */
    size_t cap, n;
    uint32_t *lines;   /* [cap / 2]: line frequency by number */
    uint32_t *last;    /* [cap / 2]: the last line that was counted, plus one */
    uint32_t *hash_of; /* [cap / 2] */
};

/* The classifier of one script. */
struct group {
    int script;
    unsigned n_langs;
    uint8_t langs[DG_LANGID_GROUP_LANGS]; /* indices into corpus.tags */
    int8_t at[DG_LANGID_LANGS];           /* maps languages to their index in `langs`, or -1 */
    uint32_t n_rows;
    uint32_t bits;
    uint32_t *row_hash; /* [n_rows] */
    int8_t *rows;       /* [n_rows * n_langs] */
    float scale;
    float bias[DG_LANGID_GROUP_LANGS];
    float sharpness[DG_LANGID_SHARPNESS];
};

struct corpus {
    struct line *lines;
    size_t n_lines;
    char tags[DG_LANGID_LANGS][DG_LANGID_TAG];
    unsigned n_langs;
    uint64_t letters[DG_LANGID_LANGS][SCRIPTS];
    struct group groups[SCRIPTS];
    unsigned n_groups;
};

/* The data that the gradient descent of one group works on. */
struct fit {
    const struct corpus *corpus;
    const struct dg_langid_train_opts *opts;
    struct group *group;
    struct vocab vocab;
    float *weights;  /* [vocab.n * n_langs] */
    float *squares;  /* [vocab.n]: Adagrad's sums */
    bool *kept;      /* [vocab.n]; NULL while all are used */
    int32_t *ids;    /* [IDS_MAX]: n-grams of the line at hand */
    uint32_t *order; /* [n_lines] */
    size_t n_order;
    float bias[DG_LANGID_GROUP_LANGS];
    float bias_squares[DG_LANGID_GROUP_LANGS];
    uint64_t random;
    bool with_held_out; /* train on the held-out lines as well */
};

/* ---- Random numbers (splitmix64) ------------------------------------------------------------- */

static uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static size_t random_below(uint64_t *state, size_t n)
{
    return n ? (size_t)(random_next(state) % n) : 0;
}

static double random_unit(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * (1.0 / 9007199254740992.0);
}

/* ---- 1. Lines and scripts -------------------------------------------------------------------- */

static int find_tag(struct corpus *corpus, struct dg_span tag)
{
    for (unsigned i = 0; i < corpus->n_langs; i++)
        if (dg_span_eq(dg_span_cstr(corpus->tags[i]), tag))
            return (int)i;
    if (corpus->n_langs == DG_LANGID_LANGS)
        return -1;
    memcpy(corpus->tags[corpus->n_langs], tag.ptr, tag.len);
    return (int)corpus->n_langs++;
}

static enum dg_err add_line(struct corpus *corpus, struct dg_span line, struct dg_error *error)
{
    const char *tab = line.len ? memchr(line.ptr, '\t', line.len) : NULL;
    size_t tag_len = tab ? (size_t)(tab - line.ptr) : 0;
    if (!tab || tag_len == 0 || tag_len >= DG_LANGID_TAG)
        return dg_error_set(
            error, DG_ERR_FORMAT,
            "line %zu of the sentences is not \"tag<TAB>sentence\" with a tag of 1 to %d bytes",
            corpus->n_lines + 1, DG_LANGID_TAG - 1);
    int lang = find_tag(corpus, dg_span_make(line.ptr, tag_len));
    if (lang < 0)
        return dg_error_set(error, DG_ERR_LIMIT, "more than %d languages", DG_LANGID_LANGS);
    struct dg_span text = dg_span_sub(line, tag_len + 1, line.len);
    struct dg_langid_words words;
    dg_langid_words_start(&words, text);
    while (dg_langid_words_next(&words))
        if (words.script < SCRIPTS)
            corpus->letters[lang][words.script] += (uint64_t)words.len;
    corpus->lines[corpus->n_lines++] = (struct line){text, (unsigned)lang, false};
    return DG_OK;
}

static enum dg_err read_lines(struct corpus *corpus, struct dg_span tsv, struct dg_error *error)
{
    size_t n = 0;
    for (size_t i = 0; i < tsv.len; i++)
        n += tsv.ptr[i] == '\n';
    corpus->lines = dg_try_calloc(n + 1, sizeof *corpus->lines);
    if (!corpus->lines)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for %zu lines", n);
    size_t at = 0;
    while (at < tsv.len) {
        const char *end = memchr(tsv.ptr + at, '\n', tsv.len - at);
        size_t len = end ? (size_t)(end - tsv.ptr) - at : tsv.len - at;
        enum dg_err err = add_line(corpus, dg_span_make(tsv.ptr + at, len), error);
        if (err)
            return err;
        at += len + 1;
    }
    return DG_OK;
}

/* Marks the last `share` of each language's lines. */
static void hold_out(struct corpus *corpus, double share)
{
    size_t total[DG_LANGID_LANGS] = {0}, seen[DG_LANGID_LANGS] = {0};
    for (size_t i = 0; i < corpus->n_lines; i++)
        total[corpus->lines[i].lang]++;
    for (size_t i = 0; i < corpus->n_lines; i++) {
        unsigned lang = corpus->lines[i].lang;
        corpus->lines[i].held_out = (double)++seen[lang] > (1.0 - share) * (double)total[lang];
    }
}

static enum dg_err make_groups(struct corpus *corpus, struct dg_error *error)
{
    for (int script = 0; script < SCRIPTS; script++) {
        struct group *group = &corpus->groups[corpus->n_groups];
        memset(group->at, -1, sizeof group->at);
        for (unsigned lang = 0; lang < corpus->n_langs; lang++) {
            uint64_t all = 0;
            for (int s = 0; s < SCRIPTS; s++)
                all += corpus->letters[lang][s];
            if (corpus->letters[lang][script] * 6 < all || corpus->letters[lang][script] == 0)
                continue;
            if (group->n_langs == DG_LANGID_GROUP_LANGS)
                return dg_error_set(error, DG_ERR_LIMIT, "more than %d languages use one script",
                                    DG_LANGID_GROUP_LANGS);
            group->at[lang] = (int8_t)group->n_langs;
            group->langs[group->n_langs++] = (uint8_t)lang;
        }
        if (group->n_langs > 0) {
            group->script = script;
            corpus->n_groups++;
        }
    }
    return DG_OK;
}

/* ---- 2. N-grams ------------------------------------------------------------------------------ */

static enum dg_err vocab_init(struct vocab *vocab, size_t cap)
{
    *vocab = (struct vocab){.cap = cap};
    vocab->hash = dg_try_calloc(cap, sizeof *vocab->hash);
    vocab->id = dg_try_malloc(cap * sizeof *vocab->id);
    vocab->lines = dg_try_calloc(cap / 2, sizeof *vocab->lines);
    vocab->last = dg_try_calloc(cap / 2, sizeof *vocab->last);
    vocab->hash_of = dg_try_calloc(cap / 2, sizeof *vocab->hash_of);
    if (!vocab->hash || !vocab->id || !vocab->lines || !vocab->last || !vocab->hash_of)
        return DG_ERR_NOMEM;
    memset(vocab->id, 0xFF, cap * sizeof *vocab->id);
    return DG_OK;
}

static void vocab_deinit(struct vocab *vocab)
{
    dg_free(vocab->hash);
    dg_free(vocab->id);
    dg_free(vocab->lines);
    dg_free(vocab->last);
    dg_free(vocab->hash_of);
    *vocab = (struct vocab){0};
}

/* The n-gram's place: where it is, or the empty place where it belongs. */
static size_t vocab_find(const struct vocab *vocab, uint32_t hash)
{
    size_t at = hash & (vocab->cap - 1);
    while (vocab->id[at] >= 0 && vocab->hash[at] != hash)
        at = (at + 1) & (vocab->cap - 1);
    return at;
}

static void vocab_count(struct vocab *vocab, uint32_t hash, uint32_t line)
{
    size_t at = vocab_find(vocab, hash);
    if (vocab->id[at] < 0) {
        if (vocab->n >= vocab->cap / 2)
            return; /* the table is full: rarer n-grams of later lines are left out */
        vocab->hash[at] = hash;
        vocab->id[at] = (int32_t)vocab->n;
        vocab->hash_of[vocab->n++] = hash;
    }
    int32_t id = vocab->id[at];
    if (vocab->last[id] != line + 1) {
        vocab->last[id] = line + 1;
        vocab->lines[id]++;
    }
}

/* Drops n-grams that are too rare and numbers the rest anew. */
static void vocab_prune(struct vocab *vocab)
{
    size_t n = 0;
    memset(vocab->id, 0xFF, vocab->cap * sizeof *vocab->id);
    for (size_t i = 0; i < vocab->n; i++) {
        if (vocab->lines[i] < LINE_FREQUENCY_MIN)
            continue;
        size_t at = vocab_find(vocab, vocab->hash_of[i]);
        vocab->hash[at] = vocab->hash_of[i];
        vocab->id[at] = (int32_t)n;
        vocab->hash_of[n] = vocab->hash_of[i];
        vocab->lines[n++] = vocab->lines[i];
    }
    vocab->n = n;
}

static bool usable(const struct fit *fit, const struct line *line)
{
    return fit->group->at[line->lang] >= 0 && (fit->with_held_out || !line->held_out);
}

static enum dg_err build_vocab(struct fit *fit)
{
    enum dg_err err = vocab_init(&fit->vocab, (size_t)1 << 23);
    if (err)
        return err;
    const struct corpus *corpus = fit->corpus;
    for (size_t i = 0; i < corpus->n_lines; i++) {
        if (!usable(fit, &corpus->lines[i]))
            continue;
        fit->order[fit->n_order++] = (uint32_t)i;
        struct dg_langid_words words;
        dg_langid_words_start(&words, corpus->lines[i].text);
        while (dg_langid_words_next(&words))
            if (words.script == fit->group->script)
                DG_LANGID_GRAMS(&words, hash, { vocab_count(&fit->vocab, hash, (uint32_t)i); });
    }
    vocab_prune(&fit->vocab);
    return DG_OK;
}

/* ---- 3. Gradient descent --------------------------------------------------------------------- */

static bool is_lead(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

/* `len` characters from the character that starts at or after byte `from`. */
static struct dg_span cut_chars(struct dg_span text, size_t from, size_t len)
{
    while (from < text.len && !is_lead(text.ptr[from]))
        from++;
    size_t to = from, n = 0;
    while (to < text.len && (n < len || !is_lead(text.ptr[to])))
        n += is_lead(text.ptr[to++]);
    while (to < text.len && !is_lead(text.ptr[to]))
        to++;
    return dg_span_sub(text, from, to - from);
}

/* The part of a line that this visit sees: the whole, or `len` characters, mostly from a word's
 * start. */
static struct dg_span pick_part(struct dg_span text, uint64_t *random)
{
    double what = random_unit(random);
    if (what < 0.3)
        return text;
    size_t len = what < 0.4 ? 3 + random_below(random, 12) : 12 + random_below(random, 50);
    size_t from = what > 0.6 ? 0 : random_below(random, text.len > 12 ? text.len - 12 : 1);
    if (from > 0) {
        const char *space = memchr(text.ptr + from, ' ', text.len - from);
        if (space && (size_t)(space - text.ptr) + 8 < text.len)
            from = (size_t)(space - text.ptr) + 1;
    }
    return cut_chars(text, from, len);
}

/* Fills fit->ids with the known n-grams of the group's script; each is dropped with `dropout`. */
static size_t collect_ids(struct fit *fit, struct dg_span text, double dropout)
{
    size_t n = 0;
    uint64_t limit = (uint64_t)(dropout * 4294967296.0);
    struct dg_langid_words words;
    dg_langid_words_start(&words, text);
    while (dg_langid_words_next(&words)) {
        if (words.script != fit->group->script)
            continue;
        DG_LANGID_GRAMS(&words, hash, {
            int32_t id = fit->vocab.id[vocab_find(&fit->vocab, hash)];
            if (id >= 0 && n < IDS_MAX && (!fit->kept || fit->kept[id]) &&
                (limit == 0 || (random_next(&fit->random) & 0xFFFFFFFF) >= limit))
                fit->ids[n++] = id;
        });
    }
    return n;
}

static void softmax(float *z, unsigned n)
{
    float top = z[0], sum = 0;
    for (unsigned k = 1; k < n; k++)
        top = z[k] > top ? z[k] : top;
    for (unsigned k = 0; k < n; k++)
        sum += z[k] = expf(z[k] - top);
    for (unsigned k = 0; k < n; k++)
        z[k] /= sum;
}

static void scores(const struct fit *fit, size_t n_ids, float *z)
{
    unsigned n_langs = fit->group->n_langs;
    float factor = 1.0f / sqrtf((float)n_ids);
    memset(z, 0, n_langs * sizeof *z);
    for (size_t i = 0; i < n_ids; i++) {
        const float *row = fit->weights + (size_t)fit->ids[i] * n_langs;
        for (unsigned k = 0; k < n_langs; k++)
            z[k] += row[k];
    }
    for (unsigned k = 0; k < n_langs; k++)
        z[k] = fit->bias[k] + factor * z[k];
}

/* One step downhill for one text; returns its loss. */
static double learn(struct fit *fit, size_t n_ids, unsigned right, float rate)
{
    unsigned n_langs = fit->group->n_langs;
    float p[DG_LANGID_GROUP_LANGS];
    scores(fit, n_ids, p);
    softmax(p, n_langs);
    double loss = -log((double)p[right] + 1e-30);
    p[right] -= 1.0f;
    float factor = 1.0f / sqrtf((float)n_ids), norm = 0;
    for (unsigned k = 0; k < n_langs; k++) {
        norm += p[k] * p[k];
        fit->bias_squares[k] += p[k] * p[k];
        fit->bias[k] -= 0.1f * rate * p[k] / sqrtf(fit->bias_squares[k] + 1e-6f);
        p[k] *= factor;
    }
    norm *= factor * factor;
    for (size_t i = 0; i < n_ids; i++) {
        size_t id = (size_t)fit->ids[i];
        fit->squares[id] += norm;
        float step = rate / sqrtf(fit->squares[id] + 1e-6f);
        float *row = fit->weights + id * n_langs;
        for (unsigned k = 0; k < n_langs; k++)
            row[k] -= step * p[k];
    }
    return loss;
}

static void shuffle(uint32_t *items, size_t n, uint64_t *random)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = random_below(random, i);
        uint32_t other = items[k];
        items[k] = items[i - 1];
        items[i - 1] = other;
    }
}

static void descend(struct fit *fit, unsigned epochs, float rate)
{
    for (unsigned epoch = 0; epoch < epochs; epoch++) {
        double loss = 0;
        size_t n = 0;
        float now = rate * (1.0f - 0.9f * (float)epoch / (float)epochs);
        shuffle(fit->order, fit->n_order, &fit->random);
        for (size_t i = 0; i < fit->n_order; i++) {
            const struct line *line = &fit->corpus->lines[fit->order[i]];
            size_t n_ids = collect_ids(fit, pick_part(line->text, &fit->random), 0.1);
            if (n_ids == 0)
                continue;
            loss += learn(fit, n_ids, (unsigned)fit->group->at[line->lang], now);
            n++;
        }
        if (fit->opts->verbose)
            fprintf(stderr, "script %d: epoch %u, loss %.4f, %zu n-grams\n", fit->group->script,
                    epoch + 1, n ? loss / (double)n : 0.0, fit->vocab.n);
    }
}

/* ---- 4. Choosing, counts and rounding -------------------------------------------------------- */

/* Makes each row sum to zero: softmax gives the same result, and the bytes go to the differences
 * that matter. */
static void centre_rows(struct fit *fit)
{
    unsigned n_langs = fit->group->n_langs;
    for (size_t i = 0; i < fit->vocab.n; i++) {
        float mean = 0, *row = fit->weights + i * n_langs;
        for (unsigned k = 0; k < n_langs; k++)
            mean += row[k] / (float)n_langs;
        for (unsigned k = 0; k < n_langs; k++)
            row[k] -= mean;
    }
}

static int by_value_down(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* Marks the `n_rows` n-grams that carry most weight. */
static enum dg_err choose(struct fit *fit, size_t n_rows)
{
    unsigned n_langs = fit->group->n_langs;
    float *value = dg_try_malloc((fit->vocab.n + 1) * 2 * sizeof *value);
    fit->kept = dg_try_calloc(fit->vocab.n + 1, sizeof *fit->kept);
    if (!value || !fit->kept) {
        dg_free(value);
        return DG_ERR_NOMEM;
    }
    float *sorted = value + fit->vocab.n + 1;
    for (size_t i = 0; i < fit->vocab.n; i++) {
        float norm = 0;
        for (unsigned k = 0; k < n_langs; k++)
            norm += fit->weights[i * n_langs + k] * fit->weights[i * n_langs + k];
        sorted[i] = value[i] = sqrtf(norm * (float)fit->vocab.lines[i]);
    }
    qsort(sorted, fit->vocab.n, sizeof *sorted, by_value_down);
    size_t left = n_rows < fit->vocab.n ? n_rows : fit->vocab.n;
    float least = left ? sorted[left - 1] : 0;
    for (size_t i = 0; i < fit->vocab.n && left > 0; i++)
        if (value[i] >= least) {
            fit->kept[i] = true;
            left--;
        }
    dg_free(value);
    return DG_OK;
}

/* Adds COUNTS_SHARE of the logarithm of each language's share of lines that have the n-gram (naive
 * Bayes), seen as a difference from the mean of all languages. */
static enum dg_err add_counts(struct fit *fit)
{
    const unsigned n_langs = fit->group->n_langs;
    const size_t n = fit->vocab.n;
    float total[DG_LANGID_GROUP_LANGS] = {0};
    float *counts = dg_try_calloc(n * n_langs + 1, sizeof *counts);
    /* the line that was counted last, plus one */
    uint32_t *last = dg_try_calloc(n + 1, sizeof *last);
    if (!counts || !last) {
        dg_free(counts);
        dg_free(last);
        return DG_ERR_NOMEM;
    }
    for (size_t i = 0; i < fit->n_order; i++) {
        const struct line *line = &fit->corpus->lines[fit->order[i]];
        const unsigned lang = (unsigned)fit->group->at[line->lang];
        const size_t n_ids = collect_ids(fit, line->text, 0);
        for (size_t k = 0; k < n_ids; k++) {
            const size_t id = (size_t)fit->ids[k];
            if (last[id] == i + 1)
                continue;
            last[id] = (uint32_t)i + 1;
            counts[id * n_langs + lang] += 1.0f;
            total[lang] += 1.0f;
        }
    }
    for (size_t i = 0; i < n; i++) {
        float *row = counts + i * n_langs, mean = 0;
        for (unsigned k = 0; k < n_langs; k++) {
            row[k] = logf((row[k] + COUNT_OF_UNSEEN) / (total[k] + 1.0f));
            mean += row[k];
        }
        for (unsigned k = 0; k < n_langs; k++)
            fit->weights[i * n_langs + k] += COUNTS_SHARE * (row[k] - mean / (float)n_langs);
    }
    dg_free(counts);
    dg_free(last);
    return DG_OK;
}

/* Rounds the kept rows to bytes. The largest thousandth of the weights is clipped. */
static enum dg_err round_rows(struct fit *fit, size_t n_rows)
{
    struct group *group = fit->group;
    unsigned n_langs = group->n_langs;
    dg_free(group->row_hash);
    dg_free(group->rows);
    group->row_hash = dg_try_calloc(n_rows + 1, sizeof *group->row_hash);
    group->rows = dg_try_calloc(n_rows + 1, n_langs);
    float *sizes = dg_try_malloc((n_rows + 1) * n_langs * sizeof *sizes);
    if (!group->row_hash || !group->rows || !sizes) {
        dg_free(sizes);
        return DG_ERR_NOMEM;
    }
    size_t n = 0;
    for (size_t i = 0; i < fit->vocab.n && n < n_rows; i++) {
        if (!fit->kept[i])
            continue;
        group->row_hash[n] = fit->vocab.hash_of[i];
        for (unsigned k = 0; k < n_langs; k++)
            sizes[n * n_langs + k] = fabsf(fit->weights[i * n_langs + k]);
        n++;
    }
    qsort(sizes, n * n_langs, sizeof *sizes, by_value_down);
    float clip = n ? sizes[n * n_langs / 1000] : 1.0f;
    group->scale = clip > 0 ? clip / 127.0f : 1.0f;
    n = 0;
    for (size_t i = 0; i < fit->vocab.n && n < n_rows; i++) {
        if (!fit->kept[i])
            continue;
        for (unsigned k = 0; k < n_langs; k++) {
            float v = roundf(fit->weights[i * n_langs + k] / group->scale);
            v = v > 127 ? 127 : v < -127 ? -127 : v;
            group->rows[n * n_langs + k] = (int8_t)v;
            fit->weights[i * n_langs + k] = v * group->scale;
        }
        n++;
    }
    group->n_rows = (uint32_t)n;
    memcpy(group->bias, fit->bias, sizeof group->bias);
    dg_free(sizes);
    return DG_OK;
}

/* ---- 5. Calibration -------------------------------------------------------------------------- */

struct sample {
    float z[DG_LANGID_GROUP_LANGS];
    unsigned right;
    unsigned step;
};

static unsigned sharpness_step(size_t n_ids)
{
    unsigned step = 0;
    while (n_ids >>= 1)
        step++;
    return step < DG_LANGID_SHARPNESS ? step : DG_LANGID_SHARPNESS - 1;
}

static double loss_at(const struct sample *samples, size_t n, unsigned step, unsigned n_langs,
                      float sharpness, size_t *n_used)
{
    double loss = 0;
    *n_used = 0;
    for (size_t i = 0; i < n; i++) {
        if (samples[i].step != step)
            continue;
        float z[DG_LANGID_GROUP_LANGS];
        for (unsigned k = 0; k < n_langs; k++)
            z[k] = samples[i].z[k] * sharpness;
        softmax(z, n_langs);
        loss -= log((double)z[samples[i].right] + 1e-12);
        ++*n_used;
    }
    return loss;
}

/* For each step the sharpness with the least loss; steps with few samples take their
 * neighbour's. */
static void fit_sharpness(struct group *group, const struct sample *samples, size_t n)
{
    float last = 1.0f;
    for (unsigned step = 0; step < DG_LANGID_SHARPNESS; step++) {
        size_t n_used;
        double best_loss = 1e300;
        float best = last;
        for (float s = 0.1f; s < 12.0f; s *= 1.04f) {
            double loss = loss_at(samples, n, step, group->n_langs, s, &n_used);
            if (n_used < 50)
                break;
            if (loss < best_loss) {
                best_loss = loss;
                best = s;
            }
        }
        group->sharpness[step] = last = best;
    }
}

static enum dg_err calibrate(struct fit *fit)
{
    enum { VISITS = 6 };
    const struct corpus *corpus = fit->corpus;
    size_t n = 0;
    struct sample *samples = dg_try_calloc(corpus->n_lines * VISITS + 1, sizeof *samples);
    if (!samples)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < corpus->n_lines; i++) {
        const struct line *line = &corpus->lines[i];
        if (!line->held_out || fit->group->at[line->lang] < 0)
            continue;
        for (int visit = 0; visit < VISITS; visit++) {
            struct dg_span part = visit ? pick_part(line->text, &fit->random) : line->text;
            size_t n_ids = collect_ids(fit, part, 0);
            if (n_ids == 0)
                continue;
            scores(fit, n_ids, samples[n].z);
            samples[n].right = (unsigned)fit->group->at[line->lang];
            samples[n++].step = sharpness_step(n_ids);
        }
    }
    fit_sharpness(fit->group, samples, n);
    dg_free(samples);
    return DG_OK;
}

/* ---- One group ------------------------------------------------------------------------------- */

static enum dg_err train_group(const struct corpus *corpus, struct group *group, size_t n_rows,
                               bool with_held_out, const struct dg_langid_train_opts *opts)
{
    struct fit fit = {.corpus = corpus,
                      .opts = opts,
                      .group = group,
                      .with_held_out = with_held_out,
                      .random = opts->seed};
    fit.ids = dg_try_malloc(IDS_MAX * sizeof *fit.ids);
    fit.order = dg_try_malloc((corpus->n_lines + 1) * sizeof *fit.order);
    enum dg_err err = fit.ids && fit.order ? build_vocab(&fit) : DG_ERR_NOMEM;
    if (err)
        goto out;
    fit.weights = dg_try_calloc(fit.vocab.n * group->n_langs + 1, sizeof *fit.weights);
    fit.squares = dg_try_calloc(fit.vocab.n + 1, sizeof *fit.squares);
    if (!fit.weights || !fit.squares) {
        err = DG_ERR_NOMEM;
        goto out;
    }
    descend(&fit, opts->epochs, 0.5f);
    centre_rows(&fit);
    if ((err = choose(&fit, n_rows)))
        goto out;
    memset(fit.squares, 0, fit.vocab.n * sizeof *fit.squares);
    descend(&fit, opts->epochs_pruned, 0.2f);
    centre_rows(&fit);
    if ((err = add_counts(&fit)) || (err = round_rows(&fit, n_rows)))
        goto out;
    if (!with_held_out)
        err = calibrate(&fit);
out:
    vocab_deinit(&fit.vocab);
    dg_free(fit.weights);
    dg_free(fit.squares);
    dg_free(fit.kept);
    dg_free(fit.ids);
    dg_free(fit.order);
    return err;
}

/* ---- The file -------------------------------------------------------------------------------- */

static size_t slots_for(size_t n_rows, uint32_t *bits)
{
    *bits = 4;
    while (((size_t)1 << *bits) * 4 < n_rows * 5)
        ++*bits;
    return (size_t)1 << *bits;
}

/* Rows of a group: its share of the file, at most 52,000 so that numbers and load stay in bounds.
 */
static size_t rows_for(const struct corpus *corpus, const struct group *group, size_t size_max)
{
    double all = 0;
    for (unsigned i = 0; i < corpus->n_groups; i++)
        if (corpus->groups[i].n_langs > 1)
            all += pow(corpus->groups[i].n_langs, 1.25);
    double fixed = DG_LANGID_HEADER + corpus->n_langs * DG_LANGID_TAG +
                   corpus->n_groups * (DG_LANGID_GROUP_BYTES + SPARE_LANES + 8);
    double share = ((double)size_max - fixed) * pow(group->n_langs, 1.25) / all;
    size_t n_rows = 0;
    for (size_t n = 16; n <= 52000; n += 16) {
        uint32_t bits;
        if ((double)(slots_for(n, &bits) * 4 + n * group->n_langs) <= share)
            n_rows = n;
    }
    return n_rows;
}

static void put_u16(uint8_t *at, uint32_t v)
{
    at[0] = (uint8_t)v;
    at[1] = (uint8_t)(v >> 8);
}

static void put_u32(uint8_t *at, uint32_t v)
{
    put_u16(at, v & 0xFFFF);
    put_u16(at + 2, v >> 16);
}

static void put_f32(uint8_t *at, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    put_u32(at, bits);
}

static size_t align4(size_t n)
{
    return (n + 3) & ~(size_t)3;
}

static void write_table(uint8_t *table, const struct group *group)
{
    size_t mask = ((size_t)1 << group->bits) - 1;
    for (uint32_t i = 0; i < group->n_rows; i++) {
        size_t at = dg_langid_slot(group->row_hash[i], group->bits);
        while (table[4 * at + 2] || table[4 * at + 3])
            at = (at + 1) & mask;
        put_u16(table + 4 * at, dg_langid_fingerprint(group->row_hash[i]));
        put_u16(table + 4 * at + 2, i + 1);
    }
}

/* Writes one group's description at `desc` and its data at file + at; returns the next free offset.
 */
static size_t write_group(uint8_t *file, uint8_t *desc, size_t at, const struct group *group)
{
    put_u32(desc + DG_LANGID_AT_SCRIPT, (uint32_t)group->script);
    put_u32(desc + DG_LANGID_AT_N_LANGS, group->n_langs);
    put_u32(desc + DG_LANGID_AT_N_ROWS, group->n_rows);
    memcpy(desc + DG_LANGID_AT_LANGS, group->langs, group->n_langs);
    if (group->n_rows == 0)
        return at;
    put_u32(desc + DG_LANGID_AT_BITS, group->bits);
    put_u32(desc + DG_LANGID_AT_TABLE, (uint32_t)at);
    put_f32(desc + DG_LANGID_AT_SCALE, group->scale);
    for (unsigned k = 0; k < group->n_langs; k++)
        put_f32(desc + DG_LANGID_AT_BIAS + 4 * k, group->bias[k]);
    for (unsigned k = 0; k < DG_LANGID_SHARPNESS; k++)
        put_f32(desc + DG_LANGID_AT_SHARPNESS + 4 * k, group->sharpness[k]);
    write_table(file + at, group);
    at += (size_t)4 << group->bits;
    put_u32(desc + DG_LANGID_AT_ROWS, (uint32_t)at);
    memcpy(file + at, group->rows, (size_t)group->n_rows * group->n_langs);
    return align4(at + (size_t)group->n_rows * group->n_langs + SPARE_LANES);
}

static enum dg_err write_model(struct corpus *corpus, struct dg_buf *out)
{
    size_t at = align4(DG_LANGID_HEADER + corpus->n_langs * DG_LANGID_TAG);
    size_t desc = at, len = at += corpus->n_groups * DG_LANGID_GROUP_BYTES;
    for (unsigned i = 0; i < corpus->n_groups; i++) {
        struct group *group = &corpus->groups[i];
        if (group->n_rows)
            len += slots_for(group->n_rows, &group->bits) * 4 +
                   align4((size_t)group->n_rows * group->n_langs + SPARE_LANES) + 4;
    }
    uint8_t *file = dg_try_calloc(len, 1);
    if (!file)
        return DG_ERR_NOMEM;
    for (unsigned i = 0; i < corpus->n_langs; i++)
        memcpy(file + DG_LANGID_HEADER + i * DG_LANGID_TAG, corpus->tags[i], DG_LANGID_TAG);
    for (unsigned i = 0; i < corpus->n_groups; i++)
        at = write_group(file, file + desc + i * DG_LANGID_GROUP_BYTES, at, &corpus->groups[i]);
    memcpy(file, DG_LANGID_MAGIC, 16);
    put_u32(file + 16, corpus->n_langs);
    put_u32(file + 20, corpus->n_groups);
    put_u32(file + 24, (uint32_t)at);
    put_u32(file + 28, dg_langid_checksum(file + DG_LANGID_HEADER, at - DG_LANGID_HEADER));
    enum dg_err err = dg_buf_append(out, file, at);
    dg_free(file);
    return err;
}

/* ---- All ------------------------------------------------------------------------------------- */

static enum dg_err train_all(struct corpus *corpus, bool with_held_out,
                             const struct dg_langid_train_opts *opts)
{
    for (unsigned i = 0; i < corpus->n_groups; i++) {
        struct group *group = &corpus->groups[i];
        if (group->n_langs < 2)
            continue;
        size_t n_rows = rows_for(corpus, group, opts->size_max);
        enum dg_err err = train_group(corpus, group, n_rows, with_held_out, opts);
        if (err)
            return err;
    }
    return DG_OK;
}

enum dg_err dg_langid_train(struct dg_span tsv, const struct dg_langid_train_opts *opts,
                            struct dg_buf *out, struct dg_error *error)
{
    struct corpus *corpus = dg_try_calloc(1, sizeof *corpus);
    if (!corpus)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory to train a language model");
    enum dg_err err = read_lines(corpus, tsv, error);
    if (err)
        goto out;
    hold_out(corpus, opts->held_out);
    if ((err = make_groups(corpus, error)))
        goto out;
    err = train_all(corpus, false, opts);
    if (!err && !opts->keep_held_out)
        err = train_all(corpus, true, opts);
    if (!err)
        err = write_model(corpus, out);
    if (err)
        dg_error_set(error, err, "training on %zu lines: %s", corpus->n_lines,
                     dg_err_sentence(err));
out:
    for (unsigned i = 0; i < corpus->n_groups; i++) {
        dg_free(corpus->groups[i].row_hash);
        dg_free(corpus->groups[i].rows);
    }
    dg_free(corpus->lines);
    dg_free(corpus);
    return err;
}
