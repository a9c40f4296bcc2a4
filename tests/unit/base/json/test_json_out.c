/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/json/json.h"
#include "base/json/json_out.h"
#include "base/memory/utf8.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>

static struct dg_buf buf;
static struct dg_json_out out;

static void begin(size_t max)
{
    dg_buf_init(&buf, max);
    dg_json_out_init(&out, &buf);
}

static void expect(const char *text)
{
    ck_assert_int_eq(dg_json_out_end(&out), DG_OK);
    ck_assert_str_eq(buf.ptr, text);
    dg_buf_deinit(&buf);
}

START_TEST(puts_commas_where_they_belong)
{
    begin(1000);
    dg_json_out_open(&out, '{');
    dg_json_out_key(&out, "a");
    dg_json_out_open(&out, '[');
    dg_json_out_int(&out, INT64_MIN);
    dg_json_out_uint(&out, UINT64_MAX);
    dg_json_out_open(&out, '{');
    dg_json_out_close(&out, '}');
    dg_json_out_open(&out, '[');
    dg_json_out_close(&out, ']');
    dg_json_out_null(&out);
    dg_json_out_close(&out, ']');
    dg_json_out_key_span(&out, DG_SPAN("b\"\0"));
    dg_json_out_bool(&out, true);
    dg_json_out_key(&out, "c");
    dg_json_out_cstr(&out, NULL);
    dg_json_out_key(&out, "d");
    dg_json_out_raw(&out, DG_SPAN("{\"x\":1}"));
    dg_json_out_close(&out, '}');
    expect("{\"a\":[-9223372036854775808,18446744073709551615,{},[],null],\"b\\\"\\u0000\":true,"
           "\"c\":null,\"d\":{\"x\":1}}");
}
END_TEST

START_TEST(puts_a_key_and_its_value_in_one)
{
    begin(1000);
    dg_json_out_open(&out, '{');
    dg_json_out_put_open(&out, "a", '[');
    dg_json_out_close(&out, ']');
    dg_json_out_put_string(&out, "b", DG_SPAN("x"));
    dg_json_out_put_cstr(&out, "c", NULL);
    dg_json_out_put_int(&out, "d", -1);
    dg_json_out_put_uint(&out, "e", UINT64_MAX);
    dg_json_out_put_real(&out, "f", 0.5, 3);
    dg_json_out_put_bool(&out, "g", false);
    dg_json_out_close(&out, '}');
    expect("{\"a\":[],\"b\":\"x\",\"c\":null,\"d\":-1,\"e\":18446744073709551615,\"f\":0.5,\"g\":"
           "false}");
}
END_TEST

START_TEST(writes_a_lone_value)
{
    begin(100);
    dg_json_out_cstr(&out, "x/y");
    expect("\"x/y\"");
}
END_TEST

START_TEST(replaces_bytes_that_are_not_utf8)
{
    begin(1000);
    dg_json_out_string(&out, DG_SPAN("a\xFF"
                                     "b\xE2\x82"
                                     "c\xED\xA0\x80\xC3\xA9"));
    expect("\"a\xEF\xBF\xBD"
           "b\xEF\xBF\xBD\xEF\xBF\xBD"
           "c\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xC3\xA9\"");
}
END_TEST

/* Whatever bytes go in, valid JSON comes out, and valid UTF-8 comes back unchanged. */
START_TEST(survives_random_bytes)
{
    uint64_t rng = 7;
    const struct dg_json_limits limits = DG_JSON_LIMITS_DEFAULT;
    for (int round = 0; round < 20000; round++) {
        char bytes[24];
        size_t len = 0;
        for (size_t want = (size_t)round % 20; len < want;) {
            rng = rng * 6364136223846793005u + 1442695040888963407u;
            uint32_t r = (uint32_t)(rng >> 33);
            if (r & 1)
                bytes[len++] = (char)(r >> 8);
            else
                len += dg_utf8_encode((r >> 8) % (r & 2 ? 0x800 : 0x80), bytes + len);
        }
        struct dg_span text = dg_span_make(bytes, len);
        begin(1000);
        dg_json_out_string(&out, text);
        ck_assert_int_eq(dg_json_out_end(&out), DG_OK);
        struct dg_json *json = NULL;
        ck_assert_int_eq(dg_json_parse(dg_buf_span(&buf), &limits, NULL, &json), DG_OK);
        struct dg_span back = {0};
        ck_assert_int_eq(dg_json_string(json, DG_SPAN("x"), NULL, &back), DG_OK);
        ck_assert(dg_utf8_valid(back, NULL));
        if (dg_utf8_valid(text, NULL))
            ck_assert(dg_span_eq(back, text));
        dg_json_free(json);
        dg_buf_deinit(&buf);
    }
}
END_TEST

START_TEST(writes_reals_that_read_back)
{
    static const double values[] = {0,    0.1, 1.0 / 3, 1e300, -2.5e-300, 5e-324, 123456789.125,
                                    1e22, 2,   -0.25,   -0.0};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        begin(100);
        dg_json_out_real(&out, values[i], 0);
        ck_assert_int_eq(dg_json_out_end(&out), DG_OK);
        ck_assert(memcmp(&(double){strtod(buf.ptr, NULL)}, &values[i], sizeof(double)) == 0);
        dg_buf_deinit(&buf);
    }
    begin(1000);
    dg_json_out_open(&out, '[');
    dg_json_out_real(&out, 0.1, 0);
    dg_json_out_real(&out, 2.0 / 3, 4);
    dg_json_out_real(&out, (double)NAN, 4);
    dg_json_out_real(&out, (double)-INFINITY, 0);
    dg_json_out_close(&out, ']');
    expect("[0.1,0.6667,null,null]");
}
END_TEST

START_TEST(keeps_the_first_failure_and_leaves_the_buffer_as_it_was)
{
    for (size_t max = 2; max < 40; max++) {
        dg_buf_init(&buf, max);
        ck_assert_int_eq(dg_buf_append_cstr(&buf, "ab"), DG_OK);
        dg_json_out_init(&out, &buf);
        dg_json_out_open(&out, '{');
        dg_json_out_key(&out, "key");
        dg_json_out_string(&out, DG_SPAN("a \"long\" value\n"));
        dg_json_out_key(&out, "n");
        dg_json_out_int(&out, 1);
        dg_json_out_close(&out, '}');
        const char *whole = "ab{\"key\":\"a \\\"long\\\" value\\n\",\"n\":1}";
        bool fits = max >= strlen(whole);
        ck_assert_int_eq(dg_json_out_end(&out), fits ? DG_OK : DG_ERR_LIMIT);
        ck_assert_str_eq(buf.ptr, fits ? whole : "ab");
        dg_buf_deinit(&buf);
    }
}
END_TEST

DG_UNIT(puts_commas_where_they_belong, puts_a_key_and_its_value_in_one, writes_a_lone_value,
        replaces_bytes_that_are_not_utf8, survives_random_bytes, writes_reals_that_read_back,
        keeps_the_first_failure_and_leaves_the_buffer_as_it_was)
