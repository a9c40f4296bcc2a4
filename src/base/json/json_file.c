/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The file is closed after parsing, because a parsed value does not refer to its text. */
#include "base/json/json_file.h"
#include "base/file/map_file.h"

enum dg_err dg_json_file_read(const char *path, const struct dg_json_limits *limits,
                              struct dg_error *error, struct dg_json **json)
{
    struct dg_map_file file;
    enum dg_err err = dg_map_file_read(&file, path, limits->max_bytes, error);
    if (err)
        return err;
    err = dg_json_parse(dg_span_make((const char *)file.bytes, file.len), limits, error, json);
    dg_map_file_close(&file);
    return err ? dg_error_wrap(error, err, "%s", path) : DG_OK;
}
