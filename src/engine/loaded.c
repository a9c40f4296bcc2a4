/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Loading a model for service. The mapping of the directory is let go as soon as the weights are packed,
 * so that they are in memory once. */
#include "engine/loaded.h"
#include "base/mem.h"

#include <ctype.h>
#include <string.h>

/* The language named by the last ("target") or the one before the last part of "opus-mt-fr-en"; "" when
 * the name has no such parts. */
static char *language_of_name(const char *name, int from_end)
{
    const char *end = name + strlen(name);
    for (;;) {
        const char *start = end;
        while (start > name && start[-1] != '-')
            start--;
        size_t len = (size_t)(end - start);
        if (from_end-- == 0) {
            bool is_code = len >= 2 && len <= 3 && isalpha((unsigned char)start[0]);
            char *code = dg_xcalloc(1, 4);
            if (is_code)
                memcpy(code, start, len);
            return code;
        }
        if (start == name)
            return dg_xstrdup("");
        end = start - 1;
    }
}

/* A name that is no language tag stays empty: such a model can be asked for by name. */
static void read_tag(const char *text, struct dg_langtag *tag)
{
    if (dg_langtag_parse(dg_span_cstr(text), tag, NULL))
        *tag = (struct dg_langtag){.text = ""};
}

static void free_loaded(struct dg_loaded *loaded)
{
    if (loaded->place)
        dg_sched_detach(loaded->sched, loaded->place);
    dg_net_free(loaded->net);
    dg_lex_close(loaded->lex);
    dg_tokenizer_close(loaded->tokenizer);
    dg_free(loaded->name);
    dg_free(loaded->source);
    dg_free(loaded->target);
    dg_free(loaded);
}

/* The vocabularies on both sides of the tokenizer must be the network's. */
static enum dg_err check_tokenizer(const struct dg_loaded *loaded, const char *path,
                                   struct dg_why *why)
{
    size_t source = dg_tokenizer_source(loaded->tokenizer).size;
    size_t target = dg_tokenizer_target(loaded->tokenizer).size;
    if (source > loaded->blueprint.encoder.V || target > loaded->blueprint.decoder.V)
        return dg_why_set(why, DG_ERR_FORMAT,
                          "%s: the vocabulary has %zu source and %zu target words, the network %zu "
                          "and %zu; these files do not belong together",
                          path, source, target, loaded->blueprint.encoder.V,
                          loaded->blueprint.decoder.V);
    return DG_OK;
}

/* ---- Self-test ---------------------------------------------------------------------------------- */

static void on_test_done(void *ctx, const struct dg_search *search)
{
    *(enum dg_finish *)ctx = dg_search_answer(search, 0).finish;
}

/* Translates a word. A model whose weights are damaged (NaN, infinity) fails here and not in front of a
 * user; one that is sound has its pages and tables warm afterwards. */
static enum dg_err self_test(const struct dg_loaded *loaded, const char *path, struct dg_why *why)
{
    static const struct dg_decode_events events = {.on_done = on_test_done};
    const struct dg_tokenizer_opts how = DG_TOKENIZER_OPTS_DEFAULT;
    const struct dg_decoder_limits small = {
        .sentences = 1, .rows = 1, .source_max = 16, .target_max = 8, .batch_tokens = 16};
    struct dg_tokenizer_work *work = dg_tokenizer_work_new();
    struct dg_decoder *decoder = NULL;
    const struct dg_token *tokens;
    size_t n = 0;
    enum dg_err err = work ? DG_OK : DG_ERR_NOMEM;
    if (!err)
        err = dg_tokenizer_encode(loaded->tokenizer, work, DG_SPAN("1."), &how, why, &tokens, &n);
    if (!err)
        err = dg_decoder_new(&decoder, loaded->net, &small, why);
    if (!err) {
        int32_t ids[16];
        enum dg_finish finish = DG_FINISH_FAILED;
        struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
        n = n < 16 ? n : 16;
        for (size_t i = 0; i < n; i++)
            ids[i] = tokens[i].id;
        struct dg_decode_job job = {ids, n, &opts, &events, &finish};
        err = dg_decoder_add(decoder, &job, 1, NULL, why);
        while (!err && dg_decoder_n_sentences(decoder) > 0)
            dg_decoder_step(decoder);
        if (!err && finish == DG_FINISH_FAILED)
            err = dg_why_set(why, DG_ERR_INTEGRITY,
                             "%s: a test translation gave scores that are not finite; the weights are "
                             "damaged, import the model again",
                             path);
    }
    dg_decoder_free(decoder);
    dg_tokenizer_work_free(work);
    return err;
}

static enum dg_err load(struct dg_loaded *loaded, const char *path,
                        const struct dg_decoder_limits *limits, struct dg_why *why)
{
    struct dg_model *model = NULL;
    enum dg_err err = dg_tokenizer_open(path, why, &loaded->tokenizer);
    if (!err)
        err = dg_model_open(&model, path, why);
    if (err)
        goto out;
    loaded->blueprint = *dg_model_blueprint(model);
    if (loaded->blueprint.unk_id == DG_ID_NONE) /* many configurations leave it to the vocabulary */
        loaded->blueprint.unk_id = dg_tokenizer_target(loaded->tokenizer).unk;
    err = check_tokenizer(loaded, path, why);
    if (!err)
        err = dg_net_new(&loaded->net, &loaded->blueprint, dg_model_weights(model), NULL, why);
    if (err)
        goto out;
    err = self_test(loaded, path, why);
    if (err)
        goto out;
    loaded->limits = *limits;
    if (!limits->whole_vocabulary)
        err = dg_lex_open(&loaded->lex, path, loaded->blueprint.encoder.V, loaded->blueprint.decoder.V, why);
    if (err)
        goto out;
    loaded->limits.lex = loaded->lex;
    if (loaded->limits.source_max > loaded->blueprint.source_len_max)
        loaded->limits.source_max = loaded->blueprint.source_len_max;
    if (loaded->limits.target_max > loaded->blueprint.target_len_max)
        loaded->limits.target_max = loaded->blueprint.target_len_max;
    size_t per_worker;
    err = dg_decoder_size(loaded->net, &loaded->limits, &per_worker, why);
    if (!err)
        err = dg_sched_attach(loaded->sched, loaded->net, &loaded->limits, why, &loaded->place);
    if (!err)
        loaded->bytes = dg_net_bytes(loaded->net) + dg_tokenizer_memory(loaded->tokenizer) +
                        per_worker * dg_sched_n_workers(loaded->sched);
out:
    dg_model_unref(model);
    return err;
}

enum dg_err dg_loaded_open(struct dg_loaded **out, struct dg_sched *sched, const char *name,
                           const char *path, const char *source, const char *target,
                           const struct dg_decoder_limits *limits, struct dg_why *why)
{
    struct dg_loaded *loaded = dg_xcalloc(1, sizeof *loaded);
    loaded->n_refs = 1;
    loaded->sched = sched;
    loaded->name = dg_xstrdup(name);
    loaded->source = source ? dg_xstrdup(source) : language_of_name(name, 1);
    loaded->target = target ? dg_xstrdup(target) : language_of_name(name, 0);
    read_tag(loaded->source, &loaded->source_tag);
    read_tag(loaded->target, &loaded->target_tag);
    enum dg_err err = load(loaded, path, limits, why);
    if (err) {
        free_loaded(loaded);
        return dg_why_wrap(why, err, "model %s", name);
    }
    *out = loaded;
    return DG_OK;
}

struct dg_loaded *dg_loaded_ref(struct dg_loaded *loaded)
{
    loaded->n_refs++;
    return loaded;
}

void dg_loaded_unref(struct dg_loaded *loaded)
{
    if (loaded && --loaded->n_refs == 0)
        free_loaded(loaded);
}
