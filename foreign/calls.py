"""A function of another library as one operation of morula's programs.

Such a function is reduced to a flat one, of numbers and arrays only.  ``Operation`` is a flat function with an ``adjoint`` and a
``tangent``; its pullback and its pushforward are flat functions of the same library, made by that library, and therefore
operations too.  So derivatives of any order are the library's own.  In compiled programs an operation is a call of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from morula.core import adjoint, callback, pullback, tangent

from .structures import join, split

Numbers = tuple[Any, ...]


class Library(Protocol):
    """What is done in another library with a flat function: one that takes and returns tuples of its arrays."""

    def run(self, flat: Any, leaves: Sequence[Any]) -> list[Any]:
        """Return the results as arrays of NumPy, for operands that are arrays of NumPy."""
        ...

    def pullback(self, flat: Any, inexact: tuple[bool, ...], kept: tuple[int, ...]) -> Any:
        """Return the flat function of the cotangents of the results ``kept``, and the operands, to those of inexact operands."""
        ...

    def pushforward(self, flat: Any, inexact: tuple[bool, ...], kept: tuple[int, ...]) -> Any:
        """Return the flat function of the tangents of inexact operands, and the operands, to those of the results ``kept``."""
        ...


class Operation:
    """A flat function of another library."""

    def __init__(self, library: Library, flat: Any, name: str) -> None:
        self.library, self.flat, self.__name__ = library, flat, name
        self.derived: dict[Any, Operation] = {}
        self.likes: dict[Any, Numbers] = {}
        pulling, pushing = _Prepare(self, "pullback"), _Prepare(self, "pushforward")

        @adjoint(self)
        def value_and_pullback(*leaves: Any) -> Any:
            y = self(*leaves)
            kept, inexact, pull = pulling(leaves, y)

            def back(dy: Any) -> Any:
                given = [np.zeros_like(y[i]) if dy[i] is None else dy[i] for i in kept]
                found = iter(pull(*given, *leaves))
                return tuple([next(found) if is_one else None for is_one in inexact])

            return y, back

        @tangent(self)
        def value_and_pushforward(*leaves: Any) -> Any:
            y = self(*leaves)
            kept, inexact, push = pushing(leaves, y)

            def along(*dxs: Any) -> Any:
                given = [dx for dx, is_one in zip(dxs, inexact) if is_one]
                found = iter(push(*given, *leaves))
                return tuple([next(found) if i in kept else None for i in range(len(y))])

            return y, along

    def __call__(self, *leaves: Any) -> Numbers:
        return tuple([np.asarray(y)[()] for y in self.library.run(self.flat, [np.asarray(x) for x in leaves])])

    def __morula_trace__(self, trace: Any, *leaves: Any) -> Any:
        """Call Python from a compiled program; the results have the types that they have for ones in place of the operands."""
        types = tuple([(trace.call(np.shape, x), np.dtype(trace.call(np.result_type, x))) for x in leaves])
        if types not in self.likes:
            self.likes[types] = self(*[np.ones(shape, dtype)[()] for shape, dtype in types])
        return trace.call(callback, _Run(self), self.likes[types], *leaves)

    def derivative(self, kind: str, inexact: tuple[bool, ...], kept: tuple[int, ...]) -> Operation:
        key = kind, inexact, kept
        if key not in self.derived:
            flat = getattr(self.library, kind)(self.flat, inexact, kept)
            self.derived[key] = Operation(self.library, flat, f"{self.__name__}_{kind}")
        return self.derived[key]


class _Run:
    """An operation as a function without a derivative, for ``callback``."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.__name__ = operation.__name__

    def __call__(self, *leaves: Any) -> Numbers:
        return self.operation(*leaves)


class _Prepare:
    """Finds, outside of the program, which results and operands have derivatives, and the pullback or pushforward."""

    def __init__(self, operation: Operation, kind: str) -> None:
        self.operation, self.kind = operation, kind

    def __call__(self, leaves: Numbers, y: Numbers, kind_of: Callable[[Any], Any] = np.result_type) -> Any:
        inexact = tuple([np.dtype(kind_of(x)).kind in "fc" for x in leaves])
        kept = tuple([i for i, x in enumerate(y) if np.dtype(kind_of(x)).kind in "fc"])
        return kept, inexact, self.operation.derivative(self.kind, inexact, kept)

    def __morula_call__(self, tape: Any, leaves: Numbers, y: Numbers) -> Any:
        return self(leaves, y)

    def __morula_trace__(self, trace: Any, leaves: Numbers, y: Numbers) -> Any:
        return self(leaves, y, lambda x: trace.call(np.result_type, x))


class Foreign:
    """A function of another library that takes and returns NumPy's arrays and numbers, in nested containers.

    ``parameters`` are the module's parameters, for which there are gradients if the object itself is differentiated; None
    for a function.
    """

    def __init__(self, operation_of: Callable[[Any], Any], parameters: Any, name: str) -> None:
        self.parameters = parameters
        self.__name__ = name
        call = _Call(operation_of)
        self._call = lambda *args: call(*args)  # a function is a constant, whatever it holds

    def __repr__(self) -> str:
        return f"<foreign {self.__name__}>"

    def __call__(self, *args: Any) -> Any:
        return self._call(self.parameters, *args)


class _Call:
    """Takes the arguments apart and puts the results together, outside of the program that is differentiated or compiled."""

    def __init__(self, operation_of: Callable[[Any], Any]) -> None:
        self.operation_of = operation_of

    def __call__(self, *args: Any) -> Any:
        return self.made(lambda f, *leaves: f(*leaves), args)

    def __morula_call__(self, tape: Any, *args: Any) -> Any:
        return self.made(tape.call, args)

    def __morula_trace__(self, trace: Any, *args: Any) -> Any:
        return self.made(trace.call, args)

    def made(self, call: Callable[..., Any], args: Numbers) -> Any:
        leaves: list[Any] = []
        operation, forms = self.operation_of(split(list(args), leaves))
        y = call(operation, *leaves)
        return join(forms[tuple([tuple(call(np.shape, x)) for x in leaves])], iter(y))


def foreign(library: Library, f: Callable[..., Any], parameters: Any, name: str) -> Foreign:
    """Return ``f(parameters, *args)``, a function of the library's arrays in nested containers, as a function of NumPy's."""
    made: dict[Any, Any] = {}

    def operation_of(form: Any) -> Any:
        """Return the operation for arguments of a form, and the forms of its results by the shapes of its operands."""
        if form not in made:
            forms: dict[Any, Any] = {}

            def flat(*leaves: Any) -> Numbers:
                found: list[Any] = []
                forms[tuple([tuple(x.shape) for x in leaves])] = split(f(*join(form, iter(leaves))), found)
                return tuple(found)

            made[form] = Operation(library, flat, name), forms
        return made[form]

    return Foreign(operation_of, parameters, name)


def of_inexact(
    flat: Any, leaves: Sequence[Any], inexact: tuple[bool, ...], kept: tuple[int, ...]
) -> tuple[Callable[..., Numbers], Numbers]:
    """Return a flat function as one of its inexact operands to the results ``kept``, and these operands."""

    def f(*varying: Any) -> Numbers:
        each = iter(varying)
        y = flat(*[next(each) if is_one else x for x, is_one in zip(leaves, inexact)])
        return tuple([y[i] for i in kept])

    return f, tuple([x for x, is_one in zip(leaves, inexact) if is_one])


def pulled(flat: Any, inexact: list[bool], wanted: list[bool]) -> Callable[..., Any]:
    """Return the flat function of cotangents and operands that gives the cotangents of the operands that have any."""
    n = sum(inexact)

    def pull(*given: Any) -> tuple[Any, ...]:
        dys = iter(given[:n])
        _, back = pullback(flat, *given[n:])
        gradients = back(tuple([next(dys) if is_one else None for is_one in inexact]))
        return tuple([g for g, is_one in zip(gradients, wanted) if is_one])

    return pull
