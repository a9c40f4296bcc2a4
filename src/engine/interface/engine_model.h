/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How models are configured, their states, and what is counted for them (engine.h). */
#ifndef DG_ENGINE_INTERFACE_ENGINE_MODEL_H
#define DG_ENGINE_INTERFACE_ENGINE_MODEL_H

#include <stddef.h>
#include <stdint.h>

enum dg_engine_model_state {
    DG_ENGINE_MODEL_KNOWN,  /* not in memory; the next request loads it */
    DG_ENGINE_MODEL_WANTED, /* waits for its turn, or for memory */
    DG_ENGINE_MODEL_LOADING,
    DG_ENGINE_MODEL_READY,
    DG_ENGINE_MODEL_FAILED, /* a later request tries again, but not one that comes immediately */
};

/* The configuration of a model. */
struct dg_engine_model {
    const char *name, *path;
    const char *source, *target;   /* languages (langs.h); NULL or "": they come from the vocabulary
                                      or the name */
    const char *formal, *informal; /* words that set the formality (langs.h); NULL or "": none */
    const char *template, *stop;   /* The prompt by which a language model translates
                                      (translation_prompt.h). NULL or "": it does not translate. */
    /* For a quality estimator (model/calibration.h): the models whose translations it judges,
     * separated by commas, by the names that answers have. NULL or "": the model's directory
     * says which. */
    const char *judges;
};

/* Counters of the sentence cache; all are zero when there is no cache. */
struct dg_engine_cache_stats {
    uint64_t n_hits, n_joined, n_misses, n_evicted; /* joined: another request was already
                                                       translating the sentence */
    size_t n_entries, bytes, bytes_max;
};

/* The qualities that an estimator has given since the start. */
enum { DG_QUALITY_BUCKETS = 10 };
struct dg_engine_quality_stats {
    uint64_t buckets[DG_QUALITY_BUCKETS]; /* sentences with a quality of up to 0.1, 0.2, ... 1 */
    double sum;
};

#endif
