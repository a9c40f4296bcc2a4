/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Names of a workbook's sheets. Formulas, charts, links and print areas call sheets by their names,
 * so a name may change only if nothing else in the document mentions it.
 *
 *     struct dg_sheets sheets;
 *     dg_sheets_init(&sheets, '!');                       '.' in OpenDocument
 *     err = dg_sheets_add(&sheets, name);                 each name, as the part writes it
 *     dg_sheets_look(&sheets, part);                      each part that may refer to a sheet
 *     if (dg_sheets_may_change(&sheets, name)) ...
 *     err = dg_sheets_rename(&sheets, name, translation);
 *     dg_sheets_deinit(&sheets);
 *
 * When in doubt a name stays: where a formula makes references of text (INDIRECT), where a
 * reference is written in a form that is not understood, and where dg_sheets_keep was called.
 * Linear time. */
#ifndef DG_OFFICE_SHEETS_H
#define DG_OFFICE_SHEETS_H

#include "base/memory/arena.h"
#include "base/memory/error.h"
#include "base/memory/map.h"
#include "base/memory/span.h"

#include <stdbool.h>

struct dg_sheets {
    struct dg_map names; /* struct dg_sheet by the name in small letters */
    struct dg_arena arena;
    char mark; /* what follows the name of a sheet in a reference */
    bool all_stay;
};

void dg_sheets_init(struct dg_sheets *sheets, char mark);
void dg_sheets_deinit(struct dg_sheets *sheets);

/* DG_ERR_LIMIT: more names than any workbook has; DG_ERR_NOMEM. */
enum dg_err dg_sheets_add(struct dg_sheets *sheets, struct dg_span name) DG_MUST_CHECK;

/* Keeps the names that this XML refers to. In OpenDocument only its tags are looked at. */
void dg_sheets_look(struct dg_sheets *sheets, struct dg_span part);

/* All names stay. */
void dg_sheets_keep(struct dg_sheets *sheets);

bool dg_sheets_may_change(const struct dg_sheets *sheets, struct dg_span name);

/* Checks that the sheet `name` may be called `other`: programs accept such a name, no other sheet
 * has it, and no earlier call gave it to one. DG_ERR_EXISTS, DG_ERR_INVALID, DG_ERR_NOMEM. */
enum dg_err dg_sheets_rename(struct dg_sheets *sheets, struct dg_span name,
                             struct dg_span other) DG_MUST_CHECK;

#endif
