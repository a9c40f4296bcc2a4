/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* CTranslate2's vocabularies: lists in .json or .txt, whose positions are the ids, and the rules
 * for special tokens in config.json (before version 6: in scalar variables). */
#include "base/json/json.h"
#include "base/json/json_out.h"
#include "base/memory/buf.h"
#include "base/memory/map.h"
#include "base/memory/utf8.h"
#include "import/format/ct2.h"
#include "tokenize/tokenizer.h"

#include <stdio.h>
#include <string.h>

enum {
    VOCAB_MAX = 64 << 20,
    JSON_MAX = 96 << 20,
    WORDS_MAX = 1 << 22,
    CONFIG_MAX = 1 << 20,
    TOKEN_CAP = 128,
};

/* What the file states about special tokens. */
struct rules {
    char unk[TOKEN_CAP], bos[TOKEN_CAP], eos[TOKEN_CAP], start[TOKEN_CAP];
    bool source_bos, source_eos;
};

/* ---- Rules ----------------------------------------------------------------------------------- */

static enum dg_err read_token(const struct dg_json *json, const char *name, char *token,
                              struct dg_error *error)
{
    struct dg_span text = {0};
    enum dg_err err = dg_json_get_string(json, name, DG_JSON_OPTIONAL, error, &text);
    if (err || !text.ptr)
        return err;
    if (text.len >= TOKEN_CAP || memchr(text.ptr, '\0', text.len))
        return dg_error_set(error, DG_ERR_FORMAT, "field '%s' is not a token", name);
    memcpy(token, text.ptr, text.len);
    token[text.len] = '\0';
    return DG_OK;
}

static enum dg_err read_json_rules(struct rules *rules, struct dg_import *import,
                                   const struct dg_json *json, struct dg_error *error)
{
    double epsilon = 0;
    enum dg_err err = read_token(json, "unk_token", rules->unk, error);
    if (!err)
        err = read_token(json, "bos_token", rules->bos, error);
    if (!err)
        err = read_token(json, "eos_token", rules->eos, error);
    snprintf(rules->start, TOKEN_CAP, "%s", rules->bos);
    const struct dg_json *start = dg_json_get(json, "decoder_start_token");
    if (start && dg_json_type(start) == DG_JSON_NULL)
        snprintf(rules->start, TOKEN_CAP, "%s", rules->eos);
    else if (!err)
        err = read_token(json, "decoder_start_token", rules->start, error);
    if (!err)
        err = dg_json_get_bool(json, "add_source_bos", DG_JSON_OPTIONAL, error, &rules->source_bos);
    if (!err)
        err = dg_json_get_bool(json, "add_source_eos", DG_JSON_OPTIONAL, error, &rules->source_eos);
    if (!err)
        err = dg_json_get_real(json, "layer_norm_epsilon", DG_JSON_OPTIONAL, 1e-12, 0.1, error,
                               &epsilon);
    if (!err && epsilon > 0)
        import->bp.norm_epsilon = (float)epsilon;
    return err;
}

/* Text stored as a vector of bytes. */
static void read_bytes(const struct dg_ct2 *file, const char *name, char *token)
{
    const struct dg_ct2_var *var = dg_ct2_find(file, name);
    if (!var || var->dtype != DG_DTYPE_I8 || var->len >= TOKEN_CAP ||
        memchr(var->bytes, 0, var->len))
        return;
    memcpy(token, var->bytes, var->len);
    token[var->len] = '\0';
}

static bool flag(const struct dg_ct2 *file, const char *name, bool otherwise)
{
    double value;
    return dg_ct2_scalar(file, name, &value) ? value != 0 : otherwise;
}

static enum dg_err read_rules(struct rules *rules, struct dg_import *import, struct dg_error *error)
{
    const struct dg_ct2_import *ct2 = import->ctx;
    const struct dg_ct2 *file = &ct2->file;
    struct dg_bundle_data data;
    struct dg_json *json = NULL;
    char name[64];
    *rules = (struct rules){"<unk>", "<s>", "</s>", "<s>", false, false};
    snprintf(name, sizeof name, "%sconfig.json", ct2->folder);
    if (file->version < 6) {
        read_bytes(file, "unk_token", rules->unk);
        read_bytes(file, "bos_token", rules->bos);
        read_bytes(file, "eos_token", rules->eos);
        rules->source_bos = flag(file, "with_source_bos", false);
        rules->source_eos = flag(file, "with_source_eos", false);
        bool bos =
            flag(file, "with_target_bos", true) && !flag(file, "user_decoder_start_tokens", false);
        memcpy(rules->start, bos ? rules->bos : rules->eos, TOKEN_CAP);
        return DG_OK;
    }
    if (!dg_bundle_has(&ct2->bundle, name))
        return DG_OK;
    enum dg_err err = dg_bundle_read(&ct2->bundle, name, CONFIG_MAX, &data, error);
    if (err)
        return err;
    const struct dg_json_limits limits = {
        .max_bytes = CONFIG_MAX, .max_depth = 16, .max_values = 100 * 1000};
    err = dg_json_parse(dg_bundle_data_span(&data), &limits, error, &json);
    if (!err)
        err = read_json_rules(rules, import, json, error);
    dg_json_free(json);
    dg_bundle_data_free(&data);
    return err ? dg_error_wrap(error, err, "%s", name) : DG_OK;
}

/* ---- Lists ----------------------------------------------------------------------------------- */

struct list {
    const char *path;       /* for sentences */
    struct dg_arena *arena; /* keeps the words that are keys */
    struct dg_map ids;      /* word to id; the first of two equal words has it, as in CTranslate2 */
    struct dg_json_out out;
    size_t n, n_languages;
};

static enum dg_err add_word(struct list *list, struct dg_span word, struct dg_error *error)
{
    size_t bad;
    if (list->n == WORDS_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "%s: more than %d words", list->path, WORDS_MAX);
    if (!dg_utf8_valid(word, &bad) || (word.len && memchr(word.ptr, '\0', word.len)))
        return dg_error_set(error, DG_ERR_UTF8, "%s: word %zu is not UTF-8 text without NUL",
                            list->path, list->n);
    size_t id = list->n++;
    if (dg_map_get(&list->ids, word, NULL))
        return DG_OK;
    list->n_languages +=
        !dg_span_starts(word, DG_SPAN(">>")) && dg_tokenizer_language_code(word).len > 0;
    struct dg_span kept = dg_arena_copy(list->arena, word);
    if (!kept.ptr)
        return DG_ERR_NOMEM;
    dg_json_out_key_span(&list->out, kept);
    dg_json_out_uint(&list->out, id);
    return dg_map_put(&list->ids, kept, id);
}

/* Whether every line ends with a carriage return. Only then does it belong to the line's end. */
static bool all_end_in_cr(struct dg_span text)
{
    bool all = text.len > 0;
    for (size_t at = 0; at < text.len && all;) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        size_t stop = end ? (size_t)(end - text.ptr) : text.len;
        all = stop > at && text.ptr[stop - 1] == '\r';
        at = stop + 1;
    }
    return all;
}

static enum dg_err read_lines(struct list *list, struct dg_span text, struct dg_error *error)
{
    size_t cr = all_end_in_cr(text) ? 1 : 0;
    enum dg_err err = DG_OK;
    for (size_t at = 0; at < text.len && !err;) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        size_t stop = end ? (size_t)(end - text.ptr) : text.len;
        err = add_word(list, dg_span_sub(text, at, stop - at - cr), error);
        at = stop + 1;
    }
    return err;
}

static enum dg_err read_array(struct list *list, const struct dg_json *json, struct dg_error *error)
{
    enum dg_err err = DG_OK;
    if (dg_json_type(json) != DG_JSON_ARRAY)
        return dg_error_set(error, DG_ERR_FORMAT, "%s: read %s, expected an array of words",
                            list->path, dg_json_type_name(dg_json_type(json)));
    for (size_t i = 0; i < dg_json_len(json) && !err; i++) {
        struct dg_span word;
        err = dg_json_string(dg_json_at(json, i), DG_SPAN("word"), error, &word);
        if (err)
            return dg_error_wrap(error, err, "%s", list->path);
        err = add_word(list, word, error);
    }
    return err;
}

static enum dg_err read_words(struct list *list, const struct dg_bundle_data *data, bool is_json,
                              struct dg_error *error)
{
    const struct dg_json_limits limits = {
        .max_bytes = VOCAB_MAX, .max_depth = 2, .max_values = WORDS_MAX + 1};
    struct dg_json *json = NULL;
    if (!is_json)
        return read_lines(list, dg_bundle_data_span(data), error);
    enum dg_err err = dg_json_parse(dg_bundle_data_span(data), &limits, error, &json);
    if (err)
        return dg_error_wrap(error, err, "%s", list->path);
    err = read_array(list, json, error);
    dg_json_free(json);
    return err;
}

static int32_t id_of(const struct list *list, const char *word)
{
    uint64_t id;
    return dg_map_get(&list->ids, dg_span_cstr(word), &id) ? (int32_t)id : DG_ID_NONE;
}

/* ---- One side -------------------------------------------------------------------------------- */

struct side {
    const char *stem; /* "shared", "source", "target" */
    const char *json; /* the name of the file to make */
    size_t V, n_languages;
    int32_t unk, bos, eos, start;
};

/* Finds "model/source_vocabulary.json" or .txt; tries the .json first. */
static bool find_list(const struct dg_ct2_import *ct2, const char *stem, char name[128])
{
    static const char *const ends[] = {"json", "txt"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(name, 128, "%s%s_vocabulary.%s", ct2->folder, stem, ends[i]);
        if (dg_bundle_has(&ct2->bundle, name))
            return true;
    }
    return false;
}

static enum dg_err check_side(struct side *side, const struct list *list, const struct rules *rules,
                              struct dg_error *error)
{
    side->unk = id_of(list, rules->unk);
    side->bos = id_of(list, rules->bos);
    side->eos = id_of(list, rules->eos);
    side->start = id_of(list, rules->start);
    if (side->start == DG_ID_NONE)
        side->start = side->unk;
    side->n_languages = list->n_languages;
    if (list->n != side->V)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "%s has %zu words, but the embedding has %zu rows", list->path, list->n,
                            side->V);
    if (side->eos == DG_ID_NONE)
        return dg_error_set(error, DG_ERR_FORMAT, "%s: there is no end token %s", list->path,
                            rules->eos);
    return DG_OK;
}

static enum dg_err fill_side(struct dg_import *import, struct side *side, struct list *list,
                             const struct rules *rules, const struct dg_bundle_data *data,
                             struct dg_buf *text, struct dg_error *error)
{
    dg_json_out_init(&list->out, text);
    dg_json_out_open(&list->out, '{');
    enum dg_err err =
        read_words(list, data, dg_span_ends(dg_span_cstr(list->path), DG_SPAN("json")), error);
    if (!err && id_of(list, rules->unk) == DG_ID_NONE)
        err = add_word(list, dg_span_cstr(rules->unk), error);
    dg_json_out_close(&list->out, '}');
    if (!err)
        err = dg_json_out_end(&list->out);
    if (!err)
        err = check_side(side, list, rules, error);
    return err ? err : dg_import_make_file(import, side->json, dg_buf_span(text), error);
}

static enum dg_err read_side(struct dg_import *import, struct side *side, const struct rules *rules,
                             struct dg_error *error)
{
    const struct dg_ct2_import *ct2 = import->ctx;
    char name[128];
    struct dg_bundle_data data;
    struct dg_buf text;
    if (!find_list(ct2, side->stem, name))
        return dg_error_set(error, DG_ERR_NOT_FOUND, "there is no %s_vocabulary.json or .txt in %s",
                            side->stem, ct2->bundle.dir);
    enum dg_err err = dg_bundle_read(&ct2->bundle, name, VOCAB_MAX, &data, error);
    if (err)
        return err;
    struct list list = {.path = name, .arena = &import->arena};
    dg_map_init(&list.ids, WORDS_MAX);
    dg_buf_init(&text, JSON_MAX);
    err = fill_side(import, side, &list, rules, &data, &text, error);
    dg_buf_deinit(&text);
    dg_map_deinit(&list.ids);
    dg_bundle_data_free(&data);
    return err;
}

/* ---- Splitting ------------------------------------------------------------------------------- */

static enum dg_err add_spm(struct dg_import *import, const char *from, const char *to,
                           struct dg_error *error)
{
    const struct dg_ct2_import *ct2 = import->ctx;
    struct dg_bundle_data data;
    enum dg_err err = dg_bundle_read(&ct2->bundle, from, VOCAB_MAX, &data, error);
    if (err)
        return err;
    err = dg_import_make_file(import, to, dg_bundle_data_span(&data), error);
    dg_bundle_data_free(&data);
    return err;
}

/* CTranslate2 itself never splits text; converters often leave the SentencePiece model next to it.
 */
static enum dg_err add_splitter(struct dg_import *import, struct dg_error *error)
{
    static const char *const names[] = {
        "source.spm",      "sentencepiece.model", "spiece.model",           "spm.model",
        "tokenizer.model", "vocab.spm",           "sentencepiece.bpe.model"};
    const struct dg_ct2_import *ct2 = import->ctx;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!dg_bundle_has(&ct2->bundle, names[i]))
            continue;
        enum dg_err err = add_spm(import, names[i], "source.spm", error);
        if (!err && i == 0 && dg_bundle_has(&ct2->bundle, "target.spm"))
            err = add_spm(import, "target.spm", "target.spm", error);
        return err;
    }
    import->note =
        "no SentencePiece model came with it, so text cannot be split into its words: put "
        "source.spm (and target.spm) into the new directory, or use translate --ids";
    return DG_OK;
}

/* ---- Languages ------------------------------------------------------------------------------- */

/* True for M2M100 and NLLB. The files do not state the kind, but in both there are several tokens
 * like __fr__ or fra_Latn on both sides, and a decoder that starts with the end token. */
static bool names_languages(const struct dg_import *import, const struct rules *rules,
                            const struct side *shared)
{
    return shared->n_languages > 1 && import->bp.start == DG_START_TOKEN &&
           strcmp(rules->start, rules->eos) == 0;
}

enum dg_err dg_ct2_force_first(struct dg_import *import, struct dg_span word,
                               struct dg_error *error)
{
    const struct dg_json_limits limits = {
        .max_bytes = JSON_MAX, .max_depth = 2, .max_values = WORDS_MAX + 1};
    struct dg_json *json = NULL;
    struct dg_span words = {0};
    int64_t id = DG_ID_NONE;
    for (size_t i = 0; i < import->n_files; i++) /* the target's files come after the source's */
        if (dg_span_ends(dg_span_cstr(import->files[i].name), DG_SPAN("vocab.json")))
            words = import->files[i].bytes;
    enum dg_err err = dg_json_parse(words, &limits, error, &json);
    struct dg_json_iter iter = dg_json_iter(json);
    const struct dg_json *value;
    struct dg_span key;
    while (!err && dg_json_next(&iter, &key, &value))
        if (dg_span_eq(key, word))
            err = dg_json_int(value, key, 0, WORDS_MAX - 1, error, &id);
    dg_json_free(json);
    if (!err && (id == DG_ID_NONE || dg_tokenizer_language_code(word).len == 0))
        err = dg_error_set(
            error, DG_ERR_UNSUPPORTED,
            "'%.*s' is not a word of the vocabulary that names a language (__fr__, fra_Latn)",
            word.len > 40 ? 40 : DG_SPAN_FMT(word));
    if (!err)
        import->bp.forced_bos_id = (int32_t)id;
    return err;
}

/* ---- All together ---------------------------------------------------------------------------- */

/* True when the tokenizer must put the end token after the source. Converters of Hugging Face
 * models leave that to the tokenizer, and start the decoder with the end token. */
static bool source_ends(const struct dg_import *import, const struct rules *rules)
{
    return rules->source_eos || import->bp.start == DG_START_ZERO ||
           strcmp(rules->start, rules->eos) == 0;
}

static enum dg_err add_habits(struct dg_import *import, const struct rules *rules, bool shared,
                              struct dg_error *error)
{
    char text[128];
    bool ends = source_ends(import, rules);
    if (shared && ends)
        return DG_OK;
    snprintf(text, sizeof text, "{\"separate_vocabs\": %s, \"add_eos_token\": %s}\n",
             shared ? "false" : "true", ends ? "true" : "false");
    return dg_import_make_file(import, "tokenizer_config.json", dg_span_cstr(text), error);
}

enum dg_err dg_ct2_vocabulary(struct dg_import *import, struct dg_error *error)
{
    const struct dg_ct2_import *ct2 = import->ctx;
    struct dg_blueprint *bp = &import->bp;
    struct rules rules;
    char name[128];
    bool shared = find_list(ct2, "shared", name);
    struct side source = {shared ? "shared" : "source", "vocab.json", bp->encoder.V, 0, 0, 0, 0, 0};
    struct side target = {"target", "target_vocab.json", bp->decoder.V, 0, 0, 0, 0, 0};
    enum dg_err err = read_rules(&rules, import, error);
    if (!err && rules.source_bos)
        err =
            dg_error_set(error, DG_ERR_UNSUPPORTED,
                         "the model wants %s before the source, which is not supported", rules.bos);
    if (!err)
        err = read_side(import, &source, &rules, error);
    if (!err && !shared)
        err = read_side(import, &target, &rules, error);
    if (!err)
        err = add_habits(import, &rules, shared, error);
    if (err)
        return err;
    const struct side *out = shared ? &source : &target;
    bp->unk_id = out->unk;
    bp->bos_id = out->bos;
    bp->eos_id = out->eos;
    bp->start_id = bp->start == DG_START_ZERO ? DG_ID_NONE : out->start;
    if (shared && names_languages(import, &rules, &source))
        bp->lang_rule = DG_LANG_SOURCE_FIRST;
    return add_splitter(import, error);
}
