#!/usr/bin/python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Language models in numpy and nothing else: uncached, doubles, no code in common with the C.

    lm.py make FOLDER     tiny random models as Hugging Face directories (config.json, tokenizer.json, weights in F16),
                          the same for everybody; tests/data/lm is made with it
    lm.py golden FOLDER   logits of these models for a few prompts, into lm.json beside this file
    lm.py torch FOLDER    the same logits by PyTorch's functions, and how far the two differ

Shapes: gpt2 (learned positions, layer norms, GELU, tied head), llama (rotary, RMS norms, gated SiLU, two heads of keys
for four of queries), scaled (Llama 3's stretched angles, heads wider than their share, biases, a tied head).
"""
import json
import math
import os
import struct
import sys

import numpy as np

TEXT = """The little house stands on the hill. A man came home late in the evening and said that he had seen
the river rise. It is cold; the wind comes from the north, and nobody knows what the morning will bring. Don't wait,
they'll come. We have 12 apples and 340 pears. Das kleine Haus steht am Fluss. Où est la gare ? Ça va très bien."""


# ---- Vocabulary --------------------------------------------------------------------------------------

def byte_letters():
    """GPT-2's letters for bytes: printable ones stand for themselves, the others for U+0100 on."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, n = {b: chr(b) for b in own}, 0
    for b in range(256):
        if b not in letters:
            letters[b] = chr(256 + n)
            n += 1
    return letters


def train(words, n_merges):
    """Plain byte pair encoding: the most frequent pair, the first of several, again and again."""
    merges = []
    for _ in range(n_merges):
        pairs = {}
        for word in words:
            for pair in zip(word, word[1:]):
                pairs[pair] = pairs.get(pair, 0) + 1
        best = max(pairs, key=pairs.get)
        merges.append(best)
        for i, word in enumerate(words):
            out, at = [], 0
            while at < len(word):
                if tuple(word[at:at + 2]) == best:
                    out.append(word[at] + word[at + 1])
                    at += 2
                else:
                    out.append(word[at])
                    at += 1
            words[i] = out
    return merges


def byte_level(pattern, special, n_merges=60):
    letters = byte_letters()
    words = [[letters[b] for b in (" " + word if i else word).encode()]
             for i, word in enumerate(TEXT.replace("\n", " ").split(" "))]
    merges = train(words, n_merges)
    tokens = [letters[b] for b in sorted(letters, key=lambda b: ord(letters[b]))] + [a + b for a, b in merges]
    vocab = {token: i for i, token in enumerate(tokens)}
    before = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": pattern is None}
    if pattern:
        before = {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}, before]}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": len(vocab) + i, "content": text, "single_word": False, "lstrip": False,
                          "rstrip": False, "normalized": False, "special": True} for i, text in enumerate(special)],
        "normalizer": None, "pre_tokenizer": before,
        "post_processor": None if pattern is None else {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": special[0], "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [], "special_tokens": {special[0]: {
                "id": special[0], "ids": [len(vocab)], "tokens": [special[0]]}}},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "vocab": vocab,
                  "merges": [f"{a} {b}" for a, b in merges]},
    }


LLAMA_3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
           r"|\s+(?!\S)|\s+")


def sentencepiece_like(n_merges=60):
    """As in Llama 2: spaces are U+2581, and what has no token becomes bytes."""
    space = "\u2581"
    words = [list((space + word)) for word in TEXT.replace("\n", " ").split(" ")]
    merges = train(words, n_merges)
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    tokens += sorted({c for c in TEXT if c not in "\n "} | {space} - {"à"}) + [a + b for a, b in merges]
    vocab = {token: i for i, token in enumerate(tokens)}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": i, "content": tokens[i], "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": True} for i in range(3)],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": space}, {"type": "Replace", "pattern": {"String": " "}, "content": space}]},
        "pre_tokenizer": None,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": space}, "content": " "}, {"type": "ByteFallback"},
            {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "vocab": vocab,
                  "merges": [f"{a} {b}" for a, b in merges]},
    }


# ---- Models ------------------------------------------------------------------------------------------

GPT2 = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "activation_function": "gelu_new", "n_embd": 16,
        "n_head": 4, "n_inner": None, "n_layer": 2, "n_positions": 64, "layer_norm_epsilon": 1e-5}
LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": 16,
         "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
         "max_position_embeddings": 96, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "attention_bias": False,
         "mlp_bias": False, "tie_word_embeddings": False}
SCALED = {**LLAMA, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 8, "tie_word_embeddings": True,
          "attention_bias": True, "rope_theta": 500.0,
          "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                           "original_max_position_embeddings": 32, "rope_type": "llama3"}}


def describe(name):
    if name == "gpt2":
        tokenizer, config = byte_level(None, ["<|endoftext|>"]), dict(GPT2)
        end = tokenizer["added_tokens"][0]["id"]
        config.update(bos_token_id=end, eos_token_id=end)
    elif name == "llama":
        tokenizer, config = byte_level(LLAMA_3, ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"]), dict(LLAMA)
        first = tokenizer["added_tokens"][0]["id"]
        config.update(bos_token_id=first, eos_token_id=[first + 1, first + 2])
    else:
        tokenizer, config = sentencepiece_like(), dict(SCALED)
        config.update(bos_token_id=1, eos_token_id=2)
    ids = list(tokenizer["model"]["vocab"].values()) + [token["id"] for token in tokenizer["added_tokens"]]
    config["vocab_size"] = max(ids) + 1
    return config, tokenizer


def shapes(config):
    V = config["vocab_size"]
    if config["model_type"] == "gpt2":
        D, out = config["n_embd"], {"wte.weight": (V, config["n_embd"])}
        out["wpe.weight"] = (config["n_positions"], D)
        for i in range(config["n_layer"]):
            layer = f"h.{i}."
            for norm in ("ln_1", "ln_2"):
                out[layer + norm + ".weight"] = out[layer + norm + ".bias"] = (D,)
            for linear, size in (("attn.c_attn", (D, 3 * D)), ("attn.c_proj", (D, D)), ("mlp.c_fc", (D, 4 * D)),
                                 ("mlp.c_proj", (4 * D, D))):
                out[layer + linear + ".weight"], out[layer + linear + ".bias"] = size, (size[1],)
        out["ln_f.weight"] = out["ln_f.bias"] = (D,)
        return out
    D, F, H, K = (config[key] for key in ("hidden_size", "intermediate_size", "num_attention_heads",
                                          "num_key_value_heads"))
    width = config.get("head_dim", D // H)
    out = {"model.embed_tokens.weight": (V, D), "model.norm.weight": (D,)}
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        out[layer + "input_layernorm.weight"] = out[layer + "post_attention_layernorm.weight"] = (D,)
        for name, size in (("q", (H * width, D)), ("k", (K * width, D)), ("v", (K * width, D)), ("o", (D, H * width))):
            out[layer + f"self_attn.{name}_proj.weight"] = size
            if config["attention_bias"]:
                out[layer + f"self_attn.{name}_proj.bias"] = (size[0],)
        for name, size in (("gate", (F, D)), ("up", (F, D)), ("down", (D, F))):
            out[layer + f"mlp.{name}_proj.weight"] = size
    if not config["tie_word_embeddings"]:
        out["lm_head.weight"] = (V, D)
    return out


def random_weights(config, seed):
    rng, weights = np.random.default_rng(seed), {}
    for name, shape in shapes(config).items():
        values = rng.uniform(-1, 1, shape)
        if len(shape) == 1:
            values = 0.2 * values + ("bias" not in name)
        else:
            values *= 1.7 / math.sqrt(shape[0] if name.startswith("h.") else shape[-1])
            if name in ("wte.weight", "model.embed_tokens.weight", "lm_head.weight"):
                values *= 2
        weights[name] = values.astype(np.float16)
    return weights


def write_safetensors(path, weights):
    header, at = {}, 0
    for name, values in weights.items():
        header[name] = {"dtype": "F16", "shape": list(values.shape), "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(v.tobytes() for v in weights.values()))


NAMES = ("gpt2", "llama", "scaled")


def make(folder):
    for seed, name in enumerate(NAMES):
        config, tokenizer = describe(name)
        os.makedirs(f"{folder}/{name}", exist_ok=True)
        with open(f"{folder}/{name}/config.json", "w") as file:
            file.write(json.dumps(config, indent=2) + "\n")
        with open(f"{folder}/{name}/tokenizer.json", "w") as file:
            file.write(json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")) + "\n")
        write_safetensors(f"{folder}/{name}/model.safetensors", random_weights(config, seed))


# ---- Mathematics -------------------------------------------------------------------------------------

def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(x, gain, bias, eps):
    x = x - x.mean(axis=-1, keepdims=True)
    return x / np.sqrt((x ** 2).mean(axis=-1, keepdims=True) + eps) * gain + bias


def rms_norm(x, gain, eps):
    return x / np.sqrt((x ** 2).mean(axis=-1, keepdims=True) + eps) * gain


def gelu_new(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def silu(x):
    return x / (1 + np.exp(-x))


def attend(q, k, v):
    """[T, heads, width] each, as many heads everywhere."""
    scores = np.einsum("qhd,khd->hqk", q, k) / math.sqrt(q.shape[-1])
    scores = np.where(np.tril(np.ones(scores.shape[1:], bool)), scores, -np.inf)
    return np.einsum("hqk,khd->qhd", softmax(scores), v).reshape(len(q), -1)


def angles(config, width, n):
    step = config["rope_theta"] ** (-np.arange(0, width, 2) / width)
    scaling = config.get("rope_scaling")
    if scaling:
        for i, plain in enumerate(list(step)):
            wavelength = 2 * math.pi / plain
            low = scaling["original_max_position_embeddings"] / scaling["low_freq_factor"]
            high = scaling["original_max_position_embeddings"] / scaling["high_freq_factor"]
            if wavelength > low:
                step[i] = plain / scaling["factor"]
            elif wavelength >= high:
                smooth = (scaling["original_max_position_embeddings"] / wavelength - scaling["low_freq_factor"]) / (
                    scaling["high_freq_factor"] - scaling["low_freq_factor"])
                step[i] = (1 - smooth) * plain / scaling["factor"] + smooth * plain
    return np.arange(n)[:, None] * step


def turn(x, angle):
    cosine, sine = (np.concatenate([f(angle), f(angle)], axis=-1)[:, None, :] for f in (np.cos, np.sin))
    half = x.shape[-1] // 2
    return x * cosine + np.concatenate([-x[..., half:], x[..., :half]], axis=-1) * sine


def gpt2(config, w, ids):
    x = w["wte.weight"][ids] + w["wpe.weight"][:len(ids)]
    eps, H = config["layer_norm_epsilon"], config["n_head"]
    for i in range(config["n_layer"]):
        def get(name):
            return w[f"h.{i}.{name}.weight"], w[f"h.{i}.{name}.bias"]
        (m, b), y = get("attn.c_attn"), layer_norm(x, *get("ln_1"), eps)
        q, k, v = (part.reshape(len(ids), H, -1) for part in np.split(y @ m + b, 3, axis=-1))
        m, b = get("attn.c_proj")
        x = x + attend(q, k, v) @ m + b
        (m, b), y = get("mlp.c_fc"), layer_norm(x, *get("ln_2"), eps)
        y = gelu_new(y @ m + b)
        m, b = get("mlp.c_proj")
        x = x + y @ m + b
    return layer_norm(x, w["ln_f.weight"], w["ln_f.bias"], eps) @ w["wte.weight"].T


def llama(config, w, ids):
    x = w["model.embed_tokens.weight"][ids]
    H, K, eps = config["num_attention_heads"], config["num_key_value_heads"], config["rms_norm_eps"]
    width = config.get("head_dim", config["hidden_size"] // H)
    angle = angles(config, width, len(ids))
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."

        def linear(y, name):
            y = y @ w[layer + name + ".weight"].T
            return y + w.get(layer + name + ".bias", 0)
        y = rms_norm(x, w[layer + "input_layernorm.weight"], eps)
        q, k, v = (linear(y, f"self_attn.{p}_proj").reshape(len(ids), -1, width) for p in "qkv")
        k, v = (np.repeat(part, H // K, axis=1) for part in (k, v))
        x = x + linear(attend(turn(q, angle), turn(k, angle), v), "self_attn.o_proj")
        y = rms_norm(x, w[layer + "post_attention_layernorm.weight"], eps)
        x = x + linear(silu(linear(y, "mlp.gate_proj")) * linear(y, "mlp.up_proj"), "mlp.down_proj")
    x = rms_norm(x, w["model.norm.weight"], eps)
    return x @ w.get("lm_head.weight", w["model.embed_tokens.weight"]).T


def logits(config, weights, ids):
    return (gpt2 if config["model_type"] == "gpt2" else llama)(config, weights, np.array(ids))


# ---- The same by PyTorch -------------------------------------------------------------------------------

def torch_logits(config, weights, ids):
    import torch
    import torch.nn.functional as f
    w = {name: torch.from_numpy(values) for name, values in weights.items()}
    T, mask = len(ids), torch.full((len(ids), len(ids)), -math.inf, dtype=torch.float64).triu(1)

    def attend_heads(q, k, v):
        q, k, v = (part.view(T, -1, part.shape[-1]).transpose(0, 1) for part in (q, k, v))
        return (f.softmax(q @ k.transpose(1, 2) / math.sqrt(q.shape[-1]) + mask, -1) @ v).transpose(0, 1).reshape(T, -1)
    if config["model_type"] == "gpt2":
        D, H = config["n_embd"], config["n_head"]
        x = f.embedding(torch.tensor(ids), w["wte.weight"]) + w["wpe.weight"][:T]
        for i in range(config["n_layer"]):
            get = lambda name: (w[f"h.{i}.{name}.weight"], w[f"h.{i}.{name}.bias"])
            m, b = get("attn.c_attn")
            q, k, v = (part.reshape(T, H, -1) for part in f.linear(f.layer_norm(x, (D,), *get("ln_1")), m.T, b).split(D, -1))
            m, b = get("attn.c_proj")
            x = x + f.linear(attend_heads(q, k, v), m.T, b)
            m, b = get("mlp.c_fc")
            y = f.gelu(f.linear(f.layer_norm(x, (D,), *get("ln_2")), m.T, b), approximate="tanh")
            m, b = get("mlp.c_proj")
            x = x + f.linear(y, m.T, b)
        return f.linear(f.layer_norm(x, (D,), w["ln_f.weight"], w["ln_f.bias"]), w["wte.weight"]).numpy()
    H, K, eps = config["num_attention_heads"], config["num_key_value_heads"], config["rms_norm_eps"]
    width = config.get("head_dim", config["hidden_size"] // H)
    turns = torch.polar(torch.ones(T, width // 2, dtype=torch.float64), torch.from_numpy(angles(config, width, T)))

    def spin(y):
        """As complex numbers, which gives the same."""
        both = torch.view_as_complex(torch.stack(y.split(width // 2, -1), -1).contiguous()) * turns[:, None]
        return torch.cat([both.real, both.imag], -1)
    norm = lambda y, name: y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + eps) * w[name]
    x = f.embedding(torch.tensor(ids), w["model.embed_tokens.weight"])
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        linear = lambda y, name: f.linear(y, w[layer + name + ".weight"], w.get(layer + name + ".bias"))
        y = norm(x, layer + "input_layernorm.weight")
        q, k, v = (linear(y, f"self_attn.{p}_proj").view(T, -1, width) for p in "qkv")
        k, v = (part.repeat_interleave(H // K, 1) for part in (spin(k), v))
        x = x + linear(attend_heads(spin(q), k, v), "self_attn.o_proj")
        y = norm(x, layer + "post_attention_layernorm.weight")
        x = x + linear(f.silu(linear(y, "mlp.gate_proj")) * linear(y, "mlp.up_proj"), "mlp.down_proj")
    return f.linear(norm(x, "model.norm.weight"), w.get("lm_head.weight", w["model.embed_tokens.weight"])).numpy()


# ---- Commands ------------------------------------------------------------------------------------------

PROMPTS = [[7, 30, 200, 41, 5, 90, 90, 12, 250, 3, 18], [100], [300, 299, 298, 1, 2] * 9]


def each(folder):
    for seed, name in enumerate(NAMES):
        config, _ = describe(name)
        weights = {key: value.astype(np.float64) for key, value in random_weights(config, seed).items()}
        with open(f"{folder}/{name}/config.json") as file:
            assert json.load(file) == config, f"{name}: made by another version; run make"
        for ids in PROMPTS:
            yield name, config, weights, ids


def golden(folder):
    out = []
    for name, config, weights, ids in each(folder):
        rows = logits(config, weights, ids)
        out.append({"model": name, "ids": ids, "stride": 7,
                    "logits": [[round(float(x), 6) for x in row[::7]] for row in rows[-12:]]})
    with open(os.path.join(os.path.dirname(__file__), "lm.json"), "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(item, separators=(",", ":")) for item in out) + "\n]\n")


def compare(folder):
    worst = max(np.abs(logits(config, weights, ids) - torch_logits(config, weights, ids)).max()
                for _, config, weights, ids in each(folder))
    print(f"differ by {worst:.2g} at most")
    return 0 if worst < 1e-9 else 1


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("make", "golden", "torch"):
        sys.exit(__doc__)
    sys.exit({"make": make, "golden": golden, "torch": compare}[sys.argv[1]](sys.argv[2]))
