/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Imports CTranslate2's models, from a directory or from the model/ folder of an Argos package.
 * import_ct2.c imports the network, ct2_vocab.c the vocabulary and the token rules. */
#ifndef DG_IMPORT_FORMAT_CT2_H
#define DG_IMPORT_FORMAT_CT2_H

#include "import/container/ct2_file.h"
#include "import/container/bundle.h"
#include "import/format/import_int.h"

struct dg_ct2_import {
    struct dg_bundle bundle;    /* owned */
    const char *folder;         /* "" or "model/", in front of the names of CTranslate2's files */
    struct dg_bundle_data data; /* of model.bin */
    struct dg_ct2 file;
    size_t n_loads, loaded; /* number of loads so far, and the variable of the last one */
};

/* True when the folder of the bundle holds CTranslate2's files. */
bool dg_ct2_detect(const struct dg_bundle *bundle, const char *folder);

/* Opens the model; import->ctx becomes a struct dg_ct2_import, released by import->close. */
enum dg_err dg_ct2_open(struct dg_import *import, const char *path, const char *folder,
                        struct dg_error *error) DG_MUST_CHECK;

/* Reads vocabularies and token rules into the blueprint, whose sizes must be known, and adds
 * vocab.json and the tokenizer's other files to the import. */
enum dg_err dg_ct2_vocabulary(struct dg_import *import, struct dg_error *error) DG_MUST_CHECK;

/* To be called after dg_ct2_vocabulary: makes every target begin with this word, which must name a
 * language. */
enum dg_err dg_ct2_force_first(struct dg_import *import, struct dg_span word,
                               struct dg_error *error) DG_MUST_CHECK;

/* Gets the value of a scalar variable; false when it is missing or not a scalar. */
bool dg_ct2_scalar(const struct dg_ct2 *file, const char *name, double *value);

#endif
