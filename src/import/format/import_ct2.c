/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Imports CTranslate2's networks. Fused projections (query, key, value in one matrix) become three
 * views of the same bytes. Aliases tell which matrices are tied. Scalars are the configuration; a
 * scalar that would change the mathematics in an unknown way is refused, with a sentence that names
 * it. */
#include "base/memory/mem.h"
#include "import/format/ct2.h"
#include "tensor/convert.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    LARGE = 4 << 20,
    LOADS_KEPT = 16,
    MODEL_MAX_LAYERS = 64,
    NAME_CAP = 160,
    TARGET_LEN_MAX = 256,
    SOURCE_LEN_MAX = 1024
};

/* ---- Scalars --------------------------------------------------------------------------------- */

/* Returns one element of a variable, which may be at any address. */
static double number_at(const struct dg_ct2_var *var, size_t at)
{
    int16_t i16;
    uint16_t half;
    int32_t i32;
    float real;
    switch (var->dtype) {
    case DG_DTYPE_I8:
        return (int8_t)var->bytes[at];
    case DG_DTYPE_I16:
        memcpy(&i16, var->bytes + 2 * at, sizeof i16);
        return i16;
    case DG_DTYPE_I32:
        memcpy(&i32, var->bytes + 4 * at, sizeof i32);
        return i32;
    case DG_DTYPE_F16:
        memcpy(&half, var->bytes + 2 * at, sizeof half);
        return (double)dg_convert_f16(half);
    case DG_DTYPE_BF16:
        memcpy(&half, var->bytes + 2 * at, sizeof half);
        return (double)dg_convert_bf16(half);
    default: /* F32: the format has no others */
        memcpy(&real, var->bytes + 4 * at, sizeof real);
        return (double)real;
    }
}

static bool is_scalar(const struct dg_ct2_var *var)
{
    return var->len == dg_dtype_size(var->dtype) && var->rank <= 1;
}

bool dg_ct2_scalar(const struct dg_ct2 *file, const char *name, double *value)
{
    const struct dg_ct2_var *var = dg_ct2_find(file, name);
    if (!var || !is_scalar(var))
        return false;
    *value = number_at(var, 0);
    return true;
}

/* Returns the value of "encoder/NAME", or before revision 5 of NAME, which holds for both sides. */
static double side_scalar(const struct dg_ct2 *file, const char *side, const char *name,
                          double otherwise)
{
    char full[NAME_CAP];
    double value;
    snprintf(full, sizeof full, "%s/%s", side, name);
    if (dg_ct2_scalar(file, full, &value) || dg_ct2_scalar(file, name, &value))
        return value;
    return otherwise;
}

/* Checks a scalar: switches must be off; scalars whose value is read elsewhere, and those that
 * cannot matter here, are accepted. */
static enum dg_err check_scalar(const struct dg_ct2 *file, const struct dg_ct2_var *var,
                                const struct dg_blueprint *bp, struct dg_error *error)
{
    static const char *const known[] = {"num_heads",
                                        "pre_norm",
                                        "activation",
                                        "embeddings_merge",
                                        "scale_embeddings",
                                        "multiply_by_sqrt_depth",
                                        "alignment_layer",
                                        "alignment_heads",
                                        "start_from_zero_embedding",
                                        "with_source_bos",
                                        "with_source_eos",
                                        "with_target_bos",
                                        "unk_token",
                                        "bos_token",
                                        "eos_token",
                                        "user_decoder_start_tokens"};
    const char *slash = strrchr(var->name, '/');
    const char *last = slash ? slash + 1 : var->name;
    double value = number_at(var, 0);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(last, known[i]) == 0)
            return DG_OK;
    double dh = bp->encoder.H ? (double)bp->D / (double)bp->encoder.H : 0;
    if (value == 0 || (strcmp(last, "scale_outputs") == 0 && value == 1) ||
        (strcmp(last, "head_dim") == 0 && value == dh) ||
        (strcmp(last, "num_heads_kv") == 0 && value == (double)bp->encoder.H) ||
        (strcmp(last, "queries_scale") == 0 && fabs(value * sqrt(dh) - 1) < 1e-4))
        return DG_OK;
    return dg_error_set(error, DG_ERR_UNSUPPORTED,
                        "%s: variable %s is %g: such networks are not supported", file->name,
                        var->name, value);
}

/* Refuses networks that a blueprint cannot describe. */
static enum dg_err check_kind(const struct dg_ct2 *file, struct dg_error *error)
{
    static const struct {
        const char *part, *what;
    } refused[] = {{"relative_asymmetric", "asymmetric relative positions"},
                   {"relative_attention", "biases for relative positions (T5)"},
                   {"linear_0_noact", "gated feed-forward layers"},
                   {"rotary", "rotary positions"},
                   {"embeddings_1/", "source features"},
                   {"weight_zero", "AWQ weights"},
                   {"project_in/", "projected embeddings"},
                   {"project_out/", "projected embeddings"}};
    static const char *const specs[] = {"TransformerSpec", "TransformerBase", "TransformerBig"};
    bool known = false;
    for (size_t i = 0; i < 3; i++)
        known = known || strcmp(file->spec, specs[i]) == 0;
    if (!known || file->revision < 2)
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "%s: offset 4: field 'specification' is %s, revision %u; expected "
                            "TransformerSpec (encoder and decoder), revision 2 or newer",
                            file->name, file->spec, (unsigned)file->revision);
    for (size_t v = 0; v < file->n_vars; v++)
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
            if (strstr(file->vars[v].name, refused[i].part))
                return dg_error_set(error, DG_ERR_UNSUPPORTED,
                                    "%s: variable %s: %s are not supported", file->name,
                                    file->vars[v].name, refused[i].what);
    return DG_OK;
}

/* ---- Blueprint ------------------------------------------------------------------------------- */

static const struct dg_ct2_var *embedding(const struct dg_ct2 *file, const char *side)
{
    char name[NAME_CAP];
    snprintf(name, sizeof name, "%s/embeddings_0/weight", side);
    const struct dg_ct2_var *var = dg_ct2_find(file, name);
    if (var)
        return var;
    snprintf(name, sizeof name, "%s/embeddings/weight", side);
    return dg_ct2_find(file, name);
}

static enum dg_err read_stack(const struct dg_ct2 *file, const char *side, struct dg_stack *stack,
                              size_t *D, struct dg_error *error)
{
    char name[NAME_CAP];
    const struct dg_ct2_var *words = embedding(file, side);
    if (!words || words->rank != 2)
        return dg_error_set(error, DG_ERR_FORMAT, "%s: there is no matrix %s/embeddings/weight",
                            file->name, side);
    *D = words->shape[1];
    stack->V = words->shape[0];
    for (; stack->n_layers <= MODEL_MAX_LAYERS; stack->n_layers++) {
        snprintf(name, sizeof name, "%s/layer_%zu/self_attention/linear_0/weight", side,
                 stack->n_layers);
        if (!dg_ct2_find(file, name))
            break;
    }
    snprintf(name, sizeof name, "%s/layer_0/ffn/linear_0/weight", side);
    const struct dg_ct2_var *ffn = dg_ct2_find(file, name);
    stack->F = ffn ? ffn->shape[0] : 0;
    double heads = strcmp(file->spec, "TransformerBase") == 0  ? 8
                   : strcmp(file->spec, "TransformerBig") == 0 ? 16
                                                               : 0;
    heads = side_scalar(file, side, "num_heads", heads);
    stack->H = heads >= 1 && heads < 65536 ? (size_t)heads : 0;
    return DG_OK;
}

/* Returns the factor of embeddings. A boolean says whether to multiply by sqrt(D); a real number is
 * the factor; absent means sqrt(D). */
static float embedding_scale(const struct dg_ct2 *file, size_t D)
{
    static const char *const names[] = {"encoder/scale_embeddings",
                                        "encoder/embeddings_0/multiply_by_sqrt_depth",
                                        "encoder/embeddings/multiply_by_sqrt_depth"};
    double value;
    for (size_t i = 0; i < 3; i++) {
        const struct dg_ct2_var *var = dg_ct2_find(file, names[i]);
        if (!var || !dg_ct2_scalar(file, names[i], &value))
            continue;
        if (var->dtype != DG_DTYPE_I8)
            return (float)value;
        return value != 0 ? sqrtf((float)D) : 1;
    }
    return sqrtf((float)D);
}

static bool has(const struct dg_ct2 *file, const char *name)
{
    return dg_ct2_find(file, name) != NULL;
}

static enum dg_err read_activation(const struct dg_ct2 *file, struct dg_blueprint *bp,
                                   struct dg_error *error)
{
    static const enum dg_activation activations[] = {DG_ACT_RELU, DG_ACT_GELU_TANH, DG_ACT_SILU,
                                                     DG_ACT_GELU_ERF, DG_ACT_GELU_QUICK};
    double code = side_scalar(file, "encoder", "activation", 0);
    if (code != side_scalar(file, "decoder", "activation", 0))
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "%s: variable 'activation' differs between encoder and decoder",
                            file->name);
    if (!(code >= 0 && code <= 4))
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "%s: variable 'activation' is %g, expected 0 to 4", file->name, code);
    bp->activation = activations[(size_t)code];
    return DG_OK;
}

/* Relative positions: the reach follows from the rows of the first table. Every self-attention has
 * one table for keys and one for values, which the matching of names checks. */
static enum dg_err read_reach(const struct dg_ct2 *file, struct dg_blueprint *bp,
                              struct dg_error *error)
{
    static const char name[] = "encoder/layer_0/self_attention/relative_position_keys";
    const struct dg_ct2_var *table = dg_ct2_find(file, name);
    if (!table)
        return DG_OK;
    if (table->rank != 2 || table->shape[0] < 3 || table->shape[0] % 2 == 0 ||
        table->dtype == DG_DTYPE_I8 || !dg_dtype_is_weight(table->dtype))
        return dg_error_set(
            error, DG_ERR_FORMAT,
            "%s: variable %s is not a matrix of real numbers with an odd number of rows, 3 or more",
            file->name, name);
    bp->relative_reach = table->shape[0] / 2;
    return DG_OK;
}

static enum dg_err read_blueprint(struct dg_import *import, const struct dg_ct2 *file,
                                  struct dg_error *error)
{
    struct dg_blueprint *bp = &import->bp;
    size_t D = 0;
    *bp = (struct dg_blueprint){.norm_epsilon = 1e-5f,
                                .pad_id = DG_ID_NONE,
                                .forced_bos_id = DG_ID_NONE,
                                .forced_eos_id = DG_ID_NONE,
                                .source_len_max = SOURCE_LEN_MAX,
                                .target_len_max = TARGET_LEN_MAX,
                                .n_beams = 2,
                                .length_penalty = 1};
    enum dg_err err = read_stack(file, "encoder", &bp->encoder, &bp->D, error);
    if (!err)
        err = read_stack(file, "decoder", &bp->decoder, &D, error);
    if (!err)
        err = read_activation(file, bp, error);
    if (!err)
        err = read_reach(file, bp, error);
    if (err)
        return err;
    bool pre = side_scalar(file, "encoder", "pre_norm", 1) != 0;
    if (D != bp->D || pre != (side_scalar(file, "decoder", "pre_norm", 1) != 0))
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "%s: encoder and decoder differ in width or in the place of norms",
                            file->name);
    bp->norm_place = pre ? DG_NORM_PRE : DG_NORM_POST;
    bp->final_norm = has(file, "encoder/layer_norm/gamma");
    bp->embedding_norm = has(file, "encoder/layernorm_embedding/gamma");
    bp->output_bias = has(file, "decoder/projection/bias");
    if (!has(file, "encoder/layer_0/self_attention/layer_norm/beta")) {
        bp->norm_kind = DG_NORM_RMS;
        bp->norm_epsilon = 1e-6f;
    }
    bp->embedding_scale = embedding_scale(file, bp->D);
    bp->start = side_scalar(file, "decoder", "start_from_zero_embedding", 0) != 0 ? DG_START_ZERO
                                                                                  : DG_START_TOKEN;
    const struct dg_ct2_var *out = dg_ct2_find(file, "decoder/projection/weight");
    bp->tie_source_target = embedding(file, "encoder") == embedding(file, "decoder");
    bp->tie_output = out && out == embedding(file, "decoder");
    return DG_OK;
}

/* ---- Positions ------------------------------------------------------------------------------- */

/* Single precision loses up to this much of the angle of a late position, and half precision of a
 * sine. */
static const double TABLE_BOUND = 2e-3;

/* Returns the largest difference between a stored table and a formula; gives up past the bound. */
static double table_error(const struct dg_ct2_var *table, enum dg_positions form, size_t offset)
{
    const size_t N = table->shape[0], D = table->shape[1], half = D / 2;
    const double divisor = form == DG_POS_HALVES ? (double)half : (double)half - 1;
    double worst = 0;
    for (size_t p = 0; p < N && worst < TABLE_BOUND; p++)
        for (size_t k = 0; k < half; k++) {
            double angle = (double)(p + offset) * pow(10000, -(double)k / divisor);
            double sine = number_at(table, p * D + k), cosine = number_at(table, p * D + half + k);
            if (!isfinite(sine) || !isfinite(cosine))
                return INFINITY;
            worst = fmax(worst, fmax(fabs(sine - sin(angle)), fabs(cosine - cos(angle))));
        }
    return worst;
}

/* Stored sinusoids are replaced by their formula, which has no last position; any other table is
 * kept. */
static bool recognise(const struct dg_ct2_var *table, struct dg_blueprint *bp)
{
    static const enum dg_positions forms[] = {DG_POS_HALVES, DG_POS_HALVES_CLOSED};
    double best = TABLE_BOUND;
    if (bp->D % 2 || bp->D < 4)
        return false;
    for (size_t i = 0; i < 6; i++) {
        double difference = table_error(table, forms[i % 2], i / 2);
        if (difference >= best)
            continue;
        best = difference;
        bp->positions = forms[i % 2];
        bp->position_offset = i / 2;
    }
    return best < TABLE_BOUND;
}

static enum dg_err read_positions(struct dg_import *import, const struct dg_ct2 *file,
                                  struct dg_error *error)
{
    static const char *const names[] = {"encoder/position_encodings/encodings",
                                        "decoder/position_encodings/encodings"};
    struct dg_blueprint *bp = &import->bp;
    const struct dg_ct2_var *tables[2] = {dg_ct2_find(file, names[0]), dg_ct2_find(file, names[1])};
    if (bp->relative_reach) { /* CTranslate2 then adds no others, whether or not the file has a
                                 table */
        bp->positions = DG_POS_NONE;
        return DG_OK;
    }
    if (!tables[0] && !tables[1]) {
        bp->positions = DG_POS_HALVES_CLOSED;
        bp->position_offset = 1;
        return DG_OK;
    }
    for (size_t i = 0; i < 2; i++)
        if (!tables[i] || tables[i]->rank != 2 || tables[i]->shape[1] != bp->D ||
            tables[i]->shape[0] == 0 || !dg_dtype_is_weight(tables[i]->dtype) ||
            tables[i]->dtype == DG_DTYPE_I8)
            return dg_error_set(
                error, DG_ERR_FORMAT,
                "%s: %s is missing, or is not a matrix of real numbers with %zu columns",
                file->name, names[i], bp->D);
    struct dg_blueprint other = *bp;
    if (recognise(tables[0], bp) && recognise(tables[1], &other) &&
        bp->positions == other.positions && bp->position_offset == other.position_offset)
        return DG_OK;
    bp->positions = DG_POS_LEARNED;
    bp->position_offset = 0;
    bp->n_positions =
        tables[0]->shape[0] < tables[1]->shape[0] ? tables[0]->shape[0] : tables[1]->shape[0];
    for (size_t i = 0; i < 2; i++) {
        const size_t shape[2] = {bp->n_positions, bp->D};
        struct dg_import_tensor *tensor = dg_import_add(import,
                                                        i ? "model.decoder.embed_positions.weight"
                                                          : "model.encoder.embed_positions.weight",
                                                        tables[i]->dtype, 2, shape);
        if (!tensor)
            return dg_error_set(error, DG_ERR_LIMIT, "too many tensors");
        tensor->blob = (size_t)(tables[i] - file->vars);
    }
    return DG_OK;
}

/* ---- Tensors --------------------------------------------------------------------------------- */

/* Reads all scales of an integer variable; the real number is q / scale. */
static enum dg_err read_scales(struct dg_import *import, const struct dg_ct2 *file,
                               const struct dg_ct2_var *var, const float **scales, size_t *n,
                               struct dg_error *error)
{
    char name[NAME_CAP * 4];
    static const float int16_default = 1000;
    *n = 0;
    if (var->dtype != DG_DTYPE_I8 && var->dtype != DG_DTYPE_I16)
        return DG_OK;
    snprintf(name, sizeof name, "%s_scale", var->name);
    const struct dg_ct2_var *found = dg_ct2_find(file, name);
    if (!found && var->dtype == DG_DTYPE_I16) {
        *scales = &int16_default;
        *n = 1;
        return DG_OK;
    }
    if (!found || found->dtype != DG_DTYPE_F32 || found->rank > 1 ||
        (found->len != sizeof(float) && found->shape[0] != var->shape[0]))
        return dg_error_set(error, DG_ERR_FORMAT,
                            "%s: %s holds integers, expected %s, F32, one or one a row", file->name,
                            var->name, name);
    float *copy = dg_arena_alloc(&import->arena, found->len);
    if (!copy)
        return DG_ERR_NOMEM;
    memcpy(copy, found->bytes, found->len);
    *n = found->len / sizeof(float);
    for (size_t i = 0; i < *n; i++)
        if (!(isfinite(copy[i]) && copy[i] > 0))
            return dg_error_set(error, DG_ERR_RANGE,
                                "%s: %s[%zu] is %g, expected a positive number", file->name, name,
                                i, (double)copy[i]);
    *scales = copy;
    return DG_OK;
}

/* Adds part `part` of `n_parts` equal parts of a variable's rows, under its canonical name. */
static enum dg_err add_part(struct dg_import *import, const struct dg_ct2 *file,
                            const struct dg_ct2_var *var, const char *ours, size_t part,
                            size_t n_parts, struct dg_error *error)
{
    const float *scales = NULL;
    size_t n_scales = 0;
    enum dg_err err = read_scales(import, file, var, &scales, &n_scales, error);
    if (err)
        return err;
    if (var->rank < 1 || var->rank > 2 || var->shape[0] % n_parts)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "%s: %s has rank %u and %zu rows, expected %zu equal parts", file->name,
                            var->name, var->rank, var->shape[0], n_parts);
    size_t rows = var->shape[0] / n_parts;
    const size_t shape[2] = {rows, var->shape[1]};
    struct dg_import_tensor *tensor = dg_import_add(import, ours, var->dtype, var->rank, shape);
    if (!tensor)
        return dg_error_set(error, DG_ERR_LIMIT, "too many tensors");
    tensor->blob = (size_t)(var - file->vars);
    tensor->offset = part * rows * var->shape[1]; /* at most len, which was checked */
    tensor->scale_divides = true;
    tensor->n_scales = n_scales > 1 ? rows : n_scales;
    tensor->scales = n_scales > 1 ? scales + part * rows : scales;
    return DG_OK;
}

/* The canonical name of a linear layer or norm of CTranslate2: one name, or one for each of its
 * parts. */
struct role {
    const char *ct2;
    const char *ours[3];
    bool is_norm;
};

static const struct role in_layer[] = {
    {"self_attention/layer_norm", {"self_attn_layer_norm"}, true},
    {"self_attention/linear_0",
     {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
     false},
    {"self_attention/linear_1", {"self_attn.out_proj"}, false},
    {"attention/layer_norm", {"encoder_attn_layer_norm"}, true},
    {"attention/linear_0", {"encoder_attn.q_proj"}, false},
    {"attention/linear_1", {"encoder_attn.k_proj", "encoder_attn.v_proj"}, false},
    {"attention/linear_2", {"encoder_attn.out_proj"}, false},
    {"ffn/layer_norm", {"final_layer_norm"}, true},
    {"ffn/linear_0", {"fc1"}, false},
    {"ffn/linear_1", {"fc2"}, false},
};

static const struct role in_side[] = {
    {"layer_norm", {"layer_norm"}, true},
    {"layernorm_embedding", {"layernorm_embedding"}, true},
};

/* Adds those of a role's two variables that exist; the matching of names reports missing ones. */
static enum dg_err add_role(struct dg_import *import, const struct dg_ct2 *file, const char *from,
                            const char *to, const struct role *role, struct dg_error *error)
{
    static const char *const ends[2][2] = {{"weight", "bias"}, {"gamma", "beta"}};
    static const char *const ours[2] = {"weight", "bias"};
    size_t n_parts = 1;
    while (n_parts < 3 && role->ours[n_parts])
        n_parts++;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < 2 && !err; i++) {
        char name[NAME_CAP], canonical[NAME_CAP];
        snprintf(name, sizeof name, "%s%s/%s", from, role->ct2, ends[role->is_norm][i]);
        const struct dg_ct2_var *var = dg_ct2_find(file, name);
        for (size_t part = 0; var && part < n_parts && !err; part++) {
            snprintf(canonical, sizeof canonical, "%s%s.%s", to, role->ours[part], ours[i]);
            err = add_part(import, file, var, canonical, part, n_parts, error);
        }
    }
    return err;
}

/* Adds the vectors for distances, which are never integers. */
static enum dg_err add_relative(struct dg_import *import, const struct dg_ct2 *file,
                                const char *from, const char *to, struct dg_error *error)
{
    static const char *const names[2][2] = {{"relative_position_keys", "relative_keys"},
                                            {"relative_position_values", "relative_values"}};
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < 2 && !err; i++) {
        char name[NAME_CAP], canonical[NAME_CAP];
        snprintf(name, sizeof name, "%sself_attention/%s", from, names[i][0]);
        snprintf(canonical, sizeof canonical, "%sself_attn.%s.weight", to, names[i][1]);
        const struct dg_ct2_var *var = dg_ct2_find(file, name);
        if (var)
            err = add_part(import, file, var, canonical, 0, 1, error);
    }
    return err;
}

static enum dg_err add_side(struct dg_import *import, const struct dg_ct2 *file, const char *side,
                            size_t n_layers, struct dg_error *error)
{
    char from[64], to[64];
    enum dg_err err = DG_OK;
    for (size_t layer = 0; layer < n_layers; layer++) {
        snprintf(from, sizeof from, "%s/layer_%zu/", side, layer);
        snprintf(to, sizeof to, "model.%s.layers.%zu.", side, layer);
        for (size_t i = 0; i < sizeof in_layer / sizeof *in_layer && !err; i++)
            err = add_role(import, file, from, to, &in_layer[i], error);
        if (!err)
            err = add_relative(import, file, from, to, error);
    }
    snprintf(from, sizeof from, "%s/", side);
    snprintf(to, sizeof to, "model.%s.", side);
    for (size_t i = 0; i < 2 && !err; i++)
        err = add_role(import, file, from, to, &in_side[i], error);
    return err;
}

static enum dg_err add_words(struct dg_import *import, const struct dg_ct2 *file,
                             struct dg_error *error)
{
    const struct dg_blueprint *bp = &import->bp;
    const struct dg_ct2_var *out = dg_ct2_find(file, "decoder/projection/weight");
    const struct dg_ct2_var *bias = dg_ct2_find(file, "decoder/projection/bias");
    enum dg_err err = add_part(import, file, embedding(file, "encoder"),
                               bp->tie_source_target ? "model.shared.weight"
                                                     : "model.encoder.embed_tokens.weight",
                               0, 1, error);
    if (!err && !bp->tie_source_target)
        err = add_part(import, file, embedding(file, "decoder"),
                       "model.decoder.embed_tokens.weight", 0, 1, error);
    if (!err && out && !bp->tie_output)
        err = add_part(import, file, out, "lm_head.weight", 0, 1, error);
    if (!err && bias)
        err = add_part(import, file, bias, "final_logits_bias", 0, 1, error);
    return err;
}

/* Checks that every variable that is neither a scalar nor a scale nor a text is used by a
 * tensor. */
static enum dg_err check_rest(const struct dg_import *import, const struct dg_ct2 *file,
                              struct dg_error *error)
{
    static const char *const texts[] = {"unk_token", "bos_token", "eos_token"};
    bool *used = dg_try_calloc(file->n_vars + 1, sizeof *used);
    enum dg_err err = used ? DG_OK : DG_ERR_NOMEM;
    for (size_t i = 0; i < import->n_tensors && !err; i++)
        used[import->tensors[i].blob] = true;
    for (size_t i = 0; i < file->n_vars && !err; i++) {
        const struct dg_ct2_var *var = &file->vars[i];
        bool fine = used[i] || dg_span_ends(dg_span_cstr(var->name), DG_SPAN("weight_scale")) ||
                    dg_span_ends(dg_span_cstr(var->name), DG_SPAN("position_encodings/encodings"));
        for (size_t t = 0; t < 3; t++)
            fine = fine || strcmp(var->name, texts[t]) == 0;
        if (fine)
            continue;
        if (is_scalar(var))
            err = check_scalar(file, var, &import->bp, error);
        else
            err = dg_error_set(error, DG_ERR_UNSUPPORTED, "%s: nothing here needs the variable %s",
                               file->name, var->name);
    }
    dg_free(used);
    return err;
}

static enum dg_err add_tensors(struct dg_import *import, const struct dg_ct2 *file,
                               struct dg_error *error)
{
    enum dg_err err = read_positions(import, file, error);
    if (!err)
        err = add_words(import, file, error);
    if (!err)
        err = add_side(import, file, "encoder", import->bp.encoder.n_layers, error);
    if (!err)
        err = add_side(import, file, "decoder", import->bp.decoder.n_layers, error);
    return err ? err : check_rest(import, file, error);
}

/* ---- The format ------------------------------------------------------------------------------ */

static enum dg_err load(void *ctx, size_t blob, const uint8_t **bytes, size_t *len,
                        struct dg_error *error)
{
    struct dg_ct2_import *ct2 = ctx;
    (void)error;
    const bool is_next = blob != ct2->loaded && ct2->file.vars[ct2->loaded].len > LARGE;
    /* reading through a large variable should not count as this process's memory */
    if (++ct2->n_loads % LOADS_KEPT == 0 || is_next)
        dg_bundle_data_forget(&ct2->data);
    ct2->loaded = blob;
    *bytes = ct2->file.vars[blob].bytes;
    *len = ct2->file.vars[blob].len;
    return DG_OK;
}

static void close_ct2(void *ctx)
{
    struct dg_ct2_import *ct2 = ctx;
    dg_ct2_close(&ct2->file);
    dg_bundle_data_free(&ct2->data);
    dg_bundle_close(&ct2->bundle);
    dg_free(ct2);
}

bool dg_ct2_detect(const struct dg_bundle *bundle, const char *folder)
{
    static const char *const names[] = {"shared_vocabulary.json", "shared_vocabulary.txt",
                                        "source_vocabulary.json", "source_vocabulary.txt"};
    char name[128];
    bool found = false;
    snprintf(name, sizeof name, "%smodel.bin", folder);
    if (!dg_bundle_has(bundle, name))
        return false;
    for (size_t i = 0; i < 4 && !found; i++) {
        snprintf(name, sizeof name, "%s%s", folder, names[i]);
        found = dg_bundle_has(bundle, name);
    }
    return found;
}

enum dg_err dg_ct2_open(struct dg_import *import, const char *path, const char *folder,
                        struct dg_error *error)
{
    struct dg_ct2_import *ct2 = dg_xcalloc(1, sizeof *ct2);
    char name[64];
    ct2->folder = folder;
    import->ctx = ct2;
    import->load = load;
    import->close = close_ct2;
    import->own_config = true;
    snprintf(name, sizeof name, "%smodel.bin", folder);
    enum dg_err err = dg_bundle_open(&ct2->bundle, path, error);
    if (!err)
        err = dg_bundle_read(&ct2->bundle, name, SIZE_MAX / 2, &ct2->data, error);
    if (!err)
        err = dg_ct2_parse(&ct2->file, ct2->data.bytes, ct2->data.len, "model.bin", error);
    if (!err)
        err = check_kind(&ct2->file, error);
    if (!err)
        err = read_blueprint(import, &ct2->file, error);
    if (!err)
        err = add_tensors(import, &ct2->file, error);
    if (!err)
        err = dg_ct2_vocabulary(import, error);
    return err ? dg_error_wrap(error, err, "%s", path) : DG_OK;
}

static bool detect(const char *path, bool is_dir)
{
    struct dg_bundle bundle;
    if (!is_dir || dg_bundle_open(&bundle, path, NULL))
        return false;
    bool found = dg_ct2_detect(&bundle, "");
    dg_bundle_close(&bundle);
    return found;
}

static enum dg_err open_ct2(struct dg_import *import, const char *path, struct dg_error *error)
{
    import->format = "CTranslate2 directory";
    return dg_ct2_open(import, path, "", error);
}

const struct dg_import_format dg_import_ct2 = {detect, open_ct2};
