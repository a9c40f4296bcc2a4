/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Sides follow each other in one array; offsets say where each begins. */
#include "train/data/bitext.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "tokenize/spm/spm_encode.h"
#include "tokenize/target_ids.h"

#define IDS_MAX ((size_t)1 << 40)
enum { WORDS_MAX = INT32_MAX };

static enum dg_err end_side(struct dg_bitext *bitext)
{
    const uint64_t at = bitext->ids.len / sizeof(int32_t);
    return dg_buf_append(&bitext->offsets, &at, sizeof at);
}

enum dg_err dg_bitext_init(struct dg_bitext *bitext, const struct dg_tokenizer *tokenizer)
{
    *bitext = (struct dg_bitext){.tokenizer = tokenizer};
    dg_map_init(&bitext->words[0], WORDS_MAX);
    dg_map_init(&bitext->words[1], WORDS_MAX);
    dg_buf_init(&bitext->ids, IDS_MAX);
    dg_buf_init(&bitext->offsets, IDS_MAX);
    enum dg_err err = end_side(bitext);
    if (tokenizer && !err) {
        bitext->n_source = dg_tokenizer_source(tokenizer).size;
        bitext->n_target = dg_tokenizer_target(tokenizer).size;
        bitext->source_work = dg_tokenizer_work_new();
        bitext->target_work = dg_spm_work_new();
        err = bitext->source_work && bitext->target_work ? DG_OK : DG_ERR_NOMEM;
    }
    if (err)
        dg_bitext_deinit(bitext);
    return err;
}

void dg_bitext_deinit(struct dg_bitext *bitext)
{
    dg_tokenizer_work_free(bitext->source_work);
    dg_spm_work_free(bitext->target_work);
    dg_map_deinit(&bitext->words[0]);
    dg_map_deinit(&bitext->words[1]);
    dg_buf_deinit(&bitext->ids);
    dg_buf_deinit(&bitext->offsets);
    *bitext = (struct dg_bitext){.n = 0};
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static enum dg_err add_word(struct dg_bitext *bitext, struct dg_map *words, struct dg_span word)
{
    uint64_t number = words->len;
    if (!dg_map_get(words, word, &number)) {
        const enum dg_err err = dg_map_put(words, word, number);
        if (err)
            return err;
    }
    const int32_t id = (int32_t)number;
    return dg_buf_append(&bitext->ids, &id, sizeof id);
}

static enum dg_err add_words(struct dg_bitext *bitext, struct dg_map *words, struct dg_span text)
{
    enum dg_err err = DG_OK;
    for (size_t at = 0; at < text.len && !err;) {
        size_t end = at;
        while (end < text.len && !is_blank(text.ptr[end]))
            end++;
        if (end > at)
            err = add_word(bitext, words, dg_span_sub(text, at, end - at));
        at = end + 1;
    }
    return err;
}

static enum dg_err add_source_pieces(struct dg_bitext *bitext, struct dg_span text,
                                     struct dg_error *error)
{
    const struct dg_tokenizer_opts opts = {.add_eos = false};
    const struct dg_token *tokens;
    size_t n;
    enum dg_err err = dg_tokenizer_encode(bitext->tokenizer, bitext->source_work, text, &opts,
                                          error, &tokens, &n);
    for (size_t i = 0; i < n && !err; i++)
        err = dg_buf_append(&bitext->ids, &tokens[i].id, sizeof tokens[i].id);
    return err;
}

static enum dg_err add_target_pieces(struct dg_bitext *bitext, struct dg_span text)
{
    int32_t *ids;
    size_t n;
    enum dg_err err = dg_target_ids(bitext->tokenizer, bitext->target_work, text, &ids, &n);
    if (err)
        return err;
    if (n > 1) /* a sentence with more than its end token */
        err = dg_buf_append(&bitext->ids, ids, (n - 1) * sizeof *ids);
    dg_free(ids);
    return err;
}

enum dg_err dg_bitext_add(struct dg_bitext *bitext, struct dg_span source, struct dg_span target,
                          struct dg_error *error)
{
    const size_t n_ids = bitext->ids.len, n_offsets = bitext->offsets.len;
    const bool has_pieces = bitext->tokenizer != NULL;
    if (has_pieces && (!dg_utf8_valid(source, NULL) || !dg_utf8_valid(target, NULL)))
        return dg_error_set(error, DG_ERR_UTF8, "not valid UTF-8");
    enum dg_err err = has_pieces ? add_source_pieces(bitext, source, error)
                                 : add_words(bitext, &bitext->words[0], source);
    if (!err)
        err = end_side(bitext);
    if (!err)
        err = has_pieces ? add_target_pieces(bitext, target)
                         : add_words(bitext, &bitext->words[1], target);
    if (!err)
        err = end_side(bitext);
    if (err) {
        dg_buf_truncate(&bitext->ids, n_ids);
        dg_buf_truncate(&bitext->offsets, n_offsets);
        return err;
    }
    bitext->n++;
    if (!has_pieces) {
        bitext->n_source = bitext->words[0].len;
        bitext->n_target = bitext->words[1].len;
    }
    return DG_OK;
}

struct dg_example dg_bitext_get(const void *ctx, size_t i)
{
    const struct dg_bitext *bitext = ctx;
    const uint64_t *at = (const uint64_t *)(const void *)bitext->offsets.ptr + 2 * i;
    const int32_t *ids = (const int32_t *)(const void *)bitext->ids.ptr;
    return (struct dg_example){
        .source = ids + at[0],
        .target = ids + at[1],
        .n_source = (uint32_t)(at[1] - at[0]),
        .n_target = (uint32_t)(at[2] - at[1]),
    };
}
