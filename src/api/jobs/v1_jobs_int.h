/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What the routes of jobs (v1_jobs.c) and of documents, which are jobs too (v1_documents.c),
 * share. */
#ifndef DG_API_JOBS_V1_JOBS_INT_H
#define DG_API_JOBS_V1_JOBS_INT_H

#include "api/http/call.h"
#include "api/jobs/bulk.h"
#include "api/v1/translate_options.h"

/* Returns true when there are bulk jobs; otherwise the call is answered. */
bool dg_v1_jobs_are_kept(struct dg_call *call);

/* Returns the call's job, if the caller may see it; otherwise the call is answered, with `unknown`
 * when there is none. */
struct dg_bulk_job *dg_v1_jobs_of(struct dg_call *call, const struct dg_failure *unknown);

/* Forgets the job, for all servers that share it, and answers. */
void dg_v1_jobs_remove(struct dg_call *call, struct dg_bulk_job *job);

/* Puts a value of a query or a form as JSON: numbers, switches and lists as they are, names and
 * phrases as strings. */
void dg_v1_jobs_put_option(struct dg_json_out *out, struct dg_span name, struct dg_span value);

/* Reads the options as each line will, so that mistakes in them are reported now. */
enum dg_err dg_v1_jobs_read_options(struct dg_call *call, struct dg_span options_json,
                                    struct dg_translate_options *options,
                                    struct dg_failure *failure) DG_MUST_CHECK;

/* Returns the failure for dg_bulk_add. */
struct dg_failure dg_v1_jobs_failure(struct dg_call *call, enum dg_err err,
                                     const struct dg_error *error);

#endif
