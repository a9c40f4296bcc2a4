/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A table says for each flag which JSON field it sets and where its value is. */
#include "tools/server_options.h"
#include "base/json/json_out.h"
#include "base/memory/error.h"
#include "engine/request/terms_json.h"
#include "text/terms/glossary.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum kind { BOOL, INT, REAL };

static const struct row {
    const char *flag, *field;
    enum kind kind;
    size_t at; /* the offset in struct search_flags, or text_flags */
} rows[] = {
#define ROW(kind, flag, field, member)                                                             \
    {                                                                                              \
        flag, field, kind, offsetof(struct search_flags, member)                                   \
    }
    ROW(INT, "beam", "beam", beam),
    ROW(REAL, "length-penalty", "length_penalty", length_penalty),
    ROW(REAL, "coverage-penalty", "coverage_penalty", coverage_penalty),
    ROW(REAL, "patience", "patience", patience),
    ROW(BOOL, "early-stop", "early_stop", early_stop),
    ROW(BOOL, "sample", "sample", sample),
    ROW(REAL, "temperature", "temperature", temperature),
    ROW(INT, "top-k", "top_k", top_k),
    ROW(REAL, "top-p", "top_p", top_p),
    ROW(INT, "seed", "seed", seed),
    ROW(INT, "min-len", "min_length", min_len),
    ROW(INT, "max-len", "max_length", max_len),
    ROW(REAL, "max-ratio", "max_ratio", max_ratio),
    ROW(REAL, "repetition-penalty", "repetition_penalty", repetition_penalty),
    ROW(INT, "no-repeat-ngram", "no_repeat_ngram", no_repeat_ngram),
    ROW(BOOL, "loop-guard", "loop_guard", loop_guard),
#undef ROW
};

static const struct row text_rows[] = {
    {"keep-case", "keep_case", BOOL, offsetof(struct text_flags, keep_case)},
    {"protect", "protect", BOOL, offsetof(struct text_flags, protect)},
    {"copy-numbers", "copy_numbers", BOOL, offsetof(struct text_flags, copy_numbers)},
};

static void put_string(struct dg_json_out *out, const char *field, const char *value)
{
    if (!value || !*value)
        return;
    dg_json_out_put_cstr(out, field, value);
}

static void put_row(struct dg_json_out *out, const struct row *row, const void *flags)
{
    const char *at = (const char *)flags + row->at;
    dg_json_out_key(out, row->field);
    if (row->kind == BOOL)
        dg_json_out_bool(out, *(const bool *)at);
    else if (row->kind == INT)
        dg_json_out_int(out, *(const int64_t *)at);
    else
        dg_json_out_real(out, *(const double *)at, 9);
}

enum dg_err server_options(const struct dg_opt_set *set, const struct server_flags *flags,
                           const struct search_flags *search, const struct text_flags *text,
                           const char *model, const char *lines, const char *formality,
                           struct dg_buf *json)
{
    struct dg_json_out out;
    dg_json_out_init(&out, json);
    dg_json_out_open(&out, '{');
    put_string(&out, "source", flags->source);
    put_string(&out, "target", flags->target);
    put_string(&out, "model", model);
    put_string(&out, "lines", lines);
    put_string(&out, "formality", formality);
    for (size_t i = 0; search && i < sizeof rows / sizeof *rows; i++)
        if (dg_opt_given(set, rows[i].flag))
            put_row(&out, &rows[i], search);
    for (size_t i = 0; text && i < sizeof text_rows / sizeof *text_rows; i++)
        if (dg_opt_given(set, text_rows[i].flag))
            put_row(&out, &text_rows[i], text);
    dg_json_out_close(&out, '}');
    enum dg_err err = dg_json_out_end(&out);
    return err ? err : dg_buf_append_byte(json, '\0');
}

enum dg_err server_options_glossary(const struct dg_glossary *glossary, struct dg_buf *json)
{
    size_t n;
    struct dg_json_out out;
    const struct dg_dictionary *dictionaries = dg_glossary_dictionaries(glossary, &n);
    dg_buf_truncate(json, json->len - 2); /* removes "}" and the NUL */
    enum dg_err err = dg_buf_append_cstr(json, json->len > 1 ? ",\"glossary\":{\"terms\":"
                                                             : "\"glossary\":{\"terms\":");
    dg_json_out_init(&out, json);
    if (!err && n > 0)
        dg_engine_put_glossary(&out, &dictionaries[0]);
    if (!err)
        err = dg_json_out_end(&out);
    return err ? err : dg_buf_append(json, "}}", sizeof "}}");
}

enum dg_err server_key(const struct server_flags *flags, char *key, size_t cap,
                       struct dg_error *error)
{
    key[0] = '\0';
    if (!flags->key_file || !*flags->key_file)
        return DG_OK;
    FILE *file = fopen(flags->key_file, "r");
    if (!file)
        return dg_error_errno(error, "%s", flags->key_file);
    bool is_read = fgets(key, (int)cap, file) != NULL;
    fclose(file);
    key[strcspn(key, "\r\n")] = '\0';
    return is_read && *key
               ? DG_OK
               : dg_error_set(error, DG_ERR_INVALID, "%s: its first line is empty, expected a key",
                              flags->key_file);
}
