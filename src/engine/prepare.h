/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What the model is given in place of a sentence's own bytes: line ends inside made spaces, capitals and
 * Title Case made ordinary case.
 *
 *     struct dg_prepared prepared;
 *     err = dg_prepare(&prepared, text, &how);
 *     ... tokenise prepared.text; prepared.casing goes to dg_casing_restore with the answer ...
 *     dg_prepared_deinit(&prepared);                    also after a failure */
#ifndef DG_ENGINE_PREPARE_H
#define DG_ENGINE_PREPARE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include "text/casing.h"

#include <stdbool.h>

struct dg_prepare_opts {
    const char *language; /* of the text */
    bool joined;          /* it runs over line ends */
    bool keep_case;
};

struct dg_prepared {
    struct dg_span text; /* into the original, or into one of the buffers */
    enum dg_casing casing;
    bool in_place; /* offsets into `text` are offsets into the original, too */
    struct dg_buf flat, lowered;
};

/* DG_ERR_NOMEM. */
enum dg_err dg_prepare(struct dg_prepared *prepared, struct dg_span text,
                       const struct dg_prepare_opts *opts) DG_MUST_CHECK;
void dg_prepared_deinit(struct dg_prepared *prepared);

#endif
