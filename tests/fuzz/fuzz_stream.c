/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as what a client does on one WebSocket of GET /v1/stream, through a true server, the
 * api and an engine with a small model. Each line is one act:
 *
 *     tN TEXT    translate TEXT under the id N, a digit      c N    cancel it
 *     uN TEXT    update it                                   w      wait until nothing runs
 *     bBYTES     a binary message                            p      let the server work a little
 *     x          leave at once                               any other line: a message, as it is
 *
 * What comes back is JSON of the known types. Whatever was accepted ends; its tokens joined are the
 * text of "done"; and a text that was reached by updates is translated as when it is sent anew. */
#include "api/http/api.h"
#include "base/json/json.h"
#include "base/json/json_out.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "engine/engine.h"
#include "net/loop/waker.h"

#include "../unit/files.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

extern int dg_fuzz_mutations;
int dg_fuzz_mutations = 200; /* each is a session of some milliseconds */

enum { INPUT_MAX = 2048, OUTPUT_MAX = 64 << 20, IDS_MAX = 512, PUMPS = 3, N_DIGITS = 10 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* Made once, for all inputs. */
static struct {
    uv_loop_t loop;
    uv_timer_t tick;
    struct dg_waker *waker;
    struct dg_engine *engine;
    struct dg_api *api;
    struct dg_server *server;
    struct sockaddr_un address;
    size_t n_running; /* requests of the engine */
} all;

/* What the client knows about an id. */
struct task {
    char *id;
    bool is_open;     /* accepted and not over */
    bool may_be_over; /* an error came, whether about the id itself or about a message for it */
    bool is_done;
    struct dg_buf tokens, text; /* since it was accepted; of "done" */
};

struct session {
    int fd;             /* -1: left, or closed by the server */
    uv_poll_t *arrival; /* wakes the loop when there is something to read; frees itself */
    struct dg_buf in;
    size_t read; /* how many of its bytes were handled */
    struct task tasks[IDS_MAX];
    size_t n_tasks;
    bool is_read;         /* the marker was answered: all messages were read */
    bool has_raw;         /* messages that we did not write: what they say of ids is not known */
    char *last[N_DIGITS]; /* the latest text of tN and uN */
    size_t last_len[N_DIGITS];
};

/* ---- The server ------------------------------------------------------------------------------ */

static void remove_socket(void)
{
    unlink(all.address.sun_path);
}

static void on_wake(void *user)
{
    (void)user;
    all.n_running = dg_engine_poll(all.engine);
    dg_api_turn(all.api);
    dg_turn_run(dg_engine_turn(all.engine));
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
    on_wake(NULL);
}

static void wake(void *user)
{
    (void)user;
    dg_waker_wake(all.waker);
}

static void set_up(void)
{
    char model[DG_TEST_PATH], address[sizeof all.address.sun_path + 8];
    struct dg_error error = DG_ERROR_NONE;
    if (all.server)
        return;
    require(signal(SIGPIPE, SIG_IGN) != SIG_ERR); /* as the daemon does */
    const struct dg_engine_opts engine = {
        .n_threads = 1, .slots = 4, .source_max = 32, .target_max = 32, .wake = wake};
    struct dg_api_opts opts = DG_API_OPTS_DEFAULT;
    struct dg_server_opts server = DG_SERVER_OPTS_DEFAULT;
    opts.access_log = false;
    opts.characters_max = 1000;
    require(uv_loop_init(&all.loop) == 0 && uv_timer_init(&all.loop, &all.tick) == 0);
    require(uv_timer_start(&all.tick, on_tick, 20, 20) == 0);
    require(dg_waker_open(&all.loop, on_wake, NULL, &error, &all.waker) == DG_OK);
    require(dg_engine_new(&engine, &error, &all.engine) == DG_OK);
    dg_test_source(model, "tests/models/transformer");
    if (dg_engine_load(all.engine, "toy", model, "xx", "yy", &error)) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    require(dg_api_new(&opts, NULL, &error, &all.api) == DG_OK);
    dg_api_set_engine(all.api, all.engine);
    require(dg_server_new(&all.loop, &server, dg_api_handler(), all.api, NULL, &error,
                          &all.server) == DG_OK);
    dg_api_set_server(all.api, all.server);
    all.address.sun_family = AF_UNIX;
    snprintf(all.address.sun_path, sizeof all.address.sun_path, "/tmp/dg-fuzz-stream-%d",
             (int)getpid());
    snprintf(address, sizeof address, "unix:%s", all.address.sun_path);
    require(dg_server_listen(all.server, address, &error) == DG_OK);
    require(atexit(remove_socket) == 0);
}

/* ---- The client's side ----------------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
    dg_free(handle);
}

static void leave(struct session *session)
{
    if (session->fd < 0)
        return;
    uv_close((uv_handle_t *)session->arrival, on_closed);
    close(session->fd);
    session->fd = -1;
}

static void on_arrival(uv_poll_t *arrival, int status, int events)
{
    (void)arrival, (void)status, (void)events;
}

static void push(struct session *session, const char *bytes, size_t len)
{
    while (len > 0 && session->fd >= 0) {
        const ssize_t n = send(session->fd, bytes, len, MSG_NOSIGNAL);
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            uv_run(&all.loop, UV_RUN_ONCE);
        } else {
            leave(session);
        }
    }
}

/* A whole frame, masked with zeros. */
static void push_frame(struct session *session, int opcode, struct dg_span payload)
{
    const unsigned char head[8] = {(unsigned char)(0x80 | opcode), 0x80 | 126,
                                   (unsigned char)(payload.len >> 8), (unsigned char)payload.len};
    const unsigned char small[6] = {head[0], (unsigned char)(0x80 | payload.len)};
    require(payload.len <= UINT16_MAX);
    if (payload.len < 126)
        push(session, (const char *)small, sizeof small);
    else
        push(session, (const char *)head, sizeof head);
    push(session, payload.ptr, payload.len);
}

static struct task *task_of(struct session *session, struct dg_span id)
{
    for (size_t i = 0; i < session->n_tasks; i++)
        if (dg_span_eq(dg_span_cstr(session->tasks[i].id), id))
            return &session->tasks[i];
    if (session->n_tasks == IDS_MAX || memchr(id.ptr, '\0', id.len))
        return NULL;
    struct task *task = &session->tasks[session->n_tasks++];
    task->id = dg_xmalloc(id.len + 1);
    memcpy(task->id, id.ptr, id.len);
    task->id[id.len] = '\0';
    dg_buf_init(&task->tokens, OUTPUT_MAX);
    dg_buf_init(&task->text, OUTPUT_MAX);
    return task;
}

static struct dg_span string_of(const struct dg_json *json, const char *name)
{
    struct dg_span text = {NULL, 0};
    struct dg_error error = DG_ERROR_NONE;
    require(dg_json_get_string(json, name, DG_JSON_REQUIRED, &error, &text) == DG_OK);
    return text;
}

static bool is(struct dg_span text, const char *word)
{
    return dg_span_eq(text, dg_span_cstr(word));
}

/* An error about a message that names an id says nothing about the translation under that id. */
static void on_error(struct session *session, const struct dg_json *json)
{
    struct dg_error ignored = DG_ERROR_NONE;
    struct dg_span id = {NULL, 0};
    require(string_of(json, "code").len > 0 && string_of(json, "message").len > 0);
    require(dg_json_get_string(json, "id", DG_JSON_OPTIONAL, &ignored, &id) == DG_OK);
    if (id.ptr && is(id, "~"))
        session->is_read = true;
    struct task *task = id.ptr ? task_of(session, id) : NULL;
    if (task)
        task->may_be_over = true;
}

static void on_message(struct session *session, struct dg_span text)
{
    const struct dg_json_limits limits = {
        .max_bytes = OUTPUT_MAX, .max_depth = 32, .max_values = 1 << 20};
    struct dg_error error = DG_ERROR_NONE;
    struct dg_json *json;
    require(dg_json_parse(text, &limits, &error, &json) == DG_OK);
    const struct dg_span type = string_of(json, "type");
    if (is(type, "error")) {
        on_error(session, json);
        dg_json_free(json);
        return;
    }
    struct task *task = task_of(session, string_of(json, "id"));
    if (!task) {
        session->has_raw = true;
    } else if (is(type, "accepted")) {
        task->is_open = true;
        task->is_done = task->may_be_over = false;
        dg_buf_clear(&task->tokens);
    } else if (is(type, "token")) {
        require(task->is_open);
        require(dg_buf_append_span(&task->tokens, string_of(json, "text")) == DG_OK);
    } else if (is(type, "sentence")) {
        require(task->is_open);
    } else if (is(type, "done")) {
        require(task->is_open);
        const struct dg_span said = string_of(json, "text");
        require(dg_span_eq(said, dg_buf_span(&task->tokens)));
        task->is_open = false;
        task->is_done = true;
        dg_buf_clear(&task->text);
        require(dg_buf_append_span(&task->text, said) == DG_OK);
    } else {
        require(is(type, "cancelled"));
        task->is_open = task->is_done = false;
    }
    dg_json_free(json);
}

/* The first complete frame; false when there is none. */
static bool take_frame(struct session *session)
{
    const unsigned char *at = (const unsigned char *)session->in.ptr + session->read;
    const size_t left = session->in.len - session->read;
    if (left < 2)
        return false;
    const size_t short_len = at[1];
    size_t head = 2, len = short_len;
    require((at[0] & 0xF0) == 0x80 && short_len <= 127); /* whole, not compressed, not masked */
    if (short_len > 125) {
        head += short_len == 126 ? 2 : 8;
        if (left < head)
            return false;
        len = 0;
        for (size_t i = 2; i < head; i++)
            len = len << 8 | at[i];
    }
    if (left - head < len)
        return false;
    const int opcode = at[0] & 0x0F;
    require(opcode == 1 || opcode == 8 || opcode == 9 || opcode == 10);
    if (opcode == 1)
        on_message(session, dg_span_make((const char *)at + head, len));
    session->read += head + len;
    if (opcode == 8)
        leave(session);
    return session->fd >= 0;
}

static void pull(struct session *session)
{
    char bytes[16384];
    while (session->fd >= 0) {
        const ssize_t n = recv(session->fd, bytes, sizeof bytes, 0);
        if (n > 0)
            require(dg_buf_append(&session->in, bytes, (size_t)n) == DG_OK);
        else if (n < 0 && errno == EAGAIN)
            break;
        else
            leave(session);
    }
}

static void pump(struct session *session, uv_run_mode mode)
{
    uv_run(&all.loop, mode);
    pull(session);
    while (take_frame(session))
        continue;
}

static bool connect_to_server(struct session *session)
{
    static const char hello[] = "GET /v1/stream HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n"
                                "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    session->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    require(session->fd >= 0);
    require(connect(session->fd, (const struct sockaddr *)&all.address, sizeof all.address) == 0);
    session->arrival = dg_xcalloc(1, sizeof *session->arrival);
    require(uv_poll_init(&all.loop, session->arrival, session->fd) == 0);
    require(uv_poll_start(session->arrival, UV_READABLE, on_arrival) == 0);
    push(session, hello, sizeof hello - 1);
    size_t end = 0;
    while (session->fd >= 0 && !end) {
        uv_run(&all.loop, UV_RUN_ONCE);
        pull(session);
        for (size_t i = 4; i <= session->in.len && !end; i++)
            end = memcmp(session->in.ptr + i - 4, "\r\n\r\n", 4) == 0 ? i : 0;
    }
    session->read = end;
    return end && dg_span_starts(dg_buf_span(&session->in), DG_SPAN("HTTP/1.1 101 "));
}

/* {"type":...,"id":...}, the text unless its pointer is NULL, and a model for what is translated.
 */
static void say(struct session *session, const char *type, struct dg_span id, struct dg_span text)
{
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, OUTPUT_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "type", type);
    dg_json_out_put_string(&out, "id", id);
    if (text.ptr)
        dg_json_out_put_string(&out, "text", text);
    if (strcmp(type, "translate") == 0)
        dg_json_out_put_cstr(&out, "model", "toy");
    dg_json_out_close(&out, '}');
    require(dg_json_out_end(&out) == DG_OK);
    push_frame(session, 1, dg_buf_span(&buf));
    dg_buf_deinit(&buf);
}

/* Reads until the server has read all that was sent, and each accepted id is over or uncertain. */
static bool something_runs(const struct session *session)
{
    for (size_t i = 0; i < session->n_tasks; i++)
        if (session->tasks[i].is_open && !session->tasks[i].may_be_over)
            return true;
    return !session->is_read;
}

static void wait_for_all(struct session *session)
{
    session->is_read = false;
    say(session, "cancel", DG_SPAN("~"), (struct dg_span){NULL, 0});
    while (session->fd >= 0 && something_runs(session))
        pump(session, UV_RUN_ONCE);
}

static bool is_ours(struct dg_span line, char act)
{
    return line.len >= 3 && line.ptr[0] == act && line.ptr[1] >= '0' && line.ptr[1] <= '9' &&
           line.ptr[2] == ' ';
}

static void act(struct session *session, struct dg_span line)
{
    const bool is_new = is_ours(line, 't');
    if ((is_new || is_ours(line, 'u')) && dg_utf8_valid(line, NULL)) {
        const struct dg_span id = dg_span_sub(line, 1, 1), text = dg_span_sub(line, 3, line.len);
        const size_t digit = (size_t)(line.ptr[1] - '0');
        /* An id that is under way is not begun anew, and a text that is too long is not
         * translated. */
        if (is_new)
            say(session, "cancel", id, (struct dg_span){NULL, 0});
        say(session, is_new ? "translate" : "update", id, text);
        dg_free(session->last[digit]);
        session->last[digit] = dg_xmalloc(text.len + 1);
        if (text.len)
            memcpy(session->last[digit], text.ptr, text.len);
        session->last_len[digit] = text.len;
    } else if (is_ours(line, 'c')) {
        say(session, "cancel", dg_span_sub(line, 1, 1), (struct dg_span){NULL, 0});
    } else if (is(line, "w")) {
        wait_for_all(session);
    } else if (is(line, "p")) {
        for (int i = 0; i < PUMPS; i++)
            pump(session, UV_RUN_NOWAIT);
    } else if (is(line, "x")) {
        leave(session);
    } else if (line.len && line.ptr[0] == 'b') {
        push_frame(session, 2, dg_span_sub(line, 1, line.len));
    } else {
        session->has_raw = true;
        push_frame(session, 1, line);
    }
}

/* A text that was reached by updates has the same translation as the text sent at once. */
static void compare(struct session *session)
{
    for (size_t digit = 0; digit < N_DIGITS && session->fd >= 0; digit++) {
        const char id[] = {(char)('0' + digit), '\0'}, again[] = {'=', (char)('0' + digit), '\0'};
        if (!session->last[digit])
            continue;
        const struct task *task = task_of(session, dg_span_cstr(id));
        if (!task || !task->is_done || task->may_be_over)
            continue;
        say(session, "translate", dg_span_cstr(again),
            dg_span_make(session->last[digit], session->last_len[digit]));
        wait_for_all(session);
        const struct task *other = task_of(session, dg_span_cstr(again));
        require(session->fd < 0 ||
                (other && other->is_done &&
                 dg_span_eq(dg_buf_span(&task->text), dg_buf_span(&other->text))));
    }
}

/* The client leaves, and nothing of it remains. */
static void end(struct session *session)
{
    struct dg_server_stats stats;
    leave(session);
    do {
        dg_waker_wake(all.waker);
        uv_run(&all.loop, UV_RUN_ONCE);
        dg_server_stats(all.server, &stats);
    } while (stats.connections > 0 || all.n_running > 0);
    require(stats.websockets == 0);
    for (size_t i = 0; i < session->n_tasks; i++) {
        dg_free(session->tasks[i].id);
        dg_buf_deinit(&session->tasks[i].tokens);
        dg_buf_deinit(&session->tasks[i].text);
    }
    for (size_t i = 0; i < N_DIGITS; i++)
        dg_free(session->last[i]);
    dg_buf_deinit(&session->in);
    dg_free(session);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len > INPUT_MAX)
        return 0;
    set_up();
    struct session *session = dg_xcalloc(1, sizeof *session);
    dg_buf_init(&session->in, OUTPUT_MAX);
    require(connect_to_server(session));
    const struct dg_span input = dg_span_make((const char *)bytes, len);
    for (size_t at = 0; at < len;) {
        const char *newline = memchr(input.ptr + at, '\n', len - at);
        const size_t upto = newline ? (size_t)(newline - input.ptr) : len;
        act(session, dg_span_sub(input, at, upto - at));
        at = upto + 1;
    }
    if (session->fd >= 0) {
        wait_for_all(session);
        if (!session->has_raw)
            compare(session);
    }
    end(session);
    return 0;
}
