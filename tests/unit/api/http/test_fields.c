/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "api/http/fields.h"
#include "unit.h"

static enum dg_err read_fields(struct dg_arena *arena, const char *type, const char *body,
                               const char *query, bool takes_array, struct dg_fields *fields)
{
    struct dg_error error = DG_ERROR_NONE;
    const struct dg_fields_source source = {.type = dg_span_cstr(type),
                                            .query = dg_span_cstr(query),
                                            .body = dg_span_cstr(body),
                                            .takes_array = takes_array};
    return dg_fields_read(&source, arena, fields, &error);
}

static bool is_text(const struct dg_fields *fields, const char *name, const char *value)
{
    return dg_span_eq(dg_fields_text(fields, name), dg_span_cstr(value));
}

START_TEST(an_object_has_fields)
{
    struct dg_arena arena;
    struct dg_fields fields;
    dg_arena_init(&arena, 1 << 20);
    const enum dg_err err = read_fields(&arena, "application/json",
                                        "{\"q\":[\"a\",\"b\"],\"n\":{\"x\":1},\"none\":null}",
                                        "q=c&r=d", false, &fields);
    if (err != DG_ERR_NOMEM) {
        ck_assert_int_eq(err, DG_OK);
        const struct dg_field *q = dg_fields_get(&fields, "q");
        ck_assert(fields.is_json && is_text(&fields, "q", "a") && is_text(&fields, "r", "d"));
        /* the query's field is a different one */
        ck_assert_uint_eq(dg_fields_count(&fields, q), 2);
        ck_assert_int_eq(dg_fields_get(&fields, "n")->kind, DG_FIELD_OTHER);
        ck_assert_ptr_null(dg_fields_get(&fields, "none"));
    }
    dg_arena_deinit(&arena);
}
END_TEST

START_TEST(an_array_is_taken_where_it_is_allowed)
{
    static const char body[] = " [{\"Text\":\"a\",\"n\":5},{\"Text\":\"b\"},7]";
    struct dg_arena arena;
    struct dg_fields fields;
    dg_arena_init(&arena, 1 << 20);
    enum dg_err err = read_fields(&arena, "text/plain", body, "to=de", true, &fields);
    if (err != DG_ERR_NOMEM) {
        ck_assert_int_eq(err, DG_OK);
        ck_assert(fields.is_json && is_text(&fields, "[0].Text", "a") &&
                  is_text(&fields, "[1].Text", "b") && is_text(&fields, "to", "de"));
        ck_assert_uint_eq(dg_fields_count(&fields, dg_fields_get(&fields, "")), 3);
        ck_assert_int_eq(dg_fields_get(&fields, "[0].n")->kind, DG_FIELD_NUMBER);
    }
    err = read_fields(&arena, "application/json", "[]", "", true, &fields);
    if (err != DG_ERR_NOMEM) {
        ck_assert_int_eq(err, DG_OK);
        ck_assert_int_eq(dg_fields_get(&fields, "")->kind, DG_FIELD_EMPTY);
    }
    err = read_fields(&arena, "application/json", body, "", false, &fields);
    ck_assert(err == DG_ERR_INVALID || err == DG_ERR_NOMEM);
    dg_arena_deinit(&arena);
}
END_TEST

DG_UNIT(an_object_has_fields, an_array_is_taken_where_it_is_allowed)
