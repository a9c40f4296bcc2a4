/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/option/addr.h"
#include "unit.h"

static void check_round_trip(const char *text, const char *expected)
{
    struct dg_addr addr;
    char out[DG_ADDR_TEXT_CAP];
    ck_assert_msg(dg_addr_parse(dg_span_cstr(text), &addr) == DG_OK, "%s was refused", text);
    dg_addr_format(&addr, out);
    ck_assert_str_eq(out, expected);
}

START_TEST(reads_and_writes_the_forms_people_use)
{
    check_round_trip("127.0.0.1:8090", "127.0.0.1:8090");
    check_round_trip("localhost:0", "127.0.0.1:0");
    check_round_trip("[::1]:65535", "[::1]:65535");
    check_round_trip("[::]:80", "[::]:80");
    check_round_trip("unix:/run/dragoman/socket", "unix:/run/dragoman/socket");
    check_round_trip("unix:a:b", "unix:a:b");
}
END_TEST

START_TEST(refuses_everything_else_and_says_which_part_is_wrong)
{
    static const char *const bad[][2] = {
        {"", "the port is missing"},
        {":", "the port is missing"},
        {"127.0.0.1", "the port is missing"},
        {"127.0.0.1:", "the port is missing"},
        {"127.0.0.1:65536", "the port is larger"},
        {"127.0.0.1:-1", "the port is not a number"},
        {"1.2.3:80", "the host is neither"},
        {"::1:80", "needs brackets"},
        {"[::1]", "the port is missing"},
        {"[127.0.0.1]:1", "between the brackets"},
        {"example.org:80", "names are not looked up"},
        {"unix:", "the path after"},
        {"[::1:80", "needs brackets"},
        {"8090", "the port is missing"},
        {":8090", "the host before the port is missing"},
        {"[]:1", "the host before the port is missing"},
        {"127.0.0.1:8090 ", "the port is not a number"},
        {"127.0.0.1:000080", "the port is larger than 65535 or too long"},
        {" 1.2.3.4:1", "the host is neither"},
        {"1.2.3.4:1a", "the port is not a number"}};
    struct dg_addr addr;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *fault = dg_addr_fault(dg_span_cstr(bad[i][0]));
        ck_assert_msg(dg_addr_parse(dg_span_cstr(bad[i][0]), &addr) == DG_ERR_INVALID, "%s",
                      bad[i][0]);
        ck_assert_msg(fault && strstr(fault, bad[i][1]), "%s: %s", bad[i][0], fault);
    }
    ck_assert_ptr_null(dg_addr_fault(DG_SPAN("localhost:0")));
    ck_assert_int_eq(dg_addr_parse(DG_SPAN("1.2.3.4\0:80"), &addr), DG_ERR_INVALID);
    ck_assert_int_eq(dg_addr_parse(DG_SPAN("unix:/a\0b"), &addr), DG_ERR_INVALID);
}
END_TEST

START_TEST(knows_how_long_a_socket_path_may_be)
{
    char path[5 + 108 + 1] = "unix:";
    memset(path + 5, 'x', 108);
    struct dg_addr addr;
    ck_assert_int_eq(dg_addr_parse(dg_span_make(path, 5 + 107), &addr), DG_OK);
    ck_assert(dg_addr_is_unix(&addr));
    ck_assert_int_eq(dg_addr_parse(dg_span_make(path, 5 + 108), &addr), DG_ERR_INVALID);
}
END_TEST

DG_UNIT(reads_and_writes_the_forms_people_use, refuses_everything_else_and_says_which_part_is_wrong,
        knows_how_long_a_socket_path_may_be)
