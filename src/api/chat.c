/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* POST /v1/chat/completions: for tools that speak nothing else. The last message of the user is translated; into what,
 * is read off, in this order: `source` and `target`, which are our own; the model's name ("fr-en"); a message of the
 * system or of the developer that names a language ("Translate from French to English."); an instruction in front of
 * the text ("Translate to English: ..."); the only language there is. With "stream": true the translation comes as
 * events, as it is made. Other members (temperature, max_tokens, ...) are taken and have no effect. */
#include "api/api_int.h"
#include "api/aside.h"
#include "api/other.h"

#include <stdio.h>
#include <strings.h>
#include <time.h>

enum { VALUES_MAX = 200 * 1000, TEXT_MAX = 64 << 20, INSTRUCTION_MAX = 200, SYSTEM_MAX = 2000, NAME_MAX_BYTES = 100 };

/* What a chat asks for. Texts live in the relay's arena. */
struct chat {
    struct dg_span model, system, text, source, target;
    bool stream;
    uint64_t created_s;
    char id[DG_CALL_ID_MAX + 16];
    bool has_begun; /* the first event is out */
};

/* ---- Reading ------------------------------------------------------------------------------------- */

/* A message's content: a text, or an array of parts with texts, which are joined. */
static enum dg_err read_content(const struct dg_json *message, struct dg_arena *arena, struct dg_span *out,
                                struct dg_why *why)
{
    const struct dg_json *content = dg_json_get(message, "content");
    struct dg_span text = {NULL, 0};
    struct dg_buf joined;
    enum dg_err err = DG_OK;
    if (dg_json_type(content) == DG_JSON_STRING) {
        err = dg_json_get_string(message, "content", DG_JSON_REQUIRED, why, &text);
        *out = err ? text : dg_arena_copy(arena, text);
        return err ? err : out->ptr ? DG_OK : DG_ERR_NOMEM;
    }
    if (dg_json_type(content) != DG_JSON_ARRAY)
        return dg_why_set(why, DG_ERR_INVALID, "messages: a content is %s, expected a text or an array of parts",
                          dg_json_type_name(dg_json_type(content)));
    dg_buf_init(&joined, TEXT_MAX);
    for (size_t i = 0; i < dg_json_len(content) && !err; i++) {
        text = (struct dg_span){NULL, 0};
        err = dg_json_get_string(dg_json_at(content, i), "text", DG_JSON_OPTIONAL, why, &text);
        if (!err)
            err = dg_buf_append_span(&joined, text);
    }
    if (!err) {
        *out = dg_arena_copy(arena, dg_buf_span(&joined));
        err = out->ptr ? DG_OK : DG_ERR_NOMEM;
    }
    dg_buf_deinit(&joined);
    return err;
}

static enum dg_err read_messages(const struct dg_json *json, struct dg_arena *arena, struct chat *chat, struct dg_why *why)
{
    const struct dg_json *messages = NULL;
    enum dg_err err = dg_json_get_array(json, "messages", DG_JSON_REQUIRED, why, &messages);
    for (size_t i = 0; !err && i < dg_json_len(messages); i++) {
        const struct dg_json *message = dg_json_at(messages, i);
        struct dg_span role = {NULL, 0};
        err = dg_json_get_string(message, "role", DG_JSON_REQUIRED, why, &role);
        if (!err && dg_span_eq(role, DG_SPAN("user")))
            err = read_content(message, arena, &chat->text, why);
        else if (!err && (dg_span_eq(role, DG_SPAN("system")) || dg_span_eq(role, DG_SPAN("developer"))))
            err = read_content(message, arena, &chat->system, why);
    }
    if (!err && !chat->text.ptr)
        err = dg_why_set(why, DG_ERR_INVALID, "messages: there is none of the user");
    return err;
}

static enum dg_err read_name(const struct dg_json *json, const char *name, struct dg_arena *arena, struct dg_span *out,
                             struct dg_why *why)
{
    struct dg_span text = {NULL, 0};
    enum dg_err err = dg_json_get_string(json, name, DG_JSON_OPTIONAL, why, &text);
    if (err || !text.ptr)
        return err;
    *out = dg_arena_copy(arena, dg_span_sub(text, 0, NAME_MAX_BYTES));
    return out->ptr ? DG_OK : DG_ERR_NOMEM;
}

static enum dg_err read_chat(const struct dg_json *json, struct dg_arena *arena, struct chat *chat, struct dg_why *why)
{
    enum dg_err err = read_messages(json, arena, chat, why);
    if (!err)
        err = read_name(json, "model", arena, &chat->model, why);
    if (!err)
        err = read_name(json, "source", arena, &chat->source, why);
    if (!err)
        err = read_name(json, "target", arena, &chat->target, why);
    return err ? err : dg_json_get_bool(json, "stream", DG_JSON_OPTIONAL, why, &chat->stream);
}

/* ---- Into which language ------------------------------------------------------------------------- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

static bool is_word_at(struct dg_span text, size_t at, const char *word)
{
    size_t len = strlen(word);
    return at + len <= text.len && strncasecmp(text.ptr + at, word, len) == 0 && (at == 0 || !is_letter(text.ptr[at - 1])) &&
           (at + len == text.len || !is_letter(text.ptr[at + len]));
}

/* The word that ends before `at`. */
static struct dg_span word_before(struct dg_span text, size_t at)
{
    while (at > 0 && !is_letter(text.ptr[at - 1]))
        at--;
    size_t end = at;
    while (at > 0 && is_letter(text.ptr[at - 1]))
        at--;
    return dg_span_sub(text, at, end - at);
}

/* Languages that an instruction names: behind "from" the source, else the target. True when it names a target. */
static bool read_instruction(struct dg_relay *relay, struct dg_span text)
{
    for (size_t at = 0; at < text.len && at < SYSTEM_MAX; at++) {
        if (!is_letter(text.ptr[at]) || (at > 0 && is_letter(text.ptr[at - 1])))
            continue;
        for (size_t i = 0; i < relay->langs.n; i++) {
            const struct dg_language *language = &relay->langs.items[i];
            struct dg_span before = word_before(text, at);
            bool behind_from = is_word_at(before, 0, "from") && before.len == 4;
            bool behind_to = (is_word_at(before, 0, "to") && before.len == 2) || (is_word_at(before, 0, "into") && before.len == 4);
            bool is_name = is_word_at(text, at, language->name);
            if (!is_name && !((behind_from || behind_to) && is_word_at(text, at, language->code)))
                continue;
            if (behind_from)
                relay->from = language;
            else if (behind_to || !relay->to)
                relay->to = language;
        }
    }
    return relay->to != NULL;
}

/* "fr-en", "zh-Hans-en", "translate-fr-en": the last cut that leaves a language on either side. */
static bool read_model_name(struct dg_relay *relay, struct dg_span name)
{
    for (size_t i = name.len; i > 0; i--) {
        if (name.ptr[i - 1] != '-' && name.ptr[i - 1] != '_')
            continue;
        struct dg_span left = dg_span_sub(name, 0, i - 1), right = dg_span_sub(name, i, name.len);
        const struct dg_language *to = dg_languages_find(&relay->langs, right, DG_LANGUAGE_TARGET);
        const struct dg_language *from = NULL;
        for (size_t k = 0; to && !from && k < left.len; k++)
            if (k == 0 || left.ptr[k - 1] == '-' || left.ptr[k - 1] == '/' || left.ptr[k - 1] == ':')
                from = dg_languages_find(&relay->langs, dg_span_sub(left, k, left.len), DG_LANGUAGE_SOURCE);
        if (from && to) {
            relay->from = from;
            relay->to = to;
            return true;
        }
    }
    return false;
}

/* Takes "Translate ... :" off the front of the text, when that names a language. */
static bool take_instruction(struct dg_relay *relay, struct chat *chat)
{
    struct dg_span head = dg_span_sub(chat->text, 0, INSTRUCTION_MAX);
    const char *colon = head.len ? memchr(head.ptr, ':', head.len) : NULL;
    const char *line = head.len ? memchr(head.ptr, '\n', head.len) : NULL;
    const char *end = colon && (!line || colon < line) ? colon : line;
    if (!end || !is_word_at(head, 0, "translate"))
        return false;
    if (!read_instruction(relay, dg_span_make(head.ptr, (size_t)(end - head.ptr))))
        return false;
    size_t at = (size_t)(end - head.ptr) + 1;
    while (at < chat->text.len && (chat->text.ptr[at] == ' ' || chat->text.ptr[at] == '\n' || chat->text.ptr[at] == '\r'))
        at++;
    chat->text = dg_span_sub(chat->text, at, chat->text.len);
    return true;
}

static bool only_target(struct dg_relay *relay)
{
    size_t n = 0;
    for (size_t i = 0; i < relay->langs.n; i++) {
        if (relay->langs.items[i].sides & DG_LANGUAGE_TARGET) {
            relay->to = &relay->langs.items[i];
            n++;
        }
    }
    return n == 1;
}

static bool choose(struct dg_relay *relay, struct chat *chat, struct dg_why *why)
{
    if (chat->target.len) {
        relay->to = dg_languages_find(&relay->langs, chat->target, DG_LANGUAGE_ANY);
        relay->from = chat->source.len ? dg_languages_find(&relay->langs, chat->source, DG_LANGUAGE_ANY) : NULL;
        if (!relay->to || (chat->source.len && !relay->from && !dg_span_eq(chat->source, DG_SPAN("auto")))) {
            dg_why_set(why, DG_ERR_NOT_FOUND, "source or target is no language that this server translates");
            return false;
        }
    } else if (!read_model_name(relay, chat->model) && !read_instruction(relay, chat->system) &&
               !take_instruction(relay, chat) && !only_target(relay)) {
        dg_why_set(why, DG_ERR_INVALID, "it is not said into which language: name it in the system message "
                                        "(Translate to English.), as the model (fr-en) or as target");
        return false;
    }
    const bool leads = dg_relay_leads(relay);
    if (!leads)
        dg_why_set(why, DG_ERR_NOT_FOUND, "this server does not translate from %s to %s",
                   relay->from ? relay->from->name : "any language", relay->to->name);
    return leads;
}

/* ---- Answers ------------------------------------------------------------------------------------- */

static void put_head(struct dg_json_out *out, const struct dg_relay *relay, const char *object)
{
    const struct chat *chat = relay->user;
    dg_json_out_put_cstr(out, "id", chat->id);
    dg_json_out_put_cstr(out, "object", object);
    dg_json_out_put_uint(out, "created", chat->created_s);
    dg_json_out_put_string(out, "model", chat->model.len ? chat->model : DG_SPAN("dragoman"));
}

static void on_whole(struct dg_relay *relay, struct dg_json_out *out)
{
    dg_json_out_open(out, '{');
    put_head(out, relay, "chat.completion");
    dg_json_out_put_open(out, "choices", '[');
    dg_json_out_open(out, '{');
    dg_json_out_put_uint(out, "index", 0);
    dg_json_out_put_open(out, "message", '{');
    dg_json_out_put_cstr(out, "role", "assistant");
    dg_json_out_put_string(out, "content", dg_relay_result(relay, 0));
    dg_json_out_close(out, '}');
    dg_json_out_put_cstr(out, "finish_reason", "stop");
    dg_json_out_close(out, '}');
    dg_json_out_close(out, ']');
    dg_json_out_put_open(out, "usage", '{');
    dg_json_out_put_uint(out, "prompt_tokens", relay->job->n_tokens_in);
    dg_json_out_put_uint(out, "completion_tokens", relay->job->n_tokens_out);
    dg_json_out_put_uint(out, "total_tokens", relay->job->n_tokens_in + relay->job->n_tokens_out);
    dg_json_out_close(out, '}');
    dg_json_out_close(out, '}');
}

/* One chunk: with the role first, then texts, at the end the reason. */
static void send_chunk(struct dg_relay *relay, const char *role, struct dg_span text, const char *reason)
{
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, TEXT_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    put_head(&out, relay, "chat.completion.chunk");
    dg_json_out_put_open(&out, "choices", '[');
    dg_json_out_open(&out, '{');
    dg_json_out_put_uint(&out, "index", 0);
    dg_json_out_put_open(&out, "delta", '{');
    if (role)
        dg_json_out_put_cstr(&out, "role", role);
    if (!reason)
        dg_json_out_put_string(&out, "content", text);
    dg_json_out_close(&out, '}');
    dg_json_out_put_cstr(&out, "finish_reason", reason);
    dg_json_out_close(&out, '}');
    dg_json_out_close(&out, ']');
    dg_json_out_close(&out, '}');
    if (dg_json_out_end(&out) == DG_OK)
        dg_call_event(relay->call, NULL, dg_buf_span(&buf));
    dg_buf_deinit(&buf);
}

static void begin_stream(struct dg_relay *relay)
{
    struct chat *chat = relay->user;
    if (chat->has_begun)
        return;
    chat->has_begun = true;
    dg_call_begin_stream(relay->call, "text/event-stream");
    send_chunk(relay, "assistant", DG_SPAN(""), NULL);
}

static void on_delta(struct dg_relay *relay, struct dg_span text)
{
    begin_stream(relay);
    send_chunk(relay, NULL, text, NULL);
}

static void on_end(struct dg_relay *relay, const struct dg_failure *failure)
{
    struct chat *chat = relay->user;
    if (failure && !chat->has_begun) {
        dg_call_fail(relay->call, *failure);
        return;
    }
    begin_stream(relay);
    if (failure)
        dg_call_event_failure(relay->call, NULL, failure);
    else
        send_chunk(relay, NULL, DG_SPAN(""), "stop");
    dg_call_event(relay->call, NULL, DG_SPAN("[DONE]"));
    dg_http_reply_end(relay->call->req);
}

/* ---- The route ----------------------------------------------------------------------------------- */

static enum dg_err read_request(void *work, const struct dg_api *api, struct dg_span body, struct dg_failure *failure)
{
    struct dg_relay *relay = work;
    struct dg_why why = DG_WHY_NONE;
    struct dg_json *json = NULL;
    (void)api;
    enum dg_err err = dg_ask_parse(body, VALUES_MAX, relay->arena, failure, &json);
    if (err)
        return err;
    err = read_chat(json, relay->arena, relay->user, &why);
    dg_json_free(json);
    if (err) {
        *failure = dg_ask_failure(relay->arena, err, &why, NULL);
        failure->status = err == DG_ERR_NOMEM ? 503 : 400;
        failure->code = err == DG_ERR_NOMEM ? "overloaded" : "invalid_value";
    }
    return err;
}

static void go_on(void *work, struct dg_call *call)
{
    struct dg_relay *relay = work;
    struct chat *chat = relay->user;
    struct dg_why why = DG_WHY_NONE;
    enum dg_err err = choose(relay, chat, &why) ? dg_relay_texts(relay, 1) : DG_ERR_INVALID;
    if (err) {
        dg_relay_fail(relay, err == DG_ERR_NOMEM ? 503 : 400, err == DG_ERR_NOMEM ? "overloaded" : "invalid_value",
                      dg_why_text(&why, err));
        return;
    }
    relay->items[0].text = chat->text;
    chat->created_s = (uint64_t)time(NULL);
    snprintf(chat->id, sizeof chat->id, "chatcmpl-%s", call->id);
    if (chat->stream) {
        relay->on_delta = on_delta;
        relay->on_end = on_end;
    }
    dg_relay_start(relay, on_whole);
}

static void drop(void *work)
{
    dg_relay_drop(work);
}

void dg_other_chat(struct dg_call *call)
{
    static const struct dg_aside_fns fns = {.read = read_request, .go_on = go_on, .drop = drop};
    struct dg_relay *relay = dg_relay_new(call);
    if (!relay)
        return;
    relay->user = dg_arena_calloc(relay->arena, 1, sizeof(struct chat));
    if (relay->user)
        dg_aside_read(call, &fns, relay);
    else
        dg_relay_fail_with(relay, DG_ERR_NOMEM, NULL);
}
