/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Chooses a table of training kernels. */
#include "tensor/gradient/grad.h"
#include "base/thread/cpu.h"

#include <stdlib.h>
#include <string.h>

size_t dg_grad_kernels_all(const struct dg_grad_kernels *all[DG_GRAD_KERNELS_MAX])
{
    size_t n = 0;
    all[n++] = &dg_grad_kernels_ref;
#if defined(__x86_64__)
    const uint32_t avx2 = DG_CPU_AVX2 | DG_CPU_FMA | DG_CPU_F16C;
    const uint32_t avx512 = avx2 | DG_CPU_AVX512F | DG_CPU_AVX512BW | DG_CPU_AVX512VL |
                            DG_CPU_AVX512DQ | DG_CPU_AVX512VNNI;
    const uint32_t has = dg_cpu_features();
    if ((has & avx2) == avx2)
        all[n++] = &dg_grad_kernels_avx2;
    if ((has & avx512) == avx512)
        all[n++] = &dg_grad_kernels_avx512;
#endif
    all[n] = NULL;
    return n;
}

const struct dg_grad_kernels *dg_grad_kernels_default(void)
{
    const struct dg_grad_kernels *all[DG_GRAD_KERNELS_MAX];
    const size_t n = dg_grad_kernels_all(all);
    const char *wanted = getenv("DRAGOMAN_KERNELS");
    return wanted && strcmp(wanted, "ref") == 0 ? all[0] : all[n - 1];
}
