/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The stored glossaries: in memory and, if there is a folder, each in a file of it.
 *
 *     dg_glossaries_init(&store);
 *     err = dg_glossaries_open(&store, &opts, log, &error);       reads the folder; damaged files
 *                                                                 stay and are logged
 *     entry = dg_glossaries_find(&store, id, owner, is_admin);    NULL: none that they may see
 *     dg_glossaries_change(change);                               adds or replaces one (below)
 *     dg_glossaries_remove(call, entry);                          answers when it is gone
 *
 * A change is read, checked, sorted and written on another thread, and then takes effect: a file
 * appears whole or not at all (base/file/file_out.h), so a glossary whose answer was sent survives
 * a crash. A glossary belongs to the key that made it; others do not see it, unless an
 * administrator made it for all. One thread, the loop's, except for a change's read function.
 *
 * With a Redis (opts.redis) all servers have the same glossaries. A change then goes to the table
 * that they share (net/loop/redis_table.h) in place of the folder, and takes effect here as it does
 * everywhere: when the table says what is new. The folder has a copy, from which the server starts
 * while Redis is away; then glossaries can be used and not changed. */
#ifndef DG_API_V1_GLOSSARIES_H
#define DG_API_V1_GLOSSARIES_H

#include "access/key_file.h"
#include "access/quota.h"
#include "api/http/work.h"
#include "base/log/log.h"
#include "base/memory/buf.h"
#include "base/memory/list.h"
#include "net/loop/offload.h"
#include "text/terms/glossary.h"

struct dg_api;
struct dg_call;
struct dg_failure;
struct dg_job;
struct dg_redis;
struct dg_redis_table;

enum { DG_GLOSSARIES_ID = 36, DG_GLOSSARIES_NAME = 1024, DG_GLOSSARIES_TIME = 32 };

enum dg_glossaries_whose {
    DG_GLOSSARIES_NOBODY,
    DG_GLOSSARIES_ADMINS,
    DG_GLOSSARIES_KEYS,
    DG_GLOSSARIES_ALL
};

struct dg_glossaries_opts {
    const char *dir;                /* the folder; "": glossaries are kept in memory only */
    size_t n_max, bytes_max;        /* limits for all glossaries together */
    enum dg_glossaries_whose whose; /* who may make glossaries */
    struct dg_redis *redis; /* the Redis through which servers share glossaries; NULL: they are not
                               shared */
    uv_loop_t *loop;        /* needed with `redis` */
};

struct dg_glossaries_entry {
    struct dg_list link;
    char id[DG_GLOSSARIES_ID + 1];
    char owner[DG_KEY_NAME_MAX + 1];
    char address[DG_QUOTA_ID_MAX + 1]; /* the address that the glossary came from, if it has no
                                          owner */
    uint64_t client;                   /* the client that made it (dg_gate_client); 0: not known */
    char name[DG_GLOSSARIES_NAME + 1];
    char created[DG_GLOSSARIES_TIME]; /* ISO 8601 with milliseconds */
    bool is_shared;                   /* an administrator shares it with everybody */
    struct dg_glossary *glossary;     /* one reference */
    uint64_t version;                 /* its version in the shared table; 0: it is not there yet */
};

struct dg_glossaries {
    struct dg_list all;              /* list of struct dg_glossaries_entry, oldest first */
    struct dg_list running, waiting; /* lists of changes */
    size_t n_waiting;
    size_t n, n_changes;
    _Atomic size_t bytes, reserved; /* bytes of the stored glossaries, and of those that changes are
                                       about to store; read from any thread */
    struct dg_glossaries_opts opts;
    struct dg_log *log;
    uint64_t last_ms;             /* when the newest glossary was made */
    struct dg_redis_table *table; /* owned; NULL: not shared (shared_glossaries.c) */
    char dir[4096];
};

void dg_glossaries_init(struct dg_glossaries *store);
void dg_glossaries_deinit(struct dg_glossaries *store);
enum dg_err dg_glossaries_open(struct dg_glossaries *store, const struct dg_glossaries_opts *opts,
                               struct dg_log *log, struct dg_error *error) DG_MUST_CHECK;

struct dg_glossaries_entry *dg_glossaries_find(const struct dg_glossaries *store, struct dg_span id,
                                               struct dg_span owner, bool is_admin);

/* Returns what to say of a glossary that was not found: `unknown`, or 503 where servers share them
 * and this one may not know the newest yet. */
struct dg_failure dg_glossaries_unknown(const struct dg_glossaries *store,
                                        struct dg_failure unknown);

enum dg_glossaries_how { DG_GLOSSARIES_MERGE, DG_GLOSSARIES_REPLACE, DG_GLOSSARIES_DROP };

/* What happens to the dictionary of a language pair; for DG_GLOSSARIES_DROP it must exist. */
struct dg_glossaries_part {
    enum dg_glossaries_how how;
    enum dg_glossary_format format;
    char source[DG_LANGTAG_TEXT], target[DG_LANGTAG_TEXT];
    size_t at, len; /* where its table lies in the change's text */
};

/* A change on its way: made by dg_glossaries_change_new, filled, and given to dg_glossaries_change.
 * Changes of one glossary, and those of one client, happen one after the other. */
struct dg_glossaries_change {
    struct dg_offload_task task;
    struct dg_list link; /* linked in `running`, or in `waiting` after earlier changes of the same
                            glossary or client */
    struct dg_work work; /* if its client leaves, the change is still carried out */
    struct dg_glossaries_entry *entry; /* owned; the new entry */
    struct dg_buf text;                /* the text to read */
    int format;                        /* the format of `text`; used only by `read` */
    struct dg_glossaries_part *parts;  /* owned; [n_parts]; used only by `read` */
    size_t n_parts;
    bool amends;  /* the change starts from `base`, the state of the glossary when its turn comes */
    bool renames; /* with `amends`: the glossary gets another name */
    struct dg_glossary *base; /* one reference */
    bool may_be_empty;
    bool is_new, may_share;
    size_t freed, reserved; /* bytes of what the change replaces, and of what it stores */
    struct dg_buf file;     /* the new glossary in the form in which it is stored */
    uint64_t version;       /* the version, in the shared table, of what the change replaces */
    int n_tries;            /* attempts to share the change */
    bool is_shared;         /* the change has taken effect for all servers, including this one */
    size_t own_max;         /* the most bytes that it may store by its client's share */
    bool is_full;           /* it failed for want of room */
    char source[DG_LANGTAG_TEXT], target[DG_LANGTAG_TEXT]; /* used only by `read` */
    /* Makes entry->glossary from `text`. It may run on any thread. */
    enum dg_err (*read)(struct dg_glossaries_change *change);
    /* Answers with the outcome in `err`, on the loop's thread and only while the client is
     * there. */
    void (*answer)(struct dg_call *call, struct dg_glossaries_change *change);
    enum dg_err err;
    struct dg_error error;
    bool is_bad; /* the error lies in the text that was read */
};

/* Makes a change whose entry has a new id, an owner and a time; `replaced` may be NULL. NULL: no
 * memory. */
struct dg_glossaries_change *dg_glossaries_change_new(struct dg_call *call,
                                                      const struct dg_glossaries_entry *replaced,
                                                      struct dg_span text);
void dg_glossaries_change_free(struct dg_glossaries_change *change);

/* Takes the change, which answers in every case, even when it fails. */
void dg_glossaries_change(struct dg_glossaries_change *change);

/* Answers 204 once its file is gone, so that the glossary does not come back after a crash. */
void dg_glossaries_remove(struct dg_call *call, struct dg_glossaries_entry *entry);

/* Returns whether the caller may make, replace and delete glossaries; otherwise `failure` is the
 * answer. */
bool dg_glossaries_may(struct dg_call *call, struct dg_failure *failure);

/* Returns whether the caller may change it: it was made with the caller's key, or it was made
 * without a key and the caller knows its id. Only administrators may change what is shared with
 * everybody, since everybody knows its id. */
bool dg_glossaries_owns(const struct dg_call *call, const struct dg_glossaries_entry *entry);

/* Gives the job the glossaries that its options name, or otherwise that of `key` (NULL: none).
 * DG_ERR_NOT_FOUND, with a failure. The job holds them until it is freed. */
enum dg_err dg_glossaries_apply(const struct dg_glossaries *store, struct dg_job *job,
                                const char *owner, bool is_admin, const struct dg_key *key,
                                struct dg_failure *failure) DG_MUST_CHECK;

/* As dg_glossaries_apply, for the job of a call. */
enum dg_err dg_glossaries_apply_call(const struct dg_call *call, struct dg_job *job,
                                     struct dg_failure *failure) DG_MUST_CHECK;

#endif
