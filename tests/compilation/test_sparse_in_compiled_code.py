"""``sparse_jacobian`` and ``sparse_hessian`` within compiled programs: their matrices are used, and differentiated, there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import spsolve

import morula as mo

N = 20
X = np.linspace(0.1, 1.0, N)
EDGES = np.array([[0, 1], [1, 2], [3, 4], [3, 7]])


def diffusion(y):
    rate = np.zeros_like(y)
    rate[1:-1] = y[2:] - 2.0 * y[1:-1] + y[:-2]
    return rate + y**2


def of_edges(y):
    total = np.zeros(len(y))
    np.add.at(total, EDGES[:, 0], y[EDGES[:, 1]] ** 2)
    return total


def in_parts(y, k):
    return np.concatenate([y[:k] ** 2, 3.0 * y[k:]])


def energy(y):
    return np.sum(diffusion(y) ** 2)


def bordered(y):
    """A matrix with a full row, computed from both sides."""
    return np.concatenate([y[1:] * y[:-1], [np.sum(y**3)]])


def structured(s):
    def f(s):
        return {"a": s["a"] * s["b"], "b": s["b"] ** 2 * s["n"]}

    return mo.sparse_jacobian(f)(s) @ np.arange(2.0 * N)


def implicit_euler(y, steps=3):
    """Newton's method, by solving with the sparse Jacobian, in a loop."""
    z = y
    for _ in range(steps):
        residual = z - y - 0.1 * diffusion(z)
        z = z - spsolve((sparse.eye_array(N) - 0.1 * mo.sparse_jacobian(diffusion)(z)).tocsr(), residual)
    return z


PROGRAMS = {
    "times a vector": lambda x: mo.sparse_jacobian(diffusion)(x) @ x,
    "of a Hessian": lambda x: mo.sparse_hessian(energy)(x) @ x,
    "entries": lambda x: mo.sparse_jacobian(in_parts)(x, 3).data,
    "indices from outside": lambda x: mo.sparse_jacobian(of_edges)(x) @ x,
    "from both sides": lambda x: mo.sparse_jacobian(bordered)(x).toarray() @ x,
    "structures": lambda x: structured({"a": x, "b": 2.0 * x, "n": 3}),
    "a solver": implicit_euler,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients_are_those_outside_of_compiled_code(name, target):
    f = PROGRAMS[name]
    np.testing.assert_allclose(mo.jit(f, target=target)(X), f(X), rtol=1e-11)

    def loss(x):
        return np.sum(np.cos(f(x)))

    np.testing.assert_allclose(mo.jit(mo.grad(loss), target=target)(X), mo.grad(loss)(X), rtol=1e-9, atol=1e-12)


def test_gradients_agree_with_differences():
    mo.testing.check_gradients(mo.jit(lambda x: np.sum(implicit_euler(x, 1) ** 2)), X)


def test_the_result_is_a_matrix_of_the_same_pattern(target):
    found, expected = mo.jit(mo.sparse_jacobian(diffusion), target=target)(X), mo.sparse_jacobian(diffusion)(X)
    assert isinstance(found, sparse.csr_array) and found.shape == (N, N) and found.nnz == expected.nnz
    np.testing.assert_allclose((found - expected).toarray(), 0.0, atol=1e-13)
    assert np.array_equal(found.indices, expected.indices)


def test_an_int_is_a_constant_of_the_program(target):
    f = mo.jit(lambda x, k: mo.sparse_jacobian(in_parts)(x, k) @ x, target=target)
    for k in (3, 5):
        np.testing.assert_allclose(f(X, k), mo.sparse_jacobian(in_parts)(X, k) @ X)


def test_indices_that_have_changed_are_an_error():
    edges = np.array([0, 2, 3])

    def taken(x):
        return x[edges] ** 2

    f = mo.jit(lambda x: mo.sparse_jacobian(taken)(x) @ x)
    f(X)
    edges[0] = 1
    with pytest.raises(
        ValueError, match="an array on whose values the entries depend has changed; compile the program"
    ):
        f(X)


def test_what_is_not_known_while_compiling_is_refused():
    def taken(x, i):
        return x[i] ** 2

    with pytest.raises(
        mo.BadInput, match=r"the values of an array of shape \(2,\), which are not known while compiling"
    ):
        mo.jit(lambda x, i: mo.sparse_jacobian(taken)(x, i) @ x)(X, np.array([1, 2]))

    def closing(x, scale):
        return mo.sparse_jacobian(lambda y: y * scale)(x) @ x

    with pytest.raises(mo.BadInput, match="closes over values of the compiled program; give them to it as arguments"):
        mo.jit(closing)(X, np.ones(N))
    with pytest.raises(mo.BadInput, match="so it is not sparse; use jacobian"):
        mo.jit(lambda x: mo.sparse_jacobian(np.cumsum)(x).data)(np.ones(100))
