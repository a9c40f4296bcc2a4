/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The kernels of training for AVX-512; Makefile.inc has the flags. */
#define GRAD_TABLE dg_grad_kernels_avx512
#define GRAD_NAME  "avx512"
#include "tensor/gradient/grad.inc"
