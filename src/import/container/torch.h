/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads the state dict of a file written by torch.save, in place: the zip form (PyTorch 1.6 and
 * later) and the legacy form before it. The pickle inside it is read by the deny-by-default reader
 * (pickle.h), so code in the file is never run. TorchScript archives and the tar form of 2016 are
 * refused, with a sentence that names them.
 *
 *     struct dg_torch file;
 *     err = dg_torch_open(&file, "pytorch_model.bin", &error);
 *     ... file.tensors[0 .. file.n_tensors) ...
 *     dg_torch_close(&file); */
#ifndef DG_IMPORT_CONTAINER_TORCH_H
#define DG_IMPORT_CONTAINER_TORCH_H

#include "import/container/pickle.h"
#include "archive/zip_in.h"

struct dg_torch_tensor {
    const char *name;
    const struct dg_pickle_tensor *view; /* type, shape, offset and strides in elements */
    size_t storage;                      /* index below */
};

struct dg_torch_storage {
    struct dg_span key;
    const uint8_t *bytes; /* borrowed from the mapping */
    size_t len;
};

struct dg_torch {
    struct dg_map_file file;
    bool borrowed; /* the bytes are the caller's */
    struct dg_zip zip;
    struct dg_pickle pickle; /* its arena holds everything below */
    struct dg_torch_tensor *tensors;
    size_t n_tensors;
    struct dg_torch_storage *storages;
    size_t n_storages;
};

enum dg_err dg_torch_open(struct dg_torch *file, const char *path,
                          struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_torch_parse(struct dg_torch *file, const uint8_t *bytes, size_t len,
                           const char *name, struct dg_error *error) DG_MUST_CHECK;
void dg_torch_close(struct dg_torch *file);

#endif
