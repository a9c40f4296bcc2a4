/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One step's choice of words:
 *
 *     propose   every live hypothesis offers candidates: the likeliest words and the words that
 *               continue a constraint, or its one forced word, or one drawn word
 *     choose    best candidates first: those that end are kept as finished, the others live on,
 *               until the places of the beam are taken
 *
 * When sampling, every hypothesis draws for itself. */
#include "base/memory/mem.h"
#include "decode/attention_anchor.h"
#include "decode/search_int.h"

#include <math.h>
#include <string.h>

struct dg_search_scratch *dg_search_scratch_new(const struct dg_kernels *kernels, size_t n_vocab)
{
    struct dg_search_scratch *scratch = dg_try_calloc(1, sizeof *scratch);
    if (scratch && !(scratch->pick = dg_sampling_new(kernels, n_vocab))) {
        dg_free(scratch);
        return NULL;
    }
    return scratch;
}

void dg_search_scratch_free(struct dg_search_scratch *scratch)
{
    if (!scratch)
        return;
    dg_sampling_free(scratch->pick);
    dg_free(scratch);
}

/* ---- Propose --------------------------------------------------------------------------------- */

static void add_candidate(struct dg_search *search, int from, int32_t id, float logprob)
{
    const struct hyp *hyp = &search->live[from];
    for (int i = search->tmp->n_candidates; i-- > 0 && search->tmp->candidates[i].hyp == from;)
        if (search->tmp->candidates[i].id == id)
            return;
    struct candidate *candidate = &search->tmp->candidates[search->tmp->n_candidates++];
    *candidate = (struct candidate){hyp->sum + (double)logprob, from, id, logprob, 0};
    if (search->opts->n_constraints)
        candidate->bank = dg_constrain_take(hyp->at, search->opts, id).n_said;
}

/* Offers the words that begin or continue constraint `due`, or any constraint when it is -1. */
static void propose_constraints(struct dg_search *search, int from, int due, const float *logits,
                                float lse)
{
    int32_t ids[NEXT_MAX];
    size_t n = 0;
    if (due >= 0)
        for (size_t f = 0; f < search->opts->constraints[due].n_forms && n < NEXT_MAX; f++)
            ids[n++] = search->opts->constraints[due].forms[f].ids[0];
    else
        n = dg_constrain_next(&search->live[from].at, search->opts, ids, NEXT_MAX);
    for (size_t i = 0; i < n; i++) {
        long column = dg_columns_find(&search->columns, ids[i]);
        if (column >= 0 && isfinite(logits[column]))
            add_candidate(search, from, ids[i], logits[column] - lse);
    }
}

/* Returns true when only a constraint's next word may follow: inside a copy; when the remaining
 * length is only just enough; and, with a single hypothesis, once a phrase has begun or the
 * sentence wants to end. */
static bool must_serve_constraint(const struct dg_search *search, const struct hyp *hyp,
                                  bool wants_to_end)
{
    if (search->opts->n_constraints == 0 || dg_constrain_is_met(&hyp->at, search->opts))
        return false;
    if (dg_constrain_is_bound(&hyp->at, search->opts))
        return true;
    if (search->cap - hyp->n <= dg_constrain_n_missing(&hyp->at, search->opts) + 1)
        return true;
    return search->width == 1 && (wants_to_end || hyp->at.item >= 0);
}

static bool is_best(const struct dg_search *search, const float *logits, int32_t id)
{
    long column = dg_columns_find(&search->columns, id);
    if (column < 0)
        return false;
    for (size_t i = 0; i < search->columns.n; i++)
        if (logits[i] > logits[column])
            return false;
    return true;
}

/* How much the log-probability of the previous answer's next word may be below the best. */
static const float AS_BEFORE = 4.0f; /* measured: docs/internals/search.md */
/* After a copy, forbids tokens that would lengthen its last word. */
static void forbid_joining(const struct dg_search *search, float *logits)
{
    for (size_t c = 0; c < search->columns.n; c++)
        if (search->opts->joining[dg_columns_id(&search->columns, c)])
            logits[c] = -INFINITY;
}

static void forbid_word(const struct dg_search *search, int32_t id, float *logits)
{
    long column = dg_columns_find(&search->columns, id);
    if (column >= 0)
        logits[column] = -INFINITY;
}

/* Forbids the word that a placed phrase has replaced. */
static void forbid_displaced(const struct dg_search *search, int from, float *logits)
{
    for (size_t k = 0; search->place.put && search->attention && k < search->place.n; k++)
        if (dg_term_placement_is_displaced(&search->place, search->opts, k, search->attention[from],
                                           search->n_src))
            forbid_word(search, search->place.puts[k].displaced, logits);
}

/* Forbids the first words of phrases that do not belong here according to the network's attention,
 * and returns the constraint that is due, or -1. */
static int watch_ties(struct dg_search *search, int from, float *logits)
{
    const struct hyp *hyp = &search->live[from];
    const struct dg_search_opts *opts = search->opts;
    const float *attention = search->attention ? search->attention[from] : NULL;
    int due = attention ? dg_attention_anchor_due(&hyp->at, opts, attention, search->n_src) : -1;
    for (size_t i = 0; i < opts->n_constraints; i++) {
        const struct dg_constraint *constraint = &opts->constraints[i];
        if (search->width == 1 && attention && dg_attention_anchor_is_tied(constraint) &&
            hyp->at.item < 0) {
            struct best_place *place = &search->places[i];
            float share = dg_attention_anchor_share(constraint, attention, search->n_src);
            if (share > place->share)
                *place = (struct best_place){share, hyp->n};
        }
        if ((int)i == due ||
            !dg_attention_anchor_is_barred(&hyp->at, opts, i, attention, search->n_src))
            continue;
        for (size_t f = 0; f < constraint->n_forms; f++)
            forbid_word(search, constraint->forms[f].ids[0], logits);
    }
    return due;
}

/* When the sentence wants to end but a phrase was never due, restarts with the phrase where its
 * source received most attention. Returns false when that is no better than ending. */
static bool move_phrase(struct dg_search *search, const struct hyp *hyp)
{
    const struct dg_search_opts *opts = search->opts;
    if (search->width > 1 || opts->sample || hyp->at.item >= 0 || search->n_moves >= MOVES_MAX)
        return false;
    for (size_t i = 0; i < opts->n_constraints; i++) {
        const struct best_place *place = &search->places[i];
        const struct dg_phrase *phrase = &opts->constraints[i].forms[0];
        if (!dg_attention_anchor_is_tied(&opts->constraints[i]) || (hyp->at.met >> i & 1) ||
            place->share <= 0 || place->at >= hyp->n || place->at < search->n_shown ||
            place->at < search->n_prefix || place->at + phrase->n_ids >= search->cap)
            continue;
        memmove(search->shown_ids, hyp->ids, place->at * sizeof *hyp->ids);
        memcpy(search->shown_ids + place->at, phrase->ids, phrase->n_ids * sizeof *phrase->ids);
        search->prefix = search->shown_ids;
        search->n_prefix = place->at + phrase->n_ids;
        search->n_moves++;
        search->is_moved = true;
        return true;
    }
    return false;
}

/* Notes, for each phrase that may have to be placed, how good this position is. */
static void note_places(struct dg_search *search, int from, const float *logits, float lse)
{
    if (dg_term_placement_is_open(&search->place))
        dg_term_placement_note(&search->place, search->opts, search->live[from].n, (size_t)from,
                               search->attention ? search->attention[from] : NULL, search->n_src,
                               &search->columns, logits, lse);
}

/* Offers the word that was here before the last phrase was placed, if it is about as good as the
 * best word. */
static bool goes_on_as_before(struct dg_search *search, int from, const float *logits)
{
    const struct hyp *hyp = &search->live[from];
    const int32_t id =
        dg_term_placement_next(&search->place, hyp->ids, hyp->n, search->words.eos_id);
    const long column = dg_columns_find(&search->columns, id);
    float lse, best = -INFINITY;
    for (size_t c = 0; column >= 0 && c < search->columns.n; c++)
        best = fmaxf(best, logits[c]);
    if (column < 0 || !isfinite(logits[column]) || logits[column] < best - AS_BEFORE)
        return false;
    dg_sampling_top(search->tmp->pick, logits, search->columns.n, 0, NULL, &lse);
    note_places(search, from, logits, lse);
    add_candidate(search, from, id, logits[column] - lse);
    return true;
}

static struct dg_rules rules_of(const struct dg_search *search)
{
    return (struct dg_rules){
        .opts = search->opts,
        .columns = search->columns,
        .eos_id = search->words.eos_id,
        .unk_id = search->words.unk_id,
        .never = search->words.never,
        .n_never = search->words.n_never,
        .no_repeat_ngram = search->no_repeat_ngram,
    };
}

/* Prepares the row of live hypothesis `from`. Returns false when its next word is forced or
 * constrained and was offered already. */
static bool prepare_row(struct dg_search *search, int from, float *logits)
{
    float lse;
    struct hyp *hyp = &search->live[from];
    bool is_open = search->opts->n_constraints && !dg_constrain_is_met(&hyp->at, search->opts);
    bool wants_to_end = is_open && is_best(search, logits, search->words.eos_id);
    struct dg_rules rules = rules_of(search);
    rules.forbid_end = is_open;
    if (hyp->n < search->n_prefix) {
        int32_t forced = search->prefix[hyp->n];
        /* The other rules do not count here, but log-probabilities never include tokens that may
         * never be generated. */
        for (size_t i = 0; i < search->words.n_never; i++) {
            long never = dg_columns_find(&search->columns, search->words.never[i]);
            if (never >= 0 && search->words.never[i] != forced)
                logits[never] = -INFINITY;
        }
        long column = dg_columns_find(&search->columns, forced);
        float wanted = column < 0 ? -INFINITY : logits[column];
        dg_sampling_top(search->tmp->pick, logits, search->columns.n, 0, NULL, &lse);
        note_places(search, from, logits, lse);
        if (isfinite(wanted) && isfinite(lse))
            add_candidate(search, from, forced, wanted - lse);
        return false;
    }
    dg_rules_apply(&rules, hyp->ids, hyp->n, logits);
    if (search->opts->joining &&
        (hyp->at.is_fresh || (search->place.put && hyp->n == search->n_prefix)))
        forbid_joining(search, logits);
    forbid_displaced(search, from, logits);
    if (!is_open && goes_on_as_before(search, from, logits))
        return false;
    int due = search->has_ties ? watch_ties(search, from, logits) : -1;
    if (due < 0 && wants_to_end && search->has_ties && move_phrase(search, hyp))
        return false;
    if (due >= 0 || must_serve_constraint(search, hyp, wants_to_end)) {
        dg_sampling_top(search->tmp->pick, logits, search->columns.n, 0, NULL, &lse);
        propose_constraints(search, from, due, logits, lse);
        return false;
    }
    return true;
}

static void propose(struct dg_search *search, float *const *logits)
{
    struct dg_candidate *choices = search->tmp->choices;
    for (int i = 0; i < search->n_live; i++) {
        float lse;
        dg_term_placement_forget(&search->place, search->live[i].n, (size_t)i);
        if (!prepare_row(search, i, logits[i]))
            continue;
        size_t n = dg_sampling_top(search->tmp->pick, logits[i], search->columns.n,
                                   (size_t)(2 * search->width), choices, &lse);
        note_places(search, i, logits[i], lse);
        for (size_t c = 0; c < n; c++)
            add_candidate(search, i, dg_columns_id(&search->columns, (size_t)choices[c].column),
                          choices[c].logprob);
        if (search->opts->n_constraints && search->width > 1 && isfinite(lse))
            propose_constraints(search, i, -1, logits[i], lse);
    }
}

/* Returns false for options that need single logits, and so whole rows. The repetition penalty
 * could be applied to parts, but its time for each part grows with the square of the length. */
bool dg_search_takes_parts(const struct dg_search *search)
{
    return !search->opts->sample && search->opts->n_constraints == 0 && !search->opts->joining &&
           !search->columns.ids && !(search->opts->repetition_penalty > 1.0f) &&
           search->n_step >= search->n_prefix;
}

void dg_search_take(const struct dg_search *search, const struct dg_search_scratch *scratch,
                    struct dg_sampling_parts *parts, int i, float *logits, size_t first, size_t n)
{
    const struct hyp *hyp = &search->live[i];
    struct dg_rules rules = rules_of(search);
    rules.first = first;
    rules.end = first + n;
    dg_rules_apply(&rules, hyp->ids, hyp->n, logits);
    if (first == 0)
        dg_sampling_begin(&parts[i]);
    dg_sampling_take(scratch->pick, &parts[i], (size_t)(2 * search->width), logits, first, n);
}

static void propose_parts(struct dg_search *search, const struct dg_sampling_parts *parts)
{
    struct dg_candidate *choices = search->tmp->choices;
    for (int i = 0; i < search->n_live; i++) {
        float lse;
        const size_t n = dg_sampling_end(&parts[i], choices, &lse);
        for (size_t c = 0; c < n; c++)
            add_candidate(search, i, choices[c].column, choices[c].logprob);
    }
}

/* ---- Choose ---------------------------------------------------------------------------------- */

/* Returns the best candidate that is not taken yet, of one bank or, with -1, of any bank; NULL:
 * there is none. */
static struct candidate *best_candidate(struct dg_search *search, int bank)
{
    struct candidate *best = NULL;
    for (int i = 0; i < search->tmp->n_candidates; i++) {
        struct candidate *candidate = &search->tmp->candidates[i];
        if (candidate->id >= 0 && (bank < 0 || candidate->bank == bank) &&
            (!best || candidate->sum > best->sum))
            best = candidate;
    }
    return best;
}

/* Returns the number of hypotheses that may still be added to those that live on. If the beam
 * narrows, each finished hypothesis, of this step or an earlier one, keeps its place; there are as
 * many places as the beam is wide, or more with `patience`. */
static int n_places(const struct dg_search *search)
{
    const int n_wanted = dg_search_n_wanted(search), width = search->width;
    const int n_most =
        n_wanted > width ? n_wanted - search->n_finished : width - search->n_finished;
    return (search->narrows && n_most < width ? n_most : width) - search->n_next;
}

static void take(struct dg_search *search, struct candidate *candidate,
                 const float *const *attention)
{
    int32_t id = candidate->id;
    candidate->id = -1;
    dg_search_follow(search, candidate->hyp, id, candidate->logprob, attention);
}

/* With constraints, first gives every bank (number of constraint tokens produced) a share of the
 * beam, so that hypotheses with an unlikely phrase are not displaced by those that have not begun
 * it. */
static void choose_by_bank(struct dg_search *search, const float *const *attention)
{
    int most = 0;
    bool is_there[4 * DG_TARGET_MAX / 64 + 1];
    memset(is_there, 0, sizeof is_there);
    int n_banks = 0;
    for (int i = 0; i < search->tmp->n_candidates; i++) {
        int bank = search->tmp->candidates[i].bank;
        if (bank >= (int)sizeof is_there)
            bank = search->tmp->candidates[i].bank = (int)sizeof is_there - 1;
        if (!is_there[bank]) {
            is_there[bank] = true;
            n_banks++;
        }
        if (bank > most)
            most = bank;
    }
    int n = n_places(search), share = n_banks > 0 && n / n_banks > 0 ? n / n_banks : 1;
    for (int bank = most; bank >= 0; bank--) {
        int end = n_places(search) > share ? n_places(search) - share : 0;
        while (is_there[bank] && n_places(search) > end) {
            struct candidate *candidate = best_candidate(search, bank);
            if (!candidate)
                break;
            take(search, candidate, attention);
        }
    }
}

static void choose(struct dg_search *search, const float *const *attention)
{
    if (search->opts->n_constraints && search->width > 1)
        choose_by_bank(search, attention);
    while (n_places(search) > 0) {
        struct candidate *candidate = best_candidate(search, -1);
        if (!candidate)
            break;
        take(search, candidate, attention);
    }
}

/* Draws the next words. Every draw is independent. The draws become separate rows at the first word
 * that is not forced. */
static void draw(struct dg_search *search, float *const *logits, const float *const *attention)
{
    const struct dg_search_opts *opts = search->opts;
    bool is_forced = search->n_step < search->n_prefix;
    int n_lanes = search->is_split || is_forced ? search->n_live : search->width;
    for (int lane = 0, prepared = -1; lane < n_lanes; lane++) {
        int from = search->is_split || is_forced ? lane : 0;
        search->tmp->n_candidates = 0;
        if (prepared != from && !prepare_row(search, from, logits[from])) {
            choose(search, attention);
            continue;
        }
        prepared = from;
        float lse;
        dg_term_placement_forget(&search->place, search->live[from].n, (size_t)from);
        if (dg_term_placement_is_open(&search->place)) {
            dg_sampling_top(search->tmp->pick, logits[from], search->columns.n, 0, NULL, &lse);
            note_places(search, from, logits[from], lse);
        }
        struct dg_rng rng = search->live[from].rng;
        if (!search->is_split)
            dg_rng_init(&rng, opts->seed, (uint64_t)lane);
        struct dg_candidate choice;
        if (dg_sampling_draw(search->tmp->pick, logits[from], search->columns.n, opts->temperature,
                             opts->top_k, opts->top_p, &rng, &choice)) {
            struct hyp *child = &search->next[search->n_next];
            dg_search_follow(search, from, dg_columns_id(&search->columns, (size_t)choice.column),
                             choice.logprob, attention);
            child->rng = rng;
        }
    }
    if (!is_forced)
        search->is_split = true;
}

void dg_search_choose(struct dg_search *search, float *const *logits,
                      const struct dg_sampling_parts *parts, const float *const *attention)
{
    search->tmp->n_candidates = 0;
    search->attention = search->has_ties ? attention : NULL;
    if (search->opts->sample) {
        draw(search, logits, attention);
    } else {
        if (parts)
            propose_parts(search, parts);
        else
            propose(search, logits);
        choose(search, attention);
    }
}
