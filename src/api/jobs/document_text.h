/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* From a file to the lines of a job, and from their translations to the file again. Each line is a
 * paragraph as {"text":...} in the format of the file's text; formats whose parts cannot stand
 * alone are one line.
 *
 *     struct dg_document_text text = {.bytes = bytes, .name = "letter.docx", ...};
 *     err = dg_document_text_read(&text, engine, &langs, &arena, &error);
 *     ... text.lines, text.format, text.n_characters, text.source ...
 *     dg_document_text_deinit(&text);
 *     err = dg_document_text_write(job, true, "en", append, ctx, &error);
 *
 * Memory: some ten times the text, at most LINES_MAX for the lines, on as many threads as read
 * bodies; nothing of it is kept while the lines are translated. Any thread. */
#ifndef DG_API_JOBS_DOCUMENT_TEXT_H
#define DG_API_JOBS_DOCUMENT_TEXT_H

#include "api/v1/languages.h"
#include "base/memory/buf.h"
#include "engine/engine.h"
#include "markup/doc.h"

struct dg_bulk_job;

struct dg_document_text {
    struct dg_span bytes;                /* the file; borrowed */
    const char *name, *columns, *output; /* borrowed; how it is read (filter.h) */
    const atomic_bool *stop;             /* borrowed; another thread sets this to cancel */

    struct dg_buf lines;          /* owned */
    enum dg_doc_format format;    /* the format of the text */
    uint64_t n_characters;        /* code points of the text, with its markup, */
    uint64_t n_plain;             /* and without it */
    char source[DG_LANGTAG_TEXT]; /* the language that was detected; "": none was */
};

/* Reads the file, and detects its language among `langs` unless that is NULL. */
enum dg_err dg_document_text_read(struct dg_document_text *text, const struct dg_engine *engine,
                                  const struct dg_languages *langs, struct dg_arena *arena,
                                  struct dg_error *error) DG_MUST_CHECK;
void dg_document_text_deinit(struct dg_document_text *text);

/* Writes the translated file of a job that is done. Any thread: it reads nothing of the job that
 * the loop may still change. A document that stays as it is has no output. `language` is its tag;
 * may be "". */
enum dg_err dg_document_text_write(const struct dg_bulk_job *job, bool has_output,
                                   const char *language,
                                   enum dg_err (*append)(void *ctx, struct dg_span bytes,
                                                         struct dg_error *error),
                                   void *ctx, struct dg_error *error) DG_MUST_CHECK;

#endif
