/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/buf.h"
#include "net/proto/multipart.h"
#include "unit.h"

#define TYPE DG_SPAN("multipart/form-data; boundary=XX")

static struct dg_arena arena;

static void setup(void)
{
    dg_arena_init(&arena, 1 << 16);
}

/* What the pieces contained: the parts so far, and the body of the last one. */
struct fed {
    size_t n, n_ended;
    struct dg_part part;
    struct dg_buf body;
};

static enum dg_err on_part(void *ctx, const struct dg_part *part, struct dg_error *error)
{
    struct fed *fed = ctx;
    (void)error;
    ck_assert_uint_eq(fed->n++, fed->n_ended);
    fed->part = *part;
    dg_buf_clear(&fed->body);
    return DG_OK;
}

static enum dg_err on_data(void *ctx, struct dg_span bytes, struct dg_error *error)
{
    struct fed *fed = ctx;
    (void)error;
    ck_assert_uint_ne(bytes.len, 0);
    return dg_buf_append_span(&fed->body, bytes);
}

static enum dg_err on_part_end(void *ctx, struct dg_error *error)
{
    struct fed *fed = ctx;
    (void)error;
    fed->n_ended++;
    return DG_OK;
}

/* Checks that the form, read in pieces of `step` bytes, gives the same as when it is read whole. */
static void check_fed(struct dg_span type, struct dg_span body, size_t step, enum dg_err whole,
                      size_t n, const struct dg_part *last)
{
    static const struct dg_multipart_events events = {
        .on_part = on_part, .on_data = on_data, .on_part_end = on_part_end};
    struct dg_multipart_feed feed;
    struct dg_arena own;
    struct dg_error error = DG_ERROR_NONE;
    struct fed fed = {.n = 0};
    dg_arena_init(&own, 64 << 20);
    dg_buf_init(&fed.body, 1 << 20);
    enum dg_err err = dg_multipart_feed_begin(&feed, type, &own, &events, &fed, &error);
    for (size_t at = 0; at < body.len && !err; at += step)
        err = dg_multipart_feed(&feed, dg_span_sub(body, at, step), &error);
    if (!err)
        err = dg_multipart_feed_end(&feed, &error);
    if (err != DG_ERR_NOMEM && whole != DG_ERR_NOMEM) {
        ck_assert_int_eq(err != DG_OK, whole != DG_OK);
        ck_assert(!err || *error.text);
    }
    if (!err && !whole) {
        ck_assert(fed.n == n && fed.n_ended == n);
        ck_assert(!n || (dg_span_eq(fed.part.name, last->name) &&
                         dg_span_eq(fed.part.filename, last->filename) &&
                         dg_span_eq(fed.part.type, last->type) &&
                         dg_span_eq(dg_buf_span(&fed.body), last->body)));
    }
    dg_buf_deinit(&fed.body);
    dg_arena_deinit(&own);
}

/* The error of reading the whole form; sets *n to the number of parts, and *last to the last. */
static enum dg_err read_all(struct dg_span type, struct dg_span body, size_t *n,
                            struct dg_part *last)
{
    struct dg_multipart multipart;
    struct dg_error error = DG_ERROR_NONE;
    bool more = true;
    *n = 0;
    enum dg_err err = dg_multipart_begin(&multipart, type, body, &error);
    while (!err) {
        err = dg_multipart_next(&multipart, &arena, last, &more, &error);
        if (err || !more)
            break;
        ++*n;
    }
    ck_assert(!err || err == DG_ERR_NOMEM || *error.text);
    for (size_t step = 1; step < 12; step += 3)
        check_fed(type, body, step, err, *n, last);
    check_fed(type, body, body.len + 1, err, *n, last);
    return err;
}

START_TEST(reads_fields_and_files)
{
    setup();
    struct dg_span body = DG_SPAN(
        "--XX\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\na\r\nb\r\n--XX\r\n"
        "content-type: text/plain\r\ncontent-disposition: form-data; filename=\"a;b\\\"%22.txt\"; "
        "name=file\r\n\r\n\0--X\r\n--XX--\r\n");
    struct dg_multipart multipart;
    struct dg_part part;
    bool more;
    ck_assert(dg_multipart_is(TYPE) && !dg_multipart_is(DG_SPAN("multipart/form-datax")));
    ck_assert_int_eq(dg_multipart_begin(&multipart, TYPE, body, NULL), DG_OK);
    ck_assert_int_eq(dg_multipart_next(&multipart, &arena, &part, &more, NULL), DG_OK);
    ck_assert(more && dg_span_eq(part.name, DG_SPAN("q")) &&
              dg_span_eq(part.body, DG_SPAN("a\r\nb")));
    ck_assert(!part.filename.ptr);
    ck_assert_int_eq(dg_multipart_next(&multipart, &arena, &part, &more, NULL), DG_OK);
    ck_assert(more && dg_span_eq(part.filename, DG_SPAN("a;b\"\".txt")));
    ck_assert(dg_span_eq(part.body, DG_SPAN("\0--X")) &&
              dg_span_eq(part.type, DG_SPAN("text/plain")));
    ck_assert_int_eq(dg_multipart_next(&multipart, &arena, &part, &more, NULL), DG_OK);
    ck_assert(!more);
    dg_arena_deinit(&arena);
}
END_TEST

START_TEST(reads_odd_but_legal_forms)
{
    setup();
    struct dg_part part;
    size_t n;
    ck_assert_int_eq(read_all(DG_SPAN("Multipart/Form-Data; charset=utf-8; boundary=\"a b\""),
                              DG_SPAN("--a b--"), &n, &part),
                     DG_OK);
    ck_assert_uint_eq(n, 0);
    ck_assert_int_eq(
        read_all(TYPE, DG_SPAN("--XX\r\nContent-Disposition: form-data; name=q\r\n\r\n--XX--"), &n,
                 &part),
        DG_OK); /* the empty line is also the line end before the delimiter */
    ck_assert(n == 1 && part.body.len == 0);
    ck_assert_int_eq(
        read_all(
            TYPE,
            DG_SPAN("--XX\r\nContent-Disposition: form-data; name=q; filename*=UTF-8''%C3%A9.txt;"
                    " filename=e.txt\r\n\r\nx\r\n--XX--"),
            &n, &part),
        DG_OK);
    ck_assert(dg_span_eq(part.filename, DG_SPAN("\xC3\xA9.txt")));
    dg_arena_deinit(&arena);
}
END_TEST

START_TEST(what_looks_like_a_delimiter_is_text)
{
    struct dg_part part;
    size_t n;
    setup();
    struct dg_span body = DG_SPAN("--XY\r\nContent-Disposition: form-data; name=q\r\n\r\n"
                                  "\r\n--X\r\n--X\r\r\n-\r\n--XX\r\r\n--XY--\r\n");
    ck_assert_int_eq(read_all(DG_SPAN("multipart/form-data; boundary=XY"), body, &n, &part), DG_OK);
    ck_assert(n == 1 && dg_span_eq(part.body, DG_SPAN("\r\n--X\r\n--X\r\r\n-\r\n--XX\r")));
    dg_arena_deinit(&arena);
}
END_TEST

START_TEST(refuses_what_is_no_form)
{
    static const struct {
        const char *type, *body;
        enum dg_err err;
    } cases[] = {
        {"multipart/form-data", "--XX--", DG_ERR_FORMAT},
        {"multipart/form-data; boundary=", "--XX--", DG_ERR_FORMAT},
        {"multipart/form-data; boundary=XX; boundary=YY", "--XX--", DG_ERR_FORMAT},
        {"multipart/form-data; boundary=a\"b", "--XX--", DG_ERR_FORMAT},
        {"multipart/form-data; boundary=XX", "", DG_ERR_TRUNCATED},
        {"multipart/form-data; boundary=XX", "hello --XX--", DG_ERR_FORMAT},
        {"multipart/form-data; boundary=XX", "--XX", DG_ERR_TRUNCATED},
        {"multipart/form-data; boundary=XX", "--XX--\r\nmore", DG_ERR_FORMAT},
        {"multipart/form-data; boundary=XX", "--XXY\r\n", DG_ERR_FORMAT},
        {"multipart/form-data; boundary=XX", "--XX\r\nContent-Dis", DG_ERR_TRUNCATED},
        {"multipart/form-data; boundary=XX", "--XX\r\n\r\nx\r\n--XX--", DG_ERR_FORMAT},
        {"multipart/form-data; boundary=XX",
         "--XX\r\nContent-Disposition: form-data\r\n\r\nx\r\n--XX--", DG_ERR_FORMAT},
        {"multipart/form-data; boundary=XX",
         "--XX\r\nContent-Disposition: attachment; name=q\r\n\r\nx\r\n--XX--", DG_ERR_FORMAT},
        {"multipart/form-data; boundary=XX",
         "--XX\r\nContent-Disposition: form-data; name=\"q\r\n\r\nx\r\n--XX--", DG_ERR_FORMAT},
        {"multipart/form-data; boundary=XX",
         "--XX\r\nContent-Disposition: form-data; name=q\r\n folded\r\n\r\nx\r\n--XX--",
         DG_ERR_FORMAT},
        {"multipart/form-data; boundary=XX",
         "--XX\r\nContent-Disposition: form-data; name=\"\xFF\"\r\n\r\nx\r\n--XX--", DG_ERR_UTF8},
        {"multipart/form-data; boundary=XX",
         "--XX\r\nContent-Disposition: form-data; name=q\r\n"
         "Content-Transfer-Encoding: base64\r\n\r\nx\r\n--XX--",
         DG_ERR_UNSUPPORTED},
        {"multipart/form-data; boundary=XX",
         "--XX\r\nContent-Disposition: form-data; name=q\r\n\r\nx\r\n--X", DG_ERR_TRUNCATED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dg_part part;
        size_t n;
        setup();
        ck_assert_msg(read_all(dg_span_cstr(cases[i].type), dg_span_cstr(cases[i].body), &n,
                               &part) == cases[i].err,
                      "case %zu", i);
        dg_arena_deinit(&arena);
    }
}
END_TEST

START_TEST(a_form_cut_anywhere_is_refused)
{
    struct dg_span whole =
        DG_SPAN("--XX\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\nabc\r\n--XX--");
    for (size_t len = 0; len < whole.len; len++) {
        struct dg_part part;
        size_t n;
        setup();
        ck_assert_int_ne(read_all(TYPE, dg_span_sub(whole, 0, len), &n, &part), DG_OK);
        dg_arena_deinit(&arena);
    }
}
END_TEST

START_TEST(long_heads_and_many_parts_are_refused)
{
    enum { PARTS = DG_MULTIPART_PARTS_MAX + 1 };
    static const char one[] = "--XX\r\nContent-Disposition: form-data; name=q\r\n\r\n\r\n";
    struct dg_buf body;
    struct dg_part part;
    size_t n;
    enum dg_err err = DG_OK;
    dg_arena_init(&arena, 64 << 20);
    dg_buf_init(&body, 64 << 20);
    for (size_t i = 0; i < PARTS && !err; i++)
        err = dg_buf_append_cstr(&body, one);
    ck_assert_int_eq(err, DG_OK);
    ck_assert_int_eq(read_all(TYPE, dg_buf_span(&body), &n, &part), DG_ERR_LIMIT);
    dg_buf_clear(&body);
    err = dg_buf_append_cstr(&body, "--XX\r\nX: ");
    for (size_t i = 0; i < DG_MULTIPART_HEAD_MAX && !err; i++)
        err = dg_buf_append_byte(&body, 'x');
    ck_assert_int_eq(err, DG_OK);
    ck_assert_int_eq(read_all(TYPE, dg_buf_span(&body), &n, &part), DG_ERR_LIMIT);
    dg_buf_deinit(&body);
    dg_arena_deinit(&arena);
}
END_TEST

DG_UNIT(reads_fields_and_files, reads_odd_but_legal_forms, what_looks_like_a_delimiter_is_text,
        refuses_what_is_no_form, a_form_cut_anywhere_is_refused,
        long_heads_and_many_parts_are_refused)
