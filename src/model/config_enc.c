/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One function per type, because BERT and DistilBERT name the same things differently; shared
 * functions read heads, labels and what every encoder has. Our own type reads what
 * dg_config_enc_print prints. */
#include "model/config_enc.h"
#include "model/config_fields.h"

#include <stdio.h>

enum { CONFIG_BYTES = 4 << 20, LABELS_USUAL = 2 };

/* ---- Heads ----------------------------------------------------------------------------------- */

/* The endings of the architectures' names. */
static const struct {
    const char *end;
    enum dg_head head;
} heads[] = {
    {"ForMaskedLM", DG_HEAD_WORDS},
    {"ForPreTraining", DG_HEAD_WORDS},
    {"ForSequenceClassification", DG_HEAD_POOLED},
    {"ForTokenClassification", DG_HEAD_TOKENS},
    {"ForQuestionAnswering", DG_HEAD_SPANS},
    {"Model", DG_HEAD_NONE},
};

/* The pre-training tasks: ELECTRA detects replaced words; BERT predicts masked words and which
 * sentences follow others. */
static void read_head(struct dg_config_fields *r, struct dg_blueprint *bp, bool is_electra)
{
    const struct dg_json *list = NULL;
    struct dg_span name = DG_SPAN("");
    if (!r->err)
        r->err = dg_json_get_array(r->object, "architectures", DG_JSON_OPTIONAL, r->error, &list);
    if (r->err || !list || dg_json_len(list) == 0)
        return;
    r->err = dg_json_string(dg_json_at(list, 0), DG_SPAN("architectures[0]"), r->error, &name);
    if (!r->err && is_electra && dg_span_ends(name, DG_SPAN("ForPreTraining"))) {
        bp->enc.head = DG_HEAD_REPLACED;
        bp->enc.head_activation = bp->activation;
        return;
    }
    for (size_t i = 0; i < sizeof heads / sizeof *heads && !r->err; i++)
        if (dg_span_ends(name, dg_span_cstr(heads[i].end))) {
            bp->enc.head = heads[i].head;
            return;
        }
    if (!r->err)
        r->err = dg_error_set(
            r->error, DG_ERR_UNSUPPORTED,
            "the architecture is %.*s, expected one ...ForMaskedLM, ...ForSequenceClassification, "
            "...ForTokenClassification, ...ForQuestionAnswering or ...Model",
            (int)(name.len < 80 ? name.len : 80), name.ptr);
}

/* Returns how many labels there are. */
static size_t count_labels(struct dg_config_fields *r)
{
    const struct dg_json *names = NULL;
    if (!r->err)
        r->err = dg_json_get_object(r->object, "id2label", DG_JSON_OPTIONAL, r->error, &names);
    return names && dg_json_len(names) ? dg_json_len(names)
                                       : dg_config_size(r, "num_labels", LABELS_USUAL);
}

/* Hugging Face's names of enum dg_label_rule. */
static const char *const problem_types[] = {"single_label_classification",
                                            "multi_label_classification", "regression", NULL};

static void read_outputs(struct dg_config_fields *r, struct dg_blueprint *bp)
{
    const enum dg_head head = bp->enc.head;
    const size_t n_labels = head == DG_HEAD_POOLED || head == DG_HEAD_TOKENS ? count_labels(r) : 0;
    bp->decoder.V = head == DG_HEAD_WORDS                              ? bp->encoder.V
                    : head == DG_HEAD_SPANS                            ? 2
                    : head == DG_HEAD_NONE || head == DG_HEAD_REPLACED ? 1
                                                                       : n_labels;
    if (head == DG_HEAD_POOLED)
        bp->enc.rule = (enum dg_label_rule)dg_config_choice(
            r, "problem_type", problem_types, n_labels == 1 ? DG_LABELS_NUMBER : DG_LABELS_ONE);
    bp->tie_output = head == DG_HEAD_WORDS && dg_config_flag(r, "tie_word_embeddings", true);
    bp->output_bias = head == DG_HEAD_WORDS;
}

/* ---- Hugging Face ---------------------------------------------------------------------------- */

static void complete(struct dg_blueprint *bp)
{
    bp->family = DG_FAMILY_ENC;
    bp->decoder_kind = DG_DECODER_ATTENTION;
    bp->norm_kind = DG_NORM_LAYER;
    bp->embedding_scale = 1;
    bp->start = DG_START_ZERO;
    bp->decoder.n_layers = 0;
    bp->decoder.H = bp->encoder.H;
    bp->decoder.F = bp->encoder.F;
}

/* Accepts only attention to the whole text, without relative positions. */
static void refuse_others(struct dg_config_fields *r)
{
    struct dg_span kind = DG_SPAN("absolute");
    if (!r->err)
        r->err = dg_json_get_string(r->object, "position_embedding_type", DG_JSON_OPTIONAL,
                                    r->error, &kind);
    if (!r->err && !dg_span_eq(kind, DG_SPAN("absolute")))
        r->err = dg_error_set(r->error, DG_ERR_UNSUPPORTED,
                              "field 'position_embedding_type' is %.*s, expected absolute",
                              (int)(kind.len < 40 ? kind.len : 40), kind.ptr);
    dg_config_must(r, "is_decoder", false, false);
    dg_config_must(r, "add_cross_attention", false, false);
}

static void read_bert(struct dg_config_fields *r, struct dg_blueprint *bp, bool is_roberta)
{
    bp->D = dg_config_need(r, "hidden_size");
    bp->encoder.n_layers = dg_config_need(r, "num_hidden_layers");
    bp->encoder.H = dg_config_need(r, "num_attention_heads");
    bp->encoder.F = dg_config_need(r, "intermediate_size");
    bp->encoder.V = dg_config_need(r, "vocab_size");
    bp->n_positions = dg_config_need(r, "max_position_embeddings");
    bp->activation = dg_config_activation(r, "hidden_act", DG_ACT_GELU_ERF);
    bp->norm_epsilon = (float)dg_config_real(r, "layer_norm_eps", is_roberta ? 1e-5 : 1e-12);
    bp->enc.n_types = dg_config_size(r, "type_vocab_size", 2);
    bp->enc.head_activation = is_roberta ? DG_ACT_GELU_ERF : bp->activation;
    bp->enc.separators = is_roberta ? 2 : 1;
    bp->position_offset = is_roberta ? dg_config_size(r, "pad_token_id", 1) + 1 : 0;
}

static void read_electra(struct dg_config_fields *r, struct dg_blueprint *bp)
{
    const size_t width = dg_config_size(r, "embedding_size", 128);
    if (!r->err && width != bp->D)
        r->err = dg_error_set(r->error, DG_ERR_UNSUPPORTED,
                              "field 'embedding_size' is %zu, expected %zu as 'hidden_size' is: "
                              "embeddings that are projected to another width are not supported",
                              width, bp->D);
    bp->enc.pooler = DG_POOLER_GELU;
    bp->enc.head_activation = DG_ACT_GELU_ERF;
}

static void read_distilbert(struct dg_config_fields *r, struct dg_blueprint *bp)
{
    bp->D = dg_config_need(r, "dim");
    bp->encoder.n_layers = dg_config_need(r, "n_layers");
    bp->encoder.H = dg_config_need(r, "n_heads");
    bp->encoder.F = dg_config_need(r, "hidden_dim");
    bp->encoder.V = dg_config_need(r, "vocab_size");
    bp->n_positions = dg_config_need(r, "max_position_embeddings");
    bp->activation = dg_config_activation(r, "activation", DG_ACT_GELU_ERF);
    bp->norm_epsilon = 1e-12f;
    bp->enc.head_activation = bp->activation;
    bp->enc.pooler = DG_POOLER_RELU;
    bp->enc.separators = 1;
}

enum dg_err dg_config_enc_read_foreign(struct dg_blueprint *bp, const struct dg_json *config,
                                       enum dg_config_enc type, struct dg_error *error)
{
    struct dg_config_fields r = {config, error, DG_OK};
    const bool is_roberta = type == DG_CONFIG_ENC_ROBERTA || type == DG_CONFIG_ENC_XLM_ROBERTA ||
                            type == DG_CONFIG_ENC_CAMEMBERT;
    if (type == DG_CONFIG_ENC_DISTILBERT)
        read_distilbert(&r, bp);
    else
        read_bert(&r, bp, is_roberta);
    if (type == DG_CONFIG_ENC_ELECTRA)
        read_electra(&r, bp);
    bp->positions = DG_POS_LEARNED; /* DistilBERT's sinusoids are stored as a table, like learned
                                       positions */
    bp->norm_place = DG_NORM_POST;
    bp->embedding_norm = true;
    refuse_others(&r);
    read_head(&r, bp, type == DG_CONFIG_ENC_ELECTRA);
    read_outputs(&r, bp);
    complete(bp);
    return r.err;
}

void dg_config_enc_clamp(struct dg_blueprint *bp)
{
    const size_t most =
        bp->n_positions > bp->position_offset ? bp->n_positions - bp->position_offset : 0;
    if (bp->positions == DG_POS_LEARNED && bp->source_len_max > most)
        bp->source_len_max = most;
    bp->target_len_max = 2; /* there is no target, and 2 is the smallest valid length */
    bp->n_beams = 1;
}

/* ---- Labels ---------------------------------------------------------------------------------- */

static enum dg_err add_label(struct dg_labels *labels, const struct dg_json *names, size_t i,
                             struct dg_error *error)
{
    char number[24], usual[32];
    snprintf(number, sizeof number, "%zu", i);
    snprintf(usual, sizeof usual, "LABEL_%zu", i);
    struct dg_span label = dg_span_cstr(usual);
    enum dg_err err =
        names ? dg_json_get_string(names, number, DG_JSON_REQUIRED, error, &label) : DG_OK;
    if (err)
        return dg_error_wrap(error, err, "id2label");
    err = dg_labels_add(labels, label);
    if (!err && labels->n == i)
        err = DG_ERR_EXISTS;
    return err ? dg_error_set(error, err,
                              "id2label: label %zu is empty, longer than %d bytes, of several "
                              "lines, or there twice "
                              "(or there are more than %d)",
                              i, DG_LABELS_LEN_MAX, DG_LABELS_MAX)
               : DG_OK;
}

enum dg_err dg_config_enc_labels(struct dg_labels *labels, struct dg_span config,
                                 struct dg_error *error)
{
    const struct dg_json_limits limits = {
        .max_bytes = CONFIG_BYTES, .max_depth = 32, .max_values = 100 * 1000};
    struct dg_json *json = NULL;
    const struct dg_json *names = NULL;
    struct dg_config_fields r = {NULL, error, dg_json_parse(config, &limits, error, &json)};
    r.object = json;
    const size_t n = r.err ? 0 : count_labels(&r);
    if (!r.err)
        r.err = dg_json_get_object(json, "id2label", DG_JSON_OPTIONAL, error, &names);
    if (names && dg_json_len(names) == 0)
        names = NULL;
    for (size_t i = 0; i < n && !r.err; i++)
        r.err = add_label(labels, names, i, error);
    dg_json_free(json);
    return r.err;
}

/* ---- Ours ------------------------------------------------------------------------------------ */

static const char *const head_names[] = {"none",  "words",    "pooled", "tokens",
                                         "spans", "replaced", NULL};
/* as older files of our own have them */
static const char *const rule_names[] = {"one", "each", "number", NULL};
static const char *const pooler_names[] = {"tanh", "relu", "gelu", NULL};

enum dg_err dg_config_enc_read_own(struct dg_blueprint *bp, const struct dg_json *config,
                                   struct dg_error *error)
{
    struct dg_config_fields r = {config, error, DG_OK};
    bp->D = dg_config_need(&r, "d_model");
    bp->encoder.n_layers = dg_config_need(&r, "encoder_layers");
    bp->encoder.H = dg_config_need(&r, "encoder_attention_heads");
    bp->encoder.F = dg_config_need(&r, "encoder_ffn_dim");
    bp->encoder.V = dg_config_need(&r, "vocab_size");
    bp->decoder.V = dg_config_need(&r, "outputs");
    bp->enc.head = (enum dg_head)dg_config_choice(&r, "head", head_names, DG_HEAD_NONE);
    bp->enc.head_activation = dg_config_activation(&r, "head_activation", DG_ACT_GELU_ERF);
    bp->enc.pooler = (enum dg_pooler)dg_config_choice(&r, "pooler", pooler_names, DG_POOLER_TANH);
    const int rule = dg_config_choice(&r, "label_rule", rule_names, DG_LABELS_ONE);
    bp->enc.rule = (enum dg_label_rule)dg_config_choice(&r, "problem_type", problem_types, rule);
    bp->enc.n_types = dg_config_size(&r, "segments", 0);
    bp->enc.separators = dg_config_size(&r, "separators", 1);
    bp->tie_output = dg_config_flag(&r, "tie_word_embeddings", bp->enc.head == DG_HEAD_WORDS);
    bp->output_bias = bp->enc.head == DG_HEAD_WORDS;
    bp->activation = dg_config_activation(&r, "activation_function", DG_ACT_GELU_ERF);
    bp->norm_place =
        (enum dg_norm_place)dg_config_choice(&r, "norm_place", dg_config_norm_places, DG_NORM_POST);
    const enum dg_norm_kind kind =
        (enum dg_norm_kind)dg_config_choice(&r, "norm_kind", dg_config_norm_kinds, DG_NORM_LAYER);
    bp->norm_epsilon = (float)dg_config_real(&r, "norm_epsilon", 1e-12);
    bp->embedding_norm = dg_config_flag(&r, "embedding_norm", true);
    bp->final_norm = dg_config_flag(&r, "final_norm", false);
    bp->positions =
        (enum dg_positions)dg_config_choice(&r, "positions", dg_config_positions, DG_POS_LEARNED);
    bp->position_offset = dg_config_size(&r, "position_offset", 0);
    bp->n_positions = dg_config_size(&r, "n_positions", 0);
    complete(bp);
    bp->norm_kind = kind;
    return r.err;
}

enum dg_err dg_config_enc_print(const struct dg_blueprint *bp, struct dg_buf *out)
{
    const struct dg_enc *enc = &bp->enc;
    return dg_buf_printf(
        out,
        "{\n  \"model_type\": \"dragoman\",\n  \"family\": \"encoder\",\n  \"d_model\": %zu,\n"
        "  \"encoder_layers\": %zu,\n  \"encoder_attention_heads\": %zu,\n  \"encoder_ffn_dim\": "
        "%zu,\n"
        "  \"vocab_size\": %zu,\n  \"outputs\": %zu,\n  \"head\": \"%s\",\n  \"head_activation\": "
        "\"%s\",\n"
        "  \"pooler\": \"%s\",\n  \"problem_type\": \"%s\",\n  \"segments\": %zu,\n  "
        "\"separators\": %zu,\n"
        "  \"tie_word_embeddings\": %s,\n  \"activation_function\": \"%s\",\n  \"norm_place\": "
        "\"%s\",\n"
        "  \"norm_kind\": \"%s\",\n  \"norm_epsilon\": %.9g,\n  \"embedding_norm\": %s,\n  "
        "\"final_norm\": %s,\n"
        "  \"positions\": \"%s\",\n  \"position_offset\": %zu,\n  \"n_positions\": %zu,\n",
        bp->D, bp->encoder.n_layers, bp->encoder.H, bp->encoder.F, bp->encoder.V, bp->decoder.V,
        dg_head_name(enc->head), dg_activation_name(enc->head_activation),
        pooler_names[enc->pooler], problem_types[enc->rule], enc->n_types, enc->separators,
        dg_config_truth(bp->tie_output), dg_activation_name(bp->activation),
        dg_config_norm_places[bp->norm_place], dg_config_norm_kinds[bp->norm_kind],
        (double)bp->norm_epsilon, dg_config_truth(bp->embedding_norm),
        dg_config_truth(bp->final_norm), dg_positions_name(bp->positions), bp->position_offset,
        bp->n_positions);
}
