/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman segment: shows how text is split into sentences. As text it prints one sentence per
 * line. As JSON it prints one object per input line (with --document one for all), with every
 * segment, so that the input can be rebuilt. */
#include "base/json/json_out.h"
#include "base/option/opt.h"
#include "text/sentence/segment.h"
#include "tools/command.h"
#include "tools/lines.h"
#include "tools/tools.h"

#include <stdio.h>

enum { ANSWER_MAX = 1 << 30 };

struct segment {
    int help, format;
    const char *language;
    bool document, join_lines, keep_lines;
    int64_t tokens_max;
};

static const char *const formats[] = {"text", "json", NULL};

static const struct dg_opt_row rows[] = {
    {DG_OPT_STRING(struct segment, language), "language", .letter = 'l', .unit = "TAG",
     .help = "language of the text, e.g. de; decides about abbreviations"},
    {DG_OPT_INT_IN(struct segment, tokens_max, 0, 1000000), "tokens-max", .def = "0",
     .help = "cut longer sentences, by estimated tokens; 0: never"},
    {DG_OPT_BOOL(struct segment, document), "document",
     .help = "take standard input as one document, not line by line"},
    {DG_OPT_BOOL(struct segment, join_lines), "join-lines",
     .help = "join the lines of each paragraph first (implies --document)"},
    {DG_OPT_BOOL(struct segment, keep_lines), "keep-lines",
     .help = "do not look for sentences within lines"},
    {DG_OPT_ENUM(struct segment, format), "format", .words = formats, .def = "text",
     .help = "how to print"},
    DG_OPT_HELP(struct segment, help),
};

static const struct dg_opt_table table = {
    .program = "dragoman segment",
    .summary = "Splits text from standard input into sentences.",
    DG_OPT_ROWS(rows, struct segment),
};

static const char *cut_name(unsigned cut)
{
    static const char *const names[] = {"none", "clause", "space", "hard"};
    return cut < sizeof names / sizeof *names ? names[cut] : "";
}

static enum dg_err print_text(struct dg_span text, const struct dg_segments *segments,
                              struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < segments->n && !err; i++) {
        const struct dg_segment *item = &segments->items[i];
        if (item->kind != DG_SEGMENT_SENTENCE)
            continue;
        err = dg_segment_flatten(dg_span_sub(text, item->at, item->len), out);
        if (!err)
            err = dg_buf_append_byte(out, '\n');
    }
    return err;
}

static enum dg_err print_json(struct dg_span text, const struct dg_segments *segments,
                              struct dg_buf *out)
{
    struct dg_json_out json;
    dg_json_out_init(&json, out);
    dg_json_out_open(&json, '{');
    dg_json_out_put_open(&json, "segments", '[');
    for (size_t i = 0; i < segments->n; i++) {
        const struct dg_segment *item = &segments->items[i];
        bool sentence = item->kind == DG_SEGMENT_SENTENCE;
        dg_json_out_open(&json, '{');
        dg_json_out_put_cstr(&json, "kind", sentence ? "sentence" : "separator");
        dg_json_out_put_uint(&json, "at", item->at);
        dg_json_out_put_uint(&json, "len", item->len);
        dg_json_out_put_string(&json, "text", dg_span_sub(text, item->at, item->len));
        if (sentence)
            dg_json_out_put_cstr(&json, "cut", cut_name(item->cut));
        dg_json_out_close(&json, '}');
    }
    dg_json_out_close(&json, ']');
    dg_json_out_close(&json, '}');
    enum dg_err err = dg_json_out_end(&json);
    return err ? err : dg_buf_append_byte(out, '\n');
}

static enum dg_err split(struct dg_segmenter *segmenter, struct dg_span text,
                         const struct segment *opt, struct dg_error *error)
{
    struct dg_segment_opts opts = {.language = opt->language,
                                   .join_lines = opt->join_lines,
                                   .keep_lines_whole = opt->keep_lines,
                                   .tokens_max = (size_t)opt->tokens_max};
    struct dg_segments segments;
    struct dg_buf out;
    dg_buf_init(&out, ANSWER_MAX);
    enum dg_err err = dg_segmenter_run(segmenter, text, &opts, &segments, error);
    if (err)
        return err;
    err = opt->format == 1 ? print_json(text, &segments, &out) : print_text(text, &segments, &out);
    if (err)
        dg_error_set(error, err, "writing the sentences: %s", dg_err_sentence(err));
    else if (fwrite(out.ptr, 1, out.len, stdout) < out.len)
        err = dg_error_set(error, DG_ERR_IO, "standard output could not be written");
    dg_buf_deinit(&out);
    return err;
}

static enum dg_err run_segment(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct segment *opt = dg_opt_values(set);
    struct dg_segmenter *segmenter;
    struct dg_lines lines;
    struct dg_span text;
    enum dg_err err = dg_segmenter_new(&segmenter, error);
    if (err)
        return err;
    dg_lines_init(&lines);
    if (opt->document || opt->join_lines) {
        err = dg_lines_all(&lines, &text, error);
        if (!err)
            err = split(segmenter, text, opt, error);
    } else {
        while (!(err = dg_lines_next(&lines, &text, error)) && text.ptr)
            if ((err = split(segmenter, text, opt, error)))
                break;
    }
    dg_lines_deinit(&lines);
    dg_segmenter_free(segmenter);
    return err;
}

int dg_cmd_segment(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run_segment);
}
