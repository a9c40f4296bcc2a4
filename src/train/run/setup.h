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
    const char *const *mix; /* [n_mix] files of old pairs, mixed in against forgetting */
    size_t n_mix;
    const char *const *candidates; /* [n_candidates] files of minimum-risk candidates
                                    * (risk_candidates.h) */
    size_t n_candidates;
    double mix_ratio; /* how many old pairs go with each new pair; they are drawn by the seed */
    struct dg_select_opts select; /* all zeros: all pairs are used */
    /* the learned vocabulary of an encoder has only lower-case letters without accents */
    bool lowers;
    bool is_packed;   /* For the lines of a language model: examples are cut from all lines joined,
                         rather than from single lines. */
    const char *init; /* the model directory that the blueprint and the vocabulary come from; NULL
                         or "": none */
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
    struct dg_risk_candidates candidates; /* `n` is 0 if there are none */
    struct dg_pairs dev_pairs;
    size_t n_dev_cut; /* for a language model: held-out texts that were cut at the end of its
                         context */
    const struct dg_pair *dev_texts; /* [dev.n]; NULL for an encoder alone */
    struct dg_tokenizer *tokenizer;
    /* owned; the labels of a classifier or of an encoder alone; else NULL */
    struct dg_labels *labels;
    int32_t mask_id; /* the mask token of an encoder alone; negative: it has none */
    size_t len_max;  /* the most tokens of its examples in other sets; the caller may lower it */
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
