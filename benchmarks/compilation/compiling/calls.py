"""Programs with almost nothing to compute, to measure the overhead of a call."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..program import Program


def dot(x, w):
    return np.sum(x * w)


def _inputs(n):
    return np.arange(float(n)), np.ones(n)


PROGRAMS = (Program("dot", dot, _inputs, 4, 4, (0,), lambda x, w: (np.vdot(x, w), (w,)), lambda x, w: jnp.sum(x * w)),)
