/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Finds models of Hugging Face by their names.
 *
 *     opus:fr-en              Helsinki-NLP/opus-mt-fr-en
 *     hf:OWNER/NAME           its newest revision
 *     hf:OWNER/NAME@REVISION  this one: a branch, a tag, or a whole commit
 *
 *     if (dg_hf_parse(&hf, "opus:fr-en"))
 *         err = dg_hf_list(transfer, &hf, &package, &error);
 *
 * The API lists a repository's files at a commit (GET /api/models/ID/revision/REV?blobs=true); only
 * those that an import needs are fetched, at exactly that commit. The list gives a SHA-256 for
 * large files, and the name in git for the others. One thread. */
#ifndef DG_FETCH_SOURCE_HF_H
#define DG_FETCH_SOURCE_HF_H

#include "fetch/package.h"

enum { DG_HF_TEXT = 100 };

struct dg_hf {
    char owner[DG_HF_TEXT], name[DG_HF_TEXT];
    char revision[DG_HF_TEXT]; /* "main" when none was given */
};

/* Whether `text` names such a model. */
bool dg_hf_parse(struct dg_hf *hf, const char *text);

/* Fills `package`, which dg_package_init has initialised. */
enum dg_err dg_hf_list(struct dg_transfer *transfer, const struct dg_hf *hf,
                       struct dg_package *package, struct dg_error *error) DG_MUST_CHECK;

/* Does the same from an answer of the site's API. */
enum dg_err dg_hf_read(const struct dg_hf *hf, struct dg_span answer, struct dg_package *package,
                       struct dg_error *error) DG_MUST_CHECK;

/* Writes the address of the list. */
void dg_hf_url(const struct dg_hf *hf, char url[DG_TRANSFER_URL_MAX]);

#endif
