/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Snapshots: the mean is that of the last ones up to a step; pruning keeps those and no other
 * snapshots. */
#include "base/memory/mem.h"
#include "train/run/snapshots.h"
#include "tmpdir.h"
#include "train/run/setup.h"
#include "unit.h"

#include <stdio.h>
#include <unistd.h>

static struct dg_params params;
static float *mean;
static char dir[256];

static enum dg_err take(uint64_t step, float value, size_t k)
{
    for (size_t i = 0; i < params.n; i++)
        params.w[i] = value;
    return dg_snapshots_take(&params, dir, step, k, mean, NULL);
}

static bool is_there(const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void put(const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fclose(file);
}

START_TEST(the_mean_is_of_the_last_ones)
{
    struct dg_blueprint bp;
    dg_tmpdir_make(dir);
    dg_setup_blueprint(&bp);
    bp.D = 8;
    bp.encoder = bp.decoder = (struct dg_stack){1, 2, 8, 11};
    bp.eos_id = 0;
    ck_assert_int_eq(dg_params_init(&params, &bp, NULL), DG_OK);
    ck_assert_ptr_nonnull(mean = dg_try_calloc(params.n, sizeof *mean));

    ck_assert_int_eq(take(9, 1.0f, 2), DG_OK); /* names do not sort in the order of their numbers */
    ck_assert_float_eq(mean[0], 1.0f);
    ck_assert_int_eq(take(10, 3.0f, 2), DG_OK);
    ck_assert_float_eq(mean[params.n - 1], 2.0f);
    ck_assert_int_eq(take(100, 6.0f, 2), DG_OK);
    ck_assert_float_eq(mean[0], 4.5f);
    /* a run that went back: later snapshots do not count */
    ck_assert_int_eq(take(10, 2.0f, 3), DG_OK);
    ck_assert_float_eq(mean[0], 1.5f);
    ck_assert_float_eq(params.w[0], 2.0f);

    put("at-11.safetensors.Xy12ab");
    put("at-0100.safetensors");
    put("checkpoint.safetensors");
    dg_snapshots_prune(dir, 100, 2);
    ck_assert(!is_there("at-9.safetensors") && is_there("at-10.safetensors") &&
              is_there("at-100.safetensors"));
    ck_assert(!is_there("at-11.safetensors.Xy12ab") && !is_there("at-0100.safetensors"));
    ck_assert(is_there("checkpoint.safetensors"));
    dg_snapshots_prune(dir, 99, DG_SNAPSHOTS_MAX);
    ck_assert(is_there("at-10.safetensors") && !is_there("at-100.safetensors"));

    dg_free(mean);
    dg_params_deinit(&params);
    dg_tmpdir_remove(dir);
}
END_TEST

DG_UNIT(the_mean_is_of_the_last_ones)
