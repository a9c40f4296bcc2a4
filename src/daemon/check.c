/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Each part of the server that reads files checks its own; the folders and files that the server
 * makes are looked at here, with access(2) and without making them. */
#include "daemon/check.h"
#include "base/file/folder.h"
#include "daemon/keys.h"
#include "daemon/options.h"
#include "daemon/service.h"
#include "daemon/shared.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder in which the server makes files. */
static enum dg_err check_folder(const char *option, const char *path, struct dg_error *error)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return dg_error_errno(error, "%s: cannot use %s", option, path);
    if (!S_ISDIR(info.st_mode))
        return dg_error_set(error, DG_ERR_INVALID, "%s: %s is not a folder", option, path);
    if (access(path, W_OK | X_OK) != 0)
        return dg_error_errno(error, "%s: cannot make files in %s", option, path);
    return DG_OK;
}

/* A folder that the server makes if it is missing. */
static enum dg_err check_made_folder(const char *option, const char *path, struct dg_error *error)
{
    char parent[DG_PATH_CAP];
    if (!*path)
        return DG_OK;
    if (access(path, F_OK) == 0 || errno != ENOENT)
        return check_folder(option, path, error);
    dg_folder_parent(path, parent);
    return check_folder(option, parent, error);
}

/* A file that the server makes if it is missing, and adds to. */
static enum dg_err check_made_file(const char *option, const char *path, struct dg_error *error)
{
    char folder[DG_PATH_CAP];
    if (!*path)
        return DG_OK;
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        dg_folder_parent(path, folder);
        return check_folder(option, folder, error);
    }
    if (access(path, W_OK) != 0)
        return dg_error_errno(error, "%s: cannot write %s", option, path);
    return DG_OK;
}

enum dg_err dg_check_start(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct dg_options *options = dg_opt_values(set);
    enum dg_err err = dg_service_check(set, error);
    if (!err)
        err = dg_service_check_files(set, error);
    if (!err)
        err = dg_keys_check(options, error);
    if (!err)
        err = dg_shared_check(options, error);
    if (!err)
        err = check_made_file("log-file", options->log_file, error);
    if (!err)
        err = check_made_file("usage-file", options->usage_file, error);
    if (!err)
        err = check_made_file("suggestions", options->suggestions, error);
    if (!err)
        err = check_made_folder("jobs-dir", options->jobs_dir, error);
    if (!err)
        err = check_made_folder("glossaries-dir", options->glossaries_dir, error);
    if (!err && dg_opt_given(set, "documents-dir") && options->documents_space)
        err = check_made_folder("documents-dir", options->documents_dir, error);
    return err;
}
