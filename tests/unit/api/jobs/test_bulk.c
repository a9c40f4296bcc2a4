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
        dg_bulk_find(bulk, dg_span_cstr(id))) { /* otherwise memory ran out */
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

DG_UNIT(a_jump_of_the_clock_makes_no_job_old)
