/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Checks a blueprint and names its enumerations. The limits are far above any translation model
 * that exists and far below what could make a size overflow. */
#include "model/blueprint.h"
#include "base/memory/buf.h"
#include "model/weights.h"
#include "tensor/forward/kernels.h"

#include <inttypes.h>
#include <math.h>

enum {
    WIDTH_MAX = 1 << 16,
    LAYERS_MAX = 64,
    VOCABULARY_MAX = 1 << 24,
    LEN_MAX = 1 << 20,
    BEAMS_MAX = 256,
};
#define SCALE_MAX 1e6

enum {
    NO_CELLS = 1u << DG_DECODER_ATTENTION | 1u << DG_DECODER_SSRU | 1u << DG_DECODER_AAN,
    GATED_CELLS = 1u << DG_DECODER_GRU | 1u << DG_DECODER_LSTM,
};

const struct dg_family_facts dg_families[] = {
    [DG_FAMILY_TRANSFORMER] = {.name = "transformer", .kinds = NO_CELLS, .has_cross_heads = true},
    [DG_FAMILY_RNN] = {.name = "rnn", .kinds = GATED_CELLS, .is_recurrent = true},
    [DG_FAMILY_LM] = {.name = "language-model", .kinds = NO_CELLS, .has_prompt = true},
    [DG_FAMILY_SEQ] = {.name = "seq",
                       .kinds = GATED_CELLS | 1u << DG_DECODER_TANH,
                       .is_recurrent = true},
    [DG_FAMILY_ENC] = {.name = "encoder", .kinds = NO_CELLS, .has_head = true},
};

/* Collects every fault into one sentence; what does not fit is left out. */
static void fault(struct dg_buf *faults, const char *fmt, ...) DG_PRINTF(2, 3);

static void fault(struct dg_buf *faults, const char *fmt, ...)
{
    if (faults->len && dg_buf_append_cstr(faults, "; "))
        return;
    va_list args;
    va_start(args, fmt);
    enum dg_err err = dg_buf_vprintf(faults, fmt, args);
    va_end(args);
    if (err && faults->len >= 2)
        dg_buf_truncate(faults, faults->len - 2);
}

static void check_range(struct dg_buf *faults, const char *name, size_t value, size_t min,
                        size_t max)
{
    if (value < min || value > max)
        fault(faults, "%s is %zu, expected %zu to %zu", name, value, min, max);
}

static void check_id(struct dg_buf *faults, const char *name, int32_t id, size_t V, bool needed)
{
    if (id == DG_ID_NONE && !needed)
        return;
    if (id < 0 || (size_t)id >= V)
        fault(faults, "%s is %" PRId32 ", expected 0 to %zu", name, id, V ? V - 1 : 0);
}

static void check_stack(struct dg_buf *faults, const char *name, const struct dg_stack *stack,
                        size_t D)
{
    const struct {
        const char *field;
        size_t value, max;
    } rows[] = {{"layers", stack->n_layers, LAYERS_MAX},
                {"attention heads", stack->H, WIDTH_MAX},
                {"feed-forward width", stack->F, WIDTH_MAX},
                {"vocabulary size", stack->V, VOCABULARY_MAX}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].value < 1 || rows[i].value > rows[i].max)
            fault(faults, "%s %s is %zu, expected 1 to %zu", name, rows[i].field, rows[i].value,
                  rows[i].max);
    if (D && stack->H && D % stack->H)
        fault(faults, "%s attention heads is %zu, which does not divide the model width %zu", name,
              stack->H, D);
}

static void check_transformer(struct dg_buf *faults, const struct dg_blueprint *bp)
{
    check_stack(faults, "encoder", &bp->encoder, bp->D);
    check_stack(faults, "decoder", &bp->decoder, bp->D);
}

static void check_rnn(struct dg_buf *faults, const struct dg_blueprint *bp)
{
    check_transformer(faults, bp);
    check_range(faults, "width of states", bp->rnn.width, 1, WIDTH_MAX / 4);
    check_range(faults, "number of an encoder layer's cells", bp->rnn.encoder_cells, 1,
                DG_RNN_CELLS_MAX);
    check_range(faults, "number of the first decoder layer's cells", bp->rnn.base_cells, 2,
                DG_RNN_CELLS_MAX);
    check_range(faults, "number of a further decoder layer's cells", bp->rnn.high_cells, 1,
                DG_RNN_CELLS_MAX);
    if (bp->positions != DG_POS_NONE)
        fault(faults, "a recurrent network has no positions");
}

static void check_seq(struct dg_buf *faults, const struct dg_blueprint *bp)
{
    const bool has_places = bp->seq.attention == DG_SEQ_LOCATION;
    check_transformer(faults, bp);
    check_range(faults, "number of places", bp->seq.places, has_places,
                has_places ? DG_SEQ_PLACES_MAX : 0);
    check_range(faults, "model width", bp->D, 1, WIDTH_MAX / 4);
    if (bp->positions != DG_POS_NONE)
        fault(faults, "a recurrent network has no positions");
    if (bp->seq.is_classifier &&
        (bp->seq.attention != DG_SEQ_NONE || bp->tie_source_target || bp->tie_output))
        fault(faults, "a classifier has neither attention nor tied matrices");
}

static void check_lm(struct dg_buf *faults, const struct dg_blueprint *bp)
{
    const struct dg_lm *lm = &bp->lm;
    check_stack(faults, "decoder", &bp->decoder, 0);
    check_range(faults, "width of a head", lm->head, 1, WIDTH_MAX);
    if (lm->head && bp->decoder.H > WIDTH_MAX / lm->head)
        fault(faults, "%zu heads of %zu are more than %d wide", bp->decoder.H, lm->head, WIDTH_MAX);
    check_range(faults, "number of heads of keys and values", lm->kv_heads, 1, WIDTH_MAX);
    if (lm->kv_heads && bp->decoder.H % lm->kv_heads)
        fault(faults, "%zu heads of keys and values do not divide the %zu attention heads",
              lm->kv_heads, bp->decoder.H);
    check_range(faults, "context", lm->context, 2, LEN_MAX);
    check_range(faults, "number of stop tokens", lm->n_stop, 0, DG_LM_STOP_MAX);
    for (size_t i = 0; i < lm->n_stop && i < DG_LM_STOP_MAX; i++)
        check_id(faults, "stop token id", lm->stop[i], bp->decoder.V, true);
    if (bp->positions == DG_POS_LEARNED && bp->n_positions < lm->context + bp->position_offset)
        fault(faults, "%zu learned positions do not reach over a context of %zu", bp->n_positions,
              lm->context);
    if (bp->decoder_kind != DG_DECODER_ATTENTION || bp->norm_place != DG_NORM_PRE ||
        bp->relative_reach)
        fault(faults, "a language model has pre-normed attention without relative positions");
    if (bp->positions != DG_POS_ROTARY)
        return;
    if (lm->head % 2)
        fault(faults, "width of a head is %zu, expected an even number for rotary positions",
              lm->head);
    if (!(lm->rope.theta > 1 && lm->rope.theta < 1e12))
        fault(faults, "rope theta is %g, expected more than 1 and less than 1e12", lm->rope.theta);
    if (lm->rope.scaling != DG_ROPE_PLAIN && !(lm->rope.factor >= 1 && lm->rope.factor <= 1e6))
        fault(faults, "rope factor is %g, expected 1 to 1e6", lm->rope.factor);
    if (lm->rope.scaling == DG_ROPE_LLAMA3 && !(lm->rope.low > 0 && lm->rope.low < lm->rope.high &&
                                                lm->rope.high <= 1e6 && lm->rope.original >= 1))
        fault(faults,
              "rope frequency factors are %g and %g over %zu positions, expected ascending "
              "positive numbers",
              lm->rope.low, lm->rope.high, lm->rope.original);
}

static void check_enc(struct dg_buf *faults, const struct dg_blueprint *bp)
{
    const struct dg_enc *enc = &bp->enc;
    check_stack(faults, "encoder", &bp->encoder, bp->D);
    check_range(faults, "decoder layers", bp->decoder.n_layers, 0, 0);
    check_range(faults, "number of segments", enc->n_types, 0, DG_ENC_TYPES_MAX);
    check_range(faults, "number of separators", enc->separators, 1, 2);
    switch (enc->head) {
    case DG_HEAD_NONE:
    case DG_HEAD_REPLACED:
        check_range(faults, "outputs", bp->decoder.V, 1, 1);
        break;
    case DG_HEAD_WORDS:
        check_range(faults, "outputs", bp->decoder.V, bp->encoder.V, bp->encoder.V);
        break;
    case DG_HEAD_SPANS:
        check_range(faults, "number of labels", bp->decoder.V, 2, 2);
        break;
    case DG_HEAD_POOLED:
    case DG_HEAD_TOKENS:
        check_range(faults, "number of labels", bp->decoder.V, 1, VOCABULARY_MAX);
        break;
    }
    if (enc->head != DG_HEAD_WORDS && (bp->tie_output || bp->tie_source_target))
        fault(faults, "matrices are tied, but the head has no matrix of words");
    if (bp->positions == DG_POS_LEARNED &&
        bp->n_positions < bp->source_len_max + bp->position_offset)
        fault(faults, "%zu learned positions do not reach over %zu tokens behind %zu",
              bp->n_positions, bp->source_len_max, bp->position_offset);
    if (bp->decoder_kind != DG_DECODER_ATTENTION || bp->relative_reach)
        fault(faults, "an encoder-only model has attention without relative positions");
}

static void (*const checks[])(struct dg_buf *faults, const struct dg_blueprint *bp) = {
#define CHECK_ROW(NAME, name) [DG_FAMILY_##NAME] = check_##name,
    DG_FAMILIES(CHECK_ROW)
#undef CHECK_ROW
};

static void check_sizes(struct dg_buf *faults, const struct dg_blueprint *bp)
{
    const struct dg_family_facts *family = dg_blueprint_family(bp);
    check_range(faults, "model width", bp->D, 1, WIDTH_MAX);
    checks[bp->family](faults, bp);
    if (family->has_prompt != (bp->start == DG_START_PROMPT))
        fault(faults, "a prompt is for language models, and all of them need one");
    if (bp->positions == DG_POS_ROTARY && !family->has_prompt)
        fault(faults, "rotary positions are for language models only");
    if (bp->decoder_kind == DG_DECODER_AAN) {
        check_range(faults, "aan depth", bp->aan_depth, 1, DG_AAN_DEPTH_MAX);
        check_range(faults, "aan width", bp->aan_F, 1, WIDTH_MAX);
    }
    if (!(family->kinds & 1u << bp->decoder_kind))
        fault(faults, "the decoder's kind is of another family of networks");
    if (dg_blueprint_has_sinusoids(bp) && bp->D % 2)
        fault(faults, "model width is %zu, expected an even number for sinusoidal positions",
              bp->D);
    if (bp->positions == DG_POS_HALVES_CLOSED && bp->D < 4)
        fault(faults, "model width is %zu, expected at least 4 for these positions", bp->D);
    if (bp->positions == DG_POS_LEARNED)
        check_range(faults, "number of positions", bp->n_positions, bp->position_offset + 1,
                    LEN_MAX);
    check_range(faults, "position offset", bp->position_offset, 0, LEN_MAX);
    check_range(faults, "alignment layer", bp->alignment_layer, 0, bp->decoder.n_layers);
    check_range(faults, "alignment head", bp->alignment_head, 0, bp->decoder.H);
    check_range(faults, "relative reach", bp->relative_reach, 0, DG_RELATIVE_REACH_MAX);
    if (bp->norm_queries_only &&
        (bp->norm_place != DG_NORM_PRE || bp->family != DG_FAMILY_TRANSFORMER))
        fault(faults, "norm_queries_only is for pre-norm translation networks");
    if (bp->relative_reach && bp->decoder_kind != DG_DECODER_ATTENTION)
        fault(faults, "relative positions are there, but the decoder has no self-attention");
}

static void check_tokens(struct dg_buf *faults, const struct dg_blueprint *bp)
{
    if (dg_blueprint_is_reader(bp)) { /* its labels are not tokens */
        check_id(faults, "pad token id", bp->pad_id, bp->encoder.V, false);
        check_id(faults, "unk token id", bp->unk_id, bp->encoder.V, false);
        return;
    }
    size_t V = bp->decoder.V;
    check_id(faults, "eos token id", bp->eos_id, V, true);
    check_id(faults, "pad token id", bp->pad_id, V, false);
    check_id(faults, "bos token id", bp->bos_id, V, false);
    check_id(faults, "unk token id", bp->unk_id, V, false);
    check_id(faults, "decoder start token id", bp->start_id, V, bp->start == DG_START_TOKEN);
    check_id(faults, "forced bos token id", bp->forced_bos_id, V, false);
    check_id(faults, "forced eos token id", bp->forced_eos_id, V, false);
    if (bp->eos_id >= 0 && (size_t)bp->eos_id >= bp->encoder.V)
        fault(faults, "eos token id is %" PRId32 ", expected less than the source vocabulary's %zu",
              bp->eos_id, bp->encoder.V);
    check_range(faults, "number of suppressed tokens", bp->n_suppress, 0,
                DG_BLUEPRINT_SUPPRESS_MAX);
    for (size_t i = 0; i < bp->n_suppress && i < DG_BLUEPRINT_SUPPRESS_MAX; i++) {
        check_id(faults, "suppressed token id", bp->suppress[i], V, true);
        if (bp->suppress[i] == bp->eos_id)
            fault(faults, "the eos token %" PRId32 " is suppressed: no sentence could end",
                  bp->eos_id);
    }
}

enum dg_err dg_blueprint_check(const struct dg_blueprint *bp, struct dg_error *error)
{
    struct dg_buf faults;
    dg_buf_init(&faults, DG_ERROR_CAP - 64);
    check_sizes(&faults, bp);
    check_tokens(&faults, bp);
    if (!(isfinite(bp->norm_epsilon) && bp->norm_epsilon > 0 && bp->norm_epsilon < 1))
        fault(&faults, "norm epsilon is %g, expected more than 0 and less than 1",
              (double)bp->norm_epsilon);
    const double scale = (double)bp->embedding_scale;
    if (!(scale > 0 && scale <= SCALE_MAX))
        fault(&faults, "embedding scale is %g, expected more than 0 and at most %g", scale,
              SCALE_MAX);
    if (!(isfinite(bp->length_penalty) && fabsf(bp->length_penalty) <= 10))
        fault(&faults, "length penalty is %g, expected -10 to 10", (double)bp->length_penalty);
    if (bp->tie_source_target && bp->encoder.V != bp->decoder.V)
        fault(&faults, "source and target share one embedding but have %zu and %zu words",
              bp->encoder.V, bp->decoder.V);
    check_range(&faults, "longest source", bp->source_len_max, 2, LEN_MAX);
    check_range(&faults, "longest target", bp->target_len_max, 2, LEN_MAX);
    check_range(&faults, "number of beams", bp->n_beams, 1, BEAMS_MAX);
    enum dg_err err = DG_OK;
    if (faults.len)
        err = dg_error_set(error, DG_ERR_INVALID, "%s", faults.ptr);
    dg_buf_deinit(&faults);
    return err;
}

const char *dg_activation_name(enum dg_activation activation)
{
    static const char *const names[] = {[DG_ACT_RELU] = "relu",
                                        [DG_ACT_SILU] = "silu",
                                        [DG_ACT_GELU_ERF] = "gelu",
                                        [DG_ACT_GELU_TANH] = "gelu_pytorch_tanh",
                                        [DG_ACT_GELU_QUICK] = "quick_gelu"};
    const size_t at = (size_t)activation;
    return at < sizeof names / sizeof *names && names[at] ? names[at] : "?";
}

const char *dg_decoder_kind_name(enum dg_decoder_kind kind)
{
    static const char *const names[] = {[DG_DECODER_ATTENTION] = "attention",
                                        [DG_DECODER_SSRU] = "ssru",
                                        [DG_DECODER_AAN] = "aan",
                                        [DG_DECODER_GRU] = "gru",
                                        [DG_DECODER_LSTM] = "lstm",
                                        [DG_DECODER_TANH] = "tanh"};
    const size_t at = (size_t)kind;
    return at < sizeof names / sizeof *names && names[at] ? names[at] : "?";
}

const char *dg_positions_name(enum dg_positions positions)
{
    static const char *const names[] = {[DG_POS_NONE] = "none",
                                        [DG_POS_HALVES] = "halves",
                                        [DG_POS_HALVES_CLOSED] = "halves-closed",
                                        [DG_POS_INTERLEAVED] = "interleaved",
                                        [DG_POS_LEARNED] = "learned",
                                        [DG_POS_ROTARY] = "rotary"};
    const size_t at = (size_t)positions;
    return at < sizeof names / sizeof *names && names[at] ? names[at] : "?";
}

const char *dg_rnn_encoder_name(enum dg_rnn_encoder encoder)
{
    switch (encoder) {
    case DG_RNN_BIDIRECTIONAL:
        return "bidirectional";
    case DG_RNN_ALTERNATING:
        return "alternating";
    case DG_RNN_BI_TOP:
        return "bi-unidirectional";
    }
    return "?";
}

const char *dg_seq_attention_name(enum dg_seq_attention attention)
{
    static const char *const names[] = {[DG_SEQ_NONE] = "none",
                                        [DG_SEQ_LOCATION] = "location",
                                        [DG_SEQ_DOT] = "dot",
                                        [DG_SEQ_GENERAL] = "general",
                                        [DG_SEQ_ADDITIVE] = "additive"};
    const size_t at = (size_t)attention;
    return at < sizeof names / sizeof *names && names[at] ? names[at] : "?";
}

const char *dg_head_name(enum dg_head head)
{
    static const char *const names[] = {
        [DG_HEAD_NONE] = "none",     [DG_HEAD_WORDS] = "words", [DG_HEAD_POOLED] = "pooled",
        [DG_HEAD_TOKENS] = "tokens", [DG_HEAD_SPANS] = "spans", [DG_HEAD_REPLACED] = "replaced"};
    const size_t at = (size_t)head;
    return at < sizeof names / sizeof *names && names[at] ? names[at] : "?";
}

size_t dg_blueprint_gates(const struct dg_blueprint *bp)
{
    return bp->decoder_kind == DG_DECODER_LSTM ? 4 : bp->decoder_kind == DG_DECODER_GRU ? 3 : 1;
}

size_t dg_blueprint_paired_layers(const struct dg_blueprint *bp)
{
    return bp->rnn.encoder == DG_RNN_BI_TOP ? 1 : bp->encoder.n_layers;
}

size_t dg_blueprint_context(const struct dg_blueprint *bp)
{
    if (!bp->rnn.width)
        return bp->D;
    return dg_blueprint_paired_layers(bp) < bp->encoder.n_layers ? bp->rnn.width
                                                                 : 2 * bp->rnn.width;
}

double dg_rope_step(const struct dg_lm *lm, size_t k)
{
    const struct dg_rope *rope = &lm->rope;
    const double plain = pow(rope->theta, -2.0 * (double)k / (double)lm->head);
    if (rope->scaling == DG_ROPE_PLAIN)
        return plain;
    if (rope->scaling == DG_ROPE_LINEAR)
        return plain / rope->factor;
    const double turns = (double)rope->original * plain / (2.0 * 3.14159265358979323846);
    if (turns < rope->low)
        return plain / rope->factor;
    if (turns > rope->high)
        return plain;
    const double keep = (turns - rope->low) / (rope->high - rope->low);
    return (1.0 - keep) * plain / rope->factor + keep * plain;
}
