/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The kernels of training for what every processor of the architecture has. */
#define GRAD_TABLE dg_grad_kernels_ref
#define GRAD_NAME  "ref"
#include "tensor/gradient/grad.inc"
