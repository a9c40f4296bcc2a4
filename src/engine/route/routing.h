/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Finds the model that serves a request: by its name, by the languages, or by the language that the
 * text is in.
 *
 *     const struct dg_routing_map map = {engine->models, engine->n_models, engine->langid};
 *     err = dg_routing_find(&map, request, &error, &routing);
 *     routing.hops[0] ... the first model; routing.pairs[0] ... its languages
 *     routing.detected ... "fr", or NULL when nothing had to be detected
 * Languages are compared as tags (text/language/langtag.h): among models, and among the languages
 * of one model (langs.h), the best match wins, target before source. If the source is not named, it
 * is detected among the languages that can be translated to the target. A text that is already in
 * the target language is copied, and so is one that is surely in a language from which no model
 * leads to the target (`is_foreign`). If no single model leads from the source to the target, two
 * in a row do, through a third language. The last model sets the formality; among equal matches, a
 * model that can set it comes first. Any thread that may read the models. */
#ifndef DG_ENGINE_ROUTE_ROUTING_H
#define DG_ENGINE_ROUTE_ROUTING_H

#include "engine/interface/engine_request.h"
#include "engine/models/served_model.h"
#include "text/language/langid.h"

struct dg_routing_map {
    struct dg_served_model *const *models; /* [n_models] */
    size_t n_models;
    const struct dg_langid *langid; /* NULL: languages cannot be detected */
    const char *langid_error;       /* says why `langid` is NULL */
};

enum { DG_ROUTING_HOPS_MAX = 2, DG_ROUTING_NAME = 256 };

struct dg_routing {
    struct dg_served_model *hops[DG_ROUTING_HOPS_MAX]; /* [n_hops] borrowed; one after the other */
    struct dg_lang_pair pairs[DG_ROUTING_HOPS_MAX]; /* [n_hops] the languages of each hop; borrowed
                                                       from it */
    size_t n_hops;
    const char *detected; /* the tag; borrowed from the language identification */
    float confidence;     /* 0 when nothing was detected */
    bool is_copy;    /* The text is returned unchanged: it is in the target language, has nothing to
                        translate, or is_foreign. */
    bool is_foreign; /* It is in `detected` or a language like it, from which no model leads to the
                        target. */
    struct dg_langtag source, target; /* the languages of a text that is returned unchanged; source
                                         empty: unknown */
};

/* Finds the routing for a request. If the request names a model, the request's languages only
 * choose among those of the model. DG_ERR_NOT_FOUND: no such model or pair; DG_ERR_DENIED: the
 * request may not use it; DG_ERR_INVALID: not a language tag; DG_ERR_UNSUPPORTED: the source must
 * be named because languages cannot be detected, or the model cannot set the formality. */
enum dg_err dg_routing_find(const struct dg_routing_map *map,
                            const struct dg_engine_request *request, struct dg_error *error,
                            struct dg_routing *routing) DG_MUST_CHECK;

/* Puts another version of the model into hop `hop`, and looks its languages up again. If they have
 * been reconfigured, nothing is replaced. */
void dg_routing_replace(struct dg_routing *routing, size_t hop, struct dg_served_model *model);

/* Writes the names of the routing's models, "fr-en" or "fr-en+en-de", cut if they are too long. */
void dg_routing_name(const struct dg_routing *routing, char name[DG_ROUTING_NAME]);

#endif
