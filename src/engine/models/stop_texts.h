/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Stop texts, which end a language model's answer: where the first one begins, and how many bytes
 * at the end may be the beginning of one. */
#ifndef DG_ENGINE_MODELS_STOP_TEXTS_H
#define DG_ENGINE_MODELS_STOP_TEXTS_H

#include "base/memory/span.h"

#include <stdint.h>

/* Returns the offset, `from` or later, at which the first of the `n` stop texts begins; SIZE_MAX:
 * none is there. No stop text may be empty. */
size_t dg_stop_texts_find(const struct dg_span *stops, size_t n, struct dg_span text, size_t from);

/* Returns how many bytes at the text's end may be the beginning of a stop text. */
size_t dg_stop_texts_doubtful(const struct dg_span *stops, size_t n, struct dg_span text);

#endif
