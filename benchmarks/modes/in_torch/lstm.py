"""The loss of a recurrent network in PyTorch; see ``objectives/lstm.py``."""

from __future__ import annotations

import torch


def layer(weight, bias, hidden, cell, x):
    forget = torch.sigmoid(x * weight[0] + bias[0])
    ingate = torch.sigmoid(hidden * weight[1] + bias[1])
    outgate = torch.sigmoid(x * weight[2] + bias[2])
    change = torch.tanh(hidden * weight[3] + bias[3])
    cell = cell * forget + ingate * change
    return outgate * torch.tanh(cell), cell


def loss(main, extra, state, sequence):
    gates = [m.reshape(4, -1).unbind() for m in main]
    state, into, out, bias = list(state), *extra
    inputs = (sequence[:-1] * into).unbind()
    last = []
    for x in inputs:
        for i in range(0, len(state), 2):
            x, state[i + 1] = layer(gates[i], gates[i + 1], state[i], state[i + 1], x)
            state[i] = x
        last.append(x)
    y = torch.stack(last) * out + bias
    normalised = y - torch.log(torch.sum(torch.exp(y), 1, keepdim=True) + 2.0)
    return -torch.sum(sequence[1:] * normalised) / sequence[1:].numel()


DERIVATIVES = {"lstm": torch.func.grad(loss, (0, 1))}
