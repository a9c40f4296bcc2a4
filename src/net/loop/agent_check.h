/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Sends one line to each client that connects, then closes the connection, as HAProxy's agent-check
 * expects. It reads nothing.
 *
 *     err = dg_agent_check_open(&agent, loop, "127.0.0.1:8190", say, user, &error);
 *     dg_agent_check_close(agent);          NULL is fine; once only
 *
 * At most CONNECTIONS_MAX connections are served at a time; further ones are closed immediately,
 * and none lasts longer than a second. One thread: the loop's. */
#ifndef DG_NET_LOOP_AGENT_CHECK_H
#define DG_NET_LOOP_AGENT_CHECK_H

#include "base/memory/error.h"

#include <uv.h>

enum { DG_AGENT_CHECK_LINE = 64 };

/* Writes the line, with its newline. */
typedef void (*dg_agent_check_fn)(void *user, char line[DG_AGENT_CHECK_LINE]);

struct dg_agent_check;

/* `address` is that of a TCP port. */
enum dg_err dg_agent_check_open(struct dg_agent_check **agent, uv_loop_t *loop, const char *address,
                                dg_agent_check_fn say, void *user,
                                struct dg_error *error) DG_MUST_CHECK;
void dg_agent_check_close(struct dg_agent_check *agent);

/* The address on which it actually listens, for the log. */
int dg_agent_check_port(const struct dg_agent_check *agent);

#endif
