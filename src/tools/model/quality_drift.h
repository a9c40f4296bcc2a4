/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Quality drift: compares networks on the same sentence pairs, by the probability that they give to
 * the targets, and by BLEU and chrF of their translations of the sources. Each line is one
 * sequence: no line is cut, and no part of it is protected. A model of many languages gets the
 * languages of the pairs.
 *
 *     struct drift drift;
 *     err = drift_open(&drift, "models/fr-en", "dev.tsv.gz", &bp, &opts, &error);
 *     err = drift_loss(&drift, net, &loss, &error);       any number of networks of this vocabulary
 *     err = drift_translate(&drift, net, 4, &scores, &error);
 *     drift_close(&drift);
 *
 * One thread. */
#ifndef DG_TOOLS_MODEL_QUALITY_DRIFT_H
#define DG_TOOLS_MODEL_QUALITY_DRIFT_H

#include "base/file/text_in.h"
#include "engine/models/langs.h"
#include "network/net.h"
#include "tokenize/tokenizer.h"

struct drift_opts {
    bool swap;                   /* lines have the form target<TAB>source */
    size_t most;                 /* the most pairs to use, from the first on; 0: all */
    const char *source, *target; /* the languages, if the model has to be told them; else "" */
};

struct drift_pair {
    int32_t *source, *target; /* owned; each ends with its end token */
    size_t n_source, n_target;
    struct dg_span reference; /* the text of the target, borrowed from the file */
};

struct drift {
    struct dg_text_in file;
    struct dg_tokenizer *tokenizer; /* owned */
    struct dg_langs *langs;         /* one reference */
    struct dg_lang_pair pair;       /* a pair of `langs` */
    struct drift_pair *pairs;       /* [n] owned */
    size_t n, cap;
    size_t n_long; /* pairs left out because a side has more tokens than the network takes */
    size_t longest_source, longest_target;
};

struct drift_scores {
    double bleu, chrf; /* 0 to 100 */
};

/* Reads the pairs. `file` has lines source<TAB>target, plain or gzip. */
enum dg_err drift_open(struct drift *drift, const char *model_dir, const char *file,
                       const struct dg_blueprint *bp, const struct drift_opts *opts,
                       struct dg_error *error) DG_MUST_CHECK;
void drift_close(struct drift *drift); /* all zeros is fine */

/* Computes the mean of -log p over all target tokens. */
enum dg_err drift_loss(const struct drift *drift, const struct dg_net *net, double *loss,
                       struct dg_error *error) DG_MUST_CHECK;

enum dg_err drift_translate(const struct drift *drift, const struct dg_net *net, int beam,
                            struct drift_scores *scores, struct dg_error *error) DG_MUST_CHECK;

#endif
