/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The grammar of RFC 9112, sections 2.2, 3, 5 and 7.1, without its concessions to old senders.
 *
 *   head:    LINE_START --CR--> LAST_CR --LF--> done
 *            LINE_START --byte--> REQUEST_LINE or NAME --':'--> VALUE --CR--> LINE_CR
 *            LINE_CR --LF--> LINE_START
 *   chunks:  SIZE --CR--> SIZE_CR --LF--> DATA ... DATA_CR --LF--> SIZE
 *            after size 0 comes the trailer, a head without a request line */
#include "net/proto/http_guard.h"
#include "base/memory/chars.h"

enum { LINE_START, REQUEST_LINE, NAME, VALUE, LINE_CR, LAST_CR, HEAD_DONE };

/* RFC 9110, section 5.6.2. */
static bool is_token_char(unsigned char c)
{
    static const uint8_t token[256] = {
        ['!'] = 1, ['#'] = 1, ['$'] = 1, ['%'] = 1, ['&'] = 1, ['\''] = 1, ['*'] = 1, ['+'] = 1,
        ['-'] = 1, ['.'] = 1, ['^'] = 1, ['_'] = 1, ['`'] = 1, ['|'] = 1,  ['~'] = 1, ['0'] = 1,
        ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1, ['5'] = 1, ['6'] = 1,  ['7'] = 1, ['8'] = 1,
        ['9'] = 1, ['A'] = 1, ['B'] = 1, ['C'] = 1, ['D'] = 1, ['E'] = 1,  ['F'] = 1, ['G'] = 1,
        ['H'] = 1, ['I'] = 1, ['J'] = 1, ['K'] = 1, ['L'] = 1, ['M'] = 1,  ['N'] = 1, ['O'] = 1,
        ['P'] = 1, ['Q'] = 1, ['R'] = 1, ['S'] = 1, ['T'] = 1, ['U'] = 1,  ['V'] = 1, ['W'] = 1,
        ['X'] = 1, ['Y'] = 1, ['Z'] = 1, ['a'] = 1, ['b'] = 1, ['c'] = 1,  ['d'] = 1, ['e'] = 1,
        ['f'] = 1, ['g'] = 1, ['h'] = 1, ['i'] = 1, ['j'] = 1, ['k'] = 1,  ['l'] = 1, ['m'] = 1,
        ['n'] = 1, ['o'] = 1, ['p'] = 1, ['q'] = 1, ['r'] = 1, ['s'] = 1,  ['t'] = 1, ['u'] = 1,
        ['v'] = 1, ['w'] = 1, ['x'] = 1, ['y'] = 1, ['z'] = 1,
    };
    return token[c];
}

static const char *begin_line(struct dg_http_guard_head *guard, unsigned char c)
{
    guard->line_bytes = 1;
    if (c == '\r') {
        guard->state = LAST_CR;
        return guard->lines == 0 ? "the request line is empty" : NULL;
    }
    if (c == '\n')
        return "a line ends with LF alone, expected CR LF";
    if (guard->lines == 0) {
        guard->state = REQUEST_LINE;
        return c < 'A' || c > 'Z' ? "the request line does not begin with a method" : NULL;
    }
    if (c == ' ' || c == '\t')
        return "a header line begins with a blank (obsolete folding)";
    guard->state = NAME;
    return is_token_char(c) ? NULL : "a header name holds a character that is not permitted there";
}

/* The next byte of the request line: three words with one space between them. */
static const char *in_request_line(struct dg_http_guard_head *guard, unsigned char c)
{
    if ((c < 0x20 && c != '\r' && c != '\n') || c >= 0x7F)
        return "the request line holds a character that is not printable ASCII";
    if (c == '\n')
        return "a line ends with LF alone, expected CR LF";
    if (c == '\r')
        guard->state = LINE_CR;
    if (c == ' ' && (guard->after_space || ++guard->spaces > 2))
        return "the request line has a space too many";
    if (c == '\r' && guard->after_space)
        return "the request line ends with a space";
    guard->after_space = c == ' ';
    return NULL;
}

/* The next byte of a header's value. */
static const char *in_value(struct dg_http_guard_head *guard, unsigned char c)
{
    if (c == '\n')
        return "a line ends with LF alone, expected CR LF";
    if (c == '\r')
        guard->state = LINE_CR;
    return c != '\r' && ((c < 0x20 && c != '\t') || c == 0x7F)
               ? "a header value holds a control character"
               : NULL;
}

static const char *step(struct dg_http_guard_head *guard, unsigned char c)
{
    guard->line_bytes++;
    switch (guard->state) {
    case LINE_START:
        return begin_line(guard, c);
    case NAME:
        if (c == ':') {
            guard->state = VALUE;
            return NULL;
        }
        if (c == ' ' || c == '\t')
            return "a blank stands before the colon of a header";
        return is_token_char(c) ? NULL
                                : "a header name holds a character that is not permitted there";
    case REQUEST_LINE:
        return in_request_line(guard, c);
    case VALUE:
        return in_value(guard, c);
    case LINE_CR:
        guard->state = LINE_START;
        guard->lines++;
        return c == '\n' ? NULL : "a CR is not followed by LF";
    default: /* LAST_CR */
        guard->state = HEAD_DONE;
        return c == '\n' ? NULL : "a CR is not followed by LF";
    }
}

const char *dg_http_guard_head_scan(struct dg_http_guard_head *guard, const char *bytes, size_t len,
                                    size_t *end)
{
    *end = SIZE_MAX;
    for (size_t i = 0; i < len; i++) {
        const char *problem = step(guard, (unsigned char)bytes[i]);
        if (problem)
            return problem;
        if (guard->state == HEAD_DONE) {
            *end = i + 1;
            return NULL;
        }
    }
    return NULL;
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

enum { SIZE, EXTENSION, SIZE_CR, DATA, DATA_END, DATA_CR, TRAILER };

/* A byte of data costs at most 8 bytes of framing, plus this much for extensions and trailers. */
enum { FRAMING_FREE = 16 * 1024, FRAMING_PER_BYTE = 8, SIZE_DIGITS_MAX = 15 };

static const char *in_size(struct dg_http_guard_chunks *guard, unsigned char c)
{
    int digit = dg_chars_hex(c);
    if (digit >= 0) {
        if (++guard->digits > SIZE_DIGITS_MAX)
            return "a chunk size has more than 15 digits";
        guard->left = guard->left << 4 | (unsigned)digit;
        return NULL;
    }
    if (guard->digits == 0 || (c != '\r' && c != ';'))
        return "a chunk size is not a hexadecimal number";
    guard->state = c == '\r' ? SIZE_CR : EXTENSION;
    return NULL;
}

static const char *after_size(struct dg_http_guard_chunks *guard, unsigned char c)
{
    if (c != '\n')
        return "a CR is not followed by LF";
    guard->data += guard->left;
    guard->state = guard->left ? DATA : TRAILER;
    guard->trailer = (struct dg_http_guard_head){.lines = 1};
    return NULL;
}

static const char *chunk_step(struct dg_http_guard_chunks *guard, unsigned char c)
{
    switch (guard->state) {
    case SIZE:
        return in_size(guard, c);
    case EXTENSION:
        if (c == '\r')
            guard->state = SIZE_CR;
        return c != '\r' && ((c < 0x20 && c != '\t') || c >= 0x7F)
                   ? "a chunk extension holds a character that is not permitted there"
                   : NULL;
    case SIZE_CR:
        return after_size(guard, c);
    case DATA_END:
        guard->state = DATA_CR;
        return c == '\r' ? NULL : "a chunk is longer than its size says";
    case DATA_CR:
        guard->state = SIZE;
        guard->digits = 0;
        return c == '\n' ? NULL : "a CR is not followed by LF";
    default: { /* TRAILER */
        const char *problem = step(&guard->trailer, c);
        guard->done = guard->trailer.state == HEAD_DONE;
        return problem;
    }
    }
}

const char *dg_http_guard_chunks_scan(struct dg_http_guard_chunks *guard, const char *bytes,
                                      size_t len, size_t *end)
{
    *end = SIZE_MAX;
    for (size_t i = 0; i < len; i++) {
        if (guard->state == DATA) {
            uint64_t here = len - i < guard->left ? len - i : guard->left;
            guard->left -= here;
            i += (size_t)here - 1;
            if (guard->left == 0)
                guard->state = DATA_END;
            continue;
        }
        const char *problem = chunk_step(guard, (unsigned char)bytes[i]);
        if (problem)
            return problem;
        if (++guard->framing > FRAMING_FREE + FRAMING_PER_BYTE * guard->data)
            return "the chunks carry more framing than data";
        if (guard->done) {
            *end = i + 1;
            return NULL;
        }
    }
    return NULL;
}
