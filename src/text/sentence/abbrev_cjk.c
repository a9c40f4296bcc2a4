/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Abbreviations in Chinese, Japanese and Korean texts, most of them English; abbrev.h says what
 * each list means. */
#include "text/sentence/abbrev.h"

#include <stddef.h>

static const char *const never[] = {
    "cf", "dr", "e.g", "e.x", "ex", "i.e", "mr", "mrs", "ms", "prof", "st", "vs", NULL,
};

static const char *const number[] = {
    "ch", "fig", "no", "nos", "p", "pp", "sec", "tel", "v", "ver", "vol", "제", NULL,
};

static const char *const perhaps[] = {
    "a.m", "co", "corp", "etc", "inc", "jr", "ltd", "p.m", "ph.d", "sr", "u.k", "u.n", "u.s", NULL,
};

const struct dg_abbrev dg_abbrev_ja = {"ja", .never = never, .number = number, .perhaps = perhaps};
const struct dg_abbrev dg_abbrev_ko = {"ko", .never = never, .number = number, .perhaps = perhaps};
const struct dg_abbrev dg_abbrev_zh = {"zh", .never = never, .number = number, .perhaps = perhaps};
