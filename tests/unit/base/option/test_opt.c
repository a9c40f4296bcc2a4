/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/mem.h"
#include "base/option/opt.h"
#include "unit.h"

#include <stdio.h>

struct demo {
    int help;
    bool fast;
    int64_t max_rows;
    const char *user;
    struct dg_opt_list listen;
    bool once;
};
struct part {
    const char *path;
};

static const struct dg_opt_row rows[] = {
    DG_OPT_HELP(struct demo, help),
    {DG_OPT_BOOL(struct demo, fast), "fast", .letter = 'f', .help = "hurry"},
    {DG_OPT_INT(struct demo, max_rows), "max-rows", .min = 1, .max = 100, .def = "10",
     .letter = 'n', .flags = DG_OPT_RELOADABLE, .help = "rows kept"},
    {DG_OPT_STRING(struct demo, user), "user", .min = 1, .max = 32, .help = "who"},
    {DG_OPT_ADDRESSES(struct demo, listen), "listen", .def = "127.0.0.1:1", .help = "where"},
    {DG_OPT_BOOL(struct demo, once), "once", .flags = DG_OPT_COMMAND_LINE,
     .help = "stop after one"},
};
static const struct dg_opt_row part_rows[] = {
    {DG_OPT_PATH(struct part, path), "path", .min = 1, .flags = DG_OPT_REQUIRED | DG_OPT_RELOADABLE,
     .help = "where it is"},
};
static const struct dg_opt_table sections[] = {{.program = "part",
                                                .summary = "A part.",
                                                .rows = part_rows,
                                                .n_rows = 1,
                                                .size = sizeof(struct part)}};

static enum dg_err check(const void *values, const char *name, struct dg_error *error)
{
    const struct demo *d = values;
    if (d->fast && d->max_rows > 50)
        return dg_error_set(error, DG_ERR_INVALID, "read fast and max-rows %d, expected at most 50",
                            (int)d->max_rows);
    return DG_OK;
}

static const struct dg_opt_table table = {.program = "demo",
                                          .summary = "Shows.",
                                          .rows = rows,
                                          .n_rows = DG_OPT_COUNT(rows),
                                          .size = sizeof(struct demo),
                                          .args = "IN [OUT]",
                                          .args_min = 1,
                                          .args_max = 2,
                                          .env_prefix = "DEMO_",
                                          .sections = sections,
                                          .n_sections = 1,
                                          .sections_max = 2,
                                          .check = check};

static struct dg_opt_set *set_of(const char *file, char *const *env, char *const *argv)
{
    struct dg_opt_set *set = NULL;
    struct dg_error error = DG_ERROR_NONE;
    int argc = 0;
    while (argv && argv[argc])
        argc++;
    ck_assert_int_eq(dg_opt_set_new(&table, &set), DG_OK);
    ck_assert_msg(!argv || !dg_opt_read_args(set, argc, argv, &error), "%s", error.text);
    ck_assert_msg(!file || !dg_opt_read_text(set, "f.conf", dg_span_cstr(file), &error), "%s",
                  error.text);
    ck_assert_msg(!env || !dg_opt_read_env(set, env, &error), "%s", error.text);
    return set;
}

#define LIST(...) ((char **)(const char *[]){__VA_ARGS__, NULL})

START_TEST(a_flag_beats_the_environment_which_beats_the_file)
{
    const char *file = "max-rows = 2\nuser = file\nlisten = 127.0.0.1:5, 127.0.0.1:6\n";
    char **env = LIST("DEMO_USER=env", "DEMO_MAX_ROWS=3", "DEMO_FAST=", "DEMO_NONE=x", "PATH=/");
    struct dg_opt_set *set =
        set_of(file, env, LIST("demo", "--max-rows=4", "--listen", "[::1]:7", "--listen=unix:/x"));
    const struct demo *d = dg_opt_values(set);
    ck_assert_int_eq(d->max_rows, 4);
    ck_assert_str_eq(d->user, "env");
    ck_assert_uint_eq(d->listen.n, 2);
    ck_assert_str_eq(d->listen.items[0], "[::1]:7");
    ck_assert_str_eq(d->listen.items[1], "unix:/x");
    ck_assert(!d->fast && !dg_opt_given(set, "fast") && dg_opt_given(set, "user"));
    char where[64];
    dg_opt_where(set, "max-rows", where, sizeof where);
    ck_assert_str_eq(where, "--max-rows");
    dg_opt_where(set, "user", where, sizeof where);
    ck_assert_str_eq(where, "DEMO_USER");
    dg_opt_where(set, "fast", where, sizeof where);
    ck_assert_str_eq(where, "the default");
    dg_opt_set_free(set);
    set = set_of(file, NULL, NULL);
    dg_opt_where(set, "listen", where, sizeof where);
    ck_assert_str_eq(where, "f.conf:3");
    dg_opt_set_free(set);
}
END_TEST

START_TEST(flags_come_in_the_usual_shapes)
{
    struct dg_opt_set *set =
        set_of(NULL, NULL, LIST("demo", "-f", "in", "-n7", "-", "--user", "-x"));
    const struct demo *d = dg_opt_values(set);
    ck_assert(d->fast);
    ck_assert_int_eq(d->max_rows, 7);
    ck_assert_str_eq(d->user, "-x");
    ck_assert_uint_eq(dg_opt_n_args(set), 2);
    ck_assert_str_eq(dg_opt_arg(set, 1), "-");
    ck_assert_ptr_null(dg_opt_arg(set, 2));
    dg_opt_set_free(set);
    set = set_of(NULL, NULL,
                 LIST("demo", "--fast", "--no-fast", "-n", "8", "--help", "--", "--once"));
    d = dg_opt_values(set);
    ck_assert(!d->fast && !d->once);
    ck_assert_int_eq(d->max_rows, 8);
    ck_assert_int_eq(d->help, DG_OPT_HELP_TEXT);
    ck_assert_str_eq(dg_opt_arg(set, 0), "--once");
    dg_opt_set_free(set);
}
END_TEST

/* Checks that the sources are refused with a message that contains both texts. */
static void check_refused(const char *file, char *const *env, char *const *argv, const char *place,
                          const char *reading)
{
    struct dg_opt_set *set = NULL;
    struct dg_error error = DG_ERROR_NONE;
    int argc = 0;
    while (argv && argv[argc])
        argc++;
    ck_assert_int_eq(dg_opt_set_new(&table, &set), DG_OK);
    enum dg_err err = argv ? dg_opt_read_args(set, argc, argv, &error) : DG_OK;
    if (!err && file)
        err = dg_opt_read_text(set, "f.conf", dg_span_cstr(file), &error);
    if (!err && env)
        err = dg_opt_read_env(set, env, &error);
    if (!err)
        err = dg_opt_check(set, &error);
    ck_assert_int_lt(err, 0);
    ck_assert_msg(strncmp(error.text, place, strlen(place)) == 0, "%s", error.text);
    ck_assert_msg(strstr(error.text, reading) != NULL, "%s", error.text);
    ck_assert_msg(strstr(error.text, "expected") != NULL, "%s", error.text);
    dg_opt_set_free(set);
}

START_TEST(files_are_refused_by_file_and_line)
{
    char **ok = LIST("demo", "in");
    check_refused("\nmax-row = 1", NULL, ok, "f.conf:2: ", "did you mean \"max-rows\"?");
    check_refused("zzz = 1", NULL, ok, "f.conf:1: ", "\"zzz\"");
    check_refused("max-rows = 101", NULL, ok, "f.conf:1: max-rows: ", "from 1 to 100");
    check_refused("fast = no\nfast = no", NULL, ok, "f.conf:2: ", "line 1");
    check_refused("once = yes", NULL, ok, "f.conf:1: ", "command line");
    check_refused("[room x]", NULL, ok, "f.conf:1: ", "\"room\"");
    check_refused("[part x]\npath=a\n[part x]", NULL, ok, "f.conf:3: ", "[part x]");
    check_refused("[part x]\nfast=yes", NULL, ok, "f.conf:2: ", "\"fast\"");
    check_refused("[part x]\npath=", NULL, ok, "f.conf:2: path: ", "1 to 3072");
    check_refused("\n[part x]", NULL, ok, "f.conf:2: ", "\"path\"");
    check_refused("[part x]\n[part y]\n[part z]", NULL, ok, "f.conf:3: ", "at most 2");
    check_refused("max-rows = 0", NULL, LIST("demo", "in", "-n5"), "f.conf:1: max-rows: ", "\"0\"");
}
END_TEST

START_TEST(flags_and_environment_are_refused_by_name)
{
    check_refused(NULL, NULL, LIST("demo"), "read 0 arguments", "IN [OUT]");
    check_refused(NULL, NULL, LIST("demo", "a", "b", "c"), "read the argument \"c\"", "IN [OUT]");
    check_refused(NULL, NULL, LIST("demo", "--max-row=1"), "read the unknown",
                  "did you mean --max-rows");
    check_refused(NULL, NULL, LIST("demo", "-z"), "read the unknown", "\"-z\"");
    check_refused(NULL, NULL, LIST("demo", "-fz"), "read the unknown", "\"-fz\"");
    check_refused(NULL, NULL, LIST("demo", "--no-user"), "read the unknown", "no-user");
    check_refused(NULL, NULL, LIST("demo", "--max-rows"), "--max-rows: read nothing",
                  "from 1 to 100");
    check_refused(NULL, NULL, LIST("demo", "--max-rows="), "--max-rows: read \"\"",
                  "from 1 to 100");
    check_refused(NULL, NULL, LIST("demo", "--fast=maybe"), "--fast: read \"maybe\"", "yes or no");
    check_refused(NULL, LIST("DEMO_MAX_ROWS=x"), LIST("demo", "in"), "DEMO_MAX_ROWS: read \"x\"",
                  "1 to 100");
    check_refused(NULL, NULL, LIST("demo", "in", "-f", "-n51"), "read fast", "at most 50");
}
END_TEST

START_TEST(sections_are_instances_of_their_table)
{
    struct dg_opt_set *set = set_of("[part b]\npath=/b\n[part a]\npath=/a\n", NULL, NULL);
    ck_assert_uint_eq(dg_opt_n_sections(set, "part"), 2);
    ck_assert_uint_eq(dg_opt_n_sections(set, "room"), 0);
    const char *name = NULL;
    const struct part *part = dg_opt_section(set, "part", 1, &name);
    ck_assert_str_eq(name, "a");
    ck_assert_str_eq(part->path, "/a");
    ck_assert_ptr_null(dg_opt_section(set, "part", 2, &name));
    dg_opt_set_free(set);
}
END_TEST

static void note_change(void *ctx, const struct dg_opt_change *change)
{
    char *text = ctx;
    size_t len = strlen(text);
    snprintf(text + len, 512 - len, "%s|%s|%s|%s|%d;", change->row ? change->row->name : "-",
             change->section ? change->section : "-", change->was ? change->was : "-",
             change->now ? change->now : "-", change->allowed);
}

START_TEST(a_reload_knows_what_changed_and_what_may)
{
    struct dg_opt_set *was = set_of("fast=no\nmax-rows=5\n[part a]\npath=/a\n[part b]\npath=/b\n",
                                    NULL, LIST("demo", "--once"));
    struct dg_opt_set *now =
        set_of("fast=yes\nuser=u\nmax-rows=6\n[part b]\npath=/c\n[part c]\npath=/d\n", NULL, NULL);
    char changes[512] = "";
    ck_assert_int_eq(dg_opt_compare(was, now, note_change, changes), DG_OK);
    ck_assert_str_eq(changes, "fast|-|no|yes|0;max-rows|-|5|6|1;user|-||u|0;"
                              "-|part a|part a|-|1;path|part b|/b|/c|1;-|part c|-|part c|1;");
    ck_assert_int_eq(dg_opt_keep_fixed(was, now), DG_OK);
    changes[0] = '\0';
    ck_assert_int_eq(dg_opt_compare(was, now, note_change, changes), DG_OK);
    ck_assert_str_eq(changes, "max-rows|-|5|6|1;-|part a|part a|-|1;path|part b|/b|/c|1;"
                              "-|part c|-|part c|1;");
    const struct demo *d = dg_opt_values(now);
    ck_assert_str_eq(d->user, "");
    dg_opt_set_free(was);
    dg_opt_set_free(now);
}
END_TEST

START_TEST(unreadable_files_are_named)
{
    struct dg_opt_set *set = NULL;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_opt_set_new(&table, &set), DG_OK);
    ck_assert_int_eq(dg_opt_read_file(set, "/nonexistent/x.conf", &error), DG_ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "/nonexistent/x.conf"));
    ck_assert_int_lt(dg_opt_read_file(set, "/", &error), 0);
    ck_assert_ptr_nonnull(strstr(error.text, "directory"));
    ck_assert_int_eq(dg_opt_read_file(set, "/dev/zero", &error), DG_ERR_LIMIT);
    dg_opt_set_free(set);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    for (uint64_t nth = 1;; nth++) {
        struct dg_opt_set *set = NULL;
        dg_mem_fail_after(nth);
        enum dg_err err = dg_opt_set_new(&table, &set);
        if (!err)
            err = dg_opt_read_args(set, 3, LIST("demo", "in", "--user=me"), NULL);
        if (!err)
            err = dg_opt_read_text(set, "f", DG_SPAN("listen=[::1]:1,[::1]:2\n[part a]\npath=x"),
                                   NULL);
        bool failed = dg_mem_failed();
        dg_mem_fail_after(0);
        dg_opt_set_free(set);
        ck_assert_int_eq(err, failed ? DG_ERR_NOMEM : DG_OK);
        if (!failed) {
            ck_assert_uint_gt(nth, 10);
            return;
        }
    }
}
END_TEST

START_TEST(a_command_goes_on_prints_help_or_says_why)
{
    struct dg_opt_set *set = NULL;
    int code = -1;
    ck_assert(dg_opt_command(&table, 2, LIST("demo", "in"), &set, &code));
    ck_assert_uint_eq(dg_opt_n_args(set), 1);
    dg_opt_set_free(set);
    ck_assert(!dg_opt_command(&table, 2, LIST("demo", "-h"), &set, &code));
    ck_assert_int_eq(code, 0);
    ck_assert(!dg_opt_command(&table, 2, LIST("demo", "--nope"), &set, &code));
    ck_assert_int_eq(code, 2);
}
END_TEST

DG_UNIT(a_flag_beats_the_environment_which_beats_the_file, flags_come_in_the_usual_shapes,
        files_are_refused_by_file_and_line, flags_and_environment_are_refused_by_name,
        sections_are_instances_of_their_table, a_reload_knows_what_changed_and_what_may,
        unreadable_files_are_named, every_allocation_may_fail,
        a_command_goes_on_prints_help_or_says_why)
