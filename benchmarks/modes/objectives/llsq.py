"""Least squares with a polynomial, and its gradient in the coefficients.

Source: GradBench, eval "llsq", from B. M. Bell's cmpad, "llsq_obj": a fit of the sign function on [-1, 1].
"""

from __future__ import annotations

import numpy as np

import morula as mo

from ..program import Derivative


def half_sum_of_squares(x, n):
    total = 0.0
    for i in range(n):
        t = -1.0 + i * 2.0 / (n - 1)
        residual = float(t > 0.0) - float(t < 0.0)
        for j in range(len(x)):
            residual -= x[j] * t**j
        total += residual * residual
    return total / 2.0


gradient = mo.grad(half_sum_of_squares)


def _inputs(size):
    n, m = size
    return np.random.default_rng(31337).uniform(size=m), n


PROGRAMS = (Derivative("llsq", gradient, _inputs, (4096, 128), (9, 4)),)
