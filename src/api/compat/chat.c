/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Chats, for tools that speak nothing else: POST /v1/chat/completions as OpenAI has it, POST
 * /api/chat and /api/generate as Ollama has them. chat_prompt.h reads what the user's last message
 * asks for. The languages come from the first of these that names them: `source` and `target`,
 * which are our own members (the message is then the text); the messages; the model's name
 * ("fr-en"); the only language there is. A stream sends each piece as it is made if the answer is
 * one text, and all in one piece if the answer is put together from several. Other members
 * (temperature, max_tokens, ...) are taken and have no effect. */
#include "api/compat/chat_prompt.h"
#include "api/compat/chat_prompt_parts.h"
#include "api/compat/compat_routes.h"
#include "api/http/api_int.h"

#include <stdio.h>
#include <strings.h>
#include <time.h>

enum { VALUES_MAX = 200 * 1000, TEXT_MAX = 64 << 20, NAME_MAX_BYTES = 100 };

enum form { OPENAI, OLLAMA_CHAT, OLLAMA_GENERATE };

/* What a chat asks for. Its texts lie in the arena of the compat request. */
struct chat {
    enum form form;
    const struct dg_langnames *names;
    struct dg_span model, system, text, earlier, source, target;
    struct dg_chat_prompt prompt;
    struct dg_span member; /* the answer is an object with only this member; "": the answer is the
                              text itself */
    bool stream, has_usage;
    uint64_t created_s;
    char id[DG_CALL_ID_MAX + 16];
    char created[32]; /* the time for Ollama's answers */
    bool has_begun;   /* the first event was sent */
};

/* ---- Reading --------------------------------------------------------------------------------- */

/* Adds a text, or an array of parts with texts, which are joined as they stand. */
static enum dg_err add_content(const struct dg_json *content, const char *name,
                               struct dg_buf *joined, struct dg_error *error)
{
    struct dg_span text = {NULL, 0};
    enum dg_err err = DG_OK;
    if (dg_json_type(content) == DG_JSON_STRING) {
        err = dg_json_string(content, dg_span_cstr(name), error, &text);
        return err ? err : dg_buf_append_span(joined, text);
    }
    if (dg_json_type(content) != DG_JSON_ARRAY)
        return dg_error_set(error, DG_ERR_INVALID,
                            "messages: a 'content' is %s, expected a string or an array of parts",
                            dg_json_type_name(dg_json_type(content)));
    for (size_t i = 0; i < dg_json_len(content) && !err; i++) {
        text = (struct dg_span){NULL, 0};
        err = dg_json_get_string(dg_json_at(content, i), "text", DG_JSON_OPTIONAL, error, &text);
        if (!err)
            err = dg_buf_append_span(joined, text);
    }
    return err;
}

static enum dg_err keep(struct dg_arena *arena, const struct dg_buf *buf, struct dg_span *out)
{
    *out = dg_arena_copy(arena, dg_buf_span(buf));
    return out->ptr ? DG_OK : DG_ERR_NOMEM;
}

/* Reads the last message of the user, the first one if that is another, and all of the system's. */
static enum dg_err read_messages(const struct dg_json *json, struct dg_arena *arena,
                                 struct chat *chat, struct dg_error *error)
{
    const struct dg_json *messages = NULL;
    struct dg_buf system, user;
    bool has_user = false;
    enum dg_err err = dg_json_get_array(json, "messages", DG_JSON_REQUIRED, error, &messages);
    dg_buf_init(&system, TEXT_MAX);
    dg_buf_init(&user, TEXT_MAX);
    for (size_t i = 0; !err && i < dg_json_len(messages); i++) {
        const struct dg_json *message = dg_json_at(messages, i),
                             *content = dg_json_get(message, "content");
        struct dg_span role = {NULL, 0};
        err = dg_json_get_string(message, "role", DG_JSON_REQUIRED, error, &role);
        if (!err && dg_span_eq(role, DG_SPAN("user"))) {
            if (has_user && !chat->earlier.ptr)
                err = keep(arena, &user, &chat->earlier);
            user.len = 0;
            has_user = true;
            err = err ? err : add_content(content, "content", &user, error);
        } else if (!err && (dg_span_eq(role, DG_SPAN("system")) ||
                            dg_span_eq(role, DG_SPAN("developer")))) {
            if (system.len)
                err = dg_buf_append_byte(&system, '\n');
            err = err ? err : add_content(content, "content", &system, error);
        }
    }
    if (!err && !has_user)
        err =
            dg_error_set(error, DG_ERR_INVALID, "messages: read none of role 'user', expected one");
    if (!err)
        err = keep(arena, &system, &chat->system);
    if (!err)
        err = keep(arena, &user, &chat->text);
    dg_buf_deinit(&system);
    dg_buf_deinit(&user);
    return err;
}

static enum dg_err read_text(const struct dg_json *json, const char *name, enum dg_json_need need,
                             size_t max, struct dg_arena *arena, struct dg_span *out,
                             struct dg_error *error)
{
    struct dg_span text = {NULL, 0};
    enum dg_err err = dg_json_get_string(json, name, need, error, &text);
    if (err || !text.ptr)
        return err;
    *out = dg_arena_copy(arena, dg_span_sub(text, 0, max));
    return out->ptr ? DG_OK : DG_ERR_NOMEM;
}

/* Finds the only member in the description of an object, apart from an id (`with_id`); false: there
 * are others, or none. */
static bool only_member(const struct dg_json *members, bool with_id, struct dg_span *key,
                        const struct dg_json **member)
{
    struct dg_json_iter iter = dg_json_iter(members);
    struct dg_span name = {NULL, 0};
    const struct dg_json *value = NULL;
    *member = NULL;
    while (dg_json_next(&iter, &name, &value)) {
        if (with_id && dg_span_eq(name, DG_SPAN("id")))
            continue;
        if (*member)
            return false;
        *key = name;
        *member = value;
    }
    return *member != NULL;
}

static bool is_of_type(const struct dg_json *schema, const char *wanted)
{
    struct dg_span type = {NULL, 0};
    return dg_json_get_string(schema, "type", DG_JSON_OPTIONAL, NULL, &type) == DG_OK &&
           dg_span_eq(type, dg_span_cstr(wanted));
}

/* The answer is to be an object with one array, of objects with an id and one text each. */
static enum dg_err read_list(struct dg_span list, const struct dg_json *schema,
                             struct dg_arena *arena, struct chat *chat, struct dg_error *error)
{
    const struct dg_json *items = dg_json_get(schema, "items"), *member = NULL;
    struct dg_span name = {NULL, 0};
    if (!only_member(dg_json_get(items, "properties"), true, &name, &member) ||
        !is_of_type(member, "string"))
        return DG_OK;
    list = dg_arena_copy(arena, list);
    name = dg_arena_copy(arena, name);
    return list.ptr && name.ptr ? dg_chat_prompt_list(list, name, arena, error, &chat->prompt)
                                : DG_ERR_NOMEM;
}

/* Reads the schema that the answer has to fit: an object with one text, as libraries request it
 * that return objects, or with an array of texts where the text is such an array. */
static enum dg_err read_schema(const struct dg_json *schema, struct dg_arena *arena,
                               struct chat *chat, struct dg_error *error)
{
    const struct dg_json *member = NULL;
    struct dg_span key = {NULL, 0};
    const bool is_one = only_member(dg_json_get(schema, "properties"), false, &key, &member);
    if (is_one && is_of_type(member, "string")) {
        chat->member = dg_arena_copy(arena, key);
        return chat->member.ptr ? DG_OK : DG_ERR_NOMEM;
    }
    if (chat->prompt.is_json)
        return is_one && is_of_type(member, "array") ? read_list(key, member, arena, chat, error)
                                                     : DG_OK;
    return dg_error_set(error, DG_ERR_INVALID,
                        "response_format asks for JSON: this server answers in JSON if the text is "
                        "JSON, or if the schema is an object with one member, a string");
}

static enum dg_err read_format(const struct dg_json *json, struct dg_arena *arena,
                               struct chat *chat, struct dg_error *error)
{
    const struct dg_json *format =
        dg_json_get(json, chat->form == OPENAI ? "response_format" : "format");
    struct dg_span type = {NULL, 0};
    if (chat->form != OPENAI)
        return dg_json_type(format) == DG_JSON_OBJECT   ? read_schema(format, arena, chat, error)
               : dg_json_type(format) == DG_JSON_STRING ? read_schema(NULL, arena, chat, error)
                                                        : DG_OK;
    (void)!dg_json_get_string(format, "type", DG_JSON_OPTIONAL, NULL, &type);
    if (type.len == 0 || dg_span_eq(type, DG_SPAN("text")))
        return DG_OK;
    return read_schema(dg_json_get(dg_json_get(format, "json_schema"), "schema"), arena, chat,
                       error);
}

/* ---- Into which language --------------------------------------------------------------------- */

/* Reads a name such as "fr-en", "zh-Hans-en" or "translate-fr-en": it is cut at the last place that
 * leaves a language on either side. */
static bool read_model_name(struct dg_compat *compat, struct dg_span name)
{
    if (dg_span_ends(name, DG_SPAN(":latest"))) /* Ollama's clients write a name without a tag like
                                                   this */
        name.len -= strlen(":latest");
    for (size_t i = name.len; i > 0; i--) {
        if (name.ptr[i - 1] != '-' && name.ptr[i - 1] != '_')
            continue;
        struct dg_span left = dg_span_sub(name, 0, i - 1), right = dg_span_sub(name, i, name.len);
        const struct dg_language *to = dg_languages_find(&compat->langs, right, DG_LANGUAGE_TARGET);
        const struct dg_language *from = NULL;
        for (size_t k = 0; to && !from && k < left.len; k++)
            if (k == 0 || left.ptr[k - 1] == '-' || left.ptr[k - 1] == '/' ||
                left.ptr[k - 1] == ':')
                from = dg_languages_find(&compat->langs, dg_span_sub(left, k, left.len),
                                         DG_LANGUAGE_SOURCE);
        if (from && to) {
            compat->from = from;
            compat->to = to;
            return true;
        }
    }
    return false;
}

static bool only_target(struct dg_compat *compat)
{
    size_t n = 0;
    for (size_t i = 0; i < compat->langs.n; i++) {
        if (compat->langs.items[i].sides & DG_LANGUAGE_TARGET) {
            compat->to = &compat->langs.items[i];
            n++;
        }
    }
    return n == 1;
}

/* Reads what is stated outside of the prompt, before the prompt is read. */
static bool choose_by_members(struct dg_compat *compat, struct chat *chat)
{
    compat->to = dg_languages_find(&compat->langs, chat->target, DG_LANGUAGE_ANY);
    compat->from =
        chat->source.len ? dg_languages_find(&compat->langs, chat->source, DG_LANGUAGE_ANY) : NULL;
    return compat->to &&
           (!chat->source.len || compat->from || dg_span_eq(chat->source, DG_SPAN("auto")));
}

/* What the prompt names takes precedence over the model's name. */
static bool choose_by_prompt(struct dg_compat *compat, const struct dg_chat_prompt *prompt,
                             struct dg_error *error)
{
    const char *const said[] = {prompt->source, prompt->target};
    const struct dg_language **const languages[] = {&compat->from, &compat->to};
    if (prompt->target)
        compat->from = NULL;
    for (size_t i = 0; i < 2; i++) {
        if (!said[i])
            continue;
        *languages[i] = dg_languages_find(&compat->langs, dg_span_cstr(said[i]), DG_LANGUAGE_ANY);
        if (*languages[i])
            continue;
        dg_error_set(error, DG_ERR_NOT_FOUND,
                     "this server does not translate %s the named language (%s)", i ? "to" : "from",
                     said[i]);
        return false;
    }
    if (compat->to || only_target(compat))
        return true;
    dg_error_set(error, DG_ERR_INVALID,
                 "the target language is missing: name it in the system message (\"Translate to "
                 "English.\"), in the model's name (\"fr-en\") or as \"target\"");
    return false;
}

static enum dg_err choose(struct dg_compat *compat, struct chat *chat, struct dg_error *error)
{
    if (chat->target.len)
        return choose_by_members(compat, chat)
                   ? dg_chat_prompt_split(chat->text, compat->arena, error, &chat->prompt)
                   : dg_error_set(error, DG_ERR_NOT_FOUND,
                                  "source or target is not a language that this server translates");
    const bool is_pair = read_model_name(compat, chat->model);
    const struct dg_chat_prompt_ask options = {
        .system = chat->system, .user = chat->text, .earlier = chat->earlier, .is_named = is_pair};
    const enum dg_err err =
        dg_chat_prompt_read(chat->names, &options, compat->arena, error, &chat->prompt);
    if (err)
        return err;
    return choose_by_prompt(compat, &chat->prompt, error) ? DG_OK : DG_ERR_INVALID;
}

static enum dg_err read_options(const struct dg_json *options, struct chat *chat,
                                struct dg_error *error)
{
    return dg_json_type(options) == DG_JSON_NULL
               ? DG_OK
               : dg_json_get_bool(options, "include_usage", DG_JSON_OPTIONAL, error,
                                  &chat->has_usage);
}

static enum dg_err read_chat(const struct dg_json *json, struct dg_compat *compat,
                             struct chat *chat, struct dg_error *error)
{
    struct dg_arena *arena = compat->arena;
    enum dg_err err = DG_OK;
    if (chat->form == OLLAMA_GENERATE) {
        err = read_text(json, "prompt", DG_JSON_REQUIRED, TEXT_MAX, arena, &chat->text, error);
        if (!err)
            err =
                read_text(json, "system", DG_JSON_OPTIONAL, TEXT_MAX, arena, &chat->system, error);
    } else {
        err = read_messages(json, arena, chat, error);
    }
    if (!err)
        err =
            read_text(json, "model", DG_JSON_OPTIONAL, NAME_MAX_BYTES, arena, &chat->model, error);
    if (!err)
        err = read_text(json, "source", DG_JSON_OPTIONAL, NAME_MAX_BYTES, arena, &chat->source,
                        error);
    if (!err)
        err = read_text(json, "target", DG_JSON_OPTIONAL, NAME_MAX_BYTES, arena, &chat->target,
                        error);
    if (!err)
        err = dg_json_get_bool(json, "stream", DG_JSON_OPTIONAL, error, &chat->stream);
    if (!err)
        err = read_options(dg_json_get(json, "stream_options"), chat, error);
    if (!err)
        err = choose(compat, chat, error);
    return err ? err : read_format(json, arena, chat, error);
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* Puts the parts together, with the translated ones in their places. */
static enum dg_err put_parts(const struct dg_compat *compat, struct dg_buf *out)
{
    const struct chat *chat = compat->user;
    enum dg_err err = DG_OK;
    size_t n = 0;
    for (size_t i = 0; i < chat->prompt.n_parts && !err; i++) {
        const struct dg_chat_prompt_part *part = &chat->prompt.parts[i];
        if (part->kind == DG_CHAT_PROMPT_LITERAL)
            err = dg_buf_append_span(out, part->text);
        else if (part->kind == DG_CHAT_PROMPT_TEXT)
            err = dg_buf_append_span(out, dg_compat_result(compat, n++));
        else
            err = dg_json_out_quote(out, dg_compat_result(compat, n++));
    }
    return err;
}

static enum dg_err put_answer(const struct dg_compat *compat, struct dg_buf *out)
{
    const struct chat *chat = compat->user;
    struct dg_json_out json;
    struct dg_buf text;
    if (!chat->member.ptr)
        return put_parts(compat, out);
    dg_buf_init(&text, TEXT_MAX);
    enum dg_err err = put_parts(compat, &text);
    if (!err) {
        dg_json_out_init(&json, out);
        dg_json_out_open(&json, '{');
        dg_json_out_key_span(&json, chat->member);
        dg_json_out_string(&json, dg_buf_span(&text));
        dg_json_out_close(&json, '}');
        err = dg_json_out_end(&json);
    }
    dg_buf_deinit(&text);
    return err;
}

/* Returns true when the answer can be sent as it is made: it is one text, with nothing around
 * it. */
static bool is_growing(const struct chat *chat)
{
    return chat->prompt.n_parts == 1 && chat->prompt.parts[0].kind == DG_CHAT_PROMPT_TEXT &&
           !chat->member.ptr;
}

static void put_usage(struct dg_json_out *out, const struct dg_compat *compat)
{
    const struct dg_job *job = compat->job;
    dg_json_out_put_open(out, "usage", '{');
    dg_json_out_put_uint(out, "prompt_tokens", job->n_tokens_in);
    dg_json_out_put_uint(out, "completion_tokens", job->n_tokens_out);
    dg_json_out_put_uint(out, "total_tokens", job->n_tokens_in + job->n_tokens_out);
    dg_json_out_close(out, '}');
}

static void put_head(struct dg_json_out *out, const struct dg_compat *compat, const char *object)
{
    const struct chat *chat = compat->user;
    const struct dg_span model = chat->model.len ? chat->model : DG_SPAN("dragoman");
    dg_json_out_open(out, '{');
    if (chat->form == OPENAI) {
        dg_json_out_put_cstr(out, "id", chat->id);
        dg_json_out_put_cstr(out, "object", object);
        dg_json_out_put_uint(out, "created", chat->created_s);
    } else {
        dg_json_out_put_cstr(out, "created_at", chat->created);
    }
    dg_json_out_put_string(out, "model", model);
}

static void put_message(struct dg_json_out *out, const char *key, const char *role,
                        const struct dg_span *text)
{
    dg_json_out_put_open(out, key, '{');
    if (role)
        dg_json_out_put_cstr(out, "role", role);
    if (text)
        dg_json_out_put_string(out, "content", *text);
    dg_json_out_close(out, '}');
}

/* Writes Ollama's object: one piece, or the last one, with what the answer cost. */
static void put_ollama(struct dg_json_out *out, const struct dg_compat *compat, struct dg_span text,
                       bool is_last)
{
    const struct chat *chat = compat->user;
    const struct dg_job *job = compat->job;
    put_head(out, compat, NULL);
    if (chat->form == OLLAMA_CHAT)
        put_message(out, "message", "assistant", &text);
    else
        dg_json_out_put_string(out, "response", text);
    dg_json_out_put_bool(out, "done", is_last);
    if (is_last) {
        dg_json_out_put_cstr(out, "done_reason", "stop");
        dg_json_out_put_uint(out, "total_duration", job->total_ns);
        dg_json_out_put_uint(out, "load_duration", 0);
        dg_json_out_put_uint(out, "prompt_eval_count", job->n_tokens_in);
        dg_json_out_put_uint(out, "prompt_eval_duration", job->queue_ns);
        dg_json_out_put_uint(out, "eval_count", job->n_tokens_out);
        dg_json_out_put_uint(out, "eval_duration", job->total_ns - job->queue_ns);
    }
    dg_json_out_close(out, '}');
}

static void on_whole(struct dg_compat *compat, struct dg_json_out *out)
{
    const struct chat *chat = compat->user;
    struct dg_buf answer;
    dg_buf_init(&answer, 4 * TEXT_MAX);
    if (put_answer(compat, &answer) != DG_OK)
        out->err = DG_ERR_NOMEM;
    const struct dg_span text = dg_buf_span(&answer);
    if (chat->form != OPENAI) {
        put_ollama(out, compat, text, true);
    } else {
        put_head(out, compat, "chat.completion");
        dg_json_out_put_open(out, "choices", '[');
        dg_json_out_open(out, '{');
        dg_json_out_put_uint(out, "index", 0);
        put_message(out, "message", "assistant", &text);
        dg_json_out_put_cstr(out, "logprobs", NULL);
        dg_json_out_put_cstr(out, "finish_reason", "stop");
        dg_json_out_close(out, '}');
        dg_json_out_close(out, ']');
        put_usage(out, compat);
        dg_json_out_close(out, '}');
    }
    dg_buf_deinit(&answer);
}

/* ---- Streams --------------------------------------------------------------------------------- */

/* Ends and sends one of Ollama's lines. */
static void send_line(struct dg_call *call, struct dg_json_out *out)
{
    if (dg_json_out_end(out) == DG_OK && dg_buf_append_byte(out->buf, '\n') == DG_OK)
        (void)!dg_http_reply_write(call->req, dg_buf_span(out->buf));
    else
        dg_http_reply_abort(call->req);
    dg_api_message_sent(call->api);
}

/* Writes one chunk of OpenAI's: the first has the role, the next ones have text, and the last
 * ones have the reason for the end and, if wanted, the usage. */
static void send_chunk(struct dg_compat *compat, const char *role, const struct dg_span *text,
                       const char *reason, bool is_usage)
{
    const struct chat *chat = compat->user;
    struct dg_json_out out;
    dg_call_event_open(compat->work.call, NULL, NULL, &out);
    put_head(&out, compat, "chat.completion.chunk");
    dg_json_out_put_open(&out, "choices", '[');
    if (!is_usage) {
        dg_json_out_open(&out, '{');
        dg_json_out_put_uint(&out, "index", 0);
        put_message(&out, "delta", role, text);
        dg_json_out_put_cstr(&out, "finish_reason", reason);
        dg_json_out_close(&out, '}');
    }
    dg_json_out_close(&out, ']');
    if (is_usage)
        put_usage(&out, compat);
    else if (chat->has_usage)
        dg_json_out_put_cstr(&out, "usage", NULL);
    dg_json_out_close(&out, '}');
    dg_call_event_send(compat->work.call, &out);
}

static void send_text(struct dg_compat *compat, struct dg_span text, bool is_last)
{
    const struct chat *chat = compat->user;
    struct dg_json_out out;
    if (chat->form == OPENAI) {
        send_chunk(compat, NULL, is_last ? NULL : &text, is_last ? "stop" : NULL, false);
        if (is_last && chat->has_usage)
            send_chunk(compat, NULL, NULL, NULL, true);
        return;
    }
    dg_json_out_init(&out, dg_api_message(compat->work.call->api));
    put_ollama(&out, compat, text, is_last);
    send_line(compat->work.call, &out);
}

static void begin_stream(struct dg_compat *compat)
{
    struct chat *chat = compat->user;
    if (chat->has_begun)
        return;
    chat->has_begun = true;
    dg_call_begin_stream(compat->work.call,
                         chat->form == OPENAI ? "text/event-stream" : "application/x-ndjson");
    if (chat->form == OPENAI)
        send_chunk(compat, "assistant", &DG_SPAN(""), NULL, false);
}

static void on_delta(struct dg_compat *compat, struct dg_span text)
{
    begin_stream(compat);
    send_text(compat, text, false);
}

static void fail_stream(struct dg_compat *compat, const struct dg_failure *failure)
{
    const struct chat *chat = compat->user;
    struct dg_json_out out;
    dg_gate_refund(compat->work.call, failure->status, compat->job->n_shown);
    if (chat->form == OPENAI) {
        dg_call_event_failure(compat->work.call, NULL, NULL, failure);
        return;
    }
    dg_json_out_init(&out, dg_api_message(compat->work.call->api));
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "error", failure->message);
    dg_json_out_close(&out, '}');
    send_line(compat->work.call, &out);
}

static void on_end(struct dg_compat *compat, const struct dg_failure *failure)
{
    struct chat *chat = compat->user;
    struct dg_failure no_memory =
        dg_translate_options_failure(compat->arena, DG_ERR_NOMEM, NULL, NULL);
    struct dg_buf answer;
    dg_buf_init(&answer, 4 * TEXT_MAX);
    if (!failure && !is_growing(chat) && put_answer(compat, &answer) != DG_OK)
        failure = &no_memory;
    if (failure && !chat->has_begun) {
        dg_call_fail(compat->work.call, *failure);
        dg_buf_deinit(&answer);
        return;
    }
    begin_stream(compat);
    if (!failure && answer.len)
        send_text(compat, dg_buf_span(&answer), false);
    if (failure)
        fail_stream(compat, failure);
    else
        send_text(compat, DG_SPAN(""), true);
    if (chat->form == OPENAI)
        dg_call_event(compat->work.call, NULL, NULL, DG_SPAN("[DONE]"));
    dg_http_reply_end(compat->work.call->req);
    dg_buf_deinit(&answer);
}

/* ---- The routes ------------------------------------------------------------------------------ */

static enum dg_err read_request(struct dg_compat *compat, struct dg_span body,
                                struct dg_failure *failure)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_json *json = NULL;
    enum dg_err err = dg_translate_options_parse(body, VALUES_MAX, compat->arena, failure, &json);
    if (err)
        return err;
    err = read_chat(json, compat, compat->user, &error);
    dg_json_free(json);
    if (err) {
        *failure = dg_translate_options_failure(compat->arena, err, &error, NULL);
        failure->status = err == DG_ERR_NOMEM ? 503 : 400;
        failure->code = err == DG_ERR_NOMEM ? "overloaded" : "invalid_value";
    }
    return err;
}

/* Gives each part of the message that is to be translated to the job as a text of its own. */
static enum dg_err put_texts(struct dg_compat *compat, const struct chat *chat)
{
    const enum dg_err err = dg_compat_texts(compat, chat->prompt.n_texts);
    size_t n = 0;
    for (size_t i = 0; !err && i < chat->prompt.n_parts; i++)
        if (chat->prompt.parts[i].kind != DG_CHAT_PROMPT_LITERAL)
            compat->items[n++].text = chat->prompt.parts[i].text;
    return err;
}

static void on_open(struct dg_call *call, struct dg_compat *compat)
{
    struct chat *chat = compat->user;
    struct tm parts;
    if (!dg_compat_leads(compat)) {
        struct dg_error error = DG_ERROR_NONE;
        dg_error_set(&error, DG_ERR_NOT_FOUND, "this server does not translate from %s to %s",
                     compat->from ? compat->from->name : "any language", compat->to->name);
        dg_compat_fail(compat, 400, "invalid_value", error.text);
        return;
    }
    if (put_texts(compat, chat) != DG_OK) {
        dg_compat_fail_with(compat, DG_ERR_NOMEM);
        return;
    }
    if (chat->prompt.is_markdown) {
        compat->job->options.request.format = DG_DOC_MARKDOWN;
        compat->job->options.alternatives = 0;
    }
    chat->created_s = (uint64_t)time(NULL);
    snprintf(chat->id, sizeof chat->id, "chatcmpl-%s", call->id);
    gmtime_r(&(time_t){(time_t)chat->created_s}, &parts);
    strftime(chat->created, sizeof chat->created, "%Y-%m-%dT%H:%M:%SZ", &parts);
    if (chat->stream) {
        compat->on_delta = is_growing(chat) ? on_delta : NULL;
        compat->on_end = on_end;
    }
    dg_compat_start(compat, on_whole);
}

static void begin_chat(struct dg_call *call, enum form form)
{
    struct dg_api *api = call->api;
    struct dg_compat *compat = dg_compat_new(call);
    if (!compat)
        return;
    if (!api->langnames)
        api->langnames = dg_langnames_new();
    struct chat *chat = dg_arena_calloc(compat->arena, 1, sizeof *chat);
    compat->user = chat;
    if (!chat || !api->langnames) {
        dg_compat_fail_with(compat, DG_ERR_NOMEM);
        return;
    }
    chat->form = form;
    chat->names = api->langnames;
    chat->stream = form != OPENAI; /* the default when the request has no such field */
    dg_compat_open_as(compat, read_request, on_open);
}

void dg_compat_chat(struct dg_call *call)
{
    begin_chat(call, OPENAI);
}

void dg_compat_ollama_chat(struct dg_call *call)
{
    begin_chat(call, OLLAMA_CHAT);
}

void dg_compat_ollama_generate(struct dg_call *call)
{
    begin_chat(call, OLLAMA_GENERATE);
}

/* ---- Ollama's models ------------------------------------------------------------------------- */

static void put_tags(struct dg_call *call, struct dg_json_out *out)
{
    const struct dg_engine *engine = call->api->engine;
    for (size_t i = 0; engine && i < dg_engine_n_models(engine); i++) {
        const struct dg_engine_model_info info = dg_engine_model_info(engine, i);
        dg_json_out_open(out, '{');
        dg_json_out_put_cstr(out, "name", info.name);
        dg_json_out_put_cstr(out, "model", info.name);
        dg_json_out_put_cstr(out, "modified_at", "1970-01-01T00:00:00Z");
        dg_json_out_put_uint(out, "size", info.bytes);
        dg_json_out_put_cstr(out, "digest", "");
        dg_json_out_put_open(out, "details", '{');
        dg_json_out_put_cstr(out, "parent_model", "");
        dg_json_out_put_cstr(out, "format", "dragoman");
        dg_json_out_put_cstr(out, "family", "translation");
        dg_json_out_put_open(out, "families", '[');
        dg_json_out_cstr(out, "translation");
        dg_json_out_close(out, ']');
        dg_json_out_put_cstr(out, "parameter_size", "");
        dg_json_out_put_cstr(out, "quantization_level", "");
        dg_json_out_close(out, '}');
        dg_json_out_close(out, '}');
    }
}

void dg_compat_ollama_tags(struct dg_call *call)
{
    dg_call_json_list(call, "models", put_tags);
}
