"""Changes that the caller makes after a run to arguments, results and cotangents do not affect its pullback."""

import numpy as np
import pytest

import morula as mo


def straight(x):
    return np.sum(x * x)


def in_place(x):
    x *= 2
    return (x * x).sum()


@pytest.mark.parametrize(("f", "expected"), [(straight, [2.0, 4.0]), (in_place, [8.0, 16.0])])
def test_an_argument_may_be_overwritten_before_the_pullback_is_called(f, expected):
    x = np.array([1.0, 2.0])
    _, back = mo.vjp(f, x)
    x[:] = 0
    assert back(1.0)[0].tolist() == expected
    assert x.tolist() == [0.0, 0.0]


def branching(x):
    if x[0] > 0:
        y = np.exp(x)
    else:
        y = x
    return y


@pytest.mark.parametrize("f", [np.exp, lambda x: np.exp(x), branching, lambda x: [np.exp(x)][0]])
def test_a_result_may_be_overwritten_before_the_pullback_is_called(f):
    x = np.array([1.0, 2.0])
    y, back = mo.vjp(f, x)
    y *= 0
    assert back(np.ones(2))[0].tolist() == np.exp(x).tolist()


@pytest.mark.parametrize("f", [lambda x: x.T, lambda x: x + 0.0, lambda x: x.reshape(4), lambda x: [x.T][0]])
def test_a_gradient_shares_no_memory_with_the_cotangent(f):
    x = np.eye(2)
    y, back = mo.vjp(f, x)
    dy = np.ones(y.shape)
    (dx,) = back(dy)
    assert not np.shares_memory(dx, dy)


def test_gradients_of_several_arguments_share_no_memory():
    da, db = mo.gradient(lambda a, b: np.sum(a + b), np.ones(2), np.ones(2))
    da += 1
    assert db.tolist() == [1.0, 1.0]


WEIGHTS = np.array([1.0, 2.0])
STATE = np.ones(2)


@pytest.mark.parametrize("f", [lambda x: np.sum(x * WEIGHTS * x), lambda x: [np.sum(x * WEIGHTS * x)][0]])
def test_a_global_array_may_be_overwritten_before_the_pullback_is_called(f):
    _, back = mo.vjp(f, np.array([3.0, 5.0]))
    WEIGHTS[:] = 7.0
    assert back(1.0)[0].tolist() == [6.0, 20.0]
    assert WEIGHTS.tolist() == [7.0, 7.0]
    WEIGHTS[:] = 1.0, 2.0


def test_runs_that_update_one_state_keep_their_own():
    def step(x):
        STATE[:] = STATE * x
        return (STATE * STATE).sum()

    backs = [mo.vjp(step, x)[1] for x in (2.0, 3.0)]
    assert STATE.tolist() == [6.0, 6.0]
    assert [back(1.0) for back in backs + backs] == [(8.0,), (48.0,)] * 2
    assert STATE.tolist() == [6.0, 6.0]
    STATE[:] = 1.0


class Layer:
    def __init__(self):
        self.w = np.ones(3)

    def __call__(self, x):
        self.h = self.w * x
        self.tail = self.h[1:]
        return (self.h * self.h).sum()


def test_what_an_object_keeps_may_be_overwritten():
    layer = Layer()
    _, back = mo.vjp(layer, 2.0)
    layer.tail *= 0
    layer.w *= 0
    assert back(1.0) == (12.0,) and layer.h.tolist() == [2.0, 0.0, 0.0]


class Result:
    def __init__(self, u, v):
        self.u, self.v = u, [v]


def test_arrays_inside_a_result_may_be_overwritten():
    y, back = mo.vjp(lambda a: Result(np.exp(a), a * a), np.array([0.0, 1.0]))
    y.u[:] = 0
    y.v[0] *= 0
    y.v.append(3.0)
    assert back({"u": np.ones(2), "v": [np.ones(2)]})[0].tolist() == [1.0, np.exp(1.0) + 2.0]
    y, back = mo.vjp(lambda x: [x * x, x], 3.0)
    y.pop()
    assert back([1.0, 10.0]) == (16.0,)


def test_inside_a_derivative_too():
    def f(x):
        weights = np.array([1.0, 2.0])
        weights *= x
        _, back = mo.vjp(lambda u: [(u * u * weights).sum()][0], np.array([1.0, 3.0]))
        weights *= x
        return (back(1.0)[0] * weights).sum()

    assert f(1.5) == pytest.approx(26 * 1.5**3)
    assert mo.gradient(f, 1.5)[0] == pytest.approx(78 * 1.5**2)
