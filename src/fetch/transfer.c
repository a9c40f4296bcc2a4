/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One easy handle of libcurl. An attempt has one of three outcomes: done, failed for good, or worth
 * another try. The loop around the attempts counts them and pauses between them. */
#include "config.h"
#include "base/memory/error.h"
#include "fetch/transfer.h"

#include "base/file/file_out.h"
#include "base/memory/mem.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    PATH_CAP = 4096,
    ETAG_CAP = 200,
    REDIRECTS_MAX = 10,
    HEADS_MAX = 256 * 1024,   /* of the answer, and of those before it */
    UNWANTED_MAX = 64 * 1024, /* the body of a redirect or a refusal */
    PAUSE_MAX_MS = 60 * 1000,
    RETRY_AFTER_MAX_S = 600,
    COPY_PIECE = 64 * 1024,
};

struct dg_transfer {
    struct dg_transfer_opts opts;
    CURL *curl;
    char problem[CURL_ERROR_SIZE];
};

/* One request. */
struct attempt {
    struct dg_transfer *transfer;
    int fd;                  /* the file; -1: a text */
    struct dg_buf *text;     /* the text */
    uint64_t begin, at, max; /* offsets in the file */
    uint64_t size;           /* 0: not known */
    const char *asked;       /* the ETag in If-Range; "": none */
    char etag[ETAG_CAP];     /* of this answer */
    char next[DG_TRANSFER_URL_MAX];
    int64_t range_begin; /* the length in Content-Range; -1: none */
    /* the file's hash is known, so a file made of two versions would be noticed */
    bool has_hash;
    bool has_body;   /* the body of the answer belongs in the file */
    bool is_refused; /* the body does not, and is too long to read to its end */
    size_t heads;    /* bytes of the heads so far */
    bool restart;    /* the bytes that were fetched before are of no use */
    enum dg_err err; /* why the write callback stopped */
    struct dg_error why;
};

/* ---- Making ---------------------------------------------------------------------------------- */

enum dg_err dg_transfer_new(struct dg_transfer **transfer, const struct dg_transfer_opts *opts,
                            struct dg_error *error)
{
    struct dg_transfer *made = dg_try_calloc(1, sizeof *made);
    if (!made)
        return DG_ERR_NOMEM;
    made->opts = *opts;
    made->curl = curl_easy_init();
    if (!made->curl) {
        dg_free(made);
        return dg_error_set(error, DG_ERR_NOMEM, "libcurl cannot be started");
    }
    *transfer = made;
    return DG_OK;
}

void dg_transfer_free(struct dg_transfer *transfer)
{
    if (!transfer)
        return;
    curl_easy_cleanup(transfer->curl);
    dg_free(transfer);
}

/* The path of a URL, with its leading '/'. */
static const char *path_of(const char *url)
{
    const char *host = strstr(url, "://");
    const char *path = host ? strchr(host + 3, '/') : NULL;
    return path ? path : "/";
}

enum dg_err dg_transfer_place(const char *mirror, const char *url, char out[DG_TRANSFER_URL_MAX],
                              struct dg_error *error)
{
    int n;
    if (!mirror || !*mirror) {
        n = snprintf(out, DG_TRANSFER_URL_MAX, "%s", url);
    } else {
        size_t len = strlen(mirror);
        while (len && mirror[len - 1] == '/')
            len--;
        n = snprintf(out, DG_TRANSFER_URL_MAX, "%.*s%s", (int)len, mirror, path_of(url));
    }
    return n >= 0 && n < DG_TRANSFER_URL_MAX
               ? DG_OK
               : dg_error_set(error, DG_ERR_LIMIT, "an address is too long");
}

static bool is_stopped(const struct dg_transfer *transfer)
{
    return transfer->opts.stop && *transfer->opts.stop;
}

static enum dg_err stopped(struct dg_error *error)
{
    return dg_error_set(error, DG_ERR_CANCELLED, "stopped");
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

static bool is_header(struct dg_span line, const char *name, struct dg_span *value)
{
    const size_t len = strlen(name);
    if (line.len <= len || line.ptr[len] != ':' || strncasecmp(line.ptr, name, len) != 0)
        return false;
    *value = dg_span_sub(line, len + 1, line.len);
    while (value->len && (value->ptr[0] == ' ' || value->ptr[0] == '\t'))
        *value = dg_span_sub(*value, 1, value->len);
    while (value->len && strchr("\r\n \t", value->ptr[value->len - 1]))
        value->len--;
    return true;
}

static void copy_header(char *to, size_t cap, struct dg_span value)
{
    if (value.len < cap && value.len && !memchr(value.ptr, '\0', value.len))
        snprintf(to, cap, "%.*s", DG_SPAN_FMT(value));
}

static size_t on_header(char *bytes, size_t size, size_t n, void *ctx)
{
    struct attempt *attempt = ctx;
    const struct dg_span line = dg_span_make(bytes, size * n);
    struct dg_span value;
    attempt->heads += line.len;
    if (attempt->heads > HEADS_MAX) {
        attempt->err = dg_error_set(&attempt->why, DG_ERR_IO,
                                    "the head of the answer is larger than %d bytes", HEADS_MAX);
        return 0;
    }
    /* every answer begins with one, also a redirect */
    if (dg_span_starts(line, DG_SPAN("HTTP/"))) {
        attempt->etag[0] = attempt->next[0] = '\0';
        attempt->range_begin = -1;
    } else if (is_header(line, "ETag", &value)) {
        copy_header(attempt->etag, sizeof attempt->etag, value);
    } else if (is_header(line, "Next-Page", &value)) {
        copy_header(attempt->next, sizeof attempt->next, value);
    } else if (is_header(line, "Content-Range", &value) &&
               dg_span_starts(value, DG_SPAN("bytes "))) {
        char text[32] = "";
        copy_header(text, sizeof text, dg_span_sub(value, 6, strcspn(value.ptr + 6, "-\r\n")));
        attempt->range_begin = *text >= '0' && *text <= '9' ? strtoll(text, NULL, 10) : -1;
    }
    return size * n;
}

/* Whether a part of the file is of the version that was asked for. A server should say so; where it
 * does not, only a hash can tell. */
static bool is_version(const struct attempt *attempt)
{
    return !*attempt->asked ||
           (*attempt->etag ? strcmp(attempt->etag, attempt->asked) == 0 : attempt->has_hash);
}

/* Handles the first bytes of an answer: finds where in the file they belong. */
static bool begin_body(struct attempt *attempt)
{
    long status = 0;
    curl_easy_getinfo(attempt->transfer->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200 && status != 206)
        return false;
    attempt->has_body = true;
    if (attempt->fd < 0)
        return true;
    if (status == 200) {
        attempt->at = 0;
        attempt->begin = 0;
    } else if (attempt->range_begin != (int64_t)attempt->begin || !is_version(attempt)) {
        attempt->restart = true;
        attempt->err =
            dg_error_set(&attempt->why, DG_ERR_FORMAT,
                         "the server sent a different part of the file than was asked for");
        return true;
    }
    if (ftruncate(attempt->fd, (off_t)attempt->at) != 0 ||
        lseek(attempt->fd, (off_t)attempt->at, SEEK_SET) < 0)
        attempt->err = dg_error_errno(&attempt->why, "cannot write the file");
    return true;
}

static void put(struct attempt *attempt, const char *bytes, size_t len)
{
    if (attempt->fd < 0) {
        attempt->err = dg_buf_append(attempt->text, bytes, len);
        if (attempt->err)
            dg_error_set(&attempt->why, attempt->err, "the answer is larger than %zu bytes",
                         attempt->text->max);
        return;
    }
    const uint64_t limit = attempt->size ? attempt->size : attempt->max;
    if (len > limit - attempt->at) {
        attempt->restart = true;
        attempt->err =
            dg_error_set(&attempt->why, DG_ERR_INTEGRITY,
                         "the file is larger than the %" PRIu64 " bytes that it may have", limit);
        return;
    }
    while (len) {
        const ssize_t n = write(attempt->fd, bytes, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            const int number = errno;
            attempt->err = dg_error_set(&attempt->why, dg_err_from_errno(number),
                                        "cannot write the file: %s", strerror(number));
            return;
        }
        bytes += n;
        len -= (size_t)n;
        attempt->at += (uint64_t)n;
    }
}

static size_t on_body(char *bytes, size_t size, size_t n, void *ctx)
{
    struct attempt *attempt = ctx;
    if (!attempt->has_body && !begin_body(attempt))
        return size * n; /* the body is an error page */
    if (!attempt->err)
        put(attempt, bytes, size * n);
    return attempt->err ? 0 : size * n;
}

static int on_progress(void *ctx, curl_off_t total, curl_off_t now, curl_off_t up_total,
                       curl_off_t up_now)
{
    struct attempt *attempt = ctx;
    const struct dg_transfer *transfer = attempt->transfer;
    (void)total, (void)up_total, (void)up_now;
    attempt->is_refused = !attempt->has_body && now > UNWANTED_MAX;
    if (transfer->opts.progress)
        transfer->opts.progress(transfer->opts.ctx, attempt->at);
    return is_stopped(transfer) || attempt->is_refused;
}

/* ---- One attempt ----------------------------------------------------------------------------- */

enum outcome { DONE, FAILED, AGAIN };

static void set_up(struct attempt *attempt, const char *url)
{
    struct dg_transfer *transfer = attempt->transfer;
    CURL *curl = transfer->curl;
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "dragoman/" PACKAGE_VERSION);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)transfer->opts.stall_ms);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                     (long)(transfer->opts.stall_ms < 1000 ? 1 : transfer->opts.stall_ms / 1000));
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, transfer->problem);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, attempt);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, attempt);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, attempt);
    if (transfer->opts.ca_file && *transfer->opts.ca_file) {
        curl_easy_setopt(curl, CURLOPT_CAINFO, transfer->opts.ca_file);
        curl_easy_setopt(curl, CURLOPT_CAPATH, NULL); /* trust only these authorities */
    }
    transfer->problem[0] = '\0';
}

/* Decides what an answer other than 200 and 206 means. */
static enum outcome judge_status(struct attempt *attempt, long status, const char *url)
{
    struct dg_error *why = &attempt->why;
    if (status == 416 && attempt->begin > 0) {
        attempt->restart = true;
        attempt->err =
            dg_error_set(why, DG_ERR_FORMAT,
                         "%s: the server has nothing after the part that is already here", url);
        return AGAIN;
    }
    if (status == 404 || status == 410) {
        attempt->err = dg_error_set(why, DG_ERR_NOT_FOUND, "%s is gone (%ld)", url, status);
        return FAILED;
    }
    if (status == 401 || status == 403) {
        attempt->err = dg_error_set(why, DG_ERR_DENIED,
                                    "%s: the server refuses it (%ld); a proxy may ask for a login",
                                    url, status);
        return FAILED;
    }
    attempt->err = dg_error_set(why, DG_ERR_IO, "%s: the server answers %ld", url, status);
    return status == 429 || status >= 500 || status == 408 ? AGAIN : FAILED;
}

static enum outcome judge_failure(struct attempt *attempt, CURLcode rc, const char *url)
{
    struct dg_transfer *transfer = attempt->transfer;
    const char *problem = *transfer->problem ? transfer->problem : curl_easy_strerror(rc);
    if (is_stopped(transfer)) {
        attempt->err = stopped(&attempt->why);
        return FAILED;
    }
    if (attempt->err) { /* the write callback stopped the transfer and says why */
        dg_error_wrap(&attempt->why, attempt->err, "%s", url);
        return attempt->restart && attempt->err != DG_ERR_INTEGRITY ? AGAIN : FAILED;
    }
    long proxy_status = 0;
    curl_easy_getinfo(transfer->curl, CURLINFO_HTTP_CONNECTCODE, &proxy_status);
    if (proxy_status == 407) {
        attempt->err = dg_error_set(&attempt->why, DG_ERR_DENIED,
                                    "%s: the proxy asks for a login; name it in the environment: "
                                    "https_proxy=http://NAME:PASSWORD@HOST:PORT",
                                    url);
        return FAILED;
    }
    if (proxy_status >= 400 && proxy_status < 500) {
        attempt->err = dg_error_set(&attempt->why, DG_ERR_DENIED, "%s: the proxy refuses it (%ld)",
                                    url, proxy_status);
        return FAILED;
    }
    switch (rc) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_SSL_CONNECT_ERROR:
        attempt->err = dg_error_set(&attempt->why, DG_ERR_IO, "%s: %s", url, problem);
        return AGAIN;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        attempt->err = dg_error_set(
            &attempt->why, DG_ERR_IO,
            "%s: %s; a machine behind a proxy names it in the environment (https_proxy), one "
            "without a network takes files that were fetched elsewhere (--print-urls, --offline)",
            url, problem);
        return FAILED;
    case CURLE_UNSUPPORTED_PROTOCOL:
        attempt->err = dg_error_set(&attempt->why, DG_ERR_DENIED,
                                    "%s: it, or what it redirects to, is not https", url);
        return FAILED;
    case CURLE_PEER_FAILED_VERIFICATION:
        attempt->err = dg_error_set(
            &attempt->why, DG_ERR_DENIED,
            "%s: its certificate cannot be trusted: %s; a company's own authority is named by "
            "--ca-file",
            url, problem);
        return FAILED;
    default:
        attempt->err = dg_error_set(&attempt->why, DG_ERR_IO, "%s: %s", url, problem);
        return FAILED;
    }
}

static enum outcome try_once(struct attempt *attempt, const char *url, const char *etag)
{
    CURL *curl = attempt->transfer->curl;
    struct curl_slist *headers = NULL;
    char range[32], if_range[ETAG_CAP + 16];
    long status = 0;
    attempt->has_body = attempt->is_refused = attempt->restart = false;
    attempt->heads = 0;
    attempt->asked = etag;
    attempt->err = DG_OK;
    attempt->why.text[0] = attempt->etag[0] = attempt->next[0] = '\0';
    attempt->range_begin = -1;
    if (!*etag && (!attempt->has_hash || !attempt->size))
        attempt->at = 0;
    attempt->begin = attempt->at;
    set_up(attempt, url);
    if (attempt->begin > 0) {
        snprintf(range, sizeof range, "%" PRIu64 "-", attempt->begin);
        curl_easy_setopt(curl, CURLOPT_RANGE, range);
        if (*etag) {
            snprintf(if_range, sizeof if_range, "If-Range: %s", etag);
            headers = curl_slist_append(NULL, if_range);
            curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
        }
    }
    const CURLcode rc = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
    const bool is_wanted = status == 200 || status == 206;
    if (rc != CURLE_OK && (is_wanted || !attempt->is_refused))
        return judge_failure(attempt, rc, url);
    if (!is_wanted)
        return judge_status(attempt, status, url);
    if (!attempt->has_body) { /* an empty file */
        begin_body(attempt);
        if (attempt->err)
            return FAILED;
    }
    if (attempt->size && attempt->at < attempt->size) {
        attempt->err = dg_error_set(&attempt->why, DG_ERR_TRUNCATED,
                                    "%s: it ends after %" PRIu64 " of %" PRIu64 " bytes", url,
                                    attempt->at, attempt->size);
        return AGAIN;
    }
    return DONE;
}

/* ---- Pauses ---------------------------------------------------------------------------------- */

static enum dg_err pause_for(struct dg_transfer *transfer, int64_t ms, struct dg_error *error)
{
    enum { STEP_MS = 100 };
    while (ms > 0 && !is_stopped(transfer)) {
        const int64_t step = ms < STEP_MS ? ms : STEP_MS;
        const struct timespec time = {0, (long)step * 1000 * 1000};
        nanosleep(&time, NULL);
        ms -= step;
    }
    return is_stopped(transfer) ? stopped(error) : DG_OK;
}

/* Returns the pause before retry number `n`, from 1. */
static int64_t pause_of(struct dg_transfer *transfer, int n)
{
    curl_off_t after = 0;
    int64_t ms = transfer->opts.pause_ms;
    for (int i = 1; i < n && ms < PAUSE_MAX_MS; i++)
        ms *= 2;
    if (ms > PAUSE_MAX_MS)
        ms = PAUSE_MAX_MS;
    curl_easy_getinfo(transfer->curl, CURLINFO_RETRY_AFTER, &after);
    if (after > RETRY_AFTER_MAX_S)
        after = RETRY_AFTER_MAX_S;
    return after > 0 && (int64_t)after * 1000 > ms ? (int64_t)after * 1000 : ms;
}

static enum dg_err wait_and_say(struct attempt *attempt, int n, struct dg_error *error)
{
    struct dg_transfer *transfer = attempt->transfer;
    const int64_t ms = pause_of(transfer, n);
    char sentence[DG_ERROR_CAP + 64];
    snprintf(sentence, sizeof sentence, "%s; trying again in %.1f s",
             dg_error_text(&attempt->why, attempt->err), (double)ms / 1000);
    if (transfer->opts.say)
        transfer->opts.say(transfer->opts.ctx, sentence);
    return pause_for(transfer, ms, error);
}

/* Tries until the transfer is done, has failed for good, or has failed too often in a row without a
 * new byte. `keep` is called after every attempt. */
static enum dg_err run(struct attempt *attempt, const char *url, char etag[ETAG_CAP],
                       void (*keep)(struct attempt *attempt, char *etag, void *ctx), void *ctx,
                       struct dg_error *error)
{
    uint64_t most = attempt->at; /* receiving the same beginning again is no progress */
    for (int in_a_row = 0;;) {
        if (attempt->text)
            dg_buf_clear(attempt->text);
        const enum outcome outcome = try_once(attempt, url, etag);
        const uint64_t reached = attempt->at;
        if (keep)
            keep(attempt, etag, ctx);
        if (outcome == DONE)
            return DG_OK;
        in_a_row = reached > most ? 1 : in_a_row + 1;
        most = reached > most ? reached : most;
        if (outcome == AGAIN && in_a_row <= attempt->transfer->opts.retries) {
            enum dg_err err = wait_and_say(attempt, in_a_row, error);
            if (err)
                return err;
            continue;
        }
        dg_error_set(error, attempt->err, "%s", dg_error_text(&attempt->why, attempt->err));
        return attempt->err;
    }
}

/* ---- Files ----------------------------------------------------------------------------------- */

static bool join(char out[PATH_CAP], const char *path, const char *end)
{
    const int n = snprintf(out, PATH_CAP, "%s%s", path, end);
    return n >= 0 && n < PATH_CAP;
}

void dg_transfer_discard(const char *path)
{
    char name[PATH_CAP];
    if (join(name, path, ".part"))
        unlink(name);
    if (join(name, path, ".etag"))
        unlink(name);
}

/* Reads the strong validator of a version (ETag); a weak one does not promise the same bytes. */
static void read_etag(const char *path, char etag[ETAG_CAP])
{
    FILE *file = fopen(path, "re");
    etag[0] = '\0';
    if (!file)
        return;
    if (!fgets(etag, ETAG_CAP, file))
        etag[0] = '\0';
    fclose(file);
    etag[strcspn(etag, "\r\n")] = '\0';
}

static void keep_etag(struct attempt *attempt, char *etag, void *ctx)
{
    const char *path = ctx;
    if (attempt->restart) {
        attempt->at = 0;
        if (ftruncate(attempt->fd, 0) != 0)
            attempt->at = 0;
        etag[0] = '\0';
        unlink(path);
        return;
    }
    if (!attempt->has_body || attempt->begin > 0)
        return;
    snprintf(etag, ETAG_CAP, "%s", attempt->etag[0] == '"' ? attempt->etag : "");
    if (!*etag || dg_file_out_save(path, 0600, etag, strlen(etag), NULL) != DG_OK)
        unlink(path);
}

static enum dg_err finish(int fd, const char *part, const char *mark, const char *path,
                          struct dg_error *error)
{
    if (fsync(fd) != 0 || rename(part, path) != 0)
        return dg_error_errno(error, "cannot write %s", path);
    unlink(mark);
    return DG_OK;
}

/* Copies a file of the offline folder. */
static enum dg_err copy(const char *from, const char *to, uint64_t max, struct dg_error *error)
{
    struct dg_file_out *out = NULL;
    char piece[COPY_PIECE];
    FILE *file = fopen(from, "rbe");
    if (!file)
        return dg_error_errno(error, "cannot read %s", from);
    enum dg_err err = dg_file_out_open(&out, to, 0644, error);
    size_t n = 0;
    while (!err && (n = fread(piece, 1, sizeof piece, file)) > 0) {
        err = dg_file_out_write(out, piece, n, error);
        if (!err && dg_file_out_len(out) > max)
            err =
                dg_error_set(error, DG_ERR_INTEGRITY,
                             "%s is larger than the %" PRIu64 " bytes that it may have", from, max);
    }
    if (!err && ferror(file))
        err = dg_error_set(error, DG_ERR_IO, "cannot read %s", from);
    fclose(file);
    return out ? dg_file_out_close(out, err, error) : err;
}

/* Finds the file under the names that wget -x, wget -x -nH and wget would give it. */
static enum dg_err find_offline(const char *dir, const char *url, char found[PATH_CAP],
                                struct dg_error *error)
{
    const char *host = strstr(url, "://"), *path = path_of(url), *last = strrchr(path, '/') + 1;
    const char *const tries[] = {host ? host + 3 : url, path + 1, last};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        const int n = snprintf(found, PATH_CAP, "%s/%s", dir, tries[i]);
        if (*tries[i] && n >= 0 && n < PATH_CAP && access(found, R_OK) == 0)
            return DG_OK;
    }
    return dg_error_set(error, DG_ERR_NOT_FOUND,
                        "%s has no %s; 'dragoman get --print-urls' prints what belongs there", dir,
                        last);
}

enum dg_err dg_transfer_file(struct dg_transfer *transfer, const struct dg_transfer_want *want,
                             const char *path, struct dg_error *error)
{
    const char *url = want->url;
    const uint64_t size = want->size, max = want->max;
    char part[PATH_CAP], mark[PATH_CAP], etag[ETAG_CAP], at[DG_TRANSFER_URL_MAX];
    struct stat st;
    if (!join(part, path, ".part") || !join(mark, path, ".etag"))
        return dg_error_set(error, DG_ERR_LIMIT, "the path is too long: %s", path);
    if (transfer->opts.offline && *transfer->opts.offline) {
        enum dg_err err = find_offline(transfer->opts.offline, url, part, error);
        return err ? err : copy(part, path, size ? size : max, error);
    }
    enum dg_err err = dg_transfer_place(transfer->opts.mirror, url, at, error);
    if (err)
        return err;
    struct attempt *attempt = dg_try_calloc(1, sizeof *attempt);
    if (!attempt)
        return DG_ERR_NOMEM;
    attempt->transfer = transfer;
    attempt->has_hash = want->has_hash;
    attempt->size = size;
    attempt->max = max;
    attempt->fd = open(part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (attempt->fd < 0 || fstat(attempt->fd, &st) != 0) {
        err = dg_error_errno(error, "cannot create %s", part);
    } else {
        attempt->at = (uint64_t)st.st_size;
        read_etag(mark, etag);
        if (attempt->at > (size ? size : max))
            attempt->at = 0;
        if (size == 0 || attempt->at < size)
            err = run(attempt, at, etag, keep_etag, mark, error);
    }
    if (!err)
        err = finish(attempt->fd, part, mark, path, error);
    if (attempt->fd >= 0)
        close(attempt->fd);
    if (err && attempt->at == 0)
        dg_transfer_discard(path);
    dg_free(attempt);
    return err;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static enum dg_err read_offline(const char *dir, const char *url, struct dg_buf *text,
                                struct dg_error *error)
{
    char path[PATH_CAP], piece[COPY_PIECE];
    size_t n = 0;
    enum dg_err err = find_offline(dir, url, path, error);
    if (err)
        return err;
    FILE *file = fopen(path, "rbe");
    if (!file)
        return dg_error_errno(error, "cannot read %s", path);
    dg_buf_clear(text);
    while (!err && (n = fread(piece, 1, sizeof piece, file)) > 0)
        err = dg_buf_append(text, piece, n);
    if (!err && ferror(file))
        err = DG_ERR_IO;
    fclose(file);
    return err ? dg_error_set(error, err, "cannot read %s", path) : DG_OK;
}

enum dg_err dg_transfer_text(struct dg_transfer *transfer, const char *url, struct dg_buf *text,
                             char next[DG_TRANSFER_URL_MAX], struct dg_error *error)
{
    char at[DG_TRANSFER_URL_MAX], etag[ETAG_CAP] = "";
    if (next)
        next[0] = '\0';
    if (transfer->opts.offline && *transfer->opts.offline)
        return read_offline(transfer->opts.offline, url, text, error);
    enum dg_err err = dg_transfer_place(transfer->opts.mirror, url, at, error);
    struct attempt *attempt = err ? NULL : dg_try_calloc(1, sizeof *attempt);
    if (!attempt)
        return err ? err : DG_ERR_NOMEM;
    attempt->transfer = transfer;
    attempt->fd = -1;
    attempt->text = text;
    err = run(attempt, at, etag, NULL, NULL, error);
    if (!err && next)
        memcpy(next, attempt->next, sizeof attempt->next);
    dg_free(attempt);
    return err;
}

/* ---- The daemon ------------------------------------------------------------------------------ */

static size_t on_answer(char *bytes, size_t size, size_t n, void *ctx)
{
    return dg_buf_append(ctx, bytes, size * n) == DG_OK ? size * n : 0;
}

enum dg_err dg_transfer_ask(const struct dg_transfer_ask *ask, struct dg_buf *answer, int *status,
                            struct dg_error *error)
{
    char auth[400];
    struct curl_slist *headers = NULL;
    long code = 0;
    CURL *curl = curl_easy_init();
    if (!curl)
        return DG_ERR_NOMEM;
    headers = curl_slist_append(headers, "Content-Type: application/json");
    if (ask->key && *ask->key) {
        snprintf(auth, sizeof auth, "Authorization: Bearer %s", ask->key);
        headers = curl_slist_append(headers, auth);
    }
    curl_easy_setopt(curl, CURLOPT_URL, ask->url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)ask->timeout_ms);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_answer);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    if (ask->socket && *ask->socket)
        curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, ask->socket);
    if (ask->body)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, ask->body);
    if (ask->method)
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, ask->method);
    const CURLcode rc = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    if (rc != CURLE_OK)
        return dg_error_set(error, rc == CURLE_COULDNT_CONNECT ? DG_ERR_NOT_FOUND : DG_ERR_IO,
                            "the daemon cannot be reached: %s", curl_easy_strerror(rc));
    *status = (int)code;
    return DG_OK;
}
