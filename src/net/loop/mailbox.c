/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A singly linked list under a mutex, and a uv_async_t that wakes the loop. The lock is held for
 * two assignments; the loop takes the whole list at once. */
#include "net/loop/mailbox.h"
#include "base/memory/mem.h"

struct dg_mailbox {
    uv_async_t async;
    uv_mutex_t lock;
    struct dg_mail *first; /* under lock */
    struct dg_mail **last; /* under lock; where the next one is linked */
};

static void deliver_all(struct dg_mailbox *mailbox)
{
    uv_mutex_lock(&mailbox->lock);
    struct dg_mail *mail = mailbox->first;
    mailbox->first = NULL;
    mailbox->last = &mailbox->first;
    uv_mutex_unlock(&mailbox->lock);
    while (mail) {
        struct dg_mail *next = mail->next;
        mail->deliver(mail);
        mail = next;
    }
}

static void on_async(uv_async_t *async)
{
    deliver_all(async->data);
}

enum dg_err dg_mailbox_open(uv_loop_t *loop, struct dg_error *error, struct dg_mailbox **mailbox)
{
    struct dg_mailbox *box = dg_xcalloc(1, sizeof *box);
    box->last = &box->first;
    box->async.data = box;
    int code = uv_mutex_init(&box->lock);
    if (code == 0) {
        code = uv_async_init(loop, &box->async, on_async);
        if (code != 0)
            uv_mutex_destroy(&box->lock);
    }
    if (code != 0) {
        dg_free(box);
        return dg_error_set(error, dg_err_from_errno(-code), "cannot make a mailbox: %s",
                            uv_strerror(code));
    }
    *mailbox = box;
    return DG_OK;
}

static void on_closed(uv_handle_t *handle)
{
    struct dg_mailbox *mailbox = handle->data;
    uv_mutex_destroy(&mailbox->lock);
    dg_free(mailbox);
}

void dg_mailbox_close(struct dg_mailbox *mailbox)
{
    if (!mailbox)
        return;
    deliver_all(mailbox);
    uv_close((uv_handle_t *)&mailbox->async, on_closed);
}

void dg_mailbox_post(struct dg_mailbox *mailbox, struct dg_mail *mail, dg_mail_fn deliver)
{
    mail->next = NULL;
    mail->deliver = deliver;
    uv_mutex_lock(&mailbox->lock);
    *mailbox->last = mail;
    mailbox->last = &mail->next;
    uv_mutex_unlock(&mailbox->lock);
    uv_async_send(&mailbox->async);
}
