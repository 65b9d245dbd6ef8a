"""Mass matrices: M y' = f(t, y), where a singular M makes some of the equations algebraic.

Only differential-algebraic equations of index 1 are solved: the algebraic equations Q f(t, y) = 0, with Q the projection
onto the complement of M's range, determine what M y leaves open. So M - Q J is regular, with the Jacobian J of f.

Source: E. Hairer, G. Wanner, Solving Ordinary Differential Equations II (1996), VI.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import BadInput, constant
from .jacobians import BandedJacobian, SparseJacobian
from .methods import METHODS, EsdirkTableau, Method, Multistep, RadauFamily, RadauTableau, RosenbrockTableau
from .state import Leaf, pack


class Mass:
    """The matrix M, and the projection Q onto the algebraic equations.

    matrix: the diagonal (n,), or all of M (n, n).
    """

    def __init__(self, matrix: NDArray[Any]) -> None:
        self.matrix = matrix
        self.projection = _projection(matrix)

    def times(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return M x; for x (s, n), of each row."""
        return self.matrix * x if self.matrix.ndim == 1 else np.dot(x, self.matrix.T)

    def undone(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return M^-1 x."""
        return x / self.matrix if self.matrix.ndim == 1 else np.linalg.solve(self.matrix, x)

    def algebraic(self, f: NDArray[Any]) -> NDArray[Any]:
        """Return Q f, the residual of the algebraic equations."""
        return self.projection * f if self.projection.ndim == 1 else np.dot(self.projection, f)

    def check_regular(self, method: str) -> None:
        """Refuse a singular M for a method that solves no algebraic equations."""
        if _is_singular(self.projection):
            raise BadInput(f"mass is singular, and {method} solves no algebraic equations; choose one of {_ABLE}")


@constant
def _is_singular(projection: NDArray[Any]) -> bool:
    return bool(np.any(projection != 0.0))


@constant
def _projection(matrix: NDArray[Any]) -> NDArray[Any]:
    if matrix.ndim == 1:
        return (matrix == 0.0).astype(matrix.dtype)
    u, s, _ = np.linalg.svd(matrix)
    is_null = s <= len(s) * np.finfo(matrix.dtype).eps * s[0]
    return np.dot(u * is_null.astype(matrix.dtype), u.T)


def mass_of(given: Any, leaves: Any, size: int, dtype: np.dtype[Any], form: Any) -> Mass | None:
    """Return the mass for the argument ``mass`` of ``odesolve``."""
    if given is None:
        return None
    if isinstance(leaves, Leaf) and len(leaves.shape) == 1 and np.ndim(given) == 2:
        matrix = np.asarray(given)
        if matrix.shape != (size, size) or matrix.dtype.kind not in "iuf":
            raise BadInput(
                f"mass has shape {matrix.shape} and dtype {matrix.dtype}; the state has {size} components: expected real "
                f"numbers of shape {(size, size)}, or its diagonal"
            )
        if isinstance(form, (BandedJacobian, SparseJacobian)):
            raise BadInput("mass is a matrix, and the Jacobian is banded or sparse: give the diagonal of mass, (n,)")
    else:
        matrix = pack(given, leaves, "mass")
        if matrix.dtype.kind == "c":
            raise BadInput("mass is complex; expected real numbers")
    matrix = matrix.astype(dtype)
    if not np.all(np.isfinite(matrix)):
        raise BadInput(f"mass holds a value that is not finite: {given!r}")
    return Mass(matrix)


def takes_singular(method: Method) -> bool:
    """Return whether a method solves algebraic equations: stages and dense output hold y, or y', but not f in place of y'.

    >>> from .methods import METHODS
    >>> [name for name in ("radau5", "rodas4", "ros3p", "tsit5") if takes_singular(METHODS[name])]
    ['radau5', 'rodas4']
    """
    if isinstance(method, RosenbrockTableau):
        return method.has_own_dense_output
    if isinstance(method, Multistep):
        return method.is_stiff
    return isinstance(method, (RadauFamily, RadauTableau)) or (
        isinstance(method, EsdirkTableau) and len(method.error) > 0
    )


_ABLE = ", ".join(name for name, method in METHODS.items() if takes_singular(method))


def regular(f: Callable[..., Any], mass: Callable[..., Any]) -> Callable[..., Any]:
    """Return y' = M(t, y)^-1 f(t, y), for a mass that is a function."""

    def slope(t: float, y: NDArray[Any], *args: Any) -> NDArray[Any]:
        matrix = np.asarray(mass(t, y, *args))
        if matrix.shape != (len(y), len(y)):
            raise BadInput(
                f"mass returned shape {matrix.shape}; the state has {len(y)} components: expected {(len(y),) * 2}"
            )
        return np.linalg.solve(matrix, f(t, y, *args))

    return slope
