/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* At most WINDOW texts of a job are with the engine at once: a long array neither fills the
 * engine's queue at one go nor has to wait for its slowest item. Handing a text over means cutting
 * it into sentences on the loop's thread, so a job hands over one, and more while the turn has
 * time; each that is done makes room for more.
 *
 * When the engine has no room, the job gets in line and its turn comes after a poll. One that is
 * refused once more goes to the end of the line, because what it lacks (memory for a long text,
 * say) need not be what the next one lacks. If one of a client's jobs was refused, the
 * client's other jobs are not offered in that turn: a client that has used up its share must not
 * delay the others.
 *
 * The engine serves clients by the work they have received, but beginning a text costs the loop's
 * time before that: it is cut, its words are looked at and become ids. So a client that has enough
 * under way for all workers (client_max) begins no more: its jobs are held back in a line of its
 * own, and begin one text each in turn as its work is delivered. */
#include "api/v1/job.h"
#include "base/json/json_out.h"
#include "base/memory/bounds.h"
#include "base/memory/mem.h"
#include "engine/request/terms_json.h"
#include "text/language/langtag.h"

#include <stdio.h>
#include <string.h>

enum {
    WINDOW = 64,
    TURN_REFUSALS = 4, /* refusals after which a turn ends */
    AGAIN_MS = 20,
    CLIENTS_MAX = 1 << 20,
    WORKER_WORK = 32 * 512, /* the work that keeps a worker busy: 32 sentences of 100 tokens with a
                               beam of 4 */
    TOKEN_BYTES = 4,
    SENTENCE_BYTES = 128, /* like TOKEN_BYTES a rough value, for estimates of work */
    HELD_BYTES = 1 << 20, /* bytes of texts held back for one client; further texts are offered to
                             the engine, which refuses what is too much */
    JSON_MAX = 256 << 20
};

enum dg_err dg_job_new(struct dg_engine *engine, struct dg_jobs *jobs, size_t arena_max,
                       struct dg_job **job)
{
    struct dg_job *made = dg_try_calloc(1, sizeof *made);
    if (!made)
        return DG_ERR_NOMEM;
    made->engine = engine;
    made->jobs = jobs;
    jobs->turn = dg_engine_turn(engine);
    dg_list_link_last(&jobs->all, &made->link);
    dg_list_init(&made->waits);
    dg_arena_init(&made->arena, arena_max);
    *job = made;
    return DG_OK;
}

static void free_item(struct dg_job_item *item)
{
    dg_buf_deinit(&item->json);
    dg_buf_deinit(&item->text);
    dg_buf_deinit(&item->sentences);
    dg_buf_deinit(&item->ends);
    dg_buf_deinit(&item->qualities);
    for (size_t k = 0; k < DG_BEAM_MAX; k++)
        dg_buf_deinit(&item->alternatives[k]);
}

/* ---- Clients --------------------------------------------------------------------------------- */

static struct dg_span key_of(const struct dg_job_client *client)
{
    return dg_span_make((const char *)&client->key, sizeof client->key);
}

static void begin_held(struct dg_turn_work *begins);

/* Counts the job with its client. DG_ERR_NOMEM. */
static enum dg_err join_client(struct dg_job *job)
{
    struct dg_jobs *jobs = job->jobs;
    if (jobs->client_max == 0)
        jobs->client_max = WORKER_WORK * (uint64_t)dg_engine_n_workers(job->engine);
    const struct dg_engine_request *request = &job->options.request;
    const struct dg_job_client wanted = {.key = {request->client, request->priority}};
    struct dg_job_client *client = dg_map_get_ptr(&jobs->clients, key_of(&wanted));
    if (wanted.key.id == 0)
        return DG_OK;
    if (!client) {
        if (!(client = dg_try_calloc(1, sizeof *client)))
            return DG_ERR_NOMEM;
        client->key = wanted.key;
        dg_list_init(&client->held);
        client->jobs = jobs;
        dg_turn_work_init(&client->begins, begin_held);
        if (dg_map_put_ptr(&jobs->clients, key_of(client), client) != DG_OK) {
            dg_free(client);
            return DG_ERR_NOMEM;
        }
    }
    client->n_jobs++;
    job->client = client;
    return DG_OK;
}

/* Counts one job less for the client. */
static void forget_client(struct dg_jobs *jobs, struct dg_job_client *client)
{
    if (!client || --client->n_jobs > 0)
        return;
    dg_turn_remove(&client->begins);
    dg_map_remove(&jobs->clients, key_of(client), NULL);
    dg_free(client);
}

/* Estimates the work, about as the engine's queue will count it (dg_ticket_work), before the text
 * is looked at. */
static uint64_t work_of(const struct dg_engine_request *request)
{
    const struct dg_search_opts *opts = &request->search;
    const uint64_t n_source = request->text.len / TOKEN_BYTES + 1;
    const uint64_t n_sentences = request->text.len / SENTENCE_BYTES + 1;
    const uint64_t least = opts->min_len > 0 ? (uint64_t)opts->min_len * n_sentences : 0;
    const int width = opts->sample ? opts->n_best : opts->beam;
    return n_source + (least > n_source ? least : n_source) * (uint64_t)(width > 1 ? width : 1);
}

static bool has_room(const struct dg_jobs *jobs, const struct dg_job_client *client)
{
    return client->work < jobs->client_max;
}

/* Has a later turn continue the client's held jobs, if there are any and there is room. */
static void call_held(struct dg_jobs *jobs, struct dg_job_client *client)
{
    if (has_room(jobs, client) && !dg_list_is_empty(&client->held))
        dg_turn_add(jobs->turn, &client->begins);
}

/* Notes that the engine has delivered a part of the item's work. */
static void deliver(struct dg_job_item *item, uint64_t work)
{
    struct dg_job *job = item->job;
    work = work < item->work ? work : item->work;
    item->work -= work;
    if (!job->client || work == 0)
        return;
    job->client->work -= work;
    call_held(job->jobs, job->client);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static void leave_line(struct dg_job *job)
{
    dg_list_unlink(&job->waits);
    if (job->is_held)
        job->client->n_held_bytes -= job->next.text.len;
    job->is_held = false;
}

/* Returns when the job's next text, which waits, runs out of time. */
static uint64_t late_at(const struct dg_job *job)
{
    const uint64_t timeout_ms = job->next.timeout_ms;
    return timeout_ms == 0 || timeout_ms > (UINT64_MAX - job->next_ns) / DG_CLOCK_MS
               ? UINT64_MAX
               : job->next_ns + timeout_ms * DG_CLOCK_MS;
}

/* Goes to the end of the line. The job has a next text. */
static void get_in_line(struct dg_job *job, struct dg_list *line)
{
    const uint64_t late_ns = late_at(job);
    leave_line(job);
    dg_list_link_last(line, &job->waits);
    if (late_ns < job->jobs->late_ns)
        job->jobs->late_ns = late_ns;
}

static void free_job(struct dg_job *job)
{
    for (size_t i = 0; job->items && i < job->options.n_texts; i++)
        free_item(&job->items[i]);
    for (size_t i = 0; i < job->n_glossaries; i++)
        dg_glossary_unref(job->glossaries[i]);
    dg_list_unlink(&job->link);
    leave_line(job);
    forget_client(job->jobs, job->client);
    dg_arena_deinit(&job->arena);
    dg_free(job);
}

void dg_jobs_init(struct dg_jobs *jobs, const struct dg_clock *clock)
{
    dg_list_init(&jobs->all);
    dg_list_init(&jobs->waiting);
    dg_map_init(&jobs->clients, CLIENTS_MAX);
    jobs->clock = clock;
    jobs->turn = NULL;
    jobs->again_ns = 0;
    jobs->late_ns = UINT64_MAX;
    jobs->client_max = 0;
    jobs->client_key = dg_hash_key_random();
}

uint64_t dg_jobs_client(const struct dg_jobs *jobs, bool is_key, struct dg_span id)
{
    const uint64_t hash = dg_hash_bytes(&jobs->client_key, id);
    return hash << 2 | (is_key ? 3 : 1); /* the lowest bits keep a key apart from an address of the
                                            same name */
}

void dg_jobs_deinit(struct dg_jobs *jobs)
{
    while (!dg_list_is_empty(&jobs->all))
        free_job(DG_LIST_ITEM(jobs->all.next, struct dg_job, link));
    dg_map_deinit(&jobs->clients);
}

/* ---- Sentences and items as JSON ------------------------------------------------------------- */

/* Puts, for each target token, the bytes of the source that it attends to most: [[start, length],
 * ...]. */
static void put_alignment(struct dg_json_out *out, const struct dg_engine_sentence *sentence)
{
    const struct dg_engine_answer *best = &sentence->answers[0];
    dg_json_out_put_open(out, "alignment", '[');
    for (size_t t = 0; best->alignment && t < best->n_ids; t++) {
        const float *row = best->alignment + t * sentence->n_source;
        size_t top = 0;
        for (size_t s = 1; s < sentence->n_source; s++)
            top = row[s] > row[top] ? s : top;
        if (sentence->n_source == 0)
            continue;
        dg_json_out_open(out, '[');
        dg_json_out_uint(out, sentence->source[top].begin);
        dg_json_out_uint(out, sentence->source[top].end - sentence->source[top].begin);
        dg_json_out_close(out, ']');
    }
    dg_json_out_close(out, ']');
}

static void put_tokens(struct dg_json_out *out, const struct dg_engine_answer *answer)
{
    dg_json_out_put_open(out, "tokens", '[');
    for (size_t t = 0; t < answer->n_ids; t++) {
        dg_json_out_open(out, '{');
        dg_json_out_put_int(out, "id", answer->ids[t]);
        if (answer->logprobs)
            dg_json_out_put_real(out, "logprob", answer->logprobs[t], 6);
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
}

static enum dg_err put_sentence(struct dg_job_item *item, const struct dg_engine_sentence *sentence)
{
    const struct dg_translate_options *options = &item->job->options;
    struct dg_json_out out;
    if (item->sentences.len && dg_buf_append_byte(&item->sentences, ',') != DG_OK)
        return DG_ERR_NOMEM;
    dg_json_out_init(&out, &item->sentences);
    dg_json_out_open(&out, '{');
    dg_json_out_put_uint(&out, "start", sentence->at);
    dg_json_out_put_uint(&out, "length", sentence->len);
    if (sentence->n_answers > 0) {
        const struct dg_engine_answer *best = &sentence->answers[0];
        dg_json_out_put_string(&out, "text", best->text);
        dg_json_out_put_cstr(&out, "finish", dg_finish_name(best->finish));
        dg_json_out_put_real(&out, "logprob", best->logprob, 8);
        dg_json_out_put_real(&out, "score", best->score, 8);
        if (options->want_tokens)
            put_tokens(&out, best);
        if (options->want_alignment)
            put_alignment(&out, sentence);
    }
    dg_json_out_close(&out, '}');
    enum dg_err err = dg_json_out_end(&out);
    if (err || !options->request.quality)
        return err;
    const size_t end = item->sentences.len - 1;
    return dg_buf_append(&item->ends, &end, sizeof end);
}

/* Returns whether sentences are reported one by one. */
static bool wants_sentences(const struct dg_translate_options *options)
{
    return options->want_scores || options->want_tokens || options->want_alignment ||
           options->request.quality;
}

/* Puts the sentences, with the quality of each in its place, if that was asked for. */
static enum dg_err put_sentences(const struct dg_job_item *item, struct dg_buf *buf)
{
    const struct dg_span all = dg_buf_span(&item->sentences);
    const size_t n = item->qualities.len / sizeof(float);
    size_t at = 0;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < n && !err; i++) {
        size_t end;
        float quality;
        memcpy(&end, item->ends.ptr + i * sizeof end, sizeof end);
        memcpy(&quality, item->qualities.ptr + i * sizeof quality, sizeof quality);
        err = dg_buf_append_span(buf, dg_span_sub(all, at, end - at));
        if (!err)
            err = dg_buf_printf(buf, ",\"quality\":%.4f", (double)quality);
        at = end;
    }
    return err ? err : dg_buf_append_span(buf, dg_span_sub(all, at, all.len));
}

/* Keeps places in the item's JSON for the sentences and their quality, which are put there with the
 * answer. */
static enum dg_err keep_place(struct dg_job_item *item, const struct dg_engine_result *result)
{
    const size_t n_ends = item->ends.len / sizeof(size_t);
    const size_t n = n_ends < result->n_sentences ? n_ends : result->n_sentences;
    item->sentences_at = item->json.len;
    return result->has_quality
               ? dg_buf_append(&item->qualities, result->qualities, n * sizeof *result->qualities)
               : DG_OK;
}

/* Alternative k of a text is made of each sentence's answer k (its last one where there are fewer).
 */
static enum dg_err gather_alternatives(struct dg_job_item *item,
                                       const struct dg_engine_sentence *sentence)
{
    struct dg_span text = item->job->options.texts[item->index];
    struct dg_span gap = dg_span_sub(text, item->source_at, sentence->at - item->source_at);
    enum dg_err err = DG_OK;
    for (int k = 1; k <= item->job->options.alternatives && !err; k++) {
        struct dg_buf *into = &item->alternatives[k];
        size_t at = (size_t)k < sentence->n_answers ? (size_t)k : sentence->n_answers - 1;
        err = dg_buf_append_span(into, gap);
        if (!err && sentence->n_answers > 0)
            err = dg_buf_append_span(into, sentence->answers[at].text);
    }
    item->source_at = sentence->at + sentence->len;
    return err;
}

/* Completes the alternatives; those equal to the best or to an earlier one are emptied. */
static enum dg_err finish_alternatives(struct dg_job_item *item, struct dg_span best)
{
    struct dg_span text = item->job->options.texts[item->index];
    struct dg_span tail = dg_span_sub(text, item->source_at, text.len);
    for (int k = 1; k <= item->job->options.alternatives; k++) {
        struct dg_buf *one = &item->alternatives[k];
        enum dg_err err = dg_buf_append_span(one, tail);
        if (err)
            return err;
        bool is_new = !dg_span_eq(dg_buf_span(one), best);
        for (int j = 1; j < k && is_new; j++)
            is_new = !dg_span_eq(dg_buf_span(one), dg_buf_span(&item->alternatives[j]));
        if (!is_new)
            dg_buf_clear(one);
    }
    return DG_OK;
}

static void put_alternatives(struct dg_json_out *out, const struct dg_job_item *item)
{
    dg_json_out_put_open(out, "alternatives", '[');
    for (int k = 1; k <= item->job->options.alternatives; k++)
        if (item->alternatives[k].len)
            dg_json_out_string(out, dg_buf_span(&item->alternatives[k]));
    dg_json_out_close(out, ']');
}

void dg_job_put_foreign(struct dg_json_out *out, const char *source, float confidence,
                        const char *target)
{
    const char *to = target ? target : "";
    const bool is_sure = confidence >= DG_ENGINE_SURE;
    struct dg_langtag tag;
    struct dg_buf name, message;
    dg_buf_init(&name, 256);
    dg_buf_init(&message, 1024);
    const bool has_name = dg_langtag_parse(dg_span_cstr(source), &tag, NULL) == DG_OK &&
                          dg_langtag_name(&tag, "en", &name) == DG_OK;
    enum dg_err err = dg_buf_printf(
        &message,
        is_sure ? "The text is in %.*s (%s), from which no model here translates%s%s: it is "
                  "returned as it is."
                : "The text is in another language, perhaps %.*s (%s), from which no model here "
                  "translates%s%s: it is returned as it is.",
        DG_SPAN_FMT(has_name ? dg_buf_span(&name) : dg_span_cstr(source)), source,
        *to ? " to " : "", to);
    if (!err && *to && is_sure)
        err = dg_buf_printf(&message, " Not installed: dragoman get %s-%s", source, to);
    if (err)
        out->err = err;
    dg_json_out_put_open(out, "warning", '{');
    dg_json_out_put_cstr(out, "code", "language_not_available");
    dg_json_out_put_string(out, "message", dg_buf_span(&message));
    dg_json_out_close(out, '}');
    dg_buf_deinit(&message);
    dg_buf_deinit(&name);
}

/* Keeps the translation, after the part that the client had already. */
static enum dg_err keep_text(struct dg_job_item *item, const struct dg_engine_result *result)
{
    const struct dg_span prefix = item->job->options.prefix;
    if (prefix.len == 0 && result->memory && item->text.len == 0) {
        const struct dg_buf empty = item->text;
        item->text = *result->memory;
        *result->memory = empty;
        return DG_OK;
    }
    enum dg_err err = dg_buf_append_span(&item->text, prefix);
    return err ? err : dg_buf_append_span(&item->text, result->text);
}

static enum dg_err put_item(struct dg_job_item *item, const struct dg_engine_result *result)
{
    const struct dg_translate_options *options = &item->job->options;
    struct dg_json_out out;
    char quality[16];
    enum dg_err err = DG_OK;
    if (item->job->is_plain)
        return dg_buf_append_span(&item->json, result->text);
    err = keep_text(item, result);
    if (err)
        return err;
    dg_json_out_init(&out, &item->json);
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "source", result->source && *result->source ? result->source : NULL);
    if (result->detected) {
        dg_json_out_put_open(&out, "detected", '{');
        dg_json_out_put_cstr(&out, "language", result->detected);
        dg_json_out_put_real(&out, "confidence", (double)result->confidence, 4);
        dg_json_out_close(&out, '}');
    }
    if (result->is_foreign)
        dg_job_put_foreign(&out, result->detected, result->confidence, result->target);
    dg_json_out_put_cstr(&out, "finish", dg_finish_name(result->finish));
    if (result->repaired)
        dg_json_out_put_bool(&out, "repaired", true);
    if (result->n_lost > 0) {
        dg_json_out_put_open(&out, "lost", '[');
        for (size_t i = 0; i < result->n_lost; i++)
            dg_json_out_string(&out, result->lost[i]);
        dg_json_out_close(&out, ']');
    }
    if (item->job->n_glossaries > 0) {
        dg_json_out_key(&out, "terms");
        dg_engine_put_terms(&out, result);
    }
    if (options->alternatives > 0)
        put_alternatives(&out, item);
    if (options->request.quality) {
        dg_json_out_key(&out, "quality");
        if (result->has_quality)
            dg_json_out_raw(&out, dg_span_make(quality, (size_t)snprintf(quality, sizeof quality,
                                                                         "%.4f", result->quality)));
        else
            dg_json_out_null(&out);
    }
    if (wants_sentences(options)) {
        dg_json_out_put_open(&out, "sentences", '[');
        err = keep_place(item, result);
        dg_json_out_close(&out, ']');
    }
    dg_json_out_close(&out, '}');
    return err ? err : dg_json_out_end(&out);
}

static void put_usage(struct dg_json_out *out, const struct dg_job *job)
{
    dg_json_out_put_open(out, "usage", '{');
    dg_json_out_put_uint(out, "characters", job->n_characters);
    dg_json_out_put_uint(out, "sentences", job->n_sentences);
    dg_json_out_put_uint(out, "input_tokens", job->n_tokens_in);
    dg_json_out_put_uint(out, "output_tokens", job->n_tokens_out);
    dg_json_out_close(out, '}');
}

enum dg_err dg_job_totals(const struct dg_job *job, struct dg_buf *buf)
{
    struct dg_buf text;
    struct dg_json_out out;
    dg_buf_init(&text, 4096);
    dg_json_out_init(&out, &text);
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "model", job->model);
    put_usage(&out, job);
    dg_json_out_put_open(&out, "timing", '{');
    dg_call_put_millis(&out, "queue_ms", job->queue_ns);
    dg_call_put_millis(&out, "first_token_ms", job->first_ns);
    dg_call_put_millis(&out, "total_ms", job->total_ns);
    dg_json_out_close(&out, '}');
    dg_json_out_close(&out, '}');
    enum dg_err err = dg_json_out_end(&out);
    if (!err)
        err = dg_buf_append_span(buf, dg_span_sub(dg_buf_span(&text), 1, text.len - 2));
    dg_buf_deinit(&text);
    return err;
}

size_t dg_job_size(const struct dg_job *job)
{
    size_t size = 0;
    for (size_t i = 0; i < job->options.n_texts; i++)
        size += job->items[i].text.len + job->items[i].json.len + job->items[i].sentences.len;
    return size;
}

enum dg_err dg_job_members(const struct dg_job_item *item, struct dg_buf *buf)
{
    const struct dg_span json = dg_buf_span(&item->json);
    const size_t at = item->sentences_at ? item->sentences_at : json.len - 1;
    enum dg_err err = dg_buf_append_cstr(buf, "\"text\":");
    if (!err)
        err = dg_json_out_quote(buf, dg_buf_span(&item->text));
    if (!err)
        err = dg_buf_append_byte(buf, ',');
    if (!err)
        err = dg_buf_append_span(buf, dg_span_sub(json, 1, at - 1));
    if (!err && item->sentences_at)
        err = put_sentences(item, buf);
    return err ? err : dg_buf_append_span(buf, dg_span_sub(json, at, json.len - 1 - at));
}

enum dg_err dg_job_answer(const struct dg_job *job, struct dg_buf *buf)
{
    /* reserved at once, so that a large answer is not moved as it grows */
    enum dg_err err = dg_buf_reserve(buf, dg_job_size(job));
    if (!err)
        err = dg_buf_append_cstr(buf, "{\"translations\":[");
    for (size_t i = 0; i < job->options.n_texts && !err; i++) {
        err = dg_buf_append_cstr(buf, i ? ",{" : "{");
        if (!err)
            err = dg_job_members(&job->items[i], buf);
        if (!err)
            err = dg_buf_append_byte(buf, '}');
    }
    if (!err)
        err = dg_buf_append_cstr(buf, "],");
    if (!err)
        err = dg_job_totals(job, buf);
    return err ? err : dg_buf_append_cstr(buf, "}");
}

/* ---- Under way ------------------------------------------------------------------------------- */

static void cancel_open(struct dg_job *job)
{
    for (size_t i = 0; i < job->n_begun; i++)
        if (job->items[i].is_open)
            dg_engine_cancel(job->engine, job->items[i].id);
}

/* Records the first failure; what is under way is then not worth finishing. */
static void fail(struct dg_job *job, enum dg_err err, const struct dg_error *error)
{
    if (job->err)
        return;
    job->err = err;
    if (error)
        job->error = *error;
    leave_line(job);
    cancel_open(job);
}

void dg_jobs_stop(struct dg_jobs *jobs)
{
    for (struct dg_list *at = jobs->all.next; at != &jobs->all; at = at->next)
        fail(DG_LIST_ITEM(at, struct dg_job, link), DG_ERR_CANCELLED, NULL);
}

static void on_delta(void *ctx, struct dg_span text)
{
    struct dg_job_item *item = ctx;
    struct dg_job *job = item->job;
    if (job->listener && job->listener->on_delta && !job->err)
        job->listener->on_delta(job->owner, item, text);
}

static void on_sentence(void *ctx, const struct dg_engine_sentence *sentence)
{
    struct dg_job_item *item = ctx;
    struct dg_job *job = item->job;
    if (!job->listener || job->err)
        return;
    deliver(item, item->byte_work * sentence->len);
    enum dg_err err = DG_OK;
    if (wants_sentences(&job->options))
        err = put_sentence(item, sentence);
    if (!err && job->options.alternatives > 0)
        err = gather_alternatives(item, sentence);
    if (err)
        fail(job, err, NULL);
    else if (job->listener->on_sentence)
        job->listener->on_sentence(job->owner, item, sentence);
}

static bool go_on(struct dg_job *job, bool is_turn);

/* Reports the end when nothing more will come; frees a job that has no listener. */
static void settle(struct dg_job *job)
{
    if (job->n_open > 0 || job->is_pumping)
        return;
    if (!job->listener) {
        free_job(job);
        return;
    }
    if (job->is_over || (!job->err && job->n_done < job->options.n_texts))
        return;
    job->is_over = true;
    job->listener->on_over(job->owner, job);
}

static void on_translation_done(void *ctx, const struct dg_engine_result *result)
{
    struct dg_job_item *item = ctx;
    struct dg_job *job = item->job;
    item->is_open = false;
    deliver(item, item->work);
    job->n_open--;
    job->n_tokens_in += result->n_tokens_in;
    job->n_tokens_out += result->n_tokens_out;
    job->n_characters += result->n_characters;
    job->n_shown += result->n_shown;
    job->n_sentences += result->n_sentences;
    job->queue_ns = dg_most(job->queue_ns, item->waited_ns + result->queue_ns);
    job->first_ns =
        dg_most(job->first_ns, result->first_ns ? item->waited_ns + result->first_ns : 0);
    job->total_ns = dg_most(job->total_ns, item->waited_ns + result->total_ns);
    if (job->listener && !job->err) {
        enum dg_err err = result->err;
        if (result->model)
            snprintf(job->model, sizeof job->model, "%s", result->model);
        if (!err && job->options.alternatives > 0)
            err = finish_alternatives(item, result->text);
        if (!err && job->listener->on_item)
            err = job->listener->on_item(job->owner, item, result);
        else if (!err)
            err = put_item(item, result);
        struct dg_error reason = DG_ERROR_NONE;
        if (result->error)
            dg_error_set(&reason, err, "%s", result->error);
        if (err)
            fail(job, err, &reason);
        item->is_done = !err;
        job->n_done++;
    }
    if (job->is_held && !job->err)
        return; /* its turn will come */
    go_on(job, false);
}

static const struct dg_engine_events engine_events = {
    .on_delta = on_delta, .on_sentence = on_sentence, .on_done = on_translation_done};

/* Prepares the request for the next text. The listener sets its options only once, even if the text
 * has to wait. */
static void make_next(struct dg_job *job)
{
    struct dg_job_item *item = &job->items[job->n_begun];
    if (job->has_next)
        return;
    job->options.request.text = job->options.texts[job->n_begun];
    job->next = job->options.request;
    job->next_ns = dg_clock_now(job->jobs->clock);
    job->has_next = true;
    if (job->listener->on_begin)
        job->listener->on_begin(job->owner, item, &job->next);
}

/* Gives the next text to the engine; the time that it has waited counts towards its timeout. */
static enum dg_err submit(struct dg_job *job, struct dg_error *error, uint64_t *retry_ms)
{
    struct dg_job_item *item = &job->items[job->n_begun];
    make_next(job);
    struct dg_engine_request request = job->next;
    const uint64_t waited_ns = dg_clock_now(job->jobs->clock) - job->next_ns,
                   waited_ms = waited_ns / DG_CLOCK_MS;
    if (request.timeout_ms && waited_ms >= request.timeout_ms)
        return dg_error_set(error, DG_ERR_TIMEOUT,
                            "the time allowed ran out while the text was waiting for room");
    if (request.timeout_ms)
        request.timeout_ms -= waited_ms;
    enum dg_err err =
        dg_engine_submit(job->engine, &request, &engine_events, item, error, retry_ms, &item->id);
    if (err)
        return err;
    item->waited_ns = waited_ns;
    item->is_open = true;
    if (job->client) {
        item->work = work_of(&request);
        item->byte_work = item->work / (request.text.len + 1);
        job->client->work += item->work;
    }
    job->has_next = false;
    job->n_begun++;
    job->n_open++;
    return DG_OK;
}

/* Holds the next text back if the client has enough under way, or others of its jobs come before
 * this one; but not when it is this job's turn, nor when it is late. */
static bool hold(struct dg_job *job, bool is_turn)
{
    struct dg_job_client *client = job->client;
    if (!client)
        return false;
    if (has_room(job->jobs, client) && (is_turn || dg_list_is_empty(&client->held)))
        return false;
    make_next(job);
    if (client->n_held_bytes + job->next.text.len > HELD_BYTES ||
        dg_clock_now(job->jobs->clock) >= late_at(job))
        return false;
    get_in_line(job, &client->held);
    job->is_held = true;
    client->n_held_bytes += job->next.text.len;
    job->may_wait = true; /* the text was taken, so later ones may wait */
    return true;
}

/* Gives texts to the engine while the window, the client's work and the engine have room; gets in
 * line when they have none. */
static enum dg_err pump(struct dg_job *job, bool is_turn, struct dg_error *error,
                        uint64_t *retry_ms)
{
    enum dg_err err = DG_OK;
    leave_line(job);
    job->is_pumping = true;
    for (size_t n = 0; !err && job->n_begun < job->options.n_texts && job->n_open < WINDOW; n++) {
        if ((n > 0 && !dg_turn_has_time(job->jobs->turn)) || hold(job, is_turn && n == 0))
            break;
        err = submit(job, error, retry_ms);
    }
    job->is_pumping = false;
    if (err != DG_ERR_BUSY || (job->n_begun == 0 && !job->may_wait))
        return err;
    get_in_line(job, &job->jobs->waiting);
    return DG_OK;
}

/* Continues a job, perhaps in its turn among the held ones; an error becomes the failure of the
 * job. True: the job waits in a line. */
static bool go_on(struct dg_job *job, bool is_turn)
{
    struct dg_error error = DG_ERROR_NONE;
    uint64_t retry_ms = 0;
    enum dg_err err = job->listener && !job->err ? pump(job, is_turn, &error, &retry_ms) : DG_OK;
    if (err)
        fail(job, err, &error);
    const bool waits = !dg_list_is_empty(&job->waits);
    settle(job);
    return waits;
}

/* Ends the jobs in a line whose time is over. */
static void end_late(struct dg_jobs *jobs)
{
    const uint64_t now_ns = dg_clock_now(jobs->clock);
    struct dg_list late, *at;
    if (now_ns < jobs->late_ns)
        return;
    dg_list_init(&late);
    jobs->late_ns = UINT64_MAX;
    for (at = jobs->all.next; at != &jobs->all; at = at->next) {
        struct dg_job *job = DG_LIST_ITEM(at, struct dg_job, link);
        const uint64_t late_ns = dg_list_is_empty(&job->waits) ? UINT64_MAX : late_at(job);
        if (late_ns <= now_ns) {
            leave_line(job);
            dg_list_link_last(&late, &job->waits);
        } else if (late_ns < jobs->late_ns) {
            jobs->late_ns = late_ns;
        }
    }
    while ((at = dg_list_pop_first(&late))) /* ending one job may drop another */
        go_on(DG_LIST_ITEM(at, struct dg_job, waits), false);
}

/* Continues held jobs of the client, in turn, until one has begun a text or waits for the engine.
 */
static void begin_held(struct dg_turn_work *begins)
{
    struct dg_job_client *client = DG_LIST_ITEM(begins, struct dg_job_client, begins);
    struct dg_jobs *jobs = client->jobs;
    const uint64_t work = client->work;
    bool waits = false;
    client->n_jobs++; /* the client stays, although its jobs may go */
    while (!waits && client->work <= work && !dg_list_is_empty(&client->held)) {
        struct dg_job *job = DG_LIST_ITEM(client->held.next, struct dg_job, waits);
        waits = go_on(job, true);
    }
    call_held(jobs, client);
    forget_client(jobs, client);
}

static bool has(const uint64_t *list, size_t n, uint64_t one)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == one)
            return true;
    return false;
}

void dg_jobs_turn(struct dg_jobs *jobs)
{
    struct dg_list *at;
    end_late(jobs);
    if (dg_list_is_empty(&jobs->waiting) || dg_clock_now(jobs->clock) < jobs->again_ns)
        return;
    uint64_t refused[TURN_REFUSALS];
    size_t n_refused = 0;
    struct dg_list passed; /* jobs of those clients, which go back to `waiting` */
    dg_list_init(&passed);
    for (bool has_time = true;
         has_time && n_refused < TURN_REFUSALS && (at = dg_list_pop_first(&jobs->waiting));) {
        const struct dg_job *job = DG_LIST_ITEM(at, struct dg_job, waits);
        const uint64_t client = job->next.client;
        if (has(refused, n_refused, client)) {
            dg_list_link_last(&passed, at);
            continue;
        }
        if (go_on(DG_LIST_ITEM(at, struct dg_job, waits), false))
            refused[n_refused++] = client;
        has_time = dg_turn_has_time(jobs->turn);
    }
    dg_list_splice_last(&passed, &jobs->waiting);
    dg_list_splice_last(&jobs->waiting, &passed);
    if (n_refused > 0)
        jobs->again_ns = dg_clock_now(jobs->clock) + AGAIN_MS * DG_CLOCK_MS;
}

enum dg_err dg_job_start(struct dg_job *job, const struct dg_job_listener *listener, void *owner,
                         struct dg_error *error, uint64_t *retry_ms)
{
    job->items = dg_arena_calloc(&job->arena, job->options.n_texts, sizeof *job->items);
    if (join_client(job) != DG_OK || !job->items)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < job->options.n_texts; i++) {
        struct dg_job_item *item = &job->items[i];
        item->job = job;
        item->index = i;
        dg_buf_init(&item->json, JSON_MAX);
        dg_buf_init(&item->text, JSON_MAX);
        dg_buf_init(&item->sentences, JSON_MAX);
        dg_buf_init(&item->ends, JSON_MAX);
        dg_buf_init(&item->qualities, JSON_MAX);
        for (size_t k = 0; k < DG_BEAM_MAX; k++)
            dg_buf_init(&item->alternatives[k], JSON_MAX);
    }
    job->options.request.usual_beam = !job->options.has_beam;
    job->options.request.usual_length = !job->options.has_length;
    /* A plain answer has no place for the quality. */
    job->options.request.quality &= !job->is_plain;
    job->listener = listener;
    job->owner = owner;
    return pump(job, false, error, retry_ms);
}

void dg_job_cancel(struct dg_job *job)
{
    fail(job, DG_ERR_CANCELLED, NULL);
}

void dg_job_drop(struct dg_job *job)
{
    if (!job)
        return;
    job->listener = NULL;
    leave_line(job);
    if (job->n_open > 0)
        cancel_open(job);
    else if (!job->is_pumping)
        free_job(job);
}
