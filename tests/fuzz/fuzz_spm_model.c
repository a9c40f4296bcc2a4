/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A SentencePiece model file as an attacker may write it. It is refused with a sentence, or it
 * works: texts are encoded, tokens cover every byte of them in order, and the ids are decoded,
 * whole and as a stream, to the same text. */
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "tokenize/spm/spm_decode.h"
#include "tokenize/spm/spm_encode.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void decode_both_ways(const struct dg_spm *spm, const uint32_t *ids, size_t n)
{
    struct dg_spm_stream stream;
    struct dg_span delta;
    struct dg_buf whole, joined;
    dg_buf_init(&whole, 1 << 22);
    dg_buf_init(&joined, 1 << 22);
    dg_spm_stream_init(&stream, spm, 1 << 22);
    enum dg_err err = dg_spm_decode(spm, ids, n, &whole);
    for (size_t i = 0; i <= n && !err; i++) {
        err = i < n ? dg_spm_stream_push(&stream, ids[i], &delta)
                    : dg_spm_stream_finish(&stream, &delta);
        check(err || dg_utf8_valid(delta, NULL));
        if (!err)
            err = dg_buf_append_span(&joined, delta);
    }
    check(err == DG_OK || err == DG_ERR_LIMIT);
    check(err || dg_span_eq(dg_buf_span(&whole), dg_buf_span(&joined)));
    dg_spm_stream_deinit(&stream);
    dg_buf_deinit(&joined);
    dg_buf_deinit(&whole);
}

static void use(const struct dg_spm *spm, struct dg_spm_work *work, struct dg_span text)
{
    uint32_t ids[256];
    size_t n, at = 0;
    check(dg_spm_encode(spm, work, text) == DG_OK);
    const struct dg_spm_token *tokens = dg_spm_tokens(work, &n);
    for (size_t i = 0; i < n; i++) {
        check(tokens[i].id < dg_spm_size(spm));
        check(tokens[i].begin >= at && tokens[i].begin <= tokens[i].end &&
              tokens[i].end <= text.len);
        check(dg_spm_token_piece(spm, work, &tokens[i]).len > 0);
        at = tokens[i].begin;
        if (i < 256)
            ids[i] = tokens[i].id;
    }
    decode_both_ways(spm, ids, n < 256 ? n : 256);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_spm *spm = NULL;
    if (dg_spm_new(data, size, &error, &spm) != DG_OK) {
        check(error.text[0] != '\0');
        return 0;
    }
    struct dg_spm_work *work = dg_spm_work_new();
    use(spm, work,
        DG_SPAN(" Hello,\tworld!  e\xCC\x81\xEF\xBC\xA1\xE2\x80\xA6 aaab\0\xFF\xE2\x96\x81 "));
    use(spm, work, dg_span_make((const char *)data, size < 200 ? size : 200));
    uint32_t ids[300];
    for (size_t i = 0; i < 300; i++)
        ids[i] = (uint32_t)(i * 7) % dg_spm_size(spm);
    decode_both_ways(spm, ids, 300);
    dg_spm_work_free(work);
    dg_spm_close(spm);
    return 0;
}
