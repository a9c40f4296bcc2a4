/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The rows of the table that servers share are the files of the folder: rows that changed are read,
 * and copied into the folder, on another thread, and then take effect. */
#include "api/http/api_int.h"
#include "api/v1/glossaries_int.h"
#include "base/file/file_out.h"
#include "base/memory/mem.h"

#include <string.h>
#include <unistd.h>

enum { REMOVAL_TRIES = 10 };

/* ---- What is new ----------------------------------------------------------------------------- */

struct changed {
    char id[DG_GLOSSARIES_ID + 1];
    uint64_t version;
    size_t at, len; /* where its text lies; an empty text means that the glossary is removed */
    struct dg_glossaries_entry *entry; /* owned; NULL: the glossary is removed, or cannot be read */
};

struct news {
    struct dg_offload_task task;
    struct dg_api *api;
    struct dg_buf text; /* the texts of all */
    size_t n;
    struct changed changed[];
};

/* The name of a file must look like one that we make. */
static bool is_id(struct dg_span id)
{
    bool is_good = id.len == DG_GLOSSARIES_ID;
    for (size_t i = 0; i < id.len && is_good; i++)
        is_good = (id.ptr[i] >= '0' && id.ptr[i] <= '9') ||
                  (id.ptr[i] >= 'a' && id.ptr[i] <= 'f') || id.ptr[i] == '-';
    return is_good;
}

static void log_left_out(const struct dg_glossaries *store, const char *id, enum dg_err err,
                         const struct dg_error *error)
{
    dg_log_event(store->log, DG_LOG_ERROR, "glossaries",
                 DG_LOG_FIELDS(dg_log_str("glossary", id), dg_log_err(err)),
                 "this server's copy of a shared glossary is not up to date: %s",
                 dg_error_text(error, err));
}

/* Any thread; the store's folder and log do not change. */
static void read_changed(const struct dg_glossaries *store, struct changed *changed,
                         struct dg_span text)
{
    char path[DG_GLOSSARIES_PATH];
    struct dg_error error = DG_ERROR_NONE;
    enum dg_err err = DG_OK;
    dg_glossaries_path(store, changed->id, path);
    if (text.len == 0) {
        if (*store->dir)
            unlink(path);
        return;
    }
    struct dg_glossaries_entry *entry = dg_try_calloc(1, sizeof *entry);
    err = entry ? dg_glossaries_read(entry, text, &error) : DG_ERR_NOMEM;
    if (!err && strcmp(entry->id, changed->id) != 0)
        err = dg_error_set(&error, DG_ERR_INTEGRITY, "its id differs from its file's name");
    if (err) {
        log_left_out(store, changed->id, err, &error);
        dg_glossaries_free_entry(entry);
        return;
    }
    dg_list_init(&entry->link);
    entry->version = changed->version;
    changed->entry = entry;
    if (*store->dir)
        err = dg_file_out_save(path, 0640, text.ptr, text.len, &error);
    if (err)
        log_left_out(store, changed->id, err, &error);
}

static void run_news(struct dg_offload_task *task)
{
    struct news *news = (struct news *)task;
    for (size_t i = 0; i < news->n; i++)
        read_changed(&news->api->glossaries, &news->changed[i],
                     dg_span_make(news->text.ptr + news->changed[i].at, news->changed[i].len));
}

static void take_changed(struct dg_api *api, struct changed *changed)
{
    struct dg_glossaries *store = &api->glossaries;
    struct dg_glossaries_entry *old = dg_glossaries_by_id(store, dg_span_cstr(changed->id));
    if (changed->entry) {
        changed->entry->client = dg_glossaries_client(api, changed->entry);
        dg_glossaries_link(store, changed->entry);
    }
    if (old && (changed->entry || changed->len == 0)) {
        dg_glossaries_unlink(store, old);
        dg_glossaries_free_entry(old);
    }
    changed->entry = NULL;
}

static void on_news(struct dg_offload_task *task)
{
    struct news *news = (struct news *)task;
    struct dg_redis_table *table = news->api->glossaries.table;
    for (size_t i = 0; i < news->n; i++)
        take_changed(news->api, &news->changed[i]);
    dg_buf_deinit(&news->text);
    dg_free(news);
    dg_redis_table_applied(table);
}

static void apply(void *user, const struct dg_redis_table_row *rows, size_t n)
{
    struct dg_api *api = user;
    struct news *news = dg_xcalloc(1, sizeof *news + n * sizeof news->changed[0]);
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += rows[i].text.len;
    news->api = api;
    dg_buf_init(&news->text, bytes + 1);
    for (size_t i = 0; i < n; i++) {
        struct changed *changed = &news->changed[news->n];
        if (!is_id(rows[i].id))
            continue;
        memcpy(changed->id, rows[i].id.ptr, rows[i].id.len);
        changed->version = rows[i].version;
        changed->at = news->text.len;
        changed->len = rows[i].text.len;
        if (dg_buf_append_span(&news->text, rows[i].text) == DG_OK)
            news->n++;
    }
    if (api->threads && dg_offload_submit(api->threads, &news->task, run_news, on_news) == DG_OK)
        return;
    run_news(&news->task);
    on_news(&news->task);
}

/* ---- A table that begins --------------------------------------------------------------------- */

static void reset(void *user)
{
    struct dg_api *api = user;
    const struct dg_list *all = &api->glossaries.all;
    for (struct dg_list *at = all->next; at != all; at = at->next)
        DG_LIST_ITEM(at, struct dg_glossaries_entry, link)->version = 0;
}

/* Adds what this server has and the table lacks: glossaries from before servers shared any, or
 * that Redis lost. Every server adds its own; the first wins. */
static void complete(void *user)
{
    struct dg_api *api = user;
    struct dg_glossaries *store = &api->glossaries;
    for (struct dg_list *at = store->all.next; at != &store->all; at = at->next) {
        struct dg_glossaries_entry *entry = DG_LIST_ITEM(at, struct dg_glossaries_entry, link);
        struct dg_buf text;
        if (entry->version)
            continue;
        dg_buf_init(&text, DG_REDIS_TABLE_TEXT);
        enum dg_err err = dg_glossaries_print(entry, &text);
        if (err)
            log_left_out(store, entry->id, err, &(struct dg_error)DG_ERROR_NONE);
        else
            dg_redis_table_put(store->table, dg_span_cstr(entry->id),
                               dg_span_make(text.ptr, text.len), 0, dg_redis_table_ignore, NULL);
        dg_buf_deinit(&text);
    }
}

static const struct dg_redis_table_ops table_ops = {
    .reset = reset, .apply = apply, .complete = complete};

void dg_glossaries_share(struct dg_api *api)
{
    struct dg_glossaries *store = &api->glossaries;
    store->table = dg_redis_table_new(store->opts.loop, store->opts.redis, "glossaries", &table_ops,
                                      api, store->log);
}

/* ---- Removing -------------------------------------------------------------------------------- */

struct removal {
    struct dg_work work; /* if its client leaves, the removal is still carried out */
    char id[DG_GLOSSARIES_ID + 1];
    int n_tries;
};

static void free_removal(struct dg_work *work)
{
    dg_free(DG_LIST_ITEM(work, struct removal, work));
}

static const struct dg_work_ops removal_ops = {.free = free_removal};

static void begin_removal(struct removal *removal);

static void on_removed(void *ctx, enum dg_err err, int64_t more)
{
    struct removal *removal = ctx;
    const struct dg_api *api = removal->work.api;
    const bool is_there = dg_glossaries_by_id(&api->glossaries, dg_span_cstr(removal->id));
    if (err == DG_ERR_EXISTS && is_there && ++removal->n_tries < REMOVAL_TRIES) {
        begin_removal(removal);
        return;
    }
    struct dg_call *call = dg_work_end(&removal->work);
    if (call && (!err || !is_there))
        dg_call_reply(call, 204, NULL, (struct dg_span){NULL, 0});
    else if (call)
        dg_call_fail(call, (struct dg_failure){.status = 503,
                                               .code = "unavailable",
                                               .retry_after_s = 1,
                                               .message = "The Redis that servers share does not "
                                                          "answer. Try again later."});
}

static void begin_removal(struct removal *removal)
{
    struct dg_glossaries *store = &removal->work.api->glossaries;
    const struct dg_span id = dg_span_cstr(removal->id);
    dg_redis_table_remove(store->table, id, dg_glossaries_by_id(store, id)->version, on_removed,
                          removal);
}

void dg_glossaries_remove_shared(struct dg_call *call, const struct dg_glossaries_entry *entry)
{
    struct removal *removal = dg_try_calloc(1, sizeof *removal);
    if (!removal) {
        dg_call_fail(call,
                     dg_translate_options_failure(call->req->arena, DG_ERR_NOMEM, NULL, NULL));
        return;
    }
    memcpy(removal->id, entry->id, sizeof removal->id);
    dg_work_attach(call, &removal->work, &removal_ops);
    begin_removal(removal);
}
