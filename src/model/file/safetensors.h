/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads a safetensors file in place: parses and checks the header, leaves the tensors in the
 * mapping.
 *
 *     0        u64, little-endian: n, bytes of the header
 *     8        JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
 *     8 + n    the tensors' bytes, back to back, offsets counted from here
 *
 * Everything the format promises is checked before a pointer is handed out: the header's size, its
 * JSON (no key twice), known types, shape times element size equal to the range, ranges that cover
 * the data without gap or overlap, and nothing after the last one. Every refusal names file,
 * offset, tensor and field.
 *
 *     struct dg_safetensors file;
 *     err = dg_safetensors_open(&file, "model.safetensors", &error);
 *     const struct dg_safetensors_entry *entry = dg_safetensors_find(&file, "model.shared.weight");
 *     ...
 *     dg_safetensors_close(&file);
 *
 * Read-only after opening: any thread may read. The mirror that writes is safetensors_out.h. */
#ifndef DG_MODEL_FILE_SAFETENSORS_H
#define DG_MODEL_FILE_SAFETENSORS_H

#include "base/file/map_file.h"
#include "base/memory/arena.h"
#include "base/memory/error.h"
#include "tensor/tensor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_safetensors_entry {
    const char *name; /* owned by the file's arena; NUL-terminated, not empty, holds no NUL */
    enum dg_dtype dtype;
    unsigned rank;
    size_t shape[DG_TENSOR_RANK_MAX]; /* dimensions past the rank are 1 */
    const uint8_t *bytes;             /* borrowed from the mapping; possibly misaligned */
    size_t len;
    size_t offset; /* where `bytes` lie in the file */
};

struct dg_safetensors {
    struct dg_map_file file;
    struct dg_arena arena;
    struct dg_safetensors_entry *entries; /* [n_entries] sorted by name; owned by the arena */
    size_t n_entries;
    bool borrowed; /* the bytes belong to the caller, so close does not unmap them */
};

/* Maps and checks `path`. A Git-LFS pointer in its place is reported as such. */
enum dg_err dg_safetensors_open(struct dg_safetensors *file, const char *path,
                                struct dg_error *error) DG_MUST_CHECK;
void dg_safetensors_close(struct dg_safetensors *file);

/* The same for bytes that the caller keeps alive until dg_safetensors_close; error sentences have
 * `name` in place of the path. */
enum dg_err dg_safetensors_parse(struct dg_safetensors *file, const uint8_t *bytes, size_t len,
                                 const char *name, struct dg_error *error) DG_MUST_CHECK;

/* Returns the tensor called `name`; NULL when there is none. */
const struct dg_safetensors_entry *dg_safetensors_find(const struct dg_safetensors *file,
                                                       const char *name);

#endif
