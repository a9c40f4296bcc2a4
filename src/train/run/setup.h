/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The directory of a run: made once from pairs, opened as often as the run is resumed.
 *
 *     struct dg_setup_opts opts = DG_SETUP_OPTS_DEFAULT;
 *     err = dg_setup_make("models/fr-en", files, n_files, &opts, say, ctx, &error);
 *     err = dg_setup_open(&setup, "models/fr-en", &error);
 *     ... setup.bp, setup.train, setup.dev, setup.dev_texts, setup.tokenizer ...
 *     dg_setup_close(&setup);
 *
 * What is made:
 *     config.json, source.spm, maybe target.spm    the blueprint and the vocabulary; together with
 *                                                  model.safetensors, which the training writes, a
 *                                                  model directory that the daemon serves
 *     training/pairs.bin, dev.bin                  pairs as ids (corpus.h)
 *     training/links.bin, dev-links.bin            word alignments, on request
 *     training/rivals.bin, rivals-costs.bin        minimum-risk candidates, if there are files of
 *                                                  them
 *     training/dev.tsv                             held-out pairs as text
 *     training/data.txt                            the files, and how many lines of each were used
 *
 * For a language model the pairs are texts, a line each, or (with a form in its blueprint's lm.ask)
 * prompts and answers; texts.h turns them into ids.
 *
 * One thread. */
#ifndef DG_TRAIN_RUN_SETUP_H
#define DG_TRAIN_RUN_SETUP_H

#include "base/file/text_in.h"
#include "base/memory/err.h"
#include "base/memory/error.h"
#include "model/labels.h"
#include "model/model_dir.h"
#include "tokenize/tokenizer.h"
#include "train/data/corpus.h"
#include "train/data/pairs.h"
#include "train/data/risk_candidates.h"
#include "train/data/select.h"
#include "vocabulary/spm_train.h"

#include <stdint.h>

struct dg_setup_opts {
    struct dg_pairs_opts pairs;
    const uint32_t *repeat; /* [n_files] how often each file's pairs count in an epoch; NULL: once
                             */
    const char *dev; /* a file of held-out pairs, borrowed; NULL or "": drawn from the others */
    size_t n_dev;    /* how many are drawn */
    uint64_t seed;
    const char *vocab; /* a SentencePiece model, borrowed; NULL or "": learned from the pairs */
    struct dg_spm_train_opts spm;
    size_t len_max; /* tokens of a side */
    bool aligns;    /* align the pairs' words (aligner.h): training/links.bin, dev-links.bin */
    struct dg_blueprint bp;                /* vocabulary sizes and token ids are filled in */
    const char *source_file, *target_file; /* two more files, of the lines of each side; NULL or
                                            * "": none */
    const char *const *mix; /* [n_mix] files of old pairs, mixed in against forgetting */
    size_t n_mix;
    const char *const *candidates; /* [n_candidates] files of minimum-risk candidates
                                    * (risk_candidates.h) */
    size_t n_candidates;
    double mix_ratio;             /* old pairs for each new pair, drawn by the seed */
    struct dg_select_opts select; /* all zeros: all pairs */
    bool lowers;      /* an encoder's learned vocabulary has only small letters without accents */
    bool is_packed;   /* for a language model's lines: examples are stretches of all lines, end to
                         end, rather than single lines */
    const char *init; /* a model directory that gives the blueprint and the vocabulary; NULL or "":
                         none */
};

/* The paper's network, small: 4 + 2 layers of width 256, one vocabulary for both sides. */
void dg_setup_blueprint(struct dg_blueprint *bp);

/* The textbook's recurrent one: a layer of width 256 on each side, a vocabulary a side. */
void dg_setup_blueprint_seq(struct dg_blueprint *bp);

/* An encoder alone, small: 4 layers of width 256, learned positions. The caller chooses its head,
 * which decides what the files contain (labelled_data.h). */
void dg_setup_blueprint_enc(struct dg_blueprint *bp);

/* A language model of 4 layers of width 256. */
enum dg_setup_shape {
    DG_SETUP_GPT,   /* learned positions, layer norms, GELU, biases */
    DG_SETUP_LLAMA, /* rotary positions, RMS norms, gated SiLU, no biases */
};

void dg_setup_blueprint_lm(struct dg_blueprint *bp, enum dg_setup_shape shape);

/* One line of report. */
typedef void (*dg_setup_say_fn)(void *ctx, const char *line);

enum dg_err dg_setup_make(const char *dir, const char *const *files, size_t n_files,
                          const struct dg_setup_opts *opts, dg_setup_say_fn say, void *ctx,
                          struct dg_error *error) DG_MUST_CHECK;

struct dg_setup {
    struct dg_blueprint bp;
    struct dg_corpus train, dev;
    struct dg_risk_candidates candidates; /* n is 0: none */
    struct dg_pairs dev_pairs;
    size_t n_dev_cut; /* for a language model: held-out texts cut at the end of its context */
    const struct dg_pair *dev_texts; /* [dev.n]; NULL for an encoder alone */
    struct dg_tokenizer *tokenizer;
    /* owned; of a classifier or an encoder alone with labels; else NULL */
    struct dg_labels *labels;
    int32_t mask_id; /* of an encoder alone; negative: none */
    size_t len_max;  /* tokens of its examples in other sets; the caller may lower it */
};

enum dg_err dg_setup_open(struct dg_setup *setup, const char *dir,
                          struct dg_error *error) DG_MUST_CHECK;
void dg_setup_close(struct dg_setup *setup);

/* Further pairs to score on, besides the held-out ones: as ids (in the file `ids_path`, which is
 * written anew) and as text. */
struct dg_setup_set {
    struct dg_pairs pairs;
    struct dg_corpus corpus;
};

enum dg_err dg_setup_open_set(struct dg_setup_set *set, const struct dg_setup *setup,
                              const char *path, bool swap, const char *ids_path,
                              struct dg_error *error) DG_MUST_CHECK;
void dg_setup_close_set(struct dg_setup_set *set); /* mirror; all zeros is fine */

#endif
