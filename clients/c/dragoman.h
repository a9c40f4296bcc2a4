/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A client of dragomand on top of libuv. Answers are streamed, and everything runs in one thread,
 * the one that runs the loop.
 *
 *     static void on_event(void *user, const struct dragoman_event *event)
 *     {
 *         if (event->kind == DRAGOMAN_TOKEN)
 *             fwrite(event->text, 1, event->len, stdout);
 *         else if (event->kind == DRAGOMAN_FAILED)
 *             fprintf(stderr, "%s: %s\n", event->code, event->message);
 *     }
 *
 *     struct dragoman *server = dragoman_open(loop, "http://127.0.0.1:8090", NULL, &error);
 *     dragoman_translate(server, "Où est la gare ?", "{\"target\":\"en\"}", on_event, user);
 *     uv_run(loop, UV_RUN_DEFAULT);
 *     dragoman_close(server);
 *     uv_run(loop, UV_RUN_DEFAULT);                   so that the connections can close
 *
 * If a stream breaks off, the client resumes it after the last event received, from whichever
 * server answers then: no event is lost and none is delivered twice. If that server's translation
 * would be a different one, the client can still resume the translation of a single plain text: it
 * sends the part of the unfinished sentence that has already arrived, as the beginning that the
 * translation must have.
 *
 * Every request ends with exactly one event, DONE or FAILED, unless it is cancelled: then no
 * further event follows. That event never comes from inside the call that began the request. When a
 * server is busy (429, 503), the client sends the request again after the time that the server
 * names, up to twice. Connections are kept open and reused. Needs libuv and jansson; speaks http,
 * not https: TLS is left to a proxy. */
#ifndef DRAGOMAN_H
#define DRAGOMAN_H

#include <stddef.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dragoman;         /* a server */
struct dragoman_request; /* one request in progress */

enum dragoman_kind {
    DRAGOMAN_TOKEN,    /* text: more of the translation */
    DRAGOMAN_SENTENCE, /* json: {"start", "length", "finish", ...} */
    DRAGOMAN_DONE,     /* json: the whole answer; text: the translation of the first text */
    DRAGOMAN_FAILED    /* code, message and the members below */
};

/* The memory that an event points to is valid only until the callback returns. */
struct dragoman_event {
    enum dragoman_kind kind;
    const char *text; /* `len` bytes, which may include NULs */
    size_t len;
    const char *json;
    size_t json_len;
    const char *code;    /* stable: "unreachable", "too_large", or the server's */
    const char *message; /* a sentence for people to read */
    const char *field;   /* the field of the request that is at fault, or NULL */
    int status;          /* the HTTP status; 0: there was no answer */
    int retry_after;     /* seconds; -1: the server did not say */
};

typedef void dragoman_on_event(void *user, const struct dragoman_event *event);

/* `url` is http://host[:port][/prefix]; `key` may be NULL. Returns NULL, with a sentence in *error,
 * if `url` is not valid or there is not enough memory. */
struct dragoman *dragoman_open(uv_loop_t *loop, const char *url, const char *key,
                               const char **error);

/* Cancels the requests in progress. The loop must run once more: it closes the connections, and the
 * memory is freed after that. `server` may be NULL. */
void dragoman_close(struct dragoman *server);

/* Translates `text` of `len` bytes. `options` is a JSON object with fields of POST /v1/translate,
 * or NULL. Returns NULL if there is not enough memory, `options` is not a JSON object or the text
 * is not UTF-8. */
struct dragoman_request *dragoman_translate_n(struct dragoman *server, const char *text, size_t len,
                                              const char *options, dragoman_on_event *on_event,
                                              void *user);

/* The same for a text that is terminated by a NUL. */
struct dragoman_request *dragoman_translate(struct dragoman *server, const char *text,
                                            const char *options, dragoman_on_event *on_event,
                                            void *user);

/* Any other request: GET if `body` is NULL, otherwise POST of that JSON. Ends with DONE (json) or
 * FAILED. */
struct dragoman_request *dragoman_ask(struct dragoman *server, const char *path, const char *body,
                                      dragoman_on_event *on_event, void *user);

/* Ends the request: no further event follows, and the server stops working on it. Do not call this
 * after DONE or FAILED, nor from inside the callback for either. */
void dragoman_cancel(struct dragoman_request *request);

#ifdef __cplusplus
}
#endif

#endif
