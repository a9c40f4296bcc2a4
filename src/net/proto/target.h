/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Parses request targets ("/v1/translate?source=fr") and name=value lists: query strings and
 * application/x-www-form-urlencoded bodies.
 *
 *     struct dg_target target;
 *     err = dg_target_parse(&arena, raw, &target, &error);
 *     struct dg_query it = dg_query_over(target.query);
 *     while ((err = dg_query_next(&it, &arena, &name, &value, &more)) == DG_OK && more) ...
 *
 * Decoded text lives in the arena; it is valid UTF-8 without NUL. One thread. */
#ifndef DG_NET_PROTO_TARGET_H
#define DG_NET_PROTO_TARGET_H

#include "base/memory/arena.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

struct dg_target {
    struct dg_span path;      /* percent-decoded; begins with '/', or is "*" */
    struct dg_span query;     /* raw, what follows '?'; empty when there is none */
    struct dg_span authority; /* of the absolute form ("http://host:1/x"); ptr NULL otherwise */
};

/* Takes the origin form, the absolute form and "*". DG_ERR_FORMAT for bad escapes or a fragment,
 * DG_ERR_UTF8 for a path that is not UTF-8 or holds a NUL, DG_ERR_NOMEM. */
enum dg_err dg_target_parse(struct dg_arena *arena, struct dg_span raw, struct dg_target *target,
                            struct dg_error *error) DG_MUST_CHECK;

struct dg_query {
    struct dg_span rest;
};

static inline struct dg_query dg_query_over(struct dg_span text)
{
    return (struct dg_query){text};
}

/* The next pair, decoded ('+' is a space); *more is false at the end. A name without '=' has an
 * empty value; empty pairs ("&&") are skipped. Errors as for dg_target_parse, except that values
 * may hold NUL, which is legal text. */
enum dg_err dg_query_next(struct dg_query *query, struct dg_arena *arena, struct dg_span *name,
                          struct dg_span *value, bool *more) DG_MUST_CHECK;

#endif
