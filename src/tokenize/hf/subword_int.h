/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A tokenizer's internals, for the files subword*.c only. */
#ifndef DG_TOKENIZE_HF_SUBWORD_INT_H
#define DG_TOKENIZE_HF_SUBWORD_INT_H

#include "base/json/json.h"
#include "base/memory/arena.h"
#include "base/memory/map.h"
#include "tokenize/hf/subword.h"
#include "tokenize/spm/charsmap.h"
#include "tokenize/spm/prefixes.h"

enum {
    DG_SUBWORD_PIECE_MAX = 1024,     /* bytes of a token */
    DG_SUBWORD_TOKENS_MAX = 1 << 20, /* tokens of a vocabulary */
    DG_SUBWORD_HOLES_MAX = 1 << 16,  /* ids that are not used */
    DG_SUBWORD_ADDED_MAX = 1 << 14,
    DG_SUBWORD_STEPS_MAX = 8,
    DG_SUBWORD_FRAME_MAX = 16,     /* parts of a template */
    DG_SUBWORD_TEXT_MAX = 1 << 30, /* bytes of a text */
};

/* How a text is changed before it is cut. */
enum dg_subword_change {
    DG_SUBWORD_PREPEND,       /* puts `from` before every stretch that is not empty */
    DG_SUBWORD_PREPEND_FIRST, /* puts `from` only before the first stretch, unless that begins with
                                 it */
    DG_SUBWORD_PREPEND_NEW,   /* puts `from` before every stretch that does not begin with it */
    DG_SUBWORD_REPLACE,       /* replaces `from` by `to` */
    DG_SUBWORD_NFC,
    DG_SUBWORD_NFD,
    DG_SUBWORD_NFKC,
    DG_SUBWORD_NFKD,
    DG_SUBWORD_CLEAN, /* drops control characters and U+FFFD, and turns white space into spaces */
    DG_SUBWORD_SPACE_HAN,    /* puts a space before and after every Chinese character */
    DG_SUBWORD_DROP_ACCENTS, /* drops nonspacing marks (Mn) */
    DG_SUBWORD_DROP_MARKS,   /* drops all marks (M) */
    DG_SUBWORD_LOWERCASE,
    DG_SUBWORD_CHARSMAP, /* applies the table of a SentencePiece model */
    DG_SUBWORD_STRIP,    /* drops white space at the beginning (`left`) and at the end (`right`) */
    DG_SUBWORD_SQUEEZE,  /* turns two spaces or more into `to` */
    DG_SUBWORD_MARK_WORDS, /* drops white space, and puts `to` before each word that does not begin
                              with it */
};

/* How a text is cut. */
enum dg_subword_cut {
    DG_SUBWORD_CUT_GPT2,
    DG_SUBWORD_CUT_LLAMA3, /* cuts off up to `digits` digits together */
    DG_SUBWORD_CUT_DIGITS, /* cuts off every digit, or with `digits` above 1 every run of digits */
    DG_SUBWORD_CUT_BEFORE, /* cuts before every `mark` */
    DG_SUBWORD_CUT_SPACES, /* cuts at white space, which is dropped */
    DG_SUBWORD_CUT_BERT,   /* cuts at white space, which is dropped, and cuts off every punctuation
                              character */
};

struct dg_subword_changing {
    enum dg_subword_change kind;
    struct dg_span from, to; /* in the tokenizer's arena */
    struct dg_charsmap map;  /* in the tokenizer's arena */
    bool left, right;        /* the sides where it strips */
};

struct dg_subword_cutting {
    enum dg_subword_cut kind;
    size_t digits;
    struct dg_span mark;
};

struct dg_subword_merge {
    uint64_t pair; /* left id << 32 | right id; UINT64_MAX: the slot is free */
    uint32_t rank, id;
};

struct dg_subword_added {
    struct dg_span text;
    int32_t id;
    bool is_special, is_normalized, is_word, takes_left, takes_right;
};

/* A part of a template: a text, or a token of the template's own. */
struct dg_subword_part {
    int32_t id;   /* the id of the token; -1: the part is a text */
    uint8_t text; /* the index of the text, 0 or 1 */
    uint8_t type;
};

struct dg_subword_template {
    struct dg_subword_part parts[DG_SUBWORD_FRAME_MAX];
    size_t n;
};

enum dg_subword_kind {
    DG_SUBWORD_NOBODY,
    DG_SUBWORD_TEXT,
    DG_SUBWORD_BYTE,
    DG_SUBWORD_ADDED,
    DG_SUBWORD_SPECIAL_KIND,
};

struct dg_subword {
    struct dg_span *pieces; /* [size] owned; their bytes are in the arena */
    uint8_t *kinds;         /* [size] enum dg_subword_kind */
    uint32_t size;
    struct dg_map ids; /* maps strings to ids */
    int32_t unk;
    int32_t signs[DG_SUBWORD_SIGNS]; /* -1: there is none */
    struct dg_subword_changing changes[DG_SUBWORD_STEPS_MAX];
    struct dg_subword_cutting cuts[DG_SUBWORD_STEPS_MAX];
    size_t n_changes, n_cuts;
    size_t n_normal; /* The first n_normal changes are the normaliser's; the others are the
                        pre-tokenizer's, which are made to each part between added tokens. */
    struct dg_subword_added *added; /* owned; [n_added] */
    size_t n_added;
    struct dg_span *added_texts;   /* Owned; [n_added] the strings to look for, in their normalised
                                      form if the token is normalised. */
    struct dg_prefixes added_list; /* searches added_texts */
    bool begins_added[2][256]; /* bytes that an added token can begin with: as written, and after
                                  normalisation */
    struct dg_subword_template single, pair;
    struct dg_arena arena; /* holds all strings */
    /* For BPE; byte_ids and falls_apart are for Unigram, too. */
    struct dg_subword_merge *merges; /* owned; [n_places], a power of two; else NULL */
    size_t n_places;
    int32_t byte_ids[256]; /* -1: there is none */
    bool is_byte_level, falls_apart, fuses_unk, takes_whole;
    bool drops_space; /* decoding drops the first space of a text */
    bool marks_space; /* U+2581 is a space */
    /* for WordPiece */
    bool is_wordpiece;
    bool tidies; /* decoding drops spaces before punctuation */
    /* marks of a piece inside a word: in the model, and in decoding */
    struct dg_span prefix, joint;
    size_t word_max;         /* the most characters of a word; a longer word is unknown */
    struct dg_prefixes list; /* searches the vocabulary, for Unigram without the special tokens */
    struct dg_prefixes_walk inner; /* the position in `list` after `prefix` */
    /* for Unigram */
    bool is_unigram;
    double *scores; /* owned; [n_scores] scores of the model's own vocabulary */
    uint32_t n_scores;
    double unk_score;
};

/* ---- Encoding -------------------------------------------------------------------------------- */

/* A stretch of text between added tokens, after changes; from[i] and to[i] are the range of the
 * original text that byte i comes from. */
struct dg_subword_stretch {
    struct dg_buf text;
    uint32_t *from, *to; /* owned; [cap] */
    size_t cap;
};

struct dg_subword_symbol {
    int32_t id;
    uint32_t begin, end; /* bytes of the stretch */
    uint32_t left, right;
};

/* The best segmentation of a word's beginning that ends here (unigram.c). */
struct dg_subword_cell {
    double score;
    uint32_t from, next; /* where its last piece begins, and where the next chosen piece ends */
    int32_t id;          /* the id of its last piece */
};

struct dg_subword_tokens {
    struct dg_subword_token *list; /* owned */
    size_t n, cap;
};

struct dg_subword_work {
    struct dg_subword_tokens out, texts[2]; /* the last result, and what dg_subword_read has read */
    uint32_t word;                          /* the number of the next word */
    struct dg_subword_symbol *symbols;      /* owned */
    size_t n_symbols, symbols_cap;
    uint64_t *heap; /* owned; rank << 32 | place */
    size_t n_heap, heap_cap;
    struct dg_subword_cell *cells; /* owned */
    size_t cells_cap;
    struct dg_subword_stretch now, next;
    struct dg_subword_stretch normal; /* the result of the normaliser; `now` is a part of it */
};

/* Appends a token for [begin, end) of the text. */
enum dg_err dg_subword_put(struct dg_subword_work *work, int32_t id, size_t begin,
                           size_t end) DG_MUST_CHECK;

/* subword_change.c: _all puts [begin, end) of `text` into work->now, changed by the tokenizer's
 * normaliser; _part puts a part of work->normal there, changed by its pre-tokenizer. */
void dg_subword_stretch_init(struct dg_subword_stretch *stretch);
void dg_subword_stretch_deinit(struct dg_subword_stretch *stretch);
enum dg_err dg_subword_change_all(const struct dg_subword *subword, struct dg_subword_work *work,
                                  struct dg_span text, size_t begin, size_t end) DG_MUST_CHECK;

enum dg_err dg_subword_change_part(const struct dg_subword *subword, struct dg_subword_work *work,
                                   size_t begin, size_t end, bool is_first) DG_MUST_CHECK;

/* Append to work->next: `to` in place of [begin, end) of work->now, or that range unchanged. */
enum dg_err dg_subword_change_put(struct dg_subword_work *work, struct dg_span to, size_t begin,
                                  size_t end) DG_MUST_CHECK;
enum dg_err dg_subword_change_keep(struct dg_subword_work *work, size_t begin,
                                   size_t end) DG_MUST_CHECK;

/* subword_charsmap.c: converts work->now into work->next by the table; reads a normaliser's table.
 */
enum dg_err dg_subword_charsmap_change(struct dg_subword_work *work,
                                       const struct dg_charsmap *map) DG_MUST_CHECK;
enum dg_err dg_subword_read_charsmap(struct dg_subword *subword, const struct dg_json *step,
                                     struct dg_error *error, struct dg_charsmap *map) DG_MUST_CHECK;

/* The text of an added token as it is in a normalised text; *changed is in the tokenizer's arena.
 */
enum dg_err dg_subword_change_added(struct dg_subword *subword, struct dg_subword_work *work,
                                    struct dg_span text, struct dg_span *changed) DG_MUST_CHECK;

/* The end of the piece of `text` that begins at `at` (subword_cut.c); more than `at`. The text is
 * valid UTF-8. *is_dropped: the piece only separates others and is dropped. */
size_t dg_subword_cut(const struct dg_subword_cutting *how, struct dg_span text, size_t at,
                      bool *is_dropped);

/* Append the tokens of a word, [begin, end) of work->now (subword_bpe.c, wordpiece.c, unigram.c).
 */
enum dg_err dg_subword_merge_word(const struct dg_subword *subword, struct dg_subword_work *work,
                                  size_t begin, size_t end) DG_MUST_CHECK;
enum dg_err dg_wordpiece_put(const struct dg_subword *subword, struct dg_subword_work *work,
                             size_t begin, size_t end) DG_MUST_CHECK;
enum dg_err dg_unigram_put(const struct dg_subword *subword, struct dg_subword_work *work,
                           size_t begin, size_t end) DG_MUST_CHECK;

/* True for an id of the model's own vocabulary that is not a special token. */
bool dg_unigram_is_piece(const struct dg_subword *subword, int32_t id);

/* GPT-2's letters for bytes: a code point for each byte, and back (-1: it stands for none). */
uint32_t dg_subword_letter(uint8_t byte);
int dg_subword_byte_of(uint32_t letter);

/* ---- Opening --------------------------------------------------------------------------------- */

/* DG_ERR_UNSUPPORTED: "WHAT 'NAME' is not known here". */
enum dg_err dg_subword_refuse(struct dg_error *error, const char *what, struct dg_span name);

/* The field's text; "" when it is absent or null. */
enum dg_err dg_subword_text_of(const struct dg_json *object, const char *name,
                               struct dg_error *error, struct dg_span *text) DG_MUST_CHECK;
enum dg_err dg_subword_keep(struct dg_subword *subword, struct dg_span text,
                            struct dg_span *kept) DG_MUST_CHECK;

/* Copies a short text field into the tokenizer's arena. */
enum dg_err dg_subword_keep_short(struct dg_subword *subword, const struct dg_json *object,
                                  const char *name, bool may_be_empty, struct dg_error *error,
                                  struct dg_span *kept) DG_MUST_CHECK;

/* subword_vocab.c: read the model and the added tokens of a tokenizer.json, or older files: a
 * vocab.json with merges.txt, or a vocab.txt, among whose tokens the `n` signs are special. */
enum dg_err dg_subword_read_model(struct dg_subword *subword, const struct dg_json *model,
                                  const struct dg_json *added,
                                  struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_subword_read_pair(struct dg_subword *subword, const struct dg_json *vocab,
                                 struct dg_span merges, const struct dg_span *signs, size_t n,
                                 struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_subword_read_lines(struct dg_subword *subword, struct dg_span vocab,
                                  struct dg_span unk, const struct dg_span *signs, size_t n,
                                  struct dg_error *error) DG_MUST_CHECK;

#endif
