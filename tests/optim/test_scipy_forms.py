"""``morula.optim.scipy``: SciPy's arguments and result fields, with SciPy's answers, and derivatives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize as theirs

import morula as mo
from morula.optim import scipy as ours

ROSEN = theirs.rosen
START = np.array([1.3, 0.7, 0.8])


@pytest.mark.parametrize("method", sorted(ours.MINIMISERS))
def test_minimize_by_every_name_of_scipys(method):
    def f(x, a):
        return np.sum((x - a) ** 2) + np.sum((x - a) ** 4)

    found = ours.minimize(f, START, args=(2.0,), method=method.upper())
    assert found.success and np.allclose(found.x, 2.0, atol=1e-4) and found["fun"] < 1e-7
    assert {"x", "fun", "jac", "nit", "nfev", "njev", "status", "message"} <= set(found)


def test_minimize_with_derivatives_bounds_callback_and_options():
    seen = []
    found = ours.minimize(
        lambda x: (theirs.rosen(x), theirs.rosen_der(x)), START, jac=True, callback=seen.append, options={"gtol": 1e-6}
    )
    assert np.allclose(found.x, 1.0, atol=1e-5) and len(seen) == found.nit
    for bounds in ([(0.0, 0.9)] * 3, theirs.Bounds(0.0, 0.9), [(None, 0.9), (0.0, None), (None, None)]):
        expected = theirs.minimize(theirs.rosen, START * 0.5, bounds=bounds, jac=theirs.rosen_der)
        assert np.allclose(
            ours.minimize(theirs.rosen, START * 0.5, bounds=bounds, jac=theirs.rosen_der).x, expected.x, atol=1e-4
        )
    assert not ours.minimize(theirs.rosen, START, jac=theirs.rosen_der, options={"maxiter": 2}).success


def test_minimize_with_the_constraints_of_scipys_documentation():
    f = lambda x: (x[0] - 1) ** 2 + (x[1] - 2.5) ** 2  # noqa: E731
    dicts = (
        {"type": "ineq", "fun": lambda x: x[0] - 2 * x[1] + 2},
        {"type": "ineq", "fun": lambda x: -x[0] - 2 * x[1] + 6},
        {"type": "ineq", "fun": lambda x, two: -x[0] + two * x[1] + 2, "args": (2,)},
    )
    objects = [
        theirs.LinearConstraint([[1, -2], [-1, -2]], [-2, -6]),
        theirs.NonlinearConstraint(lambda x: -x[0] + 2 * x[1], -2, np.inf),
    ]
    for constraints in (dicts, objects):
        found = ours.minimize(f, (2, 0), bounds=((0, None), (0, None)), constraints=constraints)
        assert np.allclose(found.x, [1.4, 1.7], atol=1e-6)
    equal = ours.minimize(f, (2, 0), constraints={"type": "eq", "fun": lambda x: x[0] + x[1] - 1})
    assert np.allclose(equal.x, [-0.25, 1.25])


@pytest.mark.parametrize("loss", ["linear", "soft_l1"])
def test_least_squares(loss):
    t = np.linspace(0.0, 3.0, 12)
    y = 2.0 * np.exp(-0.7 * t) + 0.05 * np.sin(9 * t)

    def residual(p, t, y):
        return p[0] * np.exp(-p[1] * t) - y

    options = dict(
        args=(t, y), loss=loss, f_scale=0.1, bounds=([0.0, 0.0], [1.9, 3.0]), xtol=1e-12, ftol=1e-12, gtol=1e-12
    )
    found, expected = (module.least_squares(residual, [1.0, 1.0], **options) for module in (ours, theirs))
    assert np.allclose(found.x, expected.x, atol=1e-5) and np.isclose(found.cost, expected.cost) and found.success
    assert found.jac.shape == (12, 2) and np.allclose(found.fun, expected.fun, atol=1e-5)


@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "krylov"])
def test_root(method):
    def f(x):
        return np.array([x[0] + 0.5 * (x[0] - x[1]) ** 3 - 1.0, 0.5 * (x[1] - x[0]) ** 3 + x[1]])

    found = ours.root(f, [0, 0], method=method)
    assert found.success and np.allclose(found.x, [0.8411639, 0.1588361]) and np.allclose(found.fun, 0.0, atol=1e-8)


def test_root_scalar_and_fixed_point():
    f = lambda x: x**3 - 1.0  # noqa: E731
    for method in ("bisect", "brentq", "brenth", "ridder", "toms748"):
        assert np.isclose(ours.root_scalar(f, bracket=[0, 3], method=method).root, 1.0)
    for method in ("newton", "secant", "halley"):
        found = ours.root_scalar(f, x0=0.5, x1=0.6, method=method)
        assert found.converged and np.isclose(found.root, 1.0) and found.flag == "converged"
    assert np.isclose(ours.fixed_point(np.cos, 1.0), theirs.fixed_point(np.cos, 1.0))
    with pytest.raises(RuntimeError, match="Failed to converge after 3 iterations"):
        ours.fixed_point(lambda x: 2.0 * x + 1.0, 1.0, method="iteration", maxiter=3)


def test_linprog():
    problem = dict(
        c=[-29.0, -45.0, 0.0, 0.0], A_ub=[[1.0, -1.0, -3.0, 0.0], [-2.0, 3.0, 7.0, -3.0]], b_ub=[5.0, -10.0],
        A_eq=[[2.0, 8.0, 1.0, 0.0], [4.0, 4.0, 0.0, 1.0]], b_eq=[60.0, 60.0], bounds=[(0, None), (0, 5.0), (None, 0.5), (-3.0, None)],
    )  # fmt: skip
    found, expected = ours.linprog(**problem), theirs.linprog(**problem)
    assert found.status == expected.status
    problem["bounds"] = [(0, None), (0, 6.0), (None, 0.5), (-3.0, None)]
    problem["b_ub"] = [5.0, 20.0]
    found, expected = ours.linprog(**problem), theirs.linprog(**problem)
    assert found.status == expected.status == 0 and np.isclose(found.fun, expected.fun)
    assert np.allclose(found.ineqlin.marginals, expected.ineqlin.marginals, atol=1e-6)
    assert np.allclose(found.eqlin.marginals, expected.eqlin.marginals, atol=1e-6)
    assert np.allclose(found.slack, expected.slack, atol=1e-6)


def test_answers_are_differentiable():
    def loss(a):
        x = ours.minimize(lambda x: np.sum((x - a) ** 2), np.zeros(2), method="SLSQP").x
        return (
            x[0] * ours.root(lambda x: x**2 - a, np.ones(2)).x[1]
            + ours.linprog(np.ones(2), A_eq=[[1.0, 2.0]], b_eq=a[:1]).fun
        )

    assert np.allclose(mo.grad(loss)(np.array([2.0, 9.0])), [3.0 + 0.5, 2.0 / 6.0], atol=1e-6)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: ours.minimize(ROSEN, START, method="magic"), "no method 'magic'; there are 'nelder-mead'"),
        (lambda: ours.minimize(ROSEN, START, bounds=[(0, 1)]), "bounds has 1 pairs for 3 unknowns"),
        (
            lambda: ours.minimize(ROSEN, START, constraints={"type": "le", "fun": ROSEN}),
            "has type 'le', expected 'eq' or 'ineq'",
        ),
        (lambda: ours.minimize(ROSEN, START, constraints=[3]), "a constraint is a int, expected a dict"),
        (lambda: ours.least_squares(ROSEN, START, method="gn"), "method is 'gn', expected 'trf', 'dogbox' or 'lm'"),
        (lambda: ours.linprog([1.0], integrality=1), "integrality is not zero"),
    ],
)
def test_refuses(call, message):
    with pytest.raises(mo.BadInput, match=message):
        call()
