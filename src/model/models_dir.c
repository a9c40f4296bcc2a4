/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Names are gathered and sorted first, so that the order does not depend on the file system. */
#include "model/models_dir.h"
#include "base/dir.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_CAP = 4096, NAME_CAP = DG_MODELS_DIR_NAME_MAX + 1 };

bool dg_models_dir_is_name(struct dg_span name)
{
    if (name.len == 0 || name.len > DG_MODELS_DIR_NAME_MAX || name.ptr[0] == '.' ||
        name.ptr[0] == '-')
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && c != '-' && c != '_' && c != '.')
            return false;
    }
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static bool is_model(const char *dir, const char *name)
{
    char path[PATH_CAP];
    struct stat st;
    return dg_models_dir_is_name(dg_span_cstr(name)) && !strstr(name, ".importing-") &&
           (size_t)snprintf(path, sizeof path, "%s/%s/config.json", dir, name) < sizeof path &&
           stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static enum dg_err gather(const char *dir, char (*names)[NAME_CAP], size_t *n, struct dg_why *why)
{
    DIR *handle = dg_dir_open(dir);
    if (!handle) {
        int number = errno;
        return dg_why_set(why, dg_err_from_errno(number), "cannot open %s: %s", dir,
                          strerror(number));
    }
    enum dg_err err = DG_OK;
    for (struct dirent *entry; !err && (entry = readdir(handle));) {
        if (!is_model(dir, entry->d_name))
            continue;
        if (*n == DG_MODELS_DIR_MAX)
            err = dg_why_set(why, DG_ERR_LIMIT, "%s holds more than %d models", dir,
                             DG_MODELS_DIR_MAX);
        else
            snprintf(names[(*n)++], NAME_CAP, "%.*s", DG_MODELS_DIR_NAME_MAX, entry->d_name);
    }
    closedir(handle);
    return err;
}

enum dg_err dg_models_dir_scan(const char *dir, dg_models_dir_fn fn, void *ctx, struct dg_why *why)
{
    char(*names)[NAME_CAP] = dg_try_calloc(DG_MODELS_DIR_MAX, sizeof *names);
    size_t n = 0;
    enum dg_err err = names ? gather(dir, names, &n, why) : DG_ERR_NOMEM;
    if (!err)
        qsort(names, n, sizeof *names, by_name);
    for (size_t i = 0; i < n && !err; i++) {
        char path[PATH_CAP];
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        err = fn(ctx, names[i], path, why);
    }
    dg_free(names);
    return err;
}
