/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/file/file_out.h"
#include "model/file/manifest.h"
#include "tmpdir.h"
#include "unit.h"

#include <sys/stat.h>

static char root[DG_TMPDIR_CAP];
static struct dg_minisign_public key;
static struct dg_minisign_secret secret;

static void save(const char *name, const char *text)
{
    char path[DG_TMPDIR_CAP + 64];
    snprintf(path, sizeof path, "%s/%s", root, name);
    ck_assert_int_eq(dg_file_out_save(path, 0644, text, strlen(text), NULL), DG_OK);
}

static void start(void)
{
    dg_tmpdir_make(root);
    save("model.safetensors", "numbers");
    save("config.json", "{}");
    save("empty", "");
    ck_assert_int_eq(dg_minisign_generate(&key, &secret), DG_OK);
}

static void refuses(const char *says)
{
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_manifest_verify(root, &key, 1, &error), DG_ERR_INTEGRITY);
    ck_assert_msg(strstr(error.text, says) != NULL, "'%s' does not say '%s'", error.text, says);
}

START_TEST(a_signed_directory_verifies_until_it_is_touched)
{
    struct dg_error error = DG_ERROR_NONE;
    start();
    ck_assert_int_eq(dg_manifest_verify(root, &key, 1, NULL), DG_ERR_NOT_FOUND);
    ck_assert_int_eq(dg_manifest_sign(root, &secret, DG_SPAN("release 1"), NULL), DG_OK);
    ck_assert_msg(dg_manifest_verify(root, &key, 1, &error) == DG_OK, "%s", error.text);
    save("config.json", "{ }");
    refuses("config.json was changed");
    save("config.json", "{}");
    save("extra", "");
    save("model.safetensors", "number");
    refuses("extra is not in the manifest; model.safetensors was changed");
    char path[DG_TMPDIR_CAP + 64];
    snprintf(path, sizeof path, "%s/extra", root);
    unlink(path);
    save("model.safetensors", "numbers");
    ck_assert_int_eq(dg_manifest_verify(root, &key, 1, NULL), DG_OK);
    snprintf(path, sizeof path, "%s/empty", root);
    unlink(path);
    refuses("empty is missing");
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(a_manifest_of_another_hand_does_not)
{
    start();
    ck_assert_int_eq(dg_manifest_sign(root, &secret, DG_SPAN(""), NULL), DG_OK);
    save("config.json", "{ }");
    ck_assert_int_eq(dg_manifest_write(root, NULL), DG_OK);
    ck_assert_int_eq(dg_manifest_verify(root, NULL, 0, NULL), DG_OK);
    refuses("does not match");
    ck_assert_int_eq(dg_minisign_generate(&key, &secret), DG_OK);
    refuses("is not among the 1 known");
    char path[DG_TMPDIR_CAP + 64];
    snprintf(path, sizeof path, "%s/" DG_MANIFEST_SIGNATURE, root);
    unlink(path);
    ck_assert_int_eq(dg_manifest_verify(root, &key, 1, NULL), DG_ERR_NOT_FOUND);
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(the_manifest_is_what_b2sum_reads)
{
    start();
    ck_assert_int_eq(dg_manifest_write(root, NULL), DG_OK);
    char command[DG_TMPDIR_CAP + 128];
    snprintf(
        command, sizeof command,
        "cd '%s' && { command -v b2sum >/dev/null || exit 0; } && b2sum --strict -c --quiet %s",
        root, DG_MANIFEST_NAME);
    char *const arguments[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", command, NULL};
    ck_assert_int_eq(dg_tmpdir_run("/bin/sh", arguments), 0);
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(a_directory_inside_is_refused)
{
    start();
    char path[DG_TMPDIR_CAP + 64];
    struct dg_error error = DG_ERROR_NONE;
    snprintf(path, sizeof path, "%s/inner", root);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    ck_assert_int_ne(dg_manifest_write(root, &error), DG_OK);
    ck_assert_ptr_nonnull(strstr(error.text, "inner is a directory"));
    dg_tmpdir_remove(root);
}
END_TEST

DG_UNIT(a_signed_directory_verifies_until_it_is_touched, a_manifest_of_another_hand_does_not,
        the_manifest_is_what_b2sum_reads, a_directory_inside_is_refused)
