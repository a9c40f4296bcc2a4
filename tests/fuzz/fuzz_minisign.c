/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as a minisign public key, open secret key and signature: no signature verifies that was
 * not made with the key. */
#include "model/file/minisign.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct dg_span text = dg_span_make((const char *)bytes, len);
    struct dg_minisign_public key = {.id = {0x4f, 0xeb, 0x94, 0x46, 0x50, 0xd6, 0xa1, 0x8d},
                                     .key = {9}};
    struct dg_minisign_public parsed;
    struct dg_minisign_secret secret;
    if (!dg_minisign_verify(&key, 1, DG_SPAN("never signed"), text, NULL, NULL))
        abort();
    if (!dg_minisign_public_parse(&parsed, text, NULL)) {
        struct dg_buf out;
        dg_buf_init(&out, DG_MINISIGN_FILE_MAX);
        if (dg_minisign_public_print(&parsed, &out))
            abort();
        dg_buf_deinit(&out);
    }
    if (!dg_minisign_secret_is_encrypted(text) && /* scrypt is too slow to fuzz */
        !dg_minisign_secret_parse(&secret, text, DG_SPAN(""), NULL))
        dg_minisign_wipe(&secret);
    return 0;
}
