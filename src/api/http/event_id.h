/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Ids of the events of a stream. An id says how much of each text the client has received, and the
 * server keeps nothing else. A server that gets the same request again, with the id of the last
 * event that the client saw (Last-Event-ID), makes the same events again and leaves out those that
 * the client has seen.
 *
 *     err = dg_event_ids_init(&ids, &arena, n_texts);
 *     err = dg_event_ids_resume(&ids, id, &error);                   only when there is one
 *     if (dg_event_ids_token(&ids, i, &text) == DG_OK && text.len)   send it, with
 *         err = dg_event_ids_write(&ids, &buf);                      this id
 *
 * An id is the number of texts that were sent in full, followed by words for the texts after them:
 * "x3" stands for three that are done; "-3" for three of which nothing was sent; and
 * "2.57.1f0a98c3" for one of which two sentences were reported and 57 bytes were sent, whose hash
 * follows. The hash shows when a translation differs from the earlier one, because the model is
 * another; then nothing is sent that does not fit. A client that invents an id gets less of its own
 * answer. One thread at a time. */
#ifndef DG_API_HTTP_EVENT_ID_H
#define DG_API_HTTP_EVENT_ID_H

#include "api/http/call.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stdint.h>

enum { DG_EVENT_ID_MAX = 8192 }; /* the most bytes of an id that is accepted */

/* How far this stream has come with a text, and how far the client had seen it before. */
struct dg_event_place {
    uint64_t n_sentences, n_bytes, n_seen_sentences, n_seen_bytes;
    uint32_t hash, seen_hash;
    bool is_done, was_seen; /* everything was sent, or was seen by the client */
};

struct dg_event_ids {
    struct dg_event_place *texts; /* [n_texts], in the arena; NULL: the events have no ids */
    size_t n_texts, n_done;       /* texts before n_done are done */
    size_t n_begun;               /* nothing was sent or seen of the texts from n_begun on */
    bool has_changed;             /* something was not as the client had seen it */
};

/* DG_ERR_NOMEM. */
enum dg_err dg_event_ids_init(struct dg_event_ids *ids, struct dg_arena *arena,
                              size_t n_texts) DG_MUST_CHECK;

/* Notes that the client has seen the event `id`. DG_ERR_INVALID: that is not an id of such a
 * stream. */
enum dg_err dg_event_ids_resume(struct dg_event_ids *ids, struct dg_span id,
                                struct dg_error *error) DG_MUST_CHECK;

/* Adds a piece to text `i`, and leaves in *text what the client has not seen of it, perhaps
 * nothing. DG_ERR_INTEGRITY, with ids->has_changed set: the piece differs from what the client
 * saw. */
enum dg_err dg_event_ids_token(struct dg_event_ids *ids, size_t i,
                               struct dg_span *text) DG_MUST_CHECK;

/* Notes that a sentence of text `i` is done. False: the client knows that already, or the sentence
 * is shorter than what the client saw of it; then has_changed is set. */
bool dg_event_ids_sentence(struct dg_event_ids *ids, size_t i);

/* Notes that `n` sentences of text `i` are unchanged; they are not reported again. */
void dg_event_ids_keep(struct dg_event_ids *ids, size_t i, size_t n);

/* Notes that all of text `i` was sent. Sets has_changed if the client saw more. */
void dg_event_ids_done(struct dg_event_ids *ids, size_t i);

/* Appends the id of an event that is sent now, or nothing if the events have no ids. DG_ERR_NOMEM,
 * DG_ERR_LIMIT. */
enum dg_err dg_event_ids_write(const struct dg_event_ids *ids, struct dg_buf *buf) DG_MUST_CHECK;

/* Returns the failure that the client is told of when has_changed is set. */
struct dg_failure dg_event_ids_failure(void);

#endif
