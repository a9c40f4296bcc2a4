# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""The Transformer of `dragoman train` in PyTorch: norms before each block and at the end of both
stacks, sines and cosines in halves, and one table of embeddings for both sides and the output. Its
parameters have the names of model.safetensors, so its weights can be stored in a model directory
without any conversion. tests/golden/reference.py is the same network in numpy."""
import json
import math
import struct

import torch
from torch import nn
from torch.nn import functional


def attend(query, key, value, mask=None, causal=False):
    """Attention by the softmax of scaled products. mask: True for keys that may be attended to.
    PyTorch 2 has one kernel for it; the longer form is for PyTorch 1.13, which the tests run on a
    processor."""
    if hasattr(functional, "scaled_dot_product_attention"):
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=causal)
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    if causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, -1) @ value


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(width, width) for _ in range(4))

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def keys_and_values(self, memory):
        return self.split(self.k_proj(memory)), self.split(self.v_proj(memory))

    def forward(self, x, keys_and_values, mask=None, causal=False):
        mixed = attend(self.split(self.q_proj(x)), *keys_and_values, mask, causal)
        return self.out_proj(mixed.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """A layer of either stack; a decoder layer attends to the encoder's output as well."""

    def __init__(self, width, heads, hidden, dropout, crosses):
        super().__init__()
        self.self_attn, self.self_attn_layer_norm = Attention(width, heads), nn.LayerNorm(width)
        if crosses:
            self.encoder_attn, self.encoder_attn_layer_norm = Attention(width, heads), nn.LayerNorm(width)
        self.fc1, self.fc2, self.final_layer_norm = nn.Linear(width, hidden), nn.Linear(hidden, width), nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def feed_forward(self, x):
        hidden = functional.relu(self.fc1(self.final_layer_norm(x)))
        return x + self.dropout(self.fc2(self.dropout(hidden)))

    def forward(self, x, mask=None, causal=False, memory=None, memory_mask=None):
        """Whole sequences. memory: the encoder's output, for a layer of the decoder."""
        normed = self.self_attn_layer_norm(x)
        own = self.self_attn.keys_and_values(normed)
        x = x + self.dropout(self.self_attn(normed, own, mask, causal))
        if memory is not None:
            normed = self.encoder_attn_layer_norm(x)
            across = self.encoder_attn.keys_and_values(memory)
            x = x + self.dropout(self.encoder_attn(normed, across, memory_mask))
        return self.feed_forward(x)


class Stack(nn.Module):
    def __init__(self, n, *shape):
        super().__init__()
        self.layers = nn.ModuleList(Layer(*shape) for _ in range(n))
        self.layer_norm = nn.LayerNorm(shape[0])


class Network(nn.Module):
    """Built from a config.json of dragoman. The decoder's first embedding is a zero vector."""

    POSITIONS = 1024

    def __init__(self, config, dropout=0.1):
        super().__init__()
        expected = {"model_type": "dragoman", "norm_place": "pre", "final_norm": True, "positions": "halves",
                    "decoder_start": "zero", "activation_function": "relu", "decoder_kind": "attention",
                    "share_encoder_decoder_embeddings": True, "tie_word_embeddings": True}
        for key, value in expected.items():
            if config[key] != value:
                raise SystemExit(f"config.json: {key} is {config[key]!r}; this program knows {value!r} only")
        width, self.scale = config["d_model"], config["embedding_scale"]

        def stack(side):
            return Stack(config[f"{side}_layers"], width, config[f"{side}_attention_heads"],
                         config[f"{side}_ffn_dim"], dropout, side == "decoder")
        self.model = nn.ModuleDict({"shared": nn.Embedding(config["vocab_size"], width),
                                    "encoder": stack("encoder"), "decoder": stack("decoder")})
        self.final_logits_bias = nn.Parameter(torch.zeros(config["vocab_size"]))
        self.dropout = nn.Dropout(dropout)
        half = width // 2
        angles = torch.arange(self.POSITIONS)[:, None] * 10000.0 ** (-torch.arange(half) / half)
        self.register_buffer("waves", torch.cat([angles.sin(), angles.cos()], 1), persistent=False)
        nn.init.normal_(self.model["shared"].weight, std=width ** -0.5)
        for parameter in (p for name, p in self.named_parameters() if name.endswith("_proj.weight") or ".fc" in name):
            if parameter.dim() == 2:
                nn.init.xavier_uniform_(parameter)

    def embed(self, ids, first=0, start=False):
        """start: a zero vector is put before the embeddings."""
        x = self.model["shared"](ids) * self.scale
        if start:
            x = functional.pad(x, (0, 0, 1, 0))
        return self.dropout(x + self.waves[first:first + x.shape[1]])

    def encode(self, ids, mask):
        """mask [batch, 1, 1, tokens]: True where there is a token."""
        x = self.embed(ids)
        for layer in self.model["encoder"].layers:
            x = layer(x, mask)
        return self.model["encoder"].layer_norm(x)

    def logits(self, x):
        return functional.linear(self.model["decoder"].layer_norm(x), self.model["shared"].weight,
                                 self.final_logits_bias)

    def forward(self, source, mask, target):
        """Logits of each token of `target`, given those before it."""
        memory = self.encode(source, mask)
        x = self.embed(target[:, :-1], start=True)
        for layer in self.model["decoder"].layers:
            x = layer(x, causal=True, memory=memory, memory_mask=mask)
        return self.logits(x)


def write_safetensors(path, tensors):
    """Tensors by name, as F16."""
    header, at, parts = {}, 0, []
    for name, tensor in sorted(tensors.items()):
        data = tensor.detach().to("cpu", torch.float16).contiguous().numpy().tobytes()
        header[name] = {"dtype": "F16", "shape": list(tensor.shape), "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + b"".join(parts))
