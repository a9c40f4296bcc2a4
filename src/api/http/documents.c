/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Documents lie in a list, because there are few; expired ones are removed when any is looked
 * up. An offload's thread writes and reads the files. Each task has all that it needs in an
 * errand of its own, because the document may be removed meanwhile. */
#include "api/http/documents.h"
#include "api/compat/office_file.h"
#include "api/http/api_int.h"
#include "api/http/client_share.h"
#include "api/http/work.h"
#include "base/file/tmp_file.h"
#include "base/memory/buf.h"
#include "base/memory/clock.h"
#include "base/memory/error_errno.h"
#include "base/memory/mem.h"
#include "net/loop/offload.h"
#include "filter/filter.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LIFE_S = 3600, PIECE = 64 * 1024, STREAM_LOW = 32 * 1024 };

void dg_documents_init(struct dg_documents *documents)
{
    *documents = (struct dg_documents){.n = 0};
    dg_list_init(&documents->all);
    dg_list_init(&documents->files);
}

void dg_documents_deinit(struct dg_documents *documents)
{
    while (!dg_list_is_empty(&documents->all))
        dg_documents_remove(documents, DG_LIST_ITEM(documents->all.next, struct dg_document, link));
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

void dg_documents_remove(struct dg_documents *documents, struct dg_document *document)
{
    dg_list_unlink(&document->link);
    if (document->fd >= 0)
        close(document->fd);
    documents->bytes -= document->len;
    documents->n--;
    dg_free(document);
}

static void drop_old(struct dg_documents *documents, uint64_t now_ns)
{
    for (struct dg_list *at = documents->all.next, *next; at != &documents->all; at = next) {
        struct dg_document *document = DG_LIST_ITEM(at, struct dg_document, link);
        next = at->next;
        if (document->expires_ns <= now_ns)
            dg_documents_remove(documents, document);
    }
}

static void random_hex(char *text, size_t len)
{
    unsigned char bytes[DG_DOCUMENT_KEY / 2];
    randombytes_buf(bytes, len / 2);
    sodium_bin2hex(text, len + 1, bytes, len / 2);
}

void dg_document_clean_name(struct dg_span name, char out[DG_DOCUMENT_NAME + 1])
{
    for (size_t i = name.len; i > 0; i--) {
        if (name.ptr[i - 1] == '/' || name.ptr[i - 1] == '\\') {
            name = dg_span_sub(name, i, name.len);
            break;
        }
    }
    if (name.len > DG_DOCUMENT_NAME) /* a long name loses its beginning, because its ending says the
                                        format */
        name = dg_span_sub(name, name.len - DG_DOCUMENT_NAME, DG_DOCUMENT_NAME);
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                        (c >= 'a' && c <= 'z') || c == '-' || c == '_' || (c == '.' && i > 0);
        out[i] = c;
        if (!is_plain)
            out[i] = '_';
    }
    out[name.len] = '\0';
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

/* The number of documents that a client has. */
static void count_own(const struct dg_documents *documents, uint64_t client, size_t *n,
                      uint64_t *bytes)
{
    *n = 0;
    *bytes = 0;
    for (const struct dg_list *at = documents->all.next; at != &documents->all; at = at->next) {
        const struct dg_document *document = DG_LIST_ITEM(at, struct dg_document, link);
        if (document->client != client)
            continue;
        ++*n;
        *bytes += document->len;
    }
    for (const struct dg_list *at = documents->files.next; at != &documents->files; at = at->next) {
        const struct dg_document_file *file = DG_LIST_ITEM(at, struct dg_document_file, link);
        *bytes += file->client == client ? file->taken : 0;
    }
}

enum dg_err dg_documents_add(struct dg_documents *documents, uint64_t now_ns, uint64_t client,
                             struct dg_span name, struct dg_document **out)
{
    size_t n_own;
    uint64_t own;
    enum dg_doc_format format;
    drop_old(documents, now_ns);
    if (!dg_document_is_known(name, &format))
        return DG_ERR_UNSUPPORTED;
    count_own(documents, client, &n_own, &own);
    if (!dg_client_share_has_room(client, DG_DOCUMENTS_MAX, documents->n, n_own, 1))
        return DG_ERR_BUSY;
    struct dg_document *document = dg_try_calloc(1, sizeof *document);
    if (!document)
        return DG_ERR_NOMEM;
    random_hex(document->id, DG_DOCUMENT_ID);
    random_hex(document->key, DG_DOCUMENT_KEY);
    dg_document_clean_name(name, document->name);
    document->format = format;
    document->expires_ns = now_ns + (uint64_t)LIFE_S * 1000 * DG_CLOCK_MS;
    document->client = client;
    document->fd = -1;
    dg_list_link_last(&documents->all, &document->link);
    documents->n++;
    *out = document;
    return DG_OK;
}

void dg_document_set_output(char name[DG_DOCUMENT_NAME + 1], struct dg_span wanted)
{
    const char *ending;
    char *dot = strrchr(name, '.');
    if (!dot || !dg_filter_output(dg_span_cstr(name), wanted, &ending) || !ending)
        return;
    size_t stem = (size_t)(dot - name);
    if (stem > DG_DOCUMENT_NAME - strlen(ending) - 1)
        stem = DG_DOCUMENT_NAME - strlen(ending) - 1;
    snprintf(name + stem, DG_DOCUMENT_NAME + 1 - stem, ".%s", ending);
}

static struct dg_document *find(const struct dg_documents *documents, struct dg_span id)
{
    for (struct dg_list *at = documents->all.next; at != &documents->all; at = at->next) {
        struct dg_document *document = DG_LIST_ITEM(at, struct dg_document, link);
        if (id.len == DG_DOCUMENT_ID && sodium_memcmp(document->id, id.ptr, id.len) == 0)
            return document;
    }
    return NULL;
}

struct dg_document *dg_documents_find(struct dg_documents *documents, uint64_t now_ns,
                                      struct dg_span id)
{
    drop_old(documents, now_ns);
    return find(documents, id);
}

/* ---- Files as they were sent ----------------------------------------------------------------- */

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
    size_t n_own;
    uint64_t own;
    if (!documents || bytes <= file->taken)
        return documents != NULL;
    count_own(documents, file->client, &n_own, &own);
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

/* ---- Writing --------------------------------------------------------------------------------- */

struct errand {
    struct dg_offload_task task;
    struct dg_documents *documents;
    char id[DG_DOCUMENT_ID + 1];
    int fd;     /* owned; -1 for none */
    char *text; /* owned; [len] bytes */
    size_t len;
    struct dg_office_file *file; /* owned; the file that `text` was read from; NULL for none */
    enum dg_err err;
    struct dg_error error;
    dg_documents_fn fn;
    void *ctx;

    struct dg_work work; /* the work of sending a result: `text` is the piece of `n` bytes that ends
                            at `at` */
    uint64_t at;
    size_t n;
    bool has_begun, is_reading;
    struct dg_document_file *sent; /* owned; the file that is sent, whose room is freed with it;
                                      NULL: a document's own file is sent */
    char name[DG_DOCUMENT_NAME + 1];
    enum dg_doc_format format;
    bool removes;
};

static struct errand *new_errand(struct dg_documents *documents, const struct dg_document *document)
{
    struct errand *errand = dg_try_calloc(1, sizeof *errand);
    if (!errand)
        return NULL;
    errand->documents = documents;
    memcpy(errand->id, document->id, sizeof errand->id);
    memcpy(errand->name, document->name, sizeof errand->name);
    errand->format = document->format;
    errand->fd = -1;
    return errand;
}

static void free_errand(struct errand *errand)
{
    if (errand->fd >= 0)
        close(errand->fd);
    dg_free(errand->text);
    dg_office_file_free(errand->file);
    dg_document_file_free(errand->sent);
    dg_free(errand);
}

static void free_sent(struct dg_work *work)
{
    free_errand(DG_LIST_ITEM(work, struct errand, work));
}

static void run_keep(struct dg_offload_task *task)
{
    struct errand *errand = (struct errand *)task;
    errand->err = dg_tmp_file_open(errand->documents->opts.dir, &errand->fd, &errand->error);
    const struct dg_span text = dg_span_make(errand->text, errand->len);
    if (!errand->err && errand->file)
        errand->err =
            dg_office_file_write(errand->file, text, errand->fd, &errand->len, &errand->error);
    else if (!errand->err)
        errand->err = dg_tmp_file_write(errand->fd, text, &errand->error);
}

/* Gives back the room that the file had. */
static void set_failed(struct dg_documents *documents, struct dg_document *document,
                       const char *reason)
{
    documents->bytes -= document->len;
    document->len = 0;
    document->state = DG_DOCUMENT_FAILED;
    snprintf(document->error, sizeof document->error, "%s", reason);
}

static void on_kept(struct dg_offload_task *task)
{
    struct errand *errand = (struct errand *)task;
    struct dg_document *document = find(errand->documents, dg_span_cstr(errand->id));
    if (document && errand->err) {
        set_failed(errand->documents, document, "The translation could not be kept.");
    } else if (document) {
        errand->documents->bytes += errand->len - document->len;
        document->len = errand->len;
        document->state = DG_DOCUMENT_DONE;
        document->fd = errand->fd;
        errand->fd = -1;
    }
    if (errand->fn)
        errand->fn(errand->ctx, errand->err);
    free_errand(errand);
}

/* Hands the errand to the thread. It is carried out at once if there is no thread, or if the
 * thread has as much to do as it takes and the translation is computed already. Takes the
 * errand, unless it fails. */
static enum dg_err set_out(struct errand *errand, struct dg_offload *offload, dg_offload_fn run,
                           dg_offload_fn done)
{
    enum dg_err err = offload ? dg_offload_submit(offload, &errand->task, run, done) : DG_OK;
    if (!offload || err == DG_ERR_LIMIT) {
        run(&errand->task);
        done(&errand->task);
        return DG_OK;
    }
    return err;
}

static enum dg_err keep(struct dg_documents *documents, struct dg_offload *offload,
                        struct dg_document *document, struct dg_office_file *file,
                        struct dg_span text, dg_documents_fn fn, void *ctx)
{
    char id[DG_DOCUMENT_ID + 1];
    size_t n_own;
    uint64_t own;
    count_own(documents, document->client, &n_own, &own);
    const size_t size = file ? file->len : text.len; /* an estimate for office documents */
    const bool fits = dg_client_share_has_room(document->client, documents->opts.bytes_max,
                                               documents->bytes, own, size);
    enum dg_err err = fits ? DG_OK : DG_ERR_LIMIT;
    struct errand *errand = err ? NULL : new_errand(documents, document);
    memcpy(id, document->id, sizeof id);
    if (errand && !(errand->text = dg_try_malloc(text.len + 1))) {
        free_errand(errand);
        errand = NULL;
    }
    if (!err && !errand)
        err = DG_ERR_NOMEM;
    if (err)
        dg_office_file_free(file);
    if (!err) {
        if (text.len)
            memcpy(errand->text, text.ptr, text.len);
        errand->file = file;
        errand->len = text.len;
        document->len = size;
        documents->bytes += size;
        errand->fn = fn;
        errand->ctx = ctx;
        err = set_out(errand, offload, run_keep, on_kept);
        if (err)
            free_errand(errand);
    }
    document = find(documents, dg_span_cstr(id)); /* `fn` may have removed the document */
    if (err && document)
        set_failed(documents, document, "There is no room for the translation.");
    return err;
}

enum dg_err dg_documents_keep(struct dg_documents *documents, struct dg_offload *offload,
                              struct dg_document *document, struct dg_span text, dg_documents_fn fn,
                              void *ctx)
{
    return keep(documents, offload, document, NULL, text, fn, ctx);
}

enum dg_err dg_documents_keep_office(struct dg_documents *documents, struct dg_offload *offload,
                                     struct dg_document *document, struct dg_office_file *file,
                                     struct dg_span text, dg_documents_fn fn, void *ctx)
{
    return keep(documents, offload, document, file, text, fn, ctx);
}

/* ---- Sending --------------------------------------------------------------------------------- */

static const struct dg_failure no_room = {.status = 503,
                                          .code = "overloaded",
                                          .retry_after_s = 1,
                                          .message =
                                              "The file cannot be read just now; try again later."};

static void run_read(struct dg_offload_task *task)
{
    struct errand *errand = (struct errand *)task;
    const uint64_t left = errand->len - errand->at;
    errand->n = left < PIECE ? (size_t)left : PIECE;
    errand->err =
        dg_tmp_file_read_at(errand->fd, errand->at, errand->text, errand->n, &errand->error);
}

static void break_off(struct errand *errand)
{
    struct dg_failure failure = no_room;
    failure.code = "unavailable";
    struct dg_call *call = errand->has_begun ? dg_work_detach(&errand->work) : NULL;
    if (!call) {
        dg_work_fail(&errand->work, failure);
        return;
    }
    call->req->on_room = NULL;
    dg_work_end(&errand->work);
    dg_http_reply_abort(call->req); /* so that nobody takes a part for the whole file */
}

static void begin_sending(struct errand *errand, struct dg_call *call)
{
    char header[DG_DOCUMENT_NAME + 64];
    snprintf(header, sizeof header, "attachment; filename=\"%s\"", errand->name);
    dg_http_reply_header(call->req, "Content-Disposition", dg_span_cstr(header));
    dg_http_reply_header(call->req, "X-Content-Type-Options", DG_SPAN("nosniff"));
    dg_call_begin_stream(call, dg_document_type(dg_span_cstr(errand->name), errand->format));
    errand->has_begun = true;
}

static void end_sending(struct errand *errand)
{
    struct dg_call *call = dg_work_detach(&errand->work);
    struct dg_document *document = find(errand->documents, dg_span_cstr(errand->id));
    call->req->on_room = NULL;
    if (document && errand->removes && call->req->method != DG_HTTP_HEAD)
        dg_documents_remove(errand->documents, document);
    dg_work_end(&errand->work);
    dg_http_reply_end(call->req);
}

static void on_piece(struct dg_offload_task *task)
{
    struct errand *errand = (struct errand *)task;
    struct dg_call *call = errand->work.call;
    errand->is_reading = false;
    if (!call) {
        free_errand(errand);
        return;
    }
    if (errand->err) {
        break_off(errand);
        return;
    }
    if (!errand->has_begun)
        begin_sending(errand, call);
    errand->at += errand->n;
    if (errand->n == 0 || call->req->method == DG_HTTP_HEAD) {
        end_sending(errand);
        return;
    }
    /* When the client has left, the work reports it. */
    (void)!dg_http_reply_write(call->req, dg_span_make(errand->text, errand->n));
}

static void send_piece(struct errand *errand)
{
    struct dg_offload *offload = errand->work.api->readers;
    if (errand->is_reading)
        return;
    errand->is_reading = true;
    if (!offload) {
        run_read(&errand->task);
        on_piece(&errand->task);
    } else if (dg_offload_submit(offload, &errand->task, run_read, on_piece) != DG_OK) {
        errand->is_reading = false;
        break_off(errand);
    }
}

static void on_room(void *owner)
{
    const struct dg_call *call = owner;
    struct errand *errand = DG_LIST_ITEM(call->work, struct errand, work);
    if (errand->has_begun)
        send_piece(errand);
}

/* The client has left. */
static void leave_sending(struct dg_work *work)
{
    struct errand *errand = DG_LIST_ITEM(work, struct errand, work);
    if (!errand->is_reading)
        free_errand(errand);
}

static const struct dg_work_ops send_ops = {.leave = leave_sending, .free = free_sent};

/* Takes the descriptor. */
static void send_errand(struct dg_call *call, struct errand *errand, int fd, size_t len)
{
    errand->len = len;
    errand->text = dg_try_malloc(PIECE);
    errand->fd = fd;
    dg_work_attach(call, &errand->work, &send_ops);
    if (!errand->text || errand->fd < 0) {
        dg_work_fail(&errand->work, no_room);
        return;
    }
    call->req->on_room = on_room;
    call->req->stream_low = STREAM_LOW;
    send_piece(errand);
}

void dg_documents_send(struct dg_call *call, struct dg_document *document, bool removes)
{
    struct errand *errand = new_errand(&call->api->documents, document);
    if (!errand) {
        dg_call_fail(call, no_room);
        return;
    }
    errand->removes = removes;
    send_errand(call, errand, fcntl(document->fd, F_DUPFD_CLOEXEC, 0), document->len);
}

void dg_documents_send_file(struct dg_call *call, struct dg_document_file *file, const char *name,
                            enum dg_doc_format format)
{
    struct dg_document document = {.format = format};
    snprintf(document.name, sizeof document.name, "%s", name);
    struct errand *errand = new_errand(&call->api->documents, &document);
    if (!errand) {
        dg_document_file_free(file);
        dg_call_fail(call, no_room);
        return;
    }
    const int fd = file->fd;
    file->fd = -1;
    errand->sent = file;
    send_errand(call, errand, fd, file->len);
}

bool dg_document_opens(const struct dg_document *document, struct dg_span key)
{
    return key.len == DG_DOCUMENT_KEY && sodium_memcmp(document->key, key.ptr, key.len) == 0;
}

const char *dg_document_type(struct dg_span name, enum dg_doc_format format)
{
    if (dg_filter_is_named(name))
        return dg_filter_type(name);
    (void)dg_doc_format_of(name, &format); /* the format of what the PDF was made into, not of its
                                              text */
    return dg_doc_media_type(format);
}
