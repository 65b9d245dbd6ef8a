"""What the caller does with arguments, results and cotangents after a run changes nothing in its pullback."""

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
