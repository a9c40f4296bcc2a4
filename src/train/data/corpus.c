/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The ids are collected in memory first, because the file states their number before them. */
#include "train/data/corpus.h"
#include "base/file/file_out.h"
#include "base/memory/mem.h"
#include "model/labels.h"
#include "tokenize/spm/spm_encode.h"
#include "tokenize/target_ids.h"
#include "train/data/random.h"

#include <math.h>
#include <string.h>

static const char magic[8] = "dgpairs1";
enum { HEADER_BYTES = 8 + 8 + 8 };
#define FILE_MAX ((size_t)1 << 40)

/* ---- Writing --------------------------------------------------------------------------------- */

void dg_corpus_out_init(struct dg_corpus_out *out)
{
    *out = (struct dg_corpus_out){.stats = {.n_written = 0}};
    dg_buf_init(&out->ids, FILE_MAX);
    dg_buf_init(&out->offsets, FILE_MAX);
}

void dg_corpus_out_deinit(struct dg_corpus_out *out)
{
    dg_buf_deinit(&out->ids);
    dg_buf_deinit(&out->offsets);
}

enum dg_err dg_corpus_out_put(struct dg_corpus_out *out, const int32_t *source, size_t n_source,
                              const int32_t *target, size_t n_target)
{
    const uint64_t first = out->ids.len / sizeof(int32_t);
    const uint64_t offsets[2] = {first, first + n_source};
    enum dg_err err = dg_buf_append(&out->offsets, offsets, sizeof offsets);
    if (!err)
        err = dg_buf_append(&out->ids, source, n_source * sizeof *source);
    if (!err)
        err = dg_buf_append(&out->ids, target, n_target * sizeof *target);
    if (err)
        return err;
    out->stats.n_written++;
    out->stats.n_source_tokens += n_source;
    out->stats.n_target_tokens += n_target;
    return DG_OK;
}

enum dg_err dg_corpus_out_save(const struct dg_corpus_out *to, const char *path,
                               struct dg_error *error)
{
    const uint64_t counts[2] = {to->stats.n_written, to->ids.len / sizeof(int32_t)};
    struct dg_file_out *out;
    enum dg_err err = dg_file_out_open(&out, path, 0644, error);
    if (err)
        return err;
    err = dg_file_out_write(out, magic, sizeof magic, error);
    if (!err)
        err = dg_file_out_write(out, counts, sizeof counts, error);
    if (!err && to->stats.n_written)
        err = dg_file_out_write(out, to->offsets.ptr, to->offsets.len, error);
    if (!err)
        err = dg_file_out_write(out, &counts[1], sizeof counts[1], error);
    if (!err && to->ids.len)
        err = dg_file_out_write(out, to->ids.ptr, to->ids.len, error);
    return dg_file_out_close(out, err, error);
}

struct writer {
    const struct dg_tokenizer *tokenizer;
    const struct dg_labels *labels; /* NULL: targets are text */
    struct dg_tokenizer_work *source_work;
    struct dg_spm_work *target_work;
    size_t len_max;
    int32_t *source; /* owned */
    size_t source_cap;
    struct dg_corpus_out out;
};

static enum dg_err target_of(struct writer *w, struct dg_span text, int32_t **target,
                             size_t *n_target, struct dg_error *error)
{
    size_t number;
    if (!w->labels)
        return dg_target_ids(w->tokenizer, w->target_work, text, target, n_target);
    if (!dg_labels_find(w->labels, text, &number))
        return dg_error_set(error, DG_ERR_NOT_FOUND,
                            "the label \"%.*s\" is none of those that are learned",
                            DG_SPAN_FMT(text));
    *target = dg_try_malloc(sizeof **target);
    if (!*target)
        return DG_ERR_NOMEM;
    **target = (int32_t)number;
    *n_target = 1;
    return DG_OK;
}

/* The pair's ids, source and target. */
static enum dg_err put_ids(struct writer *w, const struct dg_token *tokens, size_t n_source,
                           const int32_t *target, size_t n_target)
{
    const int32_t unknown = dg_tokenizer_source(w->tokenizer).unk;
    if (n_source > w->source_cap) {
        int32_t *source = dg_try_realloc(w->source, n_source * sizeof *source);
        if (!source)
            return DG_ERR_NOMEM;
        w->source = source;
        w->source_cap = n_source;
    }
    for (size_t i = 0; i < n_source; i++) {
        w->source[i] = tokens[i].id;
        w->out.stats.n_unknown += tokens[i].id == unknown;
    }
    for (size_t i = 0; i < n_target; i++)
        w->out.stats.n_unknown += !w->labels && target[i] == unknown;
    return dg_corpus_out_put(&w->out, w->source, n_source, target, n_target);
}

static enum dg_err put_pair(struct writer *w, const struct dg_pair *pair, struct dg_error *error)
{
    const struct dg_tokenizer_opts opts = DG_TOKENIZER_OPTS_DEFAULT;
    const struct dg_token *tokens;
    size_t n_source, n_target;
    int32_t *target = NULL;
    enum dg_err err = dg_tokenizer_encode(w->tokenizer, w->source_work, pair->source, &opts, error,
                                          &tokens, &n_source);
    if (!err)
        err = target_of(w, pair->target, &target, &n_target, error);
    if (!err && w->labels && n_source > w->len_max)
        n_source = w->len_max; /* cut to the length that the classifier reads */
    if (!err && !w->labels &&
        (n_source > w->len_max || n_target > w->len_max || n_source < 2 || n_target < 2)) {
        w->out.stats.n_long++;
        dg_free(target);
        return DG_OK;
    }
    if (!err)
        err = put_ids(w, tokens, n_source, target, n_target);
    dg_free(target);
    return err;
}

enum dg_err dg_corpus_write(const char *path, const struct dg_tokenizer *tokenizer,
                            const struct dg_labels *labels, const struct dg_pair *pairs, size_t n,
                            size_t len_max, struct dg_corpus_stats *stats, struct dg_error *error)
{
    struct writer w = {.tokenizer = tokenizer, .labels = labels, .len_max = len_max};
    dg_corpus_out_init(&w.out);
    w.source_work = dg_tokenizer_work_new();
    w.target_work = dg_spm_work_new();
    enum dg_err err = w.source_work && w.target_work ? DG_OK : DG_ERR_NOMEM;
    for (size_t i = 0; i < n && !err; i++)
        for (uint32_t j = 0; j < pairs[i].repeat && !err; j++)
            err = put_pair(&w, &pairs[i], error);
    if (!err)
        err = dg_corpus_out_save(&w.out, path, error);
    if (!err)
        *stats = w.out.stats;
    dg_corpus_out_deinit(&w.out);
    dg_free(w.source);
    dg_tokenizer_work_free(w.source_work);
    dg_spm_work_free(w.target_work);
    return err;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static enum dg_err damaged(const char *path, const char *what, struct dg_error *error)
{
    return dg_error_set(error, DG_ERR_FORMAT, "%s: %s; start the training again in a new directory",
                        path, what);
}

static enum dg_err check_sentence(const int32_t *ids, uint64_t from, uint64_t to, uint64_t n_ids,
                                  size_t V)
{
    if (to <= from || to > n_ids || to - from > UINT32_MAX)
        return DG_ERR_FORMAT;
    for (uint64_t i = from; i < to; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= V)
            return DG_ERR_FORMAT;
    return DG_OK;
}

/* What a pooled head must predict for a text: a label, any number of labels in ascending order, or
 * the bits of a number. */
static bool are_labels(const int32_t *labels, uint64_t n, const struct dg_blueprint *bp)
{
    float number = 0.0f;
    if (bp->enc.rule != DG_LABELS_EACH && n != 1)
        return false;
    if (bp->enc.rule == DG_LABELS_NUMBER) {
        memcpy(&number, &labels[0], sizeof number);
        return isfinite(number) != 0;
    }
    for (uint64_t i = 0; i < n; i++)
        if (labels[i] < 0 || (size_t)labels[i] >= bp->decoder.V ||
            (i && labels[i] <= labels[i - 1]))
            return false;
    return true;
}

/* Checks what an encoder's head (pass.h) must predict for a source of `n` tokens. */
static enum dg_err check_said(const int32_t *target, uint64_t n_target, uint64_t n,
                              const struct dg_blueprint *bp)
{
    const int32_t second = n_target ? target[0] : -1;
    const uint64_t at = second > 0 ? (uint64_t)second + bp->enc.separators - 1 : 0;
    bool is_right = second >= 0 && (uint64_t)second < n;
    if (bp->enc.head == DG_HEAD_POOLED) {
        is_right = is_right && are_labels(target + 1, n_target - 1, bp);
    } else if (bp->enc.head == DG_HEAD_TOKENS) {
        is_right = is_right && n_target == n + 1;
        for (uint64_t i = 1; i < n_target && is_right; i++)
            is_right = target[i] >= DG_EXAMPLE_UNSAID &&
                       (target[i] < 0 || (size_t)target[i] < bp->decoder.V);
    } else if (bp->enc.head == DG_HEAD_SPANS) {
        is_right = is_right && n_target == 3 && second > 0 && at + 1 < n;
        if (is_right && (target[1] || target[2]))
            is_right = target[1] >= 0 && (uint64_t)target[1] >= at && target[1] <= target[2] &&
                       (uint64_t)target[2] + 1 < n;
    } else {
        is_right = is_right && n_target == 1;
    }
    return is_right ? DG_OK : DG_ERR_FORMAT;
}

static enum dg_err check_target(const struct dg_corpus *corpus, const uint64_t *at, uint64_t n_ids,
                                const struct dg_blueprint *bp)
{
    if (!dg_blueprint_family(bp)->has_head)
        return check_sentence(corpus->ids, at[1], at[2], n_ids, bp->decoder.V);
    if (at[2] <= at[1] || at[2] > n_ids || at[2] - at[1] > UINT32_MAX)
        return DG_ERR_FORMAT;
    return check_said(corpus->ids + at[1], at[2] - at[1], at[1] - at[0], bp);
}

static enum dg_err check_content(struct dg_corpus *corpus, uint64_t n_ids,
                                 const struct dg_blueprint *bp)
{
    const uint64_t *at = corpus->offsets;
    if (at[0] != 0)
        return DG_ERR_FORMAT;
    for (size_t i = 0; i < corpus->n; i++, at += 2) {
        if (check_sentence(corpus->ids, at[0], at[1], n_ids, bp->encoder.V) != DG_OK ||
            check_target(corpus, at, n_ids, bp) != DG_OK)
            return DG_ERR_FORMAT;
        corpus->n_source_tokens += at[1] - at[0];
        corpus->n_target_tokens += at[2] - at[1];
    }
    return DG_OK;
}

enum dg_err dg_corpus_open(struct dg_corpus *corpus, const char *path,
                           const struct dg_blueprint *bp, struct dg_error *error)
{
    struct dg_corpus opened = {0};
    uint64_t counts[2] = {0};
    enum dg_err err = dg_map_file_open(&opened.file, path, FILE_MAX, error);
    if (err)
        return err;
    const uint8_t *bytes = opened.file.bytes;
    const size_t len = opened.file.len;
    if (len < HEADER_BYTES + sizeof(uint64_t) || memcmp(bytes, magic, sizeof magic) != 0) {
        err = damaged(path, "not a file of prepared pairs", error);
    } else {
        memcpy(counts, bytes + sizeof magic, sizeof counts);
        /* Each count is checked against the length before it is multiplied. */
        if (counts[0] > len / 16 || counts[1] > len / 4 || counts[0] > UINT32_MAX ||
            HEADER_BYTES + (2 * counts[0] + 1) * 8 + counts[1] * 4 != len)
            err = damaged(path, "its length does not fit its counts", error);
    }
    if (!err) {
        opened.n = (size_t)counts[0];
        opened.offsets = (const uint64_t *)(const void *)(bytes + HEADER_BYTES);
        opened.ids = (const int32_t *)(const void *)(opened.offsets + 2 * opened.n + 1);
        if (check_content(&opened, counts[1], bp) != DG_OK)
            err = damaged(path, "it holds ids outside the vocabulary, or sentences without end",
                          error);
    }
    if (err)
        dg_map_file_close(&opened.file);
    else
        *corpus = opened;
    return err;
}

void dg_corpus_close(struct dg_corpus *corpus)
{
    if (corpus->file.bytes)
        dg_map_file_close(&corpus->file);
    if (corpus->links_file.bytes)
        dg_map_file_close(&corpus->links_file);
    *corpus = (struct dg_corpus){0};
}

/* ---- Links ----------------------------------------------------------------------------------- */

static const char links_magic[8] = "dglinks1";

/* Makes the links of all pairs, and the offsets at which each pair's links begin. */
static enum dg_err make_links(const struct dg_corpus *corpus, dg_corpus_links_fn make, void *ctx,
                              struct dg_buf *all, struct dg_buf *offsets)
{
    struct dg_word_links links;
    uint64_t n = 0;
    dg_word_links_init(&links);
    enum dg_err err = dg_buf_append(offsets, &n, sizeof n);
    for (size_t i = 0; i < corpus->n && !err; i++) {
        const struct dg_example example = dg_corpus_get(corpus, i);
        err = make(ctx, &example, &links);
        if (!err && links.n)
            err = dg_buf_append(all, links.list, links.n * sizeof *links.list);
        n += links.n;
        if (!err)
            err = dg_buf_append(offsets, &n, sizeof n);
    }
    dg_word_links_deinit(&links);
    return err;
}

enum dg_err dg_corpus_write_links(const char *path, const struct dg_corpus *corpus,
                                  dg_corpus_links_fn make, void *ctx, struct dg_error *error)
{
    struct dg_buf all, offsets;
    struct dg_file_out *out;
    dg_buf_init(&all, FILE_MAX);
    dg_buf_init(&offsets, FILE_MAX);
    enum dg_err err = make_links(corpus, make, ctx, &all, &offsets);
    const uint64_t counts[2] = {corpus->n, all.len / sizeof(struct dg_link)};
    if (!err)
        err = dg_file_out_open(&out, path, 0644, error);
    if (!err) {
        err = dg_file_out_write(out, links_magic, sizeof links_magic, error);
        if (!err)
            err = dg_file_out_write(out, counts, sizeof counts, error);
        if (!err)
            err = dg_file_out_write(out, offsets.ptr, offsets.len, error);
        if (!err && all.len)
            err = dg_file_out_write(out, all.ptr, all.len, error);
        err = dg_file_out_close(out, err, error);
    }
    dg_buf_deinit(&all);
    dg_buf_deinit(&offsets);
    return err;
}

/* Checks that the offsets ascend, that positions lie within the pair, and that links are ordered by
 * target. */
static enum dg_err check_links(const struct dg_corpus *corpus, const uint64_t *offsets,
                               const struct dg_link *links, uint64_t n_links)
{
    if (offsets[0] != 0 || offsets[corpus->n] != n_links)
        return DG_ERR_FORMAT;
    for (size_t i = 0; i < corpus->n; i++) {
        const struct dg_example e = dg_corpus_get(corpus, i);
        if (offsets[i + 1] < offsets[i] || offsets[i + 1] > n_links ||
            offsets[i + 1] - offsets[i] > UINT32_MAX)
            return DG_ERR_FORMAT;
        for (uint64_t j = offsets[i]; j < offsets[i + 1]; j++)
            if (links[j].source >= e.n_source || links[j].target >= e.n_target ||
                (j > offsets[i] && links[j].target < links[j - 1].target))
                return DG_ERR_FORMAT;
    }
    return DG_OK;
}

enum dg_err dg_corpus_open_links(struct dg_corpus *corpus, const char *path, struct dg_error *error)
{
    struct dg_map_file file;
    uint64_t counts[2] = {0};
    enum dg_err err = dg_map_file_open(&file, path, FILE_MAX, error);
    if (err)
        return err;
    if (file.len >= HEADER_BYTES)
        memcpy(counts, file.bytes + sizeof links_magic, sizeof counts);
    if (file.len < HEADER_BYTES + 8 || memcmp(file.bytes, links_magic, sizeof links_magic) != 0 ||
        counts[0] != corpus->n || counts[1] > file.len / sizeof(struct dg_link) ||
        HEADER_BYTES + (counts[0] + 1) * 8 + counts[1] * sizeof(struct dg_link) != file.len) {
        err = damaged(path, "it does not hold the links of these pairs", error);
    } else {
        const uint64_t *offsets = (const uint64_t *)(const void *)(file.bytes + HEADER_BYTES);
        const struct dg_link *links =
            (const struct dg_link *)(const void *)(offsets + corpus->n + 1);
        if (check_links(corpus, offsets, links, counts[1]) != DG_OK)
            err = damaged(path, "it links words that are not there", error);
        corpus->link_offsets = offsets;
        corpus->links = err ? NULL : links;
    }
    if (err)
        dg_map_file_close(&file);
    else
        corpus->links_file = file;
    return err;
}

/* ---- Order ----------------------------------------------------------------------------------- */

enum dg_err dg_order_init(struct dg_order *order, size_t n)
{
    uint32_t *at = n <= UINT32_MAX ? dg_try_calloc(n ? n : 1, sizeof *at) : NULL;
    if (!at)
        return DG_ERR_NOMEM;
    *order = (struct dg_order){.at = at, .n = n};
    return DG_OK;
}

void dg_order_deinit(struct dg_order *order)
{
    dg_free(order->at);
    *order = (struct dg_order){0};
}

void dg_order_shuffle(struct dg_order *order, uint64_t seed, uint64_t epoch)
{
    struct dg_random random = dg_random_make(seed, epoch);
    order->epoch = epoch;
    for (size_t i = 0; i < order->n; i++)
        order->at[i] = (uint32_t)i;
    for (size_t i = order->n; i > 1; i--) {
        const size_t j = dg_random_below(&random, i);
        const uint32_t kept = order->at[i - 1];
        order->at[i - 1] = order->at[j];
        order->at[j] = kept;
    }
}

size_t dg_order_batch(const struct dg_order *order, const struct dg_corpus *corpus, size_t first,
                      size_t tokens)
{
    size_t n = 0, source = 0, target = 0;
    for (; first + n < order->n; n++) {
        const struct dg_example example = dg_corpus_get(corpus, order->at[first + n]);
        source += example.n_source;
        target += example.n_target;
        if (n > 0 && (source > tokens || target > tokens))
            break;
    }
    return n;
}
