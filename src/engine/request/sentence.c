/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The course of a sentence: its tickets are collected (tokens become text as they come), and it is
 * sent on to the next piece or hop. sentence_ready.c makes it ready, sentence_launch.c launches it,
 * sentence_answer.c answers. The header shows the states; request.c decides when. */
#include "base/memory/mem.h"
#include "engine/models/translation_prompt.h"
#include "engine/request/sentence_int.h"
#include "engine/request/text_split.h"

#include <string.h>

/* ---- Legs ------------------------------------------------------------------------------------ */

enum dg_err dg_sentence_find_ends(const struct dg_sentence *sentence,
                                  const struct dg_ticket_answer *best, size_t *ends)
{
    struct dg_tokenizer_stream stream;
    struct dg_span delta;
    const size_t begin = sentence->placeholders && dg_sentence_is_last_leg(sentence)
                             ? sentence->placeholders->before.len
                             : 0;
    size_t said = 0;
    enum dg_err err = DG_OK;
    dg_tokenizer_stream_init(&stream, dg_sentence_model(sentence)->tokenizer, DG_SENTENCE_MAX);
    for (size_t i = 0; i < best->n_ids && !err; i++) {
        err = dg_tokenizer_stream_push(&stream, best->ids[i], &delta);
        said += err ? 0 : delta.len;
        ends[i] = said;
    }
    if (!err)
        err = dg_tokenizer_stream_finish(&stream, &delta);
    dg_tokenizer_stream_deinit(&stream);
    if (err || best->n_ids == 0)
        return err;
    if (delta.len)
        ends[best->n_ids - 1] = said += delta.len;
    if (sentence->placeholders) {
        for (size_t i = 0; i < best->n_ids; i++)
            ends[i] =
                dg_placeholders_told(sentence->placeholders, ends[i], begin, sentence->text.len);
        return DG_OK;
    }
    for (size_t i = 0; i < best->n_ids && said != sentence->text.len && said > 0; i++)
        ends[i] = ends[i] * sentence->text.len / said;
    return DG_OK;
}

/* At the end of the first of two hops: finds the terms in its output. */
static enum dg_err follow_terms(struct dg_sentence *sentence)
{
    const struct dg_ticket_answer *best = dg_sentence_best(sentence);
    if (sentence->terms.n == 0 || !best || !best->alignment)
        return DG_OK;
    size_t *ends = dg_try_calloc(best->n_ids + 1, sizeof *ends);
    enum dg_err err = ends ? dg_sentence_find_ends(sentence, best, ends) : DG_ERR_NOMEM;
    const struct dg_terms_said said = {.ids = best->ids,
                                       .ends = ends,
                                       .alignment = best->alignment,
                                       .n = best->n_ids,
                                       .n_source = sentence->flight->ticket->n_src,
                                       .joining = dg_sentence_model(sentence)->joining};
    if (!err)
        dg_terms_follow(&sentence->terms, &said);
    dg_free(ends);
    return err;
}

/* Cuts the output of the previous hop for the model of this one. */
static enum dg_err cut_via(struct dg_sentence *sentence, struct dg_request_tools *tools)
{
    const struct dg_served_model *model = dg_sentence_model(sentence);
    const struct dg_text_split_opts opts = {
        .pair = dg_sentence_pair(sentence),
        .keep_case = true,
        /* for the placeholder words */
        .reserve =
            sentence->placeholders ? sentence->placeholders->n * DG_PLACEHOLDERS_WORD_IDS : 0};
    struct dg_segments segments;
    enum dg_err err =
        dg_text_split(tools, model, dg_buf_span(&sentence->via), &opts, &segments, NULL);
    if (err)
        return err;
    struct dg_segment *pieces =
        dg_try_realloc(sentence->pieces, (segments.n ? segments.n : 1) * sizeof *pieces);
    if (!pieces)
        return DG_ERR_NOMEM;
    if (segments.n)
        memcpy(pieces, segments.items, segments.n * sizeof *pieces);
    sentence->pieces = pieces;
    sentence->n_pieces = segments.n;
    sentence->n_pieces_begun = 0;
    return DG_OK;
}

static enum dg_err ready_piece(struct dg_sentence *sentence, struct dg_request_tools *tools,
                               const struct dg_segment *segment)
{
    struct dg_span piece = dg_span_sub(dg_buf_span(&sentence->via), segment->at, segment->len);
    const struct dg_token *tokens = NULL;
    struct dg_token *owned = NULL;
    size_t n = 0;
    struct dg_buf dressed;
    const struct dg_served_model *model = dg_sentence_model(sentence);
    dg_flight_unref(sentence->flight);
    sentence->flight = NULL;
    sentence->n_fed = sentence->n_carried = 0;
    dg_buf_clear(&sentence->raw);
    sentence->heard_from = sentence->heard_upto = 0;
    sentence->out = (struct dg_placeholders_out){.n_read = 0};
    dg_tokenizer_stream_deinit(&sentence->stream);
    dg_tokenizer_stream_init(&sentence->stream, model->tokenizer, DG_SENTENCE_MAX);
    if (model->template)
        dg_tokenizer_stream_goes_on(&sentence->stream);
    dg_buf_init(&dressed, 8 * piece.len + 1024);
    enum dg_err err = DG_OK;
    if (sentence->placeholders && sentence->placeholders->n > 0) {
        err = dg_placeholders_dress(sentence->placeholders, piece, &model->carry_words, &dressed);
        piece = dg_buf_span(&dressed);
    }
    if (!err)
        err = dg_sentence_encode(sentence, tools, piece, NULL, &tokens, &n, &owned);
    if (!err)
        err = dg_sentence_set_ids(sentence, tokens, n, NULL);
    if (!err)
        err = dg_sentence_constrain(sentence, tokens, n);
    const struct dg_terms_piece terms = {.at = segment->at,
                                         .len = segment->len,
                                         .is_first = sentence->n_tickets == 0,
                                         .placeholders = sentence->placeholders,
                                         .tokens = tokens,
                                         .n_tokens = n};
    if (!err)
        dg_terms_tie(&sentence->terms, &terms);
    dg_free(owned);
    dg_buf_deinit(&dressed);
    return err;
}

enum dg_err dg_sentence_restore_case(const struct dg_sentence *sentence, struct dg_buf *text,
                                     size_t from)
{
    struct dg_buf plain;
    bool restored;
    if (sentence->casing == DG_CASING_PLAIN || text->len == from)
        return DG_OK;
    const struct dg_request *request = sentence->request;
    dg_buf_init(&plain, text->len - from);
    enum dg_err err = dg_buf_append(&plain, text->ptr + from, text->len - from);
    if (!err) {
        dg_buf_truncate(text, from);
        err = dg_casing_restore(dg_buf_span(&plain), sentence->casing,
                                request->pairs[request->n_hops - 1].target->tag.language, text,
                                &restored);
    }
    dg_buf_deinit(&plain);
    return err;
}

/* Adds the text between two pieces, and puts back the spans whose marks are in it. */
static enum dg_err put_between(struct dg_sentence *sentence, struct dg_span text)
{
    struct dg_placeholders_out out = {.keeps_marks = !dg_sentence_is_last_leg(sentence)};
    return sentence->placeholders
               ? dg_placeholders_undress(sentence->placeholders, &out, text, true, &sentence->text)
               : dg_buf_append_span(&sentence->text, text);
}

static bool has_bytes(struct dg_span text, struct dg_span bytes)
{
    for (size_t at = 0; at + bytes.len <= text.len; at++)
        if (memcmp(text.ptr + at, bytes.ptr, bytes.len) == 0)
            return true;
    return false;
}

static enum dg_err note_lost(struct dg_sentence *sentence, struct dg_span bytes)
{
    sentence->n_lost++;
    return dg_request_note_lost(sentence->request, bytes);
}

/* Checks the spans beyond DG_PLACEHOLDERS_MAX, which went to the model unchanged. */
static enum dg_err check_left(struct dg_sentence *sentence, struct dg_request_tools *tools)
{
    const struct dg_placeholders *placeholders = sentence->placeholders;
    const struct dg_placeholders_item *last =
        placeholders->n ? &placeholders->items[placeholders->n - 1] : NULL;
    if (placeholders->n_left == 0 || !last)
        return DG_OK;
    struct dg_span text = dg_span_make(placeholders->text, placeholders->len);
    enum dg_err err = dg_protect_find(text, DG_PROTECT_ALL, &tools->protected);
    for (size_t i = 0; !err && i < tools->protected.n; i++) {
        const struct dg_protect_span *span = &tools->protected.items[i];
        struct dg_span bytes = dg_span_sub(text, span->at, span->len);
        if (span->at >= last->at + last->len && !has_bytes(dg_buf_span(&sentence->text), bytes))
            err = note_lost(sentence, bytes);
    }
    return err;
}

/* Undresses the last bytes and notes the spans that the translation lacks. */
static enum dg_err end_text(struct dg_sentence *sentence, struct dg_request_tools *tools)
{
    struct dg_placeholders *placeholders = sentence->placeholders;
    if (!placeholders)
        return DG_OK;
    dg_placeholders_check(placeholders, dg_buf_span(&sentence->text));
    enum dg_err err = check_left(sentence, tools);
    if (!err)
        err = dg_buf_append_span(&sentence->text, placeholders->after);
    for (size_t i = 0; !err && i < placeholders->n; i++)
        if (!placeholders->items[i].is_said)
            err = note_lost(sentence, dg_placeholders_bytes(placeholders, i));
    return err;
}

/* Goes on after the end of a ticket: to the next piece, to the next hop, or to the end. */
static enum dg_err go_on(struct dg_sentence *sentence, struct dg_request_tools *tools)
{
    for (;;) {
        while (sentence->n_pieces_begun < sentence->n_pieces) {
            const struct dg_segment *piece = &sentence->pieces[sentence->n_pieces_begun++];
            if (piece->kind == DG_SEGMENT_SENTENCE)
                return ready_piece(sentence, tools, piece);
            enum dg_err err = put_between(
                sentence, dg_span_sub(dg_buf_span(&sentence->via), piece->at, piece->len));
            if (err)
                return err;
        }
        if (dg_sentence_is_last_leg(sentence))
            break;
        enum dg_err err = follow_terms(sentence);
        if (err)
            return err;
        struct dg_buf said = sentence->text;
        sentence->text = sentence->via;
        sentence->via = said;
        dg_buf_clear(&sentence->text);
        sentence->hop++;
        sentence->n_tickets = 0;
        err = cut_via(sentence, tools);
        if (!err)
            err = dg_sentence_begin_text(sentence);
        if (err)
            return err;
    }
    sentence->is_over = true;
    sentence->request->n_cached += sentence->is_cached;
    enum dg_err err = end_text(sentence, tools);
    return err ? err : dg_terms_check(&sentence->terms, dg_buf_span(&sentence->text), &tools->scan);
}

/* ---- Collecting ------------------------------------------------------------------------------ */

int dg_finish_badness(enum dg_finish finish)
{
    static const int rank[] = {
        [DG_FINISH_EOS] = 0,    [DG_FINISH_LOOP] = 1,      [DG_FINISH_LENGTH] = 2,
        [DG_FINISH_FAILED] = 3, [DG_FINISH_CANCELLED] = 4,
    };
    return rank[finish];
}

/* Emits the part of a language model's output that is certainly its translation. */
static enum dg_err emit_heard(struct dg_sentence *sentence, bool is_over)
{
    const struct dg_span said = dg_buf_span(&sentence->raw);
    const size_t told = sentence->heard_upto - sentence->heard_from;
    dg_translation_prompt_hear(dg_sentence_model(sentence)->template, said, is_over,
                               &sentence->heard_from, &sentence->heard_upto);
    const size_t len = sentence->heard_upto - sentence->heard_from;
    return dg_buf_append_span(&sentence->text,
                              dg_span_sub(said, sentence->heard_from + told, len - told));
}

/* Puts the model's output into the text as it will be shown. If the case must be restored, nothing
 * is put there before the end. */
static enum dg_err emit(struct dg_sentence *sentence, bool is_over)
{
    struct dg_placeholders_out *out = &sentence->out;
    if (dg_sentence_model(sentence)->template)
        return emit_heard(sentence, is_over);
    bool is_cased = sentence->casing != DG_CASING_PLAIN && dg_sentence_is_last_leg(sentence);
    if (is_cased && !is_over)
        return DG_OK;
    enum dg_err err = is_cased ? dg_sentence_restore_case(sentence, &sentence->raw, 0) : DG_OK;
    if (err)
        return err;
    out->any_case = is_cased;
    out->keeps_marks = !dg_sentence_is_last_leg(sentence);
    if (sentence->placeholders && sentence->placeholders->n > 0)
        return dg_placeholders_undress(sentence->placeholders, out, dg_buf_span(&sentence->raw),
                                       is_over, &sentence->text);
    struct dg_span rest = dg_span_sub(dg_buf_span(&sentence->raw), out->n_read, sentence->raw.len);
    out->n_read = sentence->raw.len;
    return dg_buf_append_span(&sentence->text, rest);
}

/* Detokenises what the ticket has shown since the last time, and the rest when it is over. */
static enum dg_err feed(struct dg_sentence *sentence, bool is_over)
{
    const struct dg_ticket *ticket = sentence->flight->ticket;
    size_t n = dg_ticket_shown(ticket);
    enum dg_err err = DG_OK;
    struct dg_span delta;
    for (; !err && sentence->n_fed < n; sentence->n_fed++) {
        err =
            dg_tokenizer_stream_push(&sentence->stream, ticket->shown_ids[sentence->n_fed], &delta);
        /* an id beyond the vocabulary, from a padded output row */
        if (err == DG_ERR_RANGE && dg_sentence_model(sentence)->template)
            err = DG_OK;
        else if (!err)
            err = dg_buf_append_span(&sentence->raw, delta);
    }
    if (!err && is_over) {
        err = dg_tokenizer_stream_finish(&sentence->stream, &delta);
        if (!err)
            err = dg_buf_append_span(&sentence->raw, delta);
    }
    const char *language = dg_sentence_pair(sentence)->target->tag.language;
    if (!err && dg_sentence_is_last_leg(sentence) &&
        dg_terms_may_elide(&sentence->terms, language)) {
        if (!is_over)
            return DG_OK; /* a search that places terms shows nothing before its end either */
        err = dg_terms_elide(&sentence->terms, &sentence->raw, 0);
    }
    return err ? err : emit(sentence, is_over);
}

/* Adds the best answer of a ticket to the sums of the sentence and of its request. */
static void add_up(struct dg_sentence *sentence)
{
    struct dg_request *request = sentence->request;
    const struct dg_ticket *ticket = sentence->flight->ticket;
    struct dg_engine_answer *sum = &sentence->sum;
    sentence->n_tickets++;
    if (ticket->n_answers == 0)
        return;
    const struct dg_ticket_answer *best = &ticket->answers[0];
    sum->logprob += best->logprob;
    sentence->n_said += best->n_ids;
    sum->score += best->score;
    sum->repaired |= best->repaired;
    if (dg_finish_badness(best->finish) > dg_finish_badness(sum->finish))
        sum->finish = best->finish;
    request->n_tokens_out += dg_sentence_is_last_leg(sentence) ? best->n_ids : 0;
    request->repaired |= best->repaired;
    if (dg_finish_badness(best->finish) > dg_finish_badness(request->finish))
        request->finish = best->finish;
}

/* Repeats a search that could not finish with all forced words, this time without forcing the
 * placeholders. Their words usually occur anyway; those that do not are reported as lost. */
static bool gives_way(struct dg_sentence *sentence)
{
    const struct dg_ticket *ticket = sentence->flight->ticket;
    if (sentence->n_carried == 0 || sentence->n_fed > 0 || ticket->err || ticket->n_answers == 0 ||
        ticket->answers[0].finish == DG_FINISH_EOS)
        return false;
    sentence->n_carried = 0;
    dg_flight_unref(sentence->flight);
    sentence->flight = NULL;
    return true;
}

/* Finds out whether the answer has all plain numbers of the source. */
static enum dg_err says_numbers(const struct dg_sentence *sentence, struct dg_request_tools *tools,
                                bool *says)
{
    const struct dg_request *request = sentence->request;
    const struct dg_segment *part = &request->parts[sentence->part];
    const struct dg_span source = dg_span_sub(request->asked.text, part->at, part->len);
    const struct dg_ticket_answer *best = &sentence->flight->ticket->answers[0];
    struct dg_buf said;
    dg_buf_init(&said, DG_SENTENCE_MAX);
    enum dg_err err =
        dg_tokenizer_decode(dg_sentence_model(sentence)->tokenizer, best->ids, best->n_ids, &said);
    if (!err)
        err = dg_protect_find(source, DG_PROTECT_ALL, &tools->protected);
    *says = true;
    for (size_t i = 0; !err && *says && i < tools->protected.n; i++) {
        const struct dg_protect_span *span = &tools->protected.items[i];
        const struct dg_span number = dg_span_sub(source, span->at, span->len);
        if (span->kind == DG_PROTECT_NUMBER && dg_protect_is_plain_number(number))
            *says = dg_protect_has_number(dg_buf_span(&said), source, span->at, span->len);
    }
    dg_buf_deinit(&said);
    return err;
}

/* Repeats a search whose answer lacks a number of the source, this time with placeholders for the
 * numbers. Nothing of the answer was shown before its end. */
static enum dg_err carry_numbers(struct dg_sentence *sentence, struct dg_request_tools *tools,
                                 bool *is_again)
{
    const struct dg_ticket *ticket = sentence->flight->ticket;
    bool says;
    *is_again = false;
    if (sentence->n_numbers == 0 || ticket->err || ticket->n_answers == 0)
        return DG_OK;
    enum dg_err err = says_numbers(sentence, tools, &says);
    if (err || says)
        return err;
    *is_again = true;
    dg_flight_unref(sentence->flight);
    sentence->flight = NULL;
    return dg_sentence_carry_numbers(sentence, tools);
}

enum dg_err dg_sentence_conclude(struct dg_sentence *sentence, struct dg_request_tools *tools)
{
    struct dg_request *request = sentence->request;
    const struct dg_ticket *ticket = sentence->flight->ticket;
    bool is_again = false;
    enum dg_err err = request->task.err ? DG_OK : carry_numbers(sentence, tools, &is_again);
    if (err)
        sentence->is_over = true;
    if (err || is_again || (!request->task.err && gives_way(sentence)))
        return err; /* otherwise it is ready once more */
    add_up(sentence);
    if (ticket->err || request->task.err) {
        sentence->err = ticket->err ? ticket->err : request->task.err;
        sentence->is_over = true;
        return ticket->err;
    }
    err = feed(sentence, true);
    if (!err)
        err = go_on(sentence, tools);
    sentence->is_over |= err != DG_OK; /* it waits for nothing any more */
    return err;
}

void dg_sentence_note_first(struct dg_sentence *sentence, struct dg_request_tools *tools)
{
    if (sentence->request->first_ns == 0 && dg_sentence_is_last_leg(sentence) &&
        dg_ticket_shown(sentence->flight->ticket) > 0)
        sentence->request->first_ns = dg_clock_now(tools->tasks->clock);
}

enum dg_err dg_sentence_take(struct dg_sentence *sentence, struct dg_request_tools *tools,
                             bool is_over, bool is_leader)
{
    struct dg_request *request = sentence->request;
    const struct dg_flight *flight = sentence->flight;
    const struct dg_ticket *ticket = flight->ticket;
    dg_sentence_note_first(sentence, tools);
    if (!is_over)
        return request->task.err || sentence->n_numbers ? DG_OK : feed(sentence, false);
    dg_list_unlink(&sentence->link);
    request->task.n_open--;
    /* the sentence itself has not ended: it is ready again */
    if (ticket->err && (!is_leader || ticket->err == DG_ERR_BUSY)) {
        dg_flight_unref(sentence->flight);
        sentence->flight = NULL;
        return DG_OK;
    }
    if (ticket->started_ns && ticket->started_ns - ticket->queued_ns > request->queue_ns)
        request->queue_ns = ticket->started_ns - ticket->queued_ns;
    sentence->is_cached &= flight->asking && flight->asking->is_hit;
    return dg_sentence_conclude(sentence, tools);
}
