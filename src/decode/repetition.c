/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Repetition at the end of a sequence: for every period p, count how far back ids[i] == ids[i - p]
 * holds. The period with the longest run wins; on a tie, the shorter period. */
#include "decode/repetition.h"

enum {
    RUN_LEAST = 16,   /* a shorter run never counts as a loop */
    COPIES_SHORT = 4, /* how many copies of a phrase of up to PERIOD_SHORT tokens make a loop */
    COPIES_LONG = 3,
    PERIOD_SHORT = 4,
};

struct dg_repetition dg_repetition_tail(const int32_t *ids, size_t n_ids)
{
    if (n_ids > DG_REPETITION_WINDOW) {
        ids += n_ids - DG_REPETITION_WINDOW;
        n_ids = DG_REPETITION_WINDOW;
    }
    struct dg_repetition best = {0, 0};
    for (int period = 1; period <= DG_REPETITION_PERIOD_MAX && (size_t)period * 2 <= n_ids;
         period++) {
        size_t matched = 0;
        while (matched + (size_t)period < n_ids &&
               ids[n_ids - 1 - matched] == ids[n_ids - 1 - matched - (size_t)period])
            matched++;
        int run = (int)matched + period;
        if (run >= 2 * period && run > best.run)
            best = (struct dg_repetition){period, run};
    }
    return best;
}

int dg_repetition_allowance(const int32_t *ids, size_t n_ids)
{
    int most = 0;
    for (size_t end = 2; end <= n_ids; end++) {
        struct dg_repetition tail = dg_repetition_tail(ids, end);
        if (tail.run >= 3 * tail.period && tail.run > most)
            most = tail.run;
    }
    return most;
}

bool dg_repetition_is_hopeless(const struct dg_repetition *tail, int allowance)
{
    if (tail->period == 0)
        return false;
    int copies = tail->period <= PERIOD_SHORT ? COPIES_SHORT : COPIES_LONG;
    int least = 2 * allowance + 8;
    if (least < RUN_LEAST)
        least = RUN_LEAST;
    return tail->run >= least && tail->run >= copies * tail->period;
}

size_t dg_repetition_held_back(const int32_t *ids, size_t n_ids)
{
    struct dg_repetition tail = dg_repetition_tail(ids, n_ids);
    int shown = 2 * tail.period;
    return tail.run > shown ? (size_t)(tail.run - shown) : 0;
}
