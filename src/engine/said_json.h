/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What is said of an item, as a JSON object: one form for the routes and the tool. */
#ifndef DG_ENGINE_SAID_JSON_H
#define DG_ENGINE_SAID_JSON_H

#include "base/json_out.h"
#include "engine/read.h"

/* `in_characters`: places count code points, not bytes. What is told in parts is one object, written part by part. */
void dg_said_json(struct dg_json_out *out, enum dg_read_task task, const struct dg_engine_item *item,
                  const struct dg_said *said, bool in_characters);

#endif
