/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A key is looked for in Authorization (Bearer, or DeepL-Auth-Key), then X-API-Key, then the query
 * (where the dialect has a name for it there), then the body; the first one found counts. A
 * wrong key is refused even where no key is needed, so that its sender learns that it does not
 * work. Other schemes of Authorization are left to proxies. */
#include "api/http/gate.h"
#include "api/http/api_int.h"
#include "api/http/work.h"
#include "net/proto/target.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

_Static_assert((int)DG_KEY_INTERACTIVE == (int)DG_PRIORITY_INTERACTIVE &&
                   (int)DG_KEY_NORMAL == (int)DG_PRIORITY_NORMAL &&
                   (int)DG_KEY_BULK == (int)DG_PRIORITY_BULK,
               "keys and the scheduler order priorities alike");

static const char *const refusal_names[] = {
#define DG_REFUSAL_NAME(code, name) [code] = name,
    DG_REFUSALS(DG_REFUSAL_NAME)
#undef DG_REFUSAL_NAME
};

enum {
    GONE = 499
}; /* status of a call whose client left; its work is charged, because it was done */

static void count(struct dg_api *api, enum dg_refusal refusal)
{
    api->refusals[refusal]++;
}

/* ---- Who ------------------------------------------------------------------------------------- */

/* Returns what follows `scheme` and blanks in an Authorization header; its ptr is NULL when the
 * header has another scheme. */
static struct dg_span after_scheme(struct dg_span value, const char *scheme)
{
    size_t len = strlen(scheme);
    if (value.len <= len || strncasecmp(value.ptr, scheme, len) != 0 || value.ptr[len] != ' ')
        return (struct dg_span){NULL, 0};
    while (len < value.len && value.ptr[len] == ' ')
        len++;
    return dg_span_sub(value, len, value.len);
}

static struct dg_span key_of_headers(const struct dg_http_req *req)
{
    static const char *const schemes[] = {"Bearer", "DeepL-Auth-Key"};
    struct dg_span value = dg_http_header(req, "authorization"), key;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        key = after_scheme(value, schemes[i]);
        if (key.ptr)
            return key;
    }
    if (value.len && !memchr(value.ptr, ' ', value.len))
        return value; /* a token without a scheme, which clients of MTranServer send */
    static const char *const names[] = {"x-api-key", "x-api-token", "ocp-apim-subscription-key"};
    for (size_t i = 0; i < sizeof names / sizeof *names && key.len == 0; i++)
        key = dg_http_header(req, names[i]);
    return key;
}

/* Returns the key in the query, in dialects that send it there. */
static struct dg_span key_of_query(const struct dg_call *call)
{
    struct dg_query query = dg_query_over(call->req->query);
    struct dg_span name, value, none = {NULL, 0};
    bool more = true;
    if (!call->dialect || !call->dialect->key_name)
        return none;
    while (dg_query_next(&query, call->req->arena, &name, &value, &more) == DG_OK && more)
        if (dg_span_eq(name, dg_span_cstr(call->dialect->key_name)))
            return value;
    return none;
}

static struct dg_failure key_failure(struct dg_api *api, enum dg_err err)
{
    bool is_expired = err == DG_ERR_TIMEOUT;
    if (err == DG_ERR_BUSY)
        return dg_call_redis_away;
    count(api, is_expired ? DG_REFUSAL_KEY_EXPIRED : DG_REFUSAL_KEY_INVALID);
    return (struct dg_failure){
        .status = 401,
        .code = is_expired ? "key_expired" : "key_invalid",
        .message = is_expired ? "The API key has expired." : "There is no such API key.",
    };
}

static struct dg_failure no_key(struct dg_api *api)
{
    count(api, DG_REFUSAL_KEY_REQUIRED);
    return (struct dg_failure){
        .status = 401,
        .code = "key_required",
        .message = "An API key is needed: Authorization: Bearer KEY, X-API-Key: KEY, or "
                   "\"api_key\" in the body.",
    };
}

static bool needs_key(const struct dg_access *access)
{
    return dg_access_rules(access)->require_key;
}

/* Adds the header of a refusal for want of a key. */
static void ask_for_key(struct dg_charge *charge, struct dg_call *call)
{
    charge->was_refused = true;
    if (call)
        dg_http_reply_header(call->req, "WWW-Authenticate", DG_SPAN("Bearer realm=\"dragoman\""));
}

/* Answers a call that may not come in. */
static void refuse(struct dg_call *call, struct dg_failure failure)
{
    if (failure.status == 401)
        ask_for_key(&call->charge, call);
    dg_call_fail(call, failure);
}

bool dg_gate_head(struct dg_call *call)
{
    struct dg_api *api = call->api;
    const struct dg_access *access = api->access;
    enum dg_gate gate = call->route->gate;
    struct dg_who *who = &call->charge.who;
    if (!access || gate == DG_GATE_OPEN || call->req->is_private)
        return true;
    struct dg_span key = key_of_headers(call->req);
    enum dg_err err = dg_access_identify(access, key.len ? key : key_of_query(call), who);
    if (err) {
        refuse(call, key_failure(api, err));
        return false;
    }
    bool may_come = gate == DG_GATE_STREAM || gate == DG_GATE_FORM ||
                    (gate == DG_GATE_TEXT && call->req->method != DG_HTTP_HEAD);
    if (call->route->is_admin || dg_who_has_key(who) || !needs_key(access) || may_come)
        return true;
    refuse(call, no_key(api));
    return false;
}

bool dg_gate_is_admin(const struct dg_call *call)
{
    return call->req->is_private ||
           (dg_who_has_key(&call->charge.who) && call->charge.who.role == DG_KEY_ADMIN);
}

const char *dg_gate_name(const struct dg_call *call)
{
    return call->charge.who.name;
}

struct dg_quota_id dg_gate_address(const struct dg_call *call)
{
    const bool has_none = call->req->is_private || dg_who_has_key(&call->charge.who);
    return has_none ? (struct dg_quota_id){.text = ""} : dg_quota_address(call->req->client);
}

uint64_t dg_gate_client(const struct dg_call *call)
{
    const struct dg_api *api = call->api;
    const bool has_key = dg_who_has_key(&call->charge.who);
    if (dg_gate_is_admin(call))
        return 0;
    const struct dg_quota_id address = dg_gate_address(call);
    return dg_jobs_client(&api->jobs, has_key,
                          dg_span_cstr(has_key ? call->charge.who.name : address.text));
}

/* ---- How much -------------------------------------------------------------------------------- */

static void add_number(struct dg_call *call, const char *name, uint64_t number)
{
    char text[24];
    int len = snprintf(text, sizeof text, "%" PRIu64, number);
    dg_http_reply_header(call->req, name, dg_span_make(text, (size_t)len));
}

/* Returns the window to report: the one that refused, else the one with the least left. -1: there
 * are no limits. */
static int telling_window(const struct dg_quota_verdict *verdict)
{
    int best = -1;
    double least = 2;
    if (!verdict->allowed)
        return (int)verdict->refused_by;
    for (int w = 0; w < DG_QUOTA_WINDOWS; w++) {
        const struct dg_quota_state *state = &verdict->windows[w];
        double left = state->limit ? (double)state->remaining / (double)state->limit : 2;
        if (left < least) {
            least = left;
            best = w;
        }
    }
    return best;
}

/* Adds headers with all limits, and how far the one to report is used up. */
static void add_headers(struct dg_call *call, const struct dg_quota_verdict *verdict)
{
    char policy[320];
    size_t len = 0;
    int telling = telling_window(verdict);
    if (!call || telling < 0)
        return;
    for (int w = 0; w < DG_QUOTA_WINDOWS; w++)
        if (verdict->windows[w].limit)
            len += (size_t)snprintf(policy + len, sizeof policy - len,
                                    "%s\"%s\";q=%" PRIu64 ";w=%" PRIu64, len ? ", " : "",
                                    dg_quota_windows[w].name, verdict->windows[w].limit,
                                    dg_quota_windows[w].seconds);
    dg_http_reply_header(call->req, "RateLimit-Policy", dg_span_make(policy, len));
    add_number(call, "RateLimit-Limit", verdict->windows[telling].limit);
    add_number(call, "RateLimit-Remaining", verdict->windows[telling].remaining);
    add_number(call, "RateLimit-Reset", verdict->windows[telling].reset_s);
}

static struct dg_failure limit_failure(struct dg_api *api, const struct dg_quota_verdict *verdict)
{
    static const struct {
        enum dg_refusal refusal;
        const char *code, *message;
    } words[] = {
        [DG_QUOTA_REQUESTS] = {DG_REFUSAL_RATE_REQUESTS, "rate_limited",
                               "Too many requests within a minute."},
        [DG_QUOTA_CHARACTERS] = {DG_REFUSAL_RATE_CHARACTERS, "rate_limited",
                                 "Too many characters within a minute."},
        [DG_QUOTA_HOUR] = {DG_REFUSAL_RATE_REQUESTS, "rate_limited",
                           "Too many requests within an hour."},
        [DG_QUOTA_DAY] = {DG_REFUSAL_RATE_REQUESTS, "rate_limited",
                          "Too many requests within a day."},
        [DG_QUOTA_MONTH] = {DG_REFUSAL_QUOTA, "quota_exceeded",
                            "This month's quota of characters is used up."},
    };
    int w = (int)verdict->refused_by;
    count(api, words[w].refusal);
    return (struct dg_failure){
        .status = 429,
        .code = words[w].code,
        .message = words[w].message,
        .limit = (int64_t)verdict->windows[w].limit,
        .has_limit = true,
        .unit = dg_quota_windows[w].unit,
        .retry_after_s = verdict->retry_s < UINT32_MAX ? (unsigned)verdict->retry_s : UINT32_MAX,
    };
}

/* Hands the verdict to the call's work, or to whoever asked without a call. The charge may no
 * longer exist afterwards. */
static void tell(const struct dg_charge *charge, const struct dg_failure *failure)
{
    struct dg_call *call = charge->call;
    if (charge->then)
        charge->then(charge->work, failure);
    else if (call->work)
        dg_work_passed(call->work, failure);
    else if (failure)
        dg_call_fail(call, *failure);
    else
        call->route->handle(call);
}

static void on_verdict(void *ctx, const struct dg_quota_verdict *verdict)
{
    struct dg_charge *charge = ctx;
    if (charge->answered)
        *charge->answered = true;
    charge->ticket = NULL;
    charge->is_waiting = false;
    charge->is_taken = verdict->allowed;
    charge->options.is_local = verdict->is_local;
    charge->options.month = verdict->month;
    charge->api->n_local_verdicts += verdict->is_local;
    charge->was_refused = charge->is_free = !verdict->allowed;
    add_headers(charge->call, verdict);
    if (verdict->allowed) {
        tell(charge, NULL);
    } else {
        struct dg_failure failure = limit_failure(charge->api, verdict);
        tell(charge, &failure);
    }
}

/* Returns true when usage is counted: always for a key, and for an address if it has limits. */
static bool is_counted(const struct dg_quota_ask *options)
{
    return options->kind == DG_QUOTA_KEY || dg_quota_is_limited(options);
}

/* Asks the quota for what the charge needs. After this the charge may no longer exist. */
static void ask_quota(struct dg_charge *charge)
{
    bool answered = false;
    if (!is_counted(&charge->options)) {
        tell(charge, NULL);
        return;
    }
    charge->is_waiting = true;
    charge->answered = &answered;
    struct dg_quota_ticket *ticket =
        dg_quota_charge(dg_access_quota(charge->api->access), &charge->options, on_verdict, charge);
    if (answered)
        return;
    charge->ticket = ticket;
    charge->answered = NULL;
}

/* ---- What ------------------------------------------------------------------------------------ */

/* Copies the names of the key's models in the form that the engine wants. */
static enum dg_err copy_models(const struct dg_key *key, const struct dg_gate_wish *wish)
{
    const char **names = dg_arena_calloc(wish->arena, key->models.n, sizeof *names);
    for (size_t i = 0; i < key->models.n; i++) {
        struct dg_span copy = {NULL, 0};
        if (names)
            copy = dg_arena_copy(wish->arena, dg_span_cstr(key->models.items[i]));
        if (!copy.ptr)
            return DG_ERR_NOMEM;
        names[i] = copy.ptr;
    }
    wish->request->only = names;
    wish->request->n_only = key->models.n;
    return DG_OK;
}

/* Limits the request to what its sender may use. */
static enum dg_err restrain(const struct dg_charge *charge, const struct dg_gate_wish *wish)
{
    const struct dg_who *who = &charge->who;
    struct dg_engine_request *request = wish->request;
    if (!request)
        return DG_OK;
    if (who->has_priority && !wish->has_priority)
        request->priority = (enum dg_priority)who->priority;
    else if ((int)request->priority < (int)who->priority)
        request->priority = (enum dg_priority)who->priority;
    const struct dg_key *key = dg_access_key(charge->api->access, who);
    return key && key->models.n ? copy_models(key, wish) : DG_OK;
}

/* Finds out who calls and whether that is sufficient: true, or `failure` says what is wrong. */
static bool admit(struct dg_charge *charge, const struct dg_gate_wish *wish,
                  struct dg_failure *failure)
{
    struct dg_api *api = charge->api;
    enum dg_err err = DG_OK;
    if (dg_who_has_key(&charge->who))
        err = dg_access_again(api->access, &charge->who);
    else
        err = dg_access_identify(api->access, wish->key, &charge->who);
    if (err) {
        *failure = key_failure(api, err);
        return false;
    }
    if (needs_key(api->access) && !dg_who_has_key(&charge->who)) {
        *failure = no_key(api);
        return false;
    }
    if (restrain(charge, wish) == DG_OK)
        return true;
    *failure = (struct dg_failure){.status = 503,
                                   .code = "overloaded",
                                   .message = "The server is out of memory.",
                                   .retry_after_s = 1};
    return false;
}

/* `requests` is 0 for a request that was counted before. */
static void begin(struct dg_charge *charge, struct dg_span client, const struct dg_gate_wish *wish,
                  uint64_t requests)
{
    struct dg_failure failure;
    if (!admit(charge, wish, &failure)) {
        if (failure.status == 401)
            ask_for_key(charge, charge->call);
        tell(charge, &failure);
        return;
    }
    charge->options = dg_access_ask(charge->api->access, &charge->who, client, &charge->id);
    if (wish->request)
        wish->request->client = dg_jobs_client(
            &charge->api->jobs, charge->options.kind == DG_QUOTA_KEY, charge->options.id);
    charge->options.requests = requests;
    charge->options.characters = wish->characters;
    ask_quota(charge);
}

void dg_charge_begin(struct dg_charge *charge, struct dg_api *api, const struct dg_who *who,
                     struct dg_span client, const struct dg_gate_wish *wish, dg_gate_fn then,
                     void *work)
{
    *charge = (struct dg_charge){.api = api, .who = *who, .then = then, .work = work};
    if (api->access)
        begin(charge, client, wish, 1);
    else
        then(work, NULL);
}

void dg_charge_cancel(struct dg_charge *charge)
{
    if (!charge->is_waiting)
        return;
    charge->is_waiting = false;
    dg_quota_cancel(dg_access_quota(charge->api->access), charge->ticket);
}

void dg_charge_refund(struct dg_charge *charge, int status, uint64_t n_delivered)
{
    struct dg_quota_ask back = charge->options;
    if (!charge->is_taken || status < 400)
        return;
    if (status < 500 || n_delivered > 0)
        back.requests = 0;
    back.characters -= n_delivered < back.characters ? n_delivered : back.characters;
    charge->options.requests -= back.requests; /* so that these requests are not given back twice */
    charge->options.characters = 0;
    back.id = dg_span_cstr(charge->id.text);
    back.once = dg_span_cstr(charge->once);
    if (back.requests || back.characters)
        dg_quota_refund(dg_access_quota(charge->api->access), &back);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

void dg_gate_pass(struct dg_call *call, const struct dg_gate_wish *wish)
{
    struct dg_charge *charge = &call->charge;
    uint64_t counted = charge->is_taken ? charge->options.requests : 0;
    charge->api = call->api;
    charge->call = call;
    if (!call->api->access || call->req->is_private)
        tell(charge, NULL);
    else
        begin(charge, call->req->client, wish, 1 - counted);
}

bool dg_gate_admit(struct dg_call *call, struct dg_span key)
{
    struct dg_charge *charge = &call->charge;
    struct dg_failure failure;
    if (!call->api->access || call->req->is_private)
        return true;
    charge->api = call->api;
    charge->call = call;
    if (admit(charge, &(struct dg_gate_wish){.key = key}, &failure))
        return true;
    refuse(call, failure);
    return false;
}

void dg_gate_refund(struct dg_call *call, int status, uint64_t n_delivered)
{
    dg_charge_refund(&call->charge, status, n_delivered);
}

static void on_look(void *ctx, const struct dg_quota_verdict *verdict)
{
    struct dg_charge *charge = ctx;
    if (charge->answered)
        *charge->answered = true;
    charge->ticket = NULL;
    charge->is_waiting = false;
    add_headers(charge->call, verdict);
    charge->then_look(charge->work, verdict);
}

void dg_gate_peek(struct dg_call *call, dg_quota_fn then, void *work)
{
    struct dg_charge *charge = &call->charge;
    struct dg_access *access = call->api->access;
    bool answered = false;
    if (!access) {
        then(work, &(struct dg_quota_verdict){.allowed = true});
        return;
    }
    charge->api = call->api;
    charge->call = call;
    charge->then_look = then;
    charge->work = work;
    charge->is_waiting = true;
    charge->answered = &answered;
    charge->options = dg_access_ask(access, &charge->who, call->req->client, &charge->id);
    struct dg_quota_ticket *ticket =
        dg_quota_peek(dg_access_quota(access), &charge->options, on_look, charge);
    if (answered)
        return;
    charge->ticket = ticket;
    charge->answered = NULL;
}

void dg_gate_request(struct dg_call *call)
{
    if (call->route->gate != DG_GATE_COUNT || call->route->is_admin) {
        call->route->handle(call);
        return;
    }
    dg_gate_pass(call, &(struct dg_gate_wish){.request = NULL});
}

/* Charges a call that ended before it was charged: it counts as one request. */
static void charge_late(struct dg_call *call)
{
    struct dg_quota_id id;
    struct dg_quota_ask options =
        dg_access_ask(call->api->access, &call->charge.who, call->req->client, &id);
    options.requests = 1;
    if (is_counted(&options))
        dg_quota_charge(dg_access_quota(call->api->access), &options, NULL, NULL);
}

void dg_gate_end(struct dg_call *call, int status)
{
    struct dg_charge *charge = &call->charge;
    if (!call->api->access || call->req->is_private || !call->route)
        return;
    bool counts = !call->route->is_admin &&
                  (call->route->gate == DG_GATE_COUNT || call->route->gate == DG_GATE_TEXT);
    dg_charge_cancel(charge);
    if (status != GONE)
        dg_charge_refund(charge, status, 0);
    if (status >= 400 && status < 500 && counts && !charge->is_taken && !charge->is_free)
        charge_late(call);
    if (status == 403 && !charge->was_refused)
        count(call->api, call->route->is_admin ? DG_REFUSAL_ADMIN : DG_REFUSAL_MODEL);
}

/* ---- Names and metrics ----------------------------------------------------------------------- */

const char *dg_gate_refusal_name(size_t i)
{
    return refusal_names[i];
}

enum dg_err dg_gate_put_metrics(const struct dg_api *api, struct dg_buf *buf)
{
    enum dg_err err =
        dg_buf_append_cstr(buf, "# HELP dragoman_refusals_total Requests turned away at the gate.\n"
                                "# TYPE dragoman_refusals_total counter\n");
    for (size_t i = 0; i < DG_N_REFUSALS && !err; i++)
        err = dg_buf_printf(buf, "dragoman_refusals_total{reason=\"%s\"} %" PRIu64 "\n",
                            refusal_names[i], api->refusals[i]);
    if (!err)
        err = dg_buf_printf(
            buf,
            "# HELP dragoman_keys Keys in use.\n# TYPE dragoman_keys gauge\ndragoman_keys %zu\n"
            "# HELP dragoman_local_charges_total Charges decided by this server's own counts: all, "
            "or those for which Redis did not answer in time.\n"
            "# TYPE dragoman_local_charges_total counter\ndragoman_local_charges_total %" PRIu64
            "\n",
            api->access ? dg_access_n_keys(api->access) : 0, api->n_local_verdicts);
    return err;
}
