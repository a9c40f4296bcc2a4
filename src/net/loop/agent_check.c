/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The line fits into any socket's buffer, so that it is written at once or not at all. */
#include "net/loop/agent_check.h"
#include "base/memory/list.h"
#include "base/memory/mem.h"
#include "net/loop/address.h"
#include "net/loop/listener.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 32, BACKLOG = 64, LAST_MS = 1000 };

struct dg_agent_check {
    struct dg_listener *listener; /* NULL when it is closed */
    uv_loop_t *loop;              /* borrowed */
    dg_agent_check_fn say;
    void *user;
    size_t n_connections;
};

/* Freed when both handles are closed. A closed agent is freed with its last connection. */
struct connection {
    uv_tcp_t socket;
    uv_timer_t timer;
    uv_shutdown_t shutdown;
    struct dg_agent_check *agent;
    int n_open;
};

static void free_if_last(struct dg_agent_check *agent)
{
    if (!agent->listener && agent->n_connections == 0)
        dg_free(agent);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct connection *connection = handle->data;
    struct dg_agent_check *agent = connection->agent;
    if (--connection->n_open > 0)
        return;
    dg_free(connection);
    agent->n_connections--;
    if (agent->listener)
        dg_listener_resume(agent->listener);
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

static void on_accepted(struct dg_listener *listener, int fd)
{
    struct dg_agent_check *agent = listener->opts.user;
    struct connection *connection =
        agent->n_connections < CONNECTIONS_MAX ? dg_try_calloc(1, sizeof *connection) : NULL;
    char line[DG_AGENT_CHECK_LINE] = "";
    if (!connection) {
        close(fd);
        return;
    }
    connection->agent = agent;
    connection->n_open = 2;
    uv_tcp_init(agent->loop, &connection->socket);
    uv_timer_init(agent->loop, &connection->timer);
    connection->socket.data = connection->timer.data = connection;
    agent->n_connections++;
    if (uv_tcp_open(&connection->socket, fd) != 0) {
        close(fd);
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
    agent->loop = loop;
    agent->say = say;
    agent->user = user;
    const struct dg_listener_opts opts = {
        .backlog = BACKLOG, .on_accepted = on_accepted, .user = agent};
    err = dg_listener_open(loop, &address, &opts, error, &agent->listener);
    if (err) {
        dg_free(agent);
        return err;
    }
    *out = agent;
    return DG_OK;
}

void dg_agent_check_close(struct dg_agent_check *agent)
{
    if (!agent)
        return;
    dg_listener_close(agent->listener);
    agent->listener = NULL;
    free_if_last(agent);
}

int dg_agent_check_port(const struct dg_agent_check *agent)
{
    return (int)strtol(strrchr(agent->listener->text, ':') + 1, NULL, 10);
}
