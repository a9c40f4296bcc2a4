/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "api/http/documents.h"
#include "base/file/tmp_file.h"
#include "base/memory/clock.h"
#include "base/memory/mem.h"
#include "net/loop/offload.h"
#include "tmpdir.h"
#include "unit.h"

#include <dirent.h>
#include <sys/stat.h>

enum { HOUR_S = 3600 };

struct place {
    char dir[DG_TMPDIR_CAP];
    struct dg_documents documents;
    struct dg_documents_opts opts;
};

static void open_place(struct place *place, uint64_t bytes_max)
{
    struct dg_error error = DG_ERROR_NONE;
    dg_tmpdir_make(place->dir);
    place->opts = (struct dg_documents_opts){.dir = place->dir, .bytes_max = bytes_max};
    dg_documents_init(&place->documents);
    ck_assert(!dg_documents_are_taken(&place->documents));
    ck_assert_int_eq(dg_documents_open(&place->documents, &place->opts, &error), DG_OK);
}

static void close_place(struct place *place)
{
    dg_documents_deinit(&place->documents);
    ck_assert_uint_eq(place->documents.bytes, 0);
    ck_assert_uint_eq(place->documents.n, 0);
    ck_assert_int_eq(rmdir(place->dir), 0); /* the folder is empty */
}

static uint64_t at(uint64_t s)
{
    return s * 1000 * DG_CLOCK_MS;
}

/* NULL when there was no memory. */
static struct dg_document *add(struct place *place, uint64_t now, const char *name)
{
    struct dg_document *document = NULL;
    enum dg_err err = dg_documents_add(&place->documents, now, 0, dg_span_cstr(name), &document);
    ck_assert(err == DG_OK || err == DG_ERR_NOMEM);
    return document;
}

static int n_told;
static enum dg_err told;

static void on_kept(void *ctx, enum dg_err err)
{
    ck_assert_ptr_eq(ctx, &n_told);
    n_told++;
    told = err;
}

START_TEST(a_document_is_kept_on_disk_and_found_by_its_id)
{
    struct place place;
    struct dg_error error = DG_ERROR_NONE;
    char text[8];
    open_place(&place, 100);
    struct dg_document *document = add(&place, at(0), "a/my letter.html");
    if (document) {
        n_told = 0;
        ck_assert_str_eq(document->name, "my_letter.html");
        ck_assert(document->state == DG_DOCUMENT_TRANSLATING && document->fd < 0);
        enum dg_err err = dg_documents_keep(&place.documents, NULL, document, DG_SPAN("<p>x</p>"),
                                            on_kept, &n_told);
        ck_assert(err ? n_told == 0 && document->state == DG_DOCUMENT_FAILED
                      : n_told == 1 && told == DG_OK);
        if (!err) {
            ck_assert(dg_documents_find(&place.documents, at(HOUR_S - 1),
                                        dg_span_cstr(document->id)) == document);
            ck_assert_int_eq(document->state, DG_DOCUMENT_DONE);
            ck_assert_uint_eq(place.documents.bytes, 8);
            ck_assert_uint_eq(document->len, sizeof text);
            ck_assert_int_eq(dg_tmp_file_read_at(document->fd, 0, text, sizeof text, &error),
                             DG_OK);
            ck_assert(dg_span_eq(dg_span_make(text, sizeof text), DG_SPAN("<p>x</p>")));
        }
        ck_assert(dg_document_opens(document, dg_span_cstr(document->key)));
        ck_assert(!dg_document_opens(document, dg_span_cstr(document->id)));
        ck_assert_ptr_null(
            dg_documents_find(&place.documents, at(HOUR_S), dg_span_cstr(document->id)));
    }
    close_place(&place);
}
END_TEST

START_TEST(a_file_as_it_was_sent_takes_room_until_it_is_freed)
{
    struct place place;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_document_file *file = NULL, *other = NULL;
    open_place(&place, 100);
    if (dg_document_file_new(&place.documents, 1, &file) == DG_OK) {
        ck_assert(dg_document_file_grow(file, 4) && dg_document_file_grow(file, 8));
        ck_assert_uint_eq(place.documents.bytes, 8);
        ck_assert(!dg_document_file_grow(file, 51)); /* half is for others */
        ck_assert_uint_eq(place.documents.bytes, 8);
        ck_assert_int_eq(dg_document_file_append(file, DG_SPAN("1234"), &error), DG_OK);
        ck_assert_int_eq(dg_document_file_append(file, DG_SPAN("5678"), &error), DG_OK);
        ck_assert_int_eq(dg_document_file_map(file, &error), DG_OK);
        ck_assert(dg_span_eq(dg_span_make(file->bytes, file->len), DG_SPAN("12345678")));
        ck_assert_int_eq(file->fd, -1);
        if (dg_document_file_new(&place.documents, 2, &other) == DG_OK)
            ck_assert(dg_document_file_grow(other, 46) && !dg_document_file_grow(other, 47));
        dg_document_file_free(file);
        dg_document_file_free(other);
    }
    close_place(&place);
}
END_TEST

START_TEST(a_file_may_outlive_the_documents)
{
    struct place place;
    struct dg_document_file *file = NULL;
    open_place(&place, 100);
    if (dg_document_file_new(&place.documents, 1, &file) == DG_OK)
        ck_assert(dg_document_file_grow(file, 4));
    dg_documents_deinit(&place.documents);
    ck_assert(!file || !dg_document_file_grow(file, 5));
    dg_document_file_free(file);
    ck_assert_int_eq(rmdir(place.dir), 0);
}
END_TEST

START_TEST(what_does_not_fit_is_refused_and_room_comes_back)
{
    struct place place;
    open_place(&place, 10);
    struct dg_document *first = add(&place, at(0), "a.txt"), *second = add(&place, at(1), "b.txt");
    if (first && second &&
        dg_documents_keep(&place.documents, NULL, first, DG_SPAN("1234567"), NULL, NULL) == DG_OK) {
        ck_assert_int_eq(
            dg_documents_keep(&place.documents, NULL, second, DG_SPAN("1234"), NULL, NULL),
            DG_ERR_LIMIT);
        ck_assert_int_eq(second->state, DG_DOCUMENT_FAILED);
        ck_assert_str_eq(second->error, "There is no room for the translation.");
        dg_documents_remove(&place.documents, first);
        if ((first = add(&place, at(2), "c.txt")))
            ck_assert_int_ne(
                dg_documents_keep(&place.documents, NULL, first, DG_SPAN("1234567890"), NULL, NULL),
                DG_ERR_LIMIT);
    }
    close_place(&place);
}
END_TEST

START_TEST(what_could_not_be_written_takes_no_room)
{
    struct place place;
    open_place(&place, 10);
    struct dg_document *first = add(&place, at(0), "a.txt"), *second = add(&place, at(1), "b.txt");
    ck_assert_int_eq(rmdir(place.dir), 0); /* as a disk that is full */
    n_told = 0;
    if (first && dg_documents_keep(&place.documents, NULL, first, DG_SPAN("1234567"), on_kept,
                                   &n_told) == DG_OK)
        ck_assert(n_told == 1 && told != DG_OK);
    ck_assert(!first || first->state == DG_DOCUMENT_FAILED);
    ck_assert_uint_eq(place.documents.bytes, 0);
    ck_assert_int_eq(mkdir(place.dir, 0700), 0);
    if (second)
        ck_assert_int_ne(
            dg_documents_keep(&place.documents, NULL, second, DG_SPAN("1234567890"), NULL, NULL),
            DG_ERR_LIMIT);
    close_place(&place);
}
END_TEST

START_TEST(there_are_only_so_many_and_of_known_kinds)
{
    struct place place;
    struct dg_document *document = NULL;
    open_place(&place, 10);
    static const char *const bad[] = {"", "a", ".", "a.exe", "a.html.exe"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(dg_documents_add(&place.documents, 0, 0, dg_span_cstr(bad[i]), &document),
                         DG_ERR_UNSUPPORTED);
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < 2000 && !err; i++)
        err = dg_documents_add(&place.documents, 0, 0, DG_SPAN("a.md"), &document);
    ck_assert(err == DG_ERR_BUSY || err == DG_ERR_NOMEM);
    ck_assert(dg_documents_add(&place.documents, at(HOUR_S), 0, DG_SPAN("a.md"), &document) !=
              DG_ERR_BUSY); /* all are too old */
    close_place(&place);
}
END_TEST

START_TEST(a_folder_that_cannot_be_used_is_told)
{
    struct dg_documents documents;
    struct dg_error error = DG_ERROR_NONE;
    dg_documents_init(&documents);
    const struct dg_documents_opts opts = {.dir = "/nowhere", .bytes_max = 1},
                                   none = {.dir = "/nowhere"};
    ck_assert_int_ne(dg_documents_open(&documents, &opts, &error), DG_OK);
    ck_assert_ptr_nonnull(strstr(error.text, "/nowhere"));
    ck_assert(!dg_documents_are_taken(&documents));
    ck_assert_int_eq(dg_documents_open(&documents, &none, &error), DG_OK);
    ck_assert(!dg_documents_are_taken(&documents));
    dg_documents_deinit(&documents);
}
END_TEST

/* Keeps the thread busy until the end of the test. */
struct stop {
    struct dg_offload_task task;
    uv_sem_t begun, goes_on;
};

static void run_stop(struct dg_offload_task *task)
{
    struct stop *stop = (struct stop *)task;
    uv_sem_post(&stop->begun);
    uv_sem_wait(&stop->goes_on);
}

static void on_nothing(struct dg_offload_task *task)
{
    (void)task;
}

START_TEST(what_was_worked_out_is_kept_also_when_the_thread_takes_no_more)
{
    struct place place;
    struct stop stop, full;
    struct dg_offload *offload = NULL;
    struct dg_error error = DG_ERROR_NONE;
    uv_loop_t loop;
    const struct dg_pool_opts opts = {.n_threads = 1, .max_jobs = 1, .name = "test"};
    open_place(&place, 100);
    uv_loop_init(&loop);
    uv_sem_init(&stop.begun, 0);
    uv_sem_init(&stop.goes_on, 0);
    if (dg_offload_open(&loop, &opts, &error, &offload) == DG_OK) {
        ck_assert_int_eq(dg_offload_submit(offload, &stop.task, run_stop, on_nothing), DG_OK);
        uv_sem_wait(&stop.begun);
        ck_assert_int_eq(dg_offload_submit(offload, &full.task, on_nothing, on_nothing), DG_OK);
        struct dg_document *document = add(&place, at(0), "a.txt");
        n_told = 0;
        enum dg_err err = document ? dg_documents_keep(&place.documents, offload, document,
                                                       DG_SPAN("text"), on_kept, &n_told)
                                   : DG_ERR_NOMEM;
        ck_assert(err == DG_OK || err == DG_ERR_NOMEM);
        ck_assert(err || (n_told == 1 && document->state == DG_DOCUMENT_DONE));
        uv_sem_post(&stop.goes_on);
        dg_offload_close(offload);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    uv_sem_destroy(&stop.begun);
    uv_sem_destroy(&stop.goes_on);
    close_place(&place);
}
END_TEST

DG_UNIT(a_document_is_kept_on_disk_and_found_by_its_id,
        a_file_as_it_was_sent_takes_room_until_it_is_freed, a_file_may_outlive_the_documents,
        what_does_not_fit_is_refused_and_room_comes_back, what_could_not_be_written_takes_no_room,
        what_was_worked_out_is_kept_also_when_the_thread_takes_no_more,
        there_are_only_so_many_and_of_known_kinds, a_folder_that_cannot_be_used_is_told)
