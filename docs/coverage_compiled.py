"""Tries NumPy's and SciPy's functions in compiled code: the columns of ``coverage.md`` for the targets of ``jit``.

Each function with a rule is tried on examples from the tests of the rules, and each function that is differentiated
from its source on the calls of ``coverage.py``.  The value is compared with NumPy's, the gradient with the eager one.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("MORULA_CACHE", "0")

import numpy as np

import morula as mo
from morula.core.testing.differences import numeric_leaves

TARGETS = ("native", "xla")
TESTS = Path(__file__).resolve().parents[1] / "tests"
SECONDS = 60  # for one example
Example = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def rule_examples() -> dict[Any, list[Example]]:
    """The calls that the tests of the rules pass to ``check_rule``, by function."""
    import pytest

    sys.path.insert(0, str(TESTS))
    import rule_tester

    found: dict[Any, list[Example]] = {}
    options = {"complex_step", "order", "rtol", "atol", "known"}

    def record(f: Any, *args: Any, **kwargs: Any) -> None:
        given = {k: x for k, x in kwargs.items() if k not in options}
        found.setdefault(f, []).append((f, args, given))

    check, rule_tester.check_rule = rule_tester.check_rule, record
    try:
        with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
            chosen = ["-k", "not sympy and not equations", str(TESTS / "rules")]
            pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *chosen])
    finally:
        rule_tester.check_rule = check
    return found


def few(examples: Sequence[Example], most: int = 2) -> list[Example]:
    """At most ``most`` of the examples, evenly spaced."""
    return list(examples)[:: max(1, len(examples) // most)][:most]


def attempt(example: Example, target: str) -> str:
    """The state of one call: ``compiles``, ``in Python``, or ``refused`` with the reason.

    Raises:
        AssertionError: a number is wrong.
    """
    f, args, kwargs = example
    varying = [i for i, x in enumerate(args) if _varies(x)]
    if not varying:
        return ""

    others = tuple(
        None if i in varying else x for i, x in enumerate(args)
    )  # an argument may not be read from outside too

    def program(*xs: Any) -> Any:
        given = list(others)
        for i, x in zip(varying, xs):
            given[i] = x
        return f(*given, **kwargs)

    xs = [args[i] for i in varying]
    expected = program(*xs)
    compiled = mo.jit(program, target=target)
    try:
        found = compiled(*xs)
    except Exception as error:
        return f"refused: {_reason(error)}"
    _same(found, expected, "value")
    word = _word(compiled)
    loss = _loss(program, expected)
    try:
        slopes = mo.value_and_grad(loss)(*xs)
    except Exception:  # no derivative, or the result is no number
        return word
    compiled = mo.jit(mo.value_and_grad(loss), target=target)
    try:
        found = compiled(*xs)
    except Exception as error:
        return f"{word}; gradient refused: {_reason(error)}"
    _same([x for _, x in numeric_leaves(found)], [x for _, x in numeric_leaves(slopes)], "gradient")
    return word if word != "compiles" else _word(compiled)


def state(examples: Sequence[Example], target: str) -> str:
    """The state of a function, from some calls of it."""
    tried = [x for x in (_within(SECONDS, attempt, example, target) for example in examples) if x]
    good = [x for x in tried if not x.startswith("refused")]
    if not good or len(good) == len(tried):
        return max(good or tried, key=len, default="")
    refused = next(x for x in tried if x not in good)
    return f"{max(good, key=len)}; some {refused}"


def _within(seconds: int, f: Callable[..., str], *args: Any) -> str:
    def stop(*_: Any) -> None:
        raise TimeoutError(f"over {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return f(*args)
    except TimeoutError as error:
        return f"refused: {error}"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _varies(x: Any) -> bool:
    found = [] if isinstance(x, (bool, int, str)) else numeric_leaves(x)
    return bool(found) and np.asarray(found[0][1]).dtype.kind in "fc"


def _word(compiled: Any) -> str:
    """``in Python`` if a function that has been called calls back into Python, else ``compiles``."""
    made = next(iter(next(iter(compiled.forms.values())).programs.values())).executable
    return "in Python" if made.runs_python else "compiles"


def _reason(error: Exception) -> str:
    """The first line of an error, shortened to a few words."""
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    for end in (
        " cannot be compiled",
        " cannot take arguments",
        " must be known",
        "; it ",
        ": invalid",
        " (/",
        " (line ",
    ):
        text = text.split(end)[0]
    return text.replace("|", "/")[:90].rstrip(" ,;")


def _parts(y: Any) -> Iterator[Any]:
    if isinstance(y, (tuple, list)):
        for x in y:
            yield from _parts(x)
    elif y is not None:
        yield y


def _loss(program: Callable[..., Any], y: Any) -> Callable[..., Any]:
    """A real number that depends on every real and complex number of the result."""
    random = np.random.default_rng(7)
    weights: list[Any] = []
    for x in map(np.asarray, _parts(y)):
        w = random.uniform(0.5, 1.5, x.shape) + 1j * random.uniform(0.5, 1.5, x.shape)
        weights.append((w if x.dtype.kind == "c" else w.real).astype(x.dtype) if x.dtype.kind in "fc" else None)

    def gathered(y: Any) -> list[Any]:
        if isinstance(y, (tuple, list)):
            found: list[Any] = []
            for x in y:
                found += gathered(x)
            return found
        return [] if y is None else [y]

    def loss(*xs: Any) -> Any:
        total = 0.0
        for x, w in zip(gathered(program(*xs)), weights):
            if w is not None:
                total = total + np.sum(np.real(x * w))
        return total

    return loss


def _same(found: Any, expected: Any, what: str) -> None:
    for a, b in zip(map(np.asarray, _parts(found)), map(np.asarray, _parts(expected)), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), f"{what}: {a.dtype}{a.shape}, not {b.dtype}{b.shape}"
        rtol = 0.0 if b.dtype.kind not in "fc" else 1e-4 if b.dtype.char in "fF" else 1e-7
        size = float(np.max(np.abs(b[np.isfinite(b)]), initial=0.0)) if rtol else 0.0
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * size + 1e-12 * bool(rtol), err_msg=what)
