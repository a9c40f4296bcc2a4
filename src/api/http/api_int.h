/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The inside of struct dg_api and the route table, for the files of this folder. */
#ifndef DG_API_HTTP_API_INT_H
#define DG_API_HTTP_API_INT_H

#include "api/http/documents.h"
#include "api/http/api.h"
#include "api/http/call.h"
#include "api/http/event_id.h"
#include "api/http/gate.h"
#include "api/jobs/bulk.h"
#include "api/ops/admin.h"
#include "api/ops/live.h"
#include "api/ops/metrics.h"
#include "api/v1/glossaries.h"
#include "api/v1/job.h"
#include "api/v1/languages.h"
#include "text/language/langnames.h"
#include "text/sentence/segment.h"

#include "base/memory/allowance.h"
#include "base/memory/clock.h"
#include "base/memory/list.h"
#include "net/loop/offload.h"

struct dg_api {
    struct dg_api_opts opts;
    struct dg_log *log;
    struct dg_server *server;             /* NULL until set */
    struct dg_engine *engine;             /* NULL until set */
    struct dg_offload *threads, *readers; /* NULL until set */
    const struct dg_admin_ops *admin;     /* NULL until set */
    void *admin_user;
    struct dg_bulk *bulk;        /* bulk jobs and documents; NULL when the server has neither */
    bool has_jobs;               /* it has bulk jobs */
    size_t bulk_bytes_max;       /* the most bytes of one upload */
    struct dg_list uploads;      /* calls whose bodies may be large */
    struct dg_list file_uploads; /* files that go to disk as they arrive (upload.h) */
    struct dg_list bodies; /* calls with a body, where their memory is bounded (body_memory.h) */
    struct dg_list event_streams; /* calls that are answered by server-sent events */
    uint64_t n_bodies_refused;
    struct dg_list scorings;    /* requests for scores, waiting and under way */
    struct dg_list generations; /* list of struct dg_generation_job, waiting and under way */
    struct dg_list readings;    /* readings (v1_read.c), waiting and under way */
    struct dg_jobs jobs;
    struct dg_clock clock;
    uint64_t started_ns;
    struct dg_documents documents; /* files on their way from and to clients */
    struct dg_glossaries glossaries;
    uint64_t deepl_characters; /* characters translated through DeepL's API since the start */
    struct dg_metrics metrics;
    struct dg_access *access; /* NULL until set; without it everybody may do everything */
    struct dg_languages_cache languages;
    struct dg_segmenter *segmenter; /* for APIs that split texts into sentences; NULL until the
                                       first use */
    struct dg_langnames *langnames; /* the names of all languages, for chats; NULL until the first
                                       use */
    uint64_t refusals[DG_N_REFUSALS];
    uint64_t n_local_verdicts;       /* charges that no shared count decided */
    struct dg_live live;             /* for the viewers of /ops */
    char instance[17];               /* identifies this process; hexadecimal, random */
    unsigned char random[1024];      /* a supply of random bytes for request ids */
    size_t random_used;              /* bytes of `random` that are used up */
    struct dg_buf message, event_id; /* memory of dg_api_message and dg_api_event_id */
};

/* Returns an empty buffer for one message of a stream: a server-sent event, a line, or a
 * WebSocket's message. All messages share its memory, so that nothing is allocated per token: one
 * is finished, and dg_api_message_sent called, before the next begins. */
struct dg_buf *dg_api_message(struct dg_api *api);
void dg_api_message_sent(struct dg_api *api);

/* Writes the id of an event that is sent now; *id is valid until the next one. DG_ERR_NOMEM,
 * DG_ERR_LIMIT. */
enum dg_err dg_api_event_id(struct dg_api *api, const struct dg_event_ids *ids,
                            struct dg_span *id) DG_MUST_CHECK;

struct dg_route {
    enum dg_http_method method; /* a route for GET answers HEAD too */
    const char *path;           /* a segment may be "*"; call->arg is what the first "*" matches */
    const char *name;           /* the route's name in metrics and in the log */
    void (*handle)(struct dg_call *call);
    bool is_admin; /* the route is for administrators only (admin.h) */
    bool is_probe; /* balancers ask all the time; see log_call */
    /* Called before the body is read. It may change the limit of the body, or answer at once.
     * NULL: nothing is called. */
    void (*prepare)(struct dg_call *call);
    const struct dg_dialect *dialect; /* NULL: our own API */
    enum dg_gate gate;                /* who may call it, and how it is counted */
};

/* Returns whether the path is the route's; *arg is what "*" matches (empty when the route has
 * none). */
bool dg_route_matches(const struct dg_route *route, struct dg_span path, struct dg_span *arg);

/* Returns all routes; sets *n, unless `n` is NULL, to their number. */
const struct dg_route *dg_routes(size_t *n);

/* Frees reading requests whose engine no longer exists and will not report their end. */
void dg_api_free_readings(struct dg_list *all);

/* Makes scoring requests end after the pair under way. */
void dg_api_stop_scoring(struct dg_api *api);

/* Counts the memory of scoring requests (opts.buffers). */
void dg_api_count_scorings(struct dg_api *api);

void dg_api_healthz(struct dg_call *call);
void dg_api_readyz(struct dg_call *call);
void dg_api_metrics(struct dg_call *call);
void dg_api_page(struct dg_call *call);
void dg_api_page_file(struct dg_call *call);
void dg_api_ops(struct dg_call *call);
void dg_api_docs(struct dg_call *call);
void dg_api_docs_slash(struct dg_call *call);
void dg_api_v1_admin_live(struct dg_call *call);
void dg_api_v1_admin_status(struct dg_call *call);
void dg_api_v1_admin_load(struct dg_call *call);
void dg_api_v1_admin_reload_model(struct dg_call *call);
void dg_api_v1_admin_unload(struct dg_call *call);
void dg_api_v1_admin_log_level(struct dg_call *call);
void dg_api_v1_admin_reload(struct dg_call *call);
void dg_api_v1_admin_drain(struct dg_call *call);
void dg_api_v1_detect(struct dg_call *call);
void dg_api_v1_generate(struct dg_call *call);
void dg_api_v1_fill(struct dg_call *call);
void dg_api_v1_classify(struct dg_call *call);
void dg_api_v1_tag(struct dg_call *call);
void dg_api_v1_answer(struct dg_call *call);
void dg_api_v1_embed(struct dg_call *call);
void dg_api_v1_jobs_prepare(struct dg_call *call);
void dg_api_v1_jobs_add(struct dg_call *call);
void dg_api_v1_jobs(struct dg_call *call);
void dg_api_v1_job(struct dg_call *call);
void dg_api_v1_job_remove(struct dg_call *call);
void dg_api_v1_job_cancel(struct dg_call *call);
void dg_api_v1_job_result(struct dg_call *call);
void dg_api_v1_documents_prepare(struct dg_call *call);
void dg_api_v1_documents_add(struct dg_call *call);
void dg_api_v1_documents(struct dg_call *call);
void dg_api_v1_document(struct dg_call *call);
void dg_api_v1_document_remove(struct dg_call *call);
void dg_api_v1_document_result(struct dg_call *call);
void dg_api_v1_glossaries_add(struct dg_call *call);
void dg_api_v1_glossaries(struct dg_call *call);
void dg_api_v1_glossary(struct dg_call *call);
void dg_api_v1_glossary_replace(struct dg_call *call);
void dg_api_v1_glossary_remove(struct dg_call *call);
void dg_api_v1_score(struct dg_call *call);
void dg_api_v1_translate(struct dg_call *call);
void dg_api_v1_stream(struct dg_call *call);
void dg_api_v1_models(struct dg_call *call);
void dg_api_v1_model(struct dg_call *call);
void dg_api_v1_languages(struct dg_call *call);
void dg_api_v1_usage(struct dg_call *call);
void dg_api_any_translate(struct dg_call *call); /* POST /translate, which many APIs share */

#endif
