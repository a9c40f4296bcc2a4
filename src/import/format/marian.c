/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The configuration's keys are collected with Marian's own defaults, then checked. The names of
 * parameters are in one table. */
#include "import/format/marian.h"
#include "import/container/yaml_in.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_CAP = 64 };

/* ---- Configuration --------------------------------------------------------------------------- */

/* The keys that matter, with Marian's defaults. */
enum key {
    TYPE,
    DIM_EMB,
    ENC_DEPTH,
    DEC_DEPTH,
    HEADS,
    DIM_FFN,
    DECODER_DIM_FFN,
    FFN_DEPTH,
    DECODER_FFN_DEPTH,
    FFN_ACTIVATION,
    PREPROCESS,
    POSTPROCESS,
    POSTPROCESS_EMB,
    POSTPROCESS_TOP,
    AUTOREG,
    DEC_CELL,
    DEC_CELL_BASE_DEPTH,
    DEC_CELL_HIGH_DEPTH,
    ENC_TYPE,
    ENC_CELL,
    ENC_CELL_DEPTH,
    DIM_RNN,
    SKIP,
    ORIGINAL_TYPE,
    DIM_AAN,
    AAN_DEPTH,
    AAN_ACTIVATION,
    AAN_NOGATE,
    TIED,
    TIED_SRC,
    TIED_ALL,
    NO_PROJECTION,
    RNN_PROJECTION,
    LAYER_NORMALIZATION,
    RIGHT_LEFT,
    OMIT_BIAS,
    NO_BIAS,
    NO_AFFINE,
    NO_POSITIONS,
    ULR,
    LEMMA,
    ALIBI,
    FACTORS,
    GUIDED_LAYER,
    VERSION,
    N_KEYS
};

static const struct {
    const char *name, *otherwise;
} keys[N_KEYS] = {
    [TYPE] = {"type", ""},
    [DIM_EMB] = {"dim-emb", "512"},
    [ENC_DEPTH] = {"enc-depth", "1"},
    [DEC_DEPTH] = {"dec-depth", "1"},
    [HEADS] = {"transformer-heads", "8"},
    [DIM_FFN] = {"transformer-dim-ffn", "2048"},
    [DECODER_DIM_FFN] = {"transformer-decoder-dim-ffn", "0"},
    [FFN_DEPTH] = {"transformer-ffn-depth", "2"},
    [DECODER_FFN_DEPTH] = {"transformer-decoder-ffn-depth", "0"},
    [FFN_ACTIVATION] = {"transformer-ffn-activation", "swish"},
    [PREPROCESS] = {"transformer-preprocess", ""},
    [POSTPROCESS] = {"transformer-postprocess", "dan"},
    [POSTPROCESS_EMB] = {"transformer-postprocess-emb", "d"},
    [POSTPROCESS_TOP] = {"transformer-postprocess-top", ""},
    [AUTOREG] = {"transformer-decoder-autoreg", "self-attention"},
    [DEC_CELL] = {"dec-cell", "gru"},
    [DEC_CELL_BASE_DEPTH] = {"dec-cell-base-depth", "2"},
    [DEC_CELL_HIGH_DEPTH] = {"dec-cell-high-depth", "1"},
    [ENC_TYPE] = {"enc-type", "bidirectional"},
    [ENC_CELL] = {"enc-cell", "gru"},
    [ENC_CELL_DEPTH] = {"enc-cell-depth", "1"},
    [DIM_RNN] = {"dim-rnn", "1024"},
    [SKIP] = {"skip", "false"},
    [ORIGINAL_TYPE] = {"original-type", ""},
    [DIM_AAN] = {"transformer-dim-aan", "2048"},
    [AAN_DEPTH] = {"transformer-aan-depth", "2"},
    [AAN_ACTIVATION] = {"transformer-aan-activation", "swish"},
    [AAN_NOGATE] = {"transformer-aan-nogate", "false"},
    [TIED] = {"tied-embeddings", "false"},
    [TIED_SRC] = {"tied-embeddings-src", "false"},
    [TIED_ALL] = {"tied-embeddings-all", "false"},
    [NO_PROJECTION] = {"transformer-no-projection", "false"},
    [RNN_PROJECTION] = {"transformer-rnn-projection", "false"},
    [LAYER_NORMALIZATION] = {"layer-normalization", "false"},
    [RIGHT_LEFT] = {"right-left", "false"},
    [OMIT_BIAS] = {"output-omit-bias", "false"},
    [NO_BIAS] = {"transformer-no-bias", "false"},
    [NO_AFFINE] = {"transformer-no-affine", "false"},
    [NO_POSITIONS] = {"transformer-disable-position-embeddings", "false"},
    [ULR] = {"ulr", "false"},
    [LEMMA] = {"lemma-dim-emb", "0"},
    [ALIBI] = {"transformer-alibi-decoder", "false"},
    [FACTORS] = {"factors-dim-emb", "0"},
    [GUIDED_LAYER] = {"transformer-guided-alignment-layer", "last"},
    [VERSION] = {"version", ""},
};

struct config {
    char values[N_KEYS][VALUE_CAP];
    const char *name;
    struct dg_error *error;
};

static enum dg_err on_value(void *ctx, struct dg_span key, long index, struct dg_span value,
                            struct dg_error *error)
{
    struct config *config = ctx;
    for (size_t i = 0; i < N_KEYS && index == DG_YAML_SCALAR; i++) {
        if (!dg_span_eq(key, dg_span_cstr(keys[i].name)))
            continue;
        if (value.len >= VALUE_CAP)
            return dg_error_set(error, DG_ERR_FORMAT, "%s: key '%s' has a value of %zu bytes",
                                config->name, keys[i].name, value.len);
        snprintf(config->values[i], VALUE_CAP, "%.*s", DG_SPAN_FMT(value));
    }
    return DG_OK;
}

static enum dg_err refuse(const struct config *config, enum key key, const char *expected)
{
    return dg_error_set(config->error, DG_ERR_UNSUPPORTED, "%s: key '%s' is '%s', expected %s",
                        config->name, keys[key].name, config->values[key], expected);
}

static bool is(const struct config *config, enum key key, const char *value)
{
    return strcmp(config->values[key], value) == 0;
}

static enum dg_err read_size(const struct config *config, enum key key, size_t *size)
{
    const char *text = config->values[key];
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || value > 1 << 20)
        return refuse(config, key, "a number up to 1048576");
    *size = value;
    return DG_OK;
}

static enum dg_err read_sizes(const struct config *config, struct dg_blueprint *bp)
{
    size_t depth, decoder_depth;
    enum dg_err err = read_size(config, DIM_EMB, &bp->D);
    if (!err)
        err = read_size(config, ENC_DEPTH, &bp->encoder.n_layers);
    if (!err)
        err = read_size(config, DEC_DEPTH, &bp->decoder.n_layers);
    if (!err)
        err = read_size(config, HEADS, &bp->encoder.H);
    if (!err)
        err = read_size(config, DIM_FFN, &bp->encoder.F);
    if (!err)
        err = read_size(config, DECODER_DIM_FFN, &bp->decoder.F);
    if (!err)
        err = read_size(config, FFN_DEPTH, &depth);
    if (!err)
        err = read_size(config, DECODER_FFN_DEPTH, &decoder_depth);
    if (err)
        return err;
    bp->decoder.H = bp->encoder.H;
    if (bp->decoder.F == 0)
        bp->decoder.F = bp->encoder.F;
    if (depth != 2)
        return refuse(config, FFN_DEPTH, "2");
    if (decoder_depth != 0 && decoder_depth != 2)
        return refuse(config, DECODER_FFN_DEPTH, "2");
    bp->embedding_scale = sqrtf((float)bp->D);
    return DG_OK;
}

static bool is_recurrent(const struct config *config)
{
    return is(config, TYPE, "s2s") || is(config, TYPE, "amun") || is(config, TYPE, "nematus");
}

/* Refuses keys that change the network in ways that a blueprint cannot describe. */
static enum dg_err check_switches(const struct config *config)
{
    static const enum key off[] = {NO_PROJECTION, RNN_PROJECTION, LAYER_NORMALIZATION,
                                   RIGHT_LEFT,    NO_BIAS,        NO_AFFINE,
                                   ULR,           ALIBI};
    if (!is(config, LEMMA, "0"))
        return refuse(config, LEMMA, "0 (factored vocabularies are not supported)");
    if (!is(config, FACTORS, "0"))
        return refuse(config, FACTORS, "0 (factored vocabularies are not supported)");
    if (is_recurrent(config))
        return is(config, RIGHT_LEFT, "true") ? refuse(config, RIGHT_LEFT, "false") : DG_OK;
    if (!is(config, TYPE, "transformer"))
        return refuse(config, TYPE, "transformer, s2s, amun or nematus");
    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
        if (is(config, off[i], "true"))
            return refuse(config, off[i], "false");
    return DG_OK;
}

/* Up to version 1.12.0 Marian's "gelu" is x * sigmoid(1.702 x). A version is "v1.9.56 2781d73 ...";
 * a file without a version counts as old. */
static bool has_quick_gelu(const struct config *config)
{
    const char *at = config->values[VERSION];
    unsigned long parts[3] = {0};
    at += *at == 'v';
    for (size_t i = 0; i < 3 && *at >= '0' && *at <= '9'; i++) {
        char *end;
        parts[i] = strtoul(at, &end, 10);
        at = end + (*end == '.');
    }
    return parts[0] < 1 || (parts[0] == 1 && (parts[1] < 12 || (parts[1] == 12 && parts[2] == 0)));
}

static enum dg_err read_activation(const struct config *config, enum key key, bool is_bergamot,
                                   enum dg_activation *activation)
{
    if (is(config, key, "relu"))
        *activation = DG_ACT_RELU;
    else if (is(config, key, "swish"))
        *activation = DG_ACT_SILU;
    else if (is(config, key, "gelu"))
        *activation = is_bergamot || has_quick_gelu(config) ? DG_ACT_GELU_QUICK : DG_ACT_GELU_ERF;
    else
        return refuse(config, key, "relu, swish or gelu");
    return DG_OK;
}

/* Removes 'd' (dropout) from the strings of operations, since it does nothing here. */
static void strip_dropout(char *ops)
{
    char *to = ops;
    for (const char *from = ops; *from; from++)
        if (*from != 'd')
            *to++ = *from;
    *to = '\0';
}

static enum dg_err read_norms(struct config *config, struct dg_blueprint *bp)
{
    for (enum key key = PREPROCESS; key <= POSTPROCESS_TOP; key++)
        strip_dropout(config->values[key]);
    bool post_rms = is(config, POSTPROCESS, "ar"), pre_rms = is(config, PREPROCESS, "r");
    bool post = post_rms || is(config, POSTPROCESS, "an");
    bool pre = pre_rms || is(config, PREPROCESS, "n");
    if (post && is(config, PREPROCESS, "")) {
        bp->norm_place = DG_NORM_POST;
    } else if (pre && is(config, POSTPROCESS, "a")) {
        bp->norm_place = DG_NORM_PRE;
        bp->norm_queries_only = true;
    } else if (pre || post || !is(config, PREPROCESS, "")) {
        return refuse(config, PREPROCESS,
                      "'' with postprocess 'dan', or 'n' with postprocess 'da'");
    } else {
        return refuse(config, POSTPROCESS, "'dan', or 'da' with preprocess 'n'");
    }
    bp->norm_kind = post_rms || pre_rms ? DG_NORM_RMS : DG_NORM_LAYER;
    const char *norm = bp->norm_kind == DG_NORM_RMS ? "r" : "n";
    bp->final_norm = is(config, POSTPROCESS_TOP, norm);
    bp->embedding_norm = is(config, POSTPROCESS_EMB, norm);
    if (!bp->final_norm && !is(config, POSTPROCESS_TOP, ""))
        return refuse(config, POSTPROCESS_TOP, "'' or the layers' own norm");
    if (!bp->embedding_norm && !is(config, POSTPROCESS_EMB, ""))
        return refuse(config, POSTPROCESS_EMB, "'d' or the layers' own norm");
    return DG_OK;
}

static enum dg_err read_decoder(const struct config *config, struct dg_blueprint *bp)
{
    if (is(config, AUTOREG, "self-attention")) {
        bp->decoder_kind = DG_DECODER_ATTENTION;
        return DG_OK;
    }
    if (is(config, AUTOREG, "rnn")) {
        bp->decoder_kind = DG_DECODER_SSRU;
        return is(config, DEC_CELL, "ssru") ? DG_OK : refuse(config, DEC_CELL, "ssru");
    }
    if (!is(config, AUTOREG, "average-attention"))
        return refuse(config, AUTOREG, "self-attention, rnn or average-attention");
    bp->decoder_kind = DG_DECODER_AAN;
    bp->aan_gate = is(config, AAN_NOGATE, "false");
    if (!is(config, AAN_ACTIVATION, config->values[FFN_ACTIVATION]))
        return refuse(config, AAN_ACTIVATION, "the same as transformer-ffn-activation");
    enum dg_err err = read_size(config, DIM_AAN, &bp->aan_F);
    return err ? err : read_size(config, AAN_DEPTH, &bp->aan_depth);
}

/* Reads the kind of cell; without norms, nematus's GRU is the ordinary one. */
static enum dg_err read_cells(const struct config *config, struct dg_blueprint *bp)
{
    const bool has_nematus_norms =
        bp->rnn.norm && (is(config, TYPE, "nematus") || is(config, ORIGINAL_TYPE, "nematus"));
    if (has_nematus_norms)
        return refuse(config, LAYER_NORMALIZATION, "false for networks of type nematus");
    if (is(config, ENC_CELL, "lstm"))
        bp->decoder_kind = DG_DECODER_LSTM;
    else if (is(config, ENC_CELL, "gru") || (is(config, ENC_CELL, "gru-nematus") && !bp->rnn.norm))
        bp->decoder_kind = DG_DECODER_GRU;
    else
        return refuse(config, ENC_CELL, "gru or lstm, or gru-nematus without layer-normalization");
    if (!is(config, DEC_CELL, config->values[ENC_CELL]))
        return refuse(config, DEC_CELL, "the same as enc-cell");
    if (is(config, ENC_TYPE, "alternating"))
        bp->rnn.encoder = DG_RNN_ALTERNATING;
    else if (is(config, ENC_TYPE, "bi-unidirectional"))
        bp->rnn.encoder = DG_RNN_BI_TOP;
    else if (!is(config, ENC_TYPE, "bidirectional"))
        return refuse(config, ENC_TYPE, "bidirectional, bi-unidirectional or alternating");
    return DG_OK;
}

static enum dg_err read_rnn(const struct config *config, struct dg_blueprint *bp)
{
    const struct {
        enum key key;
        size_t *size;
    } sizes[] = {{DIM_EMB, &bp->D},
                 {DIM_RNN, &bp->rnn.width},
                 {ENC_DEPTH, &bp->encoder.n_layers},
                 {DEC_DEPTH, &bp->decoder.n_layers},
                 {ENC_CELL_DEPTH, &bp->rnn.encoder_cells},
                 {DEC_CELL_BASE_DEPTH, &bp->rnn.base_cells},
                 {DEC_CELL_HIGH_DEPTH, &bp->rnn.high_cells}};
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !err; i++)
        err = read_size(config, sizes[i].key, sizes[i].size);
    bp->family = DG_FAMILY_RNN;
    bp->encoder.H = bp->encoder.F = bp->decoder.H = bp->decoder.F = 1;
    bp->positions = DG_POS_NONE;
    bp->embedding_scale = 1;
    bp->norm_epsilon = 1e-9f;
    bp->rnn.skip = is(config, SKIP, "true");
    bp->rnn.norm = is(config, LAYER_NORMALIZATION, "true");
    return err ? err : read_cells(config, bp);
}

/* Marian takes alignments from the first head of one layer. */
static enum dg_err read_alignment(const struct config *config, struct dg_blueprint *bp)
{
    bp->alignment_layer = bp->decoder.n_layers;
    bp->alignment_head = 1;
    if (is(config, GUIDED_LAYER, "last"))
        return DG_OK;
    enum dg_err err = read_size(config, GUIDED_LAYER, &bp->alignment_layer);
    if (!err && (bp->alignment_layer < 1 || bp->alignment_layer > bp->decoder.n_layers))
        return refuse(config, GUIDED_LAYER, "last or the number of a layer of the decoder");
    return err;
}

static enum dg_err read_transformer(struct config *config, struct dg_blueprint *bp,
                                    bool is_bergamot)
{
    enum dg_err err = read_sizes(config, bp);
    if (!err)
        err = read_activation(config, FFN_ACTIVATION, is_bergamot, &bp->activation);
    if (!err)
        err = read_norms(config, bp);
    if (!err)
        err = read_decoder(config, bp);
    if (!err)
        err = read_alignment(config, bp);
    if (is(config, NO_POSITIONS, "true"))
        bp->positions = DG_POS_NONE;
    return err;
}

enum dg_err dg_marian_config(struct dg_blueprint *bp, struct dg_span yaml, bool is_bergamot,
                             const char *name, struct dg_error *error)
{
    struct config config = {.name = name, .error = error};
    for (size_t i = 0; i < N_KEYS; i++)
        snprintf(config.values[i], VALUE_CAP, "%s", keys[i].otherwise);
    const char *nul = yaml.len ? memchr(yaml.ptr, '\0', yaml.len) : NULL;
    if (nul)
        yaml.len = (size_t)(nul - yaml.ptr);
    enum dg_err err = dg_yaml_visit(yaml, name, on_value, &config, error);
    if (!err)
        err = check_switches(&config);
    if (err)
        return err;
    *bp = (struct dg_blueprint){.norm_epsilon = 1e-6f,
                                .positions = DG_POS_HALVES_CLOSED,
                                .pad_id = DG_ID_NONE,
                                .bos_id = DG_ID_NONE,
                                .start = DG_START_ZERO,
                                .start_id = DG_ID_NONE,
                                .forced_bos_id = DG_ID_NONE,
                                .forced_eos_id = DG_ID_NONE,
                                .source_len_max = 512,
                                .target_len_max = 511,
                                .n_beams = 4,
                                .length_penalty = 1};
    err =
        is_recurrent(&config) ? read_rnn(&config, bp) : read_transformer(&config, bp, is_bergamot);
    bp->tie_source_target = is(&config, TIED_SRC, "true") || is(&config, TIED_ALL, "true");
    bp->tie_output = is(&config, TIED, "true") || is(&config, TIED_ALL, "true");
    bp->output_bias = is(&config, OMIT_BIAS, "false");
    return err;
}

enum dg_marian_file dg_marian_file_of(const char *name)
{
    if (strstr(name, ".optimizer."))
        return DG_MARIAN_OTHER;
    return strstr(name, ".best-") || strstr(name, ".orig.") ? DG_MARIAN_COPY : DG_MARIAN_MODEL;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* The part of a name after encoder_l<i>_ or decoder_l<i>_, and our part after
 * model.<side>.layers.<i>. */
static const struct {
    const char *marian, *ours;
} in_layer[] = {
    {"self_Wq", "self_attn.q_proj.weight"},
    {"self_bq", "self_attn.q_proj.bias"},
    {"self_Wk", "self_attn.k_proj.weight"},
    {"self_bk", "self_attn.k_proj.bias"},
    {"self_Wv", "self_attn.v_proj.weight"},
    {"self_bv", "self_attn.v_proj.bias"},
    {"self_Wo", "self_attn.out_proj.weight"},
    {"self_bo", "self_attn.out_proj.bias"},
    {"self_Wo_ln_scale", "self_attn_layer_norm.weight"},
    {"self_Wo_ln_bias", "self_attn_layer_norm.bias"},
    {"self_Wo_rms_scale", "self_attn_layer_norm.weight"},
    {"context_Wq", "encoder_attn.q_proj.weight"},
    {"context_bq", "encoder_attn.q_proj.bias"},
    {"context_Wk", "encoder_attn.k_proj.weight"},
    {"context_bk", "encoder_attn.k_proj.bias"},
    {"context_Wv", "encoder_attn.v_proj.weight"},
    {"context_bv", "encoder_attn.v_proj.bias"},
    {"context_Wo", "encoder_attn.out_proj.weight"},
    {"context_bo", "encoder_attn.out_proj.bias"},
    {"context_Wo_ln_scale", "encoder_attn_layer_norm.weight"},
    {"context_Wo_ln_bias", "encoder_attn_layer_norm.bias"},
    {"context_Wo_rms_scale", "encoder_attn_layer_norm.weight"},
    {"ffn_W1", "fc1.weight"},
    {"ffn_b1", "fc1.bias"},
    {"ffn_W2", "fc2.weight"},
    {"ffn_b2", "fc2.bias"},
    {"ffn_ffn_ln_scale", "final_layer_norm.weight"},
    {"ffn_ffn_ln_bias", "final_layer_norm.bias"},
    {"ffn_ffn_rms_scale", "final_layer_norm.weight"},
    {"rnn_W", "ssru.candidate.weight"},
    {"rnn_Wf", "ssru.forget.weight"},
    {"rnn_bf", "ssru.forget.bias"},
    {"rnn_ffn_ln_scale", "self_attn_layer_norm.weight"},
    {"rnn_ffn_ln_bias", "self_attn_layer_norm.bias"},
    {"rnn_ffn_rms_scale", "self_attn_layer_norm.weight"},
    {"rnn_ln_scale", "self_attn_layer_norm.weight"},
    {"rnn_ln_bias", "self_attn_layer_norm.bias"},
    {"aan_Wi", "aan.input_gate.weight"},
    {"aan_bi", "aan.input_gate.bias"},
    {"aan_Wf", "aan.forget_gate.weight"},
    {"aan_bf", "aan.forget_gate.bias"},
    {"aan_ffn_ln_scale", "self_attn_layer_norm.weight"},
    {"aan_ffn_ln_bias", "self_attn_layer_norm.bias"},
    {"aan_ffn_rms_scale", "self_attn_layer_norm.weight"},
};

/* Names outside the layers; `transposed` says that Marian's matrix is [in, out]. */
static const struct {
    const char *marian, *ours;
    bool transposed;
} outside[] = {
    {"Wemb", "model.shared.weight", false},
    {"encoder_Wemb", "model.encoder.embed_tokens.weight", false},
    {"decoder_Wemb", "model.decoder.embed_tokens.weight", false},
    {"decoder_ff_logit_out_W", "lm_head.weight", true},
    {"decoder_ff_logit_out_Wt", "lm_head.weight", false},
    {"decoder_ff_logit_out_b", "final_logits_bias", false},
    {"encoder_emb_ln_scale_pre", "model.encoder.layernorm_embedding.weight", false},
    {"encoder_emb_ln_bias_pre", "model.encoder.layernorm_embedding.bias", false},
    {"encoder_emb_rms_scale_pre", "model.encoder.layernorm_embedding.weight", false},
    {"decoder_emb_ln_scale_pre", "model.decoder.layernorm_embedding.weight", false},
    {"decoder_emb_ln_bias_pre", "model.decoder.layernorm_embedding.bias", false},
    {"decoder_emb_rms_scale_pre", "model.decoder.layernorm_embedding.weight", false},
    {"encoder_top_ln_scale", "model.encoder.layer_norm.weight", false},
    {"encoder_top_ln_bias", "model.encoder.layer_norm.bias", false},
    {"encoder_top_rms_scale", "model.encoder.layer_norm.weight", false},
    {"decoder_top_ln_scale", "model.decoder.layer_norm.weight", false},
    {"decoder_top_ln_bias", "model.decoder.layer_norm.bias", false},
    {"decoder_top_rms_scale", "model.decoder.layer_norm.weight", false},
};

/* Translates names such as "aan_W3" and "aan_b3", which have no rows of their own. */
static bool translate_aan(const char *rest, char *ours, size_t cap)
{
    bool weight = strncmp(rest, "aan_W", 5) == 0;
    if ((!weight && strncmp(rest, "aan_b", 5) != 0) || rest[5] < '1' || rest[5] > '8' || rest[6])
        return false;
    snprintf(ours, cap, "aan.fc%c.%s", rest[5], weight ? "weight" : "bias");
    return true;
}

/* Translates the part after the layer's number; norms before a sublayer have "_pre". */
static bool translate_rest(const char *rest, char *ours, size_t cap)
{
    char base[64];
    size_t len = strlen(rest);
    if (len >= sizeof base)
        return false;
    snprintf(base, sizeof base, "%s", rest);
    if (len > 4 && strcmp(base + len - 4, "_pre") == 0)
        base[len - 4] = '\0';
    for (size_t i = 0; i < sizeof in_layer / sizeof *in_layer; i++) {
        if (strcmp(base, in_layer[i].marian) == 0) {
            snprintf(ours, cap, "%s", in_layer[i].ours);
            return true;
        }
    }
    return translate_aan(rest, ours, cap);
}

/* Translates encoder_l3_REST. Marian counts layers from 1, we count from 0. */
static bool translate_layer(const char *name, char *ours, size_t cap)
{
    bool encoder = strncmp(name, "encoder_l", 9) == 0;
    if (!encoder && strncmp(name, "decoder_l", 9) != 0)
        return false;
    char *end, rest[64];
    unsigned long layer = strtoul(name + 9, &end, 10);
    if (name[9] < '1' || name[9] > '9' || *end != '_' || layer > 1000 ||
        !translate_rest(end + 1, rest, sizeof rest))
        return false;
    snprintf(ours, cap, "model.%s.layers.%lu.%s", encoder ? "encoder" : "decoder", layer - 1, rest);
    return true;
}

static bool translate(const char *name, char *ours, size_t cap, bool *transposed)
{
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        if (strcmp(name, outside[i].marian) == 0) {
            snprintf(ours, cap, "%s", outside[i].ours);
            *transposed = outside[i].transposed;
            return true;
        }
    }
    *transposed = true;
    return translate_layer(name, ours, cap);
}

static bool ends(const char *name, const char *end)
{
    return dg_span_ends(dg_span_cstr(name), dg_span_cstr(end));
}

/* Marian stores every vector as a row [1, n]. */
static bool is_vector(const char *name)
{
    return ends(name, "bias") || ends(name, "norm.weight") ||
           ends(name, "layernorm_embedding.weight");
}

static enum dg_err add(struct dg_import *import, const char *name, bool transposed,
                       enum dg_dtype dtype, unsigned rank, const size_t *shape, size_t blob,
                       struct dg_error *error)
{
    size_t ours[DG_TENSOR_RANK_MAX];
    memcpy(ours, shape, sizeof ours);
    if (is_vector(name) && rank == 2 && shape[0] == 1) {
        rank = 1;
        ours[0] = shape[1];
    } else if (ends(name, "score.weight") && rank == 2 && shape[1] == 1) {
        rank = 1; /* the vector is a column */
    } else if (rank == 2 && transposed) {
        ours[0] = shape[1];
        ours[1] = shape[0];
    }
    struct dg_import_tensor *tensor = dg_import_add(import, name, dtype, rank, ours);
    if (!tensor)
        return dg_error_set(error, DG_ERR_LIMIT, "too many tensors");
    tensor->blob = blob;
    if (rank == 2 && transposed) {
        tensor->strides[0] = 1;
        tensor->strides[1] = ours[0];
    }
    return DG_OK;
}

enum dg_err dg_marian_add(struct dg_import *import, const char *name, enum dg_dtype dtype,
                          unsigned rank, const size_t *shape, size_t blob, struct dg_error *error)
{
    char ours[DG_LAYOUT_NAME_CAP];
    bool transposed = false;
    if (dg_blueprint_family(&import->bp)->is_recurrent) {
        if (dg_marian_rnn_is_remainder(name))
            return DG_OK;
        bool is_known =
            dg_marian_rnn_name(name, import->bp.tie_source_target, ours, sizeof ours, &transposed);
        return add(import, is_known ? ours : name, is_known && transposed, dtype, rank, shape, blob,
                   error);
    }
    if (strcmp(name, "Wpos") == 0) { /* one learned table for both sides */
        import->bp.positions = DG_POS_LEARNED;
        import->bp.n_positions = shape[0];
        import->bp.embedding_scale = 1;
        enum dg_err err = add(import, "model.encoder.embed_positions.weight", false, dtype, rank,
                              shape, blob, error);
        return err ? err
                   : add(import, "model.decoder.embed_positions.weight", false, dtype, rank, shape,
                         blob, error);
    }
    if (!translate(name, ours, sizeof ours, &transposed))
        return add(import, name, false, dtype, rank, shape, blob, error);
    return add(import, ours, transposed, dtype, rank, shape, blob, error);
}
