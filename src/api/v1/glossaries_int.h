/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The inside of the stored glossaries, shared by glossaries.c (the store, changes, the folder) and
 * shared_glossaries.c (what other servers change). */
#ifndef DG_API_V1_GLOSSARIES_INT_H
#define DG_API_V1_GLOSSARIES_INT_H

#include "api/v1/glossaries.h"
#include "net/loop/redis_table.h"

enum { DG_GLOSSARIES_FILE = 64 << 20, DG_GLOSSARIES_PATH = 4096 + 320 };

void dg_glossaries_free_entry(struct dg_glossaries_entry *entry); /* NULL is fine */
void dg_glossaries_link(struct dg_glossaries *store, struct dg_glossaries_entry *entry);
void dg_glossaries_unlink(struct dg_glossaries *store, struct dg_glossaries_entry *entry);
struct dg_glossaries_entry *dg_glossaries_by_id(const struct dg_glossaries *store,
                                                struct dg_span id);

/* Write and read an entry in the form in which it is stored, in a file or in Redis. Any thread. */
enum dg_err dg_glossaries_print(const struct dg_glossaries_entry *entry,
                                struct dg_buf *buf) DG_MUST_CHECK;
enum dg_err dg_glossaries_read(struct dg_glossaries_entry *entry, struct dg_span text,
                               struct dg_error *error) DG_MUST_CHECK;
void dg_glossaries_path(const struct dg_glossaries *store, const char *id,
                        char path[DG_GLOSSARIES_PATH]);

/* Returns the client whose share of the store it counts for (dg_gate_client). */
uint64_t dg_glossaries_client(struct dg_api *api, const struct dg_glossaries_entry *entry);

/* shared_glossaries.c: begins to share them; removes one everywhere, and answers. */
void dg_glossaries_share(struct dg_api *api);
void dg_glossaries_remove_shared(struct dg_call *call, const struct dg_glossaries_entry *entry);

#endif
