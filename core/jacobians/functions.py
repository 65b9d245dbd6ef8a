"""Jacobians and Hessians as functions of the arguments, and Hessian-vector products."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from ..api import Transformed, adjoint, grad, is_integer, positions
from ..eager.recorded.call import call
from ..eager.recorded.pullback import Back, CompiledBack, record_run
from ..eager.recorded.tape import Tape
from ..errors import BadInput
from ..forward import jvp
from ..rules.registry import HANDLERS, handles
from ..source.requirements import check_function, nothing_returned
from ..values.numbers import call_on
from . import matrices

__all__ = ["forwarddiff", "hessian", "hvp", "jacfwd", "jacobian"]

Function = Callable[..., Any]
MODES = ("auto", "forward", "reverse")


def jacobian(f: Function, argnums: int = 0, mode: str = "auto") -> Function:
    """Return a function that computes the Jacobian of ``f`` with respect to one argument.

    Args:
        f: returns real numbers or arrays, or any structure of them.
        argnums: the position of the argument: a real number or array, or any structure of them.
        mode: "reverse" computes it by rows, and runs ``f`` once; "forward" by columns, and runs ``f`` once for each number
            in the argument, in memory that does not grow with the run of ``f``; "auto" chooses by the shapes, and runs ``f``
            once.

    Returns:
        For an array x and a result y, an array of shape ``y.shape + x.shape``.  For structures, the structure of the
        result with the structure of the argument in place of each leaf, and None in place of all else.

    Raises:
        BadInput: a number in the argument or in the result is complex, the result holds no number, or ``mode`` is none of
            these.

    >>> jacobian(lambda x: x**2)(np.array([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    >>> jacobian(lambda p: p["a"] * p["b"] ** 2)({"a": 1.0, "b": 2.0})
    {'a': 4.0, 'b': 4.0}
    """
    check_function(f)
    if not is_integer(argnums):
        raise BadInput(
            f"argnums of jacobian and hessian must be an integer, not {argnums!r}; to evaluate it at x, write jacobian(f)(x)"
        )
    if mode not in MODES:
        raise BadInput(f"mode of jacobian must be 'auto', 'forward' or 'reverse', not {mode!r}")

    def run(parent: Tape | None, *args: Any, **kwargs: Any) -> Any:
        (position,) = positions(f, (argnums,), args)
        if mode == "forward":
            return call_on(parent, by_tangents, f, position, args, kwargs)
        y, back = record_run(parent, f, args, kwargs, (position,))
        if y is None:
            raise nothing_returned(f)
        by_rows = mode == "reverse"
        return call_on(
            parent, matrices.of_run, _Gradient(back, parent), y, args[position], position, False if by_rows else None
        )

    def trace(trace: Any, args: Any, kwargs: Any) -> Any:
        from ..specialise.transforms import OfOneArgument, differentiated, positions as traced_positions

        (position,) = traced_positions(trace, f, (argnums,), args)
        if mode == "forward":
            return trace.call(by_tangents, f, position, args, kwargs)
        y, back = differentiated(trace, f, args, kwargs, (position,))
        if y is None:
            raise nothing_returned(f)
        is_linear = back.is_linear and mode == "auto"
        return trace.call(matrices.of_run, OfOneArgument(back), y, args[position], position, is_linear)

    return Transformed(f, run, trace, jacobian, f, argnums, mode)


def by_tangents(f: Function, position: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the Jacobian in one argument by forward mode, a column at a time."""

    def push(dx: Any) -> Any:
        def of_one(x: Any) -> Any:
            return f(*args[:position], x, *args[position + 1 :], **kwargs)

        return jvp(of_one, (args[position],), (dx,))

    return matrices.by_columns(push, args[position], position)


class _Gradient:
    """The pullback of a run with one argument: maps the cotangent of the result to that of the argument."""

    def __init__(self, back: Back | CompiledBack, parent: Tape | None) -> None:
        self.back, self.parent = back, parent

    def __call__(self, whole: Any) -> Any:
        return self.back.run(self.parent, whole)[0]

    def __morula_call__(self, tape: Tape, whole: Any) -> Any:
        return self.back.run(tape, whole)[0]


def jacfwd(f: Function, argnums: int = 0) -> Function:
    """Return ``jacobian(f, argnums, mode="forward")``: the Jacobian by forward mode, a column at a time; compiled code computes them together, by ``vmap``.

    Args:
        f: returns numbers, arrays, or a structure of them.
        argnums: the position of the argument: a real number or array, or any structure of them.

    Returns:
        A function of f's arguments that returns the Jacobian, as ``jacobian`` does.

    Raises:
        BadInput: ``f`` returns nothing that has a derivative, or a number in the argument is complex.

    >>> jacfwd(lambda x: np.array([x, x**2, x**3]))(2.0).tolist()
    [1.0, 4.0, 12.0]
    """
    return jacobian(f, argnums, "forward")


def hessian(f: Function, argnums: int = 0, mode: str = "auto") -> Function:
    """Return a function that computes the Hessian of the real scalar ``f`` with respect to one argument.

    Args:
        f: returns a real scalar.
        argnums: the position of the argument: a real number or array, or any structure of them.
        mode: how the gradient is differentiated, as for ``jacobian``: "forward" is forward over reverse mode.

    Returns:
        The Jacobian of the gradient: for an array x an array of shape ``x.shape + x.shape``.

    Raises:
        BadInput: ``f`` does not return a real scalar, or a number in the argument is complex.

    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([2.0, 3.0])).tolist()
    [[6.0, 4.0], [4.0, 0.0]]
    """
    return jacobian(grad(f, argnums), argnums, mode)


def hvp(f: Function, x: Any, v: Any) -> Any:
    """Return the product of the Hessian of ``f`` at ``x`` with ``v``, by forward over reverse mode.

    Its cost is a small multiple of that of the gradient, and no matrix is formed.

    Args:
        f: a function of x alone that returns a real scalar.
        x: numbers, arrays, and lists, tuples, dicts or objects of these.
        v: a tangent of x, in its structure; None where it is zero.

    Returns:
        The product, in the structure of x.

    Raises:
        BadInput: ``f`` does not return a real scalar, or v does not fit x.

    >>> hvp(lambda x: np.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 0.5])).tolist()
    [6.0, 6.0]
    """
    return jvp(grad(f), (x,), (v,))[1]


def forwarddiff(f: Function, x: Any) -> Any:
    """Return ``f(x)``; when recorded, compute its Jacobian in the forward pass and store nothing else.

    It saves memory if x is small and f is long.  A closure or a bound method is recorded like any other call, since the
    variables that it captures may be differentiated too.

    Args:
        f: a function of x alone that returns a real number or array.
        x: a real number or array.

    Returns:
        The value ``f(x)``.

    Raises:
        BadInput: ``f`` is not callable.

    >>> grad(lambda x: forwarddiff(lambda u: u**3, x))(2.0)
    12.0
    """
    check_function(f)
    return f(x)


@handles(forwarddiff)
def _forwarddiff(tape: Tape, f: Function, x: Any) -> Any:
    check_function(f)
    holds_nothing = isinstance(f, FunctionType) and not f.__closure__
    return call(tape, _with_jacobian if holds_nothing and tape.tangents is None else _apply, f, x)


def _apply(f: Function, x: Any) -> Any:
    return f(x)


def _with_jacobian(f: Function, x: Any) -> Any:
    return f(x)


@adjoint(_with_jacobian)
def _(f: Function, x: Any) -> Any:
    slope = jacfwd(f)(x)
    return f(x), lambda dy: (None, dy * slope if np.ndim(dy) == 0 else np.tensordot(dy, slope, np.ndim(dy)))


for _factory in (jacobian, jacfwd, hessian):
    HANDLERS[_factory] = lambda tape, *args, _factory=_factory, **kwargs: _factory(*args, **kwargs)
