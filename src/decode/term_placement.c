/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Finds the place for a phrase. The thresholds were measured (docs/internals/search.md). */
#include "decode/term_placement.h"
#include "decode/attention_anchor.h"

#include <math.h>
#include <string.h>

/* A position is worth log(share) + fluency * log-probability of the phrase's first token. */
static const float fluency = 0.3f, logprob_least = -12.0f;

/* A phrase that the network produced itself counts as the translation of its source when its share
 * of attention is at least this fraction of the largest share. */
static const float own_share = 0.25f;

/* A token with at least this share of attention on the phrase's source was a translation of it. */
static const float displacing_share = 0.3f;

void dg_term_placement_start(struct dg_term_placement *place, const struct dg_search_opts *opts,
                             size_t width)
{
    *place = (struct dg_term_placement){.width = width};
    for (size_t i = 0; i < opts->n_constraints && place->n < DG_PLACED_MAX; i++) {
        if (!opts->constraints[i].is_placed)
            continue;
        place->all |= (uint32_t)1 << i;
        place->items[place->n++] = (uint8_t)i;
    }
}

size_t dg_term_placement_size(const struct dg_term_placement *place, size_t cap, size_t width)
{
    return place->n ? cap * (width * place->n * sizeof(struct dg_term_placement_note) +
                             sizeof *place->rest)
                    : 0;
}

static struct dg_term_placement_note *note_at(const struct dg_term_placement *place, size_t at,
                                              size_t row, size_t k)
{
    return &place->notes[(at * place->width + row) * place->n + k];
}

void dg_term_placement_forget(struct dg_term_placement *place, size_t at, size_t row)
{
    for (size_t k = 0; k < place->n; k++)
        *note_at(place, at, row, k) = (struct dg_term_placement_note){.share = 0, .form = -1};
}

/* Returns whether the phrase's `where` permits position `at`. */
static bool may_stand(const struct dg_phrase *phrase, size_t at)
{
    return phrase->where == DG_PHRASE_ANYWHERE || (phrase->where == DG_PHRASE_FIRST) == (at == 0);
}

void dg_term_placement_note(struct dg_term_placement *place, const struct dg_search_opts *opts,
                            size_t at, size_t row, const float *attention, size_t n_src,
                            const struct dg_columns *columns, const float *logits, float lse)
{
    for (size_t k = 0; k < place->n; k++) {
        const struct dg_constraint *constraint = &opts->constraints[place->items[k]];
        struct dg_term_placement_note *note = note_at(place, at, row, k);
        if (place->put >> place->items[k] & 1)
            continue;
        note->share = 1; /* without a source any position will do */
        if (dg_attention_anchor_is_tied(constraint))
            note->share = attention ? dg_attention_anchor_share(constraint, attention, n_src) : 0;
        for (size_t f = 0; f < constraint->n_forms; f++) {
            if (!may_stand(&constraint->forms[f], at))
                continue;
            long column = dg_columns_find(columns, constraint->forms[f].ids[0]);
            float logprob = column < 0 ? -INFINITY : logits[column] - lse;
            if (isfinite(logprob) && (note->form < 0 || logprob > note->logprob)) {
                note->form = (int32_t)f;
                note->logprob = logprob;
            }
        }
    }
}

bool dg_term_placement_is_displaced(const struct dg_term_placement *place,
                                    const struct dg_search_opts *opts, size_t k,
                                    const float *attention, size_t n_src)
{
    const struct dg_term_placement_said *put = &place->puts[k];
    return put->to && put->displaced >= 0 &&
           dg_attention_anchor_share(&opts->constraints[place->items[k]], attention, n_src) >=
               displacing_share;
}

/* Returns true when token `at` begins a word, as far as is known. */
static bool begins_word(const struct dg_search_opts *opts, const int32_t *ids, size_t n, size_t at)
{
    return !opts->joining || at >= n || !opts->joining[ids[at]];
}

/* Returns true when the phrase's tokens are at `at` and are whole words. */
static bool stands_at(const struct dg_search_opts *opts, const struct dg_phrase *phrase,
                      const int32_t *ids, size_t n, size_t at)
{
    for (size_t i = 0; i < phrase->n_ids; i++)
        if (at + i >= n || ids[at + i] != phrase->ids[i])
            return false;
    return begins_word(opts, ids, n, at + phrase->n_ids);
}

/* The answer, and its tokens [from, to) for each phrase that it contains by itself. */
struct answer {
    const int32_t *ids;
    const int16_t *row_of;
    size_t n, from;
    struct dg_term_placement_said said[DG_PLACED_MAX]; /* to 0: these are not reported */
};

static const struct dg_term_placement_note *note_of(const struct dg_term_placement *place,
                                                    const struct answer *answer, size_t t, size_t k)
{
    return note_at(place, t, (size_t)answer->row_of[t], k);
}

static bool is_taken(const struct answer *answer, size_t from, size_t to)
{
    for (size_t k = 0; k < DG_PLACED_MAX; k++)
        if (from < answer->said[k].to && to > answer->said[k].from)
            return true;
    return false;
}

/* Looks for phrase k in the places where the network attended to its source. */
static void find_said(const struct dg_term_placement *place, const struct dg_search_opts *opts,
                      struct answer *answer, size_t k)
{
    const struct dg_constraint *constraint = &opts->constraints[place->items[k]];
    float most = 0;
    for (size_t t = 0; t < answer->n; t++)
        most = fmaxf(most, note_of(place, answer, t, k)->share);
    for (size_t t = 0; t < answer->n; t++) {
        for (size_t f = 0; f < constraint->n_forms; f++) {
            const struct dg_phrase *phrase = &constraint->forms[f];
            float share = 0;
            if (!may_stand(phrase, t) || !stands_at(opts, phrase, answer->ids, answer->n, t) ||
                is_taken(answer, t, t + phrase->n_ids))
                continue;
            for (size_t i = 0; i < phrase->n_ids; i++)
                share = fmaxf(share, note_of(place, answer, t + i, k)->share);
            if (share < own_share * most)
                continue;
            answer->said[k] = (struct dg_term_placement_said){t, t + phrase->n_ids, -1};
            return;
        }
    }
}

static float worth(const struct dg_term_placement_note *note)
{
    return logf(note->share + 1e-6f) + fluency * fmaxf(note->logprob, logprob_least);
}

/* Finds the best position of phrase k; returns false when it has none. */
static bool best_place(const struct dg_term_placement *place, const struct dg_search_opts *opts,
                       const struct answer *answer, size_t k, size_t cap, size_t *at, int32_t *form)
{
    float most = -INFINITY;
    for (size_t t = answer->from; t < answer->n; t++) {
        const struct dg_term_placement_note *note = note_of(place, answer, t, k);
        if (note->form < 0 || !begins_word(opts, answer->ids, answer->n, t) ||
            is_taken(answer, t, t + 1) ||
            t + opts->constraints[place->items[k]].forms[note->form].n_ids + 1 >= cap ||
            worth(note) <= most)
            continue;
        most = worth(note);
        *at = t;
        *form = note->form;
    }
    return *form >= 0;
}

/* Finds the end of what phrase k replaces, which begins at `at`: the word there and further
 * translations of the phrase's source. */
static size_t end_of_replaced(const struct dg_term_placement *place,
                              const struct dg_search_opts *opts, const struct answer *answer,
                              size_t at, size_t k)
{
    size_t end = at + 1;
    while (end < answer->n && (!begins_word(opts, answer->ids, answer->n, end) ||
                               note_of(place, answer, end, k)->share >= displacing_share))
        end++;
    return end;
}

int32_t dg_term_placement_next(const struct dg_term_placement *place, const int32_t *ids, size_t n,
                               int32_t eos_id)
{
    size_t next = 0;
    bool is_on = place->rest_at > 0;
    for (size_t i = place->rest_at; is_on && i < n; i++) {
        size_t found = next;
        while (found < place->n_rest && place->rest[found] != ids[i])
            found++;
        is_on = found < place->n_rest || i + 1 < n; /* only the last token must be found */
        next = found < place->n_rest ? found + 1 : next;
    }
    return !is_on ? -1 : next < place->n_rest ? place->rest[next] : eos_id;
}

bool dg_term_placement_find(struct dg_term_placement *place, const struct dg_search_opts *opts,
                            const int32_t *ids, const int16_t *row_of, size_t n, size_t from,
                            size_t cap, size_t *at, const struct dg_phrase **phrase)
{
    struct answer answer = {.ids = ids, .row_of = row_of, .n = n, .from = from};
    size_t first = n, which = place->n;
    memcpy(answer.said, place->puts, sizeof answer.said);
    for (size_t k = 0; k < place->n; k++)
        if (!(place->put >> place->items[k] & 1))
            find_said(place, opts, &answer, k);
    for (size_t k = 0; k < place->n; k++) {
        size_t t = 0;
        int32_t form = -1;
        if (answer.said[k].to || (place->put >> place->items[k] & 1) ||
            !best_place(place, opts, &answer, k, cap, &t, &form) ||
            (which < place->n && t >= first))
            continue;
        first = t;
        which = k;
        *phrase = &opts->constraints[place->items[k]].forms[form];
    }
    if (which == place->n) {
        place->put = place->all; /* every phrase is in the answer, or fits nowhere */
        return false;
    }
    *at = first;
    bool displaces = note_of(place, &answer, first, which)->share >= displacing_share;
    place->puts[which] = (struct dg_term_placement_said){first, first + (*phrase)->n_ids,
                                                         displaces ? ids[first] : -1};
    place->put |= (uint32_t)1 << place->items[which];
    const size_t end = displaces ? end_of_replaced(place, opts, &answer, first, which) : first;
    place->n_rest = n - end;
    memcpy(place->rest, ids + end, place->n_rest * sizeof *place->rest);
    place->rest_at = first + (*phrase)->n_ids;
    return true;
}
