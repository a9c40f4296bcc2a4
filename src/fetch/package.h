/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One model to fetch: its files with their addresses and hashes, and the facts about the model. It
 * comes from the catalogue, or from the list of a repository (source_hf.h), and is written into the
 * model's directory as origin.json, which dg_package_read reads.
 *
 *     dg_package_init(&package);
 *     err = dg_package_from_model(&package, &catalogue, model, &error);
 *     err = dg_package_fetch(&package, i, transfer, folder, &stop, &error);   checked, unpacked
 *     dg_package_free(&package);
 *
 * One thread. */
#ifndef DG_FETCH_PACKAGE_H
#define DG_FETCH_PACKAGE_H

#include "fetch/catalogue.h"
#include "fetch/transfer.h"

#define DG_PACKAGE_ORIGIN "origin.json"

struct dg_package_file {
    const char *name;
    const char *url;
    uint64_t size, raw_size;                    /* 0: not known */
    const char *sha256, *raw_sha256, *git_sha1; /* "": not published */
    /* SHA-256 of the fetched file; "": not fetched yet */
    char got[65];
};

struct dg_package {
    struct dg_arena arena;
    const char *name;            /* of the directory: "fr-en" */
    const char *source, *target; /* "": the name does not state it */
    const char *from;            /* "firefox", "hf:Helsinki-NLP/opus-mt-fr-en" */
    const char *kind, *version;  /* "": none */
    const char *licence;
    const char *scores_by; /* "": no scores */
    bool scores_are_older; /* of an earlier version */
    bool is_trial;
    double bleu, comet;  /* below 0: not known */
    const char *fetched; /* the date of fetching, "2026-11-25"; "" before */
    struct dg_package_file *files;
    size_t n_files;
};

void dg_package_init(struct dg_package *package);
void dg_package_free(struct dg_package *package);

enum dg_err dg_package_from_model(struct dg_package *package, const struct dg_catalogue *catalogue,
                                  const struct dg_catalogue_model *model,
                                  struct dg_error *error) DG_MUST_CHECK;

/* True when each file has a published hash. */
bool dg_package_is_pinned(const struct dg_package *package);

/* to download; files of unknown size count as 0 */
uint64_t dg_package_bytes(const struct dg_package *package);
uint64_t dg_package_raw(const struct dg_package *package); /* unpacked */

/* Fetches file `i` and unpacks it to FOLDER/NAME. A file that FOLDER already has is checked and not
 * fetched again. When a hash does not match, it returns DG_ERR_INTEGRITY and removes the fetched
 * file. */
enum dg_err dg_package_fetch(struct dg_package *package, size_t i, struct dg_transfer *transfer,
                             const char *folder, const volatile sig_atomic_t *stop,
                             struct dg_error *error) DG_MUST_CHECK;

/* True when the file that `dg_package_fetch` downloads is packed; the packed file is removed after
 * unpacking. */
bool dg_package_is_packed(const struct dg_package_file *file);

/* Appends origin.json, or the card of the model in Markdown. */
enum dg_err dg_package_print(const struct dg_package *package, struct dg_buf *out) DG_MUST_CHECK;
enum dg_err dg_package_print_card(const struct dg_package *package,
                                  struct dg_buf *out) DG_MUST_CHECK;

/* Reads DIR/origin.json. */
enum dg_err dg_package_read(struct dg_package *package, const char *dir,
                            struct dg_error *error) DG_MUST_CHECK;

/* "BLEU 44.1, COMET 0.87", with ", of an earlier version" if so; "" when there are none. */
enum { DG_PACKAGE_SCORES = 80 };
void dg_package_scores(double bleu, double comet, bool are_older, char text[DG_PACKAGE_SCORES]);

#endif
