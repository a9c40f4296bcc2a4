/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* People and other programs can read the file too: it has a header line, then tab-separated
 * columns. */
#include "train/report/scores.h"
#include "base/file/file_out.h"
#include "base/file/text_in.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 1 << 16, LINE_MAX_BYTES = 512 };

static const char head[] =
    "when\tset\tpairs\ttranslated\tloss\tbleu\tchrf\tbeam\tbleu_beam\tchrf_beam\tendless\n";

static bool parse(const char *line, struct dg_scores_row *row)
{
    char when[8];
    *row = (struct dg_scores_row){.n = 0};
    const int n = sscanf(line,
                         "%7[^\t]\t%63[^\t]\t%" SCNu64 "\t%" SCNu64
                         "\t%lf\t%lf\t%lf\t%d\t%lf\t%lf\t%" SCNu64 "\t%15[^\t]\t%lf",
                         when, row->set, &row->n, &row->n_translated, &row->loss, &row->bleu,
                         &row->chrf, &row->beam, &row->bleu_beam, &row->chrf_beam, &row->n_endless,
                         row->task, &row->figure);
    row->is_before = strcmp(when, "before") == 0;
    return n == 11 || n == 13;
}

enum dg_err dg_scores_read(struct dg_scores *scores, const char *path, struct dg_error *error)
{
    struct dg_text_in in;
    struct dg_span line;
    *scores = (struct dg_scores){.n = 0};
    if (access(path, F_OK) != 0)
        return DG_OK;
    enum dg_err err = dg_text_in_open(&in, path, error);
    if (err)
        return err;
    while (!err && dg_text_in_line(&in, &line)) {
        char text[LINE_MAX_BYTES];
        struct dg_scores_row row;
        if (line.len == 0 || dg_span_starts(line, DG_SPAN("when\t")))
            continue;
        if (line.len >= sizeof text)
            err = dg_error_set(error, DG_ERR_FORMAT,
                               "%s: a line of %zu bytes, expected a row of scores", path, line.len);
        if (err)
            break;
        memcpy(text, line.ptr, line.len);
        text[line.len] = '\0';
        if (parse(text, &row))
            dg_scores_put(scores, &row);
        else
            err = dg_error_set(error, DG_ERR_FORMAT,
                               "%s: \"%.60s\" is no row of scores; delete the file", path, text);
    }
    dg_text_in_close(&in);
    return err;
}

enum dg_err dg_scores_write(const struct dg_scores *scores, const char *path,
                            struct dg_error *error)
{
    struct dg_buf text;
    dg_buf_init(&text, TEXT_MAX);
    enum dg_err err = dg_buf_append_cstr(&text, head);
    for (size_t i = 0; i < scores->n && !err; i++) {
        const struct dg_scores_row *r = &scores->rows[i];
        err = dg_buf_printf(
            &text, "%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%.6f\t%.2f\t%.2f\t%d\t%.2f\t%.2f\t%" PRIu64,
            r->is_before ? "before" : "after", r->set, r->n, r->n_translated, r->loss, r->bleu,
            r->chrf, r->beam, r->bleu_beam, r->chrf_beam, r->n_endless);
        if (!err && *r->task)
            err = dg_buf_printf(&text, "\t%s\t%.4f", r->task, r->figure);
        if (!err)
            err = dg_buf_append_byte(&text, '\n');
    }
    if (!err)
        err = dg_file_out_save(path, 0644, text.ptr, text.len, error);
    dg_buf_deinit(&text);
    return err;
}

void dg_scores_put(struct dg_scores *scores, const struct dg_scores_row *row)
{
    size_t i = 0;
    while (i < scores->n && (scores->rows[i].is_before != row->is_before ||
                             strcmp(scores->rows[i].set, row->set) != 0))
        i++;
    if (i == DG_SCORES_MAX)
        return;
    scores->rows[i] = *row;
    scores->n += i == scores->n;
}

void dg_scores_name(char name[DG_SCORES_NAME_CAP], const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(name, DG_SCORES_NAME_CAP, "%s", slash && slash[1] ? slash + 1 : path);
    for (char *at = name; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == '|')
            *at = '_';
    if (!*name)
        snprintf(name, DG_SCORES_NAME_CAP, "pairs");
}

static enum dg_err put_row(const struct dg_scores_row *row, bool says_when, struct dg_buf *out)
{
    enum dg_err err = dg_buf_printf(out, "| %s%s | %" PRIu64 " | %.3f |", row->set,
                                    !says_when       ? ""
                                    : row->is_before ? ", before"
                                                     : ", after",
                                    row->n, row->loss);
    if (!err && *row->task)
        return dg_buf_printf(
            out, strcmp(row->task, "correlation") == 0 ? " %s %.4f |\n" : " %s %.2f |\n", row->task,
            row->figure);
    if (!err && row->bleu < 0.0)
        return dg_buf_append_cstr(out, " | | | |\n");
    return err ? err
               : dg_buf_printf(
                     out, " %" PRIu64 " | %.1f / %.1f | %.1f / %.1f (beam %d) | %" PRIu64 " |\n",
                     row->n_translated, row->bleu, row->chrf, row->bleu_beam, row->chrf_beam,
                     row->beam, row->n_endless);
}

static const struct dg_scores_row *before_of(const struct dg_scores *scores, const char *set)
{
    for (size_t i = 0; i < scores->n; i++)
        if (scores->rows[i].is_before && strcmp(scores->rows[i].set, set) == 0)
            return &scores->rows[i];
    return NULL;
}

enum dg_err dg_scores_table(const struct dg_scores *scores, struct dg_buf *out)
{
    const bool has_task = scores->n && *scores->rows[0].task;
    enum dg_err err = dg_buf_append_cstr(
        out, has_task ? "| set | examples | loss | judged by |\n|---|---|---|---|\n"
                      : "| set | pairs | loss | translated | BLEU / chrF greedy | BLEU / chrF "
                        "with beams | without end |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < scores->n && !err; i++) {
        const struct dg_scores_row *row = &scores->rows[i];
        if (row->is_before)
            continue;
        const struct dg_scores_row *before = before_of(scores, row->set);
        if (before)
            err = put_row(before, true, out);
        if (!err)
            err = put_row(row, before != NULL, out);
    }
    return err;
}
