# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Batches of sequences of similar length, put together on the device, so that it need not wait for
the processor between two steps."""
import numpy as np
import torch

from pairs import Pairs, Sides


class Table:
    """The sequences of a pairs.Sides, on the device."""

    def __init__(self, sides, device):
        self.ids = torch.as_tensor(sides.ids, device=device)
        self.offsets = torch.as_tensor(sides.offsets[:-1], device=device)
        self.lengths = torch.as_tensor(sides.lengths, device=device)

    def rows(self, chosen):
        """(ids [n, longest], True for each place that has an id)"""
        lengths = self.lengths[chosen]
        columns = torch.arange(int(lengths.max()), device=self.ids.device)
        there = columns < lengths[:, None]
        at = (self.offsets[chosen][:, None] + columns).clamp(max=len(self.ids) - 1)
        return self.ids[at].masked_fill(~there, 0), there


def cut(order, lengths, tokens):
    """Splits `order`, in which neighbours have similar lengths, into batches of at most `tokens`
    padded tokens."""
    out, first, longest = [], 0, 0
    for i, length in enumerate(lengths[order]):
        if i > first and max(longest, length) * (i + 1 - first) > tokens:
            out.append(order[first:i])
            first, longest = i, 0
        longest = max(longest, length)
    out.append(order[first:])
    return out


def epoch(found, tokens, seed):
    """Each pair as often as it counts, in batches in random order."""
    draw = np.random.default_rng(seed)
    every = np.repeat(np.arange(len(found)), found.counts)
    longest = np.maximum(found.sources.lengths, found.targets.lengths)
    order = every[np.argsort(longest[every] + draw.random(len(every)) * 2, kind="stable")]
    batches = cut(order, longest, tokens)
    draw.shuffle(batches)
    return batches


def joined(*parts):
    """Several pairs.Pairs as one."""
    def side(name):
        sides = [getattr(part, name) for part in parts]
        return Sides(np.concatenate([one.lengths for one in sides]), np.concatenate([one.ids for one in sides]))
    return Pairs(side("sources"), side("targets"), np.concatenate([part.counts for part in parts]))
