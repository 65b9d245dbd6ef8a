"""An envelope follower: numbers in a loop with a branch in each step; derivatives of its end in the phase of its input."""

from __future__ import annotations

import math

import morula as mo

from ..program import Derivative


def envelope(phase, n):
    """The level follows a sine fast where that is above it, and slowly where it is below."""
    level = 0.1 * phase
    for i in range(n):
        signal = math.sin(phase + 0.01 * i)
        if level < signal:
            level = level + 0.1 * (signal - level)
        else:
            level = level + 0.02 * (signal - level) * math.exp(-level)
    return level


def pushed(phase, n):
    return mo.jvp(lambda phase: envelope(phase, n), (phase,), (1.0,))


def second(phase, n):
    return mo.hvp(lambda phase: envelope(phase, n), phase, 1.0)


def five(phase, n):
    return tuple(mo.derivatives(lambda phase: envelope(phase, n), phase, 5))


def _inputs(n):
    return 0.45, n


PROGRAMS = (
    Derivative("envelope, jvp", pushed, _inputs, 2000, 5),
    Derivative("envelope, hvp", second, _inputs, 2000, 5),
    Derivative("envelope, derivatives to 5", five, _inputs, 2000, 5),
)
