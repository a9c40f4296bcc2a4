/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The directory of a run. It is made once from pairs, and opened whenever the run begins or
 * resumes.
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
    /* [n_files] how often each file's pairs count in an epoch; NULL: once */
    const uint32_t *repeat;
    const char *dev; /* a file of held-out pairs, borrowed; NULL or "": held-out pairs are drawn
                        from the others */
    size_t n_dev;    /* how many pairs are drawn */
    uint64_t seed;
    const char *vocab; /* a SentencePiece model, borrowed; NULL or "": a vocabulary is learned from
                          the pairs */
    struct dg_spm_train_opts spm;
    size_t len_max; /* the most tokens of a side */
    bool aligns;    /* aligns the words of the pairs (aligner.h) and writes training/links.bin and
                       dev-links.bin */
    struct dg_blueprint bp; /* setup fills in the vocabulary sizes and the token ids */
    const char *source_file, *target_file; /* files with the source and target sides of further
                                              pairs, a line each; NULL or "": none */
    /* [n_mix] files of old pairs, mixed in so that the model does not forget them */
    const char *const *mix;
    size_t n_mix;
    const char *const *candidates; /* [n_candidates] files of minimum-risk candidates
                                    * (risk_candidates.h) */
    size_t n_candidates;
    double mix_ratio; /* how many old pairs go with each new pair; they are drawn by the seed */
    struct dg_select_opts select; /* all zeros: all pairs are used */
    /* the vocabulary learned for an encoder has only lower-case letters without accents */
    bool lowers;
    bool is_packed; /* For the lines of a language model: examples are cut from all lines joined,
                       rather than from single lines. */
    /* the model directory that supplies the blueprint and the vocabulary; NULL or "": none */
    const char *init;
};

/* Fills in a small version of the paper's network: 4 + 2 layers of width 256, one vocabulary for
 * both sides. */
void dg_setup_blueprint(struct dg_blueprint *bp);

/* Fills in the recurrent network of textbooks: a layer of width 256 and a vocabulary of its own for
 * each side. */
void dg_setup_blueprint_seq(struct dg_blueprint *bp);

/* Fills in a small encoder-only model: 4 layers of width 256, learned positions. The caller chooses
 * its head, which decides what the files contain (labelled_data.h). */
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
    struct dg_risk_candidates candidates; /* `n` is 0 if there are none */
    struct dg_pairs dev_pairs;
    size_t n_dev_cut; /* for a language model: held-out texts that were cut at the end of its
                         context */
    const struct dg_pair *dev_texts; /* [dev.n]; NULL for an encoder-only model */
    struct dg_tokenizer *tokenizer;
    /* owned; the labels of a classifier or of an encoder-only model; else NULL */
    struct dg_labels *labels;
    int32_t mask_id; /* the mask token of an encoder-only model; negative: it has none */
    size_t len_max;  /* the most tokens of its examples in other sets; the caller may lower it */
};

enum dg_err dg_setup_open(struct dg_setup *setup, const char *dir,
                          struct dg_error *error) DG_MUST_CHECK;
void dg_setup_close(struct dg_setup *setup);

/* A further set of pairs to score on, besides the held-out ones: as ids (in the file `ids_path`,
 * which is written anew) and as text. */
struct dg_setup_set {
    struct dg_pairs pairs;
    struct dg_corpus corpus;
};

enum dg_err dg_setup_open_set(struct dg_setup_set *set, const struct dg_setup *setup,
                              const char *path, bool swap, const char *ids_path,
                              struct dg_error *error) DG_MUST_CHECK;
void dg_setup_close_set(struct dg_setup_set *set); /* mirror; all zeros is fine */

#endif
