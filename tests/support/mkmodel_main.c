/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* mkmodel DIR [--seed N] [--type f32|f16|bf16|i8] [--D N] [--F N] [--heads N] [--layers ENC,DEC]
 *         [--vocab N[,N]] [--decoder attention|ssru|aan|gru|lstm] [--activation
 * relu|silu|gelu|gelu_tanh|quick_gelu]
 *         [--positions halves|halves-closed|interleaved|learned|none] [--pre-norm] [--rms]
 * [--embedding-norm]
 *         [--zero-start] [--untied] [--separate] [--relative REACH]
 *         [--rnn-encoder bidirectional|alternating|bi-unidirectional] [--cells ENC,BASE]
 * [--high-cells N]
 *         [--rnn-width N] [--rnn-skip] [--rnn-norm]
 *         [--languages fr,en,zho_Hans] [--language-rule none|source-first|source-last]
 *
 * Writes a random model for scripts and for trying things by hand. --untied: an output matrix of
 * its own;
 * --separate: source and target embeddings of their own. */
#include "mkmodel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(const char *what)
{
    fprintf(stderr, "mkmodel: %s; the first lines of mkmodel_main.c list the options\n", what);
    return 2;
}

static bool read_size(const char *text, size_t *first, size_t *second)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || end == text || (*end && *end != ','))
        return false;
    *first = value;
    return !*end || (second && read_size(end + 1, second, NULL));
}

static bool choose(const char *text, const char *const *names, int *index)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(text, names[i]) == 0) {
            *index = i;
            return true;
        }
    return false;
}

/* Switches without a value. */
static bool set_flag(struct dg_blueprint *bp, const char *flag)
{
    if (strcmp(flag, "--pre-norm") == 0)
        bp->norm_place = DG_NORM_PRE;
    else if (strcmp(flag, "--rms") == 0)
        bp->norm_kind = DG_NORM_RMS;
    else if (strcmp(flag, "--embedding-norm") == 0)
        bp->embedding_norm = true;
    else if (strcmp(flag, "--zero-start") == 0)
        bp->start = DG_START_ZERO;
    else if (strcmp(flag, "--untied") == 0)
        bp->tie_output = false;
    else if (strcmp(flag, "--rnn-skip") == 0)
        bp->rnn.skip = true;
    else if (strcmp(flag, "--rnn-norm") == 0)
        bp->rnn.norm = true;
    else if (strcmp(flag, "--separate") == 0)
        bp->tie_source_target = false;
    else
        return false;
    return true;
}

static bool set_choice(struct dg_mkmodel *options, const char *name, const char *value)
{
    static const char *const types[] = {"f32", "f16", "bf16", "i8", NULL};
    static const char *const decoders[] = {"attention", "ssru", "aan", "gru", "lstm", NULL};
    static const char *const encoders[] = {"bidirectional", "alternating", "bi-unidirectional",
                                           NULL};
    static const char *const activations[] = {"relu",      "silu",       "gelu",
                                              "gelu_tanh", "quick_gelu", NULL};
    static const char *const positions[] = {"none",        "halves",  "halves-closed",
                                            "interleaved", "learned", NULL};
    static const char *const rules[] = {"none", "source-first", "source-last", NULL};
    int index;
    if (strcmp(name, "--language-rule") == 0 && choose(value, rules, &index))
        options->blueprint.lang_rule = (enum dg_lang_rule)index;
    else if (strcmp(name, "--type") == 0 && choose(value, types, &index))
        options->dtype = (enum dg_dtype)index;
    else if (strcmp(name, "--decoder") == 0 && choose(value, decoders, &index))
        options->blueprint.decoder_kind = (enum dg_decoder_kind)index;
    else if (strcmp(name, "--rnn-encoder") == 0 && choose(value, encoders, &index))
        options->blueprint.rnn.encoder = (enum dg_rnn_encoder)index;
    else if (strcmp(name, "--activation") == 0 && choose(value, activations, &index))
        options->blueprint.activation = (enum dg_activation)index;
    else if (strcmp(name, "--positions") == 0 && choose(value, positions, &index))
        options->blueprint.positions = (enum dg_positions)index;
    else
        return false;
    return true;
}

static bool set_value(struct dg_mkmodel *options, const char *name, const char *value)
{
    struct dg_blueprint *bp = &options->blueprint;
    if (strcmp(name, "--seed") == 0) {
        size_t seed;
        bool good = read_size(value, &seed, NULL);
        options->seed = good ? seed : 0;
        return good;
    }
    if (strcmp(name, "--languages") == 0) {
        options->languages = value;
        return true;
    }
    if (strcmp(name, "--D") == 0)
        return read_size(value, &bp->D, NULL);
    if (strcmp(name, "--F") == 0)
        return read_size(value, &bp->encoder.F, NULL) && read_size(value, &bp->decoder.F, NULL);
    if (strcmp(name, "--heads") == 0)
        return read_size(value, &bp->encoder.H, NULL) && read_size(value, &bp->decoder.H, NULL);
    if (strcmp(name, "--layers") == 0)
        return read_size(value, &bp->encoder.n_layers, &bp->decoder.n_layers);
    if (strcmp(name, "--rnn-width") == 0)
        return read_size(value, &bp->rnn.width, NULL);
    if (strcmp(name, "--cells") == 0)
        return read_size(value, &bp->rnn.encoder_cells, &bp->rnn.base_cells);
    if (strcmp(name, "--high-cells") == 0)
        return read_size(value, &bp->rnn.high_cells, NULL);
    if (strcmp(name, "--relative") == 0)
        return read_size(value, &bp->relative_reach, NULL);
    if (strcmp(name, "--vocab") == 0)
        return read_size(value, &bp->encoder.V, &bp->decoder.V);
    return set_choice(options, name, value);
}

int main(int argc, char **argv)
{
    struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    const char *dir = NULL;
    for (int i = 1; i < argc; i++) {
        if (set_flag(&options.blueprint, argv[i]))
            continue;
        if (strncmp(argv[i], "--", 2) != 0 && !dir)
            dir = argv[i];
        else if (i + 1 < argc && set_value(&options, argv[i], argv[i + 1]))
            i++;
        else
            return usage(argv[i]);
    }
    if (!dir)
        return usage("no directory given");
    enum dg_err err = dg_mkmodel(dir, &options, &error);
    if (err)
        fprintf(stderr, "mkmodel: %s\n", dg_error_text(&error, err));
    return err ? 1 : 0;
}
