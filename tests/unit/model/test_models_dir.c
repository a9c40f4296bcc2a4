/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/buf.h"
#include "base/file_out.h"
#include "model/models_dir.h"
#include "tmpdir.h"
#include "unit.h"

#include <sys/stat.h>

static char root[DG_TMPDIR_CAP];

static void make(const char *name, bool with_config)
{
    char path[DG_TMPDIR_CAP + 128];
    snprintf(path, sizeof path, "%s/%s", root, name);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/%s/config.json", root, name);
    if (with_config)
        ck_assert_int_eq(dg_file_out_save(path, 0644, "{}", 2, NULL), DG_OK);
}

static enum dg_err on_model(void *ctx, const char *name, const char *path, struct dg_why *why)
{
    struct dg_buf *list = ctx;
    ck_assert_str_eq(strrchr(path, '/') + 1, name);
    return dg_buf_printf(list, "%s ", name);
}

START_TEST(finds_models_in_the_order_of_their_names)
{
    struct dg_buf list;
    dg_buf_init(&list, 11);
    dg_tmpdir_make(root);
    make("fr-en", true);
    make("de-en", true);
    make("empty", false);
    make(".hidden", true);
    make("en-fr.importing-a1b2c3", true);
    make("with blank", true);
    ck_assert_int_eq(dg_models_dir_scan(root, on_model, &list, NULL), DG_ERR_LIMIT);
    list.max = 100;
    dg_buf_clear(&list);
    ck_assert_int_eq(dg_models_dir_scan(root, on_model, &list, NULL), DG_OK);
    ck_assert_str_eq(list.ptr, "de-en fr-en ");
    struct dg_why why = DG_WHY_NONE;
    dg_tmpdir_remove(root);
    ck_assert_int_eq(dg_models_dir_scan(root, on_model, &list, &why), DG_ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(why.text, root));
    dg_buf_deinit(&list);
}
END_TEST

START_TEST(knows_which_names_models_may_have)
{
    static const char *const good[] = {"fr-en", "a", "opus.mt_v2", "9"};
    static const char *const bad[] = {"", ".", "..", "-x", "a/b", "a b", "\xC3\xA9"};
    for (size_t i = 0; i < 4; i++)
        ck_assert(dg_models_dir_is_name(dg_span_cstr(good[i])));
    for (size_t i = 0; i < 7; i++)
        ck_assert(!dg_models_dir_is_name(dg_span_cstr(bad[i])));
    char name[66];
    memset(name, 'a', 65);
    ck_assert(dg_models_dir_is_name(dg_span_make(name, 64)));
    ck_assert(!dg_models_dir_is_name(dg_span_make(name, 65)));
}
END_TEST

DG_UNIT(finds_models_in_the_order_of_their_names, knows_which_names_models_may_have)
