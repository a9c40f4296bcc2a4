/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A team of threads that work together repeatedly: each member gets the same call with its own
 * number, and the caller, member 0, continues when all are done.
 *
 *     struct dg_team *team;
 *     err = dg_team_new(&team, 4, &error);
 *     dg_team_run(team, add_my_part, &work);            add_my_part(&work, 0 .. 3)
 *     dg_team_free(team);
 * Which member does which work depends only on the members' numbers, never on their speed, so sums
 * come out the same every time. */
#ifndef DG_TRAIN_PASS_TEAM_H
#define DG_TRAIN_PASS_TEAM_H

#include "base/memory/error.h"

#include <stddef.h>

enum { DG_TEAM_MAX = 256 };

struct dg_team; /* opaque; used by one thread, which is member 0 */

typedef void (*dg_team_fn)(void *ctx, size_t member);

/* `n` members, 1 to DG_TEAM_MAX. */
enum dg_err dg_team_new(struct dg_team **team, size_t n, struct dg_error *error) DG_MUST_CHECK;
void dg_team_free(struct dg_team *team); /* NULL is fine */

size_t dg_team_size(const struct dg_team *team);
void dg_team_run(struct dg_team *team, dg_team_fn fn, void *ctx);

#endif
