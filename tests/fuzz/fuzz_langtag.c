/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as a language tag: what is accepted must read the same again and have a name. */
#include "text/language/langtag.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct dg_langtag tag, again;
    struct dg_error error = DG_ERROR_NONE;
    if (dg_langtag_parse(dg_span_make((const char *)bytes, len), &tag, &error)) {
        require(error.text[0] != '\0');
        return 0;
    }
    require(dg_langtag_parse(dg_span_cstr(tag.text), &again, NULL) == DG_OK);
    require(strcmp(tag.text, again.text) == 0);
    require(dg_langtag_compare(&tag, &again) == DG_LANGTAG_SAME);
    struct dg_buf name;
    dg_buf_init(&name, 4096);
    require(dg_langtag_name(&tag, tag.text, &name) == DG_OK && name.len > 0);
    dg_buf_deinit(&name);
    return 0;
}
