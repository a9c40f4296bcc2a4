/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any pattern, repeated to a document of 128 KB: the time that reading takes grows with the length
 * and not with its square, which would mean minutes. The first byte picks the format; the pattern
 * has at most 64 bytes. tests/integration/19_linear.py counts the instructions of random patterns;
 * libFuzzer finds patterns by the code that they reach. */
#include "base/memory/utf8.h"
#include "markup/doc.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* Each input takes a thousand times as long as one of another target. */
int dg_fuzz_mutations;
int dg_fuzz_mutations = 20;

enum { SIZE = 128 * 1024, PATTERN_MAX = 64, LONGEST_S = 5 };

static double processor_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static char text[SIZE];
    static const enum dg_doc_format formats[] = {DG_DOC_HTML, DG_DOC_XML, DG_DOC_MARKDOWN};
    if (len < 2 || len > PATTERN_MAX + 1 ||
        !dg_utf8_valid(dg_span_make((const char *)bytes + 1, len - 1), NULL))
        return 0;
    const size_t n = SIZE / (len - 1) * (len - 1);
    for (size_t at = 0; at < n; at += len - 1)
        memcpy(text + at, bytes + 1, len - 1);
    struct dg_doc *doc = NULL;
    const double begin = processor_s();
    if (dg_doc_new(dg_span_make(text, n), formats[bytes[0] % 3], NULL, &doc, NULL) == DG_OK)
        dg_doc_free(doc);
    if (processor_s() - begin > LONGEST_S)
        abort();
    return 0;
}
