/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The text is taken in steps. One step consumes the first of these that applies:
 *
 *  1. the longest user-defined piece: copied as it is;
 *  2. the longest key of the charsmap: replaced;
 *  3. a well-formed character: copied; a malformed byte: becomes U+FFFD.
 *
 * Around the steps, as the model requires: leading spaces are dropped, the dummy prefix is added,
 * runs of spaces are squeezed, spaces become U+2581, trailing spaces are stripped, a dummy suffix
 * is added. Nearly all bytes of western text are ASCII that no key changes; they take a short cut.
 */
#include "tokenize/spm/normalise.h"

#include "base/memory/mem.h"
#include "tokenize/spm/utf8_char.h"

#include <string.h>

struct step {
    const uint8_t *ptr;
    size_t len;
    size_t consumed;
    bool open; /* more text could change this step */
};

static bool begins_user_defined(const struct dg_normaliser *normaliser, uint8_t byte)
{
    if (!normaliser->user)
        return false;
    const uint32_t *nodes = normaliser->user->nodes;
    return byte == 0 || (nodes[(nodes[0] >> 10) ^ byte] & 0xFF) == byte;
}

void dg_normaliser_prepare(struct dg_normaliser *normaliser)
{
    for (uint32_t cp = 0; cp < 0x800; cp++) {
        uint8_t bytes[2] = {(uint8_t)cp};
        size_t len = 1;
        if (cp >= 0x80) {
            bytes[0] = (uint8_t)(0xC0 | cp >> 6);
            bytes[1] = (uint8_t)(0x80 | (cp & 0x3F));
            len = 2;
        }
        normaliser->is_plain[cp] = !begins_user_defined(normaliser, bytes[0]) &&
                                   !dg_charsmap_touches(&normaliser->map, bytes, len);
    }
}

static struct step take_step(const struct dg_normaliser *n, const uint8_t *at, const uint8_t *end)
{
    if (n->user) {
        size_t len = dg_piece_trie_longest(n->user, n->pieces, at, end);
        if (len)
            return (struct step){at, len, len, false};
    }
    struct dg_charsmap_hit hit = dg_charsmap_find(&n->map, at, end);
    if (hit.key_len)
        return (struct step){hit.ptr, hit.len, hit.key_len, hit.open};
    size_t len = dg_utf8_char_len(at, end);
    if (len)
        return (struct step){at, len, len, hit.open};
    return (struct step){(const uint8_t *)DG_UTF8_CHAR_BAD, 3, 1, hit.open};
}

/* ---- Output ---------------------------------------------------------------------------------- */

static enum dg_err grow(struct dg_normal_text *out, size_t more)
{
    size_t needed = out->len + more + DG_NORMALISE_PAD;
    if (more > DG_NORMALISE_MAX || needed > (size_t)DG_NORMALISE_MAX + DG_NORMALISE_PAD)
        return DG_ERR_LIMIT;
    size_t cap = out->cap ? out->cap : 256;
    while (cap < needed)
        cap *= 2;
    uint8_t *bytes = dg_try_realloc(out->bytes, cap);
    if (!bytes)
        return DG_ERR_NOMEM;
    out->bytes = bytes;
    uint32_t *origin = dg_try_realloc(out->origin, cap * sizeof *origin);
    if (!origin)
        return DG_ERR_NOMEM;
    out->origin = origin;
    out->cap = cap;
    return DG_OK;
}

static inline enum dg_err reserve(struct dg_normal_text *out, size_t more)
{
    return out->cap >= out->len + more + DG_NORMALISE_PAD ? DG_OK : grow(out, more);
}

void dg_normal_text_deinit(struct dg_normal_text *out)
{
    dg_free(out->bytes);
    dg_free(out->origin);
    *out = (struct dg_normal_text){0};
}

/* Appends a byte; the caller must have reserved memory. */
static inline void put(struct dg_normal_text *out, uint8_t byte, size_t origin)
{
    out->bytes[out->len] = byte;
    out->origin[out->len++] = (uint32_t)origin;
}

static inline void put_space(const struct dg_normaliser *n, struct dg_normal_text *out,
                             size_t origin)
{
    if (n->escape_whitespaces)
        for (int i = 0; i < 3; i++)
            put(out, (uint8_t)DG_UTF8_CHAR_SPACE[i], origin);
    else
        put(out, ' ', origin);
}

/* ---- The loop -------------------------------------------------------------------------------- */

static enum dg_err put_step(const struct dg_normaliser *n, struct dg_normalise_state *state,
                            struct step step, struct dg_normal_text *out)
{
    while (state->prev_space && step.len && step.ptr[0] == ' ') {
        step.ptr++;
        step.len--;
    }
    if (step.len) {
        enum dg_err err = reserve(out, 3 * step.len);
        if (err)
            return err;
        for (size_t i = 0; i < step.len; i++) {
            if (step.ptr[i] == ' ')
                put_space(n, out, state->consumed);
            else
                put(out, step.ptr[i], state->consumed);
        }
        state->prev_space = step.ptr[step.len - 1] == ' ';
    }
    if (!n->remove_extra_whitespaces)
        state->prev_space = false;
    state->consumed += step.consumed;
    return DG_OK;
}

/* The short cut: plain characters that are followed by ASCII. Returns the first byte that it
 * leaves. */
static const uint8_t *put_plain(const struct dg_normaliser *n, struct dg_normalise_state *state,
                                const uint8_t *at, const uint8_t *end, struct dg_normal_text *out)
{
    const uint8_t *const limit = out->bytes + out->cap - DG_NORMALISE_PAD;
    uint8_t *to = out->bytes + out->len;
    uint32_t *origin = out->origin + out->len;
    uint32_t consumed = (uint32_t)state->consumed;
    bool prev_space = state->prev_space;
    while (end - at >= 3 && limit - to >= 3) {
        if (at[0] < 0x80 && at[1] < 0x80 && n->is_plain[at[0]] && at[0] != ' ') {
            *to++ = *at++;
            *origin++ = consumed++;
            prev_space = false;
        } else if (at[0] == ' ' && at[1] < 0x80 && n->is_plain[' '] && n->escape_whitespaces) {
            memcpy(to, DG_UTF8_CHAR_SPACE, 3);
            origin[0] = origin[1] = origin[2] = consumed++;
            to += prev_space ? 0 : 3;
            origin += prev_space ? 0 : 3;
            prev_space = n->remove_extra_whitespaces;
            at++;
        } else if ((at[0] & 0xE0) == 0xC0 && at[0] >= 0xC2 && dg_utf8_char_is_trail(at[1]) &&
                   at[2] < 0x80 && n->is_plain[(at[0] & 0x1F) << 6 | (at[1] & 0x3F)]) {
            to[0] = at[0];
            to[1] = at[1];
            origin[0] = origin[1] = consumed;
            to += 2;
            origin += 2;
            at += 2;
            consumed += 2;
            prev_space = false;
        } else {
            break;
        }
    }
    out->len = (size_t)(to - out->bytes);
    state->consumed = consumed;
    state->prev_space = prev_space;
    return at;
}

/* Drops leading spaces and puts the dummy prefix; moves *at after what it dropped. */
static enum dg_err start(const struct dg_normaliser *n, struct dg_normalise_state *state,
                         const uint8_t **at, const uint8_t *end, bool is_last,
                         struct dg_normal_text *out)
{
    while (n->remove_extra_whitespaces && *at < end) {
        struct step step = take_step(n, *at, end);
        if (step.open && !is_last)
            return DG_OK;
        if (step.len != 1 || step.ptr[0] != ' ')
            break;
        *at += step.consumed;
        state->consumed += step.consumed;
    }
    if (*at == end)
        return DG_OK;
    enum dg_err err = reserve(out, 3);
    if (err)
        return err;
    if (n->add_dummy_prefix && !n->whitespace_as_suffix)
        put_space(n, out, state->consumed);
    state->prev_space = n->remove_extra_whitespaces;
    state->is_started = true;
    return DG_OK;
}

/* Drops trailing spaces and puts the dummy suffix. A literal U+2581 that the user typed is dropped
 * as well. */
static enum dg_err finish(const struct dg_normaliser *n, struct dg_normalise_state *state,
                          struct dg_normal_text *out)
{
    enum dg_err err = reserve(out, 3);
    if (err)
        return err;
    const char *space = n->escape_whitespaces ? DG_UTF8_CHAR_SPACE : " ";
    size_t len = n->escape_whitespaces ? 3 : 1;
    while (n->remove_extra_whitespaces && out->len >= len &&
           memcmp(out->bytes + out->len - len, space, len) == 0) {
        out->len -= len;
        state->consumed = out->origin[out->len];
    }
    if (n->add_dummy_prefix && n->whitespace_as_suffix)
        put_space(n, out, state->consumed);
    return DG_OK;
}

enum dg_err dg_normalise_slice(const struct dg_normaliser *normaliser,
                               struct dg_normalise_state *state, struct dg_span text, bool is_last,
                               struct dg_normal_text *out, size_t *used)
{
    const uint8_t *begin = (const uint8_t *)text.ptr;
    const uint8_t *at = begin;
    const uint8_t *end = text.len ? begin + text.len : begin;
    enum dg_err err = DG_OK;
    if (!state->is_started)
        err = start(normaliser, state, &at, end, is_last, out);
    else
        err = reserve(out, 0);
    while (!err && state->is_started && at < end) {
        at = put_plain(normaliser, state, at, end, out);
        struct step step = take_step(normaliser, at, end);
        if (step.open && !is_last)
            break;
        err = put_step(normaliser, state, step, out);
        at += step.consumed;
    }
    if (!err && is_last && state->is_started)
        err = finish(normaliser, state, out);
    if (!err)
        *used = (size_t)(at - begin);
    return err;
}

enum dg_err dg_normalise(const struct dg_normaliser *normaliser, struct dg_span text,
                         struct dg_normal_text *out)
{
    struct dg_normalise_state state = {0};
    size_t used;
    if (text.len > DG_NORMALISE_MAX)
        return DG_ERR_LIMIT;
    out->len = 0;
    enum dg_err err = reserve(out, text.len + text.len / 2 + 8);
    if (!err)
        err = dg_normalise_slice(normaliser, &state, text, true, out, &used);
    if (err)
        return err;
    out->origin[out->len] = (uint32_t)state.consumed;
    memset(out->bytes + out->len, 0, DG_NORMALISE_PAD);
    return DG_OK;
}
