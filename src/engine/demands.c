/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Demanded text is encoded by the target side's pieces, without the end token. */
#include "engine/demands.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "text/target_ids.h"

#include <string.h>

static enum dg_err encode(const struct dg_tokenizer *tokenizer, struct dg_spm_work *work,
                          struct dg_span text, const char *what, int32_t **ids, size_t *n,
                          struct dg_why *why)
{
    size_t bad_at;
    if (!dg_utf8_valid(text, &bad_at))
        return dg_why_set(why, DG_ERR_UTF8, "the %s is not valid UTF-8 at byte %zu", what, bad_at);
    enum dg_err err = dg_target_ids(tokenizer, work, text, ids, n);
    if (err)
        return dg_why_set(why, err, "the %s could not be encoded: %s", what, dg_err_sentence(err));
    if (*n && dg_tokenizer_target(tokenizer).eos >= 0)
        (*n)--;
    return DG_OK;
}

static enum dg_err encode_phrases(struct dg_demands *demands, const struct dg_tokenizer *tokenizer,
                                  struct dg_spm_work *work, const struct dg_engine_request *asked,
                                  struct dg_why *why)
{
    if (asked->n_must > DG_CONSTRAINTS_MAX)
        return dg_why_set(why, DG_ERR_LIMIT, "%zu phrases are demanded, expected at most %d",
                          asked->n_must, DG_CONSTRAINTS_MAX);
    demands->constraints = dg_try_calloc(asked->n_must, sizeof *demands->constraints);
    demands->phrases = dg_try_calloc(asked->n_must, sizeof *demands->phrases);
    if (!demands->constraints || !demands->phrases)
        return dg_why_set(why, DG_ERR_NOMEM, "no memory for %zu phrases", asked->n_must);
    for (; demands->n < asked->n_must; demands->n++) {
        struct dg_phrase *phrase = &demands->phrases[demands->n];
        int32_t *ids = NULL;
        enum dg_err err = encode(tokenizer, work, asked->must[demands->n], "demanded phrase", &ids,
                                 &phrase->n_ids, why);
        if (err)
            return err;
        phrase->ids = ids;
        /* Put where they are likeliest; hypotheses that must say them before they may end would say them there. */
        demands->constraints[demands->n] =
            (struct dg_constraint){.forms = phrase, .n_forms = 1, .is_placed = !asked->search.in_order};
        if (phrase->n_ids == 0) {
            demands->n++; /* its array is freed with the others */
            return dg_why_set(why, DG_ERR_INVALID, "demanded phrase %zu is empty", demands->n);
        }
    }
    return DG_OK;
}

enum dg_err dg_demands_init(struct dg_demands *demands, const struct dg_tokenizer *tokenizer,
                            const struct dg_engine_request *asked, struct dg_why *why)
{
    *demands = (struct dg_demands){0};
    if (asked->prefix.len == 0 && asked->n_must == 0)
        return DG_OK;
    struct dg_spm_work *work = dg_spm_work_new();
    enum dg_err err = work ? DG_OK : dg_why_set(why, DG_ERR_NOMEM, "no memory to encode with");
    if (!err && asked->prefix.len)
        err = encode(tokenizer, work, asked->prefix, "prefix", &demands->prefix, &demands->n_prefix, why);
    if (!err && demands->n_prefix > DG_TARGET_MAX)
        err = dg_why_set(why, DG_ERR_LIMIT, "the prefix has %zu tokens, expected at most %d",
                         demands->n_prefix, DG_TARGET_MAX);
    if (!err && asked->n_must)
        err = encode_phrases(demands, tokenizer, work, asked, why);
    dg_spm_work_free(work);
    if (err)
        dg_demands_deinit(demands);
    return err;
}

void dg_demands_deinit(struct dg_demands *demands)
{
    for (size_t i = 0; i < demands->n; i++)
        dg_free((void *)(uintptr_t)demands->phrases[i].ids);
    dg_free(demands->phrases);
    dg_free(demands->constraints);
    dg_free(demands->prefix);
    *demands = (struct dg_demands){0};
}

void dg_demands_apply(const struct dg_demands *demands, bool is_first, struct dg_search_opts *search)
{
    if (demands->n_prefix) {
        search->prefix = is_first ? demands->prefix : NULL;
        search->n_prefix = is_first ? demands->n_prefix : 0;
    }
    if (demands->n) {
        search->constraints = demands->constraints;
        search->n_constraints = demands->n;
    }
}
