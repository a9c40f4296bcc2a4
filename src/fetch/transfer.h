/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Files and texts over HTTPS, by libcurl.
 *
 *     struct dg_transfer_opts opts = DG_TRANSFER_OPTS_DEFAULT;
 *     err = dg_transfer_new(&transfer, &opts, &error);
 *     err = dg_transfer_file(transfer, &want, path, &error);
 *     err = dg_transfer_text(transfer, url, &text, next, &error);
 *     dg_transfer_free(transfer);
 *
 * Only https, also in redirects; proxies come from the environment as curl(1) takes them. A file
 * grows as PATH.part, with the server's mark of its version in PATH.etag; a later call goes on
 * where it ended, if the server still has that version, and else begins again. Where the server
 * gives no mark, only a file whose hash is known goes on: the parts could be of two versions.
 * Broken connections,
 * stalls, 429 and 5xx are tried again with growing pauses, or after what the server says; as long
 * as bytes arrive it does not give up. What is larger than stated is cut off.
 *
 * What a publisher put into a file is not known here: callers check hashes. One thread. */
#ifndef DG_FETCH_TRANSFER_H
#define DG_FETCH_TRANSFER_H

#include "base/memory/buf.h"
#include "base/memory/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_transfer;

struct dg_transfer_opts {
    const char *ca_file; /* trusted certificates instead of the system's; NULL or "" */
    const char *mirror;  /* "https://mirror.example/models": takes the place of every host */
    const char *offline; /* a folder with the files, which takes the place of the network */
    int retries;         /* in a row without a byte */
    int64_t pause_ms;    /* before the first retry; each is twice the one before */
    int64_t stall_ms;    /* without a byte: the connection is given up */
    const volatile sig_atomic_t *stop; /* NULL, or a flag that ends the transfer with
                                          DG_ERR_CANCELLED when it is set */
    /* If not NULL: the bytes of the present file that are there, several times a second. */
    void (*progress)(void *ctx, uint64_t n_bytes);
    /* If not NULL: a sentence for the user about a pause that begins. */
    void (*say)(void *ctx, const char *sentence);
    void *ctx;
};

#define DG_TRANSFER_OPTS_DEFAULT                                                                   \
    {                                                                                              \
        .retries = 5, .pause_ms = 1000, .stall_ms = 30 * 1000                                      \
    }

enum { DG_TRANSFER_URL_MAX = 2048 };

enum dg_err dg_transfer_new(struct dg_transfer **transfer, const struct dg_transfer_opts *opts,
                            struct dg_error *error) DG_MUST_CHECK;
void dg_transfer_free(struct dg_transfer *transfer);

struct dg_transfer_want {
    const char *url;
    uint64_t size; /* 0: not known, at most `max` */
    uint64_t max;
    bool has_hash; /* the caller knows what the file's hash is to be, and compares it */
};

/* The file as `path`, which appears when it has all its bytes. DG_ERR_NOT_FOUND: the server does
 * not have it (404, 410). */
enum dg_err dg_transfer_file(struct dg_transfer *transfer, const struct dg_transfer_want *want,
                             const char *path, struct dg_error *error) DG_MUST_CHECK;

/* A text of at most the buffer's maximum. `next` (may be NULL) receives the header Next-Page, "" if
 * there is none. */
enum dg_err dg_transfer_text(struct dg_transfer *transfer, const char *url, struct dg_buf *text,
                             char next[DG_TRANSFER_URL_MAX], struct dg_error *error) DG_MUST_CHECK;

/* The address at which the mirror has what lies at `url`; `url` itself if there is no mirror. */
enum dg_err dg_transfer_place(const char *mirror, const char *url, char out[DG_TRANSFER_URL_MAX],
                              struct dg_error *error) DG_MUST_CHECK;

/* Removes what an unfinished transfer to `path` left. */
void dg_transfer_discard(const char *path);

/* ---- The daemon of this machine --------------------------------------------------------------
 * One request over a Unix socket, or to an http:// address when `socket` is "": POST of `body`
 * (JSON), or GET when it is NULL. `key` may be "". *status is that of HTTP; DG_ERR_NOT_FOUND when
 * nobody listens. */
struct dg_transfer_ask {
    const char *socket, *url, *key, *method, *body;
    int64_t timeout_ms;
};
enum dg_err dg_transfer_ask(const struct dg_transfer_ask *ask, struct dg_buf *answer, int *status,
                            struct dg_error *error) DG_MUST_CHECK;

#endif
