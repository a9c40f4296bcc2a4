/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* ICU inverts the bidirectional algorithm; the characters, and so the bytes, remain the same. */
#include "filter/bidi.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"

#include <stdint.h>
#include <string.h>
#include <unicode/ubidi.h>
#include <unicode/uchar.h>
#include <unicode/ustring.h>

enum { LINE_MAX_BYTES = 1 << 20 /* longer ones stay */ };

static void count_letters(struct dg_span line, size_t *n_left, size_t *n_right)
{
    size_t len;
    uint32_t cp;
    *n_left = *n_right = 0;
    for (size_t i = 0; i < line.len; i += len) {
        len = dg_utf8_decode(line, i, &cp);
        const UCharDirection direction = len ? u_charDirection((UChar32)cp) : U_OTHER_NEUTRAL;
        *n_left += direction == U_LEFT_TO_RIGHT;
        *n_right += direction == U_RIGHT_TO_LEFT || direction == U_RIGHT_TO_LEFT_ARABIC;
        len = len ? len : 1;
    }
}

/* `units` and `ordered` have room for `len` and one more. */
static bool invert(UBiDi *bidi, bool is_rtl, UChar *units, UChar *ordered, char *line, size_t len)
{
    UErrorCode failure = U_ZERO_ERROR;
    int32_t n = 0, n_bytes = 0;
    u_strFromUTF8(units, (int32_t)len + 1, &n, line, (int32_t)len, &failure);
    ubidi_setReorderingMode(bidi, UBIDI_REORDER_INVERSE_LIKE_DIRECT);
    ubidi_setPara(bidi, units, n, is_rtl ? 1 : 0, NULL, &failure);
    n = ubidi_writeReordered(bidi, ordered, (int32_t)len + 1, 0, &failure);
    char *bytes = U_SUCCESS(failure) ? dg_try_malloc(len + 1) : NULL;
    if (!bytes)
        return failure != U_MEMORY_ALLOCATION_ERROR && U_FAILURE(failure);
    u_strToUTF8(bytes, (int32_t)len + 1, &n_bytes, ordered, n, &failure);
    if (U_SUCCESS(failure) && n_bytes == (int32_t)len)
        memcpy(line, bytes, len);
    dg_free(bytes);
    return true;
}

enum dg_err dg_bidi_reorder(char *line, size_t len, bool *is_rtl)
{
    size_t n_left, n_right;
    count_letters(dg_span_make(line, len), &n_left, &n_right);
    *is_rtl = n_right > n_left;
    if (n_right == 0 || len > LINE_MAX_BYTES)
        return DG_OK;
    UBiDi *bidi = ubidi_open();
    UChar *units = dg_try_calloc(2 * (len + 1), sizeof *units);
    const bool is_done = bidi && units && invert(bidi, *is_rtl, units, units + len + 1, line, len);
    dg_free(units);
    if (bidi)
        ubidi_close(bidi);
    return is_done ? DG_OK : DG_ERR_NOMEM;
}
