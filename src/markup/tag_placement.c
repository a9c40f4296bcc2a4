/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The translation is cut into units: words, ideographs, marks. Each unit has a share of every
 * source token. The affinity of a stretch of the source to a unit is the part of the unit's shares
 * that lies in the stretch. An element is placed around the units whose affinities, less one half
 * each, have the largest sum (Kadane's maximum subarray); its children are placed inside it in the
 * same way. So every tag occurs once, and nesting is legal by construction.
 *
 *     source   le [chat noir] dort        chat noir: cat .9  black .95  the .1  sleeps .0
 *     units    the black cat sleeps      -.4  +.45  +.4  -.5      ->  the [black cat] sleeps
 *
 * A word that markup divides, as in H<sub>2</sub>O, is divided in the same way where the
 * translation repeats it.
 *
 * Tags whose partner is in another sentence divide the units in two. So do the borders of cues in
 * subtitles (tag_placement_cues.c). tag_placement_units.c has the units and their shares. */
#include "markup/tag_placement.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "markup/tag_placement_int.h"

#include <stdlib.h>
#include <string.h>

enum {
    RANKED_MAX = 64, /* siblings of which the best is placed first; further ones are placed in
                        order */
    WORDS_MAX = 1000,
    WORD_MAX = 24, /* bytes; longer words are cut, for scripts without spaces */
};

/* ---- Places ---------------------------------------------------------------------------------- */

static bool is_free(const struct dg_placement *placement, size_t u, size_t level)
{
    return placement->units[u].level < level;
}

/* The value that a unit adds to a stretch. Punctuation marks decide nothing, but they never extend
 * a stretch. */
static float gain(const struct dg_placement *placement, size_t u, size_t first, size_t last)
{
    float part = dg_placement_affinity(placement, u, first, last);
    return placement->units[u].is_word ? part - 0.5f : part > 0.5f ? 0.02f : -0.02f;
}

static bool begins_with_word(const struct dg_placement *placement, size_t from)
{
    uint32_t cp = 0;
    return from < placement->plain.len && dg_utf8_decode(placement->plain, from, &cp) > 0 &&
           !dg_placement_is_mark(cp);
}

static bool ends_with_word(const struct dg_placement *placement, size_t from, size_t to)
{
    uint32_t cp = 0;
    size_t last = to;
    while (last > from && ((unsigned char)placement->plain.ptr[--last] & 0xC0) == 0x80)
        ;
    return to > from && dg_utf8_decode(placement->plain, last, &cp) > 0 &&
           !dg_placement_is_mark(cp);
}

/* The free units that repeat a part of a word of the source, which markup divides. */
static bool repeated_stretch(const struct dg_placement *placement, size_t from, size_t to,
                             size_t lo, size_t hi, size_t level, struct dg_placement_node *node)
{
    for (size_t u = lo; u < hi; u++) {
        const struct dg_text_unit *units = placement->units;
        size_t v = u, end = from;
        while (v < hi && units[v].source_len > 0 && units[v].source_at == end && end < to &&
               is_free(placement, v, level))
            end += units[v++].source_len;
        if (v == u || end != to)
            continue;
        node->lo = u;
        node->hi = v;
        node->score = (float)(v - u);
        return true;
    }
    return false;
}

/* The best free stretch within [lo, hi) for a stretch of the source; false when there is no
 * evidence for any. */
static bool best_stretch(const struct dg_placement *placement, size_t from, size_t to, size_t lo,
                         size_t hi, size_t level, struct dg_placement_node *node)
{
    size_t first, last, start = lo;
    float sum = 0, best = 0;
    bool is_found = false;
    if (repeated_stretch(placement, from, to, lo, hi, level, node))
        return true;
    dg_placement_tokens(placement, from, to, &first, &last);
    for (size_t u = lo; u < hi; u++) {
        if (!is_free(placement, u, level)) {
            sum = 0;
            start = u + 1;
            continue;
        }
        if (sum <= 0) {
            sum = 0;
            start = u;
        }
        sum += gain(placement, u, first, last);
        if (sum > best) {
            best = sum;
            node->lo = start;
            node->hi = u + 1;
            node->score = sum;
            is_found = true;
        }
    }
    return is_found;
}

/* The free word with the largest share of the source stretch. */
static bool best_word(const struct dg_placement *placement, size_t from, size_t to, size_t lo,
                      size_t hi, size_t level, struct dg_placement_node *node)
{
    size_t first, last;
    float best = 0;
    dg_placement_tokens(placement, from, to, &first, &last);
    for (size_t u = lo; u < hi; u++) {
        float part = dg_placement_affinity(placement, u, first, last);
        if (!is_free(placement, u, level) || !placement->units[u].is_word || part <= best)
            continue;
        best = part;
        node->lo = u;
        node->hi = u + 1;
        node->score = part - 0.5f;
    }
    return best > 0;
}

/* Finds the boundary for a point that is between two words of [from, to) in the source: the one
 * whose neighbours on both sides match these words best. It is never inside a sibling. */
static void best_boundary(struct dg_placement *placement, size_t at, size_t lo, size_t hi,
                          size_t level, struct dg_placement_node *node)
{
    size_t first, middle, last;
    if (placement->boundary.is_set && placement->boundary.at == at &&
        placement->boundary.lo == lo && placement->boundary.hi == hi &&
        placement->boundary.level == level && placement->boundary.n_claims == placement->n_claims) {
        node->lo = node->hi = placement->boundary.found;
        return;
    }
    float best = -1e9f;
    dg_placement_tokens(placement, placement->part->at, at, &first, &middle);
    last = placement->n_source;
    size_t before = middle > first ? middle - 1 : middle,
           after = middle < last ? middle + 1 : middle;
    float crossed = 0; /* the sum of shares on the wrong side of the boundary */
    for (size_t u = lo; u < hi; u++)
        crossed += dg_placement_affinity(placement, u, first, middle);
    for (size_t k = lo; k <= hi; k++) {
        float score = -0.2f * crossed;
        bool is_inside = k > lo && k < hi && !is_free(placement, k - 1, level) &&
                         !is_free(placement, k, level) &&
                         placement->units[k - 1].owner == placement->units[k].owner;
        if (k > lo)
            score += dg_placement_affinity(placement, k - 1, before, middle);
        if (k < hi)
            score += dg_placement_affinity(placement, k, middle, after);
        const struct dg_text_unit *behind = &placement->units[k];
        if (k > lo && k < hi && behind->source_len > 0 && behind->source_at == at &&
            behind[-1].source_len > 0)
            score += 1e6f; /* the same place of the same word */
        if (!is_inside && score > best) {
            best = score;
            node->lo = node->hi = k;
        }
        if (k < hi)
            crossed += dg_placement_affinity(placement, k, middle, last) -
                       dg_placement_affinity(placement, k, first, middle);
    }
    placement->boundary.at = at;
    placement->boundary.lo = lo;
    placement->boundary.hi = hi;
    placement->boundary.level = level;
    placement->boundary.n_claims = placement->n_claims;
    placement->boundary.found = node->lo;
    placement->boundary.is_set = true;
}

static void claim(struct dg_placement *placement, const struct dg_placement_node *node,
                  size_t level)
{
    placement->n_claims++;
    for (size_t u = node->lo; u < node->hi; u++) {
        placement->units[u].level = level;
        placement->units[u].owner = node->item;
    }
}

/* Finds a frozen element's own text in the translation, where a unit begins and one ends; of
 * several places, the likeliest. */
static bool find_frozen(const struct dg_placement *placement, const struct dg_doc_item *item,
                        size_t lo, size_t hi, size_t level, struct dg_placement_node *node)
{
    struct dg_span want = dg_span_sub(placement->plain, item->plain_at, item->plain_len);
    size_t first, last;
    float best = -1;
    dg_placement_tokens(placement, item->plain_at, item->plain_at + item->plain_len, &first, &last);
    for (size_t u = lo; u < hi; u++) {
        size_t at = placement->units[u].at, v = u;
        float part = 0;
        if (!dg_span_eq(dg_span_sub(placement->text, at, want.len), want))
            continue;
        while (v < hi && placement->units[v].at < at + want.len && is_free(placement, v, level))
            part += dg_placement_affinity(placement, v++, first, last);
        if (v == u || placement->units[v - 1].at + placement->units[v - 1].len != at + want.len ||
            part <= best)
            continue;
        best = part;
        node->lo = u;
        node->hi = v;
    }
    return best >= 0;
}

/* Punctuation marks at the edges of a stretch belong to it only if they did in the source. */
static void trim(const struct dg_placement *placement, size_t from, size_t to,
                 struct dg_placement_node *node)
{
    while (node->hi - node->lo > 1 && !placement->units[node->lo].is_word &&
           begins_with_word(placement, from))
        node->lo++;
    while (node->hi - node->lo > 1 && !placement->units[node->hi - 1].is_word &&
           ends_with_word(placement, from, to))
        node->hi--;
}

/* True for the unit of a number that has lost the letters at `from` in the source. */
static bool is_bare_number(const struct dg_text_unit *units, size_t u, size_t n, size_t from)
{
    return units[u].source_len > 0 && units[u].source_at + units[u].source_len == from &&
           (u + 1 == n || units[u + 1].source_len == 0);
}

/* An element around letters that an ordinal lost is empty, and comes after its number. */
static bool find_bare_number(const struct dg_placement *placement, size_t from, size_t lo,
                             size_t hi, struct dg_placement_node *node)
{
    for (size_t u = lo; u < hi; u++) {
        if (!is_bare_number(placement->units, u, placement->n_units, from) ||
            !dg_placement_is_letter(placement->plain.ptr[from]))
            continue;
        node->lo = node->hi = u + 1;
        return true;
    }
    return false;
}

static void place(struct dg_placement *placement, struct dg_placement_node *node, size_t lo,
                  size_t hi, size_t level)
{
    const struct dg_doc_item *item = &placement->items[node->item];
    size_t from = item->plain_at;
    size_t to = item->kind == DG_DOC_OPEN ? placement->items[item->partner].plain_at
                                          : from + item->plain_len;
    if (item->kind == DG_DOC_FROZEN && find_frozen(placement, item, lo, hi, level, node)) {
        claim(placement, node, level);
    } else if (to > from && find_bare_number(placement, from, lo, hi, node)) {
        placement->n_claims++; /* it takes no unit */
    } else if (to > from && (best_stretch(placement, from, to, lo, hi, level, node) ||
                             (item->kind == DG_DOC_OPEN &&
                              best_word(placement, from, to, lo, hi, level, node)))) {
        trim(placement, from, to, node);
        claim(placement, node, level);
    } else {
        best_boundary(placement, from, lo, hi, level, node);
    }
}

/* ---- Levels ---------------------------------------------------------------------------------- */

static bool is_whole(const struct dg_placement *placement, size_t i)
{
    return placement->items[i].partner >= placement->part->inner &&
           placement->items[i].partner < placement->part->end;
}

/* Lists the nodes that are directly among items [from, to). */
static size_t list_nodes(struct dg_placement *placement, size_t from, size_t to)
{
    size_t first = placement->n_nodes;
    for (size_t i = from; i < to;) {
        const struct dg_doc_item *item = &placement->items[i];
        size_t end = item->kind == DG_DOC_OPEN ? item->partner + 1 : i + 1;
        if (item->kind >= DG_DOC_OPEN)
            placement->nodes[placement->n_nodes++] =
                (struct dg_placement_node){.item = i, .end = end};
        i = end;
    }
    return first;
}

static int by_place(const void *a, const void *b)
{
    const struct dg_placement_node *x = a, *y = b;
    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    if (x->hi != y->hi)
        return x->hi < y->hi ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static int kind_order(const struct dg_placement *placement, const struct dg_placement_node *node)
{
    uint8_t kind = placement->items[node->item].kind;
    return kind == DG_DOC_FROZEN ? 0 : kind == DG_DOC_OPEN ? 1 : 2;
}

/* Places frozen text first, because it can be found in the translation; then elements, the most
 * certain first; then points between them. */
static void place_all(struct dg_placement *placement, size_t first, size_t lo, size_t hi,
                      size_t level)
{
    size_t n = placement->n_nodes - first;
    struct dg_placement_node *nodes = placement->nodes + first;
    for (int order = 0; order < 3; order++) {
        size_t left = 0;
        for (size_t i = 0; i < n; i++)
            left += kind_order(placement, &nodes[i]) == order;
        bool is_ranked = order == 1 && left > 1 && n <= RANKED_MAX;
        for (size_t i = 0; i < n && !is_ranked; i++)
            if (kind_order(placement, &nodes[i]) == order)
                place(placement, &nodes[i], lo, hi, level);
        bool is_placed[RANKED_MAX] = {false};
        for (; is_ranked && left > 0; left--) {
            struct dg_placement_node *best = NULL;
            for (size_t i = 0; i < n; i++) {
                struct dg_placement_node *node = &nodes[i];
                if (kind_order(placement, node) != order || is_placed[i])
                    continue;
                const struct dg_doc_item *item = &placement->items[node->item];
                if (!best_stretch(placement, item->plain_at,
                                  placement->items[item->partner].plain_at, lo, hi, level, node))
                    node->score = -1;
                best = !best || node->score > best->score ? node : best;
            }
            is_placed[best - nodes] = true;
            place(placement, best, lo, hi, level);
        }
    }
    qsort(nodes, n, sizeof *nodes, by_place);
}

static void emit(struct dg_placement *placement, struct dg_span bytes)
{
    if (!placement->err)
        placement->err = dg_buf_append_span(placement->out, bytes);
}

void dg_placement_items(struct dg_placement *placement, size_t from, size_t to)
{
    size_t at = placement->items[from].at,
           end = placement->items[to - 1].at + placement->items[to - 1].len;
    emit(placement, dg_span_sub(placement->original, at, end - at));
}

/* Writes only the markup among items [from, to), because its words have no counterpart. */
static void emit_markup(struct dg_placement *placement, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (placement->items[i].kind >= DG_DOC_OPEN)
            dg_placement_items(placement, i, i + 1);
}

static void emit_text(struct dg_placement *placement, size_t from, size_t to)
{
    if (placement->line.is_set && placement->line.from >= from && placement->line.to <= to) {
        placement->line.is_set = false;
        emit_text(placement, from, placement->line.from);
        emit(placement, placement->doc->line);
        from = placement->line.to;
    }
    if (from == 0 && placement->guard < to && placement->out->len == placement->begin) {
        emit(placement, dg_span_sub(placement->text, 0, placement->guard));
        emit(placement, DG_SPAN("\\"));
        from = placement->guard;
    }
    if (!placement->err && to > from)
        placement->err = dg_doc_escape(
            placement->doc, dg_span_sub(placement->text, from, to - from), placement->out);
}

/* A point with a space on either side. */
static bool stands_apart(const struct dg_placement *placement, const struct dg_doc_item *item)
{
    return item->kind == DG_DOC_POINT && item->plain_len == 0 &&
           item->plain_at > placement->part->at &&
           placement->plain.ptr[item->plain_at - 1] == ' ' &&
           item->plain_at < placement->plain.len && placement->plain.ptr[item->plain_at] == ' ';
}

/* A point that a space divides from the word before it, at the end of a sentence or before a
 * punctuation mark: "as Smith says \cite{smith}.". The model sees "says .", and writes no space. */
static bool hangs_apart(const struct dg_placement *placement, const struct dg_doc_item *item)
{
    return item->kind == DG_DOC_POINT && item->plain_len == 0 &&
           item->plain_at > placement->part->at &&
           placement->plain.ptr[item->plain_at - 1] == ' ' &&
           (item->plain_at == placement->plain.len ||
            strchr(".,;:!?)]\n", placement->plain.ptr[item->plain_at]));
}

/* The place in the text for markup before unit `k`: next to the same word as in the source. */
static size_t byte_of(const struct dg_placement *placement, const struct dg_placement_node *node,
                      size_t from, size_t lo, size_t hi)
{
    const struct dg_doc_item *item = &placement->items[node->item];
    size_t k = node->lo;
    const char mark = placement->original.ptr[item->at];
    if (placement->doc->format == DG_DOC_PO && item->len == 1 && (mark == '&' || mark == '_')) {
        /* an accelerator goes before a letter */
        while (k < hi && !placement->units[k].is_word)
            k++;
        while (k > lo && (k == hi || !placement->units[k].is_word))
            k--;
        return k < hi ? placement->units[k].at : from;
    }
    if (k > lo && is_bare_number(placement->units, k - 1, placement->n_units, item->plain_at))
        return placement->units[k - 1].at + placement->units[k - 1].len;
    bool is_behind =
        item->plain_at > 0 && placement->plain.ptr[item->plain_at - 1] != ' ' &&
        !(item->plain_at < placement->plain.len && placement->plain.ptr[item->plain_at] != ' ');
    if (k > lo && (is_behind || k == hi))
        return placement->units[k - 1].at + placement->units[k - 1].len;
    return k < hi ? placement->units[k].at : from;
}

/* The items [first, last) and the units [lo, hi), which are text[from, to). */
static void weave_level(struct dg_placement *placement, size_t first, size_t last, size_t lo,
                        size_t hi, size_t from, size_t to, size_t level)
{
    size_t start = list_nodes(placement, first, last), end = placement->n_nodes;
    place_all(placement, start, lo, hi, level);
    for (size_t i = start; i < end && !placement->err; i++) {
        const struct dg_placement_node node = placement->nodes[i];
        const struct dg_doc_item *item = &placement->items[node.item];
        bool is_stretch = node.hi > node.lo;
        size_t at =
            is_stretch ? placement->units[node.lo].at : byte_of(placement, &node, from, lo, hi);
        size_t behind =
            is_stretch ? placement->units[node.hi - 1].at + placement->units[node.hi - 1].len : at;
        at = at < from ? from : at;
        emit_text(placement, from, at);
        if (!is_stretch || item->kind != DG_DOC_OPEN) {
            if (!is_stretch && at > 0 && hangs_apart(placement, item) &&
                placement->text.ptr[at - 1] != ' ')
                emit(placement, DG_SPAN(" "));
            emit_markup(placement, node.item, node.end);
            if (!is_stretch && at < to && stands_apart(placement, item) &&
                placement->text.ptr[at] != ' ')
                emit(placement, DG_SPAN(" "));
            if (!is_stretch && placement->original.ptr[item->at] == '\n')
                while (behind < to && placement->text.ptr[behind] == ' ')
                    behind++;
        } else {
            dg_placement_items(placement, node.item, node.item + 1);
            weave_level(placement, node.item + 1, node.end - 1, node.lo, node.hi, at, behind,
                        level + 1);
            dg_placement_items(placement, node.end - 1, node.end);
        }
        from = behind > from ? behind : from;
    }
    emit_text(placement, from, to);
}

/* Where a tag without a partner in this sentence divides the units [lo, hi): units from source
 * words before it go before it, the others after it. */
static size_t divide(const struct dg_placement *placement, size_t from, size_t at, size_t lo,
                     size_t hi)
{
    size_t first, last, best_at = lo;
    float sum = 0, best = 0;
    dg_placement_tokens(placement, from, at, &first, &last);
    for (size_t u = lo; u < hi; u++) {
        sum += gain(placement, u, first, last);
        if (sum > best) {
            best = sum;
            best_at = u + 1;
        }
    }
    return best_at;
}

void dg_placement_weave(struct dg_placement *placement, const struct dg_placement_stretch *stretch)
{
    size_t first = stretch->first, lo = stretch->lo, from = stretch->from, source = stretch->source;
    for (size_t i = first; i < stretch->last && !placement->err; i++) {
        const struct dg_doc_item *item = &placement->items[i];
        if ((item->kind != DG_DOC_OPEN && item->kind != DG_DOC_CLOSE) || is_whole(placement, i))
            continue;
        size_t k = divide(placement, source, item->plain_at, lo, stretch->hi);
        size_t behind = k > lo ? placement->units[k - 1].at + placement->units[k - 1].len : from;
        size_t at = item->kind == DG_DOC_OPEN && k < stretch->hi ? placement->units[k].at : behind;
        weave_level(placement, first, i, lo, k, from, at, 1);
        dg_placement_items(placement, i, i + 1);
        first = i + 1;
        lo = k;
        from = at;
        source = item->plain_at;
    }
    weave_level(placement, first, stretch->last, lo, stretch->hi, from, stretch->to, 1);
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void weave_all(struct dg_placement *placement)
{
    const struct dg_doc_part *part = placement->part;
    const struct dg_placement_stretch all = {.first = part->inner,
                                             .last = part->end,
                                             .hi = placement->n_units,
                                             .to = placement->text.len,
                                             .source = part->at};
    size_t m = 1;
    if (!placement->doc->is_subtitle) {
        dg_placement_weave(placement, &all);
        return;
    }
    for (size_t i = part->inner; i < part->end; i++)
        m += placement->items[i].kind == DG_DOC_CUE;
    if (placement->n_units > 0)
        dg_placement_cues(placement, m);
    else /* the translation is empty: every cue keeps its text */
        placement->err = dg_doc_copy(
            placement->doc,
            &(struct dg_doc_part){
                .at = part->at, .len = part->len, .first = part->inner, .end = part->end},
            false, placement->out);
}

/* Without attention, cuts the source into words, which take the place of its tokens. */
static void cut_source(struct dg_placement *placement)
{
    size_t at = placement->part->at, end = at + placement->part->len;
    while (at < end) {
        while (at < end && placement->plain.ptr[at] == ' ')
            at++;
        size_t from = at;
        while (at < end && placement->plain.ptr[at] != ' ' && at - from < WORD_MAX)
            at++;
        if (at > from && placement->n_source < WORDS_MAX) {
            placement->begins[placement->n_source] = from;
            placement->ends[placement->n_source++] = at;
        }
    }
}

static void take_source(struct dg_placement *placement,
                        const struct dg_tag_placement_source *source)
{
    placement->n_source = source->n;
    for (size_t s = 0; s < source->n; s++) {
        placement->begins[s] = source->tokens[s].begin;
        placement->ends[s] = source->tokens[s].end;
        while (placement->begins[s] < placement->ends[s] &&
               placement->plain.ptr[placement->begins[s]] == ' ')
            placement->begins[s]++;
    }
}

static bool allocate(struct dg_placement *placement, const struct dg_tag_placement_source *source,
                     bool has_attention)
{
    size_t n_max = has_attention ? source->n : WORDS_MAX;
    placement->units = dg_try_calloc(placement->text.len + 1, sizeof *placement->units);
    placement->begins = dg_try_calloc(n_max + 1, sizeof *placement->begins);
    placement->ends = dg_try_calloc(n_max + 1, sizeof *placement->ends);
    placement->nodes =
        dg_try_calloc(placement->part->end - placement->part->inner + 1, sizeof *placement->nodes);
    if (!placement->units || !placement->begins || !placement->ends || !placement->nodes)
        return false;
    dg_placement_cut(placement);
    if (placement->err)
        return false;
    if (has_attention)
        take_source(placement, source);
    else
        cut_source(placement);
    placement->shares = dg_try_calloc(placement->n_units + 1,
                                      (placement->n_source + 1) * sizeof *placement->shares);
    return placement->shares != NULL;
}

enum dg_err dg_tag_placement(const struct dg_doc *doc, const struct dg_doc_part *part,
                             const struct dg_tag_placement_source *source,
                             const struct dg_tag_placement_target *said, struct dg_buf *out)
{
    size_t n_items;
    struct dg_placement placement = {.doc = doc,
                                     .items = dg_doc_items(doc, &n_items),
                                     .part = part,
                                     .plain = dg_doc_plain(doc),
                                     .text = said->text,
                                     .out = out,
                                     .original = dg_doc_original(doc)};
    enum dg_err err = dg_doc_copy(doc, part, true, out);
    if (err)
        return err;
    placement.begin = out->len;
    placement.guard = dg_doc_markdown_guard(doc, part, said->text);
    if (!part->has_markup)
        emit_text(&placement, 0, said->text.len);
    else if (!allocate(&placement, source, said->alignment != NULL)) {
        placement.err = DG_ERR_NOMEM;
    } else {
        dg_placement_share(&placement, said);
        weave_all(&placement);
    }
    dg_free(placement.units);
    dg_free(placement.begins);
    dg_free(placement.ends);
    dg_free(placement.shares);
    dg_free(placement.nodes);
    return placement.err;
}
