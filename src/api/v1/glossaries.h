/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Glossaries that are kept: in memory, and each in a file of a folder when there is one.
 *
 *     dg_glossaries_init(&store);
 *     err = dg_glossaries_open(&store, &opts, log, &error);        reads the folder; files that are
 * damaged stay and are told entry = dg_glossaries_find(&store, id, owner, is_admin);   NULL: none,
 * or none of theirs dg_glossaries_change(api, call, change);                   a new one, or
 * another in its place (below) dg_glossaries_remove(call, entry);                         answers
 * when it is gone
 *
 * A change is read, checked, sorted and written beside the loop, then takes its place: a file
 * appears whole or not at all (base/file/file_out.h), so a glossary whose answer was sent survives
 * a crash. A glossary belongs to the key that made it; others do not see it, unless an
 * administrator made it for all. One thread: the loop's, but for a change's read function. */
#ifndef DG_API_V1_GLOSSARIES_H
#define DG_API_V1_GLOSSARIES_H

#include "access/key_file.h"
#include "access/quota.h"
#include "base/log/log.h"
#include "base/memory/buf.h"
#include "base/memory/list.h"
#include "net/loop/offload.h"
#include "text/terms/glossary.h"

struct dg_api;
struct dg_call;
struct dg_failure;
struct dg_job;

enum { DG_GLOSSARIES_ID = 36, DG_GLOSSARIES_NAME = 1024, DG_GLOSSARIES_TIME = 32 };

enum dg_glossaries_whose {
    DG_GLOSSARIES_NOBODY,
    DG_GLOSSARIES_ADMINS,
    DG_GLOSSARIES_KEYS,
    DG_GLOSSARIES_ALL
};

struct dg_glossaries_opts {
    const char *dir;                /* "": in memory only */
    size_t n_max, bytes_max;        /* of all */
    enum dg_glossaries_whose whose; /* who may make some */
};

struct dg_glossaries_entry {
    struct dg_list link;
    char id[DG_GLOSSARIES_ID + 1];
    char owner[DG_KEY_NAME_MAX + 1];
    char address[DG_QUOTA_ID_MAX + 1]; /* where it came from, if it has no owner */
    uint64_t client;                   /* who made it (dg_gate_client); 0: not known */
    char name[DG_GLOSSARIES_NAME + 1];
    char created[DG_GLOSSARIES_TIME]; /* ISO 8601 with milliseconds */
    bool is_shared;                   /* by an administrator, with everybody */
    struct dg_glossary *glossary;     /* a reference */
};

struct dg_glossaries {
    struct dg_list all;              /* of entries, oldest first */
    struct dg_list running, waiting; /* changes */
    size_t n_waiting;
    size_t n, n_changes;
    _Atomic size_t bytes, reserved; /* of those that are kept, of those that a change is about to
                                       keep; any thread */
    struct dg_glossaries_opts opts;
    struct dg_log *log;
    uint64_t last_ms; /* when the newest was made */
    char dir[4096];
};

void dg_glossaries_init(struct dg_glossaries *store);
void dg_glossaries_deinit(struct dg_glossaries *store);
enum dg_err dg_glossaries_open(struct dg_glossaries *store, const struct dg_glossaries_opts *opts,
                               struct dg_log *log, struct dg_error *error) DG_MUST_CHECK;

struct dg_glossaries_entry *dg_glossaries_find(const struct dg_glossaries *store, struct dg_span id,
                                               struct dg_span owner, bool is_admin);

enum dg_glossaries_how { DG_GLOSSARIES_MERGE, DG_GLOSSARIES_REPLACE, DG_GLOSSARIES_DROP };

/* What happens to the dictionary of a pair of languages, which need not be there for the first two.
 */
struct dg_glossaries_part {
    enum dg_glossaries_how how;
    enum dg_glossary_format format;
    char source[DG_LANGTAG_TEXT], target[DG_LANGTAG_TEXT];
    size_t at, len; /* its table, in the change's text */
};

/* What is asked for, on its way. Made by new, filled, given to dg_glossaries_change. Changes of one
 * glossary are made one after the other. */
struct dg_glossaries_change {
    struct dg_task task;
    struct dg_list link; /* of those under way, or that wait for another */
    struct dg_api *api;
    struct dg_call *call;              /* NULL when the client has left */
    struct dg_glossaries_entry *entry; /* owned: the new one */
    struct dg_buf text;                /* what to read */
    int format;                        /* and how: for read alone */
    struct dg_glossaries_part *parts;  /* owned; [n_parts], for read alone */
    size_t n_parts;
    bool amends;              /* it is made of what the glossary is when its turn comes, `base`, */
    bool renames;             /* with another name */
    struct dg_glossary *base; /* a reference */
    bool may_be_empty;
    bool is_new, may_share;
    size_t freed, reserved; /* bytes of what it replaces, of what it keeps */
    char source[DG_LANGTAG_TEXT], target[DG_LANGTAG_TEXT]; /* for read alone */
    /* Makes entry->glossary of `text`; any thread. */
    enum dg_err (*read)(struct dg_glossaries_change *change);
    /* Answers; on the loop's thread, only while the client is there. `err` is how it ended. */
    void (*answer)(struct dg_call *call, struct dg_glossaries_change *change);
    enum dg_err err;
    struct dg_error error;
    bool is_bad; /* what was read is to blame */
};

/* With an id, an owner and a time of its own; `replaced` NULL: none. NULL: no memory. */
struct dg_glossaries_change *dg_glossaries_change_new(struct dg_call *call,
                                                      const struct dg_glossaries_entry *replaced,
                                                      struct dg_span text);
void dg_glossaries_change_free(struct dg_glossaries_change *change);

/* Takes the change. It answers, also when it fails. */
void dg_glossaries_change(struct dg_glossaries_change *change);

/* Answers 204 when its file is gone, so that it does not come back after a crash. */
void dg_glossaries_remove(struct dg_call *call, struct dg_glossaries_entry *entry);

/* Whether the caller may make, replace and delete; else what to answer. */
bool dg_glossaries_may(struct dg_call *call, struct dg_failure *failure);

/* The caller administrates, or there is nobody to tell apart. */
bool dg_glossaries_is_admin(const struct dg_call *call);

/* Whether it is the caller's to change: made with the same key, or without one by whoever has its
 * id; but what is shared with everybody, whose id all are told, is the administrators'. */
bool dg_glossaries_owns(const struct dg_call *call, const struct dg_glossaries_entry *entry);

/* Gives the job the glossaries that its ask names, else that of `key` (NULL: none):
 * DG_ERR_NOT_FOUND, with a failure. The job holds them until it is freed. */
enum dg_err dg_glossaries_apply(const struct dg_glossaries *store, struct dg_job *job,
                                const char *owner, bool is_admin, const struct dg_key *key,
                                struct dg_failure *failure) DG_MUST_CHECK;

#endif
