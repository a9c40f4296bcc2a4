/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The table of element types. */
#include "tensor/tensor.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
#define DTYPE_ROW(code, name, size) {name, size},
    DG_DTYPE_LIST(DTYPE_ROW)
#undef DTYPE_ROW
};

const char *dg_dtype_name(enum dg_dtype dtype)
{
    return (unsigned)dtype < DG_DTYPE_COUNT ? dtypes[dtype].name : "?";
}

size_t dg_dtype_size(enum dg_dtype dtype)
{
    return (unsigned)dtype < DG_DTYPE_COUNT ? dtypes[dtype].size : 0;
}

bool dg_dtype_find(const char *name, enum dg_dtype *dtype)
{
    for (unsigned i = 0; i < DG_DTYPE_COUNT; i++) {
        if (strcmp(name, dtypes[i].name) == 0) {
            *dtype = (enum dg_dtype)i;
            return true;
        }
    }
    return false;
}
