/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The list of packages to fetch, and how it is shown to the user before anything is fetched. */
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "tools/get/get.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

enum { PACKAGES_MAX = 1000 };

void get_plan_free(struct get_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++)
        dg_package_free(&plan->packages[i]);
    dg_free(plan->packages);
    *plan = (struct get_plan){0};
}

struct dg_package *get_plan_add(struct get_plan *plan)
{
    if (plan->n == PACKAGES_MAX)
        return NULL;
    if (DG_GROW(plan->packages, plan->n, plan->cap, 8))
        return NULL;
    dg_package_init(&plan->packages[plan->n]);
    return &plan->packages[plan->n++];
}

void get_plan_drop_last(struct get_plan *plan)
{
    dg_package_free(&plan->packages[--plan->n]);
}

bool get_plan_has(const struct get_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->n; i++)
        if (strcmp(plan->packages[i].name, name) == 0)
            return true;
    return false;
}

/* ---- Showing --------------------------------------------------------------------------------- */

static void show_one(const struct dg_package *package, const struct library *library)
{
    char size[GET_SIZE], raw[GET_SIZE], scores[DG_PACKAGE_SCORES];
    const struct library_item *now = library_find(library, package->name);
    const uint64_t bytes = dg_package_bytes(package);
    dg_package_scores(package->bleu, package->comet, package->scores_are_older, scores);
    fprintf(stderr, "  %-10s %s%s%s%s%.12s%s: ", package->name, package->from,
            *package->kind ? " " : "", package->kind, *package->version ? " " : "",
            package->version, package->is_trial ? ", a trial version" : "");
    if (bytes)
        fprintf(stderr, "%s to fetch, %s on disk and in memory", get_size(bytes, size),
                get_size(dg_package_raw(package), raw));
    else
        fprintf(stderr, "of unknown size");
    fprintf(stderr, "%s%s\n", *scores ? "; " : "", scores);
    fprintf(stderr, "  %-10s licence: %s%s\n", "",
            *package->licence ? package->licence : "not known",
            dg_package_is_pinned(package) ? "" : "; the publisher states no hashes");
    if (now && now->is_own)
        fprintf(stderr, "  %-10s takes the place of %s %s %s\n", "",
                now->has_origin ? now->package.from : "a model", now->package.kind,
                now->package.version);
}

/* Gets the free bytes on the disk of `dir`. If `dir` does not exist yet, asks about the nearest
 * folder above it that does. */
static bool free_bytes(const char *dir, uint64_t *bytes)
{
    char path[DG_MODEL_FOLDERS_PATH];
    struct statvfs vfs;
    snprintf(path, sizeof path, "%s", dir);
    while (statvfs(path, &vfs) != 0) {
        char *slash = strrchr(path, '/');
        if (!slash)
            return false;
        slash[slash == path ? 1 : 0] = '\0';
        if (slash == path && statvfs(path, &vfs) != 0)
            return false;
    }
    *bytes = (uint64_t)vfs.f_bavail * vfs.f_frsize;
    return true;
}

enum dg_err get_plan_show(const struct get_plan *plan, const struct library *library,
                          const char *dir, struct dg_error *error)
{
    char to_fetch[GET_SIZE], to_have[GET_SIZE], there[GET_SIZE];
    uint64_t bytes = 0, kept = 0, most = 0, room = 0;
    size_t n_files = 0;
    for (size_t i = 0; i < plan->n; i++) {
        const struct dg_package *package = &plan->packages[i];
        const uint64_t raw = dg_package_raw(package), packed = dg_package_bytes(package);
        show_one(package, library);
        n_files += package->n_files;
        bytes += packed;
        kept += raw;
        if (raw + packed > most) /* these bytes lie next to the model while it is imported */
            most = raw + packed;
    }
    fprintf(stderr, "%zu model%s, %zu files, %s to fetch, into %s; ", plan->n,
            plan->n == 1 ? "" : "s", n_files, get_size(bytes, to_fetch), dir);
    if (!free_bytes(dir, &room)) {
        fprintf(stderr, "%s of disk needed\n", get_size(kept + most, to_have));
        return DG_OK;
    }
    fprintf(stderr, "%s of disk needed, %s there\n", get_size(kept + most, to_have),
            get_size(room, there));
    if (kept + most > room)
        return dg_error_set(error, DG_ERR_NO_SPACE,
                            "%s has %s free, but %s are needed; make room, or name another folder "
                            "with --models-dir",
                            dir, there, to_have);
    return DG_OK;
}

void get_plan_print_urls(const struct get_plan *plan, const char *mirror)
{
    char url[DG_TRANSFER_URL_MAX];
    for (size_t i = 0; i < plan->n; i++)
        for (size_t k = 0; k < plan->packages[i].n_files; k++)
            if (dg_transfer_place(mirror, plan->packages[i].files[k].url, url, NULL) == DG_OK)
                printf("%s\n", url);
}
