/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What the .npz and .bin importers share: they turn Marian's configuration into a blueprint, and
 * read its parameter names and its vocabularies.
 *
 * Marian's mathematics differ from Hugging Face's port of the same network in three points: layer
 * norm epsilon 1e-6, sinusoid exponent k / (D/2 - 1), and a zero vector where the port feeds <pad>.
 * Marian's matrices are [in, out], ours are [out, in]. */
#ifndef DG_IMPORT_FORMAT_MARIAN_H
#define DG_IMPORT_FORMAT_MARIAN_H

#include "import/format/import_int.h"

/* Fills the blueprint from special:model.yml (text up to the first NUL). Leaves vocabulary sizes,
 * tokens and search defaults to the caller. `is_bergamot`: the file is from Bergamot's fork, whose
 * "gelu" is always the older one. */
enum dg_err dg_marian_config(struct dg_blueprint *bp, struct dg_span yaml, bool is_bergamot,
                             const char *name, struct dg_error *error) DG_MUST_CHECK;

/* Adds the parameter `name` under its canonical name, transposed if necessary; `shape` has
 * DG_TENSOR_RANK_MAX numbers. The parameter's numbers are those of the blob from element `offset`
 * on. A learned position table also changes the blueprint. An unknown name is kept as it is. */
enum dg_err dg_marian_add(struct dg_import *import, const char *name, enum dg_dtype dtype,
                          unsigned rank, const size_t *shape, size_t blob,
                          struct dg_error *error) DG_MUST_CHECK;

/* The kinds of weight files in Marian's folder, told apart by their names. */
enum dg_marian_file {
    DG_MARIAN_MODEL,
    /* a copy from a good moment of the training, or from before something was changed */
    DG_MARIAN_COPY,
    DG_MARIAN_OTHER /* the state of an optimiser */
};
enum dg_marian_file dg_marian_file_of(const char *name);

/* Finds the vocabularies of the model file `path` (through its decoder.yml, or next to it), adds
 * them to the files of the import as source.spm, target.spm, vocab.json (target_vocab.json when
 * they differ), and fills in the sizes, tokens and search defaults of `import->bp`. */
enum dg_err dg_marian_vocabulary(struct dg_import *import, const char *path,
                                 struct dg_error *error) DG_MUST_CHECK;

/* ---- Recurrent networks (marian_rnn.c) ---- */

/* Gets the canonical name of a parameter of s2s, amun or nematus; false when it has none.
 * `is_shared`: both sides share one embedding. *transposed: the parameter is a matrix [in, out]. */
bool dg_marian_rnn_name(const char *name, bool is_shared, char *ours, size_t cap, bool *transposed);

/* True for arrays that only training needs. */
bool dg_marian_rnn_is_remainder(const char *name);

#endif
