/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A folder for bulk jobs that are not kept: the documents of a server without jobs-dir. It is
 * removed, with everything in it, when the server ends. If a server was killed, its folder is
 * removed by the next server that makes one in the same place.
 *
 *     err = dg_bulk_scratch_make("/var/tmp", path, &error);
 *     ... dg_bulk_open with path and .is_temporary, which removes it when it is closed ...
 *
 * These functions wait for the disk. */
#ifndef DG_API_JOBS_BULK_SCRATCH_H
#define DG_API_JOBS_BULK_SCRATCH_H

#include "api/jobs/bulk_file.h"

/* Makes DIR/dragoman-documents-XXXXXX, which only this account may enter. */
enum dg_err dg_bulk_scratch_make(const char *dir, char path[DG_BULK_PATH_MAX],
                                 struct dg_error *error) DG_MUST_CHECK;

void dg_bulk_scratch_remove(const char *path);

#endif
