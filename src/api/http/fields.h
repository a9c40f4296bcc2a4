/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The fields of a request in whatever form they come: a JSON object, a form (urlencoded or
 * multipart), the query string, or several of these. The compatible APIs accept all of them; this
 * makes them one list.
 *
 *     struct dg_fields fields;
 *     struct dg_fields_source source = dg_fields_source(call->req);
 *     err = dg_fields_read(&source, &arena, &fields, &error);             any thread
 *     const struct dg_field *q = dg_fields_get(&fields, "q");            NULL when absent or null
 *     for (; q; q = dg_fields_next(&fields, q)) ... q->value ...         arrays, repeated names
 *
 * The fields of the body come before those of the query string. A JSON array gives one field for
 * each element, and so do the names of a form that end in "[]"; nested arrays and objects are
 * DG_FIELD_OTHER, which no reader of plain values accepts. The members of an object in an array are
 * also fields, with the names that forms have for them: "dictionaries[0].entries". A body that
 * begins with '{' is JSON, whatever its content type says, unless that is multipart: `curl -d`
 * calls everything a form. Everything lives in the arena. */
#ifndef DG_API_HTTP_FIELDS_H
#define DG_API_HTTP_FIELDS_H

#include "base/json/json.h"
#include "base/memory/arena.h"
#include "net/proto/http.h"

enum dg_field_kind {
    DG_FIELD_TEXT,   /* a text in JSON, or any value of a form, where everything is text */
    DG_FIELD_NUMBER, /* a number in JSON; `value` has its characters unchanged */
    DG_FIELD_BOOL,   /* a truth value in JSON; `value` is "true" or "false" */
    DG_FIELD_FILE,   /* a file of a multipart form, with its file name */
    DG_FIELD_EMPTY,  /* an empty JSON array */
    DG_FIELD_OTHER,  /* an object, or an array within an array */
};

struct dg_field {
    struct dg_span name, value;
    struct dg_span filename, type; /* only for DG_FIELD_FILE */
    enum dg_field_kind kind;
    bool in_array;   /* the field is an element of a JSON array */
    bool from_query; /* the field comes from the query string */
    bool is_mapped;  /* the value is the file of an upload (upload.h), and is not copied */
};

struct dg_fields {
    struct dg_field *items; /* [n] */
    size_t n;
    bool is_json; /* the body was JSON */
};

/* The parts of a request that can have fields. */
struct dg_fields_source {
    struct dg_span type, query, body; /* `type` is the type of the body */
    const struct dg_fields *form;     /* the form of an upload, in place of the body; NULL: none */
    bool is_get;
    bool takes_array; /* The body may be a JSON array. Its objects give fields such as "[0].text";
                         its other elements are fields without a name. */
};

struct dg_fields_source dg_fields_source(const struct dg_http_req *req); /* borrowed */

/* DG_ERR_FORMAT for malformed JSON or a malformed form (is_json says which), DG_ERR_INVALID for
 * JSON that is not an object, DG_ERR_LIMIT, DG_ERR_UTF8, DG_ERR_TRUNCATED, DG_ERR_NOMEM;
 * `fields->is_json` is set in every case. */
enum dg_err dg_fields_read(const struct dg_fields_source *source, struct dg_arena *arena,
                           struct dg_fields *fields, struct dg_error *error) DG_MUST_CHECK;

/* Return the first field of a name, and the next of the same name and origin. */
const struct dg_field *dg_fields_get(const struct dg_fields *fields, const char *name);
const struct dg_field *dg_fields_next(const struct dg_fields *fields, const struct dg_field *field);

/* Returns how many fields there are from `field` on: itself and those that dg_fields_next returns.
 * 0 for NULL or an empty array. */
size_t dg_fields_count(const struct dg_fields *fields, const struct dg_field *field);

/* Returns the value of a text field; ptr NULL when it is absent or not plain text. */
struct dg_span dg_fields_text(const struct dg_fields *fields, const char *name);

/* Reads a whole number, in JSON or as a text of digits. False for anything else. */
bool dg_field_int(const struct dg_field *field, int64_t *value);

/* Reads true, false, 1 or 0, in JSON or as text. False for anything else. */
bool dg_field_bool(const struct dg_field *field, bool *value);

#endif
