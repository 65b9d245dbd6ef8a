"""A zero cotangent contributes exactly zero in programs with effects, too: these run only once."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo


def printing(x, y):
    phases = y * np.array([np.inf, x])
    if phases[1] > 35.0:
        phases[1] = 35.0
        print("opaque")
    return phases[1]


def printing_in_a_loop(x, y):
    phases = np.cos(np.array([1.0 + 0j, 2.0, 3.0]) * y) * np.array([np.inf, x, np.inf])
    total = 0.0
    for i in range(1, 2):
        if phases[i].imag > 35.0:
            phases[i] = phases[i].real + 35j
            print("opaque")
        total += abs(np.exp(1j * phases[i]) + phases[i])
    return total


def calling_python(x, y):
    logs = np.log(np.array([y - y, x * y]))
    offset = mo.callback(lambda x: np.float64(2.0), np.float64(0.0), mo.stop_gradient(x))
    return logs[1] * offset


PROGRAMS = (printing, printing_in_a_loop, calling_python)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_zero_cotangent_meets_infinity(program, target, capsys):
    for args in ((0.5, 0.3), (300.0, 0.3)):
        expected = mo.gradient(program, *args)
        assert np.all(np.isfinite(expected))
        seen = capsys.readouterr().out
        compiled = mo.jit(lambda *a: mo.gradient(program, *a), target=target)  # noqa: B023
        assert np.allclose(compiled(*args), expected, rtol=1e-12, atol=1e-14)
        assert capsys.readouterr().out == seen
        assert np.allclose(mo.gradient(mo.jit(program, target=target), *args), expected, rtol=1e-12, atol=1e-14)
        capsys.readouterr()


def test_explain_says_so(capsys):
    text = mo.jit(mo.grad(printing)).explain(0.5, 0.3)
    assert "a zero cotangent contributes exactly zero: all products check for it" in text
