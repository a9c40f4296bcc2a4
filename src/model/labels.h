/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The labels of a classifier: labels.txt of its directory, one a line, in the order of the
 * network's outputs.
 *
 *     struct dg_labels labels;
 *     err = dg_labels_open(&labels, "models/mood", &error);
 *     ... labels.list[i], i < labels.n ...
 *     dg_labels_close(&labels);
 *
 * Immutable when open; any thread. */
#ifndef DG_MODEL_LABELS_H
#define DG_MODEL_LABELS_H

#include "base/memory/arena.h"
#include "base/memory/err.h"
#include "base/memory/error.h"
#include "base/memory/map.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>

enum { DG_LABELS_MAX = 1000, DG_LABELS_LEN_MAX = 200 };

#define DG_LABELS_FILE "labels.txt"

struct dg_labels {
    struct dg_span list[DG_LABELS_MAX]; /* [n] */
    size_t n;
    struct dg_arena arena; /* of their bytes */
    struct dg_map numbers;
};

void dg_labels_init(struct dg_labels *labels);
void dg_labels_close(struct dg_labels *labels); /* mirror of init and open */

/* Adds a label that is not there yet. DG_ERR_LIMIT: too many; DG_ERR_INVALID: empty, too long, or
 * of several lines. */
enum dg_err dg_labels_add(struct dg_labels *labels, struct dg_span label) DG_MUST_CHECK;

/* False when it is none of them. */
bool dg_labels_find(const struct dg_labels *labels, struct dg_span label, size_t *number);

/* What a word's label says: of "B-PER" kind 'B' and type "PER"; of "O" an empty type; "PER" alone
 * goes on with its like. */
struct dg_span dg_labels_entity(struct dg_span label, char *kind);

/* Whether a word of that kind and type begins an entity behind a word of one of type `open` (empty:
 * of none). */
bool dg_labels_begins(char kind, struct dg_span type, struct dg_span open);

enum dg_err dg_labels_open(struct dg_labels *labels, const char *dir,
                           struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_labels_save(const struct dg_labels *labels, const char *dir,
                           struct dg_error *error) DG_MUST_CHECK;

#endif
