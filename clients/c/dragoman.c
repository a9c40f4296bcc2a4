/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A request has a connection while it is in progress; idle connections wait for the next request.
 * If a kept connection is lost before any byte of an answer has arrived, the server has probably
 * closed it in the meantime: the request is then sent again on a new connection. Server-sent
 * events are passed on as soon as they arrive; other answers are collected. When a stream breaks
 * off, the request is sent again with the id of its last event, and the server sends the events
 * after that one. A server whose translation would differ from what has already arrived refuses
 * ("stream_changed"). If the request was for a single plain text, the client then resumes at the
 * end of the last complete sentence, with what has arrived of the next one as the prefix.
 *
 *     request: resolve? -> connect? -> write -> answer -> DONE or FAILED
 *                 ^                      |
 *                 +------ timer <--------+  the server was busy (429, 503), the kept connection was
 *                                           gone, or the stream broke off */
#include "dragoman.h"
#include "answer.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RETRIES = 2,
    RETRY_SECONDS_MAX = 30,
    LOST_MS = 500, /* wait before another try for a stream that breaks off without new events */
    BODY_MAX = 256 << 20,
    CODE_MAX = 64,
    MESSAGE_MAX = 512
};

struct bytes {
    char *at;
    size_t len, cap;
};

struct connection {
    struct dragoman *server;
    struct connection *next; /* in the server's list */
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_write_t write;
    struct dragoman_request *request; /* NULL: idle */
    bool is_kept;                     /* it has carried a request before */
    bool is_writing;
    bool is_closing;
    char buffer[65536];
};

struct dragoman {
    uv_loop_t *loop;
    char *host, *port, *prefix, *key;
    char *authority; /* host and port as they are written in the URL */
    struct connection *connections;
    struct dragoman_request *requests;
    bool is_closed;
};

/* How far the translation of one plain text has come. */
struct progress {
    json_t *asked;      /* fields of the request; NULL: not one plain text, or not resumable */
    size_t from;        /* offset in the text where the current message begins */
    size_t done;        /* offset in the text up to which the sentences are complete */
    struct bytes shown; /* all of the translation that the caller has received */
    size_t open;        /* offset in `shown` where the unfinished sentence begins; from there: */
    size_t n_again, n_known; /* n_again bytes will arrive once more; n_known of them have */
    int n_changed;           /* how often the translation changed since new text last arrived */
};

struct dragoman_request {
    struct dragoman *server;
    struct dragoman_request *next;
    dragoman_on_event *on_event;
    void *user;
    struct bytes message;          /* the whole request */
    size_t head_len;               /* length of its headers, without the empty line */
    struct bytes seen;             /* id of the last event that arrived; empty: none */
    struct bytes resume;           /* the header that sends this id to the server */
    int n_lost;                    /* how often the stream broke off since that event */
    bool is_again;                 /* it will be sent again: ignore what still arrives */
    struct connection *connection; /* NULL before the request has one and after */
    uv_getaddrinfo_t resolve;
    uv_timer_t timer;
    bool is_resolving, is_cancelled, has_news;
    bool is_told; /* DONE or FAILED was delivered; the rest of the answer is only read */
    int n_tries;
    struct progress progress;
    struct answer answer;
    struct bytes body; /* body of the answer; for a stream, the event being read */
    bool is_over;
    const char *failure; /* why it failed before an answer; static */
};

/* ---- Bytes ----------------------------------------------------------------------------------- */

static int append(struct bytes *bytes, const void *from, size_t n)
{
    if (n > BODY_MAX || bytes->len > BODY_MAX - n)
        return -1;
    if (bytes->len + n + 1 > bytes->cap) {
        size_t cap = (bytes->len + n + 1) * 2;
        char *grown = realloc(bytes->at, cap);
        if (!grown)
            return -1;
        bytes->at = grown;
        bytes->cap = cap;
    }
    memcpy(bytes->at + bytes->len, from, n);
    bytes->len += n;
    bytes->at[bytes->len] = '\0';
    return 0;
}

static int append_text(struct bytes *bytes, const char *text)
{
    return append(bytes, text, strlen(text));
}

/* ---- Ending a request or connection ---------------------------------------------------------- */

static void free_server_if_over(struct dragoman *server)
{
    if (!server->is_closed || server->connections || server->requests)
        return;
    free(server->host);
    free(server->port);
    free(server->prefix);
    free(server->key);
    free(server->authority);
    free(server);
}

static void on_connection_closed(uv_handle_t *handle)
{
    struct connection *connection = handle->data;
    struct dragoman *server = connection->server;
    for (struct connection **at = &server->connections; *at; at = &(*at)->next)
        if (*at == connection) {
            *at = connection->next;
            break;
        }
    free(connection);
    free_server_if_over(server);
}

static void close_connection(struct connection *connection)
{
    if (connection->request)
        connection->request->connection = NULL;
    connection->request = NULL;
    if (!connection->is_closing)
        uv_close((uv_handle_t *)&connection->tcp, on_connection_closed);
    connection->is_closing = true;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct dragoman_request *request = handle->data;
    struct dragoman *server = request->server;
    for (struct dragoman_request **at = &server->requests; *at; at = &(*at)->next)
        if (*at == request) {
            *at = request->next;
            break;
        }
    free(request->message.at);
    free(request->seen.at);
    free(request->resume.at);
    free(request->body.at);
    free(request->progress.shown.at);
    json_decref(request->progress.asked);
    free(request);
    free_server_if_over(server);
}

/* Frees the request as soon as libuv no longer uses any part of it. */
static void finish(struct dragoman_request *request)
{
    request->is_over = true;
    if (request->connection)
        close_connection(request->connection);
    if (request->is_resolving)
        uv_cancel((uv_req_t *)&request->resolve); /* its callback calls finish again */
    else if (!uv_is_closing((uv_handle_t *)&request->timer))
        uv_close((uv_handle_t *)&request->timer, on_timer_closed);
}

static void tell(struct dragoman_request *request, const struct dragoman_event *event)
{
    if (request->is_cancelled || request->is_over || request->is_told)
        return;
    request->is_told = event->kind == DRAGOMAN_DONE || event->kind == DRAGOMAN_FAILED;
    request->on_event(request->user, event);
}

static void fail(struct dragoman_request *request, const char *code, const char *message)
{
    tell(request, &(struct dragoman_event){.kind = DRAGOMAN_FAILED,
                                           .code = code,
                                           .message = message,
                                           .status = request->answer.status,
                                           .retry_after = -1});
    finish(request);
}

/* ---- Trying again ---------------------------------------------------------------------------- */

static void on_retry(uv_timer_t *timer);

static void start_later(struct dragoman_request *request, uint64_t ms)
{
    if (request->connection)
        close_connection(request->connection);
    request->is_again = true;
    uv_timer_start(&request->timer, on_retry, ms, 0);
}

/* Asks again for a stream that broke off, unless the request has ended or too many tries have
 * brought nothing new. Returns whether it does. */
static bool goes_on(struct dragoman_request *request)
{
    if ((request->seen.len == 0 && !request->answer.is_stream) || request->is_told ||
        request->is_over || request->is_cancelled || request->n_lost > RETRIES)
        return false;
    start_later(request, (uint64_t)request->n_lost * LOST_MS);
    request->n_lost++;
    return true;
}

static int write_message(struct dragoman_request *request, const char *path, const char *body);

/* What has arrived of the unfinished sentence, to be forced as the beginning of its translation.
 * The last word may be cut off in the middle, and a model rarely continues such a fragment: the
 * first try leaves it out, and only the second one forces it too. */
static json_t *forced_prefix(const struct progress *progress)
{
    const char *from = progress->shown.at + progress->open;
    const char *end = progress->shown.at + progress->shown.len;
    while (from < end && *from == ' ')
        from++;
    if (progress->n_changed == 0)
        while (end > from && *--end != ' ')
            ;
    return json_stringn(from, (size_t)(end - from));
}

static int set_prefix(json_t *fields, json_t *prefix)
{
    if (json_string_length(prefix) > 0)
        return json_object_set(fields, "prefix", prefix);
    json_object_del(fields, "prefix");
    return 0;
}

/* The body of a request for the rest of the text. Until more than the caller's own prefix has
 * arrived, that prefix is kept. */
static char *body_of_rest(const struct progress *progress)
{
    const json_t *text = json_object_get(progress->asked, "text");
    const char *own = json_string_value(json_object_get(progress->asked, "prefix"));
    json_t *fields = json_copy(progress->asked);
    json_t *prefix = progress->shown.len ? forced_prefix(progress) : json_string("");
    const char *forced = json_string_value(prefix);
    char *body = NULL;
    bool is_own = progress->done == 0 && own && forced && strncmp(own, forced, strlen(forced)) == 0;
    if (fields && forced &&
        json_object_set_new(fields, "text",
                            json_stringn(json_string_value(text) + progress->done,
                                         json_string_length(text) - progress->done)) == 0 &&
        (is_own || set_prefix(fields, prefix) == 0))
        body = json_dumps(fields, JSON_COMPACT);
    json_decref(prefix);
    json_decref(fields);
    return body;
}

/* For a server whose translation differs from what has already arrived: asks for the rest with that
 * text as a forced prefix. Returns false if this is impossible, or was done too often without any
 * new text. */
static bool goes_on_with_prefix(struct dragoman_request *request)
{
    struct progress *progress = &request->progress;
    if (!progress->asked || request->is_told || progress->n_changed >= RETRIES)
        return false;
    char *body = body_of_rest(progress);
    start_later(request, 0); /* closes the connection, which ends the use of the message */
    request->message.len = request->seen.len = 0;
    request->failure = !body || write_message(request, "/v1/translate", body) < 0
                           ? "There is no memory to go on with the stream."
                           : NULL;
    free(body);
    progress->from = progress->done;
    progress->n_again = progress->shown.len - progress->open;
    progress->n_known = 0;
    progress->n_changed++;
    return true;
}

static void does_not_go_on(struct dragoman_request *request)
{
    if (!goes_on_with_prefix(request))
        fail(request, "stream_changed",
             "The stream broke off, and what another server says does not go on with it.");
}

/* Whether a stream that ends with this error may be resumed: the request was not at fault. */
static bool is_no_fault(const char *code)
{
    static const char *const codes[] = {"draining", "cancelled", "overloaded", "unavailable",
                                        "worker_stalled"};
    for (size_t i = 0; code && i < sizeof codes / sizeof *codes; i++)
        if (strcmp(code, codes[i]) == 0)
            return true;
    return false;
}

/* ---- What the server says -------------------------------------------------------------------- */

static const char *string_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* {"error":{...}}, from an answer or a stream. */
static void tell_error(struct dragoman_request *request, const char *json, size_t len)
{
    json_t *root = json_loadb(json, len, JSON_ALLOW_NUL, NULL);
    const json_t *error = json_object_get(root, "error");
    char message[MESSAGE_MAX];
    snprintf(message, sizeof message, "The server answered with status %d.",
             request->answer.status);
    const char *code = string_of(error, "code"), *sentence = string_of(error, "message");
    bool is_changed = request->answer.is_stream && code && strcmp(code, "stream_changed") == 0;
    if ((request->answer.is_stream && is_no_fault(code) && goes_on(request)) ||
        (is_changed && goes_on_with_prefix(request))) {
        json_decref(root);
        return;
    }
    tell(request, &(struct dragoman_event){.kind = DRAGOMAN_FAILED,
                                           .code = code ? code : "http_error",
                                           .message = sentence ? sentence : message,
                                           .field = string_of(error, "field"),
                                           .status = request->answer.status,
                                           .retry_after = request->answer.retry_after,
                                           .json = json,
                                           .json_len = len});
    json_decref(root);
    finish(request);
}

static void tell_done(struct dragoman_request *request, const char *json, size_t len)
{
    json_error_t error;
    json_t *root = json_loadb(json, len, JSON_ALLOW_NUL, &error);
    if (!root) {
        fail(request, "unreachable", "What answers at this address is not dragomand.");
        return;
    }
    json_t *first = json_array_get(json_object_get(root, "translations"), 0);
    char *whole = NULL;
    const struct progress *progress = &request->progress;
    if (progress->from > 0 && progress->shown.len > 0 && first) { /* the answer is for the rest */
        json_object_set_new(first, "text", json_stringn(progress->shown.at, progress->shown.len));
        whole = json_dumps(root, JSON_COMPACT);
    }
    json_t *text = json_object_get(first, "text");
    tell(request, &(struct dragoman_event){.kind = DRAGOMAN_DONE,
                                           .text = json_string_value(text),
                                           .len = json_string_length(text),
                                           .json = whole ? whole : json,
                                           .json_len = whole ? strlen(whole) : len,
                                           .status = request->answer.status,
                                           .retry_after = -1});
    free(whole);
    json_decref(root);
}

/* Leaves a reusable connection open for the next request, without keeping the loop running. */
static void keep_connection(struct dragoman_request *request)
{
    struct connection *connection = request->connection;
    if (!connection || connection->is_writing || !request->answer.keeps)
        return;
    connection->request = NULL;
    connection->is_kept = true;
    request->connection = NULL;
    uv_unref((uv_handle_t *)&connection->tcp);
}

/* Removes from the token's text what the caller has already received; returns false if the text
 * differs from that. New text is added to `shown`: if there is no memory for it, the stream can no
 * longer be resumed with a prefix. */
static bool take_token(struct progress *progress, const char **text, size_t *len)
{
    size_t again = progress->n_again - progress->n_known;
    again = *len < again ? *len : again;
    if (!progress->asked)
        return true;
    if (again > 0 &&
        memcmp(progress->shown.at + progress->open + progress->n_known, *text, again) != 0)
        return false;
    progress->n_known += again;
    *text += again;
    *len -= again;
    if (*len == 0)
        return true;
    progress->n_changed = 0;
    if (append(&progress->shown, *text, *len) < 0) {
        json_decref(progress->asked);
        progress->asked = NULL;
    }
    return true;
}

static void tell_token(struct dragoman_request *request, const char *json, size_t len)
{
    json_t *root = json_loadb(json, len, JSON_ALLOW_NUL, NULL);
    const json_t *value = json_object_get(root, "text");
    const char *text = json_string_value(value);
    size_t n = json_string_length(value);
    if (text && !take_token(&request->progress, &text, &n))
        does_not_go_on(request);
    else if (request->progress.from > 0 && !request->progress.asked)
        fail(request, "too_large", "The answer is larger than this client keeps.");
    else if (text && n > 0)
        tell(request, &(struct dragoman_event){
                          .kind = DRAGOMAN_TOKEN, .text = text, .len = n, .retry_after = -1});
    json_decref(root);
}

/* A sentence is complete. The caller gets its offset in the whole text, even if this request was
 * only for the rest of it. */
static void tell_sentence(struct dragoman_request *request, const char *json, size_t len)
{
    struct progress *progress = &request->progress;
    json_t *root = progress->asked ? json_loadb(json, len, JSON_ALLOW_NUL, NULL) : NULL;
    const json_t *start = json_object_get(root, "start"), *length = json_object_get(root, "length");
    char *moved = NULL;
    if (progress->n_known < progress->n_again) {
        does_not_go_on(request);
        json_decref(root);
        return;
    }
    if (json_is_integer(start) && json_is_integer(length)) {
        const json_t *text = json_object_get(progress->asked, "text");
        json_int_t from = json_integer_value(start) + (json_int_t)progress->from;
        json_int_t done = from + json_integer_value(length);
        if (from >= 0 && done >= from && (uint64_t)done <= json_string_length(text))
            progress->done = (size_t)done;
        progress->open = progress->shown.len;
        progress->n_again = progress->n_known = 0;
        if (progress->from > 0) {
            json_object_set_new(root, "start", json_integer(from));
            moved = json_dumps(root, JSON_COMPACT);
        }
    }
    tell(request, &(struct dragoman_event){.kind = DRAGOMAN_SENTENCE,
                                           .json = moved ? moved : json,
                                           .json_len = moved ? strlen(moved) : len,
                                           .retry_after = -1});
    free(moved);
    json_decref(root);
}

/* Remembers the id of an event that arrived complete. */
static void see(struct dragoman_request *request, const char *id)
{
    request->seen.len = 0;
    request->n_lost = request->n_tries = 0;
    if (append_text(&request->seen, id) < 0)
        request->seen.len = 0; /* without memory the stream cannot be resumed */
}

/* Takes one server-sent event, whose lines are "id: ID", "event: NAME" and "data: JSON". */
static void hear(struct dragoman_request *request, char *event)
{
    const char *name = "", *id = NULL, *data = NULL;
    char *rest = event;
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (strncmp(line, "event: ", 7) == 0)
            name = line + 7;
        else if (strncmp(line, "id: ", 4) == 0)
            id = line + 4;
        else if (strncmp(line, "data: ", 6) == 0)
            data = line + 6;
    }
    if (!data)
        return;
    if (id && strcmp(name, "error") != 0)
        see(request, id);
    if (strcmp(name, "token") == 0)
        tell_token(request, data, strlen(data));
    else if (strcmp(name, "sentence") == 0)
        tell_sentence(request, data, strlen(data));
    else if (strcmp(name, "error") == 0)
        tell_error(request, data, strlen(data));
    else if (strcmp(name, "done") == 0)
        tell_done(request, data, strlen(data));
}

static void on_body(void *user, const char *bytes, size_t n)
{
    struct dragoman_request *request = user;
    size_t from = 0, seen = request->body.len ? request->body.len - 1 : 0; /* no event ends before
                                                                              that */
    if (request->is_over || request->is_again)
        return;
    if (append(&request->body, bytes, n) < 0) {
        fail(request, "too_large", "The answer is larger than this client keeps.");
        return;
    }
    while (request->answer.is_stream && !request->is_over && !request->is_cancelled &&
           !request->is_again) {
        char *end = strstr(request->body.at + seen, "\n\n");
        if (!end)
            break;
        *end = '\0';
        hear(request, request->body.at + from);
        from = seen = (size_t)(end - request->body.at) + 2;
    }
    if (from > 0) {
        memmove(request->body.at, request->body.at + from, request->body.len - from + 1);
        request->body.len -= from;
    }
}

/* ---- Sending and receiving ------------------------------------------------------------------- */

static void start(struct dragoman_request *request);

static void on_retry(uv_timer_t *timer)
{
    struct dragoman_request *request = timer->data;
    if (request->is_cancelled)
        finish(request);
    else if (request->failure)
        fail(request, "unreachable", request->failure);
    else
        start(request);
}

/* Reports a failure before the first answer by way of the timer, so that it never comes from inside
 * the call that began the request. */
static void fail_later(struct dragoman_request *request, const char *why)
{
    request->failure = why;
    start_later(request, 0);
}

static void end(struct dragoman_request *request)
{
    if (request->is_over)
        return;
    keep_connection(request);
    finish(request);
}

static void on_answer(struct dragoman_request *request)
{
    const struct answer *answer = &request->answer;
    bool is_busy = answer->status == 429 || answer->status == 503;
    if (!request->is_told && is_busy && request->n_tries <= RETRIES &&
        answer->retry_after <= RETRY_SECONDS_MAX)
        start_later(request, answer->retry_after < 0 ? 1000 : (uint64_t)answer->retry_after * 1000);
    else if (request->is_told)
        end(request);
    else if (answer->status >= 300)
        tell_error(request, request->body.at ? request->body.at : "", request->body.len);
    else if (answer->is_stream && goes_on(request))
        return;
    else if (answer->is_stream)
        fail(request, "unreachable", "The server closed the stream before its end.");
    else {
        tell_done(request, request->body.at ? request->body.at : "", request->body.len);
        end(request);
    }
}

/* The connection ended while the request was in progress. */
static void lost(struct dragoman_request *request, bool was_kept)
{
    if (answer_close(&request->answer) && !request->is_over)
        on_answer(request);
    else if (request->is_told)
        finish(request);
    else if (was_kept && !request->has_news)
        start_later(request, 0);
    else if (!goes_on(request))
        fail(request, "unreachable",
             request->has_news ? "The connection was lost in the middle of the answer."
                               : "The server closed the connection without an answer.");
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)suggested;
    struct connection *connection = handle->data;
    *buffer = uv_buf_init(connection->buffer, sizeof connection->buffer);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
    struct connection *connection = stream->data;
    struct dragoman_request *request = connection->request;
    if (!request) { /* idle: the server closed it, or sent bytes that nobody asked for */
        if (n != 0)
            close_connection(connection);
        return;
    }
    if (n < 0) {
        bool was_kept = connection->is_kept;
        close_connection(connection);
        lost(request, was_kept);
        return;
    }
    request->has_news = request->has_news || n > 0;
    bool is_http = answer_feed(&request->answer, buffer->base, (size_t)n) == 0;
    if (request->is_over || request->is_again)
        return;
    if (request->is_cancelled)
        finish(request);
    else if (!is_http)
        fail(request, "unreachable",
             "What answers at this address does not speak HTTP as it should.");
    else if (request->answer.is_complete)
        on_answer(request);
}

static void on_written(uv_write_t *write, int status)
{
    (void)status; /* if a connection cannot be written to, it cannot be read from either, and
                     on_read reports that */
    ((struct connection *)write->data)->is_writing = false;
}

static void send_message(struct dragoman_request *request)
{
    struct connection *connection = request->connection;
    const struct bytes *message = &request->message;
    if (!connection->is_writing)
        request->resume.len = 0;
    if (request->seen.len && (append_text(&request->resume, "Last-Event-ID: ") < 0 ||
                              append_text(&request->resume, request->seen.at) < 0 ||
                              append_text(&request->resume, "\r\n") < 0))
        request->resume.len = 0;
    const uv_buf_t buffers[] = {
        uv_buf_init(message->at, (unsigned)request->head_len),
        uv_buf_init(request->resume.at, (unsigned)request->resume.len),
        uv_buf_init(message->at + request->head_len, (unsigned)(message->len - request->head_len))};
    answer_init(&request->answer, on_body, request);
    request->has_news = false;
    request->body.len = 0;
    request->n_tries += !connection->is_kept;
    connection->is_writing = true;
    if (uv_write(&connection->write, (uv_stream_t *)&connection->tcp, buffers, 3, on_written) < 0)
        fail_later(request, "The server could not be written to.");
}

static void on_connected(uv_connect_t *connect, int status)
{
    struct connection *connection = connect->data;
    struct dragoman_request *request = connection->request;
    if (!request)
        return;
    if (request->is_cancelled)
        finish(request);
    else if (status == 0 && uv_read_start((uv_stream_t *)&connection->tcp, on_alloc, on_read) == 0)
        send_message(request);
    else if (!goes_on(request))
        fail(request, "unreachable", "Nobody answers at this address: is dragomand running there?");
}

static void on_resolved(uv_getaddrinfo_t *resolve, int status, struct addrinfo *found)
{
    struct dragoman_request *request = resolve->data;
    struct dragoman *server = request->server;
    request->is_resolving = false;
    if (request->is_over || request->is_cancelled) {
        uv_freeaddrinfo(found);
        finish(request);
        return;
    }
    struct connection *connection = status == 0 ? calloc(1, sizeof *connection) : NULL;
    if (!connection) {
        uv_freeaddrinfo(found);
        fail(request, "unreachable",
             status ? "There is no host of that name." : "There is not enough memory.");
        return;
    }
    connection->server = server;
    connection->tcp.data = connection->connect.data = connection->write.data = connection;
    uv_tcp_init(server->loop, &connection->tcp);
    uv_tcp_nodelay(&connection->tcp, 1);
    connection->request = request;
    request->connection = connection;
    connection->next = server->connections;
    server->connections = connection;
    if (uv_tcp_connect(&connection->connect, &connection->tcp, found->ai_addr, on_connected) < 0)
        fail(request, "unreachable", "Nobody answers at this address: is dragomand running there?");
    uv_freeaddrinfo(found);
}

/* Sends the request on an idle connection if there is one, otherwise on a new one. */
static void start(struct dragoman_request *request)
{
    struct dragoman *server = request->server;
    request->is_again = false;
    for (struct connection *at = server->connections; at; at = at->next)
        if (!at->request && !at->is_closing) {
            at->request = request;
            request->connection = at;
            uv_ref((uv_handle_t *)&at->tcp);
            send_message(request);
            return;
        }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    request->resolve.data = request;
    if (uv_getaddrinfo(server->loop, &request->resolve, on_resolved, server->host, server->port,
                       &hints) < 0)
        fail_later(request, "The address could not be looked up.");
    else
        request->is_resolving = true;
}

/* ---- Public functions ------------------------------------------------------------------------ */

static char *copy(const char *from, size_t len)
{
    char *made = malloc(len + 1);
    if (made) {
        memcpy(made, from, len);
        made[len] = '\0';
    }
    return made;
}

struct dragoman *dragoman_open(uv_loop_t *loop, const char *url, const char *key,
                               const char **error)
{
    *error = "read another address than http://host[:port][/prefix]; for https use a proxy on this "
             "machine";
    if (strncmp(url, "http://", 7) != 0 || strpbrk(url, "\r\n \t"))
        return NULL;
    const char *host = url + 7;
    const char *path = host + strcspn(host, "/?#");
    const char *host_end = *host == '[' ? memchr(host, ']', (size_t)(path - host)) : NULL;
    const char *colon =
        memchr(host_end ? host_end : host, ':', (size_t)(path - (host_end ? host_end : host)));
    const char *name_end = colon ? colon : path;
    size_t prefix_len = strlen(path);
    while (prefix_len > 0 && path[prefix_len - 1] == '/')
        prefix_len--;
    if (name_end == host || *path == '?' || *path == '#' || (*host == '[' && !host_end) ||
        (key && strpbrk(key, "\r\n")))
        return NULL;
    struct dragoman *server = calloc(1, sizeof *server);
    if (!server) {
        *error = "there is no memory";
        return NULL;
    }
    server->loop = loop;
    server->host = host_end ? copy(host + 1, (size_t)(host_end - host) - 1)
                            : copy(host, (size_t)(name_end - host));
    server->port = colon ? copy(colon + 1, (size_t)(path - colon) - 1) : copy("80", 2);
    server->prefix = copy(path, prefix_len);
    server->authority = copy(host, (size_t)(path - host));
    server->key = copy(key ? key : "", key ? strlen(key) : 0);
    if (!server->host || !server->port || !server->prefix || !server->key || !server->authority) {
        *error = "there is no memory";
        dragoman_close(server);
        return NULL;
    }
    return server;
}

void dragoman_close(struct dragoman *server)
{
    if (!server)
        return;
    server->is_closed = true;
    for (struct dragoman_request *at = server->requests, *next; at; at = next) {
        next = at->next;
        at->is_cancelled = true;
        finish(at);
    }
    for (struct connection *at = server->connections; at; at = at->next)
        close_connection(at);
    free_server_if_over(server);
}

static int write_message(struct dragoman_request *request, const char *path, const char *body)
{
    const struct dragoman *server = request->server;
    struct bytes *to = &request->message;
    char length[64];
    if (body)
        snprintf(length, sizeof length, "Content-Length: %zu\r\n", strlen(body));
    const char *const parts[] = {
        body ? "POST " : "GET ",
        server->prefix,
        path,
        " HTTP/1.1\r\nHost: ",
        server->authority,
        "\r\nUser-Agent: dragoman-c\r\nAccept: application/json, text/event-stream\r\n",
        *server->key ? "Authorization: Bearer " : "",
        server->key,
        *server->key ? "\r\n" : "",
        body ? "Content-Type: application/json\r\n" : "",
        body ? length : "",
        "\r\n",
        body ? body : ""};
    enum { HEADERS = sizeof parts / sizeof *parts - 2 }; /* the headers come before this part */
    int failed = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        request->head_len = i == HEADERS ? to->len : request->head_len;
        failed |= append_text(to, parts[i]);
    }
    return failed || to->len > UINT_MAX ? -1 : 0;
}

struct dragoman_request *dragoman_ask(struct dragoman *server, const char *path, const char *body,
                                      dragoman_on_event *on_event, void *user)
{
    struct dragoman_request *request = calloc(1, sizeof *request);
    if (!request)
        return NULL;
    request->server = server;
    request->on_event = on_event;
    request->user = user;
    if (write_message(request, path, body) < 0) {
        free(request->message.at);
        free(request);
        return NULL;
    }
    request->next = server->requests;
    server->requests = request;
    request->timer.data = request;
    uv_timer_init(server->loop, &request->timer);
    start(request);
    return request;
}

struct dragoman_request *dragoman_translate_n(struct dragoman *server, const char *text, size_t len,
                                              const char *options, dragoman_on_event *on_event,
                                              void *user)
{
    json_t *root = json_loads(options ? options : "{}", 0, NULL);
    json_t *value = json_stringn(text, len);
    struct dragoman_request *request = NULL;
    if (json_is_object(root) && value && json_object_set(root, "text", value) == 0) {
        json_object_set_new(root, "stream", json_true());
        char *body = json_dumps(root, JSON_COMPACT);
        request = body ? dragoman_ask(server, "/v1/translate", body, on_event, user) : NULL;
        const char *format = string_of(root, "format");
        if (request && (!format || strcmp(format, "text") == 0))
            request->progress.asked = json_incref(root);
        free(body);
    }
    json_decref(value);
    json_decref(root);
    return request;
}

struct dragoman_request *dragoman_translate(struct dragoman *server, const char *text,
                                            const char *options, dragoman_on_event *on_event,
                                            void *user)
{
    return dragoman_translate_n(server, text, strlen(text), options, on_event, user);
}

void dragoman_cancel(struct dragoman_request *request)
{
    request->is_cancelled = true;
    finish(request);
}
