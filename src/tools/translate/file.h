/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the tools: `dragoman file`, which translates with a local model, with a daemon, or (a dry
 * run) not at all. */
#ifndef DG_TOOLS_TRANSLATE_FILE_H
#define DG_TOOLS_TRANSLATE_FILE_H

#include "base/log/progress.h"
#include "base/memory/buf.h"
#include "filter/filter.h"
#include "markup/doc.h"
#include "tools/server_options.h"

struct file_flags {
    int help;
    const char *model;
    int64_t threads, beam;
    int kind;            /* 0: detected; else enum dg_doc_format + 1, or a kind of the filters */
    const char *columns; /* for csv */
    const char *output;  /* for pdf */
    bool all, mark, dry_run, quiet;
    struct server_flags remote;
};

enum { TARGET_CAP = 64 };

/* One file that is being translated. */
struct file_work {
    const struct file_flags *flags;
    const struct dg_opt_set *set;
    struct dg_span text;      /* the text of the file, or the text that its filter gives */
    struct dg_filter *filter; /* the filter that gives the text; NULL: the whole file is the text */
    enum dg_doc_format format;
    struct dg_doc_opts opts;
    struct dg_progress progress; /* counts bytes of dg_doc_original */
    struct dg_buf result;        /* the translated text */
    char target[TARGET_CAP];     /* the language of the result, as far as it is known */
    size_t n_sentences, n_lost, n_out;
    size_t n_unsound; /* of a PO file: translated entries that lack directives of their originals */
};

/* Translates the whole file into work->result. */
enum dg_err file_by_model(struct file_work *work, struct dg_error *error) DG_MUST_CHECK;
enum dg_err file_by_server(struct file_work *work, struct dg_error *error) DG_MUST_CHECK;

/* Copies every sentence unchanged. The file still goes through the layer that takes it apart,
 * escapes the text and puts it together again, as for a translation. */
enum dg_err file_dry(struct file_work *work, struct dg_error *error) DG_MUST_CHECK;

#endif
