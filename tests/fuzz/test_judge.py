"""``judge`` stops every program within its time limit, and its time limits nest."""

from __future__ import annotations

import signal
import time
from contextlib import contextmanager

import pytest

from fuzz.case import Module, copied
from fuzz.families import FAMILIES
from fuzz.judge import Outcome, Raised, Slow, judge, limit, outcome


def busy(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@contextmanager
def nothing_left():
    handler = signal.getsignal(signal.SIGALRM)
    yield
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is handler


@pytest.mark.parametrize("inner", [0.01, 30.0], ids=["an inner limit that passes", "an inner limit that is kept"])
def test_an_outer_limit_goes_on_after_an_inner_one(inner):
    with nothing_left(), pytest.raises(Slow, match=r"after 0\.2 s"), limit(0.2):
        try:
            with limit(inner):
                busy(0.05)
        except Slow as slow:
            assert f"after {inner} s" in str(slow)
        busy(20.0)


def test_an_outer_limit_holds_inside_a_longer_inner_one():
    with nothing_left(), pytest.raises(Slow), limit(0.1), limit(30.0):
        busy(20.0)


def test_a_program_cannot_catch_the_limit():
    with nothing_left(), pytest.raises(Slow), limit(0.1):
        try:
            busy(20.0)
        except Exception:
            busy(20.0)


SLOW = """
import morula as mo

LEAVES = dict(a=0.5)


def arguments(a):
    return (a,)


calls = 0


def program(a):
    global calls
    calls += 1
    while calls > {quick}:
        a = a + 1e-9
    return a * a
"""


@pytest.mark.parametrize(("quick", "outcome"), [(1, Outcome.RIGHT), (0, Outcome.INVALID)])
def test_a_program_that_does_not_end_in_plain_python_is_invalid(quick, outcome):
    with nothing_left():
        assert judge(SLOW.format(quick=quick), seconds=1.0).outcome is outcome


def test_programs_that_raise_do_so_in_a_third_of_the_cases():
    """The other tests compare values and gradients."""
    raised = 0
    for seed in range(60):
        module = Module(FAMILIES["raising"].write(seed))
        with limit(5.0):
            raised += isinstance(outcome(lambda module=module: module.call(copied(module.leaves))), Raised)
    assert 0.25 <= raised / 60 <= 0.45


KINK = """
import numpy as np

LEAVES = dict(c=np.zeros(3))


def arguments(c):
    return (c,)


def program(c):
    return np.max(c) * 3.0
"""


@pytest.mark.parametrize("tier", ["eager", "native"])
def test_differences_at_a_kink_prove_nothing(tier):
    """Equal extrema share the cotangent.  The slopes on both sides differ, and differences give their mean."""
    verdict = judge(KINK, tier)
    assert verdict.outcome is Outcome.RIGHT and verdict.compared == 0, verdict.message


WRONG = """
import numpy as np

import morula as mo

LEAVES = dict(c=np.array([0.3, 0.5]))


def arguments(c):
    return (c,)


def doubled(c):
    return 2.0 * c


@mo.adjoint(doubled)
def doubled_with_a_wrong_pullback(c):
    return 2.0 * c, lambda dy: (3.0 * dy,)


def program(c):
    return np.sum(doubled(c))
"""


def test_a_wrong_derivative_is_found():
    assert judge(WRONG).outcome is Outcome.WRONG
