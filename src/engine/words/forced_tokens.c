/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Forced text is encoded with the target side's pieces, without the end token. */
#include "engine/words/forced_tokens.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "tokenize/target_ids.h"

static enum dg_err encode(const struct dg_tokenizer *tokenizer, struct dg_spm_work *work,
                          struct dg_span text, const char *what, int32_t **ids, size_t *n,
                          struct dg_error *error)
{
    size_t bad_at;
    if (!dg_utf8_valid(text, &bad_at))
        return dg_error_set(error, DG_ERR_UTF8, "the %s is not valid UTF-8 at byte %zu", what,
                            bad_at);
    enum dg_err err = dg_target_ids(tokenizer, work, text, ids, n);
    if (err)
        return dg_error_set(error, err, "the %s could not be encoded: %s", what,
                            dg_err_sentence(err));
    if (*n && dg_tokenizer_target(tokenizer).eos >= 0)
        (*n)--;
    return DG_OK;
}

/* Returns true for a phrase with the unknown word, which no search outputs. */
static bool has_unknown(const struct dg_tokenizer *tokenizer, const struct dg_phrase *phrase)
{
    const int32_t unk = dg_tokenizer_target(tokenizer).unk;
    for (size_t i = 0; i < phrase->n_ids; i++)
        if (phrase->ids[i] == unk)
            return true;
    return false;
}

static enum dg_err encode_phrases(struct dg_forced_tokens *forced,
                                  const struct dg_tokenizer *tokenizer, struct dg_spm_work *work,
                                  const struct dg_engine_request *asked, struct dg_error *error)
{
    if (asked->n_must > DG_CONSTRAINTS_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "%zu phrases are required, expected at most %d",
                            asked->n_must, DG_CONSTRAINTS_MAX);
    forced->constraints = dg_try_calloc(asked->n_must, sizeof *forced->constraints);
    forced->phrases = dg_try_calloc(asked->n_must, sizeof *forced->phrases);
    if (!forced->constraints || !forced->phrases)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for %zu phrases", asked->n_must);
    for (; forced->n < asked->n_must; forced->n++) {
        struct dg_phrase *phrase = &forced->phrases[forced->n];
        int32_t *ids = NULL;
        enum dg_err err = encode(tokenizer, work, asked->must[forced->n], "demanded phrase", &ids,
                                 &phrase->n_ids, error);
        if (err)
            return err;
        phrase->ids = ids;
        /* Placed where they are most probable. A hypothesis that merely had to contain them
         * before its end would put them there, at its end. */
        forced->constraints[forced->n] = (struct dg_constraint){
            .forms = phrase, .n_forms = 1, .is_placed = !asked->search.in_order};
        if (phrase->n_ids == 0) {
            forced->n++; /* counted already, so that its array is freed with the others */
            return dg_error_set(error, DG_ERR_INVALID, "required phrase %zu is empty", forced->n);
        }
        if (has_unknown(tokenizer, phrase)) {
            forced->n++;
            return dg_error_set(error, DG_ERR_INVALID,
                                "required phrase %zu has characters that the model cannot write",
                                forced->n);
        }
    }
    return DG_OK;
}

enum dg_err dg_forced_tokens_init(struct dg_forced_tokens *forced,
                                  const struct dg_tokenizer *tokenizer,
                                  const struct dg_engine_request *asked, struct dg_error *error)
{
    *forced = (struct dg_forced_tokens){0};
    if (asked->prefix.len == 0 && asked->n_must == 0)
        return DG_OK;
    struct dg_spm_work *work = dg_spm_work_new();
    enum dg_err err = work ? DG_OK : dg_error_set(error, DG_ERR_NOMEM, "no memory to encode with");
    if (!err && asked->prefix.len)
        err = encode(tokenizer, work, asked->prefix, "prefix", &forced->prefix, &forced->n_prefix,
                     error);
    if (!err && forced->n_prefix > DG_TARGET_MAX)
        err = dg_error_set(error, DG_ERR_LIMIT, "the prefix has %zu tokens, expected at most %d",
                           forced->n_prefix, DG_TARGET_MAX);
    if (!err && asked->n_must)
        err = encode_phrases(forced, tokenizer, work, asked, error);
    dg_spm_work_free(work);
    if (err)
        dg_forced_tokens_deinit(forced);
    return err;
}

void dg_forced_tokens_deinit(struct dg_forced_tokens *forced)
{
    for (size_t i = 0; i < forced->n; i++)
        dg_free((void *)(uintptr_t)forced->phrases[i].ids);
    dg_free(forced->phrases);
    dg_free(forced->constraints);
    dg_free(forced->prefix);
    *forced = (struct dg_forced_tokens){0};
}

void dg_forced_tokens_apply(const struct dg_forced_tokens *forced, bool is_first,
                            struct dg_search_opts *search)
{
    if (forced->n_prefix) {
        search->prefix = is_first ? forced->prefix : NULL;
        search->n_prefix = is_first ? forced->n_prefix : 0;
    }
    if (forced->n) {
        search->constraints = forced->constraints;
        search->n_constraints = forced->n;
    }
}
