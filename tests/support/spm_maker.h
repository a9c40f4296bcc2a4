/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Makes small SentencePiece models in memory, for tests: any vocabulary, any settings, any false
 * statement.
 *
 *     struct maker maker;
 *     maker_init(&maker);                                 with <unk> <s> </s> as pieces 0, 1, 2
 *     maker_piece(&maker, "ab", -1, DG_PIECE_NORMAL);
 *     maker_trainer_varint(&maker, 3, DG_SPM_BPE);
 *     struct dg_spm *spm = maker_open(&maker);            borrows the maker's bytes
 *     ...
 *     dg_spm_close(spm);
 *     maker_deinit(&maker);
 *
 * A maker that fails ends the test, or, in fuzz targets, which have no Check, the program. Include
 * unit.h first. */
#ifndef DG_TEST_SPM_MAKER_H
#define DG_TEST_SPM_MAKER_H

#include "base/memory/buf.h"
#include "tokenize/spm/spm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef DG_UNIT_H
#define maker_fail(sentence) ck_abort_msg("%s", sentence)
#else
#define maker_fail(sentence) (fprintf(stderr, "%s\n", sentence), abort())
#endif

struct maker {
    struct dg_buf pieces, trainer, normaliser, denormaliser, self_test, file;
};

static inline void put_bytes(struct dg_buf *buf, const void *bytes, size_t len)
{
    if (dg_buf_append(buf, bytes, len))
        maker_fail("no memory for a model");
}

static inline void put_varint(struct dg_buf *buf, uint64_t value)
{
    while (value >= 0x80) {
        put_bytes(buf, &(uint8_t){(uint8_t)(value | 0x80)}, 1);
        value >>= 7;
    }
    put_bytes(buf, &(uint8_t){(uint8_t)value}, 1);
}

static inline void put_varint_field(struct dg_buf *buf, unsigned number, uint64_t value)
{
    put_varint(buf, (uint64_t)number << 3);
    put_varint(buf, value);
}

static inline void put_bytes_field(struct dg_buf *buf, unsigned number, const void *bytes,
                                   size_t len)
{
    put_varint(buf, (uint64_t)number << 3 | 2);
    put_varint(buf, len);
    put_bytes(buf, bytes, len);
}

static inline void put_float_field(struct dg_buf *buf, unsigned number, float value)
{
    put_varint(buf, (uint64_t)number << 3 | 5);
    put_bytes(buf, &value, 4); /* tests run on little-endian machines */
}

/* `reversed` writes the fields in an order that real files do not have. */
static inline void maker_piece_as(struct maker *maker, const void *text, size_t len, float score,
                                  int type, bool reversed)
{
    struct dg_buf message;
    dg_buf_init(&message, 1 << 20);
    if (reversed) {
        put_varint_field(&message, 3, (uint64_t)type);
        put_float_field(&message, 2, score);
    }
    put_bytes_field(&message, 1, text, len);
    if (!reversed) {
        put_float_field(&message, 2, score);
        if (type != DG_PIECE_NORMAL)
            put_varint_field(&message, 3, (uint64_t)type);
    }
    put_bytes_field(&maker->pieces, 1, message.ptr, message.len);
    dg_buf_deinit(&message);
}

static inline void maker_piece(struct maker *maker, const char *text, float score, int type)
{
    maker_piece_as(maker, text, strlen(text), score, type, false);
}

static inline void maker_init_empty(struct maker *maker)
{
    dg_buf_init(&maker->pieces, 1 << 24);
    dg_buf_init(&maker->trainer, 1 << 20);
    dg_buf_init(&maker->normaliser, 1 << 20);
    dg_buf_init(&maker->denormaliser, 1 << 20);
    dg_buf_init(&maker->self_test, 1 << 20);
    dg_buf_init(&maker->file, 1 << 25);
}

static inline void maker_init(struct maker *maker)
{
    maker_init_empty(maker);
    maker_piece(maker, "<unk>", 0, DG_PIECE_UNKNOWN);
    maker_piece(maker, "<s>", 0, DG_PIECE_CONTROL);
    maker_piece(maker, "</s>", 0, DG_PIECE_CONTROL);
}

static inline void maker_deinit(struct maker *maker)
{
    dg_buf_deinit(&maker->pieces);
    dg_buf_deinit(&maker->trainer);
    dg_buf_deinit(&maker->normaliser);
    dg_buf_deinit(&maker->denormaliser);
    dg_buf_deinit(&maker->self_test);
    dg_buf_deinit(&maker->file);
}

/* All 256 byte pieces, and the setting that uses them. */
static inline void maker_bytes(struct maker *maker)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", byte);
        maker_piece(maker, name, 0, DG_PIECE_BYTE);
    }
    put_varint_field(&maker->trainer, 35, 1);
}

static inline struct dg_span maker_file(struct maker *maker)
{
    dg_buf_clear(&maker->file);
    put_bytes(&maker->file, maker->pieces.ptr, maker->pieces.len);
    put_bytes_field(&maker->file, 2, maker->trainer.ptr, maker->trainer.len);
    put_bytes_field(&maker->file, 3, maker->normaliser.ptr, maker->normaliser.len);
    if (maker->self_test.len)
        put_bytes_field(&maker->file, 4, maker->self_test.ptr, maker->self_test.len);
    if (maker->denormaliser.len)
        put_bytes_field(&maker->file, 5, maker->denormaliser.ptr, maker->denormaliser.len);
    return dg_buf_span(&maker->file);
}

static inline struct dg_spm *maker_open(struct maker *maker)
{
    struct dg_spm *spm = NULL;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_span file = maker_file(maker);
    enum dg_err err = dg_spm_new((const uint8_t *)file.ptr, file.len, &error, &spm);
    if (err)
        maker_fail(dg_error_text(&error, err));
    return spm;
}

/* A charsmap with one key, which is one ASCII byte: a double array of two blocks, then the
 * replacement. */
static inline void maker_charsmap(struct dg_buf *spec, char key, const char *replacement)
{
    uint32_t units[512] = {0};
    uint8_t blob[4 + sizeof units + 64] = {0};
    size_t len = strlen(replacement) + 1;
    units[0] = 256u << 10; /* root: children at 256 ^ byte */
    units[256 ^ (uint8_t)key] = (uint32_t)(uint8_t)key | 0x100 | 1u << 10; /* a key ends; value at
                                                                              ^1 */
    units[256 ^ (uint8_t)key ^ 1] = 0x80000000u; /* offset 0 of the pool */
    uint32_t trie_len = sizeof units;
    memcpy(blob, &trie_len, 4);
    memcpy(blob + 4, units, sizeof units);
    memcpy(blob + 4 + sizeof units, replacement, len);
    put_bytes_field(spec, 2, blob, 4 + sizeof units + len);
}

#endif
