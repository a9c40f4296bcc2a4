/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The manifest of a model directory: BLAKE2b-512 of every file, sorted by name, in the text that
 * `b2sum -c` reads, and a minisign signature over it.
 *
 *     manifest.b2           HASH, two blanks, NAME; one line for each file but these two
 *     manifest.b2.minisig   the signature
 *
 * A directory verifies when the signature matches a trusted key, every listed file is there
 * unchanged and no other file is there. Sub-directories are refused: a model directory is flat. */
#ifndef DG_MODEL_FILE_MANIFEST_H
#define DG_MODEL_FILE_MANIFEST_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "model/file/minisign.h"

#define DG_MANIFEST_NAME      "manifest.b2"
#define DG_MANIFEST_SIGNATURE "manifest.b2.minisig"
#define DG_MANIFEST_TRAINING  "training" /* working files of dragoman train */

enum { DG_MANIFEST_MAX = 256 * 1024, DG_MANIFEST_FILES_MAX = 1000 };

/* Hashes the directory's files into the manifest's text. */
enum dg_err dg_manifest_print(const char *dir, struct dg_buf *out,
                              struct dg_error *error) DG_MUST_CHECK;

/* Writes DIR/manifest.b2. */
enum dg_err dg_manifest_write(const char *dir, struct dg_error *error) DG_MUST_CHECK;

/* Writes both files. */
enum dg_err dg_manifest_sign(const char *dir, const struct dg_minisign_secret *key,
                             struct dg_span trusted_comment, struct dg_error *error) DG_MUST_CHECK;

/* Checks the files against DIR/manifest.b2 and, when `n` is not 0, first its signature.
 * DG_ERR_INTEGRITY when something does not match, with as many names as fit; DG_ERR_NOT_FOUND when
 * manifest or signature is missing. */
enum dg_err dg_manifest_verify(const char *dir, const struct dg_minisign_public *keys, size_t n,
                               struct dg_error *error) DG_MUST_CHECK;

#endif
