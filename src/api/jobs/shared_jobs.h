/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Bulk jobs that several servers work on together. A table in Redis (net/loop/redis_table.h), of
 * which each server has a copy, lists the jobs: its rows are the texts of ID.json, and the row ID.p
 * says how far a job has come. Their files lie in a folder that all servers mount. A job is cut
 * into parts of some hundred lines, which are the entries of a Redis stream: whoever is idle takes
 * one, works on it as on a job of its own, and writes ID.pN, whole or not at all. Then it counts
 * the part and acknowledges it, in one step. A part that a server had taken before it died is
 * claimed by another server after CLAIM_MS. Whoever counts the last part puts ID.out together from
 * all of them, and only then acknowledges it.
 *
 *     err = dg_shared_jobs_open(bulk, loop, redis);     with bulk->opts.redis
 *     dg_shared_jobs_submit(bulk, job, parts, fn, ctx);
 *     dg_shared_jobs_end(bulk, id, DG_BULK_CANCELLED, false, fn, ctx);
 *     dg_shared_jobs_turn(bulk, tries_again);           moves parts on
 *     dg_shared_jobs_close(bulk);
 *
 * The loop's thread. */
#ifndef DG_API_JOBS_SHARED_JOBS_H
#define DG_API_JOBS_SHARED_JOBS_H

#include "api/jobs/bulk_int.h"
#include "net/loop/redis_table.h"

struct dg_shared_jobs;

void dg_shared_jobs_open(struct dg_bulk *bulk, uv_loop_t *loop, struct dg_redis *redis);
void dg_shared_jobs_close(struct dg_bulk *bulk);
void dg_shared_jobs_free(struct dg_shared_jobs *shared); /* NULL is fine */

/* Returns true when this server knows all jobs (dg_redis_table_is_current). */
bool dg_shared_jobs_are_current(const struct dg_shared_jobs *shared);

/* Writes where a job's input is cut: "NUMBER BEGIN END LINES-BEFORE;" for each part. Any thread. */
enum dg_err dg_shared_jobs_cut(struct dg_span body, size_t n_lines, struct dg_buf *parts,
                               size_t *n_parts) DG_MUST_CHECK;

/* Makes the job known to all servers; its files exist already. DG_ERR_EXISTS: it is known
 * already. If fn gets DG_SHARED_JOBS_OTHER as well, another job has the same idempotency key,
 * and this server knows that job by now. */
enum { DG_SHARED_JOBS_OTHER = 1 };
void dg_shared_jobs_submit(struct dg_bulk *bulk, struct dg_bulk_job *job, struct dg_span parts,
                           dg_redis_table_fn fn, void *ctx);

/* Ends the job in this state, or forgets it and its files, for all servers. */
void dg_shared_jobs_end(struct dg_bulk *bulk, const char *id, enum dg_bulk_state state,
                        bool removes, dg_redis_table_fn fn, void *ctx);

void dg_shared_jobs_turn(struct dg_bulk *bulk, bool tries_again);

/* A part has ended, in success or failure (dg_bulk_finish). */
void dg_shared_jobs_part_over(struct dg_bulk_job *part);

/* ID.pNNNNNN; DG_ERR_RANGE. Any thread. */
enum dg_err dg_shared_jobs_part_path(const struct dg_bulk_job *job, unsigned number,
                                     char path[DG_BULK_PATH_MAX]) DG_MUST_CHECK;

#endif
