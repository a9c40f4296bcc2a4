/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Decoding a whole sequence: the readable reference that the stream must agree with.
 *
 *  - Control pieces produce nothing; the unknown piece produces the model's "unknown" surface.
 *  - Runs of byte pieces are decoded as UTF-8; each byte that is part of no character is U+FFFD.
 *  - Any other piece is its string with space marks as spaces. As long as no text was written, one
 *    leading space mark is dropped: from the first piece if the model adds a dummy prefix, from
 *    every piece if it removes extra spaces.
 *  - Last, the model's denormaliser. */
#include "tokenize/spm/spm_decode.h"

#include "tokenize/spm/spm_int.h"
#include "tokenize/spm/utf8_char.h"

static enum dg_err append_spaced(struct dg_buf *out, struct dg_span piece)
{
    enum dg_err err = dg_buf_reserve(out, piece.len);
    while (!err && piece.len) {
        bool is_space = dg_span_starts(piece, DG_SPAN(DG_UTF8_CHAR_SPACE));
        err = dg_buf_append_byte(out, is_space ? ' ' : piece.ptr[0]);
        piece = dg_span_sub(piece, is_space ? 3 : 1, piece.len);
    }
    return err;
}

/* Appends bytes; those that do not form a character become U+FFFD. */
static enum dg_err append_valid(struct dg_buf *out, const uint8_t *at, size_t len)
{
    const uint8_t *end = len ? at + len : at;
    enum dg_err err = DG_OK;
    while (at < end && !err) {
        size_t char_len = dg_utf8_char_len(at, end);
        err =
            char_len ? dg_buf_append(out, at, char_len) : dg_buf_append_cstr(out, DG_UTF8_CHAR_BAD);
        at += char_len ? char_len : 1;
    }
    return err;
}

static uint8_t byte_of_id(const struct dg_spm *spm, uint32_t id)
{
    uint8_t byte = 0;
    while (spm->byte_ids[byte] != id)
        byte++;
    return byte;
}

static enum dg_err flush_bytes(struct dg_buf *bytes, struct dg_buf *raw)
{
    enum dg_err err = append_valid(raw, (const uint8_t *)bytes->ptr, bytes->len);
    dg_buf_clear(bytes);
    return err;
}

static enum dg_err append_piece(const struct dg_spm *spm, uint32_t id, bool expects_space,
                                bool *saw_space, struct dg_buf *raw)
{
    struct dg_span piece = dg_pieces_text(&spm->pieces, id);
    *saw_space = false;
    if (dg_pieces_type(&spm->pieces, id) == DG_PIECE_CONTROL)
        return DG_OK;
    if (id == spm->unk)
        return dg_buf_append_span(raw, spm->unk_surface);
    const struct dg_normaliser *rules = &spm->normaliser;
    if (expects_space && (rules->add_dummy_prefix || rules->remove_extra_whitespaces) &&
        dg_span_starts(piece, DG_SPAN(DG_UTF8_CHAR_SPACE))) {
        piece = dg_span_sub(piece, 3, piece.len);
        *saw_space = !rules->remove_extra_whitespaces;
    }
    return append_spaced(raw, piece);
}

static enum dg_err append_all(const struct dg_spm *spm, const uint32_t *ids, size_t n,
                              struct dg_buf *bytes, struct dg_buf *raw)
{
    bool expects_space = true, saw_space = false;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < n && !err; i++) {
        if (ids[i] >= spm->pieces.n)
            return DG_ERR_RANGE;
        uint32_t id = dg_spm_resolve(spm, ids[i]);
        if (dg_pieces_type(&spm->pieces, id) == DG_PIECE_BYTE) {
            err = dg_buf_append_byte(bytes, (char)byte_of_id(spm, id));
            continue;
        }
        err = flush_bytes(bytes, raw);
        if (saw_space || raw->len)
            expects_space = false;
        if (!err)
            err = append_piece(spm, id, expects_space, &saw_space, raw);
    }
    return err ? err : flush_bytes(bytes, raw);
}

enum dg_err dg_spm_decode(const struct dg_spm *spm, const uint32_t *ids, size_t n,
                          struct dg_buf *out)
{
    struct dg_buf bytes, raw;
    struct dg_normal_text normal = {0};
    dg_buf_init(&bytes, n);
    dg_buf_init(&raw, out->max);
    enum dg_err err = append_all(spm, ids, n, &bytes, &raw);
    if (!err && spm->has_denormaliser) {
        err = dg_normalise(&spm->denormaliser, dg_buf_span(&raw), &normal);
        if (!err)
            err = append_valid(out, normal.bytes, normal.len);
    } else if (!err) {
        err = append_valid(out, (const uint8_t *)raw.ptr, raw.len);
    }
    dg_normal_text_deinit(&normal);
    dg_buf_deinit(&raw);
    dg_buf_deinit(&bytes);
    return err;
}
