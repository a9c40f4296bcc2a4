/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Numbers that are more than a small count: with separators, decimals, a sign, a currency or a
 * unit; dates, times, versions, IP addresses; four digits and more. */
#include "text/terms/protect_int.h"

#include "base/memory/utf8.h"

#include <string.h>

#include <unicode/uchar.h>

enum { UNIT_MAX = 8, MANY_DIGITS = 4 };

/* In no particular order. Compared exactly, because a unit in another case is another unit. */
static bool is_unit(struct dg_span word)
{
    static const char *const units[] = {
        "%",    "‰",    "°",    "°C",   "°F",   "℃",    "K",    "B",    "kB",   "KB",     "MB",
        "GB",   "TB",   "PB",   "KiB",  "MiB",  "GiB",  "TiB",  "kb",   "mb",   "gb",     "Kb",
        "Mb",   "Gb",   "bit",  "bits", "bps",  "kbps", "Kbps", "Mbps", "Gbps", "Bps",    "KBps",
        "MBps", "GBps", "kbit", "Mbit", "Gbit", "nm",   "µm",   "mm",   "cm",   "dm",     "m",
        "km",   "ft",   "mi",   "yd",   "m²",   "km²",  "cm²",  "m³",   "cm³",  "ha",     "µg",
        "mg",   "g",    "kg",   "t",    "lb",   "lbs",  "oz",   "ml",   "mL",   "cl",     "dl",
        "l",    "L",    "ns",   "µs",   "ms",   "s",    "sec",  "min",  "h",    "hrs",    "Hz",
        "kHz",  "MHz",  "GHz",  "V",    "mV",   "kV",   "A",    "mA",   "mAh",  "Ah",     "W",
        "Ko",   "ko",   "Mo",   "Go",   "To",   "Kio",  "Mio",  "Gio",  "Tio",  "octets", "mW",
        "kW",   "MW",   "GW",   "Wh",   "kWh",  "MWh",  "J",    "kJ",   "MJ",   "cal",    "kcal",
        "N",    "Pa",   "hPa",  "kPa",  "bar",  "psi",  "dB",   "dBm",  "lm",   "lx",     "px",
        "pt",   "em",   "rem",  "dpi",  "ppi",  "fps",  "rpm",  "mph",  "kph",  "MP",     "USD",
        "EUR",  "GBP",  "JPY",  "CHF",  "CAD",  "AUD",  "KRW",  "CNY",  "RUB",  "am",     "pm",
        "AM",   "PM",   "UTC",  "GMT",  "€",    "$",    "£",    "¥",    "₩",    "₽",    "₹",
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (dg_span_eq(word, dg_span_cstr(units[i])))
            return true;
    return false;
}

static bool is_no_break_space(uint32_t cp)
{
    return cp == 0xA0 || cp == 0x202F || cp == 0x2009;
}

/* The end of a unit that starts at `at`, or 0. "km/h", "m/s²" and the like are one unit. */
static size_t match_unit(struct dg_span text, size_t at)
{
    size_t end = at, len;
    uint32_t cp;
    while (end - at <= UNIT_MAX && (len = dg_utf8_decode(text, end, &cp)) > 0 &&
           (u_isalpha((UChar32)cp) || cp == '%' || cp == 0x2030 || cp == 0xB0 || cp == 0xB2 ||
            cp == 0xB3 || u_charType((UChar32)cp) == U_CURRENCY_SYMBOL))
        end += len;
    if (!is_unit(dg_span_sub(text, at, end - at)))
        return 0;
    if (dg_protect_byte(text, end) == '/') {
        size_t per = match_unit(text, end + 1);
        return per ? per : end;
    }
    return end;
}

/* True when the blank at `at` separates groups of three digits: "1 234,56", "12 345 678". */
static bool is_group_blank(struct dg_span text, size_t at, unsigned n_run)
{
    if (n_run < 1 || n_run > 3)
        return false;
    for (size_t i = 1; i <= 3; i++)
        if (!dg_protect_is_digit(dg_protect_byte(text, at + i)))
            return false;
    return !dg_protect_is_digit(dg_protect_byte(text, at + 4));
}

/* Digits and what joins them: "1,234.56", "2024-03-15", "10:30", "192.168.0.1", "1 234".
 * *n_digits and *joined say what was seen. */
static size_t read_digits(struct dg_span text, size_t at, unsigned *n_digits, bool *joined)
{
    unsigned n_run = 0; /* digits since the last joint */
    while (at < text.len) {
        char c = text.ptr[at];
        if (dg_protect_is_digit(c)) {
            ++*n_digits;
            n_run++;
            at++;
            continue;
        }
        uint32_t cp;
        size_t len = dg_utf8_decode(text, at, &cp);
        bool joins = len > 0 && c != '\0' &&
                     (strchr(".,:/-'", c) || cp == 0x2019 || is_no_break_space(cp) ||
                      (c == ' ' && is_group_blank(text, at, n_run)));
        if (!joins || !dg_protect_is_digit(dg_protect_byte(text, at + len)))
            break;
        *joined = true;
        n_run = 0;
        at += len;
    }
    return at;
}

/* Bytes of a sign, a currency or a version's "v" before the digits. */
static size_t lead_len(struct dg_span text, size_t at)
{
    uint32_t cp;
    size_t len = dg_utf8_decode(text, at, &cp);
    if (len == 0 || dg_protect_is_digit(text.ptr[at]))
        return 0;
    if (cp == '+' || cp == '-' || cp == 0x2212 || cp == 'v' || cp == 'V' || cp == '.')
        return len;
    if (u_charType((UChar32)cp) != U_CURRENCY_SYMBOL)
        return 0;
    size_t space = dg_protect_byte(text, at + len) == ' ';
    return dg_protect_is_digit(dg_protect_byte(text, at + len + space)) ? len + space : len;
}

size_t dg_protect_match_number(struct dg_span text, size_t at)
{
    size_t lead = lead_len(text, at);
    unsigned n_digits = 0;
    bool joined = false;
    size_t end = read_digits(text, at + lead, &n_digits, &joined);
    if (n_digits == 0)
        return 0;
    char c = text.ptr[at];
    if ((c == 'v' || c == 'V') && !joined)
        return 0;
    uint32_t cp;
    size_t len = dg_utf8_decode(text, end, &cp);
    size_t unit = match_unit(text, end);
    if (!unit && len > 0 && (cp == ' ' || is_no_break_space(cp)))
        unit = match_unit(text, end + len);
    if (unit)
        return unit;
    /* "3rd", "2x": a word, not a number; a letter of a dense script may touch ("2024年"). */
    if (len > 0 && u_isalpha((UChar32)cp) && u_charType((UChar32)cp) != U_OTHER_LETTER)
        return 0;
    return joined || lead > 0 || n_digits >= MANY_DIGITS ? end : 0;
}
