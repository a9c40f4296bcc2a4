/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The languages of a model, on both sides, and how the network is told which of them are meant:
 *
 *     fixed           nothing tells it: one target language, one or more source languages (OPUS-MT
 * ROMANCE-en) target first    >>fra<< text </s>                        one model, many targets
 * (OPUS-MT en-ROMANCE) source first    __fr__ text </s>  =>  __en__ text </s>   any pair (M2M100,
 * NLLB) source last     text </s> fra_Latn  =>  eng_Latn text    any pair (older NLLB) in words
 * "Translate from French ..."              any pair that is configured (translation_prompt.h)
 *
 *     err = dg_langs_new(&langs, &opts, &error);
 *     size_t s = dg_langs_find(langs->sources, langs->n_sources, &tag, text);
 *     struct dg_pair pair = dg_langs_pair(langs, s, t);
 *     ... tokenise with pair.first_id and pair.last_id, search with dg_pair_lead(&pair) ...
 *     dg_langs_unref(langs);
 *
 * Immutable and shared (ref); any thread. */
#ifndef DG_ENGINE_ROUTE_LANGS_H
#define DG_ENGINE_ROUTE_LANGS_H

#include "base/memory/err.h"
#include "base/memory/error.h"
#include "base/memory/span.h"
#include "decode/opts.h"
#include "model/blueprint.h"
#include "text/language/langtag.h"
#include "tokenize/tokenizer.h"

#include <stdatomic.h>
#include <stdbool.h>

enum {
    DG_LANGS_MAX = 1000,      /* languages of one side */
    DG_LANGS_TEXT_MAX = 2000, /* bytes of a configured list */
    DG_LANG_CODE = 32,
    DG_LANG_NAME = 64,
    DG_MANNER_TEXT_MAX = 1000, /* bytes of configured words */
};

/* How the network is told to say it: the word of one manner, of the source's vocabulary (read
 * before the text, behind a language's word) or of the target's (before what is said, behind a
 * language's or what the model says first anyway). */
struct dg_manner {
    int32_t id;     /* -1: the model has none */
    int32_t before; /* what the model is forced to say first, with which one of the target's comes
                       behind; -1: nothing */
    bool is_target, is_informal;
};

struct dg_lang {
    struct dg_langtag tag; /* canonical; an empty text: not known, found by the model's name only */
    char name[DG_LANG_NAME];  /* in English; "" when not known */
    char code[DG_LANG_CODE];  /* as answers name it: "fr", "zh-Hant"; "" when not known */
    char token[DG_LANG_CODE]; /* what the vocabulary calls it: "fra_Latn"; "" when it has no word
                                 for it */
    int32_t source_id, target_id;      /* of that word; -1: none */
    struct dg_manner formal, informal; /* of a target */
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
    size_t usual_target; /* where a request names none; n_targets: it has to */
};

struct dg_langs_opts {
    const struct dg_tokenizer *tokenizer;
    enum dg_lang_rule rule;        /* the blueprint's */
    const char *source, *target;   /* as configured: tags with commas between, each maybe
                                    * "pt-BR=>>pob<<" to say by   which word it goes; NULL or "": all
                                    * that the vocabulary has, or those that the */
    const char *name;              /* model's name tells: "fr-en", "opus-mt-fr-en" */
    const char *formal, *informal; /* words as configured: ">>formal<<", "target:<F>", of one
                                    * language only "de=>>Sie<<", with commas between; NULL or "":
                                    * none */
    int32_t forced_id;             /* what the model is forced to say first; -1: nothing */
    bool is_told; /* in words, by a template: languages are those configured, as many as one likes
                   */
};

/* One reference. DG_ERR_NOT_FOUND: a configured language is none of the model's, or a word not of
 * its vocabulary. */
enum dg_err dg_langs_new(struct dg_langs **langs, const struct dg_langs_opts *opts,
                         struct dg_error *error) DG_MUST_CHECK;
struct dg_langs *dg_langs_ref(struct dg_langs *langs);
void dg_langs_unref(struct dg_langs *langs); /* NULL is fine */

/* Which of the list a tag means: the one whose code or word is `text` (any case), else the one that
 * fits best; n when none does. */
size_t dg_langs_find(const struct dg_lang *list, size_t n, const struct dg_langtag *tag,
                     struct dg_span text);

/* True where a request can choose between languages on some side. */
static inline bool dg_langs_are_many(const struct dg_langs *langs)
{
    return langs->n_sources > 1 || langs->n_targets > 1;
}

/* What of a model one hop of a request uses: its languages, and the ids that tell them. */
struct dg_lang_pair {
    const struct dg_lang *source, *target; /* borrowed from the langs */
    int32_t first_id, last_id; /* around the source, as in dg_tokenizer_opts; -1: none */
    int32_t lead[2];           /* [n_lead] before the target, as in dg_search_opts */
    size_t n_lead;
    const struct dg_manner *manner; /* borrowed likewise; NULL: none is asked for */
};

struct dg_lang_pair dg_langs_pair(const struct dg_langs *langs, size_t source, size_t target);

/* The pair without a manner is told one that the model has. */
void dg_pair_say(struct dg_lang_pair *pair, const struct dg_manner *manner);

/* The pair that two tags name; either may be "" where there is one language, or it does not matter.
 */
enum dg_err dg_langs_choose(const struct dg_langs *langs, const char *source, const char *target,
                            struct dg_error *error, struct dg_lang_pair *pair) DG_MUST_CHECK;

/* How text of this pair is encoded; `pair` must live as long as the options do. */
static inline struct dg_tokenizer_opts dg_lang_pair_tokenizer_opts(const struct dg_lang_pair *pair)
{
    struct dg_tokenizer_opts opts = DG_TOKENIZER_OPTS_DEFAULT;
    opts.first = pair->first_id >= 0 ? &pair->first_id : NULL;
    opts.second = pair->manner && !pair->manner->is_target ? &pair->manner->id : NULL;
    opts.last = pair->last_id >= 0 ? &pair->last_id : NULL;
    return opts;
}

/* Has the search say the target language first, and a manner behind it; `pair` must live as long as
 * `search` does. */
static inline void dg_pair_lead(const struct dg_lang_pair *pair, struct dg_search_opts *search)
{
    search->lead = pair->lead;
    search->n_lead = pair->n_lead;
}

#endif
