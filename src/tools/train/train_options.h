/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The options of dragoman train: what a user may say, which options exclude each other, and the
 * settings of src/train that they come to. */
#ifndef DG_TOOLS_TRAIN_TRAIN_OPTIONS_H
#define DG_TOOLS_TRAIN_TRAIN_OPTIONS_H

#include "base/memory/error.h"
#include "base/option/opt.h"
#include "train/run/setup.h"
#include "train/run/trainer.h"

enum { TRAIN_FILES_MAX = 64 };

/* The pairs and the vocabulary, for dg_setup_make. */
struct data_options {
    int task, labels, vocab_kind, normaliser;
    const char *form, *from, *to; /* parts of the prompt template */
    const char *source, *target, *dev, *vocab, *init;
    const char *source_script, *target_script;
    struct dg_opt_list repeat, begins, mix, candidates;
    int64_t dev_pairs, len_chars, vocab_size, words_max;
    double len_ratio, coverage, mix_ratio;
    bool packed, swap, lowers, byte_fallback;
};

/* The blueprint. */
struct network_options {
    int family, shape, decoder, cell, attention, activation, norm;
    int64_t width, heads, kv_heads, encoder_layers, decoder_layers, ffn, aan_depth, reach, places;
    bool aan_gate, bidirectional, share_vocab;
};

/* The optimiser and the loss. */
struct learning_options {
    int optimiser, loss, schedule, products;
    int64_t batch_tokens, part_tokens, len_max, warmup, average_last, guide_head, rivals_tokens,
        seed, threads;
    double teacher, rate, rate_min, beta1, beta2, epsilon, weight_decay, clip, average, smoothing,
        dropout, dropout_ffn, guide, risk, sharpness, mask_share;
    struct dg_opt_list freeze;
};

struct ending_options {
    int64_t steps, cooldown, epochs, time_ms, patience;
};

/* Validations, checkpoints, lines of the log. */
struct watching_options {
    int metric;
    int64_t valid_every, valid_pairs, beam, save_ms, log_every;
};

/* The scores and the card. */
struct report_options {
    struct dg_opt_list test;
    int64_t test_pairs, test_beam;
    const char *note, *attribution;
};

struct train_options {
    int help;
    const char *resume, *out;
    struct data_options data;
    struct network_options network;
    struct learning_options learning;
    struct ending_options ending;
    struct watching_options watching;
    struct report_options report;
    bool is_encoder; /* derived from the other options: an encoder-only model is trained */
};

enum task { TRANSLATE, CLASSIFY, MASKED, TAG, ANSWER, SCORE, NEXT_WORD };
enum family { TRANSFORMER, RECURRENT, ENCODER };

/* Tasks for an encoder-only model and for no other network. */
static inline bool train_is_reading(int task)
{
    return task >= MASKED && task <= SCORE;
}

/* The table of the options; its checker knows which of them exclude each other. */
extern const struct dg_opt_table train_table;

/* Completes checked options by what the model to begin with says. */
enum dg_err train_options_complete(struct train_options *flags,
                                   struct dg_error *error) DG_MUST_CHECK;

/* Reads one number per file; with `repeat` NULL it only checks them. */
enum dg_err train_options_repeat(const struct dg_opt_list *list, uint32_t *repeat,
                                 struct dg_error *error) DG_MUST_CHECK;

/* Reads the parts of the network that are not trained, as bits. */
enum dg_err train_options_freeze(const struct dg_opt_list *list, unsigned *freeze,
                                 struct dg_error *error) DG_MUST_CHECK;

/* Reads the name of a script; *script is DG_SCRIPT_ANY for "". */
enum dg_err train_options_script(const char *option, const char *name, int *script,
                                 struct dg_error *error) DG_MUST_CHECK;

/* What checked options come to (train_settings.c). */
struct dg_setup_opts train_setup_opts(const struct train_options *flags);
struct dg_trainer_opts train_trainer_opts(const struct train_options *flags, const char *dir);

#endif
