/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as a ZIP with .npy arrays, and as one array: members lie inside the file, numbers
 * inside members. */
#include "import/container/npy.h"
#include "archive/zip_in.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void read_array(const uint8_t *bytes, size_t len)
{
    struct dg_npy npy;
    if (!dg_npy_parse(&npy, bytes, len, "fuzz", NULL) &&
        (npy.offset > len || npy.len != len - npy.offset))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct dg_zip zip;
    read_array(bytes, len);
    if (dg_zip_parse(&zip, bytes, len, "fuzz", NULL))
        return 0;
    for (size_t i = 0; i < zip.n_members; i++) {
        const struct dg_zip_member *member = &zip.members[i];
        struct dg_zip_data data;
        if (member->offset > len || member->packed_len > len - member->offset)
            abort();
        if (dg_zip_data(&zip, member, 1 << 20, &data, NULL))
            continue;
        read_array(data.bytes, data.len);
        dg_zip_data_free(&data);
    }
    dg_zip_close(&zip);
    return 0;
}
