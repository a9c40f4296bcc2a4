/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* fairseq numbers its own tokens first, then the pieces of the SentencePiece model, of which the
 * first three are <unk>, <s> and </s>:
 *
 *     XLM-RoBERTa   <s> <pad> </s> <unk>
 *                   then pieces 3, 4, ... (their number plus 1), <mask>
 *     CamemBERT     <s>NOTUSED <pad> </s>NOTUSED <unk> <unk>NOTUSED
 *                   then pieces 1, 2, ... (their number plus 4: <s> is 5), <mask>
 *
 * The tokenizer.json describes the model's normalisation by steps of its own: the table of
 * replacements, no space at the end, runs of spaces squeezed, a mark before each word. */
#include "import/format/fairseq_vocab.h"
#include "base/json/json_file.h"
#include "base/json/json_out.h"
#include "base/memory/mem.h"

#include <sodium.h>

enum { CONFIG_MAX = 4 << 20, OUT_MAX = 64 << 20, PIECES_MAX = 1 << 20 };

static const char spm_name[] = "sentencepiece.bpe.model";
#define SPACE_MARK "\xE2\x96\x81"

/* The differences between the two. */
struct layout {
    const char *const *before; /* [n_before] words that the model lacks, or has with other ids */
    size_t n_before;
    uint32_t first;    /* the first piece after them */
    unsigned cls, sep; /* ids of <s> and </s> */
};

static const char *const xlmr_words[] = {"<s>", "<pad>", "</s>", "<unk>"};
static const char *const camembert_words[] = {"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>",
                                              "<unk>NOTUSED"};
static const struct layout layouts[] = {
    [DG_FAIRSEQ_XLM_ROBERTA] = {xlmr_words, 4, 3, 0, 2},
    [DG_FAIRSEQ_CAMEMBERT] = {camembert_words, 5, 1, 5, 6},
};

enum { PAD_ID = 1, UNK_ID = 3 };

/* ---- Refused vocabularies -------------------------------------------------------------------- */

static enum dg_err check(const struct dg_spm *spm, struct dg_error *error)
{
    static const char *const first[] = {"<unk>", "<s>", "</s>"};
    if (dg_spm_kind(spm) != DG_SPM_UNIGRAM)
        return dg_error_set(error, DG_ERR_UNSUPPORTED, "it cuts by %s, expected unigrams",
                            dg_spm_kind_name(dg_spm_kind(spm)));
    if (dg_spm_size(spm) > PIECES_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "it has %u pieces, expected at most %d",
                            dg_spm_size(spm), PIECES_MAX);
    for (uint32_t i = 0; i < 3; i++)
        if (i >= dg_spm_size(spm) || !dg_span_eq(dg_spm_piece(spm, i), dg_span_cstr(first[i])))
            return dg_error_set(error, DG_ERR_UNSUPPORTED,
                                "piece %u is not %s, as fairseq's models have it", i, first[i]);
    for (uint32_t i = 3; i < dg_spm_size(spm); i++)
        if (dg_spm_type(spm, i) == DG_PIECE_UNUSED)
            return dg_error_set(
                error, DG_ERR_UNSUPPORTED,
                "piece %u is marked as never used, which tokenizer.json cannot express", i);
    return DG_OK;
}

/* ---- Parts of the file ----------------------------------------------------------------------- */

static void put_added(struct dg_json_out *out, struct dg_span content, size_t id, bool lstrip,
                      bool special)
{
    dg_json_out_open(out, '{');
    dg_json_out_put_uint(out, "id", id);
    dg_json_out_put_string(out, "content", content);
    dg_json_out_put_bool(out, "single_word", false);
    dg_json_out_put_bool(out, "lstrip", lstrip);
    dg_json_out_put_bool(out, "rstrip", false);
    dg_json_out_put_bool(out, "normalized", false);
    dg_json_out_put_bool(out, "special", special);
    dg_json_out_close(out, '}');
}

/* Writes the tokens that are never cut: fairseq's own, the model's special ones, and the mask,
 * which includes the space before it. */
static void put_all_added(struct dg_json_out *out, const struct dg_spm *spm,
                          const struct layout *layout, size_t mask)
{
    dg_json_out_put_open(out, "added_tokens", '[');
    put_added(out, DG_SPAN("<s>"), layout->cls, false, true);
    put_added(out, DG_SPAN("<pad>"), PAD_ID, false, true);
    put_added(out, DG_SPAN("</s>"), layout->sep, false, true);
    put_added(out, DG_SPAN("<unk>"), UNK_ID, false, true);
    for (uint32_t i = 3; i < dg_spm_size(spm); i++)
        if (dg_spm_type(spm, i) == DG_PIECE_CONTROL || dg_spm_type(spm, i) == DG_PIECE_USER_DEFINED)
            put_added(out, dg_spm_piece(spm, i), layout->n_before + i - layout->first, false,
                      dg_spm_type(spm, i) == DG_PIECE_CONTROL);
    put_added(out, DG_SPAN("<mask>"), mask, true, true);
    dg_json_out_close(out, ']');
}

static enum dg_err put_normalizer(struct dg_json_out *out, const struct dg_spm *spm)
{
    const struct dg_span map = dg_spm_charsmap(spm);
    dg_json_out_put_open(out, "normalizer", '{');
    dg_json_out_put_cstr(out, "type", "Sequence");
    dg_json_out_put_open(out, "normalizers", '[');
    if (map.len) {
        const size_t cap = sodium_base64_encoded_len(map.len, sodium_base64_VARIANT_ORIGINAL);
        char *text = dg_try_malloc(cap);
        if (!text)
            return DG_ERR_NOMEM;
        sodium_bin2base64(text, cap, (const unsigned char *)map.ptr, map.len,
                          sodium_base64_VARIANT_ORIGINAL);
        dg_json_out_open(out, '{');
        dg_json_out_put_cstr(out, "type", "Precompiled");
        dg_json_out_put_cstr(out, "precompiled_charsmap", text);
        dg_json_out_close(out, '}');
        dg_free(text);
    }
    dg_json_out_raw(out, DG_SPAN("{\"type\":\"Strip\",\"strip_left\":false,\"strip_right\":true}"));
    dg_json_out_raw(
        out,
        DG_SPAN("{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\"" SPACE_MARK
                "\"}"));
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
    return DG_OK;
}

static void put_metaspace(struct dg_json_out *out, const char *key, const struct dg_spm *spm)
{
    dg_json_out_put_open(out, key, '{');
    dg_json_out_put_cstr(out, "type", "Metaspace");
    dg_json_out_put_cstr(out, "replacement", SPACE_MARK);
    dg_json_out_put_cstr(out, "prepend_scheme", dg_spm_adds_space(spm) ? "always" : "never");
    dg_json_out_put_bool(out, "split", true);
    dg_json_out_close(out, '}');
}

/* Writes a template: <s> A </s>, or <s> A </s> </s> B </s>. */
static void put_template(struct dg_json_out *out, const char *key, const char *parts)
{
    dg_json_out_put_open(out, key, '[');
    for (; *parts; parts++) {
        const bool is_sign = *parts == '<' || *parts == '>';
        const char text[2] = {*parts, '\0'};
        dg_json_out_open(out, '{');
        dg_json_out_put_open(out, is_sign ? "SpecialToken" : "Sequence", '{');
        dg_json_out_put_cstr(out, "id", *parts == '<' ? "<s>" : *parts == '>' ? "</s>" : text);
        dg_json_out_put_uint(out, "type_id", 0);
        dg_json_out_close(out, '}');
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
}

static void put_sign(struct dg_json_out *out, const char *name, unsigned id)
{
    dg_json_out_put_open(out, name, '{');
    dg_json_out_put_cstr(out, "id", name);
    dg_json_out_put_open(out, "ids", '[');
    dg_json_out_uint(out, id);
    dg_json_out_close(out, ']');
    dg_json_out_put_open(out, "tokens", '[');
    dg_json_out_cstr(out, name);
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
}

static void put_frame(struct dg_json_out *out, const struct layout *layout)
{
    dg_json_out_put_open(out, "post_processor", '{');
    dg_json_out_put_cstr(out, "type", "TemplateProcessing");
    put_template(out, "single", "<A>");
    put_template(out, "pair", "<A>>B>");
    dg_json_out_put_open(out, "special_tokens", '{');
    put_sign(out, "<s>", layout->cls);
    put_sign(out, "</s>", layout->sep);
    dg_json_out_close(out, '}');
    dg_json_out_close(out, '}');
}

static void put_word(struct dg_json_out *out, struct dg_span word, double score)
{
    dg_json_out_open(out, '[');
    dg_json_out_string(out, word);
    dg_json_out_real(out, score, 17);
    dg_json_out_close(out, ']');
}

static void put_model(struct dg_json_out *out, const struct dg_spm *spm,
                      const struct layout *layout)
{
    dg_json_out_put_open(out, "model", '{');
    dg_json_out_put_cstr(out, "type", "Unigram");
    dg_json_out_put_uint(out, "unk_id", UNK_ID);
    dg_json_out_put_open(out, "vocab", '[');
    for (size_t i = 0; i < layout->n_before; i++)
        put_word(out, dg_span_cstr(layout->before[i]), i == 4 ? -100.0 : 0.0);
    for (uint32_t i = layout->first; i < dg_spm_size(spm); i++)
        put_word(out, dg_spm_piece(spm, i), (double)dg_spm_score(spm, i));
    put_word(out, DG_SPAN("<mask>"), 0.0);
    dg_json_out_close(out, ']');
    dg_json_out_put_bool(out, "byte_fallback", dg_spm_has_byte_fallback(spm));
    dg_json_out_close(out, '}');
}

enum dg_err dg_fairseq_vocab_write(const struct dg_spm *spm, enum dg_fairseq_vocab kind,
                                   struct dg_buf *buf, struct dg_error *error)
{
    const struct layout *layout = &layouts[kind];
    struct dg_json_out out;
    enum dg_err err = check(spm, error);
    if (err)
        return err;
    dg_json_out_init(&out, buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "version", "1.0");
    put_all_added(&out, spm, layout, layout->n_before + dg_spm_size(spm) - layout->first);
    err = put_normalizer(&out, spm);
    if (err)
        return err;
    put_metaspace(&out, "pre_tokenizer", spm);
    put_frame(&out, layout);
    put_metaspace(&out, "decoder", spm);
    put_model(&out, spm, layout);
    dg_json_out_close(&out, '}');
    return dg_json_out_end(&out);
}

/* ---- In an import ---------------------------------------------------------------------------- */

enum dg_err dg_fairseq_vocab_kind(struct dg_import *import, const char *dir,
                                  enum dg_fairseq_vocab *kind, struct dg_error *error)
{
    const struct dg_json_limits limits = {
        .max_bytes = CONFIG_MAX, .max_depth = 32, .max_values = 100 * 1000};
    struct dg_json *json = NULL;
    struct dg_span type = DG_SPAN("");
    *kind = DG_FAIRSEQ_NONE;
    if (!dg_blueprint_family(&import->bp)->has_head || !dg_import_has(dir, spm_name) ||
        dg_import_has(dir, "tokenizer.json"))
        return DG_OK;
    const char *path = dg_import_path(import, dir, "config.json");
    if (!path)
        return DG_ERR_NOMEM;
    enum dg_err err = dg_json_file_read(path, &limits, error, &json);
    if (err)
        return err;
    err = dg_json_get_string(json, "model_type", DG_JSON_REQUIRED, error, &type);
    if (!err)
        *kind = dg_span_eq(type, DG_SPAN("xlm-roberta")) ? DG_FAIRSEQ_XLM_ROBERTA
                : dg_span_eq(type, DG_SPAN("camembert")) ? DG_FAIRSEQ_CAMEMBERT
                                                         : DG_FAIRSEQ_NONE;
    dg_json_free(json);
    return err ? dg_error_wrap(error, err, "%s", path) : DG_OK;
}

enum dg_err dg_fairseq_vocab_add(struct dg_import *import, const char *dir,
                                 enum dg_fairseq_vocab kind, struct dg_error *error)
{
    struct dg_spm *spm = NULL;
    struct dg_buf text;
    const char *path = dg_import_path(import, dir, spm_name);
    if (!path)
        return DG_ERR_NOMEM;
    enum dg_err err = dg_spm_open(path, error, &spm);
    if (err)
        return err;
    dg_buf_init(&text, OUT_MAX);
    const size_t n = dg_spm_size(spm) + layouts[kind].n_before - layouts[kind].first + 1;
    if (n > import->bp.encoder.V)
        err =
            dg_error_set(error, DG_ERR_RANGE, "it makes %zu words, but the embedding has %zu rows",
                         n, import->bp.encoder.V);
    if (!err)
        err = dg_fairseq_vocab_write(spm, kind, &text, error);
    if (err && err != DG_ERR_NOMEM)
        dg_error_wrap(error, err, "%s", path);
    if (!err)
        err = dg_import_make_file(import, "tokenizer.json", dg_buf_span(&text), error);
    dg_buf_deinit(&text);
    dg_spm_close(spm);
    return err;
}
