/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/mem.h"
#include "net/proto/output.h"
#include "unit.h"

enum { MUCH = 3 * DG_OUTPUT_PIECE + 17 };

struct stream {
    struct dg_output out;
    struct dg_buf piece;
    unsigned made, seen; /* the next byte to be made, to be seen: they count */
};

static void start(struct stream *stream)
{
    *stream = (struct stream){.made = 0};
    dg_output_init(&stream->out);
    dg_buf_init(&stream->piece, SIZE_MAX / 2);
}

static void stop(struct stream *stream)
{
    dg_output_deinit(&stream->out);
    dg_buf_deinit(&stream->piece);
}

static enum dg_err fill(struct stream *stream, struct dg_buf *buf, size_t n)
{
    dg_buf_init(buf, SIZE_MAX / 2);
    enum dg_err err = dg_buf_reserve(buf, n);
    for (size_t i = 0; i < n && !err; i++)
        buf->ptr[buf->len++] = (char)(stream->made++ % 251);
    return err;
}

static enum dg_err append(struct stream *stream, size_t n)
{
    struct dg_buf buf;
    enum dg_err err = fill(stream, &buf, n);
    if (!err)
        err = dg_output_append(&stream->out, buf.ptr, buf.len);
    dg_buf_deinit(&buf);
    return err;
}

static enum dg_err give(struct stream *stream, size_t n)
{
    struct dg_buf buf;
    enum dg_err err = fill(stream, &buf, n);
    if (!err)
        err = dg_output_give(&stream->out, &buf);
    dg_buf_deinit(&buf);
    return err;
}

static void see(struct stream *stream, struct dg_span bytes)
{
    bool is_right = true;
    for (size_t i = 0; i < bytes.len; i++)
        is_right &= (unsigned char)bytes.ptr[i] == stream->seen++ % 251;
    ck_assert(is_right);
}

/* Writes at most `n` bytes at once. */
static void write_some(struct stream *stream, size_t n)
{
    struct dg_span next = dg_output_span(&stream->out);
    next = dg_span_sub(next, 0, n);
    see(stream, next);
    dg_output_written(&stream->out, next.len);
}

/* Takes a piece; it is written as a whole. */
static void take(struct stream *stream)
{
    dg_buf_deinit(&stream->piece);
    dg_output_take(&stream->out, &stream->piece);
    see(stream, dg_buf_span(&stream->piece));
    dg_output_written(&stream->out, stream->piece.len);
}

START_TEST(all_comes_out_in_its_order)
{
    struct stream stream;
    for (size_t n = 1; n < 3 * DG_OUTPUT_PIECE; n = n * 7 + 13) {
        start(&stream);
        enum dg_err err = append(&stream, 100);
        for (int i = 0; i < 3 && !err; i++) {
            err = give(&stream, i == 1 ? MUCH : 5);
            if (!err)
                err = append(&stream, 1000);
            write_some(&stream, n);
            take(&stream);
            if (!err)
                err = append(&stream, DG_OUTPUT_PIECE);
        }
        while (dg_output_left(&stream.out))
            if (n % 2)
                write_some(&stream, n < 5000 ? 5000 : n);
            else
                take(&stream);
        if (!err)
            ck_assert_uint_eq(stream.seen, stream.made);
        ck_assert_uint_eq(dg_output_unwritten(&stream.out), 0);
        stop(&stream);
    }
}
END_TEST

START_TEST(a_large_answer_is_not_copied_and_leaves_in_pieces)
{
    struct stream stream;
    struct dg_buf answer;
    start(&stream);
    if (append(&stream, 10) == DG_OK && fill(&stream, &answer, MUCH) == DG_OK) {
        const char *memory = answer.ptr;
        ck_assert_int_eq(dg_output_give(&stream.out, &answer), DG_OK);
        ck_assert_ptr_null(answer.ptr);
        ck_assert_uint_eq(dg_output_span(&stream.out).len, 10);
        write_some(&stream, 10);
        ck_assert_ptr_eq(dg_output_span(&stream.out).ptr, memory);
        ck_assert_uint_eq(dg_output_span(&stream.out).len, DG_OUTPUT_PIECE);
        ck_assert_uint_eq(dg_output_unwritten(&stream.out), MUCH);
    }
    stop(&stream);
}
END_TEST

START_TEST(what_is_taken_counts_until_it_is_written)
{
    struct stream stream;
    start(&stream);
    if (append(&stream, 10) == DG_OK) {
        dg_output_take(&stream.out, &stream.piece);
        ck_assert_uint_eq(dg_output_left(&stream.out), 0);
        ck_assert_uint_eq(dg_output_unwritten(&stream.out), 10);
        if (append(&stream, 5) == DG_OK) {
            dg_output_written(&stream.out, 10);
            ck_assert_uint_eq(dg_output_left(&stream.out), 5);
            ck_assert_uint_eq(dg_output_unwritten(&stream.out), 5);
        }
    }
    stop(&stream);
}
END_TEST

START_TEST(something_can_be_put_in_front)
{
    struct stream stream;
    struct dg_buf front;
    start(&stream);
    if (fill(&stream, &front, 7) == DG_OK && append(&stream, 3) == DG_OK &&
        give(&stream, MUCH) == DG_OK && dg_output_prepend(&stream.out, &front) == DG_OK) {
        while (dg_output_left(&stream.out))
            write_some(&stream, 1000);
        ck_assert_uint_eq(stream.seen, stream.made);
    }
    dg_buf_deinit(&front);
    stop(&stream);
}
END_TEST

DG_UNIT(all_comes_out_in_its_order, a_large_answer_is_not_copied_and_leaves_in_pieces,
        what_is_taken_counts_until_it_is_written, something_can_be_put_in_front)
