/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* n best ways: A* from the end of the text to its start, over the lattice. What a partial way from
 * the end costs is known (gain); what the rest can bring at most is known from the Viterbi pass
 * (total), so complete ways leave the agenda best first. Long repetitive texts would blow the
 * agenda up, so it is cut back to its best entries now and then, as the original does.
 *
 * Sampling: forward sums over all ways, then a walk back that chooses each piece with its
 * probability given everything behind it. */
#include "text/spm_sample.h"

#include "base/mem.h"
#include "text/spm_int.h"
#include "text/spm_lattice.h"

#include <math.h>

enum {
    NONE = UINT32_MAX,
    AGENDA_MAX = 100000,
    AGENDA_KEEP = 512,
    WAYS_MAX = 1 << 24, /* partial ways over one search */
};

/* A way from `node` to the end of the text. */
struct way {
    uint32_t node, next; /* `next`: index of the way that this one extends, NONE at the end */
    float gain;          /* scores of the nodes behind `node` and its own */
    float bound;         /* the most that a complete way through here can score */
};

struct dg_spm_search {
    struct dg_spm_lattice lattice;
    struct way *ways; /* owned */
    size_t n_ways, ways_cap;
    uint32_t *agenda; /* owned; a heap of ways, the best bound on top */
    size_t n_agenda, agenda_cap;
    uint32_t found[DG_SPM_NBEST_MAX]; /* complete ways, best first */
    size_t n_found;
};

void dg_spm_search_free(struct dg_spm_search *search)
{
    if (!search)
        return;
    dg_spm_lattice_deinit(&search->lattice);
    dg_free(search->ways);
    dg_free(search->agenda);
    dg_free(search);
}

/* ---- Agenda ------------------------------------------------------------------------------------
 */

/* Earlier ways first among equals, so that the order is the same everywhere. */
static bool is_before(const struct dg_spm_search *s, uint32_t a, uint32_t b)
{
    float bound_a = s->ways[a].bound, bound_b = s->ways[b].bound;
    return bound_a > bound_b || (bound_a == bound_b && a < b);
}

static enum dg_err push(struct dg_spm_search *s, struct way way)
{
    if (s->n_ways == WAYS_MAX)
        return DG_ERR_LIMIT;
    enum dg_err err = dg_spm_work_reserve(&s->ways, &s->ways_cap, s->n_ways + 1, sizeof *s->ways);
    if (!err)
        err = dg_spm_work_reserve(&s->agenda, &s->agenda_cap, s->n_agenda + 1, sizeof *s->agenda);
    if (err)
        return err;
    uint32_t index = (uint32_t)s->n_ways++;
    s->ways[index] = way;
    size_t at = s->n_agenda++;
    for (; at > 0 && is_before(s, index, s->agenda[(at - 1) / 2]); at = (at - 1) / 2)
        s->agenda[at] = s->agenda[(at - 1) / 2];
    s->agenda[at] = index;
    return DG_OK;
}

static uint32_t pop(struct dg_spm_search *s)
{
    uint32_t top = s->agenda[0], last = s->agenda[--s->n_agenda];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < s->n_agenda; at = child) {
        if (child + 1 < s->n_agenda && is_before(s, s->agenda[child + 1], s->agenda[child]))
            child++;
        if (!is_before(s, s->agenda[child], last))
            break;
        s->agenda[at] = s->agenda[child];
    }
    s->agenda[at] = last;
    return top;
}

/* Keeps the best entries. In ascending order they are a heap as they stand. */
static void shrink(struct dg_spm_search *s, size_t n)
{
    size_t keep = n * 10 < AGENDA_KEEP ? n * 10 : AGENDA_KEEP;
    uint32_t best[AGENDA_KEEP];
    for (size_t i = 0; i < keep; i++)
        best[i] = pop(s);
    memcpy(s->agenda, best, keep * sizeof *best);
    s->n_agenda = keep;
}

/* ---- Search ------------------------------------------------------------------------------------
 */

static enum dg_err extend(struct dg_spm_search *s, uint32_t top)
{
    const struct dg_spm_lattice *lattice = &s->lattice;
    const uint32_t *from = lattice->ending_from + lattice->nodes[s->ways[top].node].begin;
    enum dg_err err = DG_OK;
    for (uint32_t e = from[0]; e < from[1] && !err; e++) {
        const struct dg_spm_node *before = &lattice->nodes[lattice->ending[e]];
        const float gain = s->ways[top].gain;
        err = push(s, (struct way){.node = lattice->ending[e],
                                   .next = top,
                                   .gain = before->score + gain,
                                   .bound = before->total + gain});
    }
    return err;
}

static enum dg_err search_best(struct dg_spm_search *s, size_t n)
{
    s->n_ways = s->n_agenda = s->n_found = 0;
    enum dg_err err = push(s, (struct way){.node = (uint32_t)s->lattice.n_nodes - 1, .next = NONE});
    while (!err && s->n_agenda && s->n_found < n) {
        uint32_t top = pop(s);
        if (s->ways[top].node == 0) {
            s->found[s->n_found++] = top;
            continue;
        }
        err = extend(s, top);
        if (s->n_agenda >= AGENDA_MAX)
            shrink(s, n);
    }
    /* A search that grew too large gives what it found. */
    return err == DG_ERR_LIMIT && s->n_found ? DG_OK : err;
}

static enum dg_err normalise(const struct dg_spm *spm, struct dg_spm_work *work,
                             struct dg_span text)
{
    work->n_tokens = work->n_segments = 0;
    work->normal.len = 0;
    return text.len ? dg_normalise(&spm->normaliser, text, &work->normal) : DG_OK;
}

static enum dg_err prepare(const struct dg_spm *spm, struct dg_spm_work *work, struct dg_span text)
{
    if (!work->search)
        work->search = dg_xcalloc(1, sizeof *work->search);
    work->search->n_found = 0;
    enum dg_err err = normalise(spm, work, text);
    if (!err && work->normal.len)
        err = dg_spm_lattice_build(spm, work->normal.bytes, (uint32_t)work->normal.len,
                                   &work->search->lattice);
    return err;
}

enum dg_err dg_spm_nbest(const struct dg_spm *spm, struct dg_spm_work *work, struct dg_span text,
                         size_t n, size_t *n_ways)
{
    if (spm->kind != DG_SPM_UNIGRAM)
        return DG_ERR_UNSUPPORTED;
    enum dg_err err = prepare(spm, work, text);
    if (!err && work->normal.len) {
        dg_spm_lattice_viterbi(&work->search->lattice);
        err = search_best(work->search, n < DG_SPM_NBEST_MAX ? n : DG_SPM_NBEST_MAX);
    }
    if (!err)
        *n_ways = work->search->n_found;
    return err;
}

enum dg_err dg_spm_nbest_take(const struct dg_spm *spm, struct dg_spm_work *work, size_t i,
                              float *score)
{
    const struct dg_spm_search *s = work->search;
    if (!s || i >= s->n_found)
        return DG_ERR_RANGE;
    enum dg_err err = DG_OK;
    work->n_segments = 0;
    const struct way *first = &s->ways[s->found[i]];
    for (const struct way *way = &s->ways[first->next]; way->next != NONE && !err;
         way = &s->ways[way->next]) {
        const struct dg_spm_node *node = &s->lattice.nodes[way->node];
        err = dg_spm_work_segment(work, node->begin, node->end, node->id);
    }
    if (!err)
        err = dg_spm_populate(spm, work);
    if (!err)
        *score = first->bound;
    return err;
}

/* ---- Sampling ----------------------------------------------------------------------------------
 */

/* Chooses a node that ends where `node` begins. */
static uint32_t choose_before(const struct dg_spm_lattice *lattice, uint32_t node, double theta,
                              struct dg_rng *rng)
{
    const uint32_t *from = lattice->ending_from + lattice->nodes[node].begin;
    double left = dg_rng_uniform(rng);
    for (uint32_t e = from[0]; e + 1 < from[1]; e++) {
        const struct dg_spm_node *before = &lattice->nodes[lattice->ending[e]];
        left -= exp(before->alpha + theta * (double)before->score - lattice->nodes[node].alpha);
        if (left < 0)
            return lattice->ending[e];
    }
    return lattice->ending[from[1] - 1];
}

static enum dg_err sample_all(const struct dg_spm *spm, struct dg_spm_work *work, double theta,
                              struct dg_rng *rng)
{
    struct dg_spm_lattice *lattice = &work->search->lattice;
    enum dg_err err = DG_OK;
    dg_spm_lattice_forward(lattice, theta);
    uint32_t node = (uint32_t)lattice->n_nodes - 1;
    while (!err && (node = choose_before(lattice, node, theta, rng)) != 0)
        err = dg_spm_work_segment(work, lattice->nodes[node].begin, lattice->nodes[node].end,
                                  lattice->nodes[node].id);
    if (err)
        return err;
    dg_spm_work_reverse(work);
    return dg_spm_populate(spm, work);
}

static enum dg_err sample_best(const struct dg_spm *spm, struct dg_spm_work *work,
                               struct dg_span text, const struct dg_spm_sampling *sampling,
                               struct dg_rng *rng)
{
    size_t n;
    int limit =
        sampling->nbest < DG_SPM_SAMPLING_NBEST_MAX ? sampling->nbest : DG_SPM_SAMPLING_NBEST_MAX;
    enum dg_err err = dg_spm_nbest(spm, work, text, (size_t)limit, &n);
    if (err || n == 0)
        return err;
    const struct dg_spm_search *s = work->search;
    const float best = s->ways[s->found[0]].bound;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += exp(sampling->alpha * (double)(s->ways[s->found[i]].bound - best));
    double left = dg_rng_uniform(rng) * sum;
    size_t chosen = 0;
    for (; chosen + 1 < n; chosen++) {
        left -= exp(sampling->alpha * (double)(s->ways[s->found[chosen]].bound - best));
        if (left < 0)
            break;
    }
    float score;
    return dg_spm_nbest_take(spm, work, chosen, &score);
}

enum dg_err dg_spm_sample(const struct dg_spm *spm, struct dg_spm_work *work, struct dg_span text,
                          const struct dg_spm_sampling *sampling, struct dg_rng *rng)
{
    if (!(sampling->alpha >= 0) || sampling->nbest < 0)
        return DG_ERR_INVALID;
    if (spm->kind == DG_SPM_BPE) {
        enum dg_err err = normalise(spm, work, text);
        if (!err && work->normal.len)
            err = dg_spm_bpe(spm, work, sampling->alpha, rng);
        return err ? err : dg_spm_populate(spm, work);
    }
    if (spm->kind != DG_SPM_UNIGRAM || sampling->nbest == 1)
        return dg_spm_encode(spm, work, text);
    if (sampling->nbest > 1)
        return sample_best(spm, work, text, sampling, rng);
    enum dg_err err = prepare(spm, work, text);
    if (!err && work->normal.len)
        err = sample_all(spm, work, sampling->alpha, rng);
    return err;
}
