/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* An instruction is read word by word: which words ask for a translation ("translate",
 * "translation", 翻译), which languages are named and on which side ("from French", "French to
 * English", "into English", 翻译成英语), and whether it speaks of a text at all. The user's message
 * is then cut where an instruction ends: at a delimiter, a label, a colon or an empty line. Each
 * cut is only made where what stands before it is an instruction, and headings such as "Rules:"
 * never begin a text. */
#include "api/compat/chat_prompt.h"
#include "api/compat/chat_prompt_parts.h"
#include "base/memory/chars.h"

#include <strings.h>

enum {
    INSTRUCTION_MAX = 16 * 1024, /* bytes of instructions that are read at most */
    READ_MAX = 256 * 1024, /* bytes of one message that are read, over all attempts to find where an
                              instruction ends */
    HEAD_MAX = 4096, /* bytes at the start of the user's message in which an instruction must end */
    REACH = 6,       /* words between "into" and the language */
    /* places where a cut is tried, so that a message full of colons takes no time */
    TRIES_MAX = 40,
};

/* ---- Words ----------------------------------------------------------------------------------- */

static bool begins_like_one_of(struct dg_span word, const char *const *list)
{
    for (; *list; list++)
        if (word.len >= strlen(*list) && strncasecmp(word.ptr, *list, strlen(*list)) == 0)
            return true;
    return false;
}

static const char *const stems[] = {"translat", "traduc",  "tradui",  "übersetz", "перев",
                                    "перекла",  "localiz", "localis", NULL};
static const char *const cjk_stems[] = {"翻译", "翻譯", "译成", "译为",
                                        "譯成", "翻訳", "번역", NULL};
static const char *const sources[] = {"from", "von", "depuis", "从", "從", NULL};
static const char *const targets[] = {"to", "into", "nach", "成", "为", "為", "到", "至", NULL};
static const char *const negations[] = {"not", "don", "never", "avoid", "without", "except", NULL};
static const char *const text_words[] = {
    "text",     "texts",    "sentence", "sentences", "following", "below",   "above",  "string",
    "strings",  "segment",  "segments", "content",   "paragraph", "message", "json",   "this",
    "these",    "line",     "lines",    "subtitle",  "subtitles", "input",   "phrase", "word",
    "document", "markdown", "article",  "values",    "user",      NULL};
static const char *const fillers[] = {
    "please", "now",  "only", "just", "kindly", "directly", "and",   "then",  "you", "must",
    "should", "will", "your", "task", "is",     "to",       "can",   "could", "i",   "want",
    "need",   "help", "me",   "let",  "请",     "us",       "would", "like",  NULL};
/* Codes that are also words. */
static const char *const common[] = {"be", "is", "it", "as", "no", "so", "or", "he",
                                     "id", "my", "am", "an", "in", "la", "el", "et",
                                     "me", "us", "do", "at", "of", "on", "a",  NULL};

static bool is_sentence_end(struct dg_span text, size_t at)
{
    const char c = text.ptr[at];
    const char next = at + 1 < text.len ? text.ptr[at + 1] : '\n';
    return c == '\n' ||
           ((c == '.' || c == '!' || c == '?') && (next == ' ' || next == '\n' || next == '\r')) ||
           (at + 3 <= text.len && memcmp(text.ptr + at, "。", 3) == 0);
}

static size_t skip_blanks(struct dg_span text, size_t at)
{
    while (at < text.len && strchr(" \t\r\n", text.ptr[at]) && text.ptr[at])
        at++;
    return at;
}

/* ---- An instruction -------------------------------------------------------------------------- */

enum side { NOWHERE, SOURCE, TARGET, IN };

struct said {
    const char *source, *target; /* the languages named in a sentence that asks for a translation */
    const char *maybe;           /* a language that is named anywhere */
    bool translates, is_imperative, has_text_word, is_ambiguous, is_of_markdown;
};

struct scan {
    const struct dg_langnames *names;
    struct dg_span text;
    struct said *said;
    enum side side; /* the side that the last preposition assigns to the language after it */
    size_t n_since; /* how many words ago that preposition stood */
    size_t n_words; /* words of this sentence without fillers */
    bool sentence_translates, is_negated, was_label;
    const char *sentence_source; /* the source language that this sentence names */
    size_t target_end;           /* where the last target language ended; 0: none was named */
};

static void begin_sentence(struct scan *scan)
{
    scan->side = NOWHERE;
    scan->n_since = scan->n_words = scan->target_end = 0;
    scan->sentence_translates = scan->is_negated = scan->was_label = false;
    scan->sentence_source = NULL;
}

/* Reads what follows a language: "French to English", "French -> English", "French (fr) into
 * ...". */
static bool leads_on(struct dg_span text, size_t at)
{
    static const char *const arrows[] = {"->", "→", "=>", "-to-", NULL};
    at = skip_blanks(text, at);
    if (at < text.len && text.ptr[at] == '(') {
        const char *end = memchr(text.ptr + at, ')', text.len - at < 16 ? text.len - at : 16);
        at = end ? skip_blanks(text, (size_t)(end - text.ptr) + 1) : at;
    }
    struct dg_span rest = dg_span_sub(text, at, text.len);
    if (begins_like_one_of(rest, arrows) || begins_like_one_of(rest, cjk_stems))
        return true;
    const struct dg_span word = dg_span_sub(text, at, dg_langnames_word(text, at));
    const struct dg_span next = dg_span_sub(text, skip_blanks(text, at + word.len), text.len);
    if (dg_chars_is_one_of_any_case(word,
                                    (const char *const[]){"text", "language", "source", NULL}))
        return dg_chars_is_one_of_any_case(dg_span_sub(next, 0, dg_langnames_word(next, 0)),
                                           targets);
    return dg_chars_is_one_of_any_case(word, targets);
}

/* "the French text": the source language. */
static bool is_of_a_text(struct dg_span text, size_t at)
{
    at = skip_blanks(text, at);
    return dg_chars_is_one_of_any_case(dg_span_sub(text, at, dg_langnames_word(text, at)),
                                       text_words);
}

/* "English and German": names two languages. */
static bool is_joined(struct dg_span between)
{
    static const char *const joints[] = {"and", "or", "&", ",", "/", "和", ", and", "", NULL};
    return between.len > 0 && dg_chars_is_one_of_any_case(dg_chars_trim_space(between), joints);
}

static void take_language(struct scan *scan, const char *tag, size_t at, size_t len)
{
    struct said *said = scan->said;
    const bool is_near = scan->side != NOWHERE && scan->n_since <= REACH;
    if (scan->is_negated && (said->target || !scan->sentence_translates)) {
        scan->side = NOWHERE;
        return;
    }
    if (scan->target_end &&
        is_joined(dg_span_sub(scan->text, scan->target_end, at - scan->target_end)) &&
        strcmp(tag, said->target) != 0)
        said->is_ambiguous = true;
    if (is_near && scan->side == TARGET && scan->n_since > 0 &&
        is_of_a_text(scan->text, at + len) && !said->source && !scan->sentence_source)
        said->maybe = tag;
    if ((is_near && scan->side == SOURCE) ||
        (!(is_near && scan->side == TARGET) && leads_on(scan->text, at + len)) ||
        (!is_near && is_of_a_text(scan->text, at + len))) {
        scan->sentence_source = tag;
        said->source = said->source ? said->source : tag;
    } else if (is_near && scan->side == TARGET &&
               (scan->sentence_translates || scan->was_label || scan->sentence_source)) {
        if (said->target && strcmp(said->target, tag) != 0 && scan->sentence_translates)
            said->is_ambiguous = true;
        said->target = said->target ? said->target : tag;
        scan->target_end = at + len;
    } else if (!said->maybe) {
        const char c = scan->text.ptr[at];
        said->maybe = (c >= 'a' && c <= 'z') && !is_near ? NULL : tag;
    }
    scan->side = NOWHERE;
    scan->was_label = false;
}

/* A code after "to" or "from" ("fr", "pt_BR", "'en'"), which may be an ordinary word as well. */
static size_t code_at(const struct scan *scan, size_t at, const char **tag)
{
    const struct dg_span text = scan->text;
    size_t end = at;
    if (scan->side == NOWHERE || scan->side == IN || scan->n_since > 1)
        return 0;
    while (end < text.len && (((text.ptr[end] | 32) >= 'a' && (text.ptr[end] | 32) <= 'z') ||
                              ((text.ptr[end] == '-' || text.ptr[end] == '_') && end > at)))
        end++;
    while (end > at && (text.ptr[end - 1] == '-' || text.ptr[end - 1] == '_'))
        end--;
    const struct dg_span code = dg_span_sub(text, at, end - at);
    const char before = at ? text.ptr[at - 1] : ' ';
    const bool is_marked =
        before == '"' || before == '\'' || before == '(' || before == '`' || scan->was_label;
    if (dg_langnames_word(text, end) ||
        (!is_marked && !scan->sentence_translates && !scan->sentence_source))
        return 0;
    if (dg_chars_is_one_of_any_case(code, common) && !is_marked &&
        !(scan->side == TARGET && scan->sentence_source) &&
        !(scan->side == SOURCE && leads_on(text, end)))
        return 0;
    *tag = dg_langnames_code(scan->names, code);
    return *tag ? code.len : 0;
}

static void take_word(struct scan *scan, size_t at, size_t len)
{
    const struct dg_span word = dg_span_sub(scan->text, at, len);
    const struct dg_span rest = dg_span_sub(scan->text, at, scan->text.len);
    scan->n_since++;
    if (begins_like_one_of(word, stems) || begins_like_one_of(rest, cjk_stems)) {
        scan->said->translates = scan->sentence_translates = true;
        if (scan->n_words == 0 || begins_like_one_of(rest, cjk_stems))
            scan->said->is_imperative = true;
    }
    if (dg_chars_is_one_of_any_case(word, sources)) {
        scan->side = SOURCE;
        scan->n_since = 0;
    } else if (dg_chars_is_one_of_any_case(word, targets)) {
        scan->side = TARGET;
        scan->n_since = 0;
    } else if (dg_chars_is_one_of_any_case(word, (const char *const[]){"target", NULL})) {
        scan->side = TARGET;
        scan->was_label = true;
        scan->n_since = 0;
    } else if (dg_chars_is_one_of_any_case(word, (const char *const[]){"in", NULL}) &&
               scan->side == NOWHERE) {
        scan->side = IN;
        scan->n_since = 0;
    }
    scan->is_negated |= dg_chars_is_one_of_any_case(word, negations);
    scan->said->has_text_word |= dg_chars_is_one_of_any_case(word, text_words);
    scan->said->is_of_markdown |=
        dg_chars_is_one_of_any_case(word, (const char *const[]){"markdown", NULL});
    scan->n_words += !dg_chars_is_one_of_any_case(word, fillers);
}

/* Returns the bytes of a line that describes the page or the file of the text, in words that are
 * not an instruction; 0: it is another line. */
static size_t context_line(struct dg_span line)
{
    static const char *const labels[] = {
        "title:", "description:", "summary:", "tone:", "translation context:", "context: ", NULL};
    const char *end = line.len ? memchr(line.ptr, '\n', line.len) : NULL;
    return begins_like_one_of(line, labels) ? end ? (size_t)(end - line.ptr) : line.len : 0;
}

static struct said read_instruction(const struct dg_langnames *names, struct dg_span text)
{
    struct said said = {.source = NULL};
    struct scan scan = {
        .names = names, .text = dg_span_sub(text, 0, INSTRUCTION_MAX), .said = &said};
    begin_sentence(&scan);
    for (size_t at = 0; at < scan.text.len;) {
        const char *tag = NULL;
        size_t len = 0;
        if (is_sentence_end(scan.text, at))
            begin_sentence(&scan);
        if (at == 0 || scan.text.ptr[at - 1] == '\n')
            at += context_line(dg_span_sub(scan.text, at, scan.text.len));
        if (dg_langnames_word_begins(scan.text, at)) {
            len = dg_langnames_at(names, scan.text, at, &tag);
            len = len ? len : code_at(&scan, at, &tag);
            if (tag) {
                take_language(&scan, tag, at, len);
            } else {
                len = dg_langnames_word(scan.text, at);
                take_word(&scan, at, len);
            }
        }
        at += len ? len : 1;
    }
    return said;
}

/* ---- Where the text is ----------------------------------------------------------------------- */

struct reading {
    const struct dg_langnames *names;
    struct said system;
    bool has_system; /* the system message is an instruction to translate */
    struct dg_span user;
    struct said said; /* what the user's message says */
    struct dg_span text;
    bool is_whole; /* the whole user's message is the text, with its blanks */
    size_t n_read; /* bytes that were read as instructions, at most READ_MAX */
};

/* Returns true if this part of the user's message asks for a translation, in a way that could not
 * be text. */
static bool instructs(struct reading *reading, struct dg_span part)
{
    const size_t len = part.len < INSTRUCTION_MAX ? part.len : INSTRUCTION_MAX;
    if (reading->n_read + len > READ_MAX)
        return false;
    reading->n_read += len;
    const struct said said = read_instruction(reading->names, part);
    const bool does = said.translates &&
                      (said.target || (said.is_imperative && (said.has_text_word || said.source)));
    if (does)
        reading->said = said;
    return does;
}

/* Returns true for words that ask for a certain form of answer: "Respond only with the
 * translation." */
static bool is_meta(struct dg_span part)
{
    static const char *const verbs[] = {
        "respond",     "reply",      "return", "output",   "provide", "please", "only",    "just",
        "do",          "don",        "give",   "answer",   "keep",    "make",   "ensure",  "remove",
        "translation", "translated", "result", "preserve", "never",   "no",     "produce", NULL};
    part = dg_chars_trim_space(part);
    size_t at = 0;
    while (at < part.len && !dg_langnames_word_begins(part, at))
        at++;
    return part.len == 0 ||
           dg_chars_is_one_of_any_case(dg_span_sub(part, at, dg_langnames_word(part, at)), verbs);
}

/* Returns whether the rest of the message from here on contains no text that would be lost. */
static bool is_tail(struct reading *reading, struct dg_span tail)
{
    tail = dg_chars_trim_space(tail);
    if (tail.len == 0)
        return true;
    const struct said said = reading->said;
    const bool is = is_meta(tail) || instructs(reading, tail);
    reading->said = said;
    return is;
}

struct delimiter {
    const char *open, *close;
    bool is_fence; /* the rest of its line names the kind of its contents */
};

static const struct delimiter delimiters[] = {
    {"🔤", "🔤", false},
    {"\"\"\"", "\"\"\"", false},
    {"```", "```", true},
    {"<<<", ">>>", false},
    {"<text>", "</text>", false},
    {"<input>", "</input>", false},
    {"<source>", "</source>", false},
    {"<source_text>", "</source_text>", false},
    {"<content>", "</content>", false},
    {"<translate>", "</translate>", false},
    {"<text_to_translate>", "</text_to_translate>", false},
    {"<document>", "</document>", false},
    {"---\n", "\n---", false},
    {"===\n", "\n===", false},
};

/* Returns true where a block may begin: at the beginning of a line, or after a colon. */
static bool may_begin(struct dg_span text, size_t at)
{
    while (at > 0 && (text.ptr[at - 1] == ' ' || text.ptr[at - 1] == '\t'))
        at--;
    return at == 0 || text.ptr[at - 1] == '\n' || text.ptr[at - 1] == ':' ||
           (at >= 3 && memcmp(text.ptr + at - 3, "：", 3) == 0);
}

static bool cut_block(struct reading *reading, const struct delimiter *with)
{
    const struct dg_span user = reading->user;
    size_t n_tries = 0;
    for (size_t open = dg_span_find_cstr(user, 0, with->open);
         open < user.len && open < INSTRUCTION_MAX && n_tries++ < TRIES_MAX;
         open = dg_span_find_cstr(user, open + 1, with->open)) {
        size_t from = open + strlen(with->open), end = dg_span_find_cstr(user, from, with->close);
        if (!may_begin(user, open) || end == user.len)
            continue;
        if (with->is_fence && memchr(user.ptr + from, '\n', end - from))
            from = (size_t)((const char *)memchr(user.ptr + from, '\n', end - from) - user.ptr) + 1;
        const struct dg_span before = dg_span_sub(user, 0, open);
        if (dg_chars_trim_space(before).len == 0
                ? !reading->has_system
                : !instructs(reading, before) && !reading->has_system)
            continue;
        if (!is_tail(reading, dg_span_sub(user, end + strlen(with->close), user.len)))
            continue;
        reading->text = dg_chars_trim_space(dg_span_sub(user, from, end - from));
        return true;
    }
    return false;
}

/* Returns the end of a label at the beginning of a line ("Source Text:"), which may name the source
 * language; 0: none. */
static size_t label_at(const struct reading *reading, size_t at, bool is_of_answer)
{
    static const char *const of_text[] = {"source text:",
                                          "text:",
                                          "text to translate:",
                                          "input:",
                                          "content:",
                                          "input text:",
                                          "json:",
                                          "source:",
                                          "sentence:",
                                          "json to translate:",
                                          "original:",
                                          "original text:",
                                          "content to translate:",
                                          "source sentence:",
                                          "the text is as follows:",
                                          "the text is:",
                                          "here is the text:",
                                          "msgid:",
                                          "string to translate:",
                                          NULL};
    static const char *const of_answer[] = {
        "translated text:", "translation:", "output:", "result:", "translated:", "answer:", NULL};
    const struct dg_span line = dg_span_sub(reading->user, at, reading->user.len);
    const char *const *labels = is_of_answer ? of_answer : of_text;
    for (; *labels; labels++)
        if (line.len >= strlen(*labels) && strncasecmp(line.ptr, *labels, strlen(*labels)) == 0)
            return strlen(*labels);
    const char *tag = NULL;
    size_t len = dg_langnames_at(reading->names, line, 0, &tag);
    const char *wanted = is_of_answer ? reading->said.target : reading->said.source;
    if (len && wanted && strcmp(tag, wanted) == 0) {
        len +=
            strncasecmp(dg_span_sub(line, len, 5).len == 5 ? line.ptr + len : "", " text", 5) == 0
                ? 5
                : 0;
        return len < line.len && line.ptr[len] == ':' ? len + 1 : 0;
    }
    return 0;
}

/* Drops the quotes that a template puts around the text. */
static struct dg_span unquoted(struct dg_span text)
{
    static const char *const quotes[] = {"\"", "'", NULL};
    for (const char *const *q = quotes; *q; q++)
        if (text.len > 2 && text.ptr[0] == **q && text.ptr[text.len - 1] == **q &&
            !memchr(text.ptr + 1, **q, text.len - 2))
            return dg_span_sub(text, 1, text.len - 2);
    return text;
}

/* Drops the arrow that a template puts after the text, for the answer to follow. */
static struct dg_span without_arrow(struct dg_span text)
{
    static const char *const arrows[] = {"=>", "->", "→", "⇒", NULL};
    for (const char *const *arrow = arrows; *arrow; arrow++) {
        const size_t len = strlen(*arrow);
        if (text.len > len && memcmp(text.ptr + text.len - len, *arrow, len) == 0)
            return dg_chars_trim_space(dg_span_sub(text, 0, text.len - len));
    }
    return text;
}

/* Drops the words after a quoted text: "Le chat dort."\n\nProvide only the translated text. */
static struct dg_span without_tail(struct reading *reading, struct dg_span text)
{
    const size_t end = text.len && text.ptr[0] == '"' ? dg_span_find_cstr(text, 1, "\"") : text.len;
    if (end < text.len && end + 1 < text.len && memchr(text.ptr + end, '\n', text.len - end) &&
        is_tail(reading, dg_span_sub(text, end + 1, text.len)))
        return dg_span_sub(text, 0, end + 1);
    size_t last = 0;
    for (size_t at = dg_span_find_cstr(text, 0, "\n\n"); at < text.len;
         at = dg_span_find_cstr(text, at + 1, "\n\n"))
        last = at;
    const struct dg_span tail = dg_chars_trim_space(dg_span_sub(text, last, text.len));
    const struct said said = read_instruction(reading->names, tail);
    if (last && is_meta(tail) && said.translates)
        return dg_chars_trim_space(dg_span_sub(text, 0, last));
    const size_t n = last ? label_at(reading, (size_t)(tail.ptr - reading->user.ptr), true) : 0;
    return n && n == tail.len ? dg_chars_trim_space(dg_span_sub(text, 0, last)) : text;
}

static bool cut_label(struct reading *reading)
{
    const struct dg_span user = reading->user;
    size_t n_tries = 0;
    for (size_t at = dg_span_find_cstr(user, 0, "\n");
         at < user.len && at < HEAD_MAX && n_tries++ < TRIES_MAX;
         at = dg_span_find_cstr(user, at + 1, "\n")) {
        if (!instructs(reading, dg_span_sub(user, 0, at)))
            continue;
        const size_t len = label_at(reading, skip_blanks(user, at), false);
        if (len == 0)
            continue;
        struct dg_span text =
            dg_chars_trim_space(dg_span_sub(user, skip_blanks(user, at) + len, user.len));
        const char *last = NULL;
        for (size_t i = 0; i < text.len; i++)
            if (text.ptr[i] == '\n')
                last = text.ptr + i + 1;
        if (last) {
            const size_t n = label_at(reading, (size_t)(last - user.ptr), true);
            if (n && last + n == text.ptr + text.len)
                text.len = (size_t)(last - text.ptr);
        }
        reading->text = unquoted(without_tail(reading, dg_chars_trim_space(text)));
        return true;
    }
    return false;
}

/* Finds a JSON value that begins a line, after an instruction. */
static bool cut_json(struct reading *reading)
{
    const struct dg_span user = reading->user;
    size_t n_tries = 0;
    for (size_t at = 0; at < user.len && at < HEAD_MAX && n_tries < TRIES_MAX; at++) {
        if ((user.ptr[at] != '{' && user.ptr[at] != '[') || !may_begin(user, at))
            continue;
        n_tries++;
        const size_t len = dg_chat_prompt_json_len(dg_span_sub(user, at, user.len));
        const struct dg_span before = dg_chars_trim_space(dg_span_sub(user, 0, at));
        if (len == 0 ||
            !(before.len ? instructs(reading, before) || reading->has_system
                         : reading->has_system) ||
            (before.len && !instructs(reading, before) && !is_meta(before)))
            continue;
        struct dg_span tail = dg_chars_trim_space(dg_span_sub(user, at + len, user.len));
        if (!is_tail(reading, tail) &&
            label_at(reading, (size_t)(tail.ptr - user.ptr), true) != tail.len)
            continue;
        reading->text = dg_span_sub(user, at, len);
        return true;
    }
    return false;
}

static bool is_heading(struct dg_span head)
{
    static const char *const words[] = {
        "rules",       "requirements", "instructions", "guidelines", "important",
        "note",        "notes",        "context",      "glossary",   "example",
        "examples",    "format",       "steps",        "output",     "title",
        "description", "tone",         "summary",      "rule",       "following rules",
        NULL};
    size_t at = head.len, last = head.len, n_words = 1;
    while (at > 0 && head.ptr[at - 1] != '\n' &&
           !(head.ptr[at - 1] == ' ' && at > 1 && head.ptr[at - 2] == '.')) {
        at--;
        if (head.ptr[at] == ' ' && at + 1 < head.len && last == head.len)
            last = at + 1;
        n_words += head.ptr[at] == ' ';
    }
    last = last == head.len ? at : last;
    while (last < head.len && strchr("#*-_ ", head.ptr[last]) && head.ptr[last])
        last++;
    return n_words <= 3 && dg_chars_is_one_of_any_case(dg_span_sub(head, last, head.len), words);
}

/* Returns true for a line of a list of rules: "1. Keep placeholders", "- Do not explain". */
static bool is_rule(struct dg_span line)
{
    size_t at = 0;
    while (at < line.len && strchr("-*•#0123456789.) \t", line.ptr[at]) && line.ptr[at])
        at++;
    return at > 0 && is_meta(dg_span_sub(line, at, line.len < at + 40 ? line.len : 40)) &&
           at < line.len;
}

/* The whole instruction stands in front of the text, up to a colon or the end of a line. If words
 * that ask for a form of answer follow it, it goes on to the place where it is repeated: "Produce
 * only the translation. Please translate the following text into English:". */
static bool cut_head(struct reading *reading)
{
    const struct dg_span user = reading->user;
    size_t n_tries = 0, again = 0; /* where the instruction must be repeated; 0: nowhere */
    for (size_t at = 0; at < user.len && at < HEAD_MAX && n_tries < TRIES_MAX; at++) {
        const bool is_wide = at + 3 <= user.len && memcmp(user.ptr + at, "：", 3) == 0;
        const bool is_colon =
            is_wide || (user.ptr[at] == ':' && !(at + 2 < user.len && user.ptr[at + 1] == '/'));
        const bool is_line = user.ptr[at] == '\n';
        if (!is_colon && !is_line)
            continue;
        n_tries++;
        const struct dg_span head = dg_span_sub(user, 0, at);
        const struct dg_span rest =
            dg_span_sub(user, skip_blanks(user, at + (is_wide ? 3 : 1)), user.len);
        if (is_colon && is_heading(head))
            return false;
        if (again && (at < again || !instructs(reading, dg_span_sub(user, again, at - again))))
            continue;
        if (!instructs(reading, head))
            continue;
        if (rest.len == 0 || is_rule(rest))
            return false;
        if (is_line && is_meta(dg_span_sub(rest, 0, dg_span_find_cstr(rest, 0, "\n")))) {
            again = (size_t)(rest.ptr - user.ptr);
            continue;
        }
        if (is_line && dg_span_find_cstr(rest, 0, ":") < dg_span_find_cstr(rest, 0, "\n") &&
            is_heading(dg_span_sub(rest, 0, dg_span_find_cstr(rest, 0, ":"))))
            return false;
        reading->text = dg_chars_trim_space(rest);
        return true;
    }
    return false;
}

/* The instruction comes last: "Le chat dort.\n\nTranslate the text above to English." */
static bool cut_tail(struct reading *reading)
{
    const struct dg_span user = dg_chars_trim_space(reading->user);
    size_t last = 0;
    for (size_t at = dg_span_find_cstr(user, 0, "\n\n"); at < user.len;
         at = dg_span_find_cstr(user, at + 1, "\n\n"))
        last = at;
    const struct dg_span tail = dg_chars_trim_space(dg_span_sub(user, last, user.len));
    if (last == 0 || tail.len > HEAD_MAX || !instructs(reading, tail) ||
        !reading->said.is_imperative)
        return false;
    reading->text = dg_chars_trim_space(dg_span_sub(user, 0, last));
    return true;
}

/* One line: Translate "Le chat dort." to English. */
static bool cut_quotes(struct reading *reading)
{
    static const char *const pairs[][2] = {
        {"\"", "\""}, {"“", "”"}, {"'", "'"}, {"«", "»"}, {"`", "`"}};
    const struct dg_span user = dg_chars_trim_space(reading->user);
    if (user.len > HEAD_MAX || memchr(user.ptr ? user.ptr : "", '\n', user.len))
        return false;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const size_t open = dg_span_find_cstr(user, 0, pairs[i][0]),
                     from = open + strlen(pairs[i][0]);
        size_t end = user.len;
        for (size_t at = from;
             open < user.len && (at = dg_span_find_cstr(user, at, pairs[i][1])) < user.len; at++)
            end = at;
        if (end == user.len || open == 0)
            continue;
        struct said before = read_instruction(reading->names, dg_span_sub(user, 0, open));
        const struct said after = read_instruction(
            reading->names, dg_span_sub(user, end + strlen(pairs[i][1]), user.len));
        const char *target = after.target ? after.target : after.maybe;
        if (!before.translates || !before.is_imperative)
            continue;
        /* "to English" comes after the text, and its verb in front of it */
        before.target = before.target ? before.target : target;
        before.source = before.source ? before.source : after.source;
        if (!before.target && !reading->system.target)
            continue;
        reading->said = before;
        reading->text = dg_span_sub(user, from, end - from);
        return true;
    }
    return false;
}

/* "English: Le chat dort.", if the system message says that texts have this form. */
static bool cut_language(struct reading *reading)
{
    const char *tag = NULL;
    const size_t len = dg_langnames_at(reading->names, reading->user, 0, &tag);
    if (!reading->has_system || reading->system.target || !len || len == reading->user.len ||
        reading->user.ptr[len] != ':')
        return false;
    reading->said = (struct said){.target = tag, .translates = true};
    reading->text = dg_chars_trim_space(dg_span_sub(reading->user, len + 1, reading->user.len));
    return true;
}

static bool cut(struct reading *reading)
{
    for (size_t i = 0; i < sizeof delimiters / sizeof *delimiters; i++)
        if (cut_block(reading, &delimiters[i]))
            return true;
    if (cut_label(reading) || cut_json(reading) || cut_language(reading))
        return true;
    if (cut_head(reading)) {
        reading->text = unquoted(without_arrow(without_tail(reading, reading->text)));
        return true;
    }
    return cut_tail(reading) || cut_quotes(reading);
}

/* ---- All together ---------------------------------------------------------------------------- */

#define HOW_TO_ASK                                                                                 \
    "This server translates and does not chat. Name the language in a system message "             \
    "(\"Translate from French to "                                                                 \
    "English.\") and send nothing but the text as the user's, or put the instruction in front of " \
    "the text (\"Translate to "                                                                    \
    "English:\\n\\n...\"), or name the model after the pair (\"fr-en\"), or send \"target\" (and " \
    "\"source\") beside \"messages\""

/* Takes the request out of the frame that TypeChat puts around it; a message without a frame is the
 * request. */
static struct dg_span request_of(struct dg_span user)
{
    static const char *const open = "The following is a user request:\n\"\"\"\n", *const close =
                                                                                      "\n\"\"\"\n";
    const struct dg_span head = dg_span_sub(user, 0, HEAD_MAX);
    const size_t at = dg_span_find_cstr(head, 0, open), from = at + strlen(open),
                 end = dg_span_find_cstr(user, from, close);
    return at < head.len && end < user.len ? dg_span_sub(user, from, end - from) : user;
}

static bool is_only_text(struct reading *reading)
{
    struct dg_span user = dg_chars_trim_space(reading->user),
                   first = dg_span_sub(user, 0, dg_span_find_cstr(user, 0, "\n"));
    return !instructs(reading, dg_span_sub(first, 0, HEAD_MAX));
}

enum dg_err dg_chat_prompt_read(const struct dg_langnames *names,
                                const struct dg_chat_prompt_ask *options, struct dg_arena *arena,
                                struct dg_error *error, struct dg_chat_prompt *prompt)
{
    struct reading reading = {.names = names,
                              .user = request_of(options->user),
                              .system = read_instruction(names, options->system)};
    *prompt = (struct dg_chat_prompt){.source = NULL};
    enum dg_err err = dg_chat_prompt_envelope(names, options->user, arena, error, prompt);
    if (err || prompt->n_parts)
        return err;
    reading.has_system = reading.system.translates;
    if (!cut(&reading)) {
        reading.said = (struct said){.source = NULL};
        if ((!reading.has_system && !options->is_named) || !is_only_text(&reading))
            return dg_error_set(error, DG_ERR_INVALID, "%s", HOW_TO_ASK);
        reading.text = reading.user;
    }
    if (!reading.said.target && !reading.system.target && options->earlier.len) {
        const struct said earlier = read_instruction(names, options->earlier);
        if (earlier.translates && earlier.target)
            reading.said = earlier;
    }
    if (reading.said.is_ambiguous || (!reading.said.target && reading.system.is_ambiguous))
        return dg_error_set(error, DG_ERR_INVALID,
                            "read more than one target language, expected one");
    const struct said *system = &reading.system;
    prompt->target = reading.said.target ? reading.said.target : system->target;
    prompt->source = reading.said.source ? reading.said.source : system->source;
    if (!prompt->target)
        prompt->target = reading.said.maybe ? reading.said.maybe : system->maybe;
    if (prompt->target == prompt->source && prompt->source && !reading.said.target &&
        !system->target)
        prompt->target = NULL;
    prompt->is_markdown = reading.said.is_of_markdown || system->is_of_markdown;
    return dg_chat_prompt_split(reading.text, arena, error, prompt);
}
