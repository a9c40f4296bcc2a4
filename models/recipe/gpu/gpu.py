#!/usr/bin/python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Trains large teachers and small students on a GPU, in runs of some minutes:

    gpu.py teach  DIRECTION PAIRS WORK --minutes M      trains a teacher of 60 million parameters
    gpu.py answer DIRECTION PAIRS WORK --minutes M      translates the sources by it (beam of 4)
    gpu.py study  DIRECTION PAIRS WORK --minutes M      trains a student on the pairs and the answers
    gpu.py give   DIRECTION PAIRS WORK OUT              the student's weights, in parts of 12 MiB

DIRECTION is fr-en or en-fr. PAIRS is the file that pack.py wrote. WORK is a directory that keeps
the state: if the same command is run again, it goes on from there. --minutes is the length of a
stage. "teach" and "study" count it over all of their runs, and at its end the learning rate has
fallen to 0; "answer" counts the minutes of each run anew. --for limits how many of these minutes
this run may take (default: all). --steps instead of --minutes counts training steps, or batches of
answers."""
import argparse
import copy
import glob
import json
import math
import os
import time

import numpy as np
import torch
from torch.nn import functional

import batches
import pairs
import search
from network import Network, write_safetensors

TEACHER = {"d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8,
           "decoder_attention_heads": 8, "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072}
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PART = 12 << 20


def say(*words):
    print(time.strftime("%H:%M:%S"), *words, flush=True)


def half():
    """Products in BF16 on a GPU; a processor computes in F32."""
    return torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda")


def config_of(stage, given, options):
    """The network that a stage trains; the student has the shape of the run that pack.py packed."""
    if stage == "study":
        return given
    config = {**given, **TEACHER, **options.teacher}
    config["embedding_scale"] = math.sqrt(config["d_model"])
    return config


class Clock:
    """Tells how much of a stage is over, by time or by steps, and whether this run must stop."""

    def __init__(self, options, before, steps):
        self.options, self.before, self.steps = options, before, steps
        self.started = time.time()

    def spent(self):
        return self.before + time.time() - self.started

    def progress(self):
        options = self.options
        return self.steps / options.steps if options.steps else self.spent() / (60 * options.minutes)

    def over(self):
        return self.progress() >= 1 or time.time() - self.started >= 60 * (self.options.run_for or math.inf)


def rate(progress, most):
    """The learning rate rises in the first 4 % of a stage, then falls along half a cosine to 0."""
    return most * (progress / 0.04 if progress < 0.04 else 0.5 * (1 + math.cos(math.pi * min(1, (progress - 0.04) / 0.96))))


def loss_of(network, sources, targets, chosen, smoothing):
    source, source_there = sources.rows(chosen)
    target, target_there = targets.rows(chosen)
    with half():
        logits = network(source, source_there[:, None, None, :], target)
    return functional.cross_entropy(logits.float()[target_there], target[target_there], label_smoothing=smoothing)


@torch.no_grad()
def held_out(network, dev, tokens):
    network.eval()
    sources, targets = batches.Table(dev.sources, DEVICE), batches.Table(dev.targets, DEVICE)
    total = n = 0
    for batch in batches.cut(np.argsort(dev.targets.lengths), np.maximum(dev.sources.lengths, dev.targets.lengths), tokens):
        chosen = torch.as_tensor(batch, device=DEVICE)
        words = int(targets.lengths[chosen].sum())
        total += float(loss_of(network, sources, targets, chosen, 0)) * words
        n += words
    network.train()
    return total / n


def save(path, state):
    torch.save(state, path + ".new")
    os.replace(path + ".new", path)


def load(path):
    return torch.load(path, map_location=DEVICE) if os.path.exists(path) else None


def train(stage, config, found, dev, options):
    """Trains a teacher or a student, from its saved state if there is one, until time is up."""
    path = f"{options.work}/{stage}.{options.direction}.pt"
    torch.manual_seed(7)
    network = Network(config).to(DEVICE)
    average = copy.deepcopy(network).eval()
    most = options.rate or (0.0010 if stage == "teach" else 0.0020)
    optimiser = torch.optim.Adam(network.parameters(), lr=most, betas=(0.9, 0.98), eps=1e-9,
                                 **({"fused": True} if DEVICE == "cuda" else {}))
    state = load(path) or {"steps": 0, "seconds": 0.0}
    if state["steps"]:
        network.load_state_dict(state["network"])
        average.load_state_dict(state["average"])
        optimiser.load_state_dict(state["optimiser"])
    clock = Clock(options, state["seconds"], state["steps"])
    size = sum(p.numel() for p in network.parameters())
    say(f"{stage} {options.direction}: {size} parameters, {len(found)} pairs, from step {clock.steps}")
    sources, targets = batches.Table(found.sources, DEVICE), batches.Table(found.targets, DEVICE)
    told, words, at, work, heard = time.time(), 0, 0, [], []  # words: a sum on the device

    def keep():
        save(path, {"steps": clock.steps, "seconds": clock.spent(), "network": network.state_dict(),
                    "average": average.state_dict(), "optimiser": optimiser.state_dict()})
    kept = time.time()
    while not clock.over():
        if at == len(work):
            work, at = batches.epoch(found, options.tokens, clock.steps), 0
        chosen = torch.as_tensor(work[at], device=DEVICE)
        at += 1
        for group in optimiser.param_groups:
            group["lr"] = rate(clock.progress(), most)
        loss = loss_of(network, sources, targets, chosen, 0.1)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        clock.steps += 1
        with torch.no_grad():
            # A mean over roughly the last thousand steps; over fewer at the beginning.
            share = max(0.001, 1 / (1 + clock.steps / 4))
            for mean, now in zip(average.parameters(), network.parameters()):
                mean.lerp_(now, share)
        heard.append(loss.detach())
        words = words + targets.lengths[chosen].sum()
        if len(heard) == 50:
            say(f"step {clock.steps}, {100 * clock.progress():.1f} %, loss {float(torch.stack(heard).mean()):.4f}, "
                f"{int(words) / (time.time() - told):.0f} target tokens/s")
            told, words, heard = time.time(), 0, []
        if time.time() - kept > 120:
            keep()
            kept = time.time()
    keep()
    say(f"{stage} {options.direction}: step {clock.steps}, held-out loss {held_out(average, dev, options.tokens):.4f}")


def answer(config, found, options):
    """Writes the teacher's answers to the sources in random order; each run continues the last."""
    network = Network(config).to(DEVICE).eval()
    state = load(f"{options.work}/teach.{options.direction}.pt")
    if state is None:
        raise SystemExit("there is no teacher yet: run the stage teach first")
    network.load_state_dict(state["average"])
    sources = batches.Table(found.sources, DEVICE)
    order = np.random.default_rng(3).permutation(len(found))
    # Blocks of random pairs, each sorted by length: if time runs out, a random part is left over.
    blocks = np.array_split(order, max(1, len(order) // 50000))
    work = [batch for block in blocks
            for batch in batches.cut(block[np.argsort(found.sources.lengths[block])], found.sources.lengths, options.tokens // 8)]
    name = f"{options.work}/answers.{options.direction}"
    done = sum(1 for _ in glob.glob(f"{name}.*.npz"))
    clock = Clock(options, 0, 0)
    first = sum(int(np.load(f"{name}.{i}.npz")["batches"]) for i in range(done))
    which, lengths, ids, n = [], [], [], 0
    for batch in work[first:]:
        if clock.over():
            break
        chosen = torch.as_tensor(batch, device=DEVICE)
        with half():
            said = search.beam(network, *sources.rows(chosen), penalty=1.0)
        for number, one in zip(batch, said):
            if one is not None and len(one) > 1:
                which.append(number)
                lengths.append(len(one))
                ids.extend(one)
        n += 1
        clock.steps += 1
        if n % 50 == 0:
            say(f"{first + n} of {len(work)} batches, {len(which)} answers")
    np.savez(f"{name}.{done}.npz", batches=n, which=np.array(which, np.int64), lengths=np.array(lengths, np.int64),
             ids=np.array(ids, np.int64))
    say(f"answer {options.direction}: {len(which)} answers, {first + n} of {len(work)} batches are done")


def answered(found, options):
    """The pairs, then the same sources with the teacher's answers, which count equally often."""
    parts = [found]
    for path in sorted(glob.glob(f"{options.work}/answers.{options.direction}.*.npz")):
        said = np.load(path)
        which = said["which"]
        source = pairs.Sides(found.sources.lengths[which],
                             np.concatenate([found.sources[i] for i in which] or [np.zeros(0, np.int64)]))
        parts.append(pairs.Pairs(source, pairs.Sides(said["lengths"], said["ids"]), found.counts[which]))
    return batches.joined(*parts)


def give(options):
    """Writes the student's mean weights in parts, which `cat` joins to a model.safetensors."""
    state = load(f"{options.work}/study.{options.direction}.pt")
    if state is None:
        raise SystemExit("there is no student yet: run the stage study first")
    path = f"{options.work}/student.{options.direction}.safetensors"
    write_safetensors(path, state["average"])
    os.makedirs(options.out, exist_ok=True)
    with open(path, "rb") as file:
        for i, part in enumerate(iter(lambda: file.read(PART), b"")):
            with open(f"{options.out}/{options.direction}.part{i}", "wb") as out:
                out.write(part)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=["teach", "answer", "study", "give"])
    parser.add_argument("direction", choices=["fr-en", "en-fr"])
    parser.add_argument("pairs")
    parser.add_argument("work")
    parser.add_argument("out", nargs="?")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--for", dest="run_for", type=float, help="minutes of this run")
    parser.add_argument("--tokens", type=int, default=49152, help="padded tokens of a batch")
    parser.add_argument("--rate", type=float, help="the highest rate of learning")
    parser.add_argument("--teacher", type=json.loads, default={}, help="JSON: what to change of the teacher's shape")
    options = parser.parse_args()
    if options.stage == "give":
        if not options.out:
            parser.error("give needs a directory OUT")
        return give(options)
    if not options.minutes and not options.steps:
        parser.error("--minutes or --steps says how long a stage is")
    os.makedirs(options.work, exist_ok=True)
    config, sets = pairs.read(options.pairs)
    found, dev = (one if options.direction == "fr-en" else one.swapped() for one in (sets["pairs"], sets["dev"]))
    if options.stage == "answer":
        return answer(config_of("teach", config, options), found, options)
    if options.stage == "study":
        found = answered(found, options)
    return train(options.stage, config_of(options.stage, config, options), found, dev, options)


main()
