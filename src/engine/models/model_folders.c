/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A build folder is recognised by its config.status, the source tree by its configure.ac. The
 * source tree is the build folder itself or up to three folders above (build/, build/all/asan/). */
#include "engine/models/model_folders.h"

#include "base/file/folder.h"
#include "base/memory/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef DG_PKGDATADIR
#define DG_PKGDATADIR "/usr/share/dragoman"
#endif
#define SERVER_STATE "/var/lib/dragoman"

static bool join(char out[DG_MODEL_FOLDERS_PATH], const char *dir, const char *rest)
{
    const int n = snprintf(out, DG_MODEL_FOLDERS_PATH, "%s/%s", dir, rest);
    if (n >= 0 && n < DG_MODEL_FOLDERS_PATH)
        return true;
    out[0] = '\0';
    return false;
}

static bool has(const char *dir, const char *rest)
{
    char path[DG_MODEL_FOLDERS_PATH];
    return join(path, dir, rest) && access(path, R_OK) == 0;
}

static bool is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void cut_last(char *path)
{
    char *slash = strrchr(path, '/');
    *(slash ? slash : path) = '\0';
}

/* Finds the source tree around a program's build folder. The folder may lie outside the tree: then
 * *is_built is true and no tree is found. */
static bool find_tree(char tree[DG_MODEL_FOLDERS_PATH], bool *is_built)
{
    enum { ABOVE = 3 };
    *is_built = false;
    const ssize_t n = readlink("/proc/self/exe", tree, DG_MODEL_FOLDERS_PATH - 1);
    if (n <= 0)
        return false;
    tree[n] = '\0';
    cut_last(tree);
    *is_built = has(tree, "config.status");
    if (!*is_built)
        return false;
    for (int i = 0; i <= ABOVE && *tree; i++, cut_last(tree))
        if (has(tree, "configure.ac") && has(tree, "data/langid/langid.bin"))
            return true;
    return false;
}

/* The first folder of STATE_DIRECTORY is the server's. */
static void find_server(char server[DG_MODEL_FOLDERS_PATH])
{
    char state[DG_MODEL_FOLDERS_PATH];
    const char *named = getenv("STATE_DIRECTORY");
    snprintf(state, sizeof state, "%s", named && named[0] == '/' ? named : SERVER_STATE);
    state[strcspn(state, ":")] = '\0';
    join(server, state, "models");
}

static void find_own(char own[DG_MODEL_FOLDERS_PATH], const char *server, bool is_built)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    own[0] = '\0';
    if (geteuid() == 0 && !is_built)
        snprintf(own, DG_MODEL_FOLDERS_PATH, "%s", server);
    else if (data && data[0] == '/')
        join(own, data, "dragoman/models");
    else if (home && home[0] == '/')
        join(own, home, ".local/share/dragoman/models");
}

static void add(struct dg_model_folders *places, const char *dir)
{
    if (!*dir || !is_dir(dir) || access(dir, R_OK | X_OK) != 0)
        return;
    for (size_t i = 0; i < places->n; i++)
        if (strcmp(places->dirs[i], dir) == 0)
            return;
    snprintf(places->dirs[places->n++], DG_MODEL_FOLDERS_PATH, "%s", dir);
}

void dg_model_folders_find(struct dg_model_folders *places)
{
    char tree[DG_MODEL_FOLDERS_PATH], models[DG_MODEL_FOLDERS_PATH], server[DG_MODEL_FOLDERS_PATH];
    bool is_built;
    const bool has_tree = find_tree(tree, &is_built);
    places->n = 0;
    find_server(server);
    find_own(places->own, server, is_built);
    add(places, places->own);
    add(places, server);
    join(models, has_tree ? tree : DG_PKGDATADIR, "models");
    add(places, models);
    join(places->langid, has_tree ? tree : DG_PKGDATADIR,
         has_tree ? "data/langid/langid.bin" : "langid.bin");
    join(places->catalogue, has_tree ? tree : DG_PKGDATADIR,
         has_tree ? "data/catalogue/catalogue.json" : "catalogue.json");
}

enum dg_err dg_model_folders_each_in(const char *path, dg_model_folders_fn *on_model, void *ctx,
                                     struct dg_error *error)
{
    DIR *dir = dg_folder_open(path);
    if (!dir)
        return dg_error_errno(error, "cannot read %s", path);
    enum dg_err err = DG_OK;
    for (struct dirent *found; !err && (found = readdir(dir));) {
        char model[DG_MODEL_FOLDERS_PATH];
        if (found->d_name[0] != '.' && join(model, path, found->d_name) &&
            has(model, "config.json"))
            err = on_model(ctx, found->d_name, model, error);
    }
    closedir(dir);
    return err;
}

/* The walk through one place of several. */
struct walk {
    const struct dg_model_folders *places;
    size_t at;
    dg_model_folders_fn *on_model;
    void *ctx;
};

static enum dg_err visit(void *ctx, const char *name, const char *path, struct dg_error *error)
{
    const struct walk *walk = ctx;
    for (size_t i = 0; i < walk->at; i++) {
        char earlier[DG_MODEL_FOLDERS_PATH];
        if (join(earlier, walk->places->dirs[i], name) && has(earlier, "config.json"))
            return DG_OK;
    }
    return walk->on_model(walk->ctx, name, path, error);
}

enum dg_err dg_model_folders_each(const struct dg_model_folders *places,
                                  dg_model_folders_fn *on_model, void *ctx, struct dg_error *error)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < places->n && !err; i++) {
        struct walk walk = {places, i, on_model, ctx};
        err = dg_model_folders_each_in(places->dirs[i], visit, &walk, error);
    }
    return err;
}
