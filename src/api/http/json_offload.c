/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The bytes are copied for the thread, since a request's own are freed with its connection. If
 * there is no room for the copy, the request is refused: reading it on the loop would delay all
 * clients when the server is busiest. */
#include "api/http/json_offload.h"
#include "api/http/api_int.h"
#include "base/memory/mem.h"

#include <string.h>

/* Bytes that may wait to be read. They take memory, and their senders wait: 2 threads read about
 * 100 MB a second. */
enum { WAITING_BYTES = 256 << 20 };
enum {
    MUCH = 64 * 1024 /* bytes of JSON whose parsing takes about 1 ms */,
    ANSWER_MAX = 512 << 20
};

struct reading {
    struct dg_offload_task task;
    const struct dg_api *api;
    dg_json_offload_read_fn read;
    dg_json_offload_done_fn done;
    void *work;
    struct dg_failure failure;
    enum dg_err err;
    size_t held; /* bytes taken from the api's buffers */
    size_t len;
    char bytes[]; /* [len] */
};

static void run_json_work(struct dg_offload_task *task)
{
    struct reading *reading = (struct reading *)task;
    reading->err = reading->read(reading->work, reading->api,
                                 dg_span_make(reading->bytes, reading->len), &reading->failure);
}

static void on_json_work_done(struct dg_offload_task *task)
{
    struct reading *reading = (struct reading *)task;
    dg_allowance_hold(reading->api->opts.buffers, &reading->held, 0);
    reading->done(reading->work, reading->err, &reading->failure);
    dg_free(reading);
}

static enum dg_err put_aside(const struct dg_api *api, struct dg_span bytes,
                             dg_json_offload_read_fn read, dg_json_offload_done_fn done, void *work)
{
    if (dg_offload_in_line(api->readers) > WAITING_BYTES)
        return DG_ERR_BUSY;
    struct reading *reading = dg_try_malloc(sizeof *reading + bytes.len);
    if (!reading)
        return DG_ERR_NOMEM;
    *reading = (struct reading){.api = api,
                                .read = read,
                                .done = done,
                                .work = work,
                                .len = bytes.len,
                                .failure = {.status = 500}};
    memcpy(reading->bytes, bytes.ptr, bytes.len);
    enum dg_err err = dg_offload_submit_sized(api->readers, &reading->task, bytes.len,
                                              run_json_work, on_json_work_done);
    if (err)
        dg_free(reading);
    else
        dg_allowance_hold(api->opts.buffers, &reading->held, bytes.len);
    return err;
}

bool dg_json_offload_is_much(const struct dg_api *api, struct dg_span bytes)
{
    return bytes.len >= MUCH && api->readers;
}

bool dg_json_offload_bytes(const struct dg_api *api, struct dg_span bytes,
                           dg_json_offload_read_fn read, dg_json_offload_done_fn done, void *work)
{
    static const struct dg_failure no_room = {
        .status = 503,
        .code = "overloaded",
        .retry_after_s = 1,
        .message = "Too many large requests are being read at the moment."};
    struct dg_failure failure = {.status = 500};
    if (!dg_json_offload_is_much(api, bytes)) {
        enum dg_err err = read(work, api, bytes, &failure);
        done(work, err, &failure);
        return false;
    }
    enum dg_err err = put_aside(api, bytes, read, done, work);
    if (err)
        done(work, err, &no_room);
    return !err;
}

/* ---- Answers --------------------------------------------------------------------------------- */

struct writing {
    struct dg_offload_task task;
    dg_json_offload_write_fn write;
    dg_json_offload_wrote_fn wrote;
    void *work;
    enum dg_err err;
    struct dg_buf answer;
};

static void run_write(struct dg_offload_task *task)
{
    struct writing *writing = (struct writing *)task;
    writing->err = writing->write(writing->work, &writing->answer);
}

static void on_written(struct dg_offload_task *task)
{
    struct writing *writing = (struct writing *)task;
    writing->wrote(writing->work, writing->err, &writing->answer);
    dg_buf_deinit(&writing->answer);
    dg_free(writing);
}

/* Has another thread write the answer. False: this thread must write it, since a finished answer is
 * not thrown away for lack of room. */
static bool is_written_aside(const struct dg_api *api, size_t size, dg_json_offload_write_fn write,
                             dg_json_offload_wrote_fn wrote, void *work)
{
    struct writing *writing = dg_try_calloc(1, sizeof *writing);
    if (!writing)
        return false;
    *writing = (struct writing){.write = write, .wrote = wrote, .work = work};
    dg_buf_init(&writing->answer, ANSWER_MAX);
    if (dg_offload_submit_sized(api->readers, &writing->task, size, run_write, on_written) == DG_OK)
        return true;
    dg_free(writing);
    return false;
}

bool dg_json_offload_write(const struct dg_api *api, size_t size, size_t much,
                           dg_json_offload_write_fn write, dg_json_offload_wrote_fn wrote,
                           void *work)
{
    if (size >= much && api->readers && is_written_aside(api, size, write, wrote, work))
        return true;
    struct dg_buf answer;
    dg_buf_init(&answer, ANSWER_MAX);
    enum dg_err err = write(work, &answer);
    wrote(work, err, &answer);
    dg_buf_deinit(&answer);
    return false;
}
