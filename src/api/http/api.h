/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The api: routes, wire formats, errors, health, metrics. Give its handler to a server:
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
#include "base/memory/error.h"
#include "net/loop/server.h"

struct dg_access;
struct dg_allowance;
struct dg_api;
struct dg_engine;
struct dg_offload;

struct dg_api_opts {
    const char *version;     /* the program's version; borrowed */
    bool access_log;         /* writes one line at level info for each request */
    const char *cors_origin; /* "*", one origin, or "" for no CORS headers; borrowed */
    size_t texts_max;        /* the most texts in one request */
    int alternatives_max;    /* the most alternatives that LibreTranslate's clients may ask for */
    /* the file that suggestions are appended to; NULL or "": they are not kept; borrowed */
    const char *suggestions;
    size_t characters_max; /* the most characters in one text, for APIs that have such a limit; 0:
                              no limit */
    size_t beam_max, min_length_max; /* the largest values that a request may ask for; 0: no further
                                        limit */
    struct dg_allowance *buffers;    /* borrowed; the memory of connections, jobs and scores, which
                                        servers and jobs use too; NULL: no limit */
    bool ops_loopback; /* clients on this machine may see the operators' page without a key
                          (admin.h) */
};

#define DG_API_OPTS_DEFAULT                                                                        \
    {                                                                                              \
        .version = "", .access_log = true, .cors_origin = "*", .texts_max = 1000,                  \
        .alternatives_max = 15                                                                     \
    }

/* `opts` is copied; `log` is borrowed and may be NULL. */
enum dg_err dg_api_new(const struct dg_api_opts *opts, struct dg_log *log, struct dg_error *error,
                       struct dg_api **api) DG_MUST_CHECK;
void dg_api_free(struct dg_api *api);

/* The handler's `user` is the struct dg_api. */
const struct dg_server_handler *dg_api_handler(void);

void dg_api_set_server(struct dg_api *api, struct dg_server *server);

/* Sets the engine, borrowed until the server is closed. Until it is set, /readyz answers 503. The
 * caller calls dg_engine_poll on the loop's thread when the engine wakes. */
void dg_api_set_engine(struct dg_api *api, struct dg_engine *engine);

/* Sets the access rules (access/access.h), borrowed until the api is freed. Until they are set,
 * everybody may do everything. */
void dg_api_set_access(struct dg_api *api, struct dg_access *access);

/* Sets the one thread for work that would block the loop; borrowed. Set NULL once it is closed,
 * since documents may end after that. */
void dg_api_set_threads(struct dg_api *api, struct dg_offload *threads);

/* Sets the several threads for work of some milliseconds: reading large bodies, detecting
 * languages. Without them the loop does it. */
void dg_api_set_readers(struct dg_api *api, struct dg_offload *readers);

/* Opens the folder of bulk jobs; without this call there are no bulk jobs. Set the engine first. */
struct dg_bulk_opts;
enum dg_err dg_api_open_bulk(struct dg_api *api, const struct dg_bulk_opts *opts, uv_loop_t *loop,
                             struct dg_error *error) DG_MUST_CHECK;

/* Opens the folder of glossaries, and sets who may make them; without this call they are in memory,
 * and everybody may make them. Call it before the bulk jobs are opened. */
struct dg_glossaries_opts;
enum dg_err dg_api_open_glossaries(struct dg_api *api, const struct dg_glossaries_opts *opts,
                                   struct dg_error *error) DG_MUST_CHECK;

/* Opens the folder of documents (documents.h); without this call none are accepted. */
struct dg_documents_opts;
enum dg_err dg_api_open_documents(struct dg_api *api, const struct dg_documents_opts *opts,
                                  struct dg_error *error) DG_MUST_CHECK;

/* Call dg_api_turn after each dg_engine_poll, dg_api_second once a second, and dg_api_tick about
 * once a minute. */
void dg_api_turn(struct dg_api *api);
void dg_api_second(struct dg_api *api);
void dg_api_tick(struct dg_api *api);

/* Ends the answers that would never end by themselves, because the server is about to drain. */
void dg_api_drain(struct dg_api *api);

/* Writes the line that answers HAProxy's agent-check: "up ready 50%", with the server's free
 * capacity as a weight, or "up drain". */
void dg_api_capacity(struct dg_api *api, char *line, size_t cap);

/* Stops the work on other threads, because the process ends, so that closing them does not wait. */
void dg_api_stop(struct dg_api *api);

#endif
