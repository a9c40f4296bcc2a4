/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* minisign 0.11 made the keys and signatures of tests/data/minisign; where the tool is installed it
 * also verifies ours. */
#include "base/file/file_out.h"
#include "base/file/map_file.h"
#include "base/memory/mem.h"
#include "model/file/minisign.h"
#include "tmpdir.h"
#include "unit.h"

static char root[DG_TMPDIR_CAP];

/* A file of tests/data/minisign, mapped once; it lives until the program ends. */
static struct dg_span data(const char *name)
{
    static struct {
        const char *name; /* a literal */
        struct dg_map_file file;
    } opened[16];
    size_t i = 0;
    for (; opened[i].name; i++)
        if (strcmp(opened[i].name, name) == 0)
            return dg_span_make((const char *)opened[i].file.bytes, opened[i].file.len);
    char path[1024];
    const char *srcdir = getenv("srcdir");
    ck_assert_uint_lt(i, sizeof opened / sizeof *opened - 1);
    snprintf(path, sizeof path, "%s/tests/data/minisign/%s", srcdir ? srcdir : ".", name);
    ck_assert_msg(dg_map_file_open(&opened[i].file, path, 8192, NULL) == DG_OK, "%s", path);
    opened[i].name = name;
    return dg_span_make((const char *)opened[i].file.bytes, opened[i].file.len);
}

START_TEST(signatures_of_the_tool_verify)
{
    struct dg_minisign_public keys[2];
    struct dg_span comment;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_minisign_public_parse(&keys[0], data("encrypted.pub"), &error), DG_OK);
    ck_assert_int_eq(dg_minisign_public_parse(&keys[1], data("open.pub"), &error), DG_OK);
    ck_assert_msg(dg_minisign_verify(keys, 2, data("message"), data("message.minisig"), &comment,
                                     &error) == DG_OK,
                  "%s", error.text);
    ck_assert(dg_span_eq(comment, DG_SPAN("trusted words")));
    ck_assert_msg(dg_minisign_verify(keys, 2, data("message"), data("message.legacy.minisig"),
                                     &comment, &error) == DG_OK,
                  "%s", error.text);
    ck_assert(dg_span_eq(comment, DG_SPAN("older words")));
    ck_assert_int_eq(
        dg_minisign_verify(keys, 1, data("message"), data("message.minisig"), NULL, &error),
        DG_ERR_INTEGRITY);
    ck_assert_ptr_nonnull(strstr(error.text, "8DA1D6504694EB4F"));
}
END_TEST

START_TEST(one_changed_byte_anywhere_is_noticed)
{
    static const char *const names[] = {"message.minisig", "message.legacy.minisig"};
    struct dg_minisign_public key;
    ck_assert_int_eq(dg_minisign_public_parse(&key, data("open.pub"), NULL), DG_OK);
    for (size_t i = 0; i < 2; i++) {
        struct dg_span signature = data(names[i]);
        char text[512];
        const char *untrusted_end = memchr(signature.ptr, '\n', signature.len);
        for (size_t at = (size_t)(untrusted_end - signature.ptr) + 1; at < signature.len; at++) {
            memcpy(text, signature.ptr, signature.len);
            text[at] ^= 1;
            enum dg_err err = dg_minisign_verify(&key, 1, data("message"),
                                                 dg_span_make(text, signature.len), NULL, NULL);
            /* The line end of the last line may be anything. */
            ck_assert_msg(err == DG_ERR_INTEGRITY || at == signature.len - 1, "%zu", at);
        }
        for (size_t len = 0; len < signature.len - 1; len++)
            ck_assert_int_eq(dg_minisign_verify(&key, 1, data("message"),
                                                dg_span_make(signature.ptr, len), NULL, NULL),
                             DG_ERR_INTEGRITY);
        ck_assert_int_eq(
            dg_minisign_verify(&key, 1, DG_SPAN("a message\nof two line\n"), signature, NULL, NULL),
            DG_ERR_INTEGRITY);
    }
}
END_TEST

START_TEST(open_secret_keys_of_the_tool_sign)
{
    struct dg_minisign_secret secret;
    struct dg_minisign_public key;
    struct dg_buf signature;
    struct dg_error error = DG_ERROR_NONE;
    dg_buf_init(&signature, DG_MINISIGN_FILE_MAX);
    ck_assert(!dg_minisign_secret_is_encrypted(data("open.key")));
    ck_assert_msg(dg_minisign_secret_parse(&secret, data("open.key"), DG_SPAN(""), &error) == DG_OK,
                  "%s", error.text);
    ck_assert_int_eq(dg_minisign_public_parse(&key, data("open.pub"), NULL), DG_OK);
    ck_assert_int_eq(memcmp(key.id, secret.id, 8), 0);
    ck_assert_int_eq(dg_minisign_sign(&secret, DG_SPAN("words"), DG_SPAN("why"), &signature, NULL),
                     DG_OK);
    ck_assert_int_eq(
        dg_minisign_verify(&key, 1, DG_SPAN("words"), dg_buf_span(&signature), NULL, NULL), DG_OK);
    ck_assert_int_eq(dg_minisign_sign(&secret, DG_SPAN("words"), DG_SPAN("a\nb"), &signature, NULL),
                     DG_ERR_INVALID);
    dg_buf_deinit(&signature);
    dg_minisign_wipe(&secret);
}
END_TEST

/* Each decryption takes a gigabyte and seconds, as minisign chose. */
START_TEST(encrypted_secret_keys_open_with_their_password_only)
{
    struct dg_minisign_secret secret, again;
    struct dg_minisign_public key;
    struct dg_buf text;
    struct dg_error error = DG_ERROR_NONE;
    if (getenv("DRAGOMAN_SLOW"))
        return;
    ck_assert(dg_minisign_secret_is_encrypted(data("encrypted.key")));
    enum dg_err err =
        dg_minisign_secret_parse(&secret, data("encrypted.key"), DG_SPAN("secret words"), &error);
    if (err == DG_ERR_NOMEM)
        return;
    ck_assert_msg(err == DG_OK, "%s", error.text);
    ck_assert_int_eq(dg_minisign_public_parse(&key, data("encrypted.pub"), NULL), DG_OK);
    ck_assert_int_eq(memcmp(key.key, secret.key + 32, 32), 0);
    ck_assert_int_eq(
        dg_minisign_secret_parse(&again, data("encrypted.key"), DG_SPAN("Secret words"), &error),
        DG_ERR_DENIED);
    dg_buf_init(&text, DG_MINISIGN_FILE_MAX);
    ck_assert_int_eq(dg_minisign_secret_print(&secret, DG_SPAN("other"), &text, NULL), DG_OK);
    ck_assert_int_eq(dg_minisign_secret_parse(&again, dg_buf_span(&text), DG_SPAN("other"), NULL),
                     DG_OK);
    ck_assert_int_eq(memcmp(&secret, &again, sizeof secret), 0);
    dg_buf_deinit(&text);
}
END_TEST

START_TEST(damaged_keys_are_refused)
{
    static const char *const names[] = {"open.key", "open.pub"};
    for (size_t i = 0; i < 2; i++) {
        struct dg_span whole = data(names[i]);
        for (size_t len = 0; len < whole.len - 1; len++) {
            struct dg_minisign_secret secret;
            struct dg_minisign_public key;
            struct dg_span cut = dg_span_make(whole.ptr, len);
            ck_assert_int_ne(i ? dg_minisign_public_parse(&key, cut, NULL)
                               : dg_minisign_secret_parse(&secret, cut, DG_SPAN(""), NULL),
                             DG_OK);
        }
    }
    struct dg_minisign_secret secret;
    char text[512];
    struct dg_span whole = data("open.key");
    for (size_t at = 134; at < 210; at++) { /* inside the key */
        memcpy(text, whole.ptr, whole.len);
        text[at] = text[at] == 'A' ? 'B' : 'A';
        ck_assert_int_ne(
            dg_minisign_secret_parse(&secret, dg_span_make(text, whole.len), DG_SPAN(""), NULL),
            DG_OK);
    }
}
END_TEST

static void save(const char *name, struct dg_span text)
{
    char path[DG_TMPDIR_CAP + 32];
    snprintf(path, sizeof path, "%s/%s", root, name);
    ck_assert_int_eq(dg_file_out_save(path, 0600, text.ptr, text.len, NULL), DG_OK);
}

static int shell(const char *script)
{
    char command[DG_TMPDIR_CAP + 512];
    snprintf(command, sizeof command, "cd '%s' && %s", root, script);
    char *const arguments[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", command, NULL};
    return dg_tmpdir_run("/bin/sh", arguments);
}

START_TEST(the_tool_takes_our_keys_and_signatures)
{
    struct dg_minisign_secret secret;
    struct dg_minisign_public key;
    struct dg_buf text;
    dg_tmpdir_make(root);
    dg_buf_init(&text, DG_MINISIGN_FILE_MAX);
    if (shell("command -v minisign >/dev/null") != 0) {
        printf("skipped: needs minisign\n");
        dg_tmpdir_remove(root);
        return;
    }
    ck_assert_int_eq(dg_minisign_generate(&key, &secret), DG_OK);
    ck_assert_int_eq(dg_minisign_public_print(&key, &text), DG_OK);
    save("our.pub", dg_buf_span(&text));
    dg_buf_clear(&text);
    ck_assert_int_eq(dg_minisign_secret_print(&secret, DG_SPAN(""), &text, NULL), DG_OK);
    save("our.key", dg_buf_span(&text));
    dg_buf_clear(&text);
    save("file", DG_SPAN("what is signed"));
    ck_assert_int_eq(
        dg_minisign_sign(&secret, DG_SPAN("what is signed"), DG_SPAN("by us"), &text, NULL), DG_OK);
    save("file.minisig", dg_buf_span(&text));
    ck_assert_int_eq(shell("minisign -V -q -p our.pub -m file"), 0);
    ck_assert_int_eq(shell("test \"$(minisign -V -Q -p our.pub -m file)\" = 'by us'"), 0);
    ck_assert_int_eq(shell("minisign -S -s our.key -m file -x tool.minisig >/dev/null"), 0);
    char path[DG_TMPDIR_CAP + 32];
    struct dg_map_file file;
    snprintf(path, sizeof path, "%s/tool.minisig", root);
    ck_assert_int_eq(dg_map_file_open(&file, path, 8192, NULL), DG_OK);
    ck_assert_int_eq(dg_minisign_verify(&key, 1, DG_SPAN("what is signed"),
                                        dg_span_make((const char *)file.bytes, file.len), NULL,
                                        NULL),
                     DG_OK);
    dg_map_file_close(&file);
    ck_assert_int_ne(shell("echo more >>file; minisign -V -q -p our.pub -m file 2>/dev/null"), 0);
    dg_buf_deinit(&text);
    dg_tmpdir_remove(root);
}
END_TEST

DG_UNIT(signatures_of_the_tool_verify, one_changed_byte_anywhere_is_noticed,
        open_secret_keys_of_the_tool_sign, encrypted_secret_keys_open_with_their_password_only,
        damaged_keys_are_refused, the_tool_takes_our_keys_and_signatures)
