/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Range checks of the search options. Numbers come from clients, so NaN and infinity are refused
 * too (every comparison is written so that NaN fails it). */
#include "decode/search_opts.h"

enum { LENGTH_PENALTY_MAX = 10 };

float dg_search_usual_length_penalty(const struct dg_blueprint *bp, bool is_demanding)
{
    const float most = is_demanding ? 1 : LENGTH_PENALTY_MAX, makers = bp->length_penalty;
    return makers < 0 ? 0 : makers > most ? most : makers;
}

static int usual_beam(const struct dg_blueprint *bp, const struct dg_search_opts *opts,
                      size_t beam_max)
{
    size_t beam = bp->n_beams;
    if (opts->sample)
        return 1;
    if (beam_max && beam > beam_max)
        beam = beam_max;
    if (beam < (size_t)opts->n_best)
        beam = (size_t)opts->n_best;
    return beam < 1 ? 1 : beam > DG_BEAM_MAX ? DG_BEAM_MAX : (int)beam;
}

void dg_search_opts_complete(struct dg_search_opts *opts, const struct dg_blueprint *bp,
                             struct dg_search_usual usual, size_t beam_max)
{
    opts->beam_rule = bp->beam_rule;
    if (usual.beam)
        opts->beam = usual_beam(bp, opts, beam_max);
    if (usual.length_penalty)
        opts->length_penalty = dg_search_usual_length_penalty(bp, opts->n_constraints > 0);
}

static enum dg_err check_int(const char *name, long value, long least, long most,
                             struct dg_error *error)
{
    if (value >= least && value <= most)
        return DG_OK;
    return dg_error_set(error, DG_ERR_RANGE, "%s is %ld, expected %ld to %ld", name, value, least,
                        most);
}

static enum dg_err check_real(const char *name, double value, double least, double most,
                              struct dg_error *error)
{
    if (value >= least && value <= most)
        return DG_OK;
    return dg_error_set(error, DG_ERR_RANGE, "%s is %g, expected %g to %g", name, value, least,
                        most);
}

static enum dg_err check_ids(const char *name, const int32_t *ids, size_t n_ids, size_t n_vocab,
                             struct dg_error *error)
{
    for (size_t i = 0; i < n_ids; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= n_vocab)
            return dg_error_set(error, DG_ERR_RANGE,
                                "%s[%zu] is %ld, expected a token id from 0 to %zu", name, i,
                                (long)ids[i], n_vocab - 1);
    return DG_OK;
}

static enum dg_err check_numbers(const struct dg_search_opts *opts, struct dg_error *error)
{
    enum dg_err err;
    int n_best_most = opts->sample ? DG_BEAM_MAX : opts->beam;
    if ((err = check_int("beam", opts->beam, 1, DG_BEAM_MAX, error)) ||
        (err = check_int("n_best", opts->n_best, 1, n_best_most, error)) ||
        (err = check_real("length_penalty", (double)opts->length_penalty, 0, LENGTH_PENALTY_MAX,
                          error)) ||
        (err = check_real("coverage_penalty", (double)opts->coverage_penalty, 0, 10, error)) ||
        (err = check_real("patience", (double)opts->patience, 0.1, 16, error)) ||
        (err = check_real("temperature", (double)opts->temperature, 0.001, 100, error)) ||
        (err = check_int("top_k", opts->top_k, 0, DG_TOP_K_MAX, error)) ||
        (err = check_real("top_p", (double)opts->top_p, 1e-6, 1, error)) ||
        (err = check_int("max_len", opts->max_len, 0, DG_TARGET_MAX, error)) ||
        (err = check_int("min_len", opts->min_len, 0, opts->max_len, error)) ||
        (err = check_real("max_ratio", (double)opts->max_ratio, 0, 100, error)) ||
        (err = check_int("max_extra", opts->max_extra, 0, DG_TARGET_MAX, error)) ||
        (err = check_real("repetition_penalty", (double)opts->repetition_penalty, 1, 10, error)) ||
        (err = check_int("no_repeat_ngram", opts->no_repeat_ngram, 0, 16, error)) ||
        (err = check_int("prefix length", (long)opts->n_prefix, 0, DG_TARGET_MAX, error)) ||
        (err = check_int("lead length", (long)opts->n_lead, 0, DG_LEAD_MAX, error)) ||
        (err = check_int("number of constraints", (long)opts->n_constraints, 0, DG_CONSTRAINTS_MAX,
                         error)))
        return err;
    return DG_OK;
}

static enum dg_err check_constraints(const struct dg_search_opts *opts, size_t n_vocab,
                                     struct dg_error *error)
{
    for (size_t i = 0; i < opts->n_constraints; i++) {
        const struct dg_constraint *constraint = &opts->constraints[i];
        if (constraint->n_forms == 0)
            return dg_error_set(error, DG_ERR_INVALID,
                                "constraint %zu has no form, expected one or more", i);
        for (size_t f = 0; f < constraint->n_forms; f++) {
            const struct dg_phrase *form = &constraint->forms[f];
            if (form->n_ids == 0 || form->n_ids > DG_TARGET_MAX)
                return dg_error_set(error, DG_ERR_RANGE,
                                    "constraint %zu, form %zu has %zu tokens, expected 1 to %d", i,
                                    f, form->n_ids, DG_TARGET_MAX);
            enum dg_err err = check_ids("constraint", form->ids, form->n_ids, n_vocab, error);
            if (err)
                return err;
        }
    }
    return DG_OK;
}

enum dg_err dg_search_opts_check(const struct dg_search_opts *opts, size_t n_vocab,
                                 struct dg_error *error)
{
    enum dg_err err = check_numbers(opts, error);
    if (err)
        return err;
    if (opts->sample && opts->beam != 1)
        return dg_error_set(
            error, DG_ERR_INVALID,
            "sampling was asked for with beam %d; use beam 1 (n_best draws several)", opts->beam);
    for (size_t i = 1; i < opts->n_shortlist; i++)
        if (opts->shortlist[i] <= opts->shortlist[i - 1])
            return dg_error_set(error, DG_ERR_INVALID,
                                "the shortlist is not in ascending order at %zu", i);
    if ((err = check_ids("suppress", opts->suppress, opts->n_suppress, n_vocab, error)) ||
        (err = check_ids("shortlist", opts->shortlist, opts->n_shortlist, n_vocab, error)) ||
        (err = check_ids("lead", opts->lead, opts->n_lead, n_vocab, error)) ||
        (err = check_ids("prefix", opts->prefix, opts->n_prefix, n_vocab, error)))
        return err;
    return check_constraints(opts, n_vocab, error);
}

int dg_search_opts_cap(const struct dg_search_opts *opts, size_t n_src)
{
    int cap = opts->max_len;
    if (opts->max_ratio > 0) {
        double relative = (double)opts->max_ratio * (double)n_src + opts->max_extra;
        if (relative < cap)
            cap = (int)relative;
    }
    return cap;
}
