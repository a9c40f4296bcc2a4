/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads Protocol Buffers' wire format: a flat sequence of fields, each a key (number and wire type)
 * followed by its value. It borrows the bytes, allocates nothing and never reads past them.
 *
 *     struct dg_protobuf wire;
 *     struct dg_protobuf_field field;
 *     dg_protobuf_init(&wire, bytes, len, 0);
 *     while ((err = dg_protobuf_next(&wire, error, &field)) == DG_OK && field.number != 0)
 *         if (field.number == 3 && field.type == DG_PROTOBUF_VARINT)
 *             model_type = field.varint;
 *
 * The end of the bytes is field number 0. Unknown fields are skipped by ignoring them. */
#ifndef DG_TOKENIZE_SPM_PROTOBUF_H
#define DG_TOKENIZE_SPM_PROTOBUF_H

#include "base/memory/error.h"

#include <stddef.h>
#include <stdint.h>

enum dg_protobuf_type {
    DG_PROTOBUF_VARINT = 0,
    DG_PROTOBUF_FIXED64 = 1,
    DG_PROTOBUF_BYTES = 2,
    DG_PROTOBUF_FIXED32 = 5,
};

struct dg_protobuf {
    const uint8_t *bytes; /* borrowed */
    size_t len;
    size_t at;     /* the next byte to read */
    size_t offset; /* where `bytes` begins in the file, for messages */
};

struct dg_protobuf_field {
    uint32_t number; /* 0: the end was reached */
    enum dg_protobuf_type type;
    uint64_t varint;      /* the value of a VARINT, FIXED32 or FIXED64 */
    const uint8_t *bytes; /* the value of BYTES, borrowed */
    size_t len;
    size_t offset; /* where the value lies in the file */
};

void dg_protobuf_init(struct dg_protobuf *wire, const uint8_t *bytes, size_t len, size_t offset);

/* Reads one field. DG_ERR_TRUNCATED when it reaches past the end, DG_ERR_FORMAT when it is not a
 * field; the error message names the field number and the byte. */
enum dg_err dg_protobuf_next(struct dg_protobuf *wire, struct dg_error *error,
                             struct dg_protobuf_field *field) DG_MUST_CHECK;

/* A reader over the value of a BYTES field, for nested messages. */
struct dg_protobuf dg_protobuf_nested(const struct dg_protobuf_field *field);

#endif
