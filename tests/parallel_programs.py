"""Programs with loops whose iterations are independent, for the tests of native code in several threads."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.core.emit.native import parallel_loops

RNG = np.random.default_rng(0)
X = RNG.random(50)


@pytest.fixture(autouse=True)
def any_loop(monkeypatch):
    """Let loops with little work run in several threads too."""
    monkeypatch.setattr(parallel_loops, "LEAST", 1)
    monkeypatch.setattr(parallel_loops, "GRAIN", 1)
    monkeypatch.setenv("MORULA_CACHE", "0")


def loops(f, *args):
    """Return what ``explain`` says about each loop of a program, by the line of the function."""
    program = mo.jit(f, target="native", parallel=3).lower(*args).compile().executable
    first = f.__code__.co_firstlineno
    return {(program.places[place][-1][2] - first, how) for place, how in program.loops}


def ensemble(p, steps):
    total = 0.0
    for m in range(p.shape[0]):
        x, y = 1.0, 0.5
        for _ in range(steps):
            x, y = x + 0.01 * (p[m, 0] * x - p[m, 1] * x * y), y + 0.01 * (0.3 * x * y - 0.7 * y)
        total += x * x + y * y
    return total


def forces(x):
    n = x.shape[0]
    f = np.zeros((n, 2))
    for i in range(n):
        for j in range(n):
            if i != j:
                d0, d1 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1]
                w = 1.0 / (d0 * d0 + d1 * d1 + 0.1)
                f[i, 0] += w * d0
                f[i, 1] += w * d1
    return np.sum(f * f)


def heat(u, steps):
    n, m = u.shape
    v = u.copy()
    for _ in range(steps):
        w = v.copy()
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                w[i, j] = v[i, j] + 0.1 * (v[i + 1, j] + v[i - 1, j] + v[i, j + 1] + v[i, j - 1] - 4.0 * v[i, j])
        v = w
    return np.sum(v * v)


def whole_arrays(u, steps):
    for _ in range(steps):
        u = u.copy()
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
    return np.sum(np.exp(-u) * np.sin(u))


def softmax(x):
    y = np.exp(x - np.max(x, axis=1, keepdims=True))
    y = y / np.sum(y, axis=1, keepdims=True)
    return np.sum(y * np.log(y + 0.1)) + np.max(np.sum(y, axis=0))


def reversed_writes(x):
    y = np.zeros(len(x))
    for i in range(len(x) - 1, -1, -1):
        y[len(x) - 1 - i] = np.tanh(x[i])
    return np.sum(y**3)


def steps_of_two(x):
    y = x.copy()
    for i in range(0, len(x) - 1, 2):
        y[i], y[i + 1] = x[i + 1] * x[i], np.sin(x[i])
    return np.sum(y * x)


def flat_matrix(x):
    n = 12
    y = np.zeros(n * n)
    for i in range(n):
        for j in range(n):
            y[i * n + j] = x[i] * x[j] + np.cos(x[i])
    return np.sum(y**2)


def triangle(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i):
            total += np.sin(x[i] * x[j])
    return total


def product_and_extremes(x):
    product, top, low = 1.0, -100.0, 100.0
    for i in range(len(x)):
        product *= 1.0 + 0.01 * x[i]
        top = max(top, x[i])
        low = min(low, x[i] * x[i])
    return product + top * low


def some_only(x):
    total, count = 0.0, 0
    for i in range(len(x)):
        if x[i] > 0.3:
            total += x[i] ** 2
            count += 1
    return total / (count + 1)


def histogram(x):
    bins = np.zeros(8)
    for i in range(len(x)):
        bins[int(8.0 * abs(np.sin(float(i))))] += x[i] ** 2
    return np.sum(bins**2)


def shared_parameters(w):
    total = 0.0
    for k in range(40):
        x = np.cos(np.arange(6.0) * (k + 1))
        h = np.tanh(w[:36].reshape(6, 6) @ x)
        total += np.sum(h * h)
    return total


def inner_array(x):
    total = 0.0
    for i in range(len(x)):
        row = np.zeros(200)
        for j in range(200):
            row[j] = x[i] * j * 0.01
        for j in range(1, 200):
            row[j] += 0.5 * row[j - 1]
        total += row[199] ** 2
    return total


def moving_sums(x):
    y = np.zeros(len(x) + 4)
    for i in range(len(x)):
        for k in range(5):
            y[i + k] += x[i] * (k + 1)
    return np.sum(y**2)


def last_value(x):
    y = 0.0
    out = np.zeros(len(x))
    for i in range(len(x)):
        y = np.sin(x[i])
        out[i] = y * y
    return np.sum(out) + 3.0 * y


def newton(x):
    total = 0.0
    for i in range(len(x)):
        y = 1.0
        while abs(y * y - 2.0 - x[i] * x[i]) > 1e-12:
            y = y - (y * y - 2.0 - x[i] * x[i]) / (2.0 * y)
        total += y
    return total
