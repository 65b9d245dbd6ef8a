"""One equation in one unknown: brackets, open methods, orders of convergence, derivatives, and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize

import morula as mo
from morula.optim import Status, root_scalar

BRACKETING = ("brent", "toms748", "itp", "bisection")
OPEN = ("newton", "halley", "householder", "secant")
EQUATIONS = [
    (lambda x: x**3 - 2.0, (0.0, 2.0), 2.0 ** (1 / 3)),
    (lambda x: math.cos(x) - x, (0.0, 1.0), 0.7390851332151607),
    (lambda x: math.exp(x) - 5.0, (5.0, -4.0), math.log(5.0)),
    (lambda x: math.atan(x - 3.0), (-20.0, 30.0), 3.0),
    (lambda x: 1 / (x - 0.3) - 5.0, (0.31, 9.0), 0.5),
    (lambda x: -1.0 if x < 0.7 else 1.0, (0.0, 1.0), 0.7),
    (lambda x: x, (0.0, 1.0), 0.0),
]


@pytest.mark.parametrize("method", BRACKETING)
@pytest.mark.parametrize("f, bracket, x", EQUATIONS)
def test_a_bracket_is_narrowed_to_the_root(f, bracket, x, method):
    found = root_scalar(f, bracket=bracket, method=method)
    assert found.converged and abs(found.x - x) < 2e-11 and found.evaluations <= 52


@pytest.mark.parametrize("method, scipys, more", [("brent", "brentq", 2), ("toms748", "toms748", 3)])
@pytest.mark.parametrize("f, bracket, x", EQUATIONS[:5])
def test_takes_about_as_many_evaluations_as_scipy(f, bracket, x, method, scipys, more):
    expected = scipy.optimize.root_scalar(f, bracket=sorted(bracket), method=scipys)
    assert root_scalar(f, bracket=bracket, method=method).evaluations <= expected.function_calls + more


@pytest.mark.parametrize("method", OPEN)
@pytest.mark.parametrize("f, x0, x", [(f, 1.0, x) for f, _, x in EQUATIONS[:3]])
def test_a_guess_leads_to_the_root(f, x0, x, method):
    found = root_scalar(f, x0=x0, method=method)
    assert found.converged and abs(found.x - x) < 1e-11


@pytest.mark.parametrize("method, order", [("newton", 2), ("halley", 3), ("householder", 4)])
def test_orders_of_convergence(method, order):
    # One step reduces the error e to about e ** order: the slope between two starts shows the order.
    errors = []
    for e in (0.1, 0.01):
        step = root_scalar(lambda x: x**3 + x - 10.0, x0=2.0 + e, method=method, max_iterations=1)
        errors.append(abs(step.x - 2.0))
    assert abs(math.log10(errors[0] / errors[1]) - order) < 0.3


def kepler(E, M, e):
    return E - e * np.sin(E) - M


@pytest.mark.parametrize("options", [{"bracket": (0.0, 7.0)}, *({"x0": 1.0, "method": m} for m in OPEN)], ids=str)
def test_the_derivative_of_keplers_equation(options):
    E = root_scalar(kepler, 1.0, 0.6, bracket=(0.0, 7.0), xtol=1e-15).x
    slopes = mo.gradient(lambda M, e: root_scalar(kepler, M, e, **options).x, 1.0, 0.6)
    assert np.allclose(slopes, np.array([1.0, np.sin(E)]) / (1 - 0.6 * np.cos(E)), rtol=1e-10)


def test_second_derivatives():
    mo.testing.check_gradients(lambda a: root_scalar(lambda x: x**3 + x - a, bracket=(-9.0, 9.0)).x, 2.0, order=2)


@pytest.mark.parametrize(
    "method, target", [(m, "native") for m in ("brent", "toms748", "itp", "halley")] + [("brent", "xla")]
)
def test_a_batch_of_equations_compiles(method, target):
    where = (lambda M: {"bracket": (0.0, 7.0)}) if method in BRACKETING else (lambda M: {"x0": M})
    M = np.linspace(0.1, 6.0, 20)
    found = mo.jit(mo.vmap(lambda M: root_scalar(kepler, M, 0.6, method=method, **where(M)).x), target=target)(M)
    np.testing.assert_allclose(kepler(found, M, 0.6), 0.0, atol=1e-11)


def test_the_gradient_of_a_compiled_root():
    slope = mo.jit(mo.grad(lambda M: root_scalar(kepler, M, 0.6, bracket=(0.0, 7.0)).x))(1.0)
    assert np.isclose(slope, mo.grad(lambda M: root_scalar(kepler, M, 0.6, bracket=(0.0, 7.0)).x)(1.0), rtol=1e-12)


def test_a_slope_of_zero_ends_newtons_method():
    found = root_scalar(lambda x: x**2 + 1.0, x0=0.0)
    assert found.status is Status.STAGNATED
    with pytest.raises(mo.MorulaError, match="the search found no root"):
        mo.grad(lambda a: root_scalar(lambda x: x**2 + a, x0=0.0).x)(1.0)


def test_too_few_iterations_and_the_callback_say_so():
    assert root_scalar(math.cos, bracket=(0.0, 3.0), max_iterations=2).status is Status.MAX_ITERATIONS
    assert root_scalar(math.cos, bracket=(0.0, 3.0), callback=lambda r: True).status is Status.STOPPED


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: root_scalar(1.0, bracket=(0, 1)), "f is a float, expected a function of a number"),
        (lambda: root_scalar(math.cos), "expected either a bracket or a guess x0"),
        (
            lambda: root_scalar(math.cos, bracket=(0, 1)),
            r"f has the same sign at both ends of the bracket: f\(0.0\) is 1.0",
        ),
        (lambda: root_scalar(math.cos, x0=1.0, method="brent"), "brent needs a bracket"),
        (lambda: root_scalar(math.cos, bracket=(0, 3), method="newton"), "newton starts from a guess, x0"),
        (lambda: root_scalar(math.cos, x0=1.0, method="ridder"), "no method 'ridder'; there are 'bisection', 'brent'"),
        (lambda: root_scalar(math.cos, bracket=(0, 1, 2)), "bracket has 3 entries, expected two numbers"),
        (lambda: root_scalar(math.cos, bracket=(0, math.inf)), "the bracket holds NaN or Inf"),
        (lambda: root_scalar(lambda x: np.nan * x, bracket=(0, 1)), r"f\(0.0\) is NaN"),
        (lambda: root_scalar(lambda x: x / np.float64(0), x0=1.0, method="secant"), r"f\(x0\) is inf"),
        (lambda: root_scalar(lambda x: np.ones(2) * x, x0=1.0, method="secant"), r"an array of shape \(2,\)"),
        (lambda: root_scalar(math.cos, x0=1.0, xtol=0, rtol=0), "expected one of them positive"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(mo.BadInput, match=message), np.errstate(all="ignore"):
        call()
