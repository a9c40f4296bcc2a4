# SPDX-License-Identifier: ISC
"""Losses and gradients of plain recurrent networks by PyTorch, in doubles: prints tests/golden/recurrent.h.

    python3 tests/golden/recurrent.py > tests/golden/recurrent.h           (Debian: python3-torch; made with 1.13)

The networks are those of docs/MODEL.md, written with torch's own cells; weights are a formula of their place in the array
of parameters (train/params.h), which tests/unit/train/test_pass_golden.c writes as well."""
import math

import torch
from torch import nn
from torch.nn import functional

D, V = 6, 11
PAIRS = [([3, 4, 5, 6, 0], [7, 8, 0]), ([9, 0], [2, 3, 4, 5, 10, 0]), ([10, 10, 1, 0], [0])]
SMOOTHING = 0.1
CELLS = {"tanh": (nn.RNNCell, 1), "gru": (nn.GRUCell, 3), "lstm": (nn.LSTMCell, 4)}
# cell, attention, bidirectional, encoder layers, decoder layers
NETWORKS = [("tanh", "none", False, 1, 1), ("gru", "location", False, 1, 1), ("lstm", "dot", True, 2, 2),
            ("gru", "general", True, 1, 2), ("tanh", "additive", False, 2, 1), ("lstm", "additive", True, 1, 1)]
PLACES = 4


class Network:
    """Parameters in the order of src/model/layout.c: matrices, then vectors."""

    def __init__(self, cell, attention, bidirectional, n_encoder, n_decoder):
        self.cell, self.attention, self.bidirectional = cell, attention, bidirectional
        rows = CELLS[cell][1] * D
        matrices, vectors = [("source", (V, D)), ("target", (V, D))], []
        cells = [f"e{i}{d}" for i in range(n_encoder) for d in ("fb" if bidirectional else "f")]
        cells += [f"d{i}f" for i in range(n_decoder)]
        for name in cells:
            matrices += [(name + ".w", (rows, D)), (name + ".u", (rows, D))]
            vectors += [(name + ".wb", (rows,)), (name + ".ub", (rows,))]
        if attention == "location":
            matrices.append(("location", (PLACES, 2 * D)))
            vectors.append(("location.b", (PLACES,)))
        if attention in ("general", "additive"):
            matrices.append(("key", (D, D)))
        if attention == "additive":
            matrices.append(("query", (D, D)))
            vectors += [("key.b", (D,)), ("score", (D,))]
        if attention != "none":
            matrices.append(("combine", (D, 2 * D)))
            vectors.append(("combine.b", (D,)))
        matrices.append(("output", (V, D)))
        vectors.append(("output.b", (V,)))
        self.names = [name for name, _ in matrices + vectors]
        self.w, at = {}, 0
        for name, shape in matrices + vectors:
            n = math.prod(shape)
            values = torch.tensor([0.6 * math.sin(0.7 * (at + i) + 0.3) for i in range(n)], dtype=torch.float32)
            self.w[name] = values.double().view(shape).requires_grad_()
            at += n
        self.n_encoder, self.n_decoder = n_encoder, n_decoder

    def step(self, name, x, state):
        cell = CELLS[self.cell][0](D, D).double()
        names = {"weight_ih": ".w", "weight_hh": ".u", "bias_ih": ".wb", "bias_hh": ".ub"}
        parameters = {torch_name: self.w[name + ours] for torch_name, ours in names.items()}
        state = state if self.cell == "lstm" else state[0]
        out = torch.nn.utils.stateless.functional_call(cell, parameters, (x, state))
        return out if self.cell == "lstm" else (out, torch.zeros(1, D, dtype=torch.float64))

    def zero(self):
        return torch.zeros(1, D, dtype=torch.float64), torch.zeros(1, D, dtype=torch.float64)

    def encode(self, ids):
        xs, last = [self.w["source"][i].view(1, D) for i in ids], []
        for layer in range(self.n_encoder):
            outs, ends = [0] * len(ids), self.zero()
            for direction in "fb" if self.bidirectional else "f":
                state = self.zero()
                for i in range(len(ids)) if direction == "f" else reversed(range(len(ids))):
                    state = self.step(f"e{layer}{direction}", xs[i], state)
                    outs[i] = outs[i] + state[0]
                ends = (ends[0] + state[0], ends[1] + state[1])
            xs = outs
            last.append(ends)
        return torch.cat(xs), last

    def look(self, word, h, encoded):
        if self.attention == "none":
            return functional.relu(word)
        if self.attention == "location":
            a = functional.softmax(functional.linear(torch.cat((word, h), 1), self.w["location"], self.w["location.b"]), 1)
            n = min(PLACES, len(encoded))
            context = a[:, :n] @ encoded[:n]
        else:
            keys = encoded
            if self.attention == "general":
                keys = encoded @ self.w["key"].T
            if self.attention == "additive":
                keys = functional.linear(encoded, self.w["key"], self.w["key.b"])
                scores = torch.tanh(keys + h @ self.w["query"].T) @ self.w["score"]
            else:
                scores = (keys @ h.T).view(-1)
            context = functional.softmax(scores, 0).view(1, -1) @ encoded
        return functional.relu(functional.linear(torch.cat((word, context), 1), self.w["combine"], self.w["combine.b"]))

    def loss(self):
        total, n = 0.0, 0
        for source, target in PAIRS:
            encoded, last = self.encode(source)
            states = [last[min(i, self.n_encoder - 1)] for i in range(self.n_decoder)]
            for t, right in enumerate(target):
                word = self.w["target"][target[t - 1] if t else 0].view(1, D)
                x = self.look(word, states[-1][0], encoded)
                for i in range(self.n_decoder):
                    states[i] = self.step(f"d{i}f", x, states[i])
                    x = states[i][0]
                logits = functional.linear(x, self.w["output"], self.w["output.b"])
                total = total + functional.cross_entropy(logits, torch.tensor([right]), label_smoothing=SMOOTHING)
                n += 1
        return total / n


def main():
    print("/* SPDX-License-Identifier: ISC\n * Copyright (c) 2026 The dragoman authors */\n")
    print("/* Made by tests/golden/recurrent.py. For each network its loss, then of each parameter in order the sum of its gradient")
    print(" * and the sum of the gradient times (i % 7 - 3). */")
    for number, network in enumerate(NETWORKS):
        net = Network(*network)
        loss = net.loss()
        loss.backward()
        print(f"static const double golden_{number}[] = {{ /* {', '.join(str(x) for x in network)} */\n    {loss.item():.12g},")
        for name in net.names:
            g = net.w[name].grad.reshape(-1)
            weights = torch.arange(len(g), dtype=torch.float64) % 7 - 3
            print(f"    {g.sum().item():.12g}, {(g * weights).sum().item():.12g}, /* {name} */")
        print("};")


if __name__ == "__main__":
    main()
