/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The kernels of training for AVX2; Makefile.inc has the flags. */
#define GRAD_TABLE dg_grad_kernels_avx2
#define GRAD_NAME  "avx2"
#include "tensor/gradient/grad.inc"
