/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What a sentence that is over has to say: its answers, where their tokens end, and its text with
 * its markup in place. */
#include "base/memory/mem.h"
#include "engine/models/translation_prompt.h"
#include "engine/request/sentence_int.h"
#include "markup/tag_placement.h"

#include <string.h>

bool dg_sentence_is_showable(const struct dg_sentence *sentence)
{
    return dg_sentence_is_last_leg(sentence) &&
           (sentence->casing == DG_CASING_PLAIN || sentence->is_over);
}

/* Appends the translation that is in an answer of a language model. */
static enum dg_err other_heard(const struct dg_sentence *sentence,
                               const struct dg_ticket_answer *answer, struct dg_buf *texts)
{
    struct dg_tokenizer_stream stream;
    struct dg_buf said;
    struct dg_span delta;
    size_t from = 0, upto = 0;
    enum dg_err err = DG_OK;
    dg_buf_init(&said, DG_SENTENCE_MAX);
    dg_tokenizer_stream_init(&stream, dg_sentence_model(sentence)->tokenizer, DG_SENTENCE_MAX);
    dg_tokenizer_stream_goes_on(&stream);
    for (size_t i = 0; i < answer->n_ids && !err; i++) {
        err = dg_tokenizer_stream_push(&stream, answer->ids[i], &delta);
        if (err == DG_ERR_RANGE)
            err = DG_OK;
        else if (!err)
            err = dg_buf_append_span(&said, delta);
    }
    if (!err)
        err = dg_tokenizer_stream_finish(&stream, &delta);
    if (!err)
        err = dg_buf_append_span(&said, delta);
    dg_translation_prompt_hear(dg_sentence_model(sentence)->template, dg_buf_span(&said), true,
                               &from, &upto);
    if (!err)
        err = dg_buf_append_span(texts, dg_span_sub(dg_buf_span(&said), from, upto - from));
    dg_buf_deinit(&said);
    dg_tokenizer_stream_deinit(&stream);
    return err;
}

/* Appends the text of an answer that is not the first. */
static enum dg_err other_answer(const struct dg_sentence *sentence,
                                const struct dg_ticket_answer *answer, struct dg_buf *texts)
{
    size_t from = texts->len;
    if (dg_sentence_model(sentence)->template)
        return other_heard(sentence, answer, texts);
    enum dg_err err = dg_tokenizer_decode(dg_sentence_model(sentence)->tokenizer, answer->ids,
                                          answer->n_ids, texts);
    if (!err &&
        dg_terms_may_elide(&sentence->terms, dg_sentence_pair(sentence)->target->tag.language))
        err = dg_terms_elide(&sentence->terms, texts, from);
    if (!err)
        err = dg_sentence_restore_case(sentence, texts, from);
    if (err || !sentence->placeholders)
        return err;
    /* borrows everything but what was said so far */
    struct dg_placeholders placeholders = *sentence->placeholders;
    struct dg_placeholders_out out = {.any_case = sentence->casing != DG_CASING_PLAIN};
    struct dg_buf text;
    for (size_t i = 0; i < placeholders.n; i++)
        placeholders.items[i].is_said = false;
    dg_buf_init(&text, DG_SENTENCE_MAX);
    err = dg_buf_append_span(&text, placeholders.before);
    if (!err)
        err = dg_placeholders_undress(
            &placeholders, &out, dg_span_sub(dg_buf_span(texts), from, texts->len), true, &text);
    if (!err)
        err = dg_buf_append_span(&text, placeholders.after);
    dg_buf_truncate(texts, from);
    if (!err)
        err = dg_buf_append_span(texts, dg_buf_span(&text));
    dg_buf_deinit(&text);
    return err;
}

enum dg_err dg_sentence_answers(const struct dg_sentence *sentence, struct dg_buf *texts,
                                struct dg_engine_answer *answers, size_t *n)
{
    answers[0] = sentence->sum;
    answers[0].text = dg_buf_span(&sentence->text);
    *n = 1;
    if (sentence->n_tickets != 1) /* several pieces have no common text */
        return DG_OK;
    const struct dg_ticket *ticket = sentence->flight->ticket;
    /* For a text that is one term, the model's other answers are that term with an affix. */
    const size_t n_answers =
        sentence->terms.is_alone && ticket->n_answers > 1 ? 1 : ticket->n_answers;
    size_t ends[DG_BEAM_MAX + 1] = {0};
    enum dg_err err = DG_OK;
    for (size_t i = 1; !err && i < n_answers; i++) {
        err = other_answer(sentence, &ticket->answers[i], texts);
        ends[i] = texts->len;
    }
    for (size_t i = 0; !err && i < n_answers; i++) {
        const struct dg_ticket_answer *from = &ticket->answers[i], *best = &ticket->answers[0];
        answers[i] = (struct dg_engine_answer){
            .text = i == 0 ? dg_buf_span(&sentence->text)
                           : dg_span_sub(dg_buf_span(texts), ends[i - 1], ends[i] - ends[i - 1]),
            .logprob = sentence->sum.logprob - best->logprob + from->logprob,
            .score = sentence->sum.score - best->score + from->score,
            .finish = i == 0 ? sentence->sum.finish : from->finish,
            .repaired = i == 0 ? sentence->sum.repaired : from->repaired,
            .ids = from->ids,
            .logprobs = from->logprobs,
            .n_ids = from->n_ids,
            .alignment = sentence->request->n_hops == 1 ? from->alignment : NULL,
        };
    }
    *n = n_answers;
    return err;
}

enum dg_err dg_sentence_ends(const struct dg_sentence *sentence, size_t **ends)
{
    const struct dg_ticket_answer *best = dg_sentence_best(sentence);
    *ends = NULL;
    if (!best || !best->alignment || sentence->request->n_hops != 1 || sentence->n_tickets != 1 ||
        !sentence->in_place)
        return DG_OK;
    size_t *found = dg_try_calloc(best->n_ids + 1, sizeof *found);
    const enum dg_err err = found ? dg_sentence_find_ends(sentence, best, found) : DG_ERR_NOMEM;
    if (err)
        dg_free(found);
    else
        *ends = found;
    return err;
}

enum dg_err dg_sentence_weave(const struct dg_sentence *sentence, const struct dg_doc *doc,
                              const struct dg_doc_part *part, struct dg_buf *out)
{
    const struct dg_ticket_answer *best = dg_sentence_best(sentence);
    struct dg_tag_placement_source source = {.tokens = sentence->tokens, .n = sentence->n_tokens};
    struct dg_tag_placement_target said = {.text = dg_buf_span(&sentence->text)};
    size_t *ends = NULL;
    enum dg_err err = DG_OK;
    if (dg_sentence_needs_alignment(sentence))
        err = dg_sentence_ends(sentence, &ends);
    if (ends) {
        said.ends = ends;
        said.n = best->n_ids;
        said.alignment = best->alignment;
    }
    if (!err)
        err = dg_tag_placement(doc, part, &source, &said, out);
    dg_free(ends);
    return err;
}

void dg_sentence_move_tokens(struct dg_sentence *sentence, const struct dg_doc *doc)
{
    for (size_t i = 0; i < sentence->n_tokens; i++) {
        sentence->tokens[i].begin = (uint32_t)dg_doc_origin(doc, sentence->tokens[i].begin);
        sentence->tokens[i].end = (uint32_t)dg_doc_origin(doc, sentence->tokens[i].end);
    }
}
