"""Binomial schedules: which states of a loop to hold, so that its reversal recomputes as few steps as possible.

A loop of ``length`` steps is reversed with room for s states, the first of them the state before the loop. With r
repetitions of each step, at most beta(s, r) = (s + r)! / (s! r!) steps can be reversed. The least number of steps that
are run to advance from state to state, with those of the first run, but without the one run of each step that its own
reversal makes, is

    t(length, s) = r length - beta(s + 1, r - 1),    beta(s, r - 1) < length <= beta(s, r)

Source: Griewank and Walther, "Algorithm 799: Revolve", ACM TOMS 26 (2000), Proposition 1.
"""

from __future__ import annotations

import math


def capacity(snapshots: int, repetitions: int) -> int:
    """The longest loop that can be reversed: beta(s, r).

    >>> capacity(3, 2)
    10
    """
    return math.comb(snapshots + repetitions, snapshots)


def repetitions(length: int, snapshots: int) -> int:
    """The number of times that a step is run at most to advance from state to state.

    >>> repetitions(10, 3), repetitions(11, 3)
    (2, 3)
    """
    r = 0
    while capacity(snapshots, r) < length:
        r += 1
    return r


def advances(length: int, snapshots: int) -> int:
    """The least number of steps that are run to advance: t(length, s).

    >>> advances(10, 3), advances(10, 10), advances(10, 1)
    (15, 9, 45)
    """
    r = repetitions(length, snapshots)
    return r * length - math.comb(snapshots + r, r - 1) if r else 0


def split(length, snapshots):
    """How many of ``length`` > 1 steps to run before the next state is held, with room for ``snapshots`` > 0.

    The steps up to there are later reversed with r - 1 further repetitions, those behind it with one state less. This
    function is also traced into compiled programs, so it computes with integers alone.

    >>> split(10, 3), split(10, 1)
    (4, 9)
    """
    r = 0
    reached = 1  # beta(s, r)
    while reached < length:
        r = r + 1
        reached = reached * (snapshots + r) // r
    before = reached * r // (snapshots + r)  # beta(s, r - 1)
    behind = before * snapshots // (snapshots + r - 1)  # beta(s - 1, r - 1)
    return min(before, length - behind)
