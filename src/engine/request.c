/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One request: cut, begin, collect, show, finish. */
#include "engine/request.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "engine/prepare.h"

#include <string.h>

enum {
    WINDOW = 128,          /* tickets of one request with the scheduler at a time */
    RESULT_MAX = 1 << 28,  /* bytes of one result */
    SENTENCE_MAX = 1 << 22, /* bytes of one translated sentence */
    KEY_MAX = 1 << 24 /* bytes of a cache key: mostly ids of options */
};

/* ---- Cutting ------------------------------------------------------------------------------------ */

struct measure {
    struct dg_request_tools *tools;
    const struct dg_request *request;
};

static struct dg_prepare_opts prepare_opts(const struct dg_request *request, bool joined)
{
    return (struct dg_prepare_opts){.language = request->loaded->source_tag.language,
                                    .joined = joined,
                                    .keep_case = request->asked.keep_case};
}

/* Tokens of a stretch of text as the model will get it, its end token included. */
static size_t measure(void *ctx, struct dg_span text)
{
    const struct measure *how = ctx;
    const struct dg_tokenizer_opts opts = DG_TOKENIZER_OPTS_DEFAULT;
    const struct dg_prepare_opts prepare = prepare_opts(how->request, false);
    struct dg_prepared prepared;
    const struct dg_token *tokens;
    size_t n = 0;
    enum dg_err err = dg_prepare(&prepared, text, &prepare);
    if (!err)
        err = dg_tokenizer_encode(how->request->loaded->tokenizer, how->tools->work, prepared.text,
                                  &opts, NULL, &tokens, &n);
    dg_prepared_deinit(&prepared);
    return err ? dg_segment_estimate(text) : n;
}

/* Sentences that have nothing to translate become separators: all of them, or those of nothing but
 * addresses, placeholders and the like. */
static enum dg_err pass_through(struct dg_request *request, struct dg_request_tools *tools)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; !err && i < request->n_parts; i++) {
        struct dg_segment *part = &request->parts[i];
        if (part->kind != DG_SEGMENT_SENTENCE)
            continue;
        struct dg_span text = dg_span_sub(request->asked.text, part->at, part->len);
        if (!request->is_copy)
            err = dg_protect_find(text, DG_PROTECT_ALL, &tools->protected);
        if (err || !(request->is_copy || dg_protect_leaves_nothing(text, &tools->protected)))
            continue;
        part->kind = DG_SEGMENT_SEPARATOR;
        request->n_sentences--;
    }
    return err;
}

static enum dg_err cut(struct dg_request *request, struct dg_request_tools *tools,
                       struct dg_why *why)
{
    struct measure how = {tools, request};
    struct dg_segment_opts opts = DG_SEGMENT_OPTS_DEFAULT;
    opts.language = request->loaded->source;
    opts.keep_lines_whole = request->asked.keep_lines_whole;
    opts.join_lines = request->asked.join_lines;
    opts.tokens_max = request->loaded->limits.source_max;
    opts.measure = measure;
    opts.measure_ctx = &how;
    struct dg_segments segments;
    enum dg_err err =
        dg_segmenter_run(tools->segmenter, request->asked.text, &opts, &segments, why);
    if (err)
        return err;
    request->parts = dg_try_calloc(segments.n, sizeof *request->parts);
    request->sentences = dg_try_calloc(segments.n, sizeof(struct dg_sentence *));
    if (!request->parts || !request->sentences)
        return dg_why_set(why, DG_ERR_NOMEM, "no memory for a text of %zu sentences",
                          segments.n_sentences);
    if (segments.n)
        memcpy(request->parts, segments.items, segments.n * sizeof *request->parts);
    request->n_parts = segments.n;
    request->n_sentences = segments.n_sentences;
    request->n_cuts = segments.n_cuts;
    return pass_through(request, tools);
}

enum dg_err dg_request_new(struct dg_request **out, struct dg_request_tools *tools,
                           const struct dg_way *way, const struct dg_engine_request *asked,
                           struct dg_why *why)
{
    size_t bad_at;
    if (!dg_utf8_valid(asked->text, &bad_at))
        return dg_why_set(why, DG_ERR_UTF8, "the text is not valid UTF-8 at byte %zu", bad_at);
    enum dg_err err =
        dg_search_opts_check(&asked->search, way->model->blueprint.decoder.V, why);
    if (err)
        return err;
    struct dg_request *request = dg_try_calloc(1, sizeof *request);
    if (!request)
        return dg_why_set(why, DG_ERR_NOMEM, "no memory for a request");
    dg_list_init(&request->link);
    request->loaded = dg_loaded_ref(way->model);
    request->detected = way->detected;
    request->confidence = way->confidence;
    request->is_copy = way->is_copy;
    request->asked = *asked;
    request->asked.keep_case |= asked->prefix.len > 0 || asked->n_must > 0; /* it says its case */
    dg_flow_init(&request->flow, asked->priority);
    dg_buf_init(&request->result, RESULT_MAX);
    request->began_ns = dg_clock_now(tools->clock);
    if (asked->timeout_ms)
        request->deadline_ns = request->began_ns + asked->timeout_ms * DG_CLOCK_MS;
    request->text = dg_try_malloc(asked->text.len + 1);
    if (!request->text) {
        err = dg_why_set(why, DG_ERR_NOMEM, "no memory for a text of %zu bytes", asked->text.len);
    } else {
        if (asked->text.len)
            memcpy(request->text, asked->text.ptr, asked->text.len);
        request->asked.text = dg_span_make(request->text, asked->text.len);
        err = cut(request, tools, why);
    }
    if (!err)
        err = dg_demands_init(&request->demands, way->model->tokenizer, asked, why);
    if (err) {
        dg_request_free(request);
        return err;
    }
    *out = request;
    return DG_OK;
}

static void free_sentence(struct dg_sentence *sentence)
{
    if (!sentence)
        return;
    dg_list_unlink(&sentence->link);
    dg_flight_unref(sentence->flight);
    dg_free(sentence->tokens);
    dg_tokenizer_stream_deinit(&sentence->stream);
    dg_buf_deinit(&sentence->text);
    dg_free(sentence);
}

void dg_request_free(struct dg_request *request)
{
    if (!request)
        return;
    for (size_t i = 0; request->sentences && i < request->n_parts; i++)
        free_sentence(request->sentences[i]);
    dg_list_unlink(&request->link);
    dg_free(request->sentences);
    dg_free(request->parts);
    dg_free(request->text);
    dg_buf_deinit(&request->result);
    dg_demands_deinit(&request->demands);
    dg_loaded_unref(request->loaded);
    dg_free(request);
}

/* ---- Beginning ---------------------------------------------------------------------------------- */

/* The tokens of a part, with offsets into the request's text. Where what the model gets is not laid out
 * like the original, offsets point at the part as a whole. */
static enum dg_err tokenise(const struct dg_request *request, struct dg_request_tools *tools,
                            struct dg_sentence *sentence, struct dg_why *why)
{
    const struct dg_segment *part = &request->parts[sentence->part];
    const struct dg_tokenizer_opts opts = DG_TOKENIZER_OPTS_DEFAULT;
    const struct dg_prepare_opts prepare = prepare_opts(request, part->joined);
    struct dg_prepared prepared;
    const struct dg_token *tokens;
    enum dg_err err = dg_prepare(
        &prepared, dg_span_sub(request->asked.text, part->at, part->len), &prepare);
    if (!err)
        err = dg_tokenizer_encode(request->loaded->tokenizer, tools->work, prepared.text, &opts, why,
                                  &tokens, &sentence->n_tokens);
    if (!err && !(sentence->tokens = dg_try_calloc(sentence->n_tokens, sizeof *tokens)))
        err = dg_why_set(why, DG_ERR_NOMEM, "no memory for a sentence of %zu tokens",
                         sentence->n_tokens);
    for (size_t i = 0; !err && i < sentence->n_tokens; i++) {
        sentence->tokens[i] = tokens[i];
        sentence->tokens[i].begin = (uint32_t)(part->at + (prepared.in_place ? tokens[i].begin : 0));
        sentence->tokens[i].end =
            (uint32_t)(part->at + (prepared.in_place ? tokens[i].end : part->len));
    }
    sentence->casing = prepared.casing;
    dg_prepared_deinit(&prepared);
    return err;
}

static enum dg_err submit(struct dg_request *request, struct dg_request_tools *tools,
                          struct dg_sentence *sentence, const int32_t *ids,
                          const struct dg_search_opts *search, struct dg_why *why, uint64_t *retry_ms)
{
    struct dg_loaded *loaded = request->loaded;
    size_t n = sentence->n_tokens;
    enum dg_err err = dg_sched_check(loaded->place, ids, n, search, why);
    if (err)
        return err;
    size_t cap = (size_t)dg_search_opts_cap(search, n);
    if (cap > loaded->limits.target_max)
        cap = loaded->limits.target_max;
    struct dg_ticket *ticket = dg_ticket_new(loaded->place, ids, n, search, cap);
    sentence->flight = ticket ? dg_flight_new(ticket, loaded->version) : NULL;
    if (!sentence->flight) {
        dg_ticket_free(ticket);
        return dg_why_set(why, DG_ERR_NOMEM, "no memory for a ticket");
    }
    sentence->flight->leader = sentence;
    ticket->deadline_ns = request->deadline_ns;
    ticket->is_quiet = request->events->on_delta == NULL;
    err = dg_sched_submit(tools->sched, &request->flow, ticket, retry_ms);
    if (err) {
        dg_flight_unref(sentence->flight);
        sentence->flight = NULL;
    }
    return err == DG_ERR_BUSY
               ? dg_why_set(why, err, "the server has as much to do as it takes; try again later")
               : err;
}

/* True when waiting for a ticket of somebody else costs nothing: it is as urgent as ours, and no time
 * limit of either can end it early. */
static bool can_join(const struct dg_request *request, const struct dg_flight *flight)
{
    return request->deadline_ns == 0 && flight->ticket->deadline_ns == 0 && flight->leader &&
           flight->leader->request->asked.priority <= request->asked.priority &&
           flight->leader->request->err == DG_OK;
}

static void take_best(struct dg_request *request, const struct dg_ticket *ticket);
static enum dg_err feed(struct dg_sentence *sentence);

/* An answer that is there already. */
static enum dg_err hit(struct dg_request *request, struct dg_request_tools *tools,
                       struct dg_sentence *sentence, struct dg_flight *flight)
{
    sentence->flight = dg_flight_ref(flight);
    sentence->is_over = true;
    request->n_cached++;
    if (request->first_ns == 0)
        request->first_ns = dg_clock_now(tools->clock);
    take_best(request, flight->ticket);
    dg_cache_stats(tools->cache)->n_hits++;
    return feed(sentence);
}

static void wait_for(struct dg_request *request, struct dg_sentence *sentence)
{
    dg_list_link_last(&sentence->flight->sentences, &sentence->link);
    request->n_open++;
}

/* Finds the sentence's answer in the cache, or somebody who is at it, or else makes a ticket. */
static enum dg_err launch_ids(struct dg_request *request, struct dg_request_tools *tools,
                              struct dg_sentence *sentence, const int32_t *ids, struct dg_buf *key,
                              struct dg_why *why, uint64_t *retry_ms)
{
    struct dg_cache *cache = request->asked.no_cache ? NULL : tools->cache;
    struct dg_search_opts search = request->asked.search;
    struct dg_flight *found = NULL;
    enum dg_err err = DG_OK;
    dg_demands_apply(&request->demands, sentence->is_first, &search);
    if (cache) {
        err = dg_cache_key(request->loaded->version, &search, ids, sentence->n_tokens, key);
        found = err ? NULL : dg_cache_find(cache, dg_buf_span(key));
    }
    if (found && found->is_over)
        return hit(request, tools, sentence, found);
    if (found && can_join(request, found)) {
        sentence->flight = dg_flight_ref(found);
        if (request->events->on_delta)
            found->ticket->is_quiet = false;
        dg_cache_stats(cache)->n_joined++;
        wait_for(request, sentence);
        return DG_OK;
    }
    if (!err)
        err = submit(request, tools, sentence, ids, &search, why, retry_ms);
    if (err)
        return err;
    wait_for(request, sentence);
    if (cache) {
        dg_cache_stats(cache)->n_misses++;
        dg_cache_enter(cache, sentence->flight, dg_buf_span(key));
    }
    return DG_OK;
}

static enum dg_err launch(struct dg_request *request, struct dg_request_tools *tools,
                          struct dg_sentence *sentence, struct dg_why *why, uint64_t *retry_ms)
{
    size_t n = sentence->n_tokens;
    struct dg_buf key;
    int32_t *ids = dg_try_calloc(n ? n : 1, sizeof *ids);
    if (!ids)
        return dg_why_set(why, DG_ERR_NOMEM, "no memory for a sentence of %zu tokens", n);
    for (size_t i = 0; i < n; i++)
        ids[i] = sentence->tokens[i].id;
    dg_buf_init(&key, KEY_MAX);
    enum dg_err err = launch_ids(request, tools, sentence, ids, &key, why, retry_ms);
    dg_buf_deinit(&key);
    dg_free(ids);
    return err;
}

/* Makes the sentence of part `part` and sends it on its way. */
static enum dg_err begin(struct dg_request *request, struct dg_request_tools *tools, size_t part,
                         struct dg_why *why, uint64_t *retry_ms)
{
    struct dg_sentence *sentence = dg_try_calloc(1, sizeof *sentence);
    if (!sentence)
        return dg_why_set(why, DG_ERR_NOMEM, "no memory for a sentence");
    sentence->request = request;
    sentence->part = part;
    sentence->is_first = !request->has_begun;
    dg_list_init(&sentence->link);
    dg_buf_init(&sentence->text, SENTENCE_MAX);
    dg_tokenizer_stream_init(&sentence->stream, request->loaded->tokenizer, SENTENCE_MAX);
    enum dg_err err = tokenise(request, tools, sentence, why);
    if (!err)
        err = launch(request, tools, sentence, why, retry_ms);
    if (err) {
        free_sentence(sentence);
        return err;
    }
    request->sentences[part] = sentence;
    request->has_begun = true;
    request->n_tokens_in += sentence->n_tokens;
    return DG_OK;
}

/* Begins again what waited for a ticket that ended without an answer; what was shown of it stays: the
 * same sentence gives the same tokens. */
static enum dg_err begin_orphans(struct dg_request *request, struct dg_request_tools *tools,
                                 struct dg_why *why, uint64_t *retry_ms)
{
    enum dg_err err = DG_OK;
    for (size_t i = request->n_shown; !err && request->n_orphans > 0 && i < request->n_begun; i++) {
        struct dg_sentence *sentence = request->sentences[i];
        if (!sentence || sentence->flight)
            continue;
        err = launch(request, tools, sentence, why, retry_ms);
        request->n_orphans -= err == DG_OK;
    }
    return err;
}

enum dg_err dg_request_pump(struct dg_request *request, struct dg_request_tools *tools,
                            struct dg_why *why, uint64_t *retry_ms)
{
    size_t n = 0;
    enum dg_err err = request->err ? DG_OK : begin_orphans(request, tools, why, retry_ms);
    while (!err && !request->err && request->n_begun < request->n_parts && request->n_open < WINDOW &&
           n < WINDOW) {
        if (request->parts[request->n_begun].kind == DG_SEGMENT_SENTENCE) {
            err = begin(request, tools, request->n_begun, why, retry_ms);
            n++;
        }
        if (!err)
            request->n_begun++;
    }
    if (err && err != DG_ERR_BUSY)
        dg_request_stop(request, tools, err);
    return err;
}

/* Ends a ticket of our own (others who wait for it begin again), or leaves another's. */
static void let_go(struct dg_sentence *sentence, struct dg_request_tools *tools)
{
    struct dg_flight *flight = sentence->flight;
    if (flight && flight->leader == sentence) {
        dg_sched_cancel(tools->sched, flight->ticket);
        return;
    }
    dg_list_unlink(&sentence->link);
    sentence->is_over = true;
    if (flight)
        sentence->request->n_open--;
    else
        sentence->request->n_orphans--;
}

void dg_request_stop(struct dg_request *request, struct dg_request_tools *tools,
                     enum dg_err err)
{
    if (!request->err)
        request->err = err;
    for (size_t i = request->n_shown; i < request->n_begun; i++)
        if (request->sentences[i] && !request->sentences[i]->is_over)
            let_go(request->sentences[i], tools);
}

/* ---- Showing ------------------------------------------------------------------------------------ */

/* Puts text behind the result and tells it. */
static enum dg_err show(struct dg_request *request, struct dg_span text)
{
    if (text.len == 0)
        return DG_OK;
    enum dg_err err = dg_buf_append_span(&request->result, text);
    if (!err && request->events->on_delta)
        request->events->on_delta(request->ctx, text);
    return err;
}

/* Gives a text the case that its sentence was written in. */
static enum dg_err restore_case(const struct dg_sentence *sentence, struct dg_buf *text, size_t from)
{
    struct dg_buf plain;
    bool restored;
    if (sentence->casing == DG_CASING_PLAIN || text->len == from)
        return DG_OK;
    dg_buf_init(&plain, text->len - from);
    enum dg_err err = dg_buf_append(&plain, text->ptr + from, text->len - from);
    if (!err) {
        dg_buf_truncate(text, from);
        err = dg_casing_restore(dg_buf_span(&plain), sentence->casing,
                                sentence->request->loaded->target_tag.language, text, &restored);
    }
    dg_buf_deinit(&plain);
    return err;
}

/* Detokenises what the ticket has shown since the last time, and the rest when it is over. */
static enum dg_err feed(struct dg_sentence *sentence)
{
    const struct dg_ticket *ticket = sentence->flight->ticket;
    size_t n = dg_ticket_shown(ticket);
    enum dg_err err = DG_OK;
    struct dg_span delta;
    for (; !err && sentence->n_fed < n; sentence->n_fed++) {
        err = dg_tokenizer_stream_push(&sentence->stream, ticket->shown_ids[sentence->n_fed], &delta);
        if (!err)
            err = dg_buf_append_span(&sentence->text, delta);
    }
    if (!err && sentence->is_over) {
        err = dg_tokenizer_stream_finish(&sentence->stream, &delta);
        if (!err)
            err = dg_buf_append_span(&sentence->text, delta);
        if (!err)
            err = restore_case(sentence, &sentence->text, 0);
    }
    return err;
}

/* Decodes the answers behind the first one into `texts` and lists all of them. */
static enum dg_err list_answers(const struct dg_sentence *sentence, struct dg_buf *texts,
                                struct dg_engine_answer *answers)
{
    const struct dg_ticket *ticket = sentence->flight->ticket;
    size_t ends[DG_BEAM_MAX + 1] = {0};
    enum dg_err err = DG_OK;
    for (size_t i = 1; !err && i < ticket->n_answers; i++) {
        err = dg_tokenizer_decode(sentence->request->loaded->tokenizer, ticket->answers[i].ids,
                                  ticket->answers[i].n_ids, texts);
        if (!err)
            err = restore_case(sentence, texts, ends[i - 1]);
        ends[i] = texts->len;
    }
    for (size_t i = 0; !err && i < ticket->n_answers; i++) {
        const struct dg_ticket_answer *from = &ticket->answers[i];
        answers[i] = (struct dg_engine_answer){
            .text = i == 0 ? dg_buf_span(&sentence->text)
                           : dg_span_sub(dg_buf_span(texts), ends[i - 1], ends[i] - ends[i - 1]),
            .logprob = from->logprob,
            .score = from->score,
            .finish = from->finish,
            .repaired = from->repaired,
            .ids = from->ids,
            .logprobs = from->logprobs,
            .n_ids = from->n_ids,
            .alignment = from->alignment,
        };
    }
    return err;
}

static enum dg_err tell_sentence(struct dg_request *request, struct dg_sentence *sentence)
{
    if (!request->events->on_sentence)
        return DG_OK;
    const struct dg_segment *part = &request->parts[sentence->part];
    struct dg_engine_answer answers[DG_BEAM_MAX];
    struct dg_buf texts;
    dg_buf_init(&texts, (size_t)SENTENCE_MAX * DG_BEAM_MAX);
    enum dg_err err = list_answers(sentence, &texts, answers);
    if (!err) {
        struct dg_engine_sentence told = {
            .index = request->n_told,
            .at = part->at,
            .len = part->len,
            .was_cut = part->cut != DG_SEGMENT_CUT_NONE,
            .source = sentence->tokens,
            .n_source = sentence->n_tokens,
            .answers = answers,
            .n_answers = sentence->flight->ticket->n_answers,
            .err = sentence->flight->ticket->err,
        };
        request->events->on_sentence(request->ctx, &told);
    }
    dg_buf_deinit(&texts);
    return err;
}

/* Shows everything that is now in order. Sentences told are let go. */
static enum dg_err show_in_order(struct dg_request *request)
{
    enum dg_err err = DG_OK;
    while (!err && request->n_shown < request->n_parts && !request->err) {
        const struct dg_segment *part = &request->parts[request->n_shown];
        if (part->kind == DG_SEGMENT_SEPARATOR) {
            err = show(request, dg_span_sub(request->asked.text, part->at, part->len));
            request->n_shown++;
            continue;
        }
        struct dg_sentence *sentence = request->sentences[request->n_shown];
        if (!sentence)
            break;
        if (sentence->casing != DG_CASING_PLAIN && !sentence->is_over)
            break; /* letters change at the end */
        err = show(request, dg_span_sub(dg_buf_span(&sentence->text), sentence->n_told,
                                        sentence->text.len));
        sentence->n_told = sentence->text.len;
        if (err || !sentence->is_over)
            break;
        err = tell_sentence(request, sentence);
        request->n_told++;
        request->sentences[request->n_shown++] = NULL;
        free_sentence(sentence);
    }
    return err;
}

/* ---- Collecting --------------------------------------------------------------------------------- */

/* How bad an end is, for the one finish reason of a whole request. */
static int badness(enum dg_finish finish)
{
    static const int rank[] = {
        [DG_FINISH_EOS] = 0,    [DG_FINISH_LOOP] = 1,      [DG_FINISH_LENGTH] = 2,
        [DG_FINISH_FAILED] = 3, [DG_FINISH_CANCELLED] = 4,
    };
    return rank[finish];
}

static void take_best(struct dg_request *request, const struct dg_ticket *ticket)
{
    if (ticket->n_answers == 0)
        return;
    const struct dg_ticket_answer *best = &ticket->answers[0];
    request->n_tokens_out += best->n_ids;
    request->repaired |= best->repaired;
    if (badness(best->finish) > badness(request->finish))
        request->finish = best->finish;
}

/* The end of what a sentence waited for. False: it is not the sentence's end, another's ticket failed. */
static bool end(struct dg_sentence *sentence, bool is_leader)
{
    struct dg_request *request = sentence->request;
    const struct dg_ticket *ticket = sentence->flight->ticket;
    dg_list_unlink(&sentence->link);
    request->n_open--;
    if (!is_leader && ticket->err) {
        dg_flight_unref(sentence->flight);
        sentence->flight = NULL;
        request->n_orphans++;
        return false;
    }
    sentence->is_over = true;
    if (ticket->started_ns - ticket->queued_ns > request->queue_ns && ticket->started_ns)
        request->queue_ns = ticket->started_ns - ticket->queued_ns;
    take_best(request, ticket);
    return true;
}

static void take(struct dg_sentence *sentence, struct dg_request_tools *tools, bool is_over,
                 bool is_leader)
{
    struct dg_request *request = sentence->request;
    const struct dg_ticket *ticket = sentence->flight->ticket;
    enum dg_err err = is_over ? ticket->err : DG_OK;
    if (request->first_ns == 0 && dg_ticket_shown(ticket) > 0)
        request->first_ns = dg_clock_now(tools->clock);
    if (is_over && !end(sentence, is_leader))
        return;
    if (!err && !request->err)
        err = feed(sentence);
    if (!err)
        err = show_in_order(request);
    if (err)
        dg_request_stop(request, tools, err);
}

void dg_request_take(struct dg_request_tools *tools, struct dg_ticket *ticket, bool is_over)
{
    struct dg_flight *flight = dg_flight_ref(ticket->ctx);
    const struct dg_sentence *leader = flight->leader;
    struct dg_list todo, *at;
    if (is_over) {
        flight->is_over = true;
        flight->leader = NULL;
        if (tools->cache)
            dg_cache_settle(tools->cache, flight);
    }
    /* Events may cancel or begin requests, which takes sentences out of either list. */
    dg_list_init(&todo);
    while ((at = dg_list_pop_first(&flight->sentences)))
        dg_list_link_last(&todo, at);
    while ((at = dg_list_pop_first(&todo))) {
        struct dg_sentence *sentence = DG_LIST_ITEM(at, struct dg_sentence, link);
        dg_list_link_last(&flight->sentences, at);
        take(sentence, tools, is_over, sentence == leader);
    }
    dg_flight_unref(flight);
}

void dg_request_show(struct dg_request *request, struct dg_request_tools *tools)
{
    enum dg_err err = show_in_order(request);
    if (err)
        dg_request_stop(request, tools, err);
}

bool dg_request_is_over(const struct dg_request *request)
{
    return request->n_open == 0 && (request->err || request->n_shown == request->n_parts);
}

void dg_request_finish(struct dg_request *request, struct dg_request_tools *tools)
{
    uint64_t now = dg_clock_now(tools->clock);
    struct dg_engine_result result = {
        .err = request->err,
        .text = dg_buf_span(&request->result),
        .finish = request->err == DG_ERR_CANCELLED ? DG_FINISH_CANCELLED : request->finish,
        .repaired = request->repaired,
        .n_sentences = request->n_sentences,
        .n_cuts = request->n_cuts,
        .n_cached = request->n_cached,
        .model = request->loaded->name,
        .source = request->loaded->source,
        .target = request->loaded->target,
        .detected = request->detected,
        .confidence = request->confidence,
        .n_tokens_in = request->n_tokens_in,
        .n_tokens_out = request->n_tokens_out,
        .n_characters = dg_utf8_count(request->asked.text),
        .queue_ns = request->queue_ns,
        .first_ns = request->first_ns ? request->first_ns - request->began_ns : 0,
        .total_ns = now - request->began_ns,
    };
    request->events->on_done(request->ctx, &result);
}
