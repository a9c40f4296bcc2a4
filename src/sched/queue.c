/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Stride scheduling (Waldspurger and Weihl, 1995) between priorities, start-time fair queueing
 * (Goyal, Vin and Cheng, 1996) between the clients of each priority, and a ring of flows for each
 * client.
 *
 * A client that was idle returns at the present virtual time, so that it cannot accumulate turns. A
 * client that has received more than the others keeps its line until they have caught up, even
 * while none of its tickets wait, so that it cannot reset its account by sending heavy tickets one
 * at a time. */
#include "sched/queue.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"

enum { LINES_MAX = 1 << 20, IDLE_MAX = 1024 };

static const uint64_t strides[DG_N_PRIORITIES] = {1, 4, 16};

void dg_flow_init(struct dg_flow *flow, enum dg_priority priority, uint64_t client)
{
    *flow = (struct dg_flow){.priority = priority, .client = client};
    dg_list_init(&flow->tickets);
    dg_list_init(&flow->link);
}

void dg_queue_init(struct dg_queue *queue)
{
    *queue = (struct dg_queue){.n_tokens = 0};
    dg_map_init(&queue->lines, LINES_MAX);
    for (int p = 0; p < DG_N_PRIORITIES; p++) {
        dg_list_init(&queue->at[p].passed);
        dg_list_init(&queue->at[p].idle);
    }
}

void dg_queue_deinit(struct dg_queue *queue)
{
    struct dg_span key;
    uint64_t line;
    for (size_t at = 0; dg_map_next(&queue->lines, &at, &key, &line);)
        dg_free((void *)(uintptr_t)line);
    dg_map_deinit(&queue->lines);
    for (int p = 0; p < DG_N_PRIORITIES; p++)
        dg_free(queue->at[p].heap);
}

size_t dg_queue_len(const struct dg_queue *queue)
{
    size_t n = 0;
    for (int p = 0; p < DG_N_PRIORITIES; p++)
        n += queue->at[p].n_tickets;
    return n;
}

/* ---- The heap of a priority ------------------------------------------------------------------ */

static bool is_before(const struct dg_line *a, const struct dg_line *b)
{
    return a->pass != b->pass ? a->pass < b->pass : a->turn < b->turn;
}

/* Puts the line where it belongs in the heap, above or below index `at`, which is free. */
static void settle(struct dg_queue *queue, int p, size_t at, struct dg_line *line)
{
    struct dg_line **heap = queue->at[p].heap;
    const size_t n = queue->at[p].n;
    for (; at > 0 && is_before(line, heap[(at - 1) / 2]); at = (at - 1) / 2) {
        heap[at] = heap[(at - 1) / 2];
        heap[at]->at = at;
    }
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && is_before(heap[child + 1], heap[child]);
        if (!is_before(heap[child], line))
            break;
        heap[at] = heap[child];
        heap[at]->at = at;
    }
    heap[at] = line;
    line->at = at;
}

static enum dg_err reserve(struct dg_queue *queue, int p)
{
    return DG_GROW(queue->at[p].heap, queue->at[p].n, queue->at[p].cap, 16);
}

static void enter(struct dg_queue *queue, int p, struct dg_line *line)
{
    line->turn = queue->n_turns++;
    settle(queue, p, queue->at[p].n++, line);
}

static void leave(struct dg_queue *queue, int p, const struct dg_line *line)
{
    struct dg_line *last = queue->at[p].heap[--queue->at[p].n];
    if (last != line)
        settle(queue, p, line->at, last);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static struct dg_span key_of(const struct dg_line *line)
{
    return dg_span_make((const char *)&line->key, sizeof line->key);
}

static void forget(struct dg_queue *queue, int p, struct dg_line *line)
{
    dg_list_unlink(&line->link);
    queue->at[p].n_idle--;
    dg_map_remove(&queue->lines, key_of(line), NULL);
    dg_free(line);
}

/* Moves a line without waiting tickets to the idle lines. The oldest idle lines are forgotten once
 * the others have caught up, or when there are too many. */
static void rest(struct dg_queue *queue, int p, struct dg_line *line)
{
    dg_list_link_last(&queue->at[p].idle, &line->link);
    queue->at[p].n_idle++;
    while (queue->at[p].n_idle > 0) {
        struct dg_line *oldest = DG_LIST_ITEM(queue->at[p].idle.next, struct dg_line, link);
        if (queue->at[p].n_idle <= IDLE_MAX && queue->at[p].n > 0 &&
            oldest->pass > queue->at[p].now)
            break;
        forget(queue, p, oldest);
    }
}

/* Returns the line of the flow's client; a new line has received no work. */
static struct dg_line *line_for(struct dg_queue *queue, const struct dg_flow *flow)
{
    const struct dg_line wanted = {.key = {flow->client, flow->priority}};
    struct dg_line *line = dg_map_get_ptr(&queue->lines, key_of(&wanted));
    if (line || !(line = dg_try_calloc(1, sizeof *line)))
        return line;
    line->key = wanted.key;
    dg_list_init(&line->flows);
    dg_list_init(&line->link);
    if (dg_map_put_ptr(&queue->lines, key_of(line), line) != DG_OK) {
        dg_free(line);
        return NULL;
    }
    dg_list_link_last(&queue->at[flow->priority].idle, &line->link);
    queue->at[flow->priority].n_idle++;
    return line;
}

/* ---- Priorities ------------------------------------------------------------------------------ */

/* Returns the present virtual time: the least pass of the waiting priorities. */
static uint64_t now(const struct dg_queue *queue)
{
    uint64_t least = 0;
    bool is_any = false;
    for (int p = 0; p < DG_N_PRIORITIES; p++)
        if (queue->at[p].n_tickets > 0 && (!is_any || queue->at[p].pass < least)) {
            least = queue->at[p].pass;
            is_any = true;
        }
    if (is_any)
        return least;
    for (int p = 0; p < DG_N_PRIORITIES; p++)
        if (queue->at[p].pass > least)
            least = queue->at[p].pass;
    return least;
}

enum dg_err dg_queue_push(struct dg_queue *queue, struct dg_flow *flow, struct dg_ticket *ticket)
{
    const enum dg_priority p = flow->priority;
    struct dg_line *line = line_for(queue, flow);
    if (!line || reserve(queue, p) != DG_OK)
        return DG_ERR_NOMEM; /* lines without tickets are removed when the next one becomes idle */
    if (queue->at[p].n_tickets == 0) {
        const uint64_t present = now(queue);
        if (queue->at[p].pass < present)
            queue->at[p].pass = present;
    }
    if (line->n_tickets == 0) {
        dg_list_unlink(&line->link);
        queue->at[p].n_idle--;
        if (line->pass < queue->at[p].now)
            line->pass = queue->at[p].now;
        enter(queue, p, line);
    }
    if (dg_list_is_empty(&flow->tickets))
        dg_list_link_last(&line->flows, &flow->link);
    dg_list_link_last(&flow->tickets, &ticket->link);
    flow->line = line;
    ticket->flow = flow;
    ticket->work = dg_ticket_work(ticket);
    line->n_tickets++;
    queue->at[p].n_tickets++;
    queue->n_tokens += ticket->n_src;
    return DG_OK;
}

struct dg_ticket *dg_queue_peek(struct dg_queue *queue, enum dg_priority lowest)
{
    int best = -1;
    for (int p = 0; p < DG_N_PRIORITIES && p <= (int)lowest; p++)
        if (queue->at[p].n > 0 && (best < 0 || queue->at[p].pass < queue->at[best].pass))
            best = p;
    if (best < 0)
        return NULL;
    const struct dg_line *line = queue->at[best].heap[0];
    struct dg_flow *flow = DG_LIST_ITEM(line->flows.next, struct dg_flow, link);
    return DG_LIST_ITEM(flow->tickets.next, struct dg_ticket, link);
}

void dg_queue_pass_over(struct dg_queue *queue, struct dg_ticket *ticket)
{
    const enum dg_priority p = ticket->flow->priority;
    struct dg_line *line = ticket->flow->line;
    leave(queue, p, line);
    dg_list_link_last(&queue->at[p].passed, &line->link);
}

void dg_queue_call_back(struct dg_queue *queue)
{
    for (int p = 0; p < DG_N_PRIORITIES; p++)
        for (struct dg_list *at; (at = dg_list_pop_first(&queue->at[p].passed));)
            settle(queue, p, queue->at[p].n++, DG_LIST_ITEM(at, struct dg_line, link));
}

void dg_queue_remove(struct dg_queue *queue, struct dg_ticket *ticket)
{
    struct dg_flow *flow = ticket->flow;
    struct dg_line *line = flow->line;
    dg_list_unlink(&ticket->link);
    queue->at[flow->priority].n_tickets--;
    queue->n_tokens -= ticket->n_src;
    if (dg_list_is_empty(&flow->tickets))
        dg_list_unlink(&flow->link);
    if (--line->n_tickets > 0)
        return;
    leave(queue, flow->priority, line);
    rest(queue, flow->priority, line);
}

void dg_queue_serve(struct dg_queue *queue, struct dg_ticket *ticket)
{
    struct dg_flow *flow = ticket->flow;
    struct dg_line *line = flow->line;
    const enum dg_priority p = flow->priority;
    queue->at[p].pass += strides[p] * ticket->work;
    queue->at[p].now = line->pass > queue->at[p].now ? line->pass : queue->at[p].now;
    line->pass += ticket->work;
    line->turn = queue->n_turns++;
    settle(queue, p, line->at, line);
    if (ticket->link.next != &flow->tickets) { /* other tickets of the flow wait: it goes after the
                                                  client's other flows */
        dg_list_unlink(&flow->link);
        dg_list_link_last(&line->flows, &flow->link);
    }
    dg_queue_remove(queue, ticket);
}
