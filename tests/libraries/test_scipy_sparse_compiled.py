"""Sparse matrices in compiled programs: kernels of ``scipy.sparse`` on values and patterns that the program computes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from path_tester import PATHS, check_gradient, run_on
from scipy.sparse import csgraph, linalg

import morula as mo

X = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


def made(x: Any) -> Any:
    i, j = np.array([0, 0, 1, 2, 2, 2]), np.array([0, 2, 2, 0, 1, 2])
    return sp.coo_matrix((x, (i, j)), shape=(3, 3))


def with_duplicates(x: Any) -> Any:
    i, j = np.array([0, 0, 1, 2, 0, 2]), np.array([0, 2, 1, 1, 0, 1])
    return sp.coo_matrix((x, (i, j)), shape=(3, 3)).tocsr()


def without_zeros(x: Any) -> Any:
    m = made(x * np.array([1.0, 0.0, 1.0, 1.0, 1.0, 1.0]))
    m.eliminate_zeros()
    return m.tocsr()


def with_factors(factors: Any, x: Any) -> Any:
    first = factors.solve(x[:3])
    return np.concatenate(
        [factors.solve(np.reshape(x, (3, 2)), "T").ravel(), factors.solve(first), factors.solve(first, "H")]
    )


def cached_path(x: Any) -> Any:
    _, before = csgraph.shortest_path(
        sp.csr_matrix(([1.0, 1.0], ([0, 1], [1, 2])), shape=(3, 3)), return_predecessors=True
    )
    return x[before[0, 2]] * x


PROGRAMS: dict[str, Callable[..., Any]] = {
    "triplets, dense": lambda x: made(x).toarray(),
    "rows": lambda x: made(x).tocsr().toarray(),
    "columns": lambda x: made(x).tocsc().toarray(),
    "rows to triplets": lambda x: made(x).tocsr().tocoo() @ x[:3],
    "rows to columns": lambda x: made(x).tocsr().tocsc().toarray(),
    "duplicates": lambda x: with_duplicates(x).toarray(),
    "what is stored": lambda x: with_duplicates(x).data,
    "without zeros": lambda x: np.sum(without_zeros(x).toarray() ** 2),
    "without zeros, times a vector": lambda x: without_zeros(x) @ x[:3],
    "times a vector": lambda x: made(x).tocsr() @ x[:3],
    "times vectors": lambda x: made(x).tocsr() @ np.reshape(x, (3, 2)),
    "by columns, times a vector": lambda x: made(x).tocsc() @ x[:3],
    "by columns, times vectors": lambda x: made(x).tocsc() @ np.reshape(x, (3, 2)),
    "triplets, times a vector": lambda x: made(x) @ x[:3],
    "triplets, times vectors": lambda x: made(x) @ np.reshape(x, (3, 2)),
    "transposed": lambda x: made(x).tocsr().T.tocsr().toarray(),
    "sum": lambda x: (made(x).tocsr() + made(x * x).tocsr().T.tocsr()).toarray(),
    "difference that drops zeros": lambda x: (made(x).tocsr() - made(2 * x).tocsr() * 0.5).toarray(),
    "elements multiplied": lambda x: made(x).tocsr().multiply(made(x * x).tocsr()).toarray(),
    "times a number": lambda x: made(x).tocsr().multiply(x[0]).sum(),
    "part": lambda x: made(x).tocsr()[:2, 1:].toarray(),
    "rows and columns by index": lambda x: made(x).tocsr()[np.array([0, 2])][:, np.array([2, 1, 2])].toarray(),
    "one element": lambda x: made(x).tocsr()[0, 2] * x,
    "every other row": lambda x: made(x).tocsr()[::2].toarray(),
    "diagonal": lambda x: made(x).tocsr().diagonal(),
    "Kronecker product": lambda x: sp.kron(made(x), np.eye(2)).toarray(),
    "equations by columns": lambda x: linalg.spsolve(made(x).tocsc(), x[:3]),
    "equations by rows": lambda x: linalg.spsolve(made(x).tocsr(), x[:3]),
    "factors, several systems": lambda x: with_factors(linalg.splu(made(x).tocsc()), x),
    "factors by the diagonal": lambda x: linalg.splu(
        made(x).tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    ).solve(x[:3]),
    "factors of a complex matrix": lambda x: np.abs(linalg.splu((made(x) * (1 + 0.5j)).tocsc()).solve(x[:3] + 1j, "H")),
    "equations without zeros": lambda x: linalg.spsolve(without_zeros(x + 1), x[:3]),
    "graph": cached_path,
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, path: str) -> None:
    f = PROGRAMS[name]
    check_gradient(path, _weighted(f), X)


def _weighted(f: Callable[..., Any]) -> Callable[..., Any]:
    def weighted(x: Any) -> Any:
        y = f(x)
        return np.sum(y * np.cos(np.arange(np.size(y))).reshape(np.shape(y)))

    return weighted


def of_a_pattern(x: Any, indices: Any, indptr: Any) -> Any:
    m = sp.csr_matrix((x, indices, indptr), shape=(3, 3), copy=True)
    return np.sum((m @ x[:3]) ** 2) + np.sum(m.toarray() ** 3)


@pytest.mark.parametrize("path", PATHS)
def test_pattern_that_is_an_argument(path: str) -> None:
    check_gradient(
        path, of_a_pattern, X, np.array([0, 2, 2, 0, 1, 2], np.int32), np.array([0, 2, 3, 6], np.int32), argnums=(0,)
    )


def sum_with_duplicates(x: Any) -> Any:
    twice = sp.csr_matrix((x, np.array([0, 0, 1, 0, 1, 1]), np.array([0, 2, 3, 6])), shape=(3, 3))
    return np.sum((twice + twice.T.tocsr()).toarray() ** 2)


def test_sum_of_matrices_with_duplicates() -> None:
    assert mo.jit(sum_with_duplicates, target="native")(X) == pytest.approx(sum_with_duplicates(X), rel=1e-14)


ROWS = sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 5.0, 6.0]]))

BUILT: dict[str, Callable[..., Any]] = {
    "an array of rows": lambda x: sp.csr_array((x, ROWS.indices, ROWS.indptr), shape=(3, 3)) @ x[:3],
    "an array of columns, times vectors": lambda x: (
        sp.csc_array((x, ROWS.indices, ROWS.indptr), shape=(3, 3)) @ np.reshape(x, (3, 2))
    ),
    "an array of triplets": lambda x: sp.coo_array((x, ROWS.nonzero()), shape=(3, 3)).tocsr() @ x[:3],
    "blocks": lambda x: blocks(x) @ x[:4],
    "blocks, times vectors": lambda x: blocks(x) @ np.reshape(np.append(x, x[:2]), (4, 2)),
    "blocks to rows": lambda x: blocks(x).tocsr() @ x[1:5],
    "diagonals": lambda x: sp.diags_array([x, x[1:]], offsets=[0, -1]) @ x,
    "diagonals, times vectors": lambda x: sp.diags_array([x, x[1:]], offsets=[0, 1]) @ np.stack([x, x * x], axis=1),
    "diagonals to rows": lambda x: sp.diags_array([x, x[1:]], offsets=[0, 1]).tocsr() @ x,
    "larger entries": lambda x: sp.csr_array(ROWS * x[0]).maximum(sp.csr_array(made(x))).toarray(),
    "blocks, added and multiplied": lambda x: (
        blocks(x) @ blocks(x * x).T + blocks(x).multiply(blocks(x[::-1]))
    ).toarray(),
    "diagonal of blocks": lambda x: blocks(x).diagonal(1) * x[:3],
    "diagonals multiplied": lambda x: (
        sp.diags_array([x, x[1:]], offsets=[0, 1]) @ sp.diags_array([x[1:], x], offsets=[-1, 0])
    ).toarray(),
    "substitution": lambda x: linalg.spsolve_triangular(
        sp.tril(sp.csr_array((x, ROWS.indices, ROWS.indptr), shape=(3, 3))).tocsr(), x[:3]
    ),
    "a sparse right-hand side": lambda x: linalg.spsolve(made(x).tocsc(), sp.csc_array(made(x * x))).toarray(),
    "scaled and added": lambda x: (2.0 * sp.csr_array(ROWS) + sp.eye_array(3).tocsr() * x[0]) @ x[:3],
}


def blocks(x: Any) -> Any:
    data = np.reshape(np.append(x, x[:2]), (2, 2, 2))
    return sp.bsr_array((data, np.array([1, 0]), np.array([0, 1, 2])), shape=(4, 4))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", BUILT)
def test_sparse_arrays_are_built_inside(name: str, path: str) -> None:
    check_gradient(path, _weighted(BUILT[name]), X)


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_an_index_out_of_range_is_an_error_in_native_code(by_columns: bool, dtype: Any) -> None:
    kind = sp.csc_array if by_columns else sp.csr_array

    @mo.jit(target="native")
    def product(x: Any, indices: Any) -> Any:
        return kind((x, indices, ROWS.indptr), shape=(3, 3)) @ x[:3]

    expected = (ROWS.T if by_columns else ROWS) @ ROWS.data[:3]
    np.testing.assert_allclose(product(ROWS.data, ROWS.indices.astype(dtype)), expected)
    with pytest.raises(IndexError, match="out of bounds"):
        product(ROWS.data, np.array([0, 2, 3, 0, 1, 2], dtype))
    with pytest.raises(IndexError, match="out of bounds"):
        product(ROWS.data, np.array([0, 2, -4, 0, 1, 2], dtype))


def inverse_of(x: Any) -> Any:
    """The inverse of a matrix of two triangles: where an entry is zero, so are entries of the inverse."""
    a = sp.csc_array((np.append(x, [1.0, 2.0, 4.0]), ([0, 1, 0, 1, 2], [1, 2, 0, 1, 2])), shape=(3, 3))
    return linalg.inv(a).toarray()


def solved_for(x: Any) -> Any:
    return linalg.spsolve(sp.csc_array(ROWS), sp.csc_array((x, ([0, 1, 2], [0, 0, 1])), shape=(3, 2))).toarray()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("f, x", [(inverse_of, [0.0, 0.0]), (inverse_of, [0.0, 3.0]), (solved_for, [0.0, 0.0, 0.0])])
def test_entries_of_sparse_solutions_that_are_zero_have_derivatives(f: Any, x: Any, path: str) -> None:
    check_gradient(path, _weighted(f), np.array(x))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_a_sparse_right_hand_side_of_another_dtype(dtype: Any, path: str) -> None:
    b = sp.csc_array(np.array([[1.0, 0.0], [2.0, 3.0]], dtype))

    def f(x: Any) -> Any:
        solved = linalg.spsolve(sp.csc_array((x, ([0, 1, 1], [0, 0, 1])), shape=(2, 2)), b)
        return np.sum(np.abs(solved.toarray()) ** 2)

    check_gradient(path, f, np.array([1.0, 2.0, 3.0]))


TRIANGLES = sp.csc_array((np.arange(1.0, 9.0), ([3, 0, 1, 0, 4, 2, 2, 1], [0, 1, 1, 2, 2, 3, 4, 4])), shape=(5, 5))
RIGHT = sp.csc_array((np.ones(4), ([0, 3, 4, 2], [0, 1, 1, 2])), shape=(5, 3))


def of_triangles(a: Any, b: Any) -> Any:
    solved = linalg.spsolve(
        sp.csc_array((a, TRIANGLES.indices, TRIANGLES.indptr), shape=(5, 5)),
        sp.csc_array((b, RIGHT.indices, RIGHT.indptr), shape=(5, 3)),
    )
    return np.abs(solved.toarray() + 0.1) ** 3


def of_dense(a: Any, b: Any) -> Any:
    left, right = np.zeros((5, 5), a.dtype), np.zeros((5, 3), b.dtype)
    left[TRIANGLES.indices, np.repeat(np.arange(5), np.diff(TRIANGLES.indptr))] = a
    right[RIGHT.indices, np.repeat(np.arange(3), np.diff(RIGHT.indptr))] = b
    return np.abs(np.linalg.solve(left, right) + 0.1) ** 3


def every_derivative(f: Any) -> Any:
    def total(a: Any, b: Any) -> Any:
        return np.sum(f(a, b))

    def of_slopes(a: Any, b: Any) -> Any:
        return np.sum(np.abs(mo.grad(total)(a, b)) ** 2 * np.arange(len(a)))

    def found(a: Any, b: Any) -> Any:
        tangent = mo.jvp(total, (a, b), (np.cos(a), np.sin(b)))[1]
        return mo.grad(total, (0, 1))(a, b), tangent, mo.grad(of_slopes, (0, 1))(a, b)

    return found


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dtypes", [("f8", "f8"), ("c16", "c16"), ("f8", "c16")])
def test_derivatives_of_sparse_solutions_are_those_of_dense_ones(dtypes: Any, path: str) -> None:
    a, b = [x.data.astype(dtype) for x, dtype in zip((TRIANGLES, RIGHT), dtypes)]
    a, b = [x * (1.0 + 0.3j) if x.dtype.kind == "c" else x for x in (a, b)]
    found, expected = run_on(path)(every_derivative(of_triangles))(a, b), every_derivative(of_dense)(a, b)
    for got, right in zip(mo.tree.leaves(found), mo.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-10)


def test_sparse_solutions_have_the_entries_that_are_not_zero_by_structure() -> None:
    rng = np.random.default_rng(0)
    kept: list[Any] = []

    def solution(a: Any, b: Any) -> Any:
        x = linalg.spsolve(a, b)
        kept.append((x.nnz, x.toarray()))
        return np.sum(x.data)

    for _ in range(30):
        n = int(rng.integers(1, 9))
        a = sp.csc_array(sp.random_array((n, n), density=0.3, rng=rng) + sp.csc_array(np.eye(n)[rng.permutation(n)]))
        a.data = rng.standard_normal(a.nnz)
        b = sp.random_array((n, 3), density=0.4, rng=rng).tocsc()
        if np.linalg.matrix_rank(a.toarray()) == n and b.nnz:
            mo.grad(solution)(a, b)
            exact = np.linalg.solve(a.toarray(), b.toarray())
            np.testing.assert_allclose(kept[-1][1], exact, rtol=1e-8, atol=1e-10)
            assert kept[-1][0] == np.sum(np.abs(exact) > 1e-12)
    assert len(kept) > 10


def test_the_inverse_of_many_blocks_takes_the_memory_of_its_entries() -> None:
    a = sp.block_diag([np.array([[3.0, 1.0], [1.0, 2.0]])] * 700, format="csc")
    slope = mo.grad(lambda a: np.sum(linalg.inv(a).data))
    slope(a[:4, :4])
    tracemalloc.start()
    found = slope(a)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < a.shape[0] ** 2 * 8 / 2
    inverse = np.linalg.inv(a[:2, :2].toarray())
    np.testing.assert_allclose(found.toarray()[:2, :2], -np.outer(inverse.sum(0), inverse.sum(1)), rtol=1e-12)


@pytest.mark.parametrize("path", PATHS)
def test_singular_matrices(path: str) -> None:
    """SciPy gives NaN, and an error for sparse right-hand sides."""

    def of_triangle(solve: Any) -> Any:
        def f(x: Any) -> Any:
            return np.sum(solve(sp.csc_array((x, ([0, 1, 1], [0, 0, 1])), shape=(2, 2))))

        return mo.grad(f) if path == "eager" else mo.jit(mo.grad(f), target=path)

    singular = np.array([1.0, 2.0, 0.0])
    with pytest.raises(RuntimeError, match="Factor is exactly singular"):
        of_triangle(lambda a: linalg.inv(a).toarray())(singular)
    with pytest.warns(linalg.MatrixRankWarning) if path == "eager" else nullcontext():
        found = of_triangle(lambda a: linalg.spsolve(a, np.ones(2)))(singular)
    assert np.isnan(found).all()


def assigned(kind: Any, at: Any, count: int = 0) -> Any:
    def f(x: Any) -> Any:
        a = kind((3, 3))
        a[at] = x[:count] if count else x[0]
        return a.tocsr()

    return f


BY_PYTHON = {
    "LIL": (sp.lil_array, "Python lists", lambda x: made(x).tolil()),
    "DOK": (sp.dok_matrix, "a Python dict", lambda x: made(x).todok()),
}
TWO = np.array([0, 1])


@pytest.mark.parametrize("name", BY_PYTHON)
@pytest.mark.parametrize(
    "at, count", [(None, 0), ((0, 1), 0), ((TWO, TWO), 2), ((slice(0, 2), 1), 0), ((0, slice(None)), 3)]
)
def test_matrices_of_lists_and_dicts_are_refused(name: str, at: Any, count: int) -> None:
    kind, container, convert = BY_PYTHON[name]
    f = convert if at is None else assigned(kind, at, count)
    text = f"in {name} format keeps its values in {container}, which compiled .* build it from triplets as a coo_array"
    with pytest.raises(mo.BadInput, match=text):
        mo.jit(lambda x: np.sum(f(x) @ np.ones(3)))(X)


def of_matrix(a: Any, x: Any) -> Any:
    return np.sum((a @ x) ** 2) + np.sum((a @ np.reshape(np.append(x, x), (3, 2))) ** 3) + np.sum(a.T @ x)


def of_equations(a: Any, x: Any) -> Any:
    return np.sum(linalg.spsolve(a, x) ** 2) + np.sum(linalg.spsolve(a, np.stack([x, x * x], axis=1)) ** 3)


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.coo_array])
@pytest.mark.parametrize("f", [of_matrix, of_equations])
def test_a_gradient_with_respect_to_a_matrix(f: Any, kind: Any, target: str) -> None:
    a, x = kind(ROWS), X[:3]
    value, (da, dx) = mo.jit(mo.value_and_grad(f, (0, 1)), target=target)(a, x)
    expected, (ea, ex) = mo.value_and_grad(f, (0, 1))(a, x)
    assert value == pytest.approx(expected, rel=1e-12) and type(da) is kind
    np.testing.assert_allclose(da.data, ea.data, rtol=1e-10)
    np.testing.assert_allclose(dx, ex, rtol=1e-10)
    assert a.shape == (3, 3)


def test_a_converted_matrix_whose_pattern_is_an_argument() -> None:
    f = mo.jit(lambda a, x: np.sum(a.T.tocsr() @ x + a.tocsc() @ x), target="native")
    a = sp.csr_array(ROWS)
    assert f(a, X[:3]) == pytest.approx(np.sum(ROWS.T @ X[:3] + ROWS @ X[:3]))
    roomy = sp.csr_array(ROWS)
    roomy.data, roomy.indices = np.append(roomy.data, 0.0), np.append(roomy.indices, 0).astype(np.int32)
    with pytest.raises(ValueError, match=r"have length 7, but indptr\[-1\] is 6; call its prune\(\) before"):
        f(roomy, X[:3])


def many(a: Any) -> Any:
    """Operations for which a program needs to know the pattern of a matrix."""
    at = np.array([2, 0])
    return (
        np.sum((a @ a.T).toarray() ** 2)
        + np.sum(a[at][:, at].toarray() ** 3)
        + np.sum(a.sum(axis=1) * a.sum(axis=0))
        + np.sum(sp.kron(a[:1], a).data ** 3)
    )


@pytest.mark.parametrize("target", ["native", "xla"])
def test_a_program_that_needs_patterns_is_made_for_them(target: str) -> None:
    gradient = mo.grad(many)
    compiled = mo.jit(gradient, target=target)
    for a in (ROWS, 2.0 * ROWS, sp.csr_array(ROWS[[2, 0, 1]]), ROWS)[: 4 if target == "native" else 2]:
        np.testing.assert_allclose(compiled(a).data, gradient(a).data, rtol=1e-10)  # for each pattern its own program


def test_the_explanation_of_a_program_names_the_patterns_that_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    text = mo.jit(lambda a: (a @ a).data, target="native").explain(ROWS)
    assert "static: the content of a.indptr, the pattern of a sparse matrix; the content of a.indices" in text
    assert capsys.readouterr().out.strip() == text.strip()


INDICES, INDPTR = ROWS.indices.copy(), ROWS.indptr.copy()


def test_a_pattern_from_outside_may_change() -> None:
    def squared(d: Any) -> Any:
        a = sp.csr_array((d, INDICES, INDPTR), shape=(3, 3))
        return np.sum((a @ a).toarray() * np.arange(9.0).reshape(3, 3))

    compiled = mo.jit(squared, target="native")
    assert compiled(ROWS.data) == pytest.approx(squared(ROWS.data), rel=1e-14)
    INDICES[:] = [1, 2, 0, 0, 1, 2]
    try:
        assert compiled(ROWS.data) == pytest.approx(squared(ROWS.data), rel=1e-14)
    finally:
        INDICES[:] = ROWS.indices


def test_a_pattern_that_the_program_computes_is_refused_where_it_must_be_known() -> None:
    def squared(d: Any) -> Any:
        a = sp.coo_array((d, (np.argsort(d), np.arange(6))), shape=(6, 6)).tocsr()
        return np.sum((a @ a).toarray())

    with pytest.raises(
        mo.BadInput,
        match="the pattern of a sparse matrix must be known while compiling, but depends on the array d; make it of index arrays",
    ):
        mo.jit(squared, target="native")(X)


FORMATS = [sp.csr_array, sp.csc_array, sp.coo_array, sp.dia_array, sp.csr_matrix]


@pytest.mark.parametrize("make", FORMATS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("path", [None, "native", "xla"])
def test_a_gradient_by_a_sparse_matrix_has_its_class_and_pattern(make, path):
    dense, v = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 4.0], [0.0, 0.0, 5.0]]), np.array([1.0, -1.0, 2.0])
    matrix = make(dense)
    gradient = mo.grad(lambda a: np.sum((a @ v) ** 2))
    found = (gradient if path is None else mo.jit(gradient, target=path))(matrix)
    assert type(found) is type(matrix) and found.shape == (3, 3) and "stored elements" in repr(found)
    np.testing.assert_allclose(found.toarray(), np.where(dense != 0, 2 * np.outer(dense @ v, v), 0.0))
    assert np.array_equal(matrix.toarray(), dense)
    found.data[:] = 0.0
    (matrix - 0.1 * found).tocsr().sum_duplicates()  # a step of descent, in the same pattern
    assert np.array_equal(matrix.toarray(), dense)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("make", [*FORMATS, sp.bsr_array], ids=lambda make: make.__name__)
def test_a_tangent_of_a_sparse_matrix_has_its_pattern(make: Any, path: str) -> None:
    a, t = make(ROWS), make(ROWS)
    t.data = np.reshape(np.cos(np.arange(t.data.size)), t.data.shape)
    if make is sp.dia_array:
        t = make(ROWS.multiply(t.tocsr()))  # without numbers outside of the matrix

    def f(a: Any, more: Any) -> Any:
        return more["factor"] * a.shape[0] * (a @ X[:3]) ** 2 + more["count"]

    def pushed(a: Any, t: Any, more: Any) -> Any:
        return mo.jvp(f, (a, more), (t, {"factor": 0.5, "count": None}))

    value, tangent = run_on(path)(pushed)(a, t, {"factor": 2.0, "count": 3})
    y, dy = ROWS @ X[:3], t @ X[:3]
    np.testing.assert_allclose(value, 6 * y**2 + 3, rtol=1e-14)
    np.testing.assert_allclose(tangent, 12 * y * dy + 1.5 * y**2, rtol=1e-14)


@pytest.mark.parametrize("path", PATHS)
def test_a_tangent_or_cotangent_with_another_pattern_is_refused(path: str) -> None:
    other = sp.csr_array(ROWS.toarray()[::-1])
    assert other.nnz == ROWS.nnz
    text = "is a sparse matrix whose stored entries are in other places than those of {}; copy that matrix"
    with pytest.raises(mo.BadInput, match=r"tangents\[0\] " + text.format(r"primals\[0\]")):
        run_on(path)(lambda a, t: mo.jvp(lambda a: a @ X[:3], (a,), (t,)))(ROWS, other)

    def pulled(x: Any, dy: Any) -> Any:
        return mo.pullback(lambda x: sp.csr_array((x**2, ROWS.indices, ROWS.indptr), shape=(3, 3)), x)[1](dy)

    np.testing.assert_allclose(run_on(path)(pulled)(X, sp.csr_array(ROWS))[0], 2 * X * ROWS.data)
    with pytest.raises(mo.BadInput, match="its cotangent " + text.format("the result")):
        run_on(path)(pulled)(X, other)


def test_structures_with_sparse_matrices_of_other_patterns_do_not_match() -> None:
    assert np.array_equal(mo.tree.map_leaves(np.add, [ROWS], [ROWS])[0].toarray(), 2 * ROWS.toarray())
    with pytest.raises(
        mo.BadInput, match=r"the other tree\[0\] is a sparse matrix whose stored entries are in other places"
    ):
        mo.tree.map_leaves(np.add, [ROWS], [sp.csr_array(ROWS.toarray()[::-1])])


@pytest.mark.parametrize("path", PATHS)
def test_an_operator_of_functions_that_the_program_makes(path: str) -> None:
    def of(a: Any, b: Any) -> Any:
        A = linalg.LinearOperator(a.shape, matvec=lambda v: a @ v, rmatvec=lambda v: a.T @ v)
        return np.sum((A @ b) ** 2 + A.H @ b) + np.sum(mo.linalg.gmres(A, b).x ** 2)

    check_gradient(path, of, np.array([[4.0, 1.0, 0.0], [-1.0, 5.0, 2.0], [0.5, 0.0, 6.0]]), np.array([1.0, -2.0, 3.0]))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_scipys_own_conjugate_gradients(path: str, is_sparse: bool) -> None:
    """The iterations are differentiated as they are written."""
    a = np.diag(np.full(5, 3.0)) - np.diag(np.ones(4), 1) - np.diag(np.ones(4), -1)
    fixed = sp.csr_array(a) if is_sparse else a

    def of(b: Any) -> Any:
        return np.sum(np.sin(linalg.cg(fixed, b, rtol=1e-12)[0]))

    check_gradient(path, of, np.linspace(0.1, 1.0, 5))
