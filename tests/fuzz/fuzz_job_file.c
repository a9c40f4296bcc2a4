/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as ID.json, the record of a bulk job: what is accepted is within its limits, and is the
 * same after it is written and read again. */
#include "api/jobs/bulk_int.h"
#include "base/memory/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static char path[] = "/tmp/dg-fuzz-job-XXXXXX";

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void remove_file(void)
{
    unlink(path);
}

static void save(struct dg_span text)
{
    static int fd = -1;
    if (fd < 0) {
        fd = mkstemp(path);
        require(fd >= 0 && atexit(remove_file) == 0);
    }
    require(ftruncate(fd, 0) == 0);
    require(pwrite(fd, text.ptr, text.len, 0) == (ssize_t)text.len);
}

static enum dg_err read_job(struct dg_bulk *bulk, struct dg_bulk_job **out)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_bulk_job *job = dg_xcalloc(1, sizeof *job);
    job->bulk = bulk;
    dg_arena_init(&job->arena, 1 << 20);
    snprintf(job->meta_path, sizeof job->meta_path, "%s", path);
    *out = job;
    enum dg_err err = dg_bulk_read_meta(job, &error);
    require(err == DG_OK || *dg_error_text(&error, err));
    return err;
}

static void free_job(struct dg_bulk_job *job)
{
    dg_arena_deinit(&job->arena);
    dg_free(job);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct dg_jobs jobs;
    struct dg_bulk bulk = {.engine_jobs = &jobs, .clock = DG_CLOCK_REAL, .lock_fd = -1};
    struct dg_bulk_job *job, *again;
    struct dg_buf first, second;
    if (len > DG_BULK_META_MAX)
        return 0;
    dg_jobs_init(&jobs, &bulk.clock);
    save(dg_span_make((const char *)bytes, len));
    if (read_job(&bulk, &job) == DG_OK) {
        require(strlen(job->owner) <= DG_BULK_OWNER && strlen(job->address) <= DG_BULK_OWNER);
        require(job->state != DG_BULK_RUNNING && job->state <= DG_BULK_FAILED);
        dg_buf_init(&first, 1 << 20);
        dg_buf_init(&second, 1 << 20);
        require(dg_bulk_put_meta(job, &first) == DG_OK);
        save(dg_buf_span(&first));
        if (first.len <= DG_BULK_META_MAX) {
            require(read_job(&bulk, &again) == DG_OK);
            require(dg_bulk_put_meta(again, &second) == DG_OK);
            require(dg_span_eq(dg_buf_span(&first), dg_buf_span(&second)));
            free_job(again);
        }
        dg_buf_deinit(&first);
        dg_buf_deinit(&second);
    }
    free_job(job);
    return 0;
}
