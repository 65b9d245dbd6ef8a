"""The programs whose first gradients are timed; importing them imports neither morula nor SciPy."""

from __future__ import annotations

from math import cos, sin

import numpy as np


def square(x):
    return x * x


def thirty_lines(x, n):
    total = 0.0
    scale = 1.0
    history = []
    for i in range(n):
        if i % 3 == 0:
            scale = scale * sin(x + i)
        elif i % 3 == 1:
            scale = scale + cos(x) * 0.5
        else:
            scale = scale / (1.0 + x * x)
        history.append(scale)
        total += scale**2
        if total > 100.0:
            break
    a = np.zeros(4)
    for k in range(4):
        a[k] = x * history[k] + total
    b = np.tanh(a) + np.exp(-a)
    weights = {"first": x, "second": 2.0 * x}
    for name, w in weights.items():
        if name == "first":
            b = b * w
        else:
            b = b + w**2
    largest = np.max(b)
    while largest > 2.0:
        largest = largest * 0.5
        total = total + largest
    mean = np.sum(b) / len(b)
    spread = np.sqrt(np.sum((b - mean) ** 2) + 1e-3)
    return mean * spread + total
