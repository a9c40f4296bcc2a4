/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Items become tokens, tokens become windows, and windows become tickets, some at a time; the
 * output of the tickets goes to reading_result.c, which interprets it. This file divides long
 * texts, shares the texts of pairs, and reports results in order. The worker's side is
 * decode/analyser.h. */
#include "engine/read/reading.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "engine/read/reading_result.h"
#include "tokenize/pair_truncate.h"

#include <stdio.h>
#include <string.h>

enum {
    OPEN_MAX = 64,      /* tickets that a request has at a time */
    STRETCH = 8 * 1024, /* bytes that are tokenised at once */
    OVERLAP_PARTS = 4,  /* neighbouring windows overlap by one part in this many */
    /* the bytes for each token that are read if only the beginning of a text counts */
    BYTES_PER_TOKEN = 64,
    ARENA_SPARE = 1 << 16,
    ANSWER_BYTES_MAX = 256 << 20,
};

_Static_assert((int)DG_READING_RESULT_LABELS_MAX == (int)DG_LABELS_MAX &&
                   (int)DG_READING_RESULT_BEST_MAX <= (int)DG_ANALYSIS_BEST_MAX,
               "limits agree");

/* One ticket's worth of an item. */
struct window {
    struct dg_list link; /* linked in the reading's windows */
    struct dg_reading *reading;
    struct item *item;
    struct dg_ticket *ticket; /* owned */
    struct dg_analysis read;  /* its arrays except `at` are owned */
    struct dg_reading_result_window what;
    bool is_open;
};

struct item {
    struct dg_engine_item asked;
    struct dg_gathering gathering;
    size_t text_at, pair_at;  /* bytes tokenised so far */
    uint32_t *at;             /* owned; the positions of masked words */
    size_t next;              /* the token at which the next window begins */
    size_t n_windows, n_over; /* n_windows counts only once all windows are made */
    bool is_tokenised, is_made, is_finished;
};

struct dg_reading {
    struct dg_task task; /* n_open counts windows */
    struct dg_arena arena;
    struct dg_engine_read asked; /* its items and texts lie in the arena */
    const struct dg_engine_read_events *events;
    void *ctx;
    struct dg_flow flow;
    struct item *items;             /* owned; [n_items] */
    struct dg_reading_result *said; /* in the arena; [n_items] */
    struct dg_list windows;         /* windows that are made and not finished */
    size_t n_prepared;              /* the windows of items before this one are made */
    size_t n_told;                  /* the results of items before this one were reported */
    size_t n_told_entities;         /* entities of item n_told that were reported */
    size_t n_unsent;                /* windows that wait for a ticket */
    size_t n_characters, n_tokens;
    bool has_begun; /* from now on it keeps its model */
    size_t failed;  /* the index of the item that failed */
    uint64_t started_ns;
};

const char *dg_read_task_name(enum dg_read_task task)
{
    static const char *const names[] = {"fill", "classify", "tag", "answer", "embed"};
    return task < DG_N_TASKS ? names[task] : "?";
}

bool dg_reading_fits(const struct dg_blueprint *bp, enum dg_read_task task)
{
    static const enum dg_head heads[] = {DG_HEAD_WORDS, DG_HEAD_POOLED, DG_HEAD_TOKENS,
                                         DG_HEAD_SPANS};
    if (!dg_blueprint_family(bp)->has_head)
        return dg_blueprint_is_reader(bp) && task == DG_TASK_CLASSIFY;
    if (bp->enc.head == DG_HEAD_REPLACED && task == DG_TASK_TAG)
        return true;
    return task == DG_TASK_EMBED || (task < DG_TASK_EMBED && bp->enc.head == heads[task]);
}

bool dg_read_shares_pair(const struct dg_engine_item *items, size_t i)
{
    return i > 0 && items[i].has_pair && items[i - 1].has_pair &&
           items[i].pair.ptr == items[i - 1].pair.ptr && items[i].pair.len == items[i - 1].pair.len;
}

/* Returns the bytes of a request's texts. */
static size_t bytes_of(const struct dg_engine_read *ask)
{
    size_t n = 0;
    for (size_t i = 0; i < ask->n_items; i++)
        n += ask->items[i].text.len + (ask->items[i].has_pair && !dg_read_shares_pair(ask->items, i)
                                           ? ask->items[i].pair.len
                                           : 0);
    return n;
}

static struct dg_reading *reading_of(struct dg_task *task)
{
    return DG_LIST_ITEM(task, struct dg_reading, task);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void free_window(struct window *window)
{
    dg_list_unlink(&window->link);
    dg_ticket_free(window->ticket);
    dg_free(window->read.values);
    dg_free(window->read.ids);
    dg_free(window);
}

static void free_item(struct item *item)
{
    dg_gathering_deinit(&item->gathering);
    dg_free(item->at);
    item->gathering = (struct dg_gathering){.n_spans = 0};
    item->at = NULL;
}

static void free_reading(struct dg_reading *r)
{
    while (!dg_list_is_empty(&r->windows))
        free_window(DG_LIST_ITEM(r->windows.next, struct window, link));
    for (size_t i = 0; r->items && i < r->asked.n_items; i++)
        free_item(&r->items[i]);
    dg_free(r->items);
    dg_task_deinit(&r->task);
    dg_arena_deinit(&r->arena);
    dg_free(r);
}

/* Checks the number of characters of a text that is read whole, in as many windows as needed. */
static enum dg_err check_size(const struct dg_reading *r, size_t i, size_t n_characters,
                              size_t n_all, struct dg_error *error)
{
    if (r->asked.task != DG_TASK_TAG && r->asked.task != DG_TASK_ANSWER)
        return DG_OK;
    if (n_characters > DG_READ_CHARACTERS_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "item %zu has %zu characters, expected at most %d",
                            i, n_characters, DG_READ_CHARACTERS_MAX);
    if (n_all > DG_READ_ALL_MAX && r->asked.task == DG_TASK_ANSWER)
        return dg_error_set(
            error, DG_ERR_LIMIT,
            "up to item %zu the questions, each with its context, have %zu characters, expected "
            "at most %d: ask fewer at a time",
            i, n_all, DG_READ_ALL_MAX);
    return DG_OK;
}

/* Copies the items. A pair that several items share is checked, kept and counted once. */
static enum dg_err copy_items(struct dg_reading *r, const struct dg_engine_read *ask,
                              struct dg_error *error)
{
    size_t n_pair = 0, n_all = 0;
    r->items = dg_try_calloc(ask->n_items + 1, sizeof *r->items);
    r->said = dg_arena_calloc(&r->arena, ask->n_items + 1, sizeof *r->said);
    if (!r->items || !r->said)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < ask->n_items; i++) {
        struct dg_engine_item *to = &r->items[i].asked;
        const bool is_shared = dg_read_shares_pair(ask->items, i);
        size_t bad_at;
        *to = ask->items[i];
        if (!dg_utf8_valid(to->text, &bad_at) ||
            (to->has_pair && !is_shared && !dg_utf8_valid(to->pair, &bad_at)))
            return dg_error_set(error, DG_ERR_UTF8, "item %zu is not valid UTF-8 at byte %zu", i,
                                bad_at);
        const size_t n_text = dg_utf8_count(to->text);
        if (!is_shared)
            n_pair = to->has_pair ? dg_utf8_count(to->pair) : 0;
        n_all += n_text + n_pair;
        const enum dg_err err = check_size(r, i, n_text + n_pair, n_all, error);
        if (err)
            return err;
        to->text = dg_arena_copy(&r->arena, to->text);
        to->pair = is_shared      ? r->items[i - 1].asked.pair
                   : to->has_pair ? dg_arena_copy(&r->arena, to->pair)
                                  : DG_SPAN("");
        if (!to->text.ptr || !to->pair.ptr)
            return DG_ERR_NOMEM;
        r->n_characters += n_text + (is_shared ? 0 : n_pair);
        r->items[i].gathering = (struct dg_gathering){.asked = &r->asked, .item = to};
    }
    return DG_OK;
}

static enum dg_err new_reading(struct dg_tasks *tasks, const struct dg_engine_read *ask,
                               struct dg_error *error, struct dg_reading **out)
{
    struct dg_reading *r = dg_try_calloc(1, sizeof *r);
    const size_t n_bytes = bytes_of(ask);
    if (!r)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a reading");
    dg_task_init(&r->task, tasks, &dg_reading_ops, n_bytes, ask->timeout_ms);
    r->task.waits = ask->waits;
    dg_arena_init(&r->arena, (size_t)ANSWER_BYTES_MAX + n_bytes + ARENA_SPARE);
    dg_list_init(&r->windows);
    dg_flow_init(&r->flow, ask->priority, ask->client);
    r->asked = *ask;
    r->asked.items = NULL;
    enum dg_err err = copy_items(r, ask, error);
    if (err) {
        free_reading(r);
        return err == DG_ERR_NOMEM ? dg_error_set(error, err, "no memory for a reading") : err;
    }
    *out = r;
    return DG_OK;
}

/* ---- The model ------------------------------------------------------------------------------- */

static bool fits_task(const struct dg_served_model *model, const void *arg)
{
    const struct dg_engine_read *ask = arg;
    return dg_reading_fits(&model->blueprint, ask->task);
}

static enum dg_err find_model(const struct dg_tasks *tasks, const struct dg_engine_read *ask,
                              struct dg_error *error, struct dg_served_model **found)
{
    static const char *const needs[DG_N_TASKS + 1] = {
        "a head for masked words", "labels of texts",  "labels of tokens",
        "a head for answers",      "an encoder alone", "?"};
    char one[64], several[64];
    snprintf(one, sizeof one, "model that could %s", dg_read_task_name(ask->task));
    snprintf(several, sizeof several, "models that %s", dg_read_task_name(ask->task));
    const struct dg_registry_wish wish = {.name = ask->model,
                                          .only = ask->only,
                                          .n_only = ask->n_only,
                                          .fits = fits_task,
                                          .arg = ask,
                                          .one = one,
                                          .several = several};
    enum dg_err err = dg_registry_choose(tasks->registry, &wish, error, found);
    if (!err && !fits_task(*found, ask))
        err = dg_error_set(error, DG_ERR_UNSUPPORTED, "%s cannot %s: expected a model with %s",
                           (*found)->name, dg_read_task_name(ask->task), needs[ask->task]);
    return err;
}

/* ---- Tokens ---------------------------------------------------------------------------------- */

static bool is_recurrent(const struct dg_reading *r)
{
    return !dg_blueprint_family(&r->task.model->blueprint)->has_head;
}

/* Returns true when only the beginning of a text counts. */
static bool is_cut_short(const struct dg_reading *r)
{
    return r->asked.task == DG_TASK_CLASSIFY || r->asked.task == DG_TASK_EMBED;
}

static size_t capacity(const struct dg_reading *r)
{
    return r->task.model->limits.source_max;
}

/* Returns how many of the remaining bytes are tokenised next: up to a space, which belongs to what
 * follows; all of them if there is no space. */
static size_t stretch(struct dg_span rest)
{
    if (rest.len <= STRETCH)
        return rest.len;
    for (size_t n = STRETCH; n > STRETCH / 2; n--)
        if (rest.ptr[n] == ' ' && n + 1 < rest.len && rest.ptr[n + 1] != ' ' &&
            rest.ptr[n - 1] != ' ')
            return n;
    size_t n = STRETCH;
    while (n > 1 && ((unsigned char)rest.ptr[n] & 0xC0) == 0x80)
        n--;
    return n;
}

/* Makes room for n more tokens. */
static enum dg_err reserve(struct dg_reading_result_tokens *to, size_t n)
{
    return DG_RESERVE(to->list, to->n + n, to->cap, 128);
}

/* Reads a whole text, and its end, with the recurrent classifier's vocabulary. */
static enum dg_err tokenise_recurrent(struct dg_reading *r, struct dg_reading_result_tokens *to,
                                      struct dg_span text, struct dg_error *error)
{
    const struct dg_tokenizer_opts how = DG_TOKENIZER_OPTS_DEFAULT;
    const struct dg_token *tokens;
    size_t n;
    enum dg_err err = dg_tokenizer_encode(r->task.model->tokenizer, r->task.tasks->work, text, &how,
                                          error, &tokens, &n);
    if (!err)
        err = reserve(to, n);
    for (size_t i = 0; i < n && !err; i++)
        to->list[to->n++] = (struct dg_reading_result_token){tokens[i].id, tokens[i].begin,
                                                             tokens[i].end, (uint32_t)i};
    return err;
}

/* Tokenises a stretch that begins at `at`. Masked words are written as the vocabulary writes them;
 * the names of other special tokens are ordinary text, because a stranger may have written them. */
static enum dg_err tokenise_stretch(struct dg_reading *r, struct dg_reading_result_tokens *to,
                                    struct dg_span text, size_t at, struct dg_error *error)
{
    const unsigned how = r->asked.task == DG_TASK_FILL ? DG_SUBWORD_MASKS : 0;
    const struct dg_subword_token *tokens;
    uint32_t word = to->n ? to->list[to->n - 1].word : 0;
    size_t n;
    enum dg_err err = dg_subword_encode(dg_tokenizer_subword(r->task.model->tokenizer),
                                        r->task.tasks->subword, text, how, error, &tokens, &n);
    if (!err)
        err = reserve(to, n);
    for (size_t i = 0; i < n && !err; i++) {
        word +=
            i == 0 || tokens[i].word != tokens[i - 1].word || tokens[i].word == DG_SUBWORD_NO_WORD;
        to->list[to->n++] = (struct dg_reading_result_token){
            tokens[i].id, tokens[i].begin + (uint32_t)at, tokens[i].end + (uint32_t)at, word};
    }
    return err;
}

/* Tokenises the next part of a text. */
static enum dg_err tokenise(struct dg_reading *r, struct dg_reading_result_tokens *to,
                            struct dg_span text, size_t *at, struct dg_error *error)
{
    const struct dg_span rest = dg_span_sub(text, *at, text.len);
    const size_t len = is_recurrent(r) ? rest.len : stretch(rest);
    const enum dg_err err = is_recurrent(r)
                                ? tokenise_recurrent(r, to, rest, error)
                                : tokenise_stretch(r, to, dg_span_sub(rest, 0, len), *at, error);
    *at += len;
    return err;
}

/* Returns the part of a text that is tokenised at all. */
static struct dg_span looked_at(const struct dg_reading *r, struct dg_span text)
{
    size_t most = capacity(r) * BYTES_PER_TOKEN;
    if (!is_cut_short(r) || text.len <= most)
        return text;
    while (most > 0 && ((unsigned char)text.ptr[most] & 0xC0) == 0x80)
        most--;
    return dg_span_sub(text, 0, most);
}

/* Tokenises one stretch of the item's text, or of its pair; sets *done when there is no more. */
static enum dg_err tokenise_some(struct dg_reading *r, struct item *item, struct dg_error *error,
                                 bool *done)
{
    struct dg_gathering *g = &item->gathering;
    const struct dg_span text = looked_at(r, item->asked.text),
                         pair = looked_at(r, item->asked.pair);
    const bool text_is_full = is_cut_short(r) && g->text.n >= capacity(r),
               pair_is_full = is_cut_short(r) && g->pair.n >= capacity(r);
    const bool begins = item->text_at == 0 && g->text.n == 0 && is_recurrent(r);
    enum dg_err err = DG_OK;
    if ((begins || item->text_at < text.len) && !text_is_full)
        err = tokenise(r, &g->text, text, &item->text_at, error);
    else if (item->pair_at < pair.len && !pair_is_full)
        err = tokenise(r, &g->pair, pair, &item->pair_at, error);
    *done = (item->text_at >= text.len || (is_cut_short(r) && g->text.n >= capacity(r))) &&
            (item->pair_at >= pair.len || (is_cut_short(r) && g->pair.n >= capacity(r)));
    return err;
}

/* ---- Windows --------------------------------------------------------------------------------- */

static enum dg_analysis_kind kind_of(enum dg_read_task task)
{
    return task == DG_TASK_FILL    ? DG_ANALYSIS_WORDS
           : task == DG_TASK_EMBED ? DG_ANALYSIS_STATE
                                   : DG_ANALYSIS_LABELS;
}

static size_t put(int32_t *ids, size_t n, const struct dg_reading_result_token *tokens,
                  size_t n_tokens)
{
    for (size_t i = 0; i < n_tokens; i++)
        ids[n++] = tokens[i].id;
    return n;
}

/* Returns the number of special tokens around one text, or around two. */
static size_t n_around(const struct dg_reading *r, bool has_pair)
{
    return is_recurrent(r) ? 0 : 2 + (has_pair ? r->task.model->blueprint.enc.separators : 0);
}

/* Lays out [cls] text [sep], or [cls] text [sep]... pair [sep]; *at is where the pair begins or,
 * without a pair, the text. */
static size_t lay_out(const struct dg_reading *r, const struct dg_reading_result_token *text,
                      size_t n_text, const struct dg_reading_result_token *pair, size_t n_pair,
                      bool has_pair, int32_t *ids, size_t *second, size_t *at)
{
    const struct dg_marks *marks = &r->task.model->marks;
    const struct dg_enc *enc = &r->task.model->blueprint.enc;
    size_t n = 0;
    *second = *at = 0;
    if (is_recurrent(r))
        return put(ids, n, text, n_text);
    ids[n++] = marks->cls;
    *at = n;
    n = put(ids, n, text, n_text);
    ids[n++] = marks->sep;
    if (!has_pair)
        return n;
    *second = enc->n_types > 1 ? n : 0;
    for (size_t i = 1; i < enc->separators; i++)
        ids[n++] = marks->sep;
    *at = n;
    n = put(ids, n, pair, n_pair);
    ids[n++] = marks->sep;
    return n;
}

/* Makes a window of tokens [first, first + n) of the text or, with a pair, of the pair. */
static enum dg_err make_window(struct dg_reading *r, struct item *item,
                               struct dg_reading_result_window what, size_t n_text,
                               struct dg_error *error)
{
    const struct dg_gathering *g = &item->gathering;
    const bool has_pair = item->asked.has_pair;
    const struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    const size_t n_all = n_around(r, has_pair) + n_text + (has_pair ? what.n : 0);
    struct window *window = dg_try_calloc(1, sizeof *window);
    int32_t *ids = dg_try_calloc(n_all + 1, sizeof *ids);
    enum dg_err err = window && ids ? DG_OK : DG_ERR_NOMEM;
    if (window)
        dg_list_init(&window->link);
    if (!err) {
        const struct dg_reading_result_token *text =
            !has_pair && what.first ? g->text.list + what.first : g->text.list;
        const struct dg_reading_result_token *pair =
            has_pair && what.first ? g->pair.list + what.first : g->pair.list;
        struct dg_analysis *read = &window->read;
        window->reading = r;
        window->item = item;
        *read = (struct dg_analysis){.kind = kind_of(r->asked.task),
                                     .first = r->asked.first,
                                     .at = item->at,
                                     .n_at = g->n_places,
                                     .n_best = r->asked.n_best};
        read->probabilities =
            (r->asked.task == DG_TASK_TAG &&
             r->task.model->blueprint.enc.head != DG_HEAD_REPLACED) ||
            (r->asked.task == DG_TASK_CLASSIFY &&
             (is_recurrent(r) || r->task.model->blueprint.enc.rule == DG_LABELS_ONE));
        const size_t n =
            lay_out(r, text, n_text, pair, what.n, has_pair, ids, &read->second, &what.at);
        window->what = what;
        const size_t n_values = dg_analysis_size(&r->task.model->blueprint, read, n);
        read->values = dg_try_calloc(n_values + 1, sizeof *read->values);
        read->ids =
            read->kind == DG_ANALYSIS_WORDS ? dg_try_calloc(n_values + 1, sizeof *read->ids) : NULL;
        window->ticket = dg_ticket_new(r->task.model->place, ids, n, &opts, 1);
        err = !read->values || (read->kind == DG_ANALYSIS_WORDS && !read->ids) || !window->ticket
                  ? DG_ERR_NOMEM
                  : dg_sched_check(r->task.model->place, ids, n, &opts, error);
    }
    dg_free(ids);
    if (err) {
        if (window)
            free_window(window);
        return err == DG_ERR_NOMEM ? dg_error_set(error, err, "no memory for a reading") : err;
    }
    window->ticket->ctx = window;
    window->ticket->kind = DG_TICKET_READING;
    window->ticket->read = &window->read;
    window->ticket->deadline_ns = r->task.deadline_ns;
    window->ticket->is_quiet = true;
    dg_list_link_last(&r->windows, &window->link);
    item->n_windows++;
    r->n_unsent++;
    r->n_tokens += window->ticket->n_src;
    r->said[item - r->items].n_tokens += window->ticket->n_src;
    return DG_OK;
}

/* Makes the next of overlapping windows over n tokens, `most` in each. */
static enum dg_err make_next(struct dg_reading *r, struct item *item, size_t n, size_t most,
                             struct dg_error *error)
{
    const size_t first = item->next, step = most - most / OVERLAP_PARTS; /* 1 or more:
                                                                            dg_served_model opens no
                                                                            smaller model */
    const bool is_last = n - first <= most;
    const struct dg_reading_result_window what = {.first = first,
                                                  .n = is_last ? n - first : most,
                                                  .number = (uint32_t)item->n_windows,
                                                  .is_first = first == 0,
                                                  .is_last = is_last};
    item->is_made = is_last;
    item->next += step;
    return n == 0 ? DG_OK
                  : make_window(r, item, what,
                                item->asked.has_pair ? item->gathering.text.n : what.n, error);
}

static enum dg_err find_places(struct dg_reading *r, struct item *item, struct dg_error *error)
{
    struct dg_gathering *g = &item->gathering;
    const int32_t mask = r->task.model->marks.mask;
    item->at = dg_try_calloc(g->text.n + 1, sizeof *item->at);
    if (!item->at)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a reading");
    for (size_t i = 0; i < g->text.n; i++)
        if (g->text.list[i].id == mask)
            item->at[g->n_places++] = (uint32_t)(i + 1);
    if (g->n_places > DG_READING_RESULT_WORDS_MAX / r->asked.n_best)
        return dg_error_set(error, DG_ERR_LIMIT,
                            "the text has %zu masked words, and %zu suggestions were asked for "
                            "each, which makes %zu, expected at most %d",
                            g->n_places, r->asked.n_best, g->n_places * r->asked.n_best,
                            DG_READING_RESULT_WORDS_MAX);
    if (g->n_places)
        return DG_OK;
    const struct dg_span sign = dg_tokenizer_target_piece(r->task.model->tokenizer, mask);
    return dg_error_set(error, DG_ERR_INVALID,
                        "the text has no masked word: expected %.*s in its place",
                        DG_SPAN_FMT(sign));
}

/* Makes an item's only window, with as much text as fits; the longer of two texts is cut first. */
static enum dg_err make_only(struct dg_reading *r, struct item *item, struct dg_error *error)
{
    struct dg_gathering *g = &item->gathering;
    const size_t most = capacity(r) - n_around(r, item->asked.has_pair);
    size_t n_text = g->text.n, n_pair = item->asked.has_pair ? g->pair.n : 0;
    const bool is_short =
        item->text_at < item->asked.text.len || item->pair_at < item->asked.pair.len;
    if (!is_cut_short(r) && n_text > most)
        return dg_error_set(error, DG_ERR_RANGE, "the text has %zu tokens, expected at most %zu",
                            n_text, most);
    r->said[item - r->items].was_cut = dg_pair_truncate(most, &n_text, &n_pair) || is_short;
    const struct dg_reading_result_window what = {
        .n = item->asked.has_pair ? n_pair : n_text, .is_first = true, .is_last = true};
    return make_window(r, item, what, n_text, error);
}

/* Makes an item's only window, or its next one: one at a time, so that the clock is checked in
 * between. */
static enum dg_err make_some(struct dg_reading *r, struct item *item, struct dg_error *error)
{
    struct dg_gathering *g = &item->gathering;
    const size_t around = n_around(r, item->asked.has_pair);
    enum dg_err err = DG_OK;
    if (capacity(r) <= around)
        return dg_error_set(error, DG_ERR_RANGE,
                            "the model may read %zu tokens, of which %zu stand around a text: "
                            "there is no room for one",
                            capacity(r), around);
    g->model = r->task.model;
    if (r->asked.task == DG_TASK_TAG) {
        err = make_next(r, item, g->text.n, capacity(r) - around, error);
    } else if (r->asked.task == DG_TASK_ANSWER) {
        const size_t most = capacity(r) - around;
        if (g->text.n > most / 2)
            err = dg_error_set(error, DG_ERR_RANGE,
                               "the question has %zu tokens, expected at most %zu", g->text.n,
                               most / 2);
        else
            err = make_next(r, item, g->pair.n, most - g->text.n, error);
    } else {
        if (r->asked.task == DG_TASK_FILL)
            err = find_places(r, item, error);
        if (!err)
            err = make_only(r, item, error);
        item->is_made = true;
    }
    return err;
}

/* ---- Going on -------------------------------------------------------------------------------- */

static void fail(struct dg_reading *r, enum dg_err err, const struct dg_error *error, size_t item)
{
    if (!r->task.err)
        r->failed = item;
    dg_task_fail(&r->task, err, error);
}

/* Ends an item, all of whose windows are over. */
static void finish_item(struct dg_reading *r, struct item *item)
{
    const size_t index = (size_t)(item - r->items);
    enum dg_err err =
        r->task.err ? DG_OK : dg_reading_result_make(&item->gathering, &r->arena, &r->said[index]);
    item->is_finished = true;
    free_item(item);
    if (err)
        fail(r, err, NULL, index);
}

/* Gives windows to the scheduler while it takes them and not too many are open. */
static enum dg_err send(struct dg_reading *r, uint64_t *retry_ms)
{
    for (struct dg_list *at = r->windows.next;
         at != &r->windows && r->n_unsent > 0 && r->task.n_open < OPEN_MAX; at = at->next) {
        struct window *window = DG_LIST_ITEM(at, struct window, link);
        if (window->is_open)
            continue;
        const enum dg_err err =
            dg_sched_submit(r->task.tasks->sched, &r->flow, window->ticket, retry_ms);
        if (err)
            return err;
        window->is_open = true;
        r->n_unsent--;
        r->task.n_open++;
    }
    return DG_OK;
}

/* Tokenises, makes windows and submits them until the turn ends, but at least some. DG_ERR_BUSY:
 * the scheduler is full. */
static enum dg_err go_on(struct dg_reading *r, struct dg_task_turn *turn, struct dg_error *error)
{
    enum dg_err err = send(r, &turn->retry_ms);
    while (!err && r->n_prepared < r->asked.n_items && r->n_unsent == 0 &&
           r->task.n_open < OPEN_MAX) {
        struct item *item = &r->items[r->n_prepared];
        if (!item->is_tokenised)
            err = tokenise_some(r, item, error, &item->is_tokenised);
        if (!err && item->is_tokenised) {
            err = make_some(r, item, error);
            r->n_prepared += !err && item->is_made;
            if (!err && item->is_made && item->n_windows == 0)
                finish_item(r, item); /* the text is empty */
        }
        if (err)
            r->failed = r->n_prepared;
        if (!err)
            err = send(r, &turn->retry_ms);
        if (!err && !dg_turn_has_time(r->task.tasks->turn)) {
            turn->wants_more = true;
            break;
        }
    }
    return err;
}

/* Finds the model and makes windows. */
static enum dg_err prepare(struct dg_reading *r, struct dg_task_turn *turn, struct dg_error *error)
{
    struct dg_served_model *model = NULL;
    enum dg_err err = DG_OK;
    const bool is_first = !r->has_begun;
    if (is_first) {
        err = find_model(r->task.tasks, &r->asked, error, &model);
        if (!err)
            err = dg_task_await(&r->task, model, error);
        if (err)
            return err;
    }
    r->has_begun = true; /* from now on it keeps this model */
    err = go_on(r, turn, error);
    if (err != DG_ERR_BUSY)
        return err;
    return r->task.n_open > 0 || !is_first || r->asked.waits
               ? DG_OK /* the rest waits for room */
               : dg_error_set(error, err, "the server is busy; try again later");
}

/* ---- Telling --------------------------------------------------------------------------------- */

/* Reports the next item, or its next part. */
static void tell_some(struct dg_reading *r)
{
    struct dg_reading_result part = r->said[r->n_told];
    const size_t n_left = part.n_entities - r->n_told_entities;
    part.has_more = n_left > DG_READING_RESULT_PART;
    part.n_entities = part.has_more ? DG_READING_RESULT_PART : n_left;
    part.n_before = r->n_told_entities;
    if (part.n_before)
        part.entities += part.n_before;
    r->events->on_said(r->ctx, r->n_told, &part);
    r->n_told += !part.has_more;
    r->n_told_entities = part.has_more ? part.n_before + part.n_entities : 0;
}

/* Reports finished items, in their order, until the turn ends, but at least one part. */
static void tell_items(struct dg_reading *r, struct dg_task_turn *turn)
{
    while (!r->task.err && r->n_told < r->asked.n_items && r->items[r->n_told].is_finished) {
        tell_some(r);
        if (!dg_turn_has_time(r->task.tasks->turn)) {
            turn->wants_more = true;
            return;
        }
    }
}

static void tell_end(struct dg_reading *r)
{
    const struct dg_task *task = &r->task;
    const uint64_t now = dg_task_now(task);
    const struct dg_engine_read_result result = {
        .err = task->err,
        .error = task->err && *task->error.text ? task->error.text : NULL,
        .item = r->failed,
        .model = task->model ? task->model->name : "",
        .n_tokens = r->n_tokens,
        .n_characters = r->n_characters,
        .queue_ns = (r->started_ns ? r->started_ns : now) - task->began_ns,
        .total_ns = now - task->began_ns,
    };
    r->events->on_done(r->ctx, &result);
}

/* ---- Its operations -------------------------------------------------------------------------- */

static enum dg_err begin(struct dg_task *task, struct dg_task_turn *turn, struct dg_error *error)
{
    struct dg_reading *r = reading_of(task);
    if (task->err)
        return DG_OK;
    enum dg_err err = prepare(r, turn, error);
    if (err && err != DG_ERR_BUSY && r->asked.n_items > 1 && r->has_begun)
        dg_error_wrap(error, err, "item %zu", r->failed);
    if (err)
        return err;
    if (turn->may_tell)
        tell_items(r, turn);
    else
        turn->wants_more |= task->err || task->n_open == 0;
    task->is_done = r->n_told == r->asked.n_items;
    r->failed = task->err ? r->failed : r->n_prepared;
    return task->is_done || task->err ? DG_OK : dg_task_check_late(task, error);
}

static void take(struct dg_tasks *tasks, struct dg_ticket *ticket, bool is_over)
{
    struct window *window = ticket->ctx;
    struct dg_reading *r = window->reading;
    struct item *item = window->item;
    const size_t index = (size_t)(item - r->items);
    enum dg_err err = ticket->err;
    (void)tasks;
    if (!is_over)
        return;
    r->task.n_open--;
    if (ticket->started_ns && (!r->started_ns || ticket->started_ns < r->started_ns))
        r->started_ns = ticket->started_ns;
    if (!err && !r->task.err) {
        err = dg_reading_result_window(
            &item->gathering, &window->what, window->read.values, window->read.ids,
            dg_analysis_size(&r->task.model->blueprint, &window->read, ticket->n_src));
        window->read.values = NULL;
        window->read.ids = NULL;
    }
    struct dg_error error = DG_ERROR_NONE;
    if (err == DG_ERR_INTEGRITY)
        dg_error_set(&error, err,
                     "the model gave numbers that are not finite; its weights are damaged");
    if (err)
        fail(r, err, &error, index);
    item->n_over++;
    free_window(window);
    if (item->is_made && item->n_over == item->n_windows)
        finish_item(r, item);
}

static void cancel(struct dg_task *task)
{
    struct dg_reading *r = reading_of(task);
    for (struct dg_list *at = r->windows.next; at != &r->windows; at = at->next) {
        struct window *window = DG_LIST_ITEM(at, struct window, link);
        if (window->is_open)
            dg_sched_cancel(task->tasks->sched, window->ticket);
    }
}

static void finish(struct dg_task *task)
{
    if (dg_task_ends(task))
        tell_end(reading_of(task));
    if (task->n_open == 0)
        free_reading(reading_of(task));
}

const struct dg_task_ops dg_reading_ops = {begin, take, cancel, finish};

/* ---- Coming ---------------------------------------------------------------------------------- */

static enum dg_err check_ask(const struct dg_engine_read *ask, struct dg_error *error)
{
    const size_t most =
        ask->task == DG_TASK_ANSWER ? DG_READING_RESULT_ANSWERS_MAX : DG_READING_RESULT_BEST_MAX;
    if (ask->task >= DG_N_TASKS || ask->answer_len > DG_ANSWER_LEN_MAX ||
        (ask->task != DG_TASK_CLASSIFY && ask->n_best > most))
        return dg_error_set(error, DG_ERR_RANGE, "%zu best were asked for, expected at most %zu",
                            ask->n_best, most);
    if (!(ask->threshold >= 0.0f && ask->threshold <= 1.0f))
        return dg_error_set(error, DG_ERR_RANGE, "the threshold is %g, expected 0 to 1",
                            (double)ask->threshold);
    if (ask->task == DG_TASK_FILL && ask->n_best == 0)
        return dg_error_set(error, DG_ERR_RANGE, "no words were asked for, expected 1 or more");
    for (size_t i = 0; i < ask->n_items; i++)
        if (ask->items[i].has_pair != (ask->task == DG_TASK_ANSWER) &&
            ask->task != DG_TASK_CLASSIFY)
            return dg_error_set(error, DG_ERR_INVALID, "item %zu: %s", i,
                                ask->task == DG_TASK_ANSWER ? "a question needs a context"
                                                            : "expected one text");
    return DG_OK;
}

static enum dg_err check_pairs(const struct dg_engine_read *ask,
                               const struct dg_served_model *model, struct dg_error *error)
{
    for (size_t i = 0; i < ask->n_items && !dg_blueprint_family(&model->blueprint)->has_head; i++)
        if (ask->items[i].has_pair)
            return dg_error_set(
                error, DG_ERR_UNSUPPORTED,
                "item %zu: %s is a recurrent classifier, which reads one text, not two", i,
                model->name);
    return DG_OK;
}

enum dg_err dg_reading_submit(struct dg_tasks *tasks, const struct dg_engine_read *ask,
                              const struct dg_engine_read_events *events, void *ctx,
                              struct dg_error *error, uint64_t *retry_ms, uint64_t *id)
{
    struct dg_reading *r = NULL;
    struct dg_served_model *model = NULL;
    enum dg_err err =
        ask->waits ? DG_OK : dg_tasks_check_room(tasks, bytes_of(ask), error, retry_ms);
    if (!err)
        err = check_ask(ask, error);
    if (!err)
        err = find_model(tasks, ask, error, &model);
    if (!err)
        err = check_pairs(ask, model, error);
    if (!err && !tasks->subword)
        tasks->subword = dg_subword_work_new();
    if (!err)
        err = new_reading(tasks, ask, error, &r);
    if (err)
        return err;
    r->events = events;
    r->ctx = ctx;
    return dg_tasks_submit(tasks, &r->task, error, retry_ms, id);
}
