/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The tokenizer with directories in the Marian and the plain layout; each test writes its own. */
#include "tokenize/tokenizer.h"

#include "unit.h"
#include "spm_maker.h"

#include <sys/stat.h>
#include <unistd.h>

#define MARK "\xE2\x96\x81"

static char dir[64];

static void in_dir(const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", dir, name);
}

static void write_file(const char *name, struct dg_span bytes)
{
    char path[128];
    in_dir(name, path);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes.ptr, 1, bytes.len, file), bytes.len);
    ck_assert_int_eq(fclose(file), 0);
}

static void enter_dir(void)
{
    snprintf(dir, sizeof dir, "/tmp/dragoman-tokenizer-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void leave_dir(void)
{
    static const char *const names[] = {"source.spm", "target.spm", "vocab.json",
                                        "target_vocab.json", "vocab.xxyy.spm"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        in_dir(names[i], path);
        unlink(path);
    }
    ck_assert_int_eq(rmdir(dir), 0);
}

static void write_model(const char *name, const char *first, const char *second)
{
    struct maker maker;
    maker_init(&maker);
    maker_piece(&maker, first, -1, DG_PIECE_NORMAL);
    maker_piece(&maker, second, -2, DG_PIECE_NORMAL);
    write_file(name, maker_file(&maker));
    maker_deinit(&maker);
}

static void write_marian(void)
{
    write_model("source.spm", MARK "un", "x");
    write_model("target.spm", MARK "one", "y");
    write_file("vocab.json",
               DG_SPAN("{\"</s>\": 0, \"<unk>\": 1, \"" MARK "un\": 2, \"" MARK "one\": 3,"
                       "\"y\": 5, \">>fra<<\": 4, \"<pad>\": 6}"));
}

static struct dg_tokenizer *open_dir(void)
{
    struct dg_tokenizer *tokenizer = NULL;
    struct dg_error error = DG_ERROR_NONE;
    enum dg_err err = dg_tokenizer_open(dir, &error, &tokenizer);
    ck_assert_msg(err == DG_OK, "%s", dg_error_text(&error, err));
    return tokenizer;
}

static void check_ids(const struct dg_tokenizer *tokenizer, const struct dg_tokenizer_opts *opts,
                      const char *text, const int32_t *expected, size_t n_expected)
{
    struct dg_tokenizer_work *work = dg_tokenizer_work_new();
    const struct dg_token *tokens;
    size_t n;
    ck_assert_int_eq(
        dg_tokenizer_encode(tokenizer, work, dg_span_cstr(text), opts, NULL, &tokens, &n), DG_OK);
    ck_assert_uint_eq(n, n_expected);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(tokens[i].id, expected[i]);
    dg_tokenizer_work_free(work);
}

#define CHECK_IDS(tokenizer, opts, text, ...)                                                      \
    check_ids(tokenizer, opts, text, (const int32_t[]){__VA_ARGS__},                               \
              sizeof((const int32_t[]){__VA_ARGS__}) / 4)

START_TEST(marian_ids_come_from_the_vocabulary)
{
    enter_dir();
    write_marian();
    struct dg_tokenizer *tokenizer = open_dir();
    struct dg_tokenizer_side side = dg_tokenizer_source(tokenizer);
    ck_assert_uint_eq(side.size, 7);
    ck_assert_int_eq(side.eos, 0);
    ck_assert_int_eq(side.unk, 1);
    ck_assert_int_eq(side.pad, 6);
    struct dg_tokenizer_opts opts = DG_TOKENIZER_OPTS_DEFAULT;
    CHECK_IDS(tokenizer, &opts, "un un", 2, 2, 0);
    CHECK_IDS(tokenizer, &opts, "un x", 2, 1, 1, 0); /* x and a bare mark: not in the vocabulary */
    CHECK_IDS(tokenizer, &opts, "uny", 2, 5, 0);     /* y: unknown to source.spm, but a word of the
                                                        vocabulary */
    CHECK_IDS(tokenizer, &opts, "", 0);
    opts.language = DG_SPAN("fra");
    CHECK_IDS(tokenizer, &opts, "un", 4, 2, 0);
    opts.language = (struct dg_span){0};
    opts.parse_language = true;
    CHECK_IDS(tokenizer, &opts, ">>fra<< un", 4, 2, 0);
    opts.language = DG_SPAN("deu");
    struct dg_tokenizer_work *work = dg_tokenizer_work_new();
    const struct dg_token *tokens;
    size_t n;
    ck_assert_int_eq(dg_tokenizer_encode(tokenizer, work, DG_SPAN("un"), &opts, NULL, &tokens, &n),
                     DG_ERR_NOT_FOUND);
    dg_tokenizer_work_free(work);
    dg_tokenizer_close(tokenizer);
    leave_dir();
}
END_TEST

START_TEST(marian_text_comes_from_either_model)
{
    enter_dir();
    write_marian();
    struct dg_tokenizer *tokenizer = open_dir();
    struct dg_buf out;
    dg_buf_init(&out, 1000);
    static const int32_t ids[] = {6, 3, 5, 4, 1, 2, 0};
    ck_assert_int_eq(dg_tokenizer_decode(tokenizer, ids, 7, &out), DG_OK);
    ck_assert(dg_span_eq(dg_buf_span(&out), DG_SPAN("oney un")));
    ck_assert_int_eq(dg_tokenizer_decode(tokenizer, (const int32_t[]){7}, 1, &out), DG_ERR_RANGE);
    ck_assert_int_eq(dg_tokenizer_decode(tokenizer, (const int32_t[]){-1}, 1, &out), DG_ERR_RANGE);
    ck_assert(dg_span_eq(dg_tokenizer_target_piece(tokenizer, 4), DG_SPAN(">>fra<<")));
    dg_buf_deinit(&out);
    dg_tokenizer_close(tokenizer);
    leave_dir();
}
END_TEST

/* Decoding drops the words for languages, but not similar words that are text. */
START_TEST(words_for_languages_are_dropped)
{
    struct maker maker;
    struct dg_buf out;
    enter_dir();
    maker_init(&maker);
    maker_piece(&maker, MARK "un", -1, DG_PIECE_NORMAL);
    maker_piece(&maker, "__init__", -2, DG_PIECE_NORMAL);
    maker_piece(&maker, "__en__", 0, DG_PIECE_USER_DEFINED);
    maker_piece(&maker, "<sep>", 0, DG_PIECE_USER_DEFINED);
    write_file("source.spm", maker_file(&maker));
    maker_deinit(&maker);
    write_file("vocab.json", DG_SPAN("{\"</s>\": 0, \"<unk>\": 1, \"" MARK
                                     "un\": 2, \"__init__\": 3, \"__en__\": 4, "
                                     "\"<sep>\": 5, \"__fr__\": 6}"));
    struct dg_tokenizer *tokenizer = open_dir();
    dg_buf_init(&out, 1000);
    ck_assert_int_eq(dg_tokenizer_decode(tokenizer, (const int32_t[]){4, 6, 2, 3, 5, 0}, 6, &out),
                     DG_OK);
    ck_assert_msg(dg_span_eq(dg_buf_span(&out), DG_SPAN("un__init__<sep>")), "%s", out.ptr);
    dg_buf_deinit(&out);
    dg_tokenizer_close(tokenizer);
    leave_dir();
}
END_TEST

START_TEST(vocabularies_may_be_separate)
{
    enter_dir();
    write_marian();
    write_file("target_vocab.json", DG_SPAN("{\"</s>\": 2, \"<unk>\": 1, \"" MARK "one\": 0}"));
    struct dg_tokenizer *tokenizer = open_dir();
    ck_assert_uint_eq(dg_tokenizer_target(tokenizer).size, 3);
    ck_assert_int_eq(dg_tokenizer_target(tokenizer).eos, 2);
    ck_assert_int_eq(dg_tokenizer_find(tokenizer, DG_SPAN(MARK "one")), 3);
    ck_assert_int_eq(dg_tokenizer_find_target(tokenizer, DG_SPAN(MARK "one")), 0);
    ck_assert_int_eq(dg_tokenizer_find_target(tokenizer, DG_SPAN("nothing")), -1);
    dg_tokenizer_close(tokenizer);
    leave_dir();
}
END_TEST

START_TEST(plain_ids_are_the_models_own)
{
    enter_dir();
    write_model("vocab.xxyy.spm", MARK "un", "x");
    struct dg_tokenizer *tokenizer = open_dir();
    struct dg_tokenizer_opts opts = DG_TOKENIZER_OPTS_DEFAULT;
    ck_assert_int_eq(dg_tokenizer_source(tokenizer).eos, 2);
    ck_assert_int_eq(dg_tokenizer_source(tokenizer).pad, -1);
    CHECK_IDS(tokenizer, &opts, "unx", 3, 4, 2);
    struct dg_buf out;
    dg_buf_init(&out, 1000);
    ck_assert_int_eq(dg_tokenizer_decode(tokenizer, (const int32_t[]){3, 4, 3, 2}, 4, &out), DG_OK);
    ck_assert(dg_span_eq(dg_buf_span(&out), DG_SPAN("unx un")));
    dg_buf_deinit(&out);
    dg_tokenizer_close(tokenizer);
    leave_dir();
}
END_TEST

static void check_refused(const char *words)
{
    struct dg_tokenizer *tokenizer = NULL;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_ne(dg_tokenizer_open(dir, &error, &tokenizer), DG_OK);
    ck_assert_msg(strstr(error.text, words) != NULL, "\"%s\" does not say \"%s\"", error.text,
                  words);
}

START_TEST(refuses_directories_with_a_sentence)
{
    enter_dir();
    check_refused("no tokenizer found");
    write_marian();
    write_file("vocab.json", DG_SPAN("{\"</s>\": 0, \"a\": 1}"));
    check_refused("\"<unk>\" is missing");
    write_file("vocab.json", DG_SPAN("{\"</s>\": 0, \"<unk>\": 0}"));
    check_refused("id 0 is given to two pieces");
    write_file("vocab.json", DG_SPAN("{\"</s>\": 0, \"<unk>\": -1}"));
    check_refused("<unk>");
    write_file("vocab.json", DG_SPAN("{\"</s>\": 0, \"<unk>\": 99999999999}"));
    check_refused("<unk>");
    write_file("vocab.json", DG_SPAN("[1, 2]"));
    check_refused("expected an object of pieces and their ids");
    write_file("source.spm", DG_SPAN("version https://git-lfs.github.com/spec/v1\n"));
    check_refused("source.spm");
    leave_dir();
}
END_TEST

DG_UNIT(marian_ids_come_from_the_vocabulary, marian_text_comes_from_either_model,
        words_for_languages_are_dropped, vocabularies_may_be_separate, plain_ids_are_the_models_own,
        refuses_directories_with_a_sentence)
