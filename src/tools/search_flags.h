/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The search options as command-line flags, the same for every sub-command that decodes.
 *
 *     struct values { int help; struct search_flags search; };
 *     static const struct dg_opt_row rows[] = {DG_OPT_HELP(struct values, help),
 *                                              SEARCH_FLAGS(struct values, search)};
 *     struct dg_search_opts opts = search_flags_opts(&values->search);
 *     dg_search_opts_complete(&opts, bp, search_flags_usual(set), 0);         the model's own */
#ifndef DG_TOOLS_SEARCH_FLAGS_H
#define DG_TOOLS_SEARCH_FLAGS_H

#include "base/option/opt.h"
#include "decode/search_opts.h"

struct search_flags {
    int64_t beam, nbest, top_k, seed, min_len, max_len, max_extra, no_repeat_ngram;
    double length_penalty, coverage_penalty, patience, temperature, top_p, max_ratio,
        repetition_penalty;
    bool early_stop, sample, suppress_unk, loop_guard;
};

#define SEARCH_FLAGS(T, f)                                                                         \
    {DG_OPT_INT_IN(T, f.beam, 1, DG_BEAM_MAX), "beam", .letter = 'b', .heading = "Search",         \
     .help = "hypotheses kept for each sentence; 1 is greedy search (default: as the model's "     \
             "makers have it)"},                                                                   \
        {DG_OPT_INT_IN(T, f.nbest, 1, DG_BEAM_MAX), "nbest", .letter = 'n', .def = "1",            \
         .help = "answers for each sentence, at most the beam (or that many draws)"},              \
        {DG_OPT_REAL_IN(T, f.length_penalty, 0, 10), "length-penalty",                             \
         .help = "score is log-probability divided by length to this power (default: as the "      \
                 "model's makers have it)"},                                                       \
        {DG_OPT_REAL_IN(T, f.coverage_penalty, 0, 10), "coverage-penalty", .def = "0",             \
         .help = "weight of source words that were left out"},                                     \
        {DG_OPT_REAL_IN(T, f.patience, 0.1, 16), "patience", .def = "1",                           \
         .help = "the search ends when beam times this many have finished"},                       \
        {DG_OPT_BOOL(T, f.early_stop), "early-stop", .def = "yes",                                 \
         .help = "end then, even if an unfinished hypothesis could still win"},                    \
        {DG_OPT_BOOL(T, f.sample), "sample", .def = "no",                                          \
         .help = "draw words instead of searching"},                                               \
        {DG_OPT_REAL_IN(T, f.temperature, 0.001, 100), "temperature", .def = "1",                  \
         .help = "above 1 more varied draws, below 1 safer ones"},                                 \
        {DG_OPT_INT_IN(T, f.top_k, 0, DG_TOP_K_MAX), "top-k", .def = "0",                          \
         .help = "draw among the k likeliest words; 0: all"},                                      \
        {DG_OPT_REAL_IN(T, f.top_p, 0.00001, 1), "top-p", .def = "1",                              \
         .help = "draw among the likeliest words that hold this mass"},                            \
        {DG_OPT_INT_IN(T, f.seed, 0, INT64_MAX), "seed", .def = "0",                               \
         .help = "same seed, same draws"},                                                         \
        {DG_OPT_INT_IN(T, f.min_len, 0, DG_TARGET_MAX), "min-len", .def = "0",                     \
         .help = "least tokens of a sentence"},                                                    \
        {DG_OPT_INT_IN(T, f.max_len, 0, DG_TARGET_MAX), "max-len", .def = "512",                   \
         .help = "most tokens of a sentence"},                                                     \
        {DG_OPT_REAL_IN(T, f.max_ratio, 0, 100), "max-ratio", .def = "2",                          \
         .help = "most tokens relative to the source (plus --max-extra); 0: no such limit"},       \
        {DG_OPT_INT_IN(T, f.max_extra, 0, DG_TARGET_MAX), "max-extra", .def = "10",                \
         .help = "see --max-ratio"},                                                               \
        {DG_OPT_REAL_IN(T, f.repetition_penalty, 1, 10), "repetition-penalty", .def = "1",         \
         .help = "lowers the score of words that already occurred"},                               \
        {DG_OPT_INT_IN(T, f.no_repeat_ngram, 0, 16), "no-repeat-ngram", .def = "0",                \
         .help = "no n words twice in the same order; 0: allowed"},                                \
        {DG_OPT_BOOL(T, f.suppress_unk), "suppress-unk", .def = "no",                              \
         .help = "with --ids: never use the unknown word; with text it is never used"},            \
    {                                                                                              \
        DG_OPT_BOOL(T, f.loop_guard), "loop-guard",                                                \
            .def = "yes", .help = "stop, repair once and mark a translation that goes in circles"  \
    }

/* Says which options take the model's own values: those that the command line does not give. */
static inline struct dg_search_usual search_flags_usual(const struct dg_opt_set *set)
{
    return (struct dg_search_usual){.beam = !dg_opt_given(set, "beam"),
                                    .length_penalty = !dg_opt_given(set, "length-penalty")};
}

/* Returns the options. Until the model is known, a beam that was not given is as wide as the number
 * of answers. */
static inline struct dg_search_opts search_flags_opts(const struct search_flags *flags)
{
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    opts.beam = flags->beam ? (int)flags->beam : flags->sample ? 1 : (int)flags->nbest;
    opts.n_best = (int)flags->nbest;
    opts.length_penalty = (float)flags->length_penalty;
    opts.coverage_penalty = (float)flags->coverage_penalty;
    opts.patience = (float)flags->patience;
    opts.early_stop = flags->early_stop;
    opts.sample = flags->sample;
    opts.temperature = (float)flags->temperature;
    opts.top_k = (int)flags->top_k;
    opts.top_p = (float)flags->top_p;
    opts.seed = (uint64_t)flags->seed;
    opts.min_len = (int)flags->min_len;
    opts.max_len = (int)flags->max_len;
    opts.max_ratio = (float)flags->max_ratio;
    opts.max_extra = (int)flags->max_extra;
    opts.repetition_penalty = (float)flags->repetition_penalty;
    opts.no_repeat_ngram = (int)flags->no_repeat_ngram;
    opts.suppress_unk = flags->suppress_unk;
    opts.loop_guard = flags->loop_guard;
    return opts;
}

#endif
