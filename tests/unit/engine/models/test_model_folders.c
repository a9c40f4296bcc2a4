/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Where models are looked for: a program in a build folder finds its source tree, an account has
 * its own folder, and of two models with one name the first counts. */
#include "engine/models/model_folders.h"
#include "tmpdir.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct seen {
    size_t n, n_fr_en;
    char path[DG_MODEL_FOLDERS_PATH]; /* of fr-en */
    enum dg_err answer;
};

static enum dg_err see(void *ctx, const char *name, const char *path, struct dg_error *error)
{
    struct seen *seen = ctx;
    (void)error;
    seen->n++;
    if (strcmp(name, "fr-en") == 0) {
        seen->n_fr_en++;
        snprintf(seen->path, sizeof seen->path, "%s", path);
    }
    return seen->answer;
}

static void make_model(const char *root, const char *name)
{
    char path[DG_MODEL_FOLDERS_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", root, name);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/%s/config.json", root, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fclose(file);
}

START_TEST(models_are_walked_and_the_first_of_a_name_counts)
{
    static struct dg_model_folders places;
    char root[DG_TMPDIR_CAP], path[DG_MODEL_FOLDERS_PATH + 16];
    struct seen seen = {.n = 0};
    dg_tmpdir_make(root);
    for (int i = 0; i < 2; i++) {
        snprintf(places.dirs[i], sizeof places.dirs[i], "%s/%d", root, i);
        ck_assert_int_eq(mkdir(places.dirs[i], 0700), 0);
    }
    places.n = 2;
    snprintf(path, sizeof path, "%s/empty", places.dirs[0]);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    make_model(places.dirs[0], ".hidden");
    make_model(places.dirs[0], "fr-en");
    make_model(places.dirs[1], "fr-en");
    make_model(places.dirs[1], "en-fr");
    ck_assert_int_eq(dg_model_folders_each(&places, see, &seen, NULL), DG_OK);
    ck_assert_uint_eq(seen.n, 2);
    ck_assert_uint_eq(seen.n_fr_en, 1);
    ck_assert_int_eq(strncmp(seen.path, places.dirs[0], strlen(places.dirs[0])), 0);
    seen = (struct seen){.answer = DG_ERR_RANGE};
    ck_assert_int_eq(dg_model_folders_each(&places, see, &seen, NULL), DG_ERR_RANGE);
    ck_assert_uint_eq(seen.n, 1);
    struct dg_error error = DG_ERROR_NONE;
    snprintf(path, sizeof path, "%s/nothing", root);
    ck_assert_int_eq(dg_model_folders_each_in(path, see, &seen, &error), DG_ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, path));
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(an_accounts_own_place_is_where_the_environment_says)
{
    static struct dg_model_folders places;
    const char *own = geteuid() == 0 ? "/var/lib/dragoman/models" : NULL;
    unsetenv("STATE_DIRECTORY");
    setenv("HOME", "/nowhere/home", 1);
    setenv("XDG_DATA_HOME", "/nowhere/data", 1);
    dg_model_folders_find(&places);
    ck_assert_str_eq(places.own, own ? own : "/nowhere/data/dragoman/models");
    setenv("XDG_DATA_HOME", "relative", 1);
    dg_model_folders_find(&places);
    ck_assert_str_eq(places.own, own ? own : "/nowhere/home/.local/share/dragoman/models");
    setenv("STATE_DIRECTORY", "/nowhere/state:/nowhere/state/models", 1);
    own = own ? "/nowhere/state/models" : NULL;
    dg_model_folders_find(&places);
    ck_assert_str_eq(places.own, own ? own : "/nowhere/home/.local/share/dragoman/models");
    unsetenv("HOME");
    dg_model_folders_find(&places);
    ck_assert_str_eq(places.own, own ? own : "");
    for (size_t i = 0; i < places.n; i++)
        ck_assert_ptr_null(strstr(places.dirs[i], "nowhere"));
    ck_assert_ptr_nonnull(strstr(places.langid, "langid.bin"));
}
END_TEST

DG_UNIT(models_are_walked_and_the_first_of_a_name_counts,
        an_accounts_own_place_is_where_the_environment_says)
