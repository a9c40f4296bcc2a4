/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What the files of a sentence (sentence.c, sentence_*.c) offer to each other. */
#ifndef DG_ENGINE_REQUEST_SENTENCE_INT_H
#define DG_ENGINE_REQUEST_SENTENCE_INT_H

#include "engine/request/request.h"
#include "engine/request/sentence.h"

static inline struct dg_served_model *dg_sentence_model(const struct dg_sentence *sentence)
{
    return sentence->request->hops[sentence->hop];
}

static inline const struct dg_lang_pair *dg_sentence_pair(const struct dg_sentence *sentence)
{
    return &sentence->request->pairs[sentence->hop];
}

static inline bool dg_sentence_is_last_leg(const struct dg_sentence *sentence)
{
    return sentence->hop + 1 == sentence->request->n_hops;
}

/* The best answer of the present ticket, or NULL. */
static inline const struct dg_ticket_answer *dg_sentence_best(const struct dg_sentence *sentence)
{
    const struct dg_ticket *ticket = sentence->flight ? sentence->flight->ticket : NULL;
    return ticket && ticket->n_answers ? &ticket->answers[0] : NULL;
}

/* Making it ready (sentence_ready.c). */

/* Tokenises a text for the present hop's model; the caller frees *owned. */
enum dg_err dg_sentence_encode(const struct dg_sentence *sentence, struct dg_request_tools *tools,
                               struct dg_span text, struct dg_error *error,
                               const struct dg_token **tokens, size_t *n,
                               struct dg_token **owned) DG_MUST_CHECK;

/* Sets the input of the present hop's model. */
enum dg_err dg_sentence_set_ids(struct dg_sentence *sentence, const struct dg_token *tokens,
                                size_t n, struct dg_error *error) DG_MUST_CHECK;

/* Anchors the placeholders to the tokens [n] that stand for them. */
enum dg_err dg_sentence_constrain(struct dg_sentence *sentence, const struct dg_token *tokens,
                                  size_t n) DG_MUST_CHECK;

/* At the start of the last hop, shows what precedes the sentence outside it. */
enum dg_err dg_sentence_begin_text(struct dg_sentence *sentence) DG_MUST_CHECK;

/* Makes the sentence ready from the start once more, this time with placeholders for its numbers.
 */
enum dg_err dg_sentence_carry_numbers(struct dg_sentence *sentence,
                                      struct dg_request_tools *tools) DG_MUST_CHECK;

/* Launching it (sentence_launch.c). */

/* Returns true when the sentence needs an alignment: markup is placed by the source words that the
 * words of the answer come from, and terms are followed to the last hop. */
bool dg_sentence_needs_alignment(const struct dg_sentence *sentence);

/* Its course (sentence.c). */

/* Notes when the first token of the request's answer was there. */
void dg_sentence_note_first(struct dg_sentence *sentence, struct dg_request_tools *tools);

/* Ends the sentence's flight. */
enum dg_err dg_sentence_conclude(struct dg_sentence *sentence,
                                 struct dg_request_tools *tools) DG_MUST_CHECK;

/* Gives the text from `from` on the case that the sentence was written in. */
enum dg_err dg_sentence_restore_case(const struct dg_sentence *sentence, struct dg_buf *text,
                                     size_t from) DG_MUST_CHECK;

/* Finds the length of the text after each token: ends [n], scaled to the text's length if restoring
 * its case has changed that. */
enum dg_err dg_sentence_find_ends(const struct dg_sentence *sentence,
                                  const struct dg_ticket_answer *best, size_t *ends) DG_MUST_CHECK;

#endif
