/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What a model is good for, as its card says in one row of a table:
 *
 *     | good for | everyday sentences |
 *
 * Three values are known; a card with another value, or without the row, says nothing. */
#ifndef DG_MODEL_GOOD_FOR_H
#define DG_MODEL_GOOD_FOR_H

enum dg_good_for {
    DG_GOOD_FOR_UNKNOWN,
    DG_GOOD_FOR_GIST,     /* "the gist" */
    DG_GOOD_FOR_EVERYDAY, /* "everyday sentences" */
    DG_GOOD_FOR_MOST,     /* "most texts" */
};

/* Reads DIR/card.md; a card that is missing or cannot be read states nothing. Any thread. */
enum dg_good_for dg_good_for_read(const char *dir);

/* Returns the name in the API: "gist", "everyday", "most"; NULL for UNKNOWN. */
const char *dg_good_for_name(enum dg_good_for good_for);

#endif
