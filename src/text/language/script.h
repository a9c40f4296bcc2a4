/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Writing systems by their names in ISO 15924 ("Latn", "Cyrl", "Hang"), as Unicode assigns them to
 * characters.
 *
 *     int script = dg_script_find("Latn");
 *     if (dg_script_is_mostly(text, script)) ...
 *
 * Pure; any thread. */
#ifndef DG_TEXT_LANGUAGE_SCRIPT_H
#define DG_TEXT_LANGUAGE_SCRIPT_H

#include "base/memory/span.h"

#include <stdbool.h>

enum { DG_SCRIPT_ANY = -1 };

/* The number of a script by its four letters or its English name; DG_SCRIPT_ANY: there is none. */
int dg_script_find(const char *name);

/* True when at least half of the text's letters are in the script, the text has no letters, or the
 * script is DG_SCRIPT_ANY. Jpan and Kore stand for all scripts that Japanese and Korean use. */
bool dg_script_is_mostly(struct dg_span text, int script);

#endif
