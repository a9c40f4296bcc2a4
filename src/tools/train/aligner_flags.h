/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The options that sub-commands with an aligner share: rows for their tables, and the struct they
 * fill. */
#ifndef DG_TOOLS_TRAIN_ALIGNER_FLAGS_H
#define DG_TOOLS_TRAIN_ALIGNER_FLAGS_H

#include "base/option/opt.h"
#include "train/data/aligner.h"

struct aligner_flags {
    int64_t iterations;
    double null_share, tension, alpha;
    bool fixed_tension;
    uint64_t memory;
};

/* `T` has a member `aligner` of type struct aligner_flags. */
#define ALIGNER_ROWS(T)                                                                            \
    {DG_OPT_INT_IN(T, aligner.iterations, 1, 100), "iterations", .def = "5",                       \
     .heading = "Learning", .help = "passes over the pairs"},                                      \
        {DG_OPT_REAL_IN(T, aligner.null_share, 0.0001, 0.9), "null-share", .def = "0.08",          \
         .help = "share of words that stand for nothing on the other side"},                       \
        {DG_OPT_REAL_IN(T, aligner.tension, 0, 14), "tension", .def = "4",                         \
         .help = "how strongly words in like places belong together; 0: not at all"},              \
        {DG_OPT_BOOL(T, aligner.fixed_tension), "fixed-tension", .def = "no",                      \
         .help = "keep it, instead of learning it"},                                               \
        {DG_OPT_REAL_IN(T, aligner.alpha, 0.000001, 10), "alpha", .def = "0.01",                   \
         .help = "the prior's pseudo-count of each translation"},                                  \
    {                                                                                              \
        DG_OPT_SIZE(T, aligner.memory), "memory",                                                  \
            .def = "512MiB", .min = 1 << 20, .max = INT64_MAX,                                     \
            .help = "of the translation tables; when they are full the rarest pairs of words are " \
                    "forgotten"                                                                    \
    }

static inline struct dg_aligner_opts aligner_opts(const struct aligner_flags *flags)
{
    struct dg_aligner_opts opts = DG_ALIGNER_OPTS_DEFAULT;
    opts.iterations = (unsigned)flags->iterations;
    opts.p0 = flags->null_share;
    opts.tension = flags->tension;
    opts.fixed_tension = flags->fixed_tension;
    opts.alpha = flags->alpha;
    opts.memory = (size_t)flags->memory;
    return opts;
}

#endif
