/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* An archive is a sequence of stretches, each from one local header to the next. A stretch is
 * copied whole, or written anew; its row of the central directory then gets the new numbers. A new
 * member has its sizes in its header: a data descriptor after the data is not written again, nor is
 * the ZIP64 field that some programs put into local headers of small members. */
#include "archive/zip_out.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { LOCAL_BYTES = 30, CENTRAL_BYTES = 46, END_BYTES = 22 };
enum { HAS_DESCRIPTOR = 1 << 3, ZIP64_FIELD = 1 };

struct writing {
    const struct dg_zip *zip;
    const struct dg_zip_out *out;
    struct dg_error *error;
    const struct dg_zip_member **order; /* owned; [n_members] in the order of the archive */
    uint8_t *rows;                      /* owned; the new central directory and what follows it */
    uint64_t n_written;
};

static enum dg_err put(struct writing *w, const void *bytes, size_t len)
{
    if (w->n_written + len > UINT32_MAX)
        return dg_error_set(w->error, DG_ERR_LIMIT, "%s: the new archive has more than 4 GiB",
                            w->zip->name);
    w->n_written += len;
    return len ? w->out->write(w->out->ctx, dg_span_make(bytes, len), w->error) : DG_OK;
}

static uint16_t get16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static void set16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static void set32(uint8_t *at, uint64_t value)
{
    set16(at, (unsigned)(value & 0xffff));
    set16(at + 2, (unsigned)(value >> 16 & 0xffff));
}

static int by_header(const void *a, const void *b)
{
    const struct dg_zip_member *const *x = a, *const *y = b;
    return (*x)->header < (*y)->header ? -1 : (*x)->header > (*y)->header;
}

/* Where the bytes of a member end, including the gap after it. */
static size_t end_of(const struct writing *w, size_t i)
{
    return i + 1 < w->zip->n_members ? w->order[i + 1]->header : w->zip->directory;
}

static enum dg_err sort_members(struct writing *w)
{
    const struct dg_zip *zip = w->zip;
    w->order = dg_try_malloc((zip->n_members + 1) * sizeof(*w->order));
    if (!w->order)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < zip->n_members; i++)
        w->order[i] = &zip->members[i];
    qsort(w->order, zip->n_members, sizeof(*w->order), by_header);
    for (size_t i = 0; i < zip->n_members; i++)
        if (w->order[i]->offset + w->order[i]->packed_len > end_of(w, i))
            return dg_error_set(w->error, DG_ERR_FORMAT,
                                "%s: offset %zu: the member '%s' runs into what follows it",
                                zip->name, w->order[i]->header, w->order[i]->name);
    return DG_OK;
}

/* ---- A new member ---------------------------------------------------------------------------- */

/* Raw deflate; zlib counts in 32 bits, and members have at most half as much. */
static enum dg_err deflate_whole(struct dg_span bytes, struct dg_buf *packed)
{
    z_stream stream = {0};
    if (bytes.len > INT32_MAX)
        return DG_ERR_LIMIT;
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return DG_ERR_NOMEM;
    const size_t bound = deflateBound(&stream, bytes.len);
    enum dg_err err = dg_buf_reserve(packed, bound);
    if (!err) {
        stream.next_in = (Bytef *)(uintptr_t)bytes.ptr;
        stream.avail_in = (uInt)bytes.len;
        stream.next_out = (Bytef *)packed->ptr;
        stream.avail_out = (uInt)bound;
        err = deflate(&stream, Z_FINISH) == Z_STREAM_END ? DG_OK : DG_ERR_INTERNAL;
        packed->len = bound - stream.avail_out;
    }
    deflateEnd(&stream);
    return err;
}

/* The extra fields of a local header, without that of ZIP64. */
static enum dg_err copy_extra(struct writing *w, const uint8_t *extra, size_t len, bool counts,
                              size_t *n)
{
    enum dg_err err = DG_OK;
    *n = 0;
    for (size_t at = 0; at + 4 <= len && !err;) {
        const size_t field = 4 + (size_t)get16(extra + at + 2);
        if (field > len - at)
            break;
        if (get16(extra + at) != ZIP64_FIELD) {
            *n += field;
            if (!counts)
                err = put(w, extra + at, field);
        }
        at += field;
    }
    return err;
}

static enum dg_err put_member(struct writing *w, const struct dg_zip_member *member, uint8_t *row,
                              struct dg_span bytes, struct dg_span packed)
{
    const uint8_t *old = w->zip->file.bytes + member->header;
    const size_t name_len = get16(old + 26), old_extra_len = get16(old + 28);
    const uint8_t *name = old + LOCAL_BYTES, *extra = name + name_len;
    const uint32_t crc = (uint32_t)crc32_z(0, (const Bytef *)bytes.ptr, bytes.len);
    uint8_t header[LOCAL_BYTES];
    size_t extra_len;
    memcpy(header, old, LOCAL_BYTES);
    enum dg_err err = copy_extra(w, extra, old_extra_len, true, &extra_len);
    set16(header + 6, get16(old + 6) & ~(unsigned)HAS_DESCRIPTOR);
    set32(header + 14, crc);
    set32(header + 18, packed.len);
    set32(header + 22, bytes.len);
    set16(header + 28, (unsigned)extra_len);
    set16(row + 8, get16(row + 8) & ~(unsigned)HAS_DESCRIPTOR);
    set32(row + 16, crc);
    set32(row + 20, packed.len);
    set32(row + 24, bytes.len);
    if (!err)
        err = put(w, header, LOCAL_BYTES);
    if (!err)
        err = put(w, name, name_len);
    if (!err)
        err = copy_extra(w, extra, old_extra_len, false, &extra_len);
    return err ? err : put(w, packed.ptr, packed.len);
}

static enum dg_err write_member(struct writing *w, size_t i)
{
    const struct dg_zip_member *member = w->order[i];
    uint8_t *row = w->rows + (member->row - w->zip->directory);
    struct dg_span bytes = {NULL, 0};
    struct dg_buf packed;
    bool is_new = false;
    enum dg_err err = w->out->replace(w->out->ctx, member, &bytes, &is_new, w->error);
    if (err)
        return err;
    set32(row + 42, w->n_written);
    if (!is_new)
        return put(w, w->zip->file.bytes + member->header, end_of(w, i) - member->header);
    if (!member->deflated)
        return put_member(w, member, row, bytes, bytes);
    dg_buf_init(&packed, UINT32_MAX);
    err = deflate_whole(bytes, &packed);
    if (!err)
        err = put_member(w, member, row, bytes, dg_buf_span(&packed));
    dg_buf_deinit(&packed);
    return err;
}

/* ---- All of it ------------------------------------------------------------------------------- */

enum dg_err dg_zip_out_copy(const struct dg_zip *zip, const struct dg_zip_out *out,
                            struct dg_error *error)
{
    struct writing w = {.zip = zip, .out = out, .error = error};
    if (zip->is_zip64)
        return dg_error_set(error, DG_ERR_UNSUPPORTED, "%s: a ZIP64 archive cannot be rewritten",
                            zip->name);
    const size_t rest = zip->file.len - zip->directory;
    w.rows = dg_try_malloc(rest + 1);
    enum dg_err err = w.rows ? sort_members(&w) : DG_ERR_NOMEM;
    if (!err) {
        memcpy(w.rows, zip->file.bytes + zip->directory, rest);
        err = put(&w, zip->file.bytes, zip->n_members ? w.order[0]->header : zip->directory);
    }
    for (size_t i = 0; i < zip->n_members && !err; i++)
        err = write_member(&w, i);
    if (!err) {
        set32(w.rows + (zip->end - zip->directory) + 16, w.n_written);
        err = put(&w, w.rows, rest);
    }
    dg_free(w.order);
    dg_free(w.rows);
    return err;
}
