/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A sorted table and a binary search. Without a semicolon the longest name that fits counts
 * ("&notit" is "&not" and "it"), as the HTML standard says. */
#include "markup/entity.h"

#include <string.h>

enum { NAME_MAX = 32 };

static const struct {
    const char *name;
    uint32_t cp;
} entities[] = {
    {"AElig", 0xC6},     {"AMP", 0x26},      {"Aacute", 0xC1},    {"Acirc", 0xC2},
    {"Agrave", 0xC0},    {"Alpha", 0x391},   {"Aring", 0xC5},     {"Atilde", 0xC3},
    {"Auml", 0xC4},      {"Beta", 0x392},    {"COPY", 0xA9},      {"Ccedil", 0xC7},
    {"Chi", 0x3A7},      {"Dagger", 0x2021}, {"Delta", 0x394},    {"ETH", 0xD0},
    {"Eacute", 0xC9},    {"Ecirc", 0xCA},    {"Egrave", 0xC8},    {"Epsilon", 0x395},
    {"Eta", 0x397},      {"Euml", 0xCB},     {"GT", 0x3E},        {"Gamma", 0x393},
    {"Iacute", 0xCD},    {"Icirc", 0xCE},    {"Igrave", 0xCC},    {"Iota", 0x399},
    {"Iuml", 0xCF},      {"Kappa", 0x39A},   {"LT", 0x3C},        {"Lambda", 0x39B},
    {"Mu", 0x39C},       {"Ntilde", 0xD1},   {"Nu", 0x39D},       {"OElig", 0x152},
    {"Oacute", 0xD3},    {"Ocirc", 0xD4},    {"Ograve", 0xD2},    {"Omega", 0x3A9},
    {"Omicron", 0x39F},  {"Oslash", 0xD8},   {"Otilde", 0xD5},    {"Ouml", 0xD6},
    {"Phi", 0x3A6},      {"Pi", 0x3A0},      {"Prime", 0x2033},   {"Psi", 0x3A8},
    {"QUOT", 0x22},      {"REG", 0xAE},      {"Rho", 0x3A1},      {"Scaron", 0x160},
    {"Sigma", 0x3A3},    {"THORN", 0xDE},    {"Tau", 0x3A4},      {"Theta", 0x398},
    {"Uacute", 0xDA},    {"Ucirc", 0xDB},    {"Ugrave", 0xD9},    {"Upsilon", 0x3A5},
    {"Uuml", 0xDC},      {"Xi", 0x39E},      {"Yacute", 0xDD},    {"Yuml", 0x178},
    {"Zeta", 0x396},     {"aacute", 0xE1},   {"acirc", 0xE2},     {"acute", 0xB4},
    {"aelig", 0xE6},     {"agrave", 0xE0},   {"alefsym", 0x2135}, {"alpha", 0x3B1},
    {"amp", 0x26},       {"and", 0x2227},    {"ang", 0x2220},     {"apos", 0x27},
    {"aring", 0xE5},     {"asymp", 0x2248},  {"atilde", 0xE3},    {"auml", 0xE4},
    {"bdquo", 0x201E},   {"beta", 0x3B2},    {"brvbar", 0xA6},    {"bull", 0x2022},
    {"cap", 0x2229},     {"ccedil", 0xE7},   {"cedil", 0xB8},     {"cent", 0xA2},
    {"chi", 0x3C7},      {"circ", 0x2C6},    {"clubs", 0x2663},   {"cong", 0x2245},
    {"copy", 0xA9},      {"crarr", 0x21B5},  {"cup", 0x222A},     {"curren", 0xA4},
    {"dArr", 0x21D3},    {"dagger", 0x2020}, {"darr", 0x2193},    {"deg", 0xB0},
    {"delta", 0x3B4},    {"diams", 0x2666},  {"divide", 0xF7},    {"eacute", 0xE9},
    {"ecirc", 0xEA},     {"egrave", 0xE8},   {"empty", 0x2205},   {"emsp", 0x2003},
    {"ensp", 0x2002},    {"epsilon", 0x3B5}, {"equiv", 0x2261},   {"eta", 0x3B7},
    {"eth", 0xF0},       {"euml", 0xEB},     {"euro", 0x20AC},    {"exist", 0x2203},
    {"fnof", 0x192},     {"forall", 0x2200}, {"frac12", 0xBD},    {"frac14", 0xBC},
    {"frac34", 0xBE},    {"frasl", 0x2044},  {"gamma", 0x3B3},    {"ge", 0x2265},
    {"gt", 0x3E},        {"hArr", 0x21D4},   {"harr", 0x2194},    {"hearts", 0x2665},
    {"hellip", 0x2026},  {"iacute", 0xED},   {"icirc", 0xEE},     {"iexcl", 0xA1},
    {"igrave", 0xEC},    {"image", 0x2111},  {"infin", 0x221E},   {"int", 0x222B},
    {"iota", 0x3B9},     {"iquest", 0xBF},   {"isin", 0x2208},    {"iuml", 0xEF},
    {"kappa", 0x3BA},    {"lArr", 0x21D0},   {"lambda", 0x3BB},   {"lang", 0x2329},
    {"laquo", 0xAB},     {"larr", 0x2190},   {"lceil", 0x2308},   {"ldquo", 0x201C},
    {"le", 0x2264},      {"lfloor", 0x230A}, {"lowast", 0x2217},  {"loz", 0x25CA},
    {"lrm", 0x200E},     {"lsaquo", 0x2039}, {"lsquo", 0x2018},   {"lt", 0x3C},
    {"macr", 0xAF},      {"mdash", 0x2014},  {"micro", 0xB5},     {"middot", 0xB7},
    {"minus", 0x2212},   {"mu", 0x3BC},      {"nabla", 0x2207},   {"nbsp", 0xA0},
    {"ndash", 0x2013},   {"ne", 0x2260},     {"ni", 0x220B},      {"not", 0xAC},
    {"notin", 0x2209},   {"nsub", 0x2284},   {"ntilde", 0xF1},    {"nu", 0x3BD},
    {"oacute", 0xF3},    {"ocirc", 0xF4},    {"oelig", 0x153},    {"ograve", 0xF2},
    {"oline", 0x203E},   {"omega", 0x3C9},   {"omicron", 0x3BF},  {"oplus", 0x2295},
    {"or", 0x2228},      {"ordf", 0xAA},     {"ordm", 0xBA},      {"oslash", 0xF8},
    {"otilde", 0xF5},    {"otimes", 0x2297}, {"ouml", 0xF6},      {"para", 0xB6},
    {"part", 0x2202},    {"permil", 0x2030}, {"perp", 0x22A5},    {"phi", 0x3C6},
    {"pi", 0x3C0},       {"piv", 0x3D6},     {"plusmn", 0xB1},    {"pound", 0xA3},
    {"prime", 0x2032},   {"prod", 0x220F},   {"prop", 0x221D},    {"psi", 0x3C8},
    {"quot", 0x22},      {"rArr", 0x21D2},   {"radic", 0x221A},   {"rang", 0x232A},
    {"raquo", 0xBB},     {"rarr", 0x2192},   {"rceil", 0x2309},   {"rdquo", 0x201D},
    {"real", 0x211C},    {"reg", 0xAE},      {"rfloor", 0x230B},  {"rho", 0x3C1},
    {"rlm", 0x200F},     {"rsaquo", 0x203A}, {"rsquo", 0x2019},   {"sbquo", 0x201A},
    {"scaron", 0x161},   {"sdot", 0x22C5},   {"sect", 0xA7},      {"shy", 0xAD},
    {"sigma", 0x3C3},    {"sigmaf", 0x3C2},  {"sim", 0x223C},     {"spades", 0x2660},
    {"sub", 0x2282},     {"sube", 0x2286},   {"sum", 0x2211},     {"sup", 0x2283},
    {"sup1", 0xB9},      {"sup2", 0xB2},     {"sup3", 0xB3},      {"supe", 0x2287},
    {"szlig", 0xDF},     {"tau", 0x3C4},     {"there4", 0x2234},  {"theta", 0x3B8},
    {"thetasym", 0x3D1}, {"thinsp", 0x2009}, {"thorn", 0xFE},     {"tilde", 0x2DC},
    {"times", 0xD7},     {"trade", 0x2122},  {"uArr", 0x21D1},    {"uacute", 0xFA},
    {"uarr", 0x2191},    {"ucirc", 0xFB},    {"ugrave", 0xF9},    {"uml", 0xA8},
    {"upsih", 0x3D2},    {"upsilon", 0x3C5}, {"uuml", 0xFC},      {"weierp", 0x2118},
    {"xi", 0x3BE},       {"yacute", 0xFD},   {"yen", 0xA5},       {"yuml", 0xFF},
    {"zeta", 0x3B6},     {"zwj", 0x200D},    {"zwnj", 0x200C},
};
enum { N_ENTITIES = sizeof entities / sizeof *entities };

/* The character of a name; 0 when it is not in the table. */
static uint32_t find(struct dg_span name)
{
    size_t low = 0, high = N_ENTITIES;
    while (low < high) {
        size_t middle = (low + high) / 2;
        size_t len = strlen(entities[middle].name);
        int order = memcmp(entities[middle].name, name.ptr, len < name.len ? len : name.len);
        if (order == 0 && len == name.len)
            return entities[middle].cp;
        if (order < 0 || (order == 0 && len < name.len))
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static int digit_of(char c, bool is_hex)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return is_hex && c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "#233;" or "#xE9;", the semicolon optional in HTML. A reference to a character that parsers
 * replace or refuse counts as unknown. */
static size_t match_number(struct dg_span text, size_t at, enum dg_entity_kind kind, uint32_t *cp)
{
    size_t i = at + 2;
    bool is_hex = i < text.len && (text.ptr[i] | 0x20) == 'x';
    uint32_t sum = 0;
    i += is_hex;
    size_t first = i;
    for (int digit; i < text.len && (digit = digit_of(text.ptr[i], is_hex)) >= 0; i++)
        sum = sum > 0x110000 ? sum : sum * (is_hex ? 16 : 10) + (uint32_t)digit;
    if (i == first)
        return 0;
    bool is_ended = i < text.len && text.ptr[i] == ';';
    if (!is_ended && kind == DG_ENTITY_XML)
        return 0;
    bool is_plain = sum == '\t' || sum == '\n' || (sum >= 0x20 && sum < 0x7F) ||
                    (sum >= 0xA0 && sum < 0xD800) ||
                    (sum >= 0xE000 && sum < 0x110000 && (sum & 0xFFFE) != 0xFFFE);
    *cp = is_plain ? sum : 0;
    return i + is_ended - at;
}

size_t dg_entity_match(struct dg_span text, size_t at, enum dg_entity_kind kind, uint32_t *cp)
{
    if (at + 1 < text.len && text.ptr[at + 1] == '#')
        return match_number(text, at, kind, cp);
    size_t end = at + 1;
    while (end < text.len && end - at <= NAME_MAX && is_alnum(text.ptr[end]))
        end++;
    struct dg_span name = dg_span_sub(text, at + 1, end - at - 1);
    if (name.len == 0 || digit_of(name.ptr[0], false) >= 0)
        return 0;
    if (end < text.len && text.ptr[end] == ';') {
        uint32_t found = find(name);
        bool is_of_xml =
            found == '&' || found == '<' || found == '>' || found == '"' || found == '\'';
        *cp = kind == DG_ENTITY_XML && !is_of_xml ? 0 : found;
        return end + 1 - at;
    }
    for (; kind == DG_ENTITY_HTML && name.len > 1; name.len--) {
        *cp = find(name);
        if (*cp && *cp < 0x100 && *cp != '\'')
            return name.len + 1;
    }
    return 0;
}
