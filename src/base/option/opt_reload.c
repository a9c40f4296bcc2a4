/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reload: the differences between two sets. Values are compared in the file's notation, so one
 * comparison serves all types. */
#include "base/option/opt.h"

#include "base/option/opt_int.h"
#include "base/option/opt_value.h"

#include <stdio.h>

/* The instance of `set` that corresponds to `in` of another set, or NULL. */
static struct dg_opt_instance *counterpart(const struct dg_opt_set *set,
                                           const struct dg_opt_instance *in)
{
    for (size_t i = 0; i < set->n_sections; i++)
        if (set->sections[i].table == in->table && strcmp(set->sections[i].name, in->name) == 0)
            return &set->sections[i];
    return NULL;
}

static void section_label(const struct dg_opt_instance *in, char *text, size_t cap)
{
    snprintf(text, cap, "%s %s", in->table->program, in->name ? in->name : "");
}

/* A reload may add or remove a section if all rows of its table may change. */
static bool all_reloadable(const struct dg_opt_table *table)
{
    for (size_t i = 0; i < table->n_rows; i++)
        if (!(table->rows[i].flags & DG_OPT_RELOADABLE))
            return false;
    return true;
}

static enum dg_err compare_rows(const struct dg_opt_instance *was,
                                const struct dg_opt_instance *now, dg_opt_change_fn on_change,
                                void *ctx)
{
    char section[160];
    section_label(was, section, sizeof section);
    struct dg_buf old_text, new_text;
    dg_buf_init(&old_text, DG_OPT_TEXT_MAX * 2);
    dg_buf_init(&new_text, DG_OPT_TEXT_MAX * 2);
    enum dg_err err = DG_OK;
    for (size_t i = 0; !err && i < was->table->n_rows; i++) {
        const struct dg_opt_row *row = &was->table->rows[i];
        if (row->flags & DG_OPT_COMMAND_LINE)
            continue;
        dg_buf_clear(&old_text);
        dg_buf_clear(&new_text);
        err = dg_opt_value_format(row, was->values, &old_text);
        if (!err)
            err = dg_opt_value_format(row, now->values, &new_text);
        if (err || dg_span_eq(dg_buf_span(&old_text), dg_buf_span(&new_text)))
            continue;
        on_change(ctx, &(struct dg_opt_change){
                           .row = row,
                           .section = was->name ? section : NULL,
                           .was = old_text.len ? old_text.ptr : "",
                           .now = new_text.len ? new_text.ptr : "",
                           .allowed = row->flags & DG_OPT_RELOADABLE,
                       });
    }
    dg_buf_deinit(&old_text);
    dg_buf_deinit(&new_text);
    return err;
}

static void report_section(const struct dg_opt_instance *in, bool came, dg_opt_change_fn on_change,
                           void *ctx)
{
    char section[160];
    section_label(in, section, sizeof section);
    on_change(ctx, &(struct dg_opt_change){.section = section,
                                           .was = came ? NULL : section,
                                           .now = came ? section : NULL,
                                           .allowed = all_reloadable(in->table)});
}

enum dg_err dg_opt_compare(const struct dg_opt_set *was, const struct dg_opt_set *now,
                           dg_opt_change_fn on_change, void *ctx)
{
    enum dg_err err = compare_rows(&was->main, &now->main, on_change, ctx);
    for (size_t i = 0; !err && i < was->n_sections; i++) {
        const struct dg_opt_instance *in = &was->sections[i], *other = counterpart(now, in);
        if (other)
            err = compare_rows(in, other, on_change, ctx);
        else
            report_section(in, false, on_change, ctx);
    }
    for (size_t i = 0; !err && i < now->n_sections; i++)
        if (!counterpart(was, &now->sections[i]))
            report_section(&now->sections[i], true, on_change, ctx);
    return err;
}

static enum dg_err keep_rows(const struct dg_opt_instance *was, struct dg_opt_instance *now)
{
    struct dg_buf text;
    dg_buf_init(&text, DG_OPT_TEXT_MAX * 2);
    enum dg_err err = DG_OK;
    for (size_t i = 0; !err && i < was->table->n_rows; i++) {
        const struct dg_opt_row *row = &was->table->rows[i];
        if (row->flags & (DG_OPT_RELOADABLE | DG_OPT_COMMAND_LINE))
            continue;
        if (was->from[i].rank == DG_OPT_RANK_DEFAULT) {
            err = dg_opt_value_default(row, now->values, NULL);
        } else {
            dg_buf_clear(&text);
            err = dg_opt_value_format(row, was->values, &text);
            if (!err)
                err = dg_opt_value_parse(row, dg_buf_span(&text), now->values, false, NULL);
        }
        if (!err)
            now->from[i] = was->from[i];
    }
    dg_buf_deinit(&text);
    return err;
}

enum dg_err dg_opt_keep_fixed(const struct dg_opt_set *was, struct dg_opt_set *now)
{
    enum dg_err err = keep_rows(&was->main, &now->main);
    for (size_t i = 0; !err && i < now->n_sections; i++) {
        const struct dg_opt_instance *old = counterpart(was, &now->sections[i]);
        if (old)
            err = keep_rows(old, &now->sections[i]);
    }
    return err;
}
