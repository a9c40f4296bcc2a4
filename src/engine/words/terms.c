/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Each form of a term becomes one phrase for each way to write it. */
#include "engine/words/terms.h"
#include "text/terms/protect.h"
#include "base/memory/mem.h"
#include "decode/term_placement.h"
#include "tokenize/target_ids.h"

#include <stdlib.h>
#include <string.h>

enum { WAYS = 3, FORM_BYTES = 4 * DG_GLOSSARY_TERM_BYTES };

void dg_terms_deinit(struct dg_terms *terms)
{
    for (size_t i = 0; i < terms->n_phrases; i++)
        dg_free((int32_t *)terms->phrases[i].ids);
    dg_free(terms->phrases);
    dg_free(terms->items);
    *terms = (struct dg_terms){.n = 0};
}

void dg_terms_drop(struct dg_terms *terms, size_t index)
{
    memmove(&terms->items[index], &terms->items[index + 1],
            (terms->n - index - 1) * sizeof *terms->items);
    terms->n--;
}

/* ---- Phrases --------------------------------------------------------------------------------- */

struct maker {
    const struct dg_terms_how *how;
    struct dg_spm_work *work;
    struct dg_terms *terms;
};

static bool is_there(const struct dg_phrase *phrases, size_t n, const int32_t *ids, size_t n_ids)
{
    for (size_t i = 0; i < n; i++)
        if (phrases[i].n_ids == n_ids && memcmp(phrases[i].ids, ids, n_ids * sizeof *ids) == 0)
            return true;
    return false;
}

/* Adds the phrase of a text, if the model has tokens for it and it is not among the phrases from
 * `first` on. */
static enum dg_err add_phrase(struct maker *maker, size_t first, struct dg_span text,
                              enum dg_phrase_where where)
{
    struct dg_terms *terms = maker->terms;
    const struct dg_tokenizer_side side = dg_tokenizer_target(maker->how->tokenizer);
    int32_t *ids = NULL;
    size_t n = 0;
    enum dg_err err = dg_target_ids(maker->how->tokenizer, maker->work, text, &ids, &n);
    if (err)
        return err;
    n -= n > 0 && side.eos >= 0;
    bool is_fit = n > 0 && n <= DG_TARGET_MAX &&
                  !is_there(terms->phrases + first, terms->n_phrases - first, ids, n);
    for (size_t i = 0; is_fit && i < n; i++)
        is_fit = ids[i] != side.unk;
    if (is_fit)
        terms->phrases[terms->n_phrases++] = (struct dg_phrase){ids, n, where};
    else
        dg_free(ids);
    return DG_OK;
}

/* Adds one way to write a form. */
static enum dg_err add_way(struct maker *maker, size_t first, struct dg_span form,
                           enum dg_glossary_shape shape, enum dg_phrase_where where)
{
    struct dg_buf text;
    dg_buf_init(&text, FORM_BYTES);
    enum dg_err err = dg_glossary_shape(form, shape, maker->how->language, &text);
    if (!err)
        err = add_phrase(maker, first, dg_buf_span(&text), where);
    dg_buf_deinit(&text);
    return err;
}

/* Adds a form, written as the glossary has it. If its source begins a sentence after the first, the
 * form may also be written in that source's case; and a form that begins the translation begins
 * with a capital if the text does. A term that is the whole text is written in one way only, so
 * that the model cannot fill the room that a longer way leaves. */
static enum dg_err add_form(struct maker *maker, size_t first, struct dg_span form,
                            const struct dg_glossary_match *match)
{
    const bool follows = match->start != DG_GLOSSARY_INSIDE && match->shape != DG_GLOSSARY_AS_IT_IS;
    size_t before = maker->terms->n_phrases;
    enum dg_err err = DG_OK;
    if (follows && (match->start == DG_GLOSSARY_LATER || match->shape == DG_GLOSSARY_UPPER))
        err = add_way(maker, first, form, match->shape, DG_PHRASE_ANYWHERE);
    if (maker->terms->is_alone && maker->terms->n_phrases > before)
        return err;
    before = maker->terms->n_phrases;
    if (!err && maker->how->scan->begins_with_capital)
        err = add_way(maker, first, form, DG_GLOSSARY_CAPITAL, DG_PHRASE_FIRST);
    const bool has_capital = maker->terms->n_phrases > before;
    if (!err && !(has_capital && maker->terms->is_alone))
        err = add_way(maker, first, form, DG_GLOSSARY_AS_IT_IS,
                      has_capital ? DG_PHRASE_INSIDE : DG_PHRASE_ANYWHERE);
    if (!err && has_capital && maker->terms->n_phrases == before + 1)
        /* the term has that capital in any case */
        maker->terms->phrases[before].where = DG_PHRASE_ANYWHERE;
    return err;
}

static enum dg_err demand(struct maker *maker, struct dg_terms_item *item,
                          const struct dg_glossary_match *match)
{
    size_t first = maker->terms->n_phrases;
    enum dg_err err = DG_OK;
    for (size_t i = 0; !err && i < item->term->n_targets; i++)
        err = add_form(maker, first, item->term->targets[i], match);
    size_t n = maker->terms->n_phrases - first;
    if (!err && n > 0)
        item->demand = (struct dg_constraint){.forms = maker->terms->phrases + first,
                                              .n_forms = n,
                                              .is_placed = !maker->terms->is_alone,
                                              .src_from = item->from,
                                              .src_to = item->to};
    return err;
}

/* ---- Finding --------------------------------------------------------------------------------- */

/* Finds the tokens [*from, *to) that have bytes of a stretch of the text, beginning at token
 * *from. */
static void find_tokens(const struct dg_token *tokens, size_t n, size_t begin, size_t end,
                        size_t *from, size_t *to)
{
    while (*from < n && tokens[*from].end <= begin)
        (*from)++;
    for (*to = *from; *to < n && tokens[*to].begin < end; (*to)++)
        ;
}

/* Makes the phrases of all terms that may be demanded; the array does not move once terms point
 * into it. */
static enum dg_err make_phrases(struct dg_terms *terms, const struct dg_terms_how *how)
{
    struct maker maker = {.how = how, .terms = terms};
    size_t n_most = 0, n = terms->n < DG_PLACED_MAX ? terms->n : DG_PLACED_MAX;
    for (size_t i = 0; i < n; i++)
        n_most += WAYS * terms->items[i].term->n_targets;
    terms->phrases = dg_try_calloc(n_most, sizeof *terms->phrases);
    maker.work = dg_spm_work_new();
    enum dg_err err = terms->phrases && maker.work ? DG_OK : DG_ERR_NOMEM;
    for (size_t i = 0; !err && i < n; i++)
        if (terms->items[i].to > terms->items[i].from)
            err = demand(&maker, &terms->items[i], &how->scan->matches[i]);
    dg_spm_work_free(maker.work);
    return err;
}

/* Returns true when no letter of the text is outside the match. */
static bool is_all(struct dg_span text, const struct dg_glossary_match *match)
{
    const struct dg_protect_list none = {.n = 0};
    const size_t end = match->at + match->len;
    return dg_protect_leaves_nothing(dg_span_sub(text, 0, match->at), &none) &&
           dg_protect_leaves_nothing(dg_span_sub(text, end, text.len - end), &none);
}

enum dg_err dg_terms_find(struct dg_terms *terms, const struct dg_terms_how *how)
{
    struct dg_glossary_gap gaps[DG_PLACEHOLDERS_MAX];
    size_t n_gaps = 0;
    for (size_t i = 0; how->placeholders && i < how->placeholders->n; i++)
        if (how->placeholders->items[i].word >= 0)
            gaps[n_gaps++] = (struct dg_glossary_gap){how->placeholders->items[i].dressed_at,
                                                      how->placeholders->items[i].dressed_len};
    enum dg_err err = dg_glossary_find(how->dictionaries, how->n_dictionaries, how->text, gaps,
                                       n_gaps, how->any_case, how->scan);
    size_t n = err ? 0 : how->scan->n_matches;
    if (n == 0)
        return err;
    if (!(terms->items = dg_try_calloc(n, sizeof *terms->items)))
        return DG_ERR_NOMEM;
    for (; terms->n < n; terms->n++) {
        const struct dg_glossary_match *match = &how->scan->matches[terms->n];
        struct dg_terms_item *item = &terms->items[terms->n];
        item->term = match->term;
        item->from = terms->n ? item[-1].from : 0;
        find_tokens(how->tokens, how->n_tokens, match->at, match->at + match->len, &item->from,
                    &item->to);
    }
    terms->is_alone = n == 1 && how->is_only_model && is_all(how->text, &how->scan->matches[0]);
    return how->tokenizer ? make_phrases(terms, how) : DG_OK;
}

bool dg_terms_are_demanded(const struct dg_terms *terms)
{
    for (size_t i = 0; i < terms->n; i++)
        if (terms->items[i].demand.n_forms)
            return true;
    return false;
}

size_t dg_terms_constrain(const struct dg_terms *terms, struct dg_constraint *constraints,
                          size_t cap)
{
    size_t n = 0;
    for (size_t i = 0; i < terms->n && n < cap; i++)
        if (terms->items[i].demand.n_forms && !terms->items[i].is_elsewhere)
            constraints[n++] = terms->items[i].demand;
    return n;
}

size_t dg_terms_longest(const struct dg_terms *terms, size_t n_source)
{
    if (!terms->is_alone || terms->n != 1 || terms->items[0].demand.n_forms == 0)
        return 0;
    const struct dg_terms_item *item = &terms->items[0];
    size_t longest = 0;
    for (size_t i = 0; i < item->demand.n_forms; i++)
        if (item->demand.forms[i].n_ids > longest)
            longest = item->demand.forms[i].n_ids;
    return longest + n_source - (item->to - item->from);
}

/* ---- Following ------------------------------------------------------------------------------- */

/* A neighbour of the token that attends most to a term's source also translates the term if it
 * attends to that source at least this much, as a share of that token's attention. */
static const float beside = 0.5f;

static float share_of(const struct dg_terms_said *said, size_t t, const struct dg_terms_item *item)
{
    float share = 0;
    for (size_t s = item->from; s < item->to && s < said->n_source; s++)
        share += said->alignment[t * said->n_source + s];
    return share;
}

static bool is_joined(const struct dg_terms_said *said, size_t t)
{
    return t < said->n && said->joining && said->joining[said->ids[t]];
}

void dg_terms_follow(struct dg_terms *terms, const struct dg_terms_said *said)
{
    for (size_t i = 0; i < terms->n; i++) {
        struct dg_terms_item *item = &terms->items[i];
        size_t from = 0, to;
        float most = 0;
        for (size_t t = 0; t < said->n; t++) {
            const bool has_text = said->ends[t] > (t ? said->ends[t - 1] : 0);
            const float share = has_text ? share_of(said, t, item) : 0;
            if (share > most) {
                most = share;
                from = t;
            }
        }
        if (most == 0)
            continue;
        for (to = from + 1; to < said->n && share_of(said, to, item) >= beside * most; to++)
            ;
        while (from > 0 && share_of(said, from - 1, item) >= beside * most)
            from--;
        while (from > 0 && is_joined(said, from))
            from--;
        while (is_joined(said, to))
            to++;
        item->via_at = from ? said->ends[from - 1] : 0;
        item->via_len = said->ends[to - 1] - item->via_at;
    }
}

void dg_terms_tie(struct dg_terms *terms, const struct dg_terms_piece *piece)
{
    for (size_t i = 0; i < terms->n; i++) {
        struct dg_terms_item *item = &terms->items[i];
        struct dg_constraint *demand = &item->demand;
        demand->src_from = demand->src_to = 0;
        if (item->via_len == 0) {
            item->is_elsewhere = !piece->is_first;
            continue;
        }
        /* The last byte counts, because a blank before its first word may belong to the piece
         * before. */
        size_t begin = item->via_at, end = item->via_at + item->via_len;
        item->is_elsewhere = end <= piece->at || end > piece->at + piece->len;
        if (item->is_elsewhere)
            continue;
        begin = begin > piece->at ? begin - piece->at : 0;
        end -= piece->at;
        if (piece->placeholders) {
            begin = dg_placeholders_dressed(piece->placeholders, begin);
            end = dg_placeholders_dressed(piece->placeholders, end);
        }
        find_tokens(piece->tokens, piece->n_tokens, begin, end, &demand->src_from, &demand->src_to);
    }
}

/* ---- Checking -------------------------------------------------------------------------------- */

/* How far the translation was searched for the forms of one term. */
struct search {
    const struct dg_glossary_term *term;
    struct dg_glossary_phrase forms[DG_GLOSSARY_FORMS]; /* owned; [n_forms] */
    /* the text before this is counted already, or is not this form */
    size_t from[DG_GLOSSARY_FORMS];
    size_t n_forms;
};

struct checker {
    struct search *searches; /* owned; [n] in the order of `term` */
    size_t n;
    uint8_t *is_counted; /* owned; for each code point of the translation, whether it is part of a
                            term */
};

static int compare_searches(const void *a, const void *b)
{
    const struct search *x = a, *y = b;
    return ((uintptr_t)x->term > (uintptr_t)y->term) - ((uintptr_t)x->term < (uintptr_t)y->term);
}

/* Begins one search for each term, however often the sentence has it. */
static enum dg_err begin_searches(struct checker *checker, const struct dg_terms *terms)
{
    size_t n = 0;
    enum dg_err err = DG_OK;
    checker->searches = dg_try_calloc(terms->n, sizeof *checker->searches);
    if (!checker->searches)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < terms->n; i++)
        checker->searches[i].term = terms->items[i].term;
    qsort(checker->searches, terms->n, sizeof *checker->searches, compare_searches);
    for (size_t i = 0; i < terms->n; i++)
        if (n == 0 || checker->searches[n - 1].term != checker->searches[i].term)
            checker->searches[n++].term = checker->searches[i].term;
    checker->n = n;
    for (size_t i = 0; !err && i < n; i++) {
        struct search *search = &checker->searches[i];
        for (; !err && search->n_forms < search->term->n_targets; search->n_forms += !err)
            err = dg_glossary_phrase_init(&search->forms[search->n_forms],
                                          search->term->targets[search->n_forms]);
    }
    return err;
}

static void end_searches(struct checker *checker)
{
    for (size_t i = 0; i < checker->n; i++)
        while (checker->searches[i].n_forms > 0)
            dg_glossary_phrase_deinit(&checker->searches[i].forms[--checker->searches[i].n_forms]);
    dg_free(checker->searches);
    dg_free(checker->is_counted);
}

/* Finds the next place of a form that is not counted for another term; false: there is none. */
static bool find_form(const struct checker *checker, struct search *search, size_t form,
                      const struct dg_glossary_scan *scan, size_t *at)
{
    const struct dg_glossary_phrase *phrase = &search->forms[form];
    while (dg_glossary_stands(scan, phrase, search->from[form], at)) {
        search->from[form] = *at + 1;
        if (!memchr(checker->is_counted + *at, 1, phrase->n))
            return true;
    }
    search->from[form] = scan->n;
    return false;
}

/* Counts the first form of the item's term that occurs. */
static void check_item(struct checker *checker, struct dg_terms_item *item,
                       const struct dg_glossary_scan *scan)
{
    const struct search wanted = {.term = item->term};
    struct search *search =
        bsearch(&wanted, checker->searches, checker->n, sizeof wanted, compare_searches);
    for (size_t f = 0; search && f < search->n_forms && !item->is_used; f++) {
        size_t at, n = search->forms[f].n;
        if (!find_form(checker, search, f, scan, &at))
            continue;
        memset(checker->is_counted + at, 1, n);
        item->is_used = true;
        item->said_at = scan->at[at];
        item->said_len = scan->at[at + n] - scan->at[at];
    }
}

enum dg_err dg_terms_check(struct dg_terms *terms, struct dg_span text,
                           struct dg_glossary_scan *scan)
{
    struct checker checker = {.n = 0};
    if (terms->n == 0)
        return DG_OK;
    enum dg_err err = dg_glossary_scan_text(scan, text);
    if (!err)
        err = begin_searches(&checker, terms);
    if (!err && !(checker.is_counted = dg_try_calloc(scan->n + 1, 1)))
        err = DG_ERR_NOMEM;
    for (size_t i = 0; !err && i < terms->n; i++)
        if (!terms->items[i].is_used)
            check_item(&checker, &terms->items[i], scan);
    end_searches(&checker);
    return err;
}
