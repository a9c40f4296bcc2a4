/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The steps of a sentence, in the order of this file: it is made ready (prepared, tokenised, with
 * placeholders), launched (with an answer from the cache, a flight under way, or a ticket of its
 * own), collected (tokens become text as they come), sent on to the next hop or piece, and
 * answered. The header shows the states; request.c decides when. */
#include "engine/request/sentence.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "engine/cache/remote_value.h"
#include "engine/models/prompt.h"
#include "engine/models/translation_prompt.h"
#include "engine/request/text_split.h"
#include "engine/words/prepare.h"
#include "engine/request/request.h"
#include "markup/tag_placement.h"

#include <ctype.h>
#include <string.h>

enum { KEY_MAX = 1 << 24 /* bytes of a cache key, most of which are ids from the options */ };

static struct dg_served_model *model_of(const struct dg_sentence *sentence)
{
    return sentence->request->hops[sentence->hop];
}

static const struct dg_lang_pair *pair_of(const struct dg_sentence *sentence)
{
    return &sentence->request->pairs[sentence->hop];
}

static bool is_last_leg(const struct dg_sentence *sentence)
{
    return sentence->hop + 1 == sentence->request->n_hops;
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* Tokenises a text for the present hop's model; the caller frees *owned. */
static enum dg_err encode(const struct dg_sentence *sentence, struct dg_request_tools *tools,
                          struct dg_span text, struct dg_error *error,
                          const struct dg_token **tokens, size_t *n, struct dg_token **owned)
{
    const struct dg_served_model *model = model_of(sentence);
    const struct dg_tokenizer_opts opts = dg_lang_pair_tokenizer_opts(pair_of(sentence));
    *owned = NULL;
    if (!model->template)
        return dg_tokenizer_encode(model->tokenizer, tools->tasks->work, text, &opts, error, tokens,
                                   n);
    enum dg_err err =
        dg_prompt_ask(model, pair_of(sentence), tools->tasks->work, text, error, owned, n);
    *tokens = *owned;
    return err;
}

/* Sets the input of the present hop's model. */
static enum dg_err set_ids(struct dg_sentence *sentence, const struct dg_token *tokens, size_t n,
                           struct dg_error *error)
{
    int32_t *ids = dg_try_realloc(sentence->ids, (n ? n : 1) * sizeof *ids);
    if (!ids)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a sentence of %zu tokens", n);
    for (size_t i = 0; i < n; i++)
        ids[i] = tokens[i].id;
    sentence->ids = ids;
    sentence->n_ids = n;
    return DG_OK;
}

/* Anchors the placeholders to the tokens [n] that stand for them. */
static enum dg_err constrain(struct dg_sentence *sentence, const struct dg_token *tokens, size_t n)
{
    if (!sentence->placeholders || sentence->placeholders->n == 0)
        return DG_OK;
    if (!sentence->phrases)
        sentence->phrases = dg_try_calloc(DG_PLACEHOLDERS_MAX, sizeof *sentence->phrases);
    if (!sentence->carried)
        sentence->carried = dg_try_calloc(DG_PLACEHOLDERS_MAX, sizeof *sentence->carried);
    if (!sentence->phrases || !sentence->carried)
        return DG_ERR_NOMEM;
    sentence->n_carried = dg_placeholders_constrain(sentence->placeholders, tokens, n,
                                                    sentence->phrases, sentence->carried);
    return DG_OK;
}

/* Copies the tokens, with offsets into the request's text. If the layout of the model's input
 * differs from that of the original, each token gets the offsets of the whole part. */
static enum dg_err keep_tokens(struct dg_sentence *sentence, const struct dg_prepared *prepared,
                               const struct dg_token *tokens, size_t n, struct dg_error *error)
{
    const struct dg_segment *part = &sentence->request->parts[sentence->part];
    const struct dg_placeholders *placeholders = sentence->placeholders;
    if (!(sentence->tokens = dg_try_calloc(n, sizeof *tokens)))
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a sentence of %zu tokens", n);
    sentence->n_tokens = n;
    for (size_t i = 0; i < n; i++) {
        size_t begin = 0, end = part->len;
        if (prepared->in_place) {
            begin = placeholders ? dg_placeholders_origin(placeholders, tokens[i].begin, false)
                                 : tokens[i].begin;
            end = placeholders ? dg_placeholders_origin(placeholders, tokens[i].end, true)
                               : tokens[i].end;
        }
        sentence->tokens[i] = (struct dg_token){tokens[i].id, (uint32_t)(part->at + begin),
                                                (uint32_t)(part->at + (end < begin ? begin : end))};
    }
    return set_ids(sentence, tokens, n, error);
}

/* Looks for protected spans, unless the beginning of the translation is forced, because that
 * already has them. */
static enum dg_err new_carry(struct dg_sentence *sentence)
{
    const struct dg_engine_request *asked = &sentence->request->asked;
    for (size_t i = 0; i < sentence->request->n_hops; i++)
        if (sentence->request->hops[i]->template) /* a prompted model knows no placeholder words */
            return DG_OK;
    if (asked->no_protect || (sentence->is_first && asked->prefix.len > 0))
        return DG_OK;
    sentence->placeholders = dg_try_malloc(sizeof *sentence->placeholders);
    if (!sentence->placeholders)
        return DG_ERR_NOMEM;
    dg_placeholders_init(sentence->placeholders);
    return DG_OK;
}

static void free_carry(struct dg_sentence *sentence)
{
    if (sentence->placeholders)
        dg_placeholders_deinit(sentence->placeholders);
    dg_free(sentence->placeholders);
    sentence->placeholders = NULL;
}

/* Returns false for short words, which occur in too many places to be protected everywhere. */
static bool is_worth_protecting(struct dg_span text)
{
    bool has_sign = false;
    for (size_t i = 0; i < text.len && !has_sign; i++)
        has_sign = !((text.ptr[i] >= 'a' && text.ptr[i] <= 'z') ||
                     (text.ptr[i] >= 'A' && text.ptr[i] <= 'Z'));
    return text.len >= 4 || (text.len > 1 && has_sign);
}

/* Lists the frozen stretches of this part of a text with markup, which are protected, too. */
static enum dg_err list_frozen(const struct dg_request *request, const struct dg_sentence *sentence,
                               struct dg_phrase_set *frozen)
{
    size_t n_items, n = 0;
    const struct dg_doc_item *items = dg_doc_items(request->doc, &n_items);
    const struct dg_doc_part *part = &request->doc_parts[sentence->part];
    struct dg_span *texts = dg_try_calloc(part->end - part->inner + 1, sizeof *texts);
    if (!texts)
        return DG_ERR_NOMEM;
    for (size_t i = part->inner; i < part->end; i++) {
        struct dg_span text =
            dg_span_sub(dg_doc_plain(request->doc), items[i].plain_at, items[i].plain_len);
        if (items[i].kind == DG_DOC_FROZEN && is_worth_protecting(text))
            texts[n++] = text;
    }
    enum dg_err err = dg_phrase_set_init(frozen, texts, n);
    dg_free(texts);
    return err;
}

/* Drops terms in text that is returned byte for byte. */
static void drop_frozen(struct dg_sentence *sentence)
{
    const struct dg_request *request = sentence->request;
    const struct dg_doc_part *part = &request->doc_parts[sentence->part];
    size_t n_items;
    const struct dg_doc_item *items = dg_doc_items(request->doc, &n_items);
    size_t i = part->end;
    for (size_t k = sentence->terms.n; k-- > 0;) {
        const struct dg_terms_item *term = &sentence->terms.items[k];
        size_t begin = sentence->tokens[term->from].begin, end = sentence->tokens[term->to - 1].end;
        while (i > part->inner &&
               (items[i - 1].kind != DG_DOC_FROZEN || items[i - 1].plain_at >= end))
            i--; /* both lists are in order, so the last item that begins before the term's end
                    reaches furthest */
        if (i > part->inner && begin < items[i - 1].plain_at + items[i - 1].plain_len)
            dg_terms_drop(&sentence->terms, k);
    }
}

/* Finds the glossary terms of the sentence, whose translations the last model must use. */
static enum dg_err find_terms(struct dg_sentence *sentence, struct dg_request_tools *tools,
                              const struct dg_prepared *prepared, const struct dg_token *tokens,
                              size_t n)
{
    const struct dg_request *request = sentence->request;
    const struct dg_served_model *last = request->hops[request->n_hops - 1];
    const struct dg_terms_how how = {.dictionaries = request->dictionaries,
                                     .n_dictionaries = request->n_dictionaries,
                                     .text = prepared->text,
                                     .tokens = tokens,
                                     .n_tokens = n,
                                     .placeholders = sentence->placeholders,
                                     .any_case = prepared->casing != DG_CASING_PLAIN,
                                     .tokenizer = last->template ? NULL : last->tokenizer,
                                     .language =
                                         request->pairs[request->n_hops - 1].target->tag.language,
                                     .is_only_model = request->n_hops == 1,
                                     .scan = &tools->scan};
    if (request->n_dictionaries == 0)
        return DG_OK;
    enum dg_err err = dg_terms_find(&sentence->terms, &how);
    for (size_t i = sentence->terms.n; i-- > 0;) /* nothing remains that the model could see */
        if (sentence->terms.items[i].to == sentence->terms.items[i].from)
            dg_terms_drop(&sentence->terms, i);
    if (!err && request->doc && prepared->in_place)
        drop_frozen(sentence);
    return err;
}

/* Returns true when the text that was encoded last has unknown tokens. It is not a prompt, because
 * prompts have no placeholders. */
static bool has_unknown(const struct dg_sentence *sentence, const struct dg_request_tools *tools,
                        size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (dg_tokenizer_token_is_unknown(model_of(sentence)->tokenizer, tools->tasks->work, i))
            return true;
    return false;
}

/* Returns the word of a text from `at` on, without the ASCII punctuation around it, and sets *next
 * to what follows it. In a script that is written without spaces each character is a word; so are
 * signs and pictures. */
static struct dg_span next_word(struct dg_span text, size_t at, size_t *next)
{
    while (at < text.len && (unsigned char)text.ptr[at] <= ' ')
        at++;
    size_t end = at, n;
    uint32_t cp;
    while (end < text.len && (unsigned char)text.ptr[end] > ' ') {
        n = dg_utf8_decode(text, end, &cp);
        const bool is_word = n > 0 && (dg_cp_is_unspaced(cp) || dg_cp_is_sign(cp));
        if (is_word && end > at)
            break;
        end += n ? n : 1;
        if (is_word)
            break;
    }
    *next = end;
    while (at < end && ispunct((unsigned char)text.ptr[at]))
        at++;
    while (end > at && ispunct((unsigned char)text.ptr[end - 1]))
        end--;
    return dg_span_sub(text, at, end - at);
}

/* Finds out whether the model lacks characters of the word. A capital at its beginning ("Êtes")
 * does not count if the model knows the small letter, because then the word need not be copied. */
static enum dg_err lacks(const struct dg_sentence *sentence, struct dg_request_tools *tools,
                         struct dg_span word, bool *is_lacking)
{
    const struct dg_token *tokens;
    struct dg_token *owned = NULL;
    struct dg_buf low;
    size_t n = 0;
    bool is_lowered = false;
    enum dg_err err = encode(sentence, tools, word, NULL, &tokens, &n, &owned);
    *is_lacking = !err && has_unknown(sentence, tools, n);
    dg_free(owned);
    if (!*is_lacking)
        return err;
    dg_buf_init(&low, word.len + 8);
    err = dg_casing_lower_first(word, &low, &is_lowered);
    if (!err && is_lowered) {
        err = encode(sentence, tools, dg_buf_span(&low), NULL, &tokens, &n, &owned);
        *is_lacking = !err && has_unknown(sentence, tools, n);
        dg_free(owned);
    }
    dg_buf_deinit(&low);
    return err;
}

/* Lists the words that the model cannot read because it lacks some of their characters: mostly
 * names, and other scripts. They are carried through the translation. Adjacent words are one
 * phrase. */
static enum dg_err list_unknown(const struct dg_sentence *sentence, struct dg_request_tools *tools,
                                struct dg_span text, struct dg_phrase_set *unknown)
{
    size_t n = 0, cap = 0, next = 0;
    struct dg_span *words = NULL;
    enum dg_err err = DG_OK;
    for (size_t at = 0; !err && at < text.len; at = next) {
        const struct dg_span word = next_word(text, at, &next);
        bool is_unknown = false;
        if (word.len == 0)
            continue;
        err = lacks(sentence, tools, word, &is_unknown);
        if (!is_unknown)
            continue;
        struct dg_span *last = n ? &words[n - 1] : NULL;
        const size_t gap = last ? (size_t)(word.ptr - (last->ptr + last->len)) : SIZE_MAX;
        if (gap == 0 || (gap == 1 && word.ptr[-1] == ' ')) {
            last->len += gap + word.len;
            continue;
        }
        if (n == cap) {
            cap = cap ? 2 * cap : 8;
            struct dg_span *grown = dg_try_realloc(words, cap * sizeof *words);
            err = grown ? DG_OK : DG_ERR_NOMEM;
            words = grown ? grown : words;
        }
        if (!err)
            words[n++] = word;
    }
    if (!err)
        err = dg_phrase_set_init(unknown, words, n);
    dg_free(words);
    return err;
}

/* Recognises the names in a title by the vocabulary that the sentence is encoded with. */
struct name_finder {
    const struct dg_sentence *sentence;
    struct dg_request_tools *tools;
};

/* Tells names from common words. With its capital, a name takes fewer tokens than without; a common
 * word takes more, or one token either way. */
static enum dg_err kind_of_word(void *ctx, struct dg_span word, enum dg_casing_word *kind)
{
    const struct name_finder *finder = ctx;
    const struct dg_token *tokens;
    struct dg_token *owned = NULL;
    struct dg_buf low;
    size_t n = 0, n_low = 0, n_none = 0; /* n_none: tokens that surround every text */
    bool is_lowered;
    dg_buf_init(&low, word.len + 8);
    enum dg_err err = dg_casing_lower_first(word, &low, &is_lowered);
    if (!err)
        err = encode(finder->sentence, finder->tools, word, NULL, &tokens, &n, &owned);
    dg_free(owned);
    owned = NULL;
    if (!err)
        err = encode(finder->sentence, finder->tools, dg_buf_span(&low), NULL, &tokens, &n_low,
                     &owned);
    dg_free(owned);
    owned = NULL;
    if (!err)
        err = encode(finder->sentence, finder->tools, DG_SPAN(""), NULL, &tokens, &n_none, &owned);
    dg_free(owned);
    dg_buf_deinit(&low);
    *kind = n < n_low                      ? DG_CASING_NAME
            : n > n_low || n == n_none + 1 ? DG_CASING_COMMON_WORD
                                           : DG_CASING_UNKNOWN_WORD;
    return err;
}

/* Prepares a text and encodes it. If the model lacks characters, does so once more with
 * placeholders for the words that have them. */
static enum dg_err prepare_and_encode(struct dg_sentence *sentence, struct dg_request_tools *tools,
                                      struct dg_span text, struct dg_prepare_opts *opts,
                                      struct dg_phrase_set *unknown, struct dg_error *error,
                                      struct dg_prepared *prepared, const struct dg_token **tokens,
                                      size_t *n, struct dg_token **owned)
{
    for (bool is_again = false;; is_again = true) {
        enum dg_err err = dg_prepare(prepared, text, opts);
        if (!err)
            err = encode(sentence, tools, prepared->text, error, tokens, n, owned);
        if (err || is_again || !opts->placeholders || opts->words->n == 0 ||
            !has_unknown(sentence, tools, *n))
            return err;
        err = list_unknown(sentence, tools, text, unknown);
        dg_free(*owned);
        *owned = NULL;
        dg_prepared_deinit(prepared);
        dg_placeholders_deinit(opts->placeholders);
        if (err)
            return err;
    }
}

static enum dg_err tokenise(struct dg_sentence *sentence, struct dg_request_tools *tools,
                            struct dg_error *error)
{
    enum { OF_REQUEST, FROZEN, UNKNOWN, N_EXTRA };
    const struct dg_request *request = sentence->request;
    const struct dg_segment *part = &request->parts[sentence->part];
    struct dg_phrase_set extra[N_EXTRA] = {request->protect};
    enum dg_err err = DG_OK;
    if (request->doc && request->doc_parts[sentence->part].has_markup)
        err = list_frozen(request, sentence, &extra[FROZEN]);
    struct dg_prepare_opts prepare = {
        .language = request->pairs[0].source->tag.language,
        .joined = part->joined,
        .keep_case = request->asked.keep_case || request->hops[0]->template,
        .keeps_titles = !request->hops[0]->blueprint.lowers_titles,
        .names =
            &(const struct dg_casing_names){kind_of_word, &(struct name_finder){sentence, tools}},
        .placeholders = sentence->placeholders,
        .leaves_numbers =
            request->n_hops == 1 && !sentence->carries_numbers && !request->asked.copy_numbers,
        .words = &request->hops[0]->carry_words,
        .extra = extra,
        .n_extra = N_EXTRA,
        .list = &tools->protected};
    struct dg_prepared prepared = {.in_place = false};
    const struct dg_token *tokens;
    struct dg_token *owned = NULL;
    size_t n = 0;
    if (err)
        return err;
    err = prepare_and_encode(sentence, tools, dg_span_sub(request->asked.text, part->at, part->len),
                             &prepare, &extra[UNKNOWN], error, &prepared, &tokens, &n, &owned);
    if (!err && sentence->placeholders && n > request->hops[0]->limits.source_max) {
        /* The placeholder words take more room than the spans that they stand for, which fitted
         * before. */
        dg_placeholders_give_up(sentence->placeholders);
        prepare.placeholders = NULL;
        dg_free(owned);
        dg_prepared_deinit(&prepared);
        err = prepare_and_encode(sentence, tools,
                                 dg_span_sub(request->asked.text, part->at, part->len), &prepare,
                                 &extra[UNKNOWN], error, &prepared, &tokens, &n, &owned);
    }
    dg_phrase_set_deinit(&extra[FROZEN]);
    dg_phrase_set_deinit(&extra[UNKNOWN]);
    sentence->n_numbers = !err && sentence->placeholders ? sentence->placeholders->n_numbers : 0;
    if (!err && sentence->placeholders && !sentence->placeholders->text)
        free_carry(sentence);
    if (!err)
        err = keep_tokens(sentence, &prepared, tokens, n, error);
    if (!err)
        err = constrain(sentence, tokens, n);
    if (!err)
        err = find_terms(sentence, tools, &prepared, tokens, n);
    sentence->casing = prepared.casing;
    sentence->in_place = prepared.in_place;
    dg_free(owned);
    dg_prepared_deinit(&prepared);
    return err;
}

/* At the start of the last hop, shows what precedes the sentence outside it. */
static enum dg_err begin_text(struct dg_sentence *sentence)
{
    if (!sentence->placeholders || !is_last_leg(sentence))
        return DG_OK;
    return dg_buf_append_span(&sentence->text, sentence->placeholders->before);
}

enum dg_err dg_sentence_new(struct dg_request *request, struct dg_request_tools *tools, size_t part,
                            struct dg_error *error, struct dg_sentence **out)
{
    struct dg_sentence *sentence = dg_try_calloc(1, sizeof *sentence);
    if (!sentence)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a sentence");
    sentence->request = request;
    sentence->part = part;
    sentence->is_first = request->n_tokens_in == 0;
    sentence->is_cached = true;
    dg_list_init(&sentence->link);
    dg_buf_init(&sentence->via, DG_SENTENCE_MAX);
    dg_buf_init(&sentence->raw, DG_SENTENCE_MAX);
    dg_buf_init(&sentence->text, DG_SENTENCE_MAX);
    dg_tokenizer_stream_init(&sentence->stream, request->hops[0]->tokenizer, DG_SENTENCE_MAX);
    if (request->hops[0]->template)
        dg_tokenizer_stream_goes_on(&sentence->stream);
    enum dg_err err = new_carry(sentence);
    if (!err)
        err = tokenise(sentence, tools, error);
    if (!err)
        err = begin_text(sentence);
    if (err) {
        dg_sentence_free(sentence);
        return err;
    }
    *out = sentence;
    return DG_OK;
}

void dg_sentence_free(struct dg_sentence *sentence)
{
    if (!sentence)
        return;
    dg_list_unlink(&sentence->link);
    dg_flight_unref(sentence->flight);
    dg_free(sentence->tokens);
    dg_free(sentence->ids);
    dg_free(sentence->pieces);
    dg_tokenizer_stream_deinit(&sentence->stream);
    free_carry(sentence);
    dg_free(sentence->constraints);
    dg_free(sentence->carried);
    dg_terms_deinit(&sentence->terms);
    dg_free(sentence->phrases);
    dg_buf_deinit(&sentence->via);
    dg_buf_deinit(&sentence->raw);
    dg_buf_deinit(&sentence->text);
    dg_free(sentence);
}

/* ---- Legs ------------------------------------------------------------------------------------ */

/* Finds the length of the text after each token: ends [n], scaled to the text's length if restoring
 * its case has changed that. */
static enum dg_err find_ends(const struct dg_sentence *sentence,
                             const struct dg_ticket_answer *best, size_t *ends)
{
    struct dg_tokenizer_stream stream;
    struct dg_span delta;
    const size_t begin =
        sentence->placeholders && is_last_leg(sentence) ? sentence->placeholders->before.len : 0;
    size_t said = 0;
    enum dg_err err = DG_OK;
    dg_tokenizer_stream_init(&stream, model_of(sentence)->tokenizer, DG_SENTENCE_MAX);
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

static const struct dg_ticket_answer *best_of(const struct dg_sentence *sentence)
{
    const struct dg_ticket *ticket = sentence->flight ? sentence->flight->ticket : NULL;
    return ticket && ticket->n_answers ? &ticket->answers[0] : NULL;
}

/* At the end of the first of two hops: finds the terms in its output. */
static enum dg_err follow_terms(struct dg_sentence *sentence)
{
    const struct dg_ticket_answer *best = best_of(sentence);
    if (sentence->terms.n == 0 || !best || !best->alignment)
        return DG_OK;
    size_t *ends = dg_try_calloc(best->n_ids + 1, sizeof *ends);
    enum dg_err err = ends ? find_ends(sentence, best, ends) : DG_ERR_NOMEM;
    const struct dg_terms_said said = {.ids = best->ids,
                                       .ends = ends,
                                       .alignment = best->alignment,
                                       .n = best->n_ids,
                                       .n_source = sentence->flight->ticket->n_src,
                                       .joining = model_of(sentence)->joining};
    if (!err)
        dg_terms_follow(&sentence->terms, &said);
    dg_free(ends);
    return err;
}

/* Cuts the output of the previous hop for the model of this one. */
static enum dg_err cut_via(struct dg_sentence *sentence, struct dg_request_tools *tools)
{
    const struct dg_served_model *model = model_of(sentence);
    const struct dg_text_split_opts opts = {
        .pair = pair_of(sentence),
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
    const struct dg_served_model *model = model_of(sentence);
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
        err = encode(sentence, tools, piece, NULL, &tokens, &n, &owned);
    if (!err)
        err = set_ids(sentence, tokens, n, NULL);
    if (!err)
        err = constrain(sentence, tokens, n);
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

/* Gives the answer the case that its sentence was written in. */
static enum dg_err restore_case(const struct dg_sentence *sentence, struct dg_buf *text,
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
    struct dg_placeholders_out out = {.keeps_marks = !is_last_leg(sentence)};
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
        if (is_last_leg(sentence))
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
            err = begin_text(sentence);
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
    dg_translation_prompt_hear(model_of(sentence)->template, said, is_over, &sentence->heard_from,
                               &sentence->heard_upto);
    const size_t len = sentence->heard_upto - sentence->heard_from;
    return dg_buf_append_span(&sentence->text,
                              dg_span_sub(said, sentence->heard_from + told, len - told));
}

/* Puts the model's output into the text as it will be shown. If the case must be restored, nothing
 * is put there before the end. */
static enum dg_err emit(struct dg_sentence *sentence, bool is_over)
{
    struct dg_placeholders_out *out = &sentence->out;
    if (model_of(sentence)->template)
        return emit_heard(sentence, is_over);
    bool is_cased = sentence->casing != DG_CASING_PLAIN && is_last_leg(sentence);
    if (is_cased && !is_over)
        return DG_OK;
    enum dg_err err = is_cased ? restore_case(sentence, &sentence->raw, 0) : DG_OK;
    if (err)
        return err;
    out->any_case = is_cased;
    out->keeps_marks = !is_last_leg(sentence);
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
        if (err == DG_ERR_RANGE && model_of(sentence)->template)
            err = DG_OK;
        else if (!err)
            err = dg_buf_append_span(&sentence->raw, delta);
    }
    if (!err && is_over) {
        err = dg_tokenizer_stream_finish(&sentence->stream, &delta);
        if (!err)
            err = dg_buf_append_span(&sentence->raw, delta);
    }
    const char *language = pair_of(sentence)->target->tag.language;
    if (!err && is_last_leg(sentence) && dg_terms_may_elide(&sentence->terms, language)) {
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
    request->n_tokens_out += is_last_leg(sentence) ? best->n_ids : 0;
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
        dg_tokenizer_decode(model_of(sentence)->tokenizer, best->ids, best->n_ids, &said);
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
    sentence->carries_numbers = true;
    free_carry(sentence);
    dg_terms_deinit(&sentence->terms);
    sentence->terms = (struct dg_terms){.n = 0};
    dg_free(sentence->tokens);
    sentence->tokens = NULL;
    sentence->n_carried = 0;
    dg_buf_clear(&sentence->text);
    struct dg_error unused = DG_ERROR_NONE;
    err = new_carry(sentence);
    if (!err)
        err = tokenise(sentence, tools, &unused);
    return err ? err : begin_text(sentence);
}

/* Ends the sentence's flight. */
static enum dg_err conclude(struct dg_sentence *sentence, struct dg_request_tools *tools)
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

static void note_first(struct dg_sentence *sentence, struct dg_request_tools *tools)
{
    if (sentence->request->first_ns == 0 && is_last_leg(sentence) &&
        dg_ticket_shown(sentence->flight->ticket) > 0)
        sentence->request->first_ns = dg_clock_now(tools->tasks->clock);
}

enum dg_err dg_sentence_take(struct dg_sentence *sentence, struct dg_request_tools *tools,
                             bool is_over, bool is_leader)
{
    struct dg_request *request = sentence->request;
    const struct dg_flight *flight = sentence->flight;
    const struct dg_ticket *ticket = flight->ticket;
    note_first(sentence, tools);
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
    return conclude(sentence, tools);
}

/* ---- Launching ------------------------------------------------------------------------------- */

static void wait_for(struct dg_sentence *sentence)
{
    dg_list_link_last(&sentence->flight->sentences, &sentence->link);
    sentence->request->task.n_open++;
}

/* Returns true when no output of the ticket is shown before its end. */
static bool is_quiet(const struct dg_sentence *sentence)
{
    return !sentence->request->events->on_delta || !is_last_leg(sentence) ||
           sentence->casing != DG_CASING_PLAIN || sentence->n_numbers ||
           (sentence->request->doc && sentence->request->doc_parts[sentence->part].has_markup);
}

static enum dg_err make_flight(struct dg_sentence *sentence, const struct dg_search_opts *search,
                               struct dg_error *error)
{
    struct dg_served_model *model = model_of(sentence);
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
    const struct dg_served_model *model = model_of(sentence);
    if (!tools->lookups.remote.get || tools->cache_per_client || !model->has_fingerprint ||
        sentence->request->asked.no_cache || sentence->flight->ticket->opts.want_alignment)
        return false;
    dg_remote_key(model->fingerprint, model->limits.target_max, model->limits.kv,
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

/* Returns true when the sentence needs an alignment: markup is placed by the source words that the
 * words of the answer come from, and terms are followed to the last hop. */
static bool needs_alignment(const struct dg_sentence *sentence)
{
    const struct dg_request *request = sentence->request;
    if (model_of(sentence)->template)
        return false;
    if (!is_last_leg(sentence))
        return dg_terms_are_demanded(&sentence->terms);
    return request->n_hops == 1 && request->doc && request->doc_parts[sentence->part].has_markup;
}

/* Adds the placeholders and the glossary terms to the forced words of `search`. */
static enum dg_err demand_more(struct dg_sentence *sentence, struct dg_search_opts *search)
{
    size_t n = sentence->n_carried, n_placed = is_last_leg(sentence) ? sentence->terms.n : 0;
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
    search->joining = model_of(sentence)->joining;
    return DG_OK;
}

/* Makes the options of the sentence's search: plain options for the first of two hops, the
 * request's options for the last hop. */
static enum dg_err search_of(struct dg_sentence *sentence, struct dg_search_opts *out)
{
    const struct dg_request *request = sentence->request;
    struct dg_search_opts search = request->asked.search;
    struct dg_search_usual usual = {.length_penalty = request->asked.usual_length};
    if (!is_last_leg(sentence)) {
        const struct dg_search_opts plain = DG_SEARCH_OPTS_DEFAULT;
        search = plain;
        search.beam = request->asked.search.sample ? 1 : request->asked.search.beam;
        usual.length_penalty = true;
    } else if (sentence->n_tickets == 0) { /* with several pieces, only the first one has it */
        dg_forced_tokens_apply(&request->forced, sentence->is_first, &search);
    }
    search.suppress_unk = true; /* the unknown word would be of no use to a reader */
    search.want_alignment |= needs_alignment(sentence);
    dg_pair_lead(pair_of(sentence), &search);
    if (model_of(sentence)->template)
        search.ends = dg_translation_prompt_ends(model_of(sentence)->template);
    enum dg_err err = demand_more(sentence, &search);
    const size_t longest = dg_terms_longest(&sentence->terms, sentence->n_ids);
    if (longest > 0 && longest < (size_t)search.max_len)
        search.max_len = (int)longest;
    dg_search_opts_complete(&search, &model_of(sentence)->blueprint, usual, 0);
    *out = search;
    return err;
}

/* Uses an answer that the cache already has. */
static enum dg_err hit(struct dg_sentence *sentence, struct dg_request_tools *tools,
                       struct dg_flight *found)
{
    sentence->flight = dg_flight_ref(found);
    dg_cache_stats(tools->cache)->n_hits++;
    model_of(sentence)->cache_counts->n_hits++;
    note_first(sentence, tools);
    return conclude(sentence, tools);
}

static void join(struct dg_sentence *sentence, struct dg_request_tools *tools,
                 struct dg_flight *found)
{
    sentence->flight = dg_flight_ref(found);
    if (!is_quiet(sentence))
        found->ticket->is_quiet = false;
    dg_cache_stats(tools->cache)->n_joined++;
    model_of(sentence)->cache_counts->n_joined++;
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
        err = dg_cache_key(model_of(sentence)->version, client, &search, sentence->ids,
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
        model_of(sentence)->cache_counts->n_misses++;
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

/* ---- Answers --------------------------------------------------------------------------------- */

bool dg_sentence_is_showable(const struct dg_sentence *sentence)
{
    return is_last_leg(sentence) && (sentence->casing == DG_CASING_PLAIN || sentence->is_over);
}

/* The same for a language model: appends the translation in each of its answers. */
static enum dg_err other_heard(const struct dg_sentence *sentence,
                               const struct dg_ticket_answer *answer, struct dg_buf *texts)
{
    struct dg_tokenizer_stream stream;
    struct dg_buf said;
    struct dg_span delta;
    size_t from = 0, upto = 0;
    enum dg_err err = DG_OK;
    dg_buf_init(&said, DG_SENTENCE_MAX);
    dg_tokenizer_stream_init(&stream, model_of(sentence)->tokenizer, DG_SENTENCE_MAX);
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
    dg_translation_prompt_hear(model_of(sentence)->template, dg_buf_span(&said), true, &from,
                               &upto);
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
    if (model_of(sentence)->template)
        return other_heard(sentence, answer, texts);
    enum dg_err err =
        dg_tokenizer_decode(model_of(sentence)->tokenizer, answer->ids, answer->n_ids, texts);
    if (!err && dg_terms_may_elide(&sentence->terms, pair_of(sentence)->target->tag.language))
        err = dg_terms_elide(&sentence->terms, texts, from);
    if (!err)
        err = restore_case(sentence, texts, from);
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

/* ---- Markup ---------------------------------------------------------------------------------- */

enum dg_err dg_sentence_ends(const struct dg_sentence *sentence, size_t **ends)
{
    const struct dg_ticket_answer *best = best_of(sentence);
    *ends = NULL;
    if (!best || !best->alignment || sentence->request->n_hops != 1 || sentence->n_tickets != 1 ||
        !sentence->in_place)
        return DG_OK;
    size_t *found = dg_try_calloc(best->n_ids + 1, sizeof *found);
    const enum dg_err err = found ? find_ends(sentence, best, found) : DG_ERR_NOMEM;
    if (err)
        dg_free(found);
    else
        *ends = found;
    return err;
}

enum dg_err dg_sentence_weave(const struct dg_sentence *sentence, const struct dg_doc *doc,
                              const struct dg_doc_part *part, struct dg_buf *out)
{
    const struct dg_ticket_answer *best = best_of(sentence);
    struct dg_tag_placement_source source = {.tokens = sentence->tokens, .n = sentence->n_tokens};
    struct dg_tag_placement_target said = {.text = dg_buf_span(&sentence->text)};
    size_t *ends = NULL;
    enum dg_err err = DG_OK;
    if (needs_alignment(sentence))
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
