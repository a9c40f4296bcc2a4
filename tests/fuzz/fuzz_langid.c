/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as a model of language identification: its length and checksum are corrected first, so
 * that the checks after them are reached; a model that is accepted identifies a few texts. */
#include "text/language/langid.h"
#include "text/language/langid_model.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void put_u32(uint8_t *at, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(v >> 8 * i);
}

static void identify(const struct dg_langid *langid, struct dg_span text)
{
    struct dg_langid_guess guesses[3];
    size_t n = dg_langid_detect(langid, text, NULL, guesses, 3);
    for (size_t i = 0; i < n; i++)
        if (!(guesses[i].confidence >= 0 && guesses[i].confidence <= 1))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct dg_langid *langid;
    uint8_t *copy = malloc(len ? len : 1);
    if (!copy)
        return 0;
    memcpy(copy, bytes, len);
    if (len >= DG_LANGID_HEADER) {
        memcpy(copy, DG_LANGID_MAGIC, 16);
        put_u32(copy + 24, (uint32_t)len);
        put_u32(copy + 28, dg_langid_checksum(copy + DG_LANGID_HEADER, len - DG_LANGID_HEADER));
    }
    if (dg_langid_open_bytes(&langid, copy, len, NULL) == DG_OK) {
        identify(langid, DG_SPAN("some words of English text, and others"));
        identify(
            langid,
            DG_SPAN("\xD0\xBF\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82 \xE4\xBD\xA0\xE5\xA5\xBD"));
        identify(langid, dg_span_make((const char *)copy, len));
        dg_langid_close(langid);
    }
    free(copy);
    return 0;
}
