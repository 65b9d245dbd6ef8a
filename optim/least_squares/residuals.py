"""The residuals of a fit as a vector, and their Jacobian."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import scipy.sparse

from ...core import BadInput, jacobian, lowering, sparse_jacobian
from ..flatten import Vector
from ..problem import Problem

COLUMNS = 4
"""Up to this number of unknowns the Jacobian is computed by columns in forward mode, which records nothing."""


SPARSE = "sparse"
"""The value of ``jacobian`` that asks for a sparse matrix."""


class Residuals(Problem):
    """``r(x, *args)`` and its derivative at a vector; the derivative comes from the source of r unless it is given."""

    may_be_sparse = True
    """Whether the solver takes a sparse Jacobian."""

    def __init__(
        self,
        r: Callable[..., Any],
        x0: Any,
        args: tuple[Any, ...],
        given: Any = None,
        solver: str = "least_squares",
        role: str = "r",
    ) -> None:
        super().__init__(solver, r, x0, args, role)
        self.role = role
        self.is_sparse = self.may_be_sparse and isinstance(given, str)
        if self.is_sparse and given != SPARSE:
            raise BadInput(f"{solver}: jacobian is {given!r}, expected a function of x0, 'sparse' or None")
        self.given_jacobian = None if self.is_sparse else self.given(given, "jacobian")
        with np.errstate(all="ignore"):  # the search says what is wrong at x0
            first = r(self.layout.structure(self.layout.vector(self.layout.start)), *args)
        self.count = len(self.flat(first))
        self.shape = np.shape(first)
        """The number of residuals, and the shape in which r returns them."""

    def __call__(self, x: Vector) -> Vector:
        """Return the residuals as a vector (m,); they may be NaN or Inf, which a search handles."""
        residual = self.function(self.layout.structure(x), *self.args)
        if np.shape(residual) != self.shape:
            raise BadInput(f"{self.solver}: {self.role} returned shape {np.shape(residual)}, and {self.shape} at first")
        return self.flat(residual)

    def flat(self, residual: Any) -> Vector:
        """Return what r has returned as a vector of real numbers."""
        if not isinstance(residual, (np.ndarray, np.generic, float, int)) or np.iscomplexobj(residual):
            kind = "complex numbers" if np.iscomplexobj(residual) else f"a {type(residual).__name__}"
            raise BadInput(
                f"{self.solver}: {self.role} returned {kind}, expected an array of real residuals (np.array, np.stack)"
            )
        if np.size(residual) == 0:
            raise BadInput(f"{self.solver}: {self.role} returned an empty array, expected at least one residual")
        return np.asarray(residual).astype(np.float64).reshape(-1)

    def jacobian(self, x: Vector, m: int) -> Any:
        """Return the derivative of the m residuals, (m, n): an array, or a matrix of ``scipy.sparse`` in CSR format."""
        n = self.layout.size
        if self.is_sparse:
            return derived_sparse(self, x)
        if self.given_jacobian is None:
            mode = "forward" if n <= COLUMNS or n <= m // 100 else "auto"
            return jacobian(self._of_vector, mode=mode)(x).reshape(m, n)
        given = self.given_jacobian(self.layout.structure(x), *self.args)
        is_sparse = scipy.sparse.issparse(given)
        slopes = given if is_sparse else np.asarray(given)
        if is_sparse and not self.may_be_sparse:
            raise BadInput(f"{self.solver}: the Jacobian is a sparse matrix, expected an array; return its toarray()")
        if is_sparse and slopes.shape == (m, n) and slopes.dtype.kind in "iuf":
            return given_sparse(self, slopes)
        if is_sparse or np.size(slopes) != m * n or np.iscomplexobj(slopes):
            raise BadInput(
                f"{self.solver}: the Jacobian has shape {slopes.shape} and dtype {slopes.dtype}, expected"
                f" real numbers for {m} residuals by {n} unknowns"
            )
        return slopes.astype(np.float64).reshape(m, n)

    @cached_property
    def sparse_jacobian(self) -> Callable[[Vector], Any]:
        """The function that keeps pattern and colouring for all points."""
        return sparse_jacobian(self._of_vector)

    def _of_vector(self, x: Vector) -> Any:
        return self.function(self.layout.structure(x), *self.args)


def derived_sparse(problem: Residuals, x: Vector) -> Any:
    """Return the Jacobian as a sparse matrix."""
    return problem.sparse_jacobian(x)


def given_sparse(problem: Residuals, slopes: Any) -> Any:
    """Return the sparse matrix that the user's function has returned in CSR format."""
    return scipy.sparse.csr_array(slopes).astype(np.float64)


def _refuse(problem: Residuals, *_: Any) -> NoReturn:
    raise BadInput(
        f"{problem.solver}: a sparse Jacobian cannot be part of a compiled program; leave `jacobian` out there, or call"
        f" {problem.solver} outside of the compiled function, or through mo.callback"
    )


for _target in ("native", "xla"):
    lowering(derived_sparse, _target)(_refuse)
    lowering(given_sparse, _target)(_refuse)
