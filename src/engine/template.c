/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A prompt is kept as written, with escapes undone and places found when it is filled: it is short. */
#include "engine/template.h"
#include "base/mem.h"
#include "engine/stops.h"

#include <string.h>

enum place { SOURCE, TARGET, SOURCE_CODE, TARGET_CODE, TEXT, N_PLACES, LITERAL = N_PLACES };

static const char *const places[N_PLACES] = {
    [SOURCE] = "{source}",           [TARGET] = "{target}", [SOURCE_CODE] = "{source-code}",
    [TARGET_CODE] = "{target-code}", [TEXT] = "{text}",
};

struct dg_template {
    char prompt[DG_TEMPLATE_TEXT_MAX + 1]; /* checked */
    char stop_bytes[DG_TEMPLATE_STOP_MAX + 1];
    struct dg_span stops[DG_TEMPLATE_STOPS]; /* in it */
    size_t n_stops;
    uint8_t *ends; /* owned; NULL: none */
};

/* ---- Reading ------------------------------------------------------------------------------------- */

/* The next part of a prompt: a place, or bytes as they are (*bytes, of which an escape is one). */
static enum dg_err next_part(struct dg_span *rest, enum place *place, struct dg_span *bytes, struct dg_why *why)
{
    static const char escapes[][2] = {"n", "t", "\\", "{", "|"}, meant[][2] = {"\n", "\t", "\\", "{", "|"};
    size_t len = 0;
    *place = LITERAL;
    if (rest->ptr[0] == '{') {
        for (int i = 0; i < N_PLACES; i++)
            if (dg_span_starts(*rest, dg_span_cstr(places[i]))) {
                *place = (enum place)i;
                *rest = dg_span_sub(*rest, strlen(places[i]), rest->len);
                return DG_OK;
            }
        return dg_why_set(why, DG_ERR_INVALID,
                          "template: '%.20s' is no place, expected {source}, {target}, {source-code}, {target-code} or "
                          "{text}; write \\{ for a brace", rest->ptr);
    }
    if (rest->ptr[0] == '\\') {
        for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
            if (rest->len > 1 && rest->ptr[1] == escapes[i][0]) {
                *bytes = dg_span_make(meant[i], 1);
                *rest = dg_span_sub(*rest, 2, rest->len);
                return DG_OK;
            }
        return dg_why_set(why, DG_ERR_INVALID, "template: '%.2s' is not known, expected \\n, \\t, \\\\, \\{ or \\|", rest->ptr);
    }
    while (len < rest->len && rest->ptr[len] != '{' && rest->ptr[len] != '\\')
        len++;
    *bytes = dg_span_sub(*rest, 0, len);
    *rest = dg_span_sub(*rest, len, rest->len);
    return DG_OK;
}

static enum dg_err read_prompt(struct dg_template *template, const char *text, struct dg_why *why)
{
    struct dg_span rest = dg_span_cstr(text), bytes;
    size_t n_texts = 0;
    enum place place;
    enum dg_err err = DG_OK;
    if (rest.len > DG_TEMPLATE_TEXT_MAX)
        return dg_why_set(why, DG_ERR_LIMIT, "template: %zu bytes, expected at most %d", rest.len, DG_TEMPLATE_TEXT_MAX);
    memcpy(template->prompt, text, rest.len + 1);
    while (rest.len && !err) {
        err = next_part(&rest, &place, &bytes, why);
        n_texts += !err && place == TEXT;
    }
    if (!err && n_texts != 1)
        err = dg_why_set(why, DG_ERR_INVALID, "template: {text} stands there %zu times, expected once", n_texts);
    return err;
}

static enum dg_err read_stops(struct dg_template *template, const char *text, struct dg_why *why)
{
    struct dg_span rest = dg_span_cstr(text);
    char *to = template->stop_bytes;
    if (rest.len > DG_TEMPLATE_STOP_MAX)
        return dg_why_set(why, DG_ERR_LIMIT, "template-stop: %zu bytes, expected at most %d", rest.len, DG_TEMPLATE_STOP_MAX);
    while (rest.len) {
        struct dg_span *stop = &template->stops[template->n_stops];
        if (template->n_stops == DG_TEMPLATE_STOPS)
            return dg_why_set(why, DG_ERR_LIMIT, "template-stop: more than %d texts", DG_TEMPLATE_STOPS);
        *stop = dg_span_make(to, 0);
        while (rest.len && rest.ptr[0] != '|') {
            struct dg_span bytes = dg_span_sub(rest, 0, 1);
            enum place place = LITERAL;
            if (rest.ptr[0] == '\\') {
                enum dg_err err = next_part(&rest, &place, &bytes, why);
                if (err)
                    return err;
            } else {
                rest = dg_span_sub(rest, 1, rest.len);
            }
            *to++ = bytes.ptr[0];
            stop->len++;
        }
        rest = dg_span_sub(rest, 1, rest.len);
        template->n_stops += stop->len > 0;
    }
    return DG_OK;
}

/* ---- Ends ------------------------------------------------------------------------------------------ */

/* The token's text by itself. */
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

static enum dg_err list_ends(struct dg_template *template, const struct dg_template_opts *opts, struct dg_why *why)
{
    const size_t n_words = dg_tokenizer_target(opts->tokenizer).size, V = opts->blueprint->decoder.V;
    bool is_said[DG_TEMPLATE_STOPS] = {false};
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
            if (dg_stops_find(&template->stops[i], 1, dg_buf_span(&text), 0) != SIZE_MAX)
                template->ends[id] = is_said[i] = true;
    }
    dg_buf_deinit(&text);
    dg_tokenizer_stream_deinit(&stream);
    for (size_t i = 0; i < opts->blueprint->lm.n_stop; i++)
        if (opts->blueprint->lm.stop[i] >= 0 && (size_t)opts->blueprint->lm.stop[i] < V)
            template->ends[opts->blueprint->lm.stop[i]] = 1;
    for (size_t i = 0; i < template->n_stops && !err; i++)
        if (!is_said[i])
            err = dg_why_set(why, DG_ERR_UNSUPPORTED, "template-stop: no token of the model has the text '%.*s' in it; expected "
                             "one that a token ends with", DG_SPAN_FMT(template->stops[i]));
    return err;
}

/* ---- Life -------------------------------------------------------------------------------------------- */

enum dg_err dg_template_new(struct dg_template **out, const struct dg_template_opts *opts, struct dg_why *why)
{
    struct dg_template *template = dg_try_calloc(1, sizeof *template);
    if (!template)
        return dg_why_set(why, DG_ERR_NOMEM, "no memory for a template");
    enum dg_err err = read_prompt(template, opts->prompt, why);
    if (!err)
        err = read_stops(template, opts->stop ? opts->stop : "", why);
    if (!err && opts->tokenizer)
        err = list_ends(template, opts, why);
    if (err) {
        dg_template_free(template);
        return err == DG_ERR_NOMEM ? dg_why_set(why, err, "no memory for a template") : err;
    }
    *out = template;
    return DG_OK;
}

void dg_template_free(struct dg_template *template)
{
    if (!template)
        return;
    dg_free(template->ends);
    dg_free(template);
}

/* ---- Use ----------------------------------------------------------------------------------------------- */

static struct dg_span name_of(const struct dg_lang *lang)
{
    return dg_span_cstr(*lang->name ? lang->name : lang->code);
}

enum dg_err dg_template_fill(const struct dg_template *template, const struct dg_pair *pair, struct dg_span text,
                             struct dg_buf *prompt, size_t *text_at)
{
    const size_t begin = prompt->len;
    struct dg_span rest = dg_span_cstr(template->prompt), bytes = {.len = 0};
    enum place place;
    enum dg_err err = DG_OK;
    while (rest.len && !err) {
        err = next_part(&rest, &place, &bytes, NULL); /* it was checked */
        if (!err && place == TEXT)
            *text_at = prompt->len - begin;
        const struct dg_span made[] = {
            [SOURCE] = name_of(pair->source),
            [TARGET] = name_of(pair->target),
            [SOURCE_CODE] = dg_span_cstr(pair->source->code),
            [TARGET_CODE] = dg_span_cstr(pair->target->code),
            [TEXT] = text,
            [LITERAL] = bytes,
        };
        if (!err)
            err = dg_buf_append_span(prompt, made[place]);
    }
    return err;
}

const uint8_t *dg_template_ends(const struct dg_template *template)
{
    return template->ends;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

void dg_template_hear(const struct dg_template *template, struct dg_span said, bool is_over, size_t *from, size_t *upto)
{
    const size_t stop = dg_stops_find(template->stops, template->n_stops, said, *upto);
    size_t end = stop != SIZE_MAX ? stop : said.len;
    if (stop == SIZE_MAX && !is_over)
        end -= dg_stops_doubtful(template->stops, template->n_stops, said);
    if (*upto == *from) { /* nothing was told: blanks before it are none of it */
        while (*from < end && is_blank(said.ptr[*from]))
            (*from)++;
        *upto = *from;
    }
    while (end > *upto && is_blank(said.ptr[end - 1]))
        end--;
    *upto = end > *upto ? end : *upto;
}
