/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as what pdftotext writes of a PDF: its text is blocks of HTML, and each kind of
 * document can be made of it. */
#include "base/memory/utf8.h"
#include "filter/pdf.h"
#include "filter/rendition.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const struct dg_span layout = dg_span_make((const char *)bytes, len);
    struct dg_buf html, out;
    dg_buf_init(&html, 8 * len + 64);
    dg_buf_init(&out, (size_t)1 << 30);
    if (dg_pdf_read(layout, &html) == DG_OK) {
        require(dg_utf8_valid(dg_buf_span(&html), NULL));
        require(html.len == 0 || dg_span_starts(dg_buf_span(&html), DG_SPAN("<")));
        for (int i = 0; dg_rendition_words[i]; i++) {
            enum dg_rendition rendition;
            require(dg_rendition_of(dg_span_cstr(dg_rendition_words[i]), &rendition));
            dg_buf_clear(&out);
            require(dg_rendition_write(rendition, dg_buf_span(&html), DG_SPAN("ar"), &out, NULL) ==
                    DG_OK);
        }
    }
    dg_buf_deinit(&out);
    dg_buf_deinit(&html);
    return 0;
}
