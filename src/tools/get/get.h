/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What the sub-commands that fetch, list and remove models share. */
#ifndef DG_TOOLS_GET_GET_H
#define DG_TOOLS_GET_GET_H

#include "fetch/catalogue_choice.h"
#include "fetch/package.h"
#include "tools/get/get_flags.h"
#include "tools/get/library.h"

/* The list of packages to fetch. */
struct get_plan {
    struct dg_package *packages; /* owned; [n] */
    size_t n, cap;
    size_t n_hops; /* requests that are served by way of English */
};

void get_plan_free(struct get_plan *plan);

/* Adds an initialised package at the end and returns it; NULL when memory is short. */
struct dg_package *get_plan_add(struct get_plan *plan);
void get_plan_drop_last(struct get_plan *plan);
bool get_plan_has(const struct get_plan *plan, const char *name);

/* Prints the plan to standard error, and checks the free space on the disk of `dir`:
 * DG_ERR_NO_SPACE. */
enum dg_err get_plan_show(const struct get_plan *plan, const struct library *library,
                          const char *dir, struct dg_error *error) DG_MUST_CHECK;

/* Prints every address, one a line, to standard output. */
void get_plan_print_urls(const struct get_plan *plan, const char *mirror);

#endif
