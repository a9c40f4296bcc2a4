/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Spanish abbreviations and first words; abbrev.h says what each list means. */
#include "text/sentence/abbrev.h"

#include <stddef.h>

static const char *const never[] = {
    "aprox", "arq",  "av",    "avd",   "avda", "c.a",  "cap",  "cf",    "cfr",   "cnel",
    "cte",   "d",    "dcha",  "depto", "dn",   "dpto", "dr",   "dra",   "dres",  "dña",
    "ej",    "esq",  "excma", "excmo", "gral", "hna",  "hno",  "i.e",   "ilma",  "ilmo",
    "izq",   "lic",  "mons",  "máx",   "mín",  "p.d",  "p.ej", "p.o",   "pbro",  "pdo",
    "pej",   "prof", "profa", "prol",  "pta",  "r.d",  "rte",  "s.a.r", "sdad",  "sgto",
    "sr",    "sra",  "sras",  "sres",  "srta", "sta",  "sto",  "tel",   "teléf", "tte",
    "ud",    "uds",  "v.gr",  "vd",    "vds",  "vs",   NULL,
};

static const char *const number[] = {
    "abr",  "ago",  "ap",  "apdo", "art", "arts", "cap",  "caps", "col",  "dic",
    "ed",   "ej",   "ene", "feb",  "fig", "figs", "jul",  "jun",  "mar",  "may",
    "n",    "no",   "nov", "nº",   "núm", "núms", "oct",  "p",    "pp",   "pág",
    "págs", "párr", "sec", "sept", "t",   "tel",  "tomo", "vol",  "vols", NULL,
};

static const char *const perhaps[] = {
    "a.c", "a.m",  "cía", "d.c",   "ee.uu", "eeuu", "etc", "ff.aa",
    "jr",  "ltda", "p.m", "rr.hh", "s.a",   "s.l",  "u.e", NULL,
};

static const char *const starters[] = {
    "a",        "además", "ahora",   "al",       "algo",    "alguien", "algunos", "allí",
    "ante",     "antes",  "aquel",   "aquella",  "aquí",    "así",     "aunque",  "ayer",
    "aún",      "bien",   "cada",    "casi",     "como",    "con",     "cual",    "cuando",
    "cuándo",   "cómo",   "de",      "del",      "desde",   "después", "donde",   "durante",
    "dónde",    "e",      "el",      "ella",     "ellas",   "ellos",   "en",      "entonces",
    "entre",    "era",    "es",      "esa",      "esas",    "ese",     "eso",     "esos",
    "esta",     "estas",  "este",    "esto",     "estos",   "está",    "están",   "fue",
    "había",    "hace",   "hasta",   "hay",      "hoy",     "incluso", "la",      "las",
    "le",       "les",    "lo",      "los",      "luego",   "mañana",  "me",      "mi",
    "mientras", "mis",    "muchas",  "muchos",   "muy",     "más",     "nada",    "nadie",
    "ni",       "no",     "nos",     "nosotros", "nuestra", "nuestro", "nunca",   "o",
    "otra",     "otro",   "para",    "pero",     "poco",    "por",     "porque",  "pronto",
    "pues",     "que",    "quien",   "quizás",   "quién",   "qué",     "se",      "según",
    "ser",      "si",     "siempre", "sin",      "sino",    "sobre",   "solo",    "son",
    "su",       "sus",    "sí",      "sólo",     "también", "tampoco", "tan",     "te",
    "tenía",    "tiene",  "todas",   "todo",     "todos",   "tras",    "tu",      "tú",
    "un",       "una",    "unas",    "uno",      "unos",    "usted",   "ustedes", "vamos",
    "y",        "ya",     "yo",      "él",       NULL,
};

const struct dg_abbrev dg_abbrev_es = {
    .language = "es",
    .never = never,
    .number = number,
    .perhaps = perhaps,
    .starters = starters,
};
