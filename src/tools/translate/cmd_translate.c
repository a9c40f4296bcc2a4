/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman translate: translates lines from stdin (or the arguments) to lines on stdout, in order,
 * with the daemon's engine and the named model or the installed ones. With --ids the text layer is
 * left out: see translate_ids.c. */
#include "base/log/progress.h"
#include "base/memory/mem.h"
#include "base/option/opt.h"
#include "engine/engine.h"
#include "engine/models/translation_prompt.h"
#include "engine/request/terms_json.h"
#include "engine/models/langs.h"
#include "tools/ids.h"
#include "tools/installed_models.h"
#include "tools/line_pipe.h"
#include "tools/search_flags.h"
#include "tools/tools.h"
#include "tools/translate/translate.h"
#include "tools/translate/translate_json.h"
#include "tools/typed_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS_MAX = 10000 };

const char *const translate_formality_words[] = {"default",       "formal",          "informal",
                                                 "prefer_formal", "prefer_informal", NULL};

static const struct dg_opt_row rows[] = {
    DG_OPT_HELP(struct translate, help),
    {DG_OPT_PATH(struct translate, model), "model", .letter = 'm',
     .help = "the model directory (default: the installed model of these languages); with --server "
             "a model's name there, or nothing"},
    {DG_OPT_INT_IN(struct translate, threads, 0, 256), "threads", .letter = 't', .def = "0",
     .help = "workers; 0: one for each core"},
    {DG_OPT_INT_IN(struct translate, slots, 1, 1024), "slots", .def = "32",
     .help = "sentences under way in each worker"},
    {DG_OPT_ENUM(struct translate, compute_type), "compute-type", .words = dg_net_type_words,
     .def = "auto",
     .help =
         "type that products are computed in; bf16-fast also rounds their input to BF16; auto: as "
         "the model is stored"},
    {DG_OPT_ENUM(struct translate, kv_type), "kv-type", .words = dg_net_kv_words, .def = "auto",
     .help = "how the keys and values that attention reads are stored; auto: f16 for I8 and "
             "bf16-fast, otherwise f32"},
    {DG_OPT_BOOL(struct translate, shortlist), "shortlist", .def = "yes",
     .help = "consider only the words of the model's lexical shortlist, where it has one"},
    {DG_OPT_BOOL(struct translate, ids), "ids", .def = "no", .heading = "Text",
     .help = "lines are token ids, in and out; no text layer, but a missing end token is added"},
    {DG_OPT_BOOL(struct translate, whole_lines), "whole-lines", .def = "no",
     .help = "a line is one sentence; do not look for several"},
    {DG_OPT_ENUM(struct translate, format), "format", .words = dg_doc_format_words, .def = "text",
     .help = "what stdin is: lines of text, or one document whose markup is kept"},
    {DG_OPT_ENUM(struct translate, formality), "formality", .words = translate_formality_words,
     .def = "default",
     .help =
         "how formal the translation is to be; prefer_...: no error if the model cannot be told"},
    {DG_OPT_BOOL(struct translate, text.keep_case), "keep-case", .def = "no",
     .help = "ALL CAPS and Title Case go to the model as they are"},
    {DG_OPT_BOOL(struct translate, text.protect), "protect", .def = "yes",
     .help = "addresses, placeholders and the like come through unchanged"},
    {DG_OPT_BOOL(struct translate, text.copy_numbers), "copy-numbers", .def = "no",
     .help = "numbers come through unchanged, too, instead of in the model's words"},
    {DG_OPT_STRING(struct translate, formal), "formal", .def = "", .max = DG_MANNER_TEXT_MAX,
     .unit = "WORD",
     .help = "word of the model's vocabulary that asks for formal language; target:WORD goes "
             "before the translation; de=WORD is for that "
             "target only"},
    {DG_OPT_STRING(struct translate, informal), "informal", .def = "", .max = DG_MANNER_TEXT_MAX,
     .unit = "WORD",
     .help = "word of the model's vocabulary that asks for informal language, likewise"},
    {DG_OPT_STRING(struct translate, template), "template", .def = "",
     .max = DG_TRANSLATION_PROMPT_TEXT_MAX, .unit = "TEXT",
     .help = "prompt that has a language model translate, with {text}, {source}, {target}, \\n; "
             "languages by --from and --to"},
    {DG_OPT_STRING(struct translate, stop), "template-stop", .def = "",
     .max = DG_TRANSLATION_PROMPT_STOP_MAX, .unit = "TEXTS",
     .help = "texts that end its answer, besides its own end; several with | between them"},
    {DG_OPT_BOOL(struct translate, stream), "stream", .def = "no", .heading = "Output",
     .help = "print words as they come"},
    {DG_OPT_BOOL(struct translate, scores), "scores", .def = "no",
     .help = "put ' ||| ' and the score behind each answer"},
    {DG_OPT_BOOL(struct translate, alignment), "alignment", .def = "no",
     .help = "put ' ||| ' and pairs source-target of token positions behind each answer"},
    {DG_OPT_BOOL(struct translate, soft_alignment), "soft-alignment", .def = "no",
     .help =
         "put ' ||| ' behind each answer and, for each of its tokens, how much it looks at each "
         "token of its sentence's source"},
    {DG_OPT_INT_IN(struct translate, alignment_layer, 0, 64), "alignment-layer", .def = "0",
     .help = "decoder layer whose attention gives the alignment, from 1; 0: the last one"},
    {DG_OPT_INT_IN(struct translate, alignment_head, 0, 256), "alignment-head", .def = "0",
     .help = "head of that layer, from 1; 0: the mean of all"},
    {DG_OPT_PATH(struct translate, quality), "quality", .unit = "DIR",
     .help = "a quality estimator; put ' ||| ' and how good it finds the translation, 0 to 1, "
             "behind each line"},
    {DG_OPT_BOOL(struct translate, json), "json", .def = "no",
     .help = "one JSON object for each line: every answer with ids, log-probabilities, ends"},
    {DG_OPT_BOOL(struct translate, quiet), "quiet", .letter = 'q', .def = "no",
     .help = "no summary on stderr"},
    SEARCH_FLAGS(struct translate, search),
    {DG_OPT_STRING(struct translate, prefix), "prefix", .heading = "Demands", .unit = "TEXT",
     .help = "each line's translation begins with this (with --ids: ids)"},
    {DG_OPT_STRINGS(struct translate, must), "must", .unit = "TEXT", .max = DG_CONSTRAINTS_MAX,
     .help = "each line's translation contains this; repeatable; implies --whole-lines"},
    {DG_OPT_PATH(struct translate, glossary), "glossary",
     .help = "a file of terms, each on a line: the source, a tab, and what it is called; more "
             "columns are other forms; .csv for "
             "commas; with --server it is sent along"},
    {DG_OPT_STRING(struct translate, suppress), "suppress", .unit = "IDS",
     .help = "token ids, with spaces between, that are never used"},
    SERVER_FLAGS(struct translate, remote, "", 0),
};

static const struct dg_opt_table table = {
    .program = "dragoman translate",
    .summary = "Translates TEXT, or lines from stdin to stdout; order and line ends are kept.",
    DG_OPT_ROWS(rows, struct translate),
    .args = "[TEXT...]",
    .args_max = TEXTS_MAX,
};

/* ---- One line -------------------------------------------------------------------------------- */

struct work {
    const struct translate *flags;
    struct dg_search_opts search;
    struct dg_search_usual usual;
    /* the directory of the model; "": an installed model is chosen by its languages */
    char name[128];
    struct dg_engine *engine;
    struct line_pipe *pipe;
    struct dg_progress *progress;
    struct translate_totals *totals;
    struct dg_span must[DG_CONSTRAINTS_MAX];
    struct dg_glossary *glossary; /* NULL: no glossary */
};

/* A line that is being translated. With several answers, the alternatives of its sentences are
 * joined for the whole line. */
struct translation {
    struct work *work;
    struct line *line;
    struct dg_buf answers[DG_BEAM_MAX]; /* the text of each alternative so far */
    struct dg_buf pairs[DG_BEAM_MAX];   /* the alignment of each alternative */
    struct dg_buf weights[DG_BEAM_MAX]; /* the soft alignment of each alternative */
    struct dg_buf sentences;            /* with --json: objects separated by commas */
    double scores[DG_BEAM_MAX];
    size_t n_answers;
    size_t n_source, n_target; /* tokens of the sentences before this one */
    size_t at;                 /* bytes of the line that the answers cover */
};

static bool wants_more_than_text(const struct translate *flags)
{
    return flags->search.nbest > 1 || flags->scores || flags->alignment || flags->soft_alignment ||
           flags->json || *flags->quality;
}

static void check_memory(enum dg_err err)
{
    if (err) {
        fprintf(stderr, "dragoman translate: a line's translation does not fit into memory\n");
        exit(1);
    }
}

static void append(struct dg_buf *buf, struct dg_span text)
{
    check_memory(dg_buf_append_span(buf, text));
}

static void on_delta(void *ctx, struct dg_span text)
{
    struct translation *translation = ctx;
    append(&translation->line->out, text);
}

/* The source position that each target token attends to most. */
static void append_pairs(struct translation *translation, size_t i,
                         const struct dg_engine_sentence *sentence)
{
    const struct dg_engine_answer *answer = &sentence->answers[i];
    for (size_t t = 0; answer->alignment && t < answer->n_ids; t++) {
        size_t best = translate_aligned(answer->alignment, t, sentence->n_source);
        char pair[64];
        int n = snprintf(pair, sizeof pair, "%s%zu-%zu", translation->pairs[i].len ? " " : "",
                         translation->n_source + best, translation->n_target + t);
        append(&translation->pairs[i], dg_span_make(pair, (size_t)n));
    }
}

/* Appends the object of one sentence; byte offsets are those of the line. */
static void append_json(struct translation *translation, const struct dg_engine_sentence *sentence)
{
    struct dg_json_out out;
    if (translation->sentences.len)
        append(&translation->sentences, DG_SPAN(","));
    dg_json_out_init(&out, &translation->sentences);
    dg_json_out_open(&out, '{');
    dg_json_out_put_uint(&out, "start", sentence->at);
    dg_json_out_put_uint(&out, "length", sentence->len);
    dg_json_out_put_open(&out, "source_ids", '[');
    for (size_t s = 0; s < sentence->n_source; s++)
        dg_json_out_int(&out, sentence->source[s].id);
    dg_json_out_close(&out, ']');
    translate_json_answers(&out, sentence->answers, sentence->n_answers, sentence->n_source);
    dg_json_out_close(&out, '}');
    check_memory(dg_json_out_end(&out));
}

static void on_sentence(void *ctx, const struct dg_engine_sentence *sentence)
{
    struct translation *translation = ctx;
    struct dg_span line = dg_span_make(translation->line->text, translation->line->len);
    struct dg_span between = dg_span_sub(line, translation->at, sentence->at - translation->at);
    size_t wanted = (size_t)translation->work->flags->search.nbest;
    if (translation->work->flags->json)
        append_json(translation, sentence);
    if (sentence->n_answers == 0 || translation->work->flags->json)
        return;
    for (size_t i = 0; i < wanted; i++) {
        size_t k = i < sentence->n_answers ? i : 0; /* if the sentence has fewer alternatives, its
                                                       best answer stands for the missing ones */
        append(&translation->answers[i], between);
        append(&translation->answers[i], sentence->answers[k].text);
        translation->scores[i] += sentence->answers[k].score;
        append_pairs(translation, k, sentence);
        if (translation->work->flags->soft_alignment)
            check_memory(translate_soft_alignment(&translation->weights[i],
                                                  sentence->answers[k].alignment,
                                                  sentence->answers[k].n_ids, sentence->n_source));
        if (i < sentence->n_answers && i + 1 > translation->n_answers)
            translation->n_answers = i + 1;
    }
    translation->n_source += sentence->n_source;
    translation->n_target += sentence->answers[0].n_ids;
    translation->at = sentence->at + sentence->len;
}

/* Writes the fields of every alternative: [number] text [score] [quality] [alignment]. A line
 * without a sentence has no quality. */
static void write_fields(struct translation *translation, const struct dg_engine_result *result)
{
    const struct translate *flags = translation->work->flags;
    struct line *line = translation->line;
    struct dg_span whole = dg_span_make(line->text, line->len);
    struct dg_span tail = dg_span_sub(whole, translation->at, line->len);
    size_t n = translation->n_answers ? translation->n_answers : 1;
    char field[64];
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            append(&line->out, DG_SPAN("\n"));
        if (flags->search.nbest > 1)
            append(&line->out, dg_span_make(field, (size_t)snprintf(field, sizeof field, "%zu ||| ",
                                                                    line->number)));
        append(&line->out, dg_buf_span(&translation->answers[i]));
        append(&line->out, tail);
        if (flags->scores || flags->search.nbest > 1)
            append(&line->out,
                   dg_span_make(field, (size_t)snprintf(field, sizeof field, " ||| %.6f",
                                                        translation->scores[i])));
        if (result->has_quality)
            append(&line->out, dg_span_make(field, (size_t)snprintf(field, sizeof field,
                                                                    " ||| %.4f", result->quality)));
        else if (*flags->quality)
            append(&line->out, DG_SPAN(" ||| -"));
        if (flags->alignment) {
            append(&line->out, DG_SPAN(" ||| "));
            append(&line->out, dg_buf_span(&translation->pairs[i]));
        }
        if (flags->soft_alignment) {
            append(&line->out, DG_SPAN(" ||| "));
            append(&line->out, dg_buf_span(&translation->weights[i]));
        }
    }
}

static void write_json(struct translation *translation, const struct dg_engine_result *result)
{
    struct dg_buf *text = &translation->line->out;
    struct dg_json_out out;
    if (result->err) {
        check_memory(
            translate_json_error(text, translation->line->number, dg_err_sentence(result->err)));
        return;
    }
    dg_json_out_init(&out, text);
    dg_json_out_open(&out, '{');
    dg_json_out_put_uint(&out, "line", translation->line->number);
    dg_json_out_put_string(&out, "text", result->text);
    dg_json_out_put_cstr(&out, "finish", dg_finish_name(result->finish));
    dg_json_out_put_bool(&out, "repaired", result->repaired);
    if (translation->work->glossary) {
        dg_json_out_key(&out, "terms");
        dg_engine_put_terms(&out, result);
    }
    if (result->has_quality) {
        dg_json_out_put_real(&out, "quality", result->quality, 6);
        dg_json_out_put_open(&out, "qualities", '[');
        for (size_t i = 0; i < result->n_sentences; i++)
            dg_json_out_real(&out, (double)result->qualities[i], 6);
        dg_json_out_close(&out, ']');
    }
    dg_json_out_put_open(&out, "sentences", '[');
    if (translation->sentences.len)
        dg_json_out_raw(&out, dg_buf_span(&translation->sentences));
    dg_json_out_close(&out, ']');
    dg_json_out_close(&out, '}');
    check_memory(dg_json_out_end(&out));
}

static void free_translation(struct translation *translation)
{
    for (size_t i = 0; i < DG_BEAM_MAX; i++) {
        dg_buf_deinit(&translation->answers[i]);
        dg_buf_deinit(&translation->pairs[i]);
        dg_buf_deinit(&translation->weights[i]);
    }
    dg_buf_deinit(&translation->sentences);
    dg_free(translation);
}

static void on_translation_done(void *ctx, const struct dg_engine_result *result)
{
    struct translation *translation = ctx;
    struct work *work = translation->work;
    if (result->err) {
        fprintf(stderr, "dragoman translate: line %zu: %s\n", translation->line->number,
                dg_err_sentence(result->err));
        work->totals->n_failed++;
    }
    if (!result->err && result->is_foreign) {
        char who[64];
        snprintf(who, sizeof who, "translate: line %zu", translation->line->number);
        installed_tell_foreign(who, result->detected, result->confidence,
                               work->flags->remote.target);
    }
    if (work->flags->json)
        write_json(translation, result);
    else if (wants_more_than_text(work->flags))
        write_fields(translation, result);
    else if (!work->flags->stream)
        append(&translation->line->out, result->text);
    translate_count(work->totals, result->n_sentences, result->n_tokens_in, result->n_tokens_out,
                    result->finish, result->repaired);
    translate_count_terms(work->totals, result);
    dg_progress_show(work->progress, ++work->totals->n_lines);
    translation->line->is_done = true;
    free_translation(translation);
}

static void ask_text(const struct text_flags *flags, struct dg_engine_request *request)
{
    request->keep_case = flags->keep_case;
    request->no_protect = !flags->protect;
    request->copy_numbers = flags->copy_numbers;
}

static const struct dg_engine_events quiet_events = {NULL, NULL, on_translation_done};
static const struct dg_engine_events stream_events = {on_delta, NULL, on_translation_done};
static const struct dg_engine_events field_events = {NULL, on_sentence, on_translation_done};

static enum dg_err start(void *ctx, struct line *line)
{
    struct work *work = ctx;
    struct translation *translation = dg_try_calloc(1, sizeof *translation);
    if (!translation)
        return DG_ERR_NOMEM;
    translation->work = work;
    translation->line = line;
    for (size_t i = 0; i < DG_BEAM_MAX; i++) {
        dg_buf_init(&translation->answers[i], 1 << 26);
        dg_buf_init(&translation->pairs[i], 1 << 26);
        dg_buf_init(&translation->weights[i], 1 << 26);
    }
    dg_buf_init(&translation->sentences, 1 << 28);
    struct dg_engine_request request = DG_ENGINE_REQUEST_DEFAULT;
    request.text = dg_span_make(line->text, line->len);
    request.model = *work->name ? work->name : NULL;
    request.source = work->flags->remote.source;
    request.target = work->flags->remote.target;
    request.formality = (enum dg_formality)work->flags->formality;
    ask_text(&work->flags->text, &request);
    request.search = work->search;
    request.usual_beam = work->usual.beam;
    request.usual_length = work->usual.length_penalty;
    request.quality = *work->flags->quality != '\0';
    request.keep_lines_whole = work->flags->whole_lines || work->flags->must.n;
    request.prefix = dg_span_cstr(work->flags->prefix);
    request.must = work->must;
    request.n_must = work->flags->must.n;
    request.glossaries = &work->glossary;
    request.n_glossaries = work->glossary != NULL;
    const struct dg_engine_events *events = wants_more_than_text(work->flags) ? &field_events
                                            : work->flags->stream             ? &stream_events
                                                                              : &quiet_events;
    struct dg_error error = DG_ERROR_NONE;
    enum dg_err err =
        dg_engine_submit(work->engine, &request, events, translation, &error, NULL, NULL);
    if (!err)
        return DG_OK;
    free_translation(translation);
    if (err == DG_ERR_BUSY)
        return err;
    if (!*work->name)
        err = installed_explain(work->engine, err, &error);
    /* One bad line must not shift the others: its answer is an empty line, and a message is
     * printed. */
    fprintf(stderr, "dragoman translate: line %zu: %s\n", line->number, dg_error_text(&error, err));
    if (work->flags->json)
        check_memory(translate_json_error(&line->out, line->number, dg_error_text(&error, err)));
    work->totals->n_failed++;
    line->is_done = true;
    return DG_OK;
}

/* Gets the directory's own name, from which the engine knows the languages ("fr-en"). */
static void model_name(const char *path, char *name, size_t cap)
{
    size_t end = strlen(path);
    while (end > 0 && path[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    snprintf(name, cap, "%.*s", (int)(end - start), path + start);
    if (!*name)
        snprintf(name, cap, "model");
}

enum dg_err translate_load(struct dg_engine *engine, const struct translate *flags,
                           const char *name, struct dg_error *error)
{
    if (!*flags->model) {
        struct dg_model_folders places;
        dg_model_folders_find(&places);
        enum dg_err err = installed_offer(&places, engine, error);
        return err ? err : installed_check_target(engine, flags->remote.target, error);
    }
    const struct dg_engine_model model = {.name = name,
                                          .path = flags->model,
                                          .formal = flags->formal,
                                          .informal = flags->informal,
                                          .template = flags->template,
                                          .stop = flags->stop,
                                          .source = *flags->template ? flags->remote.source
                                                                     /* only known if the client
                                                                      * says so */
                                                                     : NULL,
                                          .target = *flags->template ? flags->remote.target : NULL};
    struct dg_served_model *loaded;
    enum dg_err err = dg_engine_open(engine, &model, error, &loaded);
    return err ? err : dg_engine_publish(engine, loaded, error);
}

/* Opens the estimator of the model's translations. */
static enum dg_err load_estimator(const struct work *work, struct dg_error *error)
{
    const struct dg_engine_model model = {
        .name = "quality estimator", .path = work->flags->quality, .judges = work->name};
    struct dg_served_model *loaded;
    if (!*work->flags->quality)
        return DG_OK;
    enum dg_err err = dg_engine_open(work->engine, &model, error, &loaded);
    return err ? err : dg_engine_publish(work->engine, loaded, error);
}

/* Reports once the errors that every line would otherwise give: a multilingual model needs the
 * languages, and it must have a word for the formality. */
static enum dg_err check_languages(const struct work *work, struct dg_error *error)
{
    struct dg_engine_request request = DG_ENGINE_REQUEST_DEFAULT;
    request.model = *work->name ? work->name : NULL;
    request.source = work->flags->remote.source;
    request.target = work->flags->remote.target;
    request.formality = (enum dg_formality)work->flags->formality;
    request.quality = *work->flags->quality != '\0';
    enum dg_err err = dg_engine_can(work->engine, &request, error);
    return *work->name ? err : installed_explain(work->engine, err, error);
}

/* ---- All lines ------------------------------------------------------------------------------- */

/* Returns the positions of a target: the longest permitted length, and room for a language and a
 * formality before it. */
static size_t target_max(const struct translate *flags)
{
    size_t most = (size_t)flags->search.max_len + 2;
    return most < DG_TARGET_MAX ? most : DG_TARGET_MAX;
}

static enum dg_err run_translate(const struct translate *flags, const struct dg_search_opts *search,
                                 struct dg_search_usual usual, struct translate_totals *totals,
                                 struct dg_error *error)
{
    struct dg_clock clock = DG_CLOCK_REAL;
    struct dg_progress progress;
    struct work work = {
        .flags = flags, .search = *search, .usual = usual, .progress = &progress, .totals = totals};
    struct line_pipe pipe = {.start = start,
                             .ctx = &work,
                             .window = flags->stream ? 1 : 512,
                             .is_streaming = flags->stream && !wants_more_than_text(flags)};
    for (size_t i = 0; i < flags->must.n; i++)
        work.must[i] = dg_span_cstr(flags->must.items[i]);
    work.pipe = &pipe;
    line_pipe_init(&pipe);
    struct dg_model_folders places;
    dg_model_folders_find(&places);
    struct dg_engine_opts opts = {.n_threads = (size_t)flags->threads,
                                  .slots = (size_t)flags->slots,
                                  .rows = usual.beam && !search->sample
                                              ? 0
                                              : (size_t)(flags->slots * dg_search_width(search)),
                                  .target_max = target_max(flags),
                                  .alignment_layer = (size_t)flags->alignment_layer,
                                  .alignment_head = (size_t)flags->alignment_head,
                                  .whole_vocabulary = !flags->shortlist,
                                  .kv = (enum dg_net_kv)flags->kv_type,
                                  .compute = (enum dg_net_type)flags->compute_type,
                                  .langid_path = *flags->model ? NULL : places.langid,
                                  .wake = line_pipe_wake,
                                  .wake_arg = &pipe};
    if (*flags->model)
        model_name(flags->model, work.name, sizeof work.name);
    /* the names in a list are separated by these characters */
    for (char *c = work.name; *flags->quality && *c; c++)
        *c = *c == ' ' || *c == ',' || *c == '\t' ? '_' : *c;
    enum dg_err err = translate_glossary(flags->glossary, error, &work.glossary);
    totals->has_glossary = work.glossary != NULL;
    if (err || flags->format != DG_DOC_TEXT) {
        struct dg_engine_request request = DG_ENGINE_REQUEST_DEFAULT;
        request.search = *search;
        request.usual_beam = usual.beam;
        request.usual_length = usual.length_penalty;
        request.glossaries = &work.glossary;
        request.n_glossaries = work.glossary != NULL;
        request.model = *work.name ? work.name : NULL;
        request.source = flags->remote.source;
        request.target = flags->remote.target;
        request.formality = (enum dg_formality)flags->formality;
        ask_text(&flags->text, &request);
        line_pipe_deinit(&pipe);
        if (!err)
            err = translate_document(flags, &opts, &request, totals, error);
        dg_glossary_unref(work.glossary);
        return err;
    }
    err = dg_engine_new(&opts, error, &work.engine);
    if (!err)
        err = translate_load(work.engine, flags, work.name, error);
    if (!err)
        err = load_estimator(&work, error);
    if (!err)
        err = check_languages(&work, error);
    if (!err) {
        typed_hint("dragoman translate", "lines to translate");
        dg_progress_start(&progress, "translating", "lines", 0, &clock);
        pipe.engine = work.engine;
        err = line_pipe_run(&pipe, error);
        dg_progress_stop(&progress);
    }
    dg_engine_free(work.engine);
    dg_glossary_unref(work.glossary);
    line_pipe_deinit(&pipe);
    return err;
}

/* A document is translated as a whole, so options about lines are refused. */
static enum dg_err check_format(const struct dg_opt_set *set, const struct translate *flags,
                                struct dg_error *error)
{
    static const char *const of_lines[] = {"ids",       "whole-lines",    "stream",  "scores",
                                           "alignment", "soft-alignment", "quality", "json",
                                           "nbest",     "prefix",         "must",    "server"};
    for (size_t i = 0; flags->format != DG_DOC_TEXT && i < sizeof of_lines / sizeof *of_lines; i++)
        if (dg_opt_given(set, of_lines[i]))
            return dg_error_set(error, DG_ERR_USAGE,
                                "--%s is for lines, not for a document (--format)", of_lines[i]);
    return DG_OK;
}

/* Completes what the flags leave open, and refuses contradictions. */
static enum dg_err check_server(const struct dg_opt_set *set, const struct translate *flags,
                                struct dg_error *error)
{
    static const char *const own[] = {
        "threads",  "slots",     "shortlist",      "compute-type",    "kv-type",        "ids",
        "scores",   "alignment", "soft-alignment", "alignment-layer", "alignment-head", "json",
        "nbest",    "prefix",    "must",           "suppress",        "max-extra",      "formal",
        "informal", "quality",   "template",       "template-stop"};
    bool is_remote = *flags->remote.server;
    static const char *const of_one[] = {
        "ids",      "quality",         "template",       "formal",
        "informal", "alignment-layer", "alignment-head", "suppress"};
    for (size_t i = 0; !is_remote && !*flags->model && i < sizeof of_one / sizeof *of_one; i++)
        if (dg_opt_given(set, of_one[i]))
            return dg_error_set(error, DG_ERR_USAGE,
                                "--%s is for one model, expected --model DIR with it", of_one[i]);
    for (size_t i = 0; is_remote && i < sizeof own / sizeof *own; i++)
        if (dg_opt_given(set, own[i]))
            return dg_error_set(error, DG_ERR_USAGE,
                                "--%s is for a model of one's own, not for --server", own[i]);
    static const char *const of_text[] = {"formality", "keep-case", "protect", "copy-numbers"};
    for (size_t i = 0; flags->ids && i < sizeof of_text / sizeof *of_text; i++)
        if (dg_opt_given(set, of_text[i]))
            return dg_error_set(error, DG_ERR_USAGE, "--%s is for text, not for --ids", of_text[i]);
    if (!is_remote && dg_opt_given(set, "key-file"))
        return dg_error_set(error, DG_ERR_USAGE, "--key-file can only be used with --server");
    if (*flags->quality && flags->ids)
        return dg_error_set(error, DG_ERR_USAGE, "--quality is for text, not for --ids");
    if (*flags->quality && flags->search.nbest > 1)
        return dg_error_set(error, DG_ERR_USAGE,
                            "--quality is of the best answer, expected --nbest 1");
    if (flags->ids && (dg_opt_given(set, "from") || dg_opt_given(set, "to")))
        return dg_error_set(error, DG_ERR_USAGE, "--from and --to are for text, not for --ids");
    return DG_OK;
}

int dg_cmd_translate(int argc, char **argv)
{
    struct dg_opt_set *set = NULL;
    int exit_code = 0;
    if (!dg_opt_command(&table, argc, argv, &set, &exit_code))
        return exit_code;
    const struct translate *flags = dg_opt_values(set);
    struct dg_clock clock = DG_CLOCK_REAL;
    struct translate_totals totals = {.began_ns = dg_clock_now(&clock)};
    struct dg_error error = DG_ERROR_NONE;
    struct dg_search_opts search = search_flags_opts(&flags->search);
    int32_t *suppress = NULL;
    const struct dg_search_usual usual = search_flags_usual(set);
    search.want_alignment = flags->alignment || flags->soft_alignment;
    enum dg_err err =
        ids_parse(dg_span_cstr(flags->suppress), &suppress, &search.n_suppress, &error);
    search.suppress = suppress;
    if (!err)
        err = dg_search_opts_check(&search, INT32_MAX, &error);
    if (!err)
        err = check_server(set, flags, &error);
    if (!err)
        err = check_format(set, flags, &error);
    bool is_misused = err != DG_OK;
    if (!err)
        err = typed_arguments(set, &error);
    if (!err)
        err = *flags->remote.server ? translate_server(set, flags, &totals, &error)
              : flags->ids          ? translate_ids(flags, &search, usual, &totals, &error)
                                    : run_translate(flags, &search, usual, &totals, &error);
    if (err)
        fprintf(stderr, "dragoman translate: %s\n", dg_error_text(&error, err));
    else if (!flags->quiet && dg_opt_n_args(set) == 0)
        translate_summary(&totals, dg_clock_now(&clock));
    dg_free(suppress);
    dg_opt_set_free(set);
    if (is_misused || err == DG_ERR_USAGE)
        return 2;
    return err || totals.n_failed ? 1 : 0;
}
