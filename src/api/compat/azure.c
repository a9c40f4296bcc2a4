/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What Azure's routes share, and the three routes that do not translate. */
#include "api/compat/azure.h"
#include "api/http/api_int.h"
#include "base/memory/utf8.h"
#include "net/proto/target.h"
#include "text/sentence/segment.h"

#include <stdio.h>
#include <strings.h>

enum { ANSWER_MAX = 16 << 20, TRACE_MAX = 100, SENTENCES_MAX = 50 * 1000 };

/* ---- The dialect ----------------------------------------------------------------------------- */

/* Returns Azure's number for a failure: the one in its code, or that of its kind. */
static int number_of(const struct dg_failure *failure)
{
    static const struct {
        const char *code;
        int number;
    } rows[] = {{"invalid_json", 400074},
                {"limit_reached", 400050},
                {"body_too_large", 400077},
                {"quota_exceeded", 403001},
                {"no_such_model", 400023}};
    int number = 0;
    for (const char *digit = failure->code; *digit >= '0' && *digit <= '9'; digit++)
        number = number * 10 + (*digit - '0');
    if (number)
        return number;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(failure->code, rows[i].code) == 0)
            return rows[i].number;
    return failure->status == 413 ? 400077 : failure->status * 1000;
}

static void fail(struct dg_call *call, const struct dg_failure *failure)
{
    const int number = number_of(failure);
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, 16 * 1024);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_open(&out, "error", '{');
    dg_json_out_put_int(&out, "code", number);
    dg_json_out_put_cstr(&out, "message", failure->message);
    dg_json_out_close(&out, '}');
    dg_json_out_close(&out, '}');
    if (dg_json_out_end(&out) == DG_OK)
        dg_call_json(call, number / 1000, dg_buf_span(&buf));
    else
        dg_call_fail_without_memory(call);
    dg_buf_deinit(&buf);
}

static void add_headers(struct dg_call *call)
{
    const struct dg_span trace = dg_http_header(call->req, "x-clienttraceid");
    dg_http_reply_header(call->req, "X-RequestId", dg_span_cstr(call->id));
    if (trace.len && trace.len <= TRACE_MAX)
        dg_http_reply_header(call->req, "X-ClientTraceId", trace);
}

const struct dg_dialect dg_azure_dialect = {.name = "azure",
                                            .fail = fail,
                                            .add_headers = add_headers,
                                            .key_name = "Subscription-Key",
                                            .takes_array = true};

bool dg_azure_asks(const struct dg_call *call)
{
    struct dg_query query = dg_query_over(call->req->query);
    struct dg_span name, value;
    bool more = true;
    while (dg_query_next(&query, call->req->arena, &name, &value, &more) == DG_OK && more)
        if (dg_span_eq(name, DG_SPAN("api-version")))
            return true;
    return false;
}

/* ---- The request ----------------------------------------------------------------------------- */

/* Returns true, and the number, when the field is a member "Text" of an element of the body:
 * "[12].Text". */
static bool is_text_of(const struct dg_field *field, size_t *i)
{
    const char *name = field->name.ptr;
    const size_t len = field->name.len;
    size_t at = 1;
    if (field->from_query || len < sizeof "[0].Text" - 1 || name[0] != '[')
        return false;
    for (*i = 0; at < len && name[at] >= '0' && name[at] <= '9'; at++)
        *i = *i * 10 + (size_t)(name[at] - '0');
    return len - at == sizeof "].Text" - 1 && strncasecmp(name + at, "].Text", len - at) == 0;
}

bool dg_azure_read(struct dg_compat *compat, struct dg_span **texts, size_t *n)
{
    const struct dg_fields *fields = &compat->fields;
    const struct dg_field *first = dg_fields_get(fields, "");
    const size_t n_max = compat->work.call->api->opts.texts_max;
    const struct dg_span version = dg_fields_text(fields, "api-version");
    char message[80];
    size_t i;
    if (!dg_span_eq(version, DG_SPAN("3.0"))) {
        dg_compat_fail(compat, 400, "400021", "api-version: expected 3.0");
        return false;
    }
    *n = first && !first->from_query ? dg_fields_count(fields, first) : 0;
    if (!fields->is_json || !first || first->from_query) {
        dg_compat_fail(compat, 400, "400074",
                       "The body is not an array of JSON objects: [{\"Text\":\"...\"}].");
        return false;
    }
    if (*n > n_max) {
        snprintf(message, sizeof message, "read %zu texts, expected at most %zu", *n, n_max);
        dg_compat_fail(compat, 400, "400072", message);
        return false;
    }
    *texts = dg_arena_calloc(compat->arena, *n ? *n : 1, sizeof **texts);
    if (!*texts) {
        dg_compat_fail_with(compat, DG_ERR_NOMEM);
        return false;
    }
    for (const struct dg_field *field = fields->items; field < fields->items + fields->n; field++)
        if (is_text_of(field, &i) && field->kind == DG_FIELD_TEXT && i < *n)
            (*texts)[i] = field->value;
    for (i = 0; i < *n; i++) {
        if ((*texts)[i].ptr)
            continue;
        dg_compat_fail(compat, 400, "400005", "An element of the body has no text \"Text\".");
        return false;
    }
    return true;
}

size_t dg_azure_length(struct dg_span text)
{
    size_t n = 0;
    uint32_t cp;
    for (size_t at = 0, len; (len = dg_utf8_decode(text, at, &cp)) > 0; at += len)
        n += cp > 0xFFFF ? 2 : 1;
    return n;
}

void dg_azure_put_detected(struct dg_json_out *out, const char *code, double score)
{
    dg_json_out_put_open(out, "detectedLanguage", '{');
    dg_json_out_put_cstr(out, "language", code);
    dg_json_out_put_real(out, "score", score, 4);
    dg_json_out_close(out, '}');
}

/* ---- Routes that look at texts --------------------------------------------------------------- */

/* One of the three routes: the function that writes its result for a text. */
typedef enum dg_err (*put_fn)(struct dg_compat *compat, struct dg_span text,
                              struct dg_json_out *out, struct dg_error *error);

static void put_all(struct dg_compat *compat, struct dg_json_out *out, put_fn put)
{
    enum dg_err err = DG_OK;
    dg_json_out_open(out, '[');
    for (size_t i = 0; !err && i < compat->n; i++)
        err = put(compat, compat->items[i].text, out, &compat->error);
    dg_json_out_close(out, ']');
    if (err)
        out->err = err;
}

/* Reads the texts and goes to the gate. `is_long`: so much work that another thread does it. */
static void pass(struct dg_compat *compat, bool is_long,
                 void (*on_whole)(struct dg_compat *compat, struct dg_json_out *out))
{
    struct dg_span *texts;
    size_t n;
    if (!dg_azure_read(compat, &texts, &n))
        return;
    if (dg_compat_texts(compat, n) != DG_OK) {
        dg_compat_fail_with(compat, DG_ERR_NOMEM);
        return;
    }
    for (size_t i = 0; i < n; i++)
        compat->items[i].text = texts[i];
    if (dg_compat_characters(compat) > SENTENCES_MAX) {
        dg_compat_fail(compat, 400, "400050", "The texts have more than 50,000 characters.");
        return;
    }
    dg_compat_look(compat, (struct dg_span){NULL, 0}, is_long ? dg_compat_bytes(compat) : 0,
                   on_whole);
}

/* ---- POST /detect ---------------------------------------------------------------------------- */

static enum dg_err put_guess(struct dg_compat *compat, struct dg_span text, struct dg_json_out *out,
                             struct dg_error *error)
{
    const char *code = NULL;
    double confidence = 0;
    const enum dg_err err = dg_compat_detect(compat, text, error, &code, &confidence);
    const struct dg_language *known =
        code ? dg_languages_find(&compat->langs, dg_span_cstr(code), DG_LANGUAGE_SOURCE) : NULL;
    dg_json_out_open(out, '{');
    dg_json_out_put_cstr(out, "language", code ? code : "en");
    dg_json_out_put_real(out, "score", confidence, 4);
    dg_json_out_put_bool(out, "isTranslationSupported", known != NULL);
    dg_json_out_put_bool(out, "isTransliterationSupported", false);
    dg_json_out_close(out, '}');
    return err;
}

static void put_guesses(struct dg_compat *compat, struct dg_json_out *out)
{
    put_all(compat, out, put_guess);
}

static void on_detect(struct dg_call *call, struct dg_compat *compat)
{
    (void)call;
    pass(compat, true, put_guesses);
}

void dg_azure_detect(struct dg_call *call)
{
    dg_compat_open(call, on_detect);
}

/* ---- POST /breaksentence --------------------------------------------------------------------- */

/* Puts the lengths of the sentences. A sentence reaches up to the next one; the first one begins at
 * the beginning of the text. */
static void put_lengths(struct dg_json_out *out, struct dg_span text,
                        const struct dg_segments *segments)
{
    size_t from = 0;
    bool is_first = true;
    dg_json_out_put_open(out, "sentLen", '[');
    for (size_t i = 0; i < segments->n; i++) {
        const struct dg_segment *segment = &segments->items[i];
        if (segment->kind != DG_SEGMENT_SENTENCE)
            continue;
        if (!is_first) {
            dg_json_out_uint(out, dg_azure_length(dg_span_sub(text, from, segment->at - from)));
            from = segment->at;
        }
        is_first = false;
    }
    if (text.len)
        dg_json_out_uint(out, dg_azure_length(dg_span_sub(text, from, text.len)));
    dg_json_out_close(out, ']');
}

static enum dg_err put_sentences(struct dg_compat *compat, struct dg_span text,
                                 struct dg_json_out *out, struct dg_error *error)
{
    struct dg_api *api = compat->work.api;
    struct dg_segment_opts opts = DG_SEGMENT_OPTS_DEFAULT;
    struct dg_segments segments = {.n = 0};
    const char *code = compat->from ? compat->from->code : NULL;
    double confidence = 0;
    enum dg_err err = DG_OK;
    if (!compat->from)
        err = dg_compat_detect(compat, text, error, &code, &confidence);
    if (!err && !api->segmenter)
        err = dg_segmenter_new(&api->segmenter, error);
    opts.language = code;
    if (!err)
        err = dg_segmenter_run(api->segmenter, text, &opts, &segments, error);
    dg_json_out_open(out, '{');
    if (!compat->from)
        dg_azure_put_detected(out, code ? code : "en", confidence);
    put_lengths(out, text, &segments);
    dg_json_out_close(out, '}');
    return err;
}

static void put_all_sentences(struct dg_compat *compat, struct dg_json_out *out)
{
    put_all(compat, out, put_sentences);
}

static void on_sentences(struct dg_call *call, struct dg_compat *compat)
{
    const struct dg_span language = dg_fields_text(&compat->fields, "language");
    (void)call;
    if (language.len)
        compat->from = dg_languages_find(&compat->langs, language, DG_LANGUAGE_ANY);
    if (language.len && !compat->from)
        dg_compat_fail(compat, 400, "400003", "language: expected a language of this server");
    else
        pass(compat, false, put_all_sentences); /* not on another thread, because the segmenter
                                                   belongs to the loop */
}

void dg_azure_sentences(struct dg_call *call)
{
    dg_compat_open(call, on_sentences);
}

/* ---- GET /languages -------------------------------------------------------------------------- */

/* Returns whether the list names `scope`; an empty list names all. */
static bool names(struct dg_span list, const char *scope)
{
    const size_t len = strlen(scope);
    if (list.len == 0)
        return true;
    for (size_t at = 0; at < list.len;) {
        const char *comma = memchr(list.ptr + at, ',', list.len - at);
        const size_t end = comma ? (size_t)(comma - list.ptr) : list.len;
        if (end - at == len && strncasecmp(list.ptr + at, scope, len) == 0)
            return true;
        at = end + 1;
    }
    return false;
}

/* Returns "rtl" for a language that is written from right to left, by its script or, if the tag has
 * none, by the language; otherwise "ltr". */
static const char *direction_of(const struct dg_langtag *tag)
{
    static const char *const words[] = {"Arab", "Hebr", "Thaa", "Nkoo", "Syrc", "Adlm", NULL};
    static const char *const languages[] = {"ar",  "arz", "ckb", "dv", "fa", "he", "iw", "ks",
                                            "nqo", "ps",  "sd",  "ug", "ur", "yi", NULL};
    const bool has_script = tag->script[0] != '\0';
    const char *const *list = has_script ? words : languages;
    const char *mine = has_script ? tag->script : tag->language;
    while (*list && strcasecmp(*list, mine) != 0)
        list++;
    return *list ? "rtl" : "ltr";
}

static void put_name(struct dg_json_out *out, const char *key, const struct dg_langtag *tag,
                     const char *locale)
{
    struct dg_buf name;
    dg_buf_init(&name, 1024);
    if (dg_langtag_name(tag, locale, &name) == DG_OK)
        dg_json_out_put_string(out, key, dg_buf_span(&name));
    else
        dg_json_out_put_cstr(out, key, tag->text);
    dg_buf_deinit(&name);
}

static void put_languages(struct dg_call *call, struct dg_json_out *out, const char *locale)
{
    struct dg_engine *engine = call->api->engine;
    const struct dg_languages *langs =
        engine ? dg_languages_now(&call->api->languages, engine) : NULL;
    if (engine && !langs)
        out->err = DG_ERR_NOMEM;
    dg_json_out_put_open(out, "translation", '{');
    for (size_t i = 0; langs && i < langs->n; i++) {
        const struct dg_language *language = &langs->items[i];
        dg_json_out_put_open(out, language->code, '{');
        put_name(out, "name", &language->tag, locale);
        put_name(out, "nativeName", &language->tag, language->code);
        dg_json_out_put_cstr(out, "dir", direction_of(&language->tag));
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, '}');
}

/* Reads the first language of Accept-Language. */
static void read_locale(const struct dg_call *call, char locale[DG_LANGTAG_TEXT])
{
    const struct dg_span wanted = dg_http_header(call->req, "accept-language");
    size_t len = 0;
    while (len < wanted.len && len + 1 < DG_LANGTAG_TEXT && !strchr(",; *", wanted.ptr[len]))
        len++;
    if (len)
        snprintf(locale, DG_LANGTAG_TEXT, "%.*s", (int)len, wanted.ptr);
    else
        snprintf(locale, DG_LANGTAG_TEXT, "en");
}

/* Transliteration and dictionaries are in the answer, with nothing in them. */
void dg_azure_languages(struct dg_call *call)
{
    static const char *const empty[] = {"transliteration", "dictionary"};
    struct dg_query query = dg_query_over(call->req->query);
    struct dg_span name, value, scope = {NULL, 0}, version = {NULL, 0};
    char locale[DG_LANGTAG_TEXT];
    struct dg_buf buf;
    struct dg_json_out out;
    bool more = true;
    while (dg_query_next(&query, call->req->arena, &name, &value, &more) == DG_OK && more) {
        if (dg_span_eq(name, DG_SPAN("scope")))
            scope = value;
        else if (dg_span_eq(name, DG_SPAN("api-version")))
            version = value;
    }
    const bool knows_scope =
        names(scope, "translation") || names(scope, empty[0]) || names(scope, empty[1]);
    if (!dg_span_eq(version, DG_SPAN("3.0")) || !knows_scope) {
        dg_call_fail(call,
                     (struct dg_failure){.status = 400,
                                         .code = knows_scope ? "400021" : "400001",
                                         .message = knows_scope ? "api-version: expected 3.0"
                                                                : "scope: expected translation, "
                                                                  "transliteration or dictionary"});
        return;
    }
    read_locale(call, locale);
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    if (names(scope, "translation"))
        put_languages(call, &out, locale);
    for (size_t i = 0; i < 2; i++) {
        if (!names(scope, empty[i]))
            continue;
        dg_json_out_put_open(&out, empty[i], '{');
        dg_json_out_close(&out, '}');
    }
    dg_json_out_close(&out, '}');
    dg_call_json_out(call, 200, &out);
}
