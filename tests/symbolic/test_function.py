"""``symbolic.function``: the value is SymPy's, and the gradient right on every path, at numbers and at arrays."""

from __future__ import annotations

import inspect
import sys

import numpy as np
import pytest

sp = pytest.importorskip("sympy")

from path_tester import PATHS, check_gradient  # noqa: E402

import morula as mo  # noqa: E402

x, y, z, k = sp.symbols("x y z k")
p = sp.Symbol("p", positive=True)
n = sp.Symbol("n", integer=True)
A, B = sp.MatrixSymbol("A", 2, 2), sp.MatrixSymbol("B", 2, 1)
q = sp.IndexedBase("q")
V, W = np.array([0.3, 0.7, 1.2]), np.array([[0.5], [1.5]])

CASES = {
    "common subexpressions": (sp.exp(-k * x) * sp.sin(x) + sp.sin(x) ** 2, (x, k), [(0.3, 0.5), (V, W)]),
    "a matrix": (sp.Matrix([[x, 0], [sp.sin(x) * y, sp.sin(x)]]), (x, y), [(0.3, 0.5), (V, W)]),
    "an array": (sp.Array([[x, y, x * y]]), (x, y), [(0.3, 0.5), (V, W)]),
    "a piecewise": (sp.Piecewise((sp.exp(x), x > 0), (x, True)), x, [(0.3,), (-0.4,), (V - 0.5,)]),
    "nan elsewhere": (sp.Piecewise((x**2, (x > 0) & (x < 2)), (x**3, x < -1)), x, [(0.3,), (-1.4,)]),
    "max and min": (sp.Max(x, y, 2) * sp.Min(x, y), (x, y), [(3.0, 1.0), (V, W)]),
    "a sum beside its own terms": (sp.Sum(sp.sin(k) * x + sp.sin(k), (k, 0, 4)) + sp.sin(x), x, [(0.3,), (V,)]),
    "a sum to an argument": (sp.Sum(x**k / sp.factorial(k), (k, 0, n)), (x, n), [(0.3, 3), (V, 3)]),
    "a product": (sp.Product(x + k, (k, 1, 3)), x, [(0.3,), (V,)]),
    "a bound variable like an argument": (sp.Sum(x * k, (k, 1, 3)) * k, (x, k), [(0.3, 0.7)]),
    "special functions": (sp.besselj(2, x) * sp.gamma(y) + sp.erf(x), (x, y), [(0.3, 0.5), (V, W)]),
    "more special functions": (sp.elliptic_k(x) + sp.elliptic_e(x) + sp.Shi(x) + sp.jn(1, x), x, [(0.3,), (V / 2,)]),
    "a real Lambert W": (sp.LambertW(p) * sp.Heaviside(p), p, [(0.4,)]),
    "hypergeometric": (sp.hyper([1, 2], [3], x) + sp.binomial(y, 2), (x, y), [(0.3, 0.4)]),
    "an integral": (sp.Integral(sp.exp(-y * x), (y, 0, 1)), x, [(0.3,)]),
    "a derivative": (sp.Derivative(sp.sin(x) * x, x), x, [(0.3,), (V,)]),
    "powers": (x**-2 + sp.sqrt(x) + x ** sp.Rational(1, 3), x, [(0.3,), (V,)]),
    "matrix symbols": (2 * A * B + B, (A, B), [(np.array([[1.0, 2.0], [3.0, 5.0]]), W)]),
    "entries of a list": (x * y + z, [[x, y], z], [([1.0, 2.0], 3.0), (np.array([1.0, 2.0]), V)]),
    "entries of a matrix": (x * y**2, [sp.Matrix([[x, y]])], [(np.array([[1.0, 2.0]]),)]),
    "a matrix as the only argument": (x * y**2, sp.Matrix([[x, y]]), [(np.array([[1.0, 2.0]]),)]),
    "an indexed base": (sp.Sum(q[k] * x**k, (k, 0, 2)), (q, x), [(V, 0.5)]),
    "an argument that is not used": (x**2, (x, y), [(0.3, 0.5), (V, W)]),
    "names that are no identifiers": (sp.Symbol("lambda") * sp.Symbol(r"\x_{1}") ** 2, sp.symbols(r"lambda \x_{1}"), [(0.3, 2.0)]),
    "functions of a matrix": (sp.Trace(A) + sp.Determinant(A) + A[0, 1], (A,), [(np.array([[1.0, 2.0], [3.0, 5.0]]),)]),
    "a root of a polynomial": (sp.CRootOf(x**5 - x - 1, 0) * y, y, [(0.3,)]),
    "names of modules": (sp.Symbol("numpy") * sp.sin(sp.Symbol("t0")), sp.symbols("numpy t0"), [(0.3, 2.0)]),
    "names of functions": (sp.Abs(sp.Symbol("abs")) * sp.Symbol("range"), sp.symbols("abs range"), [(-0.3, 2.0)]),
    "single precision": (sp.exp(x) / 3 + x**2, x, [(V.astype(np.float32),)]),
}  # fmt: skip


def total(result):
    if isinstance(result, (list, tuple)):
        return sum(map(total, result))
    return np.sum(result * np.cos(result))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("case", CASES)
def test_gradients_are_right(path, case):
    expr, args, points = CASES[case]
    f = mo.symbolic.function(expr, args)
    for point in points:
        check_gradient(path, lambda *xs: total(f(*xs)), *point)


@pytest.mark.parametrize("case", CASES)
def test_values_are_sympys(case):
    expr, args, points = CASES[case]
    symbols = [args] if isinstance(args, sp.Symbol) else list(args)
    if not all(isinstance(s, sp.Symbol) for s in symbols) or case == "an integral":
        return
    point = points[0]
    if np.ndim(point[0]):
        return
    expected = sp.sympify(expr).subs(dict(zip(symbols, point))).doit()
    found = np.asarray(mo.symbolic.function(expr, args)(*point), float)
    assert np.allclose(found, np.array(expected.tolist() if found.ndim else expected, float))


def test_results_in_containers_share_what_they_compute():
    f = mo.symbolic.function({"a": sp.sin(x), "b": [sp.sin(x) ** 2, y]}, (x, y))
    assert inspect.getsource(f).count("sin(x)") == 1 + 2  # two in the docstring
    found = f(V, W)
    assert found["a"].shape == found["b"][0].shape == found["b"][1].shape == (2, 3)
    assert np.allclose(found["b"][0], np.sin(V) ** 2)
    assert mo.symbolic.function((x, y), (x, y))(1.0, 2.0) == (1.0, 2.0)


def test_shapes_are_those_of_all_arguments():
    matrix = mo.symbolic.function(sp.Matrix([[1, x]]), (x, y))
    assert matrix(1.0, 2.0).shape == (1, 2) and matrix(V, W).shape == (1, 2, 2, 3)
    assert mo.symbolic.function(sp.Integer(3), x)(V).tolist() == [3, 3, 3]
    assert mo.symbolic.function(sp.zeros(2, 0), x)(1.0).shape == (2, 0)
    assert mo.symbolic.function(sp.sin(x) > y, (x, y))(V, W).shape == (2, 3)
    assert mo.symbolic.function(sp.ITE(x > 0, y > 0, y < 0), (x, y))(1.0, 2.0)
    assert mo.symbolic.function(sp.SparseMatrix(2, 2, {(0, 1): x}), x)(4.0).tolist() == [[0, 4], [0, 0]]


def test_the_branch_not_taken_gives_nothing():
    f = mo.symbolic.function(sp.Piecewise((sp.log(x), x > 0), (0, True)), x)
    with np.errstate(all="ignore"):
        assert mo.grad(f)(0.0) == 0.0 and mo.grad(f)(-1.0) == 0.0 and mo.grad(f)(2.0) == 0.5


def test_higher_orders_and_forward_mode():
    f = mo.symbolic.function(sp.sin(x) * sp.exp(x * y), (x, y))
    exact = sp.lambdify((x, y), sp.diff(sp.sin(x) * sp.exp(x * y), x, 3))
    assert np.isclose(mo.grad(mo.grad(mo.grad(f)))(0.3, 0.5), exact(0.3, 0.5))
    assert np.isclose(mo.jvp(mo.grad(mo.grad(f)), (0.3, 0.5), (1.0, 0.0))[1], exact(0.3, 0.5))


def test_complex_values():
    f = mo.symbolic.function(sp.I * x**2 + sp.exp(x), x)
    z0 = 0.3 + 0.2j
    assert np.isclose(f(z0), 1j * z0**2 + np.exp(z0))
    assert np.isclose(mo.pullback(f, z0)[1](1.0)[0], np.conj(2j * z0 + np.exp(z0)))


def test_the_source_can_be_read():
    f = mo.symbolic.function(x + 1, x, name="plus_one")
    assert f.__name__ == "plus_one" and "return x + 1" in inspect.getsource(f) and f.__doc__.strip() == "x + 1"


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: mo.symbolic.function(x + y, x), r"contains y, not among the arguments \[x\]; add it .* or substitute"),
        (lambda: mo.symbolic.function(sp.Function("g")(x), x), r"g\(x\) has no form in NumPy and SciPy .*\.doit"),
        (lambda: mo.symbolic.function(sp.meijerg([[1], []], [[2], []], x), x), "has no form in NumPy and SciPy"),
        (lambda: mo.symbolic.function(sp.Sum(x / k**2, (k, 1, sp.oo)), x), "an infinite sum or product"),
        (lambda: mo.symbolic.function(sp.zoo * x, x), "has no form in NumPy and SciPy"),
        (lambda: mo.symbolic.function(sp.hyper([1, 2, 3], [3], x), x), "has no form in NumPy and SciPy"),
        (lambda: mo.symbolic.function(sp.Interval(0, 1), x), r"expected an expression of SymPy, not Interval\(0, 1\)"),
        (lambda: mo.symbolic.function(np.sin, x), "expected an expression of SymPy, not <ufunc 'sin'>"),
        (lambda: mo.symbolic.function(x, (x, x)), "x is an argument twice"),
        (lambda: mo.symbolic.function(x, (x, 2)), "an argument must be a symbol, or a list, tuple or matrix of symbols, not 2"),
        (lambda: mo.symbolic.function(x, x, name="no name"), "name must be a Python identifier, not 'no name'"),
    ],
)  # fmt: skip
def test_errors(call, text):
    with pytest.raises(mo.BadInput, match=text):
        call()


def test_sympy_is_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(mo.BadInput, match=r"needs SymPy, which is not installed; run: pip install morula\[symbolic\]"):
        mo.symbolic.function("x", "x")
    with pytest.raises(mo.BadInput, match="needs SymPy"):
        mo.symbolic.rule(np.sin, "x", "x")
