"""The derivative of a module-level function can be pickled like the function; a pullback refuses with the reason."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import morula as mo


def f(x, y=2.0):
    return x**3 * y


def with_aux(x):
    return x * x, {"twice": 2 * x}


def of_array(x):
    return np.sum(x**3)


def of_arrays(x):
    return x**2


@mo.grad
def decorated(x):
    return x**3


@mo.jit
@mo.grad
def compiled(x):
    return x**3


class Model:
    def __init__(self, w):
        self.w = w

    def energy(self, x):
        return self.w * x**2


A = np.array([1.0, 2.0])
TRANSFORMED = {
    "grad": (mo.grad(f), (3.0,)),
    "grad of both": (mo.grad(f, (0, 1)), (3.0, 4.0)),
    "grad by position": (mo.grad(f, 1), (3.0, 4.0)),
    "grad with aux": (mo.grad(with_aux, has_aux=True), (3.0,)),
    "value_and_grad": (mo.value_and_grad(f), (3.0,)),
    "jacobian": (mo.jacobian(of_arrays), (A,)),
    "hessian": (mo.hessian(of_array), (A,)),
    "grad of grad": (mo.grad(mo.grad(f)), (3.0,)),
    "jacobian of grad": (mo.jacobian(mo.grad(of_array)), (A,)),
    "jit": (mo.jit(f), (3.0,)),
    "jit of grad": (mo.jit(mo.grad(f)), (3.0,)),
    "grad of jit": (mo.grad(mo.jit(f)), (3.0,)),
    "decorated": (decorated, (3.0,)),
    "decorated twice": (compiled, (3.0,)),
    "of a bound method": (mo.grad(Model(2.0).energy), (3.0,)),
}


def same(a, b):
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and np.array_equal(a, b)


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
@pytest.mark.parametrize("name", TRANSFORMED)
def test_a_pickled_derivative_is_the_same_function(name, protocol):
    g, args = TRANSFORMED[name]
    again = pickle.loads(pickle.dumps(g, protocol))
    assert same(again(*args), g(*args))
    assert again.__name__ == g.__name__ and again.__doc__ == g.__doc__


@pytest.mark.parametrize("name", TRANSFORMED)
def test_copies(name):
    g, args = TRANSFORMED[name]
    for again in (copy.copy(g), copy.deepcopy(g), copy.deepcopy({"g": [g]})["g"][0]):
        assert same(again(*args), g(*args))


def test_a_derivative_of_a_pickled_one():
    again = pickle.loads(pickle.dumps(mo.grad(f)))
    assert mo.grad(again)(3.0) == mo.grad(mo.grad(f))(3.0) == 36.0
    assert mo.jit(again)(3.0) == 54.0


def test_a_decorated_function_is_pickled_by_name():
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert pickle.loads(pickle.dumps(compiled)) is compiled


def test_in_another_process():
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(mo.grad(f), 3.0).result() == 54.0
        assert list(pool.map(mo.value_and_grad(f), [1.0, 2.0])) == [(2.0, 6.0), (16.0, 24.0)]


def test_a_function_without_a_name_is_refused_by_pickle():
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(mo.grad(lambda x: x))


@pytest.mark.parametrize("g", [f, lambda x: [f(x)][0]], ids=["structured", "recorded"])
def test_a_pullback_says_why_it_is_not_pickled(g):
    _, back = mo.vjp(g, 3.0)
    for dump in (pickle.dumps, lambda b: pickle.dumps({"back": b}, 2)):
        with pytest.raises(mo.BadInput, match="a pullback cannot be pickled.*Pickle the function and its arguments"):
            dump(back)
    assert copy.copy(back)(1.0) == copy.deepcopy([back])[0](1.0) == back(1.0) == (54.0,)
