/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A relay carries the texts of a request in somebody else's format to the engine, and the results
 * back to whoever words the answer. It is what the compatible APIs share: languages checked, each
 * text's own language detected where none was named, texts that are in the target language already
 * returned as they are.
 *
 *     dg_compat_open(call, on_open);                  a route: reads the request's fields, then
 * on_open(call, relay) err = dg_compat_texts(relay, n);                there: then
 * relay->items[i].text = ... relay->to = ...; relay->from = NULL to detect;  relay->job->ask ...
 * other wishes dg_compat_start(relay, on_whole);                              the relay is no
 * longer ours
 *
 *     static void on_whole(struct dg_compat *relay, struct dg_json_out *out) { ...
 * dg_compat_result(relay, i) ... }
 *
 * The answer is 200 with what `on_whole` wrote. A failure before the start goes through
 * dg_compat_fail, one after it is answered by itself, both in the call's dialect. One thread: the
 * loop's. */
#ifndef DG_API_COMPAT_COMPAT_H
#define DG_API_COMPAT_COMPAT_H

#include "api/http/fields.h"
#include "api/v1/job.h"
#include "api/v1/languages.h"
#include "base/json/json_out.h"

struct dg_compat_item {
    struct dg_span text;
    const struct dg_language *from; /* what it was in: named or detected; NULL: nobody knows */
    const char *detected;           /* the tag found, which may be no language of ours; or NULL */
    float confidence;               /* of that, 0 to 1 */
    bool is_blank;   /* it has nothing to translate, and says nothing of its language */
    bool is_foreign; /* it is surely in `detected`, from which nothing leads to the target: it is as
                        it was */
    size_t n_characters;  /* code points of the text */
    struct dg_span *lost; /* [n_lost] what was to come back as it is and did not, */
    size_t n_lost;
    struct dg_span *missed; /* [n_missed] and terms of glossaries that were not used */
    size_t n_missed;
};

struct dg_compat {
    struct dg_call *call;
    struct dg_job *job;
    struct dg_arena *arena;  /* the job's; all that the request says lives there */
    struct dg_fields fields; /* see dg_compat_open */
    struct dg_languages langs;
    struct dg_compat_item *items; /* [n] */
    size_t n;
    const struct dg_language *from, *to; /* from NULL: detect */
    bool is_array;                       /* for on_whole: the texts came as an array */
    struct dg_fields_source source;      /* while they are read */
    void (*on_open)(struct dg_call *call, struct dg_compat *compat);
    uint64_t started_ns; /* the call's */
    uint64_t *tally;     /* NULL, or what the characters of a good answer are added to */
    void *user;          /* for on_whole */
    void (*on_whole)(struct dg_compat *compat, struct dg_json_out *out);
    void (*on_delta)(struct dg_compat *compat, struct dg_span text); /* NULL, or of one text: the
                                                                        answer is a stream */
    void (*on_end)(struct dg_compat *compat, const struct dg_failure *failure); /* of a stream, or
                                                                                 * of what has no
                                                                                 * call; failure
                                                                                 * NULL: it is whole
                                                                                 */
};

/* NULL when the call was answered with 503: no engine, or no memory. Its fields are empty. */
struct dg_compat *dg_compat_new(struct dg_call *call);

/* One with the request's fields, which goes to `on_open`: at once or, when its body was large and
 * is read beside the loop (json_offload.h), later. Or the call is answered, or its client has left.
 */
void dg_compat_open(struct dg_call *call,
                    void (*on_open)(struct dg_call *call, struct dg_compat *compat));

/* The same for routes whose requests are short, which their `prepare` sees to; NULL when the call
 * was answered. */
void dg_compat_prepare_short(struct dg_call *call);
struct dg_compat *dg_compat_open_short(struct dg_call *call);

/* One without a call, for what came over a socket; the caller has seen to the gate. NULL: no model,
 * or no memory. Its end, good or bad, goes to relay->on_end, which must be set before the start;
 * relay->fields is empty. */
struct dg_compat *dg_compat_new_for(struct dg_api *api, size_t arena_max);

/* Makes room for the texts. DG_ERR_NOMEM. */
enum dg_err dg_compat_texts(struct dg_compat *compat, size_t n) DG_MUST_CHECK;

/* Every value of a field as the texts. DG_ERR_INVALID when one is no text, DG_ERR_NOMEM. */
enum dg_err dg_compat_texts_of(struct dg_compat *compat,
                               const struct dg_field *field) DG_MUST_CHECK;

/* Answers with a failure and drops the relay, before its start. */
void dg_compat_fail(struct dg_compat *compat, int status, const char *code, const char *message);
void dg_compat_fail_with(struct dg_compat *compat, enum dg_err err, const struct dg_error *error);

/* Takes the relay. */
void dg_compat_start(struct dg_compat *compat,
                     void (*on_whole)(struct dg_compat *compat, struct dg_json_out *out));

/* Lets go before its start, without an answer. */
void dg_compat_drop(struct dg_compat *compat);

/* What on_whole may look at is the relay, without its call: a long answer is written beside the
 * loop (json_offload.h). The translation of a text, and its kth alternative, from 1 on: empty where
 * it has none. */
struct dg_span dg_compat_result(const struct dg_compat *compat, size_t i);
struct dg_span dg_compat_alternative(const struct dg_compat *compat, size_t i, int k);

/* For on_whole: why a text was not translated, and what could not be kept in it, as the members
 * "warning", "lost" and "missed_terms" of an open object; nothing where all is well. They are in no
 * API that we imitate; its clients pass over what they do not know. */
void dg_compat_put_notes(struct dg_json_out *out, const struct dg_compat *compat,
                         const struct dg_compat_item *item);

/* True where something leads from the relay's source to its target; without a source, what is in
 * the target language leads to it, too. */
bool dg_compat_leads(const struct dg_compat *compat);

/* Code points of all texts. */
size_t dg_compat_characters(const struct dg_compat *compat);

#endif
