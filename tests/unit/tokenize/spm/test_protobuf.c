/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The protobuf reader: every wire type, and every way in which a field can state something
 * false. */
#include "tokenize/spm/protobuf.h"

#include "unit.h"

static struct dg_protobuf reader(const char *bytes, size_t len)
{
    struct dg_protobuf wire;
    dg_protobuf_init(&wire, (const uint8_t *)bytes, len, 100);
    return wire;
}

START_TEST(reads_each_wire_type)
{
    struct dg_protobuf wire = reader("\x08\x96\x01"
                                     "\x12\x02hi"
                                     "\x1D\x00\x00\x80\x3F"
                                     "\x21\1\0\0\0\0\0\0\0",
                                     21);
    struct dg_protobuf_field field;
    ck_assert_int_eq(dg_protobuf_next(&wire, NULL, &field), DG_OK);
    ck_assert_uint_eq(field.number, 1);
    ck_assert_uint_eq(field.varint, 150);
    ck_assert_int_eq(dg_protobuf_next(&wire, NULL, &field), DG_OK);
    ck_assert_uint_eq(field.number, 2);
    ck_assert_uint_eq(field.len, 2);
    ck_assert_mem_eq(field.bytes, "hi", 2);
    ck_assert_uint_eq(field.offset, 105);
    ck_assert_int_eq(dg_protobuf_next(&wire, NULL, &field), DG_OK);
    ck_assert_uint_eq(field.varint, 0x3F800000);
    ck_assert_int_eq(dg_protobuf_next(&wire, NULL, &field), DG_OK);
    ck_assert_int_eq(field.type, DG_PROTOBUF_FIXED64);
    ck_assert_uint_eq(field.varint, 1);
    ck_assert_int_eq(dg_protobuf_next(&wire, NULL, &field), DG_OK);
    ck_assert_uint_eq(field.number, 0);
}
END_TEST

START_TEST(reads_negative_numbers)
{
    struct dg_protobuf wire = reader("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 11);
    struct dg_protobuf_field field;
    ck_assert_int_eq(dg_protobuf_next(&wire, NULL, &field), DG_OK);
    ck_assert_int_eq((int64_t)field.varint, -1);
}
END_TEST

static void check_refused(const char *bytes, size_t len, enum dg_err expected, const char *words)
{
    struct dg_protobuf wire = reader(bytes, len);
    struct dg_protobuf_field field = {.number = 77};
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_protobuf_next(&wire, &error, &field), expected);
    ck_assert_uint_eq(field.number, 77);
    ck_assert_msg(strstr(error.text, words) != NULL, "\"%s\" does not say \"%s\"", error.text,
                  words);
}

START_TEST(refuses_with_a_sentence)
{
    check_refused("\x80", 1, DG_ERR_TRUNCATED, "key of the field at byte 100");
    check_refused("\x00", 1, DG_ERR_FORMAT, "number 0");
    check_refused("\x0B", 1, DG_ERR_FORMAT, "field 1 at byte 101 has wire type 3");
    check_refused("\x12\x05hi", 4, DG_ERR_TRUNCATED, "says it has 5 bytes, only 2 are left");
    check_refused("\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 11, DG_ERR_TRUNCATED,
                  "only 0 are left");
    check_refused("\x1D\x00\x00", 3, DG_ERR_TRUNCATED, "field 3");
    check_refused("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", 11, DG_ERR_TRUNCATED, "field 1");
    check_refused("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x81\x00", 12, DG_ERR_TRUNCATED,
                  "field 1");
}
END_TEST

DG_UNIT(reads_each_wire_type, reads_negative_numbers, refuses_with_a_sentence)
