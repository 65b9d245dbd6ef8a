"""Derivatives of Python functions: the public face of the core."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from . import mutation, rules, standard_library  # noqa: F401  the handlers register themselves
from .call import HANDLERS, call, handles, parameters
from .cotangents import conform
from .errors import BadInput
from .frontend import lower
from .instrument import instrument, instrumented_source
from .ir import Function as IR, verify
from .operate import evaluate
from .source import describe
from .structure import Arguments, as_gradient, is_structure_of_numbers, map_container, plain, same_number
from .structured import Compiled, compiled_for, forget
from .tape import Cotangents, Int, Tape, sweep

__all__ = [
    "adjoint",
    "checkpoint",
    "forwarddiff",
    "grad",
    "gradient",
    "hessian",
    "hook",
    "ir",
    "jacobian",
    "nestlevel",
    "pullback",
    "show",
    "stop_gradient",
    "value_and_grad",
    "vjp",
]

rules.load()

Function = Callable[..., Any]


class Back:
    """The pullback of one run: maps a cotangent of the result to the cotangents of the arguments."""

    def __init__(self, tape: Tape, arguments: Arguments, y: Any) -> None:
        self.tape, self.arguments, self.y = tape, arguments, y

    def __call__(self, dy: Any) -> tuple[Any, ...]:
        return self.run(None, dy)

    def __morula_call__(self, tape: Tape, dy: Any) -> tuple[Any, ...]:
        return self.run(tape, dy)

    def kept(self) -> set[int]:
        """The identities of the results that the tape holds."""
        return {id(saved[0]) for _, *saved in self.tape.records}

    def run(self, parent: Tape | None, dy: Any) -> tuple[Any, ...]:
        table = Cotangents(None if parent is None else functools.partial(call, parent))
        seed(table, self.y, dy)
        sweep(self.tape, table)
        return self.arguments.gradients(table)


class CompiledBack:
    """The pullback of one run of a function that was compiled to a forward and a backward sweep."""

    def __init__(
        self, compiled: Compiled, saved: Any, y: Any, args: Sequence[Any], active: Sequence[bool], chosen: Sequence[int]
    ) -> None:
        self.compiled, self.saved, self.y, self.args = compiled, saved, y, args
        self.active, self.chosen = active, chosen

    def __call__(self, dy: Any) -> tuple[Any, ...]:
        return self.run(None, dy)

    def __morula_call__(self, tape: Tape, dy: Any) -> tuple[Any, ...]:
        return self.run(tape, dy)

    def kept(self) -> set[int]:
        """The identities of what the forward sweep saved."""
        saved = self.saved if type(self.saved) is tuple else (self.saved,)
        return set(map(id, saved)) - set(map(id, self.args))

    def run(self, parent: Tape | None, dy: Any) -> tuple[Any, ...]:
        dy = check_cotangent(self.y, dy)
        found = iter(() if dy is None else evaluate(parent, self.compiled.pull, self.saved, dy, self.y))
        pulled = [next(found, None) if is_active else None for is_active in self.active]
        gradients: list[Any] = []
        for i in self.chosen:
            x, g = self.args[i], pulled[i]
            if not is_structure_of_numbers(x):
                gradients.append(None)
            elif isinstance(x, np.ndarray):
                zero = g is None or isinstance(g, int)
                if parent is None and (g is dy or any(g is other for other in gradients)):
                    g = np.copy(g)  # type: ignore[arg-type]
                gradients.append(np.zeros_like(x) if zero else g)
            elif parent is not None and g is not None:
                converted = type(x) in (float, complex) and type(g) is not type(x)
                gradients.append(evaluate(parent, as_gradient, g, x) if converted else g)
            else:
                gradients.append(as_gradient(0 if g is None else g, x))
        return tuple(gradients)


def record(
    parent: Tape | None, f: Function, args: Sequence[Any], kwargs: dict[str, Any], argnums: Sequence[int] | None = None
) -> tuple[Any, Back | CompiledBack]:
    """Run ``f`` and give its pullback; argnums of None differentiates every positional argument."""
    chosen = range(len(args)) if argnums is None else argnums
    if type(f) is FunctionType and not kwargs and f not in HANDLERS:
        compiled = _record_compiled(parent, f, args, chosen)
        if compiled is not None:
            return compiled
    if isinstance(f, FunctionType) and f not in HANDLERS and rules.find_rule(f) is None:
        instrument(f)  # a missing source is reported before anything runs
    tape = Tape(parent)
    arguments = Arguments(tape)
    fresh = list(args)
    try:
        for i in chosen:
            fresh[i] = arguments.enter(args[i])
        y = call(tape, f, *fresh, **kwargs)
    finally:
        arguments.leave()
    return y, Back(tape, arguments, y)


def _record_compiled(
    parent: Tape | None, f: FunctionType, args: Sequence[Any], chosen: Sequence[int]
) -> tuple[Any, CompiledBack] | None:
    """Run the compiled form of ``f``; None if it has none, or if it raises: the tape then raises on the user's lines."""
    values = parameters(f, args)
    if values is None or rules.find_rule(f) is not None:
        return None
    active = tuple(i in chosen and is_structure_of_numbers(x) for i, x in enumerate(values))
    compiled = compiled_for(f, values, active)
    if compiled is None:
        return None
    try:
        y, saved = evaluate(parent, compiled.forward, *values)
    except Exception:
        return None
    if not compiled.fits(y):
        return None
    return y, CompiledBack(compiled, saved, y, args, active, chosen)


def check_cotangent(y: Any, dy: Any) -> Any:
    """The cotangent of a number, an array or a tuple of these, in its form."""
    if dy is None:
        return None
    if isinstance(y, tuple):
        if not isinstance(dy, (tuple, list)) or len(dy) != len(y):
            raise BadInput(f"the result is a tuple of {len(y)}; its cotangent must be one too, not {dy!r}")
        return [check_cotangent(e, de) for e, de in zip(y, dy)]
    if np.shape(dy) != np.shape(y):
        raise BadInput(f"the result has shape {np.shape(y)}, but its cotangent has shape {np.shape(dy)}")
    return conform(dy, y)


def seed(table: Cotangents, y: Any, dy: Any) -> None:
    """Enter the cotangent of the result, which must have its structure."""
    if dy is None:
        return
    if isinstance(y, (tuple, list)):
        if not isinstance(dy, (tuple, list)) or len(dy) != len(y):
            raise BadInput(f"the result is a {type(y).__name__} of {len(y)}; its cotangent must be one too, not {dy!r}")
        for e, de in zip(y, dy):
            seed(table, e, de)
    elif isinstance(y, dict):
        if not isinstance(dy, dict) or not set(dy) <= set(y):
            raise BadInput(f"the result is a dict with keys {sorted(map(str, y))}; its cotangent must be too, not {dy!r}")
        for key, value in dy.items():
            seed(table, y[key], value)
    elif isinstance(y, np.ndarray):
        if np.shape(dy) != y.shape:
            raise BadInput(f"the result has shape {y.shape}, but its cotangent has shape {np.shape(dy)}")
        table.add(y, table.run(conform, dy, y))
    else:
        if np.shape(dy) != () and isinstance(y, (int, float, complex, np.number)):
            raise BadInput(f"the result is a number, but its cotangent has shape {np.shape(dy)}")
        table.add(y, dy)


class _Transformed:
    """A derivative of ``f`` as a function; inside recorded code it is run beneath that code's tape."""

    def __init__(self, f: Function, run: Function) -> None:
        functools.update_wrapper(self, f, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=())
        self.run = run

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(None, *args, **kwargs)

    def __morula_call__(self, tape: Tape, *args: Any, **kwargs: Any) -> Any:
        return self.run(tape, *args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)


def pullback(f: Function, *args: Any, **kwargs: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The value of ``f(*args, **kwargs)`` and its pullback (vector-Jacobian product).

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
    y, back = _pullback(None, f, args, kwargs)
    return _detached(plain(y), back.kept()), back


def _detached(y: Any, kept: set[int]) -> Any:
    """The result for the caller, who may write into it: an array that the pullback keeps is copied."""
    if isinstance(y, np.ndarray):
        return y.copy() if id(y) in kept else y
    return map_container(lambda e: _detached(e, kept), y)


vjp = pullback


def _pullback(parent: Tape | None, f: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, Back]:
    _check_function(f)
    return record(parent, f, args, kwargs)


def gradient(f: Function, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """The gradient of the real scalar ``f(*args, **kwargs)``: a tuple with one entry per positional argument.

    >>> gradient(lambda x, y: x * y**2, 2.0, 3.0)
    (9.0, 12.0)
    """
    return _gradient(None, f, *args, **kwargs)


def _gradient(parent: Tape | None, f: Function, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    return _value_and_gradients(parent, f, args, kwargs, None, False)[1]


def grad(f: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """A function that computes the gradient of the real scalar function ``f``.

    Args:
        f: returns a real scalar; with ``has_aux`` a pair of it and anything else.
        argnums: the position of the argument to differentiate, or several (the gradient is then a tuple).
        has_aux: return ``(gradient, aux)``.

    Raises:
        BadInput: ``f`` is not callable, ``argnums`` is out of range, the argument holds no number, or the output is not a
            real scalar.

    >>> grad(lambda x: x**3)(2.0)
    12.0
    """
    differentiated = value_and_grad(f, argnums, has_aux)

    def run(parent: Tape | None, *args: Any, **kwargs: Any) -> Any:
        value, gradients = differentiated.run(parent, *args, **kwargs)  # type: ignore[attr-defined]
        return (gradients, value[1]) if has_aux else gradients

    return _Transformed(f, run)


def value_and_grad(f: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """Like ``grad``, but the function returns ``(value, gradient)``; with ``has_aux`` ``((value, aux), gradient)``.

    >>> value_and_grad(lambda x: x**3)(2.0)
    (8.0, 12.0)
    """
    _check_function(f)
    single = isinstance(argnums, (int, np.integer)) and not isinstance(argnums, bool)
    positions = (argnums,) if single else tuple(argnums)  # type: ignore[arg-type]
    if not all(isinstance(i, (int, np.integer)) and not isinstance(i, bool) for i in positions):
        raise BadInput(f"argnums must be an integer or a sequence of integers, not {argnums!r}")

    def run(parent: Tape | None, *args: Any, **kwargs: Any) -> Any:
        y, gradients = _value_and_gradients(parent, f, args, kwargs, positions, has_aux)
        return (plain(y) if parent is None else y), gradients[0] if single else gradients

    return _Transformed(f, run)


def _value_and_gradients(
    parent: Tape | None,
    f: Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: Sequence[int] | None,
    has_aux: bool,
) -> tuple[Any, tuple[Any, ...]]:
    _check_function(f)
    if argnums is not None:
        argnums = _positions(f, argnums, args)
    y, back = record(parent, f, args, kwargs, argnums)
    value = y
    if has_aux:
        if not isinstance(y, tuple) or len(y) != 2:
            raise BadInput(f"with has_aux, {describe(f)} must return a pair (value, aux), not {_kind(y)}")
        value = y[0]
        gradients = back.run(parent, (_unit(f, value), None))
    else:
        gradients = back.run(parent, _unit(f, value))
    return y, gradients


def _positions(f: Function, argnums: Sequence[int], args: tuple[Any, ...]) -> list[int]:
    for i in argnums:
        if not -len(args) <= i < len(args):
            raise BadInput(
                f"argnums {i} is out of range: {describe(f)} was called with {len(args)} positional argument(s)"
            )
        if not is_structure_of_numbers(args[i]):
            raise BadInput(
                f"argument {i} of {describe(f)} is {_kind(args[i])}, which has no derivative; differentiate with respect "
                "to floats, complex numbers, inexact arrays, or containers and objects that hold them"
            )
    return [i % len(args) for i in argnums]


def _unit(f: Function, y: Any) -> Any:
    """The cotangent 1 of a real scalar."""
    if isinstance(y, (complex, np.complexfloating)) or isinstance(y, np.ndarray) and y.dtype.kind == "c":
        raise BadInput(
            f"{describe(f)} returned a complex number; a gradient needs a real one: take abs, .real or .imag, or use "
            "morula.pullback with a complex cotangent"
        )
    if isinstance(y, np.ndarray) and y.ndim == 0:
        return np.ones((), y.dtype)
    if type(y) is Int or isinstance(y, (int, np.integer)):
        return 1
    if isinstance(y, (float, np.floating)):
        return type(y)(1) if isinstance(y, np.floating) else 1.0
    shape = f" of shape {y.shape}" if isinstance(y, np.ndarray) else ""
    raise BadInput(
        f"a gradient needs a real scalar output, but {describe(f)} returned {_kind(y)}{shape}; use morula.jacobian for "
        "arrays, or morula.pullback with a cotangent of the output's structure"
    )


def _kind(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"an array of dtype {x.dtype}"
    return "None" if x is None else f"{type(x).__name__} {x!r}" if isinstance(x, (str, bool)) else f"a {type(x).__name__}"


def _check_function(f: Any) -> None:
    if not callable(f):
        raise BadInput(f"a function is needed, not {_kind(f)}; write grad(f)(x), not grad(f(x))")


def jacobian(f: Function, argnums: int = 0) -> Function:
    """A function that computes the Jacobian of ``f`` with respect to one argument, a number or an array.

    Returns an array of shape ``y.shape + x.shape``; for a result in a list, tuple or dict, that structure of Jacobians.

    Raises:
        BadInput: the argument is neither a real number nor a real array, or the output is complex.

    >>> jacobian(lambda x: x**2)(np.array([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    _check_function(f)

    def run(parent: Tape | None, *args: Any, **kwargs: Any) -> Any:
        (position,) = _positions(f, (argnums,), args)
        x = args[position]
        if not isinstance(x, (int, float, np.floating)) and not (isinstance(x, np.ndarray) and x.dtype.kind == "f"):
            raise BadInput(
                f"jacobian needs a real number or array as argument {position}, not {_kind(x)}; use morula.pullback, or "
                "gather the parameters in one array"
            )
        y, back = record(parent, f, args, kwargs, (position,))
        return evaluate(parent, _rows, _RowBack(back, parent), y, y, x)

    return _Transformed(f, run)


class _RowBack:
    def __init__(self, back: Back, parent: Tape | None) -> None:
        self.back, self.parent = back, parent

    def __call__(self, whole: Any) -> Any:
        return self.back.run(self.parent, whole)[0]

    def __morula_call__(self, tape: Tape, whole: Any) -> Any:
        return self.back.run(tape, whole)[0]


def _rows(back: Function, part: Any, whole: Any, x: Any) -> Any:
    """The Jacobian of one leaf of the output, or of each in a structure."""
    if isinstance(part, (list, tuple)):
        rows = [_rows(_Inside(back, i, part), e, e, x) for i, e in enumerate(part)]
        return rows if isinstance(part, list) else tuple(rows)
    if isinstance(part, dict):
        return {k: _rows(_Inside(back, k, part), e, e, x) for k, e in part.items()}
    if np.iscomplexobj(part):
        raise BadInput("jacobian needs a real output; split it into .real and .imag, or use morula.pullback")
    if np.ndim(part) == 0:
        return back(1.0)
    basis = np.eye(part.size, dtype=part.dtype).reshape((part.size, *part.shape))
    rows = [back(e) for e in basis]
    if not rows:
        return np.zeros((*part.shape, *np.shape(x)))
    return np.reshape(np.stack(rows), (*part.shape, *np.shape(x)))


class _Inside:
    """A pullback from one entry of a structured output."""

    def __init__(self, back: Function, key: Any, whole: Any) -> None:
        self.back, self.key, self.whole = back, key, whole

    def __call__(self, dy: Any) -> Any:
        if isinstance(self.whole, dict):
            return self.back({self.key: dy})
        return self.back([dy if i == self.key else None for i in range(len(self.whole))])


def hessian(f: Function, argnums: int = 0) -> Function:
    """A function that computes the Hessian of the real scalar ``f`` with respect to one argument.

    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([2.0, 3.0])).tolist()
    [[6.0, 4.0], [4.0, 0.0]]
    """
    return jacobian(grad(f, argnums), argnums)


def adjoint(f: Function) -> Callable[[Function], Function]:
    """Give ``f`` a pullback: decorate a function of the same arguments that returns ``(y, back)``.

    ``back(dy)`` returns a tuple with one cotangent per positional argument (None for zero); for a function of one
    argument the cotangent alone will do.

    >>> def half(x):
    ...     return x / 2
    >>> @adjoint(half)
    ... def _(x):
    ...     return half(x), lambda dy: dy / 2
    >>> grad(half)(3.0)
    0.5
    """
    if not callable(f):
        raise BadInput(f"@adjoint needs the function that it gives a pullback to, not {_kind(f)}")

    def register(definition: Function) -> Function:
        if not callable(definition):
            raise BadInput(f"@adjoint({describe(f)}) decorates a function, not {_kind(definition)}")

        def handler(tape: Tape, *args: Any, **kwargs: Any) -> Any:
            pair = evaluate(tape.parent, definition, *args, **kwargs)
            if not isinstance(pair, tuple) or len(pair) != 2 or not callable(pair[1]):
                raise BadInput(f"the adjoint of {describe(f)} must return (y, back), with back a function of dy")
            y = evaluate(tape.parent, _distinct, pair[0])
            tape.records.append((_adjoint_back, y, f, pair[1], args))
            return y

        HANDLERS[f] = handler
        forget()
        return definition

    return register


def _distinct(y: Any) -> Any:
    """``y`` with an identity of its own: the definition may return an argument or a constant."""
    if isinstance(y, np.ndarray):
        return np.copy(y)
    if type(y) in (float, complex) or isinstance(y, np.inexact):
        return same_number(y)
    if type(y) in (list, tuple):
        return type(y)([_distinct(e) for e in y])
    return Int(y) if type(y) is int else y


def _adjoint_back(table: Cotangents, y: Any, f: Function, back: Function, args: tuple[Any, ...]) -> None:
    dy = table.take(y)
    if dy is None:
        return
    cotangents = table.run(back, dy)
    if not isinstance(cotangents, tuple) or len(args) == 1 and isinstance(args[0], tuple) and len(cotangents) != 1:
        cotangents = (cotangents,)
    if len(cotangents) != len(args):
        raise BadInput(
            f"the pullback of {describe(f)} returned {len(cotangents)} cotangent(s) for {len(args)} argument(s); return "
            "one for each, None where it is zero"
        )
    for i, (x, g) in enumerate(zip(args, cotangents)):
        if isinstance(x, (np.ndarray, float, complex, np.number)) and g is not None and np.shape(g) != np.shape(x):
            raise BadInput(
                f"the pullback of {describe(f)} returned a cotangent of shape {np.shape(g)} for argument {i}, which has "
                f"shape {np.shape(x)}"
            )
        if g is not None:
            table.add(x, table.run(conform, g, x) if isinstance(x, (np.ndarray, float, complex, np.number)) else g)


def hook(g: Function, x: Any) -> Any:
    """``x`` itself; on the way back its cotangent is replaced by ``g(dx)``.

    >>> grad(lambda x: hook(lambda dx: 10 * dx, x) ** 2)(3.0)
    60.0
    """
    return x


@handles(hook)
def _hook(tape: Tape, g: Function, x: Any) -> Any:
    y = evaluate(tape.parent, _distinct, x)
    tape.records.append((_hook_back, y, g, x))
    return y


def _hook_back(table: Cotangents, y: Any, g: Function, x: Any) -> None:
    dy = table.take(y)
    if dy is not None:
        table.add(x, table.run(g, dy))


def stop_gradient(x: Any) -> Any:
    """``x`` as a constant: no cotangent passes.

    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    3.0
    """
    return x


@handles(stop_gradient)
def _stop_gradient(tape: Tape, x: Any) -> Any:
    if isinstance(x, dict):
        return {k: _stop_gradient(tape, v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        parts = [_stop_gradient(tape, e) for e in x]
        return type(x)._make(parts) if hasattr(x, "_make") else type(x)(parts)  # type: ignore[union-attr]
    return int(x) if type(x) is Int else _distinct(x) if type(x) is not int else x


def nestlevel() -> int:
    """How many derivatives the caller is inside of.

    >>> nestlevel(), pullback(lambda x: x * nestlevel(), 1.0)[0]
    (0, 1.0)
    """
    return 0


@handles(nestlevel)
def _nestlevel(tape: Tape | None) -> int:
    level = 0
    while tape is not None:
        level, tape = level + 1, tape.parent
    return level


def checkpoint(f: Function, *args: Any, **kwargs: Any) -> Any:
    """``f(*args, **kwargs)``, of which nothing is kept for the way back: it is run again there.

    A function that writes into arrays is run once and kept, as what it wrote to has changed since.

    >>> grad(lambda x: checkpoint(lambda u: u * u * u, x))(2.0)
    12.0
    """
    return f(*args, **kwargs)


@handles(checkpoint)
def _checkpoint(tape: Tape, f: Function, *args: Any, **kwargs: Any) -> Any:
    trial = Tape(tape.parent)
    y = call(trial, f, *args, **kwargs)
    if trial.written or not _is_numeric(y):
        tape.records += trial.records
        tape.written |= trial.written
    else:
        tape.records.append((_checkpoint_back, y, f, args, kwargs))
    return y


def _is_numeric(y: Any) -> bool:
    if isinstance(y, (tuple, list)):
        return all(map(_is_numeric, y))
    return isinstance(y, (np.ndarray, float, complex, int, np.number))


def _checkpoint_back(table: Cotangents, y: Any, f: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    dy = table.take(y)
    if dy is None:
        return
    again = Tape(None if table.evaluate is None else table.evaluate.args[0])  # type: ignore[attr-defined]
    seed(table, call(again, f, *args, **kwargs), dy)
    written, table.redo = table.redo, []
    sweep(again, table)
    table.redo = written


def forwarddiff(f: Function, x: Any) -> Any:
    """``f(x)``, differentiated while it runs: on the way back its Jacobian is there already.

    Worth it where x is small and f is long.  No derivative passes to what f closes over.

    >>> grad(lambda x: forwarddiff(lambda u: u**3, x))(2.0)
    12.0
    """
    return f(x)


@adjoint(forwarddiff)
def _forwarddiff(f: Function, x: Any) -> Any:
    y = f(x)
    slope = jacobian(f)(x)
    return y, lambda dy: (None, dy * slope if np.ndim(dy) == 0 else np.tensordot(dy, slope, np.ndim(dy)))


def show(f: Function, *args: Any) -> None:
    """Print the code that runs when ``f`` is differentiated.

    For a function of the structured tier that is its forward and its backward sweep, for the types of ``args`` (real
    numbers, if none are given); for any other it is the recorded form of its source.

    >>> show(lambda x: x * x)
    def lambda_forward(x):
        return (x * x, x)
    <BLANKLINE>
    def lambda_backward(saved, dy):
        return (dy * saved + dy * saved,)
    """
    function = _python_function(f)
    values = parameters(function, args or (1.0,) * function.__code__.co_argcount)
    compiled = None if values is None else compiled_for(function, values)
    print("\n".join(compiled.text).rstrip() if compiled is not None else instrumented_source(function))


def ir(f: Function) -> IR:
    """The structured intermediate representation of ``f``, which prints as text.

    Raises:
        Unstructured: the source has a construct that the structured form does not have (``try``, ``yield``, ``with``,
            nested functions); it is differentiated all the same, by recording.

    >>> print(ir(lambda x: x * x + 1))
    function lambda(%x):
      %t = operator.mul(%x, %x)
      %t.1 = operator.add(%t, 1)
      yield %t.1
    """
    return verify(lower(_python_function(f))[0])


def _python_function(f: Any) -> FunctionType:
    _check_function(f)
    if isinstance(f, MethodType):
        f = f.__func__
    elif not isinstance(f, FunctionType):
        f = getattr(type(f), "__call__", f)
    if not isinstance(f, FunctionType):
        raise BadInput(f"{describe(f)} is not written in Python: there is no code to show")
    return f


HANDLERS[pullback] = lambda tape, f, *args, **kwargs: _pullback(tape, f, args, kwargs)
HANDLERS[gradient] = _gradient
for _factory in (grad, value_and_grad, jacobian, hessian, adjoint):
    HANDLERS[_factory] = lambda tape, *args, _factory=_factory, **kwargs: _factory(*args, **kwargs)
