/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as a shortlist: in what is accepted, every list and every id can be read and is in
 * range. The checksum is corrected first, so that the checks after it are reached. */
#include "model/lexicon.h"

#include <stdlib.h>
#include <string.h>

enum { LEN_MAX = 1 << 16, WORDS = 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check(const uint8_t *bytes, size_t len)
{
    struct dg_lexicon lex;
    struct dg_error error = DG_ERROR_NONE;
    if (dg_lexicon_parse(&lex, bytes, len, "fuzz", WORDS, WORDS, &error) != DG_OK) {
        require(error.text[0] != '\0');
        return;
    }
    size_t at = 0;
    for (size_t s = 0; s < lex.n_words; s++) {
        struct dg_lexicon_list list = dg_lexicon_list(&lex, s);
        require(list.first == at);
        for (size_t i = 0; i < list.n; i++)
            require(dg_lexicon_target(&lex, at + i) < WORDS);
        at += list.n;
    }
    require(at == lex.n_targets);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    check(bytes, len);
    uint8_t *fixed = len >= 16 && len <= LEN_MAX ? malloc(len) : NULL;
    if (!fixed)
        return 0;
    memcpy(fixed, bytes, len);
    uint64_t hash = 0;
    for (size_t at = 16; at + 8 <= len; at += 8) {
        uint64_t word = 0;
        for (size_t b = 0; b < 8; b++)
            word |= (uint64_t)bytes[at + b] << (8 * b);
        hash ^= word + 0x9e3779b9 + (hash << 6) + (hash >> 2);
    }
    for (size_t b = 0; b < 8; b++)
        fixed[8 + b] = (uint8_t)(hash >> (8 * b));
    check(fixed, len);
    free(fixed);
    return 0;
}
