/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What is read from columns and from JSON, what is refused and what is dropped; no held-out text
 * leaks. */
#include "base/file/file_out.h"
#include "base/memory/buf.h"
#include "train/data/labelled_data.h"
#include "tmpdir.h"
#include "unit.h"

#include <stdio.h>

static char dir[DG_TMPDIR_CAP];

/* Reads `text` as a file of that name into `lessons`, which it initialises. */
static enum dg_err read_as(struct dg_labelled_data *labelled_data, enum dg_labelled_text_kind kind,
                           const char *name, const char *text, struct dg_error *error)
{
    const struct dg_labelled_data_opts opts = {.kind = kind, .len_max = 60};
    char path[DG_TMPDIR_CAP + 32];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    ck_assert_int_eq(dg_file_out_save(path, 0644, text, strlen(text), NULL), DG_OK);
    dg_labelled_data_init(labelled_data, &opts);
    return dg_labelled_data_read(labelled_data, path, error);
}

static bool is(struct dg_span text, const char *expected)
{
    return dg_span_eq(text, dg_span_cstr(expected));
}

START_TEST(columns_and_json_say_the_same)
{
    static const struct {
        enum dg_labelled_text_kind kind;
        const char *columns, *json;
    } cases[] = {
        {DG_LESSON_WORDS, "one\ttwo\n\nthree\n",
         "{\"text\": \"one\"}\n{\"text\": \"two\"}\n{\"text\": \" three \"}\n"},
        {DG_LESSON_LABEL, "x\tone\ny\tone\ttwo\r\n",
         "{\"label\": \"x\", \"text\": \"one\"}\n"
         "{\"label\": \"y\", \"text\": \"one\", \"pair\": \"two\"}\n"},
        {DG_LESSON_LABELS, "b| a |b\tone\na\ttwo\tthree\n \tfour\r\n",
         "{\"labels\": [\"a\", \"b\"], \"text\": \"one\"}\n{\"label\": \"a\", \"text\": \"two\", "
         "\"pair\": \"three\"}\n"
         "{\"labels\": [], \"text\": \"four\"}\n"},
        {DG_LESSON_NUMBER, "one\ttwo\t0.25\nthree\t-40\n",
         "{\"text\": \"one\", \"pair\": \"two\", \"score\": 0.25, \"id\": 7}\n"
         "{\"text\": \"three\", \"score\": -4e1}\n"},
        {DG_LESSON_TAGS, "Anna\tB-PER\nruns\tO\n\n\nno\tO",
         "{\"words\": [\"Anna\", \"runs\"], \"labels\": [\"B-PER\", \"O\"]}\n"
         "{\"words\": [\"no\"], \"labels\": [\"O\"]}\n"},
        {DG_LESSON_ANSWER, "who?\ta b a\ta\t4\nwhy?\ta b\t\n",
         "{\"question\": \"who?\", \"context\": \"a b a\", \"answer\": \"a\", "
         "\"start\": 4}\n{\"question\": \"why?\", \"context\": \"a b\"}\n"},
    };
    dg_tmpdir_make(dir);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct dg_labelled_data a, b;
        struct dg_error error = DG_ERROR_NONE;
        ck_assert_msg(!read_as(&a, cases[c].kind, "a.tsv", cases[c].columns, &error), "%s",
                      error.text);
        ck_assert_msg(!read_as(&b, cases[c].kind, "b.jsonl", cases[c].json, &error), "%s",
                      error.text);
        ck_assert_uint_eq(a.n, b.n);
        ck_assert_uint_gt(a.n, 0);
        for (size_t i = 0; i < a.n; i++) {
            const struct dg_labelled_text *x = &a.list[i], *y = &b.list[i];
            ck_assert(dg_span_eq(x->text, y->text) && dg_span_eq(x->pair, y->pair) &&
                      dg_span_eq(x->label, y->label));
            ck_assert(x->has_pair == y->has_pair && x->has_answer == y->has_answer &&
                      x->number == y->number);
            ck_assert(x->answer_at == y->answer_at && x->answer_len == y->answer_len &&
                      x->n_words == y->n_words);
            ck_assert_uint_eq(x->n_tags, y->n_tags);
            for (size_t j = 0; j < x->n_words; j++)
                ck_assert(dg_span_eq(x->words[j], y->words[j]));
            for (size_t j = 0; j < x->n_tags; j++)
                ck_assert(dg_span_eq(x->tags[j], y->tags[j]));
        }
        if (cases[c].kind == DG_LESSON_LABELS) {
            ck_assert_uint_eq(a.list[0].n_tags, 2);
            ck_assert(is(a.list[0].tags[0], "a") && is(a.list[0].tags[1], "b"));
            ck_assert(a.list[1].has_pair && a.list[1].n_tags == 1 && a.list[2].n_tags == 0);
        }
        if (cases[c].kind == DG_LESSON_ANSWER) {
            ck_assert_uint_eq(a.list[0].answer_at, 4);
            ck_assert(!a.list[1].has_answer);
        }
        dg_labelled_data_deinit(&a);
        dg_labelled_data_deinit(&b);
    }
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(what_is_no_lesson_is_refused_with_its_line)
{
    static const struct {
        enum dg_labelled_text_kind kind;
        const char *name, *text, *words;
    } cases[] = {
        {DG_LESSON_LABEL, "a.tsv", "x\ty\nalone\n", "a.tsv, line 2: expected label<TAB>text"},
        {DG_LESSON_LABEL, "a.tsv", "\ty\n", "line 1: expected a label"},
        {DG_LESSON_LABEL, "a.tsv", "a\tb\tc\td\n", "line 1: expected label<TAB>text"},
        {DG_LESSON_LABELS, "a.tsv", "alone\n", "line 1: expected label|label|...<TAB>text"},
        {DG_LESSON_LABELS, "a.tsv", "a||b\tone\n",
         "line 1: expected a label before, between and behind the bars"},
        {DG_LESSON_LABELS, "a.tsv", "a|\tone\n",
         "line 1: expected a label before, between and behind the bars"},
        {DG_LESSON_LABELS, "a.jsonl", "{\"labels\": \"a\", \"text\": \"one\"}\n", "'labels'"},
        {DG_LESSON_LABELS, "a.jsonl", "{\"labels\": [\"a\", 1], \"text\": \"one\"}\n", "labels[]"},
        {DG_LESSON_LABELS, "a.jsonl", "{\"labels\": [\"a\", \" \"], \"text\": \"one\"}\n",
         "label 1 is empty"},
        {DG_LESSON_LABELS, "a.jsonl", "{\"text\": \"one\"}\n", "'label'"},
        {DG_LESSON_NUMBER, "a.tsv", "a\tb\tnan\n", "expected text<TAB>a number"},
        {DG_LESSON_NUMBER, "a.tsv", "a\tb\t-1e9\n", "expected text<TAB>a number"},
        {DG_LESSON_NUMBER, "a.tsv", "a\tb\t1\t2\n", "expected text<TAB>a number"},
        {DG_LESSON_TAGS, "a.tsv", "word\n", "line 1: expected word<TAB>label"},
        {DG_LESSON_ANSWER, "a.tsv", "q\tc\ta\tx\n", "where it begins"},
        {DG_LESSON_WORDS, "a.jsonl", "{\"text\": 1}\n", "line 1: "},
        {DG_LESSON_WORDS, "a.jsonl", "{\n", "line 1: "},
        {DG_LESSON_NUMBER, "a.jsonl", "{\"text\": \"a\"}\n", "'score'"},
        {DG_LESSON_NUMBER, "a.ndjson", "{\"text\": \"a\", \"pair\": \"b\", \"score\": 2e9}\n",
         "line 1: "},
        {DG_LESSON_TAGS, "a.jsonl", "{\"words\": [\"a\"], \"labels\": []}\n",
         "1 words and 0 labels"},
        {DG_LESSON_TAGS, "a.jsonl", "{\"words\": [\" \"], \"labels\": [\"O\"]}\n",
         "word or label 0 is empty"},
    };
    dg_tmpdir_make(dir);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct dg_labelled_data labelled_data;
        struct dg_error error = DG_ERROR_NONE;
        ck_assert_int_ne(
            read_as(&labelled_data, cases[c].kind, cases[c].name, cases[c].text, &error), DG_OK);
        ck_assert_msg(strstr(error.text, cases[c].words) != NULL, "%s", error.text);
        dg_labelled_data_deinit(&labelled_data);
    }
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(what_is_dropped_is_counted)
{
    static const char text[] =
        "who?\tit was me\tyou\n" /* not there */
        "who?\tit was me\tme\n"
        "who?\tit was me\tme\n"    /* twice */
        "who?\tit was me\tit\t3\n" /* not there */
        "\tit was me\tme\n"
        "wh\xff\tit was me\tme\n"
        "why?\tit was somebody whom nobody knew and who was not seen again later\t\n";
    struct dg_labelled_data labelled_data;
    dg_tmpdir_make(dir);
    ck_assert_int_eq(read_as(&labelled_data, DG_LESSON_ANSWER, "a.tsv", text, NULL), DG_OK);
    ck_assert_uint_eq(labelled_data.n, 1);
    ck_assert_uint_eq(labelled_data.list[0].answer_at, 7);
    ck_assert_uint_eq(labelled_data.dropped[DG_DROP_NO_ANSWER], 2);
    ck_assert_uint_eq(labelled_data.dropped[DG_DROP_DUPLICATE], 1);
    ck_assert_uint_eq(labelled_data.dropped[DG_DROP_EMPTY_TEXT], 1);
    ck_assert_uint_eq(labelled_data.dropped[DG_DROP_NOT_UTF8], 1);
    ck_assert_uint_eq(labelled_data.dropped[DG_DROP_LONG], 1);
    for (int i = 0; i < DG_N_DROPS; i++)
        ck_assert_uint_gt(strlen(dg_drop_text((enum dg_drop)i)), 0);
    dg_labelled_data_deinit(&labelled_data);
    dg_tmpdir_remove(dir);
}
END_TEST

/* Ten contexts with ten questions each: a context is held out with all of its questions or not at
 * all. */
START_TEST(what_is_held_out_is_held_out_together)
{
    struct dg_labelled_data labelled_data, others;
    struct dg_buf text;
    size_t n_held = 0;
    dg_tmpdir_make(dir);
    dg_buf_init(&text, 1 << 16);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(dg_buf_printf(&text, "question %d\tcontext %d\tcontext\n", i, i / 2),
                         DG_OK);
    ck_assert_int_eq(dg_buf_append_byte(&text, '\0'), DG_OK);
    ck_assert_int_eq(read_as(&labelled_data, DG_LESSON_ANSWER, "a.tsv", text.ptr, NULL), DG_OK);
    ck_assert_int_eq(dg_labelled_data_hold_out(&labelled_data, 1000, 7, &n_held), DG_OK);
    ck_assert_uint_eq(labelled_data.n, 100);
    ck_assert_uint_eq(n_held, 10);
    for (size_t i = 0; i < n_held; i++)
        for (size_t j = n_held; j < labelled_data.n; j++)
            ck_assert(!dg_span_eq(labelled_data.list[i].pair, labelled_data.list[j].pair));
    /* The same rule with held-out texts in a file of their own. */
    ck_assert_int_eq(
        read_as(&others, DG_LESSON_ANSWER, "b.tsv", "other?\tcontext 3\tcontext\n", NULL), DG_OK);
    ck_assert_int_eq(dg_labelled_data_forbid(&labelled_data, others.list, others.n), DG_OK);
    ck_assert_uint_eq(labelled_data.n, 98);
    ck_assert_uint_eq(labelled_data.dropped[DG_DROP_LEAK], 2);
    ck_assert(is(others.list[0].pair, "context 3"));
    dg_labelled_data_deinit(&others);
    dg_labelled_data_deinit(&labelled_data);
    dg_buf_deinit(&text);
    dg_tmpdir_remove(dir);
}
END_TEST

DG_UNIT(columns_and_json_say_the_same, what_is_no_lesson_is_refused_with_its_line,
        what_is_dropped_is_counted, what_is_held_out_is_held_out_together)
