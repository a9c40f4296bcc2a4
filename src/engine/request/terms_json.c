/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The terms of an answer, and those of a dictionary, in JSON. */
#include "engine/request/terms_json.h"
#include "engine/interface/engine_request.h"
#include "text/terms/glossary.h"

void dg_engine_put_terms(struct dg_json_out *out, const struct dg_engine_result *result)
{
    dg_json_out_open(out, '[');
    for (size_t i = 0; i < result->n_terms; i++) {
        const struct dg_engine_term *term = &result->terms[i];
        dg_json_out_open(out, '{');
        dg_json_out_put_string(out, "source", term->term->source);
        dg_json_out_put_string(out, "target", term->term->targets[0]);
        dg_json_out_put_uint(out, "start", term->at);
        dg_json_out_put_uint(out, "length", term->len);
        dg_json_out_put_bool(out, "used", term->is_used);
        if (term->has_place) {
            dg_json_out_put_uint(out, "target_start", term->said_at);
            dg_json_out_put_uint(out, "target_length", term->said_len);
        }
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
}

void dg_engine_put_glossary(struct dg_json_out *out, const struct dg_dictionary *dictionary)
{
    dg_json_out_open(out, '[');
    for (size_t i = 0; i < dictionary->n; i++) {
        const struct dg_glossary_term *term = &dictionary->terms[i];
        dg_json_out_open(out, '{');
        dg_json_out_put_string(out, "source", term->source);
        dg_json_out_key(out, "target");
        if (term->n_targets > 1)
            dg_json_out_open(out, '[');
        for (size_t f = 0; f < term->n_targets; f++)
            dg_json_out_string(out, term->targets[f]);
        if (term->n_targets > 1)
            dg_json_out_close(out, ']');
        if (term->exact)
            dg_json_out_put_bool(out, "exact", true);
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
}
