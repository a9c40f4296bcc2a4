/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Strict JSON parsing, over jansson. The function that parses a value reads its fields into its own
 * struct, copies what must live on into its arena, and frees the value; it passes no value on.
 *
 *     struct dg_json *body = NULL;
 *     err = dg_json_parse(text, &(struct dg_json_limits)DG_JSON_LIMITS_DEFAULT, error, &body);
 *     if (!err)
 *         err = dg_json_check_fields(body, (const char *const[]){"text", "beam", NULL}, error,
 * NULL); if (!err) err = dg_json_get_string(body, "text", DG_JSON_REQUIRED, error, &source);
 *     int64_t beam = 4;                                   an absent optional field leaves this
 *     if (!err)
 *         err = dg_json_get_int(body, "beam", DG_JSON_OPTIONAL, 1, 16, error, &beam);
 *     ...                          "field 'beam': read a string, expected an integer 1 to 16"
 *     dg_json_free(body);
 *
 *     struct dg_json_iter iter = dg_json_iter(vocab);     in the order of the file
 *     while (dg_json_next(&iter, &key, &value))
 *         err = dg_json_int(value, key, 0, 65535, error, &id);
 *
 * The parser refuses, with line, column and byte: duplicate keys, anything after the value, invalid
 * UTF-8, NaN, comments, lone surrogates, integers past 64 bits, NUL in a key, and whatever exceeds
 * the limits. NUL (\u0000) is legal in a string; strings are spans. Error messages may quote the
 * text: they are for its sender, and may be logged only at level debug. json_out.h writes JSON. One
 * thread per value. */
#ifndef DG_BASE_JSON_JSON_H
#define DG_BASE_JSON_JSON_H

#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_json; /* a value: you own the one from dg_json_parse; all others are borrowed from it */

struct dg_json_limits {
    size_t max_bytes;
    size_t max_depth;  /* of nested arrays and objects; [[]] has 2; never more than DG_JSON_DEPTH */
    size_t max_values; /* containers, strings, numbers, literals; keys do not count */
};

enum { DG_JSON_DEPTH = 512 };

/* For requests and small files. */
#define DG_JSON_LIMITS_DEFAULT                                                                     \
    {                                                                                              \
        .max_bytes = 1 << 20, .max_depth = 16, .max_values = 10000                                 \
    }

/* The top-level value may be of any type. DG_ERR_LIMIT, DG_ERR_UTF8, DG_ERR_FORMAT or
 * DG_ERR_NOMEM. */
enum dg_err dg_json_parse(struct dg_span text, const struct dg_json_limits *limits,
                          struct dg_error *error, struct dg_json **json) DG_MUST_CHECK;
void dg_json_free(struct dg_json *json); /* mirror of parse; NULL is fine */

enum dg_json_type {
    DG_JSON_NULL,
    DG_JSON_BOOL,
    DG_JSON_INT,
    DG_JSON_REAL,
    DG_JSON_STRING,
    DG_JSON_ARRAY,
    DG_JSON_OBJECT,
};

/* NULL, which dg_json_get and dg_json_at return for an absent value, counts as null. */
enum dg_json_type dg_json_type(const struct dg_json *value);

/* "a string", "an integer", ... for error messages. */
const char *dg_json_type_name(enum dg_json_type type);

/* Members of an object or elements of an array; 0 for anything else. */
size_t dg_json_len(const struct dg_json *value);

/* ---- One value -------------------------------------------------------------------------------
 * `name` is only for the error message. A value of another type is DG_ERR_INVALID, a number outside
 * [min, max] is DG_ERR_RANGE; both leave *out untouched. Integers pass as reals, reals never as
 * integers. */
enum dg_err dg_json_bool(const struct dg_json *value, struct dg_span name, struct dg_error *error,
                         bool *out) DG_MUST_CHECK;
enum dg_err dg_json_int(const struct dg_json *value, struct dg_span name, int64_t min, int64_t max,
                        struct dg_error *error, int64_t *out) DG_MUST_CHECK;
enum dg_err dg_json_real(const struct dg_json *value, struct dg_span name, double min, double max,
                         struct dg_error *error, double *out) DG_MUST_CHECK;
/* Borrowed until dg_json_free; always valid UTF-8; may hold NUL. */
enum dg_err dg_json_string(const struct dg_json *value, struct dg_span name, struct dg_error *error,
                           struct dg_span *out) DG_MUST_CHECK;

/* ---- Fields of an object ----------------------------------------------------------------------
 * An absent REQUIRED field is DG_ERR_NOT_FOUND. An OPTIONAL field that is absent or null is DG_OK
 * and leaves *out as it was. DG_ERR_INVALID when `object` is not an object. */
enum dg_json_need { DG_JSON_OPTIONAL, DG_JSON_REQUIRED };

enum dg_err dg_json_get_bool(const struct dg_json *object, const char *name, enum dg_json_need need,
                             struct dg_error *error, bool *out) DG_MUST_CHECK;
enum dg_err dg_json_get_int(const struct dg_json *object, const char *name, enum dg_json_need need,
                            int64_t min, int64_t max, struct dg_error *error,
                            int64_t *out) DG_MUST_CHECK;
enum dg_err dg_json_get_real(const struct dg_json *object, const char *name, enum dg_json_need need,
                             double min, double max, struct dg_error *error,
                             double *out) DG_MUST_CHECK;
enum dg_err dg_json_get_string(const struct dg_json *object, const char *name,
                               enum dg_json_need need, struct dg_error *error,
                               struct dg_span *out) DG_MUST_CHECK;
/* One of the NULL-terminated `choices`; *out is its index. */
enum dg_err dg_json_get_choice(const struct dg_json *object, const char *name,
                               enum dg_json_need need, const char *const *choices,
                               struct dg_error *error, int *out) DG_MUST_CHECK;
enum dg_err dg_json_get_array(const struct dg_json *object, const char *name,
                              enum dg_json_need need, struct dg_error *error,
                              const struct dg_json **out) DG_MUST_CHECK;
enum dg_err dg_json_get_object(const struct dg_json *object, const char *name,
                               enum dg_json_need need, struct dg_error *error,
                               const struct dg_json **out) DG_MUST_CHECK;

/* The field's value, for fields of several types; NULL when it is absent or `object` is not an
 * object. */
const struct dg_json *dg_json_get(const struct dg_json *object, const char *name);

/* DG_ERR_INVALID when a field is not among the NULL-terminated `known`; the sentence has its name
 * and the known one that it resembles, or all of them. *unknown (NULL: not wanted) becomes its
 * name, borrowed from `object`. Also DG_ERR_INVALID when `object` is not an object. */
enum dg_err dg_json_check_fields(const struct dg_json *object, const char *const *known,
                                 struct dg_error *error, const char **unknown) DG_MUST_CHECK;

/* ---- Elements of an array ---------------------------------------------------------------------
 * NULL past the end or when `array` is not an array. Constant time. */
const struct dg_json *dg_json_at(const struct dg_json *array, size_t i);

/* Element `i` of the field `name` as a string; the error message says "field 'name[i]'". */
enum dg_err dg_json_at_string(const struct dg_json *array, const char *name, size_t i,
                              struct dg_error *error, struct dg_span *out) DG_MUST_CHECK;
enum dg_err dg_json_at_int(const struct dg_json *array, const char *name, size_t i, int64_t min,
                           int64_t max, struct dg_error *error, int64_t *out) DG_MUST_CHECK;

/* ---- All members of an object, in the order of the text -------------------------------------- */
struct dg_json_iter {
    const struct dg_json *object;
    void *at;
};

struct dg_json_iter dg_json_iter(const struct dg_json *object); /* not an object: no members */
bool dg_json_next(struct dg_json_iter *iter, struct dg_span *key, const struct dg_json **value);

#endif
