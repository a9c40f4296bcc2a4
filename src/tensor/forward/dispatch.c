/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Chooses a table of kernels: by name, by DRAGOMAN_KERNELS, or the fastest that this CPU runs. */
#include "base/thread/cpu.h"
#include "tensor/forward/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#if defined(__x86_64__)
static const struct dg_kernels *avx512(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512vnni")
               ? &dg_kernels_avx512
               : NULL;
}

static const struct dg_kernels *avx512_bf16(void)
{
    return avx512() && dg_cpu_features() & DG_CPU_AVX512BF16 ? &dg_kernels_avx512_bf16 : NULL;
}

/* Zen multiplies BF16 by vectors at twice the rate of F32, Intel's processors at half of it
 * (docs/speed-log.md, 2026-11-26). */
static const struct dg_kernels *avx512_bf16_of_amd(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_is("amd") ? avx512_bf16() : NULL;
}

static const struct dg_kernels *avx512_bf16_of_others(void)
{
    return avx512_bf16_of_amd() ? NULL : avx512_bf16();
}

static const struct dg_kernels *amx(void)
{
    const uint32_t both = DG_CPU_AMX_INT8 | DG_CPU_AMX_BF16;
    return avx512_bf16() && (dg_cpu_features() & both) == both && dg_cpu_allow_tiles()
               ? dg_kernels_amx()
               : NULL;
}

static const struct dg_kernels *avx2(void)
{
    __builtin_cpu_init();
    unsigned a, b, c, d;
    const bool has_f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c
               ? &dg_kernels_avx2
               : NULL;
}
#else
static const struct dg_kernels *amx(void)
{
    return NULL;
}

static const struct dg_kernels *avx512_bf16_of_amd(void)
{
    return NULL;
}

static const struct dg_kernels *avx512_bf16_of_others(void)
{
    return NULL;
}

static const struct dg_kernels *avx512(void)
{
    return NULL;
}

static const struct dg_kernels *avx2(void)
{
    return NULL;
}
#endif

#if defined(__aarch64__) && defined(__linux__)
static const struct dg_kernels *neon_dot(void)
{
    return getauxval(AT_HWCAP) & HWCAP_ASIMDDP ? &dg_kernels_neon_dot : NULL;
}
#else
static const struct dg_kernels *neon_dot(void)
{
    return NULL;
}
#endif

/* Every arm64 CPU has Advanced SIMD. */
static const struct dg_kernels *neon(void)
{
#if defined(__aarch64__)
    return &dg_kernels_neon;
#else
    return NULL;
#endif
}

static const struct dg_kernels *ref(void)
{
    return &dg_kernels_ref;
}

/* The tables, best first. A function that returns NULL says that this build lacks the table, or
 * that this CPU cannot run it. */
static const struct {
    const char *name;
    const struct dg_kernels *(*usable)(void);
} tables[] = {{"amx", amx},       {"avx512-bf16", avx512_bf16_of_amd},
              {"avx512", avx512}, {"avx512-bf16", avx512_bf16_of_others},
              {"avx2", avx2},     {"neon-dot", neon_dot},
              {"neon", neon},     {"blas", dg_kernels_blas},
              {"ref", ref}};
enum { N_TABLES = sizeof tables / sizeof *tables };

const struct dg_kernels *dg_kernels_without_blas(void)
{
    for (size_t i = 0; i < N_TABLES; i++)
        if (tables[i].usable != dg_kernels_blas && tables[i].usable())
            return tables[i].usable();
    return &dg_kernels_ref;
}

size_t dg_kernels_all(const struct dg_kernels *all[DG_KERNELS_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < N_TABLES; i++) {
        const struct dg_kernels *table = tables[i].usable();
        if (table)
            all[n++] = table;
    }
    all[n] = NULL;
    return n;
}

/* "avx512, avx2, blas, ref" */
static void list_usable(char *out, size_t cap)
{
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < N_TABLES && len < cap; i++)
        if (tables[i].usable())
            len += (size_t)snprintf(out + len, cap - len, "%s%s", len ? ", " : "", tables[i].name);
}

enum dg_err dg_kernels_find(const struct dg_kernels **kernels, const char *name,
                            struct dg_error *error)
{
    char choices[128];
    list_usable(choices, sizeof choices);
    bool is_known = false;
    for (size_t i = 0; i < N_TABLES; i++) {
        if (strcmp(tables[i].name, name) != 0)
            continue;
        is_known = true;
        const struct dg_kernels *found = tables[i].usable();
        if (!found)
            continue;
        *kernels = found;
        return DG_OK;
    }
    if (is_known)
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "this machine or build cannot run the kernels \"%s\"; it can run: %s",
                            name, choices);
    return dg_error_set(error, DG_ERR_NOT_FOUND,
                        "there are no kernels called \"%s\"; choose one of: %s", name, choices);
}

enum dg_err dg_kernels_default(const struct dg_kernels **kernels, struct dg_error *error)
{
    const char *choice = getenv("DRAGOMAN_KERNELS");
    if (choice && choice[0]) {
        enum dg_err err = dg_kernels_find(kernels, choice, error);
        return err ? dg_error_wrap(error, err, "DRAGOMAN_KERNELS") : DG_OK;
    }
    *kernels = dg_kernels_without_blas();
    if (*kernels == &dg_kernels_ref) /* no hand-written table fits this CPU */
        *kernels = dg_kernels_blas();
    return DG_OK;
}
