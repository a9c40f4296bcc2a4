/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Parsing lines of token ids. */
#include "tools/ids.h"
#include "base/memory/mem.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

enum dg_err ids_parse(struct dg_span text, int32_t **out, size_t *n_out, struct dg_error *error)
{
    /* Every id takes at least one digit and one space. */
    int32_t *ids = dg_try_calloc(text.len / 2 + 1, sizeof *ids);
    if (!ids)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a line of %zu bytes", text.len);
    size_t n = 0, at = 0;
    while (at < text.len) {
        if (is_space(text.ptr[at])) {
            at++;
            continue;
        }
        size_t start = at;
        int64_t id = 0;
        for (; at < text.len && text.ptr[at] >= '0' && text.ptr[at] <= '9' && id <= INT32_MAX; at++)
            id = id * 10 + (text.ptr[at] - '0');
        if (id > INT32_MAX || at == start || (at < text.len && !is_space(text.ptr[at]))) {
            size_t end = start;
            while (end < text.len && !is_space(text.ptr[end]))
                end++;
            dg_free(ids);
            return dg_error_set(error, DG_ERR_FORMAT,
                                "column %zu: read '%.*s', expected a token id", start + 1,
                                (int)(end - start < 40 ? end - start : 40), text.ptr + start);
        }
        ids[n++] = (int32_t)id;
    }
    *out = ids;
    *n_out = n;
    return DG_OK;
}

enum dg_err ids_encode(const struct dg_tokenizer *tokenizer, struct dg_tokenizer_work *work,
                       struct dg_span text, const struct dg_tokenizer_opts *opts, int32_t **ids,
                       size_t *n, struct dg_error *error)
{
    const struct dg_token *tokens;
    enum dg_err err = dg_tokenizer_encode(tokenizer, work, text, opts, error, &tokens, n);
    if (err)
        return err;
    *ids = dg_try_calloc(*n ? *n : 1, sizeof **ids);
    if (!*ids)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < *n; i++)
        (*ids)[i] = tokens[i].id;
    return DG_OK;
}
