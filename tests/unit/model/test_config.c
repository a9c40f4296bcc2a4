/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "model/config.h"
#include "unit.h"

#include <math.h>

static const char marian[] =
    "{\"model_type\":\"marian\",\"activation_function\":\"swish\",\"d_model\":512,"
    "\"encoder_layers\":6,\"decoder_layers\":5,\"encoder_attention_heads\":8,"
    "\"decoder_attention_heads\":16,\"encoder_ffn_dim\":2048,\"decoder_ffn_dim\":1024,"
    "\"vocab_size\":60715,\"pad_token_id\":60714,\"eos_token_id\":0,\"bos_token_id\":0,"
    "\"forced_eos_token_id\":0,\"decoder_start_token_id\":60714,\"bad_words_ids\":[[60714],[1,2]],"
    "\"scale_embedding\":true,\"static_position_embeddings\":true,\"max_length\":512,"
    "\"num_beams\":6,\"dropout\":0.1,\"architectures\":[\"MarianMTModel\"]}";

static const char nllb[] =
    "{\"model_type\":\"m2m_100\",\"activation_function\":\"relu\",\"d_model\":1024,"
    "\"encoder_layers\":12,\"decoder_layers\":12,\"encoder_attention_heads\":16,"
    "\"decoder_attention_heads\":16,\"encoder_ffn_dim\":4096,\"decoder_ffn_dim\":4096,"
    "\"vocab_size\":256206,\"pad_token_id\":1,\"eos_token_id\":2,\"bos_token_id\":0,"
    "\"decoder_start_token_id\":2,\"scale_embedding\":true,\"max_length\":200,"
    "\"forced_bos_token_id\":null}";

static enum dg_err parse(struct dg_blueprint *bp, const char *config, const char *generation,
                         const char *tokenizer, struct dg_error *error)
{
    return dg_config_parse(bp, dg_span_cstr(config), dg_span_cstr(generation),
                           dg_span_cstr(tokenizer), "config.json", error);
}

START_TEST(marian_as_hugging_face_writes_it)
{
    struct dg_blueprint bp;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_msg(parse(&bp, marian, "", "", &error) == DG_OK, "%s", error.text);
    ck_assert_uint_eq(bp.D, 512);
    ck_assert_uint_eq(bp.encoder.n_layers, 6);
    ck_assert_uint_eq(bp.decoder.n_layers, 5);
    ck_assert_uint_eq(bp.encoder.H, 8);
    ck_assert_uint_eq(bp.decoder.H, 16);
    ck_assert_uint_eq(bp.encoder.F, 2048);
    ck_assert_uint_eq(bp.decoder.F, 1024);
    ck_assert_uint_eq(bp.decoder.V, 60715);
    ck_assert_int_eq(bp.activation, DG_ACT_SILU);
    ck_assert_int_eq(bp.norm_place, DG_NORM_POST);
    ck_assert_int_eq(bp.positions, DG_POS_HALVES);
    ck_assert_float_eq(bp.embedding_scale, sqrtf(512));
    ck_assert_float_eq(bp.norm_epsilon, 1e-5f);
    ck_assert(bp.tie_source_target && bp.tie_output && !bp.final_norm);
    ck_assert_int_eq(bp.start, DG_START_TOKEN);
    ck_assert_int_eq(bp.start_id, 60714);
    ck_assert_uint_eq(bp.n_suppress, 1);
    ck_assert_int_eq(bp.suppress[0], 60714);
    ck_assert_int_eq(bp.forced_eos_id, 0);
    ck_assert_int_eq(bp.forced_bos_id, DG_ID_NONE);
    ck_assert_uint_eq(bp.target_len_max, 511);
    ck_assert_uint_eq(bp.n_beams, 6);
}
END_TEST

START_TEST(generation_config_has_the_last_word)
{
    struct dg_blueprint bp;
    ck_assert_int_eq(parse(&bp, marian,
                           "{\"num_beams\":2,\"max_length\":100,\"eos_token_id\":[7,8],"
                           "\"length_penalty\":0.5}",
                           "{\"model_max_length\":300}", NULL),
                     DG_OK);
    ck_assert_uint_eq(bp.n_beams, 2);
    ck_assert_uint_eq(bp.target_len_max, 99);
    ck_assert_uint_eq(bp.source_len_max, 300);
    ck_assert_int_eq(bp.eos_id, 7);
    ck_assert_float_eq(bp.length_penalty, 0.5f);
    ck_assert_int_eq(bp.beam_rule, DG_BEAM_NARROWS);
    ck_assert_int_eq(parse(&bp, marian, "{\"beam_rule\":\"refills\"}", "", NULL), DG_OK);
    ck_assert_int_eq(bp.beam_rule, DG_BEAM_REFILLS);
    ck_assert_int_ne(parse(&bp, marian, "{\"beam_rule\":\"grows\"}", "", NULL), DG_OK);
    ck_assert(!bp.lowers_titles);
    ck_assert_int_eq(parse(&bp, marian, "{\"title_case\":\"lower\"}", "", NULL), DG_OK);
    ck_assert(bp.lowers_titles);
    ck_assert_int_eq(parse(&bp, marian, "", "{\"model_max_length\":1e30}", NULL), DG_OK);
    ck_assert_uint_eq(bp.source_len_max, 512);
}
END_TEST

START_TEST(m2m100_and_nllb)
{
    struct dg_blueprint bp;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_msg(parse(&bp, nllb, "", "", &error) == DG_OK, "%s", error.text);
    ck_assert_int_eq(bp.norm_place, DG_NORM_PRE);
    ck_assert(bp.final_norm);
    ck_assert_int_eq(bp.positions, DG_POS_HALVES_CLOSED);
    ck_assert_uint_eq(bp.position_offset, 2);
    ck_assert_int_eq(bp.start_id, 2);
    ck_assert_uint_eq(bp.n_suppress, 0);
    ck_assert_int_eq(bp.lang_rule, DG_LANG_SOURCE_FIRST);
    ck_assert_int_eq(parse(&bp, nllb, "", "{\"legacy_behaviour\":true}", NULL), DG_OK);
    ck_assert_int_eq(bp.lang_rule, DG_LANG_SOURCE_LAST);
}
END_TEST

/* `text` with the first `from` replaced by `to`. */
static const char *changed(const char *text, const char *from, const char *to, char *out,
                           size_t cap)
{
    const char *at = strstr(text, from);
    ck_assert_msg(at != NULL, "no %s", from);
    ck_assert_uint_lt(strlen(text) + strlen(to), cap);
    size_t before = (size_t)(at - text);
    memcpy(out, text, before);
    memcpy(out + before, to, strlen(to));
    memcpy(out + before + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
    return out;
}

START_TEST(names_file_and_field_of_what_is_wrong)
{
    static const struct {
        const char *from, *to, *says;
    } rows[] = {
        {"\"d_model\":512", "\"d_model\":0", "model width is 0"},
        {"\"d_model\":512", "\"d_model\":-1", "d_model"},
        {"\"d_model\":512", "\"d_model\":18446744073709551615", "config.json"},
        {"\"d_model\":512", "\"d_model\":9223372036854775807", "d_model"},
        {"\"d_model\":512", "\"d_model\":\"512\"", "d_model"},
        {"\"d_model\":512", "\"d_model\":513", "does not divide"},
        {"\"d_model\":512,", "", "d_model"},
        {"\"encoder_layers\":6", "\"encoder_layers\":1000", "encoder layers is 1000"},
        {"\"vocab_size\":60715", "\"vocab_size\":16777217", "vocab_size"},
        {"\"vocab_size\":60715", "\"vocab_size\":60714", "pad token id is 60714"},
        {"swish", "tanh", "activation_function"},
        {"\"marian\"", "\"t5\"", "model_type"},
        {"\"eos_token_id\":0", "\"eos_token_id\":null", "eos token id"},
        {"\"max_length\":512", "\"max_length\":0", "longest target"},
        {"[[60714]", "[[0]", "no sentence could end"},
        {"static_position_embeddings\":true", "static_position_embeddings\":false", "static_pos"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[2048];
        struct dg_blueprint bp;
        struct dg_error error = DG_ERROR_NONE;
        changed(marian, rows[i].from, rows[i].to, text, sizeof text);
        ck_assert_msg(parse(&bp, text, "", "", &error) != DG_OK, "%s accepted", rows[i].to);
        ck_assert_msg(strstr(error.text, rows[i].says) != NULL, "%s does not say %s", error.text,
                      rows[i].says);
        ck_assert_msg(strstr(error.text, "config.json") == error.text, "%s", error.text);
    }
    struct dg_blueprint bp;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_ne(parse(&bp, marian, "{\"num_beams\":\"x\"}", "", &error), DG_OK);
    ck_assert_msg(strstr(error.text, "generation_config.json") == error.text, "%s", error.text);
}
END_TEST

START_TEST(every_truncation_of_a_config_is_refused)
{
    for (size_t len = 0; len < sizeof marian - 1; len++) {
        struct dg_blueprint bp;
        struct dg_error error = DG_ERROR_NONE;
        enum dg_err err = dg_config_parse(&bp, dg_span_make(marian, len), DG_SPAN(""), DG_SPAN(""),
                                          "config.json", &error);
        ck_assert_msg(err != DG_OK && error.text[0], "accepted when cut to %zu bytes", len);
    }
}
END_TEST

START_TEST(our_own_config_says_everything)
{
    struct dg_blueprint bp, again;
    ck_assert_int_eq(parse(&bp, nllb, "", "", NULL), DG_OK);
    bp.decoder_kind = DG_DECODER_AAN;
    bp.aan_depth = 2;
    bp.aan_F = 77;
    bp.aan_gate = true;
    bp.norm_kind = DG_NORM_RMS;
    bp.norm_epsilon = 1e-6f;
    bp.embedding_norm = true;
    bp.positions = DG_POS_LEARNED;
    bp.n_positions = 99;
    bp.embedding_scale = 3.25f;
    bp.tie_output = false;
    bp.start = DG_START_ZERO;
    bp.start_id = DG_ID_NONE;
    bp.unk_id = 3;
    bp.suppress[0] = 1;
    bp.suppress[1] = 3;
    bp.n_suppress = 2;
    bp.length_penalty = 0.2f;
    bp.lowers_titles = true;
    struct dg_buf text;
    struct dg_error error = DG_ERROR_NONE;
    dg_buf_init(&text, 8192);
    ck_assert_int_eq(dg_config_print(&bp, &text), DG_OK);
    ck_assert_msg(parse(&again, text.ptr, "", "", &error) == DG_OK, "%s", error.text);
    struct dg_buf text_again;
    dg_buf_init(&text_again, 8192);
    ck_assert_int_eq(dg_config_print(&again, &text_again), DG_OK);
    ck_assert_str_eq(text.ptr, text_again.ptr);
    ck_assert_int_eq(again.decoder_kind, DG_DECODER_AAN);
    ck_assert_float_eq(again.norm_epsilon, 1e-6f);
    ck_assert(again.lowers_titles);
    ck_assert_int_eq(again.suppress[1], 3);
    ck_assert_int_eq(again.start, DG_START_ZERO);
    ck_assert_int_eq(again.start_id, DG_ID_NONE);
    ck_assert_int_eq(again.unk_id, 3);
    dg_buf_deinit(&text);
    dg_buf_deinit(&text_again);
}
END_TEST

/* The settings in a language model's directory for its prompts are read back as they were written,
 * and must respect their limits. */
START_TEST(a_language_model_says_how_it_is_asked)
{
    static const char head[] =
        "{\"model_type\": \"dragoman\", \"family\": \"language-model\", \"d_model\": 8, "
        "\"decoder_layers\": 1,"
        "\"decoder_attention_heads\": 2, \"decoder_ffn_dim\": 16, \"vocab_size\": 20, "
        "\"head_width\": 4,"
        "\"key_value_heads\": 2, \"context\": 16, \"positions\": \"rotary\", \"eos_token_id\": 0";
    static const struct {
        const char *fields, *says;
    } wrong[] = {{", \"template\": \"no place\"}", "read {text} 0 times, expected once"},
                 {", \"template\": 3}", "template"},
                 {", \"template\": \"a\\u0000{text}\"}", "template"},
                 {", \"template\": \"{text}\", \"source_languages\": \"%s\"}", "at most 200"}};
    struct dg_blueprint bp, again;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_buf text, printed;
    char many[300];
    dg_buf_init(&text, 8192);
    dg_buf_init(&printed, 8192);
    ck_assert_int_eq(
        dg_buf_printf(&text,
                      "%s, \"template\": \"\\\"{source}\\\": {text}\\\\n{target}:\", "
                      "\"template_stop\": \"\\\\n|END\", "
                      "\"source_languages\": \"fr, de\", \"target_languages\": \"en\"}",
                      head),
        DG_OK);
    ck_assert_msg(parse(&bp, text.ptr, "", "", &error) == DG_OK, "%s", error.text);
    ck_assert_str_eq(bp.lm.ask.form, "\"{source}\": {text}\\n{target}:");
    ck_assert_str_eq(bp.lm.ask.stop, "\\n|END");
    ck_assert_str_eq(bp.lm.ask.source, "fr, de");
    ck_assert_int_eq(dg_config_print(&bp, &printed), DG_OK);
    ck_assert_msg(parse(&again, printed.ptr, "", "", &error) == DG_OK, "%s", error.text);
    ck_assert_mem_eq(&again.lm.ask, &bp.lm.ask, sizeof again.lm.ask);
    memset(many, 'a', sizeof many - 1);
    many[sizeof many - 1] = '\0';
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *at = strstr(wrong[i].fields, "%s");
        const int n = at ? (int)(at - wrong[i].fields) : (int)strlen(wrong[i].fields);
        dg_buf_clear(&text);
        ck_assert_int_eq(dg_buf_printf(&text, "%s%.*s%s%s", head, n, wrong[i].fields,
                                       at ? many : "", at ? at + 2 : ""),
                         DG_OK);
        ck_assert_int_ne(parse(&bp, text.ptr, "", "", &error), DG_OK);
        ck_assert_msg(strstr(error.text, wrong[i].says), "\"%s\" does not say \"%s\"", error.text,
                      wrong[i].says);
    }
    dg_buf_deinit(&text);
    dg_buf_deinit(&printed);
}
END_TEST

DG_UNIT(a_language_model_says_how_it_is_asked, marian_as_hugging_face_writes_it,
        generation_config_has_the_last_word, m2m100_and_nllb, names_file_and_field_of_what_is_wrong,
        every_truncation_of_a_config_is_refused, our_own_config_says_everything)
