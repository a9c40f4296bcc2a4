/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The streaming detokeniser: three stages, each passing on what later ids cannot change.
 *
 *     id -> [pieces: spaces, byte runs] -> raw -> [denormaliser, if any] -> normal
 *        -> [only whole characters, no spaces at the ends if trimmed] -> delta
 *
 * `raw` keeps what the denormaliser could not finish; `out` begins with the last delta, which the
 * next call drops, followed by what is held back. In the steady state nothing is allocated. */
#include "tokenize/spm/spm_decode.h"
#include "tokenize/spm/spm_int.h"
#include "tokenize/spm/utf8_char.h"

void dg_spm_stream_init(struct dg_spm_stream *stream, const struct dg_spm *spm, size_t max)
{
    *stream = (struct dg_spm_stream){.spm = spm};
    dg_buf_init(&stream->raw, max);
    dg_buf_init(&stream->out, max);
    dg_spm_stream_reset(stream);
}

void dg_spm_stream_deinit(struct dg_spm_stream *stream)
{
    dg_buf_deinit(&stream->raw);
    dg_buf_deinit(&stream->out);
    dg_normal_text_deinit(&stream->normal);
}

void dg_spm_stream_reset(struct dg_spm_stream *stream)
{
    stream->expects_space = true;
    stream->saw_space = stream->has_text = stream->has_output = false;
    stream->bytes.n = stream->tail.n = 0;
    stream->delivered = 0;
    stream->state = (struct dg_normalise_state){0};
    stream->normal.len = 0;
    dg_buf_clear(&stream->raw);
    dg_buf_clear(&stream->out);
}

void dg_spm_stream_trim(struct dg_spm_stream *stream, bool trims)
{
    stream->trims = trims;
}

/* ---- Characters that are not whole yet ------------------------------------------------------- */

/* Appends the complete characters of `partial` to `out`; malformed bytes become U+FFFD. The
 * beginning of a character stays in `partial`, unless the text has ended. */
static enum dg_err drain(struct dg_spm_partial *partial, bool is_last, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    unsigned at = 0;
    while (at < partial->n && !err) {
        const uint8_t *begin = partial->ptr + at, *end = partial->ptr + partial->n;
        size_t len = dg_utf8_char_len(begin, end);
        if (len == 0 && !is_last && dg_utf8_char_is_partial(begin, end))
            break;
        err = len ? dg_buf_append(out, begin, len) : dg_buf_append_cstr(out, DG_UTF8_CHAR_BAD);
        at += len ? (unsigned)len : 1;
    }
    partial->n -= at;
    memmove(partial->ptr, partial->ptr + at, partial->n);
    return err;
}

static bool is_settled(const struct dg_spm_partial *partial)
{
    return !dg_utf8_char_is_partial(partial->ptr, partial->ptr + partial->n);
}

/* ---- Stage 1: pieces to raw text ------------------------------------------------------------- */

static enum dg_err append_raw(struct dg_spm_stream *stream, const void *bytes, size_t len)
{
    stream->has_text |= len > 0;
    return dg_buf_append(&stream->raw, bytes, len);
}

/* Passes on complete characters; with `is_last`, also the rest, as malformed bytes. */
static enum dg_err drain_bytes(struct dg_spm_stream *stream, bool is_last)
{
    stream->has_text |= stream->bytes.n > 0 && (is_last || is_settled(&stream->bytes));
    return drain(&stream->bytes, is_last, &stream->raw);
}

static enum dg_err push_byte(struct dg_spm_stream *stream, uint32_t id)
{
    uint8_t byte = 0;
    while (stream->spm->byte_ids[byte] != id)
        byte++;
    stream->bytes.ptr[stream->bytes.n++] = byte;
    return drain_bytes(stream, false);
}

static enum dg_err push_text(struct dg_spm_stream *stream, struct dg_span piece)
{
    const struct dg_normaliser *rules = &stream->spm->normaliser;
    stream->saw_space = false;
    if (stream->expects_space && (rules->add_dummy_prefix || rules->remove_extra_whitespaces) &&
        dg_span_starts(piece, DG_SPAN(DG_UTF8_CHAR_SPACE))) {
        piece = dg_span_sub(piece, 3, piece.len);
        stream->saw_space = !rules->remove_extra_whitespaces;
    }
    enum dg_err err = DG_OK;
    while (piece.len && !err) {
        bool is_space = dg_span_starts(piece, DG_SPAN(DG_UTF8_CHAR_SPACE));
        err = append_raw(stream, is_space ? " " : piece.ptr, 1);
        piece = dg_span_sub(piece, is_space ? 3 : 1, piece.len);
    }
    return err;
}

/* Called before every piece that is not a byte. */
static enum dg_err begin_piece(struct dg_spm_stream *stream)
{
    enum dg_err err = drain_bytes(stream, true);
    if (stream->saw_space || stream->has_text)
        stream->expects_space = false;
    return err;
}

static enum dg_err push_id(struct dg_spm_stream *stream, uint32_t id)
{
    const struct dg_spm *spm = stream->spm;
    if (id >= spm->pieces.n)
        return DG_ERR_RANGE;
    id = dg_spm_resolve(spm, id);
    enum dg_piece_type type = dg_pieces_type(&spm->pieces, id);
    if (type == DG_PIECE_BYTE)
        return push_byte(stream, id);
    enum dg_err err = begin_piece(stream);
    if (err)
        return err;
    if (type != DG_PIECE_CONTROL && type != DG_PIECE_UNKNOWN)
        return push_text(stream, dg_pieces_text(&spm->pieces, id));
    stream->saw_space = false;
    return type == DG_PIECE_CONTROL
               ? DG_OK
               : append_raw(stream, spm->unk_surface.ptr, spm->unk_surface.len);
}

/* Appends text to `out`, whole characters only. */
static enum dg_err append_out(struct dg_spm_stream *stream, const uint8_t *at, size_t len,
                              bool is_last)
{
    const uint8_t *end = len ? at + len : at;
    enum dg_err err = DG_OK;
    while (at < end && !err) {
        size_t char_len = stream->tail.n ? 0 : dg_utf8_char_len(at, end);
        if (char_len) {
            err = dg_buf_append(&stream->out, at, char_len);
            at += char_len;
        } else {
            stream->tail.ptr[stream->tail.n++] = *at++;
            err = drain(&stream->tail, false, &stream->out);
        }
    }
    return err || !is_last ? err : drain(&stream->tail, true, &stream->out);
}

/* ---- Stage 2: the denormaliser --------------------------------------------------------------- */

/* Trailing spaces stay in `normal` while they could be stripped at the end. */
static size_t settled_len(const struct dg_spm_stream *stream, bool is_last)
{
    const struct dg_normaliser *rules = &stream->spm->denormaliser;
    const char *space = rules->escape_whitespaces ? DG_UTF8_CHAR_SPACE : " ";
    size_t space_len = rules->escape_whitespaces ? 3 : 1;
    size_t len = stream->normal.len;
    while (!is_last && rules->remove_extra_whitespaces && len >= space_len &&
           memcmp(stream->normal.bytes + len - space_len, space, space_len) == 0)
        len -= space_len;
    return len;
}

static enum dg_err denormalise(struct dg_spm_stream *stream, bool is_last)
{
    struct dg_normal_text *normal = &stream->normal;
    size_t used;
    enum dg_err err = dg_normalise_slice(&stream->spm->denormaliser, &stream->state,
                                         dg_buf_span(&stream->raw), is_last, normal, &used);
    if (err)
        return err;
    dg_buf_consume(&stream->raw, used);
    size_t len = settled_len(stream, is_last);
    err = append_out(stream, normal->bytes, len, is_last);
    if (err)
        return err;
    normal->len -= len;
    if (normal->len) {
        memmove(normal->bytes, normal->bytes + len, normal->len);
        memmove(normal->origin, normal->origin + len, normal->len * sizeof *normal->origin);
    }
    return DG_OK;
}

static enum dg_err pass_raw(struct dg_spm_stream *stream, bool is_last)
{
    enum dg_err err =
        append_out(stream, (const uint8_t *)stream->raw.ptr, stream->raw.len, is_last);
    dg_buf_clear(&stream->raw);
    return err;
}

/* ---- Stage 3: what is final ------------------------------------------------------------------ */

static enum dg_err deliver(struct dg_spm_stream *stream, bool is_last, struct dg_span *delta)
{
    struct dg_buf *out = &stream->out;
    enum dg_err err =
        stream->spm->has_denormaliser ? denormalise(stream, is_last) : pass_raw(stream, is_last);
    if (err)
        return err;
    size_t len = out->len;
    if (stream->trims) {
        size_t spaces = 0;
        while (!stream->has_output && spaces < len && out->ptr[spaces] == ' ')
            spaces++;
        dg_buf_consume(out, spaces);
        len -= spaces;
        while (len && out->ptr[len - 1] == ' ')
            len--;
    }
    stream->has_output |= len > 0;
    stream->delivered = len;
    *delta = dg_span_sub(dg_buf_span(out), 0, len);
    return DG_OK;
}

static void drop_delivered(struct dg_spm_stream *stream)
{
    dg_buf_consume(&stream->out, stream->delivered);
    stream->delivered = 0;
}

enum dg_err dg_spm_stream_push(struct dg_spm_stream *stream, uint32_t id, struct dg_span *delta)
{
    drop_delivered(stream);
    enum dg_err err = push_id(stream, id);
    return err ? err : deliver(stream, false, delta);
}

enum dg_err dg_spm_stream_push_piece(struct dg_spm_stream *stream, struct dg_span piece,
                                     struct dg_span *delta)
{
    drop_delivered(stream);
    uint32_t id = dg_spm_find(stream->spm, piece);
    enum dg_err err;
    if (id != stream->spm->unk || dg_span_eq(piece, dg_spm_piece(stream->spm, id))) {
        err = push_id(stream, id);
    } else {
        err = begin_piece(stream);
        stream->saw_space = false;
        if (!err)
            err = append_raw(stream, piece.ptr, piece.len);
    }
    return err ? err : deliver(stream, false, delta);
}

enum dg_err dg_spm_stream_push_text(struct dg_spm_stream *stream, struct dg_span piece,
                                    struct dg_span *delta)
{
    drop_delivered(stream);
    enum dg_err err = begin_piece(stream);
    if (!err)
        err = push_text(stream, piece);
    return err ? err : deliver(stream, false, delta);
}

enum dg_err dg_spm_stream_finish(struct dg_spm_stream *stream, struct dg_span *delta)
{
    drop_delivered(stream);
    enum dg_err err = drain_bytes(stream, true);
    return err ? err : deliver(stream, true, delta);
}
