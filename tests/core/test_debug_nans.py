"""``debug_nans`` names the line on which the Inf or NaN of a result first appears: eager and compiled, forward and backward."""

from __future__ import annotations

import inspect
import math
import threading

import numpy as np
import pytest
from path_tester import PATHS
from scipy import optimize

import morula as mo

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def zero_over_zero(x):
    a = x * 2
    b = (a - 2 * x) / (x - x)  # here
    return b + 1


def infinite_slope(x):
    y = np.sqrt(x)  # here
    return np.sum(y) * 2


def overflow(x):
    for _ in range(5):
        x = x * x  # here
    return np.sum(x)


def after_a_branch_not_taken(x):
    u = np.where(x > 0, np.log(x), 0.0)
    v = np.exp(1000 * x)  # here
    return np.sum(u) + np.sum(v)


def written_into(x):
    t = np.ones(3)
    t[1:] = x - x
    t = 1 / t  # here
    return np.sum(t[:2] * x)


def inner(x):
    return np.log(x - x)  # here


def in_a_function(x):
    return np.sum(inner(2 * x)) * 3


def of_an_operand(x):
    return np.sum(np.sin(x) * np.array([1.0, np.inf]))  # here


class Tank:
    def __init__(self, level):
        self.level = level

    def flow(self):
        self.level = self.level / (self.level - self.level)  # here
        return self.level


def in_a_method(x):
    tank = Tank(np.sum(x))
    tank.flow()
    return tank.level * 2


POINTS = {
    zero_over_zero: np.float64(3.0),
    infinite_slope: np.array([0.0, 1.0]),
    overflow: np.array([1e20, 2.0]),
    after_a_branch_not_taken: np.array([0.0, 2.0]),
    written_into: np.array([1.0, 2.0]),
    in_a_function: np.array([1.0, 2.0]),
    of_an_operand: np.array([1.0, 2.0]),
    in_a_method: np.array([1.0, 2.0]),
}


def line_of(f):
    f = {in_a_function: inner, in_a_method: Tank.flow}.get(f, f)
    lines, first = inspect.getsourcelines(f)
    return __file__, first + next(i for i, text in enumerate(lines) if "# here" in text)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("f", POINTS, ids=lambda f: f.__name__)
def test_the_line_of_a_gradient(path, f):
    g = mo.grad(f) if path == "eager" else mo.jit(mo.grad(f), target=path)
    with pytest.raises(mo.NonFinite) as caught, mo.debug_nans():
        g(POINTS[f])
    assert caught.value.place == line_of(f), caught.value


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("f", POINTS, ids=lambda f: f.__name__)
def test_the_line_of_a_value(path, f):
    if f is infinite_slope:
        return
    g = f if path == "eager" else mo.jit(f, target=path)
    with pytest.raises(
        mo.NonFinite, match="a result holds (Inf|NaN); (Inf|NaN) (first appears in|comes from)"
    ) as caught:
        mo.debug_nans(g)(POINTS[f])
    assert caught.value.place == line_of(f)


@pytest.mark.parametrize("path", PATHS)
def test_the_line_of_a_tangent(path):
    f = lambda x, dx: mo.jvp(infinite_slope, (x,), (dx,))  # noqa: E731
    g = f if path == "eager" else mo.jit(f, target=path)
    with pytest.raises(mo.NonFinite) as caught, mo.debug_nans():
        g(np.array([0.0, 1.0]), np.ones(2))
    assert caught.value.place == line_of(infinite_slope)


@pytest.mark.parametrize("path", PATHS)
def test_what_does_not_reach_a_result_is_no_error(path):
    f = mo.value_and_grad(lambda x: np.sum(np.where(x > 0, np.log(x) / x, 0.0)))
    g = f if path == "eager" else mo.jit(f, target=path)
    x = np.array([0.0, 1.0])
    with mo.debug_nans():
        value, gradient = g(x)
    assert value == 0.0 and gradient.tolist() == g(x)[1].tolist() == [0.0, 1.0]


def test_it_says_whether_it_was_the_backward_sweep():
    with pytest.raises(mo.NonFinite, match="Inf first appears in the backward sweep of the operation at .*nans.py:"):
        with mo.debug_nans():
            mo.pullback(infinite_slope, np.array([0.0]))[1](1.0)
    with pytest.raises(mo.NonFinite, match="NaN first appears in the operation at"):
        mo.debug_nans(zero_over_zero)(np.float64(3.0))


def test_a_constant_or_an_argument_is_named_as_such():
    with pytest.raises(mo.NonFinite, match="comes from a constant or an argument; it is first used in the operation"):
        mo.debug_nans(lambda x: x * 2.0)(math.inf)
    with pytest.raises(mo.NonFinite, match="comes from a constant or an argument"):
        mo.debug_nans(lambda x: x)(math.inf)


def test_an_inf_may_be_meant():
    f = lambda x: np.minimum(x, np.inf) * np.inf  # noqa: E731
    assert mo.debug_nans(f, inf=False)(2.0) == math.inf
    with pytest.raises(mo.NonFinite, match="NaN first appears in the operation"), mo.debug_nans(inf=False):
        mo.grad(lambda x: x * np.inf - x * np.inf)(1.0)


def test_an_exception_of_the_program_gets_a_note():
    def decompose(x):
        m = np.full((2, 2), x) / (x - x)
        return np.linalg.eigvals(m)[0]

    with pytest.raises(np.linalg.LinAlgError) as caught, mo.debug_nans():
        mo.grad(decompose)(np.float64(1.0))
    line = decompose.__code__.co_firstlineno + 1
    assert caught.value.__notes__ == [f"debug_nans: Inf first appears in truediv at {__file__}:{line}"]


def test_a_line_within_a_library_is_told_with_the_users():
    def f(x):
        return optimize.rosen(np.array([x, x])) / 2

    with pytest.raises(mo.NonFinite, match=r"nans.py:\d+ \(in rosen, .*_optimize.py:\d+\)") as caught:
        mo.debug_nans(f)(1e300)
    assert caught.value.place == (__file__, f.__code__.co_firstlineno + 1)


def test_modes_nest():
    with mo.debug_nans():
        assert mo.grad(mo.grad(lambda x: x**3))(2.0) == 12.0
        assert mo.jvp(mo.grad(lambda x: x**3), (2.0,), (1.0,)) == (12.0, 12.0)
        with pytest.raises(mo.NonFinite, match="backward sweep"):
            mo.grad(mo.grad(lambda x: x**1.5))(0.0)
        assert mo.grad(lambda x: x * mo.nestlevel())(2.0) == 1.0
        with mo.debug_nans(inf=False):
            assert mo.grad(lambda x: x * np.inf)(2.0) == math.inf
        with pytest.raises(mo.NonFinite):
            mo.grad(lambda x: x * np.inf)(2.0)
    assert mo.grad(lambda x: x * np.inf)(2.0) == math.inf


def test_programs_run_as_without_it():
    class Log(list):
        pass

    def f(x, log):
        for i in range(3):
            x = x + np.sin(x) * i
            log.append(float(x))
        return x

    plain, checked = Log(), Log()
    expected = mo.value_and_grad(f)(0.3, plain)
    with mo.debug_nans():
        assert mo.value_and_grad(f)(0.3, checked) == expected
    assert plain == checked
    x = np.array([1.0, 2.0])

    def write(x):
        x[0] = 3.0
        return np.sum(x**2)

    with mo.debug_nans():
        assert mo.grad(write)(x).tolist() == [0.0, 4.0] and x.tolist() == [3.0, 2.0]


def test_an_adjoint_and_a_compiled_function_inside():
    def half(x):
        return x / 2

    @mo.adjoint(half)
    def _(x):
        return half(x), lambda dy: dy * np.inf

    with pytest.raises(mo.NonFinite, match="backward sweep"), mo.debug_nans():
        mo.grad(lambda x: half(x) + 0.0)(2.0)
    with mo.debug_nans():
        assert mo.grad(lambda x: 0.0 * half(x))(2.0) == 0.0  # a pullback of zero is not called
    with pytest.raises(mo.NonFinite) as caught, mo.debug_nans():
        mo.grad(mo.jit(infinite_slope))(np.array([0.0]))
    assert caught.value.place == line_of(infinite_slope)


def test_a_function_that_is_compiled_in_parts():
    def parts(x):
        words = sorted(f"{float(v)}" for v in x)
        return infinite_slope(x - x[0]) / np.sum(x - x) + len(words[0])  # here

    f = mo.jit(parts, partial=True)
    for call in (f, mo.grad(f)):
        with pytest.raises(mo.NonFinite) as caught, mo.debug_nans():
            call(np.array([1.0, 2.0]))
        assert caught.value.place == line_of(parts)


def test_other_threads_are_not_checked():
    found = []
    with mo.debug_nans():
        thread = threading.Thread(target=lambda: found.append(mo.grad(lambda x: x * np.inf)(2.0)))
        thread.start()
        thread.join()
    assert found == [math.inf]


def test_errors():
    with pytest.raises(mo.BadInput):
        mo.debug_nans(3.0)
    assert issubclass(mo.NonFinite, FloatingPointError) and issubclass(mo.NonFinite, mo.MorulaError)
