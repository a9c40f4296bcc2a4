/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A run of training: steps, validations and checkpoints, until a limit is reached or the caller
 * stops it.
 *
 *     struct dg_trainer_opts opts = DG_TRAINER_OPTS_DEFAULT;
 *     err = dg_trainer_new(&trainer, &opts, &bp, &data, NULL, &error);
 *     err = dg_trainer_resume(trainer, &error);                     if there is a checkpoint
 *     err = dg_trainer_run(trainer, &events, ctx, &end, &error);
 *     dg_trainer_free(trainer);
 *
 * It writes four files of a model directory: training/checkpoint.safetensors, training/log.tsv,
 * training/samples.tsv (step, source, translation, reference, at each validation), and, at each
 * validation that is the best so far, model.safetensors (F16) with the averaged weights. The other
 * files of the directory (config.json, vocabulary) exist before (train/run/setup.h).
 *
 * With the same options, number of threads and processor, a run that is interrupted and resumed
 * gives the same weights, bit for bit, as one that is not. One thread; it makes its own team. */
#ifndef DG_TRAIN_RUN_TRAINER_H
#define DG_TRAIN_RUN_TRAINER_H

#include "base/memory/error.h"
#include "train/data/corpus.h"
#include "train/data/risk_candidates.h"
#include "train/pass/optimiser.h"
#include "train/run/validate.h"

#include <stdbool.h>
#include <stdint.h>

enum dg_trainer_metric {
    DG_TRAINER_LOSS,
    DG_TRAINER_BLEU,
    DG_TRAINER_CHRF,
    /* the figure of the task (dg_validate_task) for classifiers and encoder-only models, the loss
     * for others */
    DG_TRAINER_TASK,
};

struct dg_trainer_opts {
    const char *dir; /* the model directory */
    struct dg_optimiser_opts optimiser;
    size_t threads;
    /* Tokens of a step, which has at least one pair: the larger of the counts of source and target
     * tokens. A large step is computed in parts. */
    size_t batch_tokens;
    size_t part_tokens; /* tokens of one pass on one thread */
    enum dg_products_kind products;
    size_t len_max; /* the most tokens of a side */
    float smoothing, dropout, dropout_ffn;
    float guide; /* the weight of the word links in the loss, for pairs that have links; 0: they are
                    not used */
    size_t guide_head; /* the head of the last decoder layer, from 1 */
    float risk;        /* the weight of the candidates' expected cost, if there are any */
    float sharpness;   /* the exponent of the probabilities that weigh the candidates (pass.h) */
    /* For each step, sources with candidates are drawn in addition to batch_tokens, until they have
     * this many target tokens. */
    size_t rivals_tokens;
    float teacher; /* `teacher` and `loss` are for recurrent networks (pass.h) */
    enum dg_pass_loss loss;
    struct dg_pass_mask mask; /* for an encoder's head for words */
    uint64_t seed;

    uint64_t steps;       /* the run ends after this many steps; 0: no limit */
    uint64_t epochs;      /* the run ends after this many passes over the pairs; 0: no limit */
    uint64_t time_ms;     /* the run ends after this time, counted over resumes; 0: no limit */
    uint64_t valid_every; /* steps between validations */
    size_t patience; /* the run ends after this many validations without a new best; 0: no limit */
    enum dg_trainer_metric metric; /* the figure by which validations are compared */
    size_t n_translate;            /* held-out sentences that are translated at each validation */
    int beam;
    uint64_t save_ms;   /* time between checkpoints */
    uint64_t log_every; /* steps between lines of the log */
};

#define DG_TRAINER_OPTS_DEFAULT                                                                    \
    {                                                                                              \
        .optimiser = DG_OPTIMISER_OPTS_DEFAULT, .threads = 1, .batch_tokens = 4096,                \
        .part_tokens = 1024, .len_max = 128, .smoothing = 0.1f, .dropout = 0.1f, .teacher = 1.0f,  \
        .seed = 1, .risk = 1.0f, .sharpness = 1.0f, .rivals_tokens = 1024, .valid_every = 1000,    \
        .patience = 10, .metric = DG_TRAINER_LOSS, .n_translate = 200, .beam = 1,                  \
        .save_ms = 300000, .log_every = 50                                                         \
    }

/* The progress of a run. */
struct dg_trainer_now {
    uint64_t step, epoch; /* steps made, and epochs begun, counted from 1 */
    uint64_t position, n; /* pairs of this epoch that were used, and all pairs */
    double seconds;       /* the time of the whole run, including that before a resume */
    double loss;          /* -log p per target token since the last line of the log, without
                             smoothing */
    double objective;     /* the value that is minimised, including the risk, over the same steps */
    double norm, rate;
    double tokens_per_second; /* target tokens per second since the last line of the log */
    uint64_t n_skipped;       /* steps whose gradient was not finite */
    double best;              /* the best value of the metric */
    uint64_t best_step;
    size_t n_worse; /* validations since the best one */
};

struct dg_trainer_events {
    bool (*should_stop)(void *ctx);                               /* asked after every step */
    void (*on_step)(void *ctx, const struct dg_trainer_now *now); /* called after every step */
    /* called for every line of the log */
    void (*on_line)(void *ctx, const struct dg_trainer_now *now);
    void (*on_valid)(void *ctx, const struct dg_trainer_now *now,
                     const struct dg_validate_report *report, bool is_best);
    void (*on_save)(void *ctx, const struct dg_trainer_now *now);
};

enum dg_trainer_end {
    DG_TRAINER_STEPS,
    DG_TRAINER_EPOCHS,
    DG_TRAINER_TIME,
    DG_TRAINER_PATIENCE,
    DG_TRAINER_STOPPED
};

const char *dg_trainer_end_text(enum dg_trainer_end end);

struct dg_trainer; /* opaque */

/* The data of training and of validation; all borrowed. */
struct dg_trainer_data {
    const struct dg_corpus *train, *dev; /* dev may have no pairs; then nothing is validated */
    const struct dg_pair *dev_texts;     /* [dev->n] */
    const struct dg_tokenizer *tokenizer;
    /* for an encoder-only model that labels words; others may pass NULL */
    const struct dg_labels *labels;
    const struct dg_risk_candidates *candidates; /* NULL: there are none */
};

/* Makes a trainer. The weights start from the seed, or from `init` (weights of a model with the
 * same blueprint), unless that is NULL. */
enum dg_err dg_trainer_new(struct dg_trainer **trainer, const struct dg_trainer_opts *opts,
                           const struct dg_blueprint *bp, const struct dg_trainer_data *data,
                           const struct dg_weights *init, struct dg_error *error) DG_MUST_CHECK;
void dg_trainer_free(struct dg_trainer *trainer); /* NULL is fine */

/* Goes back to the last checkpoint. DG_ERR_NOT_FOUND: there is none yet. */
enum dg_err dg_trainer_resume(struct dg_trainer *trainer, struct dg_error *error) DG_MUST_CHECK;

/* Trains until a limit is reached or the caller stops the run, and writes a checkpoint before it
 * returns DG_OK. When it returns an error (a full disk, say), the last checkpoint is whole. */
enum dg_err dg_trainer_run(struct dg_trainer *trainer, const struct dg_trainer_events *events,
                           void *ctx, enum dg_trainer_end *end,
                           struct dg_error *error) DG_MUST_CHECK;

const struct dg_trainer_now *dg_trainer_now(const struct dg_trainer *trainer);
const struct dg_params *dg_trainer_params(const struct dg_trainer *trainer);

/* Between runs: scores the weights that would be served now on pairs, given as ids and as text: the
 * loss of all pairs, and BLEU and chrF of the first `n_translate`. */
enum dg_err dg_trainer_judge(struct dg_trainer *trainer, const struct dg_corpus *pairs,
                             const struct dg_pair *texts, size_t n_translate, int beam,
                             struct dg_validate_report *report,
                             struct dg_error *error) DG_MUST_CHECK;

/* Replaces the weights by the model that was published last (DIR/model.safetensors), to score it.
 * Called only after a run; training can continue only after dg_trainer_resume. */
enum dg_err dg_trainer_take_best(struct dg_trainer *trainer, struct dg_error *error) DG_MUST_CHECK;

/* Returns the bytes of memory that weights, optimiser and passes take. */
size_t dg_trainer_bytes(const struct dg_trainer *trainer);

#endif
