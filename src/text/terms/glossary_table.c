/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Glossaries as tables: columns between tabs, or CSV. A row is cut into cells in place; a quoted
 * cell of CSV is copied without its quotes into a buffer of the row. */
#include "base/memory/utf8.h"
#include "text/terms/glossary.h"

enum { CELLS_MAX = DG_GLOSSARY_FORMS + 2, LANGUAGE_CELLS = 4 };

struct row {
    struct dg_span cells[CELLS_MAX];
    size_t n;
    struct dg_buf unquoted;
    size_t starts[CELLS_MAX]; /* starts of copied cells, while the buffer grows */
    bool is_copied[CELLS_MAX];
};

static void end_row(struct row *row)
{
    for (size_t i = 0; i < row->n; i++)
        if (row->is_copied[i] && row->unquoted.ptr)
            row->cells[i].ptr = row->unquoted.ptr + row->starts[i];
}

/* The line at `*at`; moves after it. */
static struct dg_span next_line(struct dg_span text, size_t *at)
{
    const char *start = text.ptr + *at, *end = memchr(start, '\n', text.len - *at);
    size_t len = end ? (size_t)(end - start) : text.len - *at;
    *at += len + (end != NULL);
    if (len && start[len - 1] == '\r')
        len--;
    return dg_span_make(start, len);
}

static bool add_cell(struct row *row, struct dg_span cell)
{
    if (row->n == CELLS_MAX)
        return false;
    row->is_copied[row->n] = false;
    row->cells[row->n++] = cell;
    return true;
}

static enum dg_err cut_tabs(struct dg_span line, struct row *row)
{
    for (size_t at = 0, from = 0; at <= line.len; at++) {
        if (at < line.len && line.ptr[at] != '\t')
            continue;
        if (!add_cell(row, dg_span_sub(line, from, at - from)))
            return DG_ERR_LIMIT;
        from = at + 1;
    }
    return DG_OK;
}

/* A cell between quotes, which may hold commas, quotes (doubled) and line ends; `*at` is after the
 * first quote. */
static enum dg_err copy_quoted(struct dg_span text, size_t *at, struct row *row)
{
    size_t start = row->unquoted.len;
    enum dg_err err = DG_OK;
    for (; !err; (*at)++) {
        if (*at == text.len)
            return DG_ERR_TRUNCATED;
        if (text.ptr[*at] == '"' && ++*at < text.len && text.ptr[*at] != '"')
            break;
        if (*at == text.len)
            break;
        err = dg_buf_append_byte(&row->unquoted, text.ptr[*at]);
    }
    if (!err && !add_cell(row, dg_span_make(NULL, row->unquoted.len - start)))
        return DG_ERR_LIMIT;
    if (!err) {
        row->is_copied[row->n - 1] = true;
        row->starts[row->n - 1] = start;
    }
    return err;
}

static enum dg_err cut_commas(struct dg_span text, size_t *at, struct row *row)
{
    enum dg_err err = DG_OK;
    for (;;) {
        if (*at < text.len && text.ptr[*at] == '"') {
            ++*at;
            err = copy_quoted(text, at, row);
        } else {
            size_t from = *at;
            while (*at < text.len && text.ptr[*at] != ',' && text.ptr[*at] != '\n')
                ++*at;
            size_t len = *at - from;
            if (len && text.ptr[*at - 1] == '\r')
                len--;
            err = add_cell(row, dg_span_sub(text, from, len)) ? DG_OK : DG_ERR_LIMIT;
        }
        if (err)
            return err;
        if (*at < text.len && text.ptr[*at] == '\r')
            ++*at;
        if (*at >= text.len)
            return DG_OK;
        char next = text.ptr[(*at)++];
        if (next == '\n')
            return DG_OK;
        if (next != ',')
            return DG_ERR_FORMAT;
    }
}

static bool is_empty(const struct row *row)
{
    return row->n == 1 && row->cells[0].len == 0 && !row->is_copied[0];
}

/* Counts lines from 1. */
static size_t line_of(struct dg_span text, size_t at)
{
    size_t line = 1;
    for (size_t i = 0; i < at; i++)
        line += text.ptr[i] == '\n';
    return line;
}

enum dg_err dg_glossary_read(struct dg_glossary *glossary, enum dg_glossary_format format,
                             size_t columns_max, struct dg_span text, struct dg_error *error)
{
    struct row row;
    enum dg_err err = DG_OK;
    size_t position = 0;
    if (text.len == 0)
        return DG_OK;
    dg_buf_init(&row.unquoted, text.len);
    for (size_t at = 0, from = 0, n_read = 0; !err && at < text.len; from = at) {
        const char *separator = format == DG_GLOSSARY_TSV ? "tab separator" : "comma separator";
        row.n = 0;
        dg_buf_clear(&row.unquoted);
        err = format == DG_GLOSSARY_TSV ? cut_tabs(next_line(text, &at), &row)
                                        : cut_commas(text, &at, &row);
        end_row(&row);
        if (err == DG_ERR_TRUNCATED || err == DG_ERR_FORMAT)
            err = dg_error_set(
                error, DG_ERR_FORMAT,
                "Key with the index %zu (starting at position %zu) has a quote out of place",
                n_read, position);
        bool has_languages =
            format == DG_GLOSSARY_CSV && columns_max == 2 && row.n == LANGUAGE_CELLS;
        if (!err && !is_empty(&row)) {
            if (row.n < 2 && columns_max > 2)
                err = dg_error_set(error, DG_ERR_FORMAT, "line %zu has no %s", line_of(text, from),
                                   format == DG_GLOSSARY_TSV ? "tab" : "comma");
            else if (row.n < 2)
                err = dg_error_set(error, DG_ERR_FORMAT,
                                   "Key with the index %zu (starting at position %zu) misses %s",
                                   n_read, position, separator);
            else if (row.n > columns_max && !has_languages)
                err = dg_error_set(
                    error, DG_ERR_FORMAT,
                    "Key with the index %zu (starting at position %zu) has %zu columns, expected "
                    "%s%zu",
                    n_read, position, row.n, columns_max > 2 ? "2 to " : "", columns_max);
            if (!err)
                err = dg_glossary_add_at(glossary, row.cells, has_languages ? 2 : row.n, position,
                                         error);
            if (err && err != DG_ERR_FORMAT)
                dg_error_wrap(error, err, "Key with the index %zu (starting at position %zu)",
                              n_read, position);
            n_read++;
        } else if (err == DG_ERR_LIMIT) {
            err = dg_error_set(
                error, err,
                "Key with the index %zu (starting at position %zu) has too many columns", n_read,
                position);
        }
        position += dg_utf8_count(dg_span_sub(text, from, at - from));
    }
    dg_buf_deinit(&row.unquoted);
    return err;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static enum dg_err put_cell(struct dg_span cell, enum dg_glossary_format format, struct dg_buf *out)
{
    bool is_quoted = false;
    for (size_t i = 0; format == DG_GLOSSARY_CSV && i < cell.len; i++)
        is_quoted = is_quoted || cell.ptr[i] == '"' || cell.ptr[i] == ',';
    if (!is_quoted)
        return dg_buf_append_span(out, cell);
    enum dg_err err = dg_buf_append_byte(out, '"');
    for (size_t i = 0; !err && i < cell.len; i++) {
        err = cell.ptr[i] == '"' ? dg_buf_append_byte(out, '"') : DG_OK;
        if (!err)
            err = dg_buf_append_byte(out, cell.ptr[i]);
    }
    return err ? err : dg_buf_append_byte(out, '"');
}

enum dg_err dg_glossary_write(const struct dg_dictionary *dictionary,
                              enum dg_glossary_format format, size_t columns_max,
                              struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; !err && i < dictionary->n; i++) {
        const struct dg_glossary_term *term = &dictionary->terms[i];
        err = put_cell(term->source, format, out);
        for (size_t f = 0; !err && f < term->n_targets && f + 1 < columns_max; f++) {
            err = dg_buf_append_byte(out, format == DG_GLOSSARY_TSV ? '\t' : ',');
            if (!err)
                err = put_cell(term->targets[f], format, out);
        }
        if (!err)
            err = dg_buf_append_byte(out, '\n');
    }
    return err;
}
