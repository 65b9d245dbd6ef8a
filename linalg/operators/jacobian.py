"""The Jacobian of a function at a point, as an operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import BadInput, jvp
from .function_operator import transposed_product
from .linear_operator import LinearOperator, inexact


class Jacobian(LinearOperator):
    """The Jacobian of a function: products by forward mode, with the transpose by reverse mode; no matrix is formed.

    Args:
        f: a differentiable function of a vector (n,), with a vector (m,) as its result.
        x: where it is taken, (n,).

    Raises:
        BadInput: ``x`` or the result of ``f`` is not a vector.

    >>> J = Jacobian(lambda x: np.array([x[0] * x[1], x[1] ** 2, x[0]]), np.array([2.0, 3.0]))
    >>> J.shape, (J @ np.array([1.0, 1.0])).tolist(), (J.T @ np.array([1.0, 0.0, 0.0])).tolist()
    ((3, 2), [5.0, 6.0, 1.0], [3.0, 2.0])
    """

    def __init__(self, f: Callable[[Any], Any], x: Any) -> None:
        self.f, self.x = f, inexact(x)
        y = f(self.x)
        if np.ndim(self.x) != 1 or np.ndim(y) != 1:
            raise BadInput(
                f"Jacobian: x has shape {np.shape(self.x)} and f(x) has shape {np.shape(y)}, expected vectors (n,), (m,)"
            )
        self._shape = (y.shape[0], self.x.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.x.dtype

    def matvec(self, x: Any) -> Any:
        if np.iscomplexobj(x) and self.dtype.kind != "c":
            return self.matvec(np.real(x)) + 1j * self.matvec(np.imag(x))
        return jvp(self.f, (self.x,), (x.astype(self.dtype),))[1]

    def transpose(self) -> LinearOperator:
        return JacobianTranspose(self)


class JacobianTranspose(LinearOperator):
    """The transpose of a ``Jacobian``.

    Args:
        jacobian: of shape (m, n).

    >>> J = Jacobian(lambda x: x**2, np.array([1.0, 2.0]))
    >>> JacobianTranspose(J).todense().tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """

    def __init__(self, jacobian: Jacobian) -> None:
        self.jacobian = jacobian

    @property
    def shape(self) -> tuple[int, int]:
        return (self.jacobian.shape[1], self.jacobian.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.jacobian.dtype

    def matvec(self, x: Any) -> Any:
        return transposed_product(self.jacobian.f, self.jacobian.x, x)

    def transpose(self) -> LinearOperator:
        return self.jacobian

    def diag(self) -> Any:
        return self.jacobian.diag()

    def logdet(self) -> Any:
        return self.jacobian.logdet()
