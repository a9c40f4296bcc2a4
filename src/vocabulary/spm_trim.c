/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* All fields are copied unchanged, except for the removed pieces, the number of pieces in
 * trainer_spec, and the self-test, which is left out. */
#include "vocabulary/spm_trim.h"
#include "base/memory/utf8.h"
#include "tokenize/spm/protobuf.h"

#include <string.h>

enum {
    FIELD_PIECE = 1,
    FIELD_TRAINER = 2,
    FIELD_SELF_TEST = 4,
    TRAINER_SIZE = 4,
    TRAINER_MAX = 1 << 20,
    MERGE_CHARS_MAX = 256
};

/* ---- Pieces that must stay ------------------------------------------------------------------- */

struct merge {
    struct dg_span parts[MERGE_CHARS_MAX];
    size_t n;
};

static bool spell(struct dg_span piece, struct merge *merge)
{
    uint32_t cp;
    merge->n = 0;
    for (size_t at = 0, len; (len = dg_utf8_decode(piece, at, &cp)) > 0; at += len) {
        if (merge->n == MERGE_CHARS_MAX)
            return false;
        merge->parts[merge->n++] = dg_span_sub(piece, at, len);
    }
    return true;
}

/* Returns the piece that two neighbours make, or the unknown piece. */
static uint32_t joined(const struct dg_spm *spm, const struct merge *merge, size_t i)
{
    const struct dg_span both =
        dg_span_make(merge->parts[i].ptr, merge->parts[i].len + merge->parts[i + 1].len);
    return dg_spm_find(spm, both);
}

/* Merges the characters of a piece as the encoder would, and keeps every step. */
static void keep_steps(const struct dg_spm *spm, struct dg_span piece, bool *keep)
{
    const uint32_t unknown = (uint32_t)dg_spm_unk(spm);
    struct merge merge;
    if (!spell(piece, &merge))
        return;
    for (;;) {
        size_t best = merge.n;
        uint32_t best_id = unknown;
        for (size_t i = 0; i + 1 < merge.n; i++) {
            const uint32_t id = joined(spm, &merge, i);
            if (id != unknown &&
                (best == merge.n || dg_spm_score(spm, id) > dg_spm_score(spm, best_id))) {
                best = i;
                best_id = id;
            }
        }
        if (best == merge.n)
            return;
        keep[best_id] = true;
        merge.parts[best].len += merge.parts[best + 1].len;
        memmove(&merge.parts[best + 1], &merge.parts[best + 2],
                (merge.n - best - 2) * sizeof *merge.parts);
        merge.n--;
    }
}

void dg_spm_trim_close(const struct dg_spm *spm, bool *keep)
{
    for (uint32_t id = 0; id < dg_spm_size(spm); id++)
        if (dg_spm_type(spm, id) != DG_PIECE_NORMAL || dg_utf8_count(dg_spm_piece(spm, id)) <= 1)
            keep[id] = true;
    if (dg_spm_kind(spm) != DG_SPM_BPE)
        return;
    /* steps of steps are steps of the piece itself */
    for (uint32_t id = dg_spm_size(spm); id-- > 0;)
        if (keep[id] && dg_spm_type(spm, id) == DG_PIECE_NORMAL)
            keep_steps(spm, dg_spm_piece(spm, id), keep);
}

/* ---- The file -------------------------------------------------------------------------------- */

static enum dg_err put_varint(struct dg_buf *out, uint64_t value)
{
    enum dg_err err = DG_OK;
    for (; value >= 0x80 && !err; value >>= 7)
        err = dg_buf_append_byte(out, (char)(value | 0x80));
    return err ? err : dg_buf_append_byte(out, (char)value);
}

static enum dg_err put_trainer(struct dg_buf *out, const struct dg_protobuf_field *field,
                               size_t n_kept, struct dg_error *error)
{
    struct dg_protobuf wire = dg_protobuf_nested(field);
    struct dg_protobuf_field inner;
    struct dg_buf spec;
    dg_buf_init(&spec, TRAINER_MAX);
    enum dg_err err = DG_OK;
    for (size_t from = 0; !err; from = wire.at) {
        err = dg_protobuf_next(&wire, error, &inner);
        if (err || inner.number == 0)
            break;
        if (inner.number != TRAINER_SIZE)
            err = dg_buf_append(&spec, wire.bytes + from, wire.at - from);
    }
    if (!err)
        err = put_varint(&spec, TRAINER_SIZE << 3);
    if (!err)
        err = put_varint(&spec, n_kept);
    if (!err)
        err = put_varint(out, FIELD_TRAINER << 3 | DG_PROTOBUF_BYTES);
    if (!err)
        err = put_varint(out, spec.len);
    if (!err)
        err = dg_buf_append_span(out, dg_buf_span(&spec));
    dg_buf_deinit(&spec);
    return err;
}

static enum dg_err count_pieces(const uint8_t *bytes, size_t len, const bool *keep, size_t *n_kept,
                                struct dg_error *error)
{
    struct dg_protobuf wire;
    struct dg_protobuf_field field;
    enum dg_err err;
    size_t n = 0;
    *n_kept = 0;
    dg_protobuf_init(&wire, bytes, len, 0);
    while ((err = dg_protobuf_next(&wire, error, &field)) == DG_OK && field.number != 0)
        if (field.number == FIELD_PIECE)
            *n_kept += keep[n++];
    return err;
}

enum dg_err dg_spm_trim(const uint8_t *bytes, size_t len, const bool *keep, struct dg_buf *out,
                        struct dg_error *error)
{
    struct dg_protobuf wire;
    struct dg_protobuf_field field;
    size_t n = 0, n_kept;
    enum dg_err err = count_pieces(bytes, len, keep, &n_kept, error);
    dg_protobuf_init(&wire, bytes, len, 0);
    for (size_t from = 0; !err; from = wire.at) {
        err = dg_protobuf_next(&wire, error, &field);
        if (err || field.number == 0)
            break;
        if (field.number == FIELD_SELF_TEST || (field.number == FIELD_PIECE && !keep[n++]))
            continue;
        err = field.number == FIELD_TRAINER && field.type == DG_PROTOBUF_BYTES
                  ? put_trainer(out, &field, n_kept, error)
                  : dg_buf_append(out, wire.bytes + from, wire.at - from);
    }
    return err;
}
