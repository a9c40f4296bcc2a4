/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads a pickle. It can build a PyTorch state dict and nothing else.
 *
 * A pickle is a program for a small stack machine, and Python's own machine can be told to import
 * and call anything. This one knows numbers, texts, tuples, lists, dicts and eighteen names, all of
 * them inert: OrderedDict, torch.Size, three ways to make a tensor from a storage, and the storage
 * classes. Any other name or opcode is refused, by name and offset. Steps, depth, memo and memory
 * are bounded.
 *
 *     struct dg_pickle pickle;
 *     dg_pickle_init(&pickle, bytes, len, "data.pkl");
 *     err = dg_pickle_load(&pickle, 0, &value, &end, &error);      one pickle, from 0 to `end`
 *     ... value->type == DG_PICKLE_DICT ...
 *     dg_pickle_deinit(&pickle);
 *
 * Values live until deinit. One thread. */
#ifndef DG_IMPORT_CONTAINER_PICKLE_H
#define DG_IMPORT_CONTAINER_PICKLE_H

#include "base/memory/arena.h"
#include "base/memory/error.h"
#include "base/memory/span.h"
#include "tensor/tensor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dg_pickle_type {
    DG_PICKLE_NONE,
    DG_PICKLE_BOOL,
    DG_PICKLE_INT,
    DG_PICKLE_REAL,
    DG_PICKLE_TEXT,
    DG_PICKLE_BIG_INT, /* a long of more than 8 bytes; its bytes are in `text` */
    DG_PICKLE_TUPLE,
    DG_PICKLE_LIST,
    DG_PICKLE_DICT,   /* items: key, value, key, value, ... */
    DG_PICKLE_GLOBAL, /* one of the known names */
    DG_PICKLE_STORAGE,
    DG_PICKLE_TENSOR,
    DG_PICKLE_MARK, /* inside the machine only */
};

/* Where a tensor's numbers lie, according to the persistent id. */
struct dg_pickle_storage {
    enum dg_dtype dtype;
    bool untyped; /* UntypedStorage: bytes */
    struct dg_span key;
    size_t n_elements;
};

struct dg_pickle_tensor {
    const struct dg_pickle_storage *storage;
    size_t offset; /* elements */
    unsigned rank;
    size_t shape[DG_TENSOR_RANK_MAX];
    size_t strides[DG_TENSOR_RANK_MAX]; /* elements */
};

struct dg_pickle_value {
    enum dg_pickle_type type;
    size_t at; /* offset of the opcode that made it */
    union {
        int64_t integer; /* BOOL, INT; GLOBAL: number of the name */
        double real;
        struct dg_span text;
        struct {
            struct dg_pickle_value **items;
            size_t n, cap;
        };
        const struct dg_pickle_storage *storage;
        const struct dg_pickle_tensor *tensor;
    };
};

struct dg_pickle {
    struct dg_arena arena;
    const uint8_t *bytes; /* borrowed */
    size_t len;
    const char *name; /* borrowed; for sentences */
};

void dg_pickle_init(struct dg_pickle *pickle, const uint8_t *bytes, size_t len, const char *name);
void dg_pickle_deinit(struct dg_pickle *pickle);

/* Runs one pickle from `start` up to its STOP; *end is the offset after it. */
enum dg_err dg_pickle_load(struct dg_pickle *pickle, size_t start,
                           const struct dg_pickle_value **value, size_t *end,
                           struct dg_error *error) DG_MUST_CHECK;

/* Returns the value of a text key of a dict; NULL when there is none. If a key occurs twice, the
 * last one counts, as in Python. */
const struct dg_pickle_value *dg_pickle_get(const struct dg_pickle_value *dict, struct dg_span key);

#endif
