/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Fields of one JSON object, for files where each line is "name, what if it is absent". The first
 * failure is kept in `err` and all further reading passes over:
 *
 *     struct dg_config_fields r = {config, why, DG_OK};
 *     bp->D = dg_config_need(&r, "hidden_size");
 *     ...
 *     return r.err; */
#ifndef DG_MODEL_CONFIG_FIELDS_H
#define DG_MODEL_CONFIG_FIELDS_H

#include "base/json/json.h"
#include "base/memory/err.h"
#include "base/memory/error.h"
#include "model/blueprint.h"

#include <stdbool.h>
#include <stddef.h>

struct dg_config_fields {
    const struct dg_json *object;
    struct dg_error *error;
    enum dg_err err;
};

size_t dg_config_size(struct dg_config_fields *r, const char *name, size_t otherwise);
size_t dg_config_need(struct dg_config_fields *r, const char *name); /* it must be there */
bool dg_config_flag(struct dg_config_fields *r, const char *name, bool otherwise);
double dg_config_real(struct dg_config_fields *r, const char *name, double otherwise);

/* The index of the field's text among `choices` (ended by NULL). */
int dg_config_choice(struct dg_config_fields *r, const char *name, const char *const *choices,
                     int otherwise);

/* By Hugging Face's names, which our own are among. */
enum dg_activation dg_config_activation(struct dg_config_fields *r, const char *name,
                                        enum dg_activation otherwise);

/* What files call the members of an enumeration, in its order; ended by NULL. */
extern const char *const dg_config_norm_places[]; /* enum dg_norm_place */
extern const char *const dg_config_norm_kinds[];  /* enum dg_norm_kind */
extern const char *const dg_config_positions[];   /* enum dg_positions, without those of language
                                                     models */

/* A flag as it is printed. */
static inline const char *dg_config_truth(bool flag)
{
    return flag ? "true" : "false";
}

/* Refuses a flag that asks for mathematics we have not. */
void dg_config_must(struct dg_config_fields *r, const char *name, bool otherwise, bool expected);

#endif
