/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

#include "access/access.h"
#include "access/quota_local.h"
#include "unit.h"

#include <sodium.h>
#include <stdio.h>

static struct dg_clock clock;
static struct dg_usage *usage;
static struct dg_quota_local *local;
static struct dg_quota quota;
static struct dg_access *access_;

static void begin(void)
{
    ck_assert_int_ge(sodium_init(), 0);
    clock = (struct dg_clock)DG_CLOCK_VIRTUAL(1000 * DG_CLOCK_S);
    ck_assert_int_eq(dg_usage_open(&clock, NULL, NULL, &usage), DG_OK);
    local = dg_quota_local_new(&clock, usage, 100);
    quota = dg_quota_local(local);
    access_ = dg_access_new(&clock, &quota);
}

static void end(void)
{
    dg_access_free(access_);
    dg_quota_local_free(local);
    dg_usage_close(usage);
}

static void put_hash(struct dg_buf *text, const char *field, const char *secret)
{
    struct dg_secret_hash hash;
    char hex[DG_SECRET_HASH_TEXT];
    dg_secret_hash(dg_span_cstr(secret), &hash);
    dg_secret_hash_format(&hash, hex);
    ck_assert_int_eq(dg_buf_printf(text, "%s = %s\n", field, hex), DG_OK);
}

/* Writes and reads a key file with these names, each with the secret "secret of NAME". */
static void use_keys(const char *const *names, const char *more)
{
    struct dg_buf text;
    struct dg_key_file file = {.n = 0};
    struct dg_keyring *ring = NULL;
    struct dg_error error = DG_ERROR_NONE;
    dg_buf_init(&text, 1 << 20);
    for (; *names; names++) {
        char secret[100];
        snprintf(secret, sizeof secret, "secret of %s", *names);
        ck_assert_int_eq(dg_buf_printf(&text, "[key %s]\n", *names), DG_OK);
        put_hash(&text, "hash", secret);
    }
    ck_assert_int_eq(dg_buf_append_cstr(&text, more), DG_OK);
    ck_assert_msg(dg_key_file_parse(&file, "keys", dg_buf_span(&text), &error) == DG_OK, "%s",
                  error.text);
    enum dg_err err = dg_keyring_new(&file, &ring);
    dg_key_file_deinit(&file);
    ck_assert_int_eq(err, DG_OK);
    dg_access_set_ring(access_, ring);
    dg_buf_deinit(&text);
}

static enum dg_err identify(const char *secret, struct dg_who *who)
{
    return dg_access_identify(access_, dg_span_cstr(secret), who);
}

START_TEST(without_keys_whatever_is_sent_means_nothing)
{
    struct dg_who who;
    begin();
    ck_assert(!dg_access_has_keys(access_));
    ck_assert_int_eq(identify("anything", &who), DG_OK);
    ck_assert(!dg_who_has_key(&who));
    ck_assert_int_eq(who.priority, DG_KEY_INTERACTIVE);
    ck_assert_ptr_null(dg_access_key(access_, &who));
    end();
}
END_TEST

START_TEST(a_secret_finds_its_key_and_no_other_text_does)
{
    static const char *const names[] = {"alice", "bob", NULL};
    struct dg_who who;
    begin();
    use_keys(names, "role = admin\npriority = bulk\nmodels = fr-en\n");
    ck_assert_uint_eq(dg_access_n_keys(access_), 2);
    ck_assert_int_eq(identify("secret of bob", &who), DG_OK);
    ck_assert_str_eq(who.name, "bob");
    ck_assert_int_eq(who.role, DG_KEY_ADMIN);
    ck_assert_int_eq(who.priority, DG_KEY_BULK);
    const struct dg_key *key = dg_access_key(access_, &who);
    ck_assert(dg_key_allows(key, DG_SPAN("fr-en")) && !dg_key_allows(key, DG_SPAN("de-en")));
    ck_assert_int_eq(identify("", &who), DG_OK);
    ck_assert(!dg_who_has_key(&who));
    static const char *const wrong[] = {"secret of bo", "secret of bobb", "SECRET of bob", "bob",
                                        " "};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_int_eq(identify(wrong[i], &who), DG_ERR_NOT_FOUND);
    char longest[10000];
    memset(longest, 'a', sizeof longest);
    ck_assert_int_eq(dg_access_identify(access_, dg_span_make(longest, sizeof longest), &who),
                     DG_ERR_NOT_FOUND);
    ck_assert_int_eq(dg_access_identify(access_, DG_SPAN("secret of bob\0"), &who),
                     DG_ERR_NOT_FOUND);
    end();
}
END_TEST

static bool is_behind(void *ctx)
{
    return *(const bool *)ctx;
}

START_TEST(a_server_that_may_lack_keys_does_not_say_that_there_is_none)
{
    static const char *const both[] = {"alice", "bob", NULL}, *const one[] = {"alice", NULL};
    bool behind = true;
    struct dg_who who, bob;
    begin();
    dg_access_set_source(access_, is_behind, &behind);
    use_keys(both, "");
    ck_assert_int_eq(identify("secret of bob", &bob), DG_OK);
    use_keys(one, "");
    ck_assert_int_eq(identify("secret of alice", &who), DG_OK);
    ck_assert_int_eq(identify("", &who), DG_OK);
    ck_assert_int_eq(identify("secret of bob", &who), DG_ERR_BUSY);
    ck_assert_int_eq(dg_access_again(access_, &bob), DG_ERR_NOT_FOUND); /* it was there before */
    behind = false;
    ck_assert_int_eq(identify("secret of bob", &who), DG_ERR_NOT_FOUND);
    end();
}
END_TEST

START_TEST(keys_expire_and_old_secrets_too)
{
    static const char *const names[] = {"alice", NULL};
    struct dg_who who, old;
    struct dg_buf more;
    begin();
    dg_buf_init(&more, 4096);
    put_hash(&more, "old-hash", "before");
    ck_assert_int_eq(dg_buf_append_cstr(&more, "old-until = 1970-01-02\nexpires = 1970-01-03\n"),
                     DG_OK);
    use_keys(names, more.ptr);
    ck_assert_int_eq(identify("before", &old), DG_OK);
    ck_assert_str_eq(old.name, "alice");
    ck_assert_int_eq(identify("secret of alice", &who), DG_OK);
    dg_clock_advance(&clock, 86400 * DG_CLOCK_S);
    ck_assert_int_eq(identify("before", &old), DG_ERR_NOT_FOUND);
    ck_assert_int_eq(dg_access_again(access_, &old), DG_ERR_NOT_FOUND);
    ck_assert_int_eq(dg_access_again(access_, &who), DG_OK);
    dg_clock_advance(&clock, 86400 * DG_CLOCK_S);
    ck_assert_int_eq(identify("secret of alice", &who), DG_ERR_TIMEOUT);
    ck_assert_int_eq(dg_access_again(access_, &who), DG_ERR_TIMEOUT);
    dg_buf_deinit(&more);
    end();
}
END_TEST

START_TEST(a_revoked_key_ends_for_those_who_are_in)
{
    static const char *const both[] = {"alice", "bob", NULL}, *const one[] = {"bob", NULL};
    struct dg_who alice, bob;
    begin();
    use_keys(both, "");
    ck_assert_int_eq(identify("secret of alice", &alice), DG_OK);
    ck_assert_int_eq(identify("secret of bob", &bob), DG_OK);
    use_keys(one, "role = admin\n");
    ck_assert_int_eq(dg_access_again(access_, &alice), DG_ERR_NOT_FOUND);
    ck_assert_ptr_null(dg_access_key(access_, &alice));
    ck_assert_int_eq(dg_access_again(access_, &bob), DG_OK);
    ck_assert_int_eq(bob.role, DG_KEY_ADMIN);
    end();
}
END_TEST

START_TEST(keys_are_asked_about_by_name_and_others_by_address)
{
    static const char *const names[] = {"alice", NULL};
    struct dg_who alice, none;
    struct dg_quota_id id;
    const struct dg_access_rules rules = {
        .requests_per_minute = 5, .characters_per_minute = 50, .priority = DG_KEY_NORMAL};
    begin();
    use_keys(names,
             "requests-per-minute = 7\ncharacters-per-minute = 70\ncharacters-per-month = 700\n");
    dg_access_set_rules(access_, &rules);
    ck_assert_int_eq(identify("secret of alice", &alice), DG_OK);
    ck_assert_int_eq(identify("", &none), DG_OK);
    ck_assert_int_eq(none.priority, DG_KEY_NORMAL);
    struct dg_quota_ask ask = dg_access_ask(access_, &alice, DG_SPAN("192.0.2.7"), &id);
    ck_assert_int_eq(ask.kind, DG_QUOTA_KEY);
    ck_assert(dg_span_eq(ask.id, DG_SPAN("alice")));
    ck_assert_uint_eq(ask.limits[DG_QUOTA_REQUESTS], 7);
    ck_assert_uint_eq(ask.limits[DG_QUOTA_CHARACTERS], 70);
    ck_assert_uint_eq(ask.limits[DG_QUOTA_MONTH], 700);
    ask = dg_access_ask(access_, &none, DG_SPAN("2001:db8::9"), &id);
    ck_assert_int_eq(ask.kind, DG_QUOTA_ADDRESS);
    ck_assert(dg_span_eq(ask.id, DG_SPAN("2001:db8::/64")));
    ck_assert_uint_eq(ask.limits[DG_QUOTA_REQUESTS], 5);
    ck_assert_uint_eq(ask.limits[DG_QUOTA_CHARACTERS], 50);
    ck_assert_uint_eq(ask.limits[DG_QUOTA_MONTH], 0);
    end();
}
END_TEST

START_TEST(many_keys_are_found)
{
    enum { N = 2000 };
    static char texts[N][16];
    static const char *names[N + 1];
    struct dg_who who;
    begin();
    for (int i = 0; i < N; i++) {
        snprintf(texts[i], sizeof texts[i], "k%d", i);
        names[i] = texts[i];
    }
    use_keys(names, "");
    for (int i = 0; i < N; i += 7) {
        char secret[100];
        snprintf(secret, sizeof secret, "secret of k%d", i);
        ck_assert_int_eq(identify(secret, &who), DG_OK);
        ck_assert_str_eq(who.name, texts[i]);
    }
    end();
}
END_TEST

DG_UNIT(without_keys_whatever_is_sent_means_nothing, a_secret_finds_its_key_and_no_other_text_does,
        a_server_that_may_lack_keys_does_not_say_that_there_is_none,
        keys_expire_and_old_secrets_too, a_revoked_key_ends_for_those_who_are_in,
        keys_are_asked_about_by_name_and_others_by_address, many_keys_are_found)
