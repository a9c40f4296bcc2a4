/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* CTranslate2's model.bin, binary versions 2 to 6: a list of named variables in place, then
 * aliases. Every length is checked against the file before it is used; a refusal names the file,
 * the offset and the field.
 *
 *     struct dg_ct2 file;
 *     err = dg_ct2_parse(&file, bytes, len, "model.bin", &error);     borrows the bytes
 *     const struct dg_ct2_var *var = dg_ct2_find(&file, "decoder/projection/weight");
 *     dg_ct2_close(&file); */
#ifndef DG_IMPORT_CONTAINER_CT2_FILE_H
#define DG_IMPORT_CONTAINER_CT2_FILE_H

#include "base/memory/arena.h"
#include "base/memory/error.h"
#include "tensor/tensor.h"

#include <stddef.h>
#include <stdint.h>

struct dg_ct2_var {
    const char *name; /* in the arena */
    enum dg_dtype dtype;
    unsigned rank;
    size_t shape[DG_TENSOR_RANK_MAX]; /* dimensions past the rank are 1 */
    const uint8_t *bytes;             /* borrowed; not aligned */
    size_t len;
};

struct dg_ct2_alias {
    const char *name, *target; /* in the arena */
};

struct dg_ct2 {
    const char *name; /* of the file, for sentences; borrowed */
    struct dg_arena arena;
    uint32_t version, revision;
    const char *spec;        /* "TransformerSpec"; in the arena */
    struct dg_ct2_var *vars; /* [n_vars] sorted by name; in the arena */
    size_t n_vars;
    struct dg_ct2_alias *aliases; /* [n_aliases] in the arena */
    size_t n_aliases;
};

enum dg_err dg_ct2_parse(struct dg_ct2 *file, const uint8_t *bytes, size_t len, const char *name,
                         struct dg_error *error) DG_MUST_CHECK;
void dg_ct2_close(struct dg_ct2 *file);

/* Returns a variable by its name or by an alias; NULL when there is none. */
const struct dg_ct2_var *dg_ct2_find(const struct dg_ct2 *file, const char *name);

#endif
