/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as CTranslate2's model.bin: what is accepted lies inside the file, and aliases lead to
 * variables. */
#include "import/container/ct2_file.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct dg_ct2 file;
    struct dg_error error = DG_ERROR_NONE;
    if (dg_ct2_parse(&file, bytes, len, "fuzz", &error) != DG_OK) {
        require(error.text[0] != '\0');
        return 0;
    }
    for (size_t i = 0; i < file.n_vars; i++) {
        const struct dg_ct2_var *var = &file.vars[i];
        size_t count = dg_dtype_size(var->dtype);
        for (size_t d = 0; d < DG_TENSOR_RANK_MAX; d++)
            count *= var->shape[d];
        require(count == var->len && var->bytes >= bytes &&
                var->len <= len - (size_t)(var->bytes - bytes));
        require(dg_ct2_find(&file, var->name) == var);
    }
    for (size_t i = 0; i < file.n_aliases && i < 64; i++) {
        const struct dg_ct2_var *var = dg_ct2_find(&file, file.aliases[i].name);
        require(!var || (var >= file.vars && var < file.vars + file.n_vars));
    }
    dg_ct2_close(&file);
    return 0;
}
