"""Tests, without knowledge of a rule, that a zero cotangent contributes exactly zero.

An entry of an operand is changed, and the cotangent is set to zero wherever the result changes with it.  The pullback
must then not depend on that entry: Inf or NaN in its place must give the same result as the original number.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from morula.core.rules.table import Rule, pull, pull_strongly
from morula.core.testing.differences import numeric_leaves, rebuild_numbers

OF_WHOLE_MATRICES = {
    "qr",
    "svd",
    "lstsq",
    "expm",
    "logm",
    "sqrtm",
    "funm",
    "signm",
    "schur",
    "hessenberg",
    "cosm",
    "sinm",
    "tanm",
    "gssv",
    *(f"function {letter}{name}" for letter in "sdcz" for name in ("getrs", "potrs", "trtri", "trtrs")),
}
"""No part of these results is without the other entries of the matrix, though it may be a constant zero."""

REFUSED = (ValueError, TypeError, ArithmeticError, IndexError, np.linalg.LinAlgError)


def check_strong_zero(rule: Rule, y: Any, dy: Any, args: Any, kwargs: Any, known: Any, rtol: float) -> None:
    """Prove ``pull_strongly`` at finite operands, and with Inf and NaN in entries that only zero cotangents depend on."""
    f = rule.function
    plain = pull(rule, dy, y, args, kwargs)
    _assert_close(
        pull_strongly(rule, dy, y, args, kwargs), plain, known, rtol, f"{f}: strong and plain products differ"
    )
    if getattr(f, "__name__", "") in OF_WHOLE_MATRICES:
        return
    for moved, spoiled in _variants(f, args, kwargs, y):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            masked, kept = _masked(dy, y, moved)
            if not kept:
                continue
            expected = pull(rule, masked, y, args, kwargs)
            for bad in spoiled:
                try:
                    y_bad = f(*bad, **kwargs)
                except REFUSED:
                    continue
                if [np.shape(x) for _, x in numeric_leaves(y_bad)] != [np.shape(x) for _, x in numeric_leaves(y)]:
                    continue
                if not _agree(y, y_bad, masked):
                    continue
                found = pull_strongly(rule, masked, y_bad, bad, kwargs)
                _assert_close(found, expected, known, rtol, f"{f}: with {bad!r}, of which only {masked!r} is asked")


def _variants(f: Callable[..., Any], args: Any, kwargs: Any, y: Any) -> Iterator[tuple[list[Any], list[Any]]]:
    """For an entry of each array operand: results with it moved, and operands with Inf and NaN there."""
    for i, x in enumerate(args):
        if not isinstance(x, np.ndarray) or x.dtype.kind not in "fc" or x.size < 2:
            continue
        place = x.size // 2

        def put(value: Any, i: int = i, place: int = place) -> Any:
            new = copy.deepcopy(args)
            new[i].flat[place] = value
            return new

        moved = []
        for value in (x.flat[place] * 1.37 + 0.11, -7.0, 1e3):
            try:
                moved.append(f(*put(value), **kwargs))
            except REFUSED:
                moved.append(None)
        # Some functions of SciPy in C never come back from infinity.
        of_numpy = not isinstance(f, np.ufunc) or getattr(np, f.__name__, None) is f
        yield moved, [put(x) for x in (np.inf, np.nan) if of_numpy or np.isnan(x)]


def _masked(dy: Any, y: Any, moved: list[Any]) -> tuple[Any, bool]:
    """The cotangent with zeros where any result differs from ``y``, and whether it has zeros and others."""
    others = [dict(numeric_leaves(m)) for m in moved]
    zeros = rest = False

    def mask(path: Any, d: Any) -> Any:
        nonlocal zeros, rest
        mine = dict(numeric_leaves(y)).get(path)
        same = np.ones(np.shape(d), bool)
        for other in others:
            with np.errstate(all="ignore"):
                same &= path in other and np.shape(other[path]) == np.shape(mine) and np.equal(other[path], mine)
        zeros |= not np.all(same)
        rest |= bool(np.any(same))
        return np.where(same, d, 0).astype(np.asarray(d).dtype) if isinstance(d, np.ndarray) else d * bool(same)

    return rebuild_numbers(dy, mask, other=lambda d: d), zeros and rest


def _agree(y: Any, y_bad: Any, masked: Any) -> bool:
    """Whether the results that are asked for are those of the finite operands: Inf may move more than a number does."""
    mine, other = dict(numeric_leaves(y)), dict(numeric_leaves(y_bad))
    return all(
        np.allclose(np.where(d == 0, 0, other[path]), np.where(d == 0, 0, mine[path]), rtol=1e-9, atol=1e-12)
        for path, d in numeric_leaves(masked)
    )


def _assert_close(found: Any, expected: Any, known: Any, rtol: float, what: str) -> None:
    for i in known:
        if i < len(expected) and expected[i] is not None:
            for (_, a), (_, b) in zip(numeric_leaves(found[i]), numeric_leaves(expected[i]), strict=True):
                size = float(np.max(np.abs(b), initial=0.0))
                single = np.asarray(b).dtype in (np.float32, np.complex64)
                atol = (1e-6 if single else 1e-9) * (1 + size)
                np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=what)
