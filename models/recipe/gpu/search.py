# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Beam search over many sentences at once; keys and values are kept from step to step."""
import torch
from torch.nn import functional

EOS = 0


class Cache:
    """Keys and values of one layer of the decoder: [rows, heads, positions, numbers]."""

    def __init__(self, rows, heads, positions, numbers, like):
        self.keys = like.new_empty(rows, heads, positions, numbers)
        self.values = torch.empty_like(self.keys)

    def put(self, at):
        def own(key, value):
            self.keys[:, :, at:at + 1], self.values[:, :, at:at + 1] = key, value
            return self.keys[:, :, :at + 1], self.values[:, :, :at + 1]
        return own

    def take(self, rows, n):
        """The first n positions of row i become those that row rows[i] had."""
        self.keys[:len(rows), :, :n] = self.keys[rows, :, :n]
        self.values[:len(rows), :, :n] = self.values[rows, :, :n]
        self.keys, self.values = self.keys[:len(rows)], self.values[:len(rows)]


@torch.no_grad()
def beam(network, source, there, width=4, penalty=1.0, at_most=None):
    """The best answer to each row of `source`: a list of lists of ids, including the end token. A
    hypothesis that has ended keeps its place in the beam; a sentence is done when all of its
    hypotheses have ended. Scores are divided by length ** penalty. The answer is None if no
    hypothesis has ended after `at_most` tokens."""
    n, device = len(source), source.device
    at_most = at_most or 2 * source.shape[1] + 8
    mask = there[:, None, None, :]
    memory = network.encode(source, mask)
    layers = network.model["decoder"].layers
    across = [layer.encoder_attn.keys_and_values(memory) for layer in layers]
    heads, numbers = across[0][0].shape[1], across[0][0].shape[3]
    own = [Cache(n * width, heads, at_most, numbers, across[0][0]) for _ in layers]
    scores = torch.full((n, width), -torch.inf, device=device)
    scores[:, 0] = 0
    said = torch.zeros(n, width, at_most, dtype=torch.long, device=device)
    ended = torch.zeros(n, width, dtype=torch.bool, device=device)
    lengths = torch.zeros(n, width, dtype=torch.long, device=device)
    which = torch.arange(n, device=device)
    answers = [None] * n
    x = torch.zeros(n * width, 1, memory.shape[2], dtype=memory.dtype, device=device) + network.waves[0].to(memory.dtype)
    for at in range(at_most):
        for layer, cache, both in zip(layers, own, across):
            x = step(layer, x, cache.put(at), both, mask, width)
        logprobs = functional.log_softmax(network.logits(x)[:, 0].float(), -1).view(len(which), width, -1)
        logprobs.masked_fill_(ended[:, :, None], -torch.inf)
        logprobs[:, :, EOS].masked_fill_(ended, 0)
        totals = scores[:, :, None] + logprobs
        first = totals.clone()
        first[:, :, EOS].masked_fill_(ended, torch.inf)
        best = first.flatten(1).topk(width)[1]
        scores = totals.flatten(1).gather(1, best)
        parent, token = best // logprobs.shape[2], best % logprobs.shape[2]

        def of_parents(x):
            return x.gather(1, parent.view(parent.shape + (1,) * (x.dim() - 2)).expand(x.shape))
        said, ended, lengths = of_parents(said), of_parents(ended), of_parents(lengths)
        said[:, :, at] = token
        lengths += ~ended
        ended |= token == EOS
        done = ended.all(1)
        rows = parent + width * torch.arange(len(which), device=device)[:, None]
        if at + 1 == at_most or (at % 4 == 3 and bool(done.any())):
            # Sentences that are done leave the batch; at the last step all of them leave.
            leaving = done | (at + 1 == at_most)
            final = (scores / lengths ** penalty).masked_fill(~ended, -torch.inf)
            value, winner = final.max(1)
            for i in leaving.nonzero()[:, 0].tolist():
                if value[i] > -torch.inf:
                    answers[int(which[i])] = said[i, winner[i], :lengths[i, winner[i]]].tolist()
            stay = ~leaving
            if not bool(stay.any()):
                break
            scores, said, ended, lengths, token, rows, which, mask = (
                one[stay] for one in (scores, said, ended, lengths, token, rows, which, mask))
            across = [(keys[stay], values[stay]) for keys, values in across]
        for cache in own:
            cache.take(rows.flatten(), at + 1)
        x = network.embed(token.flatten()[:, None], first=at + 1)
    return answers


def step(layer, x, own, across, mask, width):
    """One position of all hypotheses. The `width` hypotheses of a sentence share the encoder's
    keys, so they are `width` queries to the same keys."""
    normed = layer.self_attn_layer_norm(x)
    x = x + layer.self_attn(normed, own(*layer.self_attn.keys_and_values(normed)))
    queries = x.view(-1, width, x.shape[2])
    queries = queries + layer.encoder_attn(layer.encoder_attn_layer_norm(queries), across, mask)
    return layer.feed_forward(queries.reshape(x.shape))
