/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Results are read piece by piece: each piece is asked for when the one before it has been sent. */
#include "api/jobs/bulk_int.h"
#include "api/jobs/shared_jobs.h"
#include "base/memory/mem.h"

#include <unistd.h>

enum { PIECE = 64 * 1024 };

struct dg_bulk_reader {
    struct dg_offload_task task;
    struct dg_bulk_job *job;
    dg_bulk_piece_fn on_piece;
    void *owner;
    int fd;
    uint64_t at, end;
    bool is_of_parts; /* of a shared job that is not done, the reader reads those parts that are
                         done, from the first on */
    unsigned number;  /* the number of the part that is read */
    uint64_t part_at;
    bool is_busy, is_telling, is_closed;
    /* The result of a read. */
    size_t n;
    enum dg_err err;
    char bytes[PIECE];
};

enum dg_err dg_bulk_reader_open(struct dg_bulk_reader **out, struct dg_bulk_job *job,
                                dg_bulk_piece_fn on_piece, void *owner)
{
    struct dg_bulk_reader *reader = dg_try_malloc(sizeof *reader);
    if (!reader)
        return DG_ERR_NOMEM;
    reader->job = job;
    reader->on_piece = on_piece;
    reader->owner = owner;
    reader->fd = -1;
    reader->at = 0;
    reader->end = job->out_bytes;
    reader->is_of_parts = job->bulk->shared && job->state != DG_BULK_DONE;
    reader->number = 0;
    reader->part_at = 0;
    reader->is_busy = reader->is_telling = reader->is_closed = false;
    dg_bulk_hold(job);
    *out = reader;
    return DG_OK;
}

static void free_reader(struct dg_bulk_reader *reader)
{
    if (reader->fd >= 0)
        close(reader->fd);
    dg_bulk_release(reader->job);
    dg_free(reader);
}

void dg_bulk_reader_close(struct dg_bulk_reader *reader)
{
    if (!reader)
        return;
    reader->is_closed = true;
    if (!reader->is_busy && !reader->is_telling)
        free_reader(reader);
}

/* Reads a piece of the current part or of the next one; nothing if the file of that part does not
 * exist. */
static enum dg_err read_parts(struct dg_bulk_reader *reader, struct dg_error *error)
{
    char path[DG_BULK_PATH_MAX];
    enum dg_err err = DG_OK;
    reader->n = 0;
    while (!err && reader->n == 0) {
        err = dg_shared_jobs_part_path(reader->job, reader->number, path);
        if (!err && reader->fd < 0 && access(path, F_OK) != 0)
            return DG_OK;
        if (!err)
            err = dg_bulk_file_read(&reader->fd, path, reader->part_at, reader->bytes, PIECE,
                                    &reader->n, error);
        reader->part_at += reader->n;
        if (!err && reader->n == 0) {
            close(reader->fd);
            reader->fd = -1;
            reader->number++;
            reader->part_at = 0;
        }
    }
    return err;
}

static void run_bulk_read(struct dg_offload_task *task)
{
    struct dg_bulk_reader *reader = (struct dg_bulk_reader *)task;
    struct dg_error error = DG_ERROR_NONE;
    if (reader->is_of_parts) {
        reader->err = read_parts(reader, &error);
        return;
    }
    uint64_t left = reader->end - reader->at;
    reader->n = 0;
    reader->err =
        left == 0 ? DG_OK
                  : dg_bulk_file_read(&reader->fd, reader->job->out_path, reader->at, reader->bytes,
                                      left < PIECE ? (size_t)left : PIECE, &reader->n, &error);
    if (!reader->err && left > 0 && reader->n == 0)
        reader->err = DG_ERR_TRUNCATED; /* somebody else shortened the file */
}

static void on_bulk_read_done(struct dg_offload_task *task)
{
    struct dg_bulk_reader *reader = (struct dg_bulk_reader *)task;
    reader->at += reader->n;
    reader->is_busy = false;
    reader->is_telling = true; /* the callback may close the reader, or ask it for more */
    if (!reader->is_closed)
        reader->on_piece(reader->owner, dg_span_make(reader->bytes, reader->n), reader->err);
    reader->is_telling = false;
    if (reader->is_closed && !reader->is_busy)
        free_reader(reader);
}

enum dg_err dg_bulk_reader_read(struct dg_bulk_reader *reader)
{
    if (!reader->job->bulk)
        return DG_ERR_CLOSED;
    enum dg_err err = dg_offload_submit(reader->job->bulk->files, &reader->task, run_bulk_read,
                                        on_bulk_read_done);
    reader->is_busy = reader->is_busy || !err;
    return err;
}
