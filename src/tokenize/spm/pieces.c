/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Builds the table in two passes over the file: the first counts the pieces and checks whether the
 * file's own layout can be used (canonical messages that follow each other without a gap); the
 * second fills the table. */
#include "tokenize/spm/pieces.h"

#include "base/memory/mem.h"
#include "tokenize/spm/protobuf.h"

#include <math.h>
#include <stdbool.h>

enum {
    FIELD_PIECES = 1,
    FIELD_PIECE = 1,
    FIELD_SCORE = 2,
    FIELD_TYPE = 3,
    BLOCK = 1 << DG_PIECES_BLOCK_BITS,
};

struct piece {
    const uint8_t *text;
    size_t len;
    float score;
    enum dg_piece_type type;
};

static enum dg_err read_piece_fields(struct dg_protobuf *message, struct dg_error *error,
                                     struct piece *piece)
{
    struct dg_protobuf_field field;
    enum dg_err err;
    while ((err = dg_protobuf_next(message, error, &field)) == DG_OK && field.number != 0) {
        if (field.number == FIELD_PIECE && field.type == DG_PROTOBUF_BYTES) {
            piece->text = field.bytes;
            piece->len = field.len;
        } else if (field.number == FIELD_SCORE && field.type == DG_PROTOBUF_FIXED32) {
            uint32_t bits = (uint32_t)field.varint;
            memcpy(&piece->score, &bits, sizeof bits);
        } else if (field.number == FIELD_TYPE && field.type == DG_PROTOBUF_VARINT) {
            if (field.varint < DG_PIECE_NORMAL || field.varint > DG_PIECE_BYTE)
                return dg_error_set(error, DG_ERR_FORMAT, "type is %llu, expected 1 to 6",
                                    (unsigned long long)field.varint);
            piece->type = (enum dg_piece_type)field.varint;
        }
    }
    return err;
}

static enum dg_err read_piece(const struct dg_protobuf_field *outer, uint32_t id,
                              struct dg_error *error, struct piece *piece)
{
    *piece = (struct piece){.type = DG_PIECE_NORMAL};
    struct dg_protobuf message = dg_protobuf_nested(outer);
    enum dg_err err = read_piece_fields(&message, error, piece);
    if (!err && piece->len == 0)
        err = dg_error_set(error, DG_ERR_FORMAT, "the string is empty");
    if (!err && piece->len > DG_PIECES_LEN_MAX)
        err =
            dg_error_set(error, DG_ERR_LIMIT, "the string has %zu bytes, at most %d are supported",
                         piece->len, DG_PIECES_LEN_MAX);
    /* With this bound no sum over a text can overflow. NaN fails as well. */
    if (!err && !(fabsf(piece->score) <= 1e20f))
        err = dg_error_set(error, DG_ERR_FORMAT, "the score is %g, expected a number within 1e20",
                           (double)piece->score);
    return err ? dg_error_wrap(error, err, "pieces[%u]", id) : DG_OK;
}

/* True when the message begins  0A len string 15 score [18 type], so that length, score and type
 * are found from the position of the string. */
static bool is_canonical(const struct dg_protobuf_field *outer, const struct piece *piece,
                         const uint8_t *file_end)
{
    const struct dg_pieces whole = {.end = file_end};
    size_t head = piece->len < 0x80 ? 2 : 3;
    if (outer->len < head + piece->len + 5 || piece->text != outer->bytes + head)
        return false;
    if (outer->bytes[0] != 0x0A || dg_pieces_len(piece->text) != piece->len)
        return false;
    const uint8_t *score = piece->text + piece->len;
    const uint8_t *end = outer->bytes + outer->len;
    return (end == score + 5 || (end == score + 7 && score[5] == 0x18)) && score[0] == 0x15 &&
           dg_pieces_score_at(piece->text, piece->len) == piece->score &&
           dg_pieces_type_at(&whole, piece->text, piece->len) == piece->type;
}

/* ---- First pass ------------------------------------------------------------------------------ */

struct survey {
    uint32_t n;
    size_t copy_len; /* bytes of a copy in the canonical layout */
    bool serves;     /* the file's own layout can be used */
};

/* dg_pieces_next if the bytes that it reads exist; else a place where no string begins. */
static const uint8_t *next_text(const uint8_t *at, const uint8_t *file_end)
{
    size_t needed = dg_pieces_len(at) + 5 + 2 + 3 + 2;
    return (size_t)(file_end - at) >= needed ? dg_pieces_next(at) : file_end;
}

static enum dg_err survey_file(const uint8_t *file, size_t len, struct dg_error *error,
                               struct survey *survey)
{
    struct dg_protobuf wire;
    struct dg_protobuf_field field;
    enum dg_err err;
    const uint8_t *expected = NULL; /* where the next string must begin */
    *survey = (struct survey){.serves = len <= UINT32_MAX};
    dg_protobuf_init(&wire, file, len, 0);
    while ((err = dg_protobuf_next(&wire, error, &field)) == DG_OK && field.number != 0) {
        if (field.number != FIELD_PIECES || field.type != DG_PROTOBUF_BYTES)
            continue;
        struct piece piece;
        if (survey->n == DG_PIECES_MAX)
            return dg_error_set(error, DG_ERR_LIMIT, "pieces has more than %d entries",
                                DG_PIECES_MAX);
        err = read_piece(&field, survey->n, error, &piece);
        if (err)
            return err;
        survey->serves = survey->serves && (!expected || expected == piece.text) &&
                         is_canonical(&field, &piece, file + len);
        expected = survey->serves ? next_text(piece.text, file + len) : NULL;
        survey->copy_len += 3 + 3 + piece.len + 7;
        survey->n++;
    }
    return err;
}

/* ---- Second pass ----------------------------------------------------------------------------- */

static size_t put_length(uint8_t *out, size_t len)
{
    out[0] = (uint8_t)(len < 0x80 ? len : len | 0x80);
    out[1] = (uint8_t)(len >> 7);
    return len < 0x80 ? 1 : 2;
}

/* Writes one canonical message with its key and length; returns its bytes, and where its string is.
 */
static size_t put_copy(uint8_t *out, const struct piece *piece, size_t *text)
{
    uint32_t bits;
    size_t at = 0;
    bool has_type = piece->type != DG_PIECE_NORMAL;
    out[at++] = 0x0A;
    at += put_length(out + at, (piece->len < 0x80 ? 2 : 3) + piece->len + 5 + (has_type ? 2 : 0));
    out[at++] = 0x0A;
    at += put_length(out + at, piece->len);
    *text = at;
    memcpy(out + at, piece->text, piece->len);
    at += piece->len;
    memcpy(&bits, &piece->score, sizeof bits);
    out[at++] = 0x15;
    for (int i = 0; i < 4; i++)
        out[at++] = (uint8_t)(bits >> (8 * i));
    if (has_type) {
        out[at++] = 0x18;
        out[at++] = (uint8_t)piece->type;
    }
    return at;
}

static enum dg_err fill(struct dg_pieces *pieces, const uint8_t *file, size_t len,
                        struct dg_error *error)
{
    struct dg_protobuf wire;
    struct dg_protobuf_field field;
    enum dg_err err;
    uint32_t id = 0;
    size_t copied = 0;
    dg_protobuf_init(&wire, file, len, 0);
    while ((err = dg_protobuf_next(&wire, error, &field)) == DG_OK && field.number != 0) {
        if (field.number != FIELD_PIECES || field.type != DG_PROTOBUF_BYTES)
            continue;
        struct piece piece;
        err = read_piece(&field, id, error, &piece);
        if (err)
            return err;
        size_t at = (size_t)(piece.text - file);
        if (pieces->copy) {
            size_t start = copied;
            copied += put_copy(pieces->copy + start, &piece, &at);
            at += start;
        }
        if (id % BLOCK == 0)
            pieces->blocks[id / BLOCK] = (uint32_t)at;
        pieces->is_wide = at - pieces->blocks[0] >= 1u << DG_PIECES_HANDLE_BITS;
        pieces->scores[id++] = piece.score;
    }
    return err;
}

enum dg_err dg_pieces_init(struct dg_pieces *pieces, const uint8_t *file, size_t len,
                           struct dg_error *error)
{
    struct survey survey;
    enum dg_err err = survey_file(file, len, error, &survey);
    if (err)
        return err;
    if (survey.n == 0)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "pieces is empty; this is no SentencePiece model");
    if (survey.copy_len > UINT32_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "pieces has %zu bytes, more than is supported",
                            survey.copy_len);
    *pieces = (struct dg_pieces){.bytes = file, .end = file + len, .n = survey.n};
    pieces->blocks = dg_try_calloc(survey.n / BLOCK + 1, sizeof *pieces->blocks);
    pieces->scores = dg_try_calloc(survey.n, sizeof *pieces->scores);
    if (!survey.serves && (pieces->copy = dg_try_calloc(survey.copy_len, 1))) {
        pieces->copy_len = survey.copy_len;
        pieces->bytes = pieces->copy;
        pieces->end = pieces->copy + survey.copy_len;
    }
    if (!pieces->blocks || !pieces->scores || (!survey.serves && !pieces->copy))
        err = dg_error_set(error, DG_ERR_NOMEM, "no memory for the table of %u pieces", survey.n);
    else
        err = fill(pieces, file, len, error);
    if (err)
        dg_pieces_deinit(pieces);
    return err;
}

void dg_pieces_deinit(struct dg_pieces *pieces)
{
    dg_free(pieces->blocks);
    dg_free(pieces->scores);
    dg_free(pieces->copy);
    *pieces = (struct dg_pieces){0};
}

size_t dg_pieces_memory(const struct dg_pieces *pieces)
{
    return (pieces->n / BLOCK + 1) * sizeof *pieces->blocks + pieces->n * sizeof *pieces->scores +
           pieces->copy_len;
}

/* Positions ascend with ids: first the block by bisection, then from string to string. */
uint32_t dg_pieces_handle_id(const struct dg_pieces *pieces, uint32_t handle)
{
    if (pieces->is_wide)
        return handle;
    const uint32_t pos = pieces->blocks[0] + handle;
    const uint8_t *at = pieces->bytes + pos;
    uint32_t low = 0;
    for (uint32_t n = (pieces->n - 1) / BLOCK + 1; n > 1;) {
        uint32_t half = n / 2;
        low += pieces->blocks[low + half] <= pos ? half : 0;
        n -= half;
    }
    uint32_t id = low * BLOCK;
    for (const uint8_t *p = pieces->bytes + pieces->blocks[low]; p < at; p = dg_pieces_next(p))
        id++;
    return id;
}
