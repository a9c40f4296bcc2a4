/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Converts language tags in any spelling to one (BCP-47, through ICU), compares them and names
 * them.
 *
 *     struct dg_langtag want;
 *     err = dg_langtag_parse(DG_SPAN("zh_CN"), &want, &error);      want.text is "zh-CN"
 *     size_t i;
 *     switch (dg_langtag_match(&want, offered, n, &i)) {
 *     case DG_LANGTAG_NONE: ...                                    another language
 *     default: ... offered[i] ...
 *     }
 *     err = dg_langtag_name(&want, "fr", &buf);                    "chinois (Chine)"
 *
 * Accepted spellings: any case, '_' for '-', surrounding spaces, POSIX endings (de_DE.UTF-8,
 * sr_RS@latin), ISO 639-3 codes and the names of data sets (eng_Latn, zho_Hans, arb_Arab),
 * withdrawn codes (iw, in, ji, mo, sh), and codes of translation programs (pb and pt-br, zt,
 * zh-CHS, no for nb, fil for tl). Extensions and private parts are dropped, and so is the usual
 * script of a language (en-Latn is en), except for Chinese, where people choose by script. Any
 * thread. */
#ifndef DG_TEXT_LANGUAGE_LANGTAG_H
#define DG_TEXT_LANGUAGE_LANGTAG_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stddef.h>

enum {
    DG_LANGTAG_LANGUAGE = 9, /* bytes, including the NUL */
    DG_LANGTAG_TEXT = 24,
    DG_LANGTAG_INPUT_MAX = 64, /* the most bytes of input; longer input is refused */
};

struct dg_langtag {
    char text[DG_LANGTAG_TEXT];         /* canonical: "fr", "pt-BR", "zh-Hant", "zh-Hant-HK" */
    char language[DG_LANGTAG_LANGUAGE]; /* "pt"; two letters where such a code exists */
    char script[5];                     /* as given, or "" */
    char region[4];                     /* as given, or "" */
    char likely_script[5];              /* the script, or the most probable one; "" if unknown */
    char likely_region[4];
};

/* How well two tags fit; larger is better. */
enum dg_langtag_fit {
    DG_LANGTAG_NONE,   /* another language */
    DG_LANGTAG_SCRIPT, /* the same language in another script, which readers may not accept */
    DG_LANGTAG_REGION, /* the same language and script, for another region */
    DG_LANGTAG_SAME,   /* the same: zh, zh-CN, zh-Hans, zh-Hans-CN */
};

/* DG_ERR_INVALID with an error message for a text that is not a language tag. */
enum dg_err dg_langtag_parse(struct dg_span text, struct dg_langtag *tag,
                             struct dg_error *error) DG_MUST_CHECK;

/* Only the language of a tag ("pt" of "pt-BR"); `language` holds DG_LANGTAG_LANGUAGE bytes. */
enum dg_err dg_langtag_language(struct dg_span text, char *language) DG_MUST_CHECK;

/* How well `offered` serves a reader who wants `want`. */
enum dg_langtag_fit dg_langtag_compare(const struct dg_langtag *want,
                                       const struct dg_langtag *offered);

/* Finds the offered tag that fits best. Among tags that fit equally well, one without a region
 * comes before one with another region; otherwise the first one wins. `*index` is untouched when
 * nothing fits. */
enum dg_langtag_fit dg_langtag_match(const struct dg_langtag *want,
                                     const struct dg_langtag *offered, size_t n, size_t *index);

/* Appends the language's name in the language of `locale` (a tag in any spelling): "German",
 * "allemand", "Simplified Chinese". An unknown locale names it in English. */
enum dg_err dg_langtag_name(const struct dg_langtag *tag, const char *locale,
                            struct dg_buf *out) DG_MUST_CHECK;

#endif
