/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The tokenizer's internals, for tokenizer.c and tokenizer_open.c only. */
#ifndef DG_TOKENIZE_TOKENIZER_INT_H
#define DG_TOKENIZE_TOKENIZER_INT_H

#include "tokenize/hf/subword.h"
#include "tokenize/marian_vocab.h"
#include "tokenize/spm/spm.h"

#include <stdbool.h>

struct dg_tokenizer {
    struct dg_subword *subword; /* owned; if it is set, all members below are zero */
    struct dg_spm *source;      /* owned */
    struct dg_spm *target;      /* owned, or the same as source */
    bool is_marian;
    bool source_is_bare; /* the network was trained without an end token after the source */
    struct dg_marian_vocab source_vocab; /* with is_marian; searches `source`, then `target` */
    struct dg_marian_vocab target_vocab; /* with is_marian; searches `target`, then `source` */
};

#endif
