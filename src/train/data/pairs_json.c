/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A line is parsed, written as columns and forgotten. */
#include "train/data/pairs_json.h"
#include "base/json/json.h"

enum { LINE_BYTES_MAX = 1 << 20, LINE_VALUES_MAX = 1000 };

bool dg_pairs_is_json(const char *path)
{
    struct dg_span name = dg_span_cstr(path);
    if (dg_span_ends(name, DG_SPAN(".gz")))
        name.len -= 3;
    return dg_span_ends(name, DG_SPAN(".jsonl")) || dg_span_ends(name, DG_SPAN(".ndjson"));
}

static enum dg_err put(struct dg_buf *out, const struct dg_json *object, const char *name, char end,
                       struct dg_error *error)
{
    struct dg_span text = DG_SPAN("");
    enum dg_err err = dg_json_get_string(object, name, DG_JSON_REQUIRED, error, &text);
    const size_t from = out->len;
    if (!err)
        err = dg_buf_append_span(out, text);
    for (size_t i = from; i < out->len && !err; i++)
        if (out->ptr[i] == '\t' || out->ptr[i] == '\n' || out->ptr[i] == '\r')
            out->ptr[i] = ' ';
    return err ? err : dg_buf_append_byte(out, (uint8_t)end);
}

static enum dg_err put_line(struct dg_buf *out, struct dg_span line, bool is_texts,
                            struct dg_error *error)
{
    const struct dg_json_limits limits = {
        .max_bytes = LINE_BYTES_MAX, .max_depth = 8, .max_values = LINE_VALUES_MAX};
    struct dg_json *json = NULL;
    enum dg_err err = dg_json_parse(line, &limits, error, &json);
    if (!err && dg_json_type(json) != DG_JSON_OBJECT)
        err = dg_error_set(error, DG_ERR_FORMAT, "read %s, expected an object",
                           dg_json_type_name(dg_json_type(json)));
    if (!err && is_texts)
        err = put(out, json, "text", '\n', error);
    if (!err && !is_texts)
        err = put(out, json, "source", '\t', error);
    if (!err && !is_texts)
        err = put(out, json, "target", '\n', error);
    dg_json_free(json);
    return err;
}

enum dg_err dg_pairs_read_json(struct dg_text_in *in, const char *path, bool is_texts,
                               struct dg_buf *out, struct dg_error *error)
{
    struct dg_span line;
    enum dg_err err = DG_OK;
    for (unsigned long long n = 1; !err && dg_text_in_line(in, &line); n++) {
        if (line.len == 0)
            continue;
        err = put_line(out, line, is_texts, error);
        if (err)
            err = dg_error_wrap(error, err, "%s, line %llu", path, n);
    }
    return err;
}
