/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A machine with two memory nodes, both with the CPUs that this process may really use, and
 * networks of which only the second node's copy is left.
 *
 *     char root[DG_TMPDIR_CAP];
 *     two_nodes_make(root);
 *     struct dg_nodes *nodes = dg_nodes_new(root, 2);      NULL: the system lets no thread choose
 *     dg_net_new(&net, bp, weights, &(struct dg_net_opts){.nodes = nodes}, &error);
 *     ... two_nodes_spoil(net) ...                         the copy, while the original is NaN
 *     dg_tmpdir_remove(root); */
#ifndef TWO_NODES_H
#define TWO_NODES_H

#include "fake_machine.h"
#include "network/net_int.h"

static inline void two_nodes_make(char root[DG_TMPDIR_CAP])
{
    char cpus[64];
    dg_tmpdir_make(root);
    snprintf(cpus, sizeof cpus, "0-%ld", sysconf(_SC_NPROCESSORS_CONF) - 1);
    fake_machine_nodes(root, 2, (const char *[]){cpus, cpus});
}

static inline const struct dg_net *two_nodes_spoil(struct dg_net *net)
{
    const struct dg_net *copy = dg_net_copy(net, 1);
    ck_assert_ptr_ne(copy, net);
    ck_assert_ptr_ne(copy->block, net->block);
    ck_assert_uint_eq(copy->block_bytes, net->block_bytes);
    memset(net->block, 0xff, net->block_bytes);
    return copy;
}

#endif
