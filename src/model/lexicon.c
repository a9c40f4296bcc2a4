/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The file has six numbers, a table of offsets and a table of ids; the sizes of the tables must
 * give the file's size. */
#include "model/lexicon.h"
#include "base/file/file_out.h"
#include "base/file/map_file.h"
#include "base/memory/mem.h"

#include <inttypes.h>
#include <stdio.h>

enum { HEADER_BYTES = 48, COVERED_FROM = 16 };

static const uint64_t MAGIC = 0xf11a48d5013417f5;

static uint64_t u64_at(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

bool dg_lexicon_is(const uint8_t *bytes, size_t len)
{
    return len >= 8 && u64_at(bytes) == MAGIC;
}

/* Computes the checksum of all whole words after the checksum itself. */
static uint64_t checksum(const uint8_t *bytes, size_t len)
{
    uint64_t hash = 0;
    for (size_t at = COVERED_FROM; at + 8 <= len; at += 8)
        hash ^= u64_at(bytes + at) + 0x9e3779b9 + (hash << 6) + (hash >> 2);
    return hash;
}

static enum dg_err read_header(struct dg_lexicon *lex, const uint8_t *bytes, size_t len,
                               const char *name, struct dg_error *error)
{
    if (len < HEADER_BYTES)
        return dg_error_set(error, DG_ERR_TRUNCATED,
                            "%s: offset 0: the file has %zu bytes, expected at least %d", name, len,
                            HEADER_BYTES);
    if (!dg_lexicon_is(bytes, len))
        return dg_error_set(error, DG_ERR_FORMAT,
                            "%s: offset 0: field 'magic' is 0x%" PRIx64 ", expected 0x%" PRIx64,
                            name, u64_at(bytes), MAGIC);
    uint64_t n_offsets = u64_at(bytes + 32), n_targets = u64_at(bytes + 40);
    size_t size, more;
    if (!dg_mul(n_offsets, 8, &size) || !dg_mul(n_targets, 4, &more) ||
        !dg_add(size, more, &size) || !dg_add(size, HEADER_BYTES, &size) || size != len ||
        n_offsets < 1)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "%s: offset 32: fields 'offsets' and 'targets' are %" PRIu64
                            " and %" PRIu64
                            ", which a file of %zu bytes does not have; it may be cut off",
                            name, n_offsets, n_targets, len);
    *lex = (struct dg_lexicon){.n_frequent = u64_at(bytes + 16),
                               .n_best = u64_at(bytes + 24),
                               .n_words = n_offsets - 1,
                               .n_targets = n_targets,
                               .offsets = bytes + HEADER_BYTES,
                               .targets = bytes + HEADER_BYTES + 8 * n_offsets};
    return DG_OK;
}

/* Checks the lists. The offsets of words at the end that have no list point to the end of the
 * table; the original program refuses that, dragoman does not. */
static enum dg_err check_lists(const struct dg_lexicon *lex, const char *name, size_t n_target,
                               struct dg_error *error)
{
    uint64_t last = 0;
    for (size_t i = 0; i <= lex->n_words; i++) {
        uint64_t at = u64_at(lex->offsets + 8 * i);
        if (at < last || at > lex->n_targets || (i == 0 && at) ||
            (i == lex->n_words && at != lex->n_targets))
            return dg_error_set(error, DG_ERR_FORMAT,
                                "%s: offset %zu: the list of source id %zu begins at %" PRIu64
                                ", which is out of order",
                                name, HEADER_BYTES + 8 * i, i, at);
        last = at;
    }
    for (size_t i = 0; i < lex->n_targets; i++)
        if (dg_lexicon_target(lex, i) >= n_target)
            return dg_error_set(error, DG_ERR_RANGE,
                                "%s: offset %zu: target id %" PRIu32 ", but the vocabulary has %zu",
                                name, HEADER_BYTES + 8 * (lex->n_words + 1) + 4 * i,
                                dg_lexicon_target(lex, i), n_target);
    return DG_OK;
}

enum dg_err dg_lexicon_parse(struct dg_lexicon *lex, const uint8_t *bytes, size_t len,
                             const char *name, size_t n_source, size_t n_target,
                             struct dg_error *error)
{
    struct dg_lexicon parsed;
    enum dg_err err = read_header(&parsed, bytes, len, name, error);
    if (err)
        return err;
    if (parsed.n_words != n_source || parsed.n_frequent > n_target)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "%s: offset 16: it is for %zu source words and %" PRIu64
                            " frequent ones, but the model has %zu source and %zu target words",
                            name, parsed.n_words, parsed.n_frequent, n_source, n_target);
    if (u64_at(bytes + 8) != checksum(bytes, len))
        return dg_error_set(error, DG_ERR_INTEGRITY,
                            "%s: offset 8: field 'checksum' is 0x%" PRIx64 ", expected 0x%" PRIx64
                            " by the content: the file is damaged",
                            name, u64_at(bytes + 8), checksum(bytes, len));
    err = check_lists(&parsed, name, n_target, error);
    if (!err)
        *lex = parsed;
    return err;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void put_u64(uint8_t *bytes, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
}

enum dg_err dg_lexicon_save(const char *path, uint64_t n_frequent, uint64_t n_best,
                            const uint64_t *offsets, size_t n_words, const uint32_t *targets,
                            struct dg_error *error)
{
    const uint64_t n_targets = offsets[n_words];
    const size_t len = HEADER_BYTES + 8 * (n_words + 1) + 4 * (size_t)n_targets;
    if (n_words >= DG_LEXICON_MAX / 8 || n_targets >= DG_LEXICON_MAX / 4 || len > DG_LEXICON_MAX)
        return dg_error_set(error, DG_ERR_LIMIT,
                            "%s: a shortlist of %zu words and %" PRIu64 " entries is too large",
                            path, n_words, n_targets);
    uint8_t *bytes = dg_try_calloc(1, len);
    if (!bytes)
        return DG_ERR_NOMEM;
    const uint64_t header[] = {MAGIC, 0, n_frequent, n_best, n_words + 1, n_targets};
    for (size_t i = 0; i < sizeof header / sizeof *header; i++)
        put_u64(bytes + 8 * i, header[i]);
    for (size_t i = 0; i <= n_words; i++)
        put_u64(bytes + HEADER_BYTES + 8 * i, offsets[i]);
    uint8_t *at = bytes + HEADER_BYTES + 8 * (n_words + 1);
    for (size_t i = 0; i < n_targets; i++, at += 4)
        for (unsigned b = 0; b < 4; b++)
            at[b] = (uint8_t)(targets[i] >> (8 * b));
    put_u64(bytes + 8, checksum(bytes, len));
    const enum dg_err err = dg_file_out_save(path, 0644, bytes, len, error);
    dg_free(bytes);
    return err;
}

/* ---- A model's own --------------------------------------------------------------------------- */

struct opened {
    struct dg_lexicon lex; /* the first member, so that a pointer to it points to the whole */
    struct dg_map_file file;
};

enum dg_err dg_lexicon_open(struct dg_lexicon **lex, const char *dir, size_t n_source,
                            size_t n_target, struct dg_error *error)
{
    char path[4096];
    struct dg_error fault = DG_ERROR_NONE;
    if ((size_t)snprintf(path, sizeof path, "%s/" DG_LEXICON_NAME, dir) >= sizeof path)
        return dg_error_set(error, DG_ERR_LIMIT, "the path is too long");
    struct opened *opened = dg_try_calloc(1, sizeof *opened);
    if (!opened)
        return DG_ERR_NOMEM;
    enum dg_err err = dg_map_file_read(&opened->file, path, DG_LEXICON_MAX, &fault);
    if (err) {
        dg_free(opened);
        if (err == DG_ERR_NOT_FOUND)
            *lex = NULL;
        return err == DG_ERR_NOT_FOUND ? DG_OK
                                       : dg_error_set(error, err, "%s", dg_error_text(&fault, err));
    }
    err = dg_lexicon_parse(&opened->lex, opened->file.bytes, opened->file.len, path, n_source,
                           n_target, error);
    if (err) {
        dg_map_file_close(&opened->file);
        dg_free(opened);
        return err;
    }
    *lex = &opened->lex;
    return DG_OK;
}

void dg_lexicon_close(struct dg_lexicon *lex)
{
    if (!lex)
        return;
    struct opened *opened = (struct opened *)(void *)lex;
    dg_map_file_close(&opened->file);
    dg_free(opened);
}

size_t dg_lexicon_memory(const struct dg_lexicon *lex)
{
    return lex ? sizeof(struct opened) + ((const struct opened *)(const void *)lex)->file.len : 0;
}

/* ---- Questions ------------------------------------------------------------------------------- */

struct dg_lexicon_list dg_lexicon_list(const struct dg_lexicon *lex, size_t source)
{
    size_t first = u64_at(lex->offsets + 8 * source);
    return (struct dg_lexicon_list){first, u64_at(lex->offsets + 8 * (source + 1)) - first};
}

uint32_t dg_lexicon_target(const struct dg_lexicon *lex, size_t at)
{
    const uint8_t *bytes = lex->targets + 4 * at;
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}
