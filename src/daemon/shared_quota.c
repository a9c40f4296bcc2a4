/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A charge goes to Redis, whose answer decides; the local quota is charged as well, but its verdict
 * is ignored. When Redis does not answer, the local quota decides. This process names the month, so
 * that Redis need not know calendars. Servers' clocks differ: when one server has begun the next
 * month at a month's end, servers whose clocks are behind, by up to a day, count in that month too.
 * A month further in the future came from a wrong clock, and its count continues in the present
 * month. */
#include "daemon/shared_quota.h"
#include "access/calendar.h"
#include "base/memory/mem.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* All windows except the month are kept as the time, in microseconds, at which they are full again
 * (access/token_bucket.c). KEYS: the hash; for a refund, a key that remembers that it was made.
 * ARGV: the limits, requests and characters to count, what to do (take, peek
 * or give), the month ("" without one), the seconds until the next month, for a refund the month of
 * its charge (0: this one) and the seconds to remember it. Answers: allowed, refused by, retry,
 * remaining and reset of each window, the month's requests and characters, that month. The windows
 * are those of access/quota.h, in its order. */
static const char script[] =
    "local time = redis.call('TIME')\n"
    "local now, year = time[1] * 1e6 + time[2], 365 * 86400e6\n"
    "local window = {60e6, 60e6, 3600e6, 86400e6}\n"
    "local names = {'requests_full', 'characters_full', 'hour_full', 'day_full'}\n"
    "local n_cost, c_cost = tonumber(ARGV[6]), tonumber(ARGV[7])\n"
    "local cost = {n_cost, c_cost, n_cost, n_cost, c_cost}\n"
    "local mode, month, left = ARGV[8], ARGV[9], tonumber(ARGV[10])\n"
    "if KEYS[2] and not redis.call('SET', KEYS[2], '1', 'NX', 'EX', ARGV[12]) then mode = 'peek' "
    "end\n"
    "local kept = redis.call('HMGET', KEYS[1], 'month', 'requests', 'characters', "
    "unpack(names))\n"
    "local limit, full = {}, {}\n"
    "for w = 1, 5 do limit[w] = tonumber(ARGV[w]) end\n"
    "for w = 1, 4 do full[w] = tonumber(kept[3 + w]) or 0 end\n"
    "local requests, characters = 0, 0\n"
    "local kept_month, of, live = tonumber(kept[1]) or 0, month, 60\n"
    "if month ~= '' then\n"
    "  local mine = tonumber(month)\n"
    "  local following = mine % 100 == 12 and mine + 89 or mine + 1\n"
    "  if kept_month == following and left <= 86400 then\n"
    "    of, live = kept[1], math.max(redis.call('TTL', KEYS[1]), 86400)\n"
    "  end\n"
    "end\n"
    "if month ~= '' and kept_month >= tonumber(month) then\n"
    "  requests, characters = tonumber(kept[2]) or 0, tonumber(kept[3]) or 0\n"
    "end\n"
    "local function price(w)\n"
    "  return math.floor(math.min(cost[w], 1e8) * window[w] / limit[w])\n"
    "end\n"
    "local function missing(w) return math.max(full[w] - now, 0) end\n"
    "local retry, by = 0, 0\n"
    "for w = 1, 5 do\n"
    "  local wait = 0\n"
    "  if limit[w] > 0 and cost[w] > 0 then\n"
    "    if w == 5 then\n"
    "      if not (characters < limit[5] and cost[5] <= limit[5] - characters) then wait = left "
    "end\n"
    "    else\n"
    "      local late = missing(w) + math.min(price(w), window[w]) - window[w]\n"
    "      wait = math.max(math.ceil(late / 1e6), 0)\n"
    "    end\n"
    "  end\n"
    "  if wait > retry then retry, by = wait, w - 1 end\n"
    "end\n"
    "local sign = 0\n"
    "if mode == 'take' and retry == 0 then sign = 1 elseif mode == 'give' then sign = -1 end\n"
    "if sign ~= 0 then\n"
    "  for w = 1, 4 do\n"
    "    if limit[w] > 0 then\n"
    "      if sign > 0 then full[w] = math.min(math.max(full[w], now) + price(w), now + year)\n"
    "      else full[w] = math.max(full[w] - price(w), 0) end\n"
    "    end\n"
    "  end\n"
    "  if mode == 'take' or ARGV[11] == '0' or ARGV[11] == of then\n"
    "    requests = math.max(requests + sign * n_cost, 0)\n"
    "    characters = math.max(characters + sign * c_cost, 0)\n"
    "  end\n"
    "  local function text(n) return string.format('%.0f', n) end\n"
    "  for w = 1, 4 do\n"
    "    if limit[w] > 0 then redis.call('HSET', KEYS[1], names[w], text(full[w])) end\n"
    "    live = math.max(missing(w) / 1e6 + 60, live)\n"
    "  end\n"
    "  redis.call('HSET', KEYS[1], 'month', of, 'requests', text(requests), 'characters', "
    "text(characters))\n"
    "  if month ~= '' then live = math.max(live, left + 86400) end\n"
    "  redis.call('EXPIRE', KEYS[1], math.ceil(live))\n"
    "end\n"
    "local answer = {retry == 0 and 1 or 0, by, retry}\n"
    "for w = 1, 4 do\n"
    "  local level = limit[w] > 0 and math.floor(math.max(window[w] - missing(w), 0) * limit[w] / "
    "window[w]) or 0\n"
    "  table.insert(answer, level)\n"
    "  table.insert(answer, limit[w] > 0 and math.ceil(missing(w) / 1e6) or 0)\n"
    "end\n"
    "table.insert(answer, math.max(limit[5] - characters, 0))\n"
    "table.insert(answer, left)\n"
    "table.insert(answer, requests)\n"
    "table.insert(answer, characters)\n"
    "table.insert(answer, tonumber(of) or 0)\n"
    "return answer\n";

enum {
    N_ANSWERS = 6 + 2 * DG_QUOTA_WINDOWS,
    NAME_BYTES = 16, /* of the name that a refund gets here */
    NAME_S = 3600,   /* for which Redis remembers it; of other names, as long as a bill waits */
    ONCE_S = 86400,
    MARGIN_S = 60, /* a refund is not asked for again so shortly before that time is over */
    REFUNDS_A_TURN = 100,
};

/* A question that is under way, even if its answer is no longer wanted. */
struct dg_quota_ticket {
    struct dg_shared_quota *shared;
    struct dg_redis_ask *redis_ask;
    struct dg_quota_ask ask; /* its id points to `id` */
    char id[DG_QUOTA_ID_MAX];
    bool takes;
    dg_quota_fn then;
    void *ctx;
};

/* The command's arguments and the texts that they point to. */
struct command {
    struct dg_span args[3 + 2 + DG_QUOTA_WINDOWS + 7];
    size_t n;
    char texts[DG_QUOTA_WINDOWS + 7][24];
    size_t n_texts;
    char key[32 + DG_QUOTA_ID_MAX], given[32 + DG_QUOTA_ID_MAX];
};

static void add_number(struct command *command, uint64_t n)
{
    char *text = command->texts[command->n_texts++];
    int len = snprintf(text, sizeof command->texts[0], "%" PRIu64, n);
    command->args[command->n++] = dg_span_make(text, (size_t)len);
}

static uint64_t now_of(struct dg_shared_quota *shared)
{
    const struct dg_clock clock = DG_CLOCK_REAL;
    return dg_wall_time_s(&shared->steady, &clock);
}

/* `keep_s`: how long Redis remembers the name of a refund. */
static void make_command(struct dg_shared_quota *shared, struct command *command,
                         const struct dg_quota_ask *ask, const char *mode, uint64_t keep_s)
{
    bool is_key = ask->kind == DG_QUOTA_KEY;
    uint64_t now_s = now_of(shared);
    command->n = command->n_texts = 0;
    int len =
        snprintf(command->key, sizeof command->key, "dragoman:1:quota:%s:%.*s",
                 is_key ? "key" : "address", (int)ask->id.len, ask->id.ptr ? ask->id.ptr : "");
    command->args[command->n++] = DG_SPAN("EVAL");
    command->args[command->n++] = dg_span_make(script, sizeof script - 1);
    command->args[command->n++] = ask->once.len ? DG_SPAN("2") : DG_SPAN("1");
    command->args[command->n++] = dg_span_make(command->key, (size_t)len);
    if (ask->once.len) {
        snprintf(command->given, sizeof command->given, "dragoman:1:quota:given:%.*s",
                 DG_SPAN_FMT(ask->once));
        command->args[command->n++] = dg_span_cstr(command->given);
    }
    for (int w = 0; w < DG_QUOTA_WINDOWS; w++)
        add_number(command, ask->limits[w]);
    add_number(command, ask->requests);
    add_number(command, ask->characters);
    command->args[command->n++] = dg_span_cstr(mode);
    if (is_key)
        add_number(command, dg_calendar_month(now_s));
    else
        command->args[command->n++] = DG_SPAN("");
    add_number(command, dg_calendar_next_month(now_s) - now_s);
    add_number(command, ask->month);
    add_number(command, keep_s);
}

static bool read_verdict(const struct dg_redis_reply *reply, const struct dg_quota_ask *ask,
                         struct dg_quota_verdict *verdict)
{
    if (reply->kind != DG_REDIS_NUMBERS || reply->n_numbers != N_ANSWERS)
        return false;
    for (size_t i = 0; i < N_ANSWERS; i++)
        if (reply->numbers[i] < 0)
            return false;
    const int64_t *numbers = reply->numbers;
    *verdict = (struct dg_quota_verdict){
        .allowed = numbers[0] == 1,
        .refused_by = (enum dg_quota_window)(numbers[1] < DG_QUOTA_WINDOWS ? numbers[1] : 0),
        .retry_s = (uint64_t)numbers[2],
        .month_requests = (uint64_t)numbers[N_ANSWERS - 3],
        .month_characters = (uint64_t)numbers[N_ANSWERS - 2],
        .month = (unsigned)numbers[N_ANSWERS - 1],
    };
    for (int w = 0; w < DG_QUOTA_WINDOWS; w++)
        if (ask->limits[w])
            verdict->windows[w] = (struct dg_quota_state){
                .limit = ask->limits[w],
                .remaining = (uint64_t)numbers[3 + 2 * w],
                .reset_s = (uint64_t)numbers[4 + 2 * w],
            };
    return true;
}

static void log_refusal(struct dg_shared_quota *shared, const struct dg_redis_reply *reply)
{
    if (reply->kind == DG_REDIS_NONE || shared->was_logged)
        return;
    shared->was_logged = true;
    dg_log_event(shared->log, DG_LOG_ERROR, "redis",
                 DG_LOG_FIELDS(dg_log_span("said", reply->text)),
                 "Redis does not count quotas at the moment; each server counts for itself");
}

static struct dg_quota_ticket *ask_locally(const struct dg_shared_quota *shared,
                                           const struct dg_quota_ask *ask, bool takes,
                                           dg_quota_fn then, void *ctx)
{
    return takes ? dg_quota_charge(&shared->local, ask, then, ctx)
                 : dg_quota_peek(&shared->local, ask, then, ctx);
}

static void on_reply(void *ctx, const struct dg_redis_reply *reply)
{
    struct dg_quota_ticket *ticket = ctx;
    struct dg_shared_quota *shared = ticket->shared;
    struct dg_quota_verdict verdict;
    if (read_verdict(reply, &ticket->ask, &verdict)) {
        if (ticket->takes && verdict.allowed)
            (void)ask_locally(shared, &ticket->ask, true, NULL, NULL);
        if (ticket->then)
            ticket->then(ticket->ctx, &verdict);
    } else {
        log_refusal(shared, reply);
        /* answers at once */
        (void)ask_locally(shared, &ticket->ask, ticket->takes, ticket->then, ticket->ctx);
    }
    dg_free(ticket);
}

static struct dg_quota_ticket *ask_redis(struct dg_shared_quota *shared,
                                         const struct dg_quota_ask *ask, bool takes,
                                         dg_quota_fn then, void *ctx)
{
    struct command command;
    struct dg_quota_ticket *ticket =
        ask->id.len <= DG_QUOTA_ID_MAX ? dg_try_calloc(1, sizeof *ticket) : NULL;
    if (ticket) {
        ticket->shared = shared;
        ticket->ask = *ask;
        if (ask->id.len)
            memcpy(ticket->id, ask->id.ptr, ask->id.len);
        ticket->ask.id = dg_span_make(ticket->id, ask->id.len);
        ticket->takes = takes;
        ticket->then = then;
        ticket->ctx = ctx;
        make_command(shared, &command, ask, takes ? "take" : "peek", 0);
        ticket->redis_ask = dg_redis_ask(shared->redis, command.args, command.n, shared->timeout_ms,
                                         on_reply, ticket);
    }
    if (ticket && ticket->redis_ask)
        return ticket;
    dg_free(ticket);
    return ask_locally(shared, ask, takes, then, ctx);
}

static struct dg_quota_ticket *charge(void *self, const struct dg_quota_ask *ask, dg_quota_fn then,
                                      void *ctx)
{
    return ask_redis(self, ask, true, then, ctx);
}

static struct dg_quota_ticket *peek(void *self, const struct dg_quota_ask *ask, dg_quota_fn then,
                                    void *ctx)
{
    return ask_redis(self, ask, false, then, ctx);
}

/* ---- Refunds --------------------------------------------------------------------------------- */

/* A refund that Redis has not confirmed. */
struct dg_shared_refund {
    struct dg_shared_refund *next, *before;
    struct dg_shared_quota *shared;
    struct dg_quota_ask ask; /* its id and `once` point to the texts below */
    char id[DG_QUOTA_ID_MAX], once[DG_QUOTA_ID_MAX];
    uint64_t keep_s; /* how long Redis remembers its name */
    uint64_t sent_s; /* when it was first sent; 0: not yet, and Redis cannot have made it */
    struct dg_redis_ask *under_way; /* NULL: it waits for its turn */
};

static void end_refund(struct dg_shared_refund *refund)
{
    struct dg_shared_quota *shared = refund->shared;
    *(refund->before ? &refund->before->next : &shared->first) = refund->next;
    *(refund->next ? &refund->next->before : &shared->last) = refund->before;
    shared->n_refunds--;
    dg_free(refund);
}

static void on_given(void *ctx, const struct dg_redis_reply *reply)
{
    struct dg_shared_refund *refund = ctx;
    struct dg_quota_verdict verdict;
    refund->under_way = NULL;
    if (read_verdict(reply, &refund->ask, &verdict))
        end_refund(refund);
    else
        log_refusal(refund->shared, reply);
}

/* False when Redis is away. */
static bool send_refund(struct dg_shared_refund *refund)
{
    struct dg_shared_quota *shared = refund->shared;
    struct command command;
    make_command(shared, &command, &refund->ask, "give", refund->keep_s);
    refund->under_way =
        dg_redis_ask(shared->redis, command.args, command.n, shared->timeout_ms, on_given, refund);
    if (refund->under_way && !refund->sent_s)
        refund->sent_s = now_of(shared);
    return refund->under_way != NULL;
}

static struct dg_shared_refund *new_refund(struct dg_shared_quota *shared,
                                           const struct dg_quota_ask *ask)
{
    const bool has_room = shared->n_refunds < DG_SHARED_QUOTA_HELD &&
                          ask->id.len <= DG_QUOTA_ID_MAX && ask->once.len <= DG_QUOTA_ID_MAX;
    struct dg_shared_refund *refund = has_room ? dg_try_calloc(1, sizeof *refund) : NULL;
    if (!refund)
        return NULL;
    *refund = (struct dg_shared_refund){.shared = shared, .ask = *ask, .before = shared->last};
    if (ask->id.len)
        memcpy(refund->id, ask->id.ptr, ask->id.len);
    refund->ask.id = dg_span_make(refund->id, ask->id.len);
    refund->keep_s = ask->once.len ? ONCE_S : NAME_S;
    if (ask->once.len) {
        memcpy(refund->once, ask->once.ptr, ask->once.len);
        refund->ask.once = dg_span_make(refund->once, ask->once.len);
    } else {
        unsigned char bytes[NAME_BYTES];
        randombytes_buf(bytes, sizeof bytes);
        sodium_bin2hex(refund->once, sizeof refund->once, bytes, sizeof bytes);
        refund->ask.once = dg_span_make(refund->once, 2 * NAME_BYTES);
    }
    *(shared->last ? &shared->last->next : &shared->first) = refund;
    shared->last = refund;
    shared->n_refunds++;
    return refund;
}

static void refund(void *self, const struct dg_quota_ask *ask)
{
    struct dg_shared_quota *shared = self;
    struct dg_shared_refund *made = ask->is_local ? NULL : new_refund(shared, ask);
    if (made)
        (void)send_refund(made);
    else if (!ask->is_local)
        dg_log_event(shared->log, DG_LOG_WARNING, "redis", DG_LOG_NO_FIELDS,
                     "a refund is lost: there is no room to hold it until Redis confirms it");
    if (ask->once.len == 0)
        dg_quota_refund(&shared->local, ask);
}

void dg_shared_quota_turn(struct dg_shared_quota *shared)
{
    const uint64_t now_s = shared->first ? now_of(shared) : 0;
    size_t n = 0;
    for (struct dg_shared_refund *at = shared->first, *next; at && n < REFUNDS_A_TURN; at = next) {
        next = at->next;
        if (at->under_way)
            continue;
        if (at->sent_s && now_s >= at->sent_s + at->keep_s - MARGIN_S) {
            dg_log_event(shared->log, DG_LOG_WARNING, "redis", DG_LOG_NO_FIELDS,
                         "a refund is given up: Redis has not said whether it made it");
            end_refund(at);
        } else if (!send_refund(at)) {
            return;
        } else {
            n++;
        }
    }
}

void dg_shared_quota_deinit(struct dg_shared_quota *shared)
{
    if (shared->n_refunds)
        dg_log_event(shared->log, DG_LOG_WARNING, "redis",
                     DG_LOG_FIELDS(dg_log_uint("refunds", shared->n_refunds)),
                     "refunds are lost that Redis has not confirmed");
    while (shared->first) {
        if (shared->first->under_way)
            dg_redis_forget(shared->first->under_way);
        end_refund(shared->first);
    }
}

/* Does not stop waiting for the answer, because the local quota is charged according to it. */
static void cancel(void *self, struct dg_quota_ticket *ticket)
{
    ticket->then = NULL;
}

static const struct dg_quota_ops ops = {
    .charge = charge, .peek = peek, .refund = refund, .cancel = cancel};

struct dg_quota dg_shared_quota_ops(struct dg_shared_quota *shared)
{
    return (struct dg_quota){.ops = &ops, .self = shared};
}
