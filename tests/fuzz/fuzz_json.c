/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as JSON: what is accepted is written again and must be read back the same. */
#include "base/json/json.h"
#include "base/json/json_out.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void write_value(struct dg_json_out *out, const struct dg_json *value)
{
    const struct dg_span name = DG_SPAN("fuzz");
    bool yes;
    int64_t number;
    double real;
    struct dg_span text;
    switch (dg_json_type(value)) {
    case DG_JSON_NULL:
        dg_json_out_null(out);
        break;
    case DG_JSON_BOOL:
        require(dg_json_bool(value, name, NULL, &yes) == DG_OK);
        dg_json_out_bool(out, yes);
        break;
    case DG_JSON_INT:
        require(dg_json_int(value, name, INT64_MIN, INT64_MAX, NULL, &number) == DG_OK);
        dg_json_out_int(out, number);
        break;
    case DG_JSON_REAL:
        require(dg_json_real(value, name, -INFINITY, INFINITY, NULL, &real) == DG_OK);
        dg_json_out_real(out, real, 0);
        break;
    case DG_JSON_STRING:
        require(dg_json_string(value, name, NULL, &text) == DG_OK);
        dg_json_out_string(out, text);
        break;
    case DG_JSON_ARRAY:
        dg_json_out_open(out, '[');
        for (size_t i = 0; i < dg_json_len(value); i++)
            write_value(out, dg_json_at(value, i));
        dg_json_out_close(out, ']');
        break;
    case DG_JSON_OBJECT:
        dg_json_out_open(out, '{');
        struct dg_json_iter iter = dg_json_iter(value);
        const struct dg_json *child;
        while (dg_json_next(&iter, &text, &child)) {
            dg_json_out_key_span(out, text);
            write_value(out, child);
        }
        dg_json_out_close(out, '}');
        break;
    }
}

static void rewrite(const struct dg_json *json, struct dg_buf *buf)
{
    struct dg_json_out out;
    dg_json_out_init(&out, buf);
    write_value(&out, json);
    require(dg_json_out_end(&out) == DG_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const struct dg_json_limits limits = {
        .max_bytes = 1 << 16, .max_depth = 32, .max_values = 4096};
    const struct dg_json_limits again = {.max_bytes = 1 << 20, .max_depth = 32, .max_values = 4096};
    struct dg_json *json = NULL, *back = NULL;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_buf first, second;
    dg_buf_init(&first, 1 << 20);
    dg_buf_init(&second, 1 << 20);
    if (dg_json_parse(dg_span_make((const char *)bytes, len), &limits, &error, &json) != DG_OK) {
        require(error.text[0] != '\0');
    } else {
        rewrite(json, &first);
        require(dg_json_parse(dg_buf_span(&first), &again, NULL, &back) == DG_OK);
        rewrite(back, &second);
        require(dg_span_eq(dg_buf_span(&first), dg_buf_span(&second)));
    }
    dg_json_free(json);
    dg_json_free(back);
    dg_buf_deinit(&first);
    dg_buf_deinit(&second);
    return 0;
}
