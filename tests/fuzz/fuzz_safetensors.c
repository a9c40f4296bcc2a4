/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as a safetensors file: what is accepted lies inside the file, aligned or not, and is
 * found by name. */
#include "model/file/safetensors.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct dg_safetensors file;
    struct dg_error error = DG_ERROR_NONE;
    if (dg_safetensors_parse(&file, bytes, len, "fuzz", &error)) {
        if (!error.text[0])
            abort();
        return 0;
    }
    size_t total = 0;
    for (size_t i = 0; i < file.n_entries; i++) {
        const struct dg_safetensors_entry *entry = &file.entries[i];
        if (entry->offset > len || entry->len > len - entry->offset ||
            dg_safetensors_find(&file, entry->name) != entry)
            abort();
        total += entry->len;
    }
    if (total > len)
        abort();
    dg_safetensors_close(&file);
    return 0;
}
