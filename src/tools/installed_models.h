/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The installed models (engine/route/model_folders.h), for commands that are not told one.
 *
 *     dg_model_folders_find(&places);
 *     opts.langid_path = places.langid;                  the engine has to know languages apart
 *     err = installed_offer(&places, engine, &error);      DG_ERR_NOT_FOUND: there are none
 *     request.model = NULL;                              by its languages; what is asked for is
 * loaded then err = installed_explain(engine, err, &error);        a refusal, with what there is */
#ifndef DG_TOOLS_INSTALLED_MODELS_H
#define DG_TOOLS_INSTALLED_MODELS_H

#include "base/memory/err.h"
#include "base/memory/error.h"
#include "engine/engine.h"
#include "engine/route/model_folders.h"

/* All of them; one that is damaged is named on standard error and left out. */
enum dg_err installed_offer(const struct dg_model_folders *places, struct dg_engine *engine,
                            struct dg_error *error) DG_MUST_CHECK;

/* DG_ERR_USAGE where the target must be named, and is not: there are several. */
enum dg_err installed_check_target(const struct dg_engine *engine, const char *target,
                                   struct dg_error *error) DG_MUST_CHECK;

/* Where no model was found (DG_ERR_NOT_FOUND), adds which there are. Returns `err`. */
enum dg_err installed_explain(const struct dg_engine *engine, enum dg_err err,
                              struct dg_error *error);

#endif
