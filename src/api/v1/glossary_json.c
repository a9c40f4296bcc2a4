/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Every way to write a term comes down to a source and an array of forms. */
#include "api/v1/glossary_json.h"

#include <stdio.h>

/* Strings from element `from` on, or a single one. */
static enum dg_err read_forms(const struct dg_json *json, size_t from, const char *name,
                              struct dg_span *forms, size_t *n, struct dg_error *error)
{
    enum dg_err err = DG_OK;
    *n = dg_json_type(json) == DG_JSON_ARRAY ? dg_json_len(json) - from : 1;
    if (dg_json_type(json) == DG_JSON_STRING)
        return dg_json_string(json, dg_span_cstr(name), error, &forms[0]);
    if (dg_json_type(json) != DG_JSON_ARRAY)
        return dg_error_set(error, DG_ERR_INVALID,
                            "field '%s': read %s, expected a string or an array of strings", name,
                            dg_json_type_name(dg_json_type(json)));
    if (dg_json_len(json) <= from || *n > DG_GLOSSARY_FORMS)
        return dg_error_set(error, DG_ERR_INVALID,
                            "field '%s': read %zu elements, expected %zu to %zu", name,
                            dg_json_len(json), from + 1, from + DG_GLOSSARY_FORMS);
    for (size_t i = 0; !err && i < *n; i++)
        err = dg_json_at_string(json, name, from + i, error, &forms[i]);
    return err;
}

static enum dg_err add_one(struct dg_glossary *glossary, const struct dg_json *json,
                           const char *name, struct dg_error *error)
{
    static const char *const fields[] = {"source", "target", "exact", NULL};
    struct dg_span source = {NULL, 0}, forms[DG_GLOSSARY_FORMS];
    size_t n = 0;
    bool exact = false;
    enum dg_err err;
    if (dg_json_type(json) == DG_JSON_ARRAY) {
        err = dg_json_at_string(json, name, 0, error, &source);
        if (!err)
            err = read_forms(json, 1, name, forms, &n, error);
    } else {
        err = dg_json_check_fields(json, fields, error, NULL);
        if (!err)
            err = dg_json_get_string(json, "source", DG_JSON_REQUIRED, error, &source);
        if (!err)
            err = dg_json_get_bool(json, "exact", DG_JSON_OPTIONAL, error, &exact);
        if (!err)
            err = read_forms(dg_json_get(json, "target"), 0, "target", forms, &n, error);
        if (err == DG_ERR_NOT_FOUND)
            err = DG_ERR_INVALID;
    }
    return err ? err : dg_glossary_add(glossary, source, forms, n, exact, error);
}

enum dg_err dg_glossary_json_add(struct dg_glossary *glossary, const struct dg_json *terms,
                                 const char *name, size_t max, struct dg_error *error)
{
    enum dg_json_type type = dg_json_type(terms);
    struct dg_json_iter iter = dg_json_iter(terms);
    struct dg_span key, forms[DG_GLOSSARY_FORMS];
    const struct dg_json *value;
    enum dg_err err = DG_OK;
    size_t n = 0;
    if (type != DG_JSON_ARRAY && type != DG_JSON_OBJECT)
        return dg_error_set(
            error, DG_ERR_INVALID,
            "field '%s': read %s, expected an array of terms, or an object of pairs", name,
            dg_json_type_name(type));
    if (dg_json_len(terms) == 0 || dg_json_len(terms) > max)
        return dg_error_set(error, dg_json_len(terms) ? DG_ERR_LIMIT : DG_ERR_INVALID,
                            "field '%s': read %zu terms, expected 1 to %zu", name,
                            dg_json_len(terms), max);
    for (size_t i = 0; !err && type == DG_JSON_ARRAY && i < dg_json_len(terms); i++) {
        char where[64];
        snprintf(where, sizeof where, "%s[%zu]", name, i);
        err = add_one(glossary, dg_json_at(terms, i), where, error);
        if (err)
            dg_error_wrap(error, err, "%s", where);
    }
    while (!err && type == DG_JSON_OBJECT && dg_json_next(&iter, &key, &value)) {
        err = read_forms(value, 0, name, forms, &n, error);
        if (!err)
            err = dg_glossary_add(glossary, key, forms, n, false, error);
    }
    return err;
}
