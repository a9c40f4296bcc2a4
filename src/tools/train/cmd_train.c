/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman train: makes a model directory that the daemon serves from sentence pairs. src/train
 * does the work; this file has the options, the output for the user, and the signals.
 *
 * The options of a run are kept in its directory (training/recipe.conf), so that `--resume DIR` is
 * enough to continue it. On SIGINT or SIGTERM the run finishes its step, writes a checkpoint and
 * says how to continue. A second signal ends the program at once; only the work since the last
 * checkpoint is then lost. */
#include "base/file/file_out.h"
#include "base/file/folder.h"
#include "base/log/progress.h"
#include "base/memory/error.h"
#include "base/option/opt.h"
#include "base/thread/cpu.h"
#include "decode/search_opts.h"
#include "model/config.h"
#include "model/model_dir.h"
#include "tools/command.h"
#include "tools/tools.h"
#include "tools/train/training_report.h"
#include "train/report/curve.h"
#include "train/run/setup.h"
#include "train/run/snapshots.h"
#include "train/run/trainer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECIPE_MAX = 1 << 16, FILES_MAX = 64, LEN_CHARS = 500 };

/* The pairs and the vocabulary, for dg_setup_make. */
struct data_options {
    int task, labels, vocab_kind, normaliser;
    const char *form, *from, *to; /* parts of the prompt template */
    const char *source, *target, *dev, *vocab, *init;
    const char *source_script, *target_script;
    struct dg_opt_list repeat, begins, mix, candidates;
    int64_t dev_pairs, len_chars, vocab_size, words_max;
    double len_ratio, coverage, mix_ratio;
    bool packed, swap, lowers, byte_fallback;
};

/* The blueprint. */
struct network_options {
    int family, shape, decoder, cell, attention, activation, norm;
    int64_t width, heads, kv_heads, encoder_layers, decoder_layers, ffn, aan_depth, reach, places;
    bool aan_gate, bidirectional, share_vocab;
};

/* The optimiser and the loss. */
struct learning_options {
    int optimiser, loss, schedule, products;
    int64_t batch_tokens, part_tokens, len_max, warmup, average_last, guide_head, rivals_tokens,
        seed, threads;
    double teacher, rate, rate_min, beta1, beta2, epsilon, weight_decay, clip, average, smoothing,
        dropout, dropout_ffn, guide, risk, sharpness, mask_share;
    struct dg_opt_list freeze;
};

struct ending_options {
    int64_t steps, cooldown, epochs, time_ms, patience;
};

/* Validations, checkpoints, lines of the log. */
struct watching_options {
    int metric;
    int64_t valid_every, valid_pairs, beam, save_ms, log_every;
};

/* The scores and the card. */
struct report_options {
    struct dg_opt_list test;
    int64_t test_pairs, test_beam;
    const char *note, *attribution;
};

struct train {
    int help;
    const char *resume, *out;
    struct data_options data;
    struct network_options network;
    struct learning_options learning;
    struct ending_options ending;
    struct watching_options watching;
    struct report_options report;
    bool is_encoder; /* derived from the other options: an encoder-only model is trained */
};

enum task { TRANSLATE, CLASSIFY, MASKED, TAG, ANSWER, SCORE, NEXT_WORD };
enum family { TRANSFORMER, RECURRENT, ENCODER };

/* Tasks for an encoder-only model and for no other network. */
static bool is_reading(int task)
{
    return task >= MASKED && task <= SCORE;
}

static const char *const task_words[] = {"translate", "classify", "masked",    "tag",
                                         "answer",    "score",    "next-word", NULL};
static const char *const vocab_words[] = {"bpe", "word", "unigram", NULL};
static const enum dg_spm_kind vocab_kinds[] = {DG_SPM_BPE, DG_SPM_WORD, DG_SPM_UNIGRAM};
static const char *const normaliser_words[] = {"nfkc", "ascii", NULL};
static const char *const family_words[] = {"transformer", "rnn", "encoder", NULL};
static const char *const cell_words[] = {"gru", "lstm", "rnn", NULL};
static const char *const decoder_words[] = {"attention", "ssru", "aan", NULL}; /* as enum
                                                                                  dg_decoder_kind */
static const char *const attention_words[] = {"none",    "location", "dot",
                                              "general", "additive", NULL};
static const char *const optimiser_words[] = {"adam", "sgd", NULL};
static const char *const loss_words[] = {"token", "sentence", NULL};
static const char *const activation_words[] = {"auto", "relu", "silu", "gelu", NULL};
static const char *const shape_words[] = {"gpt", "llama", NULL}; /* as enum dg_setup_shape */
static const char *const norm_words[] = {"post", "pre", NULL};
static const char *const schedule_words[] = {"inverse-sqrt", "cosine", "linear", "constant", NULL};
static const char *const labels_words[] = {"one", "any", NULL};
static const char *const products_words[] = {"f32", "bf16", NULL}; /* enum dg_products_kind */
static const char *const metric_words[] = {"loss", "bleu", "chrf", "task", NULL};

enum { LATER = DG_OPT_RELOADABLE };

static const struct dg_opt_row rows[] = {
    {DG_OPT_PATH(struct train, out), "out", .letter = 'o', .flags = DG_OPT_COMMAND_LINE,
     .unit = "DIR", .heading = "Where", .help = "the model directory to make"},
    {DG_OPT_PATH(struct train, resume), "resume", .flags = DG_OPT_COMMAND_LINE, .unit = "DIR",
     .help =
         "continue the run in this directory; only some of the other options may be given again"},

    {DG_OPT_ENUM(struct train, data.task), "task", .words = task_words, .def = "translate",
     .heading = "Data",
     .help = "what is learned. translate: lines source<TAB>target. classify, labels of texts: "
             "label<TAB>text, with --family encoder also label<TAB>text<TAB>text. For encoder-only "
             "models: masked, masked words (lines of text); tag, labels of words (word<TAB>label, "
             "an empty line after each sentence); answer (question<TAB>context<TAB>answer); score, "
             "a number (text<TAB>number or text<TAB>text<TAB>number). next-word, for language "
             "models: to continue a text (lines of text, or pairs with --template). Files *.jsonl "
             "hold the same as JSON"},
    {DG_OPT_ENUM(struct train, data.labels), "labels", .words = labels_words, .def = "one",
     .help = "classify, with --family encoder: each text has one label, or any number of them, "
             "judged one by one (lines label|label<TAB>text, nothing before the tab if there is "
             "none; JSON: labels, a list)"},
    {DG_OPT_STRING(struct train, data.form), "template", .def = "", .max = DG_LM_FORM_TEXT,
     .unit = "TEXT",
     .help = "next-word: lines are pairs, and the model learns to continue this prompt, which "
             "contains the source, with the target; it keeps the prompt (the option template of a "
             "configured model)"},
    {DG_OPT_STRING(struct train, data.from), "from", .def = "", .max = DG_LM_LANGS_TEXT,
     .unit = "LANG", .help = "the language of the sources, for --template"},
    {DG_OPT_STRING(struct train, data.to), "to", .def = "", .max = DG_LM_LANGS_TEXT, .unit = "LANG",
     .help = "the language of the targets, for --template"},
    {DG_OPT_BOOL(struct train, data.packed), "packed", .def = "no",
     .help = "next-word: join the lines and cut them every --len-max tokens, instead of learning "
             "one at a time"},
    {DG_OPT_PATH(struct train, data.source), "source", .unit = "FILE",
     .help = "lines in the source language, besides or instead of PAIRS; needs --target"},
    {DG_OPT_PATH(struct train, data.target), "target", .unit = "FILE",
     .help = "their translations, line for line"},
    {DG_OPT_PATH(struct train, data.dev), "dev", .unit = "FILE",
     .help = "held-out pairs (default: drawn from the others)"},
    {DG_OPT_STRINGS(struct train, data.repeat), "repeat", .unit = "N,N,...", .max = FILES_MAX,
     .help = "how often each file's pairs count in an epoch, in the order of the files (default: "
             "once)"},
    {DG_OPT_INT_IN(struct train, data.dev_pairs, 0, 100000), "dev-pairs", .def = "1000",
     .help = "how many pairs are drawn for --dev; 0: no validation"},
    {DG_OPT_BOOL(struct train, data.swap), "swap", .def = "no",
     .help = "lines are target<TAB>source"},
    {DG_OPT_INT_IN(struct train, data.len_chars, 0, 100000000), "len-chars", .def = "0",
     .help = "longest side of a pair in characters; longer ones are left out; 0: 500, without "
             "limit for encoders"},
    {DG_OPT_REAL_IN(struct train, data.len_ratio, 0, 1000), "len-ratio", .def = "2.5",
     .help = "how much longer one side may be, as (longer + 10) / (shorter + 10); 0: any"},
    {DG_OPT_STRING(struct train, data.source_script), "source-script", .unit = "SCRIPT",
     .help = "leave out pairs whose source has most of its letters in another script (Latn, Cyrl, "
             "Hang, Jpan, ...)"},
    {DG_OPT_STRING(struct train, data.target_script), "target-script", .unit = "SCRIPT",
     .help = "the same for the target"},
    {DG_OPT_PATH(struct train, data.vocab), "vocab", .unit = "FILE",
     .help = "a SentencePiece model for both sides, for an encoder a vocab.txt (default: learned "
             "from the pairs)"},
    {DG_OPT_INT_IN(struct train, data.vocab_size, 16, DG_SPM_TRAIN_SIZE_MAX), "vocab-size",
     .def = "8000", .help = "pieces of a learned vocabulary (of words: at most)"},
    {DG_OPT_ENUM(struct train, data.vocab_kind), "vocab-kind", .words = vocab_words, .def = "bpe",
     .help = "what a learned vocabulary is made of: parts of words, or whole ones as they stand "
             "between spaces"},
    {DG_OPT_ENUM(struct train, data.normaliser), "normaliser", .words = normaliser_words,
     .def = "nfkc",
     .help = "how text is normalised first: by Unicode's NFKC, or, for Latin text, as in the "
             "textbook, which leaves only a to z, spaces and . ! ?"},
    {DG_OPT_BOOL(struct train, data.lowers), "lowercase", .def = "no",
     .help = "an encoder's learned vocabulary has only small letters without accents"},
    {DG_OPT_INT_IN(struct train, data.words_max, 0, 100000), "words-max", .def = "0",
     .help =
         "leave out pairs with more words on a side, counted after --normaliser; 0: any number"},
    {DG_OPT_STRINGS(struct train, data.begins), "target-begins", .unit = "WORDS,...",
     .max = FILES_MAX,
     .help = "leave out pairs whose target, after --normaliser, begins with none of these"},
    {DG_OPT_REAL_IN(struct train, data.coverage, 0.51, 1), "coverage", .def = "0.9998",
     .help = "share of the characters that a learned vocabulary knows"},
    {DG_OPT_BOOL(struct train, data.byte_fallback), "byte-fallback", .def = "no",
     .help = "a learned vocabulary spells other characters in bytes"},
    {DG_OPT_PATH(struct train, data.init), "init", .unit = "DIR",
     .help = "start from this model's weights, network and vocabulary (fine-tuning)"},
    {DG_OPT_PATHS(struct train, data.mix), "mix", .unit = "FILE,...", .max = FILES_MAX,
     .help = "old pairs to mix in, so that the model does not forget them"},
    {DG_OPT_REAL_IN(struct train, data.mix_ratio, 0, 1000), "mix-ratio", .def = "1",
     .help = "how many of them for each new pair; drawn once"},
    {DG_OPT_PATHS(struct train, data.candidates), "rivals", .unit = "FILE,...", .max = FILES_MAX,
     .help = "lines source<TAB>answer<TAB>score, scores from 0 to 100, the answers to a source "
             "together (dragoman distill --pick all makes them): besides the pairs, the model "
             "learns to prefer the better answers (minimum risk)"},

    {DG_OPT_ENUM(struct train, network.family), "family", .words = family_words,
     .def = "transformer", .heading = "Network",
     .help = "a Transformer, a recurrent encoder-decoder, or an encoder-only Transformer (needed "
             "with --task classify only; masked, tag, answer and score imply it)"},
    {DG_OPT_ENUM(struct train, network.shape), "shape", .words = shape_words, .def = "gpt",
     .help = "shape of a language model: GPT-2's (learned positions, layer norms, GELU), or "
             "Llama's (rotary positions, RMS norms, gated SiLU)"},
    {DG_OPT_INT_IN(struct train, network.kv_heads, 0, 128), "kv-heads", .def = "0",
     .help = "heads of keys and values of a language model, each shared by as many queries; 0: one "
             "for each of --heads"},
    {DG_OPT_INT_IN(struct train, network.width, 8, 4096), "width", .def = "256",
     .help = "width of the model"},
    {DG_OPT_INT_IN(struct train, network.heads, 1, 128), "heads", .def = "8",
     .help = "attention heads"},
    {DG_OPT_INT_IN(struct train, network.encoder_layers, 0, 64), "encoder-layers", .def = "0",
     .help = "layers of the encoder; 0: 4, or 1 if it is recurrent"},
    {DG_OPT_INT_IN(struct train, network.decoder_layers, 0, 64), "decoder-layers", .def = "0",
     .help = "layers of the decoder; 0: 2, or 1 if it is recurrent, or 4 in a language model"},
    {DG_OPT_ENUM(struct train, network.decoder), "decoder", .words = decoder_words,
     .def = "attention",
     .help = "how a Transformer's decoder remembers its own words: by self-attention, or by a cell "
             "that makes each step cheaper: SSRU or average attention"},
    {DG_OPT_INT_IN(struct train, network.aan_depth, 1, DG_AAN_DEPTH_MAX), "aan-depth", .def = "2",
     .help = "feed-forward layers after the average, all but the last of width --ffn"},
    {DG_OPT_BOOL(struct train, network.aan_gate), "aan-gate", .def = "yes",
     .help = "gates choose between the average and the input of average attention"},
    {DG_OPT_INT_IN(struct train, network.reach, 0, 1024), "relative", .def = "0",
     .help = "self-attention learns a vector for each distance up to this one, instead of "
             "positions; 0: it does not"},
    {DG_OPT_ENUM(struct train, network.cell), "cell", .words = cell_words, .def = "gru",
     .help = "what a recurrent network is made of; rnn is the plain one, a single tanh"},
    {DG_OPT_BOOL(struct train, network.bidirectional), "bidirectional", .def = "no",
     .help = "a recurrent encoder reads from both ends"},
    {DG_OPT_ENUM(struct train, network.attention), "attention", .words = attention_words,
     .def = "additive",
     .help = "how a recurrent decoder looks at the source; none: the encoder's last state is all "
             "it gets"},
    {DG_OPT_INT_IN(struct train, network.places, 1, 1024), "places", .def = "10",
     .help = "source tokens that attention by location can address; longer sources are cut"},
    {DG_OPT_BOOL(struct train, network.share_vocab), "share-vocab", .def = "no",
     .help = "a recurrent network has one vocabulary and embedding for both sides, as a "
             "Transformer always has"},
    {DG_OPT_INT_IN(struct train, network.ffn, 8, 65536), "ffn", .def = "1024",
     .help = "width of the feed-forward layers"},
    {DG_OPT_ENUM(struct train, network.activation), "activation", .words = activation_words,
     .def = "auto",
     .help = "activation of the feed-forward layers; auto: relu, or gelu in an encoder-only model"},
    {DG_OPT_ENUM(struct train, network.norm), "norm", .words = norm_words, .def = "post",
     .help = "where the norms are: after each sub-layer (as in the paper) or before"},

    {DG_OPT_INT_IN(struct train, learning.batch_tokens, 1, 10000000), "batch-tokens", .def = "4096",
     .heading = "Training", .help = "tokens of a step; what does not fit at once is accumulated"},
    {DG_OPT_INT_IN(struct train, learning.part_tokens, 16, 1000000), "part-tokens", .def = "1024",
     .help = "tokens that a thread computes at once: memory, not mathematics"},
    {DG_OPT_INT_IN(struct train, learning.len_max, 2, 4096), "len-max", .def = "128",
     .help = "longest side of a pair in tokens; longer ones are left out. It is also how many "
             "tokens a language model reads at once"},
    {DG_OPT_ENUM(struct train, learning.optimiser), "optimiser", .words = optimiser_words,
     .def = "adam", .help = "Adam, or plain stochastic gradient descent"},
    {DG_OPT_ENUM(struct train, learning.loss), "loss", .words = loss_words, .def = "token",
     .help = "the mean over target tokens, or (recurrent networks) as in the textbook: the sum "
             "over a sentence up to its end or its first wrong token, divided by its length when "
             "it is reported"},
    {DG_OPT_REAL_IN(struct train, learning.teacher, 0, 1), "teacher-forcing", .def = "1",
     .help = "share of the sentences for which a recurrent decoder reads the target instead of its "
             "own output"},
    {DG_OPT_REAL_IN(struct train, learning.rate, 0, 10), "rate", .def = "0",
     .help = "highest learning rate; 0: the paper's, 1/sqrt(width * warmup)"},
    {DG_OPT_INT_IN(struct train, learning.warmup, 0, 10000000), "warmup", .def = "4000",
     .help = "steps in which the rate rises"},
    {DG_OPT_ENUM(struct train, learning.schedule), "schedule", .words = schedule_words,
     .def = "inverse-sqrt",
     .help = "how the rate falls afterwards; cosine and linear end at --steps"},
    {DG_OPT_REAL_IN(struct train, learning.rate_min, 0, 10), "rate-min", .def = "0",
     .help = "where cosine, linear and --cooldown end"},
    {DG_OPT_REAL_IN(struct train, learning.beta1, 0, 0.99999), "beta1", .def = "0.9",
     .help = "Adam's memory of gradients"},
    {DG_OPT_REAL_IN(struct train, learning.beta2, 0, 0.999999), "beta2", .def = "0.98",
     .help = "Adam's memory of their squares"},
    {DG_OPT_REAL_IN(struct train, learning.epsilon, 1e-12, 1), "epsilon", .def = "1e-9",
     .help = "Adam's least denominator"},
    {DG_OPT_REAL_IN(struct train, learning.weight_decay, 0, 1), "weight-decay", .def = "0",
     .help = "AdamW's weight decay, for matrices"},
    {DG_OPT_REAL_IN(struct train, learning.clip, 0, 1e9), "clip", .def = "1",
     .help = "largest norm of a step's gradient; 0: any"},
    {DG_OPT_REAL_IN(struct train, learning.average, 0, 0.999999), "average", .def = "0.9995",
     .help =
         "decay of the moving average of the weights, which the finished model has; 0: no average"},
    {DG_OPT_INT_IN(struct train, learning.average_last, 0, DG_SNAPSHOTS_MAX), "average-last",
     .def = "0",
     .help = "give the finished model the mean of the weights at this many last validations "
             "instead of the moving average; 0: do not"},
    {DG_OPT_REAL_IN(struct train, learning.smoothing, 0, 0.9), "smoothing", .def = "0.1",
     .help = "label smoothing"},
    {DG_OPT_REAL_IN(struct train, learning.dropout, 0, 0.9), "dropout", .def = "0.1",
     .help = "dropout of embeddings and sub-layers"},
    {DG_OPT_REAL_IN(struct train, learning.dropout_ffn, 0, 0.9), "dropout-ffn", .def = "0",
     .help = "dropout inside the feed-forward layers"},
    {DG_OPT_REAL_IN(struct train, learning.guide, 0, 100), "guided-attention", .def = "0",
     .help = "weight of the loss that teaches one attention head word alignments; 0: no alignments "
             "are made"},
    {DG_OPT_INT_IN(struct train, learning.guide_head, 1, 128), "guided-head", .def = "1",
     .help = "which head of the decoder's last layer learns them; the model names it as the one "
             "for alignments"},
    {DG_OPT_REAL_IN(struct train, learning.risk, 0, 1000), "risk", .def = "1",
     .help =
         "weight of the loss by --rivals: how bad the answers are that the network finds probable"},
    {DG_OPT_REAL_IN(struct train, learning.sharpness, 0.001, 1000), "risk-sharpness", .def = "1",
     .help = "1: the answers count by their probability; less: more evenly"},
    {DG_OPT_INT_IN(struct train, learning.rivals_tokens, 1, 10000000), "rivals-tokens",
     .def = "1024", .help = "tokens of such answers in a step, besides --batch-tokens"},
    {DG_OPT_REAL_IN(struct train, learning.mask_share, 0.01, 0.9), "mask-share", .def = "0.15",
     .help = "share of the words that --task masked asks for: of ten such words 8 are masked, 1 is "
             "replaced by another word, 1 is left"},
    {DG_OPT_STRINGS(struct train, learning.freeze), "freeze", .unit = "PART,...", .max = 5,
     .help = "do not train these: embeddings, encoder, decoder, cross (the decoder's attention "
             "over the source), norms"},
    {DG_OPT_INT_IN(struct train, learning.seed, 0, INT64_MAX), "seed", .def = "1",
     .help = "seed of all random numbers"},
    {DG_OPT_INT_IN(struct train, learning.threads, 0, DG_TEAM_MAX), "threads", .letter = 't',
     .def = "0", .flags = LATER,
     .help = "threads; 0: one for each core. The result depends on the number"},

    {DG_OPT_ENUM(struct train, learning.products), "products", .words = products_words,
     .def = "f32", .flags = LATER,
     .help = "type of the numbers in matrix products: F32, or rounded to BF16 and summed in F32, "
             "which is about three times as fast where the processor can do it (AVX512_BF16) and "
             "F32 elsewhere"},
    {DG_OPT_INT_IN(struct train, ending.steps, 0, INT64_MAX), "steps", .def = "0", .flags = LATER,
     .heading = "When it ends", .help = "end after this many steps; 0: no such end"},
    {DG_OPT_INT_IN(struct train, ending.cooldown, 0, INT64_MAX), "cooldown", .def = "0",
     .flags = LATER,
     .help = "how many of the last --steps the rate takes to fall to --rate-min in a straight "
             "line; may be chosen while the run is under way"},
    {DG_OPT_INT_IN(struct train, ending.epochs, 0, INT64_MAX), "epochs", .def = "0", .flags = LATER,
     .help = "end after this many passes over the pairs; 0: no such end"},
    {DG_OPT_DURATION_IN(struct train, ending.time_ms, 0, INT64_MAX), "time", .def = "0",
     .flags = LATER, .help = "end after this time, all parts of the run together; 0: no such end"},
    {DG_OPT_INT_IN(struct train, ending.patience, 0, 1000000), "patience", .def = "10",
     .flags = LATER,
     .help = "end after this many validations in a row without a new best; 0: no such end"},

    {DG_OPT_INT_IN(struct train, watching.valid_every, 1, INT64_MAX), "valid-every", .def = "1000",
     .flags = LATER, .heading = "Watching", .help = "steps between validations"},
    {DG_OPT_INT_IN(struct train, watching.valid_pairs, 0, 100000), "valid-pairs", .def = "200",
     .flags = LATER,
     .help =
         "held-out sentences that a validation translates; the loss is over all held-out pairs"},
    {DG_OPT_INT_IN(struct train, watching.beam, 1, DG_BEAM_MAX), "beam", .letter = 'b', .def = "1",
     .flags = LATER, .help = "width of that search"},
    {DG_OPT_ENUM(struct train, watching.metric), "metric", .words = metric_words, .def = "loss",
     .help = "what decides which model is the best; task: how well it gets the held-out labels, "
             "words, entities (F1), answers (exact) or numbers (correlation)"},
    {DG_OPT_DURATION_IN(struct train, watching.save_ms, 1, 86400000), "save-every", .def = "5min",
     .flags = LATER, .help = "time between checkpoints"},
    {DG_OPT_INT_IN(struct train, watching.log_every, 1, 1000000), "log-every", .def = "50",
     .flags = LATER, .help = "steps between lines of the log"},
    {DG_OPT_PATHS(struct train, report.test), "test", .unit = "FILE,...", .max = 16, .flags = LATER,
     .heading = "At the end",
     .help = "more pairs to score the model on; with --init also before the first step"},
    {DG_OPT_INT_IN(struct train, report.test_pairs, 0, 100000), "test-pairs", .def = "500",
     .flags = LATER,
     .help = "sentences of each set, and of the held-out pairs, that are translated for it"},
    {DG_OPT_INT_IN(struct train, report.test_beam, 1, DG_BEAM_MAX), "test-beam", .def = "4",
     .flags = LATER, .help = "width of the second search; the first is greedy"},
    {DG_OPT_STRING(struct train, report.note), "note", .unit = "TEXT", .flags = DG_OPT_COMMAND_LINE,
     .help = "for the card: what the model is for; @FILE has the text"},
    {DG_OPT_STRING(struct train, report.attribution), "attribution", .unit = "TEXT",
     .flags = DG_OPT_COMMAND_LINE,
     .help = "for the card: where the data come from, their licences, whom to thank; @FILE has the "
             "text"},
    DG_OPT_HELP(struct train, help),
};

enum { REPEAT_MAX = 100 };

/* Reads one number per file; with `repeat` NULL it only checks them. */
static enum dg_err read_repeat(const struct dg_opt_list *list, uint32_t *repeat,
                               struct dg_error *error)
{
    for (size_t i = 0; i < list->n; i++) {
        char *end;
        const unsigned long n = strtoul(list->items[i], &end, 10);
        if (*end || end == list->items[i] || n < 1 || n > REPEAT_MAX)
            return dg_error_set(error, DG_ERR_USAGE,
                                "--repeat has \"%s\", expected numbers from 1 to %d",
                                list->items[i], (int)REPEAT_MAX);
        if (repeat)
            repeat[i] = (uint32_t)n;
    }
    return DG_OK;
}

static enum dg_err read_freeze(const struct dg_opt_list *list, unsigned *freeze,
                               struct dg_error *error)
{
    static const char *const words[] = {"embeddings", "encoder", "decoder", "cross", "norms"};
    *freeze = 0;
    for (size_t i = 0; i < list->n; i++) {
        size_t j = 0;
        while (j < sizeof words / sizeof *words && strcmp(words[j], list->items[i]) != 0)
            j++;
        if (j == sizeof words / sizeof *words)
            return dg_error_set(
                error, DG_ERR_USAGE,
                "--freeze has \"%s\", expected embeddings, encoder, decoder, cross or norms",
                list->items[i]);
        *freeze |= 1u << j;
    }
    return DG_OK;
}

/* DG_SCRIPT_ANY for "". */
static enum dg_err read_script(const char *option, const char *name, int *script,
                               struct dg_error *error)
{
    *script = *name ? dg_script_find(name) : DG_SCRIPT_ANY;
    return *name && *script == DG_SCRIPT_ANY
               ? dg_error_set(error, DG_ERR_USAGE,
                              "--%s is \"%s\", expected a script's name as Latn or Cyrillic",
                              option, name)
               : DG_OK;
}

/* Conditions that follow from several options together: the bits of `when` and `unless` below. */
enum {
    RESUMED = 1, /* a run is resumed, whose options are in its recipe */
    BEGINS_WITH_MODEL = 2,
    TRANSLATES = 4,
    CLASSIFIES = 8,
    MASKS = 16,
    NEXT_WORDS = 32,
    READS = 64, /* a task for an encoder-only model and for no other network */
    IS_TRANSFORMER = 128,
    IS_RECURRENT = 256,
    IS_ENCODER = 512,     /* given as --family encoder */
    ENCODER_ALONE = 1024, /* as IS_ENCODER, or implied by the task */
    HAS_HEADS = 2048,
    PAIRS_TRANSFORMER = 4096, /* a Transformer that translates */
    FALLS = 8192,             /* the learning rate falls until --steps */
};

static unsigned facts_of(const struct train *flags)
{
    const int task = flags->data.task, family = flags->network.family;
    const int schedule = flags->learning.schedule;
    const bool is_encoder = family == ENCODER || is_reading(task);
    const struct {
        bool is_so;
        unsigned bit;
    } facts[] = {
        {*flags->resume, RESUMED},
        {*flags->data.init, BEGINS_WITH_MODEL},
        {task == TRANSLATE, TRANSLATES},
        {task == CLASSIFY, CLASSIFIES},
        {task == MASKED, MASKS},
        {task == NEXT_WORD, NEXT_WORDS},
        {is_reading(task), READS},
        {family == TRANSFORMER, IS_TRANSFORMER},
        {family == RECURRENT, IS_RECURRENT},
        {family == ENCODER, IS_ENCODER},
        {is_encoder, ENCODER_ALONE},
        {is_encoder || (family == TRANSFORMER && (task == TRANSLATE || task == NEXT_WORD)),
         HAS_HEADS},
        {family == TRANSFORMER && task == TRANSLATE, PAIRS_TRANSFORMER},
        {schedule == DG_SCHEDULE_COSINE || schedule == DG_SCHEDULE_LINEAR, FALLS},
    };
    unsigned bits = 0;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        bits |= facts[i].is_so ? facts[i].bit : 0;
    return bits;
}

/* Options that an encoder-only model would ignore. */
static const struct dg_opt_rule encoder_rules[] = {
    {.given = "swap,mix,source,guided-attention,optimiser",
     .when = ENCODER_ALONE,
     .text = "--swap, --mix, --source, --guided-attention and --optimiser sgd are not for "
             "encoder-only models"},
    {.given = "source-script,target-script,vocab-kind,normaliser,words-max,target-begins",
     .when = ENCODER_ALONE,
     .text = "--source-script, --target-script, --vocab-kind, --normaliser, --words-max and "
             "--target-begins are not for encoder-only models"},
};

static const struct dg_opt_rule family_rules[] = {
    {.when = IS_RECURRENT | READS,
     .text = "--task {task} is for encoder-only models, expected no --family rnn"},
    {.when = IS_ENCODER | TRANSLATES,
     .text = "--family encoder translates nothing: expected --task classify, masked, tag, answer "
             "or score"},
};

static const struct dg_opt_rule rules[] = {
    {.given = "labels",
     .unless = CLASSIFIES | RESUMED,
     .text = "--labels any is for --task classify"},
    {.given = "labels",
     .unless = ENCODER_ALONE | BEGINS_WITH_MODEL | RESUMED,
     .text = "--labels any is for encoder-only models: expected --family encoder too"},
    {.given = "mask-share", .unless = MASKS | RESUMED, .text = "--mask-share is for --task masked"},
    {.given = "lowercase",
     .unless = ENCODER_ALONE | BEGINS_WITH_MODEL | RESUMED,
     .text = "--lowercase is for encoder-only models"},
    {.when = HAS_HEADS,
     .left = "width",
     .relation = DG_OPT_MULTIPLE_OF,
     .right = "heads",
     .text = "--width is {width}, expected a multiple of --heads, {heads}"},
    {.when = FALLS,
     .left = "steps",
     .relation = DG_OPT_MORE_THAN,
     .right = "warmup",
     .text = "--schedule {schedule} ends at --steps, expected more steps than --warmup"},
    {.given = "cooldown",
     .when = FALLS,
     .text = "--schedule {schedule} lets the rate fall by itself, expected no --cooldown"},
    {.left = "cooldown",
     .relation = DG_OPT_AT_MOST,
     .right = "steps",
     .text = "--cooldown is {cooldown}, expected at most --steps, {steps}"},
    {.given = "guided-attention",
     .unless = BEGINS_WITH_MODEL,
     .left = "guided-head",
     .relation = DG_OPT_AT_MOST,
     .right = "heads",
     .text = "--guided-head is {guided-head}, expected one of the {heads} --heads"},
    {.given = "source", .needs = "target", .text = "expected --source and --target together"},
    {.given = "target", .needs = "source", .text = "expected --source and --target together"},
    {.given = "template,from,to,packed,shape,kv-heads",
     .unless = NEXT_WORDS | RESUMED,
     .text = "--template, --from, --to, --packed, --shape and --kv-heads are for --task next-word"},
    {.when = NEXT_WORDS,
     .unless = IS_TRANSFORMER | RESUMED,
     .text = "--task next-word is for --family transformer"},
    {.given = "decoder,relative,guided-attention",
     .when = NEXT_WORDS,
     .unless = RESUMED,
     .text = "--decoder, --relative and --guided-attention are not for --task next-word"},
    {.given = "kv-heads",
     .when = NEXT_WORDS,
     .unless = RESUMED,
     .left = "heads",
     .relation = DG_OPT_MULTIPLE_OF,
     .right = "kv-heads",
     .text = "--kv-heads is {kv-heads}, expected a divisor of --heads, {heads}"},
    {.given = "from,to,source",
     .needs = "template",
     .when = NEXT_WORDS,
     .unless = RESUMED,
     .text = "--from, --to and --source are for pairs, expected --template too"},
    {.given = "template",
     .excludes = "packed",
     .when = NEXT_WORDS,
     .unless = RESUMED,
     .text = "--packed is for lines of text, expected no --template"},
    {.given = "loss,teacher-forcing",
     .unless = IS_RECURRENT,
     .text = "--loss sentence and --teacher-forcing below 1 are for --family rnn"},
    {.given = "decoder,relative",
     .unless = PAIRS_TRANSFORMER,
     .text = "--decoder and --relative are for --family transformer"},
    {.given = "guided-attention",
     .unless = PAIRS_TRANSFORMER,
     .text = "--guided-attention is for --family transformer"},
    {.given = "rivals",
     .unless = PAIRS_TRANSFORMER,
     .text = "--rivals is for --family transformer that translates"},
};

static const struct dg_opt_table table;

#define CHECK_RULES(values, rules, facts, error)                                                   \
    dg_opt_check_rules(&table, values, rules, DG_OPT_COUNT(rules), facts, error)

static enum dg_err check(const void *values, const char *name, struct dg_error *error)
{
    const struct train *flags = values;
    const unsigned facts = facts_of(flags);
    const int64_t head = flags->network.width / flags->network.heads;
    unsigned freeze;
    int script;
    (void)name;
    enum dg_err err = CHECK_RULES(values, family_rules, facts, error);
    if (!err)
        err = CHECK_RULES(values, encoder_rules, facts, error);
    if (!err)
        err = CHECK_RULES(values, rules, facts, error);
    if (!err && facts & NEXT_WORDS && !(facts & RESUMED) &&
        flags->network.shape == DG_SETUP_LLAMA && head % 2)
        err = dg_error_set(
            error, DG_ERR_USAGE,
            "--width / --heads is %" PRId64 ", expected an even number for rotary positions", head);
    if (!err)
        err = read_freeze(&flags->learning.freeze, &freeze, error);
    if (!err)
        err = read_script("source-script", flags->data.source_script, &script, error);
    if (!err)
        err = read_script("target-script", flags->data.target_script, &script, error);
    return err ? err : read_repeat(&flags->data.repeat, NULL, error);
}

static const struct dg_opt_table table = {
    .program = "dragoman train",
    .summary = "Trains a network on lines source<TAB>target, or on what --task says, and makes a "
               "model directory of it.",
    DG_OPT_ROWS(rows, struct train),
    .args = "PAIRS...",
    .args_min = 0,
    .args_max = FILES_MAX,
    .check = check,
};

/* ---- Options to structs ---------------------------------------------------------------------- */

static struct dg_blueprint recurrent(const struct train *flags)
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

static enum dg_activation activation_of(const struct train *flags)
{
    static const enum dg_activation known[] = {DG_ACT_RELU, DG_ACT_RELU, DG_ACT_SILU,
                                               DG_ACT_GELU_TANH};
    if (flags->is_encoder && (flags->network.activation == 0 || flags->network.activation == 3))
        return DG_ACT_GELU_ERF; /* BERT's activation */
    return known[flags->network.activation];
}

static struct dg_blueprint encoder_alone(const struct train *flags)
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

static struct dg_blueprint language_model(const struct train *flags)
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

static struct dg_setup_opts setup_opts(const struct train *flags)
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
    (void)!read_script("", flags->data.source_script, &opts.pairs.source_script, NULL);
    (void)!read_script("", flags->data.target_script, &opts.pairs.target_script, NULL);
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

static struct dg_trainer_opts trainer_opts(const struct train *flags, const char *dir)
{
    unsigned freeze;
    (void)!read_freeze(&flags->learning.freeze, &freeze, NULL); /* this was checked before */
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

/* Whether an encoder-only model is trained: the task says so, or the family, or the model to begin
 * with. */
static enum dg_err find_encoder(struct train *flags, struct dg_error *error)
{
    struct dg_blueprint bp;
    flags->is_encoder = is_reading(flags->data.task) || flags->network.family == ENCODER;
    if (flags->is_encoder || !*flags->data.init)
        return DG_OK;
    const enum dg_err err = dg_config_read(&bp, flags->data.init, error);
    if (err || !dg_blueprint_family(&bp)->has_head)
        return err;
    flags->is_encoder = flags->data.task == CLASSIFY;
    return flags->is_encoder ? CHECK_RULES(flags, encoder_rules, ENCODER_ALONE, error)
                             : dg_error_set(error, DG_ERR_USAGE,
                                            "%s is an encoder-only model: expected --task "
                                            "classify, masked, tag, answer or score",
                                            flags->data.init);
}

/* ---- The recipe ------------------------------------------------------------------------------ */

static enum dg_err save_recipe(const struct dg_opt_set *set, const char *dir,
                               struct dg_error *error)
{
    char path[DG_PATH_CAP];
    struct dg_buf text;
    dg_buf_init(&text, RECIPE_MAX);
    enum dg_err err = dg_folder_path(dir, "training/recipe.conf", path, error);
    if (!err)
        err = dg_opt_dump(set, &text);
    if (!err)
        err = dg_file_out_save(path, 0644, text.ptr, text.len, error);
    dg_buf_deinit(&text);
    return err;
}

struct difference {
    enum dg_err err;
    struct dg_error *error;
    struct dg_buf *history; /* changed options, for the card */
};

static void on_change(void *ctx, const struct dg_opt_change *change)
{
    struct difference *difference = ctx;
    if (!change->row || change->row->flags & DG_OPT_COMMAND_LINE || difference->err)
        return;
    if (change->allowed) {
        difference->err = dg_buf_printf(difference->history, " --%s %s (was %s)", change->row->name,
                                        change->now, change->was);
        return;
    }
    difference->err = dg_error_set(
        difference->error, DG_ERR_USAGE,
        "--%s is %s in this run and cannot become %s; start another in a new directory",
        change->row->name, change->was, change->now);
}

/* Loads the options of the run in `dir`; those of the command line replace them. */
static enum dg_err load_recipe(struct dg_opt_set **set, struct dg_buf *history, const char *dir,
                               int argc, char **argv, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    struct dg_opt_set *was = NULL, *now = NULL;
    enum dg_err err = dg_folder_path(dir, "training/recipe.conf", path, error);
    if (!err && access(path, F_OK) != 0)
        err = dg_error_set(
            error, DG_ERR_NOT_FOUND,
            "%s is missing: the run's preparation never finished; start it again with --out", path);
    if (!err)
        err = dg_opt_set_new(&table, &was);
    if (!err)
        err = dg_opt_read_file(was, path, error);
    if (!err)
        err = dg_opt_set_new(&table, &now);
    if (!err)
        err = dg_opt_read_file(now, path, error);
    if (!err)
        err = dg_opt_read_args(now, argc, argv, error);
    if (!err)
        err = dg_opt_check(now, error);
    struct difference difference = {.error = error, .history = history};
    if (!err)
        err = dg_opt_compare(was, now, on_change, &difference);
    if (!err)
        err = difference.err;
    dg_opt_set_free(was);
    if (err)
        dg_opt_set_free(now);
    else
        *set = now;
    return err;
}

/* ---- Signals --------------------------------------------------------------------------------- */

static volatile sig_atomic_t n_signals;

static void on_signal(int number)
{
    n_signals = 1;
    signal(number, SIG_DFL); /* a second signal ends the process at once */
}

/* ---- Output for the user --------------------------------------------------------------------- */

struct show {
    const struct train *flags;
    const char *dir;
    bool is_terminal, is_dirty;
    double shown;         /* the time of the run, in seconds, when progress was last shown */
    double first_seconds; /* the time of the run, in seconds, at which this process took it up */
    uint64_t n;           /* pairs in an epoch */
};

static void wipe(struct show *show)
{
    if (show->is_dirty)
        fputs("\r\x1b[K", stderr);
    show->is_dirty = false;
}

static void say_line(void *ctx, const char *line)
{
    (void)ctx;
    fprintf(stderr, "%s\n", line);
}

/* Returns how much of the run is done: the greatest share of its steps, epochs or time. Negative:
 * the run has no limit. */
static double share_done(const struct show *show, const struct dg_trainer_now *now)
{
    const struct train *flags = show->flags;
    double share = -1.0;
    if (flags->ending.steps)
        share = fmax(share, (double)now->step / (double)flags->ending.steps);
    if (flags->ending.epochs && now->n)
        share = fmax(share, ((double)now->epoch - 1.0 + (double)now->position / (double)now->n) /
                                (double)flags->ending.epochs);
    if (flags->ending.time_ms)
        share = fmax(share, now->seconds * 1000.0 / (double)flags->ending.time_ms);
    return share < 1.0 ? share : 1.0;
}

static const char *left_text(const struct show *show, const struct dg_trainer_now *now, char *room,
                             size_t cap)
{
    char time[48];
    const double share = share_done(show, now);
    room[0] = '\0';
    if (share > 0.0 && now->seconds > 0.0)
        snprintf(room, cap, ", at most %s left",
                 dg_progress_duration(now->seconds * (1.0 - share) / share, time, sizeof time));
    return room;
}

/* epoch 3 [#####.....] 52 %, step 1200, loss 2.345, 4100 tokens/s, at most 1 h 2 min left */
static void on_step(void *ctx, const struct dg_trainer_now *now)
{
    struct show *show = ctx;
    char left[80], bar[21];
    if (!show->is_terminal || now->seconds - show->shown < 0.25)
        return;
    show->shown = now->seconds;
    const double share = now->n ? (double)now->position / (double)now->n : 0.0;
    const size_t filled = (size_t)(share * 20.0);
    memset(bar, '.', 20);
    memset(bar, '#', filled);
    bar[20] = '\0';
    fprintf(stderr,
            "\repoch %" PRIu64 " [%s] %.0f %%, step %" PRIu64 ", loss %.3f, %.0f tokens/s%s\x1b[K",
            now->epoch, bar, 100.0 * share, now->step, now->loss, now->tokens_per_second,
            left_text(show, now, left, sizeof left));
    show->is_dirty = true;
}

static void on_line(void *ctx, const struct dg_trainer_now *now)
{
    struct show *show = ctx;
    char left[80];
    if (show->is_terminal)
        return;
    fprintf(stderr,
            "step %" PRIu64 ", epoch %" PRIu64
            ", loss %.4f, rate %.3g, norm %.2f, %.0f tokens/s%s\n",
            now->step, now->epoch, now->loss, now->rate, now->norm, now->tokens_per_second,
            left_text(show, now, left, sizeof left));
}

static void on_valid(void *ctx, const struct dg_trainer_now *now,
                     const struct dg_validate_report *report, bool is_best)
{
    struct show *show = ctx;
    struct dg_error error = DG_ERROR_NONE;
    char time[48];
    wipe(show);
    /* A curve that cannot be drawn must not end the run. */
    const enum dg_err err = dg_curve_write(show->dir, &error);
    if (err)
        fprintf(stderr, "the curve could not be drawn: %s\n", dg_error_text(&error, err));
    fprintf(stderr, "step %" PRIu64 " after %s: held-out loss %.4f", now->step,
            dg_progress_duration(now->seconds, time, sizeof time), report->loss);
    if (!isfinite(report->correlation)) /* for numbers, the figure is a squared error */
        fprintf(stderr, " (perplexity %.2f)", exp(report->loss));
    if (report->accuracy >= 0.0)
        fprintf(stderr, ", %.2f %% of the %s right", report->accuracy,
                show->flags->data.task == MASKED ? "masked words"
                : report->macro_f1 >= 0.0        ? "texts with all labels"
                                                 : "labels");
    if (report->exact >= 0.0)
        fprintf(stderr, ", %.2f %% of the answers right", report->exact);
    if (report->f1 >= 0.0)
        fprintf(stderr, ", F1 %.2f", report->f1);
    if (report->macro_f1 >= 0.0)
        fprintf(stderr, " (of each label by itself, the mean, %.2f)", report->macro_f1);
    if (isfinite(report->correlation))
        fprintf(stderr, ", correlation %.4f", report->correlation);
    if (report->bleu >= 0.0)
        fprintf(stderr, ", BLEU %.2f, chrF %.2f, %zu without end", report->bleu, report->chrf,
                report->n_loops);
    if (report->agreement >= 0.0)
        fprintf(stderr, ", attention on %.1f %% of the linked words", 100.0 * report->agreement);
    fprintf(stderr, is_best ? ": the best so far\n" : "; the best was at step %" PRIu64 "\n",
            now->best_step);
    const int64_t parts = show->flags->learning.part_tokens,
                  longest = show->flags->learning.len_max;
    if (report->n_left_out)
        fprintf(stderr,
                "    without %zu of the held-out examples, which are longer than %" PRId64
                " tokens (--part-tokens)\n",
                report->n_left_out, parts > longest ? parts : longest);
    for (size_t i = 0; i < report->n_samples; i++)
        fprintf(stderr, "    %s\n      -> %s\n       = %s\n", report->samples[i][0],
                report->samples[i][1], report->samples[i][2]);
}

static bool should_stop(void *ctx)
{
    (void)ctx;
    return n_signals > 0;
}

static const struct dg_trainer_events events = {
    .should_stop = should_stop, .on_step = on_step, .on_line = on_line, .on_valid = on_valid};

/* ---- The run --------------------------------------------------------------------------------- */

/* Allows one trainer at a time in a directory; the lock ends with the process. */
static enum dg_err lock(const char *dir, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    enum dg_err err = dg_folder_path(dir, "training/lock", path, error);
    if (err)
        return err;
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return dg_error_errno(error, "cannot open %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return dg_error_set(error, DG_ERR_BUSY, "%s: another dragoman train is at work there", dir);
    }
    return DG_OK;
}

static bool has_checkpoint(const char *dir)
{
    char path[DG_PATH_CAP];
    return dg_folder_path(dir, "training/checkpoint.safetensors", path, NULL) == DG_OK &&
           access(path, F_OK) == 0;
}

/* Adds a line such as "step 1200: --time 4h (was 2h)". */
static enum dg_err put_history(const char *dir, uint64_t step, struct dg_span text,
                               struct dg_error *error)
{
    char path[DG_PATH_CAP];
    enum dg_err err = dg_folder_path(dir, "training/history.txt", path, error);
    if (err || text.len == 0)
        return err;
    FILE *out = fopen(path, "ae");
    const bool ok =
        out && fprintf(out, "after step %" PRIu64 ":%.*s\n", step, DG_SPAN_FMT(text)) > 0;
    const int code = errno;
    if ((out && fclose(out) != 0) || !ok)
        err = dg_error_set(error, dg_err_from_errno(code ? code : EIO), "cannot write %s: %s", path,
                           strerror(code));
    return err;
}

/* Makes the steps and, unless somebody stopped the run, does what belongs to its end. */
static enum dg_err run_trainer(const struct train *flags, const char *dir,
                               const struct dg_setup *setup, struct dg_trainer *trainer,
                               size_t threads, struct dg_error *error)
{
    enum dg_trainer_end end = DG_TRAINER_STOPPED;
    const struct training_report ending = {
        .dir = dir,
        .setup = setup,
        .trainer = trainer,
        .tests = &flags->report.test,
        .swap = flags->data.swap,
        .n_translate = (size_t)flags->report.test_pairs,
        .beam = (int)flags->report.test_beam,
        .threads = threads,
    };
    struct show show = {.flags = flags, .dir = dir, .is_terminal = isatty(STDERR_FILENO) == 1};
    const struct dg_trainer_now *now = dg_trainer_now(trainer);
    char time[48];
    enum dg_err err = training_report_keep_tests(&ending, error);
    if (!err && *flags->data.init && now->step == 0)
        err = training_report_score(&ending, true, error);
    if (!err)
        err = dg_trainer_run(trainer, &events, &show, &end, error);
    wipe(&show);
    if (err)
        return err;
    fprintf(stderr, "%s after step %" PRIu64 " and %s", dg_trainer_end_text(end), now->step,
            dg_progress_duration(now->seconds, time, sizeof time));
    if (end == DG_TRAINER_STOPPED) {
        fprintf(stderr, "; to go on: dragoman train --resume %s\n", dir);
        return DG_OK;
    }
    fprintf(stderr, "; the model is %s (of step %" PRIu64 ")\n", dir,
            now->best_step ? now->best_step : now->step);
    return training_report_finish(&ending, dg_trainer_end_text(end), error);
}

static enum dg_err train_model(const struct train *flags, const char *dir, bool is_resumed,
                               struct dg_span history, struct dg_error *error)
{
    struct dg_setup setup;
    struct dg_model *init = NULL;
    struct dg_trainer *trainer = NULL;
    enum dg_err err = training_report_keep(dir, "note.md", flags->report.note, error);
    if (!err)
        err = training_report_keep(dir, "attribution.md", flags->report.attribution, error);
    if (!err)
        err = dg_setup_open(&setup, dir, error);
    if (err)
        return err;
    struct dg_trainer_opts opts = trainer_opts(flags, dir);
    opts.mask = (struct dg_pass_mask){(float)flags->learning.mask_share, setup.mask_id};
    setup.len_max = opts.len_max;
    if (setup.n_dev_cut)
        fprintf(stderr,
                "%zu of the held-out examples are longer than the %zu tokens that the network "
                "reads: what lies beyond is not judged\n",
                setup.n_dev_cut, setup.bp.source_len_max);
    const struct dg_trainer_data data = {
        &setup.train,    &setup.dev,   setup.dev_texts,
        setup.tokenizer, setup.labels, setup.candidates.n ? &setup.candidates : NULL};
    /* from then on the checkpoint contains all of it */
    if (*flags->data.init && !has_checkpoint(dir))
        err = dg_model_open(&init, flags->data.init, error);
    if (!err)
        err = dg_trainer_new(&trainer, &opts, &setup.bp, &data,
                             init ? dg_model_weights(init) : NULL, error);
    if (!err && is_resumed)
        err = dg_trainer_resume(trainer, error);
    if (err == DG_ERR_NOT_FOUND && is_resumed)
        err = DG_OK; /* the run was prepared, but stopped before the first checkpoint: it begins
                        anew */
    if (!err)
        err = put_history(dir, dg_trainer_now(trainer)->step, history, error);
    if (!err) {
        fprintf(stderr,
                "%zu parameters, %zu threads, products of %s, %.0f MB of memory; %s step %" PRIu64
                "\n",
                dg_trainer_params(trainer)->n, opts.threads, dg_products_find(opts.products)->name,
                (double)dg_trainer_bytes(trainer) / 1e6,
                dg_trainer_now(trainer)->step ? "going on after" : "beginning at",
                dg_trainer_now(trainer)->step);
        err = run_trainer(flags, dir, &setup, trainer, opts.threads, error);
    }
    dg_trainer_free(trainer);
    dg_model_unref(init);
    dg_setup_close(&setup);
    return err;
}

static enum dg_err begin(const struct dg_opt_set *set, struct dg_error *error)
{
    struct train with = *(const struct train *)dg_opt_values(set);
    const struct train *flags = &with;
    const char *files[FILES_MAX];
    struct dg_setup_opts opts;
    uint32_t repeat[FILES_MAX];
    char recipe[DG_PATH_CAP], folder[DG_PATH_CAP];
    enum dg_err err = find_encoder(&with, error);
    opts = setup_opts(flags);
    if (!err)
        err = dg_folder_path(flags->out, "training/recipe.conf", recipe, error);
    if (!err)
        err = dg_folder_path(flags->out, "training", folder, error);
    if (!err && access(recipe, F_OK) == 0)
        return dg_error_set(error, DG_ERR_EXISTS,
                            "%s already holds a run; to continue it: dragoman train --resume %s",
                            flags->out, flags->out);
    for (size_t i = 0; i < dg_opt_n_args(set); i++)
        files[i] = dg_opt_arg(set, i);
    if (!err && flags->data.repeat.n && flags->data.repeat.n != dg_opt_n_args(set))
        return dg_error_set(error, DG_ERR_USAGE,
                            "--repeat has %zu numbers for %zu files, expected one each",
                            flags->data.repeat.n, dg_opt_n_args(set));
    if (!err)
        err = read_repeat(&flags->data.repeat, repeat, error);
    if (flags->data.repeat.n)
        opts.repeat = repeat;
    if (!err && ((mkdir(flags->out, 0777) != 0 && errno != EEXIST) ||
                 (mkdir(folder, 0777) != 0 && errno != EEXIST)))
        err = dg_error_errno(error, "cannot make %s", folder);
    if (!err)
        err = lock(flags->out, error);
    if (!err)
        err = dg_setup_make(flags->out, files, dg_opt_n_args(set), &opts, say_line, NULL, error);
    if (!err)
        err = save_recipe(set, flags->out, error);
    return err ? err : train_model(flags, flags->out, false, DG_SPAN(""), error);
}

/* When a run is resumed, the options are read a second time, over those of its recipe. */
static struct {
    int argc;
    char **argv;
} command_line;

static enum dg_err go_on(const char *dir, struct dg_error *error)
{
    struct dg_opt_set *set = NULL;
    struct dg_buf history;
    dg_buf_init(&history, RECIPE_MAX);
    enum dg_err err = load_recipe(&set, &history, dir, command_line.argc, command_line.argv, error);
    if (!err)
        err = lock(dir, error);
    if (!err)
        err = save_recipe(set, dir, error);
    if (!err)
        err = train_model(dg_opt_values(set), dir, true, dg_buf_span(&history), error);
    dg_opt_set_free(set);
    dg_buf_deinit(&history);
    return err;
}

static enum dg_err check_usage(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct train *flags = dg_opt_values(set);
    if (*flags->resume && (*flags->out || dg_opt_n_args(set)))
        return dg_error_set(error, DG_ERR_USAGE,
                            "--resume continues with its own pairs and directory; expected neither "
                            "--out nor PAIRS");
    if (!*flags->resume && (!*flags->out || (!dg_opt_n_args(set) && !*flags->data.source)))
        return dg_error_set(error, DG_ERR_USAGE,
                            "expected --out DIR and files of pairs, or --resume DIR");
    return DG_OK;
}

static enum dg_err run_train(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct train *flags = dg_opt_values(set);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    enum dg_err err = check_usage(set, error);
    if (err)
        return err;
    return *flags->resume ? go_on(flags->resume, error) : begin(set, error);
}

int dg_cmd_train(int argc, char **argv)
{
    command_line.argc = argc;
    command_line.argv = argv;
    return dg_command(&table, argc, argv, run_train);
}
