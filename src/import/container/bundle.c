/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A name is looked up in the directory or among the members. Nothing is ever unpacked to disk, so
 * names with ".." do no harm (and zip_in refuses an archive that has one). */
#include "import/container/bundle.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Finds the one directory that contains all members of an archive; "" when there is none. */
static void find_top(struct dg_bundle *bundle)
{
    size_t len = 0;
    for (size_t i = 0; i < bundle->zip.n_members; i++) {
        const char *name = bundle->zip.members[i].name;
        const char *slash = strchr(name, '/');
        size_t here = slash ? (size_t)(slash - name) + 1 : 0;
        if (here == 0 || here >= sizeof bundle->top ||
            (i > 0 && (here != len || memcmp(name, bundle->top, len) != 0))) {
            bundle->top[0] = '\0';
            return;
        }
        memcpy(bundle->top, name, here);
        bundle->top[here] = '\0';
        len = here;
    }
}

enum dg_err dg_bundle_open(struct dg_bundle *bundle, const char *path, struct dg_error *error)
{
    struct stat st;
    *bundle = (struct dg_bundle){0};
    if ((size_t)snprintf(bundle->dir, sizeof bundle->dir, "%s", path) >= sizeof bundle->dir)
        return dg_error_set(error, DG_ERR_LIMIT, "the path is too long");
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return DG_OK;
    enum dg_err err = dg_zip_open(&bundle->zip, path, error);
    if (err)
        return err;
    bundle->is_zip = true;
    find_top(bundle);
    return DG_OK;
}

void dg_bundle_close(struct dg_bundle *bundle)
{
    if (bundle->is_zip)
        dg_zip_close(&bundle->zip);
    *bundle = (struct dg_bundle){0};
}

static const struct dg_zip_member *find_member(const struct dg_bundle *bundle, const char *name)
{
    char full[DG_BUNDLE_PATH_CAP];
    if ((size_t)snprintf(full, sizeof full, "%s%s", bundle->top, name) >= sizeof full)
        return NULL;
    return dg_zip_find(&bundle->zip, full);
}

bool dg_bundle_has(const struct dg_bundle *bundle, const char *name)
{
    char path[2 * DG_BUNDLE_PATH_CAP];
    struct stat st;
    if (bundle->is_zip)
        return find_member(bundle, name) != NULL;
    return (size_t)snprintf(path, sizeof path, "%s/%s", bundle->dir, name) < sizeof path &&
           stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

enum dg_err dg_bundle_read(const struct dg_bundle *bundle, const char *name, size_t max,
                           struct dg_bundle_data *data, struct dg_error *error)
{
    char path[2 * DG_BUNDLE_PATH_CAP];
    *data = (struct dg_bundle_data){0};
    if (!bundle->is_zip) {
        snprintf(path, sizeof path, "%s/%s", bundle->dir, name);
        enum dg_err err = dg_map_file_open(&data->map, path, max, error);
        data->bytes = data->map.bytes;
        data->len = data->map.len;
        return err;
    }
    const struct dg_zip_member *member = find_member(bundle, name);
    if (!member)
        return dg_error_set(error, DG_ERR_NOT_FOUND, "%s has no member %s%s", bundle->dir,
                            bundle->top, name);
    enum dg_err err = dg_zip_data_spilt(&bundle->zip, member, max, &data->zip, error);
    data->bytes = data->zip.bytes;
    data->len = data->zip.len;
    return err;
}

void dg_bundle_data_forget(const struct dg_bundle_data *data)
{
    if (data->map.bytes)
        dg_map_file_forget(&data->map);
    else if (data->zip.mapped)
        (void)madvise(data->zip.owned, data->len, MADV_DONTNEED);
}

void dg_bundle_data_free(struct dg_bundle_data *data)
{
    if (data->map.bytes)
        dg_map_file_close(&data->map);
    if (data->zip.bytes)
        dg_zip_data_free(&data->zip);
    *data = (struct dg_bundle_data){0};
}
