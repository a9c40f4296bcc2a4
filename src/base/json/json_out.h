/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Writes JSON: appends to a buffer, places the commas, escapes every string. The writer keeps the
 * first failure (a full buffer, no memory) and ignores all later calls, so one check at the end is
 * enough:
 *
 *     struct dg_json_out out;
 *     dg_json_out_init(&out, &buf);
 *     dg_json_out_open(&out, '{');
 *     dg_json_out_put_open(&out, "translations", '[');
 *     dg_json_out_string(&out, text);                     any bytes; see below
 *     dg_json_out_close(&out, ']');
 *     dg_json_out_put_real(&out, "score", -0.25, 0);
 *     dg_json_out_close(&out, '}');
 *     err = dg_json_out_end(&out);
 *
 * The output is always valid JSON and valid UTF-8: each byte of a string that is not UTF-8 becomes
 * U+FFFD; NaN and infinities become null. Mismatched brackets and a value without its key are bugs
 * in the caller and abort. One thread. */
#ifndef DG_BASE_JSON_JSON_OUT_H
#define DG_BASE_JSON_JSON_OUT_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DG_JSON_OUT_DEPTH = 64 };

struct dg_json_out {
    struct dg_buf *buf; /* borrowed */
    size_t start;       /* offset of this text in the buffer */
    enum dg_err err;    /* the first failure */
    unsigned depth;
    bool need_comma; /* something stands before the next value or key */
    bool has_key;    /* a key was written, its value is next */
    char open[DG_JSON_OUT_DEPTH];
};

/* Starts one JSON text after the present content of `buf`. */
void dg_json_out_init(struct dg_json_out *out, struct dg_buf *buf);

void dg_json_out_open(struct dg_json_out *out, char bracket);  /* '{' or '[' */
void dg_json_out_close(struct dg_json_out *out, char bracket); /* '}' or ']' */
void dg_json_out_key(struct dg_json_out *out, const char *key);
void dg_json_out_key_span(struct dg_json_out *out, struct dg_span key);

void dg_json_out_string(struct dg_json_out *out, struct dg_span text);
void dg_json_out_cstr(struct dg_json_out *out, const char *text); /* NULL is written as null */
void dg_json_out_int(struct dg_json_out *out, int64_t value);
void dg_json_out_uint(struct dg_json_out *out, uint64_t value);
/* With `digits` significant digits, 1 to 17; 0: as many as are needed to read the same double
 * back. */
void dg_json_out_real(struct dg_json_out *out, double value, int digits);
void dg_json_out_bool(struct dg_json_out *out, bool value);
void dg_json_out_null(struct dg_json_out *out);

/* Writes a value that is JSON already. */
void dg_json_out_raw(struct dg_json_out *out, struct dg_span json);

/* A key and its value in one line. */
void dg_json_out_put_open(struct dg_json_out *out, const char *key, char bracket);
void dg_json_out_put_string(struct dg_json_out *out, const char *key, struct dg_span text);
void dg_json_out_put_cstr(struct dg_json_out *out, const char *key, const char *text);
void dg_json_out_put_int(struct dg_json_out *out, const char *key, int64_t value);
void dg_json_out_put_uint(struct dg_json_out *out, const char *key, uint64_t value);
void dg_json_out_put_real(struct dg_json_out *out, const char *key, double value, int digits);
void dg_json_out_put_bool(struct dg_json_out *out, const char *key, bool value);

/* Call this after the last bracket. Returns the first failure, or DG_OK. A failure cuts the buffer
 * back to what it held at init. */
enum dg_err dg_json_out_end(struct dg_json_out *out) DG_MUST_CHECK;

/* Appends `text` with quotes and escapes, outside of any dg_json_out. */
enum dg_err dg_json_out_quote(struct dg_buf *buf, struct dg_span text) DG_MUST_CHECK;

#endif
