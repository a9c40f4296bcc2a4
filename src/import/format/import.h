/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Converts a model of another program into a model directory.
 *
 *     struct dg_import_opts opts = DG_IMPORT_OPTS_DEFAULT;
 *     opts.as_type = true;
 *     opts.type = DG_DTYPE_F16;
 *     err = dg_import("opus-mt-fr-en", "models/fr-en", &opts, &summary, &error);
 *
 * The format is recognised by content, not by name. Tensors stream through a fixed workspace one
 * block at a time. The output directory appears by a rename, after everything in it was written and
 * synced, and the reader that will serve it has opened it once. On any failure nothing is left of
 * it.
 *
 * To add a format, add a file import_NAME.c and a row in import.c; import_int.h explains how. */
#ifndef DG_IMPORT_FORMAT_IMPORT_H
#define DG_IMPORT_FORMAT_IMPORT_H

#include "base/memory/error.h"
#include "model/blueprint.h"
#include "tensor/tensor.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_import_opts {
    bool as_type;       /* false: each tensor keeps the type it has */
    enum dg_dtype type; /* F32, F16, BF16 or I8 (matrices only; vectors become F32) */
    /* If not NULL, returns the type of one parameter, given its canonical name. It overrides
     * as_type and type. */
    enum dg_dtype (*choose)(void *ctx, const char *name);
    void *choose_ctx;
    /* If not NULL, is called with the number of bytes of weights that are written so far. */
    void (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *progress_ctx;
    /* Checked between tensors. A value other than 0, which a signal handler may set, ends the
     * import with DG_ERR_CANCELLED. */
    const volatile sig_atomic_t *stop;
};

#define DG_IMPORT_OPTS_DEFAULT                                                                     \
    {                                                                                              \
        .as_type = false                                                                           \
    }

struct dg_import_summary {
    char format[64]; /* "Hugging Face directory, pytorch_model.bin" */
    struct dg_blueprint blueprint;
    size_t n_tensors;
    uint64_t n_parameters;
    uint64_t n_bytes; /* of weights written */
    size_t n_files;   /* other files, copied or made */
    char note[256];   /* a note for the user; "" for none */
};

/* `out` must not exist; it appears whole or not at all. If an import is killed, the next one
 * removes the files that it left (OUT.importing-*). */
enum dg_err dg_import(const char *path, const char *out, const struct dg_import_opts *opts,
                      struct dg_import_summary *summary, struct dg_error *error) DG_MUST_CHECK;

#endif
