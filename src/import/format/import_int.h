/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The interface between a format and the importer. A format provides three things: a blueprint; a
 * list of tensors under their canonical names, each a view into a blob of bytes; and the vocabulary
 * files. import.c does the rest: matching, conversion, writing, checking, renaming.
 *
 * A view says where row r, column c lies: element offset + r * strides[0] + c * strides[1] of its
 * blob. That covers transposed matrices, parts of fused ones and PyTorch's strides without copying.
 * import.c checks bounds against the blob's true length. A tensor without a canonical name keeps
 * its own name and is reported as unexpected. */
#ifndef DG_IMPORT_FORMAT_IMPORT_INT_H
#define DG_IMPORT_FORMAT_IMPORT_INT_H

#include "base/memory/arena.h"
#include "import/format/import.h"
#include "model/bind.h"

enum { DG_IMPORT_FILES_MAX = 24, DG_IMPORT_TENSORS_MAX = 50000 };

struct dg_import_tensor {
    struct dg_tensor_info info; /* name in the arena */
    size_t blob;
    size_t offset;     /* elements */
    size_t strides[2]; /* elements; a vector uses the second */
    /* For integers: real = q * scale, or q / scale if the scales are divisors. There is one scale,
     * or one for each row; they are in the arena. */
    const float *scales;
    size_t n_scales; /* 0, 1 or rows */
    bool scale_divides;
};

/* A file of the new directory: copied from `path`, or `bytes` when that is NULL. */
struct dg_import_file {
    const char *name;
    const char *path;
    struct dg_span bytes;
};

struct dg_import {
    struct dg_arena arena; /* for what `open` keeps; made and released by import.c */
    const char *format;    /* for the summary */
    const char *note;      /* for the summary; NULL for nothing */
    struct dg_blueprint bp;
    bool own_config; /* config.json is printed from `bp`; otherwise it is among the files */
    struct dg_import_tensor *tensors;
    size_t n_tensors, cap_tensors;
    struct dg_import_file files[DG_IMPORT_FILES_MAX];
    size_t n_files;

    void *ctx; /* the format's own data; released by `close` */
    /* The bytes of a blob, borrowed until the next call. */
    enum dg_err (*load)(void *ctx, size_t blob, const uint8_t **bytes, size_t *len,
                        struct dg_error *error);
    void (*close)(void *ctx);
};

/* One per format, tried in order. `detect` looks only at the content; `open` fills the struct. */
struct dg_import_format {
    bool (*detect)(const char *path, bool is_dir);
    enum dg_err (*open)(struct dg_import *import, const char *path, struct dg_error *error);
};

extern const struct dg_import_format dg_import_argos;
extern const struct dg_import_format dg_import_bergamot;
extern const struct dg_import_format dg_import_ct2;
extern const struct dg_import_format dg_import_hf;
extern const struct dg_import_format dg_import_marian;

/* Gives GPT-2's tensors our names and shapes (import_lm.c). */
enum dg_err dg_import_gpt2(struct dg_import *import) DG_MUST_CHECK;

/* Does the same for encoder-only networks (import_enc.c), and adds the file of their labels. */
enum dg_err dg_import_enc(struct dg_import *import, const char *dir,
                          struct dg_error *error) DG_MUST_CHECK;

/* ---- Helpers for formats --------------------------------------------------------------------- */

/* Adds a tensor at the end of the list, zeroed, with the strides of a contiguous matrix; NULL past
 * the limits. `name` is copied. */
struct dg_import_tensor *dg_import_add(struct dg_import *import, const char *name,
                                       enum dg_dtype dtype, unsigned rank, const size_t *shape);

/* Notes a file to copy (`path` is copied) or to write (`bytes` are copied). */
enum dg_err dg_import_copy_file(struct dg_import *import, const char *name, const char *path,
                                struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_import_make_file(struct dg_import *import, const char *name, struct dg_span bytes,
                                struct dg_error *error) DG_MUST_CHECK;

/* Returns "dir/name" in the arena; NULL when memory is short. */
const char *dg_import_path(struct dg_import *import, const char *dir, const char *name);

/* True when dir/name is a file. */
bool dg_import_has(const char *dir, const char *name);

#endif
