/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The configurations of encoders alone, as blueprints (config.h reads the files and calls this):
 *
 *     bert         learned positions, two segments, a tanh pooler
 *     roberta      positions behind pad_token_id + 1, two tokens between texts, a head of its own
 * for labels distilbert   no segments, a relu pooler xlm-roberta, camembert   as roberta, which
 * they are with other words electra      as bert where its embeddings are as wide as its layers,
 * with a gelu pooler dragoman     ours, with "family": "encoder"
 *
 * Which head there is, `architectures` says: ...ForMaskedLM, ...ForSequenceClassification,
 * ...ForTokenClassification,
 * ...ForQuestionAnswering; ElectraForPreTraining tells replaced words; ...Model is none. */
#ifndef DG_MODEL_CONFIG_ENC_H
#define DG_MODEL_CONFIG_ENC_H

#include "base/json/json.h"
#include "base/memory/buf.h"
#include "base/memory/err.h"
#include "base/memory/error.h"
#include "model/blueprint.h"
#include "model/labels.h"

enum dg_config_enc {
    DG_CONFIG_ENC_BERT,
    DG_CONFIG_ENC_ROBERTA,
    DG_CONFIG_ENC_DISTILBERT,
    DG_CONFIG_ENC_XLM_ROBERTA,
    DG_CONFIG_ENC_CAMEMBERT,
    DG_CONFIG_ENC_ELECTRA,
    DG_CONFIG_ENC_TYPES,
};

/* Everything but the token ids, into a blueprint of defaults. */
enum dg_err dg_config_enc_read_foreign(struct dg_blueprint *bp, const struct dg_json *config,
                                       enum dg_config_enc type,
                                       struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_config_enc_read_own(struct dg_blueprint *bp, const struct dg_json *config,
                                   struct dg_error *error) DG_MUST_CHECK;

/* Lengths that other files say are brought within the positions. */
void dg_config_enc_clamp(struct dg_blueprint *bp);

/* What dg_config_enc_read_own reads, as the first members of an object that is not closed. */
enum dg_err dg_config_enc_print(const struct dg_blueprint *bp, struct dg_buf *out) DG_MUST_CHECK;

/* The labels of a foreign config.json, in the order of the outputs: `id2label`, or LABEL_0,
 * LABEL_1, ... as its makers call what has no name. `labels` was made by dg_labels_init. */
enum dg_err dg_config_enc_labels(struct dg_labels *labels, struct dg_span config,
                                 struct dg_error *error) DG_MUST_CHECK;

#endif
