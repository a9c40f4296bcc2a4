/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* From gradients to better weights: Adam (Kingma and Ba, 2015) or AdamW (Loshchilov and Hutter,
 * 2019) with bias correction, clipping by the norm of the whole gradient, schedules of the learning
 * rate, and an average of the weights, which is what gets served: an exponential moving one, or
 * what the trainer puts there.
 *
 *     struct dg_optimiser_opts opts = DG_OPTIMISER_OPTS_DEFAULT;
 *     err = dg_optimiser_new(&optimiser, &params, &opts, team, &error);
 *     ... each member adds to dg_optimiser_gradient(optimiser, member) ...
 *     err = dg_optimiser_step(optimiser, &report);
 *
 * A step sums the members' gradients, updates, and leaves all gradients zero. The result depends on
 * the number of members (sums of floats do) and on nothing else: same numbers, same bits. */
#ifndef DG_TRAIN_PASS_OPTIMISER_H
#define DG_TRAIN_PASS_OPTIMISER_H

#include "base/memory/err.h"
#include "base/memory/error.h"
#include "train/pass/params.h"
#include "train/pass/team.h"

#include <stdbool.h>

enum dg_schedule {
    DG_SCHEDULE_INVERSE_SQRT, /* the paper's: rises for `warmup` steps, then falls as 1/sqrt(step)
                               */
    DG_SCHEDULE_COSINE,       /* rises, then falls along half a cosine to `rate_min` at `steps` */
    DG_SCHEDULE_LINEAR,       /* rises, then falls in a straight line to `rate_min` at `steps` */
    DG_SCHEDULE_CONSTANT,     /* rises, then stays */
};

/* Parts of a network that a training leaves as they are. */
enum dg_freeze {
    DG_FREEZE_EMBEDDINGS = 1, /* of words and positions, and the output's matrix and bias; never an
                                 encoder's head */
    DG_FREEZE_ENCODER = 2,    /* its layers */
    DG_FREEZE_DECODER = 4,    /* its layers, with their attention over the source */
    DG_FREEZE_CROSS = 8,      /* the decoder's attention over the source alone */
    DG_FREEZE_NORMS = 16,     /* all gains and biases of norms */
};

enum dg_optimiser_kind {
    DG_OPTIMISER_ADAM,
    DG_OPTIMISER_SGD, /* w = w - rate g, and that is all: no moments */
};

struct dg_optimiser_opts {
    enum dg_optimiser_kind kind;
    enum dg_schedule schedule;
    double rate;       /* the highest; 0: the paper's, 1 / sqrt(D * warmup) */
    double rate_min;   /* where cosine, line and cool-down end */
    uint64_t warmup;   /* steps */
    uint64_t steps;    /* of the whole run, for cosine, line and cool-down */
    uint64_t cooldown; /* the last of `steps`, in which the schedule's rate is led to `rate_min` in
                          a straight line */
    double beta1, beta2, epsilon;
    double weight_decay; /* not of biases and gains */
    double clip;         /* largest norm of the gradient; 0: no clipping */
    double average;      /* decay of the moving average; 0: none is kept */
    size_t average_last; /* the average is another: that of so many snapshots, which the trainer
                            writes into it; 0: not */
    unsigned freeze;     /* enum dg_freeze together; what is frozen counts for no norm either */
};

#define DG_OPTIMISER_OPTS_DEFAULT                                                                  \
    {                                                                                              \
        .warmup = 4000, .beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9, .clip = 1.0,                 \
        .average = 0.9995                                                                          \
    }

struct dg_optimiser; /* opaque; the thread that is member 0 of its team */

/* `params` and `team` are borrowed. Moments are zeros, the average is the weights of now. */
enum dg_err dg_optimiser_new(struct dg_optimiser **optimiser, struct dg_params *params,
                             const struct dg_optimiser_opts *opts, struct dg_team *team,
                             struct dg_error *error) DG_MUST_CHECK;
void dg_optimiser_free(struct dg_optimiser *optimiser); /* NULL is fine */

/* Where a member adds its gradients [params.n]. */
float *dg_optimiser_gradient(struct dg_optimiser *optimiser, size_t member);

struct dg_optimiser_report {
    double norm; /* of the gradient, before clipping */
    double rate;
    bool is_skipped; /* the gradient was not finite: nothing was changed but the count of steps */
};

void dg_optimiser_step(struct dg_optimiser *optimiser, struct dg_optimiser_report *report);

/* Whether such a set of parts holds a parameter. */
bool dg_optimiser_is_frozen(unsigned freeze, const struct dg_param *param);

/* The learning rate of step `step`, from 1. */
double dg_optimiser_rate(const struct dg_optimiser_opts *opts, size_t D, uint64_t step);

/* The weights themselves, when a step is nothing but a gradient times -rate added to them (SGD, one
 * member, no clipping, decay, average or freezing); else NULL. Who has added it there calls
 * dg_optimiser_count instead of a step. */
float *dg_optimiser_direct(struct dg_optimiser *optimiser);
void dg_optimiser_count(struct dg_optimiser *optimiser);

/* What a checkpoint keeps: arrays of params.n, and the count of steps. `average` is NULL when none
 * is kept, moments are with SGD. A resumed run writes into them. */
struct dg_optimiser_state {
    float *moment1, *moment2, *average;
    uint64_t *step;    /* steps done */
    uint64_t *updates; /* those that changed something */
};

struct dg_optimiser_state dg_optimiser_state(struct dg_optimiser *optimiser);

/* The weights to serve: the average, or the weights themselves. */
const float *dg_optimiser_best(const struct dg_optimiser *optimiser);

#endif
