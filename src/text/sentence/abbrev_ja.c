/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Japanese abbreviations and first words; abbrev.h says what each list means. */
#include "text/sentence/abbrev.h"

#include <stddef.h>

static const char *const never[] = {
    "cf", "dr", "e.g", "ex", "i.e", "mr", "mrs", "ms", "prof", "st", "vs", NULL,
};

static const char *const number[] = {
    "ch", "fig", "no", "nos", "p", "pp", "sec", "tel", "v", "ver", "vol", NULL,
};

static const char *const perhaps[] = {
    "a.m", "co", "corp", "etc", "inc", "jr", "ltd", "p.m", "ph.d", "sr", "u.k", "u.n", "u.s", NULL,
};

const struct dg_abbrev dg_abbrev_ja = {
    .language = "ja",
    .never = never,
    .number = number,
    .perhaps = perhaps,
};
