/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The list of one sentence, and the union of many that join and leave, compared with plain
 * counting. */
#include "decode/shortlist.h"

#include "base/memory/mem.h"
#include "network/net_random.h"
#include "unit.h"

enum { V = 300, N_LISTS = 20, LIST_MAX = 60 };

static uint8_t offsets[8 * (V + 1)], targets[4 * 3 * V];
static uint32_t seed = 11;

static uint32_t next(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static void put(uint8_t *at, size_t value, size_t n)
{
    for (size_t b = 0; b < n; b++)
        at[b] = (uint8_t)(value >> (8 * b));
}

/* Source word s may become s, 2 s and 3 s, modulo V. */
static struct dg_lexicon make_lex(void)
{
    for (size_t s = 0; s <= V; s++)
        put(offsets + 8 * s, 3 * s, 8);
    for (size_t s = 0; s < V; s++)
        for (size_t k = 0; k < 3; k++)
            put(targets + 4 * (3 * s + k), s * (k + 1) % V, 4);
    return (struct dg_lexicon){.n_frequent = 4,
                               .n_best = 3,
                               .n_words = V,
                               .n_targets = 3 * V,
                               .offsets = offsets,
                               .targets = targets};
}

static struct dg_blueprint small(void)
{
    struct dg_blueprint bp;
    ck_assert_int_eq(dg_net_random_shape(&bp, "tiny", NULL), DG_OK);
    bp.D = 16;
    bp.encoder = (struct dg_stack){1, 2, 16, V};
    bp.decoder = bp.encoder;
    return bp;
}

START_TEST(a_sentence_has_the_words_of_its_words_in_order)
{
    const struct dg_lexicon lex = make_lex();
    struct dg_blueprint bp = small();
    struct dg_shortlist shortlist;
    int32_t ids[V];
    const int32_t src[] = {100, 7, 100, 0};
    ck_assert_int_eq(dg_shortlist_init(&shortlist, &lex, &bp), DG_OK);
    size_t n = dg_shortlist_words(&shortlist, src, 4, ids);
    ck_assert_uint_le(n, dg_shortlist_bound(&shortlist, src, 4));
    /* 4, 5, 6, 8, 9, 10 and 11 fill the list up to a multiple of eight */
    const int32_t expected[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 21, 100, 200};
    ck_assert_uint_eq(n, 16);
    ck_assert_mem_eq(ids, expected, sizeof expected);
    n = dg_shortlist_words(&shortlist, (const int32_t[]){0}, 1, ids);
    ck_assert_uint_eq(n, 8);
    n = dg_shortlist_words(&shortlist, (const int32_t[]){299}, 1, ids);
    ck_assert_uint_le(n, dg_shortlist_bound(&shortlist, (const int32_t[]){299}, 1));
    ck_assert_uint_eq(n, 8);
    ck_assert_int_eq(ids[7], 299);
    dg_shortlist_deinit(&shortlist);
}
END_TEST

START_TEST(source_words_are_listed_where_the_model_says_so)
{
    static const struct {
        bool tied;
        enum dg_source_words words;
        bool listed;
    } cases[] = {{true, DG_SOURCE_WORDS_TIED, true},
                 {false, DG_SOURCE_WORDS_TIED, false},
                 {false, DG_SOURCE_WORDS_LISTED, true},
                 {true, DG_SOURCE_WORDS_UNLISTED, false}};
    struct dg_lexicon lex = make_lex();
    for (size_t s = 0; s < V; s++) /* every word becomes 0 */
        for (size_t k = 0; k < 3; k++)
            put(targets + 4 * (3 * s + k), 0, 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dg_blueprint bp = small();
        struct dg_shortlist shortlist;
        int32_t ids[V];
        bp.tie_source_target = cases[i].tied;
        bp.source_words = cases[i].words;
        ck_assert_int_eq(dg_shortlist_init(&shortlist, &lex, &bp), DG_OK);
        size_t n = dg_shortlist_words(&shortlist, (const int32_t[]){250}, 1, ids);
        ck_assert_uint_eq(n, 8);
        ck_assert_int_eq(ids[7] == 250, cases[i].listed);
        dg_shortlist_deinit(&shortlist);
    }
}
END_TEST

/* Every list in the union has its columns, each word once, and the network's state has them in the
 * same order. */
static void check_columns(const struct dg_shortlist *shortlist, int32_t (*lists)[LIST_MAX],
                          const size_t *n, const bool *is_in)
{
    for (size_t l = 0; l < N_LISTS; l++)
        for (size_t i = 0; is_in[l] && i < n[l]; i++) {
            const uint32_t column = shortlist->column_of[lists[l][i]];
            ck_assert_uint_lt(column, shortlist->n);
            ck_assert_int_eq(shortlist->words[column], lists[l][i]);
        }
    for (size_t c = 0; c < shortlist->n; c++)
        for (size_t d = 0; d < c; d++)
            ck_assert_int_ne(shortlist->words[c], shortlist->words[d]);
}

START_TEST(the_union_follows_who_comes_and_goes)
{
    const struct dg_lexicon lex = make_lex();
    struct dg_blueprint bp = small();
    struct dg_shortlist shortlist;
    struct dg_net *net = NULL;
    struct dg_net_state *state = NULL;
    const struct dg_net_limits limits = {
        .slots = 1, .lanes = 1, .rows = 1, .source_len = 4, .target_len = 4, .shortlist = V};
    int32_t lists[N_LISTS][LIST_MAX];
    size_t n[N_LISTS];
    bool is_in[N_LISTS] = {false};
    size_t n_ready = 0, n_full = 0;
    ck_assert_int_eq(dg_net_random(&net, &bp, NULL, 1, NULL), DG_OK);
    ck_assert_int_eq(dg_net_state_new(&state, net, &limits, NULL), DG_OK);
    ck_assert_int_eq(dg_shortlist_init(&shortlist, &lex, &bp), DG_OK);
    shortlist.cap = 120; /* less than all lists together */
    for (int round = 0; round < dg_unit_rounds(4000); round++) {
        const size_t l = next(N_LISTS);
        if (is_in[l]) {
            dg_shortlist_leave(&shortlist, lists[l], n[l]);
        } else {
            n[l] = 0;
            for (int32_t id = (int32_t)next(8); id < V && n[l] < LIST_MAX;
                 id += (int32_t)next(30) + 1)
                lists[l][n[l]++] = id;
            dg_shortlist_join(&shortlist, lists[l], n[l]);
        }
        is_in[l] = !is_in[l];
        size_t n_words = 0;
        for (size_t id = 0; id < V; id++)
            n_words += shortlist.users[id] != 0;
        const bool is_ready = dg_shortlist_ready(&shortlist, state);
        ck_assert_int_eq(is_ready, n_words > 0 && n_words <= shortlist.cap);
        if (is_ready) {
            check_columns(&shortlist, lists, n, is_in);
            ck_assert_uint_eq(shortlist.n_given, shortlist.n);
        }
        n_ready += is_ready;
        n_full += n_words > shortlist.cap;
        if (round % 500 == 499) /* the quiet hour: all sentences leave */
            for (size_t k = 0; k < N_LISTS; k++) {
                if (is_in[k])
                    dg_shortlist_leave(&shortlist, lists[k], n[k]);
                is_in[k] = false;
            }
    }
    ck_assert_uint_gt(n_ready, 20);
    ck_assert(getenv("DRAGOMAN_SLOW") || n_full > 20);
    dg_shortlist_deinit(&shortlist);
    dg_net_state_free(state);
    dg_net_free(net);
}
END_TEST

START_TEST(without_a_lex_everything_is_off)
{
    struct dg_blueprint bp = small();
    struct dg_shortlist shortlist;
    const int32_t ids[] = {1, 2};
    ck_assert_int_eq(dg_shortlist_init(&shortlist, NULL, &bp), DG_OK);
    ck_assert_uint_eq(dg_shortlist_bound(&shortlist, ids, 2), 0);
    dg_shortlist_join(&shortlist, ids, 2);
    ck_assert(!dg_shortlist_ready(&shortlist, NULL));
    dg_shortlist_leave(&shortlist, ids, 2);
    dg_shortlist_deinit(&shortlist);
}
END_TEST

DG_UNIT(a_sentence_has_the_words_of_its_words_in_order,
        source_words_are_listed_where_the_model_says_so, the_union_follows_who_comes_and_goes,
        without_a_lex_everything_is_off)
