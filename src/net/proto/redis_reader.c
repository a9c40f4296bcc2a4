/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A reply is kept as its bytes, and as a list of values, each a place in them. */
#include "net/proto/redis_reader.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"

#include <string.h>

enum { NUMBER_MAX = 20 }; /* digits and a sign */

enum value_kind { VALUE_TEXT, VALUE_STATUS, VALUE_NIL, VALUE_INTEGER, VALUE_ERROR };

struct dg_redis_value {
    enum value_kind kind;
    size_t at, len;
    int64_t number;
};

void dg_redis_reader_init(struct dg_redis_reader *reader)
{
    *reader = (struct dg_redis_reader){.at = 0};
    dg_buf_init(&reader->bytes, 2 * (size_t)DG_REDIS_REPLY_MAX);
}

void dg_redis_reader_deinit(struct dg_redis_reader *reader)
{
    dg_buf_deinit(&reader->bytes);
    dg_free(reader->values);
    dg_free(reader->texts);
    *reader = (struct dg_redis_reader){.at = 0};
}

enum dg_err dg_redis_reader_feed(struct dg_redis_reader *reader, struct dg_span bytes)
{
    return dg_buf_append_span(&reader->bytes, bytes);
}

bool dg_redis_reader_has_rest(const struct dg_redis_reader *reader)
{
    return reader->bytes.len > (reader->is_told ? reader->at : reader->begin);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static enum dg_err add_value(struct dg_redis_reader *reader, struct dg_redis_value value)
{
    if (DG_GROW(reader->values, reader->n_values, reader->values_cap, 16))
        return DG_ERR_NOMEM;
    reader->values[reader->n_values++] = value;
    return DG_OK;
}

/* A decimal number and nothing else. */
static bool read_number(struct dg_span text, int64_t *number)
{
    const bool is_negative = text.len > 0 && text.ptr[0] == '-';
    int64_t value = 0;
    if (text.len > NUMBER_MAX || text.len == (size_t)is_negative)
        return false;
    for (size_t i = is_negative; i < text.len; i++) {
        const int digit = text.ptr[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, digit, &value)) /* below zero there is room for one more
                                                           */
            return false;
    }
    if (!is_negative && value == INT64_MIN)
        return false;
    *number = is_negative ? value : -value;
    return true;
}

/* The line at `at`, without its sign and end; false: its end has not arrived. */
static bool find_line(struct dg_redis_reader *reader, struct dg_span *line, size_t *next)
{
    const struct dg_buf *bytes = &reader->bytes;
    const char *end = bytes->len > reader->searched ? memchr(bytes->ptr + reader->searched, '\n',
                                                             bytes->len - reader->searched)
                                                    : NULL;
    if (!end) {
        reader->searched = bytes->len;
        return false;
    }
    reader->searched = (size_t)(end - bytes->ptr); /* where it is found again at once */
    *next = reader->searched + 1;
    *line = dg_span_make(bytes->ptr + reader->at, *next - reader->at);
    return true;
}

static void go_on_at(struct dg_redis_reader *reader, size_t at)
{
    reader->at = reader->searched = at;
}

/* Reads a text of `len` bytes after its line; *is_there: all of it has arrived. */
static enum dg_err read_text(struct dg_redis_reader *reader, int64_t len, size_t begin,
                             bool *is_there)
{
    if (len == -1) {
        go_on_at(reader, begin);
        return add_value(reader, (struct dg_redis_value){.kind = VALUE_NIL});
    }
    if (len < 0)
        return DG_ERR_FORMAT;
    if (len > DG_REDIS_REPLY_MAX)
        return DG_ERR_LIMIT;
    const size_t end = begin + (size_t)len;
    *is_there = reader->bytes.len >= end + 2;
    if (!*is_there)
        return DG_OK;
    if (memcmp(reader->bytes.ptr + end, "\r\n", 2) != 0)
        return DG_ERR_FORMAT;
    go_on_at(reader, end + 2);
    return add_value(reader,
                     (struct dg_redis_value){.kind = VALUE_TEXT, .at = begin, .len = (size_t)len});
}

static enum dg_err begin_list(struct dg_redis_reader *reader, int64_t n, size_t next)
{
    go_on_at(reader, next);
    if (n == -1)
        return add_value(reader, (struct dg_redis_value){.kind = VALUE_NIL});
    if (n < 0)
        return DG_ERR_FORMAT;
    if ((uint64_t)n > DG_REDIS_ELEMENTS_MAX - reader->n_announced ||
        reader->depth == DG_REDIS_DEPTH_MAX)
        return DG_ERR_LIMIT;
    reader->n_announced += (size_t)n;
    reader->is_flat = reader->depth == 0;
    reader->is_list = true;
    reader->left[reader->depth++] = (size_t)n + 1; /* one more for the list itself, which is taken
                                                      off at once */
    return DG_OK;
}

/* Reads one more value; *is_there: all of it has arrived. */
static enum dg_err read_value(struct dg_redis_reader *reader, bool *is_there)
{
    struct dg_span line = {NULL, 0};
    size_t next = 0;
    int64_t number = 0;
    *is_there = find_line(reader, &line, &next);
    const size_t len = *is_there ? line.len : reader->bytes.len - reader->at;
    if (len > 0 && !memchr("+-:$*", reader->bytes.ptr[reader->at], 5))
        return DG_ERR_FORMAT;
    if (len > DG_REDIS_LINE_MAX)
        return DG_ERR_LIMIT;
    if (!*is_there)
        return DG_OK;
    if (line.len < 3 || line.ptr[line.len - 2] != '\r')
        return DG_ERR_FORMAT;
    const char sign = line.ptr[0];
    const struct dg_span said = dg_span_sub(line, 1, line.len - 3);
    if (sign != '+' && sign != '-' && !read_number(said, &number))
        return DG_ERR_FORMAT;
    if (sign == '$')
        return read_text(reader, number, next, is_there);
    if (sign == '*')
        return begin_list(reader, number, next);
    const struct dg_redis_value value = {.kind = sign == '+'   ? VALUE_STATUS
                                                 : sign == '-' ? VALUE_ERROR
                                                               : VALUE_INTEGER,
                                         .at = reader->at + 1,
                                         .len = said.len,
                                         .number = number};
    go_on_at(reader, next);
    return add_value(reader, value);
}

/* ---- Replies --------------------------------------------------------------------------------- */

static struct dg_span text_of(const struct dg_redis_reader *reader,
                              const struct dg_redis_value *value)
{
    return value->kind == VALUE_NIL ? (struct dg_span){NULL, 0}
                                    : dg_span_make(reader->bytes.ptr + value->at, value->len);
}

static void make_single(const struct dg_redis_reader *reader, struct dg_redis_reply *reply)
{
    static const enum dg_redis_kind kinds[] = {[VALUE_TEXT] = DG_REDIS_TEXT,
                                               [VALUE_STATUS] = DG_REDIS_OK,
                                               [VALUE_NIL] = DG_REDIS_NIL,
                                               [VALUE_INTEGER] = DG_REDIS_NUMBERS,
                                               [VALUE_ERROR] = DG_REDIS_REFUSED};
    const struct dg_redis_value *value = &reader->values[0];
    reply->kind = kinds[value->kind];
    if (value->kind == VALUE_INTEGER)
        reply->numbers[reply->n_numbers++] = value->number;
    else
        reply->text = text_of(reader, value);
}

static enum dg_err make_list(struct dg_redis_reader *reader, struct dg_redis_reply *reply)
{
    const size_t n = reader->n_values;
    bool is_numbers = reader->is_flat && n > 0 && n <= DG_REDIS_NUMBERS_MAX;
    for (size_t i = 0; i < n; i++) {
        is_numbers = is_numbers && reader->values[i].kind == VALUE_INTEGER;
        if (reader->values[i].kind == VALUE_ERROR) {
            reply->kind = DG_REDIS_REFUSED;
            reply->text = text_of(reader, &reader->values[i]);
            return DG_OK;
        }
    }
    if (is_numbers) {
        reply->kind = DG_REDIS_NUMBERS;
        for (size_t i = 0; i < n; i++)
            reply->numbers[reply->n_numbers++] = reader->values[i].number;
        return DG_OK;
    }
    reader->texts = dg_try_calloc(n ? n : 1, sizeof *reader->texts);
    if (!reader->texts)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        reader->texts[i] = text_of(reader, &reader->values[i]);
    reply->kind = DG_REDIS_TEXTS;
    reply->texts = reader->texts;
    reply->n_texts = n;
    return DG_OK;
}

/* Ends the lists whose last value was just read. */
static void end_lists(struct dg_redis_reader *reader)
{
    while (reader->depth > 0 && --reader->left[reader->depth - 1] == 0)
        reader->depth--;
}

/* Forgets the last reply. */
static void begin_reply(struct dg_redis_reader *reader)
{
    if (!reader->is_told)
        return;
    if (2 * reader->at >= reader->bytes.len) { /* else the rest would move again and again */
        dg_buf_consume(&reader->bytes, reader->at);
        go_on_at(reader, 0);
    }
    dg_free(reader->texts);
    reader->texts = NULL;
    reader->begin = reader->at;
    reader->n_values = reader->n_announced = reader->depth = 0;
    reader->is_list = reader->is_told = false;
}

enum dg_err dg_redis_reader_next(struct dg_redis_reader *reader, struct dg_redis_reply *reply,
                                 bool *is_there)
{
    enum dg_err err = DG_OK;
    bool has_come = true;
    begin_reply(reader);
    *is_there = false;
    *reply = (struct dg_redis_reply){.kind = DG_REDIS_NONE};
    do {
        err = read_value(reader, &has_come);
        if (!err && has_come)
            end_lists(reader);
    } while (!err && has_come && reader->depth > 0);
    if (!err && (has_come ? reader->at : reader->bytes.len) - reader->begin > DG_REDIS_REPLY_MAX)
        err = DG_ERR_LIMIT;
    if (err || !has_come)
        return err;
    if (reader->is_list)
        err = make_list(reader, reply);
    else
        make_single(reader, reply);
    *is_there = reader->is_told = !err;
    return err;
}
