/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The engine: takes texts from many clients at once and returns their translations.
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
#include "base/memory/turn.h"
#include "base/memory/error.h"
#include "base/memory/span.h"
#include "engine/interface/engine_model.h"
#include "engine/interface/engine_request.h"
#include "sched/sched.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_engine_opts {
    size_t n_threads;       /* workers; 0: one for each core we may use */
    bool pins_workers;      /* each worker stays on a core of its own */
    const char *nodes_root; /* as in dg_sched_opts: "" distributes the workers over the machine's
                               memory nodes, and copies the weights to each; NULL: neither */
    size_t n_helpers; /* idle workers that help another with its large matrix products; 0: none */
    size_t max_sentences; /* sentences that may wait or be under way, all together; 0: 10,000 */
    size_t slots;         /* sentences under way in each worker; 0: 32 */
    size_t rows;          /* hypotheses under way in each worker; 0: 4 for each slot */
    size_t source_max;    /* the most tokens of a sentence; longer ones are cut and joined again; 0:
                             256 */
    size_t target_max;    /* the most tokens of a translation; 0: 512 */
    size_t prompt_max;    /* the most tokens of a language model's prompt; 0: 2,048 */
    size_t beam_max;      /* the most hypotheses, draws or answers that a request may ask for; 0: no
                             further limit */
    size_t min_len_max;   /* the largest minimum length that a request may set, in tokens; 0: no
                             further limit */
    size_t kv_tokens;     /* cached positions in each worker; 0: 256 for each slot */
    enum dg_net_kv kv;    /* how their keys and values are stored */
    enum dg_net_type compute; /* the type that the products of all models are computed in */
    uint64_t batch_delay_ns;
    size_t cache_bytes; /* bytes of the sentence cache; 0: there is none */
    /* An answer in the cache serves only the client that asked first, and the remote cache is
     * not used. */
    bool cache_per_client;
    size_t models_bytes; /* Bytes of all models together, with the memory of their workers; 0: no
                            limit. Slots, rows and kv_tokens are then upper bounds. */
    size_t texts_bytes;  /* bytes of the texts of all requests together, and so of one text; 0: no
                            limit */
    size_t max_tokens;   /* tokens of all waiting sentences; 0: no limit */
    uint64_t stall_ns;   /* a worker that spends this long on one step has stalled; 0: 10 s */
    /* as in dg_sched_opts: lets tests make workers hang */
    bool (*on_turn)(void *arg, size_t index);
    void *on_turn_arg;
    uint64_t model_idle_ns;  /* a model without requests for this long is unloaded; 0: never */
    const char *langid_path; /* data of language identification; NULL: languages are not detected */
    size_t alignment_layer, alignment_head; /* see dg_decoder_limits */
    bool whole_vocabulary;  /* the shortlist (lex.bin) that a model may have is ignored */
    struct dg_clock *clock; /* borrowed; NULL: the machine's */
    struct dg_turn *turn; /* borrowed; the turns of the consumer's thread. NULL: each poll is one */
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

struct dg_engine;

enum dg_err dg_engine_new(const struct dg_engine_opts *opts, struct dg_error *error,
                          struct dg_engine **engine) DG_MUST_CHECK;

/* Frees the engine. Unfinished requests end without events. NULL is fine. */
void dg_engine_free(struct dg_engine *engine);

/* Loads a model directory under `name`, after a trial translation has shown that the model works. A
 * model that had the name finishes what it has begun. `source` and `target` NULL: the languages
 * come from the name. */
enum dg_err dg_engine_load(struct dg_engine *engine, const char *name, const char *path,
                           const char *source, const char *target,
                           struct dg_error *error) DG_MUST_CHECK;

/* The same in two steps: opening takes long and may run on any thread; publishing is quick and runs
 * on the consumer's thread. A caller that does not publish the model must close it, on the
 * consumer's thread. */
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
    const struct dg_langs *langs; /* all languages of both sides (langs.h); borrowed for as long */
    enum dg_engine_model_state state;
    const char *failure; /* when loading failed, the error as a sentence for the operator (it names
                            paths); else "". */
    size_t bytes;        /* memory that it takes, or would take */
    size_t n_source_words, n_target_words;
    size_t n_beams; /* n_beams and the length penalty are the model's own defaults */
    double length_penalty;
    size_t source_max, target_max;
    size_t slots;           /* sentences under way in each worker */
    bool is_language_model; /* it continues text (generate.h) and does not translate */
    bool is_reader;         /* it analyses texts (read.h) and does not translate */
    unsigned can;           /* tasks of a reader: a bit for each value of enum dg_read_task */
    const char *labels; /* How it classifies: "one" label is right, "any" number of labels is right,
                           or it returns a "number". NULL: it does not classify. */
    bool says_number;   /* it gives two texts one number, as a quality estimator does */
    const char *judges; /* for a quality estimator: the models that it judges, separated by commas;
                           else NULL */
    const char *good_for; /* what its card says that it is good for: "gist", "everyday" sentences,
                             "most" texts; NULL: nothing */
};

/* Reads the scheduler's counts for a model, under its name and since the start. */
void dg_engine_read_model_stats(struct dg_engine *engine, size_t index,
                                struct dg_sched_stats *stats);

/* Return how many models are offered, and how many of them are usable: in any state but FAILED. */
size_t dg_engine_n_models(const struct dg_engine *engine);
size_t dg_engine_n_usable(const struct dg_engine *engine);
struct dg_engine_model_info dg_engine_model_info(const struct dg_engine *engine, size_t index);

/* Counts up whenever a model comes or goes, so that whoever reports the models knows when the
 * report is out of date. */
uint64_t dg_engine_models_version(const struct dg_engine *engine);

/* Returns true when a text in `source` can be translated to `target`, so that submit would not
 * refuse it. */
bool dg_engine_leads(const struct dg_engine *engine, const char *source, const char *target);

/* Submits a request. DG_ERR_NOT_FOUND: no such model or pair; DG_ERR_DENIED: it exists, but `only`
 * excludes it; DG_ERR_BUSY: the engine is full (*retry_ms says when to try again); DG_ERR_UTF8,
 * DG_ERR_RANGE and others come with a sentence. Errors inside a long document are reported by
 * on_done. *id names the request for cancel. */
enum dg_err dg_engine_submit(struct dg_engine *engine, const struct dg_engine_request *request,
                             const struct dg_engine_events *events, void *ctx,
                             struct dg_error *error, uint64_t *retry_ms,
                             uint64_t *id) DG_MUST_CHECK;

/* Checks whether there is a model for the request, whose text may be empty. Errors are those of
 * dg_engine_submit. */
enum dg_err dg_engine_can(struct dg_engine *engine, const struct dg_engine_request *request,
                          struct dg_error *error) DG_MUST_CHECK;

/* Cancels a request; a later poll calls on_done (err CANCELLED). Returns false when the request is
 * over. */
bool dg_engine_cancel(struct dg_engine *engine, uint64_t id);

/* Handles all news and returns how many requests are under way. Call it at every wake-up and also a
 * few times a second: nothing else notices when a request that waits for a model is late, or when a
 * model has become idle. */
size_t dg_engine_poll(struct dg_engine *engine);

/* Returns the turns in which the engine works; NULL: there is no engine. */
struct dg_turn *dg_engine_turn(const struct dg_engine *engine);

/* Languages by their tags, in any spelling. */
struct dg_engine_languages {
    const char *const *tags; /* [n] */
    size_t n;
};

/* Guesses the likeliest languages of a text, best first, at most `max`; *n is 0 for a text without
 * letters. The guesses are languages of `among` that the data knows; `among` NULL: all languages
 * that the data knows, not only the models' languages. DG_ERR_UNSUPPORTED: there is no data. */
struct dg_langid_guess;
enum dg_err dg_engine_detect(const struct dg_engine *engine, struct dg_span text,
                             const struct dg_engine_languages *among,
                             struct dg_langid_guess *guesses, size_t max, struct dg_error *error,
                             size_t *n) DG_MUST_CHECK;

/* Takes the reason why languages cannot be detected, which may name a file: from then on requests
 * are only told that there is no data. False when they can be detected. */
bool dg_engine_take_langid_error(struct dg_engine *engine, struct dg_error *error);

/* Counts of one model since the start: only hits, joined and misses. */
void dg_engine_read_model_cache_stats(const struct dg_engine *engine, size_t index,
                                      struct dg_engine_cache_stats *stats);
void dg_engine_read_cache_stats(const struct dg_engine *engine,
                                struct dg_engine_cache_stats *stats);

void dg_engine_read_quality_stats(const struct dg_engine *engine, size_t index,
                                  struct dg_engine_quality_stats *stats);

/* The memory promised to models (including those that are being freed), and the number of requests
 * that wait for models. */
struct dg_engine_memory {
    size_t models, models_max; /* max 0: no limit */
    size_t texts;              /* bytes of the texts of requests under way */
    size_t n_waiting;          /* requests that wait for a model */
};
void dg_engine_read_memory(const struct dg_engine *engine, struct dg_engine_memory *memory);

size_t dg_engine_n_workers(const struct dg_engine *engine);
void dg_engine_read_stats(struct dg_engine *engine, struct dg_sched_stats *stats);

#endif
