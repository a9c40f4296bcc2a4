/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A statement about a name (a "word" in this file) is the text of a key file with that one key, or
 * an empty text when the key is revoked. A row is
 *
 *     1 DATE MAC\n
 *     TEXT
 *
 * For each name, the line "NAME OWN LENGTH\n" is saved and then the row, which has that length. OWN
 * is the hash of what our own key file last said about the name, or "-". */
#include "access/shared_keys.h"
#include "base/memory/map.h"
#include "base/memory/mem.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum { MAC = 32, MAC_TEXT = 2 * MAC, ROW_MAX = 64 * 1024, HEAD_MAX = 128 };

struct entry {
    char name[DG_KEY_NAME_MAX + 1];
    uint64_t date;          /* milliseconds since 1970, or a little more */
    char *text;             /* owned; "": revoked; NULL: nothing is known yet */
    char own[MAC_TEXT + 1]; /* "": our file does not have it */
    bool is_in_file;        /* while a file is taken */
    struct dg_shared_keys_state state;
};

struct dg_shared_keys {
    unsigned char secret[MAC];
    struct dg_map by_name; /* of struct entry, owned */
};

struct dg_shared_keys *dg_shared_keys_new(struct dg_span secret)
{
    struct dg_shared_keys *keys = dg_xcalloc(1, sizeof *keys);
    crypto_generichash(keys->secret, sizeof keys->secret, (const unsigned char *)secret.ptr,
                       secret.len, NULL, 0);
    dg_map_init(&keys->by_name, DG_SHARED_KEYS_MAX);
    return keys;
}

static void free_entry(struct entry *entry)
{
    dg_free(entry->text);
    dg_free(entry);
}

void dg_shared_keys_free(struct dg_shared_keys *keys)
{
    uint64_t value;
    struct dg_span name;
    if (!keys)
        return;
    for (size_t at = 0; dg_map_next(&keys->by_name, &at, &name, &value);)
        free_entry((struct entry *)(uintptr_t)value);
    dg_map_deinit(&keys->by_name);
    sodium_memzero(keys->secret, sizeof keys->secret);
    dg_free(keys);
}

static struct entry *find(const struct dg_shared_keys *keys, struct dg_span name)
{
    struct entry *entry = dg_map_get_ptr(&keys->by_name, name);
    return entry && entry->text ? entry : NULL;
}

/* Returns the entry of that name, made if there is none; NULL: there is no memory. */
static struct entry *find_or_make(struct dg_shared_keys *keys, struct dg_span name)
{
    struct entry *entry = dg_map_get_ptr(&keys->by_name, name);
    if (entry || name.len > DG_KEY_NAME_MAX)
        return entry;
    entry = dg_try_calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    memcpy(entry->name, name.ptr, name.len);
    if (dg_map_put_ptr(&keys->by_name, dg_span_cstr(entry->name), entry) == DG_OK)
        return entry;
    free_entry(entry);
    return NULL;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void make_mac(const struct dg_shared_keys *keys, struct dg_span name, uint64_t date,
                     struct dg_span text, char hex[MAC_TEXT + 1])
{
    unsigned char mac[MAC];
    char head[HEAD_MAX];
    crypto_generichash_state state;
    const int len = snprintf(head, sizeof head, "key %.*s %" PRIu64 "\n", DG_SPAN_FMT(name), date);
    crypto_generichash_init(&state, keys->secret, sizeof keys->secret, sizeof mac);
    crypto_generichash_update(&state, (const unsigned char *)head, (size_t)len);
    crypto_generichash_update(&state, (const unsigned char *)(text.len ? text.ptr : ""), text.len);
    crypto_generichash_final(&state, mac, sizeof mac);
    sodium_bin2hex(hex, MAC_TEXT + 1, mac, sizeof mac);
}

static enum dg_err print_entry(const struct dg_shared_keys *keys, const struct entry *entry,
                               struct dg_buf *row)
{
    char hex[MAC_TEXT + 1];
    make_mac(keys, dg_span_cstr(entry->name), entry->date, dg_span_cstr(entry->text), hex);
    return dg_buf_printf(row, "1 %" PRIu64 " %s\n%s", entry->date, hex, entry->text);
}

enum dg_err dg_shared_keys_print_row(const struct dg_shared_keys *keys, struct dg_span name,
                                     struct dg_buf *row)
{
    const struct entry *entry = find(keys, name);
    return entry ? print_entry(keys, entry, row) : DG_ERR_NOT_FOUND;
}

/* Returns true when `text` is a key file that has this key and no other, or "". */
static bool is_word(struct dg_span name, struct dg_span text)
{
    struct dg_key_file file = {.n = 0};
    struct dg_error error = DG_ERROR_NONE;
    if (text.len == 0)
        return true;
    const bool is_good = dg_key_file_parse(&file, "a shared key", text, &error) == DG_OK &&
                         file.n == 1 && dg_span_eq(name, dg_span_cstr(file.keys[0].name));
    dg_key_file_deinit(&file);
    return is_good;
}

static bool read_row(const struct dg_shared_keys *keys, struct dg_span name, struct dg_span row,
                     uint64_t *date, struct dg_span *text)
{
    struct dg_error error = DG_ERROR_NONE;
    char head[HEAD_MAX], hex[MAC_TEXT + 1], said[MAC_TEXT + 1];
    int end = 0;
    const char *newline = row.len && row.len <= ROW_MAX ? memchr(row.ptr, '\n', row.len) : NULL;
    if (!newline || memchr(row.ptr, '\0', row.len) || (size_t)(newline - row.ptr) >= sizeof head ||
        dg_key_check_name(name, &error) != DG_OK)
        return false;
    snprintf(head, sizeof head, "%.*s", (int)(newline - row.ptr), row.ptr);
    if (sscanf(head, "1 %16" SCNu64 " %64[0-9a-f]%n", date, said, &end) != 2 ||
        strlen(said) != MAC_TEXT || head[end])
        return false;
    *text = dg_span_sub(row, (size_t)(newline - row.ptr) + 1, row.len);
    make_mac(keys, name, *date, *text, hex);
    return sodium_memcmp(hex, said, MAC_TEXT) == 0 && is_word(name, *text);
}

static bool set_word(struct entry *entry, uint64_t date, struct dg_span text)
{
    char *copy = dg_try_malloc(text.len + 1);
    if (!copy)
        return false;
    memcpy(copy, text.len ? text.ptr : "", text.len);
    copy[text.len] = '\0';
    dg_free(entry->text);
    entry->text = copy;
    entry->date = date;
    return true;
}

/* Orders two statements as every server does: the one with the later date counts; of two with the
 * same date a revocation, otherwise the lesser text. */
static int compare(uint64_t date, struct dg_span text, const struct entry *entry)
{
    const size_t len = strlen(entry->text);
    if (date != entry->date)
        return date < entry->date ? -1 : 1;
    const int order =
        memcmp(text.len ? text.ptr : "", entry->text, text.len < len ? text.len : len);
    if (order != 0 || text.len == len)
        return order < 0 ? 1 : order > 0 ? -1 : 0;
    return text.len < len ? 1 : -1;
}

enum dg_shared_keys_verdict dg_shared_keys_take_row(struct dg_shared_keys *keys,
                                                    struct dg_span name, struct dg_span row)
{
    uint64_t date;
    struct dg_span text;
    if (!read_row(keys, name, row, &date, &text))
        return DG_SHARED_KEYS_FALSE;
    struct entry *entry = find_or_make(keys, name);
    if (!entry)
        return DG_SHARED_KEYS_FALSE;
    const int order = entry->text ? compare(date, text, entry) : 1;
    entry->state.is_new = order < 0;
    if (order <= 0)
        return order == 0 ? DG_SHARED_KEYS_SAME : DG_SHARED_KEYS_OLDER;
    return set_word(entry, date, text) ? DG_SHARED_KEYS_NEWER : DG_SHARED_KEYS_FALSE;
}

/* ---- Our own file ---------------------------------------------------------------------------- */

static enum dg_err print_key(const struct dg_key *key, struct dg_buf *text)
{
    const struct dg_key_file file = {.keys = (struct dg_key *)key, .n = 1};
    const enum dg_err err = dg_key_file_print(&file, text);
    const char *begin = err ? NULL : strstr(text->ptr, "[key ");
    if (begin) /* without the comment on top */
        dg_buf_consume(text, (size_t)(begin - text->ptr));
    return err;
}

static void hash_text(struct dg_span text, char hex[MAC_TEXT + 1])
{
    unsigned char hash[MAC];
    crypto_generichash(hash, sizeof hash, (const unsigned char *)text.ptr, text.len, NULL, 0);
    sodium_bin2hex(hex, MAC_TEXT + 1, hash, sizeof hash);
}

/* Notes what our own key file states from now on. */
static enum dg_err say(struct entry *entry, uint64_t now_ms, struct dg_span text)
{
    const uint64_t date = now_ms > entry->date ? now_ms : entry->date + 1;
    if (!set_word(entry, date, text))
        return DG_ERR_NOMEM;
    entry->state.is_new = true;
    return DG_OK;
}

static enum dg_err take_key(struct dg_shared_keys *keys, const struct dg_key *key, uint64_t now_ms,
                            struct dg_span text)
{
    char hash[MAC_TEXT + 1];
    const uint64_t made = key->created_s ? key->created_s * 1000 : 1;
    enum dg_err err = DG_OK;
    struct entry *entry = find_or_make(keys, dg_span_cstr(key->name));
    if (!entry)
        return DG_ERR_NOMEM;
    hash_text(text, hash);
    entry->is_in_file = true;
    if (!*entry->own && (!entry->text || compare(made, text, entry) > 0)) {
        err = set_word(entry, made, text) ? DG_OK : DG_ERR_NOMEM;
        entry->state.is_new = true;
    } else if (*entry->own && strcmp(entry->own, hash) != 0) {
        err = say(entry, now_ms, text);
    }
    if (!err)
        memcpy(entry->own, hash, sizeof hash);
    return err;
}

enum dg_err dg_shared_keys_take_file(struct dg_shared_keys *keys, const struct dg_key_file *file,
                                     uint64_t now_ms, struct dg_error *error)
{
    enum dg_err err = DG_OK;
    struct dg_span name;
    uint64_t value;
    if (file->n == 0 && !file->is_none)
        return dg_error_set(error, DG_ERR_INVALID,
                            "it has neither a key nor the line \"keys = none\", which says that "
                            "this is on purpose");
    for (size_t i = 0; !err && i < file->n; i++) {
        struct dg_buf text;
        dg_buf_init(&text, ROW_MAX - HEAD_MAX);
        err = print_key(&file->keys[i], &text);
        if (!err)
            err = take_key(keys, &file->keys[i], now_ms, dg_buf_span(&text));
        dg_buf_deinit(&text);
    }
    for (size_t at = 0; dg_map_next(&keys->by_name, &at, &name, &value);) {
        struct entry *entry = (struct entry *)(uintptr_t)value;
        if (!err && !entry->is_in_file && *entry->own) {
            err = *entry->text ? say(entry, now_ms, DG_SPAN("")) : DG_OK;
            if (!err)
                entry->own[0] = '\0';
        }
        entry->is_in_file = false;
    }
    return err ? dg_error_set(error, err, "%s", dg_err_sentence(err)) : DG_OK;
}

/* ---- All of them ----------------------------------------------------------------------------- */

bool dg_shared_keys_next(const struct dg_shared_keys *keys, size_t *at, const char **name,
                         struct dg_shared_keys_state **state)
{
    struct dg_span key;
    uint64_t value;
    while (dg_map_next(&keys->by_name, at, &key, &value)) {
        struct entry *entry = (struct entry *)(uintptr_t)value;
        *name = entry->name;
        *state = &entry->state;
        if (entry->text)
            return true;
    }
    return false;
}

struct dg_shared_keys_state *dg_shared_keys_state_of(const struct dg_shared_keys *keys,
                                                     struct dg_span name)
{
    struct entry *entry = find(keys, name);
    return entry ? &entry->state : NULL;
}

enum dg_err dg_shared_keys_make(const struct dg_shared_keys *keys, struct dg_key_file *file)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_buf all;
    struct dg_span name;
    uint64_t value;
    enum dg_err err = DG_OK;
    dg_buf_init(&all, DG_SHARED_KEYS_BYTES);
    for (size_t at = 0; !err && dg_map_next(&keys->by_name, &at, &name, &value);) {
        const struct entry *entry = (const struct entry *)(uintptr_t)value;
        err = dg_buf_append_cstr(&all, entry->text ? entry->text : "");
    }
    if (!err && all.len == 0)
        err = dg_buf_append_cstr(&all, "keys = none\n");
    if (!err)
        err = dg_key_file_parse(file, "shared keys", dg_buf_span(&all), &error);
    dg_buf_deinit(&all);
    return err;
}

/* ---- Saved ----------------------------------------------------------------------------------- */

enum dg_err dg_shared_keys_save(const struct dg_shared_keys *keys, struct dg_buf *text)
{
    struct dg_buf row;
    struct dg_span name;
    uint64_t value;
    enum dg_err err = DG_OK;
    dg_buf_init(&row, ROW_MAX);
    for (size_t at = 0; !err && dg_map_next(&keys->by_name, &at, &name, &value);) {
        const struct entry *entry = (const struct entry *)(uintptr_t)value;
        if (!entry->text)
            continue;
        dg_buf_clear(&row);
        err = print_entry(keys, entry, &row);
        if (!err)
            err = dg_buf_printf(text, "%s %s %zu\n", entry->name, *entry->own ? entry->own : "-",
                                row.len);
        if (!err)
            err = dg_buf_append_span(text, dg_buf_span(&row));
    }
    dg_buf_deinit(&row);
    return err;
}

/* Loads one name, whose head is the line at `at`; false: it is damaged. */
static bool load_one(struct dg_shared_keys *keys, struct dg_span text, size_t *at)
{
    char head[2 * HEAD_MAX + 1], name[DG_KEY_NAME_MAX + 1], own[MAC_TEXT + 1];
    size_t len;
    int end = 0;
    const struct dg_span rest = dg_span_sub(text, *at, text.len);
    const char *newline = memchr(rest.ptr, '\n', rest.len);
    if (!newline || (size_t)(newline - rest.ptr) >= sizeof head)
        return false;
    snprintf(head, sizeof head, "%.*s", (int)(newline - rest.ptr), rest.ptr);
    if (sscanf(head, "%64s %64s %6zu%n", name, own, &len, &end) != 3 || head[end] ||
        (strlen(own) != MAC_TEXT && strcmp(own, "-") != 0))
        return false;
    const size_t begin = *at + (size_t)(newline - rest.ptr) + 1;
    const struct dg_span row = dg_span_sub(text, begin, len);
    if (row.len != len ||
        dg_shared_keys_take_row(keys, dg_span_cstr(name), row) == DG_SHARED_KEYS_FALSE)
        return false;
    struct entry *entry = find(keys, dg_span_cstr(name));
    if (entry && *own != '-')
        memcpy(entry->own, own, sizeof own);
    *at = begin + len;
    return true;
}

enum dg_err dg_shared_keys_load(struct dg_shared_keys *keys, struct dg_span text,
                                struct dg_error *error)
{
    for (size_t at = 0; at < text.len;)
        if (!load_one(keys, text, &at))
            return dg_error_set(error, DG_ERR_FORMAT,
                                "it is damaged at byte %zu, or was written with another secret",
                                at);
    return DG_OK;
}
