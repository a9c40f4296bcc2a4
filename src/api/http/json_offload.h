/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads what a client sent and writes its answer. Other threads do this for large messages and
 * answers, since parsing 2 MB of JSON takes 40 ms.
 *
 *     if (dg_json_offload_bytes(api, message, read, done, work))
 *         dg_ws_hold(ws);                           `done` comes later: take no message until then
 *     dg_json_offload_write(api, size, DG_JSON_OFFLOAD_WRITTEN, write, wrote, job);
 *                                                   an answer of about `size` bytes
 *
 * Among the large ones, the shortest is read or written first, and now and then the oldest. The
 * messages of one socket or request stay in order, because each is looked at only when the one
 * before is done. Loop's thread, except for `read` and `write` of large ones, which run on several
 * threads in no particular order. */
#ifndef DG_API_HTTP_JSON_OFFLOAD_H
#define DG_API_HTTP_JSON_OFFLOAD_H

#include "api/http/call.h"
#include "base/memory/span.h"

/* Takes from the bytes what `work` needs. Besides `work` it may use only the api's options. Returns
 * OK, or fills `failure`, whose strings live as long as `work`. */
typedef enum dg_err (*dg_json_offload_read_fn)(void *work, const struct dg_api *api,
                                               struct dg_span bytes, struct dg_failure *failure);

/* Called when the bytes were read, or could not be read: then `failure` says why. */
typedef void (*dg_json_offload_done_fn)(void *work, enum dg_err err,
                                        const struct dg_failure *failure);

/* Returns whether there are so many bytes that another thread should read them. */
bool dg_json_offload_is_much(const struct dg_api *api, struct dg_span bytes);

/* Returns false after reading the bytes at once and calling `done`. If there are many bytes, copies
 * them, reads them later, and returns true. `done` is called in every case. */
bool dg_json_offload_bytes(const struct dg_api *api, struct dg_span bytes,
                           dg_json_offload_read_fn read, dg_json_offload_done_fn done, void *work);

/* Writes the answer. It uses only `work`, which nobody else uses meanwhile. */
typedef enum dg_err (*dg_json_offload_write_fn)(void *work, struct dg_buf *answer);

/* Called when the answer is written, or there was no memory for it. It may take the answer's
 * memory. */
typedef void (*dg_json_offload_wrote_fn)(void *work, enum dg_err err, struct dg_buf *answer);

/* Amounts of bytes that take about 1 ms: to write as JSON, or to detect the language of. */
enum { DG_JSON_OFFLOAD_WRITTEN = 256 * 1024, DG_JSON_OFFLOAD_DETECTED = 16 * 1024 };

/* Returns false after writing at once and calling `wrote`. If `size` is `much` or more, writes
 * later, and returns true. `wrote` is called in every case. */
bool dg_json_offload_write(const struct dg_api *api, size_t size, size_t much,
                           dg_json_offload_write_fn write, dg_json_offload_wrote_fn wrote,
                           void *work);

#endif
