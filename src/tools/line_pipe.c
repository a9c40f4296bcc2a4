/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The ordered line filter. The reader is at most READ_AHEAD lines ahead, so memory is bounded
 * however long the input is. When stdout is closed, SIGPIPE ends the process, as for any filter. */
#include "tools/line_pipe.h"
#include "base/memory/mem.h"
#include "engine/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { READ_AHEAD = 256, OUT_MAX = 1 << 28 };

static void free_line(struct line *line)
{
    dg_list_unlink(&line->link);
    free(line->text);
    dg_buf_deinit(&line->out);
    dg_free(line);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Appends a line to the queue when there is room; false when the pipe has ended and nobody wants it
 * any more. */
static bool hand_over(struct line_pipe *pipe, struct line *line)
{
    pthread_mutex_lock(&pipe->lock);
    while (pipe->n_waiting >= READ_AHEAD && !pipe->is_stopping)
        pthread_cond_wait(&pipe->has_room, &pipe->lock);
    bool is_wanted = !pipe->is_stopping;
    if (is_wanted) {
        dg_list_link_last(&pipe->waiting, &line->link);
        pipe->n_waiting++;
    }
    pthread_mutex_unlock(&pipe->lock);
    sem_post(&pipe->news);
    return is_wanted;
}

static void *read_lines(void *arg)
{
    struct line_pipe *pipe = arg;
    char *text = NULL;
    size_t cap = 0;
    ssize_t len;
    enum dg_err err = DG_OK;
    for (size_t number = 1; (len = getline(&text, &cap, stdin)) >= 0; number++) {
        struct line *line = dg_xcalloc(1, sizeof *line);
        dg_list_init(&line->link);
        dg_buf_init(&line->out, OUT_MAX);
        line->number = number;
        line->has_end = len > 0 && text[len - 1] == '\n';
        line->text = text;
        line->len = (size_t)len - line->has_end;
        text = NULL;
        cap = 0;
        if (!hand_over(pipe, line)) {
            free_line(line);
            break;
        }
    }
    if (ferror(stdin))
        err = dg_err_from_errno(errno);
    free(text);
    pthread_mutex_lock(&pipe->lock);
    pipe->is_eof = true;
    pipe->read_err = err;
    pthread_mutex_unlock(&pipe->lock);
    sem_post(&pipe->news);
    return NULL;
}

/* Returns the next line that was read; NULL when there is none at present. */
static struct line *next_line(struct line_pipe *pipe)
{
    pthread_mutex_lock(&pipe->lock);
    struct dg_list *first = dg_list_pop_first(&pipe->waiting);
    if (first) {
        pipe->n_waiting--;
        pthread_cond_signal(&pipe->has_room);
    }
    pthread_mutex_unlock(&pipe->lock);
    return first ? DG_LIST_ITEM(first, struct line, link) : NULL;
}

/* ---- Answering ------------------------------------------------------------------------------- */

static enum dg_err print_new(struct line *line)
{
    size_t n = line->out.len - line->n_printed;
    if (n && fwrite(line->out.ptr + line->n_printed, 1, n, stdout) != n)
        return DG_ERR_IO;
    line->n_printed = line->out.len;
    return DG_OK;
}

/* Prints the lines that are done and whose predecessors are all printed. */
static enum dg_err print_lines(struct line_pipe *pipe)
{
    enum dg_err err = DG_OK;
    bool was_useful = false;
    while (!err && !dg_list_is_empty(&pipe->running)) {
        struct line *line = DG_LIST_ITEM(pipe->running.next, struct line, link);
        if (line->is_done || pipe->is_streaming) {
            err = print_new(line);
            was_useful = true;
        }
        if (!line->is_done)
            break;
        if (!err && line->has_end && putchar('\n') == EOF)
            err = DG_ERR_IO;
        pipe->n_running--;
        pipe->n_lines++;
        free_line(line);
    }
    if (was_useful && !err && fflush(stdout) != 0)
        err = DG_ERR_IO;
    return err;
}

/* Starts lines until the window is full. */
static enum dg_err start_lines(struct line_pipe *pipe)
{
    pipe->is_held = false;
    while (pipe->n_running < pipe->window) {
        struct line *line = next_line(pipe);
        if (!line)
            return DG_OK;
        enum dg_err err = pipe->start(pipe->ctx, line);
        if (err == DG_ERR_BUSY && pipe->n_running > 0) {
            pthread_mutex_lock(&pipe->lock);
            dg_list_link_first(&pipe->waiting, &line->link);
            pipe->n_waiting++;
            pthread_mutex_unlock(&pipe->lock);
            pipe->is_held = true;
            return DG_OK;
        }
        dg_list_link_last(&pipe->running, &line->link);
        pipe->n_running++;
        if (err)
            return err;
    }
    return DG_OK;
}

static bool is_finished(struct line_pipe *pipe)
{
    pthread_mutex_lock(&pipe->lock);
    bool is_over = pipe->is_eof && pipe->n_waiting == 0 && pipe->n_running == 0;
    pthread_mutex_unlock(&pipe->lock);
    return is_over;
}

/* True when a waiting line could be started now; then the caller need not wait. */
static bool can_start(struct line_pipe *pipe)
{
    pthread_mutex_lock(&pipe->lock);
    bool can = pipe->n_waiting > 0 && pipe->n_running < pipe->window && !pipe->is_held;
    pthread_mutex_unlock(&pipe->lock);
    return can;
}

void line_pipe_init(struct line_pipe *pipe)
{
    pthread_mutex_init(&pipe->lock, NULL);
    pthread_cond_init(&pipe->has_room, NULL);
    sem_init(&pipe->news, 0, 0);
    dg_list_init(&pipe->waiting);
    dg_list_init(&pipe->running);
}

void line_pipe_deinit(struct line_pipe *pipe)
{
    while (!dg_list_is_empty(&pipe->waiting))
        free_line(DG_LIST_ITEM(pipe->waiting.next, struct line, link));
    while (!dg_list_is_empty(&pipe->running))
        free_line(DG_LIST_ITEM(pipe->running.next, struct line, link));
    pthread_mutex_destroy(&pipe->lock);
    pthread_cond_destroy(&pipe->has_room);
    sem_destroy(&pipe->news);
}

void line_pipe_wake(void *pipe)
{
    sem_post(&((struct line_pipe *)pipe)->news);
}

/* Ends the reader thread. It may be in a read that never returns; then it ends with the process. */
static void end_reader(struct line_pipe *pipe, bool is_eof)
{
    pthread_mutex_lock(&pipe->lock);
    pipe->is_stopping = true;
    pthread_cond_signal(&pipe->has_room);
    pthread_mutex_unlock(&pipe->lock);
    if (!is_eof)
        pthread_cancel(pipe->reader);
    pthread_join(pipe->reader, NULL);
}

enum dg_err line_pipe_run(struct line_pipe *pipe, struct dg_error *error)
{
    if (pthread_create(&pipe->reader, NULL, read_lines, pipe) != 0)
        return dg_error_set(error, DG_ERR_NOMEM, "cannot start a thread that reads");
    enum dg_err err = DG_OK;
    while (!err && !is_finished(pipe)) {
        err = start_lines(pipe);
        if (pipe->engine)
            dg_engine_poll(pipe->engine);
        else
            pipe->poll(pipe->ctx);
        enum dg_err print_err = print_lines(pipe);
        if (!err)
            err = print_err;
        if (!err && !is_finished(pipe) && !can_start(pipe))
            sem_wait(&pipe->news);
    }
    end_reader(pipe, err == DG_OK);
    if (!err && pipe->read_err)
        err = dg_error_set(error, pipe->read_err, "reading stdin failed");
    else if (err == DG_ERR_IO)
        dg_error_set(error, err, "writing to stdout failed");
    return err;
}
