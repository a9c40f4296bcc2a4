/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as Marian's .bin: what is accepted lies inside the file, with room for its multiplier.
 */
#include "import/container/marian_bin.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct dg_marian_bin file;
    struct dg_error error = DG_ERROR_NONE;
    if (dg_marian_bin_parse(&file, bytes, len, "fuzz", &error) != DG_OK) {
        require(error.text[0] != '\0');
        return 0;
    }
    const uint8_t *next = NULL;
    for (size_t i = 0; i < file.n_items; i++) {
        const struct dg_marian_item *item = &file.items[i];
        size_t size = dg_dtype_size(item->dtype);
        for (size_t d = 0; d < DG_TENSOR_RANK_MAX; d++)
            size *= item->shape[d];
        require(size == item->len && item->len + (item->is_intgemm ? 4 : 0) <= item->stored_len);
        require(!next || item->bytes == next);
        require(!item->is_intgemm || item->multiplier > 0);
        next = item->bytes + item->stored_len;
        require(item->bytes >= bytes && next <= bytes + len);
    }
    require(next == bytes + len);
    dg_marian_bin_close(&file);
    return 0;
}
