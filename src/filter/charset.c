/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* ICU converts text and guesses encodings. In short texts of Latin script its guess is often wrong,
 * so Western European is preferred there. Nothing is guessed for valid UTF-8. */
#include "filter/charset.h"

#include <stdio.h>
#include <string.h>
#include <unicode/ucnv.h>
#include <unicode/ucsdet.h>

enum {
    PROBE_BYTES = 1 << 16,
    CONFIDENCE_MIN = 11,
    CONFIDENCE_LATIN = 60,
    CONFIDENCE_MORE = 25,
    STEP = 4096
};

static const char western[] = "windows-1252";

/* ---- Detection ------------------------------------------------------------------------------- */

static const char *marked(struct dg_span bytes)
{
    static const struct {
        struct dg_span mark;
        const char *name;
    } rows[] = {
        {{"\xFF\xFE\0\0", 4}, "UTF-32LE"},
        {{"\0\0\xFE\xFF", 4}, "UTF-32BE"},
        {{"\xFF\xFE", 2}, "UTF-16LE"},
        {{"\xFE\xFF", 2}, "UTF-16BE"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (dg_span_starts(bytes, rows[i].mark))
            return rows[i].name;
    return NULL;
}

/* UTF-16 without a byte order mark: most of the text is ASCII. */
static const char *wide(struct dg_span bytes)
{
    size_t n_even = 0, n_odd = 0;
    for (size_t i = 0; i < bytes.len && i < PROBE_BYTES; i++) {
        n_even += bytes.ptr[i] == '\0' && i % 2 == 0;
        n_odd += bytes.ptr[i] == '\0' && i % 2 == 1;
    }
    const size_t n = (bytes.len < PROBE_BYTES ? bytes.len : PROBE_BYTES) / 2;
    return bytes.len % 2                      ? NULL
           : 4 * n_odd > 3 * n && n_even == 0 ? "UTF-16LE"
           : 4 * n_even > 3 * n && n_odd == 0 ? "UTF-16BE"
                                              : NULL;
}

/* Whether most letters are those of ASCII. */
static bool is_latin(struct dg_span bytes)
{
    size_t n_ascii = 0, n_others = 0;
    for (size_t i = 0; i < bytes.len && i < PROBE_BYTES; i++) {
        const char c = bytes.ptr[i];
        n_ascii += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        n_others += (unsigned char)c >= 0x80;
    }
    return 2 * n_others < n_ascii;
}

/* Sets `name` to ICU's guess. Latin 1 is read as the Windows encoding, which has more characters,
 * and so are bytes for which no other guess is clearly more probable, because a short text gives
 * little evidence. */
static void guess(struct dg_span bytes, char name[DG_CHARSET_NAME])
{
    UErrorCode status = U_ZERO_ERROR;
    UCharsetDetector *detector = ucsdet_open(&status);
    int32_t n = 0, best = 0, as_western = 0;
    snprintf(name, DG_CHARSET_NAME, "%s", western);
    if (U_FAILURE(status))
        return;
    ucsdet_setText(detector, bytes.ptr,
                   (int32_t)(bytes.len < PROBE_BYTES ? bytes.len : PROBE_BYTES), &status);
    const UCharsetMatch **matches = ucsdet_detectAll(detector, &n, &status);
    for (int32_t i = 0; U_SUCCESS(status) && i < n; i++) {
        const char *found = ucsdet_getName(matches[i], &status);
        const int32_t confidence = ucsdet_getConfidence(matches[i], &status);
        if (U_FAILURE(status) || !found || strncmp(found, "UTF", 3) == 0 ||
            strncmp(found, "IBM", 3) == 0)
            continue;
        if (strcmp(found, "ISO-8859-1") == 0 || strcmp(found, western) == 0) {
            as_western = confidence > as_western ? confidence : as_western;
        } else if (confidence > best) {
            best = confidence;
            snprintf(name, DG_CHARSET_NAME, "%s", found);
        }
    }
    const bool is_likely = is_latin(bytes)
                               ? best >= CONFIDENCE_LATIN && best >= as_western + CONFIDENCE_MORE
                               : best >= CONFIDENCE_MIN;
    if (!is_likely)
        snprintf(name, DG_CHARSET_NAME, "%s", western);
    ucsdet_close(detector);
}

bool dg_charset_detect(struct dg_span bytes, char name[DG_CHARSET_NAME])
{
    const char *found = marked(bytes);
    if (!found)
        found = wide(bytes);
    if (found) {
        snprintf(name, DG_CHARSET_NAME, "%s", found);
        return true;
    }
    if (bytes.len == 0 || memchr(bytes.ptr, '\0', bytes.len))
        return false;
    guess(bytes, name);
    return true;
}

/* ---- Conversion ------------------------------------------------------------------------------ */

static enum dg_err failed(UErrorCode status)
{
    return status == U_MEMORY_ALLOCATION_ERROR ? DG_ERR_NOMEM : DG_ERR_UNSUPPORTED;
}

/* Converts all of `text`, by way of a window of characters. */
static enum dg_err convert(UConverter *to, UConverter *from, struct dg_span text,
                           struct dg_buf *out, UErrorCode *status)
{
    UChar pivot[STEP], *pivot_source = pivot, *pivot_target = pivot;
    const char *source = text.len ? text.ptr : "", *source_end = source + text.len;
    bool is_first = true;
    enum dg_err err = DG_OK;
    do {
        err = dg_buf_reserve(out, STEP);
        if (err)
            return err;
        char *target = out->ptr + out->len, *target_end = target + STEP;
        *status = U_ZERO_ERROR;
        ucnv_convertEx(to, from, &target, target_end, &source, source_end, pivot, &pivot_source,
                       &pivot_target, pivot + STEP, is_first, true, status);
        out->len = (size_t)(target - out->ptr);
        is_first = false;
    } while (*status == U_BUFFER_OVERFLOW_ERROR);
    return U_FAILURE(*status) ? failed(*status) : DG_OK;
}

/* Names come from files: refuses one that ICU could take for an option or a path. */
static bool is_name(const char *name)
{
    for (const char *c = name; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
              *c == '-' || *c == '_' || (*c == ':' && c > name)))
            return false;
    return *name != '\0';
}

/* Converts to or from an encoding; `on_missing` handles the characters that it lacks. */
static enum dg_err between(const char *to_name, const char *from_name, struct dg_span text,
                           UConverterFromUCallback on_missing, const char *how, struct dg_buf *out,
                           UErrorCode *status)
{
    *status = U_ZERO_ERROR;
    if (!is_name(to_name) || !is_name(from_name))
        return DG_ERR_UNSUPPORTED;
    UConverter *to = ucnv_open(to_name, status);
    UConverter *from = ucnv_open(from_name, status);
    if (U_SUCCESS(*status))
        ucnv_setFromUCallBack(to, on_missing, how, NULL, NULL, status);
    enum dg_err err = U_FAILURE(*status) ? failed(*status) : convert(to, from, text, out, status);
    if (to)
        ucnv_close(to);
    if (from)
        ucnv_close(from);
    return err;
}

enum dg_err dg_charset_decode(const char *name, struct dg_span bytes, struct dg_buf *utf8,
                              bool *is_exact)
{
    UErrorCode status;
    struct dg_buf again;
    const size_t from = utf8->len;
    bool fits = false;
    enum dg_err err =
        between("UTF-8", name, bytes, UCNV_FROM_U_CALLBACK_SUBSTITUTE, NULL, utf8, &status);
    *is_exact = false;
    if (err)
        return err;
    const struct dg_span text = dg_span_sub(dg_buf_span(utf8), from, utf8->len - from);
    dg_buf_init(&again, bytes.len + STEP + 1);
    err = dg_charset_encode(name, text, false, &again, &fits);
    *is_exact = !err && fits && dg_span_eq(dg_buf_span(&again), bytes);
    dg_buf_deinit(&again);
    return err == DG_ERR_LIMIT ? DG_OK : err;
}

enum dg_err dg_charset_encode(const char *name, struct dg_span utf8, bool has_references,
                              struct dg_buf *out, bool *fits)
{
    UErrorCode status;
    const size_t from = out->len;
    enum dg_err err =
        between(name, "UTF-8", utf8,
                has_references ? UCNV_FROM_U_CALLBACK_ESCAPE : UCNV_FROM_U_CALLBACK_STOP,
                has_references ? UCNV_ESCAPE_XML_DEC : NULL, out, &status);
    *fits = !err;
    if (err == DG_ERR_UNSUPPORTED &&
        (status == U_INVALID_CHAR_FOUND || status == U_ILLEGAL_CHAR_FOUND)) {
        dg_buf_truncate(out, from);
        return DG_OK;
    }
    return err;
}
