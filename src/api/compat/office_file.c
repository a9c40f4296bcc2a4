/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Bytes that are not on disk are copied: what holds the request's own may go while another thread
 * reads. */
#include "api/compat/office_file.h"
#include "api/http/api_int.h"
#include "base/file/tmp_file.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "filter/filter.h"

#include <stdio.h>
#include <string.h>

enum {
    PARTS_MAX = 32 << 20, /* the most bytes of XML with text */
    TEXT_MAX = 64 << 20,
    SLOWNESS = 16, /* an archive takes as long as so many times its bytes of JSON */
};

void dg_office_file_free(struct dg_office_file *file)
{
    if (!file)
        return;
    if (!file->sent)
        dg_free((char *)file->bytes);
    dg_document_file_free(file->sent);
    dg_buf_deinit(&file->html);
    dg_free(file);
}

static enum dg_err open_filter(const struct dg_office_file *file, const atomic_bool *stop,
                               struct dg_filter **filter, struct dg_error *error)
{
    const struct dg_filter_opts opts = {.text_max = PARTS_MAX,
                                        .columns = dg_span_cstr(file->columns),
                                        .output = dg_span_cstr(file->output),
                                        .stop = stop};
    return dg_filter_new(dg_span_make(file->bytes, file->len), file->name, &opts, filter, error);
}

static struct dg_office_file *new_file(struct dg_span name, struct dg_span bytes,
                                       struct dg_document_file *sent)
{
    struct dg_office_file *file = dg_try_calloc(1, sizeof *file);
    char *copy = file && !sent ? dg_try_malloc(bytes.len + 1) : NULL;
    if (!file || (!sent && !copy)) {
        dg_free(file);
        return NULL;
    }
    if (copy && bytes.len)
        memcpy(copy, bytes.ptr, bytes.len);
    file->bytes = sent ? bytes.ptr : copy;
    file->len = bytes.len;
    file->sent = sent;
    name = dg_utf8_clip(name, DG_OFFICE_FILE_NAME);
    snprintf(file->name, sizeof file->name, "%.*s", DG_SPAN_FMT(name));
    dg_buf_init(&file->html, TEXT_MAX);
    return file;
}

static void run_read(struct dg_offload_task *task)
{
    struct dg_office_file *file = (struct dg_office_file *)task;
    struct dg_filter *filter = NULL;
    file->err = open_filter(file, &file->compat->work.is_unwanted, &filter, &file->error);
    if (!file->err)
        file->err = dg_filter_text(filter, &file->html, &file->error);
    dg_filter_free(filter);
}

static void on_read(struct dg_offload_task *task)
{
    struct dg_office_file *file = (struct dg_office_file *)task;
    struct dg_compat *compat = file->compat;
    if (dg_work_detach(&compat->work)) {
        /* the memory that a body of this size would get */
        compat->arena->max += 8 * file->html.len;
        file->then(compat, file);
        return;
    }
    dg_office_file_free(file);
    dg_compat_drop(compat);
}

void dg_office_file_read(struct dg_compat *compat, struct dg_span name, struct dg_span bytes,
                         void (*then)(struct dg_compat *compat, struct dg_office_file *file))
{
    struct dg_offload *readers = compat->work.api->readers;
    const struct dg_span columns = dg_fields_text(&compat->fields, "columns");
    const struct dg_span output = dg_fields_text(&compat->fields, "output_format");
    if (output.len > DG_DOCUMENT_OUTPUT) {
        dg_compat_fail(compat, 400, "invalid_value", "There is no such output_format.");
        return;
    }
    if (columns.len > DG_DOCUMENT_COLUMNS) {
        dg_compat_fail(compat, 400, "invalid_value", "The list of columns is too long.");
        return;
    }
    struct dg_office_file *file = new_file(name, bytes, compat->file);
    if (!file) {
        dg_compat_fail_with(compat, DG_ERR_NOMEM, NULL);
        return;
    }
    compat->file = NULL;
    snprintf(file->columns, sizeof file->columns, "%.*s", DG_SPAN_FMT(columns));
    snprintf(file->output, sizeof file->output, "%.*s", DG_SPAN_FMT(output));
    file->compat = compat;
    file->then = then;
    dg_work_hold(&compat->work);
    enum dg_err err = readers ? dg_offload_submit_sized(readers, &file->task,
                                                        SLOWNESS * file->len + 1, run_read, on_read)
                              : DG_OK;
    if (err) {
        dg_office_file_free(file);
        dg_work_detach(&compat->work);
        dg_compat_fail(compat, 503, "overloaded",
                       "Too many large requests are being read just now.");
    } else if (!readers) {
        run_read(&file->task);
        on_read(&file->task);
    }
}

struct writing {
    int fd;
    size_t len;
};

static enum dg_err append(void *ctx, struct dg_span bytes, struct dg_error *error)
{
    struct writing *writing = ctx;
    writing->len += bytes.len;
    return dg_tmp_file_write(writing->fd, bytes, error);
}

enum dg_err dg_office_file_write(const struct dg_office_file *file, struct dg_span translation,
                                 int fd, size_t *len, struct dg_error *error)
{
    struct dg_filter *filter = NULL;
    struct writing writing = {.fd = fd};
    enum dg_err err = open_filter(file, NULL, &filter, error);
    if (!err)
        err = dg_filter_write(filter, dg_buf_span(&file->html), translation,
                              dg_span_cstr(file->language), append, &writing, error);
    dg_filter_free(filter);
    *len = writing.len;
    return err;
}
