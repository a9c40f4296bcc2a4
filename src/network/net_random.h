/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Networks of any shape with random weights, for measurements and tests in which sizes and
 * mathematics matter but values do not. The weights are made in their packed form, without a file
 * and without a second copy.
 *
 *     struct dg_blueprint bp;
 *     err = dg_net_random_shape(&bp, "base", &error);
 *     err = dg_net_random(&net, &bp, NULL, 1, &error);
 *
 * Weights are uniform around 0 with a spread of 1/sqrt(inputs), so that activations stay in range;
 * gains lie around 1. The same seed gives the same network on every machine. */
#ifndef DG_NETWORK_NET_RANDOM_H
#define DG_NETWORK_NET_RANDOM_H

#include "network/net.h"

/* Fills in a shape by its name. "base": the shape of the Transformer paper, width 512, feed-forward
 * 2048, 8 heads, 6 + 6 layers. "student" (or "tiny"): 256, 1536, 8 heads, 6 + 2 layers.
 * "student-ssru": the same with an SSRU decoder. These have 32,000 words and tied embeddings.
 * "gpt2-small": a language model of that size, 50,257 words. DG_ERR_NOT_FOUND, with a sentence, for
 * any other name. */
enum dg_err dg_net_random_shape(struct dg_blueprint *bp, const char *name,
                                struct dg_error *error) DG_MUST_CHECK;

/* Makes a network of that shape. DG_NET_AUTO means F32 here. */
enum dg_err dg_net_random(struct dg_net **net, const struct dg_blueprint *bp,
                          const struct dg_net_opts *opts, uint64_t seed,
                          struct dg_error *error) DG_MUST_CHECK;

#endif
