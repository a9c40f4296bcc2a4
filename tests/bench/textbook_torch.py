# SPDX-License-Identifier: ISC
"""The textbook's recurrent translator in PyTorch, for comparison, trained on the pairs that
`dragoman train` has prepared.

    textbook_torch.py RUN-DIRECTORY STEPS [WINDOW] [--own] [--keep=FILE]

RUN-DIRECTORY holds training/pairs.bin and config.json of the run that docs/training/reference.md
describes. The program is that of PyTorch's well-known tutorial on sequence-to-sequence
translation: an embedding and a GRU; a decoder with attention by a linear layer over word and
state, dropout 0.1, a combining layer, relu, a GRU, log-softmax; one pair an iteration, teacher
forcing for half of them, NLL summed until the end or the first wrong word, two SGD optimisers
with rate 0.01.

The order of the pairs, the choice of the forced ones, dropout and start values are drawn as
dragoman draws them (seed 1), so that the losses can be compared window by window; `--own` takes
PyTorch's own start values, draws and random.choice, as the tutorial does. Prints for each window
the mean of loss/length, and the CPU milliseconds per iteration so far. It takes over an hour:
`--keep` writes the state into FILE after each window, and a run resumes from FILE when it
exists."""
import json
import os
import random
import resource
import struct
import sys

import numpy
import torch
from torch import nn
from torch.nn import functional

MASK = (1 << 64) - 1
GOLDEN = 0x9e3779b97f4a7c15


def mix(x):
    x = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    x = ((x ^ (x >> 27)) * 0x94d049bb133111eb) & MASK
    return x ^ (x >> 31)


def key(a, b):
    return mix((mix((a + GOLDEN) & MASK) + (b + 1) * 0xd1342543de82ef95) & MASK)


def mix_many(x):
    x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xbf58476d1ce4e5b9)
    x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94d049bb133111eb)
    return x ^ (x >> numpy.uint64(31))


def stream(seed, number, n):
    """The first n numbers of a random stream (train/data/random.h)."""
    state = numpy.uint64(key(seed, number)) + numpy.arange(1, n + 1, dtype=numpy.uint64) * numpy.uint64(GOLDEN)
    return mix_many(state)


def units(seed, number, n):
    return (stream(seed, number, n) >> numpy.uint64(11)).astype(numpy.float64) * 2.0 ** -53


def order(n, seed, epoch):
    at = list(range(n))
    draws = stream(seed, epoch, n)
    for k, i in enumerate(range(n, 1, -1)):
        j = ((int(draws[k]) >> 32) * i) >> 32
        at[i - 1], at[j] = at[j], at[i - 1]
    return at


def dropout_mask(batch_key, row, width, p=0.1):
    """What grad.inc's drop keeps of a row at place 1, that of the target's words."""
    k = mix((key(batch_key, 1) + row * GOLDEN) & MASK)
    low, high = numpy.uint32(k & 0xffffffff), numpy.uint32(k >> 32)
    h = (numpy.arange(width, dtype=numpy.uint32) * numpy.uint32(0x9e3779b1)) ^ low
    h = (h ^ (h >> numpy.uint32(16))) * numpy.uint32(0x85ebca6b)
    h = ((h ^ (h >> numpy.uint32(13))) + high) * numpy.uint32(0xc2b2ae35)
    h ^= h >> numpy.uint32(16)
    return torch.from_numpy(numpy.where(h < numpy.uint32(int(p * 4294967296.0)), 0.0, 1.0 / (1.0 - p)).astype(numpy.float32))


class Encoder(nn.Module):
    def __init__(self, n_words, width):
        super().__init__()
        self.embedding = nn.Embedding(n_words, width)
        self.gru = nn.GRU(width, width)

    def forward(self, word, hidden):
        return self.gru(self.embedding(word).view(1, 1, -1), hidden)


class Decoder(nn.Module):
    def __init__(self, n_words, width, places):
        super().__init__()
        self.embedding = nn.Embedding(n_words, width)
        self.attn = nn.Linear(width * 2, places)
        self.combine = nn.Linear(width * 2, width)
        self.dropout = nn.Dropout(0.1)
        self.gru = nn.GRU(width, width)
        self.out = nn.Linear(width, n_words)

    def forward(self, word, hidden, encoded, mask):
        embedded = self.embedding(word).view(1, 1, -1)
        embedded = self.dropout(embedded) if mask is None else embedded * mask
        weights = functional.softmax(self.attn(torch.cat((embedded[0], hidden[0]), 1)), dim=1)
        context = torch.bmm(weights.unsqueeze(0), encoded.unsqueeze(0))
        mixed = functional.relu(self.combine(torch.cat((embedded[0], context[0]), 1)).unsqueeze(0))
        output, hidden = self.gru(mixed, hidden)
        return functional.log_softmax(self.out(output[0]), dim=1), hidden


def parameters(encoder, decoder):
    """The parameters in the order of src/model/layout.c, matrices first."""
    matrices = [(encoder.embedding.weight, 0), (decoder.embedding.weight, 0), (encoder.gru.weight_ih_l0, 1),
                (encoder.gru.weight_hh_l0, 1), (decoder.gru.weight_ih_l0, 1), (decoder.gru.weight_hh_l0, 1),
                (decoder.attn.weight, 2), (decoder.combine.weight, 2), (decoder.out.weight, 1)]
    vectors = [(encoder.gru.bias_ih_l0, 1), (encoder.gru.bias_hh_l0, 1), (decoder.gru.bias_ih_l0, 1),
               (decoder.gru.bias_hh_l0, 1), (decoder.attn.bias, 2), (decoder.combine.bias, 2), (decoder.out.bias, 1)]
    return matrices + vectors


def begin(encoder, decoder, width, seed):
    """Sets the start values as dg_params_randomise does."""
    for number, (parameter, reads) in enumerate(parameters(encoder, decoder)):
        n = parameter.numel()
        if reads == 0:
            u = units(seed, number, 2 * n)
            values = numpy.sqrt(-2.0 * numpy.log(1.0 - u[0::2])) * numpy.cos(6.283185307179586 * u[1::2])
        else:
            values = (2.0 * units(seed, number, n) - 1.0) / numpy.sqrt(reads * width)
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(values.astype(numpy.float32)).view_as(parameter))


def read_pairs(path):
    with open(path, "rb") as file:
        data = file.read()
    n, n_ids = struct.unpack_from("<QQ", data, 8)
    offsets = numpy.frombuffer(data, numpy.uint64, 2 * n + 1, 24)
    ids = numpy.frombuffer(data, numpy.int32, n_ids, 24 + 8 * (2 * n + 1))
    return [(ids[offsets[2 * i]:offsets[2 * i + 1]].tolist(), ids[offsets[2 * i + 1]:offsets[2 * i + 2]].tolist())
            for i in range(n)]


def option(name):
    """The value of --name=VALUE, or None."""
    return next((a.partition("=")[2] for a in sys.argv[1:] if a.startswith(f"--{name}=")), None)


def keep(path, step, seconds, encoder, decoder):
    """Writes the state. SGD without momentum has no state of its own."""
    torch.save({"step": step, "seconds": seconds, "encoder": encoder.state_dict(), "decoder": decoder.state_dict(),
                "random": random.getstate(), "torch": torch.get_rng_state()}, path + ".new")
    os.replace(path + ".new", path)


def take_up(path, encoder, decoder):
    """Reads the state of an earlier run; returns the number of its steps, and its seconds."""
    kept = torch.load(path)
    encoder.load_state_dict(kept["encoder"])
    decoder.load_state_dict(kept["decoder"])
    random.setstate(kept["random"])
    torch.set_rng_state(kept["torch"])
    return kept["step"], kept["seconds"]


def main():
    own, kept = "--own" in sys.argv, option("keep")
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    directory, steps = arguments[0], int(arguments[1])
    window = int(arguments[2]) if len(arguments) > 2 else 1000
    torch.set_num_threads(1)
    numpy.seterr(over="ignore")
    with open(directory + "/config.json", encoding="utf-8") as file:
        config = json.load(file)
    pairs = read_pairs(directory + "/training/pairs.bin")
    width, places, eos, seed = config["d_model"], config["seq_places"], config["eos_token_id"], 1
    encoder = Encoder(config["vocab_size"], width)
    decoder = Decoder(config["decoder_vocab_size"], width, places)
    if not own:
        begin(encoder, decoder, width, seed)
    optimisers = [torch.optim.SGD(encoder.parameters(), lr=0.01), torch.optim.SGD(decoder.parameters(), lr=0.01)]
    criterion = nn.NLLLoss()
    first, before = take_up(kept, encoder, decoder) if kept and os.path.exists(kept) else (0, 0.0)
    total, epoch, at = 0.0, 0, []
    began = resource.getrusage(resource.RUSAGE_SELF)
    for step in range(first, steps):
        if own:
            source, target = random.choice(pairs)
        else:
            if epoch != step // len(pairs) + 1:
                epoch = step // len(pairs) + 1
                at = order(len(pairs), seed, epoch)
            source, target = pairs[at[step % len(pairs)]]
        batch_key = key(seed, step)
        forced = random.random() < 0.5 if own else float(units(batch_key, 0, 1)[0]) < 0.5
        for optimiser in optimisers:
            optimiser.zero_grad()
        hidden, encoded, loss = torch.zeros(1, 1, width), torch.zeros(places, width), 0
        for i, word in enumerate(source):
            output, hidden = encoder(torch.tensor([word]), hidden)
            encoded[i] = output[0, 0]
        word = torch.tensor([[eos]])
        for i, right in enumerate(target):
            mask = None if own else dropout_mask(batch_key, i, width)
            output, hidden = decoder(word, hidden, encoded, mask)
            loss = loss + criterion(output, torch.tensor([right]))
            word = torch.tensor([[right]]) if forced else output.topk(1)[1].squeeze().detach()
            if not forced and word.item() == eos:
                break
        loss.backward()
        for optimiser in optimisers:
            optimiser.step()
        total += loss.item() / len(target)
        if (step + 1) % window == 0:
            used = resource.getrusage(resource.RUSAGE_SELF)
            seconds = before + used.ru_utime + used.ru_stime - began.ru_utime - began.ru_stime
            print(f"step {step + 1}\tloss {total / window:.4f}\t{1000 * seconds / (step + 1):.2f} ms an iteration", flush=True)
            total = 0.0
            if kept:
                keep(kept, step + 1, seconds, encoder, decoder)


if __name__ == "__main__":
    main()
