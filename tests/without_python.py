"""Checks that a native program computes a value and its gradient without calls of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from path_tester import run_on

import morula as mo
from morula.core.emit.native.library import PythonCall
from morula.core.testing.differences import numerical_vjp


def refuse_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make calls of Python in native programs errors."""

    def in_python(self: PythonCall, *args: Any, **kwargs: Any) -> None:
        raise AssertionError(f"{getattr(self.function, '__name__', self.function)} was called in Python")

    monkeypatch.setattr(PythonCall, "run", in_python)


def check_without_python(f: Callable[..., Any], *args: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare the value of the native program with Python's, and the gradient with differences and with eager code."""
    refuse_python(monkeypatch)
    argnums = tuple(range(len(args)))
    value, found = run_on("native")(mo.value_and_grad(f, argnums=argnums))(*args)
    np.testing.assert_allclose(value, f(*args), rtol=1e-9)
    direction = [np.cos(3 * x) for x in args]
    along = numerical_vjp(lambda t: f(*(x + t * d for x, d in zip(args, direction))), 1.0, 0.0)[0][0]
    assert sum(np.sum(np.real(np.conj(g) * d)) for g, d in zip(found, direction)) == pytest.approx(along, rel=1e-6)
    for g, h in zip(found, mo.grad(f, argnums=argnums)(*args)):
        np.testing.assert_allclose(g, h, atol=1e-9 * max(1.0, np.max(np.abs(h))))
