/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* DeepL's errors, language codes, and the routes that only look. */
#include "api/compat/deepl.h"
#include "api/http/api_int.h"

#include <sodium.h>
#include <strings.h>

enum { ANSWER_MAX = 4 << 20, TRACE_BYTES = 16, NO_LIMIT = 1000 * 1000 * 1000 };

/* ---- The dialect ----------------------------------------------------------------------------- */

static void fail(struct dg_call *call, const struct dg_failure *failure)
{
    /* DeepL's status for a key that is not accepted */
    int status = failure->status == 401 ? 403 : failure->status;
    const char *message = failure->message;
    if (strcmp(failure->code, "quota_exceeded") == 0) {
        status = 456;
        message = "Quota for this billing period has been exceeded.";
    }
    dg_deepl_glossary_fail(call, status, message, NULL);
}

/* Adds the id of the request, if it has the form that DeepL's ids have. */
static void add_headers(struct dg_call *call)
{
    char trace[2 * TRACE_BYTES + 1];
    unsigned char random[TRACE_BYTES];
    if (strlen(call->id) == 2 * TRACE_BYTES &&
        strspn(call->id, "0123456789abcdef") == 2 * TRACE_BYTES) {
        dg_http_reply_header(call->req, "X-Trace-ID", dg_span_cstr(call->id));
        return;
    }
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(trace, sizeof trace, random, sizeof random);
    dg_http_reply_header(call->req, "X-Trace-ID", dg_span_cstr(trace));
}

const struct dg_dialect dg_deepl_dialect = {
    .name = "deepl", .fail = fail, .add_headers = add_headers, .key_name = "auth_key"};

/* ---- Languages ------------------------------------------------------------------------------- */

void dg_deepl_tag_code(const char *tag, char code[DG_DEEPL_CODE])
{
    size_t n = 0;
    for (; tag[n] && n + 1 < DG_DEEPL_CODE; n++)
        code[n] = tag[n] >= 'a' && tag[n] <= 'z' ? (char)(tag[n] - 32) : tag[n];
    code[n] = '\0';
}

void dg_deepl_code(const struct dg_language *language, bool base, char code[DG_DEEPL_CODE])
{
    dg_deepl_tag_code(base ? language->tag.language : language->code, code);
}

bool dg_deepl_pair(struct dg_compat *compat, struct dg_error *error)
{
    struct dg_span source = dg_fields_text(&compat->fields, "source_lang");
    const struct dg_field *given = dg_fields_get(&compat->fields, "source_lang");
    compat->to = dg_languages_find(&compat->langs, dg_fields_text(&compat->fields, "target_lang"),
                                   DG_LANGUAGE_ANY);
    if (!compat->to) {
        dg_error_set(error, DG_ERR_NOT_FOUND, "Value for 'target_lang' not supported.");
        return false;
    }
    if (given && (given->kind != DG_FIELD_TEXT || source.len)) {
        compat->from = dg_languages_find(&compat->langs, source, DG_LANGUAGE_ANY);
        if (!compat->from) {
            dg_error_set(error, DG_ERR_NOT_FOUND, "Value for 'source_lang' not supported.");
            return false;
        }
    }
    if (dg_compat_leads(compat))
        return true;
    char from[DG_DEEPL_CODE] = "any language", to[DG_DEEPL_CODE];
    dg_deepl_code(compat->to, false, to);
    if (compat->from)
        dg_deepl_code(compat->from, false, from);
    dg_error_set(
        error, DG_ERR_NOT_FOUND,
        "Value for 'target_lang' not supported: this server does not translate from %s to %s.",
        from, to);
    return false;
}

/* Returns the index of the option's value among the NULL-terminated words; the first if it is
 * absent. -1: no such word. */
static int word_of(const struct dg_compat *compat, const char *name, const char *const *words)
{
    const struct dg_field *field = dg_fields_get(&compat->fields, name);
    if (!field || (field->kind == DG_FIELD_TEXT && field->value.len == 0))
        return 0;
    for (int i = 0; words[i]; i++)
        if (field->kind <= DG_FIELD_BOOL && !field->in_array &&
            field->value.len == strlen(words[i]) &&
            strncasecmp(field->value.ptr, words[i], field->value.len) == 0)
            return i;
    return -1;
}

bool dg_deepl_check_words(struct dg_compat *compat, struct dg_error *error)
{
    static const char *const formalities[] = {"default", "more", "less", "prefer_more",
                                              /* values of enum dg_formality */
                                              "prefer_less", NULL};
    static const char *const models[] = {"", "quality_optimized", "prefer_quality_optimized",
                                         "latency_optimized", NULL};
    static const char *const splits[] = {"", "0", "1", "nonewlines", "false", "true", NULL};
    static const char *const versions[] = {"", "v1", "v2", NULL};
    static const char *const none[] = {"", NULL};
    static const char *const flags[] = {"", "0", "1", "false", "true", NULL};
    static const struct {
        const char *name;
        const char *const *words;
    } rows[] = {
        {"formality", formalities},
        {"model_type", models},
        {"split_sentences", splits},
        {"tag_handling_version", versions},
        {"show_billed_characters", flags},
        {"preserve_formatting", flags},
        {"outline_detection", flags},
        {"enable_beta_languages", flags},
        /* Options that only DeepL's own models have. */
        {"style_id", none},
        {"translation_memory_id", none},
        {"custom_instructions", none},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (word_of(compat, rows[i].name, rows[i].words) < 0) {
            dg_error_set(error, DG_ERR_INVALID, "Value for '%s' not supported.", rows[i].name);
            return false;
        }
    }
    const enum dg_formality formality =
        (enum dg_formality)word_of(compat, "formality", formalities);
    compat->job->options.request.formality = formality;
    if ((formality == DG_FORMALITY_FORMAL && !compat->to->has_formal) ||
        (formality == DG_FORMALITY_INFORMAL && !compat->to->has_informal)) {
        dg_error_set(error, DG_ERR_UNSUPPORTED,
                     "'formality' is not supported for given 'target_lang'.");
        return false;
    }
    return true;
}

/* ---- Looking --------------------------------------------------------------------------------- */

static void answer(struct dg_compat *compat, struct dg_json_out *out)
{
    if (dg_json_out_end(out) == DG_OK)
        dg_call_json(compat->work.call, 200, dg_buf_span(out->buf));
    else
        dg_call_fail(compat->work.call,
                     dg_translate_options_failure(compat->arena, DG_ERR_NOMEM, NULL, NULL));
    dg_compat_drop(compat);
}

/* Returns true when a language before `i` is the same without its region, and has one of the
 * sides. */
static bool is_repeated(const struct dg_languages *langs, size_t i, unsigned sides)
{
    for (size_t j = 0; j < i; j++)
        if ((langs->items[j].sides & sides) &&
            strcmp(langs->items[j].tag.language, langs->items[i].tag.language) == 0)
            return true;
    return false;
}

/* A language as a target. */
struct target {
    const char *code, *name;
};

enum { VARIANTS_MAX = 2 };

/* For DeepL's clients some target languages exist only as variants, whatever the model calls
 * them. */
static const struct variant {
    const char *of; /* our code */
    struct target as;
} variants[] = {
    {"en", {"en-GB", "English (British)"}},
    {"en", {"en-US", "English (American)"}},
    {"pt", {"pt-BR", "Portuguese (Brazilian)"}},
    {"pt", {"pt-PT", "Portuguese (European)"}},
    {"zh-Hans", {"zh", "Chinese (simplified)"}},
    {"zh-Hans", {"zh-Hans", "Chinese (simplified)"}},
    {"zh-Hant", {"zh-Hant", "Chinese (traditional)"}},
};

/* Returns true if another language of the list has this very code as a target. */
static bool is_taken(const struct dg_languages *langs, const struct dg_language *by,
                     const char *code)
{
    for (size_t i = 0; i < langs->n; i++)
        if (&langs->items[i] != by && (langs->items[i].sides & DG_LANGUAGE_TARGET) &&
            strcmp(langs->items[i].code, code) == 0)
            return true;
    return false;
}

/* Lists the codes under which DeepL's clients know a language as a target; returns how many. */
static size_t targets_of(const struct dg_languages *langs, const struct dg_language *language,
                         struct target *out)
{
    size_t n = 0;
    bool has_variants = false;
    if (!(language->sides & DG_LANGUAGE_TARGET))
        return 0;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        if (strcmp(variants[i].of, language->code) != 0)
            continue;
        has_variants = true;
        if (!is_taken(langs, language, variants[i].as.code))
            out[n++] = variants[i].as;
    }
    if (!has_variants)
        out[n++] = (struct target){language->code, language->name};
    return n;
}

static void put_language(struct dg_json_out *out, const char *tag, const char *name)
{
    char code[DG_DEEPL_CODE];
    dg_deepl_tag_code(tag, code);
    dg_json_out_put_cstr(out, "language", code);
    dg_json_out_put_cstr(out, "name", name);
}

static void put_sources(struct dg_json_out *out, const struct dg_languages *langs)
{
    for (size_t i = 0; i < langs->n; i++) {
        if (!(langs->items[i].sides & DG_LANGUAGE_SOURCE) ||
            is_repeated(langs, i, DG_LANGUAGE_SOURCE))
            continue;
        dg_json_out_open(out, '{');
        put_language(out, langs->items[i].tag.language, langs->items[i].name);
        dg_json_out_close(out, '}');
    }
}

static void put_targets(struct dg_json_out *out, const struct dg_languages *langs)
{
    for (size_t i = 0; i < langs->n; i++) {
        struct target targets[VARIANTS_MAX];
        size_t n = targets_of(langs, &langs->items[i], targets);
        for (size_t k = 0; k < n; k++) {
            dg_json_out_open(out, '{');
            put_language(out, targets[k].code, targets[k].name);
            dg_json_out_put_bool(out, "supports_formality",
                                 langs->items[i].has_formal && langs->items[i].has_informal);
            dg_json_out_close(out, '}');
        }
    }
}

/* Opens a compat request whose key is known. NULL: the call was answered. */
static struct dg_compat *open_short(struct dg_call *call)
{
    struct dg_compat *compat = dg_compat_open_short(call);
    if (!compat || call->route->gate != DG_GATE_FORM ||
        dg_gate_admit(call, dg_fields_text(&compat->fields, "auth_key")))
        return compat;
    dg_compat_drop(compat);
    return NULL;
}

void dg_deepl_languages(struct dg_call *call)
{
    static const char *const types[] = {"source", "target", NULL};
    struct dg_compat *compat = open_short(call);
    struct dg_buf buf;
    struct dg_json_out out;
    if (!compat)
        return;
    int type = word_of(compat, "type", types);
    if (type < 0) {
        dg_compat_fail(compat, 400, "invalid_value",
                       "Parameter 'type' is invalid. 'source' and 'target' are valid values.");
        return;
    }
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '[');
    if (type == 0)
        put_sources(&out, &compat->langs);
    else
        put_targets(&out, &compat->langs);
    dg_json_out_close(&out, ']');
    answer(compat, &out);
    dg_buf_deinit(&buf);
}

/* ---- Languages, version 3 -------------------------------------------------------------------- */

enum { OF_SOURCE = 1, OF_TARGET = 2, OF_FORMALITY = 4 };

/* DeepL's products, and which of our features each corresponds to; those without a counterpart
 * have no languages. */
static const struct resource {
    const char *name;
    bool is_ours;
    struct {
        const char *name;
        unsigned needs; /* OF_...: the language must have it */
    } features[5];
} resources[] = {
    {"translate_text",
     true,
     {{"formality", OF_TARGET | OF_FORMALITY},
      {"tag_handling", OF_SOURCE | OF_TARGET},
      {"glossary", OF_SOURCE | OF_TARGET},
      {"auto_detection", OF_SOURCE}}},
    {"translate_document",
     true,
     {{"formality", OF_TARGET | OF_FORMALITY},
      {"glossary", OF_SOURCE | OF_TARGET},
      {"auto_detection", OF_SOURCE}}},
    {"glossary", true, {{NULL, 0}}},
    {"voice", false, {{NULL, 0}}},
    {"write", false, {{NULL, 0}}},
    {"style_rules", false, {{NULL, 0}}},
};

enum { N_RESOURCES = sizeof resources / sizeof *resources };

/* One language. A feature that concerns both sides is reported if the language has either. */
static void put_v3(struct dg_json_out *out, const struct resource *resource,
                   const struct target *as, unsigned sides)
{
    dg_json_out_open(out, '{');
    dg_json_out_put_cstr(out, "lang", as->code);
    dg_json_out_put_cstr(out, "name", as->name);
    dg_json_out_put_bool(out, "usable_as_source", sides & OF_SOURCE);
    dg_json_out_put_bool(out, "usable_as_target", sides & OF_TARGET);
    dg_json_out_put_cstr(out, "status", "stable");
    dg_json_out_put_open(out, "features", '{');
    for (size_t i = 0; resource->features[i].name; i++) {
        unsigned needs = resource->features[i].needs;
        if (!(needs & sides) || ((needs & OF_FORMALITY) && !(sides & OF_FORMALITY)))
            continue;
        dg_json_out_put_open(out, resource->features[i].name, '{');
        dg_json_out_put_cstr(out, "status", "stable");
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, '}');
    dg_json_out_close(out, '}');
}

/* A language without region and script, from its first item `i`: a source if any of its variants is
 * one, a target if DeepL's clients have it as one under this code. */
static void put_v3_base(struct dg_json_out *out, const struct resource *resource,
                        const struct dg_languages *langs, size_t i)
{
    const char *code = langs->items[i].tag.language;
    struct target as = {code, langs->items[i].name};
    unsigned sides = 0;
    for (size_t j = i; j < langs->n; j++) {
        const struct dg_language *language = &langs->items[j];
        struct target targets[VARIANTS_MAX];
        size_t n =
            strcmp(language->tag.language, code) == 0 ? targets_of(langs, language, targets) : 0;
        if (strcmp(language->tag.language, code) == 0 && (language->sides & DG_LANGUAGE_SOURCE))
            sides |= OF_SOURCE;
        for (size_t k = 0; k < n; k++)
            if (strcmp(targets[k].code, code) == 0)
                sides |=
                    OF_TARGET | (language->has_formal && language->has_informal ? OF_FORMALITY : 0);
    }
    if (sides)
        put_v3(out, resource, &as, sides);
}

static void put_v3_all(struct dg_json_out *out, const struct resource *resource,
                       const struct dg_languages *langs)
{
    for (size_t i = 0; i < langs->n; i++) {
        const struct dg_language *language = &langs->items[i];
        struct target targets[VARIANTS_MAX];
        size_t n = targets_of(langs, language, targets);
        if (!is_repeated(langs, i, DG_LANGUAGE_ANY))
            put_v3_base(out, resource, langs, i);
        for (size_t k = 0; k < n; k++)
            if (strcmp(targets[k].code, language->tag.language) != 0)
                put_v3(out, resource, &targets[k],
                       OF_TARGET |
                           (language->has_formal && language->has_informal ? OF_FORMALITY : 0));
    }
}

void dg_deepl_v3_languages(struct dg_call *call)
{
    struct dg_compat *compat = dg_compat_open_short(call);
    size_t which = 0;
    struct dg_buf buf;
    struct dg_json_out out;
    if (!compat)
        return;
    struct dg_span name = dg_fields_text(&compat->fields, "resource");
    while (which < N_RESOURCES && !dg_span_eq(name, dg_span_cstr(resources[which].name)))
        which++;
    if (which == N_RESOURCES) {
        dg_compat_fail(compat, 400, "invalid_value", "Missing or invalid argument: resource");
        return;
    }
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '[');
    if (resources[which].is_ours)
        put_v3_all(&out, &resources[which], &compat->langs);
    dg_json_out_close(&out, ']');
    answer(compat, &out);
    dg_buf_deinit(&buf);
}

void dg_deepl_v3_resources(struct dg_call *call)
{
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '[');
    for (size_t i = 0; i < N_RESOURCES; i++) {
        if (!resources[i].is_ours)
            continue;
        dg_json_out_open(&out, '{');
        dg_json_out_put_cstr(&out, "name", resources[i].name);
        dg_json_out_put_open(&out, "features", '[');
        for (size_t k = 0; resources[i].features[k].name; k++) {
            dg_json_out_open(&out, '{');
            dg_json_out_put_cstr(&out, "name", resources[i].features[k].name);
            if (resources[i].features[k].needs & OF_SOURCE)
                dg_json_out_put_bool(&out, "needs_source_support", true);
            if (resources[i].features[k].needs & OF_TARGET)
                dg_json_out_put_bool(&out, "needs_target_support", true);
            dg_json_out_close(&out, '}');
        }
        dg_json_out_close(&out, ']');
        dg_json_out_close(&out, '}');
    }
    dg_json_out_close(&out, ']');
    dg_call_json_out(call, 200, &out);
}

/* ---- What is not here ------------------------------------------------------------------------ */

void dg_deepl_not_included(struct dg_call *call)
{
    dg_call_fail(call, (struct dg_failure){
                           .status = 403,
                           .code = "unsupported",
                           .message = "This account does not include the requested product."});
}

/* ---- Usage ----------------------------------------------------------------------------------- */

/* The key's usage of this month if a key was sent, else the characters that this API has
 * translated since the start. DeepL's libraries want a limit; if there is none they get a number
 * that nobody reaches. */
static void on_usage(void *work, const struct dg_quota_verdict *verdict)
{
    struct dg_compat *compat = work;
    struct dg_call *call = compat->work.call;
    const struct dg_quota_state *month = &verdict->windows[DG_QUOTA_MONTH];
    struct dg_buf buf;
    struct dg_json_out out;
    dg_work_detach(&compat->work);
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_uint(&out, "character_count",
                         *dg_gate_name(call) ? verdict->month_characters
                                             : call->api->deepl_characters);
    dg_json_out_put_uint(&out, "character_limit",
                         month->limit ? month->limit : (uint64_t)NO_LIMIT * 1000);
    dg_json_out_close(&out, '}');
    answer(compat, &out);
    dg_buf_deinit(&buf);
}

void dg_deepl_usage(struct dg_call *call)
{
    struct dg_compat *compat = open_short(call);
    if (compat)
        dg_work_peek(&compat->work, on_usage);
}
