/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads pairs or texts from files of JSON objects, one per line: {"source": "...", "target":
 * "..."}, or {"text": "..."}. Other fields are ignored. The result has the form of a file of texts,
 * or of columns separated by tabs; tabs and line ends within a text become spaces. */
#ifndef DG_TRAIN_DATA_PAIRS_JSON_H
#define DG_TRAIN_DATA_PAIRS_JSON_H

#include "base/file/text_in.h"
#include "base/memory/buf.h"
#include "base/memory/error.h"

#include <stdbool.h>

/* True for the names *.jsonl and *.ndjson, also with .gz. */
bool dg_pairs_is_json(const char *path);

/* Appends the lines. DG_ERR_FORMAT, or an error of the JSON parser: a line is malformed. */
enum dg_err dg_pairs_read_json(struct dg_text_in *in, const char *path, bool is_texts,
                               struct dg_buf *out, struct dg_error *error) DG_MUST_CHECK;

#endif
