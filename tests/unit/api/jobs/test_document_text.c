/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "api/jobs/bulk_int.h"
#include "api/jobs/document_text.h"
#include "tmpdir.h"
#include "unit.h"

#include <stdio.h>

static const char id[] = "0123456789abcdef0123456789abcdef";

static enum dg_err read_as(struct dg_document_text *text, const char *name, const char *bytes,
                           struct dg_error *error)
{
    struct dg_arena arena;
    *text = (struct dg_document_text){
        .bytes = dg_span_cstr(bytes), .name = name, .columns = "", .output = ""};
    dg_arena_init(&arena, 1 << 20);
    const enum dg_err err = dg_document_text_read(text, NULL, NULL, &arena, error);
    dg_arena_deinit(&arena);
    return err;
}

static void expect(const char *name, const char *bytes, const char *lines,
                   enum dg_doc_format format, uint64_t n_plain)
{
    struct dg_document_text text;
    struct dg_error error = DG_ERROR_NONE;
    const enum dg_err err = read_as(&text, name, bytes, &error);
    ck_assert_msg(err == DG_OK || err == DG_ERR_NOMEM, "%s", error.text);
    if (!err) {
        ck_assert(dg_span_eq(dg_buf_span(&text.lines), dg_span_cstr(lines)));
        ck_assert_int_eq(text.format, format);
        ck_assert_uint_eq(text.n_plain, n_plain);
        ck_assert_str_eq(text.source, "");
    }
    dg_document_text_deinit(&text);
}

START_TEST(a_file_becomes_lines)
{
    expect("a.txt", "Un.\n\n\nDeux\n\"trois\".\n",
           "{\"text\":\"Un.\\n\\n\\n\"}\n{\"text\":\"Deux\\n\\\"trois\\\".\\n\"}\n", DG_DOC_TEXT,
           20);
    expect("a.html", "<p>Un.</p>\n\n<p>Deux.</p>", "{\"text\":\"<p>Un.</p>\\n\\n<p>Deux.</p>\"}\n",
           DG_DOC_HTML, 13);
    expect("a.txt", "", "", DG_DOC_TEXT, 0);
}
END_TEST

START_TEST(what_cannot_be_read_is_refused_with_a_reason)
{
    static const struct {
        const char *name, *bytes, *why;
    } rows[] = {
        {"a.po", "\xff", "not UTF-8 at byte 0"},
        {"a.json", "{\"a\": \"b\"", "line 1"},
        {"a.docx", "x", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dg_document_text text;
        struct dg_error error = DG_ERROR_NONE;
        const enum dg_err err = read_as(&text, rows[i].name, rows[i].bytes, &error);
        ck_assert_int_ne(err, DG_OK);
        ck_assert_msg(err == DG_ERR_NOMEM || strstr(error.text, rows[i].why), "%s", error.text);
        dg_document_text_deinit(&text);
    }
}
END_TEST

/* ---- Written again --------------------------------------------------------------------------- */

struct bench {
    char dir[DG_TMPDIR_CAP];
    struct dg_bulk bulk;
    struct dg_bulk_job *job; /* NULL: there was no memory */
    struct dg_buf written;
};

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static void begin(struct bench *bench, const char *name, const char *bytes, const char *in)
{
    dg_tmpdir_make(bench->dir);
    bench->bulk =
        (struct dg_bulk){.opts = {.dir = bench->dir, .line_max = 1000}, .clock = DG_CLOCK_REAL};
    dg_buf_init(&bench->written, 1 << 20);
    bench->job = dg_bulk_job_new(&bench->bulk, id);
    if (!bench->job)
        return;
    snprintf(bench->job->document_name, sizeof bench->job->document_name, "%s", name);
    write_file(bench->job->document_path, bytes);
    write_file(bench->job->in_path, in);
}

static void end(struct bench *bench)
{
    if (bench->job) {
        bench->job->is_removed = true;
        dg_bulk_hold(bench->job);
        dg_bulk_release(bench->job);
    }
    dg_buf_deinit(&bench->written);
    dg_tmpdir_remove(bench->dir);
}

static enum dg_err append(void *ctx, struct dg_span bytes, struct dg_error *error)
{
    struct bench *bench = ctx;
    (void)error;
    return dg_buf_append_span(&bench->written, bytes);
}

static void expect_written(struct bench *bench, const char *text)
{
    struct dg_error error = DG_ERROR_NONE;
    const enum dg_err err = bench->job ? dg_document_text_write(bench->job, bench->job->n_done > 0,
                                                                "en", append, bench, &error)
                                       : DG_ERR_NOMEM;
    ck_assert_msg(err == DG_OK || err == DG_ERR_NOMEM, "%s", error.text);
    ck_assert(err || dg_span_eq(dg_buf_span(&bench->written), dg_span_cstr(text)));
}

START_TEST(translated_lines_become_the_file)
{
    struct bench bench;
    begin(&bench, "a.txt", "Un.\n\nDeux.\n", "{\"text\":\"Un.\\n\\n\"}\n{\"text\":\"Deux.\\n\"}\n");
    if (bench.job) {
        bench.job->n_done = 2;
        write_file(bench.job->out_path, "{\"line\":1,\"text\":\"One.\\n\\n\"}\n"
                                        "{\"line\":2,\"error\":{\"code\":\"internal\"}}\n");
    }
    expect_written(&bench, "One.\n\nDeux.\n");
    end(&bench);
}
END_TEST

START_TEST(a_document_that_stays_as_it_is_has_no_translations)
{
    struct bench bench;
    begin(&bench, "a.txt", "One.\n", "{\"text\":\"One.\\n\"}\n");
    expect_written(&bench, "One.\n");
    end(&bench);
}
END_TEST

START_TEST(a_result_that_is_lost_is_told)
{
    struct bench bench;
    struct dg_error error = DG_ERROR_NONE;
    begin(&bench, "a.txt", "Un.\n", "{\"text\":\"Un.\\n\"}\n");
    if (bench.job) {
        bench.job->n_done = 1;
        ck_assert_int_ne(
            dg_document_text_write(bench.job, bench.job->n_done > 0, "en", append, &bench, &error),
            DG_OK);
        ck_assert_uint_eq(bench.written.len, 0);
    }
    end(&bench);
}
END_TEST

DG_UNIT(a_file_becomes_lines, what_cannot_be_read_is_refused_with_a_reason,
        translated_lines_become_the_file, a_document_that_stays_as_it_is_has_no_translations,
        a_result_that_is_lost_is_told)
