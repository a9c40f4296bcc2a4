/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The configurations of encoder-only networks, as blueprints (config.h reads the files and calls
 * this):
 *
 *     bert         learned positions, two segments, a tanh pooler
 *     roberta      positions start at pad_token_id + 1, two tokens between texts, its own
 *                  head for labels
 *     distilbert   no segments, a relu pooler
 *     xlm-roberta, camembert   like roberta, with other vocabularies
 *     electra      like bert, with a gelu pooler; embeddings must be as wide as the layers
 *     dragoman     our own type, with "family": "encoder"
 *
 * The field `architectures` names the head: ...ForMaskedLM, ...ForSequenceClassification,
 * ...ForTokenClassification, ...ForQuestionAnswering, or ElectraForPreTraining, which detects
 * replaced words; ...Model has no head. */
#ifndef DG_MODEL_CONFIG_ENC_H
#define DG_MODEL_CONFIG_ENC_H

#include "base/json/json.h"
#include "base/memory/buf.h"
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

/* Read everything but the token ids into a blueprint of defaults. */
enum dg_err dg_config_enc_read_foreign(struct dg_blueprint *bp, const struct dg_json *config,
                                       enum dg_config_enc type,
                                       struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_config_enc_read_own(struct dg_blueprint *bp, const struct dg_json *config,
                                   struct dg_error *error) DG_MUST_CHECK;

/* Limits lengths that the other files state to the number of positions. */
void dg_config_enc_clamp(struct dg_blueprint *bp);

/* Prints what dg_config_enc_read_own reads, as the first members of an object that stays open. */
enum dg_err dg_config_enc_print(const struct dg_blueprint *bp, struct dg_buf *out) DG_MUST_CHECK;

/* Reads the labels of a foreign config.json, in the order of the outputs: `id2label`, or the
 * default names LABEL_0, LABEL_1, ... `labels` was made by dg_labels_init. */
enum dg_err dg_config_enc_labels(struct dg_labels *labels, struct dg_span config,
                                 struct dg_error *error) DG_MUST_CHECK;

#endif
