/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Three steps: replace line ends, lower capitals, insert placeholders. Each leaves the text as it
 * is where there is nothing to do. Each has a buffer of its own, so that spans into the result of
 * the previous step stay valid. */
#include "engine/words/prepare.h"
#include "text/sentence/segment.h"

/* Returns true when the characters of both texts are at the same offsets. */
static bool is_aligned(struct dg_span a, struct dg_span b)
{
    bool same = a.len == b.len;
    for (size_t i = 0; same && i < a.len; i++)
        same = ((unsigned char)a.ptr[i] & 0xC0) == 0x80 ? ((unsigned char)b.ptr[i] & 0xC0) == 0x80
                                                        : ((unsigned char)b.ptr[i] & 0xC0) != 0x80;
    return same;
}

static enum dg_err flatten(struct dg_prepared *prepared)
{
    enum dg_err err = dg_segment_flatten(prepared->text, &prepared->flat);
    prepared->text = dg_buf_span(&prepared->flat);
    prepared->in_place = false;
    return err;
}

static enum dg_err lower(struct dg_prepared *prepared, const struct dg_prepare_opts *opts)
{
    prepared->casing = dg_casing_find(prepared->text, opts->language);
    bool keeps = opts->keeps_titles;
    enum dg_err err = DG_OK;
    if (prepared->casing == DG_CASING_TITLE && !keeps && opts->names)
        err = dg_casing_is_names(prepared->text, opts->names, &keeps);
    if (prepared->casing == DG_CASING_TITLE && keeps)
        prepared->casing = DG_CASING_PLAIN;
    if (err || prepared->casing == DG_CASING_PLAIN)
        return err;
    err = dg_casing_lower(prepared->text, prepared->casing, opts->language, opts->names,
                          &prepared->lowered);
    if (err)
        return err;
    prepared->in_place =
        prepared->in_place && is_aligned(prepared->text, dg_buf_span(&prepared->lowered));
    prepared->text = dg_buf_span(&prepared->lowered);
    return DG_OK;
}

static enum dg_err dress(struct dg_prepared *prepared, const struct dg_prepare_opts *opts)
{
    enum dg_err err =
        dg_placeholders_dress(opts->placeholders, prepared->text, opts->words, &prepared->dressed);
    prepared->text = dg_buf_span(&prepared->dressed);
    return err;
}

enum dg_err dg_prepare(struct dg_prepared *prepared, struct dg_span text,
                       const struct dg_prepare_opts *opts)
{
    enum dg_err err = DG_OK;
    *prepared = (struct dg_prepared){.text = text, .casing = DG_CASING_PLAIN, .in_place = true};
    dg_buf_init(&prepared->flat, 2 * text.len + 1);
    /* lower-casing a character makes it at most three times as long */
    dg_buf_init(&prepared->lowered, 6 * text.len + 16);
    dg_buf_init(&prepared->dressed, 8 * text.len + 1024);
    if (opts->joined)
        err = flatten(prepared);
    if (!err && opts->placeholders) {
        opts->placeholders->leaves_numbers = opts->leaves_numbers;
        err = dg_placeholders_find(opts->placeholders, prepared->text, opts->extra, opts->n_extra,
                                   opts->list);
        if (opts->placeholders->text)
            prepared->text = dg_buf_span(&opts->placeholders->marked);
    }
    if (!err && !opts->keep_case)
        err = lower(prepared, opts);
    if (!err && opts->placeholders && opts->placeholders->n > 0)
        err = dress(prepared, opts);
    return err;
}

void dg_prepared_deinit(struct dg_prepared *prepared)
{
    dg_buf_deinit(&prepared->flat);
    dg_buf_deinit(&prepared->lowered);
    dg_buf_deinit(&prepared->dressed);
}
