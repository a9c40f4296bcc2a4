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
        if (!dg_chars_is_digit(dg_protect_byte(text, at + i)))
            return false;
    return !dg_chars_is_digit(dg_protect_byte(text, at + 4));
}

/* Digits and what joins them: "1,234.56", "2024-03-15", "10:30", "192.168.0.1", "1 234".
 * *n_digits and *joined say what was seen. */
static size_t read_digits(struct dg_span text, size_t at, unsigned *n_digits, bool *joined)
{
    unsigned n_run = 0; /* digits since the last joint */
    while (at < text.len) {
        char c = text.ptr[at];
        if (dg_chars_is_digit(c)) {
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
        if (!joins || !dg_chars_is_digit(dg_protect_byte(text, at + len)))
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
    if (len == 0 || dg_chars_is_digit(text.ptr[at]))
        return 0;
    if (cp == '+' || cp == '-' || cp == 0x2212 || cp == 'v' || cp == 'V' || cp == '.')
        return len;
    if (u_charType((UChar32)cp) != U_CURRENCY_SYMBOL)
        return 0;
    size_t space = dg_protect_byte(text, at + len) == ' ';
    return dg_chars_is_digit(dg_protect_byte(text, at + len + space)) ? len + space : len;
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

/* ---- Plain numbers --------------------------------------------------------------------------- */

enum { PLAIN_DIGITS_MAX = 9 };

/* Bytes of the blank at `at`; 0: there is none. */
static size_t blank_len(struct dg_span text, size_t at)
{
    uint32_t cp;
    const size_t len = dg_utf8_decode(text, at, &cp);
    return len > 0 && (cp == ' ' || is_no_break_space(cp)) ? len : 0;
}

/* Bytes of what may stand between two digits of a number, in any language: a point, a comma, a
 * colon, a blank, the French hour. 0: none. */
static size_t joint_len(struct dg_span text, size_t at)
{
    uint32_t cp;
    const size_t blank = blank_len(text, at), len = dg_utf8_decode(text, at, &cp);
    if (dg_protect_byte(text, at + blank) == 'h')
        return blank + 1 + blank_len(text, at + blank + 1);
    if (blank)
        return blank;
    return len > 0 && (cp == '.' || cp == ',' || cp == ':' || cp == '\'' || cp == 0x2019) ? len : 0;
}

/* The digits of a number, without the characters between them. */
static size_t digits_of(struct dg_span number, char digits[PLAIN_DIGITS_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < number.len; i++)
        if (dg_chars_is_digit(number.ptr[i])) {
            if (n == PLAIN_DIGITS_MAX)
                return 0;
            digits[n++] = number.ptr[i];
        }
    return n;
}

static bool is_price_mark(uint32_t cp)
{
    return cp == '%' || cp == ' ' || is_no_break_space(cp) ||
           u_charType((UChar32)cp) == U_CURRENCY_SYMBOL;
}

/* Whether the mark of the second half of the day follows a time: "2:45 p.m.", "2:45pm". */
static bool is_afternoon(struct dg_span text, size_t at)
{
    at += blank_len(text, at);
    const char c = dg_protect_byte(text, at);
    const size_t m = at + (dg_protect_byte(text, at + 1) == '.' ? 2 : 1);
    return (c == 'p' || c == 'P') &&
           (dg_protect_byte(text, m) == 'm' || dg_protect_byte(text, m) == 'M');
}

/* Whether the sign of the French hour follows the digits: "14 h". */
static bool is_hour(struct dg_span number, size_t at)
{
    at += blank_len(number, at);
    return dg_span_eq(dg_span_sub(number, at, number.len - at), DG_SPAN("h"));
}

bool dg_protect_is_plain_number(struct dg_span number)
{
    char digits[PLAIN_DIGITS_MAX];
    size_t at = 0, len, n_run = 0, n_joints = 0, n_colons = 0;
    uint32_t cp;
    bool is_grouped = true; /* three digits follow each joint but the last */
    while (at < number.len && !dg_chars_is_digit(number.ptr[at])) {
        if ((len = dg_utf8_decode(number, at, &cp)) == 0 || !is_price_mark(cp))
            return false;
        at += len;
    }
    for (; at < number.len; at += len) {
        if (dg_chars_is_digit(number.ptr[at])) {
            n_run++;
            len = 1;
            continue;
        }
        if ((len = dg_utf8_decode(number, at, &cp)) == 0)
            return false;
        if (!dg_chars_is_digit(dg_protect_byte(number, at + len)))
            break;
        if (joint_len(number, at) != len)
            return false;
        n_colons += cp == ':';
        is_grouped = is_grouped && (n_joints == 0 || n_run == 3);
        n_joints++;
        n_run = 0;
    }
    const bool is_time = is_hour(number, at) || is_afternoon(number, at);
    for (; at < number.len && !is_time; at += len)
        if ((len = dg_utf8_decode(number, at, &cp)) == 0 || !is_price_mark(cp))
            return false;
    return is_grouped && (n_colons == 0 || n_joints == 1) && digits_of(number, digits) > 0;
}

/* Whether more digits of the same number follow a mark at `at`: "866.6". */
static bool is_inner_mark(struct dg_span text, size_t at)
{
    const char c = dg_protect_byte(text, at);
    return (c == '.' || c == ',') && at > 0 && dg_chars_is_digit(dg_protect_byte(text, at - 1)) &&
           dg_chars_is_digit(dg_protect_byte(text, at + 1));
}

/* Where these digits, and no others, end if they begin at `at`; else 0. */
static size_t end_of(struct dg_span text, size_t at, const char *digits, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && !dg_chars_is_digit(dg_protect_byte(text, at)))
            at += joint_len(text, at);
        if (dg_protect_byte(text, at) != digits[i])
            return 0;
        at++;
    }
    return dg_chars_is_digit(dg_protect_byte(text, at)) || is_inner_mark(text, at) ? 0 : at;
}

/* Whether a text has these digits; with `in_afternoon` only as a time with the mark of the second
 * half of the day. */
static bool has_digits(struct dg_span text, const char *digits, size_t n, bool in_afternoon)
{
    for (size_t at = 0; at < text.len; at++) {
        if (!dg_chars_is_digit(text.ptr[at]) ||
            (at > 0 && (dg_chars_is_digit(text.ptr[at - 1]) || is_inner_mark(text, at - 1))))
            continue;
        const size_t end = end_of(text, at, digits, n);
        /* The mark of the afternoon may stand after minutes, as in "2:45 p.m." */
        const bool has_minutes = dg_protect_byte(text, end) == ':' &&
                                 dg_chars_is_digit(dg_protect_byte(text, end + 1)) &&
                                 dg_chars_is_digit(dg_protect_byte(text, end + 2));
        if (end && (!in_afternoon || is_afternoon(text, has_minutes ? end + 3 : end)))
            return true;
    }
    return false;
}

/* A time as it is said with the other clock: "14:45" for "2:45 p.m.", "2:45" in the afternoon for
 * "14:45" and "2" for "14 h". Returns how many digits; 0: it is not a time. */
static size_t other_clock(struct dg_span source, size_t at, size_t len, char digits[4],
                          bool *in_afternoon)
{
    char all[PLAIN_DIGITS_MAX] = {0};
    const struct dg_span number = dg_span_sub(source, at, len);
    const size_t n = digits_of(number, all), n_hour = n > 2 ? n - 2 : n;
    const bool has_colon = memchr(number.ptr, ':', number.len) != NULL;
    const bool has_unit = memchr(number.ptr, 'h', number.len) ||
                          memchr(number.ptr, 'm', number.len) ||
                          memchr(number.ptr, 'M', number.len);
    const bool is_time = has_colon ? n == 3 || n == 4 : has_unit && n > 0 && n < 3;
    if (!is_time)
        return 0;
    const int hour = n_hour == 1 ? all[0] - '0' : 10 * (all[0] - '0') + all[1] - '0';
    size_t end = len; /* of the digits: "2 pm" is one span, "2:00 p.m." is not */
    while (end > 0 && !dg_chars_is_digit(number.ptr[end - 1]))
        end--;
    const bool is_late = hour < 12 && is_afternoon(source, at + end);
    if (hour > 23 || (hour <= 12 && !is_late))
        return 0;
    const int other = is_late ? hour + 12 : hour - 12;
    size_t n_other = 0;
    *in_afternoon = !is_late;
    if (other > 9)
        digits[n_other++] = (char)('0' + other / 10);
    digits[n_other++] = (char)('0' + other % 10);
    for (size_t i = n_hour; i < n; i++)
        digits[n_other++] = all[i];
    return n_other;
}

bool dg_protect_has_number(struct dg_span text, struct dg_span source, size_t at, size_t len)
{
    char digits[PLAIN_DIGITS_MAX] = {0}, others[4];
    bool in_afternoon = false;
    const size_t n = digits_of(dg_span_sub(source, at, len), digits);
    if (has_digits(text, digits, n, false))
        return true;
    const size_t n_others = other_clock(source, at, len, others, &in_afternoon);
    return n_others > 0 && has_digits(text, others, n_others, in_afternoon);
}
