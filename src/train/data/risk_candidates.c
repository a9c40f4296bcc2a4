/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Lines are read as labelled texts of two texts and a number (labelled_data.h). That reader also
 * drops lines that resemble a held-out pair. Consecutive lines with the same source are a group. */
#include "train/data/risk_candidates.h"
#include "base/file/file_out.h"
#include "base/file/folder.h"
#include "base/memory/mem.h"
#include "tokenize/spm/spm_encode.h"
#include "tokenize/target_ids.h"
#include "train/data/labelled_data.h"

#include <string.h>

static const char magic[8] = "dgrivals";
enum { HEADER_BYTES = 8 + 8 + 8 };
#define FILE_MAX  ((size_t)1 << 40)
#define SCORE_MAX 100.0f

/* ---- Writing --------------------------------------------------------------------------------- */

/* An answer of the group that is being read. */
struct answer {
    int32_t *ids; /* owned */
    size_t n_ids;
    float cost;
};

struct writer {
    const struct dg_risk_candidates_opts *opts;
    struct dg_risk_candidates_stats *stats;
    struct dg_tokenizer_work *source_work;
    struct dg_spm_work *target_work;
    struct dg_corpus_out answers;
    struct dg_buf first, cost;
    struct dg_error *error;
};

static enum dg_err check_lessons(const struct dg_labelled_data *labelled_data, size_t from,
                                 const char *path, struct dg_error *error)
{
    for (size_t i = from; i < labelled_data->n; i++) {
        const struct dg_labelled_text *labelled_text = &labelled_data->list[i];
        if (!labelled_text->has_pair ||
            !(labelled_text->number >= 0.0f && labelled_text->number <= SCORE_MAX))
            return dg_error_set(
                error, DG_ERR_FORMAT,
                "%s: \"%.*s\" has %s %.6g, expected lines source<TAB>answer<TAB>score with scores "
                "from 0 to %.0f, as dragoman distill --pick all prints them",
                path, (int)(labelled_text->text.len < 60 ? labelled_text->text.len : 60),
                labelled_text->text.ptr, labelled_text->has_pair ? "the score" : "no answer before",
                (double)labelled_text->number, (double)SCORE_MAX);
    }
    return DG_OK;
}

/* Drops the sources that resemble a held-out pair. */
static enum dg_err forbid(struct dg_labelled_data *labelled_data, const struct dg_pair *held,
                          size_t n)
{
    struct dg_labelled_text *others = dg_try_calloc(n ? n : 1, sizeof *others);
    if (!others)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        others[i].text = held[i].source;
    const enum dg_err err = dg_labelled_data_forbid(labelled_data, others, n);
    dg_free(others);
    return err;
}

static enum dg_err read_all(struct dg_labelled_data *labelled_data, const char *const *files,
                            size_t n_files, const struct dg_risk_candidates_opts *opts,
                            struct dg_error *error)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < n_files && !err; i++) {
        const size_t from = labelled_data->n;
        err = dg_labelled_data_read(labelled_data, files[i], error);
        if (!err)
            err = check_lessons(labelled_data, from, files[i], error);
    }
    return err ? err : forbid(labelled_data, opts->held, opts->n_held);
}

/* False when there is only one answer, or when all are equally good: then there is nothing to
 * choose between. */
static bool is_contest(const struct answer *answers, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (answers[i].cost != answers[0].cost)
            return true;
    return false;
}

static enum dg_err put_group(struct writer *w, const struct dg_token *tokens, size_t n_source,
                             const struct answer *answers, size_t n)
{
    const uint64_t first = w->stats->n_answers;
    int32_t *source = dg_try_calloc(n_source, sizeof *source);
    enum dg_err err = source ? dg_buf_append(&w->first, &first, sizeof first) : DG_ERR_NOMEM;
    for (size_t i = 0; i < n_source && source; i++)
        source[i] = tokens[i].id;
    for (size_t i = 0; i < n && !err; i++) {
        err = dg_corpus_out_put(&w->answers, source, n_source, answers[i].ids, answers[i].n_ids);
        if (!err)
            err = dg_buf_append(&w->cost, &answers[i].cost, sizeof answers[i].cost);
        w->stats->cost += (double)answers[i].cost;
    }
    dg_free(source);
    w->stats->n_sources++;
    w->stats->n_answers += n;
    return err;
}

/* Takes the answers [n] of one source. */
static enum dg_err take_group(struct writer *w, const struct dg_labelled_text *labelled_data,
                              size_t n)
{
    const struct dg_tokenizer_opts opts = DG_TOKENIZER_OPTS_DEFAULT;
    struct answer answers[DG_RISK_CANDIDATES_MAX] = {{0}};
    const struct dg_token *tokens;
    size_t n_source, n_answers = 0;
    enum dg_err err = dg_tokenizer_encode(w->opts->tokenizer, w->source_work, labelled_data[0].text,
                                          &opts, w->error, &tokens, &n_source);
    if (!err && (n_source < 2 || n_source > w->opts->len_max)) {
        w->stats->n_long += n;
        return DG_OK;
    }
    for (size_t i = 0; i < n && n_answers < DG_RISK_CANDIDATES_MAX && !err; i++) {
        struct answer *answer = &answers[n_answers];
        err = dg_target_ids(w->opts->tokenizer, w->target_work, labelled_data[i].pair, &answer->ids,
                            &answer->n_ids);
        answer->cost = 1.0f - labelled_data[i].number / SCORE_MAX;
        if (!err && answer->n_ids >= 2 && answer->n_ids <= w->opts->len_max) {
            n_answers++;
        } else {
            w->stats->n_long += !err;
            dg_free(answer->ids);
            *answer = (struct answer){0};
        }
    }
    if (!err && is_contest(answers, n_answers))
        err = put_group(w, tokens, n_source, answers, n_answers);
    else if (!err)
        w->stats->n_alone++;
    for (size_t i = 0; i < n_answers; i++)
        dg_free(answers[i].ids);
    return err;
}

static enum dg_err take_all(struct writer *w, const struct dg_labelled_data *labelled_data)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0, end; i < labelled_data->n && !err; i = end) {
        for (end = i + 1; end < labelled_data->n &&
                          dg_span_eq(labelled_data->list[end].text, labelled_data->list[i].text);
             end++)
            ;
        err = take_group(w, labelled_data->list + i, end - i);
    }
    return err;
}

static enum dg_err save_costs(struct writer *w, const char *path)
{
    const uint64_t counts[2] = {w->stats->n_sources, w->stats->n_answers};
    struct dg_file_out *out;
    enum dg_err err = dg_file_out_open(&out, path, 0644, w->error);
    if (err)
        return err;
    err = dg_file_out_write(out, magic, sizeof magic, w->error);
    if (!err)
        err = dg_file_out_write(out, counts, sizeof counts, w->error);
    if (!err)
        err = dg_file_out_write(out, w->first.ptr, w->first.len, w->error);
    if (!err)
        err = dg_file_out_write(out, &counts[1], sizeof counts[1], w->error);
    if (!err)
        err = dg_file_out_write(out, w->cost.ptr, w->cost.len, w->error);
    return dg_file_out_close(out, err, w->error);
}

static enum dg_err save(struct writer *w, const char *dir)
{
    char answers[DG_PATH_CAP], costs[DG_PATH_CAP];
    if (w->stats->n_sources == 0)
        return dg_error_set(
            w->error, DG_ERR_INVALID,
            "no source is left with answers that differ in their scores: nothing competes");
    w->stats->cost /= (double)w->stats->n_answers;
    enum dg_err err = dg_folder_path(dir, "training/rivals.bin", answers, w->error);
    if (!err)
        err = dg_folder_path(dir, "training/rivals-costs.bin", costs, w->error);
    if (!err)
        err = dg_corpus_out_save(&w->answers, answers, w->error);
    return err ? err : save_costs(w, costs);
}

enum dg_err dg_risk_candidates_write(const char *dir, const char *const *files, size_t n_files,
                                     const struct dg_risk_candidates_opts *opts,
                                     struct dg_risk_candidates_stats *stats, struct dg_error *error)
{
    const struct dg_labelled_data_opts reading = {.kind = DG_LESSON_NUMBER,
                                                  .len_max = opts->len_chars};
    struct dg_labelled_data labelled_data;
    struct writer w = {.opts = opts, .stats = stats, .error = error};
    *stats = (struct dg_risk_candidates_stats){0};
    dg_labelled_data_init(&labelled_data, &reading);
    dg_corpus_out_init(&w.answers);
    dg_buf_init(&w.first, FILE_MAX);
    dg_buf_init(&w.cost, FILE_MAX);
    w.source_work = dg_tokenizer_work_new();
    w.target_work = dg_spm_work_new();
    enum dg_err err = w.source_work && w.target_work
                          ? read_all(&labelled_data, files, n_files, opts, error)
                          : DG_ERR_NOMEM;
    memcpy(stats->dropped, labelled_data.dropped, sizeof stats->dropped);
    if (!err)
        err = take_all(&w, &labelled_data);
    if (!err)
        err = save(&w, dir);
    dg_spm_work_free(w.target_work);
    dg_tokenizer_work_free(w.source_work);
    dg_buf_deinit(&w.cost);
    dg_buf_deinit(&w.first);
    dg_corpus_out_deinit(&w.answers);
    dg_labelled_data_deinit(&labelled_data);
    return err;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool same_source(const struct dg_corpus *answers, uint64_t a, uint64_t b)
{
    const struct dg_example one = dg_corpus_get(answers, (size_t)a),
                            other = dg_corpus_get(answers, (size_t)b);
    return one.n_source == other.n_source &&
           memcmp(one.source, other.source, one.n_source * sizeof *one.source) == 0;
}

/* Checks that each group has 2 to DG_RISK_CANDIDATES_MAX answers to one source, that the groups
 * cover all answers, and that costs are from 0 to 1. */
static bool is_sound(const struct dg_risk_candidates *r)
{
    if (r->first[0] != 0 || r->first[r->n] != r->answers.n)
        return false;
    for (size_t i = 0; i < r->n; i++) {
        const uint64_t from = r->first[i], to = r->first[i + 1];
        if (to < from + 2 || to > from + DG_RISK_CANDIDATES_MAX || to > r->answers.n)
            return false;
        for (uint64_t j = from; j < to; j++)
            if (!(r->cost[j] >= 0.0f && r->cost[j] <= 1.0f) || !same_source(&r->answers, from, j))
                return false;
    }
    return true;
}

static enum dg_err open_costs(struct dg_risk_candidates *r, const char *path,
                              struct dg_error *error)
{
    uint64_t counts[2] = {0};
    const enum dg_err err = dg_map_file_open(&r->file, path, FILE_MAX, error);
    if (err)
        return err;
    const uint8_t *bytes = r->file.bytes;
    if (r->file.len >= HEADER_BYTES)
        memcpy(counts, bytes + sizeof magic, sizeof counts);
    /* Each count is checked against the length before it is multiplied. */
    if (r->file.len < HEADER_BYTES + sizeof(uint64_t) || memcmp(bytes, magic, sizeof magic) != 0 ||
        counts[0] == 0 || counts[0] > r->file.len / 8 || counts[1] != r->answers.n ||
        HEADER_BYTES + (counts[0] + 1) * 8 + counts[1] * sizeof(float) != r->file.len)
        return dg_error_set(
            error, DG_ERR_FORMAT,
            "%s: it does not hold the costs of these answers; start the training again in a new "
            "directory",
            path);
    r->n = (size_t)counts[0];
    r->first = (const uint64_t *)(const void *)(bytes + HEADER_BYTES);
    r->cost = (const float *)(const void *)(r->first + r->n + 1);
    return is_sound(r)
               ? DG_OK
               : dg_error_set(
                     error, DG_ERR_FORMAT,
                     "%s: its groups do not fit the answers; start the training again in a new "
                     "directory",
                     path);
}

enum dg_err dg_risk_candidates_open(struct dg_risk_candidates *candidates, const char *dir,
                                    const struct dg_blueprint *bp, struct dg_error *error)
{
    struct dg_risk_candidates opened = {.n = 0};
    char answers[DG_PATH_CAP], costs[DG_PATH_CAP];
    enum dg_err err = dg_folder_path(dir, "training/rivals.bin", answers, error);
    if (!err)
        err = dg_folder_path(dir, "training/rivals-costs.bin", costs, error);
    if (!err)
        err = dg_corpus_open(&opened.answers, answers, bp, error);
    if (!err)
        err = open_costs(&opened, costs, error);
    if (err)
        dg_risk_candidates_close(&opened);
    else
        *candidates = opened;
    return err;
}

void dg_risk_candidates_close(struct dg_risk_candidates *candidates)
{
    dg_corpus_close(&candidates->answers);
    if (candidates->file.bytes)
        dg_map_file_close(&candidates->file);
    *candidates = (struct dg_risk_candidates){.n = 0};
}

size_t dg_risk_candidates_group(const struct dg_risk_candidates *r, size_t i,
                                struct dg_example *examples)
{
    const size_t from = (size_t)r->first[i], n = (size_t)(r->first[i + 1] - r->first[i]);
    for (size_t j = 0; j < n; j++) {
        examples[j] = dg_corpus_get(&r->answers, from + j);
        examples[j].n_candidates = (uint32_t)n;
        examples[j].candidate = (uint32_t)j;
        examples[j].cost = r->cost[from + j];
    }
    return n;
}
