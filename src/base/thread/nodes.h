/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The machine's memory nodes (NUMA), and the node on which each of our workers runs.
 *
 *     struct dg_nodes *nodes = dg_nodes_new("", n_workers);       NULL: nothing to distribute
 *     for (size_t node = 0; node < dg_nodes_count(nodes); node++)
 *         dg_nodes_run(nodes, node, make_copy, arg);              memory of that node
 *     pin = dg_nodes_bind(nodes, worker);                         in the worker's own thread
 *     dg_nodes_free(nodes);
 *
 * A processor reads the memory of its own node faster than that of others, and each node adds its
 * own bandwidth. So data that all workers read again and again exist once on each node. The kernel
 * puts a page on the node whose processor touches the page first; hence dg_nodes_run.
 *
 * Only nodes with CPUs that this process may use count. CPUs of a node that has no memory, or whose
 * memory this process may not use, belong to the nearest node that has. Workers go to the nodes in
 * turn, in proportion to the nodes' CPUs, and nodes that get no worker are left out.
 *
 * Everything but `new` and `free` accepts NULL, which stands for a machine with one node. The
 * struct is immutable; any thread. */
#ifndef DG_BASE_THREAD_NODES_H
#define DG_BASE_THREAD_NODES_H

#include <stdbool.h>
#include <stddef.h>

struct dg_nodes;

enum { DG_NODES_MAX = 64, DG_NODES_WORKERS_MAX = 256 };

/* Reads /sys/devices/system/node and /proc/self/status below `root` ("" for the real ones). NULL:
 * the workers (at most DG_NODES_WORKERS_MAX) would all be on one node, the files cannot be read or
 * make no sense, the system does not permit a thread to choose its CPUs, or there is no memory. */
struct dg_nodes *dg_nodes_new(const char *root, size_t n_workers);
void dg_nodes_free(struct dg_nodes *nodes); /* NULL is fine */

/* Returns how many nodes have workers. They are numbered from 0, without gaps. */
size_t dg_nodes_count(const struct dg_nodes *nodes);

/* Returns the node of a worker. */
size_t dg_nodes_of(const struct dg_nodes *nodes, size_t worker);

/* Confines the calling thread, a worker, to the CPUs of its node. If the system refuses, the thread
 * stays as it is. Returns the worker's number among those of its node, for dg_cpu_pin. */
unsigned dg_nodes_bind(const struct dg_nodes *nodes, size_t worker);

/* Calls fn(arg) on a thread that runs on `node`, and waits for its end. If there is only one node,
 * or no thread can be started, the calling thread calls fn. */
void dg_nodes_run(const struct dg_nodes *nodes, size_t node, void (*fn)(void *arg), void *arg);

#endif
