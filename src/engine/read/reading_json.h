/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Writes the result for an item as a JSON object, in one form for the API's routes and the tool. */
#ifndef DG_ENGINE_READ_READING_JSON_H
#define DG_ENGINE_READ_READING_JSON_H

#include "base/json/json_out.h"
#include "engine/read/read.h"

/* Writes the object. `in_characters`: places count code points, not bytes. A result that comes in
 * parts becomes one object, written part by part. */
void dg_reading_json(struct dg_json_out *out, enum dg_read_task task,
                     const struct dg_engine_item *item, const struct dg_reading_result *said,
                     bool in_characters);

#endif
