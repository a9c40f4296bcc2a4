/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A second, slow implementation of language models, for tests to compare with: in double, the whole
 * text at once under an explicit look-ahead mask, each head by itself. It shares no code with
 * src/network/net_lm.c or src/train/pass/pass_lm.c.
 *
 *     double *logits = ref_lm(bp, &weights->lm, ids, n);              [n, V]; free it */
#ifndef DG_TESTS_REF_LM_H
#define DG_TESTS_REF_LM_H

#include "model/blueprint.h"
#include "model/weights.h"

#include <stddef.h>
#include <stdint.h>

double *ref_lm(const struct dg_blueprint *bp, const struct dg_lm_weights *w, const int32_t *ids,
               size_t n);

#endif
