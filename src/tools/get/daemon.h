/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Requests to a daemon that runs on this machine: to load a model, to unload one, to list what it
 * serves. The requests go to the daemon's admin socket: --admin-socket, else
 * /run/dragoman/admin.sock, else the one of `./quickstart run` in the build folder. */
#ifndef DG_TOOLS_GET_DAEMON_H
#define DG_TOOLS_GET_DAEMON_H

#include "base/json/json.h"
#include "tools/get/get_flags.h"

/* Finds the socket; false when there is none. */
bool daemon_socket(const struct get_flags *flags, char path[DG_MODEL_FOLDERS_PATH]);

/* Asks the daemon to load the model in `dir`. DG_ERR_NOT_FOUND: no daemon runs. */
enum dg_err daemon_load(const struct get_flags *flags, const char *name, const char *dir,
                        const char *source, const char *target,
                        struct dg_error *error) DG_MUST_CHECK;
enum dg_err daemon_unload(const struct get_flags *flags, const char *name,
                          struct dg_error *error) DG_MUST_CHECK;

/* Gets the answer of GET /v1/models, which the caller frees. DG_ERR_NOT_FOUND: no daemon runs. */
enum dg_err daemon_models(const struct get_flags *flags, struct dg_json **json,
                          struct dg_error *error) DG_MUST_CHECK;

#endif
