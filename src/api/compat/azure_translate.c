/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Azure's POST /translate. Each text is translated once for every `to`: the items are in the order
 * of the texts, and for each text in the order of the targets. The alignment is between words and
 * comes from the model's attention: a token of the translation belongs to the token of the source
 * that it attends to most, and the words that these two tokens touch belong together. */
#include "api/compat/azure.h"
#include "api/http/api_int.h"
#include "base/memory/utf8.h"

#include <stdlib.h>

/* A stretch of a text. */
struct stretch {
    size_t at, len;
};

struct pair {
    struct stretch source, target;
};

/* What is recorded of an item's sentences; positions are in UTF-16 units of the whole text. */
struct told {
    struct pair *pairs; /* [n_pairs] words that belong together */
    size_t n_pairs, pairs_cap;
    size_t *starts[2]; /* [n_sentences] where the sentences begin, in source and translation */
    size_t n_sentences, starts_cap;
    size_t source_at, said_at; /* bytes of the source and of the translation that were reported */
    size_t source_units, said_units; /* the same positions in UTF-16 units */
};

struct azure {
    const struct dg_language **to; /* [n_to] */
    size_t n_to, n_texts;
    bool wants_alignment, wants_lengths, is_html;
    struct told *told; /* [n] of each item; NULL: nothing is wanted */
};

/* ---- Words ----------------------------------------------------------------------------------- */

/* Belongs to a word with its neighbours. Han, kana and their like stand alone: there a token is a
 * word. */
static bool joins(uint32_t cp)
{
    if (cp < 0x80)
        return (cp >= '0' && cp <= '9') || (cp >= 'A' && cp <= 'Z') || (cp >= 'a' && cp <= 'z');
    return cp >= 0xC0 && !(cp >= 0x2000 && cp < 0x2070) && !(cp >= 0x2E80 && cp < 0xAC00) &&
           !(cp >= 0xF900 && cp < 0xFB00) && !(cp >= 0xFE30 && cp < 0xFE50) &&
           !(cp >= 0xFF00 && cp < 0xFFF0) && cp < 0x1F000;
}

static bool joins_at(struct dg_span text, size_t at)
{
    uint32_t cp;
    return dg_utf8_decode(text, at, &cp) > 0 && joins(cp);
}

static size_t before(struct dg_span text, size_t at)
{
    do
        at--;
    while (at > 0 && ((unsigned char)text.ptr[at] & 0xC0) == 0x80);
    return at;
}

/* Returns the word, or the words, that the bytes from `begin` to `end` are a part of, without
 * blanks around; empty if there is none. */
static struct stretch word_around(struct dg_span text, size_t begin, size_t end)
{
    uint32_t cp;
    while (begin < end && strchr(" \t\r\n", text.ptr[begin]))
        begin++;
    while (end > begin && strchr(" \t\r\n", text.ptr[end - 1]))
        end--;
    if (begin == end)
        return (struct stretch){0, 0};
    const bool joins_left = joins_at(text, begin), joins_right = joins_at(text, before(text, end));
    while (joins_left && begin > 0 && joins_at(text, before(text, begin)))
        begin = before(text, begin);
    while (joins_right && joins_at(text, end))
        end += dg_utf8_decode(text, end, &cp);
    return (struct stretch){begin, end - begin};
}

/* ---- Alignment ------------------------------------------------------------------------------- */

static bool is_same(struct stretch a, struct stretch b)
{
    return a.at == b.at && a.len == b.len;
}

static struct stretch in_units(struct dg_span text, struct stretch bytes, size_t units)
{
    return (struct stretch){units + dg_azure_length(dg_span_sub(text, 0, bytes.at)),
                            dg_azure_length(dg_span_sub(text, bytes.at, bytes.len))};
}

static enum dg_err add_pair(struct dg_arena *arena, struct told *told, size_t from,
                            struct pair pair)
{
    for (size_t i = from; i < told->n_pairs; i++)
        if (is_same(told->pairs[i].source, pair.source) &&
            is_same(told->pairs[i].target, pair.target))
            return DG_OK;
    if (told->n_pairs == told->pairs_cap) {
        const size_t cap = told->pairs_cap ? told->pairs_cap * 2 : 32;
        struct pair *grown = dg_arena_calloc(arena, cap, sizeof *grown);
        if (!grown)
            return DG_ERR_NOMEM;
        if (told->n_pairs)
            memcpy(grown, told->pairs, told->n_pairs * sizeof *grown);
        told->pairs = grown;
        told->pairs_cap = cap;
    }
    told->pairs[told->n_pairs++] = pair;
    return DG_OK;
}

/* Returns the token of the source that a token of the translation attends to most. */
static const struct dg_token *looked_at(const struct dg_engine_sentence *sentence, size_t t)
{
    const float *row = sentence->answers[0].alignment + t * sentence->n_source;
    size_t top = 0;
    for (size_t s = 1; s < sentence->n_source; s++)
        top = row[s] > row[top] ? s : top;
    return &sentence->source[top];
}

/* `source` and `said` are the bytes of this sentence. */
static enum dg_err align(struct dg_arena *arena, struct told *told,
                         const struct dg_engine_sentence *sentence, struct dg_span source,
                         struct dg_span said)
{
    const struct dg_engine_answer *best = &sentence->answers[0];
    const size_t from = told->n_pairs;
    size_t begin = 0;
    enum dg_err err = DG_OK;
    if (!best->alignment || !best->ends || sentence->n_source == 0)
        return DG_OK;
    for (size_t t = 0; t < best->n_ids && !err; t++) {
        const struct dg_token *token = looked_at(sentence, t);
        const size_t end = best->ends[t] < said.len ? best->ends[t] : said.len;
        if (end <= begin || token->begin < sentence->at ||
            token->end > sentence->at + sentence->len)
            continue;
        const struct stretch target = word_around(said, begin, end),
                             origin = word_around(source, token->begin - sentence->at,
                                                  token->end - sentence->at);
        begin = end;
        if (target.len && origin.len)
            err = add_pair(arena, told, from,
                           (struct pair){in_units(source, origin, told->source_units),
                                         in_units(said, target, told->said_units)});
    }
    return err;
}

/* ---- Sentences ------------------------------------------------------------------------------- */

static enum dg_err add_start(struct dg_arena *arena, struct told *told)
{
    if (told->n_sentences == told->starts_cap) {
        const size_t cap = told->starts_cap ? told->starts_cap * 2 : 8;
        for (size_t side = 0; side < 2; side++) {
            size_t *grown = dg_arena_calloc(arena, cap, sizeof *grown);
            if (!grown)
                return DG_ERR_NOMEM;
            if (told->n_sentences)
                memcpy(grown, told->starts[side], told->n_sentences * sizeof *grown);
            told->starts[side] = grown;
        }
        told->starts_cap = cap;
    }
    told->starts[0][told->n_sentences] = told->source_units;
    told->starts[1][told->n_sentences++] = told->said_units;
    return DG_OK;
}

/* The text between two sentences is copied; for HTML, the sentence's text contains it already. */
static enum dg_err on_sentence(struct dg_compat *compat, size_t i,
                               const struct dg_engine_sentence *sentence)
{
    struct azure *azure = compat->user;
    struct told *told = &azure->told[i];
    const struct dg_span text = compat->items[i].text;
    if (sentence->at < told->source_at || sentence->n_answers == 0)
        return DG_OK;
    const struct dg_span gap = dg_span_sub(text, told->source_at, sentence->at - told->source_at),
                         source = dg_span_sub(text, sentence->at, sentence->len),
                         said = sentence->answers[0].text;
    const size_t gap_units = dg_azure_length(gap);
    told->source_units += gap_units;
    told->said_units += azure->is_html ? 0 : gap_units;
    enum dg_err err = add_start(compat->arena, told);
    if (!err && azure->wants_alignment)
        err = align(compat->arena, told, sentence, source, said);
    told->source_at = sentence->at + sentence->len;
    told->source_units += dg_azure_length(source);
    told->said_units += dg_azure_length(said);
    return err;
}

/* ---- The answer ------------------------------------------------------------------------------ */

static int by_source(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->source.at != y->source.at)
        return x->source.at < y->source.at ? -1 : 1;
    return x->target.at < y->target.at ? -1 : x->target.at > y->target.at;
}

/* "0:2-0:3 4:7-5:9": first and last unit of a word of each side. */
static void put_alignment(struct dg_json_out *out, struct told *told)
{
    struct dg_buf proj;
    dg_buf_init(&proj, told->n_pairs * 96 + 1);
    enum dg_err err = DG_OK;
    if (told->n_pairs)
        qsort(told->pairs, told->n_pairs, sizeof *told->pairs, by_source);
    for (size_t i = 0; i < told->n_pairs && !err; i++) {
        const struct pair *pair = &told->pairs[i];
        err = dg_buf_printf(&proj, "%s%zu:%zu-%zu:%zu", i ? " " : "", pair->source.at,
                            pair->source.at + pair->source.len - 1, pair->target.at,
                            pair->target.at + pair->target.len - 1);
    }
    if (err && !out->err)
        out->err = err;
    dg_json_out_put_open(out, "alignment", '{');
    dg_json_out_put_string(out, "proj", dg_buf_span(&proj));
    dg_json_out_close(out, '}');
    dg_buf_deinit(&proj);
}

/* Puts the lengths of the sentences. A sentence reaches up to the next one; the first one begins at
 * the beginning of the text, and the last one ends at its end. */
static void put_lengths(struct dg_json_out *out, const char *key, const size_t *starts, size_t n,
                        size_t whole)
{
    size_t from = 0;
    dg_json_out_put_open(out, key, '[');
    for (size_t i = 1; i < n; i++) {
        const size_t to = starts[i] < whole ? starts[i] : whole;
        dg_json_out_uint(out, to - from);
        from = to;
    }
    if (whole)
        dg_json_out_uint(out, whole - from);
    dg_json_out_close(out, ']');
}

static void put_translation(struct dg_compat *compat, struct dg_json_out *out, size_t i)
{
    const struct azure *azure = compat->user;
    const struct dg_compat_item *item = &compat->items[i];
    const struct dg_span said = dg_compat_result(compat, i);
    dg_json_out_open(out, '{');
    dg_json_out_put_string(out, "text", said);
    dg_json_out_put_cstr(out, "to", item->to->code);
    if (azure->wants_alignment)
        put_alignment(out, &azure->told[i]);
    if (azure->wants_lengths) {
        const struct told *told = &azure->told[i];
        dg_json_out_put_open(out, "sentLen", '{');
        put_lengths(out, "srcSentLen", told->starts[0], told->n_sentences,
                    dg_azure_length(item->text));
        put_lengths(out, "transSentLen", told->starts[1], told->n_sentences, dg_azure_length(said));
        dg_json_out_close(out, '}');
    }
    dg_compat_put_notes(out, compat, item);
    dg_json_out_close(out, '}');
}

static void on_whole(struct dg_compat *compat, struct dg_json_out *out)
{
    const struct azure *azure = compat->user;
    dg_json_out_open(out, '[');
    for (size_t text = 0; text < azure->n_texts; text++) {
        const struct dg_compat_item *first = &compat->items[text * azure->n_to];
        dg_json_out_open(out, '{');
        if (!compat->from)
            dg_azure_put_detected(out,
                                  first->from       ? first->from->code
                                  : first->detected ? first->detected
                                                    : "en",
                                  (double)first->confidence);
        dg_json_out_put_open(out, "translations", '[');
        for (size_t k = 0; k < azure->n_to; k++)
            put_translation(compat, out, text * azure->n_to + k);
        dg_json_out_close(out, ']');
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
}

/* ---- The request ----------------------------------------------------------------------------- */

/* A failure with Azure's number and sentence; DG_OK: there is none. */
struct refusal {
    const char *number;
    struct dg_error error;
};

static bool refuse(struct refusal *refusal, const char *number, const char *message)
{
    refusal->number = number;
    dg_error_set(&refusal->error, DG_ERR_INVALID, "%s", message);
    return false;
}

/* Adds the target that a code names. */
static bool add_target(struct dg_compat *compat, struct azure *azure, struct dg_span code,
                       struct refusal *refusal)
{
    compat->to = dg_languages_find(&compat->langs, code, DG_LANGUAGE_ANY);
    if (!compat->to)
        return refuse(refusal, "400036", "The target language is not valid.");
    if (!dg_compat_leads(compat))
        return refuse(refusal, "400023", "This server does not translate between these languages.");
    azure->to[azure->n_to++] = compat->to;
    return true;
}

/* Targets come as repeated fields, and as lists with commas. */
static bool read_targets(struct dg_compat *compat, struct azure *azure, struct refusal *refusal)
{
    const struct dg_field *first = dg_fields_get(&compat->fields, "to"), *to;
    size_t n_max = 1;
    for (to = first; to; to = dg_fields_next(&compat->fields, to))
        n_max += to->value.len / 2 + 1;
    azure->to = dg_arena_calloc(compat->arena, n_max, sizeof *azure->to);
    if (!azure->to)
        return refuse(refusal, "503000", "The server is out of memory.");
    for (to = first; to; to = dg_fields_next(&compat->fields, to)) {
        for (size_t at = 0; at <= to->value.len;) {
            const struct dg_span rest = dg_span_sub(to->value, at, to->value.len);
            const char *comma = rest.len ? memchr(rest.ptr, ',', rest.len) : NULL;
            const size_t len = comma ? (size_t)(comma - rest.ptr) : rest.len;
            if (azure->n_to + 1 >= n_max ||
                !add_target(compat, azure, dg_span_sub(rest, 0, len), refusal))
                return refusal->number ? false : refuse(refusal, "400036", "to: too many commas");
            at += len + 1;
        }
    }
    return azure->n_to > 0 || refuse(refusal, "400036", "The target language is missing.");
}

static bool read_languages(struct dg_compat *compat, struct azure *azure, struct refusal *refusal)
{
    const struct dg_fields *fields = &compat->fields;
    const struct dg_span from = dg_fields_text(fields, "from");
    if (from.len) {
        compat->from = dg_languages_find(&compat->langs, from, DG_LANGUAGE_SOURCE);
        if (!compat->from)
            return refuse(refusal, "400035", "The source language is not valid.");
    }
    return read_targets(compat, azure, refusal);
}

/* Reads a switch of the query; absent: off. */
static bool read_switch(const struct dg_fields *fields, const char *name, bool *value)
{
    const struct dg_field *field = dg_fields_get(fields, name);
    *value = false;
    return !field || dg_field_bool(field, value);
}

static bool read_options(struct dg_compat *compat, struct azure *azure, struct refusal *refusal)
{
    const struct dg_fields *fields = &compat->fields;
    const struct dg_span type = dg_fields_text(fields, "textType"),
                         category = dg_fields_text(fields, "category");
    const struct dg_field *fallback = dg_fields_get(fields, "allowFallback");
    bool may_fall_back = true;
    azure->is_html = dg_span_eq(type, DG_SPAN("html")) || dg_span_eq(type, DG_SPAN("Html"));
    if (type.len && !azure->is_html && !dg_span_eq(type, DG_SPAN("plain")) &&
        !dg_span_eq(type, DG_SPAN("Plain")))
        return refuse(refusal, "400071", "textType: expected plain or html");
    if (!read_switch(fields, "includeAlignment", &azure->wants_alignment) ||
        !read_switch(fields, "includeSentenceLength", &azure->wants_lengths) ||
        (fallback && !dg_field_bool(fallback, &may_fall_back)))
        return refuse(refusal, "400000",
                      "includeAlignment, includeSentenceLength, allowFallback: expected true or "
                      "false");
    if (!may_fall_back && category.len && !dg_span_eq(category, DG_SPAN("general")))
        return refuse(refusal, "400079", "category: this server has only the general one");
    if (dg_fields_get(fields, "toScript"))
        return refuse(refusal, "400080", "toScript: this server does not transliterate");
    return true;
}

/* Makes an item for each text and target. */
static bool make_items(struct dg_compat *compat, struct azure *azure, const struct dg_span *texts,
                       struct refusal *refusal)
{
    const size_t n = azure->n_texts * azure->n_to;
    if (azure->n_texts && n > compat->work.call->api->opts.texts_max)
        return refuse(refusal, "400072", "The texts, times the target languages, are too many.");
    if (dg_compat_texts(compat, n) != DG_OK)
        return refuse(refusal, "503000", "The server is out of memory.");
    for (size_t i = 0; i < n; i++) {
        compat->items[i].text = texts[i / azure->n_to];
        compat->items[i].to = azure->to[i % azure->n_to];
    }
    if (!azure->wants_alignment && !azure->wants_lengths)
        return true;
    azure->told = dg_arena_calloc(compat->arena, n + 1, sizeof *azure->told);
    if (!azure->told)
        return refuse(refusal, "503000", "The server is out of memory.");
    compat->on_sentence = on_sentence;
    compat->job->options.request.search.want_alignment = azure->wants_alignment;
    return true;
}

static void on_open(struct dg_call *call, struct dg_compat *compat)
{
    struct azure *azure = dg_arena_calloc(compat->arena, 1, sizeof *azure);
    struct refusal refusal = {.number = NULL, .error = DG_ERROR_NONE};
    struct dg_span *texts;
    (void)call;
    if (!azure) {
        dg_compat_fail_with(compat, DG_ERR_NOMEM);
        return;
    }
    if (!dg_azure_read(compat, &texts, &azure->n_texts))
        return;
    compat->user = azure;
    if (!read_languages(compat, azure, &refusal) || !read_options(compat, azure, &refusal) ||
        !make_items(compat, azure, texts, &refusal)) {
        dg_compat_fail(compat, 400, refusal.number, refusal.error.text);
        return;
    }
    if (azure->is_html)
        compat->job->options.request.format = DG_DOC_HTML;
    dg_compat_start(compat, on_whole);
}

void dg_azure_translate(struct dg_call *call)
{
    dg_compat_open(call, on_open);
}
