/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Mozilla's list of the models that Firefox downloads, as it is now: the answers of a Kinto server
 * ({"data": [record, ...]}, perhaps in pages), one record a file.
 *
 *     err = dg_firefox_list(transfer, &catalogue, "2026-11-25", &fresh, &error);
 *     ... `fresh` is the catalogue with the source "firefox" renewed; other sources stay ...
 *
 * One thread. */
#ifndef DG_FETCH_SOURCE_FIREFOX_H
#define DG_FETCH_SOURCE_FIREFOX_H

#include "fetch/catalogue.h"
#include "fetch/transfer.h"

/* Asks the list's address, page by page. `date` is today's, "2026-11-25". On success *fresh is to
 * be freed; it borrows nothing. */
enum dg_err dg_firefox_list(struct dg_transfer *transfer, const struct dg_catalogue *catalogue,
                            const char *date, struct dg_catalogue *fresh,
                            struct dg_error *error) DG_MUST_CHECK;

/* Records as JSON lines of a catalogue's models, appended to `out` with commas between; for the
 * function above and for tests. `pages` are whole answers. DG_ERR_FORMAT: no such answer. */
enum dg_err dg_firefox_models(const struct dg_span *pages, size_t n_pages, struct dg_buf *out,
                              struct dg_error *error) DG_MUST_CHECK;

#endif
