/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Encodes target text: the pieces of the target side are looked up in the target vocabulary by
 * their strings. */
#include "tokenize/target_ids.h"
#include "base/memory/mem.h"

enum dg_err dg_target_ids(const struct dg_tokenizer *tokenizer, struct dg_spm_work *work,
                          struct dg_span text, int32_t **out, size_t *n_out)
{
    if (dg_tokenizer_subword(tokenizer))
        return DG_ERR_UNSUPPORTED; /* a language model has no target of its own */
    const struct dg_spm *spm = dg_tokenizer_target_spm(tokenizer);
    struct dg_tokenizer_side side = dg_tokenizer_target(tokenizer);
    enum dg_err err = dg_spm_encode(spm, work, text);
    if (err)
        return err;
    size_t n;
    const struct dg_spm_token *tokens = dg_spm_tokens(work, &n);
    int32_t *ids = dg_try_calloc(n + 1, sizeof *ids);
    if (!ids)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        ids[i] = dg_tokenizer_find_target(tokenizer, dg_spm_token_piece(spm, work, &tokens[i]));
        if (ids[i] < 0)
            ids[i] = side.unk;
    }
    if (side.eos >= 0)
        ids[n++] = side.eos;
    *out = ids;
    *n_out = n;
    return DG_OK;
}
