/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The translation service inside the daemon: the engine, the means by which it wakes the loop, and
 * the models that the options name: sections `[model NAME]`, and every sub-directory of models-dir;
 * without a configuration, the installed models (engine/models/model_folders.h).
 *
 *     struct dg_service *service;
 *     err = dg_service_open(&service, loop, turn, options, shared, log, &error);
 *                                        loads or offers every model
 *     dg_api_set_engine(api, dg_service_engine(service));
 *     err = dg_service_reload(service, options, on_over, user);
 *                                        in the background, while the old models still serve
 *     dg_service_close(service);         while the loop still runs
 *     dg_service_free(service);          after the loop
 *
 * The loop's thread, except for the loading itself, which a libuv worker does. */
#ifndef DG_DAEMON_SERVICE_H
#define DG_DAEMON_SERVICE_H

#include "base/log/log.h"
#include "base/memory/error.h"
#include "base/option/opt.h"
#include "engine/engine.h"

#include <uv.h>

struct dg_service;
struct dg_shared;

/* Fails when a model cannot be loaded; the sentence names it. `shared` may be NULL. `options` (the
 * daemon's) are only needed until this returns. */
enum dg_err dg_service_open(struct dg_service **service, uv_loop_t *loop, struct dg_turn *turn,
                            const struct dg_opt_set *options, struct dg_shared *shared,
                            struct dg_log *log, struct dg_error *error) DG_MUST_CHECK;

struct dg_engine *dg_service_engine(const struct dg_service *service);

/* Returns the share of memory-limit for buffers (memory.h); 0: no limit. */
size_t dg_service_buffers(const struct dg_service *service);

/* Returns the longest time that a worker has spent on its present step. */
uint64_t dg_service_stalled_ns(const struct dg_service *service);

/* `on_turn` is called after each dg_engine_poll. */
void dg_service_on_turn(struct dg_service *service, void (*on_turn)(void *user), void *user);

/* Returns whether a reload is under way or waits. */
bool dg_service_is_reloading(const struct dg_service *service);

/* Checks that no section has the name of a model of models-dir: DG_ERR_EXISTS, with both paths.
 * Missing folders are skipped. */
enum dg_err dg_service_check(const struct dg_opt_set *options,
                             struct dg_error *error) DG_MUST_CHECK;

/* Looks whether the files of all models that the options name, and the key files of trusted-keys,
 * can be read. Loads nothing. */
enum dg_err dg_service_check_files(const struct dg_opt_set *options,
                                   struct dg_error *error) DG_MUST_CHECK;

/* Opens anew every model that `options` name and, when all of them work, replaces the models that
 * are being served; models that are no longer named are removed. If one fails, all stay as they
 * were, and the log says why. `on_over` is called once, later, from the loop, with that failure as
 * `err`. The reload waits while models are being loaded; if several reloads wait, only the last one
 * happens. `options` are borrowed until it has begun. */
enum dg_err dg_service_reload(struct dg_service *service, const struct dg_opt_set *options,
                              void (*on_over)(void *user, enum dg_err err),
                              void *user) DG_MUST_CHECK;

/* A model to add or reload: it is opened in the background and published when it works. `path`
 * NULL: a model that is already served is loaded again from its present path. `options` (the
 * daemon's) say which keys to trust. */
struct dg_service_model {
    const char *name, *path;
    const char *source, *target; /* "": taken from the name */
};

/* Called once, later, whatever happens; DG_ERR_CLOSED when the service ends before that. */
typedef void (*dg_service_loaded_fn)(void *user, enum dg_err err, const struct dg_error *error);

/* DG_ERR_BUSY: models are being loaded at present; DG_ERR_NOT_FOUND: no path, and no such model. */
enum dg_err dg_service_load(struct dg_service *service, const struct dg_opt_set *options,
                            const struct dg_service_model *model, dg_service_loaded_fn on_loaded,
                            void *user, struct dg_error *error) DG_MUST_CHECK;

/* Removes a model. If the options name it, it comes back with the next dg_service_reload. */
enum dg_err dg_service_unload(struct dg_service *service, const char *name,
                              struct dg_error *error) DG_MUST_CHECK;

/* Closes the handles on the loop; idempotent, NULL is fine. */
void dg_service_close(struct dg_service *service);

/* Call it after the loop has ended and the server is freed. NULL is fine. */
void dg_service_free(struct dg_service *service);

#endif
