/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The first line is the id of a stream's last event: an id that is accepted is written as one that
 * is accepted again. The rest is the texts of a stream, cut into tokens at random places: the
 * stream breaks off at one of its events and continues after it with other tokens, and the client
 * receives each byte once. */
#include "api/http/event_id.h"
#include "base/memory/rng.h"

#include <stdlib.h>
#include <string.h>

enum { TEXTS_MAX = 8, ARENA_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void begin(struct dg_event_ids *ids, struct dg_arena *arena, size_t n_texts)
{
    dg_arena_init(arena, ARENA_MAX);
    require(dg_event_ids_init(ids, arena, n_texts) == DG_OK);
}

static void read_id(struct dg_span id, size_t n_texts)
{
    struct dg_event_ids ids, again;
    struct dg_arena arena, other;
    struct dg_buf buf;
    dg_buf_init(&buf, ARENA_MAX);
    begin(&ids, &arena, n_texts);
    begin(&again, &other, n_texts);
    if (dg_event_ids_resume(&ids, id, NULL) == DG_OK) {
        require(dg_event_ids_write(&ids, &buf) == DG_OK);
        require(dg_event_ids_resume(&again, dg_buf_span(&buf), NULL) == DG_OK);
        for (size_t i = 0; i < n_texts; i++) {
            const struct dg_event_place *one = &ids.texts[i], *same = &again.texts[i];
            require(one->was_seen == same->was_seen && one->n_seen_bytes == same->n_seen_bytes &&
                    one->n_seen_sentences == same->n_seen_sentences);
        }
    }
    dg_arena_deinit(&arena);
    dg_arena_deinit(&other);
    dg_buf_deinit(&buf);
}

/* A stream of texts [n], until its event number `n_events` or its end; what it sends is appended to
 * seen[i]. */
static void stream(struct dg_event_ids *ids, const struct dg_span *texts, size_t n,
                   struct dg_rng *rng, uint64_t n_events, struct dg_buf *seen)
{
    size_t at[TEXTS_MAX] = {0};
    bool is_over[TEXTS_MAX] = {false};
    for (uint64_t event = 0; event < n_events; event++) {
        const size_t i = dg_rng_next(rng) % n;
        if (is_over[i])
            continue;
        struct dg_span token = dg_span_sub(texts[i], at[i], 1 + dg_rng_next(rng) % 7);
        at[i] += token.len;
        require(dg_event_ids_token(ids, i, &token) == DG_OK);
        require(dg_buf_append_span(&seen[i], token) == DG_OK);
        if (at[i] == texts[i].len) {
            is_over[i] = true;
            dg_event_ids_done(ids, i);
        }
    }
    require(!ids->has_changed);
}

static void break_off(struct dg_span rest, size_t n, uint64_t seed)
{
    struct dg_event_ids ids, again;
    struct dg_arena arena, other;
    struct dg_span texts[TEXTS_MAX];
    struct dg_buf seen[TEXTS_MAX], id;
    struct dg_rng rng;
    dg_rng_init(&rng, seed, 0);
    dg_buf_init(&id, ARENA_MAX);
    for (size_t i = 0; i < n; i++) {
        texts[i] = dg_span_sub(rest, i * rest.len / n, rest.len / n);
        dg_buf_init(&seen[i], ARENA_MAX);
    }
    begin(&ids, &arena, n);
    begin(&again, &other, n);
    stream(&ids, texts, n, &rng, dg_rng_next(&rng) % (rest.len + 8), seen);
    require(dg_event_ids_write(&ids, &id) == DG_OK);
    require(dg_event_ids_resume(&again, dg_buf_span(&id), NULL) == DG_OK);
    stream(&again, texts, n, &rng, 64 + 16 * n * (rest.len + 1), seen);
    for (size_t i = 0; i < n; i++) {
        require(!again.texts[i].is_done || dg_span_eq(dg_buf_span(&seen[i]), texts[i]));
        dg_buf_deinit(&seen[i]);
    }
    dg_arena_deinit(&arena);
    dg_arena_deinit(&other);
    dg_buf_deinit(&id);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len < 2 || len > 4096)
        return 0;
    const struct dg_span whole = dg_span_make((const char *)bytes + 1, len - 1);
    const char *end = memchr(whole.ptr, '\n', whole.len);
    const size_t n_id = end ? (size_t)(end - whole.ptr) : whole.len, n = 1 + bytes[0] % TEXTS_MAX;
    read_id(dg_span_sub(whole, 0, n_id), n);
    if (end)
        break_off(dg_span_sub(whole, n_id + 1, whole.len), n, bytes[0] + len);
    return 0;
}
