/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Marian's YAML: one mapping of texts to texts or to lists of texts (decoder.yml,
 * special:model.yml, vocab.yml). Every scalar stays a text: `no`, `null` and `1e5` are words of a
 * vocabulary. Deeper values are skipped; aliases and tags are not followed. */
#ifndef DG_IMPORT_CONTAINER_YAML_IN_H
#define DG_IMPORT_CONTAINER_YAML_IN_H

#include "base/memory/error.h"
#include "base/memory/span.h"

enum { DG_YAML_SCALAR = -1 };

/* Gets one value. `index` is its position in a list, or DG_YAML_SCALAR. Spans live until the
 * callback returns. */
typedef enum dg_err (*dg_yaml_fn)(void *ctx, struct dg_span key, long index, struct dg_span value,
                                  struct dg_error *error);

/* Visits all values of a text. `name` is the file's name in error sentences, which also give the
 * line. */
enum dg_err dg_yaml_visit(struct dg_span text, const char *name, dg_yaml_fn fn, void *ctx,
                          struct dg_error *error) DG_MUST_CHECK;

#endif
