"""Linear operators: matrices defined by their product with a vector.

An operator only has to compute ``A @ x``. Sums, products, multiples and transposes of operators are operators again.
All are ordinary Python on arrays, so gradients reach the data of an operator: the matrix of ``Dense``, the diagonal of
``Diagonal``, the parameters of a ``FunctionOperator``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import BadInput


class LinearOperator(ABC):
    """A linear map of ``shape`` (m, n), from vectors of length n to vectors of length m.

    A subclass defines ``matvec``, ``transpose``, ``shape`` and ``dtype``; the other methods follow from these.

    >>> from morula.linalg import Diagonal, Identity
    >>> A = 2.0 * Diagonal(np.array([1.0, 2.0])) + Identity(2)
    >>> (A @ np.ones(2)).tolist(), A.shape, (np.ones(2) @ A).tolist()
    ([3.0, 5.0], (2, 2), [3.0, 5.0])
    """

    # Makes NumPy's @, * and + with an array on the left call the reflected methods below.
    __array_ufunc__ = None

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns, (m, n)."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the entries."""

    @abstractmethod
    def matvec(self, x: Any) -> Any:
        """Return the product with a vector.

        Args:
            x: array of shape (n,).

        Returns:
            Array of shape (m,).

        >>> from morula.linalg import Diagonal
        >>> Diagonal(np.array([1.0, 2.0])).matvec(np.ones(2)).tolist()
        [1.0, 2.0]
        """

    def matmat(self, x: Any) -> Any:
        """Return the products with the columns of an array.

        Args:
            x: array of shape (n, k).

        Returns:
            Array of shape (m, k).

        >>> from morula.linalg import Diagonal
        >>> Diagonal(np.array([1.0, 2.0])).matmat(np.ones((2, 1))).tolist()
        [[1.0], [2.0]]
        """
        if x.shape[1] == 0:
            return np.zeros((self.shape[0], 0), np.result_type(self.dtype, x))
        return np.stack([self.matvec(x[:, j]) for j in range(x.shape[1])], axis=1)

    @abstractmethod
    def transpose(self) -> LinearOperator:
        """Return the transpose, without conjugation.

        >>> from morula.linalg import Dense
        >>> Dense(np.array([[1.0, 2.0]])).transpose().shape
        (2, 1)
        """

    def adjoint(self) -> LinearOperator:
        """Return the conjugate transpose.

        >>> from morula.linalg import Dense
        >>> Dense(np.array([[1j, 2.0]])).adjoint().todense().tolist()
        [[-1j], [(2-0j)]]
        """
        return self.transpose() if self.dtype.kind != "c" else Conjugate(self.transpose())

    @property
    def T(self) -> LinearOperator:
        """The transpose, without conjugation."""
        return self.transpose()

    @property
    def H(self) -> LinearOperator:
        """The conjugate transpose."""
        return self.adjoint()

    def diag(self) -> Any:
        """Return the main diagonal; where the structure does not hold it, from n products.

        >>> from morula.linalg import Diagonal
        >>> (2.0 * Diagonal(np.array([1.0, 2.0]))).diag().tolist()
        [2.0, 4.0]
        """
        return np.diagonal(self.todense())

    def trace(self) -> Any:
        """Return the sum of the main diagonal; ``morula.linalg.functions`` estimates that of large operators without structure.

        >>> from morula.linalg import Identity
        >>> (2.0 * Identity(3)).trace()
        np.float64(6.0)
        """
        return np.sum(self.diag())

    @property
    def is_solvable(self) -> bool:
        """Whether ``solve`` knows a direct method for this structure."""
        return False

    def solve(self, b: Any) -> Any:
        """Return x with A x = b by a direct method for this structure.

        Args:
            b: right-hand side (n,), or several as the columns of (n, k).

        Raises:
            BadInput: no direct method is known (``morula.linalg.solve`` chooses an iterative one), or the shapes do not
                match.
            MorulaError, LinAlgError: the operator is singular.

        >>> from morula.linalg import Diagonal
        >>> (2.0 * Diagonal(np.array([1.0, 2.0]))).solve(np.ones(2)).tolist()
        [0.5, 0.25]
        """
        raise BadInput(f"no direct solve is known for a {type(self).__name__}: use morula.linalg.solve or gmres")

    def solve_positive_definite(self, b: Any) -> Any:
        """Return x with A x = b like ``solve``, for an operator that is known to be Hermitian positive definite.

        ``Dense`` uses Cholesky's factorisation, which reads the lower triangle; ``Sparse`` lets SuperLU choose pivots on the
        diagonal, in an ordering for symmetric patterns; other structures do what ``solve`` does.

        Args:
            b: right-hand side (n,), or several as the columns of (n, k).

        Raises:
            BadInput: no direct method is known, or the shapes do not match.
            MorulaError, LinAlgError: the operator is found not to be positive definite.

        >>> from morula.linalg import Dense
        >>> Dense(np.array([[4.0, 2.0], [2.0, 5.0]])).solve_positive_definite(np.array([8.0, 12.0])).round(9).tolist()
        [1.0, 2.0]
        """
        return self.solve(b)

    def approximate_inverse(self) -> LinearOperator | None:
        """Return a preconditioner that the structure suggests, or None; ``morula.linalg.solve`` uses it.

        >>> from morula.linalg import Toeplitz
        >>> Toeplitz(np.array([2.0, 1.0, 0.0])).approximate_inverse()
        <Circulant 3 x 3 float64>
        """
        return None

    def logdet(self) -> Any:
        """Return the logarithm of the absolute value of the determinant.

        Where the structure has no formula, that of the dense matrix is computed, with n products and an LU factorisation;
        ``morula.linalg.functions.logdet`` estimates it for large Hermitian operators.

        Raises:
            BadInput: the operator is not square.

        >>> from morula.linalg import Diagonal
        >>> Diagonal(np.array([1.0, 1.0])).logdet()
        np.float64(0.0)
        """
        if self.shape[0] != self.shape[1]:
            raise BadInput(f"logdet: {type(self).__name__} of shape {self.shape}, expected a square operator")
        return np.linalg.slogdet(self.todense())[1]

    def todense(self) -> Any:
        """Return the matrix (m, n), computed with n products: for small operators and debugging.

        >>> from morula.linalg import Identity
        >>> (2.0 * Identity(2)).todense().tolist()
        [[2.0, 0.0], [0.0, 2.0]]
        """
        return self.matmat(np.eye(self.shape[1], dtype=self.dtype))

    def __matmul__(self, x: Any) -> Any:
        """Return the product with a vector (n,), with the columns of an array (n, k), or with another operator.

        Raises:
            BadInput: the shapes do not match.
        """
        if isinstance(x, LinearOperator):
            return Product(self, x)
        shape = np.shape(x)
        if len(shape) not in (1, 2) or shape[0] != self.shape[1]:
            raise BadInput(
                f"{type(self).__name__} of shape {self.shape} @ array of shape {shape}:"
                f" expected ({self.shape[1]},) or ({self.shape[1]}, k)"
            )
        return self.matvec(x) if len(shape) == 1 else self.matmat(x)

    def __rmatmul__(self, x: Any) -> Any:
        """Return the product of a row vector (m,), or of the rows of an array (k, m), with the operator.

        Raises:
            BadInput: the shapes do not match.
        """
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


class Conjugate(LinearOperator):
    """The complex conjugate of an operator, entry by entry.

    Args:
        operator: of shape (m, n).

    >>> from morula.linalg import Diagonal
    >>> Conjugate(Diagonal(np.array([1.0 + 2.0j]))).todense().tolist()
    [[(1-2j)]]
    """

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

    def matmat(self, x: Any) -> Any:
        return np.conj(self.operator.matmat(np.conj(x)))

    def transpose(self) -> LinearOperator:
        return Conjugate(self.operator.T)

    def diag(self) -> Any:
        return np.conj(self.operator.diag())

    @property
    def is_solvable(self) -> bool:
        return self.operator.is_solvable

    def solve(self, b: Any) -> Any:
        return np.conj(self.operator.solve(np.conj(b)))

    def logdet(self) -> Any:
        return self.operator.logdet()


class Sum(LinearOperator):
    """The sum of two operators; ``left + right`` makes it.

    Args:
        left, right: operators of one shape.

    Raises:
        BadInput: the shapes differ.

    >>> from morula.linalg import Identity
    >>> (Sum(Identity(1), Identity(1)) @ np.ones(1)).tolist()
    [2.0]
    """

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

    def matmat(self, x: Any) -> Any:
        return self.left.matmat(x) + self.right.matmat(x)

    def transpose(self) -> LinearOperator:
        return Sum(self.left.T, self.right.T)

    def diag(self) -> Any:
        return self.left.diag() + self.right.diag()


class Product(LinearOperator):
    """The matrix product of two operators; ``left @ right`` makes it.

    Args:
        left, right: operators of shapes (m, k) and (k, n).

    Raises:
        BadInput: ``left`` does not have as many columns as ``right`` has rows.

    >>> from morula.linalg import Diagonal
    >>> (Product(Diagonal(np.array([2.0])), Diagonal(np.array([3.0]))) @ np.ones(1)).tolist()
    [6.0]
    """

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

    def matmat(self, x: Any) -> Any:
        return self.left.matmat(self.right.matmat(x))

    def transpose(self) -> LinearOperator:
        return Product(self.right.T, self.left.T)

    @property
    def is_solvable(self) -> bool:
        return self.left.is_solvable and self.right.is_solvable

    def solve(self, b: Any) -> Any:
        return self.right.solve(self.left.solve(b))

    def logdet(self) -> Any:
        if self.left.shape[0] != self.left.shape[1]:
            return super().logdet()
        return self.left.logdet() + self.right.logdet()


class Scaled(LinearOperator):
    """An operator times a number; ``factor * operator`` makes it.

    Args:
        factor: a real or complex number.
        operator: of shape (m, n).

    >>> from morula.linalg import Identity
    >>> (Scaled(3.0, Identity(1)) @ np.ones(1)).tolist()
    [3.0]
    """

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

    def matmat(self, x: Any) -> Any:
        return self.factor * self.operator.matmat(x)

    def transpose(self) -> LinearOperator:
        return Scaled(self.factor, self.operator.T)

    def diag(self) -> Any:
        return self.factor * self.operator.diag()

    @property
    def is_solvable(self) -> bool:
        return self.operator.is_solvable

    def solve(self, b: Any) -> Any:
        return self.operator.solve(b) / self.factor

    def logdet(self) -> Any:
        return self.shape[0] * np.log(np.abs(self.factor)) + self.operator.logdet()


CONVERSIONS: list[tuple[Any, Callable[[Any], LinearOperator]]] = []
"""Types that are accepted where an operator is expected, and the function that makes one of them."""


def as_operator(A: Any, name: str = "A") -> LinearOperator:
    """Return ``A`` if it is an operator, else the operator of the matrix ``A``.

    Args:
        A: linear operator; array or list of shape (m, n); sparse array or matrix of ``scipy.sparse``; SciPy's
            ``LinearOperator``.
        name: what error messages call it.

    Returns:
        A ``LinearOperator`` of shape (m, n).

    Raises:
        BadInput: ``A`` is none of these.

    >>> from scipy.sparse import csr_array
    >>> as_operator([[1.0, 2.0]]), as_operator(csr_array([[1.0, 2.0]]))
    (<Dense 1 x 2 float64>, <Sparse 1 x 2 float64>)
    """
    if isinstance(A, LinearOperator):
        return A
    for kinds, make in CONVERSIONS:
        if isinstance(A, kinds) and np.ndim(A) == 2:
            return make(A)
    what = f"an array of shape {np.shape(A)}" if isinstance(A, np.ndarray) else f"a {type(A).__name__}"
    remedy = "; wrap a function as FunctionOperator(function, (m, n))" if callable(A) else ""
    raise BadInput(f"{name} is {what}, expected a linear operator or a matrix (m, n){remedy}")


def columns_times(vector: Any, x: Any) -> Any:
    """Return the vector times x, or times each column of x."""
    return vector * x if np.ndim(x) == 1 else vector[:, None] * x


def check_right_hand_side(A: LinearOperator, b: Any) -> None:
    """Raise BadInput unless A is square and b has as many rows."""
    if A.shape[0] != A.shape[1]:
        raise BadInput(f"solve: {type(A).__name__} of shape {A.shape}, expected a square operator")
    if np.ndim(b) not in (1, 2) or np.shape(b)[0] != A.shape[0]:
        raise BadInput(
            f"solve: b has shape {np.shape(b)}, expected ({A.shape[0]},) or ({A.shape[0]}, k) for A of shape {A.shape}"
        )


def inexact(array: Any) -> Any:
    """Return ``array`` with integers and bools converted to float64, since integers have no derivative."""
    if isinstance(array, np.ndarray) and array.dtype.kind in "fc":
        return array
    array = np.asarray(array)
    return array.astype(np.float64) if array.dtype.kind in "iub" else array
