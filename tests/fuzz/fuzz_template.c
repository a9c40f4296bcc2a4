/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Four texts, each ended by a zero byte: two options of a model that is asked to translate, a text,
 * and the model's answer. The prompt contains the text unchanged, where the template says; the part
 * of an answer that is the translation only grows, and does not depend on the pieces in which the
 * answer came.
 */
#include "engine/models/translation_prompt.h"

#include <stdlib.h>
#include <string.h>

enum { LEN_MAX = 8192, PROMPT_MAX = 1 << 22 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void try_prompt(const struct dg_translation_prompt *template, struct dg_span text)
{
    const struct dg_lang french = {.name = "French", .code = "fr"},
                         unnamed = {.name = "", .code = "tlh"};
    const struct dg_lang_pair pair = {.source = &french, .target = &unnamed};
    struct dg_buf prompt;
    size_t at = SIZE_MAX;
    dg_buf_init(&prompt, PROMPT_MAX);
    require(dg_translation_prompt_fill(template, &pair, text, &prompt, &at) == DG_OK);
    require(at <= prompt.len && text.len <= prompt.len - at);
    require(dg_span_eq(dg_span_sub(dg_buf_span(&prompt), at, text.len), text));
    dg_buf_deinit(&prompt);
}

static void try_answer(const struct dg_translation_prompt *template, struct dg_span said)
{
    size_t whole_from = 0, whole_upto = 0, from = 0, upto = 0;
    dg_translation_prompt_hear(template, said, true, &whole_from, &whole_upto);
    require(whole_from <= whole_upto && whole_upto <= said.len);
    for (size_t n = 0; n <= said.len; n++) {
        const size_t from_before = from, upto_before = upto;
        dg_translation_prompt_hear(template, dg_span_sub(said, 0, n), n == said.len, &from, &upto);
        require(from >= from_before && upto >= upto_before && from <= upto && upto <= n);
        /* what was reported is not changed */
        require(upto_before == from_before || from == from_before);
    }
    require(dg_span_eq(dg_span_sub(said, from, upto - from),
                       dg_span_sub(said, whole_from, whole_upto - whole_from)));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char memory[LEN_MAX + 1];
    const char *texts[4];
    size_t at = 0;
    if (len > LEN_MAX)
        return 0;
    if (len)
        memcpy(memory, bytes, len);
    memory[len] = '\0';
    for (size_t i = 0; i < 4; i++) {
        texts[i] = memory + at;
        at += strlen(memory + at);
        at += at < len;
    }
    const struct dg_translation_prompt_opts opts = {.prompt = texts[0], .stop = texts[1]};
    struct dg_translation_prompt *template = NULL;
    struct dg_error error = DG_ERROR_NONE;
    const enum dg_err err = dg_translation_prompt_new(&template, &opts, &error);
    if (err) {
        require(error.text[0] != '\0' && !template);
        return 0;
    }
    try_prompt(template, dg_span_cstr(texts[2]));
    try_answer(template, dg_span_cstr(texts[3]));
    dg_translation_prompt_free(template);
    return 0;
}
