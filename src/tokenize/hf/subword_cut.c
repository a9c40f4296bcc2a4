/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Cuts text into words as in the training of language models. Other implementations use regular
 * expressions; here each pattern is a function that finds the end of the next piece and tries the
 * alternatives in their order. GPT-2's:
 *
 *     's|'t|'re|'ve|'m|'ll|'d  |  ?\p{L}+  |  ?\p{N}+  |  ?[^\s\p{L}\p{N}]+  |  \s+(?!\S)  |  \s+
 *
 * Llama 3's, and with single digits Qwen2's:
 *
 *     (?i:'s|'t|'re|'ve|'m|'ll|'d)  |  [^\r\n\p{L}\p{N}]?\p{L}+  |  \p{N}{1,3}
 *     |   ?[^\s\p{L}\p{N}]+[\r\n]*  |  \s*[\r\n]+  |  \s+(?!\S)  |  \s+
 *
 * BERT cuts at white space, and every punctuation character is a word of its own; all of ASCII that
 * is neither letter nor digit counts as punctuation. */
#include "base/memory/utf8.h"
#include "tokenize/hf/subword_int.h"

#include <unicode/uchar.h>

enum class { SPACE, LETTER, NUMBER, OTHER };

struct seen {
    uint32_t cp;
    size_t end; /* the end of this character */
    enum class class;
    bool is_there;
};

static enum class class_of(uint32_t cp) {
    if (cp < 0x80){if ((cp >= 'a' && cp <= 'z') || (cp >= 'A' && cp <= 'Z')) return LETTER;
                   if (cp >= '0' && cp <= '9') return NUMBER;
                   return cp == ' ' || (cp >= 9 && cp <= 13) ? SPACE : OTHER;}
const uint32_t mask = U_GET_GC_MASK((UChar32)cp);
if (mask & U_GC_L_MASK)
    return LETTER;
if (mask & U_GC_N_MASK)
    return NUMBER;
return u_isUWhiteSpace((UChar32)cp) ? SPACE : OTHER;
}

static struct seen look(struct dg_span text, size_t at)
{
    struct seen seen = {.end = at};
    const size_t len = at < text.len ? dg_utf8_decode(text, at, &seen.cp) : 0;
    if (!len)
        return seen;
    seen.end = at + len;
    seen.class = class_of(seen.cp);
    seen.is_there = true;
    return seen;
}

static bool is_class(struct seen seen, enum class class)
{
    return seen.is_there && seen.class == class;
}

static bool is_line(struct seen seen)
{
    return seen.is_there && (seen.cp == '\n' || seen.cp == '\r');
}

/* The end of a run of at most `most` characters of a class. */
static size_t run_end(struct dg_span text, size_t at, enum class class, size_t most)
{
    for (struct seen seen; most-- > 0 && is_class(seen = look(text, at), class);)
        at = seen.end;
    return at;
}

/* The end of 's, 't, 're, ... at `at`, or 0. */
static size_t contraction(struct dg_span text, size_t at, bool any_case)
{
    static const char *const tails[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    if (text.ptr[at] != '\'')
        return 0;
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        size_t end = at + 1;
        const char *tail = tails[i];
        for (; *tail; tail++) {
            const struct seen seen = look(text, end);
            uint32_t cp = seen.is_there ? seen.cp : 0;
            if (any_case && cp >= 'A' && cp <= 'Z')
                cp += 'a' - 'A';
            if (any_case && cp == 0x17F) /* the long s folds to s */
                cp = 's';
            if (cp != (uint32_t)(unsigned char)*tail)
                break;
            end = seen.end;
        }
        if (!*tail)
            return end;
    }
    return 0;
}

/* White space at `at`: all of it at the end of the text, else all but its last character, unless
 * that would leave none. */
static size_t space_end(struct dg_span text, size_t at)
{
    size_t last = at, end = at;
    for (struct seen seen; is_class(seen = look(text, end), SPACE);) {
        last = end;
        end = seen.end;
    }
    return end == text.len || last == at ? end : last;
}

static size_t cut_gpt2(struct dg_span text, size_t at)
{
    const size_t short_end = contraction(text, at, false);
    if (short_end)
        return short_end;
    const struct seen first = look(text, at);
    const size_t start = first.cp == ' ' ? first.end : at;
    const struct seen body = look(text, start);
    if (body.is_there && body.class != SPACE)
        return run_end(text, start, body.class, SIZE_MAX);
    return space_end(text, at);
}

static size_t cut_llama3(struct dg_span text, size_t at, size_t digits)
{
    const size_t short_end = contraction(text, at, true);
    if (short_end)
        return short_end;
    const struct seen first = look(text, at);
    const struct seen second = look(text, first.end);
    if (first.class == LETTER)
        return run_end(text, at, LETTER, SIZE_MAX);
    if (first.class != NUMBER && !is_line(first) && is_class(second, LETTER))
        return run_end(text, first.end, LETTER, SIZE_MAX);
    if (first.class == NUMBER)
        return run_end(text, at, NUMBER, digits);
    const size_t start = first.cp == ' ' ? first.end : at;
    if (is_class(look(text, start), OTHER)) {
        size_t end = run_end(text, start, OTHER, SIZE_MAX);
        for (struct seen seen; is_line(seen = look(text, end));)
            end = seen.end;
        return end;
    }
    size_t line = 0, end = at;
    for (struct seen seen; is_class(seen = look(text, end), SPACE);) {
        end = seen.end;
        if (is_line(seen))
            line = end;
    }
    return line ? line : space_end(text, at);
}

static size_t cut_digits(struct dg_span text, size_t at, size_t digits)
{
    if (is_class(look(text, at), NUMBER))
        return run_end(text, at, NUMBER, digits);
    for (struct seen seen; (seen = look(text, at)).is_there && seen.class != NUMBER;)
        at = seen.end;
    return at;
}

static size_t cut_before(struct dg_span text, size_t at, struct dg_span mark)
{
    for (size_t end = at + 1; end + mark.len <= text.len; end++)
        if (dg_span_eq(dg_span_sub(text, end, mark.len), mark))
            return end;
    return text.len;
}

static bool is_punctuation(struct seen seen)
{
    if (!seen.is_there)
        return false;
    return seen.cp < 0x80 ? seen.class == OTHER && seen.cp > ' ' && seen.cp < 0x7F
                          : (U_GET_GC_MASK((UChar32)seen.cp) & U_GC_P_MASK) != 0;
}

/* White space, or a word; with `apart`, a punctuation character is a word. */
static size_t cut_spaces(struct dg_span text, size_t at, bool apart, bool *is_dropped)
{
    struct seen seen = look(text, at);
    *is_dropped = is_class(seen, SPACE);
    if (*is_dropped)
        return run_end(text, at, SPACE, SIZE_MAX);
    if (apart && is_punctuation(seen))
        return seen.end;
    while (seen.is_there && seen.class != SPACE && !(apart && is_punctuation(seen))) {
        at = seen.end;
        seen = look(text, at);
    }
    return at;
}

size_t dg_subword_cut(const struct dg_subword_cutting *how, struct dg_span text, size_t at,
                      bool *is_dropped)
{
    *is_dropped = false;
    switch (how->kind) {
    case DG_SUBWORD_CUT_GPT2:
        return cut_gpt2(text, at);
    case DG_SUBWORD_CUT_LLAMA3:
        return cut_llama3(text, at, how->digits);
    case DG_SUBWORD_CUT_DIGITS:
        return cut_digits(text, at, how->digits);
    case DG_SUBWORD_CUT_BEFORE:
        return cut_before(text, at, how->mark);
    case DG_SUBWORD_CUT_SPACES:
    case DG_SUBWORD_CUT_BERT:
        return cut_spaces(text, at, how->kind == DG_SUBWORD_CUT_BERT, is_dropped);
    }
    return text.len;
}
