/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads the vocabulary, the model's settings and the added tokens. Some ids may be unused; no two
 * tokens share an id, and no token has two. */
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "tokenize/hf/subword_int.h"

#include <stdio.h>
#include <string.h>

enum {
    WORD_MAX = 100, /* characters of a word, unless the file says otherwise */
    MERGES_MAX = 1 << 22,
};

static const double SCORE_MAX = 1e30, UNK_PENALTY = 10.0;

/* ---- Vocabulary ------------------------------------------------------------------------------ */

/* The kind of a token of the vocabulary: <0x0A> is a byte if the tokenizer has byte fallback. */
static enum dg_subword_kind kind_of(struct dg_subword *subword, struct dg_span piece, int32_t id)
{
    unsigned byte;
    char text[7];
    if (!subword->falls_apart || piece.len != 6 || memcmp(piece.ptr, "<0x", 3) != 0 ||
        piece.ptr[5] != '>')
        return DG_SUBWORD_TEXT;
    memcpy(text, piece.ptr, 6);
    text[6] = '\0';
    if (strspn(text + 3, "0123456789ABCDEF") != 2 || sscanf(text + 3, "%2X", &byte) != 1)
        return DG_SUBWORD_TEXT;
    subword->byte_ids[byte] = id;
    return DG_SUBWORD_BYTE;
}

static enum dg_err put_piece(struct dg_subword *subword, struct dg_span piece, int64_t id,
                             struct dg_error *error)
{
    struct dg_span kept;
    if (piece.len == 0 || piece.len > DG_SUBWORD_PIECE_MAX)
        return dg_error_set(error, DG_ERR_RANGE,
                            "the token with id %lld has %zu bytes, expected 1 to %d", (long long)id,
                            piece.len, DG_SUBWORD_PIECE_MAX);
    if (subword->kinds[id] != DG_SUBWORD_NOBODY)
        return dg_error_set(error, DG_ERR_FORMAT, "two tokens have the id %lld", (long long)id);
    const int32_t other = dg_subword_find(subword, piece);
    if (other >= 0)
        return dg_error_set(error, DG_ERR_FORMAT, "the token '%.*s' has two ids, %d and %lld",
                            DG_SPAN_FMT(dg_utf8_clip(piece, 80)), (int)other, (long long)id);
    enum dg_err err = dg_subword_keep(subword, piece, &kept);
    if (!err)
        err = dg_map_put(&subword->ids, kept, (uint64_t)id);
    if (err)
        return err;
    subword->pieces[id] = kept;
    subword->kinds[id] = (uint8_t)kind_of(subword, kept, (int32_t)id);
    return DG_OK;
}

/* The number of tokens plus the most unused ids. */
static enum dg_err count(size_t n_vocab, const struct dg_json *added, struct dg_error *error,
                         size_t *n)
{
    *n = n_vocab + dg_json_len(added);
    return n_vocab && *n <= DG_SUBWORD_TOKENS_MAX
               ? DG_OK
               : dg_error_set(error, DG_ERR_LIMIT,
                              "the vocabulary has %zu tokens, expected 1 to %d", *n,
                              DG_SUBWORD_TOKENS_MAX);
}

static enum dg_err grow_by_added(const struct dg_json *added, size_t n, struct dg_error *error,
                                 size_t *size)
{
    enum dg_err err = DG_OK;
    int64_t id = 0;
    for (size_t i = 0; !err && i < dg_json_len(added); i++) {
        err = dg_json_get_int(dg_json_at(added, i), "id", DG_JSON_REQUIRED, 0,
                              (int64_t)n + DG_SUBWORD_HOLES_MAX - 1, error, &id);
        if (!err && (size_t)id >= *size)
            *size = (size_t)id + 1;
    }
    return err;
}

/* One more than the largest id of the vocabulary and the added tokens. */
static enum dg_err find_size(const struct dg_json *vocab, const struct dg_json *added,
                             struct dg_error *error, size_t *size)
{
    size_t n = 0;
    struct dg_json_iter iter = dg_json_iter(vocab);
    const struct dg_json *value;
    struct dg_span key;
    int64_t id = 0;
    enum dg_err err = count(dg_json_len(vocab), added, error, &n);
    *size = 0;
    while (!err && dg_json_next(&iter, &key, &value)) {
        err = dg_json_int(value, key, 0, (int64_t)n + DG_SUBWORD_HOLES_MAX - 1, error, &id);
        if (!err && (size_t)id >= *size)
            *size = (size_t)id + 1;
    }
    return err ? err : grow_by_added(added, n, error, size);
}

/* At byte level every byte must have a token, so that every text can be encoded. */
static enum dg_err find_bytes(struct dg_subword *subword, struct dg_error *error)
{
    for (unsigned byte = 0; subword->is_byte_level && byte < 256; byte++) {
        char letter[DG_UTF8_MAX_LEN];
        const size_t len = dg_utf8_encode(dg_subword_letter((uint8_t)byte), letter);
        subword->byte_ids[byte] = dg_subword_find(subword, dg_span_make(letter, len));
        if (subword->byte_ids[byte] < 0)
            return dg_error_set(error, DG_ERR_FORMAT,
                                "the vocabulary has no token for the byte 0x%02X", byte);
    }
    return DG_OK;
}

static enum dg_err make_vocab(struct dg_subword *subword, size_t size)
{
    subword->size = (uint32_t)size;
    subword->pieces = dg_try_calloc(size, sizeof *subword->pieces);
    subword->kinds = dg_try_calloc(size, sizeof *subword->kinds);
    if (!subword->pieces || !subword->kinds)
        return DG_ERR_NOMEM;
    dg_map_init(&subword->ids, size);
    return dg_map_reserve(&subword->ids, size);
}

static enum dg_err read_vocab(struct dg_subword *subword, const struct dg_json *vocab,
                              const struct dg_json *added, struct dg_error *error)
{
    size_t size = 0;
    struct dg_json_iter iter = dg_json_iter(vocab);
    const struct dg_json *value;
    struct dg_span key;
    enum dg_err err = find_size(vocab, added, error, &size);
    if (!err)
        err = make_vocab(subword, size);
    while (!err && dg_json_next(&iter, &key, &value)) {
        int64_t id = 0;
        err = dg_json_int(value, key, 0, (int64_t)size - 1, error, &id);
        if (!err)
            err = put_piece(subword, key, id, error);
    }
    return err ? err : find_bytes(subword, error);
}

/* ---- Merges ---------------------------------------------------------------------------------- */

static enum dg_err make_merges(struct dg_subword *subword, size_t n)
{
    for (subword->n_places = 16; subword->n_places < 2 * n;)
        subword->n_places *= 2;
    subword->merges = dg_try_calloc(subword->n_places, sizeof *subword->merges);
    for (size_t i = 0; subword->merges && i < subword->n_places; i++)
        subword->merges[i].pair = UINT64_MAX;
    return subword->merges ? DG_OK : DG_ERR_NOMEM;
}

/* Of two equal merges the later one counts, as in other implementations. */
static enum dg_err put_merge(struct dg_subword *subword, struct dg_span left, struct dg_span right,
                             size_t rank, struct dg_error *error)
{
    char whole[2 * DG_SUBWORD_PIECE_MAX];
    const int32_t l = dg_subword_find(subword, left), r = dg_subword_find(subword, right);
    if (l < 0 || r < 0)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "merge %zu: '%.*s' is not a token of the vocabulary", rank,
                            DG_SPAN_FMT(dg_utf8_clip(l < 0 ? left : right, 80)));
    memcpy(whole, left.ptr, left.len);
    memcpy(whole + left.len, right.ptr, right.len);
    const int32_t id = dg_subword_find(subword, dg_span_make(whole, left.len + right.len));
    if (id < 0)
        return dg_error_set(
            error, DG_ERR_FORMAT,
            "merge %zu: what it makes, '%.*s', is not a token of the vocabulary", rank,
            DG_SPAN_FMT(dg_utf8_clip(dg_span_make(whole, left.len + right.len), 80)));
    const struct dg_subword_merge made = {(uint64_t)(uint32_t)l << 32 | (uint32_t)r, (uint32_t)rank,
                                          (uint32_t)id};
    uint64_t hash = made.pair * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
    size_t at = hash & (subword->n_places - 1);
    while (subword->merges[at].pair != UINT64_MAX && subword->merges[at].pair != made.pair)
        at = (at + 1) & (subword->n_places - 1);
    subword->merges[at] = made;
    return DG_OK;
}

/* "left right", with one space. */
static enum dg_err put_merge_line(struct dg_subword *subword, struct dg_span line, size_t rank,
                                  struct dg_error *error)
{
    const char *space = line.len ? memchr(line.ptr, ' ', line.len) : NULL;
    const size_t at = space ? (size_t)(space - line.ptr) : line.len;
    if (!space || memchr(space + 1, ' ', line.len - at - 1))
        return dg_error_set(error, DG_ERR_FORMAT,
                            "merge %zu is '%.*s', expected two tokens with a space between", rank,
                            DG_SPAN_FMT(dg_utf8_clip(line, 80)));
    return put_merge(subword, dg_span_sub(line, 0, at), dg_span_sub(line, at + 1, line.len), rank,
                     error);
}

static enum dg_err read_merges(struct dg_subword *subword, const struct dg_json *merges,
                               struct dg_error *error)
{
    const size_t n = dg_json_len(merges);
    enum dg_err err = make_merges(subword, n);
    for (size_t i = 0; i < n && !err; i++) {
        const struct dg_json *merge = dg_json_at(merges, i);
        struct dg_span left, right;
        if (dg_json_type(merge) != DG_JSON_ARRAY) {
            err = dg_json_at_string(merges, "merges", i, error, &left);
            if (!err)
                err = put_merge_line(subword, left, i, error);
            continue;
        }
        if (dg_json_len(merge) != 2)
            return dg_error_set(error, DG_ERR_FORMAT, "merge %zu has %zu tokens, expected 2", i,
                                dg_json_len(merge));
        err = dg_json_at_string(merge, "merges", 0, error, &left);
        if (!err)
            err = dg_json_at_string(merge, "merges", 1, error, &right);
        if (!err)
            err = put_merge(subword, left, right, i, error);
    }
    return err;
}

static enum dg_err read_merges_text(struct dg_subword *subword, struct dg_span text,
                                    struct dg_error *error)
{
    size_t n = 0, rank = 0;
    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == '\n';
    if (n >= MERGES_MAX)
        return dg_error_set(error, DG_ERR_LIMIT,
                            "there are %zu lines of merges, expected less than %d", n, MERGES_MAX);
    enum dg_err err = make_merges(subword, n + 1);
    for (size_t at = 0, end; at < text.len && !err; at = end + 1) {
        const char *line_end = memchr(text.ptr + at, '\n', text.len - at);
        end = line_end ? (size_t)(line_end - text.ptr) : text.len;
        struct dg_span line = dg_span_sub(text, at, end - at);
        if (line.len && line.ptr[line.len - 1] == '\r')
            line.len--;
        if (line.len && !(at == 0 && dg_span_starts(line, DG_SPAN("#version"))))
            err = put_merge_line(subword, line, rank++, error);
    }
    return err;
}

/* ---- Model ----------------------------------------------------------------------------------- */

static enum dg_err refuse_unless_empty(const struct dg_json *model, const char *name,
                                       struct dg_error *error)
{
    struct dg_span text;
    enum dg_err err = dg_subword_text_of(model, name, error, &text);
    if (!err && text.len)
        err = dg_error_set(error, DG_ERR_UNSUPPORTED, "field '%s' is '%.*s', expected none", name,
                           DG_SPAN_FMT(dg_utf8_clip(text, 80)));
    return err;
}

static enum dg_err read_habits(struct dg_subword *subword, const struct dg_json *model,
                               struct dg_error *error)
{
    double dropout = 0;
    enum dg_err err = refuse_unless_empty(model, "continuing_subword_prefix", error);
    if (!err)
        err = refuse_unless_empty(model, "end_of_word_suffix", error);
    if (!err)
        err = dg_json_get_bool(model, "byte_fallback", DG_JSON_OPTIONAL, error,
                               &subword->falls_apart);
    if (!err)
        err = dg_json_get_bool(model, "fuse_unk", DG_JSON_OPTIONAL, error, &subword->fuses_unk);
    if (!err)
        err = dg_json_get_bool(model, "ignore_merges", DG_JSON_OPTIONAL, error,
                               &subword->takes_whole);
    if (!err)
        err = dg_json_get_real(model, "dropout", DG_JSON_OPTIONAL, 0, 0, error, &dropout);
    return err;
}

static enum dg_err find_unk(struct dg_subword *subword, const struct dg_json *model,
                            struct dg_error *error)
{
    struct dg_span unk;
    enum dg_err err = dg_subword_text_of(model, "unk_token", error, &unk);
    if (err || !unk.len)
        return err;
    subword->unk = dg_subword_find(subword, unk);
    return subword->unk >= 0 ? DG_OK
                             : dg_error_set(error, DG_ERR_FORMAT,
                                            "the unknown token '%.*s' is not in the vocabulary",
                                            DG_SPAN_FMT(dg_utf8_clip(unk, 80)));
}

static enum dg_err read_bpe(struct dg_subword *subword, const struct dg_json *model,
                            const struct dg_json *added, struct dg_error *error)
{
    const struct dg_json *vocab = NULL, *merges = NULL;
    enum dg_err err = read_habits(subword, model, error);
    if (!err)
        err = dg_json_get_object(model, "vocab", DG_JSON_REQUIRED, error, &vocab);
    if (!err)
        err = dg_json_get_array(model, "merges", DG_JSON_REQUIRED, error, &merges);
    if (!err)
        err = read_vocab(subword, vocab, added, error);
    if (!err)
        err = read_merges(subword, merges, error);
    return err ? err : find_unk(subword, model, error);
}

/* Makes the list in which words are looked up: the tokens of the vocabulary without the added ones.
 */
static enum dg_err make_list(struct dg_subword *subword, struct dg_error *error)
{
    uint32_t *order = dg_try_calloc(subword->size, sizeof *order);
    size_t n = 0;
    for (uint32_t id = 0; order && id < subword->size; id++)
        if (subword->kinds[id] != DG_SUBWORD_NOBODY)
            order[n++] = id;
    enum dg_err err =
        order ? dg_prefixes_init(&subword->list, subword->pieces, order, n) : DG_ERR_NOMEM;
    if (err)
        return err;
    subword->inner = dg_prefixes_start(&subword->list);
    for (size_t i = 0; i < subword->prefix.len; i++)
        if (!dg_prefixes_step(&subword->list, &subword->inner, (uint8_t)subword->prefix.ptr[i]))
            break; /* no piece continues a word, so the walk always ends here */
    if (subword->unk < 0)
        return dg_error_set(error, DG_ERR_NOT_FOUND,
                            "field 'unk_token' is missing: it stands for unknown words");
    return DG_OK;
}

static enum dg_err read_wordpiece(struct dg_subword *subword, const struct dg_json *model,
                                  const struct dg_json *added, struct dg_error *error)
{
    const struct dg_json *vocab = NULL;
    int64_t word_max = WORD_MAX;
    subword->is_wordpiece = true;
    enum dg_err err = dg_json_get_object(model, "vocab", DG_JSON_REQUIRED, error, &vocab);
    if (!err)
        err = dg_json_get_int(model, "max_input_chars_per_word", DG_JSON_OPTIONAL, 1, 1000, error,
                              &word_max);
    subword->word_max = (size_t)word_max;
    subword->prefix = DG_SPAN("##");
    if (!err && dg_json_type(dg_json_get(model, "continuing_subword_prefix")) != DG_JSON_NULL)
        err = dg_subword_keep_short(subword, model, "continuing_subword_prefix", true, error,
                                    &subword->prefix);
    if (!err)
        err = read_vocab(subword, vocab, added, error);
    if (!err)
        err = find_unk(subword, model, error);
    return err ? err : make_list(subword, error);
}

/* ---- Unigrams -------------------------------------------------------------------------------- */

/* ["piece", -3.5] */
static enum dg_err read_scored(struct dg_subword *subword, const struct dg_json *item, size_t id,
                               struct dg_error *error)
{
    struct dg_span piece;
    if (dg_json_type(item) != DG_JSON_ARRAY || dg_json_len(item) != 2)
        return dg_error_set(
            error, DG_ERR_FORMAT, "field 'vocab[%zu]' is %s, expected a piece and its score", id,
            dg_json_type(item) == DG_JSON_ARRAY ? "an array of another length"
                                                : dg_json_type_name(dg_json_type(item)));
    enum dg_err err = dg_json_at_string(item, "vocab[...]", 0, error, &piece);
    if (!err)
        err = dg_json_real(dg_json_at(item, 1), DG_SPAN("vocab[...][1]"), -SCORE_MAX, SCORE_MAX,
                           error, &subword->scores[id]);
    return err ? err : put_piece(subword, piece, (int64_t)id, error);
}

static enum dg_err read_scores(struct dg_subword *subword, const struct dg_json *vocab,
                               const struct dg_json *added, struct dg_error *error)
{
    size_t n = 0, size = dg_json_len(vocab);
    double least = SCORE_MAX;
    enum dg_err err = count(size, added, error, &n);
    if (!err)
        err = grow_by_added(added, n, error, &size);
    if (!err)
        err = make_vocab(subword, size);
    if (err)
        return err;
    subword->n_scores = (uint32_t)dg_json_len(vocab);
    subword->scores = dg_try_calloc(subword->n_scores, sizeof *subword->scores);
    if (!subword->scores)
        return DG_ERR_NOMEM;
    for (uint32_t id = 0; id < subword->n_scores && !err; id++) {
        err = read_scored(subword, dg_json_at(vocab, id), id, error);
        least = subword->scores[id] < least ? subword->scores[id] : least;
    }
    subword->unk_score = least - UNK_PENALTY;
    return err;
}

/* dg_subword_read_model lists the pieces later, when it is known which of them are special. */
static enum dg_err read_unigram(struct dg_subword *subword, const struct dg_json *model,
                                const struct dg_json *added, struct dg_error *error)
{
    const struct dg_json *vocab = NULL;
    int64_t unk = 0;
    subword->is_unigram = true;
    enum dg_err err = dg_json_get_array(model, "vocab", DG_JSON_REQUIRED, error, &vocab);
    if (!err)
        err = dg_json_get_bool(model, "byte_fallback", DG_JSON_OPTIONAL, error,
                               &subword->falls_apart);
    if (!err)
        err = read_scores(subword, vocab, added, error);
    if (!err)
        err = dg_json_get_int(model, "unk_id", DG_JSON_REQUIRED, 0, (int64_t)subword->n_scores - 1,
                              error, &unk);
    subword->unk = (int32_t)unk;
    return err;
}

static enum dg_err list_pieces(struct dg_subword *subword)
{
    uint32_t *order = dg_try_calloc(subword->n_scores, sizeof *order);
    size_t n = 0;
    for (uint32_t id = 0; order && id < subword->n_scores; id++)
        if (dg_unigram_is_piece(subword, (int32_t)id))
            order[n++] = id;
    return order ? dg_prefixes_init(&subword->list, subword->pieces, order, n) : DG_ERR_NOMEM;
}

/* In files older than the field 'type', the other fields tell the kind. */
static enum dg_err read_kind(struct dg_subword *subword, const struct dg_json *model,
                             const struct dg_json *added, struct dg_error *error)
{
    struct dg_span type;
    enum dg_err err = dg_subword_text_of(model, "type", error, &type);
    if (err)
        return err;
    if (type.len == 0)
        type = dg_json_get(model, "merges")                                 ? DG_SPAN("BPE")
               : dg_json_type(dg_json_get(model, "vocab")) == DG_JSON_ARRAY ? DG_SPAN("Unigram")
                                                                            : DG_SPAN("WordPiece");
    if (dg_span_eq(type, DG_SPAN("BPE")))
        return read_bpe(subword, model, added, error);
    if (dg_span_eq(type, DG_SPAN("WordPiece")))
        return read_wordpiece(subword, model, added, error);
    if (dg_span_eq(type, DG_SPAN("Unigram")))
        return read_unigram(subword, model, added, error);
    return dg_subword_refuse(error, "a model of the type", type);
}

/* ---- Added tokens ---------------------------------------------------------------------------- */

static enum dg_err add_token(struct dg_subword *subword, struct dg_subword_added *added, int64_t id,
                             struct dg_error *error)
{
    enum dg_err err = DG_OK;
    if (added->text.len == 0 || added->text.len > DG_SUBWORD_PIECE_MAX)
        return dg_error_set(error, DG_ERR_RANGE,
                            "the added token with id %lld has %zu bytes, expected 1 to %d",
                            (long long)id, added->text.len, DG_SUBWORD_PIECE_MAX);
    if (subword->kinds[id] == DG_SUBWORD_NOBODY)
        err = put_piece(subword, added->text, id, error);
    else if (!dg_span_eq(subword->pieces[id], added->text))
        err = dg_error_set(error, DG_ERR_FORMAT,
                           "the added token '%.*s' has the id %lld of another token",
                           DG_SPAN_FMT(dg_utf8_clip(added->text, 80)), (long long)id);
    if (err)
        return err;
    subword->kinds[id] = added->is_special ? DG_SUBWORD_SPECIAL_KIND : DG_SUBWORD_ADDED;
    added->text = subword->pieces[id];
    added->id = (int32_t)id;
    subword->added[subword->n_added++] = *added;
    return DG_OK;
}

static enum dg_err read_added(struct dg_subword *subword, const struct dg_json *item,
                              struct dg_error *error)
{
    struct dg_subword_added added = {.id = -1};
    int64_t id = 0;
    enum dg_err err =
        dg_json_get_int(item, "id", DG_JSON_REQUIRED, 0, (int64_t)subword->size - 1, error, &id);
    if (!err)
        err = dg_json_get_string(item, "content", DG_JSON_REQUIRED, error, &added.text);
    if (!err)
        err = dg_json_get_bool(item, "special", DG_JSON_OPTIONAL, error, &added.is_special);
    added.is_normalized = !added.is_special;
    if (!err)
        err = dg_json_get_bool(item, "normalized", DG_JSON_OPTIONAL, error, &added.is_normalized);
    if (!err)
        err = dg_json_get_bool(item, "single_word", DG_JSON_OPTIONAL, error, &added.is_word);
    if (!err)
        err = dg_json_get_bool(item, "lstrip", DG_JSON_OPTIONAL, error, &added.takes_left);
    if (!err)
        err = dg_json_get_bool(item, "rstrip", DG_JSON_OPTIONAL, error, &added.takes_right);
    return err ? err : add_token(subword, &added, id, error);
}

static enum dg_err make_added(struct dg_subword *subword, size_t n, struct dg_error *error)
{
    if (n > DG_SUBWORD_ADDED_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "%zu added tokens, expected at most %d", n,
                            DG_SUBWORD_ADDED_MAX);
    subword->added = dg_try_calloc(n + 1, sizeof *subword->added);
    subword->added_texts = dg_try_calloc(n + 1, sizeof *subword->added_texts);
    return subword->added && subword->added_texts ? DG_OK : DG_ERR_NOMEM;
}

/* Added tokens that are searched for in normalised text are normalised themselves. */
static enum dg_err change_added(struct dg_subword *subword, struct dg_subword_work *work, size_t i,
                                struct dg_error *error)
{
    struct dg_subword_added *added = &subword->added[i];
    struct dg_span changed = added->text;
    enum dg_err err = DG_OK;
    if (added->is_normalized && subword->n_changes > 0)
        err = dg_subword_change_added(subword, work, added->text, &changed);
    if (!err && changed.len == 0)
        err = dg_error_set(error, DG_ERR_UNSUPPORTED,
                           "nothing is left of the added token '%.*s' once it is normalised",
                           DG_SPAN_FMT(dg_utf8_clip(added->text, 80)));
    if (err)
        return err;
    added->text = subword->added_texts[i] = changed;
    subword->begins_added[added->is_normalized][(uint8_t)changed.ptr[0]] = true;
    return DG_OK;
}

static enum dg_err list_added(struct dg_subword *subword, struct dg_error *error)
{
    struct dg_subword_work *work = dg_subword_work_new();
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < subword->n_added && !err; i++)
        err = change_added(subword, work, i, error);
    dg_subword_work_free(work);
    if (err)
        return err;
    uint32_t *order = dg_try_calloc(subword->n_added + 1, sizeof *order);
    for (uint32_t i = 0; order && i < subword->n_added; i++)
        order[i] = i;
    return order ? dg_prefixes_init(&subword->added_list, subword->added_texts, order,
                                    subword->n_added)
                 : DG_ERR_NOMEM;
}

enum dg_err dg_subword_read_model(struct dg_subword *subword, const struct dg_json *model,
                                  const struct dg_json *added, struct dg_error *error)
{
    enum dg_err err = read_kind(subword, model, added, error);
    if (!err)
        err = make_added(subword, dg_json_len(added), error);
    for (size_t i = 0; i < dg_json_len(added) && !err; i++)
        err = read_added(subword, dg_json_at(added, i), error);
    if (!err && subword->is_unigram)
        err = list_pieces(subword);
    return err ? err : list_added(subword, error);
}

/* ---- Files that are older than tokenizer.json ------------------------------------------------ */

/* Adds those special tokens that the vocabulary has. A mask takes the spaces before it, as in
 * RoBERTa. */
static enum dg_err add_signs(struct dg_subword *subword, const struct dg_span *signs, size_t n,
                             struct dg_error *error)
{
    enum dg_err err = make_added(subword, n, error);
    for (size_t i = 0; i < n && !err; i++) {
        struct dg_subword_added added = {.text = signs[i], .is_special = true};
        const int32_t id = dg_subword_find(subword, signs[i]);
        added.takes_left = !subword->is_wordpiece && dg_span_eq(signs[i], DG_SPAN("<mask>"));
        if (id >= 0 && subword->kinds[id] != DG_SUBWORD_SPECIAL_KIND)
            err = add_token(subword, &added, id, error);
    }
    return err ? err : list_added(subword, error);
}

enum dg_err dg_subword_read_pair(struct dg_subword *subword, const struct dg_json *vocab,
                                 struct dg_span merges, const struct dg_span *signs, size_t n,
                                 struct dg_error *error)
{
    enum dg_err err = read_vocab(subword, vocab, NULL, error);
    if (!err)
        err = read_merges_text(subword, merges, error);
    return err ? err : add_signs(subword, signs, n, error);
}

/* The next line without its end, from *at. */
static bool next_line(struct dg_span text, size_t *at, struct dg_span *line)
{
    if (*at >= text.len)
        return false;
    const char *end = memchr(text.ptr + *at, '\n', text.len - *at);
    *line = dg_span_sub(text, *at, end ? (size_t)(end - text.ptr) - *at : text.len);
    *at += line->len + 1;
    if (line->len && line->ptr[line->len - 1] == '\r')
        line->len--;
    return true;
}

/* Each line is a token, and its number, from 0, is the id. The id of an empty line is unused, and
 * of equal lines the last one has the token, as in other implementations. */
enum dg_err dg_subword_read_lines(struct dg_subword *subword, struct dg_span vocab,
                                  struct dg_span unk, const struct dg_span *signs, size_t n_signs,
                                  struct dg_error *error)
{
    struct dg_span line, kept = {0};
    size_t n = 0, bad_at;
    for (size_t at = 0; next_line(vocab, &at, &line);)
        n++;
    if (!dg_utf8_valid(vocab, &bad_at))
        return dg_error_set(error, DG_ERR_UTF8, "the vocabulary is not valid UTF-8 at byte %zu",
                            bad_at);
    if (n == 0 || n > DG_SUBWORD_TOKENS_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "the vocabulary has %zu lines, expected 1 to %d",
                            n, DG_SUBWORD_TOKENS_MAX);
    enum dg_err err = make_vocab(subword, n);
    int32_t id = 0;
    for (size_t at = 0; !err && next_line(vocab, &at, &line); id++) {
        if (line.len > DG_SUBWORD_PIECE_MAX)
            return dg_error_set(error, DG_ERR_RANGE, "line %d has %zu bytes, expected at most %d",
                                (int)id + 1, line.len, DG_SUBWORD_PIECE_MAX);
        const int32_t other = dg_subword_find(subword, line);
        if (other >= 0) {
            subword->kinds[other] = DG_SUBWORD_NOBODY;
            subword->pieces[other] = (struct dg_span){0};
        }
        if (line.len == 0)
            continue;
        err = dg_subword_keep(subword, line, &kept);
        if (!err)
            err = dg_map_put(&subword->ids, kept, (uint64_t)id);
        subword->pieces[id] = kept;
        subword->kinds[id] = DG_SUBWORD_TEXT;
    }
    subword->is_wordpiece = true;
    subword->prefix = subword->joint = DG_SPAN("##");
    subword->word_max = WORD_MAX;
    subword->unk = dg_subword_find(subword, unk);
    if (!err && subword->unk < 0)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "the unknown token '%.*s' is not in the vocabulary",
                            DG_SPAN_FMT(dg_utf8_clip(unk, 80)));
    if (!err)
        err = make_list(subword, error);
    return err ? err : add_signs(subword, signs, n_signs, error);
}
