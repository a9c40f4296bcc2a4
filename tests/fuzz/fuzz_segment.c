/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as a document: the first two choose options, the rest is split; the segments must give
 * the bytes back, sentences must be valid UTF-8, and flattening must work. */
#include "base/memory/utf8.h"
#include "text/sentence/segment.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static size_t count_bytes(void *ctx, struct dg_span text)
{
    (void)ctx;
    return text.len;
}

static void check(struct dg_span text, const struct dg_segments *segments)
{
    size_t at = 0;
    for (size_t i = 0; i < segments->n; i++) {
        const struct dg_segment *item = &segments->items[i];
        require(item->at == at && item->len > 0);
        at += item->len;
        if (item->kind != DG_SEGMENT_SENTENCE)
            continue;
        struct dg_span sentence = dg_span_sub(text, item->at, item->len);
        require(dg_utf8_valid(sentence, NULL));
        struct dg_buf flat;
        dg_buf_init(&flat, sentence.len);
        require(dg_segment_flatten(sentence, &flat) == DG_OK);
        dg_buf_deinit(&flat);
    }
    require(at == text.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const char *const languages[] = {"en", "fr", "de", "es", "it", "pt", "ru",      "ko",
                                            "ja", "zh", "el", "cs", "",   "??", "sr-Latn", "hu"};
    static struct dg_segmenter *segmenter;
    if (!segmenter)
        require(dg_segmenter_new(&segmenter, NULL) == DG_OK);
    if (len < 2)
        return 0;
    struct dg_segment_opts opts = {
        .language = languages[bytes[0] & 15],
        .join_lines = bytes[0] & 16,
        .keep_lines_whole = bytes[0] & 32,
        .measure = bytes[0] & 64 ? count_bytes : NULL,
        .tokens_max = bytes[1],
    };
    struct dg_span text = dg_span_make((const char *)bytes + 2, len - 2);
    struct dg_segments segments;
    require(dg_segmenter_run(segmenter, text, &opts, &segments, NULL) == DG_OK);
    check(text, &segments);
    return 0;
}
