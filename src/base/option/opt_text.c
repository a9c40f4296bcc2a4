/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Text about options, all from the rows: --help for people, roff for dragomand(8) and
 * dragomand.conf(5), and the dump, which is a file that reads back as the same values. */
#include "base/option/opt.h"

#include "base/option/opt_int.h"
#include "base/option/opt_value.h"

#include <stdio.h>

/* ---- Pieces ---------------------------------------------------------------------------------- */

static const char *placeholder(const struct dg_opt_row *row)
{
    if (row->unit)
        return row->unit;
    static const char *const names[] = {
        [DG_OPT_TYPE_INT] = "N",          [DG_OPT_TYPE_REAL] = "X",
        [DG_OPT_TYPE_SIZE] = "SIZE",      [DG_OPT_TYPE_DURATION] = "TIME",
        [DG_OPT_TYPE_ENUM] = "WORD",      [DG_OPT_TYPE_STRING] = "TEXT",
        [DG_OPT_TYPE_PATH] = "PATH",      [DG_OPT_TYPE_STRINGS] = "TEXT,...",
        [DG_OPT_TYPE_PATHS] = "PATH,...", [DG_OPT_TYPE_ADDRESSES] = "ADDRESS,..."};
    const size_t at = (size_t)row->type;
    return at < sizeof names / sizeof *names && names[at] ? names[at] : "";
}

/* Whether the range or the words tell more than the placeholder. */
static bool expectation_helps(const struct dg_opt_row *row)
{
    if (row->words == dg_opt_help_words)
        return false;
    return row->type == DG_OPT_TYPE_ENUM || row->real_min < row->real_max ||
           ((row->min != 0 || row->max != 0) &&
            (row->type == DG_OPT_TYPE_INT || row->type == DG_OPT_TYPE_SIZE ||
             row->type == DG_OPT_TYPE_DURATION));
}

/* "help (a size from 1KiB to 1MiB; default 64KiB)" */
static enum dg_err describe(const struct dg_opt_row *row, struct dg_buf *out)
{
    enum dg_err err = dg_buf_append_cstr(out, row->help);
    bool expects = expectation_helps(row);
    const char *def = row->def && *row->def ? row->def : NULL;
    if (err || (!expects && !def))
        return err;
    err = dg_buf_append_cstr(out, " (");
    if (!err && expects)
        err = dg_opt_value_expected(row, out);
    if (!err && def)
        err = dg_buf_printf(out, "%sdefault %s", expects ? "; " : "", def);
    return err ? err : dg_buf_append_byte(out, ')');
}

/* ---- --help ---------------------------------------------------------------------------------- */

enum { HELP_INDENT = 30, HELP_WIDTH = 100 };

/* Appends `text`, whose line so far has `column` bytes, wrapped and indented. */
static enum dg_err append_wrapped(const char *text, size_t column, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    while (!err && *text) {
        size_t word = strcspn(text, " ");
        if (column > HELP_INDENT && column + 1 + word > HELP_WIDTH) {
            err = dg_buf_printf(out, "\n%*s", HELP_INDENT, "");
            column = HELP_INDENT;
        } else if (column > HELP_INDENT) {
            err = dg_buf_append_byte(out, ' ');
            column++;
        }
        if (!err)
            err = dg_buf_append(out, text, word);
        column += word;
        text += word + strspn(text + word, " ");
    }
    return err ? err : dg_buf_append_byte(out, '\n');
}

/* Says how the options are set by the environment, with the first that can be as the example. */
static enum dg_err help_environment(const struct dg_opt_table *table, struct dg_buf *out)
{
    char name[128];
    for (size_t i = 0; i < table->n_rows; i++)
        if (!(table->rows[i].flags & (DG_OPT_COMMAND_LINE | DG_OPT_NO_FLAG)) &&
            dg_opt_env_name(table, &table->rows[i], name, sizeof name))
            return dg_buf_printf(
                out, "\nEach option can also be set by an environment variable (%s: %s).\n",
                table->rows[i].name, name);
    return DG_OK;
}

static enum dg_err help_row(const struct dg_opt_row *row, struct dg_buf *out)
{
    char left[160], letter[8] = "    ";
    const char *value = placeholder(row);
    bool bare = row->flags & DG_OPT_BARE;
    if (row->letter)
        snprintf(letter, sizeof letter, "-%c, ", row->letter);
    int len = snprintf(
        left, sizeof left, "  %s--%s%s%s%s%s", letter,
        row->type == DG_OPT_TYPE_BOOL && row->def && strcmp(row->def, "yes") == 0 ? "[no-]" : "",
        row->name,
        bare     ? "[="
        : *value ? "="
                 : "",
        value, bare ? "]" : "");
    enum dg_err err = dg_buf_append_cstr(out, left);
    if (!err && len >= HELP_INDENT - 1)
        err = dg_buf_printf(out, "\n%*s", HELP_INDENT, "");
    else if (!err)
        err = dg_buf_printf(out, "%*s", HELP_INDENT - len, "");
    struct dg_buf text;
    dg_buf_init(&text, 4096);
    if (!err)
        err = describe(row, &text);
    if (!err)
        err = append_wrapped(text.ptr, HELP_INDENT, out);
    dg_buf_deinit(&text);
    return err;
}

static enum dg_err help_text(const struct dg_opt_table *table, struct dg_buf *out)
{
    enum dg_err err = dg_buf_printf(out, "Usage: %s [OPTION...]%s%s\n%s\n", table->program,
                                    table->args ? " " : "", table->args ? table->args : "",
                                    table->summary ? table->summary : "");
    if (!err && !table->rows[0].heading)
        err = dg_buf_append_cstr(out, "\n");
    for (size_t i = 0; !err && i < table->n_rows; i++) {
        if (table->rows[i].flags & DG_OPT_NO_FLAG)
            continue;
        if (table->rows[i].heading)
            err = dg_buf_printf(out, "\n%s:\n", table->rows[i].heading);
        if (!err)
            err = help_row(&table->rows[i], out);
    }
    for (size_t k = 0; !err && k < table->n_sections; k++)
        err = dg_buf_printf(out, "\nSections [%s NAME] of the file: %s See %s.\n",
                            table->sections[k].program, table->sections[k].summary,
                            dg_opt_reference(table));
    return err || !table->env_prefix ? err : help_environment(table, out);
}

/* ---- Man pages ------------------------------------------------------------------------------- */

/* Text for roff: '-' stays a plain hyphen-minus, nothing at a line's start is a request. */
static enum dg_err append_roff(const char *text, struct dg_buf *out)
{
    enum dg_err err = *text == '.' || *text == '\'' ? dg_buf_append_cstr(out, "\\&") : DG_OK;
    for (; !err && *text; text++) {
        if (*text == '-')
            err = dg_buf_append_cstr(out, "\\-");
        else if (*text == '\\')
            err = dg_buf_append_cstr(out, "\\e");
        else
            err = dg_buf_append_byte(out, *text);
    }
    return err;
}

static enum dg_err man_term(const struct dg_opt_row *row, bool conf, struct dg_buf *out)
{
    const char *value = conf && row->type == DG_OPT_TYPE_BOOL ? "yes|no" : placeholder(row);
    bool bare = row->flags & DG_OPT_BARE;
    enum dg_err err = dg_buf_append_cstr(out, ".TP\n");
    if (!err && !conf && row->letter)
        err = dg_buf_printf(out, "\\fB\\-%c\\fR, ", row->letter);
    if (!err)
        err = dg_buf_append_cstr(out, conf ? "\\fB" : "\\fB\\-\\-");
    if (!err)
        err = append_roff(row->name, out);
    if (!err)
        err = dg_buf_append_cstr(out, "\\fR");
    if (!err && *value)
        err = dg_buf_printf(out, "%s\\fI%s\\fR%s",
                            conf   ? " = "
                            : bare ? "[="
                                   : "=",
                            value, bare ? "]" : "");
    return err ? err : dg_buf_append_byte(out, '\n');
}

static enum dg_err man_row(const struct dg_opt_row *row, bool conf, struct dg_buf *out)
{
    struct dg_buf text;
    dg_buf_init(&text, 4096);
    enum dg_err err = man_term(row, conf, out);
    if (!err)
        err = describe(row, &text);
    if (!err && text.ptr[0] >= 'a' && text.ptr[0] <= 'z')
        text.ptr[0] = (char)(text.ptr[0] - 'a' + 'A');
    if (!err)
        err = append_roff(text.ptr, out);
    if (!err)
        err = dg_buf_append_cstr(out, ".\n");
    if (!err && conf && !(row->flags & DG_OPT_RELOADABLE))
        err = dg_buf_append_cstr(out, "A change needs a restart.\n");
    dg_buf_deinit(&text);
    return err;
}

static enum dg_err man_rows(const struct dg_opt_table *table, bool conf, struct dg_buf *out)
{
    const char *heading = NULL, *written = NULL;
    enum dg_err err = DG_OK;
    for (size_t i = 0; !err && i < table->n_rows; i++) {
        const struct dg_opt_row *row = &table->rows[i];
        if (!conf && row->flags & DG_OPT_NO_FLAG)
            continue;
        heading = row->heading ? row->heading : heading;
        if (conf && (row->flags & DG_OPT_COMMAND_LINE))
            continue;
        if (heading && heading != written)
            err = dg_buf_printf(out, ".SS %s\n", heading);
        written = heading;
        if (!err)
            err = man_row(row, conf, out);
    }
    return err;
}

static enum dg_err help_man(const struct dg_opt_table *table, bool conf, struct dg_buf *out)
{
    enum dg_err err = man_rows(table, conf, out);
    for (size_t k = 0; conf && !err && k < table->n_sections; k++) {
        const struct dg_opt_table *section = &table->sections[k];
        err =
            dg_buf_printf(out, ".SS Sections [%s NAME]\n%s\n", section->program, section->summary);
        if (!err)
            err = man_rows(section, conf, out);
    }
    return err;
}

enum dg_err dg_opt_help(const struct dg_opt_table *table, int form, struct dg_buf *out)
{
    if (form == DG_OPT_HELP_MAN || form == DG_OPT_HELP_MAN_CONF)
        return help_man(table, form == DG_OPT_HELP_MAN_CONF, out);
    return help_text(table, out);
}

/* ---- The dump -------------------------------------------------------------------------------- */

/* Whether the file's grammar would read the plain text as something else. */
static bool needs_quotes(struct dg_span text)
{
    if (text.len == 0)
        return false;
    char first = text.ptr[0], last = text.ptr[text.len - 1];
    if (first == '"' || first == '#' || first == ' ' || first == '\t' || last == ' ' ||
        last == '\t')
        return true;
    for (size_t i = 1; i < text.len; i++)
        if (text.ptr[i] == '#' && (text.ptr[i - 1] == ' ' || text.ptr[i - 1] == '\t'))
            return true;
    return false;
}

static enum dg_err append_value(struct dg_span text, struct dg_buf *out)
{
    if (!needs_quotes(text))
        return dg_buf_append_span(out, text);
    enum dg_err err = dg_buf_append_byte(out, '"');
    for (size_t i = 0; !err && i < text.len; i++) {
        if (text.ptr[i] == '"' || text.ptr[i] == '\\')
            err = dg_buf_append_byte(out, '\\');
        if (!err)
            err = dg_buf_append_byte(out, text.ptr[i]);
    }
    return err ? err : dg_buf_append_byte(out, '"');
}

/* True for a row that is not set and whose zero lies outside of its own range, so that no text
 * could be read back. */
static bool is_dumped(const struct dg_opt_row *row, const struct dg_opt_from *from)
{
    bool unset = from->rank == DG_OPT_RANK_DEFAULT && !row->def;
    bool optional = !(row->flags & DG_OPT_REQUIRED) && row->min <= 0 && row->real_min <= 0;
    return !(row->flags & DG_OPT_COMMAND_LINE) && (!unset || optional);
}

static enum dg_err dump_instance(const struct dg_opt_instance *in, struct dg_buf *out)
{
    struct dg_buf text;
    dg_buf_init(&text, DG_OPT_TEXT_MAX * 2);
    enum dg_err err = DG_OK;
    if (in->name)
        err = dg_buf_printf(out, "[%s %s]\n", in->table->program, in->name);
    for (size_t i = 0; !err && i < in->table->n_rows; i++) {
        const struct dg_opt_row *row = &in->table->rows[i];
        if (!is_dumped(row, &in->from[i]))
            continue;
        dg_buf_clear(&text);
        err = dg_opt_value_format(row, in->values, &text);
        if (!err)
            err = dg_buf_printf(out, "%s = ", row->name);
        if (!err)
            err = append_value(dg_buf_span(&text), out);
        if (!err)
            err = dg_buf_append_byte(out, '\n');
    }
    dg_buf_deinit(&text);
    return err;
}

enum dg_err dg_opt_dump(const struct dg_opt_set *set, struct dg_buf *out)
{
    enum dg_err err = dump_instance(&set->main, out);
    for (size_t i = 0; !err && i < set->n_sections; i++) {
        err = dg_buf_append_byte(out, '\n');
        if (!err)
            err = dump_instance(&set->sections[i], out);
    }
    return err;
}
