/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/list.h"
#include "unit.h"

struct item {
    int id;
    struct dg_list link;
};

static int id_of(struct dg_list *at)
{
    return DG_LIST_ITEM(at, struct item, link)->id;
}

/* The ids from first to last as a decimal number: 1, 2, 3 gives 123. Walks both ways. */
static int digits(struct dg_list *head)
{
    int forward = 0, backward = 0, place = 1;
    for (struct dg_list *at = head->next; at != head; at = at->next)
        forward = forward * 10 + id_of(at);
    for (struct dg_list *at = head->prev; at != head; at = at->prev, place *= 10)
        backward += id_of(at) * place;
    ck_assert_int_eq(forward, backward);
    return forward;
}

START_TEST(links_at_both_ends_and_unlinks_anywhere)
{
    struct dg_list head;
    struct item items[5];
    dg_list_init(&head);
    for (int i = 0; i < 5; i++) {
        items[i].id = i;
        dg_list_init(&items[i].link);
    }
    ck_assert(dg_list_is_empty(&head));
    dg_list_link_last(&head, &items[2].link);
    dg_list_link_last(&head, &items[3].link);
    dg_list_link_first(&head, &items[1].link);
    dg_list_link_before(&items[3].link, &items[4].link);
    ck_assert_int_eq(digits(&head), 1243);
    dg_list_unlink(&items[2].link);
    ck_assert_int_eq(digits(&head), 143);
    ck_assert(dg_list_is_empty(&items[2].link));
    dg_list_unlink(&items[2].link);
    ck_assert_int_eq(digits(&head), 143);
    ck_assert_int_eq(id_of(dg_list_pop_first(&head)), 1);
    ck_assert_int_eq(id_of(dg_list_pop_first(&head)), 4);
    ck_assert_int_eq(id_of(dg_list_pop_first(&head)), 3);
    ck_assert_ptr_null(dg_list_pop_first(&head));
    ck_assert(dg_list_is_empty(&head));
}
END_TEST

START_TEST(a_list_moves_behind_another)
{
    struct item items[4] = {{.id = 1}, {.id = 2}, {.id = 3}, {.id = 4}};
    struct dg_list head, other;
    dg_list_init(&head);
    dg_list_init(&other);
    dg_list_splice_last(&head, &other);
    ck_assert(dg_list_is_empty(&head));
    for (int i = 0; i < 4; i++)
        dg_list_link_last(i < 2 ? &head : &other, &items[i].link);
    dg_list_splice_last(&head, &other);
    ck_assert(dg_list_is_empty(&other));
    ck_assert_int_eq(digits(&head), 1234);
    dg_list_splice_last(&other, &head);
    ck_assert(dg_list_is_empty(&head));
    ck_assert_int_eq(digits(&other), 1234);
}
END_TEST

DG_UNIT(links_at_both_ends_and_unlinks_anywhere, a_list_moves_behind_another)
