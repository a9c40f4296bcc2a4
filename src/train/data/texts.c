/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Ids of a text are made exactly as a served model makes them (tokenize/prompt_template.h). */
#include "train/data/texts.h"
#include "base/memory/mem.h"
#include "tokenize/prompt_template.h"

#include <string.h>

enum { PROMPT_MAX = 1 << 24, NAME_BYTES_MAX = 256 };
#define STREAM_MAX ((size_t)1 << 40)

struct writer {
    const struct dg_texts_opts *opts;
    struct dg_prompt_template_coder coder;
    struct dg_texts_form form;
    struct dg_tokenizer_work *work;
    struct dg_corpus_out out;
    struct dg_buf prompt;
    struct dg_buf stream; /* ids that are not written yet, of this text or of all packed ones */
};

/* ---- Prompts --------------------------------------------------------------------------------- */

enum dg_err dg_texts_check(const struct dg_blueprint *bp, struct dg_error *error)
{
    const struct dg_lm_ask *ask = &bp->lm.ask;
    const char *const codes[2] = {ask->source, ask->target};
    enum dg_err err = *ask->form ? dg_prompt_template_check(dg_span_cstr(ask->form), error) : DG_OK;
    for (size_t i = 0; i < 2 && !err && *ask->form; i++) {
        struct dg_langtag tag;
        if (*codes[i])
            err = dg_langtag_parse(dg_span_cstr(codes[i]), &tag, error);
        else if (strstr(ask->form, i ? "{target" : "{source"))
            err = dg_error_set(error, DG_ERR_INVALID,
                               "the template names the %s language, which is not given",
                               i ? "target" : "source");
    }
    return err;
}

/* Gets the language's name. If it has none, its code is used. */
static enum dg_err name_it(const char *code, struct dg_langtag *tag, char name[64],
                           struct dg_error *error)
{
    struct dg_buf text;
    tag->text[0] = name[0] = '\0';
    if (!*code)
        return DG_OK;
    enum dg_err err = dg_langtag_parse(dg_span_cstr(code), tag, error);
    if (err)
        return err;
    dg_buf_init(&text, NAME_BYTES_MAX);
    err = dg_langtag_name(tag, "en", &text);
    const bool is_named = !err && text.len > 0 && text.len < 64;
    memcpy(name, is_named ? text.ptr : tag->text, is_named ? text.len + 1 : strlen(tag->text) + 1);
    dg_buf_deinit(&text);
    return err == DG_ERR_NOMEM ? err : DG_OK;
}

enum dg_err dg_texts_form_init(struct dg_texts_form *form, const struct dg_blueprint *bp,
                               struct dg_error *error)
{
    const struct dg_lm_ask *ask = &bp->lm.ask;
    form->form = dg_span_cstr(ask->form);
    const enum dg_err err = name_it(ask->source, &form->source.tag, form->source.name, error);
    return err ? err : name_it(ask->target, &form->target.tag, form->target.name, error);
}

enum dg_err dg_texts_prompt(const struct dg_texts_form *form, struct dg_span source,
                            struct dg_buf *out, size_t *text_at)
{
    const struct dg_prompt_template_names names = {
        dg_span_cstr(form->source.name), dg_span_cstr(form->target.name),
        dg_span_cstr(form->source.tag.text), dg_span_cstr(form->target.tag.text)};
    return dg_prompt_template_fill(form->form, &names, source, out, text_at);
}

/* ---- Ids ------------------------------------------------------------------------------------- */

static enum dg_err push(struct writer *w, int32_t id)
{
    return dg_buf_append(&w->stream, &id, sizeof id);
}

static enum dg_err push_tokens(struct writer *w, const struct dg_token *tokens, size_t n)
{
    const int32_t unknown = dg_tokenizer_source(w->opts->tokenizer).unk;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < n && !err; i++) {
        w->out.stats.n_unknown += tokens[i].id == unknown;
        err = push(w, tokens[i].id);
    }
    return err;
}

/* Returns the token that a text begins with. */
static int32_t first_id(const struct dg_blueprint *bp)
{
    return bp->bos_id != DG_ID_NONE ? bp->bos_id : bp->eos_id;
}

static int32_t *ids_of(const struct writer *w)
{
    return (int32_t *)(void *)w->stream.ptr;
}

static size_t n_ids(const struct writer *w)
{
    return w->stream.len / sizeof(int32_t);
}

/* Adds a line to the stream: its beginning, its tokens, its end. If the vocabulary has one token
 * for beginning and end, the end of one text is the beginning of the next. */
static enum dg_err push_line(struct writer *w, struct dg_span text, struct dg_error *error)
{
    const struct dg_blueprint *bp = w->opts->bp;
    const int32_t first = first_id(bp);
    struct dg_token *tokens = NULL;
    size_t n = 0;
    enum dg_err err =
        dg_prompt_template_encode_plain(&w->coder, w->work, text, false, error, &tokens, &n);
    if (err)
        return err;
    const size_t skip = n && tokens[0].id == first;
    if (n > skip && tokens[n - 1].id == bp->eos_id)
        n--;
    if (n_ids(w) == 0 || ids_of(w)[n_ids(w) - 1] != first)
        err = push(w, first);
    if (!err)
        err = push_tokens(w, tokens + skip, n - skip);
    if (!err)
        err = push(w, bp->eos_id);
    dg_free(tokens);
    return err;
}

/* Writes parts of the stream; each example also reads the token before it. The last id stays in the
 * stream for the next example, unless `is_last`. */
static enum dg_err cut_stream(struct writer *w, bool is_last)
{
    const size_t most = w->opts->len_max, n = n_ids(w);
    size_t at = 0;
    enum dg_err err = DG_OK;
    while (!err && n - at > 1 && (is_last || n - at > most)) {
        const size_t len = n - at - 1 < most ? n - at - 1 : most;
        err = dg_corpus_out_put(&w->out, ids_of(w) + at, 1, ids_of(w) + at + 1, len);
        at += len;
        if (w->opts->is_one_each) {
            w->out.stats.n_long += n - 1 > most;
            break;
        }
    }
    if (is_last) {
        dg_buf_clear(&w->stream);
    } else if (at) {
        memmove(ids_of(w), ids_of(w) + at, (n - at) * sizeof(int32_t));
        dg_buf_truncate(&w->stream, (n - at) * sizeof(int32_t));
    }
    return err;
}

static enum dg_err put_line(struct writer *w, const struct dg_pair *pair, struct dg_error *error)
{
    const enum dg_err err = push_line(w, pair->target, error);
    return err ? err : cut_stream(w, !w->opts->is_packed);
}

static enum dg_err push_prompt(struct writer *w, struct dg_span source, struct dg_error *error)
{
    struct dg_token *tokens = NULL;
    size_t n = 0, from = 0;
    dg_buf_clear(&w->prompt);
    enum dg_err err = dg_texts_prompt(&w->form, source, &w->prompt, &from);
    if (!err)
        err = dg_prompt_template_encode(&w->coder, w->work, dg_buf_span(&w->prompt), from,
                                        from + source.len, error, &tokens, &n);
    if (!err && n == 0)
        err = push(w, first_id(w->opts->bp));
    if (!err)
        err = push_tokens(w, tokens, n);
    dg_free(tokens);
    return err;
}

static enum dg_err put_prompt(struct writer *w, const struct dg_pair *pair, struct dg_error *error)
{
    const struct dg_tokenizer_opts bare = {.add_eos = false};
    const struct dg_token *tokens;
    size_t n_said = 0;
    enum dg_err err = push_prompt(w, pair->source, error);
    size_t n_source = n_ids(w);
    if (!err && w->opts->is_one_each && n_source >= w->opts->len_max) {
        n_source = w->opts->len_max - 1;
        dg_buf_truncate(&w->stream, n_source * sizeof(int32_t));
    }
    if (!err)
        err = dg_tokenizer_encode(w->opts->tokenizer, w->work, pair->target, &bare, error, &tokens,
                                  &n_said);
    if (!err)
        err = push_tokens(w, tokens, n_said);
    if (!err)
        err = push(w, w->opts->bp->eos_id);
    const size_t n = err ? 0 : n_ids(w), most = w->opts->len_max + 1;
    w->out.stats.n_long += n > most;
    if (!err && (n <= most || w->opts->is_one_each))
        err = dg_corpus_out_put(&w->out, ids_of(w), n_source, ids_of(w) + n_source,
                                (n < most ? n : most) - n_source);
    dg_buf_clear(&w->stream);
    return err;
}

/* ---- Writing --------------------------------------------------------------------------------- */

enum dg_err dg_texts_write(const char *path, const struct dg_texts_opts *opts,
                           const struct dg_pair *pairs, size_t n, struct dg_corpus_stats *stats,
                           struct dg_error *error)
{
    struct writer w = {
        .opts = opts,
        .coder = {.tokenizer = opts->tokenizer, .bos = opts->bp->bos_id, .eos = opts->bp->eos_id}};
    dg_corpus_out_init(&w.out);
    dg_buf_init(&w.prompt, PROMPT_MAX);
    dg_buf_init(&w.stream, STREAM_MAX);
    w.work = dg_tokenizer_work_new();
    enum dg_err err = w.work ? dg_texts_form_init(&w.form, opts->bp, error) : DG_ERR_NOMEM;
    for (size_t i = 0; i < n && !err; i++)
        for (uint32_t j = 0; j < pairs[i].repeat && !err; j++)
            err = *opts->bp->lm.ask.form ? put_prompt(&w, &pairs[i], error)
                                         : put_line(&w, &pairs[i], error);
    if (!err)
        err = cut_stream(&w, true);
    if (!err)
        err = dg_corpus_out_save(&w.out, path, error);
    if (!err)
        *stats = w.out.stats;
    dg_corpus_out_deinit(&w.out);
    dg_buf_deinit(&w.prompt);
    dg_buf_deinit(&w.stream);
    dg_tokenizer_work_free(w.work);
    return err;
}
