/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Which lines become pairs, which are dropped, and for what reason; no held-out pair leaks. The
 * reader of texts, plain and gzip, is tested as well. */
#include "base/file/file_out.h"
#include "train/data/pairs.h"
#include "tmpdir.h"
#include "unit.h"

#include <stdio.h>
#include <zlib.h>

static void write_text(const char *path, const char *text, bool gzip)
{
    if (!gzip) {
        ck_assert_int_eq(dg_file_out_save(path, 0644, text, strlen(text), NULL), DG_OK);
        return;
    }
    gzFile file = gzopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_gt(gzwrite(file, text, (unsigned)strlen(text)), 0);
    ck_assert_int_eq(gzclose(file), Z_OK);
}

START_TEST(every_reason_is_counted)
{
    static const char text[] =
        "Bonjour.\tHello.\r\n"
        "no tab\n"
        "\tempty\n"
        "12 !\t12 !\n"
        "bad \xff\tbytes\n"
        "Bonjour.\tHello.\n"
        "a\tthis is very much longer than the other side could ever be, by a factor of ten\n"
        "  Merci. \t Thanks. \tremark\n"
        "\xd0\x94\xd0\xb0\tYes";
    char dir[DG_TMPDIR_CAP], path[300];
    const struct dg_pairs_opts opts = DG_PAIRS_OPTS_DEFAULT;
    dg_tmpdir_make(dir);
    for (int gzip = 0; gzip < 2; gzip++) {
        struct dg_pairs pairs;
        struct dg_error error = DG_ERROR_NONE;
        snprintf(path, sizeof path, "%s/pairs%d", dir, gzip);
        write_text(path, text, gzip);
        dg_pairs_init(&pairs, &opts);
        ck_assert_msg(dg_pairs_read(&pairs, path, &error) == DG_OK, "%s", error.text);
        ck_assert_uint_eq(pairs.n_lines, 9);
        ck_assert_uint_eq(pairs.n, 3);
        ck_assert(dg_span_eq(pairs.list[1].source, DG_SPAN("Merci.")));
        ck_assert(dg_span_eq(pairs.list[1].target, DG_SPAN("Thanks.")));
        for (int i = 0; i < DG_N_DROPS; i++)
            ck_assert_uint_eq(pairs.dropped[i],
                              i != DG_DROP_LONG && i != DG_DROP_LEAK && i != DG_DROP_SCRIPT &&
                                  i != DG_DROP_EMPTY_TEXT && i != DG_DROP_NO_ANSWER);
        dg_pairs_deinit(&pairs);
    }
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(gzip_that_ends_too_early_is_refused)
{
    char dir[DG_TMPDIR_CAP], path[300], cut[300];
    struct dg_text_in in;
    struct dg_map_file file;
    struct dg_error error = DG_ERROR_NONE;
    dg_tmpdir_make(dir);
    snprintf(path, sizeof path, "%s/whole.gz", dir);
    snprintf(cut, sizeof cut, "%s/cut.gz", dir);
    write_text(path, "some text\tthat is long enough to be cut\n", true);
    ck_assert_int_eq(dg_map_file_open(&file, path, 1 << 20, NULL), DG_OK);
    ck_assert_int_eq(dg_file_out_save(cut, 0644, file.bytes, file.len - 12, NULL), DG_OK);
    dg_map_file_close(&file);
    ck_assert_int_eq(dg_text_in_open(&in, cut, &error), DG_ERR_TRUNCATED);
    ck_assert_ptr_nonnull(strstr(error.text, "ends too early"));
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(nothing_held_out_is_left_among_the_rest)
{
    char dir[DG_TMPDIR_CAP], path[300], text[8000] = "";
    const struct dg_pairs_opts opts = DG_PAIRS_OPTS_DEFAULT;
    struct dg_pairs pairs;
    size_t n_held = 0, len = 0;
    for (int i = 0; i < 200; i++) /* every source and every target occurs more than once */
        len += (size_t)snprintf(text + len, sizeof text - len, "source %d\ttarget %d\n", i % 50,
                                i % 70);
    dg_tmpdir_make(dir);
    snprintf(path, sizeof path, "%s/pairs", dir);
    write_text(path, text, false);
    dg_pairs_init(&pairs, &opts);
    ck_assert_int_eq(dg_pairs_read(&pairs, path, NULL), DG_OK);
    ck_assert_int_eq(dg_pairs_hold_out(&pairs, 5, 1, &n_held), DG_OK);
    ck_assert_uint_eq(n_held, 5);
    ck_assert_uint_gt(pairs.n, n_held);
    ck_assert_uint_gt(pairs.dropped[DG_DROP_LEAK], 0);
    for (size_t i = 0; i < n_held; i++)
        for (size_t j = n_held; j < pairs.n; j++) {
            ck_assert(!dg_span_eq(pairs.list[i].source, pairs.list[j].source));
            ck_assert(!dg_span_eq(pairs.list[i].target, pairs.list[j].target));
        }
    dg_pairs_deinit(&pairs);
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(a_file_without_pairs_is_refused)
{
    char dir[DG_TMPDIR_CAP], path[300];
    const struct dg_pairs_opts opts = DG_PAIRS_OPTS_DEFAULT;
    struct dg_pairs pairs;
    struct dg_error error = DG_ERROR_NONE;
    dg_tmpdir_make(dir);
    snprintf(path, sizeof path, "%s/pairs", dir);
    write_text(path, "one\ntwo\n", false);
    dg_pairs_init(&pairs, &opts);
    ck_assert_int_eq(dg_pairs_read(&pairs, path, &error), DG_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error.text, "none of its 2 lines has a tab"));
    dg_pairs_deinit(&pairs);
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(two_files_are_joined_line_for_line)
{
    char dir[DG_TMPDIR_CAP], source[300], target[300];
    const struct dg_pairs_opts opts = DG_PAIRS_OPTS_DEFAULT;
    struct dg_pairs pairs;
    struct dg_error error = DG_ERROR_NONE;
    dg_tmpdir_make(dir);
    snprintf(source, sizeof source, "%s/source", dir);
    snprintf(target, sizeof target, "%s/target", dir);
    write_text(source, "un\tdeux\ntrois\n\nquatre\n", true);
    write_text(target, "one two\nthree\nnothing\nfour", false);
    dg_pairs_init(&pairs, &opts);
    ck_assert_msg(dg_pairs_read_two(&pairs, source, target, &error) == DG_OK, "%s", error.text);
    ck_assert_uint_eq(pairs.n, 3);
    ck_assert_uint_eq(pairs.dropped[DG_DROP_EMPTY_SIDE], 1);
    ck_assert(dg_span_eq(pairs.list[0].source, DG_SPAN("un deux")));
    ck_assert(dg_span_eq(pairs.list[2].target, DG_SPAN("four")));
    dg_pairs_deinit(&pairs);
    dg_pairs_init(&pairs, &opts);
    write_text(target, "one two\nthree\n", false);
    ck_assert_int_eq(dg_pairs_read_two(&pairs, source, target, &error), DG_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error.text, "ends after 2 lines"));
    dg_pairs_deinit(&pairs);
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(pairs_in_another_script_are_left_out)
{
    char dir[DG_TMPDIR_CAP], path[300];
    struct dg_pairs_opts opts = DG_PAIRS_OPTS_DEFAULT;
    struct dg_pairs pairs;
    opts.source_script = dg_script_find("Latn");
    opts.target_script = dg_script_find("Jpan");
    ck_assert_int_ne(opts.source_script, DG_SCRIPT_ANY);
    ck_assert_int_eq(dg_script_find("nothing of the kind"), DG_SCRIPT_ANY);
    dg_tmpdir_make(dir);
    snprintf(path, sizeof path, "%s/pairs", dir);
    write_text(path,
               "Hello 12\t\xe6\x97\xa5\xe6\x9c\xac\xe3\x81\xa7 CD\n"
               "Hello\tBonjour\n"
               "\xd0\x94\xd0\xb0\t\xe6\x97\xa5\n",
               false);
    dg_pairs_init(&pairs, &opts);
    ck_assert_int_eq(dg_pairs_read(&pairs, path, NULL), DG_OK);
    ck_assert_uint_eq(pairs.n, 1);
    ck_assert_uint_eq(pairs.dropped[DG_DROP_SCRIPT], 2);
    dg_pairs_deinit(&pairs);
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(a_sample_is_drawn_and_repeats_what_is_too_few)
{
    char dir[DG_TMPDIR_CAP], path[300];
    const struct dg_pairs_opts opts = DG_PAIRS_OPTS_DEFAULT;
    struct dg_pairs pairs;
    dg_tmpdir_make(dir);
    snprintf(path, sizeof path, "%s/pairs", dir);
    write_text(path, "a\ta\nb\tb\nc\tc\nd\td\n", false);
    dg_pairs_init(&pairs, &opts);
    ck_assert_int_eq(dg_pairs_read(&pairs, path, NULL), DG_OK);
    ck_assert_int_eq(dg_pairs_sample(&pairs, 3, 1), DG_OK);
    ck_assert_uint_eq(pairs.n, 3);
    ck_assert(!dg_span_eq(pairs.list[0].source, pairs.list[1].source));
    ck_assert_int_eq(dg_pairs_sample(&pairs, 7, 1), DG_OK);
    ck_assert_uint_eq(pairs.n, 7);
    ck_assert(dg_span_eq(pairs.list[0].source, pairs.list[6].source));
    dg_pairs_deinit(&pairs);
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(texts_are_lines_and_duplicates_are_found_among_them)
{
    char dir[DG_TMPDIR_CAP], path[300];
    struct dg_pairs_opts opts = DG_PAIRS_OPTS_DEFAULT;
    struct dg_pairs pairs;
    size_t n_held;
    opts.lines = true;
    opts.len_max = 30;
    dg_tmpdir_make(dir);
    snprintf(path, sizeof path, "%s/texts", dir);
    write_text(path,
               "A line.\n  A\ttab. \n\nA line.\n12\nbad \xff\nvery much longer than thirty "
               "characters\nLast",
               false);
    dg_pairs_init(&pairs, &opts);
    ck_assert_int_eq(dg_pairs_read(&pairs, path, NULL), DG_OK);
    ck_assert_uint_eq(pairs.n, 3);
    ck_assert(dg_span_eq(pairs.list[1].target, DG_SPAN("A\ttab.")));
    ck_assert_uint_eq(pairs.list[1].source.len, 0);
    static const enum dg_drop drops[] = {DG_DROP_EMPTY_SIDE, DG_DROP_DUPLICATE, DG_DROP_NO_LETTERS,
                                         DG_DROP_NOT_UTF8, DG_DROP_LONG};
    for (size_t i = 0; i < sizeof drops / sizeof *drops; i++)
        ck_assert_uint_eq(pairs.dropped[drops[i]], 1);
    ck_assert_int_eq(dg_pairs_hold_out(&pairs, 1, 1, &n_held), DG_OK);
    ck_assert_uint_eq(pairs.n, 3); /* an empty source resembles no other */
    const struct dg_pair same = pairs.list[2];
    ck_assert_int_eq(dg_pairs_forbid(&pairs, &same, 1), DG_OK);
    ck_assert_uint_eq(pairs.n, 2);
    dg_pairs_deinit(&pairs);
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(json_lines_are_columns)
{
    static const char objects[] =
        "{\"source\": \"Un\\tdeux.\", \"id\": 7, \"target\": \"One two.\"}\n\n"
        "{\"target\": \"Three\\nlines.\", \"source\": \"Trois lignes.\"}\n";
    static const struct {
        const char *text, *says;
    } wrong[] = {{"{\"source\": \"a\"}\n", "line 1: field 'target'"},
                 {"{\"source\": \"a\", \"target\": 1}\n", "line 1: field 'target'"},
                 {"\n[1]\n", "line 2: read an array"},
                 {"{\"source\"\n", "line 1"}};
    char dir[DG_TMPDIR_CAP], path[300];
    const struct dg_pairs_opts opts = DG_PAIRS_OPTS_DEFAULT;
    dg_tmpdir_make(dir);
    for (int gzip = 0; gzip < 2; gzip++) {
        struct dg_pairs pairs;
        snprintf(path, sizeof path, "%s/pairs.%s", dir, gzip ? "ndjson.gz" : "jsonl");
        write_text(path, objects, gzip);
        dg_pairs_init(&pairs, &opts);
        ck_assert_int_eq(dg_pairs_read(&pairs, path, NULL), DG_OK);
        ck_assert_uint_eq(pairs.n, 2);
        ck_assert(dg_span_eq(pairs.list[0].source, DG_SPAN("Un deux.")));
        ck_assert(dg_span_eq(pairs.list[1].target, DG_SPAN("Three lines.")));
        dg_pairs_deinit(&pairs);
    }
    snprintf(path, sizeof path, "%s/wrong.jsonl", dir);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct dg_pairs pairs;
        struct dg_error error = DG_ERROR_NONE;
        write_text(path, wrong[i].text, false);
        dg_pairs_init(&pairs, &opts);
        ck_assert_int_ne(dg_pairs_read(&pairs, path, &error), DG_OK);
        ck_assert_msg(strstr(error.text, wrong[i].says), "\"%s\" does not say \"%s\"", error.text,
                      wrong[i].says);
        dg_pairs_deinit(&pairs);
    }
    dg_tmpdir_remove(dir);
}
END_TEST

DG_UNIT(two_files_are_joined_line_for_line, texts_are_lines_and_duplicates_are_found_among_them,
        json_lines_are_columns, pairs_in_another_script_are_left_out,
        a_sample_is_drawn_and_repeats_what_is_too_few, every_reason_is_counted,
        gzip_that_ends_too_early_is_refused, nothing_held_out_is_left_among_the_rest,
        a_file_without_pairs_is_refused)
