/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What each key has used in the current month, in memory and in a file that survives restarts and
 * crashes.
 *
 *     err = dg_usage_open(&clock, "/var/lib/dragoman/usage", &error, &usage);
 *                                                                    a NULL path: memory only
 *     struct dg_usage_count *count = dg_usage_get(usage, DG_SPAN("alice"));    NULL: no memory
 *     dg_usage_add(usage, count, 1, 120);
 *
 *     struct dg_usage_write write;                      about once a second, a turn of writing:
 *     if (dg_usage_begin(usage, &write)) {              loop's thread: begins to copy the changes
 *         while (dg_usage_gather(usage, &write)) ...    loop's thread: each call copies for less
 *                                                       than a millisecond
 *         dg_usage_run(&write);                         any thread: prints, writes, syncs; slow
 *         dg_usage_end(usage, &write, &error);          loop's thread: a failure is retried later
 *     }
 *     while (dg_usage_has_changed(usage)) ...           one such turn per few thousand keys
 *     dg_usage_close(usage);                            after the last turn
 *
 * The file is a journal of lines, each with a checksum. A line holds a key's totals of a month, not
 * a difference, so a line that is lost, torn or written twice does no harm. A journal that has
 * grown is rewritten and replaced in one step. A crash of the process or the machine loses what was
 * counted since the last finished turn. Only one process may use the file (access/file_lock.h).
 *
 * Months follow the steady time of day (access/wall_time.h). Counts of a future month, which a
 * wrong clock caused, belong to the present month. */
#ifndef DG_ACCESS_USAGE_H
#define DG_ACCESS_USAGE_H

#include "access/key_file.h"
#include "base/memory/buf.h"
#include "base/memory/clock.h"
#include "base/memory/list.h"

struct dg_usage;

struct dg_usage_count {
    struct dg_list link;   /* in the list of counts that changed since the last turn */
    struct dg_list in_all; /* in the list of all counts */
    unsigned month;        /* year * 100 + month, UTC */
    uint64_t requests, characters;
    char name[DG_KEY_NAME_MAX + 1];
};

/* Reads the file, if it exists. Damaged lines are skipped and counted (dg_usage_damaged). */
enum dg_err dg_usage_open(const struct dg_clock *clock, const char *path, struct dg_error *error,
                          struct dg_usage **usage) DG_MUST_CHECK;
void dg_usage_close(struct dg_usage *usage); /* NULL is fine; writes nothing */

/* Returns a key's counts of this month, which start at zero; borrowed until close. At most 200,000
 * names. */
struct dg_usage_count *dg_usage_get(struct dg_usage *usage, struct dg_span name);
void dg_usage_add(struct dg_usage *usage, struct dg_usage_count *count, uint64_t requests,
                  uint64_t characters);
/* Mirror of add. For use in an earlier month, do not call it. */
void dg_usage_sub(struct dg_usage *usage, struct dg_usage_count *count, uint64_t requests,
                  uint64_t characters);

/* One turn of writing. */
struct dg_usage_write {
    const char *path;
    int fd;
    bool is_whole;              /* `lines` replaces the file */
    struct dg_buf counts;       /* copies of struct dg_usage_count */
    unsigned month;             /* a whole file leaves out older months */
    const struct dg_list *next; /* the next of all counts to copy */
    bool is_cut; /* more had changed than a turn copies; the next turn need not wait */
    struct dg_buf lines;
    enum dg_err err;
    struct dg_error error;
};

/* Returns false when there is nothing to write. */
bool dg_usage_begin(struct dg_usage *usage, struct dg_usage_write *write);
/* Returns true while there is more to copy. */
bool dg_usage_gather(struct dg_usage *usage, struct dg_usage_write *write);
bool dg_usage_has_changed(const struct dg_usage *usage); /* true while there are changes to write */
void dg_usage_run(struct dg_usage_write *write);
/* Frees what `write` holds and returns the outcome, with a sentence. */
enum dg_err dg_usage_end(struct dg_usage *usage, struct dg_usage_write *write,
                         struct dg_error *error) DG_MUST_CHECK;

/* Returns the time that determines the month, in seconds since 1970 (access/wall_time.h). */
uint64_t dg_usage_now(struct dg_usage *usage);

size_t dg_usage_damaged(const struct dg_usage *usage);

/* Reads a journal: calls `each` for every sound line, in order, and returns the number of damaged
 * lines. */
typedef void (*dg_usage_fn)(void *ctx, const struct dg_usage_count *count);
size_t dg_usage_parse(struct dg_span text, dg_usage_fn each, void *ctx);

#endif
