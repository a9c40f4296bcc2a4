/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How a sentence is made ready: its text is prepared and tokenised, with placeholders for what the
 * model must not translate and with the terms that it must use. */
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "engine/models/prompt.h"
#include "engine/request/sentence_int.h"
#include "engine/words/prepare.h"

#include <ctype.h>
#include <string.h>

enum dg_err dg_sentence_encode(const struct dg_sentence *sentence, struct dg_request_tools *tools,
                               struct dg_span text, struct dg_error *error,
                               const struct dg_token **tokens, size_t *n, struct dg_token **owned)
{
    const struct dg_served_model *model = dg_sentence_model(sentence);
    const struct dg_tokenizer_opts opts = dg_lang_pair_tokenizer_opts(dg_sentence_pair(sentence));
    *owned = NULL;
    if (!model->template)
        return dg_tokenizer_encode(model->tokenizer, tools->tasks->work, text, &opts, error, tokens,
                                   n);
    enum dg_err err =
        dg_prompt_ask(model, dg_sentence_pair(sentence), tools->tasks->work, text, error, owned, n);
    *tokens = *owned;
    return err;
}

enum dg_err dg_sentence_set_ids(struct dg_sentence *sentence, const struct dg_token *tokens,
                                size_t n, struct dg_error *error)
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

enum dg_err dg_sentence_constrain(struct dg_sentence *sentence, const struct dg_token *tokens,
                                  size_t n)
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
    return dg_sentence_set_ids(sentence, tokens, n, error);
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
        if (dg_tokenizer_token_is_unknown(dg_sentence_model(sentence)->tokenizer,
                                          tools->tasks->work, i))
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
    enum dg_err err = dg_sentence_encode(sentence, tools, word, NULL, &tokens, &n, &owned);
    *is_lacking = !err && has_unknown(sentence, tools, n);
    dg_free(owned);
    if (!*is_lacking)
        return err;
    dg_buf_init(&low, word.len + 8);
    err = dg_casing_lower_first(word, &low, &is_lowered);
    if (!err && is_lowered) {
        err = dg_sentence_encode(sentence, tools, dg_buf_span(&low), NULL, &tokens, &n, &owned);
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
        err = dg_sentence_encode(finder->sentence, finder->tools, word, NULL, &tokens, &n, &owned);
    dg_free(owned);
    owned = NULL;
    if (!err)
        err = dg_sentence_encode(finder->sentence, finder->tools, dg_buf_span(&low), NULL, &tokens,
                                 &n_low, &owned);
    dg_free(owned);
    owned = NULL;
    if (!err)
        err = dg_sentence_encode(finder->sentence, finder->tools, DG_SPAN(""), NULL, &tokens,
                                 &n_none, &owned);
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
            err = dg_sentence_encode(sentence, tools, prepared->text, error, tokens, n, owned);
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
        err = dg_sentence_constrain(sentence, tokens, n);
    if (!err)
        err = find_terms(sentence, tools, &prepared, tokens, n);
    sentence->casing = prepared.casing;
    sentence->in_place = prepared.in_place;
    dg_free(owned);
    dg_prepared_deinit(&prepared);
    return err;
}

enum dg_err dg_sentence_begin_text(struct dg_sentence *sentence)
{
    if (!sentence->placeholders || !dg_sentence_is_last_leg(sentence))
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
        err = dg_sentence_begin_text(sentence);
    if (err) {
        dg_sentence_free(sentence);
        return err;
    }
    *out = sentence;
    return DG_OK;
}

enum dg_err dg_sentence_carry_numbers(struct dg_sentence *sentence, struct dg_request_tools *tools)
{
    struct dg_error unused = DG_ERROR_NONE;
    sentence->carries_numbers = true;
    free_carry(sentence);
    dg_terms_deinit(&sentence->terms);
    sentence->terms = (struct dg_terms){.n = 0};
    dg_free(sentence->tokens);
    sentence->tokens = NULL;
    sentence->n_carried = 0;
    dg_buf_clear(&sentence->text);
    enum dg_err err = new_carry(sentence);
    if (!err)
        err = tokenise(sentence, tools, &unused);
    return err ? err : dg_sentence_begin_text(sentence);
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
