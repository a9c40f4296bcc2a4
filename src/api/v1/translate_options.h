/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The options of a requested translation: the JSON of POST /v1/translate and of the stream's
 * "translate" message, read into a C struct. Only this file knows that JSON.
 *
 *     err = dg_translate_options_read(json, &arena, &limits, &failure, &options);
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
    size_t texts;                            /* the most items of `text` */
    const struct dg_translate_options *base; /* the defaults; borrowed, and the result borrows their
                                                strings; NULL: the usual defaults */
    size_t characters;                       /* the most characters of each text; 0: no limit */
    size_t beam_max, min_length_max;         /* 0: no further limit */
    bool no_text;                            /* the JSON has only options and no text */
};

struct dg_translate_options {
    struct dg_span id;            /* the name that the client gave the request; ptr NULL: none */
    struct dg_span last_event_id; /* of a stream that broke off; ptr NULL: none */
    struct dg_span *texts;        /* [n_texts] */
    size_t n_texts;
    bool is_array;                    /* `text` was an array */
    struct dg_engine_request request; /* everything but the text */
    struct dg_span prefix; /* text to put before the translation of the only text; does not come
                              from the JSON */
    bool has_beam, has_length, has_priority; /* the client set these options; has_length is about
                                                length_penalty */
    struct dg_span api_key;                  /* "" when there is none */
    bool has_glossary;            /* the client named these glossaries, the most important first */
    struct dg_glossary *glossary; /* the request's own glossary, in the arena; NULL: none */
    const struct dg_span *glossary_ids; /* [n_glossary_ids] */
    size_t n_glossary_ids;
    int alternatives;
    bool stream;
    bool want_scores, want_tokens, want_alignment;
};

/* The failure's strings live in the arena or are constants. */
enum dg_err dg_translate_options_read(const struct dg_json *json, struct dg_arena *arena,
                                      const struct dg_translate_options_limits *limits,
                                      struct dg_failure *failure,
                                      struct dg_translate_options *options) DG_MUST_CHECK;

/* Parses a body as JSON; a failure names the byte at which it stops being valid. */
enum dg_err dg_translate_options_parse(struct dg_span body, size_t max_values,
                                       struct dg_arena *arena, struct dg_failure *failure,
                                       struct dg_json **json) DG_MUST_CHECK;

/* Reads a name from the field `name`: *out is a copy with a NUL; "auto", "" and an absent field
 * leave it as it is. */
enum dg_err dg_translate_options_name(const struct dg_json *json, const char *name,
                                      struct dg_arena *arena, struct dg_error *error,
                                      const char **out) DG_MUST_CHECK;

/* Reads the field `priority`; an absent field or null leaves it as it is. *is_given: it is there.
 */
enum dg_err dg_translate_options_priority(const struct dg_json *json, struct dg_error *error,
                                          enum dg_priority *priority, bool *is_given) DG_MUST_CHECK;

/* Reads the field `api_key`, for dg_gate_pass; an absent field, null or "" leaves it as it is. */
enum dg_err dg_translate_options_key(const struct dg_json *json, struct dg_arena *arena,
                                     struct dg_error *error, struct dg_span *key) DG_MUST_CHECK;

/* Reads the field `last_event_id` (event_id.h); an absent field or null leaves it as it is. */
enum dg_err dg_translate_options_last_event_id(const struct dg_json *json, struct dg_arena *arena,
                                               struct dg_error *error,
                                               struct dg_span *id) DG_MUST_CHECK;

/* Returns the code points of texts, by which they are charged. */
uint64_t dg_translate_options_characters(const struct dg_span *texts, size_t n);

/* Reads and copies the field `name`: a text or an array of 1 to `max` texts. */
enum dg_err dg_translate_options_texts(const struct dg_json *json, const char *name, size_t max,
                                       struct dg_arena *arena, struct dg_error *error,
                                       struct dg_span **texts, size_t *n,
                                       bool *is_array) DG_MUST_CHECK;

/* Returns the failure for a field that could not be read: a missing field is the client's
 * mistake. */
struct dg_failure dg_translate_options_field_failure(struct dg_arena *arena, enum dg_err err,
                                                     const struct dg_error *error,
                                                     const char *field);

/* Returns the failure for an error, whose sentence is copied into the arena. `field` may be NULL.
 * Sentences of DG_ERR_IO, DG_ERR_NO_SPACE and DG_ERR_NO_FILES name files of the server and are not
 * passed on. */
struct dg_failure dg_translate_options_failure(struct dg_arena *arena, enum dg_err err,
                                               const struct dg_error *error, const char *field);

/* Returns the failure for a file of the server that could not be written: 507 when there is no room
 * for it, 503 when too many files are open, 500 for what will not pass. It does not say where the
 * file lies. */
struct dg_failure dg_translate_options_file_failure(enum dg_err err);

/* Returns the failure for a start that failed. With DG_ERR_BUSY it tells the client to come again
 * after `retry_ms`. */
struct dg_failure dg_translate_options_start_failure(struct dg_arena *arena, enum dg_err err,
                                                     const struct dg_error *error,
                                                     uint64_t retry_ms);

#endif
