"""Calls of NumPy's and SciPy's functions with complex arguments, and what kind of function of each argument these are.

The calls are those of ``tests/rules`` that have complex arguments; for a function that is called there with real ones only, these times
1 + i/4. The kind is found by differences along a direction and along i times that: the two derivatives of a holomorphic function
satisfy the equations of Cauchy and Riemann.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from rule_cases import FILES, Case, cases_of

from morula.core.rules import find_rule
from morula.core.testing.differences import numeric_leaves, rebuild_numbers, ridders

MODULES = ("numpy", "numpy.linalg", "numpy.fft", "scipy.linalg", "scipy.special", "scipy.fft")
MOST = 3
"""How many calls of each function decide what kind of function it is."""

NO_ARGUMENTS = {
    "numpy": "arange clongdouble complex256 double fftfreq float128 float32 float64 full_like histogram longdouble single",
    "numpy.fft": "fftfreq rfftfreq",
    "scipy.fft": "fftfreq rfftfreq",
}
"""Functions that take complex arguments only by chance, drop their imaginary parts, or have extended precision; by module."""
BY_HAND = {
    **dict.fromkeys(
        (
            "numpy.linalg.eigh",
            *(f"scipy.linalg.{name}" for name in ("eigh", "eig_banded", "schur", "rsf2csf", "qz", "ordqz")),
        ),
        "through products that do not depend on the phases of vectors",
    ),
    **dict.fromkeys(
        ("scipy.linalg.solve_continuous_are", "scipy.linalg.solve_discrete_are"),
        "through factors of the Hermitian Q and R",
    ),
    **dict.fromkeys(
        ("scipy.linalg.qr_delete", "scipy.linalg.qr_update"), "through factors of a matrix, which stay orthogonal"
    ),
    "numpy.unique_values": "through a sum, as the order of the values jumps",
}
"""Functions that are checked as a part of other functions, and how."""
REFUSED = {"scipy.special.airye", "scipy.special.digamma", "scipy.special.psi", "scipy.special.pbdn_seq"}
"""Functions with a derivative for real arguments only: complex ones are an error."""
CONSTANT = "constant"


@cache
def _by_function() -> dict[Any, list[Case]]:
    found: dict[Any, list[Case]] = {}
    for file in FILES:
        for case in cases_of(file):
            rule = find_rule(case.function)
            found.setdefault(case.function if rule is None else rule.function, []).append(case)
    return found


def names() -> Iterator[tuple[str, str, Any]]:
    """Module, name and function of each public function with a rule that is not zero everywhere."""
    for module in MODULES:
        holder = importlib.import_module(module)
        for name in sorted(getattr(holder, "__all__", dir(holder))):
            f = getattr(holder, name, None)
            try:
                rule = find_rule(f) if callable(f) and not name.startswith("_") else None
            except TypeError:  # an object without a hash
                continue
            if rule is not None and not rule.is_zero and name not in NO_ARGUMENTS.get(module, "").split():
                yield module, name, rule.function


@cache
def calls_of(function: Any) -> tuple[Case, ...]:
    """The complex calls of the rule's tests, those with the most complex arguments first; else real ones made complex."""
    cases = _by_function().get(function, [])
    given = sorted((c for c in cases if complex_arguments(c)), key=lambda c: -len(complex_arguments(c)))
    return tuple(given) or tuple(made for made in map(made_complex, cases) if made is not None)


def order_of(function: Any) -> int:
    """The order to which the rule's tests check complex calls through the engine; 0 if they do not."""
    cases = _by_function().get(function, ())
    return max((case.order for case in cases if complex_arguments(case)), default=0)


def complex_arguments(case: Case) -> tuple[int, ...]:
    return tuple(i for i in case.active if any(np.iscomplexobj(x) for _, x in numeric_leaves(case.args[i])))


def made_complex(case: Case) -> Case | None:
    """The call with complex arguments; None if the function takes none."""
    made = case.at(lambda x: x * (1 + 0.25j))
    if not complex_arguments(made):
        return None
    try:
        with np.errstate(all="ignore"):
            y = made.function(*made.args, **made.kwargs)
    except Exception:
        return None
    return made if inexact(y) else None


def inexact(y: Any, of: Any = None) -> list[np.ndarray]:
    """The floats and complex numbers of a result, or the values in their places of ``of``."""
    found = dict(numeric_leaves(y if of is None else of))
    return [np.asarray(found[path]) for path, e in numeric_leaves(y) if np.asarray(e).dtype.kind in "fc"]


def leaves(x: Any) -> list[np.ndarray]:
    return [np.asarray(e) for _, e in numeric_leaves(x)]


# Kinds


def direction(x: Any, unit: complex = 1.0) -> Any:
    """A direction in the structure of an argument, times ``unit``; zero for the numbers in it that are not complex."""
    random = np.random.default_rng(3)

    def draw(_: Any, e: Any) -> Any:
        v = unit * (random.uniform(0.5, 1.5, np.shape(e)) + 1j * random.uniform(-1.5, -0.5, np.shape(e)))
        v = v if np.iscomplexobj(e) else np.zeros(np.shape(e))
        return v.astype(e.dtype) if isinstance(e, np.ndarray) else type(e)(v)

    return rebuild_numbers(x, draw)


def derivative(case: Case, i: int, unit: complex) -> complex:
    """The product of ``weights`` with the derivatives of the results along ``direction(args[i], unit)``, by differences."""
    along = dict(numeric_leaves(direction(case.args[i], unit)))

    def at(t: float) -> complex:
        x = rebuild_numbers(
            case.args[i],
            lambda path, e: e + (e.dtype.type(t) if hasattr(e, "dtype") else type(e)(t)) * along[path],
        )
        with np.errstate(all="ignore"):
            return weighted(inexact(case.function(*case.args[:i], x, *case.args[i + 1 :], **case.kwargs)))

    resolution = 2.0**-22 if is_single(case) else 2.0**-52
    real, imaginary = (
        ridders(lambda t: float(part(at(t))), 0.02, resolution=resolution)[0] for part in (np.real, np.imag)
    )
    return complex(real, imaginary)


def weights(results: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Cotangents of results."""
    random = np.random.default_rng(5)
    drawn = [random.uniform(0.5, 1.5, np.shape(e)) + 1j * random.uniform(-1.5, -0.5, np.shape(e)) for e in results]
    return [w if np.iscomplexobj(e) else w.real for w, e in zip(drawn, results)]


def weighted(results: Sequence[np.ndarray]) -> complex:
    return sum((complex(np.sum(np.conj(w) * e)) for w, e in zip(weights(results), results)), 0j)


def is_single(case: Case) -> bool:
    return any(np.asarray(e).dtype in (np.float32, np.complex64) for _, e in numeric_leaves(case.args))


def kind_of(case: Case, i: int) -> str:
    """What kind of function the call is of the complex argument ``i``."""
    with np.errstate(all="ignore"):
        if not any(map(np.iscomplexobj, inexact(case.function(*case.args, **case.kwargs)))):
            return "real-valued"
    along, across = derivative(case, i, 1.0), derivative(case, i, 1j)
    rtol = 1e-2 if is_single(case) else 1e-5
    if abs(along) + abs(across) < 1e-9:
        return CONSTANT
    for kind, factor in {"holomorphic": 1j, "anti-holomorphic": -1j}.items():
        if np.isclose(across, factor * along, rtol=rtol, atol=rtol * abs(along)):
            return kind
    return "mixed"


def kinds(calls: Sequence[Case]) -> dict[int, str]:
    """The kind in each argument that is complex in some call; several where calls with different options differ."""
    found: dict[int, set[str]] = {}
    for case in calls:
        for i in complex_arguments(case):
            found.setdefault(i, set()).add(kind_of(case, i))
    return {i: " or ".join(sorted(each - {CONSTANT} or each)) for i, each in sorted(found.items())}


def few(calls: Sequence[Case]) -> Sequence[Case]:
    return calls[:: max(1, len(calls) // MOST)][:MOST]


def untested() -> list[tuple[str, Case]]:
    """A complex call of each function whose rule's tests have none that runs the engine; it is tested to the second order."""
    found: dict[Any, tuple[str, Case]] = {}
    for module, name, function in names():
        whole = f"{module}.{name}"
        if whole not in BY_HAND and whole not in REFUSED and not order_of(function):
            found |= {function: (whole, case) for case in calls_of(function)[:1] if function not in found}
    return list(found.values())
