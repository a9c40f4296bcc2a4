/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Changes a text before it is cut: each step reads one stretch and writes another. Every byte keeps
 * the range of the original that it comes from, so that tokens have offsets; if characters were
 * normalised together, each resulting byte comes from all of them.
 *
 * BERT's steps follow the original: control characters are all of Unicode's category C, and the
 * Chinese blocks are the eight that it lists. Letters are lower-cased one by one, without regard to
 * context (there is no final sigma). */
#include "base/memory/utf8.h"
#include "tokenize/hf/subword_int.h"

#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "tokenize/spm/utf8_char.h"

#include <string.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>

/* A change may make a text at most this many times as long, plus this many bytes. No character
 * grows to more than eleven times its bytes, and the replacements of a hostile file must have a
 * limit. */
enum { GROWTH_MAX = 16, GROWTH_MORE = 1 << 16 };

/* ---- Stretches ------------------------------------------------------------------------------- */

void dg_subword_stretch_init(struct dg_subword_stretch *stretch)
{
    *stretch = (struct dg_subword_stretch){.cap = 0};
    dg_buf_init(&stretch->text, DG_SUBWORD_TEXT_MAX);
}

void dg_subword_stretch_deinit(struct dg_subword_stretch *stretch)
{
    dg_buf_deinit(&stretch->text);
    dg_free(stretch->from);
    dg_free(stretch->to);
}

/* Makes room for `len` more bytes. */
static enum dg_err reserve(struct dg_subword_stretch *s, size_t len)
{
    size_t cap = s->cap;
    enum dg_err err = DG_RESERVE(s->from, s->text.len + len, cap, 64);
    return err ? err : DG_RESERVE(s->to, s->text.len + len, s->cap, 64);
}

/* Appends bytes that all come from [from, to) of the text. */
static enum dg_err put_bytes(struct dg_subword_stretch *s, const char *bytes, size_t len,
                             size_t from, size_t to)
{
    const size_t at = s->text.len;
    enum dg_err err = reserve(s, len);
    if (!err)
        err = dg_buf_append(&s->text, bytes, len);
    for (size_t i = at; !err && i < at + len; i++) {
        s->from[i] = (uint32_t)from;
        s->to[i] = (uint32_t)to;
    }
    return err;
}

static enum dg_err put_part(struct dg_subword_stretch *to, const struct dg_subword_stretch *from,
                            size_t begin, size_t end)
{
    const size_t at = to->text.len, len = end - begin;
    enum dg_err err = reserve(to, len);
    if (!err)
        err = dg_buf_append(&to->text, from->text.ptr + begin, len);
    if (err || len == 0)
        return err;
    memcpy(to->from + at, from->from + begin, len * sizeof *to->from);
    memcpy(to->to + at, from->to + begin, len * sizeof *to->to);
    return DG_OK;
}

/* ---- Changes --------------------------------------------------------------------------------- */

static enum dg_err prepend(struct dg_subword_work *work, struct dg_span what)
{
    const size_t at = work->now.from[0];
    enum dg_err err = put_bytes(&work->next, what.ptr, what.len, at, at);
    return err ? err : put_part(&work->next, &work->now, 0, work->now.text.len);
}

static enum dg_err replace(struct dg_subword_work *work, struct dg_span from, struct dg_span to)
{
    const struct dg_span text = dg_buf_span(&work->now.text);
    enum dg_err err = DG_OK;
    size_t done = 0;
    for (size_t at = 0; at + from.len <= text.len && !err;) {
        if (text.ptr[at] != from.ptr[0] || memcmp(text.ptr + at, from.ptr, from.len) != 0) {
            at++;
            continue;
        }
        err = put_part(&work->next, &work->now, done, at);
        if (!err)
            err = put_bytes(&work->next, to.ptr, to.len, work->now.from[at],
                            work->now.to[at + from.len - 1]);
        done = at += from.len;
    }
    return err ? err : put_part(&work->next, &work->now, done, text.len);
}

static const UNormalizer2 *normaliser_of(enum dg_subword_change kind, UErrorCode *status)
{
    switch (kind) {
    case DG_SUBWORD_NFC:
        return unorm2_getNFCInstance(status);
    case DG_SUBWORD_NFD:
        return unorm2_getNFDInstance(status);
    case DG_SUBWORD_NFKC:
        return unorm2_getNFKCInstance(status);
    default:
        return unorm2_getNFKDInstance(status);
    }
}

enum { UNIT_MAX = 256 }; /* UTF-16 units of characters that are normalised together */

/* Normalises [begin, end), characters that may influence each other; if there are too many of them
 * (endless marks), in parts. */
static enum dg_err normalise_part(struct dg_subword_work *work, const UNormalizer2 *normaliser,
                                  size_t begin, size_t end)
{
    const struct dg_span text = dg_buf_span(&work->now.text);
    UChar units[UNIT_MAX], made[UNIT_MAX * 18]; /* no character becomes more than 18 */
    enum dg_err err = DG_OK;
    while (begin < end && !err) {
        int32_t n = 0;
        size_t at = begin;
        for (size_t len; at < end && n + 2 <= UNIT_MAX; at += len) {
            uint32_t cp = 0;
            len = dg_utf8_decode(text, at, &cp);
            if (cp >= 0x10000)
                units[n++] = (UChar)(0xD7C0 + (cp >> 10));
            units[n++] = (UChar)(cp >= 0x10000 ? 0xDC00 | (cp & 0x3FF) : cp);
        }
        UErrorCode status = U_ZERO_ERROR;
        const int32_t n_made = unorm2_normalize(normaliser, units, n, made, UNIT_MAX * 18, &status);
        if (U_FAILURE(status))
            return DG_ERR_INTERNAL;
        for (int32_t i = 0; i < n_made && !err;) {
            uint32_t cp = made[i++];
            if ((cp & 0xFC00) == 0xD800 && i < n_made)
                cp = (cp << 10) + made[i++] - 0x35FDC00u;
            char bytes[DG_UTF8_MAX_LEN];
            const size_t len = dg_utf8_encode(cp, bytes);
            err = put_bytes(&work->next, bytes, len, work->now.from[begin], work->now.to[at - 1]);
        }
        begin = at;
    }
    return err;
}

static enum dg_err normalise(struct dg_subword_work *work, enum dg_subword_change kind)
{
    UErrorCode status = U_ZERO_ERROR;
    const UNormalizer2 *normaliser = normaliser_of(kind, &status);
    const struct dg_span text = dg_buf_span(&work->now.text);
    enum dg_err err = U_FAILURE(status) ? DG_ERR_INTERNAL : DG_OK;
    for (size_t begin = 0, end; begin < text.len && !err; begin = end) {
        uint32_t cp;
        end = begin + dg_utf8_decode(text, begin, &cp);
        for (size_t len; (len = dg_utf8_decode(text, end, &cp)) &&
                         !unorm2_hasBoundaryBefore(normaliser, (UChar32)cp);)
            end += len;
        err = end == begin + 1 ? put_part(&work->next, &work->now, begin, end)
                               : normalise_part(work, normaliser, begin, end);
    }
    return err;
}

/* ---- BERT's changes -------------------------------------------------------------------------- */

static bool is_han(uint32_t cp)
{
    static const uint32_t blocks[][2] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                         {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F},
                                         {0x2B820, 0x2CEAF}, {0x2F800, 0x2FA1F}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (cp >= blocks[i][0] && cp <= blocks[i][1])
            return true;
    return false;
}

enum { MADE_MAX = 2 + DG_UTF8_MAX_LEN };

/* Changes one character: writes the resulting bytes to `made`, at most MADE_MAX. */
static size_t change_character(enum dg_subword_change kind, uint32_t cp, char made[MADE_MAX])
{
    const uint32_t category = U_GET_GC_MASK((UChar32)cp);
    const bool is_line = cp == '\t' || cp == '\n' || cp == '\r';
    switch (kind) {
    case DG_SUBWORD_CLEAN:
        if (!is_line && ((category & U_GC_C_MASK) || cp == DG_UTF8_REPLACEMENT))
            return 0;
        return dg_utf8_encode(is_line || u_isUWhiteSpace((UChar32)cp) ? ' ' : cp, made);
    case DG_SUBWORD_SPACE_HAN:
        if (!is_han(cp))
            return dg_utf8_encode(cp, made);
        made[0] = ' ';
        const size_t len = 1 + dg_utf8_encode(cp, made + 1);
        made[len] = ' ';
        return len + 1;
    case DG_SUBWORD_DROP_ACCENTS:
        return category & U_GC_MN_MASK ? 0 : dg_utf8_encode(cp, made);
    case DG_SUBWORD_DROP_MARKS:
        return category & U_GC_M_MASK ? 0 : dg_utf8_encode(cp, made);
    default:
        if (cp == 0x130) { /* the only letter that becomes two: i and a dot above */
            memcpy(made, "i\xCC\x87", 3);
            return 3;
        }
        return dg_utf8_encode((uint32_t)u_tolower((UChar32)cp), made);
    }
}

static enum dg_err change_characters(struct dg_subword_work *work, enum dg_subword_change kind)
{
    const struct dg_span text = dg_buf_span(&work->now.text);
    enum dg_err err = DG_OK;
    size_t done = 0; /* unchanged bytes are copied in one piece */
    for (size_t at = 0, len; at < text.len && !err; at += len) {
        uint32_t cp = 0;
        char made[MADE_MAX];
        len = dg_utf8_decode(text, at, &cp);
        const size_t n = change_character(kind, cp, made);
        if (n == len && memcmp(made, text.ptr + at, n) == 0)
            continue;
        err = put_part(&work->next, &work->now, done, at);
        if (!err)
            err = put_bytes(&work->next, made, n, work->now.from[at], work->now.to[at + len - 1]);
        done = at + len;
    }
    return err ? err : put_part(&work->next, &work->now, done, text.len);
}

/* ---- SentencePiece's changes ----------------------------------------------------------------- */

static bool is_white(struct dg_span text, size_t at, size_t *len)
{
    uint32_t cp = 0;
    *len = dg_utf8_decode(text, at, &cp);
    return *len && u_isUWhiteSpace((UChar32)cp);
}

static size_t step_back(struct dg_span text, size_t at)
{
    do
        at--;
    while (at > 0 && dg_utf8_char_is_trail((uint8_t)text.ptr[at]));
    return at;
}

static enum dg_err strip(struct dg_subword_work *work, bool left, bool right)
{
    const struct dg_span text = dg_buf_span(&work->now.text);
    size_t begin = 0, end = text.len, len;
    while (left && begin < end && is_white(text, begin, &len))
        begin += len;
    while (right && end > begin && is_white(text, step_back(text, end), &len))
        end = step_back(text, end);
    return put_part(&work->next, &work->now, begin, end);
}

static enum dg_err squeeze(struct dg_subword_work *work, struct dg_span to)
{
    const struct dg_span text = dg_buf_span(&work->now.text);
    enum dg_err err = DG_OK;
    size_t done = 0;
    for (size_t at = 0, end; at < text.len && !err; at = end) {
        for (end = at; end < text.len && text.ptr[end] == ' ';)
            end++;
        if (end - at > 1) {
            err = put_part(&work->next, &work->now, done, at);
            if (!err)
                err = dg_subword_change_put(work, to, at, end);
            done = end;
        }
        end += end == at;
    }
    return err ? err : put_part(&work->next, &work->now, done, text.len);
}

static enum dg_err mark_words(struct dg_subword_work *work, struct dg_span mark)
{
    const struct dg_span text = dg_buf_span(&work->now.text);
    enum dg_err err = DG_OK;
    for (size_t at = 0, end, len; at < text.len && !err; at = end) {
        for (; is_white(text, at, &len); at += len)
            ;
        for (end = at; end < text.len && !is_white(text, end, &len); end += len)
            ;
        if (end > at && !dg_span_starts(dg_span_sub(text, at, end - at), mark))
            err =
                put_bytes(&work->next, mark.ptr, mark.len, work->now.from[at], work->now.from[at]);
        if (!err)
            err = put_part(&work->next, &work->now, at, end);
    }
    return err;
}

/* ---- All ------------------------------------------------------------------------------------- */

static enum dg_err change(struct dg_subword_work *work, const struct dg_subword_changing *how,
                          bool is_first)
{
    const struct dg_span text = dg_buf_span(&work->now.text);
    const bool begins_so = dg_span_starts(text, how->from);
    enum dg_err err = DG_OK;
    dg_buf_clear(&work->next.text);
    switch (how->kind) {
    case DG_SUBWORD_PREPEND:
        err = prepend(work, how->from);
        break;
    case DG_SUBWORD_PREPEND_FIRST:
    case DG_SUBWORD_PREPEND_NEW:
        if (begins_so || (how->kind == DG_SUBWORD_PREPEND_FIRST && !is_first))
            return DG_OK;
        err = prepend(work, how->from);
        break;
    case DG_SUBWORD_REPLACE:
        err = replace(work, how->from, how->to);
        break;
    case DG_SUBWORD_NFC:
    case DG_SUBWORD_NFD:
    case DG_SUBWORD_NFKC:
    case DG_SUBWORD_NFKD:
        err = normalise(work, how->kind);
        break;
    case DG_SUBWORD_CLEAN:
    case DG_SUBWORD_SPACE_HAN:
    case DG_SUBWORD_DROP_ACCENTS:
    case DG_SUBWORD_DROP_MARKS:
    case DG_SUBWORD_LOWERCASE:
        err = change_characters(work, how->kind);
        break;
    case DG_SUBWORD_CHARSMAP:
        err = dg_subword_charsmap_change(work, &how->map);
        break;
    case DG_SUBWORD_STRIP:
        err = strip(work, how->left, how->right);
        break;
    case DG_SUBWORD_SQUEEZE:
        err = squeeze(work, how->to);
        break;
    case DG_SUBWORD_MARK_WORDS:
        err = mark_words(work, how->to);
        break;
    }
    const struct dg_subword_stretch before = work->now;
    work->now = work->next;
    work->next = before;
    return err;
}

/* Copies [begin, end) of `text` unchanged. */
static enum dg_err fill(struct dg_subword_work *work, struct dg_span text, size_t begin, size_t end)
{
    const size_t most = (end - begin) * GROWTH_MAX + GROWTH_MORE;
    dg_buf_clear(&work->now.text);
    work->now.text.max = work->next.text.max = work->normal.text.max =
        most < DG_SUBWORD_TEXT_MAX ? most : DG_SUBWORD_TEXT_MAX;
    enum dg_err err = reserve(&work->now, end - begin);
    /* every byte comes from the whole character */
    for (size_t at = begin, len; at < end && !err; at += len) {
        uint32_t cp;
        len = dg_utf8_decode(text, at, &cp);
        err = put_bytes(&work->now, text.ptr + at, len, at, at + len);
    }
    return err;
}

enum dg_err dg_subword_change_all(const struct dg_subword *subword, struct dg_subword_work *work,
                                  struct dg_span text, size_t begin, size_t end)
{
    enum dg_err err = fill(work, text, begin, end);
    for (size_t i = 0; i < subword->n_normal && !err && work->now.text.len; i++)
        err = change(work, &subword->changes[i], begin == 0);
    return err;
}

enum dg_err dg_subword_change_part(const struct dg_subword *subword, struct dg_subword_work *work,
                                   size_t begin, size_t end, bool is_first)
{
    dg_buf_clear(&work->now.text);
    enum dg_err err = put_part(&work->now, &work->normal, begin, end);
    for (size_t i = subword->n_normal; i < subword->n_changes && !err && work->now.text.len; i++)
        err = change(work, &subword->changes[i], is_first);
    return err;
}

enum dg_err dg_subword_change_put(struct dg_subword_work *work, struct dg_span to, size_t begin,
                                  size_t end)
{
    return put_bytes(&work->next, to.ptr, to.len, work->now.from[begin], work->now.to[end - 1]);
}

enum dg_err dg_subword_change_keep(struct dg_subword_work *work, size_t begin, size_t end)
{
    return put_part(&work->next, &work->now, begin, end);
}

enum dg_err dg_subword_change_added(struct dg_subword *subword, struct dg_subword_work *work,
                                    struct dg_span text, struct dg_span *changed)
{
    enum dg_err err = fill(work, text, 0, text.len);
    for (size_t i = 0; i < subword->n_normal && !err && work->now.text.len; i++)
        err = change(work, &subword->changes[i], true);
    return err ? err : dg_subword_keep(subword, dg_buf_span(&work->now.text), changed);
}
