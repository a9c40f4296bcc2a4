/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* POST /suggest as LibreTranslate has it: a better translation `s` of `q`. What users write is kept
 * only if the operator names a file for it (the option suggestions); each suggestion is one line of
 * JSON at its end, written on another thread. Otherwise the answer is 403, as from a LibreTranslate
 * server that takes no suggestions. */
#include "api/compat/libretranslate.h"
#include "api/http/api_int.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 64 << 20, LINE_MAX_BYTES = 16 << 20 };

/* Lies in the arena of its compat request. */
struct suggestion {
    struct dg_offload_task task;
    struct dg_compat *compat;
    const char *path; /* borrowed from the api */
    struct dg_buf line;
    enum dg_err err;
};

/* Appends the suggestion whole or not at all, as far as a file system permits. */
static enum dg_err append(const char *path, struct dg_span line)
{
    const int fd =
        open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat st;
    enum dg_err err = fd < 0 || fstat(fd, &st) != 0 ? dg_err_from_errno(errno) : DG_OK;
    if (!err && !S_ISREG(st.st_mode))
        err = DG_ERR_IO;
    if (!err && (uint64_t)st.st_size + line.len > FILE_MAX)
        err = DG_ERR_NO_SPACE;
    if (!err) {
        const ssize_t n = write(fd, line.ptr, line.len);
        if (n < 0)
            err = dg_err_from_errno(errno);
        else if ((size_t)n < line.len)
            err = ftruncate(fd, st.st_size) == 0 ? DG_ERR_NO_SPACE : DG_ERR_IO;
    }
    if (fd >= 0 && close(fd) != 0 && !err)
        err = DG_ERR_IO;
    return err;
}

static void run(struct dg_offload_task *task)
{
    struct suggestion *suggestion = (struct suggestion *)task;
    suggestion->err = append(suggestion->path, dg_buf_span(&suggestion->line));
}

static void on_done(struct dg_offload_task *task)
{
    struct suggestion *suggestion = (struct suggestion *)task;
    struct dg_compat *compat = suggestion->compat;
    const enum dg_err err = suggestion->err;
    dg_buf_deinit(&suggestion->line);
    if (err) {
        dg_work_fail(&compat->work, dg_translate_options_file_failure(err));
        return;
    }
    struct dg_call *call = dg_work_end(&compat->work);
    if (call)
        dg_call_json(call, 200, DG_SPAN("{\"success\":true}"));
}

static const char *const names[] = {"q", "s", "source", "target"};
enum { N_NAMES = sizeof names / sizeof *names };

static enum dg_err write_line(const struct dg_compat *compat, struct dg_buf *line)
{
    struct dg_json_out out;
    dg_json_out_init(&out, line);
    dg_json_out_open(&out, '{');
    for (size_t i = 0; i < N_NAMES; i++)
        dg_json_out_put_string(&out, names[i], dg_fields_text(&compat->fields, names[i]));
    dg_json_out_close(&out, '}');
    const enum dg_err err = dg_json_out_end(&out);
    return err ? err : dg_buf_append_byte(line, '\n');
}

static enum dg_err begin(struct dg_compat *compat, struct dg_failure *failure)
{
    struct dg_api *api = compat->work.api;
    struct suggestion *suggestion = dg_arena_calloc(compat->arena, 1, sizeof *suggestion);
    (void)failure; /* `error` already says what is wrong */
    if (!suggestion)
        return DG_ERR_NOMEM;
    suggestion->compat = compat;
    suggestion->path = api->opts.suggestions;
    dg_buf_init(&suggestion->line, LINE_MAX_BYTES);
    enum dg_err err = write_line(compat, &suggestion->line);
    if (!err)
        err = dg_offload_submit(api->threads, &suggestion->task, run, on_done);
    if (!err)
        dg_work_hold(&compat->work);
    else
        dg_buf_deinit(&suggestion->line);
    return err;
}

static void on_open(struct dg_call *call, struct dg_compat *compat)
{
    const struct dg_language *language;
    struct dg_error error = DG_ERROR_NONE;
    bool is_fine = true;
    (void)call;
    for (size_t i = 0; i < N_NAMES && is_fine; i++) {
        is_fine = dg_fields_text(&compat->fields, names[i]).len > 0;
        if (!is_fine)
            dg_error_set(&error, DG_ERR_INVALID, "Invalid request: missing %s parameter", names[i]);
    }
    for (size_t i = 2; i < N_NAMES && is_fine; i++)
        is_fine = dg_libretranslate_language(compat, names[i], DG_LANGUAGE_ANY, &language, &error);
    if (is_fine && dg_compat_texts(compat, 2) != DG_OK) {
        dg_compat_fail_with(compat, DG_ERR_NOMEM);
        return;
    }
    if (!is_fine) {
        dg_compat_fail(compat, 400, "invalid_value", error.text);
        return;
    }
    for (size_t i = 0; i < 2; i++)
        compat->items[i].text = dg_fields_text(&compat->fields, names[i]);
    dg_compat_pass(compat, dg_fields_text(&compat->fields, "api_key"), begin);
}

void dg_libretranslate_suggest(struct dg_call *call)
{
    const char *path = call->api->opts.suggestions;
    if (path && *path && call->api->threads)
        dg_compat_open(call, on_open);
    else
        dg_call_fail(call,
                     (struct dg_failure){.status = 403,
                                         .code = "unsupported",
                                         .message = "Suggestions are disabled on this server."});
}
