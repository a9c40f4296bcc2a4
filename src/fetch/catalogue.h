/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The catalogue lists which models can be fetched, and where their files are. It is a JSON file
 * that is installed with the program; data/catalogue/make.py and `dragoman get --update-catalogue`
 * write it, and docs/models.md describes it. All of it is treated as hostile input: its author can
 * decide neither where files are written nor how large they become.
 *
 *     err = dg_catalogue_read(&catalogue, path, &error);
 *     for (size_t i = 0; i < catalogue.n_models; i++)
 *         ... catalogue.models[i].source ...
 *     err = dg_catalogue_print(&catalogue, &buf);             the file again
 *     dg_catalogue_free(&catalogue);
 *
 * One thread. */
#ifndef DG_FETCH_CATALOGUE_H
#define DG_FETCH_CATALOGUE_H

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DG_CATALOGUE_BYTES_MAX = 8 << 20,
    DG_CATALOGUE_MODELS_MAX = 10000,
    DG_CATALOGUE_FILES_MAX = 32, /* of one model */
    DG_CATALOGUE_SOURCES_MAX = 32,
    DG_CATALOGUE_TEXT_MAX = 400, /* the most bytes of any text in it */
};

#define DG_CATALOGUE_FILE_MAX ((uint64_t)16 << 30) /* bytes of one file */

/* One file as it is downloaded. A place that ends in .gz or .zst is packed. */
struct dg_catalogue_file {
    const char *name;       /* what the import calls it; a plain file name */
    const char *place;      /* after the source's base */
    uint64_t size;          /* 0: not known */
    const char *sha256;     /* 64 hexadecimal digits in lower case; "": not published */
    uint64_t raw_size;      /* unpacked; 0: not known */
    const char *raw_sha256; /* "": not published */
    const char *git_sha1;   /* the file's name as a git blob, 40 digits; "": not known */
};

struct dg_catalogue_source {
    const char *name;      /* "firefox" */
    const char *base;      /* "https://.../" */
    const char *list;      /* where its publisher lists the present models; "": nowhere */
    const char *licence;   /* in words */
    const char *scores_by; /* who published the scores, and on which texts; "": there are none */
};

struct dg_catalogue_model {
    const char *source, *target; /* language tags */
    const struct dg_catalogue_source *from;
    const char *kind;    /* "tiny", "base-memory", "base", "argos" */
    const char *version; /* "3.0"; one with a letter is a trial; "": not numbered */
    const char *filter;  /* the copies of Firefox for which it is meant; "": all */
    int64_t changed;     /* seconds since 1970; 0: not known */
    double bleu, comet;  /* below 0: not known */
    const struct dg_catalogue_file *files;
    size_t n_files;
};

struct dg_catalogue {
    struct dg_arena arena;
    const char *date; /* of the lists, "2025-10-17" */
    struct dg_catalogue_source *sources;
    size_t n_sources;
    struct dg_catalogue_model *models;
    size_t n_models;
};

/* On failure nothing is left to free. */
enum dg_err dg_catalogue_parse(struct dg_catalogue *catalogue, struct dg_span text,
                               struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_catalogue_read(struct dg_catalogue *catalogue, const char *path,
                              struct dg_error *error) DG_MUST_CHECK;
void dg_catalogue_free(struct dg_catalogue *catalogue);

/* Appends the catalogue as its JSON file. */
enum dg_err dg_catalogue_print(const struct dg_catalogue *catalogue,
                               struct dg_buf *out) DG_MUST_CHECK;

/* Returns the source of this name; NULL when there is none. */
const struct dg_catalogue_source *dg_catalogue_source(const struct dg_catalogue *catalogue,
                                                      const char *name);

/* ---- Checks of texts from elsewhere ---------------------------------------------------------- */

/* True for a file name that stays in its folder: letters, digits, '.', '_', '-', '+'; no '.' in
 * front. */
bool dg_catalogue_is_name(struct dg_span text);

/* At most DG_CATALOGUE_TEXT_MAX bytes without control characters, which a terminal would obey. */
bool dg_catalogue_is_text(struct dg_span text);

/* True for the rest of a URL: parts with the characters of file names and '%', '=', ',', '~',
 * separated by '/'; no part is empty or "..". */
bool dg_catalogue_is_place(struct dg_span text);

/* "fr", "zh-Hans", "pt-BR". */
bool dg_catalogue_is_language(struct dg_span text);

/* `n` hexadecimal digits in lower case. */
bool dg_catalogue_is_hash(struct dg_span text, size_t n);

/* True for https:// and a host, followed by characters that a URL may have; no blanks, quotes or
 * user names. */
bool dg_catalogue_is_url(struct dg_span text);

#endif
