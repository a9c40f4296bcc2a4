/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A compat request: a translation requested through a compatible API. It is what these APIs share:
 * it checks the languages, detects the language of each text where none was named, returns texts
 * that are already in the target language as they are, and gives the results to the function that
 * words the answer.
 *
 *     dg_compat_open(call, on_open);                  a route: reads the request's fields, then
 *                                                     calls on_open(call, compat), which does:
 *     err = dg_compat_texts(compat, n);
 *     compat->items[i].text = ...; compat->to = ...;  from NULL: detect
 *     compat->job->options ...                        other options
 *     dg_compat_start(compat, on_whole);              takes it
 *
 *     static void on_whole(struct dg_compat *compat, struct dg_json_out *out)
 *     {
 *         ... dg_compat_result(compat, i) ...
 *     }
 *
 * The answer is 200 with what `on_whole` wrote. The route answers a failure before the start with
 * dg_compat_fail; a later failure is answered here. Both use the call's dialect. One thread: the
 * loop's. */
#ifndef DG_API_COMPAT_COMPAT_H
#define DG_API_COMPAT_COMPAT_H

#include "api/http/fields.h"
#include "api/http/work.h"
#include "api/v1/job.h"
#include "api/v1/languages.h"
#include "base/json/json_out.h"

struct dg_document_file;

struct dg_compat_item {
    struct dg_span text;
    const struct dg_language *to;   /* its target language; NULL: the request's */
    const struct dg_language *from; /* its language, whether named or detected; NULL: unknown */
    const char *detected; /* the detected tag, if this server may be unable to translate from it; or
                             NULL */
    float confidence;     /* how sure the detection is, 0 to 1 */
    bool is_blank;        /* it has nothing to translate, so no language can be detected */
    bool is_foreign; /* No model leads from its language to the target (dg_engine_result), so it is
                        returned unchanged. */
    size_t n_characters;  /* code points of the text */
    struct dg_span *lost; /* [n_lost] protected spans that the translation lacks */
    size_t n_lost;
    struct dg_span *missed; /* [n_missed] glossary terms that the translation does not use */
    size_t n_missed;
    enum dg_err err; /* the error of on_sentence, with which the item fails */
};

struct dg_compat {
    struct dg_work work; /* Detached while on_open, on_end or a function called by dg_compat_pass
                            holds the call, work.call, to answer it. */
    struct dg_job *job;
    struct dg_arena *arena;        /* the job's arena, in which the request's data lie */
    struct dg_fields fields;       /* see dg_compat_open */
    struct dg_document_file *file; /* owned; the file that was sent (upload.h); NULL: none */
    struct dg_languages langs;
    struct dg_compat_item *items; /* [n] */
    size_t n;
    const struct dg_language *from, *to; /* `from` NULL: the language is detected */
    bool is_array;                       /* for on_whole: the texts came as an array */
    struct dg_fields_source source;      /* used while the fields are read */
    enum dg_err (*read)(struct dg_compat *compat, struct dg_span body, struct dg_failure *failure);
    void (*on_open)(struct dg_call *call, struct dg_compat *compat);
    enum dg_err (*then)(struct dg_compat *compat, struct dg_failure *failure); /* see
                                                                          dg_compat_pass */
    size_t n_looked_at;  /* see dg_compat_look */
    uint64_t started_ns; /* when the call began */
    /* a counter that the characters of a successful answer are added to; or NULL */
    uint64_t *tally;
    void *user; /* for on_whole */
    void (*on_whole)(struct dg_compat *compat, struct dg_json_out *out);
    struct dg_error error; /* why on_whole set out->err; if it is empty, memory ran out */
    /* called when the request is freed early, unless NULL */
    void (*undo)(struct dg_compat *compat);
    /* A sentence of text `i` is done. May be NULL. DG_ERR_NOMEM fails the request. */
    enum dg_err (*on_sentence)(struct dg_compat *compat, size_t i,
                               const struct dg_engine_sentence *sentence);
    /* Called for the one text of a request whose answer is a stream; else NULL. */
    void (*on_delta)(struct dg_compat *compat, struct dg_span text);
    /* Called at the end of a stream, or of a request without a call. With a NULL failure it is
     * complete. */
    void (*on_end)(struct dg_compat *compat, const struct dg_failure *failure);
};

/* Makes a compat request without fields. NULL: the call was answered with 503, for lack of an
 * engine or of memory. */
struct dg_compat *dg_compat_new(struct dg_call *call);

/* Reads the request's fields and calls `on_open`: at once, or later when another thread reads a
 * large body (json_offload.h). `on_open` is not called when the call was answered or the client has
 * left. */
void dg_compat_open(struct dg_call *call,
                    void (*on_open)(struct dg_call *call, struct dg_compat *compat));

/* As dg_compat_open, but `read` reads the body instead of the fields, on any thread (see
 * work.h). */
void dg_compat_open_as(struct dg_compat *compat,
                       enum dg_err (*read)(struct dg_compat *compat, struct dg_span body,
                                           struct dg_failure *failure),
                       void (*on_open)(struct dg_call *call, struct dg_compat *compat));

/* As dg_compat_open, for routes whose `prepare` admits only short requests. NULL: the call was
 * answered. */
void dg_compat_prepare_short(struct dg_call *call);
struct dg_compat *dg_compat_open_short(struct dg_call *call);

/* Makes a compat request without a call, for a message that came over a WebSocket and has passed
 * the gate. NULL: no model, or no memory. Its end, good or bad, goes to compat->on_end, which must
 * be set before the start; compat->fields is empty. */
struct dg_compat *dg_compat_new_for(struct dg_api *api, size_t arena_max);

/* Makes room for the texts. DG_ERR_NOMEM. */
enum dg_err dg_compat_texts(struct dg_compat *compat, size_t n) DG_MUST_CHECK;

/* Takes every value of a field as a text. DG_ERR_INVALID when one is not text; DG_ERR_NOMEM. */
enum dg_err dg_compat_texts_of(struct dg_compat *compat,
                               const struct dg_field *field) DG_MUST_CHECK;

/* Before the start: answers with a failure and drops the compat request. */
void dg_compat_fail(struct dg_compat *compat, int status, const char *code, const char *message);
void dg_compat_fail_with(struct dg_compat *compat, enum dg_err err);

/* Starts the translation; takes `compat`. */
void dg_compat_start(struct dg_compat *compat,
                     void (*on_whole)(struct dg_compat *compat, struct dg_json_out *out));

/* Passes the gate with the cost of the texts and the key that the body had, and then calls
 * `then`. An error that it returns is answered (work.h); otherwise the request goes on or has
 * ended. The client may leave meanwhile unless `then` detaches the work. */
void dg_compat_pass(struct dg_compat *compat, struct dg_span key,
                    enum dg_err (*then)(struct dg_compat *compat, struct dg_failure *failure));

/* As dg_compat_pass, and then answers with what `on_whole` writes. `n_bytes` tells how much it
 * reads for that; 0: it runs on the loop's thread. */
void dg_compat_look(struct dg_compat *compat, struct dg_span key, size_t n_bytes,
                    void (*on_whole)(struct dg_compat *compat, struct dg_json_out *out));

/* Frees it without an answer. */
void dg_compat_drop(struct dg_compat *compat);

/* For on_whole, which must not use the call, since another thread writes long answers
 * (json_offload.h): the translation of a text, and its kth alternative, from 1 on; empty if it has
 * none. */
struct dg_span dg_compat_result(const struct dg_compat *compat, size_t i);
struct dg_span dg_compat_alternative(const struct dg_compat *compat, size_t i, int k);

/* For on_whole: puts the members "warning", "lost" and "missed_terms" into an open object, which
 * say why a text was not translated and what its translation lacks; nothing if all is well. The
 * original APIs do not have these members, and their clients ignore members that they do not know.
 */
void dg_compat_put_notes(struct dg_json_out *out, const struct dg_compat *compat,
                         const struct dg_compat_item *item);

/* Returns true when a model leads from the source to the target; without a source, text that is
 * already in the target language counts, too. */
bool dg_compat_leads(const struct dg_compat *compat);

/* Makes at most `max` guesses at a text's language among those of the server, the most probable
 * first. */
enum dg_err dg_compat_guess(const struct dg_compat *compat, struct dg_span text,
                            struct dg_langid_guess *guesses, size_t max, struct dg_error *error,
                            size_t *n) DG_MUST_CHECK;

/* Finds the likeliest language of a text among those of the server; *code NULL: it is in none of
 * them. */
enum dg_err dg_compat_detect(const struct dg_compat *compat, struct dg_span text,
                             struct dg_error *error, const char **code,
                             double *confidence) DG_MUST_CHECK;

/* Return the code points and the bytes of all texts. */
size_t dg_compat_characters(const struct dg_compat *compat);
size_t dg_compat_bytes(const struct dg_compat *compat);

#endif
