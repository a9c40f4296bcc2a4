/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The part of GET /metrics that has a line for each model. */
#ifndef DG_API_OPS_METRICS_MODELS_H
#define DG_API_OPS_METRICS_MODELS_H

#include "base/memory/buf.h"

struct dg_engine;

/* Loop's thread. DG_ERR_NOMEM, DG_ERR_LIMIT. */
enum dg_err dg_metrics_put_models(struct dg_buf *buf, struct dg_engine *engine) DG_MUST_CHECK;

#endif
