"""The table of derivative rules: how to write a rule, and how the engine finds it.

A rule is data.  It names no engine, tape or graph, and its functions are ordinary NumPy that the front end can read,
so a rule can be inlined into an adjoint, differentiated again, batched and compiled.  These forms exist:

``elementwise(f, *partials)``
    ``f`` acts element by element with broadcasting.  ``partials[i](y, *x)`` is the partial derivative with respect to
    operand ``i`` in terms of the result and the operands; for a complex operand it is the holomorphic derivative.
    The engine multiplies the cotangent by its conjugate and sums over broadcast axes.  ``None``: no derivative is
    known for that operand.  ``0``: it is zero.  ``finite=True`` states that no slope is infinite at finite operands
    (overflow apart), so that the product with the cotangent needs no care; see ``Rule.is_finite``.

``vjp(f, *pullbacks)``
    ``pullbacks[i](dy, y, *args, **kwargs)`` is the cotangent of positional argument ``i``.  Its parameters after
    ``dy, y`` carry the names and defaults of ``f``'s own.

``joint(f, pullback)``
    ``pullback(dy, y, *args, **kwargs)`` returns the cotangents of the leading positional arguments at once, as a tuple,
    where computing them together saves work or where their number varies.

``in_place(f, names, writes, pullback)``
    ``f`` takes arguments of these names by position and writes into those in ``writes``. ``y`` is their new content, a
    tuple if there are several; the cotangents returned are those of the contents of all arguments before the call.

``zero(*functions)``
    The derivative is zero wherever it exists (``floor``, ``sign``, comparisons, shapes).

``linear(f, *arguments)``, beside a pullback, says that the function is linear in these arguments, so its own tangent.

``solves(f, product)``, beside a pullback, says that the function solves a linear equation, and ``expansion(f, program)`` gives a
program whose series close; Taylor mode uses them. ``pointwise(f)`` and ``reduces(f)`` say that a pullback acts element by element,
or that each element of the operand contributes to one element of the result; ``tangents`` uses these.

``reuses(f, keep, kernel)``, beside a pullback, says that ``f(x, ...)`` is ``kernel(x, ..., keep(x))``, whose pullback uses what ``keep``
computed; reverse mode runs it in place of ``f``. ``instead(f, program)`` names a program that it runs in place of ``f``.

``for_ranks(f, forms)``, beside a pullback, gives its form for real arrays of known numbers of axes, as expressions that can be
inlined.

A further form is for compiled functions that are easier to rewrite in Python than to differentiate by hand:

``model(f, program)``
    ``program``, in Python and NumPy, computes what ``f`` does, and the derivative is that of the program.  ``f`` itself
    still gives the result, or writes it into some of its arguments.

In every form a pullback maps the cotangent by the conjugate transpose of the derivative, so that for a real loss the
gradient with respect to z = x + iy is dL/dx + i dL/dy.  A cotangent may come back in a wider shape or type than its
argument: ``conform`` sums over broadcast axes, drops the imaginary part for a real argument, and restores the dtype.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

import numpy as np

from ..values.cotangents import conform, scale, scale_masked
from ..values.strong_zero import conjugate_product, strong, weak

Function = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Reuse:
    """``kernel(x, ..., keep(x))`` is what a function of ``x, ...`` returns."""

    keep: Function
    kernel: Function

    LEAST_ORDER = 33
    """NumPy's functions factorise smaller matrices a second time in less time than it takes to call two kernels."""

    def fits(self, args: Sequence[Any]) -> bool:
        """Whether arguments are matrices of double precision, the first one square and not small, or vectors: no stacks."""
        n = len(args[0]) if type(args[0]) is np.ndarray and args[0].ndim == 2 else 0
        return n >= self.LEAST_ORDER and args[0].shape[1] == n and all(
            type(x) is np.ndarray and x.dtype.char in "dD" and x.dtype == args[0].dtype and x.ndim in (1, 2) and len(x) == n for x in args
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Instead:
    """``program`` computes what a function does, and more that its pullback needs, for arguments that it ``fits``.

    ``fits`` gets the arguments; of an array it may ask for ``dtype``, ``ndim`` and ``shape``. Where the result is not that of
    the function to the last digit (``is_exact``), eager code runs the function. Where the program ``is_first``, it computes the
    first result alone, and stands for calls of which nothing else is used.
    """

    program: Function
    fits: Function
    is_exact: bool
    is_first: bool


Forms = tuple[Function, ...] | Function


@dataclass(frozen=True, eq=False)
class Rule:
    """The derivative of ``function``; exactly one of the three forms below is filled, or none for ``zero``."""

    function: Function
    partials: tuple[Function | int | None, ...] = ()
    pullbacks: tuple[Function | None, ...] = ()
    together: Function | None = None
    parameters: tuple[str, ...] = field(default=())
    writes: tuple[str, ...] = field(default=())
    finite: bool | Function = False
    reuse: Reuse | None = None
    instead: Instead | None = None
    forms: dict[tuple[int, ...], Forms] = field(default_factory=dict)
    scale: Function = field(init=False)
    """Multiplies a cotangent by a slope; masks zero cotangents if the slope may be infinite."""

    def __post_init__(self) -> None:
        # Not a cached property: pullbacks read it while they are recorded, and in Python 3.11 such a property takes a
        # lock, at which a recorded program looks for values of other threads.
        object.__setattr__(self, "scale", scale if self.finite is True else scale_masked)

    def is_finite(self, *operands: Any) -> bool:
        """Whether the partial derivatives are finite at all finite operands, given those that are constants.

        ``finite`` says so for all operands, or is a function of them.  An operand that is not a constant is None.
        """
        return self.finite(*operands) if callable(self.finite) else self.finite

    @property
    def given(self) -> tuple[Function | int | None, ...]:
        """The partial derivative or pullback for each operand; None where no derivative is known."""
        return self.partials or self.pullbacks

    @cached_property
    def may_write(self) -> bool:
        """Whether a call may write into an argument, by position."""
        return bool(self.writes) or any(name.startswith("overwrite_") for name in self.parameters)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the arguments that may be passed by position."""
        try:
            given = signature(self.function).parameters.values()
        except (TypeError, ValueError):
            return self.parameters
        return tuple(p.name for p in given if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD))

    @cached_property
    def position_of_out(self) -> int:
        """The position of the argument ``out``; a number beyond all arguments if the function has none."""
        if isinstance(self.function, np.ufunc):
            return self.function.nin
        return self.names.index("out") if "out" in self.names else sys.maxsize

    @cached_property
    def is_universal(self) -> bool:
        """Whether the function accepts the keyword arguments of ufuncs."""
        return isinstance(self.function, np.ufunc) or self.function is np.clip

    @property
    def is_zero(self) -> bool:
        return not (self.partials or self.pullbacks or self.together)

    @cached_property
    def may_refuse(self) -> bool:
        """Whether the pullback may raise, so that the call's location is needed: factorisations, SciPy routines."""
        module = getattr(self.function, "__module__", None) or type(self.function).__name__
        of_library = module.startswith(("numpy.linalg", "scipy", "fortran"))
        return not self.partials and (of_library or self.function in AT_RUN_TIME)

    @cached_property
    def reads_arrays(self) -> bool:
        """Whether the function treats a list argument as an array."""
        kind = type(self.function)  # ``fortran``, without a module: the routines of BLAS and LAPACK
        module = getattr(self.function, "__module__", None) or f"{kind.__module__}.{kind.__name__}"
        of_arrays = module.startswith(("numpy", "scipy", "builtins.fortran")) and self.function not in SEQUENCES
        return bool(self.partials) or of_arrays and not self.is_zero

    def positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """``args`` and ``kwargs`` with differentiable arguments that were given by name moved to their position.

        Arguments between them that were left out are filled with their defaults.
        """
        if not kwargs or not self.parameters:
            return args, kwargs
        names = self.parameters[len(args) :]
        given = [i for i, name in enumerate(names) if name in kwargs and self._has_pullback(len(args) + i)]
        if not given:
            return args, kwargs
        first = next(p for p in (*self.pullbacks, self.together) if callable(p))
        defaults = signature(first).parameters
        moved = dict(kwargs)
        for name in names[: given[-1] + 1]:
            if name not in moved and defaults[name].default is Parameter.empty:
                return args, kwargs
            args = (*args, moved.pop(name) if name in moved else defaults[name].default)
        return args, moved

    def _has_pullback(self, index: int) -> bool:
        return self.together is not None or index < len(self.pullbacks) and callable(self.pullbacks[index])


RULES: dict[Any, Rule] = {}


@dataclass(frozen=True, eq=False)
class Model:
    """A program that computes what a compiled function does; ``into``: which arguments the function writes into."""

    function: Function
    program: Function
    into: tuple[int, ...] = ()
    updates: bool = False  # the result depends on the previous contents
    loops: Function | None = None  # the same by loops over single elements, which native code runs instead


MODELS: dict[Any, Model] = {}

LINEAR: dict[Any, tuple[tuple[int, ...], ...]] = {}
"""The positions of the arguments in which a function is linear, by groups: see ``linear``."""

SEQUENCES: set[Any] = set()
"""Functions that take sequences of arrays, or make arrays of sequences; others of NumPy read a list as an array."""


IN_COMPLEX: dict[Any, tuple[Function, int]] = {}
"""For functions whose results are real or complex, by the values of real arguments: functions that return them as complex
arrays, and last whether they are real; and how many of the first results are always complex."""

AT_RUN_TIME: dict[Any, Function | None] = {}
"""Functions of this room that run compiled code of a library: they are called at run time, and have rules of their own.

Each has a function that returns results of the same types for sample arguments, or None: then samples are passed to itself."""


def elementwise(
    functions: Function | Sequence[Function], *partials: Function | int | None, finite: bool | Function = False
) -> None:
    """Register the partial derivatives of an element-wise function (or of several that share them)."""
    for function in _each(functions):
        RULES[function] = Rule(function, partials=partials, finite=finite)


def vjp(functions: Function | Sequence[Function], *pullbacks: Function | None) -> None:
    """Register one pullback per positional argument; ``None`` marks an argument that has no derivative."""
    for function in _each(functions):
        RULES[function] = Rule(function, pullbacks=pullbacks, parameters=_names(pullbacks))


def joint(functions: Function | Sequence[Function], pullback: Function, writes: tuple[str, ...] = ()) -> None:
    """Register a pullback that returns the cotangents of the leading positional arguments as one tuple.

    ``writes``: the arguments into which the function writes what it returns.
    """
    for function in _each(functions):
        RULES[function] = Rule(function, together=pullback, parameters=_names((pullback,)), writes=writes)


def in_place(functions: Function | Sequence[Function], names: str, writes: str, pullback: Function) -> None:
    """Register functions that write into their arguments."""
    for function in _each(functions):
        RULES[function] = Rule(
            function, together=pullback, parameters=tuple(names.split()), writes=tuple(writes.split())
        )


def zero(*functions: Function) -> None:
    """Register functions whose derivative is zero wherever it exists."""
    for function in functions:
        RULES[function] = Rule(function)


def linear(functions: Function | Sequence[Function], *arguments: int | tuple[int, ...]) -> None:
    """Register functions that are linear in the arguments at these positions, by default the first.

    A function of several positions is linear in each while the others are fixed; positions in a tuple count as one argument.
    Such a function is its own tangent; of other functions with a pullback, the pullback is transposed.
    """
    groups = tuple(a if isinstance(a, tuple) else (a,) for a in arguments or (0,))
    for function in _each(functions):
        LINEAR[function] = groups


@dataclass(frozen=True, eq=False)
class Equation:
    """y = f(..., matrix, ..., right, ...) is the solution of ``product(matrix, y, right, **kwargs) = right``."""

    product: Function
    matrix: int
    right: int


EQUATIONS: dict[Any, Equation] = {}


def solves(functions: Function | Sequence[Function], product: Function, matrix: int = 0, right: int = 1) -> None:
    """Register functions that solve an equation ``product(a, y, b, **kwargs) = b`` for y.

    ``matrix`` and ``right`` are the positions of a and b; ``product`` is linear in a and in y, and reads only the shape of b.
    The Taylor series of y follows from those of a and b, coefficient by coefficient.
    """
    for function in _each(functions):
        EQUATIONS[function] = Equation(product, matrix, right)


POINTWISE: set[Any] = set()
"""Functions whose pullback multiplies element by element: see ``pointwise``."""


def pointwise(*functions: Function) -> None:
    """Register functions with pullbacks that, for real operands, multiply the cotangent element by element.

    Such a pullback maps tangents, too, once they have the shape of the result.
    """
    POINTWISE.update(functions)


REDUCES: set[Any] = set()
"""Functions that reduce their first argument along its ``axis``: see ``reduces``."""


def reduces(*functions: Function) -> None:
    """Register functions in which each element of the first argument contributes to one element of the result.

    They reduce along ``axis``, and keep it if ``keepdims`` is true.
    """
    REDUCES.update(functions)


DECOMPOSITIONS: set[Any] = set()
"""Functions that return values and vectors of which equal values leave a choice: see ``decomposes``."""


def decomposes(*functions: Any) -> None:
    """Register functions that return (values, vectors), or (left vectors, values, adjoint right vectors), of a matrix."""
    DECOMPOSITIONS.update(functions)


EXPANSIONS: dict[Any, Function] = {}


def expansion(functions: Function | Sequence[Function], program: Function) -> None:
    """Register a program that computes what functions compute, by operations whose Taylor series close.

    Taylor mode differentiates it instead of the pullback, where that would have to be differentiated again and again.
    """
    for function in _each(functions):
        EXPANSIONS[function] = program


def reuses(function: Function, keep: Function, kernel: Function) -> None:
    """Register what reverse mode runs in place of a function that has a rule: the backward sweep uses what ``keep`` computed.

    ``keep`` has the derivative zero.  ``kernel`` has a rule, whose pullback gives None for the last argument.
    """
    RULES[function] = replace(RULES[function], reuse=Reuse(keep, kernel))


def instead(
    function: Function, program: Function, fits: Function, is_exact: bool = False, is_first: bool = False
) -> None:
    """Register a program that reverse mode runs in place of a function, which has a rule, for arguments that ``fits`` accepts.

    The program does work once that the function and its pullback would both do.
    """
    RULES[function] = replace(RULES[function], instead=Instead(program, fits, is_exact, is_first))


def for_ranks(functions: Function | Sequence[Function], forms: dict[tuple[int, ...], Forms]) -> None:
    """Register pullbacks for arrays of double precision by their numbers of axes: one for each operand, or one for all.

    They return what the pullback of the rule does, exactly in the shapes of the operands.
    """
    for function in _each(functions):
        RULES[function] = replace(RULES[function], forms=forms)


AFFINE = frozenset(("initial", "out", "where", "dtype", "constant_values", "fill_value", "casting", "subok", "like"))
"""Keyword arguments that add a constant to a linear function, or choose its memory or dtype."""


def linear_in(function: Function, named: Iterable[str]) -> tuple[tuple[int, ...], ...]:
    """Return the groups of positions in each of which a call with these keyword arguments is linear."""
    try:
        groups = LINEAR.get(function, ())
    except TypeError:  # an unhashable callable object
        return ()
    return () if groups and not AFFINE.isdisjoint(named) else groups


def takes_sequences(*functions: Function) -> None:
    """Register functions whose pullbacks are written for sequences as they were given."""
    SEQUENCES.update(functions)


def runs_compiled(*functions: Function, sample: Function | None = None) -> None:
    """Register functions of this room that run compiled code of a library; a compiled program calls them as they are.

    ``sample`` takes their arguments, and returns results of the same types and shapes.  With it, the arrays that they are
    given may have lengths that are known only when the program runs.
    """
    AT_RUN_TIME.update(dict.fromkeys(functions, sample))


def real_or_complex(function: Function, in_complex: Function, pullback: Function, always_complex: int = 0) -> None:
    """Register the form with complex results of a function of real arguments; ``pullback`` is joint."""
    joint(in_complex, pullback)
    runs_compiled(in_complex)
    IN_COMPLEX[function] = in_complex, always_complex


def as_complex(x: Any) -> Any:
    return np.asarray(x, np.result_type(x, np.complex64))


def model(
    functions: Function | Sequence[Function],
    program: Function,
    into: int | tuple[int, ...] = (),
    updates: bool = False,
    loops: Function | None = None,
) -> None:
    """Register a program that takes the arguments of a compiled function and returns what it returns.

    If the function writes its results into arguments, ``into`` holds their positions, and the program returns their new
    contents: an array, or a tuple of several.  It may read only the shapes of these arguments, unless the function
    ``updates`` them.  ``loops`` is a form of the program for native code.
    """
    for function in _each(functions):
        MODELS[function] = Model(function, program, (into,) if isinstance(into, int) else into, updates, loops)


def compiled(module: str, *names: str) -> Any:
    """Return a library's function under the first of these names that exists in its version, or else a placeholder.

    Compiled parts are private and move between versions; a missing one must not make the loading of rules fail.
    """
    for name in names:
        place, _, attribute = f"{module}.{name}".rpartition(".")
        with suppress(ImportError, AttributeError):
            return getattr(import_module(place), attribute)
    return module, names


def pull(rule: Rule, dy: Any, y: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The cotangents of the positional arguments; None for those without a derivative (or where it is zero)."""
    if rule.partials:
        return [
            conform(rule.scale(dy, p(y, *args)), x) if callable(p) else None
            for p, x in zip(rule.partials, args)
        ]  # fmt: skip
    if rule.together is not None:
        return [g if g is None else conform(g, x) for g, x in zip(rule.together(dy, y, *args, **kwargs), args)]
    return [conform(p(dy, y, *args, **kwargs), x) if callable(p) else None for p, x in zip(rule.pullbacks, args)]


def pull_strongly(rule: Rule, dy: Any, y: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """``pull`` with products in which a cotangent of zero gives zero: see ``strong_zero``."""
    if rule.partials:
        return [
            conform(conjugate_product(dy, p(y, *args)), x) if callable(p) else None
            for p, x in zip(rule.partials, args)
        ]  # fmt: skip
    dy = strong(dy)
    if rule.together is not None:
        return [g if g is None else conform(weak(g), x) for g, x in zip(rule.together(dy, y, *args, **kwargs), args)]
    return [conform(weak(p(dy, y, *args, **kwargs)), x) if callable(p) else None for p, x in zip(rule.pullbacks, args)]


def _each(functions: Function | Sequence[Function]) -> Sequence[Function]:
    return functions if isinstance(functions, (tuple, list)) else (functions,)  # type: ignore[return-value]


def _names(pullbacks: Sequence[Function | None]) -> tuple[str, ...]:
    """The names of the arguments, read from the first pullback's parameters after ``dy, y``."""
    for pullback in pullbacks:
        if callable(pullback):
            parameters = list(signature(pullback).parameters.values())[2:]
            return tuple(p.name for p in parameters if p.kind is Parameter.POSITIONAL_OR_KEYWORD)
    return ()
