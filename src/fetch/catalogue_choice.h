/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Chooses the models of the catalogue for a pair of languages.
 *
 *     struct dg_catalogue_choice_opts opts = {.source = "firefox"};
 *     err = dg_catalogue_choice_find(&catalogue, "fr-de", &opts, &found, &error);
 *     found.n is 1, or 2 when the way leads through English
 *
 * Among several models of a pair, a released one is preferred to a trial version, and one for
 * desktops to one for telephones. Then the source decides (firefox, firefox-archive, the others),
 * then the score where both have one, then the version and the size of the network. One thread. */
#ifndef DG_FETCH_CATALOGUE_CHOICE_H
#define DG_FETCH_CATALOGUE_CHOICE_H

#include "fetch/catalogue.h"

struct dg_catalogue_choice_opts {
    const char *source;  /* only models of this source; NULL or "": of any */
    const char *kind;    /* only models of this kind; NULL or "": of any */
    const char *version; /* only models of this version; NULL or "": of any */
    bool small;          /* choose the smallest released model instead of the best */
};

struct dg_model_choice {
    const struct dg_catalogue_model *models[2]; /* borrowed from the catalogue */
    size_t n;
};

/* Finds the models for a pair such as "fr-de" or "zh-Hans-en". DG_ERR_INVALID: `pair` is not two
 * languages. DG_ERR_NOT_FOUND: the catalogue has no model for it, not even by way of English; the
 * sentence says which pairs there are. */
enum dg_err dg_catalogue_choice_find(const struct dg_catalogue *catalogue, const char *pair,
                                     const struct dg_catalogue_choice_opts *opts,
                                     struct dg_model_choice *choice,
                                     struct dg_error *error) DG_MUST_CHECK;

/* Returns the model of exactly this pair; NULL when there is none. Case does not matter; "zh" also
 * means zh-Hans. */
const struct dg_catalogue_model *
dg_catalogue_choice_best(const struct dg_catalogue *catalogue, struct dg_span source,
                         struct dg_span target, const struct dg_catalogue_choice_opts *opts);

/* Whether it is a trial version, or meant for trial copies of Firefox only. */
bool dg_catalogue_choice_is_trial(const struct dg_catalogue_model *model);

/* Returns the model whose scores may be shown for this one: the model itself, or an earlier version
 * of the same pair and kind; NULL when nobody published any scores. */
const struct dg_catalogue_model *dg_catalogue_choice_scored(const struct dg_catalogue *catalogue,
                                                            const struct dg_catalogue_model *model);

/* Return the bytes to download, and the approximate bytes on the disk and in memory; 0 when not
 * known. */
uint64_t dg_catalogue_choice_packed(const struct dg_catalogue_model *model);
uint64_t dg_catalogue_choice_unpacked(const struct dg_catalogue_model *model);

/* Writes the directory's name, "fr-en", from which the daemon knows the languages. */
enum { DG_CATALOGUE_CHOICE_NAME = 64 };
void dg_catalogue_choice_name(const struct dg_catalogue_model *model,
                              char name[DG_CATALOGUE_CHOICE_NAME]);

#endif
