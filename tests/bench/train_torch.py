# SPDX-License-Identifier: ISC
"""The training step of `dragoman train` in PyTorch, to compare speed and memory (Debian:
python3-torch).

    dragoman train --out RUN --steps 1 --dev-pairs 0 ... PAIRS     prepares the pairs, and makes one step
    /usr/bin/time -v dragoman train --resume RUN --steps 9         eight steps of ours
    python3 tests/bench/train_torch.py RUN 8                       eight of PyTorch's, on the same pairs

Both use the same blueprint (RUN/config.json), number of tokens per batch, label smoothing,
dropout, Adam and threads. PyTorch pads, so its batches are made of pairs of similar length, as
its users make them. It prints one line of key=value pairs.
"""
import json
import math
import os
import random
import resource
import sys
import time

try:
    import numpy as np
    import torch
    from torch import nn
except ImportError:
    print("skipped: needs python3-torch")
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models", "recipe", "gpu"))
from pairs import read_corpus  # noqa: E402

RUN, STEPS = sys.argv[1], int(sys.argv[2])
THREADS = int(os.environ.get("THREADS", "2"))
BATCH_TOKENS = 4096


def read_pairs(path):
    return [tuple(np.frombuffer(side, np.uint16).tolist() for side in pair) for pair in read_corpus(path)]


def batches(pairs):
    """Batches of at most BATCH_TOKENS tokens a side, of pairs of nearly the same length, in random order."""
    random.seed(1)
    pairs = sorted(pairs, key=lambda pair: (len(pair[1]), len(pair[0]), random.random()))
    out, batch, source, target = [], [], 0, 0
    for pair in pairs:
        if batch and (source + len(pair[0]) > BATCH_TOKENS or target + len(pair[1]) > BATCH_TOKENS):
            out.append(batch)
            batch, source, target = [], 0, 0
        batch.append(pair)
        source, target = source + len(pair[0]), target + len(pair[1])
    random.shuffle(out)
    return out


class Network(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.width = config["d_model"]
        self.embedding = nn.Embedding(config["vocab_size"] + 1, self.width)
        self.transformer = nn.Transformer(
            self.width, config["encoder_attention_heads"], config["encoder_layers"], config["decoder_layers"],
            config["encoder_ffn_dim"], dropout=0.1, activation="relu", batch_first=True)
        self.bias = nn.Parameter(torch.zeros(config["vocab_size"] + 1))
        self.dropout = nn.Dropout(0.1)
        angles = torch.arange(512).unsqueeze(1) * torch.exp(
            -math.log(10000.0) * torch.arange(self.width // 2) / (self.width // 2))
        self.register_buffer("positions", torch.cat([torch.sin(angles), torch.cos(angles)], 1))

    def embed(self, ids):
        return self.dropout(self.embedding(ids) * math.sqrt(self.width) + self.positions[:ids.shape[1]])

    def forward(self, source, target, pad):
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        hidden = self.transformer(self.embed(source), self.embed(target), tgt_mask=mask,
                                  src_key_padding_mask=source == pad, memory_key_padding_mask=source == pad)
        return hidden @ self.embedding.weight.T + self.bias


def main():
    with open(os.path.join(RUN, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    vocab = config.get("vocab_size") or config["encoder_vocab_size"]
    config["vocab_size"] = vocab
    torch.set_num_threads(THREADS)
    torch.manual_seed(1)
    network = Network(config)
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    criterion = nn.CrossEntropyLoss(ignore_index=vocab, label_smoothing=0.1)
    work = batches(read_pairs(os.path.join(RUN, "training", "pairs.bin")))
    tokens, started, cpu = 0, 0.0, 0.0
    for step in range(STEPS + 1):
        if step == 1:  # the first one warms up
            started, cpu, tokens = time.time(), time.process_time(), 0
        batch = work[step % len(work)]
        source = nn.utils.rnn.pad_sequence([torch.tensor(s) for s, _ in batch], True, vocab)
        target = nn.utils.rnn.pad_sequence([torch.tensor(t) for _, t in batch], True, vocab)
        inputs = torch.cat([torch.full((len(batch), 1), vocab), target[:, :-1]], 1)
        optimiser.zero_grad()
        logits = network(source, inputs, vocab)
        loss = criterion(logits.flatten(0, 1), target.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        tokens += sum(len(t) for _, t in batch)
    wall, cpu = time.time() - started, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"steps={STEPS} target_tokens={tokens} wall_s={wall:.2f} cpu_s={cpu:.2f} tokens_per_s={tokens / wall:.0f} "
          f"tokens_per_cpu_s={tokens / cpu:.0f} peak_mb={peak / 1024:.0f} torch={torch.__version__}")


main()
