/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A table with the functions of each family for the steps of running a network that differ between
 * families. net.c packs the networks. */
#include "network/net_int.h"

const struct net_family dg_net_families[] = {
    [DG_FAMILY_TRANSFORMER] = {.encode = dg_net_layers_encode, .step = dg_net_layers_step},
    [DG_FAMILY_RNN] = {.carve = dg_net_rnn_carve,
                       .encode = dg_net_rnn_encode,
                       .step = dg_net_rnn_step},
    [DG_FAMILY_LM] = {.carve = dg_net_lm_carve, .step = dg_net_lm_step},
    [DG_FAMILY_SEQ] = {.carve = dg_net_seq_carve,
                       .encode = dg_net_seq_encode,
                       .step = dg_net_seq_step},
    [DG_FAMILY_ENC] = {.encode = dg_net_layers_encode},
};
