/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Encoding prompts. A template is the operator's, and its signs are read as such; the text within it is a stranger's, and
 * is not. Both are encoded together, because words run over the seam. Should a sign come out of the text that way, the three
 * parts are encoded one by one. */
#include "engine/prompt.h"
#include "base/mem.h"
#include "engine/template.h"

enum { PROMPT_MAX = 1 << 24 };

/* Tokens so far. */
struct list {
    struct dg_token *items; /* owned */
    size_t n;
};

/* Appends the tokens of `text`, which begins at `at` of the whole. */
static enum dg_err append(const struct dg_loaded *model, struct dg_tokenizer_work *work, struct dg_span text, size_t at,
                          const struct dg_tokenizer_opts *how, struct dg_why *why, struct list *list)
{
    const struct dg_token *tokens;
    size_t n = 0;
    enum dg_err err = dg_tokenizer_encode(model->tokenizer, work, text, how, why, &tokens, &n);
    if (err)
        return err;
    struct dg_token *grown = dg_try_realloc(list->items, (list->n + n + 1) * sizeof *grown); /* and a first one */
    if (!grown)
        return dg_why_set(why, DG_ERR_NOMEM, "no memory for a prompt of %zu tokens", list->n + n);
    list->items = grown;
    for (size_t i = 0; i < n; i++)
        grown[list->n++] = (struct dg_token){tokens[i].id, (uint32_t)(at + tokens[i].begin), (uint32_t)(at + tokens[i].end)};
    return DG_OK;
}

/* The list with the model's beginning before it, where the tokenizer has put none. */
static void begin(const struct dg_loaded *model, struct list *list)
{
    const struct dg_blueprint *bp = &model->blueprint;
    const bool is_bare = !dg_tokenizer_subword(model->tokenizer) || list->n == 0;
    const int32_t first = bp->bos_id != DG_ID_NONE ? bp->bos_id : list->n == 0 ? bp->eos_id : DG_ID_NONE;
    if (!is_bare || first == DG_ID_NONE)
        return;
    for (size_t i = list->n++; i > 0; i--)
        list->items[i] = list->items[i - 1];
    list->items[0] = (struct dg_token){.id = first};
}

enum dg_err dg_prompt_encode(const struct dg_loaded *model, struct dg_tokenizer_work *work, struct dg_span text,
                             bool reads_special, struct dg_why *why, struct dg_token **tokens, size_t *n)
{
    const struct dg_tokenizer_opts how = {.add_eos = dg_tokenizer_subword(model->tokenizer) != NULL,
                                          .reads_special = reads_special};
    struct list list = {.n = 0};
    enum dg_err err = append(model, work, text, 0, &how, why, &list);
    if (err) {
        dg_free(list.items);
        return err;
    }
    begin(model, &list);
    *tokens = list.items;
    *n = list.n;
    return DG_OK;
}

/* True when a sign came out of [from, to). */
static bool has_sign(const struct dg_loaded *model, const struct list *list, size_t from, size_t to)
{
    const struct dg_subword *subword = dg_tokenizer_subword(model->tokenizer);
    for (size_t i = 0; i < list->n && subword; i++)
        if (dg_subword_is_special(subword, list->items[i].id) && list->items[i].begin < to && list->items[i].end > from)
            return true;
    return false;
}

static enum dg_err append_parts(const struct dg_loaded *model, struct dg_tokenizer_work *work, struct dg_span prompt,
                                size_t from, size_t to, struct dg_why *why, struct list *list)
{
    const struct dg_tokenizer_opts first = {.add_eos = true, .reads_special = true}, text = {.add_eos = false},
                                   last = {.reads_special = true};
    list->n = 0;
    enum dg_err err = append(model, work, dg_span_sub(prompt, 0, from), 0, &first, why, list);
    if (!err)
        err = append(model, work, dg_span_sub(prompt, from, to - from), from, &text, why, list);
    return err ? err : append(model, work, dg_span_sub(prompt, to, prompt.len), to, &last, why, list);
}

static uint32_t place(uint32_t at, size_t from, size_t to)
{
    return (uint32_t)((at < from ? from : at > to ? to : at) - from);
}

enum dg_err dg_prompt_ask(const struct dg_loaded *model, const struct dg_pair *pair, struct dg_tokenizer_work *work,
                          struct dg_span text, struct dg_why *why, struct dg_token **tokens, size_t *n)
{
    const struct dg_tokenizer_opts whole = {.add_eos = dg_tokenizer_subword(model->tokenizer) != NULL,
                                            .reads_special = true};
    struct list list = {.n = 0};
    struct dg_buf prompt;
    size_t from = 0;
    dg_buf_init(&prompt, PROMPT_MAX);
    enum dg_err err = dg_template_fill(model->template, pair, text, &prompt, &from);
    if (err)
        err = dg_why_set(why, err, "no memory for a prompt");
    if (!err)
        err = append(model, work, dg_buf_span(&prompt), 0, &whole, why, &list);
    if (!err && has_sign(model, &list, from, from + text.len))
        err = append_parts(model, work, dg_buf_span(&prompt), from, from + text.len, why, &list);
    dg_buf_deinit(&prompt);
    if (err) {
        dg_free(list.items);
        return err;
    }
    for (size_t i = 0; i < list.n; i++) {
        list.items[i].begin = place(list.items[i].begin, from, from + text.len);
        list.items[i].end = place(list.items[i].end, from, from + text.len);
    }
    begin(model, &list);
    *tokens = list.items;
    *n = list.n;
    return DG_OK;
}
