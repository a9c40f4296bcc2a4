/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as config.json, as generation_config.json and as tokenizer_config.json: what is
 * accepted is a blueprint that passes its check, and prints as a config.json that gives it again.
 */
#include "model/config.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check(const struct dg_blueprint *bp)
{
    struct dg_blueprint again;
    struct dg_buf text, text_again;
    dg_buf_init(&text, 1 << 16);
    dg_buf_init(&text_again, 1 << 16);
    if (dg_blueprint_check(bp, NULL) || dg_config_print(bp, &text) ||
        dg_config_parse(&again, dg_buf_span(&text), DG_SPAN(""), DG_SPAN(""), "again", NULL) ||
        dg_config_print(&again, &text_again) || strcmp(text.ptr, text_again.ptr) != 0)
        abort();
    dg_buf_deinit(&text);
    dg_buf_deinit(&text_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const char whole[] =
        "{\"model_type\":\"m2m_100\",\"activation_function\":\"relu\",\"d_model\":8,\"encoder_"
        "layers\":1,"
        "\"decoder_layers\":1,\"encoder_attention_heads\":2,\"decoder_attention_heads\":2,"
        "\"encoder_ffn_dim\":8,\"decoder_ffn_dim\":8,\"vocab_size\":9,\"eos_token_id\":2,"
        "\"decoder_start_token_id\":2}";
    struct dg_span text = dg_span_make((const char *)bytes, len), good = dg_span_cstr(whole);
    struct dg_blueprint bp;
    if (!dg_config_parse(&bp, text, DG_SPAN(""), DG_SPAN(""), "fuzz", NULL))
        check(&bp);
    if (!dg_config_parse(&bp, good, text, DG_SPAN(""), "fuzz", NULL))
        check(&bp);
    if (!dg_config_parse(&bp, good, DG_SPAN(""), text, "fuzz", NULL))
        check(&bp);
    return 0;
}
