/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The engine: text in, text out, for many at once.
 *
 *     struct dg_engine *engine;
 *     struct dg_engine_opts opts = {.wake = wake_loop, .wake_arg = loop};
 *     err = dg_engine_new(&opts, &error, &engine);
 *     err = dg_engine_load(engine, "fr-en", "models/fr-en", NULL, NULL, &error);
 *
 *     struct dg_engine_request request = DG_ENGINE_REQUEST_DEFAULT;
 *     request.text = DG_SPAN("Bonjour le monde. Comment allez-vous ?");
 *     request.target = "en";
 *     err = dg_engine_submit(engine, &request, &events, ctx, &error, &retry_ms, &id);
 *
 *     dg_engine_poll(engine);           after every wake-up; it calls the events
 *
 * A text is cut into sentences and separators (text/sentence/segment.h). Each sentence becomes a
 * ticket, and its answer takes its place in the text; separators return byte for byte, and so do
 * sentences that consist only of addresses, placeholders and the like. A sentence in ALL CAPS or
 * Title Case is translated in ordinary case, its case is restored afterwards (text/terms/casing.h),
 * and it is delivered in one piece. Deltas arrive in the order of the text: joined, they are the
 * result.
 *
 * One thread (the consumer) calls everything here and gets the events; `wake` is called by workers.
 */
#ifndef DG_ENGINE_ENGINE_H
#define DG_ENGINE_ENGINE_H

#include "base/memory/clock.h"
#include "base/memory/err.h"
#include "base/memory/error.h"
#include "base/memory/span.h"
#include "decode/opts.h"
#include "markup/doc.h"
#include "sched/sched.h"
#include "text/terms/glossary.h"
#include "tokenize/tokenizer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DG_ENGINE_GLOSSARIES = 8 };

enum dg_engine_model_state {
    DG_ENGINE_MODEL_KNOWN,  /* not in memory; the next request has it loaded */
    DG_ENGINE_MODEL_WANTED, /* waits for its turn, or for memory */
    DG_ENGINE_MODEL_LOADING,
    DG_ENGINE_MODEL_READY,
    DG_ENGINE_MODEL_FAILED, /* a later request tries again, but not an immediate one */
};

struct dg_engine_opts {
    size_t n_threads;  /* workers; 0: one for each core we may use */
    bool pins_workers; /* each worker to its own core */
    size_t n_helpers;  /* idle workers that help another with its large matrix products; 0: none */
    size_t max_sentences; /* waiting and under way together; 0: 10,000 */
    size_t slots;         /* sentences under way in each worker; 0: 32 */
    size_t rows;          /* hypotheses under way in each worker; 0: 4 for each slot */
    size_t source_max;    /* tokens of a sentence; longer ones are cut and rejoined; 0: 256 */
    size_t target_max;    /* 0: 512 */
    size_t prompt_max;    /* tokens of a language model's prompt; 0: 2,048 */
    size_t beam_max; /* hypotheses, draws or answers that a request may ask for; 0: no further limit
                      */
    size_t min_len_max; /* largest minimum length that a request may set, in tokens; 0: no further
                           limit */
    size_t kv_tokens;   /* cached positions in each worker; 0: 256 for each slot */
    uint64_t batch_delay_ns;
    size_t cache_bytes; /* of the sentence cache; 0: none */
    /* An answer is for the client that asked first, and the remote cache is not asked. */
    bool cache_per_client;
    size_t models_bytes; /* of all models together, with the memory of their workers; 0: no limit.
                          * Slots, rows and kv_tokens are then upper bounds */
    size_t texts_bytes;  /* of the texts of all requests together, and so of one; 0: no limit */
    size_t max_tokens;   /* of all sentences waiting; 0: no limit */
    uint64_t stall_ns;   /* a worker that spends so long on one step has stalled; 0: 10 s */
    bool (*on_turn)(void *arg, size_t index); /* as in dg_sched_opts: lets tests make workers hang
                                               */
    void *on_turn_arg;
    uint64_t model_idle_ns;  /* a model that gets no request for so long is unloaded; 0: never */
    const char *langid_path; /* data of language identification; NULL: languages are not detected */
    size_t alignment_layer, alignment_head; /* as in dg_decoder_limits */
    bool whole_vocabulary;  /* ignore the shortlist (lex.bin) that a model may bring */
    struct dg_clock *clock; /* borrowed; NULL: the machine's */
    void (*wake)(void *arg);
    void *wake_arg;
    /* Called before an offered model is loaded, on the thread that loads it; NULL: every model is
     * admitted. */
    enum dg_err (*admit)(void *arg, const char *name, const char *path, struct dg_error *error);
    /* Reports that an offered model was loaded (READY), was unloaded (KNOWN) or could not be loaded
     * (FAILED); may be NULL. `error` is "" or a sentence. Consumer's thread. */
    void (*on_model)(void *arg, const char *name, enum dg_engine_model_state state,
                     const char *error);
    void *model_arg; /* for admit and on_model */
};

/* One answer for one sentence, as text. */
struct dg_engine_answer {
    struct dg_span text;
    double logprob, score;
    enum dg_finish finish;
    bool repaired;         /* the loop guard had to restart the search */
    const int32_t *ids;    /* [n_ids] */
    const float *logprobs; /* [n_ids] */
    size_t n_ids;
    const float *alignment; /* [n_ids, n_source] or NULL */
    const size_t *ends;     /* [n_ids] how long `text` was after each token: of the best answer of a
                               text without markup, if the request wanted an alignment and tokens have
                               places; else NULL */
};

/* One sentence of a request. Everything is borrowed until the event returns. */
struct dg_engine_sentence {
    size_t index;                  /* among the sentences, from 0 */
    size_t at, len;                /* bytes of the original text */
    size_t n_lost;                 /* protected spans that the translation lacks */
    bool was_cut;                  /* part of a sentence that was too long for the model */
    const struct dg_token *source; /* [n_source] its tokens, with offsets into the original text */
    size_t n_source;
    const struct dg_engine_answer *answers; /* best first */
    size_t n_answers;
    enum dg_err err; /* TIMEOUT, CANCELLED, ...: the answer is partial or missing */
};

/* A glossary term that the text contains, and whether the translation uses it. */
struct dg_engine_term {
    const struct dg_glossary_term *term;
    size_t at, len;           /* bytes of the original text */
    bool is_used;             /* the translation has the glossary's wording */
    bool has_place;           /* said_at and said_len are known */
    size_t said_at, said_len; /* where that wording stands: bytes of the translation */
};

struct dg_engine_result {
    enum dg_err err;   /* OK, or why the text is incomplete */
    const char *error; /* a sentence about it; NULL: only the standard text of `err` applies */
    struct dg_span text;
    enum dg_finish finish; /* the worst of all sentences: eos < loop < length < cancelled, failed */
    bool repaired;
    size_t n_sentences, n_cuts;
    size_t n_cached;            /* sentences answered from the cache */
    const struct dg_span *lost; /* [n_lost] protected spans that the translation lacks
                                   (text/terms/protect.h) */
    size_t n_lost;
    const struct dg_engine_term *terms; /* [n_terms] glossary terms, in the order of the text */
    size_t n_terms;
    const char *model, *source, *target;
    bool is_copy;           /* the text is unchanged: it is in the target language or has nothing to
                                         translate, or is_foreign */
    bool is_foreign;        /* the text is surely in `detected`, from which no model leads to the
                               target */
    bool has_quality;       /* the request asked for a quality, and the text has sentences */
    double quality;         /* the chrF to expect, 0 to 1: the mean over the sentences, each
                               weighted by the bytes of its source */
    const float *qualities; /* [n_sentences] the quality of each sentence, in order */
    const char *detected;   /* the text's language if it had to be detected; else NULL */
    float confidence;       /* of the detection, 0 to 1; 0 also if it recognised no language of the
                               models */
    size_t n_tokens_in, n_tokens_out, n_characters;
    size_t n_shown; /* characters of the original text, up to the end of the last sentence of which
                       anything was shown */
    uint64_t queue_ns;           /* the longest time that a sentence waited */
    uint64_t first_ns, total_ns; /* until the first token; until the end */
};

/* on_done is called exactly once for every accepted request; the others may be NULL. */
struct dg_engine_events {
    void (*on_delta)(void *ctx, struct dg_span text);
    void (*on_sentence)(void *ctx, const struct dg_engine_sentence *sentence);
    void (*on_done)(void *ctx, const struct dg_engine_result *result);
};

/* The formality of the translation, for models that have a choice. */
enum dg_formality {
    DG_FORMALITY_DEFAULT,
    DG_FORMALITY_FORMAL, /* DG_ERR_UNSUPPORTED if the model has no choice */
    DG_FORMALITY_INFORMAL,
    DG_FORMALITY_PREFER_FORMAL, /* the default if the model has no choice */
    DG_FORMALITY_PREFER_INFORMAL,
};

struct dg_engine_request {
    struct dg_span text;         /* valid UTF-8; copied */
    enum dg_doc_format format;   /* of the text; markup is placed around the translation of what it
                                    enclosed */
    struct dg_doc_opts doc;      /* options of the format; needed until submit returns */
    const char *model;           /* its name; NULL: `source` and `target` choose the model */
    const char *source, *target; /* language tags in any spelling. Source NULL, "" or "auto": the
                                  * language is detected among those that lead to the target. With a
                                  * model's name, NULL or "" means the model's only source language
                                  */
    struct dg_span whole;        /* if the text is the end of a longer one: that longer text, for
                                  * language detection; lives until on_done. Empty: the text is all
                                  * there is */
    enum dg_formality formality;
    struct dg_search_opts search; /* what it points to lives until on_done */
    enum dg_priority priority;
    uint64_t client; /* clients share the workers fairly (sched/ticket.h); 0: no particular one */
    uint64_t timeout_ms;           /* 0: none */
    bool keep_lines_whole;         /* every line is one sentence */
    bool join_lines;               /* hard-wrapped lines of a paragraph are one text */
    bool usual_beam, usual_length; /* use the model's own beam, or length penalty, in place of
                                    * search.beam, search.length_penalty; with forced words the
                                    * penalty is at most 1 */
    bool no_cache;                 /* the cache is neither read nor written */
    bool quality;                  /* estimate the quality of the translation; DG_ERR_UNSUPPORTED
                                    * if no estimator (struct dg_engine_model) judges the model */
    bool keep_case;                /* ALL CAPS and Title Case go to the model as they are, as they
                                    * always do when text is forced */

    const char *const *only; /* [n_only] names of the models that may be used; not copied: they live
                              * until on_done; n_only 0: all */
    size_t n_only;

    /* Text that the translation is forced to contain; copied. It replaces the corresponding options
     * of `search`. */
    struct dg_span prefix;      /* the first sentence begins with this, however unlikely it is */
    const struct dg_span *must; /* [n_must] each sentence contains these phrases */
    size_t n_must;              /* at most DG_CONSTRAINTS_MAX */

    /* Addresses, placeholders, tags and the like come through unchanged (text/terms/protect.h), and
     * so do these texts wherever they occur. */
    const struct dg_span *protect; /* [n_protect] lives until on_done */
    size_t n_protect;
    bool no_protect; /* nothing is protected */

    /* How terms are translated (text/terms/glossary.h), for each language pair of the glossaries.
     * The first glossary that has a term decides. They live until on_done. */
    struct dg_glossary *const *glossaries; /* [n_glossaries] at most DG_ENGINE_GLOSSARIES */
    size_t n_glossaries;
    bool glossaries_fit; /* refuse a glossary that lacks the request's language pair */
};

#define DG_ENGINE_REQUEST_DEFAULT                                                                  \
    {                                                                                              \
        .search = DG_SEARCH_OPTS_DEFAULT, .priority = DG_PRIORITY_NORMAL                           \
    }

struct dg_engine;

enum dg_err dg_engine_new(const struct dg_engine_opts *opts, struct dg_error *error,
                          struct dg_engine **engine) DG_MUST_CHECK;

/* Unfinished requests end without events. NULL is fine. */
void dg_engine_free(struct dg_engine *engine);

/* The configuration of a model. */
struct dg_engine_model {
    const char *name, *path;
    const char *source, *target; /* languages (langs.h); NULL or "": those of the vocabulary or the
                                  * name */
    const char *formal, *informal; /* words that set the formality (langs.h); NULL or "": none */
    const char *template, *stop;   /* how a language model is asked to translate
                                    * (translation_prompt.h); NULL or "": it does not translate */
    const char *judges;            /* of a quality estimator (model/calibration.h): the models whose
                                    * translations it judges, separated by commas, as answers name
                                    * them; NULL or "": as its directory says */
};

/* Loads a model directory under `name`, after a trial translation has shown that the model works.
 * A model that had the name finishes what it has begun. `source` and `target` NULL: from the name.
 */
enum dg_err dg_engine_load(struct dg_engine *engine, const char *name, const char *path,
                           const char *source, const char *target,
                           struct dg_error *error) DG_MUST_CHECK;

/* The same in two steps: opening takes long and may run on any thread; publishing is quick and
 * runs on the consumer's thread. The caller closes a model that it does not publish (consumer
 * thread). */
struct dg_served_model;
enum dg_err dg_engine_open(struct dg_engine *engine, const struct dg_engine_model *model,
                           struct dg_error *error, struct dg_served_model **served) DG_MUST_CHECK;
enum dg_err dg_engine_publish(struct dg_engine *engine, struct dg_served_model *served,
                              struct dg_error *error) DG_MUST_CHECK; /* takes `served`, also on
                                                                        failure */
void dg_engine_close(struct dg_served_model *served);                /* mirror of open */

/* Announces how many models will be offered: if memory is limited, models opened from now on are
 * sized accordingly. Any thread. */
void dg_engine_expect(struct dg_engine *engine, size_t n_models);

/* Opens a model without loading it: only its files are checked and its memory measured. Once
 * published it is offered; the first request for it makes it load, and waits for that. */
enum dg_err dg_engine_offer(struct dg_engine *engine, const struct dg_engine_model *model,
                            struct dg_error *error, struct dg_served_model **served) DG_MUST_CHECK;

enum dg_err dg_engine_unload(struct dg_engine *engine, const char *name,
                             struct dg_error *error) DG_MUST_CHECK;

const char *dg_engine_model_state_name(enum dg_engine_model_state state); /* "idle", "loading",
                                                                             "ready", ... */

struct dg_langs;
struct dg_engine_model_info {
    const char *name, *source, *target; /* borrowed until the next load or unload; "" for a side
                                           with many languages */
    const struct dg_langs *langs;       /* all of both sides (langs.h); borrowed likewise */
    enum dg_engine_model_state state;
    const char *failure; /* when it FAILED, the error as a sentence for the operator (it names
                          * paths); else "" */
    size_t bytes;        /* memory it takes, or would take */
    size_t n_source_words, n_target_words, n_parameters_bytes;
    size_t n_beams; /* this and the length penalty: the model's own defaults */
    double length_penalty;
    size_t source_max, target_max;
    size_t slots;           /* sentences under way in each worker */
    bool is_language_model; /* it continues text (generate.h) and does not translate */
    bool is_reader;         /* it analyses texts (read.h) and does not translate */
    unsigned can;           /* a reader's tasks: a bit for each of enum dg_read_task */
    const char *labels;     /* how it classifies: "one" label is right, "any" number of labels is
                             * right, or it returns a "number"; NULL: it does not classify */
    bool says_number;       /* it scores two texts with one number, as a quality estimator does */
    const char *judges;     /* of a quality estimator: the models that it judges, separated by
                             * commas; else NULL */
};

/* What the scheduler has counted for a model, under its name and since the start. */
void dg_engine_read_model_stats(struct dg_engine *engine, size_t index,
                                struct dg_sched_stats *stats);

/* How many models are offered, and how many of them are usable: in any state but FAILED. */
size_t dg_engine_n_models(const struct dg_engine *engine);
size_t dg_engine_n_usable(const struct dg_engine *engine);
struct dg_engine_model_info dg_engine_model_info(const struct dg_engine *engine, size_t index);

/* Counts up whenever a model comes or goes, so that whoever reports the models knows when the
 * report is out of date. */
uint64_t dg_engine_models_version(const struct dg_engine *engine);

/* True when a text in `source` can be translated to `target`, so that submit would not refuse it.
 */
bool dg_engine_leads(const struct dg_engine *engine, const char *source, const char *target);

/* DG_ERR_NOT_FOUND: no such model or pair; DG_ERR_DENIED: it exists, but `only` excludes it;
 * DG_ERR_BUSY: the engine is full (*retry_ms says when to try again); DG_ERR_UTF8, DG_ERR_RANGE and
 * others come with a sentence. Errors inside a long document are reported by on_done. *id names the
 * request for cancel. */
enum dg_err dg_engine_submit(struct dg_engine *engine, const struct dg_engine_request *request,
                             const struct dg_engine_events *events, void *ctx,
                             struct dg_error *error, uint64_t *retry_ms,
                             uint64_t *id) DG_MUST_CHECK;

/* Whether there is a model for the request; its text may be empty. Errors as of dg_engine_submit.
 */
enum dg_err dg_engine_can(struct dg_engine *engine, const struct dg_engine_request *request,
                          struct dg_error *error) DG_MUST_CHECK;

/* Cancels a request; a later poll calls on_done (err CANCELLED). False: the request is over. */
bool dg_engine_cancel(struct dg_engine *engine, uint64_t id);

/* Handles all news; returns how many requests are under way. Call it at every wake-up and also a
 * few times a second: nothing else notices when a request that waits for a model is late, or when a
 * model has become idle. */
size_t dg_engine_poll(struct dg_engine *engine);

/* Languages by their tags, in any spelling. */
struct dg_engine_languages {
    const char *const *tags; /* [n] */
    size_t n;
};

/* The likeliest languages of a text, best first, at most `max`; *n is 0 for a text without letters.
 * Only languages of `among` are named, as far as the data knows them; NULL: every language that the
 * data knows, not only the models' languages. DG_ERR_UNSUPPORTED: there is no data. */
struct dg_langid_guess;
enum dg_err dg_engine_detect(const struct dg_engine *engine, struct dg_span text,
                             const struct dg_engine_languages *among,
                             struct dg_langid_guess *guesses, size_t max, struct dg_error *error,
                             size_t *n) DG_MUST_CHECK;

/* Counters of the sentence cache; all zero when there is none. */
struct dg_engine_cache_stats {
    uint64_t n_hits, n_joined, n_misses, n_evicted; /* joined: another request was translating
                                                       the sentence already */
    size_t n_entries, bytes, bytes_max;
};
/* Of one model, since the start: only hits, joined and misses. */
void dg_engine_read_model_cache_stats(const struct dg_engine *engine, size_t index,
                                      struct dg_engine_cache_stats *stats);
void dg_engine_read_cache_stats(const struct dg_engine *engine,
                                struct dg_engine_cache_stats *stats);

/* The qualities that an estimator has given since the start. */
enum { DG_QUALITY_BUCKETS = 10 };
struct dg_engine_quality_stats {
    uint64_t buckets[DG_QUALITY_BUCKETS]; /* sentences of a quality up to 0.1, 0.2, ... 1 */
    double sum;
};
void dg_engine_read_quality_stats(const struct dg_engine *engine, size_t index,
                                  struct dg_engine_quality_stats *stats);

/* Memory promised to models (those that are leaving included), and what waits for it. */
struct dg_engine_memory {
    size_t models, models_max; /* max 0: no limit */
    size_t texts;              /* of requests under way */
    size_t n_waiting;          /* requests that wait for a model */
};
void dg_engine_read_memory(const struct dg_engine *engine, struct dg_engine_memory *memory);

void dg_engine_read_stats(struct dg_engine *engine, struct dg_sched_stats *stats);

#endif
