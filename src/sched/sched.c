/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The scheduler: models, workers, and the turn that a worker repeats:
 *
 *     for every model with work:   take tickets that fit  (under the lock)
 *                                  encode them            (no lock)
 *                                  end what was cancelled or is late
 *                                  one decoding step      (no lock; tokens and ends become news)
 *
 * A step is bounded (step_rows of decoder.h), so a new ticket is encoded soon. It also gets its
 * first token soon, because watched tickets that have shown nothing go before the next tokens of
 * the others.
 *
 * One lock guards queues, states and counters; it is held for list operations only. A worker takes
 * it twice a turn, once more if tickets wait, and once more if some ended. Counters belong to a
 * worker until somebody reads them. News reaches the consumer through one bounded queue. One entry
 * holds all tickets to which a step has added tokens, another all tickets that it has ended, each
 * as a chain, so that workers do not touch shared memory for every token. A ticket is in that queue
 * at most once for tokens (is_noted) and once for its end, and it counts against max_tickets until
 * the consumer has read its end. So the queue never overflows, and a sleeping consumer costs only
 * latency. */
#include "sched/sched.h"
#include "base/memory/mem.h"
#include "base/thread/cpu.h"
#include "base/thread/helpers.h"
#include "base/thread/mpsc.h"
#include "base/thread/nodes.h"
#include "sched/queue.h"

#include <pthread.h>
#include <stdalign.h>
#include <string.h>
#include <time.h>

enum {
    CACHE_LINE = 64,
    ENCODE_BUSY = 256, /* source tokens that a turn encodes while others may come */
    RETRY_LEAST_MS = 100,
    RETRY_MOST_MS = 60000,
    /* the work of a typical ticket, which max_tickets assumes: 100 tokens, beam 4 */
    PLACE_WORK = 512,
    CLIENTS_MAX = 1 << 20,
};

static const uint64_t STALL_NS = 10 * DG_CLOCK_S, QUARTER_MS = DG_CLOCK_MS / 4;

/* Tickets that the consumer will be told of together, chained by next_told. */
struct chain {
    struct dg_ticket *first, *last; /* first is NULL: empty */
};

/* One worker's share of one model. */
struct lane {
    alignas(CACHE_LINE) struct dg_sched_model *model;
    struct worker *worker;
    struct dg_decoder *decoder;
    struct dg_list running; /* its tickets; only the worker uses this list */
    size_t n_running;       /* how many; guarded by the lock */
    bool may_take; /* tickets waited when the turn began; only the worker uses this, and all
                      that follows except `sums` */
    struct chain shown, ended;    /* what the present step did */
    struct dg_sched_stats counts; /* of the present turn, added to `sums` when it ends */
    struct dg_sched_stats sums;   /* not yet added to the model's and the scheduler's; guarded */
};

struct worker {
    alignas(CACHE_LINE) struct dg_sched *sched;
    size_t index;
    pthread_t thread;
    bool is_leader; /* whether it leads the helpers; a copy that only the worker uses */
    bool is_busy;   /* it has tickets; guarded */
    bool is_dead;   /* its thread has ended while it had work, which happens only in tests */
    bool is_over;   /* its thread is to end; only the worker uses this */
    size_t n_locks; /* how often it took the lock in the present turn; only the worker uses this */
    uint64_t turn_began_ns;   /* 0: between turns; guarded by the lock */
    uint64_t n_served_tokens; /* source tokens of tickets that ended in the present turn, which are
                                 added to the scheduler's when it ends */
    struct dg_sched_model *active[DG_SCHED_MODELS_MAX]; /* [n_active] those it has work for */
    size_t n_active;
    struct dg_decode_job jobs[DG_DECODER_ADD_MAX];
    struct dg_ticket *tickets[DG_DECODER_ADD_MAX];
    uint32_t handles[DG_DECODER_ADD_MAX];
};

/* What a client has waiting, over all models. */
struct account {
    uint64_t client;
    size_t n_tickets, n_tokens; /* counts of the source */
    uint64_t work;
};

struct dg_sched_model {
    struct dg_sched *sched;
    const struct dg_net *net;
    struct dg_decoder_limits limits;
    struct dg_queue queue;
    struct lane *lanes;            /* [n_workers] owned */
    struct dg_sched_stats *counts; /* borrowed, guarded; or NULL */
    size_t n_users;                /* workers that are using it now */
    size_t n_idle;                 /* lanes without running tickets */
};

struct news {
    struct dg_ticket *ticket; /* the first of a chain */
    bool is_over;
};

/* The first lines are only read; then come the consumer's; then the lock with what every turn uses.
 */
struct dg_sched {
    struct dg_sched_opts opts;
    struct dg_clock own_clock;
    struct dg_mpsc *news;
    struct worker *workers; /* [n_workers] owned */
    size_t n_threads;
    struct dg_nodes *nodes; /* owned; NULL: one node */

    /* the rest of the chain that the consumer is reading; the consumer's own */
    alignas(CACHE_LINE) struct news told;

    alignas(CACHE_LINE) pthread_mutex_t lock;
    size_t n_models;                 /* guarded, as is all that has no other remark */
    struct worker *leader;           /* NULL: none */
    size_t n_asleep;                 /* workers that sleep */
    size_t n_busy;                   /* workers that have tickets */
    size_t n_roused;                 /* sleeping workers that were woken and have not started yet */
    uint64_t served_tokens, busy_ns; /* used to estimate when there will be room */
    bool is_stopping;
    atomic_uint_fast64_t n_calls; /* increases, under the lock, when idle workers may have work */
    /* tickets whose end the consumer has not read; they still take up room */
    atomic_size_t n_untold;
    struct dg_sched_model *models[DG_SCHED_MODELS_MAX];
    pthread_cond_t work;       /* there is work, or the scheduler stops */
    pthread_cond_t idle;       /* a worker has released a model */
    struct dg_helpers helpers; /* workers without work help `leader` */
    struct dg_map accounts; /* owned struct account by client, for clients with waiting tickets */
    uint64_t work_waiting;  /* work of all clients */
    struct dg_sched_stats stats;
};

static uint64_t now_ns(const struct dg_sched *sched)
{
    return dg_clock_now(sched->opts.clock);
}

/* ---- News ------------------------------------------------------------------------------------ */

static void push_news(struct dg_sched *sched, struct dg_ticket *first, bool is_over)
{
    enum dg_err err = dg_mpsc_push(sched->news, &(struct news){first, is_over});
    (void)err; /* cannot fail: two places are reserved for every ticket whose end was not read */
}

static void add_to_chain(struct chain *chain, struct dg_ticket *ticket, bool is_over)
{
    ticket->next_told[is_over] = NULL;
    if (chain->first)
        chain->last->next_told[is_over] = ticket;
    else
        chain->first = ticket;
    chain->last = ticket;
}

/* Tells the consumer of a chain, and empties it. */
static void tell(struct lane *lane, struct chain *chain, bool is_over)
{
    if (!chain->first)
        return;
    push_news(lane->worker->sched, chain->first, is_over);
    lane->counts.n_news++;
    chain->first = NULL;
}

bool dg_sched_next(struct dg_sched *sched, struct dg_ticket **ticket, bool *is_over)
{
    struct news *told = &sched->told;
    if (!told->ticket && !dg_mpsc_pop(sched->news, told))
        return false;
    *ticket = told->ticket;
    *is_over = told->is_over;
    told->ticket = (*ticket)->next_told[told->is_over];
    if (told->is_over)
        atomic_fetch_sub(&sched->n_untold, 1);
    /* An exchange, which makes the tokens visible that were stored before the note that it takes
     * back. */
    else
        atomic_exchange(&(*ticket)->is_noted, false);
    return true;
}

void dg_sched_listen(struct dg_sched *sched)
{
    dg_mpsc_listen(sched->news);
}

/* ---- Counting -------------------------------------------------------------------------------- */

/* Returns the bucket of `value` among 1, 2, 3-4, 5-8, ... (or below 1, 2, 4, ...). */
static size_t bucket(uint64_t value)
{
    size_t b = 0;
    while (b + 1 < DG_HISTOGRAM && value > (uint64_t)1 << b)
        b++;
    return b;
}

static void count_end(struct lane *lane, const struct dg_ticket *ticket)
{
    struct dg_sched_stats *counts = &lane->counts;
    if (ticket->err == DG_ERR_CANCELLED)
        counts->n_cancelled++;
    else if (ticket->err == DG_ERR_TIMEOUT)
        counts->n_timed_out++;
    else if (ticket->err)
        counts->n_failed++;
    else
        counts->n_done++;
    lane->worker->n_served_tokens += ticket->n_src;
    counts->n_tokens_in += ticket->n_src;
    counts->n_tokens_out += dg_ticket_shown(ticket);
    if (ticket->err)
        return;
    uint64_t wait = ticket->started_ns - ticket->queued_ns;
    uint64_t first = ticket->first_ns ? ticket->first_ns - ticket->queued_ns : 0;
    counts->wait_ns += wait;
    counts->first_ns += first;
    counts->total_ns += ticket->ended_ns - ticket->queued_ns;
    counts->wait_ms[bucket(wait / DG_CLOCK_MS + 1)]++;
    counts->first_ms[bucket(first / DG_CLOCK_MS + 1)]++;
    size_t n_more = dg_ticket_shown(ticket);
    if (ticket->first_ns && n_more > 1) {
        uint64_t each_ns = (ticket->ended_ns - ticket->first_ns) / (n_more - 1);
        counts->token_ns += each_ns;
        counts->token_quarter_ms[bucket(each_ns / QUARTER_MS + 1)]++;
    }
}

/* Adds a turn's counts to the sums. Every field up to n_waiting is a counter. */
static void add_counts(struct dg_sched_stats *sum, const struct dg_sched_stats *counts)
{
    uint64_t *to = (uint64_t *)(void *)sum;
    const uint64_t *from = (const uint64_t *)(const void *)counts;
    for (size_t i = 0; i < offsetof(struct dg_sched_stats, n_waiting) / sizeof *to; i++)
        to[i] += from[i];
}

/* Adds the counts of a turn to the lane's sums, which stay in the worker's own cache. The lock is
 * held. */
static void settle_counts(struct lane *lane)
{
    add_counts(&lane->sums, &lane->counts);
    memset(&lane->counts, 0, sizeof lane->counts);
}

/* Adds the sums of all the model's lanes to those of the scheduler and the model. The lock is
 * held. */
static void settle_lanes(struct dg_sched_model *model)
{
    struct dg_sched *sched = model->sched;
    for (size_t w = 0; w < sched->opts.n_workers; w++) {
        add_counts(&sched->stats, &model->lanes[w].sums);
        if (model->counts)
            add_counts(model->counts, &model->lanes[w].sums);
        memset(&model->lanes[w].sums, 0, sizeof model->lanes[w].sums);
    }
}

static void settle_all(struct dg_sched *sched)
{
    for (size_t i = 0; i < sched->n_models; i++)
        settle_lanes(sched->models[i]);
}

static struct dg_span key_of(const uint64_t *client)
{
    return dg_span_make((const char *)client, sizeof *client);
}

/* Returns the account of a client, and makes it if there is none; NULL: no memory. The lock is
 * held. */
static struct account *account_of(struct dg_sched *sched, uint64_t client)
{
    struct account *account = dg_map_get_ptr(&sched->accounts, key_of(&client));
    if (account || !(account = dg_try_calloc(1, sizeof *account)))
        return account;
    account->client = client;
    if (dg_map_put_ptr(&sched->accounts, key_of(&account->client), account) == DG_OK)
        return account;
    dg_free(account);
    return NULL;
}

static void close_if_empty(struct dg_sched *sched, struct account *account)
{
    if (account->n_tickets > 0)
        return;
    dg_map_remove(&sched->accounts, key_of(&account->client), NULL);
    dg_free(account);
}

/* `book` adds a waiting ticket to its client's account, and `unbook` removes it. The lock is
 * held. */
static void book(struct dg_sched *sched, struct account *account, const struct dg_ticket *ticket)
{
    account->n_tickets++;
    account->n_tokens += ticket->n_src;
    account->work += ticket->work;
    sched->work_waiting += ticket->work;
}

static void unbook(struct dg_sched *sched, const struct dg_ticket *ticket)
{
    struct account *account = dg_map_get_ptr(&sched->accounts, key_of(&ticket->flow->client));
    account->n_tickets--;
    account->n_tokens -= ticket->n_src;
    account->work -= ticket->work;
    sched->work_waiting -= ticket->work;
    close_if_empty(sched, account);
}

/* Adjusts the numbers of waiting and running tickets; the lock is held. */
static void count_moves(const struct dg_ticket *ticket, int waiting, int running)
{
    struct dg_sched_model *model = ticket->model;
    struct dg_sched_stats *both[] = {&model->sched->stats, model->counts};
    for (int i = 0; i < 2 && both[i]; i++) {
        both[i]->n_waiting += (size_t)waiting;
        both[i]->n_tokens_waiting += (size_t)waiting * ticket->n_src;
        both[i]->n_running += (size_t)running;
    }
}

/* ---- The end of a ticket --------------------------------------------------------------------- */

/* Copies one answer out of the search. */
static enum dg_err copy_answer(const struct lane *lane, const struct dg_ticket *ticket,
                               const struct dg_search *search, size_t index,
                               struct dg_ticket_answer *to)
{
    struct dg_answer from = dg_search_answer(search, index);
    *to = (struct dg_ticket_answer){
        .n_ids = from.n_ids,
        .logprob = from.logprob,
        .score = from.score,
        .finish = from.finish,
        .repaired = from.repaired,
    };
    to->ids = dg_try_malloc(from.n_ids * (sizeof *to->ids + sizeof *to->logprobs));
    if (!to->ids)
        return DG_ERR_NOMEM;
    to->logprobs = (float *)(void *)(to->ids + from.n_ids);
    if (from.n_ids) {
        memcpy(to->ids, from.ids, from.n_ids * sizeof *to->ids);
        memcpy(to->logprobs, from.logprobs, from.n_ids * sizeof *to->logprobs);
    }
    if (!ticket->opts.want_alignment)
        return DG_OK;
    to->alignment = dg_try_calloc(from.n_ids ? from.n_ids : 1, ticket->n_src * sizeof(float));
    if (!to->alignment)
        return DG_ERR_NOMEM;
    for (size_t t = 0; t < from.n_ids; t++)
        memcpy(to->alignment + t * ticket->n_src,
               dg_decoder_alignment(lane->decoder, search, index, t),
               ticket->n_src * sizeof(float));
    return DG_OK;
}

static enum dg_err copy_answers(const struct lane *lane, struct dg_ticket *ticket,
                                const struct dg_search *search)
{
    size_t n = dg_search_n_answers(search);
    ticket->answers = dg_try_calloc(n, sizeof *ticket->answers);
    if (!ticket->answers)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        ticket->n_answers = i + 1;
        enum dg_err err = copy_answer(lane, ticket, search, i, &ticket->answers[i]);
        if (err)
            return err;
    }
    return DG_OK;
}

/* Ends a running ticket; `tell_all` tells the consumer. */
static void end_running(struct lane *lane, struct dg_ticket *ticket)
{
    ticket->ended_ns = now_ns(lane->worker->sched);
    count_end(lane, ticket);
    dg_list_unlink(&ticket->link);
    add_to_chain(&lane->ended, ticket, true);
}

static void lock(struct worker *worker)
{
    pthread_mutex_lock(&worker->sched->lock);
    worker->n_locks++;
}

/* Tells the consumer what a step did. After that, the worker does not use the tickets that
 * ended. */
static void tell_all(struct lane *lane)
{
    struct dg_sched *sched = lane->worker->sched;
    if (lane->ended.first) {
        lock(lane->worker);
        for (struct dg_ticket *at = lane->ended.first; at; at = at->next_told[true]) {
            at->state = DG_TICKET_ENDED;
            atomic_fetch_add(&sched->n_untold, 1);
            lane->model->n_idle += --lane->n_running == 0;
            count_moves(at, 0, -1);
        }
        pthread_mutex_unlock(&sched->lock);
    }
    tell(lane, &lane->shown, false);
    tell(lane, &lane->ended, true);
}

/* Ends a waiting ticket; the lock is held. */
static void end_waiting(struct dg_sched *sched, struct dg_ticket *ticket, enum dg_err err)
{
    unbook(sched, ticket);
    dg_queue_remove(&ticket->model->queue, ticket);
    ticket->state = DG_TICKET_ENDED;
    atomic_fetch_add(&sched->n_untold, 1);
    ticket->err = err;
    ticket->ended_ns = now_ns(sched);
    count_moves(ticket, -1, 0);
    struct dg_sched_stats *both[] = {&sched->stats, ticket->model->counts};
    for (int i = 0; i < 2 && both[i]; i++)
        *(err == DG_ERR_TIMEOUT ? &both[i]->n_timed_out : &both[i]->n_cancelled) += 1;
    ticket->next_told[true] = NULL;
    push_news(sched, ticket, true);
}

/* ---- The decoder's events -------------------------------------------------------------------- */

static void on_tokens(void *ctx, size_t at, const int32_t *ids, const float *logprobs, size_t n)
{
    struct dg_ticket *ticket = ctx;
    struct lane *lane = ticket->worker;
    if (at + n > ticket->shown_cap)
        return; /* cannot happen, because the search keeps to the cap */
    memcpy(ticket->shown_ids + at, ids, n * sizeof *ids);
    memcpy(ticket->shown_logprobs + at, logprobs, n * sizeof *logprobs);
    if (ticket->first_ns == 0)
        ticket->first_ns = now_ns(lane->worker->sched);
    atomic_store_explicit(&ticket->n_shown, at + n, memory_order_release);
    if (!ticket->is_quiet && !atomic_exchange(&ticket->is_noted, true))
        add_to_chain(&lane->shown, ticket, false);
}

static void on_search_done(void *ctx, const struct dg_search *search)
{
    struct dg_ticket *ticket = ctx;
    struct lane *lane = ticket->worker;
    enum dg_err err = copy_answers(lane, ticket, search);
    enum dg_finish finish = dg_search_answer(search, 0).finish;
    if (ticket->err == DG_OK)
        ticket->err = err ? err : finish == DG_FINISH_CANCELLED ? DG_ERR_CANCELLED : DG_OK;
    end_running(lane, ticket);
}

static void on_read(void *ctx, enum dg_err err)
{
    struct dg_ticket *ticket = ctx;
    if (ticket->err == DG_OK)
        ticket->err = err;
    end_running(ticket->worker, ticket);
}

static const struct dg_decode_events events = {on_tokens, on_search_done, on_read};

/* ---- A turn ---------------------------------------------------------------------------------- */

/* Returns the most tickets that this lane should take: an equal share, so that one request on an
 * idle machine uses all cores. */
static size_t fair_share(const struct lane *lane)
{
    size_t waiting = dg_queue_len(&lane->model->queue);
    size_t n_lanes = lane->n_running == 0 ? lane->model->n_idle : 1;
    size_t share = (waiting + n_lanes - 1) / n_lanes;
    return share < DG_DECODER_ADD_MAX ? share : DG_DECODER_ADD_MAX;
}

/* Returns the lowest priority that may take one more slot: bulk work may not use the last
 * quarter. */
static enum dg_priority lowest_welcome(const struct lane *lane, size_t n_taken)
{
    size_t n = dg_decoder_n_sentences(lane->decoder) + n_taken;
    size_t n_kept = lane->model->limits.sentences / 4;
    return n + n_kept >= lane->model->limits.sentences ? DG_PRIORITY_NORMAL : DG_PRIORITY_BULK;
}

/* Ends the ticket at the head of the queue if it was cancelled or is late; true when it did. */
static bool is_dropped(struct dg_sched *sched, struct dg_ticket *ticket, uint64_t now)
{
    if (ticket->deadline_ns == 0 || now < ticket->deadline_ns)
        return false;
    end_waiting(sched, ticket, DG_ERR_TIMEOUT);
    return true;
}

static bool waits_for_company(const struct lane *lane, const struct dg_ticket *ticket, uint64_t now)
{
    const struct dg_sched *sched = lane->worker->sched;
    return sched->opts.batch_delay_ns > 0 && dg_list_is_empty(&lane->running) &&
           dg_queue_len(&lane->model->queue) < lane->model->limits.sentences &&
           now - ticket->queued_ns < sched->opts.batch_delay_ns;
}

/* Returns true when a user waits for the ticket's first token. */
static bool is_urgent(const struct dg_ticket *ticket)
{
    return !ticket->is_quiet && ticket->flow->priority != DG_PRIORITY_BULK;
}

/* Returns how many source tokens may be encoded together with this ticket. Tickets that come
 * meanwhile wait until all are encoded; only this process itself, when nothing else is under way,
 * needs no limit. */
static size_t encode_most(const struct lane *lane, const struct dg_ticket *ticket)
{
    const bool is_alone = ticket->flow->client == 0 && dg_list_is_empty(&lane->running);
    return is_alone ? SIZE_MAX : lane->worker->sched->opts.encode_busy;
}

/* Takes what fits from the queue into worker->jobs; the lock is held. */
static size_t take(struct lane *lane)
{
    struct worker *worker = lane->worker;
    struct dg_sched *sched = worker->sched;
    struct dg_queue *queue = &lane->model->queue;
    uint64_t now = now_ns(sched);
    size_t share = fair_share(lane), n = 0, n_tokens = 0;
    while (n < share) {
        struct dg_ticket *ticket = dg_queue_peek(queue, lowest_welcome(lane, n));
        if (!ticket || (n == 0 && waits_for_company(lane, ticket, now)))
            break;
        if (is_dropped(sched, ticket, now))
            continue;
        worker->jobs[n] = (struct dg_decode_job){
            ticket->src, ticket->n_src,     &ticket->opts, &events,
            ticket,      is_urgent(ticket), ticket->read,  ticket->flow->client};
        if (n > 0 && n_tokens + ticket->n_src > encode_most(lane, ticket))
            break;
        if (dg_decoder_n_fitting(lane->decoder, worker->jobs, n + 1) <= n) {
            if (!dg_decoder_keeps_out(lane->decoder, worker->jobs, n))
                break;
            /* other clients need not wait until its client has room again */
            dg_queue_pass_over(queue, ticket);
            continue;
        }
        unbook(sched, ticket);
        dg_queue_serve(queue, ticket);
        ticket->state = DG_TICKET_RUNNING;
        ticket->worker = lane;
        ticket->started_ns = now;
        n_tokens += ticket->n_src;
        worker->tickets[n++] = ticket;
        count_moves(ticket, -1, 1);
        lane->model->n_idle -= lane->n_running++ == 0;
    }
    dg_queue_call_back(queue);
    return n;
}

/* Encodes `n` tickets that were taken. */
static void begin(struct lane *lane, size_t n)
{
    struct worker *worker = lane->worker;
    enum dg_err err = dg_decoder_add(lane->decoder, worker->jobs, n, worker->handles, NULL);
    size_t n_tokens = 0;
    for (size_t i = 0; i < n; i++)
        n_tokens += worker->tickets[i]->n_src;
    lane->counts.n_encodes++;
    lane->counts.n_encoded += n;
    lane->counts.n_encoded_tokens += n_tokens;
    lane->counts.encode_sentences[bucket(n)]++;
    lane->counts.encode_eights[bucket((n_tokens + 7) / 8)]++;
    for (size_t i = 0; i < n; i++) {
        struct dg_ticket *ticket = worker->tickets[i];
        ticket->handle = worker->handles[i];
        dg_list_link_last(&lane->running, &ticket->link);
        if (err) {
            ticket->err = err;
            end_running(lane, ticket);
        }
    }
}

/* Ends running tickets that were cancelled or are late. */
static void sweep(struct lane *lane)
{
    uint64_t now = now_ns(lane->worker->sched);
    for (struct dg_list *at = lane->running.next, *next; at != &lane->running; at = next) {
        next = at->next;
        struct dg_ticket *ticket = DG_LIST_ITEM(at, struct dg_ticket, link);
        bool is_late = ticket->deadline_ns && now >= ticket->deadline_ns;
        if (!is_late && !atomic_load(&ticket->is_unwanted))
            continue;
        ticket->err = is_late ? DG_ERR_TIMEOUT : DG_ERR_CANCELLED;
        dg_decoder_cancel(lane->decoder, ticket->handle);
    }
}

/* Runs one decoding step of the lane's tickets. */
static void step(struct lane *lane)
{
    const uint64_t began_ns = now_ns(lane->worker->sched);
    const size_t n_rows = dg_decoder_step(lane->decoder);
    const uint64_t step_ns = now_ns(lane->worker->sched) - began_ns;
    lane->counts.n_steps++;
    lane->counts.n_shared_steps += lane->worker->is_leader;
    lane->counts.n_rows += n_rows;
    lane->counts.step_ns += step_ns;
    lane->counts.step_quarter_ms[bucket(step_ns / QUARTER_MS + 1)]++;
    if (n_rows)
        lane->counts.batch_rows[bucket(n_rows)]++;
}

/* Notes whether the worker has tickets; the lock is held. */
static void set_busy(struct worker *worker, bool is_busy)
{
    if (is_busy && !worker->is_busy)
        worker->sched->n_busy++;
    else if (!is_busy && worker->is_busy)
        worker->sched->n_busy--;
    worker->is_busy = is_busy;
}

/* Makes the worker the helpers' leader while no ticket waits and some workers have nothing to do,
 * unless another worker is the leader, if a model that it has work for gains by helpers; wakes a
 * worker that could help. While tickets wait, the others have batches of their own to take. The
 * lock is held. */
static void lead(struct worker *worker)
{
    struct dg_sched *sched = worker->sched;
    const size_t n_busy = sched->n_busy + !worker->is_busy;
    if (sched->leader == worker)
        sched->leader = NULL;
    worker->is_leader = false;
    if (!sched->opts.n_helpers || sched->leader || sched->stats.n_waiting > 0 ||
        n_busy >= sched->opts.n_workers)
        return;
    for (size_t i = 0; i < worker->n_active; i++)
        worker->is_leader |= dg_net_is_divisible(worker->active[i]->net);
    if (!worker->is_leader)
        return;
    sched->leader = worker;
    if (sched->n_asleep && dg_helpers_count(&sched->helpers) < sched->opts.n_helpers)
        pthread_cond_signal(&sched->work);
}

static bool work_on(struct lane *lane)
{
    struct worker *worker = lane->worker;
    struct dg_sched *sched = worker->sched;
    size_t n = 0;
    if (lane->may_take) {
        lock(worker);
        n = take(lane);
        set_busy(worker, worker->is_busy || n > 0);
        lead(worker);
        pthread_mutex_unlock(&sched->lock);
    }
    dg_decoder_lend(lane->decoder, worker->is_leader ? &sched->helpers : NULL);
    if (n)
        begin(lane, n);
    const bool had_any = !dg_list_is_empty(&lane->running) || n > 0;
    sweep(lane);
    if (!dg_list_is_empty(&lane->running))
        step(lane);
    tell_all(lane);
    return had_any; /* waiting tickets may find room now, even without a step */
}

/* Wakes as many workers as there are waiting tickets; the lock is held. If a woken worker does not
 * take its ticket (it died, or hangs), the ticket counts again at the next call. */
static void rouse(struct dg_sched *sched)
{
    size_t n = sched->stats.n_waiting < sched->n_asleep ? sched->stats.n_waiting : sched->n_asleep;
    for (; sched->n_roused < n; sched->n_roused++)
        pthread_cond_signal(&sched->work);
}

/* Lists the models that have work for this worker and keeps them from being detached. */
static size_t grab_models(struct worker *worker)
{
    struct dg_sched *sched = worker->sched;
    size_t n = 0;
    lock(worker);
    worker->turn_began_ns = now_ns(sched);
    for (size_t i = 0; i < sched->n_models; i++) {
        struct dg_sched_model *model = sched->models[i];
        struct lane *lane = &model->lanes[worker->index];
        lane->may_take = dg_queue_len(&model->queue) > 0;
        if (lane->may_take || !dg_list_is_empty(&lane->running)) {
            model->n_users++;
            worker->active[n++] = model;
        }
    }
    worker->n_active = n;
    lead(worker);
    pthread_mutex_unlock(&sched->lock);
    return n;
}

/* Returns whether the worker has running tickets; the lock is held. */
static bool has_work(const struct dg_sched *sched, const struct worker *worker)
{
    for (size_t i = 0; i < sched->n_models; i++)
        if (!dg_list_is_empty(&sched->models[i]->lanes[worker->index].running))
            return true;
    return false;
}

static bool turn(struct worker *worker)
{
    struct dg_sched *sched = worker->sched;
    size_t n = grab_models(worker);
    bool was_useful = false;
    if (n && sched->opts.on_turn)
        worker->is_dead = !sched->opts.on_turn(sched->opts.on_turn_arg, worker->index);
    for (size_t i = 0; i < n && !worker->is_dead; i++)
        was_useful |= work_on(&worker->active[i]->lanes[worker->index]);
    lock(worker);
    if (was_useful) { /* by a lane, so that only this worker writes it */
        struct dg_sched_stats *counts = &worker->active[0]->lanes[worker->index].counts;
        counts->n_turns++;
        counts->n_locks += worker->n_locks;
    }
    for (size_t i = 0; i < n; i++) {
        settle_counts(&worker->active[i]->lanes[worker->index]);
        if (--worker->active[i]->n_users == 0)
            pthread_cond_broadcast(&sched->idle);
    }
    if (was_useful) {
        sched->busy_ns += now_ns(sched) - worker->turn_began_ns;
        sched->served_tokens += worker->n_served_tokens;
        worker->n_served_tokens = 0;
    }
    worker->n_locks = 0;
    worker->is_over = sched->is_stopping || worker->is_dead;
    if (!worker->is_dead)
        worker->turn_began_ns = 0;
    else
        rouse(sched);
    set_busy(worker, has_work(sched, worker));
    if (sched->leader == worker && (worker->is_dead || !worker->is_busy))
        sched->leader = NULL;
    pthread_mutex_unlock(&sched->lock);
    return was_useful;
}

bool dg_sched_turn(struct dg_sched *sched, size_t worker)
{
    return turn(&sched->workers[worker]);
}

/* ---- Threads --------------------------------------------------------------------------------- */

/* Sleeps until there may be work; the lock is held. With a batching delay, the worker wakes again
 * soon, because a ticket that it left waiting becomes due without a signal. */
static void sleep_until_work(struct dg_sched *sched)
{
    if (sched->opts.batch_delay_ns == 0 || sched->stats.n_waiting == 0) {
        pthread_cond_wait(&sched->work, &sched->lock);
        return;
    }
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + sched->opts.batch_delay_ns;
    until.tv_sec += (time_t)(ns / DG_CLOCK_S);
    until.tv_nsec = (long)(ns % DG_CLOCK_S);
    pthread_cond_timedwait(&sched->work, &sched->lock, &until);
}

/* Takes part in the leader's products until there may be work for this worker, or there were no
 * products for some time. */
static void help(struct dg_sched *sched, uint64_t n_seen)
{
    pthread_mutex_lock(&sched->lock);
    bool is_led = sched->leader != NULL;
    pthread_mutex_unlock(&sched->lock);
    if (is_led)
        dg_helpers_help(&sched->helpers, &sched->n_calls, n_seen);
}

static void *run_worker(void *arg)
{
    struct worker *worker = arg;
    struct dg_sched *sched = worker->sched;
    const unsigned rank = dg_nodes_bind(sched->nodes, worker->index);
    if (sched->opts.pins)
        /* if this is refused, the worker runs unpinned */
        (void)dg_cpu_pin(rank);
    for (;;) {
        uint64_t n_seen = atomic_load(&sched->n_calls);
        bool was_useful = turn(worker);
        if (was_useful && !worker->is_over)
            continue;
        if (!was_useful && sched->opts.n_helpers && !worker->is_dead)
            help(sched, n_seen);
        pthread_mutex_lock(&sched->lock);
        /* Sleeps only if nothing has come since before the turn. Tickets that the turn left
         * waiting are for workers that have room. */
        if (!was_useful && !sched->is_stopping && !worker->is_dead &&
            atomic_load(&sched->n_calls) == n_seen && !has_work(sched, worker)) {
            sched->n_asleep++;
            sleep_until_work(sched);
            sched->n_asleep--;
            sched->n_roused -= sched->n_roused > 0;
            sched->stats.n_wake_ups++;
        }
        bool is_over = sched->is_stopping || worker->is_dead;
        pthread_mutex_unlock(&sched->lock);
        if (is_over)
            return NULL;
    }
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* Allocates `n` structs that begin at cache lines, so that they share none. */
static void *try_zeroed(size_t n, size_t size)
{
    void *block = dg_try_aligned(n * size);
    if (block)
        memset(block, 0, n * size);
    return block;
}

static void init_locks(struct dg_sched *sched)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&sched->lock, NULL);
    pthread_cond_init(&sched->work, &attr);
    pthread_cond_init(&sched->idle, NULL);
    pthread_condattr_destroy(&attr);
}

enum dg_err dg_sched_new(const struct dg_sched_opts *opts, struct dg_error *error,
                         struct dg_sched **out)
{
    if (opts->n_workers == 0 || opts->n_workers > DG_SCHED_WORKERS_MAX || opts->max_tickets == 0)
        return dg_error_set(
            error, DG_ERR_RANGE,
            "%zu workers and %zu tickets, expected 1 to %d workers and 1 or more tickets",
            opts->n_workers, opts->max_tickets, DG_SCHED_WORKERS_MAX);
    struct dg_sched *sched = try_zeroed(1, sizeof *sched);
    if (!sched)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a scheduler");
    sched->opts = *opts;
    sched->own_clock = (struct dg_clock)DG_CLOCK_REAL;
    if (!sched->opts.clock)
        sched->opts.clock = &sched->own_clock;
    if (sched->opts.stall_ns == 0)
        sched->opts.stall_ns = STALL_NS;
    if (sched->opts.encode_busy == 0)
        sched->opts.encode_busy = ENCODE_BUSY;
    init_locks(sched);
    atomic_init(&sched->n_calls, 0);
    dg_helpers_init(&sched->helpers, opts->n_helpers);
    dg_map_init(&sched->accounts, CLIENTS_MAX);
    if (opts->nodes_root)
        sched->nodes = dg_nodes_new(opts->nodes_root, opts->n_workers);
    sched->workers = try_zeroed(opts->n_workers, sizeof *sched->workers);
    enum dg_err err = sched->workers ? DG_OK : DG_ERR_NOMEM;
    if (!err)
        err = dg_mpsc_new(2 * opts->max_tickets + 1, sizeof(struct news), opts->wake,
                          opts->wake_arg, &sched->news);
    for (size_t w = 0; !err && w < opts->n_workers; w++) {
        sched->workers[w].sched = sched;
        sched->workers[w].index = w;
        if (opts->manual)
            continue;
        err = dg_err_from_errno(
            pthread_create(&sched->workers[w].thread, NULL, run_worker, &sched->workers[w]));
        if (!err)
            sched->n_threads++;
    }
    if (err) {
        dg_sched_free(sched);
        return dg_error_set(error, err, "cannot start %zu workers: %s", opts->n_workers,
                            dg_err_sentence(err));
    }
    *out = sched;
    return DG_OK;
}

size_t dg_sched_n_workers(const struct dg_sched *sched)
{
    return sched->opts.n_workers;
}

const struct dg_nodes *dg_sched_nodes(const struct dg_sched *sched)
{
    return sched->nodes;
}

static void free_model(struct dg_sched_model *model)
{
    for (size_t w = 0; model->lanes && w < model->sched->opts.n_workers; w++)
        dg_decoder_free(model->lanes[w].decoder);
    dg_free(model->lanes);
    dg_queue_deinit(&model->queue);
    dg_free(model);
}

void dg_sched_free(struct dg_sched *sched)
{
    if (!sched)
        return;
    pthread_mutex_lock(&sched->lock);
    sched->is_stopping = true;
    atomic_fetch_add(&sched->n_calls, 1);
    pthread_cond_broadcast(&sched->work);
    pthread_mutex_unlock(&sched->lock);
    for (size_t w = 0; w < sched->n_threads; w++)
        pthread_join(sched->workers[w].thread, NULL);
    for (size_t i = 0; i < sched->n_models; i++)
        free_model(sched->models[i]);
    struct dg_span key;
    uint64_t account;
    for (size_t at = 0; dg_map_next(&sched->accounts, &at, &key, &account);)
        dg_free((void *)(uintptr_t)account);
    dg_map_deinit(&sched->accounts);
    dg_mpsc_free(sched->news);
    dg_free(sched->workers);
    dg_nodes_free(sched->nodes);
    pthread_mutex_destroy(&sched->lock);
    pthread_cond_destroy(&sched->work);
    pthread_cond_destroy(&sched->idle);
    dg_free(sched);
}

/* ---- Models ---------------------------------------------------------------------------------- */

/* What add_decoders is given. */
struct adding {
    struct dg_sched_model *model;
    size_t node;
    struct dg_error *error;
    enum dg_err err;
};

/* Makes the decoders of one node's workers, on a thread of that node. */
static void add_decoders(void *arg)
{
    struct adding *adding = arg;
    struct dg_sched_model *model = adding->model;
    const struct dg_sched *sched = model->sched;
    for (size_t w = 0; !adding->err && w < sched->opts.n_workers; w++)
        if (dg_nodes_of(sched->nodes, w) == adding->node)
            adding->err =
                dg_decoder_new(&model->lanes[w].decoder, dg_net_copy(model->net, adding->node),
                               &model->limits, adding->error);
}

enum dg_err dg_sched_attach(struct dg_sched *sched, const struct dg_net *net,
                            const struct dg_decoder_limits *limits, struct dg_error *error,
                            struct dg_sched_model **out)
{
    struct dg_sched_model *model = dg_try_calloc(1, sizeof *model);
    if (!model)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a model");
    model->sched = sched;
    model->net = net;
    model->limits = *limits;
    dg_queue_init(&model->queue);
    model->n_idle = sched->opts.n_workers;
    model->lanes = try_zeroed(sched->opts.n_workers, sizeof *model->lanes);
    enum dg_err err = model->lanes ? DG_OK : DG_ERR_NOMEM;
    for (size_t w = 0; !err && w < sched->opts.n_workers; w++) {
        model->lanes[w].model = model;
        model->lanes[w].worker = &sched->workers[w];
        dg_list_init(&model->lanes[w].running);
    }
    struct adding adding = {.model = model, .error = error};
    for (; !err && adding.node < dg_nodes_count(sched->nodes); adding.node++) {
        dg_nodes_run(sched->nodes, adding.node, add_decoders, &adding);
        err = adding.err;
    }
    if (!err) {
        pthread_mutex_lock(&sched->lock);
        if (sched->n_models < DG_SCHED_MODELS_MAX)
            sched->models[sched->n_models++] = model;
        else
            err = dg_error_set(error, DG_ERR_LIMIT, "%d models are loaded, which is the limit",
                               DG_SCHED_MODELS_MAX);
        pthread_mutex_unlock(&sched->lock);
    }
    if (err) {
        free_model(model);
        return err;
    }
    *out = model;
    return DG_OK;
}

void dg_sched_count_into(struct dg_sched_model *model, struct dg_sched_stats *counts)
{
    pthread_mutex_lock(&model->sched->lock);
    settle_lanes(model);
    model->counts = counts;
    pthread_mutex_unlock(&model->sched->lock);
}

void dg_sched_read_counts(struct dg_sched *sched, const struct dg_sched_stats *counts,
                          struct dg_sched_stats *copy)
{
    pthread_mutex_lock(&sched->lock);
    settle_all(sched);
    *copy = *counts;
    pthread_mutex_unlock(&sched->lock);
}

void dg_sched_detach(struct dg_sched *sched, struct dg_sched_model *model)
{
    pthread_mutex_lock(&sched->lock);
    settle_lanes(model);
    for (size_t i = 0; i < sched->n_models; i++)
        if (sched->models[i] == model) {
            sched->models[i] = sched->models[--sched->n_models];
            break;
        }
    while (model->n_users > 0)
        pthread_cond_wait(&sched->idle, &sched->lock);
    settle_lanes(model);
    pthread_mutex_unlock(&sched->lock);
    free_model(model);
}

enum dg_err dg_sched_check(const struct dg_sched_model *model, const int32_t *src, size_t n_src,
                           const struct dg_search_opts *opts, struct dg_error *error)
{
    struct dg_decode_job job = {src, n_src, opts, &events, NULL, false};
    return dg_decoder_check(model->lanes[0].decoder, &job, error);
}

/* ---- Tickets --------------------------------------------------------------------------------- */

/* Estimates when there will be room, from the rate at which source tokens have been served. */
static uint64_t estimate_retry_ms(const struct dg_sched *sched)
{
    if (sched->served_tokens == 0)
        return RETRY_LEAST_MS;
    double ms_per_token = (double)sched->busy_ns / (double)DG_CLOCK_MS /
                          (double)sched->served_tokens / (double)sched->opts.n_workers;
    double ms = ms_per_token * (double)sched->stats.n_tokens_waiting / 2;
    return ms < RETRY_LEAST_MS ? RETRY_LEAST_MS : ms > RETRY_MOST_MS ? RETRY_MOST_MS : (uint64_t)ms;
}

/* Returns the number of tickets up to which a priority may fill the queue: bulk work leaves a
 * quarter for the other priorities. */
static size_t room_of(const struct dg_sched *sched, enum dg_priority priority)
{
    size_t all = sched->opts.max_tickets;
    return priority == DG_PRIORITY_BULK ? all - all / 4 : all;
}

static uint64_t left(uint64_t all, uint64_t used)
{
    return all > used ? all - used : 0;
}

/* Returns whether the flow's client may have one more ticket waiting: a client may have at most as
 * much waiting as is still free. Its first ticket is always accepted. */
static bool has_share(const struct dg_sched *sched, const struct dg_flow *flow,
                      const struct dg_ticket *ticket, const struct account *account, size_t n_free)
{
    const struct dg_sched_opts *opts = &sched->opts;
    if (flow->client == 0 || account->n_tickets == 0)
        return true;
    if (opts->max_tokens &&
        account->n_tokens + ticket->n_src > left(opts->max_tokens, sched->stats.n_tokens_waiting))
        return false;
    return account->n_tickets < n_free &&
           account->work + dg_ticket_work(ticket) <=
               left((uint64_t)opts->max_tickets * PLACE_WORK, sched->work_waiting);
}

/* Checks whether there is room for the ticket; the lock is held. */
static enum dg_err check_room(const struct dg_sched *sched, const struct dg_flow *flow,
                              const struct dg_ticket *ticket, const struct account *account)
{
    const struct dg_sched_stats *stats = &sched->stats;
    const size_t n = stats->n_waiting + stats->n_running + atomic_load(&sched->n_untold);
    const size_t room = room_of(sched, flow->priority);
    if (sched->is_stopping)
        return DG_ERR_CLOSED;
    if (n >= room || (sched->opts.max_tokens && stats->n_waiting &&
                      stats->n_tokens_waiting + ticket->n_src > sched->opts.max_tokens))
        return DG_ERR_BUSY;
    return has_share(sched, flow, ticket, account, room - n) ? DG_OK : DG_ERR_BUSY;
}

enum dg_err dg_sched_submit(struct dg_sched *sched, struct dg_flow *flow, struct dg_ticket *ticket,
                            uint64_t *retry_ms)
{
    pthread_mutex_lock(&sched->lock);
    struct dg_sched_stats *stats = &sched->stats;
    struct account *account = account_of(sched, flow->client);
    enum dg_err err = account ? check_room(sched, flow, ticket, account) : DG_ERR_NOMEM;
    if (!err)
        err = dg_queue_push(&ticket->model->queue, flow, ticket);
    if (err) {
        if (account)
            close_if_empty(sched, account);
        stats->n_refused++;
        if (ticket->model->counts)
            ticket->model->counts->n_refused++;
        if (retry_ms)
            *retry_ms = estimate_retry_ms(sched);
    } else {
        ticket->state = DG_TICKET_QUEUED;
        ticket->queued_ns = now_ns(sched);
        book(sched, account, ticket);
        stats->n_accepted++;
        if (ticket->model->counts)
            ticket->model->counts->n_accepted++;
        count_moves(ticket, 1, 0);
        atomic_fetch_add(&sched->n_calls, 1);
        rouse(sched);
    }
    pthread_mutex_unlock(&sched->lock);
    return err;
}

void dg_sched_cancel(struct dg_sched *sched, struct dg_ticket *ticket)
{
    pthread_mutex_lock(&sched->lock);
    if (ticket->state == DG_TICKET_QUEUED)
        end_waiting(sched, ticket, DG_ERR_CANCELLED);
    else if (ticket->state == DG_TICKET_RUNNING)
        atomic_store(&ticket->is_unwanted, true);
    pthread_mutex_unlock(&sched->lock);
}

void dg_sched_read_stats(struct dg_sched *sched, struct dg_sched_stats *stats)
{
    pthread_mutex_lock(&sched->lock);
    settle_all(sched);
    *stats = sched->stats;
    stats->n_max = sched->opts.max_tickets;
    uint64_t now = now_ns(sched);
    for (size_t w = 0; w < sched->opts.n_workers; w++) {
        uint64_t began = sched->workers[w].turn_began_ns;
        uint64_t since = began && now > began ? now - began : 0;
        if (since > stats->stalled_ns)
            stats->stalled_ns = since;
        stats->n_stalled += since >= sched->opts.stall_ns;
    }
    stats->n_workers = sched->opts.n_workers;
    stats->n_nodes = dg_nodes_count(sched->nodes);
    pthread_mutex_unlock(&sched->lock);
}
