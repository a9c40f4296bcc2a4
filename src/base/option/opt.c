/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Options: sets of values and the sources they are read from. Every source ends in dg_opt_assign(),
 * which parses the text by its row and keeps the value of the higher rank, so that sources can be
 * read in any order. A value that loses is still parsed, because a mistake in a file must be
 * reported even while a flag overrides it. Parsing of values: opt_value.c; the file's grammar:
 * opt_ini.c; flags and environment: opt_args.c; help, manual and dump: opt_text.c; reload:
 * opt_reload.c. */
#include "base/option/opt.h"

#include "base/memory/mem.h"
#include "base/option/opt_ini.h"
#include "base/option/opt_int.h"
#include "base/option/opt_value.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

extern char **environ; /* POSIX leaves the declaration to us */

enum { FILE_MAX = 4 << 20, SECTIONS_MAX = 64 };

const char *const dg_opt_help_words[] = {"no", "text", "man", "man-conf", NULL};

/* ---- Sets ------------------------------------------------------------------------------------ */

static void instance_release(struct dg_opt_instance *in)
{
    for (size_t i = 0; in->values && i < in->table->n_rows; i++)
        dg_opt_value_release(&in->table->rows[i], in->values);
    dg_free(in->values);
    dg_free(in->from);
    dg_free(in->name);
    *in = (struct dg_opt_instance){NULL};
}

/* Checks a row of a table. A wrong row is a bug, which shows when the program first starts. */
static void row_bug(const struct dg_opt_table *table, const struct dg_opt_row *row,
                    const char *what)
{
    fprintf(stderr, "bug in the option table of \"%s\": \"%s\": %s\n", table->program,
            row->name ? row->name : "?", what);
    abort();
}

static void check_row(const struct dg_opt_table *table, const struct dg_opt_row *row)
{
    bool is_text = row->type == DG_OPT_TYPE_STRING || row->type == DG_OPT_TYPE_PATH;
    if (row->type == DG_OPT_TYPE_NONE || !dg_opt_ini_is_name(dg_span_cstr(row->name)))
        row_bug(table, row, "it lacks a type or a proper name");
    if (row->at >= table->size || !row->help)
        row_bug(table, row, "its field lies outside of the struct, or it lacks help");
    bool may_have_words = row->type == DG_OPT_TYPE_ENUM || row->type == DG_OPT_TYPE_INT;
    if (row->words ? !may_have_words || !row->words[0] : row->type == DG_OPT_TYPE_ENUM)
        row_bug(table, row, "words belong to an ENUM, which needs them, or to an INT");
    if (is_text && row->max > DG_OPT_TEXT_MAX)
        row_bug(table, row, "its text may be longer than a line of the file");
}

static enum dg_err instance_init(struct dg_opt_instance *in, const struct dg_opt_table *table,
                                 struct dg_span name, unsigned line)
{
    *in = (struct dg_opt_instance){.table = table, .line = line};
    in->values = dg_try_calloc(1, table->size);
    in->from = dg_try_calloc(table->n_rows, sizeof *in->from);
    in->name = name.len > 0 ? dg_try_calloc(1, name.len + 1) : NULL;
    enum dg_err err = in->values && in->from && (in->name || name.len == 0) ? DG_OK : DG_ERR_NOMEM;
    if (!err && in->name)
        memcpy(in->name, name.ptr, name.len);
    for (size_t i = 0; !err && i < table->n_rows; i++) {
        struct dg_error error = DG_ERROR_NONE;
        check_row(table, &table->rows[i]);
        err = dg_opt_value_default(&table->rows[i], in->values, &error);
        if (err && err != DG_ERR_NOMEM)
            row_bug(table, &table->rows[i], error.text);
    }
    if (err)
        instance_release(in);
    return err;
}

static size_t sections_max(const struct dg_opt_set *set)
{
    size_t max = set->main.table->sections_max;
    return max ? max : SECTIONS_MAX;
}

enum dg_err dg_opt_set_new(const struct dg_opt_table *table, struct dg_opt_set **set)
{
    struct dg_opt_set *fresh = dg_xcalloc(1, sizeof *fresh);
    enum dg_err err = instance_init(&fresh->main, table, DG_SPAN(""), 0);
    if (err)
        goto out;
    fresh->sections = dg_try_calloc(sections_max(fresh), sizeof *fresh->sections);
    fresh->args = dg_try_calloc(table->args_max + 1, sizeof *fresh->args);
    if (!fresh->sections || !fresh->args) {
        err = DG_ERR_NOMEM;
        goto out;
    }
    *set = fresh;
    fresh = NULL;
out:
    dg_opt_set_free(fresh);
    return err;
}

void dg_opt_set_free(struct dg_opt_set *set)
{
    if (!set)
        return;
    if (set->main.table)
        instance_release(&set->main);
    for (size_t i = 0; i < set->n_sections; i++)
        instance_release(&set->sections[i]);
    dg_free(set->sections);
    dg_free(set->args);
    dg_free(set->origin);
    dg_free(set);
}

/* ---- Names ----------------------------------------------------------------------------------- */

size_t dg_opt_find_row(const struct dg_opt_table *table, struct dg_span name)
{
    size_t i = 0;
    while (i < table->n_rows && !dg_span_eq(name, dg_span_cstr(table->rows[i].name)))
        i++;
    return i;
}

/* The number of slips between two words, for "did you mean": letters added, omitted or changed, or
 * two neighbours exchanged. Both words have at most DG_OPT_INI_NAME_MAX bytes. */
static size_t distance(struct dg_span a, struct dg_span b)
{
    size_t rows[3][DG_OPT_INI_NAME_MAX + 1]; /* for i - 2, i - 1 and i, in turn */
    for (size_t k = 0; k <= b.len; k++)
        rows[0][k] = k;
    for (size_t i = 1; i <= a.len; i++) {
        const size_t *above = rows[(i - 1) % 3], *second = rows[(i + 1) % 3];
        size_t *row = rows[i % 3];
        row[0] = i;
        for (size_t k = 1; k <= b.len; k++) {
            size_t best = above[k - 1] + (a.ptr[i - 1] != b.ptr[k - 1]);
            if (above[k] + 1 < best)
                best = above[k] + 1;
            if (row[k - 1] + 1 < best)
                best = row[k - 1] + 1;
            if (i > 1 && k > 1 && a.ptr[i - 1] == b.ptr[k - 2] && a.ptr[i - 2] == b.ptr[k - 1] &&
                second[k - 2] + 1 < best)
                best = second[k - 2] + 1;
            row[k] = best;
        }
    }
    return rows[a.len % 3][b.len];
}

/* Two slips are a typing mistake, three are another word. */
struct nearest {
    const char *word;
    size_t distance;
};
#define NEAREST_NONE                                                                               \
    {                                                                                              \
        NULL, 3                                                                                    \
    }

static void consider(struct nearest *best, const char *word, struct dg_span name)
{
    const struct dg_span candidate = dg_span_cstr(word);
    if (name.len > DG_OPT_INI_NAME_MAX || candidate.len > DG_OPT_INI_NAME_MAX)
        return;
    const size_t d = distance(name, candidate);
    if (d < best->distance)
        *best = (struct nearest){word, d};
}

const char *dg_opt_nearest_word(const char *const *words, size_t n, struct dg_span name)
{
    struct nearest best = NEAREST_NONE;
    for (size_t i = 0; i < n; i++)
        consider(&best, words[i], name);
    return best.word;
}

const char *dg_opt_nearest(const struct dg_opt_table *table, struct dg_span name, bool in_file)
{
    struct nearest best = NEAREST_NONE;
    for (size_t i = 0; i < table->n_rows; i++)
        if (!(table->rows[i].flags & (in_file ? DG_OPT_COMMAND_LINE : DG_OPT_NO_FLAG))) {
            consider(&best, table->rows[i].name, name);
            if (!in_file && table->rows[i].alias)
                consider(&best, table->rows[i].alias, name);
        }
    return best.word;
}

/* ---- Assigning ------------------------------------------------------------------------------- */

/* Parses a value that will not be used. */
static enum dg_err parse_only(const struct dg_opt_row *row, struct dg_span text,
                              struct dg_error *error)
{
    union {
        bool boolean;
        int word;
        int64_t integer;
        double real;
        const char *text;
        struct dg_opt_list list;
    } scratch;
    memset(&scratch, 0, sizeof scratch);
    struct dg_opt_row moved = *row;
    moved.at = 0;
    enum dg_err err = dg_opt_value_parse(&moved, text, &scratch, false, error);
    dg_opt_value_release(&moved, &scratch);
    return err;
}

enum dg_err dg_opt_assign(struct dg_opt_instance *in, size_t at, enum dg_opt_rank rank,
                          unsigned line, struct dg_span text, struct dg_error *error)
{
    const struct dg_opt_row *row = &in->table->rows[at];
    struct dg_opt_from *from = &in->from[at];
    if (line)
        from->line = line;
    if (rank < from->rank)
        return parse_only(row, text, error);
    bool append = rank == DG_OPT_RANK_FLAG && from->rank == rank && dg_opt_value_is_list(row);
    enum dg_err err = dg_opt_value_parse(row, text, in->values, append, error);
    if (!err)
        from->rank = rank;
    return err;
}

/* ---- The file -------------------------------------------------------------------------------- */

static enum dg_err open_section(struct dg_opt_set *set, const struct dg_opt_ini_item *item,
                                struct dg_opt_instance **in, struct dg_error *error)
{
    const struct dg_opt_table *table = NULL;
    for (size_t i = 0; i < set->main.table->n_sections; i++)
        if (dg_span_eq(item->name, dg_span_cstr(set->main.table->sections[i].program)))
            table = &set->main.table->sections[i];
    if (!table)
        return dg_error_set(
            error, DG_ERR_INVALID,
            "%s:%u: read a section of the unknown kind \"%.*s\", expected one of %s", set->origin,
            item->line, DG_SPAN_FMT(item->name), dg_opt_reference(set->main.table));
    for (size_t i = 0; i < set->n_sections; i++)
        if (set->sections[i].table == table &&
            dg_span_eq(item->value, dg_span_cstr(set->sections[i].name)))
            return dg_error_set(error, DG_ERR_EXISTS,
                                "%s:%u: read [%s %s] again, expected it once (it is on line %u)",
                                set->origin, item->line, table->program, set->sections[i].name,
                                set->sections[i].line);
    if (set->n_sections == sections_max(set))
        return dg_error_set(error, DG_ERR_LIMIT,
                            "%s:%u: read one more section, expected at most %zu", set->origin,
                            item->line, sections_max(set));
    enum dg_err err =
        instance_init(&set->sections[set->n_sections], table, item->value, item->line);
    if (!err)
        *in = &set->sections[set->n_sections++];
    return err;
}

static enum dg_err unknown_key(const struct dg_opt_set *set, const struct dg_opt_instance *in,
                               const struct dg_opt_ini_item *item, struct dg_error *error)
{
    const char *near = dg_opt_nearest(in->table, item->name, true);
    return dg_error_set(
        error, DG_ERR_INVALID, "%s:%u: read the unknown option \"%.*s\", expected one of %s%s%s%s",
        set->origin, item->line, DG_SPAN_FMT(item->name), dg_opt_reference(set->main.table),
        near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static enum dg_err read_pair(struct dg_opt_set *set, struct dg_opt_instance *in,
                             const struct dg_opt_ini_item *item, struct dg_error *error)
{
    size_t at = dg_opt_find_row(in->table, item->name);
    if (at == in->table->n_rows)
        return unknown_key(set, in, item, error);
    const struct dg_opt_row *row = &in->table->rows[at];
    if (row->flags & DG_OPT_COMMAND_LINE)
        return dg_error_set(
            error, DG_ERR_INVALID,
            "%s:%u: read \"%s\", which is for the command line only, expected one of %s",
            set->origin, item->line, row->name, dg_opt_reference(set->main.table));
    if (in->from[at].line)
        return dg_error_set(error, DG_ERR_EXISTS,
                            "%s:%u: read \"%s\" again, expected it once (it is on line %u)",
                            set->origin, item->line, row->name, in->from[at].line);
    enum dg_err err = dg_opt_assign(in, at, DG_OPT_RANK_FILE, item->line, item->value, error);
    return err ? dg_error_wrap(error, err, "%s:%u: %s", set->origin, item->line, row->name) : DG_OK;
}

enum dg_err dg_opt_read_text(struct dg_opt_set *set, const char *origin, struct dg_span text,
                             struct dg_error *error)
{
    dg_free(set->origin);
    set->origin = dg_xstrdup(origin);
    struct dg_opt_ini *ini = dg_xmalloc(sizeof *ini);
    dg_opt_ini_init(ini, set->origin, text);
    struct dg_opt_instance *in = &set->main;
    struct dg_opt_ini_item item;
    enum dg_err err;
    while (!(err = dg_opt_ini_next(ini, &item, error)) && item.kind != DG_OPT_INI_END) {
        err = item.kind == DG_OPT_INI_SECTION ? open_section(set, &item, &in, error)
                                              : read_pair(set, in, &item, error);
        if (err)
            break;
    }
    dg_free(ini);
    return err;
}

static enum dg_err unreadable(const char *path, struct dg_error *error)
{
    return dg_error_set(error, dg_err_from_errno(errno),
                        "%s: read nothing (%s), expected a configuration file", path,
                        strerror(errno));
}

/* Read, not mapped: a file that an editor shortens meanwhile must not raise SIGBUS. */
static enum dg_err slurp(const char *path, struct dg_buf *out, struct dg_error *error)
{
    enum { STEP = 4096 };
    FILE *file = fopen(path, "re");
    if (!file)
        return unreadable(path, error);
    enum dg_err err = DG_OK;
    for (size_t n = 1; !err && n > 0;) {
        err = dg_buf_reserve(out, STEP);
        if (err)
            break;
        n = fread(out->ptr + out->len, 1, STEP, file);
        out->len += n;
    }
    if (err == DG_ERR_LIMIT)
        dg_error_set(error, err, "%s: read more than %d bytes, expected a configuration file", path,
                     FILE_MAX - STEP);
    else if (!err && ferror(file))
        err = unreadable(path, error);
    fclose(file);
    return err;
}

enum dg_err dg_opt_read_file(struct dg_opt_set *set, const char *path, struct dg_error *error)
{
    struct dg_buf text;
    dg_buf_init(&text, FILE_MAX);
    enum dg_err err = slurp(path, &text, error);
    if (!err)
        err = dg_opt_read_text(set, path, dg_buf_span(&text), error);
    dg_buf_deinit(&text);
    return err;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static enum dg_err check_instance(const struct dg_opt_set *set, const struct dg_opt_instance *in,
                                  struct dg_error *error)
{
    const struct dg_opt_table *table = in->table;
    for (size_t i = 0; i < table->n_rows; i++) {
        if (!(table->rows[i].flags & DG_OPT_REQUIRED) || in->from[i].rank != DG_OPT_RANK_DEFAULT)
            continue;
        if (in->name)
            return dg_error_set(
                error, DG_ERR_INVALID, "%s:%u: read [%s %s] without \"%s\", expected it there",
                set->origin, in->line, table->program, in->name, table->rows[i].name);
        return dg_error_set(error, DG_ERR_USAGE, "read no --%s, expected it: %s",
                            table->rows[i].name, table->rows[i].help);
    }
    enum dg_err err = table->check ? table->check(in->values, in->name, error) : DG_OK;
    if (err && in->name)
        return dg_error_wrap(error, err, "%s:%u: [%s %s]", set->origin, in->line, table->program,
                             in->name);
    return err;
}

enum dg_err dg_opt_check(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct dg_opt_table *table = set->main.table;
    if (set->n_args < table->args_min)
        return dg_error_set(error, DG_ERR_USAGE, "read %zu argument%s, expected %s", set->n_args,
                            set->n_args == 1 ? "" : "s", table->args);
    enum dg_err err = check_instance(set, &set->main, error);
    for (size_t i = 0; !err && i < set->n_sections; i++)
        err = check_instance(set, &set->sections[i], error);
    return err;
}

/* What --help asks for; DG_OPT_HELP_NO: nothing. */
static int help_form(const struct dg_opt_set *set)
{
    const struct dg_opt_table *table = set->main.table;
    for (size_t i = 0; i < table->n_rows; i++)
        if (table->rows[i].words == dg_opt_help_words)
            return *(const int *)(const void *)((const char *)set->main.values + table->rows[i].at);
    return DG_OPT_HELP_NO;
}

static enum dg_err print_help(const struct dg_opt_table *table, int form, struct dg_error *error)
{
    struct dg_buf text;
    dg_buf_init(&text, 1 << 20);
    enum dg_err err = dg_opt_help(table, form, &text);
    if (!err && (fwrite(text.ptr, 1, text.len, stdout) != text.len || fflush(stdout) != 0))
        err = dg_error_set(error, DG_ERR_IO, "cannot print the help: %s", strerror(errno));
    dg_buf_deinit(&text);
    return err;
}

bool dg_opt_command(const struct dg_opt_table *table, int argc, char *const *argv,
                    struct dg_opt_set **set, int *exit_code)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_opt_set *fresh = NULL;
    bool go_on = false;
    enum dg_err err = dg_opt_set_new(table, &fresh);
    if (!err)
        err = dg_opt_read_args(fresh, argc, argv, &error);
    if (!err && help_form(fresh) != DG_OPT_HELP_NO) {
        err = print_help(table, help_form(fresh), &error);
        goto out;
    }
    if (!err)
        err = dg_opt_read_env(fresh, environ, &error);
    if (!err)
        err = dg_opt_check(fresh, &error);
    if (!err) {
        *set = fresh;
        fresh = NULL;
        go_on = true;
    }
out:
    if (err)
        fprintf(stderr, "%s: %s\n", table->program, dg_error_text(&error, err));
    if (!go_on)
        *exit_code = !err ? 0 : err == DG_ERR_NOMEM || err == DG_ERR_IO ? 1 : 2;
    dg_opt_set_free(fresh);
    return go_on;
}

/* ---- Values ---------------------------------------------------------------------------------- */

const void *dg_opt_values(const struct dg_opt_set *set)
{
    return set->main.values;
}

size_t dg_opt_n_args(const struct dg_opt_set *set)
{
    return set->n_args;
}

const char *dg_opt_arg(const struct dg_opt_set *set, size_t i)
{
    return i < set->n_args ? set->args[i] : NULL;
}

size_t dg_opt_n_sections(const struct dg_opt_set *set, const char *kind)
{
    size_t n = 0;
    for (size_t i = 0; i < set->n_sections; i++)
        n += strcmp(set->sections[i].table->program, kind) == 0;
    return n;
}

const void *dg_opt_section(const struct dg_opt_set *set, const char *kind, size_t i,
                           const char **name)
{
    for (size_t k = 0; k < set->n_sections; k++) {
        const struct dg_opt_instance *in = &set->sections[k];
        if (strcmp(in->table->program, kind) != 0 || i-- > 0)
            continue;
        if (name)
            *name = in->name;
        return in->values;
    }
    return NULL;
}

bool dg_opt_given(const struct dg_opt_set *set, const char *option)
{
    size_t at = dg_opt_find_row(set->main.table, dg_span_cstr(option));
    return at < set->main.table->n_rows && set->main.from[at].rank != DG_OPT_RANK_DEFAULT;
}

void dg_opt_where(const struct dg_opt_set *set, const char *option, char *text, size_t cap)
{
    const struct dg_opt_table *table = set->main.table;
    size_t at = dg_opt_find_row(table, dg_span_cstr(option));
    struct dg_opt_from from = at < table->n_rows ? set->main.from[at] : (struct dg_opt_from){0};
    switch (from.rank) {
    case DG_OPT_RANK_FLAG:
        snprintf(text, cap, "--%s", option);
        return;
    case DG_OPT_RANK_ENV:
        if (dg_opt_env_name(table, &table->rows[at], text, cap))
            return;
        break;
    case DG_OPT_RANK_FILE:
        snprintf(text, cap, "%s:%u", set->origin, from.line);
        return;
    case DG_OPT_RANK_DEFAULT:
        break;
    }
    snprintf(text, cap, "the default");
}
