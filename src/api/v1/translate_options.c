/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One table row per option that is a field of its own (translate_option_rows.h); the others have a
 * function each. */
#include "api/v1/translate_options.h"
#include "api/http/event_id.h"
#include "api/v1/glossary_json.h"
#include "api/v1/translate_option_rows.h"
#include "base/memory/utf8.h"

#include <stddef.h>

enum {
    PROTECTED_MAX = 100,
    PROTECTED_BYTES = 1000,
    FIELD_MAX = 80 /* bytes of an unknown field's name that an answer repeats */
};

#define ASK(field)    offsetof(struct dg_translate_options, field)
#define SEARCH(field) offsetof(struct dg_translate_options, request.search.field)

static const struct dg_translate_options_row rows[] = {
    {"model", DG_TRANSLATE_OPTIONS_NAME, ASK(request.model), 0, 0},
    {"source", DG_TRANSLATE_OPTIONS_NAME, ASK(request.source), 0, 0},
    {"target", DG_TRANSLATE_OPTIONS_NAME, ASK(request.target), 0, 0},
    DG_TRANSLATE_OPTIONS_SEARCH_ROWS(SEARCH),
    {"alternatives", DG_TRANSLATE_OPTIONS_INT, ASK(alternatives), 0, DG_BEAM_MAX - 1},
    {"coverage_penalty", DG_TRANSLATE_OPTIONS_REAL, SEARCH(coverage_penalty), 0, 10},
    {"min_length", DG_TRANSLATE_OPTIONS_INT, SEARCH(min_len), 0, DG_TARGET_MAX},
    {"max_length", DG_TRANSLATE_OPTIONS_INT, SEARCH(max_len), 0, DG_TARGET_MAX},
    {"max_ratio", DG_TRANSLATE_OPTIONS_REAL, SEARCH(max_ratio), 0, 100},
    {"keep_case", DG_TRANSLATE_OPTIONS_BOOL, ASK(request.keep_case), 0, 0},
    {"protect", DG_TRANSLATE_OPTIONS_NOT, ASK(request.no_protect), 0, 0},
    {"copy_numbers", DG_TRANSLATE_OPTIONS_BOOL, ASK(request.copy_numbers), 0, 0},
    {"timeout_ms", DG_TRANSLATE_OPTIONS_UINT, ASK(request.timeout_ms), 1,
     DG_TRANSLATE_OPTIONS_TIMEOUT_MS_MAX},
    {"stream", DG_TRANSLATE_OPTIONS_BOOL, ASK(stream), 0, 0},
    {"scores", DG_TRANSLATE_OPTIONS_BOOL, ASK(want_scores), 0, 0},
    {"quality", DG_TRANSLATE_OPTIONS_BOOL, ASK(request.quality), 0, 0},
    {"tokens", DG_TRANSLATE_OPTIONS_BOOL, ASK(want_tokens), 0, 0},
    {"alignment", DG_TRANSLATE_OPTIONS_BOOL, ASK(want_alignment), 0, 0},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static const char *const line_words[] = {"sentences", "whole", "join", NULL};
static const char *const formality_words[] = {"default",       "formal",          "informal",
                                              "prefer_formal", "prefer_informal", NULL};
static const char *const other_fields[] = {
    "text",      "prefix", "must",     "protected", "suppress",     "format",
    "formality", "lines",  "priority", "cache",     "retranslate",  "mark",
    "api_key",   "type",   "id",       "glossary",  "last_event_id"};
enum {
    N_OTHERS = sizeof other_fields / sizeof *other_fields,
    SUPPRESS_MAX = 1000,
    ID_MAX = 1000,
    TERMS_MAX = 1000,
    GLOSSARIES_MAX = 5
};

/* ---- Failures -------------------------------------------------------------------------------- */

static int status_of(enum dg_err err)
{
    switch (err) {
    case DG_ERR_NOMEM:
    case DG_ERR_BUSY:
    case DG_ERR_CANCELLED:
    case DG_ERR_CLOSED:
    case DG_ERR_MODEL:
    case DG_ERR_NO_FILES:
        return 503;
    case DG_ERR_TIMEOUT:
        return 504;
    case DG_ERR_NOT_FOUND:
        return 404;
    case DG_ERR_DENIED:
        return 403;
    case DG_ERR_IO:
    case DG_ERR_INTERNAL:
    case DG_ERR_INTEGRITY:
        return 500;
    case DG_ERR_NO_SPACE:
        return 507;
    default:
        return 400;
    }
}

static const char *code_of(enum dg_err err)
{
    switch (err) {
    case DG_ERR_NOMEM:
    case DG_ERR_BUSY:
    case DG_ERR_NO_FILES:
        return "overloaded";
    case DG_ERR_CANCELLED:
        return "cancelled";
    case DG_ERR_TIMEOUT:
        return "timeout";
    case DG_ERR_MODEL:
        return "model_unavailable";
    case DG_ERR_NOT_FOUND:
        return "no_such_model";
    case DG_ERR_DENIED:
        return "model_not_allowed";
    case DG_ERR_RANGE:
        return "out_of_range";
    case DG_ERR_LIMIT:
        return "limit_reached";
    case DG_ERR_UTF8:
        return "invalid_utf8";
    case DG_ERR_UNSUPPORTED:
        return "unsupported";
    case DG_ERR_FORMAT:
        return "invalid_json";
    case DG_ERR_INTERNAL:
    case DG_ERR_INTEGRITY:
    case DG_ERR_IO:
        return "internal";
    case DG_ERR_NO_SPACE:
        return "no_space";
    default:
        return "invalid_value";
    }
}

struct dg_failure dg_translate_options_failure(struct dg_arena *arena, enum dg_err err,
                                               const struct dg_error *error, const char *field)
{
    struct dg_span text = {NULL, 0}, name = {field, 0};
    if (field && arena) /* the name of an unknown field is in the body */
        name = dg_arena_copy(arena, dg_utf8_clip(dg_span_cstr(field), FIELD_MAX));
    /* these errors have sentences that name files */
    if (error && err != DG_ERR_IO && err != DG_ERR_NO_SPACE && err != DG_ERR_NO_FILES)
        text = dg_arena_copy(arena, dg_span_cstr(dg_error_text(error, err)));
    return (struct dg_failure){
        .status = status_of(err),
        .code = code_of(err),
        .message = text.ptr ? text.ptr : dg_err_sentence(err),
        .field = name.ptr,
        .retry_after_s =
            err == DG_ERR_BUSY || err == DG_ERR_NOMEM || err == DG_ERR_NO_FILES ? 1 : 0,
    };
}

struct dg_failure dg_translate_options_file_failure(enum dg_err err)
{
    struct dg_failure failure = dg_translate_options_failure(NULL, err, NULL, NULL);
    if (failure.status < 500) { /* the failure lies in a file of the server, not in the request */
        failure.status = 500;
        failure.code = "internal";
    }
    return failure;
}

struct dg_failure dg_translate_options_start_failure(struct dg_arena *arena, enum dg_err err,
                                                     const struct dg_error *error,
                                                     uint64_t retry_ms)
{
    struct dg_failure failure = dg_translate_options_failure(arena, err, error, NULL);
    if (err == DG_ERR_BUSY)
        failure.retry_after_s = (unsigned)(retry_ms / 1000) + 1;
    return failure;
}

struct dg_failure dg_translate_options_field_failure(struct dg_arena *arena, enum dg_err err,
                                                     const struct dg_error *error,
                                                     const char *field)
{
    struct dg_failure failure = dg_translate_options_failure(arena, err, error, field);
    if (failure.status == 404) { /* the failure lies in a field, not in a model */
        failure.status = 400;
        failure.code = "missing_field";
    }
    return failure;
}

/* ---- Reading --------------------------------------------------------------------------------- */

enum dg_err dg_translate_options_parse(struct dg_span body, size_t max_values,
                                       struct dg_arena *arena, struct dg_failure *failure,
                                       struct dg_json **json)
{
    const struct dg_json_limits limits = {
        .max_bytes = body.len + 1, .max_depth = 16, .max_values = max_values};
    struct dg_error error = DG_ERROR_NONE;
    enum dg_err err = dg_json_parse(body, &limits, &error, json);
    if (err) {
        *failure = dg_translate_options_failure(arena, err, &error, NULL);
        return err;
    }
    if (dg_json_type(*json) != DG_JSON_OBJECT) {
        dg_error_set(&error, DG_ERR_INVALID, "read %s, expected a JSON object",
                     dg_json_type_name(dg_json_type(*json)));
        *failure = dg_translate_options_failure(arena, DG_ERR_INVALID, &error, NULL);
        dg_json_free(*json);
        return DG_ERR_INVALID;
    }
    return DG_OK;
}

enum dg_err dg_translate_options_name(const struct dg_json *json, const char *name,
                                      struct dg_arena *arena, struct dg_error *error,
                                      const char **out)
{
    struct dg_span text = {NULL, 0};
    enum dg_err err = dg_json_get_string(json, name, DG_JSON_OPTIONAL, error, &text);
    if (err || text.len == 0 || dg_span_eq(text, DG_SPAN("auto")))
        return err;
    if (text.len > 200 || memchr(text.ptr, '\0', text.len))
        return dg_error_set(error, DG_ERR_INVALID,
                            "field '%s': read %zu bytes, expected a short name", name, text.len);
    struct dg_span copy = dg_arena_copy(arena, text);
    if (!copy.ptr)
        return DG_ERR_NOMEM;
    *out = copy.ptr;
    return DG_OK;
}

/* Fields whose values are words, or true and false, and that set members of other names. */
static enum dg_err read_choices(const struct dg_json *json, struct dg_error *error,
                                const char **field, struct dg_translate_options *options)
{
    struct dg_engine_request *request = &options->request;
    int format = (int)request->format, lines = request->keep_lines_whole ? 1
                                               : request->join_lines     ? 2
                                                                         : 0;
    int formality = (int)request->formality;
    bool cache = !request->no_cache, retranslate = false, mark = true;
    const struct {
        const char *name;
        const char *const *words;
        int *to;
    } choices[] = {{"format", dg_doc_format_words, &format},
                   {"formality", formality_words, &formality},
                   {"lines", line_words, &lines}};
    const struct {
        const char *name;
        bool *to;
    } flags[] = {{"cache", &cache}, {"retranslate", &retranslate}, {"mark", &mark}};
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < sizeof choices / sizeof *choices && !err; i++)
        err = dg_json_get_choice(json, *field = choices[i].name, DG_JSON_OPTIONAL, choices[i].words,
                                 error, choices[i].to);
    if (!err) {
        *field = "priority";
        err =
            dg_translate_options_priority(json, error, &request->priority, &options->has_priority);
    }
    for (size_t i = 0; i < sizeof flags / sizeof *flags && !err; i++)
        err = dg_json_get_bool(json, *field = flags[i].name, DG_JSON_OPTIONAL, error, flags[i].to);
    if (err)
        return err;
    request->format = (enum dg_doc_format)format;
    request->formality = (enum dg_formality)formality;
    request->doc.retranslate = retranslate;
    request->doc.unmarked = !mark;
    request->no_cache = !cache;
    request->keep_lines_whole = lines == 1;
    request->join_lines = lines == 2;
    return DG_OK;
}

static enum dg_err copy_text(struct dg_arena *arena, struct dg_span text, struct dg_span *out)
{
    *out = dg_arena_copy(arena, text);
    return out->ptr ? DG_OK : DG_ERR_NOMEM;
}

enum dg_err dg_translate_options_texts(const struct dg_json *json, const char *name, size_t max,
                                       struct dg_arena *arena, struct dg_error *error,
                                       struct dg_span **texts, size_t *n_texts, bool *is_array)
{
    const struct dg_json *text = dg_json_get(json, name);
    enum dg_json_type type = dg_json_type(text);
    if (!text)
        return dg_error_set(error, DG_ERR_NOT_FOUND, "field '%s' is missing", name);
    if (type != DG_JSON_STRING && type != DG_JSON_ARRAY)
        return dg_error_set(error, DG_ERR_INVALID,
                            "field '%s': read %s, expected a string or an array of strings", name,
                            dg_json_type_name(type));
    *is_array = type == DG_JSON_ARRAY;
    size_t n = *is_array ? dg_json_len(text) : 1;
    if (n == 0 || n > max)
        return dg_error_set(error, n ? DG_ERR_LIMIT : DG_ERR_INVALID,
                            "field '%s': read %zu texts, expected 1 to %zu", name, n, max);
    struct dg_span *copies = dg_arena_calloc(arena, n, sizeof *copies);
    if (!copies)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        struct dg_span one;
        enum dg_err err = *is_array ? dg_json_at_string(text, name, i, error, &one)
                                    : dg_json_get_string(json, name, DG_JSON_REQUIRED, error, &one);
        if (!err)
            err = copy_text(arena, one, &copies[i]);
        if (err)
            return err;
    }
    *texts = copies;
    *n_texts = n;
    return DG_OK;
}

/* The beginning of the translation, for a single text only. */
static enum dg_err read_prefix(const struct dg_json *json, struct dg_arena *arena,
                               struct dg_error *error, struct dg_translate_options *options)
{
    struct dg_span text = {NULL, 0};
    enum dg_err err = dg_json_get_string(json, "prefix", DG_JSON_OPTIONAL, error, &text);
    if (err || text.len == 0)
        return err;
    if (options->n_texts != 1)
        return dg_error_set(error, DG_ERR_INVALID,
                            "field 'prefix': read it with %zu texts, expected one text",
                            options->n_texts);
    return copy_text(arena, text, &options->request.prefix);
}

uint64_t dg_translate_options_characters(const struct dg_span *texts, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += dg_utf8_count(texts[i]);
    return sum;
}

enum dg_err dg_translate_options_priority(const struct dg_json *json, struct dg_error *error,
                                          enum dg_priority *priority, bool *is_given)
{
    static const char *const words[] = {"interactive", "normal", "bulk", NULL};
    int choice = (int)*priority;
    const enum dg_err err =
        dg_json_get_choice(json, "priority", DG_JSON_OPTIONAL, words, error, &choice);
    *priority = (enum dg_priority)choice;
    *is_given = dg_json_type(dg_json_get(json, "priority")) == DG_JSON_STRING;
    return err;
}

enum dg_err dg_translate_options_key(const struct dg_json *json, struct dg_arena *arena,
                                     struct dg_error *error, struct dg_span *key)
{
    struct dg_span text = {NULL, 0};
    enum dg_err err = dg_json_get_string(json, "api_key", DG_JSON_OPTIONAL, error, &text);
    return err || text.len == 0 ? err : copy_text(arena, text, key);
}

static enum dg_err read_id(const struct dg_json *json, const char *name, size_t max,
                           struct dg_arena *arena, struct dg_error *error, struct dg_span *out)
{
    struct dg_span id = {NULL, 0};
    enum dg_err err = dg_json_get_string(json, name, DG_JSON_OPTIONAL, error, &id);
    if (!err && id.len > max)
        err = dg_error_set(error, DG_ERR_RANGE, "field '%s': read %zu bytes, expected at most %zu",
                           name, id.len, max);
    return err || !id.ptr ? err : copy_text(arena, id, out);
}

enum dg_err dg_translate_options_last_event_id(const struct dg_json *json, struct dg_arena *arena,
                                               struct dg_error *error, struct dg_span *id)
{
    return read_id(json, "last_event_id", DG_EVENT_ID_MAX, arena, error, id);
}

/* Texts that are kept unchanged wherever they occur. */
static enum dg_err read_protected(const struct dg_json *json, struct dg_arena *arena,
                                  struct dg_error *error, struct dg_translate_options *options)
{
    struct dg_span *texts = NULL;
    size_t n = 0;
    bool is_array;
    if (dg_json_type(dg_json_get(json, "protected")) == DG_JSON_NULL)
        return DG_OK;
    enum dg_err err = dg_translate_options_texts(json, "protected", PROTECTED_MAX, arena, error,
                                                 &texts, &n, &is_array);
    for (size_t i = 0; !err && i < n; i++)
        if (texts[i].len == 0 || texts[i].len > PROTECTED_BYTES)
            err = dg_error_set(error, DG_ERR_INVALID,
                               "field 'protected': text %zu has %zu bytes, expected 1 to %d", i,
                               texts[i].len, PROTECTED_BYTES);
    if (!err) {
        options->request.protect = texts;
        options->request.n_protect = n;
    }
    return err;
}

/* Phrases that each sentence of the translation shall contain. */
static enum dg_err read_must(const struct dg_json *json, struct dg_arena *arena,
                             struct dg_error *error, struct dg_translate_options *options)
{
    struct dg_span *phrases;
    size_t n;
    bool is_array;
    if (dg_json_type(dg_json_get(json, "must")) == DG_JSON_NULL)
        return DG_OK;
    enum dg_err err = dg_translate_options_texts(json, "must", DG_CONSTRAINTS_MAX, arena, error,
                                                 &phrases, &n, &is_array);
    for (size_t i = 0; !err && i < n; i++)
        if (phrases[i].len == 0)
            err = dg_error_set(error, DG_ERR_INVALID,
                               "field 'must[%zu]': read an empty text, expected a phrase", i);
    if (!err) {
        options->request.must = phrases;
        options->request.n_must = n;
    }
    return err;
}

/* Terms of the request's own: an object with "terms". */
static enum dg_err read_terms(const struct dg_json *json, struct dg_arena *arena,
                              struct dg_error *error, struct dg_translate_options *options)
{
    static const char *const fields[] = {"terms", NULL};
    struct dg_glossary *glossary = dg_glossary_new(arena);
    enum dg_err err = dg_json_check_fields(json, fields, error, NULL);
    if (!err && !dg_json_get(json, "terms"))
        err = dg_error_set(
            error, DG_ERR_INVALID,
            "field 'glossary': read an object without 'terms', expected one with them");
    if (!err && !glossary)
        err = DG_ERR_NOMEM;
    if (!err)
        err = dg_glossary_begin(glossary, "", "", error);
    if (!err)
        err = dg_glossary_json_add(glossary, dg_json_get(json, "terms"), "terms", TERMS_MAX, error);
    if (!err)
        err = dg_glossary_seal(glossary, error);
    if (err && glossary)
        dg_glossary_unref(glossary);
    if (!err)
        options->glossary = glossary;
    return err;
}

/* An id, an array of ids, or terms. An empty array means no glossary, even if the key has one by
 * default. */
static enum dg_err read_glossary(const struct dg_json *json, struct dg_arena *arena,
                                 struct dg_error *error, struct dg_translate_options *options)
{
    const struct dg_json *value = dg_json_get(json, "glossary");
    struct dg_span *ids = NULL;
    bool is_array;
    if (dg_json_type(value) == DG_JSON_NULL)
        return DG_OK;
    options->has_glossary = true;
    options->glossary = NULL;
    options->n_glossary_ids = 0;
    if (dg_json_type(value) == DG_JSON_OBJECT)
        return read_terms(value, arena, error, options);
    if (dg_json_type(value) == DG_JSON_ARRAY && dg_json_len(value) == 0)
        return DG_OK;
    if (dg_json_type(value) != DG_JSON_STRING && dg_json_type(value) != DG_JSON_ARRAY)
        return dg_error_set(
            error, DG_ERR_INVALID,
            "field 'glossary': read %s, expected an id, an array of ids, or an object with 'terms'",
            dg_json_type_name(dg_json_type(value)));
    enum dg_err err = dg_translate_options_texts(json, "glossary", GLOSSARIES_MAX, arena, error,
                                                 &ids, &options->n_glossary_ids, &is_array);
    options->glossary_ids = ids;
    return err;
}

/* Ids of target tokens that are never chosen. */
static enum dg_err read_suppress(const struct dg_json *json, struct dg_arena *arena,
                                 struct dg_error *error, struct dg_translate_options *options)
{
    const struct dg_json *array = NULL;
    enum dg_err err = dg_json_get_array(json, "suppress", DG_JSON_OPTIONAL, error, &array);
    size_t n = dg_json_len(array);
    if (err || n == 0)
        return err;
    if (n > SUPPRESS_MAX)
        return dg_error_set(error, DG_ERR_LIMIT,
                            "field 'suppress': read %zu tokens, expected at most %d", n,
                            SUPPRESS_MAX);
    int32_t *ids = dg_arena_calloc(arena, n, sizeof *ids);
    for (size_t i = 0; i < n && !err; i++) {
        int64_t id = 0;
        err = ids ? dg_json_at_int(array, "suppress", i, 0, INT32_MAX, error, &id) : DG_ERR_NOMEM;
        if (!err)
            ids[i] = (int32_t)id;
    }
    options->request.search.suppress = ids;
    options->request.search.n_suppress = n;
    return err;
}

static enum dg_err read_key(const struct dg_json *json, struct dg_arena *arena,
                            struct dg_error *error, struct dg_translate_options *options)
{
    return dg_translate_options_key(json, arena, error, &options->api_key);
}

/* Sets *max to the limit that the texts were last compared with, for the message of a refusal. */
static enum dg_err read_texts(const struct dg_json *json, struct dg_arena *arena,
                              const struct dg_translate_options_limits *limits,
                              struct dg_error *error, struct dg_translate_options *options,
                              size_t *max)
{
    if (limits->no_text) {
        options->n_texts = 1;
        return DG_OK;
    }
    enum dg_err err =
        dg_translate_options_texts(json, "text", *max = limits->texts, arena, error,
                                   &options->texts, &options->n_texts, &options->is_array);
    options->request.is_utf8 = true; /* as all strings of JSON are */
    for (size_t i = 0; !err && limits->characters && i < options->n_texts; i++) {
        const size_t n = dg_utf8_count(options->texts[i]);
        if (n > limits->characters)
            err =
                dg_error_set(error, DG_ERR_LIMIT,
                             "field 'text': read %zu characters in one text, expected at most %zu",
                             n, *max = limits->characters);
    }
    return err;
}

/* Fields that have a function each, in the order of reading: some look at the texts. */
static const struct {
    const char *name;
    size_t max; /* the largest number of elements */
    enum dg_err (*read)(const struct dg_json *json, struct dg_arena *arena, struct dg_error *error,
                        struct dg_translate_options *options);
} parts[] = {
    {"protected", PROTECTED_MAX, read_protected},
    {"must", DG_CONSTRAINTS_MAX, read_must},
    {"glossary", GLOSSARIES_MAX, read_glossary},
    {"suppress", SUPPRESS_MAX, read_suppress},
    {"prefix", 0, read_prefix},
    {"api_key", 0, read_key},
};

static bool is_said(const struct dg_json *json, const char *name)
{
    const enum dg_json_type type = dg_json_type(dg_json_get(json, name));
    return type == DG_JSON_INT || type == DG_JSON_REAL;
}

/* Options that exclude each other, and options that are required. */
static enum dg_err check(const struct dg_translate_options *options, struct dg_error *error,
                         const char **field)
{
    *field = "alternatives";
    if (options->request.format != DG_DOC_TEXT && options->alternatives > 0)
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "field 'alternatives': a text with markup has only one translation");
    *field = "target";
    if (!options->request.model && !options->request.target)
        return dg_error_set(error, DG_ERR_NOT_FOUND, "either 'target' or 'model' is needed");
    return DG_OK;
}

enum dg_err dg_translate_options_read(const struct dg_json *json, struct dg_arena *arena,
                                      const struct dg_translate_options_limits *limits,
                                      struct dg_failure *failure,
                                      struct dg_translate_options *options)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_translate_options found = {.request = DG_ENGINE_REQUEST_DEFAULT};
    if (limits->base)
        found = *limits->base;
    const char *field = NULL;
    const struct dg_translate_options_row *row = NULL;
    struct dg_translate_options_row bounded;
    size_t max = 0; /* the largest number of elements of the array that is being read */
    enum dg_err err = dg_translate_options_check_names(json, rows, N_ROWS, other_fields, N_OTHERS,
                                                       &error, &field);
    for (size_t i = 0; i < N_ROWS && !err; i++) {
        bounded =
            dg_translate_options_bound_row(&rows[i], limits->beam_max, limits->min_length_max);
        row = &bounded;
        field = row->name;
        err = dg_translate_options_read_row(row, json, arena, &error, &found);
    }
    if (!err) {
        row = NULL;
        err = read_choices(json, &error, &field, &found);
    }
    if (!err) {
        field = "id";
        err = read_id(json, "id", ID_MAX, arena, &error, &found.id);
    }
    if (!err) {
        field = "last_event_id";
        err = dg_translate_options_last_event_id(json, arena, &error, &found.last_event_id);
    }
    if (!err) {
        field = "text";
        err = read_texts(json, arena, limits, &error, &found, &max);
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !err; i++) {
        field = parts[i].name;
        max = parts[i].max;
        err = parts[i].read(json, arena, &error, &found);
    }
    if (!err)
        err = check(&found, &error, &field);
    if (err) {
        *failure = dg_translate_options_field_failure(arena, err, &error, field);
        dg_translate_options_say_limit(failure, err, row, max);
        return err;
    }
    found.has_beam = found.has_beam || is_said(json, "beam");
    found.has_length = found.has_length || is_said(json, "length_penalty");
    found.request.search.n_best = found.alternatives + 1;
    found.request.search.want_alignment = found.want_alignment;
    *options = found;
    return DG_OK;
}
