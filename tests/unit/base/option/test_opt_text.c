/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/option/opt.h"
#include "unit.h"

struct demo {
    int help;
    bool fast, safe;
    uint64_t room;
    const char *motto;
    struct dg_opt_list listen;
};
struct part {
    const char *path;
    int64_t copies;
};

static const struct dg_opt_row rows[] = {
    DG_OPT_HELP(struct demo, help),
    {DG_OPT_BOOL(struct demo, fast), "fast", .def = "no", .letter = 'f', .help = "hurry",
     .heading = "Speed", .flags = DG_OPT_RELOADABLE},
    {DG_OPT_BOOL(struct demo, safe), "safe", .def = "yes", .help = "look twice"},
    {DG_OPT_SIZE(struct demo, room), "room", .min = 1024, .max = 1 << 20, .def = "64KiB",
     .help = "bytes kept for a text whose explanation is so long that the line has to be broken"},
    {DG_OPT_STRING(struct demo, motto), "motto", .heading = "Talk", .help = "what it says"},
    {DG_OPT_ADDRESSES(struct demo, listen), "listen", .def = "127.0.0.1:1", .help = "where"},
};
static const struct dg_opt_row part_rows[] = {
    {DG_OPT_PATH(struct part, path), "path", .min = 1, .flags = DG_OPT_REQUIRED,
     .help = "where it is"},
    {DG_OPT_INT(struct part, copies), "copies", .min = 1, .max = 9, .def = "1", .help = "how many"},
};
static const struct dg_opt_table sections[] = {{.program = "part",
                                                .summary = "A part.",
                                                .rows = part_rows,
                                                .n_rows = 2,
                                                .size = sizeof(struct part)}};
static const struct dg_opt_table table = {.program = "demo",
                                          .summary = "Shows.",
                                          .rows = rows,
                                          .n_rows = DG_OPT_COUNT(rows),
                                          .size = sizeof(struct demo),
                                          .args = "FILE",
                                          .args_max = 1,
                                          .env_prefix = "DEMO_",
                                          .sections = sections,
                                          .n_sections = 1};

/* The dump after `text` was read; the caller frees it. */
static char *dump_of(const char *text)
{
    struct dg_opt_set *set = NULL;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_buf out;
    dg_buf_init(&out, 1 << 16);
    ck_assert_int_eq(dg_opt_set_new(&table, &set), DG_OK);
    ck_assert_msg(!dg_opt_read_text(set, "f", dg_span_cstr(text), &error), "%s", error.text);
    ck_assert_int_eq(dg_opt_dump(set, &out), DG_OK);
    dg_opt_set_free(set);
    char *copy = strdup(out.ptr);
    dg_buf_deinit(&out);
    return copy;
}

static void check_dump(const char *text, const char *expected)
{
    char *first = dump_of(text), *second = dump_of(first);
    ck_assert_str_eq(first, expected);
    ck_assert_str_eq(second, first);
    free(first);
    free(second);
}

START_TEST(a_dump_reads_back_as_itself)
{
    check_dump("", "fast = no\nsafe = yes\nroom = 64KiB\nmotto = \nlisten = 127.0.0.1:1\n");
    check_dump("fast = on\nmotto = \" a # \\\"b\\\\ \"\nlisten =\n[part x]\npath = /p\n"
               "[part y]\ncopies = 3\npath = \"#q\"",
               "fast = yes\nsafe = yes\nroom = 64KiB\nmotto = \" a # \\\"b\\\\ \"\nlisten = \n"
               "\n[part x]\npath = /p\ncopies = 1\n\n[part y]\npath = \"#q\"\ncopies = 3\n");
}
END_TEST

static void check_help(int form, const char *const *expected, const char *unexpected)
{
    struct dg_buf out;
    dg_buf_init(&out, 1 << 16);
    ck_assert_int_eq(dg_opt_help(&table, form, &out), DG_OK);
    for (; *expected; expected++)
        ck_assert_msg(strstr(out.ptr, *expected) != NULL, "%s\nlacks\n%s", out.ptr, *expected);
    ck_assert_msg(strstr(out.ptr, unexpected) == NULL, "%s\nholds\n%s", out.ptr, unexpected);
    dg_buf_deinit(&out);
}

START_TEST(help_lists_every_option_with_range_and_default)
{
    static const char *const expected[] = {
        "Usage: demo [OPTION...] FILE\nShows.\n",
        "  -h, --help[=FORM]           print this list",
        "\nSpeed:\n  -f, --fast                  hurry (default no)\n",
        "      --[no-]safe             look twice (default yes)\n",
        "      --room=SIZE             bytes kept for a text whose explanation is so long that the "
        "line has\n"
        "                              to be broken (a size from 1KiB to 1MiB; default 64KiB)\n",
        "\nTalk:\n      --motto=TEXT            what it says\n",
        "[part NAME]",
        "variable (fast: DEMO_FAST)",
        NULL,
    };
    check_help(DG_OPT_HELP_TEXT, expected, "copies");
}
END_TEST

START_TEST(manuals_come_from_the_same_rows)
{
    static const char *const flags[] = {
        ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR[=\\fIFORM\\fR]\n",
        ".SS Speed\n.TP\n\\fB\\-f\\fR, \\fB\\-\\-fast\\fR\nHurry (default no).\n",
        "\\fB\\-\\-room\\fR=\\fISIZE\\fR\n", NULL};
    check_help(DG_OPT_HELP_MAN, flags, "part");
    static const char *const conf[] = {
        ".SS Speed\n.TP\n\\fBfast\\fR = \\fIyes|no\\fR\nHurry (default no).\n.TP\n",
        "\\fBsafe\\fR = \\fIyes|no\\fR\nLook twice (default yes).\nA change needs a restart.\n",
        ".SS Sections [part NAME]\nA part.\n.TP\n\\fBpath\\fR = \\fIPATH\\fR\n", NULL};
    check_help(DG_OPT_HELP_MAN_CONF, conf, "help");
}
END_TEST

DG_UNIT(a_dump_reads_back_as_itself, help_lists_every_option_with_range_and_default,
        manuals_come_from_the_same_rows)
