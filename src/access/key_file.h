/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The key file: who may use this server, and how much. It holds hashes, not secrets.
 *
 *     [key alice]
 *     hash = blake2b:5f1b...                      64 hexadecimal digits; required
 *     created = 2026-11-21T22:00:00Z
 *     expires = 2027-11-21                        from then on the key is refused
 *     role = user                                 or admin, which also permits administration
 *     requests-per-minute = 60                    0 or absent: no limit
 *     characters-per-minute = 20k
 *     characters-per-month = 5M
 *     priority = normal                           the highest: interactive, normal or bulk
 *     models = fr-en, de-en                       absent: all
 *     glossary = ID                               for requests that name none
 *     note = whose key this is
 *     old-hash, old-until                         the secret before a rotation, valid until then
 *
 * A file may say, before anything else, that it has no keys on purpose, because the last one was
 * revoked. A file that has neither keys nor this line was emptied by mistake:
 *
 *     keys = none
 *
 * The grammar is the configuration's (base/option/opt_ini.h): comments, quotes, strictness,
 * refusals with file and line. To change a file, take its lock, read it, and replace the whole
 * file:
 *
 *     err = dg_file_lock_take(&lock, path, 5000, &error);
 *     err = dg_key_file_load(&file, path, &error);
 *     err = dg_key_file_add(&file, &key, &error);       takes what the key owns
 *     err = dg_key_file_save(&file, path, &error);
 *     dg_key_file_deinit(&file);
 *     dg_file_lock_drop(&lock);
 *
 * Any thread, one at a time for each struct dg_key_file. */
#ifndef DG_ACCESS_KEY_FILE_H
#define DG_ACCESS_KEY_FILE_H

#include "access/secret.h"
#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"
#include "base/option/opt.h"

enum dg_key_role { DG_KEY_USER, DG_KEY_ADMIN };
enum dg_key_priority { DG_KEY_INTERACTIVE, DG_KEY_NORMAL, DG_KEY_BULK };

enum {
    DG_KEY_NAME_MAX = 64,
    DG_KEY_MODELS_MAX = 64,
    DG_KEY_FILE_KEYS = 100000, /* most keys of one file */
    DG_KEY_FILE_BYTES = 64 << 20,
};
#define DG_KEY_MONTH_MAX INT64_C(1000000000000000)

struct dg_key {
    char name[DG_KEY_NAME_MAX + 1];
    struct dg_secret_hash hash, old_hash;
    uint64_t old_until_s; /* 0: there is no old secret */
    uint64_t created_s;   /* 0: unknown */
    uint64_t expires_s;   /* 0: never */
    int role;             /* enum dg_key_role */
    int priority;         /* enum dg_key_priority */
    int64_t requests_per_minute, requests_per_hour, requests_per_day; /* 0: no limit */
    int64_t characters_per_minute, characters_per_month;              /* 0: no limit */
    struct dg_opt_list models;                                        /* owned; empty: all */
    const char *glossary; /* owned; the id of the glossary for requests that name none; "": none */
    const char *note;     /* owned; never NULL after init */
};

/* The fields of a key that people may set, as option rows: requests-per-minute,
 * characters-per-minute, characters-per-month, role, priority, models, note. Their `at` is an
 * offset in struct dg_key. */
extern const struct dg_opt_row dg_key_rows[];
extern const size_t dg_key_n_rows;

/* Sets all fields to their defaults, and name and hash to nothing. Fails only with DG_ERR_NOMEM. */
enum dg_err dg_key_init(struct dg_key *key) DG_MUST_CHECK;
void dg_key_deinit(struct dg_key *key);

/* Checks a name: 1 to 64 letters, digits, '.', '_' and '-'. */
enum dg_err dg_key_check_name(struct dg_span name, struct dg_error *error) DG_MUST_CHECK;

/* Returns whether the key may use a model of this name. */
bool dg_key_allows(const struct dg_key *key, struct dg_span model);

struct dg_key_file {
    struct dg_key *keys; /* [n] owned, in the order of the file */
    size_t n, cap;
    bool is_none;  /* the file states that it has no keys on purpose */
    bool is_whole; /* set by reading: the last line is DG_KEY_FILE_END */
};

/* The line that `dragoman keys` writes last. Servers that share keys read a changed file without
 * being told, and a file that is still being written does not end with this line. */
#define DG_KEY_FILE_END "# end of keys"

/* Reads the text of a key file. `origin` names the text in refusals. Two keys with the same name or
 * secret are refused. */
enum dg_err dg_key_file_parse(struct dg_key_file *file, const char *origin, struct dg_span text,
                              struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_key_file_print(const struct dg_key_file *file,
                              struct dg_buf *out) DG_MUST_CHECK; /* mirror */
void dg_key_file_deinit(struct dg_key_file *file);               /* a zeroed one is fine */

/* Refuses a file that anybody but its owner may write, that others may read, or that belongs to
 * neither root nor this user (root accepts any owner). */
enum dg_err dg_key_file_load(struct dg_key_file *file, const char *path,
                             struct dg_error *error) DG_MUST_CHECK;

/* Replaces the file in one step, keeping its owner, group and mode. A new one has mode 0640 and,
 * when root makes it, the owner and group of its folder. */
enum dg_err dg_key_file_save(const struct dg_key_file *file, const char *path,
                             struct dg_error *error) DG_MUST_CHECK;

/* Returns the key of that name, or NULL. */
struct dg_key *dg_key_file_find(const struct dg_key_file *file, struct dg_span name);

/* Adds a key. DG_ERR_EXISTS: the name is taken. On success the file owns what the key owned. */
enum dg_err dg_key_file_add(struct dg_key_file *file, const struct dg_key *key,
                            struct dg_error *error) DG_MUST_CHECK;
void dg_key_file_remove(struct dg_key_file *file, struct dg_key *key);

#endif
