/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A client of dragomand over libuv: requests that stream, from one thread, that of the loop.
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
 * A stream that breaks off goes on by itself behind the last event that came, from whichever server
 * answers then: nothing is lost and nothing comes twice. If that server would say another thing,
 * one plain text goes on with what came of its last sentence as the beginning that the server is
 * given.
 *
 * Every request ends with exactly one event DONE or FAILED, never from inside the call that began
 * it, unless it is cancelled: then there is no further event. Answers of a busy server (429, 503)
 * are asked again after the time that it says, twice. Connections are kept and used again. Needs
 * libuv and jansson; speaks http, not https: TLS is a proxy's work. */
#ifndef DRAGOMAN_H
#define DRAGOMAN_H

#include <stddef.h>
#include <uv.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dragoman;         /* a server */
struct dragoman_request; /* one request under way */

enum dragoman_kind {
    DRAGOMAN_TOKEN,    /* text: more of the translation */
    DRAGOMAN_SENTENCE, /* json: {"start", "length", "finish", ...} */
    DRAGOMAN_DONE,     /* json: the whole answer; text: the translation of the first text */
    DRAGOMAN_FAILED    /* code, message and the rest */
};

/* Everything that it points to is borrowed until the callback returns. */
struct dragoman_event {
    enum dragoman_kind kind;
    const char *text; /* not ended by a NUL that counts: `len` bytes */
    size_t len;
    const char *json;
    size_t json_len;
    const char *code;    /* stable: "unreachable", "too_large", or the server's */
    const char *message; /* a sentence for people */
    const char *field;   /* which field of the request; or NULL */
    int status;          /* of HTTP; 0: there was no answer */
    int retry_after;     /* seconds; -1: the server did not say */
};

typedef void dragoman_on_event(void *user, const struct dragoman_event *event);

/* `url` is http://host[:port][/prefix]; `key` may be NULL. NULL for a url that cannot be one, with
 * *error a sentence, and without memory. */
struct dragoman *dragoman_open(uv_loop_t *loop, const char *url, const char *key,
                               const char **error);

/* Cancels what is under way. The memory goes when the loop has run the connections' ends; the loop
 * must run once more. NULL is fine. */
void dragoman_close(struct dragoman *server);

/* Translates `text` of `len` bytes. `options` is a JSON object with fields of POST /v1/translate,
 * or NULL. NULL without memory, or when `options` is no JSON object or the text no UTF-8. */
struct dragoman_request *dragoman_translate_n(struct dragoman *server, const char *text, size_t len,
                                              const char *options, dragoman_on_event *on_event,
                                              void *user);

/* The same for a text that ends with a NUL. */
struct dragoman_request *dragoman_translate(struct dragoman *server, const char *text,
                                            const char *options, dragoman_on_event *on_event,
                                            void *user);

/* Any other request: GET when `body` is NULL, else POST of that JSON. Ends with DONE (json) or
 * FAILED. */
struct dragoman_request *dragoman_ask(struct dragoman *server, const char *path, const char *body,
                                      dragoman_on_event *on_event, void *user);

/* No further event; the server stops working on it. Not after DONE or FAILED, and not from inside
 * them. */
void dragoman_cancel(struct dragoman_request *request);

#ifdef __cplusplus
}
#endif

#endif
