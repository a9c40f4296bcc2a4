/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads lines and prints an answer for each, in order, while it works on many lines at once. Every
 * sub-command that is a filter uses it.
 *
 * A thread reads stdin; the caller's `start` begins each line asynchronously; the engine's or the
 * caller's own `poll` continues the work; a line whose `is_done` was set is printed once all lines
 * before it are printed. If the last line has no line end, its answer has none. Everything but
 * reading happens on the calling thread.
 *
 *     struct line_pipe pipe = {.start = start, .ctx = &work, .window = 64};
 *     line_pipe_init(&pipe);
 *     ... opts.wake = line_pipe_wake; opts.wake_arg = &pipe ...
 *     pipe.engine = engine;
 *     err = line_pipe_run(&pipe, &error);
 *     line_pipe_deinit(&pipe); */
#ifndef DG_TOOLS_LINE_PIPE_H
#define DG_TOOLS_LINE_PIPE_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/list.h"
#include "base/memory/span.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>

struct dg_engine;

struct line {
    struct dg_list link;
    size_t number; /* the number of the line, from 1 */
    char *text;    /* owned; `len` bytes, without the line end */
    size_t len;
    bool has_end;      /* a newline follows in the input */
    struct dg_buf out; /* what is printed, without the line end */
    size_t n_printed;  /* bytes of `out` that were printed early (line_pipe_flush) */
    bool is_done;
};

struct line_pipe {
    /* Set by the caller. */
    /* DG_ERR_BUSY: the line is offered again later */
    enum dg_err (*start)(void *ctx, struct line *line);
    struct dg_engine *engine; /* borrowed; NULL: `poll` is called instead of the engine's */
    void (*poll)(void *ctx);
    void *ctx;
    size_t window;     /* how many lines may be under way */
    bool is_streaming; /* prints the output of the first line as it arrives */

    /* The pipe's own members. */
    pthread_t reader;
    pthread_mutex_t lock;
    pthread_cond_t has_room;
    sem_t news;
    struct dg_list waiting; /* lines that were read and not started; guarded */
    size_t n_waiting;
    bool is_eof, is_stopping;
    enum dg_err read_err;
    struct dg_list running; /* lines that were started, in order */
    size_t n_running;
    bool is_held; /* `start` was busy: the next try waits until a line makes progress */
    size_t n_lines;
};

void line_pipe_init(struct line_pipe *pipe);
void line_pipe_deinit(struct line_pipe *pipe);

/* Reads and answers until the end of stdin. DG_ERR_IO, or the error of `start`. */
enum dg_err line_pipe_run(struct line_pipe *pipe, struct dg_error *error) DG_MUST_CHECK;

/* Wakes the pipe because there is progress; any thread may call it. `pipe` is a struct
 * line_pipe. */
void line_pipe_wake(void *pipe);

#endif
