/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The encoder as for a translation, then one row at position 0, whose logits are the labels'. */
#include "engine/classifier.h"
#include "base/mem.h"
#include "model/dir.h"
#include "model/net.h"
#include "text/tokenizer.h"

#include <math.h>
#include <string.h>

struct dg_classifier {
    struct dg_labels labels;
    bool has_labels;
    struct dg_tokenizer *tokenizer;
    struct dg_tokenizer_work *work;
    struct dg_net *net;
    struct dg_net_state *state;
    int32_t *ids; /* [source_len] */
    size_t source_len;
    const struct dg_kernels *kernels;
};

static enum dg_err check(const struct dg_classifier *c, const struct dg_blueprint *bp, const char *dir, struct dg_why *why)
{
    if (bp->family != DG_FAMILY_SEQ || !bp->seq.is_classifier)
        return dg_why_set(why, DG_ERR_INVALID, "%s is no classifier: it translates (dragoman translate)", dir);
    if (c->labels.n != bp->decoder.V || dg_tokenizer_source(c->tokenizer).size > bp->encoder.V)
        return dg_why_set(why, DG_ERR_FORMAT,
                          "%s: labels.txt has %zu labels and the vocabulary %u words, the network %zu and %zu; these files do "
                          "not belong together", dir, c->labels.n, dg_tokenizer_source(c->tokenizer).size, bp->decoder.V,
                          bp->encoder.V);
    return DG_OK;
}

static enum dg_err open_all(struct dg_classifier *c, struct dg_model *model, const char *dir, struct dg_why *why)
{
    const struct dg_blueprint *bp = dg_model_blueprint(model);
    enum dg_err err = dg_tokenizer_open(dir, why, &c->tokenizer);
    if (!err && bp->family == DG_FAMILY_SEQ && bp->seq.is_classifier) {
        err = dg_labels_open(&c->labels, dir, why);
        c->has_labels = !err;
    }
    if (!err)
        err = check(c, bp, dir, why);
    if (!err)
        err = dg_net_new(&c->net, bp, dg_model_weights(model), NULL, why);
    if (err)
        return err;
    c->source_len = bp->source_len_max;
    c->kernels = dg_net_kernels(c->net);
    const struct dg_net_limits limits = {
        .slots = 1, .lanes = 1, .rows = 1, .source_len = c->source_len, .target_len = 1};
    c->work = dg_tokenizer_work_new();
    c->ids = dg_try_calloc(c->source_len, sizeof *c->ids);
    if (!c->ids)
        return DG_ERR_NOMEM;
    return dg_net_state_new(&c->state, c->net, &limits, why);
}

enum dg_err dg_classifier_open(struct dg_classifier **classifier, const char *dir, struct dg_why *why)
{
    struct dg_model *model = NULL;
    struct dg_classifier *c = dg_try_calloc(1, sizeof *c);
    enum dg_err err = c ? dg_model_open(&model, dir, why) : DG_ERR_NOMEM;
    if (!err)
        err = open_all(c, model, dir, why);
    dg_model_unref(model);
    if (err)
        dg_classifier_close(c);
    else
        *classifier = c;
    return err;
}

void dg_classifier_close(struct dg_classifier *c)
{
    if (!c)
        return;
    if (c->has_labels)
        dg_labels_close(&c->labels);
    dg_net_state_free(c->state);
    dg_net_free(c->net);
    dg_tokenizer_work_free(c->work);
    dg_tokenizer_close(c->tokenizer);
    dg_free(c->ids);
    dg_free(c);
}

const struct dg_labels *dg_classifier_labels(const struct dg_classifier *c)
{
    return &c->labels;
}

enum dg_err dg_classifier_run(struct dg_classifier *c, struct dg_span text, float *probabilities, bool *cut,
                              struct dg_why *why)
{
    const struct dg_tokenizer_opts opts = DG_TOKENIZER_OPTS_DEFAULT;
    const struct dg_token *tokens;
    size_t n;
    enum dg_err err = dg_tokenizer_encode(c->tokenizer, c->work, text, &opts, why, &tokens, &n);
    if (err)
        return err;
    if (cut)
        *cut = n > c->source_len;
    if (n > c->source_len)
        n = c->source_len;
    for (size_t i = 0; i < n; i++)
        c->ids[i] = tokens[i].id;
    err = dg_net_open(c->state, 0, n, 1, 1);
    if (!err)
        err = dg_net_encode(c->state, &(struct dg_net_source){0, c->ids}, 1);
    const struct dg_net_row row = {.token = DG_ID_NONE, .want_logits = true};
    if (!err)
        err = dg_net_step(c->state, &(struct dg_net_step){.rows = &row, .n_rows = 1});
    if (!err) {
        memcpy(probabilities, dg_net_logits(c->state, 0), c->labels.n * sizeof *probabilities);
        c->kernels->softmax(probabilities, c->labels.n);
        if (!isfinite(probabilities[0]))
            err = dg_why_set(why, DG_ERR_INTEGRITY, "the probabilities are not finite: the weights are damaged");
    }
    dg_net_close(c->state, 0);
    return err ? dg_why_wrap(why, err, "a text of %zu bytes cannot be classified", text.len) : DG_OK;
}
