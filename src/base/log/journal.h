/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Events for systemd's journal, with fields of their own that one can search for:
 * journalctl DRAGOMAN_REQUEST=7f3a.
 *
 *     journal = dg_journal_open(DG_JOURNAL_SOCKET);            -1: there is none
 *     struct dg_journal_entry entry;
 *     dg_journal_begin(&entry);
 *     dg_journal_add(&entry, "PRIORITY", DG_SPAN("6"));
 *     dg_journal_add(&entry, "MESSAGE", text);
 *     sent = dg_journal_send(journal, &entry);                 false: say it elsewhere
 *     dg_journal_close(journal);
 *
 * The protocol is the journal's own (systemd.io/JOURNAL_NATIVE_PROTOCOL): one datagram an event.
 * Written here because libsystemd is optional and its socket fixed, which no test could stand in
 * for. An entry is a fixed buffer: nothing is allocated, nothing waits. Any thread. */
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

/* A field whose name has the journal's letters already: A to Z, digits, '_'. Any bytes may be in
 * its value, and no value can begin another field. What does not fit whole is left out. */
void dg_journal_add(struct dg_journal_entry *entry, const char *name, struct dg_span value);

bool dg_journal_send(int journal, const struct dg_journal_entry *entry);

#endif
