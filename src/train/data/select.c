/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Words are separated by spaces in the normalised text. */
#include "train/data/select.h"
#include "tokenize/spm/normalise.h"
#include "vocabulary/charsmap_build.h"

enum { CHARSMAP_MAX = 8 << 20 };

struct select {
    const struct dg_select_opts *opts;
    struct dg_normaliser normaliser;
    struct dg_normal_text text;
};

/* Normalises a side: single spaces between words, and none at the ends. Borrowed until the next
 * call. */
static enum dg_err normal(struct select *select, struct dg_span side, struct dg_span *out)
{
    select->text.len = 0;
    enum dg_err err = dg_normalise(&select->normaliser, side, &select->text);
    *out = dg_span_make((const char *)select->text.bytes, select->text.len);
    return err;
}

static size_t n_words(struct dg_span text)
{
    size_t n = text.len > 0;
    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == ' ';
    return n;
}

static bool begins_well(const struct dg_select_opts *opts, struct dg_span target)
{
    for (size_t i = 0; i < opts->n_begins; i++) {
        const struct dg_span begin = dg_span_cstr(opts->begins[i]);
        if (dg_span_starts(target, begin) && target.len > begin.len && target.ptr[begin.len] == ' ')
            return true;
    }
    return opts->n_begins == 0;
}

static enum dg_err judge(struct select *select, const struct dg_pair *pair, bool *is_wanted)
{
    const struct dg_select_opts *opts = select->opts;
    struct dg_span side;
    enum dg_err err = normal(select, pair->source, &side);
    *is_wanted = !err && side.len > 0 && (!opts->words_max || n_words(side) <= opts->words_max);
    if (!err && *is_wanted)
        err = normal(select, pair->target, &side);
    *is_wanted = *is_wanted && side.len > 0 &&
                 (!opts->words_max || n_words(side) <= opts->words_max) && begins_well(opts, side);
    return err;
}

enum dg_err dg_select(struct dg_pairs *pairs, const struct dg_select_opts *opts, size_t *n_dropped,
                      struct dg_error *error)
{
    struct select select = {.opts = opts, .normaliser = {.remove_extra_whitespaces = true}};
    struct dg_buf charsmap;
    size_t n = 0;
    dg_buf_init(&charsmap, CHARSMAP_MAX);
    enum dg_err err = opts->ascii ? dg_charsmap_build_ascii(&charsmap, error)
                                  : dg_charsmap_build_nfkc(&charsmap, error);
    if (!err)
        err = dg_charsmap_init(&select.normaliser.map, (const uint8_t *)charsmap.ptr, charsmap.len,
                               error);
    if (!err)
        dg_normaliser_prepare(&select.normaliser);
    for (size_t i = 0; i < pairs->n && !err; i++) {
        bool is_wanted;
        err = judge(&select, &pairs->list[i], &is_wanted);
        if (!err && is_wanted)
            pairs->list[n++] = pairs->list[i];
    }
    if (!err) {
        *n_dropped = pairs->n - n;
        pairs->n = n;
    }
    dg_normal_text_deinit(&select.text);
    dg_buf_deinit(&charsmap);
    return err;
}
