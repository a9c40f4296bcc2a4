/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A request for a translation, and its result (engine.h). */
#ifndef DG_ENGINE_INTERFACE_ENGINE_REQUEST_H
#define DG_ENGINE_INTERFACE_ENGINE_REQUEST_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"
#include "decode/search_opts.h"
#include "markup/doc.h"
#include "sched/ticket.h"
#include "text/terms/glossary.h"
#include "tokenize/tokenizer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DG_ENGINE_GLOSSARIES = 8 };

/* The confidence from which a detected language counts as certain. */
#define DG_ENGINE_SURE 0.8f

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
    /* [n_ids] the length of `text` after each token; only for the best answer of a text without
     * markup, if the request wanted an alignment and tokens have places; else NULL */
    const size_t *ends;
};

/* One sentence of a request. Everything is borrowed until the event returns. */
struct dg_engine_sentence {
    size_t index;                  /* index among the sentences, from 0 */
    size_t at, len;                /* bytes of the original text */
    size_t n_lost;                 /* protected spans that the translation lacks */
    bool was_cut;                  /* it is a part of a sentence that was too long for the model */
    const struct dg_token *source; /* [n_source] its tokens, with offsets into the original text */
    size_t n_source;
    const struct dg_engine_answer *answers; /* best first */
    size_t n_answers;
    enum dg_err err; /* TIMEOUT, CANCELLED, ...: the answer is incomplete or missing */
};

/* A glossary term that the text contains, and whether the translation uses it. */
struct dg_engine_term {
    const struct dg_glossary_term *term;
    size_t at, len;           /* bytes of the original text */
    bool is_used;             /* the translation has the glossary's wording */
    bool has_place;           /* said_at and said_len are known */
    size_t said_at, said_len; /* where that wording lies in the translation, in bytes */
};

struct dg_engine_result {
    enum dg_err err;   /* DG_OK, or why the text is incomplete */
    const char *error; /* a sentence about `err`; NULL: only its standard text applies */
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
    bool is_copy;    /* the text is returned unchanged: it is in the target language, has nothing to
                        translate, or is_foreign */
    bool is_foreign; /* No model leads from the text's language to the target. That language is
                        `detected`, surely if the confidence is DG_ENGINE_SURE or more. */
    bool has_quality; /* the request asked for a quality, and the text has sentences */
    double quality; /* The expected chrF, 0 to 1: the mean over the sentences, weighted by the bytes
                       of their sources. */
    const float *qualities; /* [n_sentences] the quality of each sentence, in order */
    const char *detected;   /* the text's language if it had to be detected; else NULL */
    float confidence; /* how sure the detection is, 0 to 1; 0 also if no language of the models was
                         recognised */
    size_t n_tokens_in, n_tokens_out, n_characters;
    /* Characters of the original text up to the end of the last sentence that was shown at least in
     * part. */
    size_t n_shown;
    uint64_t queue_ns;           /* the longest time that a sentence waited */
    uint64_t first_ns, total_ns; /* time until the first token, and until the end */
    struct dg_buf *memory;       /* that of `text`, which on_done may take; NULL: it may not */
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
    struct dg_span text;       /* valid UTF-8; copied */
    bool is_utf8;              /* the caller has found that it is, so it is not checked again */
    enum dg_doc_format format; /* the format of the text; markup is placed around the translation of
                                  what it enclosed */
    struct dg_doc_opts doc;    /* options of the format; needed until submit returns */
    const char *model;         /* the name of the model; NULL: `source` and `target` choose it */
    /* Language tags in any spelling. Source NULL, "" or "auto": the language is detected among
     * those that can be translated to the target. If a model is named, NULL or "" means its only
     * source language. */
    const char *source, *target;
    /* If the text is the end of a longer text: that longer text, from which the language is
     * detected; it lives until on_done. Empty: the text is complete. */
    struct dg_span whole;
    enum dg_formality formality;
    struct dg_search_opts search; /* what it points to lives until on_done */
    enum dg_priority priority;
    /* clients share the workers fairly (sched/ticket.h); 0: no particular client */
    uint64_t client;
    uint64_t timeout_ms;   /* 0: none */
    bool keep_lines_whole; /* every line is one sentence */
    bool join_lines;       /* hard-wrapped lines of a paragraph are one text */
    /* The model's own beam, or length penalty, is used in place of search.beam, or
     * search.length_penalty; with forced words the penalty is at most 1. */
    bool usual_beam, usual_length;
    bool no_cache; /* the cache is neither read nor written */
    /* The quality of the translation is to be estimated; DG_ERR_UNSUPPORTED if no estimator
     * (struct dg_engine_model) judges the model. */
    bool quality;
    /* ALL CAPS and Title Case go to the model unchanged; always so when text is forced */
    bool keep_case;

    const char *const *only; /* [n_only] names of the models that may be used; not copied: they live
                              * until on_done; n_only 0: all */
    size_t n_only;

    /* Text that the translation is forced to contain; copied. It replaces the corresponding options
     * of `search`. */
    struct dg_span prefix;      /* the first sentence begins with this, however improbable it is */
    const struct dg_span *must; /* [n_must] each sentence contains these phrases */
    size_t n_must;              /* at most DG_CONSTRAINTS_MAX */

    /* Addresses, placeholders, tags and the like come through unchanged (text/terms/protect.h), and
     * so do these texts wherever they occur. */
    const struct dg_span *protect; /* [n_protect] lives until on_done */
    size_t n_protect;
    bool no_protect;   /* nothing is protected */
    bool copy_numbers; /* numbers are protected too, instead of being left to the model */

    /* How terms are translated (text/terms/glossary.h), for each language pair of the
     * glossaries. If several glossaries have a term, the first one decides. They live until
     * on_done. */
    struct dg_glossary *const *glossaries; /* [n_glossaries] at most DG_ENGINE_GLOSSARIES */
    size_t n_glossaries;
    bool glossaries_fit; /* a glossary that lacks the request's language pair is refused */
};

#define DG_ENGINE_REQUEST_DEFAULT                                                                  \
    {                                                                                              \
        .search = DG_SEARCH_OPTS_DEFAULT, .priority = DG_PRIORITY_NORMAL                           \
    }

#endif
