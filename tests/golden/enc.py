#!/usr/bin/python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Encoders without a decoder, in numpy and nothing else: doubles, texts padded to one length under a mask, no code in common
with the C.

    enc.py make FOLDER     tiny random models as Hugging Face directories (config.json, tokenizer.json, weights in F16),
                           the same for everybody; tests/data/enc is made with it
    enc.py golden FOLDER   the outputs of these models for a few texts, into enc.json beside this file

Shapes: BERT (segments, a tanh pooler), RoBERTa (positions that begin after the padding's, two separators, a head of its own),
DistilBERT (no segments, a relu pooler); heads for masked words, texts, pairs, tokens and spans, and none. XLM-RoBERTa and
CamemBERT are RoBERTa with unigrams for words, ELECTRA BERT with a gelu pooler, and with a head that tells replaced words.
"""
import json
import math
import os
import sys

import numpy as np

from encoders import unigrams
from lm import TEXT, byte_level, layer_norm, gelu_new, softmax, write_safetensors

# ---- Vocabularies ------------------------------------------------------------------------------------

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def added(id, content, lstrip=False):
    return {"id": id, "content": content, "single_word": False, "lstrip": lstrip, "rstrip": False,
            "normalized": False, "special": True}


def wordpiece(names):
    """BERT's, in lower case: a few words, all letters, and all letters that go on with a word. `names`: for the template."""
    words = sorted({word.strip(".;,?'").lower() for word in TEXT.split()} - {""})
    letters = sorted(set("abcdefghijklmnopqrstuvwxyz0123456789"))
    tokens = SPECIAL + list(".,;:!?'-\"()") + letters + ["##" + c for c in letters]
    tokens += [word for word in words if len(word) > 1 and word.isascii() and word.isalpha()]
    tokens += ["##ing"]
    vocab = {token: i for i, token in enumerate(tokens)}

    def special(name, type_id):
        return {"SpecialToken": {"id": name, "type_id": type_id}}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [added(i, token) for i, token in enumerate(SPECIAL)],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                       "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [special("[CLS]", 0), {"Sequence": {"id": "A", "type_id": 0}}, special("[SEP]", 0)],
            "pair": [special("[CLS]", 0), {"Sequence": {"id": "A", "type_id": 0}}, special("[SEP]", 0),
                     {"Sequence": {"id": "B", "type_id": 1}}, special("[SEP]", 1)],
            "special_tokens": {name: {"id": name, "ids": [vocab[name]], "tokens": [name]} for name in names}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocab},
    }


def roberta_tokens():
    """GPT-2's, with RoBERTa's special tokens before all others."""
    tokenizer, first = byte_level(None, []), ["<s>", "<pad>", "</s>", "<unk>"]
    vocab = {token: i for i, token in enumerate(first + list(tokenizer["model"]["vocab"]) + ["<mask>"])}
    tokenizer["model"]["vocab"] = vocab
    tokenizer["added_tokens"] = [added(vocab[t], t, t == "<mask>") for t in first + ["<mask>"]]
    tokenizer["post_processor"] = {"type": "RobertaProcessing", "sep": ["</s>", vocab["</s>"]],
                                   "cls": ["<s>", vocab["<s>"]], "trim_offsets": True, "add_prefix_space": False}
    return tokenizer


# ---- Models ------------------------------------------------------------------------------------------

BERT = {"model_type": "bert", "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 24, "hidden_act": "gelu", "max_position_embeddings": 48, "type_vocab_size": 2,
        "layer_norm_eps": 1e-12, "pad_token_id": 0}
ROBERTA = {**BERT, "model_type": "roberta", "max_position_embeddings": 50, "type_vocab_size": 1, "layer_norm_eps": 1e-5,
           "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
XLMR = {**ROBERTA, "model_type": "xlm-roberta"}
CAMEMBERT = {**ROBERTA, "model_type": "camembert", "bos_token_id": 5, "eos_token_id": 6}
ELECTRA = {**BERT, "model_type": "electra", "embedding_size": 16}
DISTILBERT = {"model_type": "distilbert", "dim": 16, "n_layers": 2, "n_heads": 4, "hidden_dim": 24, "activation": "gelu",
              "max_position_embeddings": 48, "sinusoidal_pos_embds": False, "pad_token_id": 0}
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def labels(names):
    return {"id2label": {str(i): name for i, name in enumerate(names)}, "label2id": {name: i for i, name in enumerate(names)}}


MODELS = {
    "bert-words": {**BERT, "architectures": ["BertForMaskedLM"]},
    "bert-pair": {**BERT, "architectures": ["BertForSequenceClassification"], "hidden_act": "gelu_new",
                  **labels(["entailment", "neutral", "contradiction"])},
    "bert-spans": {**BERT, "architectures": ["BertForQuestionAnswering"]},
    "roberta-words": {**ROBERTA, "architectures": ["RobertaForMaskedLM"]},
    "roberta-topics": {**ROBERTA, "architectures": ["RobertaForSequenceClassification"],
                       "problem_type": "multi_label_classification", **labels(["river", "house", "food"])},
    "distilbert-tags": {**DISTILBERT, "architectures": ["DistilBertForTokenClassification"], **labels(TAGS)},
    "distilbert-mood": {**DISTILBERT, "architectures": ["DistilBertForSequenceClassification"],
                        **labels(["NEGATIVE", "POSITIVE"])},
    "distilbert": {**DISTILBERT, "architectures": ["DistilBertModel"]},
    "roberta-tags": {**ROBERTA, "architectures": ["RobertaForTokenClassification"], **labels(TAGS)},
    "roberta-spans": {**ROBERTA, "architectures": ["RobertaForQuestionAnswering"]},
    "xlmr-words": {**XLMR, "architectures": ["XLMRobertaForMaskedLM"]},
    "camembert-tags": {**CAMEMBERT, "architectures": ["CamembertForTokenClassification"], **labels(TAGS)},
    "electra-mood": {**ELECTRA, "architectures": ["ElectraForSequenceClassification"], **labels(["NEGATIVE", "POSITIVE"])},
    "electra-words": {**ELECTRA, "architectures": ["ElectraForMaskedLM"]},
    "electra-replaced": {**ELECTRA, "architectures": ["ElectraForPreTraining"], "hidden_act": "gelu_new"},
}


def kind_of(config):
    """How its weights are called."""
    return {"xlm-roberta": "roberta", "camembert": "roberta"}.get(config["model_type"], config["model_type"])


def describe(name):
    config = dict(MODELS[name])
    unigram = dict(unigrams()).get({"xlm-roberta": "xlmr"}.get(config["model_type"], config["model_type"]))
    tokenizer = unigram or (roberta_tokens() if config["model_type"] == "roberta" else wordpiece(["[CLS]", "[SEP]"]))
    config["vocab_size"] = len(tokenizer["model"]["vocab"])
    return config, tokenizer


def head(config):
    return config["architectures"][0].split("For")[-1] if "For" in config["architectures"][0] else None


def shapes(name, config):
    """Their names, as the libraries write them; "bert-pair" in those of old files, "distilbert" without a prefix."""
    kind, V, out = kind_of(config), config["vocab_size"], {}
    D, F = config.get("hidden_size", config.get("dim")), config.get("intermediate_size", config.get("hidden_dim"))
    before = "" if name == "distilbert" else kind + "."

    def linear(prefix, rows, cols):
        out[prefix + ".weight"], out[prefix + ".bias"] = (rows, cols), (rows,)

    def norm(prefix):
        old = name == "bert-pair"
        out[prefix + (".gamma" if old else ".weight")] = out[prefix + (".beta" if old else ".bias")] = (D,)
    out[before + "embeddings.word_embeddings.weight"] = (V, D)
    out[before + "embeddings.position_embeddings.weight"] = (config["max_position_embeddings"], D)
    if kind != "distilbert":
        out[before + "embeddings.token_type_embeddings.weight"] = (config["type_vocab_size"], D)
    norm(before + "embeddings.LayerNorm")
    for i in range(config.get("num_hidden_layers", config.get("n_layers"))):
        if kind == "distilbert":
            layer = f"{before}transformer.layer.{i}."
            for part in ("q_lin", "k_lin", "v_lin", "out_lin"):
                linear(layer + "attention." + part, D, D)
            norm(layer + "sa_layer_norm")
            linear(layer + "ffn.lin1", F, D)
            linear(layer + "ffn.lin2", D, F)
            norm(layer + "output_layer_norm")
            continue
        layer = f"{before}encoder.layer.{i}."
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            linear(layer + "attention." + part, D, D)
        norm(layer + "attention.output.LayerNorm")
        linear(layer + "intermediate.dense", F, D)
        linear(layer + "output.dense", D, F)
        norm(layer + "output.LayerNorm")
    n = len(config.get("id2label", "12"))
    if head(config) == "MaskedLM" and kind == "bert":
        linear("cls.predictions.transform.dense", D, D)
        norm("cls.predictions.transform.LayerNorm")
        out["cls.predictions.bias"] = (V,)
        linear("cls.seq_relationship", 2, D) # the guess whether one sentence follows the other: not used
        linear("bert.pooler.dense", D, D)
    elif head(config) == "MaskedLM" and kind == "electra":
        linear("generator_predictions.dense", D, D)
        norm("generator_predictions.LayerNorm")
        out["generator_lm_head.bias"] = (V,)
    elif head(config) == "PreTraining":
        linear("discriminator_predictions.dense", D, D)
        linear("discriminator_predictions.dense_prediction", 1, D)
    elif head(config) == "MaskedLM":
        linear("lm_head.dense", D, D)
        norm("lm_head.layer_norm")
        out["lm_head.bias"] = (V,)
    elif head(config) == "SequenceClassification":
        first, last = {"bert": ("bert.pooler.dense", "classifier"), "roberta": ("classifier.dense", "classifier.out_proj"),
                       "electra": ("classifier.dense", "classifier.out_proj"),
                       "distilbert": ("pre_classifier", "classifier")}[kind]
        linear(first, D, D)
        linear(last, n, D)
    elif head(config) == "TokenClassification":
        linear("classifier", n, D)
    elif head(config) == "QuestionAnswering":
        linear("qa_outputs", 2, D)
    return out


def random_weights(name, config, seed):
    rng, weights = np.random.default_rng(1000 + seed), {}
    for key, shape in shapes(name, config).items():
        values = rng.uniform(-1, 1, shape)
        if len(shape) == 1:
            values = 0.2 * values + ("bias" not in key and "beta" not in key)
        else:
            values *= 1.7 / math.sqrt(shape[-1])
        weights[key] = values.astype(np.float16)
    return weights


def make(folder):
    for seed, name in enumerate(MODELS):
        config, tokenizer = describe(name)
        os.makedirs(f"{folder}/{name}", exist_ok=True)
        with open(f"{folder}/{name}/config.json", "w") as file:
            file.write(json.dumps(config, indent=2))
        with open(f"{folder}/{name}/tokenizer.json", "w") as file:
            file.write(json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")) + "\n")
        write_safetensors(f"{folder}/{name}/model.safetensors", random_weights(name, config, seed))


# ---- Mathematics -------------------------------------------------------------------------------------

def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def attend(q, k, v, seen):
    """[T, heads, width] each; columns that are not seen are masked."""
    scores = np.einsum("qhd,khd->hqk", q, k) / math.sqrt(q.shape[-1])
    return np.einsum("hqk,khd->qhd", softmax(np.where(seen[None, None, :], scores, -1e30)), v).reshape(len(q), -1)


def states(name, config, w, ids, second, n_pad):
    """All of the stack's, [T, D], with n_pad tokens of padding behind that a mask hides."""
    kind, T = kind_of(config), len(ids)
    w = {(key[len(kind) + 1:] if key.startswith(kind + ".") else key).replace(".gamma", ".weight").replace(".beta", ".bias"):
         value for key, value in w.items()}
    pad, H = config["pad_token_id"], config.get("num_attention_heads", config.get("n_heads"))
    eps, act = config.get("layer_norm_eps", 1e-12), gelu_new if config.get("hidden_act") == "gelu_new" else gelu
    padded = np.array(list(ids) + [pad] * n_pad)
    seen = np.arange(T + n_pad) < T
    at = np.arange(T + n_pad)
    if kind == "roberta":
        at = np.where(seen, at + pad + 1, pad)
    x = w["embeddings.word_embeddings.weight"][padded] + w["embeddings.position_embeddings.weight"][at]
    if kind != "distilbert":
        types = np.where((np.arange(T + n_pad) >= second) & (second > 0) & (config["type_vocab_size"] > 1), 1, 0)
        x = x + w["embeddings.token_type_embeddings.weight"][types]

    def linear(y, prefix):
        return y @ w[prefix + ".weight"].T + w[prefix + ".bias"]

    def norm(y, prefix):
        return layer_norm(y, w[prefix + ".weight"], w[prefix + ".bias"], eps)
    x = norm(x, "embeddings.LayerNorm")
    for i in range(config.get("num_hidden_layers", config.get("n_layers"))):
        if kind == "distilbert":
            layer = f"transformer.layer.{i}."
            names = [layer + "attention." + part for part in ("q_lin", "k_lin", "v_lin", "out_lin")]
            others = [layer + part for part in ("sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm")]
        else:
            layer = f"encoder.layer.{i}."
            names = [layer + "attention." + part for part in ("self.query", "self.key", "self.value", "output.dense")]
            others = [layer + part for part in ("attention.output.LayerNorm", "intermediate.dense", "output.dense",
                                                "output.LayerNorm")]
        q, k, v = (linear(x, part).reshape(T + n_pad, H, -1) for part in names[:3])
        x = norm(x + linear(attend(q, k, v, seen), names[3]), others[0])
        x = norm(x + linear(act(linear(x, others[1])), others[2]), others[3])
    return x[:T]


def outputs(config, w, x):
    """What the head gives at every token, [T, outputs]; of pooled heads only the first row has a meaning."""
    kind, eps = kind_of(config), config.get("layer_norm_eps", 1e-12)

    def linear(y, prefix):
        return y @ w[prefix + ".weight"].T + w[prefix + ".bias"]
    if head(config) == "MaskedLM":
        dense, norm, bias = {"bert": ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
                                      "cls.predictions.bias"),
                             "roberta": ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"),
                             "electra": ("generator_predictions.dense", "generator_predictions.LayerNorm",
                                         "generator_lm_head.bias")}[kind]
        y = layer_norm(gelu(linear(x, dense)), w[norm + ".weight"], w[norm + ".bias"], eps)
        return y @ w[kind + ".embeddings.word_embeddings.weight"].T + w[bias]
    if head(config) == "SequenceClassification":
        if kind == "bert":
            return linear(np.tanh(linear(x, "bert.pooler.dense")), "classifier")
        if kind == "electra":
            return linear(gelu(linear(x, "classifier.dense")), "classifier.out_proj")
        if kind == "roberta":
            return linear(np.tanh(linear(x, "classifier.dense")), "classifier.out_proj")
        return linear(np.maximum(linear(x, "pre_classifier"), 0), "classifier")
    if head(config) == "PreTraining": # one number for each token, with the activation of the layers
        return linear(gelu_new(linear(x, "discriminator_predictions.dense")), "discriminator_predictions.dense_prediction")
    if head(config):
        return linear(x, "classifier" if head(config) == "TokenClassification" else "qa_outputs")
    return None


# ---- Commands ------------------------------------------------------------------------------------------

PROMPTS = [([2, 30, 100, 41, 3], 0), ([2, 9], 0), ([2, 60, 61, 62, 3, 12, 90, 90, 17, 44, 3], 5), ([0, 5, 8, 101, 2, 2, 64, 4] * 5, 6)]


def golden(folder):
    out = []
    for seed, name in enumerate(MODELS):
        config, _ = describe(name)
        with open(f"{folder}/{name}/config.json") as file:
            assert json.load(file) == config, f"{name}: made by another version; run make"
        w = {key: value.astype(np.float64) for key, value in random_weights(name, config, seed).items()}
        for ids, second in PROMPTS:
            x = states(name, config, w, ids, second, 0)
            padded = states(name, config, w, ids, second, 7)
            assert np.abs(x - padded).max() < 1e-9, "padding is seen"
            rows = outputs(config, w, x)
            item = {"model": name, "ids": ids, "second": second, "stride": 7,
                    "states": [[round(float(v), 6) for v in row[::5]] for row in x[-3:]]}
            if rows is not None:
                item["outputs"] = [[round(float(v), 6) for v in row[::7 if len(row) > 8 else 1]] for row in rows[:4]]
            out.append(item)
    with open(os.path.join(os.path.dirname(__file__), "enc.json"), "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(item, separators=(",", ":")) for item in out) + "\n]\n")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("make", "golden"):
        sys.exit(__doc__)
    sys.exit({"make": make, "golden": golden}[sys.argv[1]](sys.argv[2]))
