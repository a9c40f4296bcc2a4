/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The array of parameters is cut into blocks of a fixed size. Members take every n-th block. A sum
 * over all blocks is computed for each block and then added up in order, so only the sum over the
 * members' gradients depends on the number of members. */
#include "train/pass/optimiser.h"
#include "base/memory/mem.h"
#include "tensor/gradient/grad.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 32768 };

struct range {
    size_t from, to;
};

struct dg_optimiser {
    struct dg_params *params;
    struct dg_team *team;
    struct dg_optimiser_opts opts;
    const struct dg_grad_kernels *k;
    uint64_t step, updates;
    float *moment1, *moment2, *average; /* [n] */
    float **gradients;                  /* [team size][n] */
    double *squares;                    /* [n_blocks] */
    size_t n_blocks;
    size_t n_matrices;   /* elements before the first vector; weight decay applies to these only */
    struct dg_adam adam; /* the state of the step under way */
    float average_share;
    bool has_step;
    struct range *frozen; /* [n_frozen] in order, with a gap between each and the next */
    size_t n_frozen;
};

static float *zeros(size_t n)
{
    size_t bytes;
    float *x = dg_mul(n, sizeof *x, &bytes) ? dg_try_aligned(bytes) : NULL;
    if (x)
        memset(x, 0, bytes);
    return x;
}

/* The layers of a language model count as a decoder's. */
static bool is_of_decoder(const char *name)
{
    return strstr(name, ".decoder.layers.") || strncmp(name, "model.layers.", 13) == 0;
}

bool dg_optimiser_is_frozen(unsigned freeze, const struct dg_param *param)
{
    const char *name = param->name;
    if (strstr(name, "norm"))
        return freeze & DG_FREEZE_NORMS ||
               (freeze & DG_FREEZE_ENCODER && strstr(name, ".encoder.layers.")) ||
               (freeze & DG_FREEZE_DECODER && is_of_decoder(name));
    if (strncmp(name, "head.", 5) == 0)
        return false; /* an encoder-only model is trained for exactly this output */
    if (strstr(name, ".encoder_attn."))
        return (freeze & (DG_FREEZE_DECODER | DG_FREEZE_CROSS)) != 0;
    if (strstr(name, ".encoder.layers."))
        return (freeze & DG_FREEZE_ENCODER) != 0;
    if (is_of_decoder(name))
        return (freeze & DG_FREEZE_DECODER) != 0;
    return (freeze & DG_FREEZE_EMBEDDINGS) != 0;
}

static bool list_frozen(struct dg_optimiser *o)
{
    const struct dg_params *params = o->params;
    o->frozen = dg_try_calloc(params->n_list + 1, sizeof *o->frozen);
    if (!o->frozen)
        return false;
    for (size_t i = 0; i < params->n_list; i++) {
        const struct dg_param *param = &params->list[i];
        if (!dg_optimiser_is_frozen(o->opts.freeze, param))
            continue;
        if (o->n_frozen && o->frozen[o->n_frozen - 1].to == param->at)
            o->frozen[o->n_frozen - 1].to += param->len;
        else
            o->frozen[o->n_frozen++] = (struct range){param->at, param->at + param->len};
    }
    return true;
}

/* Finds the part of [at, at + len) that range `i` freezes; false when there is none. */
static bool frozen_part(const struct dg_optimiser *o, size_t i, size_t at, size_t len,
                        struct range *part)
{
    const struct range *range = &o->frozen[i];
    part->from = range->from > at ? range->from : at;
    part->to = range->to < at + len ? range->to : at + len;
    return part->from < part->to;
}

static bool take_memory(struct dg_optimiser *o)
{
    const size_t n = o->params->n, members = dg_team_size(o->team);
    o->gradients = dg_try_calloc(members, sizeof *o->gradients);
    o->squares = dg_try_calloc(o->n_blocks, sizeof *o->squares);
    const bool has_moments = o->opts.kind == DG_OPTIMISER_ADAM;
    o->moment1 = has_moments ? zeros(n) : NULL;
    o->moment2 = has_moments ? zeros(n) : NULL;
    const bool has_average = o->opts.average > 0.0 || o->opts.average_last;
    o->average = has_average ? zeros(n) : NULL;
    bool ok = list_frozen(o) && o->gradients && o->squares &&
              (!has_moments || (o->moment1 && o->moment2)) && (o->average || !has_average);
    for (size_t i = 0; ok && i < members; i++)
        ok = (o->gradients[i] = zeros(n)) != NULL;
    return ok;
}

enum dg_err dg_optimiser_new(struct dg_optimiser **optimiser, struct dg_params *params,
                             const struct dg_optimiser_opts *opts, struct dg_team *team,
                             struct dg_error *error)
{
    struct dg_optimiser *o = dg_try_calloc(1, sizeof *o);
    if (!o)
        return DG_ERR_NOMEM;
    *o = (struct dg_optimiser){
        .params = params,
        .team = team,
        .opts = *opts,
        .k = dg_grad_kernels_default(),
        .n_blocks = (params->n + BLOCK - 1) / BLOCK,
        .n_matrices = params->n,
    };
    for (size_t i = 0; i < params->n_list; i++)
        if (params->list[i].rank == 1 && params->list[i].at < o->n_matrices)
            o->n_matrices = params->list[i].at;
    if (!take_memory(o)) {
        dg_optimiser_free(o);
        return dg_error_set(error, DG_ERR_NOMEM,
                            "not enough memory for the optimiser of %zu parameters and %zu threads",
                            params->n, dg_team_size(team));
    }
    if (o->average)
        memcpy(o->average, params->w, params->n * sizeof *o->average);
    *optimiser = o;
    return DG_OK;
}

void dg_optimiser_free(struct dg_optimiser *o)
{
    if (!o)
        return;
    for (size_t i = 0; o->gradients && i < dg_team_size(o->team); i++)
        dg_free(o->gradients[i]);
    dg_free(o->gradients);
    dg_free(o->squares);
    dg_free(o->frozen);
    dg_free(o->moment1);
    dg_free(o->moment2);
    dg_free(o->average);
    dg_free(o);
}

float *dg_optimiser_gradient(struct dg_optimiser *o, size_t member)
{
    return o->gradients[member];
}

struct dg_optimiser_state dg_optimiser_state(struct dg_optimiser *o)
{
    return (struct dg_optimiser_state){o->moment1, o->moment2, o->average, &o->step, &o->updates};
}

const float *dg_optimiser_best(const struct dg_optimiser *o)
{
    return o->average ? o->average : o->params->w;
}

/* The rate without the cool-down. */
static double scheduled_rate(const struct dg_optimiser_opts *opts, size_t D, uint64_t step)
{
    const double warmup = opts->warmup ? (double)opts->warmup : 1.0, t = (double)step;
    const double peak = opts->rate > 0.0 ? opts->rate : 1.0 / sqrt((double)D * warmup);
    if (t < warmup)
        return peak * t / warmup;
    const double span = (double)opts->steps - warmup;
    double done = span > 0.0 ? (t - warmup) / span : 1.0;
    done = done < 1.0 ? done : 1.0;
    switch (opts->schedule) {
    case DG_SCHEDULE_INVERSE_SQRT:
        return peak * sqrt(warmup / t);
    case DG_SCHEDULE_COSINE:
        return opts->rate_min +
               (peak - opts->rate_min) * 0.5 * (1.0 + cos(3.141592653589793 * done));
    case DG_SCHEDULE_LINEAR:
        return opts->rate_min + (peak - opts->rate_min) * (1.0 - done);
    case DG_SCHEDULE_CONSTANT:
        break;
    }
    return peak;
}

double dg_optimiser_rate(const struct dg_optimiser_opts *opts, size_t D, uint64_t step)
{
    const double rate = scheduled_rate(opts, D, step);
    if (!opts->cooldown || step + opts->cooldown <= opts->steps)
        return rate;
    const double left =
        step < opts->steps ? (double)(opts->steps - step) / (double)opts->cooldown : 0.0;
    return opts->rate_min + (rate - opts->rate_min) * left;
}

/* Elements of a block. */
static size_t block_len(const struct dg_optimiser *o, size_t block)
{
    const size_t at = block * BLOCK;
    return o->params->n - at < BLOCK ? o->params->n - at : BLOCK;
}

/* Sets member 0's gradient to the sum of all, and the other gradients to zero. */
static void add_up(void *ctx, size_t member)
{
    struct dg_optimiser *o = ctx;
    const size_t members = dg_team_size(o->team);
    for (size_t b = member; b < o->n_blocks; b += members) {
        const size_t at = b * BLOCK, len = block_len(o, b);
        for (size_t i = 1; i < members; i++) {
            o->k->axpy(o->gradients[0] + at, o->gradients[i] + at, 1.0f, len);
            memset(o->gradients[i] + at, 0, len * sizeof(float));
        }
        struct range part;
        for (size_t i = 0; i < o->n_frozen; i++)
            if (frozen_part(o, i, at, len, &part))
                memset(o->gradients[0] + part.from, 0, (part.to - part.from) * sizeof(float));
        o->squares[b] = o->k->norm2(o->gradients[0] + at, len);
    }
}

static void update_stretch(struct dg_optimiser *o, size_t at, size_t len,
                           const struct dg_adam *adam)
{
    float *w = o->params->w + at;
    if (o->opts.kind == DG_OPTIMISER_ADAM) {
        o->k->adam(w, o->moment1 + at, o->moment2 + at, o->gradients[0] + at, len, adam);
        return;
    }
    for (size_t i = 0; adam->decay > 0.0f && i < len; i++)
        w[i] *= 1.0f - adam->decay;
    o->k->axpy(w, o->gradients[0] + at, -adam->rate * adam->grad_scale, len);
}

/* Skips frozen ranges: their moments stay zero, and decay must not change their weights. */
static void update_range(struct dg_optimiser *o, size_t at, size_t len, bool decays)
{
    struct dg_adam adam = o->adam;
    struct range part;
    if (!decays)
        adam.decay = 0.0f;
    for (size_t i = 0; i < o->n_frozen && len; i++) {
        if (!frozen_part(o, i, at, len, &part))
            continue;
        if (part.from > at)
            update_stretch(o, at, part.from - at, &adam);
        len -= part.to - at;
        at = part.to;
    }
    if (len)
        update_stretch(o, at, len, &adam);
}

static void update(void *ctx, size_t member)
{
    struct dg_optimiser *o = ctx;
    for (size_t b = member; b < o->n_blocks; b += dg_team_size(o->team)) {
        const size_t at = b * BLOCK, len = block_len(o, b);
        const size_t matrices = at >= o->n_matrices        ? 0
                                : o->n_matrices - at < len ? o->n_matrices - at
                                                           : len;
        if (o->has_step && matrices)
            update_range(o, at, matrices, true);
        if (o->has_step && matrices < len)
            update_range(o, at + matrices, len - matrices, false);
        memset(o->gradients[0] + at, 0, len * sizeof(float));
        if (o->has_step && o->average && !o->opts.average_last)
            o->k->approach(o->average + at, o->params->w + at, o->average_share, len);
    }
}

float *dg_optimiser_direct(struct dg_optimiser *o)
{
    const struct dg_optimiser_opts *opts = &o->opts;
    const bool is_bare = opts->kind == DG_OPTIMISER_SGD && !(opts->clip > 0.0) &&
                         !(opts->weight_decay > 0.0) && !o->average && o->n_frozen == 0 &&
                         dg_team_size(o->team) == 1;
    return is_bare ? o->params->w : NULL;
}

void dg_optimiser_count(struct dg_optimiser *o)
{
    o->step++;
    o->updates++;
}

void dg_optimiser_step(struct dg_optimiser *o, struct dg_optimiser_report *report)
{
    dg_team_run(o->team, add_up, o);
    double square = 0.0;
    for (size_t b = 0; b < o->n_blocks; b++)
        square += o->squares[b];
    const double norm = sqrt(square);
    o->step++;
    o->has_step = isfinite(norm);
    *report = (struct dg_optimiser_report){
        norm, dg_optimiser_rate(&o->opts, o->params->bp.D, o->step), !o->has_step};
    if (o->has_step) {
        const double t = (double)++o->updates;
        /* rate * (m / c1) / (sqrt(v / c2) + eps) = (rate * sqrt(c2) / c1) * m / (sqrt(v) + eps *
         * sqrt(c2)) */
        const double c1 = 1.0 - pow(o->opts.beta1, t), c2 = sqrt(1.0 - pow(o->opts.beta2, t));
        const double clip = o->opts.clip > 0.0 && norm > o->opts.clip ? o->opts.clip / norm : 1.0;
        o->adam = (struct dg_adam){
            .rate =
                (float)(o->opts.kind == DG_OPTIMISER_ADAM ? report->rate * c2 / c1 : report->rate),
            .beta1 = (float)o->opts.beta1,
            .beta2 = (float)o->opts.beta2,
            .epsilon = (float)(o->opts.epsilon * c2),
            .decay = (float)(report->rate * o->opts.weight_decay),
            .grad_scale = (float)clip,
        };
        /* While the average is young, it forgets faster, so that start values do not linger. */
        const double young = (1.0 + t) / (10.0 + t);
        o->average_share = (float)(1.0 - (young < o->opts.average ? young : o->opts.average));
    }
    dg_team_run(o->team, update, o);
}
