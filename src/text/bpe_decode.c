/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Ids to text. A token is bytes: at byte level its letters stand for them, else its characters are they, U+2581 being a
 * space, and <0x0A> is one byte. Bytes are held back until they are characters; what cannot become one is U+FFFD, once for
 * every longest beginning of a character, as decoders that do not fail have it. */
#include "base/utf8.h"
#include "text/bpe.h"
#include "text/bpe_int.h"
#include "text/utf8_char.h"

#include <string.h>

void dg_bpe_stream_init(struct dg_bpe_stream *stream, const struct dg_bpe *bpe, size_t max)
{
    *stream = (struct dg_bpe_stream){.bpe = bpe};
    dg_buf_init(&stream->out, max);
}

void dg_bpe_stream_deinit(struct dg_bpe_stream *stream)
{
    dg_buf_deinit(&stream->out);
}

void dg_bpe_stream_reset(struct dg_bpe_stream *stream)
{
    stream->has_begun = false;
    stream->n_held = 0;
    dg_buf_clear(&stream->out);
}

/* Gives up on what is held. */
static enum dg_err spoil(struct dg_bpe_stream *stream)
{
    stream->n_held = 0;
    return dg_buf_append_cstr(&stream->out, DG_UTF8_CHAR_BAD);
}

static enum dg_err put_byte(struct dg_bpe_stream *stream, uint8_t byte)
{
    enum dg_err err = DG_OK;
    stream->held[stream->n_held++] = byte;
    if (dg_utf8_char_len(stream->held, stream->held + stream->n_held) == stream->n_held) {
        err = dg_buf_append(&stream->out, stream->held, stream->n_held);
        stream->n_held = 0;
        return err;
    }
    if (dg_utf8_char_is_partial(stream->held, stream->held + stream->n_held))
        return DG_OK;
    if (stream->n_held == 1)
        return spoil(stream);
    stream->n_held = 0; /* the beginning is spoilt; the byte may begin another */
    err = spoil(stream);
    return err ? err : put_byte(stream, byte);
}

static enum dg_err put_letters(struct dg_bpe_stream *stream, struct dg_span piece)
{
    enum dg_err err = DG_OK;
    uint32_t letter;
    for (size_t at = 0, len; !err && (len = dg_utf8_decode(piece, at, &letter)) > 0; at += len) {
        const int byte = dg_bpe_byte_of(letter);
        if (byte >= 0)
            err = put_byte(stream, (uint8_t)byte);
        for (size_t i = 0; byte < 0 && i < len && !err; i++) /* a letter that stands for itself */
            err = put_byte(stream, (uint8_t)piece.ptr[at + i]);
    }
    return err;
}

static enum dg_err put_characters(struct dg_bpe_stream *stream, struct dg_span piece)
{
    enum dg_err err = DG_OK;
    for (size_t at = 0; at < piece.len && !err;) {
        const bool is_mark = stream->bpe->marks_space && dg_span_starts(dg_span_sub(piece, at, piece.len),
                                                                        DG_SPAN(DG_UTF8_CHAR_SPACE));
        const bool is_first = !stream->has_begun;
        stream->has_begun = true;
        if (!is_mark)
            err = put_byte(stream, (uint8_t)piece.ptr[at]);
        else if (!(is_first && stream->bpe->drops_space && !stream->goes_on))
            err = put_byte(stream, ' ');
        at += is_mark ? sizeof DG_UTF8_CHAR_SPACE - 1 : 1;
    }
    return err;
}

enum dg_err dg_bpe_stream_push(struct dg_bpe_stream *stream, int32_t id, struct dg_span *delta)
{
    const struct dg_bpe *bpe = stream->bpe;
    enum dg_err err = DG_OK;
    if (id < 0 || (uint32_t)id >= bpe->size)
        return DG_ERR_RANGE;
    dg_buf_clear(&stream->out);
    const struct dg_span piece = bpe->pieces[id];
    switch ((enum dg_bpe_kind)bpe->kinds[id]) {
    case DG_BPE_NOBODY:
    case DG_BPE_SPECIAL_KIND:
        break;
    case DG_BPE_BYTE:
        stream->has_begun = true;
        for (unsigned byte = 0; byte < 256 && !err; byte++)
            if (bpe->byte_ids[byte] == id)
                err = put_byte(stream, (uint8_t)byte);
        break;
    case DG_BPE_ADDED:
        for (size_t i = 0; i < piece.len && !err; i++)
            err = put_byte(stream, (uint8_t)piece.ptr[i]);
        stream->has_begun = true;
        break;
    case DG_BPE_TEXT:
        err = bpe->is_byte_level ? put_letters(stream, piece) : put_characters(stream, piece);
        break;
    }
    *delta = dg_buf_span(&stream->out);
    return err;
}

enum dg_err dg_bpe_stream_finish(struct dg_bpe_stream *stream, struct dg_span *delta)
{
    dg_buf_clear(&stream->out);
    enum dg_err err = stream->n_held ? spoil(stream) : DG_OK;
    *delta = dg_buf_span(&stream->out);
    return err;
}
