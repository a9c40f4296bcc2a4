/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "api/jobs/bulk.h"
#include "api/jobs/bulk_int.h"
#include "tmpdir.h"
#include "unit.h"

#include <inttypes.h>
#include <stdio.h>

enum { RETENTION_S = 3600 };

static const char id[] = "0123456789abcdef0123456789abcdef";

static void write_finished_job(const char *dir, uint64_t finished_s)
{
    char path[DG_BULK_PATH_MAX];
    ck_assert_int_eq(dg_bulk_path(path, dir, id, "json"), DG_OK);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file,
            "{\"version\":1,\"owner\":\"\",\"address\":\"\",\"models\":[],\"id\":\"%s\",\"state\":"
            "\"done\","
            "\"format\":\"text\",\"created\":%" PRIu64 ",\"finished\":%" PRIu64
            ",\"lines\":1,\"done\":1,\"failed\":0,\"input_bytes\":7,\"output_bytes\":11,"
            "\"options\":{\"target\":\"en\"}}",
            id, finished_s, finished_s);
    ck_assert_int_eq(fclose(file), 0);
}

static bool is_kept(struct dg_bulk *bulk)
{
    dg_bulk_tick(bulk);
    return dg_bulk_find(bulk, dg_span_cstr(id)) != NULL;
}

START_TEST(a_jump_of_the_clock_makes_no_job_old)
{
    char dir[DG_TMPDIR_CAP];
    struct dg_clock real = DG_CLOCK_REAL;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_jobs jobs;
    struct dg_bulk *bulk = NULL;
    uv_loop_t loop;
    const uint64_t now = dg_clock_now(&real), wall = dg_clock_wall(&real);
    dg_tmpdir_make(dir);
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    dg_jobs_init(&jobs, &real);
    write_finished_job(dir, wall / DG_CLOCK_S);
    const struct dg_bulk_opts opts = {.dir = dir,
                                      .bytes_max = 1000,
                                      .space_max = 10000,
                                      .jobs_max = 10,
                                      .retention_s = RETENTION_S,
                                      .line_max = 1000};
    if (dg_bulk_open(&bulk, &opts, &loop, NULL, &jobs, NULL, &error) == DG_OK &&
        dg_bulk_find(bulk, dg_span_cstr(id))) { /* otherwise memory had run out */
        bulk->clock = (struct dg_clock)DG_CLOCK_VIRTUAL(now + DG_CLOCK_S);
        dg_clock_set_ahead(&bulk->clock, (int64_t)(wall - now + 40 * 86400 * DG_CLOCK_S));
        ck_assert(is_kept(bulk));
        dg_clock_advance(&bulk->clock, (RETENTION_S - 60) * DG_CLOCK_S);
        ck_assert(is_kept(bulk));
        dg_clock_advance(&bulk->clock, 120 * DG_CLOCK_S);
        ck_assert(!is_kept(bulk));
    }
    dg_bulk_close(bulk);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    dg_jobs_deinit(&jobs);
    dg_tmpdir_remove(dir);
}
END_TEST

/* ---- Documents ------------------------------------------------------------------------------- */

struct bench {
    char dir[DG_TMPDIR_CAP], files[DG_TMPDIR_CAP];
    struct dg_jobs jobs;
    struct dg_documents documents;
    struct dg_bulk *bulk; /* NULL: there was no memory */
    uv_loop_t loop;
    int n_added;
    char id[DG_BULK_ID_LEN + 1];
};

static void open_bulk(struct bench *bench, bool is_temporary)
{
    struct dg_error error = DG_ERROR_NONE;
    const struct dg_bulk_opts opts = {.dir = bench->dir,
                                      .is_temporary = is_temporary,
                                      .bytes_max = 1000,
                                      .space_max = 10000,
                                      .jobs_max = 10,
                                      .retention_s = 10 * RETENTION_S,
                                      .line_max = 1000};
    bench->bulk = NULL;
    if (dg_bulk_open(&bench->bulk, &opts, &bench->loop, NULL, &bench->jobs, NULL, &error) != DG_OK)
        bench->bulk = NULL;
}

static void begin(struct bench *bench, bool is_temporary)
{
    struct dg_clock real = DG_CLOCK_REAL;
    struct dg_error error = DG_ERROR_NONE;
    *bench = (struct bench){.n_added = 0};
    dg_tmpdir_make(bench->dir);
    dg_tmpdir_make(bench->files);
    ck_assert_int_eq(uv_loop_init(&bench->loop), 0);
    dg_jobs_init(&bench->jobs, &real);
    dg_documents_init(&bench->documents);
    const struct dg_documents_opts opts = {.dir = bench->files, .bytes_max = 1000};
    ck_assert_int_eq(dg_documents_open(&bench->documents, &opts, &error), DG_OK);
    open_bulk(bench, is_temporary);
}

static void end(struct bench *bench)
{
    dg_bulk_close(bench->bulk);
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&bench->loop), 0);
    dg_documents_deinit(&bench->documents);
    dg_jobs_deinit(&bench->jobs);
    dg_tmpdir_remove(bench->files);
    dg_tmpdir_remove(bench->dir);
}

static void on_added(void *owner, struct dg_bulk_job *job, enum dg_err err,
                     const struct dg_error *error)
{
    struct bench *bench = owner;
    (void)error;
    ck_assert((job != NULL) == (err == DG_OK));
    bench->n_added++;
    if (job)
        memcpy(bench->id, job->id, sizeof bench->id);
}

/* A document that needs no translation. NULL: there was no memory. */
static struct dg_bulk_job *add(struct bench *bench, enum dg_bulk_state state)
{
    struct dg_document_file *file = NULL;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_buf body;
    if (!bench->bulk || dg_document_file_new(&bench->documents, 1, &file) != DG_OK)
        return NULL;
    dg_buf_init(&body, 1000);
    enum dg_err err = dg_document_file_grow(file, 4) ? DG_OK : DG_ERR_LIMIT;
    if (!err)
        err = dg_document_file_append(file, DG_SPAN("One."), &error);
    if (!err)
        err = dg_document_file_map(file, &error);
    if (!err)
        err = dg_buf_append_cstr(&body, "{\"text\":\"One.\"}\n");
    const struct dg_bulk_order order = {.format = DG_BULK_JSONL,
                                        .options_json = DG_SPAN("{\"target\":\"en\"}"),
                                        .owner = DG_SPAN("alice"),
                                        .client = 1,
                                        .body = &body,
                                        .document = file,
                                        .document_name = "a.txt",
                                        .api = DG_BULK_DEEPL,
                                        .key = "00112233445566778899aabbccddeeff",
                                        .n_characters = 4,
                                        .state = state,
                                        .reason = "It cannot be done."};
    if (err)
        dg_document_file_free(file);
    else
        err = dg_bulk_add(bench->bulk, &order, on_added, bench, &error);
    dg_buf_deinit(&body);
    ck_assert(err == DG_OK || err == DG_ERR_NOMEM);
    const int before = bench->n_added;
    while (!err && bench->n_added == before)
        uv_run(&bench->loop, UV_RUN_ONCE);
    return err ? NULL : dg_bulk_find(bench->bulk, dg_span_cstr(bench->id));
}

START_TEST(what_is_known_of_a_document_is_kept)
{
    struct bench bench;
    begin(&bench, false);
    const struct dg_bulk_job *job = add(&bench, DG_BULK_FAILED);
    for (int i = 0; job && i < 2; i++) {
        ck_assert(dg_bulk_is_foreign(job) && job->api == DG_BULK_DEEPL);
        ck_assert_int_eq(dg_bulk_state(job), DG_BULK_FAILED);
        ck_assert_str_eq(dg_error_text(&job->error, job->err), "It cannot be done.");
        ck_assert_str_eq(job->document_key, "00112233445566778899aabbccddeeff");
        ck_assert_str_eq(job->document_name, "a.txt");
        ck_assert_uint_eq(job->n_characters, 4);
        ck_assert_str_eq(dg_bulk_owner(job), "alice");
        dg_bulk_close(bench.bulk); /* a restart */
        uv_run(&bench.loop, UV_RUN_DEFAULT);
        open_bulk(&bench, false);
        job = bench.bulk ? dg_bulk_find(bench.bulk, dg_span_cstr(bench.id)) : NULL;
    }
    end(&bench);
}
END_TEST

START_TEST(a_document_is_kept_for_an_hour_or_until_it_is_fetched)
{
    struct bench bench;
    begin(&bench, false);
    if (add(&bench, DG_BULK_DONE)) {
        const uint64_t now = dg_clock_now(&bench.bulk->clock);
        bench.bulk->clock = (struct dg_clock)DG_CLOCK_VIRTUAL(now + DG_CLOCK_S);
        dg_bulk_tick(bench.bulk);
        ck_assert_ptr_nonnull(dg_bulk_find(bench.bulk, dg_span_cstr(bench.id)));
        dg_clock_advance(&bench.bulk->clock, RETENTION_S * DG_CLOCK_S);
        dg_bulk_tick(bench.bulk);
        ck_assert_ptr_null(dg_bulk_find(bench.bulk, dg_span_cstr(bench.id)));
    }
    if (add(&bench, DG_BULK_DONE)) {
        dg_bulk_fetched(bench.bulk, dg_span_cstr(bench.id));
        ck_assert_ptr_null(dg_bulk_find(bench.bulk, dg_span_cstr(bench.id)));
        dg_bulk_fetched(bench.bulk, dg_span_cstr(bench.id));
    }
    end(&bench);
}
END_TEST

struct ear {
    struct dg_bulk_watch watch;
    int n_told;
    bool had_job;
};

static void on_over(struct dg_bulk_watch *watch, struct dg_bulk_job *job)
{
    struct ear *ear = DG_LIST_ITEM(watch, struct ear, watch);
    ear->n_told++;
    ear->had_job = job != NULL;
}

START_TEST(whoever_waits_for_a_job_is_told_once)
{
    struct bench bench;
    struct ear over = {.watch.fn = on_over}, unknown = over, left = over;
    begin(&bench, false);
    if (add(&bench, DG_BULK_DONE)) {
        dg_bulk_watch(bench.bulk, bench.id, &over.watch);
        dg_bulk_watch(bench.bulk, id, &unknown.watch);
        dg_bulk_watch(bench.bulk, bench.id, &left.watch);
        dg_bulk_unwatch(&left.watch);
        ck_assert_int_eq(over.n_told, 0); /* not before the next turn */
        for (int i = 0; i < 2; i++)
            dg_bulk_turn(bench.bulk);
        ck_assert(over.n_told == 1 && over.had_job);
        ck_assert(unknown.n_told == 1 && !unknown.had_job);
        ck_assert_int_eq(left.n_told, 0);
        dg_bulk_watch(bench.bulk, bench.id, &over.watch);
        dg_bulk_close(bench.bulk);
        bench.bulk = NULL;
        ck_assert(over.n_told == 2 && !over.had_job);
    }
    end(&bench);
}
END_TEST

START_TEST(nothing_is_left_of_a_folder_that_is_temporary)
{
    struct bench bench;
    begin(&bench, true);
    const bool is_open = bench.bulk != NULL;
    (void)add(&bench, DG_BULK_DONE);
    dg_bulk_close(bench.bulk);
    bench.bulk = NULL;
    uv_run(&bench.loop, UV_RUN_DEFAULT);
    ck_assert(!is_open || access(bench.dir, F_OK) != 0);
    end(&bench);
}
END_TEST

DG_UNIT(a_jump_of_the_clock_makes_no_job_old, what_is_known_of_a_document_is_kept,
        a_document_is_kept_for_an_hour_or_until_it_is_fetched, whoever_waits_for_a_job_is_told_once,
        nothing_is_left_of_a_folder_that_is_temporary)
