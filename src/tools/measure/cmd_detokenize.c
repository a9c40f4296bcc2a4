/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman detokenize: prints each line's pieces or ids as text. They go through the streaming
 * detokeniser one id at a time, like a translation while it is generated. With a SentencePiece file
 * as model the text is the same as spm_decode's. */
#include "tools/tools.h"

#include "base/json/json.h"
#include "base/option/opt.h"
#include "tokenize/tokenizer.h"
#include "tools/command.h"
#include "tools/lines.h"

#include <stdio.h>
#include <string.h>

static const char *const formats[] = {"pieces", "ids", "json", NULL};
enum { FORMAT_PIECES, FORMAT_IDS, FORMAT_JSON };

struct options {
    int help;
    const char *model;
    int format;
};

static const struct dg_opt_row rows[] = {
    {DG_OPT_PATH(struct options, model), "model", .letter = 'm', .flags = DG_OPT_REQUIRED,
     .unit = "PATH", .help = "a model directory, or one SentencePiece file"},
    {DG_OPT_ENUM(struct options, format), "format", .words = formats, .letter = 'f',
     .help = "what each line holds; json is an object with a list \"ids\""},
    DG_OPT_HELP(struct options, help),
};

static const struct dg_opt_table table = {
    .program = "dragoman detokenize",
    .summary = "Turns a model's pieces or ids on standard input, one sequence a line, into text.",
    DG_OPT_ROWS(rows, struct options),
};

static void print(struct dg_span text)
{
    fwrite(text.ptr, 1, text.len, stdout);
}

static enum dg_err push_id(struct dg_tokenizer_stream *stream, int64_t id, struct dg_error *error)
{
    struct dg_span delta;
    enum dg_err err = id < 0 || id > INT32_MAX
                          ? DG_ERR_RANGE
                          : dg_tokenizer_stream_push(stream, (int32_t)id, &delta);
    if (err == DG_ERR_RANGE)
        return dg_error_set(error, err, "the id %lld is not in the vocabulary, expected 0 to %u",
                            (long long)id, dg_tokenizer_target(stream->tokenizer).size - 1);
    if (!err)
        print(delta);
    return err;
}

/* Gets the next word of the line; words are cut at single spaces as spm_decode does. */
static bool next_word(struct dg_span *line, struct dg_span *word)
{
    if (line->len == 0)
        return false;
    const char *space = memchr(line->ptr, ' ', line->len);
    size_t len = space ? (size_t)(space - line->ptr) : line->len;
    *word = dg_span_sub(*line, 0, len);
    *line = dg_span_sub(*line, len + 1, line->len);
    return true;
}

static enum dg_err push_ids(struct dg_tokenizer_stream *stream, struct dg_span line,
                            struct dg_error *error)
{
    struct dg_span word;
    enum dg_err err = DG_OK;
    while (!err && next_word(&line, &word)) {
        int64_t id = 0;
        if (word.len == 0)
            continue;
        for (size_t i = 0; i < word.len && !err; i++) {
            if (word.ptr[i] < '0' || word.ptr[i] > '9' || id > INT32_MAX)
                err = dg_error_set(error, DG_ERR_INVALID,
                                   "\"%.*s\" is not an id, expected a whole number",
                                   DG_SPAN_FMT(dg_span_sub(word, 0, 40)));
            else
                id = id * 10 + (word.ptr[i] - '0');
        }
        if (!err)
            err = push_id(stream, id, error);
    }
    return err;
}

static enum dg_err push_pieces(struct dg_tokenizer_stream *stream, struct dg_span line)
{
    struct dg_span word, delta;
    enum dg_err err = DG_OK;
    while (!err && next_word(&line, &word)) {
        err = dg_tokenizer_stream_push_piece(stream, word, &delta);
        if (!err)
            print(delta);
    }
    return err;
}

static enum dg_err push_json(struct dg_tokenizer_stream *stream, struct dg_span line,
                             struct dg_error *error)
{
    const struct dg_json_limits limits = {
        .max_bytes = 64 << 20, .max_depth = 3, .max_values = 1 << 22};
    struct dg_json *json = NULL;
    const struct dg_json *ids = NULL;
    enum dg_err err = dg_json_parse(line, &limits, error, &json);
    if (!err)
        err = dg_json_get_array(json, "ids", DG_JSON_REQUIRED, error, &ids);
    for (size_t i = 0; !err && i < dg_json_len(ids); i++) {
        int64_t id = 0;
        err = dg_json_at_int(ids, "ids", i, 0, INT32_MAX, error, &id);
        if (!err)
            err = push_id(stream, id, error);
    }
    dg_json_free(json);
    return err;
}

static enum dg_err detokenize_line(struct dg_tokenizer_stream *stream, int format,
                                   struct dg_span line, struct dg_error *error)
{
    struct dg_span delta;
    enum dg_err err;
    dg_tokenizer_stream_reset(stream);
    if (format == FORMAT_JSON)
        err = push_json(stream, line, error);
    else if (format == FORMAT_IDS)
        err = push_ids(stream, line, error);
    else
        err = push_pieces(stream, line);
    if (!err)
        err = dg_tokenizer_stream_finish(stream, &delta);
    if (!err) {
        print(delta);
        putchar('\n');
    }
    return err;
}

static enum dg_err detokenize_lines(const struct dg_tokenizer *tokenizer, const struct options *opt,
                                    struct dg_error *error)
{
    struct dg_tokenizer_stream stream;
    struct dg_lines lines;
    struct dg_span line;
    enum dg_err err;
    dg_tokenizer_stream_init(&stream, tokenizer, 64 << 20);
    dg_lines_init(&lines);
    while (!(err = dg_lines_next(&lines, &line, error)) && line.ptr)
        if ((err = detokenize_line(&stream, opt->format, line, error))) {
            err = dg_lines_refuse(&lines, err, error);
            break;
        }
    dg_lines_deinit(&lines);
    dg_tokenizer_stream_deinit(&stream);
    return err;
}

static enum dg_err run_detokenize(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct options *opt = dg_opt_values(set);
    struct dg_tokenizer *tokenizer = NULL;
    enum dg_err err = dg_tokenizer_open(opt->model, error, &tokenizer);
    if (!err)
        err = detokenize_lines(tokenizer, opt, error);
    dg_tokenizer_close(tokenizer);
    return err;
}

int dg_cmd_detokenize(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run_detokenize);
}
