/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

#include "access/key_file.h"
#include "base/memory/buf.h"
#include "tmpdir.h"
#include "unit.h"

#include <sodium.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH_A "blake2b:bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"
#define HASH_B "blake2b:0000000000000000000000000000000000000000000000000000000000000001"
#define HASH_C "blake2b:0000000000000000000000000000000000000000000000000000000000000002"

static const char whole[] = "# keys\n"
                            "[key alice]\n"
                            "hash = " HASH_A "\n"
                            "created = 2026-11-21T22:00:00Z\n"
                            "expires = 2027-01-01\n"
                            "role = admin\n"
                            "requests-per-minute = 60\n"
                            "characters-per-minute = 20k\n"
                            "characters-per-month = 5M\n"
                            "priority = bulk\n"
                            "models = fr-en, de-en\n"
                            "note = \"the \\\"big\\\" # one\"\n"
                            "old-hash = " HASH_C "\n"
                            "old-until = 2026-12-01T00:00:00Z\n"
                            "[key bob]\n"
                            "hash = " HASH_B "\n";

static enum dg_err parse(const char *text, struct dg_key_file *file, struct dg_error *error)
{
    return dg_key_file_parse(file, "keys", dg_span_cstr(text), error);
}

static void refuse(const char *text, const char *sentence)
{
    struct dg_key_file file = {.n = 77};
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_ne(parse(text, &file, &error), DG_OK);
    ck_assert_msg(strstr(error.text, sentence) != NULL, "'%s' lacks '%s'", error.text, sentence);
    ck_assert_uint_eq(file.n, 77);
}

START_TEST(reads_every_field)
{
    struct dg_key_file file = {.n = 0};
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_msg(parse(whole, &file, &error) == DG_OK, "%s", error.text);
    ck_assert_uint_eq(file.n, 2);
    const struct dg_key *alice = dg_key_file_find(&file, DG_SPAN("alice")),
                        *bob = dg_key_file_find(&file, DG_SPAN("bob"));
    ck_assert(alice && bob && !dg_key_file_find(&file, DG_SPAN("carol")));
    ck_assert_int_eq(alice->role, DG_KEY_ADMIN);
    ck_assert_int_eq(alice->priority, DG_KEY_BULK);
    ck_assert_int_eq(alice->requests_per_minute, 60);
    ck_assert_int_eq(alice->characters_per_minute, 20000);
    ck_assert_int_eq(alice->characters_per_month, 5000000);
    ck_assert_uint_eq(alice->created_s, 1795298400);
    ck_assert_uint_eq(alice->expires_s, 1798761600);
    ck_assert_uint_eq(alice->old_until_s, 1796083200);
    ck_assert_str_eq(alice->note, "the \"big\" # one");
    ck_assert(dg_key_allows(alice, DG_SPAN("de-en")) && !dg_key_allows(alice, DG_SPAN("en-de")));
    ck_assert_int_eq(bob->role, DG_KEY_USER);
    ck_assert_int_eq(bob->priority, DG_KEY_NORMAL);
    ck_assert_uint_eq(bob->expires_s, 0);
    ck_assert_str_eq(bob->note, "");
    ck_assert(dg_key_allows(bob, DG_SPAN("en-de")));
    dg_key_file_deinit(&file);
}
END_TEST

START_TEST(what_is_printed_reads_the_same)
{
    struct dg_key_file file = {.n = 0}, again = {.n = 0};
    struct dg_buf first, second;
    dg_buf_init(&first, 1 << 20);
    dg_buf_init(&second, 1 << 20);
    ck_assert_int_eq(parse(whole, &file, NULL), DG_OK);
    ck_assert_int_eq(dg_key_file_print(&file, &first), DG_OK);
    ck_assert_int_eq(dg_key_file_parse(&again, "keys", dg_buf_span(&first), NULL), DG_OK);
    ck_assert_int_eq(dg_key_file_print(&again, &second), DG_OK);
    ck_assert_str_eq(first.ptr, second.ptr);
    ck_assert_ptr_nonnull(strstr(first.ptr, "expires = 2027-01-01T00:00:00Z\n"));
    ck_assert_ptr_null(strstr(first.ptr, "bob]\nhash = " HASH_B "\nrole"));
    ck_assert_str_eq(again.keys[0].note, file.keys[0].note);
    dg_buf_deinit(&first);
    dg_buf_deinit(&second);
    dg_key_file_deinit(&file);
    dg_key_file_deinit(&again);
}
END_TEST

START_TEST(a_file_may_have_no_keys_on_purpose)
{
    struct dg_key_file file = {.n = 0}, emptied = {.n = 0};
    struct dg_buf text;
    struct dg_key key;
    dg_buf_init(&text, 1 << 20);
    ck_assert_int_eq(parse("# nothing\n", &emptied, NULL), DG_OK);
    ck_assert(!emptied.is_none);
    ck_assert_int_eq(dg_key_file_print(&emptied, &text), DG_OK);
    ck_assert_ptr_null(strstr(text.ptr, "none"));
    dg_buf_clear(&text);
    ck_assert_int_eq(parse("keys = none\n", &file, NULL), DG_OK);
    ck_assert(file.is_none);
    ck_assert_int_eq(dg_key_file_print(&file, &text), DG_OK);
    ck_assert_ptr_nonnull(strstr(text.ptr, "\nkeys = none\n"));
    dg_buf_clear(&text);
    ck_assert_int_eq(dg_key_init(&key), DG_OK);
    snprintf(key.name, sizeof key.name, "alice");
    ck_assert_int_eq(dg_key_file_add(&file, &key, NULL), DG_OK);
    ck_assert_int_eq(dg_key_file_print(&file, &text), DG_OK);
    ck_assert_ptr_null(strstr(text.ptr, "none"));
    dg_buf_deinit(&text);
    dg_key_file_deinit(&file);
    dg_key_file_deinit(&emptied);
}
END_TEST

START_TEST(refuses_with_line_and_reason)
{
    refuse("hash = " HASH_A "\n", "keys:1: read \"hash\" outside of a key");
    refuse("[key a]\n", "keys:1: [key a] has no hash");
    refuse("[key a]\nhash = x\n", "keys:2: hash: read something else");
    refuse("[key a]\nhash = " HASH_A "\nhash = " HASH_A "\n", "keys:3: read hash again");
    refuse("[key a]\nhash = " HASH_A "\n[key a]\nhash = " HASH_B "\n",
           "keys:3: read [key a] again");
    refuse("[key a]\nhash = " HASH_A "\n[key b]\nhash = " HASH_A "\n",
           "has the hash of another key");
    refuse("[key a]\nhash = " HASH_A "\n[key b]\nhash = " HASH_B "\nold-hash = " HASH_A
           "\nold-until = 2027-01-01\n",
           "has the hash of another key");
    refuse("[key a]\nhash = " HASH_A "\nold-hash = " HASH_B "\n",
           "expected both old-hash and old-until");
    refuse("[key a]\nhash = " HASH_A "\nold-until = 2027-01-01\n",
           "expected both old-hash and old-until");
    refuse("[key a]\nhash = " HASH_A "\nrole = root\n", "keys:3: role: read \"root\", expected");
    refuse("[key a]\nhash = " HASH_A "\npriority = high\n",
           "keys:3: priority: read \"high\", expected");
    refuse("[key a]\nhash = " HASH_A "\nrequests-per-minute = -1\n", "keys:3: requests-per-minute");
    refuse("[key a]\nhash = " HASH_A "\nexpires = soon\n",
           "keys:3: expires: read \"soon\", expected a time");
    refuse("[key a]\nhash = " HASH_A "\nexpire = 2027-01-01\n",
           "keys:3: read the unknown field \"expire\"");
    refuse("[model a]\npath = x\n", "keys:1: read a section of the unknown kind \"model\"");
    refuse("[key a b]\n", "keys:1");
    refuse("keys = none\n[key a]\nhash = " HASH_A "\n", "keys:2: read a key after \"keys = none\"");
    refuse("[key a]\nhash = " HASH_A "\nkeys = none\n", "keys:3: read the unknown field \"keys\"");
    refuse("keys = some\n", "keys:1: read \"keys\" outside of a key");
    refuse("[key a]\nhash = " HASH_A "\nnote = \"\xff\"\n", "keys:3");
}
END_TEST

START_TEST(names_are_plain)
{
    ck_assert_int_eq(dg_key_check_name(DG_SPAN("Alice-2_x.y"), NULL), DG_OK);
    ck_assert_int_ne(dg_key_check_name(DG_SPAN(""), NULL), DG_OK);
    ck_assert_int_ne(dg_key_check_name(DG_SPAN("a b"), NULL), DG_OK);
    ck_assert_int_ne(dg_key_check_name(DG_SPAN("a\nb"), NULL), DG_OK);
    ck_assert_int_ne(dg_key_check_name(DG_SPAN("\xc3\xa9"), NULL), DG_OK);
    ck_assert_int_ne(
        dg_key_check_name(
            DG_SPAN("12345678901234567890123456789012345678901234567890123456789012345"), NULL),
        DG_OK);
}
END_TEST

START_TEST(keys_are_added_and_removed)
{
    struct dg_key_file file = {.n = 0};
    struct dg_error error = DG_ERROR_NONE;
    for (int i = 0; i < 20; i++) {
        struct dg_key key;
        ck_assert_int_eq(dg_key_init(&key), DG_OK);
        snprintf(key.name, sizeof key.name, "k%d", i);
        ck_assert_int_eq(dg_key_file_add(&file, &key, &error), DG_OK);
    }
    struct dg_key again;
    ck_assert_int_eq(dg_key_init(&again), DG_OK);
    snprintf(again.name, sizeof again.name, "k7");
    ck_assert_int_eq(dg_key_file_add(&file, &again, &error), DG_ERR_EXISTS);
    dg_key_deinit(&again);
    dg_key_file_remove(&file, dg_key_file_find(&file, DG_SPAN("k7")));
    dg_key_file_remove(&file, dg_key_file_find(&file, DG_SPAN("k19")));
    ck_assert_uint_eq(file.n, 18);
    ck_assert_ptr_null(dg_key_file_find(&file, DG_SPAN("k7")));
    ck_assert_str_eq(file.keys[7].name, "k8");
    dg_key_file_deinit(&file);
}
END_TEST

START_TEST(the_file_keeps_its_mode_and_a_new_one_is_private)
{
    char root[DG_TMPDIR_CAP];
    struct dg_key_file file = {.n = 0}, again = {.n = 0};
    struct stat info;
    char path[DG_TMPDIR_CAP + 16];
    struct dg_error error = DG_ERROR_NONE;
    dg_tmpdir_make(root);
    snprintf(path, sizeof path, "%s/keys", root);
    ck_assert_int_eq(parse(whole, &file, NULL), DG_OK);
    ck_assert_msg(dg_key_file_save(&file, path, &error) == DG_OK, "%s", error.text);
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_uint_eq(info.st_mode & 07777, 0640);
    ck_assert_int_eq(chmod(path, 0600), 0);
    ck_assert_int_eq(dg_key_file_save(&file, path, &error), DG_OK);
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_uint_eq(info.st_mode & 07777, 0600);
    ck_assert_msg(dg_key_file_load(&again, path, &error) == DG_OK, "%s", error.text);
    ck_assert_uint_eq(again.n, 2);
    dg_key_file_deinit(&again);
    dg_key_file_deinit(&file);
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(a_file_that_others_may_touch_is_refused)
{
    static const mode_t wrong[] = {0644, 0660, 0620, 0602, 0604, 0601, 0666};
    char root[DG_TMPDIR_CAP];
    struct dg_key_file file = {.n = 0};
    char path[DG_TMPDIR_CAP + 16];
    struct dg_error error = DG_ERROR_NONE;
    dg_tmpdir_make(root);
    snprintf(path, sizeof path, "%s/keys", root);
    ck_assert_int_eq(parse(whole, &file, NULL), DG_OK);
    ck_assert_int_eq(dg_key_file_save(&file, path, &error), DG_OK);
    dg_key_file_deinit(&file);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(chmod(path, wrong[i]), 0);
        ck_assert_int_eq(dg_key_file_load(&file, path, &error), DG_ERR_DENIED);
        ck_assert_ptr_nonnull(strstr(error.text, "chmod 0640"));
    }
    ck_assert_int_eq(dg_key_file_load(&file, root, &error), DG_ERR_INVALID);
    ck_assert_int_eq(dg_key_file_load(&file, "/nowhere/keys", &error), DG_ERR_NOT_FOUND);
    ck_assert_uint_eq(file.n, 0);
    dg_tmpdir_remove(root);
}
END_TEST

DG_UNIT(reads_every_field, what_is_printed_reads_the_same, a_file_may_have_no_keys_on_purpose,
        refuses_with_line_and_reason, names_are_plain, keys_are_added_and_removed,
        the_file_keeps_its_mode_and_a_new_one_is_private, a_file_that_others_may_touch_is_refused)
