/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Builds the double array of charsmap.c from sorted keys: a node's children are placed at offset ^
 * byte, where the offset is the first at which all of these units are free. Only one node uses an
 * offset, so that a unit's byte alone tells whose child it is. Offsets past 2^21 are multiples of
 * 256, as the format requires.
 *
 * Keys of NFKC: each character that NFKC changes, and each canonical composition in its decomposed
 * spelling (e and U+0301); longer sequences of marks are rare and stay as they are. */
#include "vocabulary/charsmap_build.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>

/* ---- The double array ------------------------------------------------------------------------ */

enum { HAS_VALUE = 0x100, IS_FAR = 0x200, BLOCK = 256, NEAR_MAX = 1 << 21 };

struct trie {
    const struct dg_charsmap_rule *rules;
    const uint32_t *values; /* offset in the pool of each rule's replacement */
    uint32_t *units;
    uint8_t *taken;   /* units in use */
    uint8_t *is_base; /* offsets in use */
    size_t n, cap;
    size_t first; /* no unit before this one is free */
};

static enum dg_err reserve(struct trie *t, size_t n)
{
    n = (n + BLOCK - 1) / BLOCK * BLOCK;
    if (n > t->cap) {
        const size_t cap = n > t->cap * 2 ? n : t->cap * 2;
        uint32_t *units = dg_try_realloc(t->units, cap * sizeof *units);
        if (units)
            t->units = units;
        uint8_t *taken = dg_try_realloc(t->taken, cap);
        if (taken)
            t->taken = taken;
        uint8_t *is_base = dg_try_realloc(t->is_base, cap);
        if (is_base)
            t->is_base = is_base;
        if (!units || !taken || !is_base)
            return DG_ERR_NOMEM;
        t->cap = cap;
    }
    if (n > t->n) {
        memset(t->units + t->n, 0, (n - t->n) * sizeof *t->units);
        memset(t->taken + t->n, 0, n - t->n);
        memset(t->is_base + t->n, 0, n - t->n);
        t->n = n;
    }
    return DG_OK;
}

/* Finds an offset where the units offset ^ bytes[i] are free for all i; the array grows until there
 * is one. */
static enum dg_err find_offset(struct trie *t, const uint8_t *bytes, size_t n_bytes, size_t *offset)
{
    while (t->first < t->n && t->taken[t->first])
        t->first++;
    for (size_t unit = t->first;; unit++) {
        const size_t at = unit ^ bytes[0];
        enum dg_err err = reserve(t, (at | (BLOCK - 1)) + 1);
        if (err)
            return err;
        if (t->taken[unit] || t->is_base[at] || (at >= NEAR_MAX && at % BLOCK != 0))
            continue;
        size_t i = 1;
        while (i < n_bytes && !t->taken[at ^ bytes[i]])
            i++;
        if (i == n_bytes) {
            *offset = at;
            return DG_OK;
        }
    }
}

/* Lists the bytes that follow `depth` bytes in rules [first, end); 0 stands for a key that ends
 * there. */
static size_t list_bytes(const struct trie *t, size_t first, size_t end, size_t depth,
                         uint8_t bytes[256])
{
    size_t n = 0;
    for (size_t i = first; i < end; i++) {
        const struct dg_span key = t->rules[i].from;
        const uint8_t byte = depth < key.len ? (uint8_t)key.ptr[depth] : 0;
        if (n == 0 || bytes[n - 1] != byte)
            bytes[n++] = byte;
    }
    return n;
}

/* Places the children of the node in unit `unit`, whose keys are rules [first, end). Depth is
 * bounded by the longest key. */
static enum dg_err place(struct trie *t, size_t unit, size_t first, size_t end, size_t depth)
{
    uint8_t bytes[256];
    size_t offset = 0;
    const size_t n = list_bytes(t, first, end, depth, bytes);
    enum dg_err err = find_offset(t, bytes, n, &offset);
    if (err)
        return err;
    const size_t relative = offset ^ unit;
    t->is_base[offset] = 1;
    t->units[unit] |=
        relative < NEAR_MAX ? (uint32_t)relative << 10 : (uint32_t)(relative >> 8) << 10 | IS_FAR;
    for (size_t i = 0; i < n; i++) {
        t->taken[offset ^ bytes[i]] = 1;
        t->units[offset ^ bytes[i]] = bytes[i];
    }
    for (size_t i = 0; i < n && !err; i++) {
        size_t next = first;
        while (next < end &&
               (depth < t->rules[next].from.len ? (uint8_t)t->rules[next].from.ptr[depth] : 0) ==
                   bytes[i])
            next++;
        if (bytes[i] == 0) {
            t->units[unit] |= HAS_VALUE;
            t->units[offset] = UINT32_C(0x80000000) | t->values[first];
        } else {
            err = place(t, offset ^ bytes[i], first, next, depth + 1);
        }
        first = next;
    }
    return err;
}

/* ---- The blob -------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const struct dg_span x = ((const struct dg_charsmap_rule *)a)->from,
                         y = ((const struct dg_charsmap_rule *)b)->from;
    const int order = memcmp(x.ptr, y.ptr, x.len < y.len ? x.len : y.len);
    return order ? order : (x.len > y.len) - (x.len < y.len);
}

static enum dg_err put_u32(struct dg_buf *out, uint32_t x)
{
    const char bytes[4] = {(char)x, (char)(x >> 8), (char)(x >> 16), (char)(x >> 24)};
    return dg_buf_append(out, bytes, sizeof bytes);
}

enum dg_err dg_charsmap_build(struct dg_charsmap_rule *rules, size_t n, struct dg_buf *blob)
{
    struct trie t = {.rules = rules, .first = 1};
    struct dg_buf pool;
    uint32_t *values = dg_try_calloc(n ? n : 1, sizeof *values);
    enum dg_err err = values ? DG_OK : DG_ERR_NOMEM;
    dg_buf_init(&pool, 1 << 30);
    qsort(rules, n, sizeof *rules, by_key);
    for (size_t i = 0; i < n && !err; i++) {
        values[i] = (uint32_t)pool.len;
        err = dg_buf_append_span(&pool, rules[i].to);
        if (!err)
            err = dg_buf_append_byte(&pool, '\0');
    }
    t.values = values;
    if (!err)
        err = reserve(&t, BLOCK);
    if (!err) {
        t.taken[0] = 1; /* the root */
        t.is_base[0] = 1;
        err = n ? place(&t, 0, 0, n, 0) : DG_OK;
    }
    if (!err)
        err = put_u32(blob, (uint32_t)(t.n * 4));
    for (size_t i = 0; i < t.n && !err; i++)
        err = put_u32(blob, t.units[i]);
    if (!err)
        err = dg_buf_append_span(blob, dg_buf_span(&pool));
    dg_free(t.units);
    dg_free(t.taken);
    dg_free(t.is_base);
    dg_free(values);
    dg_buf_deinit(&pool);
    return err;
}

/* ---- NFKC ------------------------------------------------------------------------------------ */

enum { TEXT_UNITS = 64, TEXT_BYTES = 256 };

struct rules {
    struct dg_charsmap_rule *list;
    size_t n, cap;
    /* all keys and replacements; spans are made when the buffer no longer moves */
    struct dg_buf text;
    size_t (*at)[4]; /* [cap] offset and length of key and replacement */
};

static enum dg_err add(struct rules *rules, struct dg_span from, struct dg_span to)
{
    if (DG_GROW(rules->at, rules->n, rules->cap, 4096))
        return DG_ERR_NOMEM;
    size_t *at = rules->at[rules->n++];
    at[0] = rules->text.len;
    at[1] = from.len;
    at[2] = rules->text.len + from.len;
    at[3] = to.len;
    enum dg_err err = dg_buf_append_span(&rules->text, from);
    return err ? err : dg_buf_append_span(&rules->text, to);
}

/* Converts UTF-16 to UTF-8; returns 0 when there is no room. */
static size_t utf8_of(const UChar *text, int32_t n, char out[TEXT_BYTES])
{
    size_t len = 0;
    for (int32_t i = 0; i < n;) {
        UChar32 cp;
        U16_NEXT(text, i, n, cp);
        if (len + DG_UTF8_MAX_LEN > TEXT_BYTES)
            return 0;
        len += dg_utf8_encode((uint32_t)cp, out + len);
    }
    return len;
}

/* Applies the rules of translation that are added to NFKC: true when `cp` has one; its result is
 * written to `to`. */
static bool own_rule(UChar32 cp, struct dg_span *to)
{
    if (cp == '\t' || cp == '\n' || cp == '\r' || u_isUWhiteSpace(cp) || cp == 0xfeff ||
        cp == 0x200b)
        *to = cp == 0xfeff || cp == 0x200b ? DG_SPAN("") : DG_SPAN(" ");
    else if (u_charType(cp) == U_CONTROL_CHAR || cp == 0xad || (cp >= 0x200e && cp <= 0x200f))
        *to = DG_SPAN("");
    else
        return false;
    return true;
}

static enum dg_err add_character(struct rules *rules, const UNormalizer2 *nfkc,
                                 const UNormalizer2 *nfd, UChar32 cp)
{
    UChar unit[2], text[TEXT_UNITS];
    char from[TEXT_BYTES], to[TEXT_BYTES], apart[TEXT_BYTES];
    int32_t n_unit = 0;
    UErrorCode code = U_ZERO_ERROR;
    struct dg_span own;
    U16_APPEND_UNSAFE(unit, n_unit, cp);
    const size_t from_len = utf8_of(unit, n_unit, from);
    if (own_rule(cp, &own))
        return cp == ' ' || cp == 0 ? DG_OK : add(rules, dg_span_make(from, from_len), own);
    int32_t n = unorm2_normalize(nfkc, unit, n_unit, text, TEXT_UNITS, &code);
    const size_t to_len = U_SUCCESS(code) ? utf8_of(text, n, to) : 0;
    if (to_len == 0)
        return DG_OK;
    enum dg_err err = DG_OK;
    if (to_len != from_len || memcmp(from, to, to_len) != 0)
        err = add(rules, dg_span_make(from, from_len), dg_span_make(to, to_len));
    n = unorm2_normalize(nfd, unit, n_unit, text, TEXT_UNITS, &code);
    const size_t apart_len = U_SUCCESS(code) && n > 1 ? utf8_of(text, n, apart) : 0;
    /* Whether NFKC itself would put this composition together. */
    const bool is_composed =
        apart_len > from_len || (apart_len && memcmp(apart, from, apart_len) != 0);
    if (!err && is_composed && to_len == from_len && memcmp(from, to, to_len) == 0 &&
        !(cp >= 0xac00 && cp <= 0xd7a3))
        err = add(rules, dg_span_make(apart, apart_len), dg_span_make(to, to_len));
    return err;
}

/* Builds the table from all rules that were added; frees the rules. */
static enum dg_err finish(struct rules *rules, enum dg_err err, struct dg_buf *blob)
{
    if (!err && !(rules->list = dg_try_calloc(rules->n ? rules->n : 1, sizeof *rules->list)))
        err = DG_ERR_NOMEM;
    for (size_t i = 0; i < rules->n && !err; i++)
        rules->list[i] = (struct dg_charsmap_rule){
            dg_span_make(rules->text.ptr + rules->at[i][0], rules->at[i][1]),
            dg_span_make(rules->text.ptr + rules->at[i][2], rules->at[i][3])};
    if (!err)
        err = dg_charsmap_build(rules->list, rules->n, blob);
    dg_free(rules->list);
    dg_free(rules->at);
    dg_buf_deinit(&rules->text);
    return err;
}

enum dg_err dg_charsmap_build_nfkc(struct dg_buf *blob, struct dg_error *error)
{
    UErrorCode code = U_ZERO_ERROR;
    const UNormalizer2 *nfkc = unorm2_getNFKCInstance(&code), *nfd = unorm2_getNFDInstance(&code);
    struct rules rules = {0};
    enum dg_err err = DG_OK;
    if (U_FAILURE(code))
        return dg_error_set(error, DG_ERR_INTERNAL, "ICU has no normalisation: %s",
                            u_errorName(code));
    dg_buf_init(&rules.text, 64 << 20);
    for (UChar32 cp = 0; cp <= 0x10ffff && !err; cp++)
        if (u_isdefined(cp) && !U_IS_SURROGATE(cp))
            err = add_character(&rules, nfkc, nfd, cp);
    return finish(&rules, err, blob);
}

/* ---- ASCII ----------------------------------------------------------------------------------- */

/* Changes one character: it is lower-cased and decomposed; marks are dropped, letters a to z stay,
 * and anything else becomes a space. */
static size_t ascii_of(const UNormalizer2 *nfd, UChar32 cp, char out[TEXT_BYTES])
{
    UChar text[TEXT_UNITS], unit[2];
    UErrorCode code = U_ZERO_ERROR;
    int32_t n_unit = 0;
    size_t len = 0;
    if (cp == '.' || cp == '!' || cp == '?') {
        out[0] = ' ';
        out[1] = (char)cp;
        return 2;
    }
    U16_APPEND_UNSAFE(unit, n_unit, u_tolower(cp));
    const int32_t n = unorm2_normalize(nfd, unit, n_unit, text, TEXT_UNITS, &code);
    for (int32_t i = 0; i < n && U_SUCCESS(code) && len < TEXT_BYTES;) {
        UChar32 part;
        U16_NEXT(text, i, n, part);
        if (u_charType(part) != U_NON_SPACING_MARK)
            out[len++] = part >= 'a' && part <= 'z' ? (char)part : ' ';
    }
    return len;
}

enum dg_err dg_charsmap_build_ascii(struct dg_buf *blob, struct dg_error *error)
{
    /* Latin with its signs, marks, punctuation, symbols, full-width forms. */
    static const UChar32 blocks[][2] = {{1, 0x24f},       {0x300, 0x36f},   {0x1e00, 0x1eff},
                                        {0x2000, 0x23ff}, {0x25a0, 0x27bf}, {0x3000, 0x303f},
                                        {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xff00, 0xff60}};
    UErrorCode code = U_ZERO_ERROR;
    const UNormalizer2 *nfd = unorm2_getNFDInstance(&code);
    struct rules rules = {0};
    enum dg_err err = DG_OK;
    if (U_FAILURE(code))
        return dg_error_set(error, DG_ERR_INTERNAL, "ICU has no normalisation: %s",
                            u_errorName(code));
    dg_buf_init(&rules.text, 1 << 20);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        for (UChar32 cp = blocks[i][0]; cp <= blocks[i][1] && !err; cp++) {
            char from[TEXT_BYTES], to[TEXT_BYTES];
            const size_t from_len = dg_utf8_encode((uint32_t)cp, from),
                         to_len = ascii_of(nfd, cp, to);
            if (to_len != 1 || from_len != 1 || *from != *to)
                err = add(&rules, dg_span_make(from, from_len), dg_span_make(to, to_len));
        }
    return finish(&rules, err, blob);
}
