/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Files are hashed just before they are opened. A model is replaced by renaming a directory
 * (docs/MODEL-FILES.md), so anybody who can change a file in between can write to the models
 * anyway. */
#include "daemon/signed_models.h"
#include "base/file/map_file.h"
#include "model/file/manifest.h"

static enum dg_err read_key(struct dg_minisign_public *key, const char *path,
                            struct dg_error *error)
{
    struct dg_map_file file;
    enum dg_err err = dg_map_file_read(&file, path, DG_MINISIGN_FILE_MAX, error);
    if (err)
        return err;
    err = dg_minisign_public_parse(key, dg_span_make((const char *)file.bytes, file.len), error);
    dg_map_file_close(&file);
    return err ? dg_error_wrap(error, err, "%s", path) : DG_OK;
}

enum dg_err dg_signed_models_read(struct dg_signed_models *trust, const struct dg_options *options,
                                  struct dg_error *error)
{
    *trust = (struct dg_signed_models){.is_required = options->require_signed_models};
    enum dg_err err = DG_OK;
    for (size_t i = 0; trust->is_required && i < options->trusted_keys.n && !err; i++) {
        err = read_key(&trust->keys[i], options->trusted_keys.items[i], error);
        trust->n += !err;
    }
    return err ? dg_error_wrap(error, err, "trusted-keys") : DG_OK;
}

enum dg_err dg_signed_models_check(const struct dg_signed_models *trust, const char *name,
                                   const char *path, struct dg_error *error)
{
    if (!trust->is_required)
        return DG_OK;
    struct dg_error fault = DG_ERROR_NONE;
    enum dg_err err = dg_manifest_verify(path, trust->keys, trust->n, &fault);
    if (err == DG_ERR_NOT_FOUND)
        return dg_error_set(
            error, DG_ERR_DENIED,
            "model %s is not signed, and require-signed-models is on: %s; sign the directory with "
            "dragoman sign",
            name, dg_error_text(&fault, err));
    if (err)
        return dg_error_set(error, DG_ERR_DENIED,
                            "model %s does not match what a trusted key signed, and "
                            "require-signed-models is on: %s",
                            name, dg_error_text(&fault, err));
    return DG_OK;
}
