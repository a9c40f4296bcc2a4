/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Each member is a header followed by its bytes, and the directory follows the last member. Nothing
 * is compressed. */
#include "archive/zip_new.h"

#include <string.h>
#include <zlib.h>

enum {
    VERSION = 20,
    UTF8_NAMES = 1 << 11,
    DATE = 1 << 5 | 1, /* the first day of 1980, the earliest date of the format */
};

static void put(struct dg_zip_new *zip, uint32_t value, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes && !zip->err; i++)
        zip->err = dg_buf_append_byte(zip->out, (char)(value >> 8 * i & 0xFF));
}

/* The fields that a member's header and its entry in the directory have in common. */
static void put_facts(struct dg_zip_new *zip, const struct dg_zip_new_member *member)
{
    put(zip, VERSION, 2);
    put(zip, UTF8_NAMES, 2);
    put(zip, 0, 2); /* stored */
    put(zip, 0, 2);
    put(zip, DATE, 2);
    put(zip, member->crc, 4);
    put(zip, member->len, 4);
    put(zip, member->len, 4);
    put(zip, (uint32_t)strlen(member->name), 2);
    put(zip, 0, 2);
}

void dg_zip_new_init(struct dg_zip_new *zip, struct dg_buf *out)
{
    *zip = (struct dg_zip_new){.out = out, .begin = out->len};
}

void dg_zip_new_add(struct dg_zip_new *zip, const char *name, struct dg_span bytes)
{
    const size_t at = zip->out->len - zip->begin;
    if (!zip->err && (zip->n == DG_ZIP_NEW_MEMBERS || bytes.len > INT32_MAX || at > INT32_MAX))
        zip->err = DG_ERR_LIMIT;
    if (zip->err)
        return;
    struct dg_zip_new_member *member = &zip->members[zip->n++];
    *member = (struct dg_zip_new_member){
        .name = name,
        .at = (uint32_t)at,
        .len = (uint32_t)bytes.len,
        .crc = (uint32_t)crc32(0, (const Bytef *)bytes.ptr, (uInt)bytes.len)};
    put(zip, 0x04034B50, 4);
    put_facts(zip, member);
    if (!zip->err)
        zip->err = dg_buf_append_cstr(zip->out, name);
    if (!zip->err)
        zip->err = dg_buf_append_span(zip->out, bytes);
}

enum dg_err dg_zip_new_end(struct dg_zip_new *zip)
{
    const size_t at = zip->out->len - zip->begin;
    for (size_t i = 0; i < zip->n; i++) {
        put(zip, 0x02014B50, 4);
        put(zip, VERSION, 2);
        put_facts(zip, &zip->members[i]);
        put(zip, 0, 2); /* no comment, one disk, attributes */
        put(zip, 0, 4);
        put(zip, 0, 4);
        put(zip, zip->members[i].at, 4);
        if (!zip->err)
            zip->err = dg_buf_append_cstr(zip->out, zip->members[i].name);
    }
    const size_t len = zip->out->len - zip->begin - at;
    put(zip, 0x06054B50, 4);
    put(zip, 0, 4);
    put(zip, (uint32_t)zip->n, 2);
    put(zip, (uint32_t)zip->n, 2);
    put(zip, (uint32_t)len, 4);
    put(zip, (uint32_t)at, 4);
    put(zip, 0, 2);
    return zip->err;
}
