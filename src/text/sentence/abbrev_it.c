/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Italian abbreviations and first words; abbrev.h says what each list means. */
#include "text/sentence/abbrev.h"

#include <stddef.h>

static const char *const never[] = {
    "ad.es",    "arch", "avv",  "c.a",      "c.d",  "c.m",  "c.so",   "cap",    "cf",    "cfr",
    "circa",    "col",  "dott", "dott.ssa", "dr",   "egr",  "es",     "f.lli",  "f.to",  "fam",
    "gen",      "geom", "ing",  "magg",     "n.b",  "on",   "p.es",   "p.za",   "p.zza", "prof",
    "prof.ssa", "rev",  "s",    "sen",      "serg", "sig",  "sig.na", "sig.ra", "sigg",  "sigra",
    "spett",    "ss",   "t.d",  "tel",      "ten",  "v.le", "vs",     NULL,
};

static const char *const number[] = {
    "ago",  "apr", "art", "artt", "cap",  "capp", "cit", "col", "dic", "ed",  "feb",  "fig", "figg",
    "gen",  "giu", "lug", "mag",  "mar",  "n",    "nn",  "nov", "nr",  "num", "ott",  "p",   "pag",
    "pagg", "par", "pp",  "set",  "sett", "sez",  "t",   "tab", "tel", "vol", "voll", NULL,
};

static const char *const perhaps[] = {
    "a.c", "d.c", "ecc", "etc", "jr", "s.r.l", "spa", "srl", NULL,
};

static const char *const starters[] = {
    "a",       "ad",     "adesso", "ai",      "al",     "alcuni", "alla",    "alle",    "allora",
    "altri",   "altro",  "anche",  "ancora",  "anzi",   "appena", "avere",   "bene",    "che",
    "chi",     "ci",     "ciò",    "come",    "con",    "cosa",   "così",    "cui",     "da",
    "dai",     "dal",    "dalla",  "dei",     "del",    "della",  "delle",   "di",      "dopo",
    "dove",    "due",    "dunque", "durante", "e",      "ecco",   "ed",      "egli",    "era",
    "erano",   "essa",   "essi",   "fino",    "fra",    "fu",     "già",     "gli",     "grazie",
    "ha",      "hanno",  "ho",     "i",       "ieri",   "il",     "in",      "infatti", "inoltre",
    "insieme", "invece", "io",     "la",      "le",     "lei",    "li",      "lo",      "loro",
    "lui",     "ma",     "mai",    "meglio",  "meno",   "mentre", "mi",      "mia",     "mio",
    "molti",   "molto",  "ne",     "nei",     "nel",    "nella",  "nessuno", "niente",  "no",
    "noi",     "non",    "nostra", "nostro",  "nulla",  "o",      "oggi",    "ogni",    "ora",
    "per",     "perché", "però",   "più",     "poi",    "poiché", "prima",   "proprio", "può",
    "qua",     "quale",  "quando", "quanto",  "quasi",  "quella", "quelle",  "quello",  "questa",
    "queste",  "questi", "questo", "qui",     "quindi", "se",     "sebbene", "secondo", "sei",
    "sempre",  "senza",  "si",     "sia",     "siamo",  "solo",   "sono",    "sopra",   "sotto",
    "sta",     "su",     "sua",    "sue",     "sui",    "sul",    "suo",     "suoi",    "sì",
    "tra",     "tu",     "tutta",  "tutte",   "tutti",  "tutto",  "un",      "una",     "uno",
    "va",      "vi",     "voi",    "è",       NULL,
};

const struct dg_abbrev dg_abbrev_it = {
    .language = "it",
    .never = never,
    .number = number,
    .perhaps = perhaps,
    .starters = starters,
};
