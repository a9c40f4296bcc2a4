/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any text as a document of each format. Its items tile the original; copied part by part, however
 * it is cut, it comes back byte for byte; woven with any words, it holds each piece of markup as
 * often as before. */
#include "base/memory/utf8.h"
#include "markup/po_check.h"
#include "markup/tag_placement.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_items(const struct dg_doc *doc)
{
    size_t n, at = 0, plain_at = 0;
    const struct dg_doc_item *items = dg_doc_items(doc, &n);
    for (size_t i = 0; i < n; i++) {
        require(items[i].at == at && items[i].plain_at == plain_at);
        at += items[i].len;
        plain_at += items[i].plain_len;
        if (items[i].kind == DG_DOC_OPEN || items[i].kind == DG_DOC_CLOSE)
            require(items[i].partner < n && items[items[i].partner].partner == i);
    }
    require(at == dg_doc_original(doc).len && plain_at == dg_doc_plain(doc).len);
}

/* The output holds all markup of the document, so it has at least as many bytes. */
static void check_markup(const struct dg_doc *doc, struct dg_span out)
{
    size_t n, total = 0;
    const struct dg_doc_item *items = dg_doc_items(doc, &n);
    for (size_t i = 0; i < n; i++)
        total += items[i].kind >= DG_DOC_BORDER ? items[i].len : 0;
    require(out.len >= total);
}

static void retell(const struct dg_doc *doc, size_t seed, bool is_copy)
{
    struct dg_buf out;
    struct dg_span plain = dg_doc_plain(doc);
    struct dg_doc_cursor cursor = {0};
    dg_buf_init(&out, 64 << 20);
    for (size_t at = 0, k = 0; at < plain.len; k++) {
        bool is_line = plain.ptr[at] != '\n';
        size_t part_len = 1, most = is_line ? 1 + (seed + k * 7) % 23 : 1;
        while (is_line && at + part_len < plain.len && plain.ptr[at + part_len] != '\n' &&
               (part_len < most || ((unsigned char)plain.ptr[at + part_len] & 0xC0) == 0x80))
            part_len++;
        struct dg_doc_part part = dg_doc_next(doc, &cursor, at, part_len, is_line && !is_copy);
        struct dg_token tokens[2] = {
            {.begin = (uint32_t)at, .end = (uint32_t)(at + part_len / 2)},
            {.begin = (uint32_t)(at + part_len / 2), .end = (uint32_t)(at + part_len)}};
        const bool is_repeated = (seed + k) % 2; /* words that markup divides are found again */
        const size_t ends[2] = {is_repeated ? part_len / 2 : 3, is_repeated ? part_len : 7};
        const float alignment[4] = {0.1f, 0.9f, 0.8f, 0.2f};
        const struct dg_tag_placement_source source = {tokens, 2};
        const struct dg_tag_placement_target said = {
            .text = is_repeated ? dg_span_sub(plain, at, part_len) : DG_SPAN("one two"),
            .ends = ends,
            .n = 2,
            .alignment = (seed + k) % 3 ? alignment : NULL};
        enum dg_err err = is_line && !is_copy ? dg_tag_placement(doc, &part, &source, &said, &out)
                                              : dg_doc_copy(doc, &part, false, &out);
        require(!err);
        at += part_len;
    }
    require(dg_doc_rest(doc, &cursor, &out) == DG_OK);
    if (is_copy)
        require(dg_span_eq(dg_buf_span(&out), dg_doc_original(doc)));
    else
        check_markup(doc, dg_buf_span(&out));
    dg_buf_deinit(&out);
}

/* Checks a file with its translations: no byte of it is lost, and a second look finds nothing
 * new. */
static void check_po(struct dg_span text)
{
    struct dg_buf once, twice;
    size_t n_bad, n_again;
    dg_buf_init(&once, 64 << 20);
    dg_buf_init(&twice, 64 << 20);
    if (dg_po_check(text, text, true, &once, &n_bad, NULL) == DG_OK) {
        require(once.len >= text.len);
        require(dg_po_check(text, dg_buf_span(&once), true, &twice, &n_again, NULL) == DG_OK);
        require(n_again <= n_bad && twice.len >= once.len);
    }
    dg_buf_deinit(&once);
    dg_buf_deinit(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const struct dg_doc_opts opts = {.ignore_tags = DG_SPAN("x i"), .splitting_tags = DG_SPAN("s")};
    struct dg_span text = dg_span_make((const char *)bytes, len);
    if (!dg_utf8_valid(text, NULL))
        return 0;
    check_po(text);
    for (enum dg_doc_format format = DG_DOC_TEXT; format < DG_DOC_FORMATS; format++) {
        struct dg_doc *doc = NULL;
        if (dg_doc_new(text, format, &opts, &doc, NULL))
            continue;
        check_items(doc);
        retell(doc, len, true);
        retell(doc, len, false);
        dg_doc_free(doc);
    }
    return 0;
}
