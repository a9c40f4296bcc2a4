/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Gets Mozilla's current list of the models that Firefox downloads. The list is the answers of a
 * Kinto server ({"data": [record, ...]}, perhaps in pages), with one record for each file.
 *
 *     err = dg_firefox_list(transfer, &catalogue, "2026-11-25", &fresh, &error);
 *     ... `fresh` is the catalogue with the source "firefox" renewed; other sources stay ...
 *
 * One thread. */
#ifndef DG_FETCH_SOURCE_FIREFOX_H
#define DG_FETCH_SOURCE_FIREFOX_H

#include "fetch/catalogue.h"
#include "fetch/transfer.h"

/* Requests the list from its address, page by page. `date` is today's, "2026-11-25". On success the
 * caller frees *fresh, which borrows nothing. */
enum dg_err dg_firefox_list(struct dg_transfer *transfer, const struct dg_catalogue *catalogue,
                            const char *date, struct dg_catalogue *fresh,
                            struct dg_error *error) DG_MUST_CHECK;

/* Appends the records to `out` as JSON lines of a catalogue's models, with commas between. For the
 * function above and for tests. `pages` are whole answers. DG_ERR_FORMAT: a page is not such an
 * answer. */
enum dg_err dg_firefox_models(const struct dg_span *pages, size_t n_pages, struct dg_buf *out,
                              struct dg_error *error) DG_MUST_CHECK;

#endif
