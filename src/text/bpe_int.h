/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A tokenizer's insides, for the files bpe*.c only. */
#ifndef DG_TEXT_BPE_INT_H
#define DG_TEXT_BPE_INT_H

#include "base/arena.h"
#include "base/map.h"
#include "text/bpe.h"

enum {
    DG_BPE_PIECE_MAX = 1024,     /* bytes of a token */
    DG_BPE_TOKENS_MAX = 1 << 20, /* of a vocabulary */
    DG_BPE_HOLES_MAX = 1 << 16,  /* ids that nobody has */
    DG_BPE_ADDED_MAX = 1 << 14,
    DG_BPE_STEPS_MAX = 8,
    DG_BPE_FRAME_MAX = 8,        /* tokens before a text, and behind it */
};

/* How a text is changed before it is cut. */
enum dg_bpe_change {
    DG_BPE_PREPEND,       /* `from` before every stretch that is not empty */
    DG_BPE_PREPEND_FIRST, /* likewise, only before the text's first one, and only if it does not begin so */
    DG_BPE_PREPEND_NEW,   /* before every one that does not begin so */
    DG_BPE_REPLACE,       /* `from` by `to` */
    DG_BPE_NFC,
    DG_BPE_NFD,
    DG_BPE_NFKC,
    DG_BPE_NFKD,
};

/* How it is cut. */
enum dg_bpe_cut {
    DG_BPE_CUT_GPT2,
    DG_BPE_CUT_LLAMA3, /* up to `digits` digits together */
    DG_BPE_CUT_DIGITS, /* every digit apart, or with `digits` more than 1 every run of them */
    DG_BPE_CUT_BEFORE, /* before every `mark` */
};

struct dg_bpe_changing {
    enum dg_bpe_change kind;
    struct dg_span from, to; /* in the tokenizer's arena */
};

struct dg_bpe_cutting {
    enum dg_bpe_cut kind;
    size_t digits;
    struct dg_span mark;
};

struct dg_bpe_merge {
    uint64_t pair; /* left id << 32 | right id; UINT64_MAX: a free place */
    uint32_t rank, id;
};

struct dg_bpe_added {
    struct dg_span text;
    int32_t id;
    bool is_special, is_normalized, is_word, takes_left, takes_right;
};

enum dg_bpe_kind { DG_BPE_NOBODY, DG_BPE_TEXT, DG_BPE_BYTE, DG_BPE_ADDED, DG_BPE_SPECIAL_KIND };

struct dg_bpe {
    struct dg_span *pieces; /* [size] owned; their bytes are in the arena */
    uint8_t *kinds;         /* [size] enum dg_bpe_kind */
    uint32_t size;
    struct dg_map ids;      /* string to id */
    struct dg_bpe_merge *merges; /* owned; [n_places], a power of two */
    size_t n_places;
    int32_t byte_ids[256];  /* -1: none */
    int32_t unk;
    bool is_byte_level, falls_apart, fuses_unk, takes_whole;
    struct dg_bpe_changing changes[DG_BPE_STEPS_MAX];
    struct dg_bpe_cutting cuts[DG_BPE_STEPS_MAX];
    size_t n_changes, n_cuts;
    struct dg_bpe_added *added; /* owned; [n_added] longest first */
    size_t n_added;
    bool begins_added[2][256];  /* bytes that begin an added token: as written, and after normalisation */
    int32_t before[DG_BPE_FRAME_MAX], behind[DG_BPE_FRAME_MAX];
    size_t n_before, n_behind;
    bool drops_space; /* the first space of a decoded text */
    bool marks_space; /* U+2581 is a space */
    struct dg_arena arena; /* all strings */
};

/* GPT-2's letters for bytes: a code point for each byte, and back (-1: it stands for none). */
uint32_t dg_bpe_letter(uint8_t byte);
int dg_bpe_byte_of(uint32_t letter);

/* The end of the piece of `text` that begins at `at` (bpe_cut.c); more than `at`. The text is valid UTF-8. */
size_t dg_bpe_cut(const struct dg_bpe_cutting *how, struct dg_span text, size_t at);

/* The merge of a pair, or NULL. */
const struct dg_bpe_merge *dg_bpe_merge_of(const struct dg_bpe *bpe, int32_t left, int32_t right);

#endif
