"""The logarithm of a sum of exponentials, and its gradient.

Source: GradBench, eval "lse" (numbers drawn from 0 to 1).
"""

from __future__ import annotations

import math

import numpy as np

import morula as mo

from ..program import Derivative


def log_sum_exp(x):
    top = x[0]
    for i in range(1, len(x)):
        top = max(top, x[i])
    total = 0.0
    for i in range(len(x)):
        total += math.exp(x[i] - top)
    return math.log(total) + top


gradient = mo.grad(log_sum_exp)


def _inputs(n):
    return (np.random.default_rng(31337).uniform(size=n),)


PROGRAMS = (Derivative("lse", gradient, _inputs, 160_000, 7, 1e-7),)
