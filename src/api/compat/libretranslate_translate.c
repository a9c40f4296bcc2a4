/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* POST /translate as LibreTranslate has it:
 *
 *     q         a text, or in JSON an array of texts
 *     source    a language code, or "auto"
 *     target    a language code
 *     format    "text" or "html"
 *     alternatives  how many other translations of each text
 *
 *     {"alternatives":[...],"detectedLanguage":{"confidence":90,"language":"fr"},"translatedText":"..."}
 *
 * Members mirror q: arrays of the same length for an array. The order of the checks is that of the
 * original, since clients' tests look for the first sentence. */
#include "api/compat/libretranslate.h"
#include "api/http/api_int.h"
#include "base/memory/utf8.h"

/* ---- The answer ------------------------------------------------------------------------------ */

static void put_detected(struct dg_json_out *out, const struct dg_compat_item *item)
{
    dg_json_out_open(out, '{');
    dg_json_out_put_int(out, "confidence", dg_libretranslate_percent(item->confidence));
    dg_json_out_put_cstr(out, "language",
                         item->is_blank   ? "en"
                         : item->detected ? item->detected
                         : item->from     ? item->from->code
                                          : "en");
    dg_json_out_close(out, '}');
}

static void put_alternatives(struct dg_json_out *out, const struct dg_compat *compat, size_t i)
{
    dg_json_out_open(out, '[');
    for (int k = 1; k <= compat->job->options.alternatives; k++)
        if (dg_compat_alternative(compat, i, k).len)
            dg_json_out_string(out, dg_compat_alternative(compat, i, k));
    dg_json_out_close(out, ']');
}

enum member { ALTERNATIVES, DETECTED, TEXT };

/* Puts one member for all texts: a value, or an array of values when q was an array. */
static void put_member(struct dg_json_out *out, const struct dg_compat *compat, const char *key,
                       enum member member)
{
    dg_json_out_key(out, key);
    if (compat->is_array)
        dg_json_out_open(out, '[');
    for (size_t i = 0; i < compat->n; i++) {
        if (member == ALTERNATIVES)
            put_alternatives(out, compat, i);
        else if (member == DETECTED)
            put_detected(out, &compat->items[i]);
        else
            dg_json_out_string(out, dg_compat_result(compat, i));
    }
    if (compat->is_array)
        dg_json_out_close(out, ']');
}

/* Writes what the translation could not keep: for one text as members of its own; for an array
 * as one object for each text, if any text has some. */
static void put_lost(struct dg_json_out *out, const struct dg_compat *compat)
{
    size_t n = 0;
    for (size_t i = 0; i < compat->n; i++)
        n += compat->items[i].n_lost + compat->items[i].n_missed + compat->items[i].is_foreign;
    if (n == 0)
        return;
    if (!compat->is_array) {
        dg_compat_put_notes(out, compat, &compat->items[0]);
        return;
    }
    dg_json_out_put_open(out, "notes", '[');
    for (size_t i = 0; i < compat->n; i++) {
        dg_json_out_open(out, '{');
        dg_compat_put_notes(out, compat, &compat->items[i]);
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
}

static void on_whole(struct dg_compat *compat, struct dg_json_out *out)
{
    bool wants_alternatives = compat->user != NULL;
    dg_json_out_open(out, '{');
    if (wants_alternatives)
        put_member(out, compat, "alternatives", ALTERNATIVES);
    if (!compat->from)
        put_member(out, compat, "detectedLanguage", DETECTED);
    put_member(out, compat, "translatedText", TEXT);
    put_lost(out, compat);
    dg_json_out_close(out, '}');
}

/* ---- The request ----------------------------------------------------------------------------- */

/* Returns true when a field is present and is neither "", [] nor 0, which the original takes for
 * missing. */
static bool is_given(const struct dg_compat *compat, const char *name)
{
    const struct dg_field *field = dg_fields_get(&compat->fields, name);
    return field && field->kind != DG_FIELD_EMPTY &&
           (field->value.len || field->kind == DG_FIELD_OTHER || field->in_array);
}

static bool check_given(const struct dg_compat *compat, struct dg_error *error)
{
    static const char *const names[] = {"q", "source", "target"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!is_given(compat, names[i])) {
            dg_error_set(error, DG_ERR_INVALID, "Invalid request: missing %s parameter", names[i]);
            return false;
        }
    }
    return true;
}

/* Makes all line ends alike: those of a form are those of the system on which it was filled in. */
static enum dg_err even_line_ends(struct dg_arena *arena, struct dg_span *text)
{
    char *even = dg_arena_alloc(arena, text->len + 1);
    size_t n = 0, at = 0;
    if (!even)
        return DG_ERR_NOMEM;
    while (at < text->len) {
        const char *cr = memchr(text->ptr + at, '\r', text->len - at);
        const size_t end = cr ? (size_t)(cr - text->ptr) : text->len;
        memcpy(even + n, text->ptr + at, end - at);
        n += end - at;
        at = end + 1;
        if (cr && !(at < text->len && text->ptr[at] == '\n'))
            even[n++] = '\n';
    }
    if (n && even[n - 1] == '\n')
        n--;
    *text = dg_span_make(even, n);
    return DG_OK;
}

static bool read_texts(struct dg_compat *compat, struct dg_error *error)
{
    const struct dg_field *q = dg_fields_get(&compat->fields, "q");
    enum dg_err err;
    if (q->in_array) {
        err = dg_compat_texts_of(compat, q);
    } else {
        err = dg_compat_texts(compat, 1); /* a form has only its first q */
        if (!err)
            compat->items[0].text = q->value;
        if (!err && q->kind != DG_FIELD_TEXT)
            err = DG_ERR_INVALID;
    }
    if (!err && !compat->fields.is_json)
        err = even_line_ends(compat->arena, &compat->items[0].text);
    if (!err)
        return true;
    dg_error_set(error, err,
                 err == DG_ERR_NOMEM
                     ? "Cannot translate text: the server is out of memory"
                     : "Invalid request: q parameter is not a string or an array of strings");
    return false;
}

static bool read_alternatives(struct dg_compat *compat, struct dg_error *error)
{
    const struct dg_field *field = dg_fields_get(&compat->fields, "alternatives");
    const int max = compat->work.call->api->opts.alternatives_max;
    int64_t n = 0;
    if (!field || (field->kind == DG_FIELD_TEXT && field->value.len == 0))
        return true;
    if (field->in_array || !dg_field_int(field, &n) || n < 0) {
        dg_error_set(error, DG_ERR_INVALID,
                     "Invalid request: alternatives parameter is not a number");
        return false;
    }
    if (n > max) {
        dg_error_set(error, DG_ERR_RANGE, "Invalid request: alternatives parameter must be <= %d",
                     max);
        return false;
    }
    compat->job->options.alternatives = (int)n;
    compat->user = n ? compat : NULL;
    return true;
}

static bool check_limits(const struct dg_compat *compat, struct dg_error *error)
{
    const struct dg_api_opts *opts = &compat->work.call->api->opts;
    size_t size = compat->n, limit = opts->texts_max;
    bool is_over = size > limit;
    for (size_t i = 0; !is_over && opts->characters_max && i < compat->n; i++) {
        size = dg_utf8_count(compat->items[i].text);
        limit = opts->characters_max;
        is_over = size > limit;
    }
    if (is_over)
        dg_error_set(error, DG_ERR_LIMIT, "Invalid request: request (%zu) exceeds text limit (%zu)",
                     size, limit);
    return !is_over;
}

static bool read_format(struct dg_compat *compat, struct dg_error *error)
{
    struct dg_span format = dg_fields_text(&compat->fields, "format");
    const struct dg_field *field = dg_fields_get(&compat->fields, "format");
    if (!field ||
        (field->kind == DG_FIELD_TEXT && (format.len == 0 || dg_span_eq(format, DG_SPAN("text")))))
        return true;
    if (field->kind == DG_FIELD_TEXT && dg_span_eq(format, DG_SPAN("html"))) {
        compat->job->options.request.format = DG_DOC_HTML;
        compat->job->options.alternatives = 0; /* a text with markup has no alternatives: the answer
                                                  lists them as [] */
        return true;
    }
    dg_error_set(error, DG_ERR_UNSUPPORTED, "%.*s format is not supported",
                 DG_SPAN_FMT(dg_span_sub(field->value, 0, 100)));
    return false;
}

void dg_libretranslate_translate(struct dg_call *call, struct dg_compat *compat)
{
    struct dg_error error = DG_ERROR_NONE;
    bool is_fine =
        check_given(compat, &error) && read_texts(compat, &error) &&
        read_alternatives(compat, &error) && check_limits(compat, &error) &&
        dg_libretranslate_language(compat, "source", DG_LANGUAGE_ANY, &compat->from, &error) &&
        dg_libretranslate_language(compat, "target", DG_LANGUAGE_ANY, &compat->to, &error) &&
        read_format(compat, &error) && dg_libretranslate_pair(compat, &error);
    (void)call;
    if (!is_fine) {
        dg_compat_fail(compat, 400, "invalid_value", error.text);
        return;
    }
    dg_compat_start(compat, on_whole);
}
