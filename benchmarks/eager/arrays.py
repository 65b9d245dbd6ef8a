"""Programs of vectors of 1,000 numbers, and an array that is filled element by element."""

from __future__ import annotations

import numpy as np

import morula as mo

from ..report import Table
from .timing import timed


def element_wise(x):
    y = np.tanh(1.5 * x + 0.1)
    z = np.exp(-(y**2)) * np.cos(x)
    return np.sum(np.sqrt(z**2 + 1.0))


def log_sum_exp(x):
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


def logistic_loss(x):
    return np.mean(np.log1p(np.exp(-LABELS * x)))


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def matrix_chain(x):
    return np.sum(np.tanh(WEIGHTS.T @ np.tanh(WEIGHTS @ x)) ** 2)


VECTOR = np.random.default_rng(0).normal(size=1000)
LABELS = np.sign(np.random.default_rng(1).normal(size=1000))
WEIGHTS = np.random.default_rng(2).normal(size=(100, 1000)) / 10
VECTOR_PROGRAMS = (element_wise, log_sum_exp, logistic_loss, rosenbrock, matrix_chain)


def vectors(repeats: int) -> Table:
    rows = [["program", "forward, us", "forward + backward, us", "ratio"]]
    for program in VECTOR_PROGRAMS:
        gradient = mo.value_and_grad(program)
        both = timed({"forward": lambda: program(VECTOR), "both": lambda: gradient(VECTOR)}, repeats)  # noqa: B023
        forward, backward = both["forward"], both["both"]
        rows.append([program.__name__, f"{forward * 1e6:.1f}", f"{backward * 1e6:.1f}", f"{backward / forward:.2f} x"])
    return rows


def fill(x, n):
    a = np.zeros(n)
    for i in range(n):
        a[i] = x * i
    return np.sum(a)


def filling(repeats: int) -> Table:
    gradient = mo.grad(fill)
    rows = [["elements", "ms", "ns per element", "against the row before"]]
    before = None
    for n in (1_000, 10_000, 100_000):
        seconds = timed({"": lambda: gradient(2.0, n)}, repeats)[""]  # noqa: B023
        growth = "" if before is None else f"{seconds / before:.1f} x"
        rows.append([f"{n:,}", f"{seconds * 1e3:.2f}", f"{seconds / n * 1e9:.0f}", growth])
        before = seconds
    return rows
