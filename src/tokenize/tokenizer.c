/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Encoding and decoding in every layout; opening is in tokenizer_open.c. The Marian and the plain
 * layout differ only in how piece ids become vocabulary ids and back. */
#include "tokenize/tokenizer.h"

#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "tokenize/spm/spm_encode.h"
#include "tokenize/spm/spm_int.h"
#include "tokenize/tokenizer_int.h"

#include <stdio.h>
#include <stdlib.h>

struct dg_tokenizer_work {
    struct dg_spm_work *spm;
    struct dg_subword_work *subword; /* made when it is first needed */
    struct dg_token *tokens;         /* owned */
    /* owned; for each token its index among the SentencePiece tokens, or NO_PIECE */
    uint32_t *pieces;
    size_t n, tokens_cap, pieces_cap;
};

enum { NO_PIECE = UINT32_MAX };

/* ---- Questions ------------------------------------------------------------------------------- */

static struct dg_tokenizer_side subword_side(const struct dg_subword *subword)
{
    return (struct dg_tokenizer_side){dg_subword_size(subword), dg_subword_unk(subword), -1, -1,
                                      -1};
}

static struct dg_tokenizer_side side_of(const struct dg_spm *spm,
                                        const struct dg_marian_vocab *vocab)
{
    if (vocab)
        return (struct dg_tokenizer_side){vocab->size, vocab->unk, -1, vocab->eos, vocab->pad};
    return (struct dg_tokenizer_side){dg_spm_size(spm), dg_spm_unk(spm), dg_spm_bos(spm),
                                      dg_spm_eos(spm), dg_spm_pad(spm)};
}

struct dg_tokenizer_side dg_tokenizer_source(const struct dg_tokenizer *tokenizer)
{
    if (tokenizer->subword)
        return subword_side(tokenizer->subword);
    return side_of(tokenizer->source, tokenizer->is_marian ? &tokenizer->source_vocab : NULL);
}

struct dg_tokenizer_side dg_tokenizer_target(const struct dg_tokenizer *tokenizer)
{
    if (tokenizer->subword)
        return subword_side(tokenizer->subword);
    return side_of(tokenizer->target, tokenizer->is_marian ? &tokenizer->target_vocab : NULL);
}

static int32_t find_plain(const struct dg_spm *spm, struct dg_span piece)
{
    uint32_t id = dg_spm_find(spm, piece);
    return dg_span_eq(dg_spm_piece(spm, id), piece) ? (int32_t)id : -1;
}

int32_t dg_tokenizer_find(const struct dg_tokenizer *tokenizer, struct dg_span piece)
{
    if (tokenizer->subword)
        return dg_subword_find(tokenizer->subword, piece);
    return tokenizer->is_marian ? dg_marian_vocab_find(&tokenizer->source_vocab, piece)
                                : find_plain(tokenizer->source, piece);
}

int32_t dg_tokenizer_find_target(const struct dg_tokenizer *tokenizer, struct dg_span piece)
{
    if (tokenizer->subword)
        return dg_subword_find(tokenizer->subword, piece);
    return tokenizer->is_marian ? dg_marian_vocab_find(&tokenizer->target_vocab, piece)
                                : find_plain(tokenizer->target, piece);
}

struct dg_span dg_tokenizer_target_piece(const struct dg_tokenizer *tokenizer, int32_t id)
{
    if (tokenizer->subword)
        return dg_subword_piece(tokenizer->subword, id);
    if (tokenizer->is_marian)
        return dg_marian_vocab_piece(&tokenizer->target_vocab, id).text;
    if (id < 0 || (uint32_t)id >= dg_spm_size(tokenizer->target))
        return (struct dg_span){0};
    return dg_spm_piece(tokenizer->target, (uint32_t)id);
}

/* ---- Languages ------------------------------------------------------------------------------- */

static bool is_code_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* "fra_Latn": three lower-case letters and the four of a script. */
static bool is_flores(struct dg_span token)
{
    if (token.len != 8)
        return false;
    for (size_t i = 0; i < 8; i++)
        if (i == 3   ? token.ptr[i] != '_'
            : i == 4 ? token.ptr[i] < 'A' || token.ptr[i] > 'Z'
                     : token.ptr[i] < 'a' || token.ptr[i] > 'z')
            return false;
    return true;
}

struct dg_span dg_tokenizer_language_code(struct dg_span token)
{
    bool is_opus = dg_span_starts(token, DG_SPAN(">>")) && dg_span_ends(token, DG_SPAN("<<"));
    bool is_m2m = dg_span_starts(token, DG_SPAN("__")) && dg_span_ends(token, DG_SPAN("__"));
    if (is_flores(token))
        return token;
    if (!(is_opus || is_m2m) || token.len < 6 || token.len > 4 + 24)
        return (struct dg_span){0};
    struct dg_span code = dg_span_sub(token, 2, token.len - 4);
    for (size_t i = 0; i < code.len; i++)
        if (!is_code_byte(code.ptr[i]))
            return (struct dg_span){0};
    return code;
}

static int by_id(const void *a, const void *b)
{
    const struct dg_tokenizer_language *left = a, *right = b;
    return (left->source_id > right->source_id) - (left->source_id < right->source_id);
}

static enum dg_err add_language(const struct dg_tokenizer *tokenizer, struct dg_span token,
                                int32_t id, struct dg_tokenizer_language **list, size_t *n,
                                size_t *cap)
{
    struct dg_tokenizer_language found = {token, dg_tokenizer_language_code(token), id, -1};
    if (found.code.len == 0)
        return DG_OK;
    enum dg_err err = dg_reserve(list, *n + 1, cap, sizeof **list, 64);
    if (err)
        return err;
    found.target_id = dg_tokenizer_find_target(tokenizer, token);
    (*list)[(*n)++] = found;
    return DG_OK;
}

enum dg_err dg_tokenizer_languages(const struct dg_tokenizer *tokenizer,
                                   struct dg_tokenizer_language **out, size_t *n_out)
{
    struct dg_tokenizer_language *list = NULL;
    size_t n = 0, cap = 0;
    enum dg_err err = DG_OK;
    struct dg_span token;
    uint64_t id;
    for (uint32_t i = 0; !err && tokenizer->subword && i < subword_side(tokenizer->subword).size;
         i++)
        err = add_language(tokenizer, dg_subword_piece(tokenizer->subword, (int32_t)i), (int32_t)i,
                           &list, &n, &cap);
    if (tokenizer->is_marian) /* languages are not pieces of a SentencePiece model */
        for (size_t at = 0; !err && dg_map_next(&tokenizer->source_vocab.extras, &at, &token, &id);)
            err = add_language(tokenizer, token, (int32_t)id, &list, &n, &cap);
    else
        for (uint32_t i = 0; !err && !tokenizer->subword && i < dg_spm_size(tokenizer->source); i++)
            err = add_language(tokenizer, dg_spm_piece(tokenizer->source, i), (int32_t)i, &list, &n,
                               &cap);
    if (err) {
        dg_free(list);
        return err;
    }
    if (n > 1)
        qsort(list, n, sizeof *list, by_id);
    *out = list;
    *n_out = n;
    return DG_OK;
}

const struct dg_spm *dg_tokenizer_source_spm(const struct dg_tokenizer *tokenizer)
{
    return tokenizer->source;
}

const struct dg_spm *dg_tokenizer_target_spm(const struct dg_tokenizer *tokenizer)
{
    return tokenizer->target;
}

const struct dg_subword *dg_tokenizer_subword(const struct dg_tokenizer *tokenizer)
{
    return tokenizer->subword;
}

size_t dg_tokenizer_memory(const struct dg_tokenizer *tokenizer)
{
    if (tokenizer->subword)
        return sizeof *tokenizer + dg_subword_memory(tokenizer->subword);
    size_t bytes = sizeof *tokenizer + dg_spm_memory(tokenizer->source);
    if (tokenizer->target != tokenizer->source)
        bytes += dg_spm_memory(tokenizer->target);
    if (tokenizer->is_marian)
        bytes += dg_marian_vocab_memory(&tokenizer->source_vocab) +
                 dg_marian_vocab_memory(&tokenizer->target_vocab);
    return bytes;
}

/* ---- Encoding -------------------------------------------------------------------------------- */

struct dg_tokenizer_work *dg_tokenizer_work_new(void)
{
    struct dg_tokenizer_work *work = dg_xcalloc(1, sizeof *work);
    work->spm = dg_spm_work_new();
    return work;
}

void dg_tokenizer_work_free(struct dg_tokenizer_work *work)
{
    if (!work)
        return;
    dg_spm_work_free(work->spm);
    dg_subword_work_free(work->subword);
    dg_free(work->tokens);
    dg_free(work->pieces);
    dg_free(work);
}

/* Appends a token; the caller must have reserved memory. */
static void put_token(struct dg_tokenizer_work *work, int32_t id, size_t begin, size_t end,
                      uint32_t piece)
{
    work->pieces[work->n] = piece;
    work->tokens[work->n++] = (struct dg_token){id, (uint32_t)begin, (uint32_t)end};
}

/* The vocabulary id of an spm token. An unknown piece of the model may still be in the vocabulary,
 * which is shared with the other side. */
static int32_t id_of(const struct dg_tokenizer *tokenizer, const struct dg_spm_work *work,
                     const struct dg_spm_token *token)
{
    if (!tokenizer->is_marian)
        return (int32_t)token->id;
    const struct dg_marian_vocab *vocab = &tokenizer->source_vocab;
    if (token->id != tokenizer->source->unk)
        return dg_marian_vocab_from_piece(vocab, token->id);
    int32_t id = dg_marian_vocab_find(vocab, dg_spm_token_piece(tokenizer->source, work, token));
    return id < 0 ? vocab->unk : id;
}

/* The known ">>xxx<<" at the start of the text: its bytes (0: none) and its id. */
static size_t parse_language(const struct dg_tokenizer *tokenizer, struct dg_span text, int32_t *id)
{
    if (!tokenizer->is_marian || !dg_span_starts(text, DG_SPAN(">>")))
        return 0;
    for (size_t at = 2; at + 2 <= text.len && at < DG_PIECES_LEN_MAX; at++) {
        if (text.ptr[at] != '<' || text.ptr[at + 1] != '<')
            continue;
        *id = dg_marian_vocab_find(&tokenizer->source_vocab, dg_span_sub(text, 0, at + 2));
        return *id < 0 ? 0 : at + 2;
    }
    return 0;
}

static enum dg_err find_language(const struct dg_tokenizer *tokenizer, struct dg_span language,
                                 struct dg_error *error, int32_t *id)
{
    char name[64];
    int len =
        language.len < 32 ? snprintf(name, sizeof name, ">>%.*s<<", DG_SPAN_FMT(language)) : 0;
    *id = dg_tokenizer_find(tokenizer, dg_span_make(name, (size_t)len));
    return *id >= 0 ? DG_OK
                    : dg_error_set(error, DG_ERR_NOT_FOUND,
                                   "the model's vocabulary has no token for the "
                                   "target language that was asked for");
}

static enum dg_err put_tokens(const struct dg_tokenizer *tokenizer, struct dg_tokenizer_work *work,
                              size_t offset, size_t more)
{
    size_t n_spm;
    const struct dg_spm_token *spm_tokens = dg_spm_tokens(work->spm, &n_spm);
    enum dg_err err = DG_RESERVE(work->tokens, n_spm + work->n + more, work->tokens_cap, 64);
    if (!err)
        err = DG_RESERVE(work->pieces, n_spm + work->n + more, work->pieces_cap, 64);
    for (size_t i = 0; !err && i < n_spm; i++)
        put_token(work, id_of(tokenizer, work->spm, &spm_tokens[i]), offset + spm_tokens[i].begin,
                  offset + spm_tokens[i].end, (uint32_t)i);
    return err;
}

/* The file's template puts its own tokens around the text, with a language of its choice. If the
 * caller gives a language, that and the end token are put there instead. */
static enum dg_err encode_subword(const struct dg_subword *subword, struct dg_tokenizer_work *work,
                                  struct dg_span text, const struct dg_tokenizer_opts *opts,
                                  struct dg_error *error)
{
    const struct dg_subword_token *tokens;
    size_t n;
    if (!work->subword)
        work->subword = dg_subword_work_new();
    const bool is_told = opts->first || opts->second || opts->last;
    const int32_t eos = subword_side(subword).eos;
    const unsigned how = (opts->add_eos && !is_told ? DG_SUBWORD_TEMPLATE : 0u) |
                         (opts->reads_special ? DG_SUBWORD_SPECIAL : 0u);
    enum dg_err err = dg_subword_encode(subword, work->subword, text, how, error, &tokens, &n);
    if (!err)
        err = DG_RESERVE(work->tokens, n + 4, work->tokens_cap, 64);
    if (!err)
        err = DG_RESERVE(work->pieces, n + 4, work->pieces_cap, 64);
    if (!err && opts->first)
        put_token(work, *opts->first, 0, 0, NO_PIECE);
    if (!err && opts->second)
        put_token(work, *opts->second, 0, 0, NO_PIECE);
    for (size_t i = 0; !err && i < n; i++)
        put_token(work, tokens[i].id, tokens[i].begin, tokens[i].end, NO_PIECE);
    if (!err && is_told && opts->add_eos && eos >= 0)
        put_token(work, eos, text.len, text.len, NO_PIECE);
    if (!err && opts->last)
        put_token(work, *opts->last, text.len, text.len, NO_PIECE);
    return err;
}

enum dg_err dg_tokenizer_encode(const struct dg_tokenizer *tokenizer,
                                struct dg_tokenizer_work *work, struct dg_span text,
                                const struct dg_tokenizer_opts *opts, struct dg_error *error,
                                const struct dg_token **tokens, size_t *n)
{
    if (tokenizer->subword) {
        work->n = 0;
        enum dg_err failed = encode_subword(tokenizer->subword, work, text, opts, error);
        if (failed)
            return failed;
        *tokens = work->tokens;
        *n = work->n;
        return DG_OK;
    }
    int32_t language = -1;
    size_t skip = 0;
    enum dg_err err = DG_OK;
    work->n = 0;
    if (opts->language.len)
        err = find_language(tokenizer, opts->language, error, &language);
    else if (opts->parse_language)
        skip = parse_language(tokenizer, text, &language);
    if (err)
        return err;
    err = dg_spm_encode(tokenizer->source, work->spm, dg_span_sub(text, skip, text.len));
    if (!err)
        err = DG_RESERVE(work->tokens, 3, work->tokens_cap, 64);
    if (!err)
        err = DG_RESERVE(work->pieces, 3, work->pieces_cap, 64);
    if (!err && opts->first)
        put_token(work, *opts->first, 0, 0, NO_PIECE);
    if (!err && opts->second)
        put_token(work, *opts->second, 0, 0, NO_PIECE);
    if (!err && language >= 0)
        put_token(work, language, 0, skip, NO_PIECE);
    if (!err)
        err = put_tokens(tokenizer, work, skip, 2);
    if (err)
        return dg_error_set(error, err, "a text of %zu bytes cannot be encoded: %s", text.len,
                            dg_err_sentence(err));
    int32_t eos = dg_tokenizer_source(tokenizer).eos;
    if (opts->add_eos && eos >= 0 && !tokenizer->source_is_bare)
        put_token(work, eos, text.len, text.len, NO_PIECE);
    if (opts->last)
        put_token(work, *opts->last, text.len, text.len, NO_PIECE);
    *tokens = work->tokens;
    *n = work->n;
    return DG_OK;
}

struct dg_span dg_tokenizer_token_piece(const struct dg_tokenizer *tokenizer,
                                        const struct dg_tokenizer_work *work, size_t i)
{
    size_t n;
    if (tokenizer->subword)
        return dg_subword_piece(tokenizer->subword, work->tokens[i].id);
    const struct dg_spm_token *spm_tokens = dg_spm_tokens(work->spm, &n);
    if (work->pieces[i] != NO_PIECE)
        return dg_spm_token_piece(tokenizer->source, work->spm, &spm_tokens[work->pieces[i]]);
    int32_t id = work->tokens[i].id;
    return tokenizer->is_marian ? dg_marian_vocab_piece(&tokenizer->source_vocab, id).text
                                : dg_spm_piece(tokenizer->source, (uint32_t)id);
}

bool dg_tokenizer_token_is_unknown(const struct dg_tokenizer *tokenizer,
                                   const struct dg_tokenizer_work *work, size_t i)
{
    size_t n;
    const int32_t id = work->tokens[i].id, unk = dg_tokenizer_source(tokenizer).unk;
    if (id == unk && unk >= 0)
        return true;
    if (tokenizer->subword || work->pieces[i] == NO_PIECE)
        return false;
    const struct dg_spm_token *spm_tokens = dg_spm_tokens(work->spm, &n);
    return dg_spm_type(tokenizer->source, spm_tokens[work->pieces[i]].id) == DG_PIECE_BYTE;
}

/* ---- Decoding -------------------------------------------------------------------------------- */

enum dg_err dg_tokenizer_decode(const struct dg_tokenizer *tokenizer, const int32_t *ids, size_t n,
                                struct dg_buf *out)
{
    struct dg_tokenizer_stream stream;
    struct dg_span delta;
    enum dg_err err = DG_OK;
    dg_tokenizer_stream_init(&stream, tokenizer, out->max);
    for (size_t i = 0; i < n && !err; i++) {
        err = dg_tokenizer_stream_push(&stream, ids[i], &delta);
        if (!err)
            err = dg_buf_append_span(out, delta);
    }
    if (!err)
        err = dg_tokenizer_stream_finish(&stream, &delta);
    if (!err)
        err = dg_buf_append_span(out, delta);
    dg_tokenizer_stream_deinit(&stream);
    return err;
}

void dg_tokenizer_stream_init(struct dg_tokenizer_stream *stream,
                              const struct dg_tokenizer *tokenizer, size_t max)
{
    stream->tokenizer = tokenizer;
    dg_subword_stream_init(&stream->subword, tokenizer->subword, max);
    if (tokenizer->subword)
        return;
    dg_spm_stream_init(&stream->spm, tokenizer->target, max);
    dg_spm_stream_trim(&stream->spm, tokenizer->is_marian);
}

void dg_tokenizer_stream_deinit(struct dg_tokenizer_stream *stream)
{
    dg_subword_stream_deinit(&stream->subword);
    if (!stream->subword.subword)
        dg_spm_stream_deinit(&stream->spm);
}

void dg_tokenizer_stream_reset(struct dg_tokenizer_stream *stream)
{
    dg_subword_stream_reset(&stream->subword);
    if (!stream->subword.subword)
        dg_spm_stream_reset(&stream->spm);
}

void dg_tokenizer_stream_goes_on(struct dg_tokenizer_stream *stream)
{
    stream->subword.goes_on = true;
    stream->spm.expects_space = false;
}

static bool is_special(const struct dg_marian_vocab *vocab, int32_t id,
                       const struct dg_marian_piece *piece)
{
    bool is_word = piece->model >= 0 && !dg_span_starts(piece->text, DG_SPAN(">>")) &&
                   dg_spm_type(vocab->models[piece->model], piece->id) != DG_PIECE_USER_DEFINED;
    return id == vocab->eos || id == vocab->unk || id == vocab->pad ||
           (!is_word && dg_tokenizer_language_code(piece->text).len > 0);
}

enum dg_err dg_tokenizer_stream_push(struct dg_tokenizer_stream *stream, int32_t id,
                                     struct dg_span *delta)
{
    const struct dg_tokenizer *tokenizer = stream->tokenizer;
    if (id < 0)
        return DG_ERR_RANGE;
    if (tokenizer->subword)
        return dg_subword_stream_push(&stream->subword, id, delta);
    if (!tokenizer->is_marian)
        return dg_spm_stream_push(&stream->spm, (uint32_t)id, delta);
    const struct dg_marian_vocab *vocab = &tokenizer->target_vocab;
    if ((uint32_t)id >= vocab->size)
        return DG_ERR_RANGE;
    struct dg_marian_piece piece = dg_marian_vocab_piece(vocab, id);
    if (is_special(vocab, id, &piece)) {
        *delta = (struct dg_span){0};
        return DG_OK;
    }
    return piece.model == 0 ? dg_spm_stream_push(&stream->spm, piece.id, delta)
                            : dg_spm_stream_push_text(&stream->spm, piece.text, delta);
}

enum dg_err dg_tokenizer_stream_push_piece(struct dg_tokenizer_stream *stream, struct dg_span piece,
                                           struct dg_span *delta)
{
    const struct dg_tokenizer *tokenizer = stream->tokenizer;
    if (tokenizer->subword) {
        const int32_t known = dg_subword_find(tokenizer->subword, piece);
        return known >= 0 ? dg_subword_stream_push(&stream->subword, known, delta)
                          : DG_ERR_NOT_FOUND;
    }
    int32_t id = tokenizer->is_marian ? dg_marian_vocab_find(&tokenizer->target_vocab, piece) : -1;
    return id >= 0 ? dg_tokenizer_stream_push(stream, id, delta)
                   : dg_spm_stream_push_piece(&stream->spm, piece, delta);
}

enum dg_err dg_tokenizer_stream_finish(struct dg_tokenizer_stream *stream, struct dg_span *delta)
{
    return stream->subword.subword ? dg_subword_stream_finish(&stream->subword, delta)
                                   : dg_spm_stream_finish(&stream->spm, delta);
}
