"""Python functions without source: values that they pass on are followed, values that they compute are refused."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.testing import check_gradients


def compiled(text, **names):
    """The function that ``text`` defines, without a file that it could be read from."""
    scope = dict(names)
    exec(text, scope)
    return scope["f"]


def by_decorator(function):
    """The wrapper that a library generates for the signature of a function."""
    return compiled("def f(x, scale=3.0, **kw):\n    return check(inner(convert(x), scale, **kw), 2.0)", **{
        "inner": function, "convert": float, "check": lambda y, least: max(y, least),
    })  # fmt: skip


def closure(x):
    return compiled(
        "def outer(g):\n    def f(x):\n        return g(x), [g(2 * 3.0)]\n    return f\nf = outer(g)", g=cube
    )(x)


def cube(x, scale=1.0, *, shift=0.0):
    return scale * x**3 + shift


def filled(x):
    total = np.zeros(2)
    compiled("def f(a, x):\n    fill(a, 0, x)\n    fill(a, 1, x)", fill=lambda a, i, x: a.__setitem__(i, x * x))(
        total, x
    )
    return total * x


def keyed(x):
    return compiled("def f(x):\n    return dict(a=g(x), b=1.5)", g=cube)(x)


PASSED_ON = {
    "a decorator": lambda x: by_decorator(cube)(x),
    "a decorator with keywords": lambda x: by_decorator(cube)(x, 2.0, shift=x),
    "twice decorated": lambda x: by_decorator(by_decorator(cube))(x),
    "a closure": closure,
    "written by what it calls": filled,
    "in a dict": keyed,
    "a class": lambda x: compiled("def f(x):\n    return C(x).twice()", C=Twice)(x),
    "moved": lambda x: compiled("def f(x, y):\n    return [y, x]")(x, x * x),
}


class Twice:
    def __init__(self, x):
        self.x = x

    def twice(self):
        return self.x


@pytest.mark.parametrize("name", PASSED_ON)
def test_what_is_passed_on_is_followed(name):
    check_gradients(PASSED_ON[name], 1.7)


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    for _ in range(1):\n        return x * 2",
        "def f(x):\n    for _ in range(1):\n        return g(x * 2)",
        "def f(x):\n    for _ in range(1):\n        return {'a': x * 2}['a']",
        "def f(x):\n    for _ in range(1):\n        return g(x) + 0.5",
    ],
)
def test_what_it_computes_is_refused(text):
    with pytest.raises(mo.NoDerivative, match="no derivative rule and no Python source"):
        mo.gradient(lambda x: compiled(text, g=cube)(x), 1.7)


def test_what_it_leaves_in_an_object_is_moved_or_refused():
    class Store:
        pass

    def f(x):
        store = Store()
        compiled("def f(store, x):\n    store.x = x\n    store.y = x * x")(store, x)
        return store.x + 0.0 * store.y

    def computed(x):
        store = Store()
        compiled("def f(store, x):\n    store.x = x\n    store.y = x * x")(store, x)
        return store.y

    assert mo.gradient(f, 1.7) == (1.0,)
    with pytest.raises(mo.NoDerivative):
        mo.gradient(computed, 1.7)
