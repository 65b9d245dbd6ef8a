"""JAX: ``jax`` brings a function into morula, ``to_jax`` a function of morula into JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from morula.core import BadInput

from .calls import Foreign, foreign, of_inexact, pulled
from .structures import join, split


def jax(f: Callable[..., Any]) -> Foreign:
    """Return a function of JAX as a function of NumPy's arrays, for models of morula.

    Args:
        f: a function of JAX's arrays, which JAX can trace.  Arguments and results may be nested lists, tuples and dicts.

    Returns:
        A callable object.  JAX compiles the function and differentiates it, to any order; double precision stays double.
        Compiled programs of morula call Python.

    Raises:
        BadInput: JAX is not installed, or ``f`` is not callable.

    >>> import jax.numpy as jnp
    >>> from morula.core import grad
    >>> f = jax(lambda x: jnp.sum(x**2))
    >>> grad(f)(np.array([1.0, 2.0])).tolist()
    [2.0, 4.0]
    """
    library = _required()
    if not callable(f):
        raise BadInput(f"foreign.jax: expected a function of JAX's arrays, not {f!r}")

    return foreign(_Jax(library), lambda _, *args: f(*args), None, getattr(f, "__name__", "function"))


class _Jax:
    """JAX's gradients are conjugates of morula's, so cotangents are conjugated on the way in and out."""

    def __init__(self, library: Any) -> None:
        self.jax = library
        self.compiled: dict[Any, Any] = {}

    def run(self, flat: Any, leaves: Sequence[Any]) -> list[Any]:
        if flat not in self.compiled:
            self.compiled[flat] = self.jax.jit(flat)
        with self.jax.enable_x64(True):
            return [np.array(y) for y in self.compiled[flat](*leaves)]

    def pullback(self, flat: Any, inexact: tuple[bool, ...], kept: tuple[int, ...]) -> Any:
        jax = self.jax

        def pull(*given: Any) -> tuple[Any, ...]:
            f, varying = of_inexact(flat, given[len(kept) :], inexact, kept)
            y, back = jax.vjp(f, *varying)
            found = back(tuple([jax.numpy.asarray(dy, x.dtype).conj() for dy, x in zip(given, y)]))
            return tuple([g.conj() for g in found])

        return pull

    def pushforward(self, flat: Any, inexact: tuple[bool, ...], kept: tuple[int, ...]) -> Any:
        n = sum(inexact)

        def push(*given: Any) -> tuple[Any, ...]:
            f, varying = of_inexact(flat, given[n:], inexact, kept)
            return self.jax.jvp(
                f, varying, tuple([self.jax.numpy.asarray(dx, x.dtype) for dx, x in zip(given, varying)])
            )[1]

        return push


def to_jax(f: Callable[..., Any], result_like: Any = None) -> Callable[..., Any]:
    """Return a function of morula as a function of JAX's arrays, which may be transformed by ``jit``, ``grad`` and ``vmap``.

    Args:
        f: any function that morula differentiates, also a compiled one; it receives arrays and numbers of NumPy.
        result_like: a structure of numbers and arrays with the shapes and dtypes of the result; by default ``f`` runs once on
            ones, for each set of shapes, to learn them.

    Returns:
        A function of JAX's arrays, or nested lists, tuples and dicts of them, with derivatives of any order in reverse mode
        (JAX has no forward mode for functions with a pullback).  It runs on the host.

    Raises:
        BadInput: JAX is not installed, or ``f`` is not callable.

    >>> import jax as google
    >>> import jax.numpy as jnp
    >>> f = to_jax(lambda x: np.sum(x**3))
    >>> google.jit(google.grad(f))(jnp.array([1.0, 2.0])).tolist()
    [3.0, 12.0]
    """
    library = _required()
    if not callable(f):
        raise BadInput(f"to_jax: expected a function, not {f!r}")

    def of_arrays(*args: Any) -> Any:
        leaves: list[Any] = []
        form = split(list(args), leaves)
        arrays = [library.numpy.asarray(x) for x in leaves]
        results: list[Any] = []

        def flat(*given: Any) -> tuple[Any, ...]:
            found: list[Any] = []
            results[:] = [split(f(*join(form, iter(given))), found)]
            return tuple(found)

        if result_like is None:
            like = flat(*[np.ones(x.shape, x.dtype)[()] for x in arrays])
        else:
            found: list[Any] = []
            results[:] = [split(result_like, found)]
            like = tuple(found)
        types = [_type_of(library, x) for x in like]
        form_of_results = results[0]
        return join(form_of_results, iter(_called(library, flat, types)(*arrays)))

    of_arrays.__name__ = getattr(f, "__name__", "function")
    of_arrays.__doc__ = f.__doc__
    return of_arrays


def _type_of(jax: Any, x: Any) -> Any:
    return jax.ShapeDtypeStruct(np.shape(x), jax.dtypes.canonicalize_dtype(np.result_type(x)))


def _called(jax: Any, flat: Any, types: list[Any]) -> Callable[..., Any]:
    """Return the flat function of NumPy's arrays as one of JAX's, with its pullback, which is such a function again."""

    def host(*given: Any) -> tuple[Any, ...]:
        found = flat(*[np.array(x)[()] for x in given])
        return tuple([np.asarray(x, t.dtype) for x, t in zip(found, types)])

    @jax.custom_vjp
    def call(*given: Any) -> Any:
        return jax.pure_callback(host, tuple(types), *given, vmap_method="sequential")

    def forward(*given: Any) -> Any:
        return call(*given), given

    def backward(given: Any, dys: Any) -> Any:
        inexact = [np.issubdtype(t.dtype, np.inexact) for t in types]
        wanted = [np.issubdtype(x.dtype, np.inexact) for x in given]
        kept = [dy.conj() for dy, is_one in zip(dys, inexact) if is_one]
        results = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x, is_one in zip(given, wanted) if is_one]
        found = iter(_called(jax, pulled(flat, inexact, wanted), results)(*kept, *given))
        return tuple(
            [next(found).conj() if is_one else np.zeros(x.shape, jax.dtypes.float0) for x, is_one in zip(given, wanted)]
        )

    call.defvjp(forward, backward)
    return call


def _required() -> Any:
    try:
        import jax
    except ImportError:
        raise BadInput("this needs JAX, which is not installed; run: pip install morula[xla]") from None
    return jax
