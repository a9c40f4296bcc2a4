/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as a file of torch.save, and as a pickle alone: every tensor that is accepted must lie
 * inside its storage. */
#include "base/memory/mem.h"
#include "import/container/torch.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check(const struct dg_torch *file)
{
    for (size_t i = 0; i < file->n_tensors; i++) {
        const struct dg_torch_tensor *tensor = &file->tensors[i];
        const struct dg_pickle_tensor *view = tensor->view;
        size_t last = view->offset;
        bool empty = false;
        for (unsigned d = 0; d < view->rank; d++) {
            empty = empty || view->shape[d] == 0;
            last += view->shape[d] ? (view->shape[d] - 1) * view->strides[d] : 0;
        }
        if (tensor->storage >= file->n_storages || !tensor->name[0] ||
            (!empty && last >= view->storage->n_elements))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct dg_torch file;
    struct dg_pickle pickle;
    const struct dg_pickle_value *value;
    size_t end;
    if (!dg_torch_parse(&file, bytes, len, "fuzz", NULL)) {
        check(&file);
        dg_torch_close(&file);
    }
    dg_pickle_init(&pickle, bytes, len, "fuzz");
    if (!dg_pickle_load(&pickle, 0, &value, &end, NULL) && end > len)
        abort();
    dg_pickle_deinit(&pickle);
    return 0;
}
