/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman keys add|list|revoke|rotate NAME: the file of API keys (access/key_file.h).
 *
 * Every change is made under the file's lock, to the file as it is at that moment, and replaces the
 * file in one step. A secret is printed once, only on standard output; the file has its hash. The
 * running server reads the file when it is told to reload. */
#include "access/key_file.h"
#include "access/file_lock.h"
#include "access/calendar.h"
#include "base/json/json_out.h"
#include "base/memory/clock.h"
#include "base/option/opt_value.h"
#include "tools/command.h"
#include "tools/tools.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LOCK_WAIT_MS = 10000, LIST_MAX = 64 << 20 };

struct options {
    int help;
    const char *file;
    const char *expires;
    int64_t grace_ms;
    bool json;
    struct dg_key key; /* only the fields that people may set */
};

#define T struct options

/* The rows of a key (dg_key_rows), with their offsets in struct options. */
static const struct dg_opt_row own_rows[] = {
    {DG_OPT_PATH(T, file), "file", .letter = 'f', .def = "/var/lib/dragoman/keys",
     .help = "the file of keys, which is the server's option keys-file"},
    {DG_OPT_STRING(T, expires), "expires", .def = "", .unit = "TIME",
     .help =
         "add: when the key expires: 2027-12-31 or 2027-12-31T23:59:59Z (UTC); empty for never"},
    {DG_OPT_DURATION_IN(T, grace_ms, 0, INT64_C(366) * 86400 * 1000), "grace", .def = "0",
     .help = "rotate: how long the old secret is still accepted"},
    {DG_OPT_BOOL(T, json), "json", .help = "list: print JSON, one object a line"},
    DG_OPT_HELP(T, help),
};
enum { N_OWN = DG_OPT_COUNT(own_rows), ROWS_MAX = 32 };

static uint64_t now_s(void)
{
    const struct dg_clock clock = DG_CLOCK_REAL;
    return dg_clock_wall(&clock) / DG_CLOCK_S;
}

/* ---- Changes --------------------------------------------------------------------------------- */

/* A new secret for a key, printed after the file is written. */
struct fresh {
    char text[DG_SECRET_TEXT];
};

static void make_secret(struct fresh *fresh, struct dg_secret_hash *hash)
{
    dg_secret_make(fresh->text);
    dg_secret_hash(dg_span_cstr(fresh->text), hash);
}

static enum dg_err copy_rows(const struct dg_key *from, struct dg_key *to, struct dg_error *error)
{
    struct dg_buf text;
    enum dg_err err = DG_OK;
    dg_buf_init(&text, 1 << 20);
    for (size_t i = 0; i < dg_key_n_rows && !err; i++) {
        dg_buf_clear(&text);
        err = dg_opt_value_format(&dg_key_rows[i], from, &text);
        if (!err)
            err = dg_opt_value_parse(&dg_key_rows[i], dg_buf_span(&text), to, false, error);
    }
    dg_buf_deinit(&text);
    return err;
}

static enum dg_err add_key(struct dg_key_file *file, const struct options *opt, const char *name,
                           struct fresh *fresh, struct dg_error *error)
{
    struct dg_key key;
    enum dg_err err = dg_key_init(&key);
    if (err)
        return err;
    snprintf(key.name, sizeof key.name, "%s", name);
    key.created_s = now_s();
    err = copy_rows(&opt->key, &key, error);
    if (!err && *opt->expires)
        err = dg_calendar_parse(dg_span_cstr(opt->expires), error, &key.expires_s);
    if (!err && key.expires_s && key.expires_s <= key.created_s)
        err = dg_error_set(error, DG_ERR_RANGE,
                           "--expires: read a time in the past, expected one in the future");
    make_secret(fresh, &key.hash);
    if (!err)
        err = dg_key_file_add(file, &key, error);
    if (err)
        dg_key_deinit(&key);
    return err;
}

static enum dg_err find(const struct dg_key_file *file, const char *name, struct dg_key **key,
                        struct dg_error *error)
{
    *key = dg_key_file_find(file, dg_span_cstr(name));
    return *key ? DG_OK : dg_error_set(error, DG_ERR_NOT_FOUND, "there is no key called %s", name);
}

static enum dg_err revoke_key(struct dg_key_file *file, const struct options *opt, const char *name,
                              struct fresh *fresh, struct dg_error *error)
{
    struct dg_key *key;
    enum dg_err err = find(file, name, &key, error);
    if (!err)
        dg_key_file_remove(file, key);
    file->is_none = !err && file->n == 0;
    return err;
}

static enum dg_err rotate_key(struct dg_key_file *file, const struct options *opt, const char *name,
                              struct fresh *fresh, struct dg_error *error)
{
    struct dg_key *key;
    enum dg_err err = find(file, name, &key, error);
    if (err)
        return err;
    key->old_hash = key->hash;
    key->old_until_s = opt->grace_ms ? now_s() + (uint64_t)(opt->grace_ms + 999) / 1000 : 0;
    make_secret(fresh, &key->hash);
    return DG_OK;
}

typedef enum dg_err change_fn(struct dg_key_file *file, const struct options *opt, const char *name,
                              struct fresh *fresh, struct dg_error *error);

/* Locks, reads, changes and writes the file, and reports. Only `add_key` may make a new file. */
static enum dg_err change(change_fn *how, const struct options *opt, const char *name,
                          struct dg_error *error)
{
    struct dg_key_file file = {.n = 0};
    struct dg_file_lock lock = DG_FILE_LOCK_NONE;
    struct fresh fresh = {""};
    enum dg_err err = dg_key_check_name(dg_span_cstr(name), error);
    if (err)
        return err;
    err = dg_file_lock_take(&lock, opt->file, LOCK_WAIT_MS, error);
    if (err)
        return err;
    if (how != add_key || access(opt->file, F_OK) == 0 || errno != ENOENT)
        err = dg_key_file_load(&file, opt->file, error);
    if (!err)
        err = how(&file, opt, name, &fresh, error);
    if (!err)
        err = dg_key_file_save(&file, opt->file, error);
    const bool is_empty = file.n == 0;
    if (!err && fresh.text[0])
        printf("%s\n", fresh.text);
    sodium_memzero(&fresh, sizeof fresh);
    dg_key_file_deinit(&file);
    dg_file_lock_drop(&lock);
    if (!err)
        fprintf(stderr,
                "dragoman keys: %s is written; a running server reads it when it is told to reload "
                "(systemctl reload dragomand), and by itself if it shares its keys\n",
                opt->file);
    if (!err && is_empty)
        fprintf(stderr,
                "dragoman keys: that was the last key. After a reload, a server with require-key "
                "lets nobody in until 'dragoman keys add' and another reload\n");
    return err;
}

/* ---- The list -------------------------------------------------------------------------------- */

/* Prints the value of a key's row as the file would write it. */
static enum dg_err put_row(struct dg_json_out *out, const struct dg_opt_row *row,
                           const struct dg_key *key)
{
    struct dg_buf text;
    dg_buf_init(&text, 1 << 20);
    enum dg_err err = dg_opt_value_format(row, key, &text);
    dg_json_out_key(out, row->name);
    if (row->type == DG_OPT_TYPE_INT) {
        dg_json_out_raw(out, dg_buf_span(&text));
    } else if (row->type == DG_OPT_TYPE_STRINGS) {
        dg_json_out_open(out, '[');
        for (size_t i = 0; i < key->models.n; i++)
            dg_json_out_cstr(out, key->models.items[i]);
        dg_json_out_close(out, ']');
    } else {
        dg_json_out_string(out, dg_buf_span(&text));
    }
    dg_buf_deinit(&text);
    return err;
}

static void put_when(struct dg_json_out *out, const char *name, uint64_t seconds)
{
    char text[DG_CALENDAR_TEXT];
    dg_calendar_format(seconds, text);
    dg_json_out_put_cstr(out, name, seconds ? text : NULL);
}

static enum dg_err print_json(const struct dg_key *key)
{
    struct dg_buf line;
    struct dg_json_out out;
    enum dg_err err = DG_OK;
    dg_buf_init(&line, LIST_MAX);
    dg_json_out_init(&out, &line);
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "name", key->name);
    put_when(&out, "created", key->created_s);
    put_when(&out, "expires", key->expires_s);
    put_when(&out, "old-until", key->old_until_s);
    for (size_t i = 0; i < dg_key_n_rows && !err; i++)
        err = put_row(&out, &dg_key_rows[i], key);
    dg_json_out_close(&out, '}');
    if (!err)
        err = dg_json_out_end(&out);
    if (!err)
        printf("%.*s\n", DG_SPAN_FMT(dg_buf_span(&line)));
    dg_buf_deinit(&line);
    return err;
}

/* Prints one row's value: "all" for models that are not limited, "-" for no limit and for no text.
 */
static enum dg_err print_value(const struct dg_opt_row *row, const struct dg_key *key)
{
    struct dg_buf text;
    dg_buf_init(&text, LIST_MAX);
    enum dg_err err = dg_opt_value_format(row, key, &text);
    const bool is_none = text.len == 0 || (row->type == DG_OPT_TYPE_INT &&
                                           dg_span_eq(dg_buf_span(&text), DG_SPAN("0")));
    if (!err && is_none)
        printf("\t%s", row->type == DG_OPT_TYPE_STRINGS ? "all" : "-");
    else if (!err)
        printf("\t%.*s", DG_SPAN_FMT(dg_buf_span(&text)));
    dg_buf_deinit(&text);
    return err;
}

static enum dg_err print_line(const struct dg_key *key)
{
    char expires[DG_CALENDAR_TEXT] = "never", old[DG_CALENDAR_TEXT] = "-";
    enum dg_err err = DG_OK;
    if (key->expires_s)
        dg_calendar_format(key->expires_s, expires);
    if (key->old_until_s > now_s())
        dg_calendar_format(key->old_until_s, old);
    printf("%s\t%s%s\t%s", key->name, key->expires_s && key->expires_s <= now_s() ? "expired " : "",
           expires, old);
    for (size_t i = 0; i < dg_key_n_rows && !err; i++)
        err = print_value(&dg_key_rows[i], key);
    putchar('\n');
    return err;
}

static void print_head(void)
{
    printf("name\texpires\told secret until");
    for (size_t i = 0; i < dg_key_n_rows; i++)
        printf("\t%s", dg_key_rows[i].name);
    putchar('\n');
}

static enum dg_err list(const struct options *opt, struct dg_error *error)
{
    struct dg_key_file file = {.n = 0};
    enum dg_err err = dg_key_file_load(&file, opt->file, error);
    if (!err && !opt->json)
        print_head();
    for (size_t i = 0; i < file.n && !err; i++) {
        if (opt->json)
            err = print_json(&file.keys[i]);
        else
            err = print_line(&file.keys[i]);
    }
    dg_key_file_deinit(&file);
    return err;
}

/* ---- The command ----------------------------------------------------------------------------- */

static enum dg_err run_keys(const struct dg_opt_set *set, struct dg_error *error)
{
    static const struct {
        const char *name;
        change_fn *how; /* NULL: the command lists the keys */
    } actions[] = {
        {"add", add_key}, {"list", NULL}, {"revoke", revoke_key}, {"rotate", rotate_key}};
    const struct options *opt = dg_opt_values(set);
    const char *word = dg_opt_arg(set, 0),
               *name = dg_opt_n_args(set) > 1 ? dg_opt_arg(set, 1) : NULL;
    if (sodium_init() < 0)
        return dg_error_set(error, DG_ERR_IO, "the system provides no random numbers (libsodium)");
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (strcmp(word, actions[i].name) != 0)
            continue;
        if (!actions[i].how)
            return name ? dg_error_set(error, DG_ERR_USAGE,
                                       "list: read \"%s\" after it, expected nothing", name)
                        : list(opt, error);
        return name ? change(actions[i].how, opt, name, error)
                    : dg_error_set(error, DG_ERR_USAGE, "%s: expected the key's name after it",
                                   word);
    }
    return dg_error_set(error, DG_ERR_USAGE, "read \"%s\", expected add, list, revoke or rotate",
                        word);
}

int dg_cmd_keys(int argc, char **argv)
{
    struct dg_opt_row rows[ROWS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < N_OWN - 1; i++)
        rows[n++] = own_rows[i];
    for (size_t i = 0; i < dg_key_n_rows; i++, n++) {
        rows[n] = dg_key_rows[i];
        rows[n].at += offsetof(T, key);
        rows[n].heading = i == 0 ? "What a new key may do" : NULL;
    }
    rows[n++] = own_rows[N_OWN - 1];
    const struct dg_opt_table table = {
        .program = "dragoman keys",
        .summary = "Adds, lists, revokes and rotates the API keys of a server.",
        .rows = rows,
        .n_rows = n,
        .size = sizeof(T),
        .args = "add|list|revoke|rotate [NAME]",
        .args_min = 1,
        .args_max = 2,
    };
    return dg_command(&table, argc, argv, run_keys);
}
