/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The file that langid_train.c writes and langid.c reads. Private to the two.
 *
 * All numbers are little-endian; offsets count from the start of the file and are multiples of
 * four.
 *
 *     magic      16 bytes   "dragoman-langid1"
 *     u32 n_languages, u32 n_groups, u32 file size in bytes, u32 FNV-1a of what follows the header
 *     languages  n_languages * 8 bytes: the tag, NUL-padded
 *     groups     n_groups * struct below, one per script that some language writes
 *
 * A group lists the languages of its script. With one language the script alone decides. With more,
 * a table finds an n-gram's row (open addressing, linear probing: u16 fingerprint, u16 row + 1, 0
 * when empty), and the row holds one signed byte for each language of the group. The score of a
 * language is
 *
 *     z = bias + scale * (sum of its bytes over the n-grams found) / sqrt(n-grams found)
 *
 * and its probability within the script is softmax(z * sharpness[floor(log2(n-grams found))]),
 * where the sharpness was fitted on sentences kept out of the training of the weights. */
#ifndef DG_TEXT_LANGUAGE_LANGID_MODEL_H
#define DG_TEXT_LANGUAGE_LANGID_MODEL_H

#include <stddef.h>
#include <stdint.h>

#define DG_LANGID_MAGIC "dragoman-langid1"

enum {
    DG_LANGID_HEADER = 32,      /* bytes */
    DG_LANGID_TAG = 8,          /* bytes of a tag in the file, NUL included */
    DG_LANGID_GROUP_LANGS = 64, /* at most this many languages in one script */
    DG_LANGID_LANGS = 128,      /* at most this many languages */
    DG_LANGID_SHARPNESS = 16,   /* steps of the calibration */
    DG_LANGID_LANES = 16,       /* rows are summed in vectors of this many languages */
};

/* Offsets of the fields of a group's description. */
enum {
    DG_LANGID_AT_SCRIPT = 0,  /* u32: ICU's UScriptCode */
    DG_LANGID_AT_N_LANGS = 4, /* u32 */
    DG_LANGID_AT_N_ROWS = 8,  /* u32 */
    DG_LANGID_AT_BITS = 12,   /* u32: log2 of the table's slots */
    DG_LANGID_AT_TABLE = 16,  /* u32: offset of the table */
    DG_LANGID_AT_ROWS = 20,   /* u32: offset of the rows; 16 readable bytes follow the last one */
    DG_LANGID_AT_SCALE = 24,  /* f32 */
    DG_LANGID_AT_LANGS = 32,  /* u8[64]: indices into the languages, one byte each */
    DG_LANGID_AT_BIAS = 96,   /* f32[64] */
    DG_LANGID_AT_SHARPNESS = 96 + 256, /* f32[16] */
    DG_LANGID_GROUP_BYTES = 96 + 256 + 64,
};

/* Slot and fingerprint of an n-gram's hash in a table of 2^bits slots. */
static inline uint32_t dg_langid_slot(uint32_t hash, uint32_t bits)
{
    return hash >> (32 - bits);
}

static inline uint16_t dg_langid_fingerprint(uint32_t hash)
{
    return (uint16_t)(hash & 0xFFFF);
}

/* FNV-1a, 32 bits. */
static inline uint32_t dg_langid_checksum(const uint8_t *bytes, size_t len)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    return hash;
}

#endif
