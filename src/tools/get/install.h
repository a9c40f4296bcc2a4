/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Fetches one model and puts it into the folder of models.
 *
 *     err = install_begin(&install, dir, &error);                one at a time on a folder
 *     err = install_package(install, &package, &opts, &error);
 *     install_end(install);
 *
 * All work is done in DIR/.get/NAME: files are fetched there, checked, unpacked, imported and tried
 * with a translation. Then the directory moves to its place in DIR in one step. When an attempt
 * fails, the fetched files stay, and the next attempt continues with them. They are removed on
 * success, by `dragoman remove`, and after a week. */
#ifndef DG_TOOLS_GET_INSTALL_H
#define DG_TOOLS_GET_INSTALL_H

#include "fetch/package.h"
#include "tools/get/get_flags.h"

#include <signal.h>

struct install;

struct install_opts {
    struct dg_transfer *transfer;
    int type; /* as in `dragoman import --type`; 0: the type is kept */
    const volatile sig_atomic_t *stop;
    /* Called at the start of each step ("fetching", "importing"), for a progress line; `total`
     * bytes, 0: unknown. */
    void (*on_step)(void *ctx, const char *step, uint64_t total);
    void (*on_bytes)(void *ctx, uint64_t n_bytes);
    void *ctx;
};

struct install_result {
    char path[DG_MODEL_FOLDERS_PATH];
    char sentence[128]; /* a sentence that was translated as a trial; "": none */
    char translation[512];
    char note[256]; /* a note from the import; "": none */
};

/* Makes the folder and locks it. DG_ERR_BUSY: another `dragoman get` works in it. */
enum dg_err install_begin(struct install **install, const char *dir,
                          struct dg_error *error) DG_MUST_CHECK;
void install_end(struct install *install);

enum dg_err install_package(struct install *install, struct dg_package *package,
                            const struct install_opts *opts, struct install_result *result,
                            struct dg_error *error) DG_MUST_CHECK;

/* Reports that `n_bytes` of the present file have arrived. on_bytes gets the sum with the files
 * before it, so that it counts bytes of the whole package. */
void install_on_file_bytes(struct install *install, uint64_t n_bytes);

/* Removes the model and the files that were fetched for it. DG_ERR_NOT_FOUND: there is neither. */
enum dg_err install_remove(struct install *install, const char *name,
                           struct dg_error *error) DG_MUST_CHECK;

#endif
