/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Weights are drawn from a counter-based generator keyed by seed and tensor name, so that any row
 * can be made at any time and the order of tensors does not matter. */
#include "mkmodel.h"
#include "base/file/file_out.h"
#include "base/json/json_out.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "model/config.h"
#include "model/layout.h"
#include "model/weights_out.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { ITEMS_MAX = 4096, TEXT_MAX = 4 << 20, EOS = 0, UNK = 1, PIECE_CAP = 24 };

/* ---- Numbers --------------------------------------------------------------------------------- */

/* The finaliser of splitmix64: a good hash of a counter. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t hash_name(uint64_t seed, const char *name)
{
    uint64_t h = mix(seed);
    for (; *name; name++)
        h = mix(h ^ (unsigned char)*name);
    return h;
}

/* -1 to 1, exact in float. */
static float uniform(uint64_t key, uint64_t i)
{
    return (float)((double)(mix(key + i) >> 40) / (1 << 23) - 1.0);
}

/* ---- Blueprint ------------------------------------------------------------------------------- */

static void complete_stack(struct dg_stack *stack, size_t n_layers, size_t F, size_t V)
{
    if (!stack->n_layers)
        stack->n_layers = n_layers;
    if (!stack->H)
        stack->H = 4;
    if (!stack->F)
        stack->F = F;
    if (!stack->V)
        stack->V = V;
}

static void complete_rnn(struct dg_blueprint *bp)
{
    bp->family = DG_FAMILY_RNN;
    bp->encoder.H = bp->decoder.H = bp->encoder.F = bp->decoder.F = 1;
    bp->positions = DG_POS_NONE;
    if (!bp->rnn.width)
        bp->rnn.width = 40;
    if (!bp->rnn.encoder_cells)
        bp->rnn.encoder_cells = 1;
    if (!bp->rnn.base_cells)
        bp->rnn.base_cells = 2;
    if (!bp->rnn.high_cells)
        bp->rnn.high_cells = 1;
}

static void complete_seq(struct dg_blueprint *bp)
{
    bp->encoder.H = bp->decoder.H = bp->encoder.F = bp->decoder.F = 1;
    bp->positions = DG_POS_NONE;
    bp->norm_place = DG_NORM_POST;
    bp->embedding_scale = 1;
    if (bp->seq.attention == DG_SEQ_LOCATION && !bp->seq.places)
        bp->seq.places = 10;
    if (bp->seq.is_classifier)
        bp->start = DG_START_ZERO;
}

void dg_mkmodel_complete(struct dg_blueprint *bp)
{
    if (!bp->D)
        bp->D = 32;
    complete_stack(&bp->encoder, 2, 64, 200);
    complete_stack(&bp->decoder, 2, 64, bp->encoder.V);
    if (bp->norm_epsilon == 0)
        bp->norm_epsilon = 1e-5f;
    if (bp->embedding_scale == 0)
        bp->embedding_scale = sqrtf((float)bp->D);
    if (bp->norm_place == DG_NORM_PRE)
        bp->final_norm = true;
    if (bp->positions == DG_POS_LEARNED && !bp->n_positions)
        bp->n_positions = 64 + bp->position_offset;
    if (bp->decoder_kind == DG_DECODER_AAN && !bp->aan_depth) {
        bp->aan_depth = 2;
        bp->aan_F = 48;
        bp->aan_gate = true;
    }
    if (bp->family == DG_FAMILY_SEQ)
        complete_seq(bp);
    else if (bp->decoder_kind == DG_DECODER_GRU || bp->decoder_kind == DG_DECODER_LSTM)
        complete_rnn(bp);
    bp->eos_id = EOS;
    bp->unk_id = UNK;
    bp->bos_id = DG_ID_NONE;
    bp->pad_id = (int32_t)bp->decoder.V - 1;
    bp->start_id = bp->start == DG_START_TOKEN ? bp->pad_id : DG_ID_NONE;
    bp->forced_bos_id = DG_ID_NONE;
    bp->forced_eos_id = EOS;
    bp->suppress[0] = bp->pad_id;
    bp->n_suppress = 1;
    if (!bp->source_len_max)
        bp->source_len_max = 512;
    if (!bp->target_len_max)
        bp->target_len_max = 511;
    if (!bp->n_beams)
        bp->n_beams = 4;
    if (bp->length_penalty == 0)
        bp->length_penalty = 1;
}

/* True when Hugging Face's Marian can represent this network. */
static bool is_plain_marian(const struct dg_blueprint *bp)
{
    return bp->decoder_kind == DG_DECODER_ATTENTION && bp->norm_place == DG_NORM_POST &&
           bp->norm_kind == DG_NORM_LAYER && bp->norm_epsilon == 1e-5f && !bp->embedding_norm &&
           bp->lang_rule == DG_LANG_NONE && !bp->final_norm && bp->positions == DG_POS_HALVES &&
           bp->position_offset == 0 && bp->start == DG_START_TOKEN &&
           bp->encoder.V == bp->decoder.V && !bp->relative_reach;
}

static enum dg_err print_marian(const struct dg_blueprint *bp, struct dg_buf *out)
{
    return dg_buf_printf(
        out,
        "{\n \"architectures\": [\"MarianMTModel\"],\n \"model_type\": \"marian\",\n"
        " \"activation_function\": \"%s\",\n \"d_model\": %zu,\n \"encoder_layers\": %zu,\n"
        " \"decoder_layers\": %zu,\n \"encoder_attention_heads\": %zu,\n"
        " \"decoder_attention_heads\": %zu,\n \"encoder_ffn_dim\": %zu,\n"
        " \"decoder_ffn_dim\": %zu,\n \"vocab_size\": %zu,\n \"pad_token_id\": %d,\n"
        " \"eos_token_id\": %d,\n \"forced_eos_token_id\": %d,\n"
        " \"decoder_start_token_id\": %d,\n \"bad_words_ids\": [[%d]],\n"
        " \"scale_embedding\": %s,\n \"static_position_embeddings\": true,\n"
        " \"share_encoder_decoder_embeddings\": %s,\n \"tie_word_embeddings\": %s,\n"
        " \"max_length\": %zu,\n \"num_beams\": %zu\n}\n",
        dg_activation_name(bp->activation), bp->D, bp->encoder.n_layers, bp->decoder.n_layers,
        bp->encoder.H, bp->decoder.H, bp->encoder.F, bp->decoder.F, bp->encoder.V, (int)bp->pad_id,
        (int)bp->eos_id, (int)bp->forced_eos_id, (int)bp->start_id, (int)bp->pad_id,
        bp->embedding_scale == 1 ? "false" : "true", bp->tie_source_target ? "true" : "false",
        bp->tie_output ? "true" : "false", bp->target_len_max + 1, bp->n_beams);
}

/* ---- Weights --------------------------------------------------------------------------------- */

struct making {
    const struct dg_mkmodel *options;
    const struct dg_blueprint *bp;
    struct dg_weights_out_item *items;
    struct dg_layout_item *layout; /* in the same order: the value for each kind */
    char (*names)[DG_LAYOUT_NAME_CAP];
    size_t n;
};

static enum dg_err on_item(void *ctx, const struct dg_layout_item *item)
{
    struct making *m = ctx;
    if (m->n == ITEMS_MAX)
        return DG_ERR_LIMIT;
    snprintf(m->names[m->n], sizeof m->names[m->n], "%s", item->name);
    m->layout[m->n] = *item;
    m->items[m->n] =
        (struct dg_weights_out_item){.name = m->names[m->n],
                                     .rank = item->rank,
                                     .shape = {item->shape[0], item->shape[1]},
                                     .dtype = dg_weights_out_dtype(m->options->dtype, item->rank)};
    m->n++;
    return DG_OK;
}

/* Matrices keep the variance of their input; embeddings become unit vectors after scaling; the pad
 * row is zero, as in every converted model. */
static enum dg_err make_rows(void *ctx, size_t i, size_t first, size_t n, float *rows,
                             struct dg_error *error)
{
    const struct making *m = ctx;
    const struct dg_layout_item *item = &m->layout[i];
    size_t cols = item->rank == 2 ? item->shape[1] : item->shape[0];
    uint64_t key = hash_name(m->options->seed, m->names[i]);
    float spread = item->is_embedding ? 1.7f / m->bp->embedding_scale
                   : item->rank == 2  ? 1.7f / sqrtf((float)cols)
                                      : 0.2f;
    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c < cols; c++) {
            float value = spread * uniform(key, (first + r) * cols + c);
            bool is_pad = item->is_embedding && first + r == (size_t)m->bp->pad_id;
            rows[r * cols + c] = is_pad ? 0 : item->is_gain ? 1 + value : value;
        }
    return DG_OK;
}

static enum dg_err save_weights(const char *dir, const struct dg_mkmodel *options,
                                const struct dg_blueprint *bp, struct dg_error *error)
{
    struct making m = {.options = options, .bp = bp};
    m.items = dg_xcalloc(ITEMS_MAX, sizeof *m.items);
    m.layout = dg_xcalloc(ITEMS_MAX, sizeof *m.layout);
    m.names = dg_xcalloc(ITEMS_MAX, sizeof *m.names);
    struct dg_weights weights;
    char path[4096];
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    enum dg_err err = dg_layout_weights_init(&weights, bp);
    if (!err) {
        err = dg_layout_visit(bp, &weights, on_item, &m);
        dg_layout_weights_deinit(&weights);
    }
    const struct dg_weights_out_source source = {.ctx = &m, .rows = make_rows};
    if (!err)
        err = dg_weights_out_save(path, m.items, m.n, &source, error);
    dg_free(m.items);
    dg_free(m.layout);
    dg_free(m.names);
    return err;
}

/* ---- Vocabulary ------------------------------------------------------------------------------ */

/* Text of piece `i` in the vocabulary: single characters first, then syllables with and without a
 * blank. */
static void piece_text(size_t i, char *text)
{
    static const char *const singles[] = {"\xE2\x96\x81",
                                          ".",
                                          ",",
                                          "?",
                                          "!",
                                          "'",
                                          "-",
                                          "0",
                                          "1",
                                          "2",
                                          "3",
                                          "4",
                                          "5",
                                          "6",
                                          "7",
                                          "8",
                                          "9",
                                          "a",
                                          "b",
                                          "c",
                                          "d",
                                          "e",
                                          "f",
                                          "g",
                                          "h",
                                          "i",
                                          "j",
                                          "k",
                                          "l",
                                          "m",
                                          "n",
                                          "o",
                                          "p",
                                          "q",
                                          "r",
                                          "s",
                                          "t",
                                          "u",
                                          "v",
                                          "w",
                                          "x",
                                          "y",
                                          "z",
                                          "A",
                                          "B",
                                          "C",
                                          "D",
                                          "E",
                                          "F",
                                          "G",
                                          "H",
                                          "I",
                                          "J",
                                          "K",
                                          "L",
                                          "M",
                                          "N",
                                          "O",
                                          "P",
                                          "Q",
                                          "R",
                                          "S",
                                          "T",
                                          "U",
                                          "V",
                                          "W",
                                          "X",
                                          "Y",
                                          "Z",
                                          "\xC3\xA9",
                                          "\xC3\xA8",
                                          "\xC3\xA0",
                                          "\xC3\xAA",
                                          "\xC3\xA7",
                                          "\xC3\xB4"};
    enum { N_SINGLES = sizeof singles / sizeof *singles };
    static const char consonants[] = "bcdfghjklmnpqrstvwxz", vowels[] = "aeiouy";
    if (i < N_SINGLES) {
        snprintf(text, PIECE_CAP, "%s", singles[i]);
        return;
    }
    i -= N_SINGLES;
    snprintf(text, PIECE_CAP, "%s", i % 2 ? "" : singles[0]);
    size_t k = i / 2;
    do { /* bijective numeration: every number gives a different word */
        size_t at = strlen(text);
        snprintf(text + at, PIECE_CAP - at, "%c%c", consonants[k % 20], vowels[k / 20 % 6]);
        k /= 20 * 6;
    } while (k-- > 0);
}

/* Protobuf: a field's key and, for text and messages, its length; all under 128 or written as
 * varints. */
static enum dg_err put_varint(struct dg_buf *out, uint64_t value)
{
    enum dg_err err = DG_OK;
    for (; value >= 128 && !err; value >>= 7)
        err = dg_buf_append_byte(out, (char)(value | 128));
    return err ? err : dg_buf_append_byte(out, (char)value);
}

/* SentencePiece { 1 piece, 2 score, 3 type } as field 1 of ModelProto. */
static enum dg_err put_piece(struct dg_buf *out, const char *text, float score, int type)
{
    size_t len = strlen(text);
    uint8_t bits[4];
    memcpy(bits, &score, sizeof bits);
    enum dg_err err = put_varint(out, 1 << 3 | 2);
    if (!err)
        err = put_varint(out, 2 + len + 5 + 2);
    if (!err)
        err = put_varint(out, 1 << 3 | 2);
    if (!err)
        err = put_varint(out, len);
    if (!err)
        err = dg_buf_append(out, text, len);
    if (!err)
        err = put_varint(out, 2 << 3 | 5);
    if (!err)
        err = dg_buf_append(out, bits, sizeof bits);
    if (!err)
        err = put_varint(out, 3 << 3);
    return err ? err : put_varint(out, (uint64_t)type);
}

/* trainer_spec { 3 model_type = unigram }, normalizer_spec { 1 name = "identity" }. */
static enum dg_err put_specs(struct dg_buf *out)
{
    static const char specs[] = {2 << 3 | 2, 2,   3 << 3, 1,   3 << 3 | 2, 10,  1 << 3 | 2, 8,
                                 'i',        'd', 'e',    'n', 't',        'i', 't',        'y'};
    return dg_buf_append(out, specs, sizeof specs);
}

static size_t count_languages(const char *languages)
{
    size_t n = languages && *languages;
    for (; languages && *languages; languages++)
        n += *languages == ',';
    return n;
}

/* The words for the languages, with ids from `id` on. */
static void put_languages(struct dg_json_out *out, const struct dg_mkmodel *options, size_t id)
{
    const bool is_opus = options->blueprint.lang_rule == DG_LANG_NONE;
    for (const char *at = options->languages; at && *at;) {
        int len = (int)strcspn(at, ",");
        const char *around = is_opus ? ">>" : memchr(at, '_', (size_t)len) ? "" : "__";
        char word[64];
        snprintf(word, sizeof word, "%s%.*s%s", around, len, at, is_opus ? "<<" : around);
        dg_json_out_put_uint(out, word, id++);
        at += len;
        at += *at == ',';
    }
}

static enum dg_err print_vocabulary(struct dg_buf *spm, struct dg_buf *json,
                                    const struct dg_mkmodel *options, size_t V)
{
    const size_t n_languages = count_languages(options->languages);
    struct dg_json_out out;
    dg_json_out_init(&out, json);
    dg_json_out_open(&out, '{');
    dg_json_out_put_uint(&out, "</s>", EOS);
    dg_json_out_put_uint(&out, "<unk>", UNK);
    enum dg_err err = put_piece(spm, "<unk>", 0, 2);
    if (!err)
        err = put_piece(spm, "<s>", 0, 3);
    if (!err)
        err = put_piece(spm, "</s>", 0, 3);
    for (size_t i = 0; i + 3 + n_languages < V && !err; i++) {
        char text[PIECE_CAP];
        piece_text(i, text);
        err = put_piece(spm, text, -2.0f - logf((float)i + 1), 1);
        dg_json_out_put_uint(&out, text, i + 2);
    }
    put_languages(&out, options, V - 1 - n_languages);
    dg_json_out_put_uint(&out, "<pad>", V - 1);
    dg_json_out_close(&out, '}');
    if (!err)
        err = dg_json_out_end(&out);
    return err ? err : put_specs(spm);
}

static enum dg_err save_file(const char *dir, const char *name, const struct dg_buf *text,
                             struct dg_error *error)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return dg_file_out_save(path, 0644, text->ptr, text->len, error);
}

static enum dg_err save_vocabulary(const char *dir, const char *spm_name, const char *json_name,
                                   const struct dg_mkmodel *options, size_t V,
                                   struct dg_error *error)
{
    struct dg_buf spm, json;
    dg_buf_init(&spm, TEXT_MAX);
    dg_buf_init(&json, TEXT_MAX);
    enum dg_err err = print_vocabulary(&spm, &json, options, V);
    if (!err)
        err = save_file(dir, spm_name, &spm, error);
    if (!err && json_name)
        err = save_file(dir, json_name, &json, error);
    dg_buf_deinit(&spm);
    dg_buf_deinit(&json);
    return err;
}

/* Writes one vocab.json when both sides have the same words, as in Marian's models; otherwise one
 * for each side. */
static enum dg_err save_vocabularies(const char *dir, const struct dg_mkmodel *options,
                                     const struct dg_blueprint *bp, struct dg_error *error)
{
    bool separate = bp->encoder.V != bp->decoder.V;
    enum dg_err err =
        save_vocabulary(dir, "source.spm", "vocab.json", options, bp->encoder.V, error);
    if (!err)
        err = save_vocabulary(dir, "target.spm", separate ? "target_vocab.json" : NULL, options,
                              bp->decoder.V, error);
    struct dg_buf config;
    dg_buf_init(&config, 1024);
    if (!err)
        err = dg_buf_printf(&config, "{\"source_lang\": \"fr\", \"target_lang\": \"en\"%s}\n",
                            separate ? ", \"separate_vocabs\": true" : "");
    if (!err)
        err = save_file(dir, "tokenizer_config.json", &config, error);
    dg_buf_deinit(&config);
    return err;
}

/* ---- The directory --------------------------------------------------------------------------- */

enum dg_err dg_mkmodel(const char *dir, const struct dg_mkmodel *options, struct dg_error *error)
{
    struct dg_blueprint bp = options->blueprint;
    dg_mkmodel_complete(&bp);
    enum dg_err err = dg_blueprint_check(&bp, error);
    if (err)
        return err;
    if (mkdir(dir, 0755) != 0)
        return dg_error_set(error, dg_err_from_errno(errno), "cannot make %s: %s", dir,
                            strerror(errno));
    struct dg_buf config;
    dg_buf_init(&config, TEXT_MAX);
    err = is_plain_marian(&bp) ? print_marian(&bp, &config) : dg_config_print(&bp, &config);
    if (!err)
        err = save_file(dir, "config.json", &config, error);
    dg_buf_deinit(&config);
    if (!err)
        err = save_vocabularies(dir, options, &bp, error);
    return err ? err : save_weights(dir, options, &bp, error);
}
