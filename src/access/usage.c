/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A line of the journal: month, name, requests, characters, and SipHash-2-4 of all before it (with
 * the key zero: it finds torn lines, not forgers).
 *
 *     202611 alice 12 3456 0123456789abcdef
 *
 * A count is in the list of changed counts, in the list of those being written, or in neither (then
 * it may still be linked to other counts that are in neither). When a turn fails, the second list
 * goes back to the first. A turn copies some counts, or all of them when the journal is rewritten,
 * one slice at a time; changes made meanwhile are in the next turn. Every batch begins with an
 * empty line, so that a torn line before it does not spoil its first. */
#include "access/usage.h"
#include "access/file_lock.h"
#include "access/wall_time.h"
#include "access/calendar.h"
#include "base/file/file_out.h"
#include "base/file/map_file.h"
#include "base/memory/error.h"
#include "base/memory/hash.h"
#include "base/memory/map.h"
#include "base/memory/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NAMES_MAX = 200000,
    FILE_MAX = 256 << 20,
    LINES_MAX = 64 << 20,
    COUNTS_MAX = 64 << 20,
    LINE_CAP = 192,
    GROWN = 64 << 10,    /* a journal is written anew when it is longer by this many bytes */
    GROWTH = 8,          /* than this many times its length after rewriting */
    LOCK_WAIT_MS = 2000, /* for the server before us to end */
    FILE_MODE = 0600,
    SLICE = 4096, /* counts that are copied at once: half a millisecond */
};
static const char header[] = "# dragoman-usage 1\n";

struct dg_usage {
    const struct dg_clock *clock; /* borrowed */
    struct dg_wall_time steady;
    char *path; /* owned; NULL: memory only */
    int fd;
    uint64_t file_len;
    struct dg_file_lock lock;
    struct dg_map by_name; /* of owned struct dg_usage_count */
    struct dg_list changed, writing;
    struct dg_list all; /* in the order in which they came */
    size_t n_damaged;
    bool is_writing;
    uint64_t whole_from; /* the length past which the journal is written anew */
    bool was_removed;    /* somebody else changed the file: the next turn writes everything */
};

/* ---- Lines ----------------------------------------------------------------------------------- */

static uint64_t checksum(struct dg_span text)
{
    static const struct dg_hash_key key = {0, 0};
    return dg_hash_siphash(&key, text, 2, 4);
}

static enum dg_err put_line(struct dg_buf *buf, const struct dg_usage_count *count)
{
    char line[LINE_CAP];
    int len = snprintf(line, sizeof line, "%06u %s %" PRIu64 " %" PRIu64 " ", count->month,
                       count->name, count->requests, count->characters);
    return dg_buf_printf(buf, "%s%016" PRIx64 "\n", line,
                         checksum(dg_span_make(line, (size_t)len)));
}

/* Takes a number and the blank after it off the text; false when there is none below 10^18. */
static bool cut_number(struct dg_span *text, uint64_t *number)
{
    size_t at = 0;
    *number = 0;
    for (; at < text->len && at < 18 && text->ptr[at] >= '0' && text->ptr[at] <= '9'; at++)
        *number = *number * 10 + (uint64_t)(text->ptr[at] - '0');
    if (at == 0 || at == text->len || text->ptr[at] != ' ')
        return false;
    *text = dg_span_sub(*text, at + 1, text->len);
    return true;
}

static bool parse_line(struct dg_span line, struct dg_usage_count *count)
{
    enum { SUM = 16 };
    char sum[SUM + 1];
    uint64_t month;
    if (line.len <= SUM)
        return false;
    snprintf(sum, sizeof sum, "%016" PRIx64, checksum(dg_span_sub(line, 0, line.len - SUM)));
    if (!dg_span_ends(line, dg_span_make(sum, SUM)))
        return false;
    struct dg_span rest = dg_span_sub(line, 0, line.len - SUM);
    if (!cut_number(&rest, &month) || month > 999912)
        return false;
    const char *blank = memchr(rest.ptr, ' ', rest.len);
    struct dg_span name = dg_span_sub(rest, 0, blank ? (size_t)(blank - rest.ptr) : 0);
    if (dg_key_check_name(name, NULL) != DG_OK)
        return false;
    rest = dg_span_sub(rest, name.len + 1, rest.len);
    *count = (struct dg_usage_count){.month = (unsigned)month};
    memcpy(count->name, name.ptr, name.len);
    return cut_number(&rest, &count->requests) && cut_number(&rest, &count->characters) &&
           rest.len == 0;
}

size_t dg_usage_parse(struct dg_span text, dg_usage_fn each, void *ctx)
{
    size_t n_damaged = 0;
    while (text.len) {
        const char *end = memchr(text.ptr, '\n', text.len);
        struct dg_span line = dg_span_sub(text, 0, end ? (size_t)(end - text.ptr) : text.len);
        struct dg_usage_count count;
        text = dg_span_sub(text, line.len + 1, text.len);
        if (line.len == 0 || line.ptr[0] == '#')
            continue;
        if (parse_line(line, &count))
            each(ctx, &count);
        else
            n_damaged++;
    }
    return n_damaged;
}

/* ---- Counts ---------------------------------------------------------------------------------- */

uint64_t dg_usage_now(struct dg_usage *usage)
{
    return dg_wall_time_s(&usage->steady, usage->clock);
}

static unsigned this_month(struct dg_usage *usage)
{
    return dg_calendar_month(dg_usage_now(usage));
}

struct dg_usage_count *dg_usage_get(struct dg_usage *usage, struct dg_span name)
{
    struct dg_usage_count *count = dg_map_get_ptr(&usage->by_name, name);
    unsigned month = this_month(usage);
    if (!count) {
        if (name.len > DG_KEY_NAME_MAX)
            return NULL;
        count = dg_try_calloc(1, sizeof *count);
        if (!count)
            return NULL;
        dg_list_init(&count->link);
        memcpy(count->name, name.ptr, name.len);
        if (dg_map_put_ptr(&usage->by_name, dg_span_cstr(count->name), count) != DG_OK) {
            dg_free(count);
            return NULL;
        }
        dg_list_link_last(&usage->all, &count->in_all);
    }
    if (month > count->month)
        count->requests = count->characters = 0;
    count->month = month; /* a count of a later month came from a wrong clock, and does not set a
                             client's use back */
    return count;
}

static void mark(struct dg_usage *usage, struct dg_usage_count *count)
{
    dg_list_unlink(&count->link);
    dg_list_link_last(&usage->changed, &count->link);
}

void dg_usage_add(struct dg_usage *usage, struct dg_usage_count *count, uint64_t requests,
                  uint64_t characters)
{
    count->requests += requests;
    count->characters += characters;
    mark(usage, count);
}

void dg_usage_sub(struct dg_usage *usage, struct dg_usage_count *count, uint64_t requests,
                  uint64_t characters)
{
    count->requests -= requests < count->requests ? requests : count->requests;
    count->characters -= characters < count->characters ? characters : count->characters;
    mark(usage, count);
}

/* ---- Open and close -------------------------------------------------------------------------- */

static void on_line(void *ctx, const struct dg_usage_count *line)
{
    struct dg_usage *usage = ctx;
    if (line->month < this_month(usage))
        return;
    struct dg_usage_count *count = dg_usage_get(usage, dg_span_cstr(line->name));
    if (!count)
        return;
    /* the line was written while the clock was wrong */
    bool is_future = line->month > count->month;
    count->requests =
        is_future && count->requests > line->requests ? count->requests : line->requests;
    count->characters =
        is_future && count->characters > line->characters ? count->characters : line->characters;
}

static enum dg_err open_file(struct dg_usage *usage, struct dg_error *error)
{
    struct dg_map_file file;
    enum dg_err err = dg_file_lock_take(&usage->lock, usage->path, LOCK_WAIT_MS, error);
    if (err)
        return err;
    usage->fd =
        open(usage->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
    if (usage->fd < 0)
        return dg_error_errno(error, "cannot open %s", usage->path);
    err = dg_map_file_read(&file, usage->path, FILE_MAX, error);
    if (err)
        return err;
    struct dg_span text = dg_span_make((const char *)file.bytes, file.len);
    usage->n_damaged = dg_usage_parse(text, on_line, usage);
    usage->file_len = file.len;
    dg_map_file_close(&file);
    return DG_OK;
}

enum dg_err dg_usage_open(const struct dg_clock *clock, const char *path, struct dg_error *error,
                          struct dg_usage **usage)
{
    struct dg_usage *made = dg_xcalloc(1, sizeof *made);
    made->clock = clock;
    made->fd = -1;
    made->lock = (struct dg_file_lock)DG_FILE_LOCK_NONE;
    made->whole_from = GROWN;
    dg_map_init(&made->by_name, NAMES_MAX);
    dg_list_init(&made->changed);
    dg_list_init(&made->writing);
    dg_list_init(&made->all);
    enum dg_err err = DG_OK;
    if (path) {
        made->path = dg_xstrdup(path);
        err = open_file(made, error);
    }
    if (err)
        dg_usage_close(made);
    else
        *usage = made;
    return err;
}

void dg_usage_close(struct dg_usage *usage)
{
    uint64_t value;
    struct dg_span key;
    if (!usage)
        return;
    for (size_t at = 0; dg_map_next(&usage->by_name, &at, &key, &value);)
        dg_free((void *)(uintptr_t)value);
    dg_map_deinit(&usage->by_name);
    if (usage->fd >= 0)
        close(usage->fd);
    dg_file_lock_drop(&usage->lock);
    dg_free(usage->path);
    dg_free(usage);
}

size_t dg_usage_damaged(const struct dg_usage *usage)
{
    return usage->n_damaged;
}

/* ---- Turns ----------------------------------------------------------------------------------- */

bool dg_usage_has_changed(const struct dg_usage *usage)
{
    return usage->path && !dg_list_is_empty(&usage->changed);
}

bool dg_usage_begin(struct dg_usage *usage, struct dg_usage_write *write)
{
    if (usage->is_writing || !dg_usage_has_changed(usage))
        return false;
    *write =
        (struct dg_usage_write){.path = usage->path, .fd = usage->fd, .month = this_month(usage)};
    write->is_whole = usage->was_removed || usage->file_len > usage->whole_from;
    dg_buf_init(&write->counts, COUNTS_MAX);
    dg_buf_init(&write->lines, LINES_MAX);
    write->next = usage->all.next;
    if (write->is_whole)
        dg_list_splice_last(&usage->writing, &usage->changed);
    usage->is_writing = true;
    return true;
}

static enum dg_err copy(struct dg_usage_write *write, const struct dg_usage_count *count)
{
    return dg_buf_append(&write->counts, count, sizeof *count);
}

bool dg_usage_gather(struct dg_usage *usage, struct dg_usage_write *write)
{
    for (int n = 0; n < SLICE && !write->err && write->is_whole && write->next != &usage->all;
         n++) {
        const struct dg_usage_count *count =
            DG_LIST_ITEM(write->next, struct dg_usage_count, in_all);
        write->next = write->next->next;
        if (count->month >= write->month)
            write->err = copy(write, count);
    }
    for (int n = 0;
         n < SLICE && !write->err && !write->is_whole && !dg_list_is_empty(&usage->changed); n++) {
        struct dg_list *first = dg_list_pop_first(&usage->changed);
        dg_list_link_last(&usage->writing, first);
        write->err = copy(write, DG_LIST_ITEM(first, struct dg_usage_count, link));
    }
    write->is_cut = !write->is_whole && !dg_list_is_empty(&usage->changed);
    return !write->err && write->is_whole && write->next != &usage->all;
}

static enum dg_err print(struct dg_usage_write *write)
{
    enum dg_err err = dg_buf_append_cstr(&write->lines, write->is_whole ? header : "\n");
    for (size_t at = 0; at < write->counts.len && !err; at += sizeof(struct dg_usage_count)) {
        struct dg_usage_count count;
        memcpy(&count, write->counts.ptr + at, sizeof count);
        err = put_line(&write->lines, &count);
    }
    dg_buf_deinit(&write->counts);
    return err;
}

static enum dg_err append(struct dg_usage_write *write_, struct dg_error *error)
{
    struct dg_span rest = dg_buf_span(&write_->lines);
    while (rest.len) {
        ssize_t n = write(write_->fd, rest.ptr, rest.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return dg_error_errno(error, "cannot write %s", write_->path);
        rest = dg_span_sub(rest, (size_t)n, rest.len);
    }
    struct stat info;
    if (fdatasync(write_->fd) != 0 || fstat(write_->fd, &info) != 0)
        return dg_error_errno(error, "cannot sync %s", write_->path);
    if (info.st_nlink == 0)
        return dg_error_set(error, DG_ERR_NOT_FOUND, "%s was removed", write_->path);
    return DG_OK;
}

void dg_usage_run(struct dg_usage_write *write)
{
    if (!write->err)
        write->err = print(write);
    if (write->err)
        return;
    if (!write->is_whole) {
        write->err = append(write, &write->error);
        return;
    }
    write->fd = -1;
    write->err =
        dg_file_out_save(write->path, FILE_MODE, write->lines.ptr, write->lines.len, &write->error);
    if (write->err)
        return;
    write->fd = open(write->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (write->fd < 0)
        write->err = dg_error_errno(&write->error, "cannot open %s", write->path);
}

enum dg_err dg_usage_end(struct dg_usage *usage, struct dg_usage_write *write,
                         struct dg_error *error)
{
    enum dg_err err = write->err;
    if (err) {
        dg_error_set(error, err, "%s", dg_error_text(&write->error, err));
        dg_list_splice_last(&usage->changed, &usage->writing);
        if (write->is_whole)
            usage->whole_from = 2 * usage->file_len; /* lines can still be appended */
        else
            usage->was_removed = err == DG_ERR_NOT_FOUND;
    } else if (write->is_whole) {
        close(usage->fd);
        usage->fd = write->fd;
        usage->file_len = write->lines.len;
        usage->whole_from = GROWN + GROWTH * usage->file_len;
        usage->was_removed = false;
    } else {
        usage->file_len += write->lines.len;
    }
    if (!err)
        dg_list_unlink(&usage->writing); /* leaves them linked to each other */
    usage->is_writing = false;
    dg_buf_deinit(&write->counts);
    dg_buf_deinit(&write->lines);
    return err;
}
