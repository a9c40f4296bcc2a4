/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragomand's option table, and the order in which its sources are read. An option exists only if
 * it has an effect. */
#include "daemon/options.h"

#include "access/key_file.h"
#include "access/quota.h"
#include "api/v1/glossaries.h"
#include "base/log/log.h"
#include "daemon/signed_models.h"
#include "engine/models/translation_prompt.h"
#include "engine/models/langs.h"
#include "model/calibration.h"
#include "net/loop/address.h"
#include "net/loop/redis.h"
#include "network/net.h"

#include <stdio.h>
#include <unistd.h>

#ifndef DG_SYSCONFDIR
#define DG_SYSCONFDIR "/etc"
#endif

static const char *const level_words[] = {
#define DG_LOG_LEVEL_WORD(level, name, priority) [level] = name,
    DG_LOG_LEVELS(DG_LOG_LEVEL_WORD)
#undef DG_LOG_LEVEL_WORD
        NULL};
static const char *const format_words[] = {
    [DG_LOG_LOGFMT] = "logfmt", [DG_LOG_JSON] = "json", NULL};

static const char *const auto_words[] = {"auto", NULL};
static const char *const numa_words[] = {"off", "auto", NULL};
static const char *const priority_words[] = {
    [DG_KEY_INTERACTIVE] = "interactive", [DG_KEY_NORMAL] = "normal", [DG_KEY_BULK] = "bulk", NULL};

static const char *const scope_words[] = {
    [DG_CACHE_SCOPE_ALL] = "all", [DG_CACHE_SCOPE_KEY] = "key", NULL};
static const char *const whose_words[] = {[DG_GLOSSARIES_NOBODY] = "nobody",
                                          [DG_GLOSSARIES_ADMINS] = "admins",
                                          [DG_GLOSSARIES_KEYS] = "keys",
                                          [DG_GLOSSARIES_ALL] = "all",
                                          NULL};

#define T struct dg_options
enum { KIB = 1024, MIB = 1024 * 1024, SECOND = 1000, HOUR = 3600 * 1000 };

/* clang-format off */
static const struct dg_opt_row rows[] = {
    DG_OPT_HELP(T, help),
    {DG_OPT_BOOL(T, version), "version", .letter = 'V', .flags = DG_OPT_COMMAND_LINE,
     .help = "print the versions of this program and its libraries"},
    {DG_OPT_PATH(T, config), "config", .letter = 'c', .flags = DG_OPT_COMMAND_LINE,
     .def = DG_SYSCONFDIR "/dragoman/dragomand.conf",
     .help = "the configuration file; the default one may be missing; empty reads none"},
    {DG_OPT_BOOL(T, check_config), "check-config", .flags = DG_OPT_COMMAND_LINE,
     .help = "validate flags, environment and configuration file, look whether the files and folders that "
             "they name can be used, then exit"},
    {DG_OPT_BOOL(T, dump_config), "dump-config", .flags = DG_OPT_COMMAND_LINE,
     .help = "print all values as a configuration file, then exit"},

    {DG_OPT_ADDRESSES(T, listen), "listen", .heading = "Network", .min = 1, .max = 16,
     .def = "127.0.0.1:8090",
     .help = "addresses to serve on: 127.0.0.1:8090, [::1]:8090 or unix:/path; sockets handed over by "
             "systemd replace the default"},
    {DG_OPT_STRING(T, agent_listen), "agent-listen", .def = "", .max = 120, .unit = "ADDRESS",
     .help = "the address where HAProxy's agent-check asks for this server's free capacity, as a "
             "weight, and whether it is draining: 127.0.0.1:8190; empty for none"},
    {DG_OPT_PATH(T, admin_socket), "admin-socket", .def = "",
     .help = "a Unix socket for administrators, which only this account and root can use; empty for none"},
    {DG_OPT_BOOL(T, ops_loopback), "ops-loopback", .def = "yes",
     .help = "let programs that connect directly from this machine look at /ops without a key"},
    {DG_OPT_STRING(T, url_prefix), "url-prefix", .def = "",
     .help = "the path under which a reverse proxy shows this server, such as /translate; it is "
             "removed from the paths of requests, and requests without it are refused"},
    {DG_OPT_STRING(T, cors_origin), "cors-origin", .def = "*",
     .help = "the web origin whose pages may call this server: one origin, * for all, empty for none"},
    {DG_OPT_STRINGS(T, trusted_proxies), "trusted-proxies", .def = "", .max = DG_OPTIONS_NETWORKS,
     .unit = "NETWORK,...",
     .help = "networks of proxies whose X-Forwarded-For and Forwarded headers are believed, such as "
             "127.0.0.1, 10.0.0.0/8 or unix:"},
    {DG_OPT_INT(T, max_connections), "max-connections", .min = 1, .max = 1000000, .def = "10000",
     .help = "connections open at the same time"},
    {DG_OPT_INT(T, max_connections_per_client), "max-connections-per-client", .min = 0, .max = 1000000,
     .def = "0", .help = "connections of one client address; 0 for no such limit"},
    {DG_OPT_SIZE(T, max_head), "max-head", .min = KIB, .max = MIB, .def = "16KiB",
     .help = "request line and headers together"},
    {DG_OPT_SIZE(T, max_url), "max-url", .min = 256, .max = MIB, .def = "8KiB",
     .help = "the request line's target"},
    {DG_OPT_INT(T, max_headers), "max-headers", .min = 8, .max = 1000, .def = "100",
     .help = "header lines of one request"},
    {DG_OPT_SIZE(T, max_body), "max-body", .min = KIB, .max = 1024 * MIB, .def = "2MiB",
     .help = "body of one request"},
    {DG_OPT_INT(T, max_characters), "max-characters", .min = 0, .max = 1000000000, .def = "0",
     .help = "characters of one text; 0 for no limit but max-body"},
    {DG_OPT_INT(T, max_texts), "max-texts", .min = 1, .max = 1000, .def = "1000",
     .help = "texts of one request"},
    {DG_OPT_INT(T, max_alternatives), "max-alternatives", .min = 0, .max = DG_BEAM_MAX - 1, .def = "15",
     .help = "alternatives that LibreTranslate's clients may ask for"},
    {DG_OPT_PATH(T, suggestions), "suggestions", .def = "",
     .help = "the file to which LibreTranslate's clients add better translations; empty to take none"},
    {DG_OPT_DURATION(T, idle_timeout_ms), "idle-timeout", .min = 100, .max = HOUR, .def = "75s",
     .help = "how long a connection may stay open between requests"},
    {DG_OPT_DURATION(T, head_timeout_ms), "head-timeout", .min = 100, .max = HOUR, .def = "10s",
     .help = "time from the first byte of a request to the end of its headers"},
    {DG_OPT_DURATION(T, body_timeout_ms), "body-timeout", .min = 100, .max = HOUR, .def = "20s",
     .help = "time for a request's body, on top of one second for each KiB received"},
    {DG_OPT_DURATION(T, body_limit_ms), "body-limit", .min = 100, .max = 24 * HOUR, .def = "10min",
     .help = "time for a request's body in all, however steadily it arrives"},
    {DG_OPT_DURATION(T, write_timeout_ms), "write-timeout", .min = 100, .max = HOUR, .def = "30s",
     .help = "how long a client may leave an answer unread"},
    {DG_OPT_DURATION(T, drain_timeout_ms), "drain-timeout", .min = 0, .max = HOUR, .def = "30s",
     .flags = DG_OPT_RELOADABLE,
     .help = "how long running requests may take when the server is asked to stop"},

    {DG_OPT_PATH(T, keys_file), "keys-file", .heading = "Access", .def = "",
     .flags = DG_OPT_RELOADABLE,
     .help = "the file of API keys that 'dragoman keys' writes, read again at each reload; empty for no keys"},
    {DG_OPT_BOOL(T, require_key), "require-key", .def = "no", .flags = DG_OPT_RELOADABLE,
     .help = "refuse requests without a key"},
    {DG_OPT_PATH(T, keys_shared_secret_file), "keys-shared-secret-file", .def = "",
     .help = "a file whose first line, at least 32 bytes, is the same on all servers that share "
             "redis: with it they share their keys, too; empty: each server has the keys of its own keys-file"},
    {DG_OPT_PATH(T, usage_file), "usage-file", .def = "",
     .help = "the file that records what keys have used this month; empty for keys-file with .usage appended"},
    {DG_OPT_INT(T, anonymous_requests), "anonymous-requests", .min = 0, .max = DG_QUOTA_LIMIT_MAX, .def = "0",
     .flags = DG_OPT_RELOADABLE, .unit = "PER-MINUTE",
     .help = "requests without a key from one address, in a minute; 0 for no limit"},
    {DG_OPT_INT(T, anonymous_requests_hour), "anonymous-requests-hour", .min = 0, .max = DG_QUOTA_LONG_MAX,
     .def = "0", .flags = DG_OPT_RELOADABLE, .unit = "PER-HOUR",
     .help = "requests without a key from one address, in an hour; 0 for no limit"},
    {DG_OPT_INT(T, anonymous_requests_day), "anonymous-requests-day", .min = 0, .max = DG_QUOTA_LONG_MAX,
     .def = "0", .flags = DG_OPT_RELOADABLE, .unit = "PER-DAY",
     .help = "requests without a key from one address, in a day; 0 for no limit"},
    {DG_OPT_INT(T, anonymous_characters), "anonymous-characters", .min = 0, .max = DG_QUOTA_LIMIT_MAX,
     .def = "0", .flags = DG_OPT_RELOADABLE, .unit = "PER-MINUTE",
     .help = "characters without a key from one address, in a minute; 0 for no limit"},
    {DG_OPT_ENUM(T, anonymous_priority), "anonymous-priority", .words = priority_words, .def = "interactive",
     .flags = DG_OPT_RELOADABLE, .help = "the highest priority that requests without a key may ask for"},

    {DG_OPT_PATHS(T, models_dir), "models-dir", .heading = "Models", .def = "", .max = 16,
     .flags = DG_OPT_RELOADABLE,
     .help = "directories whose sub-directories are models, named by language pair such as "
             "fr-en; if two have the same name, the first counts"},
    {DG_OPT_BOOL(T, require_signed_models), "require-signed-models", .def = "no", .flags = DG_OPT_RELOADABLE,
     .help = "load only models whose files match what a trusted key signed"},
    {DG_OPT_PATHS(T, trusted_keys), "trusted-keys", .def = "", .max = DG_SIGNED_MODELS_KEYS_MAX,
     .flags = DG_OPT_RELOADABLE, .help = "minisign public key files for require-signed-models"},
    {DG_OPT_PATH(T, language_data), "language-data", .def = "",
     .help = "data to tell languages apart, for requests that do not name their source; empty for the "
             "installed one"},
    {DG_OPT_INT(T, threads), "threads", .min = 0, .max = 256, .def = "auto", .words = auto_words,
     .help = "workers that translate; auto, or 0, for one on each core that the server may use"},
    {DG_OPT_BOOL(T, pin_workers), "pin-workers", .def = "no",
     .help = "keep each worker on a core of its own: for a machine that does nothing else"},
    {DG_OPT_ENUM(T, numa), "numa", .words = numa_words, .def = "auto",
     .help = "on a machine with several memory nodes, bind each worker to the cores of one, and keep a "
             "copy of the weights in each"},
    {DG_OPT_INT(T, helpers), "helpers", .min = 0, .max = 255, .def = "3",
     .help = "how many workers without work help another with its large matrix products while no "
             "sentence waits, so that a single request is done sooner"},
    {DG_OPT_INT(T, slots), "slots", .min = 1, .max = 1024, .def = "32",
     .help = "sentences of one model under way in each worker"},
    {DG_OPT_INT(T, max_sentences), "max-sentences", .min = 1, .max = 10000000, .def = "10000",
     .help = "sentences waiting and under way; beyond that clients are told to come back later, "
             "and one client as soon as it has as many waiting as there is room left for"},
    {DG_OPT_INT(T, source_max), "source-max", .min = 8, .max = 4096, .def = "256", .unit = "TOKENS",
     .help = "longest sentence given to a model; longer ones are cut and rejoined"},
    {DG_OPT_INT(T, target_max), "target-max", .min = 8, .max = 4096, .def = "512", .unit = "TOKENS",
     .help = "longest translation of one sentence, and longest answer of a language model"},
    {DG_OPT_INT(T, prompt_max), "prompt-max", .min = 8, .max = 131072, .def = "2048", .unit = "TOKENS",
     .help = "longest prompt of a language model"},
    {DG_OPT_INT(T, max_beam), "max-beam", .min = 1, .max = DG_BEAM_MAX, .def = "16",
     .help = "widest beam, and most answers, that a request may ask for"},
    {DG_OPT_INT(T, max_min_length), "max-min-length", .min = 1, .max = DG_TARGET_MAX, .def = "128", .unit = "TOKENS",
     .help = "largest min_length that a request may ask for: it takes that many steps, whatever the text"},
    {DG_OPT_BOOL(T, shortlist), "shortlist", .def = "yes",
     .help = "consider only the words of a model's lexical shortlist, where it has one"},
    {DG_OPT_ENUM(T, compute_type), "compute-type", .words = dg_net_type_words, .def = "auto",
     .help = "type that products are computed in, for all models: f32, bf16, i8, or bf16-fast, where the processor "
             "multiplies BF16 (AVX512_BF16, AMX) at several times the speed of f32; auto: as each model is stored"},
    {DG_OPT_ENUM(T, kv_type), "kv-type", .words = dg_net_kv_words, .def = "auto",
     .help = "how the keys and values that attention reads are stored: f32, f16, or i8, a quarter of the memory and "
             "fastest for long texts, with other answers here and there; auto: f16 for I8 and bf16-fast, otherwise f32"},
    {DG_OPT_DURATION(T, batch_delay_ms), "batch-delay", .min = 0, .max = SECOND, .def = "0",
     .help = "how long an idle worker waits for company before it starts"},
    {DG_OPT_SIZE(T, cache_size), "cache-size", .min = 0, .max = 65536ull * MIB, .def = "32MiB",
     .help = "memory for the cache of translated sentences; 0 for no cache"},
    {DG_OPT_ENUM(T, cache_scope), "cache-scope", .words = scope_words, .def = "all",
     .help = "who is answered from that cache: all, or only the key (without one, the address) "
             "that asked before; the cache in redis is then not used"},
    {DG_OPT_SIZE(T, memory_limit), "memory-limit", .min = 0, .max = 1024ull * 1024 * MIB, .def = "0",
     .help = "memory of the whole server, models included; models that do not fit beside each other take turns; "
             "0 for no limit"},
    {DG_OPT_BOOL(T, preload), "preload", .def = "yes",
     .help = "load models at start, as far as memory-limit has room; otherwise each when it is first asked for"},
    {DG_OPT_DURATION(T, model_idle_ms), "model-idle", .min = 0, .max = 24 * HOUR, .def = "0",
     .help = "how long a model may stay in memory without being asked for; it is loaded again "
             "when it is; 0 for no limit"},
    {DG_OPT_DURATION(T, stall_limit_ms), "stall-limit", .min = 100, .max = HOUR, .def = "10s",
     .help = "how long a worker may take for one step before it counts as hanging: /readyz and the log say so"},

    {DG_OPT_STRING(T, redis), "redis", .heading = "Shared between servers", .def = "", .max = 2000,
     .unit = "ADDRESS",
     .help = "a Redis in which servers share translated sentences, quotas and glossaries: redis.example:6379, "
             "[::1]:6379 or unix:/path; several with commas between; empty for none"},
    {DG_OPT_STRING(T, redis_sentinel), "redis-sentinel", .def = "", .max = 128, .unit = "NAME",
     .help = "the addresses of redis are Sentinels, which know where the master of this name is; empty for none"},
    {DG_OPT_STRING(T, redis_user), "redis-user", .def = "", .max = 128, .unit = "NAME",
     .help = "account to use at that Redis; empty for its default one"},
    {DG_OPT_PATH(T, redis_password_file), "redis-password-file", .def = "",
     .help = "a file whose first line is the account's password; empty for none"},
    {DG_OPT_BOOL(T, redis_tls), "redis-tls", .def = "no", .help = "connect to that Redis, and to "
                                                                  "Sentinels, through TLS"},
    {DG_OPT_PATH(T, redis_ca_file), "redis-ca-file", .def = "",
     .help = "certificates of the authorities that may vouch for that Redis, as PEM; empty for those of the system"},
    {DG_OPT_PATH(T, redis_certificate_file), "redis-certificate-file", .def = "",
     .help = "the certificate that this server shows to that Redis, as PEM; empty for none"},
    {DG_OPT_PATH(T, redis_key_file), "redis-key-file", .def = "", .help = "the key of that certificate, as PEM"},
    {DG_OPT_DURATION(T, redis_timeout_ms), "redis-timeout", .min = 1, .max = SECOND, .def = "20ms",
     .help = "how long a request waits for Redis before it goes on without it"},
    {DG_OPT_DURATION(T, redis_keep_ms), "redis-keep", .min = 60 * SECOND, .max = 8760ll * HOUR, .def = "7d",
     .help = "how long Redis keeps a sentence"},

    {DG_OPT_PATH(T, jobs_dir), "jobs-dir", .heading = "Bulk jobs", .def = "",
     .help = "the folder where bulk jobs are kept, so that they continue after a restart; empty for no bulk jobs"},
    {DG_OPT_BOOL(T, jobs_shared), "jobs-shared", .def = "no",
     .help = "jobs-dir is mounted by all servers of that redis, and all of them work on its jobs"},
    {DG_OPT_SIZE(T, jobs_upload), "jobs-upload", .min = KIB, .max = 1024 * MIB, .def = "32MiB",
     .help = "the lines of one bulk job; held in memory while they arrive"},
    {DG_OPT_SIZE(T, jobs_space), "jobs-space", .min = MIB, .max = 1024 * 1024ull * MIB, .def = "4GiB",
     .help = "files of all bulk jobs"},
    {DG_OPT_INT(T, jobs_max), "jobs-max", .min = 1, .max = 100000, .def = "1000",
     .help = "bulk jobs kept, finished ones counted"},
    {DG_OPT_DURATION(T, jobs_retention_ms), "jobs-retention", .min = SECOND, .max = 10000ll * 24 * HOUR,
     .def = "7d", .help = "how long a finished bulk job and its result are kept"},

    {DG_OPT_ENUM(T, glossaries), "glossaries", .heading = "Glossaries", .words = whose_words, .def = "all",
     .help = "who may have glossaries kept here: all (with a key, once there are keys), keys, admins or nobody"},
    {DG_OPT_PATH(T, glossaries_dir), "glossaries-dir", .def = "",
     .help = "the folder where glossaries are kept, each in a file; empty: in memory, until the server ends"},
    {DG_OPT_INT(T, glossaries_max), "glossaries-max", .min = 1, .max = 100000, .def = "1000",
     .help = "glossaries kept, of all keys together"},
    {DG_OPT_SIZE(T, glossaries_space), "glossaries-space", .min = 64 * KIB, .max = 65536ull * MIB, .def = "64MiB",
     .help = "memory that glossaries may take together"},

    {DG_OPT_PATH(T, documents_dir), "documents-dir", .heading = "Documents", .def = "/var/tmp",
     .help = "the folder for files while they are uploaded and fetched and, without jobs-dir, "
             "for documents until they are fetched or an hour has passed"},
    {DG_OPT_SIZE(T, documents_space), "documents-space", .min = 0, .max = 65536ull * MIB, .def = "512MiB",
     .help = "how much such documents may take together, and as much again for files that are "
             "uploaded or fetched; 0: no documents are translated"},
    {DG_OPT_SIZE(T, max_document), "max-document", .min = KIB, .max = 2047 * MIB, .def = "50MiB",
     .help = "the largest file that may be sent to be translated; it goes to documents-dir as it "
             "arrives, so max-body does not apply"},

    {DG_OPT_ENUM(T, log_level), "log-level", .heading = "Log", .words = level_words, .def = "info",
     .flags = DG_OPT_RELOADABLE,
     .help = "how much is logged; only debug shows anything that a user wrote"},
    {DG_OPT_ENUM(T, log_format), "log-format", .words = format_words, .def = "logfmt",
     .help = "how a log line is written"},
    {DG_OPT_PATH(T, log_file), "log-file", .def = "",
     .help = "file to append the log to, reopened on SIGHUP; empty for standard error"},
    {DG_OPT_BOOL(T, access_log), "access-log", .def = "yes",
     .help = "log a line for each request, at level info"},

    {DG_OPT_STRING(T, user), "user", .heading = "Process", .def = "", .max = 64, .unit = "NAME",
     .help = "account to become, with its groups, once the sockets are open; empty to stay the "
             "one that started the server"},
    {DG_OPT_BOOL(T, core_dumps), "core-dumps", .def = "no",
     .help = "allow core dumps and debuggers of the same user; both can show users' text"},
};
/* clang-format on */

static const struct dg_opt_row model_rows[] = {
    {DG_OPT_PATH(struct dg_model_options, path), "path",
     .flags = DG_OPT_RELOADABLE | DG_OPT_REQUIRED, .help = "the model's directory"},
    {DG_OPT_STRING(struct dg_model_options, source), "source", .def = "", .max = DG_LANGS_TEXT_MAX,
     .flags = DG_OPT_RELOADABLE, .unit = "LANGUAGES",
     .help = "language of its input, or several; empty for all that its vocabulary has, or what "
             "the name says (fr-en)"},
    {DG_OPT_STRING(struct dg_model_options, target), "target", .def = "", .max = DG_LANGS_TEXT_MAX,
     .flags = DG_OPT_RELOADABLE, .unit = "LANGUAGES",
     .help = "language of its output, or several if the model can be told which, each as tag or "
             "tag=word; empty likewise"},
    {DG_OPT_STRING(struct dg_model_options, formal), "formal", .def = "", .max = DG_MANNER_TEXT_MAX,
     .flags = DG_OPT_RELOADABLE, .unit = "WORD",
     .help = "word of its vocabulary that asks for formal language, before the text or, as "
             "target:WORD, before the translation; "
             "several, with commas between, as de=WORD for one target each"},
    {DG_OPT_STRING(struct dg_model_options, informal), "informal", .def = "",
     .max = DG_MANNER_TEXT_MAX, .flags = DG_OPT_RELOADABLE, .unit = "WORD",
     .help = "word of its vocabulary that asks for informal language, likewise"},
    {DG_OPT_STRING(struct dg_model_options, template), "template", .def = "",
     .max = DG_TRANSLATION_PROMPT_TEXT_MAX, .flags = DG_OPT_RELOADABLE, .unit = "TEXT",
     .help = "prompt that has a language model translate: {text}, {source}, {target}, "
             "{source-code}, {target-code}, \\n"},
    {DG_OPT_STRING(struct dg_model_options, stop), "template-stop", .def = "",
     .max = DG_TRANSLATION_PROMPT_STOP_MAX, .flags = DG_OPT_RELOADABLE, .unit = "TEXTS",
     .help = "texts that end its answer, besides its own end; several with | between them; \\n is "
             "a line's end"},
    {DG_OPT_STRING(struct dg_model_options, judges), "judges", .def = "", .max = DG_JUDGES_MAX,
     .flags = DG_OPT_RELOADABLE, .unit = "MODELS",
     .help = "for a quality estimator: the models whose translations it judges, with commas "
             "between; empty for what its quality.json says"},
};

static const struct dg_opt_table sections[] = {{
    .program = "model",
    .summary = "A model to serve: [model fr-en].",
    .rows = model_rows,
    .n_rows = DG_OPT_COUNT(model_rows),
    .size = sizeof(struct dg_model_options),
}};

/* A prefix begins with one '/', does not end in one, and has only characters that need no escapes
 * in a path. */
static enum dg_err check_prefix(const char *prefix, struct dg_error *error)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    size_t len = strlen(prefix);
    if (len == 0)
        return DG_OK;
    if (prefix[0] != '/' || prefix[len - 1] == '/' || strstr(prefix, "//") ||
        strspn(prefix, plain) != len)
        return dg_error_set(
            error, DG_ERR_INVALID,
            "url-prefix: read \"%s\", expected a path such as /translate, without a "
            "slash at its end",
            prefix);
    return DG_OK;
}

enum dg_err dg_options_server(const struct dg_options *options, struct dg_network *networks,
                              struct dg_error *error, struct dg_server_opts *server)
{
    struct dg_server_opts opts = DG_SERVER_OPTS_DEFAULT;
    for (size_t i = 0; i < options->trusted_proxies.n; i++) {
        enum dg_err err = dg_network_parse(options->trusted_proxies.items[i], &networks[i], error);
        if (err)
            return dg_error_wrap(error, err, "trusted-proxies");
    }
    opts.trusted = networks;
    opts.n_trusted = options->trusted_proxies.n;
    opts.url_prefix = options->url_prefix;
    opts.connections_max = (unsigned)options->max_connections;
    opts.connections_per_client_max = (unsigned)options->max_connections_per_client;
    opts.http.head_bytes = options->max_head;
    opts.http.url_bytes = options->max_url;
    opts.http.headers = (unsigned)options->max_headers;
    opts.http.body_bytes = options->max_body;
    opts.http.idle_ms = (uint32_t)options->idle_timeout_ms;
    opts.http.head_ms = (uint32_t)options->head_timeout_ms;
    opts.http.body_ms = (uint32_t)options->body_timeout_ms;
    opts.http.body_all_ms = (uint32_t)options->body_limit_ms;
    opts.http.write_ms = (uint32_t)options->write_timeout_ms;
    *server = opts;
    return DG_OK;
}

static enum dg_err check_redis(const struct dg_options *options, struct dg_error *error)
{
    enum dg_err err = dg_redis_check_addresses(options->redis, error);
    if (err)
        return dg_error_wrap(error, err, "redis");
    if (!*options->redis_certificate_file != !*options->redis_key_file)
        return dg_error_set(error, DG_ERR_INVALID,
                            "redis-certificate-file and redis-key-file: read one without the "
                            "other, expected both or none");
    if (!options->redis_tls && (*options->redis_ca_file || *options->redis_certificate_file))
        return dg_error_set(error, DG_ERR_INVALID,
                            "redis-ca-file, redis-certificate-file: read them without redis-tls, "
                            "expected 'redis-tls = yes'");
    return DG_OK;
}

static enum dg_err check(const void *values, const char *name, struct dg_error *error)
{
    const struct dg_options *options = values;
    struct dg_network networks[DG_OPTIONS_NETWORKS];
    struct dg_server_opts server;
    enum dg_err err = check_prefix(options->url_prefix, error);
    if (!err)
        err = dg_options_server(options, networks, error, &server);
    if (!err && *options->redis)
        err = check_redis(options, error);
    if (!err && *options->agent_listen) {
        struct dg_address address;
        err = dg_address_parse(options->agent_listen, &address, error);
        if (!err && address.is_unix)
            err =
                dg_error_set(error, DG_ERR_INVALID, "read a path, expected an address and a port");
        if (err)
            err = dg_error_wrap(error, err, "agent-listen");
    }
    if (!err && options->jobs_shared && (!*options->redis || !*options->jobs_dir))
        err = dg_error_set(error, DG_ERR_INVALID,
                           "jobs-shared: read yes without redis and jobs-dir, expected both");
    if (!err && *options->keys_shared_secret_file && (!*options->redis || !*options->keys_file))
        err = dg_error_set(error, DG_ERR_INVALID,
                           "keys-shared-secret-file: read one without redis and keys-file, "
                           "expected both");
    if (!err && options->require_key && !*options->keys_file)
        err = dg_error_set(error, DG_ERR_INVALID,
                           "require-key: read yes without a keys-file, expected a file of keys");
    if (!err && options->max_url >= options->max_head)
        err =
            dg_error_set(error, DG_ERR_RANGE,
                         "max-url: read %zu bytes, expected less than max-head, which is %zu bytes",
                         (size_t)options->max_url, (size_t)options->max_head);
    if (!err && options->require_signed_models && options->trusted_keys.n == 0)
        err = dg_error_set(error, DG_ERR_INVALID,
                           "require-signed-models: is on, but trusted-keys names no key; no model "
                           "could be loaded");
    return err;
}

const struct dg_opt_table dg_options_table = {
    .program = "dragomand",
    .summary = "A translation server: answers HTTP requests with machine translation.",
    .rows = rows,
    .n_rows = DG_OPT_COUNT(rows),
    .size = sizeof(struct dg_options),
    .env_prefix = "DRAGOMAN_",
    .reference = "dragomand.conf(5)",
    .sections = sections,
    .n_sections = 1,
    .sections_max = 256,
    .check = check,
};

/* Reads the configuration. A file that a flag names must exist; the default file need not. */
static enum dg_err read_config(struct dg_opt_set *set, struct dg_error *error)
{
    const struct dg_options *options = dg_opt_values(set);
    if (*options->config == '\0')
        return DG_OK;
    if (!dg_opt_given(set, "config") && access(options->config, F_OK) != 0)
        return DG_OK;
    return dg_opt_read_file(set, options->config, error);
}

enum dg_err dg_options_read(int argc, char *const *argv, char *const *env, struct dg_error *error,
                            struct dg_opt_set **set)
{
    struct dg_opt_set *fresh = NULL;
    enum dg_err err = dg_opt_set_new(&dg_options_table, &fresh);
    if (!err)
        err = dg_opt_read_args(fresh, argc, argv, error);
    if (err)
        goto out;
    const struct dg_options *options = dg_opt_values(fresh);
    if (options->help == DG_OPT_HELP_NO && !options->version) {
        err = read_config(fresh, error);
        if (!err)
            err = dg_opt_read_env(fresh, env, error);
        if (!err)
            err = dg_opt_check(fresh, error);
    }
    if (!err) {
        *set = fresh;
        fresh = NULL;
    }
out:
    dg_opt_set_free(fresh);
    return err;
}
