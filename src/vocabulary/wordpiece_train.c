/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Texts are cleaned and cut by the same kind of tokenizer that will use the vocabulary, but with
 * only the special tokens in it, and the resulting words are counted. A character at the beginning
 * of a word is a different symbol from the same character inside a word: its piece begins with a
 * byte that no cleaned text has. So a merged piece shows by itself whether it begins a word. */
#include "vocabulary/wordpiece_train.h"
#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "tokenize/hf/subword_int.h"
#include "vocabulary/word_counts.h"
#include "vocabulary/spm_train_int.h"

#include <string.h>

enum { WORDS_MAX = 1 << 26, WORD_CHARS_MAX = 100, N_SIGNS = 5, START = '\x01' };
#define ARENA_MAX ((size_t)8 << 30)

static const char signs[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";

struct dg_wordpiece_train {
    struct dg_wordpiece_train_opts opts;
    struct dg_subword *subword;
    struct dg_subword_work *work;
    struct dg_arena arena; /* words and pieces */
    struct dg_map words;   /* from each word to the place of its count */
};

enum dg_err dg_wordpiece_train_config(const struct dg_wordpiece_train_opts *opts,
                                      struct dg_buf *config)
{
    return dg_buf_printf(
        config,
        "{\n  \"tokenizer_class\": \"BertTokenizer\",\n  \"do_lower_case\": %s,\n  \"pad_token\": "
        "\"[PAD]\",\n"
        "  \"unk_token\": \"[UNK]\",\n  \"cls_token\": \"[CLS]\",\n  \"sep_token\": \"[SEP]\",\n"
        "  \"mask_token\": \"[MASK]\"\n}\n",
        opts->lowers ? "true" : "false");
}

enum dg_err dg_wordpiece_train_new(struct dg_wordpiece_train **train,
                                   const struct dg_wordpiece_train_opts *opts,
                                   struct dg_error *error)
{
    struct dg_wordpiece_train *made = dg_try_calloc(1, sizeof *made);
    struct dg_buf config;
    if (!made)
        return DG_ERR_NOMEM;
    made->opts = *opts;
    dg_arena_init(&made->arena, ARENA_MAX);
    dg_map_init(&made->words, WORDS_MAX);
    made->work = dg_subword_work_new();
    dg_buf_init(&config, 4096);
    enum dg_err err = dg_wordpiece_train_config(opts, &config);
    const struct dg_subword_files files = {.lines = {signs, sizeof signs - 1},
                                           .config = dg_buf_span(&config),
                                           .json = {"", 0},
                                           .merges = {"", 0}};
    if (!err)
        err = dg_subword_parse(&made->subword, &files, error);
    dg_buf_deinit(&config);
    if (err)
        dg_wordpiece_train_free(made);
    else
        *train = made;
    return err;
}

void dg_wordpiece_train_free(struct dg_wordpiece_train *train)
{
    if (!train)
        return;
    dg_map_deinit(&train->words);
    dg_arena_deinit(&train->arena);
    dg_subword_work_free(train->work);
    dg_subword_close(train->subword);
    dg_free(train);
}

/* ---- Words ----------------------------------------------------------------------------------- */

enum dg_err dg_wordpiece_train_add(struct dg_wordpiece_train *train, struct dg_span text,
                                   struct dg_error *error)
{
    size_t bad_at;
    if (!dg_utf8_valid(text, &bad_at))
        return dg_error_set(error, DG_ERR_UTF8, "the text is not valid UTF-8 at byte %zu", bad_at);
    if (text.len > DG_SUBWORD_TEXT_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "a text of %zu bytes, expected at most %d",
                            text.len, DG_SUBWORD_TEXT_MAX);
    enum dg_err err = dg_subword_change_all(train->subword, train->work, text, 0, text.len);
    for (size_t at = 0; at < train->work->now.text.len && !err;) {
        const struct dg_span all = dg_buf_span(&train->work->now.text);
        bool is_dropped = false;
        const struct dg_span rest = dg_span_sub(all, at, all.len - at);
        const size_t len = dg_subword_cut(&train->subword->cuts[0], rest, 0, &is_dropped);
        const struct dg_span word = dg_span_sub(rest, 0, len);
        if (!is_dropped && dg_utf8_count(word) <= WORD_CHARS_MAX)
            err = dg_word_count_add(&train->arena, &train->words, word);
        at += len;
    }
    return err;
}

/* ---- Characters ------------------------------------------------------------------------------ */

/* The data to learn from: words as symbols. The first symbols are the characters, with two symbols
 * for each: 2 c begins a word, 2 c + 1 is inside a word. */
struct material {
    struct dg_word_count *words; /* [n] in the order of their bytes */
    struct dg_map numbers;       /* of characters */
    struct train_words symbols;
    struct train_pieces pieces;
};

static enum dg_err add_char(struct dg_wordpiece_train *train, struct material *m,
                            struct dg_span text)
{
    char room[8] = {START};
    if (text.len > sizeof room - 1)
        return DG_ERR_INVALID;
    memcpy(room + 1, text.ptr, text.len);
    const struct dg_span begins = dg_arena_copy(&train->arena, dg_span_make(room, text.len + 1));
    const struct dg_span inside = dg_arena_copy(&train->arena, text);
    if (!begins.ptr || !inside.ptr)
        return DG_ERR_NOMEM;
    const enum dg_err err = dg_map_put(&m->numbers, inside, m->pieces.n / 2);
    m->pieces.list[m->pieces.n++] = (struct train_piece){.text = begins, .n_chars = 1};
    m->pieces.list[m->pieces.n++] = (struct train_piece){.text = inside, .n_chars = 1};
    return err;
}

/* Chooses the characters that get pieces, the most frequent first. */
static enum dg_err choose_chars(struct dg_wordpiece_train *train, struct material *m,
                                size_t n_words)
{
    struct dg_map chars;
    struct dg_word_count *list = NULL;
    uint64_t total = 0, covered = 0;
    uint32_t cp;
    dg_map_init(&chars, 0x110000);
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < n_words && !err; i++)
        for (size_t at = 0, len; !err && (len = dg_utf8_decode(m->words[i].text, at, &cp)) > 0;
             at += len) {
            const struct dg_span one = dg_span_sub(m->words[i].text, at, len);
            uint64_t before = 0;
            dg_map_get(&chars, one, &before);
            err = dg_map_put(&chars, one, before + m->words[i].count);
            total += m->words[i].count;
        }
    if (!err)
        err = dg_word_count_list(&chars, false, dg_word_count_by_count, &list);
    m->pieces.cap = 2 * chars.len + train->opts.size;
    if (!err && !(m->pieces.list = dg_try_calloc(m->pieces.cap, sizeof *m->pieces.list)))
        err = DG_ERR_NOMEM;
    for (size_t i = 0; i < chars.len && !err; i++) {
        if (list[i].text.len > 1 && (double)covered >= train->opts.coverage * (double)total)
            continue;
        covered += list[i].count;
        err = add_char(train, m, list[i].text);
    }
    dg_free(list);
    dg_map_deinit(&chars);
    return err;
}

/* Words with a character that has no piece are left out. */
static enum dg_err spell(struct material *m, size_t n_words)
{
    size_t bytes = 0;
    uint32_t cp;
    for (size_t i = 0; i < n_words; i++)
        bytes += m->words[i].text.len;
    m->symbols.symbols = dg_try_calloc(bytes + 1, sizeof *m->symbols.symbols);
    m->symbols.list = dg_try_calloc(n_words + 1, sizeof *m->symbols.list);
    if (!m->symbols.symbols || !m->symbols.list || bytes > UINT32_MAX)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < n_words; i++) {
        struct train_word word = {.first = (uint32_t)m->symbols.n_symbols,
                                  .count = m->words[i].count};
        const struct dg_span text = m->words[i].text;
        uint64_t number;
        size_t at = 0, len;
        for (; (len = dg_utf8_decode(text, at, &cp)) > 0 &&
               dg_map_get(&m->numbers, dg_span_sub(text, at, len), &number);
             at += len)
            m->symbols.symbols[word.first + word.n++] = (uint32_t)(2 * number + (at > 0));
        if (at < text.len || word.n < 2)
            continue;
        m->symbols.n_symbols += word.n;
        m->symbols.list[m->symbols.n++] = word;
    }
    return DG_OK;
}

/* ---- The vocabulary -------------------------------------------------------------------------- */

static enum dg_err put_all(const struct train_pieces *pieces, struct dg_buf *vocab)
{
    enum dg_err err = dg_buf_append_cstr(vocab, signs);
    for (size_t i = 0; i < pieces->n && !err; i++) {
        const struct dg_span text = pieces->list[i].text;
        const bool begins = text.ptr[0] == START;
        err = begins ? DG_OK : dg_buf_append_cstr(vocab, "##");
        if (!err)
            err = dg_buf_append_span(vocab, dg_span_sub(text, begins, text.len));
        if (!err)
            err = dg_buf_append_byte(vocab, '\n');
    }
    return err;
}

enum dg_err dg_wordpiece_train_finish(struct dg_wordpiece_train *train, struct dg_buf *vocab,
                                      struct dg_error *error)
{
    struct material m = {.words = NULL};
    const size_t n_words = train->words.len;
    if (n_words == 0)
        return dg_error_set(error, DG_ERR_INVALID, "there is no word to learn a vocabulary from");
    dg_map_init(&m.numbers, 0x110000);
    enum dg_err err = dg_word_count_list(&train->words, true, dg_word_count_by_bytes, &m.words);
    if (!err)
        err = choose_chars(train, &m, n_words);
    if (!err)
        err = spell(&m, n_words);
    const size_t n_now = m.pieces.n + N_SIGNS;
    if (!err && train->opts.size > n_now)
        err = dg_spm_train_bpe(&m.symbols, &m.pieces, train->opts.size - n_now,
                               train->opts.piece_max, &train->arena);
    if (!err)
        err = put_all(&m.pieces, vocab);
    dg_free(m.words);
    dg_free(m.symbols.symbols);
    dg_free(m.symbols.list);
    dg_free(m.pieces.list);
    dg_map_deinit(&m.numbers);
    return err == DG_ERR_NOMEM
               ? dg_error_set(error, err, "no memory for a vocabulary of %zu words", n_words)
               : err;
}
