/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Prints the versions of the libraries that are loaded, if these can tell them, and otherwise the
 * versions that the program was compiled against. */
#include "daemon/version.h"

#include "config.h"

#include "base/thread/cpu.h"
#include "net/loop/tls.h"
#include "tensor/forward/kernels.h"

#include <jansson.h>
#include <llhttp.h>
#include <sodium.h>
#include <stdio.h>
#include <unicode/uchar.h>
#include <unicode/uvernum.h>
#include <uv.h>
#include <wslay/wslayver.h>

const char *dg_version(void)
{
    return PACKAGE_VERSION;
}

static void print_kernels(void)
{
    const struct dg_kernels *kernels = NULL;
    struct dg_error error = DG_ERROR_NONE;
    enum dg_err err = dg_kernels_default(&kernels, &error);
    if (err)
        printf("kernels    none: %s\n", dg_error_text(&error, err));
    else
        printf("kernels    %s\n", kernels->name);
}

void dg_version_print(void)
{
    char cpu[256];
    printf("dragomand %s\n", dg_version());
    printf("libuv      %s\n", uv_version_string());
    printf("llhttp     %d.%d.%d\n", LLHTTP_VERSION_MAJOR, LLHTTP_VERSION_MINOR,
           LLHTTP_VERSION_PATCH);
    printf("wslay      %s\n", WSLAY_VERSION);
    printf("jansson    %s\n", jansson_version_str());
    printf("libsodium  %s\n", sodium_version_string());
    printf("icu        %s\n", U_ICU_VERSION);
#ifdef DG_HAVE_SYSTEMD
    printf("systemd    yes\n");
#else
    printf("systemd    no\n");
#endif
    printf("redis      yes, %s TLS\n", dg_tls_is_built() ? "with" : "without");
    printf("processor  %s\n", dg_cpu_features_text(dg_cpu_features(), cpu, sizeof cpu));
    print_kernels();
}
