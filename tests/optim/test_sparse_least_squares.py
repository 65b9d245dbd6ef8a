"""Fits with sparse Jacobians: the same path, minimum, variances and derivatives as with arrays, and many unknowns."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import morula as mo
from morula.core.testing.differences import ridders
from morula.optim import least_squares, root
from morula.optim.scipy import least_squares as scipys

RNG = np.random.default_rng(0)
N = 24
DATA = np.sin(np.linspace(0.0, 6.0, N)) + 0.1 * RNG.normal(size=N)
DATA[7] = 4.0


def smooth(x, y, w):
    """A curve through data whose neighbours differ little; each residual depends on one or two unknowns."""
    return np.concatenate([x + 0.1 * x**3 - y, w * (x[1:] - x[:-1])])


def slopes(x, y, w):
    own = scipy.sparse.diags_array(1.0 + 0.3 * x**2)
    change = scipy.sparse.diags_array(
        [np.full(N - 1, -w), np.full(N - 1, w)], offsets=[0, 1], shape=(N - 1, N)
    )  # fmt: skip
    return scipy.sparse.vstack([own, change])


def rosenbrock(x):
    return np.concatenate([10.0 * (x[1::2] - x[::2] ** 2), 1.0 - x[::2]])


@pytest.mark.parametrize("method", ["lm", "dogleg", "gauss-newton"])
@pytest.mark.parametrize(
    "options", [{}, {"loss": "cauchy", "scale": 0.3}, {"bounds": (-0.5, 0.8)}, {"loss": "huber", "bounds": (-0.9, 9.0)}]
)
@pytest.mark.parametrize("jacobian", ["sparse", slopes])
def test_the_same_minimum_as_with_an_array(method, options, jacobian):
    found, expected = (
        least_squares(smooth, np.zeros(N), DATA, 2.0, method=method, jacobian=j, **options) for j in (jacobian, None)
    )
    assert found.converged and expected.converged
    assert abs(found.iterations - expected.iterations) <= 1
    np.testing.assert_allclose(found.x, expected.x, atol=1e-9)
    np.testing.assert_allclose(found.standard_deviations, expected.standard_deviations, rtol=1e-6)
    np.testing.assert_allclose(found.jacobian.toarray(), expected.jacobian, atol=1e-8)
    entries = found.covariance.tocoo()
    np.testing.assert_allclose(entries.data, expected.covariance[entries.coords], rtol=1e-6)
    assert entries.nnz == 3 * N - 2


@pytest.mark.parametrize("method", ["lm", "dogleg", "gauss-newton"])
def test_a_curved_valley_in_ten_thousand_unknowns(method):
    start = np.tile([-1.2, 1.0], 5000)
    fit = least_squares(rosenbrock, start, jacobian="sparse", method=method)
    few = least_squares(rosenbrock, start[:10], method=method)
    assert fit.converged and abs(fit.iterations - few.iterations) <= 1
    np.testing.assert_allclose(fit.x, 1.0, atol=1e-10)


@pytest.mark.parametrize("loss", ["linear", "soft_l1"])
@pytest.mark.parametrize("adjoint", ["implicit", "krylov"])
def test_derivatives(loss, adjoint):
    def f(y, w, jacobian="sparse"):
        fit = least_squares(smooth, np.zeros(N), y, w, jacobian=jacobian, loss=loss, adjoint=adjoint)
        return np.sum(np.sin(fit.x)) + fit.value

    found = mo.grad(f, argnums=(0, 1))(DATA, 2.0)
    expected = mo.grad(f, argnums=(0, 1))(DATA, 2.0, None)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-9)
    np.testing.assert_allclose(found[1], ridders(lambda h: f(DATA, 2.0 + h), 0.1)[0], rtol=1e-6)


def test_a_bounded_fit_moves_with_its_bound():
    def f(bound):
        return np.sum(np.sin(least_squares(smooth, np.zeros(N), DATA, 2.0, jacobian="sparse", bounds=(-1.0, bound)).x))

    np.testing.assert_allclose(mo.grad(f)(0.9), ridders(lambda h: f(0.9 + h), 0.02)[0], rtol=1e-6)


@pytest.mark.parametrize("method", ["newton", "broyden"])
def test_roots_take_no_sparse_jacobians(method):
    with pytest.raises(mo.BadInput, match="jacobian is a str, expected a function of x0 or None"):
        root(lambda x: x**2 - 2.0, np.ones(3), method=method, jacobian="sparse")
    with pytest.raises(
        mo.BadInput, match=r"the Jacobian is a sparse matrix, expected an array; return its toarray\(\)"
    ):
        root(lambda x: x**2 - 2.0, np.ones(3), method=method, jacobian=lambda x: scipy.sparse.diags_array(2.0 * x))


def test_unknowns_that_the_data_do_not_determine():
    def differences(x):
        return x[1:] - x[:-1] - 0.5

    fit = least_squares(differences, np.zeros(6), jacobian="sparse")
    assert fit.converged and fit.rss < 1e-20
    assert np.all(np.isnan(fit.standard_deviations))

    def first(x):
        return np.concatenate([np.sin(x[:2]) - 0.5, x[:2] - 0.6, x[2:3] * 0.0])

    fit, dense = (least_squares(first, np.zeros(3), jacobian=j) for j in ("sparse", None))
    assert fit.converged
    np.testing.assert_allclose(fit.x, dense.x, atol=1e-9)
    np.testing.assert_allclose(fit.standard_deviations, dense.standard_deviations, rtol=1e-6)
    assert fit.standard_deviations[2] == np.inf


def test_scipys_arguments():
    start = np.tile([-1.2, 1.0], 20)
    pattern = scipy.sparse.lil_array((40, 40))
    pattern[np.arange(20), 2 * np.arange(20)] = pattern[np.arange(20), 2 * np.arange(20) + 1] = 1
    pattern[20 + np.arange(20), 2 * np.arange(20)] = 1
    for options in ({"jac_sparsity": pattern}, {"tr_solver": "lsmr"}):
        found = scipys(rosenbrock, start, **options)
        expected = scipy.optimize.least_squares(rosenbrock, start, jac_sparsity=pattern)
        assert found.success and scipy.sparse.issparse(found.jac) and found.jac.shape == (40, 40)
        np.testing.assert_allclose(found.x, expected.x, atol=1e-6)
        assert found.optimality < 1e-8


def test_mistakes():
    with pytest.raises(
        mo.BadInput, match=r"least_squares: jacobian is 'dense', expected a function of x0, 'sparse' or None"
    ):
        least_squares(smooth, np.zeros(N), DATA, 2.0, jacobian="dense")
    with pytest.raises(
        mo.BadInput, match=r"the Jacobian has shape \(24, 24\) .* expected real numbers for 47 residuals by 24"
    ):
        least_squares(smooth, np.zeros(N), DATA, 2.0, jacobian=lambda *_: scipy.sparse.eye_array(N))


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("jacobian", ["sparse", slopes])
def test_compiled_programs_refuse_sparse_jacobians(jacobian, target):
    fitted = mo.jit(lambda y: least_squares(smooth, np.zeros(N), y, 2.0, jacobian=jacobian).x, target=target)
    with pytest.raises(
        mo.BadInput, match="a sparse Jacobian cannot be part of a compiled program; leave `jacobian` out there, or call"
    ):
        fitted(DATA)
