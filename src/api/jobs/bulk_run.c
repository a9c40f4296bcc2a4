/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Lines on their way: read in chunks, begun in order, answered in any order, written in order.
 *
 *     ID.in -> input | 41 42 43 44 45 ... -> engine -> 41 42 -> written to ID.out
 *                      done.. ..not yet
 *
 * A window bounds what is under way; a turn begins few lines, because beginning one means cutting
 * it into sentences on the loop. A line that cannot be translated is answered by its error, so that
 * lines stay in step; what a stop or a cancellation ends is not answered at all. Where the model of
 * the whole job is missing, no line is at fault: the job goes back to the first line that is not
 * answered, and waits. */
#include "api/jobs/bulk_int.h"
#include "api/v1/glossaries.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum {
    WINDOW_LINES = 256,
    WINDOW_BYTES = 1 << 20,
    TURN_LINES = 8,
    TURN_BYTES = 8 * 1024,
    LINE_VALUES_MAX = 10000,
    ANSWER_MAX = 256 << 20,
    OUTPUT_MAX = 1 << 30,
    SHORT_MAX = 3, /* how often a job waits for memory before a line without it gets an error */
};

/* ---- Answers --------------------------------------------------------------------------------- */

static void free_line(struct dg_bulk_line *line)
{
    struct dg_bulk_job *job = line->job;
    dg_list_unlink(&line->link);
    if (line->is_large && job->bulk)
        job->bulk->n_large--;
    job->n_open--;
    job->open_bytes -= line->bytes;
    dg_job_drop(line->work);
    dg_buf_deinit(&line->answer);
    dg_free(line);
}

/* {"line":7,"error":{...}} or, of text, an empty line. */
static enum dg_err put_error(struct dg_bulk_line *line, const struct dg_failure *failure)
{
    struct dg_json_out out;
    dg_buf_clear(&line->answer);
    line->is_answered = line->has_failed = true;
    if (line->job->format == DG_BULK_TEXT)
        return DG_OK;
    dg_json_out_init(&out, &line->answer);
    dg_json_out_open(&out, '{');
    dg_json_out_put_uint(&out, "line", line->number);
    dg_json_out_put_open(&out, "error", '{');
    dg_json_out_put_cstr(&out, "code", failure->code);
    dg_json_out_put_cstr(&out, "message", failure->message);
    if (failure->field)
        dg_json_out_put_cstr(&out, "field", failure->field);
    dg_json_out_close(&out, '}');
    dg_json_out_close(&out, '}');
    return dg_json_out_end(&out);
}

/* {"line":7,"id":"...","text":...}: the item of POST /v1/translate after the line's number and
 * name. */
static enum dg_err put_item(struct dg_bulk_line *line, const struct dg_job_item *item)
{
    struct dg_span id = line->work->options.id;
    enum dg_err err = dg_buf_printf(&line->answer, "{\"line\":%zu,", line->number);
    if (!err && id.ptr) {
        err = dg_buf_append_cstr(&line->answer, "\"id\":");
        if (!err)
            err = dg_json_out_quote(&line->answer, id);
        if (!err)
            err = dg_buf_append_byte(&line->answer, ',');
    }
    if (!err)
        err = dg_job_members(item, &line->answer);
    return err ? err : dg_buf_append_byte(&line->answer, '}');
}

/* Writes the text on one line. A translation should have no newline, since its line had none;
 * because the format depends on that, a newline becomes a blank. */
static enum dg_err put_text(struct dg_bulk_line *line, struct dg_span text)
{
    enum dg_err err = dg_buf_append_span(&line->answer, text);
    for (size_t i = 0; !err && i < line->answer.len; i++)
        if (line->answer.ptr[i] == '\n')
            line->answer.ptr[i] = ' ';
    return err;
}

/* Returns true when the model of the whole job is missing, rather than one that only this line
 * names. */
static bool is_model_missing(const struct dg_bulk_line *line, enum dg_err err)
{
    const struct dg_bulk_job *job = line->job;
    if (line->has_own_model)
        return false;
    if (err == DG_ERR_MODEL)
        return true;
    if (err != DG_ERR_NOT_FOUND && err != DG_ERR_DENIED)
        return false;
    err = dg_engine_can(job->bulk->engine, &job->options.request, NULL);
    return err == DG_ERR_NOT_FOUND || err == DG_ERR_DENIED;
}

/* Counts what the job has in memory now. */
static void count_buffers(struct dg_bulk_job *job)
{
    if (!job->bulk)
        return; /* the job is closed, and does not count any more */
    size_t bytes = job->input.cap + job->writing.lines.cap;
    bytes += job->reading.bytes ? DG_BULK_CHUNK : 0;
    for (const struct dg_list *at = job->lines.next; at != &job->lines; at = at->next)
        bytes += DG_LIST_ITEM(at, struct dg_bulk_line, link)->answer.cap;
    dg_allowance_hold(job->bulk->opts.buffers, &job->held, bytes);
}

static void close_file(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Frees the chunk and closes the input, which the next chunk opens again. */
static void release_reading(struct dg_bulk_job *job)
{
    if (job->reading.is_busy)
        return;
    dg_free(job->reading.bytes);
    job->reading.bytes = NULL;
    close_file(&job->in_fd);
}

/* Sets the job back to the end of the lines that were handed over for writing, with nothing under
 * way. A chunk that is being read is thrown away when it arrives. */
static void rewind_job(struct dg_bulk_job *job)
{
    while (!dg_list_is_empty(&job->lines))
        free_line(DG_LIST_ITEM(job->lines.next, struct dg_bulk_line, link));
    dg_buf_deinit(&job->input);
    dg_buf_init(&job->input, dg_bulk_line_max(job) + 2 * DG_BULK_CHUNK);
    release_reading(job);
    job->in_at = job->gathered_at;
    job->is_skipping = job->gathered_cut;
    job->in_ended = false;
    job->n_begun = job->n_gathered;
    job->n_rewinds++;
}

static void on_over(void *owner, struct dg_job *work)
{
    struct dg_bulk_line *line = owner;
    struct dg_bulk_job *job = line->job;
    enum dg_err err = work->err;
    struct dg_error error = work->error;
    if (!err) {
        const struct dg_job_item *item = &work->items[0];
        err = job->format == DG_BULK_TEXT ? put_text(line, dg_buf_span(&item->json))
                                          : put_item(line, item);
        line->is_answered = !err;
    }
    line->work = NULL;
    if (err && is_model_missing(line, err)) {
        dg_bulk_wait(job, DG_BULK_WAITS_FOR_MODEL, &error);
        rewind_job(job); /* the line no longer exists after this */
    } else if (err && err != DG_ERR_CANCELLED && err != DG_ERR_CLOSED) {
        struct dg_failure failure = dg_translate_options_failure(&work->arena, err, &error, NULL);
        const bool waits = err == DG_ERR_NOMEM && job->n_short < SHORT_MAX;
        if (waits || put_error(line, &failure) != DG_OK) {
            job->n_short++;
            dg_error_set(&error, DG_ERR_NOMEM, "there is no memory for a line");
            dg_bulk_wait(job, DG_BULK_WAITS_FOR_SPACE, &error);
            rewind_job(job); /* the line no longer exists after this */
        }
    }
    dg_job_drop(work);
}

static void on_sentence(void *owner, struct dg_job_item *item,
                        const struct dg_engine_sentence *sentence)
{
    struct dg_bulk_line *line = owner;
    const size_t len = item->job->options.texts[item->index].len,
                 end = sentence->at + sentence->len;
    line->covered =
        len > end ? (size_t)((double)line->bytes * (double)end / (double)len) : line->bytes;
}

static const struct dg_job_listener listener = {.on_over = on_over, .on_sentence = on_sentence};

/* ---- Beginning a line ------------------------------------------------------------------------ */

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Reads a line of JSON: the job's options, as changed by the line. */
static enum dg_err read_json(struct dg_bulk_line *line, struct dg_span text,
                             struct dg_failure *failure)
{
    struct dg_job *work = line->work;
    const struct dg_translate_options_limits limits = {.texts = 1, .base = &line->job->options};
    struct dg_json *json;
    enum dg_err err =
        dg_translate_options_parse(text, LINE_VALUES_MAX, &work->arena, failure, &json);
    if (err)
        return err;
    err = dg_translate_options_read(json, &work->arena, &limits, failure, &work->options);
    dg_json_free(json);
    const struct dg_engine_request *own = &work->options.request,
                                   *usual = &line->job->options.request;
    line->has_own_model =
        !err && !(is_same(own->model, usual->model) && is_same(own->source, usual->source) &&
                  is_same(own->target, usual->target));
    return err;
}

static enum dg_err read_text(struct dg_bulk_line *line, struct dg_span text,
                             struct dg_failure *failure)
{
    struct dg_job *work = line->work;
    size_t bad_at;
    work->options = line->job->options;
    work->options.texts = dg_arena_calloc(&work->arena, 1, sizeof *work->options.texts);
    struct dg_span copy = dg_arena_copy(&work->arena, text);
    if (!work->options.texts || !copy.ptr)
        return DG_ERR_NOMEM;
    work->options.texts[0] = copy;
    work->options.n_texts = 1;
    work->is_plain = true;
    if (dg_utf8_valid(text, &bad_at))
        return DG_OK;
    struct dg_error error = DG_ERROR_NONE;
    dg_error_set(&error, DG_ERR_UTF8, "the line is not valid UTF-8 at byte %zu", bad_at);
    *failure = dg_translate_options_failure(&work->arena, DG_ERR_UTF8, &error, NULL);
    return DG_ERR_UTF8;
}

/* A search may continue for a moment after the line, and the options of the job, were freed: so
 * what the engine borrows from the options is copied for the line. */
static enum dg_err own_options(struct dg_job *work)
{
    struct dg_engine_request *request = &work->options.request;
    struct dg_search_opts *search = &request->search;
    if (search->n_suppress > 0) {
        int32_t *ids = dg_arena_calloc(&work->arena, search->n_suppress, sizeof *ids);
        if (!ids)
            return DG_ERR_NOMEM;
        memcpy(ids, search->suppress, search->n_suppress * sizeof *ids);
        search->suppress = ids;
    }
    if (request->n_only > 0) {
        const char **names = dg_arena_calloc(&work->arena, request->n_only, sizeof *names);
        for (size_t i = 0; names && i < request->n_only; i++)
            if (!(names[i] = dg_arena_copy(&work->arena, dg_span_cstr(request->only[i])).ptr))
                return DG_ERR_NOMEM;
        if (!names)
            return DG_ERR_NOMEM;
        request->only = names;
    }
    return DG_OK;
}

static enum dg_err start(struct dg_bulk_line *line, struct dg_failure *failure)
{
    struct dg_error error = DG_ERROR_NONE;
    uint64_t retry_ms;
    line->work->options.request.priority = DG_PRIORITY_BULK;
    line->work->options.request.client = line->job->client;
    line->work->options.stream = false;
    enum dg_err err = dg_glossaries_apply(line->job->bulk->glossaries, line->work, line->job->owner,
                                          false, NULL, failure);
    if (err)
        return err;
    err = own_options(line->work);
    if (!err)
        err = dg_job_start(line->work, &listener, line, &error, &retry_ms);
    if (err)
        *failure = dg_translate_options_failure(&line->work->arena, err, &error, NULL);
    return err;
}

static struct dg_bulk_line *add_line(struct dg_bulk_job *job, size_t bytes)
{
    struct dg_bulk_line *line = dg_try_calloc(1, sizeof *line);
    if (!line)
        return NULL;
    line->job = job;
    line->number = job->n_begun + 1;
    line->bytes = bytes;
    dg_buf_init(&line->answer, ANSWER_MAX);
    dg_list_link_last(&job->lines, &line->link);
    job->n_open++;
    job->open_bytes += bytes;
    return line;
}

/* Begins a line. DG_ERR_BUSY, DG_ERR_NOMEM, DG_ERR_MODEL: that is not possible now, and nothing has
 * begun. `next_at` is where the input goes on after the line. */
static enum dg_err begin_line(struct dg_bulk_job *job, struct dg_span text, uint64_t next_at)
{
    struct dg_bulk *bulk = job->bulk;
    struct dg_failure failure = {.code = "overloaded", .message = "The server is out of memory."};
    struct dg_bulk_line *line = add_line(job, text.len);
    if (!line)
        return DG_ERR_NOMEM;
    line->is_large = text.len > bulk->opts.line_max;
    bulk->n_large += line->is_large;
    enum dg_err err =
        dg_job_new(bulk->engine, bulk->engine_jobs, text.len * 4 + (1 << 20), &line->work);
    if (!err)
        err = job->format == DG_BULK_TEXT ? read_text(line, text, &failure)
                                          : read_json(line, text, &failure);
    const size_t n_rewinds = job->n_rewinds;
    line->next_at = next_at;
    bool has_started = !err;
    if (!err)
        err = start(line, &failure);
    if (job->n_rewinds != n_rewinds || job->state != DG_BULK_RUNNING)
        return DG_ERR_MODEL; /* it was over at once, and the line no longer exists */
    if (has_started && err && is_model_missing(line, err)) {
        struct dg_error error;
        dg_error_set(&error, err, "%s", failure.message);
        free_line(line);
        dg_bulk_wait(job, DG_BULK_WAITS_FOR_MODEL, &error);
        return DG_ERR_MODEL;
    }
    if (err == DG_ERR_BUSY || err == DG_ERR_NOMEM) {
        free_line(line);
        return err;
    }
    if (err) {
        err = put_error(line, &failure);
        dg_job_drop(line->work); /* only now, because the answer lies in the work */
        line->work = NULL;
        if (err) {
            free_line(line);
            return err;
        }
    }
    job->n_begun++;
    return DG_OK;
}

/* Answers a line that is longer than lines may be with an error; the rest of it is thrown away as
 * it arrives. */
static enum dg_err refuse_line(struct dg_bulk_job *job)
{
    char message[128];
    snprintf(message, sizeof message, "The line is longer than %" PRIu64 " bytes.",
             dg_bulk_line_max(job));
    const struct dg_failure failure = {.code = "limit_reached", .message = message};
    struct dg_bulk_line *line = add_line(job, 0);
    if (!line)
        return DG_ERR_NOMEM;
    line->next_at = job->in_at - job->input.len; /* where the line began */
    line->is_refused = true;
    if (put_error(line, &failure) != DG_OK) {
        free_line(line);
        return DG_ERR_NOMEM;
    }
    job->n_begun++;
    job->is_skipping = true;
    return DG_OK;
}

/* Returns true for a lack of disk space, open files or memory, which ends when other jobs are
 * done. */
static bool passes_by(enum dg_err err)
{
    return err == DG_ERR_NO_SPACE || err == DG_ERR_NO_FILES || err == DG_ERR_NOMEM;
}

/* ---- The input ------------------------------------------------------------------------------- */

static void run_read(struct dg_offload_task *task)
{
    struct dg_bulk_read_task *reading = (struct dg_bulk_read_task *)task;
    struct dg_bulk_job *job = reading->job;
    const uint64_t left = job->in_end > reading->at ? job->in_end - reading->at : 0;
    reading->err = dg_bulk_file_read(&job->in_fd, job->in_path, reading->at, reading->bytes,
                                     left < DG_BULK_CHUNK ? (size_t)left : DG_BULK_CHUNK,
                                     &reading->n, &reading->error);
}

static void on_read(struct dg_offload_task *task)
{
    struct dg_bulk_read_task *reading = (struct dg_bulk_read_task *)task;
    struct dg_bulk_job *job = reading->job;
    reading->is_busy = false;
    if (dg_bulk_is_over(job)) {
        dg_bulk_halt(job);
    } else if (reading->at != job->in_at) {
        release_reading(job); /* the job was set back meanwhile */
    } else if (job->state == DG_BULK_RUNNING && !job->bulk->is_closing) {
        enum dg_err err = reading->err;
        if (!err && (err = dg_buf_append(&job->input, reading->bytes, reading->n)))
            dg_error_set(&reading->error, err, "there is no memory for its lines");
        if (!err)
            job->in_at += reading->n;
        if (!err && job->waits_for == DG_BULK_WAITS_FOR_SPACE && job->writing.lines.len == 0)
            job->waits_for = DG_BULK_NO_WAIT;
        job->in_ended = !err && reading->n == 0;
        if (passes_by(err))
            dg_bulk_wait(job, DG_BULK_WAITS_FOR_SPACE, &reading->error);
        else if (err)
            dg_bulk_fail(job, err, &reading->error);
        else
            dg_bulk_run(job);
    }
    dg_bulk_release(job);
}

static void ask_for_input(struct dg_bulk_job *job)
{
    struct dg_bulk_read_task *reading = &job->reading;
    if (reading->is_busy || job->in_ended || job->input.len > dg_bulk_line_max(job))
        return;
    if (!reading->bytes && !(reading->bytes = dg_try_malloc(DG_BULK_CHUNK)))
        return; /* the next turn tries again */
    reading->job = job;
    reading->at = job->in_at;
    reading->error = (struct dg_error)DG_ERROR_NONE;
    if (dg_offload_submit(job->bulk->files, &reading->task, run_read, on_read) != DG_OK)
        return;
    reading->is_busy = true;
    dg_bulk_hold(job);
}

/* Skips the rest of a line that was refused. */
static void skip(struct dg_bulk_job *job)
{
    const char *end = job->input.len ? memchr(job->input.ptr, '\n', job->input.len) : NULL;
    dg_buf_consume(&job->input, end ? (size_t)(end - job->input.ptr) + 1 : job->input.len);
    job->is_skipping = !end && !job->in_ended;
}

/* Begins lines while the window, this turn and the memory for buffers have room; one at a time is
 * always begun, so that the job goes on. */
static void begin_lines(struct dg_bulk_job *job)
{
    size_t at = 0, n = 0;
    const size_t line_max = dg_bulk_line_max(job);
    enum dg_err err = DG_OK;
    job->input.max = line_max + 2 * DG_BULK_CHUNK;
    while (!err && n < TURN_LINES && (at < TURN_BYTES || n == 0) && job->n_open < WINDOW_LINES &&
           job->open_bytes < WINDOW_BYTES &&
           (job->n_open == 0 || dg_allowance_left(job->bulk->opts.buffers) > 0)) {
        if (job->is_skipping)
            skip(job);
        struct dg_span rest = dg_span_sub(dg_buf_span(&job->input), at, job->input.len);
        const char *end = rest.len ? memchr(rest.ptr, '\n', rest.len) : NULL;
        size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
        if (len > line_max) {
            dg_buf_consume(&job->input, at); /* so that the bytes to skip are at the front */
            at = 0;
            err = refuse_line(job);
        } else if (len > job->bulk->opts.line_max && job->bulk->n_large > 0) {
            break; /* one at a time, because it takes memory */
        } else if (end || (job->in_ended && rest.len > 0)) {
            const size_t taken = len + (end != NULL);
            const size_t n_rewinds = job->n_rewinds;
            err = begin_line(job, dg_span_sub(rest, 0, len),
                             job->in_at - (job->input.len - at - taken));
            if (job->n_rewinds != n_rewinds || job->state != DG_BULK_RUNNING)
                return; /* the input no longer exists */
            at += err ? 0 : taken;
        } else {
            break;
        }
        n++;
    }
    dg_buf_consume(&job->input, at);
    if (!memchr(job->input.ptr ? job->input.ptr : "", '\n', job->input.len) || job->input.len == 0)
        ask_for_input(job);
}

/* ---- The result ------------------------------------------------------------------------------ */

static void run_write(struct dg_offload_task *task)
{
    struct dg_bulk_write_task *writing = (struct dg_bulk_write_task *)task;
    struct dg_bulk_job *job = writing->job;
    writing->err = dg_bulk_file_append(&job->out_fd, job->out_path, dg_buf_span(&writing->lines),
                                       writing->is_last, &writing->error);
}

static void on_written(struct dg_offload_task *task)
{
    struct dg_bulk_write_task *writing = (struct dg_bulk_write_task *)task;
    struct dg_bulk_job *job = writing->job;
    struct dg_bulk *bulk = job->bulk;
    const bool is_part = job->is_part;
    writing->is_busy = false;
    if (!writing->err) {
        job->n_done += writing->n_lines;
        job->n_failed += writing->n_failed;
        job->out_bytes += writing->lines.len;
        job->written_at = job->gathered_at;
        job->written_cut = job->gathered_cut;
        bulk->n_lines += writing->n_lines;
        bulk->n_failed += writing->n_failed;
    }
    if (!writing->err && writing->n_lines > 0) {
        job->waits_for = DG_BULK_NO_WAIT;
        job->n_short = 0;
    }
    const bool goes_on = job->state == DG_BULK_RUNNING && !bulk->is_closing;
    if (!goes_on || !passes_by(writing->err))
        dg_buf_deinit(&writing->lines); /* otherwise they are written when there is room */
    if (dg_bulk_is_over(job)) {
        dg_bulk_halt(job);
    } else if (goes_on) {
        if (passes_by(writing->err))
            dg_bulk_wait(job, DG_BULK_WAITS_FOR_SPACE, &writing->error);
        else if (writing->err)
            dg_bulk_fail(job, writing->err, &writing->error);
        else if (writing->is_last)
            dg_bulk_finish(job, DG_BULK_DONE);
        else
            dg_bulk_run(job);
    }
    const bool is_over = dg_bulk_is_over(job);
    dg_bulk_release(job);
    if ((is_part || is_over) && !bulk->is_closing)
        dg_bulk_turn(bulk); /* it may have been the last user of the job; others may wait for its
                               end */
}

/* Returns whether there is room for the gathered lines. Otherwise the job waits for room without
 * any lines, so that others can go on; if there can never be enough room, it fails. */
static bool has_room(struct dg_bulk_job *job)
{
    const size_t bytes = job->writing.lines.len;
    struct dg_error error;
    if (dg_bulk_may_grow(job, bytes))
        return true;
    if (!dg_bulk_may_ever_grow(job, bytes)) {
        dg_bulk_fail(job, DG_ERR_LIMIT, NULL);
        return false;
    }
    dg_error_set(
        &error, DG_ERR_NO_SPACE,
        "the files of all jobs, or those of this client, have no room for another %zu bytes",
        bytes);
    dg_bulk_wait(job, DG_BULK_WAITS_FOR_SPACE, &error);
    job->lacks = bytes;
    dg_buf_deinit(&job->writing.lines);
    job->n_gathered = job->n_done;
    job->gathered_at = job->written_at;
    job->gathered_cut = job->written_cut;
    rewind_job(job);
    return false;
}

/* Moves the answered lines at the front into the task's buffer. */
static enum dg_err gather(struct dg_bulk_job *job)
{
    struct dg_bulk_write_task *writing = &job->writing;
    while (!dg_list_is_empty(&job->lines)) {
        struct dg_bulk_line *line = DG_LIST_ITEM(job->lines.next, struct dg_bulk_line, link);
        if (!line->is_answered || writing->lines.len > DG_BULK_CHUNK)
            break;
        size_t before = writing->lines.len;
        enum dg_err err = dg_buf_append_span(&writing->lines, dg_buf_span(&line->answer));
        if (!err)
            err = dg_buf_append_byte(&writing->lines, '\n');
        if (err) {
            dg_buf_truncate(&writing->lines, before);
            return err;
        }
        writing->n_lines++;
        writing->n_failed += line->has_failed;
        job->n_gathered = line->number;
        job->gathered_at = line->next_at;
        job->gathered_cut = line->is_refused;
        free_line(line);
    }
    return DG_OK;
}

/* Writes the lines that are answered, and at the end waits for the disk. */
static void write_lines(struct dg_bulk_job *job)
{
    struct dg_bulk_write_task *writing = &job->writing;
    if (writing->is_busy)
        return;
    if (writing->lines.len == 0) {
        writing->n_lines = writing->n_failed = 0;
        dg_buf_init(&writing->lines, OUTPUT_MAX);
    }
    if (gather(job) != DG_OK && writing->lines.len == 0)
        return; /* there is no memory; the next turn tries again */
    writing->is_last = dg_list_is_empty(&job->lines) && job->in_ended && job->input.len == 0;
    if ((writing->lines.len == 0 && !writing->is_last) || !has_room(job))
        return;
    writing->job = job;
    writing->error = (struct dg_error)DG_ERROR_NONE;
    if (dg_offload_submit(job->bulk->files, &writing->task, run_write, on_written) != DG_OK)
        return;
    writing->is_busy = true;
    dg_bulk_hold(job);
}

/* ---- Progress ------------------------------------------------------------------------------- */

/* For a job that other servers work on, or that waits, only whole lines are known. */
double dg_bulk_progress(const struct dg_bulk_job *job)
{
    const double lines = job->n_lines ? (double)job->n_done / (double)job->n_lines : 0;
    double bytes = (double)job->gathered_at;
    if (job->state == DG_BULK_DONE)
        return 1;
    if (job->state != DG_BULK_RUNNING || job->n_parts > 0 || job->in_bytes == 0)
        return lines;
    for (const struct dg_list *at = job->lines.next; at != &job->lines; at = at->next) {
        const struct dg_bulk_line *line = DG_LIST_ITEM(at, struct dg_bulk_line, link);
        bytes += (double)(line->is_answered ? line->bytes : line->covered);
    }
    bytes /= (double)job->in_bytes;
    return bytes < lines ? lines : bytes < 1 ? bytes : 1;
}

/* ---- Moving on ------------------------------------------------------------------------------- */

void dg_bulk_run(struct dg_bulk_job *job)
{
    begin_lines(job);
    if (job->state == DG_BULK_RUNNING)
        write_lines(job);
    count_buffers(job);
}

/* Stops the job. What a task still uses is freed when that task is done. */
void dg_bulk_halt(struct dg_bulk_job *job)
{
    while (!dg_list_is_empty(&job->lines))
        free_line(DG_LIST_ITEM(job->lines.next, struct dg_bulk_line, link));
    dg_buf_deinit(&job->input);
    release_reading(job);
    if (!job->writing.is_busy) {
        dg_buf_deinit(&job->writing.lines);
        close_file(&job->out_fd);
    }
    count_buffers(job);
}
