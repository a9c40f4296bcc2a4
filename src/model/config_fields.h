/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads fields of one JSON object, each with the value that stands for an absent field. `err` keeps
 * the first failure, and all later reads do nothing:
 *
 *     struct dg_config_fields r = {config, error, DG_OK};
 *     bp->D = dg_config_need(&r, "hidden_size");
 *     ...
 *     return r.err; */
#ifndef DG_MODEL_CONFIG_FIELDS_H
#define DG_MODEL_CONFIG_FIELDS_H

#include "base/json/json.h"
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
size_t dg_config_need(struct dg_config_fields *r, const char *name); /* a required field */
bool dg_config_flag(struct dg_config_fields *r, const char *name, bool otherwise);
double dg_config_real(struct dg_config_fields *r, const char *name, double otherwise);

/* Returns the index of the field's text among `choices` (ended by NULL). */
int dg_config_choice(struct dg_config_fields *r, const char *name, const char *const *choices,
                     int otherwise);

/* Reads an activation by Hugging Face's name for it; our own names are among those. */
enum dg_activation dg_config_activation(struct dg_config_fields *r, const char *name,
                                        enum dg_activation otherwise);

/* The names that files use for the members of an enumeration, in its order; NULL at the end. */
extern const char *const dg_config_norm_places[]; /* enum dg_norm_place */
extern const char *const dg_config_norm_kinds[];  /* enum dg_norm_kind */
extern const char *const dg_config_positions[];   /* enum dg_positions, without those of language
                                                     models */

/* Returns a flag as it is printed. */
static inline const char *dg_config_truth(bool flag)
{
    return flag ? "true" : "false";
}

/* Refuses a flag that is not as `expected`, because the other value is not supported. */
void dg_config_must(struct dg_config_fields *r, const char *name, bool otherwise, bool expected);

#endif
