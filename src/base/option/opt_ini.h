/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The configuration file's grammar: a reader that returns one line at a time, parsed. It knows
 * nothing about options; opt.c interprets the names.
 *
 *     # a comment; so is a line that starts with ;
 *     max-body = 1MiB             # so is the rest of a line after a blank and #
 *     motd = "quotes keep # and outer blanks; \" and \\ stand for themselves"
 *     [model fr-en]               starts a section: a kind and a name
 *     path = /srv/models/fr-en
 *
 * The file is UTF-8, in lines of at most 8192 bytes that end in LF or CR LF, with one `name =
 * value` per line and no continuation lines. The reader refuses control characters other than tabs,
 * and everything that is not in the grammar. A byte-order mark at the very start is skipped. Every
 * refusal has the form
 *
 *     dragomand.conf:12: read ..., expected ...
 *
 *     struct dg_opt_ini ini;
 *     struct dg_opt_ini_item item;
 *     dg_opt_ini_init(&ini, "dragomand.conf", text);
 *     while (!(err = dg_opt_ini_next(&ini, &item, &error)) && item.kind != DG_OPT_INI_END) ... */
#ifndef DG_BASE_OPTION_OPT_INI_H
#define DG_BASE_OPTION_OPT_INI_H

#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>

enum {
    DG_OPT_INI_LINE_MAX = 8192,
    DG_OPT_INI_NAME_MAX = 64, /* bytes of an option's, section kind's or section's name */
};

enum dg_opt_ini_kind { DG_OPT_INI_END, DG_OPT_INI_SECTION, DG_OPT_INI_PAIR };

struct dg_opt_ini_item {
    enum dg_opt_ini_kind kind;
    unsigned line;        /* counted from 1 */
    struct dg_span name;  /* the option's name, or the section's kind; borrowed from the text */
    struct dg_span value; /* unquoted, or the section's name; borrowed until the next call */
};

struct dg_opt_ini {
    const char *origin;  /* borrowed */
    struct dg_span rest; /* borrowed */
    unsigned line;       /* of the last item returned */
    char value[DG_OPT_INI_LINE_MAX];
};

/* Both `origin` and `text` are borrowed as long as the reader is used. */
void dg_opt_ini_init(struct dg_opt_ini *ini, const char *origin, struct dg_span text);

/* DG_ERR_FORMAT, DG_ERR_LIMIT or DG_ERR_UTF8 with an error message; the reader is then unusable. */
enum dg_err dg_opt_ini_next(struct dg_opt_ini *ini, struct dg_opt_ini_item *item,
                            struct dg_error *error) DG_MUST_CHECK;

/* True for a..z, 0..9 and '-', starting with a letter: names of options and kinds. */
bool dg_opt_ini_is_name(struct dg_span text);

#endif
