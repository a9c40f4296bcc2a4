/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* French abbreviations and first words; abbrev.h says what each list means. */
#include "text/sentence/abbrev.h"

#include <stddef.h>

static const char *const never[] = {
    "adj", "adv",    "apr",      "av",   "bd",  "boul", "c.-à-d", "c.a.d", "capt", "cdt",
    "cf",  "col",    "càd",      "dr",   "drs", "env",  "fbg",    "gén",   "ibid", "id",
    "lt",  "m",      "m.l'abbé", "me",   "mgr", "mlle", "mlles",  "mm",    "mme",  "mmes",
    "n.b", "op.cit", "p.ex",     "pl",   "pr",  "prof", "r.-v",   "resp",  "réf",  "s.-e",
    "sgt", "st",     "ste",      "stes", "sts", "tél",  "vs",     "éd",    NULL,
};

static const char *const number[] = {
    "al",  "ann",  "art",  "avr",  "ch", "chap", "col", "déc", "ex",  "f",   "fig", "fo",
    "fév", "févr", "janv", "juil", "l",  "lig",  "n",   "no",  "nos", "nov", "oct", "p",
    "par", "pp",   "sect", "sept", "t",  "tab",  "tél", "v",   "vol", "éd",  NULL,
};

static const char *const perhaps[] = {
    "cie", "etc", "jr", "o.n.u", "r.-u", "s.a", "s.a.r.l", "u.e", "é.-u", NULL,
};

static const char *const starters[] = {
    "alors",   "après",    "au",       "aucun",  "aujourd'hui", "aussi",   "autre", "avant",
    "avec",    "bien",     "bref",     "c'est",  "car",         "ce",      "cela",  "celle",
    "celui",   "certains", "ces",      "cet",    "cette",       "chaque",  "comme", "comment",
    "d'abord", "d'autres", "dans",     "de",     "demain",      "depuis",  "des",   "deux",
    "donc",    "du",       "dès",      "elle",   "elles",       "en",      "enfin", "ensuite",
    "entre",   "est",      "et",       "etc",    "hier",        "il",      "ils",   "j'ai",
    "je",      "jusque",   "l'on",     "la",     "le",          "les",     "leur",  "leurs",
    "lors",    "lorsque",  "ma",       "mais",   "malgré",      "mes",     "mon",   "même",
    "ne",      "non",      "nos",      "notre",  "nous",        "on",      "or",    "ou",
    "oui",     "où",       "par",      "parce",  "parfois",     "pendant", "plus",  "plusieurs",
    "pour",    "pourquoi", "pourtant", "puis",   "quand",       "que",     "quel",  "quelle",
    "qui",     "quoi",     "sa",       "sans",   "selon",       "ses",     "si",    "soit",
    "son",     "sous",     "sur",      "tandis", "toujours",    "tous",    "tout",  "toute",
    "toutes",  "trois",    "tu",       "un",     "une",         "vers",    "voici", "voilà",
    "vos",     "votre",    "vous",     "y",      "à",           NULL,
};

const struct dg_abbrev dg_abbrev_fr = {
    .language = "fr",
    .never = never,
    .number = number,
    .perhaps = perhaps,
    .starters = starters,
};
