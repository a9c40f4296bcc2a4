/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any text, encoded by small models of all four kinds; and any ids, as a broken network might
 * choose them, decoded. The first byte picks the model, the rest is the text and the ids. */
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "tokenize/spm/spm_decode.h"
#include "tokenize/spm/spm_encode.h"

#include "spm_maker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void make(struct maker *maker, unsigned settings)
{
    static const char space_ab[] = "\xE2\x96\x81"
                                   "ab";
    const char *const pieces[] = {"\xE2\x96\x81", "a",  "b",           "ab",
                                  space_ab,       "aa", "aaa",         "baa",
                                  "\xC3\xA9",     "e",  "er",          "\xE2\x96\x81the",
                                  "the",          "th", "\xED\x95\x9C"};
    maker_init(maker);
    for (unsigned i = 0; i < sizeof pieces / sizeof *pieces; i++)
        maker_piece(maker, pieces[i], -(float)(i * 7 % 11),
                    i == 6 ? DG_PIECE_UNUSED : DG_PIECE_NORMAL);
    maker_piece(maker, "<x>", 0, DG_PIECE_USER_DEFINED);
    if (settings & 4)
        maker_bytes(maker);
    if (settings & 8)
        maker_charsmap(&maker->normaliser, 'q', " b ");
    if (settings & 16)
        maker_charsmap(&maker->denormaliser, 'a', "A ");
    put_varint_field(&maker->trainer, 3, 1 + (settings & 3));
    put_varint_field(&maker->trainer, 24, settings >> 5 & 1);
    put_varint_field(&maker->normaliser, 3, settings >> 6 & 1);
    put_varint_field(&maker->normaliser, 4, settings >> 7 & 1);
}

/* Tokens cover the text from left to right; segments cover the normalised text without a gap. */
static void encode(const struct dg_spm *spm, struct dg_span text)
{
    struct dg_spm_work *work = dg_spm_work_new();
    size_t n;
    uint32_t at = 0, piece_at = 0;
    check(dg_spm_encode(spm, work, text) == DG_OK);
    const struct dg_spm_token *tokens = dg_spm_tokens(work, &n);
    for (size_t i = 0; i < n; i++) {
        check(tokens[i].begin >= at && tokens[i].end >= tokens[i].begin &&
              tokens[i].end <= text.len);
        check(tokens[i].piece_begin == piece_at && tokens[i].piece_end > piece_at);
        at = tokens[i].begin;
        piece_at = tokens[i].piece_end;
    }
    dg_spm_work_free(work);
}

static void decode(const struct dg_spm *spm, const uint8_t *data, size_t size)
{
    struct dg_spm_stream stream;
    struct dg_span delta;
    struct dg_buf whole, joined;
    uint32_t ids[512];
    size_t n = size < 512 ? size : 512;
    for (size_t i = 0; i < n; i++)
        ids[i] = data[i] * 2u % dg_spm_size(spm);
    dg_buf_init(&whole, 1 << 20);
    dg_buf_init(&joined, 1 << 20);
    dg_spm_stream_init(&stream, spm, 1 << 20);
    check(dg_spm_decode(spm, ids, n, &whole) == DG_OK);
    for (size_t i = 0; i <= n; i++) {
        check((i < n ? dg_spm_stream_push(&stream, ids[i], &delta)
                     : dg_spm_stream_finish(&stream, &delta)) == DG_OK);
        check(dg_utf8_valid(delta, NULL));
        check(dg_buf_append_span(&joined, delta) == DG_OK);
    }
    check(dg_span_eq(dg_buf_span(&whole), dg_buf_span(&joined)));
    dg_spm_stream_deinit(&stream);
    dg_buf_deinit(&joined);
    dg_buf_deinit(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct maker maker;
    if (size == 0)
        return 0;
    make(&maker, data[0]);
    struct dg_spm *spm = maker_open(&maker);
    encode(spm, dg_span_make((const char *)data + 1, size - 1));
    decode(spm, data + 1, size - 1);
    dg_spm_close(spm);
    maker_deinit(&maker);
    return 0;
}
