/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One function per type reads its configuration, one line for each field of the blueprint; the
 * fields that all language models share are completed at the end. Our own type reads what
 * dg_config_lm_print prints. */
#include "model/config_lm.h"
#include "base/json/json_out.h"
#include "model/config_fields.h"
#include "tokenize/prompt_template.h"

#include <string.h>

enum { IDS_MAX = 1 << 24 };

/* ---- All ------------------------------------------------------------------------------------- */

/* Completes the fields that follow from others. */
static void complete(struct dg_blueprint *bp)
{
    bp->family = DG_FAMILY_LM;
    bp->decoder_kind = DG_DECODER_ATTENTION;
    bp->norm_place = DG_NORM_PRE;
    bp->final_norm = true;
    bp->embedding_scale = 1;
    bp->output_bias = false;
    bp->start = DG_START_PROMPT;
    bp->n_beams = 1;
    bp->encoder = bp->decoder;
    bp->encoder.n_layers = 0;
    bp->source_len_max = bp->target_len_max = bp->lm.context;
}

void dg_config_lm_clamp(struct dg_blueprint *bp)
{
    if (bp->source_len_max > bp->lm.context)
        bp->source_len_max = bp->lm.context;
    if (bp->target_len_max > bp->lm.context)
        bp->target_len_max = bp->lm.context;
}

enum dg_err dg_config_lm_read_stops(struct dg_blueprint *bp, const struct dg_json *config,
                                    struct dg_error *error)
{
    const struct dg_json *list = dg_json_get(config, "eos_token_id");
    if (!list || dg_json_type(list) != DG_JSON_ARRAY)
        return DG_OK;
    if (dg_json_len(list) > DG_LM_STOP_MAX + 1)
        return dg_error_set(error, DG_ERR_LIMIT,
                            "field 'eos_token_id' has %zu ids, expected at most %d",
                            dg_json_len(list), DG_LM_STOP_MAX + 1);
    bp->lm.n_stop = 0;
    for (size_t i = 1; i < dg_json_len(list); i++) {
        int64_t id;
        enum dg_err err = dg_json_at_int(list, "eos_token_id", i, 0, IDS_MAX, error, &id);
        if (err)
            return err;
        bp->lm.stop[bp->lm.n_stop++] = (int32_t)id;
    }
    return DG_OK;
}

/* ---- GPT-2 ----------------------------------------------------------------------------------- */

static void read_gpt2(struct dg_config_fields *r, struct dg_blueprint *bp)
{
    bp->D = dg_config_need(r, "n_embd");
    bp->decoder.n_layers = dg_config_need(r, "n_layer");
    bp->decoder.H = dg_config_need(r, "n_head");
    bp->decoder.V = dg_config_need(r, "vocab_size");
    bp->lm.context = bp->n_positions = dg_config_need(r, "n_positions");
    bp->decoder.F = dg_config_size(r, "n_inner", 4 * bp->D);
    bp->activation = dg_config_activation(r, "activation_function", DG_ACT_GELU_TANH);
    bp->norm_epsilon = (float)dg_config_real(r, "layer_norm_epsilon", 1e-5);
    bp->tie_output = dg_config_flag(r, "tie_word_embeddings", true);
    bp->positions = DG_POS_LEARNED;
    bp->norm_kind = DG_NORM_LAYER;
    dg_config_must(r, "scale_attn_weights", true, true);
    dg_config_must(r, "scale_attn_by_inverse_layer_idx", false, false);
    dg_config_must(r, "add_cross_attention", false, false);
    bp->lm.qkv_bias = bp->lm.o_bias = bp->lm.ffn_bias = true;
    bp->lm.kv_heads = bp->decoder.H;
    if (!r->err && (bp->decoder.H == 0 || bp->D % bp->decoder.H))
        r->err = dg_error_set(r->error, DG_ERR_INVALID,
                              "field 'n_head' is %zu, which does not divide n_embd %zu",
                              bp->decoder.H, bp->D);
    else if (!r->err)
        bp->lm.head = bp->D / bp->decoder.H;
}

/* ---- Llama and its relatives ----------------------------------------------------------------- */

static const char *const scaling_names[] = {"default", "linear", "llama3", NULL};

/* Reads rope_scaling, or the rope_parameters of newer files, which also have the angle's base. */
static void read_rope(struct dg_config_fields *r, struct dg_blueprint *bp)
{
    struct dg_rope *rope = &bp->lm.rope;
    const struct dg_json *newer = NULL, *scaling = NULL;
    if (!r->err)
        r->err =
            dg_json_get_object(r->object, "rope_parameters", DG_JSON_OPTIONAL, r->error, &newer);
    if (!r->err)
        r->err =
            dg_json_get_object(r->object, "rope_scaling", DG_JSON_OPTIONAL, r->error, &scaling);
    rope->theta = dg_config_real(r, "rope_theta", 10000);
    struct dg_config_fields inner = {newer ? newer : scaling, r->error, r->err};
    if (!inner.object)
        return;
    if (newer)
        rope->theta = dg_config_real(&inner, "rope_theta", rope->theta);
    const char *name = dg_json_get(inner.object, "rope_type") ? "rope_type" : "type";
    rope->scaling = (enum dg_rope_scaling)dg_config_choice(&inner, name, scaling_names, 0);
    rope->factor = dg_config_real(&inner, "factor", 1);
    rope->low = dg_config_real(&inner, "low_freq_factor", 1);
    rope->high = dg_config_real(&inner, "high_freq_factor", 4);
    rope->original = dg_config_size(&inner, "original_max_position_embeddings", bp->lm.context);
    r->err = inner.err;
}

/* Limits the context to the window. Inside a window every token attends to all earlier tokens, as
 * in our networks; beyond it, they do not. */
static void limit_to_window(struct dg_config_fields *r, struct dg_blueprint *bp)
{
    const size_t window = dg_config_size(r, "sliding_window", 0);
    if (window && window < bp->lm.context)
        bp->lm.context = window;
}

static void read_llama(struct dg_config_fields *r, struct dg_blueprint *bp, enum dg_config_lm type)
{
    bp->D = dg_config_need(r, "hidden_size");
    bp->decoder.n_layers = dg_config_need(r, "num_hidden_layers");
    bp->decoder.H = dg_config_need(r, "num_attention_heads");
    bp->decoder.F = dg_config_need(r, "intermediate_size");
    bp->decoder.V = dg_config_need(r, "vocab_size");
    bp->lm.context = dg_config_need(r, "max_position_embeddings");
    bp->lm.kv_heads = dg_config_size(r, "num_key_value_heads", bp->decoder.H);
    bp->lm.head = dg_config_size(r, "head_dim", bp->decoder.H ? bp->D / bp->decoder.H : 0);
    bp->lm.gated = true;
    bp->activation = dg_config_activation(r, "hidden_act", DG_ACT_SILU);
    bp->norm_kind = DG_NORM_RMS;
    bp->norm_epsilon = (float)dg_config_real(r, "rms_norm_eps", 1e-6);
    bp->tie_output = dg_config_flag(r, "tie_word_embeddings", false);
    bp->positions = DG_POS_ROTARY;
    if (type == DG_CONFIG_LM_LLAMA) {
        bp->lm.qkv_bias = bp->lm.o_bias = dg_config_flag(r, "attention_bias", false);
        bp->lm.ffn_bias = dg_config_flag(r, "mlp_bias", false);
    } else {
        bp->lm.qkv_bias = type == DG_CONFIG_LM_QWEN2;
    }
    read_rope(r, bp);
    if (type == DG_CONFIG_LM_MISTRAL ||
        (type == DG_CONFIG_LM_QWEN2 && dg_config_flag(r, "use_sliding_window", false)))
        limit_to_window(r, bp);
}

/* Reads how the model is asked for a translation. The stop texts and languages are checked where
 * they are used. */
static void read_ask(struct dg_config_fields *r, struct dg_blueprint *bp)
{
    struct dg_lm_ask *ask = &bp->lm.ask;
    const struct {
        const char *name;
        char *to;
        size_t max;
    } rows[] = {{"template", ask->form, DG_LM_FORM_TEXT},
                {"template_stop", ask->stop, DG_LM_STOPS_TEXT},
                {"source_languages", ask->source, DG_LM_LANGS_TEXT},
                {"target_languages", ask->target, DG_LM_LANGS_TEXT}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !r->err; i++) {
        struct dg_span text = DG_SPAN("");
        r->err = dg_json_get_string(r->object, rows[i].name, DG_JSON_OPTIONAL, r->error, &text);
        if (!r->err && (text.len > rows[i].max || (text.len && memchr(text.ptr, 0, text.len))))
            r->err =
                dg_error_set(r->error, DG_ERR_LIMIT,
                             "field '%s' has %zu bytes, expected at most %zu, none of them zero",
                             rows[i].name, text.len, rows[i].max);
        if (!r->err && text.len)
            memcpy(rows[i].to, text.ptr, text.len);
        if (!r->err)
            rows[i].to[text.len] = '\0';
    }
    if (!r->err && *ask->form)
        r->err = dg_prompt_template_check(dg_span_cstr(ask->form), r->error);
}

enum dg_err dg_config_lm_read_foreign(struct dg_blueprint *bp, const struct dg_json *config,
                                      enum dg_config_lm type, struct dg_error *error)
{
    struct dg_config_fields r = {config, error, DG_OK};
    if (type == DG_CONFIG_LM_GPT2)
        read_gpt2(&r, bp);
    else
        read_llama(&r, bp, type);
    read_ask(&r, bp);
    complete(bp);
    return r.err;
}

/* ---- Ours ------------------------------------------------------------------------------------ */

static const char *const position_names[] = {"none", "learned", "rotary", NULL};
static const enum dg_positions positions[] = {DG_POS_NONE, DG_POS_LEARNED, DG_POS_ROTARY};

static void read_stop_list(struct dg_config_fields *r, struct dg_blueprint *bp)
{
    const struct dg_json *list = NULL;
    if (!r->err)
        r->err = dg_json_get_array(r->object, "stop_token_ids", DG_JSON_OPTIONAL, r->error, &list);
    if (!r->err && list && dg_json_len(list) > DG_LM_STOP_MAX)
        r->err = dg_error_set(r->error, DG_ERR_LIMIT,
                              "field 'stop_token_ids' has %zu ids, expected at most %d",
                              dg_json_len(list), DG_LM_STOP_MAX);
    for (size_t i = 0; !r->err && list && i < dg_json_len(list); i++) {
        int64_t id = 0;
        r->err = dg_json_at_int(list, "stop_token_ids", i, 0, IDS_MAX, r->error, &id);
        bp->lm.stop[bp->lm.n_stop++] = (int32_t)id;
    }
}

enum dg_err dg_config_lm_read_own(struct dg_blueprint *bp, const struct dg_json *config,
                                  struct dg_error *error)
{
    struct dg_config_fields r = {config, error, DG_OK};
    bp->D = dg_config_need(&r, "d_model");
    bp->decoder.n_layers = dg_config_need(&r, "decoder_layers");
    bp->decoder.H = dg_config_need(&r, "decoder_attention_heads");
    bp->decoder.F = dg_config_need(&r, "decoder_ffn_dim");
    bp->decoder.V = dg_config_need(&r, "vocab_size");
    bp->lm.head = dg_config_need(&r, "head_width");
    bp->lm.kv_heads = dg_config_need(&r, "key_value_heads");
    bp->lm.context = dg_config_need(&r, "context");
    bp->lm.gated = dg_config_flag(&r, "gated", false);
    bp->lm.qkv_bias = dg_config_flag(&r, "query_bias", false);
    bp->lm.o_bias = dg_config_flag(&r, "attention_output_bias", false);
    bp->lm.ffn_bias = dg_config_flag(&r, "ffn_bias", false);
    bp->activation = dg_config_activation(&r, "activation_function", DG_ACT_GELU_TANH);
    bp->norm_kind = (enum dg_norm_kind)dg_config_choice(&r, "norm_kind", dg_config_norm_kinds, 0);
    bp->norm_epsilon = (float)dg_config_real(&r, "norm_epsilon", 1e-5);
    bp->tie_output = dg_config_flag(&r, "tie_word_embeddings", true);
    bp->positions = positions[dg_config_choice(&r, "positions", position_names, 1)];
    bp->position_offset = dg_config_size(&r, "position_offset", 0);
    bp->n_positions = dg_config_size(&r, "n_positions", 0);
    bp->lm.rope.theta = dg_config_real(&r, "rope_theta", 10000);
    bp->lm.rope.scaling =
        (enum dg_rope_scaling)dg_config_choice(&r, "rope_scaling", scaling_names, 0);
    bp->lm.rope.factor = dg_config_real(&r, "rope_factor", 1);
    bp->lm.rope.low = dg_config_real(&r, "rope_low", 1);
    bp->lm.rope.high = dg_config_real(&r, "rope_high", 4);
    bp->lm.rope.original = dg_config_size(&r, "rope_original", 0);
    read_stop_list(&r, bp);
    read_ask(&r, bp);
    complete(bp);
    return r.err;
}

static enum dg_err print_ask(const struct dg_lm_ask *ask, struct dg_buf *out)
{
    const struct {
        const char *name, *text;
    } rows[] = {{"template", ask->form},
                {"template_stop", ask->stop},
                {"source_languages", ask->source},
                {"target_languages", ask->target}};
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !err; i++) {
        struct dg_json_out json;
        if (!*rows[i].text)
            continue;
        err = dg_buf_printf(out, "  \"%s\": ", rows[i].name);
        dg_json_out_init(&json, out);
        dg_json_out_cstr(&json, rows[i].text);
        if (!err)
            err = dg_json_out_end(&json);
        if (!err)
            err = dg_buf_append_cstr(out, ",\n");
    }
    return err;
}

enum dg_err dg_config_lm_print(const struct dg_blueprint *bp, struct dg_buf *out)
{
    const struct dg_lm *lm = &bp->lm;
    enum dg_err err = dg_buf_printf(
        out,
        "{\n  \"model_type\": \"dragoman\",\n  \"family\": \"language-model\",\n  \"d_model\": "
        "%zu,\n"
        "  \"decoder_layers\": %zu,\n  \"decoder_attention_heads\": %zu,\n  \"key_value_heads\": "
        "%zu,\n"
        "  \"head_width\": %zu,\n  \"decoder_ffn_dim\": %zu,\n  \"vocab_size\": %zu,\n  "
        "\"context\": %zu,\n"
        "  \"gated\": %s,\n  \"query_bias\": %s,\n  \"attention_output_bias\": %s,\n  "
        "\"ffn_bias\": %s,\n"
        "  \"activation_function\": \"%s\",\n  \"norm_kind\": \"%s\",\n  \"norm_epsilon\": %.9g,\n"
        "  \"tie_word_embeddings\": %s,\n  \"positions\": \"%s\",\n",
        bp->D, bp->decoder.n_layers, bp->decoder.H, lm->kv_heads, lm->head, bp->decoder.F,
        bp->decoder.V, lm->context, dg_config_truth(lm->gated), dg_config_truth(lm->qkv_bias),
        dg_config_truth(lm->o_bias), dg_config_truth(lm->ffn_bias),
        dg_activation_name(bp->activation), dg_config_norm_kinds[bp->norm_kind],
        (double)bp->norm_epsilon, dg_config_truth(bp->tie_output),
        dg_positions_name(bp->positions));
    if (!err && bp->positions == DG_POS_LEARNED)
        err = dg_buf_printf(out, "  \"n_positions\": %zu,\n  \"position_offset\": %zu,\n",
                            bp->n_positions, bp->position_offset);
    if (!err && bp->positions == DG_POS_ROTARY)
        err = dg_buf_printf(
            out,
            "  \"rope_theta\": %.17g,\n  \"rope_scaling\": \"%s\",\n  \"rope_factor\": %.17g,\n"
            "  \"rope_low\": %.17g,\n  \"rope_high\": %.17g,\n  \"rope_original\": %zu,\n",
            lm->rope.theta, scaling_names[lm->rope.scaling], lm->rope.factor, lm->rope.low,
            lm->rope.high, lm->rope.original);
    if (!err)
        err = dg_buf_append_cstr(out, "  \"stop_token_ids\": [");
    for (size_t i = 0; i < lm->n_stop && !err; i++)
        err = dg_buf_printf(out, "%s%d", i ? ", " : "", (int)lm->stop[i]);
    if (!err)
        err = dg_buf_append_cstr(out, "],\n");
    return err ? err : print_ask(&bp->lm.ask, out);
}
