/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How a ready sentence finds its answer: in the cache, in a flight under way, or by a ticket of its
 * own. */
#include "base/memory/mem.h"
#include "engine/cache/remote_value.h"
#include "engine/models/translation_prompt.h"
#include "engine/request/sentence_int.h"

#include <string.h>

enum { KEY_MAX = 1 << 24 /* bytes of a cache key, most of which are ids from the options */ };

static void wait_for(struct dg_sentence *sentence)
{
    dg_list_link_last(&sentence->flight->sentences, &sentence->link);
    sentence->request->task.n_open++;
}

/* Returns true when no output of the ticket is shown before its end. */
static bool is_quiet(const struct dg_sentence *sentence)
{
    return !sentence->request->events->on_delta || !dg_sentence_is_last_leg(sentence) ||
           sentence->casing != DG_CASING_PLAIN || sentence->n_numbers ||
           (sentence->request->doc && sentence->request->doc_parts[sentence->part].has_markup);
}

static enum dg_err make_flight(struct dg_sentence *sentence, const struct dg_search_opts *search,
                               struct dg_error *error)
{
    struct dg_served_model *model = dg_sentence_model(sentence);
    size_t n = sentence->n_ids;
    enum dg_err err = dg_sched_check(model->place, sentence->ids, n, search, error);
    if (err)
        return err;
    size_t cap = (size_t)dg_search_opts_cap(search, n);
    if (cap > model->limits.target_max)
        cap = model->limits.target_max;
    struct dg_ticket *ticket = dg_ticket_new(model->place, sentence->ids, n, search, cap);
    sentence->flight = ticket ? dg_flight_new(ticket, model->version) : NULL;
    if (!sentence->flight) {
        dg_ticket_free(ticket);
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a ticket");
    }
    sentence->flight->leader = sentence;
    ticket->deadline_ns = sentence->request->task.deadline_ns;
    ticket->is_quiet = is_quiet(sentence);
    return DG_OK;
}

/* Asks the remote cache, if there is one and the answer does not depend on the request. */
static bool ask_remote(struct dg_sentence *sentence, struct dg_request_tools *tools,
                       struct dg_span local)
{
    char key[DG_REMOTE_KEY_MAX];
    const struct dg_served_model *model = dg_sentence_model(sentence);
    if (!tools->lookups.remote.get || tools->cache_per_client || !model->has_fingerprint ||
        sentence->request->asked.no_cache || sentence->flight->ticket->opts.want_alignment)
        return false;
    dg_remote_key(model->fingerprint, &model->limits,
                  dg_span_sub(local, DG_CACHE_KEY_VERSION, local.len), key);
    return dg_remote_lookups_begin(&tools->lookups, dg_clock_now(tools->tasks->clock),
                                   sentence->flight, key);
}

static enum dg_err submit(struct dg_sentence *sentence, struct dg_request_tools *tools,
                          struct dg_error *error, uint64_t *retry_ms)
{
    enum dg_err err = dg_sched_submit(tools->tasks->sched, &sentence->request->flows[sentence->hop],
                                      sentence->flight->ticket, retry_ms);
    if (err) {
        dg_flight_unref(sentence->flight);
        sentence->flight = NULL;
    }
    return err == DG_ERR_BUSY
               ? dg_error_set(error, err,
                              "the server has as much work as it accepts; try again later")
               : err;
}

/* Returns true when waiting for another request's ticket costs nothing: that ticket is as urgent as
 * ours would be, no time limit of either request can end it early, and it does not wait in another
 * client's line. */
static bool can_join(const struct dg_request *request, const struct dg_flight *flight)
{
    if (request->task.deadline_ns || flight->ticket->deadline_ns || !flight->leader)
        return false;
    const struct dg_request *leader = flight->leader->request;
    return leader->asked.priority <= request->asked.priority && leader->task.err == DG_OK &&
           (leader->asked.client == request->asked.client || dg_ticket_shown(flight->ticket) > 0);
}

bool dg_sentence_needs_alignment(const struct dg_sentence *sentence)
{
    const struct dg_request *request = sentence->request;
    if (dg_sentence_model(sentence)->template)
        return false;
    if (!dg_sentence_is_last_leg(sentence))
        return dg_terms_are_demanded(&sentence->terms);
    return request->n_hops == 1 && request->doc && request->doc_parts[sentence->part].has_markup;
}

/* Adds the placeholders and the glossary terms to the forced words of `search`. */
static enum dg_err demand_more(struct dg_sentence *sentence, struct dg_search_opts *search)
{
    size_t n = sentence->n_carried,
           n_placed = dg_sentence_is_last_leg(sentence) ? sentence->terms.n : 0;
    if (n == 0 && n_placed == 0)
        return DG_OK;
    if (!sentence->constraints)
        sentence->constraints = dg_try_calloc(DG_CONSTRAINTS_MAX, sizeof *sentence->constraints);
    if (!sentence->constraints)
        return DG_ERR_NOMEM;
    if (n)
        memcpy(sentence->constraints, sentence->carried, n * sizeof *sentence->constraints);
    if (n_placed)
        n +=
            dg_terms_constrain(&sentence->terms, sentence->constraints + n, DG_CONSTRAINTS_MAX - n);
    /* Terms that are left out here may still occur in the answer, and are reported if they do
     * not. */
    for (size_t i = 0; i < search->n_constraints && n < DG_CONSTRAINTS_MAX; i++)
        sentence->constraints[n++] = search->constraints[i];
    search->constraints = sentence->constraints;
    search->n_constraints = n;
    search->joining = dg_sentence_model(sentence)->joining;
    return DG_OK;
}

/* Makes the options of the sentence's search: plain options for the first of two hops, the
 * request's options for the last hop. */
static enum dg_err search_of(struct dg_sentence *sentence, struct dg_search_opts *out)
{
    const struct dg_request *request = sentence->request;
    struct dg_search_opts search = request->asked.search;
    struct dg_search_usual usual = {.length_penalty = request->asked.usual_length};
    if (!dg_sentence_is_last_leg(sentence)) {
        const struct dg_search_opts plain = DG_SEARCH_OPTS_DEFAULT;
        search = plain;
        search.beam = request->asked.search.sample ? 1 : request->asked.search.beam;
        usual.length_penalty = true;
    } else if (sentence->n_tickets == 0) { /* with several pieces, only the first one has it */
        dg_forced_tokens_apply(&request->forced, sentence->is_first, &search);
    }
    search.suppress_unk = true; /* the unknown word would be of no use to a reader */
    search.want_alignment |= dg_sentence_needs_alignment(sentence);
    dg_pair_lead(dg_sentence_pair(sentence), &search);
    if (dg_sentence_model(sentence)->template)
        search.ends = dg_translation_prompt_ends(dg_sentence_model(sentence)->template);
    enum dg_err err = demand_more(sentence, &search);
    const size_t longest = dg_terms_longest(&sentence->terms, sentence->n_ids);
    if (longest > 0 && longest < (size_t)search.max_len)
        search.max_len = (int)longest;
    dg_search_opts_complete(&search, &dg_sentence_model(sentence)->blueprint, usual, 0);
    *out = search;
    return err;
}

/* Uses an answer that the cache already has. */
static enum dg_err hit(struct dg_sentence *sentence, struct dg_request_tools *tools,
                       struct dg_flight *found)
{
    sentence->flight = dg_flight_ref(found);
    dg_cache_stats(tools->cache)->n_hits++;
    dg_sentence_model(sentence)->cache_counts->n_hits++;
    dg_sentence_note_first(sentence, tools);
    return dg_sentence_conclude(sentence, tools);
}

static void join(struct dg_sentence *sentence, struct dg_request_tools *tools,
                 struct dg_flight *found)
{
    sentence->flight = dg_flight_ref(found);
    if (!is_quiet(sentence))
        found->ticket->is_quiet = false;
    dg_cache_stats(tools->cache)->n_joined++;
    dg_sentence_model(sentence)->cache_counts->n_joined++;
    wait_for(sentence);
}

/* Finds the answer in the cache or a flight under way, or else makes a ticket. */
static enum dg_err launch_once(struct dg_sentence *sentence, struct dg_request_tools *tools,
                               struct dg_buf *key, struct dg_error *error, uint64_t *retry_ms)
{
    struct dg_cache *cache = sentence->request->asked.no_cache ? NULL : tools->cache;
    struct dg_search_opts search;
    struct dg_flight *found = NULL;
    const uint64_t client = tools->cache_per_client ? sentence->request->asked.client : 0;
    enum dg_err err = search_of(sentence, &search);
    if (err)
        return err;
    if (cache || tools->lookups.remote.get)
        err = dg_cache_key(dg_sentence_model(sentence)->version, client, &search, sentence->ids,
                           sentence->n_ids, key);
    if (!err && cache)
        found = dg_cache_find(cache, dg_buf_span(key));
    if (found && found->is_over)
        return hit(sentence, tools, found);
    if (found && can_join(sentence->request, found)) {
        join(sentence, tools, found);
        return DG_OK;
    }
    if (!err)
        err = make_flight(sentence, &search, error);
    if (err)
        return err;
    if (!ask_remote(sentence, tools, dg_buf_span(key)))
        err = submit(sentence, tools, error, retry_ms);
    if (err)
        return err;
    wait_for(sentence);
    if (cache) {
        dg_cache_stats(cache)->n_misses++;
        dg_sentence_model(sentence)->cache_counts->n_misses++;
        dg_cache_enter(cache, sentence->flight, dg_buf_span(key));
    }
    return DG_OK;
}

enum dg_err dg_sentence_launch(struct dg_sentence *sentence, struct dg_request_tools *tools,
                               struct dg_error *error, uint64_t *retry_ms)
{
    struct dg_buf key;
    enum dg_err err = DG_OK;
    dg_buf_init(&key, KEY_MAX);
    while (!err && dg_sentence_is_ready(sentence)) {
        dg_buf_clear(&key);
        err = launch_once(sentence, tools, &key, error, retry_ms);
    }
    dg_buf_deinit(&key);
    return err;
}

void dg_sentence_stop(struct dg_sentence *sentence, struct dg_request_tools *tools)
{
    struct dg_flight *flight = sentence->flight;
    if (flight && flight->leader == sentence) {
        if (flight->asking && !dg_list_is_empty(&flight->asking->link))
            dg_remote_lookups_drop(&tools->lookups, flight);
        else
            dg_sched_cancel(tools->tasks->sched, flight->ticket);
        return;
    }
    dg_list_unlink(&sentence->link);
    sentence->is_over = true;
    if (flight)
        sentence->request->task.n_open--;
}
