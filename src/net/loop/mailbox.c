/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A singly linked list under a mutex, and a uv_async_t that wakes the loop, which then takes
 * one mail after another. The lock is held for a few assignments. */
#include "net/loop/mailbox.h"
#include "base/memory/mem.h"

struct dg_mailbox {
    uv_async_t async;
    struct dg_turn *turn;     /* borrowed; or NULL */
    struct dg_turn_work work; /* delivers a mail */
    uv_mutex_t lock;
    struct dg_mail *first; /* under lock */
    struct dg_mail **last; /* under lock; where the next one is linked */
};

/* Takes the oldest mail; NULL: there is none. */
static struct dg_mail *take(struct dg_mailbox *mailbox)
{
    uv_mutex_lock(&mailbox->lock);
    struct dg_mail *mail = mailbox->first;
    if (mail && !(mailbox->first = mail->next))
        mailbox->last = &mailbox->first;
    uv_mutex_unlock(&mailbox->lock);
    return mail;
}

static void deliver_all(struct dg_mailbox *mailbox)
{
    for (struct dg_mail *mail; (mail = take(mailbox));)
        mail->deliver(mail);
}

/* Delivers a mail. What it calls may close the mailbox, so the next one gets in line before. */
static void run(struct dg_turn_work *work)
{
    struct dg_mailbox *mailbox = DG_LIST_ITEM(work, struct dg_mailbox, work);
    struct dg_mail *mail = take(mailbox);
    if (!mail)
        return;
    dg_turn_add(mailbox->turn, work);
    mail->deliver(mail);
}

static void on_async(uv_async_t *async)
{
    struct dg_mailbox *mailbox = async->data;
    if (mailbox->turn)
        dg_turn_add(mailbox->turn, &mailbox->work);
    else
        deliver_all(mailbox);
}

enum dg_err dg_mailbox_open(uv_loop_t *loop, struct dg_turn *turn, struct dg_error *error,
                            struct dg_mailbox **mailbox)
{
    struct dg_mailbox *box = dg_xcalloc(1, sizeof *box);
    box->last = &box->first;
    box->async.data = box;
    box->turn = turn;
    dg_turn_work_init(&box->work, run);
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
    dg_turn_remove(&mailbox->work);
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
