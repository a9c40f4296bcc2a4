/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The two simple segmentations. WORD: the text is cut before every space mark (also where the model
 * puts spaces after words: so does the original) and each word is looked up whole. CHAR: one piece
 * per character, except that the longest user-defined piece is taken first. */
#include "tokenize/spm/spm_int.h"
#include "tokenize/spm/utf8_char.h"

static uint32_t look_up(const struct dg_spm *spm, const uint8_t *text, uint32_t begin, uint32_t end)
{
    return dg_spm_find(spm, dg_span_make((const char *)text + begin, end - begin));
}

static bool is_space_mark(const uint8_t *text, uint32_t at, uint32_t char_len)
{
    return char_len == 3 && memcmp(text + at, DG_UTF8_CHAR_SPACE, 3) == 0;
}

enum dg_err dg_spm_word(const struct dg_spm *spm, struct dg_spm_work *work)
{
    const uint8_t *text = work->normal.bytes;
    uint32_t len = (uint32_t)work->normal.len;
    uint32_t begin = 0, char_len;
    for (uint32_t at = 0; at < len; at += char_len) {
        char_len = (uint32_t)dg_utf8_char_lead_len(text[at]);
        if (char_len > len - at)
            char_len = len - at;
        if (at == begin || !is_space_mark(text, at, char_len))
            continue;
        enum dg_err err = dg_spm_work_segment(work, begin, at, look_up(spm, text, begin, at));
        if (err)
            return err;
        begin = at;
    }
    return dg_spm_work_segment(work, begin, len, look_up(spm, text, begin, len));
}

enum dg_err dg_spm_char(const struct dg_spm *spm, struct dg_spm_work *work)
{
    const uint8_t *text = work->normal.bytes;
    uint32_t len = (uint32_t)work->normal.len;
    uint32_t step;
    for (uint32_t at = 0; at < len; at += step) {
        step = 0;
        if (spm->user.nodes)
            step = (uint32_t)dg_piece_trie_longest(&spm->user, &spm->pieces, text + at, text + len);
        if (step == 0)
            step = (uint32_t)dg_utf8_char_lead_len(text[at]);
        if (step > len - at)
            step = len - at;
        enum dg_err err =
            dg_spm_work_segment(work, at, at + step, look_up(spm, text, at, at + step));
        if (err)
            return err;
    }
    return DG_OK;
}
