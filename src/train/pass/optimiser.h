/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The optimiser: Adam (Kingma and Ba, 2015) or AdamW (Loshchilov and Hutter, 2019) with bias
 * correction, clipping by the norm of the whole gradient, schedules of the learning rate, and an
 * average of the weights. The average is what the daemon serves; it is an exponential moving
 * average, or one that the trainer computes.
 *
 *     struct dg_optimiser_opts opts = DG_OPTIMISER_OPTS_DEFAULT;
 *     err = dg_optimiser_new(&optimiser, &params, &opts, team, &error);
 *     ... each member adds to dg_optimiser_gradient(optimiser, member) ...
 *     err = dg_optimiser_step(optimiser, &report);
 *
 * A step sums the members' gradients, updates, and leaves all gradients zero. For the same
 * gradients the result depends, to the bit, only on the number of members. */
#ifndef DG_TRAIN_PASS_OPTIMISER_H
#define DG_TRAIN_PASS_OPTIMISER_H

#include "base/memory/error.h"
#include "train/pass/params.h"
#include "train/pass/team.h"

#include <stdbool.h>

enum dg_schedule {
    /* as in the Transformer paper: rises for `warmup` steps, then falls as 1/sqrt(step) */
    DG_SCHEDULE_INVERSE_SQRT,
    DG_SCHEDULE_COSINE,   /* rises, then falls along half a cosine to `rate_min` at `steps` */
    DG_SCHEDULE_LINEAR,   /* rises, then falls in a straight line to `rate_min` at `steps` */
    DG_SCHEDULE_CONSTANT, /* rises, then stays constant */
};

/* Parts of a network that training does not change. */
enum dg_freeze {
    DG_FREEZE_EMBEDDINGS = 1, /* embeddings of words and positions, and the output's matrix and
                                 bias; never an encoder's head */
    DG_FREEZE_ENCODER = 2,    /* the encoder's layers */
    DG_FREEZE_DECODER = 4,    /* the decoder's layers, with their attention over the source */
    DG_FREEZE_CROSS = 8,      /* only the decoder's attention over the source */
    DG_FREEZE_NORMS = 16,     /* all gains and biases of norms */
};

enum dg_optimiser_kind {
    DG_OPTIMISER_ADAM,
    DG_OPTIMISER_SGD, /* w = w - rate g, without moments */
};

struct dg_optimiser_opts {
    enum dg_optimiser_kind kind;
    enum dg_schedule schedule;
    double rate;       /* the highest rate; 0: that of the paper, 1 / sqrt(D * warmup) */
    double rate_min;   /* the rate at which cosine, linear and cool-down end */
    uint64_t warmup;   /* number of steps */
    uint64_t steps;    /* steps of the whole run, for cosine, linear and cool-down */
    uint64_t cooldown; /* how many of the last `steps` lower the rate to `rate_min` in a straight
                          line */
    double beta1, beta2, epsilon;
    double weight_decay; /* does not apply to biases and gains */
    double clip;         /* the largest norm of the gradient; 0: no clipping */
    double average;      /* decay of the moving average; 0: none is kept */
    /* If not 0, the average is taken over this many snapshots instead; the trainer then writes it
     * into `average` of the state. */
    size_t average_last;
    /* bits of enum dg_freeze; the gradient of frozen parts does not count for the norm either */
    unsigned freeze;
};

#define DG_OPTIMISER_OPTS_DEFAULT                                                                  \
    {                                                                                              \
        .warmup = 4000, .beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9, .clip = 1.0,                 \
        .average = 0.9995                                                                          \
    }

struct dg_optimiser; /* opaque; used by the thread that is member 0 of its team */

/* `params` and `team` are borrowed. Moments start as zeros, the average as the present weights. */
enum dg_err dg_optimiser_new(struct dg_optimiser **optimiser, struct dg_params *params,
                             const struct dg_optimiser_opts *opts, struct dg_team *team,
                             struct dg_error *error) DG_MUST_CHECK;
void dg_optimiser_free(struct dg_optimiser *optimiser); /* NULL is fine */

/* The array [params.n] to which a member adds its gradients. */
float *dg_optimiser_gradient(struct dg_optimiser *optimiser, size_t member);

struct dg_optimiser_report {
    double norm; /* the norm of the gradient before clipping */
    double rate;
    bool is_skipped; /* the gradient was not finite: only the count of steps changed */
};

void dg_optimiser_step(struct dg_optimiser *optimiser, struct dg_optimiser_report *report);

/* Whether the parts `freeze` contain a parameter. */
bool dg_optimiser_is_frozen(unsigned freeze, const struct dg_param *param);

/* Returns the learning rate of step `step`; steps count from 1. */
double dg_optimiser_rate(const struct dg_optimiser_opts *opts, size_t D, uint64_t step);

/* Returns the weights themselves, if a step only adds the gradient times -rate to them (SGD, one
 * member, no clipping, decay, average or freezing); else NULL. A caller that adds the gradient to
 * them directly calls dg_optimiser_count instead of dg_optimiser_step. */
float *dg_optimiser_direct(struct dg_optimiser *optimiser);
void dg_optimiser_count(struct dg_optimiser *optimiser);

/* What a checkpoint stores: arrays [params.n], and the counts of steps. `average` is NULL when no
 * average is kept, and the moments are NULL with SGD. To resume, the caller writes the stored
 * values into them. */
struct dg_optimiser_state {
    float *moment1, *moment2, *average;
    uint64_t *step;    /* steps made */
    uint64_t *updates; /* steps that changed the parameters */
};

struct dg_optimiser_state dg_optimiser_state(struct dg_optimiser *optimiser);

/* Returns the weights to serve: the average if one is kept, else the weights themselves. */
const float *dg_optimiser_best(const struct dg_optimiser *optimiser);

#endif
