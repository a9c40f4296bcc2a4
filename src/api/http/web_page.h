/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The files of clients/web and the client library that they use, inside the program. The table is
 * made by scripts/embed when the program is built; the first row is what "/" shows. */
#ifndef DG_API_HTTP_WEB_PAGE_H
#define DG_API_HTTP_WEB_PAGE_H

#include <stddef.h>

struct dg_web_page_file {
    const char *name; /* relative to page/ */
    const char *type;
    const char *etag; /* with its quotation marks */
    const unsigned char *bytes;
    size_t len;
    const unsigned char *member; /* the same as a gzip member */
    size_t member_len;
};

extern const struct dg_web_page_file dg_web_page_files[];
extern const size_t dg_n_page_files;

#endif
