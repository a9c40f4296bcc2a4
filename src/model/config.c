/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One function per model type fills the blueprint through config_fields.h, so that each row below
 * reads as "key, default". The first failure is kept and stops all later reads. */
#include "model/config.h"
#include "base/file/map_file.h"
#include "base/json/json.h"
#include "model/config_enc.h"
#include "model/config_fields.h"
#include "model/config_lm.h"

#include <math.h>
#include <stdio.h>

enum {
    CONFIG_MAX_BYTES = 4 << 20, /* NLLB's tokenizer_config.json is some 600 kB */
    SIZE_MAX_FIELD = 1 << 24,
    LEN_DEFAULT = 512,
};

/* ---- Fields that config_fields.h has not ----------------------------------------------------- */

/* Reads a token id; null means none. In newer files it may be a list, of which the first counts. */
static int32_t id_of(struct dg_config_fields *f, const char *name, int32_t otherwise)
{
    const struct dg_json *value = f->object ? dg_json_get(f->object, name) : NULL;
    if (f->err || !value)
        return otherwise;
    if (dg_json_type(value) == DG_JSON_NULL)
        return DG_ID_NONE;
    if (dg_json_type(value) == DG_JSON_ARRAY && dg_json_len(value) > 0)
        value = dg_json_at(value, 0);
    int64_t id = otherwise;
    f->err = dg_json_int(value, dg_span_cstr(name), 0, SIZE_MAX_FIELD, f->error, &id);
    return (int32_t)id;
}

/* Reads the activation, which is a required field. */
static enum dg_activation activation_of(struct dg_config_fields *f)
{
    if (!f->err && !dg_json_get(f->object, "activation_function"))
        f->err = dg_error_set(f->error, DG_ERR_NOT_FOUND, "field 'activation_function' is missing");
    return dg_config_activation(f, "activation_function", DG_ACT_RELU);
}

static void suppress(struct dg_config_fields *f, struct dg_blueprint *bp, int32_t id)
{
    if (id == DG_ID_NONE || f->err)
        return;
    for (size_t i = 0; i < bp->n_suppress; i++)
        if (bp->suppress[i] == id)
            return;
    if (bp->n_suppress == DG_BLUEPRINT_SUPPRESS_MAX)
        f->err = dg_error_set(f->error, DG_ERR_LIMIT, "more than %d tokens are to be suppressed",
                              DG_BLUEPRINT_SUPPRESS_MAX);
    else
        bp->suppress[bp->n_suppress++] = id;
}

/* Reads bad_words_ids, a list of sequences; only sequences of one token go into the blueprint. */
static void read_bad_words(struct dg_config_fields *f, struct dg_blueprint *bp)
{
    const struct dg_json *list = f->object ? dg_json_get(f->object, "bad_words_ids") : NULL;
    if (!list || dg_json_type(list) == DG_JSON_NULL)
        return;
    for (size_t i = 0; i < dg_json_len(list) && !f->err; i++) {
        const struct dg_json *word = dg_json_at(list, i);
        int64_t id;
        if (dg_json_len(word) != 1)
            continue;
        f->err = dg_json_at_int(word, "bad_words_ids", 0, 0, SIZE_MAX_FIELD, f->error, &id);
        if (!f->err)
            suppress(f, bp, (int32_t)id);
    }
}

/* ---- Hugging Face ---------------------------------------------------------------------------- */

static void read_stacks(struct dg_config_fields *f, struct dg_blueprint *bp)
{
    bp->D = dg_config_need(f, "d_model");
    bp->encoder.n_layers = dg_config_need(f, "encoder_layers");
    bp->decoder.n_layers = dg_config_need(f, "decoder_layers");
    bp->encoder.H = dg_config_need(f, "encoder_attention_heads");
    bp->decoder.H = dg_config_need(f, "decoder_attention_heads");
    bp->encoder.F = dg_config_need(f, "encoder_ffn_dim");
    bp->decoder.F = dg_config_need(f, "decoder_ffn_dim");
    bp->activation = activation_of(f);
}

static void read_words(struct dg_config_fields *f, struct dg_blueprint *bp)
{
    bp->encoder.V = dg_config_need(f, "vocab_size");
    bp->decoder.V = dg_config_size(f, "decoder_vocab_size", bp->encoder.V);
    bp->tie_source_target = dg_config_flag(f, "share_encoder_decoder_embeddings", true);
    bp->tie_output = dg_config_flag(f, "tie_word_embeddings", true);
}

static void read_tokens(struct dg_config_fields *f, struct dg_blueprint *bp)
{
    bp->pad_id = id_of(f, "pad_token_id", bp->pad_id);
    bp->eos_id = id_of(f, "eos_token_id", bp->eos_id);
    bp->bos_id = id_of(f, "bos_token_id", bp->bos_id);
    bp->unk_id = id_of(f, "unk_token_id", bp->unk_id);
    bp->start_id = id_of(f, "decoder_start_token_id", bp->start_id);
    bp->forced_bos_id = id_of(f, "forced_bos_token_id", bp->forced_bos_id);
    bp->forced_eos_id = id_of(f, "forced_eos_token_id", bp->forced_eos_id);
}

static const char *const source_words_names[] = {"tied", "listed", "unlisted", NULL};
static const char *const beam_rule_names[] = {"narrows", "refills", NULL};
static const char *const title_case_names[] = {"keep", "lower", NULL};

/* Fields of config.json that generation_config.json may override. */
static void read_generation(struct dg_config_fields *f, struct dg_blueprint *bp)
{
    read_tokens(f, bp);
    read_bad_words(f, bp);
    /* Hugging Face's limit includes the start token. */
    size_t max_length = dg_config_size(f, "max_length", bp->target_len_max + 1);
    bp->target_len_max = max_length ? max_length - 1 : 0;
    bp->n_beams = dg_config_size(f, "num_beams", bp->n_beams);
    bp->source_words = (enum dg_source_words)dg_config_choice(f, "source_words", source_words_names,
                                                              (int)bp->source_words);
    bp->beam_rule =
        (enum dg_beam_rule)dg_config_choice(f, "beam_rule", beam_rule_names, (int)bp->beam_rule);
    bp->length_penalty = (float)dg_config_real(f, "length_penalty", bp->length_penalty);
    bp->lowers_titles =
        dg_config_choice(f, "title_case", title_case_names, (int)bp->lowers_titles) != 0;
}

/* Reads model_max_length, the longest source; some files write 1e30 for "unknown". */
static void read_source_len(const struct dg_json *tokenizer, struct dg_blueprint *bp)
{
    const struct dg_json *value = tokenizer ? dg_json_get(tokenizer, "model_max_length") : NULL;
    int64_t len;
    if (value && dg_json_type(value) == DG_JSON_INT &&
        dg_json_int(value, DG_SPAN("model_max_length"), 2, 1 << 20, NULL, &len) == DG_OK)
        bp->source_len_max = (size_t)len;
}

static void read_marian(struct dg_config_fields *f, struct dg_blueprint *bp)
{
    read_stacks(f, bp);
    read_words(f, bp);
    bp->positions = DG_POS_HALVES;
    dg_config_must(f, "static_position_embeddings", true, true);
    dg_config_must(f, "normalize_embedding", false, false);
    bool scaled = dg_config_flag(f, "scale_embedding", false);
    bp->embedding_scale = scaled ? sqrtf((float)bp->D) : 1;
}

static void read_m2m(struct dg_config_fields *f, struct dg_blueprint *bp,
                     const struct dg_json *tokenizer)
{
    read_stacks(f, bp);
    read_words(f, bp);
    bp->norm_place = DG_NORM_PRE;
    bp->final_norm = true;
    bp->positions = DG_POS_HALVES_CLOSED;
    int32_t pad = id_of(f, "pad_token_id", 1);
    bp->position_offset = (size_t)(pad == DG_ID_NONE ? 1 : pad) + 1;
    bp->embedding_scale = dg_config_flag(f, "scale_embedding", true) ? sqrtf((float)bp->D) : 1;
    struct dg_config_fields t = {.object = tokenizer, .error = f->error, .err = f->err};
    const bool is_old = tokenizer && dg_config_flag(&t, "legacy_behaviour", false);
    bp->lang_rule = is_old ? DG_LANG_SOURCE_LAST : DG_LANG_SOURCE_FIRST;
    f->err = t.err;
}

/* ---- Ours ------------------------------------------------------------------------------------ */

static const char *const decoder_names[] = {"attention", "ssru", "aan", "gru",
                                            "lstm",      "tanh", NULL};
static const char *const seq_attention_names[] = {"none",    "location", "dot",
                                                  "general", "additive", NULL};
static const char *const rnn_encoder_names[] = {"bidirectional", "alternating", "bi-unidirectional",
                                                NULL};
static const char *const start_names[] = {"token", "zero", NULL};
static const char *const lang_names[] = {"none", "source-first", "source-last", NULL};

static void read_suppressed(struct dg_config_fields *f, struct dg_blueprint *bp)
{
    const struct dg_json *list = NULL;
    if (!f->err)
        f->err =
            dg_json_get_array(f->object, "suppress_token_ids", DG_JSON_OPTIONAL, f->error, &list);
    for (size_t i = 0; list && i < dg_json_len(list) && !f->err; i++) {
        int64_t id;
        f->err = dg_json_at_int(list, "suppress_token_ids", i, 0, SIZE_MAX_FIELD, f->error, &id);
        if (!f->err)
            suppress(f, bp, (int32_t)id);
    }
}

/* Reads a recurrent network, which has neither heads nor feed-forward layers; both count as 1 for
 * the rest of the code. */
static void read_rnn(struct dg_config_fields *f, struct dg_blueprint *bp)
{
    bp->family = DG_FAMILY_RNN;
    bp->D = dg_config_need(f, "d_model");
    bp->encoder.n_layers = dg_config_need(f, "encoder_layers");
    bp->decoder.n_layers = dg_config_need(f, "decoder_layers");
    bp->encoder.H = bp->decoder.H = bp->encoder.F = bp->decoder.F = 1;
    bp->rnn.encoder = (enum dg_rnn_encoder)dg_config_choice(f, "rnn_encoder", rnn_encoder_names, 0);
    bp->rnn.width = dg_config_need(f, "rnn_width");
    bp->rnn.encoder_cells = dg_config_size(f, "rnn_encoder_cells", 1);
    bp->rnn.base_cells = dg_config_size(f, "rnn_base_cells", 2);
    bp->rnn.high_cells = dg_config_size(f, "rnn_high_cells", 1);
    bp->rnn.skip = dg_config_flag(f, "rnn_skip", false);
    bp->rnn.norm = dg_config_flag(f, "rnn_norm", false);
    bp->norm_epsilon = (float)dg_config_real(f, "norm_epsilon", 1e-9f);
    bp->embedding_scale = (float)dg_config_real(f, "embedding_scale", 1);
}

/* Reads a plain recurrent network: `seq_attention` names its attention, or the network is a
 * classifier. */
static void read_seq(struct dg_config_fields *f, struct dg_blueprint *bp)
{
    bp->family = DG_FAMILY_SEQ;
    bp->D = dg_config_need(f, "d_model");
    bp->encoder.n_layers = dg_config_need(f, "encoder_layers");
    bp->encoder.H = bp->decoder.H = bp->encoder.F = bp->decoder.F = 1;
    bp->seq.is_classifier = dg_config_flag(f, "classifier", false);
    bp->decoder.n_layers = bp->seq.is_classifier ? 1 : dg_config_need(f, "decoder_layers");
    bp->seq.is_bidirectional = dg_config_flag(f, "seq_bidirectional", false);
    bp->seq.attention = (enum dg_seq_attention)dg_config_choice(f, "seq_attention",
                                                                seq_attention_names, DG_SEQ_NONE);
    bp->seq.places = dg_config_size(f, "seq_places", 0);
    bp->embedding_scale = 1;
}

/* Returns whether a recurrent network is of the SEQ family and not of the RNN family. */
static bool is_seq(const struct dg_config_fields *f)
{
    return dg_json_get(f->object, "seq_attention") || dg_json_get(f->object, "classifier");
}

static void read_transformer(struct dg_config_fields *f, struct dg_blueprint *bp)
{
    read_stacks(f, bp);
    bp->norm_place =
        (enum dg_norm_place)dg_config_choice(f, "norm_place", dg_config_norm_places, 0);
    bp->norm_queries_only = dg_config_flag(f, "norm_queries_only", false);
    bp->norm_kind = (enum dg_norm_kind)dg_config_choice(f, "norm_kind", dg_config_norm_kinds, 0);
    bp->norm_epsilon = (float)dg_config_real(f, "norm_epsilon", bp->norm_epsilon);
    bp->embedding_norm = dg_config_flag(f, "embedding_norm", false);
    bp->final_norm = dg_config_flag(f, "final_norm", false);
    bp->positions =
        (enum dg_positions)dg_config_choice(f, "positions", dg_config_positions, DG_POS_HALVES);
    bp->position_offset = dg_config_size(f, "position_offset", 0);
    bp->n_positions = dg_config_size(f, "n_positions", 0);
    bp->relative_reach = dg_config_size(f, "relative_reach", 0);
    bp->embedding_scale = (float)dg_config_real(f, "embedding_scale", 1);
    bp->alignment_layer = dg_config_size(f, "alignment_layer", 0);
    bp->alignment_head = dg_config_size(f, "alignment_head", 0);
    bp->aan_depth = dg_config_size(f, "aan_depth", 0);
    bp->aan_F = dg_config_size(f, "aan_ffn_dim", 0);
    bp->aan_gate = dg_config_flag(f, "aan_gate", false);
}

static const char *const family_names[] = {"language-model", "encoder", NULL};

static void read_dragoman(struct dg_config_fields *f, struct dg_blueprint *bp)
{
    const int family = dg_config_choice(f, "family", family_names, -1);
    if (family >= 0) {
        if (!f->err)
            f->err = family == 0 ? dg_config_lm_read_own(bp, f->object, f->error)
                                 : dg_config_enc_read_own(bp, f->object, f->error);
        bp->source_len_max = dg_config_size(f, "max_source_length", bp->source_len_max);
        read_suppressed(f, bp);
        return;
    }
    bp->decoder_kind = (enum dg_decoder_kind)dg_config_choice(f, "decoder_kind", decoder_names, 0);
    const bool is_cell = bp->decoder_kind == DG_DECODER_GRU || bp->decoder_kind == DG_DECODER_LSTM;
    if (bp->decoder_kind == DG_DECODER_TANH || (is_cell && is_seq(f)))
        read_seq(f, bp);
    else if (is_cell)
        read_rnn(f, bp);
    else
        read_transformer(f, bp);
    read_words(f, bp);
    bp->start = (enum dg_start)dg_config_choice(f, "decoder_start", start_names, 0);
    bp->lang_rule = (enum dg_lang_rule)dg_config_choice(f, "language_rule", lang_names, 0);
    bp->source_len_max = dg_config_size(f, "max_source_length", bp->source_len_max);
    read_suppressed(f, bp);
}

/* ---- The three files ------------------------------------------------------------------------- */

static enum dg_err fill(struct dg_blueprint *bp, const struct dg_json *config,
                        const struct dg_json *generation, const struct dg_json *tokenizer,
                        struct dg_error *error, const char **about)
{
    enum { MARIAN, M2M, OURS, FIRST_ENC, FIRST_LM = FIRST_ENC + DG_CONFIG_ENC_TYPES };
    static const char *const types[] = {
        "marian",    "m2m_100", "dragoman", "bert",  "roberta", "distilbert", "xlm-roberta",
        "camembert", "electra", "gpt2",     "llama", "mistral", "qwen2",      NULL};
    struct dg_config_fields f = {.object = config, .error = error};
    int type = 0;
    f.err = dg_json_get_choice(config, "model_type", DG_JSON_REQUIRED, types, error, &type);
    if (f.err)
        return f.err;
    *bp = (struct dg_blueprint){.norm_epsilon = 1e-5f,
                                .output_bias = true,
                                .pad_id = DG_ID_NONE,
                                .eos_id = DG_ID_NONE,
                                .bos_id = DG_ID_NONE,
                                .unk_id = DG_ID_NONE,
                                .start_id = DG_ID_NONE,
                                .forced_bos_id = DG_ID_NONE,
                                .forced_eos_id = DG_ID_NONE,
                                .source_len_max = LEN_DEFAULT,
                                .target_len_max = LEN_DEFAULT - 1,
                                .n_beams = 4,
                                .length_penalty = 1};
    if (type == MARIAN)
        read_marian(&f, bp);
    else if (type == M2M)
        read_m2m(&f, bp, tokenizer);
    else if (type == OURS)
        read_dragoman(&f, bp);
    else if (type < FIRST_LM)
        f.err =
            dg_config_enc_read_foreign(bp, config, (enum dg_config_enc)(type - FIRST_ENC), error);
    else
        f.err = dg_config_lm_read_foreign(bp, config, (enum dg_config_lm)(type - FIRST_LM), error);
    read_generation(&f, bp);
    if (!f.err && type >= FIRST_LM)
        f.err = dg_config_lm_read_stops(bp, config, error);
    if (!f.err && generation) {
        *about = "generation_config.json";
        f.object = generation;
        read_generation(&f, bp);
        if (!f.err && dg_blueprint_family(bp)->has_prompt)
            f.err = dg_config_lm_read_stops(bp, generation, error);
    }
    read_source_len(tokenizer, bp);
    if (dg_blueprint_family(bp)->has_prompt)
        dg_config_lm_clamp(bp);
    if (dg_blueprint_family(bp)->has_head)
        dg_config_enc_clamp(bp);
    /* The converter gives pad a zero row and a zero bias, so it would get much of the
     * probability. */
    if (type == MARIAN)
        suppress(&f, bp, bp->pad_id);
    return f.err ? f.err : dg_blueprint_check(bp, error);
}

static enum dg_err parse_one(struct dg_span text, struct dg_error *error, struct dg_json **json)
{
    const struct dg_json_limits limits = {
        .max_bytes = CONFIG_MAX_BYTES, .max_depth = 32, .max_values = 100 * 1000};
    enum dg_err err = text.len ? dg_json_parse(text, &limits, error, json) : DG_OK;
    if (!err && *json && dg_json_type(*json) != DG_JSON_OBJECT)
        err = dg_error_set(error, DG_ERR_FORMAT, "read %s, expected an object",
                           dg_json_type_name(dg_json_type(*json)));
    return err;
}

enum dg_err dg_config_parse(struct dg_blueprint *bp, struct dg_span config,
                            struct dg_span generation, struct dg_span tokenizer, const char *name,
                            struct dg_error *error)
{
    struct dg_json *parsed[3] = {NULL, NULL, NULL};
    struct dg_blueprint filled;
    const char *about = name;
    enum dg_err err =
        config.len ? DG_OK : dg_error_set(error, DG_ERR_TRUNCATED, "the file is empty");
    if (!err)
        err = parse_one(config, error, &parsed[0]);
    if (!err) {
        about = "generation_config.json";
        err = parse_one(generation, error, &parsed[1]);
    }
    if (!err) {
        about = "tokenizer_config.json";
        err = parse_one(tokenizer, error, &parsed[2]);
    }
    if (!err) {
        about = name;
        err = fill(&filled, parsed[0], parsed[1], parsed[2], error, &about);
    }
    if (!err)
        *bp = filled;
    for (size_t i = 0; i < 3; i++)
        dg_json_free(parsed[i]);
    return err ? dg_error_wrap(error, err, "%s", about) : DG_OK;
}

/* Reads DIR/name; an absent file is empty. */
static enum dg_err map(struct dg_map_file *file, const char *dir, const char *name,
                       struct dg_error *error)
{
    char path[4096];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, name) >= sizeof path)
        return dg_error_set(error, DG_ERR_LIMIT, "the path of %s is too long", name);
    return dg_map_file_read(file, path, CONFIG_MAX_BYTES, error);
}

enum dg_err dg_config_read(struct dg_blueprint *bp, const char *dir, struct dg_error *error)
{
    static const char *const names[] = {"config.json", "generation_config.json",
                                        "tokenizer_config.json"};
    struct dg_map_file files[3] = {{0}};
    struct dg_span texts[3] = {{0}};
    char path[4096];
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < 3 && !err; i++) {
        struct dg_error missing = DG_ERROR_NONE;
        err = map(&files[i], dir, names[i], &missing);
        if (i > 0 && err == DG_ERR_NOT_FOUND)
            err = DG_OK;
        else if (err)
            dg_error_set(error, err, "%s", missing.text);
        else
            texts[i] = dg_span_make((const char *)files[i].bytes, files[i].len);
    }
    snprintf(path, sizeof path, "%s/%s", dir, names[0]);
    if (!err)
        err = dg_config_parse(bp, texts[0], texts[1], texts[2], path, error);
    for (size_t i = 0; i < 3; i++)
        if (files[i].bytes)
            dg_map_file_close(&files[i]);
    return err;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static enum dg_err print_id(struct dg_buf *out, const char *name, int32_t id)
{
    if (id == DG_ID_NONE)
        return dg_buf_printf(out, "  \"%s\": null,\n", name);
    return dg_buf_printf(out, "  \"%s\": %d,\n", name, (int)id);
}

static enum dg_err print_sizes(const struct dg_blueprint *bp, struct dg_buf *out)
{
    enum dg_err err = dg_buf_printf(
        out,
        "{\n  \"model_type\": \"dragoman\",\n  \"decoder_kind\": \"%s\",\n  \"d_model\": %zu,\n"
        "  \"encoder_layers\": %zu,\n  \"decoder_layers\": %zu,\n",
        decoder_names[bp->decoder_kind], bp->D, bp->encoder.n_layers, bp->decoder.n_layers);
    if (!err && dg_blueprint_family(bp)->has_cross_heads)
        err = dg_buf_printf(
            out,
            "  \"encoder_attention_heads\": %zu,\n  \"decoder_attention_heads\": %zu,\n"
            "  \"encoder_ffn_dim\": %zu,\n  \"decoder_ffn_dim\": %zu,\n",
            bp->encoder.H, bp->decoder.H, bp->encoder.F, bp->decoder.F);
    return err ? err
               : dg_buf_printf(out, "  \"vocab_size\": %zu,\n  \"decoder_vocab_size\": %zu,\n",
                               bp->encoder.V, bp->decoder.V);
}

static enum dg_err print_ties(const struct dg_blueprint *bp, struct dg_buf *out)
{
    return dg_buf_printf(
        out, "  \"share_encoder_decoder_embeddings\": %s,\n  \"tie_word_embeddings\": %s,\n",
        dg_config_truth(bp->tie_source_target), dg_config_truth(bp->tie_output));
}

static enum dg_err print_rnn(const struct dg_blueprint *bp, struct dg_buf *out)
{
    const struct dg_rnn *rnn = &bp->rnn;
    const enum dg_err err = print_sizes(bp, out);
    return err ? err
               : dg_buf_printf(
                     out,
                     "  \"rnn_encoder\": \"%s\",\n  \"rnn_width\": %zu,\n  \"rnn_encoder_cells\": "
                     "%zu,\n"
                     "  \"rnn_base_cells\": %zu,\n  \"rnn_high_cells\": %zu,\n  \"rnn_skip\": %s,\n"
                     "  \"rnn_norm\": %s,\n  \"norm_epsilon\": %.9g,\n  \"embedding_scale\": "
                     "%.9g,\n",
                     rnn_encoder_names[rnn->encoder], rnn->width, rnn->encoder_cells,
                     rnn->base_cells, rnn->high_cells, dg_config_truth(rnn->skip),
                     dg_config_truth(rnn->norm), (double)bp->norm_epsilon,
                     (double)bp->embedding_scale);
}

static enum dg_err print_seq(const struct dg_blueprint *bp, struct dg_buf *out)
{
    const enum dg_err err = print_sizes(bp, out);
    return err ? err
               : dg_buf_printf(out,
                               "  \"seq_attention\": \"%s\",\n  \"seq_places\": %zu,\n  "
                               "\"seq_bidirectional\": %s,\n"
                               "  \"classifier\": %s,\n",
                               seq_attention_names[bp->seq.attention], bp->seq.places,
                               dg_config_truth(bp->seq.is_bidirectional),
                               dg_config_truth(bp->seq.is_classifier));
}

static enum dg_err print_mathematics(const struct dg_blueprint *bp, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    if (bp->decoder_kind == DG_DECODER_AAN)
        err = dg_buf_printf(out,
                            "  \"aan_depth\": %zu,\n  \"aan_ffn_dim\": %zu,\n  \"aan_gate\": %s,\n",
                            bp->aan_depth, bp->aan_F, dg_config_truth(bp->aan_gate));
    if (!err && bp->norm_queries_only)
        err = dg_buf_append_cstr(out, "  \"norm_queries_only\": true,\n");
    if (err)
        return err;
    return dg_buf_printf(
        out,
        "  \"activation_function\": \"%s\",\n  \"norm_place\": \"%s\",\n  \"norm_kind\": \"%s\",\n"
        "  \"norm_epsilon\": %.9g,\n  \"embedding_norm\": %s,\n  \"final_norm\": %s,\n"
        "  \"positions\": \"%s\",\n  \"position_offset\": %zu,\n  \"n_positions\": %zu,\n  "
        "\"relative_reach\": %zu,\n"
        "  \"embedding_scale\": %.9g,\n",
        dg_activation_name(bp->activation), dg_config_norm_places[bp->norm_place],
        dg_config_norm_kinds[bp->norm_kind], (double)bp->norm_epsilon,
        dg_config_truth(bp->embedding_norm), dg_config_truth(bp->final_norm),
        dg_config_positions[bp->positions], bp->position_offset, bp->n_positions,
        bp->relative_reach, (double)bp->embedding_scale);
}

static enum dg_err print_tokens(const struct dg_blueprint *bp, struct dg_buf *out)
{
    const struct {
        const char *name;
        int32_t id;
    } rows[] = {{"pad_token_id", bp->pad_id},
                {"eos_token_id", bp->eos_id},
                {"bos_token_id", bp->bos_id},
                {"unk_token_id", bp->unk_id},
                {"decoder_start_token_id", bp->start_id},
                {"forced_bos_token_id", bp->forced_bos_id},
                {"forced_eos_token_id", bp->forced_eos_id}};
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !err; i++)
        err = print_id(out, rows[i].name, rows[i].id);
    if (!err)
        err = dg_buf_append_cstr(out, "  \"suppress_token_ids\": [");
    for (size_t i = 0; i < bp->n_suppress && !err; i++)
        err = dg_buf_printf(out, "%s%d", i ? ", " : "", (int)bp->suppress[i]);
    return err ? err : dg_buf_append_cstr(out, "],\n");
}

static enum dg_err print_transformer(const struct dg_blueprint *bp, struct dg_buf *out)
{
    const enum dg_err err = print_sizes(bp, out);
    return err ? err : print_mathematics(bp, out);
}

static enum dg_err (*const printers[])(const struct dg_blueprint *bp, struct dg_buf *out) = {
    [DG_FAMILY_TRANSFORMER] = print_transformer, [DG_FAMILY_RNN] = print_rnn,
    [DG_FAMILY_LM] = dg_config_lm_print,         [DG_FAMILY_SEQ] = print_seq,
    [DG_FAMILY_ENC] = dg_config_enc_print,
};

enum dg_err dg_config_print(const struct dg_blueprint *bp, struct dg_buf *out)
{
    const struct dg_family_facts *family = dg_blueprint_family(bp);
    const bool is_half = family->has_prompt || family->has_head;
    enum dg_err err = printers[bp->family](bp, out);
    /* without these fields, the model uses the default */
    if (!err && (bp->alignment_layer || bp->alignment_head))
        err = dg_buf_printf(out, "  \"alignment_layer\": %zu,\n  \"alignment_head\": %zu,\n",
                            bp->alignment_layer, bp->alignment_head);
    if (!err && !is_half)
        err = print_ties(bp, out);
    if (!err)
        err = print_tokens(bp, out);
    if (!err && !is_half)
        err = dg_buf_printf(out, "  \"decoder_start\": \"%s\",\n  \"language_rule\": \"%s\",\n",
                            start_names[bp->start], lang_names[bp->lang_rule]);
    if (!err && bp->source_words != DG_SOURCE_WORDS_TIED)
        err = dg_buf_printf(out, "  \"source_words\": \"%s\",\n",
                            source_words_names[bp->source_words]);
    if (!err && bp->beam_rule != DG_BEAM_NARROWS)
        err = dg_buf_printf(out, "  \"beam_rule\": \"%s\",\n", beam_rule_names[bp->beam_rule]);
    if (!err && bp->lowers_titles)
        err = dg_buf_printf(out, "  \"title_case\": \"%s\",\n", title_case_names[1]);
    if (!err)
        err = dg_buf_printf(out,
                            "  \"max_source_length\": %zu,\n  \"max_length\": %zu,\n"
                            "  \"num_beams\": %zu,\n  \"length_penalty\": %.9g\n}\n",
                            bp->source_len_max, bp->target_len_max + 1, bp->n_beams,
                            (double)bp->length_penalty);
    return err;
}
