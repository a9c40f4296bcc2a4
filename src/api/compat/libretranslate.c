/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* LibreTranslate's errors, headers and language codes, and its small routes; those with work of
 * their own are in libretranslate_translate.c, libretranslate_file.c and libretranslate_suggest.c.
 * What is said here is what its clients read, quirks included (docs/api/compatible.md). */
#include "api/compat/libretranslate.h"
#include "api/compat/azure.h"
#include "api/compat/compat_routes.h"
#include "api/http/api_int.h"
#include "net/proto/target.h"
#include "text/language/langid.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

enum { ANSWER_MAX = 4 << 20, GUESSES = 3, SENTENCE_MAX = 512 };

/* ---- The dialect ----------------------------------------------------------------------------- */

/* Returns LibreTranslate's sentence for a failure that our routes describe in their own words;
 * NULL: our sentence is used. */
static const char *sentence_of(const struct dg_failure *failure)
{
    if (strcmp(failure->code, "invalid_json") == 0)
        return "Invalid JSON format";
    if (strcmp(failure->code, "key_required") == 0)
        return "Please contact the server operator to get an API key";
    if (failure->status == 401)
        return "Invalid API key";
    return NULL;
}

static int status_of(const struct dg_failure *failure)
{
    if (strcmp(failure->code, "key_required") == 0)
        return 400;
    return failure->status == 401 ? 403 : failure->status;
}

static void fail(struct dg_call *call, const struct dg_failure *failure)
{
    struct dg_buf buf;
    struct dg_json_out out;
    char text[SENTENCE_MAX];
    const char *sentence = sentence_of(failure);
    int status = status_of(failure);
    if (failure->status == 429) { /* in LibreTranslate's words */
        if (failure->unit)
            snprintf(text, sizeof text, "Slowdown: %" PRId64 " %s", failure->limit, failure->unit);
        else
            snprintf(text, sizeof text, "Slowdown: %s", failure->message);
        sentence = text;
    }
    if (status >= 500 && status != 503 && status != 504) {
        snprintf(text, sizeof text, "Cannot translate text: %s", failure->message);
        sentence = text;
    }
    dg_buf_init(&buf, 16 * 1024);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "error", sentence ? sentence : failure->message);
    dg_json_out_close(&out, '}');
    if (dg_json_out_end(&out) == DG_OK)
        dg_call_json(call, status, dg_buf_span(&buf));
    else
        dg_call_fail_without_memory(call);
    dg_buf_deinit(&buf);
}

/* Adds the headers that LibreTranslate puts on every answer, if pages of other origins may call at
 * all. */
static void add_headers(struct dg_call *call)
{
    const char *origin = call->api->opts.cors_origin;
    if (!origin || !*origin || call->req->method == DG_HTTP_OPTIONS)
        return;
    dg_http_reply_header(call->req, "Access-Control-Allow-Headers",
                         DG_SPAN("Authorization, Content-Type"));
    dg_http_reply_header(call->req, "Access-Control-Allow-Methods", DG_SPAN("GET, POST"));
    dg_http_reply_header(call->req, "Access-Control-Allow-Credentials", DG_SPAN("true"));
    dg_http_reply_header(call->req, "Access-Control-Max-Age", DG_SPAN("1728000"));
}

const struct dg_dialect dg_libretranslate_dialect = {
    .name = "libretranslate", .fail = fail, .add_headers = add_headers};

/* ---- Languages ------------------------------------------------------------------------------- */

int dg_libretranslate_percent(float confidence)
{
    return (int)(confidence * 100.0f + 0.5f);
}

bool dg_libretranslate_language(const struct dg_compat *compat, const char *field, unsigned side,
                                const struct dg_language **language, struct dg_error *error)
{
    const struct dg_field *given = dg_fields_get(&compat->fields, field);
    struct dg_span code = given ? given->value : (struct dg_span){NULL, 0};
    if (side != DG_LANGUAGE_TARGET && strcmp(field, "source") == 0 && code.len == 4 &&
        strncasecmp(code.ptr, "auto", 4) == 0) {
        *language = NULL;
        return true;
    }
    *language = given && given->kind == DG_FIELD_TEXT
                    ? dg_languages_find(&compat->langs, code, side)
                    : NULL;
    if (!*language)
        dg_error_set(error, DG_ERR_NOT_FOUND, "%.*s is not supported",
                     DG_SPAN_FMT(dg_span_sub(code, 0, 100)));
    return *language != NULL;
}

bool dg_libretranslate_pair(const struct dg_compat *compat, struct dg_error *error)
{
    const struct dg_language *from = compat->from, *to = compat->to;
    const bool leads = dg_compat_leads(compat);
    if (!leads)
        dg_error_set(error, DG_ERR_NOT_FOUND,
                     "%s (%s) is not available as a target language from %s (%s)", to->name,
                     to->code, from ? from->name : "Auto Detect", from ? from->code : "auto");
    return leads;
}

static void put_language(struct dg_json_out *out, const struct dg_languages *langs,
                         const struct dg_language *from)
{
    dg_json_out_open(out, '{');
    dg_json_out_put_cstr(out, "code", from->code);
    dg_json_out_put_cstr(out, "name", from->name);
    dg_json_out_put_open(out, "targets", '[');
    for (size_t i = 0; i < langs->n; i++)
        if (dg_languages_lead(langs, from, &langs->items[i]))
            dg_json_out_cstr(out, langs->items[i].code);
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
}

/* Ends the JSON and answers with it, or with 503 when memory ran out. */
static void answer(struct dg_call *call, struct dg_json_out *out)
{
    if (dg_json_out_end(out) == DG_OK)
        dg_call_json(call, 200, dg_buf_span(out->buf));
    else
        dg_call_fail(call,
                     (struct dg_failure){.status = 503,
                                         .code = "overloaded",
                                         .retry_after_s = 1,
                                         .message = "There is not enough memory for the answer."});
}

/* MTranServer has this path, too, and its clients are known by how they send their token. */
static bool speaks_mtran(const struct dg_call *call)
{
    struct dg_query query = dg_query_over(call->req->query);
    struct dg_span name, value;
    bool more = true, is_token = dg_http_header(call->req, "x-api-token").len > 0;
    while (!is_token && dg_query_next(&query, call->req->arena, &name, &value, &more) == DG_OK &&
           more)
        is_token = dg_span_eq(name, DG_SPAN("token")) || dg_span_eq(name, DG_SPAN("api_token"));
    return is_token;
}

void dg_libretranslate_languages(struct dg_call *call)
{
    if (call->dialect == &dg_azure_dialect) {
        dg_azure_languages(call);
        return;
    }
    if (speaks_mtran(call)) {
        dg_compat_mtran_languages(call);
        return;
    }
    struct dg_buf buf;
    struct dg_json_out out;
    struct dg_languages langs = {.n = 0};
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    if (call->api->engine && dg_languages_read(&call->api->languages, call->api->engine,
                                               call->req->arena, &langs) != DG_OK)
        out.err = DG_ERR_NOMEM;
    dg_json_out_open(&out, '[');
    for (size_t i = 0; i < langs.n; i++)
        put_language(&out, &langs, &langs.items[i]);
    dg_json_out_close(&out, ']');
    answer(call, &out);
    dg_buf_deinit(&buf);
}

/* ---- POST /detect ---------------------------------------------------------------------------- */

static void put_guess(struct dg_json_out *out, int confidence, const char *language)
{
    dg_json_out_open(out, '{');
    dg_json_out_put_int(out, "confidence", confidence);
    dg_json_out_put_cstr(out, "language", language);
    dg_json_out_close(out, '}');
}

/* Puts the guesses among the languages of the server, in the codes that /languages prints. */
static enum dg_err put_guesses(const struct dg_compat *compat, struct dg_span text,
                               struct dg_json_out *out, struct dg_error *error)
{
    struct dg_langid_guess guesses[GUESSES];
    size_t n = 0;
    enum dg_err err = dg_compat_guess(compat, text, guesses, GUESSES, error, &n);
    dg_json_out_open(out, '[');
    for (size_t i = 0; i < n; i++) {
        const struct dg_language *known =
            dg_languages_find(&compat->langs, dg_span_cstr(guesses[i].tag), DG_LANGUAGE_ANY);
        if (i == 0 || dg_libretranslate_percent(guesses[i].confidence) > 0)
            put_guess(out, dg_libretranslate_percent(guesses[i].confidence),
                      known ? known->code : guesses[i].tag);
    }
    if (n == 0)
        put_guess(out, 0, "en");
    dg_json_out_close(out, ']');
    return err;
}

/* MTranServer's clients send `text` in place of `q`, and want a single answer. */
static enum dg_err put_best(const struct dg_compat *compat, struct dg_span text,
                            struct dg_json_out *out, struct dg_error *error)
{
    const char *code = NULL;
    double confidence = 0;
    const enum dg_err err = dg_compat_detect(compat, text, error, &code, &confidence);
    dg_json_out_open(out, '{');
    dg_json_out_put_cstr(out, "language", code ? code : "");
    dg_json_out_put_real(out, "confidence", confidence, 4);
    dg_json_out_close(out, '}');
    return err;
}

/* Joins all texts of an array, so that they get common guesses. */
static enum dg_err pool(struct dg_compat *compat, struct dg_buf *text)
{
    const struct dg_field *q = dg_fields_get(&compat->fields, "q");
    enum dg_err err = dg_compat_texts_of(compat, q ? q : dg_fields_get(&compat->fields, "text"));
    for (size_t i = 0; !err && i < compat->n; i++) {
        err = dg_buf_append_span(text, compat->items[i].text);
        if (!err)
            err = dg_buf_append_byte(text, '\n');
    }
    return err;
}

/* The pooled text is `user`. */
static void put_detection(struct dg_compat *compat, struct dg_json_out *out)
{
    const struct dg_span text = *(const struct dg_span *)compat->user;
    const enum dg_err err = dg_fields_get(&compat->fields, "q")
                                ? put_guesses(compat, text, out, &compat->error)
                                : put_best(compat, text, out, &compat->error);
    if (err)
        out->err = err;
}

static void on_detect_open(struct dg_call *call, struct dg_compat *compat)
{
    struct dg_buf text;
    dg_buf_init(&text, call->req->body.len * 2 + call->req->query.len + 16);
    enum dg_err err = pool(compat, &text);
    struct dg_span *pooled = dg_arena_calloc(compat->arena, 1, sizeof *pooled);
    if (!err && pooled)
        *pooled = dg_arena_copy(compat->arena, dg_buf_span(&text));
    if (!err && (!pooled || !pooled->ptr))
        err = DG_ERR_NOMEM;
    if (err || text.len <= compat->n) {
        dg_compat_fail(compat, err == DG_ERR_NOMEM ? 503 : 400, "missing_field",
                       err == DG_ERR_INVALID
                           ? "Invalid request: q parameter is not a string or an array of strings"
                       : err ? "The server is out of memory."
                             : "Invalid request: missing q parameter");
    } else {
        compat->user = pooled;
        dg_compat_look(compat, dg_fields_text(&compat->fields, "api_key"), pooled->len,
                       put_detection);
    }
    dg_buf_deinit(&text);
}

void dg_libretranslate_detect(struct dg_call *call)
{
    if (call->dialect == &dg_azure_dialect)
        dg_azure_detect(call);
    else
        dg_compat_open(call, on_detect_open);
}

/* ---- Small things ---------------------------------------------------------------------------- */

static void put_pair(struct dg_json_out *out, const char *key, const char *code, const char *name)
{
    dg_json_out_put_open(out, key, '{');
    dg_json_out_put_cstr(out, "code", code);
    dg_json_out_put_cstr(out, "name", name);
    dg_json_out_close(out, '}');
}

/* The settings that LibreTranslate's web page reads before it shows itself. */
void dg_libretranslate_settings(struct dg_call *call)
{
    struct dg_buf buf;
    struct dg_json_out out;
    struct dg_languages langs = {.n = 0};
    const struct dg_language *target = NULL;
    const struct dg_api_opts *opts = &call->api->opts;
    static const char *const endings[] = {
        ".docx", ".pptx",    ".xlsx",        ".odt",        ".odp",  ".ods",
        ".epub", ".strings", ".stringsdict", ".properties", ".resx", ".csv",
        ".tsv",  ".yml",     ".yaml",        ".tex",        ".eml",  ".pdf"};
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    if (call->api->engine && dg_languages_read(&call->api->languages, call->api->engine,
                                               call->req->arena, &langs) != DG_OK)
        out.err = DG_ERR_NOMEM;
    for (size_t i = 0; i < langs.n && !target; i++)
        target = langs.items[i].sides & DG_LANGUAGE_TARGET ? &langs.items[i] : NULL;
    dg_json_out_open(&out, '{');
    dg_json_out_put_bool(&out, "apiKeys",
                         call->api->access && dg_access_has_keys(call->api->access));
    dg_json_out_put_int(&out, "charLimit",
                        opts->characters_max ? (int64_t)opts->characters_max : -1);
    dg_json_out_put_bool(&out, "filesTranslation", dg_documents_are_taken(&call->api->documents));
    dg_json_out_put_int(&out, "frontendTimeout", 500);
    dg_json_out_put_bool(&out, "keyRequired",
                         call->api->access && dg_access_rules(call->api->access)->require_key);
    dg_json_out_put_open(&out, "language", '{');
    put_pair(&out, "source", "auto", "Auto Detect");
    put_pair(&out, "target", target ? target->code : "en", target ? target->name : "English");
    dg_json_out_close(&out, '}');
    dg_json_out_put_bool(&out, "suggestions", opts->suggestions && *opts->suggestions);
    dg_json_out_put_open(&out, "supportedFilesFormat", '[');
    for (int i = 0; i < DG_DOC_FORMATS; i++) {
        char ending[16];
        snprintf(ending, sizeof ending, ".%.*s", DG_SPAN_FMT(dg_doc_ending((enum dg_doc_format)i)));
        dg_json_out_cstr(&out, ending);
    }
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        dg_json_out_cstr(&out, endings[i]);
    dg_json_out_close(&out, ']');
    dg_json_out_close(&out, '}');
    answer(call, &out);
    dg_buf_deinit(&buf);
}

/* Always "ok", as in LibreTranslate: whether models are ready is answered by /readyz. */
void dg_libretranslate_health(struct dg_call *call)
{
    dg_call_json(call, 200, DG_SPAN("{\"status\":\"ok\"}"));
}

/* Swagger 2, for programs that generate clients from it: paths, their parameters, and where these
 * go. */
void dg_libretranslate_spec(struct dg_call *call)
{
    static const struct {
        const char *path, *method, *summary;
        const char *parameters[6]; /* a '!' stands before the names of those that are required */
    } rows[] = {
        {"/translate",
         "post",
         "Translate text",
         {"!q", "!source", "!target", "format", "alternatives", "api_key"}},
        {"/detect", "post", "Detect the language of a text", {"!q", "api_key"}},
        {"/languages", "get", "List the languages", {NULL}},
        {"/translate_file", "post", "Translate a file", {"!file", "!source", "!target", "api_key"}},
        {"/suggest",
         "post",
         "Suggest a better translation",
         {"!q", "!s", "!source", "!target", "api_key"}},
        {"/frontend/settings", "get", "Settings for a web page", {NULL}},
        {"/health", "get", "Say whether the server is up", {NULL}},
    };
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "swagger", "2.0");
    dg_json_out_put_open(&out, "info", '{');
    dg_json_out_put_cstr(&out, "title", "LibreTranslate");
    dg_json_out_put_cstr(&out, "version", call->api->opts.version);
    dg_json_out_close(&out, '}');
    dg_json_out_put_open(&out, "paths", '{');
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dg_json_out_put_open(&out, rows[i].path, '{');
        dg_json_out_put_open(&out, rows[i].method, '{');
        dg_json_out_put_cstr(&out, "summary", rows[i].summary);
        if (rows[i].parameters[0]) {
            dg_json_out_put_open(&out, "consumes", '[');
            dg_json_out_cstr(&out, "multipart/form-data");
            if (strcmp(rows[i].parameters[0], "!file") != 0)
                dg_json_out_cstr(&out, "application/x-www-form-urlencoded");
            dg_json_out_close(&out, ']');
        }
        dg_json_out_put_open(&out, "produces", '[');
        dg_json_out_cstr(&out, "application/json");
        dg_json_out_close(&out, ']');
        dg_json_out_put_open(&out, "parameters", '[');
        for (size_t k = 0; k < 6 && rows[i].parameters[k]; k++) {
            const char *name = rows[i].parameters[k];
            bool is_needed = *name == '!';
            dg_json_out_open(&out, '{');
            dg_json_out_put_cstr(&out, "in", "formData");
            dg_json_out_put_cstr(&out, "name", name + is_needed);
            dg_json_out_put_bool(&out, "required", is_needed);
            dg_json_out_put_cstr(&out, "type",
                                 strcmp(name, "!file") == 0          ? "file"
                                 : strcmp(name, "alternatives") == 0 ? "integer"
                                                                     : "string");
            dg_json_out_close(&out, '}');
        }
        dg_json_out_close(&out, ']');
        dg_json_out_put_open(&out, "responses", '{');
        dg_json_out_put_open(&out, "200", '{');
        dg_json_out_put_cstr(&out, "description", "The result");
        dg_json_out_close(&out, '}');
        dg_json_out_close(&out, '}');
        dg_json_out_close(&out, '}');
        dg_json_out_close(&out, '}');
    }
    dg_json_out_close(&out, '}');
    dg_json_out_close(&out, '}');
    answer(call, &out);
    dg_buf_deinit(&buf);
}
