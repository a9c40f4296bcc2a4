/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman classify: the likeliest labels of each line of standard input, by a model of `dragoman train --task
 * classify`. Text: "label<TAB>probability", more of them on the same line. JSON: an array a line. */
#include "base/json_out.h"
#include "base/opt.h"
#include "engine/classifier.h"
#include "tools/command.h"
#include "tools/lines.h"
#include "tools/tools.h"

#include <stdio.h>

enum { ANSWER_MAX = 1 << 20 };

struct classify {
    int help, format;
    const char *model;
    int64_t count;
};

static const char *const formats[] = {"text", "json", NULL};

static const struct dg_opt_row rows[] = {
    {DG_OPT_PATH(struct classify, model), "model", .letter = 'm', .flags = DG_OPT_COMMAND_LINE, .unit = "DIR",
     .help = "the model, made by dragoman train --task classify"},
    {DG_OPT_INT(struct classify, count), "count", .letter = 'n', .min = 1, .max = DG_LABELS_MAX, .def = "1",
     .help = "labels printed for a line, the likeliest first"},
    {DG_OPT_ENUM(struct classify, format), "format", .words = formats, .def = "text", .help = "how to print"},
    DG_OPT_HELP(struct classify, help),
};

static const struct dg_opt_table table = {
    .program = "dragoman classify",
    .summary = "Says which label each line of standard input has.",
    .rows = rows,
    .n_rows = DG_OPT_COUNT(rows),
    .size = sizeof(struct classify),
};

/* The likeliest label that is left; it is taken away. */
static size_t take_best(float *probabilities, size_t n, float *probability)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (probabilities[i] > probabilities[best])
            best = i;
    *probability = probabilities[best];
    probabilities[best] = -1.0f;
    return best;
}

static enum dg_err print_text(const struct dg_labels *labels, float *probabilities, size_t count, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < count && !err; i++) {
        float probability;
        const size_t best = take_best(probabilities, labels->n, &probability);
        err = dg_buf_printf(out, "%s%.*s\t%.4f", i ? "\t" : "", DG_SPAN_FMT(labels->list[best]), (double)probability);
    }
    return err ? err : dg_buf_append_byte(out, '\n');
}

static enum dg_err print_json(const struct dg_labels *labels, float *probabilities, size_t count, struct dg_buf *out)
{
    struct dg_json_out json;
    dg_json_out_init(&json, out);
    dg_json_out_open(&json, '[');
    for (size_t i = 0; i < count; i++) {
        float probability;
        const size_t best = take_best(probabilities, labels->n, &probability);
        dg_json_out_open(&json, '{');
        dg_json_out_key(&json, "label");
        dg_json_out_string(&json, labels->list[best]);
        dg_json_out_key(&json, "probability");
        dg_json_out_real(&json, (double)probability, 6);
        dg_json_out_close(&json, '}');
    }
    dg_json_out_close(&json, ']');
    enum dg_err err = dg_json_out_end(&json);
    return err ? err : dg_buf_append_byte(out, '\n');
}

static enum dg_err classify_lines(struct dg_classifier *classifier, const struct classify *opt, struct dg_why *why)
{
    const struct dg_labels *labels = dg_classifier_labels(classifier);
    const size_t count = (size_t)opt->count < labels->n ? (size_t)opt->count : labels->n;
    float probabilities[DG_LABELS_MAX];
    struct dg_lines lines;
    struct dg_span line;
    struct dg_buf out;
    size_t n_lines = 0, n_cut = 0;
    enum dg_err err;
    dg_buf_init(&out, ANSWER_MAX);
    dg_lines_init(&lines);
    while (!(err = dg_lines_next(&lines, &line, why)) && line.ptr) {
        bool cut;
        err = dg_classifier_run(classifier, line, probabilities, &cut, why);
        if (err)
            break;
        n_lines++;
        n_cut += cut;
        dg_buf_clear(&out);
        err = opt->format == 1 ? print_json(labels, probabilities, count, &out)
                               : print_text(labels, probabilities, count, &out);
        if (!err && fwrite(out.ptr, 1, out.len, stdout) < out.len)
            err = dg_why_set(why, DG_ERR_IO, "standard output could not be written");
        if (err)
            break;
    }
    dg_lines_deinit(&lines);
    dg_buf_deinit(&out);
    if (!err)
        fprintf(stderr, "classify: lines=%zu cut_short=%zu labels=%zu\n", n_lines, n_cut, labels->n);
    return err;
}

static enum dg_err run(const struct dg_opt_set *set, struct dg_why *why)
{
    const struct classify *opt = dg_opt_values(set);
    struct dg_classifier *classifier = NULL;
    if (!*opt->model)
        return dg_why_set(why, DG_ERR_USAGE, "expected --model DIR");
    enum dg_err err = dg_classifier_open(&classifier, opt->model, why);
    if (!err)
        err = classify_lines(classifier, opt, why);
    dg_classifier_close(classifier);
    return err;
}

int dg_cmd_classify(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run);
}
