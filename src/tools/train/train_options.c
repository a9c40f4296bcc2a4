/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The options and what is checked of them, one by one and together. */
#include "tools/train/train_options.h"
#include "decode/search_opts.h"
#include "model/config.h"
#include "train/run/snapshots.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const task_words[] = {"translate", "classify", "masked",    "tag",
                                         "answer",    "score",    "next-word", NULL};
static const char *const vocab_words[] = {"bpe", "word", "unigram", NULL};
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
    {DG_OPT_PATH(struct train_options, out), "out", .letter = 'o', .flags = DG_OPT_COMMAND_LINE,
     .unit = "DIR", .heading = "Where", .help = "the model directory to make"},
    {DG_OPT_PATH(struct train_options, resume), "resume", .flags = DG_OPT_COMMAND_LINE,
     .unit = "DIR",
     .help =
         "continue the run in this directory; only some of the other options may be given again"},

    {DG_OPT_ENUM(struct train_options, data.task), "task", .words = task_words, .def = "translate",
     .heading = "Data",
     .help = "what is learned. translate: lines source<TAB>target. classify, labels of texts: "
             "label<TAB>text, with --family encoder also label<TAB>text<TAB>text. For encoder-only "
             "models: masked, masked words (lines of text); tag, labels of words (word<TAB>label, "
             "an empty line after each sentence); answer (question<TAB>context<TAB>answer); score, "
             "a number (text<TAB>number or text<TAB>text<TAB>number). next-word, for language "
             "models: to continue a text (lines of text, or pairs with --template). Files *.jsonl "
             "hold the same as JSON"},
    {DG_OPT_ENUM(struct train_options, data.labels), "labels", .words = labels_words, .def = "one",
     .help = "classify, with --family encoder: each text has one label, or any number of them, "
             "judged one by one (lines label|label<TAB>text, nothing before the tab if there is "
             "none; JSON: labels, a list)"},
    {DG_OPT_STRING(struct train_options, data.form), "template", .def = "", .max = DG_LM_FORM_TEXT,
     .unit = "TEXT",
     .help = "next-word: lines are pairs, and the model learns to continue this prompt, which "
             "contains the source, with the target; it keeps the prompt (the option template of a "
             "configured model)"},
    {DG_OPT_STRING(struct train_options, data.from), "from", .def = "", .max = DG_LM_LANGS_TEXT,
     .unit = "LANG", .help = "the language of the sources, for --template"},
    {DG_OPT_STRING(struct train_options, data.to), "to", .def = "", .max = DG_LM_LANGS_TEXT,
     .unit = "LANG", .help = "the language of the targets, for --template"},
    {DG_OPT_BOOL(struct train_options, data.packed), "packed", .def = "no",
     .help = "next-word: join the lines and cut them every --len-max tokens, instead of learning "
             "one at a time"},
    {DG_OPT_PATH(struct train_options, data.source), "source", .unit = "FILE",
     .help = "lines in the source language, besides or instead of PAIRS; needs --target"},
    {DG_OPT_PATH(struct train_options, data.target), "target", .unit = "FILE",
     .help = "their translations, line for line"},
    {DG_OPT_PATH(struct train_options, data.dev), "dev", .unit = "FILE",
     .help = "held-out pairs (default: drawn from the others)"},
    {DG_OPT_STRINGS(struct train_options, data.repeat), "repeat", .unit = "N,N,...",
     .max = TRAIN_FILES_MAX,
     .help = "how often each file's pairs count in an epoch, in the order of the files (default: "
             "once)"},
    {DG_OPT_INT_IN(struct train_options, data.dev_pairs, 0, 100000), "dev-pairs", .def = "1000",
     .help = "how many pairs are drawn for --dev; 0: no validation"},
    {DG_OPT_BOOL(struct train_options, data.swap), "swap", .def = "no",
     .help = "lines are target<TAB>source"},
    {DG_OPT_INT_IN(struct train_options, data.len_chars, 0, 100000000), "len-chars", .def = "0",
     .help = "longest side of a pair in characters; longer ones are left out; 0: 500, without "
             "limit for encoders"},
    {DG_OPT_REAL_IN(struct train_options, data.len_ratio, 0, 1000), "len-ratio", .def = "2.5",
     .help = "how much longer one side may be, as (longer + 10) / (shorter + 10); 0: any"},
    {DG_OPT_STRING(struct train_options, data.source_script), "source-script", .unit = "SCRIPT",
     .help = "leave out pairs whose source has most of its letters in another script (Latn, Cyrl, "
             "Hang, Jpan, ...)"},
    {DG_OPT_STRING(struct train_options, data.target_script), "target-script", .unit = "SCRIPT",
     .help = "the same for the target"},
    {DG_OPT_PATH(struct train_options, data.vocab), "vocab", .unit = "FILE",
     .help = "a SentencePiece model for both sides, for an encoder a vocab.txt (default: learned "
             "from the pairs)"},
    {DG_OPT_INT_IN(struct train_options, data.vocab_size, 16, DG_SPM_TRAIN_SIZE_MAX), "vocab-size",
     .def = "8000", .help = "pieces of a learned vocabulary (of words: at most)"},
    {DG_OPT_ENUM(struct train_options, data.vocab_kind), "vocab-kind", .words = vocab_words,
     .def = "bpe",
     .help = "what a learned vocabulary is made of: parts of words, or whole ones as they stand "
             "between spaces"},
    {DG_OPT_ENUM(struct train_options, data.normaliser), "normaliser", .words = normaliser_words,
     .def = "nfkc",
     .help = "how text is normalised first: by Unicode's NFKC, or, for Latin text, as in the "
             "textbook, which leaves only a to z, spaces and . ! ?"},
    {DG_OPT_BOOL(struct train_options, data.lowers), "lowercase", .def = "no",
     .help = "an encoder's learned vocabulary has only small letters without accents"},
    {DG_OPT_INT_IN(struct train_options, data.words_max, 0, 100000), "words-max", .def = "0",
     .help =
         "leave out pairs with more words on a side, counted after --normaliser; 0: any number"},
    {DG_OPT_STRINGS(struct train_options, data.begins), "target-begins", .unit = "WORDS,...",
     .max = TRAIN_FILES_MAX,
     .help = "leave out pairs whose target, after --normaliser, begins with none of these"},
    {DG_OPT_REAL_IN(struct train_options, data.coverage, 0.51, 1), "coverage", .def = "0.9998",
     .help = "share of the characters that a learned vocabulary knows"},
    {DG_OPT_BOOL(struct train_options, data.byte_fallback), "byte-fallback", .def = "no",
     .help = "a learned vocabulary spells other characters in bytes"},
    {DG_OPT_PATH(struct train_options, data.init), "init", .unit = "DIR",
     .help = "start from this model's weights, network and vocabulary (fine-tuning)"},
    {DG_OPT_PATHS(struct train_options, data.mix), "mix", .unit = "FILE,...",
     .max = TRAIN_FILES_MAX, .help = "old pairs to mix in, so that the model does not forget them"},
    {DG_OPT_REAL_IN(struct train_options, data.mix_ratio, 0, 1000), "mix-ratio", .def = "1",
     .help = "how many of them for each new pair; drawn once"},
    {DG_OPT_PATHS(struct train_options, data.candidates), "rivals", .unit = "FILE,...",
     .max = TRAIN_FILES_MAX,
     .help = "lines source<TAB>answer<TAB>score, scores from 0 to 100, the answers to a source "
             "together (dragoman distill --pick all makes them): besides the pairs, the model "
             "learns to prefer the better answers (minimum risk)"},

    {DG_OPT_ENUM(struct train_options, network.family), "family", .words = family_words,
     .def = "transformer", .heading = "Network",
     .help = "a Transformer, a recurrent encoder-decoder, or an encoder-only Transformer (needed "
             "with --task classify only; masked, tag, answer and score imply it)"},
    {DG_OPT_ENUM(struct train_options, network.shape), "shape", .words = shape_words, .def = "gpt",
     .help = "shape of a language model: GPT-2's (learned positions, layer norms, GELU), or "
             "Llama's (rotary positions, RMS norms, gated SiLU)"},
    {DG_OPT_INT_IN(struct train_options, network.kv_heads, 0, 128), "kv-heads", .def = "0",
     .help = "heads of keys and values of a language model, each shared by as many queries; 0: one "
             "for each of --heads"},
    {DG_OPT_INT_IN(struct train_options, network.width, 8, 4096), "width", .def = "256",
     .help = "width of the model"},
    {DG_OPT_INT_IN(struct train_options, network.heads, 1, 128), "heads", .def = "8",
     .help = "attention heads"},
    {DG_OPT_INT_IN(struct train_options, network.encoder_layers, 0, 64), "encoder-layers",
     .def = "0", .help = "layers of the encoder; 0: 4, or 1 if it is recurrent"},
    {DG_OPT_INT_IN(struct train_options, network.decoder_layers, 0, 64), "decoder-layers",
     .def = "0",
     .help = "layers of the decoder; 0: 2, or 1 if it is recurrent, or 4 in a language model"},
    {DG_OPT_ENUM(struct train_options, network.decoder), "decoder", .words = decoder_words,
     .def = "attention",
     .help = "how a Transformer's decoder remembers its own words: by self-attention, or by a cell "
             "that makes each step cheaper: SSRU or average attention"},
    {DG_OPT_INT_IN(struct train_options, network.aan_depth, 1, DG_AAN_DEPTH_MAX), "aan-depth",
     .def = "2", .help = "feed-forward layers after the average, all but the last of width --ffn"},
    {DG_OPT_BOOL(struct train_options, network.aan_gate), "aan-gate", .def = "yes",
     .help = "gates choose between the average and the input of average attention"},
    {DG_OPT_INT_IN(struct train_options, network.reach, 0, 1024), "relative", .def = "0",
     .help = "self-attention learns a vector for each distance up to this one, instead of "
             "positions; 0: it does not"},
    {DG_OPT_ENUM(struct train_options, network.cell), "cell", .words = cell_words, .def = "gru",
     .help = "what a recurrent network is made of; rnn is the plain one, a single tanh"},
    {DG_OPT_BOOL(struct train_options, network.bidirectional), "bidirectional", .def = "no",
     .help = "a recurrent encoder reads from both ends"},
    {DG_OPT_ENUM(struct train_options, network.attention), "attention", .words = attention_words,
     .def = "additive",
     .help = "how a recurrent decoder looks at the source; none: the encoder's last state is all "
             "it gets"},
    {DG_OPT_INT_IN(struct train_options, network.places, 1, 1024), "places", .def = "10",
     .help = "source tokens that attention by location can address; longer sources are cut"},
    {DG_OPT_BOOL(struct train_options, network.share_vocab), "share-vocab", .def = "no",
     .help = "a recurrent network has one vocabulary and embedding for both sides, as a "
             "Transformer always has"},
    {DG_OPT_INT_IN(struct train_options, network.ffn, 8, 65536), "ffn", .def = "1024",
     .help = "width of the feed-forward layers"},
    {DG_OPT_ENUM(struct train_options, network.activation), "activation", .words = activation_words,
     .def = "auto",
     .help = "activation of the feed-forward layers; auto: relu, or gelu in an encoder-only model"},
    {DG_OPT_ENUM(struct train_options, network.norm), "norm", .words = norm_words, .def = "post",
     .help = "where the norms are: after each sub-layer (as in the paper) or before"},

    {DG_OPT_INT_IN(struct train_options, learning.batch_tokens, 1, 10000000), "batch-tokens",
     .def = "4096", .heading = "Training",
     .help = "tokens of a step; what does not fit at once is accumulated"},
    {DG_OPT_INT_IN(struct train_options, learning.part_tokens, 16, 1000000), "part-tokens",
     .def = "1024", .help = "tokens that a thread computes at once: memory, not mathematics"},
    {DG_OPT_INT_IN(struct train_options, learning.len_max, 2, 4096), "len-max", .def = "128",
     .help = "longest side of a pair in tokens; longer ones are left out. It is also how many "
             "tokens a language model reads at once"},
    {DG_OPT_ENUM(struct train_options, learning.optimiser), "optimiser", .words = optimiser_words,
     .def = "adam", .help = "Adam, or plain stochastic gradient descent"},
    {DG_OPT_ENUM(struct train_options, learning.loss), "loss", .words = loss_words, .def = "token",
     .help = "the mean over target tokens, or (recurrent networks) as in the textbook: the sum "
             "over a sentence up to its end or its first wrong token, divided by its length when "
             "it is reported"},
    {DG_OPT_REAL_IN(struct train_options, learning.teacher, 0, 1), "teacher-forcing", .def = "1",
     .help = "share of the sentences for which a recurrent decoder reads the target instead of its "
             "own output"},
    {DG_OPT_REAL_IN(struct train_options, learning.rate, 0, 10), "rate", .def = "0",
     .help = "highest learning rate; 0: the paper's, 1/sqrt(width * warmup)"},
    {DG_OPT_INT_IN(struct train_options, learning.warmup, 0, 10000000), "warmup", .def = "4000",
     .help = "steps in which the rate rises"},
    {DG_OPT_ENUM(struct train_options, learning.schedule), "schedule", .words = schedule_words,
     .def = "inverse-sqrt",
     .help = "how the rate falls afterwards; cosine and linear end at --steps"},
    {DG_OPT_REAL_IN(struct train_options, learning.rate_min, 0, 10), "rate-min", .def = "0",
     .help = "where cosine, linear and --cooldown end"},
    {DG_OPT_REAL_IN(struct train_options, learning.beta1, 0, 0.99999), "beta1", .def = "0.9",
     .help = "Adam's memory of gradients"},
    {DG_OPT_REAL_IN(struct train_options, learning.beta2, 0, 0.999999), "beta2", .def = "0.98",
     .help = "Adam's memory of their squares"},
    {DG_OPT_REAL_IN(struct train_options, learning.epsilon, 1e-12, 1), "epsilon", .def = "1e-9",
     .help = "Adam's least denominator"},
    {DG_OPT_REAL_IN(struct train_options, learning.weight_decay, 0, 1), "weight-decay", .def = "0",
     .help = "AdamW's weight decay, for matrices"},
    {DG_OPT_REAL_IN(struct train_options, learning.clip, 0, 1e9), "clip", .def = "1",
     .help = "largest norm of a step's gradient; 0: any"},
    {DG_OPT_REAL_IN(struct train_options, learning.average, 0, 0.999999), "average",
     .def = "0.9995",
     .help =
         "decay of the moving average of the weights, which the finished model has; 0: no average"},
    {DG_OPT_INT_IN(struct train_options, learning.average_last, 0, DG_SNAPSHOTS_MAX),
     "average-last", .def = "0",
     .help = "give the finished model the mean of the weights at this many last validations "
             "instead of the moving average; 0: do not"},
    {DG_OPT_REAL_IN(struct train_options, learning.smoothing, 0, 0.9), "smoothing", .def = "0.1",
     .help = "label smoothing"},
    {DG_OPT_REAL_IN(struct train_options, learning.dropout, 0, 0.9), "dropout", .def = "0.1",
     .help = "dropout of embeddings and sub-layers"},
    {DG_OPT_REAL_IN(struct train_options, learning.dropout_ffn, 0, 0.9), "dropout-ffn", .def = "0",
     .help = "dropout inside the feed-forward layers"},
    {DG_OPT_REAL_IN(struct train_options, learning.guide, 0, 100), "guided-attention", .def = "0",
     .help = "weight of the loss that teaches one attention head word alignments; 0: no alignments "
             "are made"},
    {DG_OPT_INT_IN(struct train_options, learning.guide_head, 1, 128), "guided-head", .def = "1",
     .help = "which head of the decoder's last layer learns them; the model names it as the one "
             "for alignments"},
    {DG_OPT_REAL_IN(struct train_options, learning.risk, 0, 1000), "risk", .def = "1",
     .help =
         "weight of the loss by --rivals: how bad the answers are that the network finds probable"},
    {DG_OPT_REAL_IN(struct train_options, learning.sharpness, 0.001, 1000), "risk-sharpness",
     .def = "1", .help = "1: the answers count by their probability; less: more evenly"},
    {DG_OPT_INT_IN(struct train_options, learning.rivals_tokens, 1, 10000000), "rivals-tokens",
     .def = "1024", .help = "tokens of such answers in a step, besides --batch-tokens"},
    {DG_OPT_REAL_IN(struct train_options, learning.mask_share, 0.01, 0.9), "mask-share",
     .def = "0.15",
     .help = "share of the words that --task masked asks for: of ten such words 8 are masked, 1 is "
             "replaced by another word, 1 is left"},
    {DG_OPT_STRINGS(struct train_options, learning.freeze), "freeze", .unit = "PART,...", .max = 5,
     .help = "do not train these: embeddings, encoder, decoder, cross (the decoder's attention "
             "over the source), norms"},
    {DG_OPT_INT_IN(struct train_options, learning.seed, 0, INT64_MAX), "seed", .def = "1",
     .help = "seed of all random numbers"},
    {DG_OPT_INT_IN(struct train_options, learning.threads, 0, DG_TEAM_MAX), "threads",
     .letter = 't', .def = "0", .flags = LATER,
     .help = "threads; 0: one for each core. The result depends on the number"},

    {DG_OPT_ENUM(struct train_options, learning.products), "products", .words = products_words,
     .def = "f32", .flags = LATER,
     .help = "type of the numbers in matrix products: F32, or rounded to BF16 and summed in F32, "
             "which is about three times as fast where the processor can do it (AVX512_BF16) and "
             "F32 elsewhere"},
    {DG_OPT_INT_IN(struct train_options, ending.steps, 0, INT64_MAX), "steps", .def = "0",
     .flags = LATER, .heading = "When it ends",
     .help = "end after this many steps; 0: no such end"},
    {DG_OPT_INT_IN(struct train_options, ending.cooldown, 0, INT64_MAX), "cooldown", .def = "0",
     .flags = LATER,
     .help = "how many of the last --steps the rate takes to fall to --rate-min in a straight "
             "line; may be chosen while the run is under way"},
    {DG_OPT_INT_IN(struct train_options, ending.epochs, 0, INT64_MAX), "epochs", .def = "0",
     .flags = LATER, .help = "end after this many passes over the pairs; 0: no such end"},
    {DG_OPT_DURATION_IN(struct train_options, ending.time_ms, 0, INT64_MAX), "time", .def = "0",
     .flags = LATER, .help = "end after this time, all parts of the run together; 0: no such end"},
    {DG_OPT_INT_IN(struct train_options, ending.patience, 0, 1000000), "patience", .def = "10",
     .flags = LATER,
     .help = "end after this many validations in a row without a new best; 0: no such end"},

    {DG_OPT_INT_IN(struct train_options, watching.valid_every, 1, INT64_MAX), "valid-every",
     .def = "1000", .flags = LATER, .heading = "Watching", .help = "steps between validations"},
    {DG_OPT_INT_IN(struct train_options, watching.valid_pairs, 0, 100000), "valid-pairs",
     .def = "200", .flags = LATER,
     .help =
         "held-out sentences that a validation translates; the loss is over all held-out pairs"},
    {DG_OPT_INT_IN(struct train_options, watching.beam, 1, DG_BEAM_MAX), "beam", .letter = 'b',
     .def = "1", .flags = LATER, .help = "width of that search"},
    {DG_OPT_ENUM(struct train_options, watching.metric), "metric", .words = metric_words,
     .def = "loss",
     .help = "what decides which model is the best; task: how well it gets the held-out labels, "
             "words, entities (F1), answers (exact) or numbers (correlation)"},
    {DG_OPT_DURATION_IN(struct train_options, watching.save_ms, 1, 86400000), "save-every",
     .def = "5min", .flags = LATER, .help = "time between checkpoints"},
    {DG_OPT_INT_IN(struct train_options, watching.log_every, 1, 1000000), "log-every", .def = "50",
     .flags = LATER, .help = "steps between lines of the log"},
    {DG_OPT_PATHS(struct train_options, report.test), "test", .unit = "FILE,...", .max = 16,
     .flags = LATER, .heading = "At the end",
     .help = "more pairs to score the model on; with --init also before the first step"},
    {DG_OPT_INT_IN(struct train_options, report.test_pairs, 0, 100000), "test-pairs", .def = "500",
     .flags = LATER,
     .help = "sentences of each set, and of the held-out pairs, that are translated for it"},
    {DG_OPT_INT_IN(struct train_options, report.test_beam, 1, DG_BEAM_MAX), "test-beam", .def = "4",
     .flags = LATER, .help = "width of the second search; the first is greedy"},
    {DG_OPT_STRING(struct train_options, report.note), "note", .unit = "TEXT",
     .flags = DG_OPT_COMMAND_LINE,
     .help = "for the card: what the model is for; @FILE has the text"},
    {DG_OPT_STRING(struct train_options, report.attribution), "attribution", .unit = "TEXT",
     .flags = DG_OPT_COMMAND_LINE,
     .help = "for the card: where the data come from, their licences, whom to thank; @FILE has the "
             "text"},
    DG_OPT_HELP(struct train_options, help),
};

enum { REPEAT_MAX = 100 };

enum dg_err train_options_repeat(const struct dg_opt_list *list, uint32_t *repeat,
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

enum dg_err train_options_freeze(const struct dg_opt_list *list, unsigned *freeze,
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

enum dg_err train_options_script(const char *option, const char *name, int *script,
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

static unsigned facts_of(const struct train_options *flags)
{
    const int task = flags->data.task, family = flags->network.family;
    const int schedule = flags->learning.schedule;
    const bool is_encoder = family == ENCODER || train_is_reading(task);
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
        {train_is_reading(task), READS},
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
     .unless = RESUMED,
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

#define CHECK_RULES(values, rules, facts, error)                                                   \
    dg_opt_check_rules(&train_table, values, rules, DG_OPT_COUNT(rules), facts, error)

static enum dg_err check(const void *values, const char *name, struct dg_error *error)
{
    const struct train_options *flags = values;
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
        err = train_options_freeze(&flags->learning.freeze, &freeze, error);
    if (!err)
        err = train_options_script("source-script", flags->data.source_script, &script, error);
    if (!err)
        err = train_options_script("target-script", flags->data.target_script, &script, error);
    return err ? err : train_options_repeat(&flags->data.repeat, NULL, error);
}

const struct dg_opt_table train_table = {
    .program = "dragoman train",
    .summary = "Trains a network on lines source<TAB>target, or on what --task says, and makes a "
               "model directory of it.",
    DG_OPT_ROWS(rows, struct train_options),
    .args = "PAIRS...",
    .args_min = 0,
    .args_max = TRAIN_FILES_MAX,
    .check = check,
};

/* Whether an encoder-only model is trained: the task says so, or the family, or the model to begin
 * with. */
enum dg_err train_options_complete(struct train_options *flags, struct dg_error *error)
{
    struct dg_blueprint bp;
    flags->is_encoder = train_is_reading(flags->data.task) || flags->network.family == ENCODER;
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
