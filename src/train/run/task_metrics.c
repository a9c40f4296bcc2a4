/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The code walks through the true entities and the predicted ones side by side. An entity counts as
 * right when both walks have one of the same type over the same words. */
#include "train/run/task_metrics.h"

#include <math.h>

/* ---- Entities -------------------------------------------------------------------------------- */

struct entity {
    size_t first, end; /* positions of words */
    struct dg_span type;
};

static struct dg_span label_at(const struct dg_labels *labels, const struct dg_pass_said *said,
                               bool is_truth, char *kind)
{
    const int32_t number = is_truth ? said->truth : said->said;
    return dg_labels_entity(labels->list[number], kind);
}

/* Finds the next entity from word `at` on; false: there is none. */
static bool next_entity(const struct dg_labels *labels, const struct dg_pass_said *said, size_t n,
                        bool is_truth, size_t at, struct entity *entity)
{
    char kind;
    while (at < n && label_at(labels, &said[at], is_truth, &kind).len == 0)
        at++;
    if (at == n)
        return false;
    *entity = (struct entity){.first = at, .type = label_at(labels, &said[at], is_truth, &kind)};
    while (++at < n && kind != 'E' && kind != 'L' && kind != 'S' && kind != 'U') {
        const struct dg_span type = label_at(labels, &said[at], is_truth, &kind);
        if (type.len == 0 || dg_labels_begins(kind, type, entity->type))
            break;
    }
    entity->end = at;
    return true;
}

static void add_entities(struct dg_task_metrics *metrics, const struct dg_labels *labels,
                         const struct dg_pass_said *said, size_t n)
{
    struct entity wanted, found;
    bool has_wanted = next_entity(labels, said, n, true, 0, &wanted),
         has_found = next_entity(labels, said, n, false, 0, &found);
    while (has_wanted || has_found) {
        const bool takes_wanted = has_wanted && (!has_found || wanted.first <= found.first);
        const bool takes_found = has_found && (!has_wanted || found.first <= wanted.first);
        metrics->entities.n_both += takes_wanted && takes_found && wanted.end == found.end &&
                                    dg_span_eq(wanted.type, found.type);
        metrics->entities.n_true += takes_wanted;
        metrics->entities.n_said += takes_found;
        if (takes_wanted)
            has_wanted = next_entity(labels, said, n, true, wanted.end, &wanted);
        if (takes_found)
            has_found = next_entity(labels, said, n, false, found.end, &found);
    }
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* Compares the tokens of two spans; "no answer" counts as a span of its own. */
static double overlap(const struct dg_pass_said *said)
{
    const int32_t from = said[0].said > said[0].truth ? said[0].said : said[0].truth;
    const int32_t to = said[1].said < said[1].truth ? said[1].said : said[1].truth;
    const double both = to >= from ? (double)(to - from + 1) : 0.0;
    const double lengths =
        (double)(said[1].said - said[0].said + 1) + (double)(said[1].truth - said[0].truth + 1);
    return 2.0 * both / lengths;
}

static void merge_counts(struct dg_task_metrics_count *into,
                         const struct dg_task_metrics_count *from)
{
    into->n_true += from->n_true;
    into->n_said += from->n_said;
    into->n_both += from->n_both;
}

/* ---- Several labels -------------------------------------------------------------------------- */

static void add_labels(struct dg_task_metrics *metrics, const struct dg_pass_said *said, size_t n)
{
    bool is_right = true;
    for (size_t l = 0; l < n; l++) {
        metrics->labels[l].n_true += said[l].truth == 1;
        metrics->labels[l].n_said += said[l].said == 1;
        metrics->labels[l].n_both += said[l].truth == 1 && said[l].said == 1;
        is_right &= said[l].said == said[l].truth;
    }
    metrics->n++;
    metrics->n_right += is_right;
}

/* Returns F1 in per cent; 100 if there was nothing to find and nothing was predicted. */
static double f1_of(const struct dg_task_metrics_count *count)
{
    const uint64_t n = count->n_true + count->n_said;
    return n ? 200.0 * (double)count->n_both / (double)n : 100.0;
}

static void report_labels(const struct dg_task_metrics *t, struct dg_validate_report *report)
{
    struct dg_task_metrics_count all = {0};
    double sum = 0.0;
    size_t n = 0;
    for (size_t l = 0; l < DG_LABELS_MAX; l++) {
        if (t->labels[l].n_true + t->labels[l].n_said == 0)
            continue;
        merge_counts(&all, &t->labels[l]);
        sum += f1_of(&t->labels[l]);
        n++;
    }
    report->f1 = f1_of(&all);
    report->macro_f1 = n ? sum / (double)n : 100.0;
}

/* ---- All tasks ------------------------------------------------------------------------------- */

void dg_task_metrics_add(struct dg_task_metrics *metrics, const struct dg_blueprint *bp,
                         const struct dg_labels *labels, const struct dg_pass_said *said, size_t n)
{
    if (bp->enc.head == DG_HEAD_SPANS) {
        metrics->n++;
        metrics->n_right += said[0].said == said[0].truth && said[1].said == said[1].truth;
        metrics->f1 += overlap(said);
        return;
    }
    if (dg_pass_gives_each(bp)) {
        add_labels(metrics, said, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const double x = (double)said[i].number, y = (double)said[i].wanted;
        metrics->n++;
        metrics->n_right += said[i].said == said[i].truth;
        metrics->x += x;
        metrics->y += y;
        metrics->xx += x * x;
        metrics->yy += y * y;
        metrics->xy += x * y;
    }
    if (bp->enc.head == DG_HEAD_TOKENS && labels && dg_labels_find(labels, DG_SPAN("O"), NULL)) {
        metrics->has_entities = true;
        add_entities(metrics, labels, said, n);
    }
}

void dg_task_metrics_merge(struct dg_task_metrics *into, const struct dg_task_metrics *from)
{
    into->n += from->n;
    into->n_right += from->n_right;
    merge_counts(&into->entities, &from->entities);
    for (size_t l = 0; l < DG_LABELS_MAX; l++)
        merge_counts(&into->labels[l], &from->labels[l]);
    into->has_entities |= from->has_entities;
    into->f1 += from->f1;
    into->x += from->x;
    into->y += from->y;
    into->xx += from->xx;
    into->yy += from->yy;
    into->xy += from->xy;
}

/* Returns the correlation; 0 if one of the two does not vary. */
static double correlation(const struct dg_task_metrics *t)
{
    const double n = (double)t->n, xx = n * t->xx - t->x * t->x, yy = n * t->yy - t->y * t->y,
                 both = sqrt(xx) * sqrt(yy);
    return xx > 0.0 && yy > 0.0 && both > 0.0 ? (n * t->xy - t->x * t->y) / both : 0.0;
}

void dg_task_metrics_report(const struct dg_task_metrics *t, const struct dg_blueprint *bp,
                            struct dg_validate_report *report)
{
    const double right = t->n ? 100.0 * (double)t->n_right / (double)t->n : 0.0;
    if (t->n == 0)
        return;
    if (bp->enc.head == DG_HEAD_POOLED && bp->enc.rule == DG_LABELS_NUMBER) {
        report->correlation = correlation(t);
    } else if (bp->enc.head == DG_HEAD_SPANS) {
        report->exact = right;
        report->f1 = 100.0 * t->f1 / (double)t->n;
    } else {
        report->accuracy = right;
    }
    if (t->has_entities)
        report->f1 = f1_of(&t->entities);
    else if (dg_pass_gives_each(bp))
        report_labels(t, report);
}
