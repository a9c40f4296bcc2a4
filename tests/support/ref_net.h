/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A second, slow implementation of the network, for tests to compare with: in double, from the
 * weights as the model has them, uncached, one sentence at a time, the whole target at once under
 * an explicit look-ahead mask. It shares no code with src/model/net*.c except the conversion of
 * stored numbers.
 *
 *     double *encoded = ref_encode(&ref, ids, S);                    [S, D]
 * double *logits = ref_decode(&ref, encoded, S, inputs, T);      [T, V]; an input of -1 is a zero
 * vector
 *     free both */
#ifndef DG_TESTS_REF_NET_H
#define DG_TESTS_REF_NET_H

#include "model/blueprint.h"
#include "model/weights.h"

#include <stddef.h>
#include <stdint.h>

struct ref {
    const struct dg_blueprint *bp;
    const struct dg_transformer_weights *w;
};

double *ref_encode(const struct ref *ref, const int32_t *ids, size_t S);
/* Reads with an encoder alone: returns what its head computes for each of S tokens. Those from
 * `second` on belong to a second text (0: there is none). */
double *ref_read(const struct dg_blueprint *bp, const struct dg_enc_weights *w, const int32_t *ids,
                 size_t second, size_t S);

double *ref_decode(const struct ref *ref, const double *encoded, size_t S, const int32_t *inputs,
                   size_t T);

#endif
