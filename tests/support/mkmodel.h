/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Random models: tiny, valid, the same for the same options on every machine. A directory that
 * dg_model_open takes, with a SentencePiece vocabulary that splits English and French letters, so
 * that a daemon can serve it (its translations are nonsense).
 *
 *     struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
 *     options.blueprint.decoder_kind = DG_DECODER_SSRU;
 *     err = dg_mkmodel(dir, &options, &error);               `dir` must not exist
 *
 * Plain Marian and M2M100 networks get a Hugging Face config.json, all others one of ours. */
#ifndef DG_TESTS_MKMODEL_H
#define DG_TESTS_MKMODEL_H

#include "base/memory/error.h"
#include "model/blueprint.h"
#include "tensor/tensor.h"

#include <stdint.h>

struct dg_mkmodel {
    uint64_t seed;
    enum dg_dtype dtype;           /* F32, F16, BF16 or I8 */
    struct dg_blueprint blueprint; /* token ids are filled in; zero sizes mean small defaults */
    const char *languages;         /* "fr,en,zho_Hans": words for them in the vocabulary, spelled as
                                    * blueprint.lang_rule's family does (">>fr<<", "__fr__",
                                    * "zho_Hans"), before the last word; NULL: none */
};

#define DG_MKMODEL_DEFAULT                                                                         \
    {                                                                                              \
        .seed = 1, .dtype = DG_DTYPE_F32, .blueprint = {                                           \
            .activation = DG_ACT_RELU,                                                             \
            .positions = DG_POS_HALVES,                                                            \
            .tie_source_target = true,                                                             \
            .tie_output = true,                                                                    \
            .output_bias = true                                                                    \
        }                                                                                          \
    }

enum dg_err dg_mkmodel(const char *dir, const struct dg_mkmodel *options,
                       struct dg_error *error) DG_MUST_CHECK;

/* Fills every gap of the options' blueprint, which is then the one that the model will have. */
void dg_mkmodel_complete(struct dg_blueprint *bp);

#endif
