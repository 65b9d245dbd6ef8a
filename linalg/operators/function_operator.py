"""The linear operator that a Python function computes, and its transpose by the function's pullback.

>>> laplacian = FunctionOperator(lambda u: 2 * u - np.pad(u[1:], (0, 1)) - np.pad(u[:-1], (1, 0)), (4, 4))
>>> (laplacian @ np.ones(4)).tolist()
[1.0, 0.0, 0.0, 1.0]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import BadInput, pullback
from .linear_operator import LinearOperator


class FunctionOperator(LinearOperator):
    """The operator that a linear function computes: ``A @ x == function(x, *parameters)``.

    Args:
        function: takes a vector of shape (n,) and the parameters, and returns a vector of shape (m,); linear in x.
        shape: (m, n).
        parameters: further arguments of ``function``, numbers, arrays or structures of them; gradients reach them.
        transpose: takes a vector of shape (m,) and the parameters, and returns the product with the transpose, (n,). By
            default the pullback of ``function`` is used.
        dtype: the dtype of the entries.

    Raises:
        BadInput: an argument has the wrong type or shape; when applied, ``function`` returns another shape than (m,).

    >>> A = FunctionOperator(lambda x, k: np.append(k * np.diff(x), x[0]), (3, 3), parameters=(2.0,))
    >>> A.todense().tolist()
    [[-2.0, 2.0, 0.0], [0.0, -2.0, 2.0], [1.0, 0.0, 0.0]]
    """

    def __init__(
        self,
        function: Callable[..., Any],
        shape: tuple[int, int],
        parameters: tuple[Any, ...] = (),
        transpose: Callable[..., Any] | None = None,
        dtype: Any = np.float64,
    ) -> None:
        if not callable(function):
            raise BadInput(
                f"FunctionOperator: function is a {type(function).__name__}, expected a function of a vector"
            )
        if len(shape) != 2:
            raise BadInput(f"FunctionOperator: shape is {shape!r}, expected (rows, columns)")
        if not isinstance(parameters, tuple):
            raise BadInput(f"FunctionOperator: parameters is a {type(parameters).__name__}, expected a tuple of them")
        self.function = function
        self.parameters = parameters
        self.transposed = transpose
        self._shape = (shape[0], shape[1])
        self._dtype = np.dtype(dtype)

    @property
    def shape(self) -> tuple[int, int]:
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    def matvec(self, x: Any) -> Any:
        y = self.function(x, *self.parameters)
        if np.shape(y) != (self._shape[0],):
            raise BadInput(
                f"FunctionOperator of shape {self._shape}: its function returned shape {np.shape(y)},"
                f" expected ({self._shape[0]},)"
            )
        return np.copy(y)  # the function may fill and return one and the same array in all calls

    def transpose(self) -> LinearOperator:
        if self.transposed is None:
            return Transpose(self)
        return FunctionOperator(
            self.transposed, (self._shape[1], self._shape[0]), self.parameters, self.function, self._dtype
        )


class Transpose(LinearOperator):
    """The transpose of an operator, computed by the pullback of its ``matvec``.

    Args:
        operator: of shape (m, n); ``matvec`` must be differentiable.

    >>> from morula.linalg import Dense
    >>> (Transpose(Dense(np.array([[1.0, 2.0], [3.0, 4.0]]))) @ np.array([1.0, 0.0])).tolist()
    [1.0, 2.0]
    """

    def __init__(self, operator: LinearOperator) -> None:
        self.operator = operator

    @property
    def shape(self) -> tuple[int, int]:
        return (self.operator.shape[1], self.operator.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.operator.dtype

    def matvec(self, x: Any) -> Any:
        return transposed_product(self.operator.matvec, np.zeros(self.operator.shape[1], dtype=self.dtype), x)

    def transpose(self) -> LinearOperator:
        return self.operator

    def diag(self) -> Any:
        return self.operator.diag()

    def logdet(self) -> Any:
        return self.operator.logdet()


def transposed_product(f: Callable[[Any], Any], at: Any, x: Any) -> Any:
    """Return the transposed Jacobian of f at a point times x, by the pullback, which is the conjugate transpose.

    A real function's pullback is applied to the real and imaginary parts of x in turn.
    """
    _, back = pullback(f, at)
    if np.iscomplexobj(at):
        return np.conj(back(np.conj(x))[0])
    if np.iscomplexobj(x):
        return back(np.real(x))[0] + 1j * back(np.imag(x))[0]
    return back(x)[0]
