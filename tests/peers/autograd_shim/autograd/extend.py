"""Derivatives given by hand."""

import functools

import morula as mo

from .core import conjugate, primitive_vjps, vspace

__all__ = ["defvjp", "primitive", "vspace"]


def primitive(f):
    """A function of its own, to which a pullback can be given; without one it is differentiated as any other."""

    @functools.wraps(f)
    def function(*args, **kwargs):
        return f(*args, **kwargs)

    return function


def defvjp(function, *makers, argnums=None):
    argnums = range(len(makers)) if argnums is None else argnums
    primitive_vjps[function] = makers

    @mo.adjoint(function)
    def pullback(*args, **kwargs):
        y = function(*args, **kwargs)

        def back(dy):
            found = [None] * len(args)
            for i, maker in zip(argnums, makers):
                if maker is not None and i < len(args):
                    found[i] = conjugate(maker(y, *args, **kwargs)(conjugate(dy)))
            return tuple(found)

        return y, back
