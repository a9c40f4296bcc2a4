/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* German abbreviations and first words; abbrev.h says what each list means. */
#include "text/sentence/abbrev.h"

#include <stddef.h>

static const char *const never[] = {
    "a.d",    "abzgl",  "allg",      "b.d",    "bez",   "bspw",   "bzw",     "ca",   "d.h",
    "dgl",    "dipl",   "dipl.-ing", "dr",     "drs",   "eigtl",  "einschl", "engl", "entspr",
    "erw",    "etw",    "evtl",      "exkl",   "franz", "frl",    "frz",     "geb",  "gegr",
    "gest",   "ggf",    "ggü",       "griech", "hr",    "hrn",    "i.a",     "i.d",  "i.d.r",
    "i.e.s",  "i.v",    "ing",       "inkl",   "insb",  "insbes", "ital",    "jap",  "jmd",
    "kgl",    "lt",     "mind",      "mtl",    "mögl",  "nachm",  "näml",    "o.a",  "o.g",
    "prof",   "russ",   "röm",       "s.o",    "s.u",   "schr",   "sog",     "spez", "st",
    "stellv", "svw",    "techn",     "teilw",  "tel",   "tgl",    "u.a.m",   "u.u",  "urspr",
    "v.a",    "veröff", "vgl",       "vorm",   "vs",    "wg",     "wiss",    "z.b",  "z.hd",
    "z.t",    "z.zt",   "zus",       "zz",     "zzgl",  "österr", "übers",   NULL,
};

static const char *const number[] = {
    "abb",  "abs", "anm", "apr",   "art", "aufl", "aug", "bd",  "bde", "bl",  "dez",  "f",   "feb",
    "ff",   "fig", "jan", "jh",    "jhd", "jul",  "jun", "kap", "mär", "nov", "nr",   "nrn", "okt",
    "rdnr", "rn",  "s",   "seite", "sep", "sept", "sp",  "st",  "tab", "tel", "ziff", "§",   NULL,
};

static const char *const perhaps[] = {
    "ag",  "co",  "etc", "gmbh",  "jr",  "mio", "mrd", "n.chr", "o.ä", "sen",
    "str", "tsd", "u.a", "u.s.w", "u.ä", "usf", "usw", "v.chr", NULL,
};

static const char *const starters[] = {
    "aber",        "alle",   "allerdings", "als",    "also",    "am",      "an",         "andere",
    "auch",        "auf",    "aus",        "bei",    "beide",   "bis",     "da",         "dabei",
    "dadurch",     "dafür",  "dagegen",    "daher",  "damals",  "damit",   "danach",     "dann",
    "daran",       "darauf", "darum",      "das",    "dass",    "dazu",    "dein",       "dem",
    "den",         "denn",   "der",        "deren",  "des",     "deshalb", "dessen",     "dich",
    "die",         "dies",   "diese",      "dieser", "dieses",  "doch",    "dort",       "durch",
    "ein",         "eine",   "einem",      "einen",  "einer",   "eines",   "einige",     "er",
    "es",          "etwas",  "für",        "ganz",   "gestern", "gibt",    "haben",      "hat",
    "heute",       "hier",   "ich",        "ihm",    "ihn",     "ihnen",   "ihr",        "ihre",
    "im",          "immer",  "in",         "ist",    "ja",      "jede",    "jeder",      "jedes",
    "jedoch",      "jetzt",  "kann",       "kein",   "keine",   "können",  "man",        "manche",
    "mehr",        "mein",   "meine",      "mit",    "morgen",  "muss",    "nach",       "nein",
    "nicht",       "nichts", "noch",       "nun",    "nur",     "ob",      "oder",       "ohne",
    "schließlich", "schon",  "sehr",       "sein",   "seine",   "seit",    "seitdem",    "sie",
    "sind",        "so",     "sobald",     "sogar",  "sondern", "später",  "trotz",      "trotzdem",
    "um",          "und",    "uns",        "unser",  "unter",   "viele",   "vielleicht", "vom",
    "von",         "vor",    "wann",       "war",    "warum",   "was",     "weil",       "welche",
    "wenn",        "wer",    "werden",     "wie",    "wieder",  "wir",     "wird",       "wo",
    "während",     "zu",     "zudem",      "zuerst", "zum",     "zur",     "zwar",       "zwei",
    "zwischen",    "über",   NULL,
};

static const char *const ordinal[] = {
    "april",     "auflage",     "august", "dezember", "etage",     "februar",  "geburtstag",
    "jahrestag", "jahrhundert", "januar", "juli",     "juni",      "jänner",   "kapitel",
    "klasse",    "liga",        "mai",    "mal",      "märz",      "november", "oktober",
    "platz",     "september",   "stock",  "tag",      "weltkrieg", NULL,
};

const struct dg_abbrev dg_abbrev_de = {
    .language = "de",
    .never = never,
    .number = number,
    .perhaps = perhaps,
    .starters = starters,
    .ordinal = ordinal,
    .ordinals = true,
};
