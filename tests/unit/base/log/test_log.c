/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/json/json.h"
#include "base/log/log.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* 2026-11-21T11:44:54.123Z */
static struct dg_clock noon = DG_CLOCK_VIRTUAL(UINT64_C(1795261494123) * DG_CLOCK_MS);

static char dir[] = "/tmp/dragoman-log-XXXXXX";
static char path[64];
static char rotated[64];

static void make_dir(void)
{
    memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/log", dir);
    snprintf(rotated, sizeof rotated, "%s/log.1", dir);
}

static void remove_dir(void)
{
    unlink(path);
    unlink(rotated);
    rmdir(dir);
}

static struct dg_log *opened(enum dg_log_format format, enum dg_log_level level)
{
    struct dg_log_opts opts = DG_LOG_OPTS_DEFAULT;
    opts.path = path;
    opts.format = format;
    opts.level = level;
    opts.clock = &noon;
    struct dg_log *log = NULL;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_msg(dg_log_open(&opts, &error, &log) == DG_OK, "%s", error.text);
    return log;
}

/* The content of the file `name`, NUL-terminated, in a static buffer. */
static const char *content(const char *name)
{
    static char text[1 << 20];
    FILE *file = fopen(name, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

START_TEST(writes_one_logfmt_line_an_event)
{
    make_dir();
    struct dg_log *log = opened(DG_LOG_LOGFMT, DG_LOG_INFO);
    errno = 99;
    dg_log_event(log, DG_LOG_INFO, "loop",
                 DG_LOG_FIELDS(dg_log_request(DG_SPAN("7f3a")), dg_log_uint("bytes", 512),
                               dg_log_int("delta", -1), dg_log_real("rate", 0.25),
                               dg_log_bool("keep", true), dg_log_str("path", "/a b"),
                               dg_log_str("none", ""), dg_log_err(DG_ERR_NOMEM)),
                 "connection closed after %d requests", 2);
    ck_assert_int_eq(errno, 99);
    dg_log_event(log, DG_LOG_DEBUG, "loop", DG_LOG_NO_FIELDS, "not wanted");
    dg_log_event(log, DG_LOG_ERROR, "loop", DG_LOG_NO_FIELDS, "bad");
    ck_assert_str_eq(
        content(path),
        "time=2026-11-21T11:44:54.123Z level=info module=loop msg=\"connection closed after 2 "
        "requests\" request=7f3a bytes=512 delta=-1 rate=0.25 keep=true path=\"/a b\" none=\"\" "
        "error=nomem\n"
        "time=2026-11-21T11:44:54.123Z level=error module=loop msg=bad\n");
    dg_log_close(log);
    remove_dir();
}
END_TEST

START_TEST(writes_one_json_object_an_event)
{
    make_dir();
    struct dg_log *log = opened(DG_LOG_JSON, DG_LOG_INFO);
    dg_log_event(log, DG_LOG_WARNING, "api",
                 DG_LOG_FIELDS(dg_log_str("who", "\"x\"\n"), dg_log_real("nan", 0.0 / 0.0)), "odd");
    ck_assert_str_eq(content(path),
                     "{\"time\":\"2026-11-21T11:44:54.123Z\",\"level\":\"warning\",\"module\":"
                     "\"api\",\"msg\":\"odd\",\"who\":\"\\\"x\\\"\\n\",\"nan\":null}\n");
    dg_log_close(log);
    remove_dir();
}
END_TEST

/* Splits the text into lines; each must begin as our lines do, and JSON lines must parse. */
static void check_lines(const char *text, enum dg_log_format format, size_t n_expected)
{
    const struct dg_json_limits limits = DG_JSON_LIMITS_DEFAULT;
    size_t n = 0;
    for (const char *at = text; *at; n++) {
        const char *end = strchr(at, '\n');
        ck_assert_ptr_nonnull(end);
        struct dg_span line = dg_span_make(at, (size_t)(end - at));
        ck_assert_uint_lt(line.len, DG_LOG_LINE_MAX);
        for (size_t i = 0; i < line.len; i++)
            ck_assert_uint_ge((unsigned char)line.ptr[i], 0x20);
        if (format == DG_LOG_JSON) {
            struct dg_json *json = NULL;
            struct dg_error error = DG_ERROR_NONE;
            ck_assert_msg(dg_json_parse(line, &limits, &error, &json) == DG_OK, "%s", error.text);
            dg_json_free(json);
        } else {
            ck_assert(dg_span_starts(line, DG_SPAN("time=")));
        }
        at = end + 1;
    }
    ck_assert_uint_eq(n, n_expected);
}

START_TEST(cannot_be_forged_by_any_value)
{
    static char long_value[5000];
    static const char chars[] = "\n\r\"\\= a\x01\x7F\xFF\xC2\x85\xE2\x80\xA8\x1B[31m";
    int n_rounds = dg_unit_rounds(3000);
    for (enum dg_log_format format = DG_LOG_LOGFMT; format <= DG_LOG_JSON; format++) {
        make_dir();
        struct dg_log *log = opened(format, DG_LOG_INFO);
        uint64_t rng = 3;
        for (int round = 0; round < n_rounds; round++) {
            size_t len = (size_t)round % (round % 50 ? 40 : sizeof long_value);
            for (size_t i = 0; i < len; i++) {
                rng = rng * 6364136223846793005u + 1442695040888963407u;
                long_value[i] = chars[(rng >> 40) % (sizeof chars - 1)];
            }
            struct dg_span value = dg_span_make(long_value, len);
            dg_log_event(log, DG_LOG_INFO, "unit",
                         DG_LOG_FIELDS(dg_log_span("a", value), dg_log_span("b", value),
                                       dg_log_span("c", value), dg_log_span("d", value),
                                       dg_log_uint("e", 5)),
                         "%.*s", DG_SPAN_FMT(value));
            if (round % 100 == 99) {
                check_lines(content(path), format, 100);
                ck_assert_int_eq(truncate(path, 0), 0);
            }
        }
        dg_log_close(log);
        remove_dir();
    }
}
END_TEST

START_TEST(cuts_long_text_and_says_so)
{
    make_dir();
    struct dg_log *log = opened(DG_LOG_LOGFMT, DG_LOG_INFO);
    static char text[3000];
    memset(text, 'x', sizeof text);
    dg_log_event(log, DG_LOG_INFO, "unit",
                 DG_LOG_FIELDS(dg_log_span("v", dg_span_make(text, DG_LOG_VALUE_MAX)),
                               dg_log_span("w", dg_span_make(text, DG_LOG_VALUE_MAX + 1))),
                 "%.*s", 2000, text);
    const char *line = content(path);
    ck_assert_ptr_nonnull(strstr(line, "xxx...\" v=xxx"));
    ck_assert_ptr_nonnull(strstr(line, "x w=\"xxx"));
    ck_assert_ptr_nonnull(strstr(line, "xxx...\"\n"));
    dg_log_close(log);
    remove_dir();
}
END_TEST

START_TEST(starts_a_new_file_when_told_to_reopen)
{
    make_dir();
    struct dg_log *log = opened(DG_LOG_LOGFMT, DG_LOG_INFO);
    dg_log_event(log, DG_LOG_INFO, "unit", DG_LOG_NO_FIELDS, "one");
    ck_assert_int_eq(rename(path, rotated), 0);
    dg_log_event(log, DG_LOG_INFO, "unit", DG_LOG_NO_FIELDS, "two");
    ck_assert_int_eq(dg_log_reopen(log, NULL), DG_OK);
    dg_log_event(log, DG_LOG_INFO, "unit", DG_LOG_NO_FIELDS, "three");
    check_lines(content(rotated), DG_LOG_LOGFMT, 2);
    ck_assert_ptr_nonnull(strstr(content(path), "msg=three\n"));
    ck_assert_uint_eq(dg_log_lost(log), 0);
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07, 0);
    dg_log_close(log);
    remove_dir();
}
END_TEST

START_TEST(refuses_a_path_that_cannot_be_opened)
{
    struct dg_log_opts opts = DG_LOG_OPTS_DEFAULT;
    opts.path = "/nonexistent/dragoman.log";
    struct dg_log *log = NULL;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_log_open(&opts, &error, &log), DG_ERR_NOT_FOUND);
    ck_assert_ptr_null(log);
    ck_assert_ptr_nonnull(strstr(error.text, "/nonexistent/dragoman.log"));
}
END_TEST

START_TEST(keeps_the_old_file_when_reopening_fails)
{
    make_dir();
    struct dg_log *log = opened(DG_LOG_LOGFMT, DG_LOG_INFO);
    ck_assert_int_eq(rename(path, rotated), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_ne(dg_log_reopen(log, &error), DG_OK);
    ck_assert_ptr_nonnull(strstr(error.text, path));
    dg_log_event(log, DG_LOG_INFO, "unit", DG_LOG_NO_FIELDS, "still here");
    check_lines(content(rotated), DG_LOG_LOGFMT, 1);
    dg_log_close(log);
    rmdir(path);
    remove_dir();
}
END_TEST

START_TEST(follows_the_level)
{
    make_dir();
    struct dg_log *log = opened(DG_LOG_LOGFMT, DG_LOG_ERROR);
    for (int level = DG_LOG_ERROR; level <= DG_LOG_DEBUG; level++)
        ck_assert(dg_log_wants(log, (enum dg_log_level)level) == (level == DG_LOG_ERROR));
    dg_log_set_level(log, DG_LOG_DEBUG);
    ck_assert(dg_log_wants(log, DG_LOG_DEBUG));
    ck_assert_str_eq(dg_log_level_name(DG_LOG_NOTICE), "notice");
    dg_log_close(log);
    remove_dir();
    ck_assert(!dg_log_wants(NULL, DG_LOG_ERROR));
    dg_log_event(NULL, DG_LOG_ERROR, "unit", DG_LOG_NO_FIELDS, "nowhere");
    dg_log_close(NULL);
}
END_TEST

static const char *journal_path = "/nonexistent/journal";

/* Logs "ready" while stderr is a pipe, which JOURNAL_STREAM may name; returns what came out of the
 * pipe. */
static const char *through_stderr_with(bool is_journal, enum dg_log_format format,
                                       const struct dg_log_field *fields, size_t n_fields)
{
    int flags;
    static char text[1000];
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    int saved = dup(STDERR_FILENO);
    ck_assert_int_ge(dup2(ends[1], STDERR_FILENO), 0);
    struct stat st;
    ck_assert_int_eq(fstat(ends[1], &st), 0);
    snprintf(text, sizeof text, "%ju:%ju", (uintmax_t)st.st_dev,
             (uintmax_t)st.st_ino + (is_journal ? 0 : 1));
    setenv("JOURNAL_STREAM", text, 1);
    struct dg_log_opts opts = DG_LOG_OPTS_DEFAULT;
    opts.format = format;
    opts.clock = &noon;
    opts.journal = journal_path; /* never the machine's journal */
    struct dg_log *log = NULL;
    enum dg_err err = dg_log_open(&opts, NULL, &log);
    if (!err)
        err = dg_log_reopen(log, NULL);
    dg_log_event(log, DG_LOG_NOTICE, "daemon", fields, n_fields, "ready");
    dg_log_close(log);
    unsetenv("JOURNAL_STREAM");
    ck_assert_int_ge(dup2(saved, STDERR_FILENO), 0);
    ck_assert_int_eq(err, DG_OK);
    close(saved);
    close(ends[1]);
    flags = fcntl(ends[0], F_GETFL);
    ck_assert_int_eq(fcntl(ends[0], F_SETFL, flags | O_NONBLOCK), 0);
    ssize_t n = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static const char *through_stderr(bool is_journal, enum dg_log_format format)
{
    return through_stderr_with(is_journal, format, DG_LOG_NO_FIELDS);
}

/* Makes a socket at `path` that stands in for the journal's. */
static int stand_in_journal(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    ck_assert_uint_lt(strlen(path), sizeof address.sun_path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* The value of a field in a datagram, all of which is parsed; static. */
static const char *journal_value(const char *bytes, size_t len, const char *name)
{
    static char value[1000];
    size_t at = 0;
    memcpy(value, "(none)", sizeof "(none)");
    while (at < len) {
        const char *end = memchr(bytes + at, '\n', len - at);
        ck_assert_ptr_nonnull(end);
        size_t name_len = (size_t)(end - bytes) - at, value_len = 0;
        ck_assert_uint_le(name_len + 10, len - at);
        for (int i = 7; i >= 0; i--)
            value_len = value_len << 8 | (unsigned char)end[1 + i];
        ck_assert_uint_le(value_len, len - at - name_len - 10);
        ck_assert_int_eq(end[9 + value_len], '\n');
        if (name_len == strlen(name) && memcmp(bytes + at, name, name_len) == 0) {
            memcpy(value, end + 9, value_len);
            value[value_len] = '\0';
        }
        at += name_len + value_len + 10;
    }
    return value;
}

START_TEST(gives_the_journal_fields_to_search_for)
{
    static char bytes[16000];
    make_dir();
    int journal = stand_in_journal();
    journal_path = path;
    const char *shown = through_stderr_with(true, DG_LOG_LOGFMT,
                                            DG_LOG_FIELDS(dg_log_request(DG_SPAN("7f3a")),
                                                          dg_log_uint("bytes", 512),
                                                          dg_log_str("name", "two\nPRIORITY=0")));
    ck_assert_str_eq(shown, "");
    ssize_t n = recv(journal, bytes, sizeof bytes, MSG_DONTWAIT);
    ck_assert_int_gt(n, 0);
    size_t len = (size_t)n;
    ck_assert_str_eq(journal_value(bytes, len, "MESSAGE"),
                     "level=notice module=daemon msg=ready request=7f3a bytes=512 "
                     "name=\"two\\nPRIORITY=0\"");
    ck_assert_str_eq(journal_value(bytes, len, "PRIORITY"), "5");
    ck_assert_str_eq(journal_value(bytes, len, "SYSLOG_IDENTIFIER"), "dragomand");
    ck_assert_str_eq(journal_value(bytes, len, "DRAGOMAN_MODULE"), "daemon");
    ck_assert_str_eq(journal_value(bytes, len, "DRAGOMAN_REQUEST"), "7f3a");
    ck_assert_str_eq(journal_value(bytes, len, "DRAGOMAN_BYTES"), "512");
    ck_assert_str_eq(journal_value(bytes, len, "DRAGOMAN_NAME"), "two\nPRIORITY=0");
    close(journal); /* nobody reads it any more, so the line goes to stderr */
    ck_assert_str_eq(through_stderr(true, DG_LOG_LOGFMT),
                     "<5>level=notice module=daemon msg=ready\n");
    remove_dir();
}
END_TEST

START_TEST(leaves_the_time_to_the_journal)
{
    ck_assert_str_eq(through_stderr(true, DG_LOG_LOGFMT),
                     "<5>level=notice module=daemon msg=ready\n");
    ck_assert_str_eq(through_stderr(true, DG_LOG_JSON),
                     "<5>{\"level\":\"notice\",\"module\":\"daemon\",\"msg\":\"ready\"}\n");
    ck_assert_str_eq(through_stderr(false, DG_LOG_LOGFMT),
                     "time=2026-11-21T11:44:54.123Z level=notice module=daemon msg=ready\n");
}
END_TEST

START_TEST(counts_lines_it_could_not_write)
{
    struct dg_log_opts opts = DG_LOG_OPTS_DEFAULT;
    opts.path = "/dev/full";
    struct dg_log *log = NULL;
    ck_assert_int_eq(dg_log_open(&opts, NULL, &log), DG_OK);
    dg_log_event(log, DG_LOG_INFO, "unit", DG_LOG_NO_FIELDS, "lost");
    ck_assert_uint_eq(dg_log_lost(log), 1);
    dg_log_close(log);
}
END_TEST

enum { N_THREADS = 4, N_LINES = 400 };

static void *write_lines(void *arg)
{
    for (int i = 0; i < N_LINES; i++)
        dg_log_event(arg, DG_LOG_INFO, "thread", DG_LOG_FIELDS(dg_log_int("i", i)),
                     "a line of some length, so that mixed ones would show %d", i);
    return NULL;
}

START_TEST(keeps_lines_whole_while_threads_write_and_the_file_is_reopened)
{
    make_dir();
    struct dg_log *log = opened(DG_LOG_JSON, DG_LOG_INFO);
    pthread_t threads[N_THREADS];
    for (int i = 0; i < N_THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_lines, log), 0);
    for (int i = 0; i < 50; i++) {
        ck_assert_int_eq(dg_log_reopen(log, NULL), DG_OK);
        dg_log_set_level(log, i % 2 ? DG_LOG_INFO : DG_LOG_DEBUG);
    }
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    check_lines(content(path), DG_LOG_JSON, N_THREADS * N_LINES);
    ck_assert_uint_eq(dg_log_lost(log), 0);
    dg_log_close(log);
    remove_dir();
}
END_TEST

START_TEST(keeps_the_last_complaints)
{
    make_dir();
    struct dg_log *log = opened(DG_LOG_JSON, DG_LOG_DEBUG);
    static struct dg_log_kept events[DG_LOG_KEPT + 1];
    ck_assert_uint_eq(dg_log_recent(log, 0, events, DG_LOG_KEPT), 0);
    ck_assert_uint_eq(dg_log_recent(NULL, 0, events, DG_LOG_KEPT), 0);
    dg_log_event(log, DG_LOG_NOTICE, "test", DG_LOG_NO_FIELDS, "not a complaint");
    dg_log_event(log, DG_LOG_WARNING, "model",
                 DG_LOG_FIELDS(dg_log_str("path", "/a b"), dg_log_int("n", -3)), "li\nne");
    ck_assert_uint_eq(dg_log_recent(log, 0, events, DG_LOG_KEPT + 1), 1);
    ck_assert_str_eq(events[0].text, "li\\nne path=\"/a b\" n=-3");
    ck_assert_str_eq(events[0].module, "model");
    ck_assert_int_eq(events[0].level, DG_LOG_WARNING);
    ck_assert_uint_eq(events[0].wall_ns, UINT64_C(1795261494123) * DG_CLOCK_MS);
    ck_assert_uint_eq(dg_log_recent(log, events[0].number, events, 1), 0);

    char longest[2000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    for (int i = 0; i < DG_LOG_KEPT + 5; i++)
        dg_log_event(log, DG_LOG_ERROR, "a module's long name",
                     DG_LOG_FIELDS(dg_log_str("what", longest)), "%s%d", i % 2 ? longest : "", i);
    ck_assert_uint_eq(dg_log_recent(log, 0, events, DG_LOG_KEPT + 1), DG_LOG_KEPT);
    ck_assert_uint_eq(events[0].number, 7);
    for (int i = 0; i < DG_LOG_KEPT; i++) {
        ck_assert_uint_eq(events[i].number, (uint64_t)(7 + i));
        ck_assert_uint_lt(strlen(events[i].text), DG_LOG_KEPT_TEXT);
    }
    ck_assert_uint_eq(dg_log_recent(log, 7, events, 2), 2);
    ck_assert_uint_eq(events[1].number, 9);
    dg_log_close(log);
    remove_dir();
}
END_TEST

DG_UNIT_SLOW(keeps_the_last_complaints, writes_one_logfmt_line_an_event,
             writes_one_json_object_an_event, cannot_be_forged_by_any_value,
             cuts_long_text_and_says_so, starts_a_new_file_when_told_to_reopen,
             refuses_a_path_that_cannot_be_opened, keeps_the_old_file_when_reopening_fails,
             follows_the_level, gives_the_journal_fields_to_search_for,
             leaves_the_time_to_the_journal, counts_lines_it_could_not_write,
             keeps_lines_whole_while_threads_write_and_the_file_is_reopened)
