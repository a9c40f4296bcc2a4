/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Keys and quotas inside the daemon: reads the files that the options name, at start and at every
 * reload, and writes the usage journal each second, both on a background thread.
 *
 *     err = dg_keys_open(&keys, loop, options, shared, log, &error);     reads the key file
 *     dg_api_set_access(api, dg_keys_access(keys));
 *     dg_keys_reload(keys, options);       later; the log reports the outcome
 *     dg_keys_close(keys);                 while the loop still runs
 *     dg_keys_free(keys);                  after the loop and the api; writes what is left
 *
 * The loop's thread, except for reading and writing, which a libuv worker does. */
#ifndef DG_DAEMON_KEYS_H
#define DG_DAEMON_KEYS_H

#include "access/access.h"
#include "base/log/log.h"
#include "base/memory/error.h"
#include "base/option/opt.h"
#include "daemon/process.h"
#include "daemon/shared.h"

#include <uv.h>

struct dg_keys;
struct dg_options;

/* `shared` (borrowed; NULL: none) counts quotas for several servers; they are then counted here
 * too. *keys is set on failure as well, for close and free. */
enum dg_err dg_keys_open(struct dg_keys **keys, uv_loop_t *loop, const struct dg_opt_set *options,
                         struct dg_shared *shared, struct dg_log *log,
                         struct dg_error *error) DG_MUST_CHECK;

/* Reads the files of keys and of the shared secret, and changes nothing; fails like dg_keys_open.
 */
enum dg_err dg_keys_check(const struct dg_options *options, struct dg_error *error) DG_MUST_CHECK;

struct dg_access *dg_keys_access(const struct dg_keys *keys);

/* Gives the usage file to the account that the daemon will run as. */
enum dg_err dg_keys_hand_over(const struct dg_keys *keys, const struct dg_account *account,
                              struct dg_error *error) DG_MUST_CHECK;

/* Fails when the fresh options would lock everybody out, so that the reload must be refused: they
 * newly require a key or name another file, and the file cannot be read or has no key. */
enum dg_err dg_keys_check_reload(const struct dg_opt_set *live, const struct dg_opt_set *fresh,
                                 struct dg_error *error) DG_MUST_CHECK;

/* Reloads the keys: another key file is read at once, the same file on a background thread. If it
 * cannot be read, the old keys stay. */
void dg_keys_reload(struct dg_keys *keys, const struct dg_opt_set *options);

/* Closes the handles on the loop; idempotent, NULL is fine. */
void dg_keys_close(struct dg_keys *keys);
void dg_keys_free(struct dg_keys *keys); /* NULL is fine */

#endif
