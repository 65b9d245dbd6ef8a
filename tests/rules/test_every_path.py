"""Every rule on every path, at arguments generated from the cases of the other tests.

The eager engine's two tiers and typed IR in the interpreter give the same value, first and second derivative: at other values
(zeros, equal elements, infinities, ...), at kinks and singularities, and for arguments of other types.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pytest
from interpreted import interpreted
from rule_cases import FILES, POINTS, Case, hash_of, sample, variations
from rule_directions import Directions, along
from rule_paths import all_of, first_of, is_structured, program_of, recorded
from rule_tester import OF_ANY_ORDER, cotangent, has_refused_forms, is_refused, without_integers

import morula as mo
from morula.core.errors import BadInput, NoDerivative
from morula.core.testing.differences import numeric_leaves, numerical_vjp

pytestmark = pytest.mark.paths

COUNT = int(os.environ.get("MORULA_TEST_CASES", "1"))
"""How many cases of each function."""
EXPECTED = (BadInput, NoDerivative)
UNWRITTEN = {"irfft": {"empty"}, "riccati_jn": {"an infinity", "a negative infinity"}}
"""Variations, by function, at which NumPy and SciPy return memory that nothing was written into: no two calls agree."""
SLOW = {
    *(
        "gammainc",
        "gammaincc",
        "gammaincinv",
        "gammainccinv",
        "chdtr",
        "chdtrc",
        "chdtri",
        "gdtr",
        "gdtrc",
        "gdtrix",
        "fdtr",
    ),
    *(
        "fdtrc",
        "fdtri",
        "stdtr",
        "stdtrit",
        "betainc",
        "betaincc",
        "betaincinv",
        "betainccinv",
        "btdtri",
        "bdtr",
        "nbdtr",
    ),
}
"""Distributions whose slopes are integrals: typed IR takes many seconds for each when it is interpreted, so they run as given."""
ENDLESS = ("pro_", "obl_", "lmbda", "hyp1f1")
"""Beginnings of the names of functions that SciPy never comes back from at some values: they run as given, too."""
OF_FREE_PHASE = {"eig", "eigh", "svd"}
"""Complex vectors have a phase that no derivative tells."""
UNDEFINED = (ValueError, TypeError, ArithmeticError, IndexError, np.linalg.LinAlgError)


class Paths:
    """A case's program and its derivatives on each path."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.program = program_of(case.function, case.args, case.kwargs, case.active)
        self.run = all_of(self.program)
        self.interpreted = interpreted(self.run)
        self.directions = Directions(case.function, self.program)
        self.has_run = False

    def differences(self, case: Case) -> list[str]:
        """How the paths differ at the arguments of ``case``, which have the same types."""
        point = case.point
        try:
            y = self.program(*point)
        except Exception:  # these are no arguments of the function
            return []
        if not numeric_leaves(y):
            return []
        random = np.random.default_rng(7)
        given = cotangent(y, random), tuple(map(without_integers, point, cotangent(point, random))), *point
        try:
            with recorded(self.program):
                expected = self.run(*given)
        except (*EXPECTED, *UNDEFINED):
            return self._differences_of_first_order(given)
        found = _differences("the value", y, expected[0])
        if is_structured(self.program, point):
            found += [f"structured: {what}" for what in compared(expected, self.run(*given))]
        try:
            found += [f"compiled: {what}" for what in compared(expected, self.interpreted(*given))]
        except EXPECTED as error:  # compiled programs may refuse equal eigenvalues and the like
            if not is_refused(case.function, error) and not self.has_run:
                found.append(f"compiled: {type(error).__name__}: {error}")
        except Exception as error:
            if _finite(expected):
                found.append(f"compiled: {type(error).__name__}: {error}")
        self.has_run = True
        return found + self.directions.differences(given, expected)

    def _differences_of_first_order(self, given: tuple[Any, ...]) -> list[str]:
        """How forward mode differs where reverse mode has no second derivative."""
        self.has_run = True  # compiled programs may refuse the second derivative at other arguments, too
        dy, _, *point = given
        try:
            with recorded(self.program):
                expected = first_of(self.program)(dy, *point)
        except (*EXPECTED, *UNDEFINED):
            return []
        return self.directions.differences(given, expected)


def compared(expected: Any, found: Any) -> list[str]:
    """The differences of value, first and second derivative; of a derivative only where what it is taken of is finite."""
    differences = _differences("the value", expected[0], found[0])
    if _finite(expected[0]):
        differences += _differences("the gradient", expected[1], found[1])
        if _finite(expected[1]):
            differences += _differences("the second derivative", expected[2], found[2])
    return differences


def _finite(x: Any) -> bool:
    return all(np.all(np.isfinite(leaf)) for _, leaf in numeric_leaves(x))


def _differences(what: str, expected: Any, found: Any, rtol: float = 0.0) -> list[str]:
    there = dict(numeric_leaves(found))
    differences = []
    for path, e in numeric_leaves(expected):
        x = there.get(path, 0.0 * np.asarray(e))
        single = np.asarray(e).dtype in (np.float32, np.complex64) or np.asarray(x).dtype in (np.float32, np.complex64)
        rtol = max(rtol, 2e-3 if single else 1e-6)
        finite = np.isfinite(e)
        size = np.max(np.abs(e), initial=0.0, where=finite)
        same = np.shape(e) == np.shape(x) and np.array_equal(finite, np.isfinite(x))
        if isinstance(e, np.ndarray) and path in there:
            same = same and np.asarray(x).dtype == e.dtype
        if same and what == "the value" and np.isrealobj(e):
            same = np.array_equal(np.asarray(e)[~finite], np.asarray(x)[~finite], equal_nan=True)
        if not same or not np.allclose(np.asarray(x)[finite], np.asarray(e)[finite], rtol=rtol, atol=rtol * (1 + size)):
            differences.append(f"{what} {_shown(x)}, not {_shown(e)}")
    return differences


def _shown(x: Any) -> str:
    return f"{np.asarray(x).dtype}{list(np.shape(x))} {np.array2string(np.asarray(x), threshold=8, separator=',')}"


def _against_differences(case: Case) -> list[str]:
    program = program_of(case.function, case.args, case.kwargs, case.active)
    try:
        dy = cotangent(program(*case.point), np.random.default_rng(7))
    except Exception:  # these are no arguments of the function
        return []
    try:
        with recorded(program):
            _, gradient = all_of(program)(dy, cotangent(case.point, np.random.default_rng(8)), *case.point)[:2]
        expected, errors = numerical_vjp(program, dy, *case.point)
    except (*EXPECTED, *UNDEFINED):
        return []
    if not _finite(expected) or not all(np.all(e < 1e-7) for _, e in numeric_leaves(errors)):
        return []
    return _differences("the gradient", expected, gradient, 1e-5)


def check(cases: list[Case]) -> None:
    failures = []
    for case in cases:
        paths = Paths(case)
        is_slow = case.function.__name__ in SLOW or case.function.__name__.startswith(ENDLESS)
        found = [
            (name, d)
            for name, of in {"as given": lambda x: x, **({} if is_slow else POINTS)}.items()
            for d in paths.differences(case.at(of))
        ]
        for name, varied in () if is_slow else variations(case):
            found += [(name, d) for d in Paths(varied).differences(varied)]
            if name == "complex" and case.function.__name__ not in OF_FREE_PHASE:
                found += [(name, d) for d in _against_differences(varied)]
        unwritten = UNWRITTEN.get(case.function.__name__, ())
        what = " ".join(f"{case.name}{case.args}{case.kwargs or ''}".split())
        failures += [f"{what}: {name}: {text}" for name, text in found if name not in unwritten]
    assert not failures, f"{len(failures)} differences:\n" + "\n".join(failures)


@pytest.mark.parametrize("file", FILES)
def test_every_path_gives_the_same_derivatives(file):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        check([case for case in sample(file, COUNT) if case.function not in OF_ANY_ORDER])


NO_BACK_END = {np.longdouble, np.clongdouble}
"""Back ends have no numbers of more than double precision."""
BATCH = 12
"""How many functions stand in one compiled program."""
SHARE = {"native": 1, "xla": 4}
"""Of how many functions one is compiled."""
SHARE_OF_DIRECTIONS = 4
"""Of how many functions one is compiled in forward and Taylor mode, too."""


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("file", FILES)
def test_a_sample_compiled_by_a_back_end_gives_the_same_derivatives(file, target):
    chosen = [case for case in sample(file, 1) if int(hash_of(case), 16) % SHARE[target] == 0]
    chosen = [case for case in chosen if case.function not in OF_ANY_ORDER and not has_refused_forms(case.function)]
    chosen = [case for case in chosen if case.function not in NO_BACK_END]
    failures = []
    for i in range(0, len(chosen), BATCH):
        batch = chosen[i : i + BATCH]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            made = [_recorded(case) for case in batch]
            batch, runs, given, expected = zip(*(x for x in made if x is not None))

            def program(given: Any, runs: Any = runs) -> Any:
                return [{mode: run(*g) for mode, run in modes.items()} for modes, g in zip(runs, given)]

            found = mo.jit(program, target=target)(given)
        for case, g, e, x in zip(batch, given, expected, found, strict=True):
            texts = compared(e, x.pop("reverse"))
            texts += [f"{mode}: {text}" for mode, coefficients in x.items() for text in along(e, g, coefficients)]
            failures += [f"{case.name}{case.args}{case.kwargs or ''}: {text}" for text in texts]
    assert not failures, f"{len(failures)} differences:\n" + "\n".join(failures)


def _recorded(case: Case) -> tuple[Case, Any, Any, Any] | None:
    """The program's modes, arguments for them, and the derivatives when recorded; None if there is no second order."""
    program = program_of(case.function, case.args, case.kwargs, case.active)
    run, random, point = all_of(program), np.random.default_rng(7), case.point
    given = cotangent(program(*point), random), tuple(map(without_integers, point, cotangent(point, random))), *point
    try:
        with recorded(program):
            expected = run(*given)
    except (*EXPECTED, *UNDEFINED):
        return None
    modes = {"reverse": run}
    if int(hash_of(case), 16) % SHARE_OF_DIRECTIONS == 0:
        modes |= Directions(case.function, program).of_back_ends(given)
    return case, modes, given, expected
