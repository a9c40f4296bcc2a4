/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The reasons for which data are dropped before training. The readers (pairs.h, labelled_data.h)
 * count the dropped data by reason:
 *
 *     uint64_t dropped[DG_N_DROPS] = {0};
 *     dropped[DG_DROP_LONG]++;
 *
 * setup.h reports the counts that are not zero, each with dg_drop_text. */
#ifndef DG_TRAIN_DATA_DROP_REASONS_H
#define DG_TRAIN_DATA_DROP_REASONS_H

/*      reason                   for the report */
#define DG_DROPS(X)                                                                                \
    X(DG_DROP_NO_TAB, "without a tab")                                                             \
    X(DG_DROP_NOT_UTF8, "not UTF-8")                                                               \
    X(DG_DROP_EMPTY_SIDE, "with an empty side")                                                    \
    X(DG_DROP_EMPTY_TEXT, "with an empty text")                                                    \
    X(DG_DROP_NO_LETTERS, "without a letter")                                                      \
    X(DG_DROP_LONG, "too long")                                                                    \
    X(DG_DROP_RATIO, "of too different lengths")                                                   \
    X(DG_DROP_SCRIPT, "in another script")                                                         \
    X(DG_DROP_NO_ANSWER, "whose answer is not in the context")                                     \
    X(DG_DROP_DUPLICATE, "twice")                                                                  \
    X(DG_DROP_LEAK, "like a held-out one")

enum dg_drop {
#define DG_DROP_ENUM(code, text) code,
    DG_DROPS(DG_DROP_ENUM)
#undef DG_DROP_ENUM
        DG_N_DROPS /* as a reason: the pair is kept */
};

const char *dg_drop_text(enum dg_drop drop);

#endif
