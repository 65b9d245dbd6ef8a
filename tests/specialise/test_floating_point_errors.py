"""``np.errstate`` around the call of a compiled function has no effect; in it, whatever raises is refused (``docs/jit.md``)."""

from __future__ import annotations

import math

import numpy as np
import pytest

import morula as mo


def test_around_a_call_it_has_no_effect(target):
    f = mo.jit(lambda x, y: x / y, target=target)
    for _ in range(2):  # compiled, and entered again
        with np.errstate(all="raise"):
            assert f(np.ones(2), np.zeros(2)).tolist() == [math.inf, math.inf]
    with np.errstate(all="raise"), pytest.raises(ZeroDivisionError):  # of Python's numbers, whatever the state
        f(1.0, 0.0)


@pytest.mark.parametrize("how", ["raise", "print", "log"])
def test_in_a_program_it_is_refused(target, how):
    def f(x):
        with np.errstate(divide=how):
            return 1.0 / x

    with pytest.raises(mo.BadInput, match=r"does not raise, print or log .*np.isfinite"):
        mo.jit(f, target=target)(np.zeros(2))
