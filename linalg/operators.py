"""Linear operators: matrices that are known by what they do to a vector.

``A @ x`` is the one thing an operator must be able to do; sums, products, multiples and transposes of operators are
operators again.  Each is ordinary Python on arrays, so a gradient reaches whatever the operator is made of: the matrix of
``Dense``, the diagonal of ``Diagonal``, the parameters of ``Function``.

>>> laplacian = FunctionOperator(lambda u: 2 * u - np.pad(u[1:], (0, 1)) - np.pad(u[:-1], (1, 0)), (4, 4))
>>> shifted = laplacian + 3 * Identity(4)
>>> (shifted @ np.ones(4)).tolist()
[4.0, 3.0, 3.0, 4.0]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import BadInput, pullback


class LinearOperator(ABC):
    """A linear map from vectors of length n to vectors of length m, of ``shape`` (m, n).

    A subclass gives ``matvec``, ``transpose``, ``shape`` and ``dtype``; all else follows.
    """

    # NumPy's own @, * and + then leave an array on the left to the methods below.
    __array_ufunc__ = None

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The type of its entries."""

    @abstractmethod
    def matvec(self, x: Any) -> Any:
        """The operator applied to a vector of shape (n,)."""

    @abstractmethod
    def transpose(self) -> LinearOperator:
        """The transposed operator, without conjugation."""

    def adjoint(self) -> LinearOperator:
        """The conjugate transpose."""
        return self.transpose() if self.dtype.kind != "c" else Conjugate(self.transpose())

    @property
    def T(self) -> LinearOperator:
        return self.transpose()

    @property
    def H(self) -> LinearOperator:
        return self.adjoint()

    def todense(self) -> Any:
        """The matrix, of shape (m, n), column by column: for small operators and for looking."""
        unit = np.eye(self.shape[1], dtype=self.dtype)
        return np.stack([self.matvec(unit[i]) for i in range(self.shape[1])], axis=1)

    def __matmul__(self, x: Any) -> Any:
        """The operator applied to a vector (n,), to the columns of an array (n, k), or after another operator."""
        if isinstance(x, LinearOperator):
            return Product(self, x)
        shape = np.shape(x)
        if len(shape) not in (1, 2) or shape[0] != self.shape[1]:
            raise BadInput(
                f"{type(self).__name__} of shape {self.shape} @ array of shape {shape}:"
                f" expected ({self.shape[1]},) or ({self.shape[1]}, k)"
            )
        if len(shape) == 1:
            return self.matvec(x)
        return np.stack([self.matvec(x[:, j]) for j in range(shape[1])], axis=1)

    def __rmatmul__(self, x: Any) -> Any:
        """A row vector (m,), or the rows of an array (k, m), times the operator."""
        shape = np.shape(x)
        if len(shape) not in (1, 2) or shape[-1] != self.shape[0]:
            raise BadInput(
                f"array of shape {shape} @ {type(self).__name__} of shape {self.shape}:"
                f" expected ({self.shape[0]},) or (k, {self.shape[0]})"
            )
        return self.T.matvec(x) if len(shape) == 1 else (self.T @ x.T).T

    def __add__(self, other: Any) -> LinearOperator:
        return Sum(self, as_operator(other, "a summand"))

    def __radd__(self, other: Any) -> LinearOperator:
        return Sum(as_operator(other, "a summand"), self)

    def __sub__(self, other: Any) -> LinearOperator:
        return Sum(self, Scaled(-1.0, as_operator(other, "a summand")))

    def __rsub__(self, other: Any) -> LinearOperator:
        return Sum(as_operator(other, "a summand"), Scaled(-1.0, self))

    def __mul__(self, factor: Any) -> LinearOperator:
        if np.ndim(factor) != 0 or isinstance(factor, LinearOperator):
            raise BadInput(f"* scales an operator by a number, given {type(factor).__name__}: use @ for products")
        return Scaled(factor, self)

    __rmul__ = __mul__

    def __truediv__(self, factor: Any) -> LinearOperator:
        return self * (1.0 / factor)

    def __neg__(self) -> LinearOperator:
        return Scaled(-1.0, self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.shape[0]} x {self.shape[1]} {self.dtype}>"


class Dense(LinearOperator):
    """A matrix of shape (m, n) that is there in full.

    >>> (Dense(np.array([[1.0, 2.0], [3.0, 4.0]])).T @ np.array([1.0, 1.0])).tolist()
    [4.0, 6.0]
    """

    def __init__(self, matrix: Any) -> None:
        if np.ndim(matrix) != 2:
            raise BadInput(f"Dense(matrix): the array has shape {np.shape(matrix)}, expected two axes (m, n)")
        self.matrix = _inexact(matrix)

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.matrix.dtype

    def matvec(self, x: Any) -> Any:
        return self.matrix @ x

    def transpose(self) -> LinearOperator:
        return Dense(self.matrix.T)

    def todense(self) -> Any:
        return self.matrix


class Diagonal(LinearOperator):
    """The square operator that multiplies entry by entry with ``diagonal``, of shape (n,).

    >>> (Diagonal(np.array([2.0, 3.0])) @ np.array([1.0, 1.0])).tolist()
    [2.0, 3.0]
    """

    def __init__(self, diagonal: Any) -> None:
        if np.ndim(diagonal) != 1:
            raise BadInput(f"Diagonal(diagonal): the array has shape {np.shape(diagonal)}, expected one axis (n,)")
        self.diagonal = _inexact(diagonal)

    @property
    def shape(self) -> tuple[int, int]:
        return (self.diagonal.shape[0], self.diagonal.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.diagonal.dtype

    def matvec(self, x: Any) -> Any:
        return self.diagonal * x

    def transpose(self) -> LinearOperator:
        return self


class Identity(LinearOperator):
    """The operator that changes nothing, on vectors of length ``size``."""

    def __init__(self, size: int, dtype: Any = np.float64) -> None:
        self._size, self._dtype = size, np.dtype(dtype)

    @property
    def shape(self) -> tuple[int, int]:
        return (self._size, self._size)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    def matvec(self, x: Any) -> Any:
        return x

    def transpose(self) -> LinearOperator:
        return self


class FunctionOperator(LinearOperator):
    """The operator that a linear function computes: ``A @ x == function(x, *parameters)``.

    Args:
        function: takes a vector of shape (n,), and the parameters, and returns one of shape (m,); linear in the vector.
        shape: (m, n).
        parameters: what the operator depends on, in any structure; gradients reach them.
        transpose: the transposed function, of a vector of shape (m,) and the parameters; derived when not given, as the
            pullback of ``function``.
        dtype: of the entries.

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
        return y

    def transpose(self) -> LinearOperator:
        if self.transposed is None:
            return Transpose(self)
        return FunctionOperator(
            self.transposed, (self._shape[1], self._shape[0]), self.parameters, self.function, self._dtype
        )


class Transpose(LinearOperator):
    """The transpose of ``operator``, by the pullback of its ``matvec``."""

    def __init__(self, operator: LinearOperator) -> None:
        self.operator = operator

    @property
    def shape(self) -> tuple[int, int]:
        return (self.operator.shape[1], self.operator.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.operator.dtype

    def matvec(self, x: Any) -> Any:
        # A pullback is the conjugate transpose; a real operator takes real vectors, one part after the other.
        _, back = pullback(self.operator.matvec, np.zeros(self.operator.shape[1], dtype=self.dtype))
        if self.dtype.kind == "c":
            return np.conj(back(np.conj(x))[0])
        if np.iscomplexobj(x):
            return back(np.real(x))[0] + 1j * back(np.imag(x))[0]
        return back(x)[0]

    def transpose(self) -> LinearOperator:
        return self.operator


class Conjugate(LinearOperator):
    """``operator`` with every entry conjugated."""

    def __init__(self, operator: LinearOperator) -> None:
        self.operator = operator

    @property
    def shape(self) -> tuple[int, int]:
        return self.operator.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.operator.dtype

    def matvec(self, x: Any) -> Any:
        return np.conj(self.operator.matvec(np.conj(x)))

    def transpose(self) -> LinearOperator:
        return Conjugate(self.operator.T)


class Sum(LinearOperator):
    """``left + right``."""

    def __init__(self, left: LinearOperator, right: LinearOperator) -> None:
        if left.shape != right.shape:
            raise BadInput(f"operators of shapes {left.shape} and {right.shape} cannot be added: expected equal shapes")
        self.left, self.right = left, right

    @property
    def shape(self) -> tuple[int, int]:
        return self.left.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(self.left.dtype, self.right.dtype)

    def matvec(self, x: Any) -> Any:
        return self.left.matvec(x) + self.right.matvec(x)

    def transpose(self) -> LinearOperator:
        return Sum(self.left.T, self.right.T)


class Product(LinearOperator):
    """``left`` after ``right``."""

    def __init__(self, left: LinearOperator, right: LinearOperator) -> None:
        if left.shape[1] != right.shape[0]:
            raise BadInput(
                f"operators of shapes {left.shape} and {right.shape} cannot be multiplied:"
                " expected as many columns on the left as rows on the right"
            )
        self.left, self.right = left, right

    @property
    def shape(self) -> tuple[int, int]:
        return (self.left.shape[0], self.right.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(self.left.dtype, self.right.dtype)

    def matvec(self, x: Any) -> Any:
        return self.left.matvec(self.right.matvec(x))

    def transpose(self) -> LinearOperator:
        return Product(self.right.T, self.left.T)


class Scaled(LinearOperator):
    """``factor`` times ``operator``."""

    def __init__(self, factor: Any, operator: LinearOperator) -> None:
        self.factor, self.operator = factor, operator

    @property
    def shape(self) -> tuple[int, int]:
        return self.operator.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(self.operator.dtype, self.factor)

    def matvec(self, x: Any) -> Any:
        return self.factor * self.operator.matvec(x)

    def transpose(self) -> LinearOperator:
        return Scaled(self.factor, self.operator.T)


def as_operator(A: Any, name: str = "A") -> LinearOperator:
    """``A`` if it is an operator, ``Dense(A)`` if it is a matrix.

    Raises:
        BadInput: for anything else.
    """
    if isinstance(A, LinearOperator):
        return A
    if isinstance(A, (np.ndarray, list)) and np.ndim(A) == 2:
        return Dense(np.asarray(A))
    what = f"an array of shape {np.shape(A)}" if isinstance(A, np.ndarray) else f"a {type(A).__name__}"
    remedy = "; wrap a function as FunctionOperator(function, (m, n))" if callable(A) else ""
    raise BadInput(f"{name} is {what}, expected a linear operator or a matrix (m, n){remedy}")


def _inexact(array: Any) -> Any:
    """``array`` with integers and bools promoted to float64, so that it has a derivative."""
    if isinstance(array, np.ndarray) and array.dtype.kind in "fc":
        return array
    array = np.asarray(array)
    return array.astype(np.float64) if array.dtype.kind in "iub" else array
