/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Refusals of options that do not go together. An option counts as given when its value is not the
 * default: values are compared in the file's notation, so one comparison serves all types. */
#include "base/memory/mem.h"
#include "base/option/opt.h"
#include "base/option/opt_int.h"
#include "base/option/opt_value.h"

#include <string.h>

struct rules {
    const struct dg_opt_table *table;
    const void *values;
    void *usual; /* table->size bytes, for defaults; between uses no field holds anything */
    enum dg_err err;
};

static const struct dg_opt_row *row_of(const struct rules *rules, struct dg_span name)
{
    const size_t at = dg_opt_find_row(rules->table, name);
    return at < rules->table->n_rows ? &rules->table->rows[at] : NULL;
}

static bool is_given(struct rules *rules, const struct dg_opt_row *row)
{
    struct dg_buf now, usual;
    dg_buf_init(&now, DG_OPT_TEXT_MAX * 2);
    dg_buf_init(&usual, DG_OPT_TEXT_MAX * 2);
    enum dg_err err = dg_opt_value_default(row, rules->usual, NULL);
    if (!err)
        err = dg_opt_value_format(row, rules->usual, &usual);
    if (!err)
        err = dg_opt_value_format(row, rules->values, &now);
    const bool differs = !err && !dg_span_eq(dg_buf_span(&now), dg_buf_span(&usual));
    if (err)
        rules->err = err;
    dg_opt_value_release(row, rules->usual);
    dg_buf_deinit(&now);
    dg_buf_deinit(&usual);
    return differs;
}

/* Whether one of these options, separated by commas, is given. */
static bool any_given(struct rules *rules, const char *names)
{
    for (struct dg_span rest = dg_span_cstr(names); rest.len;) {
        const char *comma = memchr(rest.ptr, ',', rest.len);
        const size_t len = comma ? (size_t)(comma - rest.ptr) : rest.len;
        const struct dg_opt_row *row = row_of(rules, (struct dg_span){rest.ptr, len});
        if (row && is_given(rules, row))
            return true;
        rest.ptr += len + (comma != NULL);
        rest.len -= len + (comma != NULL);
    }
    return false;
}

static int64_t number_of(const struct rules *rules, const char *name)
{
    const struct dg_opt_row *row = row_of(rules, dg_span_cstr(name));
    return *(const int64_t *)(const void *)((const char *)rules->values + row->at);
}

static bool holds(const struct rules *rules, const struct dg_opt_rule *rule)
{
    const int64_t left = number_of(rules, rule->left), right = number_of(rules, rule->right);
    switch (rule->relation) {
    case DG_OPT_AT_MOST:
        return left <= right;
    case DG_OPT_MORE_THAN:
        return left > right;
    case DG_OPT_MULTIPLE_OF:
        return right != 0 && left % right == 0;
    case DG_OPT_UNRELATED:
        break;
    }
    return true;
}

static bool refuses(struct rules *rules, const struct dg_opt_rule *rule, unsigned facts)
{
    return (facts & rule->when) == rule->when && !(facts & rule->unless) &&
           !(rule->relation && holds(rules, rule)) &&
           (!rule->given || any_given(rules, rule->given)) &&
           (!rule->needs || !any_given(rules, rule->needs)) &&
           (!rule->excludes || any_given(rules, rule->excludes));
}

/* The text, with values in place of {name}. */
static enum dg_err put_text(const struct rules *rules, const char *text, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    while (*text && !err) {
        const size_t plain = strcspn(text, "{"), name = strcspn(text, "}");
        err = dg_buf_append(out, text, plain);
        text += plain;
        if (*text && !err) {
            const struct dg_span span = {text + 1, name - plain - 1};
            err = dg_opt_value_format(row_of(rules, span), rules->values, out);
            text += span.len + 2;
        }
    }
    return err;
}

enum dg_err dg_opt_check_rules(const struct dg_opt_table *table, const void *values,
                               const struct dg_opt_rule *rules, size_t n, unsigned facts,
                               struct dg_error *error)
{
    struct rules all = {.table = table, .values = values, .usual = dg_try_calloc(1, table->size)};
    struct dg_buf text;
    dg_buf_init(&text, DG_OPT_TEXT_MAX);
    size_t at = 0;
    all.err = all.usual ? DG_OK : DG_ERR_NOMEM;
    while (!all.err && at < n && !refuses(&all, &rules[at], facts))
        at++;
    if (!all.err && at < n)
        all.err = put_text(&all, rules[at].text, &text);
    if (!all.err && at < n)
        all.err = dg_error_set(error, DG_ERR_USAGE, "%s", text.ptr);
    dg_buf_deinit(&text);
    dg_free(all.usual);
    return all.err;
}
