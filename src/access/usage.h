/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What each key has used in the current month, in memory and in a file that survives restart and
 * crash.
 *
 *     err = dg_usage_open(&clock, "/var/lib/dragoman/usage", &error, &usage);   NULL path: memory
 * only struct dg_usage_count *count = dg_usage_get(usage, DG_SPAN("alice"));   NULL: no memory
 *     dg_usage_add(usage, count, 1, 120);
 *
 *     struct dg_usage_write write;                      each second or so:
 *     if (dg_usage_begin(usage, &write)) {              loop's thread: begins to copy what changed,
 *         while (dg_usage_gather(usage, &write)) ...    the same, now or in later turns: some of
 * it, in less than a millisecond dg_usage_run(&write);                         any thread: prints,
 * writes and syncs; may take its time dg_usage_end(usage, &write, &error);            loop's
 * thread: what failed will be tried again
 *     }
 *     while (dg_usage_has_changed(usage)) ...           such a turn for each few thousand keys
 *     dg_usage_close(usage);                            after the last turn
 *
 * The file is a journal of lines, each with a checksum; a line holds a key's totals of a month, not
 * a difference, so that a line lost, torn or written twice does no harm. When the journal has grown
 * it is written anew and replaced in one step. What a crash of the process or the machine loses is
 * what was counted since the last turn that ended. One process has the file (access/lock.h).
 *
 * A month goes on when the time of day does so steadily (access/steady.h). What was counted in a
 * month that has not come yet, because the clock was wrong, counts for the present one. */
#ifndef DG_ACCESS_USAGE_H
#define DG_ACCESS_USAGE_H

#include "access/key_file.h"
#include "base/memory/buf.h"
#include "base/memory/clock.h"
#include "base/memory/list.h"

struct dg_usage;

struct dg_usage_count {
    struct dg_list link;   /* of those that changed since the last turn */
    struct dg_list in_all; /* of all */
    unsigned month;        /* year * 100 + month, UTC */
    uint64_t requests, characters;
    char name[DG_KEY_NAME_MAX + 1];
};

/* Reads what is there. A damaged line is left out and counted (dg_usage_damaged). */
enum dg_err dg_usage_open(const struct dg_clock *clock, const char *path, struct dg_error *error,
                          struct dg_usage **usage) DG_MUST_CHECK;
void dg_usage_close(struct dg_usage *usage); /* NULL is fine; writes nothing */

/* A key's counts of this month (zero when it begins), borrowed until close. At most 200,000 names.
 */
struct dg_usage_count *dg_usage_get(struct dg_usage *usage, struct dg_span name);
void dg_usage_add(struct dg_usage *usage, struct dg_usage_count *count, uint64_t requests,
                  uint64_t characters);
/* Mirror of add. What belongs to a month that is over is not taken off the new one. */
void dg_usage_sub(struct dg_usage *usage, struct dg_usage_count *count, uint64_t requests,
                  uint64_t characters);

/* One turn of writing. */
struct dg_usage_write {
    const char *path;
    int fd;
    bool is_whole;              /* `lines` replaces the file */
    struct dg_buf counts;       /* of struct dg_usage_count: copies */
    unsigned month;             /* older ones are left out of a whole one */
    const struct dg_list *next; /* of all, the one to copy next */
    bool is_cut; /* more had changed than a turn copies: the next one need not wait */
    struct dg_buf lines;
    enum dg_err err;
    struct dg_error error;
};

/* False when there is nothing to write. */
bool dg_usage_begin(struct dg_usage *usage, struct dg_usage_write *write);
/* True while there is more to copy. */
bool dg_usage_gather(struct dg_usage *usage, struct dg_usage_write *write);
bool dg_usage_has_changed(const struct dg_usage *usage); /* and is to be written */
void dg_usage_run(struct dg_usage_write *write);
/* Frees what `write` holds; the outcome, with a sentence. */
enum dg_err dg_usage_end(struct dg_usage *usage, struct dg_usage_write *write,
                         struct dg_error *error) DG_MUST_CHECK;

/* The time by which months are counted, in seconds since 1970 (access/steady.h). */
uint64_t dg_usage_now(struct dg_usage *usage);

size_t dg_usage_damaged(const struct dg_usage *usage);

/* What a journal says: calls `each` for every sound line, in order; returns how many were not. */
typedef void (*dg_usage_fn)(void *ctx, const struct dg_usage_count *count);
size_t dg_usage_parse(struct dg_span text, dg_usage_fn each, void *ctx);

#endif
