/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the tools: what the two halves of `dragoman translate` (text and ids) share. */
#ifndef DG_TOOLS_TRANSLATE_TRANSLATE_H
#define DG_TOOLS_TRANSLATE_TRANSLATE_H

#include "base/memory/clock.h"
#include "base/memory/error.h"
#include "decode/search.h"
#include "tools/search_flags.h"
#include "tools/server_options.h"

struct dg_engine;
struct dg_engine_opts;
struct dg_engine_request;

/* The flags of the command. */
struct translate {
    int help;
    const char *model;
    int64_t threads, slots;
    bool ids, whole_lines, stream, scores, alignment, soft_alignment, json, quiet, shortlist;
    int64_t alignment_layer, alignment_head;
    int compute_type;              /* a value of enum dg_net_type */
    int kv_type;                   /* a value of enum dg_net_kv */
    int format;                    /* a value of enum dg_doc_format */
    int formality;                 /* a value of enum dg_formality */
    const char *formal, *informal; /* words in the model's vocabulary */
    struct text_flags text;
    const char *template, *stop; /* for a language model */
    const char *prefix, *suppress, *glossary;
    const char *quality; /* the directory of an estimator; "": none */
    struct dg_opt_list must;
    struct search_flags search;
    struct server_flags remote;
};

struct translate_totals {
    uint64_t began_ns;
    size_t n_lines, n_failed, n_sentences, n_tokens_in, n_tokens_out;
    size_t n_cut_short, n_loops, n_repaired;
    bool has_glossary;
    /* terms of the glossary that were found in the sources, and how many of these the translations
     * do not use */
    size_t n_terms, n_missed;
};

struct dg_engine_result;
struct dg_glossary;

/* Reads a glossary from a file; *glossary stays NULL if `path` is "". */
enum dg_err translate_glossary(const char *path, struct dg_error *error,
                               struct dg_glossary **glossary) DG_MUST_CHECK;
void translate_count_terms(struct translate_totals *totals, const struct dg_engine_result *result);

/* Adds one line to the totals. */
void translate_count(struct translate_totals *totals, size_t n_sentences, size_t n_tokens_in,
                     size_t n_tokens_out, enum dg_finish finish, bool repaired);

/* Prints the last line on stderr, for scripts: "translate: lines=… sentences=… …". */
void translate_summary(const struct translate_totals *totals, uint64_t now_ns);

/* The words of the command line for the values of enum dg_formality. */
extern const char *const translate_formality_words[];

/* Loads the model that the flags name, and calls it `name`. */
enum dg_err translate_load(struct dg_engine *engine, const struct translate *flags,
                           const char *name, struct dg_error *error) DG_MUST_CHECK;

/* Translates the lines of stdin with a daemon. */
enum dg_err translate_server(const struct dg_opt_set *set, const struct translate *flags,
                             struct translate_totals *totals, struct dg_error *error) DG_MUST_CHECK;

/* Translates all of stdin as one document; fills in the text and format of `request` and the
 * wake-up of `opts`. */
enum dg_err translate_document(const struct translate *flags, const struct dg_engine_opts *opts,
                               const struct dg_engine_request *request,
                               struct translate_totals *totals,
                               struct dg_error *error) DG_MUST_CHECK;

/* Translates lines of ids to lines of ids. Fills in the forced words of `search` and the options
 * that are to be the model's own. */
enum dg_err translate_ids(const struct translate *flags, const struct dg_search_opts *search,
                          struct dg_search_usual usual, struct translate_totals *totals,
                          struct dg_error *error) DG_MUST_CHECK;

#endif
