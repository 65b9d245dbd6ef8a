"""Wirtinger derivatives: those of a function of complex numbers by z and by the conjugate of z."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..api import pullback
from ..errors import BadInput
from ..faults import kind_of
from ..source.requirements import check_function
from ..values import tree
from ..values.tangents import has_tangent

__all__ = ["wirtinger"]


def wirtinger(f: Callable[..., Any], z: Any) -> tuple[Any, Any]:
    """Return the Wirtinger derivatives of ``f`` at ``z``: the pair of df/dz and df/dconj(z).

    With z = x + iy, they are (df/dx - i df/dy) / 2 and (df/dx + i df/dy) / 2, so f changes by df/dz dz + df/dconj(z) conj(dz).
    A function is holomorphic where the second is zero; the first is then its complex derivative. The gradient of a real
    function is twice the second.

    Args:
        f: a function of z alone that returns a real or complex number.
        z: complex numbers and arrays, and lists, tuples, dicts or objects of these. Real numbers in it have their ordinary
            derivative in the first of the pair, and zero in the second.

    Returns:
        Two values in the structure of z, with complex numbers for numbers, and None for what has no derivative.

    Raises:
        BadInput: ``f`` is not callable, its source cannot be read, or it does not return a number.
        NoDerivative: the result depends on a call that has neither rule nor source.

    Source: W. Wirtinger, "Zur formalen Theorie der Funktionen von mehr komplexen Veraenderlichen", Math. Ann. 97 (1927).

    >>> wirtinger(lambda z: z**2, 1 + 2j)
    ((2+4j), 0j)
    >>> wirtinger(lambda z: abs(z) ** 2, 1 + 2j)
    ((1-2j), (1+2j))
    """
    check_function(f)
    y, back = pullback(f, z)
    if not has_tangent(y) or np.ndim(y):
        raise BadInput(
            f"wirtinger takes a function that returns a number, but it returned {kind_of(y)}; for an array of them, "
            "return one entry or the sum"
        )
    (real,) = back(1.0)  # the gradient of the real part
    imaginary = back(1j)[0] if np.iscomplexobj(y) else real

    def each(of: Callable[[Any, Any, Any], Any]) -> Any:
        return tree.rebuild(
            z,
            lambda _, x, u, v: of(x, u, v),
            real,
            imaginary,
            is_leaf=has_tangent,
            constant=lambda *_: None,
            is_lenient=True,
        )

    if not np.iscomplexobj(y):
        return (
            each(lambda x, u, v: u.conjugate() / 2 if np.iscomplexobj(x) else u + 0j),
            each(lambda x, u, v: u / 2 if np.iscomplexobj(x) else u * 0j),
        )
    return (
        each(lambda x, u, v: (u - 1j * v).conjugate() / 2 if np.iscomplexobj(x) else u + 1j * v),
        each(lambda x, u, v: (u + 1j * v) / 2 if np.iscomplexobj(x) else u * 0j),
    )
