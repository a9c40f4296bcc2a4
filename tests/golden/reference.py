#!/usr/bin/python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""The network and the plain search again, in numpy and nothing else: uncached, one sentence at a time, doubles,
no code in common with the C. It makes the golden values, which the C must reproduce.

    reference.py score  MODEL            lines `source ids<TAB>target ids` to one JSON object a line
    reference.py search MODEL WIDTH      lines `source ids` to JSON: ids, logprob, score (width 1: greedy)
    reference.py check  MODEL DRAGOMAN [N]
                                         N random sources (default 20): dragoman's log-probabilities, greedy
                                         ids and beam of 4 against these; exit 1 when they differ
    reference.py golden MKMODEL          writes shapes.json: values of random models of many shapes, which
                                         mkmodel can make again
    reference.py tree   MODEL            lines `source ids`: writes fr-en.json and fr-en-search.json, values of the
                                         model in this tree

Reads config.json (marian, m2m_100 and dragoman, recurrent networks among them) and model.safetensors (F32, F16, BF16,
I8 with its scales) of a model directory.
"""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np


# ---- Files -----------------------------------------------------------------------------------------

def read_safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    tensors = {}
    for name, item in header.items():
        if name == "__metadata__":
            continue
        raw = data[slice(*item["data_offsets"])]
        if item["dtype"] == "BF16":
            values = (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            values = np.frombuffer(raw, {"F32": "<f4", "F16": "<f2", "I8": "i1"}[item["dtype"]])
        tensors[name] = values.reshape(item["shape"]).astype(np.float64)
    for name in [name for name in tensors if name + "_scale" in tensors]:
        tensors[name] *= tensors.pop(name + "_scale")[:, None]
    return tensors


def read_config(path):
    """Adds what follows from the type of a config, marian or m2m_100."""
    with open(path) as file:
        config = json.load(file)
    kind = config["model_type"]
    width = config["d_model"]
    if kind == "dragoman":
        return config
    common = {
        "decoder_kind": "attention", "norm_kind": "layer", "norm_epsilon": 1e-5, "embedding_norm": False,
        "embedding_scale": math.sqrt(width) if config.get("scale_embedding") else 1.0,
        "suppress_token_ids": [config["pad_token_id"]] if kind == "marian" else [],
    }
    place = {
        "marian": {"norm_place": "post", "final_norm": False, "positions": "halves", "position_offset": 0},
        "m2m_100": {"norm_place": "pre", "final_norm": True, "positions": "halves-closed",
                    "position_offset": 2},
    }[kind]
    return {**config, **common, **place}


# ---- Pieces ----------------------------------------------------------------------------------------

def sigmoid(x):
    return 1 / (1 + np.exp(-x))


ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x * sigmoid(x),
    "swish": lambda x: x * sigmoid(x),
    "gelu": lambda x: 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))),
    "quick_gelu": lambda x: x * sigmoid(1.702 * x),
}
ACTIVATIONS["gelu_new"] = ACTIVATIONS["gelu_pytorch_tanh"] = ACTIVATIONS["gelu_tanh"]


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def log_softmax(x):
    top = x.max()
    return x - top - math.log(np.exp(x - top).sum())


def sinusoids(kind, positions, width):
    half = width // 2
    k = np.arange(half)
    angles = positions[:, None] * 10000.0 ** (-k / (half - 1 if kind == "halves-closed" else half))
    if kind == "interleaved":
        return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(positions), width)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)


# ---- Network ---------------------------------------------------------------------------------------

class Network:
    def __init__(self, directory):
        self.config = read_config(directory + "/config.json")
        self.weights = read_safetensors(directory + "/model.safetensors")
        self.activate = ACTIVATIONS.get(self.config.get("activation_function"))
        self.is_pre = self.config.get("norm_place") == "pre"

    def linear(self, x, name):
        y = x @ self.weights[name + ".weight"].T
        bias = self.weights.get(name + ".bias")
        return y if bias is None else y + bias

    def norm(self, x, name):
        if self.config["norm_kind"] == "rms":
            x = x / np.sqrt((x ** 2).mean(axis=-1, keepdims=True) + self.config["norm_epsilon"])
            return x * self.weights[name + ".weight"]
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt((x ** 2).mean(axis=-1, keepdims=True) + self.config["norm_epsilon"])
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def residual(self, x, norm, block):
        if self.is_pre:
            return x + block(self.norm(x, norm))
        return self.norm(x + block(x), norm)

    def attention(self, x, memory, name, heads, mask=None):
        def split(y):
            return y.reshape(len(y), heads, -1).transpose(1, 0, 2)
        q, k, v = (split(self.linear(y, f"{name}.{p}_proj"))
                   for y, p in ((x, "q"), (memory, "k"), (memory, "v")))
        scores = q @ k.transpose(0, 2, 1)
        near = self.weights.get(f"{name}.relative_keys.weight")
        if near is not None:
            reach = self.config["relative_reach"]
            steps = np.arange(len(memory))[None, :] - np.arange(len(x))[:, None]
            rows = np.clip(steps, -reach, reach) + reach
            scores += np.einsum("hqd,qkd->hqk", q, near[rows])
        scores /= math.sqrt(q.shape[-1])
        if mask is not None:
            scores = np.where(mask, scores, -np.inf)
        mixed = softmax(scores) @ v
        if near is not None:
            values = self.weights[f"{name}.relative_values.weight"]
            mixed += np.einsum("hqk,qkd->hqd", softmax(scores), values[rows])
        return self.linear(mixed.transpose(1, 0, 2).reshape(x.shape), f"{name}.out_proj")

    def feed_forward(self, x, layer):
        def block(y):
            return self.linear(self.activate(self.linear(y, layer + ".fc1")), layer + ".fc2")
        return self.residual(x, layer + ".final_layer_norm", block)

    def embed(self, ids, side):
        """An id of None is a zero vector."""
        config, weights = self.config, self.weights
        table = weights.get("model.shared.weight")
        if table is None:
            table = weights[f"model.{side}.embed_tokens.weight"]
        x = np.stack([table[i] if i is not None else np.zeros(table.shape[1]) for i in ids])
        x = x * config["embedding_scale"]
        positions = np.arange(len(ids)) + config["position_offset"]
        if config["positions"] == "learned":
            rows = weights[f"model.{side}.embed_positions.weight"]
            x = x + rows[np.minimum(positions, len(rows) - 1)]
        elif config["positions"] != "none":
            x = x + sinusoids(config["positions"], positions, x.shape[1])
        if config["embedding_norm"]:
            x = self.norm(x, f"model.{side}.layernorm_embedding")
        return x

    def encode(self, ids):
        x = self.embed(ids, "encoder")
        for i in range(self.config["encoder_layers"]):
            layer = f"model.encoder.layers.{i}"
            x = self.residual(x, layer + ".self_attn_layer_norm", lambda y: self.attention(
                y, y, layer + ".self_attn", self.config["encoder_attention_heads"]))
            x = self.feed_forward(x, layer)
        return self.norm(x, "model.encoder.layer_norm") if self.config["final_norm"] else x

    def ssru(self, x, layer):
        value, forget = self.linear(x, layer + ".ssru.candidate"), sigmoid(self.linear(x, layer + ".ssru.forget"))
        cell, out = np.zeros(x.shape[1]), []
        for v, f in zip(value, forget):
            cell = f * cell + (1 - f) * v
            out.append(np.maximum(cell, 0))
        return np.array(out)

    def average(self, x, layer):
        """Marian's average attention. With pre-norm the mean is normed, not x."""
        y = np.cumsum(x, axis=0) / np.arange(1, len(x) + 1)[:, None]
        if self.is_pre:
            y = self.norm(y, layer + ".self_attn_layer_norm")
        depth = self.config["aan_depth"]
        for i in range(depth):
            y = self.linear(y, f"{layer}.aan.fc{i + 1}")
            if i + 1 < depth:
                y = self.activate(y)
        if not self.config["aan_gate"]:
            return y
        return (sigmoid(self.linear(x, layer + ".aan.input_gate")) * x +
                sigmoid(self.linear(y, layer + ".aan.forget_gate")) * y)

    def decode(self, memory, ids):
        """Logits of every position, teacher-forced: ids are those generated so far."""
        start = self.config.get("decoder_start_token_id")
        if self.config.get("decoder_start") == "zero":
            start = None
        x = self.embed([start] + list(ids), "decoder")
        mask = np.tril(np.ones((len(x), len(x)), bool))
        heads = self.config["decoder_attention_heads"]
        for i in range(self.config["decoder_layers"]):
            layer = f"model.decoder.layers.{i}"
            own = {"attention": lambda y: self.attention(y, y, layer + ".self_attn", heads, mask),
                   "ssru": lambda y: self.ssru(y, layer),
                   "aan": lambda y: self.average(y, layer)}[self.config["decoder_kind"]]
            if self.config["decoder_kind"] == "aan" and self.is_pre:
                x = x + own(x)
            else:
                x = self.residual(x, layer + ".self_attn_layer_norm", own)
            x = self.residual(x, layer + ".encoder_attn_layer_norm",
                              lambda y: self.attention(y, memory, layer + ".encoder_attn", heads))
            x = self.feed_forward(x, layer)
        if self.config["final_norm"]:
            x = self.norm(x, "model.decoder.layer_norm")
        output = self.weights.get("lm_head.weight")
        if output is None:
            output = self.weights.get("model.shared.weight")
        if output is None:
            output = self.weights["model.decoder.embed_tokens.weight"]
        logits = x @ output.T
        bias = self.weights.get("final_logits_bias")
        return logits if bias is None else logits + bias.reshape(-1)

    def logprobs(self, memory, ids):
        """Log-probabilities of what may follow `ids`."""
        logits = self.decode(memory, ids)[-1]
        logits[self.config["suppress_token_ids"]] = -np.inf
        return log_softmax(logits)


class Recurrent(Network):
    """Marian's s2s and amun: GRU or LSTM, one token after the other."""

    def normed(self, x, name, gain, bias=None):
        """x W^T, normed where the network has norms, then the bias."""
        y = x @ self.weights[name].T
        if self.config["rnn_norm"]:
            y = y - y.mean()
            y = y / np.sqrt((y * y).mean() + self.config["norm_epsilon"]) * self.weights[gain]
        return y if bias is None else y + self.weights[bias]

    def dense(self, x, name, biased=True):
        return self.normed(x, f"{name}.weight", f"{name}_norm.weight", f"{name}.bias" if biased else None)

    def joined(self, x, cell, what):
        """Gates and candidate of a cell for its input or its state, normed together."""
        parts = [f"{cell}.{part}.{what}.weight" for part in ("gates", "candidate")]
        y = np.concatenate([self.weights[part] @ x for part in parts if part in self.weights])
        if self.config["rnn_norm"]:
            y = y - y.mean()
            y = y / np.sqrt((y * y).mean() + self.config["norm_epsilon"]) * self.weights[f"{cell}.{what}_norm.weight"]
        return y

    def cell(self, state, x, name, final=False):
        """state: (h, c); a GRU does not use c. Without x, only the state enters."""
        h, c = state
        width = len(h)
        s = self.joined(h, name, "state")
        i = np.zeros_like(s) if x is None else self.joined(x, name, "input")
        if self.config["decoder_kind"] == "lstm":
            forget, enter, new, out = np.split(i + s + self.weights[name + ".gates.bias"], 4)
            c = sigmoid(forget) * c + sigmoid(enter) * np.tanh(new)
            return sigmoid(out) * np.tanh(c), c
        gates = sigmoid(i[:2 * width] + s[:2 * width] + self.weights[name + ".gates.bias"])
        reset, update = gates[:width], gates[width:]
        bias = self.weights[name + ".candidate.bias"]
        if final:
            new = np.tanh(i[2 * width:] + reset * (s[2 * width:] + bias))
        else:
            new = np.tanh(i[2 * width:] + reset * s[2 * width:] + bias)
        return (1 - update) * new + update * h, c

    def words(self, ids, side):
        table = self.weights.get("model.shared.weight")
        if table is None:
            table = self.weights[f"model.{side}.embed_tokens.weight"]
        return [(table[i] if i is not None else np.zeros(table.shape[1])) * self.config["embedding_scale"] for i in ids]

    def layer(self, inputs, stack, at, reverse):
        width = self.config["rnn_width"]
        state, out = (np.zeros(width), np.zeros(width)), []
        for x in reversed(inputs) if reverse else inputs:
            for j in range(self.config["rnn_encoder_cells"]):
                state = self.cell(state, x if j == 0 else None, f"model.encoder.{stack}.{at}.cells.{j}")
            out.append(state[0])
        return out[::-1] if reverse else out

    def stack(self, inputs, name, n, backward=False):
        kind = self.config["rnn_encoder"]
        for i in range(n):
            out = self.layer(inputs, name, i, backward != (kind == "alternating" and i % 2 == 1))
            if self.config["rnn_skip"] and i > 0:
                out = [a + b for a, b in zip(out, inputs)]
            inputs = out
        return inputs

    def encode(self, ids):
        words, n = self.words(ids, "encoder"), self.config["encoder_layers"]
        paired = 1 if self.config["rnn_encoder"] == "bi-unidirectional" else n
        both = zip(self.stack(words, "forward", paired), self.stack(words, "backward", paired, True))
        context = [np.concatenate(pair) for pair in both]
        return np.array(self.stack(context, "top", n - paired) if paired < n else context)

    def attend(self, memory, h):
        mapped = np.array([self.dense(row, "model.decoder.attention.source") for row in memory])
        query = self.dense(h, "model.decoder.attention.state", False)
        scores = np.tanh(mapped + query) @ self.weights["model.decoder.attention.score.weight"]
        return softmax(scores) @ memory

    def decode(self, memory, ids):
        start = None if self.config["decoder_start"] == "zero" else self.config["decoder_start_token_id"]
        first = np.tanh(self.dense(memory.mean(axis=0), "model.decoder.initial"))
        states = [(first, first)] * self.config["decoder_layers"]
        rows = []
        for word in self.words([start] + list(ids), "decoder"):
            state = self.cell(states[0], word, "model.decoder.layers.0.cells.0")
            context = self.attend(memory, state[0])
            for j in range(1, self.config["rnn_base_cells"]):
                state = self.cell(state, context if j == 1 else None, f"model.decoder.layers.0.cells.{j}", True)
            states[0], top = state, state[0]
            for i in range(1, len(states)):
                for j in range(self.config["rnn_high_cells"]):
                    states[i] = self.cell(states[i], top if j == 0 else None, f"model.decoder.layers.{i}.cells.{j}")
                top = states[i][0] + top if self.config["rnn_skip"] else states[i][0]
            row = (self.dense(word, "model.decoder.readout.word") + self.dense(top, "model.decoder.readout.state") +
                   self.dense(context, "model.decoder.readout.context"))
            rows.append(np.tanh(row))
        output = next(self.weights[name] for name in ("lm_head.weight", "model.shared.weight",
                                                      "model.decoder.embed_tokens.weight") if name in self.weights)
        return np.array(rows) @ output.T + self.weights["final_logits_bias"].reshape(-1)


def open_network(directory):
    kind = read_config(directory + "/config.json").get("decoder_kind")
    return (Recurrent if kind in ("gru", "lstm") else Network)(directory)


# ---- Scoring and searching -------------------------------------------------------------------------

def score(network, source, target):
    logits = network.decode(network.encode(source), target[:-1])
    logits[:, network.config["suppress_token_ids"]] = -np.inf
    return [float(log_softmax(row)[token]) for row, token in zip(logits, target)]


def search(network, source, width, rule="narrows"):
    """Every hypothesis proposes its 2 * width best continuations; those that end are set aside with
    score = sum / length. "narrows": a hypothesis that ended keeps its place, until none lives; those that live at
    the length cap count as if they had ended. "refills": the best `width` others live on, until `width` have ended or
    at the length cap."""
    memory, end = network.encode(source), network.config["eos_token_id"]
    live, finished = [(0.0, [])], []
    for _ in range(2 * len(source) + 10):
        proposals = []
        for total, ids in live:
            row = network.logprobs(memory, ids)
            proposals += [(total + float(row[i]), ids + [int(i)])
                          for i in np.argsort(-row, kind="stable")[:2 * width] if row[i] > -np.inf]
        live = []
        for total, ids in sorted(proposals, key=lambda item: -item[0]):
            if len(live) + (len(finished) if rule == "narrows" else 0) == width:
                break
            if ids[-1] == end:
                finished.append((total / len(ids), total, ids))
            else:
                live.append((total, ids))
        if not live or (rule == "refills" and len(finished) >= width):
            break
    if not finished or rule == "narrows":
        finished += [(total / len(ids), total, ids) for total, ids in live]
    best = max(finished, key=lambda item: item[0])
    return {"ids": best[2], "logprob": best[1], "score": best[0]}


# ---- Commands --------------------------------------------------------------------------------------

def numbers(text):
    return [int(word) for word in text.split()]


def run_tool(arguments, lines):
    text = "".join(line + "\n" for line in lines)
    done = subprocess.run(arguments, input=text, capture_output=True, text=True, check=True)
    return done.stdout.split("\n")[:-1]


def check(network, directory, tool, n):
    """Compares the answers of dragoman with ours, for sources and targets of random ids."""
    config, rng = network.config, np.random.default_rng(1)
    n_words = config["vocab_size"]
    n_target_words = config.get("decoder_vocab_size") or n_words
    end = config["eos_token_id"]

    def draw(limit, length):
        return [int(i) for i in rng.integers(2, limit - 1, length)] + [end]
    sources = [draw(n_words, 1 + i % 20) for i in range(n)]
    targets = [draw(n_target_words, 1 + i % 13) for i in range(n)]
    lines = [" ".join(map(str, source)) for source in sources]
    pairs = [line + "\t" + " ".join(map(str, target)) for line, target in zip(lines, targets)]

    worst = 0.0
    for line, source, target in zip(run_tool([tool, "score", "--ids", "-m", directory], pairs), sources, targets):
        ours, theirs = score(network, source, target), json.loads(line)["token_logprobs"]
        assert len(ours) == len(theirs)
        worst = max(worst, max(abs(a - b) for a, b in zip(ours, theirs)))
    plain = [tool, "translate", "--ids", "-q", "--scores", "--loop-guard=no", "-m", directory]
    differing = below = 0
    for line, source in zip(run_tool(plain + ["-b", "1"], lines), sources):
        ids = numbers(line.split("|||")[0])
        differing += ids != search(network, source, 1)["ids"]
    for line, source in zip(run_tool(plain + ["-b", "4", "--length-penalty", "1"], lines), sources):
        below += float(line.split("|||")[1]) < search(network, source, 4)["score"] - 1e-4
    print(f"{directory}: log-probabilities differ by {worst:.2e} at most; "
          f"greedy differs on {differing}, beam 4 is worse on {below} of {n}")
    return worst < 1e-4 and not differing and not below


SHAPES = [
    [],
    ["--seed", "2", "--pre-norm"],
    ["--seed", "3", "--pre-norm", "--positions", "halves-closed", "--activation", "silu"],
    ["--seed", "4", "--positions", "learned", "--activation", "gelu"],
    ["--seed", "5", "--decoder", "ssru"],
    ["--seed", "6", "--decoder", "ssru", "--pre-norm", "--zero-start"],
    ["--seed", "7", "--decoder", "aan"],
    ["--seed", "8", "--decoder", "aan", "--pre-norm"],
    ["--seed", "9", "--untied", "--activation", "gelu_tanh"],
    ["--seed", "10", "--untied", "--separate", "--vocab", "150,170", "--positions", "interleaved"],
    ["--seed", "11", "--pre-norm", "--rms", "--embedding-norm", "--activation", "quick_gelu"],
    ["--seed", "12", "--D", "48", "--heads", "6", "--layers", "3,1", "--vocab", "301", "--positions", "none"],
    ["--seed", "13", "--type", "f16"],
    ["--seed", "14", "--positions", "none", "--relative", "4", "--pre-norm"],
    ["--seed", "15", "--relative", "20", "--heads", "8"],
    ["--seed", "16", "--decoder", "gru", "--layers", "1,1", "--zero-start"],
    ["--seed", "17", "--decoder", "gru", "--rnn-norm", "--cells", "2,4", "--untied", "--separate", "--zero-start"],
    ["--seed", "18", "--decoder", "gru", "--rnn-encoder", "bi-unidirectional", "--layers", "4,3", "--rnn-skip"],
    ["--seed", "19", "--decoder", "lstm", "--rnn-encoder", "alternating", "--layers", "3,2", "--zero-start"],
    ["--seed", "20", "--decoder", "lstm", "--rnn-norm", "--cells", "2,3", "--layers", "2,2", "--rnn-skip"],
]


def golden(mkmodel):
    """Sources and targets stay below id 140, which every shape's vocabularies have."""
    rng = np.random.default_rng(2)
    shapes = []
    for options in SHAPES:
        with tempfile.TemporaryDirectory() as parent:
            directory = parent + "/model"
            subprocess.run([mkmodel, directory, *options], check=True)
            network, items = open_network(directory), []
            for n_source, n_target in ((1, 9), (7, 4), (18, 1)):
                source = [int(i) for i in rng.integers(2, 140, n_source)] + [0]
                target = [int(i) for i in rng.integers(2, 140, n_target)] + [0]
                items.append({"source": source, "target": target,
                              "token_logprobs": [round(x, 6) for x in score(network, source, target)],
                              "greedy": search(network, source, 1)["ids"],
                              "beam_4_score": round(search(network, source, 4)["score"], 6)})
        shapes.append({"mkmodel": options, "sentences": items})
    with open(os.path.join(os.path.dirname(__file__), "shapes.json"), "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(shape, separators=(",", ":")) for shape in shapes) + "\n]\n")


STRIDES = 8, 125
CLEAR = 0.3  # of log-probability between the best word and the next: a smaller lead may be lost with 8-bit weights or activations


def is_clear(network, source, ids):
    rows = np.sort(network.decode(network.encode(source), ids[:-1]), axis=1)
    return bool(np.all(rows[:, -1] - rows[:, -2] > CLEAR))


def tree(directory, sources):
    """Keeps the sources whose greedy choices are clear, and the network's values for the first three."""
    network, searched, sentences = open_network(directory), [], []
    for source in sources:
        greedy = search(network, source, 1)["ids"]
        if len(searched) == 40 or not is_clear(network, source, greedy):
            continue
        searched.append({"src_ids": source, "greedy_ids": greedy,
                         "beam4_norm": search(network, source, 4, "refills")["score"],
                         "beam4_narrows": search(network, source, 4)["score"]})
        if len(sentences) < 3:
            encoder, logits = network.encode(source), network.decode(network.encode(source), greedy[:-1])
            sentences.append({"src_ids": source, "greedy_ids": greedy,
                              "encoder": np.round(encoder[:, ::STRIDES[0]], 5).tolist(),
                              "logits": np.round(logits[:, ::STRIDES[1]], 5).tolist()})
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "fr-en.json"), "w") as file:
        json.dump({"about": "Slices of what reference.py computes from the weights of models/fr-en: the encoder's output at "
                            f"every {STRIDES[0]}th column, the logits of the greedy target at every {STRIDES[1]}th word.",
                   "encoder_stride": STRIDES[0], "logits_stride": STRIDES[1], "sentences": sentences}, file)
        file.write("\n")
    with open(os.path.join(here, "fr-en-search.json"), "w") as file:
        file.write("[\n" + ",\n".join(map(json.dumps, searched)) + "\n]\n")


def main(arguments):
    command, directory = arguments[1], arguments[2]
    if command == "golden":
        return golden(directory)
    if command == "tree":
        return tree(directory, [numbers(line) for line in sys.stdin])
    network = open_network(directory)
    if command == "check":
        n = int(arguments[4]) if len(arguments) > 4 else 20
        return 0 if check(network, directory, arguments[3], n) else 1
    for line in sys.stdin:
        if command == "score":
            source, target = line.split("\t")
            logprobs = score(network, numbers(source), numbers(target))
            print(json.dumps({"token_logprobs": logprobs, "logprob": sum(logprobs),
                              "score": sum(logprobs) / len(logprobs)}))
        else:
            print(json.dumps(search(network, numbers(line), int(arguments[3]))))
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("score", "search", "check", "golden", "tree"):
        sys.exit(__doc__)
    sys.exit(main(sys.argv))
