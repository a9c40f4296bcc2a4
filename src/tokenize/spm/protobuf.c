/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The wire format: key = number << 3 | type, both in one varint; a varint is little-endian groups
 * of seven bits, the top bit says that another byte follows, ten bytes at most. Groups (types 3 and
 * 4) are long obsolete and are refused. */
#include "tokenize/spm/protobuf.h"

#include <stdbool.h>

void dg_protobuf_init(struct dg_protobuf *wire, const uint8_t *bytes, size_t len, size_t offset)
{
    *wire = (struct dg_protobuf){.bytes = bytes, .len = len, .offset = offset};
}

static bool read_varint(struct dg_protobuf *wire, uint64_t *value)
{
    uint64_t sum = 0;
    for (unsigned shift = 0; shift < 70 && wire->at < wire->len; shift += 7) {
        uint8_t byte = wire->bytes[wire->at++];
        if (shift == 63 && byte > 1)
            return false;
        sum |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80)) {
            *value = sum;
            return true;
        }
    }
    return false;
}

static bool read_fixed(struct dg_protobuf *wire, unsigned n_bytes, uint64_t *value)
{
    if (wire->len - wire->at < n_bytes)
        return false;
    *value = 0;
    for (unsigned i = 0; i < n_bytes; i++)
        *value |= (uint64_t)wire->bytes[wire->at++] << (8 * i);
    return true;
}

static enum dg_err read_value(struct dg_protobuf *wire, struct dg_error *error,
                              struct dg_protobuf_field *field)
{
    uint64_t len = 0;
    bool ok = false;
    if (field->type == DG_PROTOBUF_VARINT)
        ok = read_varint(wire, &field->varint);
    else if (field->type == DG_PROTOBUF_FIXED64)
        ok = read_fixed(wire, 8, &field->varint);
    else if (field->type == DG_PROTOBUF_FIXED32)
        ok = read_fixed(wire, 4, &field->varint);
    else if (field->type == DG_PROTOBUF_BYTES)
        ok = read_varint(wire, &len);
    else
        return dg_error_set(error, DG_ERR_FORMAT,
                            "field %u at byte %zu has wire type %d, expected 0, 1, 2 or 5",
                            field->number, wire->offset + wire->at, (int)field->type);
    if (!ok)
        return dg_error_set(error, DG_ERR_TRUNCATED,
                            "field %u at byte %zu ends too early or is no number", field->number,
                            wire->offset + wire->at);
    field->offset = wire->offset + wire->at;
    if (len > wire->len - wire->at)
        return dg_error_set(error, DG_ERR_TRUNCATED,
                            "field %u at byte %zu says it has %llu bytes, only %zu are left",
                            field->number, field->offset, (unsigned long long)len,
                            wire->len - wire->at);
    field->bytes = wire->bytes + wire->at;
    field->len = (size_t)len;
    wire->at += (size_t)len;
    return DG_OK;
}

enum dg_err dg_protobuf_next(struct dg_protobuf *wire, struct dg_error *error,
                             struct dg_protobuf_field *field)
{
    struct dg_protobuf_field read = {0};
    if (wire->at < wire->len) {
        size_t start = wire->offset + wire->at;
        uint64_t key;
        if (!read_varint(wire, &key))
            return dg_error_set(error, DG_ERR_TRUNCATED,
                                "the key of the field at byte %zu ends too early", start);
        if (key >> 3 == 0 || key >> 3 > (1u << 29) - 1)
            return dg_error_set(error, DG_ERR_FORMAT,
                                "the field at byte %zu has number %llu, expected 1 to %u", start,
                                (unsigned long long)(key >> 3), (1u << 29) - 1);
        read.number = (uint32_t)(key >> 3);
        read.type = (enum dg_protobuf_type)(key & 7);
        enum dg_err err = read_value(wire, error, &read);
        if (err)
            return err;
    }
    *field = read;
    return DG_OK;
}

struct dg_protobuf dg_protobuf_nested(const struct dg_protobuf_field *field)
{
    return (struct dg_protobuf){.bytes = field->bytes, .len = field->len, .offset = field->offset};
}
