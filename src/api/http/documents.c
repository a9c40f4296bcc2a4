/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A thread of an offload reads the files that are sent to clients. */
#include "api/http/documents.h"
#include "api/http/api_int.h"
#include "api/http/client_share.h"
#include "api/http/work.h"
#include "base/file/tmp_file.h"
#include "base/memory/error.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "net/loop/offload.h"
#include "filter/filter.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PIECE = 64 * 1024, STREAM_LOW = 32 * 1024, DISPOSITION_MAX = 4 * DG_DOCUMENT_NAME + 64 };

void dg_documents_init(struct dg_documents *documents)
{
    *documents = (struct dg_documents){.bytes = 0};
    dg_list_init(&documents->files);
}

void dg_documents_deinit(struct dg_documents *documents)
{
    while (!dg_list_is_empty(&documents->files)) { /* whoever still uses a file frees it later */
        struct dg_document_file *file =
            DG_LIST_ITEM(documents->files.next, struct dg_document_file, link);
        dg_list_unlink(&file->link);
        dg_list_init(&file->link);
        file->documents = NULL;
    }
}

enum dg_err dg_documents_open(struct dg_documents *documents, const struct dg_documents_opts *opts,
                              struct dg_error *error)
{
    int fd = -1;
    enum dg_err err = opts->bytes_max ? dg_tmp_file_open(opts->dir, &fd, error) : DG_OK;
    if (fd >= 0)
        close(fd);
    if (!err)
        documents->opts = *opts;
    return err;
}

bool dg_documents_are_taken(const struct dg_documents *documents)
{
    return documents->opts.bytes_max > 0;
}

/* Returns whether a character may be in a name: no control characters, separators of lines, marks
 * that turn the direction of writing (they make an ending look like another one), noncharacters,
 * nor what is invisible for other reasons; of ASCII only what needs no quotation anywhere. */
static bool is_harmless(uint32_t cp)
{
    if (cp < 0x80)
        return (cp >= '0' && cp <= '9') || (cp >= 'A' && cp <= 'Z') || (cp >= 'a' && cp <= 'z') ||
               cp == '-' || cp == '_' || cp == '.';
    return cp >= 0xA0 && cp != 0x061C && cp != 0x200E && cp != 0x200F &&
           !(cp >= 0x2028 && cp <= 0x202E) && !(cp >= 0x2060 && cp <= 0x206F) && cp != 0xFEFF &&
           !(cp >= 0xFFF0 && cp <= 0xFFFB) && !(cp >= 0xE0000 && cp <= 0xE0FFF) &&
           (cp & 0xFFFE) != 0xFFFE;
}

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

void dg_document_clean_name(struct dg_span name, char out[DG_DOCUMENT_NAME + 1])
{
    for (size_t i = name.len; i > 0; i--) {
        if (name.ptr[i - 1] == '/' || name.ptr[i - 1] == '\\') {
            name = dg_span_sub(name, i, name.len);
            break;
        }
    }
    if (name.len > DG_DOCUMENT_NAME) { /* a long name loses its beginning, because its ending says
                                          the format */
        size_t from = name.len - DG_DOCUMENT_NAME;
        while (from < name.len && is_continuation(name.ptr[from]))
            from++;
        name = dg_span_sub(name, from, name.len);
    }
    size_t n = 0;
    for (size_t at = 0; at < name.len;) {
        uint32_t cp;
        const size_t len = dg_utf8_decode(name, at, &cp);
        if (len > 0 && is_harmless(cp) && !(cp == '.' && at == 0)) {
            memcpy(out + n, name.ptr + at, len);
            n += len;
        } else {
            out[n++] = '_';
        }
        at += len > 0 ? len : 1;
    }
    out[n] = '\0';
}

enum dg_err dg_document_encode_name(const char *name, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    for (; *name && !err; name++)
        err = (unsigned char)*name < 0x80
                  ? dg_buf_append_byte(out, *name)
                  : dg_buf_printf(out, "%%%02X", (unsigned)(unsigned char)*name);
    return err;
}

bool dg_document_is_known(struct dg_span name, enum dg_doc_format *format)
{
    if (!name.len || !memchr(name.ptr, '.', name.len))
        return false;
    if (!dg_filter_is_named(name))
        return dg_doc_format_of(name, format);
    *format = DG_DOC_HTML;
    return true;
}

/* Returns the bytes of a client's files. */
static uint64_t count_own(const struct dg_documents *documents, uint64_t client)
{
    uint64_t bytes = 0;
    for (const struct dg_list *at = documents->files.next; at != &documents->files; at = at->next) {
        const struct dg_document_file *file = DG_LIST_ITEM(at, struct dg_document_file, link);
        bytes += file->client == client ? file->taken : 0;
    }
    return bytes;
}

void dg_document_set_output(char name[DG_DOCUMENT_NAME + 1], struct dg_span wanted)
{
    const char *ending;
    char *dot = strrchr(name, '.');
    if (!dot || !dg_filter_output(dg_span_cstr(name), wanted, &ending) || !ending)
        return;
    size_t stem = (size_t)(dot - name);
    if (stem > DG_DOCUMENT_NAME - strlen(ending) - 1)
        stem = dg_utf8_clip(dg_span_cstr(name), DG_DOCUMENT_NAME - strlen(ending) - 1).len;
    snprintf(name + stem, DG_DOCUMENT_NAME + 1 - stem, ".%s", ending);
}

/* ---- Files ----------------------------------------------------------------------------------- */

enum dg_err dg_document_file_new(struct dg_documents *documents, uint64_t client,
                                 struct dg_document_file **out)
{
    struct dg_document_file *file = dg_try_calloc(1, sizeof *file);
    if (!file)
        return DG_ERR_NOMEM;
    file->documents = documents;
    file->client = client;
    file->fd = -1;
    dg_list_link_last(&documents->files, &file->link);
    *out = file;
    return DG_OK;
}

bool dg_document_file_grow(struct dg_document_file *file, uint64_t bytes)
{
    struct dg_documents *documents = file->documents;
    if (!documents || bytes <= file->taken)
        return documents != NULL;
    const uint64_t own = count_own(documents, file->client);
    if (!dg_client_share_has_room(file->client, documents->opts.bytes_max, documents->bytes, own,
                                  bytes - file->taken))
        return false;
    documents->bytes += bytes - file->taken;
    file->taken = bytes;
    return true;
}

enum dg_err dg_document_file_append(struct dg_document_file *file, struct dg_span bytes,
                                    struct dg_error *error)
{
    enum dg_err err =
        file->fd < 0 ? dg_tmp_file_open(file->documents->opts.dir, &file->fd, error) : DG_OK;
    if (!err)
        err = dg_tmp_file_write(file->fd, bytes, error);
    if (!err)
        file->len += bytes.len;
    return err;
}

enum dg_err dg_document_file_map(struct dg_document_file *file, struct dg_error *error)
{
    if (file->fd < 0)
        return DG_OK;
    if (file->len > 0) {
        void *bytes = mmap(NULL, file->len, PROT_READ, MAP_PRIVATE, file->fd, 0);
        if (bytes == MAP_FAILED)
            return dg_error_errno(error, "cannot map a temporary file");
        file->bytes = bytes;
    }
    close(file->fd);
    file->fd = -1;
    return DG_OK;
}

void dg_document_file_free(struct dg_document_file *file)
{
    if (!file)
        return;
    if (file->bytes)
        munmap((void *)file->bytes, file->len);
    if (file->fd >= 0)
        close(file->fd);
    if (file->documents)
        file->documents->bytes -= file->taken;
    dg_list_unlink(&file->link);
    dg_free(file);
}

/* ---- Sending --------------------------------------------------------------------------------- */

struct sending {
    struct dg_offload_task task;
    struct dg_work work;
    struct dg_document_file *file; /* owned */
    char name[DG_DOCUMENT_NAME + 1];
    char once[DG_BULK_ID_LEN + 1];
    enum dg_doc_format format;
    char *piece; /* owned; the `n` bytes that end at `at` */
    uint64_t at;
    size_t n;
    bool has_begun, is_reading;
    enum dg_err err;
    struct dg_error error;
};

static void free_sending(struct sending *sending)
{
    dg_free(sending->piece);
    dg_document_file_free(sending->file);
    dg_free(sending);
}

static void free_sent(struct dg_work *work)
{
    free_sending(DG_LIST_ITEM(work, struct sending, work));
}

static const struct dg_failure no_room = {
    .status = 503,
    .code = "overloaded",
    .retry_after_s = 1,
    .message = "The file cannot be read at the moment; try again later."};

static void run_read(struct dg_offload_task *task)
{
    struct sending *sending = (struct sending *)task;
    const uint64_t left = sending->file->len - sending->at;
    sending->n = left < PIECE ? (size_t)left : PIECE;
    sending->err = dg_tmp_file_read_at(sending->file->fd, sending->at, sending->piece, sending->n,
                                       &sending->error);
}

static void break_off(struct sending *sending)
{
    struct dg_failure failure = no_room;
    failure.code = "unavailable";
    struct dg_call *call = sending->has_begun ? dg_work_detach(&sending->work) : NULL;
    if (!call) {
        dg_work_fail(&sending->work, failure);
        return;
    }
    call->req->on_room = NULL;
    dg_work_end(&sending->work);
    dg_http_reply_abort(call->req); /* so that nobody takes a part for the whole file */
}

/* A name with other characters than those of ASCII is given twice, as RFC 6266 has it. */
static enum dg_err put_disposition(const char *name, struct dg_buf *out)
{
    bool is_ascii = true;
    enum dg_err err = dg_buf_append_cstr(out, "attachment; filename=\"");
    for (const char *at = name; *at && !err; at++) {
        const bool is_other = (unsigned char)*at >= 0x80;
        if (!is_continuation(*at))
            err = dg_buf_append_byte(out, is_other ? '_' : *at);
        is_ascii = is_ascii && !is_other;
    }
    if (!err)
        err = dg_buf_append_cstr(out, is_ascii ? "\"" : "\"; filename*=UTF-8''");
    return err || is_ascii ? err : dg_document_encode_name(name, out);
}

static void begin_sending(struct sending *sending, struct dg_call *call)
{
    struct dg_buf header;
    dg_buf_init(&header, DISPOSITION_MAX);
    if (put_disposition(sending->name, &header) == DG_OK)
        dg_http_reply_header(call->req, "Content-Disposition", dg_buf_span(&header));
    dg_buf_deinit(&header);
    dg_http_reply_header(call->req, "X-Content-Type-Options", DG_SPAN("nosniff"));
    dg_call_begin_stream(call, dg_document_type(dg_span_cstr(sending->name), sending->format));
    sending->has_begun = true;
}

static void end_sending(struct sending *sending)
{
    struct dg_call *call = dg_work_detach(&sending->work);
    struct dg_bulk *bulk = sending->work.api->bulk;
    call->req->on_room = NULL;
    if (bulk && *sending->once && call->req->method != DG_HTTP_HEAD)
        dg_bulk_fetched(bulk, dg_span_cstr(sending->once));
    dg_work_end(&sending->work);
    dg_http_reply_end(call->req);
}

static void on_piece(struct dg_offload_task *task)
{
    struct sending *sending = (struct sending *)task;
    struct dg_call *call = sending->work.call;
    sending->is_reading = false;
    if (!call) {
        free_sending(sending);
        return;
    }
    if (sending->err) {
        break_off(sending);
        return;
    }
    if (!sending->has_begun)
        begin_sending(sending, call);
    sending->at += sending->n;
    if (sending->n == 0 || call->req->method == DG_HTTP_HEAD) {
        end_sending(sending);
        return;
    }
    /* When the client has left, the work reports it. */
    (void)!dg_http_reply_write(call->req, dg_span_make(sending->piece, sending->n));
}

static void send_piece(struct sending *sending)
{
    struct dg_offload *offload = sending->work.api->readers;
    if (sending->is_reading)
        return;
    sending->is_reading = true;
    if (!offload) {
        run_read(&sending->task);
        on_piece(&sending->task);
    } else if (dg_offload_submit(offload, &sending->task, run_read, on_piece) != DG_OK) {
        sending->is_reading = false;
        break_off(sending);
    }
}

static void on_room(void *owner)
{
    const struct dg_call *call = owner;
    struct sending *sending = DG_LIST_ITEM(call->work, struct sending, work);
    if (sending->has_begun)
        send_piece(sending);
}

/* The client has left. */
static void leave_sending(struct dg_work *work)
{
    struct sending *sending = DG_LIST_ITEM(work, struct sending, work);
    if (!sending->is_reading)
        free_sending(sending);
}

static const struct dg_work_ops send_ops = {.leave = leave_sending, .free = free_sent};

void dg_documents_send_file(struct dg_call *call, struct dg_document_file *file, const char *name,
                            enum dg_doc_format format, const char *once)
{
    struct sending *sending = dg_try_calloc(1, sizeof *sending);
    if (!sending) {
        dg_document_file_free(file);
        dg_call_fail(call, no_room);
        return;
    }
    sending->file = file;
    sending->format = format;
    snprintf(sending->name, sizeof sending->name, "%s", name);
    snprintf(sending->once, sizeof sending->once, "%s", once);
    sending->piece = dg_try_malloc(PIECE);
    dg_work_attach(call, &sending->work, &send_ops);
    if (!sending->piece || (file->fd < 0 && file->len > 0)) {
        dg_work_fail(&sending->work, no_room);
        return;
    }
    call->req->on_room = on_room;
    call->req->stream_low = STREAM_LOW;
    send_piece(sending);
}

const char *dg_document_type(struct dg_span name, enum dg_doc_format format)
{
    if (dg_filter_is_named(name))
        return dg_filter_type(name);
    (void)dg_doc_format_of(name, &format); /* the format of what the PDF was made into, not of its
                                              text */
    return dg_doc_media_type(format);
}
