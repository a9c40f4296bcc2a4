/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Downloads files and texts over HTTPS, with libcurl.
 *
 *     struct dg_transfer_opts opts = DG_TRANSFER_OPTS_DEFAULT;
 *     err = dg_transfer_new(&transfer, &opts, &error);
 *     err = dg_transfer_file(transfer, &want, path, &error);
 *     err = dg_transfer_text(transfer, url, &text, next, &error);
 *     dg_transfer_free(transfer);
 *
 * Only https is used, also in redirects; proxies come from the environment as for curl(1). A file
 * grows as PATH.part, with the server's ETag in PATH.etag. A later call resumes where the file
 * ended, if the server still has that version, and begins again otherwise. If the server gives no
 * ETag, only a file whose hash is known is resumed, because the parts could be from two versions.
 * Broken connections, stalls, 429 and 5xx are tried again after growing pauses, or after the time
 * that the server gives; as long as bytes arrive it does not give up. A file larger than stated is
 * cut off, and so are heads and bodies of refusals without an end.
 *
 * This file does not check the contents: callers compare hashes. One thread. */
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
    int retries;         /* how many times in a row it tries again without receiving a byte */
    int64_t pause_ms;    /* before the first retry; each pause is twice the one before */
    int64_t stall_ms;    /* a connection is given up after this time without a byte, or unmade */
    /* NULL, or a flag that ends the transfer with DG_ERR_CANCELLED when it is set */
    const volatile sig_atomic_t *stop;
    /* If not NULL: called several times a second with the bytes of the present file that have
     * arrived. */
    void (*progress)(void *ctx, uint64_t n_bytes);
    /* If not NULL: called with a sentence for the user when a pause begins. */
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
    bool has_hash; /* the caller knows the expected hash of the file, and compares it */
};

/* Downloads the file to `path`, which appears when it has all its bytes. DG_ERR_NOT_FOUND: the
 * server does not have it (404, 410). */
enum dg_err dg_transfer_file(struct dg_transfer *transfer, const struct dg_transfer_want *want,
                             const char *path, struct dg_error *error) DG_MUST_CHECK;

/* Downloads a text of at most the buffer's maximum. `next` (may be NULL) receives the header
 * Next-Page, or "" if there is none. */
enum dg_err dg_transfer_text(struct dg_transfer *transfer, const char *url, struct dg_buf *text,
                             char next[DG_TRANSFER_URL_MAX], struct dg_error *error) DG_MUST_CHECK;

/* Gets the address at which the mirror has the file of `url`; `url` itself if there is no
 * mirror. */
enum dg_err dg_transfer_place(const char *mirror, const char *url, char out[DG_TRANSFER_URL_MAX],
                              struct dg_error *error) DG_MUST_CHECK;

/* Removes the files that an unfinished transfer to `path` left. */
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
