/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The blueprint: everything about a network that is not a weight. It is filled from config.json
 * (importers translate other configurations), checked once, and read everywhere.
 *
 * It is a plain value that may be copied freely. D is the model width, F the feed-forward width, H
 * the number of heads, V the vocabulary's size. `encoder` and `decoder` describe the two stacks.
 *
 *     const struct dg_blueprint *bp = dg_model_blueprint(model);
 *     size_t dh = bp->D / bp->decoder.H; */
#ifndef DG_MODEL_BLUEPRINT_H
#define DG_MODEL_BLUEPRINT_H

#include "base/memory/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kind of network; weights.h has a struct for each. */
enum dg_family {
    DG_FAMILY_TRANSFORMER, /* encoder-decoder; struct dg_transformer_weights */
    DG_FAMILY_RNN,         /* recurrent encoder-decoder with attention; struct dg_rnn_weights */
    DG_FAMILY_LM,          /* decoder-only, which continues its input; struct dg_lm_weights */
    DG_FAMILY_SEQ, /* plain recurrent encoder-decoder, or a classifier; struct dg_seq_weights */
    DG_FAMILY_ENC, /* encoder-only, which analyses its input; struct dg_enc_weights */
};

/* The same as a list, X(NAME, name), for tables with an entry for each family. */
#define DG_FAMILIES(X) X(TRANSFORMER, transformer) X(RNN, rnn) X(LM, lm) X(SEQ, seq) X(ENC, enc)

/* What the decoder has in place of masked self-attention, or the kind of a recurrent cell. */
enum dg_decoder_kind {
    DG_DECODER_ATTENTION,
    DG_DECODER_SSRU, /* c_t = f_t*c_{t-1} + (1-f_t)*(W x_t), f_t = sigmoid(Wf x_t + bf); y =
                        relu(c_t) */
    DG_DECODER_AAN,  /* running mean of the inputs, a small feed-forward net, two gates */
    DG_DECODER_GRU,  /* GRU and LSTM cells, which the RNN family has in its encoder, too;
                        docs/MODEL.md */
    DG_DECODER_LSTM,
    DG_DECODER_TANH, /* h' = tanh(W x + U h + b): a cell of the SEQ family, as are the two above */
};

/* How the layers of a recurrent encoder are arranged. */
enum dg_rnn_encoder {
    DG_RNN_BIDIRECTIONAL, /* two stacks, one from each end; the context is the outputs of both,
                             concatenated */
    DG_RNN_ALTERNATING,   /* the same, but every second layer of a stack runs backwards */
    DG_RNN_BI_TOP, /* one layer from each end, further layers forward over the outputs of both */
};

/* How the decoder of the SEQ family attends to the source. e_s is the encoder's output for token s,
 * h the top layer's state before the step, w the embedding of the input word. */
enum dg_seq_attention {
    DG_SEQ_NONE,     /* no attention: the decoder receives only the encoder's last state */
    DG_SEQ_LOCATION, /* a linear layer over [w, h] gives weights to positions 1 .. `places`,
                        regardless of their content */
    DG_SEQ_DOT,      /* h . e_s */
    DG_SEQ_GENERAL,  /* h . (W e_s) */
    DG_SEQ_ADDITIVE, /* v . tanh(Wq h + Wk e_s + b) */
};

enum dg_activation {
    DG_ACT_RELU,
    DG_ACT_SILU,      /* x * sigmoid(x); "swish" */
    DG_ACT_GELU_ERF,  /* 0.5 x (1 + erf(x / sqrt 2)) */
    DG_ACT_GELU_TANH, /* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
    DG_ACT_GELU_QUICK /* x * sigmoid(1.702 x) */
};

enum dg_norm_place {
    DG_NORM_POST, /* x = norm(x + f(x)) */
    DG_NORM_PRE,  /* x = x + f(norm(x)) */
};

enum dg_norm_kind {
    DG_NORM_LAYER, /* gain * (x - mean) / sqrt(var + eps) + bias, biased variance */
    DG_NORM_RMS,   /* gain * x / sqrt(mean(x^2) + eps) */
};

/* Angle of pair k at position p is p * freq_k. "Halves": all sines, then all cosines. */
enum dg_positions {
    DG_POS_NONE,
    DG_POS_HALVES,        /* freq_k = 10000^(-k / (D/2)):     Hugging Face's Marian */
    DG_POS_HALVES_CLOSED, /* freq_k = 10000^(-k / (D/2 - 1)): Marian itself, M2M100, NLLB */
    DG_POS_INTERLEAVED,   /* freq_k = 10000^(-k / (D/2)), sine and cosine alternating, as in the
                             Transformer paper */
    DG_POS_LEARNED,       /* rows of a stored table; past its end the last row is used */
    DG_POS_ROTARY, /* queries and keys are rotated by their positions; language models only */
};

/* What the decoder reads at step 0. */
enum dg_start {
    DG_START_TOKEN, /* the embedding of `start_id` */
    DG_START_ZERO,  /* a zero vector in place of an embedding (Marian); position 0 is still added */
    DG_START_PROMPT, /* the last token of the source, which is a prompt */
};

/* How the languages of a multilingual model are named in its input. */
enum dg_lang_rule {
    DG_LANG_NONE,         /* not named; OPUS-MT's >>fra<< tokens are ordinary words */
    DG_LANG_SOURCE_FIRST, /* [source language] text [eos]; target language forced first (M2M100,
                             NLLB) */
    /* text [eos] [source language]; target language forced first (older NLLB) */
    DG_LANG_SOURCE_LAST,
};

/* Whether a sentence's shortlist has its source words: Marian lists them when both vocabularies are
 * one file. */
enum dg_source_words {
    DG_SOURCE_WORDS_TIED, /* when both sides have one embedding */
    DG_SOURCE_WORDS_LISTED,
    DG_SOURCE_WORDS_UNLISTED,
};

/* What happens to the place of a finished hypothesis in the beam. */
enum dg_beam_rule {
    /* It keeps its place, so fewer hypotheses go on, until none lives. A hypothesis that is cut
     * at the length limit competes with the finished ones. This is Marian's rule. */
    DG_BEAM_NARROWS,
    DG_BEAM_REFILLS, /* The next best hypothesis takes its place, so `beam` hypotheses go on until
                        that many have finished. Hypotheses cut at the limit rank after them. */
};

enum { DG_ID_NONE = -1 }; /* "there is no such token" */

enum { DG_BLUEPRINT_SUPPRESS_MAX = 8, DG_RNN_CELLS_MAX = 8 };

/* What only recurrent networks have (Marian's s2s, amun and nematus). A layer is a chain of cells
 * that pass one state on. The first cell also reads the layer's input, the second cell of the
 * decoder's first layer reads the attention's result; all others read the state alone. */
struct dg_rnn {
    enum dg_rnn_encoder encoder;
    size_t width; /* width of a state; attention and context are as wide as the encoder's output */
    size_t encoder_cells; /* cells of an encoder layer; at most DG_RNN_CELLS_MAX, as are the two
                             after it */
    size_t base_cells;    /* cells of the decoder's first layer, 2 or more */
    size_t high_cells;    /* cells of the decoder's other layers */
    bool skip;            /* layers after the first add their input to their output */
    bool norm;            /* layer norms inside cells, attention, first state and readout */
};

/* What only plain recurrent networks have. All widths are D. */
struct dg_seq {
    bool is_bidirectional; /* encoder layers run from both ends and add the two outputs */
    enum dg_seq_attention attention;
    size_t places; /* for DG_SEQ_LOCATION: the source tokens that it can attend to; otherwise 0 */
    bool is_classifier; /* There is no decoder: the last state of the encoder's top layer selects
                           one of decoder.V labels. */
};

enum { DG_SEQ_PLACES_MAX = 1 << 16 };

/* How the angles of rotary positions are scaled for contexts longer than in the first training. */
enum dg_rope_scaling {
    DG_ROPE_PLAIN,
    DG_ROPE_LINEAR, /* all angles are divided by `factor` */
    /* slow angles are divided, fast ones are kept, those between are interpolated */
    DG_ROPE_LLAMA3,
};

/* Angle of pair k at position p: p * theta^(-2k / head), scaled. The pair is (k, k + head / 2) of
 * every head. */
struct dg_rope {
    double theta;
    enum dg_rope_scaling scaling;
    double factor;
    double low, high; /* LLAMA3: an angle that makes fewer than `low` turns in `original` positions
                         is slow; one that makes more than `high` is fast */
    size_t original;
};

enum { DG_LM_STOP_MAX = 8, DG_LM_FORM_TEXT = 2000, DG_LM_STOPS_TEXT = 200, DG_LM_LANGS_TEXT = 200 };

/* How to prompt a language model for a translation: the options `template`, `template-stop`,
 * `source` and `target` of a configured model (docs/models.md). Empty texts leave this open. */
struct dg_lm_ask {
    char form[DG_LM_FORM_TEXT + 1], stop[DG_LM_STOPS_TEXT + 1];
    char source[DG_LM_LANGS_TEXT + 1], target[DG_LM_LANGS_TEXT + 1];
};

/* What only language models have: decoders without an encoder (GPT-2, Llama). In the blueprint,
 * `decoder` is their stack; `encoder` is equal but has no layers. The source is a prompt, and the
 * answer continues it. */
struct dg_lm {
    size_t head;     /* width of one head; H * head may differ from D */
    size_t kv_heads; /* heads of keys and values; each serves H / kv_heads query heads */
    bool gated;      /* feed-forward: act(x Wg) * (x Wu) in place of act(x Wu) */
    bool qkv_bias, o_bias, ffn_bias;
    size_t context; /* the most positions, of prompt and answer together */
    struct dg_rope rope;
    int32_t stop[DG_LM_STOP_MAX]; /* tokens that end an answer as eos_id does */
    size_t n_stop;
    struct dg_lm_ask ask;
};

/* The output layer of an encoder-only network. */
enum dg_head {
    DG_HEAD_NONE,   /* no head: the output is the encoder's states */
    DG_HEAD_WORDS,  /* the word at a position: dense, activation, norm, matrix of words */
    DG_HEAD_POOLED, /* labels of a text or of a pair of texts, from the first token: dense, pooler,
                       matrix */
    DG_HEAD_TOKENS, /* labels of each token: matrix */
    DG_HEAD_SPANS,  /* two labels of each token: an answer begins, or ends, here */
    DG_HEAD_REPLACED, /* whether each token was replaced (ELECTRA): dense, activation, one row,
                         sigmoid */
};

/* What a pooled head's numbers mean. */
enum dg_label_rule {
    DG_LABELS_ONE,    /* one of them is right: softmax */
    DG_LABELS_EACH,   /* each is right or wrong: sigmoid */
    DG_LABELS_NUMBER, /* the outputs are learned numbers, used unchanged */
};

/* The activation after a pooled head's first matrix. */
enum dg_pooler {
    DG_POOLER_TANH,
    DG_POOLER_RELU /* as in DistilBERT */,
    DG_POOLER_GELU /* as in ELECTRA */
};

/* What only encoder-only networks have (BERT, RoBERTa, DistilBERT). In the blueprint, `encoder` is
 * their stack; `decoder` has no layers, and its V is the number of the head's outputs: words,
 * labels, 2, or 1 without a head. */
struct dg_enc {
    enum dg_head head;
    enum dg_activation head_activation; /* for WORDS and REPLACED */
    enum dg_pooler pooler;              /* for POOLED */
    enum dg_label_rule rule;            /* for POOLED */
    size_t n_types;    /* rows of segment embeddings; 0: none. If there are 2 or more, a second text
                          uses the second row */
    size_t separators; /* tokens between two texts: 1, or 2 (RoBERTa) */
};

enum { DG_ENC_TYPES_MAX = 64 };

/* One stack. */
struct dg_stack {
    size_t n_layers; /* 1 to 64 */
    size_t H;        /* heads; divides D */
    size_t F;        /* feed-forward width */
    size_t V;        /* rows of this side's embedding */
};

struct dg_blueprint {
    enum dg_family family;
    enum dg_decoder_kind decoder_kind;

    /* Sizes */
    size_t D;
    struct dg_stack encoder; /* its V is the size of the source vocabulary */
    struct dg_stack decoder; /* its V is the size of the target vocabulary */
    size_t aan_depth;        /* AAN only: the number of its matrices, 1 to 8; otherwise 0 */
    size_t aan_F;            /* AAN only: its inner width */
    bool aan_gate;           /* AAN only: it has the two gates */
    /* RNN only; in that family D is the width of embeddings, and H and F are 1 */
    struct dg_rnn rnn;
    struct dg_lm lm;   /* LM only */
    struct dg_seq seq; /* SEQ only; H and F are 1 */
    struct dg_enc enc; /* ENC only */

    /* Mathematics */
    enum dg_activation activation;
    enum dg_norm_place norm_place;
    bool norm_queries_only; /* pre-norm: the keys and values of self-attention are computed from x
                               rather than norm(x), as in Marian */
    enum dg_norm_kind norm_kind;
    float norm_epsilon;
    bool embedding_norm; /* a norm after embedding + position, on both sides */
    bool final_norm;     /* a norm after each stack */
    enum dg_positions positions;
    size_t position_offset; /* the position of the first token (M2M100: 2) */
    size_t n_positions;     /* learned positions: rows of the table; otherwise 0 (no limit) */
    size_t relative_reach;  /* longest distance for which self-attention adds a vector to keys and
                             * values (Shaw et al.; OpenNMT, Argos); 0: none */
    float embedding_scale;  /* 1 or sqrt(D) */
    /* the attention that aligns target and source, counted from 1; 0: the last layer, the mean
     * of its heads */
    size_t alignment_layer, alignment_head;

    /* Ties */
    bool tie_source_target; /* one embedding matrix for both sides */
    bool tie_output;        /* the output matrix is the target embedding */
    bool output_bias;
    enum dg_source_words source_words;

    /* Tokens; DG_ID_NONE for those that the model lacks. */
    int32_t pad_id;
    int32_t eos_id;
    int32_t bos_id;
    int32_t unk_id; /* Hugging Face's config.json lacks it; then it comes from the vocabulary */
    enum dg_start start;
    int32_t start_id;      /* DG_START_TOKEN only */
    int32_t forced_bos_id; /* the first generated token must be this one */
    int32_t forced_eos_id; /* the last generated token must be this one when the length limit is
                              reached */
    int32_t suppress[DG_BLUEPRINT_SUPPRESS_MAX]; /* never generated; excluded before the softmax */
    size_t n_suppress;
    enum dg_lang_rule lang_rule;

    /* Defaults of the model's makers; a request may differ. */
    size_t source_len_max; /* tokens with eos; longer input is split earlier */
    size_t target_len_max; /* generated tokens with eos */
    size_t n_beams;
    enum dg_beam_rule beam_rule;
    float length_penalty; /* score = log-probability / length^penalty */
    /* the model has not learned Title Case, so such text is lower-cased for it */
    bool lowers_titles;
};

/* What is true of every network of a family. Code that treats families differently asks for these
 * properties, not for the family. */
struct dg_family_facts {
    const char *name; /* "transformer", ...; for people and programs */
    unsigned kinds;   /* bit k: the decoder may be of kind k of enum dg_decoder_kind */
    /* decoder-only: the source is a prompt, which the answer continues; `lm` is used */
    bool has_prompt;
    bool has_head; /* encoder-only: a head computes the output from its states; `enc` is used */
    bool has_cross_heads; /* a decoder whose layers attend to the encoder's states with several
                             heads */
    bool is_recurrent;    /* cells take the place of attention layers; H and F are 1 */
};

extern const struct dg_family_facts dg_families[];

static inline const struct dg_family_facts *dg_blueprint_family(const struct dg_blueprint *bp)
{
    return &dg_families[bp->family];
}

/* Returns the width of the encoder's output per token: D; for a recurrent encoder, the joint width
 * of its top layers. */
size_t dg_blueprint_context(const struct dg_blueprint *bp);

/* Returns true when position vectors are computed from sines. */
static inline bool dg_blueprint_has_sinusoids(const struct dg_blueprint *bp)
{
    return bp->positions != DG_POS_NONE && bp->positions != DG_POS_LEARNED &&
           bp->positions != DG_POS_ROTARY;
}

/* Returns true when the network analyses texts and generates none: an encoder-only network, or a
 * classifier. */
static inline bool dg_blueprint_is_reader(const struct dg_blueprint *bp)
{
    return dg_blueprint_family(bp)->has_head || bp->seq.is_classifier;
}

/* Returns the number of blocks of D rows in a plain recurrent cell's matrices: GRU 3, LSTM 4, tanh
 * 1. */
size_t dg_blueprint_gates(const struct dg_blueprint *bp);

/* Returns the number of layers that a recurrent encoder has per direction; its other layers are on
 * top of both directions. */
size_t dg_blueprint_paired_layers(const struct dg_blueprint *bp);

/* Refuses impossible networks: zero or absurd sizes, heads that do not divide D, ids outside the
 * vocabulary, an odd D with sinusoids. The sentence names every wrong field. */
enum dg_err dg_blueprint_check(const struct dg_blueprint *bp, struct dg_error *error) DG_MUST_CHECK;

/* Names for people and for config.json ("relu", "post", ...). Never NULL. */
const char *dg_activation_name(enum dg_activation activation);
const char *dg_decoder_kind_name(enum dg_decoder_kind kind);
const char *dg_positions_name(enum dg_positions positions);
const char *dg_rnn_encoder_name(enum dg_rnn_encoder encoder);
const char *dg_seq_attention_name(enum dg_seq_attention attention);
const char *dg_head_name(enum dg_head head);

/* Returns the angle by which rotary positions turn pair k (0 to head / 2 - 1) from one position to
 * the next. */
double dg_rope_step(const struct dg_lm *lm, size_t k);

#endif
