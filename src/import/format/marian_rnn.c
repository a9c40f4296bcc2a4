/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Names of recurrent networks. Those of s2s give stack, layer, cell and parameter, in that order:
 *
 *     encoder_bi_W           forward stack, layer 1, cell 1
 *     encoder_bi_cell2_U     forward stack, layer 1, cell 2
 *     encoder_bi_l3_cell1_W  forward stack, layer 3, cell 1
 *     encoder_bi_r_...       the backward stack
 *     encoder_l2_cell1_W     a layer on top of both stacks
 *     decoder_cell2_W        decoder, layer 1, cell 2
 *
 * The names of amun and nematus are older and state fewer of these parts; their networks have one
 * layer on each side. Nematus counts its deep transitions, the cells that read only their state,
 * from 1: encoder_U_drt_1, encoder_r_U_drt_1, decoder_U_nl_drt_1. */
#include "import/format/marian.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The part of a name after the cell, and our part after the prefix of a cell (P of struct
 * dg_cell_weights). */
static const struct {
    const char *marian, *ours;
} in_cell[] = {
    {"W", "gates.input.weight"},      {"U", "gates.state.weight"},      {"b", "gates.bias"},
    {"Wx", "candidate.input.weight"}, {"Ux", "candidate.state.weight"}, {"bx", "candidate.bias"},
    {"gamma1", "input_norm.weight"},  {"gamma2", "state_norm.weight"},
};

/* Whole names. */
static const struct {
    const char *marian, *ours;
    bool is_straight; /* the file stores [out, in], as we do */
} outside[] = {
    {"decoder_ff_state_W", "model.decoder.initial.weight", false},
    {"decoder_ff_state_b", "model.decoder.initial.bias", false},
    {"decoder_ff_state_gamma", "model.decoder.initial_norm.weight", false},
    {"decoder_Wc_att", "model.decoder.attention.source.weight", false},
    {"decoder_b_att", "model.decoder.attention.source.bias", false},
    {"decoder_att_gamma1", "model.decoder.attention.source_norm.weight", false},
    {"decoder_W_comb_att", "model.decoder.attention.state.weight", false},
    {"decoder_att_gamma2", "model.decoder.attention.state_norm.weight", false},
    {"decoder_U_att", "model.decoder.attention.score.weight", false},
    {"decoder_ff_logit_l1_W0", "model.decoder.readout.word.weight", false},
    {"decoder_ff_logit_l1_b0", "model.decoder.readout.word.bias", false},
    {"decoder_ff_logit_l1_gamma0", "model.decoder.readout.word_norm.weight", false},
    {"decoder_ff_logit_l1_W1", "model.decoder.readout.state.weight", false},
    {"decoder_ff_logit_l1_b1", "model.decoder.readout.state.bias", false},
    {"decoder_ff_logit_l1_gamma1", "model.decoder.readout.state_norm.weight", false},
    {"decoder_ff_logit_l1_W2", "model.decoder.readout.context.weight", false},
    {"decoder_ff_logit_l1_b2", "model.decoder.readout.context.bias", false},
    {"decoder_ff_logit_l1_gamma2", "model.decoder.readout.context_norm.weight", false},
    {"decoder_ff_logit_l2_W", "lm_head.weight", false},
    {"decoder_ff_logit_l2_Wt", "lm_head.weight", true},
    {"decoder_ff_logit_l2_b", "final_logits_bias", false},
    {"encoder_Wemb", "model.encoder.embed_tokens.weight", true},
    {"decoder_Wemb", "model.decoder.embed_tokens.weight", true},
    /* amun's and nematus's */
    {"Wemb_dec", "model.decoder.embed_tokens.weight", true},
    {"ff_state_W", "model.decoder.initial.weight", false},
    {"ff_state_b", "model.decoder.initial.bias", false},
    {"ff_logit_prev_W", "model.decoder.readout.word.weight", false},
    {"ff_logit_prev_b", "model.decoder.readout.word.bias", false},
    {"ff_logit_lstm_W", "model.decoder.readout.state.weight", false},
    {"ff_logit_lstm_b", "model.decoder.readout.state.bias", false},
    {"ff_logit_ctx_W", "model.decoder.readout.context.weight", false},
    {"ff_logit_ctx_b", "model.decoder.readout.context.bias", false},
    {"ff_state_gamma", "model.decoder.initial_norm.weight", false},
    {"ff_logit_l1_gamma0", "model.decoder.readout.word_norm.weight", false},
    {"ff_logit_l1_gamma1", "model.decoder.readout.state_norm.weight", false},
    {"ff_logit_l1_gamma2", "model.decoder.readout.context_norm.weight", false},
    {"ff_logit_W", "lm_head.weight", false},
    {"ff_logit_b", "final_logits_bias", false},
    {"decoder_Wc", "model.decoder.layers.0.cells.1.gates.input.weight", false},
    {"decoder_Wcx", "model.decoder.layers.0.cells.1.candidate.input.weight", false},
    {"decoder_U_nl", "model.decoder.layers.0.cells.1.gates.state.weight", false},
    {"decoder_Ux_nl", "model.decoder.layers.0.cells.1.candidate.state.weight", false},
    {"decoder_b_nl", "model.decoder.layers.0.cells.1.gates.bias", false},
    {"decoder_bx_nl", "model.decoder.layers.0.cells.1.candidate.bias", false},
};

/* Removes `begin` from the front. */
static bool take(const char **name, const char *begin)
{
    const size_t len = strlen(begin);
    if (strncmp(*name, begin, len) != 0)
        return false;
    *name += len;
    return true;
}

/* Removes "<letters><number>_" from the front; the numbers of the file count from 1. If it is
 * absent, `value` stays as it is. */
static bool take_number(const char **name, const char *letters, unsigned long *value)
{
    const char *at = *name;
    char *end;
    if (!take(&at, letters) || *at < '1' || *at > '9')
        return true;
    unsigned long number = strtoul(at, &end, 10);
    if (*end != '_' || number > 1000)
        return false;
    *name = end + 1;
    *value = number;
    return true;
}

/* Translates nematus's cells after the first one (in the decoder, after the second). */
static bool translate_transition(const char *name, char *ours, size_t cap)
{
    const char *at = strstr(name, "_drt_"), *stack;
    char *end, parameter[16];
    if (!at || at[5] < '1' || at[5] > '9')
        return false;
    const unsigned long number = strtoul(at + 5, &end, 10);
    if (*end || number > 1000)
        return false;
    const bool is_decoder = take(&name, "decoder_");
    if (is_decoder)
        stack = "decoder.layers";
    else if (take(&name, "encoder_r_"))
        stack = "encoder.backward";
    else if (take(&name, "encoder_"))
        stack = "encoder.forward";
    else
        return false;
    snprintf(parameter, sizeof parameter, "%.*s", (int)(at - name), name);
    char *nl = strstr(parameter, "_nl");
    if (is_decoder != (nl && !nl[3]))
        return false;
    if (nl)
        *nl = '\0';
    for (size_t i = 0; i < sizeof in_cell / sizeof *in_cell; i++)
        if (strcmp(parameter, in_cell[i].marian) == 0) {
            snprintf(ours, cap, "model.%s.0.cells.%lu.%s", stack, number + is_decoder,
                     in_cell[i].ours);
            return true;
        }
    return false;
}

static bool translate_cell(const char *name, char *ours, size_t cap)
{
    unsigned long layer = 1, cell = 1;
    const char *stack;
    if (take(&name, "encoder_bi_r_") || take(&name, "encoder_r_"))
        stack = "encoder.backward";
    else if (take(&name, "encoder_bi_"))
        stack = "encoder.forward";
    else if (strncmp(name, "encoder_l", 9) == 0 && take(&name, "encoder_"))
        stack = "encoder.top";
    else if (take(&name, "encoder_"))
        stack = "encoder.forward";
    else if (take(&name, "decoder_"))
        stack = "decoder.layers";
    else
        return false;
    if (!take_number(&name, "l", &layer) || !take_number(&name, "cell", &cell))
        return false;
    const unsigned long first = strcmp(stack, "encoder.top") == 0 ? 2 : 1;
    if (layer < first)
        return false;
    for (size_t i = 0; i < sizeof in_cell / sizeof *in_cell; i++)
        if (strcmp(name, in_cell[i].marian) == 0) {
            snprintf(ours, cap, "model.%s.%lu.cells.%lu.%s", stack, layer - first, cell - 1,
                     in_cell[i].ours);
            return true;
        }
    return false;
}

bool dg_marian_rnn_name(const char *name, bool is_shared, char *ours, size_t cap, bool *transposed)
{
    *transposed = false;
    /* in nematus the source embedding; in Marian the embedding of both sides */
    if (strcmp(name, "Wemb") == 0) {
        snprintf(ours, cap, "model.%s.weight", is_shared ? "shared" : "encoder.embed_tokens");
        return true;
    }
    *transposed = true;
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        if (strcmp(name, outside[i].marian) == 0) {
            snprintf(ours, cap, "%s", outside[i].ours);
            *transposed = !outside[i].is_straight;
            return true;
        }
    return translate_transition(name, ours, cap) || translate_cell(name, ours, cap);
}

bool dg_marian_rnn_is_remainder(const char *name)
{
    static const char *const names[] = {"decoder_c_tt", "uidx", "history_errs", "zipped_params"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}
