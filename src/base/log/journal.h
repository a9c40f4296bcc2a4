/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Events for systemd's journal, with their own searchable fields:
 * journalctl DRAGOMAN_REQUEST=7f3a.
 *
 *     journal = dg_journal_open(DG_JOURNAL_SOCKET);            -1: there is none
 *     struct dg_journal_entry entry;
 *     dg_journal_begin(&entry);
 *     dg_journal_add(&entry, "PRIORITY", DG_SPAN("6"));
 *     dg_journal_add(&entry, "MESSAGE", text);
 *     sent = dg_journal_send(journal, &entry);                 false: log it elsewhere
 *     dg_journal_close(journal);
 *
 * The protocol is the journal's own (systemd.io/JOURNAL_NATIVE_PROTOCOL): one datagram per event.
 * We implement it ourselves because libsystemd is optional and always uses the system's socket,
 * which a test could not replace. An entry is a fixed buffer: nothing is allocated, nothing blocks.
 * Any thread. */
#ifndef DG_BASE_LOG_JOURNAL_H
#define DG_BASE_LOG_JOURNAL_H

#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>

#define DG_JOURNAL_SOCKET "/run/systemd/journal/socket"

enum { DG_JOURNAL_ENTRY_MAX = 12 * 1024 };

struct dg_journal_entry {
    size_t len;
    char bytes[DG_JOURNAL_ENTRY_MAX];
};

/* A socket connected to `path`; -1 when nobody listens there. */
int dg_journal_open(const char *path);
void dg_journal_close(int journal); /* -1 is fine */

void dg_journal_begin(struct dg_journal_entry *entry);

/* Adds a field. Its name may use the letters that the journal allows: A to Z, digits, '_'. Its
 * value may hold any bytes and cannot begin another field. A field that does not fit is left out.
 */
void dg_journal_add(struct dg_journal_entry *entry, const char *name, struct dg_span value);

bool dg_journal_send(int journal, const struct dg_journal_entry *entry);

#endif
