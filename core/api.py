"""The public functions for derivatives of Python functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from .eager.forward.custom import tangent
from .eager.recorded.compiled_calls import parameters
from .eager.recorded.custom import adjoint, hook, nestlevel, stop_gradient
from .eager.recorded.pullback import Back, CompiledBack, record_run
from .eager.recorded.recomputed import CHOSEN, checkpoint
from .eager.recorded.structure import is_structure_of_numbers, map_container, plain
from .eager.recorded.tape import Tape
from .eager.rewriting.instrument import instrumented_source
from .eager.structured.functions import compiled_for
from .eager.unrecorded.refused import no_derivative
from .errors import BadInput
from .faults import prune
from .ir.dynamic import Function as IR, verify
from .rules.connected import connected
from .rules.registry import HANDLERS
from .source.definitions import LikeAFunction, describe, name_of
from .source.requirements import check_function, kind_of, no_pair, no_scalar, out_of_range
from .source.statements import lower
from .values.attributes import public_names
from .values.numbers import Int

__all__ = [
    "adjoint",
    "checkpoint",
    "grad",
    "gradient",
    "hook",
    "ir",
    "nestlevel",
    "no_derivative",
    "pullback",
    "show",
    "stop_gradient",
    "tangent",
    "value_and_grad",
    "vjp",
]

Function = Callable[..., Any]


class Transformed(LikeAFunction):
    """A derivative of ``f`` as a callable; inside recorded code it runs on a tape nested in that code's tape.

    ``trace(trace, args, kwargs)`` traces it into a compiled program; ``made`` is the function of this module that made
    it, followed by its arguments, for pickling.
    """

    def __init__(self, f: Function, run: Function, trace: Function, *made: Any) -> None:
        functools.update_wrapper(self, f, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=())
        self.run = run
        self.trace = trace
        self.made = made

    def __repr__(self) -> str:
        transform, f, argnums, *_ = self.made
        name = repr(f) if isinstance(f, Transformed) else getattr(f, "__qualname__", None) or repr(f)
        return f"{transform.__name__}({name}{'' if isinstance(argnums, int) and argnums == 0 else f', {argnums!r}'})"

    def __dir__(self) -> list[str]:
        return public_names(self, "explain")

    def __reduce__(self) -> Any:
        """Pickle it by name if it has one, else as a call that makes it from ``f``, which then needs a name."""
        transform, *args = self.made
        return name_of(self, self.__wrapped__) or (transform, tuple(args))  # type: ignore[attr-defined]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.run(None, *args, **kwargs)
        except Exception as error:
            prune(error)
            raise

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """Compute the derivative once, and say what the loops of checkpointed calls hold for the backward sweep.

        Args:
            *args: arguments of the function.
            **kwargs: its keyword arguments.

        Returns:
            A line for each loop with a memory policy: the snapshots, the extra forward passes, and the predicted peak of
            the memory that the derivative takes.

        >>> def decay(x):
        ...     for _ in range(100):
        ...         x = x - 0.01 * x * x
        ...     return x
        >>> text = grad(lambda x: checkpoint(decay, x, policy="sqrt")).explain(1.0)
        >>> "10 snapshots of 32 bytes, segments of 10 iterations, 1.00 extra forward passes" in text
        True
        """
        token = CHOSEN.set([])
        try:
            self(*args, **kwargs)
            chosen = CHOSEN.get() or []
        finally:
            CHOSEN.reset(token)
        texts = dict.fromkeys(note.text for policy in chosen for note in policy.notes.values())
        return "\n".join(texts) or "no loop of a checkpointed call has a memory policy"

    def __morula_call__(self, tape: Tape, *args: Any, **kwargs: Any) -> Any:
        return self.run(tape, *args, **kwargs)

    def __morula_trace__(self, trace: Any, *args: Any, **kwargs: Any) -> Any:
        return self.trace(trace, args, kwargs)


def pullback(f: Function, *args: Any, **kwargs: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """Return the value of ``f(*args, **kwargs)`` and its pullback (vector-Jacobian product).

    Args:
        f: any Python function or callable object; its source is differentiated.
        *args: numbers, arrays, and lists, tuples, dicts or objects of these; each positional argument is differentiated.
        **kwargs: passed on, not differentiated.

    Returns:
        ``(y, back)``: ``back(dy)`` takes a cotangent of y's structure and returns a tuple with one cotangent per
        positional argument, each in its argument's structure.  It can be called any number of times.

    Raises:
        BadInput: ``f`` is not callable or its source cannot be read; ``dy`` does not fit.
        NoDerivative: a cotangent reaches a call that has neither rule nor source.

    >>> y, back = pullback(lambda a, b: a * b, 3.0, 4.0)
    >>> y, back(1.0)
    (12.0, (4.0, 3.0))
    """
    try:
        y, back = _pullback(None, f, args, kwargs)
    except Exception as error:
        prune(error)
        raise
    return _detached(plain(y), functools.cache(back.kept)), back


def _detached(y: Any, kept: Callable[[], set[int]]) -> Any:
    """Copy the arrays of a result that the pullback holds, so that the caller may write into it."""
    if isinstance(y, np.ndarray):
        return y.copy() if id(y) in kept() else y
    return map_container(lambda e: _detached(e, kept), y)


vjp = pullback


def _pullback(
    parent: Tape | None, f: Function, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Any, Back | CompiledBack]:
    check_function(f)
    return record_run(parent, f, args, kwargs, lasting=True)


def gradient(f: Function, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """Return the gradient of the real scalar ``f(*args, **kwargs)``, by reverse mode.

    Args:
        f: returns a real scalar.
        *args: numbers, arrays, and lists, tuples, dicts or objects of these.
        **kwargs: passed on, not differentiated.

    Returns:
        A tuple with one gradient per positional argument, each in its argument's structure.

    Raises:
        BadInput: ``f`` is not callable, its source cannot be read, or its result is not a real scalar.
        NoDerivative: a cotangent reaches a call that has neither rule nor source.

    >>> gradient(lambda x, y: x * y**2, 2.0, 3.0)
    (9.0, 12.0)
    """
    try:
        return _gradient(None, f, *args, **kwargs)
    except Exception as error:
        prune(error)
        raise


def _gradient(parent: Tape | None, f: Function, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    return _value_and_gradients(parent, f, args, kwargs, None, False)[1]


def grad(f: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """Return a function that computes the gradient of the real scalar function ``f``.

    Args:
        f: returns a real scalar; with ``has_aux``, a pair of a real scalar and any other value.
        argnums: the position of the argument to differentiate, or several (the gradient is then a tuple).
        has_aux: return ``(gradient, aux)``.

    Returns:
        A function of the arguments of ``f`` that returns the gradient, in the structure of the argument.

    Raises:
        BadInput: ``f`` is not callable, ``argnums`` is out of range, the argument holds no number, or the output is not
            a real scalar.
        NoDerivative: a cotangent reaches a call that has neither rule nor source.

    >>> grad(lambda x: x**3)(2.0)
    12.0
    """
    differentiated = value_and_grad(f, argnums, has_aux)

    def run(parent: Tape | None, *args: Any, **kwargs: Any) -> Any:
        value, gradients = differentiated.run(parent, *args, **kwargs)  # type: ignore[attr-defined]
        return (gradients, value[1]) if has_aux else gradients

    def trace(trace: Any, args: Any, kwargs: Any) -> Any:
        value, gradients = differentiated.trace(trace, args, kwargs)  # type: ignore[attr-defined]
        return (gradients, value[1]) if has_aux else gradients

    return Transformed(f, run, trace, grad, f, argnums, has_aux)


def value_and_grad(f: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """Return a function that computes the value and the gradient of the real scalar function ``f``.

    Args:
        f: returns a real scalar; with ``has_aux``, a pair of a real scalar and any other value.
        argnums: the position of the argument to differentiate, or several (the gradient is then a tuple).
        has_aux: return ``aux`` as well.

    Returns:
        A function of the arguments of ``f`` that returns ``(value, gradient)``, or ``((value, aux), gradient)``.

    Raises:
        BadInput: as for ``grad``.

    >>> value_and_grad(lambda x: x**3)(2.0)
    (8.0, 12.0)
    """
    check_function(f)
    single = not isinstance(argnums, Iterable)
    positions = (argnums,) if single else tuple(argnums)
    if not all(map(is_integer, positions)):
        raise BadInput(
            f"argnums must be an integer or a sequence of integers, not {argnums!r}; to evaluate the gradient at x, write grad(f)(x)"
        )

    def run(parent: Tape | None, *args: Any, **kwargs: Any) -> Any:
        y, gradients = _value_and_gradients(parent, f, args, kwargs, positions, has_aux)
        return (plain(y) if parent is None else y), gradients[0] if single else gradients

    def trace(trace: Any, args: Any, kwargs: Any) -> Any:
        from .specialise.transforms import trace_value_and_grad

        y, gradients = trace_value_and_grad(trace, f, positions, has_aux, args, kwargs)
        return y, gradients[0] if single else gradients

    return Transformed(f, run, trace, value_and_grad, f, argnums, has_aux)


def _value_and_gradients(
    parent: Tape | None,
    f: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: Sequence[int] | None,
    has_aux: bool,
) -> tuple[Any, tuple[Any, ...]]:
    check_function(f)
    if argnums is not None:
        argnums = positions(f, argnums, args)
    y, back = record_run(parent, f, args, kwargs, argnums)
    if has_aux:
        if not isinstance(y, tuple) or len(y) != 2:
            raise no_pair(f, y)
        gradients = back.run(parent, (_unit(f, y[0]), None))
    else:
        gradients = back.run(parent, _unit(f, y))
    return y, gradients


def is_integer(x: Any) -> bool:
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool)


def positions(f: Function, argnums: Sequence[int], args: tuple[Any, ...]) -> list[int]:
    for i in argnums:
        if not -len(args) <= i < len(args):
            raise out_of_range(f, i, args)
        if not is_structure_of_numbers(args[i]):
            x = args[i]
            is_counts = isinstance(x, np.ndarray) and x.dtype.kind in "iu"
            raise BadInput(
                f"argument {i} of {describe(f)} is {kind_of(x)}, which has no derivative; differentiate with respect to "
                + (
                    "x.astype(float)"
                    if is_counts
                    else "floats, complex numbers, inexact arrays, or containers and objects that hold them"
                )
            )
    return [i % len(args) for i in argnums]


def _unit(f: Function, y: Any) -> Any:
    """Return the cotangent 1 of ``y``, the result of ``f``; raise BadInput if it is no real scalar."""
    if type(y) is float:
        return 1.0
    if isinstance(y, (complex, np.complexfloating)) or isinstance(y, np.ndarray) and y.dtype.kind == "c":
        raise BadInput(
            f"{describe(f)} returned a complex number, but a gradient needs a real one; return its abs, .real or .imag, or use "
            "morula.pullback with a complex cotangent"
        )
    if isinstance(y, np.ndarray) and y.ndim == 0:
        return np.ones((), y.dtype)
    if type(y) is Int or isinstance(y, (int, np.integer)) and not isinstance(y, bool):
        return 1
    if isinstance(y, (float, np.floating)):
        return type(y)(1) if isinstance(y, np.floating) else 1.0
    shape = f" of shape {y.shape}" if isinstance(y, np.ndarray) else ""
    raise no_scalar(f, y, shape)


def show(f: Function, *args: Any, mode: str = "reverse") -> None:
    """Print the code that runs when ``f`` is differentiated.

    For a function of the structured tier, this is its forward and backward sweep, or, in forward mode, the function
    that also computes tangents; for any other, its instrumented source.

    Args:
        f: the function.
        *args: arguments whose types the code is written for; floats if none are given.
        mode: "reverse" or "forward".

    Raises:
        BadInput: ``f`` is not callable, is not written in Python, or its source cannot be read; there is no such mode.

    >>> show(lambda x: x * x)
    def lambda_forward(x):
        return (x * x, x)
    <BLANKLINE>
    def lambda_backward(x, dy):
        return (dy * x + dy * x,)
    >>> show(lambda x: x * x, mode="forward")
    def lambda_tangent(x, dx):
        return (x * x, dx * x + dx * x)
    """
    if mode not in ("reverse", "forward"):
        raise BadInput(f'there is no mode {mode!r}; mode is "reverse" or "forward"')
    function = _python_function(f)
    values = parameters(function, args or (1.0,) * function.__code__.co_argcount)
    compiled = None if values is None else compiled_for(function, values, is_forward=mode == "forward")
    print("\n".join(compiled.text).rstrip() if compiled is not None else instrumented_source(function))


def ir(f: Function) -> IR:
    """Return the structured intermediate representation of ``f``, which prints as text.

    Args:
        f: a Python function or method.

    Returns:
        The IR of its source, before types are inferred.

    Raises:
        BadInput: ``f`` is not callable, or is not written in Python.
        Unstructured: the structured form cannot express the source (``try``, ``yield``, ``with``, nested functions);
            such a function is differentiated by recording instead.

    >>> print(ir(lambda x: x * x + 1))
    function lambda(%x):
      %t = operator.mul(%x, %x)
      %t.1 = operator.add(%t, 1)
      yield %t.1
    """
    return verify(lower(_python_function(f))[0])


def _python_function(f: Any) -> FunctionType:
    check_function(f)
    while hasattr(type(f), "__morula_call__") and hasattr(f, "__wrapped__"):  # a derivative, a compiled function
        f = f.__wrapped__
    if isinstance(f, MethodType):
        f = f.__func__
    elif not isinstance(f, FunctionType):
        f = getattr(type(f), "__call__", f)
    if not isinstance(f, FunctionType):
        raise BadInput(f"{describe(f)} is not written in Python, so there is no code to show")
    return f


HANDLERS[pullback] = lambda tape, f, *args, **kwargs: _pullback(tape, f, args, kwargs)
HANDLERS[gradient] = _gradient
for _factory in (grad, value_and_grad, adjoint, tangent):
    HANDLERS[_factory] = lambda tape, *args, _factory=_factory, **kwargs: _factory(*args, **kwargs)
connected.pullback = pullback


def _iteration(*given: Any) -> Any:
    """Trace an iteration; what does that is imported on first use."""
    return import_module(".compilation.iterations", __package__).Iteration(*given)


connected.iteration = _iteration
