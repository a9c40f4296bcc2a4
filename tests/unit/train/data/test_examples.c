/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Labelled texts as ids: the tokens around texts, where texts are cut, which token has which label,
 * where an answer is. And the metrics of each task. */
#include "base/file/file_out.h"
#include "base/memory/mem.h"
#include "train/data/examples.h"
#include "tmpdir.h"
#include "train/data/corpus.h"
#include "train/run/task_metrics.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>

enum {
    CLS = 2,
    SEP = 3,
    A = 5
}; /* letters a to z are 5 to 30, their continuation pieces 31 to 56; then "." and "-" */

static struct dg_subword *subword;
static struct dg_labels labels;
static struct dg_blueprint bp;
static struct dg_corpus corpus;
static char dir[DG_TMPDIR_CAP];

static void open_vocab(void)
{
    char text[1024] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    size_t n = strlen(text);
    for (int c = 'a'; c <= 'z'; c++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%c\n", c);
    for (int c = 'a'; c <= 'z'; c++)
        n += (size_t)snprintf(text + n, sizeof text - n, "##%c\n", c);
    n += (size_t)snprintf(text + n, sizeof text - n, ".\n-\n");
    const struct dg_subword_files files = {
        .lines = {text, n}, .config = {"", 0}, .json = {"", 0}, .merges = {"", 0}};
    ck_assert_int_eq(dg_subword_parse(&subword, &files, NULL), DG_OK);
}

/* Opens the examples from a file's lessons for this head. */
static enum dg_err make_for(enum dg_head head, enum dg_label_rule rule, size_t len_max,
                            const char *text, struct dg_examples_stats *stats,
                            struct dg_error *error)
{
    char path[DG_TMPDIR_CAP + 16], ids[DG_TMPDIR_CAP + 16];
    struct dg_labelled_data labelled_data;
    bp = (struct dg_blueprint){.family = DG_FAMILY_ENC,
                               .encoder = {1, 1, 1, dg_subword_size(subword)},
                               .enc = {.head = head, .rule = rule, .n_types = 2, .separators = 1}};
    bp.decoder.V = head == DG_HEAD_SPANS      ? 2
                   : rule == DG_LABELS_NUMBER ? 1
                   : head == DG_HEAD_WORDS    ? bp.encoder.V
                                              : labels.n;
    const struct dg_labelled_data_opts opts = {.kind = dg_examples_kind(&bp)};
    const struct dg_examples_making making = {subword, &bp, &labels, len_max};
    snprintf(path, sizeof path, "%s/a.tsv", dir);
    snprintf(ids, sizeof ids, "%s/a.bin", dir);
    ck_assert_int_eq(dg_file_out_save(path, 0644, text, strlen(text), NULL), DG_OK);
    dg_labelled_data_init(&labelled_data, &opts);
    enum dg_err err = dg_labelled_data_read(&labelled_data, path, error);
    if (!err)
        err = dg_examples_write(ids, &making, labelled_data.list, labelled_data.n, stats, error);
    dg_labelled_data_deinit(&labelled_data);
    return err ? err : dg_corpus_open(&corpus, ids, &bp, error);
}

static enum dg_err make(enum dg_head head, bool is_number, size_t len_max, const char *text,
                        struct dg_examples_stats *stats, struct dg_error *error)
{
    return make_for(head, is_number ? DG_LABELS_NUMBER : DG_LABELS_ONE, len_max, text, stats,
                    error);
}

static enum dg_err make_of(enum dg_label_rule rule, size_t len_max, const char *text,
                           struct dg_examples_stats *stats, struct dg_error *error)
{
    return make_for(DG_HEAD_POOLED, rule, len_max, text, stats, error);
}

static void begin(void)
{
    dg_tmpdir_make(dir);
    open_vocab();
    dg_labels_init(&labels);
    static const char *const list[] = {"O", "B-PER", "I-PER", "x", "y"};
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(dg_labels_add(&labels, dg_span_cstr(list[i])), DG_OK);
}

static void end(void)
{
    dg_labels_close(&labels);
    dg_subword_close(subword);
    dg_tmpdir_remove(dir);
}

static void check_ids(size_t i, const char *letters, const int32_t *target, size_t n_target)
{
    const struct dg_example example = dg_corpus_get(&corpus, i);
    ck_assert_uint_eq(example.n_source, strlen(letters));
    for (size_t k = 0; k < example.n_source; k++) {
        const char c = letters[k];
        const int32_t id = c == '<'   ? CLS
                           : c == '|' ? SEP
                           : c == '.' ? 57
                           : c == '-' ? 58
                           : c >= 'a' ? A + c - 'a'
                                      : A + 26 + c - 'A';
        ck_assert_msg(example.source[k] == id, "example %zu, token %zu is %d, expected %d", i, k,
                      example.source[k], id);
    }
    ck_assert_uint_eq(example.n_target, n_target);
    ck_assert_mem_eq(example.target, target, n_target * sizeof *target);
}

START_TEST(texts_are_laid_out_and_cut_as_the_server_does)
{
    struct dg_examples_stats stats;
    begin();
    ck_assert_int_eq(make(DG_HEAD_POOLED, false, 8,
                          "y\ta b\nx\ta b\tc\nx\ta b c d e\tf\ny\ta b c d\tf g h i\n", &stats,
                          NULL),
                     DG_OK);
    check_ids(0, "<ab|", (int32_t[]){0, 4}, 2);
    check_ids(1, "<ab|c|", (int32_t[]){4, 3}, 2);
    check_ids(2, "<abcd|f|", (int32_t[]){6, 3}, 2);
    check_ids(3, "<abc|fg|", (int32_t[]){5, 4}, 2);
    ck_assert_uint_eq(stats.n_cut, 2);
    dg_corpus_close(&corpus);
    ck_assert_int_eq(make(DG_HEAD_POOLED, true, 8, "a\tb\t0.5\n", &stats, NULL), DG_OK);
    const struct dg_example number = dg_corpus_get(&corpus, 0);
    float value;
    memcpy(&value, &number.target[1], sizeof value);
    ck_assert_float_eq(value, 0.5f);
    dg_corpus_close(&corpus);
    ck_assert_int_eq(make_of(DG_LABELS_EACH, 8, "y|O|x\ta b\n\tc\td\nx\te\n", &stats, NULL), DG_OK);
    check_ids(0, "<ab|", (int32_t[]){0, 0, 3, 4}, 4);
    check_ids(1, "<c|d|", (int32_t[]){3}, 1);
    check_ids(2, "<e|", (int32_t[]){0, 3}, 2);
    dg_corpus_close(&corpus);
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(make_of(DG_LABELS_EACH, 8, "y|z\ta b\n", &stats, &error), DG_ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "\"z\" is none"));
    ck_assert_int_eq(make(DG_HEAD_WORDS, false, 5, "ab c d e f\n", &stats, NULL), DG_OK);
    check_ids(0, "<aBc|", (int32_t[]){0}, 1);
    check_ids(1, "<def|", (int32_t[]){0}, 1);
    dg_corpus_close(&corpus);
    end();
}
END_TEST

START_TEST(first_pieces_have_the_labels)
{
    struct dg_examples_stats stats;
    begin();
    ck_assert_int_eq(
        make(DG_HEAD_TOKENS, false, 12, "ab\tB-PER\na-b\tB-PER\nc\tI-PER\n.\tO\n", &stats, NULL),
        DG_OK);
    check_ids(0, "<aBa-bc.|", (int32_t[]){0, -1, 1, -1, 1, 2, 2, 2, 0, -1}, 10);
    dg_corpus_close(&corpus);
    /* A long sentence continues in the next example, at the beginning of a word. */
    ck_assert_int_eq(make(DG_HEAD_TOKENS, false, 6, "a\tO\nb\tO\ncde\tB-PER\n", &stats, NULL),
                     DG_OK);
    check_ids(0, "<ab|", (int32_t[]){0, -1, 0, 0, -1}, 5);
    check_ids(1, "<cDE|", (int32_t[]){0, -1, 1, -1, -1, -1}, 6);
    dg_corpus_close(&corpus);
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(make(DG_HEAD_TOKENS, false, 6, "a\tB-LOC\n", &stats, &error),
                     DG_ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "B-LOC"));
    end();
}
END_TEST

START_TEST(a_mark_of_its_own_has_the_label_of_the_word_behind_it)
{
    static const char json[] =
        "{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\xE2\x96\x81\"},\"model\":{"
        "\"unk_id\":3,"
        "\"vocab\":[[\"<s>\",0],[\"<pad>\",0],[\"</s>\",0],[\"<unk>\",0],[\"\xE2\x96\x81\",-1],"
        "[\"a\",-1],[\"b\",-1],[\"\xE2\x96\x81"
        "a\",-1]]}}";
    static const int32_t ids[] = {0, 4, 6, 7, 6, 4, 6, 2},
                         target[] = {0, -1, 1, -1, 0, -1, 2, -1, -1};
    struct dg_examples_stats stats;
    begin();
    dg_subword_close(subword);
    ck_assert_int_eq(
        dg_subword_parse(&subword, &(struct dg_subword_files){.json = dg_span_cstr(json)}, NULL),
        DG_OK);
    ck_assert_int_eq(make(DG_HEAD_TOKENS, false, 12, "b\tB-PER\nab\tO\nb\tI-PER\n", &stats, NULL),
                     DG_OK);
    const struct dg_example example = dg_corpus_get(&corpus, 0);
    ck_assert_uint_eq(example.n_source, sizeof ids / sizeof *ids);
    ck_assert_mem_eq(example.source, ids, sizeof ids);
    ck_assert_uint_eq(example.n_target, sizeof target / sizeof *target);
    ck_assert_mem_eq(example.target, target, sizeof target);
    dg_corpus_close(&corpus);
    end();
}
END_TEST

START_TEST(answers_go_where_they_stand)
{
    struct dg_examples_stats stats;
    begin();
    ck_assert_int_eq(
        make(DG_HEAD_SPANS, false, 12, "q\ta bc d e f\tbc d\nq\ta b\t\n", &stats, NULL), DG_OK);
    check_ids(0, "<q|abCdef|", (int32_t[]){3, 4, 6}, 3);
    check_ids(1, "<q|ab|", (int32_t[]){3, 0, 0}, 3);
    dg_corpus_close(&corpus);
    /* Windows of four tokens that share one; a window without the answer has none. */
    ck_assert_int_eq(make(DG_HEAD_SPANS, false, 8, "q\ta b c d e f g\tf\n", &stats, NULL), DG_OK);
    check_ids(0, "<q|abcd|", (int32_t[]){3, 0, 0}, 3);
    check_ids(1, "<q|defg|", (int32_t[]){3, 5, 5}, 3);
    dg_corpus_close(&corpus);
    ck_assert_int_eq(make(DG_HEAD_SPANS, false, 8, "a b c d\te f\te\n", &stats, NULL), DG_OK);
    ck_assert_uint_eq(stats.n_lost, 1);
    ck_assert_uint_eq(corpus.n, 0);
    dg_corpus_close(&corpus);
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(make(DG_HEAD_SPANS, false, 4, "a\tb\tb\n", &stats, &error), DG_ERR_RANGE);
    end();
}
END_TEST

START_TEST(a_damaged_file_is_refused)
{
    struct dg_examples_stats stats;
    begin();
    ck_assert_int_eq(make(DG_HEAD_SPANS, false, 12, "q\ta b\ta\n", &stats, NULL), DG_OK);
    dg_corpus_close(&corpus);
    char ids[DG_TMPDIR_CAP + 16];
    snprintf(ids, sizeof ids, "%s/a.bin", dir);
    for (int which = 0; which < 4; which++) {
        struct dg_blueprint other = bp;
        other.enc.head = which == 0   ? DG_HEAD_TOKENS
                         : which == 1 ? DG_HEAD_POOLED
                         : which == 2 ? DG_HEAD_WORDS
                                      : DG_HEAD_SPANS;
        other.enc.separators = which == 3 ? 2 : 1; /* the answer would begin before the text */
        ck_assert_int_eq(dg_corpus_open(&corpus, ids, &other, NULL), DG_ERR_FORMAT);
    }
    /* Three labels where only one may be right, and numbers without a label. */
    ck_assert_int_eq(make_of(DG_LABELS_EACH, 8, "y|O|x\ta b\n", &stats, NULL), DG_OK);
    dg_corpus_close(&corpus);
    bp.decoder.V = 4;
    ck_assert_int_eq(dg_corpus_open(&corpus, ids, &bp, NULL), DG_ERR_FORMAT);
    bp.decoder.V = 5;
    bp.enc.rule = DG_LABELS_ONE;
    ck_assert_int_eq(dg_corpus_open(&corpus, ids, &bp, NULL), DG_ERR_FORMAT);
    end();
}
END_TEST

/* Three texts with three labels: all labels of the first are right, the second lacks one, the third
 * has one too many. */
START_TEST(several_labels_are_tallied)
{
    struct dg_task_metrics *metrics = dg_try_calloc(1, sizeof *metrics),
                           *other = dg_try_calloc(1, sizeof *other);
    struct dg_validate_report report = {
        .f1 = -1.0, .macro_f1 = -1.0, .exact = -1.0, .correlation = NAN};
    ck_assert(metrics && other);
    bp = (struct dg_blueprint){.family = DG_FAMILY_ENC,
                               .enc = {.head = DG_HEAD_POOLED, .rule = DG_LABELS_EACH}};
    dg_task_metrics_add(
        metrics, &bp, NULL,
        (struct dg_pass_said[]){{1, 1, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}, 4);
    dg_task_metrics_add(
        metrics, &bp, NULL,
        (struct dg_pass_said[]){{0, 1, 0, 0}, {1, 1, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}, 4);
    dg_task_metrics_add(
        other, &bp, NULL,
        (struct dg_pass_said[]){{0, 0, 0, 0}, {1, 1, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 0}}, 4);
    dg_task_metrics_merge(metrics, other);
    dg_task_metrics_report(metrics, &bp, &report);
    ck_assert_double_eq_tol(report.accuracy, 100.0 / 3.0, 1e-9);
    /* Both have 3, the truth has 4, the answer has 4. By label: 2/3, 1, 0; the fourth does not
     * occur. */
    ck_assert_double_eq_tol(report.f1, 75.0, 1e-9);
    ck_assert_double_eq_tol(report.macro_f1, 100.0 * (2.0 / 3.0 + 1.0) / 3.0, 1e-9);
    ck_assert_str_eq(dg_validate_task(&report).name, "F1");
    dg_free(metrics);
    dg_free(other);
}
END_TEST

START_TEST(what_was_said_is_tallied)
{
    struct dg_task_metrics metrics = {0}, other = {0};
    struct dg_validate_report report = {.f1 = -1.0};
    begin();
    bp = (struct dg_blueprint){.family = DG_FAMILY_ENC, .enc = {.head = DG_HEAD_TOKENS}};
    /* true: PER(0-1) PER(3); said: PER(0-1) PER(2-3): words 2 and 3 are one entity */
    const struct dg_pass_said words[] = {{1, 1, 0, 0}, {2, 2, 0, 0}, {1, 0, 0, 0}, {2, 1, 0, 0}};
    dg_task_metrics_add(&metrics, &bp, &labels, words, 4);
    dg_task_metrics_report(&metrics, &bp, &report);
    ck_assert_double_eq_tol(report.accuracy, 50.0, 1e-9);
    ck_assert_double_eq_tol(report.f1, 50.0, 1e-9);
    metrics = (struct dg_task_metrics){0};
    bp.enc.head = DG_HEAD_SPANS;
    dg_task_metrics_add(&metrics, &bp, NULL, (struct dg_pass_said[]){{4, 4, 0, 0}, {5, 5, 0, 0}},
                        2);
    dg_task_metrics_add(&other, &bp, NULL, (struct dg_pass_said[]){{4, 5, 0, 0}, {5, 5, 0, 0}}, 2);
    dg_task_metrics_merge(&metrics, &other);
    dg_task_metrics_report(&metrics, &bp, &report);
    ck_assert_double_eq_tol(report.exact, 50.0, 1e-9);
    ck_assert_double_eq_tol(report.f1, 100.0 * (1.0 + 2.0 / 3.0) / 2.0, 1e-9);
    ck_assert_str_eq(dg_validate_task(&(struct dg_validate_report){
                                          .exact = 50.0, .f1 = 60.0, .correlation = NAN})
                         .name,
                     "exact");
    metrics = (struct dg_task_metrics){0};
    bp.enc = (struct dg_enc){.head = DG_HEAD_POOLED, .rule = DG_LABELS_NUMBER};
    for (int i = 0; i < 4; i++)
        dg_task_metrics_add(&metrics, &bp, NULL,
                            &(struct dg_pass_said){0, 0, (float)(2 * i), (float)(1 - i)}, 1);
    dg_task_metrics_report(&metrics, &bp, &report);
    ck_assert_double_eq_tol(report.correlation, -1.0, 1e-9);
    metrics = (struct dg_task_metrics){0};
    dg_task_metrics_add(&metrics, &bp, NULL, &(struct dg_pass_said){0, 0, 1.0f, 1.0f}, 1);
    dg_task_metrics_report(&metrics, &bp, &report);
    ck_assert_double_eq(report.correlation, 0.0);
    end();
}
END_TEST

DG_UNIT(texts_are_laid_out_and_cut_as_the_server_does, first_pieces_have_the_labels,
        a_mark_of_its_own_has_the_label_of_the_word_behind_it, answers_go_where_they_stand,
        a_damaged_file_is_refused, several_labels_are_tallied, what_was_said_is_tallied)
