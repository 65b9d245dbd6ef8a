"""Sparse matrices in compiled programs: kernels of ``scipy.sparse`` on values and patterns that the program computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from path_tester import PATHS, check_gradient
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


def cached_path(x: Any) -> Any:
    _, before = csgraph.shortest_path(
        sp.csr_matrix(([1.0, 1.0], ([0, 1], [1, 2])), shape=(3, 3)), return_predecessors=True
    )
    return x[before[0, 2]] * x


PROGRAMS: dict[str, Callable[..., Any]] = {
    "triplets, dense": lambda x: made(x).toarray(),
    "rows": lambda x: made(x).tocsr().toarray(),
    "columns": lambda x: made(x).tocsc().toarray(),
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


def test_sum_of_matrices_with_duplicates_is_refused() -> None:
    with pytest.raises(mo.BadInput, match="canonical format only; call their sum_duplicates"):
        mo.jit(sum_with_duplicates, target="native")(X)
