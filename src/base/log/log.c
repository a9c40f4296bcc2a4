/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The logger.
 *
 * A line is built in a fixed buffer on the stack and written by one write(2) to a descriptor opened
 * with O_APPEND, so threads need no lock and lines do not mix. Reopening gives the new file the old
 * descriptor's number in one step (dup3), so a thread that writes at that moment writes to one of
 * the two files.
 *
 * Both formats escape alike: a value is written like a JSON string (control bytes, quote and
 * backslash are escaped, bytes that are not UTF-8 replaced), so a line break or a quote in a value
 * cannot start a line or a field. Logfmt omits the quotes where a value needs none. */
#define _GNU_SOURCE 1 /* dup3 */
#include "base/log/log.h"
#include "base/log/journal.h"
#include "base/memory/error.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct dg_log {
    char *path;      /* owned; NULL: stderr */
    int fd;          /* STDERR_FILENO, or owned */
    bool is_journal; /* stderr leads there */
    int journal;     /* owned; its socket for events with fields, or -1 */
    enum dg_log_format format;
    _Atomic int level;
    _Atomic uint64_t n_lost;
    const struct dg_clock *clock;
    pthread_mutex_t kept_lock;            /* of what follows */
    uint64_t n_kept;                      /* since the start */
    struct dg_log_kept kept[DG_LOG_KEPT]; /* number n is at (n - 1) % DG_LOG_KEPT */
};

static const struct dg_clock real_clock = DG_CLOCK_REAL;

const char *dg_log_level_name(enum dg_log_level level)
{
    static const char *const names[] = {
#define LEVEL_NAME(level, name, priority) [level] = name,
        DG_LOG_LEVELS(LEVEL_NAME)
#undef LEVEL_NAME
    };
    return names[level];
}

static int priority(enum dg_log_level level)
{
    static const int priorities[] = {
#define LEVEL_PRIORITY(level, name, priority) [level] = priority,
        DG_LOG_LEVELS(LEVEL_PRIORITY)
#undef LEVEL_PRIORITY
    };
    return priorities[level];
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* systemd names the journal's socket as "device:inode" in JOURNAL_STREAM; a redirected stderr is
 * another file. */
bool dg_log_stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat st;
    if (!stream || fstat(STDERR_FILENO, &st) != 0)
        return false;
    char own[64];
    snprintf(own, sizeof own, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    return strcmp(stream, own) == 0;
}

static int open_file(const char *path, struct dg_error *error, enum dg_err *err)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
    if (fd < 0)
        *err = dg_error_errno(error, "cannot open the log file %s", path);
    return fd;
}

enum dg_err dg_log_open(const struct dg_log_opts *opts, struct dg_error *error, struct dg_log **out)
{
    enum dg_err err = DG_OK;
    int fd = opts->path ? open_file(opts->path, error, &err) : STDERR_FILENO;
    if (err)
        return err;
    struct dg_log *log = dg_xcalloc(1, sizeof *log);
    log->path = opts->path ? dg_xstrdup(opts->path) : NULL;
    log->fd = fd;
    log->is_journal = !opts->path && dg_log_stderr_is_journal();
    log->journal =
        log->is_journal ? dg_journal_open(opts->journal ? opts->journal : DG_JOURNAL_SOCKET) : -1;
    log->format = opts->format;
    atomic_store(&log->level, (int)opts->level);
    log->clock = opts->clock ? opts->clock : &real_clock;
    pthread_mutex_init(&log->kept_lock, NULL);
    *out = log;
    return DG_OK;
}

void dg_log_close(struct dg_log *log)
{
    if (!log)
        return;
    if (log->path)
        close(log->fd);
    dg_journal_close(log->journal);
    pthread_mutex_destroy(&log->kept_lock);
    dg_free(log->path);
    dg_free(log);
}

enum dg_err dg_log_reopen(struct dg_log *log, struct dg_error *error)
{
    enum dg_err err = DG_OK;
    if (!log || !log->path)
        return DG_OK;
    int fd = open_file(log->path, error, &err);
    if (err)
        return err;
    if (dup3(fd, log->fd, O_CLOEXEC) < 0)
        err = dg_error_errno(error, "cannot switch to the log file %s", log->path);
    close(fd);
    return err;
}

void dg_log_set_level(struct dg_log *log, enum dg_log_level level)
{
    if (log)
        atomic_store_explicit(&log->level, (int)level, memory_order_relaxed);
}

enum dg_log_level dg_log_level(const struct dg_log *log)
{
    return log ? (enum dg_log_level)atomic_load_explicit(&log->level, memory_order_relaxed)
               : DG_LOG_ERROR;
}

bool dg_log_wants(const struct dg_log *log, enum dg_log_level level)
{
    return log && (int)level <= atomic_load_explicit(&log->level, memory_order_relaxed);
}

uint64_t dg_log_lost(const struct dg_log *log)
{
    return log ? atomic_load_explicit(&log->n_lost, memory_order_relaxed) : 0;
}

/* ---- One line -------------------------------------------------------------------------------- */

struct line {
    size_t len;
    size_t n_fields;
    bool full;                   /* something did not fit */
    char bytes[DG_LOG_LINE_MAX]; /* the last few are kept for the end of the line */
};

enum { TAIL = 4 }; /* "}\n" and a little */

static void add(struct line *line, const char *bytes, size_t len)
{
    if (line->full || len > DG_LOG_LINE_MAX - TAIL - line->len) {
        line->full = true;
        return;
    }
    memcpy(line->bytes + line->len, bytes, len);
    line->len += len;
}

static void add_cstr(struct line *line, const char *text)
{
    add(line, text, strlen(text));
}

/* True when an escaped character and the end of a value surely fit. */
static bool has_room(const struct line *line)
{
    return DG_LOG_LINE_MAX - TAIL - line->len > 6 + 4;
}

/* True for characters that logfmt may show without quotes. */
static bool is_bare(unsigned char c)
{
    return c > 0x20 && c < 0x7F && c != '"' && c != '\\' && c != '=';
}

static bool needs_quotes(struct dg_span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_bare((unsigned char)text.ptr[i]))
            return true;
    return text.len == 0;
}

/* The character at `at`, escaped; returns its length in the text. */
static size_t add_char(struct line *line, struct dg_span text, size_t at)
{
    unsigned char c = (unsigned char)text.ptr[at];
    uint32_t cp;
    size_t len = dg_utf8_decode(text, at, &cp);
    char escaped[8];
    if (len == 0) {
        add_cstr(line, "\xEF\xBF\xBD");
        return 1;
    }
    if (c == '"' || c == '\\') {
        add(line, "\\", 1);
        add(line, text.ptr + at, 1);
    } else if (c == '\n') {
        add_cstr(line, "\\n");
    } else if (cp < 0x20 || (cp >= 0x7F && cp < 0xA0) || cp == 0x2028 || cp == 0x2029) {
        /* Also the second set of control characters and Unicode's line ends: terminals obey some.
         */
        snprintf(escaped, sizeof escaped, "\\u%04" PRIx32, cp);
        add_cstr(line, escaped);
    } else {
        add(line, text.ptr + at, len);
    }
    return len;
}

/* Writes at most `max` bytes of the text, and at most twice as many bytes of escaped line. */
static void add_text(struct line *line, struct dg_span text, size_t max, bool quoted)
{
    struct dg_span shown = dg_utf8_clip(text, max);
    if (!quoted && shown.len == text.len && !needs_quotes(shown)) {
        add(line, shown.ptr, shown.len);
        return;
    }
    add(line, "\"", 1);
    size_t start = line->len, at = 0;
    while (at < shown.len && line->len - start < 2 * max && has_room(line))
        at += add_char(line, shown, at);
    add_cstr(line, at < text.len ? "...\"" : "\"");
}

static void add_key(struct line *line, enum dg_log_format format, const char *key)
{
    const char *separator = line->n_fields++ == 0 ? "" : format == DG_LOG_JSON ? "," : " ";
    add_cstr(line, separator);
    if (format == DG_LOG_JSON) {
        add(line, "\"", 1);
        add_cstr(line, key);
        add_cstr(line, "\":");
    } else {
        add_cstr(line, key);
        add_cstr(line, "=");
    }
}

static void add_number(struct line *line, const struct dg_log_field *field)
{
    char text[40];
    switch (field->kind) {
    case DG_LOG_INT:
        snprintf(text, sizeof text, "%" PRId64, field->value.i);
        break;
    case DG_LOG_UINT:
        snprintf(text, sizeof text, "%" PRIu64, field->value.u);
        break;
    case DG_LOG_REAL:
        if (isfinite(field->value.real))
            snprintf(text, sizeof text, "%.6g", field->value.real);
        else
            snprintf(text, sizeof text, "null");
        break;
    default:
        snprintf(text, sizeof text, "%s", field->value.yes ? "true" : "false");
        break;
    }
    add_cstr(line, text);
}

/* A field is written completely or not at all. */
static void add_field(struct line *line, enum dg_log_format format,
                      const struct dg_log_field *field, size_t max)
{
    size_t before = line->len;
    add_key(line, format, field->key);
    if (field->kind == DG_LOG_STR)
        add_text(line, field->value.str, max, format == DG_LOG_JSON);
    else
        add_number(line, field);
    if (line->full)
        line->len = before;
}

/* "2026-11-21T11:44:54.123Z" */
static struct dg_span stamp(const struct dg_clock *clock, char room[40])
{
    uint64_t now = dg_clock_wall(clock);
    time_t seconds = (time_t)(now / DG_CLOCK_S);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    size_t len = strftime(room, 32, "%Y-%m-%dT%H:%M:%S", &tm);
    len += (size_t)snprintf(room + len, 40 - len, ".%03uZ",
                            (unsigned)(now % DG_CLOCK_S / DG_CLOCK_MS));
    return dg_span_make(room, len);
}

static void send_line(struct dg_log *log, const struct line *line)
{
    ssize_t n;
    do
        n = write(log->fd, line->bytes, line->len);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)line->len)
        atomic_fetch_add_explicit(&log->n_lost, 1, memory_order_relaxed);
}

static void add_head(struct line *line, const struct dg_log *log, enum dg_log_level level,
                     const char *module)
{
    char room[40];
    if (log->is_journal) {
        snprintf(room, sizeof room, "<%d>", priority(level));
        add_cstr(line, room);
    }
    if (log->format == DG_LOG_JSON)
        add(line, "{", 1);
    if (!log->is_journal) {
        struct dg_log_field field = dg_log_span("time", stamp(log->clock, room));
        add_field(line, log->format, &field, DG_LOG_VALUE_MAX);
    }
    struct dg_log_field field = dg_log_str("level", dg_log_level_name(level));
    add_field(line, log->format, &field, DG_LOG_VALUE_MAX);
    field = dg_log_str("module", module);
    add_field(line, log->format, &field, DG_LOG_VALUE_MAX);
}

/* ---- The journal ----------------------------------------------------------------------------- */

/* The field as text; numbers go into `room`. */
static struct dg_span field_text(const struct dg_log_field *field, struct line *room)
{
    if (field->kind == DG_LOG_STR)
        return dg_utf8_clip(field->value.str, DG_LOG_VALUE_MAX);
    *room = (struct line){.len = 0};
    add_number(room, field);
    return dg_span_make(room->bytes, room->len);
}

/* DRAGOMAN_ and the key in capitals. */
static void journal_field(struct dg_journal_entry *entry, const struct dg_log_field *field)
{
    char name[64] = "DRAGOMAN_";
    size_t len = strlen(name);
    struct line room;
    for (const char *key = field->key; *key && len < sizeof name - 1; key++)
        name[len++] = *key >= 'a' && *key <= 'z' ? (char)(*key - 'a' + 'A') : *key;
    name[len] = '\0';
    dg_journal_add(entry, name, field_text(field, &room));
}

/* Sends the line, without the parts that the journal has fields for, and each field once more by
 * itself. */
static bool send_to_journal(const struct dg_log *log, enum dg_log_level level, const char *module,
                            const struct dg_log_field *fields, size_t n_fields,
                            const struct line *line)
{
    struct dg_journal_entry entry;
    const struct dg_log_field in_module = dg_log_str("module", module);
    char digit = (char)('0' + priority(level));
    dg_journal_begin(&entry);
    /* "<N>", "\n" */
    dg_journal_add(&entry, "MESSAGE", dg_span_make(line->bytes + 3, line->len - 4));
    dg_journal_add(&entry, "PRIORITY", dg_span_make(&digit, 1));
    dg_journal_add(&entry, "SYSLOG_IDENTIFIER", DG_SPAN("dragomand"));
    journal_field(&entry, &in_module);
    for (size_t i = 0; i < n_fields; i++)
        journal_field(&entry, &fields[i]);
    return dg_journal_send(log->journal, &entry);
}

/* ---- The last complaints --------------------------------------------------------------------- */

/* Keeps the message as it is, then the fields; leaves out a field that does not fit completely. */
static void keep(struct dg_log *log, enum dg_log_level level, const char *module,
                 const char *message, const struct dg_log_field *fields, size_t n_fields)
{
    struct line line;
    struct dg_log_kept event = {.wall_ns = dg_clock_wall(log->clock), .level = level};
    line.len = line.n_fields = 0;
    line.full = false;
    struct dg_span shown = dg_utf8_clip(dg_span_cstr(message), DG_LOG_KEPT_TEXT - 1);
    for (size_t at = 0; at < shown.len && line.len + 8 < DG_LOG_KEPT_TEXT;)
        at += add_char(&line, shown, at);
    size_t fits = line.len;
    for (size_t i = 0; i < n_fields; i++) {
        line.n_fields = 1; /* a space before it */
        add_field(&line, DG_LOG_LOGFMT, &fields[i], DG_LOG_KEPT_TEXT / 4);
        if (line.len >= DG_LOG_KEPT_TEXT)
            line.len = fits;
        fits = line.len;
    }
    memcpy(event.text, line.bytes, fits);
    event.text[fits] = '\0';
    snprintf(event.module, sizeof event.module, "%s", module);
    pthread_mutex_lock(&log->kept_lock);
    event.number = ++log->n_kept;
    log->kept[(event.number - 1) % DG_LOG_KEPT] = event;
    pthread_mutex_unlock(&log->kept_lock);
}

size_t dg_log_recent(struct dg_log *log, uint64_t after, struct dg_log_kept *events, size_t max)
{
    size_t n = 0;
    if (!log)
        return 0;
    pthread_mutex_lock(&log->kept_lock);
    uint64_t first = log->n_kept > DG_LOG_KEPT ? log->n_kept - DG_LOG_KEPT : 0;
    for (uint64_t i = first > after ? first : after; i < log->n_kept && n < max; i++)
        events[n++] = log->kept[i % DG_LOG_KEPT];
    pthread_mutex_unlock(&log->kept_lock);
    return n;
}

/* ---- Events ---------------------------------------------------------------------------------- */

void dg_log_event(struct dg_log *log, enum dg_log_level level, const char *module,
                  const struct dg_log_field *fields, size_t n_fields, const char *fmt, ...)
{
    if (!dg_log_wants(log, level))
        return;
    int saved_errno = errno;
    char message[DG_LOG_MSG_MAX + 4]; /* longer ones are cut, and add_text says so */
    va_list args;
    va_start(args, fmt);
    int wanted = vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    struct line line;
    line.len = line.n_fields = 0;
    line.full = false;
    add_head(&line, log, level, module);
    struct dg_log_field msg = dg_log_str("msg", wanted < 0 ? fmt : message);
    add_field(&line, log->format, &msg, DG_LOG_MSG_MAX);
    for (size_t i = 0; i < n_fields; i++) {
        line.full = false;
        add_field(&line, log->format, &fields[i], DG_LOG_VALUE_MAX);
    }
    if (log->format == DG_LOG_JSON)
        line.bytes[line.len++] = '}';
    line.bytes[line.len++] = '\n';
    if (level <= DG_LOG_WARNING)
        keep(log, level, module, wanted < 0 ? fmt : message, fields, n_fields);
    if (log->journal < 0 || !send_to_journal(log, level, module, fields, n_fields, &line))
        send_line(log, &line);
    errno = saved_errno;
}
