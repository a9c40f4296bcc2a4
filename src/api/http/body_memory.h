/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The memory for the bodies of requests: decides whether a request may send its body. The memory of
 * all buffers (of connections, jobs and scores: dg_api_opts.buffers) is limited, and the bodies of
 * one client may take at most half of what others leave, so that no client can use up all of it by
 * sending slowly.
 *
 *     if (!dg_body_memory_open(call)) return;               the headers are read; it has answered
 *     if (!dg_body_memory_admit(call, bytes)) ... refused with 503 ...
 *     dg_body_memory_end(call);                             the call is over
 *
 * One thread: the loop's. */
#ifndef DG_API_HTTP_BODY_MEMORY_H
#define DG_API_HTTP_BODY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

struct dg_call;

/* Lowers the maximum of this call's body to what one client may have when no other one sends a
 * body. False when all the memory of bodies is taken; the call was then answered with 503. */
bool dg_body_memory_open(struct dg_call *call);

/* Returns whether the body may take `bytes` in all. */
bool dg_body_memory_admit(struct dg_call *call, size_t bytes);

void dg_body_memory_end(struct dg_call *call);

#endif
