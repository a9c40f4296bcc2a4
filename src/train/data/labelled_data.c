/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Every file is read line by line. The texts of a line are copied into one arena, so that the later
 * steps need not know whether they come from JSON or from columns. */
#include "train/data/labelled_data.h"
#include "base/file/text_in.h"
#include "base/json/json.h"
#include "base/memory/chars.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "train/data/random.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS_MAX = 4,
    WORDS_MAX = 10000,
    LINE_BYTES_MAX = 16 << 20,
    LINE_VALUES_MAX = 2 * WORDS_MAX + 100
};
#define LABEL_BAR   '|' /* between the labels of a column */
#define NUMBER_MAX  1e6 /* the largest absolute value of a number to learn */
#define ENTRIES_MAX ((size_t)1 << 32)
#define ARENA_MAX   ((size_t)64 << 30)

void dg_labelled_data_init(struct dg_labelled_data *labelled_data,
                           const struct dg_labelled_data_opts *opts)
{
    *labelled_data = (struct dg_labelled_data){.opts = *opts, .repeat = 1};
    dg_arena_init(&labelled_data->arena, ARENA_MAX);
    dg_map_init(&labelled_data->seen, ENTRIES_MAX);
}

void dg_labelled_data_deinit(struct dg_labelled_data *labelled_data)
{
    dg_arena_deinit(&labelled_data->arena);
    dg_map_deinit(&labelled_data->seen);
    dg_free(labelled_data->list);
    *labelled_data = (struct dg_labelled_data){0};
}

/* ---- One labelled text ----------------------------------------------------------------------- */

static bool is_long(const struct dg_labelled_data *labelled_data, struct dg_span text)
{
    return labelled_data->opts.len_max && dg_utf8_count(text) > labelled_data->opts.len_max;
}

/* Returns the reason to drop a text, or DG_N_DROPS. */
static enum dg_drop judge(const struct dg_labelled_data *labelled_data,
                          const struct dg_labelled_text *labelled_text)
{
    if (!dg_utf8_valid(labelled_text->text, NULL) || !dg_utf8_valid(labelled_text->pair, NULL) ||
        !dg_utf8_valid(labelled_text->label, NULL))
        return DG_DROP_NOT_UTF8;
    for (size_t i = 0; i < labelled_text->n_tags; i++)
        if (!dg_utf8_valid(labelled_text->tags[i], NULL))
            return DG_DROP_NOT_UTF8;
    if (labelled_text->text.len == 0 || (labelled_text->has_pair && labelled_text->pair.len == 0))
        return DG_DROP_EMPTY_TEXT;
    if (is_long(labelled_data, labelled_text->text) || is_long(labelled_data, labelled_text->pair))
        return DG_DROP_LONG;
    if (labelled_text->has_answer && labelled_text->answer_len == 0)
        return DG_DROP_NO_ANSWER;
    return DG_N_DROPS;
}

/* Joins the text, the second text and the right answer to one key. */
static enum dg_err key_of(struct dg_labelled_data *labelled_data,
                          const struct dg_labelled_text *labelled_text, struct dg_span *key)
{
    struct dg_buf buf;
    dg_buf_init(&buf, SIZE_MAX / 2);
    enum dg_err err = dg_buf_append_span(&buf, labelled_text->text);
    if (!err)
        err = dg_buf_printf(&buf, "%c%zu %zu %.9g%c", 0, labelled_text->answer_at,
                            labelled_text->answer_len, (double)labelled_text->number, 0);
    if (!err)
        err = dg_buf_append_span(&buf, labelled_text->label);
    if (!err)
        err = dg_buf_append_byte(&buf, '\0');
    for (size_t i = 0; i < labelled_text->n_tags && !err; i++) {
        err = dg_buf_append_span(&buf, labelled_text->tags[i]);
        if (!err)
            err = dg_buf_append_byte(&buf, '\0');
    }
    if (!err)
        err = dg_buf_append_span(&buf, labelled_text->pair);
    *key = err ? DG_SPAN("") : dg_arena_copy(&labelled_data->arena, dg_buf_span(&buf));
    if (!err && !key->ptr)
        err = DG_ERR_NOMEM;
    dg_buf_deinit(&buf);
    return err;
}

static enum dg_err append(struct dg_labelled_data *labelled_data,
                          const struct dg_labelled_text *labelled_text)
{
    if (DG_GROW(labelled_data->list, labelled_data->n, labelled_data->cap, 1024))
        return DG_ERR_NOMEM;
    labelled_data->list[labelled_data->n++] = *labelled_text;
    return DG_OK;
}

/* Keeps a labelled text that is in the arena, or counts the reason for dropping it. */
static enum dg_err take(struct dg_labelled_data *labelled_data,
                        struct dg_labelled_text *labelled_text)
{
    enum dg_drop drop = judge(labelled_data, labelled_text);
    labelled_text->repeat = labelled_data->repeat;
    if (drop == DG_N_DROPS && !labelled_data->opts.duplicates) {
        struct dg_span key;
        enum dg_err err = key_of(labelled_data, labelled_text, &key);
        if (err)
            return err;
        if (dg_map_get(&labelled_data->seen, key, NULL))
            drop = DG_DROP_DUPLICATE;
        else if ((err = dg_map_put(&labelled_data->seen, key, 1)) != DG_OK)
            return err;
    }
    if (drop == DG_N_DROPS)
        return append(labelled_data, labelled_text);
    labelled_data->dropped[drop]++;
    return DG_OK;
}

static enum dg_err keep(struct dg_labelled_data *labelled_data, struct dg_span text,
                        struct dg_span *kept)
{
    *kept = dg_arena_copy(&labelled_data->arena, dg_chars_trim(text, " \r\n\f\v\t"));
    return kept->ptr ? DG_OK : DG_ERR_NOMEM;
}

/* Finds the answer: where the file says that it begins, or its first occurrence in the context.
 * Length 0: the context lacks it. */
static void find_answer(struct dg_labelled_text *labelled_text, struct dg_span answer,
                        int64_t start)
{
    const struct dg_span context = labelled_text->pair;
    labelled_text->has_answer = answer.len > 0;
    for (size_t at = start < 0 ? 0 : (size_t)start; answer.len && at + answer.len <= context.len;
         at++) {
        if (memcmp(context.ptr + at, answer.ptr, answer.len) == 0) {
            labelled_text->answer_at = at;
            labelled_text->answer_len = answer.len;
            return;
        }
        if (start >= 0)
            return;
    }
}

/* ---- Several labels -------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    const struct dg_span *x = a, *y = b;
    const int order = memcmp(x->ptr, y->ptr, x->len < y->len ? x->len : y->len);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* Stores a text's labels as its tags, each once and in a fixed order, so that equal sets compare as
 * equal. `list` is in the arena. */
static void set_labels(struct dg_labelled_text *labelled_text, struct dg_span *list, size_t n)
{
    size_t kept = 0;
    if (n > 1)
        qsort(list, n, sizeof *list, by_text);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || !dg_span_eq(list[kept - 1], list[i]))
            list[kept++] = list[i];
    labelled_text->tags = list;
    labelled_text->n_tags = kept;
}

/* ---- A sentence of words --------------------------------------------------------------------- */

/* The words and labels of the sentence that is being read; the caller owns both arrays. */
struct sentence {
    struct dg_span words[WORDS_MAX], tags[WORDS_MAX];
    size_t n;
};

static enum dg_err take_sentence(struct dg_labelled_data *labelled_data, struct sentence *sentence)
{
    struct dg_labelled_text labelled_text = {.label = DG_SPAN("")};
    struct dg_span *words = dg_arena_calloc(&labelled_data->arena, sentence->n, sizeof *words);
    struct dg_span *tags = dg_arena_calloc(&labelled_data->arena, sentence->n, sizeof *tags);
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
            err = keep(labelled_data, sentence->tags[i], &tags[i]);
    }
    labelled_text.text =
        err ? DG_SPAN("") : dg_arena_copy(&labelled_data->arena, dg_buf_span(&text));
    if (!err && !labelled_text.text.ptr)
        err = DG_ERR_NOMEM;
    dg_buf_deinit(&text);
    for (size_t i = 0, at = 0; i < sentence->n && !err; at += words[i++].len + 1)
        words[i].ptr = labelled_text.text.ptr + at;
    labelled_text.words = words;
    labelled_text.tags = tags;
    labelled_text.n_words = labelled_text.n_tags = sentence->n;
    sentence->n = 0;
    return err ? err : take(labelled_data, &labelled_text);
}

/* ---- Columns --------------------------------------------------------------------------------- */

struct reading {
    struct dg_labelled_data *labelled_data;
    const char *path;
    uint64_t line; /* the number of the line, from 1 */
    struct dg_error *error;
    struct sentence *sentence; /* owned; for TAGS */
};

static enum dg_err refuse(const struct reading *r, const char *expected)
{
    return dg_error_set(r->error, DG_ERR_FORMAT, "%s, line %" PRIu64 ": expected %s", r->path,
                        r->line, expected);
}

/* Splits a line into at most COLUMNS_MAX columns; the rest belongs to the last one. */
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
    text = dg_chars_trim(text, " \r\n\f\v\t");
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
        struct dg_labelled_text labelled_text = {.label = DG_SPAN("")};
        err = keep(r->labelled_data, tab ? dg_span_sub(line, 0, (size_t)(tab - line.ptr)) : line,
                   &labelled_text.text);
        if (!err)
            err = take(r->labelled_data, &labelled_text);
        if (!tab)
            break;
        line = dg_span_sub(line, (size_t)(tab - line.ptr) + 1, line.len);
    }
    return err;
}

static enum dg_err read_label(struct reading *r, const struct dg_span *columns, size_t n)
{
    struct dg_labelled_text labelled_text = {.has_pair = n == 3};
    if (n != 2 && n != 3)
        return refuse(r, "label<TAB>text, or label<TAB>text<TAB>second text");
    enum dg_err err = keep(r->labelled_data, columns[0], &labelled_text.label);
    if (!err && labelled_text.label.len == 0)
        return refuse(r, "a label before the first tab");
    if (!err)
        err = keep(r->labelled_data, columns[1], &labelled_text.text);
    if (!err && labelled_text.has_pair)
        err = keep(r->labelled_data, columns[2], &labelled_text.pair);
    return err ? err : take(r->labelled_data, &labelled_text);
}

/* Reads a label, or any number of labels separated by bars; an empty text means no label. */
static enum dg_err split_labels(struct reading *r, struct dg_span column,
                                struct dg_labelled_text *labelled_text)
{
    size_t n = 0, n_most = 1;
    for (size_t i = 0; i < column.len; i++)
        n_most += column.ptr[i] == LABEL_BAR;
    struct dg_span *list = dg_arena_calloc(&r->labelled_data->arena, n_most, sizeof *list);
    enum dg_err err = list ? DG_OK : DG_ERR_NOMEM;
    for (size_t at = 0; dg_chars_trim(column, " \r\n\f\v\t").len && !err && at <= column.len; n++) {
        const char *bar =
            at < column.len ? memchr(column.ptr + at, LABEL_BAR, column.len - at) : NULL;
        const size_t end = bar ? (size_t)(bar - column.ptr) : column.len;
        err = keep(r->labelled_data, dg_span_sub(column, at, end - at), &list[n]);
        if (!err && list[n].len == 0)
            return refuse(r, "a label before, between and behind the bars of the first column");
        at = end + 1;
    }
    if (!err)
        set_labels(labelled_text, list, n);
    return err;
}

static enum dg_err read_labels(struct reading *r, const struct dg_span *columns, size_t n)
{
    struct dg_labelled_text labelled_text = {.has_pair = n == 3};
    if (n != 2 && n != 3)
        return refuse(r, "label|label|...<TAB>text, and behind it maybe <TAB>second text");
    enum dg_err err = split_labels(r, columns[0], &labelled_text);
    if (!err)
        err = keep(r->labelled_data, columns[1], &labelled_text.text);
    if (!err && labelled_text.has_pair)
        err = keep(r->labelled_data, columns[2], &labelled_text.pair);
    return err ? err : take(r->labelled_data, &labelled_text);
}

static enum dg_err read_number(struct reading *r, const struct dg_span *columns, size_t n)
{
    struct dg_labelled_text labelled_text = {.has_pair = n == 3};
    double number = 0.0;
    if ((n != 2 && n != 3) || !number_of(columns[n - 1], &number) || fabs(number) > NUMBER_MAX)
        return refuse(r, "text<TAB>a number, or text<TAB>second text<TAB>a number");
    labelled_text.number = (float)number;
    enum dg_err err = keep(r->labelled_data, columns[0], &labelled_text.text);
    if (!err && labelled_text.has_pair)
        err = keep(r->labelled_data, columns[1], &labelled_text.pair);
    return err ? err : take(r->labelled_data, &labelled_text);
}

static enum dg_err read_word(struct reading *r, const struct dg_span *columns, size_t n)
{
    struct sentence *sentence = r->sentence;
    if (n == 1 && dg_chars_trim(columns[0], " \r\n\f\v\t").len == 0)
        return take_sentence(r->labelled_data, sentence);
    if (n < 2 || dg_chars_trim(columns[0], " \r\n\f\v\t").len == 0 ||
        dg_chars_trim(columns[n - 1], " \r\n\f\v\t").len == 0)
        return refuse(r, "word<TAB>label, or an empty line behind a sentence");
    if (sentence->n == WORDS_MAX)
        return refuse(r, "an empty line behind a sentence of at most 10000 words");
    /* The line is borrowed from the file, which stays open until all lines are read. */
    sentence->words[sentence->n] = dg_chars_trim(columns[0], " \r\n\f\v\t");
    sentence->tags[sentence->n++] = dg_chars_trim(columns[n - 1], " \r\n\f\v\t");
    return DG_OK;
}

static enum dg_err read_answer(struct reading *r, const struct dg_span *columns, size_t n)
{
    struct dg_labelled_text labelled_text = {.has_pair = true};
    double start = -1.0;
    if (n < 3 ||
        (n > 3 && dg_chars_trim(columns[3], " \r\n\f\v\t").len &&
         (!number_of(columns[3], &start) || start < 0.0 || start > 1e9 || start != floor(start))))
        return refuse(r, "question<TAB>context<TAB>answer, and behind it nothing or <TAB>where it "
                         "begins, in bytes");
    enum dg_err err = keep(r->labelled_data, columns[0], &labelled_text.text);
    if (!err) /* unchanged, so that positions count from its beginning */
        err = (labelled_text.pair = dg_arena_copy(&r->labelled_data->arena, columns[1])).ptr
                  ? DG_OK
                  : DG_ERR_NOMEM;
    if (!err)
        find_answer(&labelled_text, dg_chars_trim(columns[2], " \r\n\f\v\t"), (int64_t)start);
    return err ? err : take(r->labelled_data, &labelled_text);
}

static enum dg_err read_columns(struct reading *r, struct dg_span line)
{
    struct dg_span columns[COLUMNS_MAX];
    const enum dg_labelled_text_kind kind = r->labelled_data->opts.kind;
    if (dg_chars_trim(line, " \r\n\f\v\t").len == 0 && kind != DG_LESSON_TAGS)
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

/* ---- JSON ------------------------------------------------------------------------------------ */

static enum dg_err get_text(struct reading *r, const struct dg_json *json, const char *name,
                            enum dg_json_need need, struct dg_span *text)
{
    struct dg_span found = DG_SPAN("");
    enum dg_err err = dg_json_get_string(json, name, need, r->error, &found);
    return err ? err : keep(r->labelled_data, found, text);
}

static enum dg_err get_pair(struct reading *r, const struct dg_json *json,
                            struct dg_labelled_text *labelled_text)
{
    labelled_text->has_pair = dg_json_type(dg_json_get(json, "pair")) != DG_JSON_NULL;
    return get_text(r, json, "pair", DG_JSON_OPTIONAL, &labelled_text->pair);
}

static enum dg_err get_words(struct reading *r, const struct dg_json *json)
{
    const struct dg_json *words = NULL, *labels = NULL;
    struct sentence *sentence = r->sentence;
    enum dg_err err = dg_json_get_array(json, "words", DG_JSON_REQUIRED, r->error, &words);
    if (!err)
        err = dg_json_get_array(json, "labels", DG_JSON_REQUIRED, r->error, &labels);
    if (!err && (dg_json_len(words) != dg_json_len(labels) || dg_json_len(words) > WORDS_MAX))
        err = dg_error_set(
            r->error, DG_ERR_INVALID,
            "there are %zu words and %zu labels, expected equal numbers of both, at most %d",
            dg_json_len(words), dg_json_len(labels), WORDS_MAX);
    for (size_t i = 0; i < dg_json_len(words) && !err; i++) {
        struct dg_span word = DG_SPAN(""), label = DG_SPAN("");
        err = dg_json_string(dg_json_at(words, i), DG_SPAN("words[]"), r->error, &word);
        if (!err)
            err = dg_json_string(dg_json_at(labels, i), DG_SPAN("labels[]"), r->error, &label);
        if (!err && (dg_chars_trim(word, " \r\n\f\v\t").len == 0 ||
                     dg_chars_trim(label, " \r\n\f\v\t").len == 0))
            err = dg_error_set(r->error, DG_ERR_INVALID, "word or label %zu is empty", i);
        sentence->words[i] = dg_chars_trim(word, " \r\n\f\v\t");
        sentence->tags[i] = dg_chars_trim(label, " \r\n\f\v\t");
    }
    sentence->n = err ? 0 : dg_json_len(words);
    return err ? err : take_sentence(r->labelled_data, sentence);
}

/* Reads "labels": [...], or "label" if the line has one. */
static enum dg_err get_labels(struct reading *r, const struct dg_json *json,
                              struct dg_labelled_text *labelled_text)
{
    const bool is_one = dg_json_type(dg_json_get(json, "labels")) == DG_JSON_NULL;
    const struct dg_json *labels = NULL;
    enum dg_err err =
        is_one ? DG_OK : dg_json_get_array(json, "labels", DG_JSON_REQUIRED, r->error, &labels);
    const size_t n = is_one ? 1 : dg_json_len(labels);
    struct dg_span *list =
        err ? NULL : dg_arena_calloc(&r->labelled_data->arena, n + 1, sizeof *list);
    if (!err && !list)
        err = DG_ERR_NOMEM;
    for (size_t i = 0; i < n && !err; i++) {
        struct dg_span label = DG_SPAN("");
        if (is_one)
            err = dg_json_get_string(json, "label", DG_JSON_REQUIRED, r->error, &label);
        else
            err = dg_json_string(dg_json_at(labels, i), DG_SPAN("labels[]"), r->error, &label);
        if (!err)
            err = keep(r->labelled_data, label, &list[i]);
        if (!err && list[i].len == 0)
            err = dg_error_set(r->error, DG_ERR_INVALID, "label %zu is empty", i);
    }
    if (!err)
        set_labels(labelled_text, list, n);
    return err;
}

static enum dg_err get_answer(struct reading *r, const struct dg_json *json)
{
    struct dg_labelled_text labelled_text = {.has_pair = true};
    struct dg_span context = DG_SPAN(""), answer = DG_SPAN("");
    int64_t start = -1;
    enum dg_err err = get_text(r, json, "question", DG_JSON_REQUIRED, &labelled_text.text);
    if (!err)
        err = dg_json_get_string(json, "context", DG_JSON_REQUIRED, r->error, &context);
    if (!err)
        err = (labelled_text.pair = dg_arena_copy(&r->labelled_data->arena, context)).ptr
                  ? DG_OK
                  : DG_ERR_NOMEM;
    if (!err)
        err = dg_json_get_string(json, "answer", DG_JSON_OPTIONAL, r->error, &answer);
    if (!err)
        err = dg_json_get_int(json, "start", DG_JSON_OPTIONAL, 0, 1000000000, r->error, &start);
    if (!err)
        find_answer(&labelled_text, dg_chars_trim(answer, " \r\n\f\v\t"), start);
    return err ? err : take(r->labelled_data, &labelled_text);
}

static enum dg_err read_object(struct reading *r, const struct dg_json *json)
{
    struct dg_labelled_text labelled_text = {.label = DG_SPAN("")};
    double number = 0.0;
    enum dg_err err;
    if (r->labelled_data->opts.kind == DG_LESSON_TAGS)
        return get_words(r, json);
    if (r->labelled_data->opts.kind == DG_LESSON_ANSWER)
        return get_answer(r, json);
    err = get_text(r, json, "text", DG_JSON_REQUIRED, &labelled_text.text);
    if (!err && r->labelled_data->opts.kind != DG_LESSON_WORDS)
        err = get_pair(r, json, &labelled_text);
    if (!err && r->labelled_data->opts.kind == DG_LESSON_LABEL) {
        err = get_text(r, json, "label", DG_JSON_REQUIRED, &labelled_text.label);
        if (!err && labelled_text.label.len == 0)
            err = dg_error_set(r->error, DG_ERR_INVALID, "field 'label' is empty");
    }
    if (!err && r->labelled_data->opts.kind == DG_LESSON_LABELS)
        err = get_labels(r, json, &labelled_text);
    if (!err && r->labelled_data->opts.kind == DG_LESSON_NUMBER)
        err = dg_json_get_real(json, "score", DG_JSON_REQUIRED, -NUMBER_MAX, NUMBER_MAX, r->error,
                               &number);
    labelled_text.number = (float)number;
    return err ? err : take(r->labelled_data, &labelled_text);
}

static enum dg_err read_json(struct reading *r, struct dg_span line)
{
    const struct dg_json_limits limits = {
        .max_bytes = LINE_BYTES_MAX, .max_depth = 8, .max_values = LINE_VALUES_MAX};
    struct dg_json *json = NULL;
    if (dg_chars_trim(line, " \r\n\f\v\t").len == 0)
        return DG_OK;
    enum dg_err err = dg_json_parse(line, &limits, r->error, &json);
    if (!err)
        err = read_object(r, json);
    dg_json_free(json);
    return err && err != DG_ERR_NOMEM
               ? dg_error_wrap(r->error, err, "%s, line %" PRIu64, r->path, r->line)
               : err;
}

/* ---- Files ----------------------------------------------------------------------------------- */

static bool is_json(const char *path)
{
    struct dg_span name = dg_span_cstr(path);
    if (dg_span_ends(name, DG_SPAN(".gz")))
        name.len -= 3;
    return dg_span_ends(name, DG_SPAN(".jsonl")) || dg_span_ends(name, DG_SPAN(".ndjson"));
}

enum dg_err dg_labelled_data_read(struct dg_labelled_data *labelled_data, const char *path,
                                  struct dg_error *error)
{
    struct reading r = {.labelled_data = labelled_data, .path = path, .error = error};
    const bool has_json = is_json(path);
    struct dg_text_in in;
    struct dg_span line;
    enum dg_err err = dg_text_in_open(&in, path, error);
    if (err)
        return err;
    if (labelled_data->opts.kind == DG_LESSON_TAGS &&
        !(r.sentence = dg_try_calloc(1, sizeof *r.sentence)))
        err = DG_ERR_NOMEM;
    while (!err && dg_text_in_line(&in, &line)) {
        r.line++;
        err = has_json ? read_json(&r, line) : read_columns(&r, line);
    }
    if (!err && r.sentence)
        err = take_sentence(labelled_data, r.sentence);
    labelled_data->n_lines += r.line;
    dg_free(r.sentence);
    dg_text_in_close(&in);
    return err == DG_ERR_NOMEM ? dg_error_set(error, err, "no memory for what %s holds", path)
                               : err;
}

/* ---- Holding out ----------------------------------------------------------------------------- */

/* Groups labelled texts that have a text in common. */
static struct dg_span group_of(const struct dg_labelled_text *labelled_text,
                               enum dg_labelled_text_kind kind)
{
    return kind == DG_LESSON_ANSWER ? labelled_text->pair : labelled_text->text;
}

enum dg_err dg_labelled_data_forbid(struct dg_labelled_data *labelled_data,
                                    const struct dg_labelled_text *others, size_t n)
{
    struct dg_map groups;
    enum dg_err err = DG_OK;
    size_t kept = 0;
    dg_map_init(&groups, n + 1);
    for (size_t i = 0; i < n && !err; i++)
        err = dg_map_put(&groups, group_of(&others[i], labelled_data->opts.kind), 1);
    for (size_t i = 0; i < labelled_data->n && !err; i++) {
        if (dg_map_get(&groups, group_of(&labelled_data->list[i], labelled_data->opts.kind), NULL))
            labelled_data->dropped[DG_DROP_LEAK]++;
        else
            labelled_data->list[kept++] = labelled_data->list[i];
    }
    if (!err)
        labelled_data->n = kept;
    dg_map_deinit(&groups);
    return err;
}

enum { CHOSEN = 1 };

/* Draws groups until they have about n texts: `groups` holds the size of each group times two, plus
 * the flag CHOSEN. */
static enum dg_err choose(const struct dg_labelled_data *labelled_data, size_t n, uint64_t seed,
                          struct dg_map *groups, size_t *order)
{
    struct dg_random random = dg_random_make(seed, UINT64_MAX);
    size_t held = 0;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < labelled_data->n && held < n && !err; i++) {
        const size_t j = i + dg_random_below(&random, labelled_data->n - i), other = order[j];
        order[j] = order[i];
        order[i] = other;
        const struct dg_span group =
            group_of(&labelled_data->list[other], labelled_data->opts.kind);
        uint64_t size = 0;
        dg_map_get(groups, group, &size);
        if (size & CHOSEN || held + size / 2 > n + n / 2)
            continue;
        held += (size_t)(size / 2);
        err = dg_map_put(groups, group, size | CHOSEN);
    }
    return err;
}

enum dg_err dg_labelled_data_hold_out(struct dg_labelled_data *labelled_data, size_t n,
                                      uint64_t seed, size_t *n_held)
{
    const enum dg_labelled_text_kind kind = labelled_data->opts.kind;
    size_t *order = dg_try_calloc(labelled_data->n + 1, sizeof *order), held = 0, at = 0;
    struct dg_labelled_text *sorted = dg_try_calloc(labelled_data->n + 1, sizeof *sorted);
    struct dg_map groups;
    enum dg_err err = order && sorted ? DG_OK : DG_ERR_NOMEM;
    dg_map_init(&groups, labelled_data->n + 1);
    for (size_t i = 0; i < labelled_data->n && !err; i++) {
        uint64_t size = 0;
        order[i] = i;
        dg_map_get(&groups, group_of(&labelled_data->list[i], kind), &size);
        err = dg_map_put(&groups, group_of(&labelled_data->list[i], kind), size + 2);
    }
    if (!err)
        err = choose(labelled_data, n < labelled_data->n / 10 ? n : labelled_data->n / 10, seed,
                     &groups, order);
    for (unsigned chosen = 0; chosen < 2 && !err; chosen++)
        for (size_t i = 0; i < labelled_data->n; i++) {
            uint64_t size = 0;
            dg_map_get(&groups, group_of(&labelled_data->list[i], kind), &size);
            if ((size & CHOSEN) == chosen)
                continue;
            sorted[at++] = labelled_data->list[i];
            held += chosen == 0;
        }
    if (!err && labelled_data->n)
        memcpy(labelled_data->list, sorted, labelled_data->n * sizeof *sorted);
    if (!err)
        *n_held = held;
    dg_map_deinit(&groups);
    dg_free(order);
    dg_free(sorted);
    return err;
}
