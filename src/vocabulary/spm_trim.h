/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Removes pieces from a SentencePiece model. The other pieces keep their order, and their ids are
 * renumbered without gaps.
 *
 *     dg_spm_trim_close(spm, keep);                         adds the pieces that must stay
 *     err = dg_spm_trim(bytes, len, keep, &out, &error);    the bytes of the new model
 *
 * A text whose pieces are all kept is cut as before. Pure; any thread. */
#ifndef DG_VOCABULARY_SPM_TRIM_H
#define DG_VOCABULARY_SPM_TRIM_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "tokenize/spm/spm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Adds to `keep` [size of spm] the pieces that must stay in any case: those that are not ordinary
 * (unknown, control, bytes), single characters, and with BPE the pieces that kept pieces are merged
 * from. */
void dg_spm_trim_close(const struct dg_spm *spm, bool *keep);

/* `keep` has one entry for each piece of the file. A stored self-test is left out, because it may
 * use removed pieces. */
enum dg_err dg_spm_trim(const uint8_t *bytes, size_t len, const bool *keep, struct dg_buf *out,
                        struct dg_error *error) DG_MUST_CHECK;

#endif
