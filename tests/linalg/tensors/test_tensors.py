"""Tensor trains, Tucker and CP: reconstruction, ranks, errors, gradients against differences, on every path."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import PATHS, run_on

import morula as mo
from morula import linalg
from morula.core.testing.differences import numerical_vjp

RNG = np.random.default_rng(1)
X = RNG.normal(size=(3, 4, 5))
W = RNG.normal(size=X.shape)
FACTORS = [RNG.normal(size=(n, 2)) for n in X.shape]
NEAR_RANK_2 = np.einsum("ir,jr,kr->ijk", *FACTORS) + 0.05 * X


def by_train(x):
    return np.sum(W * linalg.tensor_train(x, (2, 3)).to_array())


def by_tucker(x):
    return np.sum(W * linalg.tucker(x, (2, 3, 3)).to_array())


def by_iteration(x):
    return np.sum(W * linalg.tucker(x, 2, iterations=3).to_array())


def by_rounding(x):
    train = linalg.tensor_train(x, (1, 2))
    return (
        np.sum(W * (train + linalg.tensor_train(W, (1, 2))).rounded(2).to_array())
        + train.norm()
        + train.inner(train)
        + train[1, 2, 3]
    )


def by_terms(x):
    found = linalg.cp(x, 2, initial=FACTORS)
    return np.sum(W * found.to_array()) + np.sum(np.sort(found.weights()) * np.array([1.0, 2.0]))


def by_nine_terms(x):
    return linalg.cp(x, 9).factors[0]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("f", [by_train, by_tucker, by_iteration, by_rounding])
def test_gradients_through_singular_values_are_those_of_differences(path, f):
    value, g = run_on(path)(mo.value_and_grad(f))(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-10)
    expected = numerical_vjp(f, 1.0, X)[0][0]
    np.testing.assert_allclose(g, expected, atol=1e-7 * np.max(np.abs(expected)))


def test_the_gradient_of_converged_terms_is_that_of_differences():
    expected = numerical_vjp(by_terms, 1.0, NEAR_RANK_2)[0][0]
    np.testing.assert_allclose(mo.grad(by_terms)(NEAR_RANK_2), expected, atol=1e-5 * np.max(np.abs(expected)))


@pytest.mark.parametrize("path", PATHS)
def test_rounding_a_train_with_dependent_cores_has_no_gradient(path):
    def f(x):
        train = linalg.tensor_train(x)
        return (train + train).rounded(2).norm()

    with pytest.raises(mo.NoDerivative, match="linearly dependent"):
        run_on(path)(mo.grad(f))(X)


@pytest.mark.parametrize("path", PATHS)
def test_sweeps_are_differentiated_on_request(path):
    def f(x):
        factors = FACTORS
        for _ in range(3):
            factors = linalg.tensors.canonical.sweep(x, factors)
        return np.sum(W * linalg.Canonical(factors, 3, False).to_array())

    expected = numerical_vjp(f, 1.0, X)[0][0]
    np.testing.assert_allclose(run_on(path)(mo.grad(f))(X), expected, atol=1e-7 * np.max(np.abs(expected)))


@pytest.mark.parametrize("x", [X, X + 1j * W, X[:, 0, 0], X[:, :, 0]], ids=["real", "complex", "vector", "matrix"])
def test_a_train_of_full_rank_is_the_array(x):
    train = linalg.tensor_train(x)
    np.testing.assert_allclose(train.to_array(), x, atol=1e-13)
    assert train[(1,) * x.ndim] == pytest.approx(x[(1,) * x.ndim])
    other = linalg.tensor_train(2.0 * x + 1.0)
    np.testing.assert_allclose(train.inner(other), np.sum(np.conj(x) * (2.0 * x + 1.0)), rtol=1e-12)
    np.testing.assert_allclose(train.norm(), np.linalg.norm(x), rtol=1e-12)
    np.testing.assert_allclose((train + other).to_array(), 3.0 * x + 1.0, atol=1e-12)
    np.testing.assert_allclose((train + train).rounded(rtol=1e-12).to_array(), 2.0 * x, atol=1e-12)


def test_tolerances_choose_the_ranks_of_a_sum_of_sines():
    """Oseledets (2011), section 1: sin(x1 + ... + xd) has ranks of 2."""
    t = np.linspace(0.0, 1.0, 6)
    grid = np.sin(sum(np.meshgrid(t, t, t, t, indexing="ij")))
    train = linalg.tensor_train(grid, rtol=1e-10)
    assert train.ranks == (2, 2, 2)
    np.testing.assert_allclose(train.to_array(), grid, atol=1e-9)
    twice = train + train
    assert twice.ranks == (4, 4, 4) and twice.rounded(rtol=1e-10).ranks == (2, 2, 2)


@pytest.mark.parametrize("rtol", [0.5, 0.2, 0.05])
def test_the_error_of_a_train_is_below_the_tolerance(rtol):
    assert np.linalg.norm(linalg.tensor_train(X, rtol=rtol).to_array() - X) <= rtol * np.linalg.norm(X)


def test_cores_and_factors_are_orthonormal():
    for core in linalg.tensor_train(X).cores[:-1]:
        q = core.reshape(-1, core.shape[2])
        np.testing.assert_allclose(q.T @ q, np.eye(q.shape[1]), atol=1e-13)
    t = linalg.tucker(X + 1j * W, (2, 3, 4))
    for q in t.factors:
        np.testing.assert_allclose(q.conj().T @ q, np.eye(q.shape[1]), atol=1e-13)
    np.testing.assert_allclose(t.norm(), np.linalg.norm(t.to_array()), rtol=1e-12)


def test_the_core_of_a_full_hosvd_is_all_orthogonal():
    """De Lathauwer, De Moor and Vandewalle (2000), theorem 2: the slices of the core are orthogonal, in order of their norms."""
    core = linalg.tucker(X, X.shape).core
    for axis in range(3):
        gram = linalg.unfold(core, axis) @ linalg.unfold(core, axis).T
        np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-12)
        assert np.all(np.diff(np.diag(gram)) <= 0)


def test_iterations_lower_the_error_and_keep_exact_arrays():
    errors = [np.linalg.norm(linalg.tucker(X, 2, iterations=k).to_array() - X) for k in (0, 1, 5)]
    assert errors[2] <= errors[1] <= errors[0]
    exact = linalg.tucker(X, (2, 2, 2)).to_array()
    np.testing.assert_allclose(linalg.tucker(exact, 2, iterations=2).to_array(), exact, atol=1e-12)


def test_terms_of_an_exact_sum_are_found():
    exact = np.einsum("ir,jr,kr->ijk", *FACTORS)
    found = linalg.cp(exact, 2)
    np.testing.assert_allclose(found.to_array(), exact, atol=1e-9)
    lengths = np.prod([np.linalg.norm(f, axis=0) for f in FACTORS], axis=0)
    np.testing.assert_allclose(np.sort(found.weights()), np.sort(lengths), rtol=1e-8)


def test_folding_undoes_unfolding():
    for axis in (0, 1, 2, -1):
        np.testing.assert_array_equal(linalg.fold(linalg.unfold(X, axis), axis, X.shape), X)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: linalg.tensor_train(1.0), "got an array of shape \\(\\); expected at least 1 axes"),
        (lambda: linalg.tensor_train(np.zeros((2, 0))), "none of them empty"),
        (lambda: linalg.tensor_train(X, (2,)), "one for each of 2 places"),
        (lambda: linalg.tensor_train(X, 0), "expected a number from 1"),
        (lambda: linalg.tensor_train(X)[1, 2], "got 2 indices; expected one for each of 3 axes"),
        (lambda: linalg.tensor_train(X).inner(linalg.tensor_train(X[1:])), "the shapes are"),
        (lambda: linalg.tensor_train(X) + linalg.tensor_train(X[1:]), "expected equal ones to add"),
        (lambda: linalg.tucker(X, 4), "expected a number from 1 to the length of each axis"),
        (lambda: linalg.tucker(X, (1, 1, 2)), "above the product of the others"),
        (lambda: linalg.cp(X + 1j, 2), "expected a real one"),
        (lambda: linalg.cp(X, 0), "expected an integer from 1"),
        (lambda: linalg.cp(X, 2.0), "the rank is 2.0; expected an integer from 1"),
        (lambda: linalg.tucker(X, (2.0, 2, 2)), r"the ranks are \(2.0, 2, 2\)"),
        (lambda: linalg.tensor_train(X, 2.0), "the ranks are 2.0"),
        (lambda: linalg.cp(np.full((2, 2, 2), np.nan), 1), "cp: the array holds NaN or Inf"),
        (lambda: linalg.tucker(np.full((2, 2, 2), np.inf), 1), "tucker: the array holds NaN or Inf"),
        (lambda: linalg.tensor_train(np.full((2, 2), np.nan)), "tensor_train: the array holds NaN or Inf"),
        (lambda: linalg.unfold(X, 3), r"unfold: axis 3 of a tensor of shape \(3, 4, 5\), which has 3 axes"),
        (lambda: linalg.fold(np.ones((4, 5)), 1, X.shape), r"fold: the matrix has shape \(4, 5\); expected \(4, 15\)"),
        (lambda: linalg.cp(X, 2, initial=[W]), "the initial factors have shapes"),
        (lambda: mo.grad(lambda x: np.sum(linalg.cp(x, 2, max_iterations=1).to_array()))(X), "cp has not converged after 1"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, text):
    with pytest.raises((mo.BadInput, mo.MorulaError), match=text):
        call()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("x", [X[:2, :2, :2], np.zeros((2, 2, 2))], ids=["too many terms", "zero"])
def test_terms_that_are_not_unique_are_refused(path, x):
    with np.errstate(all="ignore"), pytest.raises(mo.MorulaError, match="cp: a sweep has no unique solution"):
        run_on(path)(by_nine_terms)(x)


def test_terms_of_single_precision_stay_so():
    found = linalg.cp(NEAR_RANK_2.astype(np.float32), 2)
    assert found.converged and {f.dtype for f in found.factors} == {np.dtype(np.float32)}
    np.testing.assert_allclose(found.to_array(), linalg.cp(NEAR_RANK_2, 2).to_array(), atol=1e-3)


@pytest.mark.parametrize("path", PATHS)
def test_networks_are_contracted_in_an_order_of_low_cost(path):
    """The chain of a vector and matrices costs n^2 in one order, n^3 in others."""
    v, a, b = RNG.normal(size=8), RNG.normal(size=(8, 8)), RNG.normal(size=(8, 8))

    def f(v, a, b):
        return np.sum(np.sin(np.einsum("ij,jk,k->i", a, b, v, optimize=True)))

    found = run_on(path)(mo.grad(f, argnums=(0, 1, 2)))(v, a, b)
    for g, expected in zip(found, numerical_vjp(f, 1.0, v, a, b)[0]):
        np.testing.assert_allclose(g, expected, atol=1e-8)
