/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The logger: one event per line, as logfmt or JSON, to stderr or a file.
 *
 *     struct dg_log_opts opts = DG_LOG_OPTS_DEFAULT;
 *     opts.path = "/var/log/dragoman.log";                NULL: stderr
 *     err = dg_log_open(&opts, error, &log);
 *     dg_log_event(log, DG_LOG_INFO, "loop",
 *                  DG_LOG_FIELDS(dg_log_request(id), dg_log_uint("bytes", n)),
 *                  "connection closed after %u requests", n_requests);
 *     dg_log_event(log, DG_LOG_NOTICE, "daemon", DG_LOG_NO_FIELDS, "ready");
 *
 * The first event is this line (broken here):
 *
 *     time=2026-11-21T11:44:54.123Z level=info module=loop
 *         msg="connection closed after 2 requests" request=7f3a bytes=512
 *
 * A line is one write(2) and cannot be forged, because all bytes of message and values are escaped
 * and cut to length. Where stderr is the systemd journal, the event goes there with its fields
 * (MESSAGE, PRIORITY, DRAGOMAN_MODULE, DRAGOMAN_REQUEST, ...); where that fails, the line starts
 * with <N> and has no time. User text is logged at level debug only.
 *
 * A logger is passed around; every function accepts NULL and then logs nothing. Any thread. */
#ifndef DG_BASE_LOG_LOG_H
#define DG_BASE_LOG_LOG_H

#include "base/memory/clock.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_log;

/*      level            name       journal's priority */
#define DG_LOG_LEVELS(X)                                                                           \
    X(DG_LOG_ERROR, "error", 3)                                                                    \
    X(DG_LOG_WARNING, "warning", 4)                                                                \
    X(DG_LOG_NOTICE, "notice", 5)                                                                  \
    X(DG_LOG_INFO, "info", 6)                                                                      \
    X(DG_LOG_DEBUG, "debug", 7)

enum dg_log_level {
#define DG_LOG_LEVEL_ENUM(level, name, priority) level,
    DG_LOG_LEVELS(DG_LOG_LEVEL_ENUM)
#undef DG_LOG_LEVEL_ENUM
};

enum dg_log_format { DG_LOG_LOGFMT, DG_LOG_JSON };

struct dg_log_opts {
    const char *path; /* appended to, made with mode 0640; NULL: stderr */
    enum dg_log_level level;
    enum dg_log_format format;
    const struct dg_clock *clock; /* borrowed; NULL: the real one */
    const char *journal;          /* the journal's socket; NULL: DG_JOURNAL_SOCKET */
};

#define DG_LOG_OPTS_DEFAULT                                                                        \
    {                                                                                              \
        .path = NULL, .level = DG_LOG_INFO, .format = DG_LOG_LOGFMT, .clock = NULL,                \
        .journal = NULL                                                                            \
    }

enum dg_err dg_log_open(const struct dg_log_opts *opts, struct dg_error *error,
                        struct dg_log **log) DG_MUST_CHECK;
void dg_log_close(struct dg_log *log); /* mirror of open; no other thread may log any more */

/* Whether standard error is systemd's journal. A program that reports an error there without a
 * logger begins the line with "<3>"; otherwise the journal files the line as information. */
bool dg_log_stderr_is_journal(void);

/* Opens the path again, after a rotation. On failure the old file stays in use. No line is lost in
 * between. Does nothing for stderr. */
enum dg_err dg_log_reopen(struct dg_log *log, struct dg_error *error) DG_MUST_CHECK;

void dg_log_set_level(struct dg_log *log, enum dg_log_level level);
enum dg_log_level dg_log_level(const struct dg_log *log); /* DG_LOG_ERROR for NULL */

/* Whether an event of this level would be written; if not, the caller need not prepare it. */
bool dg_log_wants(const struct dg_log *log, enum dg_log_level level);

/* Lines that could not be written in full (disk full, pipe closed). */
uint64_t dg_log_lost(const struct dg_log *log);

const char *dg_log_level_name(enum dg_log_level level);

/* ---- The last warnings and errors ------------------------------------------------------------ */

/* The logger keeps the last events of level warning or error in memory, for operators who look at
 * the server rather than at its log. It does not keep events that the log's level leaves out. */
enum { DG_LOG_KEPT = 64, DG_LOG_KEPT_TEXT = 400 };

struct dg_log_kept {
    uint64_t number; /* from 1, in the order in which they came */
    uint64_t wall_ns;
    enum dg_log_level level;
    char module[16];
    char text[DG_LOG_KEPT_TEXT]; /* message and fields in logfmt, cut to fit */
};

/* Copies the oldest kept events whose number is above `after`, at most `max`; returns how many. */
size_t dg_log_recent(struct dg_log *log, uint64_t after, struct dg_log_kept *events, size_t max);

/* ---- Events ---------------------------------------------------------------------------------- */

enum dg_log_kind { DG_LOG_STR, DG_LOG_INT, DG_LOG_UINT, DG_LOG_REAL, DG_LOG_BOOL };

/* One key=value. The key is a literal of ours: letters, digits, '_'. */
struct dg_log_field {
    const char *key;
    enum dg_log_kind kind;
    union {
        struct dg_span str; /* borrowed for the call */
        int64_t i;
        uint64_t u;
        double real;
        bool yes;
    } value;
};

#define DG_LOG_FIELDS(...)                                                                         \
    (const struct dg_log_field[]){__VA_ARGS__},                                                    \
        sizeof((const struct dg_log_field[]){__VA_ARGS__}) / sizeof(struct dg_log_field)
#define DG_LOG_NO_FIELDS NULL, 0

/* The line has the message first, then the fields; whatever exceeds DG_LOG_LINE_MAX bytes is cut or
 * left out. */
void dg_log_event(struct dg_log *log, enum dg_log_level level, const char *module,
                  const struct dg_log_field *fields, size_t n_fields, const char *fmt, ...)
    DG_PRINTF(6, 7);

enum { DG_LOG_LINE_MAX = 4096, DG_LOG_MSG_MAX = 1024, DG_LOG_VALUE_MAX = 512 };

static inline struct dg_log_field dg_log_span(const char *key, struct dg_span value)
{
    return (struct dg_log_field){.key = key, .kind = DG_LOG_STR, .value.str = value};
}

static inline struct dg_log_field dg_log_str(const char *key, const char *value)
{
    return dg_log_span(key, dg_span_cstr(value ? value : "-"));
}

static inline struct dg_log_field dg_log_request(struct dg_span id)
{
    return dg_log_span("request", id);
}

static inline struct dg_log_field dg_log_int(const char *key, int64_t value)
{
    return (struct dg_log_field){.key = key, .kind = DG_LOG_INT, .value.i = value};
}

static inline struct dg_log_field dg_log_uint(const char *key, uint64_t value)
{
    return (struct dg_log_field){.key = key, .kind = DG_LOG_UINT, .value.u = value};
}

static inline struct dg_log_field dg_log_real(const char *key, double value)
{
    return (struct dg_log_field){.key = key, .kind = DG_LOG_REAL, .value.real = value};
}

static inline struct dg_log_field dg_log_bool(const char *key, bool value)
{
    return (struct dg_log_field){.key = key, .kind = DG_LOG_BOOL, .value.yes = value};
}

/* Why a call failed: error=nomem. */
static inline struct dg_log_field dg_log_err(enum dg_err err)
{
    return dg_log_str("error", dg_err_name(err));
}

#endif
