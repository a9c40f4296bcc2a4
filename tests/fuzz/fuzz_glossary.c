/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as a table of terms, CSV or TSV. What is accepted is within its limits, its terms are
 * found in a text that contains them, and the table is the same after it is written and read again.
 * The first byte picks the format and how many columns there may be. */
#include "base/memory/utf8.h"
#include "text/terms/glossary.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static struct dg_glossary *begin(void)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_glossary *glossary = dg_glossary_new(NULL);
    require(glossary && dg_glossary_begin(glossary, "fr", "en", &error) == DG_OK);
    return glossary;
}

static const struct dg_dictionary *only(const struct dg_glossary *glossary)
{
    size_t n;
    const struct dg_dictionary *dictionaries = dg_glossary_dictionaries(glossary, &n);
    require(n == 1);
    return dictionaries;
}

static void check_terms(const struct dg_dictionary *dictionary, size_t columns_max)
{
    for (size_t i = 0; i < dictionary->n; i++) {
        const struct dg_glossary_term *term = &dictionary->terms[i];
        require(term->source.len > 0 && term->source.len <= DG_GLOSSARY_TERM_BYTES);
        require(dg_utf8_valid(term->source, NULL));
        require(term->n_targets >= 1 && term->n_targets <= DG_GLOSSARY_FORMS);
        require(term->n_targets < columns_max);
        for (size_t k = 0; k < term->n_targets; k++)
            require(term->targets[k].len > 0 && term->targets[k].len <= DG_GLOSSARY_TERM_BYTES &&
                    dg_utf8_valid(term->targets[k], NULL));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_buf out;
    if (len == 0 || len > 1 << 16)
        return 0;
    const enum dg_glossary_format format = bytes[0] & 1 ? DG_GLOSSARY_CSV : DG_GLOSSARY_TSV;
    const size_t columns_max = bytes[0] & 2 ? 2 : 1 + DG_GLOSSARY_FORMS;
    struct dg_glossary *glossary = begin();
    enum dg_err err = dg_glossary_read(glossary, format, columns_max,
                                       dg_span_make((const char *)bytes + 1, len - 1), &error);
    if (!err)
        err = dg_glossary_seal(glossary, &error);
    require(err == DG_OK || *dg_error_text(&error, err));
    if (!err) {
        check_terms(only(glossary), columns_max);
        dg_buf_init(&out, 64 << 20);
        require(dg_glossary_write(only(glossary), format, columns_max, &out) == DG_OK);
        struct dg_glossary *again = begin();
        require(dg_glossary_read(again, format, columns_max, dg_buf_span(&out), &error) == DG_OK &&
                dg_glossary_seal(again, &error) == DG_OK);
        require(only(again)->n == only(glossary)->n);
        for (size_t i = 0; i < only(again)->n; i++) {
            const struct dg_glossary_term *a = &only(glossary)->terms[i];
            const struct dg_glossary_term *b = &only(again)->terms[i];
            require(dg_span_eq(a->source, b->source) && a->n_targets == b->n_targets);
            for (size_t k = 0; k < a->n_targets; k++)
                require(dg_span_eq(a->targets[k], b->targets[k]));
        }
        dg_glossary_unref(again);
        dg_buf_deinit(&out);
    }
    dg_glossary_unref(glossary);
    return 0;
}
