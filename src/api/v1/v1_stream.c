/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* GET /v1/stream: a WebSocket, sub-protocol dragoman.v1, on which many translations run at once,
 * each under an id of the client's choice.
 *
 *   in    {"type":"translate","id":"1","text":"...", options as for POST /v1/translate}
 *         {"type":"update","id":"1","text":"..."}      new text, same options
 *         {"type":"generate","id":"2","prompt":"...", options as for POST /v1/generate}
 *         {"type":"cancel","id":"1"}
 *   out   accepted, token (its texts joined are the final text), sentence, done, cancelled, error
 *
 * Tokens, sentences and done have an event_id (event_id.h). A client whose socket was lost sends
 * "translate" or "generate" once more, here or to another server, with the last one that it saw as
 * last_event_id, and gets what follows that.
 *
 * A stream item is one id. After "done" it stays, so that the text can be updated: sentences at its
 * beginning that did not change keep their translation (`known`), and only the rest goes to the
 * engine. Where a sentence ends depends on what follows it, so one counts as unchanged only when
 * the whole word after it is unchanged too. An update starts the text of the id anew: its first
 * token is what was kept.
 * A long message is read on another thread; later messages wait on the socket. */
#include "api/http/api_int.h"
#include "api/http/event_id.h"
#include "api/http/json_offload.h"
#include "api/v1/generation_job.h"
#include "api/v1/job.h"
#include "base/json/json_out.h"
#include "base/memory/chars.h"
#include "base/memory/list.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"

enum {
    ITEMS_MAX = 1024,  /* ids that are remembered; the idle one that was used least recently makes
                            room */
    RUNNING_MAX = 256, /* translations under way on one socket */
    ID_MAX = 128,
    VALUES_MAX = 200,
    /* bytes that idle ids remember; the last one always keeps what it has */
    REMEMBERED_MAX = 4 << 20,
    LOOK_BYTES = 8192, /* bytes of a text that are looked at to detect its language */
    MESSAGE_MAX = 64 << 20
};

/* The event id of a message that ends a text; it comes after the text's own id. */
#define DONE_ID ",\"event_id\":\"1\","

/* A sentence whose translation is known. */
struct known {
    size_t at, len;           /* the part of the source */
    size_t text_at, text_len; /* its translation, in the item's `translations` */
};

struct stream_item {
    struct dg_list link;
    struct stream *stream;
    char id[ID_MAX + 1];
    size_t id_len;
    struct dg_job *job;                   /* the translation that runs; NULL: none */
    struct dg_generation_job *generation; /* the generation that runs; NULL: none */
    struct dg_event_ids ids;              /* the ids of the events of what runs; in its arena */
    struct ending *ending;   /* NULL unless the job is over and its last message is being written */
    struct dg_charge charge; /* the charge for what runs */
    struct dg_buf source;    /* the text in its present state */
    size_t n_kept;           /* sentences of the head that are known */
    size_t head; /* bytes at the beginning of the text that the running job does not see */
    struct dg_buf head_text;    /* their translation */
    struct dg_buf known;        /* array of struct known */
    struct dg_buf translations; /* the translations that these point to */
    struct dg_json *options;    /* the "translate" message, which updates refer to */
    size_t options_len;         /* its bytes */
    size_t n_held;              /* bytes that count in stream->n_held while the item is idle */
};

/* The last message of a job while it is written, in the job's arena. */
struct ending {
    struct stream_item *stream_item; /* NULL when the item was told to halt, or is gone */
    struct dg_job *job;
    struct dg_span id;
};

/* A message that has arrived, until it is acted on. */
struct message {
    struct stream *stream; /* NULL when the client has left */
    struct dg_json *json;
    struct dg_arena arena; /* for the description of what is wrong with the message */
    size_t len;            /* bytes of the message */
};

struct stream {
    struct dg_api *api;
    struct dg_ws *ws;
    struct dg_who who;           /* known from the headers of the handshake */
    char client[64];             /* the client's address as text */
    struct dg_list stream_items; /* oldest first */
    size_t n_items, n_running;
    size_t n_held;            /* bytes that idle stream items hold */
    struct message *reading;  /* the message that another thread is reading; NULL: none */
    struct dg_turn_work rest; /* reads the messages that wait for a later turn */
};

/* ---- Messages out ---------------------------------------------------------------------------- */

static struct dg_span id_of(const struct stream_item *stream_item)
{
    return dg_span_make(stream_item->id, stream_item->id_len);
}

static void begin_message(struct stream *stream, struct dg_json_out *out, const char *type,
                          struct dg_span id)
{
    dg_json_out_init(out, dg_api_message(stream->api));
    dg_json_out_open(out, '{');
    dg_json_out_put_cstr(out, "type", type);
    if (id.ptr)
        dg_json_out_put_string(out, "id", id);
}

/* Sends a message; a socket that cannot take it is already closing. One for which there is no
 * memory may not be missing unnoticed. */
static void end_message(struct stream *stream, struct dg_json_out *out)
{
    dg_json_out_close(out, '}');
    if (dg_json_out_end(out) == DG_OK)
        (void)!dg_ws_send(stream->ws, dg_buf_span(out->buf));
    else
        dg_ws_close(stream->ws, DG_WS_TRY_AGAIN, DG_SPAN("the server is out of memory"));
    dg_api_message_sent(stream->api);
}

static void send_plain(struct stream *stream, const char *type, struct dg_span id)
{
    struct dg_json_out out;
    begin_message(stream, &out, type, id);
    end_message(stream, &out);
}

static void put_event_id(const struct stream_item *stream_item, struct dg_json_out *out)
{
    struct dg_span id;
    const enum dg_err err = dg_api_event_id(stream_item->stream->api, &stream_item->ids, &id);
    if (!err)
        dg_json_out_put_string(out, "event_id", id);
    else if (!out->err)
        out->err = err;
}

static void send_token(struct stream_item *stream_item, struct dg_span text)
{
    struct dg_json_out out;
    begin_message(stream_item->stream, &out, "token", id_of(stream_item));
    dg_json_out_put_string(&out, "text", text);
    put_event_id(stream_item, &out);
    end_message(stream_item->stream, &out);
}

/* Sends a token unless the client has seen it. False: the text is not the one that the client saw
 * before it came back. */
static bool send_new(struct stream_item *stream_item, struct dg_span text)
{
    if (dg_event_ids_token(&stream_item->ids, 0, &text) != DG_OK)
        return false;
    if (text.len > 0)
        send_token(stream_item, text);
    return true;
}

static void send_error(struct stream *stream, struct dg_span id, const struct dg_failure *failure)
{
    struct dg_json_out out;
    begin_message(stream, &out, "error", id);
    dg_call_put_failure(&out, failure);
    end_message(stream, &out);
}

static void send_simple_error(struct stream *stream, struct dg_span id, const char *code,
                              const char *message)
{
    send_error(stream, id, &(struct dg_failure){.code = code, .message = message});
}

/* ---- Stream items ---------------------------------------------------------------------------- */

static struct stream_item *find(struct stream *stream, struct dg_span id)
{
    for (struct dg_list *at = stream->stream_items.next; at != &stream->stream_items;
         at = at->next) {
        struct stream_item *stream_item = DG_LIST_ITEM(at, struct stream_item, link);
        if (dg_span_eq(id_of(stream_item), id))
            return stream_item;
    }
    return NULL;
}

static bool is_busy(const struct stream_item *stream_item)
{
    return stream_item->job || stream_item->generation;
}

/* Stops what runs under it. */
static void halt(struct stream_item *stream_item)
{
    if (!is_busy(stream_item))
        return;
    dg_charge_cancel(&stream_item->charge);
    if (stream_item->ending)
        /* whoever writes the last message has the job now */
        stream_item->ending->stream_item = NULL;
    else
        dg_job_drop(stream_item->job);
    dg_generation_job_drop(stream_item->generation);
    stream_item->ending = NULL;
    stream_item->job = NULL;
    stream_item->generation = NULL;
    stream_item->stream->n_running--;
}

static void forget(struct stream_item *stream_item)
{
    halt(stream_item);
    dg_list_unlink(&stream_item->link);
    stream_item->stream->n_items--;
    stream_item->stream->n_held -= stream_item->n_held;
    dg_buf_deinit(&stream_item->source);
    dg_buf_deinit(&stream_item->head_text);
    dg_buf_deinit(&stream_item->known);
    dg_buf_deinit(&stream_item->translations);
    dg_json_free(stream_item->options);
    dg_free(stream_item);
}

/* Notes that a stream item is idle, and forgets the oldest idle ones if they remember too much
 * together. */
static void hold(struct stream_item *stream_item)
{
    struct stream *stream = stream_item->stream;
    stream_item->n_held = 2 * stream_item->options_len + stream_item->source.len +
                          stream_item->head_text.len + stream_item->known.len +
                          stream_item->translations.len;
    stream->n_held += stream_item->n_held;
    for (struct dg_list *at = stream->stream_items.next;
         stream->n_held > REMEMBERED_MAX && at != &stream->stream_items;) {
        struct stream_item *other = DG_LIST_ITEM(at, struct stream_item, link);
        at = at->next;
        if (other != stream_item && !is_busy(other))
            forget(other);
    }
}

static void make_room(struct stream *stream)
{
    struct dg_list *at = stream->stream_items.next;
    while (stream->n_items >= ITEMS_MAX && at != &stream->stream_items) {
        struct stream_item *stream_item = DG_LIST_ITEM(at, struct stream_item, link);
        at = at->next;
        if (!is_busy(stream_item))
            forget(stream_item);
    }
}

static struct stream_item *add(struct stream *stream, struct dg_span id)
{
    make_room(stream);
    struct stream_item *stream_item = dg_try_calloc(1, sizeof *stream_item);
    if (!stream_item)
        return NULL;
    stream_item->stream = stream;
    memcpy(stream_item->id, id.ptr, id.len);
    stream_item->id_len = id.len;
    dg_buf_init(&stream_item->source, MESSAGE_MAX);
    dg_buf_init(&stream_item->head_text, MESSAGE_MAX);
    dg_buf_init(&stream_item->known, MESSAGE_MAX);
    dg_buf_init(&stream_item->translations, MESSAGE_MAX);
    dg_list_link_last(&stream->stream_items, &stream_item->link);
    stream->n_items++;
    return stream_item;
}

/* ---- What did not change --------------------------------------------------------------------- */

static size_t n_known(const struct stream_item *stream_item)
{
    return stream_item->known.len / sizeof(struct known);
}

static struct known known_at(const struct stream_item *stream_item, size_t i)
{
    struct known known;
    memcpy(&known, stream_item->known.ptr + i * sizeof known, sizeof known);
    return known;
}

struct word {
    size_t start, end;
};

/* Finds the word that follows `at`, or the rest of the word that contains it; false when nothing
 * follows. `word` is the word found before: a text without blanks is one word, which must not be
 * searched again for every sentence. */
static bool next_word(struct dg_span text, size_t at, struct word *word)
{
    const size_t known = at >= word->start && at < word->end ? word->end : 0;
    while (at < text.len && dg_chars_is_space(text.ptr[at]))
        at++;
    word->start = at;
    at = known > at ? known : at;
    while (at < text.len && !dg_chars_is_space(text.ptr[at]))
        at++;
    word->end = at;
    return word->start < text.len;
}

/* Returns how many of the known sentences the new text begins with, and where what follows them
 * starts. */
static size_t count_kept(const struct stream_item *stream_item, struct dg_span text, size_t *head)
{
    struct dg_span old = dg_buf_span(&stream_item->source);
    struct word word = {0, 0}, old_word = {0, 0};
    size_t common = 0, kept = 0;
    while (common < old.len && common < text.len && old.ptr[common] == text.ptr[common])
        common++;
    *head = 0;
    for (size_t i = 0; i < n_known(stream_item); i++) {
        struct known known = known_at(stream_item, i);
        if (!next_word(text, known.at + known.len, &word) ||
            !next_word(old, known.at + known.len, &old_word) || word.end != old_word.end ||
            word.end > common)
            break;
        kept = i + 1;
        *head = word.start;
    }
    return kept;
}

/* Puts the translation of the kept sentences, and the text between them, into head_text. */
static enum dg_err keep(struct stream_item *stream_item, struct dg_span text, size_t kept,
                        size_t head)
{
    size_t at = 0;
    enum dg_err err = DG_OK;
    dg_buf_clear(&stream_item->head_text);
    for (size_t i = 0; i < kept && !err; i++) {
        struct known known = known_at(stream_item, i);
        err = dg_buf_append_span(&stream_item->head_text, dg_span_sub(text, at, known.at - at));
        if (!err)
            err = dg_buf_append(&stream_item->head_text,
                                stream_item->translations.ptr + known.text_at, known.text_len);
        at = known.at + known.len;
    }
    if (!err && head > at)
        err = dg_buf_append_span(&stream_item->head_text, dg_span_sub(text, at, head - at));
    struct known last = kept ? known_at(stream_item, kept - 1) : (struct known){.at = 0};
    dg_buf_truncate(&stream_item->known, kept * sizeof(struct known));
    /* the sentences after this one are not known any more */
    dg_buf_truncate(&stream_item->translations, last.text_at + last.text_len);
    stream_item->n_kept = kept;
    stream_item->head = head;
    return err;
}

/* Remembers a sentence that is done, unless one before it is missing, or each answer has to report
 * what this one lost. */
static void remember(struct stream_item *stream_item, const struct dg_engine_sentence *sentence)
{
    struct known known = {.at = stream_item->head + sentence->at,
                          .len = sentence->len,
                          .text_at = stream_item->translations.len};
    if (sentence->n_answers == 0 || sentence->err || sentence->was_cut || sentence->n_lost > 0 ||
        n_known(stream_item) != stream_item->n_kept + sentence->index)
        return;
    known.text_len = sentence->answers[0].text.len;
    if (dg_buf_append_span(&stream_item->translations, sentence->answers[0].text) == DG_OK)
        /* a sentence that is not remembered only takes longer */
        (void)!dg_buf_append(&stream_item->known, &known, sizeof known);
}

/* ---- What the job tells ---------------------------------------------------------------------- */

static void on_delta(void *owner, struct dg_job_item *item, struct dg_span text)
{
    if (!send_new(owner, text))
        dg_job_cancel(item->job);
}

static void on_sentence(void *owner, struct dg_job_item *item,
                        const struct dg_engine_sentence *sentence)
{
    struct stream_item *stream_item = owner;
    struct dg_json_out out;
    remember(stream_item, sentence);
    if (!dg_event_ids_sentence(&stream_item->ids, 0))
        return;
    begin_message(stream_item->stream, &out, "sentence", id_of(stream_item));
    dg_json_out_put_uint(&out, "start", stream_item->head + sentence->at);
    dg_json_out_put_uint(&out, "length", sentence->len);
    if (sentence->n_answers > 0) {
        dg_json_out_put_string(&out, "text", sentence->answers[0].text);
        dg_json_out_put_cstr(&out, "finish", dg_finish_name(sentence->answers[0].finish));
    }
    put_event_id(stream_item, &out);
    end_message(stream_item->stream, &out);
}

/* {"type":"done","id":...,  the members of the item  ,  model, usage, timing} */
static enum dg_err write_done(void *work, struct dg_buf *buf)
{
    const struct ending *ending = work;
    const struct dg_job *job = ending->job;
    enum dg_err err = dg_buf_append_cstr(buf, "{\"type\":\"done\",\"id\":");
    if (!err)
        err = dg_json_out_quote(buf, ending->id);
    if (!err)
        err = dg_buf_append_cstr(buf, DONE_ID);
    if (!err)
        err = dg_job_members(&job->items[0], buf);
    if (!err)
        err = dg_buf_append_byte(buf, ',');
    if (!err)
        err = dg_job_totals(job, buf);
    return err ? err : dg_buf_append_byte(buf, '}');
}

static void fail_over(struct stream_item *stream_item, enum dg_err err,
                      const struct dg_error *error)
{
    const struct dg_failure failure =
        stream_item->ids.has_changed
            ? dg_event_ids_failure()
            : dg_translate_options_failure(&stream_item->job->arena, err, error, NULL);
    dg_charge_refund(&stream_item->charge, failure.status, stream_item->job->n_shown);
    send_error(stream_item->stream, id_of(stream_item), &failure);
    halt(stream_item);
    hold(stream_item);
}

static void on_done_written(void *work, enum dg_err err, struct dg_buf *message)
{
    struct ending *ending = work;
    struct stream_item *stream_item = ending->stream_item;
    if (!stream_item) {
        dg_job_drop(ending->job);
        return;
    }
    stream_item->ending = NULL;
    if (err) {
        fail_over(stream_item, err, NULL);
        return;
    }
    /* a socket that cannot take it is already closing */
    (void)!dg_ws_give(stream_item->stream->ws, message);
    halt(stream_item);
    hold(stream_item);
}

static void on_over(void *owner, struct dg_job *job)
{
    struct stream_item *stream_item = owner;
    if (!job->err)
        dg_event_ids_done(&stream_item->ids, 0);
    const bool failed = job->err || stream_item->ids.has_changed;
    struct ending *ending = failed ? NULL : dg_arena_calloc(&job->arena, 1, sizeof *ending);
    const struct dg_span id =
        ending ? dg_arena_copy(&job->arena, id_of(stream_item)) : (struct dg_span){NULL, 0};
    if (!id.ptr) {
        fail_over(stream_item, job->err ? job->err : DG_ERR_NOMEM, &job->error);
        return;
    }
    *ending = (struct ending){.stream_item = stream_item, .job = job, .id = id};
    stream_item->ending = ending;
    dg_json_offload_write(stream_item->stream->api, dg_job_size(job), DG_JSON_OFFLOAD_WRITTEN,
                          write_done, on_done_written, ending);
}

static const struct dg_job_listener listener = {
    .on_delta = on_delta, .on_sentence = on_sentence, .on_over = on_over};

/* ---- Messages in ----------------------------------------------------------------------------- */

/* Reads the options; the text is that of the stream item. */
static enum dg_err read_ask(struct stream_item *stream_item, struct dg_job *job,
                            struct dg_failure *failure)
{
    const struct dg_api_opts *opts = &stream_item->stream->api->opts;
    const struct dg_translate_options_limits limits = {
        .no_text = true, .beam_max = opts->beam_max, .min_length_max = opts->min_length_max};
    enum dg_err err = dg_translate_options_read(stream_item->options, &job->arena, &limits, failure,
                                                &job->options);
    if (!err && !(job->options.texts = dg_arena_calloc(&job->arena, 1, sizeof *job->options.texts)))
        err = DG_ERR_NOMEM; /* `failure` already says what is wrong */
    return err;
}

/* The stream item's text cannot be translated: says so, and forgets the item. */
static void give_up(struct stream_item *stream_item, const struct dg_failure *failure)
{
    send_error(stream_item->stream, id_of(stream_item), failure);
    if (failure->status == 403)
        stream_item->stream->api->refusals[DG_REFUSAL_MODEL]++;
    forget(stream_item);
}

/* Sets what the job translates: the text after the known sentences. Its language is that of the
 * whole text. */
static void set_text(struct stream_item *stream_item)
{
    struct dg_translate_options *options = &stream_item->job->options;
    struct dg_span whole = dg_buf_span(&stream_item->source);
    options->prefix = dg_buf_span(&stream_item->head_text);
    options->texts[0] = dg_span_sub(whole, stream_item->head, whole.len);
    size_t look = whole.len < LOOK_BYTES ? whole.len : LOOK_BYTES;
    while (look > 0 && look < whole.len && ((unsigned char)whole.ptr[look] & 0xC0) == 0x80)
        look--;
    struct dg_span copy = dg_arena_copy(&stream_item->job->arena,
                                        dg_span_sub(whole, 0, stream_item->head ? look : 0));
    options->request.whole = copy.ptr ? copy : (struct dg_span){NULL, 0};
}

/* Called after the gate: begins, or says why not. */
static void on_passed(void *work, const struct dg_failure *refusal)
{
    struct stream_item *stream_item = work;
    struct dg_error error = DG_ERROR_NONE;
    uint64_t retry_ms = 0;
    if (refusal) {
        give_up(stream_item, refusal);
        return;
    }
    struct dg_api *api = stream_item->stream->api;
    const struct dg_who *who = &stream_item->charge.who;
    struct dg_failure missing;
    if (dg_glossaries_apply(&api->glossaries, stream_item->job, who->name,
                            dg_who_has_key(who) && who->role == DG_KEY_ADMIN,
                            api->access ? dg_access_key(api->access, who) : NULL, &missing)) {
        dg_charge_refund(&stream_item->charge, missing.status, 0);
        give_up(stream_item, &missing);
        return;
    }
    enum dg_err err = DG_OK;
    const bool tells_of_all =
        stream_item->job->n_glossaries > 0 || stream_item->job->options.request.quality;
    if (tells_of_all && stream_item->head > 0) { /* each answer has the terms, and the quality, of
                                                    the whole text */
        err = keep(stream_item, dg_buf_span(&stream_item->source), 0, 0);
        set_text(stream_item);
    }
    if (!err)
        err = dg_job_start(stream_item->job, &listener, stream_item, &error, &retry_ms);
    if (err) {
        struct dg_failure failure =
            dg_translate_options_start_failure(&stream_item->job->arena, err, &error, retry_ms);
        dg_charge_refund(&stream_item->charge, failure.status, 0);
        give_up(stream_item, &failure);
        return;
    }
    /* The first event comes at the engine's next poll, and so after these messages. */
    send_plain(stream_item->stream, "accepted", id_of(stream_item));
    dg_event_ids_keep(&stream_item->ids, 0, stream_item->n_kept);
    if (stream_item->head_text.len)
        (void)send_new(stream_item, dg_buf_span(&stream_item->head_text));
}

/* Begins the ids of what will be sent; `seen` is the last one that the client saw. */
static enum dg_err begin_ids(struct stream_item *stream_item, struct dg_arena *arena,
                             struct dg_span seen, struct dg_failure *failure)
{
    struct dg_error error = DG_ERROR_NONE;
    enum dg_err err = dg_event_ids_init(&stream_item->ids, arena, 1);
    if (!err && seen.len > 0)
        err = dg_event_ids_resume(&stream_item->ids, seen, &error);
    if (err)
        *failure = dg_translate_options_failure(arena, err, &error,
                                                err == DG_ERR_INVALID ? "last_event_id" : NULL);
    return err;
}

/* Makes a job for the stream item's text (past its head) with the options of its "translate", and
 * sends it through the gate. If that is impossible, the item is forgotten. The text of an update
 * starts anew. */
static void run_stream_item(struct stream_item *stream_item, bool is_update)
{
    struct stream *stream = stream_item->stream;
    struct dg_job *job;
    struct dg_failure failure = {
        .code = "overloaded", .message = "The server is out of memory.", .retry_after_s = 1};
    size_t arena_max = (stream_item->options_len + stream_item->source.len) * 4 + (4 << 20);
    enum dg_err err = dg_job_new(stream->api->engine, &stream->api->jobs, arena_max, &job);
    if (err) {
        give_up(stream_item, &failure);
        return;
    }
    stream_item->job = job;
    stream->n_running++;
    err = read_ask(stream_item, job, &failure);
    struct dg_translate_options *options = &job->options;
    if (!err && (options->alternatives || options->want_scores || options->want_tokens ||
                 options->want_alignment || options->request.format != DG_DOC_TEXT))
        /* the known sentences have no such details */
        err = keep(stream_item, dg_buf_span(&stream_item->source), 0, 0);
    if (!err)
        err = begin_ids(stream_item, &job->arena, is_update ? DG_SPAN("") : options->last_event_id,
                        &failure);
    if (err) {
        give_up(stream_item, &failure);
        return;
    }
    set_text(stream_item);
    const struct dg_gate_wish wish = {.key = options->api_key,
                                      .characters =
                                          dg_translate_options_characters(options->texts, 1),
                                      .request = &options->request,
                                      .arena = &job->arena,
                                      .has_priority = options->has_priority};
    dg_charge_begin(&stream_item->charge, stream->api, &stream->who, dg_span_cstr(stream->client),
                    &wish, on_passed, stream_item);
}

/* Returns whether something may begin under this id; otherwise sends the reason. */
static bool is_free(struct stream *stream, const struct stream_item *stream_item, struct dg_span id)
{
    if (stream_item && is_busy(stream_item)) {
        send_simple_error(stream, id, "id_in_use", "A translation with this id is under way.");
        return false;
    }
    if (stream->n_running < RUNNING_MAX)
        return true;
    send_error(stream, id,
               &(struct dg_failure){.code = "too_many",
                                    .limit = RUNNING_MAX,
                                    .has_limit = true,
                                    .message = "Too many translations are under way here."});
    return false;
}

/* Returns whether a text may be this long; otherwise sends the reason. */
static bool is_short_enough(struct stream *stream, struct dg_span id, struct dg_span text)
{
    struct dg_error error = DG_ERROR_NONE;
    const size_t max = stream->api->opts.characters_max, n = max ? dg_utf8_count(text) : 0;
    if (n <= max)
        return true;
    dg_error_set(&error, DG_ERR_LIMIT,
                 "field 'text': read %zu characters in one text, expected at most %zu", n, max);
    send_error(stream, id,
               &(struct dg_failure){.code = "limit_reached",
                                    .message = error.text,
                                    .field = "text",
                                    .limit = (int64_t)max,
                                    .has_limit = true});
    return false;
}

/* Takes the message, of `len` bytes. */
static void on_translate(struct stream *stream, struct dg_span id, struct dg_span text,
                         struct dg_json **message, size_t len)
{
    struct stream_item *stream_item = find(stream, id);
    if (!is_free(stream, stream_item, id) || !is_short_enough(stream, id, text))
        return;
    if (stream_item)
        forget(stream_item);
    stream_item = add(stream, id);
    if (!stream_item || dg_buf_append_span(&stream_item->source, text) != DG_OK) {
        send_simple_error(stream, id, "overloaded", "The server is out of memory.");
        if (stream_item)
            forget(stream_item);
        return;
    }
    stream_item->options = *message;
    stream_item->options_len = len;
    *message = NULL;
    run_stream_item(stream_item, false);
}

static void on_update(struct stream *stream, struct dg_span id, struct dg_span text)
{
    struct stream_item *stream_item = find(stream, id);
    if (!stream_item || stream_item->generation) {
        send_simple_error(stream, id, "no_such_id",
                          "There is no translation with this id to update.");
        return;
    }
    if (!stream_item->job && stream->n_running >= RUNNING_MAX) {
        send_simple_error(stream, id, "too_many", "Too many translations are under way here.");
        return;
    }
    if (!is_short_enough(stream, id, text)) {
        if (is_busy(stream_item)) { /* the text that is under way is not wanted any more */
            halt(stream_item);
            hold(stream_item);
        }
        return;
    }
    halt(stream_item);
    stream->n_held -= stream_item->n_held;
    stream_item->n_held = 0;
    size_t head, kept = count_kept(stream_item, text, &head);
    enum dg_err err = keep(stream_item, text, kept, head);
    dg_buf_clear(&stream_item->source);
    if (!err)
        err = dg_buf_append_span(&stream_item->source, text);
    if (err) {
        send_simple_error(stream, id, "overloaded", "The server is out of memory.");
        forget(stream_item);
    } else {
        run_stream_item(stream_item, true);
    }
}

/* ---- Generations ----------------------------------------------------------------------------- */

static void on_gen_delta(void *owner, struct dg_span text)
{
    (void)send_new(owner, text); /* the end says what is wrong */
}

static enum dg_err build_gen_done(struct stream_item *stream_item,
                                  const struct dg_generation_job *generation, struct dg_buf *buf)
{
    enum dg_err err = dg_buf_append_cstr(buf, "{\"type\":\"done\",\"id\":");
    if (!err)
        err = dg_json_out_quote(buf, id_of(stream_item));
    if (!err)
        err = dg_buf_append_cstr(buf, DONE_ID);
    return err ? err
               : dg_buf_append_span(
                     buf, dg_span_sub(dg_buf_span(&generation->answer), 1, generation->answer.len));
}

static void on_gen_over(void *owner, struct dg_generation_job *generation)
{
    struct stream_item *stream_item = owner;
    struct dg_buf buf;
    dg_buf_init(&buf, MESSAGE_MAX);
    if (!generation->err)
        dg_event_ids_done(&stream_item->ids, 0);
    if (!generation->err && !stream_item->ids.has_changed &&
        build_gen_done(stream_item, generation, &buf) == DG_OK) {
        (void)!dg_ws_send(stream_item->stream->ws, dg_buf_span(&buf));
    } else {
        struct dg_failure failure = stream_item->ids.has_changed
                                        ? dg_event_ids_failure()
                                        : dg_generation_job_failure(generation);
        dg_charge_refund(&stream_item->charge, failure.status, generation->n_shown);
        send_error(stream_item->stream, id_of(stream_item), &failure);
    }
    dg_buf_deinit(&buf);
    forget(stream_item); /* there is nothing to update */
}

static const struct dg_generation_job_listener gen_listener = {.on_delta = on_gen_delta,
                                                               .on_over = on_gen_over};

static void on_gen_passed(void *work, const struct dg_failure *refusal)
{
    struct stream_item *stream_item = work;
    struct dg_error error = DG_ERROR_NONE;
    uint64_t retry_ms = 0;
    if (refusal) {
        give_up(stream_item, refusal);
        return;
    }
    enum dg_err err = dg_generation_job_start(stream_item->generation, &gen_listener, stream_item,
                                              &error, &retry_ms);
    if (err) {
        struct dg_failure failure = dg_translate_options_start_failure(
            &stream_item->generation->arena, err, &error, retry_ms);
        dg_charge_refund(&stream_item->charge, failure.status, 0);
        give_up(stream_item, &failure);
        return;
    }
    send_plain(stream_item->stream, "accepted", id_of(stream_item));
}

static void on_generate(struct stream *stream, struct dg_span id, const struct dg_json *json,
                        size_t len)
{
    struct stream_item *stream_item = find(stream, id);
    struct dg_failure failure = {
        .code = "overloaded", .message = "The server is out of memory.", .retry_after_s = 1};
    struct dg_generation_job *generation;
    if (!is_free(stream, stream_item, id))
        return;
    if (stream_item)
        forget(stream_item);
    stream_item = add(stream, id);
    if (!stream_item || dg_generation_job_new(stream->api, len, &generation) != DG_OK) {
        send_error(stream, id, &failure);
        if (stream_item)
            forget(stream_item);
        return;
    }
    stream_item->generation = generation;
    stream->n_running++;
    if (dg_generation_job_read(generation, json, &failure) != DG_OK ||
        begin_ids(stream_item, &generation->arena, generation->last_event_id, &failure) != DG_OK) {
        give_up(stream_item, &failure);
        return;
    }
    const struct dg_gate_wish wish = dg_generation_job_wish(generation);
    dg_charge_begin(&stream_item->charge, stream->api, &stream->who, dg_span_cstr(stream->client),
                    &wish, on_gen_passed, stream_item);
}

static void on_cancel(struct stream *stream, struct dg_span id)
{
    struct stream_item *stream_item = find(stream, id);
    if (!stream_item) {
        send_simple_error(stream, id, "no_such_id",
                          "There is no translation with this id to cancel.");
        return;
    }
    forget(stream_item);
    send_plain(stream, "cancelled", id);
}

/* Reads which item a message is about, before its kind is acted on. */
enum { TRANSLATE, UPDATE, CANCEL, GENERATE };

struct request {
    struct dg_span id, text;
    int type;
};

static enum dg_err read_message(const struct dg_json *json, struct request *request,
                                const char **field, struct dg_error *error)
{
    static const char *const types[] = {"translate", "update", "cancel", "generate", NULL};
    static const char *const update_fields[] = {"type", "id", "text", NULL};
    *field = "id";
    enum dg_err err = dg_json_get_string(json, "id", DG_JSON_REQUIRED, error, &request->id);
    if (!err && (request->id.len == 0 || request->id.len > ID_MAX)) {
        err = dg_error_set(error, DG_ERR_RANGE, "field 'id': read %zu bytes, expected 1 to %d",
                           request->id.len, ID_MAX);
        request->id.ptr = NULL;
    }
    if (err)
        return err;
    *field = "type";
    err = dg_json_get_choice(json, "type", DG_JSON_REQUIRED, types, error, &request->type);
    if (!err && (request->type == UPDATE || request->type == CANCEL)) {
        *field = NULL;
        err = dg_json_check_fields(json, update_fields, error, field);
    }
    if (!err && (request->type == TRANSLATE || request->type == UPDATE)) {
        *field = "text";
        err = dg_json_get_string(json, "text", DG_JSON_REQUIRED, error, &request->text);
    }
    return err;
}

/* Acts on a message. One to translate is kept, and then *json is NULL. */
static void act(struct stream *stream, const struct request *request, struct dg_json **json,
                size_t len)
{
    if (request->type == TRANSLATE)
        on_translate(stream, request->id, request->text, json, len);
    else if (request->type == UPDATE)
        on_update(stream, request->id, request->text);
    else if (request->type == GENERATE)
        on_generate(stream, request->id, *json, len);
    else
        on_cancel(stream, request->id);
}

/* Writes its JSON, possibly on another thread. */
static enum dg_err parse(void *work, const struct dg_api *api, struct dg_span text,
                         struct dg_failure *failure)
{
    struct message *message = work;
    (void)api;
    return dg_translate_options_parse(text, VALUES_MAX, &message->arena, failure, &message->json);
}

static void act_on(struct stream *stream, struct message *message)
{
    struct dg_error error = DG_ERROR_NONE;
    struct request request = {.type = 0};
    const char *field = NULL;
    enum dg_err err = read_message(message->json, &request, &field, &error);
    if (!err) {
        act(stream, &request, &message->json, message->len);
        return;
    }
    struct dg_failure failure = dg_translate_options_failure(&message->arena, err, &error, field);
    if (err == DG_ERR_NOT_FOUND)
        failure.code = "missing_field";
    send_error(stream, request.id, &failure);
}

static void on_parsed(void *work, enum dg_err err, const struct dg_failure *failure)
{
    struct message *message = work;
    struct stream *stream = message->stream;
    const bool was_held = stream && stream->reading;
    const bool is_wanted = stream && !dg_ws_is_closing(stream->ws);
    if (is_wanted && err)
        send_error(stream, (struct dg_span){NULL, 0}, failure);
    else if (is_wanted)
        act_on(stream, message);
    if (!err)
        dg_json_free(message->json);
    dg_arena_deinit(&message->arena);
    dg_free(message);
    if (was_held) {
        stream->reading = NULL;
        dg_ws_release(stream->ws);
    }
}

/* Lets the socket's next messages wait if the turn has no time: each text that begins costs the
 * loop's time. */
static void rest(struct stream *stream)
{
    struct dg_turn *turn = dg_engine_turn(stream->api->engine);
    if (dg_turn_has_time(turn))
        return;
    dg_ws_hold(stream->ws);
    dg_turn_add(turn, &stream->rest);
}

static void read_rest(struct dg_turn_work *work)
{
    dg_ws_release(DG_LIST_ITEM(work, struct stream, rest)->ws);
}

static void on_message(void *owner, struct dg_ws *ws, bool is_text, struct dg_span text)
{
    struct stream *stream = owner;
    if (!is_text) {
        dg_ws_close(ws, DG_WS_UNSUPPORTED, DG_SPAN("messages must be JSON in text frames"));
        return;
    }
    struct message *message = dg_try_calloc(1, sizeof *message);
    if (!message) {
        send_simple_error(stream, (struct dg_span){NULL, 0}, "overloaded",
                          "The server is out of memory.");
        return;
    }
    message->stream = stream;
    message->len = text.len;
    dg_arena_init(&message->arena, 64 << 10);
    if (dg_json_offload_bytes(stream->api, text, parse, on_parsed, message)) {
        stream->reading = message;
        dg_ws_hold(ws);
    } else {
        rest(stream);
    }
}

static void on_gone(void *owner)
{
    struct stream *stream = owner;
    if (stream->reading)
        stream->reading->stream = NULL;
    dg_turn_remove(&stream->rest);
    while (stream->stream_items.next != &stream->stream_items)
        forget(DG_LIST_ITEM(stream->stream_items.next, struct stream_item, link));
    dg_free(stream);
}

static const struct dg_server_socket socket_handler = {.on_message = on_message,
                                                       .on_gone = on_gone};

void dg_api_v1_stream(struct dg_call *call)
{
    static const char *const protocols[] = {"dragoman.v1", NULL};
    static const struct dg_ws_limits limits = DG_WS_LIMITS_DEFAULT;
    const char *reason = "this server has no model";
    struct stream *stream = dg_try_calloc(1, sizeof *stream);
    int status = 503;
    if (stream && call->api->engine) {
        stream->api = call->api;
        stream->who = call->charge.who;
        snprintf(stream->client, sizeof stream->client, "%.*s", DG_SPAN_FMT(call->req->client));
        dg_list_init(&stream->stream_items);
        dg_turn_work_init(&stream->rest, read_rest);
        dg_call_add_headers(call);
        status = dg_server_websocket(call->req, protocols, &limits, &socket_handler, stream,
                                     &stream->ws, &reason);
    }
    if (status == 101)
        return;
    dg_free(stream);
    char message[256];
    snprintf(message, sizeof message, "The WebSocket was refused: %s.", reason);
    dg_call_fail(call,
                 (struct dg_failure){.status = status, .code = "websocket", .message = message});
}
