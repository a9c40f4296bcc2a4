/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The search for one sentence's translation, one step per call:
 *
 *     propose   every live hypothesis offers candidates         \ search_choose.c
 *     choose    the best candidates live on or are finished   /
 *     guard     looping hypotheses are dropped; when none is left, restart or stop
 *     settle    decide whether the search is over, and how much of the answer is final
 *
 * Hypotheses are plain arrays; a child copies its parent's (a few hundred bytes), which is cheaper
 * than following pointers through a tree. All memory is allocated at the start of a sentence. Sums
 * are doubles, so that rounding does not decide the order of hypotheses.
 *
 * When sampling, the hypotheses are independent: they never compete, and each has its own random
 * numbers. */
#include "base/memory/mem.h"
#include "decode/attention_anchor.h"
#include "decode/repetition.h"
#include "decode/search_int.h"

#include <math.h>
#include <string.h>

const char *dg_finish_name(enum dg_finish finish)
{
    static const char *const names[] = {"eos", "length", "loop", "cancelled", "failed"};
    return names[finish];
}

struct dg_search *dg_search_new(void)
{
    return dg_try_calloc(1, sizeof(struct dg_search));
}

void dg_search_free(struct dg_search *search)
{
    if (!search)
        return;
    dg_free(search->memory);
    dg_free(search);
}

/* ---- Start ----------------------------------------------------------------------------------- */

int dg_search_width(const struct dg_search_opts *opts)
{
    return opts->sample ? opts->n_best : opts->beam;
}

/* Lays out the arrays of `n_hyps` hypotheses, shown tokens and placements in one block. */
static enum dg_err lay_out(struct dg_search *search, size_t n_hyps)
{
    size_t cap = search->cap ? search->cap : 1;
    size_t n_coverage = search->opts->coverage_penalty > 0 ? search->n_src : 0;
    size_t per_hyp = cap * (sizeof(int32_t) + sizeof(float)) + n_coverage * sizeof(float);
    size_t notes = (n_hyps + 1) * per_hyp,
           wide = notes + dg_term_placement_size(&search->place, cap, (size_t)search->width);
    size_t total = wide + n_hyps * cap * sizeof(int16_t);
    if (total > search->memory_cap) {
        unsigned char *grown = dg_try_realloc(search->memory, total);
        if (!grown)
            return DG_ERR_NOMEM;
        search->memory = grown;
        search->memory_cap = total;
    }
    unsigned char *at = search->memory;
    search->shown_ids = (int32_t *)(void *)at;
    search->shown_logprobs = (float *)(void *)(at + cap * sizeof(int32_t));
    int16_t *row_of = (int16_t *)(void *)(at + wide);
    search->place.notes = (struct dg_term_placement_note *)(void *)(at + notes);
    search->place.rest =
        (int32_t *)(void *)(search->place.notes + cap * (size_t)search->width * search->place.n);
    for (size_t i = 0; i < n_hyps; i++) {
        at += per_hyp;
        struct hyp *hyp = &search->hyps[i];
        *hyp = (struct hyp){0};
        hyp->ids = (int32_t *)(void *)at;
        hyp->logprobs = (float *)(void *)(at + cap * sizeof(int32_t));
        hyp->coverage = n_coverage ? hyp->logprobs + cap : NULL;
        hyp->row_of = row_of + i * cap;
    }
    return DG_OK;
}

/* Begins with one empty live hypothesis. */
static void begin(struct dg_search *search)
{
    struct hyp *root = &search->live[0];
    root->n = 0;
    root->sum = 0;
    root->at = DG_CONSTRAIN_START;
    root->at.met = search->place.all; /* all phrases count as met while the search runs freely */
    if (root->coverage)
        memset(root->coverage, 0, search->n_src * sizeof *root->coverage);
    search->n_live = 1;
    search->n_step = 0;
    search->n_kept = search->n_finished = search->n_stuck = 0;
    search->is_split = search->is_moved = false;
    memset(search->places, 0, sizeof search->places);
    search->state = DG_SEARCH_RUNNING;
}

enum dg_err dg_search_start(struct dg_search *search, const struct dg_search_opts *opts,
                            const struct dg_search_words *words, struct dg_columns columns,
                            const int32_t *src, size_t n_src, size_t target_cap)
{
    search->opts = opts;
    search->words = *words;
    search->columns = columns;
    search->n_src = n_src;
    search->cap = (size_t)dg_search_opts_cap(opts, n_src);
    if (search->cap > target_cap)
        search->cap = target_cap;
    search->width = dg_search_width(opts);
    search->narrows = !opts->sample && opts->beam_rule == DG_BEAM_NARROWS;
    search->n_keep = opts->n_best;
    size_t width = (size_t)search->width, n_hyps = 2 * width + (size_t)search->n_keep + 1;
    dg_term_placement_start(&search->place, opts, width);
    enum dg_err err = lay_out(search, n_hyps);
    if (err)
        return err;
    search->live = search->hyps;
    search->next = search->hyps + width;
    search->kept = search->hyps + 2 * width;
    search->stuck = search->hyps[n_hyps - 1];
    search->n_shown = 0;
    search->prefix = opts->prefix;
    search->n_prefix = opts->n_prefix;
    search->no_repeat_ngram = opts->no_repeat_ngram;
    search->allowance = opts->loop_guard ? dg_repetition_allowance(src, n_src) : 0;
    search->was_repaired = false;
    search->has_ties = dg_attention_anchor_any(opts);
    search->n_moves = 0;
    begin(search);
    search->empty_finish = search->cap == 0 ? DG_FINISH_LENGTH : DG_FINISH_FAILED;
    if (search->cap == 0)
        search->state = DG_SEARCH_DONE;
    return DG_OK;
}

enum dg_search_state dg_search_state(const struct dg_search *search)
{
    return search->state;
}

int dg_search_n_live(const struct dg_search *search)
{
    return search->state == DG_SEARCH_RUNNING ? search->n_live : 0;
}

void dg_search_restarted(struct dg_search *search)
{
    begin(search);
}

/* ---- Hypotheses ------------------------------------------------------------------------------ */

static void copy_hyp(const struct dg_search *search, struct hyp *to, const struct hyp *from)
{
    struct hyp arrays = *to;
    *to = *from;
    to->ids = arrays.ids;
    to->logprobs = arrays.logprobs;
    to->row_of = arrays.row_of;
    to->coverage = arrays.coverage;
    memcpy(to->ids, from->ids, from->n * sizeof *to->ids);
    memcpy(to->logprobs, from->logprobs, from->n * sizeof *to->logprobs);
    memcpy(to->row_of, from->row_of, from->n * sizeof *to->row_of);
    if (to->coverage)
        memcpy(to->coverage, from->coverage, search->n_src * sizeof *to->coverage);
}

/* Makes `to` live hypothesis `from` followed by `id`. */
static void extend(struct dg_search *search, struct hyp *to, int from, int32_t id, float logprob,
                   const float *const *attention)
{
    copy_hyp(search, to, &search->live[from]);
    to->ids[to->n] = id;
    to->logprobs[to->n] = logprob;
    to->row_of[to->n] = (int16_t)from;
    to->n++;
    to->sum += (double)logprob;
    to->from = from;
    if (search->opts->n_constraints)
        to->at = dg_constrain_take(to->at, search->opts, id);
    if (to->coverage && attention && attention[from])
        for (size_t s = 0; s < search->n_src; s++)
            to->coverage[s] += attention[from][s];
}

static double score_of(const struct dg_search *search, const struct hyp *hyp)
{
    double length = hyp->n ? (double)hyp->n : 1.0;
    double score = hyp->sum / pow(length, (double)search->opts->length_penalty);
    if (!hyp->coverage)
        return score;
    double covered = 0;
    for (size_t s = 0; s < search->n_src; s++) {
        double share = (double)hyp->coverage[s];
        covered += log(share < 1e-9 ? 1e-9 : share < 1.0 ? share : 1.0);
    }
    return score + (double)search->opts->coverage_penalty * covered;
}

/* Keeps a finished hypothesis if it is good enough. */
static void keep(struct dg_search *search, const struct hyp *hyp, enum dg_finish finish)
{
    double score = score_of(search, hyp);
    if (search->n_kept == search->n_keep && score <= search->kept[search->n_kept - 1].score)
        return;
    int at = search->n_kept < search->n_keep ? search->n_kept++ : search->n_kept - 1;
    copy_hyp(search, &search->kept[at], hyp);
    search->kept[at].score = score;
    search->kept[at].finish = finish;
    for (; at > 0 && search->kept[at - 1].score < score; at--) {
        struct hyp better = search->kept[at];
        search->kept[at] = search->kept[at - 1];
        search->kept[at - 1] = better;
    }
}

void dg_search_follow(struct dg_search *search, int from, int32_t id, float logprob,
                      const float *const *attention)
{
    struct hyp *child = &search->next[search->n_next];
    extend(search, child, from, id, logprob, attention);
    if (id == search->words.eos_id || (search->opts->ends && search->opts->ends[id])) {
        keep(search, child, DG_FINISH_EOS);
        search->n_finished++;
    } else {
        search->n_next++;
    }
}

/* ---- Guard ----------------------------------------------------------------------------------- */

/* Drops live hypotheses that loop; remembers the first. */
static void drop_loops(struct dg_search *search)
{
    if (!search->opts->loop_guard)
        return;
    int kept = 0;
    for (int i = 0; i < search->n_live; i++) {
        struct hyp *hyp = &search->live[i];
        struct dg_repetition tail = {0, 0};
        if (hyp->n > search->n_prefix)
            tail = dg_repetition_tail(hyp->ids, hyp->n);
        if (dg_repetition_is_hopeless(&tail, search->allowance)) {
            if (search->n_stuck++ == 0)
                copy_hyp(search, &search->stuck, hyp);
            continue;
        }
        if (kept != i) {
            struct hyp gap = search->live[kept];
            search->live[kept] = *hyp;
            *hyp = gap;
        }
        kept++;
    }
    search->n_live = kept;
}

/* Called when all hypotheses looped and none is finished. The first time, restarts after the shown
 * tokens with repeated n-grams forbidden; the second time, cuts the answer where the loop began. */
static void repair(struct dg_search *search)
{
    if (search->was_repaired || search->opts->sample) {
        struct hyp *stuck = &search->stuck;
        size_t n = stuck->n - dg_repetition_held_back(stuck->ids, stuck->n);
        stuck->n = n > search->n_shown ? n : search->n_shown;
        stuck->sum = 0;
        for (size_t i = 0; i < stuck->n; i++)
            stuck->sum += (double)stuck->logprobs[i];
        keep(search, stuck, DG_FINISH_LOOP);
        search->state = DG_SEARCH_DONE;
        return;
    }
    int period = dg_repetition_tail(search->stuck.ids, search->stuck.n).period;
    int n = period < 2 ? 2 : period > 4 ? 4 : period;
    if (search->no_repeat_ngram == 0 || n < search->no_repeat_ngram)
        search->no_repeat_ngram = n;
    if (search->n_shown > search->n_prefix) {
        search->prefix = search->shown_ids;
        search->n_prefix = search->n_shown;
    }
    search->was_repaired = true;
    search->state = DG_SEARCH_RESTART;
}

/* ---- Settle ---------------------------------------------------------------------------------- */

/* Turns live hypotheses into answers that were cut short. At the length limit, where the beam
 * narrows, each competes with those that ended; otherwise the live hypotheses come after those that
 * ended, best first. */
static void keep_live(struct dg_search *search, bool at_cap, enum dg_finish finish)
{
    if (search->narrows && at_cap) {
        for (int i = 0; i < search->n_live; i++)
            keep(search, &search->live[i], finish);
        return;
    }
    int n_room = search->n_keep - search->n_kept;
    bool is_taken[DG_BEAM_MAX] = {false};
    for (; n_room > 0; n_room--) {
        int best = -1;
        for (int i = 0; i < search->n_live; i++)
            if (!is_taken[i] && (best < 0 || score_of(search, &search->live[i]) >
                                                 score_of(search, &search->live[best])))
                best = i;
        if (best < 0)
            return;
        is_taken[best] = true;
        struct hyp *to = &search->kept[search->n_kept++];
        copy_hyp(search, to, &search->live[best]);
        to->score = score_of(search, to);
        to->finish = finish;
    }
}

/* Returns true while a live hypothesis could still become better than the worst answer kept. */
static bool could_improve(const struct dg_search *search)
{
    if (search->n_kept < search->n_keep)
        return true;
    double worst = search->kept[search->n_kept - 1].score;
    double longest = pow((double)search->cap, (double)search->opts->length_penalty);
    for (int i = 0; i < search->n_live; i++)
        if (search->live[i].sum / longest > worst)
            return true;
    return false;
}

int dg_search_n_wanted(const struct dg_search *search)
{
    const double wanted = (double)search->width * (double)search->opts->patience;
    return wanted < 1 ? 1 : (int)(wanted + 0.5);
}

static bool is_enough(const struct dg_search *search)
{
    if (search->opts->sample)
        return search->n_live == 0;
    const bool has_wanted = search->n_finished >= dg_search_n_wanted(search);
    if (search->narrows)
        return (has_wanted && search->opts->early_stop) || !could_improve(search);
    return has_wanted && (search->opts->early_stop || !could_improve(search));
}

/* Returns the number of first tokens that all possible answers share. */
static size_t shared_beginning(const struct dg_search *search, const struct hyp **of)
{
    const struct hyp *first = search->n_kept ? &search->kept[0] : &search->live[0];
    size_t n = first->n;
    for (int i = 0; i < search->n_live; i++) {
        const struct hyp *other = &search->live[i];
        size_t same = search->n_shown;
        while (same < n && same < other->n && same < first->n &&
               first->ids[same] == other->ids[same])
            same++;
        if (same < n)
            n = same;
    }
    *of = first;
    return n;
}

static void show(struct dg_search *search, const struct hyp *hyp, size_t n)
{
    for (size_t i = search->n_shown; i < n; i++) {
        search->shown_ids[i] = hyp->ids[i];
        search->shown_logprobs[i] = hyp->logprobs[i];
    }
    if (n > search->n_shown)
        search->n_shown = n;
}

/* When the search is over but a phrase is not where it belongs: restarts with the tokens before
 * that position and the phrase. */
static bool put_phrase(struct dg_search *search)
{
    size_t at;
    const struct dg_phrase *phrase;
    const struct hyp *best = &search->kept[0];
    size_t from = search->n_prefix > search->n_shown ? search->n_prefix : search->n_shown;
    if (search->n_kept == 0 ||
        !dg_term_placement_find(&search->place, search->opts, best->ids, best->row_of, best->n,
                                from, search->cap, &at, &phrase))
        return false;
    memmove(search->shown_ids, best->ids, at * sizeof *best->ids);
    memcpy(search->shown_ids + at, phrase->ids, phrase->n_ids * sizeof *phrase->ids);
    search->prefix = search->shown_ids;
    search->n_prefix = at + phrase->n_ids;
    search->state = DG_SEARCH_RESTART;
    return true;
}

static void settle(struct dg_search *search)
{
    bool at_cap = search->n_step >= search->cap;
    if (search->state == DG_SEARCH_RUNNING && search->n_live == 0 && search->n_kept == 0) {
        if (search->n_stuck)
            repair(search);
        else
            /* no score was finite: the answer is empty and its finish is FAILED */
            search->state = DG_SEARCH_DONE;
    } else if (search->n_live == 0 || at_cap || is_enough(search)) {
        if (at_cap || search->n_kept < search->n_keep)
            keep_live(search, at_cap, DG_FINISH_LENGTH);
        search->state = DG_SEARCH_DONE;
    }
    if (search->state == DG_SEARCH_RESTART ||
        (search->state == DG_SEARCH_DONE && put_phrase(search)))
        return;
    const struct hyp *of;
    if (search->state == DG_SEARCH_DONE) {
        if (search->n_kept)
            show(search, &search->kept[0], search->kept[0].n);
    } else if (!search->opts->sample || search->width == 1) {
        size_t n = shared_beginning(search, &of);
        if (search->has_ties && search->width == 1 &&
            !dg_attention_anchor_all_met(&of->at, search->opts))
            n = search->n_shown; /* the search may have to begin again */
        if (search->opts->loop_guard)
            n -= dg_repetition_held_back(of->ids, n);
        if (dg_term_placement_is_open(&search->place) && n > search->n_prefix)
            n = search->n_prefix; /* the next phrase goes after those that are placed already */
        if (dg_term_placement_is_open(&search->place) && !search->place.put)
            n = search->n_shown;
        show(search, of, n);
    }
}

int dg_search_advance(struct dg_search *search, struct dg_search_scratch *scratch,
                      float *const *logits, const struct dg_sampling_parts *parts,
                      const float *const *attention, struct dg_search_move *moves)
{
    search->tmp = scratch;
    search->n_next = 0;
    dg_search_choose(search, logits, parts, attention);
    struct hyp *swapped = search->live;
    search->live = search->next;
    search->next = swapped;
    search->n_live = search->n_next;
    search->n_step++;
    if (search->is_moved) {
        search->state = DG_SEARCH_RESTART;
        return 0;
    }
    drop_loops(search);
    settle(search);
    if (search->state != DG_SEARCH_RUNNING)
        return 0;
    for (int i = 0; i < search->n_live; i++)
        moves[i] = (struct dg_search_move){search->live[i].from,
                                           search->live[i].ids[search->live[i].n - 1]};
    return search->n_live;
}

void dg_search_stop(struct dg_search *search, enum dg_finish finish)
{
    if (search->state == DG_SEARCH_DONE)
        return;
    search->n_keep = 1;
    if (search->n_kept == 0)
        keep_live(search, false, finish);
    if (search->n_kept > 1)
        search->n_kept = 1;
    if (search->n_kept)
        search->kept[0].finish = finish;
    search->empty_finish = finish;
    search->state = DG_SEARCH_DONE;
}

/* ---- Results --------------------------------------------------------------------------------- */

size_t dg_search_shown(const struct dg_search *search, const int32_t **ids, const float **logprobs)
{
    *ids = search->shown_ids;
    *logprobs = search->shown_logprobs;
    return search->n_shown;
}

size_t dg_search_n_answers(const struct dg_search *search)
{
    return search->n_kept ? (size_t)search->n_kept : 1;
}

struct dg_answer dg_search_answer(const struct dg_search *search, size_t index)
{
    if (search->n_kept == 0) /* length 0 was requested, or no score was finite */
        return (struct dg_answer){
            .finish = search->empty_finish,
            .repaired = search->was_repaired,
        };
    const struct hyp *hyp = &search->kept[index];
    return (struct dg_answer){
        .ids = hyp->ids,
        .logprobs = hyp->logprobs,
        .n_ids = hyp->n,
        .logprob = hyp->sum,
        .score = hyp->score,
        .finish = hyp->finish,
        .repaired = search->was_repaired,
        .row_of = hyp->row_of,
    };
}
