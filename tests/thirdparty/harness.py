"""Calls of packages that were not written for differentiation, and how each call is checked.

A module in ``calls/`` stands for one package.  It names its ``DISTRIBUTION`` on the package index and its ``FIELD``,
and contains

``CALLS``
    name -> ``Call(function, *arguments)``: a real use of the package, whose value and gradient are checked against
    extrapolated finite differences of the same function;
``REFUSED``
    name -> ``Refused(reason, text, function, *arguments)``: a use that raises ``NoDerivative``; ``text`` is a part of
    the message, ``reason`` explains the refusal in ``docs/generality.md``.
``CUT``
    name -> ``Cut(reason, function, *arguments)``: a use whose result is constant between the values that the package
    rounds to, so that its gradient is exactly zero; ``reason`` says where the package rounds.
``HELD_OUT``
    true for packages selected without regard to the time of their gradients, and never profiled to improve speed:
    ``benchmarks/generality`` reports them separately.

The tests, ``docs/generality.md`` and ``benchmarks/generality`` use these modules.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import morula as mo
from morula.testing import check_gradients


class Call:
    """A use of a package, differentiated with respect to every argument that holds floats."""

    def __init__(self, function: Callable[..., Any], *arguments: Any, rtol: float = 1e-6, atol: float = 1e-8) -> None:
        self.function, self.arguments = function, arguments
        self.rtol, self.atol = rtol, atol

    def check(self) -> None:
        """Compare with extrapolated differences; ``rtol`` is wider only where the package itself iterates to less.

        Done twice, as the second run takes the ways that the first has found.
        """
        for seed in range(2):
            check_gradients(self.function, *self.arguments, order=1, rtol=self.rtol, atol=self.atol, seed=seed)


class Refused:
    """A use whose derivative does not exist or cannot be followed: an error that says so, never a wrong number."""

    def __init__(self, reason: str, text: str, function: Callable[..., Any], *arguments: Any) -> None:
        self.reason, self.text = reason, text
        self.function, self.arguments = function, arguments

    def check(self) -> None:
        with pytest.raises(mo.NoDerivative, match=self.text):
            mo.gradient(self.function, *self.arguments)


class Cut:
    """A use that rounds its result, or passes its numbers through text: the derivative of the program is zero."""

    def __init__(self, reason: str, function: Callable[..., Any], *arguments: Any) -> None:
        self.reason, self.function, self.arguments = reason, function, arguments

    def check(self) -> None:
        for gradient in mo.gradient(lambda *args: np.real(np.sum(self.function(*args))), *self.arguments):
            assert not np.any(gradient)


@dataclass(frozen=True)
class Package:
    """The calls of one module of ``calls/``."""

    distribution: str
    field: str
    calls: dict[str, Call]
    refused: dict[str, Refused]
    cut: dict[str, Cut]
    held_out: bool

    @classmethod
    def of(cls, module: ModuleType) -> Package:
        refused, cut = getattr(module, "REFUSED", {}), getattr(module, "CUT", {})
        return cls(module.DISTRIBUTION, module.FIELD, module.CALLS, refused, cut, getattr(module, "HELD_OUT", False))


def packages() -> Iterator[Package]:
    """Every package, in the order of the names of their modules."""
    from . import calls

    for found in sorted(pkgutil.iter_modules(calls.__path__), key=lambda m: m.name):
        yield Package.of(importlib.import_module(f"{calls.__name__}.{found.name}"))
