/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Long texts are cut in stretches: into the same sentences, and without delaying others. */
#include "base/memory/buf.h"
#include "engine/engine.h"
#include "engine/engine_int.h"
#include "engine/request/request.h"
#include "files.h"
#include "text/sentence/segment.h"
#include "unit.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sem_t woken;

static void wake(void *arg)
{
    (void)arg;
    sem_post(&woken);
}

static struct dg_engine *engine;

static void set_up(void)
{
    char path[DG_TEST_PATH];
    struct dg_error error = DG_ERROR_NONE;
    struct dg_engine_opts opts = {
        .n_threads = 1, .slots = 16, .wake = wake, .cache_bytes = 4 << 20};
    sem_init(&woken, 0, 0);
    ck_assert_msg(dg_engine_new(&opts, &error, &engine) == DG_OK, "%s", error.text);
    dg_test_source(path, "models/fr-en");
    ck_assert_msg(dg_engine_load(engine, "fr-en", path, NULL, NULL, &error) == DG_OK, "%s",
                  error.text);
}

static void tear_down(void)
{
    dg_engine_free(engine);
    sem_destroy(&woken);
}

enum { SENTENCES = 4000 };

struct seen {
    size_t at[SENTENCES], len[SENTENCES], n;
    size_t n_deltas;
    struct dg_buf text;
    bool is_done;
    enum dg_err err;
    char error[DG_ERROR_CAP];
};

static void on_delta(void *ctx, struct dg_span text)
{
    struct seen *seen = ctx;
    seen->n_deltas++;
    ck_assert_int_eq(dg_buf_append_span(&seen->text, text), DG_OK);
}

static void on_sentence(void *ctx, const struct dg_engine_sentence *sentence)
{
    struct seen *seen = ctx;
    ck_assert_uint_lt(seen->n, SENTENCES);
    seen->at[seen->n] = sentence->at;
    seen->len[seen->n++] = sentence->len;
}

static void on_done(void *ctx, const struct dg_engine_result *result)
{
    struct seen *seen = ctx;
    seen->is_done = true;
    seen->err = result->err;
    snprintf(seen->error, sizeof seen->error, "%s", result->error ? result->error : "");
    if (!result->err)
        ck_assert(dg_span_eq(result->text, dg_buf_span(&seen->text)));
}

static const struct dg_engine_events events = {on_delta, on_sentence, on_done};

/* Writes about `len` bytes of sentences; `gap` is the distance of line ends (0: there are none). */
static void write_text(struct dg_buf *text, size_t len, unsigned gap)
{
    static const char *const sentences[] = {
        "Le chat dort.",
        "M. Dupont est arrivé à 10 h.",
        "Où est la gare ?",
        "« Non ! » dit-elle.",
        "Il pleut, il fait froid, et nous sommes en retard.",
        "Merci...",
        "C'est 3,14 m.",
        "Oui !",
    };
    for (unsigned i = 0; text->len < len; i++) {
        ck_assert_int_eq(dg_buf_append_cstr(text, sentences[(i * 7 + i / 5) % 8]), DG_OK);
        ck_assert_int_eq(
            dg_buf_append_cstr(text, gap && i % gap == gap - 1 ? (i % 3 ? "\n" : "\r\n\r\n") : " "),
            DG_OK);
    }
}

static void run(struct dg_span text, struct dg_engine_request *how, struct seen *seen)
{
    how->text = text;
    how->search.max_len = 3; /* only the sentences matter here, not their translations */
    *seen = (struct seen){.n = 0};
    dg_buf_init(&seen->text, 1 << 24);
    ck_assert_int_eq(dg_engine_submit(engine, how, &events, seen, NULL, NULL, NULL), DG_OK);
    while (dg_engine_poll(engine), !seen->is_done)
        sem_wait(&woken);
}

static void check_same(unsigned gap, bool join_lines, bool keep_lines_whole)
{
    static struct seen seen;
    struct dg_segmenter *segmenter;
    struct dg_segments segments;
    struct dg_buf text;
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_segment_opts opts = DG_SEGMENT_OPTS_DEFAULT;
    size_t n = 0;
    dg_buf_init(&text, 1 << 20);
    write_text(&text, 50000, gap);
    how.join_lines = opts.join_lines = join_lines;
    how.keep_lines_whole = opts.keep_lines_whole = keep_lines_whole;
    opts.language = "fr";
    ck_assert_int_eq(dg_segmenter_new(&segmenter, NULL), DG_OK);
    ck_assert_int_eq(dg_segmenter_run(segmenter, dg_buf_span(&text), &opts, &segments, NULL),
                     DG_OK);
    run(dg_buf_span(&text), &how, &seen);
    ck_assert_int_eq(seen.err, DG_OK);
    for (size_t i = 0; i < segments.n; i++) {
        if (segments.items[i].kind != DG_SEGMENT_SENTENCE)
            continue;
        ck_assert_uint_lt(n, seen.n);
        ck_assert_uint_eq(seen.at[n], segments.items[i].at);
        ck_assert_uint_eq(seen.len[n], segments.items[i].len);
        n++;
    }
    ck_assert_uint_eq(n, seen.n);
    dg_segmenter_free(segmenter);
    dg_buf_deinit(&seen.text);
    dg_buf_deinit(&text);
}

START_TEST(stretches_have_the_sentences_of_the_whole)
{
    set_up();
    check_same(7, false, false);
    check_same(5, false, true);
    check_same(6, true, false);
    check_same(0, false, false); /* one line */
    tear_down();
}
END_TEST

START_TEST(what_has_nothing_to_cut_comes_to_an_end_too)
{
    static const char *const texts[] = {"", "\n", " ", "\r\n\r\n", "a"};
    static struct seen seen;
    set_up();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int routing = 0; routing < 4; routing++) {
            struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
            how.keep_lines_whole = routing & 1;
            how.join_lines = routing & 2;
            run(dg_span_cstr(texts[i]), &how, &seen);
            ck_assert_int_eq(seen.err, DG_OK);
            if (seen.n == 0)
                ck_assert(dg_span_eq(dg_buf_span(&seen.text), dg_span_cstr(texts[i])));
            dg_buf_deinit(&seen.text);
        }
    tear_down();
}
END_TEST

/* A sentence far longer than any stretch comes in parts and is put together again. */
START_TEST(a_sentence_longer_than_a_stretch_is_cut_and_joined)
{
    static struct seen seen;
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_buf text;
    size_t end = 0;
    set_up();
    dg_buf_init(&text, 1 << 20);
    while (text.len < 30000)
        ck_assert_int_eq(dg_buf_append_cstr(&text, "le chat dort, il pleut "), DG_OK);
    run(dg_buf_span(&text), &how, &seen);
    ck_assert_int_eq(seen.err, DG_OK);
    ck_assert_uint_gt(seen.n, 10);
    for (size_t i = 0; i < seen.n; i++) { /* only blanks between two parts */
        for (; end < seen.at[i]; end++)
            ck_assert_int_eq(text.ptr[end], ' ');
        end = seen.at[i] + seen.len[i];
    }
    ck_assert_uint_ge(end + 1, text.len);
    dg_buf_deinit(&seen.text);
    dg_buf_deinit(&text);
    tear_down();
}
END_TEST

/* Lines in which no sentence ends: words, letters, characters that the model does not know,
 * blanks. Whatever must be kept whole, one turn cuts little, and in the end everything is cut. */
START_TEST(a_line_without_an_end_is_cut_a_little_at_a_time)
{
    enum { LITTLE = 2 * 8192 };
    static const char *const words[] = {"le petit chat ", "abcde", "\xe6\x88\x91\xe4\xbb\xac",
                                        "   ", "le chat, "};
    static struct seen seen;
    set_up();
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (int routing = 0; routing < 3; routing++) {
            struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
            struct dg_buf text;
            uint64_t id;
            dg_buf_init(&text, 1 << 20);
            while (text.len < 20000)
                ck_assert_int_eq(dg_buf_append_cstr(&text, words[i]), DG_OK);
            how.text = dg_buf_span(&text);
            how.keep_lines_whole = routing == 1;
            how.join_lines = routing == 2;
            seen = (struct seen){.n = 0};
            dg_buf_init(&seen.text, 1 << 24);
            ck_assert_int_eq(dg_engine_submit(engine, &how, &events, &seen, NULL, NULL, &id),
                             DG_OK);
            ck_assert_uint_le(
                DG_LIST_ITEM(engine->tasks.going.next, struct dg_request, task.link)->cut_at,
                LITTLE);
            ck_assert(dg_engine_cancel(engine, id));
            while (dg_engine_poll(engine), !seen.is_done)
                sem_wait(&woken);
            dg_buf_deinit(&seen.text);
            run(dg_buf_span(&text), &how, &seen);
            ck_assert_int_eq(seen.err, DG_OK);
            ck_assert(seen.n > 1 || i == 3);
            /* one after the other, blanks between them */
            for (size_t k = 0; k + 1 < seen.n; k++) {
                ck_assert_uint_le(seen.at[k] + seen.len[k], seen.at[k + 1]);
                ck_assert_uint_le(seen.at[k + 1], seen.at[k] + seen.len[k] + 1);
            }
            ck_assert(i != 3 || dg_span_eq(dg_buf_span(&seen.text), dg_buf_span(&text)));
            dg_buf_deinit(&seen.text);
            dg_buf_deinit(&text);
        }
    tear_down();
}
END_TEST

START_TEST(a_long_text_can_be_cancelled_while_it_is_cut_and_delays_nobody)
{
    static struct seen seen, small;
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_buf text;
    uint64_t id;
    set_up();
    dg_buf_init(&text, 4 << 20);
    write_text(&text, 2 << 20, 9);
    how.text = dg_buf_span(&text);
    seen = (struct seen){.n = 0};
    dg_buf_init(&seen.text, 1 << 24);
    how.priority = DG_PRIORITY_BULK;
    ck_assert_int_eq(dg_engine_submit(engine, &how, &events, &seen, NULL, NULL, &id), DG_OK);
    how = (struct dg_engine_request)DG_ENGINE_REQUEST_DEFAULT;
    how.no_cache = true;
    run(DG_SPAN("Bonjour."), &how, &small); /* is answered when the other one has hardly begun */
    ck_assert_int_eq(small.err, DG_OK);
    ck_assert(!seen.is_done);
    ck_assert(dg_engine_cancel(engine, id));
    while (dg_engine_poll(engine), !seen.is_done)
        sem_wait(&woken);
    ck_assert_int_eq(seen.err, DG_ERR_CANCELLED);
    dg_buf_deinit(&seen.text);
    dg_buf_deinit(&small.text);
    dg_buf_deinit(&text);
    tear_down();
}
END_TEST

/* A page of many stretches gives for each paragraph what that paragraph gives alone, with its
 * markup in place. */
START_TEST(a_long_page_is_cut_in_stretches_and_keeps_its_markup)
{
    static struct seen alone, seen;
    static const char paragraph[] =
        "<p class=\"a\">Merci <b>beaucoup</b> &amp; bonne nuit.</p>\n<!-- x -->";
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_engine_memory memory;
    struct dg_buf page;
    enum { N = 300 };
    set_up();
    how.format = DG_DOC_HTML;
    dg_buf_init(&page, 1 << 20);
    run(dg_span_cstr(paragraph), &how, &alone);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(dg_buf_append_cstr(&page, paragraph), DG_OK);
    run(dg_buf_span(&page), &how, &seen);
    ck_assert_int_eq(seen.err, DG_OK);
    ck_assert_uint_eq(seen.n, N * alone.n);
    ck_assert_uint_eq(seen.text.len, N * alone.text.len);
    for (size_t i = 0; i < N; i++)
        ck_assert(
            dg_span_eq(dg_span_sub(dg_buf_span(&seen.text), i * alone.text.len, alone.text.len),
                       dg_buf_span(&alone.text)));
    dg_engine_read_memory(engine, &memory);
    ck_assert_uint_eq(memory.texts, 0); /* markup is counted when it comes and when it goes */
    dg_buf_deinit(&alone.text);
    dg_buf_deinit(&seen.text);
    dg_buf_deinit(&page);
    tear_down();
}
END_TEST

/* Writes a hundred kilobytes of markup around a sentence or two. */
static void write_page(struct dg_buf *page, const char *text)
{
    dg_buf_init(page, 1 << 20);
    ck_assert_int_eq(dg_buf_append_cstr(page, "<p>"), DG_OK);
    ck_assert_int_eq(dg_buf_append_cstr(page, text), DG_OK);
    ck_assert_int_eq(dg_buf_append_cstr(page, "</p>"), DG_OK);
    while (page->len < 100 * 1000)
        ck_assert_int_eq(dg_buf_append_cstr(page, "<hr class=\"wide\"><!-- nothing -->\n"), DG_OK);
}

START_TEST(much_markup_is_read_beside_and_comes_back)
{
    static struct seen seen;
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_engine_memory memory;
    struct dg_buf page;
    /* when submit returns, the caller may change what the options point to */
    char tags[] = "x, y";
    uint64_t id;
    set_up();
    write_page(&page, "Merci <b>beaucoup</b>.");
    how.format = DG_DOC_HTML;
    run(dg_buf_span(&page), &how, &seen);
    ck_assert_int_eq(seen.err, DG_OK);
    ck_assert_uint_eq(seen.n, 1);
    ck_assert(dg_span_starts(dg_buf_span(&seen.text), DG_SPAN("<p>")));
    ck_assert(
        dg_span_ends(dg_buf_span(&seen.text), dg_span_sub(dg_buf_span(&page), 100, SIZE_MAX)));
    dg_buf_deinit(&seen.text);

    how.format = DG_DOC_XML;
    how.doc.ignore_tags = dg_span_cstr(tags);
    seen = (struct seen){.n = 0};
    dg_buf_init(&seen.text, 1 << 20);
    ck_assert_int_eq(dg_engine_submit(engine, &how, &events, &seen, NULL, NULL, &id), DG_OK);
    memset(tags, 'z', sizeof tags);
    ck_assert(dg_engine_cancel(engine, id));
    while (dg_engine_poll(engine), !seen.is_done)
        sem_wait(&woken);
    ck_assert_int_eq(seen.err, DG_ERR_CANCELLED);
    dg_buf_deinit(&seen.text);
    dg_engine_read_memory(engine, &memory);
    ck_assert_uint_eq(memory.texts, 0);

    dg_buf_init(&seen.text, 1 << 20);
    ck_assert_int_eq(dg_engine_submit(engine, &how, &events, &seen, NULL, NULL, NULL),
                     /* ends with the engine */
                     DG_OK);
    tear_down();
    dg_buf_deinit(&seen.text);
    dg_buf_deinit(&page);
}
END_TEST

START_TEST(much_that_is_no_document_is_refused_with_its_line)
{
    static struct seen seen;
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_buf file;
    set_up();
    dg_buf_init(&file, 1 << 20);
    while (file.len < 100 * 1000)
        ck_assert_int_eq(dg_buf_append_cstr(&file, "msgid \"Merci.\"\nmsgstr \"\"\n\n"), DG_OK);
    ck_assert_int_eq(dg_buf_append_cstr(&file, "nonsense\n"), DG_OK);
    how.format = DG_DOC_PO;
    run(dg_buf_span(&file), &how, &seen);
    ck_assert_int_eq(seen.err, DG_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(seen.error, "line"));
    dg_buf_deinit(&seen.text);
    dg_buf_deinit(&file);
    tear_down();
}
END_TEST

DG_UNIT_SLOW(much_markup_is_read_beside_and_comes_back,
             much_that_is_no_document_is_refused_with_its_line,
             a_long_page_is_cut_in_stretches_and_keeps_its_markup,
             stretches_have_the_sentences_of_the_whole, what_has_nothing_to_cut_comes_to_an_end_too,
             a_sentence_longer_than_a_stretch_is_cut_and_joined,
             a_line_without_an_end_is_cut_a_little_at_a_time,
             a_long_text_can_be_cancelled_while_it_is_cut_and_delays_nobody)
