/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One function for each kind of field. */
#include "model/config_fields.h"

enum { SIZE_MAX_FIELD = 1 << 24 };

const char *const dg_config_norm_places[] = {"post", "pre", NULL};
const char *const dg_config_norm_kinds[] = {"layer", "rms", NULL};
const char *const dg_config_positions[] = {"none",        "halves",  "halves-closed",
                                           "interleaved", "learned", NULL};

size_t dg_config_size(struct dg_config_fields *r, const char *name, size_t otherwise)
{
    int64_t value = (int64_t)otherwise;
    if (!r->err)
        r->err =
            dg_json_get_int(r->object, name, DG_JSON_OPTIONAL, 0, SIZE_MAX_FIELD, r->error, &value);
    return (size_t)value;
}

size_t dg_config_need(struct dg_config_fields *r, const char *name)
{
    int64_t value = 0;
    if (!r->err)
        r->err =
            dg_json_get_int(r->object, name, DG_JSON_REQUIRED, 0, SIZE_MAX_FIELD, r->error, &value);
    return (size_t)value;
}

bool dg_config_flag(struct dg_config_fields *r, const char *name, bool otherwise)
{
    bool value = otherwise;
    if (!r->err)
        r->err = dg_json_get_bool(r->object, name, DG_JSON_OPTIONAL, r->error, &value);
    return value;
}

double dg_config_real(struct dg_config_fields *r, const char *name, double otherwise)
{
    double value = otherwise;
    if (!r->err)
        r->err = dg_json_get_real(r->object, name, DG_JSON_OPTIONAL, -1e15, 1e15, r->error, &value);
    return value;
}

int dg_config_choice(struct dg_config_fields *r, const char *name, const char *const *choices,
                     int otherwise)
{
    int choice = otherwise;
    if (!r->err)
        r->err = dg_json_get_choice(r->object, name, DG_JSON_OPTIONAL, choices, r->error, &choice);
    return choice;
}

enum dg_activation dg_config_activation(struct dg_config_fields *r, const char *name,
                                        enum dg_activation otherwise)
{
    static const char *const names[] = {
        "gelu_new", "gelu", "gelu_pytorch_tanh", "silu", "swish", "quick_gelu", "relu", NULL};
    static const enum dg_activation values[] = {
        DG_ACT_GELU_TANH, DG_ACT_GELU_ERF,   DG_ACT_GELU_TANH, DG_ACT_SILU,
        DG_ACT_SILU,      DG_ACT_GELU_QUICK, DG_ACT_RELU};
    const int choice = dg_config_choice(r, name, names, -1);
    return choice < 0 ? otherwise : values[choice];
}

void dg_config_must(struct dg_config_fields *r, const char *name, bool otherwise, bool expected)
{
    if (dg_config_flag(r, name, otherwise) != expected && !r->err)
        r->err = dg_error_set(r->error, DG_ERR_UNSUPPORTED, "field '%s' is %s, expected %s", name,
                              expected ? "false" : "true", expected ? "true" : "false");
}
