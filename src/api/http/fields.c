/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Fields are collected into an array that doubles in the arena: at most the size of the largest
 * array is wasted, and the arena's maximum bounds it all. */
#include "api/http/fields.h"
#include "base/memory/utf8.h"
#include "net/proto/multipart.h"
#include "net/proto/target.h"

#include <stdio.h>
#include <strings.h>

enum { VALUES_MAX = 200 * 1000, FIELDS_MAX = 10 * 1000, NAME_MAX_BYTES = 256 };

struct reader {
    struct dg_arena *arena;
    struct dg_fields *fields;
    size_t cap;
};

static enum dg_err add(struct reader *reader, struct dg_field field)
{
    struct dg_fields *fields = reader->fields;
    if (fields->n == FIELDS_MAX)
        return DG_ERR_LIMIT;
    if (fields->n == reader->cap) {
        size_t cap = reader->cap ? reader->cap * 2 : 16;
        struct dg_field *grown = dg_arena_calloc(reader->arena, cap, sizeof *grown);
        if (!grown)
            return DG_ERR_NOMEM;
        if (fields->n)
            memcpy(grown, fields->items, fields->n * sizeof *grown);
        fields->items = grown;
        reader->cap = cap;
    }
    fields->items[fields->n++] = field;
    return DG_OK;
}

static enum dg_err copy(struct dg_arena *arena, struct dg_span text, struct dg_span *out)
{
    *out = dg_arena_copy(arena, text);
    return out->ptr ? DG_OK : DG_ERR_NOMEM;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static enum dg_err read_number(struct dg_arena *arena, const struct dg_json *json,
                               struct dg_field *field)
{
    char text[32];
    int len = 0;
    int64_t whole;
    double real;
    if (dg_json_int(json, field->name, INT64_MIN, INT64_MAX, NULL, &whole) == DG_OK)
        len = snprintf(text, sizeof text, "%lld", (long long)whole);
    else if (dg_json_real(json, field->name, -1e308, 1e308, NULL, &real) == DG_OK)
        len = snprintf(text, sizeof text, "%.17g", real);
    return copy(arena, dg_span_make(text, (size_t)len), &field->value);
}

/* Adds one value under a name; null counts as absent, but not inside an array. */
static enum dg_err add_value(struct reader *reader, const struct dg_json *json,
                             struct dg_field field)
{
    bool yes = false;
    struct dg_span text;
    enum dg_err err = DG_OK;
    switch (dg_json_type(json)) {
    case DG_JSON_NULL:
        if (!field.in_array)
            return DG_OK;
        field.kind = DG_FIELD_OTHER;
        break;
    case DG_JSON_STRING:
        field.kind = DG_FIELD_TEXT;
        err = dg_json_string(json, field.name, NULL, &text);
        if (!err)
            err = copy(reader->arena, text, &field.value);
        break;
    case DG_JSON_INT:
    case DG_JSON_REAL:
        field.kind = DG_FIELD_NUMBER;
        err = read_number(reader->arena, json, &field);
        break;
    case DG_JSON_BOOL:
        field.kind = DG_FIELD_BOOL;
        err = dg_json_bool(json, field.name, NULL, &yes);
        field.value = yes ? DG_SPAN("true") : DG_SPAN("false");
        break;
    default:
        field.kind = DG_FIELD_OTHER;
        break;
    }
    return err ? err : add(reader, field);
}

/* Reads the members of element `i` of an array as fields. */
static enum dg_err add_members(struct reader *reader, struct dg_span array, size_t i,
                               const struct dg_json *object)
{
    struct dg_json_iter iter = dg_json_iter(object);
    struct dg_span key;
    const struct dg_json *value;
    struct dg_buf name;
    enum dg_err err = DG_OK;
    dg_buf_init(&name, NAME_MAX_BYTES);
    while (!err && dg_json_next(&iter, &key, &value)) {
        struct dg_field field = {.kind = DG_FIELD_OTHER};
        dg_buf_clear(&name);
        if (array.len + key.len + 32 > NAME_MAX_BYTES)
            continue; /* too long to be a name that any route asks for */
        err = dg_buf_printf(&name, "%.*s[%zu].%.*s", DG_SPAN_FMT(array), i, DG_SPAN_FMT(key));
        if (!err)
            err = copy(reader->arena, dg_buf_span(&name), &field.name);
        if (!err && dg_json_type(value) == DG_JSON_ARRAY)
            err = add(reader, field);
        else if (!err)
            err = add_value(reader, value, field);
    }
    dg_buf_deinit(&name);
    return err;
}

static enum dg_err add_member(struct reader *reader, struct dg_span key,
                              const struct dg_json *value)
{
    struct dg_field field = {.kind = DG_FIELD_EMPTY};
    enum dg_err err = copy(reader->arena, key, &field.name);
    if (err || dg_json_type(value) != DG_JSON_ARRAY)
        return err ? err : add_value(reader, value, field);
    field.in_array = true;
    if (dg_json_len(value) == 0)
        return add(reader, field);
    for (size_t i = 0; !err && i < dg_json_len(value); i++)
        err = add_value(reader, dg_json_at(value, i), field);
    for (size_t i = 0; !err && i < dg_json_len(value); i++)
        if (dg_json_type(dg_json_at(value, i)) == DG_JSON_OBJECT)
            err = add_members(reader, field.name, i, dg_json_at(value, i));
    return err;
}

static enum dg_err read_json(struct reader *reader, struct dg_span body, bool takes_array,
                             struct dg_error *error)
{
    const struct dg_json_limits limits = {
        .max_bytes = body.len + 1, .max_depth = 16, .max_values = VALUES_MAX};
    struct dg_json *json = NULL;
    struct dg_span key;
    const struct dg_json *value;
    enum dg_err err = dg_json_parse(body, &limits, error, &json);
    if (err)
        return err;
    if (takes_array && dg_json_type(json) == DG_JSON_ARRAY)
        err = add_member(reader, DG_SPAN(""), json);
    else if (dg_json_type(json) != DG_JSON_OBJECT)
        err = dg_error_set(error, DG_ERR_INVALID, "read %s, expected a JSON object",
                           dg_json_type_name(dg_json_type(json)));
    struct dg_json_iter iter = dg_json_iter(json);
    while (!err && dg_json_next(&iter, &key, &value))
        err = add_member(reader, key, value);
    dg_json_free(json);
    return err;
}

/* ---- Forms and the query string -------------------------------------------------------------- */

/* "text[]" is an element of the array "text". */
static void read_brackets(struct dg_field *field)
{
    field->in_array = dg_span_ends(field->name, DG_SPAN("[]")) && field->name.len > 2;
    if (field->in_array)
        field->name.len -= 2;
}

static enum dg_err read_pairs(struct reader *reader, struct dg_span text, bool from_query)
{
    struct dg_query query = dg_query_over(text);
    struct dg_field field = {.kind = DG_FIELD_TEXT, .from_query = from_query};
    bool more = true;
    enum dg_err err = DG_OK;
    while (!err) {
        err = dg_query_next(&query, reader->arena, &field.name, &field.value, &more);
        if (err || !more)
            break;
        read_brackets(&field);
        err = add(reader, field);
    }
    return err;
}

static enum dg_err read_multipart(struct reader *reader, struct dg_span type, struct dg_span body,
                                  struct dg_error *error)
{
    struct dg_multipart multipart;
    struct dg_part part;
    bool more = true;
    enum dg_err err = dg_multipart_begin(&multipart, type, body, error);
    while (!err) {
        err = dg_multipart_next(&multipart, reader->arena, &part, &more, error);
        if (err || !more)
            break;
        struct dg_field field = {.name = part.name,
                                 .kind = part.filename.ptr ? DG_FIELD_FILE : DG_FIELD_TEXT,
                                 .filename = part.filename,
                                 .type = part.type};
        if (field.kind == DG_FIELD_TEXT && !dg_utf8_valid(part.body, NULL))
            return dg_error_set(error, DG_ERR_UTF8, "field '%.*s' is not valid UTF-8",
                                DG_SPAN_FMT(part.name));
        read_brackets(&field);
        err = copy(reader->arena, part.body, &field.value);
        if (!err)
            err = add(reader, field);
    }
    return err;
}

/* Takes over the fields that were read while the body arrived. */
static enum dg_err copy_form(struct reader *reader, const struct dg_fields *form)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < form->n && !err; i++) {
        struct dg_field field = form->items[i];
        err = copy(reader->arena, field.name, &field.name);
        if (!err && field.filename.ptr)
            err = copy(reader->arena, field.filename, &field.filename);
        if (!err)
            err = copy(reader->arena, field.type, &field.type);
        if (!err && !field.is_mapped)
            err = copy(reader->arena, field.value, &field.value);
        read_brackets(&field);
        if (!err)
            err = add(reader, field);
    }
    return err;
}

static bool is_type(struct dg_span value, const char *type)
{
    size_t len = strlen(type);
    if (value.len < len || strncasecmp(value.ptr, type, len) != 0)
        return false;
    return value.len == len || value.ptr[len] == ';' || value.ptr[len] == ' ';
}

static struct dg_span skip_blanks(struct dg_span text)
{
    while (text.len && (text.ptr[0] == ' ' || text.ptr[0] == '\t' || text.ptr[0] == '\n' ||
                        text.ptr[0] == '\r'))
        text = dg_span_sub(text, 1, text.len);
    return text;
}

static enum dg_err read_body(struct reader *reader, const struct dg_fields_source *source,
                             struct dg_error *error)
{
    struct dg_span body = skip_blanks(source->body);
    if (dg_multipart_is(source->type) && source->body.len)
        return read_multipart(reader, source->type, source->body, error);
    bool says_json = is_type(source->type, "application/json") && !source->is_get;
    /* a form would have %7B where this has a brace */
    if (says_json ||
        (body.len && (body.ptr[0] == '{' || (source->takes_array && body.ptr[0] == '[')))) {
        reader->fields->is_json = true;
        return read_json(reader, source->body, source->takes_array, error);
    }
    return read_pairs(reader, source->body, false);
}

struct dg_fields_source dg_fields_source(const struct dg_http_req *req)
{
    return (struct dg_fields_source){.type = dg_http_header(req, "content-type"),
                                     .query = req->query,
                                     .body = req->body,
                                     .is_get = req->method == DG_HTTP_GET};
}

enum dg_err dg_fields_read(const struct dg_fields_source *source, struct dg_arena *arena,
                           struct dg_fields *fields, struct dg_error *error)
{
    struct reader reader = {.arena = arena, .fields = fields};
    *fields = (struct dg_fields){.n = 0};
    enum dg_err err =
        source->form ? copy_form(&reader, source->form) : read_body(&reader, source, error);
    if (!err) {
        err = read_pairs(&reader, source->query, true);
        if (err)
            dg_error_set(error, err, "the query string cannot be read: %s", dg_err_sentence(err));
    }
    if (err == DG_ERR_LIMIT && fields->n == FIELDS_MAX)
        dg_error_set(error, err,
                     "read more than %d values, expected at most that many in all fields together",
                     FIELDS_MAX);
    return err;
}

/* ---- Looking --------------------------------------------------------------------------------- */

static bool is_name(const struct dg_field *field, const char *name)
{
    return dg_span_eq(field->name, dg_span_cstr(name));
}

const struct dg_field *dg_fields_get(const struct dg_fields *fields, const char *name)
{
    for (size_t i = 0; i < fields->n; i++)
        if (is_name(&fields->items[i], name))
            return &fields->items[i];
    return NULL;
}

const struct dg_field *dg_fields_next(const struct dg_fields *fields, const struct dg_field *field)
{
    for (const struct dg_field *at = field + 1; at < fields->items + fields->n; at++)
        if (at->from_query == field->from_query && dg_span_eq(at->name, field->name))
            return at;
    return NULL;
}

size_t dg_fields_count(const struct dg_fields *fields, const struct dg_field *field)
{
    size_t n = 0;
    if (field && field->kind == DG_FIELD_EMPTY)
        return 0;
    for (; field; field = dg_fields_next(fields, field))
        n++;
    return n;
}

struct dg_span dg_fields_text(const struct dg_fields *fields, const char *name)
{
    const struct dg_field *field = dg_fields_get(fields, name);
    return field && field->kind == DG_FIELD_TEXT ? field->value : (struct dg_span){NULL, 0};
}

bool dg_field_int(const struct dg_field *field, int64_t *value)
{
    if (field->kind != DG_FIELD_NUMBER && field->kind != DG_FIELD_TEXT)
        return false;
    struct dg_span text = field->value;
    bool is_negative = text.len && text.ptr[0] == '-';
    size_t at = is_negative ? 1 : 0;
    int64_t sum = 0;
    if (at == text.len || text.len - at > 15)
        return false;
    for (; at < text.len; at++) {
        if (text.ptr[at] < '0' || text.ptr[at] > '9')
            return false;
        sum = sum * 10 + (text.ptr[at] - '0');
    }
    *value = is_negative ? -sum : sum;
    return true;
}

bool dg_field_bool(const struct dg_field *field, bool *value)
{
    struct dg_span text = field->value;
    if (field->kind == DG_FIELD_FILE || text.len == 0 || text.len > 5)
        return false;
    if (dg_span_eq(text, DG_SPAN("1")) || (text.len == 4 && strncasecmp(text.ptr, "true", 4) == 0))
        *value = true;
    else if (dg_span_eq(text, DG_SPAN("0")) ||
             (text.len == 5 && strncasecmp(text.ptr, "false", 5) == 0))
        *value = false;
    else
        return false;
    return true;
}
