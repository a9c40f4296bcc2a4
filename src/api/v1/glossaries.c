/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A file is JSON: {"id", "owner", "address", "name", "created", "shared", "dictionaries":
 * [{"source", "target", "terms": [...]}]}. */
#include "api/v1/glossaries.h"
#include "api/http/api_int.h"
#include "api/http/client_share.h"
#include "api/v1/glossaries_int.h"
#include "api/v1/glossary_json.h"
#include "api/v1/job.h"
#include "base/file/file_out.h"
#include "base/file/folder.h"
#include "base/file/map_file.h"
#include "base/memory/mem.h"
#include "engine/request/terms_json.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    VALUES_MAX = 2000000,
    WAITING_MAX = 64,
    TRIES = 10 /* attempts to share a change */
};

/* ---- Entries --------------------------------------------------------------------------------- */

void dg_glossaries_free_entry(struct dg_glossaries_entry *entry)
{
    if (!entry)
        return;
    dg_glossary_unref(entry->glossary);
    dg_free(entry);
}

void dg_glossaries_link(struct dg_glossaries *store, struct dg_glossaries_entry *entry)
{
    dg_list_link_last(&store->all, &entry->link);
    store->n++;
    store->bytes += dg_glossary_bytes(entry->glossary);
}

void dg_glossaries_unlink(struct dg_glossaries *store, struct dg_glossaries_entry *entry)
{
    dg_list_unlink(&entry->link);
    store->n--;
    store->bytes -= dg_glossary_bytes(entry->glossary);
}

void dg_glossaries_init(struct dg_glossaries *store)
{
    *store = (struct dg_glossaries){
        .opts = {
            .dir = "", .n_max = 1000, .bytes_max = DG_GLOSSARIES_FILE, .whose = DG_GLOSSARIES_ALL}};
    dg_list_init(&store->all);
    dg_list_init(&store->running);
    dg_list_init(&store->waiting);
}

void dg_glossaries_deinit(struct dg_glossaries *store)
{
    dg_redis_table_free(store->table);
    while (!dg_list_is_empty(&store->waiting))
        dg_glossaries_change_free(
            DG_LIST_ITEM(dg_list_pop_first(&store->waiting), struct dg_glossaries_change, link));
    while (!dg_list_is_empty(&store->all)) {
        struct dg_glossaries_entry *entry =
            DG_LIST_ITEM(store->all.next, struct dg_glossaries_entry, link);
        dg_glossaries_unlink(store, entry);
        dg_glossaries_free_entry(entry);
    }
}

struct dg_glossaries_entry *dg_glossaries_by_id(const struct dg_glossaries *store,
                                                struct dg_span id)
{
    for (struct dg_list *at = store->all.next; at != &store->all; at = at->next) {
        struct dg_glossaries_entry *entry = DG_LIST_ITEM(at, struct dg_glossaries_entry, link);
        if (dg_span_eq(id, dg_span_cstr(entry->id)))
            return entry;
    }
    return NULL;
}

struct dg_glossaries_entry *dg_glossaries_find(const struct dg_glossaries *store, struct dg_span id,
                                               struct dg_span owner, bool is_admin)
{
    struct dg_glossaries_entry *entry = dg_glossaries_by_id(store, id);
    if (!entry || is_admin || entry->is_shared || dg_span_eq(owner, dg_span_cstr(entry->owner)))
        return entry;
    return NULL;
}

struct dg_failure dg_glossaries_unknown(const struct dg_glossaries *store,
                                        struct dg_failure unknown)
{
    return dg_redis_table_is_current(store->table) ? unknown : dg_call_redis_away;
}

/* ---- Files ----------------------------------------------------------------------------------- */

enum dg_err dg_glossaries_print(const struct dg_glossaries_entry *entry, struct dg_buf *buf)
{
    struct dg_json_out out;
    size_t n;
    const struct dg_dictionary *dictionaries = dg_glossary_dictionaries(entry->glossary, &n);
    dg_json_out_init(&out, buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "id", entry->id);
    dg_json_out_put_cstr(&out, "owner", entry->owner);
    dg_json_out_put_cstr(&out, "address", entry->address);
    dg_json_out_put_cstr(&out, "name", entry->name);
    dg_json_out_put_cstr(&out, "created", entry->created);
    dg_json_out_put_bool(&out, "shared", entry->is_shared);
    dg_json_out_put_open(&out, "dictionaries", '[');
    for (size_t i = 0; i < n; i++) {
        dg_json_out_open(&out, '{');
        dg_json_out_put_cstr(&out, "source", dictionaries[i].source.text);
        dg_json_out_put_cstr(&out, "target", dictionaries[i].target.text);
        dg_json_out_key(&out, "terms");
        dg_engine_put_glossary(&out, &dictionaries[i]);
        dg_json_out_close(&out, '}');
    }
    dg_json_out_close(&out, ']');
    dg_json_out_close(&out, '}');
    return dg_json_out_end(&out);
}

static enum dg_err copy_field(const struct dg_json *json, const char *name, char *out, size_t cap,
                              struct dg_error *error)
{
    struct dg_span text = {NULL, 0};
    enum dg_err err = dg_json_get_string(json, name, DG_JSON_REQUIRED, error, &text);
    if (!err && (text.len >= cap || memchr(text.ptr, '\0', text.len)))
        err = dg_error_set(error, DG_ERR_INVALID, "field '%s' is too long", name);
    if (err)
        return err;
    memcpy(out, text.ptr, text.len);
    out[text.len] = '\0';
    return DG_OK;
}

static enum dg_err read_dictionary(const struct dg_json *json, struct dg_glossary *glossary,
                                   struct dg_error *error)
{
    char source[DG_LANGTAG_TEXT], target[DG_LANGTAG_TEXT];
    enum dg_err err = copy_field(json, "source", source, sizeof source, error);
    if (!err)
        err = copy_field(json, "target", target, sizeof target, error);
    if (!err)
        err = dg_glossary_begin(glossary, source, target, error);
    return err ? err
               : dg_glossary_json_add(glossary, dg_json_get(json, "terms"), "terms",
                                      DG_GLOSSARY_TERMS, error);
}

enum dg_err dg_glossaries_read(struct dg_glossaries_entry *entry, struct dg_span text,
                               struct dg_error *error)
{
    const struct dg_json_limits limits = {
        .max_bytes = DG_GLOSSARIES_FILE, .max_depth = 8, .max_values = VALUES_MAX};
    struct dg_json *json = NULL;
    const struct dg_json *dictionaries = NULL;
    enum dg_err err = dg_json_parse(text, &limits, error, &json);
    if (err)
        return err;
    err = copy_field(json, "id", entry->id, sizeof entry->id, error);
    if (!err)
        err = copy_field(json, "owner", entry->owner, sizeof entry->owner, error);
    if (!err && dg_json_get(json, "address"))
        err = copy_field(json, "address", entry->address, sizeof entry->address, error);
    if (!err)
        err = copy_field(json, "name", entry->name, sizeof entry->name, error);
    if (!err)
        err = copy_field(json, "created", entry->created, sizeof entry->created, error);
    if (!err)
        err = dg_json_get_bool(json, "shared", DG_JSON_REQUIRED, error, &entry->is_shared);
    if (!err)
        err = dg_json_get_array(json, "dictionaries", DG_JSON_REQUIRED, error, &dictionaries);
    if (!err && !(entry->glossary = dg_glossary_new(NULL)))
        err = DG_ERR_NOMEM;
    for (size_t i = 0; !err && i < dg_json_len(dictionaries); i++)
        err = read_dictionary(dg_json_at(dictionaries, i), entry->glossary, error);
    if (!err)
        err = dg_glossary_seal(entry->glossary, error);
    dg_json_free(json);
    return err;
}

/* Reads a file of the folder, which is named by the glossary's id. */
static enum dg_err load(struct dg_glossaries *store, const char *name, struct dg_error *error)
{
    char path[DG_GLOSSARIES_PATH];
    struct dg_map_file file = {0};
    struct dg_glossaries_entry *entry = dg_try_calloc(1, sizeof *entry);
    if (!entry)
        return DG_ERR_NOMEM;
    snprintf(path, sizeof path, "%s/%s", store->dir, name);
    enum dg_err err = dg_map_file_read(&file, path, DG_GLOSSARIES_FILE, error);
    if (!err)
        err = dg_glossaries_read(entry, dg_span_make((const char *)file.bytes, file.len), error);
    dg_map_file_close(&file);
    if (!err &&
        (strncmp(entry->id, name, DG_GLOSSARIES_ID) != 0 || strlen(entry->id) != DG_GLOSSARIES_ID))
        err = dg_error_set(error, DG_ERR_INTEGRITY, "its id differs from its file's name");
    if (err) {
        dg_glossaries_free_entry(entry);
        return dg_error_wrap(error, err, "%s", path);
    }
    dg_glossaries_link(store, entry);
    return DG_OK;
}

static int compare_created(const void *a, const void *b)
{
    const struct dg_glossaries_entry *x = *(const struct dg_glossaries_entry *const *)a;
    const struct dg_glossaries_entry *y = *(const struct dg_glossaries_entry *const *)b;
    int order = strcmp(x->created, y->created);
    return order ? order : strcmp(x->id, y->id);
}

/* Sorts the glossaries by age, oldest first, whatever their order in the folder. */
static void sort_entries(struct dg_glossaries *store)
{
    size_t n = 0;
    struct dg_glossaries_entry **sorted = dg_try_calloc(store->n + 1, sizeof *sorted);
    if (!sorted)
        return;
    while (!dg_list_is_empty(&store->all))
        sorted[n++] =
            DG_LIST_ITEM(dg_list_pop_first(&store->all), struct dg_glossaries_entry, link);
    qsort(sorted, n, sizeof *sorted, compare_created);
    for (size_t i = 0; i < n; i++)
        dg_list_link_last(&store->all, &sorted[i]->link);
    dg_free(sorted);
}

enum dg_err dg_glossaries_open(struct dg_glossaries *store, const struct dg_glossaries_opts *opts,
                               struct dg_log *log, struct dg_error *error)
{
    store->opts = *opts;
    store->log = log;
    snprintf(store->dir, sizeof store->dir, "%s", opts->dir);
    if (!*opts->dir)
        return DG_OK;
    if (mkdir(store->dir, 0750) != 0 && errno != EEXIST)
        return dg_error_set(error, DG_ERR_IO, "glossaries-dir: cannot make %s: %s", store->dir,
                            strerror(errno));
    DIR *folder = dg_folder_open(store->dir);
    if (!folder)
        return dg_error_set(error, DG_ERR_IO, "glossaries-dir: cannot open %s: %s", store->dir,
                            strerror(errno));
    if (access(store->dir, W_OK) != 0) {
        closedir(folder);
        return dg_error_set(error, DG_ERR_DENIED, "glossaries-dir: cannot write to %s: %s",
                            store->dir, strerror(errno));
    }
    for (struct dirent *item; (item = readdir(folder));) {
        struct dg_error fault = DG_ERROR_NONE;
        if (!dg_span_ends(dg_span_cstr(item->d_name), DG_SPAN(".json")) ||
            strlen(item->d_name) != DG_GLOSSARIES_ID + 5)
            continue;
        enum dg_err err = load(store, item->d_name, &fault);
        if (err)
            dg_log_event(log, DG_LOG_ERROR, "glossaries", DG_LOG_FIELDS(dg_log_err(err)),
                         "a glossary is skipped: %s", dg_error_text(&fault, err));
    }
    closedir(folder);
    sort_entries(store);
    return DG_OK;
}

void dg_glossaries_path(const struct dg_glossaries *store, const char *id,
                        char path[DG_GLOSSARIES_PATH])
{
    snprintf(path, DG_GLOSSARIES_PATH, "%s/%s.json", store->dir, id);
}

/* ---- Changes --------------------------------------------------------------------------------- */

/* Not by snprintf, which takes memory for so many values, and writes nothing when it gets none. */
static void make_id(char id[DG_GLOSSARIES_ID + 1])
{
    unsigned char b[16];
    randombytes_buf(b, sizeof b);
    b[6] = (unsigned char)((b[6] & 0x0F) | 0x40); /* the version and the variant of RFC 9562,
                                                     version 4 */
    b[8] = (unsigned char)((b[8] & 0x3F) | 0x80);
    char hex[2 * sizeof b + 1];
    sodium_bin2hex(hex, sizeof hex, b, sizeof b);
    for (size_t i = 0, at = 0; i <= DG_GLOSSARIES_ID; i++)
        id[i] = i == 8 || i == 13 || i == 18 || i == 23 ? '-' : hex[at++];
}

/* Makes the time of a glossary. No two have the same millisecond, because a later start knows their
 * order by their times. */
static void make_time(struct dg_glossaries *store, const struct dg_clock *clock,
                      char text[DG_GLOSSARIES_TIME])
{
    struct tm parts;
    char seconds[24];
    const uint64_t now_ms = dg_clock_wall(clock) / DG_CLOCK_MS;
    store->last_ms = now_ms > store->last_ms ? now_ms : store->last_ms + 1;
    gmtime_r(&(time_t){(time_t)(store->last_ms / 1000)}, &parts);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text, DG_GLOSSARIES_TIME, "%s.%03dZ", seconds, (int)(store->last_ms % 1000));
}

static void free_change(struct dg_work *work)
{
    dg_glossaries_change_free(DG_LIST_ITEM(work, struct dg_glossaries_change, work));
}

static const struct dg_work_ops change_ops = {.free = free_change};

struct dg_glossaries_change *dg_glossaries_change_new(struct dg_call *call,
                                                      const struct dg_glossaries_entry *replaced,
                                                      struct dg_span text)
{
    struct dg_glossaries_change *change = dg_try_calloc(1, sizeof *change);
    struct dg_glossaries_entry *entry = change ? dg_try_calloc(1, sizeof *entry) : NULL;
    if (!entry) {
        dg_free(change);
        return NULL;
    }
    dg_work_init(&change->work, call->api, call, &change_ops);
    change->entry = entry;
    change->is_new = !replaced;
    change->may_share = dg_gate_is_admin(call);
    dg_list_init(&change->link);
    dg_list_init(&entry->link);
    if (replaced) {
        *entry = *replaced;
        entry->glossary = NULL;
        dg_list_init(&entry->link);
    } else {
        make_id(entry->id);
        make_time(&call->api->glossaries, &call->api->clock, entry->created);
        snprintf(entry->owner, sizeof entry->owner, "%s", dg_gate_name(call));
        snprintf(entry->address, sizeof entry->address, "%s", dg_gate_address(call).text);
        entry->client = dg_gate_client(call);
    }
    dg_buf_init(&change->file, DG_GLOSSARIES_FILE);
    dg_buf_init(&change->text, text.len + 1);
    if (dg_buf_append_span(&change->text, text) == DG_OK)
        return change;
    dg_glossaries_change_free(change);
    return NULL;
}

void dg_glossaries_change_free(struct dg_glossaries_change *change)
{
    dg_glossaries_free_entry(change->entry);
    dg_glossary_unref(change->base);
    dg_free(change->parts);
    dg_buf_deinit(&change->text);
    dg_buf_deinit(&change->file);
    dg_free(change);
}

/* Checks that there is room for what was read, in addition to what other changes have reserved. */
static void reserve(struct dg_glossaries *store, struct dg_glossaries_change *change)
{
    size_t size = dg_glossary_bytes(change->entry->glossary);
    change->reserved = size;
    const size_t all = (store->reserved += size) + store->bytes;
    if (size <= change->own_max && all <= store->opts.bytes_max + change->freed)
        return;
    change->err =
        size > change->own_max
            ? dg_error_set(&change->error, DG_ERR_LIMIT,
                           "the glossary takes %zu bytes, but only %zu are left of one client's "
                           "share; delete one first",
                           size, change->own_max)
            : dg_error_set(&change->error, DG_ERR_LIMIT,
                           "there is no room for another %zu bytes of glossaries; delete one first",
                           size);
    change->is_bad = change->is_full = true;
}

/* Reads the change, then writes it. Any thread. */
static void run_glossary_work(struct dg_offload_task *task)
{
    struct dg_glossaries_change *change = (struct dg_glossaries_change *)task;
    /* Reads only the limits and the folder of the store, which do not change. */
    struct dg_glossaries *store = &change->work.api->glossaries;
    char path[DG_GLOSSARIES_PATH];
    change->err = change->read(change);
    change->is_bad = change->err && change->err != DG_ERR_NOMEM;
    if (!change->err && !change->may_be_empty &&
        dg_glossary_n_terms(change->entry->glossary) == 0) {
        change->err =
            dg_error_set(&change->error, DG_ERR_INVALID, "read no terms, expected one or more");
        change->is_bad = true;
    }
    if (!change->err)
        reserve(store, change);
    if (!change->err && (*store->dir || store->table)) {
        dg_glossaries_path(store, change->entry->id, path);
        change->err = dg_glossaries_print(change->entry, &change->file);
        if (!change->err && !store->table)
            change->err =
                dg_file_out_save(path, 0640, change->file.ptr, change->file.len, &change->error);
        if (change->err && change->err != DG_ERR_NO_SPACE && change->err != DG_ERR_NOMEM)
            change->err = DG_ERR_IO; /* the request is not to blame, whatever the error was */
    }
}

static void remove_file(const struct dg_glossaries *store, const char *id)
{
    char path[DG_GLOSSARIES_PATH];
    dg_glossaries_path(store, id, path);
    if (*store->dir)
        unlink(path);
}

/* Returns true when both entries belong to one client. Entries of the same key do, even if one was
 * made before a restart. */
static bool is_same_client(const struct dg_glossaries_entry *a, const struct dg_glossaries_entry *b)
{
    return *a->owner ? strcmp(a->owner, b->owner) == 0 : !*b->owner && a->client == b->client;
}

/* Client 0 (the admin socket, an administrator) may have all. */
static bool has_all(const struct dg_glossaries_change *change)
{
    return change->may_share || change->entry->client == 0;
}

/* Returns whether the change has to wait for one before it in the list, up to `end`: a change of
 * the same glossary, because their order counts, or of the same client, because it changes the
 * client's share. */
static bool is_behind(const struct dg_glossaries_change *change, const struct dg_list *list,
                      const struct dg_list *end)
{
    for (const struct dg_list *at = list->next; at != end; at = at->next) {
        const struct dg_glossaries_change *other =
            DG_LIST_ITEM(at, struct dg_glossaries_change, link);
        if (strcmp(other->entry->id, change->entry->id) == 0 ||
            (!has_all(change) && !has_all(other) && is_same_client(other->entry, change->entry)))
            return true;
    }
    return false;
}

/* Returns the first waiting change that no longer has to wait; NULL: none. */
static struct dg_glossaries_change *next_change(const struct dg_glossaries *store)
{
    for (struct dg_list *at = store->waiting.next; at != &store->waiting; at = at->next) {
        struct dg_glossaries_change *change = DG_LIST_ITEM(at, struct dg_glossaries_change, link);
        if (!is_behind(change, &store->running, &store->running) &&
            !is_behind(change, &store->waiting, at))
            return change;
    }
    return NULL;
}

static void start(struct dg_glossaries_change *change);

/* Puts the change into effect, or has it answered with the reason why not; then the changes that
 * waited for it have their turn. */
static void end(struct dg_glossaries_change *change)
{
    struct dg_glossaries *store = &change->work.api->glossaries;
    struct dg_glossaries_entry *old = dg_glossaries_by_id(store, dg_span_cstr(change->entry->id));
    dg_list_unlink(&change->link);
    store->n_changes--;
    store->reserved -= change->reserved;
    struct dg_call *call = dg_work_detach(&change->work);
    if (!change->err && change->is_shared) {
        /* The shared table has already brought this change. */
    } else if (!change->err && (old || change->is_new)) {
        dg_glossaries_link(store, change->entry);
        if (old) {
            dg_glossaries_unlink(store, old);
            dg_glossaries_free_entry(old);
        }
    } else if (!change->err) { /* The entry was deleted meanwhile, perhaps before this change wrote
                                  its file: the file is deleted, too. */
        remove_file(store, change->entry->id);
        change->err = dg_error_set(&change->error, DG_ERR_NOT_FOUND,
                                   "the glossary was deleted in the meantime");
    }
    if (change->err)
        dg_log_event(change->work.api->log, change->is_bad ? DG_LOG_DEBUG : DG_LOG_ERROR,
                     "glossaries", DG_LOG_FIELDS(dg_log_err(change->err)),
                     "a glossary could not be stored: %s",
                     dg_error_text(&change->error, change->err));
    if (call)
        change->answer(call, change);
    if (!change->err && !change->is_shared)
        change->entry = NULL; /* now it is the store's */
    dg_work_end(&change->work);
    struct dg_glossaries_change *next;
    while ((next = next_change(store))) {
        dg_list_unlink(&next->link);
        store->n_waiting--;
        start(next);
    }
}

/* The table that servers share has decided. If another server was first, the change is made again,
 * from the present state. */
static void on_put(void *ctx, enum dg_err err, int64_t more)
{
    struct dg_glossaries_change *change = ctx;
    if (err == DG_ERR_EXISTS && ++change->n_tries < TRIES) {
        dg_list_unlink(&change->link);
        change->work.api->glossaries.reserved -= change->reserved;
        change->reserved = 0;
        dg_glossary_unref(change->entry->glossary);
        dg_glossary_unref(change->base);
        change->entry->glossary = change->base = NULL;
        dg_buf_clear(&change->file);
        start(change);
        return;
    }
    if (err == DG_ERR_LIMIT) {
        err = dg_error_set(
            &change->error, err,
            "the glossary takes %zu bytes, expected at most %d for one that servers share",
            change->file.len, DG_REDIS_TABLE_TEXT);
        change->is_bad = change->is_full = true;
    } else if (err) {
        err = dg_error_set(&change->error, DG_ERR_BUSY,
                           "the Redis that servers share does not answer; try again later");
    }
    change->err = err;
    change->is_shared = !err;
    end(change);
}

static void done(struct dg_offload_task *task)
{
    struct dg_glossaries_change *change = (struct dg_glossaries_change *)task;
    const struct dg_glossaries *store = &change->work.api->glossaries;
    const struct dg_span id = dg_span_cstr(change->entry->id);
    if (!change->err && store->table && (change->is_new || dg_glossaries_by_id(store, id)))
        dg_redis_table_put(store->table, id, dg_span_make(change->file.ptr, change->file.len),
                           change->version, on_put, change);
    else
        end(change);
}

/* Returns whether the client may keep one more glossary, of this size, in addition to what others
 * keep. Changes of the same client that are under way would count; there are none (is_behind). */
static bool has_share(const struct dg_glossaries *store, struct dg_glossaries_change *change,
                      const struct dg_glossaries_entry *replaced)
{
    const struct dg_glossaries_entry *entry = change->entry;
    size_t n = 0, bytes = 0;
    change->own_max = SIZE_MAX;
    if (has_all(change))
        return true;
    for (const struct dg_list *at = store->all.next; at != &store->all; at = at->next) {
        const struct dg_glossaries_entry *other =
            DG_LIST_ITEM(at, struct dg_glossaries_entry, link);
        if (other == replaced || !is_same_client(entry, other))
            continue;
        n++;
        bytes += dg_glossary_bytes(other->glossary);
    }
    const uint64_t share = dg_client_share_of(
        store->opts.bytes_max, store->bytes + store->reserved - change->freed, bytes);
    change->own_max = share > bytes ? (size_t)(share - bytes) : 0;
    return n + 1 <= dg_client_share_of(store->opts.n_max, store->n - (replaced != NULL), n) &&
           change->text.len <= change->own_max;
}

/* The change replaces or amends the entry that exists now. */
static enum dg_err prepare(struct dg_glossaries_change *change)
{
    struct dg_glossaries *store = &change->work.api->glossaries;
    const struct dg_glossaries_entry *replaced =
        dg_glossaries_by_id(store, dg_span_cstr(change->entry->id));
    change->freed = replaced ? dg_glossary_bytes(replaced->glossary) : 0;
    change->version = replaced ? replaced->version : 0;
    if (change->amends && replaced && replaced->is_shared && !change->may_share)
        return dg_error_set(&change->error, DG_ERR_DENIED,
                            "only administrators may change what is shared");
    if (change->amends && !replaced)
        return dg_error_set(&change->error, DG_ERR_NOT_FOUND,
                            "the glossary was deleted in the meantime");
    if (change->amends) {
        change->base = dg_glossary_ref(replaced->glossary);
        change->entry->is_shared = replaced->is_shared;
        if (!change->renames)
            memcpy(change->entry->name, replaced->name, sizeof replaced->name);
    }
    change->is_full = true;
    if (change->is_new && store->n + store->n_changes - store->n_waiting > store->opts.n_max)
        return dg_error_set(
            &change->error, DG_ERR_LIMIT,
            "there are %zu glossaries already, which is the limit; delete one first", store->n);
    if (!has_share(store, change, replaced))
        return dg_error_set(&change->error, DG_ERR_LIMIT,
                            "your glossaries have reached the limit of number or size for one "
                            "client; delete one first");
    if (store->bytes + change->text.len > store->opts.bytes_max + change->freed)
        return dg_error_set(&change->error, DG_ERR_LIMIT,
                            "there is no room for more glossaries; delete one first");
    change->is_full = false;
    return DG_OK;
}

static void start(struct dg_glossaries_change *change)
{
    dg_list_link_last(&change->work.api->glossaries.running, &change->link);
    enum dg_err err = prepare(change);
    if (!err && change->work.api->threads) {
        err = dg_offload_submit(change->work.api->threads, &change->task, run_glossary_work, done);
        if (!err)
            return;
    } else if (!err) {
        run_glossary_work(&change->task);
        done(&change->task);
        return;
    }
    change->is_bad = change->is_bad || (err && change->error.text[0]);
    change->err = change->err ? change->err : err;
    end(change);
}

void dg_glossaries_change(struct dg_glossaries_change *change)
{
    struct dg_glossaries *store = &change->work.api->glossaries;
    store->n_changes++;
    dg_work_attach(change->work.call, &change->work, &change_ops);
    size_t n_own = 0;
    for (const struct dg_list *at = store->waiting.next; at != &store->waiting; at = at->next)
        n_own += is_same_client(change->entry,
                                DG_LIST_ITEM(at, struct dg_glossaries_change, link)->entry);
    if (!is_behind(change, &store->running, &store->running) &&
        !is_behind(change, &store->waiting, &store->waiting)) {
        start(change);
    } else if (dg_client_share_has_room(change->entry->client, WAITING_MAX, store->n_waiting, n_own,
                                        1)) {
        dg_list_link_last(&store->waiting, &change->link);
        store->n_waiting++;
    } else {
        change->err =
            dg_error_set(&change->error, DG_ERR_BUSY, "too many changes of glossaries are waiting");
        end(change);
    }
}

/* The removal of a file. */
struct removal {
    struct dg_offload_task task;
    struct dg_work work; /* if its client leaves, the removal is still carried out */
    char path[DG_GLOSSARIES_PATH];
    char dir[4096];
    enum dg_err err;
};

/* A glossary whose file stays comes back at the next start, so its removal fails. */
static enum dg_err remove_path(const char *path)
{
    return unlink(path) == 0 || errno == ENOENT ? DG_OK : DG_ERR_IO;
}

static void run_removal(struct dg_offload_task *task)
{
    struct removal *removal = (struct removal *)task;
    removal->err = remove_path(removal->path);
    if (!removal->err)
        removal->err = dg_file_out_sync_dir(removal->dir, NULL);
}

static void answer_removal(struct dg_call *call, enum dg_err err)
{
    if (err)
        dg_call_fail(call, dg_translate_options_file_failure(err));
    else
        dg_call_reply(call, 204, NULL, (struct dg_span){NULL, 0});
}

static void free_removal(struct dg_work *work)
{
    dg_free(DG_LIST_ITEM(work, struct removal, work));
}

static const struct dg_work_ops removal_ops = {.free = free_removal};

static void on_removed(struct dg_offload_task *task)
{
    struct removal *removal = (struct removal *)task;
    const enum dg_err err = removal->err;
    struct dg_call *call = dg_work_end(&removal->work);
    if (call)
        answer_removal(call, err);
}

void dg_glossaries_remove(struct dg_call *call, struct dg_glossaries_entry *entry)
{
    struct dg_glossaries *store = &call->api->glossaries;
    if (store->table) {
        dg_glossaries_remove_shared(call, entry);
        return;
    }
    struct removal *removal = *store->dir ? dg_try_calloc(1, sizeof *removal) : NULL;
    char path[DG_GLOSSARIES_PATH];
    dg_glossaries_path(store, entry->id, path);
    dg_glossaries_unlink(store, entry);
    dg_glossaries_free_entry(entry);
    if (removal && call->api->threads) {
        memcpy(removal->path, path, sizeof path);
        memcpy(removal->dir, store->dir, sizeof store->dir);
        dg_work_attach(call, &removal->work, &removal_ops);
        if (dg_offload_submit(call->api->threads, &removal->task, run_removal, on_removed) == DG_OK)
            return;
        dg_work_detach(&removal->work);
    }
    dg_free(removal);
    /* at once, rather than not at all */
    answer_removal(call, *store->dir ? remove_path(path) : DG_OK);
}

/* ---- Who ------------------------------------------------------------------------------------- */

bool dg_glossaries_owns(const struct dg_call *call, const struct dg_glossaries_entry *entry)
{
    const bool is_theirs =
        strcmp(entry->owner, dg_gate_name(call)) == 0 && (*entry->owner || !entry->is_shared);
    return dg_gate_is_admin(call) || is_theirs;
}

bool dg_glossaries_may(struct dg_call *call, struct dg_failure *failure)
{
    enum dg_glossaries_whose whose = call->api->glossaries.opts.whose;
    bool has_key = *dg_gate_name(call) != '\0',
         has_keys = call->api->access && dg_access_has_keys(call->api->access);
    bool may = dg_gate_is_admin(call) || (whose == DG_GLOSSARIES_KEYS && has_key) ||
               (whose == DG_GLOSSARIES_ALL && (has_key || !has_keys));
    if (whose == DG_GLOSSARIES_NOBODY)
        may = false;
    if (!may)
        *failure = (struct dg_failure){
            .status = 403,
            .code = "glossaries_not_allowed",
            .message = whose == DG_GLOSSARIES_NOBODY ? "This server keeps no glossaries."
                       : whose == DG_GLOSSARIES_ADMINS
                           ? "Only administrators may change glossaries."
                           : "A glossary belongs to an API key: send one."};
    return may;
}

/* ---- Use ------------------------------------------------------------------------------------- */

static void hold(struct dg_job *job, struct dg_glossary *glossary)
{
    job->glossaries[job->n_glossaries++] = dg_glossary_ref(glossary);
}

enum dg_err dg_glossaries_apply(const struct dg_glossaries *store, struct dg_job *job,
                                const char *owner, bool is_admin, const struct dg_key *key,
                                struct dg_failure *failure)
{
    const struct dg_translate_options *options = &job->options;
    const struct dg_glossaries_entry *entry = NULL;
    if (job->n_glossaries)
        return DG_OK; /* left by an earlier attempt */
    if (options->glossary)
        hold(job, options->glossary);
    for (size_t i = 0; i < options->n_glossary_ids; i++) {
        entry = dg_glossaries_find(store, options->glossary_ids[i], dg_span_cstr(owner), is_admin);
        if (!entry) {
            *failure =
                dg_glossaries_unknown(store, (struct dg_failure){.status = 404,
                                                                 .code = "no_such_glossary",
                                                                 .message = "Glossary not found",
                                                                 .field = "glossary"});
            return DG_ERR_NOT_FOUND;
        }
        hold(job, entry->glossary);
    }
    job->options.request.glossaries_fit = job->n_glossaries > 0;
    if (!options->has_glossary && key && *key->glossary) {
        entry = dg_glossaries_by_id(store, dg_span_cstr(key->glossary));
        if (entry)
            hold(job, entry->glossary);
        else
            dg_log_event(store->log, DG_LOG_WARNING, "glossaries",
                         DG_LOG_FIELDS(dg_log_str("key", key->name)),
                         "a key names a glossary that does not exist");
    }
    job->options.request.glossaries = job->glossaries;
    job->options.request.n_glossaries = job->n_glossaries;
    return DG_OK;
}

uint64_t dg_glossaries_client(struct dg_api *api, const struct dg_glossaries_entry *entry)
{
    const char *whose = *entry->owner ? entry->owner : entry->address;
    return *whose ? dg_jobs_client(&api->jobs, *entry->owner, dg_span_cstr(whose)) : 0;
}

enum dg_err dg_api_open_glossaries(struct dg_api *api, const struct dg_glossaries_opts *opts,
                                   struct dg_error *error)
{
    enum dg_err err = dg_glossaries_open(&api->glossaries, opts, api->log, error);
    const struct dg_list *all = &api->glossaries.all;
    for (const struct dg_list *at = all->next; !err && at != all; at = at->next) {
        struct dg_glossaries_entry *entry = DG_LIST_ITEM(at, struct dg_glossaries_entry, link);
        entry->client = dg_glossaries_client(api, entry);
    }
    if (!err && opts->redis)
        dg_glossaries_share(api);
    return err;
}

enum dg_err dg_glossaries_apply_call(const struct dg_call *call, struct dg_job *job,
                                     struct dg_failure *failure)
{
    const struct dg_access *access = call->api->access;
    const struct dg_key *key = access ? dg_access_key(access, &call->charge.who) : NULL;
    return dg_glossaries_apply(&call->api->glossaries, job, dg_gate_name(call),
                               dg_gate_is_admin(call), key, failure);
}
