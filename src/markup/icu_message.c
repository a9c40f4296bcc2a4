/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One pass with a stack of the choices that are open. */
#include "markup/icu_message.h"
#include "markup/plural.h"

#include <string.h>

enum choice { PLURAL, ORDINAL, SELECT };

struct frame {
    enum choice choice;
    unsigned seen;           /* bit k: a branch of categories[k] was seen */
    size_t other, other_len; /* the contents of the branch "other" */
    size_t branch;           /* where the open branch begins, behind its bracket */
    int category;            /* the category of the open branch; -1: none of the known ones */
    const char *example;     /* a number of that category; NULL outside of plurals */
};

static const char *const categories[] = {"zero", "one", "two", "few", "many", "other"};
static const char *const examples[] = {"0", "1", "2", "3", "11", "5"};

enum { N_CATEGORIES = 6, OTHER = 5, GROWTH_MAX = 8, GROWTH_FREE = 4096 };

struct parser {
    struct dg_span text;
    size_t at, told; /* bytes that were read, and that were reported */
    struct frame frames[DG_ICU_DEPTH_MAX];
    size_t depth;
    dg_icu_fn fn;
    void *ctx;
    /* Called at the end of a plural, before its closing bracket. */
    void (*on_plural)(void *ctx, const struct frame *frame, size_t at);
};

static char peek(const struct parser *parser, size_t ahead)
{
    return parser->at + ahead < parser->text.len ? parser->text.ptr[parser->at + ahead] : '\0';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Skips white space, including the kind that strings write as "\n". */
static void skip_space(struct parser *parser)
{
    for (;;) {
        if (is_space(peek(parser, 0)))
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
    while (parser->at < parser->text.len && !is_space(peek(parser, 0)) &&
           !strchr(",{}\\'#", peek(parser, 0)))
        parser->at++;
    return dg_span_sub(parser->text, from, parser->at - from);
}

static void tell(struct parser *parser, enum dg_icu_kind kind, size_t end, const char *example)
{
    const struct dg_icu_piece piece = {kind, parser->told, end - parser->told, example};
    if (parser->fn && end > parser->told)
        parser->fn(parser->ctx, &piece);
    parser->told = end;
}

static bool choice_of(struct dg_span word, enum choice *choice)
{
    *choice = dg_span_eq(word, DG_SPAN("plural"))          ? PLURAL
              : dg_span_eq(word, DG_SPAN("selectordinal")) ? ORDINAL
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

/* Reads "one {" or "=0 {" and is then in the branch. */
static bool begin_branch(struct parser *parser, struct frame *frame)
{
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
    parser->at++;
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
            *frame = (struct frame){.choice = choice};
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

/* At '}' of a branch: goes to the next branch, or to the end of the choice. */
static bool end_branch(struct parser *parser)
{
    struct frame *frame = &parser->frames[parser->depth - 1];
    if (frame->category == OTHER) {
        frame->other = frame->branch;
        frame->other_len = parser->at - frame->branch;
    }
    parser->at++;
    const size_t behind = parser->at;
    skip_space(parser);
    if (peek(parser, 0) != '}')
        return begin_branch(parser, frame);
    if (!(frame->seen & 1u << OTHER))
        return false;
    if (frame->choice == PLURAL && parser->on_plural)
        parser->on_plural(parser->ctx, frame, behind);
    parser->depth--;
    parser->at++;
    tell(parser, DG_ICU_SYNTAX, parser->at, NULL);
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
        if (c == '{' || (c == '}' && frame) || (c == '#' && frame && frame->example))
            tell(parser, DG_ICU_TEXT, parser->at, NULL);
        if (c == '{') {
            is_valid = begin_argument(parser);
        } else if (c == '}') {
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
    const size_t most = GROWTH_MAX * adapting->text.len + GROWTH_FREE;
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
