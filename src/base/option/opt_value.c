/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Values of options. Numbers with units share one routine: digits, then one suffix of the type's
 * table. Formatting picks the largest unit that divides the number, so that text -> value -> text
 * settles after one round, which is what makes a dump identical when it is dumped again. */
#include "base/option/opt_value.h"

#include "base/memory/chars.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "base/option/addr.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct unit {
    const char *suffix;
    int64_t factor;
    bool canonical; /* formatting may choose it */
};

static const struct unit int_units[] = {{"G", 1000000000, false},
                                        {"M", 1000000, false},
                                        {"k", 1000, false},
                                        {"", 1, true},
                                        {NULL, 0, false}};
static const struct unit size_units[] = {{"TiB", (int64_t)1 << 40, true},
                                         {"GiB", 1 << 30, true},
                                         {"MiB", 1 << 20, true},
                                         {"KiB", 1 << 10, true},
                                         {"B", 1, true},
                                         {"", 1, false},
                                         {NULL, 0, false}};
static const struct unit duration_units[] = {{"d", 86400000, true}, {"h", 3600000, true},
                                             {"min", 60000, true},  {"s", 1000, true},
                                             {"ms", 1, true},       {NULL, 0, false}};

static const struct unit *units_of(const struct dg_opt_row *row)
{
    return row->type == DG_OPT_TYPE_SIZE       ? size_units
           : row->type == DG_OPT_TYPE_DURATION ? duration_units
                                               : int_units;
}

static void *field_of(const struct dg_opt_row *row, void *values)
{
    return (char *)values + row->at;
}

static const void *field_of_const(const struct dg_opt_row *row, const void *values)
{
    return (const char *)values + row->at;
}

static bool has_range(const struct dg_opt_row *row)
{
    return row->min != 0 || row->max != 0;
}

static size_t text_max(const struct dg_opt_row *row)
{
    return row->max > 0 ? (size_t)row->max : DG_OPT_TEXT_MAX;
}

static size_t items_max(const struct dg_opt_row *row)
{
    return row->max > 0 ? (size_t)row->max : DG_OPT_LIST_MAX;
}

/* ---- What is expected ------------------------------------------------------------------------ */

static enum dg_err append_number(const struct unit *units, int64_t value, struct dg_buf *out)
{
    if (value == 0)
        return dg_buf_append_byte(out, '0');
    for (const struct unit *u = units; u->suffix; u++)
        if (u->canonical && value % u->factor == 0)
            return dg_buf_printf(out, "%" PRId64 "%s", value / u->factor, u->suffix);
    return DG_ERR_INTERNAL;
}

static enum dg_err expected_number(const struct dg_opt_row *row, const char *what,
                                   const char *example, struct dg_buf *out)
{
    if (!has_range(row))
        return dg_buf_printf(out, "%s%s", what, example);
    const bool has_max = row->max != INT64_MAX;
    enum dg_err err = dg_buf_printf(out, "%s %s ", what, has_max ? "from" : "of at least");
    if (!err)
        err = append_number(units_of(row), row->min, out);
    if (!err && has_max)
        err = dg_buf_append_cstr(out, " to ");
    return err || !has_max ? err : append_number(units_of(row), row->max, out);
}

static enum dg_err expected_words(const struct dg_opt_row *row, struct dg_buf *out)
{
    enum dg_err err = dg_buf_append_cstr(out, "one of ");
    for (size_t i = 0; !err && row->words[i]; i++)
        err = dg_buf_printf(out, "%s%s", i ? ", " : "", row->words[i]);
    return err;
}

static enum dg_err expected_items(const struct dg_opt_row *row, const char *what,
                                  struct dg_buf *out)
{
    return dg_buf_printf(out, "at most %zu %s with commas between them", items_max(row), what);
}

enum dg_err dg_opt_value_expected(const struct dg_opt_row *row, struct dg_buf *out)
{
    switch (row->type) {
    case DG_OPT_TYPE_BOOL:
        return dg_buf_append_cstr(out, "yes or no");
    case DG_OPT_TYPE_INT: {
        enum dg_err err = row->words ? dg_buf_printf(out, "%s or ", row->words[0]) : DG_OK;
        return err ? err : expected_number(row, "a whole number", "", out);
    }
    case DG_OPT_TYPE_SIZE:
        return expected_number(row, "a size", " such as 512KiB, 64MiB or 2GiB", out);
    case DG_OPT_TYPE_DURATION:
        return expected_number(row, "a duration", " such as 500ms, 30s, 5min or 2h", out);
    case DG_OPT_TYPE_REAL:
        if (row->real_min < row->real_max)
            return dg_buf_printf(out, "a number from %g to %g", row->real_min, row->real_max);
        return dg_buf_append_cstr(out, "a number");
    case DG_OPT_TYPE_ENUM:
        return expected_words(row, out);
    case DG_OPT_TYPE_STRING:
    case DG_OPT_TYPE_PATH:
        return dg_buf_printf(out, "%s of %zu to %zu bytes",
                             row->type == DG_OPT_TYPE_PATH ? "a path" : "text",
                             (size_t)(row->min > 0 ? row->min : 0), text_max(row));
    case DG_OPT_TYPE_STRINGS:
        return expected_items(row, "words", out);
    case DG_OPT_TYPE_PATHS:
        return expected_items(row, "paths", out);
    case DG_OPT_TYPE_ADDRESSES:
        return expected_items(
            row,
            "addresses, each with a port up to 65535 or a path, such as 127.0.0.1:8090, "
            "[::1]:8090 or unix:/path",
            out);
    case DG_OPT_TYPE_NONE:
        break;
    }
    return DG_ERR_INTERNAL;
}

/* What is wrong with the first address of a list that is none; "" where that does not say it. */
static const char *fault_of(const struct dg_opt_row *row, struct dg_span text)
{
    const char *fault = NULL;
    for (size_t at = 0; row->type == DG_OPT_TYPE_ADDRESSES && !fault && at < text.len;) {
        const char *comma = memchr(text.ptr + at, ',', text.len - at);
        const size_t end = comma ? (size_t)(comma - text.ptr) : text.len;
        fault = dg_addr_fault(dg_chars_trim(dg_span_sub(text, at, end - at), " \t"));
        at = end + 1;
    }
    return fault ? fault : "";
}

/* The refusal of `text`, whose reason is `code`; long texts are quoted in part. */
static enum dg_err refuse(const struct dg_opt_row *row, struct dg_span text, enum dg_err code,
                          struct dg_error *error)
{
    enum { QUOTED = 80 };
    struct dg_buf expected;
    dg_buf_init(&expected, DG_ERROR_CAP);
    if (dg_opt_value_expected(row, &expected))
        dg_buf_clear(&expected);
    struct dg_span head = dg_utf8_clip(text, QUOTED);
    const char *fault = fault_of(row, text);
    dg_error_set(error, code, "read \"%.*s\"%s%s%s%s, expected %s", DG_SPAN_FMT(head),
                 text.len > QUOTED ? "..." : "", *fault ? " (" : "", fault, *fault ? ")" : "",
                 expected.len ? expected.ptr : "another value");
    dg_buf_deinit(&expected);
    return code;
}

/* ---- Text to value --------------------------------------------------------------------------- */

static bool parse_bool(struct dg_span text, bool *value)
{
    static const struct {
        const char *word;
        bool value;
    } words[] = {{"yes", true},    {"no", false}, {"true", true},
                 {"false", false}, {"on", true},  {"off", false}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (dg_span_eq(text, dg_span_cstr(words[i].word))) {
            *value = words[i].value;
            return true;
        }
    return false;
}

/* [-]DIGITS SUFFIX, where a zero needs no suffix. DG_ERR_RANGE when it does not fit 64 bits. */
static enum dg_err parse_number(struct dg_span text, const struct unit *units, int64_t *value)
{
    bool negative = text.len > 0 && text.ptr[0] == '-';
    size_t i = negative;
    int64_t n = 0;
    bool wraps = false;
    for (; i < text.len && isdigit((unsigned char)text.ptr[i]); i++) {
        wraps |= __builtin_mul_overflow(n, 10, &n);
        wraps |= __builtin_sub_overflow(n, text.ptr[i] - '0', &n); /* counts down: INT64_MIN fits */
    }
    if (i == (size_t)negative)
        return DG_ERR_INVALID;
    struct dg_span suffix = dg_span_sub(text, i, text.len);
    const struct unit *u = units;
    while (u->suffix && !dg_span_eq(suffix, dg_span_cstr(u->suffix)))
        u++;
    if (!u->suffix && !(n == 0 && !wraps && suffix.len == 0))
        return DG_ERR_INVALID;
    wraps |= __builtin_mul_overflow(n, u->suffix ? u->factor : 1, &n);
    if (!negative)
        wraps |= __builtin_sub_overflow((int64_t)0, n, &n);
    if (wraps)
        return DG_ERR_RANGE;
    *value = n;
    return DG_OK;
}

static enum dg_err parse_integer(const struct dg_opt_row *row, struct dg_span text, int64_t *value)
{
    int64_t n = 0;
    bool is_word = row->words && dg_span_eq(text, dg_span_cstr(row->words[0]));
    enum dg_err err = is_word ? DG_OK : parse_number(text, units_of(row), &n);
    if (err)
        return err;
    if (has_range(row) ? n < row->min || n > row->max : n < 0 && row->type != DG_OPT_TYPE_INT)
        return DG_ERR_RANGE;
    *value = n;
    return DG_OK;
}

static enum dg_err parse_real(const struct dg_opt_row *row, struct dg_span text, double *value)
{
    char copy[64];
    if (text.len == 0 || text.len >= sizeof copy)
        return DG_ERR_INVALID;
    for (size_t i = 0; i < text.len; i++)
        if (!memchr("0123456789.eE+-", text.ptr[i], 15)) /* no hexadecimal, infinities, NaN */
            return DG_ERR_INVALID;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    char *end = NULL;
    double n = strtod(copy, &end);
    if (*end != '\0')
        return DG_ERR_INVALID;
    if (!isfinite(n) || (row->real_min < row->real_max && (n < row->real_min || n > row->real_max)))
        return DG_ERR_RANGE;
    *value = n;
    return DG_OK;
}

static enum dg_err parse_enum(const struct dg_opt_row *row, struct dg_span text, int *value)
{
    for (int i = 0; row->words[i]; i++)
        if (dg_span_eq(text, dg_span_cstr(row->words[i]))) {
            *value = i;
            return DG_OK;
        }
    return DG_ERR_INVALID;
}

static char *copy_text(struct dg_span text)
{
    char *copy = dg_try_malloc(text.len + 1);
    if (!copy)
        return NULL;
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return copy;
}

static bool is_plain(struct dg_span text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7f)
            return false;
    return true;
}

static enum dg_err parse_text(const struct dg_opt_row *row, struct dg_span text, const char **value)
{
    if (!is_plain(text))
        return DG_ERR_INVALID;
    if (text.len > text_max(row) || (row->min > 0 && text.len < (size_t)row->min))
        return DG_ERR_RANGE;
    char *copy = copy_text(text);
    if (!copy)
        return DG_ERR_NOMEM;
    dg_free((void *)(uintptr_t)*value);
    *value = copy;
    return DG_OK;
}

/* ---- Lists ----------------------------------------------------------------------------------- */

static void release_list(struct dg_opt_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        dg_free((void *)(uintptr_t)list->items[i]);
    dg_free(list->items);
    *list = (struct dg_opt_list){NULL, 0};
}

static bool is_item(const struct dg_opt_row *row, struct dg_span item)
{
    struct dg_addr addr;
    if (item.len == 0 || item.len > DG_OPT_TEXT_MAX || !is_plain(item))
        return false;
    return row->type != DG_OPT_TYPE_ADDRESSES || dg_addr_parse(item, &addr) == DG_OK;
}

/* Adds the comma-separated items of `text` to `list`, which has room for `cap` of them. */
static enum dg_err add_items(const struct dg_opt_row *row, struct dg_span text,
                             struct dg_opt_list *list, size_t cap)
{
    if (dg_chars_trim(text, " \t").len == 0)
        return DG_OK; /* an empty value is an empty list */
    for (size_t at = 0; at <= text.len;) {
        const char *comma = memchr(text.ptr + at, ',', text.len - at);
        size_t end = comma ? (size_t)(comma - text.ptr) : text.len;
        struct dg_span item = dg_chars_trim(dg_span_sub(text, at, end - at), " \t");
        if (!is_item(row, item))
            return DG_ERR_INVALID;
        if (list->n == cap)
            return DG_ERR_RANGE;
        list->items[list->n] = copy_text(item);
        if (!list->items[list->n])
            return DG_ERR_NOMEM;
        list->n++;
        at = end + 1;
    }
    return DG_OK;
}

/* Bytes of the list written on one line. */
static size_t joined_len(const struct dg_opt_list *list)
{
    size_t len = 0;
    for (size_t i = 0; i < list->n; i++)
        len += strlen(list->items[i]) + 2;
    return len;
}

static enum dg_err parse_list(const struct dg_opt_row *row, struct dg_span text, bool append,
                              struct dg_opt_list *value)
{
    size_t cap = items_max(row);
    struct dg_opt_list list = {dg_try_calloc(cap, sizeof *list.items), 0};
    if (!list.items)
        return DG_ERR_NOMEM;
    enum dg_err err = DG_OK;
    for (size_t i = 0; append && !err && i < value->n; i++) {
        list.items[i] = copy_text(dg_span_cstr(value->items[i]));
        if (list.items[i])
            list.n++;
        else
            err = DG_ERR_NOMEM;
    }
    if (!err)
        err = add_items(row, text, &list, cap);
    if (!err &&
        ((row->min > 0 && list.n < (size_t)row->min) || joined_len(&list) > DG_OPT_TEXT_MAX))
        err = DG_ERR_RANGE;
    if (err) {
        release_list(&list);
        return err;
    }
    release_list(value);
    *value = list;
    return DG_OK;
}

/* ---- The doors ------------------------------------------------------------------------------- */

static enum dg_err parse_field(const struct dg_opt_row *row, struct dg_span text, void *field,
                               bool append)
{
    switch (row->type) {
    case DG_OPT_TYPE_BOOL:
        return parse_bool(text, field) ? DG_OK : DG_ERR_INVALID;
    case DG_OPT_TYPE_INT:
    case DG_OPT_TYPE_DURATION:
        return parse_integer(row, text, field);
    case DG_OPT_TYPE_SIZE: {
        int64_t n = 0;
        enum dg_err err = parse_integer(row, text, &n);
        if (!err)
            *(uint64_t *)field = (uint64_t)n;
        return err;
    }
    case DG_OPT_TYPE_REAL:
        return parse_real(row, text, field);
    case DG_OPT_TYPE_ENUM:
        return parse_enum(row, text, field);
    case DG_OPT_TYPE_STRING:
    case DG_OPT_TYPE_PATH:
        return parse_text(row, text, field);
    case DG_OPT_TYPE_STRINGS:
    case DG_OPT_TYPE_PATHS:
    case DG_OPT_TYPE_ADDRESSES:
        return parse_list(row, text, append, field);
    case DG_OPT_TYPE_NONE:
        break;
    }
    return DG_ERR_INTERNAL;
}

enum dg_err dg_opt_value_parse(const struct dg_opt_row *row, struct dg_span text, void *values,
                               bool append, struct dg_error *error)
{
    enum dg_err err = parse_field(row, text, field_of(row, values), append);
    if (err == DG_ERR_NOMEM)
        return dg_error_set(error, err, "%s", dg_err_sentence(err));
    return err ? refuse(row, text, err, error) : DG_OK;
}

static enum dg_err format_real(double n, struct dg_buf *out)
{
    char text[40];
    for (int digits = 6; digits <= 17; digits++) { /* the shortest number that reads back as the
                                                      same */
        snprintf(text, sizeof text, "%.*g", digits, n);
        if (strtod(text, NULL) == n)
            break;
    }
    return dg_buf_append_cstr(out, text);
}

static enum dg_err format_list(const struct dg_opt_list *list, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; !err && i < list->n; i++)
        err = dg_buf_printf(out, "%s%s", i ? ", " : "", list->items[i]);
    return err;
}

enum dg_err dg_opt_value_format(const struct dg_opt_row *row, const void *values,
                                struct dg_buf *out)
{
    const void *field = field_of_const(row, values);
    switch (row->type) {
    case DG_OPT_TYPE_BOOL:
        return dg_buf_append_cstr(out, *(const bool *)field ? "yes" : "no");
    case DG_OPT_TYPE_INT:
        if (row->words && *(const int64_t *)field == 0)
            return dg_buf_append_cstr(out, row->words[0]);
        return append_number(units_of(row), *(const int64_t *)field, out);
    case DG_OPT_TYPE_DURATION:
        return append_number(units_of(row), *(const int64_t *)field, out);
    case DG_OPT_TYPE_SIZE:
        return append_number(units_of(row), (int64_t) * (const uint64_t *)field, out);
    case DG_OPT_TYPE_REAL:
        return format_real(*(const double *)field, out);
    case DG_OPT_TYPE_ENUM:
        return dg_buf_append_cstr(out, row->words[*(const int *)field]);
    case DG_OPT_TYPE_STRING:
    case DG_OPT_TYPE_PATH:
        return dg_buf_append_cstr(out, *(const char *const *)field);
    case DG_OPT_TYPE_STRINGS:
    case DG_OPT_TYPE_PATHS:
    case DG_OPT_TYPE_ADDRESSES:
        return format_list(field, out);
    case DG_OPT_TYPE_NONE:
        break;
    }
    return DG_ERR_INTERNAL;
}

/* Back to all zeros, which is no, 0, the first word, no text and the empty list. */
void dg_opt_value_release(const struct dg_opt_row *row, void *values)
{
    void *field = field_of(row, values);
    switch (row->type) {
    case DG_OPT_TYPE_BOOL:
        *(bool *)field = false;
        break;
    case DG_OPT_TYPE_INT:
    case DG_OPT_TYPE_DURATION:
        *(int64_t *)field = 0;
        break;
    case DG_OPT_TYPE_SIZE:
        *(uint64_t *)field = 0;
        break;
    case DG_OPT_TYPE_REAL:
        *(double *)field = 0;
        break;
    case DG_OPT_TYPE_ENUM:
        *(int *)field = 0;
        break;
    case DG_OPT_TYPE_STRING:
    case DG_OPT_TYPE_PATH:
        dg_free((void *)(uintptr_t) * (const char **)field);
        *(const char **)field = NULL;
        break;
    case DG_OPT_TYPE_STRINGS:
    case DG_OPT_TYPE_PATHS:
    case DG_OPT_TYPE_ADDRESSES:
        release_list(field);
        break;
    case DG_OPT_TYPE_NONE:
        break;
    }
}

enum dg_err dg_opt_value_default(const struct dg_opt_row *row, void *values, struct dg_error *error)
{
    void *field = field_of(row, values);
    dg_opt_value_release(row, values);
    if (row->type == DG_OPT_TYPE_STRING || row->type == DG_OPT_TYPE_PATH) {
        /* An empty text may be shorter than the row's minimum, which binds only values that were
         * given. */
        *(const char **)field = dg_try_calloc(1, 1);
        if (!*(const char **)field)
            return dg_error_set(error, DG_ERR_NOMEM, "%s", dg_err_sentence(DG_ERR_NOMEM));
    }
    if (row->def)
        return dg_opt_value_parse(row, dg_span_cstr(row->def), values, false, error);
    return DG_OK;
}
