/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Tables of text, one record per line (RFC 4180): cells divided by commas, semicolons or tabs. Each
 * cell of a chosen column that has words is a block. A cell keeps its quotes; one without gets them
 * only if its translation needs them. */
#include "base/memory/chars.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "filter/filter_int.h"

#include <string.h>
#include <strings.h>

enum {
    COLUMNS_MAX = 4096, /* further columns are never translated */
    PROBE_RECORDS = 64, /* records from which the separator is guessed */
    PROBE_BYTES = 1 << 18,
    HEADER_MAX = 64, /* bytes of a column's name that are kept */
    NAME_SHOWN = 40,
    CELL_MAX = 1 << 24,
    QUOTED = 1, /* bits of block.info */
};

struct cell {
    size_t at, len;   /* the cell with its quotes */
    size_t column;    /* from 0 */
    bool is_quoted;   /* nothing comes after the quotes */
    bool ends_record; /* it is the last cell of its record */
};

struct reader {
    struct dg_span text;
    size_t at;     /* where the next cell begins */
    size_t column; /* the column of the next cell */
    char separator;
    bool is_over;
    size_t unclosed; /* where a quote that is never closed is; SIZE_MAX: none */
};

static struct reader reader_at(struct dg_span text, size_t at, char separator)
{
    return (struct reader){.text = text, .at = at, .separator = separator, .unclosed = SIZE_MAX};
}

/* False at the end. A line end at the end of the text begins no record. */
static bool next_cell(struct reader *reader, struct cell *cell)
{
    const char *text = reader->text.ptr;
    const size_t len = reader->text.len, begin = reader->at;
    size_t at = begin;
    if (reader->is_over || (reader->column == 0 && at >= len))
        return false;
    *cell = (struct cell){.at = begin, .column = reader->column};
    if (at < len && text[at] == '"') {
        for (at++;; at += 2) {
            const char *quote = at < len ? memchr(text + at, '"', len - at) : NULL;
            if (!quote) {
                reader->unclosed = begin;
                reader->is_over = true;
                return false;
            }
            at = (size_t)(quote - text);
            if (at + 1 >= len || text[at + 1] != '"')
                break;
        }
        at++;
        cell->is_quoted =
            at >= len || text[at] == reader->separator || text[at] == '\n' || text[at] == '\r';
    }
    while (at < len && text[at] != reader->separator && text[at] != '\n' && text[at] != '\r')
        at++;
    cell->len = at - begin;
    cell->ends_record = at >= len || text[at] != reader->separator;
    reader->is_over = at >= len;
    reader->column = cell->ends_record ? 0 : reader->column + 1;
    at += at < len && text[at] == '\r' && at + 1 < len && text[at + 1] == '\n';
    reader->at = at + 1;
    return true;
}

/* Puts the text of a cell into `out`, without white space around it. */
static enum dg_err read_cell(struct dg_span text, const struct cell *cell, struct dg_buf *out)
{
    struct dg_span inside = dg_span_sub(text, cell->at, cell->len);
    enum dg_err err = DG_OK;
    dg_buf_clear(out);
    if (cell->is_quoted)
        inside = dg_span_sub(inside, 1, inside.len - 2);
    inside = dg_chars_trim_space(inside);
    size_t from = 0;
    for (size_t i = 0; i < inside.len && !err && cell->is_quoted; i++) {
        if (inside.ptr[i] != '"')
            continue;
        err = dg_buf_append_span(out, dg_span_sub(inside, from, ++i - from));
        from = i + 1;
    }
    return err ? err : dg_buf_append_span(out, dg_span_sub(inside, from, inside.len));
}

/* ---- The separator --------------------------------------------------------------------------- */

/* How well a separator divides the first records: the share, in thousandths, of records with as
 * many cells as the first; 0 when the first has only one. */
static size_t fitness(struct dg_span text, size_t begin, char separator)
{
    struct reader reader = reader_at(dg_span_sub(text, 0, begin + PROBE_BYTES), begin, separator);
    struct cell cell;
    size_t n_first = 0, n_records = 0, n_alike = 0;
    while (n_records < PROBE_RECORDS && next_cell(&reader, &cell)) {
        if (!cell.ends_record || (cell.column == 0 && cell.len == 0))
            continue;
        if (reader.is_over && begin + PROBE_BYTES < text.len)
            break; /* the record is cut off */
        n_first = n_records ? n_first : cell.column + 1;
        n_alike += cell.column + 1 == n_first;
        n_records++;
    }
    return n_first > 1 ? n_alike * 1000 / n_records : 0;
}

/* The separator, and where the records begin: after a byte order mark, and after the line "sep=;"
 * of spreadsheet programs. */
static char find_separator(const struct dg_filter *filter, size_t *begin)
{
    static const char candidates[] = "\t;,";
    const struct dg_span text = filter->bytes, name = dg_span_cstr(filter->name);
    *begin = dg_filter_mark_len(text);
    const struct dg_span rest = dg_span_sub(text, *begin, text.len);
    if (rest.len > 5 && strncasecmp(rest.ptr, "sep=", 4) == 0 && strchr(",;|:\t", rest.ptr[4]) &&
        (rest.ptr[5] == '\n' || rest.ptr[5] == '\r')) {
        *begin += rest.ptr[5] == '\r' && rest.len > 6 && rest.ptr[6] == '\n' ? 7 : 6;
        return rest.ptr[4];
    }
    const bool is_tsv = name.len > 3 && strcasecmp(name.ptr + name.len - 3, "tsv") == 0;
    char best = is_tsv ? '\t' : ',';
    size_t best_fitness = 0;
    for (const char *c = candidates; *c; c++) {
        const size_t now = fitness(text, *begin, *c);
        if (now > best_fitness) {
            best_fitness = now;
            best = *c;
        }
    }
    return best;
}

/* ---- Columns --------------------------------------------------------------------------------- */

struct table {
    struct dg_filter *filter;
    size_t begin; /* where the first record begins */
    bool has_header;
    size_t unclosed;            /* where a quote that is never closed is; SIZE_MAX: none */
    size_t n;                   /* columns of the first record, at most COLUMNS_MAX */
    size_t filled[COLUMNS_MAX]; /* cells of each column that are not empty */
    size_t wordy[COLUMNS_MAX];  /* how many of these have words */
    bool is_chosen[COLUMNS_MAX];
    char names[COLUMNS_MAX][HEADER_MAX + 1]; /* the cells of the first record */
    struct dg_buf cell;
};

/* The first record names the columns unless one of its cells is empty, long, a number or a
 * sentence, or it is the only one. */
static bool could_be_name(struct dg_span text)
{
    bool has_letters = false;
    for (size_t i = 0; i < text.len; i++)
        has_letters |= (unsigned char)text.ptr[i] > '9';
    return text.len <= HEADER_MAX && has_letters && !strchr(".!", text.ptr[text.len - 1]);
}

static enum dg_err read_first(struct table *table)
{
    struct reader reader = reader_at(table->filter->bytes, table->begin, table->filter->separator);
    struct cell cell;
    enum dg_err err = DG_OK;
    bool is_first = true;
    table->has_header = true;
    while (!err && is_first && next_cell(&reader, &cell)) {
        err = read_cell(reader.text, &cell, &table->cell);
        const struct dg_span text = dg_buf_span(&table->cell);
        table->has_header &= text.len > 0 && could_be_name(text);
        if (cell.column < COLUMNS_MAX) {
            const struct dg_span name = dg_utf8_clip(text, HEADER_MAX);
            memcpy(table->names[cell.column], name.ptr ? name.ptr : "", name.len);
            table->n = cell.column + 1;
        }
        is_first = !cell.ends_record;
    }
    table->has_header &= next_cell(&reader, &cell);
    return err;
}

/* Sets *has_words when a cell has words to translate; a formula has none. */
static enum dg_err look(struct table *table, const struct reader *reader, const struct cell *cell,
                        bool *has_words)
{
    enum dg_err err = read_cell(reader->text, cell, &table->cell);
    const struct dg_span text = dg_buf_span(&table->cell);
    *has_words = false;
    if (err || text.len == 0 || text.ptr[0] == '=' ||
        (!cell->is_quoted && cell->len && reader->text.ptr[cell->at] == '"'))
        return err;
    return dg_block_has_words(text, has_words);
}

/* Calls `take` for each cell after the header; `has_words` comes from look(). */
static enum dg_err each_cell(struct table *table,
                             void (*take)(struct table *table, const struct cell *cell,
                                          bool has_words))
{
    struct dg_filter *filter = table->filter;
    struct reader reader = reader_at(filter->bytes, table->begin, filter->separator);
    struct cell cell;
    enum dg_err err = DG_OK;
    bool in_header = table->has_header;
    while (!err && !filter->blocks.err && next_cell(&reader, &cell)) {
        if (!in_header && cell.column < COLUMNS_MAX) {
            bool has_words = false;
            err = look(table, &reader, &cell, &has_words);
            if (!err)
                take(table, &cell, has_words);
        }
        in_header = in_header && !cell.ends_record;
    }
    table->unclosed = reader.unclosed;
    return err ? err : filter->blocks.err;
}

static void count(struct table *table, const struct cell *cell, bool has_words)
{
    table->filled[cell->column] += table->cell.len > 0;
    table->wordy[cell->column] += has_words;
}

static void add(struct table *table, const struct cell *cell, bool has_words)
{
    if (has_words && table->is_chosen[cell->column])
        dg_block_add(&table->filter->blocks, dg_buf_span(&table->cell), cell->at, cell->len,
                     cell->is_quoted ? QUOTED : 0);
}

static bool is_number(struct dg_span word, size_t *number)
{
    *number = 0;
    for (size_t i = 0; i < word.len; i++) {
        if (word.ptr[i] < '0' || word.ptr[i] > '9' || i > 6)
            return false;
        *number = *number * 10 + (size_t)(word.ptr[i] - '0');
    }
    return word.len > 0;
}

static enum dg_err choose_one(struct table *table, struct dg_span word, struct dg_error *error)
{
    size_t number;
    for (size_t i = 0; i < table->n && table->has_header; i++) {
        if (word.len == strlen(table->names[i]) &&
            strncasecmp(word.ptr, table->names[i], word.len) == 0) {
            table->is_chosen[i] = true;
            return DG_OK;
        }
    }
    if (is_number(word, &number) && number >= 1 && number <= table->n) {
        table->is_chosen[number - 1] = true;
        return DG_OK;
    }
    return dg_error_set(
        error, DG_ERR_INVALID, "the file has no column \"%.*s\": expected %sa number from 1 to %zu",
        DG_SPAN_FMT(word), table->has_header ? "a name of its first row or " : "", table->n);
}

static enum dg_err choose(struct table *table, struct dg_span words, struct dg_error *error)
{
    enum dg_err err = DG_OK;
    for (size_t at = 0; at <= words.len && words.len && !err;) {
        const char *comma = at < words.len ? memchr(words.ptr + at, ',', words.len - at) : NULL;
        const size_t end = comma ? (size_t)(comma - words.ptr) : words.len;
        err = choose_one(table, dg_chars_trim_space(dg_span_sub(words, at, end - at)), error);
        at = end + 1;
    }
    for (size_t i = 0; i < COLUMNS_MAX && words.len == 0; i++)
        table->is_chosen[i] = 2 * table->wordy[i] > table->filled[i];
    return err;
}

static enum dg_err report(struct table *table)
{
    struct dg_buf *note = &table->filter->note;
    enum dg_err err = DG_OK;
    size_t n = 0;
    for (size_t i = 0; i < COLUMNS_MAX && !err; i++) {
        if (!table->is_chosen[i])
            continue;
        const struct dg_span name = dg_utf8_clip(dg_span_cstr(table->names[i]), NAME_SHOWN);
        err = dg_buf_printf(note, "%s%zu", n++ ? ", " : "translated are the columns ", i + 1);
        if (!err && table->has_header && name.len)
            err = dg_buf_printf(note, " (%.*s)", DG_SPAN_FMT(name));
    }
    if (!err && n == 0)
        err = dg_buf_append_cstr(note, "no column consists mostly of words: nothing is translated");
    if (!err && table->has_header)
        err = dg_buf_append_cstr(note, "; the first row is a header and stays");
    return err;
}

enum dg_err dg_filter_open_csv(struct dg_filter *filter, const struct dg_filter_opts *opts,
                               struct dg_error *error)
{
    struct table *table = dg_try_calloc(1, sizeof *table);
    if (!table)
        return DG_ERR_NOMEM;
    table->filter = filter;
    dg_buf_init(&table->cell, CELL_MAX);
    filter->separator = find_separator(filter, &table->begin);
    enum dg_err err = read_first(table);
    if (!err)
        err = each_cell(table, count);
    if (!err)
        err = choose(table, opts->columns, error);
    if (!err)
        err = each_cell(table, add);
    if (!err && table->unclosed != SIZE_MAX) /* reported last, so that a file with such a quote
                                                costs no more time than others */
        err = dg_error_set(error, DG_ERR_FORMAT,
                           "line %zu: a cell begins with a quote that is never closed",
                           dg_filter_line(filter, table->unclosed));
    if (!err)
        err = report(table);
    dg_buf_deinit(&table->cell);
    dg_free(table);
    return err;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Whether a reader would take a cell without quotation marks for something else. */
static bool needs_quotes(struct dg_span text, char separator)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == separator || text.ptr[i] == '\n' || text.ptr[i] == '\r' ||
            (text.ptr[i] == '"' && (i == 0 || separator != '\t')))
            return true;
    return false;
}

static enum dg_err put_text(struct dg_span text, bool is_quoted, bool has_returns,
                            struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < text.len && !err; i++) {
        if (text.ptr[i] == '"' && is_quoted)
            err = dg_buf_append_byte(out, '"');
        else if (text.ptr[i] == '\n' && has_returns)
            err = dg_buf_append_byte(out, '\r');
        if (!err)
            err = dg_buf_append_byte(out, text.ptr[i]);
    }
    return err;
}

enum dg_err dg_filter_put_csv(void *ctx, const struct dg_block_source *source,
                              const struct dg_filter_block *block, struct dg_span html,
                              struct dg_buf *out, struct dg_error *error)
{
    const struct dg_filter *filter = ctx;
    (void)source;
    const struct dg_span cell = dg_span_sub(filter->bytes, block->at, block->len);
    const bool had_quotes = block->info & QUOTED;
    const struct dg_span inside = had_quotes ? dg_span_sub(cell, 1, cell.len - 2) : cell;
    const struct dg_span words = dg_chars_trim_space(inside);
    const size_t lead = (size_t)(words.ptr - inside.ptr), tail = lead + words.len;
    struct dg_buf text;
    bool has_returns = false;
    for (size_t i = 1; i < inside.len && !has_returns; i++)
        has_returns = inside.ptr[i] == '\n' && inside.ptr[i - 1] == '\r';
    dg_buf_init(&text, CELL_MAX);
    enum dg_err err = dg_block_text(html, &text, error);
    const bool is_quoted = had_quotes || needs_quotes(dg_buf_span(&text), filter->separator);
    if (!err && is_quoted)
        err = dg_buf_append_byte(out, '"');
    if (!err)
        err = dg_buf_append_span(out, dg_span_sub(inside, 0, lead));
    if (!err)
        err = put_text(dg_buf_span(&text), is_quoted, has_returns, out);
    if (!err)
        err = dg_buf_append_span(out, dg_span_sub(inside, tail, inside.len - tail));
    if (!err && is_quoted)
        err = dg_buf_append_byte(out, '"');
    dg_buf_deinit(&text);
    return err;
}
