/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads ZIP containers (.npz, pytorch_model.bin, .argosmodel, .docx) in a mapping: stored members
 * are used in place, and deflated ones are inflated on demand. This reader replaces libzip because
 * models need the bytes in place, and a refusal must name offset and field.
 *
 * The central directory at the end lists the members; each entry points back to a local header,
 * whose own name and extra lengths say where the data begins. Everything is checked before any data
 * is returned: offsets and lengths are within the file, both headers have the same name, the method
 * is stored or deflate without encryption, no name leaves the directory (`..`, a leading `/`, a
 * drive letter, a backslash), no name occurs twice, and no two members share bytes. ZIP64 is
 * supported. A member's CRC is checked when the member is read.
 *
 *     struct dg_zip zip;
 *     err = dg_zip_open(&zip, "model.npz", &error);
 *     const struct dg_zip_member *member = dg_zip_find(&zip, "Wemb.npy");
 *     err = dg_zip_data(&zip, member, limit, &data, &error);
 *     ... data.bytes[0 .. data.len) ...
 *     dg_zip_data_free(&data);
 *     dg_zip_close(&zip); */
#ifndef DG_ARCHIVE_ZIP_IN_H
#define DG_ARCHIVE_ZIP_IN_H

#include "base/file/map_file.h"
#include "base/memory/arena.h"
#include "base/memory/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_zip_member {
    const char *name; /* NUL-terminated, holds no NUL; in the arena */
    bool deflated;
    uint32_t crc;
    size_t packed_len;  /* bytes in the file */
    size_t len;         /* bytes when inflated */
    size_t offset;      /* of the data in the file */
    size_t header, row; /* of the local header, and of the row in the central directory */
};

struct dg_zip {
    struct dg_map_file file;
    bool borrowed;    /* the bytes are the caller's */
    const char *name; /* of the file, for error messages; in the arena */
    struct dg_arena arena;
    struct dg_zip_member *members; /* [n_members] sorted by name; in the arena */
    size_t n_members;
    size_t directory, end; /* where the central directory and the end record lie */
    bool is_zip64;
};

struct dg_zip_data {
    const uint8_t *bytes;
    size_t len;
    void *owned; /* NULL when the bytes are the file's */
    bool mapped; /* `owned` is a mapping of a file without a name */
};

/* True when a file begins like a ZIP with at least one member. */
bool dg_zip_is(const uint8_t *bytes, size_t len);

enum dg_err dg_zip_open(struct dg_zip *zip, const char *path, struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_zip_parse(struct dg_zip *zip, const uint8_t *bytes, size_t len, const char *name,
                         struct dg_error *error) DG_MUST_CHECK;
void dg_zip_close(struct dg_zip *zip);

/* The member of this name; NULL when there is none. */
const struct dg_zip_member *dg_zip_find(const struct dg_zip *zip, const char *name);

/* The member's bytes, of which there must be at most `limit`. A damaged member is DG_ERR_INTEGRITY.
 */
enum dg_err dg_zip_data(const struct dg_zip *zip, const struct dg_zip_member *member, size_t limit,
                        struct dg_zip_data *data, struct dg_error *error) DG_MUST_CHECK;

/* The same, but a large deflated member is inflated into a file without a name in TMPDIR (or
 * /var/tmp), piece by piece, and mapped: it takes no memory, and no file remains however the
 * process ends. */
enum dg_err dg_zip_data_spilt(const struct dg_zip *zip, const struct dg_zip_member *member,
                              size_t limit, struct dg_zip_data *data,
                              struct dg_error *error) DG_MUST_CHECK;
void dg_zip_data_free(struct dg_zip_data *data);

#endif
