/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Stretches and their parts: the segmenter (text/sentence/segment.h) finds the sentences; this file
 * decides how much of the text the segmenter gets at a time, and which of its sentences are
 * certain. */
#include "engine/request/text_split.h"
#include "base/memory/mem.h"
#include "engine/words/prepare.h"

enum {
    STRETCH = 4096, /* bytes that are cut in one turn if the text allows it, about 1 ms */
    LONGEST = 8192, /* the most bytes that are cut in one turn: a longer stretch without an end is
                       neither a sentence nor a line, and is cut here */
    SEAMS = 8,      /* tokens that a text may need in addition when it stands within a prompt */
};

struct measure {
    struct dg_request_tools *tools;
    const struct dg_served_model *model;
    const struct dg_lang_pair *pair;
    bool keep_case;
};

/* Counts the tokens of a stretch of text as the model will get it, the end token included. */
static size_t measure(void *ctx, struct dg_span text)
{
    const struct measure *how = ctx;
    const struct dg_tokenizer_opts opts = dg_lang_pair_tokenizer_opts(how->pair);
    const struct dg_prepare_opts prepare = {.language = how->pair->source->tag.language,
                                            .keep_case = how->keep_case,
                                            .keeps_titles = !how->model->blueprint.lowers_titles};
    struct dg_prepared prepared;
    const struct dg_token *tokens;
    size_t n = 0;
    enum dg_err err = dg_prepare(&prepared, text, &prepare);
    if (!err)
        err = dg_tokenizer_encode(how->model->tokenizer, how->tools->tasks->work, prepared.text,
                                  &opts, NULL, &tokens, &n);
    dg_prepared_deinit(&prepared);
    return err ? dg_segment_estimate(text) : n;
}

enum dg_err dg_text_split(struct dg_request_tools *tools, const struct dg_served_model *model,
                          struct dg_span text, const struct dg_text_split_opts *how,
                          struct dg_segments *segments, struct dg_error *error)
{
    /* language models get their texts as they were written */
    struct measure ctx = {tools, model, how->pair, how->keep_case || model->template};
    struct dg_segment_opts opts = DG_SEGMENT_OPTS_DEFAULT;
    opts.language = how->pair->source->code;
    opts.keep_lines_whole = how->keep_lines_whole;
    opts.join_lines = how->join_lines;
    opts.keep_spaces = how->keep_spaces;
    opts.tokens_max = model->limits.source_max - model->n_prompt - (model->template ? SEAMS : 0);
    opts.tokens_max -= how->reserve < opts.tokens_max / 2 ? how->reserve : opts.tokens_max / 2;
    opts.measure = measure;
    opts.measure_ctx = &ctx;
    return dg_segmenter_run(tools->segmenter, text, &opts, segments, error);
}

/* ---- Parts ----------------------------------------------------------------------------------- */

/* Overwrites bytes [from, to) of the document's text with blanks. */
static void blank(struct dg_buf *text, const struct dg_segment *part, size_t from, size_t to)
{
    size_t end = part->at + part->len;
    for (size_t at = from > part->at ? from : part->at; at < to && at < end; at++)
        text->ptr[at - part->at] = ' ';
}

/* Appends the text of the part, with blanks in place of the frozen and protected stretches, whose
 * letters are not to be translated. `item` goes through the document's items, part by part. */
static enum dg_err blank_kept(const struct dg_request *request, const struct dg_segment *part,
                              size_t *item, struct dg_buf *text)
{
    size_t n_items = 0, end = part->at + part->len;
    const struct dg_doc_item *items = request->doc ? dg_doc_items(request->doc, &n_items) : NULL;
    struct dg_span whole = dg_span_sub(request->asked.text, part->at, part->len);
    dg_buf_clear(text);
    enum dg_err err = dg_buf_append_span(text, whole);
    while (*item < n_items && items[*item].plain_at + items[*item].plain_len <= part->at)
        (*item)++;
    for (size_t i = *item; !err && i < n_items && items[i].plain_at < end; i++)
        if (items[i].kind == DG_DOC_FROZEN)
            blank(text, part, items[i].plain_at, items[i].plain_at + items[i].plain_len);
    size_t blanked = 0;
    for (size_t at = 0; !err && request->protect.n && at < whole.len; at++) {
        size_t behind = at + dg_phrase_set_longest(&request->protect, whole, at);
        if (behind > blanked)
            blank(text, part, part->at + (at > blanked ? at : blanked), part->at + behind);
        blanked = behind > blanked ? behind : blanked;
    }
    return err;
}

/* Turns sentences that have nothing to translate into separators: all sentences, or those that
 * consist only of addresses, placeholders and the like. */
static enum dg_err pass_through(struct dg_request *request, struct dg_request_tools *tools,
                                size_t from)
{
    bool keeps = !request->is_copy && !request->asked.no_protect &&
                 (request->doc || request->asked.n_protect > 0);
    size_t item = request->doc_end.item;
    enum dg_err err = DG_OK;
    struct dg_buf blanked;
    dg_buf_init(&blanked, request->asked.text.len);
    for (size_t i = from; !err && i < request->n_parts; i++) {
        struct dg_segment *part = &request->parts[i];
        if (part->kind != DG_SEGMENT_SENTENCE)
            continue;
        struct dg_span text = dg_span_sub(request->asked.text, part->at, part->len);
        if (!request->is_copy)
            err = dg_protect_find(text, DG_PROTECT_ALL, &tools->protected);
        if (!err && keeps && !(err = blank_kept(request, part, &item, &blanked)))
            text = dg_buf_span(&blanked);
        if (err || !(request->is_copy || dg_protect_leaves_nothing(text, &tools->protected)))
            continue;
        part->kind = DG_SEGMENT_SEPARATOR;
        request->n_sentences--;
    }
    dg_buf_deinit(&blanked);
    return err;
}

/* Lists the markup that belongs to each part. */
static void list_doc_parts(struct dg_request *request, size_t from)
{
    for (size_t i = from; i < request->n_parts; i++) {
        const struct dg_segment *part = &request->parts[i];
        request->doc_parts[i] = dg_doc_next(request->doc, &request->doc_end, part->at, part->len,
                                            part->kind == DG_SEGMENT_SENTENCE);
    }
}

static enum dg_err make_room(struct dg_request *request, size_t n, struct dg_error *error)
{
    size_t cap = request->parts_cap;
    if (request->n_parts + n <= cap)
        return DG_OK;
    cap = 2 * cap > request->n_parts + n ? 2 * cap : request->n_parts + n;
    struct dg_segment *parts = dg_try_realloc(request->parts, cap * sizeof *parts);
    if (parts)
        request->parts = parts;
    struct dg_sentence **sentences =
        parts ? dg_try_realloc(request->sentences, cap * sizeof(struct dg_sentence *)) : NULL;
    if (!sentences)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a text of %zu sentences",
                            request->n_parts + n);
    request->sentences = sentences;
    if (request->doc) {
        struct dg_doc_part *doc_parts = dg_try_realloc(request->doc_parts, cap * sizeof *doc_parts);
        if (!doc_parts)
            return dg_error_set(error, DG_ERR_NOMEM, "no memory for the markup of %zu sentences",
                                request->n_parts + n);
        request->doc_parts = doc_parts;
    }
    request->parts_cap = cap;
    return DG_OK;
}

static enum dg_err add_parts(struct dg_request *request, struct dg_request_tools *tools,
                             const struct dg_segment *items, size_t n, struct dg_error *error)
{
    size_t first = request->n_parts;
    enum dg_err err = make_room(request, n, error);
    if (err)
        return err;
    for (size_t i = 0; i < n; i++) {
        struct dg_segment *part = &request->parts[first + i];
        *part = items[i];
        part->at += request->cut_at;
        request->sentences[first + i] = NULL;
        request->n_sentences += part->kind == DG_SEGMENT_SENTENCE;
        request->n_cuts += part->cut != DG_SEGMENT_CUT_NONE;
    }
    request->n_parts += n;
    err = pass_through(request, tools, first);
    if (!err && request->doc)
        list_doc_parts(request, first);
    return err;
}

/* ---- Stretches ------------------------------------------------------------------------------- */

/* Returns the end of a stretch of at most `max` bytes: after a line end, or after a blank line. 0:
 * there is none. */
static size_t line_border(struct dg_span text, size_t max, bool is_blank)
{
    for (size_t at = max; at > 0; at--)
        if (text.ptr[at - 1] == '\n' && (!is_blank || (at > 1 && text.ptr[at - 2] == '\n')))
            return at;
    return 0;
}

/* Returns how many segments may be kept of a stretch that ends anywhere: those before the last
 * sentence. */
static size_t n_certain(const struct dg_segments *segments)
{
    size_t n = segments->n;
    while (n > 0 && segments->items[n - 1].kind != DG_SEGMENT_SENTENCE)
        n--;
    while (n > 1 && (segments->items[n - 2].kind != DG_SEGMENT_SENTENCE ||
                     segments->items[n - 2].cut != DG_SEGMENT_CUT_NONE))
        n--; /* they are parts of the same sentence, or blanks between such parts */
    return n > 0 ? n - 1 : 0;
}

/* Cuts a stretch in which no sentence ends into the parts of its only sentence. The last part is
 * left out, because it may continue, unless it is the only one. */
static size_t n_forced(const struct dg_segments *segments)
{
    size_t n = segments->n;
    while (n > 0 && segments->items[n - 1].kind != DG_SEGMENT_SENTENCE)
        n--;
    for (size_t i = 0; n > 1 && i + 1 < n; i++)
        if (segments->items[i].kind == DG_SEGMENT_SENTENCE)
            return n - 1;
    return segments->n;
}

/* Returns where a stretch of at most `max` bytes may be cut if there is no better place: after a
 * blank, else between characters. */
static size_t word_border(struct dg_span text, size_t max)
{
    for (size_t at = max; at > max / 2; at--)
        if (text.ptr[at - 1] == ' ' || text.ptr[at - 1] == '\n')
            return at;
    while (max < text.len && ((unsigned char)text.ptr[max] & 0xC0) == 0x80)
        max++;
    return max;
}

/* Marks a sentence that was cut because its stretch had to end. */
static void mark_cut(struct dg_request *request)
{
    struct dg_segment *last = request->n_parts ? &request->parts[request->n_parts - 1] : NULL;
    if (!last || last->kind != DG_SEGMENT_SENTENCE || last->cut != DG_SEGMENT_CUT_NONE)
        return;
    last->cut = DG_SEGMENT_CUT_SPACE;
    request->n_cuts++;
}

enum dg_err dg_text_split_more(struct dg_request *request, struct dg_request_tools *tools,
                               struct dg_error *error)
{
    const struct dg_text_split_opts opts = {.pair = &request->pairs[0],
                                            .keep_lines_whole = request->asked.keep_lines_whole,
                                            .join_lines = request->asked.join_lines,
                                            .keep_case = request->asked.keep_case,
                                            /* HTML has several blanks in a row only where they
                                             * matter: in <pre> */
                                            .keep_spaces = request->doc &&
                                                           request->asked.format == DG_DOC_HTML};
    struct dg_span rest = dg_span_sub(request->asked.text, request->cut_at, SIZE_MAX);
    for (size_t max = STRETCH;; max *= 2) {
        bool is_rest = rest.len <= max;
        size_t border = is_rest ? rest.len : line_border(rest, max, opts.join_lines);
        const bool is_open = !border && !is_rest, is_longest = is_open && max >= LONGEST;
        if (is_open && !is_longest && (opts.keep_lines_whole || opts.join_lines))
            continue; /* a line counts as one sentence */
        const size_t end = is_open ? word_border(rest, max) : border;
        struct dg_segments segments;
        enum dg_err err = dg_text_split(tools, request->hops[0], dg_span_sub(rest, 0, end), &opts,
                                        &segments, error);
        if (err)
            return err;
        size_t n = is_open ? n_certain(&segments) : segments.n;
        const bool is_forced = n == 0 && is_longest;
        if (is_forced)
            n = n_forced(&segments);
        else if (n == 0 && is_open)
            continue; /* still a single sentence */
        size_t length = n ? segments.items[n - 1].at + segments.items[n - 1].len : 0;
        err = add_parts(request, tools, segments.items, n, error);
        if (!err && is_forced)
            mark_cut(request);
        request->cut_at += length;
        request->is_cut = is_rest;
        return err;
    }
}
