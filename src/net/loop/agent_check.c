/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The line fits into any socket's buffer, so that it is written at once or not at all. */
#include "net/loop/agent_check.h"
#include "base/memory/list.h"
#include "base/memory/mem.h"
#include "net/loop/address.h"

#include <netinet/in.h>
#include <string.h>

enum { CONNECTIONS_MAX = 32, BACKLOG = 64, LAST_MS = 1000 };

struct dg_agent_check {
    uv_tcp_t listener;
    dg_agent_check_fn say;
    void *user;
    size_t n_connections;
    bool is_closed;
};

/* Freed when both handles are closed, and the agent with its last connection. */
struct connection {
    uv_tcp_t socket;
    uv_timer_t timer;
    uv_shutdown_t shutdown;
    struct dg_agent_check *agent;
    int n_open;
};

static void free_if_last(struct dg_agent_check *agent)
{
    if (agent->is_closed && agent->n_connections == 0)
        dg_free(agent);
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct dg_agent_check *agent = handle->data;
    agent->is_closed = true;
    free_if_last(agent);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct connection *connection = handle->data;
    struct dg_agent_check *agent = connection->agent;
    if (--connection->n_open > 0)
        return;
    dg_free(connection);
    agent->n_connections--;
    free_if_last(agent);
}

static void close_connection(struct connection *connection)
{
    if (!uv_is_closing((uv_handle_t *)&connection->socket))
        uv_close((uv_handle_t *)&connection->socket, on_handle_closed);
    if (!uv_is_closing((uv_handle_t *)&connection->timer))
        uv_close((uv_handle_t *)&connection->timer, on_handle_closed);
}

static void on_time(uv_timer_t *timer)
{
    close_connection(timer->data);
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
    (void)status;
    close_connection(DG_LIST_ITEM(request, struct connection, shutdown));
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct dg_agent_check *agent = listener->data;
    struct connection *connection = status == 0 ? dg_try_calloc(1, sizeof *connection) : NULL;
    char line[DG_AGENT_CHECK_LINE] = "";
    if (!connection)
        return; /* it waits in the backlog */
    connection->agent = agent;
    connection->n_open = 2;
    uv_tcp_init(listener->loop, &connection->socket);
    uv_timer_init(listener->loop, &connection->timer);
    connection->socket.data = connection->timer.data = connection;
    agent->n_connections++;
    if (uv_accept(listener, (uv_stream_t *)&connection->socket) != 0 ||
        agent->n_connections > CONNECTIONS_MAX) {
        close_connection(connection);
        return;
    }
    uv_timer_start(&connection->timer, on_time, LAST_MS, 0);
    agent->say(agent->user, line);
    uv_buf_t text = uv_buf_init(line, (unsigned)strlen(line));
    if (uv_try_write((uv_stream_t *)&connection->socket, &text, 1) != (int)text.len ||
        uv_shutdown(&connection->shutdown, (uv_stream_t *)&connection->socket, on_shutdown) != 0)
        close_connection(connection);
}

enum dg_err dg_agent_check_open(struct dg_agent_check **out, uv_loop_t *loop, const char *text,
                                dg_agent_check_fn say, void *user, struct dg_error *error)
{
    struct dg_address address;
    enum dg_err err = dg_address_parse(text, &address, error);
    if (!err && address.is_unix)
        err = dg_error_set(error, DG_ERR_INVALID, "%s: read a path, expected an address and a port",
                           text);
    if (err)
        return err;
    struct dg_agent_check *agent = dg_xcalloc(1, sizeof *agent);
    agent->say = say;
    agent->user = user;
    uv_tcp_init(loop, &agent->listener);
    agent->listener.data = agent;
    int code = uv_tcp_bind(&agent->listener, (const struct sockaddr *)&address.socket, 0);
    if (code == 0)
        code = uv_listen((uv_stream_t *)&agent->listener, BACKLOG, on_connection);
    if (code != 0) {
        dg_agent_check_close(agent);
        return dg_error_set(error, dg_err_from_errno(-code), "cannot listen on %s: %s", text,
                            uv_strerror(code));
    }
    *out = agent;
    return DG_OK;
}

void dg_agent_check_close(struct dg_agent_check *agent)
{
    if (agent && !uv_is_closing((uv_handle_t *)&agent->listener))
        uv_close((uv_handle_t *)&agent->listener, on_listener_closed);
}

int dg_agent_check_port(const struct dg_agent_check *agent)
{
    struct sockaddr_storage bound = {.ss_family = AF_UNSPEC};
    int len = sizeof bound;
    if (uv_tcp_getsockname(&agent->listener, (struct sockaddr *)&bound, &len) != 0)
        return 0;
    return bound.ss_family == AF_INET6 ? ntohs(((const struct sockaddr_in6 *)&bound)->sin6_port)
                                       : ntohs(((const struct sockaddr_in *)&bound)->sin_port);
}
