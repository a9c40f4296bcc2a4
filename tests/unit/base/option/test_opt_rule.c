/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/mem.h"
#include "base/option/opt.h"
#include "unit.h"

struct demo {
    int64_t steps, part;
    double share;
    bool fast;
    int kind;
    const char *from, *to;
    struct dg_opt_list files;
};

static const char *const kinds[] = {"plain", "fancy", NULL};

static const struct dg_opt_row rows[] = {
    {DG_OPT_INT(struct demo, steps), "steps", .def = "100", .max = 1000, .help = "steps"},
    {DG_OPT_INT(struct demo, part), "part", .def = "10", .max = 1000, .help = "of them"},
    {DG_OPT_REAL(struct demo, share), "share", .def = "0.15", .real_max = 1, .help = "share"},
    {DG_OPT_BOOL(struct demo, fast), "fast", .def = "yes", .help = "hurry"},
    {DG_OPT_ENUM(struct demo, kind), "kind", .words = kinds, .def = "plain", .help = "which"},
    {DG_OPT_STRING(struct demo, from), "from", .help = "whence"},
    {DG_OPT_STRING(struct demo, to), "to", .help = "whither"},
    {DG_OPT_STRINGS(struct demo, files), "files", .help = "what"},
};
static const struct dg_opt_table table = {.program = "demo",
                                          .summary = "Shows.",
                                          .rows = rows,
                                          .n_rows = DG_OPT_COUNT(rows),
                                          .size = sizeof(struct demo)};

enum { SLOW = 1, OLD = 2 };

static const struct dg_opt_rule rules[] = {
    {.given = "share,files", .when = SLOW, .unless = OLD, .text = "neither share nor files"},
    {.given = "from", .needs = "to", .text = "from needs to"},
    {.given = "kind", .excludes = "fast", .text = "a {kind} one is fast"},
    {.left = "part",
     .relation = DG_OPT_AT_MOST,
     .right = "steps",
     .text = "{part} of {steps} is too much"},
    {.when = SLOW,
     .left = "steps",
     .relation = DG_OPT_MULTIPLE_OF,
     .right = "part",
     .text = "{steps} is no multiple of {part}"},
    {.when = OLD,
     .left = "steps",
     .relation = DG_OPT_MORE_THAN,
     .right = "part",
     .text = "expected more than {part}"},
};

/* The message for these options in a file; "" when nothing is refused, NULL without memory. */
static const char *said(const char *text, unsigned facts, struct dg_error *error)
{
    struct dg_opt_set *set = NULL;
    *error = (struct dg_error)DG_ERROR_NONE;
    enum dg_err err = dg_opt_set_new(&table, &set);
    if (!err)
        err = dg_opt_read_text(set, "demo", dg_span_cstr(text), error);
    if (!err)
        err = dg_opt_check_rules(&table, dg_opt_values(set), rules, DG_OPT_COUNT(rules), facts,
                                 error);
    dg_opt_set_free(set);
    ck_assert(err == DG_OK || err == DG_ERR_USAGE || err == DG_ERR_NOMEM);
    return err == DG_ERR_NOMEM ? NULL : error->text;
}

START_TEST(a_rule_refuses_when_all_of_its_columns_say_so)
{
    static const struct {
        const char *text;
        unsigned facts;
        const char *said;
    } cases[] = {
        {"", 0, ""},
        {"share = 0.2\n", 0, ""},
        {"share = 0.2\n", SLOW, "neither share nor files"},
        {"share = 0.15\n", SLOW, ""},
        {"files = a, b\n", SLOW, "neither share nor files"},
        {"files = a, b\n", SLOW | OLD, ""},
        {"from = x\n", 0, "from needs to"},
        {"from = x\nto = y\n", 0, ""},
        {"to = y\n", 0, ""},
        {"kind = fancy\n", 0, ""},
        {"kind = fancy\nfast = no\n", 0, "a fancy one is fast"},
        {"part = 101\n", 0, "101 of 100 is too much"},
        {"part = 100\n", 0, ""},
        {"part = 30\n", SLOW, "100 is no multiple of 30"},
        {"part = 0\n", SLOW, "100 is no multiple of 0"},
        {"part = 100\n", OLD, "expected more than 100"},
    };
    struct dg_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(said(cases[i].text, cases[i].facts, &error), cases[i].said);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    struct dg_error error;
    for (uint64_t n = 1;; n++) {
        dg_mem_fail_after(n);
        const char *text = said("kind = fancy\nfast = no\n", 0, &error);
        if (text) {
            ck_assert_str_eq(text, "a fancy one is fast");
            break;
        }
    }
    dg_mem_fail_after(0);
}
END_TEST

DG_UNIT(a_rule_refuses_when_all_of_its_columns_say_so, every_allocation_may_fail)
