/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Options: one table row each. From the rows come the strict configuration file, `--flags`, the
 * environment, `--help`, the option list of the man page and `--dump-config`. Values land in a
 * plain C struct of yours; a row names the field, and a field of the wrong C type does not compile.
 *
 * A sub-command is a table of about ten lines:
 *
 *     struct inspect { int help; bool json; int64_t beam; const char *model; };
 *     static const struct dg_opt_row rows[] = {
 *         DG_OPT_HELP(struct inspect, help),
 *         {DG_OPT_BOOL(struct inspect, json), "json", .help = "print JSON instead of a table"},
 *         {DG_OPT_INT_IN(struct inspect, beam, 1, 64), "beam", .def = "4",
 *          .letter = 'b', .help = "hypotheses kept for each sentence"},
 *     };
 *     static const struct dg_opt_table table = {
 *         .program = "dragoman inspect", .summary = "Says what is inside a model directory.",
 *         DG_OPT_ROWS(rows, struct inspect),
 *         .args = "MODEL...", .args_min = 1, .args_max = 100};
 *
 *     struct dg_opt_set *set = NULL;
 *     int exit_code = 0;
 *     if (!dg_opt_command(&table, argc, argv, &set, &exit_code))
 *         return exit_code;                      help was printed, or a refusal on stderr (2)
 *     const struct inspect *opt = dg_opt_values(set);
 *     for (size_t i = 0; i < dg_opt_n_args(set); i++)
 *         inspect(opt, dg_opt_arg(set, i));
 *     dg_opt_set_free(set);
 *
 * A daemon reads each source itself, in any order: a flag beats the environment, which beats the
 * file, which beats the default. Sections such as `[model fr-en]` are instances of a second table:
 *
 *     dg_opt_set_new(&table, &set);
 *     err = dg_opt_read_args(set, argc, argv, &error);
 *     err = dg_opt_read_file(set, "/etc/dragoman/dragomand.conf", &error);
 *     err = dg_opt_read_env(set, environ, &error);
 *     err = dg_opt_check(set, &error);             required options, the table's own check
 *
 * Values are written like this: yes/no (true/false, on/off); whole numbers, optionally with k, M or
 * G for thousands; sizes with B, KiB, MiB, GiB, TiB; durations with ms, s, min, h, d (only 0 needs
 * no unit); lists with commas, or in flags by repetition; addresses as 127.0.0.1:8090, [::1]:8090,
 * unix:/path.
 *
 * All input is treated as hostile. A refusal names the place, what was read and what was expected,
 * and leaves the set usable only for dg_opt_set_free. One thread at a time; threads may share a set
 * that no longer changes. */
#ifndef DG_BASE_OPTION_OPT_H
#define DG_BASE_OPTION_OPT_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- The table ------------------------------------------------------------------------------- */

enum dg_opt_type {
    DG_OPT_TYPE_NONE, /* an unfinished row; dg_opt_set_new refuses it */
    DG_OPT_TYPE_BOOL,
    DG_OPT_TYPE_INT,
    DG_OPT_TYPE_REAL,
    DG_OPT_TYPE_SIZE,
    DG_OPT_TYPE_DURATION,
    DG_OPT_TYPE_ENUM,
    DG_OPT_TYPE_STRING,
    DG_OPT_TYPE_PATH,
    DG_OPT_TYPE_STRINGS,
    DG_OPT_TYPE_PATHS,
    DG_OPT_TYPE_ADDRESSES,
};

/* The value of a list option. Everything is owned by the set. */
struct dg_opt_list {
    const char **items;
    size_t n;
};

/* The field of struct T that holds the value, and with it the row's type:
 *   BOOL bool; INT int64_t; REAL double; SIZE uint64_t, bytes; DURATION int64_t, milliseconds;
 *   ENUM int, the index in .words; STRING and PATH const char *, owned by the set and never NULL;
 *   STRINGS, PATHS, ADDRESSES struct dg_opt_list. */
#define DG_OPT_BOOL(T, field)      DG_OPT_AT_(T, field, bool, DG_OPT_TYPE_BOOL)
#define DG_OPT_INT(T, field)       DG_OPT_AT_(T, field, int64_t, DG_OPT_TYPE_INT)
#define DG_OPT_REAL(T, field)      DG_OPT_AT_(T, field, double, DG_OPT_TYPE_REAL)
#define DG_OPT_SIZE(T, field)      DG_OPT_AT_(T, field, uint64_t, DG_OPT_TYPE_SIZE)
#define DG_OPT_DURATION(T, field)  DG_OPT_AT_(T, field, int64_t, DG_OPT_TYPE_DURATION)
#define DG_OPT_ENUM(T, field)      DG_OPT_AT_(T, field, int, DG_OPT_TYPE_ENUM)
#define DG_OPT_STRING(T, field)    DG_OPT_AT_(T, field, const char *, DG_OPT_TYPE_STRING)
#define DG_OPT_PATH(T, field)      DG_OPT_AT_(T, field, const char *, DG_OPT_TYPE_PATH)
#define DG_OPT_STRINGS(T, field)   DG_OPT_AT_(T, field, struct dg_opt_list, DG_OPT_TYPE_STRINGS)
#define DG_OPT_PATHS(T, field)     DG_OPT_AT_(T, field, struct dg_opt_list, DG_OPT_TYPE_PATHS)
#define DG_OPT_ADDRESSES(T, field) DG_OPT_AT_(T, field, struct dg_opt_list, DG_OPT_TYPE_ADDRESSES)
/* The same with inclusive bounds, for `min` and `max`, or for `real_min` and `real_max`. */
#define DG_OPT_INT_IN(T, field, least, most)  .min = least, .max = most, DG_OPT_INT(T, field)
#define DG_OPT_SIZE_IN(T, field, least, most) .min = least, .max = most, DG_OPT_SIZE(T, field)
#define DG_OPT_DURATION_IN(T, field, least, most)                                                  \
    .min = least, .max = most, DG_OPT_DURATION(T, field)
#define DG_OPT_REAL_IN(T, field, least, most)                                                      \
    .real_min = least, .real_max = most, DG_OPT_REAL(T, field)
#define DG_OPT_AT_(T, field, ctype, kind)                                                          \
    .type = kind, .at = _Generic(((T *)0)->field, ctype : offsetof(T, field))

enum dg_opt_flag {
    DG_OPT_RELOADABLE = 1,   /* a reload may change it in the running process */
    DG_OPT_COMMAND_LINE = 2, /* a flag only: no file, no environment, not dumped */
    DG_OPT_REQUIRED = 4,     /* dg_opt_check refuses when no source gave it */
    DG_OPT_BARE = 8,         /* an ENUM flag that, without a value, means the second word */
    DG_OPT_NO_FLAG = 16,     /* read from files and the environment, which other programs share; not
                              * in --help */
};

struct dg_opt_row {
    enum dg_opt_type type; /* `type` and `at` come from the macros above */
    size_t at;
    const char *name;  /* lower case letters, digits and '-' */
    const char *alias; /* a second name for the flag, not for files; NULL: none */
    const char *def;   /* the default as the file would write it; NULL: no, 0, the first word, "" */
    int64_t min, max;  /* inclusive bounds of the number, a text's bytes or a list's items. Both 0:
                        * the general limits (texts 3072 bytes, lists 64 items) */
    double real_min, real_max; /* the same for REAL */
    const char *const *words; /* ENUM: the values, NULL at the end; INT: a word that stands for 0 */
    const char *unit;         /* the placeholder in --help: "BYTES"; NULL: chosen by type */
    const char *help;         /* one line, lower case, no full stop */
    const char *heading;      /* starts a group of options in --help, man page and dump */
    unsigned flags;           /* enum dg_opt_flag */
    char letter;              /* 'o' makes -o the same as --name; 0: none */
};

struct dg_opt_table {
    const char *program; /* "dragoman inspect"; for a section table, its kind: "model" */
    const char *summary; /* a sentence for --help */
    const struct dg_opt_row *rows;
    size_t n_rows;
    size_t size;      /* sizeof the struct that the rows describe; starts as zeros */
    const char *args; /* positional arguments as --help shows them: "IN [OUT]"; NULL: none */
    size_t args_min, args_max;
    const char *env_prefix; /* "DRAGOMAN_": max-body is DRAGOMAN_MAX_BODY; NULL: no environment */
    const char *reference; /* where a refusal sends the reader: "dragomand.conf(5)"; NULL: --help */
    const struct dg_opt_table *sections; /* tables of `[kind name]` sections */
    size_t n_sections;
    size_t sections_max; /* instances of all kinds together; 0: 64 */

    /* Checks conditions over several options; its sentence names what was read and expected.
     * `values` is the struct; `name` is the section's name, NULL for the main table. May be NULL.
     */
    enum dg_err (*check)(const void *values, const char *name, struct dg_error *error);
};

/* Options that do not go together. A rule refuses a set when all of its conditions hold; a
 * condition whose field is not set always holds. Names are separated by commas; an option is given
 * when its value is not its default. The bits of `when` and `unless` are the caller's own, such as
 * "a run goes on". */
enum dg_opt_relation {
    DG_OPT_UNRELATED,
    DG_OPT_AT_MOST,
    DG_OPT_MORE_THAN,
    DG_OPT_MULTIPLE_OF,
};

struct dg_opt_rule {
    const char *given;     /* an option of this list is given */
    const char *needs;     /* no option of this list is given */
    const char *excludes;  /* an option of this list is given, too */
    unsigned when, unless; /* all bits of `when` hold, and none of `unless` */
    const char *left; /* `left` and `right` are two whole numbers that are not in this `relation` */
    enum dg_opt_relation relation; /* DG_OPT_UNRELATED: no such condition */
    const char *right;
    const char *text; /* the sentence; {name} stands for the value of an option */
};

/* Returns DG_ERR_USAGE with the sentence of the first rule that refuses the values. Made for a
 * table's `check`. */
enum dg_err dg_opt_check_rules(const struct dg_opt_table *table, const void *values,
                               const struct dg_opt_rule *rules, size_t n, unsigned facts,
                               struct dg_error *error) DG_MUST_CHECK;

#define DG_OPT_COUNT(rows) (sizeof(rows) / sizeof *(rows))

/* Sets a table's rows, which describe struct T. */
#define DG_OPT_ROWS(the_rows, T)                                                                   \
    .rows = the_rows, .n_rows = DG_OPT_COUNT(the_rows), .size = sizeof(T)

/* The row of --help (-h): the field is an int, an index in dg_opt_help_words. */
extern const char *const dg_opt_help_words[];
enum { DG_OPT_HELP_NO, DG_OPT_HELP_TEXT, DG_OPT_HELP_MAN, DG_OPT_HELP_MAN_CONF };
#define DG_OPT_HELP(T, field)                                                                      \
    {                                                                                              \
        DG_OPT_ENUM(T, field), "help",                                                             \
            .words = dg_opt_help_words, .letter = 'h', .flags = DG_OPT_COMMAND_LINE | DG_OPT_BARE, \
            .unit = "FORM", .help = "print this list (as roff for the man pages: man, man-conf)"   \
    }

/* ---- Reading --------------------------------------------------------------------------------- */

struct dg_opt_set; /* the values of one table and its sections, and the source of each */

/* Makes a set with all options at their defaults. A default that does not parse is a bug in the
 * table and aborts. */
enum dg_err dg_opt_set_new(const struct dg_opt_table *table, struct dg_opt_set **set) DG_MUST_CHECK;
void dg_opt_set_free(struct dg_opt_set *set); /* NULL is fine */

/* Reads flags and positional arguments from argv[1 ..]; "--" ends the flags, "-" is an argument. */
enum dg_err dg_opt_read_args(struct dg_opt_set *set, int argc, char *const *argv,
                             struct dg_error *error) DG_MUST_CHECK;

/* Reads the environment: `env` holds "NAME=value" strings, NULL at the end. Names without the
 * table's prefix are ignored. */
enum dg_err dg_opt_read_env(struct dg_opt_set *set, char *const *env,
                            struct dg_error *error) DG_MUST_CHECK;

/* Reads a configuration file (opt_ini.h has the grammar), or a text in memory that refusals call
 * `origin`. */
enum dg_err dg_opt_read_file(struct dg_opt_set *set, const char *path,
                             struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_opt_read_text(struct dg_opt_set *set, const char *origin, struct dg_span text,
                             struct dg_error *error) DG_MUST_CHECK;

/* Checks required options, the number of arguments and the tables' own conditions. Call it after
 * all sources are read. */
enum dg_err dg_opt_check(const struct dg_opt_set *set, struct dg_error *error) DG_MUST_CHECK;

/* All of the above for a tool: flags, environment, --help, check. True: continue with *set, which
 * you now own. False: exit with *exit_code; help was printed (0) or a refusal is on stderr (2). */
bool dg_opt_command(const struct dg_opt_table *table, int argc, char *const *argv,
                    struct dg_opt_set **set, int *exit_code) DG_MUST_CHECK;

/* The word nearest to `name`, for "did you mean"; NULL when none is near. Borrowed. */
const char *dg_opt_nearest_word(const char *const *words, size_t n, struct dg_span name);

/* ---- Values ---------------------------------------------------------------------------------- */

/* The filled struct; borrowed until the set is freed. */
const void *dg_opt_values(const struct dg_opt_set *set);

/* Positional arguments; borrowed from argv. */
size_t dg_opt_n_args(const struct dg_opt_set *set);
const char *dg_opt_arg(const struct dg_opt_set *set, size_t i);

/* Section i of `kind`, in the order of the file; for `[model fr-en]` *name is "fr-en". */
size_t dg_opt_n_sections(const struct dg_opt_set *set, const char *kind);
const void *dg_opt_section(const struct dg_opt_set *set, const char *kind, size_t i,
                           const char **name);

/* Whether any source gave this option of the main table, and which one: "conf/x.conf:12",
 * "DRAGOMAN_USER", "--user", or "the default". */
bool dg_opt_given(const struct dg_opt_set *set, const char *option);
void dg_opt_where(const struct dg_opt_set *set, const char *option, char *text, size_t cap);

/* ---- Text about options ---------------------------------------------------------------------- */

/* Appends a file that dg_opt_read_text reads back as the same values. */
enum dg_err dg_opt_dump(const struct dg_opt_set *set, struct dg_buf *out) DG_MUST_CHECK;

/* Appends the list of options, for people or for the man pages (`form` is one of DG_OPT_HELP_*). */
enum dg_err dg_opt_help(const struct dg_opt_table *table, int form,
                        struct dg_buf *out) DG_MUST_CHECK;

/* ---- Reload ---------------------------------------------------------------------------------- */

/* One difference between two sets of one table. Both texts are in the file's notation. An added or
 * removed section is one change with `row` NULL and either `was` or `now` NULL. */
struct dg_opt_change {
    const struct dg_opt_row *row;
    const char *section; /* "model fr-en", or NULL for the main table */
    const char *was, *now;
    bool allowed; /* the row is DG_OPT_RELOADABLE */
};
typedef void (*dg_opt_change_fn)(void *ctx, const struct dg_opt_change *change);

/* Calls `on_change` for each difference, in table order; both sets stay as they are. */
enum dg_err dg_opt_compare(const struct dg_opt_set *was, const struct dg_opt_set *now,
                           dg_opt_change_fn on_change, void *ctx) DG_MUST_CHECK;

/* Restores, in `now`, the old value of every row of the main table that a reload may not change. */
enum dg_err dg_opt_keep_fixed(const struct dg_opt_set *was, struct dg_opt_set *now) DG_MUST_CHECK;

#endif
