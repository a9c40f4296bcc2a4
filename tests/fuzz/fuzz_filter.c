/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as a file of every kind that a filter reads: what can be read can be written, and a
 * text that did not change gives the same bytes. */
#include "filter/filter.h"

#include <stdlib.h>

enum { TEXT_MAX = 1 << 24 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static enum dg_err append(void *ctx, struct dg_span bytes, struct dg_error *error)
{
    (void)error;
    return dg_buf_append_span(ctx, bytes);
}

/* Another text with the same marks: each "e" is an "E", each "a" something to escape. */
static enum dg_err change(struct dg_span html, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    bool in_tag = false;
    for (size_t i = 0; i < html.len && !err; i++) {
        const char c = html.ptr[i];
        in_tag = c == '<' || (in_tag && html.ptr[i - 1] != '>');
        if (!in_tag && c == 'e')
            err = dg_buf_append_byte(out, 'E');
        else if (!in_tag && c == 'a' && (i == 0 || html.ptr[i - 1] != '&'))
            err = dg_buf_append_cstr(out, "a\": ;,\t'&lt;%");
        else
            err = dg_buf_append_byte(out, c);
    }
    return err;
}

static void try_kind(const char *name, struct dg_span bytes)
{
    const struct dg_filter_opts opts = {.text_max = TEXT_MAX};
    struct dg_filter *filter;
    struct dg_buf text, other, out;
    if (dg_filter_new(bytes, name, &opts, &filter, NULL))
        return;
    struct dg_buf *const all[] = {&text, &other, &out};
    for (size_t i = 0; i < 3; i++)
        dg_buf_init(all[i], 4 * TEXT_MAX);
    if (dg_filter_text(filter, &text, NULL) ||
        dg_filter_write(filter, dg_buf_span(&text), dg_buf_span(&text), DG_SPAN("de"), append, &out,
                        NULL) ||
        !dg_span_eq(dg_buf_span(&out), bytes) || change(dg_buf_span(&text), &other))
        abort();
    dg_buf_clear(&out);
    if (dg_filter_write(filter, dg_buf_span(&text), dg_buf_span(&other), DG_SPAN("de"), append,
                        &out, NULL))
        abort();
    for (size_t i = 0; i < 3; i++)
        dg_buf_deinit(all[i]);
    dg_filter_free(filter);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const char *const names[] = {"a.csv",  "a.tsv",         "a.yml",        "a.md",
                                        "a.tex",  "a.strings",     "a.properties", "a.xml",
                                        "a.resx", "a.stringsdict", "a.eml",        "a.txt"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        try_kind(names[i], dg_span_make((const char *)bytes, len));
    return 0;
}
