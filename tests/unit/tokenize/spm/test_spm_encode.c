/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Encoding: each kind of model on texts small enough to work out by hand; the fast unigram search
 * and short BPE chunks compared with plain ones on random vocabularies; offsets.
 * tests/scripts/spm_exact.sh checks that ids are those of the library. */
#include "base/memory/mem.h"
#include "tokenize/spm/spm_encode.h"
#include "tokenize/spm/spm_int.h"
#include "tokenize/spm/utf8_char.h"

#include "unit.h"
#include "spm_lattice.h"
#include "spm_maker.h"

#include <math.h>
#include <pthread.h>

#define MARK "\xE2\x96\x81"

/* The pieces of the text, joined by '|'. */
static const char *pieces_of(const struct dg_spm *spm, struct dg_spm_work *work)
{
    static char text[4096];
    size_t n, at = 0;
    const struct dg_spm_token *tokens = dg_spm_tokens(work, &n);
    text[0] = '\0';
    for (size_t i = 0; i < n && at < sizeof text; i++) {
        struct dg_span piece = dg_spm_token_piece(spm, work, &tokens[i]);
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s", i ? "|" : "",
                               DG_SPAN_FMT(piece));
    }
    return text;
}

static void check_pieces(struct maker *maker, const char *text, const char *expected)
{
    struct dg_spm *spm = maker_open(maker);
    struct dg_spm_work *work = dg_spm_work_new();
    ck_assert_int_eq(dg_spm_encode(spm, work, dg_span_cstr(text)), DG_OK);
    ck_assert_str_eq(pieces_of(spm, work), expected);
    dg_spm_work_free(work);
    dg_spm_close(spm);
}

START_TEST(unigram_takes_the_best_sum)
{
    struct maker maker;
    maker_init(&maker);
    maker_piece(&maker, MARK "a", -1, DG_PIECE_NORMAL);
    maker_piece(&maker, "b", -1, DG_PIECE_NORMAL);
    maker_piece(&maker, MARK "ab", -1.5f, DG_PIECE_NORMAL);
    maker_piece(&maker, "bc", -4, DG_PIECE_NORMAL);
    maker_piece(&maker, "c", -2, DG_PIECE_NORMAL);
    maker_piece(&maker, "u", -0.1f, DG_PIECE_UNUSED);
    check_pieces(&maker, "abc", MARK "ab|c");
    check_pieces(&maker, "  abc \t ", MARK "ab|c|" MARK "\t");
    check_pieces(&maker, "axyb", MARK "a|xy|b"); /* adjacent unknown characters are one token */
    /* neither an unused piece nor a bare space mark counts as a piece */
    check_pieces(&maker, "ua", MARK "ua");
    check_pieces(&maker, "</s>", MARK "</s>"); /* control pieces are not found in text */
    check_pieces(&maker, "", "");
    check_pieces(&maker, "   ", "");
    maker_deinit(&maker);
}
END_TEST

START_TEST(unigram_keeps_the_longest_last_piece_of_equals)
{
    struct maker maker;
    maker_init(&maker);
    put_varint_field(&maker.normaliser, 3, 0);
    maker_piece(&maker, "a", -1, DG_PIECE_NORMAL);
    maker_piece(&maker, "aa", -1, DG_PIECE_NORMAL);
    check_pieces(&maker, "aaa", "a|aa");
    maker_deinit(&maker);
}
END_TEST

START_TEST(unknown_characters_become_bytes)
{
    struct maker maker;
    maker_init(&maker);
    maker_bytes(&maker);
    maker_piece(&maker, MARK "a", -1, DG_PIECE_NORMAL);
    check_pieces(&maker, "a\xC3\xA9", MARK "a|<0xC3>|<0xA9>");
    check_pieces(&maker, "a\xFF", MARK "a|<0xEF>|<0xBF>|<0xBD>"); /* malformed: U+FFFD */
    maker_deinit(&maker);
}
END_TEST

START_TEST(user_defined_pieces_stay_whole)
{
    for (int kind = DG_SPM_UNIGRAM; kind <= DG_SPM_BPE; kind++) {
        struct maker maker;
        maker_init(&maker);
        put_varint_field(&maker.trainer, 3, (uint64_t)kind);
        maker_charsmap(&maker.normaliser, 'q', "z");
        maker_piece(&maker, MARK, -1, DG_PIECE_NORMAL);
        maker_piece(&maker, "z", -1, DG_PIECE_NORMAL);
        maker_piece(&maker, "q q", 0, DG_PIECE_USER_DEFINED);
        check_pieces(&maker, "q", MARK "|z");
        check_pieces(&maker, "qq", MARK "|z|z");
        maker_deinit(&maker);
    }
    struct maker maker;
    maker_init(&maker);
    maker_charsmap(&maker.normaliser, 'q', "z");
    maker_piece(&maker, "z", -1, DG_PIECE_NORMAL);
    maker_piece(&maker, "qq", 0, DG_PIECE_USER_DEFINED);
    check_pieces(&maker, "qqq", MARK "|qq|z");
    maker_deinit(&maker);
}
END_TEST

START_TEST(bpe_merges_the_best_pair_first)
{
    struct maker maker;
    maker_init(&maker);
    put_varint_field(&maker.trainer, 3, DG_SPM_BPE);
    maker_piece(&maker, "ab", -1, DG_PIECE_NORMAL);
    maker_piece(&maker, "bc", 0, DG_PIECE_NORMAL);
    maker_piece(&maker, "abc", -2, DG_PIECE_NORMAL);
    maker_piece(&maker, "a", -5, DG_PIECE_NORMAL);
    maker_piece(&maker, "b", -5, DG_PIECE_NORMAL);
    maker_piece(&maker, "c", -5, DG_PIECE_NORMAL);
    maker_piece(&maker, MARK, -6, DG_PIECE_NORMAL);
    check_pieces(&maker, "abc", MARK "|abc");
    check_pieces(&maker, "ababc", MARK "|ab|abc");
    check_pieces(&maker, "abb", MARK "|ab|b");
    maker_deinit(&maker);
}
END_TEST

START_TEST(bpe_splits_unused_pieces_again)
{
    struct maker maker;
    maker_init(&maker);
    put_varint_field(&maker.trainer, 3, DG_SPM_BPE);
    maker_piece(&maker, "ab", 0, DG_PIECE_UNUSED);
    maker_piece(&maker, "abc", -1, DG_PIECE_UNUSED);
    maker_piece(&maker, "a", -5, DG_PIECE_NORMAL);
    maker_piece(&maker, "b", -5, DG_PIECE_NORMAL);
    maker_piece(&maker, "c", -5, DG_PIECE_NORMAL);
    maker_piece(&maker, MARK, -6, DG_PIECE_NORMAL);
    check_pieces(&maker, "abc", MARK "|a|b|c");
    maker_deinit(&maker);
}
END_TEST

START_TEST(words_and_characters)
{
    struct maker maker;
    maker_init(&maker);
    put_varint_field(&maker.trainer, 3, DG_SPM_WORD);
    maker_piece(&maker, MARK "ab", 0, DG_PIECE_NORMAL);
    check_pieces(&maker, "ab c ab", MARK "ab|" MARK "c|" MARK "ab");
    put_varint_field(&maker.trainer, 3, DG_SPM_CHAR);
    maker_piece(&maker, "bb", 0, DG_PIECE_USER_DEFINED);
    maker_piece(&maker, "a", 0, DG_PIECE_NORMAL);
    check_pieces(&maker, "abb", MARK "|a|bb");
    maker_deinit(&maker);
}
END_TEST

START_TEST(suffix_mode_puts_the_space_behind)
{
    struct maker maker;
    maker_init(&maker);
    put_varint_field(&maker.trainer, 24, 1);
    maker_piece(&maker, "a" MARK, -1, DG_PIECE_NORMAL);
    maker_piece(&maker, "b", -1, DG_PIECE_NORMAL);
    check_pieces(&maker, " a ba", "a" MARK "|b|a" MARK);
    maker_deinit(&maker);
}
END_TEST

START_TEST(tokens_know_their_bytes)
{
    struct maker maker;
    maker_init(&maker);
    maker_bytes(&maker);
    maker_charsmap(&maker.normaliser, 'q', "abab");
    maker_piece(&maker, MARK "ab", -1, DG_PIECE_NORMAL);
    maker_piece(&maker, "ab", -1, DG_PIECE_NORMAL);
    struct dg_spm *spm = maker_open(&maker);
    struct dg_spm_work *work = dg_spm_work_new();
    size_t n;
    ck_assert_int_eq(dg_spm_encode(spm, work, DG_SPAN("  q  ab\xC3\xA9 ")), DG_OK);
    const struct dg_spm_token *t = dg_spm_tokens(work, &n);
    static const uint32_t expected[][2] = {{2, 2}, {2, 3}, {3, 7}, {7, 7}, {7, 9}};
    ck_assert_str_eq(pieces_of(spm, work), MARK "ab|ab|" MARK "ab|<0xC3>|<0xA9>");
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_eq(t[i].begin, expected[i][0]);
        ck_assert_uint_eq(t[i].end, expected[i][1]);
    }
    dg_spm_work_free(work);
    dg_spm_close(spm);
    maker_deinit(&maker);
}
END_TEST

/* ---- Against plain searches ------------------------------------------------------------------ */

static uint32_t next_random(uint32_t *state)
{
    return (*state = *state * 1664525u + 1013904223u) >> 8;
}

static size_t random_text(uint32_t *state, char *text, size_t max)
{
    static const char *const letters[] = {"a", "b", "c", "\xC3\xA9", MARK, "x"};
    size_t len = 0, n = 1 + next_random(state) % max;
    text[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        const char *letter = letters[next_random(state) % 6];
        memcpy(text + len, letter, strlen(letter) + 1);
        len += strlen(letter);
    }
    return len;
}

/* Up to `n` different pieces. Their scores often tie, and their sums are exact; if sums were
 * rounded, the two searches could differ, as the original's two do. */
static void random_pieces(struct maker *maker, uint32_t *state, unsigned n)
{
    static char seen[400][64];
    unsigned n_seen = 0;
    for (unsigned i = 0; i < n; i++) {
        char text[64];
        random_text(state, text, 6);
        bool is_new = true;
        for (unsigned j = 0; j < n_seen; j++)
            is_new &= strcmp(seen[j], text) != 0;
        if (!is_new)
            continue;
        memcpy(seen[n_seen++], text, sizeof text);
        uint32_t kind = next_random(state) % 20;
        maker_piece(maker, text, -(float)(next_random(state) % 40) / 4,
                    kind == 0 ? DG_PIECE_UNUSED : DG_PIECE_NORMAL);
    }
}

static void check_against_lattice(const struct dg_spm *spm, struct dg_spm_work *work,
                                  struct dg_spm_lattice *lattice, struct dg_span text)
{
    ck_assert_int_eq(dg_spm_encode(spm, work, text), DG_OK);
    if (work->n_segments == 0)
        return;
    ck_assert_int_eq(
        dg_spm_lattice_build(spm, work->normal.bytes, (uint32_t)work->normal.len, lattice), DG_OK);
    dg_spm_lattice_viterbi(lattice);
    size_t i = work->n_segments;
    for (uint32_t at = (uint32_t)lattice->n_nodes - 1; (at = lattice->nodes[at].best) != 0;) {
        ck_assert_uint_gt(i, 0);
        ck_assert_uint_eq(work->segments[--i].id, lattice->nodes[at].id);
        ck_assert_uint_eq(work->segments[i].begin, lattice->nodes[at].begin);
    }
    ck_assert_uint_eq(i, 0);
}

START_TEST(unigram_agrees_with_the_lattice)
{
    struct dg_spm_work *work = dg_spm_work_new();
    struct dg_spm_lattice lattice = {0};
    uint32_t state = 1;
    for (int round = 0; round < 60; round++) {
        struct maker maker;
        char text[1200];
        maker_init(&maker);
        random_pieces(&maker, &state, 5 + next_random(&state) % 300);
        struct dg_spm *spm = maker_open(&maker);
        for (int i = 0; i < 50; i++)
            check_against_lattice(spm, work, &lattice,
                                  dg_span_make(text, random_text(&state, text, 300)));
        dg_spm_close(spm);
        maker_deinit(&maker);
    }
    dg_spm_lattice_deinit(&lattice);
    dg_spm_work_free(work);
}
END_TEST

/* BPE as it is defined, over a list of strings. */
static void bpe_plainly(const struct dg_spm *spm, const struct dg_normal_text *text, char *joined)
{
    struct dg_span parts[1200];
    size_t n = 0;
    for (size_t at = 0; at < text->len; at += parts[n++].len)
        parts[n] =
            dg_span_make((const char *)text->bytes + at, dg_utf8_char_lead_len(text->bytes[at]));
    for (;;) {
        size_t best = n;
        float best_score = -INFINITY;
        for (size_t i = 0; i + 1 < n; i++) {
            struct dg_span pair = {parts[i].ptr, parts[i].len + parts[i + 1].len};
            uint32_t id = dg_spm_find(spm, pair);
            if (id != spm->unk && spm->pieces.scores[id] > best_score) {
                best_score = spm->pieces.scores[id];
                best = i;
            }
        }
        if (best == n)
            break;
        parts[best].len += parts[best + 1].len;
        memmove(parts + best + 1, parts + best + 2, (n - best - 2) * sizeof *parts);
        n--;
    }
    for (size_t i = 0; i < n; i++)
        joined +=
            snprintf(joined, 80, "%s%.*s", i && dg_spm_find(spm, parts[i]) != spm->unk ? "|" : "",
                     DG_SPAN_FMT(parts[i]));
}

START_TEST(bpe_agrees_with_its_definition)
{
    struct dg_spm_work *work = dg_spm_work_new();
    uint32_t state = 7;
    for (int round = 0; round < 40; round++) {
        struct maker maker;
        char text[1200], expected[4096];
        maker_init(&maker);
        put_varint_field(&maker.trainer, 3, DG_SPM_BPE);
        for (const char *const *letter =
                 (const char *const[]){"a", "b", "c", "\xC3\xA9", MARK, "x", NULL};
             *letter; letter++)
            maker_piece(&maker, *letter, -50, DG_PIECE_NORMAL);
        for (unsigned i = 0; i < 150; i++) {
            static const char letters[] = "abcx";
            char piece[4] = {letters[i & 3], letters[i >> 2 & 3],
                             i >> 4 & 1 ? letters[i >> 5 & 3] : '\0', '\0'};
            if (i < 16 || (i >> 4 & 1 && i >> 7 == 0))
                maker_piece(&maker, piece, -(float)(next_random(&state) % 60), DG_PIECE_NORMAL);
        }
        struct dg_spm *spm = maker_open(&maker);
        for (int i = 0; i < 40; i++) {
            struct dg_span line = dg_span_make(text, random_text(&state, text, i % 4 ? 30 : 300));
            ck_assert_int_eq(dg_spm_encode(spm, work, line), DG_OK);
            if (work->normal.len == 0 || work->n_segments == 0)
                continue;
            bpe_plainly(spm, &work->normal, expected);
            ck_assert_str_eq(pieces_of(spm, work), expected);
        }
        dg_spm_close(spm);
        maker_deinit(&maker);
    }
    dg_spm_work_free(work);
}
END_TEST

/* A piece that no text contains, but that crosses a space mark, forbids cutting: then the whole
 * line is one chunk, which is long enough for buckets. The result must be the same as when the line
 * is cut into words. */
START_TEST(bpe_lines_come_out_the_same_whole_or_cut)
{
    uint32_t state = 11;
    struct dg_spm_work *works[2] = {dg_spm_work_new(), dg_spm_work_new()};
    for (int round = 0; round < 10; round++) {
        static char text[40000];
        struct maker makers[2];
        struct dg_spm *spms[2];
        size_t n[2];
        uint32_t seed = next_random(&state);
        for (int i = 0; i < 2; i++) {
            uint32_t same = seed;
            maker_init(&makers[i]);
            put_varint_field(&makers[i].trainer, 3, DG_SPM_BPE);
            for (const char *a = "abcx"; *a; a++)
                for (const char *b = "abcx"; *b; b++)
                    for (const char *c = "abcx."; *c; c++) {
                        char piece[4] = {*a, *b, *c == '.' ? '\0' : *c, '\0'};
                        if (next_random(&same) % 4)
                            maker_piece(&makers[i], piece, -(float)(next_random(&same) % 30),
                                        DG_PIECE_NORMAL);
                    }
            if (i)
                maker_piece(&makers[i], "z" MARK "z", -99, DG_PIECE_NORMAL);
            spms[i] = maker_open(&makers[i]);
            ck_assert_int_eq(spms[i]->space_is_boundary, !i);
        }
        size_t len = 0;
        while (len + 2 < sizeof text)
            text[len++] = "abcx abcx"[next_random(&state) % 9];
        const struct dg_spm_token *tokens[2];
        for (int i = 0; i < 2; i++) {
            ck_assert_int_eq(dg_spm_encode(spms[i], works[i], dg_span_make(text, len)), DG_OK);
            tokens[i] = dg_spm_tokens(works[i], &n[i]);
        }
        ck_assert_uint_eq(n[0], n[1]);
        ck_assert_mem_eq(tokens[0], tokens[1], n[0] * sizeof *tokens[0]);
        for (int i = 0; i < 2; i++) {
            dg_spm_close(spms[i]);
            maker_deinit(&makers[i]);
        }
    }
    dg_spm_work_free(works[0]);
    dg_spm_work_free(works[1]);
}
END_TEST

/* ---- Threads --------------------------------------------------------------------------------- */

static void *encode_often(void *arg)
{
    const struct dg_spm *spm = arg;
    struct dg_spm_work *work = dg_spm_work_new();
    enum dg_err err = DG_OK;
    size_t n_tokens = 0;
    for (int i = 0; i < 300 && !err; i++) {
        size_t n;
        err = dg_spm_encode(spm, work,
                            DG_SPAN("abab xab \xC3\xA9"
                                    "ab abc and something else"));
        dg_spm_tokens(work, &n);
        n_tokens += n;
    }
    dg_spm_work_free(work);
    return err ? NULL : (void *)n_tokens;
}

START_TEST(threads_share_a_model)
{
    for (int kind = DG_SPM_UNIGRAM; kind <= DG_SPM_CHAR; kind++) {
        struct maker maker;
        maker_init(&maker);
        put_varint_field(&maker.trainer, 3, (uint64_t)kind);
        maker_piece(&maker, "ab", -1, DG_PIECE_NORMAL);
        maker_piece(&maker, "abc", -2, DG_PIECE_NORMAL);
        struct dg_spm *spm = maker_open(&maker);
        pthread_t threads[4];
        void *results[4];
        for (int i = 0; i < 4; i++)
            ck_assert_int_eq(pthread_create(&threads[i], NULL, encode_often, spm), 0);
        for (int i = 0; i < 4; i++)
            ck_assert_int_eq(pthread_join(threads[i], &results[i]), 0);
        for (int i = 0; i < 4; i++)
            ck_assert(results[i] != NULL && results[i] == results[0]);
        dg_spm_close(spm);
        maker_deinit(&maker);
    }
}
END_TEST

START_TEST(allocates_nothing_in_the_steady_state)
{
    for (int kind = DG_SPM_UNIGRAM; kind <= DG_SPM_CHAR; kind++) {
        struct maker maker;
        maker_init(&maker);
        put_varint_field(&maker.trainer, 3, (uint64_t)kind);
        maker_piece(&maker, "ab", -1, DG_PIECE_NORMAL);
        struct dg_spm *spm = maker_open(&maker);
        struct dg_spm_work *work = dg_spm_work_new();
        ck_assert_int_eq(dg_spm_encode(spm, work, DG_SPAN("abab some longer text to begin with")),
                         DG_OK);
        uint64_t before = dg_mem_count();
        for (int i = 0; i < 100; i++)
            ck_assert_int_eq(dg_spm_encode(spm, work, DG_SPAN("abab and then others")), DG_OK);
        ck_assert_uint_eq(dg_mem_count(), before);
        dg_spm_work_free(work);
        dg_spm_close(spm);
        maker_deinit(&maker);
    }
}
END_TEST

/* ---- n best and samples ---------------------------------------------------------------------- */

/* "abc" in this model: six ways that use a known piece, scored by hand. */
DG_UNIT_SLOW(unigram_takes_the_best_sum, unigram_keeps_the_longest_last_piece_of_equals,
             unknown_characters_become_bytes, user_defined_pieces_stay_whole,
             bpe_merges_the_best_pair_first, bpe_splits_unused_pieces_again, words_and_characters,
             suffix_mode_puts_the_space_behind, tokens_know_their_bytes,
             unigram_agrees_with_the_lattice, bpe_agrees_with_its_definition,
             bpe_lines_come_out_the_same_whole_or_cut, threads_share_a_model,
             allocates_nothing_in_the_steady_state)
