/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The JSON of a whole file.
 *
 *     struct dg_json *json = NULL;
 *     err = dg_json_file_read(path, &limits, error, &json);
 *     ...                                      "models/x/vocab.json: line 3, column 7 ..."
 *     dg_json_free(json);
 *
 * Errors about single fields do not name the path: whoever reads the fields adds it with
 * dg_error_wrap. */
#ifndef DG_BASE_JSON_JSON_FILE_H
#define DG_BASE_JSON_JSON_FILE_H

#include "base/json/json.h"

/* A regular file of at most limits->max_bytes. */
enum dg_err dg_json_file_read(const char *path, const struct dg_json_limits *limits,
                              struct dg_error *error, struct dg_json **json) DG_MUST_CHECK;

#endif
