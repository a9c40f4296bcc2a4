/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as an archive with an office document, and as one XML part of it: what can be read can
 * be written, and a text that did not change gives the same bytes. */
#include "office/office.h"
#include "office/part.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 24 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static enum dg_err append(void *ctx, struct dg_span bytes, struct dg_error *error)
{
    (void)error;
    return dg_buf_append_span(ctx, bytes);
}

/* Another text with the same marks: each "e" is an "E". */
static void change(struct dg_buf *html)
{
    bool in_tag = false;
    for (size_t i = 0; i < html->len; i++) {
        in_tag = html->ptr[i] == '<' || (in_tag && html->ptr[i] != '>');
        if (!in_tag && html->ptr[i] == 'e')
            html->ptr[i] = 'E';
    }
}

static void read_part(struct dg_span bytes, bool is_html)
{
    const struct dg_office_opts opts = {
        .language = "ar-EG", .is_right_to_left = true, .is_html = is_html, .has_text = true};
    struct dg_office_part *part;
    struct dg_buf html, copy, out;
    if (dg_office_part_new(bytes, &opts, "fuzz", &part, NULL))
        return;
    struct dg_buf *const all[] = {&html, &copy, &out};
    for (size_t i = 0; i < 3; i++)
        dg_buf_init(all[i], TEXT_MAX);
    if (!dg_office_part_text(part, &html) && !dg_buf_append_span(&copy, dg_buf_span(&html))) {
        change(&copy);
        struct dg_span source = dg_buf_span(&html), target = dg_buf_span(&copy);
        if (dg_office_part_write(part, &source, &target, &out, NULL))
            abort();
    }
    for (size_t i = 0; i < 3; i++)
        dg_buf_deinit(all[i]);
    dg_office_part_free(part);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const struct dg_span whole = dg_span_make((const char *)bytes, len);
    struct dg_office *office;
    struct dg_buf html, out;
    read_part(whole, false);
    read_part(whole, true);
    if (dg_office_new(whole, "fuzz.docx", TEXT_MAX, &office, NULL))
        return 0;
    dg_buf_init(&html, TEXT_MAX);
    dg_buf_init(&out, TEXT_MAX);
    const enum dg_err err = dg_office_text(office, &html, NULL);
    const struct dg_span text = dg_buf_span(&html);
    if (!err && (dg_office_write(office, text, text, DG_SPAN("de"), append, &out, NULL) ||
                 !dg_span_eq(dg_buf_span(&out), whole)))
        abort();
    dg_buf_deinit(&html);
    dg_buf_deinit(&out);
    dg_office_free(office);
    return 0;
}
