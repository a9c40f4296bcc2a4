/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The completion queue: other threads post mails for the loop's thread.
 *
 *     err = dg_mailbox_open(loop, turn, &error, &mailbox);
 *     struct job { struct dg_mail mail; ... };
 *     dg_mailbox_post(mailbox, &job->mail, on_job_done);     any thread
 *     static void on_job_done(struct dg_mail *mail) ...      later, on the loop's thread
 *     dg_mailbox_close(mailbox);                             loop's thread; no post may follow
 *
 * Mails are delivered in the order in which they were posted. A mail belongs to the mailbox from
 * post until its function is called; dg_mailbox_close first delivers all remaining mails. */
#ifndef DG_NET_LOOP_MAILBOX_H
#define DG_NET_LOOP_MAILBOX_H

#include "base/memory/error.h"
#include "base/memory/turn.h"

#include <uv.h>

struct dg_mail;
typedef void (*dg_mail_fn)(struct dg_mail *mail);

struct dg_mail {
    struct dg_mail *next;
    dg_mail_fn deliver;
};

struct dg_mailbox;

/* Each mail is a piece of work of `turn`, which is borrowed; NULL: mails are delivered at once. */
enum dg_err dg_mailbox_open(uv_loop_t *loop, struct dg_turn *turn, struct dg_error *error,
                            struct dg_mailbox **mailbox) DG_MUST_CHECK;
/* Freed when the loop has closed its handle. NULL is fine. */
void dg_mailbox_close(struct dg_mailbox *mailbox);
void dg_mailbox_post(struct dg_mailbox *mailbox, struct dg_mail *mail, dg_mail_fn deliver);

#endif
