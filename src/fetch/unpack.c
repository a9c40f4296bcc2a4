/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads the packed file in pieces, and writes the unpacked bytes of each. */
#include "fetch/unpack.h"

#include "base/file/file_out.h"
#include "base/memory/error.h"
#include "base/memory/mem.h"
#include "base/memory/span.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { PIECE = 64 * 1024, HEAD = 32, WINDOW_LOG_MAX = 25 };

struct unpacking {
    const struct dg_unpack_opts *opts;
    const char *path; /* of the packed file */
    FILE *in;
    struct dg_file_out *out;
    uint64_t limit, written;
    z_stream zlib;
    ZSTD_DStream *zstd;
    bool is_over; /* the decoder has seen its end */
    uint8_t packed[PIECE], raw[PIECE];
};

enum dg_packing dg_unpack_packing(const char *name)
{
    const struct dg_span text = dg_span_cstr(name);
    return dg_span_ends(text, DG_SPAN(".gz"))    ? DG_PACKING_GZIP
           : dg_span_ends(text, DG_SPAN(".zst")) ? DG_PACKING_ZSTD
                                                 : DG_PACKING_NONE;
}

uint64_t dg_unpack_stated(const char *path, enum dg_packing packing)
{
    uint8_t bytes[HEAD];
    uint64_t size = 0;
    FILE *file = fopen(path, "rbe");
    if (!file)
        return 0;
    if (packing == DG_PACKING_GZIP && fseek(file, -4, SEEK_END) == 0 &&
        fread(bytes, 1, 4, file) == 4) {
        size = (uint64_t)bytes[0] | (uint64_t)bytes[1] << 8 | (uint64_t)bytes[2] << 16 |
               (uint64_t)bytes[3] << 24;
    } else if (packing == DG_PACKING_ZSTD) {
        const size_t n = fread(bytes, 1, sizeof bytes, file);
        const unsigned long long stated = ZSTD_getFrameContentSize(bytes, n);
        size = stated == ZSTD_CONTENTSIZE_UNKNOWN || stated == ZSTD_CONTENTSIZE_ERROR ? 0 : stated;
    }
    fclose(file);
    return size;
}

static enum dg_err put(struct unpacking *u, size_t n, struct dg_error *error)
{
    if (n > u->limit - u->written)
        return dg_error_set(error, DG_ERR_LIMIT,
                            "%s: it unpacks to more than the %" PRIu64 " bytes that are stated",
                            u->path, u->limit);
    u->written += n;
    return dg_file_out_write(u->out, u->raw, n, error);
}

static enum dg_err damaged(const struct unpacking *u, const char *what, struct dg_error *error)
{
    return dg_error_set(error, DG_ERR_FORMAT, "%s: the compressed stream is damaged: %s", u->path,
                        what ? what : "unknown");
}

/* Unpacks `n` packed bytes. Bytes after the end of the stream are refused. */
static enum dg_err inflate_piece(struct unpacking *u, size_t n, struct dg_error *error)
{
    u->zlib.next_in = u->packed;
    u->zlib.avail_in = (uInt)n;
    while (u->zlib.avail_in || u->zlib.avail_out == 0) {
        if (u->is_over)
            return damaged(u, "there are more bytes after its end", error);
        u->zlib.next_out = u->raw;
        u->zlib.avail_out = PIECE;
        const int rc = inflate(&u->zlib, Z_NO_FLUSH);
        if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
            return damaged(u, u->zlib.msg, error);
        enum dg_err err = put(u, PIECE - u->zlib.avail_out, error);
        if (err)
            return err;
        u->is_over = rc == Z_STREAM_END;
        if (u->is_over && u->zlib.avail_in == 0)
            return DG_OK;
        if (rc == Z_BUF_ERROR)
            return DG_OK;
    }
    return DG_OK;
}

static enum dg_err zstd_piece(struct unpacking *u, size_t n, struct dg_error *error)
{
    ZSTD_inBuffer in = {u->packed, n, 0};
    bool is_full = false;
    while (in.pos < in.size || is_full) {
        ZSTD_outBuffer out = {u->raw, PIECE, 0};
        if (u->is_over && in.pos < in.size)
            return damaged(u, "there are more bytes after its end", error);
        const size_t rc = ZSTD_decompressStream(u->zstd, &out, &in);
        if (ZSTD_isError(rc))
            return damaged(u, ZSTD_getErrorName(rc), error);
        enum dg_err err = put(u, out.pos, error);
        if (err)
            return err;
        u->is_over = rc == 0;
        is_full = out.pos == PIECE && !u->is_over;
    }
    return DG_OK;
}

static enum dg_err copy_piece(struct unpacking *u, size_t n, struct dg_error *error)
{
    memcpy(u->raw, u->packed, n);
    return put(u, n, error);
}

static enum dg_err run(struct unpacking *u, struct dg_error *error)
{
    for (;;) {
        if (u->opts->stop && *u->opts->stop)
            return dg_error_set(error, DG_ERR_CANCELLED, "stopped");
        const size_t n = fread(u->packed, 1, PIECE, u->in);
        if (n == 0)
            break;
        enum dg_err err = u->opts->packing == DG_PACKING_GZIP   ? inflate_piece(u, n, error)
                          : u->opts->packing == DG_PACKING_ZSTD ? zstd_piece(u, n, error)
                                                                : copy_piece(u, n, error);
        if (err)
            return err;
    }
    if (ferror(u->in))
        return dg_error_errno(error, "cannot read %s", u->path);
    if (u->opts->packing != DG_PACKING_NONE && !u->is_over)
        return dg_error_set(error, DG_ERR_FORMAT, "%s: the compressed stream ends too early",
                            u->path);
    if (u->opts->size && u->written != u->opts->size)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "%s: it unpacks to %" PRIu64 " bytes, expected %" PRIu64, u->path,
                            u->written, u->opts->size);
    return DG_OK;
}

static enum dg_err begin(struct unpacking *u, struct dg_error *error)
{
    enum { GZIP_ONLY = 16 };
    if (u->opts->packing == DG_PACKING_GZIP &&
        inflateInit2(&u->zlib, GZIP_ONLY + MAX_WBITS) != Z_OK)
        return DG_ERR_NOMEM;
    if (u->opts->packing == DG_PACKING_GZIP)
        u->zlib.avail_out = PIECE;
    if (u->opts->packing == DG_PACKING_ZSTD) {
        u->zstd = ZSTD_createDStream();
        if (!u->zstd ||
            ZSTD_isError(ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX)))
            return DG_ERR_NOMEM;
    }
    u->in = fopen(u->path, "rbe");
    return u->in ? DG_OK : dg_error_errno(error, "cannot read %s", u->path);
}

enum dg_err dg_unpack(const char *from, const char *to, const struct dg_unpack_opts *opts,
                      struct dg_error *error)
{
    struct unpacking *u = dg_try_calloc(1, sizeof *u);
    if (!u)
        return DG_ERR_NOMEM;
    const uint64_t stated = opts->size ? 0 : dg_unpack_stated(from, opts->packing);
    u->opts = opts;
    u->path = from;
    u->limit = opts->size ? opts->size : stated > 0 && stated < opts->max ? stated : opts->max;
    enum dg_err err = begin(u, error);
    if (!err)
        err = dg_file_out_open(&u->out, to, 0644, error);
    if (!err) {
        err = run(u, error);
        err = dg_file_out_close(u->out, err, error);
    }
    if (u->in)
        fclose(u->in);
    if (opts->packing == DG_PACKING_GZIP)
        inflateEnd(&u->zlib);
    ZSTD_freeDStream(u->zstd);
    dg_free(u);
    return err;
}
