/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A snapshot is a checkpoint that has only weights. The list of snapshots is read from the
 * directory each time, so that no other record has to be kept in step with it. */
#include "train/run/snapshots.h"
#include "base/file/folder.h"
#include "base/memory/error.h"
#include "base/memory/mem.h"
#include "train/run/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_CAP = 48 };

static void name_of(uint64_t step, char name[NAME_CAP])
{
    snprintf(name, NAME_CAP, "at-%" PRIu64 ".safetensors", step);
}

/* Whether this is the name of a snapshot, and of which step. */
static bool step_of(const char *name, uint64_t *step)
{
    char again[NAME_CAP];
    *step = strncmp(name, "at-", 3) == 0 ? strtoull(name + 3, NULL, 10) : 0;
    name_of(*step, again);
    return strcmp(name, again) == 0;
}

/* Lists the greatest `k` steps up to `step` that have snapshots, in ascending order. */
static size_t list_last(DIR *dir, uint64_t step, size_t k, uint64_t last[DG_SNAPSHOTS_MAX])
{
    size_t n = 0;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        uint64_t found;
        if (!step_of(entry->d_name, &found) || found > step || (n == k && found < last[0]))
            continue;
        if (n == k)
            memmove(last, last + 1, --n * sizeof *last);
        size_t at = n++;
        for (; at > 0 && last[at - 1] > found; at--)
            last[at] = last[at - 1];
        last[at] = found;
    }
    return n;
}

static enum dg_err path_of(const char *dir, uint64_t step, char path[DG_PATH_CAP],
                           struct dg_error *error)
{
    char name[NAME_CAP];
    name_of(step, name);
    return dg_folder_path(dir, name, path, error);
}

/* Returns a checkpoint that has only weights, those at params->w. */
static struct dg_checkpoint bare(struct dg_params *params, uint64_t counts[2])
{
    return (struct dg_checkpoint){.params = params,
                                  .state = {.step = &counts[0], .updates = &counts[1]}};
}

/* Adds the snapshot's share to `mean`. `one` [n] holds its weights meanwhile. */
static enum dg_err add(const struct dg_params *params, const char *dir, uint64_t step, float share,
                       float *one, float *mean, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    uint64_t counts[2];
    struct dg_params there = *params;
    there.w = one;
    const struct dg_checkpoint point = bare(&there, counts);
    enum dg_err err = path_of(dir, step, path, error);
    if (!err)
        err = dg_checkpoint_load(&point, path, error);
    for (size_t i = 0; i < params->n && !err; i++)
        mean[i] += share * one[i];
    return err;
}

enum dg_err dg_snapshots_take(const struct dg_params *params, const char *dir, uint64_t step,
                              size_t k, float *mean, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    uint64_t counts[2] = {step, 0}, last[DG_SNAPSHOTS_MAX];
    struct dg_params same = *params;
    const struct dg_checkpoint point = bare(&same, counts);
    enum dg_err err = path_of(dir, step, path, error);
    if (!err)
        err = dg_checkpoint_save(&point, path, error);
    if (err)
        return err;
    DIR *open = dg_folder_open(dir);
    if (!open)
        return dg_error_errno(error, "cannot read %s", dir);
    const size_t n = list_last(open, step, k, last);
    closedir(open);
    float *one = dg_try_calloc(params->n, sizeof *one);
    if (!one)
        return DG_ERR_NOMEM;
    memset(mean, 0, params->n * sizeof *mean);
    for (size_t i = 0; i < n && !err; i++)
        err = add(params, dir, last[i], 1.0f / (float)n, one, mean, error);
    dg_free(one);
    return err;
}

void dg_snapshots_prune(const char *dir, uint64_t step, size_t k)
{
    uint64_t last[DG_SNAPSHOTS_MAX];
    DIR *open = dg_folder_open(dir);
    if (!open)
        return;
    const size_t n = list_last(open, step, k, last);
    rewinddir(open);
    for (const struct dirent *entry; (entry = readdir(open)) != NULL;) {
        uint64_t found;
        size_t i = n;
        if (strncmp(entry->d_name, "at-", 3) != 0)
            continue;
        if (step_of(entry->d_name, &found))
            for (i = 0; i < n && last[i] != found; i++)
                ;
        if (i == n)
            unlinkat(dirfd(open), entry->d_name, 0);
    }
    closedir(open);
}
