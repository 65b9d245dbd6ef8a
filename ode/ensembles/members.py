"""The function of some members of an ensemble, and its derivatives, in a form that can be sent to another process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np

from ...core import MorulaError, jit, jvp, pullback, tree, vmap
from ..solution import IntegrationFailed
from .captures import identity, with_captured

PYTHON = "python"
"""The target that calls the members' function by Python, for one member after the other."""


class Job(ABC):
    """A function of several members; called, it compiles for its ``target``, or for "auto" where it can be compiled."""

    target: str

    @abstractmethod
    def plain(self, *args: Any) -> Any:
        """Compute by Python."""

    @abstractmethod
    def batched(self, *args: Any) -> Any:
        """Compute by ``vmap``."""

    def __call__(self, *args: Any) -> Any:
        if self.target == PYTHON:
            return self.plain(*args)
        return _program(self)(*args)


@dataclass(frozen=True, eq=False)
class Members(Job):
    """The results of several members: takes what the function captures, and the parameters.

    Arrays of parameters have a leading axis of members, unless they are shared. Jobs are equal if their functions differ in no more
    than the captured values.
    """

    solve: Callable[..., Any]
    is_shared: tuple[bool, ...]
    """For each parameter, whether all members have the same."""
    target: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Members) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Any:
        return identity(self.solve), self.is_shared, self.target

    def plain(self, *args: Any) -> Any:
        solve, parameters = with_captured(self.solve, args[0]), args[1:]
        each = [x for x, shared in zip(parameters, self.is_shared) if not shared]
        results = []
        for i in range(length(each)):
            results.append(solve(*(x if s else rows(x, i) for x, s in zip(parameters, self.is_shared))))
        return tree.rebuild(results[0], lambda _, *xs: np.stack(xs), *results[1:], is_leaf=is_number, is_shared=False)

    def batched(self, *args: Any) -> Any:
        axes = tuple(None if shared else 0 for shared in self.is_shared)
        return vmap(with_captured(self.solve, args[0]), in_axes=axes)(*args[1:])


@dataclass(frozen=True)
class Derivative(Job):
    """A derivative of another job, whose arguments it takes in a tuple, beside their tangents or the result's cotangents."""

    of: Job
    target: str


class Cotangents(Derivative):
    """The cotangents of the arguments; those of shared parameters are summed."""

    def plain(self, *args: Any) -> Any:
        return pullback(self.of.plain, *args[0])[1](args[1])

    def batched(self, *args: Any) -> Any:
        return pullback(self.of.batched, *args[0])[1](args[1])


class Tangents(Derivative):
    """The tangents of the results."""

    def plain(self, *args: Any) -> Any:
        return jvp(self.of.plain, *args)[1]

    def batched(self, *args: Any) -> Any:
        return jvp(self.of.batched, *args)[1]


class _Program:
    """A job's compiled function. One thread compiles it for arguments of new shapes, while the others wait."""

    def __init__(self, job: Job) -> None:
        self.job, self.lock, self.is_refused = job, Lock(), False
        self.known: set[Any] = set()
        self.compiled = jit(lambda *args: job.batched(*args), target=job.target)

    def __call__(self, *args: Any) -> Any:
        if self.is_refused:
            return self.job.plain(*args)
        shapes = tuple(np.shape(x) for x in tree.leaves(args))
        if shapes in self.known:
            return self.compiled(*args)
        with self.lock:
            try:
                result = self.compiled(*args)
                self.known.add(shapes)
                return result
            except IntegrationFailed:
                raise
            except MorulaError:
                if self.job.target != "auto":
                    raise
                self.is_refused = True
        return self.job.plain(*args)


_program = lru_cache(maxsize=64)(_Program)


def rows(x: Any, which: Any) -> Any:
    """Return these rows of all arrays of a parameter."""
    return tree.rebuild(x, lambda _, a: a[which], is_leaf=is_array, is_shared=False)


def length(parameters: Any) -> int:
    """Return the length of the first array of some parameters."""
    found: list[int] = []
    tree.rebuild(parameters, lambda _, a: found.append(len(a)), is_leaf=is_array, is_shared=False)
    return found[0]


def is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray)


def is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex, np.generic, np.ndarray))
