/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Sends requests over the socket; their answers are JSON. */
#include "tools/get/daemon.h"

#include "base/json/json_out.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PACKAGE_SOCKET "/run/dragoman/admin.sock"

enum { ANSWER_MAX = 4 << 20, LOAD_MS = 300 * 1000, LOOK_MS = 3000, BUSY_TRIES = 100 };

bool daemon_socket(const struct get_flags *flags, char path[DG_MODEL_FOLDERS_PATH])
{
    char exe[DG_MODEL_FOLDERS_PATH];
    if (*flags->admin_socket) {
        snprintf(path, DG_MODEL_FOLDERS_PATH, "%s", flags->admin_socket);
        return access(path, F_OK) == 0;
    }
    const ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n > 0) {
        exe[n] = '\0';
        char *slash = strrchr(exe, '/');
        *(slash ? slash : exe) = '\0';
        if (snprintf(path, DG_MODEL_FOLDERS_PATH, "%s/admin.sock", exe) < DG_MODEL_FOLDERS_PATH &&
            access(path, F_OK) == 0)
            return true;
    }
    snprintf(path, DG_MODEL_FOLDERS_PATH, "%s", PACKAGE_SOCKET);
    return access(path, F_OK) == 0;
}

/* The sentence of a refusal: {"error":{"message":...}}. */
static enum dg_err refused(struct dg_span answer, int status, struct dg_error *error)
{
    const struct dg_json_limits limits = DG_JSON_LIMITS_DEFAULT;
    struct dg_json *json = NULL;
    struct dg_span message = {0};
    if (dg_json_parse(answer, &limits, NULL, &json) == DG_OK &&
        dg_json_get_string(dg_json_get(json, "error"), "message", DG_JSON_OPTIONAL, NULL,
                           &message) == DG_OK &&
        message.len)
        dg_error_set(error, DG_ERR_INVALID, "the server says: %.*s",
                     message.len > 600 ? 600 : DG_SPAN_FMT(message));
    else
        dg_error_set(error, DG_ERR_INVALID, "the server answers %d", status);
    dg_json_free(json);
    return status == 503 || status == 409 || status == 429 ? DG_ERR_BUSY : DG_ERR_INVALID;
}

static enum dg_err ask(const struct get_flags *flags, const char *method, const char *path,
                       const char *body, int64_t timeout_ms, struct dg_buf *answer,
                       struct dg_error *error)
{
    char socket[DG_MODEL_FOLDERS_PATH], url[512];
    int status = 0;
    if (!daemon_socket(flags, socket))
        return dg_error_set(error, DG_ERR_NOT_FOUND,
                            "no server with a socket for administrators runs here (looked for %s)",
                            socket);
    snprintf(url, sizeof url, "http://localhost%s", path);
    const struct dg_transfer_ask request = {.socket = socket,
                                            .url = url,
                                            .key = "",
                                            .method = method,
                                            .body = body,
                                            .timeout_ms = timeout_ms};
    dg_buf_clear(answer);
    enum dg_err err = dg_transfer_ask(&request, answer, &status, error);
    if (err)
        return dg_error_wrap(error, err, "%s", socket);
    return status >= 200 && status < 300 ? DG_OK : refused(dg_buf_span(answer), status, error);
}

/* Sends the request again while the daemon loads other models. */
static enum dg_err ask_until_free(const struct get_flags *flags, const char *method,
                                  const char *path, const char *body, struct dg_error *error)
{
    const struct timespec pause = {0, 200 * 1000 * 1000};
    struct dg_buf answer;
    dg_buf_init(&answer, ANSWER_MAX);
    enum dg_err err = DG_ERR_BUSY;
    for (int i = 0; err == DG_ERR_BUSY && i < BUSY_TRIES; i++) {
        if (i)
            nanosleep(&pause, NULL);
        err = ask(flags, method, path, body, LOAD_MS, &answer, error);
    }
    dg_buf_deinit(&answer);
    return err;
}

enum dg_err daemon_load(const struct get_flags *flags, const char *name, const char *dir,
                        const char *source, const char *target, struct dg_error *error)
{
    struct dg_json_out out;
    struct dg_buf body;
    dg_buf_init(&body, 64 * 1024);
    dg_json_out_init(&out, &body);
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "name", name);
    dg_json_out_put_cstr(&out, "path", dir);
    if (*source && *target) {
        dg_json_out_put_cstr(&out, "source", source);
        dg_json_out_put_cstr(&out, "target", target);
    }
    dg_json_out_close(&out, '}');
    enum dg_err err = dg_json_out_end(&out);
    if (!err)
        err = ask_until_free(flags, "POST", "/v1/admin/models", body.ptr, error);
    dg_buf_deinit(&body);
    return err;
}

enum dg_err daemon_unload(const struct get_flags *flags, const char *name, struct dg_error *error)
{
    char path[400];
    snprintf(path, sizeof path, "/v1/admin/models/%s", name);
    return ask_until_free(flags, "DELETE", path, NULL, error);
}

enum dg_err daemon_models(const struct get_flags *flags, struct dg_json **json,
                          struct dg_error *error)
{
    const struct dg_json_limits limits = {
        .max_bytes = ANSWER_MAX, .max_depth = 16, .max_values = 500 * 1000};
    struct dg_buf answer;
    dg_buf_init(&answer, ANSWER_MAX);
    enum dg_err err = ask(flags, "GET", "/v1/models", NULL, LOOK_MS, &answer, error);
    if (!err)
        err = dg_json_parse(dg_buf_span(&answer), &limits, error, json);
    dg_buf_deinit(&answer);
    return err;
}
