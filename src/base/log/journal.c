/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The journal's datagrams. Every field has the form that states its length (name, line feed, eight
 * little-endian bytes of length, value, line feed), never NAME=value, where a line feed in the
 * value would begin another field. */
#include "base/log/journal.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int dg_journal_open(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    if (len >= sizeof address.sun_path)
        return -1;
    memcpy(address.sun_path, path, len + 1);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

void dg_journal_close(int journal)
{
    if (journal >= 0)
        close(journal);
}

void dg_journal_begin(struct dg_journal_entry *entry)
{
    entry->len = 0;
}

void dg_journal_add(struct dg_journal_entry *entry, const char *name, struct dg_span value)
{
    size_t name_len = strlen(name);
    if (value.len > DG_JOURNAL_ENTRY_MAX ||
        entry->len + name_len + value.len + 10 > DG_JOURNAL_ENTRY_MAX)
        return;
    char *at = entry->bytes + entry->len;
    memcpy(at, name, name_len);
    at += name_len;
    *at++ = '\n';
    for (int i = 0; i < 8; i++)
        *at++ = (char)((uint64_t)value.len >> (8 * i));
    if (value.len)
        memcpy(at, value.ptr, value.len);
    at[value.len] = '\n';
    entry->len = (size_t)(at + value.len + 1 - entry->bytes);
}

bool dg_journal_send(int journal, const struct dg_journal_entry *entry)
{
    ssize_t n;
    if (journal < 0)
        return false;
    do
        n = send(journal, entry->bytes, entry->len, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)entry->len;
}
