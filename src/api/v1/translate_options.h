/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What a client asks for when it asks for a translation: the JSON of POST /v1/translate and of the
 * stream's "translate" message, read into a C struct. JSON goes no further than this.
 *
 *     err = dg_translate_options_read(json, &arena, &limits, &failure, &ask);
 *     if (err) dg_call_fail(call, failure);              names the field and the limit
 *
 * Texts and strings live in the arena. */
#ifndef DG_API_V1_TRANSLATE_OPTIONS_H
#define DG_API_V1_TRANSLATE_OPTIONS_H

#include "api/http/call.h"
#include "base/json/json.h"
#include "base/memory/arena.h"
#include "engine/engine.h"

struct dg_translate_options;

struct dg_translate_options_limits {
    size_t texts;                            /* items of `text` */
    const struct dg_translate_options *base; /* what holds where nothing is said; borrowed, its
                                              * strings by the result too; NULL: the usual */
    size_t characters;                       /* of each text; 0: no limit */
    size_t beam_max, min_length_max;         /* 0: as much as there can be */
    bool no_text;                            /* options alone */
};

struct dg_translate_options {
    struct dg_span id;     /* a name that the asker gave it; ptr is NULL when there is none */
    struct dg_span *texts; /* [n_texts] */
    size_t n_texts;
    bool is_array;                    /* `text` was one */
    struct dg_engine_request request; /* everything but the text */
    struct dg_span prefix; /* translated text to put before the (only) text's; not from JSON */
    bool has_beam, has_length, has_priority; /* of a length: its penalty */
    struct dg_span api_key;                  /* "" when there is none */
    bool has_glossary; /* something was said of glossaries: these, in the order of their importance
                        */
    struct dg_glossary *glossary;       /* in the arena; NULL: none of its own */
    const struct dg_span *glossary_ids; /* [n_glossary_ids] */
    size_t n_glossary_ids;
    int alternatives;
    bool stream;
    bool want_scores, want_tokens, want_alignment;
};

/* The failure's strings live in the arena or forever. */
enum dg_err dg_translate_options_read(const struct dg_json *json, struct dg_arena *arena,
                                      const struct dg_translate_options_limits *limits,
                                      struct dg_failure *failure,
                                      struct dg_translate_options *options) DG_MUST_CHECK;

/* Parses a body as JSON; a failure says at which byte it stopped being some. */
enum dg_err dg_translate_options_parse(struct dg_span body, size_t max_values,
                                       struct dg_arena *arena, struct dg_failure *failure,
                                       struct dg_json **json) DG_MUST_CHECK;

/* A name in the field `name`: *out is a copy with a NUL; "auto", "" and no field leave it as it is.
 */
enum dg_err dg_translate_options_name(const struct dg_json *json, const char *name,
                                      struct dg_arena *arena, struct dg_error *error,
                                      const char **out) DG_MUST_CHECK;

/* The field `priority`; absent and null leave it as it is. *is_given: it is there. */
enum dg_err dg_translate_options_priority(const struct dg_json *json, struct dg_error *error,
                                          enum dg_priority *priority, bool *is_given) DG_MUST_CHECK;

/* The field `api_key`, for dg_gate_pass; absent, null and "" leave it as it is. */
enum dg_err dg_translate_options_key(const struct dg_json *json, struct dg_arena *arena,
                                     struct dg_error *error, struct dg_span *key) DG_MUST_CHECK;

/* Code points of texts: what they cost. */
uint64_t dg_translate_options_characters(const struct dg_span *texts, size_t n);

/* The field `name`, a text or an array of 1 to `max` of them, copied. */
enum dg_err dg_translate_options_texts(const struct dg_json *json, const char *name, size_t max,
                                       struct dg_arena *arena, struct dg_error *error,
                                       struct dg_span **texts, size_t *n,
                                       bool *is_array) DG_MUST_CHECK;

/* The failure of a field that could not be read: a missing one is the client's mistake. */
struct dg_failure dg_translate_options_field_failure(struct dg_arena *arena, enum dg_err err,
                                                     const struct dg_error *error,
                                                     const char *field);

/* A failure from an error and its sentence, which is copied into the arena. `field` may be NULL. */
struct dg_failure dg_translate_options_failure(struct dg_arena *arena, enum dg_err err,
                                               const struct dg_error *error, const char *field);

/* The failure of a start. With DG_ERR_BUSY the client is told when to come again: after `retry_ms`.
 */
struct dg_failure dg_translate_options_start_failure(struct dg_arena *arena, enum dg_err err,
                                                     const struct dg_error *error,
                                                     uint64_t retry_ms);

#endif
