/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* English abbreviations and first words; abbrev.h says what each list means. */
#include "text/sentence/abbrev.h"

#include <stddef.h>

static const char *const never[] = {
    "adj",  "adm",  "adv",  "ald",       "amb",    "approx", "assn", "asst", "atty",  "bros", "ca",
    "capt", "cf",   "cit",  "cmdr",      "col",    "comdr",  "cpl",  "dept", "dr",    "drs",  "e.g",
    "esp",  "excl", "fr",   "ft",        "gdn",    "gen",    "gens", "geo",  "gov",   "hon",  "i.e",
    "incl", "insp", "lt",   "maj",       "messrs", "mgr",    "mlle", "mme",  "mr",    "mrs",  "ms",
    "mt",   "mx",   "op",   "ph.d.cand", "prof",   "profs",  "resp", "rev",  "rt",    "sen",  "sgt",
    "sra",  "st",   "supt", "thos",      "univ",   "v",      "viz",  "vs",   "w.r.t", NULL,
};

static const char *const number[] = {
    "approx", "apr", "art", "arts", "aug", "bk",  "ch",   "chap", "cl",   "dec",
    "eq",     "eqs", "ex",  "ext",  "feb", "fig", "figs", "jan",  "jul",  "jun",
    "ln",     "mar", "n",   "no",   "nos", "nov", "nr",   "oct",  "p",    "para",
    "pg",     "pgs", "pp",  "pt",   "r",   "ref", "refs", "sec",  "sect", "sep",
    "sept",   "ser", "tab", "tel",  "v",   "ver", "vol",  "vols", NULL,
};

static const char *const perhaps[] = {
    "a.d",  "a.m",   "b.a", "b.c", "b.s", "blvd", "co",  "corp", "d.c",   "e.u", "et.al",
    "etc",  "hwy",   "inc", "jr",  "llc", "ltd",  "m.a", "m.d",  "m.sc",  "n.y", "p.m",
    "ph.d", "r.i.p", "rd",  "sq",  "sr",  "u.k",  "u.n", "u.s",  "u.s.s", NULL,
};

static const char *const starters[] = {
    "a",         "after",    "all",
    "also",      "although", "an",
    "and",       "another",  "as",
    "at",        "because",  "before",
    "both",      "but",      "by",
    "during",    "each",     "even",
    "every",     "first",    "for",
    "from",      "he",       "her",
    "here",      "his",      "how",
    "however",   "i",        "if",
    "in",        "instead",  "it",
    "its",       "last",     "later",
    "like",      "many",     "maybe",
    "meanwhile", "more",     "most",
    "my",        "next",     "no",
    "nobody",    "not",      "nothing",
    "now",       "of",       "on",
    "once",      "one",      "only",
    "or",        "other",    "our",
    "over",      "people",   "perhaps",
    "she",       "since",    "so",
    "some",      "soon",     "still",
    "such",      "that",     "the",
    "their",     "then",     "there",
    "therefore", "these",    "they",
    "this",      "those",    "though",
    "through",   "thus",     "to",
    "today",     "together", "tomorrow",
    "two",       "under",    "unfortunately",
    "until",     "we",       "well",
    "were",      "what",     "when",
    "where",     "whether",  "which",
    "while",     "who",      "why",
    "will",      "with",     "yes",
    "yesterday", "yet",      "you",
    "your",      NULL,
};

const struct dg_abbrev dg_abbrev_en = {
    .language = "en",
    .never = never,
    .number = number,
    .perhaps = perhaps,
    .starters = starters,
};
