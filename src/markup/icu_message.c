/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One pass with a stack of the choices that are open. A sentence around a choice is moved into its
 * branches by a pass of its own, before the plural categories are added. */
#include "markup/icu_message.h"
#include "base/memory/chars.h"
#include "markup/plural.h"

#include <string.h>

enum choice {
    PLURAL,
    ORDINAL,
    SELECT,
    RANGES, /* Java's {n, choice, 0#no files|1#one file|1<{n} files} */
};

struct frame {
    enum choice choice;
    unsigned seen;           /* bit k: a branch of categories[k] was seen */
    size_t other, other_len; /* the contents of the branch "other" */
    size_t branch;           /* where the open branch begins, after its bracket */
    int category;            /* the category of the open branch; -1: none of the known ones */
    const char *example;     /* a number of that category; NULL outside of plurals */
    size_t at;               /* the bracket that opens the choice */
};

static const char *const categories[] = {"zero", "one", "two", "few", "many", "other"};
static const char *const examples[] = {"0", "1", "2", "3", "11", "5"};

enum { N_CATEGORIES = 6, OTHER = 5 };

struct parser {
    struct dg_span text;
    size_t at, told; /* bytes that were read, and that were reported */
    struct frame frames[DG_ICU_DEPTH_MAX];
    size_t depth;
    dg_icu_fn fn;
    void *ctx;
    /* May be NULL. Called at the end of a branch, of a plural before its closing bracket, and
     * after the closing bracket of a choice. */
    void (*on_branch)(void *ctx, const struct frame *frame, size_t at);
    void (*on_plural)(void *ctx, const struct frame *frame, size_t at);
    void (*on_choice)(void *ctx, const struct frame *frame, size_t at);
};

static char peek(const struct parser *parser, size_t ahead)
{
    return parser->at + ahead < parser->text.len ? parser->text.ptr[parser->at + ahead] : '\0';
}

/* Skips white space, including the kind that strings write as "\n". */
static void skip_space(struct parser *parser)
{
    for (;;) {
        if (dg_chars_is_space(peek(parser, 0)))
            parser->at++;
        else if (peek(parser, 0) == '\\' && peek(parser, 1) && strchr("nrt", peek(parser, 1)))
            parser->at += 2;
        else
            return;
    }
}

static struct dg_span take_word(struct parser *parser)
{
    const size_t from = parser->at;
    while (parser->at < parser->text.len && !dg_chars_is_space(peek(parser, 0)) &&
           !strchr(",{}\\'#", peek(parser, 0)))
        parser->at++;
    return dg_span_sub(parser->text, from, parser->at - from);
}

static void tell(struct parser *parser, enum dg_icu_kind kind, size_t end, const char *example)
{
    const bool in_plural = parser->depth && parser->frames[parser->depth - 1].example;
    const struct dg_icu_piece piece = {kind, parser->told, end - parser->told, example, in_plural};
    if (parser->fn && end > parser->told)
        parser->fn(parser->ctx, &piece);
    parser->told = end;
}

static bool choice_of(struct dg_span word, enum choice *choice)
{
    *choice = dg_span_eq(word, DG_SPAN("plural"))          ? PLURAL
              : dg_span_eq(word, DG_SPAN("selectordinal")) ? ORDINAL
              : dg_span_eq(word, DG_SPAN("choice"))        ? RANGES
                                                           : SELECT;
    return *choice != SELECT || dg_span_eq(word, DG_SPAN("select"));
}

bool dg_icu_has_choice(struct dg_span text)
{
    struct parser parser = {.text = text};
    while (parser.at < text.len) {
        const char *comma = memchr(text.ptr + parser.at, ',', text.len - parser.at);
        enum choice choice;
        if (!comma)
            return false;
        parser.at = (size_t)(comma - text.ptr) + 1;
        skip_space(&parser);
        const bool is_choice = choice_of(take_word(&parser), &choice);
        skip_space(&parser);
        if (is_choice && peek(&parser, 0) == ',')
            return memchr(text.ptr, '{', text.len) != NULL;
    }
    return false;
}

static bool take(struct parser *parser, struct dg_span word)
{
    const bool is_there = dg_span_starts(dg_span_sub(parser->text, parser->at, word.len), word);
    parser->at += is_there ? word.len : 0;
    return is_there;
}

/* Reads "1#" or "1<" and is then in the branch. */
static bool begin_range(struct parser *parser, struct frame *frame)
{
    const size_t from = parser->at;
    while ((peek(parser, 0) && strchr("0123456789.+-eE ", peek(parser, 0))) ? parser->at++,
           true : take(parser, DG_SPAN("\xE2\x88\x9E"))) /* infinity */
        ;
    if (parser->at == from || !(take(parser, DG_SPAN("#")) || take(parser, DG_SPAN("<")) ||
                                take(parser, DG_SPAN("\xE2\x89\xA4")))) /* at most */
        return false;
    frame->branch = parser->at;
    frame->category = -1;
    frame->example = NULL;
    tell(parser, DG_ICU_SYNTAX, parser->at, NULL);
    return true;
}

/* Reads "one {" or "=0 {" and is then in the branch. */
static bool begin_branch(struct parser *parser, struct frame *frame)
{
    if (frame->choice == RANGES)
        return begin_range(parser, frame);
    const struct dg_span word = take_word(parser);
    skip_space(parser);
    if (word.len == 0 || peek(parser, 0) != '{')
        return false;
    parser->at++;
    frame->category = -1;
    frame->branch = parser->at;
    for (int i = 0; i < N_CATEGORIES; i++) {
        if (dg_span_eq(word, dg_span_cstr(categories[i]))) {
            frame->category = i;
            frame->seen |= 1u << i;
        }
    }
    frame->example = frame->choice == SELECT           ? NULL
                     : frame->category >= 0            ? examples[frame->category]
                     : dg_span_eq(word, DG_SPAN("=0")) ? "0"
                     : dg_span_eq(word, DG_SPAN("=1")) ? "1"
                     : dg_span_eq(word, DG_SPAN("=2")) ? "2"
                                                       : "5";
    tell(parser, DG_ICU_SYNTAX, parser->at, NULL);
    return true;
}

/* At '{': reads an argument, or a choice, whose first branch is then open. */
static bool begin_argument(struct parser *parser)
{
    enum choice choice;
    size_t depth = 1;
    const size_t begin = parser->at++;
    skip_space(parser);
    if (take_word(parser).len == 0)
        return false;
    skip_space(parser);
    if (peek(parser, 0) == ',') {
        parser->at++;
        skip_space(parser);
        const bool is_choice = choice_of(take_word(parser), &choice);
        skip_space(parser);
        if (is_choice && peek(parser, 0) == ',') {
            if (parser->depth == DG_ICU_DEPTH_MAX)
                return false;
            struct frame *frame = &parser->frames[parser->depth++];
            *frame = (struct frame){.choice = choice, .at = begin};
            parser->at++;
            skip_space(parser);
            if (dg_span_starts(dg_span_sub(parser->text, parser->at, 7), DG_SPAN("offset:"))) {
                parser->at += 7;
                skip_space(parser);
                take_word(parser);
                skip_space(parser);
            }
            return begin_branch(parser, frame);
        }
    }
    for (; parser->at < parser->text.len && depth > 0; parser->at++)
        depth += peek(parser, 0) == '{' ? 1 : peek(parser, 0) == '}' ? -(size_t)1 : 0;
    tell(parser, DG_ICU_ARGUMENT, parser->at, NULL);
    return depth == 0;
}

/* At '}' of a branch, or at '|': goes to the next branch, or to the end of the choice. */
static bool end_branch(struct parser *parser)
{
    struct frame *frame = &parser->frames[parser->depth - 1];
    const bool is_ranges = frame->choice == RANGES;
    if (frame->category == OTHER) {
        frame->other = frame->branch;
        frame->other_len = parser->at - frame->branch;
    }
    if (parser->on_branch)
        parser->on_branch(parser->ctx, frame, parser->at);
    if (!is_ranges || peek(parser, 0) == '|')
        parser->at++;
    const size_t behind = parser->at;
    if (!is_ranges)
        skip_space(parser);
    if (is_ranges ? parser->text.ptr[behind - 1] == '|' : peek(parser, 0) != '}')
        return begin_branch(parser, frame);
    if (!is_ranges && !(frame->seen & 1u << OTHER))
        return false;
    if (frame->choice == PLURAL && parser->on_plural)
        parser->on_plural(parser->ctx, frame, behind);
    parser->depth--;
    parser->at++;
    tell(parser, DG_ICU_SYNTAX, parser->at, NULL);
    if (parser->on_choice)
        parser->on_choice(parser->ctx, frame, parser->at);
    return true;
}

/* At an apostrophe: reads "''", or a quotation, which is reported as a whole. */
static void take_quote(struct parser *parser, bool in_plural)
{
    const char next = peek(parser, 1);
    if (next == '\'') {
        tell(parser, DG_ICU_TEXT, parser->at, NULL);
        parser->at += 2;
        tell(parser, DG_ICU_APOSTROPHE, parser->at, NULL);
        return;
    }
    if (next != '{' && next != '}' && !(next == '#' && in_plural)) {
        parser->at++;
        return;
    }
    tell(parser, DG_ICU_TEXT, parser->at, NULL);
    parser->at++;
    tell(parser, DG_ICU_QUOTE, parser->at, NULL);
    while (parser->at < parser->text.len) {
        if (peek(parser, 0) != '\'') {
            parser->at++;
            continue;
        }
        tell(parser, DG_ICU_TEXT, parser->at, NULL);
        const bool is_one = peek(parser, 1) == '\'';
        parser->at += is_one ? 2 : 1;
        tell(parser, is_one ? DG_ICU_APOSTROPHE : DG_ICU_QUOTE, parser->at, NULL);
        if (!is_one)
            return;
    }
}

static bool parse(struct parser *parser)
{
    bool is_valid = true;
    while (parser->at < parser->text.len && is_valid) {
        const char c = peek(parser, 0);
        const struct frame *frame = parser->depth ? &parser->frames[parser->depth - 1] : NULL;
        const bool is_next = c == '|' && frame && frame->choice == RANGES;
        if (c == '{' || (c == '}' && frame) || is_next || (c == '#' && frame && frame->example))
            tell(parser, DG_ICU_TEXT, parser->at, NULL);
        if (c == '{') {
            is_valid = begin_argument(parser);
        } else if (c == '}' || is_next) {
            is_valid = frame != NULL && end_branch(parser);
        } else if (c == '#' && frame && frame->example) {
            parser->at++;
            tell(parser, DG_ICU_NUMBER, parser->at, frame->example);
        } else if (c == '\'') {
            take_quote(parser, frame && frame->example);
        } else {
            parser->at++;
        }
    }
    if (is_valid && parser->depth == 0)
        tell(parser, DG_ICU_TEXT, parser->at, NULL);
    return is_valid && parser->depth == 0;
}

bool dg_icu_parse(struct dg_span text, dg_icu_fn fn, void *ctx)
{
    struct parser parser = {.text = text, .fn = fn, .ctx = ctx};
    return parse(&parser);
}

/* ---- The sentence around a choice ------------------------------------------------------------ */

/* A model must see "You have {n, plural, one {# file} other {# files}} in it." as sentences, so the
 * words around the choice are moved into its branches: {n, plural, one {You have # file in it.}
 * ...}. This is done where the choice is the only one of the message. */
struct widening {
    struct dg_span text;
    struct dg_span before, behind; /* of the sentence */
    size_t at, end;                /* the choice; both 0: there is none yet */
    enum choice choice;
    size_t n_choices, n_branches;
    bool ends_quoted; /* a branch ends with an apostrophe, which could become one that quotes */
    size_t done;
    struct dg_buf *out;
    enum dg_err err;
};

static void count_branch(void *ctx, const struct frame *frame, size_t at)
{
    struct widening *widening = ctx;
    widening->n_branches++;
    widening->ends_quoted |= at > frame->branch && widening->text.ptr[at - 1] == '\'';
}

static void count_choice(void *ctx, const struct frame *frame, size_t at)
{
    struct widening *widening = ctx;
    widening->n_choices++;
    widening->at = frame->at;
    widening->end = at;
    widening->choice = frame->choice;
}

static void put_wide(struct widening *widening, struct dg_span text)
{
    if (!widening->err)
        widening->err = dg_buf_append_span(widening->out, text);
}

static void widen_branch(void *ctx, const struct frame *frame, size_t at)
{
    struct widening *widening = ctx;
    const size_t done = widening->done;
    put_wide(widening, dg_span_sub(widening->text, done, frame->branch - done));
    put_wide(widening, widening->before);
    put_wide(widening, dg_span_sub(widening->text, frame->branch, at - frame->branch));
    put_wide(widening, widening->behind);
    widening->done = at;
}

/* The length of a line's end at `at`, written as one or as the escape of one. */
static size_t line_end(struct dg_span text, size_t at)
{
    if (text.ptr[at] == '\n')
        return 1;
    return text.ptr[at] == '\\' && at + 1 < text.len && text.ptr[at + 1] == 'n' ? 2 : 0;
}

/* Whether a sentence ends with the byte at `at`. */
static bool ends_sentence(struct dg_span text, size_t at)
{
    return strchr(".!?", text.ptr[at]) && text.ptr[at] &&
           (at + 1 == text.len || dg_chars_is_space(text.ptr[at + 1]));
}

/* Finds the sentence that contains the choice. */
static void find_sentence(struct widening *widening)
{
    const struct dg_span text = widening->text;
    size_t from = 0, to = text.len;
    for (size_t i = 0; i < widening->at; i++) {
        const size_t line = line_end(text, i);
        if (line || ends_sentence(text, i))
            from = i + (line ? line : 1);
    }
    while (from < widening->at && dg_chars_is_space(text.ptr[from]))
        from++;
    for (size_t i = widening->end; i < to; i++)
        if (line_end(text, i))
            to = i;
        else if (ends_sentence(text, i))
            to = i + 1;
    while (to > widening->end && dg_chars_is_space(text.ptr[to - 1]))
        to--;
    widening->before = dg_span_sub(text, from, widening->at - from);
    widening->behind = dg_span_sub(text, widening->end, to - widening->end);
}

static bool has_letter(struct dg_span text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] >= 0x80 ||
            ((text.ptr[i] | 0x20) >= 'a' && (text.ptr[i] | 0x20) <= 'z'))
            return true;
    return false;
}

/* Whether words around the choice can be moved into a branch as they are. */
static bool may_move(const struct widening *widening, struct dg_span words)
{
    const char *marks = widening->choice == SELECT ? "" : widening->choice == RANGES ? "|" : "#";
    return (words.len == 0 || words.ptr[words.len - 1] != '\'') &&
           !(*marks && memchr(words.ptr, *marks, words.len)) && dg_icu_parse(words, NULL, NULL);
}

enum dg_err dg_icu_widen(struct dg_span text, struct dg_buf *out)
{
    struct widening widening = {.text = text, .out = out};
    struct parser counter = {
        .text = text, .ctx = &widening, .on_branch = count_branch, .on_choice = count_choice};
    if (!parse(&counter) || widening.n_choices != 1 || widening.ends_quoted)
        return dg_buf_append_span(out, text);
    find_sentence(&widening);
    const size_t more = widening.before.len + widening.behind.len;
    if (!(has_letter(widening.before) || has_letter(widening.behind)) ||
        !may_move(&widening, widening.before) || !may_move(&widening, widening.behind) ||
        widening.n_branches > ((DG_ICU_GROWTH_MAX - 1) * text.len + DG_ICU_GROWTH_FREE) / more)
        return dg_buf_append_span(out, text);
    const size_t from = widening.at - widening.before.len, to = widening.end + widening.behind.len;
    struct parser parser = {.text = text, .ctx = &widening, .on_branch = widen_branch};
    put_wide(&widening, dg_span_sub(text, 0, from));
    widening.done = widening.at;
    (void)parse(&parser);
    put_wide(&widening, dg_span_sub(text, widening.done, widening.end - widening.done));
    put_wide(&widening, dg_span_sub(text, to, text.len - to));
    return widening.err;
}

/* ---- Plural categories ----------------------------------------------------------------------- */

struct adapting {
    struct dg_span text;
    const char *wanted;
    /* bytes of the text that are done; length of the output before the message */
    size_t done, before;
    struct dg_buf *out;
    enum dg_err err;
};

static void put(struct adapting *adapting, struct dg_span text)
{
    if (!adapting->err)
        adapting->err = dg_buf_append_span(adapting->out, text);
}

static void add_branches(void *ctx, const struct frame *frame, size_t at)
{
    struct adapting *adapting = ctx;
    /* Plurals within plurals multiply, which a hostile message must not exploit. */
    const size_t most = DG_ICU_GROWTH_MAX * adapting->text.len + DG_ICU_GROWTH_FREE;
    put(adapting, dg_span_sub(adapting->text, adapting->done, at - adapting->done));
    adapting->done = at;
    for (int i = 0; i < OTHER; i++) {
        const bool is_enough = adapting->out->len - adapting->before + frame->other_len > most;
        if (frame->seen & 1u << i || !dg_plural_has(adapting->wanted, categories[i]) || is_enough)
            continue;
        put(adapting, DG_SPAN(" "));
        put(adapting, dg_span_cstr(categories[i]));
        put(adapting, DG_SPAN(" {"));
        put(adapting, dg_span_sub(adapting->text, frame->other, frame->other_len));
        put(adapting, DG_SPAN("}"));
    }
}

enum dg_err dg_icu_adapt(struct dg_span text, struct dg_span language, struct dg_buf *out)
{
    struct adapting adapting = {
        .text = text, .wanted = dg_plural_categories(language), .before = out->len, .out = out};
    struct parser parser = {.text = text, .ctx = &adapting, .on_plural = add_branches};
    const size_t before = out->len;
    if (!*adapting.wanted || !dg_icu_parse(text, NULL, NULL))
        return dg_buf_append_span(out, text);
    (void)parse(&parser);
    put(&adapting, dg_span_sub(text, adapting.done, text.len));
    if (adapting.err == DG_ERR_LIMIT) {
        dg_buf_truncate(out, before);
        return dg_buf_append_span(out, text);
    }
    return adapting.err;
}
