/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The headers and footers of a spreadsheet's sheets: text with codes in it. */
#include "base/memory/utf8.h"
#include "office/part_reader.h"

#include <string.h>

/* The bytes of a code after its "&amp;": &L, &P+1, &"Arial,Bold", &12, &KFF0000, &&. */
static size_t code_len(struct dg_span text)
{
    static const struct dg_span quote = {"&quot;", 6}, amp = {"&amp;", 5};
    size_t n = 0, cp_len;
    uint32_t cp;
    if (dg_span_starts(text, amp))
        return amp.len;
    if (dg_span_starts(text, quote) || dg_span_starts(text, DG_SPAN("\""))) {
        const struct dg_span end = dg_span_sub(text, 0, text.ptr[0] == '"' ? 1 : quote.len);
        for (n = end.len; n < text.len; n++)
            if (dg_span_starts(dg_span_sub(text, n, text.len), end))
                return n + end.len;
        return text.len;
    }
    while (n < text.len && text.ptr[n] >= '0' && text.ptr[n] <= '9')
        n++;
    if (n > 0 || text.len == 0)
        return n;
    cp_len = dg_utf8_decode(text, 0, &cp);
    if (text.ptr[0] == 'K') /* a colour: six figures, or 01+000 */
        return text.len < 7 ? text.len : 7;
    n = cp_len ? cp_len : 1;
    if (text.ptr[0] == 'P' && text.len > 2 && strchr("+-", text.ptr[1]))
        for (n = 2; n < text.len && text.ptr[n] >= '0' && text.ptr[n] <= '9';)
            n++;
    return n;
}

/* Adds the text between codes; the codes are marks, and those for left, centre and right divide the
 * text. */
static void cut_margin(struct dg_part_reader *r, const struct dg_part_place *place,
                       const struct dg_markup_token *token)
{
    static const struct dg_span amp = {"&amp;", 5};
    const size_t end = token->at + token->len;
    size_t from = token->at;
    for (size_t at = from; at < end && !r->err;) {
        const struct dg_span rest = dg_span_sub(r->part->bytes, at, end - at);
        if (!dg_span_starts(rest, amp)) {
            at++;
            continue;
        }
        if (at > from)
            dg_part_add_atom(r, place, DG_ATOM_TEXT, from, at - from);
        const struct dg_span code = dg_span_sub(rest, amp.len, rest.len);
        const bool divides = code.len > 0 && strchr("LCR", code.ptr[0]);
        const size_t len = amp.len + code_len(code);
        dg_part_add_atom(r, place, divides ? DG_ATOM_BREAK : DG_ATOM_POINT, at, len);
        from = at += len;
    }
    if (from < end)
        dg_part_add_atom(r, place, DG_ATOM_TEXT, from, end - from);
}

/* <oddHeader>&amp;LPrices&amp;CPage &amp;P of &amp;N</oddHeader> */
void dg_part_read_margin(struct dg_part_reader *r, const struct dg_markup_token *start)
{
    struct dg_part_paragraph paragraph;
    const struct dg_part_place place = {.paragraph = &paragraph};
    struct dg_markup_token token = *start;
    if (start->type == DG_MARKUP_EMPTY)
        return;
    dg_part_begin_block(r, &paragraph, DG_BLOCK_MARGIN, start->at + start->len);
    while (dg_part_next_child(r, start, &token)) {
        if (token.type == DG_MARKUP_TEXT)
            cut_margin(r, &place, &token);
        else if (token.type == DG_MARKUP_OTHER)
            dg_part_add_atom(r, &place, DG_ATOM_POINT, token.at, token.len);
        else
            dg_part_skip(r, &token);
    }
    dg_part_end_block(r, &paragraph, r->end_at);
}
