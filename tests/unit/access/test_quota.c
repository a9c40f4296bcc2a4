/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

#include "access/quota.h"
#include "unit.h"

static void check(const char *client, const char *id)
{
    struct dg_quota_id made = dg_quota_address(dg_span_cstr(client));
    ck_assert_str_eq(made.text, id);
}

START_TEST(addresses_are_counted_as_customers_have_them)
{
    check("192.0.2.7", "192.0.2.7");
    check("::ffff:192.0.2.7", "192.0.2.7");
    check("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64");
    check("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64");
    check("2001:db8:1:3::1", "2001:db8:1:3::/64");
    check("::1", "::/64");
    check("fe80::1", "fe80::/64");
    check("unix:", "unix:");
    check("", "");
}
END_TEST

START_TEST(the_longest_id_fits)
{
    check("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff::/64");
    char odd[200];
    memset(odd, 'x', sizeof odd);
    ck_assert_uint_eq(strlen(dg_quota_address(dg_span_make(odd, sizeof odd)).text),
                      DG_QUOTA_ID_MAX);
}
END_TEST

DG_UNIT(addresses_are_counted_as_customers_have_them, the_longest_id_fits)
