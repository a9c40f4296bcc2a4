/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Every file is read line by line; what a line gives is copied into one arena, so that JSON's strings and a file's columns
 * are the same to whoever comes next. */
#include "train/lessons.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text_in.h"
#include "base/utf8.h"
#include "train/random.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 4, WORDS_MAX = 10000, LINE_BYTES_MAX = 16 << 20, LINE_VALUES_MAX = 2 * WORDS_MAX + 100 };
#define LABEL_BAR '|'   /* between the labels of a column */
#define NUMBER_MAX 1e6 /* of those that are learned */
#define ENTRIES_MAX ((size_t)1 << 32)
#define ARENA_MAX ((size_t)64 << 30)

void dg_lessons_init(struct dg_lessons *lessons, const struct dg_lessons_opts *opts)
{
    *lessons = (struct dg_lessons){.opts = *opts, .repeat = 1};
    dg_arena_init(&lessons->arena, ARENA_MAX);
    dg_map_init(&lessons->seen, ENTRIES_MAX);
}

void dg_lessons_deinit(struct dg_lessons *lessons)
{
    dg_arena_deinit(&lessons->arena);
    dg_map_deinit(&lessons->seen);
    dg_free(lessons->list);
    *lessons = (struct dg_lessons){0};
}

/* ---- One lesson ------------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\r' || c == '\n' || c == '\f' || c == '\v' || c == '\t';
}

static struct dg_span trim(struct dg_span text)
{
    while (text.len && is_blank(text.ptr[0]))
        text = dg_span_sub(text, 1, text.len);
    while (text.len && is_blank(text.ptr[text.len - 1]))
        text.len--;
    return text;
}

static bool is_long(const struct dg_lessons *lessons, struct dg_span text)
{
    return lessons->opts.len_max && dg_utf8_count(text) > lessons->opts.len_max;
}

/* The reason against a lesson, or DG_N_DROPS. */
static enum dg_drop judge(const struct dg_lessons *lessons, const struct dg_lesson *lesson)
{
    if (!dg_utf8_valid(lesson->text, NULL) || !dg_utf8_valid(lesson->pair, NULL) || !dg_utf8_valid(lesson->label, NULL))
        return DG_DROP_NOT_UTF8;
    for (size_t i = 0; i < lesson->n_tags; i++)
        if (!dg_utf8_valid(lesson->tags[i], NULL))
            return DG_DROP_NOT_UTF8;
    if (lesson->text.len == 0 || (lesson->has_pair && lesson->pair.len == 0))
        return DG_DROP_EMPTY_TEXT;
    if (is_long(lessons, lesson->text) || is_long(lessons, lesson->pair))
        return DG_DROP_LONG;
    if (lesson->has_answer && lesson->answer_len == 0)
        return DG_DROP_NO_ANSWER;
    return DG_N_DROPS;
}

/* Text, pair, and what is to be said of them, as one key. */
static enum dg_err key_of(struct dg_lessons *lessons, const struct dg_lesson *lesson, struct dg_span *key)
{
    struct dg_buf buf;
    dg_buf_init(&buf, SIZE_MAX / 2);
    enum dg_err err = dg_buf_append_span(&buf, lesson->text);
    if (!err)
        err = dg_buf_printf(&buf, "%c%zu %zu %.9g%c", 0, lesson->answer_at, lesson->answer_len, (double)lesson->number, 0);
    if (!err)
        err = dg_buf_append_span(&buf, lesson->label);
    if (!err)
        err = dg_buf_append_byte(&buf, '\0');
    for (size_t i = 0; i < lesson->n_tags && !err; i++) {
        err = dg_buf_append_span(&buf, lesson->tags[i]);
        if (!err)
            err = dg_buf_append_byte(&buf, '\0');
    }
    if (!err)
        err = dg_buf_append_span(&buf, lesson->pair);
    *key = err ? DG_SPAN("") : dg_arena_copy(&lessons->arena, dg_buf_span(&buf));
    if (!err && !key->ptr)
        err = DG_ERR_NOMEM;
    dg_buf_deinit(&buf);
    return err;
}

static enum dg_err append(struct dg_lessons *lessons, const struct dg_lesson *lesson)
{
    if (lessons->n == lessons->cap) {
        size_t cap = lessons->cap ? lessons->cap * 2 : 1024, bytes;
        struct dg_lesson *list = dg_mul(cap, sizeof *list, &bytes) ? dg_try_realloc(lessons->list, bytes) : NULL;
        if (!list)
            return DG_ERR_NOMEM;
        lessons->list = list;
        lessons->cap = cap;
    }
    lessons->list[lessons->n++] = *lesson;
    return DG_OK;
}

/* Keeps a lesson whose text is in the arena, or counts why not. */
static enum dg_err take(struct dg_lessons *lessons, struct dg_lesson *lesson)
{
    enum dg_drop drop = judge(lessons, lesson);
    lesson->repeat = lessons->repeat;
    if (drop == DG_N_DROPS && !lessons->opts.duplicates) {
        struct dg_span key;
        enum dg_err err = key_of(lessons, lesson, &key);
        if (err)
            return err;
        if (dg_map_get(&lessons->seen, key, NULL))
            drop = DG_DROP_DUPLICATE;
        else if ((err = dg_map_put(&lessons->seen, key, 1)) != DG_OK)
            return err;
    }
    if (drop == DG_N_DROPS)
        return append(lessons, lesson);
    lessons->dropped[drop]++;
    return DG_OK;
}

static enum dg_err keep(struct dg_lessons *lessons, struct dg_span text, struct dg_span *kept)
{
    *kept = dg_arena_copy(&lessons->arena, trim(text));
    return kept->ptr ? DG_OK : DG_ERR_NOMEM;
}

/* Where the answer stands: where it is said to begin, or the first time that the context has it; length 0: it does not. */
static void find_answer(struct dg_lesson *lesson, struct dg_span answer, int64_t start)
{
    const struct dg_span context = lesson->pair;
    lesson->has_answer = answer.len > 0;
    for (size_t at = start < 0 ? 0 : (size_t)start; answer.len && at + answer.len <= context.len; at++) {
        if (memcmp(context.ptr + at, answer.ptr, answer.len) == 0) {
            lesson->answer_at = at;
            lesson->answer_len = answer.len;
            return;
        }
        if (start >= 0)
            return;
    }
}

/* ---- Several labels ----------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    const struct dg_span *x = a, *y = b;
    const int order = memcmp(x->ptr, y->ptr, x->len < y->len ? x->len : y->len);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* A lesson's labels as its tags, each once and in one order, so that equal sets are equal lessons. `list` is in the arena. */
static void set_labels(struct dg_lesson *lesson, struct dg_span *list, size_t n)
{
    size_t kept = 0;
    if (n > 1)
        qsort(list, n, sizeof *list, by_text);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || !dg_span_eq(list[kept - 1], list[i]))
            list[kept++] = list[i];
    lesson->tags = list;
    lesson->n_tags = kept;
}

/* ---- A sentence of words -------------------------------------------------------------------------------- */

/* Words and labels under way; both arrays are the caller's. */
struct sentence {
    struct dg_span words[WORDS_MAX], tags[WORDS_MAX];
    size_t n;
};

static enum dg_err take_sentence(struct dg_lessons *lessons, struct sentence *sentence)
{
    struct dg_lesson lesson = {.label = DG_SPAN("")};
    struct dg_span *words = dg_arena_calloc(&lessons->arena, sentence->n, sizeof *words);
    struct dg_span *tags = dg_arena_calloc(&lessons->arena, sentence->n, sizeof *tags);
    struct dg_buf text;
    if (sentence->n == 0)
        return DG_OK;
    if (!words || !tags)
        return DG_ERR_NOMEM;
    dg_buf_init(&text, SIZE_MAX / 2);
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < sentence->n && !err; i++) {
        err = i ? dg_buf_append_byte(&text, ' ') : DG_OK;
        words[i].len = sentence->words[i].len;
        if (!err)
            err = dg_buf_append_span(&text, sentence->words[i]);
        if (!err)
            err = keep(lessons, sentence->tags[i], &tags[i]);
    }
    lesson.text = err ? DG_SPAN("") : dg_arena_copy(&lessons->arena, dg_buf_span(&text));
    if (!err && !lesson.text.ptr)
        err = DG_ERR_NOMEM;
    dg_buf_deinit(&text);
    for (size_t i = 0, at = 0; i < sentence->n && !err; at += words[i++].len + 1)
        words[i].ptr = lesson.text.ptr + at;
    lesson.words = words;
    lesson.tags = tags;
    lesson.n_words = lesson.n_tags = sentence->n;
    sentence->n = 0;
    return err ? err : take(lessons, &lesson);
}

/* ---- Columns ------------------------------------------------------------------------------------------------ */

struct reading {
    struct dg_lessons *lessons;
    const char *path;
    uint64_t line; /* from 1 */
    struct dg_why *why;
    struct sentence *sentence; /* owned; TAGS */
};

static enum dg_err refuse(const struct reading *r, const char *expected)
{
    return dg_why_set(r->why, DG_ERR_FORMAT, "%s, line %" PRIu64 ": expected %s", r->path, r->line, expected);
}

/* At most COLUMNS_MAX; what is behind them belongs to the last. */
static size_t split(struct dg_span line, struct dg_span columns[COLUMNS_MAX])
{
    size_t n = 0;
    for (;;) {
        const char *tab = n + 1 < COLUMNS_MAX && line.len ? memchr(line.ptr, '\t', line.len) : NULL;
        columns[n++] = tab ? dg_span_sub(line, 0, (size_t)(tab - line.ptr)) : line;
        if (!tab)
            return n;
        line = dg_span_sub(line, (size_t)(tab - line.ptr) + 1, line.len);
    }
}

static bool number_of(struct dg_span text, double *number)
{
    char room[64], *end;
    text = trim(text);
    if (text.len == 0 || text.len >= sizeof room)
        return false;
    memcpy(room, text.ptr, text.len);
    room[text.len] = '\0';
    *number = strtod(room, &end);
    return !*end && isfinite(*number);
}

static enum dg_err read_texts(struct reading *r, struct dg_span line)
{
    enum dg_err err = DG_OK;
    while (!err) {
        const char *tab = line.len ? memchr(line.ptr, '\t', line.len) : NULL;
        struct dg_lesson lesson = {.label = DG_SPAN("")};
        err = keep(r->lessons, tab ? dg_span_sub(line, 0, (size_t)(tab - line.ptr)) : line, &lesson.text);
        if (!err)
            err = take(r->lessons, &lesson);
        if (!tab)
            break;
        line = dg_span_sub(line, (size_t)(tab - line.ptr) + 1, line.len);
    }
    return err;
}

static enum dg_err read_label(struct reading *r, const struct dg_span *columns, size_t n)
{
    struct dg_lesson lesson = {.has_pair = n == 3};
    if (n != 2 && n != 3)
        return refuse(r, "label<TAB>text, or label<TAB>text<TAB>second text");
    enum dg_err err = keep(r->lessons, columns[0], &lesson.label);
    if (!err && lesson.label.len == 0)
        return refuse(r, "a label before the first tab");
    if (!err)
        err = keep(r->lessons, columns[1], &lesson.text);
    if (!err && lesson.has_pair)
        err = keep(r->lessons, columns[2], &lesson.pair);
    return err ? err : take(r->lessons, &lesson);
}

/* A label, or any number of them with bars between: nothing at all is none of them. */
static enum dg_err split_labels(struct reading *r, struct dg_span column, struct dg_lesson *lesson)
{
    size_t n = 0, n_most = 1;
    for (size_t i = 0; i < column.len; i++)
        n_most += column.ptr[i] == LABEL_BAR;
    struct dg_span *list = dg_arena_calloc(&r->lessons->arena, n_most, sizeof *list);
    enum dg_err err = list ? DG_OK : DG_ERR_NOMEM;
    for (size_t at = 0; trim(column).len && !err && at <= column.len; n++) {
        const char *bar = at < column.len ? memchr(column.ptr + at, LABEL_BAR, column.len - at) : NULL;
        const size_t end = bar ? (size_t)(bar - column.ptr) : column.len;
        err = keep(r->lessons, dg_span_sub(column, at, end - at), &list[n]);
        if (!err && list[n].len == 0)
            return refuse(r, "a label before, between and behind the bars of the first column");
        at = end + 1;
    }
    if (!err)
        set_labels(lesson, list, n);
    return err;
}

static enum dg_err read_labels(struct reading *r, const struct dg_span *columns, size_t n)
{
    struct dg_lesson lesson = {.has_pair = n == 3};
    if (n != 2 && n != 3)
        return refuse(r, "label|label|...<TAB>text, and behind it maybe <TAB>second text");
    enum dg_err err = split_labels(r, columns[0], &lesson);
    if (!err)
        err = keep(r->lessons, columns[1], &lesson.text);
    if (!err && lesson.has_pair)
        err = keep(r->lessons, columns[2], &lesson.pair);
    return err ? err : take(r->lessons, &lesson);
}

static enum dg_err read_number(struct reading *r, const struct dg_span *columns, size_t n)
{
    struct dg_lesson lesson = {.has_pair = n == 3};
    double number = 0.0;
    if ((n != 2 && n != 3) || !number_of(columns[n - 1], &number) || fabs(number) > NUMBER_MAX)
        return refuse(r, "text<TAB>a number, or text<TAB>second text<TAB>a number");
    lesson.number = (float)number;
    enum dg_err err = keep(r->lessons, columns[0], &lesson.text);
    if (!err && lesson.has_pair)
        err = keep(r->lessons, columns[1], &lesson.pair);
    return err ? err : take(r->lessons, &lesson);
}

static enum dg_err read_word(struct reading *r, const struct dg_span *columns, size_t n)
{
    struct sentence *sentence = r->sentence;
    if (n == 1 && trim(columns[0]).len == 0)
        return take_sentence(r->lessons, sentence);
    if (n < 2 || trim(columns[0]).len == 0 || trim(columns[n - 1]).len == 0)
        return refuse(r, "word<TAB>label, or an empty line behind a sentence");
    if (sentence->n == WORDS_MAX)
        return refuse(r, "an empty line behind a sentence of at most 10000 words");
    /* A line is borrowed from the file, which is open until all are read. */
    sentence->words[sentence->n] = trim(columns[0]);
    sentence->tags[sentence->n++] = trim(columns[n - 1]);
    return DG_OK;
}

static enum dg_err read_answer(struct reading *r, const struct dg_span *columns, size_t n)
{
    struct dg_lesson lesson = {.has_pair = true};
    double start = -1.0;
    if (n < 3 || (n > 3 && trim(columns[3]).len && (!number_of(columns[3], &start) || start < 0.0 || start > 1e9 || start != floor(start))))
        return refuse(r, "question<TAB>context<TAB>answer, and behind it nothing or <TAB>where it begins, in bytes");
    enum dg_err err = keep(r->lessons, columns[0], &lesson.text);
    if (!err) /* as it is, so that the place counts from its beginning */
        err = (lesson.pair = dg_arena_copy(&r->lessons->arena, columns[1])).ptr ? DG_OK : DG_ERR_NOMEM;
    if (!err)
        find_answer(&lesson, trim(columns[2]), (int64_t)start);
    return err ? err : take(r->lessons, &lesson);
}

static enum dg_err read_columns(struct reading *r, struct dg_span line)
{
    struct dg_span columns[COLUMNS_MAX];
    const enum dg_lesson_kind kind = r->lessons->opts.kind;
    if (trim(line).len == 0 && kind != DG_LESSON_TAGS)
        return DG_OK;
    if (kind == DG_LESSON_WORDS)
        return read_texts(r, line);
    const size_t n = split(line, columns);
    return kind == DG_LESSON_LABEL    ? read_label(r, columns, n)
           : kind == DG_LESSON_LABELS ? read_labels(r, columns, n)
           : kind == DG_LESSON_NUMBER ? read_number(r, columns, n)
           : kind == DG_LESSON_TAGS   ? read_word(r, columns, n)
                                      : read_answer(r, columns, n);
}

/* ---- JSON --------------------------------------------------------------------------------------------------------- */

static enum dg_err get_text(struct reading *r, const struct dg_json *json, const char *name, enum dg_json_need need,
                            struct dg_span *text)
{
    struct dg_span found = DG_SPAN("");
    enum dg_err err = dg_json_get_string(json, name, need, r->why, &found);
    return err ? err : keep(r->lessons, found, text);
}

static enum dg_err get_pair(struct reading *r, const struct dg_json *json, struct dg_lesson *lesson)
{
    lesson->has_pair = dg_json_type(dg_json_get(json, "pair")) != DG_JSON_NULL;
    return get_text(r, json, "pair", DG_JSON_OPTIONAL, &lesson->pair);
}

static enum dg_err get_words(struct reading *r, const struct dg_json *json)
{
    const struct dg_json *words = NULL, *labels = NULL;
    struct sentence *sentence = r->sentence;
    enum dg_err err = dg_json_get_array(json, "words", DG_JSON_REQUIRED, r->why, &words);
    if (!err)
        err = dg_json_get_array(json, "labels", DG_JSON_REQUIRED, r->why, &labels);
    if (!err && (dg_json_len(words) != dg_json_len(labels) || dg_json_len(words) > WORDS_MAX))
        err = dg_why_set(r->why, DG_ERR_INVALID, "there are %zu words and %zu labels, expected as many of both and at most %d",
                         dg_json_len(words), dg_json_len(labels), WORDS_MAX);
    for (size_t i = 0; i < dg_json_len(words) && !err; i++) {
        struct dg_span word = DG_SPAN(""), label = DG_SPAN("");
        err = dg_json_string(dg_json_at(words, i), DG_SPAN("words[]"), r->why, &word);
        if (!err)
            err = dg_json_string(dg_json_at(labels, i), DG_SPAN("labels[]"), r->why, &label);
        if (!err && (trim(word).len == 0 || trim(label).len == 0))
            err = dg_why_set(r->why, DG_ERR_INVALID, "word or label %zu is empty", i);
        sentence->words[i] = trim(word);
        sentence->tags[i] = trim(label);
    }
    sentence->n = err ? 0 : dg_json_len(words);
    return err ? err : take_sentence(r->lessons, sentence);
}

/* "labels": [...], or "label" where there is one. */
static enum dg_err get_labels(struct reading *r, const struct dg_json *json, struct dg_lesson *lesson)
{
    const bool is_one = dg_json_type(dg_json_get(json, "labels")) == DG_JSON_NULL;
    const struct dg_json *labels = NULL;
    enum dg_err err = is_one ? DG_OK : dg_json_get_array(json, "labels", DG_JSON_REQUIRED, r->why, &labels);
    const size_t n = is_one ? 1 : dg_json_len(labels);
    struct dg_span *list = err ? NULL : dg_arena_calloc(&r->lessons->arena, n + 1, sizeof *list);
    if (!err && !list)
        err = DG_ERR_NOMEM;
    for (size_t i = 0; i < n && !err; i++) {
        struct dg_span label = DG_SPAN("");
        if (is_one)
            err = dg_json_get_string(json, "label", DG_JSON_REQUIRED, r->why, &label);
        else
            err = dg_json_string(dg_json_at(labels, i), DG_SPAN("labels[]"), r->why, &label);
        if (!err)
            err = keep(r->lessons, label, &list[i]);
        if (!err && list[i].len == 0)
            err = dg_why_set(r->why, DG_ERR_INVALID, "label %zu is empty", i);
    }
    if (!err)
        set_labels(lesson, list, n);
    return err;
}

static enum dg_err get_answer(struct reading *r, const struct dg_json *json)
{
    struct dg_lesson lesson = {.has_pair = true};
    struct dg_span context = DG_SPAN(""), answer = DG_SPAN("");
    int64_t start = -1;
    enum dg_err err = get_text(r, json, "question", DG_JSON_REQUIRED, &lesson.text);
    if (!err)
        err = dg_json_get_string(json, "context", DG_JSON_REQUIRED, r->why, &context);
    if (!err)
        err = (lesson.pair = dg_arena_copy(&r->lessons->arena, context)).ptr ? DG_OK : DG_ERR_NOMEM;
    if (!err)
        err = dg_json_get_string(json, "answer", DG_JSON_OPTIONAL, r->why, &answer);
    if (!err)
        err = dg_json_get_int(json, "start", DG_JSON_OPTIONAL, 0, 1000000000, r->why, &start);
    if (!err)
        find_answer(&lesson, trim(answer), start);
    return err ? err : take(r->lessons, &lesson);
}

static enum dg_err read_object(struct reading *r, const struct dg_json *json)
{
    struct dg_lesson lesson = {.label = DG_SPAN("")};
    double number = 0.0;
    enum dg_err err;
    if (r->lessons->opts.kind == DG_LESSON_TAGS)
        return get_words(r, json);
    if (r->lessons->opts.kind == DG_LESSON_ANSWER)
        return get_answer(r, json);
    err = get_text(r, json, "text", DG_JSON_REQUIRED, &lesson.text);
    if (!err && r->lessons->opts.kind != DG_LESSON_WORDS)
        err = get_pair(r, json, &lesson);
    if (!err && r->lessons->opts.kind == DG_LESSON_LABEL) {
        err = get_text(r, json, "label", DG_JSON_REQUIRED, &lesson.label);
        if (!err && lesson.label.len == 0)
            err = dg_why_set(r->why, DG_ERR_INVALID, "field 'label' is empty");
    }
    if (!err && r->lessons->opts.kind == DG_LESSON_LABELS)
        err = get_labels(r, json, &lesson);
    if (!err && r->lessons->opts.kind == DG_LESSON_NUMBER)
        err = dg_json_get_real(json, "score", DG_JSON_REQUIRED, -NUMBER_MAX, NUMBER_MAX, r->why, &number);
    lesson.number = (float)number;
    return err ? err : take(r->lessons, &lesson);
}

static enum dg_err read_json(struct reading *r, struct dg_span line)
{
    const struct dg_json_limits limits = {.max_bytes = LINE_BYTES_MAX, .max_depth = 8, .max_values = LINE_VALUES_MAX};
    struct dg_json *json = NULL;
    if (trim(line).len == 0)
        return DG_OK;
    enum dg_err err = dg_json_parse(line, &limits, r->why, &json);
    if (!err)
        err = read_object(r, json);
    dg_json_free(json);
    return err && err != DG_ERR_NOMEM ? dg_why_wrap(r->why, err, "%s, line %" PRIu64, r->path, r->line) : err;
}

/* ---- Files ------------------------------------------------------------------------------------------------------------ */

static bool is_json(const char *path)
{
    struct dg_span name = dg_span_cstr(path);
    if (dg_span_ends(name, DG_SPAN(".gz")))
        name.len -= 3;
    return dg_span_ends(name, DG_SPAN(".jsonl")) || dg_span_ends(name, DG_SPAN(".ndjson"));
}

enum dg_err dg_lessons_read(struct dg_lessons *lessons, const char *path, struct dg_why *why)
{
    struct reading r = {.lessons = lessons, .path = path, .why = why};
    const bool has_json = is_json(path);
    struct dg_text_in in;
    struct dg_span line;
    enum dg_err err = dg_text_in_open(&in, path, why);
    if (err)
        return err;
    if (lessons->opts.kind == DG_LESSON_TAGS && !(r.sentence = dg_try_calloc(1, sizeof *r.sentence)))
        err = DG_ERR_NOMEM;
    while (!err && dg_text_in_line(&in, &line)) {
        r.line++;
        err = has_json ? read_json(&r, line) : read_columns(&r, line);
    }
    if (!err && r.sentence)
        err = take_sentence(lessons, r.sentence);
    lessons->n_lines += r.line;
    dg_free(r.sentence);
    dg_text_in_close(&in);
    return err == DG_ERR_NOMEM ? dg_why_set(why, err, "no memory for what %s holds", path) : err;
}

/* ---- Holding out ----------------------------------------------------------------------------------------------------------- */

/* What lessons that belong together have in common. */
static struct dg_span group_of(const struct dg_lesson *lesson, enum dg_lesson_kind kind)
{
    return kind == DG_LESSON_ANSWER ? lesson->pair : lesson->text;
}

enum dg_err dg_lessons_forbid(struct dg_lessons *lessons, const struct dg_lesson *others, size_t n)
{
    struct dg_map groups;
    enum dg_err err = DG_OK;
    size_t kept = 0;
    dg_map_init(&groups, n + 1);
    for (size_t i = 0; i < n && !err; i++)
        err = dg_map_put(&groups, group_of(&others[i], lessons->opts.kind), 1);
    for (size_t i = 0; i < lessons->n && !err; i++) {
        if (dg_map_get(&groups, group_of(&lessons->list[i], lessons->opts.kind), NULL))
            lessons->dropped[DG_DROP_LEAK]++;
        else
            lessons->list[kept++] = lessons->list[i];
    }
    if (!err)
        lessons->n = kept;
    dg_map_deinit(&groups);
    return err;
}

enum { CHOSEN = 1 };

/* Groups, drawn until there are about n lessons in them: `groups` has the size of each, times two, and CHOSEN. */
static enum dg_err choose(const struct dg_lessons *lessons, size_t n, uint64_t seed, struct dg_map *groups, size_t *order)
{
    struct dg_random random = dg_random_make(seed, UINT64_MAX);
    size_t held = 0;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < lessons->n && held < n && !err; i++) {
        const size_t j = i + dg_random_below(&random, lessons->n - i), other = order[j];
        order[j] = order[i];
        order[i] = other;
        const struct dg_span group = group_of(&lessons->list[other], lessons->opts.kind);
        uint64_t size = 0;
        dg_map_get(groups, group, &size);
        if (size & CHOSEN || held + size / 2 > n + n / 2)
            continue;
        held += (size_t)(size / 2);
        err = dg_map_put(groups, group, size | CHOSEN);
    }
    return err;
}

enum dg_err dg_lessons_hold_out(struct dg_lessons *lessons, size_t n, uint64_t seed, size_t *n_held)
{
    const enum dg_lesson_kind kind = lessons->opts.kind;
    size_t *order = dg_try_calloc(lessons->n + 1, sizeof *order), held = 0, at = 0;
    struct dg_lesson *sorted = dg_try_calloc(lessons->n + 1, sizeof *sorted);
    struct dg_map groups;
    enum dg_err err = order && sorted ? DG_OK : DG_ERR_NOMEM;
    dg_map_init(&groups, lessons->n + 1);
    for (size_t i = 0; i < lessons->n && !err; i++) {
        uint64_t size = 0;
        order[i] = i;
        dg_map_get(&groups, group_of(&lessons->list[i], kind), &size);
        err = dg_map_put(&groups, group_of(&lessons->list[i], kind), size + 2);
    }
    if (!err)
        err = choose(lessons, n < lessons->n / 10 ? n : lessons->n / 10, seed, &groups, order);
    for (unsigned chosen = 0; chosen < 2 && !err; chosen++)
        for (size_t i = 0; i < lessons->n; i++) {
            uint64_t size = 0;
            dg_map_get(&groups, group_of(&lessons->list[i], kind), &size);
            if ((size & CHOSEN) == chosen)
                continue;
            sorted[at++] = lessons->list[i];
            held += chosen == 0;
        }
    if (!err && lessons->n)
        memcpy(lessons->list, sorted, lessons->n * sizeof *sorted);
    if (!err)
        *n_held = held;
    dg_map_deinit(&groups);
    dg_free(order);
    dg_free(sorted);
    return err;
}
