/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Unpacks one compressed file into another, a piece at a time.
 *
 *     const struct dg_unpack_opts opts = {.packing = dg_unpack_packing("x.bin.zst"),
 *                                         .size = 17141051};
 *     err = dg_unpack(from, to, &opts, &error);
 *
 * A stream that would become larger than its stated size is refused with DG_ERR_LIMIT before a byte
 * more is written; one that ends early or is damaged, with DG_ERR_FORMAT. `to` appears only when it
 * is complete. Memory does not depend on the file; a zstd window beyond 32 MiB is refused. Any
 * thread. */
#ifndef DG_FETCH_UNPACK_H
#define DG_FETCH_UNPACK_H

#include "base/memory/error.h"

#include <signal.h>
#include <stdint.h>

enum dg_packing { DG_PACKING_NONE, DG_PACKING_GZIP, DG_PACKING_ZSTD };

struct dg_unpack_opts {
    enum dg_packing packing;
    uint64_t size; /* the unpacked size; 0: as the stream itself states, at most `max` */
    uint64_t max;
    /* NULL, or a flag that ends the work with DG_ERR_CANCELLED */
    const volatile sig_atomic_t *stop;
};

/* Returns the kind of packing by the end of a name: .gz, .zst. */
enum dg_packing dg_unpack_packing(const char *name);

/* Returns the unpacked size that the packed file at `path` states; 0 when it states none. */
uint64_t dg_unpack_stated(const char *path, enum dg_packing packing);

enum dg_err dg_unpack(const char *from, const char *to, const struct dg_unpack_opts *opts,
                      struct dg_error *error) DG_MUST_CHECK;

#endif
