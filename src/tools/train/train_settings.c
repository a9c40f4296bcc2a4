/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What the options of dragoman train come to: blueprints, the setup and the trainer's settings. */
#include "base/thread/cpu.h"
#include "tools/train/train_options.h"

#include <stdio.h>

enum { LEN_CHARS = 500 };

static const enum dg_spm_kind vocab_kinds[] = {DG_SPM_BPE, DG_SPM_WORD, DG_SPM_UNIGRAM};

static struct dg_blueprint recurrent(const struct train_options *flags)
{
    static const enum dg_decoder_kind cells[] = {DG_DECODER_GRU, DG_DECODER_LSTM, DG_DECODER_TANH};
    struct dg_blueprint bp;
    dg_setup_blueprint_seq(&bp);
    bp.D = (size_t)flags->network.width;
    bp.decoder_kind = cells[flags->network.cell];
    if (flags->network.encoder_layers)
        bp.encoder.n_layers = (size_t)flags->network.encoder_layers;
    if (flags->network.decoder_layers)
        bp.decoder.n_layers = (size_t)flags->network.decoder_layers;
    bp.seq.attention = (enum dg_seq_attention)flags->network.attention;
    bp.seq.places = bp.seq.attention == DG_SEQ_LOCATION ? (size_t)flags->network.places : 0;
    bp.seq.is_bidirectional = flags->network.bidirectional;
    bp.tie_source_target = flags->network.share_vocab || *flags->data.vocab;
    if (flags->data.task == CLASSIFY) {
        bp.seq = (struct dg_seq){.is_bidirectional = flags->network.bidirectional,
                                 .is_classifier = true};
        bp.decoder.n_layers = 1;
        bp.start = DG_START_ZERO;
        bp.start_id = DG_ID_NONE;
        bp.tie_source_target = false;
    }
    return bp;
}

static enum dg_activation activation_of(const struct train_options *flags)
{
    static const enum dg_activation known[] = {DG_ACT_RELU, DG_ACT_RELU, DG_ACT_SILU,
                                               DG_ACT_GELU_TANH};
    if (flags->is_encoder && (flags->network.activation == 0 || flags->network.activation == 3))
        return DG_ACT_GELU_ERF; /* BERT's activation */
    return known[flags->network.activation];
}

static struct dg_blueprint encoder_alone(const struct train_options *flags)
{
    static const enum dg_head heads[] = {DG_HEAD_NONE,   DG_HEAD_POOLED, DG_HEAD_WORDS,
                                         DG_HEAD_TOKENS, DG_HEAD_SPANS,  DG_HEAD_POOLED};
    struct dg_blueprint bp;
    dg_setup_blueprint_enc(&bp);
    bp.D = (size_t)flags->network.width;
    if (flags->network.encoder_layers)
        bp.encoder.n_layers = (size_t)flags->network.encoder_layers;
    bp.encoder.H = bp.decoder.H = (size_t)flags->network.heads;
    bp.encoder.F = bp.decoder.F = (size_t)flags->network.ffn;
    bp.activation = activation_of(flags);
    bp.norm_place = flags->network.norm == 0 ? DG_NORM_POST : DG_NORM_PRE;
    bp.final_norm = bp.norm_place == DG_NORM_PRE;
    bp.enc.head = heads[flags->data.task];
    bp.enc.rule = flags->data.task == SCORE ? DG_LABELS_NUMBER
                  : flags->data.labels      ? DG_LABELS_EACH
                                            : DG_LABELS_ONE;
    return bp;
}

static struct dg_blueprint language_model(const struct train_options *flags)
{
    struct dg_blueprint bp;
    dg_setup_blueprint_lm(&bp, (enum dg_setup_shape)flags->network.shape);
    bp.D = (size_t)flags->network.width;
    bp.decoder.H = (size_t)flags->network.heads;
    bp.decoder.F = (size_t)flags->network.ffn;
    if (flags->network.decoder_layers)
        bp.decoder.n_layers = (size_t)flags->network.decoder_layers;
    bp.encoder = bp.decoder;
    bp.encoder.n_layers = 0;
    bp.lm.head = bp.D / bp.decoder.H;
    bp.lm.kv_heads =
        (size_t)(flags->network.kv_heads ? flags->network.kv_heads : flags->network.heads);
    /* The table of options has checked their lengths. */
    snprintf(bp.lm.ask.form, sizeof bp.lm.ask.form, "%s", flags->data.form);
    snprintf(bp.lm.ask.source, sizeof bp.lm.ask.source, "%s", flags->data.from);
    snprintf(bp.lm.ask.target, sizeof bp.lm.ask.target, "%s", flags->data.to);
    return bp;
}

struct dg_setup_opts train_setup_opts(const struct train_options *flags)
{
    struct dg_setup_opts opts = {
        .pairs = {.len_max = flags->data.len_chars || flags->is_encoder
                                 ? (size_t)flags->data.len_chars
                                 : LEN_CHARS,
                  .ratio_max = flags->data.len_ratio,
                  .swap = flags->data.swap},
        .source_file = flags->data.source,
        .target_file = flags->data.target,
        .mix = flags->data.mix.items,
        .n_mix = flags->data.mix.n,
        .mix_ratio = flags->data.mix_ratio,
        .candidates = flags->data.candidates.items,
        .n_candidates = flags->data.candidates.n,
        .dev = flags->data.dev,
        .n_dev = (size_t)flags->data.dev_pairs,
        .seed = (uint64_t)flags->learning.seed,
        .vocab = flags->data.vocab,
        .spm = DG_SPM_TRAIN_OPTS_DEFAULT,
        .len_max = (size_t)flags->learning.len_max,
        .init = flags->data.init,
    };
    /* Both were checked before. */
    (void)!train_options_script("", flags->data.source_script, &opts.pairs.source_script, NULL);
    (void)!train_options_script("", flags->data.target_script, &opts.pairs.target_script, NULL);
    opts.aligns = flags->learning.guide > 0.0;
    opts.spm.size = (uint32_t)flags->data.vocab_size;
    opts.spm.coverage = flags->data.coverage;
    opts.spm.byte_fallback = flags->data.byte_fallback;
    opts.spm.kind = vocab_kinds[flags->data.vocab_kind];
    opts.spm.ascii = flags->data.normaliser == 1;
    opts.select = (struct dg_select_opts){.words_max = (size_t)flags->data.words_max,
                                          .begins = flags->data.begins.items,
                                          .n_begins = flags->data.begins.n,
                                          .ascii = opts.spm.ascii};
    opts.lowers = flags->data.lowers;
    if (flags->is_encoder) {
        opts.bp = encoder_alone(flags);
        return opts;
    }
    if (flags->data.task == CLASSIFY) {
        opts.pairs.swap = !flags->data.swap;
        opts.pairs.labels = true;
    }
    if (flags->network.family == RECURRENT || flags->data.task == CLASSIFY) {
        opts.bp = recurrent(flags);
        return opts;
    }
    if (flags->data.task == NEXT_WORD) {
        opts.bp = language_model(flags);
        opts.pairs.lines = !*flags->data.form;
        opts.is_packed = flags->data.packed;
        return opts;
    }
    dg_setup_blueprint(&opts.bp);
    const size_t heads = (size_t)flags->network.heads, ffn = (size_t)flags->network.ffn;
    opts.bp.D = (size_t)flags->network.width;
    if (flags->network.encoder_layers)
        opts.bp.encoder.n_layers = (size_t)flags->network.encoder_layers;
    if (flags->network.decoder_layers)
        opts.bp.decoder.n_layers = (size_t)flags->network.decoder_layers;
    opts.bp.encoder.H = opts.bp.decoder.H = heads;
    opts.bp.encoder.F = opts.bp.decoder.F = ffn;
    opts.bp.decoder_kind = (enum dg_decoder_kind)flags->network.decoder;
    if (opts.bp.decoder_kind == DG_DECODER_AAN) {
        opts.bp.aan_depth = (size_t)flags->network.aan_depth;
        opts.bp.aan_F = ffn;
        opts.bp.aan_gate = flags->network.aan_gate;
    }
    opts.bp.relative_reach = (size_t)flags->network.reach;
    if (opts.bp.relative_reach)
        opts.bp.positions = DG_POS_NONE;
    opts.bp.activation = activation_of(flags);
    opts.bp.norm_place = flags->network.norm == 0 ? DG_NORM_POST : DG_NORM_PRE;
    opts.bp.final_norm = opts.bp.norm_place == DG_NORM_PRE;
    if (opts.aligns) {
        opts.bp.alignment_layer = opts.bp.decoder.n_layers;
        opts.bp.alignment_head = (size_t)flags->learning.guide_head;
    }
    return opts;
}

struct dg_trainer_opts train_trainer_opts(const struct train_options *flags, const char *dir)
{
    unsigned freeze;
    (void)!train_options_freeze(&flags->learning.freeze, &freeze, NULL); /* this was checked before
                                                                          */
    return (struct dg_trainer_opts){
        .dir = dir,
        .optimiser = {.kind = (enum dg_optimiser_kind)flags->learning.optimiser,
                      .schedule = (enum dg_schedule)flags->learning.schedule,
                      .rate = flags->learning.rate,
                      .rate_min = flags->learning.rate_min,
                      .warmup = (uint64_t)flags->learning.warmup,
                      .steps = (uint64_t)flags->ending.steps,
                      .cooldown = (uint64_t)flags->ending.cooldown,
                      .beta1 = flags->learning.beta1,
                      .beta2 = flags->learning.beta2,
                      .epsilon = flags->learning.epsilon,
                      .weight_decay = flags->learning.weight_decay,
                      .clip = flags->learning.clip,
                      .average = flags->learning.average_last ? 0.0 : flags->learning.average,
                      .average_last = (size_t)flags->learning.average_last,
                      .freeze = freeze},
        .threads = flags->learning.threads ? (size_t)flags->learning.threads : dg_cpu_cores(),
        .batch_tokens = (size_t)flags->learning.batch_tokens,
        .part_tokens = (size_t)flags->learning.part_tokens,
        .products = (enum dg_products_kind)flags->learning.products,
        .len_max = (size_t)flags->learning.len_max,
        .smoothing = (float)flags->learning.smoothing,
        .dropout = (float)flags->learning.dropout,
        .dropout_ffn = (float)flags->learning.dropout_ffn,
        .guide = (float)flags->learning.guide,
        .guide_head = (size_t)flags->learning.guide_head,
        .risk = (float)flags->learning.risk,
        .sharpness = (float)flags->learning.sharpness,
        .rivals_tokens = (size_t)flags->learning.rivals_tokens,
        .teacher = (float)flags->learning.teacher,
        .loss = (enum dg_pass_loss)flags->learning.loss,
        .seed = (uint64_t)flags->learning.seed,
        .steps = (uint64_t)flags->ending.steps,
        .epochs = (uint64_t)flags->ending.epochs,
        .time_ms = (uint64_t)flags->ending.time_ms,
        .valid_every = (uint64_t)flags->watching.valid_every,
        .patience = (size_t)flags->ending.patience,
        .metric = (enum dg_trainer_metric)flags->watching.metric,
        .n_translate = (size_t)flags->watching.valid_pairs,
        .beam = (int)flags->watching.beam,
        .save_ms = (uint64_t)flags->watching.save_ms,
        .log_every = (uint64_t)flags->watching.log_every,
    };
}
