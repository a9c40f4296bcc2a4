/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A log becomes a drawing of bounded size and a table; nonsense lines are left out; scores are read
 * back from their file as they were written. */
#include "base/file/file_out.h"
#include "base/file/map_file.h"
#include "train/report/curve.h"
#include "tmpdir.h"
#include "train/report/scores.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

static const char log_head[] =
    "step\tepoch\tseconds\tloss\tobjective\tnorm\trate\ttokens_per_second\tdev_loss\tbleu\tchrf\n";

static enum dg_err put_log(struct dg_buf *text, size_t n)
{
    enum dg_err err = dg_buf_append_cstr(text, log_head);
    for (size_t i = 1; i <= n && !err; i++)
        err =
            i % 10
                ? dg_buf_printf(text, "%zu\t1\t%zu.0\t%.4f\t2\t1\t1e-4\t900\t\t\t\n", i, i,
                                8.0 / sqrt((double)i))
                : dg_buf_printf(text, "%zu\t1\t%zu.0\t%.4f\t2\t1\t1e-4\t900\t%.3f\t%.2f\t30.0\n", i,
                                i, 8.0 / sqrt((double)i), 9.0 / sqrt((double)i), 0.01 * (double)i);
    return err ? err
               : dg_buf_append_cstr(text, "nonsense\n\nnan\t1\t2\n7\t1\t1\tinf\t\t\t\t\t\t\t\n");
}

static size_t n_of(struct dg_span text, char wanted)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == wanted;
    return n;
}

static bool contains(struct dg_span text, struct dg_span word)
{
    for (; text.len >= word.len; text = dg_span_sub(text, 1, text.len))
        if (dg_span_starts(text, word))
            return true;
    return false;
}

START_TEST(a_log_of_any_length_is_drawn)
{
    static const size_t lengths[] = {0, 1, 9, 20, 5000};
    char dir[DG_TMPDIR_CAP], path[300];
    dg_tmpdir_make(dir);
    snprintf(path, sizeof path, "%s/training", dir);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct dg_buf text;
        struct dg_map_file svg;
        struct dg_error error = DG_ERROR_NONE;
        dg_buf_init(&text, 1 << 20);
        ck_assert_int_eq(put_log(&text, lengths[i]), DG_OK);
        snprintf(path, sizeof path, "%s/training/log.tsv", dir);
        ck_assert_int_eq(dg_file_out_save(path, 0644, text.ptr, text.len, NULL), DG_OK);
        dg_buf_deinit(&text);
        ck_assert_msg(dg_curve_write(dir, &error) == DG_OK, "%s", error.text);
        snprintf(path, sizeof path, "%s/training/curve.svg", dir);
        ck_assert_int_eq(dg_map_file_open(&svg, path, 1 << 20, NULL), DG_OK);
        const struct dg_span drawing = dg_span_make((const char *)svg.bytes, svg.len);
        ck_assert(dg_span_starts(drawing, DG_SPAN("<svg")) &&
                  dg_span_ends(drawing, DG_SPAN("</svg>\n")));
        ck_assert_uint_eq(n_of(drawing, '<'), n_of(drawing, '>'));
        ck_assert(!contains(drawing, DG_SPAN("nan")) && !contains(drawing, DG_SPAN("inf")));
        ck_assert_uint_lt(drawing.len, 40000);
        dg_map_file_close(&svg);
    }
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(points_are_what_the_log_says)
{
    char dir[DG_TMPDIR_CAP], path[300];
    struct dg_curve curve;
    dg_tmpdir_make(dir);
    snprintf(path, sizeof path, "%s/log.tsv", dir);
    static const char text[] =
        "step\t\n5\t1\t2\t3.5\t4\t5\t6\t7\t\t\t\n10\t1\t2\t3.25\t4\t5\t6\t7\t3.75\t12.5\t40\n";
    ck_assert_int_eq(dg_file_out_save(path, 0644, text, sizeof text - 1, NULL), DG_OK);
    ck_assert_int_eq(dg_curve_read(&curve, path, NULL), DG_OK);
    ck_assert_uint_eq(curve.n, 2);
    ck_assert_double_eq(curve.points[0].loss, 3.5);
    ck_assert(isnan(curve.points[0].dev_loss));
    ck_assert_double_eq(curve.points[1].dev_loss, 3.75);
    ck_assert_double_eq(curve.points[1].bleu, 12.5);
    dg_curve_deinit(&curve);
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(scores_come_back_as_they_went)
{
    char dir[DG_TMPDIR_CAP], path[300];
    struct dg_scores scores, again;
    struct dg_scores_row row = {.n = 100,
                                .n_translated = 50,
                                .loss = 1.5,
                                .bleu = 33.25,
                                .chrf = 44.5,
                                .bleu_beam = 35.0,
                                .chrf_beam = 45.0,
                                .beam = 4,
                                .n_endless = 2};
    struct dg_buf table;
    struct dg_error error = DG_ERROR_NONE;
    dg_tmpdir_make(dir);
    snprintf(path, sizeof path, "%s/scores.tsv", dir);
    ck_assert_int_eq(dg_scores_read(&scores, path, NULL), DG_OK);
    ck_assert_uint_eq(scores.n, 0);
    dg_scores_name(row.set, "some/where/news|2008\t.tsv");
    ck_assert_str_eq(row.set, "news_2008_.tsv");
    dg_scores_put(&scores, &row);
    row.is_before = true;
    row.bleu = 10.0;
    dg_scores_put(&scores, &row);
    row.bleu = 11.0;
    dg_scores_put(&scores, &row); /* replaces the previous row */
    ck_assert_uint_eq(scores.n, 2);
    ck_assert_int_eq(dg_scores_write(&scores, path, NULL), DG_OK);
    ck_assert_msg(dg_scores_read(&again, path, &error) == DG_OK, "%s", error.text);
    ck_assert_uint_eq(again.n, 2);
    ck_assert_double_eq(again.rows[1].bleu, 11.0);
    ck_assert(again.rows[1].is_before && !again.rows[0].is_before);
    dg_buf_init(&table, 1 << 16);
    ck_assert_int_eq(dg_scores_table(&again, &table), DG_OK);
    const char *before = strstr(table.ptr, "2008_.tsv, before"),
               *after = strstr(table.ptr, "2008_.tsv, after");
    ck_assert(before && after && before < after);
    dg_buf_deinit(&table);
    ck_assert_int_eq(dg_file_out_save(path, 0644, "rubbish\n", 8, NULL), DG_OK);
    ck_assert_int_eq(dg_scores_read(&again, path, &error), DG_ERR_FORMAT);
    dg_tmpdir_remove(dir);
}
END_TEST

DG_UNIT(a_log_of_any_length_is_drawn, points_are_what_the_log_says, scores_come_back_as_they_went)
