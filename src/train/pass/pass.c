/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The order of a pass, and its memory. Recipe:
 *     source -> embedding -> encoder layers: self-attention, feed-forward -> (norm)
 *                                                                             encoded [Ms, D]
 *     target, one to the right -> embedding -> decoder layers: self-attention under the look-ahead
 *         mask, attention over encoded, feed-forward -> (norm)                h [Mt, D]
 *     loss of h against the target
 *
 * and then the same backwards. Memory is one block: a first walk over `carve_all` counts its size,
 * a second divides it. */
#include "base/memory/mem.h"
#include "base/memory/bounds.h"
#include "network/net.h"
#include "tensor/gradient/gemm.h"
#include "train/pass/pass_int.h"

#include <string.h>

/* ---- Memory ---------------------------------------------------------------------------------- */

enum { LOGITS_FLOATS = 4 << 20, LOGITS_ROWS_MIN = 16, LOGITS_ROWS_MAX = 1024 };

void *dg_pass_carve(struct dg_pass_carve *c, size_t n, size_t size)
{
    size_t bytes, next;
    if (!dg_mul(n, size, &bytes) || !dg_add(bytes, 63, &bytes) ||
        !dg_add(c->used, bytes & ~(size_t)63, &next)) {
        c->overflow = true;
        return NULL;
    }
    void *at = c->block ? c->block + c->used : NULL;
    c->used = next;
    return at;
}

float *dg_pass_carve_floats(struct dg_pass_carve *c, size_t rows, size_t columns)
{
    return dg_pass_carve(c, rows, columns * sizeof(float));
}

void dg_pass_carve_sub(struct dg_pass_carve *c, struct pass_sub *sub, size_t M, size_t D)
{
    sub->mid = dg_pass_carve_floats(c, M, D);
    sub->out = dg_pass_carve_floats(c, M, D);
    sub->stats = dg_pass_carve_floats(c, M, 2);
}

static void carve_attention(const struct dg_pass *pass, struct dg_pass_carve *c,
                            struct pass_attention *attention, size_t M, size_t H, size_t width,
                            size_t n_keys)
{
    const size_t D = pass->params->bp.D;
    dg_pass_carve_sub(c, &attention->sub, M, D);
    attention->wide = dg_pass_carve_floats(c, M, width * D);
    attention->kv = n_keys ? dg_pass_carve_floats(c, n_keys, 2 * D) : NULL;
    attention->p = dg_pass_carve_floats(c, H, pass->limits.scores);
    attention->z = dg_pass_carve_floats(c, M, D);
}

static void carve_cell(const struct dg_pass *pass, struct dg_pass_carve *c, struct pass_cell *cell,
                       size_t M)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    const bool is_aan = bp->decoder_kind == DG_DECODER_AAN;
    const size_t n_inner = is_aan ? bp->aan_depth - 1 : 0;
    dg_pass_carve_sub(c, &cell->sub, M, bp->D);
    cell->wide = is_aan && !bp->aan_gate ? NULL : dg_pass_carve_floats(c, M, 2 * bp->D);
    cell->state = dg_pass_carve_floats(c, M, bp->D);
    cell->y = is_aan ? dg_pass_carve_floats(c, M, bp->D) : NULL;
    cell->hidden = n_inner ? dg_pass_carve_floats(c, M, n_inner * bp->aan_F) : NULL;
    cell->pre =
        n_inner && pass->act != DG_OP_RELU ? dg_pass_carve_floats(c, M, n_inner * bp->aan_F) : NULL;
}

static void carve_ffn(const struct dg_pass *pass, struct dg_pass_carve *c, struct pass_ffn *ffn,
                      size_t M, size_t F)
{
    dg_pass_carve_sub(c, &ffn->sub, M, pass->params->bp.D);
    ffn->hidden = dg_pass_carve_floats(c, M, F);
    ffn->pre = pass->act == DG_OP_RELU ? NULL : dg_pass_carve_floats(c, M, F);
}

static void carve_side(const struct dg_pass *pass, struct dg_pass_carve *c, struct pass_side *side,
                       size_t M)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    side->x = dg_pass_carve_floats(c, M, bp->D);
    side->x0 = bp->embedding_norm ? dg_pass_carve_floats(c, M, bp->D) : NULL;
    side->stats = dg_pass_carve_floats(c, M, 2);
    side->final = bp->final_norm ? dg_pass_carve_floats(c, M, bp->D) : NULL;
    side->final_stats = dg_pass_carve_floats(c, M, 2);
    side->positions = dg_pass_carve_floats(c, M, bp->D);
}

static void carve_all(struct dg_pass *pass, struct dg_pass_carve *c)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    const size_t Ms = pass->limits.source_rows, Mt = pass->limits.target_rows, M = dg_most(Ms, Mt),
                 D = bp->D;
    pass->product_scratch = dg_pass_carve(c, 1, pass->products->scratch);
    if (pass->seq) {
        dg_pass_seq_carve(pass, c);
        return;
    }
    if (pass->lm) {
        dg_pass_lm_carve(pass, c);
        return;
    }
    carve_side(pass, c, &pass->source, Ms);
    if (pass->enc)
        dg_pass_enc_carve(pass, c);
    else
        carve_side(pass, c, &pass->target, Mt);
    for (size_t i = 0; i < bp->encoder.n_layers; i++) {
        carve_attention(pass, c, &pass->encoder[i].self, Ms, bp->encoder.H, 3, 0);
        carve_ffn(pass, c, &pass->encoder[i].ffn, Ms, bp->encoder.F);
    }
    for (size_t i = 0; i < bp->decoder.n_layers; i++) {
        if (bp->decoder_kind == DG_DECODER_ATTENTION)
            carve_attention(pass, c, &pass->decoder[i].self, Mt, bp->decoder.H, 3, 0);
        else
            carve_cell(pass, c, &pass->decoder[i].cell, Mt);
        carve_attention(pass, c, &pass->decoder[i].cross, Mt, bp->decoder.H, 1, Ms);
        carve_ffn(pass, c, &pass->decoder[i].ffn, Mt, bp->decoder.F);
    }
    pass->dx = dg_pass_carve_floats(c, M, D);
    pass->dmid = dg_pass_carve_floats(c, M, D);
    pass->dz = dg_pass_carve_floats(c, M, D);
    pass->dwide = dg_pass_carve_floats(
        c, M, dg_most(dg_most(3 * D, 2 * bp->aan_F), dg_most(bp->encoder.F, bp->decoder.F)));
    const size_t dh = D / (bp->encoder.H < bp->decoder.H ? bp->encoder.H : bp->decoder.H);
    if (!pass->enc) {
        pass->dkv = dg_pass_carve_floats(c, Ms, 2 * D);
        pass->dencoded = dg_pass_carve_floats(c, Ms, D);
        pass->guide = dg_pass_carve_floats(c, 1, pass->limits.scores);
    }
    pass->scratch = dg_pass_carve_floats(c, 1, dg_grad_attention_scratch(M, dh));
    pass->logits = dg_pass_carve_floats(c, pass->logits_rows, bp->decoder.V);
    pass->weights = dg_pass_carve_floats(c, 1, Mt);
}

/* ---- Making and freeing ---------------------------------------------------------------------- */

/* Memory that only some families have. */
static enum dg_err make_family(struct dg_pass *pass)
{
    const struct dg_blueprint *bp = &pass->params->bp;
    const struct dg_family_facts *family = dg_blueprint_family(bp);
    return family->is_recurrent ? dg_pass_seq_new(&pass->seq, bp)
           : family->has_head   ? dg_pass_enc_new(&pass->enc)
           : family->has_prompt ? dg_pass_lm_new(&pass->lm, bp)
                                : DG_OK;
}

enum dg_err dg_pass_new(struct dg_pass **pass, const struct dg_params *params,
                        const struct dg_pass_limits *limits, struct dg_error *error)
{
    const struct dg_blueprint *bp = &params->bp;
    struct dg_pass *made = dg_try_calloc(1, sizeof *made);
    if (!made)
        return DG_ERR_NOMEM;
    made->params = params;
    made->limits = *limits;
    made->k = limits->kernels ? limits->kernels : dg_grad_kernels_default();
    made->products = limits->products ? limits->products : &dg_products_f32;
    made->act = dg_net_act(bp->activation);
    size_t rows = LOGITS_FLOATS / bp->decoder.V;
    rows = rows < LOGITS_ROWS_MIN   ? LOGITS_ROWS_MIN
           : rows > LOGITS_ROWS_MAX ? LOGITS_ROWS_MAX
                                    : rows;
    made->logits_rows = rows < limits->target_rows ? rows : limits->target_rows;
    made->encoder = dg_try_calloc(bp->encoder.n_layers + 1, sizeof *made->encoder);
    made->decoder = dg_try_calloc(bp->decoder.n_layers + 1, sizeof *made->decoder);
    struct dg_pass_carve c = {0};
    if (made->encoder && made->decoder && make_family(made) == DG_OK)
        carve_all(made, &c);
    if (c.used && !c.overflow)
        made->block = dg_try_aligned(c.used);
    if (!made->block) {
        dg_pass_free(made);
        return dg_error_set(
            error, DG_ERR_NOMEM,
            "not enough memory for a pass over %zu and %zu tokens; ask for fewer at a time",
            limits->source_rows, limits->target_rows);
    }
    made->bytes = c.used;
    c = (struct dg_pass_carve){.block = made->block};
    carve_all(made, &c);
    if (made->lm)
        dg_pass_lm_fill(made);
    dg_gemm_init();
    *pass = made;
    return DG_OK;
}

void dg_pass_free(struct dg_pass *pass)
{
    if (!pass)
        return;
    dg_free(pass->encoder);
    dg_free(pass->decoder);
    dg_pass_seq_free(pass->seq);
    dg_pass_enc_free(pass->enc);
    dg_pass_lm_free(pass->lm);
    dg_free(pass->block);
    dg_free(pass);
}

size_t dg_pass_bytes(const struct dg_pass *pass)
{
    return pass->bytes;
}

/* Rows of both sides: an encoder-only model has no target rows; a language model reads both sides
 * as one text. */
static void count_rows(const struct dg_blueprint *bp, const struct dg_example *example,
                       size_t *n_source, size_t *n_target)
{
    const bool is_lm = dg_blueprint_family(bp)->has_prompt;
    *n_source = is_lm ? 0 : example->n_source;
    *n_target = dg_blueprint_family(bp)->has_head
                    ? 0
                    : example->n_target + (is_lm ? example->n_source - 1 : 0);
}

size_t dg_pass_length(const struct dg_blueprint *bp, const struct dg_example *example)
{
    size_t n_source, n_target;
    count_rows(bp, example, &n_source, &n_target);
    return dg_most(n_source, n_target);
}

size_t dg_pass_n_fitting(const struct dg_pass *pass, const struct dg_example *examples, size_t n)
{
    size_t source = 0, target = 0, scores = 0, i = 0;
    for (; i < n; i++) { /* go back to where the group begins */
        size_t n_source, n_target;
        count_rows(&pass->params->bp, &examples[i], &n_source, &n_target);
        const size_t longest = dg_most(n_source, n_target);
        source += n_source;
        target += n_target;
        scores += longest * longest;
        if (source > pass->limits.source_rows || target > pass->limits.target_rows ||
            scores > pass->limits.scores)
            return i - examples[i].candidate;
    }
    return n;
}

/* ---- Forward and backward -------------------------------------------------------------------- */

/* Places of dropout: embeddings 0 and 1, then one for each sub-layer. */
static uint64_t encoder_site(size_t layer, size_t sub)
{
    return 2 + 4 * layer + sub;
}

static uint64_t decoder_site(size_t layer, size_t sub)
{
    return UINT64_C(1) << 32 | (4 * layer + sub);
}

/* The stream before layer `i`. */
static const float *encoder_input(const struct dg_pass *pass, size_t i)
{
    return i == 0 ? pass->source.x : pass->encoder[i - 1].ffn.sub.out;
}

static const float *decoder_input(const struct dg_pass *pass, size_t i)
{
    return i == 0 ? pass->target.x : pass->decoder[i - 1].ffn.sub.out;
}

const float *dg_pass_layers(struct dg_pass *pass, const struct dg_encoder_layer *w,
                            const struct dg_norm_weights *norm)
{
    const size_t n = pass->params->bp.encoder.n_layers;
    for (size_t i = 0; i < n; i++) {
        struct pass_encoder_layer *layer = &pass->encoder[i];
        const float *x = dg_pass_self(pass, &layer->self, &w[i].self, encoder_input(pass, i), false,
                                      encoder_site(i, 0));
        dg_pass_ffn(pass, &layer->ffn, &w[i].ffn, x, false, encoder_site(i, 1));
    }
    const float *x = encoder_input(pass, n);
    if (!pass->source.final)
        return x;
    dg_pass_norm(pass, pass->source.final, pass->source.final_stats, x, norm, pass->source.M);
    return pass->source.final;
}

void dg_pass_layers_back(struct dg_pass *pass, const struct dg_encoder_layer *w,
                         const struct dg_norm_weights *norm)
{
    const size_t n = pass->params->bp.encoder.n_layers;
    if (pass->source.final)
        dg_pass_norm_back(pass, pass->dx, false, pass->dx, encoder_input(pass, n),
                          pass->source.final_stats, norm, pass->source.M);
    for (size_t i = n; i-- > 0;) {
        struct pass_encoder_layer *layer = &pass->encoder[i];
        dg_pass_ffn_back(pass, &layer->ffn, &w[i].ffn, layer->self.sub.out, false,
                         encoder_site(i, 1));
        dg_pass_self_back(pass, &layer->self, &w[i].self, encoder_input(pass, i), false,
                          encoder_site(i, 0));
    }
}

static const float *encode(struct dg_pass *pass)
{
    const struct dg_transformer_weights *w = &pass->params->weights.transformer;
    dg_pass_embed(pass, false, 0);
    return dg_pass_layers(pass, w->encoder_layers, &w->encoder_norm);
}

static void encode_back(struct dg_pass *pass)
{
    const struct dg_transformer_weights *w = &pass->params->weights.transformer;
    memcpy(pass->dx, pass->dencoded, pass->source.M * pass->params->bp.D * sizeof *pass->dx);
    dg_pass_layers_back(pass, w->encoder_layers, &w->encoder_norm);
    dg_pass_embed_back(pass, false, 0);
}

/* Runs layer i's first sub-layer: self-attention, or what the family has in its place. */
static const float *first_of_decoder(struct dg_pass *pass, size_t i)
{
    const struct dg_decoder_layer *w = &pass->params->weights.transformer.decoder_layers[i];
    struct pass_decoder_layer *layer = &pass->decoder[i];
    const float *x = decoder_input(pass, i);
    return pass->params->bp.decoder_kind == DG_DECODER_ATTENTION
               ? dg_pass_self(pass, &layer->self, &w->self, x, true, decoder_site(i, 0))
               : dg_pass_cell(pass, &layer->cell, w, x, decoder_site(i, 0));
}

static void first_of_decoder_back(struct dg_pass *pass, size_t i)
{
    const struct dg_decoder_layer *w = &pass->params->weights.transformer.decoder_layers[i];
    struct pass_decoder_layer *layer = &pass->decoder[i];
    const float *x = decoder_input(pass, i);
    if (pass->params->bp.decoder_kind == DG_DECODER_ATTENTION)
        dg_pass_self_back(pass, &layer->self, &w->self, x, true, decoder_site(i, 0));
    else
        dg_pass_cell_back(pass, &layer->cell, w, x, decoder_site(i, 0));
}

static const float *decode(struct dg_pass *pass, const float *encoded)
{
    const struct dg_transformer_weights *w = &pass->params->weights.transformer;
    const size_t n = pass->params->bp.decoder.n_layers;
    dg_pass_embed(pass, true, 1);
    for (size_t i = 0; i < n; i++) {
        struct pass_decoder_layer *layer = &pass->decoder[i];
        const float *x = first_of_decoder(pass, i);
        x = dg_pass_cross(pass, &layer->cross, &w->decoder_layers[i].cross, x, encoded,
                          decoder_site(i, 1));
        dg_pass_ffn(pass, &layer->ffn, &w->decoder_layers[i].ffn, x, true, decoder_site(i, 2));
    }
    const float *x = decoder_input(pass, n);
    if (!pass->target.final)
        return x;
    dg_pass_norm(pass, pass->target.final, pass->target.final_stats, x, &w->decoder_norm,
                 pass->target.M);
    return pass->target.final;
}

static void decode_back(struct dg_pass *pass, const float *encoded)
{
    const struct dg_transformer_weights *w = &pass->params->weights.transformer;
    const size_t n = pass->params->bp.decoder.n_layers;
    memset(pass->dencoded, 0, pass->source.M * pass->params->bp.D * sizeof *pass->dencoded);
    if (pass->target.final)
        dg_pass_norm_back(pass, pass->dx, false, pass->dx, decoder_input(pass, n),
                          pass->target.final_stats, &w->decoder_norm, pass->target.M);
    for (size_t i = n; i-- > 0;) {
        struct pass_decoder_layer *layer = &pass->decoder[i];
        const struct dg_decoder_layer *weights = &w->decoder_layers[i];
        dg_pass_ffn_back(pass, &layer->ffn, &weights->ffn, layer->cross.sub.out, true,
                         decoder_site(i, 2));
        const bool is_attention = pass->params->bp.decoder_kind == DG_DECODER_ATTENTION;
        dg_pass_cross_back(pass, &layer->cross, &weights->cross,
                           is_attention ? layer->self.sub.out : layer->cell.sub.out, encoded,
                           decoder_site(i, 1));
        first_of_decoder_back(pass, i);
    }
    dg_pass_embed_back(pass, true, 1);
}

static void run(struct dg_pass *pass, const struct dg_pass_batch *batch, struct dg_pass_sums *sums)
{
    pass->batch = batch;
    pass->sums = sums;
    if (pass->seq) {
        dg_pass_seq_run(pass, sums);
        return;
    }
    if (pass->lm) {
        dg_pass_lm_run(pass, sums);
        return;
    }
    pass->source.M = pass->target.M = 0;
    pass->source.row = batch->source_row;
    pass->target.row = batch->target_row;
    for (size_t i = 0; i < batch->n; i++) {
        pass->source.M += batch->examples[i].n_source;
        pass->target.M += batch->examples[i].n_target;
    }
    if (batch->n == 0)
        return;
    if (pass->enc) {
        dg_pass_enc_run(pass, sums);
        return;
    }
    const float *encoded = encode(pass);
    dg_pass_loss(pass, decode(pass, encoded), pass->target.M, sums);
    if (!pass->is_training)
        return;
    decode_back(pass, encoded);
    encode_back(pass);
}

void dg_pass_run(struct dg_pass *pass, const struct dg_pass_batch *batch, float *gradient,
                 struct dg_pass_sums *sums)
{
    pass->is_training = true;
    pass->gradient = gradient;
    run(pass, batch, sums);
}

void dg_pass_measure(struct dg_pass *pass, const struct dg_pass_batch *batch,
                     struct dg_pass_sums *sums)
{
    pass->is_training = false;
    pass->gradient = NULL;
    run(pass, batch, sums);
}
