"""The cases of ``tests/rules`` (each function with the arguments of ``check_rule``), and variations of them."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import rule_tester

from morula.core.rules import find_rule
from morula.core.testing.differences import numeric_leaves

FOLDER = Path(__file__).parent / "rules"
FILES = tuple(p.stem for p in sorted(FOLDER.glob("test_*.py")) if "rule_tester import check_rule" in p.read_text())


@dataclass(frozen=True, eq=False)
class Case:
    """A call, and which of its arguments are differentiated."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    active: tuple[int, ...]
    order: int = 2
    """How many derivatives the test of the rule checks."""

    @property
    def point(self) -> tuple[Any, ...]:
        return tuple(self.args[i] for i in self.active)

    @property
    def name(self) -> str:
        return f"{getattr(self.function, '__module__', None) or 'numpy'}.{self.function.__name__}"

    def at(self, of: Callable[[np.ndarray], Any]) -> Case:
        """The case with ``of(x)`` for every array, or number of a float type, that is differentiated."""
        return replace(self, args=tuple(_each(x, of) if i in self.active else x for i, x in enumerate(self.args)))


def _each(x: Any, of: Callable[[np.ndarray], Any]) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)([_each(e, of) for e in x])
    if isinstance(x, np.ndarray) and x.dtype.kind in "fc":
        return of(x)
    if isinstance(x, (float, complex, np.inexact)):
        found = of(np.asarray(x))
        return found.item() if type(x) in (float, complex) and np.ndim(found) == 0 else found[()]
    return x


@cache
def cases_of(file: str) -> tuple[Case, ...]:
    """The cases of a file, in order: its tests run once, with a ``check_rule`` that only notes what it is given."""
    found: list[Case] = []

    def note(f: Any, *args: Any, known: Any = None, **kwargs: Any) -> None:
        order = kwargs.get("order", 2)
        kwargs = {name: x for name, x in kwargs.items() if name not in rule_tester.OPTIONS}
        rule = find_rule(f)
        known = [i for i in range(len(args)) if not rule_tester.left_out(rule, i, args[i])] if known is None else known
        active = tuple(i for i in known if any(not isinstance(x, int) for _, x in numeric_leaves(args[i])))
        if active and not any(isinstance(x, tuple) and hasattr(x, "_fields") for x in args):
            found.append(Case(f, args, kwargs, active, order))

    module = _imported(file)
    module.check_rule = note
    for name, test in list(vars(module).items()):
        if name.startswith("test_") and "check_rule" in test.__code__.co_names:
            for given in _parameters(test):
                test(**given)
    return tuple(found)


def _imported(file: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"cases_of_{file}", FOLDER / f"{file}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _parameters(test: Any) -> Iterator[dict[str, Any]]:
    """The arguments of a test, for each of its parametrisations."""
    axes = []
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize":
            names, rows = mark.args[:2]
            names = [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)
            given = [row.values if hasattr(row, "marks") else row if len(names) > 1 else (row,) for row in rows]
            axes.append([dict(zip(names, row)) for row in given])
    for chosen in itertools.product(*axes):
        yield {name: x for given in chosen for name, x in given.items()}


def sample(file: str, count: int) -> list[Case]:
    """``count`` cases of each function of a file, chosen by a hash of their arguments."""
    by_function: dict[Any, list[Case]] = {}
    for case in cases_of(file):
        by_function.setdefault(case.function, []).append(case)
    return [case for cases in by_function.values() for case in sorted(cases, key=hash_of)[:count]]


def hash_of(case: Case) -> str:
    return hashlib.md5(repr((case.args, sorted(case.kwargs.items(), key=str))).encode()).hexdigest()


# Variations


def _set_middle(value: Any) -> Callable[[np.ndarray], np.ndarray]:
    def change(x: np.ndarray) -> np.ndarray:
        x = x.copy()
        # What libraries make of a complex infinity, in which one part may be NaN, is not the same everywhere.
        if x.size and (value is None or np.isfinite(value) or x.dtype.kind == "f"):
            x.flat[x.size // 2] = x.flat[0] if value is None else value
        return x

    return change


def _identity(x: np.ndarray) -> np.ndarray:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        return np.ones_like(x)
    return np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape).copy()


def _below(x: np.ndarray) -> np.ndarray:
    """Two, on the lower side of a branch cut."""
    return np.full_like(x, complex(2.0, -0.0) if x.dtype.kind == "c" else 2.0)


def _elsewhere_in_memory(x: np.ndarray) -> np.ndarray:
    """The same elements, every second one of a larger array, backwards and with the axes in the other order."""
    memory = np.zeros([2 * n for n in reversed(x.shape)], x.dtype)
    found = memory[(slice(None, None, -2),) * x.ndim].T
    if not x.ndim:
        return x
    found[...] = x
    return found


POINTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "zeros": np.zeros_like,
    "ones": np.ones_like,
    "minus ones": lambda x: np.full_like(x, -1),
    "halves": lambda x: np.full_like(x, 0.5),
    "the identity": _identity,
    "twos below the cut": _below,
    "two equal elements": _set_middle(None),
    "a zero": _set_middle(0),
    "an infinity": _set_middle(np.inf),
    "a negative infinity": _set_middle(-np.inf),
    "elsewhere in memory": _elsewhere_in_memory,
}
"""Other values of the same types, at many of which functions have kinks, ties, poles or singular matrices."""


def _single(x: np.ndarray) -> np.ndarray:
    return x.astype(np.complex64 if x.dtype.kind == "c" else np.float32)


TYPES: dict[str, Callable[[np.ndarray], Any]] = {
    "single precision": _single,
    "complex": lambda x: x * (1 + 0.25j),
    "complex in single precision": lambda x: (x * (1 + 0.25j)).astype(np.complex64),
    "empty": lambda x: x[:0] if x.ndim == 1 or x.ndim > 1 and x.shape[-1] != x.shape[-2] else x,
    "of no dimensions": lambda x: np.array(x.flat[0]) if x.size else x,
}
"""Other types."""


def variations(case: Case) -> Iterator[tuple[str, Case]]:
    """The case with arguments of other types; those of element-wise functions broadcast, too."""
    for name, of in TYPES.items():
        yield name, case.at(of)
    if find_rule(case.function).partials and len(case.active) > 1:
        for i in (case.active[0], case.active[-1]):
            for name, of in {"longer": lambda x: np.stack([x, x]), "a number": lambda x: x.flat[0]}.items():
                alone = replace(case, active=(i,)).at(lambda x, of=of: of(x) if x.ndim and x.size else x)
                yield f"argument {i} {name}", replace(alone, active=case.active)
