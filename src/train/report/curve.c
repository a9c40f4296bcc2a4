/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A drawing of 800 by 420: steps to the right, loss on the left axis, BLEU on the right one. In a
 * long log, each drawn point of the training loss is the mean of several points of the log. */
#include "train/report/curve.h"
#include "base/file/file_out.h"
#include "base/file/folder.h"
#include "base/file/text_in.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SVG_MAX = 4 << 20, CSV_MAX = 1 << 30, DRAWN_MAX = 400, FIELDS = 12, POINTS_MAX = 1 << 24 };

/* ---- Reading --------------------------------------------------------------------------------- */

/* Returns column `i` of a line, or "" past the last column. */
static struct dg_span column(struct dg_span line, size_t i)
{
    for (; i > 0; i--) {
        const char *tab = line.len ? memchr(line.ptr, '\t', line.len) : NULL;
        if (!tab)
            return dg_span_sub(line, line.len, 0);
        line = dg_span_sub(line, (size_t)(tab - line.ptr) + 1, line.len);
    }
    const char *tab = line.len ? memchr(line.ptr, '\t', line.len) : NULL;
    return tab ? dg_span_sub(line, 0, (size_t)(tab - line.ptr)) : line;
}

/* Parses a number; NaN for text that is not one. */
static double number(struct dg_span text)
{
    char room[64], *end;
    if (text.len == 0 || text.len >= sizeof room)
        return NAN;
    memcpy(room, text.ptr, text.len);
    room[text.len] = '\0';
    const double value = strtod(room, &end);
    return *end || !isfinite(value) ? NAN : value;
}

static enum dg_err append(struct dg_curve *curve, struct dg_curve_point point)
{
    if (curve->n == POINTS_MAX || DG_GROW(curve->points, curve->n, curve->cap, 256))
        return DG_ERR_NOMEM;
    curve->points[curve->n++] = point;
    return DG_OK;
}

enum dg_err dg_curve_read(struct dg_curve *curve, const char *log_path, struct dg_error *error)
{
    struct dg_text_in in;
    struct dg_span line;
    struct dg_curve made = {0};
    enum dg_err err = dg_text_in_open(&in, log_path, error);
    if (err)
        return err;
    while (!err && dg_text_in_line(&in, &line)) {
        const struct dg_curve_point point = {number(column(line, 0)),  number(column(line, 3)),
                                             number(column(line, 8)),  number(column(line, 9)),
                                             number(column(line, 10)), number(column(line, 11))};
        if (!isnan(point.step) && !(isnan(point.loss) && isnan(point.dev_loss)))
            err = append(&made, point);
    }
    dg_text_in_close(&in);
    if (err)
        dg_curve_deinit(&made);
    else
        *curve = made;
    return err;
}

void dg_curve_deinit(struct dg_curve *curve)
{
    dg_free(curve->points);
    *curve = (struct dg_curve){0};
}

/* ---- Drawing --------------------------------------------------------------------------------- */

enum { WIDTH = 800, HEIGHT = 420, LEFT = 60, RIGHT = 740, TOP = 40, BOTTOM = 370 };

struct frame {
    double step_max, loss_min, loss_max, bleu_max; /* bleu_max is 0 if BLEU was not measured */
    bool has_task;                                 /* the right axis shows the figure of a task */
};

/* The value on the right axis: BLEU, or the figure of a task, where values below 0 are drawn at
 * 0. NaN: not measured. */
static double right_of(const struct dg_curve_point *p)
{
    return isnan(p->task) ? p->bleu : fmax(p->task, 0.0);
}

static double at_step(const struct frame *frame, double step)
{
    return LEFT + (RIGHT - LEFT) * step / frame->step_max;
}

static double at_loss(const struct frame *frame, double loss)
{
    return BOTTOM - (BOTTOM - TOP) * (loss - frame->loss_min) / (frame->loss_max - frame->loss_min);
}

static double at_bleu(const struct frame *frame, double bleu)
{
    return BOTTOM - (BOTTOM - TOP) * bleu / frame->bleu_max;
}

/* The distance of tick marks: 1, 2 or 5 times a power of ten, about five in the range. */
static double spacing(double range)
{
    const double raw = range > 0.0 ? range / 5.0 : 1.0, power = pow(10.0, floor(log10(raw))),
                 lead = raw / power;
    return power * (lead < 1.5 ? 1.0 : lead < 3.5 ? 2.0 : lead < 7.5 ? 5.0 : 10.0);
}

static struct frame frame_of(const struct dg_curve *curve)
{
    struct frame f = {.step_max = 1.0, .loss_min = INFINITY, .loss_max = -INFINITY};
    for (size_t i = 0; i < curve->n; i++) {
        const struct dg_curve_point *p = &curve->points[i];
        f.step_max = fmax(f.step_max, p->step);
        f.loss_min = fmin(f.loss_min, fmin(p->loss, p->dev_loss)); /* fmin ignores NaN */
        f.loss_max = fmax(f.loss_max, fmax(p->loss, p->dev_loss));
        f.bleu_max = isnan(right_of(p)) ? f.bleu_max : fmax(f.bleu_max, right_of(p));
        f.has_task |= !isnan(p->task);
    }
    if (!(f.loss_max > f.loss_min)) {
        f.loss_min = isfinite(f.loss_min) ? f.loss_min - 0.5 : 0.0;
        f.loss_max = f.loss_min + 1.0;
    }
    const double step = spacing(f.loss_max - f.loss_min);
    f.loss_min = floor(f.loss_min / step) * step;
    f.loss_max = ceil(f.loss_max / step) * step;
    if (f.bleu_max > 0.0)
        f.bleu_max = ceil(f.bleu_max / spacing(f.bleu_max)) * spacing(f.bleu_max);
    return f;
}

static enum dg_err put_text(struct dg_buf *out, double x, double y, const char *anchor,
                            const char *colour, const char *text)
{
    return dg_buf_printf(out,
                         "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n",
                         x, y, anchor, colour, text);
}

static enum dg_err put_axes(const struct frame *f, struct dg_buf *out)
{
    char text[32];
    enum dg_err err = DG_OK;
    for (double tick = f->loss_min; !err && tick <= f->loss_max * 1.0001;
         tick += spacing(f->loss_max - f->loss_min)) {
        const double y = at_loss(f, tick);
        err = dg_buf_printf(out, "<path d=\"M%d %.1fH%d\" stroke=\"#ddd\"/>\n", LEFT, y, RIGHT);
        snprintf(text, sizeof text, "%.3g", tick);
        if (!err)
            err = put_text(out, LEFT - 8, y + 4, "end", "#444", text);
    }
    for (double tick = 0.0; !err && tick <= f->step_max; tick += spacing(f->step_max)) {
        const double x = at_step(f, tick);
        err = dg_buf_printf(out, "<path d=\"M%.1f %dv6\" stroke=\"#444\"/>\n", x, BOTTOM);
        snprintf(text, sizeof text, "%.0f", tick);
        if (!err)
            err = put_text(out, x, BOTTOM + 20, "middle", "#444", text);
    }
    for (double tick = 0.0; !err && f->bleu_max > 0.0 && tick <= f->bleu_max * 1.0001;
         tick += spacing(f->bleu_max)) {
        snprintf(text, sizeof text, "%.3g", tick);
        err = put_text(out, RIGHT + 8, at_bleu(f, tick) + 4, "start", "#2a7f3f", text);
    }
    if (!err)
        err = dg_buf_printf(out, "<path d=\"M%d %dV%dH%d\" stroke=\"#444\" fill=\"none\"/>\n", LEFT,
                            TOP, BOTTOM, RIGHT);
    return err ? err : put_text(out, (LEFT + RIGHT) / 2.0, HEIGHT - 8, "middle", "#444", "steps");
}

/* Draws the line of the training loss: the means of groups of `group` points. */
static enum dg_err put_training(const struct dg_curve *curve, const struct frame *f,
                                struct dg_buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < curve->n; i++)
        n += isnan(curve->points[i].dev_loss) && !isnan(curve->points[i].loss);
    const size_t group = n / DRAWN_MAX + 1;
    enum dg_err err = dg_buf_append_cstr(
        out, "<polyline fill=\"none\" stroke=\"#4a78c2\" stroke-width=\"1.5\" points=\"");
    double steps = 0.0, losses = 0.0;
    size_t in_group = 0, seen = 0;
    for (size_t i = 0; i < curve->n && !err; i++) {
        const struct dg_curve_point *p = &curve->points[i];
        if (!isnan(p->dev_loss) || isnan(p->loss))
            continue;
        steps += p->step;
        losses += p->loss;
        in_group++;
        seen++;
        if (in_group < group && seen < n)
            continue;
        err = dg_buf_printf(out, "%.1f,%.1f ", at_step(f, steps / (double)in_group),
                            at_loss(f, losses / (double)in_group));
        steps = losses = 0.0;
        in_group = 0;
    }
    return err ? err : dg_buf_append_cstr(out, "\"/>\n");
}

/* Draws the figures of the validations: `bleu` or the loss. */
static enum dg_err put_validations(const struct dg_curve *curve, const struct frame *f, bool bleu,
                                   struct dg_buf *out)
{
    const char *colour = bleu ? "#2a7f3f" : "#c2413a";
    enum dg_err err = dg_buf_printf(
        out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"", colour);
    for (size_t i = 0; i < curve->n && !err; i++) {
        const struct dg_curve_point *p = &curve->points[i];
        const double value = bleu ? right_of(p) : p->dev_loss;
        if (!isnan(value))
            err = dg_buf_printf(out, "%.1f,%.1f ", at_step(f, p->step),
                                bleu ? at_bleu(f, value) : at_loss(f, value));
    }
    return err ? err : dg_buf_append_cstr(out, "\"/>\n");
}

enum dg_err dg_curve_svg(const struct dg_curve *curve, struct dg_buf *out)
{
    const struct frame f = frame_of(curve);
    enum dg_err err =
        dg_buf_printf(out,
                      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                      "font-family=\"sans-serif\" font-size=\"13\">\n"
                      "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
                      WIDTH, HEIGHT, WIDTH, HEIGHT);
    if (!err)
        err = put_axes(&f, out);
    if (!err)
        err = put_training(curve, &f, out);
    if (!err)
        err = put_validations(curve, &f, false, out);
    if (!err && f.bleu_max > 0.0)
        err = put_validations(curve, &f, true, out);
    if (!err)
        err = put_text(out, LEFT, TOP - 16, "start", "#4a78c2", "loss in training");
    if (!err)
        err = put_text(out, LEFT + 150, TOP - 16, "start", "#c2413a", "loss of held-out pairs");
    if (!err && f.bleu_max > 0.0)
        err = put_text(out, RIGHT + 8, TOP - 16, "end", "#2a7f3f",
                       f.has_task ? "what held-out lines are judged by" : "BLEU of held-out pairs");
    return err ? err : dg_buf_append_cstr(out, "</svg>\n");
}

/* ---- Files ----------------------------------------------------------------------------------- */

static enum dg_err put_csv(const char *log_path, struct dg_buf *out, struct dg_error *error)
{
    struct dg_text_in in;
    struct dg_span line;
    enum dg_err err = dg_text_in_open(&in, log_path, error);
    if (err)
        return err;
    while (!err && dg_text_in_line(&in, &line)) {
        for (size_t i = 0; i < FIELDS && !err; i++) {
            if (i)
                err = dg_buf_append_byte(out, ',');
            if (!err)
                err = dg_buf_append_span(out, column(line, i));
        }
        if (!err)
            err = dg_buf_append_byte(out, '\n');
    }
    dg_text_in_close(&in);
    return err;
}

enum dg_err dg_curve_write(const char *dir, struct dg_error *error)
{
    char log[DG_PATH_CAP], csv[DG_PATH_CAP], svg[DG_PATH_CAP];
    struct dg_curve curve = {0};
    struct dg_buf table, drawing;
    dg_buf_init(&table, CSV_MAX);
    dg_buf_init(&drawing, SVG_MAX);
    enum dg_err err = dg_folder_path(dir, "training/log.tsv", log, error);
    if (!err)
        err = dg_folder_path(dir, "training/curve.csv", csv, error);
    if (!err)
        err = dg_folder_path(dir, "training/curve.svg", svg, error);
    if (!err)
        err = dg_curve_read(&curve, log, error);
    if (!err)
        err = put_csv(log, &table, error);
    if (!err)
        err = dg_file_out_save(csv, 0644, table.ptr ? table.ptr : "", table.len, error);
    if (!err)
        err = dg_curve_svg(&curve, &drawing);
    if (!err)
        err = dg_file_out_save(svg, 0644, drawing.ptr, drawing.len, error);
    dg_curve_deinit(&curve);
    dg_buf_deinit(&table);
    dg_buf_deinit(&drawing);
    return err;
}
