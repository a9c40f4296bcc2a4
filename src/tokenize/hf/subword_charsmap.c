/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A tokenizer.json's copy of a SentencePiece model's table of replacements (charsmap.h), in base64,
 * applied as Hugging Face's library does it, which differs from SentencePiece. The text is taken by
 * extended grapheme clusters. A cluster of less than six bytes is replaced as a whole by the
 * replacement of the shortest key that it begins with; if there is none, or the cluster is longer,
 * each code point is replaced on its own. */
#include "base/memory/utf8.h"
#include "tokenize/hf/subword_int.h"

#include <unicode/uchar.h>

enum { CLUSTER_MAX = 5 }; /* bytes of a cluster that is replaced as a whole */

/* ---- Base64 ---------------------------------------------------------------------------------- */

static int digit_of(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

/* Decodes base64 strictly: whole groups of four, '=' only at the end, no bits left over. On failure
 * false, with the place in *bad_at. */
static bool decode(struct dg_span text, uint8_t *out, size_t *len, size_t *bad_at)
{
    const size_t n_pad = text.len && text.ptr[text.len - 1] == '='
                             ? 1u + (text.len > 1 && text.ptr[text.len - 2] == '=')
                             : 0;
    uint32_t bits = 0;
    size_t n = 0;
    *bad_at = text.len;
    if (text.len % 4 != 0)
        return false;
    for (size_t i = 0; i < text.len - n_pad; i++) {
        const int digit = digit_of(text.ptr[i]);
        if (digit < 0) {
            *bad_at = i;
            return false;
        }
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 > 0)
            out[n++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    *len = n;
    const uint32_t left = n_pad == 2 ? bits & 0xF : n_pad == 1 ? bits & 0x3 : 0;
    return left == 0;
}

enum dg_err dg_subword_read_charsmap(struct dg_subword *subword, const struct dg_json *step,
                                     struct dg_error *error, struct dg_charsmap *map)
{
    struct dg_span text;
    size_t len = 0, bad_at;
    enum dg_err err =
        dg_json_get_string(step, "precompiled_charsmap", DG_JSON_REQUIRED, error, &text);
    if (err)
        return err;
    uint8_t *blob = dg_arena_alloc(&subword->arena, text.len / 4 * 3 + 1);
    if (!blob)
        return DG_ERR_NOMEM;
    if (!decode(text, blob, &len, &bad_at))
        return dg_error_set(error, DG_ERR_FORMAT,
                            "field 'precompiled_charsmap' is not base64 at byte %zu of %zu", bad_at,
                            text.len);
    err = dg_charsmap_init(map, blob, len, error);
    if (!err && map->pool_len &&
        !dg_utf8_valid(dg_span_make((const char *)map->pool, map->pool_len), &bad_at))
        err = dg_error_set(
            error, DG_ERR_UTF8,
            "field 'precompiled_charsmap': its replacements are not valid UTF-8 at byte %zu",
            bad_at);
    return err;
}

/* ---- Clusters -------------------------------------------------------------------------------- */

struct seen {
    int class; /* the Unicode property Grapheme_Cluster_Break */
    bool is_picture;
};

static struct seen look(uint32_t cp)
{
    if (cp >= 0x20 && cp < 0x7F)
        return (struct seen){U_GCB_OTHER, false};
    return (struct seen){u_getIntPropertyValue((UChar32)cp, UCHAR_GRAPHEME_CLUSTER_BREAK),
                         u_hasBinaryProperty((UChar32)cp, UCHAR_EXTENDED_PICTOGRAPHIC)};
}

static bool is_end(int class)
{
    return class == U_GCB_CONTROL || class == U_GCB_CR || class == U_GCB_LF;
}

/* True when `next` belongs to the cluster of the character before it by the rules of UAX #29 (GB3
 * to GB13). `joins`: it follows a picture, marks and a joiner; `is_odd`: it follows an odd number
 * of regional indicators. GB9c is left out, because both its clusters and the parts that it joins
 * are too long to be replaced as a whole. */
static bool belongs(struct seen before, struct seen next, bool joins, bool is_odd)
{
    const int a = before.class, b = next.class;
    if (a == U_GCB_CR && b == U_GCB_LF)
        return true;
    if (is_end(a) || is_end(b))
        return false;
    if (a == U_GCB_L && (b == U_GCB_L || b == U_GCB_V || b == U_GCB_LV || b == U_GCB_LVT))
        return true;
    if ((a == U_GCB_LV || a == U_GCB_V) && (b == U_GCB_V || b == U_GCB_T))
        return true;
    if ((a == U_GCB_LVT || a == U_GCB_T) && b == U_GCB_T)
        return true;
    if (b == U_GCB_EXTEND || b == U_GCB_ZWJ || b == U_GCB_SPACING_MARK || a == U_GCB_PREPEND)
        return true;
    return (joins && next.is_picture) ||
           (is_odd && a == U_GCB_REGIONAL_INDICATOR && b == U_GCB_REGIONAL_INDICATOR);
}

/* The end of the cluster that begins at `at`. */
static size_t cluster_end(struct dg_span text, size_t at)
{
    uint32_t cp = 0;
    size_t end = at + dg_utf8_decode(text, at, &cp), n_regional;
    struct seen before = look(cp);
    bool is_picture = before.is_picture; /* a picture, perhaps with marks after it */
    n_regional = before.class == U_GCB_REGIONAL_INDICATOR;
    for (size_t len; (len = dg_utf8_decode(text, end, &cp)) > 0; end += len) {
        const struct seen next = look(cp);
        if (!belongs(before, next, is_picture && before.class == U_GCB_ZWJ, n_regional % 2 == 1))
            break;
        if (next.is_picture || (next.class != U_GCB_EXTEND && next.class != U_GCB_ZWJ))
            is_picture = next.is_picture;
        n_regional += next.class == U_GCB_REGIONAL_INDICATOR;
        before = next;
    }
    return end;
}

/* ---- Changing -------------------------------------------------------------------------------- */

/* Finds the replacement of [begin, end); false: it stays. A replacement that begins inside a
 * character, as in a forged file, does not count. */
static bool find(const struct dg_charsmap *map, struct dg_span text, size_t begin, size_t end,
                 struct dg_span *to)
{
    const struct dg_charsmap_hit hit = dg_charsmap_find_first(
        map, (const uint8_t *)text.ptr + begin, (const uint8_t *)text.ptr + end);
    *to = hit.len && (*hit.ptr & 0xC0) == 0x80 ? (struct dg_span){.ptr = "", .len = 0}
                                               : dg_span_make((const char *)hit.ptr, hit.len);
    return hit.key_len > 0;
}

static enum dg_err put_cluster(struct dg_subword_work *work, const struct dg_charsmap *map,
                               size_t begin, size_t end)
{
    const struct dg_span text = dg_buf_span(&work->now.text);
    enum dg_err err = DG_OK;
    struct dg_span to;
    if (end - begin <= CLUSTER_MAX && find(map, text, begin, end, &to))
        return dg_subword_change_put(work, to, begin, end);
    for (size_t at = begin, next; at < end && !err; at = next) {
        uint32_t cp;
        next = at + dg_utf8_decode(text, at, &cp);
        err = find(map, text, at, next, &to) ? dg_subword_change_put(work, to, at, next)
                                             : dg_subword_change_keep(work, at, next);
    }
    return err;
}

enum dg_err dg_subword_charsmap_change(struct dg_subword_work *work, const struct dg_charsmap *map)
{
    const struct dg_span text = dg_buf_span(&work->now.text);
    enum dg_err err = DG_OK;
    for (size_t at = 0, end; at < text.len && !err; at = end) {
        end = cluster_end(text, at);
        err = put_cluster(work, map, at, end);
    }
    return err;
}
