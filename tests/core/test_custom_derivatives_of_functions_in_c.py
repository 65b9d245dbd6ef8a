"""``adjoint`` and ``tangent`` of what is no Python function: ``ctypes``, cffi, ufuncs, methods, arrays of objects; on every path."""

from __future__ import annotations

import ctypes
import ctypes.util
import operator
from dataclasses import dataclass

import cffi
import numpy as np
import pytest
from path_tester import PATHS, check_gradient, check_tangent
from scipy import special

import morula as mo

LIBRARY = ctypes.CDLL(ctypes.util.find_library("m"))


def of_c(name, *arguments, result=ctypes.c_double):
    f = LIBRARY[name]
    f.restype, f.argtypes = result, arguments or [ctypes.c_double]
    return f


j0 = of_c("j0")
power = of_c("pow", ctypes.c_double, ctypes.c_double)
rounded = of_c("lrint", result=ctypes.c_long)
undeclared = LIBRARY["y0"]


@mo.adjoint(j0)
def _(x):
    return j0(x), lambda dy: -dy * special.j1(x)


@mo.adjoint(power)
def _(x, n):
    y = power(x, n)
    return y, lambda dy: (dy * n * power(x, n - 1), dy * np.log(x) * y)


@mo.tangent(rounded)
def _(x):
    return rounded(x), lambda dx: 0.0 * dx


@mo.adjoint(undeclared)
def _(x):
    return undeclared(x), lambda dy: dy


@pytest.mark.parametrize("path", PATHS)
def test_functions_of_ctypes(path):
    check_gradient(path, lambda x: j0(x) * x + j0(2 * x), 0.3)
    check_gradient(path, lambda x, n: power(x, n) ** 2, 1.5, 2.5)
    total = lambda x: sum([j0(x[i]) for i in range(3)])  # noqa: E731
    check_gradient(path, total, np.array([0.1, 0.5, 2.0]))
    check_gradient(path, lambda x: x * rounded(x + 0.2), 2.0)


def test_of_higher_order_and_in_a_plain_compiled_call():
    slope = mo.grad(lambda x: power(x, 3.0))
    assert np.isclose(mo.grad(slope)(2.0), 12.0)
    assert np.isclose(mo.jit(lambda x: power(x, 3.0))(2.0), 8.0)
    assert mo.jvp(lambda x: j0(x), (0.3,), (2.0,))[1] == pytest.approx(-2 * special.j1(0.3))


def test_a_function_whose_types_are_not_declared_is_refused_in_compiled_code():
    with pytest.raises(mo.BadInput, match="mo.callback"):
        mo.jit(lambda x: undeclared(x))(1.0)
    assert mo.callback(j0, 0.0, 0.3) == j0(0.3)
    assert mo.jit(mo.grad(lambda x: mo.callback(j0, 0.0, x)))(0.3) == pytest.approx(-special.j1(0.3))


FFI = cffi.FFI()
FFI.cdef(
    "double j1(double); double fmod(double, double); double ldexp(double, int); float coshf(float); double y1(double);"
    "double frexp(double, int *); long double fabsl(long double);"
)
BY_CFFI = FFI.dlopen(ctypes.util.find_library("m"))


@mo.adjoint(BY_CFFI.j1)
def _(x):
    return BY_CFFI.j1(x), lambda dy: dy * (special.j0(x) - special.j1(x) / x)


@mo.tangent(BY_CFFI.fmod)
def _(x, y):
    return BY_CFFI.fmod(x, y), lambda dx, dy: dx - dy * np.floor(x / y)


@mo.adjoint(BY_CFFI.ldexp)
def _(x, n):
    return BY_CFFI.ldexp(x, n), lambda dy: (dy * 2.0**n, None)


@mo.tangent(BY_CFFI.coshf)
def _(x):
    return BY_CFFI.coshf(x), lambda dx: dx * np.sinh(x)


@mo.adjoint(BY_CFFI.coshf)
def _(x):
    return BY_CFFI.coshf(x), lambda dy: dy * np.sinh(x)


of_cffi = {
    "adjoint": (lambda x: BY_CFFI.j1(x) * x + BY_CFFI.j1(2 * x), 0.3),
    "tangent": (lambda x, y: BY_CFFI.fmod(x, y) * y + BY_CFFI.fmod(5.5, y), 7.3, 2.0),
    "an int": (lambda x: BY_CFFI.ldexp(x, 3) ** 2, 1.5),
    "entries of an array": (lambda x: sum([BY_CFFI.j1(x[i]) for i in range(3)]), np.array([0.1, 0.5, 2.0])),
    "constant arguments": (lambda x: x * BY_CFFI.fmod(7.0, 4.0), 2.0),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", of_cffi)
def test_functions_of_cffi(name, path):
    f, *args = of_cffi[name]
    (*gradient,) = check_gradient(path, f, *args)
    if path != "eager":
        check_tangent(path, f, tuple(args), tuple(range(len(args))), gradient)


def test_functions_of_cffi_in_single_precision_and_of_higher_order():
    assert mo.grad(lambda x: BY_CFFI.coshf(x))(0.5) == pytest.approx(np.sinh(0.5), rel=1e-6)
    assert mo.jit(mo.grad(lambda x: BY_CFFI.coshf(x)))(0.5) == pytest.approx(np.sinh(0.5), rel=1e-6)
    first, second = special.j0(0.3) - special.j1(0.3) / 0.3, special.jvp(1, 0.3, 2)
    assert mo.grad(mo.grad(lambda x: BY_CFFI.j1(x)))(0.3) == pytest.approx(second)
    assert mo.taylor(lambda x: BY_CFFI.j1(x), 0.3, 2) == pytest.approx([special.j1(0.3), first, second / 2])


def test_functions_of_cffi_that_are_refused():
    with pytest.raises(
        mo.NoDerivative, match=r"double\(\*\)\(double\).*has no derivative rule(.|\n)*morula.adjoint\(f\)"
    ):
        mo.grad(lambda x: BY_CFFI.y1(x))(0.5)
    with pytest.raises(mo.BadInput, match=r"a function of cffi, .*double\(\*\)\(double\).*mo.callback"):
        mo.jit(lambda x: BY_CFFI.y1(x))(0.5)
    assert mo.jit(lambda x: mo.callback(BY_CFFI.y1, 0.0, x))(0.5) == BY_CFFI.y1(0.5)

    @mo.adjoint(BY_CFFI.fabsl)
    def _(x):
        return BY_CFFI.fabsl(x), lambda dy: dy

    frexp, exponent = BY_CFFI.frexp, FFI.new("int *")
    for f in (lambda x: frexp(x, exponent), lambda x: float(BY_CFFI.fabsl(x))):  # a pointer; no float of Python's
        with pytest.raises(mo.BadInput, match="a function of cffi, .*declare the types of numbers"):
            mo.jit(f)(0.5)


@pytest.mark.parametrize("path", PATHS)
def test_a_ufunc(path):
    @mo.adjoint(special.nrdtrisd)
    def _(mean, p, x):
        y = special.nrdtrisd(mean, p, x)
        return y, lambda dy: (-dy / special.ndtri(p), None, dy / special.ndtri(p))

    check_gradient(
        path, lambda m, x: np.sum(special.nrdtrisd(m, 0.7, x) ** 2), np.array([0.1, 0.2]), np.array([1.0, 3.0])
    )


def test_a_ufunc_that_returns_objects():
    through_text = np.frompyfunc(lambda x: float(repr(float(x))) * 2, 1, 1)

    @mo.adjoint(through_text)
    def _(x):
        return through_text(x), lambda dy: 2 * dy

    x = np.array([1.0, 2.0])
    y, back = mo.pullback(lambda x: through_text(x) * x, x)
    assert y.dtype == object and y.tolist() == [2.0, 8.0]
    assert mo.grad(lambda x: np.sum(through_text(x) * x))(x).tolist() == [4.0, 8.0]
    assert mo.grad(lambda x: through_text(x)[1] ** 2)(x).tolist() == [0.0, 16.0]
    assert mo.grad(lambda x: np.array([x[0], 2 * x[1]], object).sum())(x).tolist() == [1.0, 2.0]


@dataclass
class Scale:
    """Compares by value, so it has no hash."""

    factor: float

    def __call__(self, x):
        return self.factor * x


@pytest.mark.parametrize("path", PATHS)
def test_objects_that_can_be_called(path):
    scale, first = Scale(3.0), operator.itemgetter(0)

    @mo.adjoint(scale)
    def _(x):
        return scale(x), lambda dy: 100.0 * dy

    @mo.adjoint(first)
    def _(x):
        return first(x), lambda dy: 10 * dy * np.array([1.0, 0.0])

    run = (lambda f: f) if path == "eager" else (lambda f: mo.jit(f, target=path))
    assert run(lambda x: scale(x))(2.0) == 6.0 and run(mo.grad(lambda x: scale(x)))(2.0) == 100.0
    assert run(mo.grad(lambda x: Scale(3.0)(x)))(2.0) == 3.0
    assert run(mo.grad(lambda x: first(x)))(np.ones(2)).tolist() == [10.0, 0.0]


class Spring:
    def __init__(self, stiffness):
        self.stiffness = stiffness

    def energy(self, x):
        return self.stiffness * x**2

    @staticmethod
    def unit(x):
        return x / 2


@pytest.mark.parametrize("path", PATHS)
def test_a_method_of_a_class(path):
    class Soft(Spring):
        pass

    @mo.adjoint(Soft.unit)
    def _(x):
        return x / 2, lambda dy: 7.0 * dy

    spring = Soft(3.0)
    run = (lambda f: f) if path == "eager" else (lambda f: mo.jit(f, target=path))
    assert run(mo.grad(lambda x: spring.unit(x)))(2.0) == 7.0


@pytest.mark.parametrize("path", PATHS)
def test_a_method_that_is_bound_to_an_object(path):
    stiff, soft = Spring(3.0), Spring(1.0)

    @mo.adjoint(stiff.energy)
    def _(x):
        return stiff.energy(x), lambda dy: 100.0 * dy

    run = (lambda f: f) if path == "eager" else (lambda f: mo.jit(f, target=path))
    assert run(mo.grad(lambda x: stiff.energy(x)))(2.0) == 100.0
    assert run(mo.grad(lambda x: soft.energy(x)))(2.0) == 4.0
    energy = stiff.energy
    assert run(mo.grad(lambda x: energy(x)))(2.0) == 100.0


def test_results_in_containers_have_an_identity_of_their_own():
    def both(x):
        return {"twice": 2 * x, "same": x}

    @mo.adjoint(both)
    def _(x):
        return both(x), lambda dy: 10 * dy["twice"] + dy["same"]

    def f(x):
        y = both(x)
        return y["twice"] * y["same"]

    assert mo.grad(f)(3.0) == 10 * 3.0 + 6.0
    assert mo.jvp(f, (3.0,), (1.0,)) == (18.0, 36.0)


def test_a_result_that_is_an_object_is_refused():
    def make(x):
        return Spring(x)

    @mo.adjoint(make)
    def _(x):
        return make(x), lambda dy: dy

    with pytest.raises(mo.BadInput, match="adjoint or tangent of .*make.* returned a Spring; return numbers, arrays"):
        mo.grad(lambda x: make(x).stiffness)(3.0)
