/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Which models of the catalogue a pair of languages means.
 *
 *     struct dg_catalogue_choice_opts opts = {.source = "firefox"};
 *     err = dg_catalogue_choice_find(&catalogue, "fr-de", &opts, &found, &error);
 *     found.n is 1, or 2 when the way leads through English
 *
 * Among several models of a pair, one that is released comes before a trial version, one for
 * desktops before one for telephones; then the source decides (firefox, firefox-archive, the
 * others), then the score where both have one, the version and the size of the network. One thread.
 */
#ifndef DG_FETCH_CATALOGUE_CHOICE_H
#define DG_FETCH_CATALOGUE_CHOICE_H

#include "fetch/catalogue.h"

struct dg_catalogue_choice_opts {
    const char *source;  /* of this source only; NULL or "": any */
    const char *kind;    /* likewise */
    const char *version; /* likewise */
    bool small;          /* the smallest that is released, instead of the best */
};

struct dg_model_choice {
    const struct dg_catalogue_model *models[2]; /* borrowed from the catalogue */
    size_t n;
};

/* "fr-de", "zh-Hans-en". DG_ERR_INVALID: not two languages; DG_ERR_NOT_FOUND: nobody has it, not
 * even by way of English; the sentence says what there is. */
enum dg_err dg_catalogue_choice_find(const struct dg_catalogue *catalogue, const char *pair,
                                     const struct dg_catalogue_choice_opts *opts,
                                     struct dg_model_choice *choice,
                                     struct dg_error *error) DG_MUST_CHECK;

/* The model of exactly this pair; NULL when there is none. Case does not matter; "zh" is also
 * zh-Hans. */
const struct dg_catalogue_model *
dg_catalogue_choice_best(const struct dg_catalogue *catalogue, struct dg_span source,
                         struct dg_span target, const struct dg_catalogue_choice_opts *opts);

/* Whether it is a trial version, or meant for trial copies of Firefox only. */
bool dg_catalogue_choice_is_trial(const struct dg_catalogue_model *model);

/* The model whose scores may be shown for this one: itself, or an earlier version of the same pair
 * and kind; NULL when nobody published any. */
const struct dg_catalogue_model *dg_catalogue_choice_scored(const struct dg_catalogue *catalogue,
                                                            const struct dg_catalogue_model *model);

/* Bytes to download, and about those on the disk and in memory; 0 when not known. */
uint64_t dg_catalogue_choice_packed(const struct dg_catalogue_model *model);
uint64_t dg_catalogue_choice_unpacked(const struct dg_catalogue_model *model);

/* "fr-en": the directory's name, by which the daemon knows the languages. */
enum { DG_CATALOGUE_CHOICE_NAME = 64 };
void dg_catalogue_choice_name(const struct dg_catalogue_model *model,
                              char name[DG_CATALOGUE_CHOICE_NAME]);

#endif
