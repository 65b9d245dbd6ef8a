"""An envelope follower in autograd; see ``programs/envelope.py``."""

from __future__ import annotations

import autograd.numpy as np

from . import grad, make_jvp


def envelope(phase, n):
    level = 0.1 * phase
    for i in range(n):
        signal = np.sin(phase + 0.01 * i)
        if level < signal:
            level = level + 0.1 * (signal - level)
        else:
            level = level + 0.02 * (signal - level) * np.exp(-level)
    return level


def pushed(phase, n):
    return make_jvp(lambda phase: envelope(phase, n))(phase)(1.0)


def second(phase, n):
    return make_jvp(grad(lambda phase: envelope(phase, n)))(phase)(1.0)[1]


def five(phase, n):
    found = [lambda phase: envelope(phase, n)]
    for _ in range(5):
        found.append(lambda phase, f=found[-1]: make_jvp(f)(phase)(1.0)[1])
    return tuple(f(phase) for f in found)


DERIVATIVES = {"envelope, jvp": pushed, "envelope, hvp": second, "envelope, derivatives to 5": five}
