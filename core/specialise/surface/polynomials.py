"""Polynomials in the form of their coefficients, whose number may be known only at run time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import BadInput
from ..traced import Trace, traces
from .arguments import value
from .library import call


@traces(np.roots)
def roots(trace: Any, p: Any) -> Any:
    return trace.calls.interpret(_roots, (p,), {})


def _roots(p: Any) -> Any:
    """``np.roots`` of a polynomial whose degree is its length less one, so that the number of roots is known."""
    p = np.atleast_1d(p)
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    n = len(p)
    if n == 0:
        return np.array([])
    if p[0] == 0 or p[-1] == 0:
        raise BadInput(
            "np.roots of a polynomial whose first or last coefficient is zero cannot be compiled, because the number of roots "
            "depends on values; leave these coefficients out"
        )
    if n == 1:
        return np.array([])
    a = np.diag(np.ones(n - 2), -1) + np.zeros((n - 1, n - 1), np.result_type(p, float))
    a[0, :] = -p[1:] / p[0]
    return np.linalg.eigvals(a)


@traces(np.convolve)
def convolve(trace: Trace, a: Any, v: Any, mode: Any = "full") -> Any:
    types = [value(trace, x).type for x in (a, v)]
    if mode != "full" or all(t.is_static for t in types) or any(t.ndim != 1 for t in types):
        return call(trace, np.convolve, (a, v, mode), {})
    return trace.calls.interpret(_convolve, (a, v, *(t.bounds[0] for t in types)), {})  # type: ignore[attr-defined]


def _convolve(a: Any, v: Any, longest: int, other: int) -> Any:
    """``np.convolve`` of vectors whose lengths are known only at run time: zeros fill them up."""
    if len(a) == 0 or len(v) == 0:
        raise ValueError("a cannot be empty" if len(a) == 0 else "v cannot be empty")
    whole_a, whole_v = np.zeros(longest, a.dtype), np.zeros(other, v.dtype)
    whole_a[: len(a)] = a
    whole_v[: len(v)] = v
    return np.convolve(whole_a, whole_v)[: len(a) + len(v) - 1]


@traces(np.polymul)
def polymul(trace: Any, a1: Any, a2: Any) -> Any:
    if isinstance(a1, np.poly1d) or isinstance(a2, np.poly1d):
        return trace.calls.call_function(np.polymul._implementation, (a1, a2), {}, always=True)  # type: ignore[attr-defined]
    return trace.calls.interpret(_polymul, (a1, a2), {})


def _polymul(a1: Any, a2: Any) -> Any:
    """``np.polymul`` of polynomials whose degrees are their lengths less one: NumPy leaves out zeros in front."""
    a1, a2 = np.atleast_1d(a1), np.atleast_1d(a2)
    for a in (a1, a2):
        if len(a) > 1 and a[0] == 0:
            raise BadInput(
                "np.polymul of a polynomial whose first coefficient is zero cannot be compiled, because the length of the product "
                "depends on values; leave this coefficient out"
            )
    return np.convolve(a1, a2)
