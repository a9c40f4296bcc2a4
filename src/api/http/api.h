/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What requests mean: routes, wire formats, errors, health, metrics. Give its handler to a server:
 *
 *     struct dg_api_opts opts = DG_API_OPTS_DEFAULT;
 *     err = dg_api_new(&opts, log, &error, &api);
 *     err = dg_server_new(loop, &server_opts, dg_api_handler(), api, log, &error, &server);
 *     dg_api_set_server(api, server);                for /readyz, /metrics and drain
 *     ...
 *     dg_api_free(api);                              after the server and the engine are freed
 *
 * One thread: the loop's. */
#ifndef DG_API_HTTP_API_H
#define DG_API_HTTP_API_H

#include "base/log/log.h"
#include "base/memory/err.h"
#include "base/memory/error.h"
#include "net/loop/server.h"

struct dg_access;
struct dg_api;
struct dg_engine;
struct dg_offload;

struct dg_api_opts {
    const char *version;             /* of the program; borrowed */
    bool access_log;                 /* one line at level info for each request */
    const char *cors_origin;         /* "*", one origin, or "" for no CORS headers; borrowed */
    size_t texts_max;                /* texts of one request */
    size_t characters_max;           /* of one text, where an API has such a limit; 0: none */
    size_t beam_max, min_length_max; /* that a request may ask for; 0: as much as there can be */
    bool ops_loopback;               /* who sits at this machine may look without a key (admin.h) */
};

#define DG_API_OPTS_DEFAULT                                                                        \
    {                                                                                              \
        .version = "", .access_log = true, .cors_origin = "*", .texts_max = 1000                   \
    }

/* `opts` is copied; `log` is borrowed and may be NULL. */
enum dg_err dg_api_new(const struct dg_api_opts *opts, struct dg_log *log, struct dg_error *error,
                       struct dg_api **api) DG_MUST_CHECK;
void dg_api_free(struct dg_api *api);

/* Its `user` is the struct dg_api. */
const struct dg_server_handler *dg_api_handler(void);

void dg_api_set_server(struct dg_api *api, struct dg_server *server);

/* Who translates; borrowed until the server is closed. Until it is set, /readyz says 503. Somebody
 * has to call dg_engine_poll on the loop's thread when the engine wakes. */
void dg_api_set_engine(struct dg_api *api, struct dg_engine *engine);

/* Who may do what (access/access.h); borrowed until the api is freed. Until it is set, everybody
 * may. */
void dg_api_set_access(struct dg_api *api, struct dg_access *access);

/* Who does what would hold the loop: one thread, borrowed; NULL once it is closed, since documents
 * may end behind that. */
void dg_api_set_threads(struct dg_api *api, struct dg_offload *threads);

/* The same for what takes milliseconds: to read large bodies, to find languages; several threads.
 * Where there is none, the loop does it. */
void dg_api_set_readers(struct dg_api *api, struct dg_offload *readers);

/* Where bulk jobs are kept; without this there are none. After the engine is set. */
struct dg_bulk_opts;
enum dg_err dg_api_open_bulk(struct dg_api *api, const struct dg_bulk_opts *opts, uv_loop_t *loop,
                             struct dg_error *error) DG_MUST_CHECK;

/* Where glossaries are kept, and by whom; without this in memory, by all. Before the bulk jobs are
 * opened. */
struct dg_glossaries_opts;
enum dg_err dg_api_open_glossaries(struct dg_api *api, const struct dg_glossaries_opts *opts,
                                   struct dg_error *error) DG_MUST_CHECK;

/* Where documents are kept (documents.h); without this none are taken. */
struct dg_documents_opts;
enum dg_err dg_api_open_documents(struct dg_api *api, const struct dg_documents_opts *opts,
                                  struct dg_error *error) DG_MUST_CHECK;

/* To be called after each dg_engine_poll; once a second; and once a minute or so. */
void dg_api_turn(struct dg_api *api);
void dg_api_second(struct dg_api *api);
void dg_api_tick(struct dg_api *api);

/* The server is about to drain: answers that have no end of their own end now. */
void dg_api_drain(struct dg_api *api);

/* The process ends: what is under way on other threads is told to, so that closing them does not
 * wait. */
void dg_api_stop(struct dg_api *api);

#endif
