"""The Jacobian of f in the forms that implicit methods use, and the linear systems with it.

A form has the matrix's structure: ``DenseJacobian`` and ``BandedJacobian`` are found by forward mode, ``GivenJacobian`` is
the user's. ``SparseJacobian`` has a pattern, and ``KrylovJacobian`` only products with J. Each has ``entries(rhs, t, y)``, the
numbers of J in an array of its own kind, and from these

    factors(rhs, entries, shift, is_transposed, mass)       arrays, with which ``solved`` solves (shift M - J) x = b, or
                                                            (shift M^T - J^T) x = b, any number of times
    solver(rhs, entries, shift, is_transposed, mass)        the function that solves it
    coupled(rhs, entries, mixing, is_transposed, mass)      of sum_j mixing_ij M x_j - J_i x_i = b_i, or with M^T and J_i^T

where ``mixing`` is (s, s), the entries of the last are those of s Jacobians (s, ...), and x and b are (s, n). ``mass`` is the
diagonal of M (n,), all of it (n, n), or None for the unit matrix. All are differentiable like the rest of a step. A shift may
be complex.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve, solve_banded

from ..core import BadInput, jacfwd, jvp, pullback

VectorField = Callable[[float, NDArray[Any]], NDArray[Any]]
Solver = Callable[[NDArray[Any]], NDArray[Any]]

SMALL = 16
"""Up to this many components, the inverse is formed: its products need no call of LAPACK."""
PIVOTS = lu_factor(np.eye(1))[1].dtype


class Form:
    """What the forms share."""

    def blank(self, n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an array like ``entries`` of n components."""
        raise NotImplementedError

    def unfactored(self, n: int, dtype: np.dtype[Any]) -> tuple[NDArray[Any], ...]:
        """Return arrays like ``factors`` of a matrix of a dtype; without others, the factors are the entries and the shift."""
        return self.blank(n, np.dtype(dtype.type(0).real.dtype)), np.zeros(1, dtype)

    def factors(
        self, rhs: VectorField, entries: NDArray[Any], shift: Any, is_transposed: bool, mass: Any = None
    ) -> tuple[NDArray[Any], ...]:
        return entries, np.reshape(shift, 1)

    def solved(
        self,
        rhs: VectorField,
        factors: tuple[NDArray[Any], ...],
        b: NDArray[Any],
        is_transposed: bool,
        mass: Any = None,
    ) -> NDArray[Any]:
        """Return the solution with ``factors`` of the same matrix."""
        return self.coupled(rhs, factors[0][None], factors[1][:, None], is_transposed, mass)(b[None])[0]

    def solver(
        self, rhs: VectorField, entries: NDArray[Any], shift: Any, is_transposed: bool, mass: Any = None
    ) -> Solver:
        factors = self.factors(rhs, entries, shift, is_transposed, mass)
        return lambda b: self.solved(rhs, factors, b, is_transposed, mass)

    def coupled(
        self, rhs: VectorField, entries: NDArray[Any], mixing: NDArray[Any], is_transposed: bool, mass: Any = None
    ) -> Solver:
        raise NotImplementedError


class DenseJacobian(Form):
    """The Jacobian by forward mode, one run of f for each component."""

    def blank(self, n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        return np.zeros((n, n), dtype)

    def unfactored(self, n: int, dtype: np.dtype[Any]) -> tuple[NDArray[Any], ...]:
        matrix = np.zeros((n, n), dtype)
        return (matrix,) if n <= SMALL else (matrix, np.zeros(n, PIVOTS))

    def entries(self, rhs: VectorField, t: float, y: NDArray[Any]) -> NDArray[Any]:
        """Return J (n, n)."""
        return jacfwd(lambda y: rhs(t, y))(y)

    def factors(
        self, rhs: VectorField, entries: NDArray[Any], shift: Any, is_transposed: bool, mass: Any = None
    ) -> tuple[NDArray[Any], ...]:
        n = len(entries)
        matrix = shift * _full(mass, n, entries.dtype) - entries
        if is_transposed:
            matrix = matrix.T
        return (np.linalg.inv(matrix),) if n <= SMALL else lu_factor(matrix, check_finite=False)

    def solved(
        self,
        rhs: VectorField,
        factors: tuple[NDArray[Any], ...],
        b: NDArray[Any],
        is_transposed: bool,
        mass: Any = None,
    ) -> NDArray[Any]:
        if len(factors) == 1:
            return np.dot(factors[0], b)
        return lu_solve((factors[0], factors[1]), b, check_finite=False)

    def coupled(
        self, rhs: VectorField, entries: NDArray[Any], mixing: NDArray[Any], is_transposed: bool, mass: Any = None
    ) -> Solver:
        s, n = entries.shape[:2]
        M = _full(mass, n, entries.dtype)
        blocks = mixing[:, None, :, None] * (M.T if is_transposed else M)[None, :, None, :]
        for i in range(s):
            blocks[i, :, i, :] -= entries[i].T if is_transposed else entries[i]
        matrix = blocks.reshape(s * n, s * n)
        return lambda b: np.linalg.solve(matrix, b.reshape(-1)).reshape(b.shape)


class GivenJacobian(DenseJacobian):
    """The user's function of the Jacobian.

    function: ``function(t, y, *args)`` returns (n, n) for a state that is a vector (n,). args: of the user's f. mass: M, its diagonal
    (n,) or all of it, to have M^-1 J for the equation y' = M^-1 f; None for J.
    """

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], mass: Any = None) -> None:
        self.function, self.args, self.mass = function, args, mass

    def entries(self, rhs: VectorField, t: float, y: NDArray[Any]) -> NDArray[Any]:
        found = np.asarray(self.function(t, y, *self.args))
        if found.shape != (len(y), len(y)):
            raise BadInput(
                f"jacobian returned shape {found.shape}; the state has {len(y)} components: expected {(len(y),) * 2}"
            )
        found = found.astype(y.dtype)
        if self.mass is None:
            return found
        return found / self.mass[:, None] if self.mass.ndim == 1 else np.linalg.solve(self.mass, found)


class BandedJacobian(Form):
    """A Jacobian with few diagonals, by lower + upper + 1 runs of f: columns that share no row are found in one.

    lower, upper: the numbers of diagonals below and above the main one.

    Source: A. R. Curtis, M. J. D. Powell, J. K. Reid, On the estimation of sparse Jacobian matrices, IMA J. Appl. Math.
    13 (1974) 117.
    """

    def __init__(self, lower: int, upper: int) -> None:
        self.lower, self.upper = lower, upper

    def entries(self, rhs: VectorField, t: float, y: NDArray[Any]) -> NDArray[Any]:
        """Return the sums of columns that are lower + upper + 1 apart, (n, lower + upper + 1)."""
        groups = self.lower + self.upper + 1
        seeds = (np.arange(len(y)) % groups == np.arange(groups)[:, None]).astype(y.dtype)
        return jacfwd(lambda e: rhs(t, y + np.dot(e, seeds)))(np.zeros(groups, y.dtype))

    def bands(self, entries: NDArray[Any], is_transposed: bool) -> NDArray[Any]:
        """Return the diagonals of J or J^T in the form of ``scipy.linalg.solve_banded``, (lower + upper + 1, n)."""
        n, groups = len(entries), self.lower + self.upper + 1
        here = np.arange(n)
        if is_transposed:
            there = here + np.arange(-self.lower, self.upper + 1)[:, None]
            rows, columns = np.broadcast_to(here, there.shape), there
        else:
            there = here + np.arange(-self.upper, self.lower + 1)[:, None]
            rows, columns = there, np.broadcast_to(here, there.shape)
        return np.where((there >= 0) & (there < n), entries[np.clip(rows, 0, n - 1), columns % groups], 0.0)

    def blank(self, n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        return np.zeros((n, self.lower + self.upper + 1), dtype)

    def unfactored(self, n: int, dtype: np.dtype[Any]) -> tuple[NDArray[Any], ...]:
        return (np.zeros((self.lower + self.upper + 1, n), dtype),)

    def factors(
        self, rhs: VectorField, entries: NDArray[Any], shift: Any, is_transposed: bool, mass: Any = None
    ) -> tuple[NDArray[Any], ...]:
        below, above = (self.upper, self.lower) if is_transposed else (self.lower, self.upper)
        diagonal = (np.arange(below + above + 1) == above).astype(entries.dtype)
        return ((shift * diagonal)[:, None] * (1.0 if mass is None else mass) - self.bands(entries, is_transposed),)

    def solved(
        self,
        rhs: VectorField,
        factors: tuple[NDArray[Any], ...],
        b: NDArray[Any],
        is_transposed: bool,
        mass: Any = None,
    ) -> NDArray[Any]:
        below, above = (self.upper, self.lower) if is_transposed else (self.lower, self.upper)
        return solve_banded((below, above), factors[0], b, check_finite=False)

    def coupled(
        self, rhs: VectorField, entries: NDArray[Any], mixing: NDArray[Any], is_transposed: bool, mass: Any = None
    ) -> Solver:
        """The unknowns are taken component by component, which keeps the matrix banded."""
        s, n = entries.shape[:2]
        below, above = (self.upper, self.lower) if is_transposed else (self.lower, self.upper)
        wide = above * s + s - 1
        bands = np.zeros(((below + above) * s + 2 * s - 1, n, s))
        for j in range(s):
            for i in range(s):
                bands[wide + i - j, :, j] += mixing[i, j] * (1.0 if mass is None else mass)
            own = self.bands(entries[j], is_transposed)
            for k in range(below + above + 1):
                bands[wide + (k - above) * s, :, j] -= own[k]
        flat = bands.reshape(-1, n * s)
        widths = (below * s + s - 1, wide)
        return lambda b: solve_banded(widths, flat, b.T.reshape(-1), check_finite=False).reshape(n, s).T


class SparseJacobian(Form):
    """A Jacobian with a pattern of entries that may differ from zero, found in few runs of f, solved by SuperLU.

    Columns without a common row are found in one run of forward mode.

    Args:
        pattern: a matrix of ``scipy.sparse`` (n, n), whose stored entries are the pattern, such as
            ``mo.sparse_jacobian(f).pattern(y)``.

    Raises:
        BadInput: ``pattern`` is not a square matrix of ``scipy.sparse``.

    Source: A. R. Curtis, M. J. D. Powell, J. K. Reid, On the estimation of sparse Jacobian matrices, IMA J. Appl. Math.
    13 (1974) 117.

    >>> import scipy.sparse
    >>> SparseJacobian(scipy.sparse.diags_array([np.ones(4), np.ones(5), np.ones(4)], offsets=[-1, 0, 1])).groups
    3
    """

    def __init__(self, pattern: Any) -> None:
        if not scipy.sparse.issparse(pattern) or len(pattern.shape) != 2 or pattern.shape[0] != pattern.shape[1]:
            raise BadInput(
                f"the pattern of a sparse Jacobian has shape {np.shape(pattern)}; expected a square matrix of scipy.sparse, such as "
                "mo.sparse_jacobian(f).pattern(y)"
            )
        from ..linalg import Sparse  # here, since its import takes as long as that of all the rest

        self.operator = Sparse
        self.size = pattern.shape[0]
        known = scipy.sparse.csc_array((np.ones(pattern.nnz), pattern.tocoo().coords), pattern.shape)
        known.sum_duplicates()
        self.places = known.indices, np.repeat(np.arange(self.size), np.diff(known.indptr))
        """The rows and columns of the entries."""
        self.colours = _colours(known)
        self.groups = int(self.colours.max(initial=0)) + 1
        self.plans = {1: self._plan(1)}

    def _plan(self, stages: int) -> _Plan:
        """Return where the entries of ``stages`` coupled systems go."""
        n, (rows, columns) = self.size, self.places
        of_each = np.arange(stages)[:, None]
        blocks = np.repeat(np.arange(stages), stages), np.tile(np.arange(stages), stages)
        all_rows = np.concatenate([(of_each * n + rows).ravel(), np.add.outer(blocks[0] * n, np.arange(n)).ravel()])
        all_columns = np.concatenate(
            [(of_each * n + columns).ravel(), np.add.outer(blocks[1] * n, np.arange(n)).ravel()]
        )
        unique, place = np.unique(all_columns * (n * stages) + all_rows, return_inverse=True)
        indptr = np.searchsorted(unique // (n * stages), np.arange(n * stages + 1))
        return _Plan(place, unique % (n * stages), indptr, len(unique))

    def entries(self, rhs: VectorField, t: float, y: NDArray[Any]) -> NDArray[Any]:
        """Return the entries of the pattern, column by column."""
        if len(y) != self.size:
            raise BadInput(f"the pattern of the Jacobian has {self.size} rows; the state has {len(y)} components")
        seeds = (self.colours == np.arange(self.groups)[:, None]).astype(y.dtype)
        compressed = jacfwd(lambda e: rhs(t, y + np.dot(e, seeds)))(np.zeros(self.groups, y.dtype))
        rows, columns = self.places
        return compressed[rows, self.colours[columns]]

    def blank(self, n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        return np.zeros(len(self.places[0]), dtype)

    def coupled(
        self, rhs: VectorField, entries: NDArray[Any], mixing: NDArray[Any], is_transposed: bool, mass: Any = None
    ) -> Solver:
        s, n = len(entries), self.size
        plan = self.plans[s] if s in self.plans else self._plan(s)
        mixed = mixing.T if is_transposed else mixing
        diagonals = mixed.reshape(-1, 1) * (np.ones(n) if mass is None else mass)
        values = np.concatenate([-entries.reshape(-1), diagonals.reshape(-1)])
        data = np.zeros(plan.count, values.dtype)
        np.add.at(data, plan.places, values)
        matrix = self.operator(data, plan.indices, plan.indptr, (s * n, s * n), by_columns=True)
        operator = matrix.transpose() if is_transposed else matrix
        return lambda b: operator.solve(b.reshape(-1)).reshape(b.shape)


@dataclass(frozen=True)
class _Plan:
    """Compressed columns, and the place of each number among their entries."""

    places: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    count: int


def _colours(pattern: Any) -> NDArray[Any]:
    """Return a colour for each column, such that columns of one colour have no common row: the first that is free."""
    by_row, by_column = pattern.tocsr(), pattern.tocsc()
    colours = np.full(pattern.shape[1], -1)
    for j in range(pattern.shape[1]):
        rows = by_column.indices[by_column.indptr[j] : by_column.indptr[j + 1]]
        taken = {int(c) for r in rows for c in colours[by_row.indices[by_row.indptr[r] : by_row.indptr[r + 1]]]}
        colour = 0
        while colour in taken:
            colour += 1
        colours[j] = colour
    return colours


class KrylovJacobian(Form):
    """No matrix: the systems are solved by GMRES with products of J and vectors, by forward and reverse mode.

    For large systems whose stiffness comes from few directions, or whose Jacobian has no pattern.

    rtol: the residual relative to the right-hand side. restart: the number of basis vectors.

    >>> KrylovJacobian(rtol=1e-6).restart
    30
    """

    def __init__(self, rtol: float = 1e-9, restart: int = 30) -> None:
        from ..linalg import FunctionOperator, gmres  # here, since its import takes as long as that of all the rest

        self.operator, self.solve = FunctionOperator, gmres
        self.rtol, self.restart = rtol, restart

    def entries(self, rhs: VectorField, t: float, y: NDArray[Any]) -> NDArray[Any]:
        """Return the place of the linearisation: the state, and the time."""
        return np.append(y, t)

    def blank(self, n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        return np.zeros(n + 1, dtype)

    def coupled(
        self, rhs: VectorField, entries: NDArray[Any], mixing: NDArray[Any], is_transposed: bool, mass: Any = None
    ) -> Solver:
        s, n = len(entries), entries.shape[1] - 1

        def multiplied(x: NDArray[Any], matrix: Any, places: NDArray[Any], mass: Any, is_turned: bool) -> NDArray[Any]:
            rows = x.reshape(s, n)
            turned = [_product(rhs, places[i], rows[i], is_turned) for i in range(s)]
            return (_massed(mass, np.dot(matrix, rows), is_turned) - np.stack(turned)).reshape(-1)

        M = np.ones(n, entries.dtype) if mass is None else mass
        A = self.operator(
            lambda x, matrix, places, M: multiplied(x, matrix, places, M, is_transposed),
            (s * n, s * n),
            parameters=(mixing, entries, M),
            transpose=lambda x, matrix, places, M: multiplied(x, matrix.T, places, M, not is_transposed),
        )
        return lambda b: self.solve(A, b.reshape(-1), restart=self.restart, rtol=self.rtol).x.reshape(b.shape)


def _full(mass: Any, n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return M (n, n)."""
    if mass is None:
        return np.eye(n, dtype=dtype)
    return mass[:, None] * np.eye(n, dtype=dtype) if mass.ndim == 1 else mass


def _massed(mass: NDArray[Any], rows: NDArray[Any], is_transposed: bool) -> NDArray[Any]:
    """Return M or M^T times each of the rows (s, n)."""
    return rows * mass if mass.ndim == 1 else np.dot(rows, mass if is_transposed else mass.T)


def _product(rhs: VectorField, place: NDArray[Any], x: NDArray[Any], is_transposed: bool) -> NDArray[Any]:
    """Return J x or J^T x at a place (n + 1,): the state, and the time."""
    t, y = place[-1], place[:-1]
    if is_transposed:
        return pullback(lambda y: rhs(t, y), y)[1](x)[0]
    return jvp(lambda y: rhs(t, y), (y,), (x,))[1]


def jacobian_pattern(pattern: Any) -> SparseJacobian:
    """Return the form of a sparse Jacobian, for the argument ``jacobian`` of ``odesolve``.

    Args:
        pattern: a matrix of ``scipy.sparse`` (n, n), whose stored entries may differ from zero, such as
            ``mo.sparse_jacobian(f).pattern(y)``.

    Raises:
        BadInput: ``pattern`` is not a square matrix of ``scipy.sparse``.

    Source: A. R. Curtis, M. J. D. Powell, J. K. Reid, On the estimation of sparse Jacobian matrices, IMA J. Appl. Math.
    13 (1974) 117.

    >>> jacobian_pattern(scipy.sparse.diags_array([np.ones(4), np.ones(5), np.ones(4)], offsets=[-1, 0, 1])).groups
    3
    """
    return SparseJacobian(pattern)


def krylov_jacobian(rtol: float = 1e-9, restart: int = 30) -> KrylovJacobian:
    """Return the form without a matrix, for the argument ``jacobian`` of ``odesolve``: systems are solved by GMRES.

    Args:
        rtol: the residual relative to the right-hand side.
        restart: the number of basis vectors.

    Source: Y. Saad, M. H. Schultz, GMRES, SIAM J. Sci. Stat. Comput. 7 (1986) 856.

    >>> krylov_jacobian(rtol=1e-6).restart
    30
    """
    return KrylovJacobian(rtol, restart)


def jacobian_of(given: Any, args: tuple[Any, ...], size: int, is_vector: bool) -> Any:
    """Return the form for the argument ``jacobian`` of ``odesolve``."""
    if given is None:
        return DenseJacobian()
    if isinstance(given, (SparseJacobian, KrylovJacobian)):
        return given
    if isinstance(given, str) and given == "krylov":
        return KrylovJacobian()
    if scipy.sparse.issparse(given):
        return SparseJacobian(given)
    if callable(given):
        if not is_vector:
            raise BadInput("jacobian is a function, which needs a state that is a vector (n,); give y0 as a vector")
        return GivenJacobian(given, args)
    if (
        isinstance(given, tuple)
        and len(given) == 2
        and all(isinstance(k, int) and 0 <= k < max(size, 1) for k in given)
    ):
        return BandedJacobian(*given)
    raise BadInput(
        f"jacobian is {given!r}; expected None, a function jacobian(t, y, *args) that returns (n, n), a pattern as a "
        'matrix of scipy.sparse, "krylov", or the numbers of '
        f"diagonals (lower, upper) below and above the main one, each from 0 to {size - 1}"
    )
