/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* GET /v1/usage: what the sender's key (or the sender's address, if it sent no key) may use, and
 * what is left of that.
 *
 *     {"key":"alice","role":"user","expires":null,"priority":"normal","models":["fr-en"],
 *      "month":{"name":"2026-11","requests":12,"characters":3456},
 *      "limits":[{"name":"requests_per_minute","limit":60,"remaining":59,"reset":1}, ...]}
 *
 * Only what has a limit is in "limits"; asking costs nothing. */
#include "access/calendar.h"
#include "api/http/api_int.h"
#include "base/json/json_out.h"

enum { ANSWER_MAX = 64 << 10 };

static void put_when(struct dg_json_out *out, const char *name, uint64_t seconds)
{
    char text[DG_CALENDAR_TEXT];
    dg_json_out_key(out, name);
    if (seconds)
        dg_calendar_format(seconds, text);
    dg_json_out_cstr(out, seconds ? text : NULL);
}

/* Puts what the key file says about the key. */
static void put_key(struct dg_json_out *out, const struct dg_call *call)
{
    static const char *const roles[] = {[DG_KEY_USER] = "user", [DG_KEY_ADMIN] = "admin"};
    static const char *const priorities[] = {
        [DG_KEY_INTERACTIVE] = "interactive", [DG_KEY_NORMAL] = "normal", [DG_KEY_BULK] = "bulk"};
    const struct dg_who *who = &call->charge.who;
    const struct dg_key *key = call->api->access ? dg_access_key(call->api->access, who) : NULL;
    dg_json_out_put_cstr(out, "key", key ? key->name : NULL);
    dg_json_out_put_cstr(out, "role", key ? roles[who->role] : NULL);
    put_when(out, "expires", key ? key->expires_s : 0);
    dg_json_out_put_cstr(out, "priority", priorities[who->priority]);
    dg_json_out_key(out, "models");
    if (!key || key->models.n == 0) {
        dg_json_out_null(out);
        return;
    }
    dg_json_out_open(out, '[');
    for (size_t i = 0; i < key->models.n; i++)
        dg_json_out_cstr(out, key->models.items[i]);
    dg_json_out_close(out, ']');
}

static void put_month(struct dg_json_out *out, const struct dg_call *call,
                      const struct dg_quota_verdict *verdict)
{
    char name[16];
    snprintf(name, sizeof name, "%04u-%02u", verdict->month / 100, verdict->month % 100);
    dg_json_out_key(out, "month");
    if (!dg_who_has_key(&call->charge.who)) {
        dg_json_out_null(out); /* addresses are not kept for this long */
        return;
    }
    dg_json_out_open(out, '{');
    dg_json_out_put_cstr(out, "name", name);
    dg_json_out_put_uint(out, "requests", verdict->month_requests);
    dg_json_out_put_uint(out, "characters", verdict->month_characters);
    dg_json_out_close(out, '}');
}

static void put_limits(struct dg_json_out *out, const struct dg_quota_verdict *verdict)
{
    dg_json_out_put_open(out, "limits", '[');
    for (int w = 0; w < DG_QUOTA_WINDOWS; w++) {
        const struct dg_quota_state *state = &verdict->windows[w];
        if (state->limit == 0)
            continue;
        dg_json_out_open(out, '{');
        dg_json_out_put_cstr(out, "name", dg_quota_windows[w].limit_name);
        dg_json_out_put_uint(out, "limit", state->limit);
        dg_json_out_put_uint(out, "remaining", state->remaining);
        dg_json_out_put_uint(out, "reset", state->reset_s);
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
}

static void on_verdict(void *work, const struct dg_quota_verdict *verdict)
{
    struct dg_call *call = work;
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    put_key(&out, call);
    put_month(&out, call, verdict);
    put_limits(&out, verdict);
    dg_json_out_close(&out, '}');
    dg_call_json_out(call, 200, &out);
}

void dg_api_v1_usage(struct dg_call *call)
{
    dg_gate_peek(call, on_verdict, call);
}
