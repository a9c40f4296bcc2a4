/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Packs a model's weights for the kernels: one block, two walks (count, then place and fill).
 *
 * Matrices that read the same input are fused into one product: queries, keys and values; the keys
 * and values of cross-attention; candidate and forget gate of the SSRU. Tied embeddings exist once,
 * as the packed output matrix, and are looked up there. */
#include "network/net_int.h"

#include "base/memory/mem.h"
#include "model/model_dir.h"
#include "tensor/convert.h"
#include "tensor/huge_pages.h"

#include <math.h>
#include <string.h>

const char *const dg_net_type_words[] = {"auto", "f32", "bf16", "bf16-fast", "i8", NULL};

void *dg_net_carve(struct net_carve *carve, size_t n, size_t size)
{
    size_t bytes, used;
    if (!dg_mul(n, size, &bytes) || !dg_add(bytes, 63, &bytes) ||
        !dg_add(carve->used, bytes & ~(size_t)63, &used)) {
        carve->overflow = true;
        return NULL;
    }
    void *part = carve->base ? carve->base + carve->used : NULL;
    carve->used = used;
    return part;
}

/* ---- Packing --------------------------------------------------------------------------------- */

struct packer {
    struct dg_net *net;
    struct net_carve carve;
    const struct dg_net *original; /* only a copy of this network is placed; NULL: none */
    float *scratch;                /* one row of the widest matrix */
    uint64_t random; /* not 0: the values are random and only their shapes matter; this is the
                        generator's state */
    enum dg_net_type type;
    const struct dg_model *model; /* the model whose file holds the weights; may be NULL */
};

/* Returns whether this walk reads the weights: the first only counts, and a copy has the bytes of
 * the original. */
static bool is_filling(const struct packer *packer)
{
    return packer->carve.base && !packer->original;
}

/* Returns the type in which a product with these `n` fused matrices is computed. */
static enum dg_packed_type type_of(const struct packer *packer,
                                   const struct dg_linear_weights *const *parts, size_t n)
{
    const enum dg_dtype first = parts[0]->weight.dtype;
    for (size_t i = 1; i < n && packer->type == DG_NET_AUTO; i++)
        if (parts[i]->weight.dtype != first)
            return DG_PACKED_F32;
    switch (packer->type) {
    case DG_NET_AUTO:
        return first == DG_DTYPE_I8     ? DG_PACKED_I8
               : first == DG_DTYPE_BF16 ? DG_PACKED_BF16
                                        : DG_PACKED_F32;
    case DG_NET_F32:
        return DG_PACKED_F32;
    case DG_NET_BF16:
        return DG_PACKED_BF16;
    case DG_NET_BF16_FAST:
        return DG_PACKED_BF16_FAST;
    case DG_NET_I8:
        return DG_PACKED_I8;
    }
    return DG_PACKED_F32;
}

/* Carves a layer with N outputs and K inputs. `panel` 0: the kernels' own panel. */
static void carve_packed(struct packer *packer, struct dg_packed *packed, enum dg_packed_type type,
                         size_t N, size_t K, size_t panel, bool has_bias)
{
    struct dg_net *net = packer->net;
    packed->type = type;
    net->type = type > net->type ? type : net->type;
    packed->N = N;
    packed->K = K;
    packed->panel = panel ? panel : dg_kernels_panel(net->kernels, type);
    size_t data_bytes = 0, channel_bytes = 0;
    if (!dg_packed_sizes(packed, &data_bytes, &channel_bytes))
        packer->carve.overflow = true;
    packed->data = dg_net_carve(&packer->carve, data_bytes, 1);
    if (has_bias)
        packed->bias = dg_net_carve(&packer->carve, channel_bytes, 1);
    if (packed->type == DG_PACKED_I8) {
        packed->scale = dg_net_carve(&packer->carve, channel_bytes, 1);
        packed->sum = dg_net_carve(&packer->carve, channel_bytes, 1);
    }
    if (!is_filling(packer))
        return;
    memset(packed->data, 0, data_bytes);
    if (packed->bias)
        memset(packed->bias, 0, channel_bytes);
    if (packed->scale) {
        memset(packed->scale, 0, channel_bytes);
        memset(packed->sum, 0, channel_bytes);
    }
}

/* Reads rows of a matrix, or values of a vector, from the model or from the generator. */
static void put_rows(struct packer *packer, struct dg_packed *packed, size_t first,
                     const struct dg_tensor *rows)
{
    if (!packer->random) {
        dg_packed_put_rows(packed, first, rows, packer->scratch);
        if (packer->model)
            dg_model_forget(packer->model);
        return;
    }
    const float spread = 1.0f / sqrtf((float)packed->K);
    for (size_t n = 0; n < rows->shape[0]; n++) {
        float *row = packer->scratch + packed->K;
        for (size_t k = 0; k < packed->K; k++)
            row[k] = spread * dg_net_random_next(&packer->random);
        const struct dg_tensor one = {
            .data = row, .shape = {1, packed->K, 1, 1}, .rank = 2, .dtype = DG_DTYPE_F32};
        dg_packed_put_rows(packed, first + n, &one, packer->scratch);
    }
}

static void put_vector(struct packer *packer, float *out, const struct dg_tensor *vector,
                       float middle)
{
    const size_t n = dg_tensor_count(vector);
    if (!packer->random)
        dg_convert_tensor(out, vector, 0, n);
    else
        for (size_t i = 0; i < n; i++)
            out[i] = middle + 0.1f * dg_net_random_next(&packer->random);
}

/* Makes one layer of `n` matrices that read the same input, stacked on top of each other. */
static void pack_as(struct packer *packer, struct dg_packed *packed, enum dg_packed_type type,
                    const struct dg_linear_weights *const *parts, size_t n)
{
    size_t N = 0, first = 0;
    bool has_bias = false;
    for (size_t i = 0; i < n; i++) {
        N += parts[i]->weight.shape[0];
        has_bias = has_bias || dg_tensor_present(&parts[i]->bias);
    }
    carve_packed(packer, packed, type, N, parts[0]->weight.shape[1], 0, has_bias);
    for (size_t i = 0; is_filling(packer) && i < n; i++) {
        put_rows(packer, packed, first, &parts[i]->weight);
        if (dg_tensor_present(&parts[i]->bias))
            put_vector(packer, packed->bias + first, &parts[i]->bias, 0.0f);
        first += parts[i]->weight.shape[0];
    }
}

static void pack_fused(struct packer *packer, struct dg_packed *packed,
                       const struct dg_linear_weights *const *parts, size_t n)
{
    pack_as(packer, packed, type_of(packer, parts, n), parts, n);
}

static void pack(struct packer *packer, struct dg_packed *packed, const struct dg_linear_weights *w)
{
    pack_fused(packer, packed, &w, 1);
}

static float *place_vector(struct packer *packer, const struct dg_tensor *tensor, float middle)
{
    if (!dg_tensor_present(tensor))
        return NULL;
    const size_t n = dg_tensor_count(tensor);
    float *out = dg_net_carve(&packer->carve, n, sizeof *out);
    if (is_filling(packer))
        put_vector(packer, out, tensor, middle);
    return out;
}

static void place_norm(struct packer *packer, struct net_norm *norm,
                       const struct dg_norm_weights *w)
{
    norm->gain = place_vector(packer, &w->gain, 1.0f);
    norm->bias = place_vector(packer, &w->bias, 0.0f);
}

/* Packs the matrices of self-attention that make queries, keys and values. */
static void pack_qkv(struct packer *packer, struct dg_packed *qkv, struct dg_packed *kv,
                     const struct dg_attention_weights *w)
{
    const struct dg_linear_weights *parts[] = {&w->q, &w->k, &w->v};
    if (!packer->net->bp.norm_queries_only) {
        pack_fused(packer, qkv, parts, 3);
        return;
    }
    pack_fused(packer, qkv, parts, 1);
    pack_fused(packer, kv, parts + 1, 2);
}

static void pack_ffn(struct packer *packer, struct net_ffn *ffn, const struct dg_ffn_weights *w)
{
    pack(packer, &ffn->fc1, &w->fc1);
    pack(packer, &ffn->fc2, &w->fc2);
    place_norm(packer, &ffn->norm, &w->norm);
}

static void place_relative(struct packer *packer, struct dg_relative *relative,
                           const struct dg_attention_weights *w)
{
    relative->keys = place_vector(packer, &w->relative_keys, 0.0f);
    relative->values = place_vector(packer, &w->relative_values, 0.0f);
    relative->reach = packer->net->bp.relative_reach;
}

static void pack_encoder(struct packer *packer, const struct dg_encoder_layer *layers,
                         const struct dg_norm_weights *norm)
{
    struct dg_net *net = packer->net;
    for (size_t i = 0; i < net->bp.encoder.n_layers; i++) {
        const struct dg_attention_weights *self = &layers[i].self;
        struct net_encoder_layer *layer = &net->encoder_layers[i];
        pack_qkv(packer, &layer->qkv, &layer->kv, self);
        pack(packer, &layer->o, &self->o);
        place_relative(packer, &layer->relative, self);
        place_norm(packer, &layer->self_norm, &self->norm);
        pack_ffn(packer, &layer->ffn, &layers[i].ffn);
    }
    place_norm(packer, &net->encoder_norm, norm);
}

static void pack_autoregression(struct packer *packer, struct net_decoder_layer *layer,
                                const struct dg_decoder_layer *w)
{
    const struct dg_blueprint *bp = &packer->net->bp;
    switch (bp->decoder_kind) {
    case DG_DECODER_ATTENTION:
        pack_qkv(packer, &layer->qkv, &layer->kv, &w->self);
        pack(packer, &layer->o, &w->self.o);
        place_relative(packer, &layer->relative, &w->self);
        place_norm(packer, &layer->self_norm, &w->self.norm);
        break;
    case DG_DECODER_SSRU:
        pack_fused(packer, &layer->qkv,
                   (const struct dg_linear_weights *[]){&w->ssru.candidate, &w->ssru.forget}, 2);
        place_norm(packer, &layer->self_norm, &w->ssru.norm);
        break;
    case DG_DECODER_GRU:
    case DG_DECODER_LSTM:
    case DG_DECODER_TANH: /* kinds that belong to other families */
        break;
    case DG_DECODER_AAN:
        for (size_t i = 0; i < bp->aan_depth; i++)
            pack(packer, &layer->aan_fc[i], &w->aan.fc[i]);
        if (bp->aan_gate) {
            pack(packer, &layer->aan_input_gate, &w->aan.input_gate);
            pack(packer, &layer->aan_forget_gate, &w->aan.forget_gate);
        }
        place_norm(packer, &layer->self_norm, &w->aan.norm);
        break;
    }
}

static void pack_decoder(struct packer *packer, const struct dg_transformer_weights *w)
{
    struct dg_net *net = packer->net;
    for (size_t i = 0; i < net->bp.decoder.n_layers; i++) {
        const struct dg_decoder_layer *from = &w->decoder_layers[i];
        struct net_decoder_layer *layer = &net->decoder_layers[i];
        pack_autoregression(packer, layer, from);
        pack(packer, &layer->cross_q, &from->cross.q);
        pack_fused(packer, &layer->cross_kv,
                   (const struct dg_linear_weights *[]){&from->cross.k, &from->cross.v}, 2);
        pack(packer, &layer->cross_o, &from->cross.o);
        place_norm(packer, &layer->cross_norm, &from->cross.norm);
        pack_ffn(packer, &layer->ffn, &from->ffn);
    }
    place_norm(packer, &net->decoder_norm, &w->decoder_norm);
}

/* Packs an untied embedding row-major, because its rows are only looked up, never multiplied. */
static void pack_embedding(struct packer *packer, struct dg_packed *rows,
                           const struct dg_tensor *table)
{
    const struct dg_linear_weights words = {.weight = *table};
    const enum dg_packed_type type =
        type_of(packer, (const struct dg_linear_weights *[]){&words}, 1);
    carve_packed(packer, rows, type, table->shape[0], packer->net->bp.D, 1, false);
    if (is_filling(packer))
        put_rows(packer, rows, 0, table);
}

/* Chooses the matrix in which the ids of each side are looked up. */
static void pack_words(struct packer *packer, const struct dg_tensor *source,
                       const struct dg_tensor *target, const struct dg_tensor *output,
                       const struct dg_tensor *bias)
{
    struct dg_net *net = packer->net;
    pack(packer, &net->output, &(struct dg_linear_weights){.weight = *output, .bias = *bias});
    net->target.rows = &net->output;
    if (target->data != output->data) {
        pack_embedding(packer, &net->target_rows, target);
        net->target.rows = &net->target_rows;
    }
    net->source.rows = net->target.rows;
    if (source->data != target->data) {
        pack_embedding(packer, &net->source_rows, source);
        net->source.rows = &net->source_rows;
    }
}

static void pack_embeddings(struct packer *packer, const struct dg_transformer_weights *w)
{
    struct dg_net *net = packer->net;
    pack_words(packer, &w->source_embedding, &w->target_embedding, &w->output, &w->output_bias);
    net->source.positions = place_vector(packer, &w->source_positions, 0.0f);
    net->target.positions = place_vector(packer, &w->target_positions, 0.0f);
    place_norm(packer, &net->source.norm, &w->source_embedding_norm);
    place_norm(packer, &net->target.norm, &w->target_embedding_norm);
}

/* freq_k = 10000^(-k / n), n = D/2, or, if closed, D/2 - 1 (the last one is then 1/10000). */
static void place_frequencies(struct packer *packer)
{
    struct dg_net *net = packer->net;
    const size_t half = net->bp.D / 2;
    net->frequencies = dg_net_carve(&packer->carve, half ? half : 1, sizeof *net->frequencies);
    if (!is_filling(packer))
        return;
    const bool closed = net->bp.positions == DG_POS_HALVES_CLOSED;
    const double n = closed && half > 1 ? (double)half - 1.0 : (double)half;
    for (size_t k = 0; k < half; k++)
        net->frequencies[k] = pow(10000.0, -(double)k / n);
}

/* ---- Recurrent networks ---------------------------------------------------------------------- */

/* Stacks a GRU's gates and candidate, or an LSTM's gates. */
static void pack_gates(struct packer *packer, struct dg_packed *packed,
                       const struct dg_tensor *gates, const struct dg_tensor *candidate)
{
    const struct dg_linear_weights first = {.weight = *gates}, second = {.weight = *candidate};
    pack_fused(packer, packed, (const struct dg_linear_weights *[]){&first, &second},
               dg_tensor_present(candidate) ? 2 : 1);
}

static void pack_cell(struct packer *packer, struct net_rnn_cell *cell,
                      const struct dg_cell_weights *w)
{
    const size_t n_gates = dg_tensor_count(&w->gates_bias);
    const size_t n_candidate =
        dg_tensor_present(&w->candidate_bias) ? dg_tensor_count(&w->candidate_bias) : 0;
    if (dg_tensor_present(&w->gates_input))
        pack_gates(packer, &cell->input, &w->gates_input, &w->candidate_input);
    pack_gates(packer, &cell->state, &w->gates_state, &w->candidate_state);
    cell->bias = dg_net_carve(&packer->carve, n_gates + n_candidate, sizeof *cell->bias);
    if (is_filling(packer)) {
        put_vector(packer, cell->bias, &w->gates_bias, 0.0f);
        if (n_candidate)
            put_vector(packer, cell->bias + n_gates, &w->candidate_bias, 0.0f);
    }
    cell->input_gain = place_vector(packer, &w->input_gain, 1.0f);
    cell->state_gain = place_vector(packer, &w->state_gain, 1.0f);
}

static void pack_rnn_layers(struct packer *packer, struct net_rnn_layer *layers,
                            const struct dg_rnn_layer *w, size_t n, size_t n_cells)
{
    for (size_t i = 0; i < n; i++) {
        layers[i].n = n_cells;
        for (size_t j = 0; j < n_cells; j++)
            pack_cell(packer, &layers[i].cells[j], &w[i].cells[j]);
    }
}

static void pack_normed(struct packer *packer, struct net_normed *normed,
                        const struct dg_normed_weights *w)
{
    struct dg_linear_weights linear = w->linear;
    normed->gain = place_vector(packer, &w->gain, 1.0f);
    if (dg_tensor_present(&w->gain)) {
        normed->bias = place_vector(packer, &linear.bias, 0.0f);
        linear.bias = (struct dg_tensor){0};
    }
    pack(packer, &normed->linear, &linear);
}

/* Packs a vector as a layer with one output, without rounding. */
static void pack_score(struct packer *packer, struct dg_packed *packed,
                       const struct dg_tensor *score)
{
    struct dg_linear_weights row = {.weight = *score};
    row.weight.rank = 2;
    row.weight.shape[1] = score->shape[0];
    row.weight.shape[0] = 1;
    pack_as(packer, packed, DG_PACKED_F32, (const struct dg_linear_weights *[]){&row}, 1);
}

static void pack_rnn(struct packer *packer, const struct dg_weights *weights)
{
    const struct dg_rnn_weights *w = &weights->rnn;
    struct dg_net *net = packer->net;
    const struct dg_blueprint *bp = &net->bp;
    const size_t paired = dg_blueprint_paired_layers(bp);
    pack_words(packer, &w->source_embedding, &w->target_embedding, &w->output, &w->output_bias);
    pack_rnn_layers(packer, net->rnn.forward, w->forward, paired, bp->rnn.encoder_cells);
    pack_rnn_layers(packer, net->rnn.backward, w->backward, paired, bp->rnn.encoder_cells);
    pack_rnn_layers(packer, net->rnn.top, w->top, bp->encoder.n_layers - paired,
                    bp->rnn.encoder_cells);
    pack_rnn_layers(packer, net->rnn.decoder, w->decoder, 1, bp->rnn.base_cells);
    for (size_t j = 1; j < bp->rnn.base_cells; j++)
        net->rnn.decoder[0].cells[j].is_final = true;
    pack_rnn_layers(packer, net->rnn.decoder + 1, w->decoder + 1, bp->decoder.n_layers - 1,
                    bp->rnn.high_cells);
    pack_normed(packer, &net->rnn.initial, &w->initial);
    pack_normed(packer, &net->rnn.attention_source, &w->attention_source);
    pack_normed(packer, &net->rnn.attention_state, &w->attention_state);
    pack_score(packer, &net->rnn.score, &w->attention_score);
    pack_normed(packer, &net->rnn.readout[0], &w->readout_word);
    pack_normed(packer, &net->rnn.readout[1], &w->readout_state);
    pack_normed(packer, &net->rnn.readout[2], &w->readout_context);
    const size_t widest = 4 * bp->rnn.width > bp->D ? 4 * bp->rnn.width : bp->D;
    net->rnn.zeros = dg_net_carve(&packer->carve, widest, sizeof *net->rnn.zeros);
    if (is_filling(packer))
        memset(net->rnn.zeros, 0, widest * sizeof *net->rnn.zeros);
}

static void pack_seq_cell(struct packer *packer, struct net_seq_cell *cell,
                          const struct dg_seq_cell *w)
{
    pack(packer, &cell->input,
         &(struct dg_linear_weights){.weight = w->input, .bias = w->input_bias});
    pack(packer, &cell->state,
         &(struct dg_linear_weights){.weight = w->state, .bias = w->state_bias});
}

static void pack_seq_attention(struct packer *packer, const struct dg_seq_weights *w)
{
    struct net_seq *seq = &packer->net->seq;
    const struct {
        struct dg_packed *packed;
        const struct dg_linear_weights *weights;
    } all[] = {{&seq->location, &w->location},
               {&seq->key, &w->key},
               {&seq->query, &w->query},
               {&seq->combine, &w->combine}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (dg_tensor_present(&all[i].weights->weight))
            pack(packer, all[i].packed, all[i].weights);
    if (dg_tensor_present(&w->score))
        pack_score(packer, &seq->score, &w->score);
}

static void pack_seq(struct packer *packer, const struct dg_weights *weights)
{
    const struct dg_seq_weights *w = &weights->seq;
    struct dg_net *net = packer->net;
    const struct dg_blueprint *bp = &net->bp;
    if (bp->seq.is_classifier) {
        pack(packer, &net->output,
             &(struct dg_linear_weights){.weight = w->output, .bias = w->output_bias});
        pack_embedding(packer, &net->source_rows, &w->source_embedding);
        net->source.rows = net->target.rows = &net->source_rows;
    } else {
        pack_words(packer, &w->source_embedding, &w->target_embedding, &w->output, &w->output_bias);
    }
    for (size_t i = 0; i < bp->encoder.n_layers; i++) {
        pack_seq_cell(packer, &net->seq.encoder[i].forward, &w->encoder[i].forward);
        if (bp->seq.is_bidirectional)
            pack_seq_cell(packer, &net->seq.encoder[i].backward, &w->encoder[i].backward);
    }
    for (size_t i = 0; i < bp->decoder.n_layers && !bp->seq.is_classifier; i++)
        pack_seq_cell(packer, &net->seq.decoder[i], &w->decoder[i].forward);
    pack_seq_attention(packer, w);
}

static void pack_lm(struct packer *packer, const struct dg_weights *weights)
{
    const struct dg_lm_weights *w = &weights->lm;
    struct dg_net *net = packer->net;
    pack_words(packer, &w->embedding, &w->embedding, &w->output, &(struct dg_tensor){.data = NULL});
    net->target.positions = place_vector(packer, &w->positions, 0.0f);
    for (size_t i = 0; i < net->bp.decoder.n_layers; i++) {
        const struct dg_lm_layer *from = &w->layers[i];
        struct net_lm_layer *layer = &net->lm_layers[i];
        place_norm(packer, &layer->attention_norm, &from->attention_norm);
        pack_fused(packer, &layer->qkv,
                   (const struct dg_linear_weights *[]){&from->q, &from->k, &from->v}, 3);
        pack(packer, &layer->o, &from->o);
        place_norm(packer, &layer->ffn_norm, &from->ffn_norm);
        if (net->bp.lm.gated)
            pack_fused(packer, &layer->up,
                       (const struct dg_linear_weights *[]){&from->gate, &from->up}, 2);
        else
            pack(packer, &layer->up, &from->up);
        pack(packer, &layer->down, &from->down);
    }
    place_norm(packer, &net->decoder_norm, &w->norm);
}

static void pack_enc(struct packer *packer, const struct dg_weights *weights)
{
    const struct dg_enc_weights *w = &weights->enc;
    struct dg_net *net = packer->net;
    const struct dg_enc *enc = &net->bp.enc;
    if (enc->head == DG_HEAD_WORDS) {
        pack_words(packer, &w->embedding, &w->embedding, &w->output, &w->output_bias);
    } else {
        pack_embedding(packer, &net->source_rows, &w->embedding);
        net->source.rows = net->target.rows = &net->source_rows;
        net->output.panel = net->kernels->panel; /* an output matrix without words, in case there is
                                                    no head */
        if (enc->head != DG_HEAD_NONE)
            pack(packer, &net->output,
                 &(struct dg_linear_weights){.weight = w->output, .bias = w->output_bias});
    }
    net->source.positions = place_vector(packer, &w->positions, 0.0f);
    net->enc.types = place_vector(packer, &w->types, 0.0f);
    place_norm(packer, &net->source.norm, &w->embedding_norm);
    pack_encoder(packer, w->layers, &w->norm);
    if (dg_tensor_present(&w->dense.weight))
        pack(packer, &net->enc.dense, &w->dense);
    place_norm(packer, &net->enc.norm, &w->dense_norm);
    net->enc.act = dg_net_head_act(enc);
    place_frequencies(packer);
}

/* Computes the sizes of a cached position and of a lane's state. */
static void size_caches(struct dg_net *net)
{
    const struct dg_blueprint *bp = &net->bp;
    const bool is_rnn = bp->family == DG_FAMILY_RNN, is_seq = bp->family == DG_FAMILY_SEQ;
    net->kv_layers = is_rnn || is_seq ? 1 : bp->decoder.n_layers;
    net->kv_width = dg_blueprint_family(bp)->has_prompt ? bp->lm.kv_heads * bp->lm.head
                                                        : dg_blueprint_context(bp);
    net->kv_heads = is_rnn || is_seq                      ? 1
                    : dg_blueprint_family(bp)->has_prompt ? bp->lm.kv_heads
                                                          : bp->decoder.H;
    if (is_seq)
        net->cell_width = bp->decoder_kind == DG_DECODER_LSTM ? 2 * bp->D : bp->D;
    else if (bp->decoder_kind == DG_DECODER_LSTM)
        net->cell_width = 2 * bp->rnn.width;
    else if (is_rnn)
        net->cell_width = bp->rnn.width;
    else if (bp->decoder_kind != DG_DECODER_ATTENTION)
        net->cell_width = bp->D;
}

/* ---- All ------------------------------------------------------------------------------------- */

static void pack_transformer(struct packer *packer, const struct dg_weights *w)
{
    pack_embeddings(packer, &w->transformer);
    pack_encoder(packer, w->transformer.encoder_layers, &w->transformer.encoder_norm);
    pack_decoder(packer, &w->transformer);
    place_frequencies(packer);
}

static bool allocate_transformer(struct dg_net *net)
{
    net->encoder_layers = dg_try_calloc(net->bp.encoder.n_layers, sizeof *net->encoder_layers);
    net->decoder_layers = dg_try_calloc(net->bp.decoder.n_layers, sizeof *net->decoder_layers);
    return net->encoder_layers && net->decoder_layers;
}

static bool allocate_rnn(struct dg_net *net)
{
    const struct dg_blueprint *bp = &net->bp;
    const size_t paired = dg_blueprint_paired_layers(bp);
    struct net_rnn *rnn = &net->rnn;
    rnn->forward = dg_try_calloc(paired, sizeof *rnn->forward);
    rnn->backward = dg_try_calloc(paired, sizeof *rnn->backward);
    rnn->top = dg_try_calloc(bp->encoder.n_layers - paired + 1, sizeof *rnn->top);
    rnn->decoder = dg_try_calloc(bp->decoder.n_layers, sizeof *rnn->decoder);
    return rnn->forward && rnn->backward && rnn->top && rnn->decoder;
}

static bool allocate_lm(struct dg_net *net)
{
    net->lm_layers = dg_try_calloc(net->bp.decoder.n_layers, sizeof *net->lm_layers);
    return net->lm_layers != NULL;
}

static bool allocate_seq(struct dg_net *net)
{
    net->seq.encoder = dg_try_calloc(net->bp.encoder.n_layers, sizeof *net->seq.encoder);
    net->seq.decoder = dg_try_calloc(net->bp.decoder.n_layers, sizeof *net->seq.decoder);
    return net->seq.encoder && net->seq.decoder;
}

static bool allocate_enc(struct dg_net *net)
{
    net->encoder_layers = dg_try_calloc(net->bp.encoder.n_layers, sizeof *net->encoder_layers);
    return net->encoder_layers != NULL;
}

/* `allocate` makes the arrays of layers, which `pack` fills. */
static const struct {
    bool (*allocate)(struct dg_net *net);
    void (*pack)(struct packer *packer, const struct dg_weights *w);
} packings[] = {
#define PACKING_ROW(NAME, name) [DG_FAMILY_##NAME] = {allocate_##name, pack_##name},
    DG_FAMILIES(PACKING_ROW)
#undef PACKING_ROW
};

static void walk(struct packer *packer, const struct dg_weights *w)
{
    const struct dg_blueprint *bp = &packer->net->bp;
    size_t widest = bp->D > bp->encoder.F ? bp->D : bp->encoder.F;
    widest = widest > bp->decoder.F ? widest : bp->decoder.F;
    widest = widest > bp->aan_F ? widest : bp->aan_F;
    widest = widest > 2 * bp->rnn.width ? widest : 2 * bp->rnn.width;
    widest = bp->family == DG_FAMILY_SEQ && widest < 2 * bp->D ? 2 * bp->D : widest;
    widest = widest > bp->decoder.H * bp->lm.head ? widest : bp->decoder.H * bp->lm.head;
    packer->scratch = dg_net_carve(&packer->carve, widest, 2 * sizeof(float));
    packings[bp->family].pack(packer, w);
}

/* ---- The object ------------------------------------------------------------------------------ */

enum dg_op_act dg_net_head_act(const struct dg_enc *enc)
{
    if (enc->head == DG_HEAD_WORDS || enc->head == DG_HEAD_REPLACED)
        return dg_net_act(enc->head_activation);
    return enc->pooler == DG_POOLER_RELU   ? DG_OP_RELU
           : enc->pooler == DG_POOLER_GELU ? dg_net_act(DG_ACT_GELU_ERF)
                                           : DG_OP_TANH;
}

enum dg_op_act dg_net_act(enum dg_activation activation)
{
    switch (activation) {
    case DG_ACT_RELU:
        return DG_OP_RELU;
    case DG_ACT_SILU:
        return DG_OP_SILU;
    case DG_ACT_GELU_ERF:
        return DG_OP_GELU_ERF;
    case DG_ACT_GELU_TANH:
        return DG_OP_GELU_TANH;
    case DG_ACT_GELU_QUICK:
        return DG_OP_GELU_QUICK;
    }
    return DG_OP_NONE;
}

static enum dg_err refuse_unsupported(const struct dg_blueprint *bp, struct dg_error *error)
{
    if (bp->encoder.F > DG_PACKED_K_MAX || bp->decoder.F > DG_PACKED_K_MAX ||
        bp->decoder.H * bp->lm.head > DG_PACKED_K_MAX)
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "a feed-forward or attention width above %d is not supported",
                            (int)DG_PACKED_K_MAX);
    return DG_OK;
}

/* What one memory node's network is made of. */
struct building {
    const struct dg_blueprint *bp;
    const struct dg_weights *weights;
    const struct dg_net_opts *opts;
    uint64_t random;
    const struct dg_net *original;
    struct dg_error *error;
    enum dg_err err;
    struct dg_net *net; /* the result */
};

/* Builds a network on the thread that calls it, whose memory node gets the weights. */
static void build_here(void *arg)
{
    struct building *building = arg;
    const struct dg_net_opts *opts = building->opts;
    const struct dg_kernels *kernels = opts->kernels;
    struct dg_net *net = NULL;
    struct dg_error *error = building->error;
    enum dg_err err = refuse_unsupported(building->bp, error);
    if (!err && !kernels)
        err = dg_kernels_default(&kernels, error);
    building->err = err;
    if (err)
        return;
    err = DG_ERR_NOMEM;
    net = dg_try_calloc(1, sizeof *net);
    if (!net)
        goto out;
    net->bp = *building->bp;
    net->kernels = kernels;
    net->type = DG_PACKED_F32; /* until some matrix has another type */
    net->act = dg_net_act(net->bp.activation);
    size_caches(net);
    if (!packings[net->bp.family].allocate(net))
        goto out;
    struct packer packer = {.net = net,
                            .original = building->original,
                            .random = building->random,
                            .type = opts->type,
                            .model = opts->model};
    walk(&packer, building->weights);
    if (packer.carve.overflow) {
        err = DG_ERR_RANGE;
        goto out;
    }
    net->block_bytes = packer.carve.used;
    err = DG_OK;
    if (opts->is_hollow)
        goto out;
    net->block = dg_try_aligned(net->block_bytes);
    if (!net->block) {
        err = DG_ERR_NOMEM;
        goto out;
    }
    dg_huge_pages_wish(net->block, net->block_bytes);
    packer.carve = (struct net_carve){.base = net->block};
    walk(&packer, building->weights);
    if (building->original)
        memcpy(net->block, building->original->block, net->block_bytes);
out:
    building->err = err;
    if (!err) {
        building->net = net;
        return;
    }
    dg_net_free(net);
    dg_error_set(error, err, "packing the model's weights: %s", dg_err_sentence(err));
}

enum dg_err dg_net_build(struct dg_net **out, const struct dg_blueprint *bp,
                         const struct dg_weights *w, const struct dg_net_opts *opts,
                         uint64_t random, struct dg_error *error)
{
    static const struct dg_net_opts defaults = {0};
    struct building building = {
        .bp = bp, .weights = w, .opts = opts ? opts : &defaults, .random = random, .error = error};
    const struct dg_nodes *nodes = building.opts->is_hollow ? NULL : building.opts->nodes;
    dg_nodes_run(nodes, 0, build_here, &building);
    if (building.err)
        return building.err;
    struct dg_net *net = building.net, **last = &net->copy;
    building.original = net;
    for (size_t node = 1; node < dg_nodes_count(nodes); node++) {
        dg_nodes_run(nodes, node, build_here, &building);
        if (building.err) {
            dg_net_free(net);
            return building.err;
        }
        *last = building.net;
        last = &building.net->copy;
    }
    *out = net;
    return DG_OK;
}

const struct dg_net *dg_net_copy(const struct dg_net *net, size_t node)
{
    const struct dg_net *copy = net;
    while (copy && node-- > 0)
        copy = copy->copy;
    return copy ? copy : net;
}

enum dg_err dg_net_new(struct dg_net **net, const struct dg_blueprint *bp,
                       const struct dg_weights *weights, const struct dg_net_opts *opts,
                       struct dg_error *error)
{
    return dg_net_build(net, bp, weights, opts, 0, error);
}

void dg_net_free(struct dg_net *net)
{
    if (!net)
        return;
    dg_net_free(net->copy);
    dg_free(net->encoder_layers);
    dg_free(net->decoder_layers);
    dg_free(net->rnn.forward);
    dg_free(net->rnn.backward);
    dg_free(net->rnn.top);
    dg_free(net->rnn.decoder);
    dg_free(net->lm_layers);
    dg_free(net->seq.encoder);
    dg_free(net->seq.decoder);
    dg_free(net->block);
    dg_free(net);
}

const struct dg_blueprint *dg_net_blueprint(const struct dg_net *net)
{
    return &net->bp;
}

const struct dg_kernels *dg_net_kernels(const struct dg_net *net)
{
    return net->kernels;
}

enum dg_packed_type dg_net_type(const struct dg_net *net)
{
    return net->type;
}

size_t dg_net_bytes(const struct dg_net *net)
{
    return net->block_bytes;
}

int32_t dg_net_start_token(const struct dg_net *net)
{
    return net->bp.start == DG_START_TOKEN ? net->bp.start_id : DG_ID_NONE;
}
