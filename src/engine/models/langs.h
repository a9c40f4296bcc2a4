/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The languages of a model, on both sides, and how the network is told which of them are meant:
 *
 *     fixed          (nothing)                               one target (OPUS-MT ROMANCE-en)
 *     target first   >>fra<< text </s>                       many targets (OPUS-MT en-ROMANCE)
 *     source first   __fr__ text </s>  =>  __en__ text </s>  any pair (M2M100, NLLB)
 *     source last    text </s> fra_Latn  =>  eng_Latn text   any pair (older NLLB)
 *     in words       "Translate from French ..."             any configured pair
 *                                                            (translation_prompt.h)
 *
 *     err = dg_langs_new(&langs, &opts, &error);
 *     size_t s = dg_langs_find(langs->sources, langs->n_sources, &tag, text);
 *     struct dg_lang_pair pair = dg_langs_pair(langs, s, t);
 *     struct dg_tokenizer_opts how = dg_lang_pair_tokenizer_opts(&pair);    to tokenise a source
 *     dg_pair_lead(&pair, &search);                                         before the search
 *     dg_langs_unref(langs);
 *
 * Immutable and shared (ref); any thread. */
#ifndef DG_ENGINE_MODELS_LANGS_H
#define DG_ENGINE_MODELS_LANGS_H

#include "base/memory/error.h"
#include "base/memory/span.h"
#include "decode/search_opts.h"
#include "model/blueprint.h"
#include "text/language/langtag.h"
#include "tokenize/tokenizer.h"

#include <stdatomic.h>
#include <stdbool.h>

enum {
    DG_LANGS_MAX = 1000,      /* the most languages of one side */
    DG_LANGS_TEXT_MAX = 2000, /* the most bytes of a configured list */
    DG_LANG_CODE = 32,
    DG_LANG_NAME = 64,
    DG_MANNER_TEXT_MAX = 1000, /* the most bytes of configured words */
};

/* How the network is told which formality to use: by a word of the source vocabulary (before the
 * text, after a language's word) or of the target vocabulary (before the translation, after a
 * language's word or a token that the model is forced to begin with). */
struct dg_manner {
    int32_t id;     /* -1: the model has none */
    int32_t before; /* the forced first token that a target language's word follows; -1: none */
    bool is_target, is_informal;
};

struct dg_lang {
    struct dg_langtag tag;   /* canonical; empty: the language is unknown, so requests must name the
                                model */
    char name[DG_LANG_NAME]; /* its name in English; "" when unknown */
    char code[DG_LANG_CODE]; /* its name in answers: "fr", "zh-Hant"; "" when unknown */
    char token[DG_LANG_CODE]; /* its word in the vocabulary: "fra_Latn"; "" when there is none */
    int32_t source_id, target_id;      /* the ids of that word; -1: none */
    struct dg_manner formal, informal; /* of a target language */
};

enum dg_langs_rule {
    DG_LANGS_FIXED,
    DG_LANGS_TARGET_FIRST,
    DG_LANGS_SOURCE_FIRST,
    DG_LANGS_SOURCE_LAST,
    DG_LANGS_IN_WORDS
};

struct dg_langs {
    atomic_size_t n_refs;
    enum dg_langs_rule rule;
    struct dg_lang *sources, *targets; /* owned; [n_sources], [n_targets]: one or more each */
    size_t n_sources, n_targets;
    size_t usual_target; /* the target for requests that name none; n_targets: requests must name
                            one */
};

struct dg_langs_opts {
    const struct dg_tokenizer *tokenizer;
    enum dg_lang_rule rule; /* as in the blueprint */
    /* As configured: tags separated by commas, each with an optional word of the vocabulary, as
     * in "pt-BR=>>pob<<". NULL or "": all languages of the vocabulary, or those of `name`. */
    const char *source, *target;
    const char *name; /* the name of the model: "fr-en", "opus-mt-fr-en" */
    /* Words as configured, separated by commas: ">>formal<<", "target:<F>"; for one language
     * only, "de=>>Sie<<". NULL or "": none. */
    const char *formal, *informal;
    int32_t forced_id; /* the token that the model is forced to begin with; -1: none */
    bool is_told; /* a template names the languages in words, so any number may be configured */
};

/* Makes the languages of a model, with one reference. DG_ERR_NOT_FOUND: the model lacks a
 * configured language, or its vocabulary lacks a configured word. */
enum dg_err dg_langs_new(struct dg_langs **langs, const struct dg_langs_opts *opts,
                         struct dg_error *error) DG_MUST_CHECK;
struct dg_langs *dg_langs_ref(struct dg_langs *langs);
void dg_langs_unref(struct dg_langs *langs); /* NULL is fine */

/* Returns the index of the language that a tag means: the one whose code or word is `text` (in any
 * case), otherwise the best match; n when none matches. */
size_t dg_langs_find(const struct dg_lang *list, size_t n, const struct dg_langtag *tag,
                     struct dg_span text);

/* Returns true where a request can choose between languages on some side. */
static inline bool dg_langs_are_many(const struct dg_langs *langs)
{
    return langs->n_sources > 1 || langs->n_targets > 1;
}

/* The languages that one hop of a request uses, and the ids that tell the model about them. */
struct dg_lang_pair {
    const struct dg_lang *source, *target; /* borrowed from the langs */
    int32_t first_id, last_id; /* the tokens around the source, as in dg_tokenizer_opts; -1: none */
    int32_t lead[2];           /* [n_lead] before the target, as in dg_search_opts */
    size_t n_lead;
    const struct dg_manner *manner; /* borrowed from the langs; NULL: no formality was requested */
};

struct dg_lang_pair dg_langs_pair(const struct dg_langs *langs, size_t source, size_t target);

/* Gives a formality, which the model must have, to a pair without one. */
void dg_pair_say(struct dg_lang_pair *pair, const struct dg_manner *manner);

/* Finds the pair that two tags name; a tag may be "" if that side has only one language or the
 * choice does not matter. */
enum dg_err dg_langs_choose(const struct dg_langs *langs, const char *source, const char *target,
                            struct dg_error *error, struct dg_lang_pair *pair) DG_MUST_CHECK;

/* Returns how text of this pair is encoded; `pair` must live as long as the options do. */
static inline struct dg_tokenizer_opts dg_lang_pair_tokenizer_opts(const struct dg_lang_pair *pair)
{
    struct dg_tokenizer_opts opts = DG_TOKENIZER_OPTS_DEFAULT;
    opts.first = pair->first_id >= 0 ? &pair->first_id : NULL;
    opts.second = pair->manner && !pair->manner->is_target ? &pair->manner->id : NULL;
    opts.last = pair->last_id >= 0 ? &pair->last_id : NULL;
    return opts;
}

/* Makes the search begin with the target language's word, followed by the formality's word; `pair`
 * must live as long as `search` does. */
static inline void dg_pair_lead(const struct dg_lang_pair *pair, struct dg_search_opts *search)
{
    search->lead = pair->lead;
    search->n_lead = pair->n_lead;
}

#endif
