/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Decodes ids to text. A token stands for bytes: at byte level its letters stand for them; else
 * they are its own characters, with U+2581 as a space and <0x0A> as one byte. Bytes are held back
 * until they form a character. Bytes that cannot form one become U+FFFD, once for each longest
 * beginning of a character, as is usual for lenient decoders. In WordPiece a space goes before
 * every token except the first, those inside a word, and punctuation that takes none. */
#include "base/memory/utf8.h"
#include "tokenize/hf/subword.h"
#include "tokenize/hf/subword_int.h"
#include "tokenize/spm/utf8_char.h"

void dg_subword_stream_init(struct dg_subword_stream *stream, const struct dg_subword *subword,
                            size_t max)
{
    *stream = (struct dg_subword_stream){.subword = subword};
    dg_buf_init(&stream->out, max);
}

void dg_subword_stream_deinit(struct dg_subword_stream *stream)
{
    dg_buf_deinit(&stream->out);
}

void dg_subword_stream_reset(struct dg_subword_stream *stream)
{
    stream->has_begun = false;
    stream->n_held = 0;
    dg_buf_clear(&stream->out);
}

/* Replaces the held bytes by U+FFFD. */
static enum dg_err spoil(struct dg_subword_stream *stream)
{
    stream->n_held = 0;
    return dg_buf_append_cstr(&stream->out, DG_UTF8_CHAR_BAD);
}

static enum dg_err put_byte(struct dg_subword_stream *stream, uint8_t byte)
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
    stream->n_held = 0; /* the held bytes are invalid; this byte may begin a character */
    err = spoil(stream);
    return err ? err : put_byte(stream, byte);
}

static enum dg_err put_letters(struct dg_subword_stream *stream, struct dg_span piece)
{
    enum dg_err err = DG_OK;
    uint32_t letter;
    for (size_t at = 0, len; !err && (len = dg_utf8_decode(piece, at, &letter)) > 0; at += len) {
        const int byte = dg_subword_byte_of(letter);
        if (byte >= 0)
            err = put_byte(stream, (uint8_t)byte);
        for (size_t i = 0; byte < 0 && i < len && !err; i++) /* a letter that stands for itself */
            err = put_byte(stream, (uint8_t)piece.ptr[at + i]);
    }
    return err;
}

static enum dg_err put_characters(struct dg_subword_stream *stream, struct dg_span piece)
{
    enum dg_err err = DG_OK;
    for (size_t at = 0; at < piece.len && !err;) {
        const bool is_mark =
            stream->subword->marks_space &&
            dg_span_starts(dg_span_sub(piece, at, piece.len), DG_SPAN(DG_UTF8_CHAR_SPACE));
        const bool is_first = !stream->has_begun;
        stream->has_begun = true;
        if (!is_mark)
            err = put_byte(stream, (uint8_t)piece.ptr[at]);
        else if (!(is_first && stream->subword->drops_space && !stream->goes_on))
            err = put_byte(stream, ' ');
        at += is_mark ? sizeof DG_UTF8_CHAR_SPACE - 1 : 1;
    }
    return err;
}

/* Tokens that lose the space before them when a text is tidied: marks, and the second halves of
 * English contractions. */
static bool is_joined(struct dg_span piece)
{
    static const char *const starts[] = {".", "?", "!", ",", "n't", "'m", "'s", "'ve", "'re"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (dg_span_starts(piece, dg_span_cstr(starts[i])))
            return true;
    return false;
}

/* Decodes a token of WordPiece, or one that was added to it. */
static enum dg_err put_wordpiece(struct dg_subword_stream *stream, struct dg_span piece)
{
    const struct dg_subword *subword = stream->subword;
    const bool is_first = !stream->has_begun && !stream->goes_on;
    const bool is_inner = subword->joint.len && dg_span_starts(piece, subword->joint);
    enum dg_err err = DG_OK;
    stream->has_begun = true;
    if (!is_first && is_inner)
        piece = dg_span_sub(piece, subword->joint.len, piece.len);
    else if (!is_first && !(subword->tidies && is_joined(piece)))
        err = dg_buf_append_byte(&stream->out, ' ');
    return err ? err : dg_buf_append_span(&stream->out, piece);
}

/* "<0x0A>" */
static uint8_t byte_of(struct dg_span piece)
{
    uint8_t byte = 0;
    for (size_t i = 3; i < 5; i++)
        byte = (uint8_t)(byte * 16 +
                         (piece.ptr[i] <= '9' ? piece.ptr[i] - '0' : piece.ptr[i] - 'A' + 10));
    return byte;
}

enum dg_err dg_subword_stream_push(struct dg_subword_stream *stream, int32_t id,
                                   struct dg_span *delta)
{
    const struct dg_subword *subword = stream->subword;
    enum dg_err err = DG_OK;
    if (id < 0 || (uint32_t)id >= subword->size)
        return DG_ERR_RANGE;
    dg_buf_clear(&stream->out);
    const struct dg_span piece = subword->pieces[id];
    switch ((enum dg_subword_kind)subword->kinds[id]) {
    case DG_SUBWORD_NOBODY:
    case DG_SUBWORD_SPECIAL_KIND:
        break;
    case DG_SUBWORD_BYTE:
        stream->has_begun = true;
        err = put_byte(stream, byte_of(piece));
        break;
    case DG_SUBWORD_ADDED:
        if (subword->is_wordpiece) {
            err = put_wordpiece(stream, piece);
            break;
        }
        for (size_t i = 0; i < piece.len && !err; i++)
            err = put_byte(stream, (uint8_t)piece.ptr[i]);
        stream->has_begun = true;
        break;
    case DG_SUBWORD_TEXT:
        err = subword->is_wordpiece    ? put_wordpiece(stream, piece)
              : subword->is_byte_level ? put_letters(stream, piece)
                                       : put_characters(stream, piece);
        break;
    }
    *delta = dg_buf_span(&stream->out);
    return err;
}

enum dg_err dg_subword_stream_finish(struct dg_subword_stream *stream, struct dg_span *delta)
{
    dg_buf_clear(&stream->out);
    enum dg_err err = stream->n_held ? spoil(stream) : DG_OK;
    *delta = dg_buf_span(&stream->out);
    return err;
}
