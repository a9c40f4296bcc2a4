/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Looks at each line of the card; the first row decides. */
#include "model/good_for.h"

#include "base/file/folder.h"
#include "base/file/map_file.h"
#include "base/memory/chars.h"
#include "base/memory/span.h"

#include <string.h>

enum { CARD_MAX = 1 << 20 };

static const char *const words[] = {
    [DG_GOOD_FOR_UNKNOWN] = "",
    [DG_GOOD_FOR_GIST] = "the gist",
    [DG_GOOD_FOR_EVERYDAY] = "everyday sentences",
    [DG_GOOD_FOR_MOST] = "most texts",
};

const char *dg_good_for_name(enum dg_good_for good_for)
{
    static const char *const names[] = {NULL, "gist", "everyday", "most"};
    return names[good_for];
}

/* Reads the value of the row, if the line is that row. */
static bool read_row(struct dg_span line, struct dg_span *value)
{
    static const char blanks[] = " \t\r|";
    const struct dg_span name = DG_SPAN("good for");
    if (!dg_span_starts(line, DG_SPAN("|")))
        return false;
    line = dg_chars_trim(line, blanks);
    if (!dg_span_starts(line, name))
        return false;
    const struct dg_span rest = dg_span_sub(line, name.len, line.len);
    *value = dg_chars_trim(rest, blanks);
    return memchr(rest.ptr, '|', rest.len) && !memchr(value->ptr, '|', value->len);
}

static enum dg_good_for find(struct dg_span rest)
{
    struct dg_span value;
    while (rest.len) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        const size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
        if (!read_row(dg_span_sub(rest, 0, len), &value)) {
            rest = dg_span_sub(rest, len + (end != NULL), rest.len);
            continue;
        }
        for (int i = DG_GOOD_FOR_GIST; i <= DG_GOOD_FOR_MOST; i++)
            if (dg_span_eq(value, dg_span_cstr(words[i])))
                return (enum dg_good_for)i;
        break;
    }
    return DG_GOOD_FOR_UNKNOWN;
}

enum dg_good_for dg_good_for_read(const char *dir)
{
    char path[DG_PATH_CAP];
    struct dg_map_file file;
    if (dg_folder_path(dir, "card.md", path, NULL) || dg_map_file_read(&file, path, CARD_MAX, NULL))
        return DG_GOOD_FOR_UNKNOWN;
    const enum dg_good_for found = find(dg_span_make((const char *)file.bytes, file.len));
    dg_map_file_close(&file);
    return found;
}
