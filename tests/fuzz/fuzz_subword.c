/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A tokenizer.json, vocab.json, vocab.txt or tokenizer_config.json, then a zero byte and a text for
 * it: a tokenizer that opens must encode the text, whole and as two halves that are joined, with
 * places within it, and name every token. */
#include "tokenize/hf/subword.h"

#include <stdlib.h>
#include <string.h>

static void check(bool is_so)
{
    if (!is_so)
        abort();
}

static void use(const struct dg_subword *subword, struct dg_span text, unsigned how)
{
    struct dg_subword_work *work = dg_subword_work_new();
    const struct dg_subword_token *tokens;
    struct dg_subword_stream stream;
    struct dg_span delta;
    size_t n;
    dg_subword_stream_init(&stream, subword, 1 << 16);
    if (dg_subword_encode(subword, work, text, how, NULL, &tokens, &n) == DG_OK)
        for (size_t i = 0; i < n; i++) {
            check(tokens[i].id >= 0 && (uint32_t)tokens[i].id < dg_subword_size(subword));
            check(tokens[i].begin <= tokens[i].end && tokens[i].end <= text.len);
            check(dg_subword_stream_push(&stream, tokens[i].id, &delta) == DG_OK);
        }
    check(dg_subword_stream_finish(&stream, &delta) == DG_OK);
    dg_subword_stream_deinit(&stream);
    dg_subword_work_free(work);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_two(const struct dg_subword *subword, struct dg_span text)
{
    struct dg_subword_work *work = dg_subword_work_new();
    struct dg_subword_join join = {.is_pair = true, .max = 24, .give = DG_SUBWORD_GIVE_SECOND};
    struct dg_subword_joined joined = {.n_left = 0};
    const struct dg_span first = dg_span_sub(text, 0, text.len / 2),
                         second = dg_span_sub(text, text.len / 2, text.len);
    if (dg_subword_read(subword, work, 0, first, DG_SUBWORD_MASKS, NULL) == DG_OK &&
        dg_subword_read(subword, work, 1, second, DG_SUBWORD_MASKS, NULL) == DG_OK)
        for (int round = 0;
             round < 8 && dg_subword_join(subword, work, &join, NULL, &joined) == DG_OK; round++) {
            check(joined.n <= join.max);
            for (size_t i = 0; i < joined.n; i++) {
                const struct dg_subword_token *token = &joined.tokens[i];
                check(token->id >= 0 && (uint32_t)token->id < dg_subword_size(subword));
                check(token->text == DG_SUBWORD_FRAME ||
                      (token->begin <= token->end &&
                       token->end <= (token->text ? second : first).len));
            }
            join.skip += joined.n_last;
        }
    dg_subword_work_free(work);
}

static void try(const struct dg_subword_files *files, struct dg_span text)
{
    struct dg_subword *subword = NULL;
    struct dg_error error = DG_ERROR_NONE;
    if (dg_subword_parse(&subword, files, &error) != DG_OK) {
        check(error.text[0] != '\0');
        return;
    }
    use(subword, text, 0);
    use(subword, text, DG_SUBWORD_TEMPLATE | DG_SUBWORD_SPECIAL);
    use_two(subword, text);
    check(dg_subword_memory(subword) > 0);
    dg_subword_close(subword);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    const size_t len = zero ? (size_t)(zero - data) : size;
    const struct dg_span head = {.ptr = (const char *)data, .len = len};
    const struct dg_span text =
        zero ? (struct dg_span){.ptr = (const char *)zero + 1, .len = size - len - 1}
             : (struct dg_span){.ptr = "a b 12\n", .len = 7};
    try(&(struct dg_subword_files){.json = head}, text);
    try(&(struct dg_subword_files){.json = head, .merges = DG_SPAN("a b\n")}, text);
    try(&(struct dg_subword_files){.lines = head}, text);
    if (len)
        try(&(struct dg_subword_files){.lines = DG_SPAN("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n##b\n"),
                                       .config = head},
            text);
    return 0;
}
