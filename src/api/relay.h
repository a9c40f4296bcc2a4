/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A relay carries the texts of a request in somebody else's format to the engine, and the results back to
 * whoever words the answer. It is what the compatible APIs share: languages checked, each text's own language
 * detected where none was named, texts that are in the target language already returned as they are.
 *
 *     dg_relay_open(call, on_open);                  a route: reads the request's fields, then on_open(call, relay)
 *     err = dg_relay_texts(relay, n);                there: then relay->items[i].text = ...
 *     relay->to = ...; relay->from = NULL to detect;  relay->job->ask ... other wishes
 *     dg_relay_start(relay, on_whole);                              the relay is no longer ours
 *
 *     static void on_whole(struct dg_relay *relay, struct dg_json_out *out) { ... dg_relay_result(relay, i) ... }
 *
 * The answer is 200 with what `on_whole` wrote. A failure before the start goes through dg_relay_fail, one
 * after it is answered by itself, both in the call's dialect. One thread: the loop's. */
#ifndef DG_API_RELAY_H
#define DG_API_RELAY_H

#include "api/fields.h"
#include "api/job.h"
#include "api/languages.h"
#include "base/json_out.h"

struct dg_relay_item {
    struct dg_span text;
    const struct dg_language *from;      /* what it was in: named or detected; NULL: nobody knows */
    const char *detected;                /* the tag found, which may be no language of ours; or NULL */
    float confidence;                    /* of that, 0 to 1 */
    bool is_blank;                       /* it has nothing to translate, and says nothing of its language */
    bool is_foreign;                     /* it is surely in `detected`, from which nothing leads to the target: it is as it was */
    size_t n_characters;                 /* code points of the text */
    struct dg_span *lost;                /* [n_lost] what was to come back as it is and did not, */
    size_t n_lost;
    struct dg_span *missed;              /* [n_missed] and terms of glossaries that were not used */
    size_t n_missed;
};

struct dg_relay {
    struct dg_call *call;
    struct dg_job *job;
    struct dg_arena *arena;              /* the job's; all that the request says lives there */
    struct dg_fields fields;             /* see dg_relay_open */
    struct dg_languages langs;
    struct dg_relay_item *items;         /* [n] */
    size_t n;
    const struct dg_language *from, *to; /* from NULL: detect */
    bool is_array;                       /* for on_whole: the texts came as an array */
    struct dg_fields_source source;      /* while they are read */
    void (*on_open)(struct dg_call *call, struct dg_relay *relay);
    uint64_t started_ns;                 /* the call's */
    uint64_t *tally;                     /* NULL, or what the characters of a good answer are added to */
    void *user;                          /* for on_whole */
    void (*on_whole)(struct dg_relay *relay, struct dg_json_out *out);
    void (*on_delta)(struct dg_relay *relay, struct dg_span text); /* NULL, or of one text: the answer is a stream */
    void (*on_end)(struct dg_relay *relay, const struct dg_failure *failure); /* of a stream, or of what has no call;
                                                                                failure NULL: it is whole */
};

/* NULL when the call was answered with 503: no engine, or no memory. Its fields are empty. */
struct dg_relay *dg_relay_new(struct dg_call *call);

/* One with the request's fields, which goes to `on_open`: at once or, when its body was large and is read beside the loop
 * (aside.h), later. Or the call is answered, or its client has left. */
void dg_relay_open(struct dg_call *call, void (*on_open)(struct dg_call *call, struct dg_relay *relay));

/* The same for routes whose requests are short, which their `prepare` sees to; NULL when the call was answered. */
void dg_relay_prepare_short(struct dg_call *call);
struct dg_relay *dg_relay_open_short(struct dg_call *call);

/* One without a call, for what came over a socket; the caller has seen to the gate. NULL: no model, or no memory. Its
 * end, good or bad, goes to relay->on_end, which must be set before the start; relay->fields is empty. */
struct dg_relay *dg_relay_new_for(struct dg_api *api, size_t arena_max);

/* Makes room for the texts. DG_ERR_NOMEM. */
enum dg_err dg_relay_texts(struct dg_relay *relay, size_t n) DG_MUST_CHECK;

/* Every value of a field as the texts. DG_ERR_INVALID when one is no text, DG_ERR_NOMEM. */
enum dg_err dg_relay_texts_of(struct dg_relay *relay, const struct dg_field *field) DG_MUST_CHECK;

/* Answers with a failure and drops the relay, before its start. */
void dg_relay_fail(struct dg_relay *relay, int status, const char *code, const char *message);
void dg_relay_fail_with(struct dg_relay *relay, enum dg_err err, const struct dg_why *why);

/* Takes the relay. */
void dg_relay_start(struct dg_relay *relay, void (*on_whole)(struct dg_relay *relay, struct dg_json_out *out));

/* Lets go before its start, without an answer. */
void dg_relay_drop(struct dg_relay *relay);

/* What on_whole may look at is the relay, without its call: a long answer is written beside the loop (aside.h).
 * The translation of a text, and its kth alternative, from 1 on: empty where it has none. */
struct dg_span dg_relay_result(const struct dg_relay *relay, size_t i);
struct dg_span dg_relay_alternative(const struct dg_relay *relay, size_t i, int k);

/* For on_whole: why a text was not translated, and what could not be kept in it, as the members "warning", "lost" and
 * "missed_terms" of an open object; nothing where all is well. They are in no API that we imitate; its clients pass over what
 * they do not know. */
void dg_relay_put_notes(struct dg_json_out *out, const struct dg_relay *relay, const struct dg_relay_item *item);

/* True where something leads from the relay's source to its target; without a source, what is in the target language leads
 * to it, too. */
bool dg_relay_leads(const struct dg_relay *relay);

/* Code points of all texts. */
size_t dg_relay_characters(const struct dg_relay *relay);

#endif
