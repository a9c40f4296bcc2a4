/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Stop texts are looked for byte by byte: texts and stop texts are short, and callers continue
 * where they left off. */
#include "engine/models/stop_texts.h"

size_t dg_stop_texts_find(const struct dg_span *stops, size_t n, struct dg_span text, size_t from)
{
    for (size_t at = from; at < text.len; at++)
        for (size_t i = 0; i < n; i++)
            if (dg_span_eq(dg_span_sub(text, at, stops[i].len), stops[i]))
                return at;
    return SIZE_MAX;
}

size_t dg_stop_texts_doubtful(const struct dg_span *stops, size_t n, struct dg_span text)
{
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const struct dg_span stop = stops[i];
        for (size_t len = stop.len - 1 < text.len ? stop.len - 1 : text.len; len > most; len--)
            if (memcmp(text.ptr + text.len - len, stop.ptr, len) == 0)
                most = len;
    }
    return most;
}
