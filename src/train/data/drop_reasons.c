/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The report's texts come from the list in the header, in its order. */
#include "train/data/drop_reasons.h"

const char *dg_drop_text(enum dg_drop drop)
{
    static const char *const texts[] = {
#define DG_DROP_TEXT(code, text) text,
        DG_DROPS(DG_DROP_TEXT)
#undef DG_DROP_TEXT
    };
    return texts[drop];
}
