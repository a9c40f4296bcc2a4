/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The options of dragomand. To add one: a field here, a row in options.c, a paragraph in
 * conf/dragomand.conf; help, manuals, environment, dump and checks follow from the row.
 *
 *     struct dg_opt_set *set = NULL;
 *     err = dg_options_read(argc, argv, environ, &error, &set);
 *     const struct dg_options *options = dg_opt_values(set);
 *     dg_opt_set_free(set); */
#ifndef DG_DAEMON_OPTIONS_H
#define DG_DAEMON_OPTIONS_H

#include "base/option/opt.h"
#include "net/loop/server.h"

enum dg_cache_scope { DG_CACHE_SCOPE_ALL, DG_CACHE_SCOPE_KEY };

struct dg_options {
    /* What the program is to do. These options are flags only. */
    int help;
    bool version, check_config, dump_config;
    const char *config;

    /* Network. */
    struct dg_opt_list listen;
    const char *agent_listen;
    const char *admin_socket;
    bool ops_loopback;
    const char *url_prefix;
    const char *cors_origin;
    struct dg_opt_list trusted_proxies;
    int64_t max_connections, max_connections_per_client;
    uint64_t max_head, max_url, max_body;
    int64_t max_headers, max_characters, max_texts, max_alternatives;
    int64_t idle_timeout_ms, head_timeout_ms, body_timeout_ms, body_limit_ms, write_timeout_ms;
    int64_t drain_timeout_ms;

    /* Access. */
    const char *keys_file, *keys_shared_secret_file, *usage_file, *suggestions;
    bool require_key;
    int64_t anonymous_requests, anonymous_requests_hour, anonymous_requests_day;
    int64_t anonymous_characters;
    int anonymous_priority; /* enum dg_key_priority */

    /* Models and work. */
    struct dg_opt_list models_dir;
    const char *language_data;
    bool require_signed_models, shortlist;
    int kv_type;      /* enum dg_net_kv */
    int compute_type; /* enum dg_net_type */
    struct dg_opt_list trusted_keys;
    bool pin_workers;
    int numa; /* 0: off */
    int64_t helpers;
    int64_t threads, slots, max_sentences, source_max, target_max, prompt_max, max_beam,
        max_min_length;
    int64_t batch_delay_ms;
    uint64_t memory_limit;
    int64_t model_idle_ms, stall_limit_ms;
    bool preload;
    uint64_t cache_size;
    int cache_scope; /* enum dg_cache_scope */

    /* What servers share. */
    const char *redis, *redis_sentinel, *redis_user, *redis_password_file;
    bool redis_tls;
    const char *redis_ca_file, *redis_certificate_file, *redis_key_file;
    int64_t redis_timeout_ms, redis_keep_ms;

    /* Bulk jobs. */
    const char *jobs_dir;
    bool jobs_shared;
    uint64_t jobs_upload, jobs_space;
    int64_t jobs_max, jobs_retention_ms;

    /* Glossaries. */
    const char *glossaries_dir;
    int glossaries; /* enum dg_glossaries_whose */
    int64_t glossaries_max;
    uint64_t glossaries_space;

    /* Documents. */
    const char *documents_dir;
    uint64_t documents_space, max_document;

    /* Log. */
    int log_level;  /* enum dg_log_level */
    int log_format; /* enum dg_log_format */
    const char *log_file;
    bool access_log;

    /* Process. */
    const char *user;
    bool core_dumps;
};

/* A section `[model fr-en]`. */
struct dg_model_options {
    const char *path, *source, *target, *formal, *informal, *template, *stop, *judges;
};

extern const struct dg_opt_table dg_options_table;

/* Reads flags, then the file that they name (or the default one, if it exists), then the
 * environment, and then checks the conditions. With --help or --version only flags are read. */
enum dg_err dg_options_read(int argc, char *const *argv, char *const *env, struct dg_error *error,
                            struct dg_opt_set **set) DG_MUST_CHECK;

/* The server's options. The networks of trusted-proxies are parsed into `networks`, which has room
 * for DG_OPTIONS_NETWORKS; the result borrows it and the texts of `options`. */
enum { DG_OPTIONS_NETWORKS = 64 };
enum dg_err dg_options_server(const struct dg_options *options, struct dg_network *networks,
                              struct dg_error *error, struct dg_server_opts *server) DG_MUST_CHECK;

#endif
