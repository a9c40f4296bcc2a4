/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* ICU gives the script of each character; punctuation and digits are Common and do not count. */
#include "text/language/script.h"
#include "base/memory/utf8.h"

#include <unicode/uscript.h>

int dg_script_find(const char *name)
{
    UErrorCode code = U_ZERO_ERROR;
    UScriptCode found[4];
    const int32_t n = uscript_getCode(name, found, 4, &code);
    return U_SUCCESS(code) && n == 1 ? (int)found[0] : DG_SCRIPT_ANY;
}

/* Whether a character's script belongs to the one that is wanted. */
static bool belongs(UScriptCode have, int want)
{
    if ((int)have == want)
        return true;
    switch (want) {
    case USCRIPT_JAPANESE:
        return have == USCRIPT_HAN || have == USCRIPT_HIRAGANA || have == USCRIPT_KATAKANA;
    case USCRIPT_KOREAN:
        return have == USCRIPT_HAN || have == USCRIPT_HANGUL;
    case USCRIPT_SIMPLIFIED_HAN:
    case USCRIPT_TRADITIONAL_HAN:
        return have == USCRIPT_HAN;
    default:
        return false;
    }
}

bool dg_script_is_mostly(struct dg_span text, int script)
{
    size_t n = 0, n_in = 0;
    uint32_t cp;
    if (script == DG_SCRIPT_ANY)
        return true;
    for (size_t at = 0, len; (len = dg_utf8_decode(text, at, &cp)) > 0; at += len) {
        UErrorCode code = U_ZERO_ERROR;
        const UScriptCode have = uscript_getScript((UChar32)cp, &code);
        if (U_FAILURE(code) || have == USCRIPT_COMMON || have == USCRIPT_INHERITED ||
            have == USCRIPT_UNKNOWN)
            continue;
        n++;
        n_in += belongs(have, script);
    }
    return 2 * n_in >= n;
}
