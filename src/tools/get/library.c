/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Walks the folders of models once. */
#include "tools/get/library.h"

#include "base/file/folder.h"
#include "base/memory/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MODELS_MAX = 10000 };

static uint64_t size_of(const char *path)
{
    uint64_t sum = 0;
    struct stat st;
    DIR *dir = dg_folder_open(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && S_ISREG(st.st_mode))
            sum += (uint64_t)st.st_size;
    if (dir)
        closedir(dir);
    return sum;
}

static enum dg_err add(void *ctx, const char *name, const char *path, struct dg_error *error)
{
    struct library *library = ctx;
    char origin[DG_MODEL_FOLDERS_PATH + 32];
    if (library->n == MODELS_MAX || strlen(name) >= sizeof library->items->name)
        return DG_OK;
    struct library_item *grown =
        dg_try_realloc(library->items, (library->n + 1) * sizeof *library->items);
    if (!grown)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for %zu models", library->n + 1);
    library->items = grown;
    struct library_item *item = &library->items[library->n++];
    *item = (struct library_item){.bytes = size_of(path)};
    snprintf(item->name, sizeof item->name, "%s", name);
    snprintf(item->path, sizeof item->path, "%s", path);
    const size_t len = strlen(library->own);
    item->is_own = strncmp(path, library->own, len) == 0 && path[len] == '/';
    dg_package_init(&item->package);
    snprintf(origin, sizeof origin, "%s/%s", path, DG_PACKAGE_ORIGIN);
    if (access(origin, R_OK) == 0) {
        struct dg_error why = DG_ERROR_NONE;
        const enum dg_err err = dg_package_read(&item->package, path, &why);
        if (err)
            fprintf(stderr, "dragoman: %s\n", dg_error_text(&why, err));
        item->has_origin = !err;
    }
    return DG_OK;
}

static int compare(const void *a, const void *b)
{
    const struct library_item *left = a, *right = b;
    return strcmp(left->name, right->name);
}

enum dg_err library_read(struct library *library, const struct get_flags *flags,
                         struct dg_error *error)
{
    struct dg_model_folders places;
    struct dg_error ignored = DG_ERROR_NONE;
    *library = (struct library){0};
    if (get_models_dir(flags, library->own, &ignored) != DG_OK)
        library->own[0] = '\0';
    dg_model_folders_find(&places);
    if (*flags->models_dir) {
        places.n = access(library->own, R_OK | X_OK) == 0 ? 1 : 0;
        snprintf(places.dirs[0], sizeof places.dirs[0], "%s", library->own);
    }
    enum dg_err err = dg_model_folders_each(&places, add, library, error);
    if (err)
        library_free(library);
    else if (library->n)
        qsort(library->items, library->n, sizeof *library->items, compare);
    return err;
}

void library_free(struct library *library)
{
    for (size_t i = 0; i < library->n; i++)
        dg_package_free(&library->items[i].package);
    dg_free(library->items);
    library->items = NULL;
    library->n = 0;
}

const struct library_item *library_find(const struct library *library, const char *name)
{
    for (size_t i = 0; i < library->n; i++)
        if (strcasecmp(library->items[i].name, name) == 0)
            return &library->items[i];
    return NULL;
}
