#!/usr/bin/python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Losses and gradients of two small Transformers, two language models and an encoder with several labels, by PyTorch
(Debian: python3-torch), in doubles. src/train/pass must reproduce them. This program shares nothing with the C except the
names of parameters; weights are a formula that both compute.

    gradients.py > gradients.tsv

Lines: case<TAB>"loss"<TAB>value, then case<TAB>parameter<TAB>its number in the formula<TAB>gradient, spaces between.
tests/unit/train/test_golden.c reads them."""
import math
import sys

try:
    import torch
except ImportError:
    print("skipped: needs python3-torch", file=sys.stderr)
    sys.exit(77)

D, F, V, HEADS, SMOOTHING = 8, 12, 13, 2, 0.1
PAIRS = [([3, 4, 5, 6, 0], [7, 8, 0]), ([9, 0], [2, 3, 4, 5, 12, 0]), ([10, 10, 11, 0], [0])]


def shapes(case):
    """Names and shapes, in any order: the number of a parameter is its place here."""
    out = {"model.shared.weight": (V, D)} if case == "post" else {
        "model.encoder.embed_tokens.weight": (V, D), "model.decoder.embed_tokens.weight": (V, D), "lm_head.weight": (V, D)}
    for stack in ("encoder", "decoder"):
        for layer in range(2 if stack == "encoder" else 1):
            prefix = f"model.{stack}.layers.{layer}."
            for attention in ("self_attn", "encoder_attn")[: 1 if stack == "encoder" else 2]:
                for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    out[f"{prefix}{attention}.{part}.weight"] = (D, D)
                    out[f"{prefix}{attention}.{part}.bias"] = (D,)
                out[f"{prefix}{attention}_layer_norm.weight"] = (D,)
                out[f"{prefix}{attention}_layer_norm.bias"] = (D,)
            out[prefix + "fc1.weight"], out[prefix + "fc1.bias"] = (F, D), (F,)
            out[prefix + "fc2.weight"], out[prefix + "fc2.bias"] = (D, F), (D,)
            out[prefix + "final_layer_norm.weight"], out[prefix + "final_layer_norm.bias"] = (D,), (D,)
        if case == "pre":
            out[f"model.{stack}.layer_norm.weight"], out[f"model.{stack}.layer_norm.bias"] = (D,), (D,)
    out["final_logits_bias"] = (V,)
    return out


def weights(named):
    made = {}
    for number, (name, shape) in enumerate(named.items()):
        n = math.prod(shape)
        values = [0.25 * math.sin(1.7 * j + 0.61 * number + 1.0) + (1.0 if "norm.weight" in name else 0.0) for j in range(n)]
        # As floats, as in the C.
        made[name] = torch.tensor(values, dtype=torch.float32).double().reshape(shape).requires_grad_()
    return made


def positions(n):
    half = D // 2
    rows = torch.zeros(n, D, dtype=torch.float64)
    for p in range(n):
        for k in range(half):
            angle = p * 10000.0 ** (-k / half)
            rows[p, k], rows[p, half + k] = math.sin(angle), math.cos(angle)
    return rows


class Network:
    def __init__(self, case, w):
        self.pre, self.w = case == "pre", w
        self.source = w.get("model.encoder.embed_tokens.weight", w.get("model.shared.weight"))
        self.target = w.get("model.decoder.embed_tokens.weight", w.get("model.shared.weight"))
        self.output = w.get("lm_head.weight", w.get("model.shared.weight"))

    def linear(self, x, name):
        return torch.nn.functional.linear(x, self.w[name + ".weight"], self.w[name + ".bias"])

    def norm(self, x, name):
        return torch.nn.functional.layer_norm(x, (D,), self.w[name + ".weight"], self.w[name + ".bias"], 1e-5)

    def attend(self, x, keys, name, causal):
        q, k, v = (self.linear(y, f"{name}.{part}").reshape(-1, HEADS, D // HEADS).transpose(0, 1)
                   for y, part in ((x, "q_proj"), (keys, "k_proj"), (keys, "v_proj")))
        scores = q @ k.transpose(1, 2) / math.sqrt(D // HEADS)
        if causal:
            scores = scores.masked_fill(torch.ones(scores.shape[1:]).triu(1).bool(), float("-inf"))
        return self.linear((scores.softmax(-1) @ v).transpose(0, 1).reshape(-1, D), name + ".out_proj")

    def sub(self, x, f, norm):
        return x + f(self.norm(x, norm)) if self.pre else self.norm(x + f(x), norm)

    def ffn(self, x, prefix):
        act = (lambda y: torch.nn.functional.silu(y)) if self.pre else torch.relu
        return self.linear(act(self.linear(x, prefix + "fc1")), prefix + "fc2")

    def stack(self, x, name, n, encoded=None):
        for i in range(n):
            p = f"model.{name}.layers.{i}."
            x = self.sub(x, lambda y, p=p: self.attend(y, y, p + "self_attn", encoded is not None), p + "self_attn_layer_norm")
            if encoded is not None:
                x = self.sub(x, lambda y, p=p: self.attend(y, encoded, p + "encoder_attn", False),
                             p + "encoder_attn_layer_norm")
            x = self.sub(x, lambda y, p=p: self.ffn(y, p), p + "final_layer_norm")
        return self.norm(x, f"model.{name}.layer_norm") if self.pre else x

    def loss(self, source, target):
        scale = math.sqrt(D)
        encoded = self.stack(self.source[source] * scale + positions(len(source)), "encoder", 2)
        begin = torch.zeros(1, D, dtype=torch.float64)
        inputs = torch.cat([begin, self.target[target[:-1]] * scale]) + positions(len(target))
        logits = self.stack(inputs, "decoder", 1, encoded) @ self.output.T + self.w["final_logits_bias"]
        logs = logits.log_softmax(-1)
        picked = logs[torch.arange(len(target)), torch.tensor(target)]
        return -((1 - SMOOTHING) * picked + SMOOTHING * logs.mean(-1)).sum()


# ---- Language models ---------------------------------------------------------------------------------

TEXTS = [([0], [7, 8, 3, 0]), ([0, 9, 4, 4], [2, 3, 4, 5, 12, 0]), ([10, 10, 11], [0])]
HEAD, CONTEXT, THETA = 4, 16, 30.0


def lm_shapes(case):
    """gpt: learned positions, layer norms, GELU, biases, tied. llama: rotary, RMS norms, gates, 2 heads of keys for 4."""
    gpt = case == "gpt"
    heads, keys = (2, 2) if gpt else (4, 2)
    out = {"model.embed_tokens.weight": (V, D)}
    out.update({"model.embed_positions.weight": (CONTEXT, D)} if gpt else {"lm_head.weight": (V, D)})
    for layer in range(2):
        p = f"model.layers.{layer}."
        matrices = {"self_attn.q_proj": (heads * HEAD, D), "self_attn.k_proj": (keys * HEAD, D),
                    "self_attn.v_proj": (keys * HEAD, D), "self_attn.o_proj": (D, heads * HEAD), "mlp.up_proj": (F, D),
                    "mlp.down_proj": (D, F)}
        if not gpt:
            matrices["mlp.gate_proj"] = (F, D)
        for name, shape in matrices.items():
            out[f"{p}{name}.weight"] = shape
            if gpt:
                out[f"{p}{name}.bias"] = shape[:1]
        for name in ("input_layernorm", "post_attention_layernorm"):
            out[f"{p}{name}.weight"] = (D,)
            if gpt:
                out[f"{p}{name}.bias"] = (D,)
    out["model.norm.weight"] = (D,)
    if gpt:
        out["model.norm.bias"] = (D,)
    return out


class LanguageModel:
    def __init__(self, case, w):
        self.gpt, self.w = case == "gpt", w

    def linear(self, x, name):
        return torch.nn.functional.linear(x, self.w[name + ".weight"], self.w.get(name + ".bias"))

    def norm(self, x, name):
        if self.gpt:
            return torch.nn.functional.layer_norm(x, (D,), self.w[name + ".weight"], self.w[name + ".bias"], 1e-5)
        return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * self.w[name + ".weight"]

    def turn(self, x):
        """Rotary positions on [heads, n, HEAD], as complex numbers."""
        half = HEAD // 2
        angle = torch.arange(x.shape[1]).double()[:, None] * THETA ** (-torch.arange(half).double() / half)
        turned = torch.complex(x[..., :half], x[..., half:]) * torch.polar(torch.ones_like(angle), angle)
        return torch.cat([turned.real, turned.imag], -1)

    def attend(self, x, p):
        q, k, v = (self.linear(x, f"{p}self_attn.{part}_proj").reshape(len(x), -1, HEAD).transpose(0, 1) for part in "qkv")
        if not self.gpt:
            q, k = self.turn(q), self.turn(k)
            k, v = k.repeat_interleave(2, 0), v.repeat_interleave(2, 0)
        scores = q @ k.transpose(1, 2) / math.sqrt(HEAD)
        scores = scores.masked_fill(torch.ones(scores.shape[1:]).triu(1).bool(), float("-inf"))
        return self.linear((scores.softmax(-1) @ v).transpose(0, 1).reshape(len(x), -1), p + "self_attn.o_proj")

    def feed_forward(self, x, p):
        up = self.linear(x, p + "mlp.up_proj")
        hidden = (torch.nn.functional.gelu(up, approximate="tanh") if self.gpt
                  else torch.nn.functional.silu(self.linear(x, p + "mlp.gate_proj")) * up)
        return self.linear(hidden, p + "mlp.down_proj")

    def loss(self, source, target):
        read = source + target[:-1]
        x = self.w["model.embed_tokens.weight"][read]
        if self.gpt:
            x = x + self.w["model.embed_positions.weight"][:len(read)]
        for layer in range(2):
            p = f"model.layers.{layer}."
            x = x + self.attend(self.norm(x, p + "input_layernorm"), p)
            x = x + self.feed_forward(self.norm(x, p + "post_attention_layernorm"), p)
        output = self.w.get("lm_head.weight", self.w["model.embed_tokens.weight"])
        logs = (self.norm(x, "model.norm") @ output.T).log_softmax(-1)[len(source) - 1:]
        picked = logs[torch.arange(len(target)), torch.tensor(target)]
        return -((1 - SMOOTHING) * picked + SMOOTHING * logs.mean(-1)).sum()


# ---- An encoder alone: any number of labels of a text or a pair --------------------------------------------

LABELS = 5
READ = [([2, 7, 8, 9, 3], 0, [0, 3]), ([2, 10, 11, 3, 12, 5, 6, 3], 4, []), ([2, 4, 3], 0, [4])]  # ids, second, labels


def enc_shapes():
    out = {"model.encoder.embed_tokens.weight": (V, D), "model.encoder.embed_positions.weight": (CONTEXT, D),
           "model.encoder.embed_types.weight": (2, D), "model.encoder.layernorm_embedding.weight": (D,),
           "model.encoder.layernorm_embedding.bias": (D,)}
    out.update({name: shape for name, shape in shapes("post").items() if name.startswith("model.encoder.layers")})
    out["head.dense.weight"], out["head.dense.bias"] = (D, D), (D,)
    out["head.out.weight"], out["head.out.bias"] = (LABELS, D), (LABELS,)
    return out


class Encoder(Network):
    """BERT's, with BCEWithLogitsLoss, which Hugging Face uses for multi_label_classification."""

    def ffn(self, x, prefix):
        return self.linear(torch.nn.functional.gelu(self.linear(x, prefix + "fc1")), prefix + "fc2")

    def loss(self, ids, second, labels):
        p = "model.encoder."
        types = torch.tensor([int(second > 0 and i >= second) for i in range(len(ids))])
        x = (self.w[p + "embed_tokens.weight"][ids] + self.w[p + "embed_positions.weight"][:len(ids)]
             + self.w[p + "embed_types.weight"][types])
        x = self.stack(self.norm(x, p + "layernorm_embedding"), "encoder", 2)
        logits = self.linear(torch.tanh(self.linear(x[0], "head.dense")), "head.out")
        wanted = torch.tensor([float(i in labels) for i in range(LABELS)], dtype=torch.float64)
        return torch.nn.BCEWithLogitsLoss()(logits, wanted * (1 - SMOOTHING) + 0.5 * SMOOTHING)


def make(case):
    """Its weights, and its loss."""
    if case == "labels":
        w = weights(enc_shapes())
        return w, sum(Encoder(case, w).loss(*read) for read in READ) / len(READ)
    is_lm = case in ("gpt", "llama")
    w = weights(lm_shapes(case) if is_lm else shapes(case))
    network, pairs = (LanguageModel(case, w), TEXTS) if is_lm else (Network(case, w), PAIRS)
    return w, sum(network.loss(source, target) for source, target in pairs) / sum(len(target) for _, target in pairs)


def main():
    for case in ("post", "pre", "gpt", "llama", "labels"):
        w, loss = make(case)
        loss.backward()
        print(f"{case}\tloss\t{loss.item():.12g}")
        for number, (name, tensor) in enumerate(w.items()):
            print(f"{case}\t{name}\t{number}\t" + " ".join(f"{x:.6g}" for x in tensor.grad.flatten().tolist()))


if __name__ == "__main__":
    main()
