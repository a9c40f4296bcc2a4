/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The prompt is a form (tokenize/prompt_template.h), kept as written. */
#include "engine/models/translation_prompt.h"
#include "base/memory/chars.h"
#include "base/memory/mem.h"
#include "engine/models/stop_texts.h"

#include <string.h>

struct dg_translation_prompt {
    char prompt[DG_TRANSLATION_PROMPT_TEXT_MAX + 1]; /* it was checked */
    char stop_bytes[DG_TRANSLATION_PROMPT_STOP_MAX + 1];
    struct dg_span stops[DG_TRANSLATION_PROMPT_STOPS]; /* these point into it */
    size_t n_stops;
    uint8_t *ends; /* owned; NULL: none */
};

/* ---- Reading --------------------------------------------------------------------------------- */

static enum dg_err read_prompt(struct dg_translation_prompt *template, const char *text,
                               struct dg_error *error)
{
    const enum dg_err err = dg_prompt_template_check(dg_span_cstr(text), error);
    if (!err)
        memcpy(template->prompt, text, strlen(text) + 1);
    return err;
}

static enum dg_err read_stops(struct dg_translation_prompt *template, const char *text,
                              struct dg_error *error)
{
    struct dg_span rest = dg_span_cstr(text);
    char *to = template->stop_bytes;
    if (rest.len > DG_TRANSLATION_PROMPT_STOP_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "template-stop: %zu bytes, expected at most %d",
                            rest.len, DG_TRANSLATION_PROMPT_STOP_MAX);
    while (rest.len) {
        struct dg_span *stop = &template->stops[template->n_stops];
        if (template->n_stops == DG_TRANSLATION_PROMPT_STOPS)
            return dg_error_set(error, DG_ERR_LIMIT, "template-stop: more than %d texts",
                                DG_TRANSLATION_PROMPT_STOPS);
        *stop = dg_span_make(to, 0);
        while (rest.len && rest.ptr[0] != '|') {
            const enum dg_err err = dg_prompt_template_next_byte(&rest, to++, error);
            if (err)
                return err;
            stop->len++;
        }
        rest = dg_span_sub(rest, 1, rest.len);
        template->n_stops += stop->len > 0;
    }
    return DG_OK;
}

/* ---- Ends ------------------------------------------------------------------------------------ */

/* Appends the token's text by itself. */
static enum dg_err spell(int32_t id, struct dg_tokenizer_stream *stream, struct dg_buf *text)
{
    struct dg_span delta;
    dg_buf_clear(text);
    dg_tokenizer_stream_reset(stream);
    dg_tokenizer_stream_goes_on(stream);
    enum dg_err err = dg_tokenizer_stream_push(stream, id, &delta);
    if (!err)
        err = dg_buf_append_span(text, delta);
    return err;
}

static enum dg_err list_ends(struct dg_translation_prompt *template,
                             const struct dg_translation_prompt_opts *opts, struct dg_error *error)
{
    const size_t n_words = dg_tokenizer_target(opts->tokenizer).size,
                 V = opts->blueprint->decoder.V;
    bool is_said[DG_TRANSLATION_PROMPT_STOPS] = {false};
    struct dg_tokenizer_stream stream;
    struct dg_buf text;
    enum dg_err err = DG_OK;
    template->ends = dg_try_calloc(V ? V : 1, 1);
    if (!template->ends)
        return DG_ERR_NOMEM;
    dg_tokenizer_stream_init(&stream, opts->tokenizer, 1 << 16);
    dg_buf_init(&text, 1 << 16);
    for (size_t id = 0; template->n_stops && id < n_words && id < V && !err; id++) {
        err = spell((int32_t)id, &stream, &text);
        for (size_t i = 0; i < template->n_stops && !err; i++)
            if (dg_stop_texts_find(&template->stops[i], 1, dg_buf_span(&text), 0) != SIZE_MAX)
                template->ends[id] = is_said[i] = true;
    }
    dg_buf_deinit(&text);
    dg_tokenizer_stream_deinit(&stream);
    for (size_t i = 0; i < opts->blueprint->lm.n_stop; i++)
        if (opts->blueprint->lm.stop[i] >= 0 && (size_t)opts->blueprint->lm.stop[i] < V)
            template->ends[opts->blueprint->lm.stop[i]] = 1;
    for (size_t i = 0; i < template->n_stops && !err; i++)
        if (!is_said[i])
            err = dg_error_set(error, DG_ERR_UNSUPPORTED,
                               "template-stop: no token of the model contains the text '%.*s'; "
                               "expected a text that a token ends with",
                               DG_SPAN_FMT(template->stops[i]));
    return err;
}

/* ---- Life ------------------------------------------------------------------------------------ */

enum dg_err dg_translation_prompt_new(struct dg_translation_prompt **out,
                                      const struct dg_translation_prompt_opts *opts,
                                      struct dg_error *error)
{
    struct dg_translation_prompt *template = dg_try_calloc(1, sizeof *template);
    if (!template)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a template");
    enum dg_err err = read_prompt(template, opts->prompt, error);
    if (!err)
        err = read_stops(template, opts->stop ? opts->stop : "", error);
    if (!err && opts->tokenizer)
        err = list_ends(template, opts, error);
    if (err) {
        dg_translation_prompt_free(template);
        return err == DG_ERR_NOMEM ? dg_error_set(error, err, "no memory for a template") : err;
    }
    *out = template;
    return DG_OK;
}

void dg_translation_prompt_free(struct dg_translation_prompt *template)
{
    if (!template)
        return;
    dg_free(template->ends);
    dg_free(template);
}

/* ---- Use ------------------------------------------------------------------------------------- */

static struct dg_span name_of(const struct dg_lang *lang)
{
    return dg_span_cstr(*lang->name ? lang->name : lang->code);
}

enum dg_err dg_translation_prompt_fill(const struct dg_translation_prompt *template,
                                       const struct dg_lang_pair *pair, struct dg_span text,
                                       struct dg_buf *prompt, size_t *text_at)
{
    const struct dg_prompt_template_names names = {.source = name_of(pair->source),
                                                   .target = name_of(pair->target),
                                                   .source_code = dg_span_cstr(pair->source->code),
                                                   .target_code = dg_span_cstr(pair->target->code)};
    return dg_prompt_template_fill(dg_span_cstr(template->prompt), &names, text, prompt, text_at);
}

const uint8_t *dg_translation_prompt_ends(const struct dg_translation_prompt *template)
{
    return template->ends;
}

void dg_translation_prompt_hear(const struct dg_translation_prompt *template, struct dg_span said,
                                bool is_over, size_t *from, size_t *upto)
{
    const size_t stop = dg_stop_texts_find(template->stops, template->n_stops, said, *upto);
    size_t end = stop != SIZE_MAX ? stop : said.len;
    if (stop == SIZE_MAX && !is_over)
        end -= dg_stop_texts_doubtful(template->stops, template->n_stops, said);
    if (*upto == *from) { /* nothing was output yet: blanks at the beginning are left out */
        while (*from < end && dg_chars_is_space(said.ptr[*from]))
            (*from)++;
        *upto = *from;
    }
    while (end > *upto && dg_chars_is_space(said.ptr[end - 1]))
        end--;
    *upto = end > *upto ? end : *upto;
}
