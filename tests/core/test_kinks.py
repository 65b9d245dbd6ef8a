"""At each kink in ``docs/semantics.md`` first and second derivatives are the documented ones, on every path."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kinks import FINITE, KINKS, Kink
from rule_paths import recorded

import morula as mo
from morula.core.testing.differences import numeric_leaves, rebuild_numbers

PAGE = Path(__file__).resolve().parents[2] / "docs" / "semantics.md"
PATHS = ("structured", "recorded", "native", "xla")
CASES = [(row, kink) for row, kinks in KINKS.items() for kink in kinks]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def first(kink: Kink) -> Callable[..., Any]:
    return lambda *args: (mo.gradient(kink.program, *args), None)


def both(kink: Kink) -> Callable[..., Any]:
    """The gradient, and the gradient of its leaves weighted with 1, 2, 3, ..."""

    def weighted(*args: Any) -> Any:
        total, weight, gradient = 0.0, 1.0, mo.gradient(kink.program, *args)
        for x in flat(gradient):
            weights = np.arange(np.size(x)).reshape(np.shape(x)) + weight
            total, weight = total + np.sum(np.real(x) * weights), weight + np.size(x)
        return total, gradient

    def run(*args: Any) -> Any:
        (_, gradient), second = mo.value_and_grad(weighted, tuple(range(len(args))), has_aux=True)(*args)
        return gradient, second

    return run


def flat(x: Any) -> list[Any]:
    if isinstance(x, dict):
        x = list(x.values())
    return [leaf for e in x for leaf in flat(e)] if isinstance(x, (list, tuple)) else [x]


def single(args: Any) -> Any:
    """The same arguments in single precision."""
    return rebuild_numbers(
        args,
        lambda _, x: x if isinstance(x, int) else np.asarray(x, np.complex64 if np.iscomplexobj(x) else np.float32)[()],
    )


@cache
def found(path: str, row: str, precision: type = np.float64) -> dict[str, tuple[Any, Any]]:
    """The derivatives of a row's programs on a path, compiled as one program; second ones in double precision only."""
    kinks = KINKS[row]
    is_single = precision is np.float32
    functions = [first(k) if is_single or k.second is None else both(k) for k in kinks]
    args = [single(k.args) if is_single else k.args for k in kinks]
    if path in ("native", "xla"):
        given = mo.jit(lambda args: [f(*a) for f, a in zip(functions, args)], target=path)(args)
    else:
        with recorded(*(k.program for k in kinks if path == "recorded")):
            given = [f(*a) for f, a in zip(functions, args)]
    return {k.name: g for k, g in zip(kinks, given)}


def assert_gradient(got: Any, expected: Any, rtol: float = 1e-12) -> None:
    for x, e in zip(flat(got), flat(expected), strict=True):
        assert np.shape(x) == np.shape(e)
        np.testing.assert_allclose(x, e, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("row", "kink"), CASES, ids=[f"{i}-{k.name}" for i, (_, k) in enumerate(CASES)])
def test_the_gradient_at_a_kink_is_what_the_page_says(row, kink, path):
    assert_gradient(found(path, row)[kink.name][0], kink.gradient)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("row", "kink"),
    [case for case in CASES if case[1].second is not None],
    ids=[f"{i}-{k.name}" for i, (_, k) in enumerate(CASES) if k.second is not None],
)
def test_the_second_derivative_at_a_kink_is_finite_and_the_same_on_every_path(row, kink, path):
    got = found(path, row)[kink.name][1]
    assert all(np.isfinite(x).all() for x in flat(got))
    if kink.second is FINITE:
        assert_gradient(got, found("recorded", row)[kink.name][1])
    elif np.ndim(kink.second) == 0 and kink.second == 0:
        assert not any(np.abs(x).max(initial=0.0) > 1e-12 for x in flat(got))
    else:
        assert_gradient(got, kink.second if isinstance(kink.second, tuple) else (kink.second,))


@pytest.mark.parametrize("path", ("recorded", "native"))
@pytest.mark.parametrize("row", KINKS)
def test_single_precision_takes_the_same_side_of_a_kink(row, path):
    got = found(path, row, np.float32)
    for kink in KINKS[row]:
        assert_gradient(got[kink.name][0], kink.gradient, 1e-5)
        for (_, x), (_, dx) in zip(numeric_leaves(single(kink.args)), numeric_leaves(got[kink.name][0]), strict=True):
            assert isinstance(x, int) or np.asarray(dx).dtype == np.asarray(x).dtype


def test_a_row_of_the_page_is_a_row_of_the_table():
    text = PAGE.read_text().split("## Where there is no derivative")[1].split("\n## ")[0]
    table = text.split("| where |")[1].split("\n\n")[0]
    rows = [r.replace("\\|", "|") for r in re.findall(r"^\| (.*?) \| (?:.*) \|$", table, flags=re.MULTILINE)]
    assert [r for r in rows if r not in KINKS] == [] and [r for r in KINKS if r not in rows] == []
    assert all(KINKS.values())


@pytest.mark.parametrize(("row", "kink"), CASES, ids=[f"{i}-{k.name}" for i, (_, k) in enumerate(CASES)])
def test_the_tangent_at_a_kink_is_that_of_the_gradient(row, kink):
    """Along each argument, or as an error of forward mode."""
    for i, (x, g) in enumerate(zip(kink.args, kink.gradient)):
        if g is None or not numeric_leaves(x):
            continue
        ones = rebuild_numbers(x, lambda _, e: np.ones_like(e) if isinstance(e, np.ndarray) else type(e)(1))
        tangents = tuple(ones if k == i else None for k in range(len(kink.args)))
        try:
            _, dy = mo.jvp(kink.program, kink.args, tangents)
        except mo.NoDerivative as error:
            assert "forward mode" in str(error) or "equal values" in str(error)
            continue
        expected = sum(np.sum(np.real(e)) for e in flat([g]) if e is not None)
        np.testing.assert_allclose(dy, expected, rtol=1e-12, atol=1e-12)
