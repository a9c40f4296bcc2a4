/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Portuguese abbreviations and first words; abbrev.h says what each list means. */
#include "text/sentence/abbrev.h"

#include <stddef.h>

static const char *const never[] = {
    "adv",   "alm",  "ap",   "aprox", "apto",  "arq",  "av",  "cap",   "cel",  "cf",   "d",
    "depto", "div",  "dona", "dr",    "dra",   "dras", "drs", "eng",   "enga", "exma", "exmo",
    "fr",    "gen",  "i.e",  "ilma",  "ilmo",  "lgo",  "ltd", "maj",   "min",  "máx",  "mín",
    "obs",   "p.ex", "prof", "profa", "profs", "pça",  "r",   "rev",   "sgt",  "sra",  "sras",
    "srs",   "srta", "sta",  "sto",   "tel",   "trav", "tv",  "v.exa", "v.s",  "vs",   NULL,
};

static const char *const number[] = {
    "abr", "ago", "art", "arts", "cap", "caps", "cód", "dez", "ed",  "fev", "fig", "figs", "inc",
    "jan", "jul", "jun", "mai",  "mar", "n",    "no",  "nos", "nov", "nº",  "núm", "out",  "p",
    "par", "pp",  "pág", "págs", "sec", "set",  "séc", "t",   "tab", "tel", "vol", "vols", NULL,
};

static const char *const perhaps[] = {
    "a.c", "a.m", "cia", "d.c", "etc", "eua", "jr", "ltda", "p.m", "s.a", "sr", "u.e", NULL,
};

static const char *const starters[] = {
    "a",      "agora", "ainda",   "algo",    "alguns",   "alguém",  "ali",    "além",   "ante",
    "antes",  "ao",    "aos",     "apenas",  "apesar",   "após",    "aquela", "aquele", "aqui",
    "as",     "assim", "através", "até",     "bem",      "cada",    "com",    "como",   "contudo",
    "da",     "das",   "de",      "dela",    "dele",     "depois",  "desde",  "dessa",  "desse",
    "desta",  "deste", "do",      "dois",    "dos",      "durante", "e",      "ela",    "elas",
    "ele",    "eles",  "em",      "embora",  "enquanto", "entre",   "então",  "era",    "essa",
    "essas",  "esse",  "esses",   "esta",    "estas",    "estava",  "este",   "estes",  "está",
    "eu",     "foi",   "foram",   "hoje",    "há",       "isso",    "isto",   "jamais", "já",
    "logo",   "lá",    "mais",    "mas",     "me",       "mesmo",   "meu",    "minha",  "muita",
    "muitas", "muito", "muitos",  "na",      "nada",     "nas",     "nem",    "nenhum", "ninguém",
    "no",     "nos",   "nossa",   "nosso",   "nunca",    "não",     "nós",    "o",      "onde",
    "ontem",  "os",    "ou",      "outra",   "outro",    "outros",  "para",   "pela",   "pelo",
    "pois",   "por",   "porque",  "porém",   "pouco",    "qual",    "quando", "quanto", "quase",
    "que",    "quem",  "se",      "segundo", "sem",      "sempre",  "ser",    "seu",    "seus",
    "sim",    "sob",   "sobre",   "sou",     "sua",      "suas",    "só",     "talvez", "também",
    "te",     "tem",   "toda",    "todas",   "todo",     "todos",   "três",   "tu",     "tudo",
    "tão",    "têm",   "um",      "uma",     "umas",     "uns",     "vai",    "você",   "vocês",
    "à",      "às",    "é",       NULL,
};

const struct dg_abbrev dg_abbrev_pt = {
    .language = "pt",
    .never = never,
    .number = number,
    .perhaps = perhaps,
    .starters = starters,
};
