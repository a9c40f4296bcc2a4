/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as the body of POST /v1/translate: what is accepted is within its ranges, what is
 * refused is refused with a 4xx, a code and a sentence. */
#include "api/v1/translate_options.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct dg_arena arena;
    struct dg_json *json;
    struct dg_failure failure = {.status = 0};
    struct dg_translate_options ask;
    const struct dg_translate_options_limits limits = {.texts = 10};
    dg_arena_init(&arena, 64 << 20);
    enum dg_err err = dg_translate_options_parse(dg_span_make((const char *)bytes, len), 1000,
                                                 &arena, &failure, &json);
    if (!err) {
        err = dg_translate_options_read(json, &arena, &limits, &failure, &ask);
        dg_json_free(json);
    }
    if (err) {
        require(failure.status >= 400 && failure.status < 500 && failure.code && *failure.message);
    } else {
        require(ask.n_texts >= 1 && ask.n_texts <= 10);
        require(ask.request.search.beam >= 1 && ask.request.search.beam <= DG_BEAM_MAX);
        require(ask.alternatives >= 0 && ask.alternatives < DG_BEAM_MAX);
        require(ask.request.model || ask.request.target);
    }
    dg_arena_deinit(&arena);
    return 0;
}
