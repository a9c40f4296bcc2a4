/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Options from the command line and the environment. A flag is --name=value, --name value, -x value
 * or -xvalue; yes-or-no options and flags whose value is optional never take the next argument. */
#include "base/option/opt.h"

#include "base/option/opt_int.h"
#include "base/option/opt_value.h"

#include <stdio.h>

/* ---- Flags ----------------------------------------------------------------------------------- */

struct args {
    int argc;
    char *const *argv;
    int at; /* the argument being read */
};

static enum dg_err unknown_flag(const struct dg_opt_table *table, struct dg_span name,
                                struct dg_error *error)
{
    const char *near = dg_opt_nearest(table, name, false);
    return dg_error_set(error, DG_ERR_USAGE,
                        "read the unknown option \"--%.*s\", expected one that --help lists%s%s",
                        DG_SPAN_FMT(dg_span_sub(name, 0, 80)), near ? "; did you mean --" : "",
                        near ? near : "");
}

/* The row that a flag names, by its name or its alias; n_rows when none does. */
static size_t find_flag(const struct dg_opt_table *table, struct dg_span name)
{
    size_t at = dg_opt_find_row(table, name);
    for (size_t i = 0; at == table->n_rows && i < table->n_rows; i++)
        if (table->rows[i].alias && dg_span_eq(name, dg_span_cstr(table->rows[i].alias)))
            at = i;
    return at < table->n_rows && table->rows[at].flags & DG_OPT_NO_FLAG ? table->n_rows : at;
}

static bool stands_alone(const struct dg_opt_row *row)
{
    return row->type == DG_OPT_TYPE_BOOL || (row->flags & DG_OPT_BARE);
}

/* Gives the row its value: what follows '=' or the letter, or "yes" for a flag, or the next
 * argument. */
static enum dg_err assign_flag(struct dg_opt_set *set, size_t at, const char *attached,
                               struct args *args, struct dg_error *error)
{
    const struct dg_opt_row *row = &set->main.table->rows[at];
    const char *value = attached;
    if (!value && row->type == DG_OPT_TYPE_BOOL)
        value = "yes";
    else if (!value && (row->flags & DG_OPT_BARE))
        value = row->words[1];
    else if (!value && args->at + 1 < args->argc)
        value = args->argv[++args->at];
    if (!value) {
        struct dg_buf expected;
        dg_buf_init(&expected, DG_ERROR_CAP);
        enum dg_err err = dg_opt_value_expected(row, &expected);
        if (!err)
            err = dg_error_set(error, DG_ERR_USAGE, "--%s: read nothing, expected %s", row->name,
                               expected.ptr);
        dg_buf_deinit(&expected);
        return err;
    }
    enum dg_err err =
        dg_opt_assign(&set->main, at, DG_OPT_RANK_FLAG, 0, dg_span_cstr(value), error);
    return err ? dg_error_wrap(error, err, "--%s", row->name) : DG_OK;
}

static enum dg_err read_long(struct dg_opt_set *set, struct args *args, struct dg_error *error)
{
    const struct dg_opt_table *table = set->main.table;
    const char *text = args->argv[args->at] + 2;
    const char *equals = strchr(text, '=');
    struct dg_span name = dg_span_make(text, equals ? (size_t)(equals - text) : strlen(text));
    size_t at = find_flag(table, name);
    if (at < table->n_rows)
        return assign_flag(set, at, equals ? equals + 1 : NULL, args, error);
    if (dg_span_starts(name, DG_SPAN("no-")) && !equals) {
        at = dg_opt_find_row(table, dg_span_sub(name, 3, name.len));
        if (at < table->n_rows && table->rows[at].type == DG_OPT_TYPE_BOOL)
            return assign_flag(set, at, "no", args, error);
    }
    return unknown_flag(table, name, error);
}

/* -x, -x VALUE, -xVALUE. */
static enum dg_err read_letter(struct dg_opt_set *set, struct args *args, struct dg_error *error)
{
    const struct dg_opt_table *table = set->main.table;
    const char *text = args->argv[args->at];
    for (size_t i = 0; i < table->n_rows; i++) {
        const struct dg_opt_row *row = &table->rows[i];
        if (row->letter != text[1] || (text[2] && stands_alone(row)))
            continue;
        return assign_flag(set, i, text[2] ? text + 2 : NULL, args, error);
    }
    return dg_error_set(error, DG_ERR_USAGE,
                        "read the unknown option \"%.80s\", expected one that --help lists", text);
}

static enum dg_err read_positional(struct dg_opt_set *set, const char *text, struct dg_error *error)
{
    const struct dg_opt_table *table = set->main.table;
    if (set->n_args == table->args_max)
        return dg_error_set(error, DG_ERR_USAGE, "read the argument \"%.80s\", expected %s%s", text,
                            table->args_max ? "no more than " : "options only",
                            table->args_max ? table->args : "");
    set->args[set->n_args++] = text;
    return DG_OK;
}

enum dg_err dg_opt_read_args(struct dg_opt_set *set, int argc, char *const *argv,
                             struct dg_error *error)
{
    bool flags = true;
    enum dg_err err = DG_OK;
    for (struct args args = {argc, argv, 1}; !err && args.at < argc; args.at++) {
        const char *text = argv[args.at];
        if (!flags || text[0] != '-' || text[1] == '\0')
            err = read_positional(set, text, error);
        else if (strcmp(text, "--") == 0)
            flags = false;
        else
            err = text[1] == '-' ? read_long(set, &args, error) : read_letter(set, &args, error);
    }
    return err;
}

/* ---- Environment ----------------------------------------------------------------------------- */

bool dg_opt_env_name(const struct dg_opt_table *table, const struct dg_opt_row *row, char *out,
                     size_t cap)
{
    int len = snprintf(out, cap, "%s%s", table->env_prefix, row->name);
    if (len < 0 || (size_t)len >= cap)
        return false;
    for (char *c = out + strlen(table->env_prefix); *c; c++)
        *c = *c == '-' ? '_' : *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    return true;
}

static const char *env_value(char *const *env, const char *name)
{
    size_t len = strlen(name);
    for (; env && *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

enum dg_err dg_opt_read_env(struct dg_opt_set *set, char *const *env, struct dg_error *error)
{
    const struct dg_opt_table *table = set->main.table;
    for (size_t i = 0; table->env_prefix && i < table->n_rows; i++) {
        char name[128];
        if ((table->rows[i].flags & DG_OPT_COMMAND_LINE) ||
            !dg_opt_env_name(table, &table->rows[i], name, sizeof name))
            continue;
        const char *value = env_value(env, name);
        if (!value || !*value) /* people set a variable to nothing in order to unset it */
            continue;
        enum dg_err err =
            dg_opt_assign(&set->main, i, DG_OPT_RANK_ENV, 0, dg_span_cstr(value), error);
        if (err)
            return dg_error_wrap(error, err, "%s", name);
    }
    return DG_OK;
}
