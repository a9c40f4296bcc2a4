/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What the libraries of cloud services ask for besides translations, and those services'
 * translations that are not in compat_routes.c: Google's version 2 (detect, languages) and 3,
 * Amazon Translate, and hcfy's custom service, whose languages have Chinese names. */
#include "api/compat/compat_routes.h"
#include "api/http/api_int.h"
#include "text/language/langnames.h"

#include <stdio.h>

enum { ANSWER_MAX = 16 << 20 };

/* ---- Languages ------------------------------------------------------------------------------- */

/* Answers with a list of languages. The object of each language is open when `put` is called for
 * it. */
static void list_languages(struct dg_call *call, const char *outer, const char *key,
                           const char *locale,
                           void (*put)(struct dg_json_out *out, const struct dg_language *language,
                                       const char *name))
{
    struct dg_engine *engine = call->api->engine;
    const struct dg_languages *langs =
        engine ? dg_languages_now(&call->api->languages, engine) : NULL;
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    if (engine && !langs)
        out.err = DG_ERR_NOMEM;
    dg_json_out_open(&out, '{');
    if (outer)
        dg_json_out_put_open(&out, outer, '{');
    dg_json_out_put_open(&out, key, '[');
    for (size_t i = 0; langs && i < langs->n; i++) {
        struct dg_buf name;
        dg_buf_init(&name, 1024);
        if (locale && dg_langtag_name(&langs->items[i].tag, locale, &name) != DG_OK)
            out.err = DG_ERR_NOMEM;
        dg_json_out_open(&out, '{');
        put(&out, &langs->items[i], locale ? name.ptr : NULL);
        dg_json_out_close(&out, '}');
        dg_buf_deinit(&name);
    }
    dg_json_out_close(&out, ']');
    if (outer)
        dg_json_out_close(&out, '}');
    dg_json_out_close(&out, '}');
    dg_call_json_out(call, 200, &out);
}

/* Returns the locale in which names are wanted, if any. */
static const char *locale_of(struct dg_compat *compat, const char *field)
{
    const struct dg_span said = dg_fields_text(&compat->fields, field);
    char *locale = said.len ? dg_arena_alloc(compat->arena, DG_LANGTAG_TEXT) : NULL;
    if (locale)
        snprintf(locale, DG_LANGTAG_TEXT, "%.*s",
                 DG_SPAN_FMT(dg_span_sub(said, 0, DG_LANGTAG_TEXT - 1)));
    return locale;
}

static void put_v2_language(struct dg_json_out *out, const struct dg_language *language,
                            const char *name)
{
    dg_json_out_put_cstr(out, "language", language->code);
    if (name)
        dg_json_out_put_cstr(out, "name", name);
}

static void on_v2_languages(struct dg_call *call, struct dg_compat *compat)
{
    list_languages(call, "data", "languages", locale_of(compat, "target"), put_v2_language);
    dg_compat_drop(compat);
}

void dg_compat_google_languages(struct dg_call *call)
{
    dg_compat_open(call, on_v2_languages);
}

static void put_v3_language(struct dg_json_out *out, const struct dg_language *language,
                            const char *name)
{
    dg_json_out_put_cstr(out, "languageCode", language->code);
    if (name)
        dg_json_out_put_cstr(out, "displayName", name);
    dg_json_out_put_bool(out, "supportSource", (language->sides & DG_LANGUAGE_SOURCE) != 0);
    dg_json_out_put_bool(out, "supportTarget", (language->sides & DG_LANGUAGE_TARGET) != 0);
}

static void on_v3_languages(struct dg_call *call, struct dg_compat *compat)
{
    list_languages(call, NULL, "languages", locale_of(compat, "displayLanguageCode"),
                   put_v3_language);
    dg_compat_drop(compat);
}

void dg_compat_google_v3_languages(struct dg_call *call)
{
    dg_compat_open(call, on_v3_languages);
}

/* ---- Detection ------------------------------------------------------------------------------- */

/* `user` is not NULL for version 3. "und" is Google's word for a language that it cannot tell. */
static void put_detections(struct dg_compat *compat, struct dg_json_out *out)
{
    const bool is_v3 = compat->user != NULL;
    enum dg_err err = DG_OK;
    dg_json_out_open(out, '{');
    if (!is_v3)
        dg_json_out_put_open(out, "data", '{');
    dg_json_out_put_open(out, is_v3 ? "languages" : "detections", '[');
    for (size_t i = 0; i < compat->n && !err; i++) {
        const char *code = NULL;
        double confidence = 0;
        err = dg_compat_detect(compat, compat->items[i].text, &compat->error, &code, &confidence);
        if (!is_v3)
            dg_json_out_open(out, '[');
        dg_json_out_open(out, '{');
        dg_json_out_put_cstr(out, is_v3 ? "languageCode" : "language", code ? code : "und");
        dg_json_out_put_real(out, "confidence", confidence, 4);
        if (!is_v3)
            dg_json_out_put_bool(out, "isReliable", false);
        dg_json_out_close(out, '}');
        if (!is_v3)
            dg_json_out_close(out, ']');
    }
    dg_json_out_close(out, ']');
    if (!is_v3)
        dg_json_out_close(out, '}');
    dg_json_out_close(out, '}');
    if (err)
        out->err = err;
}

static void detect(struct dg_call *call, struct dg_compat *compat, const char *name)
{
    const struct dg_field *field = dg_fields_get(&compat->fields, name);
    const enum dg_err err = field ? dg_compat_texts_of(compat, field) : DG_ERR_NOT_FOUND;
    char text[80];
    if (err == DG_ERR_NOMEM) {
        dg_compat_fail_with(compat, err);
        return;
    }
    if (err || compat->n > call->api->opts.texts_max) {
        snprintf(text, sizeof text, "%s: expected a text or an array of at most %zu", name,
                 call->api->opts.texts_max);
        dg_compat_fail(compat, 400, "invalid_value", text);
        return;
    }
    dg_compat_look(compat, dg_fields_text(&compat->fields, "key"), dg_compat_bytes(compat),
                   put_detections);
}

static void on_v2_detect(struct dg_call *call, struct dg_compat *compat)
{
    detect(call, compat, "q");
}

void dg_compat_google_detect(struct dg_call *call)
{
    dg_compat_open(call, on_v2_detect);
}

static void on_v3_detect(struct dg_call *call, struct dg_compat *compat)
{
    compat->user = compat;
    detect(call, compat, "content");
}

void dg_compat_google_v3_detect(struct dg_call *call)
{
    dg_compat_open(call, on_v3_detect);
}

/* ---- Translations ---------------------------------------------------------------------------- */

static const char *source_of(const struct dg_compat *compat, size_t i)
{
    const struct dg_compat_item *item = &compat->items[i];
    return item->from ? item->from->code : item->detected ? item->detected : "und";
}

static void answer_v3(struct dg_compat *compat, struct dg_json_out *out)
{
    dg_json_out_open(out, '{');
    dg_json_out_put_open(out, "translations", '[');
    for (size_t i = 0; i < compat->n; i++) {
        dg_json_out_open(out, '{');
        dg_json_out_put_string(out, "translatedText", dg_compat_result(compat, i));
        if (!compat->from)
            dg_json_out_put_cstr(out, "detectedLanguageCode", source_of(compat, i));
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
}

static void on_v3_translate(struct dg_call *call, struct dg_compat *compat)
{
    (void)call;
    if (!dg_span_eq(dg_fields_text(&compat->fields, "mimeType"), DG_SPAN("text/plain")))
        compat->job->options.request.format = DG_DOC_HTML; /* their default */
    dg_compat_go(compat, "contents", "sourceLanguageCode", "targetLanguageCode", answer_v3);
}

void dg_compat_google_v3(struct dg_call *call)
{
    dg_compat_open(call, on_v3_translate);
}

/* ---- Amazon Translate ------------------------------------------------------------------------ */

static void fail_amazon(struct dg_call *call, const struct dg_failure *failure)
{
    const char *type = failure->status == 401   ? "UnrecognizedClientException"
                       : failure->status == 429 ? "TooManyRequestsException"
                       : failure->status == 413 ? "TextSizeLimitExceededException"
                       : failure->status >= 500 ? "ServiceUnavailableException"
                       : strcmp(failure->code, "no_such_model") == 0
                           ? "UnsupportedLanguagePairException"
                           : "InvalidRequestException";
    const bool keeps_status =
        failure->status == 405 || failure->status == 429 || failure->status >= 500;
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, 16 * 1024);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "__type", type);
    dg_json_out_put_cstr(&out, "message", failure->message);
    dg_json_out_close(&out, '}');
    if (dg_json_out_end(&out) == DG_OK)
        dg_call_reply(call, keeps_status ? failure->status : 400, "application/x-amz-json-1.1",
                      dg_buf_span(&buf));
    else
        dg_call_fail_without_memory(call);
    dg_buf_deinit(&buf);
}

const struct dg_dialect dg_amazon_dialect = {.name = "amazon", .fail = fail_amazon};

static void answer_amazon(struct dg_compat *compat, struct dg_json_out *out)
{
    dg_json_out_open(out, '{');
    dg_json_out_put_string(out, "TranslatedText", dg_compat_result(compat, 0));
    dg_json_out_put_cstr(out, "SourceLanguageCode", source_of(compat, 0));
    dg_json_out_put_cstr(out, "TargetLanguageCode", compat->to->code);
    dg_json_out_close(out, '}');
}

static void put_amazon_language(struct dg_json_out *out, const struct dg_language *language,
                                const char *name)
{
    dg_json_out_put_cstr(out, "LanguageName", name);
    dg_json_out_put_cstr(out, "LanguageCode", language->code);
}

/* The header names the operation. */
static void on_amazon(struct dg_call *call, struct dg_compat *compat)
{
    const struct dg_span target = dg_http_header(call->req, "x-amz-target");
    const struct dg_field *text = dg_fields_get(&compat->fields, "Text");
    struct dg_error error = DG_ERROR_NONE;
    if (dg_span_ends(target, DG_SPAN(".ListLanguages"))) {
        list_languages(call, NULL, "Languages", "en", put_amazon_language);
        dg_compat_drop(compat);
    } else if (!dg_span_ends(target, DG_SPAN(".TranslateText"))) {
        dg_compat_fail(compat, 400, "unsupported",
                       "X-Amz-Target: expected TranslateText or ListLanguages");
    } else if (!text || text->kind != DG_FIELD_TEXT || text->in_array) {
        dg_compat_fail(compat, 400, "invalid_value", "Text: expected a text");
    } else if (!dg_compat_pair(compat, "SourceLanguageCode", "TargetLanguageCode", &error)) {
        dg_compat_fail(compat, 400, "no_such_model", error.text);
    } else {
        dg_compat_go(compat, "Text", "SourceLanguageCode", "TargetLanguageCode", answer_amazon);
    }
}

void dg_compat_amazon(struct dg_call *call)
{
    dg_compat_open(call, on_amazon);
}

/* ---- hcfy ------------------------------------------------------------------------------------ */

/* Puts the Chinese name of a language. */
static void put_chinese_name(struct dg_json_out *out, const char *key, const char *code)
{
    struct dg_langtag tag;
    struct dg_buf name;
    dg_buf_init(&name, 1024);
    if (strcmp(code, "zh-Hans") == 0 || strcmp(code, "zh-Hant") == 0)
        dg_json_out_put_cstr(out, key, strcmp(code, "zh-Hans") == 0 ? "中文(简体)" : "中文(繁体)");
    else if (dg_langtag_parse(dg_span_cstr(code), &tag, NULL) == DG_OK &&
             dg_langtag_name(&tag, "zh", &name) == DG_OK)
        dg_json_out_put_string(out, key, dg_buf_span(&name));
    else
        dg_json_out_put_cstr(out, key, code);
    dg_buf_deinit(&name);
}

/* Each paragraph is one result. */
static void answer_hcfy(struct dg_compat *compat, struct dg_json_out *out)
{
    const struct dg_span text = dg_compat_result(compat, 0);
    dg_json_out_open(out, '{');
    dg_json_out_put_string(out, "text", compat->items[0].text);
    put_chinese_name(out, "from", source_of(compat, 0));
    put_chinese_name(out, "to", compat->to->code);
    dg_json_out_put_open(out, "result", '[');
    for (size_t at = 0; at <= text.len;) {
        const char *end = at < text.len ? memchr(text.ptr + at, '\n', text.len - at) : NULL;
        const size_t len = end ? (size_t)(end - text.ptr) - at : text.len - at;
        dg_json_out_string(out, dg_span_sub(text, at, len));
        at += len + 1;
    }
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
}

static const struct dg_language *named(struct dg_compat *compat, struct dg_span name)
{
    const char *tag = NULL;
    const size_t len = dg_langnames_at(compat->work.call->api->langnames, name, 0, &tag);
    const struct dg_span code = len && len == name.len ? dg_span_cstr(tag) : name;
    return dg_languages_find(&compat->langs, code, DG_LANGUAGE_ANY);
}

/* Chooses the first wanted language that the text is not in already. */
static bool choose_destination(struct dg_compat *compat, const char *code)
{
    const struct dg_field *field = dg_fields_get(&compat->fields, "destination");
    for (; field; field = dg_fields_next(&compat->fields, field)) {
        const struct dg_language *to =
            field->kind == DG_FIELD_TEXT ? named(compat, field->value) : NULL;
        if (!to || (code && strcmp(to->code, code) == 0))
            continue;
        compat->to = to;
        if (dg_compat_leads(compat))
            return true;
    }
    return false;
}

void dg_compat_hcfy(struct dg_call *call, struct dg_compat *compat)
{
    const struct dg_field *text = dg_fields_get(&compat->fields, "text");
    const struct dg_span source = dg_fields_text(&compat->fields, "source");
    struct dg_error error = DG_ERROR_NONE;
    const char *code = NULL;
    double confidence = 0;
    call->dialect = &dg_plain_dialect;
    if (!call->api->langnames)
        call->api->langnames = dg_langnames_new();
    if (!call->api->langnames || dg_compat_texts(compat, 1) != DG_OK) {
        dg_compat_fail_with(compat, DG_ERR_NOMEM);
        return;
    }
    if (!text || text->kind != DG_FIELD_TEXT || text->in_array) {
        dg_compat_fail(compat, 400, "invalid_value", "text: expected a text");
        return;
    }
    compat->items[0].text = text->value;
    compat->from = source.len ? named(compat, source) : NULL;
    if (!compat->from && dg_compat_detect(compat, text->value, &error, &code, &confidence) != DG_OK)
        code = NULL; /* this server cannot detect languages */
    if (compat->from)
        code = compat->from->code;
    if (choose_destination(compat, code))
        dg_compat_start(compat, answer_hcfy);
    else
        dg_compat_fail(
            compat, 400, "invalid_value",
            "destination: read no language that this server translates to, expected one");
}
