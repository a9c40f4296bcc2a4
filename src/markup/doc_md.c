/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads Markdown as far as it matters for translation. Syntax at the start of a line (headings,
 * lists, quotes, fences, tables, rules) is a border; inline syntax (emphasis, links, code spans)
 * moves with its words or is kept. The lines of a paragraph are one text, with white space at the
 * line ends. Nothing is an error: a mark without its partner stays where it is, as a border.
 *
 * Not translated: front matter, fenced and indented code, link definitions, formulas between lines
 * of "$$", <pre>, <script>, <style> and comments, tags of other HTML blocks. */
#include "base/memory/chars.h"
#include "markup/doc_int.h"
#include "markup/markup.h"

#include <string.h>
#include <strings.h>

enum {
    LOOK_MAX = 1000,
    VISIBLE_MAX = 64 /* VISIBLE_MAX: bytes of a code span that the model sees */
};

struct reader {
    struct dg_doc *doc;
    struct dg_span text;
    bool in_paragraph; /* the line before is text that may continue */
    char fence;        /* the character that fences the current code block; 0: none */
    size_t fence_len;
    size_t fence_quotes; /* how many ">" stand before each of its lines */
    size_t content;      /* the column where the text of the current list item begins; 0: no list */
    const char *raw_end; /* what ends the lines that are copied; NULL: none are */
};

static const struct dg_span none = {NULL, 0};

static char byte_at(const struct reader *reader, size_t at, size_t end)
{
    return at < end ? reader->text.ptr[at] : '\0';
}

static size_t skip_blanks(const struct reader *reader, size_t at, size_t end)
{
    while (at < end && dg_chars_is_blank(reader->text.ptr[at]))
        at++;
    return at;
}

static size_t run_of(const struct reader *reader, size_t at, size_t end, char c)
{
    size_t n = 0;
    while (byte_at(reader, at + n, end) == c && at + n < end)
        n++;
    return n;
}

/* No closing mark is searched for beyond this point, so that time stays linear. */
static size_t near(size_t at, size_t end)
{
    return end - at > LOOK_MAX ? at + LOOK_MAX : end;
}

static void border(struct reader *reader, size_t at, size_t end)
{
    if (end > at)
        dg_doc_add(reader->doc, DG_DOC_BORDER, at, end - at, none);
}

/* ---- Within a line --------------------------------------------------------------------------- */

/* Returns where a code span that begins with `n` backticks ends; 0 when it does not end on these
 * lines. */
static size_t code_end(const struct reader *reader, size_t at, size_t end, size_t n)
{
    end = near(at, end);
    for (size_t i = at + n; i < end;) {
        if (reader->text.ptr[i] != '`') {
            i++;
            continue;
        }
        size_t run = run_of(reader, i, end, '`');
        i += run;
        if (run == n)
            return i;
    }
    return 0;
}

/* The ']' that closes the '[' before `at`, within these lines; end when none does. */
static size_t bracket_end(const struct reader *reader, size_t at, size_t end)
{
    size_t depth = 0, stop = near(at, end);
    if (stop > at && !memchr(reader->text.ptr + at, ']', stop - at))
        return end;
    for (; at < stop; at++) {
        char c = reader->text.ptr[at];
        if (c == '\\')
            at++;
        else if (c == '[')
            depth++;
        else if (c == ']' && depth-- == 0)
            return at;
    }
    return end;
}

/* Where "(url)" or "[label]" after a bracket ends; 0 when there is none. */
static size_t target_end(const struct reader *reader, size_t at, size_t end)
{
    char open = byte_at(reader, at, end), close = open == '(' ? ')' : ']';
    size_t depth = 0;
    if (open != '(' && open != '[')
        return 0;
    end = near(at, end);
    for (; at < end && reader->text.ptr[at] != '\n'; at++) {
        char c = reader->text.ptr[at];
        if (c == '\\')
            at++;
        else if (c == open)
            depth++;
        else if (c == close && --depth == 0)
            return at + 1;
    }
    return 0;
}

static bool is_word_byte(char c)
{
    return dg_chars_is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (unsigned char)c >= 0x80;
}

/* Takes a whole run of marks as text, so that none of it is examined again. */
static void add_signs(struct reader *reader, size_t at, size_t n)
{
    dg_doc_add(reader->doc, DG_DOC_COPY, at, n, dg_span_sub(reader->text, at, n));
}

/* Emphasis: a run of one sign opens before a word and closes after one. */
static void add_emphasis(struct reader *reader, size_t at, size_t n, size_t start, size_t end)
{
    char before = at > start ? reader->text.ptr[at - 1] : ' ', after = byte_at(reader, at + n, end);
    bool may_close = before != ' ' && before != '\n' && before != '\t';
    bool may_open = after != ' ' && after != '\n' && after != '\t' && after != '\0';
    if (reader->text.ptr[at] == '_' && is_word_byte(before) && is_word_byte(after))
        may_open = may_close = false;
    bool has_open = false;
    for (size_t i = reader->doc->n; may_close && i > 0; i--) {
        const struct dg_doc_item *item = &reader->doc->items[i - 1];
        if (item->kind == DG_DOC_BORDER)
            break;
        if (reader->doc->n - i > 64)
            break;
        if ((item->kind == DG_DOC_OPEN || item->kind == DG_DOC_CLOSE) && item->len == n &&
            reader->text.ptr[item->at] == reader->text.ptr[at]) {
            has_open = item->kind == DG_DOC_OPEN;
            break;
        }
    }
    if (!may_open && !(may_close && has_open)) {
        add_signs(reader, at, n);
        return;
    }
    dg_doc_add(reader->doc, may_close && has_open ? DG_DOC_CLOSE : DG_DOC_OPEN, at, n, none);
}

static size_t add_inline(struct reader *reader, size_t at, size_t start, size_t end);

static void add_spans(struct reader *reader, size_t start, size_t end)
{
    static const struct dg_doc_text how = {.keeps_space = false};
    size_t from = start;
    for (size_t at = start; at < end && !reader->doc->err;) {
        if (!strchr("\\`*_~[!<", reader->text.ptr[at]) || reader->text.ptr[at] == '\0') {
            at++;
            continue;
        }
        dg_doc_add_text(reader->doc, from, at - from, &how);
        size_t behind = add_inline(reader, at, start, end);
        from = behind > at ? behind : at;
        at = behind > at ? behind : at + 1;
    }
    dg_doc_add_text(reader->doc, from, end - from, &how);
}

/* "[text](url)": the text is translated. Returns where it ends; 0 when it is not a link. */
static size_t add_link(struct reader *reader, size_t at, size_t end)
{
    size_t open = at + (reader->text.ptr[at] == '!' ? 2 : 1);
    size_t close = bracket_end(reader, open, end);
    size_t behind = close < end ? target_end(reader, close + 1, end) : 0;
    if (behind == 0 || close == open)
        return 0;
    dg_doc_add(reader->doc, DG_DOC_OPEN, at, open - at, none);
    add_spans(reader, open, close);
    dg_doc_add(reader->doc, DG_DOC_CLOSE, close, behind - close, none);
    return behind;
}

/* A tag, comment or <address>; 0 when '<' is ordinary text. */
static size_t add_tag(struct reader *reader, size_t at, size_t end)
{
    struct dg_markup markup = {.text = dg_span_sub(reader->text, 0, near(at, end)), .at = at};
    struct dg_markup_token token;
    if (!memchr(reader->text.ptr + at, '>', markup.text.len - at) ||
        !dg_markup_next(&markup, &token) || token.at != at || token.type == DG_MARKUP_TEXT ||
        reader->text.ptr[at + token.len - 1] != '>')
        return 0;
    bool is_address = token.name.len && (memchr(token.name.ptr, ':', token.name.len) ||
                                         memchr(token.name.ptr, '@', token.name.len));
    dg_doc_add(reader->doc,
               is_address || token.type > DG_MARKUP_END ? DG_DOC_POINT
               : token.type == DG_MARKUP_START          ? DG_DOC_OPEN
                                                        : DG_DOC_CLOSE,
               at, token.len, none);
    return at + token.len;
}

/* Reads inline syntax that begins with a mark; returns its end, or `at` when the mark is text. */
static size_t add_inline(struct reader *reader, size_t at, size_t start, size_t end)
{
    char c = reader->text.ptr[at];
    size_t n, behind;
    switch (c) {
    case '\\': /* the character after it stays protected */
        n = at + 1 < end && !is_word_byte(reader->text.ptr[at + 1]) ? 2 : 1;
        if (n == 2 && reader->text.ptr[at + 1] != '\n')
            dg_doc_add(reader->doc, DG_DOC_FROZEN, at, n, dg_span_sub(reader->text, at + 1, 1));
        else
            dg_doc_add(reader->doc, DG_DOC_COPY, at, n = 1, dg_span_sub(reader->text, at, 1));
        return at + n;
    case '`':
        n = run_of(reader, at, end, '`');
        behind = code_end(reader, at, end, n);
        if (behind == 0) {
            add_signs(reader, at, n);
            return at + n;
        }
        if (behind - at > VISIBLE_MAX + 2 * n || memchr(reader->text.ptr + at, '\n', behind - at))
            dg_doc_add(reader->doc, DG_DOC_POINT, at, behind - at, none);
        else
            dg_doc_add(reader->doc, DG_DOC_FROZEN, at, behind - at,
                       dg_span_sub(reader->text, at + n, behind - at - 2 * n));
        return behind;
    case '*':
    case '_':
    case '~':
        n = run_of(reader, at, end, c);
        if (c == '~' && n != 2)
            add_signs(reader, at, n);
        else
            add_emphasis(reader, at, n, start, end);
        return at + n;
    case '!':
        if (byte_at(reader, at + 1, end) != '[')
            break;
        /* fall through */
    case '[':
        behind = add_link(reader, at, end);
        return behind ? behind : at;
    default:
        behind = add_tag(reader, at, end);
        return behind ? behind : at;
    }
    return at;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* The length of what begins a block at the line's start: "- ", "12. ", "> ", "## ", "[ ] ". */
static size_t marker_len(const struct reader *reader, size_t at, size_t end)
{
    size_t i = skip_blanks(reader, at, end);
    for (;;) {
        size_t n = 0;
        char c = byte_at(reader, i, end);
        if (c == '>') {
            n = 1;
        } else if (c == '#') {
            n = run_of(reader, i, end, '#');
            n = n <= 6 && (i + n == end || dg_chars_is_blank(byte_at(reader, i + n, end))) ? n : 0;
        } else if ((c == '-' || c == '*' || c == '+') &&
                   dg_chars_is_blank(byte_at(reader, i + 1, end))) {
            n = 1;
        } else if (dg_chars_is_digit(c)) {
            while (dg_chars_is_digit(byte_at(reader, i + n, end)))
                n++;
            char stop = byte_at(reader, i + n, end);
            n = n <= 9 && (stop == '.' || stop == ')') &&
                        dg_chars_is_blank(byte_at(reader, i + n + 1, end))
                    ? n + 1
                    : 0;
        } else if (c == '[' && byte_at(reader, i + 2, end) == ']' &&
                   strchr(" xX", byte_at(reader, i + 1, end)) && i > at) {
            n = 3;
        } else if (c == '[' && byte_at(reader, i + 1, end) == '^') { /* "[^1]: ", a footnote */
            const size_t close = bracket_end(reader, i + 1, end);
            n = close < end && byte_at(reader, close + 1, end) == ':' ? close + 2 - i : 0;
        }
        if (n == 0)
            return i > skip_blanks(reader, at, end) ? i - at : 0;
        i = skip_blanks(reader, i + n, end);
    }
}

/* Rules ("---", "***", "==="), the line of dashes below a table's head, and the lines around a
 * container (":::note"). */
static bool is_rule(const struct reader *reader, size_t at, size_t end)
{
    size_t n = 0;
    if (run_of(reader, skip_blanks(reader, at, end), end, ':') >= 3)
        return true;
    for (; at < end; at++) {
        if (!strchr("-=*_|: \t\r", reader->text.ptr[at]))
            return false;
        n += reader->text.ptr[at] == '-' || reader->text.ptr[at] == '=' ||
             reader->text.ptr[at] == '*' || reader->text.ptr[at] == '_';
    }
    return n >= 2;
}

static bool is_definition(const struct reader *reader, size_t at, size_t end)
{
    if (byte_at(reader, at, end) != '[' || byte_at(reader, at + 1, end) == '^')
        return false;
    size_t close = bracket_end(reader, at + 1, end);
    return byte_at(reader, close + 1, end) == ':' && close < end;
}

/* Each cell of a table is a text of its own. */
static void add_row(struct reader *reader, size_t at, size_t end)
{
    size_t from = at;
    for (size_t i = at; i < end; i++) {
        if (reader->text.ptr[i] != '|' || (i > at && reader->text.ptr[i - 1] == '\\'))
            continue;
        add_spans(reader, from, i);
        border(reader, i, i + 1);
        from = i + 1;
    }
    add_spans(reader, from, end);
}

/* Whether the line goes on with the current code block, which it may end. The block ends without a
 * fence where the quotation does that it is in. */
static bool is_in_fence(struct reader *reader, size_t at, size_t end)
{
    size_t i = skip_blanks(reader, at, end);
    for (size_t n = 0; n < reader->fence_quotes; n++) {
        if (byte_at(reader, i, end) != '>') {
            reader->fence = '\0';
            return false;
        }
        i = skip_blanks(reader, i + 1, end);
    }
    const size_t n = run_of(reader, i, end, reader->fence);
    const size_t stop = end - (end > i && reader->text.ptr[end - 1] == '\r');
    if (n >= reader->fence_len && skip_blanks(reader, i + n, end) >= stop)
        reader->fence = '\0';
    return true;
}

/* True for a fence that begins a code block, also in a list or a quotation, whose marks end at
 * `start`. */
static bool begins_fence(struct reader *reader, size_t at, size_t start, size_t end)
{
    const char c = byte_at(reader, start, end);
    const size_t n = c == '`' || c == '~' ? run_of(reader, start, end, c) : 0;
    if (n < 3 || memchr(reader->text.ptr + at, '#', start - at) ||
        (c == '`' && memchr(reader->text.ptr + start + n, '`', end - start - n)))
        return false;
    reader->fence = c;
    reader->fence_len = n;
    reader->fence_quotes = 0;
    for (size_t i = at; i < start; i++)
        reader->fence_quotes += reader->text.ptr[i] == '>';
    return true;
}

/* Whether a line begins with a tag of this name. */
static bool begins_tag(struct dg_span line, const char *name)
{
    const size_t len = strlen(name);
    return line.len > len && line.ptr[0] == '<' && strncasecmp(line.ptr + 1, name, len) == 0 &&
           (line.len == len + 1 || strchr(" \t\r>", line.ptr[len + 1]));
}

static bool contains(struct dg_span line, const char *word)
{
    const size_t len = strlen(word);
    for (size_t i = 0; i + len <= line.len; i++)
        if (strncasecmp(line.ptr + i, word, len) == 0)
            return true;
    return false;
}

static struct dg_span line_of(const struct reader *reader, size_t at, size_t end)
{
    return dg_chars_trim(dg_span_sub(reader->text, at, end - at), " \t\r");
}

/* True for a line that is copied although no fence is around it. */
static bool is_raw(struct reader *reader, size_t at, size_t end)
{
    static const char *const ends[][2] = {
        {"pre", "</pre"}, {"script", "</script"}, {"style", "</style"}};
    const struct dg_span line = line_of(reader, at, end);
    const bool goes_on = reader->raw_end != NULL;
    if (!goes_on && dg_span_eq(line, DG_SPAN("$$"))) {
        reader->raw_end = "$$";
        return true;
    }
    if (!goes_on && dg_span_starts(line, DG_SPAN("<!--")))
        reader->raw_end = "-->";
    for (size_t i = 0; !reader->raw_end && i < sizeof ends / sizeof *ends; i++)
        if (begins_tag(line, ends[i][0]))
            reader->raw_end = ends[i][1];
    if (!reader->raw_end)
        return false;
    const bool is_comment = strcmp(reader->raw_end, "-->") == 0;
    const bool is_over = contains(line, reader->raw_end);
    if (is_over)
        reader->raw_end = NULL;
    /* A comment on one line moves with the text around it. */
    return goes_on || !is_comment || !is_over;
}

/* The column that follows these bytes at the start of a line. */
static size_t column_after(const struct reader *reader, size_t at, size_t end)
{
    size_t column = 0;
    for (; at < end; at++)
        column = reader->text.ptr[at] == '\t' ? column / 4 * 4 + 4 : column + 1;
    return column;
}

/* Notes where the text of the current list item begins: paragraphs that belong to it are indented
 * as far, and code by four columns more. */
static void note_list(struct reader *reader, size_t at, size_t marker, size_t start)
{
    const size_t column = column_after(reader, at, start), first = skip_blanks(reader, at, start);
    if (!marker)
        reader->content = column < reader->content ? column : reader->content;
    else if (reader->text.ptr[first] == '[') /* a footnote */
        reader->content = 4;
    else
        reader->content = strchr("#>", reader->text.ptr[first]) ? 0 : column;
}

/* The end of the paragraph that begins at `at`: the first line that is blank or begins something
 * else. */
static size_t paragraph_end(const struct reader *reader, size_t at)
{
    size_t line = at;
    for (;;) {
        const char *newline = line < reader->text.len
                                  ? memchr(reader->text.ptr + line, '\n', reader->text.len - line)
                                  : NULL;
        if (!newline)
            return reader->text.len;
        size_t next = (size_t)(newline - reader->text.ptr) + 1;
        newline = next < reader->text.len
                      ? memchr(reader->text.ptr + next, '\n', reader->text.len - next)
                      : NULL;
        size_t end = newline ? (size_t)(newline - reader->text.ptr) : reader->text.len;
        size_t first = skip_blanks(reader, next, end);
        bool is_broken =
            next >= 3 && reader->text.ptr[next - 2] == ' ' && reader->text.ptr[next - 3] == ' ';
        char c = byte_at(reader, first, end);
        if (first >= end || c == '\r' || is_broken ||
            (next >= 2 && reader->text.ptr[next - 2] == '\\') || marker_len(reader, next, end) ||
            is_rule(reader, next, end) || c == '|' || c == '<' ||
            (c == '`' && run_of(reader, first, end, '`') >= 3) ||
            (c == '~' && run_of(reader, first, end, '~') >= 3) ||
            (c == '$' && dg_span_eq(line_of(reader, first, end), DG_SPAN("$$"))))
            return next - 1;
        line = next;
    }
}

/* One line or paragraph; returns where the next begins. */
static size_t take_block(struct reader *reader, size_t at)
{
    const char *newline = memchr(reader->text.ptr + at, '\n', reader->text.len - at);
    size_t end = newline ? (size_t)(newline - reader->text.ptr) : reader->text.len;
    size_t next = newline ? end + 1 : end;
    bool was_paragraph = reader->in_paragraph;
    reader->in_paragraph = false;
    if (reader->fence && is_in_fence(reader, at, end)) {
        border(reader, at, next);
        return next;
    }
    const size_t marker = marker_len(reader, at, end);
    const size_t start = skip_blanks(reader, at + marker, end);
    const bool is_blank = line_of(reader, at, end).len == 0;
    if (is_raw(reader, at, end)) {
        border(reader, at, next);
        return next;
    }
    if (!is_blank && (marker || !was_paragraph))
        note_list(reader, at, marker, start);
    if (begins_fence(reader, at, start, end) || is_rule(reader, at, end) ||
        is_definition(reader, at, end) ||
        (!was_paragraph && !marker && !is_blank &&
         column_after(reader, at, start) >= reader->content + 4)) {
        border(reader, at, next);
        return next;
    }
    border(reader, at, at + marker);
    if (marker == 0 && start > at)
        border(reader, at, start);
    if (byte_at(reader, start, end) == '|') {
        add_row(reader, start, end);
        border(reader, end, next);
        return next;
    }
    bool is_heading = marker && memchr(reader->text.ptr + at, '#', marker);
    end = is_heading || start >= end ? end : paragraph_end(reader, start);
    next = end < reader->text.len ? end + 1 : end;
    reader->in_paragraph = end > start;
    size_t stop = end;
    while (stop > start && strchr(" \t\r\\", reader->text.ptr[stop - 1]))
        stop--;
    add_spans(reader, start, stop);
    border(reader, stop, next);
    return next;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* The sign of a text that makes it the beginning of a block; SIZE_MAX when it has none. */
static size_t sign_at(struct dg_span text)
{
    const struct reader reader = {.text = text};
    size_t at = skip_blanks(&reader, 0, text.len);
    if (!marker_len(&reader, 0, text.len))
        return SIZE_MAX;
    while (dg_chars_is_digit(byte_at(&reader, at, text.len)))
        at++;
    return at;
}

/* Whether a part stands where a block may begin: at the start of a line, or after the mark of a
 * list or a quotation. */
static bool may_begin_block(const struct dg_doc *doc, const struct dg_doc_part *part)
{
    if (part->inner == 0)
        return true;
    const struct dg_doc_item *before = &doc->items[part->inner - 1];
    const struct dg_span bytes =
        dg_chars_trim_space(dg_span_sub(doc->original, before->at, before->len));
    if (before->kind == DG_DOC_BORDER)
        return bytes.len == 0 || !strchr("#|", bytes.ptr[bytes.len - 1]);
    return before->kind == DG_DOC_CHAR && doc->original.ptr[before->at] == '\n';
}

size_t dg_doc_markdown_guard(const struct dg_doc *doc, const struct dg_doc_part *part,
                             struct dg_span text)
{
    if (doc->format != DG_DOC_MARKDOWN || !may_begin_block(doc, part) ||
        sign_at(dg_span_sub(dg_doc_plain(doc), part->at, part->len)) != SIZE_MAX)
        return SIZE_MAX;
    return sign_at(text);
}

/* ---- Documents ------------------------------------------------------------------------------- */

/* "---" to "---" at the very beginning. */
static size_t take_front_matter(struct reader *reader)
{
    if (!dg_span_starts(reader->text, DG_SPAN("---\n")))
        return 0;
    for (size_t at = 4; at < reader->text.len;) {
        const char *newline = memchr(reader->text.ptr + at, '\n', reader->text.len - at);
        size_t next = newline ? (size_t)(newline - reader->text.ptr) + 1 : reader->text.len;
        if (dg_span_starts(dg_span_sub(reader->text, at, next - at), DG_SPAN("---"))) {
            border(reader, 0, next);
            return next;
        }
        at = next;
    }
    return 0;
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

static bool same(const struct dg_doc *doc, const struct dg_doc_item *open,
                 const struct dg_doc_item *close)
{
    const char *a = doc->original.ptr + open->at, *b = doc->original.ptr + close->at;
    if (*a == '[' || *a == '!')
        return *b == ']';
    if (*a == '<' && *b == '<') {
        size_t n = 0;
        while (n + 2 < close->len && n + 1 < open->len && a[n + 1] == b[n + 2] &&
               is_word_byte(b[n + 2]))
            n++;
        return n > 0 && n + 2 < close->len && n + 1 < open->len && !is_word_byte(a[n + 1]) &&
               !is_word_byte(b[n + 2]);
    }
    return *a == *b && open->len == close->len;
}

static uint32_t key(const struct dg_doc *doc, const struct dg_doc_item *tag)
{
    const char *text = doc->original.ptr + tag->at;
    size_t from = tag->kind == DG_DOC_CLOSE ? 2 : 1, end = from;
    if (*text == '[' || *text == '!' || *text == ']')
        return 0;
    if (*text != '<')
        return (uint32_t)(tag->len << 8) | (uint8_t)*text;
    while (end < tag->len && is_word_byte(text[end]))
        end++;
    return dg_doc_name_key(dg_span_make(text + from, end - from));
}

void dg_doc_read_markdown(struct dg_doc *doc, const struct dg_doc_opts *opts)
{
    (void)opts;
    static const struct dg_doc_pairing pairing = {.key = key, .same = same};
    struct reader reader = {.doc = doc, .text = doc->original};
    for (size_t at = take_front_matter(&reader); at < reader.text.len && !doc->err;)
        at = take_block(&reader, at);
    dg_doc_pair(doc, &pairing);
}
