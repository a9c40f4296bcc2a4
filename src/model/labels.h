/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The labels of a classifier: labels.txt in its directory, one label per line, in the order of the
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
    struct dg_arena arena; /* holds their bytes */
    struct dg_map numbers;
};

void dg_labels_init(struct dg_labels *labels);
void dg_labels_close(struct dg_labels *labels); /* mirror of init and open */

/* Adds a label that is not in the list. DG_ERR_LIMIT: too many labels; DG_ERR_INVALID: the label is
 * empty, too long, or of several lines. */
enum dg_err dg_labels_add(struct dg_labels *labels, struct dg_span label) DG_MUST_CHECK;

/* Finds the number of a label. Returns false when the list does not have the label. */
bool dg_labels_find(const struct dg_labels *labels, struct dg_span label, size_t *number);

/* Splits a word's label: "B-PER" has kind 'B' and type "PER"; "O" has an empty type; a plain "PER"
 * continues an entity of its type. */
struct dg_span dg_labels_entity(struct dg_span label, char *kind);

/* Returns whether a word of that kind and type begins a new entity after a word inside an entity of
 * type `open` (empty: inside none). */
bool dg_labels_begins(char kind, struct dg_span type, struct dg_span open);

enum dg_err dg_labels_open(struct dg_labels *labels, const char *dir,
                           struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_labels_save(const struct dg_labels *labels, const char *dir,
                           struct dg_error *error) DG_MUST_CHECK;

#endif
