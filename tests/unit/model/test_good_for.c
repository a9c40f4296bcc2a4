/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What cards say a model is good for, and cards that say nothing. */
#include "model/good_for.h"

#include "base/file/file_out.h"
#include "tmpdir.h"
#include "unit.h"

#include <stdio.h>

static enum dg_good_for said_by(const char *dir, const char *card)
{
    char path[DG_TMPDIR_CAP + 20];
    snprintf(path, sizeof path, "%s/card.md", dir);
    ck_assert_int_eq(dg_file_out_save(path, 0644, card, strlen(card), NULL), DG_OK);
    return dg_good_for_read(dir);
}

START_TEST(a_card_says_what_its_model_is_good_for)
{
    char dir[DG_TMPDIR_CAP];
    dg_tmpdir_make(dir);
    ck_assert_int_eq(dg_good_for_read(dir), DG_GOOD_FOR_UNKNOWN);
    ck_assert_int_eq(
        said_by(dir, "# fr-en\n\n| | |\n|---|---|\n| good for | everyday sentences |\n"),
        DG_GOOD_FOR_EVERYDAY);
    ck_assert_int_eq(said_by(dir, "|good for|most texts|\r\n| good for | the gist |"),
                     DG_GOOD_FOR_MOST);
    ck_assert_int_eq(said_by(dir, "|  good for |  the gist"), DG_GOOD_FOR_GIST);
    ck_assert_str_eq(dg_good_for_name(DG_GOOD_FOR_GIST), "gist");
    ck_assert_str_eq(dg_good_for_name(DG_GOOD_FOR_EVERYDAY), "everyday");
    ck_assert_str_eq(dg_good_for_name(DG_GOOD_FOR_MOST), "most");
    ck_assert_ptr_null(dg_good_for_name(DG_GOOD_FOR_UNKNOWN));
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(other_cards_say_nothing)
{
    static const char *const cards[] = {
        "",
        "It is good for everyday sentences.\n",
        "| good for | everything |\n| good for | most texts |\n",
        "| good for most texts |\n",
        "| good for | most texts | and more |\n",
        "| good for |",
        "|",
        "good for | most texts |\n",
        "| goods | most texts |\n",
    };
    char dir[DG_TMPDIR_CAP];
    dg_tmpdir_make(dir);
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++)
        ck_assert_msg(said_by(dir, cards[i]) == DG_GOOD_FOR_UNKNOWN, "%s", cards[i]);
    dg_tmpdir_remove(dir);
}
END_TEST

DG_UNIT(a_card_says_what_its_model_is_good_for, other_cards_say_nothing)
