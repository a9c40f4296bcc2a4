/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The installed models (engine/models/model_folders.h), for commands without --model.
 *
 *     dg_model_folders_find(&places);
 *     opts.langid_path = places.langid;                  so that the engine can detect languages
 *     err = installed_offer(&places, engine, &error);    DG_ERR_NOT_FOUND: there are none
 *     request.model = NULL;                              the languages choose the model, which is
 *                                                        loaded then
 *     err = installed_explain(engine, err, &error);      a refusal also names the models */
#ifndef DG_TOOLS_INSTALLED_MODELS_H
#define DG_TOOLS_INSTALLED_MODELS_H

#include "base/memory/error.h"
#include "engine/engine.h"
#include "engine/models/model_folders.h"

/* Lists all installed models in the engine, which loads them on demand. It names a damaged model on
 * standard error and leaves it out. */
enum dg_err installed_offer(const struct dg_model_folders *places, struct dg_engine *engine,
                            struct dg_error *error) DG_MUST_CHECK;

/* DG_ERR_USAGE when there are several targets and none is named. */
enum dg_err installed_check_target(const struct dg_engine *engine, const char *target,
                                   struct dg_error *error) DG_MUST_CHECK;

/* For DG_ERR_NOT_FOUND, adds to the sentence which models exist. Returns `err`. */
enum dg_err installed_explain(const struct dg_engine *engine, enum dg_err err,
                              struct dg_error *error);

/* Says on standard error that what `who` names ("translate: line 3") was not translated, because no
 * model leads from its language, NULL if that is not known, to the target; and what would help. */
void installed_tell_foreign(const char *who, const char *language, float confidence,
                            const char *target);

#endif
