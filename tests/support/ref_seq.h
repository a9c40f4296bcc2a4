/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A second, slow implementation of plain recurrent networks, for tests to compare with: in double,
 * from the weights as the model has them, one sentence at a time. It shares no code with src except
 * the conversion of stored numbers.
 *
 *     double *logits = ref_seq(&bp, &weights.seq, ids, S, inputs, T);     [T, V]; an input of -1 is
 * a zero vector free(logits)
 *
 * For a classifier T is 1, and `inputs` is not read. */
#ifndef DG_TESTS_REF_SEQ_H
#define DG_TESTS_REF_SEQ_H

#include "model/blueprint.h"
#include "model/weights.h"

#include <stddef.h>
#include <stdint.h>

double *ref_seq(const struct dg_blueprint *bp, const struct dg_seq_weights *w, const int32_t *ids,
                size_t S, const int32_t *inputs, size_t T);

#endif
