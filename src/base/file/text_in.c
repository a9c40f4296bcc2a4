/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inflates gzip by zlib: one or more members up to the end of the file. Anything after the last
 * member is refused. */
#include "base/file/text_in.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>

enum { OUT_BYTES = 1 << 20, GZIP_WINDOW = 15 + 16 };

static enum dg_err broken(const z_stream *z, const char *path, int code, struct dg_error *error)
{
    if (code == Z_MEM_ERROR)
        return DG_ERR_NOMEM;
    if (code == Z_BUF_ERROR)
        return dg_error_set(error, DG_ERR_TRUNCATED, "%s: the gzip data ends too early", path);
    return dg_error_set(error, DG_ERR_FORMAT, "%s: the gzip data is damaged: %s", path,
                        z->msg ? z->msg : "not a gzip member");
}

/* Feeds zlib with more of the mapping: its counters are 32 bits wide. */
static void feed(z_stream *z, const struct dg_map_file *file, size_t *fed)
{
    const size_t left = file->len - *fed;
    z->next_in = (Bytef *)(uintptr_t)(file->bytes + *fed);
    z->avail_in = left < UINT_MAX / 2 ? (uInt)left : UINT_MAX / 2;
    *fed += z->avail_in;
}

static enum dg_err inflate_all(struct dg_text_in *in, const char *path, struct dg_error *error)
{
    z_stream z = {0};
    size_t fed = 0;
    if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
        return DG_ERR_NOMEM;
    enum dg_err err = DG_OK;
    for (bool is_over = false; !err && !is_over;) {
        err = dg_buf_reserve(&in->inflated, OUT_BYTES);
        if (err == DG_ERR_LIMIT)
            err =
                dg_error_set(error, err, "%s: more than %zu bytes of text", path, in->inflated.max);
        if (err)
            break;
        if (z.avail_in == 0 && fed < in->file.len)
            feed(&z, &in->file, &fed);
        z.next_out = (Bytef *)in->inflated.ptr + in->inflated.len;
        z.avail_out = OUT_BYTES;
        const int code = inflate(&z, Z_NO_FLUSH);
        in->inflated.len += OUT_BYTES - z.avail_out;
        if (code == Z_STREAM_END) {
            is_over = z.avail_in == 0 && fed == in->file.len;
            if (!is_over && inflateReset(&z) != Z_OK)
                err = DG_ERR_NOMEM;
        } else if (code != Z_OK) {
            err = broken(&z, path, code, error);
        }
    }
    inflateEnd(&z);
    return err;
}

enum dg_err dg_text_in_open(struct dg_text_in *in, const char *path, struct dg_error *error)
{
    struct dg_text_in opened = {0};
    enum dg_err err = dg_map_file_open(&opened.file, path, DG_TEXT_IN_MAX, error);
    if (err)
        return err;
    dg_buf_init(&opened.inflated, DG_TEXT_IN_MAX);
    opened.text = dg_span_make((const char *)opened.file.bytes, opened.file.len);
    if (opened.text.len >= 2 && memcmp(opened.text.ptr, "\x1f\x8b", 2) == 0) {
        err = inflate_all(&opened, path, error);
        opened.text = dg_buf_span(&opened.inflated);
    }
    if (err)
        dg_text_in_close(&opened);
    else
        *in = opened;
    return err;
}

void dg_text_in_close(struct dg_text_in *in)
{
    dg_buf_deinit(&in->inflated);
    dg_map_file_close(&in->file);
}

bool dg_text_in_line(struct dg_text_in *in, struct dg_span *line)
{
    if (in->at >= in->text.len)
        return false;
    const struct dg_span rest = dg_span_sub(in->text, in->at, in->text.len);
    const char *newline = memchr(rest.ptr, '\n', rest.len);
    size_t len = newline ? (size_t)(newline - rest.ptr) : rest.len;
    in->at += len + 1;
    if (len && rest.ptr[len - 1] == '\r')
        len--;
    *line = dg_span_make(rest.ptr, len);
    return true;
}
