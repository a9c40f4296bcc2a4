/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads a text once from left to right. The only look-ahead is over the token (run of non-space
 * bytes) that a word starts in, once per token, to see whether it is an address; so the time is
 * linear. */
#include "text/language/langid_words.h"
#include "base/memory/chars.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

enum { BOUNDARY = ' ', TOKEN_MAX = 512 };

void dg_langid_words_start(struct dg_langid_words *words, struct dg_span text)
{
    words->script = 0;
    words->len = 0;
    words->whole = words->before = 0;
    words->text = text.ptr;
    words->text_len = text.len < INT32_MAX ? text.len : INT32_MAX;
    words->at = words->skip_until = words->token_end = words->n_letters = 0;
}

/* True for tokens like mail@host, http://x, a/b/c, file.txt, snake_case. */
static bool token_is_address(const char *token, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = token[i];
        if (c == '@' || c == '\\' || c == '_')
            return true;
        if (c == '/' && i + 1 < len && (token[i + 1] == '/' || i == 0))
            return true;
        if (c == '.' && i > 0 && i + 1 < len && dg_chars_is_letter(token[i - 1]) &&
            dg_chars_is_letter(token[i + 1]))
            return true;
    }
    return false;
}

/* Looks at the token around `at` unless that was done; sets skip_until when it is an address. */
static void look_at_token(struct dg_langid_words *words)
{
    if (words->at < words->token_end)
        return;
    size_t end = words->at;
    while (end < words->text_len && end - words->at < TOKEN_MAX &&
           !dg_chars_is_space(words->text[end]))
        end++;
    words->token_end = end;
    if (token_is_address(words->text + words->at, end - words->at))
        words->skip_until = end;
}

static int script_of(UChar32 c)
{
    if (c < 0x80)
        return dg_chars_is_letter((char)c) ? USCRIPT_LATIN : USCRIPT_COMMON;
    UErrorCode status = U_ZERO_ERROR;
    int script = uscript_getScript(c, &status);
    switch (script) {
    case USCRIPT_HIRAGANA:
    case USCRIPT_KATAKANA:
    case USCRIPT_BOPOMOFO:
        return USCRIPT_HAN;
    case USCRIPT_UNKNOWN:
        return USCRIPT_COMMON;
    default:
        return U_SUCCESS(status) ? script : USCRIPT_COMMON;
    }
}

static bool is_apostrophe(UChar32 c)
{
    return c == '\'' || c == 0x2019 || c == 0x02BC;
}

/* Adds a mark to the word, composed with the letter before it where such a letter exists. */
static void push_mark(struct dg_langid_words *words, UChar32 mark)
{
    UErrorCode status = U_ZERO_ERROR;
    const UNormalizer2 *nfc = unorm2_getNFCInstance(&status);
    UChar32 both = U_SUCCESS(status) ? unorm2_composePair(nfc, (UChar32)words->cp[words->len], mark)
                                     : U_SENTINEL;
    if (both >= 0)
        words->cp[words->len] = (uint32_t)both;
    else if (words->len < DG_LANGID_WORD_MAX)
        words->cp[++words->len] = (uint32_t)mark;
}

static uint32_t lower(UChar32 c)
{
    if (c < 0x80)
        return (uint32_t)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return (uint32_t)u_tolower(c);
}

/* Reads letters from `at` until the word ends; false when there was none. */
static bool read_word(struct dg_langid_words *words)
{
    const char *s = words->text;
    int32_t at = (int32_t)words->at, end = (int32_t)words->text_len;
    words->len = 0;
    while (at < end) {
        int32_t next = at;
        UChar32 c;
        U8_NEXT(s, next, end, c);
        if (c < 0)
            break;
        int script = script_of(c);
        if (script == USCRIPT_INHERITED && words->len > 0) {
            push_mark(words, c);
        } else if (is_apostrophe(c) && words->len > 0 && words->script == USCRIPT_LATIN) {
            int32_t peek = next;
            UChar32 after = 0;
            if (peek < end)
                U8_NEXT(s, peek, end, after);
            if (after <= 0 || script_of(after) != USCRIPT_LATIN || words->len >= DG_LANGID_WORD_MAX)
                break;
            words->cp[++words->len] = '\'';
        } else if (script == USCRIPT_COMMON || script == USCRIPT_INHERITED) {
            break;
        } else if (words->len > 0 && script != words->script) {
            break;
        } else if (words->len >= DG_LANGID_WORD_MAX) {
            break;
        } else {
            words->script = script;
            words->cp[++words->len] = lower(c);
            words->n_letters++;
        }
        at = next;
    }
    if (words->len == 0) {
        int32_t next = at;
        UChar32 c;
        U8_NEXT(s, next, end, c);
        (void)c;
        at = next;
    }
    words->at = (size_t)at;
    words->cp[0] = BOUNDARY;
    words->cp[words->len + 1] = BOUNDARY;
    uint32_t hash = 1;
    for (int i = 0; i < words->len + 2; i++)
        hash = dg_langid_hash_step(hash, words->cp[i]);
    words->before = words->whole;
    words->whole = words->len > 0 ? dg_langid_hash_end(hash) : 0;
    return words->len > 0;
}

bool dg_langid_words_next(struct dg_langid_words *words)
{
    while (words->at < words->text_len && words->n_letters < DG_LANGID_LETTERS_MAX) {
        if (dg_chars_is_space(words->text[words->at])) {
            words->at++;
            continue;
        }
        look_at_token(words);
        if (words->at < words->skip_until) {
            words->at = words->skip_until;
            continue;
        }
        if (read_word(words))
            return true;
    }
    return false;
}
