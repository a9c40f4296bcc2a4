/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Texts are begun in order, and few are under way at once, so that an id is short however many
 * texts there are. */
#include "api/http/event_id.h"
#include "base/memory/chars.h"

/* FNV-1a with 32 bits: a hash that can be continued from any place in a text. */
static const uint32_t HASH_START = 2166136261u, HASH_PRIME = 16777619u;

static void add(struct dg_event_place *place, struct dg_span text)
{
    for (size_t i = 0; i < text.len; i++)
        place->hash = (place->hash ^ (unsigned char)text.ptr[i]) * HASH_PRIME;
    place->n_bytes += text.len;
}

enum dg_err dg_event_ids_init(struct dg_event_ids *ids, struct dg_arena *arena, size_t n_texts)
{
    *ids = (struct dg_event_ids){.texts = dg_arena_calloc(arena, n_texts, sizeof *ids->texts),
                                 .n_texts = n_texts};
    if (!ids->texts)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < n_texts; i++)
        ids->texts[i].hash = HASH_START;
    return DG_OK;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Cuts a number off `rest`; false when there is none, or it is too large to be one of ours. */
static bool cut_number(struct dg_span *rest, unsigned base, uint64_t *number)
{
    size_t n = 0;
    *number = 0;
    for (; n < rest->len && n < 15; n++) {
        const char c = rest->ptr[n];
        const unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                               : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                      : 99;
        if (digit >= base)
            break;
        *number = *number * base + digit;
    }
    *rest = dg_span_sub(*rest, n, rest->len);
    return n > 0 && n < 15;
}

static bool cut_char(struct dg_span *rest, char c)
{
    if (rest->len == 0 || rest->ptr[0] != c)
        return false;
    *rest = dg_span_sub(*rest, 1, rest->len);
    return true;
}

/* "2.57.1f0a98c3" */
static bool cut_place(struct dg_span *rest, struct dg_event_place *place)
{
    uint64_t n_sentences, n_bytes, hash;
    if (!cut_number(rest, 10, &n_sentences) || !cut_char(rest, '.') ||
        !cut_number(rest, 10, &n_bytes) || !cut_char(rest, '.') || !cut_number(rest, 16, &hash) ||
        hash > UINT32_MAX)
        return false;
    place->n_seen_sentences = n_sentences;
    place->n_seen_bytes = n_bytes;
    place->seen_hash = (uint32_t)hash;
    return true;
}

/* Marks the texts from *at to `end`: all of each was seen, or nothing. */
static bool mark(struct dg_event_ids *ids, size_t *at, uint64_t n, bool was_seen)
{
    if (n > ids->n_texts - *at)
        return false;
    for (size_t end = *at + (size_t)n; *at < end; ++*at)
        ids->texts[*at].was_seen = was_seen;
    return true;
}

enum dg_err dg_event_ids_resume(struct dg_event_ids *ids, struct dg_span id, struct dg_error *error)
{
    struct dg_span rest = id;
    size_t at = 0;
    uint64_t n = 0;
    bool is_good =
        id.len <= DG_EVENT_ID_MAX && cut_number(&rest, 10, &n) && mark(ids, &at, n, true);
    while (is_good && rest.len > 0) {
        is_good = cut_char(&rest, ',');
        const bool were_seen = is_good && cut_char(&rest, 'x');
        if (were_seen || (is_good && cut_char(&rest, '-')))
            is_good = cut_number(&rest, 10, &n) && mark(ids, &at, n, were_seen);
        else
            is_good = is_good && at < ids->n_texts && cut_place(&rest, &ids->texts[at++]);
    }
    ids->n_begun = at;
    return is_good ? DG_OK
                   : dg_error_set(error, DG_ERR_INVALID,
                                  "Last-Event-ID: read %zu bytes, expected the id of an event in a "
                                  "stream of %zu texts",
                                  id.len, ids->n_texts);
}

/* ---- What is new ----------------------------------------------------------------------------- */

static struct dg_event_place *begin(struct dg_event_ids *ids, size_t i)
{
    if (ids->n_begun <= i)
        ids->n_begun = i + 1;
    return &ids->texts[i];
}

static enum dg_err change(struct dg_event_ids *ids, struct dg_span *text)
{
    ids->has_changed = true;
    text->len = 0;
    return DG_ERR_INTEGRITY;
}

enum dg_err dg_event_ids_token(struct dg_event_ids *ids, size_t i, struct dg_span *text)
{
    struct dg_event_place *place = begin(ids, i);
    if (ids->has_changed)
        return change(ids, text);
    const uint64_t left =
        place->n_bytes < place->n_seen_bytes ? place->n_seen_bytes - place->n_bytes : 0;
    const size_t n_seen = left < text->len ? (size_t)left : text->len;
    if (n_seen > 0) {
        add(place, dg_span_sub(*text, 0, n_seen));
        if (n_seen == left && place->hash != place->seen_hash)
            return change(ids, text);
    }
    *text = dg_span_sub(*text, n_seen, text->len);
    add(place, *text);
    if (place->was_seen)
        text->len = 0;
    return DG_OK;
}

bool dg_event_ids_sentence(struct dg_event_ids *ids, size_t i)
{
    struct dg_event_place *place = begin(ids, i);
    place->n_sentences++;
    const bool is_new = !place->was_seen && place->n_sentences > place->n_seen_sentences;
    if (is_new && place->n_bytes < place->n_seen_bytes) /* the client has more of this one */
        ids->has_changed = true;
    return is_new && !ids->has_changed;
}

void dg_event_ids_keep(struct dg_event_ids *ids, size_t i, size_t n)
{
    begin(ids, i)->n_sentences += n;
}

void dg_event_ids_done(struct dg_event_ids *ids, size_t i)
{
    struct dg_event_place *place = begin(ids, i);
    place->is_done = true;
    if (!place->was_seen &&
        (place->n_bytes < place->n_seen_bytes || place->n_sentences < place->n_seen_sentences))
        ids->has_changed = true;
    while (ids->n_done < ids->n_texts && ids->texts[ids->n_done].is_done)
        ids->n_done++;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Appends a separator, and a number after it. */
static enum dg_err put(struct dg_buf *buf, const char *separator, uint64_t number, unsigned base,
                       size_t n_min)
{
    char room[DG_CHARS_DIGITS];
    enum dg_err err = dg_buf_append_cstr(buf, separator);
    return err ? err : dg_buf_append_span(buf, dg_chars_digits(number, base, n_min, room));
}

/* Writes how much of a text the client has once this event arrives, whether it was sent now or
 * before. */
static enum dg_err write_place(const struct dg_event_place *place, struct dg_buf *buf)
{
    const bool is_behind = place->n_bytes < place->n_seen_bytes;
    const uint64_t n_sentences =
        place->n_sentences < place->n_seen_sentences ? place->n_seen_sentences : place->n_sentences;
    enum dg_err err = put(buf, ",", n_sentences, 10, 1);
    if (!err)
        err = put(buf, ".", is_behind ? place->n_seen_bytes : place->n_bytes, 10, 1);
    return err ? err : put(buf, ".", is_behind ? place->seen_hash : place->hash, 16, 8);
}

static char kind_of(const struct dg_event_place *place)
{
    if (place->is_done || place->was_seen)
        return 'x';
    return place->n_bytes || place->n_sentences || place->n_seen_bytes || place->n_seen_sentences
               ? '.'
               : '-';
}

enum dg_err dg_event_ids_write(const struct dg_event_ids *ids, struct dg_buf *buf)
{
    size_t at = ids->n_done, end = ids->n_begun;
    enum dg_err err = ids->texts ? put(buf, "", at, 10, 1) : DG_OK;
    while (at < end && !err) {
        const char kind = kind_of(&ids->texts[at]);
        size_t n = 1;
        while (kind != '.' && at + n < end && kind_of(&ids->texts[at + n]) == kind)
            n++;
        err = kind == '.' ? write_place(&ids->texts[at], buf)
                          : put(buf, kind == 'x' ? ",x" : ",-", n, 10, 1);
        at += n;
    }
    return err;
}

struct dg_failure dg_event_ids_failure(void)
{
    return (struct dg_failure){.status = 409,
                               .code = "stream_changed",
                               .message =
                                   "The text is now translated differently than before the stream "
                                   "broke off, so the rest would not fit what was already shown."};
}
