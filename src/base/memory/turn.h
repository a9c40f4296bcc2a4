/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A turn of a thread that serves many clients: the time that all work of one turn shares, and the
 * queue of work that goes on in a later turn. While a turn lasts, everybody else waits; so each
 * piece of work does a little, asks whether there is time for more, and otherwise gets in line.
 *
 *     struct dg_turn turn;
 *     dg_turn_init(&turn, &clock);
 *
 *     do                                        at least a little, so that everything goes on
 *         read_message(stream);
 *     while (has_more(stream) && dg_turn_has_time(&turn));
 *     if (has_more(stream))
 *         dg_turn_add(&turn, &stream->work);    stream->work.run is called when its turn comes
 *
 *     the loop, again and again:                sleep and read what has come; then
 *         dg_turn_run(&turn);
 *         dg_turn_end(&turn);
 *
 * A turn begins with the first question about its time, if nobody has begun it before. One thread.
 */
#ifndef DG_BASE_MEMORY_TURN_H
#define DG_BASE_MEMORY_TURN_H

#include "base/memory/clock.h"
#include "base/memory/list.h"

/* The time of a turn, and the part of it in which new input is read. */
#define DG_TURN_NS       DG_CLOCK_MS
#define DG_TURN_INPUT_NS (DG_CLOCK_MS / 2)

/* Work that may have to wait for a later turn; a member of what it belongs to. */
struct dg_turn_work {
    struct dg_list link;
    void (*run)(struct dg_turn_work *work);
};

struct dg_turn {
    const struct dg_clock *clock; /* borrowed */
    bool has_begun;
    uint64_t began_ns;
    struct dg_list queue; /* of struct dg_turn_work, oldest first */
};

void dg_turn_init(struct dg_turn *turn, const struct dg_clock *clock);
void dg_turn_work_init(struct dg_turn_work *work, void (*run)(struct dg_turn_work *work));

/* Begins the turn, unless it has begun. */
void dg_turn_begin(struct dg_turn *turn);

/* Return whether there is time for more work, and for more input. */
bool dg_turn_has_time(struct dg_turn *turn);
bool dg_turn_takes_input(struct dg_turn *turn);

/* Puts work at the end of the queue, unless it is there already; takes it out. */
void dg_turn_add(struct dg_turn *turn, struct dg_turn_work *work);
void dg_turn_remove(struct dg_turn_work *work);

/* Runs work of the queue, first in first out, while there is time: at least one piece. */
void dg_turn_run(struct dg_turn *turn);

/* Ends the turn; the next question begins another. */
void dg_turn_end(struct dg_turn *turn);

#endif
