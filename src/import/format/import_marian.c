/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Imports Marian's .npz: a ZIP of .npy arrays, one of which, special:model.yml, is the
 * configuration as text. The path is the .npz itself or a directory with one of them. */
#include "base/file/folder.h"
#include "base/memory/mem.h"
#include "import/container/npy.h"
#include "archive/zip_in.h"
#include "import/format/marian.h"

#include <stdio.h>
#include <string.h>

enum { CONFIG_MAX = 1 << 20, PATH_CAP = 4096, NAME_CAP = 256, LOADS_KEPT = 16 };

static const char config_name[] = "special:model.yml";

struct marian {
    struct dg_zip zip;
    size_t loaded;           /* index of the blob in `data`; SIZE_MAX: none */
    struct dg_zip_data data; /* the array that was loaded last */
    size_t n_loads;
};

/* ---- Detection ------------------------------------------------------------------------------- */

/* Finds the only .npz in a directory that is a model, or else the only one that training kept as
 * a good one (OPUS-MT publishes such files); or the path itself. False when there is not exactly
 * one. */
static bool find_npz(const char *path, bool is_dir, char *npz)
{
    if (!is_dir)
        return (size_t)snprintf(npz, PATH_CAP, "%s", path) < PATH_CAP;
    DIR *dir = dg_folder_open(path);
    size_t n[DG_MARIAN_OTHER + 1] = {0};
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        const enum dg_marian_file kind = dg_marian_file_of(entry->d_name);
        if (!dg_span_ends(dg_span_cstr(entry->d_name), DG_SPAN(".npz")) ||
            kind == DG_MARIAN_OTHER || (n[kind]++, kind == DG_MARIAN_COPY && n[DG_MARIAN_MODEL]))
            continue;
        if ((size_t)snprintf(npz, PATH_CAP, "%s/%s", path, entry->d_name) >= PATH_CAP)
            n[kind] = 2;
    }
    if (dir)
        closedir(dir);
    return (n[DG_MARIAN_MODEL] ? n[DG_MARIAN_MODEL] : n[DG_MARIAN_COPY]) == 1;
}

/* Recognised by its name, or by the array that only Marian writes. */
static bool detect(const char *path, bool is_dir)
{
    char npz[PATH_CAP];
    struct dg_zip zip;
    if (!find_npz(path, is_dir, npz))
        return false;
    if (dg_span_ends(dg_span_cstr(npz), DG_SPAN(".npz")))
        return true;
    if (dg_zip_open(&zip, npz, NULL))
        return false;
    bool found = dg_zip_find(&zip, "special:model.yml.npy") != NULL;
    dg_zip_close(&zip);
    return found;
}

/* ---- Arrays ---------------------------------------------------------------------------------- */

static enum dg_err load(void *ctx, size_t blob, const uint8_t **bytes, size_t *len,
                        struct dg_error *error)
{
    struct marian *marian = ctx;
    if (++marian->n_loads % LOADS_KEPT == 0)
        dg_map_file_forget(&marian->zip.file);
    if (marian->loaded != blob) {
        dg_zip_data_free(&marian->data);
        marian->loaded = SIZE_MAX;
        enum dg_err err =
            dg_zip_data(&marian->zip, &marian->zip.members[blob], SIZE_MAX, &marian->data, error);
        if (err)
            return err;
        marian->loaded = blob;
    }
    struct dg_npy npy;
    enum dg_err err = dg_npy_parse(&npy, marian->data.bytes, marian->data.len,
                                   marian->zip.members[blob].name, error);
    if (err)
        return err;
    *bytes = marian->data.bytes + npy.offset;
    *len = npy.len;
    return DG_OK;
}

static void close_marian(void *ctx)
{
    struct marian *marian = ctx;
    dg_zip_data_free(&marian->data);
    dg_zip_close(&marian->zip);
    dg_free(marian);
}

/* Gets the NAME of "NAME.npy"; false for any other member. */
static bool array_name(const char *member, char *name)
{
    size_t len = strlen(member);
    if (len <= 4 || strcmp(member + len - 4, ".npy") != 0 || len - 4 >= NAME_CAP)
        return false;
    memcpy(name, member, len - 4);
    name[len - 4] = '\0';
    return true;
}

static enum dg_err add_array(struct dg_import *import, size_t blob, struct dg_error *error)
{
    struct marian *marian = import->ctx;
    const struct dg_zip_member *member = &marian->zip.members[blob];
    char name[NAME_CAP];
    struct dg_npy npy;
    if (!array_name(member->name, name))
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "%s: offset %zu: member '%s' is not an .npy array", marian->zip.name,
                            member->offset, member->name);
    if (strcmp(name, config_name) == 0)
        return DG_OK;
    const uint8_t *array = marian->zip.file.bytes + member->offset, *bytes;
    size_t len;
    enum dg_err err = DG_OK;
    /* a stored member is read in place; its CRC is checked when it is used */
    if (member->deflated) {
        err = load(marian, blob, &bytes, &len, error);
        array = marian->data.bytes;
    }
    if (!err)
        err = dg_npy_parse(&npy, array, member->len, member->name, error);
    if (!err)
        err = dg_marian_add(import, name, npy.dtype, npy.rank, npy.shape, blob, error);
    return err;
}

static enum dg_err read_config(struct dg_import *import, struct dg_error *error)
{
    struct marian *marian = import->ctx;
    const struct dg_zip_member *member = dg_zip_find(&marian->zip, "special:model.yml.npy");
    struct dg_zip_data data;
    struct dg_npy npy;
    if (!member)
        return dg_error_set(
            error, DG_ERR_NOT_FOUND,
            "%s has no member special:model.yml.npy: it is not a Marian model of version 1",
            marian->zip.name);
    enum dg_err err = dg_zip_data(&marian->zip, member, CONFIG_MAX, &data, error);
    if (err)
        return err;
    err = dg_npy_parse(&npy, data.bytes, data.len, member->name, error);
    if (!err && dg_dtype_size(npy.dtype) != 1)
        err = dg_error_set(error, DG_ERR_FORMAT, "%s: field 'descr' is not of bytes", member->name);
    if (!err)
        err = dg_marian_config(&import->bp,
                               dg_span_make((const char *)data.bytes + npy.offset, npy.len), false,
                               config_name, error);
    dg_zip_data_free(&data);
    return err;
}

static enum dg_err open_marian(struct dg_import *import, const char *path, struct dg_error *error)
{
    char npz[PATH_CAP];
    struct marian *marian = dg_xcalloc(1, sizeof *marian);
    marian->loaded = SIZE_MAX;
    import->format = "Marian .npz";
    import->ctx = marian;
    import->load = load;
    import->close = close_marian;
    import->own_config = true;
    bool is_file = dg_span_ends(dg_span_cstr(path), DG_SPAN(".npz")) || !find_npz(path, true, npz);
    if (is_file)
        snprintf(npz, sizeof npz, "%s", path);
    enum dg_err err = dg_zip_open(&marian->zip, npz, error);
    if (!err)
        err = read_config(import, error);
    for (size_t i = 0; i < marian->zip.n_members && !err; i++)
        err = add_array(import, i, error);
    return err ? dg_error_wrap(error, err, "%s", npz) : dg_marian_vocabulary(import, npz, error);
}

const struct dg_import_format dg_import_marian = {detect, open_marian};
