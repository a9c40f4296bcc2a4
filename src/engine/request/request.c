/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One request: its text is cut (text_split.c), a window of sentences is begun (sentence.c), the
 * answers of tickets that end are collected, final text is shown in order, and the end is reported
 * with sums over all sentences. Nothing here waits: each function does what can be done now, and
 * the engine's poll calls it again. */
#include "engine/request/request.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "engine/cache/remote_value.h"
#include "engine/request/text_split.h"

#include <string.h>

/* How long after its deadline a request still waits for the error that its worker reports. */
static const uint64_t STUCK_NS = DG_CLOCK_S;

enum {
    WINDOW = 128, /* tickets that one request has with the scheduler at a time */
    /* bytes of sentences begun in one turn; then other requests have their turns */
    TURN_BYTES = 2048,
    RESULT_MAX = 1 << 28, /* the most bytes of one result */
    LOST_MAX = 1000,
    TERMS_MAX = 100000,      /* the most terms reported for one text */
    LONG = 64 * 1024,        /* bytes of a text that is begun over several turns */
    MUCH_MARKUP = 64 * 1024, /* bytes of markup that take 2 ms or more to read */
};

/* ---- Life ------------------------------------------------------------------------------------ */

/* A text with much markup, which the background thread reads. */
struct dg_request_markup {
    struct dg_background_task task;
    struct dg_span text; /* the text of the request */
    enum dg_doc_format format;
    struct dg_doc_opts opts;
    struct dg_doc *doc; /* owned, until the request takes it */
    enum dg_err err;
    struct dg_error error;
    char words[]; /* the text that the options point to */
};

static void run_markup(struct dg_background_task *task)
{
    struct dg_request_markup *markup = (struct dg_request_markup *)task;
    markup->opts.stop = &task->is_unwanted;
    markup->err =
        dg_doc_new(markup->text, markup->format, &markup->opts, &markup->doc, &markup->error);
}

/* Copies what the options borrow. NULL: no memory. */
static struct dg_request_markup *new_markup(const struct dg_request *request,
                                            const struct dg_doc_opts *opts)
{
    const struct dg_span words[] = {opts->ignore_tags, opts->splitting_tags,
                                    opts->non_splitting_tags, opts->target};
    size_t len = sizeof(struct dg_request_markup), at = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        len += words[i].len;
    struct dg_request_markup *markup = dg_try_malloc(len);
    if (!markup)
        return NULL;
    *markup = (struct dg_request_markup){
        .text = request->asked.text, .format = request->asked.format, .opts = *opts};
    struct dg_span *copies[] = {&markup->opts.ignore_tags, &markup->opts.splitting_tags,
                                &markup->opts.non_splitting_tags, &markup->opts.target};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i].len)
            memcpy(markup->words + at, words[i].ptr, words[i].len);
        *copies[i] = dg_span_make(markup->words + at, words[i].len);
        at += words[i].len;
    }
    return markup;
}

static void take_markup(struct dg_request *request)
{
    struct dg_request_markup *markup = request->markup;
    if (!request->is_reading || !dg_background_is_done(&markup->task))
        return;
    request->is_reading = false;
    request->task.n_open--;
    if (!request->task.err)
        request->task.err = markup->err;
    if (markup->err)
        return;
    request->doc = markup->doc;
    markup->doc = NULL;
    request->asked.text = dg_doc_plain(request->doc);
}

/* Returns true when plain text, too, is read as a document, because it has signs that stand for
 * characters, or tags. If the translation has a forced beginning or alternatives, placeholders
 * protect these instead. */
static bool has_signs(const struct dg_engine_request *asked)
{
    return asked->prefix.len == 0 && asked->search.n_best <= 1 &&
           dg_doc_has_signs(asked->text, asked->no_protect);
}

/* Reads a text with markup; its plain text is then cut and translated. A text that is not
 * translated is copied with its markup. */
static enum dg_err read_doc(struct dg_request *request, struct dg_request_tools *tools,
                            struct dg_error *error)
{
    if (request->is_copy || (request->asked.format == DG_DOC_TEXT && !has_signs(&request->asked)))
        return DG_OK;
    struct dg_doc_opts opts = request->asked.doc;
    opts.no_tags |= request->asked.no_protect;
    if (opts.target.len == 0) /* the file's own statement about the language of its translations */
        opts.target = dg_span_cstr(request->pairs[request->n_hops - 1].target->code);
    opts.join_lines |= request->asked.format == DG_DOC_TEXT && request->asked.join_lines;
    if (request->asked.format != DG_DOC_TEXT)
        /* in markup, lines that may be joined are joined already */
        request->asked.join_lines = false;
    if (request->asked.text.len >= MUCH_MARKUP && (request->markup = new_markup(request, &opts)) &&
        dg_background_begin(&tools->tasks->background, &request->markup->task, run_markup) ==
            DG_OK) {
        request->is_reading = true;
        request->task.n_open++;
        return DG_OK;
    }
    enum dg_err err =
        dg_doc_new(request->asked.text, request->asked.format, &opts, &request->doc, error);
    if (!err)
        request->asked.text = dg_doc_plain(request->doc);
    return err;
}

/* Opens the dictionaries of the request's glossaries for its languages. */
static enum dg_err open_glossaries(struct dg_request *request,
                                   const struct dg_engine_request *asked, struct dg_error *error)
{
    const struct dg_lang *from = request->pairs[0].source,
                         *to = request->pairs[request->n_hops - 1].target;
    if (asked->n_glossaries > DG_ENGINE_GLOSSARIES)
        return dg_error_set(error, DG_ERR_LIMIT,
                            "%zu glossaries are asked for, expected at most %d",
                            asked->n_glossaries, DG_ENGINE_GLOSSARIES);
    for (size_t i = 0; i < asked->n_glossaries && !request->is_copy; i++) {
        const struct dg_dictionary *dictionary =
            dg_glossary_for(asked->glossaries[i], &from->tag, &to->tag);
        if (dictionary)
            request->dictionaries[request->n_dictionaries++] = dictionary;
        else if (asked->glossaries_fit)
            return dg_error_set(error, DG_ERR_UNSUPPORTED,
                                "the glossary has no terms from '%s' to '%s'", from->code,
                                to->code);
    }
    return DG_OK;
}

struct dg_request *dg_request_new(struct dg_tasks *tasks, const struct dg_task_ops *ops,
                                  const struct dg_engine_request *asked,
                                  const struct dg_engine_events *events, void *ctx)
{
    struct dg_request *request = dg_try_calloc(1, sizeof *request);
    if (!request)
        return NULL;
    dg_task_init(&request->task, tasks, ops, asked->text.len, asked->timeout_ms);
    dg_buf_init(&request->result, RESULT_MAX);
    for (size_t i = 0; i < DG_ROUTING_HOPS_MAX; i++)
        dg_flow_init(&request->flows[i], asked->priority, asked->client);
    request->asked = *asked;
    request->events = events;
    request->ctx = ctx;
    return request;
}

static void set_routing(struct dg_request *request, const struct dg_routing *routing)
{
    for (; request->n_hops < routing->n_hops; request->n_hops++) {
        request->hops[request->n_hops] = dg_served_model_ref(routing->hops[request->n_hops]);
        request->pairs[request->n_hops] = routing->pairs[request->n_hops];
    }
    dg_routing_name(routing, request->name);
    request->detected = routing->detected;
    request->confidence = routing->confidence;
    request->is_copy = routing->is_copy;
    request->is_foreign = routing->is_foreign;
    request->source = routing->source;
    request->target = routing->target;
}

static enum dg_err copy_text(struct dg_request *request, struct dg_error *error)
{
    const struct dg_span text = request->asked.text;
    request->text = dg_try_malloc(text.len + 1);
    if (!request->text)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a text of %zu bytes", text.len);
    if (text.len)
        memcpy(request->text, text.ptr, text.len);
    request->text_len = text.len;
    request->asked.text = dg_span_make(request->text, request->text_len);
    return DG_OK;
}

enum dg_err dg_request_set_up(struct dg_request *request, struct dg_request_tools *tools,
                              const struct dg_routing *routing, struct dg_error *error)
{
    struct dg_engine_request *asked = &request->asked;
    const struct dg_served_model *last = routing->hops[routing->n_hops - 1];
    size_t bad_at;
    if (!asked->is_utf8 && !dg_utf8_valid(asked->text, &bad_at))
        return dg_error_set(error, DG_ERR_UTF8, "the text is not valid UTF-8 at byte %zu", bad_at);
    enum dg_err err = dg_search_opts_check(&asked->search, last->blueprint.decoder.V, error);
    if (err)
        return err;
    set_routing(request, routing);
    /* forced text has the case that the client wants */
    asked->keep_case |= asked->prefix.len > 0 || asked->n_must > 0;
    err = open_glossaries(request, asked, error);
    if (!err && asked->quality && !(request->estimate = dg_quality_estimate_new()))
        err = dg_error_set(error, DG_ERR_NOMEM, "no memory for a request");
    if (!err)
        err = copy_text(request, error);
    if (!err) {
        err = dg_phrase_set_init(&request->protect, asked->protect, asked->n_protect);
        if (err)
            return dg_error_set(error, err, "no memory for a request");
        err = dg_forced_tokens_init(&request->forced, last->tokenizer, asked, error);
    }
    return err ? err : read_doc(request, tools, error);
}

/* Frees what belongs only to the request. For a long text that is megabytes, with markup tens of
 * megabytes, and the kernel needs milliseconds to take them back. */
static void free_memory(void *arg)
{
    struct dg_request *request = arg;
    dg_free(request->sentences);
    for (size_t i = 0; i < request->n_lost; i++)
        dg_free((char *)(uintptr_t)request->lost[i].ptr);
    dg_free(request->lost);
    dg_free(request->terms);
    dg_free(request->parts);
    dg_free(request->doc_parts);
    dg_doc_free(request->doc);
    if (request->markup)
        dg_doc_free(request->markup->doc);
    dg_free(request->markup);
    dg_free(request->text);
    dg_buf_deinit(&request->result);
    dg_phrase_set_deinit(&request->protect);
    dg_forced_tokens_deinit(&request->forced);
    dg_free(request);
}

void dg_request_free(struct dg_request *request)
{
    if (!request)
        return;
    const struct dg_background *background = &request->task.tasks->background;
    for (size_t i = 0; request->sentences && i < request->n_parts; i++)
        dg_sentence_free(request->sentences[i]);
    dg_task_deinit(&request->task);
    dg_model_wait_free(request->waiting);
    dg_quality_estimate_drop(request->estimate);
    while (request->n_hops > 0)
        dg_served_model_unref(request->hops[--request->n_hops]);
    if (request->markup || request->text_len >= LONG)
        dg_background_leave_to(background, free_memory, request);
    else
        free_memory(request);
}

/* ---- Beginning ------------------------------------------------------------------------------- */

static enum dg_err launch(struct dg_request *request, struct dg_request_tools *tools, size_t part,
                          struct dg_error *error, uint64_t *retry_ms)
{
    enum dg_err err = dg_sentence_launch(request->sentences[part], tools, error, retry_ms);
    request->has_begun |= !err;
    request->n_ready -= !dg_sentence_is_ready(request->sentences[part]);
    return err;
}

/* Makes the sentence of part `part` and sends it on its way. */
static enum dg_err begin(struct dg_request *request, struct dg_request_tools *tools, size_t part,
                         struct dg_error *error, uint64_t *retry_ms)
{
    struct dg_sentence *sentence;
    enum dg_err err = dg_sentence_new(request, tools, part, error, &sentence);
    if (err)
        return err;
    request->sentences[part] = sentence;
    request->n_tokens_in += sentence->n_tokens;
    request->n_begun = part + 1;
    request->n_ready++;
    return launch(request, tools, part, error, retry_ms);
}

/* Launches ready sentences: those with a next hop, and those that waited for a ticket that ended
 * without an answer. The text that these have shown stays valid, because the same sentence gives
 * the same tokens. */
static enum dg_err launch_ready(struct dg_request *request, struct dg_request_tools *tools,
                                struct dg_error *error, uint64_t *retry_ms)
{
    enum dg_err err = DG_OK;
    for (size_t i = request->n_shown; !err && request->n_ready > 0 && i < request->n_begun; i++) {
        struct dg_sentence *sentence = request->sentences[i];
        if (sentence && dg_sentence_is_ready(sentence))
            err = launch(request, tools, i, error, retry_ms);
    }
    return err;
}

static bool has_more(const struct dg_request *request)
{
    return request->n_begun < request->n_parts || !request->is_cut;
}

bool dg_request_wants_turn(const struct dg_request *request)
{
    return !request->task.err && !request->is_reading && request->task.n_open < WINDOW &&
           has_more(request);
}

static bool is_late(const struct dg_request *request)
{
    return !request->task.err && !dg_request_is_over(request) && dg_task_is_late(&request->task);
}

enum dg_err dg_request_pump(struct dg_request *request, struct dg_request_tools *tools,
                            struct dg_error *error, uint64_t *retry_ms)
{
    size_t n_bytes = 0;
    if (is_late(request))
        dg_request_stop(request, tools, DG_ERR_TIMEOUT);
    take_markup(request);
    if (request->is_reading)
        return DG_OK;
    struct dg_turn *turn = tools->tasks->turn;
    bool has_time = true;
    if (!request->is_open && request->text_len >= LONG && !dg_turn_has_time(turn))
        return DG_OK; /* to read and copy it took the time of this turn */
    enum dg_err err = request->task.err ? DG_OK : launch_ready(request, tools, error, retry_ms);
    if (!err && dg_request_wants_turn(request) && request->n_begun == request->n_parts) {
        err = dg_text_split_more(request, tools, error);
        has_time = !request->is_open || dg_turn_has_time(turn);
    }
    while (!err && !request->task.err && request->n_begun < request->n_parts &&
           request->task.n_open < WINDOW && n_bytes < TURN_BYTES && has_time) {
        if (request->parts[request->n_begun].kind == DG_SEGMENT_SENTENCE) {
            n_bytes += request->parts[request->n_begun].len;
            err = begin(request, tools, request->n_begun, error, retry_ms);
            has_time = dg_turn_has_time(turn);
        } else {
            request->n_begun++;
        }
    }
    if (err && err != DG_ERR_BUSY)
        dg_request_stop(request, tools, err);
    return err;
}

void dg_request_stop(struct dg_request *request, struct dg_request_tools *tools, enum dg_err err)
{
    if (!request->task.err)
        request->task.err = err;
    if (request->is_reading)
        dg_background_leave(&request->markup->task);
    for (size_t i = request->n_shown; i < request->n_begun; i++) {
        struct dg_sentence *sentence = request->sentences[i];
        if (!sentence || sentence->is_over)
            continue;
        request->n_ready -= dg_sentence_is_ready(sentence);
        dg_sentence_stop(sentence, tools);
    }
}

/* ---- Showing --------------------------------------------------------------------------------- */

/* Reports what was appended to the result from `from` on. */
static enum dg_err tell_delta(struct dg_request *request, size_t from)
{
    if (request->events->on_delta && request->result.len > from)
        request->events->on_delta(request->ctx,
                                  dg_span_sub(dg_buf_span(&request->result), from, SIZE_MAX));
    return DG_OK;
}

/* Appends text to the result and reports it. */
static enum dg_err show(struct dg_request *request, struct dg_span text)
{
    size_t from = request->result.len;
    enum dg_err err = dg_buf_append_span(&request->result, text);
    return err ? err : tell_delta(request, from);
}

static enum dg_err tell_sentence(struct dg_request *request, struct dg_sentence *sentence,
                                 struct dg_span shown)
{
    if (!request->events->on_sentence)
        return DG_OK;
    const struct dg_segment *part = &request->parts[sentence->part];
    struct dg_engine_answer answers[DG_BEAM_MAX];
    size_t n_answers;
    struct dg_buf texts;
    size_t *ends = NULL;
    dg_buf_init(&texts, (size_t)DG_SENTENCE_MAX * DG_BEAM_MAX);
    enum dg_err err = dg_sentence_answers(sentence, &texts, answers, &n_answers);
    if (!err && request->asked.search.want_alignment && !request->doc)
        err = dg_sentence_ends(sentence, &ends);
    if (!err) {
        answers[0].ends = ends;
        struct dg_engine_sentence told = {
            .index = request->n_told,
            .at = part->at,
            .len = part->len,
            .n_lost = sentence->n_lost,
            .was_cut = part->cut != DG_SEGMENT_CUT_NONE,
            .source = sentence->tokens,
            .n_source = sentence->n_tokens,
            .answers = answers,
            .n_answers = n_answers,
            .err = sentence->err,
        };
        if (request->doc) { /* positions refer to the original, which is the text with its markup */
            told.at = dg_doc_origin(request->doc, part->at);
            told.len = dg_doc_origin(request->doc, part->at + part->len) - told.at;
            told.n_answers = n_answers > 0;
            answers[0].text = shown;
            dg_sentence_move_tokens(sentence, request->doc);
        }
        request->events->on_sentence(request->ctx, &told);
    }
    dg_free(ends);
    dg_buf_deinit(&texts);
    return err;
}

/* Shows a part that is copied, with its markup. */
static enum dg_err show_copy(struct dg_request *request, const struct dg_segment *part)
{
    if (!request->doc)
        return show(request, dg_span_sub(request->asked.text, part->at, part->len));
    size_t from = request->result.len;
    enum dg_err err =
        dg_doc_copy(request->doc, &request->doc_parts[request->n_shown], false, &request->result);
    return err ? err : tell_delta(request, from);
}

/* Shows what is new in a sentence, with its markup. */
static enum dg_err show_news(struct dg_request *request, struct dg_sentence *sentence)
{
    struct dg_span news =
        dg_span_sub(dg_buf_span(&sentence->text), sentence->n_told, sentence->text.len);
    enum dg_err err = DG_OK;
    if (!request->doc) {
        err = show(request, news);
        sentence->n_told = sentence->text.len;
        return err;
    }
    const struct dg_doc_part *part = &request->doc_parts[sentence->part];
    size_t from = request->result.len;
    if (part->has_markup) {
        err = dg_sentence_weave(sentence, request->doc, part, &request->result);
    } else {
        if (!sentence->has_lead)
            err = dg_doc_copy(request->doc, part, true, &request->result);
        if (!err)
            err = dg_doc_escape(request->doc, news, &request->result);
    }
    if (!sentence->has_lead)
        sentence->shown_at = from;
    sentence->has_lead = true;
    sentence->n_told = sentence->text.len;
    return err ? err : tell_delta(request, from);
}

/* Shows the markup after the last part. */
static enum dg_err show_end(struct dg_request *request)
{
    size_t from = request->result.len;
    if (!request->doc || request->has_doc_end)
        return DG_OK;
    request->has_doc_end = true;
    enum dg_err err = dg_doc_rest(request->doc, &request->doc_end, &request->result);
    return err ? err : tell_delta(request, from);
}

/* Finds the place of a term in the text: the bytes of its tokens, without the blanks that a token
 * may have before a word. */
static void find_term(const struct dg_request *request, const struct dg_sentence *sentence,
                      const struct dg_terms_item *item, size_t *begin, size_t *end)
{
    const struct dg_segment *part = &request->parts[sentence->part];
    struct dg_span text = request->asked.text;
    /* no token belongs to the term, since normalisation removed all of it */
    *begin = *end = part->at;
    if (item->to <= item->from || item->to > sentence->n_tokens)
        return;
    *begin = sentence->tokens[item->from].begin;
    *end = sentence->tokens[item->to - 1].end;
    while (*begin < *end && *begin < text.len &&
           (text.ptr[*begin] == ' ' || text.ptr[*begin] == '\t' || text.ptr[*begin] == '\n'))
        (*begin)++;
}

/* Records the terms of a sentence that was shown whole. */
static enum dg_err note_terms(struct dg_request *request, const struct dg_sentence *sentence)
{
    const struct dg_terms *terms = &sentence->terms;
    size_t n = request->n_terms + terms->n;
    if (DG_RESERVE(request->terms, n, request->terms_cap, 4))
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < terms->n && request->n_terms < TERMS_MAX; i++) {
        const struct dg_terms_item *item = &terms->items[i];
        size_t begin, end;
        find_term(request, sentence, item, &begin, &end);
        if (request->doc) {
            begin = dg_doc_origin(request->doc, begin);
            end = dg_doc_origin(request->doc, end);
        }
        request->terms[request->n_terms++] = (struct dg_engine_term){
            .term = item->term,
            .at = begin,
            .len = end > begin ? end - begin : 0,
            .is_used = item->is_used,
            .has_place = item->is_used && !request->doc,
            .said_at = request->result.len - sentence->text.len + item->said_at,
            .said_len = item->said_len,
        };
    }
    return DG_OK;
}

/* Notes a sentence for the quality estimate, which compares its translation without markup with the
 * original text, also when the translation went through a third language. */
static enum dg_err note_quality(struct dg_request *request, const struct dg_sentence *sentence)
{
    const struct dg_segment *part = &request->parts[sentence->part];
    return dg_quality_estimate_note(
        request->estimate, dg_span_sub(request->asked.text, part->at, part->len),
        dg_buf_span(&sentence->text), sentence->sum.logprob, sentence->n_said);
}

/* Returns true when a sentence may be shown. Markup is placed when the whole sentence is
 * translated, so a sentence with markup is shown at its end. */
static bool is_showable(const struct dg_request *request, const struct dg_sentence *sentence)
{
    bool waits = request->doc && request->doc_parts[sentence->part].has_markup;
    return dg_sentence_is_showable(sentence) && (!waits || sentence->is_over);
}

/* Shows all parts that are ready, in order. Sentences that were shown whole are freed. */
static enum dg_err show_in_order(struct dg_request *request)
{
    enum dg_err err = DG_OK;
    while (!err && request->n_shown < request->n_parts && !request->task.err) {
        const struct dg_segment *part = &request->parts[request->n_shown];
        if (part->kind == DG_SEGMENT_SEPARATOR) {
            err = show_copy(request, part);
            request->n_shown++;
            continue;
        }
        struct dg_sentence *sentence = request->sentences[request->n_shown];
        if (!sentence || !is_showable(request, sentence))
            break;
        err = show_news(request, sentence);
        if (err || !sentence->is_over)
            break;
        err = note_terms(request, sentence);
        if (!err && request->estimate)
            err = note_quality(request, sentence);
        if (err)
            break;
        err =
            tell_sentence(request, sentence,
                          dg_span_sub(dg_buf_span(&request->result), sentence->shown_at, SIZE_MAX));
        request->n_told++;
        request->sentences[request->n_shown++] = NULL;
        dg_sentence_free(sentence);
    }
    if (!err && request->is_cut && request->n_shown == request->n_parts && !request->task.err)
        err = show_end(request);
    return err;
}

enum dg_err dg_request_note_lost(struct dg_request *request, struct dg_span bytes)
{
    if (request->n_lost == LOST_MAX)
        return DG_OK; /* a longer list would be of no more use */
    struct dg_span *lost = dg_try_realloc(request->lost, (request->n_lost + 1) * sizeof *lost);
    char *copy = dg_try_malloc(bytes.len + 1);
    if (lost)
        request->lost = lost;
    if (!lost || !copy) {
        dg_free(copy);
        return DG_ERR_NOMEM;
    }
    memcpy(copy, bytes.ptr, bytes.len);
    request->lost[request->n_lost++] = dg_span_make(copy, bytes.len);
    return DG_OK;
}

/* ---- Collecting ------------------------------------------------------------------------------ */

/* Passes news to one sentence. */
static void take(struct dg_sentence *sentence, struct dg_request_tools *tools, bool is_over,
                 bool is_leader)
{
    struct dg_request *request = sentence->request;
    dg_task_rouse(&request->task);
    enum dg_err err = dg_sentence_take(sentence, tools, is_over, is_leader);
    if (dg_sentence_is_ready(sentence)) {
        request->n_ready++;
        if (request->task.err || err) { /* it is too late for that */
            request->n_ready--;
            dg_sentence_stop(sentence, tools);
        }
    }
    if (!err)
        err = show_in_order(request);
    if (err)
        dg_request_stop(request, tools, err);
}

/* Puts a new answer into the remote cache. */
static void put_remote(struct dg_request_tools *tools, const struct dg_flight *flight)
{
    struct dg_buf value;
    if (!flight->asking || flight->asking->is_hit || !tools->lookups.remote.put)
        return;
    dg_buf_init(&value, DG_REMOTE_VALUE_MAX);
    if (dg_remote_value_write(flight->ticket, flight->asking->key, &value) == DG_OK) {
        tools->lookups.remote.put(tools->lookups.remote.arg, dg_span_cstr(flight->asking->key),
                                  dg_buf_span(&value));
        tools->lookups.stats.n_puts++;
    }
    dg_buf_deinit(&value);
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
        put_remote(tools, flight);
    }
    /* Events may cancel or begin requests, which removes sentences from either list. */
    dg_list_init(&todo);
    while ((at = dg_list_pop_first(&flight->sentences)))
        dg_list_link_last(&todo, at);
    while ((at = dg_list_pop_first(&todo))) {
        struct dg_sentence *sentence = DG_LIST_ITEM(at, struct dg_sentence, link);
        dg_list_link_last(&flight->sentences, at);
        take(sentence, tools, is_over, sentence == leader);
    }
    if (is_over) { /* the flight stays in the cache for long, but the question need not */
        dg_remote_lookup_free(flight->asking);
        flight->asking = NULL;
    }
    dg_flight_unref(flight);
}

void dg_request_take_remote(struct dg_request_tools *tools, struct dg_flight *flight,
                            struct dg_span value)
{
    struct dg_remote_lookup *asking = flight->asking;
    struct dg_ticket *ticket = flight->ticket;
    struct dg_request *asker = flight->leader->request;
    size_t n_words = flight->leader->request->hops[flight->leader->hop]->blueprint.decoder.V;
    enum dg_err err = DG_ERR_NOT_FOUND;
    if (asking->is_dropped)
        ticket->err = DG_ERR_CANCELLED;
    else if (value.ptr)
        err = dg_remote_value_read(value, asking->key, n_words, ticket);
    asking->is_hit = !asking->is_dropped && !err;
    tools->lookups.stats.n_hits += asking->is_hit;
    tools->lookups.stats.n_misses += !asking->is_hit && !asking->is_dropped;
    tools->lookups.stats.n_bad += err == DG_ERR_INTEGRITY;
    if (!asking->is_hit && !asking->is_dropped) {
        err =
            dg_sched_submit(tools->tasks->sched, &asker->flows[flight->leader->hop], ticket, NULL);
        if (!err)
            return; /* the news arrives as usual; what the ticket holds belongs to the worker now */
        ticket->err = err;
    }
    dg_request_take(tools, ticket, true);
}

void dg_request_show(struct dg_request *request, struct dg_request_tools *tools)
{
    enum dg_err err = show_in_order(request);
    if (err)
        dg_request_stop(request, tools, err);
}

bool dg_request_is_stuck(const struct dg_request *request)
{
    const struct dg_task *task = &request->task;
    return task->deadline_ns && task->err && !task->is_told && !dg_request_is_over(request) &&
           dg_task_now(task) >= task->deadline_ns + STUCK_NS;
}

bool dg_request_is_over(const struct dg_request *request)
{
    return request->task.n_open == 0 &&
           (request->task.err || (request->is_cut && request->n_shown == request->n_parts));
}

/* Counts the characters of the text up to the end of the last sentence that was shown at least in
 * part. */
static size_t count_shown(const struct dg_request *request)
{
    const struct dg_sentence *next = request->sentences && request->n_shown < request->n_parts
                                         ? request->sentences[request->n_shown]
                                         : NULL;
    const size_t n = request->n_shown + (next && next->n_told > 0);
    size_t end = n > 0 ? request->parts[n - 1].at + request->parts[n - 1].len : 0;
    if (!request->task.err)
        end = request->text_len;
    else if (request->doc)
        end = dg_doc_origin(request->doc, end);
    return dg_utf8_count(dg_span_sub(dg_span_make(request->text, request->text_len), 0, end));
}

/* Ends a request that never began. */
static void give_up(const struct dg_request *request)
{
    const struct dg_task *task = &request->task;
    const uint64_t waited_ns = dg_task_now(task) - task->began_ns;
    const struct dg_engine_result result = {
        .err = task->err,
        .error = dg_error_text(&task->error, task->err),
        .finish = task->err == DG_ERR_CANCELLED ? DG_FINISH_CANCELLED : DG_FINISH_FAILED,
        .model = "",
        .source = "",
        .target = "",
        .n_characters = dg_utf8_count(request->asked.text),
        .queue_ns = waited_ns,
        .total_ns = waited_ns,
    };
    request->events->on_done(request->ctx, &result);
}

static void tell_result(struct dg_request *request)
{
    uint64_t now = dg_task_now(&request->task);
    const size_t n_characters = dg_utf8_count(request->asked.text);
    const bool is_all_shown = !request->task.err && !request->doc;
    const struct dg_request_markup *markup = request->is_reading ? NULL : request->markup;
    struct dg_engine_result result = {
        .err = request->task.err,
        .error = markup && request->task.err == markup->err && *markup->error.text
                     ? markup->error.text
                     : NULL,
        .text = dg_buf_span(&request->result),
        .memory = &request->result,
        .finish = request->task.err == DG_ERR_CANCELLED ? DG_FINISH_CANCELLED : request->finish,
        .repaired = request->repaired,
        .n_sentences = request->n_sentences,
        .n_cuts = request->n_cuts,
        .n_cached = request->n_cached,
        .lost = request->lost,
        .n_lost = request->n_lost,
        .terms = request->terms,
        .n_terms = request->n_terms,
        .model = request->n_hops == 1 ? request->hops[0]->name : request->name,
        .source = *request->source.text ? request->source.text : request->pairs[0].source->code,
        .target = *request->target.text ? request->target.text
                                        : request->pairs[request->n_hops - 1].target->code,
        .is_copy = request->is_copy,
        .is_foreign = request->is_foreign,
        .detected = request->detected,
        .confidence = request->confidence,
        .n_tokens_in = request->n_tokens_in,
        .n_tokens_out = request->n_tokens_out,
        .n_characters = n_characters,
        .n_shown = is_all_shown ? n_characters : count_shown(request),
        .queue_ns = request->queue_ns,
        .first_ns = request->first_ns ? request->first_ns - request->task.began_ns : 0,
        .total_ns = now - request->task.began_ns,
    };
    const struct dg_quality_estimate *estimate = request->task.err ? NULL : request->estimate;
    if (estimate && estimate->is_done && estimate->n > 0) {
        result.has_quality = true;
        result.quality = dg_quality_estimate_quality(estimate);
        result.qualities = estimate->qualities;
    }
    if (request->task.err && *request->task.error.text)
        result.error = request->task.error.text;
    request->events->on_done(request->ctx, &result);
}

void dg_request_tell_end(struct dg_request *request)
{
    if (request->is_open)
        tell_result(request);
    else
        give_up(request);
}
