/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as Marian's YAML: values come with a key, and as a configuration the file gives a
 * blueprint or is refused. */
#include "import/container/yaml_in.h"
#include "import/format/marian.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static enum dg_err on_value(void *ctx, struct dg_span key, long index, struct dg_span value,
                            struct dg_error *error)
{
    size_t *sum = ctx;
    if (index < DG_YAML_SCALAR)
        abort();
    for (size_t i = 0; i < key.len; i++)
        *sum += (unsigned char)key.ptr[i];
    for (size_t i = 0; i < value.len; i++)
        *sum += (unsigned char)value.ptr[i];
    return DG_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct dg_span text = dg_span_make((const char *)bytes, len);
    struct dg_blueprint bp;
    size_t sum = 0;
    if (dg_yaml_visit(text, "fuzz", on_value, &sum, NULL) && sum == 1)
        return 0; /* keeps the sum */
    if (!dg_marian_config(&bp, text, len % 2, "fuzz", NULL) &&
        (bp.D > 1 << 20 || bp.encoder.n_layers > 1 << 20))
        abort();
    return 0;
}
