/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* End record, ZIP64 end record, central directory, local headers: read in this order, each field by
 * its offset in the APPNOTE's tables. Sorting the members by position reveals overlaps, and sorting
 * them by name reveals duplicates. */
#include "archive/zip_in.h"
#include "base/file/lfs.h"
#include "base/file/tmp_file.h"
#include "base/memory/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

enum {
    MEMBERS_MAX = 65000,
    ARENA_MAX = 32 << 20,
    NAME_MAX_BYTES = 1024,
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    CENTRAL_BYTES = 46,
    LOCAL_BYTES = 30,
    COMMENT_MAX = 65535,
    SPILT_FROM = 1 << 20,
    PART_BYTES = 256 << 10,
    KEPT_BYTES = 16 << 20, /* of an archive while it is read */
};

struct reading {
    struct dg_zip *zip;
    const uint8_t *bytes;
    size_t len;
    struct dg_error *error;
};

static uint64_t uint_at(const uint8_t *bytes, size_t at, size_t n)
{
    uint64_t value = 0;
    for (size_t i = n; i > 0; i--)
        value = value << 8 | bytes[at + i - 1];
    return value;
}

static enum dg_err refuse(const struct reading *r, enum dg_err err, size_t offset, const char *what)
{
    return dg_error_set(r->error, err, "%s: offset %zu: %s", r->zip->name, offset, what);
}

/* ---- The end --------------------------------------------------------------------------------- */

struct directory {
    size_t offset, len, n_members, end;
    bool is_zip64;
};

static enum dg_err find_end(const struct reading *r, size_t *end)
{
    if (r->len < END_BYTES)
        return refuse(r, DG_ERR_TRUNCATED, 0, "too short for a ZIP file");
    size_t lowest = r->len - END_BYTES > COMMENT_MAX ? r->len - END_BYTES - COMMENT_MAX : 0;
    for (size_t at = r->len - END_BYTES + 1; at > lowest; at--) {
        const uint8_t *end_record = r->bytes + at - 1;
        if (memcmp(end_record, "PK\5\6", 4) == 0 &&
            uint_at(end_record, 20, 2) == r->len - (at - 1) - END_BYTES) {
            *end = at - 1;
            return DG_OK;
        }
    }
    return refuse(r, DG_ERR_TRUNCATED, lowest,
                  "no end of central directory from here on; the file is cut off or is no ZIP");
}

static enum dg_err read_end64(const struct reading *r, size_t end, struct directory *directory)
{
    if (end < LOCATOR_BYTES || memcmp(r->bytes + end - LOCATOR_BYTES, "PK\6\7", 4) != 0)
        return refuse(r, DG_ERR_FORMAT, end, "a ZIP64 file without its ZIP64 locator");
    size_t locator = end - LOCATOR_BYTES;
    uint64_t at = uint_at(r->bytes, locator + 8, 8);
    if (locator < END64_BYTES || at > locator - END64_BYTES)
        return refuse(r, DG_ERR_FORMAT, locator + 8, "the ZIP64 end record lies outside the file");
    const uint8_t *record = r->bytes + at;
    if (memcmp(record, "PK\6\6", 4) != 0)
        return refuse(r, DG_ERR_FORMAT, (size_t)at, "no ZIP64 end record where one should be");
    uint64_t n = uint_at(record, 32, 8), len = uint_at(record, 40, 8),
             offset = uint_at(record, 48, 8);
    if (offset > at || len > at - offset)
        return refuse(r, DG_ERR_FORMAT, (size_t)at + 40,
                      "the central directory lies outside the file");
    if (n > MEMBERS_MAX)
        return refuse(r, DG_ERR_LIMIT, (size_t)at + 32, "too many members");
    *directory = (struct directory){(size_t)offset, (size_t)len, (size_t)n, end, true};
    return DG_OK;
}

static enum dg_err read_end(const struct reading *r, struct directory *directory)
{
    size_t end = 0;
    enum dg_err err = find_end(r, &end);
    if (err)
        return err;
    uint64_t disk = uint_at(r->bytes, end + 4, 2), n = uint_at(r->bytes, end + 10, 2);
    uint64_t len = uint_at(r->bytes, end + 12, 4), offset = uint_at(r->bytes, end + 16, 4);
    if (n == 0xffff || len == 0xffffffff || offset == 0xffffffff || disk == 0xffff)
        return read_end64(r, end, directory);
    if (disk != 0 || uint_at(r->bytes, end + 6, 2) != 0 || uint_at(r->bytes, end + 8, 2) != n)
        return refuse(r, DG_ERR_UNSUPPORTED, end + 4, "a ZIP archive in several parts");
    if (n > MEMBERS_MAX)
        return refuse(r, DG_ERR_LIMIT, end + 10, "too many members");
    if (offset > end || len > end - offset)
        return refuse(r, DG_ERR_FORMAT, end + 12, "the central directory lies outside the file");
    *directory = (struct directory){(size_t)offset, (size_t)len, (size_t)n, end, false};
    return DG_OK;
}

/* ---- Members --------------------------------------------------------------------------------- */

static bool climbs(struct dg_span name)
{
    if (name.ptr[0] == '/' || memchr(name.ptr, '\\', name.len) ||
        (name.len > 1 && name.ptr[1] == ':'))
        return true;
    for (size_t start = 0; start <= name.len;) {
        const char *slash = memchr(name.ptr + start, '/', name.len - start);
        size_t end = slash ? (size_t)(slash - name.ptr) : name.len;
        if (dg_span_eq(dg_span_sub(name, start, end - start), DG_SPAN("..")))
            return true;
        start = end + 1;
    }
    return false;
}

/* The sizes and the offset of a ZIP64 member are in an extra field, which holds only those whose
 * ordinary fields are all ones. */
static enum dg_err read_extra64(const struct reading *r, size_t extra, size_t extra_len,
                                uint64_t *values[3], const bool wanted[3])
{
    for (size_t at = extra; at + 4 <= extra + extra_len;) {
        size_t id = (size_t)uint_at(r->bytes, at, 2), len = (size_t)uint_at(r->bytes, at + 2, 2);
        if (len > extra + extra_len - at - 4)
            return refuse(r, DG_ERR_FORMAT, at + 2, "an extra field longer than its room");
        if (id != 1) {
            at += 4 + len;
            continue;
        }
        size_t pos = 0;
        for (int i = 0; i < 3; i++) {
            if (!wanted[i])
                continue;
            if (len - pos < 8)
                return refuse(r, DG_ERR_FORMAT, at + 2, "a ZIP64 field without its numbers");
            *values[i] = uint_at(r->bytes, at + 4 + pos, 8);
            pos += 8;
        }
        return DG_OK;
    }
    return refuse(r, DG_ERR_FORMAT, extra, "a ZIP64 member without its ZIP64 field");
}

/* The local header says where the data begins. */
static enum dg_err locate(const struct reading *r, uint64_t local, struct dg_span name,
                          uint64_t packed_len, struct dg_zip_member *member)
{
    if (local > r->len || r->len - local < LOCAL_BYTES)
        return refuse(r, DG_ERR_TRUNCATED, (size_t)(local > r->len ? r->len : local),
                      "a member's local header lies outside the file");
    size_t at = (size_t)local;
    const uint8_t *header = r->bytes + at;
    if (memcmp(header, "PK\3\4", 4) != 0)
        return refuse(r, DG_ERR_FORMAT, at, "no local header where the directory says one is");
    size_t name_len = (size_t)uint_at(header, 26, 2), extra_len = (size_t)uint_at(header, 28, 2);
    size_t left = r->len - at - LOCAL_BYTES;
    if (name_len > left || extra_len > left - name_len)
        return refuse(r, DG_ERR_TRUNCATED, at + 26, "a local header runs past the end of the file");
    if (!dg_span_eq(name, dg_span_make((const char *)header + LOCAL_BYTES, name_len)))
        return refuse(r, DG_ERR_FORMAT, at + LOCAL_BYTES,
                      "the local header has another name than the directory");
    if ((uint_at(header, 8, 2) == 8) != member->deflated)
        return refuse(r, DG_ERR_FORMAT, at + 8,
                      "the local header has another method than the directory");
    left -= name_len + extra_len;
    if (packed_len > left)
        return refuse(r, DG_ERR_TRUNCATED, at + 18, "a member's data run past the end of the file");
    member->offset = at + LOCAL_BYTES + name_len + extra_len;
    return DG_OK;
}

static enum dg_err read_name(const struct reading *r, size_t at, size_t name_len,
                             struct dg_span *name)
{
    *name = dg_span_make((const char *)r->bytes + at, name_len);
    if (name_len == 0 || name_len > NAME_MAX_BYTES || memchr(name->ptr, '\0', name_len))
        return refuse(r, DG_ERR_FORMAT, at, "a member's name is empty, too long or holds a NUL");
    if (climbs(*name))
        return dg_error_set(
            r->error, DG_ERR_DENIED,
            "%s: offset %zu: the member name '%.*s' climbs out of the archive; refused",
            r->zip->name, at, DG_SPAN_FMT(*name));
    return DG_OK;
}

/* One row of the central directory at `at`; *next is after it. */
static enum dg_err read_member(const struct reading *r, size_t at, size_t end, size_t *next,
                               struct dg_zip_member *member)
{
    if (end - at < CENTRAL_BYTES || memcmp(r->bytes + at, "PK\1\2", 4) != 0)
        return refuse(r, DG_ERR_FORMAT, at, "no row of the central directory where one should be");
    const uint8_t *row = r->bytes + at;
    size_t name_len = (size_t)uint_at(row, 28, 2), extra_len = (size_t)uint_at(row, 30, 2);
    size_t comment_len = (size_t)uint_at(row, 32, 2);
    if (name_len + extra_len + comment_len > end - at - CENTRAL_BYTES)
        return refuse(r, DG_ERR_FORMAT, at + 28, "a row runs past the central directory");
    *next = at + CENTRAL_BYTES + name_len + extra_len + comment_len;
    struct dg_span name;
    enum dg_err err = read_name(r, at + CENTRAL_BYTES, name_len, &name);
    if (err)
        return err;
    uint64_t method = uint_at(row, 10, 2);
    if (uint_at(row, 8, 2) & 1)
        return refuse(r, DG_ERR_UNSUPPORTED, at + 8, "an encrypted member");
    if (method != 0 && method != 8)
        return refuse(r, DG_ERR_UNSUPPORTED, at + 10,
                      "a member's method is neither stored nor deflate");
    uint64_t packed = uint_at(row, 20, 4), len = uint_at(row, 24, 4), local = uint_at(row, 42, 4);
    const bool wanted[3] = {len == 0xffffffff, packed == 0xffffffff, local == 0xffffffff};
    uint64_t *values[3] = {&len, &packed, &local};
    if (wanted[0] || wanted[1] || wanted[2])
        err = read_extra64(r, at + CENTRAL_BYTES + name_len, extra_len, values, wanted);
    if (err)
        return err;
    if (len > SIZE_MAX / 2 || (method == 0 && packed != len))
        return refuse(r, DG_ERR_FORMAT, at + 24, "a stored member has two different sizes");
    struct dg_span kept = dg_arena_copy(&r->zip->arena, name);
    if (!kept.ptr)
        return DG_ERR_NOMEM;
    *member = (struct dg_zip_member){.name = kept.ptr,
                                     .deflated = method == 8,
                                     .crc = (uint32_t)uint_at(row, 16, 4),
                                     .packed_len = (size_t)packed,
                                     .len = (size_t)len,
                                     .header = (size_t)local,
                                     .row = at};
    r->zip->is_zip64 |= wanted[0] || wanted[1] || wanted[2];
    return locate(r, local, name, packed, member);
}

static int by_offset(const void *a, const void *b)
{
    const struct dg_zip_member *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int by_name(const void *a, const void *b)
{
    const struct dg_zip_member *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static enum dg_err check_all(const struct reading *r)
{
    struct dg_zip *zip = r->zip;
    qsort(zip->members, zip->n_members, sizeof *zip->members, by_offset);
    for (size_t i = 1; i < zip->n_members; i++)
        if (zip->members[i].offset - zip->members[i - 1].offset < zip->members[i - 1].packed_len)
            return refuse(r, DG_ERR_FORMAT, zip->members[i].offset,
                          "two members share these bytes");
    qsort(zip->members, zip->n_members, sizeof *zip->members, by_name);
    for (size_t i = 1; i < zip->n_members; i++)
        if (strcmp(zip->members[i].name, zip->members[i - 1].name) == 0)
            return refuse(r, DG_ERR_FORMAT, zip->members[i].offset, "two members have one name");
    return DG_OK;
}

static enum dg_err read_all(struct reading *r)
{
    struct directory directory = {0};
    enum dg_err err = read_end(r, &directory);
    if (err)
        return err;
    if (directory.n_members > directory.len / CENTRAL_BYTES)
        return refuse(r, DG_ERR_FORMAT, directory.offset,
                      "the central directory is too short for its members");
    struct dg_zip *zip = r->zip;
    zip->directory = directory.offset;
    zip->end = directory.end;
    zip->is_zip64 = directory.is_zip64;
    zip->members = dg_arena_calloc(&zip->arena, directory.n_members + 1, sizeof *zip->members);
    if (!zip->members)
        return DG_ERR_NOMEM;
    size_t at = directory.offset, end = directory.offset + directory.len;
    for (size_t i = 0; i < directory.n_members && !err; i++) {
        err = read_member(r, at, end, &at, &zip->members[i]);
        zip->n_members += !err;
    }
    return err ? err : check_all(r);
}

/* ---- Opening --------------------------------------------------------------------------------- */

bool dg_zip_is(const uint8_t *bytes, size_t len)
{
    return len >= 4 && memcmp(bytes, "PK\3\4", 4) == 0;
}

static enum dg_err parse(struct dg_zip *zip, const char *name, struct dg_error *error)
{
    dg_arena_init(&zip->arena, ARENA_MAX);
    struct dg_span kept = dg_arena_copy(&zip->arena, dg_span_cstr(name));
    if (!kept.ptr)
        return DG_ERR_NOMEM;
    zip->name = kept.ptr;
    if (dg_lfs_is_pointer(zip->file.bytes, zip->file.len))
        return dg_lfs_refuse(name, error);
    struct reading r = {zip, zip->file.bytes, zip->file.len, error};
    return read_all(&r);
}

enum dg_err dg_zip_parse(struct dg_zip *zip, const uint8_t *bytes, size_t len, const char *name,
                         struct dg_error *error)
{
    struct dg_zip parsed = {.file = {bytes, len}, .borrowed = true};
    enum dg_err err = parse(&parsed, name, error);
    if (err)
        dg_zip_close(&parsed);
    else
        *zip = parsed;
    return err;
}

enum dg_err dg_zip_open(struct dg_zip *zip, const char *path, struct dg_error *error)
{
    struct dg_zip parsed = {0};
    enum dg_err err = dg_map_file_open(&parsed.file, path, SIZE_MAX / 2, error);
    if (err)
        return err;
    err = parse(&parsed, path, error);
    if (err)
        dg_zip_close(&parsed);
    else
        *zip = parsed;
    return err;
}

void dg_zip_close(struct dg_zip *zip)
{
    if (!zip->borrowed && zip->file.bytes)
        dg_map_file_close(&zip->file);
    dg_arena_deinit(&zip->arena);
    *zip = (struct dg_zip){0};
}

const struct dg_zip_member *dg_zip_find(const struct dg_zip *zip, const char *name)
{
    const struct dg_zip_member key = {.name = name};
    if (!zip->n_members)
        return NULL;
    return bsearch(&key, zip->members, zip->n_members, sizeof key, by_name);
}

/* ---- Data ------------------------------------------------------------------------------------ */

static bool inflate_whole(const uint8_t *packed, size_t packed_len, uint8_t *out, size_t len)
{
    z_stream stream = {0};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return false;
    int result = Z_OK;
    while (result == Z_OK) { /* zlib counts in 32 bits */
        size_t in = packed_len < 1u << 30 ? packed_len : 1u << 30;
        size_t room = len < 1u << 30 ? len : 1u << 30;
        stream.next_in = (Bytef *)(uintptr_t)packed;
        stream.avail_in = (uInt)in;
        stream.next_out = out;
        stream.avail_out = (uInt)room;
        result = inflate(&stream, Z_NO_FLUSH);
        size_t used = in - stream.avail_in, made = room - stream.avail_out;
        packed += used;
        packed_len -= used;
        out += made;
        len -= made;
        if (used == 0 && made == 0 && result == Z_OK)
            result = Z_BUF_ERROR;
    }
    inflateEnd(&stream);
    return result == Z_STREAM_END && len == 0 && packed_len == 0;
}

static uint32_t crc_of(const uint8_t *bytes, size_t len)
{
    return (uint32_t)crc32_z(0, bytes, len);
}

static enum dg_err check_size(const struct dg_zip *zip, const struct dg_zip_member *member,
                              size_t limit, struct dg_error *error)
{
    if (member->len > limit)
        return dg_error_set(error, DG_ERR_LIMIT,
                            "%s: offset %zu: member '%s' has %zu bytes, expected at most %zu",
                            zip->name, member->offset, member->name, member->len, limit);
    /* Deflate never grows data more than about 1032 times: a larger claim is false. */
    if (member->deflated && member->len / 1040 > member->packed_len)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "%s: offset %zu: member '%s' claims %zu bytes from %zu", zip->name,
                            member->offset, member->name, member->len, member->packed_len);
    return DG_OK;
}

static enum dg_err say_damaged(const struct dg_zip *zip, const struct dg_zip_member *member,
                               struct dg_error *error)
{
    return dg_error_set(
        error, DG_ERR_INTEGRITY,
        "%s: offset %zu: member '%s' does not inflate to its %zu bytes; it is damaged", zip->name,
        member->offset, member->name, member->len);
}

static enum dg_err say_wrong_crc(const struct dg_zip *zip, const struct dg_zip_member *member,
                                 struct dg_error *error)
{
    return dg_error_set(error, DG_ERR_INTEGRITY,
                        "%s: offset %zu: member '%s' does not match its CRC; the file is damaged",
                        zip->name, member->offset, member->name);
}

enum dg_err dg_zip_data(const struct dg_zip *zip, const struct dg_zip_member *member, size_t limit,
                        struct dg_zip_data *data, struct dg_error *error)
{
    const uint8_t *packed = zip->file.bytes + member->offset;
    struct dg_zip_data made = {packed, member->len, NULL, false};
    enum dg_err err = check_size(zip, member, limit, error);
    if (err)
        return err;
    if (member->deflated) {
        made.bytes = made.owned = dg_try_malloc(member->len ? member->len : 1);
        if (!made.owned)
            return DG_ERR_NOMEM;
        if (!inflate_whole(packed, member->packed_len, made.owned, member->len)) {
            dg_free(made.owned);
            return say_damaged(zip, member, error);
        }
    }
    if (crc_of(made.bytes, made.len) != member->crc) {
        dg_free(made.owned);
        return say_wrong_crc(zip, member, error);
    }
    *data = made;
    return DG_OK;
}

/* ---- Large data, through a file -------------------------------------------------------------- */

/* Inflates a member into the file; DG_ERR_INTEGRITY when it is damaged, another error when it
 * cannot be written. The pages of the archive that were read are released on the way. */
static enum dg_err inflate_to(int fd, const struct dg_map_file *archive,
                              const struct dg_zip_member *member, uint8_t *part, uint32_t *crc)
{
    const uint8_t *packed = archive->bytes + member->offset;
    size_t packed_len = member->packed_len, len = member->len, n_kept = 0;
    z_stream stream = {0};
    enum dg_err err = inflateInit2(&stream, -MAX_WBITS) == Z_OK ? DG_OK : DG_ERR_NOMEM;
    if (err)
        return err;
    int result = Z_OK;
    *crc = 0;
    while (result == Z_OK && !err) {
        const size_t in = packed_len < 1u << 30 ? packed_len : 1u << 30;
        stream.next_in = (Bytef *)(uintptr_t)packed;
        stream.avail_in = (uInt)in;
        stream.next_out = part;
        stream.avail_out = PART_BYTES;
        result = inflate(&stream, Z_NO_FLUSH);
        const size_t used = in - stream.avail_in, made = PART_BYTES - stream.avail_out;
        packed += used;
        packed_len -= used;
        n_kept += used;
        if (n_kept > KEPT_BYTES) {
            dg_map_file_forget(archive);
            n_kept = 0;
        }
        if (made > len || (used == 0 && made == 0 && result == Z_OK)) {
            err = DG_ERR_INTEGRITY;
            break;
        }
        len -= made;
        *crc = (uint32_t)crc32_z(*crc, part, made);
        err = dg_tmp_file_write(fd, dg_span_make((const char *)part, made), NULL);
    }
    inflateEnd(&stream);
    if (!err && (result != Z_STREAM_END || len || packed_len))
        err = DG_ERR_INTEGRITY;
    return err;
}

enum dg_err dg_zip_data_spilt(const struct dg_zip *zip, const struct dg_zip_member *member,
                              size_t limit, struct dg_zip_data *data, struct dg_error *error)
{
    const char *dir = getenv("TMPDIR");
    uint32_t crc = 0;
    if (!member->deflated || member->len < SPILT_FROM)
        return dg_zip_data(zip, member, limit, data, error);
    enum dg_err err = check_size(zip, member, limit, error);
    if (err)
        return err;
    dir = dir && *dir ? dir : "/var/tmp";
    uint8_t *part = dg_try_malloc(PART_BYTES);
    if (!part)
        return DG_ERR_NOMEM;
    int fd = -1;
    void *map = MAP_FAILED;
    err = dg_tmp_file_open(dir, &fd, NULL);
    if (!err)
        err = inflate_to(fd, &zip->file, member, part, &crc);
    if (!err && crc == member->crc)
        map = mmap(NULL, member->len, PROT_READ, MAP_SHARED, fd, 0);
    if (err == DG_ERR_INTEGRITY)
        say_damaged(zip, member, error);
    else if (err)
        dg_error_set(error, err, "cannot inflate %zu bytes of '%s' into %s: %s", member->len,
                     member->name, dir, dg_err_sentence(err));
    else if (crc != member->crc)
        err = say_wrong_crc(zip, member, error);
    else if (map == MAP_FAILED)
        err = dg_error_set(error, DG_ERR_NOMEM, "cannot map %zu bytes of '%s'", member->len,
                           member->name);
    else
        *data = (struct dg_zip_data){map, member->len, map, true};
    if (fd >= 0)
        close(fd);
    dg_free(part);
    return err;
}

void dg_zip_data_free(struct dg_zip_data *data)
{
    if (data->mapped)
        munmap(data->owned, data->len);
    else
        dg_free(data->owned);
    *data = (struct dg_zip_data){0};
}
