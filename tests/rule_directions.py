"""Forward and Taylor mode of a call against its reverse mode, on every path that needs no compiler.

Along a direction v, the real product of dy with the tangent is that of the gradient with v, and its product with the second
coefficient of the series is v H v / 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from interpreted import interpreted
from rule_paths import pushed_of, series_of
from rule_tester import is_refused

from morula.core.errors import BadInput, NoDerivative
from morula.core.testing.differences import numeric_leaves

REFUSED = "refused"
LARGE = 1e8
"""Larger derivatives are those of functions at singular points, such as logarithms of singular matrices: rounding decides what they are."""
NO_LIMIT = {"pinv"}
"""Functions whose value at an infinite argument is no limit: the pseudoinverse of such a matrix is zero."""
NO_SERIES_AT_ZERO = {"power", "float_power", "pow"}
"""Functions that have no second coefficient at zero: 0 ** 0, where reverse mode has a convention for each derivative."""


class Directions:
    """The forward and Taylor mode of a case's program."""

    def __init__(self, function: Any, program: Callable[..., Any]) -> None:
        self.function = function
        self.eager = {"forward": pushed_of(program), "taylor": series_of(program)}
        self.compiled = {mode: interpreted(run) for mode, run in self.eager.items()}
        self.has_run: set[str] = set()

    def of_back_ends(self, given: tuple[Any, ...]) -> dict[str, Callable[..., Any]]:
        """Return the modes that compile for the arguments, as functions of ``given``."""
        _, *args = given
        found = {}
        for mode, run in self.eager.items():
            try:
                self.compiled[mode](*args)
            except (BadInput, NoDerivative):
                continue
            found[mode] = lambda dy, v, *xs, run=run: run(v, *xs)
        return found

    def differences(self, given: tuple[Any, ...], expected: tuple[Any, ...]) -> list[str]:
        """How they differ from ``expected``, the value and derivatives of reverse mode along ``given``."""
        _, v, *point = given
        found, is_power = [], self.function.__name__ in NO_SERIES_AT_ZERO
        if any(np.any(np.isinf(e)) for e in _values(point)) and self.function.__name__ in NO_LIMIT:
            return []
        may_fail = not all(np.all(np.abs(e) < LARGE) for e in _values(expected))  # NumPy's errors are for NaN, too
        for mode, run in self.eager.items():
            try:
                eager = run(v, *point)
            except NoDerivative:
                eager = REFUSED
            except Exception as error:
                if not may_fail:
                    found.append(f"{mode}: {type(error).__name__}: {error}")
                continue
            if eager is not REFUSED:
                found += [f"{mode}: {text}" for text in along(expected, given, eager, is_power)]
            try:
                compiled = self.compiled[mode](v, *point)
            except (BadInput, NoDerivative) as error:
                if not (eager is REFUSED or is_refused(self.function, error) or mode in self.has_run):
                    found.append(f"compiled {mode}: {type(error).__name__}: {error}")
            except Exception as error:
                if not may_fail:
                    found.append(f"compiled {mode}: {type(error).__name__}: {error}")
            else:
                found += [f"compiled {mode}: {text}" for text in along(expected, given, compiled, is_power)]
            self.has_run.add(mode)
        return found


def along(expected: tuple[Any, ...], given: tuple[Any, ...], coefficients: Any, is_power: bool = False) -> list[str]:
    """How value, tangent and second coefficient, if there, differ from the value and derivatives of reverse mode."""
    value, *derivatives = expected
    dy, v, *point = given
    has_no_series = any(np.any(np.isinf(e) | is_power & (e == 0)) for e in _values(point))
    found = _same_types(value, coefficients[1:])
    y, leaves = dict(numeric_leaves(value)), dict(numeric_leaves(coefficients[0]))
    for path, e in y.items():
        x = leaves.get(path)
        if x is None or np.shape(x) != np.shape(e) or not np.allclose(x, e, *_tolerances(e, x), equal_nan=True):
            found.append(f"the value {x!r}, not {e!r}")
    if not all(np.all(np.isfinite(e)) for e in y.values()):
        return found
    names = [("the tangent", 1.0), ("the second coefficient", 0.5)]
    for k, ((what, factor), derivative, c) in enumerate(zip(names, derivatives, coefficients[1:]), 1):
        wanted, size = product(derivative, v)
        got, scale = product(dy, c)
        if size > LARGE:
            break
        single = any(np.asarray(e).dtype in (np.float32, np.complex64) for e in (*y.values(), *_values(v)))
        rtol = 2e-3 if single else 1e-6
        if not np.isfinite(got if k == 2 else wanted) and has_no_series:
            break
        if (
            np.isfinite(wanted) != np.isfinite(got)
            or np.isfinite(got)
            and not (abs(factor * wanted - got) <= rtol * (1 + size + scale))
        ):
            found.append(f"{what}: {got!r} in its direction, by reverse mode {factor * wanted!r}")
        if not np.isfinite(wanted):
            break
    return found


def product(a: Any, b: Any) -> tuple[float, float]:
    """The real product of a cotangent and a tangent, and the sum of the sizes of its terms."""
    other = dict(numeric_leaves(b))
    terms = [(np.asarray(g, complex), np.asarray(other[path])) for path, g in numeric_leaves(a) if path in other]
    total = sum(float(np.sum(np.real(np.conj(g) * t))) for g, t in terms)
    return total, sum(float(np.sum(np.abs(g) * np.abs(t))) for g, t in terms)


def _values(x: Any) -> list[Any]:
    return [e for _, e in numeric_leaves(x)]


def _tolerances(e: Any, x: Any) -> tuple[float, float]:
    single = np.asarray(e).dtype in (np.float32, np.complex64) or np.asarray(x).dtype in (np.float32, np.complex64)
    return (2e-3, 2e-3) if single else (1e-6, 1e-6)


def _same_types(value: Any, coefficients: Any) -> list[str]:
    """Where a coefficient has not the shape and dtype of the value."""
    found = []
    for k, c in enumerate(coefficients, 1):
        leaves = dict(numeric_leaves(c))
        for path, e in numeric_leaves(value):
            if np.asarray(e).dtype.kind not in "fc":
                continue
            x = leaves.get(path)
            fits = x is not None and np.shape(x) == np.shape(e)
            if isinstance(e, np.ndarray):
                fits = fits and np.asarray(x).dtype == e.dtype
            if not fits:
                shown = "missing" if x is None else f"{np.asarray(x).dtype}{np.shape(x)}"
                found.append(f"coefficient {k} is {shown} for {np.asarray(e).dtype}{np.shape(e)}")
    return found
