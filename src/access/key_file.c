/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The file is read line by line with base/option/opt_ini.h. A field is an option row, a hash or a
 * time, and each kind has its own parser. Names and hashes are kept in maps while reading, so that
 * duplicates are found in one pass. */
#include "access/key_file.h"
#include "access/quota.h"
#include "access/calendar.h"
#include "base/file/file_out.h"
#include "base/file/folder.h"
#include "base/memory/error.h"
#include "base/memory/map.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "base/option/opt_ini.h"
#include "base/option/opt_value.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const role_words[] = {[DG_KEY_USER] = "user", [DG_KEY_ADMIN] = "admin", NULL};
static const char *const priority_words[] = {
    [DG_KEY_INTERACTIVE] = "interactive", [DG_KEY_NORMAL] = "normal", [DG_KEY_BULK] = "bulk", NULL};

#define T struct dg_key
const struct dg_opt_row dg_key_rows[] = {
    {DG_OPT_ENUM(T, role), "role", .words = role_words, .def = "user",
     .help = "an admin may also administer the server"},
    {DG_OPT_INT_IN(T, requests_per_minute, 0, DG_QUOTA_LIMIT_MAX), "requests-per-minute",
     .def = "0", .help = "requests in a minute; 0 for no limit"},
    {DG_OPT_INT_IN(T, requests_per_hour, 0, DG_QUOTA_LONG_MAX), "requests-per-hour", .def = "0",
     .help = "requests in an hour; 0 for no limit"},
    {DG_OPT_INT_IN(T, requests_per_day, 0, DG_QUOTA_LONG_MAX), "requests-per-day", .def = "0",
     .help = "requests in a day; 0 for no limit"},
    {DG_OPT_INT_IN(T, characters_per_minute, 0, DG_QUOTA_LIMIT_MAX), "characters-per-minute",
     .def = "0", .help = "characters in a minute; 0 for no limit"},
    {DG_OPT_INT_IN(T, characters_per_month, 0, DG_KEY_MONTH_MAX), "characters-per-month",
     .def = "0", .help = "characters in a calendar month (UTC); 0 for no limit"},
    {DG_OPT_ENUM(T, priority), "priority", .words = priority_words, .def = "normal",
     .help = "the priority of its requests, and the highest that they may ask for"},
    {DG_OPT_STRINGS(T, models), "models", .def = "", .max = DG_KEY_MODELS_MAX, .unit = "MODEL,...",
     .help = "the models it may use; empty for all"},
    {DG_OPT_STRING(T, glossary), "glossary", .def = "", .max = 64, .unit = "ID",
     .help = "the glossary that its requests use when they name none; empty for none"},
    {DG_OPT_STRING(T, note), "note", .def = "", .max = 200, .unit = "TEXT",
     .help = "a note for people: whose key it is, and what for"},
};
const size_t dg_key_n_rows = DG_OPT_COUNT(dg_key_rows);
enum { N_ROWS = DG_OPT_COUNT(dg_key_rows) };

enum kind { HASH, WHEN };
static const struct field {
    const char *name;
    enum kind kind;
    size_t at;
} fields[] = {
    {"hash", HASH, offsetof(T, hash)},
    {"created", WHEN, offsetof(T, created_s)},
    {"expires", WHEN, offsetof(T, expires_s)},
    {"old-hash", HASH, offsetof(T, old_hash)},
    {"old-until", WHEN, offsetof(T, old_until_s)},
};
enum { N_FIELDS = DG_OPT_COUNT(fields), FIELD_HASH = 0, FIELD_OLD_HASH = 3, FIELD_OLD_UNTIL = 4 };

/* ---- Keys ------------------------------------------------------------------------------------ */

enum dg_err dg_key_init(struct dg_key *key)
{
    *key = (struct dg_key){.note = NULL};
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < N_ROWS && !err; i++)
        err = dg_opt_value_default(&dg_key_rows[i], key, NULL);
    if (err)
        dg_key_deinit(key);
    return err;
}

void dg_key_deinit(struct dg_key *key)
{
    for (size_t i = 0; i < N_ROWS; i++)
        dg_opt_value_release(&dg_key_rows[i], key);
}

enum dg_err dg_key_check_name(struct dg_span name, struct dg_error *error)
{
    bool ok = name.len >= 1 && name.len <= DG_KEY_NAME_MAX;
    for (size_t i = 0; i < name.len && ok; i++) {
        char c = name.ptr[i];
        ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '.' || c == '_' || c == '-';
    }
    return ok ? DG_OK
              : dg_error_set(
                    error, DG_ERR_INVALID,
                    "read the name \"%.*s\", expected 1 to %d letters, digits, '.', '_' and '-'",
                    (int)(name.len < 80 ? name.len : 80), name.ptr ? name.ptr : "",
                    DG_KEY_NAME_MAX);
}

bool dg_key_allows(const struct dg_key *key, struct dg_span model)
{
    for (size_t i = 0; i < key->models.n; i++)
        if (dg_span_eq(model, dg_span_cstr(key->models.items[i])))
            return true;
    return key->models.n == 0;
}

/* ---- Reading --------------------------------------------------------------------------------- */

struct reader {
    struct dg_key_file *file;
    const char *origin;
    /* borrow from the file's keys, which do not move while it is read */
    struct dg_map names, hashes;
    struct dg_key key; /* the key being read */
    bool has_key;      /* a key is being read */
    unsigned line;     /* a key's section, which begins here */
    uint32_t seen;     /* bits: fields, then rows */
};

static enum dg_err at_line(struct reader *in, unsigned line, enum dg_err err,
                           struct dg_error *error)
{
    return dg_error_wrap(error, err, "%s:%u", in->origin, line);
}

static enum dg_err read_field(const struct field *field, struct dg_span text,
                              struct dg_error *error, struct dg_key *key)
{
    void *into = (char *)key + field->at;
    if (field->kind == WHEN)
        return dg_calendar_parse(text, error, into);
    if (!dg_secret_hash_parse(text, into))
        return dg_error_set(error, DG_ERR_INVALID,
                            "read something else, expected \"blake2b:\" and 64 hexadecimal digits");
    return DG_OK;
}

static enum dg_err read_pair(struct reader *in, const struct dg_opt_ini_item *item,
                             struct dg_error *error)
{
    size_t i = 0;
    enum dg_err err;
    if (!in->has_key && dg_span_eq(item->name, DG_SPAN("keys")) &&
        dg_span_eq(item->value, DG_SPAN("none"))) {
        in->file->is_none = true;
        return DG_OK;
    }
    if (!in->has_key)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "%s:%u: read \"%.*s\" outside of a key, expected [key NAME] first",
                            in->origin, item->line, DG_SPAN_FMT(item->name));
    while (i < N_FIELDS && !dg_span_eq(item->name, dg_span_cstr(fields[i].name)))
        i++;
    while (i >= N_FIELDS && i < N_FIELDS + N_ROWS &&
           !dg_span_eq(item->name, dg_span_cstr(dg_key_rows[i - N_FIELDS].name)))
        i++;
    if (i == N_FIELDS + N_ROWS)
        return dg_error_set(
            error, DG_ERR_INVALID,
            "%s:%u: read the unknown field \"%.*s\", expected one of dragoman-keys(1)", in->origin,
            item->line, DG_SPAN_FMT(item->name));
    if (in->seen & (UINT32_C(1) << i))
        return dg_error_set(error, DG_ERR_EXISTS,
                            "%s:%u: read %.*s again, expected it once in a key", in->origin,
                            item->line, DG_SPAN_FMT(item->name));
    in->seen |= UINT32_C(1) << i;
    if (i < N_FIELDS)
        err = read_field(&fields[i], item->value, error, &in->key);
    else
        err = dg_opt_value_parse(&dg_key_rows[i - N_FIELDS], item->value, &in->key, false, error);
    if (err)
        dg_error_wrap(error, err, "%.*s", DG_SPAN_FMT(item->name));
    return err ? at_line(in, item->line, err, error) : DG_OK;
}

static struct dg_span hash_span(const struct dg_secret_hash *hash)
{
    return dg_span_make((const char *)hash->bytes, sizeof hash->bytes);
}

static bool has(const struct reader *in, int field)
{
    return in->seen & (UINT32_C(1) << field);
}

/* Adds the key that was read to the file, if it is complete. */
static enum dg_err finish_key(struct reader *in, struct dg_error *error)
{
    struct dg_key *key = &in->key;
    if (!in->has_key)
        return DG_OK;
    if (!has(in, FIELD_HASH))
        return dg_error_set(error, DG_ERR_FORMAT, "%s:%u: [key %s] has no hash, expected one",
                            in->origin, in->line, key->name);
    if (has(in, FIELD_OLD_HASH) != has(in, FIELD_OLD_UNTIL))
        return dg_error_set(error, DG_ERR_FORMAT,
                            "%s:%u: [key %s] has %s, expected both old-hash and old-until or none",
                            in->origin, in->line, key->name,
                            has(in, FIELD_OLD_HASH) ? "old-hash" : "old-until");
    if (dg_map_get(&in->hashes, hash_span(&key->hash), NULL) ||
        (key->old_until_s && dg_map_get(&in->hashes, hash_span(&key->old_hash), NULL)))
        return dg_error_set(error, DG_ERR_EXISTS,
                            "%s:%u: [key %s] has the hash of another key, expected its own",
                            in->origin, in->line, key->name);
    struct dg_key *kept = &in->file->keys[in->file->n];
    *kept = *key;
    in->file->n++;
    in->has_key = false; /* the file owns its members now */
    enum dg_err err = dg_map_put_ptr(&in->names, dg_span_cstr(kept->name), kept);
    if (!err)
        err = dg_map_put_ptr(&in->hashes, hash_span(&kept->hash), kept);
    if (!err && kept->old_until_s)
        err = dg_map_put_ptr(&in->hashes, hash_span(&kept->old_hash), kept);
    return err;
}

static enum dg_err begin_key(struct reader *in, const struct dg_opt_ini_item *item,
                             struct dg_error *error)
{
    enum dg_err err = finish_key(in, error);
    if (err)
        return err;
    if (in->file->is_none)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "%s:%u: read a key after \"keys = none\", expected one or the other",
                            in->origin, item->line);
    if (!dg_span_eq(item->name, DG_SPAN("key")))
        return dg_error_set(
            error, DG_ERR_INVALID,
            "%s:%u: read a section of the unknown kind \"%.*s\", expected [key NAME]", in->origin,
            item->line, DG_SPAN_FMT(item->name));
    err = dg_key_check_name(item->value, error);
    if (err)
        return at_line(in, item->line, err, error);
    if (dg_map_get(&in->names, item->value, NULL))
        return dg_error_set(error, DG_ERR_EXISTS,
                            "%s:%u: read [key %.*s] again, expected each name once", in->origin,
                            item->line, DG_SPAN_FMT(item->value));
    if (in->file->n == in->file->cap)
        return dg_error_set(error, DG_ERR_LIMIT, "%s:%u: read one more key, expected at most %d",
                            in->origin, item->line, DG_KEY_FILE_KEYS);
    err = dg_key_init(&in->key);
    if (err)
        return err;
    memcpy(in->key.name, item->value.ptr, item->value.len);
    in->has_key = true;
    in->line = item->line;
    in->seen = 0;
    return DG_OK;
}

/* Reserves room for as many keys as there are brackets, at least one per section. */
static enum dg_err make_room(struct dg_key_file *file, struct dg_span text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len && n < DG_KEY_FILE_KEYS; i++)
        n += text.ptr[i] == '[';
    if (n == 0)
        return DG_OK;
    file->keys = dg_try_calloc(n, sizeof *file->keys);
    file->cap = file->keys ? n : 0;
    return file->keys ? DG_OK : DG_ERR_NOMEM;
}

static bool ends_with(struct dg_span text, struct dg_span end)
{
    return text.len >= end.len && memcmp(text.ptr + text.len - end.len, end.ptr, end.len) == 0;
}

enum dg_err dg_key_file_parse(struct dg_key_file *file, const char *origin, struct dg_span text,
                              struct dg_error *error)
{
    struct dg_key_file found = {.n = 0};
    struct reader in = {.file = &found, .origin = origin};
    struct dg_opt_ini ini;
    struct dg_opt_ini_item item = {.kind = DG_OPT_INI_PAIR};
    dg_map_init(&in.names, DG_KEY_FILE_KEYS);
    dg_map_init(&in.hashes, 2 * (size_t)DG_KEY_FILE_KEYS);
    dg_opt_ini_init(&ini, origin, text);
    enum dg_err err = make_room(&found, text);
    while (!err && item.kind != DG_OPT_INI_END) {
        err = dg_opt_ini_next(&ini, &item, error);
        if (!err && item.kind == DG_OPT_INI_SECTION)
            err = begin_key(&in, &item, error);
        else if (!err && item.kind == DG_OPT_INI_PAIR)
            err = read_pair(&in, &item, error);
    }
    if (!err)
        err = finish_key(&in, error);
    found.is_whole = ends_with(text, DG_SPAN("\n" DG_KEY_FILE_END "\n"));
    if (in.has_key)
        dg_key_deinit(&in.key);
    dg_map_deinit(&in.names);
    dg_map_deinit(&in.hashes);
    if (err)
        dg_key_file_deinit(&found);
    else
        *file = found;
    return err;
}

void dg_key_file_deinit(struct dg_key_file *file)
{
    for (size_t i = 0; i < file->n; i++)
        dg_key_deinit(&file->keys[i]);
    dg_free(file->keys);
    *file = (struct dg_key_file){.n = 0};
}

/* ---- Writing --------------------------------------------------------------------------------- */

static enum dg_err print_field(const struct field *field, const struct dg_key *key,
                               struct dg_buf *out)
{
    const void *from = (const char *)key + field->at;
    char when[DG_CALENDAR_TEXT], hash[DG_SECRET_HASH_TEXT];
    if (field->kind == HASH) {
        if (from == &key->old_hash && key->old_until_s == 0)
            return DG_OK;
        dg_secret_hash_format(from, hash);
        return dg_buf_printf(out, "%s = %s\n", field->name, hash);
    }
    if (*(const uint64_t *)from == 0)
        return DG_OK;
    dg_calendar_format(*(const uint64_t *)from, when);
    return dg_buf_printf(out, "%s = %s\n", field->name, when);
}

/* Writes a value in quotation marks, so that its blanks, '#' and quotation marks survive. */
static enum dg_err print_quoted(const char *name, const char *text, struct dg_buf *out)
{
    enum dg_err err = dg_buf_printf(out, "%s = \"", name);
    for (; *text && !err; text++) {
        if (*text == '"' || *text == '\\')
            err = dg_buf_append_byte(out, '\\');
        if (!err)
            err = dg_buf_append_byte(out, *text);
    }
    return err ? err : dg_buf_append_cstr(out, "\"\n");
}

/* Prints nothing for a value that is the default. */
static enum dg_err print_row(const struct dg_opt_row *row, const struct dg_key *key,
                             struct dg_buf *out)
{
    struct dg_buf value;
    dg_buf_init(&value, 2 * DG_OPT_TEXT_MAX);
    enum dg_err err = dg_opt_value_format(row, key, &value);
    const char *text = value.ptr ? value.ptr : "";
    bool is_quoted = row->type == DG_OPT_TYPE_STRING || strpbrk(text, "#\"\\");
    if (!err && strcmp(text, row->def) != 0)
        err = is_quoted ? print_quoted(row->name, text, out)
                        : dg_buf_printf(out, "%s = %s\n", row->name, text);
    dg_buf_deinit(&value);
    return err;
}

enum dg_err dg_key_file_print(const struct dg_key_file *file, struct dg_buf *out)
{
    size_t before = out->len;
    enum dg_err err = dg_buf_append_cstr(out, "# Keys of dragomand: hashes, no secrets. `dragoman "
                                              "keys` writes this file anew; comments do not\n"
                                              "# survive that, notes do. See dragoman-keys(1).\n");
    if (!err && file->n == 0 && file->is_none)
        err = dg_buf_append_cstr(out, "\nkeys = none\n");
    for (size_t k = 0; k < file->n && !err; k++) {
        const struct dg_key *key = &file->keys[k];
        err = dg_buf_printf(out, "\n[key %s]\n", key->name);
        for (size_t i = 0; i < N_FIELDS && !err; i++)
            err = print_field(&fields[i], key, out);
        for (size_t i = 0; i < N_ROWS && !err; i++)
            err = print_row(&dg_key_rows[i], key, out);
    }
    if (!err)
        err = dg_buf_append_cstr(out, "\n" DG_KEY_FILE_END "\n");
    if (err)
        dg_buf_truncate(out, before);
    return err;
}

/* ---- The file on disk ------------------------------------------------------------------------ */

static enum dg_err check_rights(const struct stat *info, const char *path, struct dg_error *error)
{
    if (!S_ISREG(info->st_mode))
        return dg_error_set(error, DG_ERR_INVALID,
                            "%s is not a regular file, expected a file of keys", path);
    if (info->st_mode & (S_IWGRP | S_IRWXO))
        return dg_error_set(error, DG_ERR_DENIED,
                            "%s has mode %04o, expected one that only its owner may write and "
                            "others may not read; chmod 0640 %s",
                            path, (unsigned)info->st_mode & 07777, path);
    if (geteuid() != 0 && info->st_uid != 0 && info->st_uid != geteuid())
        return dg_error_set(error, DG_ERR_DENIED,
                            "%s belongs to the account %u, expected root or %u, which reads it",
                            path, (unsigned)info->st_uid, (unsigned)geteuid());
    return DG_OK;
}

static enum dg_err read_all(int fd, const char *path, struct dg_buf *text, struct dg_error *error)
{
    char part[16384];
    for (;;) {
        ssize_t n = read(fd, part, sizeof part);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return dg_error_errno(error, "cannot read %s", path);
        if (n == 0)
            return DG_OK;
        enum dg_err err = dg_buf_append(text, part, (size_t)n);
        if (err)
            return dg_error_set(error, err, "%s: %s; at most %d bytes are read", path,
                                dg_err_sentence(err), DG_KEY_FILE_BYTES);
    }
}

enum dg_err dg_key_file_load(struct dg_key_file *file, const char *path, struct dg_error *error)
{
    struct dg_buf text;
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return dg_error_errno(error, "cannot open %s", path);
    dg_buf_init(&text, DG_KEY_FILE_BYTES);
    /* Checks the permissions of the file that was opened: the path may name another file by now. */
    enum dg_err err = fstat(fd, &info) == 0 ? check_rights(&info, path, error)
                                            : dg_error_errno(error, "cannot look at %s", path);
    if (!err)
        err = read_all(fd, path, &text, error);
    if (!err)
        err = dg_key_file_parse(file, path, dg_buf_span(&text), error);
    dg_buf_deinit(&text);
    close(fd);
    return err;
}

enum dg_err dg_key_file_save(const struct dg_key_file *file, const char *path,
                             struct dg_error *error)
{
    struct dg_file_out *out;
    struct dg_buf text;
    uid_t owner;
    gid_t group;
    dg_buf_init(&text, DG_KEY_FILE_BYTES);
    enum dg_err err = dg_key_file_print(file, &text);
    if (err) {
        dg_buf_deinit(&text);
        return err;
    }
    const bool is_new = access(path, F_OK) != 0;
    dg_folder_owner(path, &owner, &group);
    err = dg_file_out_open(&out, path, 0640, error);
    if (!err) {
        if (is_new && geteuid() == 0)
            err = dg_file_out_own(out, owner, group, error);
        if (!err)
            err = dg_file_out_write(out, text.ptr, text.len, error);
        err = dg_file_out_close(out, err, error);
    }
    dg_buf_deinit(&text);
    return err;
}

/* ---- Changes --------------------------------------------------------------------------------- */

struct dg_key *dg_key_file_find(const struct dg_key_file *file, struct dg_span name)
{
    for (size_t i = 0; i < file->n; i++)
        if (dg_span_eq(name, dg_span_cstr(file->keys[i].name)))
            return &file->keys[i];
    return NULL;
}

enum dg_err dg_key_file_add(struct dg_key_file *file, const struct dg_key *key,
                            struct dg_error *error)
{
    if (dg_key_file_find(file, dg_span_cstr(key->name)))
        return dg_error_set(error, DG_ERR_EXISTS, "there is a key called %s already", key->name);
    if (file->n >= DG_KEY_FILE_KEYS)
        return dg_error_set(error, DG_ERR_LIMIT, "there are %d keys already, which is the limit",
                            DG_KEY_FILE_KEYS);
    if (DG_GROW(file->keys, file->n, file->cap, 8))
        return DG_ERR_NOMEM;
    file->keys[file->n++] = *key;
    file->is_none = false;
    return DG_OK;
}

void dg_key_file_remove(struct dg_key_file *file, struct dg_key *key)
{
    size_t at = (size_t)(key - file->keys);
    dg_key_deinit(key);
    memmove(key, key + 1, (file->n - at - 1) * sizeof *key);
    file->n--;
}
