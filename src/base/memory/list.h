/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Intrusive doubly linked lists: the link is a member of the element, so linking never allocates
 * and an element unlinks itself without a search.
 *
 *     struct job { struct dg_list link; int id; };
 *
 *     struct dg_list jobs;
 *     dg_list_init(&jobs);
 *     dg_list_link_last(&jobs, &job->link);
 *     for (struct dg_list *at = jobs.next; at != &jobs; at = at->next)
 *         use(DG_LIST_ITEM(at, struct job, link));
 *     dg_list_unlink(&job->link);
 *
 * The head is a link too, and the list is a ring through it. A loop that unlinks elements reads
 * `next` first. One thread. */
#ifndef DG_BASE_MEMORY_LIST_H
#define DG_BASE_MEMORY_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct dg_list {
    struct dg_list *next, *prev; /* a head's `next` is the first element, its `prev` the last */
};

/* The element that contains a link. */
#define DG_LIST_ITEM(at, type, member) ((type *)(void *)((char *)(at)-offsetof(type, member)))

/* Initialises a head, or the link of an element that is in no list yet. */
static inline void dg_list_init(struct dg_list *link)
{
    link->next = link->prev = link;
}

/* True for an empty list, and for an element that is in no list. */
static inline bool dg_list_is_empty(const struct dg_list *link)
{
    return link->next == link;
}

/* Links an element, which must be in no list, before `place`. */
static inline void dg_list_link_before(struct dg_list *place, struct dg_list *link)
{
    link->next = place;
    link->prev = place->prev;
    place->prev->next = link;
    place->prev = link;
}

static inline void dg_list_link_last(struct dg_list *head, struct dg_list *link)
{
    dg_list_link_before(head, link);
}

static inline void dg_list_link_first(struct dg_list *head, struct dg_list *link)
{
    dg_list_link_before(head->next, link);
}

/* Safe for an element that is in no list, as long as it was initialised. */
static inline void dg_list_unlink(struct dg_list *link)
{
    link->next->prev = link->prev;
    link->prev->next = link->next;
    dg_list_init(link);
}

/* Unlinks and returns the first; NULL when there is none. */
static inline struct dg_list *dg_list_pop_first(struct dg_list *head)
{
    if (dg_list_is_empty(head))
        return NULL;
    struct dg_list *first = head->next;
    dg_list_unlink(first);
    return first;
}

/* Moves all of `from` after what `head` has; `from` is empty afterwards. */
static inline void dg_list_splice_last(struct dg_list *head, struct dg_list *from)
{
    if (dg_list_is_empty(from))
        return;
    from->next->prev = head->prev;
    head->prev->next = from->next;
    from->prev->next = head;
    head->prev = from->prev;
    dg_list_init(from);
}

#endif
