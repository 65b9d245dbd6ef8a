"""``scipy.sparse`` unmodified: matrices with differentiated entries, and linear systems with them."""

from __future__ import annotations

import types

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sl
from path_tester import run_on

import morula as mo
from morula.core.rules import sparse_equations
from morula.testing import check_gradients

DATA = np.array([1.1, 2.3, 2.9, 4.2, 5.3])  # no entry cancels another: what is zero is dropped
INDICES, INDPTR = np.array([0, 2, 1, 0, 2]), np.array([0, 2, 3, 5])
UNSORTED = np.array([2, 0, 1, 2, 0])
TWICE = ([0, 1, 1, 2, 1], [0, 1, 2, 0, 1])
X = np.array([0.5, -1.0, 2.0])
W = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]])


def rows(d, make=sp.csr_array):
    return make((d, INDICES.copy(), INDPTR.copy()), shape=(3, 3))


def triplets(d):
    return sp.coo_array((d, TWICE), shape=(3, 3))


def regular(d):
    return (rows(d) + 3 * sp.eye_array(3)).tocsc()


def definite(d):
    return rows(d) @ rows(d).T + 3 * sp.eye_array(3)


PRODUCTS = {
    "csr": lambda d, x: rows(d) @ x,
    "csr transposed": lambda d, x: rows(d).T @ x,
    "from the left": lambda d, x: x @ rows(d),
    "csc": lambda d, x: rows(d).tocsc() @ x,
    "coo": lambda d, x: triplets(d) @ x,
    "dia": lambda d, x: sp.diags_array([d[:3], d[3:]], offsets=[0, 1]) @ x,
    "bsr": lambda d, x: sp.bsr_array(np.kron(np.eye(2), np.outer(d[:2], d[2:4]))[:, :3], blocksize=(2, 1)) @ x,
    "lil": lambda d, x: rows(d).tolil().tocsr() @ x,
    "dok": lambda d, x: rows(d).todok().tocsr() @ x,
    "matrix": lambda d, x: rows(d, sp.csr_matrix) * x,
    "dot": lambda d, x: rows(d).dot(x),
    "operator": lambda d, x: sl.aslinearoperator(rows(d)).matvec(x) if x.ndim == 1 else rows(d) @ x,
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("shape", [(3,), (3, 2)], ids=str)
def test_products_with_vectors(name, shape):
    if name == "from the left" and len(shape) == 2:
        x = np.ones((2, 3)) * X
    else:
        x = np.reshape(np.resize(X, (2, 3)).T, (3, 2))[..., 0] if len(shape) == 1 else np.resize(X, shape)
    check_gradients(PRODUCTS[name], DATA, x, order=1)


def test_products_of_complex_numbers():
    check_gradients(lambda d, x: np.abs(rows(d * (1 + 2j)) @ x) ** 2, DATA, X + 1j, order=1)
    check_gradients(lambda d, x: rows(d) @ x, DATA - 0.5j, X[:, None] + 1j, order=1)


def test_second_derivatives():
    check_gradients(lambda d, x: rows(d) @ (rows(d).T @ x), DATA, X, order=2)


MATRICES = {
    "csr": lambda d: rows(d),
    "csc": lambda d: rows(d).tocsc(),
    "coo": lambda d: triplets(d),
    "triplets in rows": lambda d: triplets(d).tocsr(),
    "from a dense one": lambda d: sp.csr_array(np.outer(d[:3], d[2:])),
    "diagonals": lambda d: sp.diags_array([d[:3], d[3:]], offsets=[0, -1]),
    "diagonals in rows": lambda d: sp.diags_array([d[:3], d[3:]], offsets=[0, -1]).tocsr(),
    "sum": lambda d: rows(d) + rows(d).T,
    "difference": lambda d: rows(d) - 2 * rows(d).T,
    "scaled": lambda d: -(d[0] * rows(d) * d[1] / d[2]),
    "with the identity": lambda d: rows(d) + d[0] * sp.eye_array(3),
    "entry by entry": lambda d: rows(d).multiply(rows(d).T),
    "with dense": lambda d: rows(d).multiply(np.outer(d[:3], d[2:])),
    "columns scaled": lambda d: rows(d).multiply(d[:3]),
    "product": lambda d: rows(d) @ rows(d).T,
    "power": lambda d: rows(d).power(2),
    "matrix power": lambda d: rows(d, sp.csr_matrix) ** 3,
    "root": lambda d: abs(rows(d)).sqrt(),
    "one row": lambda d: rows(d)[[2]],
    "rows in order": lambda d: rows(d)[[2, 0, 2]],
    "columns in order": lambda d: rows(d)[:, [2, 0]],
    "slices": lambda d: rows(d)[0:2, 1:],
    "strided": lambda d: rows(d)[::2],
    "stacked": lambda d: sp.vstack([rows(d), 2 * rows(d)], format="csr"),
    "side by side": lambda d: sp.hstack([rows(d).tocsc(), 2 * rows(d).tocsc()]),
    "blocks": lambda d: sp.block_array([[rows(d), None], [None, 2 * rows(d)]]),
    "kron": lambda d: sp.kron(rows(d), rows(d)),
    "lower triangle": lambda d: sp.tril(rows(d)),
    "larger": lambda d: rows(d).maximum(rows(d).T + 0.1 * rows(d)),
    "smaller": lambda d: rows(d, sp.csr_matrix).minimum(rows(d).T),
    "divided": lambda d: rows(d) / np.outer(d[:3], d[2:]),
    "sum of blocks": lambda d: blocks(d) + blocks(d * d).T,
    "product of blocks": lambda d: blocks(d) @ blocks(d * d).T,
    "blocks, entry by entry": lambda d: blocks(d).multiply(blocks(d * d)),
    "rows to blocks": lambda d: sp.csr_array((d[:4], [0, 0, 1, 3], [0, 3, 4]), shape=(2, 4)).tobsr((2, 2)),
    "product of diagonals": lambda d: (
        sp.diags_array([d[:3], d[3:]], offsets=[0, 1]) @ sp.diags_array([d[1:4], d[:2]], offsets=[0, -1], shape=(3, 4))
    ),
}


def blocks(d):
    return sp.bsr_array((np.kron(d[:3, None, None], np.outer(d[:2], d[3:])), [0, 1, 0], [0, 2, 3]), shape=(4, 4))


@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name):
    check_gradients(lambda d: MATRICES[name](d).toarray(), DATA, order=1)


WITH_A_ZERO = DATA * [1.0, 1.0, 0.0, 1.0, 1.0]
"""A stored entry is zero: SciPy would drop it from some results, where it has a derivative."""

OF_ZEROS = {
    **{name: MATRICES[name] for name in ("csc", "sum", "entry by entry", "product", "diagonals in rows", "larger")},
    **{name: MATRICES[name] for name in ("rows in order", "sum of blocks", "kron", "product of diagonals")},
    "cancelled": lambda d: rows(d) - rows(d).T + triplets(d).tocsr(),
    "cancelled product": lambda d: rows(d) @ (rows(d).T - triplets(d)),
    "list of lists": lambda d: rows(d).tolil().reshape(9, 1),
    "dict": lambda d: rows(d).todok().tocsc(),
    "stored one by one": lambda d: stored(sp.lil_array((2, 3)), d) + stored(sp.dok_array((2, 3)), d),
}


def stored(a, d):
    a[0, 1], a[1, -1] = d[2], d[0]
    a[np.array([0, 1]), np.array([0, 1])] = d[2:4]
    return a.tocsr()


@pytest.mark.parametrize("name", OF_ZEROS)
def test_zeros_in_a_pattern_have_derivatives(name):
    check_gradients(lambda d: OF_ZEROS[name](d).toarray(), WITH_A_ZERO, order=1)


NUMBERS = {
    "sum": lambda d: rows(d).power(2).sum(),
    "sum of columns": lambda d: rows(d).sum(axis=0) * X,
    "sum of rows": lambda d: rows(d).sum(axis=1) * X,
    "mean": lambda d: rows(d).mean(),
    "diagonal": lambda d: rows(d).diagonal() * X,
    "second diagonal": lambda d: rows(d).diagonal(2),
    "diagonals of blocks": lambda d: blocks(d).diagonal() * blocks(d).diagonal(-1)[0],
    "entry": lambda d: rows(d)[0, 2] * rows(d)[2, 0],
    "entries": lambda d: np.asarray(sp.csr_matrix((d, TWICE))[[0, 2, 1], [0, -3, 1]]),
    "largest": lambda d: rows(d).max(),
    "norm": lambda d: sl.norm(rows(d)),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_from_matrices(name):
    check_gradients(NUMBERS[name], DATA, order=1)


def test_changes_in_place():
    def sort(d):
        a = sp.csr_array((d * 1.0, UNSORTED.copy(), INDPTR), shape=(3, 3))
        before = a.toarray()
        a.sort_indices()
        return before, a.data * X[0]

    def merge(d):
        a = sp.csr_array((d * 1.0, np.array([2, 2, 1, 2, 0]), INDPTR.copy()), shape=(3, 3))
        a.sum_duplicates()
        return a.data * np.arange(1.0, 5.0)

    def drop(d):
        a = rows(d * np.array([1.0, 0.0, 1.0, 1.0, 1.0]))
        a.eliminate_zeros()
        return a.data**2

    def store(d):
        a = rows(d * 1.0)
        a[0, 0] = d[3] ** 2
        b = a.tolil()
        b[0, 1] = d[4]
        return a @ X, b.tocsr() @ X

    for f in (sort, merge, drop, store):
        check_gradients(f, DATA, order=1)


PLACES = np.array([0, 1]), np.array([1, 0])


@pytest.mark.parametrize("form", ["lil", "dok", "csr"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ((slice(1), 1), lambda d: d[3] ** 2),
        (PLACES, lambda d: d[3] ** 2),
        (PLACES, lambda d: d[1:3] * d[3]),
        (np.int64(1), lambda d: d[3] ** 2),
        (1, lambda d: d[:3] * d[3]),
    ],
    ids=["slice", "one value in places", "places", "one value in a row", "row"],
)
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_entries_that_are_set_many_at_once(form, key, value):
    def f(d):
        a = sp.lil_matrix(rows(d)).asformat(form)
        a[key] = value(d)
        return a.toarray() ** 2

    check_gradients(f, DATA, order=1)


SOLVERS = {
    "spsolve": lambda d, b: sl.spsolve(regular(d), b),
    "spsolve by rows": lambda d, b: sl.spsolve(regular(d).tocsr(), b),
    "splu": lambda d, b: sl.splu(regular(d)).solve(b),
    "splu, transposed": lambda d, b: sl.splu(regular(d)).solve(b, "T"),
    "splu, adjoint": lambda d, b: sl.splu(regular(d)).solve(b, "H"),
    "substitution": lambda d, b: sl.spsolve_triangular(sp.tril(regular(d), format="csc"), b),
    "substitution by rows": lambda d, b: sl.spsolve_triangular(sp.triu(regular(d), format="csr"), b, lower=False),
    "substitution, diagonal of ones": lambda d, b: sl.spsolve_triangular(
        sp.tril(rows(d)).tocsr(), b, unit_diagonal=True
    ),
    "factorized": lambda d, b: sl.factorized(regular(d))(b) if b.ndim == 1 else sl.splu(regular(d)).solve(b),
}


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("columns", [0, 2])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_equations(name, columns, kind):
    d, b = (DATA, X) if kind == "real" else (DATA + 0.5j * DATA[::-1], X - 1j)
    b = np.stack([b, 2 * b[::-1]], axis=1) if columns else b
    check_gradients(SOLVERS[name], d, b, order=2 if kind == "real" and name == "splu" and not columns else 1)


def test_factors_made_before_and_values_changed_after():
    constant = sl.splu(regular(DATA))
    check_gradients(lambda b: constant.solve(b), X, order=2)

    def f(d):
        a = regular(d)
        factors = sl.splu(a)
        a.data *= 0
        return factors.solve(X)

    check_gradients(f, DATA, order=1)


def test_sparse_right_sides_inverse_and_exponential():
    check_gradients(lambda d: sl.spsolve(regular(d), rows(d).tocsc()).toarray(), DATA, order=1)
    check_gradients(lambda d: sl.inv(regular(d)).toarray(), DATA, order=1)
    check_gradients(lambda d: sl.expm(0.1 * rows(d).tocsc()).toarray(), DATA, order=1)
    check_gradients(lambda d: sl.expm_multiply(0.1 * rows(d), X), DATA, order=1)


@pytest.mark.parametrize(
    "name", ["cg", "gmres", "bicgstab", "bicg", "cgs", "minres", "qmr", "tfqmr", "lgmres", "gcrotmk"]
)
def test_iterations(name):
    more = {} if name == "minres" else {"atol": 0.0}
    f = lambda d, b: getattr(sl, name)(definite(d), b, rtol=1e-12, **more)[0]  # noqa: E731
    check_gradients(f, DATA, X, order=1, rtol=1e-5)


def test_least_squares_and_an_operator_without_a_matrix():
    check_gradients(lambda d: sl.lsqr(regular(d), X, atol=1e-14, btol=1e-14)[0], DATA, order=1, rtol=1e-5)
    check_gradients(lambda d: sl.lsmr(regular(d), X, atol=1e-14, btol=1e-14)[0], DATA, order=1, rtol=1e-5)
    operator = lambda d: sl.LinearOperator((3, 3), matvec=lambda v: definite(d) @ v, dtype=float)  # noqa: E731
    check_gradients(lambda d: sl.cg(operator(d), X, rtol=1e-12, atol=0.0)[0], DATA, order=1, rtol=1e-5)


@pytest.mark.parametrize(
    "f",
    [
        lambda d: np.sum(sl.splu(regular(d)).L.toarray()),
        lambda d: np.sum(sl.spilu(regular(d)).solve(X)),
        lambda d: sl.eigsh(definite(d), k=1)[0][0],
    ],
    ids=["factors", "incomplete factors", "ARPACK"],
)
def test_what_has_no_derivative_is_refused(f):
    with pytest.raises(mo.NoDerivative):
        mo.grad(f)(DATA)


class TestFactorsAreKept:
    @pytest.fixture
    def factorisations(self, monkeypatch):
        counted = []
        gstrf = sparse_equations._superlu.gstrf
        stand_in = types.SimpleNamespace(gstrf=lambda *args, **kwargs: counted.append(1) or gstrf(*args, **kwargs))
        monkeypatch.setattr(sparse_equations, "_superlu", stand_in)
        monkeypatch.setattr(sparse_equations, "_kept", [])
        return counted

    @staticmethod
    def solved(d, b):
        return sl.spsolve(sp.csc_array((d, INDICES, INDPTR), shape=(3, 3)), b)

    def test_a_gradient_factorises_once(self, factorisations):
        grad = mo.grad(lambda d, b: np.sum(self.solved(d, b) ** 2))
        grad(DATA, X)
        assert len(factorisations) == 1
        compiled = mo.jit(grad, target="native")
        del factorisations[:]  # compiling may have tried it
        np.testing.assert_allclose(compiled(2.0 * DATA, X), grad(2.0 * DATA, X), rtol=1e-12)
        assert len(factorisations) == 1

    def test_another_matrix_has_its_own(self, factorisations):
        for d in (DATA, 2.0 * DATA, 3.0 * DATA, DATA):
            np.testing.assert_allclose(mo.pullback(self.solved, d, X)[0], self.solved(d, X), rtol=1e-13)
        assert len(factorisations) == 4

    def test_a_singular_matrix_gives_nan_and_a_warning_as_scipy_does(self):
        with pytest.warns(sl.MatrixRankWarning):
            x, _ = mo.pullback(self.solved, np.zeros(5), X)
        assert np.all(np.isnan(x))


@pytest.mark.parametrize("format", ["csr", "csc", "bsr", "coo", "dia"])
def test_a_rebuilt_matrix_has_its_pattern(format):
    matrix = sp.csr_array(np.diag([1.0, 2.0, 3.0]) + np.eye(3, k=1)).asformat(format)
    twice = mo.tree.rebuild(matrix, lambda _, x: 2 * x, constant=lambda _, x: x)
    np.testing.assert_array_equal(twice.toarray(), 2 * matrix.toarray())


FOR_BAD_B = {
    "cg": lambda a, b: sl.cg(a, b)[0],
    "gmres": lambda a, b: sl.gmres(a, b)[0],
    "spsolve": lambda a, b: sl.spsolve(a, b),
    "splu": lambda a, b: sl.splu(a.tocsc()).solve(b),
}


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(
    "path, name", [("native", "spsolve"), ("xla", "splu"), *[("eager", name) for name in FOR_BAD_B]]
)
def test_a_right_hand_side_that_is_not_finite_gives_no_wrong_number(name: str, path: str, bad: float) -> None:
    """SciPy gives NaN or Inf, and so does the gradient; that by b may be finite, since the solution is linear in b."""
    a = sp.csr_array(np.diag([4.0, 5.0, 6.0]) + np.diag([1.0, 2.0], 1) + np.diag([1.0, 2.0], -1))
    b, w = np.array([1.0, bad, 2.0]), np.array([1.0, -1.0, 3.0])
    f = FOR_BAD_B[name]
    with np.errstate(invalid="ignore"):
        assert not np.isfinite(f(a, b)).any()
        value, (da, db) = run_on(path)(mo.value_and_grad(lambda a, b: np.sum(w * f(a, b)), (0, 1)))(a, b)
    assert not np.isfinite(value) and not np.isfinite(da.data).any()
    assert np.isnan(db).all() or np.allclose(db, np.linalg.solve(a.toarray().T, w), rtol=1e-12)
