/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The engine: text in, text out, for many at once.
 *
 *     struct dg_engine *engine;
 *     err = dg_engine_new(&(struct dg_engine_opts){.wake = wake_loop, .wake_arg = loop}, &error,
 * &engine); err = dg_engine_load(engine, "fr-en", "models/fr-en", NULL, NULL, &error);
 *
 *     struct dg_engine_request request = DG_ENGINE_REQUEST_DEFAULT;
 *     request.text = DG_SPAN("Bonjour le monde. Comment allez-vous ?");
 *     request.target = "en";
 *     err = dg_engine_submit(engine, &request, &events, ctx, &error, &retry_ms, &id);
 *
 *     after every wake-up:  dg_engine_poll(engine);                  calls the events
 *
 * A text is cut into sentences and what stands between them (text/sentence/segment.h); each
 * sentence becomes a ticket; answers are put back in place, so that everything that is no sentence
 * returns byte for byte. Sentences of nothing but addresses, placeholders and the like are no
 * sentences either. ALL CAPS and Title Case are translated in ordinary case and put back
 * (text/terms/casing.h); such sentences come in one piece. Deltas come in the order of the text:
 * joined, they are the result.
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
    DG_ENGINE_MODEL_FAILED, /* the next request tries again, unless it comes at once */
};

struct dg_engine_opts {
    size_t n_threads;  /* workers; 0: one for each core we may use */
    bool pins_workers; /* each on a core of its own */
    size_t n_helpers; /* workers without work that take part in another's large products; 0: none */
    size_t max_sentences; /* waiting and under way together; 0: 10,000 */
    size_t slots;         /* sentences under way in each worker; 0: 32 */
    size_t rows;          /* hypotheses under way in each worker; 0: 4 for each slot */
    size_t source_max;    /* tokens of a sentence; longer ones are cut and rejoined; 0: 256 */
    size_t target_max;    /* 0: 512 */
    size_t prompt_max;    /* tokens of a language model's prompt; 0: 2,048 */
    size_t beam_max; /* hypotheses, draws or answers that a request may ask for; 0: as many as there
                        can be */
    size_t min_len_max; /* least length that a request may demand, in tokens; 0: as long as there
                           can be */
    size_t kv_tokens;   /* cached positions in each worker; 0: 256 for each slot */
    uint64_t batch_delay_ns;
    size_t cache_bytes;  /* of the sentence cache; 0: none */
    size_t models_bytes; /* of all models together, with the memory of their workers; 0: no limit.
                          * Slots, rows and kv_tokens are then upper bounds */
    size_t texts_bytes;  /* of the texts of all requests together, and so of one; 0: no limit */
    size_t max_tokens;   /* of all sentences waiting; 0: no limit */
    uint64_t stall_ns;   /* a worker that is at one step for so long has stalled; 0: 10 s */
    bool (*on_turn)(void *arg, size_t index); /* as in dg_sched_opts: tests let workers hang */
    void *on_turn_arg;
    uint64_t model_idle_ns;  /* a model without a request for so long leaves memory; 0: never */
    const char *langid_path; /* data of language identification; NULL: languages are not detected */
    size_t alignment_layer, alignment_head; /* as in dg_decoder_limits */
    bool whole_vocabulary;  /* models that bring a shortlist (lex.bin) do without it */
    struct dg_clock *clock; /* borrowed; NULL: the machine's */
    void (*wake)(void *arg);
    void *wake_arg;
    /* Asked, on the thread that loads it, before a model that was offered is loaded; NULL:
     * everything is admitted. */
    enum dg_err (*admit)(void *arg, const char *name, const char *path, struct dg_error *error);
    /* A model that was offered came (READY), left (KNOWN) or could not come (FAILED); NULL: nobody
     * is told. `error` is "" or a sentence. Consumer's thread. */
    void (*on_model)(void *arg, const char *name, enum dg_engine_model_state state,
                     const char *error);
    void *model_arg; /* of both */
};

/* One answer for one sentence, as text. */
struct dg_engine_answer {
    struct dg_span text;
    double logprob, score;
    enum dg_finish finish;
    bool repaired;         /* the loop guard had to begin again */
    const int32_t *ids;    /* [n_ids] */
    const float *logprobs; /* [n_ids] */
    size_t n_ids;
    const float *alignment; /* [n_ids, n_source] or NULL */
};

/* One sentence of a request. Everything is borrowed until the event returns. */
struct dg_engine_sentence {
    size_t index;                  /* among the sentences, from 0 */
    size_t at, len;                /* bytes of the original text */
    size_t n_lost;                 /* spans that were to come back and did not */
    bool was_cut;                  /* part of a sentence that was too long for the model */
    const struct dg_token *source; /* [n_source] its tokens, with offsets into the original text */
    size_t n_source;
    const struct dg_engine_answer *answers; /* best first */
    size_t n_answers;
    enum dg_err err; /* TIMEOUT, CANCELLED, ...: the answer is partial or missing */
};

/* A term of a glossary that the text has, and what became of it. */
struct dg_engine_term {
    const struct dg_glossary_term *term;
    size_t at, len;           /* bytes of the original text */
    bool is_used;             /* the translation calls it as the glossary does, */
    bool has_place;           /* here: */
    size_t said_at, said_len; /* bytes of the translation */
};

struct dg_engine_result {
    enum dg_err err;   /* OK, or why the text is not whole */
    const char *error; /* a sentence about that; NULL: there is none but the error's own */
    struct dg_span text;
    enum dg_finish finish; /* the worst of all sentences: eos < loop < length < cancelled, failed */
    bool repaired;
    size_t n_sentences, n_cuts;
    size_t n_cached;            /* sentences whose answer was there */
    const struct dg_span *lost; /* [n_lost] what was to come back as it is and did not
                                   (text/terms/protect.h) */
    size_t n_lost;
    const struct dg_engine_term *terms; /* [n_terms] of glossaries, in the order of the text */
    size_t n_terms;
    const char *model, *source, *target;
    bool is_copy; /* the text is as it was: it is in the target language, has nothing to translate,
                     or */
    bool is_foreign;  /* is surely in `detected`, from which no model leads to the target */
    bool has_quality; /* it was asked for, and the text has sentences: */
    double quality; /* the chrF to expect, 0 to 1; the mean of the sentences' by the bytes of their
                       sources */
    const float *qualities; /* [n_sentences] theirs, in their order */
    const char *detected;   /* the text's language, when it had to be found out; else NULL */
    float confidence;       /* of that, 0 to 1; 0 also when no model's language was recognised */
    size_t n_tokens_in, n_tokens_out, n_characters;
    size_t n_shown; /* characters of the text as it came, up to the end of the last sentence of
                       which anything was shown */
    uint64_t queue_ns, first_ns, total_ns; /* longest wait of a sentence; to the first token; in all
                                            */
};

/* Any may be NULL but on_done, which is called exactly once for every accepted request. */
struct dg_engine_events {
    void (*on_delta)(void *ctx, struct dg_span text);
    void (*on_sentence)(void *ctx, const struct dg_engine_sentence *sentence);
    void (*on_done)(void *ctx, const struct dg_engine_result *result);
};

/* In what manner the target language is to be said, where a model can be told. */
enum dg_formality {
    DG_FORMALITY_DEFAULT,
    DG_FORMALITY_FORMAL, /* DG_ERR_UNSUPPORTED where it cannot be */
    DG_FORMALITY_INFORMAL,
    DG_FORMALITY_PREFER_FORMAL, /* as usual where it cannot be */
    DG_FORMALITY_PREFER_INFORMAL,
};

struct dg_engine_request {
    struct dg_span text;         /* valid UTF-8; copied */
    enum dg_doc_format format;   /* of the text; its markup comes back around what it was around */
    struct dg_doc_opts doc;      /* of that; needed until submit returns */
    const char *model;           /* by name; or NULL and: */
    const char *source, *target; /* language tags in any spelling; source NULL, "" or "auto": what
                                  * the text is in, of the languages that lead to the target. With a
                                  * model's name it is the model's one source language unless "auto"
                                  * is said */
    struct dg_span whole; /* where the text is the end of a longer one that is known: all of that,
                           * for its language; it lives until on_done. Empty: the text is all there
                           * is */
    enum dg_formality formality;
    struct dg_search_opts search; /* what it points to lives until on_done */
    enum dg_priority priority;
    uint64_t client; /* who asks: clients share the work (sched/ticket.h); 0: nobody in particular
                      */
    uint64_t timeout_ms;           /* 0: none */
    bool keep_lines_whole;         /* every line is one sentence */
    bool join_lines;               /* hard-wrapped lines of a paragraph are one text */
    bool usual_beam, usual_length; /* search.beam, search.length_penalty are not said: as the
                                    * model's makers have them, the penalty at most 1 where words
                                    * are demanded */
    bool no_cache;                 /* neither read nor kept */
    bool quality;   /* how good the translation is is told with it: DG_ERR_UNSUPPORTED where no
                     * estimator   (struct dg_engine_model) judges the model */
    bool keep_case; /* ALL CAPS and Title Case go to the model as they are; so they do
                     * where text is demanded */

    const char *const *only; /* [n_only] names of the models that may be used; copied by nobody, so
                              * they live until on_done; n_only 0: all */
    size_t n_only;

    /* Text that is demanded of the translation; copied. It replaces what `search` says of the same.
     */
    struct dg_span prefix;      /* its first sentence begins with this, whatever it costs */
    const struct dg_span *must; /* [n_must] each of its sentences contains these phrases */
    size_t n_must;              /* at most DG_CONSTRAINTS_MAX */

    /* Addresses, placeholders, tags and the like come back as they are (text/terms/protect.h), and
     * so does: */
    const struct dg_span *protect; /* [n_protect] text wherever it stands; lives until on_done */
    size_t n_protect;
    bool no_protect; /* nothing is protected */

    /* What terms are called (text/terms/glossary.h), for each pair of languages that they have; the
     * first that knows a term says. They live until on_done. */
    struct dg_glossary *const *glossaries; /* [n_glossaries] at most DG_ENGINE_GLOSSARIES */
    size_t n_glossaries;
    bool glossaries_fit; /* one without the request's pair of languages is refused */
};

#define DG_ENGINE_REQUEST_DEFAULT                                                                  \
    {                                                                                              \
        .search = DG_SEARCH_OPTS_DEFAULT, .priority = DG_PRIORITY_NORMAL                           \
    }

struct dg_engine;

enum dg_err dg_engine_new(const struct dg_engine_opts *opts, struct dg_error *error,
                          struct dg_engine **engine) DG_MUST_CHECK;

/* Requests that are not over end without events. NULL is fine. */
void dg_engine_free(struct dg_engine *engine);

/* A model as it is configured. */
struct dg_engine_model {
    const char *name, *path;
    const char *source, *target;   /* languages (langs.h); NULL or "": of the vocabulary or the name
                                    */
    const char *formal, *informal; /* the words of manners (langs.h); NULL or "": none */
    const char *template, *stop;   /* how a language model is asked to translate
                                      (translation_prompt.h); NULL or "": it is not */
    const char *judges;            /* of a quality estimator (model/calibration.h): the models whose
                                    * translations it judges,            with commas between, as answers name
                                    * them; NULL            or "": as its directory has it */
};

/* Loads a model directory under `name`, in place of one that has it (which finishes what it has
 * begun), after a translation of its own has shown that it works. `source` and `target` NULL: from
 * the name. */
enum dg_err dg_engine_load(struct dg_engine *engine, const char *name, const char *path,
                           const char *source, const char *target,
                           struct dg_error *error) DG_MUST_CHECK;

/* The same in two steps: opening takes its time and may run on any thread; publishing is quick and
 * is the consumer's. What was opened and is not published is closed (consumer thread). */
struct dg_served_model;
enum dg_err dg_engine_open(struct dg_engine *engine, const struct dg_engine_model *model,
                           struct dg_error *error, struct dg_served_model **served) DG_MUST_CHECK;
enum dg_err dg_engine_publish(struct dg_engine *engine, struct dg_served_model *served,
                              struct dg_error *error) DG_MUST_CHECK; /* takes `loaded`, also on
                                                                        failure */
void dg_engine_close(struct dg_served_model *served);                /* mirror of open */

/* So many models will be offered; where memory is limited, those that are opened from now on are
 * sized accordingly. Any thread. */
void dg_engine_expect(struct dg_engine *engine, size_t n_models);

/* Opens no more than what tells a model from something else: its files are checked and its memory
 * measured. Published, it is offered; the first request for it has it loaded, and waits. */
enum dg_err dg_engine_offer(struct dg_engine *engine, const struct dg_engine_model *model,
                            struct dg_error *error, struct dg_served_model **served) DG_MUST_CHECK;

enum dg_err dg_engine_unload(struct dg_engine *engine, const char *name,
                             struct dg_error *error) DG_MUST_CHECK;

const char *dg_engine_model_state_name(enum dg_engine_model_state state); /* "idle", "loading",
                                                                             "ready", ... */

struct dg_langs;
struct dg_engine_model_info {
    const char *name, *source, *target; /* borrowed until the next load or unload; "" for a side of
                                           many languages */
    const struct dg_langs *langs;       /* all of both sides (langs.h); borrowed likewise */
    enum dg_engine_model_state state;
    const char *failure; /* the sentence, when it FAILED; else "". It names paths: for the operator
                          */
    size_t bytes;        /* memory it takes, or would take */
    size_t n_source_words, n_target_words, n_parameters_bytes;
    size_t n_beams; /* its makers' habits */
    double length_penalty;
    size_t source_max, target_max;
    size_t slots;           /* sentences under way in each worker */
    bool is_language_model; /* it goes on with text (generate.h) and translates nothing */
    bool is_reader;         /* it says something of texts (read.h) and translates nothing: */
    unsigned can;           /* ... a bit for each of enum dg_read_task */
    const char *labels;     /* how it classifies: "one" label is right, "any" number of them are, it
                             * says a     "number"; NULL: it does not */
    bool says_number;       /* it says one number of two texts: what a quality estimator does */
    const char *judges; /* a quality estimator: the models that it judges, with commas between; else
                           NULL */
};

/* Models that are offered; and those of them that are in memory, or could be: not FAILED. */
/* What the scheduler has counted for a model, under its name and since the start. */
void dg_engine_read_model_stats(struct dg_engine *engine, size_t index,
                                struct dg_sched_stats *stats);

size_t dg_engine_n_models(const struct dg_engine *engine);
size_t dg_engine_n_usable(const struct dg_engine *engine);
struct dg_engine_model_info dg_engine_model_info(const struct dg_engine *engine, size_t index);

/* Counts up whenever a model comes or goes: what was said of models is said anew. */
uint64_t dg_engine_models_version(const struct dg_engine *engine);

/* True when a text in `source` can be translated to `target`: what submit would not refuse. */
bool dg_engine_leads(const struct dg_engine *engine, const char *source, const char *target);

/* DG_ERR_NOT_FOUND: no such model or pair; DG_ERR_DENIED: there is, but not for this request
 * (`only`); DG_ERR_BUSY: full (*retry_ms says when to try again); DG_ERR_UTF8, DG_ERR_RANGE, ...:
 * with a sentence. What is wrong with a long document is told by on_done. *id names the request for
 * cancel. */
enum dg_err dg_engine_submit(struct dg_engine *engine, const struct dg_engine_request *request,
                             const struct dg_engine_events *events, void *ctx,
                             struct dg_error *error, uint64_t *retry_ms,
                             uint64_t *id) DG_MUST_CHECK;

/* Whether there is a model for the request; its text may be empty. Errors as of dg_engine_submit.
 */
enum dg_err dg_engine_can(struct dg_engine *engine, const struct dg_engine_request *request,
                          struct dg_error *error) DG_MUST_CHECK;

/* Asks for the end of a request; on_done comes (err CANCELLED) from a later poll. False: it is
 * over. */
bool dg_engine_cancel(struct dg_engine *engine, uint64_t id);

/* Handles all news; returns how many requests are under way. Besides at every wake-up it is to be
 * called a few times a second: deadlines of requests that wait for a model, and the idleness of
 * models, have nobody else to tell them. */
size_t dg_engine_poll(struct dg_engine *engine);

/* Languages by their tags, in any spelling. */
struct dg_engine_languages {
    const char *const *tags; /* [n] */
    size_t n;
};

/* The likeliest languages of a text, best first, at most `max`; *n is 0 for a text without letters.
 * Only those of `among` are named, of which the data may not know some; NULL: all that it knows,
 * not only the models' languages. DG_ERR_UNSUPPORTED: there is no data. */
struct dg_langid_guess;
enum dg_err dg_engine_detect(const struct dg_engine *engine, struct dg_span text,
                             const struct dg_engine_languages *among,
                             struct dg_langid_guess *guesses, size_t max, struct dg_error *error,
                             size_t *n) DG_MUST_CHECK;

/* Counters of the sentence cache; all zero when there is none. */
struct dg_engine_cache_stats {
    uint64_t n_hits, n_joined, n_misses, n_evicted; /* joined: somebody was translating it already
                                                     */
    size_t n_entries, bytes, bytes_max;
};
/* Of one model, since the start: only hits, joined and misses. */
void dg_engine_read_model_cache_stats(const struct dg_engine *engine, size_t index,
                                      struct dg_engine_cache_stats *stats);
void dg_engine_read_cache_stats(const struct dg_engine *engine,
                                struct dg_engine_cache_stats *stats);

/* What an estimator has said, since the start. */
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
