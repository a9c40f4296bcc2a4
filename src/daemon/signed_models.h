/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Which models the daemon may load when `require-signed-models` is on: those whose manifest is
 * signed by one of `trusted-keys` (minisign's public key files) and whose files all match that
 * manifest.
 *
 *     struct dg_signed_models trust;
 *     err = dg_signed_models_read(&trust, options, &error);                reads the key files
 *     err = dg_signed_models_check(&trust, "fr-en", path, &error);         any thread
 *
 * A plain value; without `require-signed-models` everything is trusted. */
#ifndef DG_DAEMON_SIGNED_MODELS_H
#define DG_DAEMON_SIGNED_MODELS_H

#include "daemon/options.h"
#include "model/file/minisign.h"

enum { DG_SIGNED_MODELS_KEYS_MAX = 32 };

struct dg_signed_models {
    bool is_required;
    struct dg_minisign_public keys[DG_SIGNED_MODELS_KEYS_MAX];
    size_t n;
};

/* Fails, with the file's name, on a key file that cannot be read or is not a key file. */
enum dg_err dg_signed_models_read(struct dg_signed_models *trust, const struct dg_options *options,
                                  struct dg_error *error) DG_MUST_CHECK;

/* Reads and hashes the whole directory. DG_ERR_DENIED: not signed, by another key, or changed
 * since. */
enum dg_err dg_signed_models_check(const struct dg_signed_models *trust, const char *name,
                                   const char *path, struct dg_error *error) DG_MUST_CHECK;

#endif
