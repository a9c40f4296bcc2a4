/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman translate --glossary: reads a file of terms, which apply to all languages that the model
 * has. */
#include "base/file/map_file.h"
#include "engine/engine.h"
#include "tools/translate/translate.h"

enum { FILE_MAX = 32 << 20 };

enum dg_err translate_glossary(const char *path, struct dg_error *error, struct dg_glossary **out)
{
    struct dg_map_file file = {0};
    if (!*path)
        return DG_OK;
    enum dg_err err = dg_map_file_open(&file, path, FILE_MAX, error);
    if (err)
        return err;
    struct dg_span text = dg_span_make((const char *)file.bytes, file.len);
    bool is_csv = dg_span_ends(dg_span_cstr(path), DG_SPAN(".csv"));
    struct dg_glossary *glossary = dg_glossary_new(NULL);
    err = glossary ? dg_glossary_begin(glossary, "", "", error) : DG_ERR_NOMEM;
    if (!err)
        err = dg_glossary_read(glossary, is_csv ? DG_GLOSSARY_CSV : DG_GLOSSARY_TSV,
                               DG_GLOSSARY_FORMS + 1, text, error);
    if (!err)
        err = dg_glossary_seal(glossary, error);
    dg_map_file_close(&file);
    if (err) {
        dg_glossary_unref(glossary);
        return dg_error_wrap(error, err, "%s", path);
    }
    *out = glossary;
    return DG_OK;
}

void translate_count_terms(struct translate_totals *totals, const struct dg_engine_result *result)
{
    totals->n_terms += result->n_terms;
    for (size_t i = 0; i < result->n_terms; i++)
        totals->n_missed += !result->terms[i].is_used;
}
