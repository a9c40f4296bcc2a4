/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Minimum-risk candidates: which are read and which are left out, damaged files, and runs that
 * learn from them. */
#include "base/file/file_out.h"
#include "base/file/map_file.h"
#include "train/data/risk_candidates.h"
#include "training_toy_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A prepared toy run whose file of candidates contains `text`. */
struct arena {
    char dir[DG_TMPDIR_CAP], file[DG_TMPDIR_CAP + 32];
    struct toy_place place;
};

static void arena_make(struct arena *a, const char *text)
{
    const char *const file = a->file;
    struct dg_setup_opts opts = toy_setup_opts();
    *a = (struct arena){.dir = ""};
    dg_tmpdir_make(a->dir);
    snprintf(a->file, sizeof a->file, "%s/rivals.tsv", a->dir);
    ck_assert_int_eq(dg_file_out_save(a->file, 0644, text, strlen(text), NULL), DG_OK);
    opts.candidates = &file;
    opts.n_candidates = 1;
    dg_tmpdir_make(a->place.root);
    ck_assert_int_eq(toy_place_try(&a->place, 60, &opts), DG_OK);
}

static void arena_leave(struct arena *a)
{
    toy_place_leave(&a->place);
    dg_tmpdir_remove(a->dir);
}

/* The result of dg_risk_candidates_write for a file with that text, in the directory of a
 * prepared run. */
static enum dg_err write_as(const struct arena *a, const char *text,
                            const struct dg_risk_candidates_opts *opts,
                            struct dg_risk_candidates_stats *stats, struct dg_error *error)
{
    const char *const file = a->file;
    ck_assert_int_eq(dg_file_out_save(a->file, 0644, text, strlen(text), NULL), DG_OK);
    return dg_risk_candidates_write(a->place.dir, &file, 1, opts, stats, error);
}

static const char three[] = "bato kemi\tbread apple\t100\n"
                            "bato kemi\tapple bread\t40\n"
                            "bato kemi\tapple\t25.5\n"
                            "lusa dorin\tdance cloud\t90\n"
                            "lusa dorin\tcloud\t10\n";

START_TEST(answers_come_back_in_their_groups)
{
    struct arena a;
    struct dg_example group[DG_RISK_CANDIDATES_MAX];
    arena_make(&a, three);
    const struct dg_risk_candidates *candidates = &a.place.setup.candidates;
    ck_assert_uint_eq(candidates->n, 2);
    ck_assert_uint_eq(dg_risk_candidates_group(candidates, 0, group), 3);
    ck_assert_uint_eq(dg_risk_candidates_group(candidates, 1, group + 3), 2);
    static const float costs[] = {0.0f, 0.6f, 0.745f, 0.1f, 0.9f};
    for (uint32_t i = 0; i < 5; i++) {
        ck_assert_uint_eq(group[i].n_candidates, i < 3 ? 3 : 2);
        ck_assert_uint_eq(group[i].candidate, i < 3 ? i : i - 3);
        ck_assert_float_eq_tol(group[i].cost, costs[i], 1e-6f);
        ck_assert_int_eq(group[i].target[group[i].n_target - 1], a.place.setup.bp.eos_id);
    }
    struct dg_buf text;
    dg_buf_init(&text, 100);
    ck_assert_int_eq(
        dg_tokenizer_decode(a.place.setup.tokenizer, group[4].target, group[4].n_target - 1, &text),
        DG_OK);
    ck_assert(dg_span_eq(dg_buf_span(&text), DG_SPAN("cloud")));
    dg_buf_deinit(&text);
    arena_leave(&a);
}
END_TEST

START_TEST(what_does_not_compete_is_left_out_and_counted)
{
    struct arena a;
    struct dg_risk_candidates_stats stats;
    struct dg_error error = DG_ERROR_NONE;
    const struct dg_pair held = {DG_SPAN("feka miru"), DG_SPAN("fruit earth"), 1};
    arena_make(&a, three);
    const struct dg_risk_candidates_opts opts = {.tokenizer = a.place.setup.tokenizer,
                                                 .len_max = 16,
                                                 .len_chars = 60,
                                                 .held = &held,
                                                 .n_held = 1};
    const char text[] = "bato kemi\tbread apple\t100\n"
                        "bato kemi\tapple\t25.5\n"
                        "bato kemi\tapple\t25.5\n"                            /* twice */
                        "lusa\tcloud\t90\n"                                   /* alone */
                        "dorin\tdance\t50\ndorin\tapple\t50\n"                /* equally good */
                        "feka miru\tfruit earth\t100\nfeka miru\tfruit\t50\n" /* held out */
                        "sapo\tgrass\t100\nsapo\t\t1\n" /* the answer is empty, so its group has no
                                                           other */
                        "zari\tknife\t100\nzari\tbread bread bread bread bread bread bread bread "
                        "bread bread bread\t0\n"                                   /* long */
                        "vogu\tjuice\t100\nvogu\tabcdefghijklmnopqrstuvwxyz\t3\n"; /* long: 26
                                                                                      letters,
                                                                                      unlike any
                                                                                      word */
    ck_assert_msg(write_as(&a, text, &opts, &stats, &error) == DG_OK, "%s", error.text);
    ck_assert_uint_eq(stats.n_sources, 1);
    ck_assert_uint_eq(stats.n_answers, 2);
    ck_assert_uint_eq(stats.n_alone, 5);
    ck_assert_uint_eq(stats.n_long, 1);
    ck_assert_uint_eq(stats.dropped[DG_DROP_DUPLICATE], 1);
    ck_assert_uint_eq(stats.dropped[DG_DROP_LEAK], 2);
    ck_assert_uint_eq(stats.dropped[DG_DROP_EMPTY_TEXT], 1);
    ck_assert_uint_eq(stats.dropped[DG_DROP_LONG], 1);
    ck_assert_double_eq_tol(stats.cost, (0.0 + 0.745) / 2.0, 1e-6);
    arena_leave(&a);
}
END_TEST

START_TEST(what_is_no_answer_with_a_score_is_refused)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"bato\tapple\t100.5\n", "has the score 100.5, expected lines source<TAB>answer<TAB>score "
                                 "with scores from 0 to 100"},
        {"bato\tapple\t-1\n", "has the score -1"},
        {"bato\t100\n", "has no answer before 100"},
        {"bato\tapple\tgood\n", "line 1: expected text<TAB>"},
        {"bato\tapple\t1\n", "nothing competes"},
        {"", "nothing competes"},
    };
    struct arena a;
    struct dg_risk_candidates_stats stats;
    arena_make(&a, three);
    const struct dg_risk_candidates_opts opts = {.tokenizer = a.place.setup.tokenizer,
                                                 .len_max = 16};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dg_error error = DG_ERROR_NONE;
        ck_assert_int_ne(write_as(&a, cases[i].text, &opts, &stats, &error), DG_OK);
        ck_assert_msg(strstr(error.text, cases[i].says) != NULL, "%s", error.text);
    }
    arena_leave(&a);
}
END_TEST

/* Every byte of the file of costs, changed, and every length: the file is refused, or the costs are
 * within their bounds. */
START_TEST(damaged_files_are_refused)
{
    struct arena a;
    char path[400], answers[400];
    struct dg_map_file file;
    struct dg_risk_candidates candidates;
    arena_make(&a, three);
    snprintf(path, sizeof path, "%s/training/rivals-costs.bin", a.place.dir);
    snprintf(answers, sizeof answers, "%s/training/rivals.bin", a.place.dir);
    ck_assert_int_eq(dg_map_file_open(&file, path, 1 << 20, NULL), DG_OK);
    uint8_t bytes[256];
    const size_t len = file.len;
    ck_assert_uint_le(len, sizeof bytes);
    size_t n_refused = 0;
    for (size_t i = 0; i < 8 * len; i++) {
        memcpy(bytes, file.bytes, len);
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        ck_assert_int_eq(dg_file_out_save(path, 0644, bytes, len, NULL), DG_OK);
        const enum dg_err err =
            dg_risk_candidates_open(&candidates, a.place.dir, &a.place.setup.bp, NULL);
        n_refused += err != DG_OK;
        for (size_t j = 0; !err && j < candidates.answers.n; j++)
            ck_assert(candidates.cost[j] >= 0.0f && candidates.cost[j] <= 1.0f);
        if (!err)
            dg_risk_candidates_close(&candidates);
    }
    ck_assert_uint_gt(n_refused, 8 * (8 + 16 + 3 * 8 - 1)); /* not a valid cost */
    for (size_t cut = 0; cut < len; cut++) {
        ck_assert_int_eq(dg_file_out_save(path, 0644, file.bytes, cut, NULL), DG_OK);
        ck_assert_int_ne(dg_risk_candidates_open(&candidates, a.place.dir, &a.place.setup.bp, NULL),
                         DG_OK);
    }
    ck_assert_int_eq(dg_file_out_save(path, 0644, file.bytes, len, NULL), DG_OK);
    ck_assert_int_eq(dg_risk_candidates_open(&candidates, a.place.dir, &a.place.setup.bp, NULL),
                     DG_OK);
    dg_risk_candidates_close(&candidates);
    ck_assert_int_eq(unlink(answers), 0);
    ck_assert_int_eq(dg_risk_candidates_open(&candidates, a.place.dir, &a.place.setup.bp, NULL),
                     DG_ERR_NOT_FOUND);
    dg_map_file_close(&file);
    arena_leave(&a);
}
END_TEST

/* The mean expected cost of all groups under these weights. */
static double risk_of(const struct arena *a, const struct dg_params *params)
{
    const struct dg_risk_candidates *candidates = &a->place.setup.candidates;
    const struct dg_pass_limits limits = {.source_rows = 200, .target_rows = 200, .scores = 10000};
    struct dg_example group[DG_RISK_CANDIDATES_MAX];
    struct dg_pass_sums sums = {0};
    struct dg_pass *pass;
    float *gradient = dg_try_calloc(params->n, sizeof *gradient);
    ck_assert_ptr_nonnull(gradient);
    ck_assert_int_eq(dg_pass_new(&pass, params, &limits, NULL), DG_OK);
    for (size_t i = 0; i < candidates->n; i++) {
        const struct dg_pass_batch batch = {.examples = group,
                                            .n = dg_risk_candidates_group(candidates, i, group),
                                            .scale = 1.0f,
                                            .risk = 1.0f,
                                            .sharpness = 1.0f};
        dg_pass_run(pass, &batch, gradient, &sums);
    }
    ck_assert_uint_eq(sums.n_sources, candidates->n);
    ck_assert_uint_eq(sums.n_tokens, 0);
    ck_assert_double_eq_tol(sums.loss, sums.risk, 1e-9);
    dg_pass_free(pass);
    dg_free(gradient);
    return sums.risk / (double)candidates->n;
}

static double risk_after(const struct arena *a, float weight, uint64_t steps)
{
    struct dg_trainer_opts opts = toy_trainer_opts(a->place.dir);
    struct dg_trainer *trainer;
    enum dg_trainer_end end;
    opts.steps = steps;
    opts.valid_every = 1000;
    opts.risk = weight;
    opts.sharpness = 0.25f;
    opts.rivals_tokens = 60;
    ck_assert_int_eq(toy_trainer(&trainer, &a->place, &opts, NULL), DG_OK);
    ck_assert_int_eq(dg_trainer_run(trainer, &toy_quiet, NULL, &end, NULL), DG_OK);
    const double risk = risk_of(a, dg_trainer_params(trainer));
    dg_trainer_free(trainer);
    return risk;
}

/* The pairs teach the opposite: words in reverse order. The candidates favour the order of the
 * source. */
static const char against[] =
    "bato kemi lusa\tapple bread cloud\t100\nbato kemi lusa\tcloud bread apple\t10\n"
    "dorin feka\tdance earth\t100\ndorin feka\tearth dance\t10\n"
    "miru sapo tenil\tfruit grass horse\t100\nmiru sapo tenil\thorse grass fruit\t10\n"
    "miru sapo tenil\thorse\t0\n";

START_TEST(the_better_answers_become_the_likelier_ones)
{
    struct arena a;
    arena_make(&a, against);
    const uint64_t steps = (uint64_t)dg_unit_rounds(200);
    const double ignored = risk_after(&a, 0.0f, steps), heeded = risk_after(&a, 4.0f, steps);
    printf("expected cost: %.3f of those who were not asked, %.3f of those who were\n", ignored,
           heeded);
    ck_assert_double_gt(ignored, 0.3);
    ck_assert_double_lt(heeded, steps == 200 ? 0.1 : ignored);
    arena_leave(&a);
}
END_TEST

START_TEST(a_run_with_rivals_goes_on_to_the_bit)
{
    static const uint64_t parts[] = {2, 5, 1};
    float *weights[2];
    size_t n[2];
    for (size_t i = 0; i < 2; i++) {
        struct arena a;
        arena_make(&a, against);
        struct dg_trainer_opts opts = toy_trainer_opts(a.place.dir);
        opts.steps = 14;
        opts.risk = 2.0f;
        opts.sharpness = 0.5f;
        opts.rivals_tokens = 50;
        opts.part_tokens = 16; /* less than a group needs, but there is room for the group */
        ck_assert_int_eq(toy_run_in_parts(&a.place, &opts, parts, i ? 3 : 0, &weights[i], &n[i]),
                         DG_OK);
        arena_leave(&a);
    }
    ck_assert_uint_eq(n[0], n[1]);
    ck_assert_mem_eq(weights[0], weights[1], n[0] * sizeof(float));
    dg_free(weights[0]);
    dg_free(weights[1]);
}
END_TEST

DG_UNIT(answers_come_back_in_their_groups, what_does_not_compete_is_left_out_and_counted,
        what_is_no_answer_with_a_score_is_refused, damaged_files_are_refused,
        the_better_answers_become_the_likelier_ones, a_run_with_rivals_goes_on_to_the_bit)
