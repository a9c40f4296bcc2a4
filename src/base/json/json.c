/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Strict JSON parsing, over jansson.
 *
 * jansson checks the grammar. Before it sees the text, one pass of our own (`scan`) checks what
 * jansson does not: depth and number of values, so that a hostile text costs no memory, and UTF-8,
 * with the byte where it breaks. The scan knows only strings, brackets and commas; jansson refuses
 * a text that is not JSON at all.
 *
 * All memory of one parsed text comes from one arena. That is faster than a malloc for every value,
 * and it makes running out of memory safe: jansson continues after a refused allocation in places
 * and then reads past its buffer (2.14, a string whose end was not stored). So here a refused
 * allocation leaves json_loadb at once by longjmp, and the arena frees everything.
 *
 * A `struct dg_json` is never defined: its pointer is jansson's under another name, so that json_t
 * does not leak into other headers. The value that dg_json_parse returns is a `struct root`, which
 * begins like a json_t of a type that jansson does not have; `inner` finds the real value in it. */
#include "base/json/json.h"
#include "base/memory/arena.h"
#include "base/memory/chars.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "base/option/opt.h"

#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

/* The longest quotation of the read text in an error message. */
enum { QUOTE_MAX = 60 };

enum { ROOT_TYPE = 99 };

struct root {
    json_t head; /* only its type is used, to tell a root from a value */
    json_t *value;
    struct dg_arena arena; /* the value's memory, and this struct's own */
};

static const json_t *inner(const struct dg_json *value)
{
    const json_t *v = (const json_t *)(const void *)value;
    if (v && (int)v->type == ROOT_TYPE)
        return ((const struct root *)(const void *)value)->value;
    return v;
}

static const struct dg_json *outer(const json_t *value)
{
    return (const struct dg_json *)(const void *)value;
}

/* ---- Parsing --------------------------------------------------------------------------------- */

/* The offset after the string whose opening quote is at `at`. */
static size_t skip_string(struct dg_span text, size_t at)
{
    for (at++; at < text.len && text.ptr[at] != '"'; at++)
        if (text.ptr[at] == '\\')
            at++;
    return at < text.len ? at + 1 : text.len;
}

/* This thread's present parse. jansson's allocator is set for the whole process; outside our parses
 * it acts as malloc and free for other users of jansson. */
struct parse {
    struct dg_arena arena;
    jmp_buf refused; /* where to go when there is no memory */
};

static _Thread_local struct parse *current;
static pthread_once_t memory_routed = PTHREAD_ONCE_INIT;

static void *take_memory(size_t size)
{
    if (!current)
        return dg_try_malloc(size);
    void *ptr = dg_arena_alloc(&current->arena, size);
    if (!ptr)
        longjmp(current->refused, 1);
    return ptr;
}

static void give_memory(void *ptr)
{
    if (!current)
        dg_free(ptr);
}

static void route_memory(void)
{
    json_set_alloc_funcs(take_memory, give_memory);
}

/* Fills *root, or `error`. Everything between setjmp and longjmp lives in *parse or is not used
 * after. */
static enum dg_err load(struct dg_span text, struct parse *parse, json_error_t *json_error,
                        struct root **root)
{
    pthread_once(&memory_routed, route_memory);
    if (setjmp(parse->refused) != 0) {
        current = NULL;
        return DG_ERR_NOMEM;
    }
    current = parse;
    struct root *made = take_memory(sizeof *made);
    made->head.type = (json_type)ROOT_TYPE;
    made->value = json_loadb(text.ptr ? text.ptr : "", text.len,
                             JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, json_error);
    current = NULL;
    if (!made->value)
        return DG_ERR_FORMAT;
    made->arena = parse->arena;
    *root = made;
    return DG_OK;
}

/* Counts values and depth without building anything. A value is at the top, after each comma, and
 * after each opening bracket that is not closed at once. */
static enum dg_err scan(struct dg_span text, const struct dg_json_limits *limits,
                        struct dg_error *error)
{
    size_t max_depth = limits->max_depth < DG_JSON_DEPTH ? limits->max_depth : DG_JSON_DEPTH;
    size_t depth = 0, n_values = 1, at = 0;
    bool just_opened = false;
    while (at < text.len) {
        char c = text.ptr[at];
        bool opens = c == '{' || c == '[';
        bool closes = c == '}' || c == ']';
        if (dg_chars_is_space(c)) {
            at++;
            continue;
        }
        if (c == ',' || (just_opened && !closes))
            n_values++;
        if (opens && ++depth > max_depth)
            return dg_error_set(
                error, DG_ERR_LIMIT,
                "JSON nested deeper than %zu at byte %zu, expected at most that depth", max_depth,
                at);
        if (n_values > limits->max_values)
            return dg_error_set(
                error, DG_ERR_LIMIT,
                "JSON with more than %zu values at byte %zu, expected at most that many",
                limits->max_values, at);
        if (closes && depth > 0)
            depth--;
        just_opened = opens;
        at = c == '"' ? skip_string(text, at) : at + 1;
    }
    return DG_OK;
}

enum dg_err dg_json_parse(struct dg_span text, const struct dg_json_limits *limits,
                          struct dg_error *error, struct dg_json **json)
{
    if (text.len > limits->max_bytes)
        return dg_error_set(error, DG_ERR_LIMIT, "JSON of %zu bytes, expected at most %zu",
                            text.len, limits->max_bytes);
    size_t bad_at;
    if (!dg_utf8_valid(text, &bad_at))
        return dg_error_set(error, DG_ERR_UTF8,
                            "invalid UTF-8 at byte %zu (0x%02x); JSON must be sent as UTF-8",
                            bad_at, (unsigned char)text.ptr[bad_at]);
    enum dg_err err = scan(text, limits, error);
    if (err)
        return err;
    struct parse parse;
    dg_arena_init(&parse.arena, SIZE_MAX / 2);
    json_error_t json_error;
    struct root *root = NULL;
    err = load(text, &parse, &json_error, &root);
    if (!err) {
        *json = (struct dg_json *)(void *)root;
        return DG_OK;
    }
    dg_arena_deinit(&parse.arena);
    if (err == DG_ERR_NOMEM)
        return dg_error_set(error, err, "not enough memory for JSON of %zu bytes", text.len);
    return dg_error_set(error, err, "not JSON at line %d, column %d (byte %d): %s", json_error.line,
                        json_error.column, json_error.position, json_error.text);
}

void dg_json_free(struct dg_json *json)
{
    if (!json)
        return;
    /* The arena holds the root itself. */
    struct dg_arena arena = ((struct root *)(void *)json)->arena;
    dg_arena_deinit(&arena);
}

/* ---- What a value is ------------------------------------------------------------------------- */

enum dg_json_type dg_json_type(const struct dg_json *value)
{
    switch (value ? json_typeof(inner(value)) : JSON_NULL) {
    case JSON_OBJECT:
        return DG_JSON_OBJECT;
    case JSON_ARRAY:
        return DG_JSON_ARRAY;
    case JSON_STRING:
        return DG_JSON_STRING;
    case JSON_INTEGER:
        return DG_JSON_INT;
    case JSON_REAL:
        return DG_JSON_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return DG_JSON_BOOL;
    case JSON_NULL:
        break;
    }
    return DG_JSON_NULL;
}

const char *dg_json_type_name(enum dg_json_type type)
{
    static const char *const names[] = {
        [DG_JSON_NULL] = "null",       [DG_JSON_BOOL] = "true or false",
        [DG_JSON_INT] = "an integer",  [DG_JSON_REAL] = "a number with a fraction or exponent",
        [DG_JSON_STRING] = "a string", [DG_JSON_ARRAY] = "an array",
        [DG_JSON_OBJECT] = "an object"};
    return names[type];
}

size_t dg_json_len(const struct dg_json *value)
{
    const json_t *v = inner(value);
    return json_is_object(v) ? json_object_size(v) : json_is_array(v) ? json_array_size(v) : 0;
}

/* ---- Sentences ------------------------------------------------------------------------------- */

static const char *type_of(const struct dg_json *value)
{
    return value ? dg_json_type_name(dg_json_type(value)) : "nothing";
}

/* "field 'NAME': read A STRING, expected WANTED" */
static enum dg_err refuse_type(const struct dg_json *value, struct dg_span name,
                               struct dg_error *error, const char *wanted)
{
    struct dg_span shown = dg_utf8_clip(name, QUOTE_MAX);
    return dg_error_set(error, DG_ERR_INVALID, "field '%.*s': read %s, expected %s",
                        DG_SPAN_FMT(shown), type_of(value), wanted);
}

static enum dg_err refuse_missing(const char *name, struct dg_error *error, const char *wanted)
{
    return dg_error_set(error, DG_ERR_NOT_FOUND, "field '%s' is missing, expected %s", name,
                        wanted);
}

static enum dg_err refuse_container(const struct dg_json *value, struct dg_error *error)
{
    return dg_error_set(error, DG_ERR_INVALID, "read %s, expected an object", type_of(value));
}

/* ---- One value ------------------------------------------------------------------------------- */

enum dg_err dg_json_bool(const struct dg_json *value, struct dg_span name, struct dg_error *error,
                         bool *out)
{
    if (!json_is_boolean(inner(value)))
        return refuse_type(value, name, error, "true or false");
    *out = json_is_true(inner(value));
    return DG_OK;
}

enum { WANTED_MAX = 100 };

static void say_int(char wanted[WANTED_MAX], int64_t min, int64_t max)
{
    snprintf(wanted, WANTED_MAX, "an integer %" PRId64 " to %" PRId64, min, max);
}

static void say_real(char wanted[WANTED_MAX], double min, double max)
{
    snprintf(wanted, WANTED_MAX, "a number %g to %g", min, max);
}

enum dg_err dg_json_int(const struct dg_json *value, struct dg_span name, int64_t min, int64_t max,
                        struct dg_error *error, int64_t *out)
{
    char wanted[WANTED_MAX];
    if (!json_is_integer(inner(value))) {
        say_int(wanted, min, max);
        return refuse_type(value, name, error, wanted);
    }
    int64_t number = json_integer_value(inner(value));
    if (number < min || number > max) {
        say_int(wanted, min, max);
        struct dg_span shown = dg_utf8_clip(name, QUOTE_MAX);
        return dg_error_set(error, DG_ERR_RANGE, "field '%.*s': read %" PRId64 ", expected %s",
                            DG_SPAN_FMT(shown), number, wanted);
    }
    *out = number;
    return DG_OK;
}

enum dg_err dg_json_real(const struct dg_json *value, struct dg_span name, double min, double max,
                         struct dg_error *error, double *out)
{
    char wanted[WANTED_MAX];
    if (!json_is_number(inner(value))) {
        say_real(wanted, min, max);
        return refuse_type(value, name, error, wanted);
    }
    double number = json_number_value(inner(value));
    if (!(number >= min && number <= max)) {
        say_real(wanted, min, max);
        struct dg_span shown = dg_utf8_clip(name, QUOTE_MAX);
        return dg_error_set(error, DG_ERR_RANGE, "field '%.*s': read %g, expected %s",
                            DG_SPAN_FMT(shown), number, wanted);
    }
    *out = number;
    return DG_OK;
}

enum dg_err dg_json_string(const struct dg_json *value, struct dg_span name, struct dg_error *error,
                           struct dg_span *out)
{
    if (!json_is_string(inner(value)))
        return refuse_type(value, name, error, "a string");
    *out = dg_span_make(json_string_value(inner(value)), json_string_length(inner(value)));
    return DG_OK;
}

/* ---- Fields of an object --------------------------------------------------------------------- */

const struct dg_json *dg_json_get(const struct dg_json *object, const char *name)
{
    return outer(json_object_get(inner(object), name));
}

/* Whether an optional field is absent or null. Callers check this first where it is costly to
 * describe what the field should be, because most requests leave most fields out. */
static bool is_left_out(const struct dg_json *object, const char *name, enum dg_json_need need)
{
    if (need != DG_JSON_OPTIONAL || !json_is_object(inner(object)))
        return false;
    const struct dg_json *value = dg_json_get(object, name);
    return !value || json_is_null(inner(value));
}

/* Finds the field. *found stays NULL when an optional one is absent or null. */
static enum dg_err find(const struct dg_json *object, const char *name, enum dg_json_need need,
                        const char *wanted, struct dg_error *error, const struct dg_json **found)
{
    if (!json_is_object(inner(object)))
        return refuse_container(object, error);
    const struct dg_json *value = dg_json_get(object, name);
    if (!value && need == DG_JSON_REQUIRED)
        return refuse_missing(name, error, wanted);
    if (!value || (need == DG_JSON_OPTIONAL && json_is_null(inner(value))))
        return DG_OK;
    *found = value;
    return DG_OK;
}

enum dg_err dg_json_get_bool(const struct dg_json *object, const char *name, enum dg_json_need need,
                             struct dg_error *error, bool *out)
{
    const struct dg_json *value = NULL;
    enum dg_err err = find(object, name, need, "true or false", error, &value);
    return err || !value ? err : dg_json_bool(value, dg_span_cstr(name), error, out);
}

enum dg_err dg_json_get_int(const struct dg_json *object, const char *name, enum dg_json_need need,
                            int64_t min, int64_t max, struct dg_error *error, int64_t *out)
{
    if (is_left_out(object, name, need))
        return DG_OK;
    char wanted[WANTED_MAX];
    say_int(wanted, min, max);
    const struct dg_json *value = NULL;
    enum dg_err err = find(object, name, need, wanted, error, &value);
    return err || !value ? err : dg_json_int(value, dg_span_cstr(name), min, max, error, out);
}

enum dg_err dg_json_get_real(const struct dg_json *object, const char *name, enum dg_json_need need,
                             double min, double max, struct dg_error *error, double *out)
{
    if (is_left_out(object, name, need))
        return DG_OK;
    char wanted[WANTED_MAX];
    say_real(wanted, min, max);
    const struct dg_json *value = NULL;
    enum dg_err err = find(object, name, need, wanted, error, &value);
    return err || !value ? err : dg_json_real(value, dg_span_cstr(name), min, max, error, out);
}

enum dg_err dg_json_get_string(const struct dg_json *object, const char *name,
                               enum dg_json_need need, struct dg_error *error, struct dg_span *out)
{
    const struct dg_json *value = NULL;
    enum dg_err err = find(object, name, need, "a string", error, &value);
    return err || !value ? err : dg_json_string(value, dg_span_cstr(name), error, out);
}

/* Writes `one of "a", "b", "c"` for an error message; a list that does not fit ends in dots. */
static void say_names(char *text, size_t cap, const char *before, const char *const *names)
{
    const size_t dots = sizeof ", ...";
    size_t len = (size_t)snprintf(text, cap, "%s", before);
    for (size_t i = 0; names[i]; i++) {
        if (len + strlen(names[i]) + 4 + dots > cap) {
            snprintf(text + len, cap - len, ", ...");
            return;
        }
        len += (size_t)snprintf(text + len, cap - len, "%s\"%s\"", i ? ", " : " ", names[i]);
    }
}

enum dg_err dg_json_get_choice(const struct dg_json *object, const char *name,
                               enum dg_json_need need, const char *const *choices,
                               struct dg_error *error, int *out)
{
    if (is_left_out(object, name, need))
        return DG_OK;
    char wanted[400];
    say_names(wanted, sizeof wanted, "one of", choices);
    const struct dg_json *value = NULL;
    enum dg_err err = find(object, name, need, wanted, error, &value);
    if (err || !value)
        return err;
    if (!json_is_string(inner(value)))
        return refuse_type(value, dg_span_cstr(name), error, wanted);
    struct dg_span text =
        dg_span_make(json_string_value(inner(value)), json_string_length(inner(value)));
    for (int i = 0; choices[i]; i++)
        if (dg_span_eq(text, dg_span_cstr(choices[i]))) {
            *out = i;
            return DG_OK;
        }
    struct dg_span shown = dg_utf8_clip(text, QUOTE_MAX);
    return dg_error_set(error, DG_ERR_INVALID, "field '%s': read \"%.*s\"%s, expected %s", name,
                        DG_SPAN_FMT(shown), shown.len < text.len ? "..." : "", wanted);
}

enum dg_err dg_json_get_array(const struct dg_json *object, const char *name,
                              enum dg_json_need need, struct dg_error *error,
                              const struct dg_json **out)
{
    const struct dg_json *value = NULL;
    enum dg_err err = find(object, name, need, "an array", error, &value);
    if (err || !value)
        return err;
    if (!json_is_array(inner(value)))
        return refuse_type(value, dg_span_cstr(name), error, "an array");
    *out = value;
    return DG_OK;
}

enum dg_err dg_json_get_object(const struct dg_json *object, const char *name,
                               enum dg_json_need need, struct dg_error *error,
                               const struct dg_json **out)
{
    const struct dg_json *value = NULL;
    enum dg_err err = find(object, name, need, "an object", error, &value);
    if (err || !value)
        return err;
    if (!json_is_object(inner(value)))
        return refuse_type(value, dg_span_cstr(name), error, "an object");
    *out = value;
    return DG_OK;
}

/* Says which field was probably meant, or else which there are. */
static enum dg_err refuse_field(struct dg_span key, const char *const *known, size_t n_known,
                                struct dg_error *error)
{
    const char *near = dg_opt_nearest_word(known, n_known, key);
    char wanted[900];
    struct dg_span shown = dg_utf8_clip(key, QUOTE_MAX);
    if (near)
        return dg_error_set(error, DG_ERR_INVALID, "unknown field '%.*s'; did you mean \"%s\"?",
                            DG_SPAN_FMT(shown), near);
    say_names(wanted, sizeof wanted, "only", known);
    return dg_error_set(error, DG_ERR_INVALID, "unknown field '%.*s', expected %s",
                        DG_SPAN_FMT(shown), wanted);
}

enum dg_err dg_json_check_fields(const struct dg_json *object, const char *const *known,
                                 struct dg_error *error, const char **unknown)
{
    if (!json_is_object(inner(object)))
        return refuse_container(object, error);
    struct dg_json_iter iter = dg_json_iter(object);
    struct dg_span key;
    const struct dg_json *value;
    while (dg_json_next(&iter, &key, &value)) {
        size_t i = 0;
        while (known[i] && !dg_span_eq(key, dg_span_cstr(known[i])))
            i++;
        if (known[i])
            continue;
        if (unknown)
            *unknown = key.ptr;
        return refuse_field(key, known, i, error);
    }
    return DG_OK;
}

/* ---- Elements and members -------------------------------------------------------------------- */

const struct dg_json *dg_json_at(const struct dg_json *array, size_t i)
{
    return outer(json_array_get(inner(array), i));
}

enum { ELEMENT_MAX = 100 };

/* Finds element `i` and writes "NAME[i]" for the error message. */
static enum dg_err find_element(const struct dg_json *array, const char *name, size_t i,
                                struct dg_error *error, char label[ELEMENT_MAX],
                                const struct dg_json **found)
{
    snprintf(label, ELEMENT_MAX, "%.60s[%zu]", name, i);
    *found = dg_json_at(array, i);
    if (!*found)
        return dg_error_set(error, DG_ERR_NOT_FOUND,
                            "field '%s' is missing, there are %zu elements", label,
                            dg_json_len(array));
    return DG_OK;
}

enum dg_err dg_json_at_string(const struct dg_json *array, const char *name, size_t i,
                              struct dg_error *error, struct dg_span *out)
{
    char label[ELEMENT_MAX];
    const struct dg_json *value;
    enum dg_err err = find_element(array, name, i, error, label, &value);
    return err ? err : dg_json_string(value, dg_span_cstr(label), error, out);
}

enum dg_err dg_json_at_int(const struct dg_json *array, const char *name, size_t i, int64_t min,
                           int64_t max, struct dg_error *error, int64_t *out)
{
    char label[ELEMENT_MAX];
    const struct dg_json *value;
    enum dg_err err = find_element(array, name, i, error, label, &value);
    return err ? err : dg_json_int(value, dg_span_cstr(label), min, max, error, out);
}

struct dg_json_iter dg_json_iter(const struct dg_json *object)
{
    /* jansson iterates over a non-const object without changing it. */
    json_t *o = (json_t *)(uintptr_t)inner(object);
    return (struct dg_json_iter){object, json_object_iter(o)};
}

bool dg_json_next(struct dg_json_iter *iter, struct dg_span *key, const struct dg_json **value)
{
    if (!iter->at)
        return false;
    *key = dg_span_cstr(json_object_iter_key(iter->at));
    *value = outer(json_object_iter_value(iter->at));
    iter->at = json_object_iter_next((json_t *)(uintptr_t)inner(iter->object), iter->at);
    return true;
}
