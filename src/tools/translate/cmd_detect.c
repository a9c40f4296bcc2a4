/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman detect: says for each line which language it is in. As text it prints
 * "tag<TAB>confidence", the most probable language first, or "und<TAB>0" when it is unknown. As
 * JSON it prints an array of guesses per line. */
#include "base/json/json_out.h"
#include "base/option/opt.h"
#include "engine/models/model_folders.h"
#include "text/language/langid.h"
#include "tools/command.h"
#include "tools/lines.h"
#include "tools/tools.h"

#include <stdio.h>

enum { ANSWER_MAX = 64 << 10, GUESSES_MAX = 20 };

struct detect {
    int help, format;
    const char *model;
    struct dg_opt_list candidates;
    int64_t count;
};

static const char *const formats[] = {"text", "json", NULL};

static const struct dg_opt_row rows[] = {
    {DG_OPT_STRINGS(struct detect, candidates), "candidates", .letter = 'c', .unit = "TAG,...",
     .help = "the languages it can be, in any spelling (default: all that the model knows)"},
    {DG_OPT_INT_IN(struct detect, count, 1, GUESSES_MAX), "count", .letter = 'n', .def = "1",
     .help = "guesses printed for a line"},
    {DG_OPT_PATH(struct detect, model), "model", .letter = 'm',
     .help = "the model, made by dragoman langid-train (default: the installed one)"},
    {DG_OPT_ENUM(struct detect, format), "format", .words = formats, .def = "text",
     .help = "how to print"},
    DG_OPT_HELP(struct detect, help),
};

static const struct dg_opt_table table = {
    .program = "dragoman detect",
    .summary = "Says which language each line of standard input is in.",
    DG_OPT_ROWS(rows, struct detect),
};

static enum dg_err print_text(const struct dg_langid_guess *guesses, size_t n, struct dg_buf *out)
{
    if (n == 0)
        return dg_buf_append_cstr(out, "und\t0\n");
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < n && !err; i++)
        err = dg_buf_printf(out, "%s%s\t%.4f", i ? "\t" : "", guesses[i].tag,
                            (double)guesses[i].confidence);
    return err ? err : dg_buf_append_byte(out, '\n');
}

static enum dg_err print_json(const struct dg_langid_guess *guesses, size_t n, struct dg_buf *out)
{
    struct dg_json_out json;
    dg_json_out_init(&json, out);
    dg_json_out_open(&json, '[');
    for (size_t i = 0; i < n; i++) {
        dg_json_out_open(&json, '{');
        dg_json_out_put_cstr(&json, "language", guesses[i].tag);
        dg_json_out_put_real(&json, "confidence", (double)guesses[i].confidence, 4);
        dg_json_out_close(&json, '}');
    }
    dg_json_out_close(&json, ']');
    enum dg_err err = dg_json_out_end(&json);
    return err ? err : dg_buf_append_byte(out, '\n');
}

static enum dg_err read_candidates(const struct dg_langid *langid, const struct dg_opt_list *list,
                                   struct dg_langid_set *set, struct dg_error *error)
{
    dg_langid_set_clear(set);
    for (size_t i = 0; i < list->n; i++)
        if (!dg_langid_set_add(langid, set, list->items[i]))
            return dg_error_set(error, DG_ERR_NOT_FOUND, "the model knows no language \"%s\"",
                                list->items[i]);
    return DG_OK;
}

static enum dg_err detect_lines(const struct dg_langid *langid, const struct dg_langid_set *set,
                                const struct detect *opt, struct dg_error *error)
{
    struct dg_lines lines;
    struct dg_span line;
    struct dg_buf out;
    enum dg_err err;
    dg_buf_init(&out, ANSWER_MAX);
    dg_lines_init(&lines);
    while (!(err = dg_lines_next(&lines, &line, error)) && line.ptr) {
        struct dg_langid_guess guesses[GUESSES_MAX];
        size_t n = dg_langid_detect(langid, line, set, guesses, (size_t)opt->count);
        dg_buf_clear(&out);
        err = opt->format == 1 ? print_json(guesses, n, &out) : print_text(guesses, n, &out);
        if (!err && fwrite(out.ptr, 1, out.len, stdout) < out.len)
            err = dg_error_set(error, DG_ERR_IO, "standard output could not be written");
        if (err)
            break;
    }
    dg_lines_deinit(&lines);
    dg_buf_deinit(&out);
    return err;
}

static enum dg_err run_detect(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct detect *opt = dg_opt_values(set);
    struct dg_langid *langid = NULL;
    struct dg_langid_set candidates;
    struct dg_model_folders places;
    dg_model_folders_find(&places);
    enum dg_err err = dg_langid_open(&langid, *opt->model ? opt->model : places.langid, error);
    if (!err)
        err = read_candidates(langid, &opt->candidates, &candidates, error);
    if (!err)
        err = detect_lines(langid, opt->candidates.n ? &candidates : NULL, opt, error);
    dg_langid_close(langid);
    return err;
}

int dg_cmd_detect(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run_detect);
}
