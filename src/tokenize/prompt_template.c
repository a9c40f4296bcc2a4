/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A template is kept as it is written. It is short, so its escapes are decoded and its placeholders
 * are found each time that it is filled. */
#include "tokenize/prompt_template.h"
#include "base/memory/mem.h"

#include <string.h>

/* ---- Places ---------------------------------------------------------------------------------- */

enum place { SOURCE, TARGET, SOURCE_CODE, TARGET_CODE, TEXT, N_PLACES, LITERAL = N_PLACES };

static const char *const places[N_PLACES] = {
    [SOURCE] = "{source}",           [TARGET] = "{target}", [SOURCE_CODE] = "{source-code}",
    [TARGET_CODE] = "{target-code}", [TEXT] = "{text}",
};

/* Takes an escape from the front of `rest`. */
static enum dg_err undo_escape(struct dg_span *rest, struct dg_span *byte, struct dg_error *error)
{
    static const char escapes[][2] = {"n", "t", "\\", "{", "|"},
                      meant[][2] = {"\n", "\t", "\\", "{", "|"};
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
        if (rest->len > 1 && rest->ptr[1] == escapes[i][0]) {
            *byte = dg_span_make(meant[i], 1);
            *rest = dg_span_sub(*rest, 2, rest->len);
            return DG_OK;
        }
    return dg_error_set(error, DG_ERR_INVALID,
                        "template: '%.*s' is not an escape, expected \\n, \\t, \\\\, \\{ or \\|",
                        (int)(rest->len < 2 ? rest->len : 2), rest->ptr);
}

/* Takes the next part of a template: a placeholder, or literal bytes (*bytes; an escape is one). */
static enum dg_err next_part(struct dg_span *rest, enum place *place, struct dg_span *bytes,
                             struct dg_error *error)
{
    size_t len = 0;
    *place = LITERAL;
    if (rest->ptr[0] == '{') {
        for (int i = 0; i < N_PLACES; i++)
            if (dg_span_starts(*rest, dg_span_cstr(places[i]))) {
                *place = (enum place)i;
                *rest = dg_span_sub(*rest, strlen(places[i]), rest->len);
                return DG_OK;
            }
        return dg_error_set(error, DG_ERR_INVALID,
                            "template: '%.*s' is not a placeholder, expected {source}, {target}, "
                            "{source-code}, {target-code} or {text}; write \\{ for a brace",
                            (int)(rest->len < 20 ? rest->len : 20), rest->ptr);
    }
    if (rest->ptr[0] == '\\')
        return undo_escape(rest, bytes, error);
    while (len < rest->len && rest->ptr[len] != '{' && rest->ptr[len] != '\\')
        len++;
    *bytes = dg_span_sub(*rest, 0, len);
    *rest = dg_span_sub(*rest, len, rest->len);
    return DG_OK;
}

enum dg_err dg_prompt_template_next_byte(struct dg_span *text, char *byte, struct dg_error *error)
{
    struct dg_span one = dg_span_sub(*text, 0, 1);
    enum dg_err err = DG_OK;
    if (one.ptr[0] == '\\')
        err = undo_escape(text, &one, error);
    else
        *text = dg_span_sub(*text, 1, text->len);
    if (!err)
        *byte = one.ptr[0];
    return err;
}

enum dg_err dg_prompt_template_check(struct dg_span form, struct dg_error *error)
{
    struct dg_span rest = form, bytes;
    size_t n_texts = 0;
    enum place place;
    enum dg_err err = DG_OK;
    if (form.len > DG_PROMPT_TEMPLATE_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "template: %zu bytes, expected at most %d",
                            form.len, DG_PROMPT_TEMPLATE_MAX);
    while (rest.len && !err) {
        err = next_part(&rest, &place, &bytes, error);
        n_texts += !err && place == TEXT;
    }
    if (!err && n_texts != 1)
        err = dg_error_set(error, DG_ERR_INVALID, "template: read {text} %zu times, expected once",
                           n_texts);
    return err;
}

enum dg_err dg_prompt_template_fill(struct dg_span form,
                                    const struct dg_prompt_template_names *names,
                                    struct dg_span text, struct dg_buf *out, size_t *text_at)
{
    const size_t begin = out->len;
    struct dg_span rest = form, bytes = {.len = 0};
    enum place place;
    enum dg_err err = DG_OK;
    while (rest.len && !err) {
        err = next_part(&rest, &place, &bytes, NULL); /* cannot fail, because the template was
                                                         checked */
        if (!err && place == TEXT)
            *text_at = out->len - begin;
        const struct dg_span made[] = {
            [SOURCE] = names->source,
            [TARGET] = names->target,
            [SOURCE_CODE] = names->source_code,
            [TARGET_CODE] = names->target_code,
            [TEXT] = text,
            [LITERAL] = bytes,
        };
        if (!err)
            err = dg_buf_append_span(out, made[place]);
    }
    return err;
}

/* ---- Ids ------------------------------------------------------------------------------------- */

/* Tokens so far. */
struct list {
    struct dg_token *items; /* owned */
    size_t n;
};

/* Appends the tokens of `text`, which begins at byte `at` of the prompt. */
static enum dg_err append(const struct dg_prompt_template_coder *coder,
                          struct dg_tokenizer_work *work, struct dg_span text, size_t at,
                          const struct dg_tokenizer_opts *how, struct dg_error *error,
                          struct list *list)
{
    const struct dg_token *tokens;
    size_t n = 0;
    enum dg_err err = dg_tokenizer_encode(coder->tokenizer, work, text, how, error, &tokens, &n);
    if (err)
        return err;
    struct dg_token *grown =
        /* room for the tokens and for a first one */
        dg_try_realloc(list->items, (list->n + n + 1) * sizeof *grown);
    if (!grown)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a prompt of %zu tokens",
                            list->n + n);
    list->items = grown;
    for (size_t i = 0; i < n; i++)
        grown[list->n++] = (struct dg_token){tokens[i].id, (uint32_t)(at + tokens[i].begin),
                                             (uint32_t)(at + tokens[i].end)};
    return DG_OK;
}

/* Puts a begin token before the list if the tokenizer has put none, and hands the list over. */
static enum dg_err finish(const struct dg_prompt_template_coder *coder, struct list *list,
                          enum dg_err err, struct dg_token **tokens, size_t *n)
{
    if (err) {
        dg_free(list->items);
        return err;
    }
    const bool is_bare = !dg_tokenizer_subword(coder->tokenizer) || list->n == 0;
    const int32_t first = coder->bos >= 0 ? coder->bos : list->n == 0 ? coder->eos : -1;
    if (is_bare && first >= 0) {
        for (size_t i = list->n++; i > 0; i--)
            list->items[i] = list->items[i - 1];
        list->items[0] = (struct dg_token){.id = first};
    }
    *tokens = list->items;
    *n = list->n;
    return DG_OK;
}

enum dg_err dg_prompt_template_encode_plain(const struct dg_prompt_template_coder *coder,
                                            struct dg_tokenizer_work *work, struct dg_span text,
                                            bool reads_special, struct dg_error *error,
                                            struct dg_token **tokens, size_t *n)
{
    const struct dg_tokenizer_opts how = {.add_eos = dg_tokenizer_subword(coder->tokenizer) != NULL,
                                          .reads_special = reads_special};
    struct list list = {.n = 0};
    const enum dg_err err = append(coder, work, text, 0, &how, error, &list);
    return finish(coder, &list, err, tokens, n);
}

/* True when a special token came out of [from, to). */
static bool has_sign(const struct dg_prompt_template_coder *coder, const struct list *list,
                     size_t from, size_t to)
{
    const struct dg_subword *subword = dg_tokenizer_subword(coder->tokenizer);
    for (size_t i = 0; i < list->n && subword; i++)
        if (dg_subword_is_special(subword, list->items[i].id) && list->items[i].begin < to &&
            list->items[i].end > from)
            return true;
    return false;
}

static enum dg_err append_parts(const struct dg_prompt_template_coder *coder,
                                struct dg_tokenizer_work *work, struct dg_span prompt, size_t from,
                                size_t to, struct dg_error *error, struct list *list)
{
    const struct dg_tokenizer_opts first = {.add_eos = true, .reads_special = true},
                                   text = {.add_eos = false}, last = {.reads_special = true};
    list->n = 0;
    enum dg_err err = append(coder, work, dg_span_sub(prompt, 0, from), 0, &first, error, list);
    if (!err)
        err = append(coder, work, dg_span_sub(prompt, from, to - from), from, &text, error, list);
    return err ? err
               : append(coder, work, dg_span_sub(prompt, to, prompt.len), to, &last, error, list);
}

enum dg_err dg_prompt_template_encode(const struct dg_prompt_template_coder *coder,
                                      struct dg_tokenizer_work *work, struct dg_span prompt,
                                      size_t from, size_t to, struct dg_error *error,
                                      struct dg_token **tokens, size_t *n)
{
    const struct dg_tokenizer_opts whole = {
        .add_eos = dg_tokenizer_subword(coder->tokenizer) != NULL, .reads_special = true};
    struct list list = {.n = 0};
    enum dg_err err = append(coder, work, prompt, 0, &whole, error, &list);
    if (!err && has_sign(coder, &list, from, to))
        err = append_parts(coder, work, prompt, from, to, error, &list);
    return finish(coder, &list, err, tokens, n);
}
