/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Labels of a classifier are written and read back; a wrong list is refused with its line. */
#include "model/labels.h"

#include "base/file/file_out.h"
#include "tmpdir.h"
#include "unit.h"

#include <stdio.h>

static enum dg_err put(const char *dir, const char *text)
{
    char path[DG_TMPDIR_CAP + 20];
    snprintf(path, sizeof path, "%s/labels.txt", dir);
    return dg_file_out_save(path, 0644, text, strlen(text), NULL);
}

START_TEST(labels_are_read_as_they_were_written)
{
    char dir[DG_TMPDIR_CAP];
    struct dg_labels made, read;
    size_t number;
    dg_tmpdir_make(dir);
    dg_labels_init(&made);
    ck_assert_int_eq(dg_labels_add(&made, DG_SPAN("good")), DG_OK);
    ck_assert_int_eq(dg_labels_add(&made, DG_SPAN("très mauvais")), DG_OK);
    ck_assert_int_eq(dg_labels_add(&made, DG_SPAN("good")), DG_OK); /* already in the list */
    ck_assert_uint_eq(made.n, 2);
    ck_assert_int_eq(dg_labels_save(&made, dir, NULL), DG_OK);
    ck_assert_int_eq(dg_labels_open(&read, dir, NULL), DG_OK);
    ck_assert_uint_eq(read.n, 2);
    ck_assert(dg_labels_find(&read, DG_SPAN("très mauvais"), &number));
    ck_assert_uint_eq(number, 1);
    ck_assert(!dg_labels_find(&read, DG_SPAN("bad"), &number));
    dg_labels_close(&read);
    dg_labels_close(&made);
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(what_is_no_label_is_refused)
{
    static const char *const texts[] = {"good\n\nbad\n", "good\nbad\ngood\n", "good\n\xff\n"};
    char dir[DG_TMPDIR_CAP], long_one[DG_LABELS_LEN_MAX + 2] = {0};
    struct dg_labels labels;
    dg_tmpdir_make(dir);
    ck_assert_int_eq(dg_labels_open(&labels, dir, NULL), DG_ERR_NOT_FOUND);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct dg_error error = DG_ERROR_NONE;
        ck_assert_int_eq(put(dir, texts[i]), DG_OK);
        ck_assert_int_ne(dg_labels_open(&labels, dir, &error), DG_OK);
        ck_assert_msg(strstr(error.text, i == 1 ? "line 3" : "line 2") != NULL, "%s", error.text);
    }
    dg_labels_init(&labels);
    memset(long_one, 'x', sizeof long_one - 1);
    ck_assert_int_eq(dg_labels_add(&labels, dg_span_cstr(long_one)), DG_ERR_INVALID);
    ck_assert_int_eq(dg_labels_add(&labels, DG_SPAN("two\nlines")), DG_ERR_INVALID);
    for (size_t i = 0; i < DG_LABELS_MAX; i++) {
        char label[16];
        snprintf(label, sizeof label, "%zu", i);
        ck_assert_int_eq(dg_labels_add(&labels, dg_span_cstr(label)), DG_OK);
    }
    ck_assert_int_eq(dg_labels_add(&labels, DG_SPAN("one more")), DG_ERR_LIMIT);
    dg_labels_close(&labels);
    dg_tmpdir_remove(dir);
}
END_TEST

DG_UNIT(labels_are_read_as_they_were_written, what_is_no_label_is_refused)
