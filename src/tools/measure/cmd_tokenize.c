/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman tokenize: prints the tokens of each line, as pieces, as ids, or as JSON with both and
 * the bytes of the line from which each token came. With a SentencePiece file as model, pieces and
 * ids are the same as spm_encode's. */
#include "tools/tools.h"

#include "base/json/json_out.h"
#include "base/option/opt.h"
#include "tokenize/tokenizer.h"
#include "tools/command.h"
#include "tools/lines.h"

#include <stdio.h>

static const char *const formats[] = {"pieces", "ids", "json", NULL};
enum { FORMAT_PIECES, FORMAT_IDS, FORMAT_JSON };

struct options {
    int help;
    const char *model;
    int format;
    bool eos;
    const char *language;
};

static const struct dg_opt_row rows[] = {
    {DG_OPT_PATH(struct options, model), "model", .letter = 'm', .flags = DG_OPT_REQUIRED,
     .unit = "PATH", .help = "a model directory, or one SentencePiece file"},
    {DG_OPT_ENUM(struct options, format), "format", .words = formats, .letter = 'f',
     .help = "what to print for each line"},
    {DG_OPT_BOOL(struct options, eos), "eos",
     .help = "put the end-of-sentence id at the end of each line"},
    {DG_OPT_STRING(struct options, language), "language", .unit = "TAG",
     .help = "put this target language's token before each line, where a model has such tokens"},
    DG_OPT_HELP(struct options, help),
};

static const struct dg_opt_table table = {
    .program = "dragoman tokenize",
    .summary = "Turns text on standard input, line by line, into a model's pieces or ids.",
    DG_OPT_ROWS(rows, struct options),
};

struct encoded {
    const struct dg_tokenizer *tokenizer;
    struct dg_tokenizer_work *work;
    const struct dg_token *tokens;
    size_t n;
};

static enum dg_err put_pieces(const struct encoded *e, struct dg_buf *buf)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < e->n && !err; i++) {
        err = i ? dg_buf_append_byte(buf, ' ') : DG_OK;
        if (!err)
            err = dg_buf_append_span(buf, dg_tokenizer_token_piece(e->tokenizer, e->work, i));
    }
    return err;
}

/* Written without printf, which took as long as the encoding itself. */
static enum dg_err put_id(struct dg_buf *buf, int32_t id)
{
    char digits[11];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + id % 10);
    while ((id /= 10) > 0);
    digits[--at] = ' ';
    return dg_buf_append(buf, digits + at, sizeof digits - at);
}

static enum dg_err put_ids(const struct encoded *e, struct dg_buf *buf)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < e->n && !err; i++)
        err = put_id(buf, e->tokens[i].id);
    dg_buf_consume(buf, e->n > 0); /* removes the first space */
    return err;
}

static enum dg_err put_json(const struct encoded *e, struct dg_buf *buf)
{
    struct dg_json_out out;
    dg_json_out_init(&out, buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_open(&out, "ids", '[');
    for (size_t i = 0; i < e->n; i++)
        dg_json_out_int(&out, e->tokens[i].id);
    dg_json_out_close(&out, ']');
    dg_json_out_put_open(&out, "pieces", '[');
    for (size_t i = 0; i < e->n; i++)
        dg_json_out_string(&out, dg_tokenizer_token_piece(e->tokenizer, e->work, i));
    dg_json_out_close(&out, ']');
    dg_json_out_put_open(&out, "spans", '[');
    for (size_t i = 0; i < e->n; i++) {
        dg_json_out_open(&out, '[');
        dg_json_out_uint(&out, e->tokens[i].begin);
        dg_json_out_uint(&out, e->tokens[i].end);
        dg_json_out_close(&out, ']');
    }
    dg_json_out_close(&out, ']');
    dg_json_out_close(&out, '}');
    return dg_json_out_end(&out);
}

static enum dg_err print(const struct encoded *e, int format, struct dg_buf *buf)
{
    dg_buf_clear(buf);
    enum dg_err err = format == FORMAT_JSON  ? put_json(e, buf)
                      : format == FORMAT_IDS ? put_ids(e, buf)
                                             : put_pieces(e, buf);
    if (!err)
        err = dg_buf_append_byte(buf, '\n');
    if (!err)
        fwrite(buf->ptr, 1, buf->len, stdout);
    return err;
}

static enum dg_err tokenize_lines(const struct dg_tokenizer *tokenizer, const struct options *opt,
                                  struct dg_error *error)
{
    struct dg_tokenizer_opts how = {
        .add_eos = opt->eos, .language = dg_span_cstr(opt->language), .parse_language = true};
    struct encoded e = {.tokenizer = tokenizer, .work = dg_tokenizer_work_new()};
    struct dg_lines lines;
    struct dg_span line;
    struct dg_buf buf;
    enum dg_err err;
    dg_buf_init(&buf, SIZE_MAX / 2);
    dg_lines_init(&lines);
    while (!(err = dg_lines_next(&lines, &line, error)) && line.ptr) {
        err = dg_tokenizer_encode(tokenizer, e.work, line, &how, error, &e.tokens, &e.n);
        if (!err)
            err = print(&e, opt->format, &buf);
        if (err) {
            err = dg_lines_refuse(&lines, err, error);
            break;
        }
    }
    dg_lines_deinit(&lines);
    dg_buf_deinit(&buf);
    dg_tokenizer_work_free(e.work);
    return err;
}

static enum dg_err run_tokenize(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct options *opt = dg_opt_values(set);
    struct dg_tokenizer *tokenizer = NULL;
    enum dg_err err = dg_tokenizer_open(opt->model, error, &tokenizer);
    if (!err)
        err = tokenize_lines(tokenizer, opt, error);
    dg_tokenizer_close(tokenizer);
    return err;
}

int dg_cmd_tokenize(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run_tokenize);
}
