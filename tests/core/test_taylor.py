"""Taylor mode on every path: ``taylor`` and ``derivatives`` against closed forms, SymPy, mpmath and nested forward mode."""

from __future__ import annotations

import copy
import math
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.special
import sympy
from forward_programs import PROGRAMS, root_by_newton
from path_tester import PATHS, run_on

import morula as mo
from morula.core.errors import BadInput, NoDerivative
from morula.core.testing.differences import numeric_leaves
from morula.core.values.tangents import has_tangent

X = sympy.symbols("x")


def coefficients(expression: Any, x: float, order: int) -> list[float]:
    """The Taylor coefficients of an expression in X, by SymPy."""
    t = sympy.symbols("t")
    along = expression.subs(X, sympy.Rational(str(x)) + t)
    return [float(sympy.diff(along, t, k).subs(t, 0).evalf(30) / sympy.factorial(k)) for k in range(order + 1)]


ELEMENTARY = [
    (lambda x: np.sin(x) * np.exp(x), sympy.sin(X) * sympy.exp(X)),
    (lambda x: np.log(x) / np.sqrt(1 + x * x), sympy.log(X) / sympy.sqrt(1 + X**2)),
    (lambda x: x**3 - 2 * x**2 + x**-1.5, X**3 - 2 * X**2 + X ** sympy.Rational(-3, 2)),
    (lambda x: np.tanh(x) + np.arctan(x) + np.arcsin(x), sympy.tanh(X) + sympy.atan(X) + sympy.asin(X)),
    (lambda x: x**x + 2.0**x, X**X + 2**X),
    (lambda x: math.sin(math.cos(x)) + math.erf(x), sympy.sin(sympy.cos(X)) + sympy.erf(X)),
    (lambda x: math.gamma(x), sympy.gamma(X)),
    (lambda x: 1 / (1 + np.exp(-x)), 1 / (1 + sympy.exp(-X))),
    (lambda x: np.hypot(x, 2.0) + np.arctan2(x, x * x), sympy.sqrt(X**2 + 4) + sympy.atan(1 / X)),
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("i", range(len(ELEMENTARY)))
def test_series_of_elementary_functions(i, path):
    f, expression = ELEMENTARY[i]
    found = run_on(path)(lambda x: mo.taylor(f, x, 6))(0.7)
    np.testing.assert_allclose(found, coefficients(expression, 0.7, 6), rtol=1e-11)


OF_HIGH_ORDER = [
    (np.tan, mpmath.tan, 0.3),
    (np.sinc, mpmath.sincpi, 0.0),
    (np.sinc, mpmath.sincpi, 0.1),
    (scipy.special.erf, mpmath.erf, 0.7),
    (scipy.special.j0, lambda x: mpmath.besselj(0, x), 0.7),
    (scipy.special.ellipk, mpmath.ellipk, 0.1),
    (lambda x: scipy.special.sici(x)[0], mpmath.si, 0.0),
    (lambda x: np.sqrt(1 + x) ** 3, lambda x: mpmath.sqrt(1 + x) ** 3, 0.2),
    (lambda x: (1 + x) ** 40, lambda x: (1 + x) ** 40, 0.0),
]


@pytest.mark.parametrize("i", range(len(OF_HIGH_ORDER)))
def test_series_of_order_twenty(i):
    f, g, x = OF_HIGH_ORDER[i]
    with mpmath.workdps(60):
        expected = [float(c) for c in mpmath.taylor(g, mpmath.mpf(x), 20, singular=False)]
    found = np.array(mo.taylor(f, x, 20), float)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-13 * max(map(abs, expected)))


def test_series_of_order_twenty_of_the_logarithm_of_gamma():
    expected = [
        float(mpmath.loggamma(1.3)),
        *(float(mpmath.psi(k - 1, 1.3) / mpmath.factorial(k)) for k in range(1, 21)),
    ]
    np.testing.assert_allclose(mo.taylor(scipy.special.gammaln, 1.3, 20), expected, rtol=1e-8)


def direction(args: Any) -> Any:
    random = np.random.default_rng(0)

    def one(_: Any, e: Any) -> Any:
        if type(e) is int or isinstance(e, np.ndarray) and e.dtype.kind not in "fc":
            return None
        return random.normal(size=e.shape).astype(e.dtype) if isinstance(e, np.ndarray) else type(e)(random.normal())

    return mo.tree.rebuild(args, one, is_leaf=has_tangent, constant=lambda *_: None)


def flat(y: Any) -> np.ndarray:
    return np.concatenate([np.ravel(e) for _, e in numeric_leaves(y)])


def nested(f: Any, v: Any, k: int) -> Any:
    """The k-th derivative along v, by nested forward mode."""
    return f if k == 0 else (lambda g: lambda *args: mo.jvp(g, args, v)[1])(nested(f, v, k - 1))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("i", range(len(PROGRAMS)))
def test_series_of_programs_are_those_of_nested_forward_mode(i, path):
    """Control flow, mutation, objects, containers, recursion, exceptions, generators, linear algebra, complex numbers."""
    f, args = PROGRAMS[i]
    v = direction(args)
    series = tuple(None if e is None else [e] for e in v)
    given = copy.deepcopy(args)
    found = run_on(path)(lambda *args: mo.taylor(f, args, 3, series))(*given)
    plain = copy.deepcopy(args)
    np.testing.assert_allclose(flat(found[0]), flat(f(*plain)), rtol=1e-6)
    for (_, a), (_, b) in zip(numeric_leaves(given), numeric_leaves(plain)):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    for k, c in enumerate(found):
        single = np.asarray(flat(c)).dtype == np.float32
        expected = flat(nested(f, v, k)(*copy.deepcopy(args))) / math.factorial(k)
        np.testing.assert_allclose(flat(c), expected, rtol=1e-3 if single else 1e-9, atol=1e-5 if single else 1e-12)


def grown(x):
    y, n = x, 0
    while y * y < 50.0:
        y, n = y * (1 + x * x), n + 1
    return y


@pytest.mark.parametrize("path", PATHS)
def test_derivatives_through_a_while_loop(path):
    expected = [math.factorial(k) * c for k, c in enumerate(coefficients(X * (1 + X**2) ** 6, 0.7, 4))]
    np.testing.assert_allclose(run_on(path)(lambda x: mo.derivatives(grown, x, 4))(0.7), expected, rtol=1e-12)
    of_gradient = run_on(path)(lambda x: mo.derivatives(mo.grad(grown), x, 3))(0.7)
    np.testing.assert_allclose(of_gradient, expected[1:], rtol=1e-12)


def g(x):
    return np.sin(x) * x**2


D = [float(sympy.diff(sympy.sin(X) * X**2, X, k).subs(X, 0.7)) for k in range(6)]
NESTED = {
    "gradient of a coefficient": (lambda x: mo.grad(lambda x: mo.taylor(g, x, 3)[3])(x), D[4] / 6),
    "series of a gradient": (lambda x: mo.taylor(mo.grad(g), x, 2), [D[1], D[2], D[3] / 2]),
    "tangent of a coefficient": (lambda x: mo.jvp(lambda x: mo.taylor(g, x, 2)[2], (x,), (1.0,))[1], D[3] / 2),
    "series of a tangent": (lambda x: mo.taylor(lambda x: mo.jvp(g, (x,), (1.0,))[1], x, 2), [D[1], D[2], D[3] / 2]),
    "series of a coefficient": (lambda x: mo.taylor(lambda x: mo.taylor(g, x, 2)[2], x, 1), [D[2] / 2, D[3] / 2]),
    "gradient of derivatives": (lambda x: mo.grad(lambda x: sum(mo.derivatives(g, x, 2)))(x), D[1] + D[2] + D[3]),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", NESTED)
def test_modes_nest(name, path):
    f, expected = NESTED[name]
    np.testing.assert_allclose(run_on(path)(f)(0.7), expected, rtol=1e-12)


@pytest.mark.parametrize("path", PATHS)
def test_series_of_different_levels_are_not_confused(path):
    run = run_on(path)
    assert run(lambda x: mo.taylor(lambda x: x * mo.taylor(lambda y: x * y, 2.0, 1)[1], x, 2))(3.0) == [9.0, 6.0, 1.0]
    assert run(lambda x: mo.grad(lambda x: x * mo.taylor(lambda y: x + y, 1.0, 1)[1])(x))(3.0) == 1.0
    assert run(lambda x: mo.taylor(lambda x: x * mo.grad(lambda y: x + y)(1.0), x, 2))(3.0) == [3.0, 1.0, 0.0]


@pytest.mark.parametrize("path", PATHS)
def test_structures_and_paths(path):
    def f(p, n):
        return {"sum": p["a"] * p["b"][0], "n": n, "text": "t", "still": 3.0}

    run = run_on(path)(lambda p, n: mo.taylor(f, (p, n), 3, ([{"a": 1.0, "b": [None]}, {"a": None, "b": [2.0]}], None)))
    y = run({"a": 2.0, "b": [3.0]}, 4)
    assert y[0] == {"sum": 6.0, "n": 4, "text": "t", "still": 3.0} and type(y[0]["n"]) is int
    assert [c["sum"] for c in y] == [6.0, 3.0, 4.0, 2.0]  # (2 + t) (3 + 2 t^2)
    assert [c["text"] for c in y[1:]] == [None] * 3 and [c["still"] for c in y[1:]] == [0.0] * 3


@pytest.mark.parametrize("path", PATHS)
def test_ints_orders_and_dtypes(path):
    run = run_on(path)
    assert run(lambda x: mo.taylor(lambda x: x**3, x, 4))(2) == [8, 12, 6, 1, 0]
    assert run(lambda x: mo.taylor(g, x, 0))(0.7) == [g(0.7)]
    assert run(lambda x: mo.derivatives(g, x, 1))(0.7) == pytest.approx(D[:2])
    found = run(lambda x: mo.taylor(lambda x: x * np.exp(x), x, 2))(np.array([0.0, 1.0], np.float32))
    assert all(c.dtype == np.float32 and c.shape == (2,) for c in found)
    np.testing.assert_allclose(found[2], [1.0, 1.5 * np.e], rtol=1e-6)
    z = run(lambda z: mo.taylor(lambda z: np.abs(z) ** 2 + z**2, z, 2, [1j]))(1 + 2j)  # along 1 + (2 + t) i
    np.testing.assert_allclose(z, [5 + (1 + 2j) ** 2, 4 + 2j * (1 + 2j), 1 - 1])


@pytest.mark.parametrize("path", PATHS)
def test_kinks_and_singular_points(path):
    run = run_on(path)
    root = run(lambda x: mo.taylor(np.sqrt, x, 2, [np.array([0.0, 1.0])]))(np.array([0.0, 4.0]))
    np.testing.assert_allclose(root, [[0, 2], [0, 1 / 4], [0, -1 / 64]])
    assert run(lambda x: mo.taylor(abs, x, 2))(-1.5) == [1.5, -1.0, 0.0]
    assert run(lambda x: mo.taylor(np.abs, x, 2))(0.0) == [0.0, 0.0, 0.0]
    assert run(lambda x: mo.taylor(lambda x: np.maximum(x, 2 - x), x, 1))(1.0) == [1.0, 0.0]
    chosen = run(lambda x: mo.taylor(lambda x: np.where(x > 0, np.log(np.where(x > 0, x, 1)), 0.0), x, 2))(-1.0)
    np.testing.assert_array_equal(chosen, [0.0, 0.0, 0.0])
    assert run(lambda x: mo.taylor(lambda x: x**2.5, x, 2))(0.0) == [0.0, 0.0, 0.0]
    assert run(lambda x: mo.taylor(lambda x: (x * x) ** 2.0, x, 4))(0.0) == [0.0, 0.0, 0.0, 0.0, 1.0]
    of_exponents = run(lambda x, n: mo.taylor(lambda x: x**n, x, 3, [1.0, 2.0]))(0.0, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(np.transpose(of_exponents), [[0, 1, 2, 0], [0, 0, 1, 4], [0, 0, 0, 1]])


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", [float, complex])
def test_powers_of_zero(kind, path):
    run, zero = run_on(path), kind(0)
    constant = run(lambda x: mo.taylor(lambda x: x ** np.array([0.0, 1.0, 2.0]), x, 2, [2.0]))(zero)
    np.testing.assert_array_equal(constant, [[1, 0, 0], [0, 2, 0], [0, 0, 4]])
    numbers = run(lambda x: [mo.taylor(lambda x: x**n, x, 2) for n in (0, 0.0, 2.0, 2.5)])(zero)
    np.testing.assert_array_equal(numbers, [[1, 0, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]])


@pytest.mark.parametrize("path", PATHS)
def test_powers_of_zero_whose_exponent_varies(path):
    """(2 t)^(n + t) is 2^n t^n (1 + O(t log t))."""
    found = run_on(path)(lambda x, n: mo.taylor(np.power, (x, n), 3, ([2.0], [np.ones(3)])))(
        0.0, np.array([1.5, 2.0, 3.5])
    )
    np.testing.assert_array_equal(found, [[0, 0, 0], [0, 0, 0], [np.nan, 4, 0], [np.nan, np.nan, 0]])


@pytest.mark.parametrize("path", PATHS)
def test_matrices(path):
    a, b = np.array([[2.0, 0.3], [0.1, 1.5]]), np.array([[0.5, 1.0], [-1.0, 0.2]])
    t, order = sympy.symbols("t"), 3
    symbolic = sympy.Matrix(a) + t * sympy.Matrix(b)

    def expected(m: Any) -> Any:
        return [np.array(sympy.diff(m, t, k).subs(t, 0) / math.factorial(k), float) for k in range(order + 1)]

    run = run_on(path)
    found = run(lambda a: mo.taylor(np.linalg.inv, a, order, [b]))(a)
    np.testing.assert_allclose(found, expected(symbolic.inv()), rtol=1e-11)
    found = run(lambda a: mo.taylor(lambda a: np.linalg.solve(a, a[0] * a[1]), a, order, [b]))(a)
    right = sympy.Matrix([symbolic[0, 0] * symbolic[1, 0], symbolic[0, 1] * symbolic[1, 1]])
    np.testing.assert_allclose(found, [np.ravel(c) for c in expected(symbolic.inv() @ right)], rtol=1e-11)
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    found = run(lambda a: mo.taylor(np.linalg.det, a, order, [b]))(singular)
    by_hand = (sympy.Matrix(singular) + t * sympy.Matrix(b)).det()
    np.testing.assert_allclose(
        found, [float(sympy.Poly(by_hand, t).coeff_monomial(t**k)) for k in range(4)], atol=1e-14
    )
    found = run(lambda x: mo.taylor(lambda x: np.prod(x) + np.cumprod(x), x, 2))(np.array([0.0, 2.0, 3.0]))
    np.testing.assert_allclose(found[1:], [[6 + 1, 6 + 2, 12], [5 + 0, 5 + 1, 10]])


STACK = np.array([[[[3.0, 0.5], [0.2, 2.0]]], [[[2.5, -0.5], [0.7, 3.0]]]])
SOLVED = {
    "a complex matrix": (STACK[0, 0] + 0.5j, np.array([1.0, 2.0])),
    "a complex matrix and columns": (STACK[0, 0] + 0.5j, np.eye(2)),
    "a stack": (STACK, np.array([[[1.0], [2.0]], [[0.5], [-1.0]], [[3.0], [0.0]]])),
    "a stack and a vector": (STACK, np.array([1.0, 2.0])),
    "single precision on the right": (STACK[0, 0], np.array([1.0, 2.0], np.float32)),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", SOLVED)
def test_solutions_of_equations_that_are_broadcast_or_complex(name, path):
    """The right-hand side has another dtype or other dimensions than the solution."""
    a, b = SOLVED[name]
    v = (np.cos(a), np.sin(b))
    for solve in (np.linalg.solve, scipy.linalg.solve_triangular):
        f = lambda *args: mo.taylor(solve, args, 2, tuple([e] for e in v))  # noqa: E731
        found = run_on(path)(f)(a, b)
        assert {c.dtype for c in found} == {solve(a, b).dtype}
        for k, c in enumerate(found):
            np.testing.assert_allclose(c, nested(solve, v, k)(a, b) / math.factorial(k), rtol=1e-6, atol=1e-12)


def log_of_sum(x):
    return np.log(np.sum(np.exp(x)))


@mo.tangent(log_of_sum)
def _(x):
    top = np.max(x)
    weights = np.exp(x - top)
    total = np.sum(weights)
    return top + np.log(total), lambda dx: np.sum(weights * dx) / total


def sine(x):
    return np.sin(x)


@mo.adjoint(sine)
def _(x):
    y, slope = sine(x), np.cos(x)
    return y, lambda dy: dy * slope


@pytest.mark.parametrize("path", PATHS)
def test_custom_derivatives(path):
    x, v = np.array([1.0, 2.0]), np.array([1.0, 0.0])
    found = run_on(path)(lambda x: mo.taylor(log_of_sum, x, 4, [v]))(x)
    np.testing.assert_allclose(found, coefficients(sympy.log(sympy.exp(X) + sympy.exp(2)), 1.0, 4), rtol=1e-12)
    found = run_on(path)(lambda x: mo.taylor(sine, x, 4))(0.7)
    np.testing.assert_allclose(found, coefficients(sympy.sin(X), 0.7, 4), rtol=1e-12)
    run = run_on(path)
    assert run(lambda x: mo.taylor(lambda x: x * mo.constant(lambda u: u * u)(x), x, 2))(2.0) == [8.0, 4.0, 0.0]
    assert run(lambda x: mo.taylor(lambda x: x * mo.stop_gradient(x), x, 2))(2.0) == [4.0, 2.0, 0.0]
    assert run(lambda x: mo.taylor(lambda x: mo.checkpoint(lambda u: u * u, x), x, 2))(2.0) == [4.0, 4.0, 1.0]


@pytest.mark.parametrize("path", PATHS)
def test_solutions_of_equations(path):
    def root(a):
        return mo.implicit(mo.constant(lambda a: a**0.5)(a), lambda x: x * x - a)

    expected = coefficients(sympy.sqrt(X), 4.0, 5)
    np.testing.assert_allclose(run_on(path)(lambda a: mo.taylor(root, a, 5))(4.0), expected, rtol=1e-12)
    np.testing.assert_allclose(run_on(path)(lambda a: mo.taylor(root_by_newton, a, 5))(4.0), expected, rtol=1e-8)


def test_solvers_of_scipy():
    expected = coefficients(sympy.sqrt(X), 4.0, 3)
    found = mo.taylor(lambda a: scipy.optimize.brentq(lambda x: x * x - a, 0.0, 10.0), 4.0, 3)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    found = mo.taylor(lambda a: scipy.optimize.fsolve(lambda x: x * x - a, 1.5)[0], 4.0, 3)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    found = mo.taylor(lambda a: scipy.integrate.quad(lambda x: np.exp(a * x), 0.0, 1.0)[0], 0.5, 3)
    np.testing.assert_allclose(found, coefficients((sympy.exp(X) - 1) / X, 0.5, 3), rtol=1e-10)


def test_a_compiled_function_in_eager_code_has_its_series():
    assert mo.taylor(mo.jit(lambda x: x**3), 2.0, 3) == [8.0, 12.0, 6.0, 1.0]
    assert mo.taylor(mo.grad(mo.jit(lambda x: x**3)), 2.0, 2) == [12.0, 12.0, 3.0]


def test_a_taylor_method_for_an_ordinary_differential_equation():
    """x' = f(x) gives (k + 1) x_(k + 1) = coefficient k of f(x(t)): the exponential and the logistic curve."""
    x = [np.array([1.0, 0.5])]
    for k in range(15):
        found = mo.taylor(lambda x: x * (np.array([1.0, 1.0]) - np.array([0.0, 1.0]) * x), x[0], k, x[1:])
        x.append(found[k] / (k + 1))
    reached = sum(c * 0.3**k for k, c in enumerate(x))
    np.testing.assert_allclose(reached, [math.exp(0.3), 1 / (1 + math.exp(-0.3))], rtol=1e-11)


def test_bad_input():
    with pytest.raises(BadInput, match="not negative"):
        mo.taylor(np.sin, 1.0, -1)
    with pytest.raises(BadInput, match="not 1.5"):
        mo.derivatives(np.sin, 1.0, 1.5)
    with pytest.raises(BadInput, match="not True"):
        mo.taylor(np.sin, 1.0, True)
    with pytest.raises(BadInput, match="3 coefficients"):
        mo.taylor(np.sin, 1.0, 2, [1.0, 2.0, 3.0])
    with pytest.raises(BadInput, match="for a direction v, pass"):
        mo.taylor(np.sin, np.ones(2), 2, np.ones(2))
    with pytest.raises(BadInput, match="series"):
        mo.taylor(lambda x, y: x, (1.0, 2.0), 2)
    with pytest.raises(BadInput, match="2 arguments"):
        mo.taylor(lambda x, y: x, (1.0, 2.0), 2, ([1.0],))
    with pytest.raises(BadInput, match="shape"):
        mo.taylor(np.sin, np.ones(2), 2, [np.ones(3)])
    with pytest.raises(BadInput, match="complex"):
        mo.taylor(np.sin, 1.0, 2, [1j])
    with pytest.raises(BadInput, match="number or an array"):
        mo.derivatives(lambda p: p["x"], {"x": 1.0}, 2)
    with pytest.raises(BadInput):
        mo.taylor(3.0, 1.0, 2)
    with pytest.raises(NoDerivative, match="hook"):
        mo.taylor(lambda x: mo.hook(lambda dx: dx, x) ** 2, 1.0, 2)
