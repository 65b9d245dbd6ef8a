"""A zero cotangent contributes exactly zero, even if the primal holds Inf or NaN; otherwise one sweep is enough."""

import math
import sys

import numpy as np
import pytest
from strong_zero_programs import PROGRAMS

import morula as mo
from morula.core.eager.recorded.tape import Cotangents
from morula.core.testing.differences import numerical_vjp
from morula.core.values.strong_zero import contraction, is_nan, product, quotient, solution, strong

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
INF, NAN = np.inf, np.nan


def recorded(f):
    """``f`` as a program that is recorded on a tape."""

    def program(x):
        held = {}
        held["y"] = f(x)
        return held["y"]

    return program


TIERS = {"structured": lambda f: f, "recorded": recorded}


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_no_cotangent_reaches_does_no_harm(name, tier):
    f, finite, x = PROGRAMS[name]
    program = TIERS[tier](f)
    (slope,), _ = numerical_vjp(finite, 1.0, x)
    np.testing.assert_allclose(mo.grad(program)(x), slope, rtol=1e-7, atol=1e-9)
    if np.ndim(x):
        np.testing.assert_allclose(mo.hessian(program)(x), mo.hessian(finite)(x), rtol=1e-9, atol=1e-9)
    else:
        second = mo.grad(mo.grad(program))(x)
        np.testing.assert_allclose(second, mo.grad(mo.grad(finite))(x), rtol=1e-9, atol=1e-9)


class Layer:
    def __init__(self, depth, rate):
        self.depth, self.rate = depth, rate

    def through(self, light):
        light *= np.exp(-self.depth * self.rate)
        return light


def test_objects_and_writes_are_swept_twice_from_the_same_state():
    def program(depths):
        light = np.ones(2)
        seen = []
        for depth, rate in zip(depths, [0.5, INF, 0.3]):
            light[0] = light[0] * 1.5
            layer = Layer(depth, np.array([rate, 0.1]))
            seen.append(layer.through(light).copy())
        return seen[0][0] + np.sum(seen[-1])

    # The second layer makes the first entry zero, so its final value contributes nothing to the gradient.
    depths = [0.2, 0.4, 0.6]
    total = np.exp(-0.1 * sum(depths))
    gradient = mo.grad(program)(depths)
    assert gradient == pytest.approx([-0.75 * np.exp(-0.1) - 0.1 * total, -0.1 * total, -0.1 * total])
    y, back = mo.pullback(program, depths)
    assert back(1.0)[0] == back(1.0)[0] == gradient


def test_what_is_truly_nan_stays_nan():
    for tier in TIERS.values():
        assert math.isnan(mo.grad(tier(lambda x: x * NAN))(1.0))
        assert math.isnan(mo.grad(tier(lambda x: np.sqrt(x * 0.0)))(1.0))  # an infinite slope times zero
        g = mo.grad(tier(lambda x: np.sum(np.array([1.0, NAN]) * x)))(np.ones(2))
        assert g[0] == 1 and math.isnan(g[1])
        assert mo.grad(tier(lambda x: np.sum(np.array([1.0, INF]) * x)))(np.ones(2)).tolist() == [1.0, INF]


def test_a_cotangent_that_is_nan_stays_nan():
    y, back = mo.pullback(lambda x: 2 * x, np.ones(2))
    assert np.isnan(back(np.array([0.0, NAN]))[0]).tolist() == [False, True]


def test_what_raises_for_a_zero_cotangent_contributes_nothing():
    stack = np.array([np.eye(2), np.zeros((2, 2))])

    def program(a):
        try:
            y = np.linalg.det(a)
        except np.linalg.LinAlgError:
            y = np.zeros(2)
        return np.sum(np.where(y > 0, np.sqrt(y), 0.0))

    assert mo.grad(program)(stack).tolist() == [[[0.5, 0.0], [0.0, 0.5]], [[0.0, 0.0], [0.0, 0.0]]]


def sweeps(f, x, monkeypatch):
    """The number of recorded backward sweeps of a gradient: each has its table of cotangents, structured ones none."""
    made = []
    original = Cotangents.__init__
    monkeypatch.setattr(Cotangents, "__init__", lambda self, *a, **k: (made.append(1), original(self, *a, **k))[1])
    mo.grad(f)(x)
    monkeypatch.undo()
    return len(made)


def test_a_program_that_meets_nothing_infinite_is_swept_once(monkeypatch):
    def f(x):
        return np.sum(np.exp(-x) @ np.array([1.0, 2.0]))

    assert sweeps(f, np.ones(2), monkeypatch) == 0
    assert sweeps(recorded(f), np.ones(2), monkeypatch) == 1
    assert sweeps(recorded(f), np.array([1.0, -INF]), monkeypatch) == 1  # infinite, not NaN
    masked, _, x = PROGRAMS["guarded root"]
    assert sweeps(masked, x, monkeypatch) == 1
    assert sweeps(recorded(masked), x, monkeypatch) == 2


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble, np.complex128])
@pytest.mark.parametrize("n", [0, 1, 10, 5000])
def test_a_nan_is_found_wherever_it_stands(dtype, n):
    x = np.full(n, np.finfo(dtype).max, dtype)
    assert not is_nan(np.full(n, 2, dtype))
    assert np.issubdtype(dtype, np.complexfloating) or not is_nan(x)
    for i in {0, n // 2, n - 1} if n else ():
        y = x.copy()
        y[i] = NAN
        assert is_nan(y) and is_nan(y.reshape(-1, 1)) and is_nan(np.repeat(y, 2)[::2])
    assert is_nan(NAN) and is_nan(complex(1, NAN)) and not is_nan(1.0) and not is_nan(3) and not is_nan(None)


FACTORS = [np.array([[1.0, 2.0], [NAN, 1.0], [INF, -1.0]]), np.array([[1.0, INF], [-INF, 1.0], [2.0, -INF]])]


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("dy", [[[0.0, 1.0], [0.0, 2.0]], [[0.0, 0.0], [1.0, -3.0]], [[2.0, 0.0], [0.0, 0.0]]])
def test_a_product_of_matrices_is_the_sum_of_strong_products(dy, factor):
    dy = np.array(dy)
    expected = np.sum(product(dy[None, :, :], factor[:, None, :]), axis=-1).T
    assert_equal = np.testing.assert_array_equal
    s = strong(dy)
    assert_equal(s @ factor.T, expected)
    assert_equal((factor @ s.T).T, expected)
    assert_equal(np.einsum("ik,jk->ij", s, factor), expected)
    assert_equal(np.tensordot(factor, s, ([1], [1])).T, expected)
    assert_equal(np.inner(s, factor), expected)
    assert_equal(contraction(np.dot, (s, factor.T)), expected)
    outer = np.outer(s[0], factor[1])
    assert_equal(outer, product(dy[0][:, None], np.broadcast_to(factor[1], (2, 2))))


def test_quotients_and_solutions_of_zero_are_zero():
    assert quotient(np.array([0.0, 0.0, 1.0]), np.array([0.0, NAN, 0.0])).tolist() == [0.0, 0.0, INF]
    a = np.array([[[2.0, 0.0], [0.0, 4.0]], [[0.0, 0.0], [NAN, 1.0]]])
    b = strong(np.array([[[2.0], [4.0]], [[0.0], [0.0]]]))
    assert solution(np.linalg.solve, a, b).tolist() == [[[1.0], [1.0]], [[0.0], [0.0]]]


@pytest.fixture
def only_strong_sweeps(monkeypatch):
    """Compute every gradient from a tape with strong-zero products."""
    module = sys.modules["morula.core.eager.recorded.pullback"]
    monkeypatch.setattr(module.Back, "run", lambda self, parent, dy: self.sweep_strongly(parent, dy))

    def pull(self, parent, dy):
        return self.again(parent)[1].sweep_strongly(parent, module.check_cotangent(self.y, dy))

    monkeypatch.setattr(module.CompiledBack, "pull", pull)


def convolved(x):
    return np.sum(np.convolve(x[0], x[1]) ** 2)


def solved(x):
    return np.sum(np.linalg.solve(x.T @ x + np.eye(2), x[0]) ** 2)


def newton(x):
    a = x[0, 0] + 2.0
    y = a
    for _ in range(4):
        y = (y + a / y) / 2
    return y * x[1, 1]


def written(x):
    y = x.copy()
    y[0] *= y[1]
    y[1:] += np.cumprod(y[:-1], axis=0)
    return np.sum(np.sort(y, axis=0) ** 3) + np.prod(x) + np.std(y)


FINITE = {f.__name__: (f, x) for _, f, x in PROGRAMS.values()}
FINITE |= {
    f.__name__: (f, np.array([[0.3, -0.2], [0.9, 0.4], [-0.5, 0.8]])) for f in (convolved, solved, newton, written)
}


@pytest.mark.parametrize("name", FINITE)
def test_strong_products_are_the_plain_ones_where_all_is_finite(name, only_strong_sweeps):
    f, x = FINITE[name]
    mo.testing.check_gradients(f, np.where(np.asarray(x) == 0, 0.1, x) if np.ndim(x) else x, order=2)


def test_what_has_no_derivative_may_meet_a_zero():
    def drawn(x):
        return np.random.default_rng(0).multivariate_normal(np.zeros(2), np.diag(x)) * INF

    def masked(x):
        y = drawn(x)
        return np.sum(np.where(np.isfinite(y), y, 0.0)) + np.sum(x)

    assert mo.grad(masked)(np.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(mo.NoDerivative, match="multivariate_normal"):
        mo.grad(lambda x: np.sum(drawn(x)))(np.ones(2))


def test_pullbacks_given_by_hand_in_a_repeated_sweep():
    seen = []

    def half(x):
        return x / 2

    @mo.adjoint(half)
    def _(x):
        return half(x), lambda dy: (seen.append(float(dy)), dy * INF)[1]

    def program(x):
        hooked = mo.hook(lambda g: (seen.append(g), g)[1], x)
        return np.exp(-half(x) * INF) + hooked * 3.0

    assert mo.grad(program)(1.0) == 3.0
    # Each sweep asks the hook; the first one alone asks the pullback, whose cotangent is NaN there and zero in the second.
    assert [g for g in seen if g == 3.0] == [3.0, 3.0] and len(seen) == 3 and any(map(math.isnan, seen))
