/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The steps before and after the learning. Words are counted in the form in which the encoder will
 * see them (NFKC, U+2581 before each word), and cut at the places that no piece may cross. Then the
 * characters are chosen. After the learning, the result is written as a model file.
 *
 * Cuts are between letters, digits and other characters, and around every digit, so that numbers
 * are spelled; a U+2581 belongs to the text after it. */
#include "vocabulary/spm_train.h"
#include "base/memory/map.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "tokenize/spm/normalise.h"
#include "vocabulary/charsmap_build.h"
#include "vocabulary/word_counts.h"
#include "vocabulary/spm_train_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_MAX ((size_t)1 << 34)
enum {
    FIRST_PIECE = 2,
    BYTE_PIECES = 256,
    WORD_CHARS_MAX = 1000,
    WORD_BYTES_MAX = 255,
    CHARSMAP_MAX = 8 << 20
};
static const struct dg_span space = {"\xe2\x96\x81", 3};

struct dg_spm_train {
    struct dg_spm_train_opts opts;
    struct dg_buf charsmap;
    struct dg_normaliser normaliser; /* with that map */
    struct dg_normal_text normal;    /* of the current line */
    struct dg_arena arena;
    struct dg_map words; /* from each stretch to its count, a uint64_t in the arena */
};

enum dg_err dg_spm_train_new(struct dg_spm_train **train, const struct dg_spm_train_opts *opts,
                             struct dg_error *error)
{
    if (opts->kind == DG_SPM_CHAR)
        return dg_error_set(
            error, DG_ERR_UNSUPPORTED,
            "vocabularies of the kind %s cannot be learned, expected bpe, unigram or word",
            dg_spm_kind_name(opts->kind));
    if (opts->size < 16 || opts->size > DG_SPM_TRAIN_SIZE_MAX ||
        !(opts->coverage > 0.5 && opts->coverage <= 1.0))
        return dg_error_set(error, DG_ERR_RANGE,
                            "a vocabulary of %u pieces covering %g of the characters, expected 16 "
                            "to %d and more than 0.5 to 1",
                            opts->size, opts->coverage, (int)DG_SPM_TRAIN_SIZE_MAX);
    struct dg_spm_train *made = dg_try_calloc(1, sizeof *made);
    if (!made)
        return DG_ERR_NOMEM;
    made->opts = *opts;
    made->normaliser = (struct dg_normaliser){
        .add_dummy_prefix = true, .remove_extra_whitespaces = true, .escape_whitespaces = true};
    dg_arena_init(&made->arena, ARENA_MAX);
    dg_map_init(&made->words, (size_t)1 << 31);
    dg_buf_init(&made->charsmap, CHARSMAP_MAX);
    enum dg_err err = opts->ascii ? dg_charsmap_build_ascii(&made->charsmap, error)
                                  : dg_charsmap_build_nfkc(&made->charsmap, error);
    if (!err)
        err = dg_charsmap_init(&made->normaliser.map, (const uint8_t *)made->charsmap.ptr,
                               made->charsmap.len, error);
    if (err) {
        dg_spm_train_free(made);
        return err;
    }
    dg_normaliser_prepare(&made->normaliser);
    *train = made;
    return DG_OK;
}

void dg_spm_train_free(struct dg_spm_train *train)
{
    if (!train)
        return;
    dg_normal_text_deinit(&train->normal);
    dg_map_deinit(&train->words);
    dg_arena_deinit(&train->arena);
    dg_buf_deinit(&train->charsmap);
    dg_free(train);
}

/* ---- Counting -------------------------------------------------------------------------------- */

enum class { LETTER, DIGIT, SIGN };

static enum class class_of(uint32_t cp) {
    if (cp - '0' < 10) return DIGIT;
    if ((cp | 32) - 'a' < 26 ||
        (cp >= 0xc0 && cp != 0xd7 && cp != 0xf7 && !(cp >= 0x2000 && cp < 0x2c00) &&
         !(cp >= 0x3000 && cp < 0x3040) && !(cp >= 0xff00 && cp < 0xff21))) return LETTER;
    return SIGN;
}

enum dg_err dg_spm_train_add(struct dg_spm_train *train, struct dg_span line)
{
    size_t bad_at;
    if (!dg_utf8_valid(line, &bad_at))
        return DG_ERR_UTF8;
    train->normal.len = 0;
    enum dg_err err = dg_normalise(&train->normaliser, line, &train->normal);
    if (err)
        return err;
    const struct dg_span text = dg_span_make((const char *)train->normal.bytes, train->normal.len);
    size_t from = 0, n_chars = 0;
    bool after_space = false;
    /* or unigram: pieces are within words, cut at digits and signs */
    const bool is_bpe = train->opts.kind != DG_SPM_WORD;
    enum class last = SIGN;
    uint32_t cp;
    for (size_t at = 0, len; !err && (len = dg_utf8_decode(text, at, &cp)) > 0;
         at += len, n_chars++) {
        const bool is_space = cp == 0x2581;
        const enum class now = class_of(cp);
        const bool cuts = is_space || (is_bpe && (n_chars >= WORD_CHARS_MAX ||
                                                  (!after_space && (now != last || now == DIGIT))));
        if (cuts && at > from) {
            err =
                dg_word_count_add(&train->arena, &train->words, dg_span_sub(text, from, at - from));
            from = at;
            n_chars = 0;
        }
        after_space = is_space;
        last = now;
    }
    return err ? err
               : dg_word_count_add(&train->arena, &train->words, dg_span_sub(text, from, text.len));
}

/* ---- Characters ------------------------------------------------------------------------------ */

static enum dg_err count_chars(const struct dg_word_count *words, size_t n, struct dg_map *chars,
                               uint64_t *total)
{
    enum dg_err err = DG_OK;
    uint32_t cp;
    for (size_t i = 0; i < n && !err; i++)
        for (size_t at = 0, len; !err && (len = dg_utf8_decode(words[i].text, at, &cp)) > 0;
             at += len) {
            const struct dg_span one = dg_span_sub(words[i].text, at, len);
            uint64_t before = 0;
            dg_map_get(chars, one, &before);
            err = dg_map_put(chars, one, before + words[i].count);
            *total += words[i].count;
        }
    return err;
}

/* Chooses the characters that get a piece, most frequent first; U+2581 and the text's ASCII
 * characters always do. */
static enum dg_err choose_chars(const struct dg_spm_train *train, const struct dg_word_count *words,
                                size_t n, struct train_pieces *pieces, struct dg_map *numbers)
{
    struct dg_map chars;
    struct dg_word_count *list = NULL;
    uint64_t total = 0, covered = 0;
    dg_map_init(&chars, 0x110000);
    enum dg_err err = count_chars(words, n, &chars, &total);
    if (!err && !dg_map_get(&chars, space, NULL))
        err = dg_map_put(&chars, space, 1);
    if (!err)
        err = dg_word_count_list(&chars, false, dg_word_count_by_count, &list);
    for (size_t i = 0; !err && i < chars.len; i++) {
        const bool is_needed = list[i].text.len == 1 || dg_span_eq(list[i].text, space);
        if (!is_needed && (double)covered >= train->opts.coverage * (double)total)
            continue;
        covered += list[i].count;
        if (pieces->n == pieces->cap) {
            err = DG_ERR_RANGE;
            break;
        }
        err = dg_map_put(numbers, list[i].text, pieces->n);
        pieces->list[pieces->n++] = (struct train_piece){.text = list[i].text, .n_chars = 1};
    }
    dg_free(list);
    dg_map_deinit(&chars);
    return err;
}

/* Spells words as numbers of characters; a character without a piece ends a stretch. */
static enum dg_err spell(const struct dg_word_count *words, size_t n, const struct dg_map *numbers,
                         struct train_words *out)
{
    size_t bytes = 0, cap = n;
    uint32_t cp;
    for (size_t i = 0; i < n; i++)
        bytes += words[i].text.len;
    cap += bytes / 2;
    out->symbols = dg_try_calloc(bytes ? bytes : 1, sizeof *out->symbols);
    out->list = dg_try_calloc(cap ? cap : 1, sizeof *out->list);
    if (!out->symbols || !out->list || bytes > UINT32_MAX)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        struct train_word word = {.first = (uint32_t)out->n_symbols, .count = words[i].count};
        for (size_t at = 0, len; (len = dg_utf8_decode(words[i].text, at, &cp)) > 0; at += len) {
            uint64_t number;
            if (dg_map_get(numbers, dg_span_sub(words[i].text, at, len), &number)) {
                out->symbols[out->n_symbols++] = (uint32_t)number;
                word.n++;
            } else {
                if (word.n > 1)
                    out->list[out->n++] = word;
                word =
                    (struct train_word){.first = (uint32_t)out->n_symbols, .count = words[i].count};
            }
        }
        if (word.n > 1)
            out->list[out->n++] = word;
    }
    return DG_OK;
}

/* ---- The file: Protocol Buffers' wire format ------------------------------------------------- */

static enum dg_err put_varint(struct dg_buf *out, uint64_t value)
{
    enum dg_err err = DG_OK;
    for (; value >= 0x80 && !err; value >>= 7)
        err = dg_buf_append_byte(out, (char)(value | 0x80));
    return err ? err : dg_buf_append_byte(out, (char)value);
}

static enum dg_err put_number(struct dg_buf *out, uint32_t field, int64_t value)
{
    enum dg_err err = put_varint(out, field << 3);
    return err ? err : put_varint(out, (uint64_t)value);
}

static enum dg_err put_bytes(struct dg_buf *out, uint32_t field, struct dg_span bytes)
{
    enum dg_err err = put_varint(out, field << 3 | 2);
    if (!err)
        err = put_varint(out, bytes.len);
    return err ? err : dg_buf_append_span(out, bytes);
}

static enum dg_err put_piece(struct dg_buf *out, struct dg_span text, float score,
                             enum dg_piece_type type)
{
    struct dg_buf piece;
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    const char little[4] = {(char)bits, (char)(bits >> 8), (char)(bits >> 16), (char)(bits >> 24)};
    dg_buf_init(&piece, 4096);
    enum dg_err err = put_bytes(&piece, 1, text);
    if (!err)
        err = put_varint(&piece, 2 << 3 | 5);
    if (!err)
        err = dg_buf_append(&piece, little, sizeof little);
    if (!err && type != DG_PIECE_NORMAL)
        err = put_number(&piece, 3, type);
    if (!err)
        err = put_bytes(out, 1, dg_buf_span(&piece));
    dg_buf_deinit(&piece);
    return err;
}

/* trainer_spec: the fields that decoding reads and those that SentencePiece's own tools require. */
static enum dg_err put_trainer(struct dg_buf *out, const struct dg_spm_train_opts *opts,
                               size_t size)
{
    struct dg_buf spec;
    dg_buf_init(&spec, 4096);
    enum dg_err err = put_number(&spec, 3, opts->kind);
    if (!err)
        err = put_number(&spec, 4, (int64_t)size);
    if (!err && opts->byte_fallback)
        err = put_number(&spec, 35, 1);
    if (!err)
        err = put_number(&spec, 40, 1); /* unk_id */
    if (!err)
        err = put_number(&spec, 41, -1); /* bos_id */
    if (!err)
        err = put_number(&spec, 42, 0); /* eos_id */
    if (!err)
        err = put_number(&spec, 43, -1); /* pad_id */
    if (!err)
        err = put_bytes(out, 2, dg_buf_span(&spec));
    dg_buf_deinit(&spec);
    return err;
}

static enum dg_err put_normaliser(struct dg_buf *out, struct dg_span charsmap)
{
    struct dg_buf spec;
    dg_buf_init(&spec, CHARSMAP_MAX + 4096);
    enum dg_err err = put_bytes(&spec, 1, DG_SPAN("user_defined"));
    if (!err)
        err = put_bytes(&spec, 2, charsmap);
    for (uint32_t field = 3; field <= 5 && !err; field++)
        err = put_number(&spec, field, 1);
    if (!err)
        err = put_bytes(out, 3, dg_buf_span(&spec));
    dg_buf_deinit(&spec);
    return err;
}

static enum dg_err put_model(struct dg_buf *out, const struct dg_spm_train_opts *opts,
                             const struct train_pieces *pieces, size_t n_chars,
                             struct dg_span charsmap)
{
    enum dg_err err = put_piece(out, DG_SPAN("</s>"), 0.0f, DG_PIECE_CONTROL);
    if (!err)
        err = put_piece(out, DG_SPAN("<unk>"), 0.0f, DG_PIECE_UNKNOWN);
    for (unsigned i = 0; i < BYTE_PIECES && opts->byte_fallback && !err; i++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", i);
        err = put_piece(out, dg_span_cstr(name), 0.0f, DG_PIECE_BYTE);
    }
    size_t rank = 0;
    for (size_t i = 0; opts->kind == DG_SPM_UNIGRAM && i < pieces->n && !err; i++)
        err = put_piece(out, pieces->list[i].text, pieces->list[i].score, DG_PIECE_NORMAL);
    for (size_t i = opts->kind == DG_SPM_UNIGRAM ? pieces->n : n_chars; i < pieces->n && !err;
         i++, rank++)
        err = put_piece(out, pieces->list[i].text, -(float)rank, DG_PIECE_NORMAL);
    for (size_t i = 0; opts->kind != DG_SPM_UNIGRAM && i < n_chars && !err; i++, rank++)
        err = put_piece(out, pieces->list[i].text, -(float)rank, DG_PIECE_NORMAL);
    const size_t size = FIRST_PIECE + (opts->byte_fallback ? BYTE_PIECES : 0) + pieces->n;
    if (!err)
        err = put_trainer(out, opts, size);
    return err ? err : put_normaliser(out, charsmap);
}

/* Makes a word vocabulary: the most frequent words, the most frequent first. Words longer than the
 * longest permitted piece are left out. */
static enum dg_err finish_words(struct dg_spm_train *train, struct dg_buf *model)
{
    struct dg_word_count *list = NULL;
    struct train_pieces pieces = {.cap = train->opts.size - FIRST_PIECE};
    enum dg_err err = dg_word_count_list(&train->words, true, dg_word_count_by_count, &list);
    if (!err && !(pieces.list = dg_try_calloc(pieces.cap, sizeof *pieces.list)))
        err = DG_ERR_NOMEM;
    for (size_t i = 0; !err && i < train->words.len && pieces.n < pieces.cap; i++)
        if (list[i].text.len <= WORD_BYTES_MAX)
            pieces.list[pieces.n++] = (struct train_piece){.text = list[i].text};
    if (!err)
        err = put_model(model, &train->opts, &pieces, 0, dg_buf_span(&train->charsmap));
    dg_free(list);
    dg_free(pieces.list);
    return err;
}

/* For sorting: the most probable first, as in SentencePiece's models. */
static int by_score(const void *a, const void *b)
{
    const struct train_piece *x = a, *y = b;
    if (x->score > y->score || x->score < y->score)
        return x->score < y->score ? 1 : -1;
    return dg_word_count_by_bytes(&(struct dg_word_count){x->text, 0},
                                  &(struct dg_word_count){y->text, 0});
}

enum dg_err dg_spm_train_finish(struct dg_spm_train *train, struct dg_buf *model,
                                struct dg_error *error)
{
    const size_t reserved = FIRST_PIECE + (train->opts.byte_fallback ? BYTE_PIECES : 0);
    struct train_words words = {0};
    struct train_pieces pieces = {.cap = train->opts.size > reserved ? train->opts.size - reserved
                                                                     : 0};
    struct dg_word_count *list = NULL;
    struct dg_map numbers;
    size_t n_chars = 0;
    if (train->opts.kind == DG_SPM_WORD)
        return finish_words(train, model);
    dg_map_init(&numbers, 0x110000);
    pieces.list = dg_try_calloc(pieces.cap + 1, sizeof *pieces.list);
    enum dg_err err = pieces.list
                          ? dg_word_count_list(&train->words, true, dg_word_count_by_bytes, &list)
                          : DG_ERR_NOMEM;
    if (!err)
        err = choose_chars(train, list, train->words.len, &pieces, &numbers);
    n_chars = pieces.n;
    if (!err)
        err = spell(list, train->words.len, &numbers, &words);
    if (!err)
        err = train->opts.kind == DG_SPM_UNIGRAM
                  ? dg_spm_train_unigram(&words, &pieces, pieces.cap - n_chars,
                                         train->opts.piece_max, &train->arena)
                  : dg_spm_train_bpe(&words, &pieces, pieces.cap - n_chars, train->opts.piece_max,
                                     &train->arena);
    if (!err && train->opts.kind == DG_SPM_UNIGRAM)
        qsort(pieces.list, pieces.n, sizeof *pieces.list, by_score);
    if (!err && pieces.n < pieces.cap)
        err = dg_error_set(error, DG_ERR_RANGE,
                           "the text is enough for %zu pieces, not for %u; ask for fewer",
                           pieces.n + reserved, train->opts.size);
    else if (err == DG_ERR_RANGE)
        err = dg_error_set(
            error, err,
            "the text has more characters than the vocabulary of %u pieces has room for; "
            "ask for more pieces or a smaller coverage",
            train->opts.size);
    if (!err)
        err = put_model(model, &train->opts, &pieces, n_chars, dg_buf_span(&train->charsmap));
    dg_free(list);
    dg_free(words.list);
    dg_free(words.symbols);
    dg_free(pieces.list);
    dg_map_deinit(&numbers);
    return err;
}
