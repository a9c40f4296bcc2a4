/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Ids of the events of a stream. An id says how far the client is with each text, and nothing else
 * is kept: whoever gets the same request once more, with the id of the last event that the client
 * saw (Last-Event-ID), makes the same events again and leaves out those that were seen.
 *
 *     err = dg_event_ids_init(&ids, &arena, n_texts);
 *     err = dg_event_ids_resume(&ids, id, &error);                   only when there is one
 *     if (dg_event_ids_token(&ids, i, &text) == DG_OK && text.len)   send it, with
 *         err = dg_event_ids_write(&ids, &buf);                      this id
 *
 * Such an id is the number of texts of which everything was sent, then a word for each further
 * text: "x3", three that are done; "-3", three of which nothing was sent; "2.57.1f0a98c3", one of
 * which two sentences were told of, and 57 bytes were sent whose hash follows. By the hash it is
 * noticed that a translation comes out otherwise than before, because the model is another one:
 * then nothing is sent that does not fit. Who invents an id gets less of his own answer. One
 * thread at a time. */
#ifndef DG_API_HTTP_EVENT_ID_H
#define DG_API_HTTP_EVENT_ID_H

#include "api/http/call.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stdint.h>

enum { DG_EVENT_ID_MAX = 8192 }; /* bytes of an id that is taken */

/* How far a text is, as this stream has made it, and as the client has seen it before. */
struct dg_event_place {
    uint64_t n_sentences, n_bytes, n_seen_sentences, n_seen_bytes;
    uint32_t hash, seen_hash;
    bool is_done, was_seen; /* everything was sent, or was seen by the client */
};

struct dg_event_ids {
    struct dg_event_place *texts; /* [n_texts], in the arena; NULL: the events have no ids */
    size_t n_texts, n_done;       /* texts before n_done are done */
    size_t n_begun;               /* of texts from n_begun on nothing was sent or seen */
    bool has_changed;             /* something was not as the client had seen it */
};

/* DG_ERR_NOMEM. */
enum dg_err dg_event_ids_init(struct dg_event_ids *ids, struct dg_arena *arena,
                              size_t n_texts) DG_MUST_CHECK;

/* The client has seen the event `id`. DG_ERR_INVALID: no id of such a stream. */
enum dg_err dg_event_ids_resume(struct dg_event_ids *ids, struct dg_span id,
                                struct dg_error *error) DG_MUST_CHECK;

/* More of text `i`: leaves in *text what the client has not seen, perhaps nothing.
 * DG_ERR_INTEGRITY, and ids->has_changed, when it is not what the client saw. */
enum dg_err dg_event_ids_token(struct dg_event_ids *ids, size_t i,
                               struct dg_span *text) DG_MUST_CHECK;

/* A sentence of text `i` is done; false: the client knows, or it is shorter than what the client
 * saw of it, and has_changed is set. */
bool dg_event_ids_sentence(struct dg_event_ids *ids, size_t i);

/* So many sentences of text `i` are as they were, and nobody is told of them again. */
void dg_event_ids_keep(struct dg_event_ids *ids, size_t i, size_t n);

/* Everything of text `i` was sent. Sets has_changed when the client saw more. */
void dg_event_ids_done(struct dg_event_ids *ids, size_t i);

/* Appends the id of an event that is sent now. Nothing without ids. DG_ERR_NOMEM, DG_ERR_LIMIT. */
enum dg_err dg_event_ids_write(const struct dg_event_ids *ids, struct dg_buf *buf) DG_MUST_CHECK;

/* What a client is told when has_changed. */
struct dg_failure dg_event_ids_failure(void);

#endif
