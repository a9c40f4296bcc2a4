/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A time at which the turn began, and a list. */
#include "base/memory/turn.h"

void dg_turn_init(struct dg_turn *turn, const struct dg_clock *clock)
{
    *turn = (struct dg_turn){.clock = clock};
    dg_list_init(&turn->queue);
}

void dg_turn_work_init(struct dg_turn_work *work, void (*run)(struct dg_turn_work *work))
{
    dg_list_init(&work->link);
    work->run = run;
}

void dg_turn_begin(struct dg_turn *turn)
{
    if (!turn->has_begun)
        turn->began_ns = dg_clock_now(turn->clock);
    turn->has_begun = true;
}

/* Returns how long the turn has lasted. */
static uint64_t lasted(struct dg_turn *turn)
{
    dg_turn_begin(turn);
    return dg_clock_now(turn->clock) - turn->began_ns;
}

bool dg_turn_has_time(struct dg_turn *turn)
{
    return lasted(turn) < DG_TURN_NS;
}

bool dg_turn_takes_input(struct dg_turn *turn)
{
    return lasted(turn) < DG_TURN_INPUT_NS;
}

void dg_turn_add(struct dg_turn *turn, struct dg_turn_work *work)
{
    if (dg_list_is_empty(&work->link))
        dg_list_link_last(&turn->queue, &work->link);
}

void dg_turn_remove(struct dg_turn_work *work)
{
    dg_list_unlink(&work->link);
}

void dg_turn_run(struct dg_turn *turn)
{
    struct dg_list *at;
    dg_turn_begin(turn);
    while ((at = dg_list_pop_first(&turn->queue))) {
        struct dg_turn_work *work = DG_LIST_ITEM(at, struct dg_turn_work, link);
        work->run(work);
        if (!dg_turn_has_time(turn))
            return;
    }
}

void dg_turn_end(struct dg_turn *turn)
{
    turn->has_begun = false;
}
