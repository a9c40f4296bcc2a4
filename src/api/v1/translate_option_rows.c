/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A row tells how its field is read and where its value goes. */
#include "api/v1/translate_option_rows.h"
#include "api/v1/translate_options.h"

#include <assert.h>
#include <string.h>

enum { FIELDS_MAX = 100 };

struct dg_translate_options_row
dg_translate_options_bound_row(const struct dg_translate_options_row *row, size_t beam_max,
                               size_t min_length_max)
{
    const struct {
        const char *name;
        size_t max;
        double less; /* the alternatives besides the best */
    } bounds[] = {{"beam", beam_max, 0},
                  {"n", beam_max, 0},
                  {"alternatives", beam_max, 1},
                  {"min_length", min_length_max, 0}};
    struct dg_translate_options_row bounded = *row;
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        if (bounds[i].max && strcmp(row->name, bounds[i].name) == 0 &&
            (double)bounds[i].max - bounds[i].less < row->max)
            bounded.max = (double)bounds[i].max - bounds[i].less;
    return bounded;
}

enum dg_err dg_translate_options_read_row(const struct dg_translate_options_row *row,
                                          const struct dg_json *json, struct dg_arena *arena,
                                          struct dg_error *error, void *into)
{
    void *field = (char *)into + row->offset;
    const int64_t min = (int64_t)row->min,
                  max = row->max > 0 || row->type == DG_TRANSLATE_OPTIONS_INT ? (int64_t)row->max
                                                                              : INT64_MAX;
    int64_t number = 0;
    double real = 0;
    enum dg_err err = DG_OK;
    if (dg_json_type(dg_json_get(json, row->name)) == DG_JSON_NULL)
        return DG_OK;
    switch (row->type) {
    case DG_TRANSLATE_OPTIONS_BOOL:
        return dg_json_get_bool(json, row->name, DG_JSON_OPTIONAL, error, field);
    case DG_TRANSLATE_OPTIONS_NOT: {
        bool value = !*(bool *)field;
        err = dg_json_get_bool(json, row->name, DG_JSON_OPTIONAL, error, &value);
        *(bool *)field = !value;
        return err;
    }
    case DG_TRANSLATE_OPTIONS_NAME:
        return dg_translate_options_name(json, row->name, arena, error, field);
    case DG_TRANSLATE_OPTIONS_REAL:
        err = dg_json_get_real(json, row->name, DG_JSON_OPTIONAL, row->min, row->max, error, &real);
        if (!err)
            *(float *)field = (float)real;
        return err;
    case DG_TRANSLATE_OPTIONS_INT:
        err = dg_json_get_int(json, row->name, DG_JSON_OPTIONAL, min, max, error, &number);
        if (!err)
            *(int *)field = (int)number;
        return err;
    case DG_TRANSLATE_OPTIONS_UINT:
        err = dg_json_get_int(json, row->name, DG_JSON_OPTIONAL, min, max, error, &number);
        if (!err)
            *(uint64_t *)field = (uint64_t)number;
        return err;
    }
    return err;
}

enum dg_err dg_translate_options_check_names(const struct dg_json *json,
                                             const struct dg_translate_options_row *rows,
                                             size_t n_rows, const char *const *others,
                                             size_t n_others, struct dg_error *error,
                                             const char **unknown)
{
    const char *known[FIELDS_MAX + 1] = {NULL};
    assert(n_rows + n_others <= FIELDS_MAX);
    for (size_t i = 0; i < n_rows; i++)
        known[i] = rows[i].name;
    for (size_t i = 0; i < n_others; i++)
        known[n_rows + i] = others[i];
    return dg_json_check_fields(json, known, error, unknown);
}

void dg_translate_options_say_limit(struct dg_failure *failure, enum dg_err err,
                                    const struct dg_translate_options_row *row, size_t most)
{
    failure->has_limit =
        err == DG_ERR_LIMIT ||
        (err == DG_ERR_RANGE && row && (row->max > 0 || row->type == DG_TRANSLATE_OPTIONS_INT));
    failure->limit = err == DG_ERR_LIMIT ? (int64_t)most : row ? (int64_t)row->max : 0;
}
