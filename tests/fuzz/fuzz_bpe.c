/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A tokenizer.json, and behind a byte of zeros a text for it: whatever opens must encode the text, with places within it,
 * and say every token. */
#include "text/bpe.h"

#include <stdlib.h>
#include <string.h>

static void check(bool is_so)
{
    if (!is_so)
        abort();
}

static void use(const struct dg_bpe *bpe, struct dg_span text, unsigned how)
{
    struct dg_bpe_work *work = dg_bpe_work_new();
    const struct dg_bpe_token *tokens;
    struct dg_bpe_stream stream;
    struct dg_span delta;
    size_t n;
    dg_bpe_stream_init(&stream, bpe, 1 << 16);
    if (dg_bpe_encode(bpe, work, text, how, NULL, &tokens, &n) == DG_OK)
        for (size_t i = 0; i < n; i++) {
            check(tokens[i].id >= 0 && (uint32_t)tokens[i].id < dg_bpe_size(bpe));
            check(tokens[i].begin <= tokens[i].end && tokens[i].end <= text.len);
            check(dg_bpe_stream_push(&stream, tokens[i].id, &delta) == DG_OK);
        }
    check(dg_bpe_stream_finish(&stream, &delta) == DG_OK);
    dg_bpe_stream_deinit(&stream);
    dg_bpe_work_free(work);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    const size_t len = zero ? (size_t)(zero - data) : size;
    const struct dg_span json = {.ptr = (const char *)data, .len = len};
    const struct dg_span text = zero ? (struct dg_span){.ptr = (const char *)zero + 1, .len = size - len - 1}
                                     : (struct dg_span){.ptr = "a b 12\n", .len = 7};
    struct dg_bpe *bpe = NULL;
    struct dg_why why = DG_WHY_NONE;
    const struct dg_span merges = {.ptr = "a b\n", .len = 4};
    if (dg_bpe_parse(&bpe, json, (struct dg_span){.ptr = "", .len = 0}, &why) == DG_OK) {
        use(bpe, text, 0);
        use(bpe, text, DG_BPE_TEMPLATE | DG_BPE_SPECIAL);
        check(dg_bpe_memory(bpe) > 0);
        dg_bpe_close(bpe);
    } else {
        check(why.text[0] != '\0');
    }
    if (dg_bpe_parse(&bpe, json, merges, NULL) == DG_OK) {
        use(bpe, text, 0);
        dg_bpe_close(bpe);
    }
    return 0;
}
