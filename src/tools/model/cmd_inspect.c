/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman inspect DIR: prints what a model directory contains, as a card for people or as JSON. It
 * first collects everything in one struct, then prints it with one of two printers. */
#include "tools/tools.h"

#include "base/json/json_file.h"
#include "base/json/json_out.h"
#include "base/memory/buf.h"
#include "base/option/opt.h"
#include "engine/models/langs.h"
#include "model/file/manifest.h"
#include "model/file/safetensors.h"
#include "model/layout.h"
#include "model/model_dir.h"
#include "tools/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { JSON_MAX = 64 << 20, LANG_CAP = 32, HASHES_MAX = DG_MANIFEST_MAX };

struct options {
    int help;
    bool json;
    bool tensors;
};

static const struct dg_opt_row rows[] = {
    {DG_OPT_BOOL(struct options, json), "json", .letter = 'j', .help = "one JSON object"},
    {DG_OPT_BOOL(struct options, tensors), "tensors", .letter = 't',
     .help = "list the tensors (JSON always does)"},
    DG_OPT_HELP(struct options, help),
};

static const struct dg_opt_table table = {
    .program = "dragoman inspect",
    .summary = "Prints what a model directory holds: network, sizes, memory, languages, "
               "hashes, signature.",
    DG_OPT_ROWS(rows, struct options),
    .args = "DIR",
    .args_min = 1,
    .args_max = 1,
};

struct card {
    const char *dir;
    struct dg_model *model;
    const struct dg_blueprint *bp;
    struct dg_safetensors file;
    struct dg_buf hashes; /* the text of a manifest made from the files as they are now */
    char source[LANG_CAP], target[LANG_CAP];
    char by_name[2 * DG_LANG_CODE + 8]; /* "fr to en", if only the directory's name states it */
    struct dg_langs *langs;             /* languages that a request can choose from; NULL: none */
    uint64_t n_parameters, n_matrix, n_rows; /* counts of all parameters, of those in matrices, and
                                                of rows of matrices */
    const char *manifest;                    /* one of "none", "ok", "does not match" */
    bool is_signed;
};

/* ---- Gathering ------------------------------------------------------------------------------- */

static enum dg_err on_item(void *ctx, const struct dg_layout_item *item)
{
    struct card *card = ctx;
    uint64_t n = (uint64_t)item->shape[0] * item->shape[1];
    card->n_parameters += n;
    if (item->rank == 2) {
        card->n_matrix += n;
        card->n_rows += item->shape[0];
    }
    return DG_OK;
}

static void copy_field(const struct dg_json *json, const char *name, char *out)
{
    struct dg_span text = {NULL, 0};
    if (!dg_json_get_string(json, name, DG_JSON_OPTIONAL, NULL, &text) && text.len < LANG_CAP)
        snprintf(out, LANG_CAP, "%.*s", DG_SPAN_FMT(text));
}

/* Prints the languages, if the tokenizer's configuration states them. */
static void read_languages(struct card *card)
{
    char path[4096];
    struct dg_json *json = NULL;
    const struct dg_json_limits limits = {
        .max_bytes = 4 << 20, .max_depth = 32, .max_values = 100 * 1000};
    snprintf(path, sizeof path, "%s/tokenizer_config.json", card->dir);
    if (dg_json_file_read(path, &limits, NULL, &json))
        return;
    copy_field(json, "source_lang", card->source);
    copy_field(json, "target_lang", card->target);
    dg_json_free(json);
}

/* Gets the last part of the directory's path, from which the daemon knows a model's languages. */
static void name_of(const char *dir, char name[256])
{
    size_t end = strlen(dir);
    while (end > 1 && dir[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin && dir[begin - 1] != '/')
        begin--;
    snprintf(name, 256, "%.*s", (int)(end - begin), dir + begin);
}

/* Prints the languages of a multilingual model, or those that the name states. A model without a
 * vocabulary takes only ids, and has no languages. */
static void list_languages(struct card *card)
{
    struct dg_tokenizer *tokenizer;
    struct dg_langs *langs = NULL;
    char name[256];
    if (dg_tokenizer_open(card->dir, NULL, &tokenizer) != DG_OK)
        return;
    name_of(card->dir, name);
    const struct dg_langs_opts opts = {
        .tokenizer = tokenizer, .rule = card->bp->lang_rule, .name = name};
    enum dg_err err = dg_langs_new(&langs, &opts, NULL);
    dg_tokenizer_close(tokenizer);
    if (!err && dg_langs_are_many(langs))
        card->langs = langs;
    if (!err && !card->langs && !*card->source && !*card->target) {
        const char *source = langs->sources[0].code, *target = langs->targets[0].code;
        if (*source && *target)
            snprintf(card->by_name, sizeof card->by_name, "%s to %s", source, target);
    }
    if (!card->langs)
        dg_langs_unref(langs);
}

static enum dg_err gather(struct card *card, struct dg_error *error)
{
    char path[4096];
    struct dg_weights slots;
    enum dg_err err = dg_model_open(&card->model, card->dir, error);
    if (err)
        return err;
    card->bp = dg_model_blueprint(card->model);
    err = dg_layout_weights_init(&slots, card->bp);
    if (!err) {
        err = dg_layout_visit(card->bp, &slots, on_item, card);
        dg_layout_weights_deinit(&slots);
    }
    snprintf(path, sizeof path, "%s/model.safetensors", card->dir);
    if (!err)
        err = dg_safetensors_open(&card->file, path, error);
    if (!err)
        err = dg_manifest_print(card->dir, &card->hashes, error);
    if (err)
        return err;
    read_languages(card);
    list_languages(card);
    enum dg_err match = dg_manifest_verify(card->dir, NULL, 0, NULL);
    card->manifest = match == DG_OK ? "ok" : match == DG_ERR_NOT_FOUND ? "none" : "does not match";
    snprintf(path, sizeof path, "%s/%s", card->dir, DG_MANIFEST_SIGNATURE);
    card->is_signed = access(path, F_OK) == 0;
    return DG_OK;
}

/* Returns the bytes of the weights when all have one type; I8 keeps vectors in F32 and adds a scale
 * for each row. */
static uint64_t served_bytes(const struct card *card, enum dg_dtype dtype)
{
    if (dtype != DG_DTYPE_I8)
        return card->n_parameters * dg_dtype_size(dtype);
    return card->n_matrix + 4 * (card->n_parameters - card->n_matrix) + 4 * card->n_rows;
}

static const enum dg_dtype served[] = {DG_DTYPE_F32, DG_DTYPE_F16, DG_DTYPE_I8};

/* ---- For people ------------------------------------------------------------------------------ */

static void print_rnn(const struct dg_blueprint *bp)
{
    const struct dg_rnn *rnn = &bp->rnn;
    printf("family       recurrent encoder-decoder with attention, %s, %s encoder%s%s\n",
           dg_decoder_kind_name(bp->decoder_kind), dg_rnn_encoder_name(rnn->encoder),
           rnn->norm ? ", layer norms" : "", rnn->skip ? ", skips" : "");
    printf("sizes        embeddings %zu, states %zu, layers %zu/%zu, cells %zu/%zu (further layers "
           "%zu)\n",
           bp->D, rnn->width, bp->encoder.n_layers, bp->decoder.n_layers, rnn->encoder_cells,
           rnn->base_cells, rnn->high_cells);
}

static void print_seq(const struct dg_blueprint *bp)
{
    printf("family       %s, %s cells, %s encoder",
           bp->seq.is_classifier ? "recurrent classifier" : "plain recurrent encoder-decoder",
           dg_decoder_kind_name(bp->decoder_kind),
           bp->seq.is_bidirectional ? "bidirectional" : "forward");
    if (!bp->seq.is_classifier)
        printf(", attention: %s", dg_seq_attention_name(bp->seq.attention));
    if (bp->seq.places)
        printf(" over %zu places", bp->seq.places);
    printf("\nsizes        width %zu, layers %zu/%zu\n", bp->D, bp->encoder.n_layers,
           bp->seq.is_classifier ? 0 : bp->decoder.n_layers);
}

static void print_lm(const struct dg_blueprint *bp)
{
    const struct dg_lm *lm = &bp->lm;
    printf("family       language model (decoder-only), pre-norm (%s, eps %g), %s%s\n",
           bp->norm_kind == DG_NORM_RMS ? "RMS" : "layer", (double)bp->norm_epsilon,
           lm->gated ? "gated " : "", dg_activation_name(bp->activation));
    printf("sizes        width %zu, %zu heads of %zu, %zu of keys, feed-forward %zu, layers %zu\n",
           bp->D, bp->decoder.H, lm->head, lm->kv_heads, bp->decoder.F, bp->decoder.n_layers);
    printf("positions    %s", dg_positions_name(bp->positions));
    if (bp->positions == DG_POS_ROTARY)
        printf(", theta %g", lm->rope.theta);
    printf(", context %zu\n", lm->context);
}

static void print_enc(const struct dg_blueprint *bp)
{
    printf("family       encoder-only, %s-norm (%s, eps %g), %s, head: %s",
           bp->norm_place == DG_NORM_PRE ? "pre" : "post",
           bp->norm_kind == DG_NORM_RMS ? "RMS" : "layer", (double)bp->norm_epsilon,
           dg_activation_name(bp->activation), dg_head_name(bp->enc.head));
    if (bp->enc.head == DG_HEAD_POOLED || bp->enc.head == DG_HEAD_TOKENS)
        printf(", %zu labels", bp->decoder.V);
    printf("\nsizes        width %zu, heads %zu, feed-forward %zu, layers %zu\n", bp->D,
           bp->encoder.H, bp->encoder.F, bp->encoder.n_layers);
    printf("positions    %s, %zu segments\n", dg_positions_name(bp->positions), bp->enc.n_types);
}

static void print_transformer(const struct dg_blueprint *bp)
{
    printf("family       Transformer encoder-decoder, %s-norm (%s, eps %g), %s decoder, %s\n",
           bp->norm_place == DG_NORM_PRE ? "pre" : "post",
           bp->norm_kind == DG_NORM_RMS ? "RMS" : "layer", (double)bp->norm_epsilon,
           dg_decoder_kind_name(bp->decoder_kind), dg_activation_name(bp->activation));
    printf("sizes        width %zu, heads %zu/%zu, feed-forward %zu/%zu, layers %zu/%zu\n", bp->D,
           bp->encoder.H, bp->decoder.H, bp->encoder.F, bp->decoder.F, bp->encoder.n_layers,
           bp->decoder.n_layers);
    printf("positions    %s", dg_positions_name(bp->positions));
    if (bp->relative_reach)
        printf(", relative up to %zu", bp->relative_reach);
    printf(", embedding scale %g\n", (double)bp->embedding_scale);
}

static void (*const families[])(const struct dg_blueprint *bp) = {
#define FAMILY_ROW(NAME, name) [DG_FAMILY_##NAME] = print_##name,
    DG_FAMILIES(FAMILY_ROW)
#undef FAMILY_ROW
};

static void print_side(const char *label, const struct dg_lang *langs, size_t n)
{
    size_t column = (size_t)printf("%s", label);
    for (size_t i = 0; i < n; i++) {
        if (column + strlen(langs[i].code) + 2 > 100)
            column = (size_t)printf("\n             ") - 1;
        column += (size_t)printf("%s%s", langs[i].code, i + 1 < n ? ", " : "");
    }
    printf("\n");
}

/* Prints how a request's languages are given to the network. */
static void print_languages(const struct card *card)
{
    static const char *const rules[] = {
        [DG_LANGS_FIXED] = "not told",
        [DG_LANGS_TARGET_FIRST] = "the target is told before the source",
        [DG_LANGS_SOURCE_FIRST] = "told before the source and before the target",
        [DG_LANGS_IN_WORDS] = "told in words",
        [DG_LANGS_SOURCE_LAST] = "told behind the source and before the target"};
    const struct dg_langs *langs = card->langs;
    if (!langs && *card->by_name) {
        printf("languages    %s, by the directory's name\n", card->by_name);
        return;
    }
    if (!langs) {
        printf("languages    %s to %s\n", card->source[0] ? card->source : "(not said)",
               card->target[0] ? card->target : "(not said)");
        return;
    }
    printf("languages    %zu to %zu, %s\n", langs->n_sources, langs->n_targets, rules[langs->rule]);
    print_side("  from       ", langs->sources, langs->n_sources);
    print_side("  to         ", langs->targets, langs->n_targets);
}

static void print_network(const struct card *card)
{
    const struct dg_blueprint *bp = card->bp;
    printf("model        %s\n", card->dir);
    families[bp->family](bp);
    const char *output =
        bp->tie_output ? ", the output tied to it" : ", an output matrix of its own";
    if (dg_blueprint_family(bp)->has_prompt)
        printf("vocabulary   %zu, one embedding%s\n", bp->decoder.V, output);
    else if (dg_blueprint_family(bp)->has_head)
        printf("vocabulary   %zu, one embedding\n", bp->encoder.V);
    else
        printf("vocabulary   %zu/%zu, %s%s\n", bp->encoder.V, bp->decoder.V,
               bp->tie_source_target ? "one embedding for both sides" : "an embedding a side",
               output);
    if (dg_blueprint_is_reader(bp)) {
        printf("limits       %zu tokens\n", bp->source_len_max);
    } else {
        print_languages(card);
        printf("limits       %zu tokens in, %zu out, beam %zu, length penalty %g\n",
               bp->source_len_max, bp->target_len_max, bp->n_beams, (double)bp->length_penalty);
    }
    printf("parameters   %" PRIu64 "\n", card->n_parameters);
    printf("weights      ");
    for (size_t i = 0; i < 3; i++)
        printf("%s%.1f MB as %s", i ? ", " : "", (double)served_bytes(card, served[i]) / 1e6,
               dg_dtype_name(served[i]));
    printf("; file %.1f MB\n", (double)card->file.file.len / 1e6);
}

static void print_tensors(const struct card *card)
{
    printf("\n%-56s %-5s %-16s %s\n", "tensor", "type", "shape", "bytes");
    for (size_t i = 0; i < card->file.n_entries; i++) {
        const struct dg_safetensors_entry *entry = &card->file.entries[i];
        char shape[96] = "";
        for (unsigned d = 0; d < entry->rank; d++) {
            size_t at = strlen(shape);
            snprintf(shape + at, sizeof shape - at, "%s%zu", d ? " x " : "", entry->shape[d]);
        }
        printf("%-56s %-5s %-16s %zu\n", entry->name, dg_dtype_name(entry->dtype), shape,
               entry->len);
    }
}

static void print_card(const struct card *card, bool tensors)
{
    print_network(card);
    printf("manifest     %s%s\n", card->manifest,
           card->is_signed ? ", signed (dragoman verify --key says by whom)" : ", not signed");
    printf("\nBLAKE2b-512 (first 32 digits)     file\n");
    struct dg_span rest = dg_buf_span(&card->hashes);
    while (rest.len) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
        printf("%.32s  %.*s\n", rest.ptr, DG_SPAN_FMT(dg_span_sub(rest, 130, len - 130)));
        rest = dg_span_sub(rest, len + 1, rest.len);
    }
    if (tensors)
        print_tensors(card);
}

/* ---- For programs ---------------------------------------------------------------------------- */

static void put_text(struct dg_json_out *out, const char *key, const char *value)
{
    dg_json_out_put_cstr(out, key, value && value[0] ? value : NULL);
}

/* {"fr": "fra_Latn", ...}: each tag with its word of the vocabulary; null if there is none. */
static void put_side(struct dg_json_out *out, const char *key, const struct dg_lang *langs,
                     size_t n)
{
    dg_json_out_put_open(out, key, '{');
    for (size_t i = 0; i < n; i++)
        if (*langs[i].code)
            put_text(out, langs[i].code, langs[i].token);
    dg_json_out_close(out, '}');
}

static void put_stack(struct dg_json_out *out, const char *key, const struct dg_stack *stack)
{
    dg_json_out_put_open(out, key, '{');
    dg_json_out_put_uint(out, "layers", stack->n_layers);
    dg_json_out_put_uint(out, "heads", stack->H);
    dg_json_out_put_uint(out, "feed_forward", stack->F);
    dg_json_out_put_uint(out, "vocabulary", stack->V);
    dg_json_out_close(out, '}');
}

static void put_files(struct dg_json_out *out, const struct card *card)
{
    struct dg_span rest = dg_buf_span(&card->hashes);
    dg_json_out_put_open(out, "files", '{');
    while (rest.len) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
        dg_json_out_key_span(out, dg_span_sub(rest, 130, len - 130));
        dg_json_out_string(out, dg_span_sub(rest, 0, 128));
        rest = dg_span_sub(rest, len + 1, rest.len);
    }
    dg_json_out_close(out, '}');
}

static void put_tensors(struct dg_json_out *out, const struct card *card)
{
    dg_json_out_put_open(out, "tensors", '[');
    for (size_t i = 0; i < card->file.n_entries; i++) {
        const struct dg_safetensors_entry *entry = &card->file.entries[i];
        dg_json_out_open(out, '{');
        put_text(out, "name", entry->name);
        put_text(out, "type", dg_dtype_name(entry->dtype));
        dg_json_out_put_open(out, "shape", '[');
        for (unsigned d = 0; d < entry->rank; d++)
            dg_json_out_uint(out, entry->shape[d]);
        dg_json_out_close(out, ']');
        dg_json_out_put_uint(out, "bytes", entry->len);
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
}

static enum dg_err print_json(const struct card *card)
{
    struct dg_buf text;
    struct dg_json_out out;
    const struct dg_blueprint *bp = card->bp;
    dg_buf_init(&text, JSON_MAX);
    dg_json_out_init(&out, &text);
    dg_json_out_open(&out, '{');
    put_text(&out, "model", card->dir);
    put_text(&out, "family", bp->seq.is_classifier ? "classifier" : dg_blueprint_family(bp)->name);
    if (bp->family == DG_FAMILY_SEQ)
        put_text(&out, "attention", dg_seq_attention_name(bp->seq.attention));
    if (dg_blueprint_family(bp)->has_head)
        put_text(&out, "head", dg_head_name(bp->enc.head));
    else
        put_text(&out, "decoder", dg_decoder_kind_name(bp->decoder_kind));
    put_text(&out, "norm", bp->norm_place == DG_NORM_PRE ? "pre" : "post");
    put_text(&out, "activation", dg_activation_name(bp->activation));
    put_text(&out, "positions", dg_positions_name(bp->positions));
    dg_json_out_put_uint(&out, "width", bp->D);
    put_stack(&out, "encoder_stack", &bp->encoder);
    put_stack(&out, "decoder_stack", &bp->decoder);
    put_text(&out, "source_language", card->source);
    put_text(&out, "target_language", card->target);
    if (card->langs) {
        put_side(&out, "source_languages", card->langs->sources, card->langs->n_sources);
        put_side(&out, "target_languages", card->langs->targets, card->langs->n_targets);
    }
    dg_json_out_put_uint(&out, "parameters", card->n_parameters);
    dg_json_out_put_open(&out, "weight_bytes", '{');
    for (size_t i = 0; i < 3; i++)
        dg_json_out_put_uint(&out, dg_dtype_name(served[i]), served_bytes(card, served[i]));
    dg_json_out_close(&out, '}');
    dg_json_out_put_uint(&out, "file_bytes", card->file.file.len);
    put_text(&out, "manifest", card->manifest);
    dg_json_out_put_bool(&out, "signed", card->is_signed);
    put_files(&out, card);
    put_tensors(&out, card);
    dg_json_out_close(&out, '}');
    enum dg_err err = dg_json_out_end(&out);
    if (!err)
        printf("%s\n", text.ptr);
    dg_buf_deinit(&text);
    return err;
}

static enum dg_err run_inspect(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct options *opt = dg_opt_values(set);
    struct card card = {.dir = dg_opt_arg(set, 0)};
    dg_buf_init(&card.hashes, HASHES_MAX);
    enum dg_err err = gather(&card, error);
    if (!err && opt->json)
        err = print_json(&card);
    else if (!err)
        print_card(&card, opt->tensors);
    dg_safetensors_close(&card.file);
    dg_langs_unref(card.langs);
    dg_buf_deinit(&card.hashes);
    dg_model_unref(card.model);
    return err;
}

int dg_cmd_inspect(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run_inspect);
}
